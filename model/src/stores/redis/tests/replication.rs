//! How replicas follow, and `WAIT`.

use super::cluster::Cluster;
use super::*;

/// What the replica shows of the lock, and its answer to a write.
fn read_only(cluster: &mut Cluster, command: Command) -> bool {
    cluster.ask(1, 0, command) == Outcome::Error(ServerError::ReadOnly)
}

#[test]
fn the_reply_does_not_wait_for_the_replica() {
    let mut cluster = Cluster::replicated(2);
    assert_eq!(cluster.run(take(0, 10_000)), Outcome::Ok);
    assert_eq!(cluster.lock(1), None);
    cluster.deliver_all();
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
    assert_eq!(cluster.contents(0)[1..], cluster.contents(1)[1..]);
    assert_eq!(cluster.contents(1)[0], "replica of s1");
}

#[test]
fn changes_arrive_as_their_effects_in_order() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 10_000));
    cluster.run(Command::SetAndIncr { key: LOCK, value: token(1, 1), ttl: None, counter: COUNTER });
    cluster.run(Command::PExpire(LOCK, Millis(20_000)));
    cluster.run(Command::Incr(COUNTER));
    cluster.run(release(0));
    let sent: Vec<String> = cluster
        .in_flight
        .iter()
        .map(|flight| redis_keys::WORDS.fill_in(&flight.message.to_string()))
        .collect();
    assert_eq!(
        sent,
        ["SET lock A#1 PXAT 10.001s", "SET lock A#1 PXAT 20.001s", "SET counter 1", "DEL lock"],
        "a command that changes nothing is not sent",
    );
    cluster.deliver_all();
    assert_eq!(cluster.contents(1), ["replica of s1", "counter = 1"]);
}

#[test]
fn a_script_arrives_as_a_whole() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(Command::SetAndIncr { key: LOCK, value: token(1, 1), ttl: None, counter: COUNTER });
    assert_eq!(cluster.in_flight.len(), 1);
    cluster.deliver_all();
    assert_eq!(cluster.contents(1), ["replica of s1", "lock = B#1", "counter = 1"]);
}

#[test]
fn changes_that_overtake_each_other_are_made_good_by_a_snapshot() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(Command::Incr(COUNTER));
    cluster.run(Command::Incr(COUNTER));
    cluster.run(Command::Incr(COUNTER));
    // The last two come first, and cost one request for everything.
    cluster.deliver(2);
    cluster.deliver(1);
    let asks = |cluster: &Cluster| {
        cluster.in_flight.iter().filter(|flight| matches!(flight.message, Peer::Sync { .. })).count()
    };
    assert_eq!((asks(&cluster), cluster.contents(1).len()), (1, 1));
    cluster.deliver_all();
    assert_eq!(cluster.contents(1)[1], "counter = 3");
}

#[test]
fn a_change_that_comes_twice_is_applied_once_and_never_after_a_later_one() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(set(LOCK, token(0, 1)));
    let twin = cluster.in_flight[0].clone();
    cluster.run(set(LOCK, token(0, 2)));
    cluster.deliver_all();
    cluster.in_flight.push(twin);
    cluster.deliver_all();
    assert_eq!(cluster.lock(1), Some(token(0, 2)));
}

#[test]
fn a_ping_tells_the_replica_what_it_has_missed() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 60_000));
    cluster.in_flight.clear();
    cluster.live(1);
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
}

#[test]
fn a_snapshot_that_is_lost_is_asked_for_again_with_the_next_ping() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 60_000));
    cluster.run(Command::Incr(COUNTER));
    cluster.in_flight.remove(0);
    cluster.deliver(0);
    // The request for everything is under way, and gets lost.
    assert!(matches!(cluster.in_flight.pop().map(|flight| flight.message), Some(Peer::Sync { .. })));
    cluster.live(1);
    assert_eq!(cluster.contents(1).len(), 3);
}

