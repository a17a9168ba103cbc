//! Makes a failing run of the seeded engine small: takes away faults, clients, servers, rounds and time, one after the other,
//! for as long as the same promise breaks.
//!
//! ```text
//!   plan, setup, seed ──▶ a candidate with a little less ──▶ run it ──▶ breaks the same promise? keep it : put it back
//!          ▲                                                                                        │
//!          └───────────────────────── until nothing can go any more ◀─────────────────────────────────┘
//! ```
//!
//! What could go next is listed in `reductions`, for proptest's sake ([`strategies`](crate::strategies)) too. A candidate runs
//! under the seed that failed last and, because a run with less in it draws its latencies for other messages, under a few
//! more. What takes away nothing that one would count (a shorter pause, a trigger in place of a time) must not make
//! the run longer. When nothing can go any more, each fault is tried at other moments and for longer, and the run under other
//! seeds: what makes it shorter may let something else go.
//!
//! Nothing is left to chance: the same run shrinks to the same run, on every machine. A counterexample of the exhaustive
//! engine needs none of this: the search is breadth first, and there is no shorter one.

mod changes;
pub(crate) mod reductions;

use crate::network::Network;
use crate::outcome::Limits;
use crate::plan::{Plan, Planned};
use crate::run::Engine;
use crate::schedule::Schedule;
use crate::swarm::Scale;
use picklock_model::cluster::Setup;
use picklock_model::machine::Lock;
use picklock_model::trace::{Happening, Observer, Step};
use picklock_properties::Promise;
use reductions::{Reduction, Reductions};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a run of the seeded engine depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial<L: Lock> {
    /// Lock, store, workload, what is watched.
    pub setup: Setup<L>,
    /// What goes wrong.
    pub plan: Plan,
    /// Decides what the plan leaves open.
    pub seed: u64,
}

/// A failing run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failing<L: Lock> {
    /// The run; it watches the broken promise only.
    pub trial: Trial<L>,
    /// How much there is in it.
    pub size: Size,
}

/// How much there is in a failing run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Size {
    /// Planned faults, one for each way in which the network is worse than on a good day, and one for messages that travel
    /// by rank.
    pub faults: u32,
    /// Clients.
    pub clients: u8,
    /// Servers.
    pub servers: u8,
    /// How often each client asks.
    pub rounds: u8,
    /// Steps up to the one that breaks the promise; of a promise of progress, all.
    pub steps: u64,
    /// Those among them in which a node is entered: by a message, a deadline, or a start after a crash. The others tell of
    /// faults, and of messages on their way.
    pub entries: u64,
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
const LAST_SEEDS: u64 = 256;
/// Under how many seeds a fault is tried elsewhere.
const ELSEWHERE_SEEDS: u64 = 8;
/// How many times as long it is there.
const ELSEWHERE_TIMES: [i64; 3] = [1, 2, 4];
/// How often what became shorter is reduced again.
const AGAIN_MAX: u32 = 6;

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
    let trial = Trial { setup, plan: plan.clone(), seed };
    let mut trials = Trials { promise, engine: Engine::new(), runs: 0, stop, on_run };
    let from = trials.size(&trial, u64::MAX)?;
    let mut shrinker = Shrinker { best: Failing { trial, size: from }, trials };
    for _ in 0..=AGAIN_MAX {
        let before = shrinker.best.clone();
        shrinker.reduce();
        shrinker.put_faults_elsewhere();
        shrinker.try_other_seeds();
        if shrinker.best == before {
            break;
        }
    }
    let interrupted = shrinker.trials.is_stopped();
    Some(Shrunk { run: shrinker.best, from, runs: shrinker.trials.runs, interrupted })
}

