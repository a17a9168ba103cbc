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
//! Of several members each is connected to, and every call and every new stream goes to the next one (`round_robin`). A call of which
//! nothing is heard in time has an unknown outcome. A watch and the keep-alives are streams: they stay with the member that they have
//! begun at.
//!
//! ```text
//!   the member's process ends   the operating system says so: here the stream goes on when the process is back
//!   its host loses its power    nobody says anything, now or later, unless the client sends something over that connection
//!   it has no leader            the stream of keep-alives ends, and begins anew at the next member; a watch goes on
//!   it is silent, and the client pings (`DialKeepAliveTime`)     the stream ends, and begins anew at the next member
//! ```
//!
//! gRPC sends no pings unless it is told to, and `clientv3` does not tell it by default (etcd-io/etcd#8980). It asks the operating system
//! for keep-alives of TCP with its own defaults, which are two hours: for ever, here. Only the keep-alives of leases need a leader: `lease.go`
//! has `WithRequireLeader`, `key.go` has it not.
//!
//! Left out: what TCP says again until it arrives. Here the client says a watch again for as long as a call may take, to the same member,
//! which changes nothing there, and is what brings events that were lost; who pings takes its answer for the ping's. A real client that
//! is told of the end of a process turns to another member at once. A connection that is given up is not taken out of the turns, and its
//! streams are given up one by one. The real one looks every 500 ms whether a keep-alive is due; here it goes at once.

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
    /// After how long a silence a connection to one of several members is given up: `DialKeepAliveTime`, and `DialKeepAliveTimeout`
    /// (row E19). `None`: never; the client does not ping.
    pub dial_keep_alive: Option<Micros>,
}

/// A `DialKeepAliveTime` of 10 s, the shortest that gRPC takes (`keepalive.ClientParameters`), and two more for the answer.
pub const PINGS: Micros = Micros::seconds(12);

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
        dial_keep_alive: None,
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
    /// Which of several members is the next one to be asked, counted from the one with the client's own number.
    turn: u8,
    lease: Option<Kept>,
    /// Where keep-alives go, if there are several members: one stream for all leases that there will be.
    keep_alives: Option<KeepAlives>,
    awaited: Option<Awaited>,
    /// The watches that are of no more use, and whose, until a request to that member says so.
    cancels: SmallVec<[(u8, u32); 1]>,
}

/// The stream of keep-alives (`lessor.stream`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct KeepAlives {
    server: u8,
    /// The number of its first message.
    first: u32,
    /// Whether one of its messages was answered.
    is_answered: bool,
    /// Since when an answer has been waited for in vain, if the client pings.
    silent_since: Option<Monotonic>,
}

/// The stream of a watch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct WatchStream {
    server: u8,
    /// How often the member's host had lost its power; `None`: the member has not said yet that it watches.
    boot: Option<u8>,
    /// When the member was last heard, if the client pings.
    heard_at: Option<Monotonic>,
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
    /// A watch's stream, where it makes a difference which member it is at: there are several, and some may fail.
    stream: Option<WatchStream>,
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

    /// The member with the client's own number.
    fn home(&self) -> u8 {
        self.me % self.servers
    }

    /// Whether it makes a difference which member is asked. Where calls are waited for without end none fails, and each client stays with
    /// its own.
    fn is_among_several(&self) -> bool {
        self.servers > 1 && self.settings.request_timeout.is_some()
    }

    /// Whether nothing has been heard for so long that a client that pings gives the connection up.
    fn is_silent_since(&self, heard_at: Option<Monotonic>) -> bool {
        let given_up_at = heard_at.zip(self.settings.dial_keep_alive).map(|(at, longest)| at + longest);
        given_up_at.is_some_and(|at| self.now >= at)
    }

    /// Now, for a client that pings.
    fn now_if_it_pings(&self) -> Option<Monotonic> {
        self.settings.dial_keep_alive.map(|_| self.now)
    }
}

type Out = Effects<Etcd>;

impl Session {
    /// The member whose turn it is.
    fn take_turn(&mut self, here: &Here) -> u8 {
        let server = (here.me + self.turn) % here.servers;
        if here.is_among_several() {
            self.turn = (self.turn + 1) % here.servers;
        }
        server
    }

