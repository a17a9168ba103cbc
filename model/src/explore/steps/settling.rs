//! What servers forget, and what monitors do.

use super::known::values;
use super::memory::{Length, Memory};
use super::rows::Row;
use crate::canonical;
use crate::explore::packed::pack;
use crate::machine::{Message, Store};
use crate::system::{Process, System};
use crate::time::Wall;
use smallvec::SmallVec;

/// Servers together, or messages.
pub(super) type Numbers = SmallVec<[u32; 4]>;

/// What becomes of servers when they settle.
pub(super) enum Settling {
    /// Nothing, whatever is under way.
    Still,
    /// It depends on the messages under way, and on the earliest timestamp that a client still holds: of clients nothing else is asked
    /// ([`canonical::settle_servers`]).
    Beside(SmallVec<[(Option<Wall>, Beside); 1]>),
}

/// What becomes of servers beside messages.
#[derive(Default)]
pub(super) struct Beside {
    /// What the servers are, beside no message.
    alone: Option<Numbers>,
    /// Whether less is settled because of this message.
    kept_for: SmallVec<[(u32, bool); 6]>,
    /// What the servers are, beside these messages and no other ones because of which less is settled.
    settled: Vec<(Numbers, Numbers)>,
}

impl<Y: System> Memory<'_, Y> {
    /// The servers forget what nobody can ask for any more. Beside several messages they forget what they forget beside each of them
    /// ([`Store::settle`](crate::machine::Store::settle)): so only those messages matter that matter alone.
    pub(super) fn settle(&mut self, row: &mut Row, length: Length) {
        if !Y::Store::SETTLES {
            return;
        }
        let first = self.clients.len();
        if !self.may_settle(&row.nodes[first..], length) {
            return;
        }
        let number = self.number_together(&row.nodes[first..]);
        let mut settling = match self.settling[length as usize][number].take() {
            Some(settling) => settling,
            None => self.begin_settling(&row.nodes[first..], length),
        };
        if let Settling::Beside(by_earliest) = &mut settling {
            let settings = &self.space.setup.lock;
            let kept = values(&self.clients, &row.nodes[..first]);
            let earliest = kept.filter_map(|client| client.earliest_timestamp(settings)).min();
            let known = by_earliest.iter().position(|(other, _)| *other == earliest);
            let known = known.unwrap_or_else(|| {
                by_earliest.push((earliest, Beside::default()));
                by_earliest.len() - 1
            });
            let after = self.settle_remembered(row, &mut by_earliest[known].1, length);
            row.nodes[first..].copy_from_slice(&after);
        }
        self.settling[length as usize][number] = Some(settling);
    }

    /// Whether any of these servers has something that it may drop: most have not, and are not remembered together.
    fn may_settle(&mut self, servers: &[u32], length: Length) -> bool {
        let horizon = Wall(self.frame(length).horizon());
        let of_each = self.may_settle[length as usize].iter_mut().zip(&self.servers);
        servers.iter().zip(of_each).any(|(number, (known, values))| {
            let at = *number as usize;
            if known.len() <= at {
                known.resize(at + 1, None);
            }
            *known[at].get_or_insert_with(|| values.value(*number).may_settle(horizon))
        })
    }

    pub(super) fn settle_remembered(
        &mut self,
        row: &Row,
        Beside { alone, kept_for, settled }: &mut Beside,
        length: Length,
    ) -> Numbers {
        let mut messages: Numbers = SmallVec::new();
        for message in &row.messages {
            let may_keep = self.may_keep(*message);
            // Where it costs nothing that counts, the store's word is not taken for it.
            if !may_keep && !cfg!(debug_assertions) {
                continue;
            }
            let is_kept_for = match kept_for.iter().find(|(other, _)| other == message) {
                Some((_, is_kept_for)) => *is_kept_for,
                None => {
                    let alone = alone.get_or_insert_with(|| self.settle_beside(row, &[], length));
                    let is_kept_for = self.settle_beside(row, &[*message], length) != *alone;
                    debug_assert!(may_keep || !is_kept_for, "servers settle less because of it");
                    kept_for.push((*message, is_kept_for));
                    is_kept_for
                }
            };
            if is_kept_for {
                messages.push(*message);
            }
        }
        messages.sort_unstable();
        if let Some((_, after)) = settled.iter().find(|(beside, _)| *beside == messages) {
            return after.clone();
        }
        let after = self.settle_beside(row, &messages, length);
        settled.push((messages, after.clone()));
        after
    }

    /// Whether servers may settle less because of this message.
    fn may_keep(&mut self, message: u32) -> bool {
        let at = message as usize;
        if self.may_keep.len() <= at {
            self.may_keep.resize(at + 1, None);
        }
        let messages = &self.messages;
        *self.may_keep[at].get_or_insert_with(|| Y::Store::may_keep(&messages.value(message).message))
    }

    /// The number of servers together.
    pub(super) fn number_together(&mut self, servers: &[u32]) -> usize {
        let number = match (servers, self.together.get(servers)) {
            ([alone], _) => *alone,
            (_, Some(number)) => *number,
            (_, None) => {
                let number = self.together.len() as u32;
                self.together.insert(SmallVec::from_slice(servers), number);
                number
            }
        };
        let number = number as usize;
        for settling in &mut self.settling {
            if settling.len() <= number {
                settling.resize_with(number + 1, || None);
            }
        }
        number
    }

    pub(super) fn begin_settling(&self, servers: &[u32], length: Length) -> Settling {
        let nobody = &mut std::iter::empty();
        let after = self.settled_servers(servers, nobody, &mut std::iter::empty(), length);
        match values(&self.servers, servers).eq(&after) {
            true => Settling::Still,
            false => Settling::Beside(SmallVec::new()),
        }
    }

    /// What the servers of a row are when they have settled beside its clients and these messages.
    pub(super) fn settle_beside(&mut self, row: &Row, messages: &[u32], length: Length) -> Numbers {
        let first = self.clients.len();
        let after = {
            let mut messages = messages.iter().map(|number| &self.messages.value(*number).message);
            let mut clients = values(&self.clients, &row.nodes[..first]);
            self.settled_servers(&row.nodes[first..], &mut clients, &mut messages, length)
        };
        let mut numbers: Numbers = SmallVec::from_slice(&row.nodes[first..]);
        let mut packed = std::mem::take(&mut self.packed);
        for (at, server) in after.iter().enumerate() {
            if server != self.servers[at].value(numbers[at]) {
                pack(server, &mut packed);
                numbers[at] = self.node_of(first + at, &packed);
            }
        }
        self.packed = packed;
        numbers
    }

    /// What these servers are when they have settled, beside these clients and messages.
    pub(super) fn settled_servers(
        &self,
        servers: &[u32],
        clients: &mut dyn Iterator<Item = &Y::Process>,
        messages: &mut dyn Iterator<Item = &Message<Y::Store>>,
        length: Length,
    ) -> SmallVec<[Y::Store; 3]> {
        let mut after: SmallVec<[Y::Store; 3]> = values(&self.servers, servers).cloned().collect();
        let mut changed: SmallVec<[&mut Y::Store; 3]> = after.iter_mut().collect();
        let horizon = self.frame(length).horizon();
        canonical::settle_servers::<Y>(clients, &mut changed, messages, &self.space.setup, horizon);
        drop(changed);
        after
    }

    /// The monitors forget the holds from which nothing can come any more.
    pub(super) fn forget_holds(&mut self, row: &mut Row) {
        if !self.has_holds[row.shared as usize] {
            return;
        }
        let before = self.shared.value(row.shared);
        let mut monitors = before.2.clone();
        canonical::forget_holds_of(
            &mut monitors,
            |client| {
                let at = usize::from(client.0);
                self.clients[at].value(row.nodes[at]).latest_hold()
            },
            || row.messages.iter().map(|number| self.messages.value(*number)),
        );
        if monitors != before.2 {
            let mut after = before.clone();
            after.2 = monitors;
            let mut packed = std::mem::take(&mut self.packed);
            pack(&after, &mut packed);
            row.shared = self.shared_of(&packed);
            self.packed = packed;
        }
    }
}
