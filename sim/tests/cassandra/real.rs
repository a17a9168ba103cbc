//! Real nodes of Cassandra, for as long as a test goes on.
//!
//! They are plain Java processes with a configuration of their own. All nodes have one pair of ports, on 127.0.0.1 and the next
//! addresses, and keep their data in a temporary directory, which goes with the test.
//!
//! `PICKLOCK_CASSANDRA_PAXOS=v2` has them run the second variant of Paxos, which the simulated ones do not know: their answers are to be the
//! same.

use crate::cql::Connection;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use picklock_model::stores::cassandra::CommitLog;
use picklock_model::time::Micros;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How to get it, once.
const GET: &str = "mvn -q -f drivers/cassandra/pom.xml dependency:copy-dependencies";

/// What Java 17 does not let it do by itself, from its own `conf/jvm17-server.options`.
const EXPORTS: [&str; 8] = [
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
];
const OPENS: [&str; 15] = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/sun.nio.ch",
];

/// Nodes that are one cluster.
pub struct Real {
    jars: PathBuf,
    directory: PathBuf,
    ports: Ports,
    hints: bool,
    log: CommitLog,
    /// `None`: stopped.
    nodes: Vec<Option<Child>>,
}

/// The same on every node.
#[derive(Clone, Copy)]
struct Ports {
    storage: u16,
    native: u16,
}

