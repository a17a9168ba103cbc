//! A coordinator's conditional write: rounds of Paxos until one decides (`service/StorageProxy.java` `cas`,
//! `beginAndRepairPaxos`, `proposePaxos`, `commitPaxos`).
//!
//! ```text
//!   coordinator                                   all replicas, itself among them
//!     │── prepare ballot ─────────────────────────▶│  a quorum promises, and says what it accepted and committed
//!     │   accepted by somebody, not committed: propose and commit that first, and begin again
//!     │── commit the newest commit ───────────────▶│  to whoever promised and lacks it
//!     │── read the row ───────────────────────────▶│  a quorum answers
//!     │   the condition does not hold: propose nothing instead, and that is the answer
//!     │── propose ────────────────────────────────▶│  a quorum accepts: decided
//!     │── commit ─────────────────────────────────▶│  as many as a write asks for have it: applied
//! ```
//!
//! Until 3.0.23 and 3.11.9 a condition that does not hold was the answer at once ([`Rejections::Answered`]), and what few replicas had
//! accepted before could be found and finished by a later round.
//!
//! A refused ballot is drawn again, above the one in the way. A proposal that some accepted and too many refused is given
//! up with a time-out at once, as there: the next round of anybody may find it and finish it.
//!
//! # What differs, and what that hides
//!
//! - *Back-off.* The real coordinator sleeps up to 100 ms before it tries again, for as long as
//!   `cas_contention_timeout` allows; here it tries again at once, [`ROUNDS_MAX`] times. Hidden: nothing that can happen,
//!   but runs time out sooner under contention.
//! - *Replicas that lack the newest commit* are waited for; the real coordinator begins a new round instead, and says that
//!   it might as well wait ("we could just wait for all the missingMRC to acknowledge this commit").
//! - *A proposal refused by all* says which ballot is in the way; the real coordinator learns it in the next prepare.
//! - *The read* asks all and takes the quorum that answers first, and repairs nothing: what was decided before is there
//!   already, by the step above. Hidden: plain writes on too few replicas stay there, seen by one such read and not by
//!   the next.
//! - *Reads at SERIAL* are left out: rounds are linearizable among each other, a plain read may miss what is decided and
//!   not committed.

use super::cell::{Columns, Content, merge_into, visit_columns};
use super::paxos::{Ballot, Paxos, Proposal, Said};
use super::peer::Peer;
use super::pending::Servers;
use super::protocol::{Change, Condition, Outcome, Reply, Row, SHARED, Value};
use super::{Cassandra, Consistency, Rejections, Settings};
use crate::machine::{Context, Effects, Owner, Visitor};
use crate::time::Due;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How many ballots a coordinator draws for one request before it gives up.
pub(super) const ROUNDS_MAX: u8 = 5;

/// The conditional writes that a coordinator has under way. Gone after a restart.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Proposer {
    rounds: SmallVec<[Box<Round>; 1]>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Round {
    client: u8,
    /// The client's own number of the request.
    request: u32,
    deadline: Option<Due>,
    row: Row,
    change: Change,
    condition: Condition,
    rounds_left: u8,
    ballot: Ballot,
    /// Number of the step; answers to earlier ones are late.
    serial: u32,
    step: Step,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Step {
    Prepares {
        promised: Servers,
        accepted: Option<Proposal>,
        committed: Option<Proposal>,
        /// Which of those that promised have the newest commit.
        have_it: Servers,
    },
    /// Waits for those that lacked the newest commit.
    Teaches {
        missing: Servers,
    },
    Reads {
        answered: Servers,
        merged: Columns,
    },
    Proposes {
        proposal: Proposal,
        whose: Whose,
        accepted: Servers,
        refused: Servers,
        in_the_way: Option<Ballot>,
    },
    Commits {
        whose: Whose,
        acked: Servers,
    },
}

/// Whose proposal is brought to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Whose {
    /// The client's.
    Own,
    /// One that was found: after it comes a new round.
    Found,
    /// Nobody's: it writes nothing, and nothing older is finished after it. The client's condition does not hold, for this is there.
    Rejected(Option<Value>),
}

/// What a client asks for.
pub(super) type Asked = (Row, Change, Condition);

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Cassandra>;

