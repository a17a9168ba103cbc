//! Who is master.

use super::cluster::{Cluster, Flight};
use super::*;

fn roles(cluster: &Cluster) -> Vec<String> {
    (0..cluster.servers.len() as u8).map(|server| cluster.contents(server).remove(0)).collect()
}

/// Cuts the links of a server until nothing more is under way on them.
fn isolate(cluster: &mut Cluster, server: u8, seconds: i64) {
    for _ in 0..seconds * 10 {
        cluster.pass(Micros::millis(100));
        cluster.run_deadlines();
        while !cluster.in_flight.is_empty() {
            let Flight { from, to, .. } = cluster.in_flight[0];
            if from == server || to == server {
                cluster.in_flight.remove(0);
            } else {
                cluster.deliver(0);
            }
        }
    }
}

#[test]
fn nobody_is_promoted_while_the_master_pings() {
    let mut cluster = Cluster::replicated(3);
    cluster.live(30);
    assert_eq!(roles(&cluster), ["master, epoch 1", "replica of s1", "replica of s1"]);
}

#[test]
fn the_first_replica_takes_over_from_a_dead_master_and_the_others_follow_it() {
    let mut cluster = Cluster::replicated(3);
    cluster.run(take(0, 60_000));
    cluster.deliver_all();
    cluster.down.push(0);
    cluster.live(4);
    assert_eq!(roles(&cluster)[1], "replica of s1", "too early");
    cluster.live(2);
    assert_eq!(roles(&cluster)[1..], ["master, epoch 2", "replica of s2"]);
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
    assert_eq!(cluster.ask(1, 0, release(0)), Outcome::Integer(1));
    cluster.deliver_all();
    assert_eq!(cluster.lock(2), None);
}

#[test]
fn a_write_that_was_acknowledged_and_not_replicated_is_lost_in_a_failover() {
    let mut cluster = Cluster::replicated(2);
    assert_eq!(cluster.run(take(0, 60_000)), Outcome::Ok);
    cluster.in_flight.clear();
    cluster.down.push(0);
    cluster.live(6);
    assert_eq!(cluster.ask(1, 1, take(1, 60_000)), Outcome::Ok);
    assert_eq!(cluster.events, [], "the record is still where it was, on a dead server");
    cluster.restart(0, true);
    assert_eq!(cluster.events, [gone(0, 0)]);
}

#[test]
fn a_new_master_judges_expiry_by_its_own_clock() {
    let mut cluster = Cluster::replicated(2);
    cluster.ahead[1] = Micros::seconds(40);
    cluster.run(take(0, 30_000));
    cluster.deliver_all();
    cluster.down.push(0);
    cluster.live(6);
    assert_eq!(cluster.events, [gone(0, 1)]);
    assert_eq!(cluster.ask(1, 1, take(1, 30_000)), Outcome::Ok);
}

#[test]
fn an_old_master_that_hears_of_a_later_one_follows_it_and_reports_what_it_lost() {
    let mut cluster = Cluster::replicated(2);
    cluster.settings.persistence = Persistence::AofAlways;
    isolate(&mut cluster, 0, 6);
    assert_eq!(roles(&cluster), ["master, epoch 1", "master, epoch 2"]);
    // Both grant it.
    assert_eq!(cluster.ask(0, 0, take(0, 60_000)), Outcome::Ok);
    assert_eq!(cluster.ask(1, 1, take(1, 60_000)), Outcome::Ok);
    cluster.in_flight.clear();
    cluster.live(2);
    assert_eq!(roles(&cluster), ["replica of s2", "master, epoch 2"]);
    assert_eq!(cluster.lock(0), Some(token(1, 1)));
    assert_eq!(cluster.events, [gone(0, 0)]);
    cluster.live(30);
    assert_eq!(cluster.events, [gone(0, 0)], "a replica from then on");
}

#[test]
fn an_old_master_keeps_quiet_about_records_that_its_successor_has() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 60_000));
    cluster.deliver_all();
    isolate(&mut cluster, 0, 6);
    cluster.live(2);
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    assert_eq!(cluster.events, []);
}

