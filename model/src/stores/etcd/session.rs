//! What etcd's client library does for its user: calls with a time-out, watches that are begun again, and
//! `concurrency.Session`, a lease that is kept alive (`client/v3/lease.go`, `client/v3/concurrency/session.go`).
//!
//! ```text
//!   NewSession ── grant ──▶ lease; deadline in 5 s, keep-alive at once
//!   keep-alive answered: next one after a third of the TTL; deadline = the answer's arrival + TTL
//!   not answered: again every 500 ms
//!   once a second: is the deadline over? ──▶ the session is done
//! ```
//!
//! Left out: the real library has many connections' worth of state (balancer, streams, back-off). Here a call of which nothing
//! is heard in time has an unknown outcome, and the next one goes to the next member. A watch of which nothing is heard
//! for as long as a call may take is begun again where it was, by the member that has said that it watches, or by the next one if it has
//! said nothing: the real one learns from its connection that it has ended. Keep-alives go where calls go; if the member falls silent without
//! a word, they go there until a call turns to the next one, as the real one's do whose connection nobody has ended (gRPC sends no pings
//! unless it is told to). The real one looks every 500 ms whether a keep-alive is due; here it goes at once.

use super::names::{LeaseId, Revision};
use super::protocol::*;
use super::{Etcd, Keys};
use crate::machine::{Context, Effects, Owner, Visitor};
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How a client asks, and how it holds its session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionSettings {
    /// `WithTTL`: for how long the lease goes on without a keep-alive. `None`: for ever, for worlds without time.
    pub ttl: Option<Micros>,
    /// From when on the client counts its lease's time.
    pub deadline: Deadline,
    /// By how much less than the lease's time it counts: for what clocks drift apart, and what a grant takes to arrive.
    pub margin: Micros,
    /// How often the client looks whether the deadline is over (`deadlineLoop`); zero: it is woken by it.
    pub deadline_interval: Micros,
    /// The deadline before anything is kept alive (`firstKeepAliveTimeout`).
    pub first_deadline: Micros,
    /// How long after an unanswered keep-alive the next one is sent (`retryConnWait`).
    pub retry_interval: Micros,
    /// How long a call is waited for; `None`: for as long as it takes.
    pub request_timeout: Option<Micros>,
}

/// From when on the client counts its lease's time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Deadline {
    /// From the arrival of the answer, as `recvKeepAlive` does: the member has begun to count earlier.
    FromReply,
    /// From the sending of what was answered.
    FromSending,
}

impl SessionSettings {
    /// The library's defaults, with a TTL of 60 s.
    pub const DEFAULT: SessionSettings = SessionSettings {
        ttl: Some(Micros::seconds(60)),
        deadline: Deadline::FromReply,
        margin: Micros::ZERO,
        deadline_interval: Micros::seconds(1),
        first_deadline: Micros::seconds(5),
        retry_interval: Micros::millis(500),
        request_timeout: Some(Micros::seconds(2)),
    };

    /// Leases that do not end, and calls that are waited for.
    pub const TIMELESS: SessionSettings =
        SessionSettings { ttl: None, request_timeout: None, ..SessionSettings::DEFAULT };
}

/// What the library tells its user, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// There is a session.
    Open,
    /// The session is done: its lease has ended, or nothing was heard of it for too long.
    Done,
    /// The call is answered.
    Answered {
        /// Where the store is.
        revision: Revision,
        /// What came of it.
        outcome: Outcome,
    },
    /// A call that changes something was not answered in time: it is done or not, now or later.
    TimedOut,
    /// Something has happened to what is watched, or the watch was cancelled.
    Watched(Outcome),
}

/// Seldom more than one.
pub type Notices = SmallVec<[Notice; 1]>;

/// One client's library.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The last serial number drawn.
    serial: u32,
    /// Which member is asked, counted from the one with the client's own number.
    server: u8,
    lease: Option<Kept>,
    awaited: Option<Awaited>,
    /// A watch that is of no more use, until a request says so.
    cancels: Option<u32>,
}

/// A lease that is kept alive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Kept {
    id: LeaseId,
    /// When it is seen that the deadline is over.
    done_at: Option<Monotonic>,
    keep_alive_at: Option<Monotonic>,
    /// The keep-alives that may still be answered, and when they were sent: for [`Deadline::FromSending`].
    sent: SmallVec<[(u32, Monotonic); 1]>,
}

