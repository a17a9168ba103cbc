//! Runs that once broke a promise, as tokens. Each must break it still, for as long as the lock is what it was then.
//!
//! A token stays when the search that found it changes: it says what happens, not how it was found. When the format of
//! tokens changes, find the run again by its story.

use crate::evidence::{breaks, evidence, replay};
use picklock_properties::Promise;
use picklock_sim::report::TextOptions;
use picklock_sim::token::Token;

/// The promise, and the token of the run that breaks it.
const FOUND: &[(Promise, &str)] = &[];

#[test]
fn what_was_found_once_is_found_again() {
    for (promise, token) in FOUND {
        let token: Token = token.parse().unwrap_or_else(|error| panic!("{token}: {error}"));
        let replay = replay(&token, &TextOptions::default());
        assert!(breaks(&replay, *promise), "{promise} is kept\n{}", evidence(*promise, &token));
    }
}
