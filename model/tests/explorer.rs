//! Our explorer against stateright's: the same states, the same verdicts, paths as short. And against itself: what is left out where
//! clients are told apart by nothing but their numbers (`alike`). And what a fair schedule owes (`another_request`).

#[path = "explorer/alike.rs"]
mod alike;
#[path = "explorer/another_request.rs"]
mod another_request;

use picklock_model::claims::{
    Assumption, Judgement, Search, cassandra as spaces, redis, scenarios, unpack_setup,
};
use picklock_model::explore::{
    Alike, Limits, NoSuchPath, Space, Verdict, check_liveness, cross_check, search, search_alike,
};
use picklock_model::locks::{CassandraQueue, CassandraServed, RowProbe};
use picklock_model::machine::Lock;
use picklock_model::stores::cassandra::Consistency;
use picklock_model::stores::redis::{Eviction, Layout, Tenant, TenantDoes};
use picklock_model::time::Micros;
use picklock_model::workload::Calls;
use picklock_model::world::{Action, TICK, World};
use picklock_properties::Promise;
use stateright::{Checker, Model, Property};
use std::sync::atomic::AtomicBool;

fn queue_lock(clients: u8, calls: Calls, dropped: &[Assumption]) -> Space<CassandraQueue> {
    let mut space = spaces::queue_lock(clients, 1, calls, &[Promise::MutualExclusion]);
    dropped.iter().for_each(|assumption| spaces::drop_from_queue_lock(&mut space, *assumption));
    space
}

