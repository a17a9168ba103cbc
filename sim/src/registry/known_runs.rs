//! Runs that are known to break a promise: of the matrix's cells, the first seed that ever did, among however many were tried.
//!
//! So that few runs do not call kept what many have shown to break. The runs are those of `picklock replay
//! LOCK:FAULT:SEED:PROMISE`; a test runs each of them again, and `PICKLOCK_UPDATE_GOLDEN=1` finds others in the place of those
//! that break nothing any more.

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

/// A seed that breaks this cell, if one is known.
pub fn known_run(lock: &str, fault: &str, promise: Promise) -> Option<u64> {
    let is_it = |run: &&KnownRun| (run.lock, run.fault, run.promise) == (lock, fault, promise);
    known_runs().iter().find(is_it).map(|run| run.seed)
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
