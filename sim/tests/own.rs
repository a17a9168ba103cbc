//! The examples for those who bring a lock or a store of their own do what the README and the book say of them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "../examples/own_lock.rs"]
#[expect(dead_code, reason = "its main is the example's")]
mod own_lock;

/// What `picklock new` writes as the tests of the new crate.
mod promises {
    use super::own_lock;

    include!("../src/cli/new/promises.rs");
}

/// cargo builds the examples before it runs these tests.
fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_picklock")).parent().expect("it lies in a folder");
    folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn run(name: &str, args: &[&str]) -> Output {
    let output = Command::new(example(name)).args(args).env("NO_COLOR", "1").output();
    output.unwrap_or_else(|error| panic!("{}: {error}", example(name).display()))
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn code_lines(source: &str) -> usize {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    source.lines().filter(is_code).count()
}

#[test]
fn a_lock_of_ones_own_takes_less_than_a_hundred_lines_and_so_does_a_store() {
    assert!(code_lines(include_str!("../examples/own_lock.rs")) < 100);
    let (store, lock) =
        include_str!("../examples/own_store.rs").split_once("// The lock on it.").expect("two parts");
    assert!(code_lines(store) < 100 && code_lines(lock) < 100);
}

#[test]
fn a_lock_of_ones_own_is_checked_swept_replayed_shrunk_and_stands_in_the_matrix() {
    let lock = "my-lock";
    assert_eq!(run("own_lock", &["check", lock]).status.code(), Some(0));
    let checked = json(&run("own_lock", &["check", lock, "--drop", "no-pause", "--json"]));
    assert_eq!((&checked["verdict"], &checked["property"]), (&"violated".into(), &"mutual-exclusion".into()));

    let swept = run("own_lock", &["sweep", lock, "--faults", "pause", "--json"]);
    assert_eq!(swept.status.code(), Some(1));
    let swept = json(&swept);
    let token = swept["violations"][0]["token"].as_str().expect("a pause outlasts its lease");
    let replayed = json(&run("own_lock", &["replay", token, "--json"]));
    assert_eq!(replayed["violation"]["property"], swept["violations"][0]["property"]);
    let shrunk = json(&run("own_lock", &["shrink", token, "--json"]));
    assert_eq!(shrunk["property"], swept["violations"][0]["property"]);
    assert_eq!(shrunk["after"]["faults"], 1);

    let matrix =
        json(&run("own_lock", &["matrix", "--lock", lock, "--fault", "pause", "--seeds", "200", "--json"]));
    let cells = matrix["rows"].as_array().expect("cells");
    assert!(cells.iter().all(|cell| cell["lock"] == lock) && cells.len() >= 4, "{matrix}");
    let broken = |cell: &&Value| cell["property"] == "mutual-exclusion" && cell["verdict"] == "violated";
    assert_eq!(cells.iter().filter(broken).count(), 1, "{matrix}");

    // Ours are there beside it, and it has its place in the list.
    let listed = String::from_utf8_lossy(&run("own_lock", &["locks"]).stdout).into_owned();
    assert!(listed.contains(lock) && listed.contains("redlock"), "{listed}");
    let text =
        String::from_utf8_lossy(&run("own_lock", &["sweep", lock, "--faults", "pause"]).stdout).into_owned();
    let see = format!("own_lock replay {lock}:pause:");
    assert!(text.contains(&see), "it names the command that it is: {text}");
}

#[test]
fn a_store_of_ones_own_keeps_what_it_wrote_down_and_loses_what_it_did_not() {
    assert_eq!(run("own_store", &["check", "pen"]).status.code(), Some(0));
    assert_eq!(run("own_store", &["check", "pen", "--drop", "durable"]).status.code(), Some(0));
    let checked = json(&run("own_store", &["check", "pen-unwritten", "--drop", "durable", "--json"]));
    assert_eq!(
        (&checked["verdict"], &checked["dropped"]),
        (&"violated".into(), &serde_json::json!(["durable"]))
    );
    let faults = ["--faults", "power-loss", "--property", "mutual-exclusion"];
    assert_eq!(run("own_store", &[&["sweep", "pen"], &faults[..]].concat()).status.code(), Some(0));
    assert_eq!(run("own_store", &[&["sweep", "pen-unwritten"], &faults[..]].concat()).status.code(), Some(1));
}

#[test]
fn a_lock_that_looks_where_it_must_not_is_reported_with_the_first_step_that_differs() {
    let sweep = ["sweep", "undetermined", "--faults", "none", "--seeds", "0..10"];
    let output = run("undetermined", &sweep);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("DEFECT: of 1 run repeated in a second process, 1 came out otherwise"), "{text}");
    let document = json(&run("undetermined", &[&sweep[..], &["--json"]].concat()));
    let difference = &document["watch"]["differences"][0];
    let step = difference["step"].as_u64().expect("a step differs");
    assert!(step <= 2 && difference["here"] != difference["there"], "{difference}");

    // The same lock without it.
    let output = run("own_lock", &["sweep", "redis-single", "--faults", "none", "--seeds", "0..10"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("1 run repeated in a second process: the same, step by step"), "{text}");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The token behind `replay`.
fn token_in(said: &str) -> &str {
    said.split_once(" replay ").map_or_else(|| panic!("{said}"), |(_, token)| token.trim())
}

#[test]
fn a_machine_that_keeps_a_time_and_does_not_show_it_is_not_checked() {
    let checked = run("careless", &["check", "forgetful"]);
    let said = stderr(&checked);
    assert_eq!(checked.status.code(), Some(2), "{said}");
    assert!(said.contains("forgetful cannot be checked") && said.contains("its visit"), "{said}");
    let replayed = run("careless", &["replay", token_in(&said)]);
    let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(text.contains("this trace is wrong"), "{text}");
    // A lock that shows everything is.
    assert_eq!(run("careless", &["check", "redis-single"]).status.code(), Some(0));
}

#[test]
fn a_machine_that_panics_is_told_with_the_run_and_what_came_before_can_be_seen() {
    let panicked = "an answer out of turn, at sim/examples/careless.rs:";
    let plan = folder("hasty").join("plan.json");
    let network = r#"{"latency_min": 200, "latency_max": 2000, "tail_per_mille": 0, "tail_max": 0,
                      "loss_per_mille": 0, "duplicate_per_mille": 300, "reply_loss_per_mille": 0}"#;
    let text = format!(r#"{{"faults": [], "heal_at": 60000000, "network": {network}}}"#);
    std::fs::write(&plan, text).expect("a file in a folder of the test");
    let plan = plan.to_str().expect("its name is text");
    for (call, place) in [
        (&["check", "hasty", "--drop", "no-duplicate"][..], "of a run of the exhaustive search"),
        (&["sweep", "hasty", "--faults", "duplicate", "--watch", "0"][..], "in the run of seed "),
        (&["sweep", "hasty", "--plan", plan, "--seeds", "0..300"][..], "in the run of seed "),
    ] {
        let output = run("careless", call);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("hasty panicked in") && said.contains(place), "{said}");
        assert!(said.contains(panicked), "{said}");
        let replayed = run("careless", &["replay", token_in(&said)]);
        let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
        let behind = text.split_once("in the next step a machine panicked: ").map(|(_, behind)| behind);
        assert!(behind.is_some_and(|behind| behind.starts_with(panicked)), "{text}");
        assert!(text.contains("calls lock") && !text.contains("no promise was broken"), "{text}");
        assert_eq!(replayed.status.code(), Some(3), "a run that did not end");
    }
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("own").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn picklock_in(folder: &Path, args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_picklock")).args(args).current_dir(folder).output();
    output.expect("the binary runs")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn a_new_crate_has_the_lock_its_tests_and_the_command() {
    let folder = folder("new");
    let output = picklock_in(&folder, &["new", "locks/billing-lock"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let new = folder.join("locks/billing-lock");
    let manifest = read(&new.join("Cargo.toml"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().expect("it is there");
    for said in ["name = \"billing-lock\"".to_owned(), format!("path = \"{}\"", here.display())] {
        assert!(manifest.contains(&said), "no {said}: {manifest}");
    }
    let (lock, main) = (read(&new.join("src/lib.rs")), read(&new.join("src/main.rs")));
    assert!(lock.contains("Registered::new(\"billing-lock\"") && !lock.contains("fn main"), "{lock}");
    assert!(main.contains("use billing_lock::registered;"), "{main}");
    assert!(read(&new.join("tests/promises.rs")).contains("use billing_lock::registered;"));
    assert!(new.join("Cargo.lock").exists());
}

#[test]
fn nothing_is_written_over_and_no_other_name_is_taken() {
    let folder = folder("refused");
    assert_eq!(picklock_in(&folder, &["new", "mine"]).status.code(), Some(0));
    for (args, why) in [
        (&["new", "mine"][..], "it is there already"),
        (&["new", "My Lock"], "is no name for a crate and a lock"),
        (&["new", "fn"], "would shadow another one"),
        (&["new", "other", "--picklock", "/nowhere"], "there is no source of picklock"),
    ] {
        let output = picklock_in(&folder, args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
    }
    assert!(!folder.join("other").exists());
}

/// Takes some minutes: all that picklock is made of is built anew, for another crate.
#[test]
fn a_new_crate_builds_and_its_tests_pass() {
    if std::env::var_os("PICKLOCK_LONG").is_none() {
        eprintln!("skipped without PICKLOCK_LONG=1: it builds a crate");
        return;
    }
    let folder = folder("built");
    assert_eq!(picklock_in(&folder, &["new", "my-lock"]).status.code(), Some(0));
    let cargo = |args: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(args)
            .current_dir(folder.join("my-lock"))
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    let (code, stdout, said) = cargo(&["test", "--offline"]);
    assert!(code == Some(0) && stdout.contains("3 passed"), "{stdout}{said}");
    let (code, stdout, said) = cargo(&["run", "--offline", "--", "check", "my-lock", "--drop", "no-pause"]);
    assert!(code == Some(1) && stdout.contains("violated: mutual-exclusion"), "{stdout}{said}");
}
