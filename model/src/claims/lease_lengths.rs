//! The smallest safe TTL of the Cassandra queue lock's lease, as a function of skew and pause, found by search.
//!
//! The Cassandra paper, *The Cassandra queue lock*, section 6: "в силу внутреннего устройства Cassandra если время на репликах разъедется
//! больше чем на TTL, то ячейка будет тут же удаляться … Поэтому TTL приходится указывать достаточно большой (около 15 минут)". How large
//! is large enough? A record that was written last at `c` is renewed after N/2 seconds (section 5.3), late by a pause, and
//! must reach the store before the fastest clock takes it for expired:
//!
//! ```text
//!   c                          c + N/2            + pause + latency      c + N - skew       c + N
//!   │── the renewer sleeps ───────│── late ──────────────│                   │                │
//!   record written                                 record renewed  <  gone for a fast one   gone
//! ```
//!
//! so that N/2, rounded down to the store's whole seconds, must be *more* than skew, pause and latency together
//! ([`Question::formula`]): not the TTL itself is the bound, but a bit less than half of it.

use super::cassandra::{queue_lock, timed};
use crate::explore::{Limits, Space, Verdict, search};
use crate::locks::CassandraQueue;
use crate::locks::cassandra_queue::Settings;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::TICK;
use picklock_properties::Promise;
use serde::Serialize;

/// What the authors chose, in seconds: "около 15 минут" (section 6).
pub const AUTHORS_TTL_SECONDS: u32 = 15 * 60;

/// How many latencies make a renewal late: six messages, and one that the search adds. A read under way judges by the
/// present second there, not by the one in which it began (`stores/cassandra/pending.rs`), as if it had begun later.
const MESSAGES: u32 = 7;

/// What the lease has to bear. Ticks are seconds, the unit in which the store counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Question {
    /// By how much the two coordinators' clocks differ.
    pub skew_seconds: u8,
    /// For how long a client may pause, once, at any moment.
    pub pause_seconds: u8,
    /// For how long a message between servers may be under way.
    pub latency_seconds: u8,
    /// What a holder does about a lease that runs out.
    pub holder: Holder,
}

/// What a holder does about a lease that runs out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// Nothing: it renews, and believes that it holds.
    AsWritten,
    /// It stops when its lease is over by its own clock, early by a margin of one second more than skew and pause; and is
    /// granted the lock only while that moment has not come.
    MindsItsLease,
}

/// What the search came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The smallest TTL under which the whole space was seen, somebody held, and nobody held with another.
    Seconds(u32),
    /// Every TTL up to this one breaks mutual exclusion, or grants nothing.
    NoneUpTo(u32),
    /// The space of this TTL was not exhausted: nothing is known from it on.
    IncompleteAt(u32),
}

/// An answer, and what it cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Found {
    /// What came out.
    pub answer: Answer,
    /// States seen, of all TTLs tried.
    pub states: u64,
    /// Steps of the shortest run that breaks mutual exclusion under the largest unsafe TTL; `None`: there is none.
    pub counterexample_steps: Option<usize>,
}

impl Question {
    /// The margin by which a holder that minds its lease stops early.
    pub const fn margin_seconds(&self) -> u32 {
        self.skew_seconds as u32 + self.pause_seconds as u32 + 1
    }

    /// What the smallest safe TTL should be.
    ///
    /// Between two writes of the main record lie, as written: the write's acknowledgement, the read of line 4 and its
    /// reply (before the first renewal only), the sleep of N/2, the renewal of the queue cell and its acknowledgement:
    /// six messages between servers, each as late as it may be, and the pause. The record must be renewed in an earlier
    /// second than the one in which the faster clock takes it for gone.
    ///
    /// A holder that minds its lease is safe with any TTL, and has any use of it only above its margin: the
    /// acknowledgement and the read of line 4 have to fit in between.
    pub const fn formula(&self) -> u32 {
        let late = self.skew_seconds as u32 + self.pause_seconds as u32;
        let latency = self.latency_seconds as u32;
        match self.holder {
            Holder::AsWritten => 2 * (late + MESSAGES * latency + 1),
            Holder::MindsItsLease => self.margin_seconds() + 1,
        }
    }

    /// How much skew and pause together the TTL bears as written: the formula, solved for them.
    pub const fn borne_seconds(ttl_seconds: u32, latency_seconds: u32) -> u32 {
        (ttl_seconds / 2).saturating_sub(MESSAGES * latency_seconds + 1)
    }

    /// Two clients on two coordinators, and a hold that outlasts the lease. Whoever waits asks when it likes: a waiter's
    /// own cell must not have expired, or nobody would ever follow (row C6).
    pub fn space(&self, ttl_seconds: u32) -> Space<CassandraQueue> {
        let mut space = queue_lock(2, 2, Calls::Lock, &[Promise::MutualExclusion]);
        timed(&mut space);
        let Space { setup, bounds } = &mut space;
        setup.lock.ttl_seconds = Some(ttl_seconds);
        if self.holder == Holder::MindsItsLease {
            setup.lock = Settings {
                validity_check: true,
                validity_margin: Micros::seconds(i64::from(self.margin_seconds())),
                ..setup.lock
            };
        }
        let outlasts = i64::from(ttl_seconds) + i64::from(self.pause_seconds) + 1;
        setup.workload.hold = Micros(outlasts * TICK.0);
        bounds.colocated = true;
        bounds.latency_ticks = Some(self.latency_seconds);
        // Less than half a minute either way: it fits.
        bounds.last_server_ahead_ticks = self.skew_seconds as i8;
        bounds.pauses = u8::from(self.pause_seconds > 0);
        bounds.pause_ticks = self.pause_seconds;
        space
    }

    /// Tries 1, 2, 3… seconds up to `ttl_seconds_max`.
    pub fn smallest_safe_ttl(&self, ttl_seconds_max: u32, limits: &Limits) -> Found {
        let mut found =
            Found { answer: Answer::NoneUpTo(ttl_seconds_max), states: 0, counterexample_steps: None };
        for ttl_seconds in 1..=ttl_seconds_max {
            let exploration = search(&self.space(ttl_seconds), limits);
            found.states += exploration.states;
            match exploration.verdict {
                Verdict::Verified if exploration.coverage.granted > 0 => {
                    found.answer = Answer::Seconds(ttl_seconds);
                    return found;
                }
                // Nobody was granted the lock: safe, and of no use.
                Verdict::Verified => {}
                Verdict::Violated { path, .. } => found.counterexample_steps = Some(path.len()),
                Verdict::Incomplete { .. } => {
                    found.answer = Answer::IncompleteAt(ttl_seconds);
                    return found;
                }
            }
        }
        found
    }
}
