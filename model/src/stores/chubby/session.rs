//! Chubby's client library: a session that is kept alive, and calls that are repeated until they are answered
//! (Burrows, sections 2.8 and 2.9).
//!
//! ```text
//!   safe ──── nothing heard until the local lease is over ────▶ jeopardy: calls wait, the master is looked for
//!    ▲                                                            │        │
//!    └──────────────── a KeepAlive is answered ───────────────────┘        └── grace period over ──▶ no session
//! ```
//!
//! The local lease ends before the master's does, whatever the answer's way took: the paper says that it is a conservative
//! approximation, and not how. Here the master says for how long it has held the KeepAlive; that, and the lease, counted from the
//! *sending*, is less than the truth by what the KeepAlive's way took. From it goes a margin for clocks that drift apart.
//!
//! Left out: events, the cache. A KeepAlive of which nothing is heard is repeated in jeopardy, or before by choice: the real
//! library may learn from its connection that the master is gone.

use super::Chubby;
use super::protocol::*;
use crate::machine::{Context, Effects, Owner, Visitor};
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How a client holds its session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionSettings {
    /// How long a session lasts without a KeepAlive. `None`: for good, for worlds without time.
    pub lease: Option<Micros>,
    /// From when on the client counts it (row H1).
    pub count: Count,
    /// By how much less: for clocks that drift apart.
    pub margin: Micros,
    /// For how long in jeopardy the library goes on to look for the master.
    pub grace: Micros,
    /// When the next KeepAlive is sent.
    pub next: NextKeepAlive,
    /// What comes of a KeepAlive that is not answered (row H6).
    pub unanswered: Unanswered,
    /// How long any other call is waited for before it is said again; `None`: for as long as it takes.
    pub request_timeout: Option<Micros>,
}

/// From when on the client counts its lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Count {
    /// From the sending of what was answered.
    FromSending,
    /// From the answer's arrival: the master has begun to count earlier.
    FromReply,
    /// It does not: there is a session until it is told otherwise (Consul's `Lock`).
    NotAtAll,
}

/// When the next KeepAlive is sent after an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum NextKeepAlive {
    /// At once: the master will hold it.
    AtOnce,
    /// Later (Consul: after half of the TTL).
    After(Micros),
}

/// What comes of a KeepAlive that is not answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Unanswered {
    /// It is repeated in jeopardy, each time after so long.
    InJeopardy(Micros),
    /// It is repeated each time after so long, whatever the lease.
    After(Micros),
    /// After so long it has failed, and no other one is sent (Consul's `Lock` before #912).
    GivenUpAfter(Micros),
    /// It is repeated each time after so long, until more than the TTL that was told last has passed since then: after that no other
    /// one is sent, ever. Consul's `RenewPeriodic` (hashicorp/consul `api/session.go`, 0f017e5): "if time.Since(lastRenewTime) > ttl
    /// { return lastErr }", looked at after each attempt that failed; `Lock` does not look at what it returns. There an attempt
    /// fails and the next one begins a second later; here both are one length.
    WithinTtl(Micros),
}

impl SessionSettings {
    /// The paper's: a lease of 12 s, a grace period of 45 s. A KeepAlive is said again after 4 s.
    pub const DEFAULT: SessionSettings = SessionSettings {
        lease: Some(Micros::seconds(12)),
        count: Count::FromSending,
        margin: Micros::millis(122),
        grace: Micros::seconds(45),
        next: NextKeepAlive::AtOnce,
        unanswered: Unanswered::After(Micros::seconds(4)),
        request_timeout: Some(Micros::seconds(1)),
    };

    /// Sessions that do not end, and calls that are waited for.
    pub const TIMELESS: SessionSettings =
        SessionSettings { lease: None, request_timeout: None, ..SessionSettings::DEFAULT };
}

/// What the library tells its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// There is a session.
    Open,
    /// The session is kept alive: the answer came within the lease that it tells of, whatever the client counts by. One that comes
    /// later prolongs nothing that is left.
    KeptAlive,
    /// The session is in jeopardy.
    Jeopardy,
    /// There is no session any more; all its handles are dead.
    Over,
    /// The call is answered.
    Answered(Outcome),
}

