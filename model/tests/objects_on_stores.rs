//! The objects of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, in each store that has
//! compare-and-set: what the store must give, and what it takes away.

use picklock_model::claims::objects::{in_cassandra, in_etcd, in_redis, in_zookeeper};
use picklock_model::explore::{Exploration, Limits, Space, Verdict, search};
use picklock_model::objects::accounts::Intents;
use picklock_model::objects::cells::{EtcdField, Reads};
use picklock_model::objects::content::Marks;
use picklock_model::objects::{Accounts, Queue, Variable};
use picklock_model::stores::redis::Persistence;
use picklock_model::system::System;
use picklock_properties::Promise;

fn explored<Y: System>(what: &str, space: &Space<Y>) -> Exploration {
    let explored = search(space, &Limits::states(20_000_000));
    println!("{what}: {} states, {:?}", explored.states, explored.verdict);
    explored
}

fn assert_holds<Y: System>(what: &str, space: &Space<Y>) {
    let explored = explored(what, space);
    assert_eq!(explored.verdict, Verdict::Verified, "{what}");
    let untested = explored.coverage.tested.untested(space.setup.promises);
    assert!(untested.is_empty(), "{what}: nothing put {untested:?} to the test");
}

/// After how many steps.
fn assert_broken<Y: System>(what: &str, space: &Space<Y>) -> usize {
    match explored(what, space).verdict {
        Verdict::Violated { path, .. } => path.len(),
        verdict => panic!("{what}: {verdict:?}"),
    }
}

/// A pusher and a reader, twice each; two pushers and a reader, once each.
const QUEUES: [(u8, u8); 2] = [(2, 2), (3, 1)];

const OF_QUEUES: [Promise; 4] =
    [Promise::Linearizable, Promise::NoHole, Promise::NoOverwrite, Promise::NoDuplicate];

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_lock_free_queue_is_linearizable_in_every_store() {
    for size in QUEUES {
        assert_holds("etcd", &in_etcd::<Queue>(EtcdField::ModRevision, size, &OF_QUEUES));
        assert_holds("Redis", &in_redis::<Queue>(1, size, &OF_QUEUES));
        assert_holds("ZooKeeper", &in_zookeeper::<Queue>(1, false, size, &OF_QUEUES));
        assert_holds("Cassandra", &in_cassandra::<Queue>(1, Reads::Serial, size, &OF_QUEUES));
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_follower_that_lags_hides_what_was_pushed_unless_it_is_synced() {
    let space = |sync| in_zookeeper::<Queue>(2, sync, (2, 2), &OF_QUEUES);
    assert_broken("as everybody reads", &space(false));
    assert_holds("after a sync", &space(true));
}

#[test]
fn money_is_moved_between_two_masters_of_redis_as_between_two_ideal_stores() {
    let space = |logged: bool| {
        let mut space = in_redis::<Accounts>(2, (1, 4), &[Promise::Conservation]);
        space.bounds.crashes = 1;
        if logged {
            let object = &mut space.setup.lock.object;
            (object.marks, object.intents) = (Marks::Last, Intents::CompareAndSet);
        }
        space
    };
    assert_broken("dying between the halves", &space(false));
    assert_holds("intents", &space(true));
}

/// Neither has a write that is done in any case, nor compares ZooKeeper contents: a client reads, and sets by the version.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_a_store_does_not_do_is_made_of_what_it_does() {
    let logged = |object: &mut picklock_model::objects::accounts::Settings| {
        (object.marks, object.intents) = (Marks::Last, Intents::CompareAndSet);
    };
    let mut zookeeper = in_zookeeper::<Accounts>(1, false, (1, 4), &[Promise::Conservation]);
    logged(&mut zookeeper.setup.lock.object);
    zookeeper.bounds.crashes = 1;
    assert_holds("ZooKeeper", &zookeeper);
    let mut cassandra = in_cassandra::<Accounts>(1, Reads::Serial, (1, 4), &[Promise::Conservation]);
    logged(&mut cassandra.setup.lock.object);
    cassandra.bounds.crashes = 1;
    assert_holds("Cassandra", &cassandra);
    for deletes in [false, true] {
        let mut space = in_zookeeper::<Variable>(1, false, (2, 2), &[Promise::Linearizable]);
        space.setup.lock.object.deletes = deletes;
        assert_holds("ZooKeeper, deletes", &space);
        let mut space = in_cassandra::<Variable>(1, Reads::Serial, (2, 2), &[Promise::Linearizable]);
        space.setup.lock.object.deletes = deletes;
        assert_holds("Cassandra, deletes", &space);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_version_of_a_znode_starts_again_as_that_of_a_key_in_etcd_does() {
    let mut space = in_zookeeper::<Variable>(1, false, (2, 3), &[Promise::Linearizable]);
    (space.setup.lock.object.deletes, space.setup.lock.object.values) = (true, 1);
    assert_broken("dataVersion", &space);
}

/// A sync a second loses less than nothing on the disk at all; an answered write is lost all the same.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn of_what_redis_may_write_to_its_disk_only_always_keeps_what_was_answered() {
    for persistence in
        [Persistence::None, Persistence::Rdb, Persistence::AofEverySecond, Persistence::AofAlways]
    {
        let mut space = in_redis::<Variable>(1, (2, 2), &[Promise::Linearizable]);
        space.setup.lock.object.marks = Marks::EachClient;
        space.setup.store.persistence = persistence;
        space.bounds.power_losses = 1;
        match persistence {
            Persistence::AofAlways => assert_holds("always", &space),
            _ => drop(assert_broken(&format!("{persistence:?}"), &space)),
        }
    }
}
