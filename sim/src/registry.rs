//! The locks there are, by name, with everything that the command does with a lock.
//!
//! A lock's type is known to `Registered` only; the command, the claims and the tokens know its name, and its setup as
//! bytes. Registering a lock is one entry in [`locks`]; nothing else here, and no engine, knows any lock.

mod cassandra;
mod etcd;
mod feedback;
mod objects;
mod redis;
mod replayed;
mod surroundings;
mod tokens;
mod zookeeper;

pub use replayed::{Broken, Replay};
pub use surroundings::Surroundings;
#[cfg(feature = "strategies")]
pub(crate) use tokens::unregistered_token;

use crate::plans::fault::FaultSet;
use crate::plans::plan::Plan;
use crate::plans::shrink::{Failing, ShrinkGoal, Size, Trial, shrink};
use crate::plans::strategy::Strategy;
use crate::plans::swarm::Scale;
use crate::plans::varied;
use crate::report::{Both, Heading, JsonEvents, Post, TextOptions, TextTrace, TimeColumn, TraceHash};
use crate::seeded::outcome::{Limits as RunLimits, Outcome};
use crate::seeded::run::Engine;
use crate::sweep::{OnMerged, PlannedRun, SweepError, SweepOptions, SweepReport, sweep};
use crate::token::{Body, Mark, Token};
use picklock_model::claims::{
    Assumption, BadSetup, Expected, Judgement, NamedSpace, Widened, Widening, pack_setup, unpack_setup,
};
use picklock_model::cluster::Setup;
use picklock_model::explore::{
    Exploration, Goal, Limits, NoSuchPath, Space, Verdict, check_liveness, search, serve_explorer,
};
use picklock_model::machine::Node;
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::trace::{Observer, Step};
use picklock_model::workload::{Calls, Workload, Writes};
use picklock_model::world::{Bounds, TICK};
use picklock_properties::{ClientId, LockId, Promise, PromiseSet, Violation};
use serde::Serialize;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// The locks that a command knows: those of this crate, others, or both.
///
/// ```
/// use picklock_sim::registry::Locks;
///
/// let names: Vec<&str> = Locks::builtin().iter().map(|lock| lock.name()).collect();
/// assert_eq!(names[0], "cassandra-queue");
/// ```
pub struct Locks(Vec<Box<dyn AnyLock>>);

impl Locks {
    /// Those of this crate, in the order of the tables.
    pub fn builtin() -> Locks {
        Locks(locks())
    }

    /// None: for a command that knows the locks of others only.
    pub fn none() -> Locks {
        Locks(Vec::new())
    }

    /// One more, after the others. A lock of the same name, whose tokens it would read, makes way.
    #[must_use]
    pub fn and<Y: System>(mut self, lock: Registered<Y>) -> Locks {
        self.0.retain(|known| known.name() != lock.name);
        self.0.push(Box::new(lock));
        self
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&dyn AnyLock> {
        self.iter().find(|lock| lock.name() == name)
    }

    /// All, in the order of the tables.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AnyLock> {
        self.0.iter().map(AsRef::as_ref)
    }
}

/// All locks of this crate, in the order of the tables.
pub fn locks() -> Vec<Box<dyn AnyLock>> {
    let mut locks = cassandra::locks();
    locks.extend(redis::locks());
    locks.extend(zookeeper::locks());
    locks.extend(etcd::locks());
    locks.extend(etcd::locks_on_three());
    locks.push(feedback::lock());
    locks.push(cassandra::row_probe());
    locks.push(zookeeper::znode_probe());
    locks.extend(objects::objects());
    locks
}

/// What `picklock check` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckOptions {
    /// How many clients, 1 to 8.
    pub clients: u8,
    /// How many servers, 1 to 5.
    pub servers: u8,
    /// How often each client asks for the lock.
    pub rounds: u8,
    /// They call `try_lock`, not `lock`.
    pub try_lock: bool,
    /// Which assumptions do not hold.
    pub drop: Vec<Assumption>,
    /// What is watched; empty: mutual exclusion.
    pub promises: PromiseSet,
}

