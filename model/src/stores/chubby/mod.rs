//! A Chubby cell (M. Burrows, The Chubby lock service for loosely-coupled distributed systems, OSDI 2006; the lock-manager article,
//! *Distributed lock manager*), as its clients see it: a master, and after its end another. With other settings it is Consul's leader,
//! whose sessions and locks follow Chubby's (`agent/consul/session_ttl.go`, `state/session.go`, `state/kvs.go`, `kvs_endpoint.go`).
//!
//! ```text
//!     A                    master                    B
//!     │── create session ───▶│                        │
//!     │◀─ session, lease ────│                        │
//!     │── KeepAlive ────────▶│ held                   │
//!     │── acquire ──────────▶│ generation 1           │
//!     │◀─ acquired, 1 ───────│◀────────── acquire ────│ waits
//!     │◀─ kept alive ────────│ little was left        │
//!     │── KeepAlive ───╳     │ A's lease is over: its session is lost, the lock rests
//!     │                      │ ... lock-delay ...     │
//!     │                      │── acquired, 2 ────────▶│
//! ```
//!
//! # What it does
//!
//! - *Sessions have leases* (section 2.8). The master moves a lease forward only: when it creates the session, when it answers a
//!   KeepAlive, and when it becomes master. It holds a KeepAlive until little is left of the lease.
//! - *Locks are of sessions*, exclusive or shared, each by a handle. A handle is used once, and stays closed: a request that comes
//!   late brings nothing back.
//! - *A lock has a generation*, which grows when it goes from free to held (section 2.2). With the lock's name and the mode it is a
//!   sequencer (section 2.4), and the master can say whether one is valid ([`Operation::Write`]).
//! - *Lock-delay* (section 2.4): if the holder's session is lost, nobody is given the lock for as long as the holder has asked for, a
//!   minute at most. A lock that is given back is free at once.
//! - *Fail-over* (section 2.9): a restart is another master. In the database are sessions, holders, generations; in memory were
//!   the ends of leases, KeepAlives, waiters, closed handles. The new master has another number, and refuses calls that were
//!   meant for an earlier one; it gives every lease the longest time that the old one may have given, for while there is no
//!   master a lease does not run; it answers nothing but KeepAlives until every session has acknowledged, or is over.
//!
//! Each of these can be left out by a knob ([`Settings`]).
//!
//! # What is left out, and which failures that hides
//!
//! - *Replicas and Paxos.* The database is one, and nothing in it is lost. Hidden: two masters at once, and what Paxos Made Live
//!   does against it (operations conditional on the epoch); databases that fall behind. While there is no master, nobody answers.
//! - *Files, caches, events, access rights, proxies.* Nothing is cached, so that there is nothing to flush at a fail-over: what
//!   step 5 is for is not seen. Sequencers are checked at the master, which a cache that is kept consistent equals.
//! - *Handles by themselves.* A node is opened with the request that acquires its lock.
//! - *Which lock-delays a new master knows* the paper does not say: they go on, or are forgotten ([`Delays`]). In Consul every
//!   server counts them for itself (`state/delay.go`): they are gone where a server has restarted.
//! - *In Consul*: health checks, which end sessions as well; blocking queries, by which everybody who waits is woken when a key
//!   changes, a herd that is not seen here; the agent between client and servers; the retries of an invalidation that fails.

mod nodes;
mod protocol;
pub mod session;
mod sessions;
mod settings;
#[cfg(test)]
mod tests;

pub use protocol::{Generation, Handle, Operation, Outcome, Reply, Request, SessionId};
pub use settings::{Delays, Epochs, FailOver, Flaw, KeepAlives, LOCK_DELAY_MAX, Load, OnLoss, Settings};

use crate::machine::{Context, Effects, Message, Silence, Store, Visitor};
use crate::time::{Due, Micros};
use nodes::{Holder, LockNode};
use picklock_properties::{LockId, Mode};
use protocol::numbers_of;
use serde::{Deserialize, Serialize};
use sessions::Session;
use smallvec::SmallVec;

/// The cell: its database, and the memory of its present master.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Chubby {
    /// Which master this is.
    epoch: u32,
    sessions: SmallVec<[Session; 2]>,
    nodes: SmallVec<[LockNode; 1]>,
    /// Of each client, the newest session that was asked for: a request that comes late brings no older one back.
    newest: SmallVec<[Option<u32>; 3]>,
}

