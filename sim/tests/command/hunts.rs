//! The general hunt at the command line: rows met by plans that know of none.

use super::{document, run};
use serde_json::Value;

fn rows_of(command: &str) -> Vec<Value> {
    document(command)["rows"].as_array().expect("a list").clone()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn plans_that_know_of_no_row_meet_the_best_known_ones_whatever_the_number_of_threads() {
    let hunt = "hunt --general C2 R1 R2 --starts 2 --seeds-max 1000";
    let rows = rows_of(&format!("{hunt} --jobs 1"));
    assert_eq!(rows, rows_of(&format!("{hunt} --jobs 2")));
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id}"));
    let told = |id| (row(id)["as_registered"].as_bool(), row(id)["by_repair"].as_bool());
    assert_eq!(told("C2"), (Some(true), Some(true)), "the repair is another setting of the same lock");
    assert_eq!(told("R1"), (Some(true), Some(false)), "the repair is another lock");
    assert_eq!(told("R2"), (Some(false), Some(true)), "Redlock as registered has not this flaw");
    for id in ["C2", "R1"] {
        assert!(row(id)["found"].as_u64() > Some(0), "{id} was never met");
        assert!(row(id)["faults"].as_array().is_some_and(|faults| !faults.is_empty()));
        let token = row(id)["token"].as_str().expect("a token");
        assert_eq!(document(&format!("replay {token}"))["property"], row(id)["breaks"]);
    }
}

#[test]
fn what_the_general_hunt_has_no_use_for_is_refused() {
    for (call, says) in [
        ("hunt --general R1 --repairs 5", "--repairs belongs"),
        ("hunt --general R1 --strategy guided", "a guided search changes them"),
        ("hunt --general R1 --strategy swarm,pct", "it takes one"),
    ] {
        let ended = run(call);
        assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{call}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{call}: {}", ended.stderr);
    }
}
