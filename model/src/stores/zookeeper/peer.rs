//! What servers say to each other, and what a server keeps to take part in an ensemble.

use super::protocol::Connect;
use super::replica::{Action, Replica, Txn};
use super::{SessionId, Zxid};
use crate::machine::{Node, Owner, Visit, Visitor, put_in_order};
use crate::time::Monotonic;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// Whose counter the numbers of beats are shown as, whoever leads: the first leader's is that of the zxids.
const BEATS: Owner = Owner::Node(Node::Server(1));

/// Everything a server has on its disk about the past.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct History {
    /// What is applied.
    pub(super) replica: Replica,
    /// What is logged beyond that.
    pub(super) log: Vec<Txn>,
}

impl History {
    pub(super) fn last(&self) -> Zxid {
        self.log.last().map_or(self.replica.last, |txn| txn.zxid)
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.replica.visit(visitor);
        self.log.iter_mut().for_each(|txn| txn.visit(visitor));
    }
}

/// What a leader says in regular intervals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Beat {
    /// The leader's.
    pub(super) epoch: u32,
    /// Which one this is.
    pub(super) number: u32,
    /// The last one that the receiver is known to have answered.
    pub(super) answered: u32,
    /// The leader has heard nothing of the receiver for too long: over TCP it has closed the connection.
    pub(super) has_closed: bool,
    /// The leader's last proposal.
    pub(super) last: Zxid,
    /// What it has committed.
    pub(super) committed: Zxid,
}

/// A message between servers. `epoch` is the leader's whose message it is, or that it is meant for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Peer {
    /// A follower passes a client's write on to the leader (REQUEST).
    Forward {
        /// For this leader only.
        epoch: u32,
        /// Whose.
        session: SessionId,
        /// The client's serial number.
        serial: u32,
        /// What it is to do.
        action: Action,
    },
    /// The leader's next transaction (PROPOSAL).
    Propose {
        /// The leader's.
        epoch: u32,
        /// The transaction right before it.
        prev: Zxid,
        /// The transaction.
        txn: Txn,
    },
    /// A follower has everything up to here on its disk (ACK).
    Ack {
        /// The leader's.
        epoch: u32,
        /// Up to where.
        zxid: Zxid,
    },
    /// A quorum has everything up to here (COMMIT).
    Commit {
        /// The leader's.
        epoch: u32,
        /// Up to where.
        zxid: Zxid,
    },
    /// The leader lives (PING), and has come so far.
    Beat(Beat),
    /// The follower lives, and so do these sessions.
    BeatAck {
        /// The leader's.
        epoch: u32,
        /// Which beat this answers.
        beat: u32,
        /// What it has on its disk.
        logged: Zxid,
        /// Whose clients it has heard from, in the answers that the leader is not known to have.
        touched: Touched,
    },
    /// A follower misses something.
    Resync {
        /// The leader's.
        epoch: u32,
    },
    /// The leader's history (SNAP, TRUNC or DIFF, then NEWLEADER).
    State {
        /// The leader's.
        epoch: u32,
        /// All of it.
        history: Box<History>,
    },
    /// Is this session open? Its client has come to another server (REVALIDATE).
    Revalidate {
        /// The leader's.
        epoch: u32,
        /// What the client said.
        connect: Connect,
    },
    /// The leader's answer.
    Revalidated {
        /// The leader's.
        epoch: u32,
        /// What the client said.
        connect: Connect,
        /// Whether it is.
        open: bool,
    },
    /// A client's `sync`.
    Sync {
        /// The leader's.
        epoch: u32,
        /// Whose.
        client: u8,
        /// Its serial number.
        serial: u32,
    },
    /// The leader's answer.
    Synced {
        /// The leader's.
        epoch: u32,
        /// Whose.
        client: u8,
        /// Its serial number.
        serial: u32,
        /// What the server must have applied first.
        until: Zxid,
    },
    /// A server wants to lead.
    Stand {
        /// Its epoch, if it is elected.
        epoch: u32,
    },
    /// A server will take part in no earlier epoch, and tells what it has.
    Promise {
        /// The candidate's.
        epoch: u32,
        /// The epoch of the last leader whose history it took.
        current: u32,
        /// What it has.
        history: Box<History>,
    },
    /// A leader is too old: somebody has promised a newer epoch.
    Newer {
        /// That epoch.
        epoch: u32,
    },
}

