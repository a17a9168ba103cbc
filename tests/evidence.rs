//! How the tests search, sweep and replay; and what a failing one prints: the promise, the token, the last steps, and the
//! command that replays it.

use crate::truth;
use picklock_model::claims::{Judgement, NamedSpace};
use picklock_model::explore::Limits;
use picklock_properties::Promise;
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::strategy::Strategy;
use picklock_sim::registry::{AnyLock, Checked, Replay, SweepHow, locks};
use picklock_sim::report::TextOptions;
use picklock_sim::sweep::{PlannedRun, SweepReport};
use picklock_sim::token::Token;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// No space of these tests has so many states: where it is reached, something has grown that should not.
pub const STATES_MAX: u64 = 8_000_000;

/// How many steps a failing test prints, from the end of the run.
const LAST_STEPS: usize = 30;

/// Faults of machines whose disks stay and whose clocks count every pause and show every microsecond: what a claim about *any*
/// fault speaks of, if it says nothing else. Suspended machines, coarse clocks and replaced disks are their own rows.
pub const USUAL_FAULTS: [FaultKind; 8] = FaultKind::USUAL;

/// The lock of this name.
pub fn lock(name: &str) -> Box<dyn AnyLock> {
    match locks().into_iter().find(|lock| lock.name() == name) {
        Some(lock) => lock,
        None => panic!("no lock is registered as {name:?}"),
    }
}

/// What the spaces came to that were explored so far: a claim, its row, its golden trace and the tests of its lock ask for the
/// same ones.
static EXPLORED: Mutex<BTreeMap<String, Arc<OnceLock<Checked>>>> = Mutex::new(BTreeMap::new());

/// Spaces in which more states are kept are explored with `PICKLOCK_LONG=1` alone.
const LARGE: u64 = 200_000;

/// What each space of a claim or of a repair came to, a line each, that of `NAME` beginning with `NAME: `.
const SIZES: &str = include_str!("golden/sizes.txt");

/// Whether everything is to be explored, however long it takes.
pub fn is_long() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    is_set("PICKLOCK_LONG") || is_set("PICKLOCK_UPDATE_GOLDEN")
}

/// What the space of this name came to when it was last explored, if it is too large for every day.
pub fn left_for_long(name: &str) -> Option<&'static str> {
    let line =
        SIZES.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")))?;
    let kept = line.split(", ").find_map(|part| part.strip_suffix(" kept"))?;
    let kept: u64 = kept.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
    (kept > LARGE && !is_long()).then_some(line)
}

/// The line of a space that was explored.
pub fn size(name: &str, checked: &Checked) -> String {
    let explored = &checked.exploration;
    format!(
        "{name}: {}, {} states, {} kept, {} transitions, depth {}",
        checked.verdict.name(),
        explored.states,
        explored.kept,
        explored.transitions,
        explored.depth
    )
}

/// Explores the whole space, the first time that it is asked for.
pub fn check(space: &NamedSpace, judgement: &Judgement) -> Checked {
    let name = format!("{space:?} {judgement:?}");
    let mut explored = EXPLORED.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Arc::clone(explored.entry(name).or_default());
    drop(explored);
    place.get_or_init(|| explore(space, judgement)).clone()
}

fn explore(space: &NamedSpace, judgement: &Judgement) -> Checked {
    match lock(space.lock).check(space, judgement, &Limits::states(STATES_MAX)) {
        Ok(checked) => {
            if let Some(found) = &checked.counterexample {
                replay(&found.token, &TextOptions::default());
            }
            checked
        }
        Err(error) => panic!("the space of {} cannot be explored: {error}", space.lock),
    }
}

/// Runs seeds, up to the first that breaks a promise unless told to `keep_going`.
pub fn sweep(
    lock_name: &str,
    setup: &[u8],
    faults: FaultSet,
    seeds: Range<u64>,
    keep_going: bool,
) -> SweepReport {
    let stop = AtomicBool::new(false);
    let how = SweepHow { jobs: 2, keep_going, ..SweepHow::new(&|_| {}, &stop) };
    let report = match lock(lock_name).sweep(setup, faults, seeds.clone(), &how) {
        Ok(report) => report,
        Err(error) => panic!("the seeds {seeds:?} of {lock_name} cannot be run: {error}"),
    };
    assert_eq!(report.truncated, 0, "a run that was cut short is no verdict: raise its limit of events");
    report
}

/// The first seed of `seeds` that breaks this promise, whatever others break before; and how many were run.
pub fn first_seed(
    lock_name: &str,
    setup: &[u8],
    faults: FaultSet,
    seeds: Range<u64>,
    promise: Promise,
) -> (Option<u64>, u64) {
    let mut next = seeds.start;
    while next < seeds.end {
        let report = sweep(lock_name, setup, faults, next..seeds.end, false);
        assert!(report.runs > 0, "a sweep that runs no seed never ends");
        next += report.runs;
        if let Some(seed) = report.first_seed(promise) {
            return (Some(seed), next - seeds.start);
        }
    }
    (None, next - seeds.start)
}

/// The run of a seed, as a token.
pub fn seeded_token(lock: &str, setup: &[u8], faults: FaultSet, seed: u64) -> Token {
    let lock = self::lock(lock);
    let plans = lock.plans(setup, faults, Strategy::Swarm, &[seed]).expect("the setup is one of this lock");
    let run = PlannedRun { plan: plans[0].clone(), seed };
    lock.token(setup, &run, None).expect("the run can be told by names")
}

/// Runs a token's run again.
pub fn replay(token: &Token, options: &TextOptions) -> Replay {
    match lock(&token.lock).replay(token, options) {
        Ok(replay) => {
            truth::assert_true(token, &replay);
            replay
        }
        Err(error) => panic!("{token} cannot be replayed: {error}"),
    }
}

/// Whether the run broke this promise.
///
/// The end of a lasso is told by the strongest thing that is true of it: where nobody at all is granted the lock, the
/// one who waits for it starves, too.
pub fn breaks(replay: &Replay, promise: Promise) -> bool {
    let starves = |starved: Promise| {
        starved == promise || (starved == Promise::DeadlockFreedom && promise == Promise::StarvationFreedom)
    };
    replay.violations.iter().any(|violation| violation.promise == promise)
        || replay.starved.is_some_and(starves)
}

/// What somebody who has to look into a failure needs.
pub fn evidence(promise: Promise, token: &Token) -> String {
    let options = TextOptions { last: Some(LAST_STEPS), ..TextOptions::default() };
    let Replay { text, .. } = replay(token, &options);
    format!(
        "promise: {promise}: {}\ntoken:   {token}\n{text}again:   picklock replay {token}",
        promise.statement()
    )
}

/// Fails, with evidence, if a seed of the sweep broke a promise.
pub fn assert_clean(lock_name: &str, setup: &[u8], faults: FaultSet, report: &SweepReport) {
    if let Some(found) = report.violations.first() {
        let token = seeded_token(lock_name, setup, faults, found.seed);
        panic!(
            "{lock_name} under {faults}: seed {} breaks a promise; PICKLOCK_SEED={} cargo test NAME -- --include-ignored runs it alone\n{}",
            found.seed,
            found.seed,
            evidence(found.violation.promise, &token)
        );
    }
}
