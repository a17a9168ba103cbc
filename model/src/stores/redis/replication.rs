//! Who is master, and how its replicas follow it ([`Layout::Replicated`]).

#[cfg(doc)]
use super::Layout;
use super::keyspace::Turn;
use super::peer::{Effect, Peer};
use super::protocol::{Outcome, Reply, Value};
use super::{Redis, Settings};
use crate::machine::{Context, Effects, Node, Owner, Visitor};
use crate::time::{Micros, Monotonic};
use picklock_properties::ServerSet;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Who is master since when: later terms are greater. Two replicas that promote themselves at the same time have terms
/// of the same epoch; the greater number wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Term {
    pub epoch: u32,
    pub master: u8,
}

/// A server's part. Term and role are durable (Sentinel has the server rewrite its configuration file).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Replication {
    pub term: Term,
    role: Role,
    ping_period: Micros,
    down_after: Micros,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Role {
    Master {
        /// Counts the changes.
        offset: u32,
        ping_due: Monotonic,
        /// The oldest first.
        waits: SmallVec<[Wait; 1]>,
    },
    Replica {
        /// The last of the master's changes that it has; `None`: nothing of this term yet.
        applied: Option<u32>,
        /// It has asked for everything, and will not ask again before the next ping.
        is_asking: bool,
        /// When it takes its master for dead.
        gives_up: Monotonic,
        /// It was a master, and its keys are still those.
        was_master: bool,
    },
}

/// A reply that is withheld until the replicas have acknowledged (`WAIT`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Wait {
    client: u8,
    reply: Reply,
    offset: u32,
    missing: ServerSet,
}

impl Replication {
    pub fn new(me: u8, ping_period: Micros, down_after: Micros) -> Self {
        let term = Term { epoch: 1, master: 0 };
        let start = Monotonic(0);
        let role = match me {
            0 => Role::Master { offset: 0, ping_due: start + ping_period, waits: SmallVec::new() },
            me => Role::Replica {
                applied: Some(0),
                is_asking: false,
                gives_up: start + patience(me, term, ping_period, down_after),
                was_master: false,
            },
        };
        Replication { term, role, ping_period, down_after }
    }

    pub fn is_master(&self) -> bool {
        matches!(self.role, Role::Master { .. })
    }

    /// The epoch, and the last change that this server has.
    pub fn progress(&self) -> Option<(u32, u32)> {
        let offset = match self.role {
            Role::Master { offset, .. } => Some(offset),
            Role::Replica { applied, .. } => applied,
        };
        offset.map(|offset| (self.term.epoch, offset))
    }

    /// Whether the loss of a record here is an event.
    pub fn reports(&self) -> bool {
        matches!(self.role, Role::Master { .. } | Role::Replica { was_master: true, .. })
    }

    /// When it has to ping, or gives its master up.
    pub fn deadline(&self) -> Monotonic {
        match self.role {
            Role::Master { ping_due, .. } => ping_due,
            Role::Replica { gives_up, .. } => gives_up,
        }
    }

    /// The server starts again and serves from `opens` on. Its replication starts afresh (the real master draws a new
    /// replication id, the real replica asks for everything): an offset that no replica has stands for that.
    pub fn restart(&mut self, opens: Monotonic, me: u8) {
        match &mut self.role {
            Role::Master { offset, ping_due, waits } => {
                *offset += 1;
                *ping_due = opens;
                waits.clear();
            }
            Role::Replica { applied, is_asking, gives_up, was_master: _ } => {
                *applied = None;
                *is_asking = false;
                *gives_up = opens + patience(me, self.term, self.ping_period, self.down_after);
            }
        }
    }

    /// A master sends what changed to all its replicas; returns the offset of that.
    pub fn propagate(
        &mut self,
        changed: SmallVec<[Effect; 2]>,
        ack: bool,
        cx: &Context<Settings>,
        effects: &mut Effects<Redis>,
    ) -> Option<u32> {
        let Role::Master { offset, .. } = &mut self.role else { return None };
        if changed.is_empty() {
            return None;
        }
        let after = *offset;
        *offset += 1;
        let (epoch, offset) = (self.term.epoch, *offset);
        for server in others(cx) {
            effects.peer(server, Peer::Change { epoch, after, offset, effects: changed.clone(), ack });
        }
        Some(offset)
    }

