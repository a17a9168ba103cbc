//! Apache ZooKeeper 3.8, as far as the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, and its recipes need it.
//!
//! ```text
//!            connect, request, ping                forward          propose ─▶ ack ─▶ commit
//!   client ──────────────────────────▶ follower ───────────▶ leader ───────────────────────▶ all servers
//!          ◀──────────────────────────  (its tree ◀──────────────── one order of all transactions
//!             reply, watch's event       may lag)
//! ```
//!
//! # What is modelled
//!
//! - A tree of znodes ([`Path`]; what they are called means nothing to a server), persistent or ephemeral, sequential or not, with versions as compare-and-set, `multi`
//!   and `check`. Errors come in the order in which `PrepRequestProcessor` looks for them.
//! - The sequence number is the parent's stored `cversion`, which every create of a child raises by one and no delete
//!   does. What happens at its end is [`Counter`]'s to say, and is not what the ZooKeeper article says for every version.
//! - One order of all transactions, given by the leader, acknowledged by a quorum, applied by every server in that
//!   order. Reads are answered by the server that the client talks to from what it has applied; a write is answered by
//!   that server when it has applied it. So a client sees its own writes, and another's possibly late.
//! - Sessions, whose time the leader counts: full timeout after every sign of life, and for all of them when a leader
//!   begins. Without a leader nobody counts. A closed or expired session is a transaction that takes its ephemeral
//!   znodes away.
//! - One-shot watches, kept by the server of the connection, set again by the client's library ([`session`]) when it
//!   reconnects. A server turns away a client that has seen more than it has itself.
//! - Leader change: whoever hears nothing of a leader for [`Election::timeout`] asks all others to promise it a new
//!   epoch; with a quorum's promises it takes the latest history among them, hands it to all, and leads once a quorum has it.
//!
//! # What is left out, and which failures that hides
//!
//! - *FastLeaderElection and the phases of Zab.* Vote, discovery and synchronisation are one round here, and a server
//!   that hears its leader takes no part in it. Hidden: elections that take long, or choose a server that then cannot
//!   get its quorum; the leader need not be the one with the largest history, it fetches it.
//! - *DIFF and TRUNC.* A server that missed something gets the whole history, and closes its clients' connections if
//!   that makes it jump. Hidden: failures of the log, of fuzzy snapshots, of their replay.
//! - *Time between log, acknowledgement and commit within a server.* They are one step. The log is durable before it is
//!   acknowledged ([`Log::Synced`]); the request pipeline (`PrepRequestProcessor`, `SyncRequestProcessor`,
//!   `FinalRequestProcessor`) is a step too, so a single server has no outstanding changes.
//! - *The buckets of `ExpiryQueue`.* The real leader rounds the end of a session up to the next tick (`tickTime`): it
//!   expires up to one tick later than here, never earlier. What survives this one survives that one.
//! - *Several requests at a time on one session.* The library sends one and waits; pings come between. Hidden: what
//!   becomes of pipelined requests when a connection ends in their midst.
//! - *TCP.* See [`protocol`]: no reset tells a client that its server's process is gone; it learns that when it sends
//!   something to the new process, or by its own time-out. A server never closes a connection for being silent.
//! - *What a follower reports of its clients' signs of life* goes with its answer to the leader's beat (`Learner.ping`),
//!   and again with every later answer until the leader shows that it has it: over TCP, too, what does not arrive now
//!   arrives later, once. It waits for the next beat, not for TCP's timer: with more loss it comes later than over TCP.
//! - *The end of a connection between servers* is told by the leader's next beat: one that has heard nothing of a follower
//!   for [`Election::timeout`] has closed the connection (`LearnerHandler`'s read fails after `syncLimit` ticks), and the
//!   follower lets its clients go and takes the history anew. If that beat is lost, the next one says so. With a timeout
//!   as long as a session's, the leader ends sessions of clients that a silent follower still serves: so does the real one.
//! - *Observers, reconfiguration, read-only mode, local sessions, ACLs, quotas, containers and TTL znodes, persistent
//!   watches, limits on sizes and numbers, `lastZxid` of a log that ends within a transaction.*

mod connections;
mod election;
mod ensemble;
mod follower;
mod path;
mod peer;
pub mod protocol;
mod replica;
mod server;
pub mod session;
mod settings;
#[cfg(test)]
mod tests;
mod tracker;
mod tree;
mod visit;
mod wording;

pub use path::{Guid, Name, Numbered, Path, Place, SessionId, Suffix, Zxid};
pub use peer::{Beat, History, Peer};
pub use protocol::*;
pub use replica::{Action, Origin, Txn};
pub use settings::*;
pub use tree::Znode;

use crate::machine::{Context, Effects, Store, Visitor};
use crate::time::Due;
use connections::Connections;
use peer::{Member, Role};
use picklock_properties::FencingToken;
use replica::Replica;
use serde::{Deserialize, Serialize};
use tracker::Tracker;

/// One server of an ensemble of 1, 3 or 5.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ZooKeeper {
    /// What it has applied.
    replica: Replica,
    connections: Connections,
    /// Empty if it does not lead.
    tracker: Tracker,
    /// Its part in the ensemble; a single server has none.
    member: Option<Box<Member>>,
    /// How far it ever counted, whatever the epoch, where a loss of power makes it count anew ([`Log::Unsynced`]): then a client that
    /// has seen more is refused until as many transactions have come again. [`Zxid::NONE`] elsewhere.
    highest: Zxid,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<ZooKeeper>;

impl ZooKeeper {
    /// The znode at `path`, as this server has it.
    pub fn znode(&self, path: Path) -> Option<&Znode> {
        self.replica.tree.node(path).ok()
    }

