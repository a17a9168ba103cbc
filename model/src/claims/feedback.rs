//! The spaces in which the lock on the store with feedback is judged: the base that the claims speak of, and how each
//! assumption is dropped from it.
//!
//! The base has no time: calls, a queue, pushes. Whatever makes time matter brings leases along, in ticks of a second: a
//! place is kept for four after a sign of life ([`LEASE`]), of which its client counts on two ([`DRIFT_MARGIN`]): one
//! tick for a clock that has drifted by so much, and one because two things within a tick come in any order.

use super::Assumption;
use super::cassandra::workload;
use super::surroundings::majority_down;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::feedback_lock::{self, FeedbackLock};
use crate::stores::feedback::{self as store, Log};
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// For how long the store keeps a place in small models.
pub const LEASE: Micros = Micros(4 * TICK.0);

/// How much earlier than its lease a client takes its place for lost.
pub const DRIFT_MARGIN: Micros = Micros(2 * TICK.0);

/// How long a pause, or a step of a clock, must be to outlast every lease.
pub const LONG_TICKS: u8 = 5;

/// Calls and pushes; nothing is lost, nobody dies, time does not matter.
pub fn feedback_lock(clients: u8, calls: Calls, promises: &[Promise]) -> Space<FeedbackLock> {
    Space {
        setup: Setup {
            lock: feedback_lock::Settings::timeless(),
            store: store::Settings { push_interval: None, ..store::Settings::default() },
            servers: 1,
            workload: workload(clients, calls),
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds::default(),
    }
}

/// The same in ticks, with leases, and holds that need them prolonged.
pub fn feedback_leases(clients: u8, calls: Calls, promises: &[Promise]) -> Space<FeedbackLock> {
    let mut space = feedback_lock(clients, calls, promises);
    with_leases(&mut space);
    space
}

/// Drops an assumption of the lock's claims. Several may be dropped, one after the other.
pub fn drop_from_feedback_lock(space: &mut Space<FeedbackLock>, assumption: Assumption) {
    match assumption {
        Assumption::NoExpiry => with_leases(space),
        // What the dead leave behind stays, unless leases run out.
        Assumption::NoCrash => space.bounds.crashes = 1,
        Assumption::FreeAtStart => space.setup.workload.rounds = 2,
        // Without leases that end there is no time to stop in.
        Assumption::StopsInTime => {
            with_leases(space);
            space.setup.lock.minds_lease = false;
        }
        Assumption::NoPause | Assumption::NoSuspend => {
            with_leases(space);
            space.bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            space.bounds.pauses = 1;
            space.bounds.pause_ticks = LONG_TICKS;
        }
        // Only who waits in vain for an answer says it again.
        Assumption::NoLoss => {
            with_leases(space);
            space.bounds.losses = 2;
        }
        Assumption::NoDuplicate => space.bounds.duplicates = 2,
        Assumption::BoundedDrift => {
            with_leases(space);
            space.bounds.drifts = 3;
            space.bounds.drift_ticks = 1;
        }
        Assumption::NoServerClockStep => {
            with_leases(space);
            space.bounds.server_clock_steps = 1;
            space.bounds.server_clock_step_ticks = LONG_TICKS as i8;
        }
        Assumption::NoClockStep => {
            with_leases(space);
            space.bounds.clock_steps = 1;
            space.bounds.clock_step_ticks = -(LONG_TICKS as i8);
        }
        Assumption::ClocksAgree => {
            with_leases(space);
            space.bounds.let_clocks_disagree(LONG_TICKS);
        }
        Assumption::Durable => {
            space.setup.store.log = Log::Unsynced;
            space.bounds.power_losses = 1;
        }
        Assumption::MajorityUp => space.bounds.server_crashes = majority_down(space.setup.servers),
        Assumption::UniqueIds
        | Assumption::NoClockFreeze
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver => {}
    }
}

fn with_leases(space: &mut Space<FeedbackLock>) {
    let Space { setup, bounds } = space;
    setup.lock = feedback_lock::Settings {
        lease: Some(LEASE),
        drift_margin: DRIFT_MARGIN,
        heartbeat: Some(TICK),
        request_timeout: Some(TICK),
        ..setup.lock
    };
    setup.store.push_interval = Some(TICK);
    // Longer than a lease is counted on: whether it is prolonged, and its holder stops in time, matters.
    setup.workload.hold = Micros(3 * TICK.0);
    bounds.latency_ticks = Some(0);
    bounds.unhurried = true;
}
