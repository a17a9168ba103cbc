//! What random plans find is made small: at most half of its faults are left, mostly half of its steps, it breaks the same
//! promise, and it is about as long as what the exhaustive search finds. `picklock shrink --catalogue` measures the same of every row.

use crate::evidence::{breaks, check, evidence, first_seed, lock, replay, seeded_token};
use crate::scenarios::row;
use picklock_model::claims::{Search, unpack_setup};
use picklock_model::cluster::Setup;
use picklock_model::locks::RedisSingle;
use picklock_properties::Promise;
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::shrink::Size;
use picklock_sim::registry::{Reduced, ShrinkHow};
use picklock_sim::report::TextOptions;
use picklock_sim::strategies::runs;
use picklock_sim::token::Token;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::sync::atomic::AtomicBool;

#[test]
fn of_a_paused_holder_of_redlock_one_fault_is_left() {
    let (before, after) = shrunk("R1");
    // While the holder pauses the other one asks three servers again and again, until the lease is over: these steps stay.
    assert_eq!((after.faults, after.rounds), (1, 1));
    // On fewer servers it would be no Redlock.
    assert!(after.servers >= before.servers.min(3), "{before:?} became {after:?}");
}

#[test]
fn of_a_clock_that_jumps_one_fault_is_left() {
    assert_eq!(shrunk_to_half("R3").faults, 1);
}

#[test]
fn of_a_clock_that_stands_still_one_fault_is_left() {
    assert_eq!(shrunk_to_half("C19").faults, 1);
}

#[test]
fn where_order_alone_breaks_a_promise_no_fault_is_left() {
    assert_eq!(shrunk_to_half("C23").faults, 0);
}

#[test]
fn a_shrunk_run_is_about_as_long_as_the_shortest_path() {
    for id in ["R4", "Z3"] {
        let shrunk = shrunk_to_half(id);
        let shortest = shortest(id);
        assert!(
            shrunk.entries <= 2 * shortest && shortest <= 2 * shrunk.entries,
            "{id}: {} steps of nodes, and {shortest} are the fewest",
            shrunk.entries
        );
    }
}

#[test]
fn a_failing_case_of_proptest_shrinks_to_one_fault_and_still_fails() {
    let mut setup: Setup<RedisSingle> = unpack_setup(&lock("redis-single").setup(None)).unwrap();
    setup.promises = [Promise::MutualExclusion].into_iter().collect();
    let cases = runs("redis-single", setup, FaultKind::Pause.into());
    // Proptest gives up after 1024 candidates unless told otherwise.
    let config = Config { max_shrink_iters: 20_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let failed = runner.run(&cases, |case| case.keeps(Promise::MutualExclusion));
    let Err(TestError::Fail(why, case)) = failed else { panic!("a lease breaks by a pause: {failed:?}") };
    assert_eq!((case.trial.plan.faults.len(), case.trial.setup.workload.rounds), (1, 1), "{case}");
    let Err(TestCaseError::Fail(again)) = case.keeps(Promise::MutualExclusion) else {
        panic!("what is left breaks nothing: {case}")
    };
    assert_eq!(why.message(), again.message());
    let token = case.token().for_promise(Promise::MutualExclusion);
    assert!(why.message().contains(&format!("picklock replay {token}")), "{why}");
    assert!(breaks(&replay(&token, &TextOptions::default()), Promise::MutualExclusion), "{case}");
    assert!(!case.outcome().truncated && case.outcome().breaks(Promise::MutualExclusion));
}

/// How large the first run was that random plans of the row's hunt find, and how large it is shrunk.
fn shrunk(id: &str) -> (Size, Size) {
    let row = row(id);
    let hunt = row.hunt.unwrap_or_else(|| panic!("{id} has no hunt"));
    let kinds: FaultSet = hunt.faults.iter().map(|name| name.parse::<FaultKind>().unwrap()).collect();
    let (seed, tried) = first_seed(hunt.lock, &hunt.setup, kinds, 0..10_000, row.breaks);
    let seed = seed.unwrap_or_else(|| panic!("{id} is not found in {tried} seeds"));
    let found = seeded_token(hunt.lock, &hunt.setup, kinds, seed);
    let (before, after, token) = reduced(&found, row.breaks);
    let still = breaks(&replay(&token, &TextOptions::default()), row.breaks);
    assert!(still, "{id}: {token} is what became of\n{}", evidence(row.breaks, &found));
    assert!(after.steps <= before.steps, "{id}: {before:?} became {after:?}\n{token}");
    assert!(after.faults <= before.faults / 2, "{id}: {before:?} became {after:?}\n{token}");
    (before, after)
}

fn shrunk_to_half(id: &str) -> Size {
    let (before, after) = shrunk(id);
    assert!(after.steps <= before.steps / 2, "{id}: {before:?} became {after:?}");
    after
}

fn reduced(found: &Token, promise: Promise) -> (Size, Size, Token) {
    let stop = AtomicBool::new(false);
    let how = ShrinkHow { promise: Some(promise), ..ShrinkHow::new(&stop, &|_| {}) };
    match lock(&found.lock).shrink(found, &how) {
        Ok(Reduced::Shrunk { before, after, token, .. }) => (before, after, token),
        Ok(other) => panic!("{other:?}\n{}", evidence(promise, found)),
        Err(error) => panic!("{found}: {error}"),
    }
}

/// In how many steps of nodes the exhaustive search breaks the row's promise: its ticks and faults are left out.
fn shortest(id: &str) -> u64 {
    let row = row(id);
    let Search::Space { space, judgement } = &row.search else { panic!("{id} is not searched exhaustively") };
    let found = check(space, judgement).counterexample.unwrap_or_else(|| panic!("{id} is not found"));
    let events = replay(&found.token, &TextOptions::default()).events;
    let entries = events.iter().filter(|event| ["delivered", "woke", "restarted"].contains(&event.what));
    entries.count() as u64
}
