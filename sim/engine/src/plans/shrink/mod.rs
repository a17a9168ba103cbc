//! Makes a failing run of the seeded engine small: takes away faults, clients, servers, rounds and time, one after the other,
//! for as long as the same promise breaks.
//!
//! ```text
//!   plan, setup, seed ──▶ a candidate with a little less ──▶ run it ──▶ breaks the same promise? keep it : put it back
//!          ▲                                                                                        │
//!          └───────────────────────── until nothing can go any more ◀─────────────────────────────────┘
//! ```
//!
//! What could go next is listed in `reductions`, for proptest's sake (picklock_sim's `strategies`) too. A candidate runs
//! under the seed that failed last and, because a run with less in it draws its latencies for other messages, under a few
//! more. What takes away nothing that one would count (a shorter pause, a trigger in place of a time) must not make
//! the run longer. When nothing can go any more, each fault is tried at other moments and for longer, and the run under other
//! seeds: what makes it shorter may let something else go.
//!
//! The cause should stay, too, as far as it can be told. The kinds of faults without which the run, under its own seed, does not
//! break the promise stay in every candidate; and so do the servers without which the lock would be another algorithm
//! ([`System::servers_min`]: three of Redlock, one of any other). What is left after all that may hang on one seed's luck with
//! all its messages: the same kinds of faults are sought anew in less work.
//!
//! What there is to take away looks alike for every lock: a `Candidate` is plain data. Only who runs it knows the lock
//! (`candidate::Runs`).
//!
//! Nothing is left to chance: the same run shrinks to the same run, on every machine. A counterexample of the exhaustive
//! engine needs none of this: the search is breadth first, and there is no shorter one.

mod again;
mod candidate;
mod changes;
pub(crate) mod kinds;
pub mod reductions;

use crate::plans::fault::FaultSet;
use crate::plans::plan::{Plan, Planned, Trigger};
pub(crate) use candidate::{Candidate, Scene};
use candidate::{Rerun, Runs};
use kinds::kinds;
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_properties::Promise;
use reductions::{Reduce, Reduction, Reductions, aims};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a run of the seeded engine depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial<Y: System> {
    /// Lock, store, workload, what is watched.
    pub setup: Setup<Y>,
    /// What goes wrong.
    pub plan: Plan,
    /// Decides what the plan leaves open.
    pub seed: u64,
}

/// What must not get lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShrinkGoal {
    /// The promise that stays broken.
    pub promise: Promise,
    /// Whether all servers stay; if not, [`System::servers_min`] do.
    pub keep_servers: bool,
}

/// A failing run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failing<Y: System> {
    /// The run; it watches the broken promise only.
    pub trial: Trial<Y>,
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
pub struct Shrunk<Y: System> {
    /// The smallest run that was found.
    pub run: Failing<Y>,
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
/// Under how many more seeds a run is tried with a better network, to see whether it needs the worse one.
const NETWORK_SEEDS: u64 = 8;
/// How often what became shorter is reduced again.
const AGAIN_MAX: u32 = 6;

/// Shrinks a run; `None` if it breaks no such promise. `stop` is looked at between runs, `on_run` told of each.
pub fn shrink<Y: System>(
    setup: &Setup<Y>,
    plan: &Plan,
    seed: u64,
    goal: ShrinkGoal,
    stop: &AtomicBool,
    on_run: &dyn Fn(u64),
) -> Option<Shrunk<Y>> {
    let ShrinkGoal { promise, keep_servers } = goal;
    let setup = Setup { promises: [promise].into_iter().collect(), ..setup.clone() };
    let mut scene = Scene::of(&setup);
    if keep_servers {
        scene.servers_min = scene.servers;
    }
    let run = Candidate { scene, plan: plan.clone(), seed };
    let mut runs_of = Runs::new(setup);
    let mut trials = Trials { promise, runs_of: &mut runs_of, runs: 0, stop, on_run };
    let from = trials.size(&run, u64::MAX)?;
    let best = Smallest { run, size: from };
    let mut shrinker = Shrinker { best, trials, needed: FaultSet::EMPTY };
    shrinker.shrink_to_what_is_needed();
    shrinker.shrink_what_is_found_again();
    let interrupted = shrinker.trials.is_stopped();
    let (Smallest { run: Candidate { scene, plan, seed }, size }, runs) =
        (shrinker.best, shrinker.trials.runs);
    let trial = Trial { setup: runs_of.setup(&scene), plan, seed };
    Some(Shrunk { run: Failing { trial, size }, from, runs, interrupted })
}

/// Runs candidates, and counts them.
struct Trials<'a> {
    promise: Promise,
    runs_of: &'a mut dyn Rerun,
    runs: u64,
    stop: &'a AtomicBool,
    on_run: &'a dyn Fn(u64),
}

