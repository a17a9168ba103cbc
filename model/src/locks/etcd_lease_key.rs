//! A lock on etcd that is one key: put by whoever finds none, and bound to its lease. The exactly-once article's compare-and-set, with the
//! lease as what frees the lock of the dead; python-etcd3's `Lock` is of this kind (`etcd3/locks.py`).
//!
//! ```text
//!                                                     A             etcd             B
//!   1  Grant                                          │── grant ─────▶│◀───── grant ──│
//!   2  Txn: no key? put it, bound to the lease.       │── txn ───────▶│ rev 2         │
//!                                                     │◀─ put ────────│◀──────── txn ──│
//!   3  there is one: wait until it is deleted, and 2  │ holds         │── A's, rev 2 ▶│
//!      again                                          │               │◀────── watch ──│
//!   4  unlock: delete the key                         │── delete ────▶│ rev 3         │
//!                                                     │               │── deleted! ──▶│
//!      2  again                                       │               │◀──────── txn ──│
//! ```
//!
//! Lines of a trace are these steps.
//!
//! **What it lives on.** One member decides who finds no key. The client takes its lease for over no later than the leader does.
//!
//! **What breaks it.** A holder that outlives its lease. A deletion by the key's name, which is everybody's: said again after its
//! answer was lost, or come late, or sent by somebody whose lease is over, it deletes the key of whoever holds by then. A watch that
//! begins with its arrival, for the key may have gone before. And a transaction that is said again after its answer was lost: the
//! answer is no, and the client waits for itself. The exactly-once article, *Heterogeneous concurrent exactly-once processing of data in
//! real time*, says that a compare-and-set may be repeated without harm; that is true of the store, and not of the answer.
//!
//! **Ours.** The exactly-once article locks nothing, and there is no one text to follow: the variants are knobs ([`Settings`]).
//! python-etcd3 takes another lease for each attempt, does not keep it alive by itself, and compares the value when it unlocks.
//!
//! **What it does not promise.** Any order: whoever asks first after a deletion gets the lock.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Fence, OnDone, Settings, Wait};

use super::etcd_keys::{deletion_of, is_created_at, key_of, queue_means};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Idle, Line, Lock, UNCHECKED_TOKENS, Visitor};
use crate::stores::etcd::session::{Here, Notice, Notices, Session};
use crate::stores::etcd::{
    Change, Etcd, Key, KeyValue, Keys, Name, Operation, Outcome, Put, Range, Reply, Response, Revision,
    Start, Step, Txn, Value,
};
use crate::time::{Due, Micros, Monotonic};
use crate::workload::Workload;
use picklock_properties::{ClientId, Event, LockId, Mode};
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EtcdLeaseKey {
    /// The client's library.
    session: Session,
    /// The lock that is or was last asked for.
    lock: LockId,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// The create revision of the key, while it is the client's own.
    revision: Option<Revision>,
    /// When a client that polls asks again.
    again_at: Option<Monotonic>,
}

/// Where the client stands, by the steps above.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// Step 1: asks for a lease.
    Open,
    /// Step 2: puts the key, if there is none.
    Put,
    /// Step 3: waits for a deletion.
    Watch,
    /// Step 3, of a client that polls.
    Sleep,
    /// It holds.
    Held,
    /// The application was told that it does not hold any more.
    Lost,
    /// Step 4: deletes the key.
    Unlock,
    /// Its session was over when it was granted: deletes the key, and begins again.
    CleanUp,
}

/// What enters the client's `match`.
enum Input {
    Call(Call),
    /// The library says so.
    Told(Notice),
    /// A client that polls has slept long enough.
    Awake,
}

/// The one key of a lock, below its prefix.
const KEY: Name = Name::Word(0);

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Etcd>;

