//! The recipe on one server, exhaustively: what it promises, and which knob breaks it.

use super::*;
use crate::cluster::Setup;
use crate::explore::{Draws, Exploration, Goal, Lasso, Limits, Space, Verdict, check_liveness, search};
use crate::stores::zookeeper::{self as store, Acknowledgements, Counter, Ephemerals, SessionClock};
use crate::workload::{AccessChoice, Calls, Workload, Writes};
use crate::world::{Aim, Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// Clients that each use the lock once; the five steps alone, without time or faults.
fn space(clients: u8, calls: Calls, promises: &[Promise]) -> Space<ZookeeperLock> {
    Space {
        setup: Setup {
            lock: Settings::steps(),
            store: store::Settings { sequence: Counter::Order, ..store::Settings::default() },
            servers: 1,
            workload: Workload {
                clients,
                rounds: 1,
                retries: false,
                calls,
                access: AccessChoice::First,
                think: Micros::ZERO,
                hold: Micros::ZERO,
                releases: true,
                writes: Writes::None,
                resource_checks: false,
                resource_forgets: false,
                locks: 1,
                attendants: 0,
                pace: None,
                varies: false,
                work_fits: false,
            },
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds::default(),
    }
}

fn explore(space: &Space<ZookeeperLock>) -> Exploration {
    search(space, &Limits::states(2_000_000))
}

/// The same in ticks: a session ends after three without a sign of life, messages take no time.
fn timed(clients: u8, promises: &[Promise]) -> Space<ZookeeperLock> {
    let mut space = space(clients, Calls::Lock, promises);
    space.setup.lock.session.timeout = Some(Micros(3 * TICK.0));
    space.setup.lock.session.reconnect_delay = TICK;
    space.bounds.latency_ticks = Some(0);
    space.bounds.unhurried = true;
    space
}

fn assert_kept(space: &Space<ZookeeperLock>) -> Exploration {
    let found = explore(space);
    assert_eq!(found.verdict, Verdict::Verified, "{} states", found.states);
    assert!(found.coverage.granted > 0 && found.coverage.released > 0, "{:?}", found.coverage);
    found
}

fn assert_broken(space: &Space<ZookeeperLock>, promise: Promise) {
    let found = explore(space);
    match found.verdict {
        Verdict::Violated { violation, .. } => assert_eq!(violation.promise, promise),
        verdict => panic!("{verdict:?} after {} states", found.states),
    }
}

fn lasso(space: &Space<ZookeeperLock>, goal: Goal) -> Option<Lasso> {
    let (found, mut lassos) = check_liveness(space, &[goal], Draws::Adversary, &Limits::states(2_000_000));
    assert_eq!(found.verdict, Verdict::Verified, "{} states", found.states);
    lassos.remove(0)
}

fn assert_progress(space: &Space<ZookeeperLock>) {
    assert_eq!(lasso(space, Goal::DeadlockFreedom), None);
}

fn assert_stuck(space: &Space<ZookeeperLock>) {
    assert!(lasso(space, Goal::DeadlockFreedom).is_some());
}

fn with(mut space: Space<ZookeeperLock>, lock: impl Fn(Settings) -> Settings) -> Space<ZookeeperLock> {
    space.setup.lock = lock(space.setup.lock);
    space
}

const EXCLUSION: [Promise; 1] = [Promise::MutualExclusion];

#[test]
fn the_five_steps_exclude_and_keep_the_order_and_never_get_stuck() {
    for clients in [2, 3] {
        assert_kept(&space(clients, Calls::Lock, &[Promise::MutualExclusion, Promise::Fifo]));
        assert_progress(&space(clients, Calls::Lock, &[]));
        for client in 0..clients {
            assert_eq!(
                lasso(&space(clients, Calls::Lock, &[]), Goal::StarvationFreedom(ClientId(client))),
                None
            );
        }
        assert_kept(&space(clients, Calls::TryLock, &EXCLUSION));
    }
}

#[test]
fn the_five_steps_exclude_as_often_as_the_lock_is_used() {
    let mut space = space(2, Calls::TryLock, &EXCLUSION);
    space.setup.workload.retries = true;
    space.setup.workload.rounds = 2;
    assert_kept(&space);
}

#[test]
fn watching_the_parent_or_the_first_is_as_good_as_long_as_everybody_lists_again() {
    for watch in [Watch::Parent, Watch::First] {
        let all = with(space(3, Calls::Lock, &[Promise::MutualExclusion, Promise::Fifo]), |lock| Settings {
            watch,
            ..lock
        });
        assert_kept(&all);
        assert_progress(&with(space(3, Calls::Lock, &[]), |lock| Settings { watch, ..lock }));
    }
}

#[test]
fn z1_a_create_repeated_without_a_guid_leaves_a_znode_that_nobody_owns() {
    let lossy = || {
        let mut space = timed(2, &[]);
        space.bounds.losses = 1;
        space
    };
    assert_stuck(&with(lossy(), |lock| Settings { guid: false, ..lock }));
    assert_progress(&lossy());
}

#[test]
fn z2_a_create_given_up_leaves_a_znode_that_nobody_owns() {
    let lossy = |retries| {
        let mut space = timed(2, &[]);
        space.bounds.losses = 1;
        with(space, |lock| Settings { retries, ..lock })
    };
    assert_stuck(&lossy(Retries::GivenUp));
    assert_progress(&lossy(Retries::BackgroundDelete));
}

fn paused(promises: &[Promise]) -> Space<ZookeeperLock> {
    let mut space = timed(2, promises);
    space.bounds.pauses = 1;
    space.bounds.pause_ticks = 5;
    space.bounds.aim = Aim::Holding;
    space
}

#[test]
fn z3_a_holder_that_pauses_longer_than_its_session_lasts_is_not_alone() {
    assert_broken(&paused(&EXCLUSION), Promise::MutualExclusion);
    let stops = |lock| Settings { on_connection_loss: OnConnectionLoss::Stop, ..lock };
    assert_broken(&with(paused(&EXCLUSION), stops), Promise::MutualExclusion);
}

#[test]
fn z3_and_z18_a_resource_that_compares_czxids_is_safe_from_it() {
    let writing = |fence| {
        let mut space = paused(&[Promise::FencedResource]);
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
        with(space, |lock| Settings { fence, ..lock })
    };
    assert_broken(&writing(Fence::None), Promise::FencedResource);
    assert_kept(&writing(Fence::Czxid));
}

/// The same, writing inside the ensemble.
fn paused_inside(fence: Fence, on_connection_loss: OnConnectionLoss) -> Space<ZookeeperLock> {
    let mut space = paused(&[Promise::FencedResource]);
    space.setup.workload.writes = Writes::Store;
    with(space, |lock| Settings { fence, on_connection_loss, ..lock })
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_write_inside_the_ensemble_is_safe_from_a_pause_as_long_as_it_stays_in_its_session() {
    for on_connection_loss in [OnConnectionLoss::Stop, OnConnectionLoss::GoOn] {
        let found = assert_kept(&paused_inside(Fence::None, on_connection_loss));
        assert!(found.coverage.accepted > 0, "{:?}", found.coverage);
    }
    assert_broken(&paused_inside(Fence::None, OnConnectionLoss::GoOnInAnother), Promise::FencedResource);
}

#[test]
fn a_write_checked_against_the_own_znode_is_safe_in_whatever_session_it_is_repeated() {
    let found = assert_kept(&paused_inside(Fence::Check, OnConnectionLoss::GoOnInAnother));
    assert!(found.coverage.accepted > 0 && found.coverage.rejected > 0, "{:?}", found.coverage);
}

/// The check asks whether the znode is there, not whether it is the first.
#[test]
fn a_write_checked_against_the_own_znode_is_no_better_than_the_order_of_the_queue() {
    let mut space = space(2, Calls::Lock, &[Promise::FencedResource]);
    space.setup.workload.writes = Writes::Store;
    space.setup.store.sequence = Counter::Wraps;
    space.setup.store.first_sequence = i32::MAX;
    let ordered = |order| with(space.clone(), |lock| Settings { fence: Fence::Check, order, ..lock });
    assert_broken(&ordered(Order::Text), Promise::FencedResource);
    assert_kept(&ordered(Order::Wrapping));
}

#[test]
fn a_write_given_up_costs_the_lock() {
    let lossy = |retries| {
        let mut space = timed(1, &[Promise::FencedResource]);
        space.setup.workload.writes = Writes::Store;
        space.bounds.losses = 1;
        with(space, |lock| Settings { fence: Fence::Check, retries, ..lock })
    };
    assert_eq!(assert_kept(&lossy(Retries::UntilKnown)).coverage.lost_leases, 0);
    assert!(assert_kept(&lossy(Retries::GivenUp)).coverage.lost_leases > 0);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn z4_a_holder_that_goes_on_without_a_connection_is_not_alone() {
    let cut_off = |on_connection_loss| {
        let mut space = timed(2, &EXCLUSION);
        space.bounds.losses = 2;
        space.setup.workload.hold = Micros(5 * TICK.0);
        with(space, |lock| Settings { on_connection_loss, ..lock })
    };
    assert_broken(&cut_off(OnConnectionLoss::GoOn), Promise::MutualExclusion);
    assert_kept(&cut_off(OnConnectionLoss::Stop));
    // A library that judges the session itself judges later than the server: for how long there are two is all that it bounds.
    let mut judging = cut_off(OnConnectionLoss::GoOn);
    judging.setup.lock.session.judges_itself = true;
    assert_broken(&judging, Promise::MutualExclusion);
}

#[test]
fn z5_a_counter_at_its_end_lets_a_newcomer_overtake_the_holder() {
    let at_the_end = |sequence, order| {
        let mut space = space(2, Calls::Lock, &EXCLUSION);
        space.setup.store.sequence = sequence;
        space.setup.store.first_sequence = i32::MAX;
        with(space, |lock| Settings { order, ..lock })
    };
    assert_broken(&at_the_end(Counter::Wraps, Order::Text), Promise::MutualExclusion);
    assert_kept(&at_the_end(Counter::Wraps, Order::Wrapping));
    // Since 3.6 the counter sticks instead, and no order of numbers helps.
    assert_broken(&at_the_end(Counter::Sticks, Order::Text), Promise::MutualExclusion);
    assert_broken(&at_the_end(Counter::Sticks, Order::Wrapping), Promise::MutualExclusion);
}

#[test]
fn z5_a_parent_created_anew_in_time_starts_from_zero() {
    let near_the_end = |parent| {
        let mut space = space(1, Calls::Lock, &EXCLUSION);
        space.setup.store.sequence = Counter::Sticks;
        space.setup.store.first_sequence = i32::MAX;
        space.setup.workload.rounds = 2;
        with(space, |lock| Settings { parent, guid: false, ..lock })
    };
    assert_kept(&near_the_end(Parent::RecreatedWhenEmpty));
}

#[test]
fn z7_the_wrong_one_to_watch_leaves_everybody_waiting() {
    let wrong = with(space(2, Calls::Lock, &[]), |lock| Settings { watch: Watch::Successor, ..lock });
    assert_stuck(&wrong);
}

#[test]
fn z7_the_wrong_one_to_watch_gives_the_lock_to_two() {
    let all =
        |watch| with(space(3, Calls::Lock, &EXCLUSION), |lock| Settings { watch, relists: false, ..lock });
    assert_broken(&all(Watch::First), Promise::MutualExclusion);
    assert_kept(&all(Watch::Predecessor));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_event_taken_for_the_lock_may_be_the_end_of_another_waiter() {
    let mut crashing = timed(3, &EXCLUSION);
    crashing.bounds.crashes = 1;
    crashing.bounds.aim = Aim::Asking;
    crashing.setup.workload.hold = Micros(5 * TICK.0);
    let crashing = with(crashing, |lock| Settings { relists: false, ..lock });
    assert_broken(&crashing, Promise::MutualExclusion);
}

#[test]
fn z11_a_znode_that_outlives_its_session_keeps_everybody_waiting() {
    let crashing = |ephemerals| {
        let mut space = timed(2, &[]);
        space.bounds.crashes = 1;
        space.setup.store.ephemerals = ephemerals;
        space
    };
    assert_stuck(&crashing(Ephemerals::StayBehind));
    assert_progress(&crashing(Ephemerals::GoWithTheirSession));
}

#[test]
fn z12_a_jump_of_the_servers_wall_clock_takes_the_lock_from_its_holder() {
    let jumping = |session_clock| {
        let mut space = timed(2, &EXCLUSION);
        space.setup.store.session_clock = session_clock;
        space.bounds.server_clock_steps = 1;
        space.bounds.server_clock_step_ticks = 4;
        space
    };
    assert_broken(&jumping(SessionClock::Wall), Promise::MutualExclusion);
    assert_kept(&jumping(SessionClock::Monotonic));
}

#[test]
fn z13_sequence_numbers_are_no_fencing_tokens_if_the_parent_is_created_anew() {
    let fenced = |fence, parent| {
        let mut space = paused(&[Promise::FencedResource]);
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
        space.setup.store.sequence = Counter::Sticks;
        space.setup.store.first_sequence = 5;
        with(space, |lock| Settings { fence, parent, ..lock })
    };
    assert_broken(&fenced(Fence::Sequence, Parent::RecreatedWhenEmpty), Promise::FencedResource);
    assert_kept(&fenced(Fence::Sequence, Parent::Kept));
    assert_kept(&fenced(Fence::Czxid, Parent::RecreatedWhenEmpty));
}

/// Servers that lag and do not fail.
fn lagging(mut space: Space<ZookeeperLock>, servers: u8) -> Space<ZookeeperLock> {
    space.setup.servers = servers;
    space.setup.store.acknowledgements = Acknowledgements::Assumed;
    space
}

#[test]
fn servers_that_lag_do_not_break_the_recipe() {
    // With three clients it holds as well, in 780 thousand states.
    let all = |promises: &[Promise]| lagging(space(2, Calls::Lock, promises), 2);
    assert_kept(&all(&[Promise::MutualExclusion, Promise::Fifo]));
    assert_progress(&all(&[]));
}
