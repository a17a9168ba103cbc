//! Raft, as etcd's library has it (`github.com/etcd-io/raft`, `raft.go`): terms, roles, and one log that all agree about.
//!
//! ```text
//!   follower ── nobody leads ──▶ pre-candidate ── a quorum would vote ──▶ candidate ── a quorum votes ──▶ leader
//!      ▲                                                                                                    │
//!      └───────────── a higher term, another leader, or no quorum heard of within an election ◀─────────────┘
//! ```
//!
//! It says what is to be sent, what is committed and which reads are confirmed; the member around it ([`super::member`])
//! sends, applies and answers. Between the two lies etcd's `Ready` loop, which may be stuck while this goes on.

use super::election::Votes;
use super::peer::{Entry, Peer, Place, ReadId};
use super::reads::Reads;
use super::{Cx, Settings};
use crate::machine::Visitor;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The first leader is there when the run begins, so that small worlds need no election.
const FIRST_TERM: u32 = 1;

/// One member's part in Raft.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Raft {
    /// The highest term it has heard of. On its disk.
    pub(super) term: u32,
    /// Whom it has voted for in that term. On its disk.
    pub(super) vote: Option<u8>,
    /// What comes right before `log`: all members have applied it.
    pub(super) base: Place,
    /// On its disk.
    pub(super) log: Vec<Entry>,
    /// Up to which index it knows everything to be committed.
    pub(super) committed: u32,
    /// Who leads its term, if it has heard of anybody.
    pub(super) leader: Option<u8>,
    pub(super) role: Role,
    /// Ticks since it has heard of a leader; a leader's, since it has last looked for a quorum.
    pub(super) elapsed: u8,
    /// How many of them it waits before it stands.
    pub(super) patience: u8,
    /// How often that was drawn, around and around.
    draws: u8,
    /// It was told that what it knows to be committed is not. The real one's process ends, whenever it is started.
    pub(super) has_panicked: bool,
    /// What is to be sent.
    pub(super) outbox: Vec<(u8, Peer)>,
    /// Its own reads that are confirmed, and what they must have seen.
    pub(super) confirmed: SmallVec<[(ReadId, u32); 1]>,
}

/// What a member does in its term.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Role {
    Follower,
    /// Asks whether it would be elected to the next term.
    PreCandidate(Votes),
    /// Wants to lead.
    Candidate(Votes),
    Leader(Box<Leading>),
}

/// What a leader keeps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Leading {
    /// By member.
    pub(super) progress: SmallVec<[Progress; 3]>,
    pub(super) reads: Reads,
}

/// What a leader knows of a member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Up to where its log is known to be the leader's.
    pub(super) matched: u32,
    /// What it is sent next, if all goes well.
    pub(super) next: u32,
    /// It was heard of since the leader has last looked for a quorum.
    pub(super) is_active: bool,
}

/// How many members are more than half.
pub(super) fn quorum(members: u8) -> u32 {
    u32::from(members / 2 + 1)
}

impl Raft {
    pub(super) fn new(me: u8, members: u8, settings: &Settings) -> Raft {
        let mut raft = Raft::fresh();
        raft.draw_patience(settings);
        raft.term = FIRST_TERM;
        raft.vote = Some(0);
        raft.base = Place { term: FIRST_TERM, index: 0 };
        raft.leader = Some(0);
        if me == 0 {
            raft.role = Role::leader(1, members);
        }
        raft
    }

    /// With an empty disk.
    pub(super) fn fresh() -> Raft {
        Raft {
            term: 0,
            vote: None,
            base: Place { term: 0, index: 0 },
            log: Vec::new(),
            committed: 0,
            leader: None,
            role: Role::Follower,
            elapsed: 0,
            patience: 0,
            draws: 0,
            has_panicked: false,
            outbox: Vec::new(),
            confirmed: SmallVec::new(),
        }
    }

    /// The process has started again, with what is on the disk; what it has applied was committed.
    pub(super) fn restart(&mut self, applied: u32, cx: &Cx) {
        self.committed = applied;
        self.has_panicked = false;
        self.outbox.clear();
        self.confirmed.clear();
        if cx.settings.tick.is_some() {
            self.role = Role::Follower;
            self.leader = None;
            self.draw_patience(cx.settings);
        }
    }

