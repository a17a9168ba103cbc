//! Redis, as far as the Redlock article, *Distributed Locks with Redis*, and its recipes need it.
//!
//! ```text
//!              request                   ping, change, snapshot
//!   client ───────────────▶ server ─────────────────────────────▶ replicas, with Layout::Replicated
//!          ◀─────────────── master  ◀─────────────────────────────
//!               reply                       ack, send all
//! ```
//!
//! Said of the real server: version 7.0, by its source.
//!
//! # What is modelled
//!
//! - Each command and each script is one step. Scripts are those of the Redlock article and its implementations, as commands of
//!   their own ([`Command`]).
//! - Expiry in whole milliseconds, on the wall clock by default. A key lives through the whole millisecond of its death
//!   (`src/db.c` `keyIsExpired` says `now > when`): `PX 2000` is more than 2.000 s, and up to 2.001 s. Expired keys are
//!   not shown, and go at once: [`Store::deadline`] and every entry stand for the active expiry cycle. A wall clock that
//!   steps forward kills keys; one that steps back lets them live longer, and revives none that is gone.
//! - Persistence, and what a crash of the process or a power loss leaves of it. Moments of death are absolute in the
//!   file (`PXAT`, `PEXPIREAT`): keys go on dying while the server is down.
//! - Eviction by number of keys, another tenant, a delay after a restart.
//! - Asynchronous replication of effects, full resynchronisation, promotion of a replica, demotion of an old master,
//!   `WAIT`. The network may lose and reorder what TCP would not: a replica applies only the change that follows its
//!   last one, and asks for everything when it sees a gap. Role and epoch are durable.
//! - A [`Change`] whenever a key holds another value than before, or none. Keys' names mean nothing to the server.
//! - Sorted sets, as far as semaphores are built on them (`ZADD`, `ZREM`, `ZRANK`, `ZREMRANGEBYSCORE key -inf …`, one form of
//!   `ZINTERSTORE`), and scripts and transactions of any of these commands ([`Command::Script`]).
//!
//! # Decisions where the real server has none, or another
//!
//! - *`SET … PX 0` or less* and the overflow of a counter have errors of their own in the real server ("invalid expire
//!   time", "would overflow"); here they are [`ServerError::NotAnInteger`], which ends with "or out of range".
//! - *[`ExpiryClock::Monotonic`]*: a node's monotonic clock goes on through a crash here, and moments are kept as they
//!   are. That stands for a server that carries the time it was down over by other means; hidden is every error in that
//!   (a wall clock set while the machine was off). To a replica goes what is left of the life, from its arrival on.
//! - *[`Persistence::AofEverySecond`]*: the second begins with the first change after a sync, so that a server at rest has
//!   no timer. The real one compares whole seconds of its wall clock (`src/aof.c` `flushAppendOnlyFile`), writes from
//!   another thread, and may be two seconds late on a busy disk; set back, its clock puts the sync off for as long.
//! - *[`Persistence::Rdb`]*: a snapshot is taken in one step, when it is due; the real server looks ten times a second, by
//!   whole seconds of its wall clock, and forks (`src/server.c` `serverCron`, `src/rdb.c` `rdbSaveBackground`). Its time is
//!   counted from the first change, not from the start, and what expires counts as a change. A process that is *asked* to
//!   end (`SHUTDOWN`, SIGTERM) saves first; a crash here is one that is not asked.
//! - *[`Settings::keys_max`]* counts keys, not bytes. A command that may need memory is turned down, or something is
//!   evicted, when the memory is full before it, even if it would only overwrite; the real server waits until the
//!   memory is *over* the limit, and evicts before any command. Its LRU samples five keys; here it is exact.
//! - *A sorted set* that changes is replicated as a whole, and its coming and going is no [`Change`]. Members of equal score
//!   are ordered by who drew their names, and not by the bytes of those. A set among several keys counts as one.
//! - *A transaction* ([`Command::Script`] without conditions) goes on after an error in the real server; here it ends there.
//!   Numbers that pass through a script are rounded to doubles in the real server; here they stay.
//! - *The other tenant* writes a new key each time. Its numbers start again after `keys_max` keys, when its oldest is
//!   gone by then; without a limit its keys are in nobody's way, and it has one. Its timer starts anew on a restart.
//! - *`WAIT`* after a command that changed nothing replies at once; the real one waits for all earlier changes. A server
//!   that is no longer master never replies (the real one unblocks its clients with an error).
//!
//! # What is left out, and which failures that hides
//!
//! - *Sentinel and its quorum.* A replica decides by itself that its master is dead, the lower number first. Hidden: a
//!   failover that does not come because too few Sentinels see each other, or comes late; added: promotions that a
//!   quorum would have refused, as when only the link between master and replica is cut. The old master is told by
//!   pings, clients are told by nobody: they must find the master themselves.
//! - *The use of keys on replicas.* Reads on the master are not replicated: a replica that is promoted evicts in another
//!   order, in the real server too.
//! - *The better replica.* Sentinel promotes the one with the largest offset; here it is the first one, which may have
//!   less.
//! - *Partial resynchronisation, the backlog, diskless loading, chained replicas.* A gap always costs a snapshot; it is
//!   one message, and applied in one step. Hidden: a replica that answers while it loads.
//! - *`min-replicas-to-write`*, and a master that stops by itself.
//! - *AOF rewriting, AOF and snapshots together, a damaged file.* Hidden: an AOF cut short.
//! - *Cluster, modules, `MULTI`, blocking commands, keyspace notifications.*
//! - *A slow command or a fork that stops the server.* The engine's pauses do that.
//!
//! # In the exhaustive engine
//!
//! A tick is a second, and an event happens just after one: a key that gets `PX 1999` in one tick dies two ticks later,
//! with `PX 2000` three. In an untimed world every due moment has come: keys with a time to live are dead at the next
//! entry; leave it out there. With [`Layout::Replicated`], where deaths are compared with several clocks, they never come
//! in an untimed world. Epochs stay as they are: the space is finite if promotions are (a timed world in which only
//! counted faults make a replica miss its master).

