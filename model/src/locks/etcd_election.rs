//! etcd's election: `concurrency.Session` and `concurrency.Election` (`client/v3/concurrency`, at commit c34dc7ee0). Who is elected
//! holds the lock.
//!
//! A candidate puts a key under the election's prefix, named by its session's lease and bound to it, with what it proposes as
//! value. It leads once all keys created before its own are gone.
//!
//! ```text
//!                                                  A             etcd             B
//!   session.go:50    Grant                         │── grant ─────▶│◀───── grant ──│
//!   election.go:77   Txn: no key? put it.          │── txn ───────▶│ rev 2         │
//!                                                  │◀─ put ────────│◀──────── txn ──│
//!   key.go:52        who is the last before me?    │── get < 2 ───▶│ rev 3 ─ put ─▶│
//!                    nobody: elected               │ leads         │◀── get < 3 ───│
//!   key.go:30        A: wait until it is deleted   │               │◀── watch A ───│
//!   election.go:138  Resign: delete the key, if    │── txn ───────▶│ rev 4         │
//!                    it is the one that was put    │               │── deleted! ──▶│
//!                    key.go:52 again: nobody       │               │               │ leads
//! ```
//!
//! Lines of a trace: L1 is `election.go`, L2 `key.go`, L3 `session.go`.
//!
//! **What it lives on.** What the [mutex](super::etcd_mutex) lives on, and that no candidate's key goes while it waits.
//!
//! **What breaks it.** What breaks the mutex: a leader that outlives its lease. And what the mutex has repaired: nobody looks after
//! waiting whether the own key is still there (row E3). `Resign` deletes a key only if its create revision is the one that was
//! put, unlike `Unlock`; but it forgets the key even if it has failed. The key is still there then, its session is kept alive, and
//! nobody can resign any more (row E13; etcd-io/etcd#22123, open). A campaign of the same session finds that key with its old create
//! revision, and a resignation that comes late deletes it under the leader (row E14). A campaign whose transaction comes again
//! after the resignation leaves a key that nobody knows of (row E15).
//!
//! **Where the source is silent.** What the application does when `Campaign` or `Resign` returns an error: here it calls `Campaign`
//! again, with another session if the lease is gone, and after `Resign` as [`ResignErrors`] says. What a leader does when its
//! session is done: [`OnDone`]. There is no way to try: who tries ends its context when it would have to wait.
//!
//! **Left out.** `Observe`, `Leader`, and a `Proclaim` of the leader's own: they put no key and delete none. A context that ends
//! during a transaction: here only the wait is broken off. After a `Proclaim` that was refused, `Campaign` resigns under the
//! empty key, which every member refuses: it is not sent.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Fence, OnDone, Proposal, ResignErrors, Sessions, Settings};

use super::etcd_keys::{created, deletion_of, is_created_at, key_of, last_before, queue_means};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Idle, Line, Lock, UNCHECKED_TOKENS, Visitor};
use crate::stores::etcd::session::{Here, Notice, Notices, Session};
use crate::stores::etcd::{
    Change, Etcd, Found, Key, Keys, LeaseId, Name, Operation, Outcome, Put, Range, Reply, Response, Revision,
    Start, Step, Txn, Value,
};
use crate::time::{Due, Micros, Monotonic};
use crate::workload::Workload;
use picklock_properties::{ClientId, Event, LockId, Mode};
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// One candidate's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EtcdElection {
    /// The client's library.
    session: Session,
    /// The election that was last asked for.
    lock: LockId,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// What is proposed, until the wait begins.
    proposal: Value,
    /// The lease in `leaderKey`, from the first transaction of a campaign on.
    key: Option<LeaseId>,
    /// `leaderRev`, once known.
    revision: Option<Revision>,
    /// When the caller's context ends.
    context_until: Option<Monotonic>,
}

/// Where the candidate stands, by the functions of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// `NewSession`, session.go:50: asks for a lease.
    Open,
    /// `Campaign`, election.go:77: puts its key.
    Campaign,
    /// `Proclaim`, election.go:118: the key was there, with another value.
    Proclaim,
    /// `waitDeletes`, key.go:52: who is the last before me?
    WaitGet,
    /// `waitDelete`, key.go:30: waits until that key is deleted.
    WaitWatch,
    /// Before election.go:104, if repaired: is the own key still there?
    CheckOwn,
    /// `Campaign`, election.go:106: returned; the application leads.
    Leads,
    /// The application was told that it does not lead any more.
    Lost,
    /// `Resign`, election.go:138: deletes the key.
    Resign,
    /// `Campaign`, election.go:87: `Proclaim` has failed; resigns, and returns the error.
    GiveUp,
    /// `Campaign`, election.go:98: the context has ended; resigns, and returns the error.
    Leave,
}

