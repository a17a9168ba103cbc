//! The spaces in which the Cassandra locks are judged: the base that the theorems speak of, and how each assumption is
//! dropped from it.

use super::Assumption;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::{CassandraQueue, RowProbe, cassandra_queue, row_probe};
use crate::stores::cassandra::{self as store, CommitLog, Consistency};
use crate::time::Micros;
use crate::workload::{AccessChoice, Calls, Workload, Writes};
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// The TTL of small models in seconds: the shortest with which a prompt client's renewal at N/2 comes in time.
pub const TTL_SECONDS: u32 = 4;

/// Clients that each use the lock once and release it; time does not matter.
pub fn workload(clients: u8, calls: Calls) -> Workload {
    Workload {
        clients,
        rounds: 1,
        retries: false,
        calls,
        access: AccessChoice::First,
        think: Micros::ZERO,
        hold: Micros::ZERO,
        releases: true,
        writes: Writes::None,
        resource_checks: false,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    }
}

/// A store whose coordinators wait for ever: in a bounded model a message is lost or it arrives.
pub fn patient_store() -> store::Settings {
    store::Settings { request_timeout: None, ..store::Settings::default() }
}

/// The queue lock as the listings have it: no lease, no faults, no time; QUORUM if there are replicas.
pub fn queue_lock(clients: u8, servers: u8, calls: Calls, promises: &[Promise]) -> Space<CassandraQueue> {
    Space {
        setup: Setup {
            lock: cassandra_queue::Settings::listing(),
            store: patient_store(),
            servers,
            workload: workload(clients, calls),
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds {
            colocated: servers > 2,
            link_messages_max: if servers > 1 { 2 } else { 0 },
            ..Bounds::default()
        },
    }
}

/// Drops an assumption of the queue lock's theorems. Several may be dropped, one after the other.
pub fn drop_from_queue_lock(space: &mut Space<CassandraQueue>, assumption: Assumption) {
    let setup = &mut space.setup;
    drop_from_surroundings(setup.servers, &mut setup.store, &mut space.bounds, assumption);
    match assumption {
        Assumption::UniqueIds => setup.lock.shared_thread_id = true,
        Assumption::NoExpiry => {
            setup.lock.ttl_seconds = Some(TTL_SECONDS);
            timed(space);
        }
        Assumption::NoPause | Assumption::NoSuspend => timed(space),
        Assumption::ReadAfterAck => setup.lock.reads_before_ack = true,
        Assumption::NoLoss => answers_may_be_lost(space),
        Assumption::FreeAtStart => setup.workload.releases = true,
        Assumption::NoClockStep
        | Assumption::NoClockFreeze
        | Assumption::ClocksAgree
        | Assumption::Durable
        | Assumption::QuorumsMeet
        | Assumption::NoCrash
        | Assumption::NoDuplicate
        | Assumption::BoundedDrift
        | Assumption::NoServerClockStep
        | Assumption::StopsInTime
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver
        | Assumption::MajorityUp => {}
    }
}

/// A client's clock may step back once.
fn clocks_step_back(bounds: &mut Bounds) {
    bounds.clock_steps = bounds.clock_steps.max(1);
    bounds.clock_step_ticks = -1;
}

/// Clients' clocks disagree, and none ever steps back: twice somebody's may jump ahead of all that was read so far, from the
/// beginning or later: one client's that is off from the beginning, whichever it is, two clients' that are off alike, and one that is off
/// by no more than a run takes. Left out are three clients of whom each is always ahead of the one before, which takes a third jump.
/// Where clocks may also step back, they do so as often.
fn clocks_disagree(bounds: &mut Bounds) {
    bounds.clock_steps = bounds.clock_steps.max(2);
    if bounds.clock_step_ticks == 0 {
        bounds.clock_step_ticks = 1;
    }
}

/// Drops from the world around a lock on Cassandra what an assumption says of its clocks, nodes, network and store; what it
/// says of the lock itself is the lock's to drop.
pub(super) fn drop_from_surroundings(
    servers: u8,
    store: &mut store::Settings,
    bounds: &mut Bounds,
    assumption: Assumption,
) {
    match assumption {
        Assumption::NoClockStep => clocks_step_back(bounds),
        Assumption::NoClockFreeze => bounds.freezes = 1,
        Assumption::ClocksAgree => clocks_disagree(bounds),
        Assumption::NoPause | Assumption::NoSuspend => {
            bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            bounds.pauses = 1;
            bounds.pause_ticks = TTL_SECONDS as u8 + 1;
        }
        Assumption::Durable => {
            store.commit_log = CommitLog::LOST_WITH_POWER;
            bounds.power_losses = 1;
        }
        // One server meets itself.
        Assumption::QuorumsMeet if servers == 1 => {}
        Assumption::QuorumsMeet => {
            store.writes = Consistency::One;
            store.reads = Consistency::One;
        }
        Assumption::NoCrash => bounds.crashes = 1,
        Assumption::NoLoss => bounds.losses = 1,
        Assumption::NoDuplicate => bounds.duplicates = 1,
        Assumption::UniqueIds
        | Assumption::NoExpiry
        | Assumption::ReadAfterAck
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

/// Longer than a request and its reply can take: a time-out means that one of them was lost.
pub(super) const LOST_AFTER: Micros = Micros(3 * TICK.0);

/// Lets time pass: messages take up to a tick, waiting threads poll every tick.
pub fn timed(space: &mut Space<CassandraQueue>) {
    space.bounds.latency_ticks = Some(1);
    space.bounds.unhurried = true;
    space.setup.lock.poll_interval = TICK;
}

/// Clients give up on an answer in the end: one that is gone, with a message or with the server that had the question, would be waited
/// for without end, however good the lock is.
pub fn answers_may_be_lost(space: &mut Space<CassandraQueue>) {
    space.setup.lock.request_timeout = Some(LOST_AFTER);
    timed(space);
}

/// Lemma 1: two threads write and read a row on `servers` replicas.
pub fn row(clients: u8, servers: u8, writes: Consistency, reads: Consistency) -> Space<RowProbe> {
    Space {
        setup: Setup {
            lock: row_probe::Settings::default(),
            store: store::Settings { writes, reads, ..patient_store() },
            servers,
            workload: workload(clients, Calls::Lock),
            promises: [Promise::Lemma1].into_iter().collect(),
        },
        bounds: Bounds::default(),
    }
}

/// Drops an assumption of Lemma 1. Some have no meaning for it: those change nothing.
pub fn drop_from_row(space: &mut Space<RowProbe>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        Assumption::UniqueIds => setup.lock.shared_column = true,
        Assumption::NoExpiry => {
            setup.lock.ttl_seconds = Some(1);
            bounds.latency_ticks = Some(1);
        }
        Assumption::Durable => {
            setup.store.commit_log = CommitLog::LOST_WITH_POWER;
            bounds.power_losses = 1;
        }
        // One server meets itself.
        Assumption::QuorumsMeet if setup.servers == 1 => {}
        Assumption::QuorumsMeet => {
            setup.store.writes = Consistency::One;
            setup.store.reads = Consistency::One;
        }
        Assumption::ReadAfterAck => setup.lock.reads_before_ack = true,
        Assumption::NoPause | Assumption::NoSuspend => {
            bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            bounds.latency_ticks = Some(1);
            bounds.pauses = 1;
            bounds.pause_ticks = 2;
        }
        Assumption::NoDuplicate => bounds.duplicates = 1,
        Assumption::NoClockStep => clocks_step_back(bounds),
        Assumption::NoClockFreeze => bounds.freezes = 1,
        Assumption::ClocksAgree => clocks_disagree(bounds),
        Assumption::NoCrash => bounds.crashes = 1,
        Assumption::NoLoss => bounds.losses = 1,
        Assumption::FreeAtStart
        | Assumption::BoundedDrift
        | Assumption::NoServerClockStep
        | Assumption::StopsInTime
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver
        | Assumption::MajorityUp => {}
    }
}
