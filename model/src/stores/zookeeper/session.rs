//! The client's side of a session, as every ZooKeeper client library has it (`ClientCnxn.java`).
//!
//! It connects, pings, notices that the connection is gone, connects again elsewhere with the last zxid seen, and sets
//! its watches again. It does not judge for itself that the session is over (the ZooKeeper article, *ZooKeeper, or writing a distributed lock
//! service*, WTF #2): only a server that it can reach tells it so. The Java client does since 3.9.3, by choice here
//! ([`SessionSettings::judges_itself`]). What it cannot know it says: [`Notice::Disconnected`] leaves the outcome of a request open.
//!
//! The real library waits up to a second by chance before it connects again; here all wait for the same time
//! ([`SessionSettings::reconnect_delay`]), and go through the servers in the same order, not shuffled. Clients that lose
//! their server at the same moment therefore come to the next one at the same moment, too. Hidden by that: orders in which
//! they come back that differ by more than the network's latencies, such as a waiter who is back long before the holder.
//!
//! ```text
//!             connect                 Connected                       silence, Closed
//!   not yet ──────────▶ connecting ──────────────▶ up ───────────────────────────────────┐
//!                          ▲  │ ▲                 │ ▲  pings every third of the timeout │
//!                          │  │ └─ next server ────┘ └──────────────────────────────────┤
//!                 connect  │  └── Expired ──▶ over                     connecting ◀─────┘
//! ```

use super::protocol::*;
use super::{Path, SessionId, ZooKeeper, Zxid};
use crate::machine::{Context, Effects, Owner, Visitor};
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How a client holds its session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionSettings {
    /// The session timeout. The library pings when it has sent nothing for a third of it, and gives a connection up on
    /// which it has heard nothing for two thirds. `None`: the session does not expire, nobody pings, and no silence is
    /// too long; then no message may be lost.
    pub timeout: Option<Micros>,
    /// How long the library waits before it tries to connect again (up to a second in the real one).
    pub reconnect_delay: Micros,
    /// Whether the library takes the session for over by itself when it has heard nothing for four thirds of the timeout, on
    /// whichever connection: the Java client since 3.9.3 (ZOOKEEPER-4508; `ClientCnxn`: "expirationTimeout = negotiatedSessionTimeout *
    /// 4 / 3", in 3.8 not yet). Older ones, and those of most other languages, wait until a server tells them. As a rule that is
    /// a third of the timeout after the server's own judgement: what it bounds is for how long a holder that is cut off goes on
    /// (row Z4). The real one takes an accepted TCP connection for a sign of life, too; here only the server's answer is.
    pub judges_itself: bool,
}

impl SessionSettings {
    /// The timeout that the real server's default `tickTime` allows at least, twice that.
    pub const DEFAULT: SessionSettings = SessionSettings {
        timeout: Some(Micros::seconds(6)),
        reconnect_delay: Micros::seconds(1),
        judges_itself: false,
    };

    fn silence(&self) -> Option<Micros> {
        self.timeout.map(|timeout| Micros(timeout.0 * 2 / 3))
    }

    /// After how long a silence the library takes the session for over, if it judges.
    fn expiration(&self) -> Option<Micros> {
        self.timeout.filter(|_| self.judges_itself).map(|timeout| Micros(timeout.0 * 4 / 3))
    }

    fn ping_period(&self) -> Option<Micros> {
        self.timeout.map(|timeout| Micros(timeout.0 / 3))
    }
}

/// What the library is entered with: where it runs, and when.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The client's number.
    pub me: u8,
    /// How many servers there are.
    pub servers: u8,
    /// What the client's monotonic clock shows.
    pub now: Monotonic,
    /// How it holds its session.
    pub settings: &'a SessionSettings,
}

impl<'a> Here<'a> {
    /// The same as the client's machine is told.
    pub fn new<S>(cx: &Context<S>, settings: &'a SessionSettings) -> Here<'a> {
        Here { me: cx.me, servers: cx.servers, now: cx.monotonic, settings }
    }
}

/// What the library tells its user, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// The session has a connection: for the first time, or again.
    Connected,
    /// The connection is gone. A request that was under way may be done or not, now or later: CONNECTIONLOSS.
    Disconnected,
    /// The session is over, and its ephemeral znodes with it: SESSIONEXPIRED; or will be, if the library judges itself
    /// ([`SessionSettings::judges_itself`]). Nothing happens before [`Session::connect`] asks for another one.
    Expired,
    /// The request is answered.
    Answered(Outcome),
    /// A watch has fired, and is not set any more.
    Fired(Path, WatchEvent),
}

