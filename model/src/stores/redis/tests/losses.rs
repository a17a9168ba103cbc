//! When a record counts as gone.

use super::cluster::Cluster;
use super::*;

fn holding() -> Cluster {
    let mut cluster = Cluster::single(|_| {});
    assert_eq!(cluster.run(take(0, 10_000)), Outcome::Ok);
    cluster
}

#[test]
fn a_record_that_expires_is_gone_once_by_deadline_or_by_request() {
    for by_deadline in [true, false] {
        let mut cluster = holding();
        cluster.pass(Micros::seconds(11));
        if by_deadline {
            cluster.run_deadlines();
        }
        cluster.lock(0);
        cluster.run_deadlines();
        assert_eq!(cluster.events, [gone(0, 0)]);
    }
}

#[test]
fn what_its_signer_does_to_a_record_is_no_loss() {
    let extend = |ttl| Command::CompareAndExtend { key: LOCK, value: token(0, 1), ttl: Millis(ttl) };
    for own in [
        release(0),
        Command::Del(LOCK),
        set(LOCK, token(0, 2)),
        Command::PExpire(LOCK, Millis(0)),
        Command::PExpire(LOCK, Millis(5_000)),
        extend(5_000),
        extend(0),
        Command::ExtendOrCreate { key: LOCK, value: token(0, 1), ttl: Millis(5_000) },
    ] {
        let mut cluster = holding();
        cluster.run(own.clone());
        cluster.events.retain(|event| matches!(event, Event::RecordGone { .. }));
        assert_eq!(cluster.events, [], "{own}");
    }
}

#[test]
fn a_record_is_written_anew_by_whoever_names_its_value_and_prolongs_it() {
    let written = Event::RecordWritten { client: ClientId(0), lock: LockId(0) };
    let extend = |value, ttl| Command::CompareAndExtend { key: LOCK, value, ttl: Millis(ttl) };
    let create = |value| Command::ExtendOrCreate { key: LOCK, value, ttl: Millis(5_000) };
    for (command, told) in [
        (extend(token(0, 1), 5_000), &[written][..]),
        (create(token(0, 1)), &[written]),
        (extend(token(0, 2), 5_000), &[]),
        (create(token(0, 2)), &[]),
        (Command::PExpire(LOCK, Millis(5_000)), &[]),
        (extend(token(0, 1), 0), &[]),
    ] {
        let mut cluster = holding();
        cluster.run(command.clone());
        assert_eq!(cluster.events, told, "{command}");
    }
}

#[test]
fn what_another_client_does_to_a_record_is_a_loss() {
    for other in [
        Command::Del(LOCK),
        set(LOCK, token(1, 1)),
        Command::PExpire(LOCK, Millis(0)),
        Command::CompareAndDelete { key: LOCK, value: token(0, 1) },
        Command::FlushAll,
    ] {
        let mut cluster = holding();
        cluster.ask(0, 1, other.clone());
        assert_eq!(cluster.events, [gone(0, 0)], "{other}");
    }
}

#[test]
fn what_changes_nothing_is_no_loss() {
    let ttl = Millis(5_000);
    for other in [
        take(1, 5_000),
        release(1),
        Command::PExpire(LOCK, ttl),
        Command::CompareAndExtend { key: LOCK, value: token(1, 1), ttl: Millis(0) },
        Command::ExtendOrCreate { key: LOCK, value: token(1, 1), ttl },
        Command::SetAndIncr { key: LOCK, value: token(1, 1), ttl: Some(ttl), counter: COUNTER },
        Command::Incr(LOCK),
        Command::Get(LOCK),
    ] {
        let mut cluster = holding();
        cluster.ask(0, 1, other.clone());
        assert_eq!(cluster.events, [], "{other}");
    }
}

#[test]
fn counters_and_other_peoples_keys_are_no_records() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(set(FOREIGN, token(0, 1)));
    cluster.run(set(LOCK, Value::Integer(3)));
    cluster.run(Command::Incr(COUNTER));
    cluster.ask(0, 1, Command::FlushAll);
    assert_eq!(cluster.events, []);
}

#[test]
fn a_flush_is_a_loss_whoever_asked_for_it() {
    let mut cluster = holding();
    cluster.run(Command::FlushAll);
    assert_eq!(cluster.events, [gone(0, 0)]);
}

#[test]
fn a_memory_that_is_lost_is_a_loss_at_the_restart() {
    let mut cluster = holding();
    cluster.restart(0, false);
    assert_eq!(cluster.events, [gone(0, 0)]);
}

#[test]
fn a_record_that_died_while_the_server_was_down_is_gone_once() {
    let mut cluster = holding();
    cluster.settings.persistence = Persistence::AofAlways;
    cluster.pass(Micros::seconds(11));
    cluster.restart(0, true);
    cluster.lock(0);
    assert_eq!(cluster.events, [gone(0, 0)]);
}

#[test]
fn a_power_loss_reports_what_it_lost_and_not_what_it_brought_back() {
    let mut cluster = Cluster::single(|settings| settings.persistence = Persistence::AofEverySecond);
    cluster.run(take(0, 1_500));
    cluster.live(1);
    cluster.run(release(0));
    cluster.ask(0, 1, take(1, 10_000));
    cluster.restart(0, true);
    assert_eq!(cluster.events, [gone(1, 0)]);
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
    // Expired and reported before the power loss, back from the disk, expired there: one loss.
    cluster.live(1);
    assert_eq!(cluster.events, [gone(1, 0), gone(0, 0)]);
    cluster.restart(0, true);
    assert_eq!(cluster.lock(0), None);
    assert_eq!(cluster.events, [gone(1, 0), gone(0, 0)]);
}
