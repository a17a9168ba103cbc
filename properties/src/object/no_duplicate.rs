//! No duplicate: an item is in a queue as often as it was pushed, at most.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, section "queue": an ordered
//! queue in which data are neither lost nor duplicated. A push that was done, whose answer was lost, and that is repeated inside the same
//! call, appends its item twice: repeating `CAS_versioned` is harmless for the store, and its answer is wrong.
//!
//! A caller that pushes the item anew in a second call pushes it twice, and may find it twice: it was asked for.

use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::under_way::UnderWay;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// An item is at no more positions than calls to push it have begun. Broken by the answer that shows it at one more; `other`
/// is the client itself.
///
/// An item that nobody has pushed is at one position too many wherever it is. Items are told apart by their numbers.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NoDuplicate {
    /// How often each was pushed, in the order of queues and items.
    pushed: Vec<((ObjectId, i32), u32)>,
    /// Where each was found, in order.
    found: Vec<((ObjectId, i32), u32)>,
    under_way: UnderWay<Asked>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Asked {
    Push { queue: ObjectId, item: i32 },
    Read { queue: ObjectId, position: u32 },
}

impl NoDuplicate {
    /// Whether the client is told of an item while something is known of what is where.
    pub(crate) fn is_tested_by(&self, client: ClientId, answer: ObjectAnswer) -> bool {
        let asked = self.under_way.get(client).copied();
        shown(asked, answer).is_some_and(|place| self.found.iter().any(|known| *known != place))
    }
}

/// Which item, and where, an answer shows.
fn shown(asked: Option<Asked>, answer: ObjectAnswer) -> Option<((ObjectId, i32), u32)> {
    match (asked, answer) {
        (Some(Asked::Push { queue, item }), ObjectAnswer::Pushed { position }) => {
            Some(((queue, item), position))
        }
        (Some(Asked::Read { queue, position }), ObjectAnswer::Item { item }) => {
            item.map(|item| ((queue, item), position))
        }
        _ => None,
    }
}

impl Monitor for NoDuplicate {
    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.under_way.end(client);
        match call {
            ObjectCall::Push { queue, item } => {
                match self.pushed.binary_search_by_key(&(queue, item), |(item, _)| *item) {
                    Ok(place) => self.pushed[place].1 += 1,
                    Err(place) => self.pushed.insert(place, ((queue, item), 1)),
                }
                self.under_way.begin(client, Asked::Push { queue, item });
            }
            ObjectCall::ReadAt { queue, position } => {
                self.under_way.begin(client, Asked::Read { queue, position });
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
        let Some(place) = shown(self.under_way.end(client), answer) else { return Ok(()) };
        let Err(new) = self.found.binary_search(&place) else { return Ok(()) };
        self.found.insert(new, place);
        let (item, _) = place;
        let places = self.found.iter().filter(|(found, _)| *found == item).count();
        let pushes = self.pushed.iter().find(|(pushed, _)| *pushed == item).map_or(0, |(_, times)| *times);
        match places <= pushes as usize {
            true => Ok(()),
            false => Err(Violation::new(Promise::NoDuplicate, client, client)),
        }
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

    fn item(item: i32) -> ObjectAnswer {
        ObjectAnswer::Item { item: Some(item) }
    }

    #[test]
    fn a_push_repeated_after_a_lost_answer_is_rejected() {
        let history = [done(A, push(1), ObjectAnswer::Pushed { position: 1 }), done(B, at(0), item(1))];
        assert_broken(NoDuplicate::default(), &history.concat(), B, B);
        let lost =
            [&[invoked(A, push(1)), unknown(A)][..], &done(B, at(0), item(1)), &done(B, at(1), item(1))];
        assert_broken(NoDuplicate::default(), &lost.concat(), B, B);
    }

    #[test]
    fn what_was_pushed_twice_may_be_there_twice_and_not_three_times() {
        let twice = [
            done(A, push(1), ObjectAnswer::Pushed { position: 0 }),
            done(A, push(1), ObjectAnswer::Pushed { position: 1 }),
            done(B, at(0), item(1)),
            done(B, at(1), item(1)),
        ];
        let monitor = after(NoDuplicate::default(), &twice.concat());
        assert_kept(monitor.clone(), &done(B, at(0), item(1)));
        assert_broken(monitor, &done(B, at(2), item(1)), B, B);
    }

    #[test]
    fn an_item_that_nobody_pushed_is_rejected() {
        assert_broken(NoDuplicate::default(), &done(A, at(0), item(1)), A, A);
        let elsewhere = ObjectCall::Push { queue: ObjectId(1), item: 1 };
        let history = [&[invoked(A, elsewhere)][..], &done(B, at(0), item(1))].concat();
        assert_broken(NoDuplicate::default(), &history, B, B);
    }

    #[test]
    fn an_item_may_be_found_before_its_push_came_back() {
        let history = [&[invoked(A, push(1))][..], &done(B, at(3), item(1))].concat();
        assert_kept(NoDuplicate::default(), &history);
    }
}
