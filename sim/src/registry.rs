//! The locks there are, by name, with everything that the command does with a lock.
//!
//! A lock's type is known to `Registered` only; the command, the claims and the tokens know its name, and its setup as
//! bytes. Registering a lock is one entry in [`locks`]; nothing else here, and no engine, knows any lock.

mod cassandra;
mod feedback;
mod redis;
mod zookeeper;

use crate::fault::FaultSet;
use crate::outcome::{Limits as RunLimits, Outcome};
use crate::plan::Plan;
use crate::report::{Both, Heading, JsonEvent, JsonEvents, TextOptions, TextTrace, TimeColumn, TraceHash};
use crate::run::{self, Engine};
use crate::shrink::{Failing, Size, Trial, shrink};
use crate::strategy::Strategy;
use crate::swarm::Scale;
use crate::sweep::{OnMerged, SweepError, SweepOptions, SweepReport, sweep};
use crate::token::{Body, Token};
use picklock_model::claims::{Assumption, BadSetup, Judgement, NamedSpace, pack_setup, unpack_setup};
use picklock_model::cluster::Setup;
use picklock_model::explore::{
    Exploration, Goal, Limits, NoSuchPath, Space, Verdict, check_liveness, search, serve_explorer,
};
use picklock_model::machine::{Lock, Node};
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
    pub fn and<L: Lock>(mut self, lock: Registered<L>) -> Locks {
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
    locks.push(feedback::lock());
    locks.push(cassandra::row_probe());
    locks.push(zookeeper::znode_probe());
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
    /// The space that these options ask for, of a lock in this setup: its clients ask as often as they should, never
    /// think, and hold for a tick of a second at most. Time passes if the lock has a lease ([`Lock::lease`]), or an
    /// assumption about time is dropped; else every deadline may come at any moment, which covers every speed of
    /// everybody. All assumptions hold but those that are dropped; a few, which only a lock or its store can
    /// drop ([`Bounds::drop_assumption`] says which), stay.
    ///
    /// Durations in the setup should be a few seconds at most: time is counted in ticks of one, and every tick costs states.
    pub fn space_of<L: Lock>(&self, setup: Setup<L>) -> Space<L> {
        let lease_ticks = L::lease(&setup.lock).map(|lease| (lease.0 / TICK.0).clamp(1, 100) as u8);
        let lasts = lease_ticks.unwrap_or(1) + 1;
        let mut bounds =
            Bounds { latency_ticks: lease_ticks.map(|_| 0), unhurried: true, ..Bounds::default() };
        self.drop.iter().for_each(|assumption| bounds.drop_assumption(*assumption, lasts));
        let promises = match self.promises.is_empty() {
            true => [Promise::MutualExclusion].into_iter().collect(),
            false => self.promises,
        };
        let calls = if self.try_lock { Calls::TryLock } else { Calls::Lock };
        let writes = Writes::resource_if(promises.contains(Promise::FencedResource));
        let workload = Workload {
            clients: self.clients,
            rounds: self.rounds,
            calls,
            think: Micros::ZERO,
            hold: setup.workload.hold.min(TICK),
            writes,
            ..setup.workload
        };
        Space { setup: Setup { servers: self.servers, workload, promises, ..setup }, bounds }
    }
}

/// What an exhaustive check came to.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Holds, is violated, or nothing is known.
    pub verdict: CheckVerdict,
    /// The counts.
    pub exploration: Exploration,
    /// The run that breaks the promise.
    pub counterexample: Option<Counterexample>,
}

/// One of three; the third is never a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// The whole space was seen and the promise kept.
    Holds,
    /// There is a counterexample.
    Violated,
    /// A limit was hit first.
    Incomplete,
}