/// At most an event and an answer come at once, nearly always.
pub type Notices = SmallVec<[Notice; 2]>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Link {
    /// There is no session.
    None,
    /// Will connect.
    Down { until: Monotonic },
    /// Has asked for a connection with this number.
    Connecting { number: u32, give_up: Option<Monotonic> },
    /// Has one.
    Up { number: u32, ping_at: Option<Monotonic>, give_up: Option<Monotonic> },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Awaited {
    serial: u32,
    /// What it sets a watch on, should the answer be the right one.
    watched: Option<(Path, WatchKind)>,
    /// The watch has fired, and its event has come before the answer. In a TCP stream the answer comes first.
    early: Option<WatchEvent>,
}

/// One client's session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The last serial number drawn.
    serial: u32,
    id: Option<SessionId>,
    /// The largest zxid seen in an answer; pongs and events do not count (`ClientCnxn.readResponse`).
    last: Zxid,
    /// Which server it talks to, or will, counted from the one with the client's own number.
    server: u8,
    link: Link,
    awaited: Option<Awaited>,
    watches: SmallVec<[Watch; 1]>,
    /// When the library takes the session for over unless it hears something, if it judges.
    expires_at: Option<Monotonic>,
}

type Out = Effects<ZooKeeper>;

impl Session {
    /// Before anything happened.
    #[expect(
        clippy::new_without_default,
        reason = "a link that is none is what a client begins with, not what it is by default"
    )]
    pub fn new() -> Session {
        Session {
            serial: 0,
            id: None,
            last: Zxid::NONE,
            server: 0,
            link: Link::None,
            awaited: None,
            watches: SmallVec::new(),
            expires_at: None,
        }
    }

    fn server(&self, here: &Here) -> u8 {
        (here.me + self.server) % here.servers
    }

    /// Draws a number that no request, connection or guid of this client has.
    pub fn draw(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// The session, once it is known.
    pub fn id(&self) -> Option<SessionId> {
        self.id
    }

    /// Whether a request can be sent.
    pub fn is_up(&self) -> bool {
        matches!(self.link, Link::Up { .. })
    }

    /// Whether there is no session, and none is asked for.
    pub fn is_over(&self) -> bool {
        self.link == Link::None
    }

    /// Whether a request is under way.
    pub fn is_waiting(&self) -> bool {
        self.awaited.is_some()
    }

    /// Asks for a session.
    pub fn connect(&mut self, here: &Here, out: &mut Out) {
        debug_assert!(self.is_over(), "there is a session already");
        self.send_connect(here, out);
    }

    /// Sends a request; one at a time, and only while [`Session::is_up`].
    pub fn request(&mut self, operation: Operation, here: &Here, out: &mut Out) {
        let serial = self.draw();
        let waiting = self.waiting();
        let Link::Up { number, ping_at, .. } = &mut self.link else {
            unreachable!("a request is sent on a connection only");
        };
        debug_assert!(self.awaited.is_none(), "one request at a time");
        *ping_at = here.settings.ping_period().map(|period| here.now + period);
        self.awaited = Some(Awaited { serial, watched: watched_by(&operation), early: None });
        let connection = *number;
        out.request(self.server(here), Request::Do { connection, serial, waiting, operation });
    }

    /// Does not wait for any event any more, should one come.
    pub fn forget_watches(&mut self) {
        self.watches.clear();
    }

    /// The process has started again: it knows of nothing, but draws no number twice.
    pub fn restart(&mut self) {
        *self = Session { serial: self.serial, ..Session::new() };
    }

    /// A reply arrived.
    pub fn on_reply(&mut self, reply: Reply, here: &Here) -> Notices {
        let mut notices = Notices::new();
        match (self.link, reply.body) {
            (Link::Connecting { number, .. }, body) if number == reply.connection => match body {
                Body::Connected(session) => {
                    self.id = Some(session);
                    let ping_at = here.settings.ping_period().map(|period| here.now + period);
                    self.link = Link::Up { number, ping_at, give_up: None };
                    self.heard(here);
                    notices.push(Notice::Connected);
                    self.fire(&reply.fired, &mut notices);
                }
                Body::Expired => {
                    self.end();
                    notices.push(Notice::Expired);
                }
                Body::Closed => self.go_on(here),
                // Overtook the word that the connection stands; it is told again.
                Body::Notified => {}
                Body::Pong | Body::Outcome { .. } => {
                    unreachable!("nothing is asked on a connection that does not stand yet")
                }
            },
            (Link::Up { number, .. }, body) if number == reply.connection => {
                match body {
                    Body::Closed => {
                        self.awaited = None;
                        self.go_on(here);
                        notices.push(Notice::Disconnected);
                    }
                    Body::Outcome { serial, outcome } => {
                        self.last = self.last.max(reply.zxid);
                        self.fire(&reply.fired, &mut notices);
                        self.answer(serial, outcome, here, &mut notices);
                    }
                    Body::Notified | Body::Pong | Body::Connected(_) => {
                        // What comes after a lost answer on a stream does not come either.
                        if self.awaited.is_none() {
                            self.heard(here);
                        }
                        self.fire(&reply.fired, &mut notices);
                    }
                    // Said twice, and taken the first time.
                    Body::Expired => {}
                }
            }
            // On a connection that was given up.
            (Link::None | Link::Down { .. } | Link::Connecting { .. } | Link::Up { .. }, _) => {}
        }
        notices
    }

    /// [`Session::deadline`] has come.
    pub fn on_deadline(&mut self, here: &Here, out: &mut Out) -> Notices {
        let mut notices = Notices::new();
        let is_due = |at: Option<Monotonic>| at.is_some_and(|at| here.now >= at);
        // Looked at before the connection is, as in `ClientCnxn`: what is under way ends with the session, in SESSIONEXPIRED.
        if is_due(self.expires_at) {
            self.end();
            notices.push(Notice::Expired);
            return notices;
        }
        match self.link {
            Link::None => {}
            Link::Down { until } => {
                if is_due(Some(until)) {
                    self.send_connect(here, out);
                }
            }
            Link::Connecting { give_up, .. } => {
                if is_due(give_up) {
                    self.go_on(here);
                }
            }
            Link::Up { give_up, .. } if is_due(give_up) => {
                self.awaited = None;
                self.go_on(here);
                notices.push(Notice::Disconnected);
            }
            Link::Up { number, ping_at, give_up } => {
                if is_due(ping_at) {
                    let serial = self.draw();
                    let waiting = self.waiting();
                    out.request(self.server(here), Request::Ping { connection: number, serial, waiting });
                    let ping_at = here.settings.ping_period().map(|period| here.now + period);
                    self.link = Link::Up { number, ping_at, give_up };
                }
            }
        }
        notices
    }

    /// When the library wants to be woken.
    pub fn deadline(&self) -> Option<Monotonic> {
        let of_link = match self.link {
            Link::None => None,
            Link::Down { until } => Some(until),
            Link::Connecting { give_up, .. } => give_up,
            Link::Up { ping_at, give_up, .. } => ping_at.into_iter().chain(give_up).min(),
        };
        of_link.into_iter().chain(self.expires_at).min()
    }

    /// Whether a reply will be dismissed whenever it comes.
    pub fn dismisses(&self, reply: &Reply) -> bool {
        match self.link {
            Link::None | Link::Down { .. } => true,
            Link::Connecting { number, .. } => number != reply.connection,
            Link::Up { number, .. } if number != reply.connection => true,
            // It is a sign of life.
            Link::Up { give_up: Some(_), .. } => false,
            Link::Up { give_up: None, .. } => {
                let is_news = |fired: &Fired| {
                    self.watches.iter().any(|watch| watch.serial == fired.serial)
                        || self.awaited.is_some_and(|awaited| awaited.serial == fired.serial)
                };
                let is_answer = match reply.body {
                    Body::Outcome { serial, .. } => {
                        self.awaited.is_some_and(|awaited| awaited.serial == serial)
                    }
                    Body::Closed => true,
                    Body::Connected(_) | Body::Expired | Body::Notified | Body::Pong => false,
                };
                !is_answer && !reply.fired.iter().any(is_news)
            }
        }
    }

    /// Shows every time and number in the state to `visitor`.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(id) = &mut self.id {
            id.visit(visitor);
        }
        self.last.visit(visitor);
        match &mut self.link {
            Link::None => {}
            Link::Down { until } => visitor.wake(until),
            Link::Connecting { number, give_up } => {
                visitor.serial(Owner::Me, number);
                give_up.iter_mut().for_each(|at| visitor.wake(at));
            }
            Link::Up { number, ping_at, give_up } => {
                visitor.serial(Owner::Me, number);
                ping_at.iter_mut().chain(give_up).for_each(|at| visitor.wake(at));
            }
        }
        if let Some(awaited) = &mut self.awaited {
            visitor.serial(Owner::Me, &mut awaited.serial);
            if let Some((path, _)) = &mut awaited.watched {
                path.visit(visitor);
            }
        }
        self.watches.iter_mut().for_each(|watch| watch.visit(Owner::Me, visitor));
        self.expires_at.iter_mut().for_each(|at| visitor.wake(at));
    }

    /// The watches of which it does not know that they have fired; one that is being set may have fired already.
    fn waiting(&self) -> SmallVec<[u32; 2]> {
        let being_set = self.awaited.filter(|awaited| awaited.watched.is_some() && awaited.early.is_none());
        let set = self.watches.iter().map(|watch| watch.serial);
        set.chain(being_set.map(|awaited| awaited.serial)).collect()
    }

    fn send_connect(&mut self, here: &Here, out: &mut Out) {
        let number = self.draw();
        let timeout = here.settings.timeout;
        // `ClientCnxn`: "connectTimeout = sessionTimeout / hostProvider.size()".
        let give_up = timeout.map(|timeout| here.now + Micros(timeout.0 / i64::from(here.servers)));
        self.link = Link::Connecting { number, give_up };
        let connect = Connect {
            serial: number,
            session: self.id,
            timeout,
            last: self.last,
            watches: self.watches.clone(),
        };
        out.request(self.server(here), Request::Connect(connect));
    }

    /// This server is of no use: the next one, in a while.
    fn go_on(&mut self, here: &Here) {
        self.server = (self.server + 1) % here.servers;
        self.link = Link::Down { until: here.now + here.settings.reconnect_delay };
    }

    fn end(&mut self) {
        self.link = Link::None;
        self.id = None;
        self.last = Zxid::NONE;
        self.awaited = None;
        self.watches.clear();
        self.expires_at = None;
    }

    fn heard(&mut self, here: &Here) {
        if let Link::Up { give_up, .. } = &mut self.link {
            *give_up = here.settings.silence().map(|silence| here.now + silence);
            self.expires_at = here.settings.expiration().map(|silence| here.now + silence);
        }
    }

    fn fire(&mut self, all: &[Fired], notices: &mut Notices) {
        for fired in all {
            if let Some(place) = self.watches.iter().position(|watch| watch.serial == fired.serial) {
                let watch = self.watches.remove(place);
                notices.push(Notice::Fired(watch.path, fired.event));
            } else if let Some(awaited) = &mut self.awaited
                && awaited.serial == fired.serial
            {
                awaited.early = Some(fired.event);
            }
            // Else the client knows.
        }
    }

    fn answer(&mut self, serial: u32, outcome: Outcome, here: &Here, notices: &mut Notices) {
        let Some(awaited) = self.awaited.take_if(|awaited| awaited.serial == serial) else {
            return;
        };
        self.heard(here);
        // "exists" watches either way; the others watch what they found.
        let kind = match (&outcome, awaited.watched) {
            (Outcome::Failed(_), Some((_, WatchKind::Data | WatchKind::Children))) => None,
            (Outcome::Exists(_), Some((path, WatchKind::Absence))) => Some((path, WatchKind::Data)),
            (_, watched) => watched,
        };
        if outcome == Outcome::SessionClosed {
            self.end();
        }
        notices.push(Notice::Answered(outcome));
        match (kind, awaited.early) {
            (Some((path, _)), Some(event)) => notices.push(Notice::Fired(path, event)),
            (Some((path, kind)), None) => {
                self.watches.retain(|watch| (watch.path, watch.kind) != (path, kind));
                self.watches.push(Watch { serial, path, kind });
            }
            (None, _) => {}
        }
    }
}

/// What an operation sets a watch on, if it succeeds; `exists` sets one if it fails, too.
fn watched_by(operation: &Operation) -> Option<(Path, WatchKind)> {
    match operation {
        Operation::Exists { path, watch: true } => Some((*path, WatchKind::Absence)),
        Operation::GetData { path, watch: true } => Some((*path, WatchKind::Data)),
        Operation::GetChildren { path, watch: true } => Some((*path, WatchKind::Children)),
        Operation::Exists { watch: false, .. }
        | Operation::GetData { watch: false, .. }
        | Operation::GetChildren { watch: false, .. }
        | Operation::Write(_)
        | Operation::Multi(_)
        | Operation::Sync
        | Operation::CloseSession => None,
    }
}
