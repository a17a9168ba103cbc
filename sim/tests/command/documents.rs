//! Every document is as the schema in the book says, which holds no more than the book promises.

use super::valid::{assert_valid, complaint, schema};
use super::{document, folder, run};
use serde_json::Value;
use std::collections::BTreeSet;

/// A cheap call, and the name of its document's schema.
const CALLS: [(&str, &str); 31] = [
    ("overview", "overview --seeds 3 --lock redlock"),
    ("matrix", "matrix --lock redlock --fault pause --seeds 20"),
    ("theorems", "theorems transfer --quick"),
    ("scenarios", "scenarios R18"),
    ("scenariosListed", "scenarios --list --system redis"),
    ("hunt", "hunt C6 --starts 1 --repairs 5"),
    ("hunt", "hunt C6 C23 --starts 1 --repairs 5"),
    ("huntGeneral", "hunt --general R1 --starts 1 --seeds-max 100"),
    ("check", "check redis-single"),
    ("check", "check redis-single --drop no-pause"),
    ("check", "check redis-single --max-states 10"),
    ("sweep", "sweep redlock --faults pause --seeds 0..100"),
    ("sweep", "sweep redlock --faults pause --seeds 0..10 --watch 0 --set servers=3"),
    ("replay", "replay C1"),
    ("replay", "replay C6"),
    ("replay", "replay V8"),
    ("replay", "replay V9"),
    ("replay", "replay redlock:pause:70"),
    ("replayInstead", "replay C1 --instead 12"),
    ("shrink", "shrink C1"),
    ("shrink", "shrink redis-single:pause:11"),
    ("herd", "herd --clients 2"),
    ("ttl", "ttl --skew 0 --pause 0 --max-states 1000"),
    ("widen", "widen lease-key --max-states 100"),
    ("bench", "bench --threads 1 --hold-ms 10 --seeds 0..2 --seconds 1"),
    ("locks", "locks"),
    ("faults", "faults"),
    ("faultsFields", "faults --fields"),
    ("properties", "properties"),
    ("assumptions", "assumptions"),
    ("man", "man --out DIR"),
];

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn every_document_is_as_the_schema_in_the_book_says() {
    let out = folder("schema-man");
    for (of, call) in CALLS {
        let call = call.replace("DIR", &out.display().to_string());
        assert_valid(of, &document(&call));
    }
}

#[test]
fn files_of_results_new_crates_and_merged_sweeps_are_too() {
    let folder = folder("schema-files");
    let file = |name: &str| folder.join(name).display().to_string();
    let (before, after, new) = (file("before.json"), file("after.json"), file("mine"));
    let matrix = "matrix --lock redlock --fault pause --seeds 20";
    run(&format!("{matrix} --accept {before}"));
    let snapshot = |path: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(path).expect("it was written")).expect("it is JSON")
    };
    assert_valid("snapshot", &snapshot(&before));
    // A cell is another, and one is missing.
    let mut changed = snapshot(&before);
    changed["rows"][0]["verdict"] = "not-seen".into();
    changed["rows"].as_array_mut().expect("rows").pop();
    std::fs::write(&after, changed.to_string()).expect("the folder is there");
    let differences = document(&format!("diff {before} {after}"));
    assert!(differences["rows"].as_array().is_some_and(|rows| !rows.is_empty()), "{differences}");
    assert_valid("diff", &differences);
    assert_valid("matrix", &document(&format!("{matrix} --expect {after}")));

    let parts = [file("1.jsonl"), file("2.jsonl")];
    for (part, results) in (1..).zip(&parts) {
        run(&format!("sweep redlock --seeds 0..20 --shard {part}/2 --results {results} --watch 0"));
    }
    assert_valid("merge", &document(&format!("merge {}", parts.join(" "))));
    assert_valid("new", &document(&format!("new {new}")));
}

#[test]
fn no_command_is_forgotten_and_the_schema_takes_not_just_anything() {
    let schema = schema();
    let known: BTreeSet<&str> =
        schema["$defs"].as_object().expect("definitions").keys().map(String::as_str).collect();
    let help = run("--help").stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = listed
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && !["help", "completions"].contains(name))
        .collect();
    assert!(commands.len() > 20, "{help}");
    for command in commands {
        assert!(known.contains(command), "{command} has no schema: docs/src/schema.json");
    }

    let checked = document("check redis-single");
    for key in ["verdict", "states", "token"] {
        let mut without = checked.clone();
        without.as_object_mut().expect("an object").remove(key);
        assert!(complaint("check", &without).is_some_and(|why| why.contains(key)), "{key}");
    }
    let mut other = checked.clone();
    other["verdict"] = "perhaps".into();
    assert!(complaint("check", &other).is_some());
    let mut more = checked;
    more["new"] = 1.into();
    assert_eq!(complaint("check", &more), None, "fields may be added");
    let mut later = document("faults");
    later["schema"] = 2.into();
    assert!(complaint("faults", &later).is_some(), "another version has another schema");
}