impl EtcdLeaseKey {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                (self.lock, self.mode) = (lock, mode);
                self.begin(cx, out);
            }

            // Step 1.
            (Phase::Open, Input::Told(Notice::Open)) => self.go(Phase::Put, cx, out),

            // Step 2.
            (
                Phase::Put,
                Input::Told(Notice::Answered { revision, outcome: Outcome::Txn { succeeded, responses } }),
            ) => {
                let own = match succeeded {
                    true => Some(revision),
                    false => self.own(&responses, cx.settings),
                };
                match (own, self.mode) {
                    (Some(own), _) => self.hold(own, cx, out),
                    (None, Mode::TryLock) => self.finish(Answer::Refused, out),
                    (None, Mode::Lock) => self.wait(revision, cx, out),
                }
            }
            // There is no such lease any more: the session is over.
            (Phase::Put, Input::Told(Notice::Answered { .. })) => {
                self.session.abandon();
                self.begin(cx, out);
            }
            // Whether the key was put is unknown: the transaction is said again.
            (Phase::Put, Input::Told(Notice::TimedOut)) => self.begin(cx, out),

            // Step 3.
            (Phase::Watch, Input::Told(Notice::Watched(outcome))) => {
                if matches!(outcome, Outcome::Events(_)) {
                    out.record(Event::Woken { client: ClientId(cx.me) });
                }
                self.begin(cx, out);
            }
            (Phase::Sleep, Input::Awake) => self.begin(cx, out),

            // Step 4.
            (Phase::Held | Phase::Lost, Input::Call(Call::Release)) => self.go(Phase::Unlock, cx, out),
            (Phase::Unlock, Input::Told(Notice::Answered { .. })) => self.finish(Answer::Released, out),
            (Phase::CleanUp, Input::Told(Notice::Answered { .. })) => self.begin(cx, out),
            (phase @ (Phase::Unlock | Phase::CleanUp), Input::Told(Notice::TimedOut)) => {
                self.go(phase, cx, out);
            }

            // The session is done: only a holder looks at that.
            (Phase::Held, Input::Told(Notice::Done)) => match cx.settings.on_done {
                OnDone::Stop => {
                    self.phase = Phase::Lost;
                    out.answer(Answer::Lost);
                }
                OnDone::GoOn => {}
            },
            (
                Phase::Idle
                | Phase::Put
                | Phase::Watch
                | Phase::Sleep
                | Phase::Lost
                | Phase::Unlock
                | Phase::CleanUp,
                Input::Told(Notice::Done),
            ) => {}

            (
                phase,
                Input::Call(_)
                | Input::Told(
                    Notice::Open
                    | Notice::Done
                    | Notice::Answered { .. }
                    | Notice::TimedOut
                    | Notice::Watched(_),
                )
                | Input::Awake,
            ) => unreachable!("nothing of the kind is under way in {phase:?}"),
        }
    }

    /// Steps 1 and 2.
    fn begin(&mut self, cx: &Cx, out: &mut Out) {
        self.revision = None;
        let next = if self.session.goes_on(&here(cx)) { Phase::Put } else { Phase::Open };
        self.go(next, cx, out);
    }

    /// Enters a phase, and asks what it asks.
    fn go(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        let (here, key) = (here(cx), self.key());
        match phase {
            Phase::Open => self.session.open(&here, out),
            Phase::Put => {
                let put = Put { key, value: Value::Name(cx.me), lease: self.session.lease() };
                let txn = Txn {
                    compare: smallvec![is_created_at(key, Revision::ZERO)],
                    success: smallvec![Step::Put(put)],
                    failure: smallvec![Step::Range(Range::of(Keys::One(key)))],
                };
                self.session.change(Operation::Txn(txn), &here, out);
            }
            Phase::Unlock | Phase::CleanUp => {
                let Some(revision) = self.revision else { unreachable!("who unlocks has put the key") };
                let deletion = match cx.settings.guards_unlock {
                    true => deletion_of(key, revision),
                    false => Operation::Delete(Keys::One(key)),
                };
                self.session.change(deletion, &here, out);
            }
            Phase::Idle | Phase::Watch | Phase::Sleep | Phase::Held | Phase::Lost => {
                unreachable!("{phase:?} asks nothing")
            }
        }
    }

    /// Step 3, after a refusal at this revision.
    fn wait(&mut self, refused_at: Revision, cx: &Cx, out: &mut Out) {
        let start = match cx.settings.wait {
            Wait::WatchFromNow => Start::Now,
            Wait::WatchFromAnswer => Start::At(refused_at),
            Wait::Poll(interval) => {
                self.phase = Phase::Sleep;
                self.again_at = Some(cx.monotonic + interval);
                return;
            }
        };
        self.phase = Phase::Watch;
        self.session.watch_deletion(Keys::One(self.key()), start, &here(cx), out);
    }

    fn key(&self) -> Key {
        key_of(self.lock, KEY)
    }

    /// The create revision of the key that a refusal shows, if the client looks, and it is its own.
    fn own(&self, responses: &[Response], settings: &Settings) -> Option<Revision> {
        let Some(Response::Range(found)) = responses.first() else { return None };
        let is_own = |kv: &&KeyValue| settings.finds_own_key && kv.lease == self.session.lease();
        found.kvs.first().filter(is_own).map(|kv| kv.create_revision)
    }

    fn hold(&mut self, created_at: Revision, cx: &Cx, out: &mut Out) {
        self.revision = Some(created_at);
        if !self.session.goes_on(&here(cx)) && cx.settings.on_done == OnDone::Stop {
            // The application looks whether its session is done before it begins.
            return self.go(Phase::CleanUp, cx, out);
        }
        self.phase = Phase::Held;
        let fence = match cx.settings.fence {
            Fence::None => None,
            Fence::CreateRevision => self.revision.map(Revision::token),
        };
        out.record(Event::Secured { client: ClientId(cx.me), servers: [0].into_iter().collect() });
        out.answer(Answer::Granted { fence });
    }

    fn finish(&mut self, answer: Answer, out: &mut Out) {
        self.phase = Phase::Idle;
        self.mode = Mode::Lock;
        self.revision = None;
        out.answer(answer);
    }

    fn take(&mut self, notices: Notices, cx: &Cx, out: &mut Out) {
        notices.into_iter().for_each(|notice| self.step(Input::Told(notice), cx, out));
    }
}

