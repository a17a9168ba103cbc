//! etcd's mutex and election, and the lock on one key.

use super::{Comparable, walks_alike};
use picklock_model::claims::Assumption;
use picklock_model::claims::etcd::{
    CAREFUL_SESSION, InSession, among, drop_from_etcd, etcd_leases, etcd_mutex, on_etcd, on_etcd_with_leases,
};
use picklock_model::explore::{Manner, Space};
use picklock_model::locks::etcd_election::{Proposal, ResignErrors, Sessions};
use picklock_model::locks::etcd_lease_key::Wait;
use picklock_model::locks::etcd_mutex::{Fence, KeyName, OnDone, UnlockErrors};
use picklock_model::locks::{EtcdElection, EtcdLeaseKey, EtcdMutex};
use picklock_model::stores::etcd::{Etcd, KeepAlives, LeaseClock};
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Writes};
use picklock_model::world::TICK;
use picklock_properties::Promise;

impl Comparable for Etcd {}

const PROMISES: [Promise; 2] = [Promise::MutualExclusion, Promise::Fifo];

fn leases(change: impl FnOnce(&mut Space<EtcdMutex>)) -> Space<EtcdMutex> {
    let mut space = etcd_leases(2, Calls::Lock, &PROMISES);
    space.setup.workload.rounds = 3;
    change(&mut space);
    space
}

