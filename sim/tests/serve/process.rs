//! Servers in processes of their own, on ports that were free.

use bytes::Bytes;
use picklock_sim::serve::redis::wire::Resp;
use redis_protocol::resp2::types::BytesFrame;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing to keep.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `picklock serve redis`.
pub struct Served {
    process: Running,
    ports: Vec<u16>,
    output: BufReader<ChildStdout>,
}

impl Served {
    pub fn start(arguments: &[&str]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(["serve", "redis", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut output = BufReader::new(process.stdout.take().expect("it is piped"));
        let process = Running(process);
        let mut ports = Vec::new();
        loop {
            let mut line = String::new();
            output.read_line(&mut line).expect("it says where it listens");
            match line.trim_end().rsplit_once(':').filter(|_| line.contains("listens on")) {
                Some((_, port)) => ports.push(port.parse().expect("a port")),
                None => break,
            }
        }
        assert!(!ports.is_empty(), "it listens nowhere");
        Served { process, ports, output }
    }

    pub fn port(&self) -> u16 {
        self.ports()[0]
    }

    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    pub fn connect(&self) -> redis::Connection {
        self.connect_to(0)
    }

    /// While a server is down it takes connections and resets them.
    pub fn connect_to(&self, server: usize) -> redis::Connection {
        let client =
            redis::Client::open(format!("redis://127.0.0.1:{}/", self.ports[server])).expect("an address");
        for _ in 0..500 {
            if let Ok(connection) = client.get_connection() {
                return connection;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("server {server} does not answer");
    }

    /// How much of the machine's memory it takes, in KiB, where the kernel says so.
    pub fn resident_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Ends it as ^C does; what it has said since it listens.
    pub fn stop(self) -> String {
        self.stop_with("-INT")
    }

    /// The same by another signal.
    pub fn stop_with(mut self, signal: &str) -> String {
        let id = self.process.0.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("there is a kill");
        assert!(sent.success());
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("it says a summary");
        assert_eq!(self.process.0.wait().expect("it ends").code(), Some(0), "{said}");
        said
    }
}

/// A real `redis-server`, without persistence.
pub struct RealRedis {
    _process: Running,
    port: u16,
}

impl RealRedis {
    /// `None`, and a word about it, where there is no `redis-server`.
    pub fn start() -> Option<RealRedis> {
        let port = free_port();
        let spawned = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = match spawned {
            Ok(process) => Running(process),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no redis-server here; to install it: apt-get install redis-server");
                return None;
            }
            Err(error) => panic!("redis-server does not start: {error}"),
        };
        for _ in 0..500 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(RealRedis { _process: process, port });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not answer on port {port}");
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port").port()
}

/// What redis-cli prints; `None`, and a word about it, where there is none.
pub fn redis_cli(port: u16, arguments: &[&str]) -> Option<String> {
    match Command::new("redis-cli").args(["-p", &port.to_string()]).args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: no redis-cli here; to install it: apt-get install redis-tools");
            None
        }
        Err(error) => panic!("redis-cli does not start: {error}"),
    }
}

/// What a server replies to these commands on one connection.
pub fn raw_replies(port: u16, commands: &[Vec<String>]) -> Vec<BytesFrame> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
        let mut resp = Resp::new(stream);
        let mut replies = Vec::new();
        for command in commands {
            let words = command.iter().map(|word| BytesFrame::BulkString(Bytes::from(word.clone())));
            resp.send(BytesFrame::Array(words.collect())).await.expect("it reads");
            replies
                .push(resp.next().await.expect("RESP").unwrap_or_else(|| panic!("no reply to {command:?}")));
        }
        replies
    })
}