    /// The same, but for the one that has just been given up.
    fn take_turn_without(&mut self, given_up: u8, here: &Here) -> u8 {
        match self.take_turn(here) {
            server if server == given_up => self.take_turn(here),
            server => server,
        }
    }

    /// The watch of this member that is of no more use, if there is one.
    fn take_cancelled(&mut self, server: u8) -> Option<u32> {
        let place = self.cancels.iter().position(|(of, _)| *of == server)?;
        Some(self.cancels.remove(place).1)
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
        let server = self.take_turn(here);
        out.request(server, Request { patience: patience(here), ..Request::new(serial, operation) });
        serial
    }

    /// Gives up what is under way.
    pub fn forget_call(&mut self, here: &Here) {
        if let Some(watch) = self.awaited.take().filter(|awaited| awaited.kind.is_watch()) {
            self.cancels.push((watch.server(here), watch.serial));
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
                    self.hear_keep_alives(serial);
                    self.lease = None;
                    notices.push(Notice::Done);
                }
            }
            Outcome::NoLeader => self.keep_alives_end(serial, here),
            outcome => {
                let Some(awaited) = self.awaited.take_if(|awaited| awaited.serial == serial) else {
                    return notices;
                };
                match (&awaited.kind, &outcome) {
                    (Kind::Watch { .. } | Kind::WatchDeletion { .. }, Outcome::Watching { boot }) => {
                        let heard_at = here.now_if_it_pings();
                        // What was said before the host went comes late.
                        let stream = awaited.stream.map(|WatchStream { server, boot: known, .. }| {
                            WatchStream { server, boot: known.max(Some(*boot)), heard_at }
                        });
                        self.awaited = Some(Awaited { stream, ..awaited });
                    }
                    (Kind::WatchDeletion { .. }, Outcome::Events(events)) if !has_deletion(events) => {
                        self.awaited = Some(awaited);
                    }
                    (Kind::Watch { .. } | Kind::WatchDeletion { .. }, _) => {
                        self.cancels.push((awaited.server(here), serial));
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
            match awaited.kind {
                Kind::Change => notices.push(Notice::TimedOut),
                Kind::Grant { .. } => self.open(here, out),
                Kind::Read(range) => self.read(range, here, out),
                Kind::Watch { keys, start } | Kind::WatchDeletion { keys, start } => {
                    self.keep_up_watch(awaited, Operation::Watch { keys, start }, here, out);
                }
            }
        }
        notices
    }

    /// A watch has told nothing for a while: it is said again, and stays the same one, or begins anew elsewhere.
    fn keep_up_watch(&mut self, awaited: Awaited, operation: Operation, here: &Here, out: &mut Out) {
        let stream = awaited.stream;
        if let Some(WatchStream { server, heard_at, .. }) = stream
            && here.is_silent_since(heard_at)
        {
            self.cancels.push((server, awaited.serial));
            let server = self.take_turn_without(server, here);
            return self.send_to(server, operation, awaited.kind, here, out);
        }
        let shares_connection =
            |server| self.keep_alives.is_some_and(|keep_alives| keep_alives.server == server);
        let way = match stream {
            Some(WatchStream { server, boot: Some(boot), .. }) if !shares_connection(server) => {
                Way::Connection { boot }
            }
            // Of what is sent there and not answered, a host that is back says that it knows of no such connection.
            Some(_) | None => Way::Alone,
        };
        let server = awaited.server(here);
        out.request(server, Request { way, ..Request::new(awaited.serial, operation) });
        self.awaited = Some(Awaited { until: until(here), ..awaited });
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
            Outcome::NoLeader => self.keep_alives.is_none_or(|stream| reply.serial < stream.first),
            // That its member is there is news once, unless its answers are what tells that it is still there.
            Outcome::Watching { boot } => self.awaited.as_ref().is_none_or(|awaited| {
                let is_news =
                    awaited.stream.is_some_and(|known| known.heard_at.is_some() || known.boot < Some(boot));
                awaited.serial != reply.serial || !is_news
            }),
            _ => self.awaited.as_ref().is_none_or(|awaited| awaited.serial != reply.serial),
        }
    }

