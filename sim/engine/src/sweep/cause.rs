//! Which known flaw a failing run shows: that whose repair alone keeps the run from failing.
//!
//! Two failures that break the same promise may have nothing else in common, and the name of a promise says nothing about the
//! cause. A repair does: where the same plan, in the same use, breaks the promise again and again under other luck with messages,
//! and never once the one repair is made, the flaw that it repairs is a cause of the failure. A run may have several, each
//! of which would have to be there.
//!
//! Luck is what makes this hard: a repaired client sends other messages, all that comes later comes at other times, and a failure that
//! hangs on a single millisecond goes away with any change. So a run is only told if it fails often enough without the repair, under
//! other seeds of its network, for its absence with the repair to mean something; one that does not is too delicate to be told.

use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::Plan;
use crate::plans::shrink::kinds::{kind, kinds};
use crate::plans::varied;
use crate::seeded::network::Network;
use crate::seeded::outcome::{Limits, Outcome};
use crate::seeded::run::Engine;
use crate::sweep::PlannedRun;
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_properties::Promise;

/// What a failing run is told to come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Each of these repairs, by its place among those asked about, prevents it. None, if it is none of them.
    Repairs(Vec<usize>),
    /// It hangs on so little that its absence would prove nothing.
    Delicate,
}

/// So many other seeds a failing plan is run under.
const NEIGHBOURS: u64 = 16;

/// It has to fail under so many of them.
const FAILING_MIN: usize = 3;

/// So many seeds a repaired setup has to get through, its own among them. What fails in 3 of 16 passes 48 by luck once in 20,000 times.
const REPAIRED: u64 = 48;

/// Runs a setup as it is, and with one repair or another.
pub struct Tell<'a, Y: System> {
    engine: Engine<Y>,
    flawed: &'a Setup<Y>,
    repaired: &'a [Setup<Y>],
}

impl<'a, Y: System> Tell<'a, Y> {
    /// Of runs of `flawed`, and of these repaired ones.
    pub fn new(flawed: &'a Setup<Y>, repaired: &'a [Setup<Y>]) -> Self {
        Tell { engine: Engine::new(), flawed, repaired }
    }
}

impl<Y: System> Telling for Tell<'_, Y> {
    fn again(&mut self, repair: Option<usize>, run: &PlannedRun, seed: u64) -> Outcome {
        let setup = repair.map_or(self.flawed, |repair| &self.repaired[repair]);
        let setup = varied::of_seed(setup, run.seed);
        self.engine.run(&setup, &run.plan, seed, &Limits::of(&setup), &mut ())
    }
}

/// Tells causes, whatever the lock.
pub trait Telling {
    /// The run's plan in the use that its seed draws, with a repair or without, under another seed.
    fn again(&mut self, repair: Option<usize>, run: &PlannedRun, seed: u64) -> Outcome;
}

impl dyn Telling + '_ {
    /// Runs the flawed setup.
    pub fn run(&mut self, run: &PlannedRun) -> Outcome {
        self.again(None, run, run.seed)
    }

    /// What this run comes from, which breaks this promise; `asked`: about which repairs.
    pub fn cause(&mut self, run: &PlannedRun, promise: Promise, asked: &[usize]) -> Cause {
        let prevents =
            |tell: &mut Self, repair: usize| !tell.again(Some(repair), run, run.seed).breaks(promise);
        let likely: Vec<usize> = asked.iter().copied().filter(|repair| prevents(self, *repair)).collect();
        if likely.is_empty() {
            return Cause::Repairs(Vec::new());
        }
        let fails = |tell: &mut Self, seed| tell.again(None, run, seed).breaks(promise);
        let failing = neighbours(run.seed, NEIGHBOURS).filter(|seed| fails(self, *seed)).count();
        if failing < FAILING_MIN {
            return Cause::Delicate;
        }
        Cause::Repairs(likely.into_iter().filter(|repair| self.holds(*repair, run, promise)).collect())
    }

    /// The kinds of faults without which the run, under its own seed, does not break the promise: taken away one after the other.
    pub fn needed(&mut self, run: &PlannedRun, promise: Promise) -> FaultSet {
        let mut left = run.clone();
        for kind in kinds(&run.plan).iter() {
            let less = PlannedRun { plan: without(&left.plan, kind), seed: run.seed };
            if self.run(&less).breaks(promise) {
                left = less;
            }
        }
        kinds(&left.plan)
    }

    /// Whether the repaired setup never breaks the promise, and could have.
    fn holds(&mut self, repair: usize, run: &PlannedRun, promise: Promise) -> bool {
        let mut tested = 0;
        for seed in neighbours(run.seed, REPAIRED) {
            let outcome = self.again(Some(repair), run, seed);
            if outcome.breaks(promise) || outcome.truncated {
                return false;
            }
            tested += u64::from(outcome.tested.contains(promise));
        }
        2 * tested >= REPAIRED
    }
}

/// Seeds far from all those that a search tries, different for each seed.
fn neighbours(seed: u64, count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(move |nth| seed ^ (nth << 48))
}

/// The plan without faults of this kind.
fn without(plan: &Plan, gone: FaultKind) -> Plan {
    let mut plan = plan.clone();
    plan.faults.retain(|planned| kind(&planned.fault) != gone);
    let (network, good) = (&mut plan.network, Network::default());
    match gone {
        FaultKind::Delay => {
            (network.latency_min, network.latency_max) = (good.latency_min, good.latency_max);
            (network.tail_per_mille, network.tail_max) = (0, good.tail_max);
        }
        FaultKind::Loss => (network.loss_per_mille, network.reply_loss_per_mille) = (0, 0),
        FaultKind::Duplicate => network.duplicate_per_mille = 0,
        FaultKind::Pause
        | FaultKind::Clock
        | FaultKind::Partition
        | FaultKind::Crash
        | FaultKind::PowerLoss
        | FaultKind::Suspend
        | FaultKind::CoarseClock
        | FaultKind::Resource
        | FaultKind::Reset
        | FaultKind::Replace => {}
    }
    plan
}
