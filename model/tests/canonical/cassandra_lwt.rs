//! The lock by conditional write.

use super::walks_alike;
use picklock_model::claims::{Assumption, cassandra_lwt as spaces};
use picklock_model::explore::Space;
use picklock_model::locks::CassandraLwt;
use picklock_model::stores::cassandra::Rejections;
use picklock_model::workload::Calls;

fn lwt_lock(clients: u8, servers: u8, calls: Calls, dropped: &[Assumption]) -> Space<CassandraLwt> {
    let mut space = spaces::lwt_lock(clients, servers, calls, &[]);
    dropped.iter().for_each(|assumption| spaces::drop_from_lwt_lock(&mut space, *assumption));
    space.setup.workload.rounds = 2;
    space
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_and_try_lock_of_three_with_crashes_and_duplicates() {
    for calls in [Calls::Lock, Calls::TryLock] {
        let mut space = lwt_lock(3, 1, calls, &[Assumption::NoCrash, Assumption::NoDuplicate]);
        space.bounds.duplicates = 3;
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 300);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_rounds_of_two_coordinators_on_three_replicas() {
    let mut space = lwt_lock(2, 3, Calls::Lock, &[Assumption::NoDuplicate]);
    space.bounds.duplicates = 3;
    walks_alike(space, |walked| walked.steps > 10_000 && walked.grants > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_that_takes_back_what_it_was_not_told_of_on_three_replicas() {
    for rejections in [Rejections::Answered, Rejections::Proposed] {
        let mut space = lwt_lock(2, 3, Calls::Lock, &[Assumption::NoLoss]);
        space.bounds.losses = 3;
        space.setup.lock.takes_back = true;
        space.setup.store.rejections = rejections;
        walks_alike(space, |walked| walked.steps > 5_000 && walked.grants > 20 && walked.faults > 50);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_lock_with_pauses_longer_than_its_cells_live_and_losses() {
    let dropped = [Assumption::NoExpiry, Assumption::NoPause, Assumption::NoLoss];
    for own_value_is_success in [false, true] {
        let mut space = lwt_lock(2, 1, Calls::Lock, &dropped);
        space.bounds.losses = 3;
        space.setup.lock.own_value_is_success = own_value_is_success;
        walks_alike(space, |walked| walked.grants > 50 && walked.ticks > 500 && walked.faults > 200);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_lock_on_three_replicas_that_lose_power() {
    let mut space = lwt_lock(2, 3, Calls::Lock, &[Assumption::Durable]);
    space.bounds.power_losses = 2;
    walks_alike(space, |walked| walked.steps > 5_000 && walked.faults > 50);
}
