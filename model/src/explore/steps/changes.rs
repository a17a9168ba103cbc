//! What happens while no node takes a step: time passes, messages are lost, clients pause.

use super::memory::{Change, Length, Memory, Slot};
use super::rows::Row;
use crate::canonical::{Holds, Ranks};
use crate::cluster::{Condition, Status};
use crate::explore::packed::pack;
use crate::system::System;
use crate::time::Micros;
use crate::world::{Action, Bounds, Envelope, TICK};
use picklock_properties::Judge;

impl<Y: System> Memory<'_, Y> {
    /// A fault of the network, or a pause begins or ends: no node takes a step.
    pub(super) fn interfere(&mut self, row: &Row, next: &mut Row, action: Action) -> bool {
        let mut before = next.messages.len();
        let change = match action {
            Action::Lose { position } => {
                next.messages.remove(usize::from(position));
                before -= 1;
                Change::Struck
            }
            Action::Duplicate { position } => {
                let message = next.messages[usize::from(position)];
                let age = self.space.bounds.age_of_twin(self.messages.value(message).age);
                next.messages.push(self.aged(message, age));
                Change::Struck
            }
            Action::Pause { client } => Change::Paused { client },
            Action::Resume { client } => Change::Resumed { client },
            other => unreachable!("{other:?} is more than that"),
        };
        next.shared = self.changed(next.shared, change);
        self.settle(next, Length::Step);
        self.forget_holds(next);
        let is_known = self.rewrite(next, None, row.shared, before);
        if self.space.bounds.delivers_at_once() {
            self.sort_messages(next);
        }
        is_known
    }

    /// A tick passes. Stamps that fit into bits are all of the past, and so keep their ranks if none goes; so do serials. Every
    /// other time is the node's own: its part is another one, whatever the others are.
    pub(super) fn tick(&mut self, next: &mut Row) -> bool {
        let paused = |condition: &Condition| matches!(condition.status, Status::Paused { .. });
        let is_any_paused = self.shared.value(next.shared).1.iter().any(paused);
        if is_any_paused && self.space.bounds.pauses_suspend || !self.is_compact(next) {
            return false;
        }
        for at in 0..next.messages.len() {
            let age = self.space.bounds.a_tick_older(self.messages.value(next.messages[at]).age);
            next.messages[at] = self.aged(next.messages[at], age);
        }
        if is_any_paused {
            next.shared = self.changed(next.shared, Change::Ticked);
        }
        let before = next.nodes.clone();
        self.settle(next, Length::Tick);
        if before != next.nodes {
            // What has expired took stamps with it: those of others may move up.
            return false;
        }
        for at in 0..next.nodes.len() {
            next.nodes[at] = self.ticked(Slot::Node(at), next.nodes[at]);
        }
        for at in 0..next.messages.len() {
            next.messages[at] = self.ticked(Slot::Message, next.messages[at]);
        }
        self.sort_messages(next);
        true
    }

    /// Whether all stamps are of the past and fit into bits, as serials do.
    pub(super) fn is_compact(&self, row: &Row) -> bool {
        let is_compact = |slot, number| self.holds(slot, number).is_some_and(Holds::is_of_the_past);
        let mut nodes = row.nodes.iter().enumerate();
        nodes.all(|(at, number)| is_compact(Slot::Node(at), *number))
            && is_compact(Slot::Shared, row.shared)
            && row.messages.iter().all(|number| is_compact(Slot::Message, *number))
    }

    /// The part a tick later.
    pub(super) fn ticked(&mut self, slot: Slot, number: u32) -> u32 {
        let key = (slot.number(), number);
        if let Some(number) = self.ticked.get(&key) {
            return *number;
        }
        let after = self.rewritten_in(slot, number, &Ranks::unmoved(self.groups.len()), Length::Tick);
        self.ticked.insert(key, after);
        after
    }

    /// The same message, of another age.
    pub(super) fn aged(&mut self, number: u32, age: u8) -> u32 {
        if self.messages.value(number).age == age {
            return number;
        }
        if let Some(aged) = self.aged.get(&(number, age)) {
            return *aged;
        }
        let mut packed = std::mem::take(&mut self.packed);
        pack(&Envelope { age, ..self.messages.value(number).clone() }, &mut packed);
        let aged = self.message_of(&packed);
        self.packed = packed;
        self.aged.insert((number, age), aged);
        aged
    }

    /// What is shared, after a change of it by no node's step.
    pub(super) fn changed(&mut self, number: u32, change: Change) -> u32 {
        if let Some(changed) = self.changed.get(&(number, change)) {
            return *changed;
        }
        let mut shared = self.shared.value(number).clone();
        let (_, conditions, _, judge) = &mut shared;
        match change {
            Change::Struck => judge.struck(),
            Change::Paused { client } => {
                judge.struck();
                let ticks_left = self.space.bounds.pause_ticks;
                conditions[usize::from(client)].status = Status::Paused { ticks_left };
            }
            Change::Resumed { client } => conditions[usize::from(client)].status = Status::Up,
            Change::ClockSet { node } => {
                let Bounds { clock_step_ticks, server_clock_step_ticks, .. } = self.space.bounds;
                let is_client = usize::from(node) < self.clients.len();
                let ticks = if is_client { clock_step_ticks } else { server_clock_step_ticks };
                conditions[usize::from(node)].clock.step(Micros(i64::from(ticks) * TICK.0));
            }
            Change::Ticked => {
                conditions
                    .iter_mut()
                    .for_each(|condition| condition.status = condition.status.a_tick_later());
            }
        }
        let mut packed = std::mem::take(&mut self.packed);
        pack(&shared, &mut packed);
        let changed = self.shared_of(&packed);
        self.packed = packed;
        self.changed.insert((number, change), changed);
        changed
    }
}
