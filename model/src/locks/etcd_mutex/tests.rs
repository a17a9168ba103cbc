//! What the machine asks, in the order of the source's lines, and what it makes of the answers.

use super::*;
use crate::machine::{Message, Node, Store};
use crate::stores::etcd::{LeaseId, Request, session::SessionSettings};
use crate::stores::etcd::{Settings as StoreSettings, session::Deadline};
use crate::time::Wall;
use picklock_properties::{Access, FencingToken};

/// One client's machine and one member, with what is under way between them.
struct Pair {
    client: EtcdMutex,
    member: Etcd,
    settings: Settings,
    now: Monotonic,
    requests: Vec<Request>,
    replies: Vec<Reply>,
}

impl Pair {
    fn new(settings: Settings) -> Pair {
        Pair {
            client: EtcdMutex::new(0, &settings),
            member: Etcd::new(0, 1, &StoreSettings::default()),
            settings,
            now: Monotonic(0),
            requests: Vec::new(),
            replies: Vec::new(),
        }
    }

    fn enter(&mut self, entry: impl FnOnce(&mut EtcdMutex, &Cx, &mut Out)) -> Option<Answer> {
        let mut out = Out::default();
        let settings = self.settings;
        let cx =
            Context { me: 0, servers: 1, wall: Wall(0), monotonic: self.now, choice: 0, settings: &settings };
        entry(&mut self.client, &cx, &mut out);
        self.requests.extend(out.sends.drain(..).filter_map(|(_, message)| match message {
            Message::Request(request) => Some(request),
            _ => None,
        }));
        out.answer
    }

    fn acquire(&mut self, mode: Mode) -> Option<Answer> {
        let lock = LockId::default();
        self.enter(|client, cx, out| {
            client.on_call(Call::Acquire { lock, mode, access: Access::FIRST }, cx, out)
        })
    }

    fn release(&mut self) -> Option<Answer> {
        self.enter(|client, cx, out| client.on_call(Call::Release, cx, out))
    }

    /// The member handles a request of this client, or of another one; answers to this one are kept.
    fn serve(&mut self, from: u8, request: Request) {
        let settings = StoreSettings::default();
        let cx =
            Context { me: 0, servers: 1, wall: Wall(0), monotonic: self.now, choice: 0, settings: &settings };
        let mut out = Out::default();
        self.member.on_request(from, request, &cx, &mut out);
        self.replies.extend(out.sends.drain(..).filter_map(|(to, message)| match (to, message) {
            (Node::Client(0), Message::Reply(reply)) => Some(reply),
            _ => None,
        }));
    }

    /// Everything arrives, until nothing is under way; what the machine said last.
    fn settle(&mut self) -> Option<Answer> {
        let mut said = None;
        while !self.requests.is_empty() || !self.replies.is_empty() {
            for request in std::mem::take(&mut self.requests) {
                self.serve(0, request);
            }
            for reply in std::mem::take(&mut self.replies) {
                said = self.enter(|client, cx, out| client.on_reply(0, reply, cx, out)).or(said);
            }
        }
        said
    }

    /// The machine is woken when it wants to be, up to this length.
    fn wait(&mut self, length: Micros) -> Option<Answer> {
        let end = self.now + length;
        while let Some(Due::Monotonic(at)) = self.client.deadline(&self.settings)
            && at <= end
        {
            self.now = self.now.max(at);
            if let Some(answer) = self.enter(|client, cx, out| client.on_deadline(cx, out)) {
                return Some(answer);
            }
        }
        self.now = end;
        None
    }

    /// Another client's key in the queue.
    fn other_enqueues(&mut self) -> Key {
        let lease = LeaseId { client: 1, serial: 1 };
        let key = Key { prefix: 0, name: Name::Lease(lease) };
        let put = Put { key, value: Value::Empty, lease: Some(lease) };
        for (serial, operation) in [(1, Operation::Grant { ttl: None }), (2, Operation::Put(put))] {
            self.serve(1, Request { serial, cancels: None, operation });
        }
        key
    }

    fn other_deletes(&mut self, key: Key) {
        self.serve(1, Request { serial: 3, cancels: None, operation: Operation::Delete(Keys::One(key)) });
    }

    fn own_key(&self) -> Key {
        self.client.key.expect("it has a key")
    }
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
    let key = pair.own_key();
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

/// ErrSessionExpired: the own key went while it waited (row E1).
#[test]
fn a_waiter_whose_key_is_gone_begins_anew_if_it_looks() {
    for checks_own_key in [true, false] {
        let mut pair = Pair::new(Settings { checks_own_key, ..Settings::timeless() });
        let other = pair.other_enqueues();
        pair.acquire(Mode::Lock);
        pair.settle();
        let lost = pair.own_key();
        pair.serve(0, Request { serial: 99, cancels: None, operation: Operation::Delete(Keys::One(lost)) });
        pair.other_deletes(other);
        assert_eq!(pair.settle(), GRANTED);
        assert_eq!(pair.member.get(pair.own_key()).is_some(), checks_own_key);
        assert_eq!(pair.own_key() != lost, checks_own_key);
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
        assert!(pair.member.get(pair.own_key()).is_some());
        pair.wait(Micros::seconds(3));
        pair.settle();
        assert_eq!(pair.member.get(pair.own_key()).is_some(), guards_unlock);
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
