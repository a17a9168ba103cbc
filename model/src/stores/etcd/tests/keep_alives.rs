//! Row E10: what a keep-alive is answered that has to wait for a checkpoint to be cleared, when its lease ends meanwhile.
//!
//! A leader that writes to a disk that is stuck has keep-alives wait, and answers them all at once when the disk goes on.

use super::cluster::Cluster;
use super::*;

const TTL: Micros = Micros::seconds(5);

/// Longer than the leader takes itself for active without a tick, and shorter than an election.
const STUCK: Micros = Micros::millis(400);

/// A cluster with a lease of client A, and a key that goes with it. What was left of the lease when it was over but for `left` was told
/// to the others, and just now the leader's disk got stuck.
fn stuck(keep_alives: KeepAlives, left: Micros) -> (Cluster, LeaseId) {
    let stalls = Some(Stalls { one_in: 1, lasts: STUCK });
    let checkpoints = Some(Micros::seconds(1));
    let mut cluster = Cluster::new(3, Settings { keep_alives, stalls, checkpoints, ..Settings::default() });
    cluster.pass(Micros::millis(300));
    let granted = cluster.ask(0, Operation::Grant { ttl: Some(TTL) }).expect("granted");
    let Outcome::Granted { lease, .. } = granted.outcome else { panic!("{granted:?}") };
    cluster.ask(0, put(1, 1, Some(lease))).expect("put");
    let Some(Due::Monotonic(over_at)) = cluster.members[0].lease_over_at(lease) else { panic!("it counts") };
    cluster.pass(over_at - Monotonic(cluster.now.0) - left);
    cluster.stalls = true;
    cluster.send(1, 0, put(2, 2, None));
    cluster.stalls = false;
    (cluster, lease)
}

/// What the keep-alive is answered, and whether there is the lease a moment later.
fn answered(cluster: &mut Cluster, keep_alive: u32, lease: LeaseId) -> (bool, bool) {
    cluster.pass(STUCK + Micros::millis(200));
    let answer = cluster.answer_to(keep_alive).expect("answered");
    (matches!(answer.outcome, Outcome::KeptAlive { .. }), cluster.members[0].has_lease(lease))
}

/// `TestLeaseRevokeDuringRenew` (f8f1074b4): somebody has revoked the lease, which is still there when the keep-alive comes, and gone when
/// it has waited.
fn revoked_meanwhile(keep_alives: KeepAlives) -> (bool, bool) {
    let (mut cluster, lease) = stuck(keep_alives, Micros::seconds(3));
    cluster.send(1, 0, Operation::Revoke(lease));
    let keep_alive = cluster.send(0, 0, Operation::KeepAlive(lease));
    answered(&mut cluster, keep_alive, lease)
}

#[test]
fn a_keep_alive_whose_lease_is_revoked_while_it_waits_says_so_since_somebody_looks_again() {
    assert_eq!(revoked_meanwhile(KeepAlives::LookOnce), (true, false));
    assert_eq!(revoked_meanwhile(KeepAlives::WaitForTheEnd), (false, false));
    assert_eq!(revoked_meanwhile(KeepAlives::AskAgain), (false, false));
}

/// The time of the lease is over while the keep-alive waits.
fn over_meanwhile(keep_alives: KeepAlives) -> (bool, bool) {
    let (mut cluster, lease) = stuck(keep_alives, Micros::millis(100));
    let keep_alive = cluster.send(0, 0, Operation::KeepAlive(lease));
    answered(&mut cluster, keep_alive, lease)
}

#[test]
fn a_keep_alive_whose_lease_is_over_while_it_waits_promises_what_is_not_kept_unless_somebody_asks_again() {
    // Today's release looks whether there is the lease: there is, and its end is on its way.
    assert_eq!(over_meanwhile(KeepAlives::WaitForTheEnd), (true, false));
    assert_eq!(over_meanwhile(KeepAlives::LookOnce), (true, false));
    assert_eq!(over_meanwhile(KeepAlives::AskAgain), (false, false));
}

#[test]
fn a_keep_alive_that_waits_and_is_in_time_keeps_the_lease() {
    for keep_alives in [KeepAlives::WaitForTheEnd, KeepAlives::LookOnce, KeepAlives::AskAgain] {
        let (mut cluster, lease) = stuck(keep_alives, Micros::seconds(2));
        let keep_alive = cluster.send(0, 0, Operation::KeepAlive(lease));
        assert_eq!(cluster.answer_to(keep_alive), None, "it waits");
        assert_eq!(answered(&mut cluster, keep_alive, lease), (true, true));
        cluster.pass(Micros::seconds(4));
        assert!(cluster.members[0].has_lease(lease), "it has its full time from then on");
        assert!(cluster.answer_to(keep_alive).is_some());
    }
}
