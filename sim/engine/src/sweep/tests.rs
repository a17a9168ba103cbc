use super::*;
use crate::plans::fault::FaultKind;
use crate::toy::{self, Key};

fn swept(
    setup: &Setup<Key>,
    faults: FaultSet,
    seeds: Range<u64>,
    jobs: usize,
    keep_going: bool,
) -> SweepReport {
    let options = SweepOptions {
        jobs,
        keep_going,
        sought: None,
        until_tested: None,
        strategy: Strategy::Swarm,
        limits: None,
        scale: Scale::of(setup),
        on_progress: &|_| {},
        on_merged: None,
        stop: &AtomicBool::new(false),
    };
    sweep(setup, faults, seeds, &options).unwrap()
}

/// What a lock on one server that never forgets can bear.
fn bearable() -> FaultSet {
    let fatal = [FaultKind::PowerLoss, FaultKind::Crash, FaultKind::Replace];
    FaultKind::ALL.into_iter().filter(|kind| !fatal.contains(kind)).collect()
}

#[test]
fn a_correct_lock_is_not_accused_of_anything() {
    let report = swept(&toy::setup(), bearable(), 0..2000, 2, true);
    assert_eq!((report.violations.as_slice(), report.truncated, report.stopped), (&[][..], 0, false));
    assert_eq!((report.runs, report.grants), (2000, 2000 * 15));
    let idle: Vec<&str> = (report.strikes.named().into_iter())
        .filter_map(|(name, times)| (times == 0).then_some(name))
        .collect();
    // The resource crashes, too, and starts again: that is no end of a client or of the desk.
    assert_eq!(idle, ["power losses", "replaced servers"]);
}

#[test]
fn crashes_block_no_lock_that_is_leased() {
    let kinds = FaultSet::from_iter([FaultKind::Crash, FaultKind::Loss, FaultKind::Duplicate]);
    let report = swept(&toy::leased_setup(), kinds, 0..2000, 2, true);
    assert_eq!(report.first_seed(Promise::DeadlockFreedom), None);
    assert!(report.strikes.crashes > 1000 && report.strikes.restarts > 500, "{:?}", report.strikes);
}

#[test]
fn a_broken_lock_is_caught_by_the_first_seed() {
    let report = swept(&toy::broken_setup(), FaultSet::EMPTY, 0..2000, 2, false);
    assert_eq!((report.runs, report.first_seed(Promise::MutualExclusion)), (1, Some(0)));
    assert!(!report.stopped);
}

#[test]
fn random_plans_find_that_a_pause_outlasts_a_lease_and_that_memory_is_forgotten() {
    let report = swept(&toy::leased_setup(), FaultKind::Pause.into(), 0..2000, 2, false);
    assert!(report.first_seed(Promise::MutualExclusion).is_some_and(|seed| seed < 200), "{report:?}");
    let report = swept(&toy::setup(), FaultKind::PowerLoss.into(), 0..2000, 2, false);
    assert!(report.first_seed(Promise::MutualExclusion).is_some_and(|seed| seed < 200), "{report:?}");
    let report = swept(&toy::setup(), FaultKind::Crash.into(), 0..2000, 2, false);
    assert!(report.first_seed(Promise::DeadlockFreedom).is_some_and(|seed| seed < 200), "{report:?}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_report_does_not_depend_on_the_number_of_jobs() {
    for (setup, keep_going) in
        [(toy::leased_setup(), false), (toy::leased_setup(), true), (toy::setup(), true)]
    {
        let one = swept(&setup, FaultSet::ALL, 100..900, 1, keep_going);
        assert!(!one.is_clean());
        for jobs in [2, 3, 8] {
            assert_eq!(swept(&setup, FaultSet::ALL, 100..900, jobs, keep_going), one);
        }
    }
}

#[test]
fn a_sweep_ends_with_the_first_seed_that_breaks_something() {
    let whole = swept(&toy::leased_setup(), FaultKind::Pause.into(), 0..1000, 2, true);
    let first = whole.violations[0].seed;
    let report = swept(&toy::leased_setup(), FaultKind::Pause.into(), 0..1000, 2, false);
    assert_eq!((report.runs, report.violations[0].seed), (first + 1, first));
    assert!(whole.violations.windows(2).all(|pair| pair[0].seed <= pair[1].seed));
    assert_eq!((whole.runs, whole.violations.len() as u64), (1000, whole.broken.values().sum()));
}

#[test]
fn a_stopped_sweep_says_so_and_progress_is_told_in_runs() {
    let setup = toy::setup();
    let (stop, told) = (AtomicBool::new(false), AtomicU64::new(0));
    let on_progress = |runs| {
        if told.fetch_add(runs, Ordering::Relaxed) + runs >= 256 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let limits = Limits::of(&setup);
    let scale = Scale::of(&setup);
    let options = SweepOptions {
        jobs: 1,
        keep_going: true,
        sought: None,
        until_tested: None,
        strategy: Strategy::Swarm,
        limits: Some(limits),
        scale,
        on_progress: &on_progress,
        on_merged: None,
        stop: &stop,
    };
    let report = sweep(&setup, FaultSet::EMPTY, 0..100_000, &options).unwrap();
    assert_eq!((report.runs, report.stopped), (256, true));
}

#[test]
fn what_is_listed_is_bounded_and_what_is_counted_is_not() {
    let report = swept(&toy::broken_setup(), FaultSet::EMPTY, 0..1500, 2, true);
    assert_eq!(report.broken[&Promise::MutualExclusion], 1500);
    assert_eq!(report.violations.len() as u64, SweepReport::LISTED_MAX);
    assert_eq!(report.violations.last().map(|found| found.seed), Some(999));
}

#[test]
fn an_empty_range_is_an_empty_report() {
    assert_eq!(swept(&toy::setup(), FaultSet::ALL, 5..5, 2, false), SweepReport::default());
}