#[test]
fn an_old_snapshot_does_not_undo_later_changes() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 60_000));
    cluster.in_flight.clear();
    cluster.pass(Micros::seconds(1));
    cluster.run_deadlines();
    cluster.deliver(0);
    cluster.deliver(0);
    let snapshot = cluster.in_flight[0].clone();
    assert!(matches!(snapshot.message, Peer::Snapshot { .. }));
    cluster.deliver_all();
    cluster.run(release(0));
    cluster.in_flight.push(snapshot);
    cluster.deliver_all();
    assert_eq!(cluster.lock(1), None);
}

#[test]
fn a_replica_hides_what_has_expired_by_its_own_clock_and_keeps_it_until_told() {
    let mut cluster = Cluster::replicated(2);
    cluster.ahead[1] = Micros::seconds(11);
    cluster.run(take(0, 10_000));
    cluster.deliver_all();
    assert_eq!((cluster.lock(0), cluster.lock(1)), (Some(token(0, 1)), None));
    cluster.run_deadlines();
    assert_eq!(cluster.contents(1)[1], "lock = A#1, dies at 10.001s");
    cluster.live(11);
    assert_eq!(cluster.contents(1), ["replica of s1"]);
    assert_eq!(cluster.events, [gone(0, 0)], "the replica reports nothing");
}

#[test]
fn a_replica_takes_no_writes_but_runs_scripts_up_to_their_first() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 10_000));
    cluster.deliver_all();
    let before = cluster.servers[1].clone();
    let (value, other, ttl) = (token(0, 1), token(1, 1), Millis(1_000));
    assert!(read_only(&mut cluster, take(1, 1_000)));
    assert!(read_only(&mut cluster, Command::Del(COUNTER)));
    assert!(read_only(&mut cluster, Command::FlushAll));
    assert!(read_only(&mut cluster, Command::Incr(COUNTER)));
    assert!(read_only(&mut cluster, Command::PExpire(LOCK, ttl)));
    assert!(read_only(&mut cluster, release(0)));
    assert!(read_only(&mut cluster, Command::CompareAndExtend { key: LOCK, value, ttl }));
    assert!(read_only(&mut cluster, Command::ExtendOrCreate { key: LOCK, value, ttl }));
    let both = Command::SetAndIncr { key: LOCK, value: other, ttl: None, counter: COUNTER };
    assert!(read_only(&mut cluster, both));
    assert_eq!(cluster.ask(1, 0, release(1)), Outcome::Integer(0));
    let extend = Command::CompareAndExtend { key: LOCK, value: other, ttl };
    assert_eq!(cluster.ask(1, 0, extend), Outcome::Integer(0));
    let create = Command::ExtendOrCreate { key: LOCK, value: other, ttl };
    assert_eq!(cluster.ask(1, 0, create), Outcome::Nil);
    assert_eq!(cluster.servers[1], before);
}

#[test]
fn an_eviction_and_a_flush_reach_the_replica() {
    let mut cluster = Cluster::replicated(2);
    cluster.settings.eviction = Eviction::AllKeysLru;
    cluster.settings.keys_max = Some(1);
    cluster.run(take(0, 10_000));
    cluster.run(Command::Incr(COUNTER));
    cluster.deliver_all();
    assert_eq!(cluster.contents(1), ["replica of s1", "counter = 1"]);
    cluster.run(Command::FlushAll);
    cluster.deliver_all();
    assert_eq!(cluster.contents(1), ["replica of s1"]);
}

#[test]
fn a_monotonic_moment_travels_as_what_is_left_of_the_life() {
    let mut cluster = Cluster::replicated(2);
    cluster.settings.expiry_clock = ExpiryClock::Monotonic;
    cluster.ahead[1] = Micros::seconds(3600);
    cluster.run(take(0, 10_000));
    cluster.pass(Micros::seconds(2));
    cluster.deliver_all();
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
    // Two seconds under way are two seconds more of it.
    cluster.pass(Micros::seconds(9));
    assert_eq!((cluster.lock(0), cluster.lock(1)), (None, Some(token(0, 1))));
    cluster.in_flight.clear();
    cluster.pass(Micros::seconds(2));
    assert_eq!(cluster.lock(1), None);
}