/// One client with a lease that may pause; there is nobody whom it could disturb.
fn leased_alone() -> Space<CassandraQueue> {
    let mut space = queue_lock(1, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.bounds.latency_ticks = Some(0);
    space
}

const BROKEN: &str = "no promise is broken";

/// A space that is judged by nothing else: as long as another property waits for its discovery, stateright replaces the
/// shortest path to a broken state by later ones.
struct OnlySafety<L: Lock>(Space<L>);

impl<L: Lock> Model for OnlySafety<L> {
    type State = World<L>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<L>> {
        self.0.init_states()
    }

    fn actions(&self, state: &World<L>, actions: &mut Vec<Action>) {
        self.0.actions(state, actions);
    }

    fn next_state(&self, last_state: &World<L>, action: Action) -> Option<World<L>> {
        self.0.next_state(last_state, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(BROKEN, |_, state: &World<L>| state.broken.is_none())]
    }
}

/// The same states as stateright finds, and no broken promise.
fn agrees_that_nothing_breaks<L: Lock>(space: &Space<L>) {
    let ours = search_alike(space, &Limits::states(1_000_000), Alike::Same).unwrap();
    assert_eq!(ours.verdict, Verdict::Verified);
    assert!(ours.states > 1 && ours.transitions >= ours.states - 1, "{ours:?}");
    assert_eq!(cross_check(space.clone(), 1), (ours.states as usize, false));
}

/// A broken promise, found by a path as short as stateright's, and broken again by walking it.
fn agrees_that_it_breaks<L: Lock>(space: &Space<L>) {
    let ours = search(space, &Limits::states(1_000_000));
    let Verdict::Violated { violation, path } = &ours.verdict else { panic!("nothing is broken: {ours:?}") };
    // With one thread stateright's breadth-first search finds a shortest path, too.
    let theirs = OnlySafety(space.clone()).checker().threads(1).spawn_bfs().join();
    let discovery = theirs.discovery(BROKEN).expect("stateright finds nothing broken");
    assert_eq!(path.len(), discovery.into_actions().len());
    assert_eq!(ours.depth as usize, path.len());

    let mut walker = space.walker();
    for (step, action) in path.iter().enumerate() {
        assert_eq!(walker.world().broken, None, "broken before step {step} already");
        walker.step(*action, &mut ()).unwrap();
    }
    assert_eq!(walker.world().broken, Some(*violation));
    // A broken world goes no further.
    let no_way_on = NoSuchPath { at: path.len(), action: 0, possible: 0 };
    assert_eq!(walker.step(0, &mut ()), Err(no_way_on));
}

#[test]
fn two_clients_of_lock() {
    agrees_that_nothing_breaks(&queue_lock(2, Calls::Lock, &[]));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn three_clients_of_try_lock() {
    agrees_that_nothing_breaks(&queue_lock(3, Calls::TryLock, &[]));
}

#[test]
fn one_client_with_a_lease_and_a_pause() {
    agrees_that_nothing_breaks(&leased_alone());
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn two_clients_with_a_lease() {
    agrees_that_nothing_breaks(&queue_lock(2, Calls::Lock, &[Assumption::NoExpiry]));
}

#[test]
fn two_clients_and_a_lost_message() {
    agrees_that_nothing_breaks(&queue_lock(2, Calls::Lock, &[Assumption::NoLoss]));
}

#[test]
fn two_clients_and_a_crash() {
    agrees_that_nothing_breaks(&queue_lock(2, Calls::Lock, &[Assumption::NoCrash]));
}

#[test]
fn two_probes_of_a_row_at_quorum() {
    agrees_that_nothing_breaks(&spaces::row(2, 3, Consistency::Quorum, Consistency::Quorum));
}

#[test]
fn a_clock_that_steps_back() {
    agrees_that_it_breaks(&queue_lock(2, Calls::Lock, &[Assumption::NoClockStep]));
}

#[test]
fn a_clock_that_stands_still() {
    agrees_that_it_breaks(&queue_lock(2, Calls::TryLock, &[Assumption::NoClockFreeze]));
}

#[test]
fn a_pause_longer_than_the_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.bounds.latency_ticks = Some(0);
    agrees_that_it_breaks(&space);
}

#[test]
fn one_id_for_two_threads() {
    agrees_that_it_breaks(&queue_lock(2, Calls::Lock, &[Assumption::UniqueIds]));
}

#[test]
fn probes_of_a_row_at_consistency_one() {
    let space: Space<RowProbe> = spaces::row(2, 3, Consistency::One, Consistency::One);
    agrees_that_it_breaks(&space);
}

#[test]
fn two_clients_of_one_redis() {
    agrees_that_nothing_breaks(&redis::redis_single(2, Calls::TryLock, &[Promise::MutualExclusion]));
}

#[test]
fn two_clients_of_redlock_on_two_nodes() {
    agrees_that_nothing_breaks(&redis::redlock(2, 2, Calls::TryLock, &[Promise::MinValidity]));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_master_that_dies_and_comes_back_and_a_replica_whose_clock_is_ahead() {
    let mut space = redis::redis_single(2, Calls::Lock, &[Promise::MutualExclusion]);
    space.setup.servers = 2;
    space.setup.store.layout = Layout::Replicated { ping_period: TICK, down_after: Micros(2 * TICK.0) };
    space.setup.lock.request_timeout = Some(TICK);
    space.setup.lock.ttl = Some(redis::TTL + Micros(4 * TICK.0));
    space.setup.workload.hold = Micros(5 * TICK.0);
    space.bounds.unhurried = false;
    (space.bounds.power_losses, space.bounds.drifts) = (0, 0);
    space.bounds.server_crashes = 1;
    agrees_that_it_breaks(&space);
    space.bounds.server_crashes_restart = true;
    agrees_that_nothing_breaks(&space);
    space.bounds.server_crashes_restart = false;
    space.bounds.last_server_ahead_ticks = 9;
    agrees_that_it_breaks(&space);
}

#[test]
fn an_evicted_key() {
    let mut space = redis::redis_single(2, Calls::TryLock, &[Promise::MutualExclusion]);
    space.setup.store.keys_max = Some(1);
    space.setup.store.tenant = Some(Tenant { period: TICK, does: TenantDoes::Writes });
    space.setup.store.eviction = Eviction::AllKeysLru;
    agrees_that_it_breaks(&space);
}

#[test]
fn a_search_that_hits_a_limit_says_so() {
    let space = queue_lock(2, Calls::Lock, &[]);
    let all = search(&space, &Limits::states(1_000_000)).kept;
    for states_max in [0, 1, 10, all - 1] {
        let found = search(&space, &Limits::states(states_max));
        assert_eq!(found.verdict, Verdict::Incomplete { reason: "the limit of states was reached" });
        assert!(found.kept > states_max);
    }
    assert_eq!(search(&space, &Limits::states(all)).verdict, Verdict::Verified);

    let stop = AtomicBool::new(true);
    let stopped = search(&space, &Limits { states_max: all, stop: &stop, on_progress: &|_| {} });
    assert_eq!(stopped.verdict, Verdict::Incomplete { reason: "the search was interrupted" });
}

#[test]
fn an_action_that_is_not_there_is_refused_and_changes_nothing() {
    let space = queue_lock(2, Calls::Lock, &[]);
    let mut walker = space.walker();
    let before = walker.world().clone();
    assert_eq!(walker.step(7, &mut ()), Err(NoSuchPath { at: 0, action: 7, possible: 2 }));
    assert_eq!(*walker.world(), before);
    assert_eq!(walker.step(1, &mut ()), Ok(()));
}

#[test]
fn what_is_delivered_at_once_is_counted_among_what_was_put_to_the_test() {
    let row = scenarios().into_iter().find(|row| row.id == "C22a");
    let Some(Search::Space { space, judgement: Judgement::Progress { goals, draws } }) =
        row.map(|row| row.fix_search)
    else {
        panic!("C22a is a row that is searched for progress")
    };
    assert!(space.bounds.colocated);
    let setup = unpack_setup::<CassandraServed>(&space.setup).unwrap();
    let space = Space { setup, bounds: space.bounds };
    let (exploration, _) = check_liveness(&space, &goals, draws, &Limits::states(1_000_000));
    assert!(exploration.coverage.tested.times(Promise::StarvationFreedom) > 0);
}
