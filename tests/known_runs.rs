//! The runs that the matrix knows to break a promise (`sim/src/registry/known_runs.txt`) break it still, and so do those that the book names.
//!
//! `PICKLOCK_UPDATE_GOLDEN=1` runs each cell's first 1,000 seeds, or as many as `PICKLOCK_SEEDS` says, and writes the file again: a
//! run that is there stays, unless it breaks nothing any more or an earlier seed does. If it was 1,000, it writes `golden/counts.txt` as
//! well, which [`counts`] reads.

use crate::counts;
use crate::docs::pages;
use crate::evidence::{lock, sweep};
use crate::scenarios::{is_golden_file, is_kept};
use crate::seeds::seeds;
use picklock_model::claims::{Known, MATRIX, known_cell};
use picklock_properties::{Promise, PromiseSet};
use picklock_sim::plans::fault::{FaultKind, FaultSet};
use picklock_sim::plans::strategy::Strategy;
use picklock_sim::registry::{AnyLock, KnownRun, faults_within, known_of, known_run, known_runs, locks};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// By lock and fault, and by promise, the seed.
type Runs = BTreeMap<(String, String), BTreeMap<Promise, u64>>;

/// The names of the rows of the matrix, in their order.
pub(crate) fn fault_rows() -> Vec<&'static str> {
    let kinds = FaultKind::USUAL.map(|kind| kind.name());
    ["none"].into_iter().chain(kinds).chain(["all"]).collect()
}

pub(crate) fn faults_of(name: &str) -> FaultSet {
    match name {
        "none" => FaultSet::EMPTY,
        "all" => FaultSet::ALL,
        kind => FaultSet::from(kind.parse::<FaultKind>().expect("a kind of fault, none or all")),
    }
}

/// What the matrix watches.
pub(crate) fn watched(lock: &dyn AnyLock) -> PromiseSet {
    use Promise::*;
    let of_locks = [MutualExclusion, FencedResource, DeadlockFreedom, StarvationFreedom, Fifo, LeaseLoss];
    if lock.is_lock() { of_locks.into_iter().collect() } else { lock.watched() }
}

fn breaks(lock: &dyn AnyLock, run: &KnownRun) -> bool {
    let setup = lock.setup(Some(watched(lock)));
    let plans = lock.plans(&setup, faults_of(run.fault), Strategy::default(), &[run.seed]);
    let plan = plans.expect("the setup is this lock's").pop().expect("a plan was drawn for the seed");
    let outcomes = lock.run_planned(&setup, &plan, run.seed..run.seed + 1);
    outcomes.expect("the setup is this lock's").iter().any(|outcome| outcome.breaks(run.promise))
}

/// The run that is named so, `LOCK:FAULT:SEED:PROMISE`; without a promise the gravest is meant.
fn named(name: &str) -> Option<KnownRun<'_>> {
    let parts: Vec<&str> = name.split(':').collect();
    let (lock, fault, seed, promise) = match parts.as_slice() {
        [lock, fault, seed] => (lock, fault, seed, Promise::MutualExclusion),
        [lock, fault, seed, promise] => (lock, fault, seed, promise.parse().ok()?),
        _ => return None,
    };
    Some(KnownRun { lock, fault, promise, seed: seed.parse().ok()? })
}