#[test]
fn a_master_that_restarts_takes_itself_for_one_until_it_hears_otherwise() {
    let mut cluster = Cluster::replicated(2);
    cluster.down.push(0);
    cluster.live(6);
    cluster.restart(0, true);
    assert_eq!(roles(&cluster), ["master, epoch 1", "master, epoch 2"]);
    assert_eq!(cluster.ask(0, 0, take(0, 60_000)), Outcome::Ok);
    cluster.live(1);
    assert_eq!(roles(&cluster), ["replica of s2", "master, epoch 2"]);
    assert_eq!(cluster.events, [gone(0, 0)]);
}

#[test]
fn a_promotion_is_not_forgotten_in_a_crash() {
    let mut cluster = Cluster::replicated(2);
    isolate(&mut cluster, 0, 6);
    cluster.restart(1, true);
    assert_eq!(roles(&cluster)[1], "master, epoch 2");
}

#[test]
fn of_two_masters_of_one_epoch_the_greater_number_stays() {
    let mut cluster = Cluster::replicated(3);
    cluster.down.push(0);
    // Neither hears the other.
    for _ in 0..70 {
        cluster.pass(Micros::millis(100));
        cluster.run_deadlines();
        cluster.in_flight.clear();
    }
    assert_eq!(roles(&cluster)[1..], ["master, epoch 2", "master, epoch 2"]);
    cluster.live(2);
    assert_eq!(roles(&cluster)[1..], ["replica of s3", "master, epoch 2"]);
}

#[test]
fn what_a_deposed_master_sends_changes_nothing() {
    let mut cluster = Cluster::replicated(3);
    isolate(&mut cluster, 0, 8);
    cluster.ask(1, 1, take(1, 60_000));
    cluster.in_flight.retain(|flight| flight.to != 0);
    cluster.deliver_all();
    let before = cluster.dismissed;
    cluster.run(take(0, 60_000));
    cluster.run(Command::Incr(COUNTER));
    cluster.deliver_all();
    assert_eq!(cluster.dismissed - before, 4, "two changes to two servers");
    assert_eq!((cluster.lock(1), cluster.lock(2)), (Some(token(1, 1)), Some(token(1, 1))));
}

#[test]
fn a_deposed_master_never_replies_to_who_waits() {
    let mut cluster = Cluster::replicated(2);
    isolate(&mut cluster, 0, 6);
    let serial = cluster.request(0, 0, take(0, 60_000), true);
    cluster.live(10);
    assert_eq!(roles(&cluster)[0], "replica of s2");
    assert_eq!(cluster.outcome(serial), None);
}

#[test]
fn mastership_goes_back_and_forth_and_nothing_is_lost_in_good_order() {
    let mut cluster = Cluster::replicated(2);
    cluster.settings.persistence = Persistence::AofAlways;
    cluster.run(Command::Incr(COUNTER));
    cluster.live(1);
    for (old, new, epoch) in [(0, 1, 2), (1, 0, 3), (0, 1, 4)] {
        cluster.down.push(old);
        cluster.live(6);
        assert_eq!(roles(&cluster)[usize::from(new)], format!("master, epoch {epoch}"));
        assert_eq!(cluster.ask(new, 0, Command::Incr(COUNTER)), Outcome::Integer(epoch));
        cluster.restart(old, true);
        cluster.live(2);
        assert_eq!(cluster.contents(old)[1], format!("counter = {epoch}"));
    }
}

#[test]
fn a_server_that_is_closed_follows_nobody_and_promotes_itself_no_sooner() {
    let mut cluster = Cluster::replicated(2);
    cluster.settings.restart_delay = Some(Micros::seconds(20));
    cluster.restart(1, true);
    cluster.run(take(0, 60_000));
    cluster.live(19);
    assert_eq!(cluster.contents(1), ["replica of s1"]);
    cluster.live(3);
    assert_eq!(cluster.contents(1).len(), 2);
}
