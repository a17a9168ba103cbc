//! The spaces in which the queue lock's services are judged.

use super::Assumption;
use super::cassandra::{TTL_SECONDS, patient_store, workload};
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::cassandra_queue::{self, QueueOrder};
use crate::locks::cassandra_served::{
    Advance, CassandraServed, CellStamps, LeaseService, Settings, TimeService,
};
use crate::stores::cassandra as store;
use crate::time::Micros;
use crate::workload::{Calls, ROUNDS_WITHOUT_END, Workload};
use crate::world::{Bounds, TICK};
use picklock_properties::Promise;

/// The listings with their times from the service: no lease, no faults, no time. Replicas publish when they like, for ever.
pub fn timed(clients: u8, replicas: u8, promises: &[Promise]) -> Space<CassandraServed> {
    let settings = Settings {
        queue: cassandra_queue::Settings {
            queue_order: QueueOrder::Service,
            ..cassandra_queue::Settings::listing()
        },
        threads: clients,
        ..Settings::timed()
    };
    space(settings, Workload { attendants: replicas, ..workload(clients, Calls::Lock) }, promises)
}

/// A replica of two whose clock is ahead, for as long as the run takes; what its time is worth once it is dead, the
/// search finds out.
pub fn one_replica_ahead(space: &mut Space<CassandraServed>) {
    space.bounds.last_client_ahead_ticks = 1;
}

/// The time service's repair: what it publishes grows with every attempt, and the larger value wins.
pub fn published_past_the_last(settings: Settings) -> Settings {
    let time = TimeService { advance: Advance::PastLast, stamps: CellStamps::Value, ..settings.time };
    Settings { time, ..settings }
}

/// Drops an assumption of the lock with its services. Those that have no meaning for it change nothing.
pub fn drop_from_served(space: &mut Space<CassandraServed>, assumption: Assumption) {
    let bounds = &mut space.bounds;
    match assumption {
        Assumption::UniqueIds => space.setup.lock.queue.shared_thread_id = true,
        Assumption::ReadAfterAck => space.setup.lock.queue.reads_before_ack = true,
        // Somebody's, whoever it is, is ahead of the others' from some moment on, which may be the beginning.
        Assumption::ClocksAgree => {
            bounds.clock_steps = bounds.clock_steps.max(1);
            if bounds.clock_step_ticks == 0 {
                bounds.clock_step_ticks = 1;
            }
        }
        Assumption::NoCrash => bounds.crashes = 1,
        Assumption::NoLoss => bounds.losses = 1,
        Assumption::NoDuplicate => bounds.duplicates = 1,
        Assumption::NoPause | Assumption::NoSuspend => {
            bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            bounds.latency_ticks = Some(bounds.latency_ticks.unwrap_or(1));
            bounds.pauses = 1;
            bounds.pause_ticks = TTL_SECONDS as u8 + 1;
        }
        Assumption::NoClockStep => {
            bounds.clock_steps = 1;
            bounds.clock_step_ticks = -1;
        }
        Assumption::Durable => {
            space.setup.store.commit_log = store::CommitLog::LOST_WITH_POWER;
            bounds.power_losses = 1;
        }
        // One replica always meets itself.
        Assumption::QuorumsMeet if space.setup.servers == 1 => {}
        Assumption::QuorumsMeet => {
            space.setup.store.writes = store::Consistency::One;
            space.setup.store.reads = store::Consistency::One;
        }
        Assumption::NoClockFreeze
        | Assumption::NoExpiry
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

/// Clients that ask again and again, for ever.
pub fn for_ever(space: &mut Space<CassandraServed>) {
    space.setup.workload.rounds = ROUNDS_WITHOUT_END;
}

/// The queue lock with leases that keepers end, in ticks, on a network that delivers within the tick.
pub fn kept(clients: u8, keepers: u8, promises: &[Promise]) -> Space<CassandraServed> {
    let kept = Settings::kept();
    let settings = Settings {
        queue: cassandra_queue::Settings {
            ttl_seconds: Some(TTL_SECONDS),
            poll_interval: TICK,
            request_timeout: None,
            ..kept.queue
        },
        threads: clients,
        lease_keepers: keepers,
        leases: LeaseService { period: TICK, ..kept.leases },
        time: TimeService { period: TICK, ..kept.time },
    };
    let hold = Micros(i64::from(TTL_SECONDS + 2) * TICK.0);
    let mut space =
        space(settings, Workload { attendants: keepers, hold, ..workload(clients, Calls::Lock) }, promises);
    space.bounds = Bounds { latency_ticks: Some(0), unhurried: true, ..Bounds::default() };
    space
}

fn space(settings: Settings, workload: Workload, promises: &[Promise]) -> Space<CassandraServed> {
    Space {
        setup: Setup {
            lock: settings,
            store: patient_store(),
            servers: 1,
            workload,
            promises: promises.iter().copied().collect(),
        },
        bounds: Bounds::default(),
    }
}
