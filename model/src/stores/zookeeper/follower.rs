//! What a follower does with its leader's word (`Follower.java`, `Learner.java`).

use super::ensemble::patience;
use super::peer::{Beat, History, Peer, Role};
use super::replica::Txn;
use super::{Acknowledgements, Cx, Flaw, Out, ZooKeeper, Zxid};

impl ZooKeeper {
    /// The leader's next transaction, or one that overtook it.
    pub(super) fn on_proposal(&mut self, from: u8, epoch: u32, prev: Zxid, txn: Txn, cx: &Cx, out: &mut Out) {
        let last = self.last_logged();
        let skips = cx.settings.flaw == Flaw::SkipsGaps;
        let member = self.part();
        let Role::Follower { synced, .. } = &member.role else { return };
        if !*synced {
            return out.peer(from, Peer::Resync { epoch });
        }
        if txn.zxid <= last {
            // It has come before; whether it was acknowledged the next beat will tell.
            return;
        }
        if last != prev && !skips {
            if cx.settings.election.is_some() {
                // The one before may be lost.
                return out.peer(from, Peer::Resync { epoch });
            }
            // It is late, and the stream keeps this one back until it comes.
            member.early.push((prev, txn));
            return member.early.sort_unstable();
        }
        self.log_next(from, epoch, txn, cx, out);
        loop {
            let last = self.last_logged();
            let early = &mut self.part().early;
            let Some(place) = early.iter().position(|(prev, _)| *prev == last) else { break };
            let (_, txn) = early.remove(place);
            self.log_next(from, epoch, txn, cx, out);
        }
        if let Some(committed) = self.part().committed {
            self.on_commit(from, epoch, committed, cx, out);
        }
    }

    fn log_next(&mut self, leader: u8, epoch: u32, txn: Txn, cx: &Cx, out: &mut Out) {
        match cx.settings.acknowledgements {
            Acknowledgements::Awaited => {
                let zxid = txn.zxid;
                self.part().log.push(txn);
                out.peer(leader, Peer::Ack { epoch, zxid });
            }
            Acknowledgements::Assumed => self.apply(&txn, cx, out),
        }
    }

    /// A quorum has everything up to `zxid`, says the leader.
    pub(super) fn on_commit(&mut self, from: u8, epoch: u32, zxid: Zxid, cx: &Cx, out: &mut Out) {
        let Role::Follower { synced, .. } = self.part().role else { return };
        if !synced || zxid <= self.replica.last {
            return;
        }
        let zxid = self.part().committed.map_or(zxid, |known| known.max(zxid));
        self.apply_up_to(zxid, cx, out);
        let missing = zxid > self.replica.last;
        self.part().committed = missing.then_some(zxid);
        if missing && cx.settings.election.is_some() && cx.settings.flaw != Flaw::SkipsGaps {
            out.peer(from, Peer::Resync { epoch });
        }
    }

    /// The leader lives, or a server that was one.
    ///
    /// Its answer reports whose clients this server has heard from (`Learner.ping`). Over TCP what does not arrive now
    /// arrives later, and once: so a session is reported in every answer until the leader shows, by a later beat, that it
    /// has one of them; and the leader minds only what no answer that it has told it before. If nothing arrives for so
    /// long that the leader closes the connection, the follower begins anew (`LearnerHandler`'s socket has a time-out).
    pub(super) fn on_beat(&mut self, from: u8, beat: Beat, cx: &Cx, out: &mut Out) {
        let Beat { epoch, number, last, committed, .. } = beat;
        let member = self.part();
        member.has_begun = true;
        if epoch < member.promised {
            let epoch = member.promised;
            return out.peer(from, Peer::Newer { epoch });
        }
        let follows = match member.role {
            Role::Follower { leader, synced, answered, .. } if leader == from => {
                !(synced && beat.has_closed && number > answered)
            }
            Role::Follower { .. } | Role::Leader { .. } | Role::Candidate { .. } | Role::Looking { .. } => {
                false
            }
        };
        if epoch > member.promised || !follows {
            self.follow(from, epoch, cx, out);
        }
        let logged = self.last_logged();
        if let Role::Follower { synced, give_up, answered, touched, reported, .. } = &mut self.part().role
            && *synced
        {
            *give_up = patience(cx);
            reported.retain(|(_, told)| *told > beat.answered);
            if number > *answered {
                *answered = number;
                reported.retain(|(session, _)| !touched.contains(session));
                reported.extend(touched.drain(..).map(|session| (session, number)));
                reported.sort_unstable();
            }
            let touched = reported.clone();
            out.peer(from, Peer::BeatAck { epoch, beat: number, logged, touched });
            self.on_commit(from, epoch, committed, cx, out);
            if last > logged && committed <= logged {
                out.peer(from, Peer::Resync { epoch });
            }
        } else {
            if let Role::Follower { answered, .. } = &mut self.part().role {
                *answered = number.max(*answered);
            }
            out.peer(from, Peer::Resync { epoch });
        }
    }

    /// The leader's history comes in the place of this server's, as far as it says more.
    pub(super) fn on_state(&mut self, from: u8, epoch: u32, history: History, cx: &Cx, out: &mut Out) {
        let follows = matches!(self.part().role, Role::Follower { leader, .. } if leader == from);
        if epoch > self.part().promised || !follows {
            self.follow(from, epoch, cx, out);
        }
        let logged = self.last_logged();
        let applied = self.replica.last;
        let Role::Follower { synced, give_up, .. } = &mut self.part().role else { return };
        *give_up = patience(cx);
        if *synced && history.last() <= logged {
            // Older than what has come since.
            return;
        }
        *synced = true;
        let zxid = history.last();
        let member = self.part();
        member.current = epoch;
        member.early.clear();
        member.committed = None;
        if history.replica.last > applied {
            // What lies between is never applied here: clients and their watches would miss it.
            self.connections.close_all(out);
            self.replica = history.replica;
            self.part().log = history.log;
        } else {
            self.part().log = history.log.into_iter().filter(|txn| txn.zxid > applied).collect();
        }
        out.peer(from, Peer::Ack { epoch, zxid });
    }

    /// Follows another leader than before, and does not serve clients before it has its history.
    pub(super) fn follow(&mut self, leader: u8, epoch: u32, cx: &Cx, out: &mut Out) {
        self.connections.close_all(out);
        self.tracker.forget_all();
        let member = self.part();
        member.early.clear();
        member.committed = None;
        member.promised = epoch;
        member.role = Role::follower(leader, false, patience(cx));
    }
}
