//! `picklock try` and the verdict of `picklock serve redis`, as their users have them: processes, ports, files.
//!
//! - `drivers`: the clients in `drivers/`, where their libraries are installed
//! - `tried`: what tests of clients share, those on an etcd and on a ZooKeeper, too
//! - here: clients of Redis that this test is itself

#![cfg(unix)]

#[path = "attempt/drivers.rs"]
mod drivers;
#[path = "attempt/served.rs"]
mod served;
#[path = "attempt/tried.rs"]
mod tried;
#[path = "command/valid.rs"]
mod valid;

use serde_json::Value;
use std::process::Command;
use std::time::Duration;
use tried::{ask, breaks_again, connect, env, folder, plan_file, said, tried};

/// What clients are told by their environment; this process is one if it is there.
const REDIS: &str = "PICKLOCK_REDIS";

/// No test of its own: a client of a lock on one Redis that gives back what it has not any more, as `SET NX PX` makes them.
#[test]
fn client_of_a_single_redis() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let (mut redis, mut witness) = (connect(&redis), connect(&env("PICKLOCK_WITNESS")));
    let (me, lease) = (env("PICKLOCK_CLIENT"), env("PICKLOCK_LEASE_MS"));
    for round in 0.. {
        if ask(&mut witness, "want orders").is_none() {
            return;
        }
        let value = format!("{me}-{round}");
        match ask(&mut redis, &format!("SET orders {value} NX PX {lease}")).as_deref() {
            Some("+OK") => {}
            Some(_) => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            None => return,
        }
        ask(&mut witness, "enter orders");
        std::thread::sleep(Duration::from_millis(20));
        ask(&mut witness, "leave orders");
        let script =
            "\"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0\"";
        ask(&mut redis, &format!("EVAL {script} 1 orders {value}"));
    }
}

/// No test of its own: a client of a lock on one Redis with fencing tokens, which writes at the end of each hold.
#[test]
fn client_with_fencing_tokens() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let (mut redis, mut witness) = (connect(&redis), connect(&env("PICKLOCK_WITNESS")));
    let (me, lease) = (env("PICKLOCK_CLIENT"), env("PICKLOCK_LEASE_MS"));
    let script = "\"if redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return redis.call('incr',KEYS[2]) end return 0\"";
    while ask(&mut witness, "want orders").is_some() {
        let token = ask(&mut redis, &format!("EVAL {script} 2 orders fence {me} {lease}"));
        let Some(token) = token.as_deref().and_then(|reply| reply.strip_prefix(':')) else { return };
        if token == "0" {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        ask(&mut witness, &format!("enter orders {token}"));
        std::thread::sleep(Duration::from_millis(20));
        ask(&mut witness, &format!("write orders {token}"));
        ask(&mut witness, "leave orders");
        let release =
            "\"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0\"";
        ask(&mut redis, &format!("EVAL {release} 1 orders {me}"));
    }
}

