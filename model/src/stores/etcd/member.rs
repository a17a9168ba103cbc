//! A member among others: what it has its part in Raft do, and what it does with what comes of that (`server/etcdserver`:
//! `raft.go`, `server.go`, `v3_server.go`, `read/read.go`).
//!
//! ```text
//!   client ── change ──▶ propose ──▶ Raft ──▶ committed ──▶ applied here, answered by the member that was asked
//!   client ── read ──▶ what must it have seen? ──▶ Raft ──▶ confirmed ──▶ applied that far ──▶ answered here
//! ```
//!
//! What Raft has come to reaches the rest of the member through one loop ([`Etcd::ready`]), which writes to the disk. While
//! the disk is stuck ([`super::Stalls`]) that loop is: nothing is sent, applied or ticked, and the member does not learn that it
//! leads no more. What asks no Raft goes on: the counting of leases, and their keep-alives.

use super::lessor::Lessor;
use super::peer::{Command, Entry, Origin, Peer, visit_read};
use super::raft::Raft;
use super::serving::{Query, Reading, Renewing};
use super::*;
use crate::time::Monotonic;

/// What a member has besides, if it has others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) raft: Raft,
    /// The index of the last entry applied. On the disk, with what came of it.
    pub(super) applied: u32,
    /// How often the process has started again.
    pub(super) boot: u8,
    /// How often its host has lost its power, so that nobody was told that a connection had ended.
    pub(super) power_losses: u8,
    /// Who leads, for all that the rest of the member knows.
    pub(super) leader: Option<u8>,
    /// When it ends the streams that need a leader, while there is none (`monitorLeader`).
    pub(super) streams_end_at: Option<Monotonic>,
    /// It counts the time of leases (`isPrimary`).
    pub(super) is_primary: bool,
    /// When Raft was last told that time goes on.
    pub(super) ticked_at: Option<Monotonic>,
    /// It has read its clock at least once: there is nothing else that ticks could begin with.
    pub(super) has_begun: bool,
    /// Until when the disk is stuck.
    pub(super) stuck_until: Option<Monotonic>,
    /// When the operator wants another leader next.
    pub(super) hands_over_at: Option<Monotonic>,
    /// The number of its last read, so that no number comes twice.
    pub(super) reads: u32,
    /// What waits for the answer to those reads.
    pub(super) reading: Option<Reading>,
    /// What came after they were sent.
    pub(super) next_round: Vec<Query>,
    /// Keep-alives that wait for a checkpoint to be cleared.
    pub(super) renewing: Vec<Renewing>,
    /// Commands that wait for somebody to lead, and for how long.
    pub(super) unled: Vec<(Command, Option<Monotonic>)>,
}

/// How long a time may be for the exhaustive engine to count it right.
const LONGEST: Micros = Micros::seconds(100);

impl Part {
    pub(super) fn new(me: u8, members: u8, settings: &Settings) -> Part {
        Part {
            raft: Raft::new(me, members, settings),
            applied: 0,
            boot: 0,
            power_losses: 0,
            leader: Some(0),
            streams_end_at: None,
            is_primary: me == 0,
            // Clocks may show anything when the run begins: all are woken at once, and read them then.
            ticked_at: settings.tick.map(|_| Monotonic(i64::MIN / 4)),
            has_begun: false,
            stuck_until: None,
            hands_over_at: None,
            reads: 0,
            reading: None,
            next_round: Vec::new(),
            renewing: Vec::new(),
            unled: Vec::new(),
        }
    }

    pub(super) fn deadline(&self, settings: &Settings) -> Option<Monotonic> {
        let tick = match (self.stuck_until, self.ticked_at, settings.tick) {
            (Some(until), _, _) => Some(until),
            (None, Some(at), Some(tick)) => Some(at + tick),
            (None, _, _) => None,
        };
        let again_at = self.reading.as_ref().and_then(Reading::again_at);
        tick.into_iter().chain(again_at).chain(self.hands_over_at).min()
    }

    fn is_stuck(&self, cx: &Cx) -> bool {
        self.stuck_until.is_some_and(|until| cx.monotonic < until)
    }

    /// `isActive`: Raft was told of the time not long ago.
    pub(super) fn is_active(&self, cx: &Cx) -> bool {
        match (self.ticked_at, cx.settings.tick) {
            (Some(at), Some(Micros(tick))) => cx.monotonic < at + Micros(3 * tick),
            (_, None) | (None, _) => true,
        }
    }

    /// Whether this was sent over a connection that went with the power: it does not come to the member.
    pub(super) fn is_of_another_connection(&self, way: Way) -> bool {
        match way {
            Way::Connection { boot } => boot != self.power_losses,
            Way::Alone | Way::NewStream | Way::OpenStream => false,
        }
    }

    /// Whether a message makes it write to its disk.
    pub(super) fn writes(&self, message: &Message<Etcd>) -> bool {
        match message {
            Message::Request(request) => self.writes_when_asked(&request.operation),
            Message::Peer(message) => self.writes_when_told(message),
            Message::Reply(_)
            | Message::Write { .. }
            | Message::Written { .. }
            | Message::Read { .. }
            | Message::Shown { .. } => false,
        }
    }

