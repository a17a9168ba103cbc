//! The index never falls: whoever reads the index of a queue later finds no smaller one.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, section "lock-free push",
//! `update_index`: whoever stalls between putting its item in and raising the index meets an index that others have raised further, and
//! must not write its own over it.
//!
//! That the index is not beyond the end is part of [`Linearizable`](crate::Linearizable), and that nothing below it is empty
//! of [`NoHole`](crate::NoHole). How far it lags behind nobody promises.

use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::under_way::UnderWay;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// A read of the index finds no smaller one than any read that came back before it began. Broken by the answer; `other` is the
/// client itself.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct IndexNeverFalls {
    /// The largest index above 0 that was read, of each queue, in order.
    read: Vec<(ObjectId, u32)>,
    under_way: UnderWay<Asked>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Asked {
    queue: ObjectId,
    /// What was read before.
    at_least: u32,
}

impl IndexNeverFalls {
    /// Whether the client reads an index that was read above 0 before.
    pub(crate) fn is_tested_by(&self, client: ClientId) -> bool {
        self.under_way.get(client).is_some_and(|asked| asked.at_least > 0)
    }

    fn read(&self, queue: ObjectId) -> u32 {
        self.read.iter().find(|(of, _)| *of == queue).map_or(0, |(_, index)| *index)
    }
}

impl Monitor for IndexNeverFalls {
    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.under_way.end(client);
        if let ObjectCall::ReadIndex { queue } = call {
            self.under_way.begin(client, Asked { queue, at_least: self.read(queue) });
        }
        Ok(())
    }

    fn on_returned(&mut self, client: ClientId, answer: ObjectAnswer) -> Verdict {
        let (Some(Asked { queue, at_least }), ObjectAnswer::Index { index }) =
            (self.under_way.end(client), answer)
        else {
            return Ok(());
        };
        if index > self.read(queue) {
            self.read.retain(|(of, _)| *of != queue);
            let place = self.read.partition_point(|(of, _)| *of < queue);
            self.read.insert(place, (queue, index));
        }
        match index >= at_least {
            true => Ok(()),
            false => Err(Violation::new(Promise::IndexNeverFalls, client, client)),
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
    use crate::history::Event;
    use crate::notation::*;

    const READ: ObjectCall = ObjectCall::ReadIndex { queue: ObjectId(0) };

    fn index(index: u32) -> ObjectAnswer {
        ObjectAnswer::Index { index }
    }

    fn reads(indexes: &[u32]) -> Vec<Event> {
        indexes.iter().flat_map(|read| done(A, READ, index(*read))).collect()
    }

    #[test]
    fn an_index_that_fell_is_rejected() {
        assert_broken(IndexNeverFalls::default(), &reads(&[2, 1]), A, A);
        assert_broken(
            IndexNeverFalls::default(),
            &[reads(&[3]), done(B, READ, index(2)).to_vec()].concat(),
            B,
            B,
        );
        assert_kept(IndexNeverFalls::default(), &reads(&[0, 1, 1, 3]));
    }

    #[test]
    fn a_read_that_began_before_may_find_less() {
        let history = [&[invoked(B, READ)][..], &reads(&[2]), &[returned(B, index(1))]].concat();
        let monitor = after(IndexNeverFalls::default(), &history);
        assert_broken(monitor, &done(B, READ, index(1)), B, B);
    }

    #[test]
    fn after_it_fell_it_must_not_fall_below_what_it_was() {
        let mut monitor = after(IndexNeverFalls::default(), &[reads(&[3]), vec![invoked(B, READ)]].concat());
        assert!(monitor.observe(returned(B, index(1))).is_err());
        assert_broken(monitor, &reads(&[2]), A, A);
    }

    #[test]
    fn queues_have_their_own_index() {
        let other = ObjectCall::ReadIndex { queue: ObjectId(1) };
        assert_kept(IndexNeverFalls::default(), &[reads(&[2]), done(A, other, index(0)).to_vec()].concat());
    }
}
