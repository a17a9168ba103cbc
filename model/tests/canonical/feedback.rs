//! The lock on the store with feedback.

use super::{Comparable, walks_alike};
use picklock_model::claims::Assumption;
use picklock_model::claims::feedback::{drop_from_feedback_lock, feedback_leases, feedback_lock};
use picklock_model::explore::Space;
use picklock_model::locks::FeedbackLock;
use picklock_model::locks::feedback_lock::Repeats;
use picklock_model::stores::feedback::{FeedbackStore, Log};
use picklock_model::workload::{Calls, Writes};
use picklock_properties::Promise;

impl Comparable for FeedbackStore {}

fn calls(clients: u8, calls: Calls) -> Space<FeedbackLock> {
    let mut space = feedback_lock(clients, calls, &[Promise::MutualExclusion, Promise::Fifo]);
    space.setup.workload.rounds = 3;
    space
}

fn leases(change: impl FnOnce(&mut Space<FeedbackLock>)) -> Space<FeedbackLock> {
    let mut space = feedback_leases(2, Calls::Lock, &[Promise::MutualExclusion, Promise::LeaseLoss]);
    space.setup.workload.rounds = 3;
    change(&mut space);
    space
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_calls_of_three() {
    walks_alike(calls(3, Calls::Lock), |walked| walked.grants > 100 && walked.ticks == 0);
}

#[test]
fn untimed_try_lock_of_three() {
    let mut space = calls(3, Calls::TryLock);
    space.setup.workload.retries = true;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_calls_with_doubled_messages_on_a_server_that_forgets() {
    let mut space = calls(2, Calls::Lock);
    drop_from_feedback_lock(&mut space, Assumption::Durable);
    space.bounds.duplicates = 4;
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50 && walked.dismissed > 10);
}

#[test]
fn timed_leases() {
    walks_alike(leases(|_| {}), |walked| walked.grants > 100 && walked.ticks > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_that_pauses_outlast_and_writes_to_the_resource() {
    let space = leases(|space| {
        drop_from_feedback_lock(space, Assumption::NoPause);
        space.bounds.pauses = 3;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_with_slow_lost_and_doubled_messages() {
    for repeats in [Repeats::SameTicket, Repeats::NewTicket] {
        let space = leases(|space| {
            space.bounds.latency_ticks = Some(1);
            space.bounds.losses = 4;
            space.bounds.duplicates = 3;
            space.setup.lock.repeats = repeats;
        });
        walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50 && walked.dismissed > 10);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_on_a_server_that_loses_power_and_clients_that_do_not_mind() {
    for log in [Log::Synced, Log::Unsynced] {
        let space = leases(|space| {
            space.bounds.power_losses = 3;
            space.bounds.losses = 2;
            space.setup.store.log = log;
            space.setup.lock.minds_lease = false;
        });
        walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
    }
}
