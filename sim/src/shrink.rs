//! Makes a failing run of the seeded engine small: takes away faults, clients, servers, rounds and time, one after the other,
//! for as long as the same promise breaks.
//!
//! ```text
//!   plan, setup, seed ──▶ a candidate with a little less ──▶ run it ──▶ breaks the same promise? keep it : put it back
//!          ▲                                                                                        │
//!          └───────────────────────── until nothing can go any more ◀─────────────────────────────────┘
//! ```
//!
//! A candidate runs under the seed that failed last and, because a run with less in it draws its latencies for other messages,
//! under a few more. Nothing is left to chance: the same run shrinks to the same run, on every machine. A counterexample of
//! the exhaustive engine needs none of this: the search is breadth first, and there is no shorter one.

use crate::network::Network;
use crate::outcome::Limits;
use crate::plan::{Fault, Plan, When};
use crate::run::Engine;
use picklock_model::cluster::Setup;
use picklock_model::machine::Lock;
use picklock_model::time::Micros;
use picklock_model::trace::{Observer, Step};
use picklock_properties::Promise;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// A failing run: what it depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failing<L: Lock> {
    /// Lock, store, workload; watches the broken promise only.
    pub setup: Setup<L>,
    /// What goes wrong.
    pub plan: Plan,
    /// Decides what the plan leaves open.
    pub seed: u64,
    /// How much there is in it.
    pub size: Size,
}

/// How much there is in a failing run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Size {
    /// Planned faults, and one for each way in which the network is worse than on a good day.
    pub faults: usize,
    /// Clients.
    pub clients: u8,
    /// Servers.
    pub servers: u8,
    /// How often each client asks.
    pub rounds: u8,
    /// Steps up to the one that breaks the promise; of a promise of progress, all.
    pub steps: u64,
}

/// What shrinking came to.
#[derive(Clone, Debug)]
pub struct Shrunk<L: Lock> {
    /// The smallest run that was found.
    pub run: Failing<L>,
    /// How large the first one was.
    pub from: Size,
    /// How many runs it took.
    pub runs: u64,
    /// Whether it was stopped before nothing could go any more.
    pub interrupted: bool,
}

/// How many seeds beside the last failing one a candidate is run under.
const OTHER_SEEDS: u64 = 24;
/// Under how many seeds the smallest run is looked for the one with the fewest steps.
const LAST_SEEDS: u64 = 64;
/// A length is not halved below this.
const SHORTEST: Micros = Micros::millis(1);

/// Shrinks a run; `None` if it breaks no such promise. `stop` is looked at between runs, `on_run` told of each.
pub fn shrink<L: Lock>(
    setup: &Setup<L>,
    plan: &Plan,
    seed: u64,
    promise: Promise,
    stop: &AtomicBool,
    on_run: &dyn Fn(u64),
) -> Option<Shrunk<L>> {
    let setup = Setup { promises: [promise].into_iter().collect(), ..setup.clone() };
    let mut trials = Trials { promise, engine: Engine::new(), runs: 0, stop, on_run };
    let steps = trials.steps(&setup, plan, seed)?;
    let size = size(&setup, plan, steps);
    let mut shrinker = Shrinker { best: Failing { setup, plan: plan.clone(), seed, size }, trials };
    while shrinker.pass() && !shrinker.trials.is_stopped() {}
    shrinker.fewest_steps();
    let interrupted = shrinker.trials.is_stopped();
    Some(Shrunk { run: shrinker.best, from: size, runs: shrinker.trials.runs, interrupted })
}

fn size<L: Lock>(setup: &Setup<L>, plan: &Plan, steps: u64) -> Size {
    let good = Network::default();
    let network = &plan.network;
    let worse = [
        (network.latency_min, network.latency_max) != (good.latency_min, good.latency_max),
        network.tail_per_mille > 0,
        network.loss_per_mille > 0,
        network.duplicate_per_mille > 0,
        network.reply_loss_per_mille > 0,
    ];
    Size {
        faults: plan.faults.len() + worse.into_iter().filter(|worse| *worse).count(),
        clients: setup.workload.clients,
        servers: setup.servers,
        rounds: setup.workload.rounds,
        steps,
    }
}

/// Runs candidates.
struct Trials<'a, L: Lock> {
    promise: Promise,
    engine: Engine<L>,
    runs: u64,
    stop: &'a AtomicBool,
    on_run: &'a dyn Fn(u64),
}

impl<L: Lock> Trials<'_, L> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// In how many steps this breaks the promise, if it does.
    fn steps(&mut self, setup: &Setup<L>, plan: &Plan, seed: u64) -> Option<u64> {
        self.runs += 1;
        (self.on_run)(self.runs);
        let mut until = Until { promise: self.promise, steps: 0, at: None };
        let outcome = self.engine.run(setup, plan, seed, &Limits::of(setup), &mut until);
        // Promises of progress are broken by what does not happen: in no step, but in the end.
        outcome.breaks(self.promise).then(|| until.at.unwrap_or(until.steps))
    }
}