mod commands;
mod keyspace;
mod peer;
mod protocol;
mod replication;
mod sorted;
#[cfg(test)]
mod tests;

pub use peer::{Effect, Lifetime, Peer, Put};
pub use protocol::*;
pub use sorted::{Content, Member, Members};

use crate::machine::{Context, Effects, Store, Visitor};
use crate::time::{Due, Micros, Monotonic};
use keyspace::{Keyspace, Turn};
use replication::Replication;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How the servers are configured. The same on all of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Independent masters, or one master with replicas.
    pub layout: Layout,
    /// Which clock says that a key has expired.
    pub expiry_clock: ExpiryClock,
    /// What survives the end of the process, and a power loss.
    pub persistence: Persistence,
    /// For how long a server that starts again turns nobody's request down and answers none, on its monotonic clock
    /// (the Redlock article: "stays unavailable for a bit more than the largest TTL in use"). `None`: it serves at once.
    pub restart_delay: Option<Micros>,
    /// What happens when there are more keys than `keys_max`.
    pub eviction: Eviction,
    /// How many keys fit into the memory; `None`: any number.
    pub keys_max: Option<u16>,
    /// Somebody else who uses the same servers.
    pub tenant: Option<Tenant>,
}

/// How the servers stand to each other.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Layout {
    /// All are masters and know nothing of each other (Redlock).
    #[default]
    Independent,
    /// The first is a master, all others are its replicas; when they miss it for too long, the next one is promoted.
    Replicated {
        /// How often a master tells its replicas that it lives, and how much it has written.
        ping_period: Micros,
        /// For how long a replica hears nothing before it takes its master for dead (Sentinel's
        /// `down-after-milliseconds`).
        down_after: Micros,
    },
}

/// Which clock says that a key has expired.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ExpiryClock {
    /// The wall clock, as in the real server (`src/server.c` `ustime`, `src/db.c` `keyIsExpired`).
    #[default]
    Wall,
    /// The monotonic clock: what the catalogue proposes (row R3).
    Monotonic,
}

/// What survives the end of the process, and a power loss.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Persistence {
    /// Nothing: neither AOF nor snapshots.
    #[default]
    None,
    /// `appendfsync everysec`: the end of the process costs nothing, a power loss what was written since the last sync.
    ///
    /// Left out: a real server on a busy disk puts off the write itself for up to two seconds (`flushAppendOnlyFile`), and answers meanwhile.
    /// That hides that the end of the process alone may cost what was acknowledged, and a power loss two seconds of it.
    AofEverySecond,
    /// `appendfsync always`: nothing that was acknowledged is lost.
    AofAlways,
    /// `appendonly no` and `save 3600 1 300 100 60 10000`, which is what Redis does if it is told nothing else: a snapshot
    /// now and then. The end of the process costs as much as a power loss does, all that was written since the last one.
    Rdb,
}

/// `maxmemory-policy`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Eviction {
    /// `noeviction`: commands that may grow the memory are turned down.
    #[default]
    No,
    /// `allkeys-lru`: the key goes that was not used for longest.
    AllKeysLru,
}