#[test]
fn a_reply_waits_for_every_replica() {
    let mut cluster = Cluster::replicated(3);
    let serial = cluster.request(0, 0, take(0, 10_000), true);
    assert_eq!(cluster.in_flight.len(), 2);
    cluster.deliver(0);
    cluster.deliver(1);
    assert_eq!(cluster.outcome(serial), None, "one of two");
    cluster.deliver_all();
    assert_eq!(cluster.outcome(serial), Some(Outcome::Ok));
    assert_eq!(cluster.replies, [(0, Reply { serial, outcome: Outcome::Ok })]);
}

#[test]
fn a_reply_waits_for_no_acknowledgement_of_something_older() {
    let mut cluster = Cluster::replicated(2);
    let first = cluster.request(0, 0, take(0, 10_000), true);
    let second = cluster.request(0, 1, Command::Incr(COUNTER), true);
    cluster.deliver(0);
    cluster.deliver(1);
    assert_eq!((cluster.outcome(first), cluster.outcome(second)), (Some(Outcome::Ok), None));
    cluster.deliver_all();
    assert_eq!(cluster.outcome(second), Some(Outcome::Integer(1)));
}

#[test]
fn an_acknowledgement_that_is_lost_is_asked_for_again() {
    let mut cluster = Cluster::replicated(2);
    let serial = cluster.request(0, 0, take(0, 60_000), true);
    cluster.deliver(0);
    cluster.in_flight.clear();
    cluster.live(1);
    assert_eq!(cluster.outcome(serial), Some(Outcome::Ok));
    // And a change that is lost, by way of a snapshot.
    let serial = cluster.request(0, 0, Command::Incr(COUNTER), true);
    cluster.in_flight.clear();
    cluster.live(1);
    assert_eq!(cluster.outcome(serial), Some(Outcome::Integer(1)));
}

#[test]
fn nothing_is_waited_for_where_nothing_changed_or_nobody_follows() {
    let mut cluster = Cluster::replicated(2);
    let serial = cluster.request(0, 0, release(0), true);
    assert_eq!(cluster.outcome(serial), Some(Outcome::Integer(0)));
    for mut cluster in [Cluster::replicated(1), Cluster::new(3, Settings::default())] {
        let serial = cluster.request(0, 0, take(0, 10_000), true);
        assert_eq!(cluster.outcome(serial), Some(Outcome::Ok));
        assert!(cluster.in_flight.is_empty());
    }
}

#[test]
fn who_waits_is_forgotten_in_a_crash() {
    let mut cluster = Cluster::replicated(2);
    cluster.settings.persistence = Persistence::AofAlways;
    let serial = cluster.request(0, 0, take(0, 60_000), true);
    cluster.restart(0, false);
    cluster.live(3);
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
    assert_eq!(cluster.outcome(serial), None);
    assert!(cluster.dismissed > 0, "acknowledgements that nobody waits for");
}

#[test]
fn replicas_of_a_master_that_comes_back_empty_become_empty_too() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 60_000));
    cluster.deliver_all();
    cluster.restart(0, false);
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
    cluster.live(2);
    assert_eq!((cluster.lock(0), cluster.lock(1)), (None, None));
    assert_eq!(cluster.events, [gone(0, 0)]);
}

#[test]
fn a_replica_that_restarts_asks_for_everything() {
    let mut cluster = Cluster::replicated(2);
    cluster.run(take(0, 60_000));
    cluster.deliver_all();
    cluster.restart(1, true);
    assert_eq!(cluster.lock(1), None);
    cluster.live(2);
    assert_eq!(cluster.lock(1), Some(token(0, 1)));
    assert_eq!(cluster.events, []);
}

#[test]
fn independent_servers_carry_nothing_of_replication() {
    let mut cluster = Cluster::new(3, Settings::default());
    cluster.run(take(0, 10_000));
    assert!(cluster.in_flight.is_empty());
    assert_eq!(cluster.servers[0].replication, None);
    assert_eq!(cluster.contents(0), ["lock = A#1, dies at 10.001s"]);
    assert_eq!(cluster.lock(1), None);
}