impl CheckOptions {
    /// The space that these options ask for, of a lock in this setup: its clients ask as often as they should, when they
    /// like, and hold for as long as they like. Time passes if the lock has a lease ([`System::lease_of`]), or an
    /// assumption about time is dropped; else every deadline may come at any moment, which covers every speed of
    /// everybody. All assumptions hold but those that are dropped; a few, which only a lock or its store can
    /// drop ([`Bounds::drop_assumption`] says which), stay.
    ///
    /// Durations in the setup should be a few seconds at most: time is counted in ticks of one, and every tick costs states.
    pub fn space_of<Y: System>(&self, setup: Setup<Y>) -> Space<Y> {
        let lease_ticks = Y::lease_of(&setup.lock).map(|lease| (lease.0 / TICK.0).clamp(1, 100) as u8);
        let lasts = lease_ticks.unwrap_or(1) + 1;
        let mut bounds =
            Bounds { latency_ticks: lease_ticks.map(|_| 0), unhurried: true, ..Bounds::default() };
        self.drop.iter().for_each(|assumption| bounds.drop_assumption(*assumption, lasts));
        let promises = match self.promises.is_empty() {
            true => [Promise::MutualExclusion].into_iter().collect(),
            false => self.promises,
        };
        let calls = if self.try_lock { Calls::TryLock } else { Calls::Lock };
        let writes = Writes::judged_by(promises);
        let work_fits = setup.workload.work_fits && !self.drop.contains(&Assumption::StopsInTime);
        let workload = Workload {
            clients: self.clients,
            rounds: self.rounds,
            calls,
            think: Micros::ZERO,
            hold: TICK,
            writes,
            work_fits,
            ..setup.workload
        };
        let space = Space { setup: Setup { servers: self.servers, workload, promises, ..setup }, bounds };
        if work_fits { space } else { with_holds_of_any_length(space) }
    }
}

/// The space with holds of every length: a short one ends while a lease lasts, and its holder comes to write, a long one
/// outlasts the lease, unless that is prolonged. Where no time passes, a hold has all lengths as it is.
fn with_holds_of_any_length<Y: System>(mut space: Space<Y>) -> Space<Y> {
    if space.bounds.latency_ticks.is_some() && space.setup.workload.releases {
        space.setup.workload.hold = Micros::ZERO;
        space.bounds.unhurried_holders = true;
    }
    space
}

/// What an exhaustive check came to.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Holds, is violated, or nothing is known.
    pub verdict: CheckVerdict,
    /// The promises that were judged.
    pub judged: PromiseSet,
    /// Those of them that nothing put to the test: that nothing broke them proves nothing.
    pub untested: PromiseSet,
    /// The counts.
    pub exploration: Exploration,
    /// The run that breaks the promise.
    pub counterexample: Option<Counterexample>,
}

/// One of four; the last two are never a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// The whole space was seen, every promise put to the test and kept.
    Holds,
    /// There is a counterexample.
    Violated,
    /// A limit was hit first.
    Incomplete,
    /// The whole space was seen and nothing broken, but a promise was never put to the test
    /// ([`Promise::tested_by`]).
    Vacuous,
}

impl CheckVerdict {
    /// As in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            CheckVerdict::Holds => "holds",
            CheckVerdict::Violated => "violated",
            CheckVerdict::Incomplete => "incomplete",
            CheckVerdict::Vacuous => "vacuous",
        }
    }

    /// Whether it is the opposite of what was expected; where none was reached it is not.
    pub const fn contradicts(self, expected: Expected) -> bool {
        match (self, expected) {
            (CheckVerdict::Holds, Expected::Violated) | (CheckVerdict::Violated, Expected::Holds) => true,
            (CheckVerdict::Holds, Expected::Holds)
            | (CheckVerdict::Violated, Expected::Violated)
            | (CheckVerdict::Incomplete | CheckVerdict::Vacuous, _) => false,
        }
    }
}

/// A run that breaks a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// Which promise.
    pub promise: Promise,
    /// How many steps; of a lasso, stem and loop together.
    pub steps: usize,
    /// Replays it.
    pub token: Token,
}

/// Why something cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The setup is not one of this lock.
    #[error(transparent)]
    Setup(#[from] BadSetup),
    /// The bounds are not bounds.
    #[error("the bounds in it cannot be read")]
    Bounds,
    /// A part of the setup or of the bounds has a name that means nothing here.
    #[error("it says {0:?} of its setup, of which the lock as it is here has nothing")]
    NoSuchPart(String),
    /// The parts make no setup of this lock.
    #[error("the setup in it is not one of this lock: {0}")]
    SetupParts(String),
    /// The plan's numbers make no sense.
    #[error("the plan in it cannot be run: {0}")]
    Plan(String),
    /// The plan is for another number of nodes.
    #[error("the plan cannot be run with this lock: {0}")]
    PlanFile(String),
    /// A setting of the lock is of a type that has no names: a token cannot be made.
    #[error("the setup cannot be told by the names of its parts: {0}")]
    Unnamed(String),
    /// The path leads nowhere.
    #[error(transparent)]
    Path(#[from] NoSuchPath),
    /// The promise that it is to be made small for is kept in this run.
    #[error("it does not break {asked}, but {broken}")]
    BreaksAnother {
        /// What was asked for.
        asked: Promise,
        /// The gravest promise that it does break.
        broken: Promise,
    },
    /// The sweep's threads could not be started.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The Explorer's address cannot be used.
    #[error("cannot listen there: {0}")]
    Listen(#[from] std::io::Error),
}

/// How a token's run is made small.
pub struct ShrinkHow<'a> {
    /// The promise that it shall still break; `None`: the one that the token was made for, or else the gravest.
    pub promise: Option<Promise>,
    /// Whether all servers stay; if not, those without which the lock would be another algorithm
    /// ([`System::servers_min`]).
    pub keep_servers: bool,
    /// Set from outside to stop.
    pub stop: &'a AtomicBool,
    /// Told the number of runs so far.
    pub on_run: &'a dyn Fn(u64),
}

impl<'a> ShrinkHow<'a> {
    /// As usual.
    pub fn new(stop: &'a AtomicBool, on_run: &'a dyn Fn(u64)) -> ShrinkHow<'a> {
        ShrinkHow { promise: None, keep_servers: false, stop, on_run }
    }
}

