//! A real ZooKeeper, for as long as a test goes on.
//!
//! Needs `apt-get install zookeeper`, whose jar it starts with `java`. It listens on a loopback port, keeps its data in a temporary
//! directory, and goes with the test.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the package puts the server, with the other jars it names in its manifest.
const JAR: &str = "/usr/share/java/zookeeper.jar";

/// A server of our own, and where it keeps its data.
pub struct Real {
    process: Child,
    directory: PathBuf,
    pub address: SocketAddr,
}

impl Drop for Real {
    fn drop(&mut self) {
        // It may have ended by itself; and what cannot be removed stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Real {
    /// `None`, and a word about it, where there is none.
    pub fn start() -> Option<Real> {
        if !Path::new(JAR).exists() {
            println!("skipped: no ZooKeeper here; to install it: apt-get install zookeeper");
            return None;
        }
        let address =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port");
        // In memory, where there is such a place: what a sync takes is not what is looked at.
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let directory = parent.join(format!("picklock-served-zookeeper-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let config = directory.join("zoo.cfg");
        let lines = format!(
            "tickTime=2000\ndataDir={}\nclientPort={}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n\
             maxClientCnxns=0\n",
            directory.join("data").display(),
            address.port()
        );
        std::fs::write(&config, lines).expect("it can be written");
        let spawned = Command::new("java")
            .args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .args(["-Dzookeeper.forceSync=no", "-cp", JAR])
            .arg("org.apache.zookeeper.server.ZooKeeperServerMain")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = match spawned {
            Ok(process) => process,
            Err(error) => {
                println!("skipped: java does not start: {error}");
                return None;
            }
        };
        let real = Real { process, directory, address };
        for _ in 0..600 {
            if TcpStream::connect(address).is_ok() {
                return Some(real);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the real server does not come up");
    }
}
