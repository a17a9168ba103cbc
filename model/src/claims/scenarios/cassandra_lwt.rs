//! The row of the lock by conditional write.

use super::cassandra::{CASSANDRA, seeds};
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
    vec![c29(), c39()]
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

/// Nobody waits for a TTL, and everybody knows an own value; of three servers the first may have accepted what the others know nothing of.
fn c39() -> Scenario {
    let with = |rejections| Setup::<CassandraLwt> {
        lock: Settings {
            ttl_seconds: None,
            takes_back: true,
            // Longer than the coordinator tries: it has given up by then.
            request_timeout: Some(Micros::seconds(3)),
            ..Settings::repaired()
        },
        store: store::Settings { rejections, ..store::Settings::default() },
        servers: 3,
        workload: Workload {
            rounds: 5,
            think: Micros::seconds(2),
            hold: Micros::seconds(1),
            varies: true,
            ..workload(2, Calls::Lock)
        },
        promises: [Promise::DeadlockFreedom].into_iter().collect(),
    };
    let hunt = Hunt {
        lock: "cassandra-lwt",
        fixed_lock: "cassandra-lwt",
        setup: pack_setup(&with(store::Rejections::Answered)),
        fixed: pack_setup(&with(store::Rejections::Proposed)),
        faults: &["loss"],
    };
    Scenario {
        id: "C39",
        story: "an insert that one replica has accepted times out, and is taken back: its deletion is rejected, for nothing is there; \
                the next round finds what was accepted and finishes it, and the lock belongs to a value that nobody knows any more",
        breaks: Promise::DeadlockFreedom,
        search: seeds(&hunt, &hunt.setup),
        fix: "a rejected write has nothing accepted in its place (CASSANDRA-12126; since 3.0.24, 3.11.10 and 4.0)",
        fix_search: seeds(&hunt, &hunt.fixed),
        note: "against losses alone: an insert that arrives twice, or late, or from a coordinator that was paused, may come after it was taken \
               back, with either way to reject; the setting paxos_variant: v1_without_linearizable_reads_or_rejected_writes brings the old \
               one back; a TTL ends the wait",
        hunt: Some(hunt),
        ..CASSANDRA
    }
}
