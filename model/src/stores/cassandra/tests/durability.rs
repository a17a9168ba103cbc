//! Restarts.

use super::cluster::Cluster;
use super::*;

fn periodic() -> Settings {
    Settings { commit_log: CommitLog::AS_SHIPPED, ..Settings::default() }
}

#[test]
fn a_periodic_commit_log_loses_an_acknowledged_write_on_power_loss() {
    let mut cluster = Cluster::new(1, periodic());
    let serial = cluster.write(0, put(A, 100, None));
    assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
    cluster.restart(0, true);
    assert_eq!(cluster.read(0, 0), []);
}

#[test]
fn a_killed_process_loses_what_it_acknowledged_since_the_last_mark() {
    let mut cluster = Cluster::new(1, periodic());
    cluster.write(0, put(A, 100, None));
    cluster.pass(Micros::millis(100));
    cluster.run_deadlines();
    let late = cluster.write(0, put(B, 101, None));
    assert_eq!(cluster.outcome(late), Some(&Outcome::Applied));
    assert_eq!(cluster.read(0, 0), [A, B]);
    cluster.restart(0, false);
    assert_eq!(cluster.read(0, 0), [A]);
    // The restart has flushed it.
    cluster.restart(0, true);
    assert_eq!(cluster.read(0, 0), [A]);
}

#[test]
fn a_killed_process_keeps_what_was_marked_and_a_power_loss_does_not() {
    for (power_lost, kept) in [(false, &[A][..]), (true, &[])] {
        let mut cluster = Cluster::new(1, periodic());
        cluster.write(0, put(A, 100, None));
        cluster.pass(Micros::millis(100));
        cluster.run_deadlines();
        cluster.restart(0, power_lost);
        assert_eq!(cluster.read(0, 0), kept);
    }
}

/// Between the first write after a sync and the next mark the log on disk is younger than its last mark: it was marked as it was synced.
#[test]
fn what_is_synced_is_marked() {
    let mut cluster = Cluster::new(1, periodic());
    cluster.write(0, put(A, 100, None));
    cluster.pass(Micros::seconds(10));
    cluster.run_deadlines();
    cluster.write(0, put(B, 101, None));
    cluster.restart(0, false);
    assert_eq!(cluster.read(0, 0), [A]);
}

#[test]
fn a_log_that_is_marked_at_once_loses_nothing_to_a_killed_process() {
    let settings = Settings { commit_log: CommitLog::LOST_WITH_POWER, ..Settings::default() };
    let mut cluster = Cluster::new(1, settings);
    cluster.write(0, put(A, 100, None));
    cluster.restart(0, false);
    assert_eq!(cluster.read(0, 0), [A]);
}

#[test]
fn a_periodic_commit_log_keeps_what_it_synced() {
    let mut cluster = Cluster::new(1, periodic());
    cluster.write(0, put(A, 100, None));
    assert!(cluster.servers[0].deadline(&cluster.settings).is_some());
    cluster.pass(Micros::seconds(10));
    cluster.run_deadlines();
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
    cluster.write(0, put(B, 101, None));
    cluster.restart(0, true);
    assert_eq!(cluster.read(0, 0), [A]);
}

#[test]
fn a_batch_commit_log_loses_nothing() {
    for power_lost in [false, true] {
        let mut cluster = Cluster::new(1, Settings::default());
        cluster.write(0, put(A, 100, None));
        cluster.restart(0, power_lost);
        assert_eq!(cluster.read(0, 0), [A]);
    }
}

#[test]
fn a_restarted_coordinator_knows_nothing_of_the_operations_before() {
    let mut cluster = Cluster::new(3, Settings::default());
    let write = cluster.write(0, put(A, 100, None));
    let read = cluster.request(0, 0, read_main());
    cluster.restart(0, false);
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
    let later = cluster.write(0, put(B, 101, None));
    cluster.deliver_all();
    assert_eq!((cluster.outcome(write), cluster.outcome(read)), (None, None));
    assert_eq!(cluster.outcome(later), Some(&Outcome::Applied));
    assert!(cluster.dismissed > 0);
    assert_eq!(cluster.read(1, 0), [A, B]);
}
