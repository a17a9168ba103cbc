//! Worlds by the numbers of their parts, and back.

use super::COUNT;
use super::known::values;
use super::memory::Memory;
use crate::explore::packed::append;
use crate::system::System;
use crate::world::{Budget, View, World};
use picklock_properties::{Monitors, Violation};
use smallvec::SmallVec;

/// A world by the numbers of its parts.
#[derive(Default)]
pub(in crate::explore) struct Row {
    /// Clients, then servers.
    pub(super) nodes: SmallVec<[u32; 8]>,
    pub(super) shared: u32,
    pub(super) messages: SmallVec<[u32; 12]>,
}

impl Clone for Row {
    fn clone(&self) -> Self {
        let mut row = Row::default();
        row.clone_from(self);
        row
    }

    fn clone_from(&mut self, source: &Self) {
        self.nodes.clear();
        self.nodes.extend_from_slice(&source.nodes);
        self.shared = source.shared;
        self.messages.clear();
        self.messages.extend_from_slice(&source.messages);
    }
}

impl<Y: System> Memory<'_, Y> {
    /// Reads a world that is packed in parts of these lengths.
    pub fn read(&mut self, bytes: &[u8], lengths: &[u16], row: &mut Row) {
        let (clients, servers) = (self.clients.len(), self.servers.len());
        row.nodes.resize(clients + servers, 0);
        row.messages.resize(lengths.len() - clients - servers - 1, 0);
        let mut at = COUNT;
        for (number, length) in lengths.iter().enumerate() {
            at += if number == clients || number == clients + servers + 1 { COUNT } else { 0 };
            let part = &bytes[at..at + usize::from(*length)];
            at += part.len();
            // Often it is the same as in the world that was read before.
            match number.checked_sub(clients + servers) {
                None => {
                    let is_same = match number.checked_sub(clients) {
                        None => self.clients[number].is(row.nodes[number], part),
                        Some(server) => self.servers[server].is(row.nodes[number], part),
                    };
                    if !is_same {
                        row.nodes[number] = self.node_of(number, part);
                    }
                }
                Some(0) => {
                    if !self.shared.is(row.shared, part) {
                        row.shared = self.shared_of(part);
                    }
                }
                Some(message) => {
                    let message = message - 1;
                    if !self.messages.is(row.messages[message], part) {
                        row.messages[message] = self.message_of(part);
                    }
                }
            }
        }
    }

    /// Makes the world of a row in place of another one, of whose row it need not change what is the same.
    pub fn restore(&self, row: &Row, of: Option<&Row>, world: &mut World<Y>) {
        let World { cluster, in_flight, .. } = world;
        let is_other = |slot: usize| of.is_none_or(|of| of.nodes[slot] != row.nodes[slot]);
        let (clients, servers) = row.nodes.split_at(self.clients.len());
        for (slot, (known, number)) in self.clients.iter().zip(clients).enumerate() {
            if is_other(slot) {
                cluster.clients[slot].clone_from(known.value(*number));
            }
        }
        for (slot, (known, number)) in self.servers.iter().zip(servers).enumerate() {
            if is_other(clients.len() + slot) {
                cluster.servers[slot].clone_from(known.value(*number));
            }
        }
        if of.is_none_or(|of| of.shared != row.shared) {
            cluster.set_shared(self.shared.value(row.shared).clone());
        }
        in_flight.truncate(row.messages.len());
        for (at, number) in row.messages.iter().enumerate() {
            let message = self.messages.value(*number);
            match in_flight.get_mut(at) {
                Some(place) if of.is_some_and(|of| of.messages.get(at) == Some(number)) => {
                    debug_assert!(place == message);
                }
                Some(place) => place.clone_from(message),
                None => in_flight.push(message.clone()),
            }
        }
    }

    /// What can be seen of the world of a row, with so many faults left.
    pub fn view(&self, row: &Row, budget: Budget, is_broken: bool) -> View<'_, Y> {
        let (clients, servers) = row.nodes.split_at(self.clients.len());
        let (_, conditions, monitors, _) = self.shared.value(row.shared);
        View {
            clients: values(&self.clients, clients).collect(),
            servers: values(&self.servers, servers).collect(),
            conditions,
            monitors,
            in_flight: row.messages.iter().map(|number| self.messages.value(*number)).collect(),
            budget,
            is_broken,
        }
    }

    /// The world that the last step led to, in place of another one.
    pub fn restore_next(&self, world: &mut World<Y>) {
        self.restore(&self.next, None, world);
    }

    /// What was observed up to the last step.
    pub fn monitors_next(&self) -> &[Monitors] {
        &self.shared.value(self.next.shared).2
    }

    /// How many messages are under way after the last step.
    pub fn messages_next(&self) -> usize {
        self.next.messages.len()
    }

    /// The bytes of what the last step led to, with so many faults left, and the lengths of its parts.
    pub fn pack_next(
        &self,
        budget: Budget,
        broken: Option<Violation>,
        packed: &mut Vec<u8>,
        lengths: &mut Vec<u16>,
    ) {
        self.pack_row(&self.next, budget, broken, packed, lengths);
    }

    /// The same for the world of a row.
    pub fn pack_row(
        &self,
        row: &Row,
        budget: Budget,
        broken: Option<Violation>,
        packed: &mut Vec<u8>,
        lengths: &mut Vec<u16>,
    ) {
        packed.clear();
        lengths.clear();
        let mut put = |part: &[u8], packed: &mut Vec<u8>| {
            packed.extend_from_slice(part);
            lengths.push(part.len() as u16);
        };
        let (clients, servers) = row.nodes.split_at(self.clients.len());
        append(&clients.len(), packed);
        for (known, number) in self.clients.iter().zip(clients) {
            put(known.bytes_of(*number), packed);
        }
        append(&servers.len(), packed);
        for (known, number) in self.servers.iter().zip(servers) {
            put(known.bytes_of(*number), packed);
        }
        put(self.shared.bytes_of(row.shared), packed);
        append(&row.messages.len(), packed);
        for number in &row.messages {
            put(self.messages.bytes_of(*number), packed);
        }
        append(&(budget, broken), packed);
    }
}