impl Drop for Real {
    fn drop(&mut self) {
        for process in self.nodes.iter_mut().flatten() {
            // It may have ended by itself; and what cannot be removed stays.
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Real {
    /// Where each node's part of the ring ends. Every node is a replica of everything; the order in which they are asked begins here.
    pub const TOKENS: [i64; 3] = [0, 1 << 61, 1 << 62];

    /// So many nodes, each of which answers. `None`, and a word about it, where there is nothing to start.
    pub fn start(nodes: u8, hints: bool) -> Option<Real> {
        Real::start_with(nodes, hints, CommitLog::AS_SHIPPED)
    }

    /// The same with a commit log that is not the default one.
    pub fn start_with(nodes: u8, hints: bool, log: CommitLog) -> Option<Real> {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../drivers/cassandra/jars");
        let jars = std::env::var_os("PICKLOCK_CASSANDRA").map_or(PathBuf::from(default), PathBuf::from);
        if !jars.is_dir() {
            println!("skipped: no Cassandra here; to get it: {GET}");
            return None;
        }
        if !Command::new("java")
            .arg("-version")
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|java| java.success())
        {
            println!("skipped: no Java here; to install it: apt-get install openjdk-17-jre-headless");
            return None;
        }
        let ports = Ports { storage: free_port(nodes), native: free_port(nodes) };
        let directory =
            std::env::temp_dir().join(format!("picklock-cassandra-{}-{}", std::process::id(), ports.native));
        let mut real = Real { jars, directory, ports, hints, log, nodes: Vec::new() };
        for node in 0..nodes {
            real.configure(node);
            real.nodes.push(None);
            // One after the other: two that join at once are told to try again later.
            real.start_node(node);
        }
        Some(real)
    }

    /// Where clients find it.
    pub fn address(&self, node: u8) -> SocketAddr {
        SocketAddr::new(address(node), self.ports.native)
    }

    /// A client's connection.
    pub fn connect(&self, node: u8) -> Connection {
        Connection::open(self.address(node)).expect("it answers")
    }

    /// Starts a node that is stopped, and waits for it.
    pub fn start_node(&mut self, node: u8) {
        assert!(self.nodes[usize::from(node)].is_none(), "it runs");
        let home = self.home(node);
        let log = fs::File::create(home.join("log")).expect("a log");
        let mut command = Command::new("java");
        EXPORTS.iter().for_each(|what| {
            command.arg("--add-exports").arg(format!("{what}=ALL-UNNAMED"));
        });
        OPENS.iter().for_each(|what| {
            command.arg("--add-opens").arg(format!("{what}=ALL-UNNAMED"));
        });
        let process = command
            .args(["-Xms384m", "-Xmx384m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            // The answers are of interest, not their speed; and nobody else is to join.
            .args(["-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=500"])
            .args([
                "-Dcassandra-foreground=yes",
                "-Dcassandra.config.loader=org.apache.cassandra.config.YamlConfigurationLoader",
            ])
            .arg(format!("-Dcassandra.config=file://{}", home.join("cassandra.yaml").display()))
            .arg(format!("-Dcassandra.storagedir={}", home.display()))
            .arg(format!("-Dlogback.configurationFile={}", home.join("logback.xml").display()))
            .arg("-cp")
            .arg(format!("{}:{}/*", home.display(), self.jars.display()))
            .arg("org.apache.cassandra.service.CassandraDaemon")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("Java starts");
        self.nodes[usize::from(node)] = Some(process);
        for _ in 0..1_200 {
            if Connection::open(self.address(node)).is_ok() {
                return;
            }
            let process = self.nodes[usize::from(node)].as_mut().expect("it was started");
            if let Ok(Some(status)) = process.try_wait() {
                panic!("node {node} has ended with {status}:\n{}", self.tail(node));
            }
            sleep(Duration::from_millis(100));
        }
        panic!("node {node} does not answer:\n{}", self.tail(node));
    }

    /// Ends a node as an operator does: it says good-bye to the others.
    pub fn stop_node(&mut self, node: u8) {
        self.end(node, Signal::SIGTERM);
    }

    /// Ends a node's process at once.
    pub fn kill_node(&mut self, node: u8) {
        self.end(node, Signal::SIGKILL);
    }

    /// Its process does nothing.
    pub fn pause_node(&self, node: u8) {
        self.signal(node, Signal::SIGSTOP);
    }

    /// It goes on.
    pub fn resume_node(&self, node: u8) {
        self.signal(node, Signal::SIGCONT);
    }

    fn end(&mut self, node: u8, how: Signal) {
        self.signal(node, how);
        let mut process = self.nodes[usize::from(node)].take().expect("it runs");
        process.wait().expect("it ends");
    }

    fn signal(&self, node: u8, signal: Signal) {
        let process = self.nodes[usize::from(node)].as_ref().expect("it runs");
        let id = i32::try_from(process.id()).expect("a process id");
        kill(Pid::from_raw(id), signal).expect("it is ours");
    }

    fn home(&self, node: u8) -> PathBuf {
        self.directory.join(node.to_string())
    }

    /// The end of what it has written about itself.
    fn tail(&self, node: u8) -> String {
        let text = fs::read_to_string(self.home(node).join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn configure(&self, node: u8) {
        let home = self.home(node);
        fs::create_dir_all(&home).expect("a directory");
        let Ports { storage, native } = self.ports;
        let (own, seed, hints) = (address(node), address(0), self.hints);
        let place = |name: &str| home.join(name).display().to_string();
        let token = Real::TOKENS[usize::from(node)];
        let lines = [
            "cluster_name: picklock".to_owned(),
            format!("initial_token: {token}\nnum_tokens: 1\nauto_bootstrap: false"),
            "partitioner: org.apache.cassandra.dht.Murmur3Partitioner".to_owned(),
            format!("data_file_directories: [{}]", place("data")),
            format!("commitlog_directory: {}", place("commitlog")),
            format!("saved_caches_directory: {}", place("caches")),
            format!("hints_directory: {}", place("hints")),
            format!("cdc_raw_directory: {}", place("cdc")),
            match self.log {
                CommitLog::Batch => "commitlog_sync: batch".to_owned(),
                CommitLog::Periodic { period, marks } => {
                    assert_eq!(marks, Micros::millis(100), "not configurable");
                    format!("commitlog_sync: periodic\ncommitlog_sync_period: {}ms", period.0 / 1_000)
                }
            },
            "commitlog_segment_size: 4MiB".to_owned(),
            format!("paxos_variant: {}", paxos_variant()),
            "seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider".to_owned(),
            format!("    parameters:\n      - seeds: \"{seed}:{storage}\""),
            format!("listen_address: {own}\nrpc_address: {own}"),
            format!("storage_port: {storage}\nnative_transport_port: {native}"),
            // A coordinator reads itself first, then the others in an order that does not change.
            "endpoint_snitch: GossipingPropertyFileSnitch\ndynamic_snitch: false".to_owned(),
            // A node that is paused for seconds is not taken for dead.
            "phi_convict_threshold: 16".to_owned(),
            format!("hinted_handoff_enabled: {hints}\nhints_flush_period: 1s"),
            // As in the file that it comes with: without it, 1.8 s.
            "cas_contention_timeout: 1000ms".to_owned(),
            "disk_access_mode: standard\nmemtable_heap_space: 64MiB\nkey_cache_size: 0MiB".to_owned(),
        ];
        write(&home.join("cassandra.yaml"), &(lines.join("\n") + "\n"));
        write(&home.join("cassandra-rackdc.properties"), "dc=here\nrack=one\n");
        let appender = "<appender name=\"out\" class=\"ch.qos.logback.core.ConsoleAppender\"><encoder><pattern>\
                        %date %-5level %logger{0} %msg%n</pattern></encoder></appender>";
        let log = format!(
            "<configuration>{appender}<root level=\"INFO\"><appender-ref ref=\"out\"/></root></configuration>\n"
        );
        write(&home.join("logback.xml"), &log);
    }
}

fn paxos_variant() -> String {
    let asked = std::env::var("PICKLOCK_CASSANDRA_PAXOS").unwrap_or_else(|_| "v1".to_owned());
    assert!(["v1", "v2"].contains(&asked.as_str()), "PICKLOCK_CASSANDRA_PAXOS={asked}: it takes v1 or v2");
    asked
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("it is written");
}

fn address(node: u8) -> IpAddr {
    Ipv4Addr::new(127, 0, 0, 1 + node).into()
}

/// Free on the addresses of all nodes.
fn free_port(nodes: u8) -> u16 {
    loop {
        let first = TcpListener::bind((address(0), 0)).expect("a free port");
        let port = first.local_addr().expect("it is bound").port();
        if (1..nodes).all(|node| TcpListener::bind((address(node), port)).is_ok()) {
            return port;
        }
    }
}
