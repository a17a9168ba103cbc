//! One state in the place of all that differ only in which client is which: the same verdicts, and counts as if nothing were left out.

use super::queue_lock;
use picklock_model::claims::{Assumption, cassandra_lwt, cassandra_shadow, etcd, redis, zookeeper};
use picklock_model::explore::{Alike, Exploration, Limits, Space, Verdict, search, search_alike};
use picklock_model::locks::{EtcdElection, EtcdLeaseKey};
use picklock_model::machine::Lock;
use picklock_model::workload::Calls;
use picklock_properties::Promise;

const LIMITS: u64 = 3_000_000;

fn explored<L: Lock>(space: &Space<L>, alike: Alike) -> Option<Exploration> {
    search_alike(space, &Limits::states(LIMITS), alike)
}

/// Fewer states are kept, and all that is counted is what the search counts that keeps every one.
fn counts_the_same<L: Lock>(space: &Space<L>) {
    let kept_apart = explored(space, Alike::Read).expect("what is struck out is not looked at");
    let renamed =
        explored(space, Alike::Renamed).expect("clients are told apart by nothing but their numbers");
    assert_eq!(kept_apart.verdict, Verdict::Verified);
    assert_eq!(kept_apart.kept, kept_apart.states);
    let orders = (1..=u64::from(space.setup.workload.clients)).product::<u64>();
    assert!(renamed.kept < renamed.states && renamed.kept * orders >= renamed.states, "{renamed:?}");
    let counted = |explored: &Exploration| Exploration { kept: 0, bytes: 0, ..explored.clone() };
    assert_eq!(counted(&renamed), counted(&kept_apart));
    // What nobody looks at decides nothing.
    let all = explored(space, Alike::Same).expect("nothing is left out");
    assert_eq!((all.verdict, all.depth), (renamed.verdict, renamed.depth));
    assert!(all.states >= renamed.states);
}

/// It matters which client is which, that is noticed, and nothing is left out.
fn tells_clients_apart<L: Lock>(space: &Space<L>) {
    assert_eq!(explored(space, Alike::Renamed), None);
    let searched = search(space, &Limits::states(LIMITS));
    assert_eq!(Some(&searched), explored(space, Alike::Same).as_ref());
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn clients_of_the_queue_lock_on_one_server() {
    use Assumption::*;
    counts_the_same(&queue_lock(3, Calls::Lock, &[]));
    counts_the_same(&queue_lock(3, Calls::TryLock, &[]));
    for dropped in [NoLoss, NoDuplicate, NoCrash] {
        counts_the_same(&queue_lock(2, Calls::Lock, &[dropped]));
    }
    // Whoever enters after a pause is not alone, but writes nothing here.
    let mut twice = queue_lock(2, Calls::TryLock, &[]);
    twice.setup.workload.rounds = 2;
    counts_the_same(&twice);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn of_two_records_of_the_main_row_nobody_asks_whose_they_are() {
    let space = queue_lock(3, Calls::Lock, &[]);
    let all = explored(&space, Alike::Same).unwrap().states;
    let read = explored(&space, Alike::Read).unwrap().states;
    assert_eq!((all, read), (62_637, 57_020));
    // With two clients a slice of two is the row.
    let space = queue_lock(2, Calls::Lock, &[]);
    assert_eq!(explored(&space, Alike::Same).unwrap().states, explored(&space, Alike::Read).unwrap().states);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn clients_of_other_locks() {
    counts_the_same(&etcd::etcd_mutex(3, Calls::Lock, &[Promise::MutualExclusion]));
    counts_the_same(&etcd::etcd_leases(2, Calls::Lock, &[Promise::MutualExclusion]));
    let exclusive = [Promise::MutualExclusion];
    // A candidate proposes its name, and a key with a lease holds one: a name is read like any number of a client.
    counts_the_same(&etcd::on_etcd::<EtcdElection>(2, Calls::Lock, &exclusive));
    counts_the_same(&etcd::on_etcd::<EtcdLeaseKey>(2, Calls::Lock, &exclusive));
    counts_the_same(&cassandra_lwt::lwt_lock(3, 1, Calls::TryLock, &exclusive));
    counts_the_same(&cassandra_shadow::shadow_lock(3, 1, Calls::TryLock, &exclusive));
    counts_the_same(&redis::redis_single(3, Calls::TryLock, &[Promise::MutualExclusion]));
    counts_the_same(&redis::redlock(2, 3, Calls::Lock, &[Promise::MutualExclusion]));
    counts_the_same(&zookeeper::zookeeper_lock(3, 1, Calls::Lock, &[Promise::MutualExclusion]));
}

#[test]
fn clients_who_share_an_id_are_told_apart_by_whose_it_is() {
    tells_clients_apart(&{
        let mut space = queue_lock(2, Calls::Lock, &[Assumption::UniqueIds]);
        // Judged by nothing, so that the search ends with the space.
        space.setup.promises = [].into_iter().collect();
        space
    });
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn clients_who_begin_with_different_servers_are_told_apart() {
    tells_clients_apart(&zookeeper::zookeeper_lock(2, 3, Calls::TryLock, &[Promise::MutualExclusion]));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_is_broken_is_found_by_a_path_of_worlds_as_they_are() {
    for dropped in [&[Assumption::NoClockStep][..], &[Assumption::NoExpiry, Assumption::NoPause]] {
        let space = queue_lock(2, Calls::Lock, dropped);
        let searched = search(&space, &Limits::states(LIMITS));
        assert_eq!(Some(&searched), explored(&space, Alike::Same).as_ref());
        let renamed = explored(&space, Alike::Renamed).expect("clients are alike");
        assert_eq!(renamed.depth, searched.depth);
        assert!(matches!(renamed.verdict, Verdict::Violated { .. }));
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let space = queue_lock(3, Calls::TryLock, &[]);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| search(&space, &Limits::states(LIMITS)))
    };
    assert_eq!(with(1), with(3));
}
