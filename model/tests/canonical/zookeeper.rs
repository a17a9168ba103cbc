//! The ZooKeeper recipe.

use super::{Comparable, walks_alike};
use picklock_model::claims::cassandra::workload;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::ZookeeperLock;
use picklock_model::locks::zookeeper_lock::{Fence, OnConnectionLoss, Parent, Settings, Watch};
use picklock_model::stores::zookeeper::{self as store, Counter, ZooKeeper};
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Writes};
use picklock_model::world::{Bounds, TICK};
use picklock_properties::Promise;

impl Comparable for ZooKeeper {}

/// The five steps alone: sessions that do not end, connections that do not break.
fn steps(clients: u8, calls: Calls) -> Space<ZookeeperLock> {
    let mut workload = workload(clients, calls);
    workload.rounds = 2;
    Space {
        setup: Setup {
            lock: Settings::steps(),
            store: store::Settings { sequence: Counter::Order, ..store::Settings::default() },
            servers: 1,
            workload,
            promises: [Promise::MutualExclusion].into_iter().collect(),
        },
        bounds: Bounds::default(),
    }
}

/// Two clients with sessions that end.
fn timed(change: impl FnOnce(&mut Space<ZookeeperLock>)) -> Space<ZookeeperLock> {
    let mut space = steps(2, Calls::Lock);
    space.setup.lock.session.timeout = Some(Micros(3 * TICK.0));
    space.setup.lock.session.reconnect_delay = TICK;
    space.bounds.latency_ticks = Some(0);
    space.bounds.unhurried = true;
    change(&mut space);
    space
}

/// The holder writes to a resource that looks at the tokens.
fn fenced(space: &mut Space<ZookeeperLock>, fence: Fence) {
    space.setup.lock.fence = fence;
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_steps() {
    walks_alike(steps(2, Calls::Lock), |walked| walked.grants > 100 && walked.ticks == 0);
}

#[test]
fn untimed_try_lock_of_three() {
    let mut space = steps(3, Calls::TryLock);
    space.setup.workload.retries = true;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_steps_on_three_servers() {
    let mut space = steps(2, Calls::Lock);
    space.setup.servers = 3;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_steps_of_three_beside_a_follower_that_lags() {
    let mut space = steps(3, Calls::Lock);
    space.setup.servers = 2;
    space.setup.store.acknowledgements = store::Acknowledgements::Assumed;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions() {
    walks_alike(timed(|_| {}), |walked| walked.grants > 100 && walked.ticks > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_that_pauses_outlast_and_writes_to_the_resource() {
    let space = timed(|space| {
        space.bounds.pauses = 2;
        space.bounds.pause_ticks = 5;
        fenced(space, Fence::Czxid);
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_steps_that_write_inside_the_ensemble() {
    let mut space = steps(2, Calls::Lock);
    space.setup.workload.writes = Writes::Store;
    space.setup.lock.fence = Fence::Check;
    space.setup.promises = [Promise::FencedResource].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_that_pauses_and_losses_outlast_and_writes_inside_the_ensemble() {
    for fence in [Fence::Check, Fence::None] {
        let space = timed(|space| {
            space.bounds.pauses = 2;
            space.bounds.pause_ticks = 5;
            space.bounds.losses = 2;
            space.setup.lock.fence = fence;
            space.setup.lock.on_connection_loss = OnConnectionLoss::GoOnInAnother;
            space.setup.workload.writes = Writes::Store;
            space.setup.promises = [Promise::FencedResource].into_iter().collect();
        });
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_with_lost_and_doubled_messages_and_a_holder_that_stops() {
    let space = timed(|space| {
        space.bounds.losses = 4;
        space.bounds.duplicates = 2;
        space.setup.lock.on_connection_loss = OnConnectionLoss::Stop;
        space.setup.workload.hold = Micros(3 * TICK.0);
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_with_lost_and_doubled_messages_that_their_clients_judge_themselves() {
    let space = timed(|space| {
        space.bounds.losses = 4;
        space.bounds.duplicates = 2;
        space.setup.lock.session.judges_itself = true;
        space.setup.workload.hold = Micros(3 * TICK.0);
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_with_slow_messages_and_a_watch_on_the_parent() {
    let space = timed(|space| {
        space.bounds.latency_ticks = Some(1);
        space.bounds.losses = 3;
        space.setup.lock.watch = Watch::Parent;
        space.setup.lock.fence = Fence::Czxid;
    });
    walks_alike(space, |walked| walked.grants > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_judged_by_a_wall_clock_that_steps() {
    let space = timed(|space| {
        space.setup.store.session_clock = store::SessionClock::Wall;
        space.bounds.server_clock_steps = 2;
        space.bounds.server_clock_step_ticks = 2;
    });
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_on_a_server_that_loses_power() {
    walks_alike(timed(|space| space.bounds.power_losses = 2), |walked| walked.grants > 100);
}

/// Who has seen more than a server that begins anew is refused by it, until it has counted as far again.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_on_a_server_that_loses_its_log_with_its_power() {
    let space = timed(|space| {
        space.setup.store.log = store::Log::Unsynced;
        space.bounds.power_losses = 2;
        space.bounds.latency_ticks = Some(1);
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_on_three_servers_that_lose_their_logs_and_elect() {
    let space = timed(|space| {
        space.setup.servers = 3;
        space.setup.store.log = store::Log::Unsynced;
        space.setup.store.election = Some(store::Election { heartbeat: TICK, timeout: Micros(3 * TICK.0) });
        space.bounds.power_losses = 2;
    });
    walks_alike(space, |walked| walked.grants > 20);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_on_three_servers_that_lose_power_and_elect() {
    let space = timed(|space| {
        space.setup.servers = 3;
        space.setup.store.election = Some(store::Election { heartbeat: TICK, timeout: Micros(3 * TICK.0) });
        space.bounds.power_losses = 2;
        space.bounds.losses = 3;
        fenced(space, Fence::Czxid);
    });
    walks_alike(space, |walked| walked.grants > 20);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_sessions_with_exact_numbers_and_a_parent_that_is_recreated() {
    let space = timed(|space| {
        space.setup.store.sequence = Counter::Sticks;
        space.setup.lock.parent = Parent::RecreatedWhenEmpty;
        fenced(space, Fence::Sequence);
    });
    walks_alike(space, |walked| walked.grants > 50);
}