impl Cassandra {
    /// A client's conditional write arrived.
    pub(super) fn compare_and_set(
        &mut self,
        client: u8,
        request: u32,
        (row, change, condition): Asked,
        cx: &Cx,
        out: &mut Out,
    ) {
        let deadline = cx.settings.request_timeout.map(|timeout| Due::Monotonic(cx.monotonic + timeout));
        let ballot = self.coordinator.draw_ballot(None, cx);
        let step = Step::Commits { whose: Whose::Found, acked: Servers::default() };
        let round = Round {
            client,
            request,
            deadline,
            row,
            change,
            condition,
            rounds_left: ROUNDS_MAX,
            ballot,
            serial: 0,
            step,
        };
        self.prepare(Box::new(round), cx, out);
    }

    fn prepare(&mut self, mut round: Box<Round>, cx: &Cx, out: &mut Out) {
        round.step = Step::Prepares {
            promised: Servers::default(),
            accepted: None,
            committed: None,
            have_it: Servers::default(),
        };
        let question = Said::Prepare(round.ballot);
        self.ask_all(round, question, cx, out);
    }

    /// Another round, if this was not the last.
    fn again(&mut self, mut round: Box<Round>, in_the_way: Option<Ballot>, cx: &Cx, out: &mut Out) {
        round.rounds_left -= 1;
        if round.rounds_left == 0 {
            return round.answer(Outcome::TimedOut, out);
        }
        round.ballot = self.coordinator.draw_ballot(in_the_way, cx);
        self.prepare(round, cx, out);
    }

    /// Sends a question to all replicas, and takes the own one's answer at once.
    fn ask_all(&mut self, mut round: Box<Round>, question: Said, cx: &Cx, out: &mut Out) {
        round.serial = self.coordinator.draw_serial();
        for server in (0..cx.servers).filter(|&server| server != cx.me) {
            out.peer(server, Peer::Paxos(Paxos { serial: round.serial, row: round.row, said: question }));
        }
        let answer = self.replica.answer(round.row, question, cx);
        self.take(round, cx.me, answer, cx, out);
    }

    /// A replica's question or answer arrived.
    pub(super) fn on_paxos(&mut self, from: u8, message: Paxos, cx: &Cx, out: &mut Out) {
        let Paxos { serial, row, said } = message;
        if said.is_question() {
            let said = self.replica.answer(row, said, cx);
            out.peer(from, Peer::Paxos(Paxos { serial, row, said }));
        } else if let Some(round) = self.proposer.remove(serial) {
            self.take(round, from, said, cx, out);
        }
        // Else the round has gone on without this answer.
    }

    /// A replica's cells for the read of a round arrived.
    pub(super) fn on_round_cells(&mut self, from: u8, serial: u32, columns: Columns, cx: &Cx, out: &mut Out) {
        let Some(round) = self.proposer.remove(serial) else {
            unreachable!("asked only if a round waits for it");
        };
        self.take_cells(round, from, columns, cx, out);
    }

    fn take(&mut self, mut round: Box<Round>, from: u8, answer: Said, cx: &Cx, out: &mut Out) {
        let quorum = Consistency::Quorum.of(cx.servers);
        match (&mut round.step, answer) {
            (
                Step::Prepares { promised, accepted, committed, have_it },
                Said::Promise { accepted: its_accepted, committed: its_committed },
            ) => {
                promised.insert(from);
                *accepted = (*accepted).max(its_accepted);
                if its_committed > *committed {
                    *committed = its_committed;
                    *have_it = Servers::default();
                }
                if its_committed == *committed {
                    have_it.insert(from);
                }
                if promised.len() < quorum {
                    return self.proposer.wait(round);
                }
                self.promised(round, cx, out);
            }
            (Step::Prepares { .. }, Said::Refuse(in_the_way)) => self.again(round, Some(in_the_way), cx, out),

            (Step::Teaches { missing }, Said::Committed) => {
                missing.remove(from);
                if !missing.is_empty() {
                    return self.proposer.wait(round);
                }
                self.read_row(round, cx, out);
            }

            (Step::Proposes { proposal, whose, accepted, .. }, Said::Accept) => {
                accepted.insert(from);
                if accepted.len() >= quorum {
                    if let Whose::Rejected(owner) = *whose {
                        return round.reject(owner, out);
                    }
                    let question = Said::Commit(*proposal);
                    round.step = Step::Commits { whose: *whose, acked: Servers::default() };
                    return self.ask_all(round, question, cx, out);
                }
                self.refused(round, cx, out);
            }
            (Step::Proposes { refused, in_the_way, .. }, Said::Refuse(promised)) => {
                refused.insert(from);
                *in_the_way = (*in_the_way).max(Some(promised));
                self.refused(round, cx, out);
            }

            (Step::Commits { whose, acked }, Said::Committed) => {
                acked.insert(from);
                if acked.len() < cx.settings.writes.of(cx.servers) {
                    return self.proposer.wait(round);
                }
                match whose {
                    Whose::Own => round.answer(Outcome::Applied, out),
                    Whose::Found => self.again(round, None, cx, out),
                    Whose::Rejected(_) => unreachable!("there is nothing to commit"),
                }
            }

            (Step::Reads { .. }, _) => unreachable!("a read is answered with cells"),
            (_, Said::Prepare(_) | Said::Propose(_) | Said::Commit(_)) => {
                unreachable!("questions go to replicas")
            }
            (Step::Prepares { .. }, Said::Accept | Said::Committed)
            | (
                Step::Teaches { .. } | Step::Commits { .. },
                Said::Promise { .. } | Said::Accept | Said::Refuse(_),
            )
            | (Step::Proposes { .. }, Said::Promise { .. } | Said::Committed) => {
                unreachable!("every step has a number of its own, and answers of its kind")
            }
        }
    }

