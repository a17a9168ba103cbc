//! One log: appended by the leader, taken over by followers, committed by a quorum (`raft.go`: `stepLeader`,
//! `handleAppendEntries`; `log.go`, `tracker/progress.go`).
//!
//! A leader sends what is new at once and expects it to arrive. What was lost shows when a follower refuses what comes next, or
//! after its next answer to a beat.

use super::peer::{Command, Entry, Peer, Place, ReadId};
use super::raft::{Raft, Role, quorum};
use super::{Cx, Flaw, Quorums};
use smallvec::SmallVec;

impl Raft {
    /// `MsgProp`. Without a leader it is dropped; a follower passes it on, to whoever it takes for the leader.
    pub(super) fn propose(&mut self, command: Command, cx: &Cx) {
        match (&self.role, self.leader) {
            (Role::Leader(_), _) => {
                let place = Place { term: self.term, index: self.last().index + 1 };
                self.log.push(Entry { place, command });
                if cx.settings.quorums == Quorums::Assumed {
                    self.committed = place.index;
                }
                self.append_all(cx);
                self.commit(cx);
            }
            (Role::Follower, Some(leader)) => self.tell(leader, Peer::Propose(Box::new(command))),
            (Role::Follower, None) | (Role::PreCandidate(_) | Role::Candidate(_), _) => {}
        }
    }

    fn append_all(&mut self, cx: &Cx) {
        for member in (0..cx.servers).filter(|member| *member != cx.me) {
            self.append_to(member);
        }
    }

    /// `sendAppend`: everything that the member was not sent yet, or the news alone. A member may have more than a leader that was
    /// elected by members who have lost their logs: it is sent nothing then, behind a place in no term (`log.go`, `term`, of etcd 3.5),
    /// which it refuses.
    fn append_to(&mut self, member: u8) {
        let (base, last) = (self.base.index, self.last().index);
        let Role::Leader(leading) = &mut self.role else { return };
        let next = &mut leading.progress[usize::from(member)].next;
        let first = (*next).max(base + 1);
        *next = first.max(last + 1);
        let prev = Place { term: self.term_at(first - 1).unwrap_or(0), index: first - 1 };
        let behind = ((prev.index - base) as usize).min(self.log.len());
        let entries = self.log[behind..].to_vec();
        self.tell(member, Peer::Append { term: self.term, prev, entries, committed: self.committed });
    }

    /// `handleAppendEntries`.
    pub(super) fn on_append(&mut self, from: u8, prev: Place, entries: Vec<Entry>, committed: u32, cx: &Cx) {
        let term = self.term;
        if prev.index < self.committed {
            return self.tell(from, Peer::Appended { term, index: self.committed, refused: None });
        }
        if self.term_at(prev.index) != Some(prev.term) {
            let hint = prev.index.saturating_sub(1).min(self.last().index);
            return self.tell(from, Peer::Appended { term, index: prev.index, refused: Some(hint) });
        }
        let index = entries.last().map_or(prev.index, |entry| entry.place.index);
        for entry in entries {
            let Place { term, index } = entry.place;
            match self.term_at(index) {
                Some(known) if known == term => {}
                Some(_) if index <= self.committed => {
                    // "entry %d conflict with committed entry": only after logs were lost.
                    self.has_panicked = true;
                    return;
                }
                Some(_) => {
                    self.log.truncate((index - self.base.index) as usize - 1);
                    self.log.push(entry);
                }
                None => self.log.push(entry),
            }
        }
        self.commit_to(committed.min(index));
        if cx.settings.quorums == Quorums::Awaited {
            self.tell(from, Peer::Appended { term, index, refused: None });
        }
    }

    /// What a leader says is committed. More than it has, only after its log was lost: the real one's process ends then.
    pub(super) fn commit_to(&mut self, committed: u32) {
        self.committed = self.committed.max(committed.min(self.last().index));
    }

    pub(super) fn on_appended(&mut self, from: u8, index: u32, refused: Option<u32>, cx: &Cx) {
        let Role::Leader(leading) = &mut self.role else { return };
        let progress = &mut leading.progress[usize::from(from)];
        progress.is_active = true;
        match refused {
            // An old answer: it has that by now (`MaybeDecrTo`).
            Some(_) if index <= progress.matched => {}
            Some(hint) => {
                progress.next = index.min(hint + 1).max(progress.matched + 1);
                self.append_to(from);
            }
            None if index > progress.matched => {
                progress.matched = index;
                progress.next = progress.next.max(index + 1);
                self.commit(cx);
            }
            None => {}
        }
    }

    pub(super) fn on_beat_ack(&mut self, from: u8, read: Option<ReadId>, cx: &Cx) {
        let last = self.last().index;
        let Role::Leader(leading) = &mut self.role else { return };
        let progress = &mut leading.progress[usize::from(from)];
        progress.is_active = true;
        // Without signs of life nothing is lost, and what is under way comes.
        if progress.matched < last && cx.settings.tick.is_some() {
            self.append_to(from);
        }
        if let Some(read) = read {
            self.on_read_ack(from, read, cx);
        }
    }

    /// `maybeCommit`: an entry of its own term that a quorum has, and with it all before.
    fn commit(&mut self, cx: &Cx) {
        let last = self.last().index;
        let Role::Leader(leading) = &mut self.role else { return };
        leading.progress[usize::from(cx.me)].matched = last;
        let mut matched: SmallVec<[u32; 5]> =
            leading.progress.iter().map(|progress| progress.matched).collect();
        matched.sort_unstable();
        let needed = match cx.settings.flaw {
            Flaw::CommitsAlone => 1,
            _ => quorum(cx.servers) as usize,
        };
        let committed = matched[matched.len() - needed];
        // Of an earlier term's entry nobody knows that it stays by counting who has it (figure 8 of the paper).
        if committed > self.committed && self.term_at(committed) == Some(self.term) {
            self.committed = committed;
            self.release_early_reads(cx);
            self.append_all(cx);
        }
    }

    /// Tells all that it lives, and which read waits for their word.
    pub(super) fn beat(&mut self, read: Option<ReadId>, cx: &Cx) {
        let (term, committed) = (self.term, self.committed);
        let Role::Leader(leading) = &self.role else { return };
        let read = read.or(leading.reads.last());
        let beats: SmallVec<[(u8, u32); 4]> = (0..cx.servers)
            .filter(|member| *member != cx.me)
            .map(|member| (member, committed.min(leading.progress[usize::from(member)].matched)))
            .collect();
        for (member, committed) in beats {
            self.tell(member, Peer::Beat { term, committed, read });
        }
    }

    /// What all members have applied is not needed any more.
    pub(super) fn forget_up_to(&mut self, index: u32) {
        if let Some(term) = self.term_at(index) {
            self.log.drain(..(index - self.base.index) as usize);
            self.base = Place { term, index };
        }
    }

    /// Whether a message says nothing new, now or later, in a world in which nobody waits for signs of life.
    pub(super) fn knows(&self, message: &Peer) -> bool {
        match (message, &self.role) {
            (Peer::Append { entries, committed, .. }, Role::Follower) => {
                entries.is_empty() && *committed <= self.committed
            }
            (Peer::Appended { term, index, refused: None }, _) => {
                *term < self.term || *index <= self.committed
            }
            (Peer::BeatAck { read, .. }, Role::Leader(leading)) => {
                read.is_none_or(|read| !leading.reads.waits_for(read))
            }
            _ => false,
        }
    }
}
