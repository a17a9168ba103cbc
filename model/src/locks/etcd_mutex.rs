//! etcd's own lock: `concurrency.Session` and `concurrency.Mutex` (`client/v3/concurrency`, at commit c34dc7ee0).
//!
//! Whoever wants the lock puts a key under the lock's prefix, named by its session's lease and bound to it. The key created
//! first holds; everybody else waits until all keys created before its own are gone.
//!
//! ```text
//!                                                  A             etcd             B
//!   session.go:50   Grant                          │── grant ─────▶│◀───── grant ──│
//!   mutex.go:123    Txn: no key? put it.           │── txn ───────▶│ rev 2         │
//!                   who is the first?              │◀─ put, A is ──│◀──────── txn ──│
//!   mutex.go:82     I am: done                     │ holds    rev 3│── put, A is ─▶│
//!   key.go:52       who is the last before me?     │               │◀── get < 3 ───│
//!   key.go:30       A: wait until it is deleted    │               │◀── watch A ───│
//!   mutex.go:144    Unlock: delete the key         │── delete ────▶│ rev 4         │
//!                   key.go:52 again: nobody        │               │── deleted! ──▶│
//!   mutex.go:97     is my own key still there?     │               │◀── get own ───│ holds
//! ```
//!
//! Lines of a trace: L1 is `mutex.go`, L2 `key.go`, L3 `session.go`.
//!
//! **What it lives on.** One order of all creates, in which the own create revision is the place in the queue. The client
//! takes its lease for over no later than the leader does.
//!
//! **What breaks it.** A holder that outlives its lease: paused, or cut off and going on. Its own deadline does not save it: it is
//! counted from the arrival of an answer, not from what was answered, and looked at once a second
//! ([`SessionSettings`](crate::stores::etcd::session::SessionSettings)). A waiter whose key went with its lease while it
//! waited, if nobody looks (row E1). And `Unlock`, which deletes a key by its name: said again after its answer was
//! lost, it deletes what the same session has locked since (row E4, open: etcd-io/etcd#22082). A waiter waits for ever if the host of the
//! member that it watches at loses its power, and nothing pings it (row E19).
//!
//! **Where the source is silent.** What the application does when `Lock` or `Unlock` returns an error: here it calls `Lock`
//! again, with another session if the lease is gone, and `Unlock` as [`UnlockErrors`] says; it takes an error of `TryLock` for a
//! refusal ([`RefusalErrors`]). What a holder does when its session is done: [`OnDone`].
//!
//! **Left out.** A context that ends during the transaction of `tryAcquire`, which then fails and leaves the key behind: here
//! only the wait is broken off.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{ContextEnd, Fence, KeyName, OnDone, RefusalErrors, Settings, UnlockErrors};

use super::etcd_keys::{created, deletion_of, is_created_at, key_of, keys_of, last_before, queue_means};
use crate::machine::{
    Answer, Call, Context, Effects, IDLE, Idle, Line, Lock, Owner, UNCHECKED_TOKENS, Visitor,
};
use crate::stores::etcd::session::{Here, Notice, Notices, Session};
use crate::stores::etcd::{
    Change, Etcd, Key, Keys, Name, Operation, Outcome, Put, Range, Reply, Response, Revision, Start, Step,
    Txn, Value, WatchEvent,
};
use crate::time::{Due, Micros, Monotonic};
use crate::workload::Workload;
use picklock_properties::{ClientId, Event, LockId, Mode};
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EtcdMutex {
    /// The client's library.
    session: Session,
    /// The lock that is or was last asked for.
    lock: LockId,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// `myKey`, from the first transaction of an attempt on.
    key: Option<Key>,
    /// `myRev`, once known.
    revision: Option<Revision>,
    /// When the caller's context ends.
    context_until: Option<Monotonic>,
    /// An unlock of unknown outcome that somebody will call again ([`UnlockErrors::CalledAgainLater`]).
    stale: Option<Stale>,
}

/// An unlock of unknown outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Stale {
    key: Key,
    revision: Revision,
    /// The last one sent.
    serial: Option<u32>,
    /// When it is called again.
    again_at: Option<Monotonic>,
}

/// Where the client stands, by the functions of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// `NewSession`, session.go:50: asks for a lease.
    Open,
    /// `tryAcquire`, mutex.go:123: puts its key, and asks who is first.
    TryAcquire,
    /// `waitDeletes`, key.go:52: who is the last before me?
    WaitGet,
    /// `waitDelete`, key.go:30: waits until that key is deleted.
    WaitWatch,
    /// `Lock`, mutex.go:97: is the own key still there?
    CheckOwn,
    /// `Lock`, mutex.go:108: returned; the application holds.
    Held,
    /// The application was told that it does not hold any more.
    Lost,
    /// `Unlock`, mutex.go:144: deletes the key.
    Unlock,
    /// `TryLock`, mutex.go:65: somebody else is first; deletes the key.
    Refuse,
    /// `Lock`, mutex.go:92: the wait has failed; deletes the key, and calls `Lock` again.
    CleanUp,
}

