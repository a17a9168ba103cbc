//! The variants of the queue lock, as named knobs on one machine.

use crate::time::{Micros, Wall};
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the source's algorithm, [`Settings::repaired`] what it should have been.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Section 5.3: the TTL of every cell in whole seconds ("N seconds"); renewal comes every N/2. `None`: no lease.
    pub ttl_seconds: Option<u32>,
    /// How long "go to step 2" waits before it reads the queue again. The listing does not wait.
    pub poll_interval: Micros,
    /// After how long without a reply a request's outcome is unknown; `None`: waits for ever.
    pub request_timeout: Option<Micros>,
    /// Who stamps writes.
    pub timestamps: Timestamps,
    /// Who names the queue column (Listing 5: the client's clock).
    pub queue_order: QueueOrder,
    /// Line 4 asks for one record *of our own*; the listing asks for one record.
    pub own_id_check: bool,
    /// A grant, and holding on, need the lease to be alive by the client's own monotonic clock.
    pub validity_check: bool,
    /// Waiters prolong their queue cell too, and so put it back if it expired; section 5.3 has only holders do that.
    pub waiters_renew: bool,
    /// Renewal reads the main row first, and does not touch it if the lock is not ours any more.
    pub conditional_renewal: bool,
    /// A release waits until the renewal under way has ended.
    pub join_renewer: bool,
    /// In which order a release deletes its two cells.
    pub release_order: ReleaseOrder,
    /// When a deletion of unknown outcome is repeated, and not taken for done.
    pub retry_deletes: RetryDeletes,
    /// Every client believes to be the same thread (assumption "unique ids" dropped).
    pub shared_thread_id: bool,
    /// Line 4 reads without waiting for the acknowledgement of line 3 (assumption "read after own write" dropped).
    pub reads_before_ack: bool,
    /// How often `try_lock` goes through lines 5 to 10 before it takes the lock for taken; `None`: as often as it takes.
    ///
    /// Not among the repairs of [`Settings::repaired`]: it buys an answer with Theorem 3 (row C24).
    pub try_attempts_max: Option<u8>,
    /// Grants carry a fencing token: the timestamp of the record in the main row that the grant rests on.
    pub fencing: bool,
    /// Who ends a lease that is not renewed.
    pub expiry: Expiry,
    /// Remembers from call to call what the time service said, and notices if it says less. Nothing else depends on it.
    pub remembers_time: bool,
    /// How much earlier than the TTL the client takes its lease for over: whole-second rounding, latency, drift.
    pub validity_margin: Micros,
}

/// Who stamps writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Timestamps {
    /// The client's wall clock as it is: what a Thrift client of the source's time does.
    ClientWall,
    /// The client's wall clock, but at least one more than the last: the drivers' monotonic timestamp generator.
    ClientMonotonic,
    /// The coordinator's wall clock.
    Coordinator,
    /// The time service for what is added, asked just before; the client's wall clock for what is deleted. What the
    /// authors' implementation does (`CassandraPrimitives`, `NewRemoteLock/WithExpirationService/LockStorage.cs`:
    /// `AddColumn` with the service's time, `DeleteColumn` without any).
    ServiceAdds,
    /// The time service, asked just before anything is added; a deletion has the time that was said last.
    Service,
    /// The same, but at least one more than the last.
    ServiceMonotonic,
}

impl Timestamps {
    /// Whether something is stamped with the service's time.
    pub const fn are_the_services(self) -> bool {
        match self {
            Timestamps::ServiceAdds | Timestamps::Service | Timestamps::ServiceMonotonic => true,
            Timestamps::ClientWall | Timestamps::ClientMonotonic | Timestamps::Coordinator => false,
        }
    }

    /// Whether who gives them counts on from the last one where a clock is behind it.
    pub const fn count_on(self) -> bool {
        match self {
            Timestamps::ClientMonotonic | Timestamps::ServiceMonotonic | Timestamps::Coordinator => true,
            Timestamps::ClientWall | Timestamps::ServiceAdds | Timestamps::Service => false,
        }
    }
}

