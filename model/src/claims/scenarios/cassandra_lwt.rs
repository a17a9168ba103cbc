//! The row of the lock by conditional write.

use super::cassandra::CASSANDRA;
use super::{Scenario, Search};
use crate::claims::cassandra_lwt::{drop_from_lwt_lock, lwt_lock};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::{Draws, Goal};
use crate::workload::Calls;
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
        ..CASSANDRA
    }
}
