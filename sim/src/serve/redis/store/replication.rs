//! Who is master, and how its replicas follow it ([`Layout::Replicated`]).
//!
//! The protocol is that of the model's Redis, whose head says what it stands for and what it leaves out. A change is what
//! became of each key that a step touched, as a whole; `WAIT` asks the replicas themselves.

use super::Instance;
use super::content::Content;
use super::keyspace::{Keyspace, Place, placed};
use super::settings::Settings;
use picklock_model::machine::{Context, Effects, Visit, Visitor};
#[cfg(doc)]
use picklock_model::stores::redis::Layout;
use picklock_model::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Who is master since when: later terms are greater. Of two replicas that promote themselves at the same time the greater
/// number wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Term {
    pub epoch: u32,
    pub master: u8,
}

/// A server's part. Term and role are durable (Sentinel has the server rewrite its configuration file).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Replication {
    term: Term,
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
    },
    Replica {
        /// The last of the master's changes that it has; `None`: nothing of this term yet.
        applied: Option<u32>,
        /// It has asked for everything, and will not ask again before the next ping.
        is_asking: bool,
        /// When it takes its master for dead.
        gives_up: Monotonic,
    },
}

/// What a server tells another one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Peer {
    /// The master lives, and has made so many changes.
    Ping { epoch: u32, offset: u32 },
    /// The change after `after`: what became of keys.
    Change { epoch: u32, after: u32, offset: u32, keys: Vec<Became> },
    /// All keys.
    Snapshot { epoch: u32, offset: u32, keys: Vec<Became> },
    /// A replica wants all keys.
    Sync { epoch: u32 },
    /// There is a later master.
    Newer { epoch: u32, master: u8 },
}

/// What became of a key: what it holds and when it dies; or it is gone.
pub type Became = (Place, Option<(Content, Option<i64>)>);

impl Visit for Peer {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {
        unreachable!("no exhaustive engine runs a served Redis")
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Ping { offset, .. } => write!(f, "ping, offset {offset}"),
            Peer::Change { offset, keys, .. } => write!(f, "change {offset} of {} keys", keys.len()),
            Peer::Snapshot { offset, .. } => write!(f, "snapshot at {offset}"),
            Peer::Sync { .. } => f.write_str("send all"),
            Peer::Newer { epoch, master } => write!(f, "s{} is master in epoch {epoch}", master + 1),
        }
    }
}

impl Replication {
    pub fn new(me: u8, ping_period: Micros, down_after: Micros) -> Self {
        let (term, start) = (Term { epoch: 1, master: 0 }, Monotonic(0));
        let role = match me {
            0 => Role::Master { offset: 0, ping_due: start + ping_period },
            me => Role::Replica {
                applied: Some(0),
                is_asking: false,
                gives_up: start + patience(me, term, ping_period, down_after),
            },
        };
        Replication { term, role, ping_period, down_after }
    }

    pub fn is_master(&self) -> bool {
        matches!(self.role, Role::Master { .. })
    }

    /// Who is master, for all it knows.
    pub fn master(&self) -> u8 {
        self.term.master
    }

    /// The epoch, and the last change that this server has.
    pub fn progress(&self) -> Option<(u32, u32)> {
        let offset = match self.role {
            Role::Master { offset, .. } => Some(offset),
            Role::Replica { applied, .. } => applied,
        };
        offset.map(|offset| (self.term.epoch, offset))
    }

    /// When it has to ping, or gives its master up.
    pub fn deadline(&self) -> Monotonic {
        match self.role {
            Role::Master { ping_due, .. } => ping_due,
            Role::Replica { gives_up, .. } => gives_up,
        }
    }

    /// The server starts again. Its replication starts afresh: an offset that no replica has stands for that.
    pub fn restart(&mut self, now: Monotonic, me: u8) {
        match &mut self.role {
            Role::Master { offset, ping_due } => {
                *offset += 1;
                *ping_due = now;
            }
            Role::Replica { applied, is_asking, gives_up } => {
                (*applied, *is_asking) = (None, false);
                *gives_up = now + patience(me, self.term, self.ping_period, self.down_after);
            }
        }
    }

    /// A master tells all its replicas what became of keys.
    pub fn propagate(&mut self, keys: Vec<Became>, cx: &Context<Settings>, effects: &mut Effects<Instance>) {
        let Role::Master { offset, .. } = &mut self.role else { return };
        let after = *offset;
        *offset += 1;
        let (epoch, offset) = (self.term.epoch, *offset);
        for server in others(cx) {
            effects.peer(server, Peer::Change { epoch, after, offset, keys: keys.clone() });
        }
    }