/// What enters the candidate's `match`.
enum Input {
    Call(Call),
    /// The library says so.
    Told(Notice),
    /// The caller's context has ended.
    ContextEnded,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Etcd>;

impl EtcdElection {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                (self.lock, self.mode) = (lock, mode);
                self.campaign(cx, out);
            }

            (Phase::Open, Input::Told(Notice::Open)) => self.go(Phase::Campaign, cx, out),

            // Campaign's transaction.
            (
                Phase::Campaign,
                Input::Told(Notice::Answered { revision, outcome: Outcome::Txn { succeeded, responses } }),
            ) => {
                self.revision = if succeeded { Some(revision) } else { created(responses.first()) };
                match value(responses.first()) {
                    Some(value) if value != self.proposal => self.go(Phase::Proclaim, cx, out),
                    Some(_) | None => self.wait(cx, out),
                }
            }
            // ErrLeaseNotFound: the session is over, and whoever wants to lead opens another.
            (Phase::Campaign, Input::Told(Notice::Answered { .. })) => self.campaign_anew(cx, out),
            // Campaign returns the error, and is called again.
            (Phase::Campaign, Input::Told(Notice::TimedOut)) => self.campaign(cx, out),

            // Proclaim.
            (
                Phase::Proclaim,
                Input::Told(Notice::Answered { outcome: Outcome::Txn { succeeded: true, .. }, .. }),
            ) => self.wait(cx, out),
            // ErrElectionNotLeader: the key has gone in between.
            (
                Phase::Proclaim,
                Input::Told(Notice::Answered { outcome: Outcome::Txn { succeeded: false, .. }, .. }),
            ) => self.campaign(cx, out),
            (Phase::Proclaim, Input::Told(Notice::Answered { .. } | Notice::TimedOut)) => {
                self.go(Phase::GiveUp, cx, out);
            }

            // waitDeletes.
            (Phase::WaitGet, Input::Told(Notice::Answered { revision, outcome: Outcome::Range(found) })) => {
                match (found.kvs.first(), self.mode) {
                    (Some(_), Mode::TryLock) => self.go(Phase::Leave, cx, out),
                    (Some(last), Mode::Lock) => {
                        self.phase = Phase::WaitWatch;
                        let start = Start::At(revision);
                        self.session.watch_deletion(Keys::One(last.key), start, &here(cx), out);
                    }
                    (None, _) if cx.settings.checks_own_key => self.go(Phase::CheckOwn, cx, out),
                    (None, _) => self.lead(cx, out),
                }
            }
            (Phase::WaitWatch, Input::Told(Notice::Watched(Outcome::Events(_)))) => {
                out.record(Event::Woken { client: ClientId(cx.me) });
                self.go(Phase::WaitGet, cx, out);
            }
            // Cancelled, for what it asked for is compacted: Campaign returns the error and leaves the key (#21128).
            (Phase::WaitWatch, Input::Told(Notice::Watched(_))) => self.campaign(cx, out),
            (Phase::CheckOwn, Input::Told(Notice::Answered { outcome: Outcome::Range(found), .. })) => {
                match found.kvs.first() {
                    Some(_) => self.lead(cx, out),
                    None => self.campaign_anew(cx, out),
                }
            }
            (Phase::WaitGet | Phase::WaitWatch | Phase::CheckOwn, Input::ContextEnded) => {
                self.session.forget_call(&here(cx));
                self.go(Phase::Leave, cx, out);
            }

            // Resign.
            (Phase::Leads | Phase::Lost, Input::Call(Call::Release)) => self.go(Phase::Resign, cx, out),
            (
                phase @ (Phase::Resign | Phase::GiveUp | Phase::Leave),
                Input::Told(Notice::Answered { .. }),
            ) => self.resigned(phase, cx, out),
            (phase @ (Phase::Resign | Phase::GiveUp | Phase::Leave), Input::Told(Notice::TimedOut)) => {
                match cx.settings.resign_errors {
                    ResignErrors::Forgotten => self.resigned(phase, cx, out),
                    ResignErrors::CalledAgain => self.go(phase, cx, out),
                    ResignErrors::SessionOrphaned => {
                        self.session.abandon();
                        self.resigned(phase, cx, out);
                    }
                }
            }

