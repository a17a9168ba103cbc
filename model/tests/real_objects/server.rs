//! A real server's process, and what happens to it.
//!
//! Its data are in memory where there is such a place: what is tried is a process that is killed, and not a machine that loses its
//! power. What a process has written, its system keeps.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Which server it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One member.
    Etcd,
    /// Every write is in the file before it is answered: `appendonly yes`, `appendfsync always`.
    RedisThatKeeps,
    /// Without persistence.
    RedisThatForgets,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Kind::Etcd => "etcd",
            Kind::RedisThatKeeps | Kind::RedisThatForgets => "redis-server",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Kind::Etcd => "etcd-server",
            Kind::RedisThatKeeps | Kind::RedisThatForgets => "redis-server",
        }
    }
}

/// A server of our own on a free port of this machine; it ends when this is dropped.
pub struct Server {
    pub kind: Kind,
    pub port: u16,
    /// Where an etcd would hear others.
    peer_port: u16,
    data: PathBuf,
    process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing to keep.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

impl Server {
    /// `None`, and a word about it, where there is no such program.
    pub fn start(kind: Kind) -> Option<Server> {
        // Both are bound before one of them is free again, or they might be the same.
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [port, peer_port] =
            sockets.map(|socket| socket.local_addr().expect("a bound socket has an address").port());
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let data = parent.join(format!("picklock-objects-{}-{port}", std::process::id()));
        std::fs::create_dir(&data).expect("a folder of our own");
        let process = match command(kind, port, peer_port, &data).spawn() {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let _ = std::fs::remove_dir(&data);
                let (program, package) = (kind.program(), kind.package());
                println!("skipped: no {program} here; to install it: apt-get install {package}");
                return None;
            }
            Err(error) => panic!("{} does not start: {error}", kind.program()),
        };
        let server = Server { kind, port, peer_port, data, process };
        server.wait_until_it_listens();
        Some(server)
    }

    /// Stands still, whatever it is about: SIGSTOP.
    pub fn stop(&self) {
        self.signal("-STOP");
    }

    /// Goes on where it stood: SIGCONT.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    /// Is no more, whatever it was about: SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().expect("it was there");
        self.process.wait().expect("it is gone");
    }

    /// Starts again, with what it finds in its folder.
    pub fn restart(&mut self) {
        let again = command(self.kind, self.port, self.peer_port, &self.data).spawn();
        self.process = again.expect("it has started before");
        self.wait_until_it_listens();
    }

    fn signal(&self, signal: &str) {
        let process = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal} does not reach the server");
    }

    fn wait_until_it_listens(&self) {
        for _ in 0..3_000 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{} does not listen on port {}", self.kind.program(), self.port);
    }
}

fn command(kind: Kind, port: u16, peer_port: u16, data: &PathBuf) -> Command {
    let mut command = Command::new(kind.program());
    command.current_dir(data).stdout(Stdio::null()).stderr(Stdio::null());
    let address = |port| format!("http://127.0.0.1:{port}");
    match kind {
        Kind::Etcd => command
            .args(["--name", "picklock", "--log-level", "error", "--data-dir"])
            .arg(data.join("etcd"))
            .args(["--listen-client-urls", &address(port), "--advertise-client-urls", &address(port)])
            .args(["--listen-peer-urls", &address(peer_port)])
            .args(["--initial-advertise-peer-urls", &address(peer_port)])
            .args(["--initial-cluster", &format!("picklock={}", address(peer_port))])
            // It has nobody to wait for when it starts again.
            .args(["--heartbeat-interval", "10", "--election-timeout", "100"]),
        Kind::RedisThatKeeps => command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always"]),
        Kind::RedisThatForgets => command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "no"]),
    };
    command
}
