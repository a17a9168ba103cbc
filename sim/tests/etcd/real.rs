//! A real `etcd`, for as long as a test goes on.
//!
//! Needs `apt-get install etcd-server`, or another one that `PICKLOCK_ETCD` names. It listens on loopback ports, keeps its data in a
//! temporary directory, and goes with the test.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server of our own, and where it keeps its data.
pub struct Real {
    process: Child,
    data: PathBuf,
    pub address: SocketAddr,
}

impl Drop for Real {
    fn drop(&mut self) {
        // It may have ended by itself; and what cannot be removed stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

impl Real {
    /// `None`, and a word about it, where there is no `etcd`.
    pub fn start() -> Option<Real> {
        // Both are bound before one of them is free again, or they might be the same.
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [address, peers] =
            sockets.map(|socket| socket.local_addr().expect("a bound socket has an address"));
        // In memory, where there is such a place: what a sync takes is not what is looked at.
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let data = parent.join(format!("picklock-etcd-{}-{}", std::process::id(), address.port()));
        let (client_url, peer_url) = (format!("http://{address}"), format!("http://{peers}"));
        let program = std::env::var_os("PICKLOCK_ETCD").unwrap_or("etcd".into());
        let spawned = Command::new(program)
            .args(["--name", "real", "--log-level", "error", "--data-dir"])
            .arg(&data)
            .args(["--listen-client-urls", &client_url, "--advertise-client-urls", &client_url])
            .args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url])
            .args(["--initial-cluster", &format!("real={peer_url}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match spawned {
            Ok(process) => Some(Real { process, data, address }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no etcd here; to install it: apt-get install etcd-server");
                None
            }
            Err(error) => panic!("etcd does not start: {error}"),
        }
    }
}
