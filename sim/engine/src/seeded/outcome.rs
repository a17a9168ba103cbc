//! What a run is held to, and what it came to.

use crate::seeded::marks::{Features, Marks};
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_properties::{Promise, PromiseSet, Violation};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// When a run is ended, and when waiting counts as being stuck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// After this many events the run is cut short, and its outcome is no verdict.
    pub events_max: u64,
    /// Once healed: for how long somebody may wait while nobody holds, before deadlock-freedom counts as broken. Widened
    /// by twice the largest error that a wall clock ever had, for records dated into the future last so much longer.
    pub progress_bound: Micros,
    /// Once healed: for how long one client may wait, before starvation-freedom counts as broken. Widened likewise.
    pub starvation_bound: Micros,
    /// Once healed: how long the run goes on if no liveness promise is watched, or nobody waits.
    pub after_heal_max: Micros,
    /// How many overtakes first-in-first-out puts up with.
    pub overtakes_allowed: u32,
}

impl Limits {
    /// Bounds that follow from the lease and from the workload: three leases and a minute for progress, and that and a
    /// hold for each client in turn before one counts as starved.
    pub fn of<Y: System>(setup: &Setup<Y>) -> Limits {
        let lease = Y::patience(setup).unwrap_or(Micros::ZERO);
        let workload = &setup.workload;
        let progress_bound = Micros(3 * lease.0) + Micros::seconds(60);
        let turn = progress_bound + workload.hold + workload.think;
        let starvation_bound = Micros(turn.0 * (i64::from(workload.clients) + 1));
        // Where nobody gives the lock back, nothing happens any more once it is granted.
        let turns = if workload.releases { i64::from(workload.rounds) + 1 } else { 1 };
        Limits {
            events_max: 5_000_000,
            progress_bound,
            starvation_bound,
            after_heal_max: Micros(starvation_bound.0 * turns),
            overtakes_allowed: 0,
        }
    }
}

/// What a run came to.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The first violation of each promise, in the order in which they came.
    pub violations: Vec<Violation>,
    /// How many things happened: messages that arrived, deadlines that came, faults.
    pub events: u64,
    /// True time at the end.
    pub ended_at: Micros,
    /// True time at which the run healed, if it lasted that long.
    pub healed_at: Option<Micros>,
    /// Whether the run was cut short by [`Limits::events_max`]: if so, what is not violated is not kept, either.
    pub truncated: bool,
    /// How often which fault struck.
    pub strikes: Strikes,
    /// How often which rare situation arose.
    pub marks: Marks,
    /// Which blows found clients at which lines.
    pub features: Features,
    /// The promises that were put to the test, or broken.
    pub tested: PromiseSet,
    /// How often the lock was granted, or a call of a shared object came back.
    pub grants: u64,
    /// How often `try_lock` was refused.
    pub refusals: u64,
    /// How often the store gave a client a place in a queue.
    pub enqueued: u64,
    /// How often a lease was prolonged.
    pub renewals: u64,
    /// How often a client has told what it read.
    pub row_reads: u64,
    /// How often a client was overtaken, up to one more than allowed; 0 unless first-in-first-out is watched.
    pub overtakes: u32,
}

impl Outcome {
    /// Whether this promise was broken.
    pub fn breaks(&self, promise: Promise) -> bool {
        self.violations.iter().any(|violation| violation.promise == promise)
    }
}

/// How often which fault really struck: a sweep in which nothing happened proves nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Strikes {
    /// Messages lost on the network, replies not counted.
    pub lost: u64,
    /// Replies lost after the request was applied.
    pub replies_lost: u64,
    /// Messages that arrived twice.
    pub duplicated: u64,
    /// Messages slower than the network's usual latency.
    pub delayed: u64,
    /// Messages lost because a link was cut.
    pub cut_off: u64,
    /// Messages lost because their receiver's process had ended, because they went with their sender, which crashed or lost power, or with
    /// a connection that was reset.
    pub reset: u64,
    /// Pauses of nodes that were up.
    pub pauses: u64,
    /// Processes that ended.
    pub crashes: u64,
    /// Servers that lost power.
    pub power_losses: u64,
    /// Processes that started again.
    pub restarts: u64,
    /// Steps of wall clocks, offsets at the beginning and strobes included.
    pub clock_steps: u64,
    /// Wall clocks that stood still.
    pub clock_freezes: u64,
    /// Clocks that began to drift.
    pub clock_drifts: u64,
    /// Partitions.
    pub partitions: u64,
    /// Triggers pulled.
    pub triggers: u64,
    /// Machines that were suspended.
    pub suspensions: u64,
    /// Wall clocks that became coarse.
    pub coarse_clocks: u64,
    /// Times that something befell the resource: a pause, a crash, a slow link to it.
    pub resource_faults: u64,
    /// Times that connections were reset.
    pub connection_resets: u64,
    /// Servers that were replaced by empty ones.
    pub replacements: u64,
}

impl Strikes {
    pub(crate) fn count_loss(&mut self, is_reply: bool) {
        *(if is_reply { &mut self.replies_lost } else { &mut self.lost }) += 1;
    }

    /// Every count with its name in words.
    pub fn named(&self) -> [(&'static str, u64); 20] {
        [
            ("messages lost", self.lost),
            ("replies lost", self.replies_lost),
            ("messages duplicated", self.duplicated),
            ("messages delayed", self.delayed),
            ("messages cut off", self.cut_off),
            ("messages lost with a process or a connection", self.reset),
            ("pauses", self.pauses),
            ("crashes", self.crashes),
            ("power losses", self.power_losses),
            ("restarts", self.restarts),
            ("clock steps", self.clock_steps),
            ("clock freezes", self.clock_freezes),
            ("clock drifts", self.clock_drifts),
            ("partitions", self.partitions),
            ("triggers pulled", self.triggers),
            ("suspensions", self.suspensions),
            ("coarse clocks", self.coarse_clocks),
            ("faults of the resource", self.resource_faults),
            ("resets of connections", self.connection_resets),
            ("replaced servers", self.replacements),
        ]
    }
}

impl Strikes {
    /// Whether no fault has struck, on no node and no message. A pulled trigger alone is none.
    pub fn is_nothing(&self) -> bool {
        Strikes { triggers: 0, ..*self } == Strikes::default()
    }
}

impl AddAssign for Strikes {
    fn add_assign(&mut self, other: Strikes) {
        self.lost += other.lost;
        self.replies_lost += other.replies_lost;
        self.duplicated += other.duplicated;
        self.delayed += other.delayed;
        self.cut_off += other.cut_off;
        self.reset += other.reset;
        self.pauses += other.pauses;
        self.crashes += other.crashes;
        self.power_losses += other.power_losses;
        self.restarts += other.restarts;
        self.clock_steps += other.clock_steps;
        self.clock_freezes += other.clock_freezes;
        self.clock_drifts += other.clock_drifts;
        self.partitions += other.partitions;
        self.triggers += other.triggers;
        self.suspensions += other.suspensions;
        self.coarse_clocks += other.coarse_clocks;
        self.resource_faults += other.resource_faults;
        self.connection_resets += other.connection_resets;
        self.replacements += other.replacements;
    }
}
