//! etcd v3, as far as the recipes on it need it.
//!
//! ```text
//!             range, put, delete, txn, lease, watch               log: one order of all changes
//!   client ──────────────────────────────────────────▶ member ──────────────────────────────────▶ keys, history, leases
//!          ◀──────────────────────────────────────────        ◀── every 500 ms: which leases are over?
//!             reply with the revision, events of a watch
//! ```
//!
//! # What is modelled
//!
//! - One *revision* for the whole store, raised by every entry of the log that changes something; create revision, mod
//!   revision and version of each key ([`KeyValue`]); all of them gone with the key.
//! - *Ranges* by key and by prefix, in the present and at an old revision, with a bound on create revisions, sorted, limited
//!   and counted. *Transactions* with all comparisons and both branches, checked before anything is done.
//! - *Watches*, from now or from an old revision on, on any member: every event once, whole revisions, in order; cancelled if
//!   what they ask for is compacted.
//! - *Leases*: granted and revoked through the log. One member, the leader, counts their time, looks every
//!   [`Settings::expiry_interval`] which are over, and revokes those through the log: late, never early. A lease that is
//!   over and not revoked yet cannot be kept alive any more.
//! - *One, three or five members* (Raft): terms; elections with a question before, of members that wait for times that differ;
//!   a leader that steps down without a quorum; one log, committed by a majority and applied by every member in its time;
//!   changes passed on to the leader, and lost if it changes; linearizable reads that a quorum confirms, and serializable ones
//!   from whatever the member has applied ([`ReadIndex`]). A single member does none of that: it has no log.
//! - *Leases when the leader changes*: the old one stops counting, the new one gives all their full time, or what was left at
//!   the last checkpoint ([`Settings::checkpoints`]), and an election's more (`Promote`). It begins when it has applied all that
//!   was before. Keep-alives go to the leader past the log.
//! - *Leaders that are stuck* ([`Stalls`]), and what they do before they know that they lead no more ([`Office`]).
//! - A restart reads everything from the disk; a single member gives all leases their full time and an election's more.
//!
//! # What is left out, and which failures that hides
//!
//! - *Snapshots of the log.* A leader has all of it, however far a member is behind. Hidden: failures of their replay.
//! - *Changes of membership, learners, witnesses.* Hidden: two majorities that do not meet.
//! - *Panics.* A member that is told that committed entries are others falls silent until it is started again; one that is told of
//!   more committed entries than it has, for its log was lost, ignores that until another leads, as a real one that dies of it again
//!   and again would. Both happen only with [`Log::Unsynced`].
//! - *Errors for want of a leader.* The member says nothing, and the client's time-out ends the call, of which the member is told
//!   ([`Request::patience`]). Only the streams of keep-alives end ([`Outcome::NoLeader`]): at the first message after three elections
//!   without a leader. A read that fails because the leader changed is repeated by the member, not by the client's library.
//! - *Dice at deadlines.* How long a member waits before it stands is drawn out of its number, its term and how often it has drawn.
//! - *Limits on what is sent at a time*, and probing: a leader sends what is new at once.
//! - *The spreading of piled-up leases* by a new leader, which delays ends further.
//! - *Connections.* Each call of gRPC goes by itself, may be lost or doubled, and is overtaken by others; members handle calls of
//!   one connection each by itself, so they may really overtake one another. A doubled call is what a client's repetition on
//!   another connection is, when the first one arrives late. No reset tells a client that a member's process is gone: it
//!   learns that by its own time-out, or, of a watch, when the process is back. A host that has lost its power knows nothing of
//!   the connections from before ([`Way::Connection`]).
//! - *The stream of keep-alives and of watches.* Their messages go alone, too; they stay with one member ([`session`]). Events of
//!   one watch may overtake each other on the way, where a stream would keep their order: who waits here waits for one event.
//! - *Synced and unsynced watchers*, events in fragments, progress notifications: a watch that begins in the past has its
//!   events at once.
//! - *What a sync takes*, and the batches of the backend: a step is one moment.
//! - *Nested transactions, `prev_kv`, `keys_only`, filters, roles and users, quotas, alarms, limits on sizes.*
//!
//! # What it tells
//!
//! Keys mean nothing to a member. It tells of those that are bound to a lease: of each that is created, of those that go
//! because their lease has run out, and which one of a prefix was created first ([`Change`]).

