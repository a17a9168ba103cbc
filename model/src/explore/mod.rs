//! The exhaustive engine: every schedule of a small world.
//!
//! [`Space`] is a world with its bounds, as a `stateright::Model`, so that stateright's own checkers
//! work on it (this is the only folder that names stateright). Whoever wants to step through a space by hand replays a run of
//! it and asks what else could have happened ([`Another`]). The search that judges claims is our own
//! (`search`), level by level over packed states with an exact set: stateright keeps 64-bit fingerprints and
//! allocates a path per state, and gives no edges, which liveness (`liveness`) needs.

mod another;
mod audit;
mod label;
mod liveness;
mod packed;
mod parts;
mod scc;
mod search;
mod steps;
mod telling;

pub use another::{Another, Retold};
pub use audit::Apart;
pub use liveness::{Draws, Goal, Lasso, check_liveness};
pub use packed::{pack, unpack};
pub use search::{Alike, Coverage, Exploration, Limits, Seen, Verdict, search, search_alike};
pub use steps::Remembered;
pub use telling::{Manner, Parting, Telling};

use crate::cluster::Setup;
use crate::system::System;
use crate::trace::{Observer, Step};
use crate::world::{Action, Bounds, Envelope, Workspace, World};

/// A world and its bounds: all schedules within them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Space<Y: System> {
    /// Lock, store, workload, promises.
    pub setup: Setup<Y>,
    /// How time passes and which faults may come.
    pub bounds: Bounds,
}

/// A path of [`Action`]s, each given by its position in [`World::actions`].
pub type Path = Vec<u16>;

/// A path that does not lead through the space: the `at`th action is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("step {at} of the path is action {action}, but only {possible} are possible there")]
pub struct NoSuchPath {
    /// Which step, from 0.
    pub at: usize,
    /// The action it asks for.
    pub action: u16,
    /// How many there are.
    pub possible: usize,
}

impl<Y: System> Space<Y> {
    /// Whether one of all worlds that differ in nothing but which client is which may be enough: clients do the same, whatever their
    /// numbers, and no clock of one of them can go wrong. Crossing out the rest of what may tell them apart is up to the search.
    fn has_clients_alike(&self) -> bool {
        let Space { setup: Setup { workload, .. }, bounds } = self;
        Y::SHOWS_CLIENTS
            && (2..=steps::CLIENTS_MAX).contains(&workload.clients)
            && workload.clients == workload.processes()
            && workload.has_clients_alike()
            && (bounds.freezes, bounds.last_client_ahead_ticks) == (0, 0)
            && !bounds.delivers_at_once()
    }

    /// A walker at the first state.
    pub fn walker(&self) -> Walker<'_, Y> {
        self.walker_telling(Manner::AsSearched)
    }

    /// The same, told in this manner.
    pub fn walker_telling(&self, manner: Manner) -> Walker<'_, Y> {
        Walker {
            space: self,
            world: World::new(&self.setup, &self.bounds),
            workspace: Workspace::default(),
            places: Vec::new(),
            actions: Vec::new(),
            telling: Telling::new(self, manner),
            steps: 0,
        }
    }
}

/// Goes through a space one action at a time. The positions of actions are those of the search's own worlds; what an
/// observer sees is [`Telling`]'s.
pub struct Walker<'a, Y: System> {
    space: &'a Space<Y>,
    world: World<Y>,
    workspace: Workspace<Y>,
    places: Vec<usize>,
    actions: Vec<Action>,
    telling: Telling<'a, Y>,
    steps: usize,
}

impl<'a, Y: System> Walker<'a, Y> {
    /// Where it stands, in canonical form.
    pub fn world(&self) -> &World<Y> {
        &self.world
    }

    /// The same, as it is told.
    pub fn telling(&mut self) -> &mut Telling<'a, Y> {
        &mut self.telling
    }

    /// What can happen next.
    pub fn possible(&mut self) -> &[Action] {
        self.world.actions(&self.space.setup, &self.space.bounds, &mut self.actions);
        &self.actions
    }

    /// The message at this position of those under way, as it is told.
    fn envelope(&self, position: usize) -> &Envelope<Y> {
        let told = self.telling.world().in_flight.get(position);
        told.filter(|_| self.telling.parting().is_none()).unwrap_or(&self.world.in_flight[position])
    }

    /// A second walker where this one stands.
    fn fork(&self) -> Walker<'a, Y> {
        Walker {
            space: self.space,
            world: self.world.clone(),
            workspace: Workspace::default(),
            places: Vec::new(),
            actions: Vec::new(),
            telling: self.telling.fork(),
            steps: self.steps,
        }
    }

    /// Takes the `action`th of the possible actions, and shows what happens to `observer`: one step, and one more for each
    /// message that arrives at once ([`Bounds::colocated`]).
    ///
    /// # Errors
    /// If there are not so many.
    pub fn step(&mut self, action: u16, observer: &mut dyn Observer<Y>) -> Result<(), NoSuchPath> {
        let Space { setup, bounds } = self.space;
        self.world.actions(setup, bounds, &mut self.actions);
        let Some(&chosen) = self.actions.get(usize::from(action)) else {
            return Err(NoSuchPath { at: self.steps, action, possible: self.actions.len() });
        };
        let happening = self.world.happening(chosen, bounds);
        self.world.apply_and_place(chosen, setup, bounds, &mut self.workspace, &mut self.places);
        self.steps += 1;
        if self.telling.parting().is_none() {
            let seen = telling::Seen { effects: &self.workspace.effects, broken: self.world.broken };
            self.telling.tell(self.steps, chosen, &seen, &self.places, observer);
            return Ok(());
        }
        // A telling that went wrong is said to have; the rest is shown as the search sees it.
        observer.observe(&Step {
            at: self.telling.now(),
            happening: &happening,
            effects: &self.workspace.effects,
            cluster: &self.world.cluster,
            violations: self.world.broken.as_slice(),
            sent_in: None,
        });
        Ok(())
    }
}

impl<Y: System> stateright::Model for Space<Y> {
    type State = World<Y>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<Y>> {
        vec![World::new(&self.setup, &self.bounds)]
    }

    fn actions(&self, state: &World<Y>, actions: &mut Vec<Action>) {
        let mut listed = Vec::new();
        state.actions(&self.setup, &self.bounds, &mut listed);
        actions.extend(listed);
    }

    fn next_state(&self, last_state: &World<Y>, action: Action) -> Option<World<Y>> {
        let mut state = last_state.clone();
        state.apply(action, &self.setup, &self.bounds, &mut Workspace::default());
        Some(state)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![
            stateright::Property::always("no promise is broken", |_, state: &World<Y>| {
                state.broken.is_none()
            }),
            stateright::Property::sometimes("the lock is granted", |_, state: &World<Y>| {
                !state.cluster.usage().granted.is_empty()
            }),
        ]
    }

    fn format_action(&self, action: &Action) -> String {
        format!("{action:?}")
    }
}

/// What stateright's own breadth-first checker says about the space: unique states, and whether a promise was broken.
pub fn cross_check<Y: System>(space: Space<Y>, threads: usize) -> (usize, bool) {
    use stateright::{Checker, Model};
    let checker = space.checker().threads(threads).spawn_bfs().join();
    (checker.unique_state_count(), checker.discovery("no promise is broken").is_some())
}