            // The session is done: only a leader looks at that (`Session.Done`).
            (Phase::Leads, Input::Told(Notice::Done)) => match cx.settings.on_done {
                OnDone::Stop => {
                    self.phase = Phase::Lost;
                    out.answer(Answer::Lost);
                }
                OnDone::GoOn => {}
            },
            (
                Phase::Idle
                | Phase::Campaign
                | Phase::Proclaim
                | Phase::WaitGet
                | Phase::WaitWatch
                | Phase::CheckOwn
                | Phase::Lost
                | Phase::Resign
                | Phase::GiveUp
                | Phase::Leave,
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
                | Input::ContextEnded,
            ) => unreachable!("nothing of the kind is under way in {phase:?}"),
        }
    }

    /// When the wait is broken off: only a wait is.
    fn context_end(&self) -> Option<Monotonic> {
        let waits = matches!(self.phase, Phase::WaitGet | Phase::WaitWatch | Phase::CheckOwn);
        self.context_until.filter(|_| waits)
    }

    /// `Campaign` is called.
    fn campaign(&mut self, cx: &Cx, out: &mut Out) {
        self.context_until = match self.mode {
            Mode::Lock => cx.settings.patience.map(|patience| cx.monotonic + patience),
            Mode::TryLock => None,
        };
        (self.key, self.revision) = (None, None);
        self.proposal = match cx.settings.proposal {
            Proposal::Name => Value::Name(cx.me),
            Proposal::DrawnAnew => Value::Drawn { client: cx.me, serial: self.session.draw() },
        };
        let next = if self.session.goes_on(&here(cx)) { Phase::Campaign } else { Phase::Open };
        self.go(next, cx, out);
    }

    /// The same, with another session.
    fn campaign_anew(&mut self, cx: &Cx, out: &mut Out) {
        self.session.abandon();
        self.campaign(cx, out);
    }

    /// Nothing more is proposed.
    fn wait(&mut self, cx: &Cx, out: &mut Out) {
        self.proposal = Value::Empty;
        self.go(Phase::WaitGet, cx, out);
    }

    /// Enters a phase, and asks what it asks.
    fn go(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        let here = here(cx);
        match phase {
            Phase::Open => self.session.open(&here, out),
            Phase::Campaign => {
                let Some(lease) = self.session.lease() else {
                    unreachable!("a campaign begins with a session")
                };
                self.key = Some(lease);
                let key = self.own_key();
                let txn = Txn {
                    compare: smallvec![is_created_at(key, Revision::ZERO)],
                    success: smallvec![self.put()],
                    failure: smallvec![Step::Range(Range::of(Keys::One(key)))],
                };
                self.session.change(Operation::Txn(txn), &here, out);
            }
            Phase::Proclaim => {
                let (key, revision) = self.own();
                let txn = Txn {
                    compare: smallvec![is_created_at(key, revision)],
                    success: smallvec![self.put()],
                    failure: smallvec![],
                };
                self.session.change(Operation::Txn(txn), &here, out);
            }
            Phase::WaitGet => self.session.read(last_before(self.lock, self.revision), &here, out),
            Phase::CheckOwn => {
                self.session.read(Range::of(Keys::One(self.own_key())), &here, out);
            }
            Phase::Resign | Phase::GiveUp | Phase::Leave => {
                let (key, revision) = self.own();
                self.session.change(deletion_of(key, revision), &here, out);
            }
            Phase::Idle | Phase::WaitWatch | Phase::Leads | Phase::Lost => {
                unreachable!("{phase:?} asks nothing")
            }
        }
    }

    /// The key with the proposal, bound to the lease that it is named by.
    fn put(&self) -> Step {
        Step::Put(Put { key: self.own_key(), value: self.proposal, lease: self.key })
    }

    fn own_key(&self) -> Key {
        let Some(lease) = self.key else { unreachable!("a candidate has a key") };
        key_of(self.lock, Name::Lease(lease))
    }

    fn own(&self) -> (Key, Revision) {
        let Some(revision) = self.revision else { unreachable!("its key was put before") };
        (self.own_key(), revision)
    }

    /// `Campaign` returns nil.
    fn lead(&mut self, cx: &Cx, out: &mut Out) {
        if !self.session.goes_on(&here(cx)) && cx.settings.on_done == OnDone::Stop {
            // The application looks at `Session.Done` before it begins.
            return self.go(Phase::Leave, cx, out);
        }
        self.phase = Phase::Leads;
        self.context_until = None;
        let fence = match cx.settings.fence {
            Fence::None => None,
            Fence::CreateRevision => self.revision.map(Revision::token),
        };
        out.record(Event::Secured { client: ClientId(cx.me), servers: [0].into_iter().collect() });
        out.answer(Answer::Granted { fence });
    }

    /// `Resign` has returned.
    fn resigned(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        match (phase, self.mode) {
            (Phase::Resign, _) => self.finish(Answer::Released, cx, out),
            (Phase::Leave, Mode::TryLock) => self.finish(Answer::Refused, cx, out),
            // Campaign returns its error, and is called again.
            _ => self.campaign(cx, out),
        }
    }

    fn finish(&mut self, answer: Answer, cx: &Cx, out: &mut Out) {
        self.phase = Phase::Idle;
        if cx.settings.sessions == Sessions::OneEach {
            self.session.abandon();
        }
        self.mode = Mode::Lock;
        (self.key, self.revision, self.context_until) = (None, None, None);
        self.proposal = Value::Empty;
        out.answer(answer);
    }

    fn take(&mut self, notices: Notices, cx: &Cx, out: &mut Out) {
        notices.into_iter().for_each(|notice| self.step(Input::Told(notice), cx, out));
    }
}