impl CheckVerdict {
    /// As in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            CheckVerdict::Holds => "holds",
            CheckVerdict::Violated => "violated",
            CheckVerdict::Incomplete => "incomplete",
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

/// A run shown again.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// The trace as text.
    #[serde(skip)]
    pub text: String,
    /// Equal for equal runs.
    pub trace_hash: String,
    /// What the run broke, first violation of each promise, in order.
    pub violations: Vec<Violation>,
    /// The trace as data.
    pub events: Vec<JsonEvent>,
    /// Lasso only: what is never kept in the loop.
    pub starved: Option<Promise>,
    /// Seeded runs only: the plan, a line per fault.
    pub plan: Option<String>,
    /// What is not as it is by default, as `name=value`.
    pub settings: Vec<String>,
    /// All nodes, in the order of their lanes.
    pub nodes: Vec<String>,
    /// How many locks there are.
    pub locks: u8,
    /// A lasso: how many steps its stem has.
    pub loop_start: Option<usize>,
    /// Whether true time passes in ticks, or not at all: the run is a path of the exhaustive engine.
    pub in_ticks: bool,
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
    /// The plan is not a plan.
    #[error("the fault plan in it cannot be read")]
    Plan,
    /// The faults are not faults.
    #[error("it asks for faults that this picklock does not know")]
    Faults,
    /// The path leads nowhere.
    #[error(transparent)]
    Path(#[from] NoSuchPath),
    /// The sweep's threads could not be started.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The Explorer's address cannot be used.
    #[error("cannot listen there: {0}")]
    Listen(#[from] std::io::Error),
}

/// What shrinking a token came to.
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
    /// The setup of seeded runs, packed; with other promises watched, if any are given.
    fn setup(&self, promises: Option<PromiseSet>) -> Vec<u8>;
    /// How many servers `picklock check` gives it unless told otherwise.
    fn usual_servers(&self) -> u8;
    /// The space that `picklock check` asks for.
    fn space(&self, options: &CheckOptions) -> NamedSpace;
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
    /// Makes a token's run small while it breaks the same promise: `promise`, or the first one that it breaks.
    fn shrink(
        &self,
        token: &Token,
        promise: Option<Promise>,
        stop: &AtomicBool,
        on_run: &dyn Fn(u64),
    ) -> Result<Reduced, RunError>;
    /// What tells this token's run from every other: equal in every process, on every machine.
    fn fingerprint(&self, token: &Token) -> Result<String, RunError>;
    /// Runs a token's run again.
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
        SweepHow { jobs: 1, keep_going: false, sought: None, strategy, on_progress, on_merged: None, stop }
    }
}

/// A lock with what the command has to know of it: the one entry that makes matrix, check, sweep, replay, shrink and the
/// rest of the command work for it.
#[derive(Clone, Debug)]
pub struct Registered<L: Lock> {
    name: &'static str,
    summary: &'static str,
    default_settings: L::Settings,
    setup: fn() -> Setup<L>,
    space: Option<fn(&CheckOptions) -> Space<L>>,
    servers: u8,
    is_lock: bool,
}

impl<L: Lock> Registered<L> {
    /// A lock of this name, and what it is in a line. `setup` is what seeded runs run, and the promises that they watch:
    /// [`Setup::default`] will do to begin with. `check` explores [`CheckOptions::space_of`] the same setup.
    pub fn new(name: &'static str, summary: &'static str, setup: fn() -> Setup<L>) -> Registered<L> {
        let Setup { lock, servers, .. } = setup();
        Registered { name, summary, default_settings: lock, setup, space: None, servers, is_lock: true }
    }

    /// What `check` explores instead: for a lock that is judged in another setup than seeded runs have, or has assumptions
    /// of its own to drop.
    #[must_use]
    pub fn checked_in(self, space: fn(&CheckOptions) -> Space<L>) -> Registered<L> {
        Registered { space: Some(space), ..self }
    }

    /// How many servers `check` gives it unless told otherwise; as many as the setup has, unless this says so.
    #[must_use]
    pub fn checked_with_servers(self, servers: u8) -> Registered<L> {
        Registered { servers, ..self }
    }

    fn unpack(&self, space: &NamedSpace) -> Result<Space<L>, RunError> {
        Ok(Space { setup: unpack_setup(&space.setup)?, bounds: space.bounds.clone() })
    }

    fn token(&self, space: &NamedSpace, actions: Vec<u16>, loop_start: Option<usize>) -> Token {
        Token {
            lock: self.name.to_owned(),
            body: Body::Path {
                setup: space.setup.clone(),
                bounds: pack(&space.bounds),
                actions,
                loop_start: loop_start.map(|start| start as u16),
            },
        }
    }

    /// What the seeded engine needs for the run of a token, if it is one of its runs.
    fn seeded(&self, token: &Token) -> Result<Option<(Setup<L>, Plan, u64)>, RunError> {
        match &token.body {
            Body::Seeded { setup, faults, seed, strategy } => {
                let setup = unpack_setup(setup)?;
                let faults = FaultSet::try_from(*faults).map_err(|_| RunError::Faults)?;
                let plan = strategy.plan(faults, *seed, &Scale::of(&setup));
                Ok(Some((setup, plan, *seed)))
            }
            Body::Planned { setup, plan, seed } => {
                let plan = postcard::from_bytes(plan).map_err(|_| RunError::Plan)?;
                Ok(Some((unpack_setup(setup)?, plan, *seed)))
            }
            Body::Path { .. } => Ok(None),
        }
    }