/// Seldom more than one.
pub type Notices = SmallVec<[Notice; 1]>;

/// One client's library.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The last number drawn.
    serial: u32,
    /// The master that was last heard of.
    epoch: u32,
    kept: Option<Kept>,
    call: Option<Called>,
}

/// A session that there is, for all the client knows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Kept {
    id: SessionId,
    /// The local lease: until when the master keeps the session at least, and until when the grace period lasts.
    until: Option<(Monotonic, Monotonic)>,
    in_jeopardy: bool,
    keep_alive: KeepAlive,
    /// From when on a KeepAlive that has failed is the last one ([`Unanswered::WithinTtl`]).
    gives_up_at: Option<Monotonic>,
}

/// What there is to do for the session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum KeepAlive {
    /// Nothing any more.
    Never,
    /// It will be sent.
    Due(Monotonic),
    /// It was sent, and maybe sent again: an answer to any of these is one.
    Sent {
        /// Their numbers, and when they were sent, the latest [`SENT_MAX`].
        sent: SmallVec<[(u32, Monotonic); 1]>,
        again_at: Option<Monotonic>,
    },
}

/// A call under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Called {
    serial: u32,
    operation: Operation,
    /// When it was first sent, as long as that matters.
    since: Monotonic,
    again_at: Option<Monotonic>,
}

/// Where a machine stands when it uses the library.
pub struct Here<'a> {
    /// The client.
    pub me: u8,
    /// Its monotonic clock.
    pub now: Monotonic,
    /// How it holds its session.
    pub settings: &'a SessionSettings,
}

impl<'a> Here<'a> {
    /// What a client's context says of it.
    pub fn new<S>(cx: &Context<S>, settings: &'a SessionSettings) -> Here<'a> {
        Here { me: cx.me, now: cx.monotonic, settings }
    }
}

type Out = Effects<Chubby>;

/// The one server: who is master there is the cell's affair.
const MASTER: u8 = 0;

/// So many KeepAlives are remembered of which nothing was heard.
const SENT_MAX: usize = 4;

/// How long a lease may be for its time to be counted right in the exhaustive engine.
const LONGEST: Micros = Micros::seconds(100);

impl Session {
    /// Before anything happened.
    pub fn new() -> Session {
        Session { serial: 0, epoch: 0, kept: None, call: None }
    }

