//! What a ZooKeeper ensemble promises, in random runs with lost, doubled and reordered messages, cut-off servers, restarts
//! and leader changes; and for each promise a flawed server that is found out.

#[path = "zookeeper/contract.rs"]
mod contract;
#[path = "zookeeper/ensemble.rs"]
mod ensemble;

use contract::Broken;
use ensemble::Ensemble;
use picklock_model::stores::zookeeper::{Counter, Election, Ephemerals, Flaw, Log, Settings};
use picklock_model::time::Micros;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::RefCell;

const RUNS: u32 = 400;

/// Servers that elect, with every chance of trouble.
fn electing() -> Settings {
    Settings {
        election: Some(Election { heartbeat: Micros::millis(500), timeout: Micros::seconds(2) }),
        ..Settings::default()
    }
}

/// How often the interesting things happened: a check during which none did proves nothing.
#[derive(Default, Debug)]
struct Happened {
    answers: u64,
    events: u64,
    expiries: u64,
    reconnects: u64,
    leaders: u64,
}

/// The first broken promise in so many random runs, by a schedule that is as short as it could be made.
fn first_broken(servers: u8, settings: Settings) -> (Option<String>, Happened) {
    let happened = RefCell::new(Happened::default());
    let config = ProptestConfig {
        cases: RUNS,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        max_shrink_iters: 0,
        ..ProptestConfig::default()
    };
    let schedule = prop::collection::vec(any::<u32>(), 300..1500);
    let result = TestRunner::new(config).run(&schedule, |schedule| {
        let mut ensemble = Ensemble::new(servers, 3, settings);
        let broken = ensemble.run(&schedule);
        let mut happened = happened.borrow_mut();
        happened.answers += ensemble.contract.answers;
        happened.events += ensemble.contract.events;
        happened.expiries += ensemble.contract.expiries;
        happened.reconnects += ensemble.contract.reconnects;
        happened.leaders += ensemble.leaders();
        broken.map_err(|broken: Broken| TestCaseError::fail(format!("{broken:?}")))
    });
    let broken = result.err().map(|failure| failure.to_string());
    (broken, happened.into_inner())
}

fn assert_broken(settings: Settings, by: &str) {
    let (broken, happened) = first_broken(3, settings);
    let broken = broken.unwrap_or_else(|| panic!("{settings:?} breaks nothing: {happened:?}"));
    assert!(broken.contains(by), "{settings:?} should break {by} first, not: {broken}");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn an_ensemble_keeps_its_contract_whatever_happens_to_it() {
    for servers in [1, 3, 5] {
        let (broken, happened) = first_broken(servers, electing());
        assert_eq!(broken, None, "{servers} servers");
        assert!(happened.answers > 1_000 && happened.events > 100, "{servers} servers: {happened:?}");
        assert!(happened.expiries > 10 && happened.reconnects > 100, "{servers} servers: {happened:?}");
        assert!(servers == 1 || happened.leaders > 100, "{servers} servers: {happened:?}");
    }
}

#[test]
fn an_ensemble_with_the_older_counter_keeps_it_too() {
    let (broken, _) = first_broken(3, Settings { sequence: Counter::Wraps, ..electing() });
    assert_eq!(broken, None);
}

#[test]
fn a_follower_that_skips_proposals_is_found_out() {
    assert_broken(Settings { flaw: Flaw::SkipsGaps, ..electing() }, "Diverged");
}

#[test]
fn a_leader_that_commits_alone_is_found_out() {
    // What it forgets comes out as a difference, a lost znode or a number given again.
    let (broken, happened) = first_broken(3, Settings { flaw: Flaw::CommitsAlone, ..electing() });
    assert!(broken.is_some(), "{happened:?}");
}

#[test]
fn a_log_that_is_not_on_the_disk_is_found_out() {
    let (broken, happened) = first_broken(3, Settings { log: Log::Unsynced, ..electing() });
    assert!(broken.is_some(), "{happened:?}");
}

#[test]
fn a_server_that_takes_clients_ahead_of_it_is_found_out() {
    // Followers that hear their leader seldom lag for longer than a client needs to come to them.
    let election = Some(Election { heartbeat: Micros::seconds(2), timeout: Micros::seconds(5) });
    assert_broken(Settings { flaw: Flaw::TakesClientsAhead, election, ..Settings::default() }, "WentBack");
    let (broken, _) = first_broken(3, Settings { election, ..Settings::default() });
    assert_eq!(broken, None);
}

#[test]
fn a_server_that_shows_a_change_before_its_event_is_found_out() {
    assert_broken(Settings { flaw: Flaw::EventsAfterReplies, ..electing() }, "ShownBeforeItsEvent");
}

#[test]
fn a_server_that_leaves_ephemerals_behind_is_found_out() {
    assert_broken(Settings { ephemerals: Ephemerals::StayBehind, ..electing() }, "Orphaned");
}

#[test]
fn a_server_that_gives_a_number_twice_is_found_out() {
    assert_broken(Settings { flaw: Flaw::SequenceCountsChildren, ..electing() }, "NumberedTwice");
}