    fn heading(&self, token: &Token, setup: &Setup<L>) -> Heading {
        let settings = differences(&self.default_settings, &setup.lock);
        Heading { lock: self.name.to_owned(), settings, token: Some(token.encode()), broken: None }
    }

    fn replay_path(
        &self,
        token: &Token,
        space: &Space<L>,
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
            Some(_) => never_served(space, stem, cycle)?,
            None => None,
        };
        let starved = never.map(Goal::promise);
        let heading = Heading { broken: starved, ..self.heading(token, &space.setup) };
        let mut watcher = Watcher::new(heading, &space.setup, options);
        let mut walker = space.walker();
        for action in stem {
            walker.step(*action, &mut watcher)?;
        }
        if let Some(goal) = never {
            watcher.text().loop_starts();
            for action in cycle {
                walker.step(*action, &mut watcher)?;
            }
            watcher.text().loop_ends(&goal.never());
        }
        let replay = watcher.finish(starved, None);
        Ok(Replay { loop_start: loop_start.map(|_| stem.len()), in_ticks: true, ..replay })
    }

    fn replay_seeded(
        &self,
        token: &Token,
        setup: &Setup<L>,
        plan: &Plan,
        seed: u64,
        options: &TextOptions,
    ) -> Replay {
        let options = TextOptions { time: TimeColumn::Seconds, ..*options };
        let mut watcher = Watcher::new(self.heading(token, setup), setup, options);
        let outcome: Outcome = run::run(setup, plan, seed, &RunLimits::of(setup), &mut watcher);
        let mut replay = watcher.finish(None, Some(plan.to_string()));
        // Promises of progress are broken by what does not happen: no step reports them.
        replay.violations = outcome.violations;
        replay
    }
}

