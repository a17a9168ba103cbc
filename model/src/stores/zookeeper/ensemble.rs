//! The order of all transactions in an ensemble: proposal, acknowledgement, commit (`Leader.java`, `Follower.java`,
//! `LearnerHandler.java`).

use super::connections::Pending;
use super::peer::{History, Member, Peer, Role};
use super::replica::{Action, Origin, Txn};
use super::{Acknowledgements, Cx, Flaw, Out, SessionId, Settings, ZooKeeper, Zxid};
use crate::machine::Context;
use crate::time::Monotonic;
use smallvec::SmallVec;

/// The first leader is there when the run begins, so that small worlds need no election.
const FIRST_EPOCH: u32 = 1;

impl Member {
    pub(super) fn new(me: u8, servers: u8, settings: &Settings) -> Member {
        // Clocks may show anything when the run begins: all are woken at once, and read them then.
        let begin = settings.election.map(|_| Monotonic(i64::MIN / 4));
        let role = match me {
            0 => Role::Leader {
                established: true,
                logged: SmallVec::from_elem(Some(Zxid::NONE), usize::from(servers)),
                heard: SmallVec::new(),
                beat_at: begin,
            },
            _ => Role::follower(0, true, begin),
        };
        Member {
            promised: FIRST_EPOCH,
            current: FIRST_EPOCH,
            log: Vec::new(),
            role,
            beats: 0,
            has_begun: false,
            early: Vec::new(),
            committed: None,
        }
    }

    /// When it wants to be woken.
    pub(super) fn timer(&self) -> Option<Monotonic> {
        match self.role {
            Role::Leader { beat_at, .. } => beat_at,
            Role::Follower { give_up, .. } | Role::Candidate { give_up, .. } => give_up,
            Role::Looking { stand_at } => stand_at,
        }
    }

    /// The process has started again.
    pub(super) fn restart(&mut self, cx: &Cx) {
        self.has_begun = true;
        if cx.settings.election.is_some() {
            self.role = Role::Looking { stand_at: patience(cx) };
        }
    }

    pub(super) fn describe(&self) -> String {
        match &self.role {
            Role::Leader { established: true, .. } => format!("leads epoch {}", self.current),
            Role::Leader { .. } => format!("begins to lead epoch {}", self.current),
            Role::Follower { leader, synced, .. } => {
                let lag = if *synced { "" } else { ", not yet in step" };
                format!("follows s{} in epoch {}{lag}", leader + 1, self.promised)
            }
            Role::Candidate { epoch, .. } => format!("stands for epoch {epoch}"),
            Role::Looking { .. } => "has no leader".to_string(),
        }
    }
}

/// How many servers are more than half.
pub(super) fn quorum(servers: u8) -> usize {
    usize::from(servers / 2 + 1)
}

/// When a server that hears nothing stands itself.
pub(super) fn patience(cx: &Context<Settings>) -> Option<Monotonic> {
    let election = cx.settings.election?;
    let stagger = crate::time::Micros(election.heartbeat.0 * i64::from(cx.me));
    Some(cx.monotonic + election.timeout + stagger)
}

impl ZooKeeper {
    /// The leader and its epoch, if this server follows one.
    pub(super) fn following(&self) -> Option<(u8, u32)> {
        let member = self.member.as_ref()?;
        match member.role {
            Role::Follower { leader, .. } => Some((leader, member.promised)),
            Role::Leader { .. } | Role::Candidate { .. } | Role::Looking { .. } => None,
        }
    }

    /// This server's part in the ensemble; messages between servers are for members only.
    pub(super) fn part(&mut self) -> &mut Member {
        match &mut self.member {
            Some(member) => member,
            None => unreachable!("a single server has no peers"),
        }
    }

    /// The last transaction on this server's disk.
    pub(super) fn last_logged(&self) -> Zxid {
        let logged = self.member.as_ref().and_then(|member| member.log.last());
        logged.map_or(self.replica.last, |txn| txn.zxid)
    }