mod election;
mod kv;
mod lessor;
mod member;
mod names;
mod peer;
mod protocol;
mod raft;
mod reads;
mod replication;
mod serving;
pub mod session;
mod settings;
#[cfg(test)]
mod tests;
mod visit;
mod wording;

pub use names::{Key, KeyValue, LeaseId, Name, Revision, Value};
pub use peer::{Command, Entry, Origin, Peer, Place, ReadId};
pub use protocol::*;
pub use settings::*;

use crate::machine::{Context, Effects, Message, Store, Visitor, put_in_order};
use crate::time::{Due, Micros, Wall};
use kv::Kv;
use lessor::{Lessor, Renewal};
use member::Part;
use picklock_properties::FencingToken;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// One member.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Etcd {
    /// What it has applied.
    kv: Kv,
    lessor: Lessor,
    watchers: SmallVec<[Watcher; 2]>,
    /// The highest revision that there ever was, where a loss of power makes the store count anew ([`Log::Unsynced`]): then
    /// numbers from before the loss are compared with later ones as they are; and where others are behind. Zero elsewhere.
    highest: Revision,
    /// Its part among others; who is alone has none.
    part: Option<Box<Part>>,
}

/// Where a member stands in Raft.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Who leads, for all it knows.
    pub leader: Option<u8>,
    /// The term it is in.
    pub term: u32,
    /// How much of the log a majority has, for all it knows.
    pub committed: u32,
    /// How much of that it has applied.
    pub applied: u32,
}

/// A watch that a client has begun here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Watcher {
    client: u8,
    serial: u32,
    keys: Keys,
    /// Nothing below this revision is meant; zero once it has come.
    from: Revision,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Etcd>;

impl Etcd {
    /// A key, as this member has it.
    pub fn get(&self, key: Key) -> Option<&KeyValue> {
        self.kv.get(key)
    }

    /// Where this member's store is.
    pub fn revision(&self) -> Revision {
        self.kv.revision
    }

    /// Whether there is this lease, as far as this member knows.
    pub fn has_lease(&self, lease: LeaseId) -> bool {
        self.kv.lease(lease).is_some()
    }

    /// A key as it was at a revision that is not compacted, as far as this member knows.
    pub fn get_at(&self, key: Key, at: Revision) -> Option<&KeyValue> {
        self.kv.get_at(key, at)
    }

    /// The leases that there are, in order, as far as this member knows.
    pub fn leases(&self) -> impl Iterator<Item = LeaseId> {
        self.kv.leases().iter().map(|lease| lease.id)
    }

    /// When a lease is over, by this member's clock, if it is the one that counts.
    pub fn lease_over_at(&self, lease: LeaseId) -> Option<Due> {
        self.lessor.over_at(lease)
    }

    /// What this member knows of the others: for who is alone, a term and a log of nothing but its changes.
    pub fn standing(&self) -> Standing {
        match &self.part {
            None => Standing {
                leader: Some(0),
                term: 1,
                committed: self.kv.revision.0,
                applied: self.kv.revision.0,
            },
            Some(part) => Standing {
                leader: part.raft.leader,
                term: part.raft.term,
                committed: part.raft.committed,
                applied: part.applied,
            },
        }
    }

    fn answer(&self, client: u8, serial: u32, outcome: Outcome, out: &mut Out) {
        out.reply(client, Reply { serial, revision: self.kv.revision, outcome });
    }

    /// One entry of the log, or a read, from the beginning to the answer. `None`: there is nothing to answer yet.
    fn perform(
        &mut self,
        client: u8,
        serial: u32,
        operation: Operation,
        cx: &Cx,
        out: &mut Out,
    ) -> Option<Outcome> {
        let done = match operation {
            Operation::Range(range) => self.kv.range(&range).map(Outcome::Range),
            Operation::Put(put) => self.kv.put(&put).map(|()| Outcome::Put),
            Operation::Delete(keys) => Ok(Outcome::Deleted(self.kv.delete(keys))),
            Operation::Txn(txn) => {
                self.kv.txn(&txn).map(|(succeeded, responses)| Outcome::Txn { succeeded, responses })
            }
            Operation::Compact(at) => self.kv.compact(at).map(|()| Outcome::Compacted),
            Operation::Grant { ttl } => self.grant(LeaseId { client, serial }, ttl, cx),
            Operation::GrantAs { lease, ttl } => self.grant(lease, ttl, cx),
            Operation::Revoke(lease) => self.revoke(lease, out).map(|()| Outcome::Revoked),
            Operation::KeepAlive(lease) => match self.kv.lease(lease).map(|lease| lease.ttl) {
                None => Ok(Outcome::LeaseOver(lease)),
                Some(ttl) => match self.lessor.renew(lease, ttl, (client, serial), cx) {
                    Renewal::Renewed => Ok(Outcome::KeptAlive { lease, ttl }),
                    Renewal::Waits => return None,
                },
            },
            Operation::TimeToLive(lease) => Ok(Outcome::TimeToLive {
                granted: self.kv.lease(lease).and_then(|lease| lease.ttl),
                keys: self.kv.keys_of(lease).map(|kv| kv.key).collect(),
            }),
            Operation::Watch { keys, start } => Ok(self.watch(client, serial, keys, start, out)),
        };
        Some(done.unwrap_or_else(Outcome::Failed))
    }