/// What enters the client's `match`.
enum Input {
    Call(Call),
    /// There is a session.
    Open,
    /// There is none any more.
    Done,
    /// The call of this phase is answered.
    Answered {
        revision: Revision,
        outcome: Outcome,
    },
    /// It was not in time.
    TimedOut,
    /// The watch has something to tell, or is over.
    Watched(Outcome),
    /// The caller's context has ended.
    ContextEnded,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Etcd>;

impl EtcdMutex {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                (self.lock, self.mode) = (lock, mode);
                self.begin_context(cx);
                self.begin(cx, out);
            }

            (Phase::Open, Input::Open) => self.go(Phase::TryAcquire, cx, out),

            // tryAcquire.
            (
                Phase::TryAcquire,
                Input::Answered { revision, outcome: Outcome::Txn { succeeded, responses } },
            ) => {
                let (own, owner) = own_and_owner(&responses);
                self.revision = if succeeded { Some(revision) } else { own };
                match (owner, self.mode) {
                    (None, _) => self.hold(cx, out),
                    (owner, _) if owner == self.revision => self.hold(cx, out),
                    (Some(_), Mode::TryLock) => self.go(Phase::Refuse, cx, out),
                    (Some(_), Mode::Lock) => self.go(Phase::WaitGet, cx, out),
                }
            }
            // ErrLeaseNotFound: the session is over, and whoever wants the lock opens another.
            (Phase::TryAcquire, Input::Answered { .. }) => self.begin_anew(cx, out),
            // Lock returns the error, and is called again.
            (Phase::TryAcquire, Input::TimedOut) => self.go(Phase::TryAcquire, cx, out),

            // waitDeletes.
            (Phase::WaitGet, Input::Answered { revision, outcome: Outcome::Range(found) }) => {
                match found.kvs.first() {
                    Some(last) => {
                        self.phase = Phase::WaitWatch;
                        let start = Start::At(revision);
                        self.session.watch(Keys::One(last.key), start, &here(cx), out);
                    }
                    None if cx.settings.checks_own_key => self.go(Phase::CheckOwn, cx, out),
                    None => self.hold(cx, out),
                }
            }
            (Phase::WaitWatch, Input::Watched(Outcome::Events(events))) => {
                let is_deletion = |event: &WatchEvent| matches!(event, WatchEvent::Delete { .. });
                if events.iter().any(is_deletion) {
                    out.record(Event::Woken { client: ClientId(cx.me) });
                }
                // Whatever it was, the next read tells whether there is still somebody before.
                self.go(Phase::WaitGet, cx, out);
            }
            // Cancelled, for what it asked for is compacted.
            (Phase::WaitWatch, Input::Watched(_)) => self.go(Phase::CleanUp, cx, out),
            // Lock's second half.
            (Phase::CheckOwn, Input::Answered { outcome: Outcome::Range(found), .. }) => {
                match found.kvs.first() {
                    Some(_) => self.hold(cx, out),
                    // ErrSessionExpired.
                    None => self.begin_anew(cx, out),
                }
            }
            (Phase::WaitGet | Phase::WaitWatch | Phase::CheckOwn, Input::ContextEnded) => {
                self.session.forget_call(&here(cx));
                self.go(Phase::CleanUp, cx, out);
            }
            // Lock returns the error, and is called again.
            (Phase::CleanUp, Input::Answered { .. }) => {
                self.begin_context(cx);
                self.begin(cx, out);
            }

            // Unlock, and TryLock's way out.
            (Phase::Held, Input::Call(Call::Release)) => self.go(Phase::Unlock, cx, out),
            (Phase::Lost, Input::Call(Call::Release)) => self.go(Phase::Unlock, cx, out),
            (Phase::Unlock, Input::Answered { .. }) => self.finish(Answer::Released, out),
            (Phase::Refuse, Input::Answered { .. }) => self.finish(Answer::Refused, out),
            (Phase::Unlock, Input::TimedOut) => match (cx.settings.unlock_errors, self.key, self.revision) {
                (UnlockErrors::CalledAgainLater, Some(key), Some(revision)) => {
                    let again_at = cx.settings.session.request_timeout.map(|timeout| cx.monotonic + timeout);
                    self.stale = Some(Stale { key, revision, serial: None, again_at });
                    self.finish(Answer::Released, out);
                }
                (UnlockErrors::CalledAgain | UnlockErrors::CalledAgainLater, _, _) => {
                    self.go(Phase::Unlock, cx, out);
                }
            },
            // TryLock returns the error, mutex.go:79: its key may stay.
            (Phase::Refuse, Input::TimedOut) if cx.settings.refusal_errors == RefusalErrors::Returned => {
                self.finish(Answer::Refused, out);
            }
            (phase @ (Phase::Refuse | Phase::CleanUp), Input::TimedOut) => self.go(phase, cx, out),

