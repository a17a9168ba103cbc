//! Rows in canonical form.

use super::known::UNKNOWN;
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
            ranks.end(&self.frame);
            // Where everything is in its place, only what is of the step is another part.
            let moves_some = !ranks.are_in_place();
            for at in 0..row.nodes.len() {
                if Some(at) == slot || moves_some && self.moves(&ranks, Slot::Node(at), row.nodes[at]) {
                    row.nodes[at] = self.rewritten(&ranks, Slot::Node(at), row.nodes[at]);
                }
            }
            if row.shared != shared_before || moves_some && self.moves(&ranks, Slot::Shared, row.shared) {
                row.shared = self.rewritten(&ranks, Slot::Shared, row.shared);
            }
            let mut is_sorted = before == row.messages.len();
            for at in if moves_some { 0 } else { before }..row.messages.len() {
                if at >= before || self.moves(&ranks, Slot::Message, row.messages[at]) {
                    row.messages[at] = self.rewritten(&ranks, Slot::Message, row.messages[at]);
                    is_sorted = false;
                }
            }
            if !is_sorted && !self.space.bounds.delivers_at_once() {
                self.sort_messages(row);
            }
        }
        self.ranks = ranks;
        is_known
    }

    /// The same for a row of which nothing was in canonical form before.
    pub(super) fn rewrite_all(&mut self, row: &mut Row) -> bool {
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.begin(row.nodes.len(), self.groups.len());
        let is_known = self.add_all(row, &mut ranks);
        if is_known {
            ranks.end(&self.frame);
            for at in 0..row.nodes.len() {
                row.nodes[at] = self.rewritten(&ranks, Slot::Node(at), row.nodes[at]);
            }
            row.shared = self.rewritten(&ranks, Slot::Shared, row.shared);
            for at in 0..row.messages.len() {
                row.messages[at] = self.rewritten(&ranks, Slot::Message, row.messages[at]);
            }
            self.sort_messages(row);
        }
        self.ranks = ranks;
        is_known
    }

    pub(super) fn add_all(&self, row: &Row, ranks: &mut Ranks) -> bool {
        let (clients, servers) = row.nodes.split_at(self.clients.len());
        let mut add = |holds: Option<&Holds>| holds.map(|holds| ranks.add(holds)).is_some();
        self.clients.iter().zip(clients).all(|(known, number)| add(known.holds(*number)))
            && self.servers.iter().zip(servers).all(|(known, number)| add(known.holds(*number)))
            && add(self.shared.holds(row.shared))
            && row.messages.iter().all(|number| add(self.messages.holds(*number)))
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
        if ranks.are_in_place() || !self.moves(ranks, slot, number) {
            let (place, at) = (self.kind(slot), number as usize);
            if let Some(after) = self.in_place[place].get(at).filter(|after| **after != UNKNOWN) {
                return *after;
            }
            let after = self.rewritten_in(slot, number, ranks, Length::Step);
            let of_place = &mut self.in_place[place];
            if of_place.len() <= at {
                of_place.resize(at + 1, UNKNOWN);
            }
            of_place[at] = after;
            return after;
        }
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
