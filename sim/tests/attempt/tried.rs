//! What tests of `picklock try` share: the command, with a test of this very file as its client, and the witness.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("attempt").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// `picklock try` with these arguments, and as its client the test of this name in this very file.
pub fn tried(arguments: &[&str], client: &str) -> Output {
    let own = std::env::current_exe().expect("this runs");
    Command::new(env!("CARGO_BIN_EXE_picklock"))
        .arg("try")
        .args(arguments)
        .arg("--")
        .arg(own)
        .args(["--exact", client, "--nocapture"])
        .output()
        .expect("the binary runs")
}

pub fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A line goes, a line comes; `None`: nobody is there any more.
pub fn ask(stream: &mut BufReader<TcpStream>, line: &str) -> Option<String> {
    stream.get_mut().write_all(format!("{line}\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_line(&mut answer).ok().filter(|read| *read > 0)?;
    Some(answer.trim_end().to_owned())
}

pub fn connect(address: &str) -> BufReader<TcpStream> {
    BufReader::new(TcpStream::connect(address).expect("it listens"))
}

pub fn env(name: &str) -> String {
    std::env::var(name).expect("picklock try has set it")
}

/// Whoever enters for the third time pauses for so long that its lock is over; of what comes later nothing happens any more.
const PAUSE: &str = r#"{
  "network": {"latency_min": 0, "latency_max": 0, "tail_per_mille": 0, "tail_max": 0,
              "loss_per_mille": 0, "duplicate_per_mille": 0, "reply_loss_per_mille": 0},
  "faults": [{"when": {"trigger": {"client": null, "event": "granted", "nth": 3}},
              "fault": {"pause": {"node": "struck", "length": LENGTH}}},
             {"when": {"at": 29000000}, "fault": {"pause": {"node": {"server": 0}, "length": 1000}}}],
  "heal_at": 30000000
}"#;

/// A plan in which whoever enters for the third time pauses for so many microseconds.
pub fn plan_file(folder: &Path, pause_us: u64) -> String {
    let plan = folder.join("given.json");
    std::fs::write(&plan, PAUSE.replace("LENGTH", &pause_us.to_string())).expect("the plan is written");
    plan.to_str().expect("a path in UTF-8").to_owned()
}

/// A holder that pauses breaks the lock of such clients, the fault is named, and the plan that is written breaks it again. The
/// round that broke.
pub fn breaks_again(arguments: &[&str], more: &[&str], pause: &str, client: &str) -> Value {
    let first = tried(&[arguments, more].concat(), client);
    assert_eq!(first.status.code(), Some(1), "{}", said(&first));
    let document = document(&first);
    let round = &document["rows"][0];
    assert_eq!((&document["verdict"], &round["judged_by"]), (&"violated".into(), &"clients".into()));
    let violation = &round["violations"][0];
    assert_eq!(violation["property"], "mutual-exclusion");
    let fault = violation["fault"]["words"].as_str().expect("a fault is named");
    assert_eq!(fault, format!("{} pauses for {pause}", violation["other"].as_str().expect("a client")));
    // What did not strike is not in the plan that does it again.
    assert_eq!(round["plan"]["faults"].as_array().map(Vec::len), Some(1));
    let again = round["plan_file"].as_str().expect("a plan");
    let second = tried(&[arguments, &["--plan", again]].concat(), client);
    assert_eq!(second.status.code(), Some(1), "{}", said(&second));
    round.clone()
}