fn here<'a>(cx: &Cx<'a>) -> Here<'a> {
    Here::new(cx, &cx.settings.session)
}

/// The value of the key that a step of a transaction has read, if there is one.
fn value(response: Option<&Response>) -> Option<Value> {
    match response {
        Some(Response::Range(Found { kvs, .. })) => kvs.first().map(|kv| kv.value),
        Some(Response::Put | Response::Deleted(_)) | None => None,
    }
}

impl Lock for EtcdElection {
    type Store = Etcd;
    type Settings = Settings;

    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        EtcdElection {
            session: Session::default(),
            lock: LockId::default(),
            mode: Mode::Lock,
            phase: Phase::Idle,
            proposal: Value::Empty,
            key: None,
            revision: None,
            context_until: None,
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
        *self = EtcdElection { session, ..EtcdElection::new(cx.me, cx.settings) };
    }

    /// A lock's number is its keys' prefix. A key is a place in its queue, and who has created the first of them is elected.
    fn means(change: &Change, server: u8) -> Option<Event> {
        queue_means(change, server)
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.session.deadline().into_iter().chain(self.context_end()).min().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.session.dismisses(reply)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        self.session.visit(visitor);
        self.proposal.visit(visitor);
        self.key.iter_mut().for_each(|lease| lease.visit(visitor));
        self.revision.iter_mut().for_each(|revision| revision.visit(visitor));
        self.context_until.iter_mut().for_each(|until| visitor.wake(until));
    }

    fn line(&self) -> Line {
        let (listing, number) = match self.phase {
            Phase::Open => (3, 50),
            Phase::Campaign => (1, 77),
            Phase::Proclaim => (1, 118),
            Phase::WaitGet => (2, 52),
            Phase::WaitWatch => (2, 30),
            Phase::CheckOwn => (1, 104),
            Phase::Leads => (1, 106),
            Phase::Resign => (1, 138),
            Phase::GiveUp => (1, 87),
            Phase::Leave => (1, 98),
            Phase::Idle | Phase::Lost => return Line::NONE,
        };
        Line { listing, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Open => "asking for a lease",
            Phase::Campaign => "putting its key",
            Phase::Proclaim => "proclaiming another value",
            Phase::WaitGet => "who is the last before me?",
            Phase::WaitWatch => "waiting",
            Phase::CheckOwn => "is my own key still there?",
            Phase::Leads => "leads",
            Phase::Lost => "does not lead any more",
            Phase::Resign => "resigning",
            Phase::GiveUp => "giving up",
            Phase::Leave => "leaving the queue",
        }
    }

    fn valid_until(&self, settings: &Settings) -> Option<Due> {
        match (self.phase, settings.on_done) {
            (Phase::Leads, OnDone::Stop) => self.session.done_at().map(Due::Monotonic),
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
