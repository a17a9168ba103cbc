//! A Redis as its clients know it: all types of values, several databases, keys and values of any bytes.
//!
//! The [model's Redis](picklock_model::stores::redis) is made for a search: its keys and values are small numbers, and every
//! state is compared with millions of others. Here is what the model leaves out, on a machine of its own in the same shell
//! ([`Servers`](crate::serve::Servers)), with the same behaviour where the model has one: expiry by whole milliseconds of the
//! server's wall clock, what `appendfsync` and snapshots leave of it after a crash or a loss of power, asynchronous
//! replication, promotion and demotion. A test holds the two against each other, command by command, through crashes.
//!
//! Left out, beyond what the model leaves out: streams, geo, bitmaps, HyperLogLog, access lists, cluster, modules, client-side
//! caching, memory in bytes (`maxmemory` is a number of keys). Sentinel's part is played by the replicas themselves.

#[cfg(test)]
mod agreement;
mod content;
mod disk;
mod keyspace;
mod replication;
mod settings;
mod table;
mod text;

pub use content::{Content, Score, Sorted};
pub use keyspace::{DATABASES, Entry, Keyspace, Place, unix_micros, unix_ms};
pub use replication::Peer;
pub use settings::Settings;
pub use table::{Named, Slot};

use keyspace::{Places, each_once};
use picklock_model::machine::{Context, Effects, Silence, Store, Visitor};
use picklock_model::stores::redis::Layout;
use picklock_model::time::{Due, Wall};
use replication::Replication;
use serde::{Deserialize, Serialize};

/// One server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// What it stores.
    pub keyspace: Keyspace,
    replication: Option<Box<Replication>>,
    date: i64,
    /// What was touched, and not yet asked for.
    unseen: Places,
    /// The wall clock in milliseconds since 1970 at which a script began that goes on over several steps.
    held_at: Option<i64>,
}

impl Instance {
    /// Whether it takes writes, for all it knows.
    pub fn is_master(&self) -> bool {
        self.replication.as_ref().is_none_or(|replication| replication.is_master())
    }

    /// Who is the master of all, for all it knows; `None`: all are masters, and know nothing of each other.
    pub fn master(&self) -> Option<u8> {
        self.replication.as_ref().map(|replication| replication.master())
    }

    /// How far it has come in what it replicates, or in what is replicated to it: the term's epoch, and the count of its
    /// changes. `None`: it has no replicas and is none, or has nothing of this term yet.
    pub fn replicated(&self) -> Option<(u32, u32)> {
        self.replication.as_ref()?.progress()
    }

    /// Until it is let go, all is one step for the others: no key expires (`src/db.c` `keyIsExpired` asks
    /// `scriptTimeSnapshot`), and replicas and those who watch are told of nothing.
    pub fn hold(&mut self, cx: &Context<Settings>) {
        self.held_at = Some(unix_ms(cx));
    }

    /// That step is over.
    pub fn let_go(&mut self) {
        self.held_at = None;
    }

    /// The time by which keys live and die, in milliseconds since 1970, when the wall clock shows this.
    pub fn lives_at(&self, now_ms: i64) -> i64 {
        self.held_at.unwrap_or(now_ms)
    }

    /// A step begins: what has expired goes, if this server is who removes it.
    pub fn begin(&mut self, cx: &Context<Settings>) {
        if self.is_master() && self.held_at.is_none() {
            self.keyspace.expire(cx);
        }
    }

    /// Whether nothing was touched that was not told and asked for.
    pub fn is_settled(&self) -> bool {
        self.unseen.is_empty() && self.keyspace.is_untouched()
    }

    /// Which keys were touched since this was asked last.
    pub fn take_unseen(&mut self) -> Places {
        each_once(std::mem::take(&mut self.unseen))
    }