    /// Shows every time and number in the state to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        self.cancels.iter_mut().for_each(|(_, watch)| visitor.serial(Owner::Me, watch));
        if let Some(stream) = &mut self.keep_alives {
            visitor.serial(Owner::Me, &mut stream.first);
            stream.silent_since.iter_mut().for_each(|at| visitor.since(at, LONGEST));
        }
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
            let heard_at = awaited.stream.iter_mut().flat_map(|stream| &mut stream.heard_at);
            heard_at.for_each(|at| visitor.since(at, LONGEST));
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
        let server = self.take_turn(here);
        self.send_to(server, operation, kind, here, out);
    }

    fn send_to(&mut self, server: u8, operation: Operation, kind: Kind, here: &Here, out: &mut Out) {
        debug_assert!(self.awaited.is_none(), "one call at a time");
        let serial = self.draw();
        let has_stream = kind.is_watch() && here.is_among_several();
        let stream = has_stream.then(|| WatchStream { server, boot: None, heard_at: here.now_if_it_pings() });
        // The context of a watch does not end.
        let patience = if kind.is_watch() { None } else { patience(here) };
        self.awaited = Some(Awaited { serial, until: until(here), kind, stream });
        let cancels = self.take_cancelled(server);
        out.request(server, Request { cancels, patience, ..Request::new(serial, operation) });
    }

    /// `sendKeepAliveLoop`.
    fn keep_alive(&mut self, here: &Here, out: &mut Out) {
        let serial = self.draw();
        let (server, way) = match here.is_among_several() {
            true => self.keep_alive_stream(serial, here),
            false => (here.home(), Way::Alone),
        };
        let Some(kept) = &mut self.lease else { return };
        kept.keep_alive_at = Some(here.now + here.settings.retry_interval);
        if here.settings.deadline == Deadline::FromSending {
            kept.sent.push((serial, here.now));
        }
        out.request(server, Request { way, ..Request::new(serial, Operation::KeepAlive(kept.id)) });
    }

    /// Where the keep-alive with this number goes (`resetRecv`, where there is no stream), and how.
    fn keep_alive_stream(&mut self, serial: u32, here: &Here) -> (u8, Way) {
        let given_up = self.keep_alives.take_if(|stream| here.is_silent_since(stream.silent_since));
        let stream = match (self.keep_alives, given_up) {
            (Some(stream), _) => stream,
            (None, given_up) => {
                let server = match given_up {
                    Some(KeepAlives { server, .. }) => self.take_turn_without(server, here),
                    None => self.take_turn(here),
                };
                KeepAlives { server, first: serial, is_answered: false, silent_since: None }
            }
        };
        let silent_since = stream.silent_since.or(here.now_if_it_pings());
        self.keep_alives = Some(KeepAlives { silent_since, ..stream });
        (stream.server, if stream.is_answered { Way::OpenStream } else { Way::NewStream })
    }

    /// An answer to the keep-alive with this number.
    fn hear_keep_alives(&mut self, serial: u32) {
        if let Some(stream) = self.keep_alives.as_mut().filter(|stream| serial >= stream.first) {
            (stream.is_answered, stream.silent_since) = (true, None);
        }
    }

    /// The stream with the keep-alive of this number has ended (`recvKeepAliveLoop`). After a while another one begins.
    fn keep_alives_end(&mut self, serial: u32, here: &Here) {
        let ended = self.keep_alives.take_if(|stream| serial >= stream.first);
        if let (Some(_), Some(kept)) = (ended, &mut self.lease) {
            kept.keep_alive_at = kept.keep_alive_at.map(|_| here.now + here.settings.retry_interval);
        }
    }

    /// `recvKeepAlive`.
    fn kept_alive(&mut self, serial: u32, lease: LeaseId, ttl: Option<Micros>, here: &Here) {
        if self.lease() == Some(lease) {
            self.hear_keep_alives(serial);
        }
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

impl Awaited {
    /// The member that was asked, if it is a watch.
    fn server(&self, here: &Here) -> u8 {
        self.stream.map_or(here.home(), |stream| stream.server)
    }
}

/// Until when a call is waited for, or a watch.
fn until(here: &Here) -> Option<Monotonic> {
    here.settings.request_timeout.map(|timeout| here.now + timeout)
}

/// What a member that may have to wait for a leader is told of that.
fn patience(here: &Here) -> Option<Micros> {
    here.settings.request_timeout.filter(|_| here.servers > 1)
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
