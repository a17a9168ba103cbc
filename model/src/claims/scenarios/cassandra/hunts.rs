//! Where random plans come upon the failures of the Cassandra queue lock by themselves: seconds, not ticks, and three
//! replicas at QUORUM, as the seeded runs of the matrix have them.

use crate::claims::cassandra::workload;
use crate::claims::pack_setup;
use crate::claims::scenarios::Hunt;
use crate::cluster::Setup;
use crate::locks::CassandraQueue;
use crate::locks::cassandra_queue::{QueueOrder, RetryDeletes, Settings};
use crate::stores::cassandra::{self as store, CommitLog, Consistency, ReadRepair, ReadTargets};
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use picklock_properties::Promise;

/// The margin is a second for the store, which counts in whole ones, and one for messages.
pub(super) fn c4() -> Hunt {
    hunt(&["pause"], leased(Promise::LeaseLoss), |lock| Settings {
        conditional_renewal: true,
        validity_check: true,
        validity_margin: Micros::seconds(2),
        ..lock
    })
}

pub(super) fn c6() -> Hunt {
    hunt(&["pause"], leased(Promise::StarvationFreedom), |lock| Settings { waiters_renew: true, ..lock })
}

/// Whoever crashes, it is mostly a holder: a client holds longer than it asks.
pub(super) fn c8() -> Hunt {
    hunt(&["crash"], unleased(Promise::DeadlockFreedom), |lock| Settings {
        ttl_seconds: Some(TTL_SECONDS),
        waiters_renew: true,
        ..lock
    })
}

pub(super) fn c11() -> Hunt {
    let at = |level: Consistency| {
        let mut setup = unleased(Promise::MutualExclusion);
        setup.store.writes = level;
        setup.store.reads = level;
        pack_setup(&setup)
    };
    Hunt {
        lock: LOCK,
        fixed_lock: LOCK,
        setup: at(Consistency::One),
        fixed: at(Consistency::Quorum),
        faults: &[],
    }
}

/// Whose cells expire loses them without any fault of the store.
pub(super) fn c12() -> Hunt {
    let at = |commit_log| {
        let mut setup = unleased(Promise::MutualExclusion);
        setup.store.commit_log = commit_log;
        pack_setup(&setup)
    };
    Hunt {
        lock: LOCK,
        fixed_lock: LOCK,
        setup: at(CommitLog::Periodic { period: Micros::seconds(10) }),
        fixed: at(CommitLog::Batch),
        faults: &["power-loss"],
    }
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

pub(super) fn c23() -> Hunt {
    hunt(&[], unleased(Promise::Fifo), |lock| Settings { queue_order: QueueOrder::Coordinator, ..lock })
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
    Hunt { lock: LOCK, fixed_lock: LOCK, setup: pack_setup(&setup), fixed: pack_setup(&fixed), faults }
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
        workload: Workload {
            rounds: 3,
            think: Micros::seconds(5),
            hold: Micros::seconds(12),
            ..workload(2, Calls::Lock)
        },
        promises: [promise].into_iter().collect(),
    }
}

/// The same without a lease.
fn unleased(promise: Promise) -> Setup<CassandraQueue> {
    let mut setup = leased(promise);
    setup.lock.ttl_seconds = None;
    setup
}
