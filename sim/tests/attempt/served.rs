//! `picklock serve redis` that judges.

use super::{ask, connect, folder};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A server with a witness.
struct Judging {
    process: Child,
    redis: String,
    witness: String,
    output: BufReader<ChildStdout>,
}

impl Drop for Judging {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing to keep.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Judging {
    fn start(name: &str, arguments: &[&str]) -> Judging {
        let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
        command
            .args(["serve", "redis", "--listen", "127.0.0.1:0", "--witness", "127.0.0.1:0", "--out"])
            .arg(folder(name))
            .args(arguments);
        Judging::by(command)
    }

    fn by(mut command: Command) -> Judging {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
        let mut output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut address = || {
            let mut line = String::new();
            output.read_line(&mut line).expect("it says where it listens");
            line.trim_end().rsplit(' ').next().expect("an address").to_owned()
        };
        let (redis, witness) = (address(), address());
        Judging { process, redis, witness, output }
    }

    /// Waits until it ends: its exit code, and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("it says how it came out");
        (self.process.wait().expect("it ends").code(), said)
    }

    fn interrupt(self) -> (Option<i32>, String) {
        self.signal("-TERM");
        self.end()
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("there is a kill").success());
    }
}

#[test]
fn two_clients_that_say_they_are_in_end_it_at_once() {
    let served = Judging::start("witness", &["--until-broken"]);
    let (mut one, mut other) = (connect(&served.witness), connect(&served.witness));
    for wrong in ["client ", "client payments 7"] {
        let answer = ask(&mut one, wrong);
        assert!(
            answer.as_deref().is_some_and(|answer| answer.starts_with("error: client takes ")),
            "{answer:?}"
        );
    }
    assert_eq!(ask(&mut one, "client payments").as_deref(), Some("ok"));
    assert_eq!(ask(&mut one, "enter orders 1").as_deref(), Some("ok"));
    assert_eq!(ask(&mut other, "enter").as_deref().map(|answer| answer.starts_with("error: ")), Some(true));
    assert_eq!(ask(&mut other, "enter orders 2").as_deref(), Some("ok"));
    let (code, said) = served.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("mutual-exclusion broken") && said.contains("enters orders while payments is in"),
        "{said}"
    );
    assert!(said.contains("no fault struck since payments asked for it"), "{said}");
}

#[test]
fn a_write_with_an_old_token_is_turned_down() {
    let served = Judging::start("token", &[]);
    let (mut one, mut other) = (connect(&served.witness), connect(&served.witness));
    ask(&mut one, "enter orders 1");
    ask(&mut one, "leave orders");
    ask(&mut other, "enter orders 2");
    assert_eq!(ask(&mut other, "write orders 2").as_deref(), Some("ok"));
    assert_eq!(ask(&mut one, "write orders 1").as_deref(), Some("stale"));
    let (code, said) = served.interrupt();
    assert_eq!(
        code,
        Some(0),
        "a resource that checks tokens keeps its promise, and was put to the test: {said}"
    );
}

#[test]
fn a_server_that_forgets_hands_a_lock_out_twice() {
    let plan = folder("forgets-plan").join("plan.json");
    let text = r#"{"network": {"latency_min": 0, "latency_max": 0, "tail_per_mille": 0, "tail_max": 0,
        "loss_per_mille": 0, "duplicate_per_mille": 0, "reply_loss_per_mille": 0},
        "faults": [{"when": {"at": 1000000}, "fault": {"crash": {"node": {"server": 0}, "restart_after": 10000}}}],
        "heal_at": 60000000}"#;
    std::fs::write(&plan, text).expect("the plan is written");
    let served =
        Judging::start("forgets", &["--until-broken", "--plan", plan.to_str().expect("a path in UTF-8")]);
    assert_eq!(ask(&mut connect(&served.redis), "SET lock one NX PX 30000").as_deref(), Some("+OK"));
    let got_it = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        // While it is down, connections to it are reset.
        ask(&mut connect(&served.redis), "SET lock two NX PX 30000").as_deref() == Some("+OK")
    });
    assert!(got_it, "it has not forgotten");
    let (code, said) = served.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the servers hand lock out to"), "{said}");
    assert!(said.contains("suspect: s1 crashes and starts again after 10ms"), "{said}");
}

#[test]
fn what_is_given_back_before_may_be_handed_out_again() {
    let served = Judging::start("kept", &[]);
    let (mut one, mut other) = (connect(&served.redis), connect(&served.redis));
    assert_eq!(ask(&mut one, "SET lock one NX PX 30000").as_deref(), Some("+OK"));
    assert_eq!(ask(&mut other, "SET lock two NX PX 30000").as_deref(), Some("$-1"));
    assert_eq!(ask(&mut one, "DEL lock").as_deref(), Some(":1"));
    assert_eq!(ask(&mut other, "SET lock two NX PX 30000").as_deref(), Some("+OK"));
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("not broken: the servers handed locks out twice"), "{said}");
}