    fn grant(&mut self, lease: LeaseId, ttl: Option<Micros>, cx: &Cx) -> Result<Outcome, Error> {
        let ttl = ttl.map(|ttl| ttl.max(cx.settings.lease_ttl_min));
        let counts = self.part.as_ref().is_none_or(|part| part.is_primary);
        self.kv.grant(lease, ttl)?;
        if counts {
            self.lessor.refresh(lease, ttl, Micros::ZERO, cx);
        }
        Ok(Outcome::Granted { lease, ttl })
    }

    fn revoke(&mut self, lease: LeaseId, out: &mut Out) -> Result<(), Error> {
        self.kv.revoke(lease)?;
        for (client, serial) in self.lessor.forget(lease) {
            self.answer(client, serial, Outcome::LeaseOver(lease), out);
        }
        Ok(())
    }

    /// A watch begins. Said again, it begins anew: the library does so when it has lost its stream.
    fn watch(&mut self, client: u8, serial: u32, keys: Keys, start: Start, out: &mut Out) -> Outcome {
        self.cancel(client, serial);
        let events = match self.kv.events(keys, start) {
            Ok(events) => events,
            Err(compact_revision) => return Outcome::WatchCanceled { compact_revision },
        };
        let from = match start {
            Start::At(from) if from > self.kv.revision => from,
            Start::At(_) | Start::Now => Revision::ZERO,
        };
        self.watchers.push(Watcher { client, serial, keys, from });
        self.watchers.sort_unstable();
        if !events.is_empty() {
            self.answer(client, serial, Outcome::Events(events), out);
        }
        Outcome::Watching { boot: self.part.as_ref().map_or(0, |part| part.power_losses) }
    }

    fn cancel(&mut self, client: u8, serial: u32) {
        self.watchers.retain(|watcher| (watcher.client, watcher.serial) != (client, serial));
    }

    /// Tells watchers, and whoever reads the changes, what has changed since `before`; by the end of which lease, if it ran out.
    fn tell(&mut self, before: &Before, ended: Option<LeaseId>, voice: Voice, cx: &Cx, out: &mut Out) {
        if self.kv.revision == before.revision {
            return;
        }
        if cx.settings.log == Log::Unsynced || self.part.is_some() {
            self.highest = self.highest.max(self.kv.revision);
        }
        let events: SmallVec<[WatchEvent; 4]> = self.kv.events_after(before.revision).copied().collect();
        let mut watchers = std::mem::take(&mut self.watchers);
        for watcher in &mut watchers {
            if self.kv.revision < watcher.from {
                continue;
            }
            watcher.from = Revision::ZERO;
            let meant = events.iter().filter(|event| watcher.keys.contains(event.key()));
            let meant: SmallVec<[WatchEvent; 1]> = meant.copied().collect();
            if !meant.is_empty() {
                for event in &meant {
                    if let WatchEvent::Delete { key, .. } = *event
                        && let Some((_, lease)) = before.bound.iter().find(|(bound, _)| *bound == key)
                    {
                        out.changed(Change::Notified { key, lease: *lease, client: watcher.client });
                    }
                }
                self.answer(watcher.client, watcher.serial, Outcome::Events(meant), out);
            }
        }
        self.watchers = watchers;
        if voice == Voice::Silent {
            return;
        }
        for event in &events {
            match event {
                WatchEvent::Put(KeyValue { key, version: 1, lease: Some(lease), .. }) => {
                    out.changed(Change::Created { key: *key, lease: *lease });
                }
                WatchEvent::Put(_) => {}
                WatchEvent::Delete { key, .. } => {
                    if let Some(lease) = ended {
                        out.changed(Change::Gone { key: *key, lease });
                    }
                }
            }
        }
        if voice == Voice::Hoarse {
            return;
        }
        for kv in self.kv.firsts() {
            if !before.firsts.contains(&(kv.key, kv.create_revision))
                && let Some(lease) = kv.lease
            {
                out.changed(Change::First { key: kv.key, lease });
            }
        }
    }