/// What shrinking a token came to.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reduced {
    /// The run breaks no promise, or not the one that was asked for.
    NothingBroken,
    /// A path of the exhaustive search: there is no shorter one.
    Shortest {
        /// What it breaks.
        promise: Promise,
    },
    /// A seeded run.
    Shrunk {
        /// What it still breaks.
        promise: Promise,
        /// The run.
        token: Token,
        /// How large it was.
        before: Size,
        /// How large it is.
        after: Size,
        /// Its plan, a line per fault.
        plan: String,
        /// How many runs it took.
        runs: u64,
        /// Whether more might have gone.
        interrupted: bool,
    },
}

/// A lock whose type nobody needs to know.
pub trait AnyLock: Send + Sync {
    /// The name it goes by.
    fn name(&self) -> &'static str;
    /// One line.
    fn summary(&self) -> &'static str;
    /// Whether it is a lock, and belongs into the matrix.
    fn is_lock(&self) -> bool;
    /// The promises that its setup watches: if it is not a lock, there is nothing else that it could break.
    fn watched(&self) -> PromiseSet;
    /// The settings, as `name=value` in one line.
    fn settings(&self) -> Vec<String>;
    /// The setup of seeded runs, packed, whose workload varies unless the lock forbids it; with other promises watched, if any
    /// are given.
    fn setup(&self, promises: Option<PromiseSet>) -> Vec<u8>;
    /// How many servers `picklock check` gives it unless told otherwise.
    fn usual_servers(&self) -> u8;
    /// How many rounds `picklock check` gives it unless told otherwise.
    fn usual_rounds(&self) -> u8;
    /// The space that `picklock check` asks for.
    fn space(&self, options: &CheckOptions) -> NamedSpace;
    /// What a space of this lock is like: what a verdict about it has to say beside itself.
    fn surroundings(&self, space: &NamedSpace) -> Result<Surroundings, RunError>;
    /// What a packed setup is like, for seeded runs, in a line.
    fn use_in_words(&self, setup: &[u8]) -> Result<String, RunError>;
    /// What a packed setup watches.
    fn watched_in(&self, setup: &[u8]) -> Result<PromiseSet, RunError>;
    /// A space of this lock with one bound wider; `None` where that bound means nothing.
    fn widened(&self, space: &NamedSpace, widening: Widening) -> Result<Option<Widened>, RunError>;
    /// Explores a space of this lock.
    fn check(&self, space: &NamedSpace, judgement: &Judgement, limits: &Limits) -> Result<Checked, RunError>;
    /// Serves stateright's Explorer for a space of this lock.
    fn explore(&self, space: &NamedSpace, address: SocketAddr) -> Result<(), RunError>;
    /// Runs many seeds.
    fn sweep(
        &self,
        setup: &[u8],
        faults: FaultSet,
        seeds: std::ops::Range<u64>,
        how: &SweepHow,
    ) -> Result<SweepReport, RunError>;
    /// Runs seeds one after the other, all with the same plan.
    fn run_planned(
        &self,
        setup: &[u8],
        plan: &Plan,
        seeds: std::ops::Range<u64>,
    ) -> Result<Vec<Outcome>, RunError>;
    /// The plans that these seeds draw: those that [`AnyLock::sweep`] runs, but for a guided one.
    fn plans(
        &self,
        setup: &[u8],
        faults: FaultSet,
        strategy: Strategy,
        seeds: &[u64],
    ) -> Result<Vec<Plan>, RunError>;
    /// The token of a run, printed for this promise. The run is run once for it.
    fn token(&self, setup: &[u8], run: &PlannedRun, promise: Option<Promise>) -> Result<Token, RunError>;
    /// Makes a token's run small while it breaks the same promise.
    fn shrink(&self, token: &Token, how: &ShrinkHow) -> Result<Reduced, RunError>;
    /// What tells this token's run from every other: equal in every process, on every machine.
    fn fingerprint(&self, token: &Token) -> Result<String, RunError>;
    /// Runs a token's run again, and shows it for the promise that the token was made for, or else for the gravest that
    /// it breaks.
    fn replay(&self, token: &Token, options: &TextOptions) -> Result<Replay, RunError>;
}