    /// A quorum has promised.
    fn promised(&mut self, mut round: Box<Round>, cx: &Cx, out: &mut Out) {
        let Step::Prepares { promised, accepted, committed, have_it } = round.step else {
            unreachable!("promises are given to who prepares")
        };
        let newest = committed.map(|committed| committed.ballot);
        let found = accepted.filter(|accepted| Some(accepted.ballot) > newest);
        // One that writes nothing has done its work.
        if let Some(found) = found.filter(|found| found.content.is_some()) {
            let proposal = Proposal { ballot: round.ballot, ..found };
            return self.propose(round, proposal, Whose::Found, cx, out);
        }
        let mut missing = promised;
        (0..cx.servers).filter(|&server| have_it.contains(server)).for_each(|server| missing.remove(server));
        let Some(committed) = committed.filter(|_| !missing.is_empty()) else {
            return self.read_row(round, cx, out);
        };
        round.serial = self.coordinator.draw_serial();
        let said = Said::Commit(committed);
        for server in (0..cx.servers).filter(|&server| missing.contains(server) && server != cx.me) {
            out.peer(server, Peer::Paxos(Paxos { serial: round.serial, row: round.row, said }));
        }
        round.step = Step::Teaches { missing };
        if missing.contains(cx.me) {
            let answer = self.replica.answer(round.row, said, cx);
            return self.take(round, cx.me, answer, cx, out);
        }
        self.proposer.wait(round);
    }

    fn read_row(&mut self, mut round: Box<Round>, cx: &Cx, out: &mut Out) {
        round.serial = self.coordinator.draw_serial();
        round.step = Step::Reads { answered: Servers::default(), merged: Columns::new() };
        let (serial, row) = (round.serial, round.row);
        for server in (0..cx.servers).filter(|&server| server != cx.me) {
            out.peer(server, Peer::Read { serial, row, from: None });
        }
        let columns = self.replica.read(row, None, cx);
        self.take_cells(round, cx.me, columns, cx, out);
    }

    fn take_cells(&mut self, mut round: Box<Round>, from: u8, columns: Columns, cx: &Cx, out: &mut Out) {
        let Step::Reads { answered, merged } = &mut round.step else {
            unreachable!("every step has a number of its own")
        };
        if !answered.contains(from) {
            answered.insert(from);
            let owners = columns.into_iter().filter(|column| column.name == SHARED);
            owners.for_each(|column| merge_into(merged, column, cx.settings.ties));
        }
        if answered.len() < Consistency::Quorum.of(cx.servers) {
            return self.proposer.wait(round);
        }
        let now_seconds = cx.wall.whole_seconds();
        let owner = merged.first().and_then(|column| column.cell.value_at(now_seconds));
        let is_met = match round.condition {
            Condition::Absent => owner.is_none(),
            Condition::Equals(value) => owner == Some(value),
        };
        if !is_met {
            return match cx.settings.rejections {
                Rejections::Answered => round.reject(owner, out),
                Rejections::Proposed => {
                    let proposal = Proposal { ballot: round.ballot, content: None };
                    self.propose(round, proposal, Whose::Rejected(owner), cx, out);
                }
            };
        }
        let content = Some(Content::of(round.change, now_seconds));
        let proposal = Proposal { ballot: round.ballot, content };
        self.propose(round, proposal, Whose::Own, cx, out);
    }

