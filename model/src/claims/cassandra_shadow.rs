//! The spaces in which the old Cassandra lock is judged, and how each assumption is dropped from them.

use super::Assumption;
use super::cassandra::{TTL_SECONDS, patient_store, workload};
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::{CassandraShadow, cassandra_shadow};
use crate::stores::cassandra::{CommitLog, Consistency};
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Bounds, TICK};
use cassandra_shadow::Backoff;
use picklock_properties::Promise;

/// The old lock as the listings have it: no lease, no faults, no time; QUORUM if there are replicas.
pub fn shadow_lock(clients: u8, servers: u8, calls: Calls, promises: &[Promise]) -> Space<CassandraShadow> {
    Space {
        setup: Setup {
            lock: cassandra_shadow::Settings::listing(),
            store: patient_store(),
            servers,
            workload: workload(clients, calls),
            promises: promises.iter().copied().collect(),
        },
        bounds: Bounds {
            colocated: servers > 2,
            link_messages_max: if servers > 1 { 2 } else { 0 },
            ..Bounds::default()
        },
    }
}

/// Drops an assumption of the old lock's theorems. Several may be dropped, one after the other.
pub fn drop_from_shadow_lock(space: &mut Space<CassandraShadow>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        Assumption::UniqueIds => setup.lock.shared_thread_id = true,
        Assumption::NoClockStep => {
            bounds.clock_steps = 1;
            bounds.clock_step_ticks = -1;
        }
        Assumption::NoClockFreeze => bounds.freezes = 1,
        Assumption::ClocksAgree => bounds.last_client_ahead_ticks = -1,
        Assumption::NoExpiry => {
            setup.lock.ttl_seconds = Some(TTL_SECONDS);
            setup.lock.shadow_ttl_seconds = Some(TTL_SECONDS);
            timed(space);
        }
        Assumption::NoPause => {
            bounds.pauses = 1;
            bounds.pause_ticks = TTL_SECONDS as u8 + 1;
            timed(space);
        }
        Assumption::Durable => {
            setup.store.commit_log = CommitLog::Periodic { period: Micros::seconds(10) };
            bounds.power_losses = 1;
        }
        Assumption::QuorumsMeet => {
            setup.store.writes = Consistency::One;
            setup.store.reads = Consistency::One;
        }
        Assumption::ReadAfterAck => setup.lock.reads_before_ack = true,
        Assumption::NoCrash => bounds.crashes = 1,
        Assumption::NoLoss => {
            bounds.losses = 1;
            timed(space);
            // Longer than a request and its reply can take: a time-out means that one of them was lost.
            space.setup.lock.request_timeout = Some(Micros(3 * TICK.0));
        }
        Assumption::NoDuplicate => bounds.duplicates = 1,
        Assumption::FreeAtStart
        | Assumption::BoundedDrift
        | Assumption::NoServerClockStep
        | Assumption::StopsInTime
        | Assumption::KeysKept
        | Assumption::MajorityUp => {}
    }
}

/// Lets time pass: messages take up to a tick, refused threads wait for one.
pub fn timed(space: &mut Space<CassandraShadow>) {
    space.bounds.latency_ticks = Some(1);
    space.bounds.unhurried = true;
    space.setup.lock.backoff = Backoff::Fixed(TICK);
}

/// Where the back-off of Listing 4 means something: messages arrive within the tick, and a refused thread waits for one of
/// `lengths` whole numbers of ticks.
pub fn backing_off(clients: u8, lengths: u8) -> Space<CassandraShadow> {
    let mut space = shadow_lock(clients, 1, Calls::Lock, &[]);
    timed(&mut space);
    space.bounds.latency_ticks = Some(0);
    space.setup.lock.backoff = Backoff::Drawn { unit: TICK, below: lengths };
    space
}