/// How a sweep is done.
pub struct SweepHow<'a> {
    /// Threads, at least 1.
    pub jobs: usize,
    /// Goes on after the first seed that breaks a promise.
    pub keep_going: bool,
    /// If not: the seed that breaks this promise; `None`: any.
    pub sought: Option<Promise>,
    /// Ends once each of these promises was put to the test in so many runs, at the end of a block of seeds.
    pub until_tested: Option<(PromiseSet, u64)>,
    /// How plans are drawn.
    pub strategy: Strategy,
    /// Told the number of finished runs.
    pub on_progress: &'a (dyn Fn(u64) + Sync),
    /// Given reports in the order of the seeds; see [`SweepOptions::on_merged`].
    pub on_merged: Option<&'a OnMerged<'a>>,
    /// Set from outside to stop.
    pub stop: &'a AtomicBool,
}

impl<'a> SweepHow<'a> {
    /// The usual plans on one thread, up to the first seed that breaks any promise.
    pub fn new(on_progress: &'a (dyn Fn(u64) + Sync), stop: &'a AtomicBool) -> SweepHow<'a> {
        let strategy = Strategy::default();
        SweepHow {
            jobs: 1,
            keep_going: false,
            sought: None,
            until_tested: None,
            strategy,
            on_progress,
            on_merged: None,
            stop,
        }
    }
}

/// A lock with what the command has to know of it: the one entry that makes matrix, check, sweep, replay, shrink and the
/// rest of the command work for it.
#[derive(Clone, Debug)]
pub struct Registered<Y: System> {
    name: &'static str,
    summary: &'static str,
    default_settings: Y::Settings,
    setup: fn() -> Setup<Y>,
    space: Option<fn(&CheckOptions) -> Space<Y>>,
    servers: u8,
    rounds: u8,
    is_lock: bool,
    varies: bool,
}

/// How often each client does what it does, unless something else is asked for.
const ROUNDS: u8 = 2;

impl<Y: System> Registered<Y> {
    /// A lock of this name, and what it is in a line. `setup` is what seeded runs are drawn around, and the promises that they watch:
    /// [`Setup::default`] will do to begin with. `check` explores [`CheckOptions::space_of`] the same setup.
    pub fn new(name: &'static str, summary: &'static str, setup: fn() -> Setup<Y>) -> Registered<Y> {
        let Setup { lock, servers, .. } = setup();
        Registered {
            name,
            summary,
            default_settings: lock,
            setup,
            space: None,
            servers,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }
    }

    /// What `check` explores instead: for a lock that is judged in another setup than seeded runs have, or has assumptions
    /// of its own to drop.
    #[must_use]
    pub fn checked_in(self, space: fn(&CheckOptions) -> Space<Y>) -> Registered<Y> {
        Registered { space: Some(space), ..self }
    }

    /// How many servers `check` gives it unless told otherwise; as many as the setup has, unless this says so.
    #[must_use]
    pub fn checked_with_servers(self, servers: u8) -> Registered<Y> {
        Registered { servers, ..self }
    }

    /// How many rounds `check` gives it unless told otherwise; two, unless this says so.
    #[must_use]
    pub fn checked_with_rounds(self, rounds: u8) -> Registered<Y> {
        Registered { rounds, ..self }
    }

    /// Runs every seed with the setup's own numbers of clients and rounds, thinking and holding for as long as it says. Else
    /// those are what each seed's own are drawn around ([`varied`]): many a flaw shows at few of them only.
    #[must_use]
    pub fn used_as_set_up(self) -> Registered<Y> {
        Registered { varies: false, ..self }
    }

    fn unpack(&self, space: &NamedSpace) -> Result<Space<Y>, RunError> {
        Ok(Space { setup: unpack_setup(&space.setup)?, bounds: space.bounds.clone() })
    }

    /// What the seeded engine needs for the run of a token, if it is one of its runs.
    fn seeded(&self, token: &Token) -> Result<Option<Seeded<Y>>, RunError> {
        match &token.body {
            Body::Planned { plan, pins, seed } => {
                let setup = self.setup_of(token)?;
                if let Some(why) = plan.implausible() {
                    return Err(RunError::Plan(why));
                }
                Ok(Some(Seeded { setup, told: plan.clone(), plan: plan.pinned(pins), seed: *seed }))
            }
            Body::Path { .. } => Ok(None),
        }
    }

    /// Of a run that breaks these promises.
    fn heading(&self, token: &Token, setup: &Setup<Y>, broken: &[Promise]) -> Heading {
        let settings = differences(&self.default_settings, &setup.lock);
        let asked = token.promise.filter(|promise| broken.contains(promise));
        let shown_for = asked.or_else(|| Promise::gravest(broken.iter().copied()));
        Heading { lock: self.name.to_owned(), settings, token: Some(token.encode()), broken: shown_for }
    }

