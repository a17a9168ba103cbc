//! No hole: no position of a queue is empty below a filled one.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, sections "a lock-free queue,
//! as it were" and "lock-free push". If the index is taken first and the item written second, whoever stalls or dies in between leaves a
//! hole, and everybody who reads the queue in order waits at it. If the item comes first and the index is only a hint, there is none.
//!
//! A hole that somebody meets is reported, whether it is filled later or not: that the reader must wait for the one who
//! stalls is what the document calls fatal. That nobody waits for ever is a promise of progress, and not judged here.

use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::under_way::UnderWay;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// Whoever begins to read a position below one that is known to be filled finds an item. Broken by the answer; `other` is the client
/// itself.
///
/// A position is known to be filled once somebody was told that an item is there, or that its push put it there; the
/// positions below an index once somebody was told the index. What happens to the last filled position itself is
/// [`NoOverwrite`](crate::NoOverwrite)'s business.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NoHole {
    /// Of each queue, in order, the position below which all must be filled.
    filled: Vec<(ObjectId, u32)>,
    under_way: UnderWay<Asked>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Asked {
    queue: ObjectId,
    /// Where the call reads, if it does.
    position: Option<u32>,
    /// Whether there must be an item.
    is_owed: bool,
}

impl NoHole {
    /// Whether the client reads where there must be an item.
    pub(crate) fn is_tested_by(&self, client: ClientId) -> bool {
        self.under_way.get(client).is_some_and(|asked| asked.is_owed)
    }

    fn filled(&self, queue: ObjectId) -> u32 {
        self.filled.iter().find(|(of, _)| *of == queue).map_or(0, |(_, filled)| *filled)
    }

    fn learn(&mut self, queue: ObjectId, filled: u32) {
        if filled > self.filled(queue) {
            self.filled.retain(|(of, _)| *of != queue);
            let place = self.filled.partition_point(|(of, _)| *of < queue);
            self.filled.insert(place, (queue, filled));
        }
    }
}

impl Monitor for NoHole {
    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.under_way.end(client);
        let Some(queue) = call.queue() else { return Ok(()) };
        let position = match call {
            ObjectCall::ReadAt { position, .. } => Some(position),
            _ => None,
        };
        let is_owed = position.is_some_and(|position| position < self.filled(queue));
        self.under_way.begin(client, Asked { queue, position, is_owed });
        Ok(())
    }

    fn on_returned(&mut self, client: ClientId, answer: ObjectAnswer) -> Verdict {
        let Some(Asked { queue, position, is_owed }) = self.under_way.end(client) else { return Ok(()) };
        match answer {
            ObjectAnswer::Item { item: None } if is_owed => {
                return Err(Violation::new(Promise::NoHole, client, client));
            }
            ObjectAnswer::Item { item: Some(_) } => self.learn(queue, position.unwrap_or(0)),
            ObjectAnswer::Pushed { position } => self.learn(queue, position),
            ObjectAnswer::Index { index } => self.learn(queue, index),
            ObjectAnswer::Item { item: None }
            | ObjectAnswer::Done
            | ObjectAnswer::Refused
            | ObjectAnswer::Value { .. }
            | ObjectAnswer::Total { .. } => {}
        }
        Ok(())
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
    const EMPTY: ObjectAnswer = ObjectAnswer::Item { item: None };
    const FILLED: ObjectAnswer = ObjectAnswer::Item { item: Some(7) };

    fn at(position: u32) -> ObjectCall {
        ObjectCall::ReadAt { queue: Q, position }
    }

    #[test]
    fn an_empty_position_below_an_item_that_was_seen_pushed_or_indexed_is_rejected() {
        let (push, index) = (ObjectCall::Push { queue: Q, item: 7 }, ObjectCall::ReadIndex { queue: Q });
        for filled in [
            done(A, at(2), FILLED),
            done(A, push, ObjectAnswer::Pushed { position: 2 }),
            done(A, index, ObjectAnswer::Index { index: 2 }),
        ] {
            let monitor = after(NoHole::default(), &filled);
            for hole in [0, 1] {
                assert_broken(monitor.clone(), &done(B, at(hole), EMPTY), B, B);
                assert_kept(monitor.clone(), &done(B, at(hole), FILLED));
            }
            assert_kept(monitor, &[done(B, at(2), EMPTY), done(B, at(3), EMPTY)].concat());
        }
    }

    #[test]
    fn a_crashed_push_that_took_its_index_leaves_a_hole() {
        let push = ObjectCall::Push { queue: Q, item: 1 };
        let history = [
            &[invoked(A, push), crashed(A)][..],
            &done(B, ObjectCall::Push { queue: Q, item: 2 }, ObjectAnswer::Pushed { position: 1 }),
            &done(C, at(0), EMPTY),
        ];
        assert_broken(NoHole::default(), &history.concat(), C, C);
    }

    #[test]
    fn a_read_that_began_before_is_accepted() {
        let mut history = vec![invoked(B, at(0))];
        history.extend(done(A, at(1), FILLED));
        history.push(returned(B, EMPTY));
        assert_kept(NoHole::default(), &history);
    }

    #[test]
    fn what_is_known_stays_known_when_less_is_learnt() {
        let history = [done(A, at(2), FILLED), done(A, at(1), FILLED), done(B, at(1), EMPTY)].concat();
        assert_broken(NoHole::default(), &history, B, B);
    }

    #[test]
    fn another_queue_has_its_own_positions() {
        let other = ObjectCall::ReadAt { queue: ObjectId(1), position: 0 };
        assert_kept(NoHole::default(), &[done(A, at(2), FILLED), done(B, other, EMPTY)].concat());
    }

    #[test]
    fn a_read_that_was_given_up_is_told_nothing() {
        let history = [&done(A, at(2), FILLED)[..], &[invoked(B, at(0)), unknown(B), returned(B, EMPTY)]];
        assert_kept(NoHole::default(), &history.concat());
    }
}