    /// Draws a number that nothing of this client has.
    pub fn draw(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// The session, if there is one.
    pub fn id(&self) -> Option<SessionId> {
        self.kept.as_ref().map(|kept| kept.id)
    }

    /// Whether there is a session, and it is not in jeopardy by the clock.
    pub fn is_safe(&self, here: &Here) -> bool {
        let lasts = |kept: &Kept| kept.until.is_none_or(|(until, _)| here.now < until);
        self.kept.as_ref().is_some_and(lasts)
    }

    /// Until when the session is safe without another word.
    pub fn safe_until(&self) -> Option<Monotonic> {
        self.kept.as_ref().and_then(|kept| kept.until).map(|(until, _)| until)
    }

    /// Asks for a session; the one before is left to itself.
    pub fn open(&mut self, here: &Here, out: &mut Out) {
        self.kept = None;
        self.call(Operation::CreateSession { lease: here.settings.lease }, here, out);
    }

    /// Calls something. It waits while the session is in jeopardy.
    pub fn call(&mut self, operation: Operation, here: &Here, out: &mut Out) {
        let serial = self.draw();
        self.call = Some(Called { serial, operation, since: here.now, again_at: None });
        if matches!(operation, Operation::CreateSession { .. }) || self.is_safe(here) {
            self.send_call(here, out);
        }
    }

    /// Nobody waits for the call any more.
    pub fn forget_call(&mut self) {
        self.call = None;
    }

    /// Nobody needs the session any more.
    pub fn abandon(&mut self) {
        (self.kept, self.call) = (None, None);
    }

    /// The process has started again: it knows of nothing, but draws no number twice.
    pub fn restart(&mut self) {
        *self = Session { serial: self.serial, ..Session::new() };
    }

    /// A reply arrived.
    pub fn on_reply(&mut self, reply: Reply, here: &Here, out: &mut Out) -> Notices {
        let mut notices = Notices::new();
        if self.dismisses(&reply) {
            // Late: it is about another call, another session, or an earlier master.
            return notices;
        }
        let Reply { serial, outcome } = reply;
        match outcome {
            Outcome::NewMaster { epoch } => {
                self.epoch = epoch;
                if let Some(kept) = &mut self.kept
                    && matches!(kept.keep_alive, KeepAlive::Sent { .. })
                {
                    // The old master will not answer what it was asked.
                    kept.keep_alive = KeepAlive::Due(here.now);
                    self.send_keep_alive(here, out);
                }
                self.repeat_call(here, out);
            }
            Outcome::SessionOver(id) if self.id() != Some(id) => self.repeat_call(here, out),
            Outcome::SessionOver(_) => self.be_over(&mut notices),
            Outcome::KeptAlive { held, lease, failed_over: _ } => {
                if self.keep(serial, held, lease, here, out) {
                    notices.push(Notice::KeptAlive);
                }
            }
            Outcome::Created { lease } => {
                let Some(Called { since, .. }) = self.call.take() else { return notices };
                let id = SessionId { client: here.me, number: serial };
                let until = lease.and_then(|lease| local_lease(since, lease, here));
                let keep_alive = if lease.is_some() { KeepAlive::Due(here.now) } else { KeepAlive::Never };
                let gives_up_at = lease.and_then(|lease| gives_up_at(lease, here));
                self.kept = Some(Kept { id, until, in_jeopardy: false, keep_alive, gives_up_at });
                if lease.is_some() {
                    self.plan_keep_alive(here, out);
                }
                notices.push(Notice::Open);
            }
            Outcome::Acquired(_) if !self.is_safe(here) => {
                // In jeopardy nothing begins. Asked again, the master says the same, or that there is no session.
                self.call.iter_mut().for_each(|call| call.again_at = None);
            }
            Outcome::Acquired(_) | Outcome::Refused | Outcome::Released | Outcome::Written { .. } => {
                self.call = None;
                notices.push(Notice::Answered(outcome));
            }
        }
        notices
    }

    /// [`Session::deadline`] has come.
    pub fn on_deadline(&mut self, here: &Here, out: &mut Out) -> Notices {
        let mut notices = Notices::new();
        let is_due = |at: Option<Monotonic>| at.is_some_and(|at| here.now >= at);
        if let Some(kept) = &mut self.kept {
            if is_due(kept.until.map(|(_, grace)| grace)) {
                self.be_over(&mut notices);
                return notices;
            }
            if !kept.in_jeopardy && is_due(kept.until.map(|(until, _)| until)) {
                kept.in_jeopardy = true;
                notices.push(Notice::Jeopardy);
                if let (KeepAlive::Sent { again_at, .. }, Unanswered::InJeopardy(_)) =
                    (&mut kept.keep_alive, here.settings.unanswered)
                {
                    *again_at = Some(here.now);
                }
            }
            if is_due(kept.keep_alive.due()) {
                match (&kept.keep_alive, here.settings.unanswered) {
                    (KeepAlive::Sent { .. }, Unanswered::GivenUpAfter(_)) => {
                        kept.keep_alive = KeepAlive::Never
                    }
                    (KeepAlive::Sent { .. }, Unanswered::WithinTtl(_)) if is_due(kept.gives_up_at) => {
                        (kept.keep_alive, kept.gives_up_at) = (KeepAlive::Never, None);
                    }
                    (_, _) => self.send_keep_alive(here, out),
                }
            }
        }
        if is_due(self.call.as_ref().and_then(|call| call.again_at)) {
            self.repeat_call(here, out);
        }
        notices
    }

    /// When the library wants to be woken.
    pub fn deadline(&self) -> Option<Monotonic> {
        let of_lease = self.kept.iter().flat_map(|kept| {
            let (until, grace) = kept.until.unzip();
            let keep_alive = kept.keep_alive.due();
            [until.filter(|_| !kept.in_jeopardy), grace.filter(|_| kept.in_jeopardy), keep_alive]
        });
        let of_call = self.call.iter().map(|call| call.again_at);
        of_lease.chain(of_call).flatten().min()
    }

    /// Whether a reply will be dismissed whenever it comes.
    pub fn dismisses(&self, reply: &Reply) -> bool {
        match reply.outcome {
            // Whoever has started again knows of no master, and waits for no answer.
            Outcome::NewMaster { epoch } => {
                epoch <= self.epoch
                    || !self.awaits_keep_alive(reply.serial) && !self.awaits_call(reply.serial)
            }
            // It may be over before its client hears that there is one.
            Outcome::SessionOver(id) => self.id() != Some(id) && !self.awaits_session(id),
            Outcome::KeptAlive { .. } => !self.awaits_keep_alive(reply.serial),
            Outcome::Created { .. }
            | Outcome::Acquired(_)
            | Outcome::Refused
            | Outcome::Released
            | Outcome::Written { .. } => !self.awaits_call(reply.serial),
        }
    }

    fn awaits_keep_alive(&self, serial: u32) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.keep_alive.place_of(serial).is_some())
    }

