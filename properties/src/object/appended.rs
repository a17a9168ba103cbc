//! Everything that a queue may hold by now, told in the size of the queue.
//!
//! [`Configurations`](super::configurations::Configurations) keep every order in which calls may have been done, and after some
//! pushes whose answers were lost those are more than fit into a memory. A queue to which things are only appended needs none of
//! that, for its pushes say where they are. Each position that somebody has seen used and whose push is not known is left open,
//! and what is asked is whether the pushes that may be there can be given out to the open positions: a matching in a graph.
//!
//! A position counts as used as late as answers allow. Nothing is lost by that: the later it is used, the more pushes may be there,
//! and the more reads may still have found nothing.

use super::call::{ObjectAnswer, ObjectCall};
use super::checker::{NotLinearizable, Operation};
use super::under_way::UnderWay;
use crate::history::ClientId;
use serde::{Deserialize, Serialize};

/// What a queue may hold, given the calls of it that began, came back and were given up so far. Whoever asks has one call under way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Appended<K = ClientId> {
    /// What is at each position, where that is known.
    items: Vec<Option<i32>>,
    /// The positions, in order, whose push is not known.
    open: Vec<u32>,
    under_way: UnderWay<Asked, K>,
    /// Pushes that nobody waits for, and of which nobody knows whether they were done; in order.
    given_up: Vec<Push>,
}

