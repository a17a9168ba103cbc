//! Persistence, crashes, the delay after a restart.

use super::cluster::Cluster;
use super::*;

fn with(persistence: Persistence) -> Cluster {
    Cluster::single(|settings| settings.persistence = persistence)
}

#[test]
fn without_persistence_every_crash_loses_everything() {
    for power_lost in [false, true] {
        let mut cluster = with(Persistence::None);
        cluster.run(take(0, 10_000));
        cluster.live(5);
        cluster.restart(0, power_lost);
        assert_eq!(cluster.lock(0), None);
    }
}

#[test]
fn the_end_of_the_process_costs_nothing_with_an_aof() {
    for persistence in [Persistence::AofEverySecond, Persistence::AofAlways] {
        let mut cluster = with(persistence);
        cluster.run(take(0, 10_000));
        cluster.restart(0, false);
        assert_eq!(cluster.lock(0), Some(token(0, 1)));
    }
}

#[test]
fn an_aof_that_is_always_synced_survives_a_power_loss() {
    let mut cluster = with(Persistence::AofAlways);
    cluster.run(take(0, 10_000));
    assert_eq!(cluster.servers[0].keys.sync_due(), None);
    cluster.restart(0, true);
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
}

#[test]
fn an_aof_that_is_synced_every_second_loses_what_came_since() {
    let mut cluster = with(Persistence::AofEverySecond);
    cluster.run(take(0, 10_000));
    assert_eq!(cluster.contents(0), ["lock = A#1, dies at 10.001s", "unsynced"]);
    cluster.live(1);
    assert_eq!(cluster.contents(0), ["lock = A#1, dies at 10.001s"]);
    cluster.run(release(0));
    cluster.run(take(1, 10_000));
    cluster.restart(0, true);
    // The deletion is lost too: the lock is back in the hands of one who gave it up.
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    assert_eq!(cluster.servers[0].keys.sync_due(), None);
}

#[test]
fn what_the_process_left_to_the_operating_system_is_not_on_disk_yet() {
    let mut cluster = with(Persistence::AofEverySecond);
    cluster.run(take(0, 10_000));
    cluster.restart(0, false);
    assert!(cluster.contents(0).contains(&"unsynced".to_owned()));
    cluster.restart(0, true);
    assert_eq!(cluster.lock(0), None);
}

#[test]
fn a_server_at_rest_has_no_timer() {
    let mut cluster = with(Persistence::AofEverySecond);
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
    cluster.run(Command::Incr(COUNTER));
    assert!(cluster.servers[0].deadline(&cluster.settings).is_some());
    cluster.live(1);
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
    // Neither reading nor a command that changes nothing is written.
    cluster.run(Command::Get(COUNTER));
    cluster.run(release(0));
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
}

#[test]
fn keys_go_on_expiring_while_the_server_is_down() {
    for expiry_clock in [ExpiryClock::Wall, ExpiryClock::Monotonic] {
        let mut cluster = with(Persistence::AofAlways);
        cluster.settings.expiry_clock = expiry_clock;
        cluster.run(take(0, 10_000));
        cluster.run(Command::Incr(COUNTER));
        cluster.pass(Micros::seconds(11));
        cluster.restart(0, true);
        assert_eq!(cluster.contents(0), ["counter = 1"]);
    }
}

#[test]
fn a_restarted_server_answers_nothing_before_its_delay_is_over() {
    let mut cluster = with(Persistence::AofAlways);
    cluster.settings.restart_delay = Some(Micros::seconds(30));
    assert_eq!(cluster.run(take(0, 10_000)), Outcome::Ok);
    cluster.restart(0, false);
    let early = cluster.request(0, 1, take(1, 10_000), false);
    // What it has recovered dies meanwhile.
    cluster.live(29);
    let late = cluster.request(0, 1, take(1, 10_000), false);
    assert_eq!((cluster.outcome(early), cluster.outcome(late)), (None, None));
    cluster.live(2);
    assert_eq!(cluster.servers[0], Redis::new(0, 1, &cluster.settings), "nothing is left of the restart");
    assert_eq!(cluster.ask(0, 1, take(1, 10_000)), Outcome::Ok);
}

#[test]
fn a_server_opens_to_the_first_request_after_its_delay() {
    let mut cluster = with(Persistence::None);
    cluster.settings.restart_delay = Some(Micros::seconds(30));
    cluster.restart(0, false);
    cluster.pass(Micros::seconds(30));
    assert_eq!(cluster.run(take(0, 10_000)), Outcome::Ok);
    assert!(cluster.is_due(0));
    cluster.run_deadlines();
    assert_eq!(cluster.servers[0].closed_until, None);
}

#[test]
fn with_snapshots_only_the_end_of_the_process_loses_all_that_came_since_the_last_one() {
    for power_lost in [false, true] {
        let mut cluster = with(Persistence::Rdb);
        cluster.run(Command::Incr(COUNTER));
        // One change is saved after an hour, and no sooner.
        cluster.live(3600);
        assert_eq!(cluster.contents(0), ["counter = 1", "unsynced"]);
        cluster.live(1);
        assert_eq!(cluster.contents(0), ["counter = 1"]);
        cluster.run(Command::Incr(COUNTER));
        cluster.run(take(0, 10_000));
        cluster.live(5);
        cluster.restart(0, power_lost);
        assert_eq!(cluster.contents(0), ["counter = 1"]);
        assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
    }
}

#[test]
fn the_more_is_written_the_sooner_a_snapshot_is_taken() {
    for (changes, seconds) in [(99, 3601), (100, 301), (9_999, 301), (10_000, 61)] {
        let mut cluster = with(Persistence::Rdb);
        (0..changes).for_each(|_| _ = cluster.run(Command::Incr(COUNTER)));
        let due = cluster.servers[0].keys.sync_due().expect("there is something to save");
        let within = Micros::seconds(seconds)..Micros::seconds(seconds + 1);
        assert!(within.contains(&Micros(due.0)), "{changes} changes: {due:?}");
    }
}

#[test]
fn flushing_is_saved_at_once() {
    let mut cluster = with(Persistence::Rdb);
    cluster.run(Command::Incr(COUNTER));
    cluster.live(3601);
    cluster.run(Command::FlushAll);
    cluster.restart(0, true);
    assert_eq!(cluster.contents(0), [""; 0]);
}
