//! Where random plans come upon the failures of the old Cassandra lock by themselves: seconds, not ticks, and three
//! replicas at QUORUM, as the seeded runs of the matrix have them.

use crate::claims::cassandra::workload;
use crate::claims::pack_setup;
use crate::claims::scenarios::Hunt;
use crate::cluster::Setup;
use crate::locks::CassandraShadow;
use crate::locks::cassandra_shadow::Settings;
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

pub(super) fn c19() -> Hunt {
    hunt(
        &["clock"],
        Promise::MutualExclusion,
        |lock| Settings { ttl_seconds: None, ..lock },
        |lock| Settings { own_id_check: true, ..lock },
    )
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

/// Two threads, three times each, with a hold that needs a renewal; on the lock as it is set up, and on the same repaired.
fn hunt(
    faults: &'static [&'static str],
    promise: Promise,
    variant: fn(Settings) -> Settings,
    repair: fn(Settings) -> Settings,
) -> Hunt {
    let setup = Setup::<CassandraShadow> {
        lock: variant(Settings { ttl_seconds: Some(TTL_SECONDS), ..Settings::as_written() }),
        store: store::Settings::default(),
        servers: 3,
        workload: Workload {
            rounds: 3,
            think: Micros::seconds(5),
            hold: Micros::seconds(12),
            ..workload(2, Calls::Lock)
        },
        promises: [promise].into_iter().collect(),
    };
    let fixed = Setup { lock: repair(setup.lock), ..setup.clone() };
    Hunt { lock: LOCK, fixed_lock: LOCK, setup: pack_setup(&setup), fixed: pack_setup(&fixed), faults }
}
