//! What the machine asks, step by step, and what it makes of the answers.

use super::*;
use picklock_properties::FencingToken;

type Pair = crate::locks::etcd_keys::pair::Pair<EtcdLeaseKey>;

const GRANTED: Option<Answer> = Some(Answer::Granted { fence: None });

fn is_there(pair: &Pair) -> bool {
    pair.member.get(pair.client.key()).is_some()
}

/// Refused, with the watch, if any, still on its way.
fn refused(wait: Wait) -> (Pair, Key) {
    let mut pair = Pair::new(Settings { wait, ..Settings::as_written() });
    let other = pair.other_puts(KEY);
    pair.acquire(Mode::Lock);
    while pair.client.phase != Phase::Watch && pair.client.phase != Phase::Sleep {
        let request = pair.requests.remove(0);
        pair.serve(0, request);
        for reply in std::mem::take(&mut pair.replies) {
            pair.enter(|client, cx, out| client.on_reply(0, reply, cx, out));
        }
    }
    (pair, other)
}

#[test]
fn who_finds_no_key_puts_it_and_holds() {
    let mut pair = Pair::new(Settings::timeless());
    assert_eq!(pair.acquire(Mode::Lock), None);
    assert_eq!(pair.settle(), GRANTED);
    let kv = *pair.member.get(pair.client.key()).expect("it is there");
    assert_eq!((kv.value, kv.lease), (Value::Name(0), pair.client.session.lease()));
    pair.release();
    assert_eq!(pair.settle(), Some(Answer::Released));
    assert!(!is_there(&pair));
}

#[test]
fn who_only_tries_is_refused_and_leaves_nothing_behind() {
    let mut pair = Pair::new(Settings::timeless());
    pair.other_puts(KEY);
    let before = pair.member.revision();
    pair.acquire(Mode::TryLock);
    assert_eq!(pair.settle(), Some(Answer::Refused));
    assert_eq!(pair.member.revision(), before);
}

#[test]
fn a_waiter_tries_again_when_the_key_is_deleted() {
    for wait in [Wait::WatchFromNow, Wait::WatchFromAnswer] {
        let (mut pair, other) = refused(wait);
        assert_eq!(pair.settle(), None);
        pair.other_deletes(other);
        assert_eq!(pair.settle(), GRANTED, "{wait:?}");
    }
}

/// kragniz/python-etcd3#1107.
#[test]
fn a_watch_from_now_on_misses_what_happened_before_it_arrived() {
    for (wait, sees_it) in [(Wait::WatchFromNow, false), (Wait::WatchFromAnswer, true)] {
        let (mut pair, other) = refused(wait);
        pair.other_deletes(other);
        assert_eq!(pair.settle(), if sees_it { GRANTED } else { None }, "{wait:?}");
    }
}

#[test]
fn who_polls_asks_again_after_its_interval() {
    let (mut pair, other) = refused(Wait::Poll(Micros::seconds(1)));
    pair.other_deletes(other);
    assert_eq!(pair.settle(), None);
    pair.wait(Micros::seconds(1));
    assert_eq!(pair.settle(), GRANTED);
}

/// The answer to the transaction is lost: the same one said again is refused.
#[test]
fn who_does_not_look_whose_key_it_is_waits_for_itself() {
    for finds_own_key in [false, true] {
        let mut pair = Pair::new(Settings { finds_own_key, ..Settings::as_written() });
        pair.acquire(Mode::Lock);
        let grant = pair.requests.remove(0);
        pair.serve(0, grant);
        let granted = pair.replies.remove(0);
        pair.enter(|client, cx, out| client.on_reply(0, granted, cx, out));
        let txn = pair.requests.remove(0);
        pair.serve(0, txn);
        pair.replies.clear();
        assert_eq!(pair.wait(Micros::seconds(3)), None);
        assert_eq!(pair.settle(), if finds_own_key { GRANTED } else { None });
        assert!(is_there(&pair));
    }
}

/// Anybody's: the name of the key says nothing of who has put it.
#[test]
fn a_deletion_by_name_is_of_whosever_key_is_there() {
    for guards_unlock in [false, true] {
        let mut pair = Pair::new(Settings { guards_unlock, ..Settings::timeless() });
        pair.acquire(Mode::Lock);
        pair.settle();
        pair.release();
        let deletion = pair.requests[0].clone();
        assert_eq!(pair.settle(), Some(Answer::Released));
        pair.other_puts(KEY);
        pair.serve(0, deletion);
        assert_eq!(is_there(&pair), guards_unlock);
    }
}

#[test]
fn a_create_revision_is_the_token_if_one_is_asked_for() {
    let mut pair = Pair::new(Settings { fence: Fence::CreateRevision, ..Settings::timeless() });
    pair.acquire(Mode::Lock);
    assert_eq!(pair.settle(), Some(Answer::Granted { fence: Some(FencingToken(2)) }));
}
