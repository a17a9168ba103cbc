//! Restarts.

use super::cluster::Cluster;
use super::*;

fn periodic() -> Settings {
    Settings { commit_log: CommitLog::Periodic { period: Micros::seconds(10) }, ..Settings::default() }
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
fn a_periodic_commit_log_loses_nothing_when_only_the_process_crashes() {
    let mut cluster = Cluster::new(1, periodic());
    cluster.write(0, put(A, 100, None));
    cluster.restart(0, false);
    assert_eq!(cluster.read(0, 0), [A]);
    // The restart has flushed it.
    cluster.restart(0, true);
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
    let mut cluster = Cluster::new(1, Settings::default());
    cluster.write(0, put(A, 100, None));
    cluster.restart(0, true);
    assert_eq!(cluster.read(0, 0), [A]);
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
