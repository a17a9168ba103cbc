//! An exhaustive check of a lock: what is asked for, and what it came to.

use crate::token::Token;
use picklock_model::claims::{Assumption, Expected, Sight, Unmet, unmet};
use picklock_model::cluster::Setup;
use picklock_model::explore::{Exploration, Goal, NoSuchPath, Space};
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::trace::{Observer, Step};
use picklock_model::workload::{Calls, ROUNDS_WITHOUT_END, Workload, Writes};
use picklock_model::world::{Bounds, Fault, TICK};
use picklock_properties::{ClientId, LockId, Promise, PromiseSet};
use serde::Serialize;

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
    /// [`Workload::somebody_is_owed`], of such clients.
    pub fn somebody_is_owed(&self) -> bool {
        !self.try_lock && self.rounds != ROUNDS_WITHOUT_END
    }

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
        self.drop.iter().for_each(|assumption| bounds.drop_assumption(*assumption, lasts, setup.servers));
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
pub fn with_holds_of_any_length<Y: System>(mut space: Space<Y>) -> Space<Y> {
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
    /// The faults that were let in and never came: nothing is known of what they do.
    pub never_struck: Vec<Fault>,
    /// Whether a lock has a lease in a world without time, in which it never ended: nothing is known of what its end does.
    pub nothing_expired: bool,
    /// Why it is no evidence that what was dropped is not needed; empty until that is asked ([`Checked::without`]).
    pub unmet: Vec<Unmet>,
    /// What has to be seen for such evidence.
    pub sight: Sight,
    /// The counts.
    pub exploration: Exploration,
    /// The run that breaks the promise.
    pub counterexample: Option<Counterexample>,
}

impl Checked {
    /// The same, as an answer to whether these assumptions are needed: what holds where nothing of what they rule out happened, or
    /// mattered to anybody, is vacuous.
    #[must_use]
    pub fn without(mut self, dropped: &[Assumption]) -> Checked {
        // A run that breaks the promise is evidence by itself.
        if self.verdict != CheckVerdict::Violated {
            self.unmet = unmet(dropped, self.sight, &self.exploration.coverage);
        }
        if self.verdict == CheckVerdict::Holds && !self.unmet.is_empty() {
            self.verdict = CheckVerdict::Vacuous;
        }
        self
    }

    /// Whether it is vacuous for that alone: the promise was put to the test, and every fault that was let in came.
    pub fn is_merely_unmet(&self) -> bool {
        let is_tested = self.untested.is_empty() && self.never_struck.is_empty() && !self.nothing_expired;
        self.verdict == CheckVerdict::Vacuous && is_tested
    }
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
    /// ([`Promise::tested_by`]), a fault that was let in never came, a lease could not end, or nothing happened of what a dropped
    /// assumption rules out ([`Checked::without`]).
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
            (CheckVerdict::Holds, Expected::Violated | Expected::Untested)
            | (CheckVerdict::Violated, Expected::Holds | Expected::Untested) => true,
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

/// What is owed where the loop begins, and served nowhere in it.
pub(super) fn never_served<Y: System>(
    space: &Space<Y>,
    stem: &[u16],
    cycle: &[u16],
    asked: Option<Promise>,
) -> Result<Option<Goal>, NoSuchPath> {
    let mut walker = space.walker();
    for action in stem {
        walker.step(*action, &mut ())?;
    }
    let Workload { clients, locks, .. } = space.setup.workload;
    let mut goals = goals(clients, locks, space.setup.workload.somebody_is_owed(), space.setup.promises);
    goals.retain(|goal| {
        let (owed, served) = goal.owed_and_served(space, walker.world());
        owed && !served
    });
    for action in cycle {
        walker.step(*action, &mut ())?;
        goals.retain(|goal| !goal.owed_and_served(space, walker.world()).1);
    }
    let asked = goals.iter().find(|goal| Some(goal.promise()) == asked);
    Ok(asked.or(goals.first()).copied())
}

/// How many steps whoever is shown a path sees: where messages that are delivered at once belong to the step that sent them, more
/// than there are actions.
pub(super) fn steps_of<Y: System>(space: &Space<Y>, actions: &[u16]) -> Result<usize, NoSuchPath> {
    let (mut walker, mut steps) = (space.walker(), Steps(0));
    for action in actions {
        walker.step(*action, &mut steps)?;
    }
    Ok(steps.0)
}

/// The step that each action begins with, from 1, as whoever is shown the path counts them; and behind them all one more.
pub(super) fn first_steps<Y: System>(space: &Space<Y>, actions: &[u16]) -> Result<Vec<usize>, NoSuchPath> {
    let (mut walker, mut steps) = (space.walker(), Steps(0));
    let mut firsts = vec![1];
    for action in actions {
        walker.step(*action, &mut steps)?;
        firsts.push(steps.0 + 1);
    }
    Ok(firsts)
}

struct Steps(usize);

impl<Y: System> Observer<Y> for Steps {
    fn observe(&mut self, _step: &Step<Y>) {
        self.0 += 1;
    }
}

/// What can be owed to so many clients of so many locks: to who waits, and, if somebody is owed a grant whatever happens
/// ([`Workload::somebody_is_owed`]), to all of them.
pub fn goals(clients: u8, locks: u8, somebody_is_owed: bool, promises: PromiseSet) -> Vec<Goal> {
    let mut goals = vec![Goal::DeadlockFreedom];
    goals.extend((1..locks).map(|lock| Goal::DeadlockFreedomOf(LockId(lock))));
    goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
    if promises.contains(Promise::ReleaseEnds) {
        goals.extend((0..clients).map(|client| Goal::ReleaseEnds(ClientId(client))));
    }
    if promises.contains(Promise::Theorem3) {
        goals.push(Goal::Theorem3);
    }
    if somebody_is_owed {
        goals.push(Goal::SomebodyIsGranted);
    }
    goals
}