    fn before(&self) -> Before {
        let firsts = self.kv.firsts().map(|kv| (kv.key, kv.create_revision)).collect();
        // Of interest to watchers alone.
        let keys = if self.watchers.is_empty() { &[] } else { self.kv.keys() };
        let bound = keys.iter().filter_map(|kv| Some((kv.key, kv.lease?))).collect();
        Before { revision: self.kv.revision, firsts, bound }
    }
}

/// How much of a change a member tells to whoever reads the changes: one of them is enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Voice {
    /// All of it: it is alone, or leads and has ordered this itself.
    Full,
    /// Not who is first now: an earlier leader has ordered this, and perhaps told it.
    Hoarse,
    /// Nothing: it does not lead.
    Silent,
}

/// What a change is told by.
struct Before {
    revision: Revision,
    /// Of each prefix, the key created first of those that are bound to a lease.
    firsts: SmallVec<[(Key, Revision); 2]>,
    /// Which keys go with which leases.
    bound: SmallVec<[(Key, LeaseId); 2]>,
}

impl Store for Etcd {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Change = Change;

    const PEERS_IN_ORDER: bool = true;
    const SHOWS_CLIENTS: bool = true;
    const TELLS_OF_ENDS: bool = true;

    fn reads_wall_clock(settings: &Settings) -> bool {
        settings.lease_clock == LeaseClock::Wall
    }

    fn leads(&self) -> bool {
        self.part.as_ref().is_none_or(|part| part.raft.leads())
    }

    fn is_notice(reply: &Reply) -> bool {
        matches!(reply.outcome, Outcome::Events(_))
    }

    fn new(me: u8, servers: u8, settings: &Settings) -> Self {
        let part = (servers > 1).then(|| Box::new(Part::new(me, servers, settings)));
        let highest = match (settings.log, &part) {
            (Log::Synced, None) => Revision::ZERO,
            (Log::Unsynced, _) | (_, Some(_)) => Revision::FIRST,
        };
        Etcd { kv: Kv::new(), lessor: Lessor::default(), watchers: SmallVec::new(), highest, part }
    }

    fn on_request(&mut self, from: u8, request: Request, cx: &Cx, out: &mut Out) {
        if let Some(watch) = request.cancels {
            self.cancel(from, watch);
        }
        if let Some(part) = &self.part {
            if part.is_of_another_connection(request.way) {
                return;
            }
            let writes = part.writes_when_asked(&request.operation);
            self.ask(from, request, cx, out);
            return self.ready(writes, cx, out);
        }
        let Request { serial, operation, .. } = request;
        let before = self.before();
        let outcome = self.perform(from, serial, operation, cx, out);
        if let Some(outcome) = outcome {
            self.answer(from, serial, outcome, out);
        }
        self.tell(&before, None, Voice::Full, cx, out);
    }

