//! Linearizable: every call of an object is as if done at one moment between its beginning and its end.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, section "CAS": what is inside
//! `atomic` is done atomically, and the versioned compare-and-set avoids the problem of ABA. The word is Herlihy and Wing's.
//!
//! Variables and queues are judged, each by itself: a history is linearizable if it is for each object. Accounts are not: a
//! transfer in two halves is not one moment, and does not claim to be ([`Conservation`](crate::Conservation) judges what it claims).
//!
//! Of a queue this implies that a push that began after another one came back is at a later position, that an item which is
//! somewhere was pushed, and that the index is never beyond the end.

use super::appended::Appended;
use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::configurations::Configurations;
use super::variable::Variable;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// Each object answers as if it did one call after the other. Broken by the answer that no order explains; `other` is the
/// client itself.
///
/// A call that its client gave up, or crashed in, is done at any later moment, or never. After a violation the call counts
/// as given up. What a variable may be is remembered in [`Configurations`], of which there can be many; what a queue may be is not
/// much longer than the queue.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Linearizable {
    variables: Objects<Configurations<Variable>>,
    queues: Objects<Appended>,
}

impl Linearizable {
    /// Whether what the client is told, coming next, depends on what others did.
    pub(crate) fn is_tested_by(&self, client: ClientId) -> bool {
        self.variables.is_tested_by(client) || self.queues.is_tested_by(client)
    }
}

impl Monitor for Linearizable {
    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.variables.give_up(client);
        self.queues.give_up(client);
        if let Some(variable) = call.variable() {
            self.variables.of(variable).begin(client, call);
        } else if let Some(queue) = call.queue() {
            self.queues.of(queue).begin(client, call);
        }
        Ok(())
    }

    fn on_returned(&mut self, client: ClientId, answer: ObjectAnswer) -> Verdict {
        match self.variables.end(client, answer) && self.queues.end(client, answer) {
            true => Ok(()),
            false => Err(Violation::new(Promise::Linearizable, client, client)),
        }
    }

    fn on_unknown(&mut self, client: ClientId) -> Verdict {
        self.variables.give_up(client);
        self.queues.give_up(client);
        Ok(())
    }

    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.on_unknown(client)
    }
}

/// What one object may be by now.
trait MayBe: Default + PartialEq {
    fn end(&mut self, client: ClientId, told: &ObjectAnswer) -> bool;

    fn give_up(&mut self, client: ClientId);

    fn is_tested_by(&self, client: ClientId) -> bool;
}

impl MayBe for Configurations<Variable> {
    fn end(&mut self, client: ClientId, told: &ObjectAnswer) -> bool {
        self.end(client, told)
    }

    fn give_up(&mut self, client: ClientId) {
        self.give_up(client);
    }

    fn is_tested_by(&self, client: ClientId) -> bool {
        match self.call(client) {
            // Answered so whatever the object is.
            None | Some(ObjectCall::Write { .. } | ObjectCall::Delete { .. }) => false,
            Some(_) => self.may_have_changed(),
        }
    }
}

impl MayBe for Appended {
    fn end(&mut self, client: ClientId, told: &ObjectAnswer) -> bool {
        self.end(client, told)
    }

    fn give_up(&mut self, client: ClientId) {
        self.give_up(client);
    }

    fn is_tested_by(&self, client: ClientId) -> bool {
        self.is_tested_by(client)
    }
}

/// Those that may be other than at the beginning, in order.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Objects<T>(Vec<(ObjectId, T)>);