impl Visit for Peer {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Peer::Forward { session, serial, action, .. } => {
                visitor.serial(Owner::Node(Node::Client(session.client)), serial);
                session.visit(visitor);
                action.visit(visitor);
            }
            Peer::Propose { prev, txn, .. } => {
                prev.visit(visitor);
                txn.visit(visitor);
            }
            Peer::Ack { zxid, .. } | Peer::Commit { zxid, .. } => zxid.visit(visitor),
            Peer::Beat(beat) => {
                visitor.serial(BEATS, &mut beat.number);
                visitor.serial(BEATS, &mut beat.answered);
                beat.last.visit(visitor);
                beat.committed.visit(visitor);
            }
            Peer::BeatAck { beat, logged, touched, .. } => {
                visitor.serial(BEATS, beat);
                logged.visit(visitor);
                for (session, beat) in touched.iter_mut() {
                    session.visit(visitor);
                    visitor.serial(BEATS, beat);
                }
                put_in_order::<V, _, _>(touched, |touched| *touched);
            }
            Peer::State { history, .. } | Peer::Promise { history, .. } => history.visit(visitor),
            Peer::Revalidate { connect, .. } | Peer::Revalidated { connect, .. } => {
                if let Some(session) = connect.session {
                    connect.visit(Owner::Node(Node::Client(session.client)), visitor);
                }
            }
            Peer::Sync { client, serial, .. } => visitor.serial_of(client, serial),
            Peer::Synced { client, serial, until, .. } => {
                visitor.serial_of(client, serial);
                until.visit(visitor);
            }
            Peer::Resync { .. } | Peer::Stand { .. } | Peer::Newer { .. } => {}
        }
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Forward { session, action, .. } => write!(f, "for session {session}: {action}"),
            Peer::Propose { txn, .. } => write!(f, "propose {}: {}", txn.zxid, txn.action),
            Peer::Ack { zxid, .. } => write!(f, "ack {zxid}"),
            Peer::Commit { zxid, .. } => write!(f, "commit {zxid}"),
            Peer::Beat(Beat { epoch, last, has_closed, .. }) => {
                let closed = if *has_closed { ", and has not heard of you for too long" } else { "" };
                write!(f, "leader of epoch {epoch} is at {last}{closed}")
            }
            Peer::BeatAck { logged, .. } => write!(f, "follower is at {logged}"),
            Peer::Resync { .. } => f.write_str("what did I miss?"),
            Peer::State { epoch, history } => write!(f, "history of epoch {epoch} up to {}", history.last()),
            Peer::Revalidate { connect, .. } => {
                connect.session.map_or(Ok(()), |session| write!(f, "is session {session} open?"))
            }
            Peer::Revalidated { open, .. } => f.write_str(if *open { "it is" } else { "it is not" }),
            Peer::Sync { .. } => f.write_str("sync"),
            Peer::Synced { until, .. } => write!(f, "synced at {until}"),
            Peer::Stand { epoch } => write!(f, "stands for epoch {epoch}"),
            Peer::Promise { epoch, history, .. } => {
                write!(f, "promises epoch {epoch}, has {}", history.last())
            }
            Peer::Newer { epoch } => write!(f, "has promised epoch {epoch}"),
        }
    }
}

/// Sessions whose clients a follower has heard from, each with the beat in whose answer it said so last.
pub(super) type Touched = SmallVec<[(SessionId, u32); 2]>;

/// What a leader knows of a server's being there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct LastHeard {
    /// When it counts as lost.
    pub(super) lost_at: Monotonic,
    /// The last beat that it has answered.
    pub(super) answered: u32,
}