/// What changed at the master.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A session of this client has the lock.
    Acquired {
        /// Whose session it is.
        client: u8,
        /// Which lock.
        lock: LockId,
    },
    /// A session is lost, and the lock that it held.
    Lost {
        /// Whose session it was.
        client: u8,
        /// Which lock.
        lock: LockId,
    },
    /// Somebody wanted to change a file as the lock's holder.
    Wrote {
        /// Who.
        client: u8,
        /// Which lock.
        lock: LockId,
        /// Whether it was changed.
        accepted: bool,
    },
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Chubby>;

impl Chubby {
    /// What is due by now: KeepAlives are answered, sessions end, locks have rested.
    fn look(&mut self, cx: &Cx, out: &mut Out) {
        for session in &mut self.sessions {
            session.answer_in_time(cx, out);
        }
        while let Some(place) = self.sessions.iter().position(|session| session.is_over(cx)) {
            out.remark = Some("ends a session whose lease is over");
            self.end(place, cx, out);
        }
        self.nodes.iter_mut().for_each(|node| node.grant(cx, out));
    }

    /// A session is lost, with all that it holds.
    fn end(&mut self, place: usize, cx: &Cx, out: &mut Out) {
        let Session { id, .. } = self.sessions.remove(place);
        for node in &mut self.nodes {
            node.lose(id, cx, out);
            node.grant(cx, out);
        }
        if cx.settings.tells_loss {
            out.reply(id.client, Reply { serial: id.number, outcome: Outcome::SessionOver(id) });
        }
    }

    fn place_of(&self, id: SessionId) -> Option<usize> {
        self.sessions.iter().position(|session| session.id == id)
    }

    /// Whether every session knows of this master: until then it answers nothing but KeepAlives (section 2.9, steps 4 to 7).
    fn has_taken_over(&self) -> bool {
        self.sessions.iter().all(Session::has_acknowledged)
    }

    fn create_session(&mut self, id: SessionId, lease: Option<Micros>, cx: &Cx, out: &mut Out) {
        let client = usize::from(id.client);
        if self.newest.len() <= client {
            self.newest.resize(client + 1, None);
        }
        if self.newest[client].is_some_and(|newest| id.number < newest) {
            return;
        }
        self.newest[client] = Some(id.number);
        let lease = match self.place_of(id) {
            Some(place) => self.sessions[place].lease(),
            None => {
                self.sessions.push(Session::new(id, lease, cx));
                self.sessions.sort_unstable_by_key(|session| session.id);
                lease
            }
        };
        out.reply(id.client, Reply { serial: id.number, outcome: Outcome::Created { lease } });
    }

    fn node(&mut self, lock: LockId) -> &mut LockNode {
        let place = match self.nodes.binary_search_by_key(&lock, |node| node.lock) {
            Ok(place) => place,
            Err(place) => {
                self.nodes.insert(place, LockNode::new(lock));
                place
            }
        };
        &mut self.nodes[place]
    }

    #[expect(clippy::too_many_arguments, reason = "one request's fields, and whose it is")]
    fn acquire(
        &mut self,
        place: usize,
        serial: u32,
        holder: Holder,
        lock: LockId,
        mode: Mode,
        cx: &Cx,
        out: &mut Out,
    ) {
        let Handle { session: SessionId { client, .. }, number } = holder.handle;
        let is_closed = self.sessions[place].closed.is_some_and(|closed| number <= closed);
        let node = self.node(lock);
        if node.is_held_by(holder.handle) {
            let outcome = Outcome::Acquired(node.generation);
            return out.reply(client, Reply { serial, outcome });
        }
        if is_closed || mode == Mode::TryLock && node.is_in_the_way_of(holder.access) {
            // Else the same request, said again or come twice, might be given what nobody waits for.
            self.close(place, number);
            return out.reply(client, Reply { serial, outcome: Outcome::Refused });
        }
        node.wait(holder, serial);
        node.grant(cx, out);
    }

    fn close(&mut self, place: usize, handle: u32) {
        let closed = &mut self.sessions[place].closed;
        *closed = (*closed).max(Some(handle));
    }

    fn write(
        &mut self,
        handle: Handle,
        lock: LockId,
        sequencer: Option<Generation>,
        out: &mut Out,
    ) -> Outcome {
        let node = self.node(lock);
        let is_valid = |generation: Generation| node.generation == generation && node.is_held_by(handle);
        let accepted = sequencer.is_none_or(is_valid);
        out.changed(Change::Wrote { client: handle.session.client, lock, accepted });
        Outcome::Written { accepted }
    }

    /// There is a new master.
    fn fail_over(&mut self, cx: &Cx) {
        self.epoch += 1;
        let asks_nobody = cx.settings.epochs == Epochs::Unknown;
        self.sessions.iter_mut().for_each(|session| session.fail_over(asks_nobody, cx));
        self.nodes.iter_mut().for_each(|node| node.fail_over(cx.settings.delays == Delays::Kept));
    }
}