    pub(super) fn writes_when_asked(&self, operation: &Operation) -> bool {
        self.raft.leads() && operation.is_change()
    }

    pub(super) fn writes_when_told(&self, message: &Peer) -> bool {
        match message {
            Peer::Propose(_) => self.raft.leads(),
            Peer::Append { entries, .. } => !entries.is_empty(),
            _ => false,
        }
    }

    /// Whether another member's message says nothing new, now or later. Only where nobody waits for signs of life.
    pub(super) fn knows(&self, message: &Peer) -> bool {
        self.ticked_at.is_none() && self.raft.knows(message)
    }

    /// Entries that all have applied are needed by nobody, unless a refusal is under way that asks for what comes after `refused`: who
    /// has no log keeps no log of them either.
    pub(super) fn forget_applied(members: &mut [&mut Etcd], refused: Option<u32>) {
        let applied = members.iter().filter_map(|member| member.part.as_ref()).map(|part| part.applied);
        if let Some(applied) = applied.chain(refused).min() {
            for part in members.iter_mut().filter_map(|member| member.part.as_mut()) {
                part.raft.forget_up_to(applied);
            }
        }
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.raft.visit(visitor);
        self.ticked_at.iter_mut().for_each(|at| visitor.since(at, LONGEST));
        let wakes =
            self.stuck_until.iter_mut().chain(&mut self.hands_over_at).chain(&mut self.streams_end_at);
        wakes.for_each(|at| visitor.wake(at));
        visit_read(&mut self.reads, visitor);
        self.reading.iter_mut().for_each(|reading| reading.visit(visitor));
        self.next_round.iter_mut().for_each(|query| query.visit(visitor));
        self.renewing.iter_mut().for_each(|renewing| renewing.visit(visitor));
        for (command, until) in &mut self.unled {
            command.visit(visitor);
            until.iter_mut().for_each(|at| visitor.wake(at));
        }
    }
}

impl Etcd {
    /// This member's part among others; who is alone has none, and is told nothing by others.
    pub(super) fn part(&mut self) -> &mut Part {
        match &mut self.part {
            Some(part) => part,
            None => unreachable!("who is alone hears of no others"),
        }
    }

    /// Another member's message.
    pub(super) fn on_message(&mut self, from: u8, message: Peer, cx: &Cx, out: &mut Out) {
        match message {
            Peer::Renew { client, serial, lease } => self.renew_for(from, client, serial, lease, cx, out),
            Peer::Renewed { client, serial, lease, goes_on } => {
                let outcome = match goes_on {
                    Some(ttl) => Outcome::KeptAlive { lease, ttl },
                    None => Outcome::LeaseOver(lease),
                };
                self.answer(client, serial, outcome, out);
            }
            message => self.part().raft.step(from, message, cx),
        }
    }

    /// One of the member's times has come, perhaps.
    pub(super) fn on_timer(&mut self, cx: &Cx) {
        let part = self.part();
        if !part.is_stuck(cx) {
            part.stuck_until = None;
            if let (Some(at), Some(tick)) = (&mut part.ticked_at, cx.settings.tick)
                && cx.monotonic >= *at + tick
            {
                *at = cx.monotonic;
                if std::mem::replace(&mut part.has_begun, true) {
                    part.raft.tick(cx);
                }
            }
        }
        let begins =
            cx.settings.handovers.filter(|_| part.raft.leads()).map(|interval| cx.monotonic + interval);
        part.hands_over_at = part.hands_over_at.filter(|_| begins.is_some()).or(begins);
        if part.hands_over_at.take_if(|at| cx.monotonic >= *at).is_some() {
            part.hands_over_at = begins;
            part.raft.hand_over(cx);
        }
        self.ask_again(cx);
        self.count_leases(cx);
    }

    /// The loop between Raft and the rest, at the end of each step: who leads, what is committed, what was read, what is to be sent.
    pub(super) fn ready(&mut self, writes: bool, cx: &Cx, out: &mut Out) {
        let part = self.part();
        if part.is_stuck(cx) {
            return;
        }
        let gets_stuck =
            cx.settings.stalls.filter(|_| writes && cx.choice == 0).map(|stalls| cx.monotonic + stalls.lasts);
        if gets_stuck.is_some() {
            out.remark = Some("gets its disk stuck");
        }
        if !part.raft.leads() && gets_stuck.is_some() {
            // A follower answers when it has written; a leader sends and writes at the same time.
            part.stuck_until = gets_stuck;
            return;
        }
        loop {
            self.learn_leader(cx, out);
            self.apply_committed(cx, out);
            if !self.answer_reads(cx, out) && self.part().raft.outbox.is_empty() {
                break;
            }
            for (member, message) in std::mem::take(&mut self.part().raft.outbox) {
                out.peer(member, message);
            }
        }
        self.part().stuck_until = gets_stuck;
    }

