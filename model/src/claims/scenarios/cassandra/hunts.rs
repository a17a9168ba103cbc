//! Where random plans come upon the failures of the Cassandra queue lock by themselves: seconds, not ticks, and three
//! replicas at QUORUM, as the seeded runs of the matrix have them.

use crate::claims::cassandra::workload;
use crate::claims::pack_setup;
use crate::claims::scenarios::{Hunt, varied_unless_shaped};
use crate::cluster::Setup;
use crate::locks::CassandraQueue;
use crate::locks::cassandra_queue::{QueueOrder, ReleaseOrder, RetryDeletes, Settings, Timestamps};
use crate::stores::cassandra::{self as store, CommitLog, Consistency, ReadRepair, ReadTargets};
use crate::time::Micros;
use crate::workload::{Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

/// A thread battles in the main row, as the row has it, while it is first in the queue and another one holds: it has to be
/// behind by its clock. Short rounds give it many chances.
pub(super) fn c1() -> Hunt {
    let mut setup = unleased(Promise::MutualExclusion);
    let work = &mut setup.workload;
    (work.rounds, work.think, work.hold) = (10, Micros::seconds(1), Micros::seconds(1));
    hunt(&["clock"], setup, |lock| Settings {
        own_id_check: true,
        timestamps: Timestamps::ClientMonotonic,
        ..lock
    })
}

/// A late reply does to line 4 what a pause does. The plans have no pause, for of a paused holder two hold, whatever is
/// repaired (row C3); the TTL is shorter than the 12 s for which a driver waits for a reply, and no hold needs a renewal.
pub(super) fn c2() -> Hunt {
    let mut setup = leased(Promise::MutualExclusion);
    (setup.lock.ttl_seconds, setup.lock.request_timeout) = (Some(4), Some(Micros::seconds(12)));
    let work = &mut setup.workload;
    (work.rounds, work.think, work.hold) = (10, Micros::seconds(1), Micros::seconds(1));
    hunt(&["delay"], setup, |lock| Settings { own_id_check: true, ..valid(lock) })
}

/// With the repairs of row C2 from the beginning, so that nothing but a paused holder is left. The repaired setup watches
/// what the resource accepts: two hold as before.
pub(super) fn c3() -> Hunt {
    let mut setup = leased(Promise::MutualExclusion);
    setup.lock = Settings { own_id_check: true, ..valid(setup.lock) };
    setup.workload.writes = Writes::Resource;
    let mut fixed = setup.clone();
    fixed.lock.fencing = true;
    fixed.workload.resource_checks = true;
    fixed.promises = PromiseSet::from_iter([Promise::FencedResource]);
    repaired(&["pause"], &setup, &fixed)
}

pub(super) fn c4() -> Hunt {
    hunt(&["pause"], leased(Promise::LeaseLoss), |lock| Settings { conditional_renewal: true, ..valid(lock) })
}

pub(super) fn c6() -> Hunt {
    hunt(&["pause"], leased(Promise::StarvationFreedom), |lock| Settings { waiters_renew: true, ..lock })
}

/// Whoever crashes, it is mostly one who asks: a client holds for no time at all.
pub(super) fn c7() -> Hunt {
    let mut setup = unleased(Promise::DeadlockFreedom);
    (setup.workload.think, setup.workload.hold) = (Micros::millis(10), Micros::ZERO);
    hunt(&["crash"], setup, outlived)
}

/// Whoever crashes, it is mostly a holder: a client holds longer than it asks.
pub(super) fn c8() -> Hunt {
    hunt(&["crash"], unleased(Promise::DeadlockFreedom), outlived)
}

fn outlived(lock: Settings) -> Settings {
    Settings { ttl_seconds: Some(TTL_SECONDS), waiters_renew: true, ..lock }
}

/// Both deletions are sent at once, and the one of the queue cell has to be late by as long as `try_lock` takes from line 1
/// to line 4: some milliseconds. In any order it would break the promise to take a deletion for done after a time-out, and
/// so does a reply to line 1 that is under way for as long as another one holds: holds are long. The repair is held to what it is
/// claimed for: two clients that call once.
pub(super) fn c9() -> Hunt {
    let mut setup = unleased(Promise::Theorem3);
    setup.lock.retry_deletes = RetryDeletes::UntilAcknowledged;
    let work = &mut setup.workload;
    (work.calls, work.retries, work.rounds) = (Calls::TryLock, true, 5);
    (work.think, work.hold) = (Micros::millis(20), Micros::seconds(1));
    let mut fixed = setup.clone();
    fixed.lock.release_order = ReleaseOrder::QueueThenMain;
    let work = &mut fixed.workload;
    (work.clients, work.rounds, work.retries) = (2, 1, false);
    repaired(&["delay"], &setup, &fixed)
}

/// A hold that ends a moment after a renewal was due: no fault is needed.
pub(super) fn c10() -> Hunt {
    let mut setup = leased(Promise::Theorem3);
    setup.lock.timestamps = Timestamps::Coordinator;
    let renewal = Micros::seconds(i64::from(TTL_SECONDS) / 2);
    let work = &mut setup.workload;
    (work.clients, work.calls) = (1, Calls::TryLock);
    (work.think, work.hold) = (Micros::seconds(1), renewal + Micros::millis(4));
    hunt(&[], setup, |lock| Settings { join_renewer: true, ..lock })
}

pub(super) fn c11() -> Hunt {
    let at = |level: Consistency| {
        let mut setup = unleased(Promise::MutualExclusion);
        setup.store.writes = level;
        setup.store.reads = level;
        setup
    };
    repaired(&[], &at(Consistency::One), &at(Consistency::Quorum))
}

/// Whose cells expire loses them without any fault of the store.
pub(super) fn c12() -> Hunt {
    logged(&["power-loss"], &unleased(Promise::MutualExclusion))
}

/// As row C12, with a process that is killed in the place of a power loss: on one replica, for of several all that acknowledged must die
/// within a tenth of a second.
pub(super) fn c35() -> Hunt {
    let mut setup = unleased(Promise::MutualExclusion);
    setup.servers = 1;
    logged(&["crash"], &setup)
}

/// With the commit log as shipped, and repaired: in batches.
fn logged(faults: &'static [&'static str], setup: &Setup<CassandraQueue>) -> Hunt {
    let at = |commit_log| {
        let mut setup = setup.clone();
        setup.store.commit_log = commit_log;
        setup
    };
    repaired(faults, &at(CommitLog::AS_SHIPPED), &at(CommitLog::Batch))
}