    /// A step ends: replicas are told.
    pub fn end(&mut self, cx: &Context<Settings>, effects: &mut Effects<Instance>) {
        if self.held_at.is_some() {
            return;
        }
        if self.keyspace.is_untouched() {
            return;
        }
        let touched = self.keyspace.take_touched();
        if let Some(replication) = self.replication.as_mut().filter(|replication| replication.is_master()) {
            let became = |place: &Place| {
                let entry = self.keyspace.peek(place);
                (place.clone(), entry.map(|entry| (entry.content.clone(), entry.dies)))
            };
            replication.propagate(touched.iter().map(became).collect(), cx, effects);
        }
        match self.unseen.is_empty() {
            true => self.unseen = touched,
            false => self.unseen.extend(touched),
        }
    }
}

impl Store for Instance {
    type Settings = Settings;
    type Request = Silence;
    type Reply = Silence;
    type Peer = Peer;
    type Change = Silence;

    const PEERS_IN_ORDER: bool = true;

    fn new(me: u8, servers: u8, settings: &Settings) -> Instance {
        assert!((1..=16).contains(&servers), "between one and sixteen servers");
        let replication = match settings.layout {
            Layout::Independent => None,
            Layout::Replicated { ping_period, down_after } => {
                Some(Box::new(Replication::new(me, ping_period, down_after)))
            }
        };
        Instance {
            keyspace: Keyspace::default(),
            replication,
            date: settings.date,
            unseen: Places::new(),
            held_at: None,
        }
    }

    fn on_request(&mut self, _: u8, request: Silence, _: &Context<Settings>, _: &mut Effects<Instance>) {
        match request {}
    }

    fn on_peer(&mut self, from: u8, message: Peer, cx: &Context<Settings>, effects: &mut Effects<Instance>) {
        let Some(replication) = &mut self.replication else {
            unreachable!("independent servers say nothing to each other")
        };
        let was_master = replication.is_master();
        replication.follow(from, message, &mut self.keyspace, cx, effects);
        if was_master && !replication.is_master() {
            effects.remark = Some("has heard of a later master, and follows it from now on");
        }
        // A replica has nobody to tell but those who watch.
        self.unseen.extend(self.keyspace.take_touched());
    }

    fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Instance>) {
        let is_promoted =
            self.replication.as_mut().is_some_and(|replication| replication.on_deadline(cx, effects));
        if is_promoted {
            effects.remark = Some("has heard nothing of its master for too long, and is master from now on");
        }
        self.begin(cx);
        // Nobody follows a new master yet: who does will ask for everything.
        if !is_promoted {
            self.end(cx, effects);
        }
        if self.keyspace.disk().due().is_some_and(|due| due <= cx.monotonic) {
            self.keyspace.sync(cx);
        }
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Context<Settings>, _: &mut Effects<Instance>) {
        self.let_go();
        self.keyspace.restart(power_lost, cx);
        if let Some(replication) = &mut self.replication {
            replication.restart(cx.monotonic, cx.me);
        }
        self.begin(cx);
        self.keyspace.take_touched();
        self.keyspace.take_expired();
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let wakes =
            [self.keyspace.disk().due(), self.replication.as_ref().map(|replication| replication.deadline())];
        wakes.into_iter().flatten().min().map(Due::Monotonic)
    }

    /// The death of a key by the wall clock: no timer may wait for a clock that may be set back.
    fn other_deadline(&self, _settings: &Settings) -> Option<Due> {
        let last = self.keyspace.next_death().filter(|_| self.is_master() && self.held_at.is_none())?;
        // It lives through the whole millisecond.
        let first_dead = last.saturating_add(1).saturating_mul(1_000);
        Some(Due::Wall(Wall(first_dead.saturating_sub(self.date))))
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {
        unreachable!("no exhaustive engine runs a served Redis")
    }

    fn contents(&self) -> Vec<String> {
        let shown = |((database, key), entry): (Named, &Entry)| {
            let key = String::from_utf8_lossy(key);
            let what = match &entry.content {
                Content::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => other.kind().to_owned(),
            };
            let dies = entry.dies.map_or_else(String::new, |at| format!(", dies after {at} ms"));
            format!("{database}/{key} = {what}{dies}")
        };
        let mut lines: Vec<String> = self.keyspace.entries().map(shown).collect();
        lines.sort_unstable();
        lines.into_iter().chain((!self.keyspace.disk().is_even()).then(|| "unsynced".to_owned())).collect()
    }
}