impl<T: MayBe> Objects<T> {
    fn of(&mut self, object: ObjectId) -> &mut T {
        let place = match self.0.binary_search_by_key(&object, |(object, _)| *object) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (object, T::default()));
                place
            }
        };
        &mut self.0[place].1
    }

    fn end(&mut self, client: ClientId, told: ObjectAnswer) -> bool {
        let is_possible = self.0.iter_mut().all(|(_, object)| object.end(client, &told));
        self.forget_unused();
        is_possible
    }

    fn give_up(&mut self, client: ClientId) {
        self.0.iter_mut().for_each(|(_, object)| object.give_up(client));
        self.forget_unused();
    }

    fn forget_unused(&mut self) {
        self.0.retain(|(_, object)| *object != T::default());
    }

    fn is_tested_by(&self, client: ClientId) -> bool {
        self.0.iter().any(|(_, object)| object.is_tested_by(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Event;
    use crate::notation::*;

    const X: ObjectId = ObjectId(0);
    const Y: ObjectId = ObjectId(1);
    const DONE: ObjectAnswer = ObjectAnswer::Done;
    const REFUSED: ObjectAnswer = ObjectAnswer::Refused;
    const DELETE: ObjectCall = ObjectCall::Delete { variable: X };
    const READ: ObjectCall = ObjectCall::Read { variable: X };

    fn write(value: i32) -> ObjectCall {
        ObjectCall::Write { variable: X, value }
    }

    fn swap(expected: impl Into<Option<i32>>, new: i32) -> ObjectCall {
        ObjectCall::CompareAndSet { variable: X, expected: expected.into(), new }
    }

    fn swap_version(version: u32, new: i32) -> ObjectCall {
        ObjectCall::CompareAndSetVersion { variable: X, version, new }
    }

    fn is(value: impl Into<Option<i32>>) -> ObjectAnswer {
        ObjectAnswer::Value { value: value.into(), version: None }
    }

    fn is_at(value: impl Into<Option<i32>>, version: u32) -> ObjectAnswer {
        ObjectAnswer::Value { value: value.into(), version: Some(version) }
    }

    fn push(item: i32) -> ObjectCall {
        ObjectCall::Push { queue: X, item }
    }

    fn at(position: u32) -> ObjectCall {
        ObjectCall::ReadAt { queue: X, position }
    }

    fn history(calls: &[(ClientId, ObjectCall, ObjectAnswer)]) -> Vec<Event> {
        calls.iter().flat_map(|(client, call, answer)| done(*client, *call, *answer)).collect()
    }

    #[track_caller]
    fn kept(calls: &[(ClientId, ObjectCall, ObjectAnswer)]) {
        assert_kept(Linearizable::default(), &history(calls));
    }

    #[track_caller]
    fn broken(calls: &[(ClientId, ObjectCall, ObjectAnswer)]) {
        let (client, ..) = calls.last().expect("a history to reject has a call");
        assert_broken(Linearizable::default(), &history(calls), *client, *client);
    }

    #[test]
    fn calls_one_after_the_other_are_answered_as_specified() {
        kept(&[
            (A, READ, is_at(None, 0)),
            (A, write(1), DONE),
            (B, READ, is_at(1, 1)),
            (B, swap(2, 3), REFUSED),
            (B, swap(1, 3), DONE),
            (A, swap_version(1, 4), REFUSED),
            (A, swap_version(2, 4), DONE),
            (A, DELETE, DONE),
            (A, DELETE, DONE),
            (B, READ, is_at(None, 0)),
            (B, swap(None, 9), DONE),
            (B, READ, is_at(9, 5)),
        ]);
    }

    #[test]
    fn a_stale_read_is_rejected() {
        broken(&[(A, write(1), DONE), (A, write(2), DONE), (B, READ, is(1))]);
        broken(&[(A, write(1), DONE), (B, READ, is(None))]);
        broken(&[(A, write(1), DONE), (A, DELETE, DONE), (B, READ, is(1))]);
    }

    #[test]
    fn a_value_from_nowhere_is_rejected() {
        broken(&[(A, READ, is(1))]);
    }

    #[test]
    fn of_two_who_compare_with_the_same_value_one_is_refused() {
        broken(&[(A, swap(None, 1), DONE), (B, swap(None, 2), DONE)]);
        kept(&[(A, swap(None, 1), DONE), (B, swap(None, 2), REFUSED), (B, READ, is(1))]);
    }

    #[test]
    fn a_needless_refusal_is_rejected() {
        broken(&[(A, write(1), DONE), (B, swap(1, 2), REFUSED)]);
        broken(&[(A, write(1), DONE), (B, swap_version(1, 2), REFUSED)]);
    }

    #[test]
    fn an_old_version_that_compares_after_a_delete_is_rejected() {
        let before = [(A, write(7), DONE), (A, READ, is_at(7, 1)), (B, DELETE, DONE), (B, write(7), DONE)];
        let and = |last| [&before[..], &[last]].concat();
        broken(&and((A, swap_version(1, 8), DONE)));
        kept(&and((A, swap_version(1, 8), REFUSED)));
        kept(&and((A, swap_version(3, 8), DONE)));
        // By value nobody can tell.
        kept(&and((A, swap(7, 8), DONE)));
    }

    #[test]
    fn what_is_deleted_has_no_version_to_compare_with() {
        let before = [(A, write(7), DONE), (A, DELETE, DONE)];
        let and = |last| [&before[..], &[last]].concat();
        broken(&and((A, swap_version(2, 8), DONE)));
        broken(&and((A, swap_version(0, 8), REFUSED)));
        kept(&and((A, swap_version(0, 8), DONE)));
    }

    #[test]
    fn calls_that_overlap_are_done_in_any_order_but_in_one() {
        let two_writes = [
            invoked(A, write(1)),
            invoked(B, write(2)),
            returned(A, DONE),
            returned(B, DONE),
            invoked(C, READ),
        ];
        for seen in [1, 2] {
            let monitor = after(Linearizable::default(), &two_writes);
            let monitor = after(monitor, &[returned(C, is(seen)), invoked(C, READ)]);
            assert_kept(monitor.clone(), &[returned(C, is(seen))]);
            assert_broken(monitor, &[returned(C, is(3 - seen))], C, C);
        }
    }

    #[test]
    fn a_read_that_overlaps_a_write_sees_before_or_after_and_never_after_and_then_before() {
        let monitor = after(Linearizable::default(), &[invoked(A, write(1)), invoked(B, READ)]);
        assert_kept(monitor.clone(), &[returned(B, is(None))]);
        let seen = after(monitor, &[returned(B, is(1)), invoked(C, READ)]);
        assert_broken(seen, &[returned(C, is(None))], C, C);
    }

    #[test]
    fn what_was_given_up_may_be_done_any_time_once_or_never() {
        for lost in [unknown(A), crashed(A)] {
            let monitor = after(Linearizable::default(), &[invoked(A, write(1)), lost]);
            let unseen = after(monitor, &done(B, READ, is(None)));
            let unseen = after(unseen, &done(B, write(2), DONE));
            assert_kept(unseen.clone(), &done(B, READ, is(2)));
            let seen = after(unseen, &done(B, READ, is(1)));
            let over = after(seen, &done(B, write(2), DONE));
            assert_kept(over.clone(), &done(B, READ, is(2)));
            assert_broken(over, &done(B, READ, is(1)), B, B);
        }
    }

    #[test]
    fn an_increment_repeated_after_a_lost_answer_is_told_from_one_that_was_not_done() {
        let monitor = after(Linearizable::default(), &[invoked(A, swap_version(0, 1)), unknown(A)]);
        assert_kept(monitor.clone(), &done(A, swap_version(0, 1), REFUSED));
        assert_kept(monitor.clone(), &done(A, swap_version(0, 1), DONE));
        let refused = after(monitor, &done(A, swap_version(0, 1), REFUSED));
        assert_broken(refused, &done(A, READ, is(None)), A, A);
    }

    #[test]
    fn objects_do_not_meet() {
        let other = ObjectCall::Read { variable: Y };
        kept(&[(A, write(1), DONE), (B, other, is(None)), (B, at(0), ObjectAnswer::Item { item: None })]);
        broken(&[(A, write(1), DONE), (B, other, is(1))]);
    }

    #[test]
    fn an_answer_to_nothing_and_an_answer_of_another_kind_are_told_apart() {
        assert_kept(Linearizable::default(), &[returned(A, DONE)]);
        broken(&[(A, READ, DONE)]);
    }

    #[test]
    fn pushes_are_at_positions_in_the_order_of_time() {
        let pushed = |position| ObjectAnswer::Pushed { position };
        kept(&[(A, push(1), pushed(0)), (B, push(2), pushed(1))]);
        broken(&[(A, push(1), pushed(0)), (B, push(2), pushed(0))]);
        broken(&[(A, push(1), pushed(1))]);
        let item = |item| ObjectAnswer::Item { item: Some(item) };
        let overlap = [invoked(A, push(1)), invoked(B, push(2)), unknown(A), returned(B, pushed(1))];
        let monitor = after(Linearizable::default(), &overlap);
        assert_kept(monitor.clone(), &done(B, at(0), item(1)));
        assert_broken(monitor, &done(B, at(0), item(2)), B, B);
    }

    #[test]
    fn two_hundred_pushes_that_nobody_knows_of_are_told_in_little_more_than_themselves() {
        let lost = (0..200).flat_map(|item| [invoked(A, push(item)), unknown(A)]);
        let item = |item| ObjectAnswer::Item { item: Some(item) };
        let monitor = after(Linearizable::default(), &lost.collect::<Vec<_>>());
        let monitor = after(monitor, &done(B, at(150), item(7)));
        let monitor = after(monitor, &done(B, push(200), ObjectAnswer::Pushed { position: 170 }));
        assert!(postcard::to_stdvec(&monitor).unwrap().len() < 2_000);
        // It is at another position already, and nobody pushed it twice.
        assert_broken(monitor.clone(), &done(B, at(3), item(7)), B, B);
        assert_kept(monitor.clone(), &done(B, at(3), item(8)));
        // There are 201 in all.
        let index = |index| done(B, ObjectCall::ReadIndex { queue: X }, ObjectAnswer::Index { index });
        assert_kept(monitor.clone(), &index(201));
        assert_broken(monitor, &index(202), B, B);
    }

    #[test]
    fn a_push_that_began_later_is_not_where_something_was_before() {
        let two = [invoked(A, push(1)), unknown(A), invoked(A, push(2)), unknown(A)];
        let monitor = after(Linearizable::default(), &two);
        let index = ObjectCall::ReadIndex { queue: X };
        let monitor = after(monitor, &done(B, index, ObjectAnswer::Index { index: 1 }));
        let monitor = after(monitor, &[invoked(C, push(3)), unknown(C)]);
        let item = |item| ObjectAnswer::Item { item: Some(item) };
        assert_broken(monitor.clone(), &done(B, at(0), item(3)), B, B);
        let first = after(monitor.clone(), &done(B, at(0), item(2)));
        assert_kept(first, &done(B, at(1), item(3)));
        // Its position may be told before its item is.
        let third = after(monitor, &done(B, at(1), item(3)));
        assert_kept(third, &done(B, at(0), item(1)));
    }

    #[test]
    fn an_index_may_lag_behind_and_is_never_beyond_the_end() {
        let (index, at_most) = (ObjectCall::ReadIndex { queue: X }, |index| ObjectAnswer::Index { index });
        let monitor = after(Linearizable::default(), &done(A, push(1), ObjectAnswer::Pushed { position: 0 }));
        for lag in [0, 1] {
            assert_kept(monitor.clone(), &done(B, index, at_most(lag)));
        }
        assert_broken(monitor, &done(B, index, at_most(2)), B, B);
    }

    #[test]
    fn after_a_violation_the_call_counts_as_given_up() {
        let mut monitor = after(Linearizable::default(), &done(A, write(1), DONE));
        monitor.observe(invoked(B, swap(2, 3))).unwrap();
        assert!(monitor.observe(returned(B, DONE)).is_err());
        assert_kept(monitor.clone(), &done(A, READ, is(1)));
        let later = after(monitor, &done(A, write(2), DONE));
        assert_kept(later, &done(A, READ, is(3)));
    }

    #[test]
    fn monitors_that_will_judge_alike_are_equal() {
        // Which of two writes that nobody saw came first is forgotten with the third.
        let both = |first, second| {
            let calls = [invoked(first, write(1)), invoked(second, write(2))];
            let ends = [returned(A, DONE), returned(B, DONE)];
            let monitor = after(Linearizable::default(), &[calls, ends].concat());
            after(monitor, &done(C, write(3), DONE))
        };
        assert_eq!(
            both(A, B),
            after(
                Linearizable::default(),
                &history(&[(A, write(0), DONE), (A, write(0), DONE), (A, write(3), DONE)])
            )
        );
        assert_eq!(both(A, B).variables.0[0].1, both(B, A).variables.0[0].1);
        // Reads, refusals, and calls given up that can change nothing leave nothing behind.
        let idle = after(Linearizable::default(), &[invoked(A, READ), unknown(A)]);
        assert_eq!(after(idle, &done(B, swap(1, 2), REFUSED)), Linearizable::default());
        let mut old = after(Linearizable::default(), &history(&[(A, write(1), DONE)]));
        let young = after(old.clone(), &history(&[(A, write(2), DONE)]));
        old = after(old, &[invoked(B, swap_version(1, 5)), unknown(B)]);
        assert_ne!(old, after(Linearizable::default(), &history(&[(A, write(1), DONE)])));
        let old = after(old, &history(&[(A, write(2), DONE), (A, READ, is_at(2, 2))]));
        assert_eq!(old, young);
    }
}
