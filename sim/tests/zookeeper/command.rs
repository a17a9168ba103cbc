//! The built command.

use crate::client::{Body, Client, op};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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

/// `picklock serve zookeeper`.
pub struct Served {
    process: Running,
    pub endpoints: Vec<String>,
    /// Where clients say what they hold.
    pub witness: Option<String>,
    output: BufReader<ChildStdout>,
}

impl Served {
    pub fn start(arguments: &[&str]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(["serve", "zookeeper", "--listen", "127.0.0.1:0"])
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

    /// Ends it as ^C does; its exit code, and what it has said since it listens.
    pub fn stop(mut self) -> (Option<i32>, String) {
        let id = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is a kill").success());
        self.wait()
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("it says a summary");
        (self.process.0.wait().expect("it ends").code(), said)
    }
}

#[test]
fn a_wrong_call_is_answered_in_one_line() {
    for (call, expected) in [
        ("--servers 2", "--servers 2: it takes 1, 3 or 5"),
        ("--listen 2181", "127.0.0.1:2181"),
        ("--listen 127.0.0.1:65535 --servers 3", "not 3 ports"),
        ("--session 0", "--session 0: it takes 1 to"),
        ("--until-broken", "--witness 127.0.0.1:7000"),
        ("--faults puase", "pause"),
        ("--session 5 --lease 5", "cannot be used with"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(["serve", "zookeeper"])
            .args(call.split(' '))
            .output()
            .expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{call}: {said}");
        assert!(said.contains(expected), "{call}: {said}");
    }
}

#[test]
fn two_who_say_that_they_hold_end_it_with_the_fault_that_did_it() {
    let out = std::env::temp_dir().join(format!("picklock-zookeeper-out-{}", std::process::id()));
    let record = out.with_extension("jsonl");
    let mut served = Served::start(&[
        "--witness",
        "127.0.0.1:0",
        "--until-broken",
        "--out",
        out.to_str().expect("UTF-8"),
        "--record",
        record.to_str().expect("UTF-8"),
    ]);
    let address = served.witness.clone().expect("it listens");
    let says = |stream: &TcpStream, line: &str| {
        let mut answer = String::new();
        writeln!(&*stream, "{line}").expect("it listens");
        BufReader::new(stream).read_line(&mut answer).expect("it answers");
        assert_eq!(answer.trim_end(), "ok", "{line}");
    };
    let (one, other) = (
        TcpStream::connect(&address).expect("it listens"),
        TcpStream::connect(&address).expect("it listens"),
    );
    says(&one, "enter lock");
    says(&other, "enter lock");
    let (code, said) = served.wait();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("mutual-exclusion broken"), "{said}");
    let page = std::fs::read_to_string(out.join("run.html")).expect("a picture");
    assert!(page.contains("picklock serve zookeeper"));
    assert!(std::fs::read_to_string(&record).expect("a record").contains("\"what\":\"broken\""));
    let _gone = (std::fs::remove_dir_all(out), std::fs::remove_file(record));
}

/// Nothing happens at the server between the beginning of the session and its end.
#[test]
fn the_end_of_a_session_is_on_record_and_who_has_closed_it_is_told_apart() {
    let record = std::env::temp_dir().join(format!("picklock-zookeeper-ends-{}.jsonl", std::process::id()));
    let served = Served::start(&["--session", "500", "--record", record.to_str().expect("UTF-8")]);
    let address = served.endpoints[0].parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut closes = Client::connect_for(address, 500).await.expect("it takes clients");
        let _closed = closes.ask(op::CLOSE, Body::new()).await;
        let _silent = Client::connect_for(address, 500).await.expect("it takes clients");
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    });
    let (code, said) = served.stop();
    assert_eq!(code, Some(0), "{said}");
    let lines = std::fs::read_to_string(&record).expect("a record");
    let over: Vec<&str> = lines.lines().filter(|line| line.contains("\"what\":\"session-over\"")).collect();
    let [closed, silent] = &over[..] else { panic!("{over:#?} in {lines}") };
    assert!(closed.contains("it was closed") && silent.contains("nothing came from it in time"), "{over:#?}");
    let _gone = std::fs::remove_file(record);
}

#[test]
fn without_a_witness_there_is_no_verdict_and_nobody_has_asked_for_one() {
    let (code, said) = Served::start(&["--servers", "3", "--session", "1000"]).stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no client told a witness what it holds"), "{said}");
}