    /// The timer has come: a master pings; a replica becomes master, and returns true.
    pub fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Instance>) -> bool {
        if cx.monotonic < self.deadline() {
            return false;
        }
        let is_promoted = !self.is_master();
        if is_promoted {
            self.term = Term { epoch: self.term.epoch + 1, master: cx.me };
            self.role = Role::Master { offset: 0, ping_due: cx.monotonic };
        }
        let Role::Master { offset, ping_due } = &mut self.role else { unreachable!("just made one") };
        *ping_due = cx.monotonic + self.ping_period;
        for server in others(cx) {
            effects.peer(server, Peer::Ping { epoch: self.term.epoch, offset: *offset });
        }
        is_promoted
    }

    /// A master of this term was heard of: follows it if it is later than its own. Whether it is the present one.
    fn heed(&mut self, term: Term, cx: &Context<Settings>) -> bool {
        if term < self.term || term.master == cx.me {
            return false;
        }
        let gives_up_at = cx.monotonic + patience(cx.me, term, self.ping_period, self.down_after);
        match &mut self.role {
            Role::Replica { gives_up, .. } if term == self.term => *gives_up = gives_up_at,
            Role::Master { .. } | Role::Replica { .. } => {
                self.role = Role::Replica { applied: None, is_asking: false, gives_up: gives_up_at };
                self.term = term;
            }
        }
        true
    }

    /// Another server's message.
    pub fn follow(
        &mut self,
        from: u8,
        message: Peer,
        keyspace: &mut Keyspace,
        cx: &Context<Settings>,
        effects: &mut Effects<Instance>,
    ) {
        match message {
            Peer::Ping { epoch, offset: current } => {
                if !self.heed(Term { epoch, master: from }, cx) {
                    let Term { epoch, master } = self.term;
                    effects.peer(from, Peer::Newer { epoch, master });
                    return;
                }
                let (applied, is_asking) = self.replica();
                if applied.is_none_or(|offset| offset < current) {
                    *is_asking = true;
                    effects.peer(from, Peer::Sync { epoch });
                }
            }
            Peer::Change { epoch, after, offset, keys } => {
                if !self.heed(Term { epoch, master: from }, cx) {
                    return;
                }
                let (applied, is_asking) = self.replica();
                match *applied {
                    Some(last) if last == after => {
                        *applied = Some(offset);
                        apply(keys, keyspace, cx);
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
            Peer::Snapshot { epoch, offset, keys } => {
                if !self.heed(Term { epoch, master: from }, cx) {
                    return;
                }
                let (applied, is_asking) = self.replica();
                if applied.is_some_and(|last| last >= offset) {
                    return;
                }
                (*applied, *is_asking) = (Some(offset), false);
                keyspace.clear(None, cx);
                apply(keys, keyspace, cx);
            }
            Peer::Sync { epoch } => {
                let Role::Master { offset, .. } = self.role else { return };
                if epoch == self.term.epoch {
                    let all = keyspace.entries();
                    let keys = all
                        .map(|(named, entry)| (placed(named), Some((entry.content.clone(), entry.dies))))
                        .collect();
                    effects.peer(from, Peer::Snapshot { epoch, offset, keys });
                }
            }
            Peer::Newer { epoch, master } => {
                let term = Term { epoch, master };
                if term > self.term && self.heed(term, cx) {
                    effects.peer(master, Peer::Sync { epoch });
                }
            }
        }
    }

    fn replica(&mut self) -> (&mut Option<u32>, &mut bool) {
        match &mut self.role {
            Role::Replica { applied, is_asking, .. } => (applied, is_asking),
            Role::Master { .. } => unreachable!("who heeds another is its replica"),
        }
    }
}

/// What the master says is so: nothing is judged.
fn apply(keys: Vec<Became>, keyspace: &mut Keyspace, cx: &Context<Settings>) {
    for (place, became) in keys {
        match became {
            Some((content, dies)) => keyspace.put(place, content, dies, cx),
            None => {
                keyspace.remove(&place, cx);
            }
        }
    }
}

/// For how long server `me` waits for a sign of its master: the lower its number among the replicas, the shorter, so that
/// the first of them goes first.
fn patience(me: u8, term: Term, ping_period: Micros, down_after: Micros) -> Micros {
    let before_me = me - u8::from(term.master < me);
    Micros(down_after.0 + i64::from(before_me) * ping_period.0)
}

fn others(cx: &Context<Settings>) -> impl Iterator<Item = u8> {
    let me = cx.me;
    (0..cx.servers).filter(move |server| *server != me)
}
