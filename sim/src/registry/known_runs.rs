//! Runs that are known to break a promise: of the matrix's cells, the first seed that ever did, among however many were tried.
//!
//! So that few runs do not call kept what many have shown to break. The runs are those of `picklock replay
//! LOCK:FAULT:SEED:PROMISE`; a test runs each of them again, and `PICKLOCK_UPDATE_GOLDEN=1` finds others in the place of those
//! that break nothing any more.

use crate::plans::fault::FaultKind;
use picklock_model::claims::{Cell, Known, known_cell};
use picklock_properties::Promise;
use std::sync::OnceLock;

const RUNS: &str = include_str!("known_runs.txt");

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KnownRun<'a> {
    /// Name of the lock, or of the object, as it is registered.
    pub lock: &'a str,
    /// Name of the row of the matrix: a kind of fault, `none` or `all`.
    pub fault: &'a str,
    /// What the run breaks.
    pub promise: Promise,
    /// Whose run it is.
    pub seed: u64,
}

/// All of them, in the order of their file.
pub fn known_runs() -> &'static [KnownRun<'static>] {
    static PARSED: OnceLock<Vec<KnownRun>> = OnceLock::new();
    PARSED.get_or_init(|| RUNS.lines().filter(|line| !line.starts_with('#')).map(parsed).collect())
}

/// A run that breaks this cell, if one is known: one of its own, or else one [within](faults_within) its fault.
pub fn known_run(lock: &str, fault: &str, promise: Promise) -> Option<&'static KnownRun<'static>> {
    let run_under = |fault: &str| {
        known_runs().iter().find(|run| (run.lock, run.fault, run.promise) == (lock, fault, promise))
    };
    run_under(fault).or_else(|| faults_within(fault).find_map(run_under))
}

/// What is known of a lock under a fault, if anything: of its own cell, or else that one [within](faults_within) its fault breaks it.
pub fn known_of(lock: &str, fault: &str, promise: Promise) -> Option<&'static Cell> {
    all_known_of(lock, fault, promise).first().copied()
}

/// The same, with everything within its fault that breaks it: a run of several kinds of faults may break it by any of them.
pub fn all_known_of(lock: &str, fault: &str, promise: Promise) -> Vec<&'static Cell> {
    let broken_under =
        |fault: &str| known_cell(lock, fault, promise).filter(|cell| cell.known == Known::Broken);
    match known_cell(lock, fault, promise) {
        Some(cell) => vec![cell],
        None => faults_within(fault).filter_map(broken_under).collect(),
    }
}

/// The rows of the matrix whose runs are runs of this row, too.
///
/// Every seed draws some kinds of faults from those of its row. So what one kind breaks, all of them break, and what breaks
/// without a fault breaks under any, however many seeds it takes to meet it.
pub fn faults_within(fault: &str) -> impl Iterator<Item = &'static str> {
    let (is_none, is_all) = (fault == "none", fault == "all");
    let kinds = FaultKind::USUAL.into_iter().filter(move |_| is_all).map(|kind| kind.name());
    std::iter::once("none").filter(move |_| !is_none).chain(kinds)
}

fn parsed(line: &'static str) -> KnownRun<'static> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let run = || {
        let &[lock, fault, promise, seed] = words.as_slice() else { return None };
        Some(KnownRun { lock, fault, promise: promise.parse().ok()?, seed: seed.parse().ok()? })
    };
    match run() {
        Some(run) => run,
        None => unreachable!("the file is written by a test, LOCK FAULT PROMISE SEED a line: {line}"),
    }
}