#[test]
fn every_run_that_the_book_names_breaks_the_promise_that_it_is_named_for() {
    let pages = pages();
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "-:".contains(letter);
    let words = pages.iter().flat_map(|(_, text)| text.split(|letter| !is_of_a_name(letter)));
    let locks: Vec<&str> = locks().iter().map(|lock| lock.name()).collect();
    let runs: BTreeSet<KnownRun> = words
        .filter_map(named)
        .filter(|run| locks.contains(&run.lock) && fault_rows().contains(&run.fault))
        .collect();
    assert!(runs.len() > 10, "the book names runs: {runs:?}");
    let vain: Vec<&KnownRun> = runs.iter().filter(|run| !breaks(lock(run.lock).as_ref(), run)).collect();
    assert!(vain.is_empty(), "these break nothing: {vain:?}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn every_run_that_the_matrix_knows_to_break_a_promise_breaks_it() {
    if std::env::var_os("PICKLOCK_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        return write_again();
    }
    let wrong: Vec<String> = known_runs()
        .par_iter()
        .filter(|run| !breaks(lock(run.lock).as_ref(), run))
        .map(|run| format!("{}:{}:{}:{}", run.lock, run.fault, run.seed, run.promise))
        .collect();
    assert!(wrong.is_empty(), "these break nothing: {}", wrong.join(", "));
}

#[test]
fn no_known_run_breaks_what_is_believed_to_be_kept() {
    for cell in MATRIX.into_iter().flatten().filter(|cell| cell.known != Known::Broken) {
        let run = known_run(cell.lock, cell.fault, cell.promise);
        assert!(run.is_none(), "{cell:?} is broken by {run:?}");
        for fault in faults_within(cell.fault) {
            let within = known_cell(cell.lock, fault, cell.promise);
            assert!(
                within.is_none_or(|within| within.known != Known::Broken),
                "{cell:?} is broken by {within:?}"
            );
        }
    }
}

#[test]
fn what_one_kind_of_fault_breaks_all_of_them_are_known_to_break() {
    for run in known_runs() {
        assert!(known_run(run.lock, "all", run.promise).is_some(), "{run:?}");
        let in_all = known_run(run.lock, run.fault, run.promise).expect("it is known");
        assert_eq!(in_all.fault, run.fault, "a run of the cell's own is named first");
    }
    assert!(
        known_run("redis-single", "none", Promise::MutualExclusion).is_none(),
        "a fault breaks it, not its absence"
    );
}

/// Where two hold at once and no token is shown, a late write is a matter of time. These alone nobody has met yet.
const LATE_WRITES_NOT_MET: &[(&str, &str)] =
    &[("cassandra-kept", "crash"), ("etcd-mutex-3", "crash"), ("etcd-mutex-3", "power-loss")];

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn where_two_hold_and_no_token_is_shown_late_writes_are_known_too() {
    let is_known = |lock: &dyn AnyLock, fault: &str, promise| {
        known_run(lock.name(), fault, promise).is_some()
            || known_of(lock.name(), fault, promise).is_some_and(|cell| cell.known == Known::Broken)
    };
    let mut not_met = Vec::new();
    for lock in locks().iter().filter(|lock| lock.is_lock()) {
        let setup = lock.setup(Some(watched(lock.as_ref())));
        let used = lock.use_in_words(&setup).expect("it is this lock's");
        if !used.contains("write to the resource") || used.contains("(it checks tokens)") {
            continue;
        }
        // Not of those that let several in: their writes come in any order.
        let tested = sweep(lock.name(), &setup, FaultSet::EMPTY, 0..20, true).tested;
        if !tested.untested([Promise::FencedResource].into_iter().collect()).is_empty() {
            continue;
        }
        let broken = |fault: &&str| is_known(lock.as_ref(), fault, Promise::MutualExclusion);
        let late = |fault: &&str| !is_known(lock.as_ref(), fault, Promise::FencedResource);
        not_met
            .extend(fault_rows().into_iter().filter(broken).filter(late).map(|fault| (lock.name(), fault)));
    }
    assert_eq!(not_met, LATE_WRITES_NOT_MET, "these have late writes, or have none any more");
}

fn write_again() {
    let mut runs = Runs::new();
    let mut counted = counts::HEAD.to_owned();
    for lock in locks().iter().filter(|lock| !watched(lock.as_ref()).is_empty()) {
        let setup = lock.setup(Some(watched(lock.as_ref())));
        for fault in fault_rows() {
            let report = sweep(lock.name(), &setup, faults_of(fault), seeds(counts::RUNS), true);
            if lock.is_lock() {
                counted += &counts::lines(lock.as_ref(), fault, &report);
                counted += &counts::line_of_tokens(lock.as_ref(), fault).unwrap_or_default();
            }
            let first =
                report.broken.keys().filter_map(|promise| Some((*promise, report.first_seed(*promise)?)));
            runs.insert((lock.name().to_owned(), fault.to_owned()), first.collect());
        }
    }
    if seeds(counts::RUNS) == (0..counts::RUNS) {
        is_golden_file("counts.txt", &counted);
    }
    for run in known_runs().iter().filter(|run| locks().iter().any(|lock| lock.name() == run.lock)) {
        let known = runs.entry((run.lock.to_owned(), run.fault.to_owned())).or_default();
        if !known.contains_key(&run.promise) && breaks(lock(run.lock).as_ref(), run) {
            known.insert(run.promise, run.seed);
        }
    }
    let mut text = "# Written by tests/known_runs.rs: LOCK FAULT PROMISE SEED.\n".to_owned();
    for ((lock, fault), broken) in runs {
        for (promise, seed) in broken {
            text += &format!("{lock} {fault} {promise} {seed}\n");
        }
    }
    is_kept(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sim/src/registry/known_runs.txt"), &text);
}
