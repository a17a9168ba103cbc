//! How members are configured, and their faults as knobs.

use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// How the members are configured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What survives a power loss.
    pub log: Log,
    /// The shortest time that a lease is granted for: one and a half elections, in whole seconds.
    pub lease_ttl_min: Micros,
    /// How often the leader looks which leases are over.
    pub expiry_interval: Micros,
    /// The time of an election, by which leases are prolonged when a leader begins.
    pub election_timeout: Micros,
    /// By which clock leases are counted (row E7).
    pub lease_clock: LeaseClock,
    /// What a keep-alive of a lease that is over is answered (row E10).
    pub keep_alives: KeepAlives,
    /// For how long events are kept.
    pub history: History,
}

/// For how long events are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum History {
    /// Until they are compacted.
    #[default]
    Kept,
    /// In the exhaustive engine, as long as an answer or a watch is under way that may still ask for them. For users that
    /// watch from the revision of their last answer on, read no past, and never begin a watch again: they cannot tell
    /// the difference, and there are fewer states.
    WhileUnderWay,
}

/// What survives a power loss. The end of the process alone costs nothing but the time it takes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Log {
    /// The log is on the disk before anybody is told.
    #[default]
    Synced,
    /// It is written when the operating system likes (`--unsafe-no-fsync`): the worst case, never. The member begins anew.
    Unsynced,
}

/// By which clock leases are counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum LeaseClock {
    /// One that never steps.
    #[default]
    Monotonic,
    /// The wall clock: a step ends leases (etcd before it was built with Go 1.9; 4136df793).
    Wall,
}

/// What a keep-alive of a lease that is over and not revoked yet is answered.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum KeepAlives {
    /// The answer waits for the end of the lease.
    #[default]
    WaitForTheEnd,
    /// That all is well, though the end is on its way (before f8f1074b4).
    AnswerAtOnce,
}

impl Default for Settings {
    /// The real ones' defaults: heartbeats of 100 ms, elections of a second.
    fn default() -> Settings {
        Settings {
            log: Log::Synced,
            lease_ttl_min: Micros::seconds(2),
            expiry_interval: Micros::millis(500),
            election_timeout: Micros::seconds(1),
            lease_clock: LeaseClock::Monotonic,
            keep_alives: KeepAlives::WaitForTheEnd,
            history: History::Kept,
        }
    }
}
