//! The Cassandra locks.

use super::{Comparable, compare, remembers_what_the_world_does, walks_alike};
use picklock_model::claims::{Assumption, cassandra as spaces, cassandra_served as served};
use picklock_model::explore::Space;
use picklock_model::locks::cassandra_queue::{QueueOrder, ReleaseOrder, RetryDeletes, Settings, Timestamps};
use picklock_model::locks::cassandra_served::{Judges, REPLICA_SLEEPS, Tombstones};
use picklock_model::locks::{CassandraQueue, CassandraServed, RowProbe};
use picklock_model::machine::Message;
use picklock_model::stores::cassandra::{Cassandra, Consistency, Content, Peer, ReadRepair};
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Writes};
use picklock_model::world::{Aim, TICK};
use picklock_properties::Promise;

impl Comparable for Cassandra {
    /// The plain cluster remembers tombstones that hide nothing any more.
    fn forget_hidden(message: &mut Message<Self>) {
        if let Message::Peer(Peer::Cells { columns, .. }) = message {
            columns.retain(|column| matches!(column.cell.content, Content::Live { .. }));
        }
    }
}

fn queue_lock(clients: u8, calls: Calls, dropped: &[Assumption]) -> Space<CassandraQueue> {
    let mut space = spaces::queue_lock(clients, 1, calls, &[Promise::MutualExclusion]);
    dropped.iter().for_each(|assumption| spaces::drop_from_queue_lock(&mut space, *assumption));
    space
}

/// Every repair at once, with the lease of the small models.
fn repaired(ttl_seconds: Option<u32>) -> Settings {
    Settings {
        ttl_seconds,
        poll_interval: if ttl_seconds.is_some() { TICK } else { Micros::ZERO },
        request_timeout: None,
        validity_margin: TICK,
        ..Settings::repaired()
    }
}

#[test]
fn untimed_lock() {
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.workload.rounds = 2;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks == 0);
}

#[test]
fn untimed_try_lock_of_three() {
    let mut space = queue_lock(3, Calls::TryLock, &[]);
    space.setup.workload.rounds = 2;
    space.setup.workload.retries = true;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_lock_with_crashes_and_duplicates() {
    let mut space = queue_lock(3, Calls::Lock, &[Assumption::NoCrash, Assumption::NoDuplicate]);
    space.bounds.duplicates = 3;
    walks_alike(space, |walked| {
        walked.grants > 100 && walked.faults > 500 && walked.dismissed > 100 && walked.are_mostly_remembered()
    });
}

#[test]
fn untimed_repaired_lock_with_writes_to_the_resource() {
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.lock = repaired(None);
    space.setup.workload.rounds = 2;
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
    space.setup.promises = [Promise::FencedResource, Promise::MutualExclusion].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_lock_with_clocks_that_step_back() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoClockStep]);
    space.bounds.clock_steps = 3;
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500 && walked.are_mostly_remembered());
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_with_clocks_that_step_forward_beside_one_that_is_behind() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoClockStep, Assumption::ClocksAgree]);
    space.bounds.clock_steps = 2;
    space.bounds.clock_step_ticks = 1;
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500 && walked.are_mostly_remembered());
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_with_a_clock_that_stands_still() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoClockFreeze]);
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.faults > 200);
    space.setup.lock.timestamps = Timestamps::ClientMonotonic;
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
}

#[test]
fn untimed_try_lock_with_a_clock_that_stands_still_and_one_that_steps_back() {
    let mut space = queue_lock(2, Calls::TryLock, &[Assumption::NoClockFreeze, Assumption::NoClockStep]);
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
}

/// The clock that stands still may be one that was set back, and the other be set back as far.
#[test]
fn untimed_try_lock_with_a_clock_that_stands_still_and_several_steps_back() {
    let mut space = queue_lock(2, Calls::TryLock, &[Assumption::NoClockFreeze, Assumption::NoClockStep]);
    space.bounds.clock_steps = 2;
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
}

/// Equal times of different clients: which of them is first in the queue is up to their ids.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_with_all_clocks_standing_still_at_one_time() {
    for calls in [Calls::Lock, Calls::TryLock] {
        let mut space = queue_lock(3, calls, &[Assumption::NoClockFreeze]);
        space.bounds.freezes_all = true;
        space.setup.workload.rounds = 3;
        space.setup.promises = [].into_iter().collect();
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
    }
}

/// As many as let any clock be ahead of any other, from the beginning or later.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_with_clocks_that_jump_ahead() {
    for calls in [Calls::Lock, Calls::TryLock] {
        let mut space = queue_lock(3, calls, &[Assumption::ClocksAgree]);
        space.bounds.clock_steps = 4;
        space.setup.workload.rounds = 3;
        space.setup.promises = [].into_iter().collect();
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
    }
}