    fn replay_path(
        &self,
        token: &Token,
        space: &Space<Y>,
        actions: &[u16],
        loop_start: Option<usize>,
        options: &TextOptions,
    ) -> Result<Replay, RunError> {
        let time = match space.bounds.latency_ticks {
            Some(_) => TimeColumn::Ticks { length: TICK },
            None => TimeColumn::Hidden,
        };
        let options = TextOptions { time, fold: options.fold && loop_start.is_none(), ..*options };
        let (stem, cycle) = actions.split_at(loop_start.unwrap_or(actions.len()).min(actions.len()));
        let never = match loop_start {
            Some(_) => never_served(space, stem, cycle, token.promise)?,
            None => None,
        };
        let starved = never.map(Goal::promise);
        let mut broken = Breaks::default();
        let mut walker = space.walker();
        for action in actions {
            walker.step(*action, &mut broken)?;
        }
        let broken: Vec<Promise> = starved.into_iter().chain(broken.0).collect();
        let heading = self.heading(token, &space.setup, &broken);
        let mut watcher = Watcher::new(heading, &space.setup, options);
        let mut walker = space.walker();
        for action in stem {
            walker.step(*action, &mut watcher)?;
        }
        // A loop in which what is owed is served is shown as the steps that it is.
        let told_stem = never.map(|_| watcher.steps);
        if never.is_some() {
            watcher.text().loop_starts();
        }
        for action in cycle {
            walker.step(*action, &mut watcher)?;
        }
        if let Some(goal) = never {
            watcher.text().loop_ends(&never_in_words::<Y>(goal));
        }
        let parting = walker.telling().parting().map(ToString::to_string);
        let replay = watcher.finish(token, starved, None, parting);
        Ok(Replay { loop_start: told_stem, never: never.map(never_in_words::<Y>), time, ..replay })
    }

    fn replay_seeded(
        &self,
        token: &Token,
        Seeded { setup, told, plan, seed }: &Seeded<Y>,
        options: &TextOptions,
    ) -> Replay {
        let options = TextOptions { time: TimeColumn::Seconds, ..*options };
        let (limits, mut engine) = (RunLimits::of(setup), Engine::new());
        // What it breaks has to be known before it is shown.
        let violations = engine.run(setup, plan, *seed, &limits, &mut ()).violations;
        let broken: Vec<Promise> = violations.iter().map(|violation| violation.promise).collect();
        let mut watcher = Watcher::new(self.heading(token, setup, &broken), setup, options);
        engine.run(setup, plan, *seed, &limits, &mut watcher);
        Replay { violations, ..watcher.finish(token, None, Some(told.to_string()), None) }
    }
}

/// What never happens in a loop: who holds nothing is granted nothing.
fn never_in_words<Y: System>(goal: Goal) -> String {
    if Y::HOLDS { goal.never() } else { "no call comes back".to_owned() }
}

/// A run of the seeded engine.
struct Seeded<Y: System> {
    setup: Setup<Y>,
    /// The plan as it is told.
    told: Plan,
    /// The same, its faults pinned to steps where they waited for lines.
    plan: Plan,
    seed: u64,
}