/// A call under way, or a watch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Awaited {
    serial: u32,
    until: Option<Monotonic>,
    kind: Kind,
    /// Whether the member that was asked has said since that it watches; `None` where there is nothing to tell by that: it is no watch,
    /// it is waited for without end, or there is no other member.
    is_watching: Option<bool>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Kind {
    /// A lease is asked for; since when.
    Grant { since: Monotonic },
    /// It changes something, and is not repeated by the library.
    Change,
    /// It is repeated until it is answered.
    Read(Range),
    /// It is begun again until it has something to tell.
    Watch { keys: Keys, start: Start },
    /// It goes on until it tells of a deletion.
    WatchDeletion { keys: Keys, start: Start },
}

impl Kind {
    fn is_watch(&self) -> bool {
        match self {
            Kind::Watch { .. } | Kind::WatchDeletion { .. } => true,
            Kind::Grant { .. } | Kind::Change | Kind::Read(_) => false,
        }
    }
}

/// Where a machine stands when it uses the library.
pub struct Here<'a> {
    /// The client.
    pub me: u8,
    /// How many members there are.
    pub servers: u8,
    /// Its monotonic clock.
    pub now: Monotonic,
    /// How it asks.
    pub settings: &'a SessionSettings,
}

impl<'a> Here<'a> {
    /// What a client's context says of it.
    pub fn new<S>(cx: &Context<S>, settings: &'a SessionSettings) -> Here<'a> {
        Here { me: cx.me, servers: cx.servers, now: cx.monotonic, settings }
    }
}

type Out = Effects<Etcd>;

impl Session {
    fn server(&self, here: &Here) -> u8 {
        (here.me + self.server) % here.servers
    }

