//! The spaces in which the lock by conditional write is judged.

use super::Assumption;
use super::cassandra::{TTL_SECONDS, patient_store, workload};
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::CassandraLwt;
use crate::locks::cassandra_lwt::Settings;
use crate::stores::cassandra::CommitLog;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// The bare lock: no lease, no faults, no time.
pub fn lwt_lock(clients: u8, servers: u8, calls: Calls, promises: &[Promise]) -> Space<CassandraLwt> {
    Space {
        setup: Setup {
            lock: Settings::listing(),
            store: patient_store(),
            servers,
            workload: workload(clients, calls),
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds::default(),
    }
}

/// Clients give up on an answer in the end.
pub fn answers_may_be_lost(space: &mut Space<CassandraLwt>) {
    // Longer than a request and its reply can take: a time-out means that one of them was lost.
    space.setup.lock.request_timeout = Some(Micros(3 * TICK.0));
    timed(space);
}

/// Drops an assumption. Some have no meaning for this lock: those change nothing.
pub fn drop_from_lwt_lock(space: &mut Space<CassandraLwt>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        Assumption::NoClockStep => {
            bounds.clock_steps = 1;
            bounds.clock_step_ticks = -1;
        }
        Assumption::NoExpiry => {
            setup.lock.ttl_seconds = Some(TTL_SECONDS);
            timed(space);
        }
        Assumption::NoPause | Assumption::NoSuspend => {
            bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            setup.lock.ttl_seconds = Some(TTL_SECONDS);
            bounds.pauses = 1;
            bounds.pause_ticks = TTL_SECONDS as u8 + 1;
            timed(space);
        }
        Assumption::Durable => {
            setup.store.commit_log = CommitLog::LOST_WITH_POWER;
            bounds.power_losses = 1;
        }
        Assumption::NoCrash => bounds.crashes = 1,
        Assumption::NoLoss => {
            bounds.losses = 1;
            answers_may_be_lost(space);
        }
        Assumption::NoDuplicate => bounds.duplicates = 1,
        // The coordinator's wall clock says when a cell expires; replicas compare it with their own.
        Assumption::NoServerClockStep => {
            setup.lock.ttl_seconds = Some(TTL_SECONDS);
            bounds.server_clock_steps = 1;
            bounds.server_clock_step_ticks = TTL_SECONDS as i8;
            timed(space);
        }
        Assumption::FreeAtStart => setup.workload.rounds = 2,
        Assumption::UniqueIds
        | Assumption::NoClockFreeze
        | Assumption::ClocksAgree
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::BoundedDrift
        | Assumption::StopsInTime
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver
        | Assumption::MajorityUp => {}
    }
}

/// Lets time pass: messages take up to a tick, waiting threads poll every tick.
fn timed(space: &mut Space<CassandraLwt>) {
    space.bounds.latency_ticks = Some(1);
    space.bounds.unhurried = true;
    space.setup.lock.poll_interval = TICK;
}