    fn propose(&mut self, mut round: Box<Round>, proposal: Proposal, whose: Whose, cx: &Cx, out: &mut Out) {
        round.step = Step::Proposes {
            proposal,
            whose,
            accepted: Servers::default(),
            refused: Servers::default(),
            in_the_way: None,
        };
        self.ask_all(round, Said::Propose(proposal), cx, out);
    }

    /// No quorum has accepted yet. Whether one still can, or anybody did, decides how it goes on
    /// (`service/paxos/ProposeCallback.java`): somebody else's is given up when no quorum can, one's own when all have
    /// answered, for if some accepted it, another may finish it, and a second try would be a second write.
    fn refused(&mut self, round: Box<Round>, cx: &Cx, out: &mut Out) {
        let Step::Proposes { whose, accepted, refused, in_the_way, .. } = round.step else {
            unreachable!("refusals are of proposals")
        };
        let may_accept = cx.servers - refused.len();
        let is_answered = accepted.len() + refused.len() == cx.servers;
        match whose {
            Whose::Found if may_accept < Consistency::Quorum.of(cx.servers) => {
                self.again(round, in_the_way, cx, out);
            }
            Whose::Own | Whose::Rejected(_) if is_answered && accepted.is_empty() => {
                self.again(round, in_the_way, cx, out);
            }
            Whose::Own | Whose::Rejected(_) if is_answered => round.answer(Outcome::TimedOut, out),
            Whose::Found | Whose::Own | Whose::Rejected(_) => self.proposer.wait(round),
        }
    }
}

impl Round {
    fn answer(&self, outcome: Outcome, out: &mut Out) {
        out.reply(self.client, Reply { serial: self.request, outcome });
    }

    /// The condition does not hold: this is there.
    fn reject(&self, owner: Option<Value>, out: &mut Out) {
        self.answer(Outcome::Slice(owner.into_iter().map(|value| (SHARED, value)).collect()), out);
    }
}

impl Proposer {
    fn wait(&mut self, round: Box<Round>) {
        self.rounds.push(round);
    }

    fn remove(&mut self, serial: u32) -> Option<Box<Round>> {
        let at = self.rounds.iter().position(|round| round.serial == serial)?;
        Some(self.rounds.remove(at))
    }

    /// Whether a round waits for this answer.
    pub fn awaits(&self, serial: u32) -> bool {
        self.rounds.iter().any(|round| round.serial == serial)
    }

    /// The first time at which a round is given up.
    pub fn deadline(&self) -> Option<Due> {
        self.rounds.iter().filter_map(|round| round.deadline).min()
    }

    /// Gives up what has waited too long. What was accepted stays accepted.
    pub fn time_out(&mut self, cx: &Cx, out: &mut Out) {
        self.rounds.retain(|round| {
            let over = round.deadline.is_some_and(|due| due <= Due::Monotonic(cx.monotonic));
            if over {
                round.answer(Outcome::TimedOut, out);
            }
            !over
        });
    }

    /// Whether a round about this row is under way.
    pub fn needs(&self, row: Row) -> bool {
        self.rounds.iter().any(|round| round.row == row)
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        for round in &mut self.rounds {
            let row = round.row;
            visitor.serial_of(&mut round.client, &mut round.request);
            round.deadline.iter_mut().for_each(|due| visitor.due(due));
            round.change.visit(visitor);
            round.condition.visit(visitor);
            round.ballot.visit(row, visitor);
            visitor.serial(Owner::Me, &mut round.serial);
            match &mut round.step {
                Step::Prepares { promised: _, accepted, committed, have_it: _ } => {
                    accepted.iter_mut().chain(committed).for_each(|proposal| proposal.visit(row, visitor));
                }
                Step::Teaches { missing: _ } | Step::Commits { .. } => {}
                Step::Reads { answered: _, merged } => {
                    visit_columns(merged, row, visitor);
                }
                Step::Proposes { proposal, whose, in_the_way, .. } => {
                    if let Whose::Rejected(Some(value)) = whose {
                        value.visit(visitor);
                    }
                    proposal.visit(row, visitor);
                    in_the_way.iter_mut().for_each(|ballot| ballot.visit(row, visitor));
                }
            }
        }
    }
}