/// Who ends a lease that is not renewed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Expiry {
    /// The store: every cell has the TTL (section 5.3).
    Store,
    /// A service that watches the renewals, and deletes the cells of whoever renews no more (section 6): cells have no TTL.
    Keeper,
}

/// Who names the queue column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum QueueOrder {
    /// Listing 5: the client reads its clock, then writes the cell.
    ClientClock,
    /// The coordinator names the column as it writes it.
    Coordinator,
    /// The client asks the time service (section 5.4), then writes the cell.
    Service,
}

/// When a deletion of unknown outcome is repeated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum RetryDeletes {
    /// Never: it is taken for done.
    Never,
    /// If nobody answered. A coordinator's answer that too few replicas acknowledged it is taken for done.
    Unanswered,
    /// Until it is acknowledged.
    UntilAcknowledged,
}

/// In which order a release deletes its two cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ReleaseOrder {
    /// Both deletions are sent at once: section 5.3 names no order.
    Unordered,
    /// The queue cell first, and the main cell when that is acknowledged.
    QueueThenMain,
    /// The main cell first, and the queue cell when that is acknowledged.
    MainThenQueue,
}

impl Settings {
    /// The source's algorithm with the source's lease; where it is silent, the plainest reading.
    pub const fn as_written() -> Settings {
        Settings {
            ttl_seconds: Some(30),
            poll_interval: Micros::millis(20),
            request_timeout: Some(Micros::seconds(3)),
            timestamps: Timestamps::ClientWall,
            queue_order: QueueOrder::ClientClock,
            own_id_check: false,
            validity_check: false,
            waiters_renew: false,
            conditional_renewal: false,
            join_renewer: false,
            release_order: ReleaseOrder::Unordered,
            retry_deletes: RetryDeletes::Never,
            shared_thread_id: false,
            reads_before_ack: false,
            try_attempts_max: None,
            fencing: false,
            expiry: Expiry::Store,
            remembers_time: false,
            validity_margin: Micros::ZERO,
        }
    }

    /// Every repair of the catalogue at once.
    pub const fn repaired() -> Settings {
        Settings {
            timestamps: Timestamps::ClientMonotonic,
            own_id_check: true,
            validity_check: true,
            waiters_renew: true,
            conditional_renewal: true,
            join_renewer: true,
            release_order: ReleaseOrder::QueueThenMain,
            retry_deletes: RetryDeletes::UntilAcknowledged,
            fencing: true,
            validity_margin: Micros::seconds(2),
            ..Settings::as_written()
        }
    }

    /// The listings alone: no lease, no time-outs, no waiting. What the theorems speak of.
    pub const fn listing() -> Settings {
        Settings {
            ttl_seconds: None,
            poll_interval: Micros::ZERO,
            request_timeout: None,
            ..Settings::as_written()
        }
    }

    /// Whether the time service is asked before line 1.
    pub const fn asks_the_time(&self) -> bool {
        matches!(self.queue_order, QueueOrder::Service) || self.timestamps.are_the_services()
    }

    pub(super) fn ttl(&self) -> Option<Micros> {
        self.ttl_seconds.map(|seconds| Micros::seconds(i64::from(seconds)))
    }
}

impl Timestamps {
    /// What a client stamps its next write with, after `last`; nothing, if the coordinator does. `time` is the client's or
    /// the service's, as this says; a lock that knows no service has its client's.
    pub(in crate::locks) fn next(self, last: &mut Option<Wall>, time: Wall) -> Option<Wall> {
        match self {
            Timestamps::ClientWall | Timestamps::ServiceAdds | Timestamps::Service => Some(time),
            Timestamps::ClientMonotonic | Timestamps::ServiceMonotonic => {
                let next = last.map_or(time, |last| time.max(last + Micros(1)));
                *last = Some(next);
                Some(next)
            }
            Timestamps::Coordinator => None,
        }
    }
}

impl RetryDeletes {
    /// Whether a deletion of unknown outcome is repeated; `answered`: a coordinator said that too few had acknowledged it.
    pub(in crate::locks) fn repeats(self, answered: bool) -> bool {
        match self {
            RetryDeletes::Never => false,
            RetryDeletes::Unanswered => !answered,
            RetryDeletes::UntilAcknowledged => true,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
