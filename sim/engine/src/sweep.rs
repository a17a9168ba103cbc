//! Many seeds, on all cores, with the same report for any number of them.
//!
//! Seeds are run in blocks; whoever has nothing to do takes the next block. The reports of the blocks are put together in
//! the order of the seeds, and so nothing in the whole depends on who was faster. A sweep that is too long for one process writes
//! [`results`] into a file.

pub mod cause;
pub mod results;

use crate::plans::fault::FaultSet;
use crate::plans::guided;
use crate::plans::plan::Plan;
use crate::plans::strategy::Strategy;
use crate::plans::swarm::Scale;
use crate::plans::varied;
use crate::seeded::marks::Marks;
use crate::seeded::outcome::{Limits, Outcome, Strikes};
use crate::seeded::run::Engine;
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::workload::Workload;
use picklock_properties::{Promise, PromiseSet, Tests, Violation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How a sweep goes about it.
pub struct SweepOptions<'a> {
    /// On how many threads; 0 is one for each core.
    pub jobs: usize,
    /// Whether to go on after the first seed that breaks a promise.
    pub keep_going: bool,
    /// If not: which promise it is; `None`: any.
    pub sought: Option<Promise>,
    /// Ends once each of these promises was put to the test in so many runs.
    pub until_tested: Option<(PromiseSet, u64)>,
    /// How plans are drawn.
    pub strategy: Strategy,
    /// What each run is held to; `None`: [`Limits::of`] its own setup.
    pub limits: Option<Limits>,
    /// What the plans are measured by.
    pub scale: Scale,
    /// Told after each block how many more runs are finished, from any thread.
    pub on_progress: &'a (dyn Fn(u64) + Sync),
    /// Given the report on the seeds up to this one, from those of the last such report on: in the order of the seeds.
    pub on_merged: Option<&'a OnMerged<'a>>,
    /// Once set, no further block is begun.
    pub stop: &'a AtomicBool,
}

/// Takes reports on the seeds up to a seed, one after the other, from any thread.
pub type OnMerged<'a> = dyn Fn(u64, SweepReport) + Sync + 'a;

/// What a sweep came to.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SweepReport {
    /// How many seeds were run.
    pub runs: u64,
    /// How many things happened in all of them.
    pub events: u64,
    /// Broken promises, in the order of the seeds; of each promise at most [`SweepReport::LISTED_MAX`].
    pub violations: Vec<Found>,
    /// In how many runs each promise was broken.
    pub broken: BTreeMap<Promise, u64>,
    /// How often which fault struck.
    pub strikes: Strikes,
    /// How often which rare situation arose.
    pub marks: Marks,
    /// By seed: the runs listed above whose plans are not those that their seeds draw, for a guided search changed them.
    pub planned: BTreeMap<u64, PlannedRun>,
    /// How many runs were cut short, and are no evidence for anything that they did not break.
    pub truncated: u64,
    /// In how many runs each promise was put to the test: in none, and that nothing broke it proves nothing.
    pub tested: Tests,
    /// How often the lock was granted.
    pub grants: u64,
    /// How often `try_lock` was refused.
    pub refusals: u64,
    /// How often a store gave a client a place in a queue: never, and first-in-first-out means nothing.
    pub enqueued: u64,
    /// How often a lease was prolonged: never, and none can be prolonged wrongly.
    pub renewals: u64,
    /// How often a client has told what it read: never, and none has read what was stale.
    pub row_reads: u64,
    /// The most overtakes in one run; 0 unless first-in-first-out is watched.
    pub overtakes_max: u32,
    /// Whether the sweep was stopped before its end.
    pub stopped: bool,
}

/// What a run depends on beside its setup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedRun {
    /// What goes wrong.
    pub plan: Plan,
    /// Decides what the plan leaves open.
    pub seed: u64,
}

/// A promise that a seed breaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// The first time the promise was broken in that seed's run.
    pub violation: Violation,
}

/// Small enough that all threads are busy to the end, large enough that they rarely meet.
pub(crate) const BLOCK: u64 = 64;

