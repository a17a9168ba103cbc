//! What else could have happened in a step of a counterexample: each other run is one of the model, and follows the first as far as it
//! can.

use crate::evidence::{lock, replay};
use crate::scenarios::{found, is_golden_file};
use picklock_sim::registry::RunError;
use picklock_sim::report::{TextOptions, other_runs};
use std::fmt::Write;

/// Without time and with it, a store with several servers, a loop at the end, a lock manager and shared objects.
const ROWS: [&str; 6] = ["C1", "R1", "Z9", "R18", "V1", "X3"];

#[test]
fn every_other_run_parts_from_the_first_in_its_step_and_is_replayed_as_it_is_told() {
    for row in ROWS {
        let token = found(row);
        let first = replay(&token, &TextOptions::default());
        let mut seen = 0;
        for step in 1..=first.events.len() {
            let others = match other_runs(lock(&token.lock).as_ref(), &token, step) {
                Ok(others) => others,
                Err(RunError::AtOnce { with, .. }) => {
                    assert!(with < step, "{row}, step {step} with {with}");
                    continue;
                }
                Err(error) => panic!("{row}, step {step}: {error}"),
            };
            for other in others {
                assert_eq!(other.events[..step - 1], first.events[..step - 1], "{row}, step {step}");
                assert_ne!(other.events[step - 1], first.events[step - 1], "{row}, step {step}");
                let other_token = other.token.parse().unwrap_or_else(|error| panic!("{row}: {error}"));
                let again = replay(&other_token, &TextOptions::default());
                assert_eq!(again.events, other.events, "{row}, step {step}: {}", other.words);
                assert_eq!(again.broken().next().is_none(), other.broken.is_empty(), "{row}, step {step}");
                seen += 1;
            }
        }
        // The shortest of these runs has six.
        assert!(seen >= 4, "{row}: {seen} other runs");
    }
}

#[test]
fn a_late_look_or_an_early_step_of_the_clock_breaks_nothing_where_the_first_row_breaks() {
    let token = found("C1");
    let steps = replay(&token, &TextOptions::default()).events.len();
    let mut told = String::new();
    for step in 1..=steps {
        let others = other_runs(lock(&token.lock).as_ref(), &token, step);
        for other in others.unwrap_or_else(|error| panic!("step {step}: {error}")) {
            let missing = other.left_out_in_words().map_or_else(String::new, |words| format!("; {words}"));
            let _ = writeln!(told, "{step}: {}: {}{missing}", other.words, other.outcome());
        }
    }
    is_golden_file("c1-instead.txt", &told);
    assert!(told.contains("12: A's clock steps back 1s: nothing is broken in this run"), "{told}");
}