    fn awaits_call(&self, serial: u32) -> bool {
        self.call.is_some_and(|call| call.serial == serial)
    }

    fn awaits_session(&self, id: SessionId) -> bool {
        let opens = |call: Called| matches!(call.operation, Operation::CreateSession { .. });
        self.call.is_some_and(|call| opens(call) && call.serial == id.number)
    }

    /// Shows every time and number in the state to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(kept) = &mut self.kept {
            kept.id.visit(visitor);
            if let Some((until, grace)) = &mut kept.until {
                visitor.wake(until);
                visitor.wake(grace);
            }
            match &mut kept.keep_alive {
                KeepAlive::Never => {}
                KeepAlive::Due(at) => visitor.wake(at),
                KeepAlive::Sent { sent, again_at } => {
                    for (serial, at) in sent {
                        visitor.serial(Owner::Me, serial);
                        visitor.since(at, LONGEST);
                    }
                    again_at.iter_mut().for_each(|at| visitor.wake(at));
                }
            }
            kept.gives_up_at.iter_mut().for_each(|at| visitor.wake(at));
        }
        if let Some(call) = &mut self.call {
            visitor.serial(Owner::Me, &mut call.serial);
            call.operation.visit(visitor);
            let counts = matches!(call.operation, Operation::CreateSession { .. });
            visitor.since(&mut call.since, if counts { LONGEST } else { Micros::ZERO });
            call.again_at.iter_mut().for_each(|at| visitor.wake(at));
        }
    }

    fn send_keep_alive(&mut self, here: &Here, out: &mut Out) {
        let serial = self.draw();
        let Some(kept) = &mut self.kept else { return };
        let again_at = match here.settings.unanswered {
            Unanswered::InJeopardy(_) if !kept.in_jeopardy => None,
            Unanswered::InJeopardy(length)
            | Unanswered::After(length)
            | Unanswered::GivenUpAfter(length)
            | Unanswered::WithinTtl(length) => Some(here.now + length),
        };
        let mut sent = match &mut kept.keep_alive {
            KeepAlive::Sent { sent, .. } => std::mem::take(sent),
            KeepAlive::Never | KeepAlive::Due(_) => SmallVec::new(),
        };
        if sent.len() == SENT_MAX {
            sent.remove(0);
        }
        sent.push((serial, here.now));
        kept.keep_alive = KeepAlive::Sent { sent, again_at };
        let operation = Operation::KeepAlive(kept.id);
        out.request(MASTER, Request { serial, epoch: self.epoch, operation });
    }

    fn plan_keep_alive(&mut self, here: &Here, out: &mut Out) {
        match (here.settings.next, &mut self.kept) {
            (NextKeepAlive::AtOnce, _) => self.send_keep_alive(here, out),
            (NextKeepAlive::After(length), Some(kept)) => kept.keep_alive = KeepAlive::Due(here.now + length),
            (NextKeepAlive::After(_), None) => {}
        }
    }

    /// A KeepAlive is answered. Whether the lease that the answer tells of is not over yet.
    fn keep(&mut self, serial: u32, held: Micros, lease: Micros, here: &Here, out: &mut Out) -> bool {
        let Some(Kept { until, in_jeopardy, keep_alive, gives_up_at: gives_up, .. }) = &mut self.kept else {
            unreachable!("a KeepAlive of no session is dismissed")
        };
        let Some(place) = keep_alive.place_of(serial) else {
            unreachable!("a KeepAlive that is not awaited is dismissed")
        };
        let KeepAlive::Sent { sent, again_at } = keep_alive else {
            unreachable!("what has a place was sent")
        };
        let (_, sent_at) = sent[place];
        sent.drain(..=place);
        let since = match here.settings.count {
            Count::FromSending => sent_at + held,
            Count::FromReply | Count::NotAtAll => here.now,
        };
        *gives_up = gives_up_at(lease, here);
        // Each by itself: of what is over the exhaustive engine remembers only that it is.
        let (lasts, grace) = until.unzip();
        let (other_lasts, other_grace) = local_lease(since, lease, here).unzip();
        *until = lasts.max(other_lasts).zip(grace.max(other_grace));
        *in_jeopardy &= until.is_some_and(|(until, _)| here.now >= until);
        if let (Unanswered::InJeopardy(_), false) = (here.settings.unanswered, *in_jeopardy) {
            *again_at = None;
        }
        // Else one that was sent later is at the master already, or on its way.
        if sent.is_empty() {
            self.plan_keep_alive(here, out);
        }
        // What has waited while the session was in jeopardy.
        if self.call.is_some_and(|call| call.again_at.is_none()) && here.settings.request_timeout.is_some() {
            self.repeat_call(here, out);
        }
        here.now < sent_at + held + lease
    }

    /// The same again, under another number, unless it has to wait.
    fn repeat_call(&mut self, here: &Here, out: &mut Out) {
        let Some(Called { operation, since, .. }) = self.call else { return };
        let opens = matches!(operation, Operation::CreateSession { .. });
        let serial = self.draw();
        let since = if opens { here.now } else { since };
        self.call = Some(Called { serial, operation, since, again_at: None });
        if opens || self.is_safe(here) {
            self.send_call(here, out);
        }
    }

    fn send_call(&mut self, here: &Here, out: &mut Out) {
        let epoch = self.epoch;
        let Some(call) = &mut self.call else { return };
        call.again_at = here.settings.request_timeout.map(|timeout| here.now + timeout);
        out.request(MASTER, Request { serial: call.serial, epoch, operation: call.operation });
    }

    fn be_over(&mut self, notices: &mut Notices) {
        self.abandon();
        notices.push(Notice::Over);
    }
}