/// Runs every seed of `seeds`, each with the plan that it draws from `faults`.
///
/// Without `keep_going` the report covers the seeds up to the first one that breaks a promise, or the one that is sought,
/// that seed included. A guided sweep learns from the first seed on: what a seed runs depends on where the seeds begin.
pub fn sweep<Y: System>(
    setup: &Setup<Y>,
    faults: FaultSet,
    seeds: Range<u64>,
    options: &SweepOptions,
) -> Result<SweepReport, SweepError> {
    let runner = || runner(setup, options.limits);
    match options.strategy {
        Strategy::Guided => guided::sweep(&runner, setup.workload, faults, seeds, options),
        Strategy::Plain | Strategy::Swarm | Strategy::Pct | Strategy::Mixed => {
            sweep_drawn(&runner, setup.workload, faults, seeds, options)
        }
    }
}

/// Runs plans under seeds, one after the other: an engine, and the setup that it runs. What sweeps does not know the lock.
pub(crate) type Runner<'a> = Box<dyn FnMut(&Plan, u64) -> Outcome + 'a>;

/// A runner with an engine of its own, which holds each run to these limits, or else to those that its workload asks for.
pub(crate) fn runner<'a, Y: System>(setup: &'a Setup<Y>, limits: Option<Limits>) -> Runner<'a> {
    let mut engine = Engine::new();
    Box::new(move |plan, seed| {
        let setup = varied::of_seed(setup, seed);
        let limits = limits.unwrap_or_else(|| Limits::of(&setup));
        engine.run(&setup, plan, seed, &limits, &mut ())
    })
}

/// Makes a runner for each thread.
pub(crate) type Runners<'a> = &'a (dyn Fn() -> Runner<'a> + Sync);

fn sweep_drawn<'a>(
    runner: Runners<'a>,
    around: Workload,
    faults: FaultSet,
    seeds: Range<u64>,
    options: &'a SweepOptions<'a>,
) -> Result<SweepReport, SweepError> {
    let sweep = Sweep {
        runner,
        around,
        faults,
        seeds,
        options,
        next_block: AtomicU64::new(0),
        last_block: AtomicU64::new(u64::MAX),
        merged: Mutex::default(),
    };
    threads(options.jobs)?.broadcast(|_| sweep.work());
    Ok(sweep.finish())
}

pub(crate) fn threads(jobs: usize) -> Result<rayon::ThreadPool, SweepError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.map_err(|error| SweepError::Threads(error.to_string()))
}

impl SweepOptions<'_> {
    /// Whether the report ends here: what was looked for is in it.
    pub(crate) fn ends(&self, report: &SweepReport) -> bool {
        let found = match self.sought {
            Some(promise) => report.broken.contains_key(&promise),
            None => !report.is_clean(),
        };
        found && !self.keep_going || self.is_tested_enough(report)
    }

    fn is_tested_enough(&self, report: &SweepReport) -> bool {
        self.until_tested.is_some_and(|(promises, runs)| report.tested.reach(promises, runs))
    }
}

/// Why a sweep could not be begun.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SweepError {
    /// The system gives no more threads.
    #[error("the threads for the sweep cannot be started: {0}")]
    Threads(String),
}

impl SweepReport {
    /// So many violations of each promise are listed; all are counted.
    pub const LISTED_MAX: u64 = 1000;

    /// Whether anything was broken.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// The first seed that breaks this promise.
    pub fn first_seed(&self, promise: Promise) -> Option<u64> {
        self.violations.iter().find(|found| found.violation.promise == promise).map(|found| found.seed)
    }

    /// One more run.
    pub fn add(&mut self, seed: u64, outcome: &Outcome) {
        self.runs += 1;
        self.events += outcome.events;
        self.strikes += outcome.strikes;
        self.marks += outcome.marks;
        self.tested.count(outcome.tested);
        self.truncated += u64::from(outcome.truncated);
        self.grants += outcome.grants;
        self.refusals += outcome.refusals;
        self.enqueued += outcome.enqueued;
        self.renewals += outcome.renewals;
        self.row_reads += outcome.row_reads;
        self.overtakes_max = self.overtakes_max.max(outcome.overtakes);
        for violation in &outcome.violations {
            let broken = self.broken.entry(violation.promise).or_default();
            *broken += 1;
            if *broken <= SweepReport::LISTED_MAX {
                self.violations.push(Found { seed, violation: *violation });
            }
        }
    }

