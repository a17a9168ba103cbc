//! The first output that anybody sees, and what a matrix of few seeds knows of more.

use super::{document, rows, run, text_of};
use std::collections::BTreeMap;

/// The lines behind the heads of the columns, up to the legend: a lock, and its cells.
fn lines(shown: &str) -> BTreeMap<&str, Vec<&str>> {
    let locks = shown.lines().skip(3).take_while(|line| !line.is_empty());
    locks
        .map(|line| {
            let mut words = line.split_whitespace();
            (words.next().expect("a line begins with its lock"), words.collect())
        })
        .collect()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn without_a_command_all_locks_stand_on_one_screen_with_what_to_type_next() {
    let shown = run("").stdout;
    assert!(shown.lines().count() <= 45, "{shown}");
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}\n{shown}");
    let locks = lines(&shown);
    assert!(locks.values().all(|cells| cells.len() == 9), "{shown}");
    assert!(locks["redlock"][1].contains('M'), "Redlock does not survive pauses\n{shown}");
    assert!(!shown.contains("-repaired"), "{shown}");
    let see = shown.lines().find_map(|line| line.trim().strip_prefix("see it      picklock "));
    let replayed = run(see.unwrap_or_else(|| panic!("no next step\n{shown}")));
    assert_eq!(replayed.code, 1, "what it names breaks the promise: {}", replayed.stderr);
    assert!(replayed.stdout.contains("mutual-exclusion broken"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn variants_stand_below_what_they_are_variants_of() {
    let shown = run("overview --all --seeds 1").stdout;
    let below = |lock: &str| shown.lines().skip_while(|line| !line.starts_with(lock)).nth(1);
    assert!(below("zookeeper-lock ").is_some_and(|line| line.starts_with("  …-repaired ")), "{shown}");
    assert!(below("cassandra-queue ").is_some_and(|line| line.starts_with("  …-repaired ")), "{shown}");
    assert!(run("overview --lock redlock-fenced --seeds 1").stdout.contains("\nredlock-fenced "));
}

#[test]
fn a_lock_that_is_named_twice_is_shown_once() {
    let shown = run("overview --lock redlock,Redlock --seeds 1").stdout;
    assert!(shown.starts_with("1 lock, ") && shown.matches("\nredlock ").count() == 1, "{shown}");
}

#[test]
fn a_few_seeds_know_what_others_broke_and_name_one_that_did() {
    let cells = rows("matrix --lock redlock --fault delay --seeds 1");
    let cell = cells.iter().find(|cell| cell["property"] == "fenced-resource").expect("it is watched");
    assert_eq!(
        (cell["verdict"].as_str(), cell["expected"].as_str()),
        (Some("known-violated"), Some("violated"))
    );
    let seed = text_of(&cell["known_by"]);
    let seed = seed.strip_prefix('@').unwrap_or_else(|| panic!("{seed} is no seed"));
    let replayed = document(&format!("replay redlock:delay:{seed}:fenced-resource"));
    assert_eq!(replayed["violation"]["property"], "fenced-resource", "{}", replayed["violation"]);
}
