//! The spaces in which the old Cassandra lock is judged, and how each assumption is dropped from them.

use super::Assumption;
use super::cassandra::{LOST_AFTER, TTL_SECONDS, drop_from_surroundings, patient_store, workload};
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::{CassandraShadow, cassandra_shadow};
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

/// Clients give up on an answer in the end.
pub fn answers_may_be_lost(space: &mut Space<CassandraShadow>) {
    space.setup.lock.request_timeout = Some(LOST_AFTER);
    timed(space);
}

/// Drops an assumption of the old lock's theorems. Several may be dropped, one after the other.
pub fn drop_from_shadow_lock(space: &mut Space<CassandraShadow>, assumption: Assumption) {
    let setup = &mut space.setup;
    drop_from_surroundings(setup.servers, &mut setup.store, &mut space.bounds, assumption);
    let lock = &mut space.setup.lock;
    match assumption {
        Assumption::UniqueIds => lock.shared_thread_id = true,
        Assumption::NoExpiry => {
            lock.ttl_seconds = Some(TTL_SECONDS);
            lock.shadow_ttl_seconds = Some(TTL_SECONDS);
            timed(space);
        }
        Assumption::NoPause | Assumption::NoSuspend => timed(space),
        Assumption::ReadAfterAck => lock.reads_before_ack = true,
        Assumption::NoLoss => answers_may_be_lost(space),
        Assumption::NoClockStep
        | Assumption::NoClockFreeze
        | Assumption::ClocksAgree
        | Assumption::Durable
        | Assumption::QuorumsMeet
        | Assumption::NoCrash
        | Assumption::NoDuplicate
        | Assumption::FreeAtStart
        | Assumption::BoundedDrift
        | Assumption::NoServerClockStep
        | Assumption::StopsInTime
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver
        | Assumption::MajorityUp => {}
    }
}

/// Lets time pass: messages take up to a tick, refused threads wait for one.
pub fn timed(space: &mut Space<CassandraShadow>) {
    space.bounds.latency_ticks = Some(1);
    space.bounds.unhurried = true;
    space.setup.lock.backoff = Backoff::Fixed(TICK);
}

/// A world in which the back-off of Listing 4 means something: messages arrive within the tick, and a refused thread waits for one
/// of `lengths` whole numbers of ticks.
pub fn backing_off(clients: u8, lengths: u8) -> Space<CassandraShadow> {
    let mut space = shadow_lock(clients, 1, Calls::Lock, &[]);
    back_off(&mut space, lengths);
    space
}

/// Lets refused threads wait for one of `lengths` whole numbers of ticks; where no time passed, it does, and messages arrive within the
/// tick.
pub fn back_off(space: &mut Space<CassandraShadow>, lengths: u8) {
    let latency_ticks = space.bounds.latency_ticks.or(Some(0));
    timed(space);
    space.bounds.latency_ticks = latency_ticks;
    space.setup.lock.backoff = Backoff::Drawn { unit: TICK, below: lengths };
}
