//! Worlds by the numbers of their parts, and back.

use super::known::values;
use super::memory::{Memory, Slot};
use super::numbers::{Numbers, RowHash};
use super::{COUNT, kept};
use crate::explore::packed::append;
use crate::system::System;
use crate::world::{Budget, View, World};
use picklock_properties::Violation;
use smallvec::SmallVec;

/// A world by the numbers of its parts.
#[derive(Default)]
pub(in crate::explore) struct Row {
    /// Clients, then servers.
    pub(super) nodes: SmallVec<[u32; 8]>,
    pub(super) shared: u32,
    pub(super) messages: SmallVec<[u32; 12]>,
}

/// The first two numbers of a row that is kept: of what belongs to no part, and of what is shared. Behind them are those of the nodes, then
/// those of messages.
pub(super) fn key(numbers: &mut impl Iterator<Item = u32>) -> (u32, u32) {
    match (numbers.next(), numbers.next()) {
        (Some(rest), Some(shared)) => (rest, shared),
        _ => unreachable!("every row that is kept has them"),
    }
}

/// What belongs to no part of a world: the faults that are left, and what is broken.
#[derive(Clone, Copy)]
pub(in crate::explore) struct Rest {
    /// Its number for all threads.
    pub(super) number: u32,
    pub(super) hash: u64,
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

    /// Reads a world that is kept as a row of numbers for all threads.
    pub fn read_kept(&mut self, kept: &[u16], numbers: &Numbers, row: &mut Row) {
        let nodes = self.clients.len() + self.servers.len();
        row.nodes.clear();
        row.messages.clear();
        let mut of_parts = kept::numbers(kept);
        let (_, shared) = key(&mut of_parts);
        row.shared = self.here(Slot::Shared, shared, numbers);
        for (at, number) in of_parts.enumerate() {
            match at < nodes {
                true => row.nodes.push(self.here(Slot::Node(at), number, numbers)),
                false => row.messages.push(self.here(Slot::Message, number, numbers)),
            }
        }
    }

    /// The number here of a part with this number for all threads.
    fn here(&mut self, slot: Slot, for_all: u32, numbers: &Numbers) -> u32 {
        let known = match slot {
            Slot::Node(at) => match at.checked_sub(self.clients.len()) {
                None => self.clients[at].here(for_all),
                Some(server) => self.servers[server].here(for_all),
            },
            Slot::Shared => self.shared.here(for_all),
            Slot::Message => self.messages.here(for_all),
        };
        if let Some(number) = known {
            return number;
        }
        let mut bytes = Vec::new();
        numbers.append(self.kind(slot), for_all, &mut bytes);
        let number = match slot {
            Slot::Node(at) => self.node_of(at, &bytes),
            Slot::Shared => self.shared_of(&bytes),
            Slot::Message => self.message_of(&bytes),
        };
        match slot {
            Slot::Node(at) => match at.checked_sub(self.clients.len()) {
                None => self.clients[at].meet(number, for_all),
                Some(server) => self.servers[server].meet(number, for_all),
            },
            Slot::Shared => self.shared.meet(number, for_all),
            Slot::Message => self.messages.meet(number, for_all),
        }
        number
    }

    /// Which kind of part belongs there, among those of all threads.
    pub(super) fn kind(&self, slot: Slot) -> usize {
        match slot {
            Slot::Node(at) => at,
            Slot::Shared => self.clients.len() + self.servers.len(),
            Slot::Message => self.clients.len() + self.servers.len() + 1,
        }
    }

    /// Appends what the last step led to as a row of numbers for all threads, with what belongs to no part, and says what its hash is.
    pub fn keep_next(&mut self, rest: Rest, numbers: &Numbers, kept: &mut Vec<u16>) -> u64 {
        let next = std::mem::take(&mut self.next);
        let hash = self.keep_row(&next, rest, numbers, kept);
        self.next = next;
        hash
    }

    /// The same for the world of a row.
    pub fn keep_row(&mut self, next: &Row, rest: Rest, numbers: &Numbers, kept: &mut Vec<u16>) -> u64 {
        let Memory { clients, servers, shared, messages, .. } = self;
        let nodes = clients.len() + servers.len();
        let mut hash = RowHash::default();
        hash.add(rest.hash);
        hash.add(shared.hashes[next.shared as usize]);
        kept::push(kept, rest.number);
        kept::push(kept, shared.for_all(next.shared, nodes, numbers));
        let (of_clients, of_servers) = next.nodes.split_at(clients.len());
        for (at, (known, number)) in clients.iter_mut().zip(of_clients).enumerate() {
            hash.add(known.hashes[*number as usize]);
            kept::push(kept, known.for_all(*number, at, numbers));
        }
        for (at, (known, number)) in servers.iter_mut().zip(of_servers).enumerate() {
            hash.add(known.hashes[*number as usize]);
            kept::push(kept, known.for_all(*number, of_clients.len() + at, numbers));
        }
        for number in &next.messages {
            hash.add(messages.hashes[*number as usize]);
            kept::push(kept, messages.for_all(*number, nodes + 1, numbers));
        }
        hash.end()
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