            // The session is done: only a holder looks at that (`Session.Done`).
            (Phase::Held, Input::Done) => match cx.settings.on_done {
                OnDone::Stop => {
                    self.phase = Phase::Lost;
                    out.answer(Answer::Lost);
                }
                OnDone::GoOn => {}
            },
            (
                Phase::Idle
                | Phase::TryAcquire
                | Phase::WaitGet
                | Phase::WaitWatch
                | Phase::CheckOwn
                | Phase::Lost
                | Phase::Unlock
                | Phase::Refuse
                | Phase::CleanUp,
                Input::Done,
            ) => {}

            (
                phase,
                Input::Call(_)
                | Input::Open
                | Input::Done
                | Input::Answered { .. }
                | Input::TimedOut
                | Input::Watched(_)
                | Input::ContextEnded,
            ) => unreachable!("nothing of the kind is under way in {phase:?}"),
        }
    }

    fn begin_context(&mut self, cx: &Cx) {
        self.context_until = match self.mode {
            Mode::Lock => cx.settings.patience.map(|patience| cx.monotonic + patience),
            Mode::TryLock => None,
        };
    }

    /// When the wait is broken off: only a wait is.
    fn context_end(&self) -> Option<Monotonic> {
        let waits = matches!(self.phase, Phase::WaitGet | Phase::WaitWatch | Phase::CheckOwn);
        self.context_until.filter(|_| waits)
    }

    /// `Lock` or `TryLock` is called.
    fn begin(&mut self, cx: &Cx, out: &mut Out) {
        (self.key, self.revision) = (None, None);
        let next = if self.session.goes_on(&here(cx)) { Phase::TryAcquire } else { Phase::Open };
        self.go(next, cx, out);
    }

    /// The same, with another session.
    fn begin_anew(&mut self, cx: &Cx, out: &mut Out) {
        self.session.abandon();
        self.begin(cx, out);
    }

    /// Enters a phase, and asks what it asks.
    fn go(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        let here = here(cx);
        match phase {
            Phase::Open => self.session.open(&here, out),
            Phase::TryAcquire => {
                let Some(txn) = self.try_acquire(cx) else {
                    // The session was done before the transaction could be repeated.
                    return self.begin_anew(cx, out);
                };
                self.session.change(Operation::Txn(txn), &here, out);
            }
            Phase::WaitGet => self.session.read(last_before(self.lock, self.revision), &here, out),
            Phase::CheckOwn => {
                let Some(key) = self.key else { unreachable!("who waits has a key") };
                self.session.read(Range::of(Keys::One(key)), &here, out);
            }
            Phase::Unlock | Phase::Refuse | Phase::CleanUp => {
                let (Some(key), Some(revision)) = (self.key, self.revision) else {
                    unreachable!("who leaves has a key")
                };
                self.session.change(deletion(key, revision, cx.settings), &here, out);
            }
            Phase::Idle | Phase::WaitWatch | Phase::Held | Phase::Lost => {
                unreachable!("{phase:?} asks nothing")
            }
        }
    }

    /// The transaction of `tryAcquire`. `None`: there is no session.
    fn try_acquire(&mut self, cx: &Cx) -> Option<Txn> {
        let lease = self.session.lease()?;
        let name = match cx.settings.key_name {
            KeyName::Lease => Name::Lease(lease),
            KeyName::DrawnAnew => Name::Drawn { client: cx.me, serial: self.session.draw() },
        };
        let key = key_of(self.lock, name);
        self.key = Some(key);
        let put = Put { key, value: Value::Empty, lease: Some(lease) };
        let get_owner = Step::Range(Range::first_created(keys_of(self.lock)));
        Some(Txn {
            compare: smallvec![is_created_at(key, Revision::ZERO)],
            success: smallvec![Step::Put(put), get_owner],
            failure: smallvec![Step::Range(Range::of(Keys::One(key))), get_owner],
        })
    }

    /// `Lock` or `TryLock` returns nil.
    fn hold(&mut self, cx: &Cx, out: &mut Out) {
        if !self.session.goes_on(&here(cx)) && cx.settings.on_done == OnDone::Stop {
            // The application looks at `Session.Done` before it begins.
            return self.go(Phase::CleanUp, cx, out);
        }
        let has_ended = self.context_end().is_some_and(|until| cx.monotonic >= until);
        if has_ended && cx.settings.context_end == ContextEnd::DeletesAndSucceeds {
            let (Some(key), Some(revision)) = (self.key, self.revision) else {
                unreachable!("who has waited has a key")
            };
            self.session.send_aside(deletion(key, revision, cx.settings), &here(cx), out);
        }
        self.phase = Phase::Held;
        self.context_until = None;
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
        (self.key, self.revision, self.context_until) = (None, None, None);
        out.answer(answer);
    }

    fn take(&mut self, notices: Notices, cx: &Cx, out: &mut Out) {
        for notice in notices {
            let input = match notice {
                Notice::Open => Input::Open,
                Notice::Done => Input::Done,
                Notice::Answered { revision, outcome } => Input::Answered { revision, outcome },
                Notice::TimedOut => Input::TimedOut,
                Notice::Watched(outcome) => Input::Watched(outcome),
            };
            self.step(input, cx, out);
        }
    }

    fn is_stale_reply(&self, reply: &Reply) -> bool {
        self.stale.is_some_and(|stale| stale.serial == Some(reply.serial))
    }
}