    /// Whether it leads, for all it knows.
    pub(super) fn leads(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// The end of its log.
    pub(super) fn last(&self) -> Place {
        self.log.last().map_or(self.base, |entry| entry.place)
    }

    /// The term of the entry with this index, if it has one.
    pub(super) fn term_at(&self, index: u32) -> Option<u32> {
        match index.checked_sub(self.base.index)? {
            0 => Some(self.base.term),
            place => self.log.get(place as usize - 1).map(|entry| entry.place.term),
        }
    }

    /// The entry with this index; it has one.
    pub(super) fn entry(&self, index: u32) -> &Entry {
        &self.log[(index - self.base.index) as usize - 1]
    }

    pub(super) fn tell(&mut self, member: u8, message: Peer) {
        self.outbox.push((member, message));
    }

    pub(super) fn tell_all(&mut self, message: &Peer, cx: &Cx) {
        for member in (0..cx.servers).filter(|member| *member != cx.me) {
            self.outbox.push((member, message.clone()));
        }
    }

    /// `becomeFollower`.
    pub(super) fn follow(&mut self, term: u32, leader: Option<u8>, cx: &Cx) {
        self.reset(term, cx.settings);
        self.leader = leader;
        self.role = Role::Follower;
    }

    /// `reset`: another term, or another role.
    pub(super) fn reset(&mut self, term: u32, settings: &Settings) {
        if term != self.term {
            self.term = term;
            self.vote = None;
        }
        self.leader = None;
        self.elapsed = 0;
        self.draw_patience(settings);
    }

    /// `Step`: another member's message.
    pub(super) fn step(&mut self, from: u8, message: Peer, cx: &Cx) {
        if self.has_panicked {
            return;
        }
        match message.term() {
            Some(term) if term > self.term => {
                if self.keeps_its_leader(&message, cx) {
                    return;
                }
                match &message {
                    // Nobody goes to another term for a question.
                    Peer::AskVote { is_trial: true, .. }
                    | Peer::Vote { is_trial: true, granted: true, .. } => {}
                    Peer::Append { .. } | Peer::Beat { .. } => self.follow(term, Some(from), cx),
                    _ => self.follow(term, None, cx),
                }
            }
            Some(term) if term < self.term => return self.answer_late(from, &message),
            Some(_) | None => {}
        }
        match message {
            Peer::AskVote { term, last, is_trial, .. } => self.on_ask_vote(from, term, last, is_trial, cx),
            Peer::Vote { is_trial, granted, .. } => self.on_vote(from, is_trial, granted, cx),
            Peer::Append { prev, entries, committed, .. } => {
                if self.hear_leader(from, cx) {
                    self.on_append(from, prev, entries, committed, cx);
                }
            }
            Peer::Beat { committed, read, .. } => {
                if self.hear_leader(from, cx) {
                    self.commit_to(committed);
                    self.tell(from, Peer::BeatAck { term: self.term, read });
                }
            }
            Peer::Appended { index, refused, .. } => self.on_appended(from, index, refused, cx),
            Peer::BeatAck { read, .. } => self.on_beat_ack(from, read, cx),
            Peer::Propose(command) => self.propose(*command, cx),
            Peer::AskRead(read) => self.ask_read(read, cx),
            Peer::ReadAt { read, index, .. } => self.confirmed.push((read, index)),
            Peer::TakeOver { .. } => {
                if matches!(self.role, Role::Follower) {
                    self.stand(true, cx);
                }
            }
            Peer::Renew { .. } | Peer::Renewed { .. } => unreachable!("these are not for Raft"),
        }
    }

    /// A message of a term that is over.
    fn answer_late(&mut self, from: u8, message: &Peer) {
        match message {
            // So that a leader whose term is over learns of it ("checkQuorum || preVote").
            Peer::Append { .. } | Peer::Beat { .. } => {
                self.tell(from, Peer::Appended { term: self.term, index: 0, refused: None });
            }
            Peer::AskVote { is_trial: true, .. } => {
                self.tell(from, Peer::Vote { term: self.term, is_trial: true, granted: false });
            }
            _ => {}
        }
    }

    /// Its term's leader is there. Not if it leads itself: only who has forgotten a vote elects two leaders of one term.
    fn hear_leader(&mut self, from: u8, cx: &Cx) -> bool {
        match self.role {
            Role::PreCandidate(_) | Role::Candidate(_) => self.follow(self.term, Some(from), cx),
            Role::Follower => {}
            Role::Leader(_) => return false,
        }
        self.elapsed = 0;
        self.leader = Some(from);
        true
    }

    fn draw_patience(&mut self, settings: &Settings) {
        self.draws = (self.draws + 1) % 16;
        self.patience = settings.election_ticks();
    }

    /// `randomizedElectionTimeout`: between one and two elections. It is drawn out of the member's number, its term and how
    /// often it has drawn, for machines have no dice at their deadlines.
    pub(super) fn patience(&self, me: u8) -> u8 {
        let drawn = u32::from(me) * 5 + self.term * 3 + u32::from(self.draws) * 7;
        self.patience + (drawn % u32::from(self.patience.max(1))) as u8
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.log.iter_mut().for_each(|entry| entry.command.visit(visitor));
        if let Role::Leader(leading) = &mut self.role {
            leading.reads.visit(visitor);
        }
        for (_, message) in &mut self.outbox {
            crate::machine::Visit::visit(message, visitor);
        }
        self.confirmed.iter_mut().for_each(|(read, _)| read.visit(visitor));
    }

    /// What it does, for the reader of a trace.
    pub(super) fn describe(&self) -> String {
        let term = self.term;
        match (&self.role, self.leader) {
            (Role::Leader(_), _) => format!("leads term {term}"),
            (Role::Follower, Some(leader)) => format!("follows s{} in term {term}", leader + 1),
            (Role::Follower, None) => format!("knows no leader of term {term}"),
            (Role::PreCandidate(_), _) => format!("asks who would vote for it in term {}", term + 1),
            (Role::Candidate(_), _) => format!("stands for term {term}"),
        }
    }
}

impl Role {
    /// A leader that knows nothing of the others' logs yet.
    pub(super) fn leader(next: u32, members: u8) -> Role {
        let progress = Progress { matched: 0, next, is_active: true };
        let progress = SmallVec::from_elem(progress, usize::from(members));
        Role::Leader(Box::new(Leading { progress, reads: Reads::default() }))
    }
}
