//! Where random plans come upon the failures of the old Cassandra lock by themselves: seconds, not ticks, and three
//! replicas at QUORUM, as the seeded runs of the matrix have them.

use crate::claims::cassandra::workload;
use crate::claims::pack_setup;
use crate::claims::scenarios::{Hunt, varied_unless_shaped};
use crate::cluster::Setup;
use crate::locks::CassandraShadow;
use crate::locks::cassandra_queue::{RetryDeletes, Timestamps};
use crate::locks::cassandra_shadow::{Backoff, Reread, Settings};
use crate::stores::cassandra as store;
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use picklock_properties::Promise;

/// The main cell of whoever dies goes by itself; the shadow cell does not.
pub(super) fn c17() -> Hunt {
    hunt(
        &["crash"],
        Promise::DeadlockFreedom,
        |lock| lock,
        |lock| Settings { shadow_ttl_seconds: Some(TTL_SECONDS), ..lock },
    )
}

/// The shorter the TTL of shadow cells, the more pauses outlast it. Main cells stay, and deletions are repeated, or line 3
/// grants on a cell whose deletion is late.
pub(super) fn c18() -> Hunt {
    let setup = Setup {
        lock: Settings {
            ttl_seconds: None,
            shadow_ttl_seconds: Some(1),
            retry_deletes: RetryDeletes::UntilAcknowledged,
            ..Settings::as_written()
        },
        workload: Workload {
            rounds: 3,
            think: Micros::millis(100),
            hold: Micros::seconds(5),
            ..workload(2, Calls::Lock)
        },
        ..used(Promise::MutualExclusion)
    };
    repaired(&["pause"], setup, |lock| Settings { reread: Reread::Main, ..lock })
}

pub(super) fn c19() -> Hunt {
    hunt(
        &["clock"],
        Promise::MutualExclusion,
        |lock| Settings { ttl_seconds: None, ..lock },
        |lock| Settings { timestamps: Timestamps::ClientMonotonic, ..lock },
    )
}

/// No fault: messages that take a little more or less time end a fight in the end, and within the minute that is the bound
/// of progress here there are six rounds of it.
pub(super) fn c21() -> Hunt {
    let mut setup = used(Promise::DeadlockFreedom);
    setup.lock = Settings { ttl_seconds: None, backoff: Backoff::Fixed(Micros::seconds(10)), ..setup.lock };
    setup.workload.rounds = 10;
    repaired(&[], setup, |lock| Settings { backoff: Backoff::AsWritten, ..lock })
}

/// The margin is a second for the store, which counts in whole ones, and one for messages.
pub(super) fn c30() -> Hunt {
    hunt(
        &["pause"],
        Promise::LeaseLoss,
        |lock| lock,
        |lock| Settings {
            conditional_renewal: true,
            validity_check: true,
            validity_margin: Micros::seconds(2),
            ..lock
        },
    )
}

const LOCK: &str = "cassandra-shadow";

const TTL_SECONDS: u32 = 20;

/// On the lock as it is set up, and on the same repaired.
fn hunt(
    faults: &'static [&'static str],
    promise: Promise,
    variant: fn(Settings) -> Settings,
    repair: fn(Settings) -> Settings,
) -> Hunt {
    let mut setup = used(promise);
    setup.lock = variant(setup.lock);
    repaired(faults, setup, repair)
}

fn repaired(
    faults: &'static [&'static str],
    setup: Setup<CassandraShadow>,
    repair: fn(Settings) -> Settings,
) -> Hunt {
    let workload = varied_unless_shaped(setup.workload, &used(Promise::MutualExclusion).workload);
    let setup = Setup { workload, ..setup };
    let fixed = Setup { lock: repair(setup.lock), ..setup.clone() };
    Hunt { lock: LOCK, fixed_lock: LOCK, setup: pack_setup(&setup), fixed: pack_setup(&fixed), faults }
}

/// Two threads, three times each, with a hold that needs a renewal.
fn used(promise: Promise) -> Setup<CassandraShadow> {
    Setup {
        lock: Settings { ttl_seconds: Some(TTL_SECONDS), ..Settings::as_written() },
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
