//! The built command, and `etcdctl` before it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A process that ends with this value.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing to keep.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `picklock serve etcd`.
struct Served {
    process: Running,
    endpoints: Vec<String>,
    /// Where clients say what they hold.
    witness: Option<String>,
    output: BufReader<ChildStdout>,
}

impl Served {
    fn start(arguments: &[&str]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(["serve", "etcd", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut output = BufReader::new(process.stdout.take().expect("it is piped"));
        let process = Running(process);
        let (mut endpoints, mut witness) = (Vec::new(), None);
        loop {
            let mut line = String::new();
            output.read_line(&mut line).expect("it says where it listens");
            match line.trim_end().split_once(" listens on ") {
                Some(("the witness", address)) => witness = Some(address.to_owned()),
                Some((_, address)) => endpoints.push(address.to_owned()),
                None => break,
            }
        }
        assert!(!endpoints.is_empty(), "it listens nowhere");
        Served { process, endpoints, witness, output }
    }

    fn etcdctl(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.endpoints.join(",")]).args(arguments);
        command
    }

    /// What etcdctl prints; `None`, and a word about it, where there is none.
    fn says(&self, arguments: &[&str], input: &str) -> Option<String> {
        let spawned = self
            .etcdctl(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no etcdctl here; to install it: apt-get install etcd-client");
                return None;
            }
            Err(error) => panic!("etcdctl does not start: {error}"),
        };
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// The first lines that a command of etcdctl prints, which then is told to end (not by SIGINT, which is ignored below a shell's `&`).
    fn begins_with(&self, arguments: &[&str], lines: usize) -> Vec<String> {
        let spawned = self.etcdctl(arguments).stdout(Stdio::piped()).spawn();
        let mut process = Running(spawned.expect("etcdctl is here"));
        let output = BufReader::new(process.0.stdout.take().expect("it is piped"));
        let said: Vec<String> = output.lines().take(lines).map(|line| line.expect("it is text")).collect();
        let sent = Command::new("kill").args(["-TERM", &process.0.id().to_string()]).status();
        assert!(sent.expect("there is a kill").success());
        process.0.wait().expect("it ends");
        said
    }

    /// Ends it as ^C does; what it has said since it listens.
    fn stop(mut self) -> String {
        let id = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("it says a summary");
        assert_eq!(self.process.0.wait().expect("it ends").code(), Some(0));
        said
    }
}

#[test]
fn etcdctl_speaks_with_it() {
    let served = Served::start(&[]);
    let says = |arguments: &[&str]| served.says(arguments, "").expect("etcdctl is here");
    if served.says(&["put", "a", "1"], "").is_none() {
        return;
    }
    assert_eq!(says(&["put", "b", "2", "--prev-kv"]), "OK");
    assert_eq!(says(&["get", "", "--prefix", "--print-value-only"]), "1\n2");
    assert_eq!(says(&["get", "a", "--from-key", "--limit=1", "--keys-only"]), "a");
    assert_eq!(says(&["del", "b"]), "1");
    let txn = "value(\"a\") = \"1\"\n\nput a 2\nget a\n\nget a\n\n";
    assert_eq!(served.says(&["txn"], txn).expect("etcdctl is here"), "SUCCESS\n\nOK\n\na\n2");
    let granted = says(&["lease", "grant", "600"]);
    let lease = granted.split(' ').nth(1).expect("its number").to_owned();
    assert_eq!(granted, format!("lease {lease} granted with TTL(600s)"));
    says(&["put", "leased", "x", "--lease", &lease]);
    assert_eq!(
        says(&["lease", "keep-alive", "--once", &lease]),
        format!("lease {lease} keepalived with TTL(600)")
    );
    assert!(says(&["lease", "timetolive", "--keys", &lease]).ends_with("attached keys([leased])"));
    assert!(says(&["lease", "list"]).contains(&lease));
    assert_eq!(says(&["lease", "revoke", &lease]), format!("lease {lease} revoked"));
    assert_eq!(says(&["get", "leased"]), "");
    assert_eq!(served.begins_with(&["watch", "a", "--rev=2"], 6), ["PUT", "a", "1", "PUT", "a", "2"]);
    assert_eq!(says(&["lock", "l", "echo", "held"]), "held");
    assert_eq!(says(&["lock", "l", "echo", "again"]), "again");
    let elected = served.begins_with(&["elect", "e", "me"], 2);
    assert!(elected[0].starts_with("e/") && elected[1] == "me", "{elected:?}");
    assert_eq!(says(&["compaction", "3"]), "compacted revision 3");
    assert_eq!(says(&["alarm", "list"]), "");
    let summary = served.stop();
    assert!(summary.contains("0 faults struck"), "{summary}");
}

#[test]
fn etcdctl_sees_all_members_while_faults_strike() {
    let served = Served::start(&["--members", "3", "--faults", "pause", "--lease", "100", "--round", "2"]);
    let Some(status) = served.says(&["endpoint", "status"], "") else { return };
    assert_eq!(
        status.lines().filter(|line| line.contains("true")).count(),
        1,
        "one of three leads: {status}"
    );
    let members = served.says(&["member", "list"], "").expect("etcdctl is here");
    assert_eq!(members.lines().filter(|line| line.contains("started")).count(), 3, "{members}");
    for n in 0..50 {
        served.says(&["put", &format!("key{n}"), "value"], "").expect("etcdctl is here");
    }
    assert_eq!(
        served
            .says(&["get", "key", "--prefix", "--keys-only"], "")
            .expect("etcdctl is here")
            .split_whitespace()
            .count(),
        50
    );
    let summary = served.stop();
    assert!(summary.contains("struck at") && summary.contains("pauses for"), "{summary}");
}

#[test]
fn two_clients_that_say_they_are_in_end_it_at_once() {
    let out = std::env::temp_dir().join(format!("picklock-etcd-{}", std::process::id()));
    let out_text = out.to_str().expect("a path in UTF-8").to_owned();
    let mut served =
        Served::start(&["--members", "3", "--witness", "127.0.0.1:0", "--until-broken", "--out", &out_text]);
    let address = served.witness.clone().expect("it listens");
    let connect = || std::net::TcpStream::connect(&address).expect("it listens");
    let (one, other) = (connect(), connect());
    for mut stream in [&one, &other] {
        stream.write_all(b"enter lock\n").expect("it listens");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("it answers");
        assert_eq!(answer.trim_end(), "ok");
    }
    let mut said = String::new();
    served.output.read_to_string(&mut said).expect("it says how it came out");
    assert_eq!(served.process.0.wait().expect("it ends").code(), Some(1), "{said}");
    assert!(said.contains("mutual-exclusion broken"), "{said}");
    let page = std::fs::read_to_string(out.join("run.html")).expect("a picture");
    assert!(page.contains("picklock serve etcd"));
    let _gone = std::fs::remove_dir_all(out);
}
