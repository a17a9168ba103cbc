//! Where the calling thread and its renewer stand.

use crate::locks::awaited::Awaited;
use crate::machine::{Call, IDLE, Line, Visitor};
use crate::stores::cassandra::Found;
use crate::time::Monotonic;
use picklock_properties::Mode;
use serde::{Deserialize, Serialize};

/// Where the calling thread stands. Line numbers are of Listing 6 / Listing 7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Outside any call.
    Idle,
    /// - / 1: reads the main row to see whether anybody is there.
    CheckFree,
    /// Listing 5, line 1, from the time service (section 5.4): reads what time it is.
    ReadTime { before: Timed },
    /// The same: waits until something is published.
    PollTime { until: Monotonic, before: Timed },
    /// 1 / 3: adds the thread to the queue.
    Enqueue,
    /// 2 / 4: reads the queue to see who is first.
    CheckFirst,
    /// 8, 10 / 10: waits before it goes to 2 / 4.
    Poll { until: Monotonic },
    /// 3 / 5: adds a cell to the main row.
    AddMain,
    /// 4 / 6: reads the main row to see whether it has one record.
    CheckAlone,
    /// 7 / 9: deletes the cell from the main row.
    DeleteMain,
    /// - / 12: deletes the thread from the queue.
    Dequeue,
    /// 5 / 7: returned; the application holds.
    Held,
    /// Section 5.3: the renewal under way has to end before anything is deleted.
    JoinRenewer,
    /// Section 5.3: deletes the queue cell, then (if so ordered) the main cell.
    ReleaseQueue,
    /// Section 5.3: deletes the main cell, then (if so ordered) the queue cell.
    ReleaseMain,
    /// Section 5.3: deletes both.
    ReleaseBoth,
}

/// What needs the service's time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Timed {
    /// Line 1 / 3: the column's name, and the write.
    Enqueue,
    /// Line 3 / 5: the write.
    AddMain,
}

/// The background thread that prolongs the lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Renewer {
    Off,
    /// Sleeps for N/2.
    Sleeps {
        until: Monotonic,
    },
    /// Conditional renewal only: looks whether the lock is still ours.
    ReadsMain(Awaited),
    /// Asks the time service with which time to write.
    ReadsTime(Awaited),
    /// Rewrites the queue cell.
    WritesQueue(Awaited),
    /// Rewrites the main cell.
    WritesMain(Awaited),
}

/// What enters the calling thread's `match`.
pub(super) enum Input {
    Call(Call),
    /// The awaited write is acknowledged.
    Applied,
    /// The awaited read returned these columns.
    Slice(Found),
    /// The awaited request's outcome is unknown.
    Unknown {
        /// A coordinator said so: it did something. Else nobody answered.
        answered: bool,
    },
    /// The poll interval is over.
    Woken,
}

impl Renewer {
    pub fn awaited(&self) -> Option<Awaited> {
        match *self {
            Renewer::ReadsMain(awaited)
            | Renewer::ReadsTime(awaited)
            | Renewer::WritesQueue(awaited)
            | Renewer::WritesMain(awaited) => Some(awaited),
            Renewer::Off | Renewer::Sleeps { .. } => None,
        }
    }

    pub fn is_writing(&self) -> bool {
        matches!(self, Renewer::WritesQueue(_) | Renewer::WritesMain(_))
    }

    pub fn deadline(&self) -> Option<Monotonic> {
        match *self {
            Renewer::Sleeps { until } => Some(until),
            Renewer::Off
            | Renewer::ReadsMain(_)
            | Renewer::ReadsTime(_)
            | Renewer::WritesQueue(_)
            | Renewer::WritesMain(_) => self.awaited().and_then(|awaited| awaited.until),
        }
    }
}

impl Renewer {
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Renewer::Off => {}
            Renewer::Sleeps { until } => visitor.wake(until),
            Renewer::ReadsMain(awaited)
            | Renewer::ReadsTime(awaited)
            | Renewer::WritesQueue(awaited)
            | Renewer::WritesMain(awaited) => awaited.visit(visitor),
        }
    }
}

impl Phase {
    /// The line of Listing 6 or Listing 7.
    pub fn line(self, mode: Mode) -> Line {
        let (listing_6, listing_7) = match self {
            Phase::CheckFree => (0, 1),
            Phase::ReadTime { before: Timed::Enqueue } | Phase::PollTime { before: Timed::Enqueue, .. } => {
                return Line { listing: 5, number: 1 };
            }
            Phase::Enqueue => (1, 3),
            Phase::CheckFirst => (2, 4),
            Phase::Poll { .. } => (10, 10),
            Phase::AddMain
            | Phase::ReadTime { before: Timed::AddMain }
            | Phase::PollTime { before: Timed::AddMain, .. } => (3, 5),
            Phase::CheckAlone => (4, 6),
            Phase::DeleteMain => (7, 9),
            Phase::Dequeue => (0, 12),
            Phase::Held => (5, 7),
            Phase::Idle
            | Phase::JoinRenewer
            | Phase::ReleaseQueue
            | Phase::ReleaseMain
            | Phase::ReleaseBoth => {
                return Line::NONE;
            }
        };
        match mode {
            Mode::Lock => Line { listing: 6, number: listing_6 },
            Mode::TryLock => Line { listing: 7, number: listing_7 },
        }
    }

    /// The same in a few words.
    pub fn doing(self) -> &'static str {
        match self {
            Phase::Idle => IDLE,
            Phase::CheckFree => "is the main row empty?",
            Phase::ReadTime { .. } | Phase::PollTime { .. } => "asking the time",
            Phase::Enqueue => "joining the queue",
            Phase::CheckFirst => "first in the queue?",
            Phase::Poll { .. } => "waiting",
            Phase::AddMain => "joining the main row",
            Phase::CheckAlone => "one record in the main row?",
            Phase::DeleteMain => "leaving the main row",
            Phase::Dequeue => "leaving the queue",
            Phase::Held => "holds",
            Phase::JoinRenewer => "releasing: waiting for the renewal to end",
            Phase::ReleaseQueue | Phase::ReleaseMain | Phase::ReleaseBoth => "releasing",
        }
    }
}
