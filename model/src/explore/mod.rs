//! The exhaustive engine: every schedule of a small world.
//!
//! [`Space`] is a world with its bounds, as a `stateright::Model`, so that stateright's own checkers and its Explorer
//! work on it (this is the only folder that names stateright). The search that judges claims is our own
//! (`search`), level by level over packed states with an exact set: stateright keeps 64-bit fingerprints and
//! allocates a path per state, and gives no edges, which liveness (`liveness`) needs.

mod explorer;
mod label;
mod liveness;
mod scc;
mod search;

pub use explorer::serve_explorer;
pub use liveness::{Draws, Goal, Lasso, check_liveness};
pub use search::{Coverage, Exploration, Limits, Verdict, search};

use crate::cluster::Setup;
use crate::machine::Lock;
use crate::time::Micros;
use crate::trace::{Observer, Step};
use crate::world::{Action, Bounds, TICK, Workspace, World};

/// A world and its bounds: all schedules within them.
#[derive(Clone, Debug)]
pub struct Space<L: Lock> {
    /// Lock, store, workload, promises.
    pub setup: Setup<L>,
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

impl<L: Lock> Space<L> {
    /// A walker at the first state.
    pub fn walker(&self) -> Walker<'_, L> {
        Walker {
            space: self,
            world: World::new(&self.setup, &self.bounds),
            workspace: Workspace::default(),
            actions: Vec::new(),
            at: Micros::ZERO,
            steps: 0,
        }
    }
}

/// Goes through a space one action at a time.
pub struct Walker<'a, L: Lock> {
    space: &'a Space<L>,
    world: World<L>,
    workspace: Workspace<L>,
    actions: Vec<Action>,
    at: Micros,
    steps: usize,
}

impl<L: Lock> Walker<'_, L> {
    /// Where it stands.
    pub fn world(&self) -> &World<L> {
        &self.world
    }

    /// Takes the `action`th of the possible actions, and shows the step to `observer`.
    ///
    /// # Errors
    /// If there are not so many.
    pub fn step(&mut self, action: u16, observer: &mut impl Observer<L>) -> Result<(), NoSuchPath> {
        let Space { setup, bounds } = self.space;
        self.world.actions(setup, bounds, &mut self.actions);
        let Some(&chosen) = self.actions.get(usize::from(action)) else {
            return Err(NoSuchPath { at: self.steps, action, possible: self.actions.len() });
        };
        let happening = self.world.happening(chosen, bounds);
        self.world.apply(chosen, setup, bounds, &mut self.workspace);
        self.steps += 1;
        if matches!(chosen, Action::Tick | Action::DriftingTick { .. }) {
            self.at = self.at + TICK;
        }
        observer.observe(&Step {
            at: self.at,
            happening: &happening,
            effects: &self.workspace.effects,
            cluster: &self.world.cluster,
            violations: self.world.broken.as_slice(),
        });
        Ok(())
    }
}

impl<L: Lock> stateright::Model for Space<L> {
    type State = World<L>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<L>> {
        vec![World::new(&self.setup, &self.bounds)]
    }

    fn actions(&self, state: &World<L>, actions: &mut Vec<Action>) {
        let mut listed = Vec::new();
        state.actions(&self.setup, &self.bounds, &mut listed);
        actions.extend(listed);
    }

    fn next_state(&self, last_state: &World<L>, action: Action) -> Option<World<L>> {
        let mut state = last_state.clone();
        state.apply(action, &self.setup, &self.bounds, &mut Workspace::default());
        Some(state)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![
            stateright::Property::always("no promise is broken", |_, state: &World<L>| {
                state.broken.is_none()
            }),
            stateright::Property::sometimes("the lock is granted", |_, state: &World<L>| {
                !state.cluster.usage().granted.is_empty()
            }),
        ]
    }

    fn format_action(&self, action: &Action) -> String {
        format!("{action:?}")
    }
}

/// What stateright's own breadth-first checker says about the space: unique states, and whether a promise was broken.
pub fn cross_check<L: Lock>(space: Space<L>, threads: usize) -> (usize, bool) {
    use stateright::{Checker, Model};
    let checker = space.checker().threads(threads).spawn_bfs().join();
    (checker.unique_state_count(), checker.discovery("no promise is broken").is_some())
}