    /// `updateLead`, `updateLeadership`.
    fn learn_leader(&mut self, cx: &Cx, out: &mut Out) {
        let part = self.part();
        let leader = part.raft.leader;
        if part.leader == leader {
            return;
        }
        part.leader = leader;
        part.streams_end_at = streams_end(leader, cx);
        if leader == Some(cx.me) {
            out.remark.get_or_insert("is elected leader");
        }
        if leader != Some(cx.me) && std::mem::take(&mut part.is_primary) {
            self.lessor = Lessor::default();
        }
        if leader.is_some() {
            for (command, until) in std::mem::take(&mut self.part().unled) {
                if until.is_none_or(|until| cx.monotonic < until) {
                    self.part().raft.propose(command, cx);
                }
            }
            self.ask_anew(cx, out);
        }
    }

    fn apply_committed(&mut self, cx: &Cx, out: &mut Out) {
        let mut cleared: SmallVec<[Origin; 1]> = SmallVec::new();
        while self.part().applied < self.part().raft.committed {
            let part = self.part();
            part.applied += 1;
            let Entry { place, command } = part.raft.entry(part.applied).clone();
            let (leads, boot) = (part.raft.leads(), part.boot);
            let voice = match (leads, place.term == part.raft.term) {
                (false, _) => Voice::Silent,
                (true, true) => Voice::Full,
                (true, false) => Voice::Hoarse,
            };
            let before = self.before();
            let mut ended = None;
            match command {
                Command::Begin => self.on_begin(leads, cx, out),
                Command::Do { origin, operation } => {
                    let Origin { client, serial, .. } = origin;
                    let outcome = self.perform(client, serial, operation, cx, out);
                    if let Some(outcome) = outcome
                        && (origin.member, origin.boot) == (cx.me, boot)
                    {
                        self.answer(client, serial, outcome, out);
                    }
                }
                Command::End(lease) => {
                    ended = Some(lease);
                    // A second word for it: it has ended already.
                    let _ = self.revoke(lease, out);
                }
                Command::Checkpoint { lease, remaining } => {
                    self.kv.checkpoint(lease, Some(remaining));
                    self.plan_checkpoint(lease, cx);
                }
                Command::Clear { lease, origin } => {
                    self.kv.checkpoint(lease, None);
                    self.plan_checkpoint(lease, cx);
                    if (origin.member, origin.boot) == (cx.me, boot) {
                        cleared.push(origin);
                    }
                }
            }
            self.tell(&before, ended, voice, cx, out);
        }
        // Who waits for an entry is woken when it is applied, and runs beside the entries that come with it: here, at the worst, after
        // all of them.
        cleared.into_iter().for_each(|origin| self.renew_cleared(origin, cx, out));
    }

    fn plan_checkpoint(&mut self, lease: LeaseId, cx: &Cx) {
        if self.part().is_primary {
            self.lessor.plan_checkpoint(lease, cx);
        }
    }

    /// The first entry of a leader's term is applied.
    fn on_begin(&mut self, leads: bool, cx: &Cx, out: &mut Out) {
        if self.part().leader == Some(cx.me) {
            self.promote(cx);
        }
        if leads {
            for kv in self.kv.firsts() {
                if let Some(lease) = kv.lease {
                    out.changed(Change::First { key: kv.key, lease });
                }
            }
        }
        // "first commit in current term: resending ReadIndex request"
        if self.part().reading.as_ref().is_some_and(Reading::is_open) {
            self.ask_leader(cx);
        }
    }

    /// The process has started again.
    pub(super) fn rejoin(&mut self, power_lost: bool, cx: &Cx) {
        let is_log_lost = power_lost && cx.settings.log == Log::Unsynced;
        self.watchers.clear();
        self.lessor = Lessor::default();
        if is_log_lost {
            self.kv = Kv::new();
        }
        let part = self.part();
        let (boot, reads) = (part.boot.wrapping_add(1), part.reads);
        let power_losses = part.power_losses.saturating_add(u8::from(power_lost));
        let mut raft = if is_log_lost { Raft::fresh() } else { part.raft.clone() };
        let applied = if is_log_lost { 0 } else { part.applied };
        raft.restart(applied, cx);
        let ticked_at = cx.settings.tick.map(|_| cx.monotonic);
        let fresh = Part::new(cx.me, cx.servers, cx.settings);
        let (leader, is_primary, has_begun) = (raft.leader, raft.leads(), true);
        let streams_end_at = streams_end(leader, cx);
        *part = Part {
            raft,
            applied,
            boot,
            power_losses,
            reads,
            leader,
            streams_end_at,
            is_primary,
            ticked_at,
            has_begun,
            ..fresh
        };
    }
}

/// After how many elections without a leader streams are ended (`maxNoLeaderCnt`). The real one looks once an election.
const ELECTIONS_WITHOUT_LEADER: i64 = 3;

/// When the streams that need a leader end. `None`: there is one, or nobody ever misses it.
fn streams_end(leader: Option<u8>, cx: &Cx) -> Option<Monotonic> {
    let patience = Micros(ELECTIONS_WITHOUT_LEADER * cx.settings.election_timeout.0);
    cx.settings.tick.filter(|_| leader.is_none()).map(|_| cx.monotonic + patience)
}
