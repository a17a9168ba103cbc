//! The catalogue: each known failure is found again where its row looks for it, and its repair survives the same search.

use crate::evidence::{STATES_MAX, breaks, check, evidence, first_seed, replay, seeded_token};
use picklock_model::claims::{Scenario, Search, scenarios};
use picklock_properties::Promise;
use picklock_sim::fault::FaultSet;
use picklock_sim::registry::CheckVerdict;
use picklock_sim::report::TextOptions;
use picklock_sim::token::Token;
use std::path::Path;

#[test]
fn c1_a_clock_that_steps_back_hides_a_record_behind_its_own_tombstone() {
    is_found_and_repaired("C1");
}

#[test]
fn c2_a_pause_between_lines_3_and_4_breaks_mutual_exclusion() {
    is_found_and_repaired("C2");
}

#[test]
fn c3_a_paused_holder_breaks_mutual_exclusion_and_a_fencing_token_keeps_it_from_writing() {
    is_found_and_repaired("C3");
}

#[test]
fn c4_a_blind_renewal_prolongs_a_lease_that_is_over() {
    is_found_and_repaired("C4");
}

#[test]
fn c6_a_waiter_whose_queue_cell_expired_waits_for_ever() {
    is_found_and_repaired("C6");
}

#[test]
fn c7_a_crashed_head_of_the_queue_blocks_it_for_ever_without_ttl() {
    is_found_and_repaired("C7");
}

#[test]
fn c8_a_crashed_holder_blocks_the_lock_for_ever_without_ttl() {
    is_found_and_repaired("C8");
}

#[test]
fn c9_a_release_in_the_wrong_order_makes_try_lock_refuse_a_free_lock() {
    is_found_and_repaired("C9");
}

#[test]
fn c11_at_consistency_one_two_clients_hold_at_once() {
    is_found_and_repaired("C11");
}

#[test]
fn c14_a_deletion_on_too_few_replicas_blocks_the_queue() {
    is_found_and_repaired("C14");
}

#[test]
fn c15_a_coordinator_clock_ahead_by_more_than_the_ttl_breaks_mutual_exclusion() {
    is_found_and_repaired("C15");
}

#[test]
fn c16_two_threads_with_one_id_hold_at_once() {
    is_found_and_repaired("C16");
}

#[test]
fn c22_a_clock_that_stands_still_hides_a_record_behind_its_own_tombstone() {
    is_found_and_repaired("C22");
}

#[test]
fn c23_a_late_cell_with_a_small_key_goes_before_one_that_stood_there() {
    is_found_and_repaired("C23");
}

#[test]
fn c25_a_crash_after_line_5_leaves_all_callers_of_try_lock_refused() {
    is_found_and_repaired("C25");
}

#[test]
fn c31_a_lost_deletion_of_the_main_cell_blocks_the_lock_for_ever() {
    is_found_and_repaired("C31");
}

#[test]
fn every_row_of_the_catalogue_has_a_test_above() {
    let tests = include_str!("scenarios.rs");
    for row in scenarios() {
        let call = format!("    is_found_and_repaired({:?});", row.id);
        assert!(tests.contains(&call), "no test runs row {}", row.id);
    }
}

#[test]
fn the_traces_worth_reading_are_as_they_were() {
    for id in ["C1", "C2", "C6", "C9", "C22"] {
        let row = row(id);
        let token = find(&row.search, row.breaks).unwrap_or_else(|| panic!("{id} is not found"));
        let options = TextOptions { width: 120, ascii: false, ..TextOptions::default() };
        is_golden(&id.to_lowercase(), &replay(&token, &options).text);
    }
}

fn row(id: &str) -> Scenario {
    match scenarios().into_iter().find(|row| row.id == id) {
        Some(row) => row,
        None => panic!("the catalogue has no row {id}"),
    }
}

fn is_found_and_repaired(id: &str) {
    let row = row(id);
    let Some(token) = find(&row.search, row.breaks) else {
        panic!("{id}: {} is not broken any more, but the catalogue says: {}", row.breaks, row.story);
    };
    assert!(
        breaks(&replay(&token, &TextOptions::default()), row.breaks),
        "{id}: what was found, replayed, breaks nothing\n{}",
        evidence(row.breaks, &token)
    );
    // A repair may be judged by another promise than the one that it gives up (C3, C25): whatever it finds is wrong.
    if let Some((promise, token)) = find_any(&row.fix_search, row.breaks) {
        panic!("{id}: the repair ({}) does not hold\n{}", row.fix, evidence(promise, &token));
    }
}

fn find(search: &Search, promise: Promise) -> Option<Token> {
    find_any(search, promise).filter(|(found, _)| *found == promise).map(|(_, token)| token)
}

/// Whatever an exhaustive search finds; of seeds, the first that breaks this promise.
fn find_any(search: &Search, promise: Promise) -> Option<(Promise, Token)> {
    match search {
        Search::Space { space, judgement } => {
            let checked = check(space, judgement);
            assert_ne!(
                checked.verdict,
                CheckVerdict::Incomplete,
                "more than {STATES_MAX} states: nothing is known"
            );
            if checked.verdict == CheckVerdict::Holds {
                assert!(checked.exploration.coverage.granted > 0, "kept where nobody ever held the lock");
            }
            checked.counterexample.map(|found| (found.promise, found.token))
        }
        Search::Seeds { lock, setup, faults, seeds } => {
            let faults: FaultSet = faults.iter().map(|name| fault(name)).collect();
            let (seed, _) = first_seed(lock, setup, faults, 0..*seeds, promise);
            seed.map(|seed| (promise, seeded_token(lock, setup, faults, seed)))
        }
    }
}

fn fault(name: &str) -> picklock_sim::fault::FaultKind {
    name.parse().unwrap_or_else(|error| panic!("the catalogue names a fault that there is not: {error}"))
}

/// Compares with `golden/NAME.txt`, or writes it if `PICKLOCK_UPDATE_GOLDEN=1`.
fn is_golden(name: &str, actual: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("PICKLOCK_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&file, actual).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        return;
    }
    let again = "PICKLOCK_UPDATE_GOLDEN=1 writes it again; read the difference before it is committed";
    let golden = match std::fs::read_to_string(&file) {
        Ok(golden) => golden,
        Err(error) => panic!("{}: {error}; {again}", file.display()),
    };
    if golden != actual {
        let same = golden.lines().zip(actual.lines()).take_while(|(golden, actual)| golden == actual).count();
        let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
        panic!(
            "{} differs from line {} on; {again}\nwas: {}\nis:  {}\n\n{actual}",
            file.display(),
            same + 1,
            line(&golden),
            line(actual)
        );
    }
}