impl Trials<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How much there is in a run if it breaks the promise within so many steps, or soon after them.
    fn size(&mut self, candidate: &Candidate, steps_max: u64) -> Option<Size> {
        self.runs += 1;
        (self.on_run)(self.runs);
        self.runs_of.size(candidate, self.promise, steps_max)
    }
}

/// The smallest run so far.
#[derive(Clone, PartialEq, Eq)]
struct Smallest {
    run: Candidate,
    size: Size,
}

struct Shrinker<'a> {
    best: Smallest,
    trials: Trials<'a>,
    /// The kinds of faults that stay.
    needed: FaultSet,
}

impl Shrinker<'_> {
    /// What a large run needs a small one may not: until it needs all that is left of it.
    fn shrink_to_what_is_needed(&mut self) {
        for _ in 0..=AGAIN_MAX {
            let before = self.best.clone();
            self.find_needed_kinds();
            self.shrink();
            if self.best == before {
                break;
            }
        }
    }

    /// The same in less work, made small likewise, until it is found no more. Nothing here asks how large the first run was:
    /// what is shrunk stays as it is when it is shrunk once more.
    fn shrink_what_is_found_again(&mut self) {
        for _ in 0..=AGAIN_MAX {
            let before = self.best.clone();
            if !self.find_again() {
                break;
            }
            self.shrink_to_what_is_needed();
            if self.best.size.faults > before.size.faults {
                self.best = before;
                break;
            }
        }
    }

    /// Until nothing can go any more.
    fn shrink(&mut self) {
        for _ in 0..=AGAIN_MAX {
            let before = self.best.clone();
            self.reduce();
            self.put_faults_elsewhere();
            self.try_other_seeds();
            if self.best == before {
                break;
            }
        }
    }

    /// Takes faults away under the run's own seed, as long as it breaks the promise: what is left then is of the kinds that
    /// caused it. Where the network is made better every message has other luck: for that a few more seeds are tried.
    fn find_needed_kinds(&mut self) {
        let mut trial = self.best.run.clone();
        let mut went = true;
        while std::mem::take(&mut went) {
            let mut all = trial.plan.reductions(&[]);
            all.sort_unstable();
            for reduction in all {
                let seeds = match reduction {
                    Reduction::Faults { .. } => 0,
                    Reduction::Network(_) => NETWORK_SEEDS,
                    _ => continue,
                };
                let Some(plan) = trial.plan.without(reduction, &[]) else { continue };
                let breaks = std::iter::once(trial.seed).chain(0..seeds).any(|seed| {
                    let fewer = Candidate { scene: trial.scene, plan: plan.clone(), seed };
                    !self.trials.is_stopped() && self.trials.size(&fewer, u64::MAX).is_some()
                });
                if breaks {
                    (trial.plan, went) = (plan, true);
                    break;
                }
            }
        }
        self.needed = kinds(&trial.plan);
    }

    /// At what faults can be aimed in the smallest run so far.
    fn aims(&mut self) -> Vec<Trigger> {
        aims(&self.trials.runs_of.scale(&self.best.run.scene))
    }

    /// Whether there can be such a run, with all in it that has to stay.
    fn allows(&self, trial: &Candidate) -> bool {
        let kinds = kinds(&trial.plan);
        self.trials.runs_of.can_be(&trial.scene) && self.needed.iter().all(|kind| kinds.contains(kind))
    }

    /// Takes away whatever can go.
    fn reduce(&mut self) {
        if self.trials.is_stopped() {
            return;
        }
        let mut reductions = Reductions::new(self.aims(), OTHER_SEEDS);
        while let Some((reduction, trial)) = reductions.next(&self.best.run) {
            if self.trials.is_stopped() {
                return;
            }
            if self.allows(&trial) && self.keep_if_failing(reduction, trial) {
                reductions.keep();
            }
        }
    }

    /// Keeps the candidate if it breaks the promise, and pays.
    fn keep_if_failing(&mut self, reduction: Reduction, trial: Candidate) -> bool {
        let steps_max = if reduction.is_tuning() { self.best.size.steps } else { u64::MAX };
        let size = self.trials.size(&trial, steps_max).filter(|size| size.steps <= steps_max);
        if let Some(size) = size {
            self.best = Smallest { run: trial, size };
        }
        size.is_some()
    }

    /// A fault at another moment may break it sooner, or alone.
    fn put_faults_elsewhere(&mut self) {
        if self.trials.is_stopped() || self.best.run.plan.faults.is_empty() {
            return;
        }
        let aims = self.aims();
        for (event, times) in aims.iter().flat_map(|event| ELSEWHERE_TIMES.map(|times| (*event, times))) {
            let mut place = 0;
            while let Some(planned) = self.best.run.plan.faults.get(place) {
                if let Some(moved) = changes::elsewhere(planned, event, times) {
                    self.keep_if_shorter_with(place, moved);
                }
                place += 1;
            }
        }
    }

    /// Tries this in place of that fault: alone, or else with the others.
    fn keep_if_shorter_with(&mut self, place: usize, moved: Planned) {
        let Candidate { scene, plan, .. } = self.best.run.clone();
        let mut others = plan.clone();
        others.faults[place] = moved.clone();
        let alone = (plan.faults.len() > 1).then(|| Plan { faults: vec![moved], ..plan });
        for plan in alone.into_iter().chain([others]) {
            for seed in std::iter::once(self.best.run.seed).chain(0..ELSEWHERE_SEEDS) {
                let trial = Candidate { scene, plan: plan.clone(), seed };
                if self.trials.is_stopped() || self.keep_if_less(trial) {
                    return;
                }
            }
        }
    }

    /// Keeps a run with fewer faults, or as many and fewer steps.
    fn keep_if_less(&mut self, trial: Candidate) -> bool {
        if !self.allows(&trial) {
            return false;
        }
        let best = self.best.size;
        let is_less = |size: &Size| (size.faults, size.steps) < (best.faults, best.steps);
        let size = self.trials.size(&trial, best.steps).filter(is_less);
        if let Some(size) = size {
            self.best = Smallest { run: trial, size };
        }
        size.is_some()
    }

    /// The same with another seed may break sooner.
    fn try_other_seeds(&mut self) {
        for seed in 0..LAST_SEEDS {
            if self.trials.is_stopped() {
                break;
            }
            self.keep_if_less(Candidate { seed, ..self.best.run.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reductions::Fewer;
    use super::*;
    use crate::plans::fault::FaultSet;
    use crate::plans::plan::{Fault, Target};
    use crate::plans::swarm::Scale;
    use crate::seeded::outcome::Limits;
    use crate::seeded::run::Engine;
    use crate::toy::{self, Key};
    use picklock_model::claims::dlm::queues_in_order;
    use picklock_model::locks::CassandraServed;
    use picklock_model::managed::Managed;
    use picklock_model::stores::dlm::recovery::Order;
    use picklock_model::time::Micros;
    use picklock_model::workload::Workload;

    const GOAL: ShrinkGoal = ShrinkGoal { promise: Promise::MutualExclusion, keep_servers: false };

    fn shrunk(setup: &Setup<Key>, plan: &Plan, seed: u64) -> Shrunk<Key> {
        shrink(setup, plan, seed, GOAL, &AtomicBool::new(false), &|_| {})
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
        // Most of the work was in its way, and most of the faults.
        assert!(size.faults < shrunk.from.faults && size.rounds < shrunk.from.rounds, "{size:?}\n{plan}");
        assert!(size.steps <= shrunk.from.steps / 2, "{shrunk:?}");
    }

    #[test]
    fn no_fault_is_left_without_which_the_run_breaks_the_promise_under_its_own_seed() {
        let (setup, plan, seed) = unlucky();
        let Trial { setup, plan, seed } = shrunk(&setup, &plan, seed).run.trial;
        // Under another seed one of the kinds may do alone: those that the large run needed stay nevertheless.
        let goes = |what: &Reduction| matches!(what, Reduction::Faults { .. } | Reduction::Network(_));
        let fewer = plan.reductions(&[]).into_iter().filter(goes).filter_map(|what| plan.without(what, &[]));
        for fewer in fewer {
            let outcome = Engine::new().run(&setup, &fewer, seed, &Limits::of(&setup), &mut ());
            assert!(!outcome.breaks(Promise::MutualExclusion), "{fewer}\nis left of\n{plan}");
        }
    }

    #[test]
    fn a_lock_that_is_told_how_many_use_it_hears_that_there_are_fewer() {
        let workload = Workload { clients: 3, attendants: 2, ..Workload::default() };
        let lock = CassandraServed::settings_for(&Default::default(), workload.clients);
        let setup: Setup<CassandraServed> = Setup { lock, workload, ..Setup::default() };
        let trial = Trial { setup, plan: Plan::default(), seed: 0 };
        let fewer = trial.without(Reduction::Clients(Fewer::Next), &[]).expect("three can become two");
        assert_eq!((fewer.setup.workload.clients, fewer.setup.lock.threads), (2, 2));
    }

    #[test]
    fn a_store_that_is_told_how_many_use_it_hears_that_there_are_fewer() {
        let setup = Setup { store: queues_in_order(Order::AsTheyStand, 3), ..Setup::<Managed>::default() };
        let setup = setup.with_workload(Workload { clients: 3, ..setup.workload });
        let trial = Trial { setup, plan: Plan::default(), seed: 0 };
        let fewer = trial.without(Reduction::Clients(Fewer::Next), &[]).expect("three can become two");
        assert_eq!(
            (fewer.setup.workload.clients, fewer.setup.store),
            (2, queues_in_order(Order::AsTheyStand, 2))
        );
    }

    #[test]
    fn servers_go_unless_all_of_them_shall_stay() {
        let (setup, plan, seed) = unlucky();
        let five = Setup { servers: 5, ..setup };
        let servers = |keep_servers| {
            let goal = ShrinkGoal { keep_servers, ..GOAL };
            let shrunk = shrink(&five, &plan, seed, goal, &AtomicBool::new(false), &|_| {});
            shrunk.map(|shrunk| shrunk.run.trial.setup.servers)
        };
        assert_eq!((servers(false), servers(true)), (Some(1), Some(5)));
    }

    #[test]
    fn the_kinds_of_faults_that_a_run_needs_are_in_what_becomes_of_it() {
        // Both the pause and the power loss break it, each alone: first the power loss, for the pause comes too late.
        let setup = toy::leased_setup();
        let at = |at, fault| Planned { when: crate::plans::plan::When::At(Micros::millis(at)), fault };
        let lost = Fault::PowerLoss { node: Target::Server(0), restart_after: Some(Micros::ZERO) };
        let paused = Fault::Pause { node: Target::Client(0), length: Micros::seconds(3) };
        let breaks = |faults: &[Planned]| {
            let plan = Plan { faults: faults.to_vec(), heal_at: Micros::seconds(9), ..Plan::default() };
            let run = Engine::new().run(&setup, &plan, 1, &Limits::of(&setup), &mut ());
            run.breaks(Promise::MutualExclusion).then_some(plan)
        };
        let mut moments = (0..400).map(|at_millis| at(at_millis, lost.clone()));
        let lost = moments.find(|lost| breaks(std::slice::from_ref(lost)).is_some()).expect("somebody holds");
        let plan = breaks(&[lost, at(90_000, paused)]).expect("the first of them breaks it");
        let left = shrunk(&setup, &plan, 1).run.trial.plan;
        assert_eq!(kinds(&left), crate::plans::fault::FaultKind::PowerLoss.into(), "{left}");
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
        let nothing = shrink(&toy::setup(), &Plan::default(), 0, GOAL, &AtomicBool::new(false), &|_| {});
        assert!(nothing.is_none());
    }

    #[test]
    fn who_stops_it_has_the_smallest_run_so_far() {
        let (setup, plan, seed) = unlucky();
        let stopped = shrink(&setup, &plan, seed, GOAL, &AtomicBool::new(true), &|_| {}).unwrap();
        assert!(stopped.interrupted);
        assert_eq!((stopped.run.trial.plan, stopped.runs), (plan, 1));
    }
}