/// Somebody else who uses the same servers, by a monotonic timer of the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tenant {
    /// How often.
    pub period: Micros,
    /// What.
    pub does: TenantDoes,
}

/// What the other tenant does each time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TenantDoes {
    /// Writes a new key of its own.
    Writes,
    /// `FLUSHALL`.
    FlushesAll,
}

/// One server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Redis {
    keys: Keyspace,
    /// Until when it answers nobody after a restart ([`Settings::restart_delay`]).
    closed_until: Option<Monotonic>,
    tenant: Option<TenantState>,
    /// Boxed, as most servers have none.
    replication: Option<Box<Replication>>,
}

/// Where the other tenant stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct TenantState {
    due: Monotonic,
    /// The number of its next key.
    next: u32,
}

impl Redis {
    /// What a key holds, and from which moment of this server's clock on it is dead, if ever: for who watches a run.
    /// `None`: there is no such key, or it holds a sorted set.
    pub fn key(&self, key: Key) -> Option<(Value, Option<Due>)> {
        self.keys.peek(key).and_then(|record| Some((record.content.value()?, record.dies)))
    }

    /// Whether the port is closed.
    fn is_closed(&self, cx: &Context<Settings>) -> bool {
        self.closed_until.is_some_and(|until| cx.monotonic < until)
    }

    /// When the next key dies, if this server is who removes it.
    fn next_death(&self) -> Option<Due> {
        if self.is_master() { self.keys.next_death() } else { None }
    }

    /// How far it has come in what it replicates, or in what is replicated to it: the term's epoch, and the count of its
    /// changes. `None`: it has no replicas and is none, or has nothing of this term yet. For who watches a run.
    pub fn replicated(&self) -> Option<(u32, u32)> {
        self.replication.as_ref()?.progress()
    }

    /// Whether it takes writes, for all it knows.
    pub fn is_master(&self) -> bool {
        self.replication.as_ref().is_none_or(|replication| replication.is_master())
    }

    fn turn<'a>(
        &self,
        by: Option<u8>,
        cx: &'a Context<'a, Settings>,
        effects: &'a mut Effects<Redis>,
    ) -> Turn<'a> {
        let reports = self.replication.as_ref().is_none_or(|replication| replication.reports());
        Turn { cx, effects, by, reports, changed: self.replication.as_ref().map(|_| SmallVec::new()) }
    }

    /// The other tenant does what it does.
    fn serve_tenant(&mut self, does: TenantDoes, turn: &mut Turn) {
        match does {
            TenantDoes::FlushesAll => {
                turn.effects.remark = Some("somebody else: FLUSHALL");
                self.keys.clear(turn);
            }
            TenantDoes::Writes => {
                let Some(TenantState { next, .. }) = &mut self.tenant else { return };
                turn.effects.remark = Some("somebody else: SET");
                let key = Key { word: Key::TENANTS, number: *next };
                let value = Value::Integer(0);
                match self.keys.run(&Command::Set { key, value, if_absent: false, ttl: None }, turn) {
                    Outcome::Ok => {
                        *next =
                            (*next + 1) % turn.cx.settings.keys_max.map_or(1, |max| u32::from(max.max(1)));
                    }
                    // The memory is full: it will try again.
                    Outcome::Error(_) | Outcome::Nil | Outcome::Bulk(_) | Outcome::Integer(_) => {}
                }
            }
        }
    }
}

impl Store for Redis {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Change = Change;

    const SETTLES: bool = false;
    const SHOWS_CLIENTS: bool = true;
    const TELLS_OF_ENDS: bool = true;

    const PEERS_IN_ORDER: bool = true;

    fn new(me: u8, servers: u8, settings: &Settings) -> Self {
        assert!((1..=16).contains(&servers), "between one and sixteen servers");
        let replication = match settings.layout {
            Layout::Independent => None,
            Layout::Replicated { ping_period, down_after } => {
                Some(Box::new(Replication::new(me, ping_period, down_after)))
            }
        };
        let tenant = settings.tenant.map(|tenant| TenantState { due: Monotonic(0) + tenant.period, next: 0 });
        Redis { keys: Keyspace::default(), closed_until: None, tenant, replication }
    }

    fn is_durable(settings: &Settings) -> bool {
        settings.persistence == Persistence::AofAlways
    }

    fn fails_over(settings: &Settings) -> bool {
        matches!(settings.layout, Layout::Replicated { .. })
    }

    fn keeps_keys(settings: &Settings) -> bool {
        let flushes = settings.tenant.is_some_and(|tenant| tenant.does == TenantDoes::FlushesAll);
        !flushes && (settings.keys_max.is_none() || settings.eviction == Eviction::No)
    }