/// On coordinators that always read the same replicas, and repair nothing: elsewhere it heals.
pub(super) fn c14() -> Hunt {
    let setup = Setup {
        lock: Settings {
            ttl_seconds: None,
            poll_interval: Micros::millis(200),
            request_timeout: Some(Micros::seconds(3)),
            // A deletion that nobody answers is repeated, so that what is found is a partial one (else: row C31).
            retry_deletes: RetryDeletes::Unanswered,
            ..Settings::as_written()
        },
        store: store::Settings {
            reads: Consistency::Quorum,
            read_repair: ReadRepair::None,
            read_targets: ReadTargets::Closest,
            ..store::Settings::default()
        },
        servers: 3,
        workload: Workload { rounds: 2, hold: Micros::seconds(1), ..workload(2, Calls::Lock) },
        promises: [Promise::DeadlockFreedom].into_iter().collect(),
    };
    hunt(&["loss", "partition"], setup, |lock| Settings {
        retry_deletes: RetryDeletes::UntilAcknowledged,
        ..lock
    })
}

/// Nobody looks while they all think, for longer than tombstones are kept.
pub(super) fn c36() -> Hunt {
    let keeping = |grace_seconds| {
        let mut setup = unleased(Promise::DeadlockFreedom);
        setup.lock.request_timeout = Some(Micros::seconds(3));
        setup.lock.retry_deletes = RetryDeletes::UntilAcknowledged;
        setup.store.gc_grace_seconds = Some(grace_seconds);
        setup.workload = Workload { think: Micros::seconds(20), hold: Micros::seconds(1), ..setup.workload };
        setup
    };
    repaired(&["loss", "partition"], &keeping(5), &keeping(864_000))
}

/// As row C36, with hints. Servers that lose power are away for as long as it takes: partitions of a plan are shorter than the grace period.
pub(super) fn c37() -> Hunt {
    let keeping = |grace_seconds| {
        let mut setup = unleased(Promise::DeadlockFreedom);
        setup.lock.request_timeout = Some(Micros::seconds(3));
        setup.lock.retry_deletes = RetryDeletes::UntilAcknowledged;
        setup.store.gc_grace_seconds = Some(grace_seconds);
        setup.store.hint_period = Some(Micros::seconds(2));
        setup.workload = Workload { think: Micros::seconds(60), hold: Micros::seconds(1), ..setup.workload };
        setup
    };
    repaired(&["loss", "partition", "power-loss"], &keeping(20), &keeping(864_000))
}

/// In as many rounds as a read may pass tombstones.
pub(super) fn c38() -> Hunt {
    let keeping = |grace_seconds| {
        let mut setup = unleased(Promise::DeadlockFreedom);
        setup.store.tombstones_max = Some(12);
        setup.store.gc_grace_seconds = grace_seconds;
        let workload =
            Workload { rounds: 10, think: Micros::seconds(1), hold: Micros::seconds(1), ..setup.workload };
        setup.workload = workload;
        setup
    };
    repaired(&[], &keeping(None), &keeping(Some(5)))
}

