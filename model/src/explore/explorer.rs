//! stateright's Explorer over a space whose lock it need not know.
//!
//! The Explorer is a checker, a web server and its pages, and all of it is generic in the model: given [`Space`] itself, it
//! would be compiled once a lock. Here its states are packed, and what they are made of stands behind one `dyn`.

use super::{Space, packed};
use crate::system::System;
use crate::world::{Workspace, World};
use std::fmt::{Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// Serves stateright's Explorer, a local web page that steps through the space by hand, until the process ends.
///
/// # Errors
/// If the address cannot be listened on.
pub fn serve_explorer<Y: System>(space: Space<Y>, address: SocketAddr) -> std::io::Result<()> {
    serve(Explored(Arc::new(space)), address)
}

fn serve(explored: Explored, address: SocketAddr) -> std::io::Result<()> {
    use stateright::Model;
    // stateright panics when it cannot bind; find out first.
    drop(TcpListener::bind(address)?);
    explored.checker().serve(address);
    Ok(())
}

/// A space, of whatever lock.
trait Packable: Send + Sync {
    fn first(&self) -> Vec<u8>;
    /// What can happen next, in words, in the order of [`World::actions`].
    fn actions(&self, packed: &[u8]) -> Vec<String>;
    fn next(&self, packed: &[u8], action: usize) -> Option<Vec<u8>>;
    fn show(&self, packed: &[u8], f: &mut Formatter<'_>) -> std::fmt::Result;
    fn is_broken(&self, packed: &[u8]) -> bool;
    fn is_granted(&self, packed: &[u8]) -> bool;
}

impl<Y: System> Packable for Space<Y> {
    fn first(&self) -> Vec<u8> {
        pack(&World::new(&self.setup, &self.bounds))
    }

    fn actions(&self, packed: &[u8]) -> Vec<String> {
        let (world, mut actions): (World<Y>, _) = (unpack(packed), Vec::new());
        world.actions(&self.setup, &self.bounds, &mut actions);
        actions.into_iter().map(|action| format!("{:?}", world.happening(action, &self.bounds))).collect()
    }

    fn next(&self, packed: &[u8], action: usize) -> Option<Vec<u8>> {
        let (mut world, mut actions): (World<Y>, _) = (unpack(packed), Vec::new());
        world.actions(&self.setup, &self.bounds, &mut actions);
        world.apply(*actions.get(action)?, &self.setup, &self.bounds, &mut Workspace::default());
        Some(pack(&world))
    }

    fn show(&self, packed: &[u8], f: &mut Formatter<'_>) -> std::fmt::Result {
        let world: World<Y> = unpack(packed);
        write!(f, "{world:#?}")
    }

    fn is_broken(&self, packed: &[u8]) -> bool {
        unpack::<Y>(packed).broken.is_some()
    }

    fn is_granted(&self, packed: &[u8]) -> bool {
        !unpack::<Y>(packed).cluster.usage().granted.is_empty()
    }
}

fn pack<Y: System>(world: &World<Y>) -> Vec<u8> {
    let mut packed = Vec::new();
    packed::pack(world, &mut packed);
    packed
}

fn unpack<Y: System>(packed: &[u8]) -> World<Y> {
    packed::unpack(packed)
}

#[derive(Clone)]
struct Explored(Arc<dyn Packable>);

#[derive(Clone)]
struct Packed {
    bytes: Vec<u8>,
    space: Arc<dyn Packable>,
}

impl PartialEq for Packed {
    fn eq(&self, other: &Packed) -> bool {
        self.bytes == other.bytes
    }
}

impl Hash for Packed {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.bytes.hash(hasher);
    }
}

impl Debug for Packed {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.space.show(&self.bytes, f)
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Choice {
    position: usize,
    words: String,
}

impl Explored {
    fn packed(&self, bytes: Vec<u8>) -> Packed {
        Packed { bytes, space: self.0.clone() }
    }
}

impl stateright::Model for Explored {
    type State = Packed;
    type Action = Choice;

    fn init_states(&self) -> Vec<Packed> {
        vec![self.packed(self.0.first())]
    }

    fn actions(&self, state: &Packed, actions: &mut Vec<Choice>) {
        let listed = self.0.actions(&state.bytes).into_iter().enumerate();
        actions.extend(listed.map(|(position, words)| Choice { position, words }));
    }

    fn next_state(&self, last_state: &Packed, action: Choice) -> Option<Packed> {
        Some(self.packed(self.0.next(&last_state.bytes, action.position)?))
    }

    fn format_action(&self, action: &Choice) -> String {
        action.words.clone()
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        vec![
            stateright::Property::always("no promise is broken", |explored: &Explored, state: &Packed| {
                !explored.0.is_broken(&state.bytes)
            }),
            stateright::Property::sometimes("the lock is granted", |explored: &Explored, state: &Packed| {
                explored.0.is_granted(&state.bytes)
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::cassandra;
    use crate::explore::{Limits, search};
    use crate::workload::Calls;
    use stateright::{Checker, Model};

    #[test]
    fn the_explorer_steps_through_the_same_states_as_the_search() {
        let space = cassandra::queue_lock(2, 1, Calls::Lock, &[]);
        let states = search(&space, &Limits::states(100_000)).states;
        let checker = Explored(Arc::new(space)).checker().spawn_bfs().join();
        assert_eq!(checker.unique_state_count() as u64, states);
    }
}
