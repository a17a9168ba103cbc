//! What the machine asks, in the order of the source's lines, and what it makes of the answers.

use super::*;
use crate::machine::Store;
use crate::stores::etcd::Request;
use crate::stores::etcd::session::{Deadline, SessionSettings};
use picklock_properties::FencingToken;

type Pair = crate::locks::etcd_keys::pair::Pair<EtcdMutex>;

fn own_key(pair: &Pair) -> Key {
    pair.client.key.expect("it has a key")
}

const GRANTED: Option<Answer> = Some(Answer::Granted { fence: None });

#[test]
fn an_uncontended_lock_takes_a_lease_and_one_transaction() {
    let mut pair = Pair::new(Settings::timeless());
    assert_eq!(pair.acquire(Mode::Lock), None);
    assert_eq!(pair.client.line(), Line { listing: 3, number: 50 });
    let grant = pair.requests.pop().expect("it asks for a lease");
    pair.serve(0, grant);
    let granted = pair.replies.pop().expect("it is granted");
    pair.enter(|client, cx, out| client.on_reply(0, granted, cx, out));
    assert_eq!(pair.client.line(), Line { listing: 1, number: 123 });
    assert_eq!(pair.requests.len(), 1);
    assert_eq!(pair.settle(), GRANTED);
    let key = own_key(&pair);
    assert!(pair.member.get(key).is_some());
    pair.release();
    assert_eq!(pair.settle(), Some(Answer::Released));
    assert!(pair.member.get(key).is_none());
}

#[test]
fn a_waiter_waits_for_the_key_before_its_own_and_then_looks_for_its_own() {
    let mut pair = Pair::new(Settings::timeless());
    let other = pair.other_enqueues();
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), None);
    assert_eq!(pair.client.line(), Line { listing: 2, number: 30 });
    pair.other_deletes(other);
    assert_eq!(pair.settle(), GRANTED);
}

#[test]
fn try_lock_leaves_the_queue_if_somebody_is_before_it() {
    let mut pair = Pair::new(Settings::timeless());
    pair.other_enqueues();
    pair.acquire(Mode::TryLock);
    assert_eq!(pair.settle(), Some(Answer::Refused));
    assert_eq!(pair.member.contents().iter().filter(|line| line.contains("created")).count(), 1);
}

/// `TryLock` returns the error of its deletion, mutex.go:79.
#[test]
fn a_refused_try_lock_whose_deletion_fails_leaves_its_key_unless_it_is_repaired() {
    for (refusal_errors, said) in
        [(RefusalErrors::Returned, Some(Answer::Refused)), (RefusalErrors::CalledAgain, None)]
    {
        let mut pair = Pair::new(Settings { refusal_errors, ..Settings::as_written() });
        let other = pair.other_enqueues();
        pair.acquire(Mode::TryLock);
        while pair.client.line() != (Line { listing: 1, number: 65 }) {
            for request in std::mem::take(&mut pair.requests) {
                pair.serve(0, request);
            }
            for reply in std::mem::take(&mut pair.replies) {
                pair.enter(|client, cx, out| client.on_reply(0, reply, cx, out));
            }
        }
        let key = own_key(&pair);
        // The deletion is lost.
        pair.requests.clear();
        assert_eq!(pair.wait(Micros::seconds(2)), said);
        assert!(pair.member.get(key).is_some());
        match said {
            // The key is there for as long as the session goes on; who tries again finds it.
            Some(_) => {
                pair.requests.clear();
                pair.other_deletes(other);
                pair.acquire(Mode::TryLock);
                assert_eq!(pair.settle(), GRANTED);
                assert_eq!(own_key(&pair), key);
            }
            None => {
                assert_eq!(pair.settle(), Some(Answer::Refused));
                assert!(pair.member.get(key).is_none());
            }
        }
    }
}

