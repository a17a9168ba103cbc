//! When a key dies, by which clock, and what steps of the clock do to it.

use super::cluster::Cluster;
use super::*;

#[test]
fn a_key_lives_through_the_whole_millisecond_of_its_death() {
    let mut cluster = Cluster::single(|_| {});
    cluster.at(Micros(5_999));
    assert_eq!(cluster.run(take(0, 10)), Outcome::Ok);
    // Set in millisecond 5: dies are in millisecond 15, and 15 > 15 is false.
    cluster.at(Micros(15_998));
    assert_eq!(cluster.run(Command::Get(LOCK)), Outcome::Bulk(token(0, 1)));
    assert!(!cluster.is_due(0));
    assert_eq!(cluster.run(Command::Get(LOCK)), Outcome::Bulk(token(0, 1)));
    assert_eq!(cluster.now, Micros(15_999));
    assert_eq!(cluster.run(Command::Get(LOCK)), Outcome::Nil);
}

#[test]
fn the_deadline_removes_what_has_expired_at_the_first_moment_of_its_death() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(take(0, 10));
    assert_eq!(cluster.contents(0), ["lock = A#1, dies at 11ms"]);
    cluster.pass(Micros(10_998));
    assert!(!cluster.is_due(0));
    cluster.pass(Micros(1));
    assert!(cluster.is_due(0));
    cluster.run_deadlines();
    assert_eq!(cluster.contents(0), [""; 0]);
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
}

#[test]
fn a_wall_clock_that_steps_forward_kills_keys() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(take(0, 10_000));
    cluster.ahead[0] = Micros::seconds(11);
    assert!(cluster.is_due(0));
    assert_eq!(cluster.lock(0), None);
    assert_eq!(cluster.ask(0, 1, take(1, 10_000)), Outcome::Ok);
}

#[test]
fn a_wall_clock_that_steps_back_lets_keys_live_longer_but_revives_none_that_was_removed() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(take(0, 10_000));
    cluster.ahead[0] = -Micros::seconds(60);
    cluster.pass(Micros::seconds(30));
    cluster.run_deadlines();
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    cluster.ahead[0] = Micros::ZERO;
    cluster.run_deadlines();
    cluster.ahead[0] = -Micros::seconds(60);
    assert_eq!(cluster.lock(0), None);
}

#[test]
fn a_key_that_expired_unseen_lives_again_if_the_clock_steps_back_before_anybody_looks() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(take(0, 10_000));
    cluster.ahead[0] = Micros::seconds(11);
    cluster.ahead[0] = Micros::ZERO;
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
}

#[test]
fn a_monotonic_expiry_does_not_heed_the_wall_clock() {
    let mut cluster = Cluster::single(|settings| settings.expiry_clock = ExpiryClock::Monotonic);
    cluster.run(take(0, 10_000));
    cluster.ahead[0] = Micros::seconds(3600);
    assert!(!cluster.is_due(0));
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    cluster.ahead[0] = -Micros::seconds(3600);
    cluster.pass(Micros::seconds(11));
    assert!(cluster.is_due(0));
    assert_eq!(cluster.lock(0), None);
}

#[test]
fn a_set_without_a_time_to_live_drops_the_one_before() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(take(0, 10));
    cluster.run(set(LOCK, token(0, 2)));
    cluster.pass(Micros::seconds(1));
    assert_eq!(cluster.lock(0), Some(token(0, 2)));
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
}

#[test]
fn counting_keeps_the_time_to_live() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(Command::Incr(COUNTER));
    assert_eq!(cluster.run(Command::PExpire(COUNTER, Millis(10))), Outcome::Integer(1));
    assert_eq!(cluster.run(Command::Incr(COUNTER)), Outcome::Integer(2));
    cluster.pass(Micros::seconds(1));
    assert_eq!(cluster.run(Command::Incr(COUNTER)), Outcome::Integer(1));
}

#[test]
fn an_expiry_that_has_come_deletes_and_none_is_found_for_an_absent_key() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(take(0, 10));
    assert_eq!(cluster.run(Command::PExpire(LOCK, Millis(0))), Outcome::Integer(1));
    assert_eq!(cluster.contents(0), [""; 0]);
    assert_eq!(cluster.run(Command::PExpire(LOCK, Millis(1_000))), Outcome::Integer(0));
    cluster.run(take(0, 10));
    assert_eq!(
        cluster.run(Command::CompareAndExtend { key: LOCK, value: token(0, 1), ttl: Millis(-1) }),
        Outcome::Integer(1)
    );
    assert_eq!(cluster.lock(0), None);
}

#[test]
fn a_set_whose_time_to_live_is_over_changes_nothing() {
    let mut cluster = Cluster::single(|_| {});
    assert_eq!(cluster.run(take(0, 0)), Outcome::Error(ServerError::NotAnInteger));
    cluster.run(take(1, 10));
    assert_eq!(cluster.run(take(0, -5)), Outcome::Error(ServerError::NotAnInteger));
    assert_eq!(cluster.lock(0), Some(token(1, 1)));
}

#[test]
fn a_death_is_reported_when_it_comes_whatever_other_timer_runs() {
    let mut cluster = Cluster::single(|settings| settings.persistence = Persistence::AofEverySecond);
    cluster.run(take(0, 10));
    cluster.pass(Micros::millis(10));
    assert!(!cluster.is_due(0), "the key lives through its last millisecond, and the sync comes later");
    cluster.pass(Micros::millis(1));
    cluster.run_deadlines();
    assert_eq!(cluster.events, [gone(0, 0)]);
    assert_eq!(cluster.lock(0), None);
}

#[test]
fn a_key_is_told_as_decided_alone_where_one_server_alone_decides() {
    let acquired = |servers: u8, layout| {
        let settings = Settings { layout, ..Settings::default() };
        let mut server = Redis::new(0, servers, &settings);
        let mut effects = Effects::default();
        let cx = Context {
            me: 0,
            servers,
            wall: crate::time::Wall(1),
            monotonic: Monotonic(1),
            choice: 0,
            settings: &settings,
        };
        server.on_request(1, Request { serial: 1, command: take(1, 10), wait: false }, &cx, &mut effects);
        effects.changes.contains(&Change::Came { key: LOCK, value: token(1, 1), alone: true })
    };
    let replicated = Layout::Replicated { ping_period: Micros::seconds(1), down_after: Micros::seconds(5) };
    assert!(acquired(1, Layout::Independent) && acquired(2, replicated));
    assert!(!acquired(3, Layout::Independent), "one of three decides nothing");
}
