//! The old Cassandra lock.

use super::walks_alike;
use picklock_model::claims::{Assumption, cassandra_shadow as spaces};
use picklock_model::explore::Space;
use picklock_model::locks::CassandraShadow;
use picklock_model::locks::cassandra_queue::RetryDeletes;
use picklock_model::locks::cassandra_shadow::{Backoff, Reread, Settings};
use picklock_model::stores::cassandra::ReadRepair;
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, ROUNDS_WITHOUT_END, Writes};
use picklock_model::world::TICK;
use picklock_properties::Promise;

fn shadow_lock(clients: u8, calls: Calls, dropped: &[Assumption]) -> Space<CassandraShadow> {
    let mut space = spaces::shadow_lock(clients, 1, calls, &[]);
    dropped.iter().for_each(|assumption| spaces::drop_from_shadow_lock(&mut space, *assumption));
    space.setup.workload.rounds = 2;
    space
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_and_try_lock_of_three_with_crashes_and_duplicates() {
    for calls in [Calls::Lock, Calls::TryLock] {
        let mut space = shadow_lock(3, calls, &[Assumption::NoCrash, Assumption::NoDuplicate]);
        space.bounds.duplicates = 3;
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 300 && walked.dismissed > 100);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_with_clocks_that_step_back_or_stand_still() {
    let mut space = shadow_lock(2, Calls::Lock, &[Assumption::NoClockStep]);
    space.bounds.clock_steps = 3;
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
    let mut space = shadow_lock(2, Calls::Lock, &[Assumption::NoClockFreeze]);
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.faults > 200);
    space.setup.lock = Settings { ttl_seconds: None, request_timeout: None, ..untimed(Settings::repaired()) };
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_on_three_replicas_and_on_a_store_that_loses_power() {
    let mut space = shadow_lock(2, Calls::Lock, &[]);
    space.setup.servers = 3;
    space.setup.store.read_repair = ReadRepair::None;
    walks_alike(space, |walked| walked.steps > 10_000);
    let mut space = shadow_lock(2, Calls::Lock, &[Assumption::Durable]);
    space.bounds.power_losses = 2;
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_that_backs_off_for_drawn_times_in_endless_use() {
    let mut space = spaces::backing_off(3, 3);
    space.setup.workload.rounds = ROUNDS_WITHOUT_END;
    walks_alike(space, |walked| walked.grants > 50 && walked.ticks > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_pauses_longer_than_its_cells_live() {
    let mut space = shadow_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.bounds.pauses = 3;
    space.setup.workload.hold = Micros(3 * TICK.0);
    for reread in [Reread::Nothing, Reread::Shadow, Reread::Main] {
        space.setup.lock.reread = reread;
        walks_alike(space.clone(), |walked| walked.grants > 50 && walked.ticks > 500 && walked.faults > 200);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_repaired_lock_with_pauses_losses_and_writes_to_the_resource() {
    let dropped = [Assumption::NoExpiry, Assumption::NoPause, Assumption::NoLoss];
    let mut space = shadow_lock(2, Calls::Lock, &dropped);
    let Settings { ttl_seconds, shadow_ttl_seconds, backoff, request_timeout, .. } = space.setup.lock;
    space.setup.lock = Settings {
        ttl_seconds,
        shadow_ttl_seconds,
        backoff,
        request_timeout,
        validity_margin: TICK,
        ..Settings::repaired()
    };
    space.bounds.pauses = 3;
    space.bounds.losses = 3;
    space.setup.workload.hold = Micros(4 * TICK.0);
    space.setup.workload.writes = Writes::Resource;
    space.setup.workload.resource_checks = true;
    space.setup.promises = [Promise::FencedResource, Promise::LeaseLoss].into_iter().collect();
    walks_alike(space.clone(), |walked| walked.grants > 50 && walked.ticks > 500 && walked.faults > 200);
    space.setup.lock.retry_deletes = RetryDeletes::Never;
    walks_alike(space, |walked| walked.grants > 50 && walked.faults > 200);
}

fn untimed(lock: Settings) -> Settings {
    Settings { shadow_ttl_seconds: None, backoff: Backoff::Fixed(Micros::ZERO), ..lock }
}
