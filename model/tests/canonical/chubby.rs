//! The locks of a Chubby cell, and Consul's.

use super::{Comparable, walks_alike};
use picklock_model::claims::Assumption;
use picklock_model::claims::chubby::{chubby_leases, chubby_lock, consul_lock, drop_from_chubby};
use picklock_model::explore::Space;
use picklock_model::locks::ChubbyLock;
use picklock_model::locks::chubby_lock::Settings;
use picklock_model::stores::chubby::{Chubby, Load};
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Writes};
use picklock_model::world::TICK;
use picklock_properties::Promise;

impl Comparable for Chubby {}

const PROMISES: [Promise; 2] = [Promise::MutualExclusion, Promise::LeaseLoss];

fn leases(change: impl FnOnce(&mut Space<ChubbyLock>)) -> Space<ChubbyLock> {
    let mut space = chubby_leases(2, Calls::Lock, &PROMISES);
    space.setup.workload.rounds = 3;
    space.setup.lock.lock_delay = TICK;
    change(&mut space);
    space
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_calls_of_three_with_doubled_messages() {
    let mut space = chubby_lock(3, Calls::Lock, &PROMISES);
    space.setup.workload.rounds = 3;
    space.bounds.duplicates = 4;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks == 0 && walked.faults > 50);
}

#[test]
fn untimed_try_lock_of_three_that_write_in_the_cell() {
    let mut space = chubby_lock(3, Calls::TryLock, &[Promise::FencedResource]);
    space.setup.workload.rounds = 3;
    space.setup.workload.retries = true;
    space.setup.workload.writes = Writes::Store;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn leases_that_pauses_and_losses_outlast() {
    let space = leases(|space| {
        drop_from_chubby(space, Assumption::NoPause);
        drop_from_chubby(space, Assumption::NoLoss);
        space.bounds.pauses = 3;
        space.bounds.losses = 4;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 100 && walked.faults > 50);
}

#[test]
fn masters_that_fail_over_and_are_overloaded_at_times() {
    let space = leases(|space| {
        drop_from_chubby(space, Assumption::Durable);
        drop_from_chubby(space, Assumption::StopsInTime);
        space.bounds.power_losses = 4;
        space.bounds.crashes = 2;
        space.bounds.crashes_restart = true;
        space.setup.store.load = Some(Load { one_in: 2, lease: Micros(5 * TICK.0) });
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn clocks_that_drift_while_messages_are_slow() {
    let space = leases(|space| {
        drop_from_chubby(space, Assumption::BoundedDrift);
        space.bounds.latency_ticks = Some(2);
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 100);
}

#[test]
fn consuls_sessions_under_pauses_and_elections() {
    let mut space = consul_lock(2, Calls::Lock, &PROMISES, Settings::consul());
    space.setup.workload.rounds = 3;
    space.setup.lock.lock_delay = TICK;
    drop_from_chubby(&mut space, Assumption::NoPause);
    drop_from_chubby(&mut space, Assumption::Durable);
    space.bounds.pauses = 3;
    space.bounds.power_losses = 3;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 100 && walked.faults > 50);
}