    /// Everything on this server's disk.
    pub(super) fn history(&mut self) -> Box<History> {
        let log = self.part().log.clone();
        Box::new(History { replica: self.replica.clone(), log })
    }

    /// To all other servers.
    pub(super) fn tell_all(message: &Peer, cx: &Cx, out: &mut Out) {
        for server in (0..cx.servers).filter(|server| *server != cx.me) {
            out.peer(server, message.clone());
        }
    }

    /// Another server's message.
    pub(super) fn on_message(&mut self, from: u8, message: Peer, cx: &Cx, out: &mut Out) {
        let leading = self.leading();
        let followed = self.following().filter(|(leader, _)| *leader == from).map(|(_, epoch)| epoch);
        match message {
            // What a leader is told.
            Peer::Forward { epoch, session, serial, action } => {
                if leading == Some(epoch) && self.leads() {
                    self.admit(session, Origin { server: from, serial }, action, cx, out);
                }
            }
            Peer::Ack { epoch, zxid } => {
                if leading == Some(epoch) {
                    self.on_ack(from, zxid, cx, out);
                }
            }
            Peer::BeatAck { epoch, beat, logged, touched } => {
                if leading == Some(epoch) {
                    let known = self.on_sign_of_life(from, beat, cx);
                    for (session, _) in touched.into_iter().filter(|(_, beat)| *beat > known) {
                        self.hear(session, cx);
                    }
                    self.on_ack(from, logged, cx, out);
                }
            }
            Peer::Resync { epoch } => {
                if leading == Some(epoch) {
                    self.on_sign_of_life(from, 0, cx);
                    let history = self.history();
                    out.peer(from, Peer::State { epoch, history });
                }
            }
            Peer::Revalidate { epoch, connect } => {
                if leading == Some(epoch)
                    && self.leads()
                    && let Some(session) = connect.session
                    && let Some(open) = self.revalidate(session, connect.serial, cx)
                {
                    out.peer(from, Peer::Revalidated { epoch, connect, open });
                }
            }
            Peer::Sync { epoch, client, serial } => {
                if leading == Some(epoch) && self.leads() {
                    let until = self.last_logged();
                    out.peer(from, Peer::Synced { epoch, client, serial, until });
                }
            }
            Peer::Newer { epoch } => self.on_newer(epoch, cx, out),

            // What a follower is told.
            Peer::Propose { epoch, prev, txn } => {
                if followed == Some(epoch) {
                    self.on_proposal(from, epoch, prev, txn, cx, out);
                }
            }
            Peer::Commit { epoch, zxid } => {
                if followed == Some(epoch) {
                    self.on_commit(from, epoch, zxid, cx, out);
                }
            }
            Peer::Beat(beat) => self.on_beat(from, beat, cx, out),
            Peer::State { epoch, history } => {
                if epoch >= self.part().promised && leading != Some(epoch) {
                    self.on_state(from, epoch, *history, cx, out);
                }
            }
            Peer::Revalidated { epoch, connect, open } => {
                if followed == Some(epoch)
                    && self.serves()
                    && let Some(session) = connect.session
                {
                    self.reconnect(session.client, connect, open, out);
                }
            }
            Peer::Synced { epoch, client, serial, until } => {
                if followed == Some(epoch)
                    && let Some(connection) = self.connections.of(client)
                    && connection.pending == Some(Pending::Leader { serial })
                {
                    connection.pending = Some(Pending::Caught { serial, until });
                    self.answer_syncs(out);
                }
            }

            // What all are told.
            Peer::Stand { epoch } => self.on_stand(from, epoch, cx, out),
            Peer::Promise { epoch, current, history } => {
                self.on_promise(from, epoch, current, history, cx, out);
            }
        }
    }

    /// The epoch that this server leads.
    pub(super) fn leading(&self) -> Option<u32> {
        let member = self.member.as_ref()?;
        matches!(member.role, Role::Leader { .. }).then_some(member.current)
    }