/// A server's part in its ensemble.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    /// The largest epoch it will take part in no smaller one of (`acceptedEpoch`). On its disk.
    pub(super) promised: u32,
    /// The epoch of the last leader whose history it took (`currentEpoch`). On its disk.
    pub(super) current: u32,
    /// What it has logged and not applied. On its disk.
    pub(super) log: Vec<Txn>,
    /// Proposals that overtook another, with what comes right before each: on a stream they would come after it.
    pub(super) early: Vec<(Zxid, Txn)>,
    /// What is committed, if it is not applied for want of the proposal.
    pub(super) committed: Option<Zxid>,
    pub(super) role: Role,
    /// How often it has told that it leads, in whichever epoch; so that no number comes twice.
    pub(super) beats: u32,
    /// It has read its clock at least once: there is nothing else a timer could begin with.
    pub(super) has_begun: bool,
}

/// What a server does in its ensemble.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Role {
    /// Leads the epoch `current`.
    Leader {
        /// A quorum has taken its history: it commits.
        established: bool,
        /// By server: what it has on its disk, as far as known; `None`: it has not taken this leader's history.
        logged: SmallVec<[Option<Zxid>; 3]>,
        /// By server; of none before the first beat.
        heard: SmallVec<[LastHeard; 3]>,
        /// When the followers are told that it lives.
        beat_at: Option<Monotonic>,
    },
    /// Follows the leader of the epoch `promised`.
    Follower {
        leader: u8,
        /// It has this leader's history.
        synced: bool,
        /// When the leader counts as lost.
        give_up: Option<Monotonic>,
        /// The last of the leader's beats that it has answered.
        answered: u32,
        /// Sessions heard of since.
        touched: SmallVec<[SessionId; 2]>,
        /// Those it has reported, and does not know whether the leader has heard it: they are reported again.
        reported: Touched,
    },
    /// Wants to lead.
    Candidate {
        epoch: u32,
        /// Who has promised.
        promises: SmallVec<[u8; 3]>,
        /// The latest history among them, and the epoch it comes from; its own if there is none later.
        best: Option<(u32, Box<History>)>,
        give_up: Option<Monotonic>,
    },
    /// Has no leader, and will stand itself.
    Looking { stand_at: Option<Monotonic> },
}

impl Role {
    /// Follows, and has reported nothing yet.
    pub(super) fn follower(leader: u8, synced: bool, give_up: Option<Monotonic>) -> Role {
        let (touched, reported) = (SmallVec::new(), SmallVec::new());
        Role::Follower { leader, synced, give_up, answered: 0, touched, reported }
    }
}

impl Member {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(BEATS, &mut self.beats);
        self.log.iter_mut().for_each(|txn| txn.visit(visitor));
        for (prev, txn) in &mut self.early {
            prev.visit(visitor);
            txn.visit(visitor);
        }
        self.committed.iter_mut().for_each(|zxid| zxid.visit(visitor));
        match &mut self.role {
            Role::Leader { logged, heard, beat_at, .. } => {
                logged.iter_mut().flatten().for_each(|zxid| zxid.visit(visitor));
                for LastHeard { lost_at, answered } in heard {
                    visitor.wake(lost_at);
                    visitor.serial(BEATS, answered);
                }
                beat_at.iter_mut().for_each(|at| visitor.wake(at));
            }
            Role::Follower { give_up, answered, touched, reported, .. } => {
                give_up.iter_mut().for_each(|at| visitor.wake(at));
                visitor.serial(BEATS, answered);
                touched.iter_mut().for_each(|session| session.visit(visitor));
                for (session, beat) in reported {
                    session.visit(visitor);
                    visitor.serial(BEATS, beat);
                }
                put_in_order::<V, _, _>(touched, |touched| *touched);
            }
            Role::Candidate { best, give_up, .. } => {
                if let Some((_, history)) = best {
                    history.visit(visitor);
                }
                give_up.iter_mut().for_each(|at| visitor.wake(at));
            }
            Role::Looking { stand_at } => stand_at.iter_mut().for_each(|at| visitor.wake(at)),
        }
    }
}
