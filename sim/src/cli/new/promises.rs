// What the lock promises, as tests: `cargo test`. A failure shows the shrunk run, its last steps, and the token that replays it.
use own_lock::registered;
use picklock_sim::prelude::*;
use picklock_sim::testing::keeps;

#[test]
fn nobody_enters_while_another_holds_if_nothing_goes_wrong() {
    // Which faults should it bear? Here they go: faults: [FaultKind::Loss, FaultKind::Delay].into()
    assert_keeps(&registered(), Promise::MutualExclusion, &Runs::default());
}

#[test]
fn nor_on_any_schedule_of_two_clients_that_ask_once() {
    assert_verified(&registered(), Promise::MutualExclusion, &World { rounds: 1, ..World::default() });
}

// The lock as it was written first breaks when its holder pauses for longer than the lease lasts: make it better, and turn this
// into `assert_keeps`.
#[test]
fn a_pause_that_outlasts_the_lease_breaks_it() {
    // Neither kept as a regression nor drawn: it is expected.
    let runs = Runs { faults: FaultKind::Pause.into(), regressions: None, pages: None, ..Runs::default() };
    let why = keeps(&registered(), Promise::MutualExclusion, &runs).expect_err("nothing fences it off");
    assert!(why.contains("enters while"), "{why}");
}
