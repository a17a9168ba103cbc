//! Seeds in order, up to the first whose random plan breaks one promise: the search that rows of the catalogue share.

use super::progress::Progress;
use super::tokens::{Plans, Tokens};
use super::{BadCall, interrupt, names};
use crate::plans::fault::{FaultKind, FaultSet, UnknownFault};
use crate::plans::strategy::Strategy;
use crate::registry::{AnyLock, Locks, SweepHow};
use picklock_properties::{Promise, PromiseSet};
use std::ops::Range;

/// Random plans of these kinds of faults on one setup of a lock.
#[derive(Clone, Copy)]
pub struct Seeded<'a> {
    lock: &'a dyn AnyLock,
    setup: &'a [u8],
    faults: FaultSet,
    makes_tokens: bool,
}

/// What seeds that were tried came to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Tried {
    /// The first seed that breaks the promise: the last one tried.
    pub broken: Option<u64>,
    /// Replays that one, if it was asked for.
    pub token: Option<String>,
    /// How many seeds were tried, that one included.
    pub runs: u64,
    /// The promises that no run put to the test: where that is what was looked for, nothing is broken, and nothing proved.
    pub untested: PromiseSet,
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
        Ok(Seeded { lock: names::lock(locks, lock)?, setup, faults, makes_tokens: true })
    }

    /// The same, but no token is made of what is found: one costs as much as a dozen seeds.
    pub fn without_tokens(self) -> Seeded<'a> {
        Seeded { makes_tokens: false, ..self }
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
        let plans = Plans::Drawn { faults: self.faults, strategy, planned: &report.planned };
        let tokens = Tokens { lock: self.lock, setup: self.setup, plans };
        let first = report.violations.first().map(|found| found.violation.promise);
        let token = |seed| tokens.of_one(seed, promise.or(first));
        Ok(Tried {
            broken,
            token: broken.filter(|_| self.makes_tokens).map(token).transpose()?,
            runs: report.runs,
            untested: report.tested.untested(PromiseSet::ALL),
            complete: report.truncated == 0 && !report.stopped,
        })
    }

    /// What the setup watches.
    pub fn watched(&self) -> Result<PromiseSet, BadCall> {
        Ok(self.lock.watched_in(self.setup)?)
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

/// Whether a pass means nothing: the promise that the row is about was never put to the test, or, if another lock keeps
/// others in its place, none of those was.
pub fn is_vacuous(watched: PromiseSet, untested: PromiseSet, about: Promise) -> bool {
    if watched.contains(about) {
        untested.contains(about)
    } else {
        watched.iter().all(|promise| untested.contains(promise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_means_something_only_if_what_the_row_is_about_was_tested() {
        let set = |promises: &[Promise]| promises.iter().copied().collect::<PromiseSet>();
        let both = set(&[Promise::Fifo, Promise::LeaseLoss]);
        assert!(is_vacuous(both, set(&[Promise::Fifo]), Promise::Fifo));
        assert!(!is_vacuous(both, set(&[Promise::LeaseLoss]), Promise::Fifo));
        assert!(!is_vacuous(both, set(&[Promise::LeaseLoss]), Promise::MutualExclusion));
        assert!(is_vacuous(both, PromiseSet::ALL, Promise::MutualExclusion));
    }
}