impl KeepAlive {
    /// When there is something to do.
    fn due(&self) -> Option<Monotonic> {
        match *self {
            KeepAlive::Never => None,
            KeepAlive::Due(at) => Some(at),
            KeepAlive::Sent { again_at, .. } => again_at,
        }
    }

    /// Which of those that were sent this is the number of.
    fn place_of(&self, serial: u32) -> Option<usize> {
        match self {
            KeepAlive::Never | KeepAlive::Due(_) => None,
            KeepAlive::Sent { sent, .. } => sent.iter().position(|(number, _)| *number == serial),
        }
    }
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

/// The local lease, and the end of the grace period after it, if the client counts.
fn local_lease(since: Monotonic, lease: Micros, here: &Here) -> Option<(Monotonic, Monotonic)> {
    let SessionSettings { count, margin, grace, .. } = *here.settings;
    let until = since + (lease - margin);
    (count != Count::NotAtAll).then(|| (until, until + grace))
}

/// From when on a KeepAlive that fails is the last one, if this one was answered now: when more than the TTL has passed. By a
/// millisecond: where time passes in ticks, what comes within one is not told apart by microseconds.
fn gives_up_at(lease: Micros, here: &Here) -> Option<Monotonic> {
    matches!(here.settings.unanswered, Unanswered::WithinTtl(_)).then(|| here.now + lease + Micros::millis(1))
}
