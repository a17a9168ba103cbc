//! Whether a system shows its visitors all that it should: a few random walks beside true time.
//!
//! The search rewrites every time and number that [`Visit`](crate::machine::Visit) shows. A time that a machine of one's own keeps and
//! does not show stays as it is while all others move, and the verdict is one on another algorithm, without a word. So walks of the
//! search's world are told in true time ([`Telling`](super::Telling)), as a path is to its reader: what a node sends, reports and waits for must
//! be the same in both. Of a world without time less can be told: there both forget what can make no difference any more, and no time has
//! passed since anything. Where servers talk of what the search has forgotten, both forget it, too. What is wrongly forgotten there is met
//! only by the walks of `tests/canonical`, in which nothing is.

use super::{Manner, Path, Space, Walker};
use crate::cluster::Status;
use crate::machine::{Node, Store};
use crate::panics::{self, Panicked, PanickedRun};
use crate::system::System;
use crate::time::Micros;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// A walk on which the search sees something else than what happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Apart {
    /// From the first state to where the two differ.
    pub path: Path,
    /// In what.
    pub what: String,
}

/// As long as a client with two rounds and a few faults needs, and some.
const STEPS: u32 = 120;

impl<Y: System> Space<Y> {
    /// Takes so many random walks, the same each time, and says on which of them the search sees something else than what happens. None
    /// where clients stand beside their coordinators ([`Bounds::colocated`](crate::world::Bounds::colocated)): deeper than the search ever goes, a
    /// step there may have no end, in which a client asks its own coordinator again and again.
    ///
    /// # Panics
    ///
    /// With a [`Panicked`], if a machine panics.
    pub fn audit(&self, walks: u32) -> Option<Apart> {
        if self.bounds.delivers_at_once() {
            return None;
        }
        (0..walks).find_map(|walk| {
            let mut path = Path::new();
            match panics::caught(|| self.walk_apart(walk, &mut path)) {
                Ok(what) => what.map(|what| Apart { path, what }),
                Err(what) => panics::unwind(Panicked { what, run: PanickedRun::Path(path) }),
            }
        })
    }

    fn walk_apart(&self, walk: u32, path: &mut Path) -> Option<String> {
        // A world without time is one of its own: how long something took is nothing that it knows.
        let is_of_its_own = self.bounds.latency_ticks.is_none();
        let manner = match is_of_its_own || Y::Store::talks_of_what_settles(&self.setup.store) {
            true => Manner::AsSearched,
            false => Manner::Unabridged,
        };
        let mut walker = self.walker_telling(manner);
        for step in 0..STEPS {
            let possible = walker.possible().len() as u64;
            let place = FixedState::default().hash_one((walk, step)).checked_rem(possible)? as u16;
            path.push(place);
            if walker.step(place, &mut ()).is_err() {
                unreachable!("it is one of those that are possible");
            }
            let parting = walker.telling().parting().map(|parting| parting.what.to_owned());
            if let Some(what) = parting.or_else(|| self.due_apart(&mut walker)) {
                return Some(what);
            }
        }
        None
    }

    /// The node of which a deadline has come in the one world and not in the other.
    fn due_apart(&self, walker: &mut Walker<Y>) -> Option<String> {
        self.bounds.latency_ticks?;
        let now = walker.telling().now();
        let (searched, told) = (walker.world().clone(), walker.telling().world());
        let apart = |node: &Node| {
            let due = |cluster: &crate::cluster::Cluster<Y>, now: Micros| {
                let clock = cluster.condition(*node).clock;
                let deadlines = cluster.deadlines(*node, &self.setup);
                deadlines.map(|deadline| deadline.map(|(due, wake)| (wake, clock.is_due(due, now))))
            };
            let is_down = matches!(searched.cluster.condition(*node).status, Status::Down { .. });
            !is_down && due(&searched.cluster, Micros::ZERO) != due(&told.cluster, now)
        };
        let node = searched.cluster.nodes().into_iter().find(apart)?;
        Some(format!("whether {node} waits for a deadline that has come"))
    }
}