/// No test of its own: a client that ends in its third hold, of an error.
#[test]
fn client_that_dies_while_it_holds() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let (mut redis, mut witness) = (connect(&redis), connect(&env("PICKLOCK_WITNESS")));
    let (me, lease) = (env("PICKLOCK_CLIENT"), env("PICKLOCK_LEASE_MS"));
    let mut holds = 0;
    while ask(&mut witness, "want orders").is_some() {
        match ask(&mut redis, &format!("SET orders {me} NX PX {lease}")).as_deref() {
            Some("+OK") => {}
            Some(_) => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            None => return,
        }
        ask(&mut witness, "enter orders");
        std::thread::sleep(Duration::from_millis(20));
        holds += 1;
        if holds == 3 {
            eprintln!("no route to host");
            std::process::exit(9);
        }
        ask(&mut witness, "leave orders");
        ask(&mut redis, "DEL orders");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No test of its own: a client that is silent after its second hold, and runs on.
#[test]
fn client_that_leaves_the_witness() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let (mut redis, mut witness) = (connect(&redis), connect(&env("PICKLOCK_WITNESS")));
    let (me, lease) = (env("PICKLOCK_CLIENT"), env("PICKLOCK_LEASE_MS"));
    let mut holds = 0;
    while holds < 2 && ask(&mut witness, "want orders").is_some() {
        if ask(&mut redis, &format!("SET orders {me} NX PX {lease}")).as_deref() == Some("+OK") {
            ask(&mut witness, "enter orders");
            std::thread::sleep(Duration::from_millis(20));
            ask(&mut witness, "leave orders");
            ask(&mut redis, "DEL orders");
            holds += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(witness);
    std::thread::sleep(Duration::from_secs(60));
}

/// No test of its own: a client that does not say which lock it holds.
#[test]
fn client_that_names_no_lock() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let (mut redis, mut witness) = (connect(&redis), connect(&env("PICKLOCK_WITNESS")));
    while ask(&mut redis, "PING").is_some() && ask(&mut witness, "enter").is_some() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No test of its own: a client that asks for no lock.
#[test]
fn client_that_wants_nothing() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let mut redis = connect(&redis);
    while ask(&mut redis, "PING").is_some() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No test of its own: a client of a lock on one Redis that tells no witness anything.
#[test]
fn client_of_the_first_server_alone() {
    let Ok(redis) = std::env::var(REDIS) else { return };
    let mut redis = connect(redis.split(',').next().expect("an address"));
    let (me, lease) = (env("PICKLOCK_CLIENT"), env("PICKLOCK_LEASE_MS"));
    while ask(&mut redis, &format!("SET orders {me} NX PX {lease}")).is_some() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_lock_that_lives_on_one_of_several_servers_is_told_so() {
    let arguments = ["--servers", "5", "--rounds", "1", "--round", "1", "--faults", "pause"];
    let output = tried(&arguments, "client_of_the_first_server_alone");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for words in
        ["nobody ever held a lock\n  s1 was asked for SET ", "s2 to s5 saw nobody\n", "--servers 1\n"]
    {
        assert!(said.contains(words), "{words:?} is missing in\n{said}");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn each_call_and_each_round_has_a_folder_of_its_own() {
    let folder = folder("folders");
    let plan = plan_file(&folder, 1_000_000);
    let arguments = ["--json", "--servers", "1", "--lease", "300", "--plan", &plan];
    let pictures = |more: &[&str]| -> Vec<String> {
        let own = std::env::current_exe().expect("this runs");
        let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
            .arg("try")
            .args(arguments)
            .args(more)
            .arg("--")
            .arg(own)
            .args(["--exact", "client_of_a_single_redis", "--nocapture"])
            .env("TMPDIR", &folder)
            .output()
            .expect("the binary runs");
        let document = tried::document(&output);
        valid::assert_valid("try", &document);
        let rows = document["rows"].as_array().cloned().expect("rounds");
        let pictures = rows.iter().filter_map(|row| row["picture"].as_str().map(str::to_owned));
        pictures.collect()
    };
    let (first, second) = (pictures(&["--time", "60"]), pictures(&["--time", "60"]));
    assert!(first[0].ends_with("picklock-try-1/run.html"), "{first:?}");
    assert!(second[0].ends_with("picklock-try-2/run.html"), "{second:?}");
    let out = folder.join("out");
    let out = out.to_str().expect("a path in UTF-8");
    let both = pictures(&["--rounds", "2", "--keep-going", "--out", out]);
    assert!(both.len() == 2 && both[0] != both[1], "{both:?}");
    // A folder that is named twice keeps both.
    let named: Vec<String> = (0..2).flat_map(|_| pictures(&["--time", "60", "--out", out])).collect();
    let [one, other] = &named[..] else { panic!("{named:?}") };
    assert!(one.ends_with("out/run.html") && other.ends_with("out/run-2.html"), "{named:?}");
    for picture in first.iter().chain(&second).chain(&both).chain(&named) {
        assert!(std::path::Path::new(picture).exists(), "{picture}");
    }
}

/// No test of its own: a client that does not get far.
#[test]
fn client_that_fails() {
    if std::env::var(REDIS).is_ok() {
        eprintln!("no such library: redlock");
        std::process::exit(7);
    }
}

#[test]
fn a_client_that_pauses_while_it_holds_breaks_the_lock_and_its_plan_breaks_it_again() {
    let folder = folder("pause");
    let (plan, out, record) =
        (plan_file(&folder, 2_000_000), folder.join("out"), folder.join("record.jsonl"));
    let arguments =
        ["--json", "--servers", "1", "--lease", "300", "--time", "60", "--out", out.to_str().unwrap()];
    let more = ["--plan", &plan, "--record", record.to_str().unwrap()];
    let round = breaks_again(&arguments, &more, "2s", "client_of_a_single_redis");
    let page = std::fs::read_to_string(round["picture"].as_str().expect("a picture")).expect("it is there");
    assert!(page.contains("while") && page.contains("pauses"), "{page}");
    // It gives the reasons that the text gives, and offers nothing that there is not.
    assert!(page.contains("suspect: ") && page.contains(" enters</span>"), "{page}");
    assert!(!page.contains(": --all draws them") && !page.contains("with --all they are"));
    let lines = std::fs::read_to_string(&record).expect("a record");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for what in
        ["connected", "asked", "ran", "told", "wants", "entered", "left", "struck", "handed-out", "broken"]
    {
        assert!(lines.iter().any(|line| line["what"] == what), "no line says {what}");
    }
    assert!(lines.iter().is_sorted_by_key(|line| line["at_us"].as_i64()));
}

#[test]
fn without_faults_nothing_breaks_and_somebody_is_turned_away() {
    let arguments =
        ["--servers", "1", "--rounds", "1", "--round", "2", "--faults", "none", "--lease", "2000"];
    let output = tried(&arguments, "client_of_a_single_redis");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("not broken in 1 round"), "{}", said(&output));
}

#[test]
fn a_round_in_which_a_client_ends_by_itself_is_no_pass() {
    let arguments = ["--json", "--servers", "1", "--rounds", "1", "--round", "3", "--lease", "300"];
    let output = tried(&[&arguments[..], &["--faults", "none"]].concat(), "client_that_dies_while_it_holds");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains(" has ended (exit status: 9): no route to host"), "{}", said(&output));
    let document = tried::document(&output);
    valid::assert_valid("try", &document);
    assert_eq!((&document["complete"], &document["cut_short_rounds"]), (&false.into(), &1.into()));
    let ended = document["rows"][0]["ended"].as_array().expect("ends");
    assert!(!ended.is_empty() && ended.iter().all(|ended| ended["started_again"] == false), "{ended:?}");

    let again = [&arguments[..], &["--faults", "none", "--restart"]].concat();
    let output = tried(&again, "client_that_dies_while_it_holds");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document = tried::document(&output);
    assert_eq!((&document["complete"], &document["cut_short_rounds"]), (&true.into(), &0.into()));
    let ended = document["rows"][0]["ended"].as_array().expect("ends");
    // A client ends after three holds, and comes back a lease later, if the round is not over before.
    let again = ended.iter().filter(|ended| ended["started_again"] == true).count();
    assert!(again > 1 && ended.len() - again <= 2, "{ended:?}");
}

#[test]
fn who_is_started_again_and_ends_at_once_is_missed_and_what_was_found_before_is_told() {
    let folder = folder("again");
    let own = std::env::current_exe().expect("this runs");
    let own = own.to_str().expect("a path in UTF-8");
    let tried = |client: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
        command.args(["try", "--json", "--servers", "1", "--lease", "300"]).args(arguments);
        command.args(["--", "sh", "-c", client]).env("FOLDER", &folder).output().expect("the binary runs")
    };
    // The first time it is a client that dies in its third hold, and from then on it is none.
    let once = format!(
        "if [ -e $FOLDER/$PICKLOCK_CLIENT ]; then exit 9; fi; touch $FOLDER/$PICKLOCK_CLIENT; \
         exec {own} --exact client_that_dies_while_it_holds --nocapture"
    );
    let output = tried(&once, &["--rounds", "1", "--round", "3", "--faults", "none", "--restart"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(tried::document(&output)["cut_short_rounds"], 1, "{}", said(&output));

    // The first round breaks the lock, and in the second nobody begins.
    let plan = plan_file(&folder, 2_000_000);
    let broken = format!(
        "if [ -e $FOLDER/2$PICKLOCK_CLIENT ]; then exit 9; fi; touch $FOLDER/2$PICKLOCK_CLIENT; \
         exec {own} --exact client_of_a_single_redis --nocapture"
    );
    let out = folder.join("out");
    let out = out.to_str().expect("a path in UTF-8");
    let output =
        tried(&broken, &["--rounds", "2", "--keep-going", "--plan", &plan, "--time", "60", "--out", out]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let document = tried::document(&output);
    assert_eq!((&document["broken_rounds"], &document["complete"]), (&1.into(), &false.into()));
    assert!(said(&output).contains("error: client "), "{}", said(&output));
}

#[test]
fn what_a_client_leaves_behind_ends_with_it() {
    let pids = folder("behind").join("pids");
    let own = std::env::current_exe().expect("this runs");
    let client = format!(
        "sleep 300 & echo $! >> {}; exec {} --exact client_that_dies_while_it_holds --nocapture",
        pids.display(),
        own.display()
    );
    let output = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .args([
            "try",
            "--servers",
            "1",
            "--rounds",
            "1",
            "--round",
            "3",
            "--lease",
            "300",
            "--faults",
            "none",
        ])
        .args(["--", "sh", "-c", &client])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let left = std::fs::read_to_string(&pids).expect("they have begun");
    assert_eq!(left.lines().count(), 2);
    for id in left.lines() {
        let lives = || {
            let asked = Command::new("kill").args(["-0", id]).stderr(std::process::Stdio::null()).status();
            asked.expect("there is a kill").success()
        };
        // Who adopts it buries it, sooner or later.
        for _ in (0..500).take_while(|_| lives()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!lives(), "{id} runs on");
    }
}

#[test]
fn a_round_in_which_a_client_leaves_the_witness_is_no_pass() {
    let arguments = ["--json", "--servers", "1", "--rounds", "1", "--round", "3", "--lease", "300"];
    let output = tried(&[&arguments[..], &["--faults", "none"]].concat(), "client_that_leaves_the_witness");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let document = tried::document(&output);
    valid::assert_valid("try", &document);
    let ended = document["rows"][0]["ended"].as_array().expect("ends");
    let status = "runs on, without a connection to the witness";
    assert!(ended.len() == 2 && ended.iter().all(|ended| ended["status"] == status), "{ended:?}");
}

#[test]
fn a_lock_with_fencing_tokens_is_judged_by_what_it_promises() {
    let plan = plan_file(&folder("fenced"), 900_000);
    let arguments = ["--json", "--servers", "1", "--rounds", "1", "--lease", "300", "--time", "5"];
    let arguments = [&arguments[..], &["--plan", &plan]].concat();
    let output = tried(&arguments, "client_with_fencing_tokens");
    assert_eq!(output.status.code(), Some(1), "two were in at once: {}", said(&output));

    let fenced = [&arguments[..], &["--property", "fenced-resource"]].concat();
    let output = tried(&fenced, "client_with_fencing_tokens");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let told = said(&output);
    assert!(
        told.contains("not broken: fenced-resource; clients said ")
            && told.contains(" while another one was in")
    );
    let document = tried::document(&output);
    valid::assert_valid("try", &document);
    assert_eq!(document["properties"], serde_json::json!(["fenced-resource"]));
    assert_eq!(document["rows"][0]["turned_down"], 1, "{document}");

    // Nobody pauses: no write comes too late.
    let calm = ["--servers", "1", "--rounds", "1", "--round", "2", "--faults", "none", "--lease", "300"];
    let output =
        tried(&[&calm[..], &["--property", "fenced-resource"]].concat(), "client_with_fencing_tokens");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("nothing put fenced-resource to the test"), "{}", said(&output));

    let output = tried(&["--property", "fifo"], "client_with_fencing_tokens");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("--property fifo: of real clients nobody can judge that"),
        "{}",
        said(&output)
    );
}

#[test]
fn nothing_comes_twice_over_tcp_and_what_strikes_nothing_is_no_pass() {
    let plan = folder("twice").join("plan.json");
    let path = plan.to_str().expect("a path in UTF-8");
    let network = |loss: u32, duplicates: u32| {
        let text = format!(
            r#"{{"network": {{"latency_min": 0, "latency_max": 0, "tail_per_mille": 0, "tail_max": 0, "loss_per_mille": {loss},
                 "duplicate_per_mille": {duplicates}, "reply_loss_per_mille": 0}}, "faults": [], "heal_at": 1000000}}"#
        );
        std::fs::write(&plan, text).expect("the plan is written");
    };
    let arguments = ["--servers", "1", "--rounds", "1", "--plan", path];
    network(0, 500);
    let output = tried(&arguments, "client_of_a_single_redis");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        said(&output).contains("it can strike nothing at all; nothing comes twice over TCP"),
        "{}",
        said(&output)
    );
    network(1, 500);
    let told = said(&tried(&arguments, "client_of_a_single_redis"));
    assert!(
        told.contains("left out, as nothing comes twice over TCP") && !told.contains("arrive twice"),
        "{told}"
    );

    // Whoever enters so often in half a second is no client of this one.
    let late = plan_file(&folder("late"), 1_000).replace("given", "late");
    let text = std::fs::read_to_string(late.replace("late.json", "given.json")).expect("a plan");
    std::fs::write(&late, text.replace("\"nth\": 3", "\"nth\": 30000")).expect("the plan is written");
    let arguments = ["--servers", "1", "--rounds", "1", "--time", "2", "--lease", "300", "--plan", &late];
    let output = tried(&arguments, "client_of_a_single_redis");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("nothing struck of what was to strike"), "{}", said(&output));
}