/// Whose connection it is that takes a lock's key away, nobody can say: as with `DEL`, it may be the owner's.
#[test]
fn who_empties_a_database_or_renames_a_lock_has_given_it_back() {
    let served = Judging::start("emptied", &[]);
    let (mut one, mut other) = (connect(&served.redis), connect(&served.redis));
    for (round, gives_back) in ["FLUSHALL", "FLUSHDB", "RENAME lock old"].iter().enumerate() {
        let takes = |value: &str| format!("SET lock {value}{round} NX PX 30000");
        assert_eq!(ask(&mut one, &takes("one")).as_deref(), Some("+OK"), "{gives_back}");
        assert_eq!(ask(&mut other, &takes("two")).as_deref(), Some("$-1"), "{gives_back}");
        let answer = ask(&mut one, gives_back);
        assert!(answer.is_some_and(|answer| !answer.starts_with('-')), "{gives_back}");
        assert_eq!(ask(&mut other, &takes("two")).as_deref(), Some("+OK"), "{gives_back}");
        assert_eq!(ask(&mut other, "DEL lock").as_deref(), Some(":1"), "{gives_back}");
    }
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(0), "{said}");
}

/// Whatever writes over a lock's key, or makes it go, gives the lock back, and so does a deletion of many keys at once.
#[test]
fn whatever_overwrites_a_lock_or_takes_it_away_has_given_it_back() {
    let served = Judging::start("overwritten", &[]);
    let (mut one, mut other) = (connect(&served.redis), connect(&served.redis));
    let many: String = (0..40).map(|number| format!(" key:{number}")).collect();
    let many = format!("DEL{many} lock");
    let function = "redis.register_function('r', function(keys) return redis.call('DEL', keys[1]) end)";
    let function = format!(r##"FUNCTION LOAD "#!lua name=l\n{function}""##);
    // Of an answer of several lines, those that `ask` leaves.
    let rest = |stream: &mut BufReader<TcpStream>, lines: usize| {
        (0..lines).for_each(|_| assert!(stream.read_line(&mut String::new()).is_ok_and(|read| read > 0)));
    };
    assert_eq!(ask(&mut one, &function).as_deref(), Some("$1"));
    rest(&mut one, 1);
    let gives_back: [&[&str]; 10] = [
        // What stands in another database is written over from there.
        &["SELECT 3", "SET q 1", "COPY q lock DB 0 REPLACE", "SELECT 0", "DEL lock"],
        &["FCALL r 1 lock"],
        &[r#"EVAL "redis.call('SELECT', 1); redis.call('SELECT', 0); return redis.call('DEL', 'lock')" 0"#],
        &["SELECT 1", "MULTI", "SELECT 0", "DEL lock", "EXEC"],
        &["MSET key x lock y", "DEL lock"],
        &["SUNIONSTORE lock none"],
        &["SDIFFSTORE lock none"],
        &["SORT none STORE lock"],
        &[&many],
        &["SWAPDB 0 1"],
    ];
    for (round, commands) in gives_back.iter().enumerate() {
        let takes = |value: &str| format!("SET lock {value}{round} NX");
        assert_eq!(ask(&mut one, &takes("one")).as_deref(), Some("+OK"), "{commands:?}");
        assert_eq!(ask(&mut other, &takes("two")).as_deref(), Some("$-1"), "{commands:?}");
        for command in *commands {
            let answer = ask(&mut one, command);
            assert!(answer.is_some_and(|answer| !answer.starts_with('-')), "{command}");
            rest(&mut one, if *command == "EXEC" { 2 } else { 0 });
        }
        assert_eq!(ask(&mut other, &takes("two")).as_deref(), Some("+OK"), "{commands:?}");
        assert_eq!(ask(&mut other, "DEL lock").as_deref(), Some(":1"), "{commands:?}");
    }
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_broke_is_told_though_nothing_can_be_written_of_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(["serve", "redis", "--listen", "127.0.0.1:0", "--witness", "127.0.0.1:0", "--until-broken"]);
    let served = Judging::by({
        command.env("TMPDIR", "/dev/null/nowhere");
        command
    });
    let (mut one, mut other) = (connect(&served.witness), connect(&served.witness));
    ask(&mut one, "enter orders");
    ask(&mut other, "enter orders");
    let (code, said) = served.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("mutual-exclusion broken"), "{said}");
    assert!(said.contains("neither the plan nor the picture is written: "), "{said}");
}

/// One call of a pattern is one step of a script, however long it takes: nobody else is heard meanwhile but who ends the process.
#[test]
fn who_asks_twice_ends_servers_that_are_busy_with_a_script() {
    let served = Judging::start("busy", &[]);
    let mut client = connect(&served.redis);
    let pattern = "EVAL \"return string.find(string.rep('a', 3000000), '.-b')\" 0\r\n";
    std::io::Write::write_all(client.get_mut(), pattern.as_bytes()).expect("it listens");
    std::thread::sleep(std::time::Duration::from_millis(200));
    served.signal("-TERM");
    std::thread::sleep(std::time::Duration::from_millis(200));
    served.signal("-INT");
    let (code, said) = served.end();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn servers_of_whom_nobody_reads_on_end() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args([
        "serve",
        "redis",
        "--listen",
        "127.0.0.1:0",
        "--witness",
        "127.0.0.1:0",
        "--faults",
        "pause",
    ]);
    let mut served = Judging::by(command);
    served.output = BufReader::new(
        Command::new("true")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it is there")
            .stdout
            .take()
            .expect("piped"),
    );
    // What it says next is of the plan.
    let mut client = connect(&served.redis);
    ask(&mut client, "NOSUCH");
    assert_eq!(served.process.wait().expect("it ends").code(), Some(141));
}

#[test]
fn where_nobody_holds_there_is_no_verdict() {
    let served = Judging::start("nobody", &[]);
    ask(&mut connect(&served.redis), "PING");
    let (code, said) = served.interrupt();
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("no verdict: nobody ever held a lock"), "{said}");
}