    /// Withholds the reply until all replicas have acknowledged `offset`; false if there is none.
    pub fn withhold(&mut self, client: u8, reply: Reply, offset: u32, cx: &Context<Settings>) -> bool {
        let missing: ServerSet = others(cx).collect();
        match &mut self.role {
            Role::Master { waits, .. } if !missing.is_empty() => {
                // A client that asks again has given up the connection on which it waited.
                waits.retain(|wait| wait.client != client);
                waits.push(Wait { client, reply, offset, missing });
                true
            }
            Role::Master { .. } | Role::Replica { .. } => false,
        }
    }

    /// The timer has come: a master pings; a replica becomes master, and returns true.
    pub fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Redis>) -> bool {
        if cx.monotonic < self.deadline() {
            return false;
        }
        let is_promoted = !self.is_master();
        if is_promoted {
            self.term = Term { epoch: self.term.epoch + 1, master: cx.me };
            self.role = Role::Master { offset: 0, ping_due: cx.monotonic, waits: SmallVec::new() };
            effects.remark = Some("takes over as master");
        }
        let Role::Master { offset, ping_due, waits } = &mut self.role else { unreachable!("just made one") };
        *ping_due = cx.monotonic + self.ping_period;
        let ping = Peer::Ping { epoch: self.term.epoch, offset: *offset, ack: !waits.is_empty() };
        for server in others(cx) {
            effects.peer(server, ping.clone());
        }
        is_promoted
    }

    /// A master of this term was heard of: follows it if it is later than its own. Whether it is the present one.
    fn heed(&mut self, term: Term, cx: &Context<Settings>) -> bool {
        if term < self.term || term.master == cx.me {
            return false;
        }
        let patience = patience(cx.me, term, self.ping_period, self.down_after);
        match &mut self.role {
            Role::Replica { gives_up, .. } if term == self.term => *gives_up = cx.monotonic + patience,
            Role::Master { .. } | Role::Replica { .. } => {
                let was_master = self.reports();
                let gives_up = cx.monotonic + patience;
                self.role = Role::Replica { applied: None, is_asking: false, gives_up, was_master };
                self.term = term;
            }
        }
        true
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match &mut self.role {
            Role::Master { offset, ping_due, waits } => {
                visitor.serial(Owner::Me, offset);
                visitor.wake(ping_due);
                for Wait { client, reply, offset, missing: _ } in waits {
                    visitor.serial_of(client, &mut reply.serial);
                    if let Outcome::Bulk(value @ Value::Token(_)) = &mut reply.outcome {
                        value.visit(visitor);
                    }
                    visitor.serial(Owner::Me, offset);
                }
            }
            Role::Replica { applied, is_asking: _, gives_up, was_master: _ } => {
                let master = Owner::Node(Node::Server(self.term.master));
                applied.iter_mut().for_each(|offset| visitor.serial(master, offset));
                visitor.wake(gives_up);
            }
        }
    }

    /// Whether the message has no effect, now and at any later time: terms only grow, and so do offsets in a term.
    pub fn dismisses(&self, message: &Peer) -> bool {
        match (message, &self.role) {
            // An old master is told.
            (Peer::Ping { .. }, _) => false,
            (Peer::Change { epoch, .. } | Peer::Snapshot { epoch, .. }, _) => *epoch < self.term.epoch,
            (Peer::Ack { epoch, offset }, Role::Master { waits, .. }) => {
                *epoch != self.term.epoch || waits.iter().all(|wait| *offset < wait.offset)
            }
            (Peer::Sync { epoch }, Role::Master { .. }) => *epoch != self.term.epoch,
            // To be master again it will take a later epoch.
            (Peer::Ack { epoch, .. } | Peer::Sync { epoch }, Role::Replica { .. }) => {
                *epoch <= self.term.epoch
            }
            (Peer::Newer { epoch, master }, _) => Term { epoch: *epoch, master: *master } <= self.term,
        }
    }

    /// `master, epoch 1`, or `replica of s1`.
    pub fn contents(&self) -> String {
        match self.role {
            Role::Master { .. } => format!("master, epoch {}", self.term.epoch),
            Role::Replica { .. } => format!("replica of {}", Node::Server(self.term.master)),
        }
    }
}

