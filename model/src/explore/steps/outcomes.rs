//! What comes of a step of a node.

use super::memory::Memory;
use super::rows::Row;
use crate::cluster::{Entry, Wake};
use crate::explore::packed::pack;
use crate::machine::Node;
use crate::system::System;
use crate::world::{End, Envelope, STEP};
use picklock_properties::{Event, Judge, PromiseSet, Violation};
use smallvec::SmallVec;

/// What enters a node: a message by its number, a deadline, or the end of its process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Entered {
    Message(u32),
    Woken(Wake),
    Ended(End),
}

/// A step of a node that is known.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) entered: Entered,
    pub(super) choice: u8,
    /// The number of the outcome; [`ANY`]: what is shared has a part in it.
    pub(super) outcome: u32,
}

impl Taken {
    fn is(&self, entered: Entered, choice: u8) -> bool {
        self.entered == entered && self.choice == choice
    }
}

/// What comes of a step of a node, not in canonical form.
#[derive(PartialEq, Eq)]
pub(in crate::explore) struct Outcome {
    /// What becomes of the node; the resource is among what is shared.
    pub(super) part: u32,
    pub(super) shared: u32,
    pub(super) sends: SmallVec<[u32; 2]>,
    /// What was observed.
    pub events: SmallVec<[Event; 1]>,
    /// Which promises that puts to the test.
    pub tested: PromiseSet,
    /// The first promise that is broken by it.
    pub broken: Option<Violation>,
}

/// In an outcome: what is shared stays as it is. In place of one: it depends on what is shared.
pub(super) const ANY: u32 = u32::MAX;

impl<Y: System> Memory<'_, Y> {
    /// The number of what comes of it if this enters the node.
    pub(super) fn number_of_outcome(&mut self, row: &Row, node: Node, entered: Entered, choice: u8) -> u32 {
        if let Some(number) = self.known_outcome(row, node, entered, choice) {
            return number;
        }
        let outcome = self.take(row, node, entered, choice);
        self.check_symmetry(row, node, entered, choice, &outcome);
        self.remember(row, node, entered, choice, outcome)
    }

    /// The same, if the step was taken before.
    pub(super) fn known_outcome(&self, row: &Row, node: Node, entered: Entered, choice: u8) -> Option<u32> {
        let slot = self.slot(node);
        let part = slot.map_or(0, |slot| row.nodes[slot]);
        let of_part = slot.and_then(|slot| self.taken[slot].get(part as usize));
        let mut taken = of_part.into_iter().flatten();
        let alone = taken.find(|taken| taken.is(entered, choice)).map(|taken| taken.outcome);
        alone
            .filter(|number| *number != ANY)
            .or_else(|| self.taken_together.get(&(node, part, entered, choice, row.shared)).copied())
    }

    /// Keeps what comes of a step that was not taken before, and says what its number is.
    pub(super) fn remember(
        &mut self,
        row: &Row,
        node: Node,
        entered: Entered,
        choice: u8,
        mut outcome: Outcome,
    ) -> u32 {
        let slot = self.slot(node);
        let part = slot.map_or(0, |slot| row.nodes[slot]);
        let number = self.outcomes.len() as u32;
        // The resource is among what is shared, and whatever is observed changes that.
        let is_step = !matches!(entered, Entered::Ended(_));
        let is_alone = is_step && outcome.events.is_empty() && outcome.shared == row.shared && slot.is_some();
        if is_alone {
            outcome.shared = ANY;
        } else {
            self.taken_together.insert((node, part, entered, choice, row.shared), number);
        }
        self.outcomes.push(outcome);
        if let Some(slot) = slot {
            let of_node = &mut self.taken[slot];
            if of_node.len() <= part as usize {
                of_node.resize_with(part as usize + 1, Vec::new);
            }
            let of_part = &mut of_node[part as usize];
            if !of_part.iter().any(|taken| taken.is(entered, choice)) {
                let outcome = if is_alone { number } else { ANY };
                of_part.push(Taken { entered, choice, outcome });
            }
        }
        number
    }

    /// Has the node take the step.
    pub(super) fn take(&mut self, row: &Row, node: Node, entered: Entered, choice: u8) -> Outcome {
        let setup = &self.space.setup;
        let cluster = &mut self.world.cluster;
        match node {
            Node::Client(client) => {
                let at = usize::from(client);
                cluster.clients[at].clone_from(self.clients[at].value(row.nodes[at]));
            }
            Node::Server(server) => {
                let at = usize::from(server);
                cluster.servers[at].clone_from(self.servers[at].value(row.nodes[self.clients.len() + at]));
            }
            Node::Resource => {}
        }
        cluster.set_shared(self.shared.value(row.shared).clone());
        let (mut broken, effects) = (None, &mut self.effects);
        let mut on_violation = |violation: Violation| {
            broken.get_or_insert(violation);
        };
        match entered {
            Entered::Message(number) => {
                let Envelope { from, message, .. } = self.messages.value(number).clone();
                let entry = Entry::Message { from, message };
                cluster.step(node, entry, u32::from(choice), STEP, setup, effects, &mut on_violation);
            }
            Entered::Woken(wake) => {
                cluster.step(node, wake.entry(), u32::from(choice), STEP, setup, effects, &mut on_violation);
            }
            Entered::Ended(End { power_lost, restarts, .. }) => {
                cluster.judge.struck();
                cluster.crash(node, power_lost, setup, effects, &mut on_violation);
                if restarts {
                    cluster.restart(node, STEP, setup, effects, &mut on_violation);
                }
            }
        }
        let mut packed = std::mem::take(&mut self.packed);
        let part = match node {
            Node::Client(client) => {
                pack(&self.world.cluster.clients[usize::from(client)], &mut packed);
                self.node_of(usize::from(client), &packed)
            }
            Node::Server(server) => {
                let (server, slot) = (usize::from(server), self.clients.len() + usize::from(server));
                // A server that was only asked is often what it was.
                match self.world.cluster.servers[server] == *self.servers[server].value(row.nodes[slot]) {
                    true => row.nodes[slot],
                    false => {
                        pack(&self.world.cluster.servers[server], &mut packed);
                        self.node_of(slot, &packed)
                    }
                }
            }
            Node::Resource => 0,
        };
        let (resource, conditions, monitors, judge) = self.shared.value(row.shared);
        let is_same =
            self.world.cluster.shared() == (resource, conditions.as_slice(), monitors.as_slice(), judge);
        let shared = match is_same {
            true => row.shared,
            false => {
                pack(&self.world.cluster.shared(), &mut packed);
                self.shared_of(&packed)
            }
        };
        let mut sends = SmallVec::new();
        for (to, message) in std::mem::take(&mut self.effects.sends) {
            pack(&Envelope::<Y> { from: node, to, age: 0, message }, &mut packed);
            sends.push(self.message_of(&packed));
        }
        self.packed = packed;
        let events = SmallVec::from_slice(&self.effects.events);
        Outcome { part, shared, sends, events, tested: self.effects.tested, broken }
    }
}