    /// All znodes, as this server has them.
    pub fn znodes(&self) -> impl Iterator<Item = (Path, &Znode)> {
        self.replica.tree.all()
    }

    /// The last transaction this server has applied.
    pub fn last_applied(&self) -> Zxid {
        self.replica.last
    }

    /// Whether this server leads, and a quorum has taken its history.
    pub fn leads(&self) -> bool {
        match &self.member {
            None => true,
            Some(member) => matches!(member.role, Role::Leader { established: true, .. }),
        }
    }

    /// Whether the session is open, as far as this server knows.
    pub fn has_session(&self, session: SessionId) -> bool {
        self.replica.session(session).is_some()
    }

    /// The ephemeral znodes of a session, as this server has them.
    pub fn ephemerals(&self, session: SessionId) -> impl Iterator<Item = Path> {
        self.replica.tree.ephemerals(session).into_iter()
    }

    /// Whether this server takes clients.
    pub fn serves(&self) -> bool {
        match &self.member {
            None => true,
            Some(member) => match member.role {
                Role::Leader { established, .. } => established,
                Role::Follower { synced, .. } => synced,
                Role::Candidate { .. } | Role::Looking { .. } => false,
            },
        }
    }

    fn count(&mut self, cx: &Cx) {
        if cx.settings.log == Log::Unsynced {
            self.highest.counter = self.highest.counter.max(self.last_logged().counter);
        }
    }
}

impl Store for ZooKeeper {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Change = Change;

    const SHOWS_CLIENTS: bool = true;
    const TELLS_OF_ENDS: bool = true;

    fn reads_wall_clock(settings: &Settings) -> bool {
        settings.session_clock == SessionClock::Wall
    }

    const SETTLES: bool = false;

    const PEERS_IN_ORDER: bool = true;
    const CLIENTS_IN_ORDER: bool = true;

    fn leads(&self) -> bool {
        ZooKeeper::leads(self)
    }

    fn is_notice(reply: &Reply) -> bool {
        reply.is_event()
    }

    fn new(me: u8, servers: u8, settings: &Settings) -> Self {
        let is_any = settings.acknowledgements == Acknowledgements::Assumed;
        assert!(is_any || matches!(servers, 1 | 3 | 5), "an ensemble of one, three or five servers");
        ZooKeeper {
            replica: Replica::new(settings),
            connections: Connections::default(),
            tracker: Tracker::default(),
            member: (servers > 1).then(|| Box::new(Member::new(me, servers, settings))),
            highest: Zxid::NONE,
        }
    }

    fn on_request(&mut self, from: u8, request: Request, cx: &Cx, out: &mut Out) {
        match request {
            Request::Connect(connect) => self.connect(from, connect, cx, out),
            Request::Do { connection, serial, waiting, operation } => {
                if self.takes(from, connection, serial, &waiting, cx, out) {
                    self.operate(from, serial, operation, cx, out);
                }
            }
            Request::Ping { connection, serial, waiting } => {
                if self.takes(from, connection, serial, &waiting, cx, out) {
                    self.connections.say(from, self.replica.last, Body::Pong, out);
                }
            }
        }
        self.count(cx);
    }

    fn on_peer(&mut self, from: u8, message: Peer, cx: &Cx, out: &mut Out) {
        self.on_message(from, message, cx, out);
        self.count(cx);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        if self.leads()
            && let Some(session) = self.tracker.expired(cx)
        {
            out.remark = Some("ends a session that was silent for its whole timeout");
            self.tracker.set_closing(session);
            self.order(session, None, Action::CloseSession, cx, out);
        }
        self.on_timer(cx, out);
        self.count(cx);
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Cx, _out: &mut Out) {
        self.connections.forget_all();
        self.tracker.forget_all();
        match (power_lost, cx.settings.log) {
            (true, Log::Unsynced) => {
                *self = ZooKeeper { highest: self.highest, ..ZooKeeper::new(cx.me, cx.servers, cx.settings) };
            }
            (false, Log::Unsynced) | (_, Log::Synced) => {}
        }
        match &mut self.member {
            // "sessionsWithTimeouts" comes from the disk, and every session's time begins anew.
            None => self.count_all_sessions(cx),
            Some(member) => member.restart(cx),
        }
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let timer = self.member.as_ref().and_then(|member| member.timer()).map(Due::Monotonic);
        match (self.tracker.deadline(), timer) {
            // Two clocks cannot be compared; the leader looks at its sessions as often as its timer wakes it.
            (Some(Due::Wall(_)), Some(timer)) => Some(timer),
            (session, timer) => session.into_iter().chain(timer).min(),
        }
    }

    fn is_durable(settings: &Settings) -> bool {
        settings.log == Log::Synced
    }

    fn dismisses(&self, message: &Peer) -> bool {
        self.knows(message)
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.replica.visit(visitor);
        // All of them, so that their order says as much as they do.
        (0..=self.highest.counter).for_each(|counter| Zxid { counter, ..self.highest }.visit(visitor));
        self.highest.visit(visitor);
        self.connections.visit(visitor);
        self.tracker.visit(visitor);
        if let Some(member) = &mut self.member {
            member.visit(visitor);
        }
    }

    fn visit_fence<V: Visitor>(token: &mut FencingToken, visitor: &mut V) {
        path::visit_token(token, visitor);
    }

    fn contents(&self) -> Vec<String> {
        let role = self.member.as_ref().map(|member| member.describe());
        role.into_iter().chain(self.replica.tree.contents()).chain(self.connections.contents()).collect()
    }
}
