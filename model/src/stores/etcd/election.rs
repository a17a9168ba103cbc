//! Who leads: ticks, questions, votes (`raft.go`: `tickElection`, `tickHeartbeat`, `campaign`, `stepCandidate`).
//!
//! `PreVote` and `CheckQuorum` are on, as they are in every etcd by default: who wants to lead asks first whether it would be
//! elected; whoever hears a leader votes for nobody else; a leader that has not heard of a quorum within an election steps down.

use super::peer::{Command, Peer, Place};
use super::raft::{Raft, Role, quorum};
use super::{Cx, Flaw};
use serde::{Deserialize, Serialize};

/// Who has said what: a bit for each member.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Votes {
    granted: u8,
    refused: u8,
}

impl Votes {
    fn of(me: u8) -> Votes {
        Votes { granted: 1 << me, refused: 0 }
    }

    /// The first word counts.
    fn count(&mut self, from: u8, granted: bool) {
        let bit = 1 << from;
        if (self.granted | self.refused) & bit == 0 {
            *(if granted { &mut self.granted } else { &mut self.refused }) |= bit;
        }
    }

    fn has_won(self, members: u8) -> bool {
        self.granted.count_ones() >= quorum(members)
    }

    fn has_lost(self, members: u8) -> bool {
        self.refused.count_ones() >= quorum(members)
    }
}

impl Raft {
    /// Every [`super::Settings::tick`].
    pub(super) fn tick(&mut self, cx: &Cx) {
        if self.has_panicked {
            return;
        }
        self.elapsed = self.elapsed.saturating_add(1);
        match &self.role {
            Role::Leader(_) => {
                if self.elapsed >= cx.settings.election_ticks() {
                    self.elapsed = 0;
                    if !self.has_quorum(cx) {
                        return self.follow(self.term, None, cx);
                    }
                }
                self.beat(None, cx);
            }
            Role::Follower | Role::PreCandidate(_) | Role::Candidate(_) => {
                if self.elapsed >= self.patience(cx.me) {
                    self.elapsed = 0;
                    self.stand_if_elected(cx);
                }
            }
        }
    }

    /// `MsgCheckQuorum`: whether it has heard of a quorum since the last time.
    fn has_quorum(&mut self, cx: &Cx) -> bool {
        let Role::Leader(leading) = &mut self.role else { return false };
        let mut heard = 0;
        for (member, progress) in leading.progress.iter_mut().enumerate() {
            heard += u32::from(progress.is_active || member == usize::from(cx.me));
            progress.is_active = false;
        }
        heard >= quorum(cx.servers)
    }

    /// Whether it stays with the leader it hears, and lets somebody ask for votes in vain ("inLease").
    pub(super) fn keeps_its_leader(&self, message: &Peer, cx: &Cx) -> bool {
        let is_asked = matches!(message, Peer::AskVote { is_handed_over: false, .. });
        is_asked && self.leader.is_some() && self.elapsed < cx.settings.election_ticks()
    }

    /// `campaign(campaignPreElection)`.
    fn stand_if_elected(&mut self, cx: &Cx) {
        self.leader = None;
        self.role = Role::PreCandidate(Votes::of(cx.me));
        let (term, last) = (self.term + 1, self.last());
        let message = Peer::AskVote { term, last, is_trial: true, is_handed_over: false };
        self.tell_all(&message, cx);
    }

    /// `campaign(campaignElection)`.
    pub(super) fn stand(&mut self, is_handed_over: bool, cx: &Cx) {
        self.reset(self.term + 1, cx.settings);
        self.vote = Some(cx.me);
        self.role = Role::Candidate(Votes::of(cx.me));
        let (term, last) = (self.term, self.last());
        let message = Peer::AskVote { term, last, is_trial: false, is_handed_over };
        self.tell_all(&message, cx);
    }

    pub(super) fn on_ask_vote(&mut self, from: u8, term: u32, last: Place, is_trial: bool, cx: &Cx) {
        let is_free = match self.vote {
            None => self.leader.is_none(),
            Some(vote) => vote == from || cx.settings.flaw == Flaw::VotesTwice,
        };
        let may_vote = is_free || (is_trial && term > self.term);
        let is_complete = last >= self.last() || cx.settings.flaw == Flaw::VotesForShortLogs;
        let granted = may_vote && is_complete;
        if granted && !is_trial {
            self.elapsed = 0;
            self.vote = Some(from);
        }
        let term = if granted { term } else { self.term };
        self.tell(from, Peer::Vote { term, is_trial, granted });
    }

    pub(super) fn on_vote(&mut self, from: u8, is_trial: bool, granted: bool, cx: &Cx) {
        let votes = match (&mut self.role, is_trial) {
            (Role::PreCandidate(votes), true) | (Role::Candidate(votes), false) => votes,
            // It comes late: the election is over.
            (Role::Follower | Role::PreCandidate(_) | Role::Candidate(_) | Role::Leader(_), _) => return,
        };
        votes.count(from, granted);
        match (votes.has_won(cx.servers), votes.has_lost(cx.servers), is_trial) {
            (true, _, true) => self.stand(false, cx),
            (true, _, false) => self.begin(cx),
            (false, true, _) => self.follow(self.term, None, cx),
            (false, false, _) => {}
        }
    }

    /// `becomeLeader`.
    fn begin(&mut self, cx: &Cx) {
        self.reset(self.term, cx.settings);
        self.leader = Some(cx.me);
        self.role = Role::leader(self.last().index + 1, cx.servers);
        self.propose(Command::Begin, cx);
    }

    /// `MsgTransferLeader`, to a member that has everything: the operator wants it so.
    pub(super) fn hand_over(&mut self, cx: &Cx) {
        let last = self.last().index;
        let Role::Leader(leading) = &self.role else { return };
        let others = (1..cx.servers).map(|step| (cx.me + step) % cx.servers);
        let mut ready = others.filter(|member| leading.progress[usize::from(*member)].matched == last);
        if let Some(member) = ready.next() {
            self.tell(member, Peer::TakeOver { term: self.term });
        }
    }
}