/// Counts steps up to the one that breaks the promise.
struct Until {
    promise: Promise,
    steps: u64,
    at: Option<u64>,
}

impl<L: Lock> Observer<L> for Until {
    fn observe(&mut self, step: &Step<L>) {
        self.steps += 1;
        let breaks = step.violations.iter().any(|violation| violation.promise == self.promise);
        if breaks && self.at.is_none() {
            self.at = Some(self.steps);
        }
    }
}

struct Shrinker<'a, L: Lock> {
    best: Failing<L>,
    trials: Trials<'a, L>,
}

impl<L: Lock> Shrinker<'_, L> {
    /// Tries everything once; whether anything could go.
    fn pass(&mut self) -> bool {
        let mut went = self.without_faults();
        went |= self.with_a_better_network();
        went |= self.with_less_work();
        went |= self.with_shorter_faults();
        went
    }

    /// Keeps the candidate if it breaks the promise under some seed.
    fn keep_if_failing(&mut self, setup: Setup<L>, plan: Plan) -> bool {
        if (&setup, &plan) == (&self.best.setup, &self.best.plan) || setup.check().is_err() {
            return false;
        }
        let others = (0..OTHER_SEEDS).filter(|seed| *seed != self.best.seed);
        for seed in std::iter::once(self.best.seed).chain(others) {
            if self.trials.is_stopped() {
                return false;
            }
            if let Some(steps) = self.trials.steps(&setup, &plan, seed) {
                let size = size(&setup, &plan, steps);
                self.best = Failing { setup, plan, seed, size };
                return true;
            }
        }
        false
    }

    /// Takes away faults: half of them at once if that works, then ever fewer.
    fn without_faults(&mut self) -> bool {
        let mut went = false;
        let mut chunk = self.best.plan.faults.len();
        while chunk > 0 {
            let mut start = 0;
            while start < self.best.plan.faults.len() {
                let mut plan = self.best.plan.clone();
                plan.faults.drain(start..(start + chunk).min(plan.faults.len()));
                match self.keep_if_failing(self.best.setup.clone(), plan) {
                    true => went = true,
                    false => start += chunk,
                }
            }
            chunk /= 2;
        }
        went
    }

    fn with_a_better_network(&mut self) -> bool {
        let good = Network::default();
        let improvements: [fn(&mut Network, Network); 6] = [
            |network, good| *network = good,
            |network, good| (network.latency_min, network.latency_max) = (good.latency_min, good.latency_max),
            |network, _| (network.tail_per_mille, network.tail_max) = (0, Micros::ZERO),
            |network, _| network.loss_per_mille = 0,
            |network, _| network.duplicate_per_mille = 0,
            |network, _| network.reply_loss_per_mille = 0,
        ];
        improvements.into_iter().fold(false, |went, improve| {
            let mut plan = self.best.plan.clone();
            improve(&mut plan.network, good);
            self.keep_if_failing(self.best.setup.clone(), plan) || went
        })
    }

    /// Fewer clients, servers and rounds.
    fn with_less_work(&mut self) -> bool {
        let mut went = false;
        let reductions: [fn(&mut Setup<L>); 5] = [
            |setup| setup.workload.rounds = 1,
            |setup| setup.workload.rounds = setup.workload.rounds.saturating_sub(1).max(1),
            |setup| setup.workload.clients = setup.workload.clients.saturating_sub(1).max(1),
            // Quorums of odd numbers.
            |setup| setup.servers = setup.servers.saturating_sub(2).max(1),
            |setup| setup.workload.locks = 1,
        ];
        for reduce in reductions {
            loop {
                let mut setup = self.best.setup.clone();
                reduce(&mut setup);
                if !self.keep_if_failing(setup, self.best.plan.clone()) {
                    break;
                }
                went = true;
            }
        }
        went
    }

    /// Halves what lasts, and strikes at once.
    fn with_shorter_faults(&mut self) -> bool {
        let mut went = false;
        for place in 0..self.best.plan.faults.len() {
            loop {
                let mut plan = self.best.plan.clone();
                if !shorten(&mut plan.faults[place].fault)
                    || !self.keep_if_failing(self.best.setup.clone(), plan)
                {
                    break;
                }
                went = true;
            }
            let mut plan = self.best.plan.clone();
            if let When::Trigger { delay, .. } = &mut plan.faults[place].when {
                *delay = Micros::ZERO;
                went |= self.keep_if_failing(self.best.setup.clone(), plan);
            }
        }
        went
    }

    /// The same with another seed may break sooner.
    fn fewest_steps(&mut self) {
        for seed in 0..LAST_SEEDS {
            if self.trials.is_stopped() {
                return;
            }
            let steps = self.trials.steps(&self.best.setup, &self.best.plan, seed);
            if let Some(steps) = steps.filter(|steps| *steps < self.best.size.steps) {
                self.best.seed = seed;
                self.best.size.steps = steps;
            }
        }
    }
}

