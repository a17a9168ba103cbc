//! Hinted handoff, and reads that pass too many tombstones.

use super::cluster::Cluster;
use super::*;
use proptest::prelude::*;

const PERIOD: Micros = Micros::seconds(10);

fn hinting() -> Settings {
    Settings { hint_period: Some(PERIOD), read_repair: ReadRepair::None, ..Settings::default() }
}

/// A write through server 0 that server 2 never hears of, and that is acknowledged.
fn missed_by_the_last(settings: Settings) -> Cluster {
    let mut cluster = Cluster::new(3, settings);
    let serial = cluster.write(0, put(A, 100, None));
    cluster.in_flight.retain(|flight| flight.to != 2);
    cluster.deliver_all();
    assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
    assert!(cluster.contents(2).is_empty());
    cluster
}

/// Lets the time-out pass, and so many periods after it.
fn wait(cluster: &mut Cluster, periods: u8) {
    cluster.pass(Micros::seconds(2));
    cluster.run_deadlines();
    for _ in 0..periods {
        cluster.pass(PERIOD);
        cluster.run_deadlines();
    }
}

#[test]
fn what_a_replica_has_missed_it_gets_ten_seconds_after_the_time_out() {
    let mut cluster = missed_by_the_last(hinting());
    wait(&mut cluster, 0);
    assert!(cluster.in_flight.is_empty(), "it is in the buffer");
    wait(&mut cluster, 1);
    assert_eq!(cluster.in_flight.len(), 1, "to the one that lacks it");
    cluster.deliver_all();
    assert_eq!(cluster.contents(2), cluster.contents(0));
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None, "the hint is done with");
}

#[test]
fn without_hints_it_never_does() {
    let mut cluster = missed_by_the_last(Settings { hint_period: None, ..hinting() });
    wait(&mut cluster, 5);
    assert!(cluster.in_flight.is_empty() && cluster.contents(2).is_empty());
}

#[test]
fn a_hint_is_handed_over_until_it_is_acknowledged() {
    let mut cluster = missed_by_the_last(hinting());
    wait(&mut cluster, 1);
    for _ in 0..3 {
        assert_eq!(cluster.in_flight.len(), 1);
        cluster.in_flight.clear();
        cluster.pass(PERIOD);
        cluster.run_deadlines();
    }
    cluster.deliver_all();
    assert_eq!(cluster.contents(2), cluster.contents(0));
}

#[test]
fn a_coordinator_that_ends_has_lost_the_hints_in_its_buffer_and_keeps_those_on_its_disk() {
    for (periods, keeps) in [(0, false), (1, true)] {
        let mut cluster = missed_by_the_last(hinting());
        wait(&mut cluster, periods);
        cluster.in_flight.clear();
        cluster.restart(0, false);
        cluster.pass(PERIOD);
        cluster.run_deadlines();
        cluster.deliver_all();
        assert_eq!(!cluster.contents(2).is_empty(), keeps);
    }
}

/// A write that was reported as timed out comes to all replicas long after.
#[test]
fn a_write_that_was_given_up_turns_up_on_every_replica() {
    let mut cluster = Cluster::new(3, hinting());
    let serial = cluster.write(0, put(A, 100, None));
    cluster.in_flight.clear();
    wait(&mut cluster, 0);
    assert_eq!(cluster.outcome(serial), Some(&Outcome::TimedOut));
    assert!(cluster.contents(1).is_empty() && cluster.contents(2).is_empty());
    cluster.pass(PERIOD);
    cluster.run_deadlines();
    cluster.deliver_all();
    assert_eq!((cluster.contents(1), cluster.contents(2)), (cluster.contents(0), cluster.contents(0)));
}

#[test]
fn a_hint_older_than_the_grace_period_brings_nothing_back() {
    let mut cluster = missed_by_the_last(Settings { gc_grace_seconds: Some(5), ..hinting() });
    wait(&mut cluster, 1);
    assert!(cluster.in_flight.is_empty());
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
}

#[test]
fn a_read_that_passes_too_many_tombstones_fails_on_one_server_and_on_three() {
    let threads = [A, B, ThreadId(2), ThreadId(3)];
    for servers in [1, 3] {
        for tombstones_max in [2, 3] {
            let settings = Settings { tombstones_max: Some(tombstones_max), ..Settings::default() };
            let mut cluster = Cluster::new(servers, settings);
            for (at, thread) in (100..).zip(&threads[..3]) {
                cluster.write(0, put(*thread, at, None));
                cluster.deliver_all();
                cluster.write(0, delete(*thread, at + 10));
                cluster.deliver_all();
            }
            cluster.write(0, put(threads[3], 200, None));
            cluster.deliver_all();
            let read = cluster.request(0, 0, Operation::ReadSlice { row: MAIN, from: None, count: 1 });
            cluster.deliver_all();
            let fails = cluster.outcome(read) == Some(&Outcome::TimedOut);
            assert_eq!(fails, tombstones_max < 3, "{servers} servers, {tombstones_max} at most");
        }
    }
}

#[test]
fn tombstones_behind_what_was_asked_for_do_not_count() {
    let settings = Settings { tombstones_max: Some(0), ..Settings::default() };
    let mut cluster = Cluster::new(1, settings);
    cluster.write(0, put(A, 100, None));
    cluster.write(0, put(B, 100, None));
    cluster.write(0, delete(B, 110));
    let first = cluster.request(0, 0, Operation::ReadSlice { row: MAIN, from: None, count: 1 });
    let all = cluster.request(0, 0, read_main());
    assert!(matches!(cluster.outcome(first), Some(Outcome::Slice(_))));
    assert_eq!(cluster.outcome(all), Some(&Outcome::TimedOut));
}

proptest! {
    /// Whatever was lost: once nothing more is lost, all replicas come to have the same.
    #[test]
    fn replicas_agree_in_the_end(
        writes in prop::collection::vec((0_u8..3, 0_u16..4, any::<bool>(), 100_i64..200, any::<u16>()), 1..12),
    ) {
        let mut cluster = Cluster::new(3, hinting());
        for (server, thread, deletes, at, lost) in writes {
            let thread = ThreadId(thread);
            let mutation = if deletes { delete(thread, at) } else { put(thread, at, None) };
            cluster.write(server, mutation);
            let mut nth = 0;
            cluster.in_flight.retain(|_| {
                nth += 1;
                lost & 1 << nth == 0
            });
            cluster.deliver_all();
        }
        wait(&mut cluster, 1);
        cluster.deliver_all();
        prop_assert_eq!(cluster.contents(0), cluster.contents(1));
        prop_assert_eq!(cluster.contents(0), cluster.contents(2));
        prop_assert!((0..3).all(|server| cluster.servers[server].deadline(&cluster.settings).is_none()));
    }
}