/// Entries are forgotten, refusals arrive late, and the leader sends again what it still has. A member's answer that is dismissed
/// is remembered by a leader that needs it no more, so that only what is sent and reported is compared.
#[test]
fn members_that_are_behind_are_sent_what_they_are_really_sent() {
    for calls in [Calls::Lock, Calls::TryLock] {
        let mut space = etcd_mutex(2, calls, &PROMISES);
        among(3, &mut space);
        for walk in 0..300_u64 {
            let mut walker = space.walker_telling(Manner::Unabridged);
            let mut number = walk;
            for step in 0..120 {
                let possible = walker.possible().len() as u64;
                number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let Some(place) = (number >> 33).checked_rem(possible) else { break };
                walker.step(place as u16, &mut ()).expect("one of those that are possible");
                let parting = walker.telling().parting().cloned();
                assert_eq!(parting, None, "walk {walk}, step {step}, {calls:?}");
            }
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_queue_of_three() {
    walks_alike(etcd_mutex(3, Calls::Lock, &PROMISES), |walked| walked.grants > 100 && walked.ticks == 0);
}

#[test]
fn untimed_try_lock_of_three() {
    let mut space = etcd_mutex(3, Calls::TryLock, &PROMISES);
    space.setup.workload.retries = true;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_queue_with_doubled_messages() {
    for guards_unlock in [false, true] {
        let mut space = etcd_mutex(2, Calls::Lock, &PROMISES);
        space.bounds.duplicates = 3;
        space.setup.lock.guards_unlock = guards_unlock;
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
    }
}

#[test]
fn timed_leases() {
    walks_alike(leases(|_| {}), |walked| walked.grants > 100 && walked.ticks > 100);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_that_pauses_outlast_and_writes_to_the_resource() {
    let space = leases(|space| {
        drop_from_etcd(space, Assumption::NoPause);
        space.bounds.pauses = 3;
        space.setup.lock.fence = Fence::CreateRevision;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
    });
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_counted_from_the_sending_with_slow_lost_and_doubled_messages() {
    for unlock_errors in [UnlockErrors::CalledAgain, UnlockErrors::CalledAgainLater] {
        let space = leases(|space| {
            space.bounds.latency_ticks = Some(1);
            space.bounds.losses = 4;
            space.bounds.duplicates = 2;
            space.setup.lock.session = CAREFUL_SESSION;
            space.setup.lock.unlock_errors = unlock_errors;
            space.setup.workload.hold = Micros(2 * TICK.0);
        });
        walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_by_a_wall_clock_that_steps_and_keep_alives_that_do_not_wait() {
    let space = leases(|space| {
        space.setup.store.lease_clock = LeaseClock::Wall;
        space.setup.store.keep_alives = KeepAlives::AnswerAtOnce;
        space.setup.lock.key_name = KeyName::DrawnAnew;
        space.bounds.server_clock_steps = 2;
        space.bounds.server_clock_step_ticks = 2;
    });
    walks_alike(space, |walked| walked.grants > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_on_a_member_that_loses_power_and_callers_without_patience() {
    let space = leases(|space| {
        space.bounds.power_losses = 3;
        space.bounds.losses = 2;
        space.setup.lock.on_done = OnDone::GoOn;
        space.setup.lock.patience = Some(Micros(2 * TICK.0));
        space.setup.workload.hold = Micros(3 * TICK.0);
    });
    walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_leases_on_a_member_that_counts_anew_after_a_loss_of_power_and_tokens_from_before_it() {
    let space = leases(|space| {
        drop_from_etcd(space, Assumption::Durable);
        space.bounds.power_losses = 2;
        space.setup.lock.fence = Fence::CreateRevision;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
    });
    walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
}

fn of<L: InSession>(change: impl FnOnce(&mut Space<L>)) -> Space<L> {
    let mut space = on_etcd_with_leases(2, Calls::Lock, &PROMISES);
    space.setup.workload.rounds = 3;
    change(&mut space);
    space
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_election_among_three_with_doubled_messages_and_other_values() {
    for proposal in [Proposal::Name, Proposal::DrawnAnew] {
        for calls in [Calls::Lock, Calls::TryLock] {
            let mut space: Space<EtcdElection> = on_etcd(3, calls, &PROMISES);
            space.bounds.duplicates = 3;
            space.setup.lock.proposal = proposal;
            walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_election_with_slow_lost_and_doubled_messages() {
    for resign_errors in [ResignErrors::Forgotten, ResignErrors::CalledAgain, ResignErrors::SessionOrphaned] {
        let space = of(|space: &mut Space<EtcdElection>| {
            space.bounds.latency_ticks = Some(1);
            space.bounds.losses = 4;
            space.bounds.duplicates = 2;
            space.setup.lock.session = CAREFUL_SESSION;
            space.setup.lock.resign_errors = resign_errors;
            if resign_errors == ResignErrors::CalledAgain {
                space.setup.lock.sessions = Sessions::OneEach;
            }
            space.setup.lock.proposal = Proposal::DrawnAnew;
            space.setup.lock.checks_own_key = true;
            space.setup.workload.hold = Micros(2 * TICK.0);
        });
        walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_election_that_pauses_outlast_and_callers_without_patience() {
    let space = of(|space: &mut Space<EtcdElection>| {
        drop_from_etcd(space, Assumption::NoPause);
        space.bounds.pauses = 3;
        space.setup.lock.patience = Some(Micros(2 * TICK.0));
        space.setup.lock.fence = Fence::CreateRevision;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
        space.setup.workload.hold = Micros(3 * TICK.0);
    });
    walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn untimed_key_of_three_with_doubled_messages() {
    for (wait, guards_unlock) in [(Wait::WatchFromNow, false), (Wait::WatchFromAnswer, true)] {
        let mut space: Space<EtcdLeaseKey> = on_etcd(3, Calls::Lock, &PROMISES);
        space.bounds.duplicates = 3;
        space.setup.lock.wait = wait;
        space.setup.lock.guards_unlock = guards_unlock;
        walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn timed_key_with_lost_messages_and_pauses() {
    for wait in [Wait::WatchFromNow, Wait::WatchFromAnswer, Wait::Poll(TICK)] {
        let space = of(|space: &mut Space<EtcdLeaseKey>| {
            drop_from_etcd(space, Assumption::NoPause);
            space.bounds.losses = 3;
            space.setup.lock.wait = wait;
            space.setup.lock.finds_own_key = true;
            space.setup.lock.fence = Fence::CreateRevision;
            space.setup.workload.writes = Writes::Resource;
            space.setup.workload.resource_checks = true;
        });
        walks_alike(space, |walked| walked.grants > 50 && walked.faults > 50);
    }
}
