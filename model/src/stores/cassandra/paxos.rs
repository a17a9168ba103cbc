//! Paxos as lightweight transactions use it: ballots, what a replica remembers of a row's rounds, and what servers say to
//! each other in one. The rounds themselves are the coordinator's: `proposer`.
//!
//! Source: the Paxos of 2.0 to 4.0, and of `paxos_variant: v1` after (`service/paxos/PaxosState.java`, `Commit.java`,
//! `PrepareVerbHandler.java`, `ProposeVerbHandler.java`, and `savePaxos*` of `db/SystemKeyspace.java`).

use super::Settings;
use super::cell::{Cell, Column, Content};
use super::protocol::{Row, SHARED, timestamp_group};
use super::replica::Replica;
use crate::machine::{Context, Owner, Visit, Visitor};
use crate::time::Wall;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The number of a round. A bigger one wins; what is committed has its time for write timestamp.
///
/// The real one is a time-based UUID whose other bits are random (`UUIDGen.getRandomTimeUUIDFromMicros`). Here the
/// coordinator's number stands for those: two coordinators never draw one ballot, and one draws it twice only if it
/// restarts and its clock goes back to the very microsecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Ballot {
    /// In microseconds, by the coordinator's clock: later than any it has given, and than any it was refused for.
    pub at: Wall,
    /// Whose.
    pub server: u8,
}

impl Ballot {
    /// Compared with other ballots of the row, and, once committed, with the write timestamps of its [`SHARED`] column:
    /// one group with these.
    pub(super) fn visit<V: Visitor>(&mut self, row: Row, visitor: &mut V) {
        visitor.stamp(timestamp_group(row, SHARED.thread), &mut self.at);
    }
}

/// A ballot with what it would write into the row's [`SHARED`] column: nothing, if all that it is for is that nothing older comes
/// after it ([`Rejections::Proposed`](super::Rejections::Proposed)).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// The ballot; its time is the write timestamp (`Commit.newProposal`).
    pub ballot: Ballot,
    /// The cell without its timestamp. Its expiry is that of the coordinator that made it first.
    pub content: Option<Content>,
}

impl Proposal {
    /// What a commit of it writes.
    pub(super) fn column(&self) -> Option<Column> {
        let content = self.content?;
        Some(Column { name: SHARED, cell: Cell { timestamp: self.ballot.at, content } })
    }

    pub(super) fn visit<V: Visitor>(&mut self, row: Row, visitor: &mut V) {
        let column = self.column();
        self.ballot.visit(row, visitor);
        if let Some(mut column) = column {
            column.visit(row, visitor);
            self.content = Some(column.cell.content);
        }
    }
}

impl Display for Proposal {
    /// `owner=tA@100us`, `nothing@100us`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.column() {
            Some(column) => column.fmt(f),
            None => write!(f, "nothing@{}", self.ballot.at),
        }
    }
}

/// What a replica remembers of the rounds about one row: a row of `system.paxos`. It forgets nothing here; the real one
/// does after three hours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Promises {
    pub row: Row,
    /// Nothing below this is promised or accepted any more.
    promised: Option<Ballot>,
    /// What was accepted last and is not known to be committed.
    accepted: Option<Proposal>,
    /// The newest of what was committed.
    committed: Option<Proposal>,
}

impl Promises {
    pub fn new(row: Row) -> Promises {
        Promises { row, promised: None, accepted: None, committed: None }
    }

    /// `PaxosState.prepare`: `Err` is the ballot that is in the way.
    fn prepare(&mut self, ballot: Ballot) -> Result<(), Ballot> {
        match self.promised {
            Some(promised) if promised >= ballot => Err(promised),
            Some(_) | None => {
                self.promised = Some(ballot);
                Ok(())
            }
        }
    }

    /// `PaxosState.propose`. As there, to accept is no promise; but what was accepted gives way to newer only
    /// (`savePaxosProposal` writes with the ballot's time).
    fn propose(&mut self, proposal: Proposal) -> Result<(), Ballot> {
        match self.promised {
            Some(promised) if promised > proposal.ballot => Err(promised),
            Some(_) | None => {
                self.accepted = self.accepted.max(Some(proposal));
                Ok(())
            }
        }
    }