    fn surroundings(settings: &Settings) -> Vec<String> {
        let tenant = settings.tenant.map(|Tenant { period, does }| match does {
            TenantDoes::FlushesAll => format!("somebody else says FLUSHALL every {period}"),
            TenantDoes::Writes => format!("somebody else writes a key every {period}"),
        });
        let memory = settings.keys_max.map(|keys| match settings.eviction {
            Eviction::No => format!("the memory holds {keys} keys, and more are turned down (noeviction)"),
            Eviction::AllKeysLru => {
                format!("the memory holds {keys} keys, and evicts what is unused for longest (allkeys-lru)")
            }
        });
        tenant.into_iter().chain(memory).collect()
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        if self.is_closed(cx) {
            return;
        }
        let Request { serial, command, wait } = request;
        if !self.is_master() {
            let outcome = self.keys.run_read_only(&command, cx);
            effects.reply(from, Reply { serial, outcome });
            return;
        }
        let mut turn = self.turn(Some(from), cx, effects);
        self.keys.expire(&mut turn);
        let outcome = self.keys.run(&command, &mut turn);
        let changed = turn.changed;
        let reply = Reply { serial, outcome };
        if let (Some(replication), Some(changed)) = (&mut self.replication, changed) {
            let offset = replication.propagate(changed, wait, cx, effects);
            if offset.is_some_and(|offset| wait && replication.withhold(from, reply, offset, cx)) {
                return;
            }
        }
        effects.reply(from, reply);
    }

    fn on_peer(&mut self, from: u8, message: Peer, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        if !self.is_closed(cx) {
            self.follow(from, message, cx, effects);
        }
    }

    fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        let is_closed = self.is_closed(cx);
        if !is_closed {
            self.closed_until = None;
        }
        let is_promoted = !is_closed
            && self.replication.as_mut().is_some_and(|replication| replication.on_deadline(cx, effects));
        let mut turn = self.turn(None, cx, effects);
        if self.is_master() {
            self.keys.expire(&mut turn);
        }
        if let (Some(state), Some(tenant)) = (&mut self.tenant, cx.settings.tenant)
            && cx.monotonic >= state.due
        {
            state.due = cx.monotonic + tenant.period;
            if self.is_master() && !is_closed {
                self.serve_tenant(tenant.does, &mut turn);
            }
        }
        // Nobody follows a new master yet: who does will ask for everything.
        if let (Some(replication), Some(changed), false) = (&mut self.replication, turn.changed, is_promoted)
        {
            replication.propagate(changed, false, cx, effects);
        }
        if self.keys.sync_due().is_some_and(|due| due <= cx.monotonic) {
            self.keys.sync(cx);
        }
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        self.closed_until =
            cx.settings.restart_delay.filter(|delay| delay.0 > 0).map(|delay| cx.monotonic + delay);
        let opens = self.closed_until.unwrap_or(cx.monotonic);
        let is_master = self.is_master();
        self.keys.restart(power_lost, is_master, &mut self.turn(None, cx, effects));
        if let Some(replication) = &mut self.replication {
            replication.restart(opens, cx.me);
        }
        if let (Some(state), Some(tenant)) = (&mut self.tenant, cx.settings.tenant) {
            state.due = opens + tenant.period;
        }
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let wakes = [
            self.closed_until,
            self.keys.sync_due(),
            self.tenant.map(|tenant| tenant.due),
            self.replication.as_ref().map(|replication| replication.deadline()),
        ];
        let timer = wakes.into_iter().flatten().min().map(Due::Monotonic);
        let death = self.next_death().filter(|due| matches!(due, Due::Monotonic(_)));
        timer.into_iter().chain(death).min()
    }

    /// The death of a key by the wall clock: no timer may wait for a clock that may be set back.
    fn other_deadline(&self, _settings: &Settings) -> Option<Due> {
        self.next_death().filter(|due| matches!(due, Due::Wall(_)))
    }

    fn dismisses(&self, message: &Peer) -> bool {
        self.replication.as_ref().is_some_and(|replication| replication.dismisses(message))
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.keys.visit(self.replication.is_some(), visitor);
        self.closed_until.iter_mut().for_each(|at| visitor.wake(at));
        self.tenant.iter_mut().for_each(|tenant| visitor.wake(&mut tenant.due));
        self.replication.iter_mut().for_each(|replication| replication.visit(visitor));
    }

    fn contents(&self) -> Vec<String> {
        let role = self.replication.as_ref().map(|replication| replication.contents());
        role.into_iter().chain(self.keys.contents()).collect()
    }
}
