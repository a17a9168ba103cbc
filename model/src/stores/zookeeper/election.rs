//! Who leads: timers, and the way to a new epoch (`QuorumPeer.java`, `Leader.getEpochToPropose`, `Learner.java`).
//!
//! A server without a leader asks all others to promise its epoch, one more than it has promised itself. It does not
//! promise it itself before it has a quorum, so that one that was merely cut off can go on with the old leader. A
//! server that hears a leader answers nobody.

use super::ensemble::{patience, quorum};
use super::peer::{Beat, History, LastHeard, Peer, Role};
use super::{Cx, Out, ZooKeeper, Zxid};
use crate::time::Monotonic;
use smallvec::SmallVec;

/// All servers count as there until then.
fn nothing_heard(lost_at: Monotonic, cx: &Cx) -> SmallVec<[LastHeard; 3]> {
    SmallVec::from_elem(LastHeard { lost_at, answered: 0 }, usize::from(cx.servers))
}

impl ZooKeeper {
    /// One of the member's timers has come, perhaps.
    pub(super) fn on_timer(&mut self, cx: &Cx, out: &mut Out) {
        let Some(member) = &mut self.member else { return };
        if member.timer().is_none_or(|at| cx.monotonic < at) {
            return;
        }
        let begins = !std::mem::replace(&mut member.has_begun, true);
        if let (true, Role::Follower { give_up, .. }) = (begins, &mut member.role) {
            *give_up = patience(cx);
            return;
        }
        match &mut member.role {
            Role::Leader { beat_at, heard, .. } => {
                let Some(election) = cx.settings.election else { return };
                *beat_at = Some(cx.monotonic + election.heartbeat);
                let lost_at = cx.monotonic + election.timeout;
                if heard.is_empty() {
                    *heard = nothing_heard(lost_at, cx);
                }
                heard[usize::from(cx.me)].lost_at = lost_at;
                let in_touch = heard.iter().filter(|heard| heard.lost_at > cx.monotonic).count();
                if in_touch < quorum(cx.servers) {
                    return self.look(cx, out);
                }
                let heard = heard.clone();
                member.beats += 1;
                let (epoch, number) = (member.current, member.beats);
                let (last, committed) = (self.last_logged(), self.replica.last);
                for server in (0..cx.servers).filter(|server| *server != cx.me) {
                    let LastHeard { lost_at, answered } = heard[usize::from(server)];
                    let has_closed = lost_at <= cx.monotonic;
                    out.peer(
                        server,
                        Peer::Beat(Beat { epoch, number, answered, has_closed, last, committed }),
                    );
                }
            }
            Role::Follower { .. } => {
                self.look(cx, out);
                self.stand(cx, out);
            }
            Role::Candidate { .. } | Role::Looking { .. } => self.stand(cx, out),
        }
    }

    /// A follower lives, and answers this beat; 0 if none. Which one is the last that it was known to have answered before.
    pub(super) fn on_sign_of_life(&mut self, from: u8, beat: u32, cx: &Cx) -> u32 {
        let Some(election) = cx.settings.election else { return 0 };
        match &mut self.part().role {
            Role::Leader { heard, .. } if !heard.is_empty() => {
                let LastHeard { lost_at, answered } = &mut heard[usize::from(from)];
                *lost_at = cx.monotonic + election.timeout;
                std::mem::replace(answered, beat.max(*answered))
            }
            Role::Leader { .. } | Role::Follower { .. } | Role::Candidate { .. } | Role::Looking { .. } => 0,
        }
    }

    /// Somebody has promised a newer epoch than this server leads or stands for.
    pub(super) fn on_newer(&mut self, epoch: u32, cx: &Cx, out: &mut Out) {
        let member = self.part();
        if epoch <= member.promised {
            return;
        }
        match member.role {
            Role::Leader { .. } => {
                member.promised = epoch;
                self.look(cx, out);
            }
            Role::Candidate { .. } | Role::Looking { .. } => member.promised = epoch,
            // It has found a leader meanwhile, who will hear the same.
            Role::Follower { .. } => {}
        }
    }