/// ErrSessionExpired: the own key went while it waited (row E1).
#[test]
fn a_waiter_whose_key_is_gone_begins_anew_if_it_looks() {
    for checks_own_key in [true, false] {
        let mut pair = Pair::new(Settings { checks_own_key, ..Settings::timeless() });
        let other = pair.other_enqueues();
        pair.acquire(Mode::Lock);
        pair.settle();
        let lost = own_key(&pair);
        pair.serve(0, Request::new(99, Operation::Delete(Keys::One(lost))));
        pair.other_deletes(other);
        assert_eq!(pair.settle(), GRANTED);
        assert_eq!(pair.member.get(own_key(&pair)).is_some(), checks_own_key);
        assert_eq!(own_key(&pair) != lost, checks_own_key);
    }
}

/// A transaction of unknown outcome: who calls Lock again finds the place that it has.
#[test]
fn lock_called_again_finds_its_own_key() {
    let mut pair = Pair::new(Settings::as_written());
    pair.acquire(Mode::Lock);
    let grant = pair.requests.remove(0);
    pair.serve(0, grant);
    let granted = pair.replies.remove(0);
    pair.enter(|client, cx, out| client.on_reply(0, granted, cx, out));
    let txn = pair.requests.remove(0);
    pair.serve(0, txn);
    // The answer is lost.
    pair.replies.clear();
    let revision = pair.member.revision();
    pair.wait(Micros::seconds(3));
    assert_eq!(pair.settle(), GRANTED);
    assert_eq!((pair.member.revision(), pair.client.revision), (revision, Some(revision)));
}

/// Row E4.
#[test]
fn an_unlock_called_again_spares_a_new_key_only_if_it_is_guarded() {
    for guards_unlock in [false, true] {
        let unlock_errors = UnlockErrors::CalledAgainLater;
        let mut pair = Pair::new(Settings { guards_unlock, unlock_errors, ..Settings::as_written() });
        pair.acquire(Mode::Lock);
        pair.settle();
        pair.release();
        for request in std::mem::take(&mut pair.requests) {
            pair.serve(0, request);
        }
        // The answer is lost, and the application goes on.
        pair.replies.clear();
        assert_eq!(pair.wait(Micros::seconds(3)), Some(Answer::Released));
        pair.acquire(Mode::Lock);
        assert_eq!(pair.settle(), GRANTED);
        assert!(pair.member.get(own_key(&pair)).is_some());
        pair.wait(Micros::seconds(3));
        pair.settle();
        assert_eq!(pair.member.get(own_key(&pair)).is_some(), guards_unlock);
    }
}

/// Nothing is heard of the lease any more: the client that counts from what it has sent stops before the lease is over, the
/// library after it.
#[test]
fn a_holder_that_is_cut_off_stops_in_time_only_if_it_counts_from_what_it_has_sent() {
    for (deadline, stops_in_time) in [(Deadline::FromReply, false), (Deadline::FromSending, true)] {
        let base = match deadline {
            Deadline::FromReply => Settings::as_written(),
            Deadline::FromSending => Settings::repaired(),
        };
        let session = SessionSettings { ttl: Some(Micros::seconds(6)), ..base.session };
        let mut pair = Pair::new(Settings { session, ..base });
        pair.now = Monotonic(Micros::millis(300).0);
        pair.acquire(Mode::Lock);
        assert!(matches!(pair.settle(), Some(Answer::Granted { .. })));
        pair.wait(Micros::ZERO);
        // The keep-alive arrives now, and its answer half a second later; then nothing.
        let counted_from = pair.now;
        for request in std::mem::take(&mut pair.requests) {
            pair.serve(0, request);
        }
        pair.now = pair.now + Micros::millis(200);
        pair.settle();
        assert_eq!(pair.wait(Micros::seconds(60)), Some(Answer::Lost));
        assert_eq!(pair.now - counted_from < Micros::seconds(6), stops_in_time, "{deadline:?}");
    }
}

#[test]
fn a_create_revision_is_the_token_if_one_is_asked_for() {
    let mut pair = Pair::new(Settings { fence: Fence::CreateRevision, ..Settings::timeless() });
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), Some(Answer::Granted { fence: Some(FencingToken(2)) }));
    pair.release();
    pair.settle();
    pair.acquire(Mode::Lock);
    // Revision 3 was the deletion.
    assert_eq!(pair.settle(), Some(Answer::Granted { fence: Some(FencingToken(4)) }));
}
