//! The variants of the old lock, as named knobs on one machine. Where a knob means the same as one of the queue lock's, it
//! has the same name.

use crate::locks::cassandra_queue::{RetryDeletes, Timestamps};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the source's algorithm, [`Settings::repaired`] what it should have been.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Section 5.3: the TTL of the main cell in whole seconds; renewal comes every N/2. `None`: no lease.
    pub ttl_seconds: Option<u32>,
    /// The TTL of the shadow cell in whole seconds. The listing gives it none; nobody prolongs it.
    pub shadow_ttl_seconds: Option<u32>,
    /// Listing 4, lines 6 and 9: how long a refused thread waits before it tries again.
    pub backoff: Backoff,
    /// After how long without a reply a request's outcome is unknown; `None`: waits for ever.
    pub request_timeout: Option<Micros>,
    /// Who stamps writes.
    pub timestamps: Timestamps,
    /// Line 9 asks for one cell *of our own*; the listing asks for one cell.
    pub own_id_check: bool,
    /// What is looked at once more after line 11.
    pub reread: Reread,
    /// A grant, and holding on, need the cells they rest on to be alive by the client's own monotonic clock: the shadow cell
    /// until the main cell is written, the main cell from then on.
    pub validity_check: bool,
    /// How much earlier than its TTL the client takes a cell for over: whole-second rounding, latency, drift.
    pub validity_margin: Micros,
    /// Renewal reads the main row first, and does not touch it if the lock is not ours any more.
    pub conditional_renewal: bool,
    /// A release waits until the renewal under way has ended.
    pub join_renewer: bool,
    /// When a deletion of unknown outcome is repeated, and not taken for done.
    pub retry_deletes: RetryDeletes,
    /// Every client believes to be the same thread (assumption "unique ids" dropped).
    pub shared_thread_id: bool,
    /// Line 8 reads without waiting for the acknowledgement of line 7 (assumption "read after own write" dropped).
    pub reads_before_ack: bool,
    /// Grants carry a fencing token: the timestamp of the cell in the main table that the grant rests on.
    pub fencing: bool,
}

/// How long a refused thread waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Backoff {
    /// Listing 4: 0 to 1000 ms while another thread is the owner, 0 to 50·attempt ms after a concurrent attempt, in whole
    /// milliseconds. For the seeded engine only: an exhaustive one would have a thousand edges for each draw.
    AsWritten,
    /// Always so long.
    Fixed(Micros),
    /// A whole number of `unit`s below `below`, each as likely as the other.
    Drawn {
        /// The grain.
        unit: Micros,
        /// How many lengths there are.
        below: u8,
    },
}

/// What is looked at once more after line 11, when the main cell is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reread {
    /// Nothing: the listing.
    Nothing,
    /// Whether the own shadow cell is still there.
    Shadow,
    /// Whether the own main cell is the only one.
    Main,
}

/// Why a run of Listing 3 did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Refusal {
    /// Line 6.
    AnotherThreadIsOwner,
    /// Line 15.
    ConcurrentAttempt,
}

impl Settings {
    /// The source's algorithm, with the lease of section 5.3 on the main cell; where it is silent, the plainest reading.
    pub const fn as_written() -> Settings {
        Settings {
            ttl_seconds: Some(30),
            shadow_ttl_seconds: None,
            backoff: Backoff::AsWritten,
            request_timeout: Some(Micros::seconds(3)),
            timestamps: Timestamps::ClientWall,
            own_id_check: false,
            reread: Reread::Nothing,
            validity_check: false,
            validity_margin: Micros::ZERO,
            conditional_renewal: false,
            join_renewer: false,
            retry_deletes: RetryDeletes::Never,
            shared_thread_id: false,
            reads_before_ack: false,
            fencing: false,
        }
    }

    /// Every repair of the catalogue at once.
    pub const fn repaired() -> Settings {
        Settings {
            shadow_ttl_seconds: Some(30),
            timestamps: Timestamps::ClientMonotonic,
            own_id_check: true,
            reread: Reread::Main,
            validity_check: true,
            validity_margin: Micros::seconds(2),
            conditional_renewal: true,
            join_renewer: true,
            retry_deletes: RetryDeletes::UntilAcknowledged,
            fencing: true,
            ..Settings::as_written()
        }
    }

    /// The listings alone: no lease, no time-outs, no waiting. What theorems speak of.
    pub const fn listing() -> Settings {
        Settings {
            ttl_seconds: None,
            backoff: Backoff::Fixed(Micros::ZERO),
            request_timeout: None,
            ..Settings::as_written()
        }
    }

    pub(super) fn ttl(&self) -> Option<Micros> {
        self.ttl_seconds.map(|seconds| Micros::seconds(i64::from(seconds)))
    }

    pub(super) fn shadow_ttl(&self) -> Option<Micros> {
        self.shadow_ttl_seconds.map(|seconds| Micros::seconds(i64::from(seconds)))
    }
}

impl Backoff {
    /// How many lengths there are to draw from.
    pub(super) fn choices(self, refusal: Refusal, attempt: u8) -> u32 {
        match (self, refusal) {
            (Backoff::AsWritten, Refusal::AnotherThreadIsOwner) => 1000,
            (Backoff::AsWritten, Refusal::ConcurrentAttempt) => 50 * u32::from(attempt.max(1)),
            (Backoff::Fixed(_), _) => 1,
            (Backoff::Drawn { below, .. }, _) => u32::from(below.max(1)),
        }
    }

    /// The length that was drawn.
    pub(super) fn length(self, choice: u32) -> Micros {
        match self {
            Backoff::AsWritten => Micros::millis(i64::from(choice)),
            Backoff::Fixed(length) => length,
            Backoff::Drawn { unit, .. } => Micros(unit.0 * i64::from(choice)),
        }
    }

    /// Whether the number of the attempt matters.
    pub(super) fn counts_attempts(self) -> bool {
        match self {
            Backoff::AsWritten => true,
            Backoff::Fixed(_) | Backoff::Drawn { .. } => false,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