    /// Has no leader from now on.
    pub(super) fn look(&mut self, cx: &Cx, out: &mut Out) {
        self.connections.close_all(out);
        self.tracker.forget_all();
        self.part().role = Role::Looking { stand_at: patience(cx) };
    }

    fn stand(&mut self, cx: &Cx, out: &mut Out) {
        let member = self.part();
        // Some may have promised the epoch that it stood for before, and would not do it twice.
        let stood = match member.role {
            Role::Candidate { epoch, .. } => epoch,
            Role::Leader { .. } | Role::Follower { .. } | Role::Looking { .. } => 0,
        };
        let epoch = member.promised.max(stood) + 1;
        let promises = SmallVec::from_slice(&[cx.me]);
        member.role = Role::Candidate { epoch, promises, best: None, give_up: patience(cx) };
        Self::tell_all(&Peer::Stand { epoch }, cx, out);
    }

    pub(super) fn on_stand(&mut self, from: u8, epoch: u32, cx: &Cx, out: &mut Out) {
        let member = self.part();
        let has_leader = match member.role {
            Role::Leader { .. } | Role::Follower { synced: true, .. } => true,
            Role::Follower { synced: false, .. } | Role::Candidate { .. } | Role::Looking { .. } => false,
        };
        // Its own epoch it promises to nobody else while it stands, or two would lead it.
        let standing = match member.role {
            Role::Candidate { epoch, .. } => epoch,
            Role::Leader { .. } | Role::Follower { .. } | Role::Looking { .. } => 0,
        };
        if has_leader {
            return;
        }
        if epoch <= member.promised {
            let epoch = member.promised;
            return out.peer(from, Peer::Newer { epoch });
        }
        if epoch < standing || (epoch == standing && from > cx.me) {
            return;
        }
        self.follow(from, epoch, cx, out);
        let current = self.part().current;
        let history = self.history();
        out.peer(from, Peer::Promise { epoch, current, history });
    }

    pub(super) fn on_promise(
        &mut self,
        from: u8,
        epoch: u32,
        current: u32,
        history: Box<History>,
        cx: &Cx,
        out: &mut Out,
    ) {
        let own: (u32, Zxid) = (self.part().current, self.last_logged());
        let member = self.part();
        let Role::Candidate { epoch: standing, promises, best, .. } = &mut member.role else {
            // Elected or beaten meanwhile.
            return;
        };
        if *standing != epoch || promises.contains(&from) {
            return;
        }
        promises.push(from);
        promises.sort_unstable();
        let latest = best.as_ref().map_or(own, |(current, history)| (*current, history.last()));
        if (current, history.last()) > latest {
            *best = Some((current, history));
        }
        if promises.len() >= quorum(cx.servers) {
            let best = best.take();
            self.begin_epoch(epoch, best.map(|(_, history)| *history), cx, out);
        }
    }

    fn begin_epoch(&mut self, epoch: u32, history: Option<History>, cx: &Cx, out: &mut Out) {
        if let Some(history) = history {
            let applied = self.replica.last;
            if history.replica.last > applied {
                self.replica = history.replica;
                self.part().log = history.log;
            } else {
                self.part().log = history.log.into_iter().filter(|txn| txn.zxid > applied).collect();
            }
        }
        let zxid = self.last_logged();
        let lost_at: Option<Monotonic> = cx.settings.election.map(|election| cx.monotonic + election.timeout);
        let heard = lost_at.map_or_else(SmallVec::new, |at| nothing_heard(at, cx));
        let member = self.part();
        member.promised = epoch;
        member.current = epoch;
        let servers = usize::from(cx.servers);
        let mut logged = SmallVec::from_elem(None, servers);
        logged[usize::from(cx.me)] = Some(zxid);
        member.role = Role::Leader {
            established: false,
            logged,
            heard,
            beat_at: cx.settings.election.map(|election| cx.monotonic + election.heartbeat),
        };
        out.remark = Some("is elected leader");
        let history = self.history();
        Self::tell_all(&Peer::State { epoch, history }, cx, out);
    }
}
