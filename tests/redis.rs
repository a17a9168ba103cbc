//! What else is true of the lock on one Redis instance (the Redlock article, *Distributed Locks with Redis*), beside its rows of the
//! catalogue.

use crate::evidence::{check, evidence};
use picklock_model::claims::{
    Assumption, Judgement, NamedSpace, Search, redis as spaces, scenarios, unpack_setup,
};
use picklock_model::explore::Space;
use picklock_model::locks::RedisSingle;
use picklock_model::locks::redis_single::{ExtendBy, Extension};
use picklock_model::stores::redis::Persistence;
use picklock_model::time::Micros;
use picklock_model::workload::Calls;
use picklock_model::world::{Bounds, TICK};
use picklock_properties::Promise;
use picklock_sim::registry::{CheckVerdict, Checked};

/// Row R8's note: that a replica has heard everything before its master dies is not enough. A replica whose clock is ahead by more than a
/// lock lives has a free lock after the failover; and where clocks agree, or the replica's is behind, the master that was succeeded comes
/// back, and is asked before anybody has told it.
#[test]
fn after_everything_was_heard_a_failover_is_spoilt_by_a_clock_or_by_the_master_that_comes_back() {
    let ahead = |ticks| changed("R8", |bounds| bounds.last_server_ahead_ticks = ticks);
    assert_eq!(broken(&ahead(9)), 13);
    for ticks in [0, -9] {
        assert_eq!(broken(&ahead(ticks)), 20);
    }
    // Where it comes back at once nobody succeeds it.
    kept(&changed("R8", |bounds| {
        bounds.last_server_ahead_ticks = 0;
        bounds.server_crashes_restart = true;
    }));
}

/// What rows R11 and R12 need: a deletion that is slower than the key's life.
#[test]
fn an_unconditional_deletion_is_harmless_while_messages_are_fast() {
    for row in ["R11", "R12"] {
        let slow = |ticks| changed(row, |bounds| bounds.latency_ticks = Some(ticks));
        kept(&slow(0));
        broken(&slow(2));
    }
}

/// No pause is needed for what row R15 is about, only a server that forgets: first the holder's record, then that of the client
/// that came after it.
#[test]
fn a_server_that_forgets_twice_lets_the_script_that_creates_take_back_a_lease_and_the_one_that_compares_never()
 {
    let space = |persistence, how| {
        let mut space = spaces::redis_single(2, Calls::TryLock, &[Promise::LeaseLoss]);
        space.setup.store.persistence = persistence;
        space.bounds.drifts = 0;
        // The first holder's record, and the record of the one who came after it.
        space.bounds.power_losses = 2;
        space.setup.workload.hold = Micros(2 * TICK.0);
        space.setup.lock.extension = Some(Extension { lead: TICK, times_max: 1, how });
        named(&space)
    };
    broken(&space(Persistence::None, ExtendBy::ExtendOrCreate));
    kept(&space(Persistence::AofAlways, ExtendBy::ExtendOrCreate));
    // It may learn late, when the lock is another's, that its lease was prolonged in time; that takes nothing from anybody.
    kept(&space(Persistence::None, ExtendBy::CompareAndExtend));
}

/// `FLUSHALL` of another tenant: no setting of the lock helps (row R23's note).
#[test]
fn a_flush_breaks_mutual_exclusion() {
    let mut space = spaces::redis_single(2, Calls::TryLock, &[Promise::MutualExclusion]);
    kept(&named(&space));
    spaces::drop_from_redis_single(&mut space, Assumption::KeysKept);
    broken(&named(&space));
}

fn named(space: &Space<RedisSingle>) -> NamedSpace {
    NamedSpace::new("redis-single", space)
}

/// The space of a row, with other bounds.
fn changed(id: &str, change: impl FnOnce(&mut Bounds)) -> NamedSpace {
    let Some(row) = scenarios().into_iter().find(|row| row.id == id) else {
        panic!("the catalogue has no row {id}");
    };
    let Search::Space { mut space, judgement: Judgement::Safety } = row.search else {
        panic!("row {id} is not judged by a space");
    };
    assert!(unpack_setup::<RedisSingle>(&space.setup).is_ok(), "row {id} is not of this lock");
    change(&mut space.bounds);
    space
}

/// In how many steps.
fn broken(space: &NamedSpace) -> usize {
    let Checked { exploration, counterexample, .. } = check(space, &Judgement::Safety);
    let Some(found) = counterexample else { panic!("{:?}: {exploration:?}", space.bounds) };
    found.steps
}

fn kept(space: &NamedSpace) {
    let Checked { verdict, exploration, counterexample, .. } = check(space, &Judgement::Safety);
    if let Some(found) = counterexample {
        panic!("{:?}\n{}", space.bounds, evidence(found.promise, &found.token));
    }
    assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
    assert!(exploration.coverage.granted > 0, "{exploration:?}");
}
