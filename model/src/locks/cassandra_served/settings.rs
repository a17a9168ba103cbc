//! The variants of the two services, as named knobs.

use crate::locks::cassandra_queue::{self, Expiry, QueueOrder};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What the threads do.
    pub queue: cassandra_queue::Settings,
    /// How many there are: the workload's clients. The attendants after them are lease keepers, and then time replicas.
    pub threads: u8,
    /// How many of the attendants are lease keepers; the rest are time replicas.
    pub lease_keepers: u8,
    /// The time service.
    pub time: TimeService,
    /// The lease service.
    pub leases: LeaseService,
}

/// The time service of section 5.4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TimeService {
    /// How long a replica waits between two attempts to publish ("периодически").
    pub period: Micros,
    /// What a replica publishes.
    pub advance: Advance,
    /// With which timestamp it writes the cell.
    pub stamps: CellStamps,
}

/// What a replica publishes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Advance {
    /// Its local time, if the stored value is smaller: the document.
    Local,
    /// `max(last + 1, now)`: the stored value grows with every attempt. What the authors came to later
    /// (`cassandra-distributed-task-queue`, `GlobalTime.cs`, `UpdateNowTicks`).
    PastLast,
}

/// With which timestamp the cell is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CellStamps {
    /// The replica's clock as the write is sent: what a client library gives a write that comes without any. The
    /// document names none ("ячейка просто переписывается с новым значением").
    Clock,
    /// The value itself: of two writes the larger value wins, whichever comes last. The authors' code
    /// (`TimeServiceCore/Implementation/TimeServiceImpl.cs`).
    Value,
}

/// The lease service of section 6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseService {
    /// How long a keeper waits between two looks at the rows.
    pub period: Micros,
    /// When a keeper counts how long a cell has been as it is.
    pub judges: Judges,
    /// With which timestamp it deletes.
    pub tombstones: Tombstones,
}

/// When a keeper counts how long it has seen a cell unchanged; it must be N, the lease, on its own monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Judges {
    /// When it handles what it has read: however long that was under way.
    AsItHandles,
    /// When it asks for the row: what it reads is not older than that.
    AsItAsks,
}

/// With which timestamp a keeper deletes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Tombstones {
    /// Its own clock: the deletion hides whatever was written before by that clock.
    Clock,
    /// The timestamp of the cell that it saw: the deletion hides that cell, and no later one.
    Seen,
}

impl Settings {
    /// The queue lock as written, with the time service as the document has it.
    pub const fn timed() -> Settings {
        Settings {
            queue: cassandra_queue::Settings {
                queue_order: QueueOrder::Service,
                ..cassandra_queue::Settings::as_written()
            },
            threads: 2,
            lease_keepers: 0,
            time: TimeService {
                period: Micros::seconds(1),
                advance: Advance::Local,
                stamps: CellStamps::Clock,
            },
            leases: LeaseService {
                period: Micros::seconds(1),
                judges: Judges::AsItHandles,
                tombstones: Tombstones::Clock,
            },
        }
    }

    /// The same on the lock with every repair, and a service whose time neither stands still nor goes back.
    pub const fn timed_repaired() -> Settings {
        let timed = Settings::timed();
        Settings {
            queue: cassandra_queue::Settings {
                queue_order: QueueOrder::Service,
                ..cassandra_queue::Settings::repaired()
            },
            time: TimeService { advance: Advance::PastLast, stamps: CellStamps::Value, ..timed.time },
            ..timed
        }
    }

    /// The lease service instead of the TTL, as plainly as section 6 allows to read it; no time service.
    pub const fn kept() -> Settings {
        let timed = Settings::timed();
        Settings {
            queue: cassandra_queue::Settings {
                expiry: Expiry::Keeper,
                ..cassandra_queue::Settings::as_written()
            },
            lease_keepers: 1,
            ..timed
        }
    }

    /// The same on the lock with every repair, and a keeper that deletes only what it saw.
    pub const fn kept_repaired() -> Settings {
        let kept = Settings::kept();
        Settings {
            queue: cassandra_queue::Settings {
                expiry: Expiry::Keeper,
                ..cassandra_queue::Settings::repaired()
            },
            lease_keepers: 2,
            leases: LeaseService { judges: Judges::AsItAsks, tombstones: Tombstones::Seen, ..kept.leases },
            ..kept
        }
    }
}

impl Settings {
    /// N: how long a lease lasts that is not renewed.
    pub(super) fn lease(&self) -> Option<Micros> {
        self.queue.ttl_seconds.map(|seconds| Micros::seconds(i64::from(seconds)))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::timed()
    }
}
