//! No overwrite: a position of a queue keeps the item that it has.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, section "lock-free push": an
//! item is put into a position by a compare-and-set that expects it to be empty, and nothing is taken out.
//!
//! Items are told apart by their numbers: that an item was put over an equal one is not seen.

use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::under_way::UnderWay;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// A position at which an item is known to be has it for ever, and no other one ever. Broken by the answer that shows something
/// else; `other` is the client itself.
///
/// An item is known to be at a position once somebody was told so, by a read or by its push. Who began to read before that
/// may find the position empty. After a violation the position has what was shown last.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NoOverwrite {
    /// In the order of queues and positions.
    items: Vec<((ObjectId, u32), i32)>,
    under_way: UnderWay<Asked>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Asked {
    Push { queue: ObjectId, item: i32 },
    Read { queue: ObjectId, position: u32, is_owed: bool },
}

impl NoOverwrite {
    /// Whether the client reads where an item is known to be.
    pub(crate) fn is_tested_by(&self, client: ClientId) -> bool {
        matches!(self.under_way.get(client), Some(Asked::Read { is_owed: true, .. }))
    }

    fn place(&self, position: (ObjectId, u32)) -> Result<usize, usize> {
        self.items.binary_search_by_key(&position, |(position, _)| *position)
    }

    /// What the position is known to have changes to this; whether it may.
    fn learn(&mut self, position: (ObjectId, u32), item: i32) -> bool {
        match self.place(position) {
            Ok(place) => std::mem::replace(&mut self.items[place].1, item) == item,
            Err(place) => {
                self.items.insert(place, (position, item));
                true
            }
        }
    }

    /// The item is gone; whether there was one.
    fn lose(&mut self, position: (ObjectId, u32)) -> bool {
        self.place(position).map(|place| self.items.remove(place)).is_ok()
    }
}

impl Monitor for NoOverwrite {
    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.under_way.end(client);
        match call {
            ObjectCall::Push { queue, item } => self.under_way.begin(client, Asked::Push { queue, item }),
            ObjectCall::ReadAt { queue, position } => {
                let is_owed = self.place((queue, position)).is_ok();
                self.under_way.begin(client, Asked::Read { queue, position, is_owed });
            }
            ObjectCall::ReadIndex { .. }
            | ObjectCall::Read { .. }
            | ObjectCall::Write { .. }
            | ObjectCall::CompareAndSet { .. }
            | ObjectCall::CompareAndSetVersion { .. }
            | ObjectCall::Delete { .. }
            | ObjectCall::Add { .. }
            | ObjectCall::Withdraw { .. }
            | ObjectCall::Transfer { .. }
            | ObjectCall::Glance
            | ObjectCall::Audit
            | ObjectCall::Handle => {}
        }
        Ok(())
    }

    fn on_returned(&mut self, client: ClientId, answer: ObjectAnswer) -> Verdict {
        let is_kept = match (self.under_way.end(client), answer) {
            (Some(Asked::Push { queue, item }), ObjectAnswer::Pushed { position }) => {
                self.learn((queue, position), item)
            }
            (Some(Asked::Read { queue, position, .. }), ObjectAnswer::Item { item: Some(item) }) => {
                self.learn((queue, position), item)
            }
            (Some(Asked::Read { queue, position, is_owed: true }), ObjectAnswer::Item { item: None }) => {
                !self.lose((queue, position))
            }
            // Read before the item was there, or told something that says nothing of a position.
            _ => true,
        };
        if is_kept { Ok(()) } else { Err(Violation::new(Promise::NoOverwrite, client, client)) }
    }

    fn on_unknown(&mut self, client: ClientId) -> Verdict {
        self.under_way.end(client);
        Ok(())
    }

    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.on_unknown(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    const Q: ObjectId = ObjectId(0);

    fn push(item: i32) -> ObjectCall {
        ObjectCall::Push { queue: Q, item }
    }

    fn at(position: u32) -> ObjectCall {
        ObjectCall::ReadAt { queue: Q, position }
    }

    fn item(item: impl Into<Option<i32>>) -> ObjectAnswer {
        ObjectAnswer::Item { item: item.into() }
    }

    const FIRST: ObjectAnswer = ObjectAnswer::Pushed { position: 0 };

    #[test]
    fn another_item_or_none_where_one_was_is_rejected() {
        for known in [done(A, at(0), item(1)), done(A, push(1), FIRST)] {
            let monitor = after(NoOverwrite::default(), &known);
            assert_broken(monitor.clone(), &done(B, at(0), item(2)), B, B);
            assert_broken(monitor.clone(), &done(B, at(0), item(None)), B, B);
            assert_broken(monitor.clone(), &done(B, push(2), FIRST), B, B);
            assert_kept(monitor.clone(), &done(B, at(0), item(1)));
            assert_kept(monitor, &done(B, at(1), item(2)));
        }
    }

    #[test]
    fn a_read_that_began_before_may_find_nothing_but_not_another_item() {
        let history = [&[invoked(B, at(0))][..], &done(A, push(1), FIRST)].concat();
        let monitor = after(NoOverwrite::default(), &history);
        assert_kept(monitor.clone(), &[returned(B, item(None))]);
        assert_broken(monitor.clone(), &[returned(B, item(2))], B, B);
        let late = after(monitor, &[returned(B, item(None))]);
        assert_broken(late, &done(B, at(0), item(2)), B, B);
    }

    #[test]
    fn an_empty_position_is_filled_later() {
        assert_kept(NoOverwrite::default(), &[done(A, at(0), item(None)), done(A, at(0), item(1))].concat());
    }

    #[test]
    fn queues_have_their_own_positions() {
        let other = ObjectCall::ReadAt { queue: ObjectId(1), position: 0 };
        assert_kept(NoOverwrite::default(), &[done(A, push(1), FIRST), done(A, other, item(None))].concat());
    }

    #[test]
    fn after_a_violation_the_position_has_what_was_shown() {
        let mut monitor = after(
            NoOverwrite::default(),
            &[done(A, push(1), FIRST).to_vec(), vec![invoked(B, at(0))]].concat(),
        );
        assert!(monitor.observe(returned(B, item(2))).is_err());
        assert_kept(monitor.clone(), &done(B, at(0), item(2)));
        assert_broken(monitor, &done(B, at(0), item(1)), B, B);
    }
}