impl<K> Default for Appended<K> {
    fn default() -> Appended<K> {
        Appended { items: Vec::new(), open: Vec::new(), under_way: UnderWay::default(), given_up: Vec::new() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Push {
    item: i32,
    /// How many of the open positions, the first ones, were used before it began.
    too_late_for: u32,
}

impl Push {
    fn may_be(self, rank: usize, item: Option<i32>) -> bool {
        self.too_late_for as usize <= rank && item.is_none_or(|item| item == self.item)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Asked {
    Push(Push),
    /// A push that was done: nobody else can have put there what is there.
    Pushed {
        position: u32,
    },
    ReadAt {
        position: u32,
        /// Whether nothing need have been there when it began.
        was_empty: bool,
    },
    ReadIndex,
}

/// Whose push it is: of the client at this place, or the one at this place of those given up.
#[derive(Clone, Copy)]
enum Whose<K> {
    Client(K),
    Nobody(usize),
}

impl<K: Copy + Ord> Appended<K> {
    /// A call of the queue begins. One of the same client that is still under way is given up.
    pub(crate) fn begin(&mut self, client: K, call: ObjectCall) {
        self.give_up(client);
        let asked = match call {
            ObjectCall::Push { item, .. } => Asked::Push(Push { item, too_late_for: self.open.len() as u32 }),
            ObjectCall::ReadAt { position, .. } => {
                Asked::ReadAt { position, was_empty: self.items.len() <= position as usize }
            }
            ObjectCall::ReadIndex { .. } => Asked::ReadIndex,
            _ => return,
        };
        self.under_way.begin(client, asked);
    }

    /// The client's call comes back with this answer; whether it could have. If it could not, the call is taken to have been given up
    /// instead. An answer to no call is no answer.
    pub(crate) fn end(&mut self, client: K, told: &ObjectAnswer) -> bool {
        let Some(asked) = self.under_way.end(client) else { return true };
        let before = self.clone();
        let is_possible = match (asked, *told) {
            (Asked::Push(push), ObjectAnswer::Pushed { position }) => self.is_at(push, position),
            (Asked::Pushed { position: known }, ObjectAnswer::Pushed { position }) => position == known,
            (Asked::ReadAt { was_empty, .. }, ObjectAnswer::Item { item: None }) => was_empty,
            (Asked::ReadAt { position, .. }, ObjectAnswer::Item { item: Some(item) }) => {
                self.holds(position, item)
            }
            (Asked::ReadIndex, ObjectAnswer::Index { index }) => self.reaches(index) && self.is_possible(),
            _ => false,
        };
        if is_possible {
            self.conclude();
        } else {
            *self = before;
            self.leave(asked);
        }
        is_possible
    }

    /// The client will never learn what became of its call, which may be done yet.
    pub(crate) fn give_up(&mut self, client: K) {
        if let Some(asked) = self.under_way.end(client) {
            self.leave(asked);
        }
    }

    /// Whether what the client is told depends on what others did or do.
    pub(crate) fn is_tested_by(&self, client: K) -> bool {
        self.under_way.get(client).is_some()
            && (self.under_way.len() > 1 || !self.items.is_empty() || !self.given_up.is_empty())
    }

    fn leave(&mut self, asked: Asked) {
        let Asked::Push(push) = asked else { return };
        let place = self.given_up.partition_point(|other| *other < push);
        self.given_up.insert(place, push);
    }

    /// The push is known to be there; whether it can be.
    fn is_at(&mut self, push: Push, position: u32) -> bool {
        if !self.reaches(position) {
            return false;
        }
        if position as usize == self.items.len() {
            self.items.push(Some(push.item));
            return self.is_possible();
        }
        let Ok(rank) = self.open.binary_search(&position) else { return false };
        let known = &mut self.items[position as usize];
        if !push.may_be(rank, *known) {
            return false;
        }
        *known = Some(push.item);
        self.close(rank);
        self.is_possible()
    }

    /// The item is known to be there; whether it can be.
    fn holds(&mut self, position: u32, item: i32) -> bool {
        if !position.checked_add(1).is_some_and(|end| self.reaches(end)) {
            return false;
        }
        match &mut self.items[position as usize] {
            Some(known) => *known == item && self.is_possible(),
            unknown @ None => {
                *unknown = Some(item);
                self.is_possible()
            }
        }
    }

    /// All positions before this one are known to be used; whether there are as many pushes.
    fn reaches(&mut self, end: u32) -> bool {
        let used = self.items.len();
        let more = (end as usize).saturating_sub(used);
        if self.open.len() + more > self.pushes().count() {
            return more == 0;
        }
        self.open.extend(used as u32..(used + more) as u32);
        self.items.resize(used + more, None);
        true
    }

    /// It is known whose push is at this open position.
    fn close(&mut self, rank: usize) {
        self.open.remove(rank);
        let close = |push: &mut Push| push.too_late_for -= u32::from(push.too_late_for as usize > rank);
        self.given_up.iter_mut().for_each(close);
        self.under_way.iter_mut().for_each(|asked| {
            if let Asked::Push(push) = asked {
                close(push);
            }
        });
        self.given_up.sort_unstable();
    }

    /// All that may be at an open position.
    fn pushes(&self) -> impl Iterator<Item = (Whose<K>, Push)> {
        let asked = self.under_way.iter().filter_map(|(client, asked)| match asked {
            Asked::Push(push) => Some((Whose::Client(*client), *push)),
            Asked::Pushed { .. } | Asked::ReadAt { .. } | Asked::ReadIndex => None,
        });
        let given_up = self.given_up.iter().enumerate();
        asked.chain(given_up.map(|(place, push)| (Whose::Nobody(place), *push)))
    }

    /// Whether each open position can have a push of its own: by augmenting paths.
    fn is_possible(&self) -> bool {
        if self.open.is_empty() {
            return true;
        }
        let pushes: Vec<Push> = self.pushes().map(|(_, push)| push).collect();
        let mut given_to = vec![None; pushes.len()];
        (0..self.open.len())
            .all(|rank| self.give(rank, &pushes, &mut given_to, &mut vec![false; pushes.len()]))
    }

    fn give(&self, rank: usize, pushes: &[Push], given_to: &mut [Option<usize>], tried: &mut [bool]) -> bool {
        let item = self.items[self.open[rank] as usize];
        for (place, push) in pushes.iter().enumerate() {
            if tried[place] || !push.may_be(rank, item) {
                continue;
            }
            tried[place] = true;
            if given_to[place].is_none_or(|other| self.give(other, pushes, given_to, tried)) {
                given_to[place] = Some(rank);
                return true;
            }
        }
        false
    }

    /// Closes the positions for which there is one push only.
    fn conclude(&mut self) {
        while let Some((rank, whose, push)) = self.conclusion() {
            let position = self.open[rank];
            self.items[position as usize] = Some(push.item);
            match whose {
                Whose::Nobody(place) => drop(self.given_up.remove(place)),
                Whose::Client(client) => self.under_way.begin(client, Asked::Pushed { position }),
            }
            self.close(rank);
        }
    }

    fn conclusion(&self) -> Option<(usize, Whose<K>, Push)> {
        (0..self.open.len()).find_map(|rank| {
            let item = self.items[self.open[rank] as usize];
            let mut candidates = self.pushes().filter(|(_, push)| push.may_be(rank, item));
            let (whose, push) = candidates.next()?;
            let is_one = candidates.next().is_none();
            is_one.then_some((rank, whose, push))
        })
    }
}

/// Whether a finished history of one queue is linearizable.
pub(crate) fn check_queue(
    operations: &[Operation<ObjectCall, ObjectAnswer>],
    places: &[usize],
) -> Result<(), NotLinearizable> {
    // At the same time what begins is before what ends, so that both overlap.
    let mut moments = Vec::new();
    for place in places {
        let Operation { invoked_at, returned, .. } = &operations[*place];
        moments.push((*invoked_at, false, *place));
        if let Some((at, _)) = returned {
            moments.push(((*at).max(*invoked_at), true, *place));
        }
    }
    moments.sort_unstable();
    let mut queue = Appended::default();
    let mut explained = 0;
    for (_, is_end, place) in moments {
        let Operation { call, returned, .. } = &operations[place];
        match (is_end, returned) {
            (false, Some(_)) => queue.begin(place, *call),
            (false, None) => {
                queue.begin(place, *call);
                queue.give_up(place);
            }
            (true, Some((_, told))) if queue.end(place, told) => explained += 1,
            (true, _) => return Err(NotLinearizable { operation: place, explained }),
        }
    }
    Ok(())
}
