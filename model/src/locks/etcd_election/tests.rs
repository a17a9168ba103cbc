//! What the machine asks, in the order of the source's lines, and what it makes of the answers.

use super::*;
use crate::machine::Store;
use crate::stores::etcd::Request;
use picklock_properties::FencingToken;

type Pair = crate::locks::etcd_keys::pair::Pair<EtcdElection>;

const GRANTED: Option<Answer> = Some(Answer::Granted { fence: None });

fn delete(pair: &mut Pair, key: Key) {
    pair.serve(0, Request::new(99, Operation::Delete(Keys::One(key))));
}

/// Elected, and the resignation sent; its answer is lost after it was done, or it is lost itself.
fn resignation_unanswered(settings: Settings, is_done: bool) -> (Pair, Key) {
    let mut pair = Pair::new(settings);
    pair.acquire(Mode::Lock);
    assert!(matches!(pair.settle(), Some(Answer::Granted { .. })));
    let key = pair.client.own_key();
    pair.release();
    for request in std::mem::take(&mut pair.requests) {
        if is_done {
            pair.serve(0, request);
        }
    }
    pair.replies.clear();
    assert_eq!(pair.member.get(key).is_some(), !is_done);
    (pair, key)
}

/// Even who is alone asks who is before it, unlike in the mutex.
#[test]
fn who_is_alone_takes_a_lease_a_transaction_and_a_look_at_the_queue() {
    let mut pair = Pair::new(Settings::timeless());
    assert_eq!(pair.acquire(Mode::Lock), None);
    let mut lines = Vec::new();
    while let Some(request) = pair.requests.pop() {
        lines.push(pair.client.line());
        pair.serve(0, request);
        let reply = pair.replies.pop().expect("it is answered");
        let answer = pair.enter(|client, cx, out| client.on_reply(0, reply, cx, out));
        assert_eq!(answer, if pair.requests.is_empty() { GRANTED } else { None });
    }
    let line = |listing, number| Line { listing, number };
    assert_eq!(lines, [line(3, 50), line(1, 77), line(2, 52)]);
    let key = pair.client.own_key();
    assert_eq!(pair.member.get(key).map(|kv| kv.value), Some(Value::Name(0)));
    pair.release();
    assert_eq!(pair.settle(), Some(Answer::Released));
    assert!(pair.member.get(key).is_none());
}

#[test]
fn a_candidate_waits_for_the_key_before_its_own() {
    let mut pair = Pair::new(Settings::timeless());
    let other = pair.other_enqueues();
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), None);
    assert_eq!(pair.client.line(), Line { listing: 2, number: 30 });
    pair.other_deletes(other);
    assert_eq!(pair.settle(), GRANTED);
}

#[test]
fn who_does_not_want_to_wait_resigns() {
    let mut pair = Pair::new(Settings::timeless());
    pair.other_enqueues();
    pair.acquire(Mode::TryLock);
    assert_eq!(pair.settle(), Some(Answer::Refused));
    assert_eq!(pair.member.contents().iter().filter(|line| line.contains("created")).count(), 1);
}

/// Row E3: nobody looks.
#[test]
fn a_candidate_whose_key_is_gone_is_elected_unless_it_looks() {
    for checks_own_key in [false, true] {
        let mut pair = Pair::new(Settings { checks_own_key, ..Settings::timeless() });
        let other = pair.other_enqueues();
        pair.acquire(Mode::Lock);
        pair.settle();
        let lost = pair.client.own_key();
        delete(&mut pair, lost);
        pair.other_deletes(other);
        assert_eq!(pair.settle(), GRANTED);
        assert_eq!(pair.member.get(pair.client.own_key()).is_some(), checks_own_key);
        assert_eq!(pair.client.own_key() != lost, checks_own_key);
    }
}

/// A transaction of unknown outcome: a campaign of the same session finds the place that it has.
#[test]
fn a_campaign_called_again_finds_its_own_key() {
    for proposal in [Proposal::Name, Proposal::DrawnAnew] {
        let mut pair = Pair::new(Settings { proposal, ..Settings::as_written() });
        pair.acquire(Mode::Lock);
        let grant = pair.requests.remove(0);
        pair.serve(0, grant);
        let granted = pair.replies.remove(0);
        pair.enter(|client, cx, out| client.on_reply(0, granted, cx, out));
        let txn = pair.requests.remove(0);
        pair.serve(0, txn);
        // The answer is lost.
        pair.replies.clear();
        let created = pair.member.revision();
        pair.wait(Micros::seconds(3));
        assert_eq!(pair.settle(), GRANTED);
        assert_eq!(pair.client.revision, Some(created));
        // Another proposal is proclaimed, in the same place.
        let proclaimed = proposal == Proposal::DrawnAnew;
        assert_eq!(pair.member.revision() > created, proclaimed);
        let kv = pair.member.get(pair.client.own_key()).expect("it is there");
        assert_eq!((kv.create_revision, kv.version), (created, if proclaimed { 2 } else { 1 }));
    }
}

/// The key goes between the transaction that finds it and the proclamation.
#[test]
fn who_proclaims_in_vain_campaigns_again() {
    let mut pair = Pair::new(Settings { proposal: Proposal::DrawnAnew, ..Settings::as_written() });
    pair.acquire(Mode::Lock);
    pair.settle();
    let key = pair.client.own_key();
    pair.release();
    pair.requests.clear();
    assert_eq!(pair.wait(Micros::seconds(3)), Some(Answer::Released));
    pair.acquire(Mode::Lock);
    while pair.client.line() != (Line { listing: 1, number: 118 }) {
        let request = pair.requests.remove(0);
        pair.serve(0, request);
        for reply in std::mem::take(&mut pair.replies) {
            pair.enter(|client, cx, out| client.on_reply(0, reply, cx, out));
        }
    }
    delete(&mut pair, key);
    assert_eq!(pair.settle(), GRANTED);
    assert_eq!(pair.member.get(key).map(|kv| (kv.version, Some(kv.create_revision))), {
        Some((1, pair.client.revision))
    });
}