impl<Y: System> AnyLock for Registered<Y> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn is_lock(&self) -> bool {
        self.is_lock
    }

    fn watched(&self) -> PromiseSet {
        (self.setup)().promises
    }

    fn settings(&self) -> Vec<String> {
        fields(&self.default_settings).into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    fn setup(&self, promises: Option<PromiseSet>) -> Vec<u8> {
        let mut setup = (self.setup)();
        setup.promises = promises.unwrap_or(setup.promises);
        let reads = matches!(setup.workload.writes, Writes::ReadModifyWrite { .. });
        if setup.promises.contains(Promise::LostUpdate) && !reads {
            setup.workload.writes = Writes::judged_by(setup.promises);
        }
        setup.workload.varies = self.varies;
        pack_setup(&setup)
    }

    fn usual_servers(&self) -> u8 {
        self.servers
    }

    fn usual_rounds(&self) -> u8 {
        self.rounds
    }

    fn space(&self, options: &CheckOptions) -> NamedSpace {
        let mut space = match self.space {
            Some(space) => space(options),
            None => options.space_of((self.setup)()),
        };
        // Theorem 3 speaks of a lock that is free when the contention begins: whoever is granted it keeps it.
        if options.promises.contains(Promise::Theorem3) {
            space.setup.workload.releases = options.drop.contains(&Assumption::FreeAtStart);
        }
        NamedSpace::new(self.name, &space)
    }

    fn surroundings(&self, space: &NamedSpace) -> Result<Surroundings, RunError> {
        let space = self.unpack(space)?;
        let settings = differences(&self.default_settings, &space.setup.lock);
        Ok(Surroundings { settings, ..Surroundings::of(&space) })
    }

    fn use_in_words(&self, setup: &[u8]) -> Result<String, RunError> {
        Ok(surroundings::use_in_words(&unpack_setup::<Y>(setup)?))
    }

    fn watched_in(&self, setup: &[u8]) -> Result<PromiseSet, RunError> {
        Ok(unpack_setup::<Y>(setup)?.promises)
    }

    fn widened(&self, named: &NamedSpace, widening: Widening) -> Result<Option<Widened>, RunError> {
        // What is there to probe a store does its work once.
        let is_probe = !self.is_lock && !self.watched().iter().any(Promise::is_of_objects);
        if widening == Widening::Round && is_probe {
            return Ok(None);
        }
        Ok(widening.of(&self.unpack(named)?).map(|wider| Widened::new(self.name, &wider)))
    }

    fn check(&self, named: &NamedSpace, judgement: &Judgement, limits: &Limits) -> Result<Checked, RunError> {
        let space = self.unpack(named)?;
        let (exploration, found) = match judgement {
            Judgement::Safety => {
                let exploration = search(&space, limits);
                let found = match &exploration.verdict {
                    Verdict::Violated { violation, path } => Some((violation.promise, path.clone(), None)),
                    Verdict::Verified | Verdict::Incomplete { .. } => None,
                };
                (exploration, found)
            }
            Judgement::Progress { goals, draws } => {
                let (exploration, lassos) = check_liveness(&space, goals, *draws, limits);
                let found = goals.iter().zip(lassos).find_map(|(goal, lasso)| {
                    let lasso = lasso?;
                    let start = lasso.stem.len();
                    Some((goal.promise(), [lasso.stem, lasso.cycle].concat(), Some(start)))
                });
                (exploration, found)
            }
        };
        let judged: PromiseSet = match judgement {
            Judgement::Safety => {
                space.setup.promises.iter().filter(|promise| !promise.is_liveness()).collect()
            }
            Judgement::Progress { goals, .. } => goals.iter().map(|goal| goal.promise()).collect(),
        };
        let untested = exploration.coverage.tested.untested(judged);
        let verdict = match (&found, &exploration.verdict) {
            (Some(_), _) => CheckVerdict::Violated,
            (None, Verdict::Incomplete { .. }) => CheckVerdict::Incomplete,
            (None, Verdict::Verified | Verdict::Violated { .. }) if untested.is_empty() => {
                CheckVerdict::Holds
            }
            (None, Verdict::Verified | Verdict::Violated { .. }) => CheckVerdict::Vacuous,
        };
        let counterexample = found.map(|(promise, actions, loop_start)| {
            let steps = steps_of(&space, &actions)?;
            let token = self.path_token(&space, actions, loop_start, Some(promise))?;
            Ok::<_, RunError>(Counterexample { promise, steps, token })
        });
        let counterexample = counterexample.transpose()?;
        Ok(Checked { verdict, judged, untested, exploration, counterexample })
    }

    fn explore(&self, space: &NamedSpace, address: SocketAddr) -> Result<(), RunError> {
        Ok(serve_explorer(self.unpack(space)?, address)?)
    }

    fn sweep(
        &self,
        setup: &[u8],
        faults: FaultSet,
        seeds: std::ops::Range<u64>,
        how: &SweepHow,
    ) -> Result<SweepReport, RunError> {
        let setup: Setup<Y> = unpack_setup(setup)?;
        let options = SweepOptions {
            jobs: how.jobs,
            keep_going: how.keep_going,
            sought: how.sought,
            until_tested: how.until_tested,
            strategy: how.strategy,
            limits: None,
            scale: Scale::of(&setup),
            on_progress: how.on_progress,
            on_merged: how.on_merged,
            stop: how.stop,
        };
        Ok(sweep(&setup, faults, seeds, &options)?)
    }

    fn run_planned(
        &self,
        setup: &[u8],
        plan: &Plan,
        seeds: std::ops::Range<u64>,
    ) -> Result<Vec<Outcome>, RunError> {
        let setup: Setup<Y> = unpack_setup(setup)?;
        let clients = varied::processes_max(&setup.workload);
        if let Some(why) = plan.names_nobody(clients, setup.servers) {
            return Err(RunError::PlanFile(why));
        }
        let mut engine = Engine::new();
        let run = |seed| {
            let setup = varied::of_seed(&setup, seed);
            engine.run(&setup, plan, seed, &RunLimits::of(&setup), &mut ())
        };
        Ok(seeds.map(run).collect())
    }

    fn plans(
        &self,
        setup: &[u8],
        faults: FaultSet,
        strategy: Strategy,
        seeds: &[u64],
    ) -> Result<Vec<Plan>, RunError> {
        let around: Setup<Y> = unpack_setup(setup)?;
        let scale = Scale::of(&around);
        let plan = |seed: &u64| strategy.plan(faults, *seed, &scale.of_seed(&around.workload, *seed));
        Ok(seeds.iter().map(plan).collect())
    }

    fn token(&self, setup: &[u8], run: &PlannedRun, promise: Option<Promise>) -> Result<Token, RunError> {
        // What the seed drew, not how it is drawn: a token means the same run however workloads come to be drawn.
        self.planned_token(&varied::of_seed(&unpack_setup(setup)?, run.seed), run, promise)
    }

    fn shrink(&self, token: &Token, how: &ShrinkHow) -> Result<Reduced, RunError> {
        let Some(Seeded { setup, plan, told, seed }) = self.seeded(token)? else {
            let replay = self.replay(token, &TextOptions { last: Some(0), ..TextOptions::default() })?;
            let asked = how.promise.or(token.promise).or(replay.shown_for);
            let broken = asked.filter(|promise| replay.breaks(Some(*promise)));
            return match (broken, asked, replay.shown_for) {
                (Some(promise), _, _) => Ok(Reduced::Shortest { promise }),
                (None, Some(asked), Some(broken)) => Err(RunError::BreaksAnother { asked, broken }),
                (None, _, _) => Ok(Reduced::NothingBroken),
            };
        };
        let mut engine = Engine::new();
        let mut run = |plan: &Plan| engine.run(&setup, plan, seed, &RunLimits::of(&setup), &mut ());
        let outcome = run(&plan);
        let gravest = Promise::gravest(outcome.violations.iter().map(|violation| violation.promise));
        let asked = how.promise.or(token.promise);
        let promise = match (asked, gravest) {
            (None, Some(gravest)) => gravest,
            (Some(asked), _) if outcome.breaks(asked) => asked,
            (Some(asked), Some(broken)) => return Err(RunError::BreaksAnother { asked, broken }),
            (_, None) => return Ok(Reduced::NothingBroken),
        };
        // As it is told, a plan says more of why a fault matters; but only while its lines are called what they were.
        let plan = if run(&told) == outcome { told } else { plan };
        let goal = ShrinkGoal { promise, keep_servers: how.keep_servers };
        let Some(shrunk) = shrink(&setup, &plan, seed, goal, how.stop, how.on_run) else {
            return Ok(Reduced::NothingBroken);
        };
        let Failing { trial: Trial { setup, plan, seed }, size } = shrunk.run;
        let words = plan.to_string();
        Ok(Reduced::Shrunk {
            promise,
            token: self.planned_token(&setup, &PlannedRun { plan, seed }, Some(promise))?,
            before: shrunk.from,
            after: size,
            plan: words,
            runs: shrunk.runs,
            interrupted: shrunk.interrupted,
        })
    }

    fn fingerprint(&self, token: &Token) -> Result<String, RunError> {
        let Some(Seeded { setup, plan, seed, .. }) = self.seeded(token)? else {
            return Ok(self.replay(token, &TextOptions::default())?.trace_hash);
        };
        let (limits, mut engine, mut hash) = (RunLimits::of(&setup), Engine::new(), TraceHash::default());
        // Watched or not, in fresh memory or in used: the same run.
        let watched = engine.run(&setup, &plan, seed, &limits, &mut hash);
        let unwatched = engine.run(&setup, &plan, seed, &limits, &mut ());
        let mut outcomes = TraceHash::default();
        outcomes.add(&(watched, unwatched));
        Ok(format!("{hash} {outcomes}"))
    }

    fn replay(&self, token: &Token, options: &TextOptions) -> Result<Replay, RunError> {
        if let Some(seeded) = self.seeded(token)? {
            return Ok(self.replay_seeded(token, &seeded, options));
        }
        let Body::Path { bounds, actions, loop_start } = &token.body else {
            unreachable!("what is no seeded run is a path");
        };
        let space = Space { setup: self.setup_of(token)?, bounds: tokens::bounds_of(bounds.as_ref())? };
        self.replay_path(token, &space, actions, loop_start.map(usize::from), options)
    }
}