    /// Draws a number that no request of this client has.
    pub fn draw(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// The lease, while there is a session that is not done.
    pub fn lease(&self) -> Option<LeaseId> {
        self.lease.as_ref().map(|kept| kept.id)
    }

    /// Until when the session goes on without another word.
    pub fn done_at(&self) -> Option<Monotonic> {
        self.lease.as_ref().and_then(|kept| kept.done_at)
    }

    /// Whether there is a session that goes on, for all its client can tell now. One that counts from what it has sent looks at
    /// its clock; the library waits to be told ([`Notice::Done`]).
    pub fn goes_on(&self, here: &Here) -> bool {
        match (&self.lease, here.settings.deadline) {
            (None, _) => false,
            (Some(_), Deadline::FromReply) => true,
            (Some(kept), Deadline::FromSending) => kept.done_at.is_none_or(|at| here.now < at),
        }
    }

    /// `NewSession`: asks for a lease; the one before is left to itself.
    pub fn open(&mut self, here: &Here, out: &mut Out) {
        self.lease = None;
        let ttl = here.settings.ttl;
        self.send(Operation::Grant { ttl }, Kind::Grant { since: here.now }, here, out);
    }

    /// Nobody needs the session any more.
    pub fn abandon(&mut self) {
        self.lease = None;
    }

    /// Calls something that changes something.
    pub fn change(&mut self, operation: Operation, here: &Here, out: &mut Out) {
        self.send(operation, Kind::Change, here, out);
    }

    /// Reads.
    pub fn read(&mut self, range: Range, here: &Here, out: &mut Out) {
        self.send(Operation::Range(range), Kind::Read(range), here, out);
    }

    /// Watches, until the first events.
    pub fn watch(&mut self, keys: Keys, start: Start, here: &Here, out: &mut Out) {
        self.send(Operation::Watch { keys, start }, Kind::Watch { keys, start }, here, out);
    }

    /// Watches, until a deletion. What was put is not told of: a watch from the revision of an answer on sees what that answer has
    /// shown already, if it was put last of all.
    pub fn watch_deletion(&mut self, keys: Keys, start: Start, here: &Here, out: &mut Out) {
        self.send(Operation::Watch { keys, start }, Kind::WatchDeletion { keys, start }, here, out);
    }

    /// Sends a change whose answer its user waits for by itself; returns its serial number.
    pub fn send_aside(&mut self, operation: Operation, here: &Here, out: &mut Out) -> u32 {
        let serial = self.draw();
        let server = self.server(here);
        out.request(server, Request { serial, cancels: None, operation });
        serial
    }

    /// Gives up what is under way.
    pub fn forget_call(&mut self) {
        if let Some(watch) = self.awaited.take().filter(|awaited| awaited.kind.is_watch()) {
            self.cancels = Some(watch.serial);
        }
    }

    /// The process has started again: it knows of nothing, but draws no number twice.
    pub fn restart(&mut self) {
        *self = Session { serial: self.serial, ..Session::default() };
    }

    /// A reply arrived.
    pub fn on_reply(&mut self, reply: Reply, here: &Here) -> Notices {
        let Reply { serial, revision, outcome } = reply;
        let mut notices = Notices::new();
        match outcome {
            Outcome::KeptAlive { lease, ttl } => self.kept_alive(serial, lease, ttl, here),
            Outcome::LeaseOver(lease) => {
                if self.lease() == Some(lease) {
                    self.lease = None;
                    notices.push(Notice::Done);
                }
            }
            outcome => {
                let Some(awaited) = self.awaited.take_if(|awaited| awaited.serial == serial) else {
                    return notices;
                };
                match (&awaited.kind, &outcome) {
                    (Kind::Watch { .. } | Kind::WatchDeletion { .. }, Outcome::Watching) => {
                        let is_watching = awaited.is_watching.map(|_| true);
                        self.awaited = Some(Awaited { is_watching, ..awaited });
                    }
                    (Kind::WatchDeletion { .. }, Outcome::Events(events)) if !has_deletion(events) => {
                        self.awaited = Some(awaited);
                    }
                    (Kind::Watch { .. } | Kind::WatchDeletion { .. }, _) => {
                        self.cancels = Some(serial);
                        notices.push(Notice::Watched(outcome));
                    }
                    (Kind::Grant { since }, Outcome::Granted { lease, ttl }) => {
                        self.lease = Some(Kept::granted(*lease, *ttl, *since, here));
                        notices.push(Notice::Open);
                    }
                    // The request has come twice, and this is the second one's answer: the first one's is on its way.
                    (Kind::Grant { .. }, _) => self.awaited = Some(awaited),
                    (Kind::Change | Kind::Read(_), _) => {
                        notices.push(Notice::Answered { revision, outcome });
                    }
                }
            }
        }
        notices
    }

    /// [`Session::deadline`] has come.
    pub fn on_deadline(&mut self, here: &Here, out: &mut Out) -> Notices {
        let mut notices = Notices::new();
        let is_due = |at: Option<Monotonic>| at.is_some_and(|at| here.now >= at);
        if let Some(kept) = &self.lease {
            if is_due(kept.done_at) {
                self.lease = None;
                notices.push(Notice::Done);
            } else if is_due(kept.keep_alive_at) {
                self.keep_alive(here, out);
            }
        }
        if let Some(awaited) = self.awaited.take_if(|awaited| is_due(awaited.until)) {
            // Of who has said that it watches, nothing has to be heard but what happens.
            if awaited.is_watching != Some(true) {
                self.server = (self.server + 1) % here.servers;
            }
            match awaited.kind {
                Kind::Change => notices.push(Notice::TimedOut),
                Kind::Grant { .. } => self.open(here, out),
                Kind::Read(range) => self.read(range, here, out),
                Kind::Watch { keys, start } | Kind::WatchDeletion { keys, start } => {
                    // The same watch: what it has told already, it has told.
                    let until = here.settings.request_timeout.map(|timeout| here.now + timeout);
                    let (serial, cancels) = (awaited.serial, None);
                    let operation = Operation::Watch { keys, start };
                    out.request(self.server(here), Request { serial, cancels, operation });
                    let is_watching = awaited.is_watching.map(|_| false);
                    self.awaited = Some(Awaited { until, is_watching, ..awaited });
                }
            }
        }
        notices
    }

    /// When the library wants to be woken.
    pub fn deadline(&self) -> Option<Monotonic> {
        let of_lease = self.lease.iter().flat_map(|kept| [kept.done_at, kept.keep_alive_at]);
        let of_call = self.awaited.iter().map(|awaited| awaited.until);
        of_lease.chain(of_call).flatten().min()
    }

    /// Whether a reply will be dismissed whenever it comes.
    pub fn dismisses(&self, reply: &Reply) -> bool {
        match reply.outcome {
            Outcome::KeptAlive { lease, .. } | Outcome::LeaseOver(lease) => self.lease() != Some(lease),
            // That its member is there is news once.
            Outcome::Watching => self
                .awaited
                .as_ref()
                .is_none_or(|awaited| awaited.serial != reply.serial || awaited.is_watching != Some(false)),
            _ => self.awaited.as_ref().is_none_or(|awaited| awaited.serial != reply.serial),
        }
    }

    /// Shows every time and number in the state to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        self.cancels.iter_mut().for_each(|watch| visitor.serial(Owner::Me, watch));
        if let Some(kept) = &mut self.lease {
            kept.id.visit(visitor);
            kept.done_at.iter_mut().chain(&mut kept.keep_alive_at).for_each(|at| visitor.wake(at));
            for (serial, at) in &mut kept.sent {
                visitor.serial(Owner::Me, serial);
                visitor.since(at, LONGEST);
            }
        }
        if let Some(awaited) = &mut self.awaited {
            visitor.serial(Owner::Me, &mut awaited.serial);
            awaited.until.iter_mut().for_each(|until| visitor.wake(until));
            match &mut awaited.kind {
                Kind::Grant { since } => visitor.since(since, LONGEST),
                Kind::Change => {}
                Kind::Read(range) => range.visit(visitor),
                Kind::Watch { keys, start } | Kind::WatchDeletion { keys, start } => {
                    keys.visit(visitor);
                    start.visit(visitor);
                }
            }
        }
    }

