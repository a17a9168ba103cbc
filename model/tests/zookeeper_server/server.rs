//! A real server's process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Where the package puts the server, with the other jars it names in its manifest.
const JAR: &str = "/usr/share/java/zookeeper.jar";

/// A server process, killed on drop.
pub struct Server {
    process: Child,
    directory: PathBuf,
    address: String,
}

impl Server {
    /// `None` if there is nothing to start.
    pub fn start() -> Option<Server> {
        Server::start_in(Server::new_directory()?)
    }

    /// The same with "/lock" in it, whose counter of children is next to its end; `None` also if there is no Java compiler.
    pub fn start_next_to_the_end() -> Option<Server> {
        let directory = Server::new_directory()?;
        let data = directory.join("data");
        std::fs::create_dir_all(&data).ok()?;
        let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zookeeper_server/Seed.java");
        let seeded = Command::new("java")
            .args(["-cp", JAR, seed])
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !seeded.is_ok_and(|status| status.success()) {
            std::fs::remove_dir_all(&directory).ok()?;
            return None;
        }
        Server::start_in(directory)
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    fn new_directory() -> Option<PathBuf> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !Path::new(JAR).exists() {
            return None;
        }
        // In memory if possible: the real server would otherwise wait for the disk.
        let base =
            [PathBuf::from("/dev/shm"), std::env::temp_dir()].into_iter().find(|path| path.is_dir())?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = base.join(format!("picklock-zookeeper-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&directory).ok()?;
        Some(directory)
    }

    fn start_in(directory: PathBuf) -> Option<Server> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let config = directory.join("zoo.cfg");
        let lines = format!(
            "tickTime=2000\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n",
            directory.join("data").display()
        );
        std::fs::write(&config, lines).ok()?;
        let process = Command::new("java")
            .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .args(["-Dzookeeper.forceSync=no", "-cp", JAR])
            .arg("org.apache.zookeeper.server.ZooKeeperServerMain")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Server { process, directory, address: format!("127.0.0.1:{port}") };
        for _ in 0..400 {
            if std::net::TcpStream::connect(&server.address).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not come up");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing can be done about a process that will not die, or a directory that will not go.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
