//! Lock managers by seeds: what one that takes silence for death gives away, and that a new master waits for nobody for ever.

use crate::evidence::{first_seed, lock, sweep};
use picklock_properties::Promise;
use picklock_sim::plans::fault::{FaultKind, FaultSet};

const USERS: [&str; 6] =
    ["dlm-modes", "dlm-readers-writer", "dlm-upgrade", "dlm-two", "dlm-standby", "dlm-pages"];

/// Pauses are drawn as long as the silence that is taken for death: nothing is fenced here.
#[test]
fn who_pauses_for_longer_than_the_reconnection_interval_goes_on_with_a_lock_that_another_one_has() {
    let pause = [FaultKind::Pause].into_iter().collect();
    for name in USERS {
        let setup = lock(name).setup(None);
        let (seed, _) = first_seed(name, &setup, pause, 0..1000, Promise::MutualExclusion);
        assert!(seed.is_some(), "{name}: nobody was ever silent for long enough");
    }
}

/// A copy that is lost is said again, one that was dead before the question is removed, and so is one that died after it had asked.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_new_master_hears_everybody_or_gives_them_up() {
    for name in USERS {
        let setup = lock(name).setup(None);
        for faults in [
            [FaultKind::Crash].into_iter().collect(),
            [FaultKind::PowerLoss].into_iter().collect(),
            FaultSet::ALL,
        ] {
            let report = sweep(name, &setup, faults, 0..1000, true);
            assert_eq!(report.broken.get(&Promise::DeadlockFreedom), None, "{name}, {faults}");
            assert!(report.grants > 1000, "{name}: {} grants", report.grants);
        }
    }
}
