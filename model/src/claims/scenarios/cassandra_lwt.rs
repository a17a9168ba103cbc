//! The row of the lock by conditional write.

use super::cassandra::CASSANDRA;
use super::{Hunt, Scenario, Search};
use crate::claims::cassandra::workload;
use crate::claims::cassandra_lwt::{drop_from_lwt_lock, lwt_lock};
use crate::claims::{Assumption, Judgement, NamedSpace, pack_setup};
use crate::cluster::Setup;
use crate::explore::{Draws, Goal};
use crate::locks::CassandraLwt;
use crate::locks::cassandra_lwt::Settings;
use crate::stores::cassandra as store;
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use picklock_properties::Promise;

/// The rows.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![c29()]
}

fn c29() -> Scenario {
    let search = |own_value_is_success| {
        let mut space = lwt_lock(1, 1, Calls::Lock, &[]);
        drop_from_lwt_lock(&mut space, Assumption::NoLoss);
        space.setup.lock.own_value_is_success = own_value_is_success;
        Search::Space {
            space: NamedSpace::new("cassandra-lwt", &space),
            judgement: Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Dice },
        }
    };
    Scenario {
        id: "C29",
        story: "the reply to the conditional insert is lost: the insert is repeated, finds the thread's own value, and the \
                thread waits for itself for ever",
        breaks: Promise::DeadlockFreedom,
        search: search(false),
        fix: "own value = success",
        fix_search: search(true),
        note: "a lost request that is repeated does no harm; a TTL ends the wait",
        hunt: Some(hunt_of_c29()),
        ..CASSANDRA
    }
}

/// Seconds, not ticks, three replicas, and two threads three times each.
fn hunt_of_c29() -> Hunt {
    let setup = Setup::<CassandraLwt> {
        lock: Settings { ttl_seconds: None, ..Settings::as_written() },
        store: store::Settings::default(),
        servers: 3,
        workload: Workload {
            rounds: 3,
            think: Micros::seconds(5),
            hold: Micros::seconds(12),
            varies: true,
            ..workload(2, Calls::Lock)
        },
        promises: [Promise::DeadlockFreedom].into_iter().collect(),
    };
    let mut fixed = setup.clone();
    fixed.lock.own_value_is_success = true;
    Hunt {
        lock: "cassandra-lwt",
        fixed_lock: "cassandra-lwt",
        setup: pack_setup(&setup),
        fixed: pack_setup(&fixed),
        faults: &["loss"],
    }
}