impl Size {
    fn of<L: Lock>(trial: &Trial<L>, until: &Until) -> Size {
        let good = Network::default();
        let network = &trial.plan.network;
        let worse = [
            network.latency_max > good.latency_max,
            network.tail_per_mille > 0,
            network.loss_per_mille > 0,
            network.duplicate_per_mille > 0,
            network.reply_loss_per_mille > 0,
            trial.plan.schedule != Schedule::Uniform,
        ];
        let (steps, entries) = until.at.unwrap_or((until.steps, until.entries));
        Size {
            faults: (trial.plan.faults.len() + worse.into_iter().filter(|worse| *worse).count()) as u32,
            clients: trial.setup.workload.clients,
            servers: trial.setup.servers,
            rounds: trial.setup.workload.rounds,
            steps,
            entries,
        }
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

    /// How much there is in a run if it breaks the promise within so many steps, or soon after them.
    fn size(&mut self, trial: &Trial<L>, steps_max: u64) -> Option<Size> {
        self.runs += 1;
        (self.on_run)(self.runs);
        let mut until = Until { promise: self.promise, steps: 0, entries: 0, at: None };
        let mut limits = Limits::of(&trial.setup);
        // Not every event is a step, but most are: what takes twice as many takes longer.
        limits.events_max = limits.events_max.min(steps_max.saturating_mul(2).saturating_add(64));
        let Trial { setup, plan, seed } = trial;
        let outcome = self.engine.run(setup, plan, *seed, &limits, &mut until);
        // Promises of progress are broken by what does not happen: in no step, but in the end.
        outcome.breaks(self.promise).then(|| Size::of(trial, &until))
    }
}

/// Counts steps up to the one that breaks the promise.
struct Until {
    promise: Promise,
    steps: u64,
    entries: u64,
    /// Steps and entries up to that one.
    at: Option<(u64, u64)>,
}

impl<L: Lock> Observer<L> for Until {
    fn observe(&mut self, step: &Step<L>) {
        self.steps += 1;
        self.entries += u64::from(is_entered(step.happening));
        let breaks = step.violations.iter().any(|violation| violation.promise == self.promise);
        if breaks && self.at.is_none() {
            self.at = Some((self.steps, self.entries));
        }
    }
}

/// Whether a node did something, and not something to a node.
fn is_entered<S: picklock_model::machine::Store>(happening: &Happening<S>) -> bool {
    match happening {
        Happening::Delivered { .. } | Happening::Woke { .. } | Happening::Restarted { .. } => true,
        Happening::Lost { .. }
        | Happening::Duplicated { .. }
        | Happening::Ticked
        | Happening::TickedUnevenly { .. }
        | Happening::Paused { .. }
        | Happening::Resumed { .. }
        | Happening::Crashed { .. }
        | Happening::ClockStepped { .. }
        | Happening::ClockDrifts { .. }
        | Happening::ClockFroze { .. }
        | Happening::ClockThawed { .. }
        | Happening::LinkCut { .. }
        | Happening::LinkMended { .. }
        | Happening::Healed => false,
    }
}

struct Shrinker<'a, L: Lock> {
    best: Failing<L>,
    trials: Trials<'a, L>,
}

impl<L: Lock> Shrinker<'_, L> {
    /// Takes away whatever can go.
    fn reduce(&mut self) {
        if self.trials.is_stopped() {
            return;
        }
        let mut reductions = Reductions::of(&self.best.trial.setup, OTHER_SEEDS);
        while let Some((reduction, trial)) = reductions.next(&self.best.trial) {
            if self.trials.is_stopped() {
                return;
            }
            if self.keep_if_failing(reduction, trial) {
                reductions.keep();
            }
        }
    }

    /// Keeps the candidate if it breaks the promise, and pays.
    fn keep_if_failing(&mut self, reduction: Reduction, trial: Trial<L>) -> bool {
        let steps_max = if reduction.is_tuning() { self.best.size.steps } else { u64::MAX };
        let size = self.trials.size(&trial, steps_max).filter(|size| size.steps <= steps_max);
        if let Some(size) = size {
            self.best = Failing { trial, size };
        }
        size.is_some()
    }

    /// A fault at another moment may break it sooner, or alone.
    fn put_faults_elsewhere(&mut self) {
        if self.trials.is_stopped() || self.best.trial.plan.faults.is_empty() {
            return;
        }
        let aims = reductions::aims(&Scale::of(&self.best.trial.setup));
        for (event, times) in aims.iter().flat_map(|event| ELSEWHERE_TIMES.map(|times| (*event, times))) {
            let mut place = 0;
            while let Some(planned) = self.best.trial.plan.faults.get(place) {
                if let Some(moved) = changes::elsewhere(planned, event, times) {
                    self.keep_if_shorter_with(place, moved);
                }
                place += 1;
            }
        }
    }

    /// Tries this in place of that fault: alone, or else with the others.
    fn keep_if_shorter_with(&mut self, place: usize, moved: Planned) {
        let Trial { setup, plan, .. } = self.best.trial.clone();
        let mut others = plan.clone();
        others.faults[place] = moved.clone();
        let alone = (plan.faults.len() > 1).then(|| Plan { faults: vec![moved], ..plan });
        for plan in alone.into_iter().chain([others]) {
            for seed in std::iter::once(self.best.trial.seed).chain(0..ELSEWHERE_SEEDS) {
                let trial = Trial { setup: setup.clone(), plan: plan.clone(), seed };
                if self.trials.is_stopped() || self.keep_if_less(trial) {
                    return;
                }
            }
        }
    }

    /// Keeps a run with fewer faults, or as many and fewer steps.
    fn keep_if_less(&mut self, trial: Trial<L>) -> bool {
        let best = self.best.size;
        let is_less = |size: &Size| (size.faults, size.steps) < (best.faults, best.steps);
        let size = self.trials.size(&trial, best.steps).filter(is_less);
        if let Some(size) = size {
            self.best = Failing { trial, size };
        }
        size.is_some()
    }

    /// The same with another seed may break sooner.
    fn try_other_seeds(&mut self) {
        for seed in 0..LAST_SEEDS {
            if self.trials.is_stopped() {
                break;
            }
            self.keep_if_less(Trial { seed, ..self.best.trial.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultSet;
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
        let Failing { trial: Trial { setup, plan, seed }, size } = &shrunk.run;
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
        let Failing { trial: Trial { setup, plan, seed }, size } = first.run.clone();
        let again = shrunk(&setup, &plan, seed);
        assert_eq!((again.run.trial.plan, again.run.size.faults, again.from), (plan, size.faults, size));
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
        assert_eq!((stopped.run.trial.plan, stopped.runs), (plan, 1));
    }
}
