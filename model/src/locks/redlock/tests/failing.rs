//! Step 5 and the next attempt.

use super::*;

/// A client whose attempt on three nodes has failed, two to one.
fn failed(settings: Settings, mode: Mode, choice: u32) -> Client {
    let mut client = Client::new(3, settings);
    client.acquire(mode);
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Nil);
    client.choice = choice;
    client.reply(2, Outcome::Nil);
    client.choice = 0;
    client
}

#[test]
fn a_failed_attempt_unlocks_all_nodes() {
    let client = failed(Settings::as_written(), Mode::TryLock, 0);
    assert_eq!(client.sent_to_all(), unlocking(1));
    assert_eq!(client.out.answer, Some(Answer::Refused));
}

#[test]
fn nodes_that_were_not_asked_are_unlocked_too() {
    let settings = Settings { settles: Settles::Majority, ..Settings::as_written() };
    let mut client = Client::new(3, settings);
    client.acquire(Mode::TryLock);
    client.reply(0, Outcome::Nil);
    client.reply(1, Outcome::Nil);
    assert_eq!(client.sent_to_all(), unlocking(1));
}

#[test]
fn an_early_return_leaves_the_keys_behind() {
    let settings = Settings { unlocks_after_failure: false, ..Settings::as_written() };
    let client = failed(settings, Mode::TryLock, 0);
    assert!(client.sent().is_empty());
    assert_eq!(client.out.answer, Some(Answer::Refused));
}

#[test]
fn a_majority_that_came_too_late_is_unlocked() {
    let mut client = Client::new(1, Settings { node_timeout: None, ..Settings::as_written() });
    client.acquire(Mode::TryLock);
    client.now = Micros::seconds(10);
    client.reply(0, Outcome::Ok);
    assert_eq!(client.sent_to_all(), unlocking(1));
    assert!(client.out.events.is_empty(), "nothing was secured");
}

#[test]
fn the_answers_to_unlocking_are_dismissed() {
    let client = failed(Settings::as_written(), Mode::Lock, 0);
    let serial = client.sent()[0].1.serial;
    assert!(client.lock.dismisses(&Reply { serial, outcome: Outcome::Integer(1) }));
}

#[test]
fn another_attempt_begins_after_a_random_delay() {
    for choice in 0..4 {
        let mut client = failed(Settings::as_written(), Mode::Lock, choice);
        assert_eq!(client.out.answer, None, "the call goes on");
        assert_eq!(client.deadline(), at(200 * (1 + i64::from(choice))));
        client.sleep();
        assert_eq!(client.sent_set(), [0]);
    }
}

#[test]
fn another_attempt_has_another_value_and_counts_from_its_own_start() {
    let mut client = failed(Settings { node_timeout: None, ..Settings::as_written() }, Mode::Lock, 3);
    client.sleep();
    let first = signature(1);
    assert!(matches!(client.sent()[0].1.command, Command::Set { value, .. } if value != first));
    for server in 0..3 {
        client.reply(server, Outcome::Ok);
    }
    assert_eq!(client.deadline(), at(800 + VALIDITY_MILLIS));
}

#[test]
fn a_delay_is_drawn_where_an_attempt_fails_and_nowhere_else() {
    let without_validity = Settings { ttl: None, ..Settings::as_written() };
    let mut client = Client::new(3, without_validity);
    assert_eq!(client.lock.choices(None, &client.settings), 1);
    client.acquire(Mode::Lock);
    assert_eq!(client.choices_on(Outcome::Nil), 1, "two more have to be heard");
    assert_eq!(client.lock.choices(None, &client.settings), 1, "two more have to be heard");
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Nil);
    assert_eq!(client.choices_on(Outcome::Nil), 4);
    assert_eq!(client.choices_on(OUT_OF_MEMORY), 4);
    assert_eq!(client.lock.choices(None, &client.settings), 4);
    assert_eq!(client.choices_on(Outcome::Ok), 1, "granted");
    let late = Reply { serial: client.serial() - 1, outcome: Outcome::Nil };
    assert_eq!(client.lock.choices(Some(&late), &client.settings), 1, "dismissed");
    client.reply(2, Outcome::Nil);
    assert_eq!(client.lock.choices(None, &client.settings), 1, "the delay has been drawn");
}

#[test]
fn nobody_draws_a_delay_who_does_not_wait() {
    let mut client = Client::new(1, Settings::as_written());
    client.acquire(Mode::TryLock);
    assert_eq!(client.choices_on(Outcome::Nil), 1);
    assert_eq!(client.lock.choices(None, &client.settings), 1);
}

#[test]
fn a_fixed_delay_is_not_drawn() {
    for retry_choices in [0, 1] {
        let mut client = Client::new(1, Settings { retry_choices, ..Settings::as_written() });
        client.acquire(Mode::Lock);
        assert_eq!(client.choices_on(Outcome::Nil), 1);
    }
}

#[test]
fn where_the_clock_decides_the_ways_to_go_are_equal_when_granted() {
    let mut client = Client::new(1, Settings::as_written());
    client.acquire(Mode::Lock);
    assert_eq!(client.choices_on(Outcome::Ok), 4);
    let ways: Vec<Redlock> = (0..4)
        .map(|choice| {
            let mut client = Client::new(1, Settings::as_written());
            client.acquire(Mode::Lock);
            client.choice = choice;
            client.reply(0, Outcome::Ok);
            assert!(client.is_granted());
            client.lock
        })
        .collect();
    assert!(ways.iter().all(|way| *way == ways[0]));
}

#[test]
fn a_time_out_draws_a_delay_when_all_silent_nodes_are_given_up() {
    let mut client = Client::new(3, Settings::multiplexed());
    client.acquire(Mode::Lock);
    client.reply(0, Outcome::Ok);
    assert_eq!(client.lock.choices(None, &client.settings), 4);
    let majority = Settings { settles: Settles::Majority, ..Settings::multiplexed() };
    let mut tied = Client::new(2, majority);
    tied.acquire(Mode::Lock);
    tied.reply(0, Outcome::Ok);
    assert_eq!(tied.lock.choices(None, &tied.settings), 1, "a tie settles nothing");
}

#[test]
fn a_client_that_starts_again_draws_other_values() {
    let mut client = Client::new(1, Settings::as_written());
    client.acquire(Mode::Lock);
    let before = client.sent()[0].1.clone();
    client.restart();
    assert_eq!(client.lock.doing(), "idle");
    assert_eq!(client.deadline(), None);
    assert!(client.lock.dismisses(&Reply { serial: before.serial, outcome: Outcome::Ok }));
    client.acquire(Mode::Lock);
    let after = client.sent()[0].1.clone();
    assert_ne!(before.command, after.command);
    assert_ne!(before.serial, after.serial);
}