fn here<'a>(cx: &Cx<'a>) -> Here<'a> {
    Here::new(cx, &cx.settings.session)
}

/// What `Unlock` asks for: by the key's name alone, or only if it is the key that was locked.
fn deletion(key: Key, revision: Revision, settings: &Settings) -> Operation {
    match settings.guards_unlock {
        false => Operation::Delete(Keys::One(key)),
        true => deletion_of(key, revision),
    }
}

/// The create revisions of the own key, if it was read, and of the first one.
fn own_and_owner(responses: &[Response]) -> (Option<Revision>, Option<Revision>) {
    (created(responses.first()), created(responses.get(1)))
}

impl Lock for EtcdMutex {
    type Store = Etcd;
    type Settings = Settings;

    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        EtcdMutex {
            session: Session::default(),
            lock: LockId::default(),
            mode: Mode::Lock,
            phase: Phase::Idle,
            key: None,
            revision: None,
            context_until: None,
            stale: None,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        if self.is_stale_reply(&reply) {
            self.stale = None;
            return;
        }
        let notices = self.session.on_reply(reply, &here(cx));
        self.take(notices, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        if let Some(stale) = &mut self.stale
            && stale.again_at.is_some_and(|at| cx.monotonic >= at)
        {
            let deletion = deletion(stale.key, stale.revision, cx.settings);
            stale.serial = Some(self.session.send_aside(deletion, &here(cx), out));
            stale.again_at = cx.settings.session.request_timeout.map(|timeout| cx.monotonic + timeout);
        }
        if self.context_end().is_some_and(|until| cx.monotonic >= until) {
            self.context_until = None;
            self.step(Input::ContextEnded, cx, out);
        }
        let notices = self.session.on_deadline(&here(cx), out);
        self.take(notices, cx, out);
    }

    fn on_restart(&mut self, cx: &Cx) {
        let mut session = self.session.clone();
        session.restart();
        *self = EtcdMutex { session, ..EtcdMutex::new(cx.me, cx.settings) };
    }

    /// A lock's number is its keys' prefix. A key is a place in its queue, and the lock is whose key was created first.
    fn means(change: &Change, server: u8) -> Option<Event> {
        queue_means(change, server)
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let stale = self.stale.and_then(|stale| stale.again_at);
        let all = self.session.deadline().into_iter().chain(self.context_end()).chain(stale);
        all.min().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        !self.is_stale_reply(reply) && self.session.dismisses(reply)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        self.session.visit(visitor);
        self.key.iter_mut().for_each(|key| key.visit(visitor));
        self.revision.iter_mut().for_each(|revision| revision.visit(visitor));
        self.context_until.iter_mut().for_each(|until| visitor.wake(until));
        if let Some(stale) = &mut self.stale {
            stale.key.visit(visitor);
            stale.revision.visit(visitor);
            stale.serial.iter_mut().for_each(|serial| visitor.serial(Owner::Me, serial));
            stale.again_at.iter_mut().for_each(|at| visitor.wake(at));
        }
    }

    fn line(&self) -> Line {
        let (listing, number) = match self.phase {
            Phase::Open => (3, 50),
            Phase::TryAcquire => (1, 123),
            Phase::WaitGet => (2, 52),
            Phase::WaitWatch => (2, 30),
            Phase::CheckOwn => (1, 97),
            Phase::Held => (1, 108),
            Phase::Unlock => (1, 144),
            Phase::Refuse => (1, 65),
            Phase::CleanUp => (1, 92),
            Phase::Idle | Phase::Lost => return Line::NONE,
        };
        Line { listing, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Open => "asking for a lease",
            Phase::TryAcquire => "putting its key; who is first?",
            Phase::WaitGet => "who is the last before me?",
            Phase::WaitWatch => "waiting",
            Phase::CheckOwn => "is my own key still there?",
            Phase::Held => "holds",
            Phase::Lost => "has lost the lock",
            Phase::Unlock => "unlocking",
            Phase::Refuse => "leaving the queue",
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