    fn send(&mut self, operation: Operation, kind: Kind, here: &Here, out: &mut Out) {
        debug_assert!(self.awaited.is_none(), "one call at a time");
        let serial = self.draw();
        let until = here.settings.request_timeout.map(|timeout| here.now + timeout);
        let may_turn = until.is_some() && here.servers > 1;
        let is_watching = (kind.is_watch() && may_turn).then_some(false);
        self.awaited = Some(Awaited { serial, until, kind, is_watching });
        out.request(self.server(here), Request { serial, cancels: self.cancels.take(), operation });
    }

    /// `sendKeepAliveLoop`.
    fn keep_alive(&mut self, here: &Here, out: &mut Out) {
        let serial = self.draw();
        let server = self.server(here);
        let Some(kept) = &mut self.lease else { return };
        kept.keep_alive_at = Some(here.now + here.settings.retry_interval);
        if here.settings.deadline == Deadline::FromSending {
            kept.sent.push((serial, here.now));
        }
        out.request(server, Request { serial, cancels: None, operation: Operation::KeepAlive(kept.id) });
    }

    /// `recvKeepAlive`.
    fn kept_alive(&mut self, serial: u32, lease: LeaseId, ttl: Option<Micros>, here: &Here) {
        let Some(kept) = self.lease.as_mut().filter(|kept| kept.id == lease) else { return };
        let Some(ttl) = ttl else { return };
        let since = match here.settings.deadline {
            Deadline::FromReply => here.now,
            Deadline::FromSending => {
                let Some(place) = kept.sent.iter().position(|(sent, _)| *sent == serial) else { return };
                let (_, since) = kept.sent[place];
                kept.sent.drain(..=place);
                since
            }
        };
        kept.done_at = Some(looked_at(since + (ttl - here.settings.margin), here.settings));
        kept.keep_alive_at = Some(here.now + third(ttl));
    }
}

/// How long a lease may be for its deadline to be counted right in the exhaustive engine.
const LONGEST: Micros = Micros::seconds(100);

impl Kept {
    /// `KeepAlive`: the deadline is not the lease's yet, and the first keep-alive is due.
    fn granted(id: LeaseId, ttl: Option<Micros>, since: Monotonic, here: &Here) -> Kept {
        let deadline = ttl.map(|ttl| match here.settings.deadline {
            Deadline::FromReply => here.now + here.settings.first_deadline,
            Deadline::FromSending => since + (ttl - here.settings.margin),
        });
        Kept {
            id,
            done_at: deadline.map(|deadline| looked_at(deadline, here.settings)),
            keep_alive_at: ttl.map(|_| here.now),
            sent: SmallVec::new(),
        }
    }
}

/// When it is seen that a deadline is over ("Before(now)"): at the first look after it.
fn looked_at(deadline: Monotonic, settings: &SessionSettings) -> Monotonic {
    match settings.deadline_interval.0 {
        0 => deadline,
        interval => Monotonic((deadline.0.div_euclid(interval) + 1) * interval),
    }
}

fn has_deletion(events: &[WatchEvent]) -> bool {
    events.iter().any(|event| matches!(event, WatchEvent::Delete { .. }))
}

fn third(ttl: Micros) -> Micros {
    Micros(ttl.0 / 3)
}