    fn on_peer(&mut self, from: u8, message: Peer, cx: &Cx, out: &mut Out) {
        let writes = self.part().writes_when_told(&message);
        self.on_message(from, message, cx, out);
        self.ready(writes, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        if self.part.is_some() {
            self.on_timer(cx);
            return self.ready(false, cx, out);
        }
        for lease in self.lessor.revoking() {
            let before = self.before();
            if self.revoke(lease, out).is_err() {
                unreachable!("a lease that ends otherwise is not counted any more");
            }
            self.tell(&before, Some(lease), Voice::Full, cx, out);
        }
        self.lessor.look(cx);
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Cx, out: &mut Out) {
        if self.part.is_some() {
            return self.rejoin(power_lost, cx);
        }
        match (power_lost, cx.settings.log) {
            (true, Log::Unsynced) => {
                let fresh = Etcd { highest: self.highest, ..Etcd::new(cx.me, cx.servers, cx.settings) };
                let lost = std::mem::replace(self, fresh);
                for kv in lost.kv.keys() {
                    if let Some(lease) = kv.lease {
                        out.changed(Change::Gone { key: kv.key, lease });
                    }
                }
            }
            (false, Log::Unsynced) | (_, Log::Synced) => {
                self.watchers.clear();
                self.lessor = Lessor::default();
                let Etcd { kv, lessor, .. } = self;
                for lease in kv.leases() {
                    lessor.refresh(lease.id, lease.ttl, cx.settings.election_timeout, cx);
                }
            }
        }
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        let of_leases = self.lessor.deadlines(settings)[0];
        match self.part.as_ref().and_then(|part| part.deadline(settings)) {
            None => of_leases,
            Some(at) => of_leases.into_iter().chain([Due::Monotonic(at)]).min(),
        }
    }

    fn other_deadline(&self, settings: &Settings) -> Option<Due> {
        self.lessor.deadlines(settings)[1]
    }

    fn choices(&self, message: &Message<Self>, _servers: u8, settings: &Settings) -> u32 {
        match (settings.stalls, &self.part) {
            (Some(Stalls { one_in, .. }), Some(part)) if part.writes(message) => one_in.max(1),
            (_, _) => 1,
        }
    }

    fn is_durable(settings: &Settings) -> bool {
        settings.log == Log::Synced
    }

    fn dismisses(&self, message: &Peer) -> bool {
        self.part.as_ref().is_some_and(|part| part.knows(message))
    }

    fn surroundings(settings: &Settings) -> Vec<String> {
        let disks = settings.stalls.map(|Stalls { one_in, lasts }| {
            format!("of {one_in} messages that make a member write, one gets its disk stuck for {lasts}")
        });
        let operator =
            settings.handovers.map(|interval| format!("the leader hands its office over every {interval}"));
        disks.into_iter().chain(operator).collect()
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.kv.visit(visitor);
        // All of them, so that their order says as much as they do.
        (0..=self.highest.0).for_each(|at| Revision(at).visit(visitor));
        self.highest.visit(visitor);
        self.lessor.visit(visitor);
        self.watchers.iter_mut().for_each(|watcher| watcher.visit(visitor));
        put_in_order::<V, _, _>(&mut self.watchers, |watcher| *watcher);
        self.part.iter_mut().for_each(|part| part.visit(visitor));
    }

    fn visit_fence<V: Visitor>(token: &mut FencingToken, visitor: &mut V) {
        names::visit_token(token, visitor);
    }

    fn settle(
        servers: &mut [&mut Self],
        in_flight: &mut dyn Iterator<Item = &Message<Self>>,
        _horizon: Wall,
        settings: &Settings,
    ) {
        let (mut oldest, mut refused) = (None, None);
        for message in in_flight {
            match message {
                Message::Reply(Reply { revision: asked_for, .. })
                | Message::Request(Request {
                    operation: Operation::Watch { start: Start::At(asked_for), .. },
                    ..
                }) => oldest = Some(oldest.map_or(*asked_for, |oldest: Revision| oldest.min(*asked_for))),
                // The leader will send again from there, whatever has been applied since.
                Message::Peer(Peer::Appended { refused: Some(hint), .. }) => {
                    refused = Some(refused.map_or(*hint, |refused: u32| refused.min(*hint)));
                }
                Message::Request(_)
                | Message::Peer(_)
                | Message::Write { .. }
                | Message::Written { .. }
                | Message::Read { .. }
                | Message::Shown { .. } => {}
            }
        }
        if settings.log == Log::Synced {
            Part::forget_applied(servers, refused);
        }
        if settings.history == History::Kept {
            return;
        }
        for server in servers {
            // A message more never makes a server forget more, as the contract has it: not even one that lags behind it.
            let oldest = oldest.map_or(server.kv.revision, |oldest| oldest.min(server.kv.revision));
            server.kv.forget_events_before(oldest);
        }
    }

    fn may_keep(message: &Message<Self>) -> bool {
        matches!(
            message,
            Message::Reply(_)
                | Message::Request(Request { operation: Operation::Watch { start: Start::At(_), .. }, .. })
                | Message::Peer(Peer::Appended { refused: Some(_), .. })
        )
    }

    fn contents(&self) -> Vec<String> {
        let revision = format!("revision {}", self.kv.revision);
        let keys = self.kv.keys().iter().map(|kv| kv.to_string());
        let leases = self.kv.leases().iter().map(|lease| format!("lease {}", lease.id));
        let part = self.part.as_ref().map(|part| part.raft.describe());
        part.into_iter().chain([revision]).chain(keys).chain(leases).collect()
    }
}