#[test]
fn untimed_lock_named_and_stamped_by_its_coordinator() {
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.lock.timestamps = Timestamps::Coordinator;
    space.setup.lock.queue_order = QueueOrder::Coordinator;
    space.setup.lock.release_order = ReleaseOrder::MainThenQueue;
    space.setup.workload.rounds = 2;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_lock_on_a_store_that_loses_power() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::Durable]);
    space.bounds.power_losses = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_on_three_replicas() {
    // Without read repair, for what is settled is not repaired: then the plain cluster has more to say than the world.
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.servers = 3;
    space.setup.store.read_repair = ReadRepair::None;
    walks_alike(space.clone(), |walked| walked.steps > 10_000);
    space.bounds.colocated = true;
    walks_alike(space, |walked| walked.steps > 10_000);
}

/// What is settled is not repaired, and so such a world has no telling; but it has a step.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_is_remembered_of_clients_beside_their_coordinators_is_what_the_world_does() {
    let beside_services = |mut space: Space<CassandraServed>| {
        space.bounds.colocated = true;
        space.bounds.crashes = 1;
        space.bounds.aim = Aim::At(REPLICA_SLEEPS);
        remembers_what_the_world_does(&space);
    };
    let mut of_the_time = served::timed(2, 2, &[]);
    served::for_ever(&mut of_the_time);
    served::one_replica_ahead(&mut of_the_time);
    of_the_time.setup.lock.queue.poll_interval = TICK;
    beside_services(of_the_time);
    for timestamps in [Timestamps::Service, Timestamps::ServiceMonotonic] {
        let mut of_leases = served::kept(2, 1, &[]);
        of_leases.setup.workload.attendants = 2;
        of_leases.setup.lock.queue.queue_order = QueueOrder::Service;
        of_leases.setup.lock.queue.timestamps = timestamps;
        beside_services(of_leases);
    }
    let beside = |mut space: Space<CassandraQueue>| {
        space.bounds.colocated = true;
        remembers_what_the_world_does(&space);
        space.bounds.crashes = 1;
        space.bounds.losses = 1;
        space.bounds.duplicates = 1;
        remembers_what_the_world_does(&space);
    };
    for calls in [Calls::Lock, Calls::TryLock] {
        let mut space = queue_lock(2, calls, &[]);
        space.setup.servers = 3;
        space.setup.workload.rounds = 3;
        beside(space.clone());
        space.setup.servers = 2;
        space.bounds.link_messages_max = 2;
        beside(space);
    }
    for servers in [1, 2, 3] {
        let mut space = queue_lock(3, Calls::Lock, &[]);
        spaces::timed(&mut space);
        space.setup.servers = servers;
        space.setup.lock.ttl_seconds = Some(3);
        space.setup.workload.rounds = 3;
        space.setup.workload.writes = Writes::Resource;
        space.bounds.last_server_ahead_ticks = 3;
        space.bounds.pauses = 1;
        space.bounds.pause_ticks = 5;
        beside(space);
    }
}

#[test]
fn untimed_probes_of_a_row_on_three_replicas() {
    walks_alike(spaces::row(3, 3, Consistency::Quorum, Consistency::Quorum), |walked| walked.steps > 5000);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_a_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry]);
    space.setup.workload.hold = Micros(3 * TICK.0);
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 1000);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_pauses_longer_than_its_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.bounds.latency_ticks = Some(0);
    space.bounds.pauses = 3;
    space.setup.workload.hold = Micros(3 * TICK.0);
    space.setup.workload.rounds = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.ticks > 1000 && walked.faults > 200);
    space.bounds.aim = Aim::Holding;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 1000 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_repaired_lock_with_pauses_and_writes_to_the_resource() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.setup.lock = repaired(Some(spaces::TTL_SECONDS));
    space.bounds.pauses = 3;
    space.setup.workload.hold = Micros(4 * TICK.0);
    space.setup.workload.rounds = 2;
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
    space.setup.promises = [Promise::FencedResource, Promise::LeaseLoss].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 50 && walked.ticks > 1000 && walked.faults > 200);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_lost_messages_and_time_outs() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoLoss]);
    space.bounds.losses = 3;
    walks_alike(space.clone(), |walked| walked.grants > 50 && walked.ticks > 1000 && walked.faults > 200);
    space.setup.lock.retry_deletes = RetryDeletes::UntilAcknowledged;
    space.bounds.duplicates = 2;
    walks_alike(space, |walked| walked.grants > 50 && walked.dismissed > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_clocks_that_step_back_and_a_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoClockStep]);
    space.bounds.clock_steps = 2;
    space.setup.workload.rounds = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 1000 && walked.faults > 200);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_a_client_behind_and_a_server_ahead() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::ClocksAgree]);
    space.setup.servers = 2;
    space.setup.store.writes = Consistency::All;
    space.setup.store.reads = Consistency::One;
    space.setup.store.read_repair = ReadRepair::None;
    space.bounds.last_server_ahead_ticks = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.steps > 10_000 && walked.ticks > 1000);
}

