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

/// Row R8's note: a master that dies when its replica has heard everything is succeeded without harm, and all that is
/// missing for row R8 is a replica whose clock is ahead by more than a lock lives.
#[test]
fn a_failover_after_everything_was_heard_breaks_nothing_while_the_clocks_agree() {
    let ahead = |ticks| changed("R8", |bounds| bounds.last_server_ahead_ticks = ticks);
    kept(&ahead(0));
    broken(&ahead(9));
    // A replica whose clock is behind keeps the lock for longer, which is in nobody's way.
    kept(&ahead(-9));
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

fn broken(space: &NamedSpace) {
    let Checked { verdict, exploration, .. } = check(space, &Judgement::Safety);
    assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.bounds);
}

fn kept(space: &NamedSpace) {
    let Checked { verdict, exploration, counterexample, .. } = check(space, &Judgement::Safety);
    if let Some(found) = counterexample {
        panic!("{:?}\n{}", space.bounds, evidence(found.promise, &found.token));
    }
    assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
    assert!(exploration.coverage.granted > 0, "{exploration:?}");
}