    /// The leader gives a change its number, logs it and proposes it.
    pub(super) fn propose(
        &mut self,
        session: SessionId,
        origin: Option<Origin>,
        action: Action,
        cx: &Cx,
        out: &mut Out,
    ) {
        let prev = self.last_logged();
        let member = self.part();
        let epoch = member.current;
        let txn = Txn { zxid: prev.next(epoch), session, origin, action };
        Self::tell_all(&Peer::Propose { epoch, prev, txn: txn.clone() }, cx, out);
        match cx.settings.acknowledgements {
            Acknowledgements::Awaited => {
                let zxid = txn.zxid;
                member.log.push(txn);
                self.on_ack(cx.me, zxid, cx, out);
            }
            Acknowledgements::Assumed => self.apply(&txn, cx, out),
        }
    }

    /// A server has everything up to `zxid`: perhaps that makes a quorum.
    fn on_ack(&mut self, from: u8, zxid: Zxid, cx: &Cx, out: &mut Out) {
        let needed = match cx.settings.flaw {
            Flaw::CommitsAlone => 1,
            Flaw::None
            | Flaw::SkipsGaps
            | Flaw::TakesClientsAhead
            | Flaw::EventsAfterReplies
            | Flaw::SequenceCountsChildren => quorum(cx.servers),
        };
        let member = self.part();
        let epoch = member.current;
        let Role::Leader { logged, established, .. } = &mut member.role else {
            unreachable!("only a leader is told what others have")
        };
        let known = &mut logged[usize::from(from)];
        *known = (*known).max(Some(zxid));
        let mut sorted = logged.clone();
        sorted.sort_unstable();
        let Some(committed) = sorted[sorted.len() - needed] else { return };
        let begins = !std::mem::replace(established, true);
        if begins {
            // `ZooKeeperServer.startup`: the sessions of the history have their full timeout.
            self.count_all_sessions(cx);
        }
        if begins || committed > self.replica.last {
            self.apply_up_to(committed, cx, out);
            if begins {
                self.replica.tell_firsts(out);
            }
            Self::tell_all(&Peer::Commit { epoch, zxid: committed }, cx, out);
            // How far below that a follower's last word was makes no difference any more.
            if let Role::Leader { logged, .. } = &mut self.part().role {
                logged.iter_mut().for_each(|known| *known = (*known).max(Some(committed)));
            }
        }
    }

    /// Whether another server's message says nothing new, now or later.
    pub(super) fn knows(&self, message: &Peer) -> bool {
        let Some(member) = &self.member else { return false };
        match message {
            // An epoch has one leader, who leads it from the first acknowledgement on.
            Peer::Ack { epoch, zxid } => match member.role {
                Role::Leader { established, .. } if member.current == *epoch => {
                    established && *zxid <= self.replica.last
                }
                Role::Leader { .. }
                | Role::Follower { .. }
                | Role::Candidate { .. }
                | Role::Looking { .. } => true,
            },
            Peer::Commit { epoch, zxid } => {
                *epoch < member.promised || *epoch == member.current && *zxid <= self.replica.last
            }
            Peer::Propose { epoch, .. } => *epoch < member.promised,
            Peer::Forward { .. }
            | Peer::Beat(_)
            | Peer::BeatAck { .. }
            | Peer::Resync { .. }
            | Peer::State { .. }
            | Peer::Revalidate { .. }
            | Peer::Revalidated { .. }
            | Peer::Sync { .. }
            | Peer::Synced { .. }
            | Peer::Stand { .. }
            | Peer::Promise { .. }
            | Peer::Newer { .. } => false,
        }
    }

    pub(super) fn apply_up_to(&mut self, zxid: Zxid, cx: &Cx, out: &mut Out) {
        while self.part().log.first().is_some_and(|txn| txn.zxid <= zxid) {
            let txn = self.part().log.remove(0);
            self.apply(&txn, cx, out);
        }
    }
}