    /// Adds the report on the seeds that follow.
    pub(crate) fn append(&mut self, next: SweepReport) {
        self.runs += next.runs;
        self.events += next.events;
        self.strikes += next.strikes;
        self.marks += next.marks;
        self.tested += next.tested;
        self.truncated += next.truncated;
        self.grants += next.grants;
        self.refusals += next.refusals;
        self.enqueued += next.enqueued;
        self.renewals += next.renewals;
        self.row_reads += next.row_reads;
        self.overtakes_max = self.overtakes_max.max(next.overtakes_max);
        let listed = self.broken.clone();
        let mut more: BTreeMap<Promise, u64> = BTreeMap::new();
        for found in next.violations {
            let promise = found.violation.promise;
            let more = more.entry(promise).or_default();
            *more += 1;
            if listed.get(&promise).unwrap_or(&0) + *more <= SweepReport::LISTED_MAX {
                self.violations.push(found);
            }
        }
        for (promise, times) in next.broken {
            *self.broken.entry(promise).or_default() += times;
        }
    }
}

struct Sweep<'a> {
    runner: Runners<'a>,
    /// The workload of the setup, which may vary.
    around: Workload,
    faults: FaultSet,
    seeds: Range<u64>,
    options: &'a SweepOptions<'a>,
    /// The next block that nobody has taken.
    next_block: AtomicU64,
    /// The first block in which something was found, if that is the end: none after it counts.
    last_block: AtomicU64,
    merged: Mutex<Merged>,
}

/// The reports so far: those of the first blocks in one, later ones by number until the gap is filled.
#[derive(Default)]
struct Merged {
    report: SweepReport,
    blocks: u64,
    early: BTreeMap<u64, SweepReport>,
}

impl Sweep<'_> {
    fn work(&self) {
        let mut run = (self.runner)();
        loop {
            let block = self.next_block.fetch_add(1, Ordering::Relaxed);
            let Some(seeds) = self.seeds_of(block) else { break };
            if self.options.stop.load(Ordering::Relaxed) || block > self.last_block.load(Ordering::Relaxed) {
                break;
            }
            let report = self.run_block(&mut run, seeds);
            if self.options.ends(&report) {
                self.last_block.fetch_min(block, Ordering::Relaxed);
            }
            (self.options.on_progress)(report.runs);
            self.merge(block, report);
        }
    }

    fn seeds_of(&self, block: u64) -> Option<Range<u64>> {
        // Blocks begin at the same seeds wherever the sweep begins.
        let first_block = self.seeds.start / BLOCK;
        let first = first_block.checked_add(block)?.checked_mul(BLOCK)?;
        let seeds = first.max(self.seeds.start)..first.saturating_add(BLOCK).min(self.seeds.end);
        (!seeds.is_empty()).then_some(seeds)
    }

    fn run_block(&self, run: &mut Runner, seeds: Range<u64>) -> SweepReport {
        let mut report = SweepReport::default();
        for seed in seeds {
            let scale = self.options.scale.of_seed(&self.around, seed);
            let plan = self.options.strategy.plan(self.faults, seed, &scale);
            let outcome = run(&plan, seed);
            report.add(seed, &outcome);
            if self.options.ends(&report) {
                break;
            }
        }
        report
    }

    fn merge(&self, block: u64, report: SweepReport) {
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        let Merged { report: whole, blocks, early } = &mut *merged;
        early.insert(block, report);
        while let Some(next) = early.remove(blocks) {
            // What a block after the last one found, because it was begun earlier, is left out.
            if !self.options.ends(whole) {
                if let (Some(on_merged), Some(seeds)) = (self.options.on_merged, self.seeds_of(*blocks)) {
                    on_merged(seeds.start + next.runs, next.clone());
                }
                whole.append(next);
                if self.options.ends(whole) {
                    self.last_block.fetch_min(*blocks, Ordering::Relaxed);
                }
            }
            *blocks += 1;
        }
    }

    fn finish(self) -> SweepReport {
        let merged = self.merged.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut report = merged.report;
        let asked = self.seeds.end.saturating_sub(self.seeds.start);
        report.stopped = report.runs < asked && !self.options.ends(&report);
        report
    }
}

#[cfg(test)]
mod tests;