/// Halves the fault's length or strength; whether there was anything to halve.
fn shorten(fault: &mut Fault) -> bool {
    let half = |length: &mut Micros| {
        let is_long = length.0.abs() >= 2 * SHORTEST.0;
        if is_long {
            length.0 /= 2;
        }
        is_long
    };
    match fault {
        Fault::Pause { length, .. }
        | Fault::Freeze { length, .. }
        | Fault::Cut { length, .. }
        | Fault::Isolate { length, .. } => half(length),
        Fault::Crash { restart_after: Some(length), .. }
        | Fault::PowerLoss { restart_after: Some(length), .. } => half(length),
        Fault::ClockStep { by, .. } => half(by),
        Fault::Strobe { times, .. } if *times > 1 => {
            *times /= 2;
            true
        }
        Fault::SlowLink { extra, length, .. } => half(length) | half(extra),
        Fault::LoseNext { count, .. } if *count > 1 => {
            *count /= 2;
            true
        }
        Fault::Drift { .. }
        | Fault::Crash { restart_after: None, .. }
        | Fault::PowerLoss { restart_after: None, .. }
        | Fault::Strobe { .. }
        | Fault::LoseNext { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultSet;
    use crate::plan::{Planned, Target};
    use crate::swarm::Scale;
    use crate::toy::{self, Key};

    fn shrunk(setup: &Setup<Key>, plan: &Plan, seed: u64) -> Shrunk<Key> {
        shrink(setup, plan, seed, Promise::MutualExclusion, &AtomicBool::new(false), &|_| {})
            .expect("the run breaks mutual exclusion")
    }

    /// A key that is lent for a second, and every kind of fault: the first seed that breaks it.
    fn unlucky() -> (Setup<Key>, Plan, u64) {
        let setup = toy::leased_setup();
        let scale = Scale::of(&setup);
        let mut engine = Engine::new();
        let breaks = |seed: &u64| {
            let plan = Plan::random(FaultSet::ALL, *seed, &scale);
            let outcome = engine.run(&setup, &plan, *seed, &Limits::of(&setup), &mut ());
            outcome.breaks(Promise::MutualExclusion) && plan.faults.len() > 3
        };
        let seed = (0..2_000).find(breaks).expect("some seed breaks a lease");
        (setup.clone(), Plan::random(FaultSet::ALL, seed, &scale), seed)
    }

    #[test]
    fn a_shrunk_run_breaks_the_same_promise_with_less_in_it() {
        let (setup, plan, seed) = unlucky();
        let shrunk = shrunk(&setup, &plan, seed);
        let Failing { setup, plan, seed, size } = &shrunk.run;
        let outcome = Engine::new().run(setup, plan, *seed, &Limits::of(setup), &mut ());
        assert!(outcome.breaks(Promise::MutualExclusion), "{plan}");
        // One fault is enough, and most of the work was in its way.
        assert!(size.faults == 1 && size.rounds < shrunk.from.rounds, "{size:?}\n{plan}");
        assert!(size.faults < shrunk.from.faults && size.steps <= shrunk.from.steps / 2, "{shrunk:?}");
    }

    #[test]
    fn shrinking_is_deterministic_and_what_is_shrunk_stays_as_it_is() {
        let (setup, plan, seed) = unlucky();
        let first = shrunk(&setup, &plan, seed);
        assert_eq!(first.run, shrunk(&setup, &plan, seed).run);
        let Failing { setup, plan, seed, size } = first.run.clone();
        let again = shrunk(&setup, &plan, seed);
        assert_eq!((again.run.plan, again.run.size.faults, again.from), (plan, size.faults, size));
    }

    #[test]
    fn a_run_that_breaks_nothing_is_not_shrunk() {
        let nothing = shrink(
            &toy::setup(),
            &Plan::default(),
            0,
            Promise::MutualExclusion,
            &AtomicBool::new(false),
            &|_| {},
        );
        assert!(nothing.is_none());
    }

    #[test]
    fn who_stops_it_has_the_smallest_run_so_far() {
        let (setup, plan, seed) = unlucky();
        let stopped =
            shrink(&setup, &plan, seed, Promise::MutualExclusion, &AtomicBool::new(true), &|_| {}).unwrap();
        assert!(stopped.interrupted);
        assert_eq!((stopped.run.plan, stopped.runs), (plan, 1));
    }

    #[test]
    fn every_fault_that_lasts_can_be_shortened_until_it_hardly_lasts() {
        let node = Target::Client(0);
        for mut fault in [
            Fault::Pause { node, length: Micros::seconds(40) },
            Fault::ClockStep { node, by: Micros::seconds(-40) },
            Fault::Strobe { node, by: Micros::seconds(1), period: Micros::seconds(1), times: 9 },
        ] {
            let mut times = 0;
            while shorten(&mut fault) {
                times += 1;
                assert!(times < 64, "{fault:?} never ends");
            }
            assert!(times > 0);
        }
        let planned = Planned { when: When::At(Micros::ZERO), fault: Fault::Drift { node, ppm: 5 } };
        assert!(!shorten(&mut planned.fault.clone()));
    }
}