/// What is owed where the loop begins, and served nowhere in it.
fn never_served<Y: System>(
    space: &Space<Y>,
    stem: &[u16],
    cycle: &[u16],
    asked: Option<Promise>,
) -> Result<Option<Goal>, NoSuchPath> {
    let mut walker = space.walker();
    for action in stem {
        walker.step(*action, &mut ())?;
    }
    let mut goals = goals(space.setup.workload.clients, space.setup.workload.locks, space.setup.promises);
    goals.retain(|goal| {
        let (owed, served) = goal.owed_and_served(walker.world());
        owed && !served
    });
    for action in cycle {
        walker.step(*action, &mut ())?;
        goals.retain(|goal| !goal.owed_and_served(walker.world()).1);
    }
    let asked = goals.iter().find(|goal| Some(goal.promise()) == asked);
    Ok(asked.or(goals.first()).copied())
}

/// How many steps whoever is shown a path sees: where messages that are delivered at once belong to the step that sent them, more
/// than there are actions.
fn steps_of<Y: System>(space: &Space<Y>, actions: &[u16]) -> Result<usize, NoSuchPath> {
    let (mut walker, mut steps) = (space.walker(), Steps(0));
    for action in actions {
        walker.step(*action, &mut steps)?;
    }
    Ok(steps.0)
}

struct Steps(usize);

impl<Y: System> Observer<Y> for Steps {
    fn observe(&mut self, _step: &Step<Y>) {
        self.0 += 1;
    }
}

/// Which promises the steps of a run break.
#[derive(Default)]
struct Breaks(Vec<Promise>);

