//! Rows in canonical form.

use super::memory::{Length, Memory, Slot};
use super::rows::Row;
use crate::canonical::{Holds, Piece, Ranks};
use crate::explore::packed::pack;
use crate::system::System;
use smallvec::SmallVec;

impl<Y: System> Memory<'_, Y> {
    /// Brings a row into canonical form, whose node in `slot` has taken a step, and whose messages are new from the `before`th on.
    /// `false`: bits are not enough for it. Messages are left in their order where some of them arrive at once.
    pub(super) fn rewrite(
        &mut self,
        row: &mut Row,
        slot: Option<usize>,
        shared_before: u32,
        before: usize,
    ) -> bool {
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.begin(row.nodes.len(), self.groups.len());
        let is_known = self.add_all(row, &mut ranks);
        if is_known {
            ranks.end();
            for at in 0..row.nodes.len() {
                if Some(at) == slot || self.moves(&ranks, Slot::Node(at), row.nodes[at]) {
                    row.nodes[at] = self.rewritten(&ranks, Slot::Node(at), row.nodes[at]);
                }
            }
            if row.shared != shared_before || self.moves(&ranks, Slot::Shared, row.shared) {
                row.shared = self.rewritten(&ranks, Slot::Shared, row.shared);
            }
            let mut is_sorted = before == row.messages.len();
            for at in 0..row.messages.len() {
                if at >= before || self.moves(&ranks, Slot::Message, row.messages[at]) {
                    row.messages[at] = self.rewritten(&ranks, Slot::Message, row.messages[at]);
                    is_sorted = false;
                }
            }
            if !is_sorted && !self.space.bounds.colocated {
                self.sort_messages(row);
            }
        }
        self.ranks = ranks;
        is_known
    }

    pub(super) fn add_all(&self, row: &Row, ranks: &mut Ranks) -> bool {
        let nodes = row.nodes.iter().enumerate().map(|(at, number)| (Slot::Node(at), *number));
        let messages = row.messages.iter().map(|number| (Slot::Message, *number));
        for (slot, number) in nodes.chain([(Slot::Shared, row.shared)]).chain(messages) {
            match self.holds(slot, number) {
                Some(holds) => ranks.add(holds),
                None => return false,
            }
        }
        true
    }

    pub(super) fn holds(&self, slot: Slot, number: u32) -> Option<&Holds> {
        match slot {
            Slot::Node(at) => match at.checked_sub(self.clients.len()) {
                None => self.clients[at].holds(number),
                Some(at) => self.servers[at].holds(number),
            },
            Slot::Shared => self.shared.holds(number),
            Slot::Message => self.messages.holds(number),
        }
    }

    pub(super) fn moves(&self, ranks: &Ranks, slot: Slot, number: u32) -> bool {
        self.holds(slot, number).is_some_and(|holds| ranks.moves(holds))
    }

    /// The part in canonical form.
    pub(super) fn rewritten(&mut self, ranks: &Ranks, slot: Slot, number: u32) -> u32 {
        let mut key: SmallVec<[u64; 8]> = SmallVec::new();
        key.push(slot.number() << 32 | u64::from(number));
        if let Some(holds) = self.holds(slot, number) {
            ranks.seen_by(holds, &mut key);
        }
        if let Some(number) = self.rewritten.get(key.as_slice()) {
            return *number;
        }
        let number = self.rewritten_in(slot, number, ranks, Length::Step);
        self.rewritten.insert(key, number);
        number
    }

    pub(super) fn rewritten_in(&mut self, slot: Slot, number: u32, ranks: &Ranks, length: Length) -> u32 {
        let setup = &self.space.setup;
        let mut packed = std::mem::take(&mut self.packed);
        let frame = self.frame(length);
        let number = match slot {
            Slot::Node(at) => {
                match at.checked_sub(self.clients.len()) {
                    None => {
                        let mut client = self.clients[at].value(number).clone();
                        let piece = Piece::<Y>::Client(at as u8, &mut client);
                        ranks.rewrite(piece, frame, setup, &self.groups);
                        pack(&client, &mut packed);
                    }
                    Some(server) => {
                        let mut value = self.servers[server].value(number).clone();
                        let piece = Piece::<Y>::Server(server as u8, &mut value);
                        ranks.rewrite(piece, frame, setup, &self.groups);
                        pack(&value, &mut packed);
                    }
                }
                self.node_of(at, &packed)
            }
            Slot::Shared => {
                let mut shared = self.shared.value(number).clone();
                ranks.rewrite(Piece::<Y>::Shared(&mut shared), frame, setup, &self.groups);
                pack(&shared, &mut packed);
                self.shared_of(&packed)
            }
            Slot::Message => {
                let mut message = self.messages.value(number).clone();
                ranks.rewrite(Piece::Message(&mut message), frame, setup, &self.groups);
                pack(&message, &mut packed);
                self.message_of(&packed)
            }
        };
        self.packed = packed;
        number
    }
}