impl Redis {
    /// Another server's message, at a server that is open.
    pub(super) fn follow(
        &mut self,
        from: u8,
        message: Peer,
        cx: &Context<Settings>,
        effects: &mut Effects<Redis>,
    ) {
        let Some(replication) = self.replication.as_deref_mut() else {
            unreachable!("independent servers say nothing to each other")
        };
        match message {
            Peer::Ping { epoch, offset: current, ack } => {
                if !replication.heed(Term { epoch, master: from }, cx) {
                    let Term { epoch, master } = replication.term;
                    effects.peer(from, Peer::Newer { epoch, master });
                    return;
                }
                let Role::Replica { applied, is_asking, .. } = &mut replication.role else {
                    unreachable!("who heeds another is its replica")
                };
                match *applied {
                    Some(offset) if offset >= current => {
                        if ack {
                            effects.peer(from, Peer::Ack { epoch, offset });
                        }
                    }
                    Some(_) | None => {
                        *is_asking = true;
                        effects.peer(from, Peer::Sync { epoch });
                    }
                }
            }
            Peer::Change { epoch, after, offset, effects: changes, ack } => {
                if !replication.heed(Term { epoch, master: from }, cx) {
                    return;
                }
                let Role::Replica { applied, is_asking, was_master, .. } = &mut replication.role else {
                    unreachable!("who heeds another is its replica")
                };
                match *applied {
                    Some(last) if last == after => {
                        *applied = Some(offset);
                        let reports = *was_master;
                        let mut turn = Turn { cx, effects, by: None, reports, changed: None };
                        changes.iter().for_each(|change| self.keys.apply(change, &mut turn));
                        if ack {
                            effects.peer(from, Peer::Ack { epoch, offset });
                        }
                    }
                    // Came late or twice.
                    Some(last) if last >= offset => {}
                    Some(_) | None => {
                        if !std::mem::replace(is_asking, true) {
                            effects.peer(from, Peer::Sync { epoch });
                        }
                    }
                }
            }
            Peer::Snapshot { epoch, offset, records } => {
                if !replication.heed(Term { epoch, master: from }, cx) {
                    return;
                }
                let Role::Replica { applied, is_asking, was_master, .. } = &mut replication.role else {
                    unreachable!("who heeds another is its replica")
                };
                if applied.is_some_and(|last| last >= offset) {
                    return;
                }
                (*applied, *is_asking) = (Some(offset), false);
                let reports = std::mem::replace(was_master, false);
                self.keys.load(&records, &mut Turn { cx, effects, by: None, reports, changed: None });
                effects.peer(from, Peer::Ack { epoch, offset });
            }
            Peer::Sync { epoch } => {
                if !replication.is_master() || epoch != replication.term.epoch {
                    return;
                }
                let mut turn = Turn { cx, effects, by: None, reports: true, changed: Some(SmallVec::new()) };
                self.keys.expire(&mut turn);
                let changed = turn.changed.unwrap_or_default();
                replication.propagate(changed, false, cx, effects);
                let Role::Master { offset, .. } = replication.role else { unreachable!("asked above") };
                let records = self.keys.image(cx);
                effects.peer(from, Peer::Snapshot { epoch, offset, records });
            }
            Peer::Ack { epoch, offset } => {
                let Role::Master { waits, .. } = &mut replication.role else { return };
                if epoch != replication.term.epoch {
                    return;
                }
                waits.retain(|wait| {
                    if wait.offset <= offset {
                        wait.missing.remove(from);
                    }
                    if wait.missing.is_empty() {
                        effects.reply(wait.client, wait.reply);
                    }
                    !wait.missing.is_empty()
                });
            }
            Peer::Newer { epoch, master } => {
                let term = Term { epoch, master };
                if term > replication.term && replication.heed(term, cx) {
                    effects.peer(master, Peer::Sync { epoch });
                }
            }
        }
    }
}

/// For how long server `me` waits for a sign of its master: the lower its number among the replicas, the shorter, so
/// that the first of them goes first.
fn patience(me: u8, term: Term, ping_period: Micros, down_after: Micros) -> Micros {
    let before_me = me - u8::from(term.master < me);
    Micros(down_after.0 + i64::from(before_me) * ping_period.0)
}

fn others(cx: &Context<Settings>) -> impl Iterator<Item = u8> + use<> {
    let me = cx.me;
    (0..cx.servers).filter(move |server| *server != me)
}