    /// `savePaxosCommit`: an accepted proposal that is not newer is done with.
    fn commit(&mut self, proposal: Proposal) {
        self.committed = self.committed.max(Some(proposal));
        self.accepted = self.accepted.filter(|accepted| accepted.ballot > proposal.ballot);
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.promised.iter_mut().for_each(|ballot| ballot.visit(self.row, visitor));
        self.accepted.iter_mut().for_each(|proposal| proposal.visit(self.row, visitor));
        self.committed.iter_mut().for_each(|proposal| proposal.visit(self.row, visitor));
    }
}

/// From server to server, in a round about a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Paxos {
    /// In questions and answers, the coordinator's number of the step of the round.
    pub serial: u32,
    /// The row.
    pub row: Row,
    /// What is said.
    pub said: Said,
}

/// A question of a coordinator, or a replica's answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Said {
    /// Promise to accept nothing below this.
    Prepare(Ballot),
    /// Accept this.
    Propose(Proposal),
    /// This is decided: write it.
    Commit(Proposal),
    /// Promised.
    Promise {
        /// What is accepted and not known to be committed.
        accepted: Option<Proposal>,
        /// What was committed last.
        committed: Option<Proposal>,
    },
    /// Accepted.
    Accept,
    /// Neither promised nor accepted: this is promised already.
    Refuse(Ballot),
    /// Written.
    Committed,
}

impl Said {
    /// Whether it is a coordinator's question, not an answer.
    pub(super) fn is_question(&self) -> bool {
        match self {
            Said::Prepare(_) | Said::Propose(_) | Said::Commit(_) => true,
            Said::Promise { .. } | Said::Accept | Said::Refuse(_) | Said::Committed => false,
        }
    }
}

impl Replica {
    /// Answers a coordinator's question.
    pub(super) fn answer(&mut self, row: Row, question: Said, cx: &Context<Settings>) -> Said {
        let promises = self.promises(row, cx);
        match question {
            Said::Prepare(ballot) => match promises.prepare(ballot) {
                Ok(()) => Said::Promise { accepted: promises.accepted, committed: promises.committed },
                Err(promised) => Said::Refuse(promised),
            },
            Said::Propose(proposal) => match promises.propose(proposal) {
                Ok(()) => Said::Accept,
                Err(promised) => Said::Refuse(promised),
            },
            Said::Commit(proposal) => {
                promises.commit(proposal);
                self.apply(row, proposal.column().as_slice(), cx);
                Said::Committed
            }
            Said::Promise { .. } | Said::Accept | Said::Refuse(_) | Said::Committed => {
                unreachable!("a replica is asked, not answered")
            }
        }
    }
}

impl Visit for Paxos {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        let owner = if self.said.is_question() { Owner::Sender } else { Owner::Receiver };
        visitor.serial(owner, &mut self.serial);
        match &mut self.said {
            Said::Prepare(ballot) | Said::Refuse(ballot) => ballot.visit(self.row, visitor),
            Said::Propose(proposal) | Said::Commit(proposal) => proposal.visit(self.row, visitor),
            Said::Promise { accepted, committed } => {
                accepted.iter_mut().chain(committed).for_each(|proposal| proposal.visit(self.row, visitor));
            }
            Said::Accept | Said::Committed => {}
        }
    }
}

impl Display for Paxos {
    /// `prepare M 100us·s1`, `propose M[owner=tA@100us]`, `promise M`, `refuse M, promised 101us·s2`…
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let row = self.row;
        let ballot = |ballot: Ballot| format!("{}·s{}", ballot.at, ballot.server + 1);
        match self.said {
            Said::Prepare(at) => write!(f, "prepare {row} {}", ballot(at)),
            Said::Propose(proposal) => write!(f, "propose {row}[{proposal}]"),
            Said::Commit(proposal) => write!(f, "commit {row}[{proposal}]"),
            Said::Promise { accepted: None, .. } => write!(f, "promise {row}"),
            Said::Promise { accepted: Some(accepted), .. } => {
                write!(f, "promise {row}, accepted {accepted}")
            }
            Said::Accept => write!(f, "accept {row}"),
            Said::Refuse(promised) => write!(f, "refuse {row}, promised {}", ballot(promised)),
            Said::Committed => write!(f, "committed {row}"),
        }
    }
}