/// etcd-io/etcd#22123.
#[test]
fn who_cannot_resign_goes_on_unless_the_library_remembers_the_key() {
    let (mut pair, key) = resignation_unanswered(Settings::as_written(), false);
    assert_eq!(pair.wait(Micros::seconds(3)), Some(Answer::Released));
    pair.settle();
    assert!(pair.member.get(key).is_some(), "nobody resigns any more");

    let resign_errors = ResignErrors::CalledAgain;
    let (mut pair, key) = resignation_unanswered(Settings { resign_errors, ..Settings::as_written() }, false);
    assert_eq!(pair.wait(Micros::seconds(3)), None);
    assert_eq!(pair.settle(), Some(Answer::Released));
    assert!(pair.member.get(key).is_none());
}

/// The key stays until its lease ends: nobody keeps it alive any more.
#[test]
fn who_orphans_its_session_leads_under_another_key() {
    let resign_errors = ResignErrors::SessionOrphaned;
    let (mut pair, key) = resignation_unanswered(Settings { resign_errors, ..Settings::as_written() }, false);
    assert_eq!(pair.wait(Micros::seconds(3)), Some(Answer::Released));
    pair.settle();
    assert_eq!(pair.client.session.lease(), None);
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), None, "it waits for its own old key");
    delete(&mut pair, key);
    assert_eq!(pair.settle(), GRANTED);
    assert_ne!(pair.client.own_key(), key);
}

/// What the guard is for: the old key's resignation comes when there is another of its name.
#[test]
fn a_resignation_that_comes_twice_spares_a_new_key() {
    let mut pair = Pair::new(Settings::timeless());
    pair.acquire(Mode::Lock);
    pair.settle();
    pair.release();
    let resignation = pair.requests[0].clone();
    assert_eq!(pair.settle(), Some(Answer::Released));
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), GRANTED);
    pair.serve(0, resignation);
    assert!(pair.member.get(pair.client.own_key()).is_some());
}

/// What it is not for: the key of a resignation that is late is still the one that was put.
#[test]
fn a_resignation_that_comes_late_deletes_the_key_of_the_next_campaign() {
    let mut pair = Pair::new(Settings::as_written());
    pair.acquire(Mode::Lock);
    pair.settle();
    pair.release();
    let resignation = pair.requests.remove(0);
    assert_eq!(pair.wait(Micros::seconds(3)), Some(Answer::Released));
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), GRANTED);
    pair.serve(0, resignation);
    assert!(pair.member.get(pair.client.own_key()).is_none(), "the guard has passed");
    assert_eq!(pair.client.phase, Phase::Leads);
}

#[test]
fn a_caller_without_patience_resigns_and_calls_again() {
    let mut pair = Pair::new(Settings { patience: Some(Micros::seconds(1)), ..Settings::as_written() });
    let other = pair.other_enqueues();
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), None);
    let first = pair.client.revision;
    pair.wait(Micros::seconds(1));
    assert_eq!(pair.client.line(), Line { listing: 1, number: 98 });
    assert_eq!(pair.settle(), None);
    assert!(pair.client.revision > first, "it stands at the end again");
    pair.other_deletes(other);
    assert_eq!(pair.settle(), GRANTED);
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

/// What is waited for is a deletion: a value that is proclaimed just before the wait begins ends nothing.
#[test]
fn a_candidate_is_not_woken_by_a_proclamation() {
    let mut pair = Pair::new(Settings::timeless());
    let other = pair.other_enqueues();
    pair.acquire(Mode::Lock);
    while pair.client.phase != Phase::WaitGet {
        let request = pair.requests.remove(0);
        pair.serve(0, request);
        for reply in std::mem::take(&mut pair.replies) {
            pair.enter(|client, cx, out| client.on_reply(0, reply, cx, out));
        }
    }
    let lease = pair.member.get(other).and_then(|kv| kv.lease);
    let put = Put { key: other, value: Value::Text(7), lease };
    pair.serve(1, Request::new(5, Operation::Put(put)));
    assert_eq!(pair.settle(), None);
    assert_eq!(pair.client.phase, Phase::WaitWatch);
    pair.other_deletes(other);
    assert_eq!(pair.settle(), GRANTED);
}

/// The transaction of a campaign comes again after the resignation: the key goes with the session, if that is left.
#[test]
fn a_campaign_that_comes_twice_leaves_a_key_of_a_session_that_is_kept() {
    for (sessions, is_kept) in [(Sessions::Kept, true), (Sessions::OneEach, false)] {
        let mut pair = Pair::new(Settings { sessions, ..Settings::as_written() });
        pair.acquire(Mode::Lock);
        let grant = pair.requests.remove(0);
        pair.serve(0, grant);
        let granted = pair.replies.remove(0);
        pair.enter(|client, cx, out| client.on_reply(0, granted, cx, out));
        let campaign = pair.requests.iter().find(|request| matches!(request.operation, Operation::Txn(_)));
        let campaign = campaign.expect("it campaigns").clone();
        assert_eq!(pair.settle(), GRANTED);
        let key = pair.client.own_key();
        pair.release();
        assert_eq!(pair.settle(), Some(Answer::Released));
        pair.serve(0, campaign);
        assert!(pair.member.get(key).is_some(), "nobody knows of it");
        assert_eq!(pair.client.session.lease().is_some(), is_kept);
    }
}
