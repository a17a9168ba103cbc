//! A lock whose type nobody needs to know, and what can be done with it.

use super::changed::NotSet;
use super::{CheckOptions, Checked, General, GeneralHow, Other, Replay, Surroundings, Wanted};
use crate::plans::fault::FaultSet;
use crate::plans::plan::Plan;
use crate::plans::shrink::Size;
use crate::plans::strategy::Strategy;
use crate::report::TextOptions;
use crate::seeded::outcome::Outcome;
use crate::sweep::{OnMerged, PlannedRun, SweepError, SweepReport};
use crate::token::Token;
use picklock_model::claims::{BadSetup, Judgement, NamedSpace, Widened, Widening};
use picklock_model::explore::{Limits, NoSuchPath};
use picklock_model::time::Micros;
use picklock_properties::{Promise, PromiseSet};
use std::sync::atomic::AtomicBool;

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
    /// The plan is for another number of nodes, or can strike nothing among these.
    #[error("the plan cannot be run with this lock: {0}")]
    PlanFile(String),
    /// A setting of the lock is of a type that has no names: a token cannot be made.
    #[error("the setup cannot be told by the names of its parts: {0}")]
    Unnamed(String),
    /// What else could have happened was asked of a run that one seed has drawn.
    #[error("it was drawn by a seed, and other steps can be taken only in runs of the exhaustive engine")]
    OfASeed,
    /// The run has no such step.
    #[error("the run has {steps} steps, and no step {step}")]
    NoSuchStep {
        /// Which was asked for.
        step: usize,
        /// How many there are.
        steps: usize,
    },
    /// What happens in the step was settled by an earlier one.
    #[error("step {step} comes at once with step {with}: ask for that one")]
    AtOnce {
        /// Which was asked for.
        step: usize,
        /// The one that settles it.
        with: usize,
    },
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
    /// A setting cannot be what was asked for.
    #[error(transparent)]
    NotSet(#[from] NotSet),
    /// A machine panicked.
    #[error(transparent)]
    Panicked(Box<PanickedIn>),
    /// The sweep's threads could not be started.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// A machine panicked in a run of this lock.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{lock} panicked {place}: {what}")]
pub struct PanickedIn {
    /// Name of the lock.
    pub lock: &'static str,
    /// What it said, and in which line of which file, if that is known.
    pub what: String,
    /// Where, in words.
    pub place: String,
    /// Replays what came before it.
    pub token: Option<Token>,
}

/// A walk on which the search sees something else than what happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audit {
    /// In what the two differ.
    pub what: String,
    /// How many steps it takes.
    pub steps: usize,
    /// Replays it.
    pub token: Token,
}

/// How a token's run is made small.
pub struct ShrinkHow<'a> {
    /// The promise that it shall still break; `None`: the one that the token was made for, or else the gravest.
    pub promise: Option<Promise>,
    /// Whether all servers stay; if not, those without which the lock would be another algorithm
    /// ([`System::servers_min`](picklock_model::system::System::servers_min)).
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
    /// How many rounds an exhaustive space of it can have: an object's operations bear marks of four bits, and the sixteenth would be taken for
    /// an earlier one.
    fn rounds_max(&self) -> u8 {
        if self.is_lock() { u8::MAX } else { 15 }
    }
    /// The promises that its setup watches: if it is not a lock, there is nothing else that it could break.
    fn watched(&self) -> PromiseSet;
    /// The settings, as `name=value` in one line.
    fn settings(&self) -> Vec<String>;
    /// The setup of seeded runs, packed, whose workload varies unless the lock forbids it; with other promises watched, if any
    /// are given.
    fn setup(&self, promises: Option<PromiseSet>) -> Vec<u8>;
    /// A packed setup in which what is called `name`, of the lock, its store or its use, is set to `value`.
    fn changed(&self, setup: &[u8], name: &str, value: &str) -> Result<Vec<u8>, RunError>;
    /// How many servers `picklock check` gives it unless told otherwise.
    fn usual_servers(&self) -> u8;
    /// How many seeded runs of it have.
    fn swept_servers(&self) -> u8;
    /// How many clients `picklock check` gives it unless told otherwise.
    fn usual_clients(&self) -> u8;
    /// How many rounds `picklock check` gives it unless told otherwise.
    fn usual_rounds(&self) -> u8;
    /// The space that `picklock check` asks for.
    fn space(&self, options: &CheckOptions) -> NamedSpace;
    /// The space that a path's token is in, with nothing watched but the promise that it was printed for; `None` of a seeded run.
    fn space_of_path(&self, token: &Token) -> Result<Option<NamedSpace>, RunError>;
    /// The same space with holds of this length, no longer and no shorter.
    fn with_hold(&self, space: &NamedSpace, hold: Micros) -> Result<NamedSpace, RunError>;
    /// What a space of this lock is like: what a verdict about it has to say beside itself.
    fn surroundings(&self, space: &NamedSpace) -> Result<Surroundings, RunError>;
    /// What a packed setup is like, for seeded runs, in a line.
    fn use_in_words(&self, setup: &[u8]) -> Result<String, RunError>;
    /// Whether each seed draws its own workload around a packed setup's.
    fn varies(&self, setup: &[u8]) -> Result<bool, RunError>;
    /// How many clients, attendants among them, and how many servers a seeded run of a packed setup has at most.
    fn nodes_in(&self, setup: &[u8]) -> Result<(u8, u8), RunError>;
    /// What a packed setup sets otherwise than the registered one, of the lock and of its store, as one phrase.
    fn settings_in_words(&self, setup: &[u8]) -> Result<String, RunError>;
    /// What a packed setup watches.
    fn watched_in(&self, setup: &[u8]) -> Result<PromiseSet, RunError>;
    /// A space of this lock with one bound wider; `None` where that bound means nothing.
    fn widened(&self, space: &NamedSpace, widening: Widening) -> Result<Option<Widened>, RunError>;
    /// Which promises are judged in a space of this lock.
    fn judged(&self, space: &NamedSpace, judgement: &Judgement) -> Result<PromiseSet, RunError>;
    /// Takes random walks of a space beside true time, and says where the search would see something else than what happens: a machine does
    /// not show its visitors all times and numbers that it keeps, and no verdict on it means anything.
    fn audit(&self, space: &NamedSpace) -> Result<Option<Audit>, RunError>;
    /// Explores a space of this lock.
    fn check(&self, space: &NamedSpace, judgement: &Judgement, limits: &Limits) -> Result<Checked, RunError>;
    /// Runs many seeds.
    fn sweep(
        &self,
        setup: &[u8],
        faults: FaultSet,
        seeds: std::ops::Range<u64>,
        how: &SweepHow,
    ) -> Result<SweepReport, RunError>;
    /// Looks for rows of the catalogue in this lock as it is registered, by plans that know of none.
    fn general(&self, wanted: &[Wanted], how: &GeneralHow) -> Result<General, RunError>;
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
    fn replay(&self, token: &Token, options: &TextOptions) -> Result<Replay, RunError> {
        self.replay_keeping(token, options, &[])
    }
    /// The same; its text has a row for each of these steps, counted from 1, whatever is folded or left out.
    fn replay_keeping(
        &self,
        token: &Token,
        options: &TextOptions,
        steps: &[usize],
    ) -> Result<Replay, RunError>;
    /// What else could have happened in this step of a token's run, as a replay numbers them, in a fixed order.
    fn others(&self, token: &Token, step: usize) -> Result<Vec<Other>, RunError>;
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
    /// Given reports in the order of the seeds; see [`SweepOptions::on_merged`](crate::sweep::SweepOptions::on_merged).
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