#[test]
fn timed_probes_of_a_row_that_expires() {
    let mut space: Space<RowProbe> = spaces::row(3, 1, Consistency::Quorum, Consistency::Quorum);
    spaces::drop_from_row(&mut space, Assumption::NoExpiry);
    space.bounds.pauses = 2;
    space.bounds.pause_ticks = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.ticks > 300 && walked.faults > 100);
}

/// A read that lasts while what it reads expires is judged by when it began. (Replicas tell each other of cells that have expired,
/// which the search has forgotten: only what they make of them is compared.)
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_probes_of_replicas_whose_row_expires_while_it_is_read() {
    let mut space: Space<RowProbe> = spaces::row(2, 3, Consistency::Quorum, Consistency::Quorum);
    spaces::drop_from_row(&mut space, Assumption::NoExpiry);
    assert_eq!(space.audit(2_000), None);
    space.bounds.losses = 1;
    assert_eq!(space.audit(2_000), None);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_clocks_that_drift_and_servers_whose_clocks_step() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry]);
    space.bounds.drifts = 3;
    space.bounds.drift_ticks = 1;
    space.bounds.server_clock_steps = 2;
    space.bounds.server_clock_step_ticks = -2;
    space.setup.workload.hold = Micros(3 * TICK.0);
    space.setup.workload.rounds = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.ticks > 500 && walked.faults > 500);
    space.bounds.server_clock_step_ticks = 5;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 500 && walked.faults > 500);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_on_replicas_of_which_one_crashes() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoLoss]);
    space.setup.servers = 3;
    space.bounds.losses = picklock_model::world::WITHOUT_END;
    space.bounds.server_crashes = 1;
    walks_alike(space, |walked| walked.steps > 10_000 && walked.faults > 1000);
}

/// The comparison is worth something only if it notices a difference.
#[test]
fn a_plain_cluster_of_another_setup_parts_from_the_world() {
    let space = queue_lock(2, Calls::Lock, &[]);
    let mut other = space.clone();
    other.setup.workload.calls = Calls::TryLock;
    let (mut walker, mut others) = (space.walker(), other.walker());
    walker.step(0, &mut ()).unwrap();
    others.step(0, &mut ()).unwrap();
    assert!(compare(&space, walker.world(), others.telling()).is_err());
}

fn timed_service(replicas: u8) -> Space<CassandraServed> {
    let mut space = served::timed(2, replicas, &[]);
    space.setup.workload.rounds = 3;
    // The plain cluster waits for what is due, and a clock that is ahead would be overtaken.
    space.setup.lock.time.period = Micros::ZERO;
    space.setup.lock.queue.remembers_time = true;
    space
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_named_by_a_time_service() {
    walks_alike(timed_service(2), |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_named_by_a_time_service_of_which_one_replica_is_ahead_and_dies() {
    let mut space = timed_service(2);
    served::one_replica_ahead(&mut space);
    space.bounds.crashes = 1;
    space.bounds.aim = Aim::At(REPLICA_SLEEPS);
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.faults > 50);
    space.setup.lock = served::published_past_the_last(space.setup.lock);
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_stamped_by_a_time_service() {
    for timestamps in [Timestamps::ServiceAdds, Timestamps::Service, Timestamps::ServiceMonotonic] {
        let mut space = timed_service(1);
        space.setup.lock.queue.timestamps = timestamps;
        walks_alike(space.clone(), |walked| walked.grants > 100);
        served::one_replica_ahead(&mut space);
        space.setup.lock = served::published_past_the_last(space.setup.lock);
        walks_alike(space, |walked| walked.grants > 100);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_a_lease_that_a_keeper_ends() {
    for tombstones in [Tombstones::Clock, Tombstones::Seen] {
        let mut space = served::kept(2, 1, &[]);
        space.setup.lock.leases.tombstones = tombstones;
        space.setup.workload.rounds = 2;
        space.bounds.pauses = 3;
        space.bounds.pause_ticks = 5;
        walks_alike(space.clone(), |walked| walked.grants > 50 && walked.ticks > 500 && walked.faults > 100);
        space.setup.lock.leases.judges = Judges::AsItAsks;
        space.setup.lock.queue.waiters_renew = true;
        space.bounds.last_client_ahead_ticks = 3;
        walks_alike(space, |walked| walked.grants > 50 && walked.ticks > 500 && walked.faults > 100);
    }
}