/// With what else it takes against the clocks of clients. Random clocks err by up to three TTLs, however long those are:
/// none is far above the skew but one without end.
pub(super) fn c15() -> Hunt {
    let mut setup = leased(Promise::MutualExclusion);
    setup.lock = Settings {
        own_id_check: true,
        timestamps: Timestamps::ClientMonotonic,
        waiters_renew: true,
        ..setup.lock
    };
    hunt(&["clock"], setup, |lock| Settings { ttl_seconds: None, ..lock })
}

pub(super) fn c16() -> Hunt {
    let mut setup = unleased(Promise::MutualExclusion);
    setup.lock.shared_thread_id = true;
    hunt(&[], setup, |lock| Settings { shared_thread_id: false, ..lock })
}

pub(super) fn c23() -> Hunt {
    hunt(&[], unleased(Promise::Fifo), |lock| Settings { queue_order: QueueOrder::Coordinator, ..lock })
}

/// Who is first in the queue has to have come after the dead one: by a clock that is behind, and in a crowd. Timestamps that
/// never go back keep a wrong clock from leaving a record of somebody who lives.
pub(super) fn c24() -> Hunt {
    let mut setup = unleased(Promise::StarvationFreedom);
    setup.lock.timestamps = Timestamps::ClientMonotonic;
    setup.lock.poll_interval = Micros::millis(20);
    let work = &mut setup.workload;
    (work.clients, work.rounds, work.calls) = (4, 30, Calls::TryLock);
    (work.think, work.hold) = (Micros::millis(20), Micros::millis(20));
    hunt(&["crash", "clock"], setup, |lock| Settings { try_attempts_max: Some(2), ..lock })
}

/// Each calls once, at the same time, and holds for good, so that whose crash leaves refusals behind had not been granted.
/// The repaired setup has the TTL, and callers of `lock`: they are those who try again until they are granted.
pub(super) fn c25() -> Hunt {
    let mut setup = unleased(Promise::Theorem3);
    let work = &mut setup.workload;
    (work.calls, work.rounds, work.releases, work.think) = (Calls::TryLock, 1, false, Micros::millis(10));
    let mut fixed = setup.clone();
    fixed.lock = outlived(fixed.lock);
    (fixed.workload.calls, fixed.workload.releases) = (Calls::Lock, true);
    fixed.promises = PromiseSet::from_iter([Promise::DeadlockFreedom]);
    repaired(&["crash"], &setup, &fixed)
}

/// Any deletion may be the lost one, and mostly it is that of a release: the end is the same, and so is the repair.
pub(super) fn c31() -> Hunt {
    hunt(&["loss"], unleased(Promise::DeadlockFreedom), |lock| Settings {
        retry_deletes: RetryDeletes::UntilAcknowledged,
        ..lock
    })
}

const LOCK: &str = "cassandra-queue";

/// Longer than anybody waits while nothing goes wrong: or row C6 would hide all others.
const TTL_SECONDS: u32 = 20;

/// On the lock as it is set up, and on the same repaired.
fn hunt(
    faults: &'static [&'static str],
    setup: Setup<CassandraQueue>,
    repair: fn(Settings) -> Settings,
) -> Hunt {
    let fixed = Setup { lock: repair(setup.lock), ..setup.clone() };
    repaired(faults, &setup, &fixed)
}

fn repaired(
    faults: &'static [&'static str],
    setup: &Setup<CassandraQueue>,
    fixed: &Setup<CassandraQueue>,
) -> Hunt {
    // What a repair is tried on has the shape of what it repairs, or its own reason for another.
    let varied = |setup: &Setup<CassandraQueue>| {
        let workload = varied_unless_shaped(setup.workload, &usual());
        pack_setup(&Setup { workload, ..setup.clone() })
    };
    Hunt { lock: LOCK, fixed_lock: LOCK, setup: varied(setup), fixed: varied(fixed), faults }
}

/// Two threads that use the lock three times each, with a hold that needs a renewal.
fn usual() -> Workload {
    Workload { rounds: 3, think: Micros::seconds(5), hold: Micros::seconds(12), ..workload(2, Calls::Lock) }
}

/// The lease as the client itself can judge it. The margin is a second for the store, which counts in whole ones, and one
/// for messages.
fn valid(lock: Settings) -> Settings {
    Settings { validity_check: true, validity_margin: Micros::seconds(2), ..lock }
}

/// The lock with its lease, used by two threads three times each, with a hold that needs a renewal.
fn leased(promise: Promise) -> Setup<CassandraQueue> {
    Setup {
        lock: Settings {
            ttl_seconds: Some(TTL_SECONDS),
            poll_interval: Micros::millis(200),
            ..Settings::as_written()
        },
        store: store::Settings::default(),
        servers: 3,
        workload: usual(),
        promises: [promise].into_iter().collect(),
    }
}

/// The same without a lease.
fn unleased(promise: Promise) -> Setup<CassandraQueue> {
    let mut setup = leased(promise);
    setup.lock.ttl_seconds = None;
    setup
}