impl<Y: System> Observer<Y> for Breaks {
    fn observe(&mut self, step: &Step<Y>) {
        self.0.extend(step.violations.iter().map(|violation| violation.promise));
    }
}

/// What can be owed to so many clients of so many locks.
pub fn goals(clients: u8, locks: u8, promises: PromiseSet) -> Vec<Goal> {
    let mut goals = vec![Goal::DeadlockFreedom];
    goals.extend((1..locks).map(|lock| Goal::DeadlockFreedomOf(LockId(lock))));
    goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
    if promises.contains(Promise::ReleaseEnds) {
        goals.extend((0..clients).map(|client| Goal::ReleaseEnds(ClientId(client))));
    }
    if promises.contains(Promise::Theorem3) {
        goals.push(Goal::Theorem3);
    }
    goals.push(Goal::SomebodyIsGranted);
    goals
}

/// Text, JSON and hash of one run, and what it broke.
struct Watcher {
    observers: Both<TextTrace, Both<JsonEvents, Both<TraceHash, Post>>>,
    violations: Vec<Violation>,
    /// The promise that the run is shown for.
    shown_for: Option<Promise>,
    /// How many more steps the text shows, once that promise is broken; `None`: all.
    more: Option<usize>,
    watched: PromiseSet,
    tested: PromiseSet,
    /// How many there were.
    steps: usize,
    settings: Vec<String>,
    nodes: Vec<String>,
    locks: u8,
}

/// How many steps a shortened trace goes on after the broken promise.
const AFTERMATH_STEPS: usize = 6;

impl Watcher {
    fn new<Y: System>(heading: Heading, setup: &Setup<Y>, options: TextOptions) -> Self {
        let workload = &setup.workload;
        let clients = (0..workload.processes()).map(Node::Client);
        let servers = (0..setup.servers).map(Node::Server);
        let resource = (workload.writes == Writes::Resource).then_some(Node::Resource);
        let (settings, nodes) = (heading.settings.clone(), clients.chain(servers).chain(resource));
        let shown_for = heading.broken;
        let text = TextTrace::new(heading, options);
        Watcher {
            shown_for,
            more: options.last.map(|_| AFTERMATH_STEPS),
            watched: setup.promises,
            tested: PromiseSet::EMPTY,
            observers: Both(text, Both(JsonEvents::default(), Both::default())),
            violations: Vec::new(),
            steps: 0,
            settings,
            nodes: nodes.map(|node| node.to_string()).collect(),
            locks: workload.locks,
        }
    }

    fn text(&mut self) -> &mut TextTrace {
        &mut self.observers.0
    }

    fn finish(
        self,
        token: &Token,
        starved: Option<Promise>,
        plan: Option<String>,
        parting: Option<String>,
    ) -> Replay {
        let Both(mut text, Both(events, Both(hash, post))) = self.observers;
        let defect = parting.or(post.unsent().map(str::to_owned));
        if let Some(defect) = &defect {
            text.warn(&format!("this trace is wrong, a defect of picklock: {defect}"));
        }
        Replay {
            text: text.finish(),
            shown_for: self.shown_for,
            watched: self.watched,
            tested: self.tested,
            trace_hash: hash.to_string(),
            came_out_otherwise: token.mark.is_some_and(|mark| mark != Mark::of(hash.value())),
            violations: self.violations,
            events: events.finish(),
            starved,
            never: None,
            plan,
            settings: self.settings,
            nodes: self.nodes,
            locks: self.locks,
            loop_start: None,
            time: TimeColumn::Seconds,
            defect,
        }
    }
}

impl<Y: System> Observer<Y> for Watcher {
    fn observe(&mut self, step: &Step<Y>) {
        self.steps += 1;
        self.tested = self.tested.union(step.effects.tested);
        let Both(text, others) = &mut self.observers;
        Observer::<Y>::observe(others, step);
        match &mut self.more {
            Some(0) => {}
            Some(more) => {
                let is_broken =
                    self.violations.iter().any(|violation| Some(violation.promise) == self.shown_for);
                *more -= usize::from(is_broken);
                Observer::<Y>::observe(text, step);
            }
            None => Observer::<Y>::observe(text, step),
        }
        for violation in step.violations {
            if self.violations.iter().all(|known| known.promise != violation.promise) {
                self.violations.push(*violation);
            }
        }
    }
}

/// The named fields of a settings struct.
fn fields<T: Serialize>(settings: &T) -> Vec<(String, String)> {
    match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(fields)) => {
            fields.into_iter().map(|(name, value)| (name, value.to_string().replace('"', ""))).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// What is set otherwise than by default, as `name=value`.
fn differences<T: Serialize>(default: &T, actual: &T) -> Vec<String> {
    fields(default)
        .into_iter()
        .zip(fields(actual))
        .filter(|(default, actual)| default != actual)
        .map(|(_, (name, value))| format!("{name}={value}"))
        .collect()
}
