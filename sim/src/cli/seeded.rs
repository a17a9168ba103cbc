//! Seeds in order, up to the first whose random plan breaks one promise: the search that rows of the catalogue share.

use super::progress::Progress;
use super::sweep::swept_token;
use super::{BadCall, interrupt, names};
use crate::fault::{FaultKind, FaultSet, UnknownFault};
use crate::registry::{AnyLock, Locks, SweepHow};
use crate::strategy::Strategy;
use picklock_properties::Promise;
use std::ops::Range;

/// Random plans of these kinds of faults on one setup of a lock.
pub struct Seeded<'a> {
    lock: &'a dyn AnyLock,
    setup: &'a [u8],
    faults: FaultSet,
}

/// What seeds that were tried came to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Tried {
    /// The first seed that breaks the promise: the last one tried.
    pub broken: Option<u64>,
    /// Replays that one.
    pub token: Option<String>,
    /// How many seeds were tried, that one included.
    pub runs: u64,
    /// How often the lock was granted in them, or, where there is none, something was read: where that never happened,
    /// nothing is broken, and nothing proved.
    pub happened: u64,
    /// Whether every run ended by itself and none was left out: only then nothing found is nothing there.
    pub complete: bool,
}

impl<'a> Seeded<'a> {
    /// By the lock's registered name and the faults' names on the command line.
    pub fn new(
        locks: &'a Locks,
        lock: &str,
        setup: &'a [u8],
        faults: &[&str],
    ) -> Result<Seeded<'a>, BadCall> {
        let faults: Result<FaultSet, UnknownFault> =
            faults.iter().map(|name| name.parse::<FaultKind>()).collect();
        let faults = faults.map_err(|error| BadCall(error.to_string()))?;
        Ok(Seeded { lock: names::lock(locks, lock)?, setup, faults })
    }

    /// Tries seeds until one breaks `promise`, or any if none is named; goes on after those that break others only.
    pub fn first_break(
        &self,
        strategy: Strategy,
        seeds: Range<u64>,
        promise: Option<Promise>,
        jobs: usize,
        progress: &Progress,
    ) -> Result<Tried, BadCall> {
        let on_progress = |runs| progress.add(runs);
        let how =
            SweepHow { jobs, sought: promise, strategy, ..SweepHow::new(&on_progress, interrupt::flag()) };
        let report = self.lock.sweep(self.setup, self.faults, seeds, &how)?;
        let broken = match promise {
            Some(promise) => report.first_seed(promise),
            None => report.violations.first().map(|found| found.seed),
        };
        let token =
            |seed| swept_token(self.lock.name(), self.setup, self.faults, strategy, seed, &report.planned);
        Ok(Tried {
            broken,
            token: broken.map(token),
            runs: report.runs,
            happened: if self.lock.is_lock() { report.grants } else { report.row_reads },
            complete: report.truncated == 0 && !report.stopped,
        })
    }

    /// The kinds of faults.
    pub fn faults(&self) -> FaultSet {
        self.faults
    }

    /// The lock.
    pub fn lock(&self) -> &dyn AnyLock {
        self.lock
    }
}