#[test]
fn where_nobody_wants_a_lock_there_is_no_verdict() {
    let arguments = ["--servers", "1", "--rounds", "1", "--round", "1", "--faults", "pause"];
    let output = tried(&arguments, "client_that_wants_nothing");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("no verdict: nobody ever held a lock"), "{}", said(&output));
}

#[test]
fn a_witness_that_is_told_what_it_cannot_read_says_so() {
    let arguments = ["--servers", "1", "--rounds", "1", "--round", "1", "--faults", "none"];
    let output = tried(&arguments, "client_that_names_no_lock");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    let said = said(&output);
    assert!(
        said.contains("lines that it cannot read, the first of them \"enter\": enter takes a name"),
        "{said}"
    );
    assert!(said.contains("no verdict: in 1 round the witness was told lines that it cannot read"), "{said}");
}

#[test]
fn a_client_that_cannot_begin_is_told_in_one_sentence() {
    let output = tried(&["--servers", "1"], "client_that_fails");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = complaint.lines().last().unwrap_or_default();
    assert!(last.contains("has ended (exit status: 7) before it asked for anything"), "{complaint}");
    assert!(last.contains("no such library: redlock"), "{complaint}");

    let nobody = Command::new(env!("CARGO_BIN_EXE_picklock")).args(["try", "--", "/no/such/client"]).output();
    let nobody = nobody.expect("the binary runs");
    assert_eq!(nobody.status.code(), Some(2));
    assert!(said(&nobody).contains("/no/such/client cannot be started"), "{}", said(&nobody));
}

/// Whether whoever started the tests has seen to it that the end of a terminal ends nobody, as `nohup` does.
fn hears_of_no_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// With its terminal it ends, and so do its clients.
#[test]
fn clients_do_not_outlive_the_terminal() {
    if hears_of_no_hang_up() {
        println!("skipped: under nohup the end of the terminal ends nothing");
        return;
    }
    let pids = folder("terminal").join("pids");
    let client = format!("echo $$ >> {}; exec sleep 300", pids.display());
    let mut trial = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .args(["try", "--servers", "1", "--clients", "2", "--", "sh", "-c", &client])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary runs");
    let started = || std::fs::read_to_string(&pids).unwrap_or_default();
    while started().lines().count() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let signal = |signal: &str, id: &str| {
        let kill = Command::new("kill").args([signal, id]).stderr(std::process::Stdio::null()).status();
        kill.expect("there is a kill").success()
    };
    assert!(signal("-HUP", &trial.id().to_string()));
    assert_eq!(trial.wait().expect("it ends").code(), Some(3));
    for id in started().lines() {
        assert!(!signal("-0", id), "client {id} runs on");
    }
}