fn here<'a>(cx: &Cx<'a>) -> Here<'a> {
    Here::new(cx, &cx.settings.session)
}

impl Lock for EtcdLeaseKey {
    type Store = Etcd;
    type Settings = Settings;

    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        EtcdLeaseKey {
            session: Session::default(),
            lock: LockId::default(),
            mode: Mode::Lock,
            phase: Phase::Idle,
            revision: None,
            again_at: None,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        let notices = self.session.on_reply(reply, &here(cx));
        self.take(notices, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        if self.again_at.take_if(|at| cx.monotonic >= *at).is_some() {
            self.step(Input::Awake, cx, out);
        }
        let notices = self.session.on_deadline(&here(cx), out);
        self.take(notices, cx, out);
    }

    fn on_restart(&mut self, cx: &Cx) {
        let mut session = self.session.clone();
        session.restart();
        *self = EtcdLeaseKey { session, ..EtcdLeaseKey::new(cx.me, cx.settings) };
    }

    /// A lock's number is its key's prefix, and whose lease the key is bound to has the lock. There is no queue.
    fn means(change: &Change, server: u8) -> Option<Event> {
        match change {
            Change::Created { .. } => None,
            Change::Gone { .. } | Change::First { .. } | Change::Notified { .. } => {
                queue_means(change, server)
            }
        }
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.session.deadline().into_iter().chain(self.again_at).min().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.session.dismisses(reply)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        self.session.visit(visitor);
        self.revision.iter_mut().for_each(|revision| revision.visit(visitor));
        self.again_at.iter_mut().for_each(|at| visitor.wake(at));
    }

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Open => 1,
            Phase::Put => 2,
            Phase::Watch | Phase::Sleep => 3,
            Phase::Unlock | Phase::CleanUp => 4,
            Phase::Idle | Phase::Held | Phase::Lost => return Line::NONE,
        };
        Line { listing: 1, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Open => "asking for a lease",
            Phase::Put => "putting the key, if there is none",
            Phase::Watch => "waiting",
            Phase::Sleep => "asking again later",
            Phase::Held => "holds",
            Phase::Lost => "has lost the lock",
            Phase::Unlock => "unlocking",
            Phase::CleanUp => "cleaning up",
        }
    }

    fn valid_until(&self, settings: &Settings) -> Option<Due> {
        match (self.phase, settings.on_done) {
            (Phase::Held, OnDone::Stop) => self.session.done_at().map(Due::Monotonic),
            _ => None,
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.session.ttl
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    fn idle(settings: &Settings, workload: &Workload) -> Option<Idle> {
        let shows = settings.fence == Fence::CreateRevision && workload.writes.reach_the_resource();
        (shows && !workload.resource_checks).then_some(Idle { setting: "fence", why: UNCHECKED_TOKENS })
    }
}
