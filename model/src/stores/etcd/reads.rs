//! What a linearizable read must have seen (`read_only.go`; `raft.go`: `sendMsgReadIndexResponse`).
//!
//! ```text
//!   member ── a read ──▶ leader ── beat with the read's number ──▶ all
//!          ◀── what is committed, as it was when the read came ── ◀── a quorum hears it: nobody else leads yet ──
//! ```
//!
//! One queue: the word of a quorum for one read is its word for all that came before.

use super::peer::{Peer, ReadId};
use super::raft::{Raft, Role, quorum};
use super::{Cx, Quorums, ReadIndex};
use crate::machine::Visitor;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The reads that a leader is asked for.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Reads {
    /// In the order in which they came.
    unconfirmed: SmallVec<[Unconfirmed; 1]>,
    /// Those that came before anything of its own term was committed: it does not know yet what is.
    early: SmallVec<[ReadId; 1]>,
}

/// A read that waits for the word of a quorum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Unconfirmed {
    read: ReadId,
    /// What was committed when it came.
    index: u32,
    /// Who has heard of it: a bit for each member.
    heard: u8,
}

impl Reads {
    /// The last one that waits.
    pub(super) fn last(&self) -> Option<ReadId> {
        self.unconfirmed.last().map(|unconfirmed| unconfirmed.read)
    }

    pub(super) fn waits_for(&self, read: ReadId) -> bool {
        self.unconfirmed.iter().any(|unconfirmed| unconfirmed.read == read)
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.unconfirmed.iter_mut().for_each(|unconfirmed| unconfirmed.read.visit(visitor));
        self.early.iter_mut().for_each(|read| read.visit(visitor));
    }
}

impl Raft {
    /// `MsgReadIndex`. Without a leader it is dropped; a follower passes it on.
    pub(super) fn ask_read(&mut self, read: ReadId, cx: &Cx) {
        let (index, me) = (self.committed, cx.me);
        let knows_committed = self.term_at(index) == Some(self.term);
        match (&mut self.role, self.leader) {
            (Role::Leader(_), _) if cx.settings.quorums == Quorums::Assumed => {
                self.answer_read(read, index, cx)
            }
            (Role::Leader(leading), _) => match (cx.settings.read_index, knows_committed) {
                (ReadIndex::Unconfirmed, _) => self.answer_read(read, index, cx),
                (_, false) => leading.reads.early.push(read),
                (ReadIndex::NumberedAnew | ReadIndex::NumberedOnce, true) => {
                    if !leading.reads.waits_for(read) {
                        leading.reads.unconfirmed.push(Unconfirmed { read, index, heard: 1 << me });
                    }
                    self.beat(Some(read), cx);
                }
            },
            (Role::Follower, Some(leader)) => self.tell(leader, Peer::AskRead(read)),
            (Role::Follower, None) | (Role::PreCandidate(_) | Role::Candidate(_), _) => {}
        }
    }

    /// `releasePendingReadIndexMessages`.
    pub(super) fn release_early_reads(&mut self, cx: &Cx) {
        let Role::Leader(leading) = &mut self.role else { return };
        for read in std::mem::take(&mut leading.reads.early) {
            self.ask_read(read, cx);
        }
    }

    /// `recvAck` and `advance`.
    pub(super) fn on_read_ack(&mut self, from: u8, read: ReadId, cx: &Cx) {
        let Role::Leader(leading) = &mut self.role else { return };
        let unconfirmed = &mut leading.reads.unconfirmed;
        let Some(place) = unconfirmed.iter().position(|unconfirmed| unconfirmed.read == read) else { return };
        unconfirmed[place].heard |= 1 << from;
        if unconfirmed[place].heard.count_ones() < quorum(cx.servers) {
            return;
        }
        let confirmed: SmallVec<[Unconfirmed; 1]> = unconfirmed.drain(..=place).collect();
        for Unconfirmed { read, index, .. } in confirmed {
            self.answer_read(read, index, cx);
        }
    }

    fn answer_read(&mut self, read: ReadId, index: u32, cx: &Cx) {
        if read.member == cx.me {
            self.confirmed.push((read, index));
        } else {
            self.tell(read.member, Peer::ReadAt { term: self.term, read, index });
        }
    }
}