impl<L: Lock> AnyLock for Registered<L> {
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
        let setup = (self.setup)();
        pack_setup(&Setup { promises: promises.unwrap_or(setup.promises), ..setup })
    }

    fn usual_servers(&self) -> u8 {
        self.servers
    }

    fn space(&self, options: &CheckOptions) -> NamedSpace {
        let space = match self.space {
            Some(space) => space(options),
            None => options.space_of((self.setup)()),
        };
        NamedSpace::new(self.name, &space)
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
        let verdict = match (&found, &exploration.verdict) {
            (Some(_), _) => CheckVerdict::Violated,
            (None, Verdict::Incomplete { .. }) => CheckVerdict::Incomplete,
            (None, Verdict::Verified | Verdict::Violated { .. }) => CheckVerdict::Holds,
        };
        let counterexample = found.map(|(promise, actions, loop_start)| Counterexample {
            promise,
            steps: actions.len(),
            token: self.token(named, actions, loop_start),
        });
        Ok(Checked { verdict, exploration, counterexample })
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
        let setup: Setup<L> = unpack_setup(setup)?;
        let options = SweepOptions {
            jobs: how.jobs,
            keep_going: how.keep_going,
            sought: how.sought,
            strategy: how.strategy,
            limits: RunLimits::of(&setup),
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
        let setup: Setup<L> = unpack_setup(setup)?;
        let (limits, mut engine) = (RunLimits::of(&setup), Engine::new());
        Ok(seeds.map(|seed| engine.run(&setup, plan, seed, &limits, &mut ())).collect())
    }

    fn shrink(
        &self,
        token: &Token,
        promise: Option<Promise>,
        stop: &AtomicBool,
        on_run: &dyn Fn(u64),
    ) -> Result<Reduced, RunError> {
        let broken = self.replay(token, &TextOptions::default())?;
        let breaks = |promise: Promise| {
            let violated = broken.violations.iter().any(|violation| violation.promise == promise);
            violated || broken.starved == Some(promise)
        };
        let first = broken.violations.first().map(|violation| violation.promise).or(broken.starved);
        let Some(promise) = promise.or(first).filter(|promise| breaks(*promise)) else {
            return Ok(Reduced::NothingBroken);
        };
        let Some((setup, plan, seed)) = self.seeded(token)? else {
            return Ok(Reduced::Shortest { promise });
        };
        let Some(shrunk) = shrink(&setup, &plan, seed, promise, stop, on_run) else {
            return Ok(Reduced::NothingBroken);
        };
        let Failing { trial: Trial { setup, plan, seed }, size } = shrunk.run;
        Ok(Reduced::Shrunk {
            promise,
            token: Token::planned(self.name, pack_setup(&setup), &plan, seed),
            before: shrunk.from,
            after: size,
            plan: plan.to_string(),
            runs: shrunk.runs,
            interrupted: shrunk.interrupted,
        })
    }

    fn fingerprint(&self, token: &Token) -> Result<String, RunError> {
        let Some((setup, plan, seed)) = self.seeded(token)? else {
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
        if let Some((setup, plan, seed)) = self.seeded(token)? {
            return Ok(self.replay_seeded(token, &setup, &plan, seed, options));
        }
        let Body::Path { setup, bounds, actions, loop_start } = &token.body else {
            unreachable!("what is no seeded run is a path");
        };
        let bounds: Bounds = postcard::from_bytes(bounds).map_err(|_| RunError::Bounds)?;
        let space = Space { setup: unpack_setup(setup)?, bounds };
        self.replay_path(token, &space, actions, loop_start.map(usize::from), options)
    }
}

/// What is owed where the loop begins, and served nowhere in it.
fn never_served<L: Lock>(space: &Space<L>, stem: &[u16], cycle: &[u16]) -> Result<Option<Goal>, NoSuchPath> {
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
    Ok(goals.first().copied())
}

/// What can be owed to so many clients of so many locks.
pub fn goals(clients: u8, locks: u8, promises: PromiseSet) -> Vec<Goal> {
    let mut goals = vec![Goal::DeadlockFreedom];
    goals.extend((1..locks).map(|lock| Goal::DeadlockFreedomOf(LockId(lock))));
    goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
    if promises.contains(Promise::Theorem3) {
        goals.push(Goal::Theorem3);
    }
    goals.push(Goal::SomebodyIsGranted);
    goals
}

/// Text, JSON and hash of one run, and what it broke.
struct Watcher {
    observers: Both<TextTrace, Both<JsonEvents, TraceHash>>,
    violations: Vec<Violation>,
    /// How many more steps the text shows, once a promise is broken; `None`: all.
    more: Option<usize>,
    settings: Vec<String>,
    nodes: Vec<String>,
    locks: u8,
}

/// How many steps a shortened trace goes on after the first broken promise.
const AFTERMATH_STEPS: usize = 6;

impl Watcher {
    fn new<L: Lock>(heading: Heading, setup: &Setup<L>, options: TextOptions) -> Self {
        let workload = &setup.workload;
        let clients = (0..workload.processes()).map(Node::Client);
        let servers = (0..setup.servers).map(Node::Server);
        let resource = (workload.writes == Writes::Resource).then_some(Node::Resource);
        let (settings, nodes) = (heading.settings.clone(), clients.chain(servers).chain(resource));
        let text = TextTrace::new(heading, options);
        Watcher {
            more: options.last.map(|_| AFTERMATH_STEPS),
            observers: Both(text, Both(JsonEvents::default(), TraceHash::default())),
            violations: Vec::new(),
            settings,
            nodes: nodes.map(|node| node.to_string()).collect(),
            locks: workload.locks,
        }
    }

    fn text(&mut self) -> &mut TextTrace {
        &mut self.observers.0
    }

    fn finish(self, starved: Option<Promise>, plan: Option<String>) -> Replay {
        let Both(text, Both(events, hash)) = self.observers;
        Replay {
            text: text.finish(),
            trace_hash: hash.to_string(),
            violations: self.violations,
            events: events.finish(),
            starved,
            plan,
            settings: self.settings,
            nodes: self.nodes,
            locks: self.locks,
            loop_start: None,
            in_ticks: false,
        }
    }
}

impl<L: Lock> Observer<L> for Watcher {
    fn observe(&mut self, step: &Step<L>) {
        let Both(text, others) = &mut self.observers;
        Observer::<L>::observe(others, step);
        match &mut self.more {
            Some(0) => {}
            Some(more) => {
                *more -= usize::from(!self.violations.is_empty());
                Observer::<L>::observe(text, step);
            }
            None => Observer::<L>::observe(text, step),
        }
        for violation in step.violations {
            if self.violations.iter().all(|known| known.promise != violation.promise) {
                self.violations.push(*violation);
            }
        }
    }
}

fn pack<T: Serialize>(value: &T) -> Vec<u8> {
    match postcard::to_stdvec(value) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("plain data packs: {error}"),
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
