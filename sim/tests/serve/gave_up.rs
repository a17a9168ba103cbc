//! Messages on their way, for whoever sends them and does not wait.

use crate::process::Served;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A plan in a file of its own, with these faults and a network that is never in the way.
fn plan(name: &str, faults: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("picklock-{name}-{}.json", std::process::id()));
    let network = r#"{"latency_min": 0, "latency_max": 0, "tail_per_mille": 0, "tail_max": 0, "loss_per_mille": 0,
        "duplicate_per_mille": 0, "reply_loss_per_mille": 0}"#;
    let text = format!(r#"{{"network": {network}, "faults": [{faults}], "heal_at": 60000000}}"#);
    std::fs::write(&path, text).expect("it can be written");
    path
}

fn served(name: &str, faults: &str) -> Served {
    let path = plan(name, faults);
    let served = Served::start(&["--plan", path.to_str().expect("a path in UTF-8")]);
    std::fs::remove_file(path).expect("it was written");
    served
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out is set");
    stream
}

fn ask(stream: &mut TcpStream, line: &str) -> String {
    stream.write_all(format!("{line}\r\n").as_bytes()).expect("it reads");
    let mut said = [0; 256];
    let length = stream.read(&mut said).expect("it replies");
    String::from_utf8_lossy(&said[..length]).into_owned()
}

/// A lock is taken for nobody: the failure that clients with short time-outs meet.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn who_gives_up_has_sent_what_it_has_sent() {
    for (name, fault) in [
        ("paused", r#"{"pause": {"node": {"server": 0}, "length": 4000000}}"#),
        ("cut", r#"{"isolate": {"node": {"server": 0}, "length": 4000000}}"#),
    ] {
        let served = served(name, &format!(r#"{{"when": {{"at": 1000000}}, "fault": {fault}}}"#));
        let mut probe = connect(served.port());
        // The fault has begun when an answer is late.
        let began = loop {
            let asked = Instant::now();
            probe.write_all(b"PING\r\n").expect("it reads");
            probe.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out is set");
            if probe.read(&mut [0; 64]).is_err() {
                break asked;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut impatient = connect(served.port());
        impatient.write_all(b"SET ghost me NX PX 30000\r\n").expect("it is sent");
        std::thread::sleep(Duration::from_millis(200));
        drop(impatient);
        let said = ask(&mut connect(served.port()), "GET ghost");
        assert!(began.elapsed() > Duration::from_secs(2), "{name} had ended too early");
        assert_eq!(said, "$2\r\nme\r\n", "{name}");
    }
}

#[test]
fn messages_that_are_on_the_way_together_arrive_together() {
    let fault = r#"{"slow-link": {"from": "clients", "to": "servers", "extra": 300000, "length": 50000000}}"#;
    let served = served("slow", &format!(r#"{{"when": {{"at": 0}}, "fault": {fault}}}"#));
    std::thread::sleep(Duration::from_millis(300));
    let mut stream = connect(served.port());
    let asked = Instant::now();
    stream.write_all(&b"PING\r\n".repeat(50)).expect("it reads");
    let mut said = vec![0; 7 * 50];
    stream.read_exact(&mut said).expect("it replies");
    let waited = asked.elapsed();
    // One by one they would take 15 s.
    assert!(waited >= Duration::from_millis(299) && waited < Duration::from_secs(5), "{waited:?}");
}

#[test]
fn plans_that_no_server_can_follow_are_refused() {
    for (fault, heal, why) in [
        (
            r#"{"when": {"at": 0}, "fault": {"pause": {"node": {"server": 7}, "length": 1}}}"#,
            "60",
            "server 7",
        ),
        (
            r#"{"when": {"at": 70000000}, "fault": {"pause": {"node": {"server": 0}, "length": 1}}}"#,
            "60",
            "healed",
        ),
        (r#"{"when": {"at": 0}, "fault": {"drift": {"node": {"server": 0}, "ppm": -2000000}}}"#, "60", "ppm"),
        (
            r#"{"when": {"at": 0}, "typo": 1, "fault": {"freeze": {"node": {"server": 0}, "length": 1}}}"#,
            "60",
            "typo",
        ),
    ] {
        let path = plan(&format!("refused-{heal}"), fault);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_picklock"))
            .args(["serve", "redis", "--listen", "127.0.0.1:0", "--servers", "2", "--plan"])
            .arg(&path)
            .output()
            .expect("the binary runs");
        std::fs::remove_file(path).expect("it was written");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{fault}: {said}");
        assert!(said.contains(why), "{fault}: {said}");
    }
}

#[test]
fn what_is_not_there_is_said_once_and_sigterm_ends_it_as_interrupting_does() {
    let served = Served::start(&[]);
    let mut stream = connect(served.port());
    for _ in 0..3 {
        assert!(ask(&mut stream, "XADD stream * a b").starts_with("-ERR unknown command 'XADD'"));
    }
    assert!(ask(&mut stream, "NOSUCH").starts_with("-ERR unknown command 'NOSUCH'"));
    std::thread::sleep(Duration::from_millis(300));
    let said = served.stop_with("-TERM");
    let lacks: Vec<&str> = said.lines().filter(|line| line.contains("and this one has not")).collect();
    assert_eq!(lacks.len(), 1, "{said}");
    assert!(lacks[0].contains("was asked for XADD"), "{said}");
    assert!(said.contains("XADD 3 times, NOSUCH once"), "{said}");
    assert!(said.contains("served 4 commands"), "{said}");
}