impl Store for Chubby {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Change;

    const SETTLES: bool = false;
    const TELLS_OF_ENDS: bool = true;

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    /// One server is all of the cell that is seen: another would be another cell, and nobody asks it.
    fn new(_me: u8, _servers: u8, _settings: &Settings) -> Self {
        Chubby::default()
    }

    fn on_request(&mut self, from: u8, request: Request, cx: &Cx, out: &mut Out) {
        let Request { serial, epoch, operation } = request;
        self.look(cx, out);
        if cx.settings.epochs == Epochs::Checked && epoch != self.epoch {
            let outcome = Outcome::NewMaster { epoch: self.epoch };
            return out.reply(from, Reply { serial, outcome });
        }
        let place = match operation.session().map(|id| (id, self.place_of(id))) {
            None => None,
            Some((_, Some(place))) => Some(place),
            Some((id, None)) => {
                if let Operation::Write { lock, .. } = operation {
                    out.changed(Change::Wrote { client: from, lock, accepted: false });
                }
                return out.reply(from, Reply { serial, outcome: Outcome::SessionOver(id) });
            }
        };
        let is_keep_alive = matches!(operation, Operation::KeepAlive(_));
        if !is_keep_alive && !self.has_taken_over() {
            // Who asks for more asks again.
            return;
        }
        match (operation, place) {
            (Operation::CreateSession { lease }, _) => {
                self.create_session(SessionId { client: from, number: serial }, lease, cx, out);
            }
            (Operation::KeepAlive(_), Some(place)) => self.sessions[place].keep_alive(serial, cx, out),
            (Operation::Acquire { handle, lock, access, mode, lock_delay }, Some(place)) => {
                self.acquire(place, serial, Holder { handle, access, lock_delay }, lock, mode, cx, out);
            }
            (Operation::Release { handle, lock }, Some(place)) => {
                self.close(place, handle.number);
                let node = self.node(lock);
                node.give_back(handle);
                node.grant(cx, out);
                out.reply(from, Reply { serial, outcome: Outcome::Released });
            }
            (Operation::Write { handle, lock, sequencer }, Some(_)) => {
                let outcome = self.write(handle, lock, sequencer, out);
                out.reply(from, Reply { serial, outcome });
            }
            (Operation::EndSession(id), Some(place)) => {
                self.end(place, cx, out);
                if !cx.settings.tells_loss {
                    out.reply(from, Reply { serial, outcome: Outcome::SessionOver(id) });
                }
            }
            (
                Operation::KeepAlive(_)
                | Operation::Acquire { .. }
                | Operation::Release { .. }
                | Operation::Write { .. }
                | Operation::EndSession(_),
                None,
            ) => unreachable!("it is done in a session, which was found"),
        }
    }

    fn on_peer(&mut self, _from: u8, message: Silence, _cx: &Cx, _out: &mut Out) {
        match message {}
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        self.look(cx, out);
    }

    fn on_restart(&mut self, _power_lost: bool, cx: &Cx, _out: &mut Out) {
        self.fail_over(cx);
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        let of_sessions = self.sessions.iter().filter_map(|session| session.deadline(settings));
        let of_nodes = self.nodes.iter().filter_map(LockNode::deadline);
        of_sessions.chain(of_nodes).min().map(Due::Monotonic)
    }

    fn choices(&self, message: &Message<Self>, _servers: u8, settings: &Settings) -> u32 {
        match (settings.load, message) {
            (Some(load), Message::Request(Request { operation: Operation::KeepAlive(_), .. })) => {
                load.one_in.max(1)
            }
            (_, _) => 1,
        }
    }

    fn surroundings(settings: &Settings) -> Vec<String> {
        let load = settings.load.map(|Load { one_in, lease }| {
            format!("of {one_in} KeepAlives, one comes while the master is overloaded, and gives {lease}")
        });
        load.into_iter().collect()
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.sessions.iter_mut().for_each(|session| session.visit(visitor));
        self.nodes.iter_mut().for_each(|node| node.visit(visitor));
        for (client, newest) in (0..).zip(&mut self.newest) {
            newest.iter_mut().for_each(|newest| visitor.serial(numbers_of(client), newest));
        }
    }

    fn contents(&self) -> Vec<String> {
        let master = (self.epoch > 0).then(|| format!("master {}", self.epoch));
        let sessions = self.sessions.iter().map(|session| format!("session {}", session.id));
        master.into_iter().chain(sessions).chain(self.nodes.iter().map(LockNode::describe)).collect()
    }
}
