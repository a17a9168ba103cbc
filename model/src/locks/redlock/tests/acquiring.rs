//! Steps 1 to 4.

use super::*;

#[test]
fn nodes_are_asked_one_after_the_other() {
    let mut client = Client::new(3, Settings::as_written());
    client.acquire(Mode::Lock);
    assert_eq!(client.sent_set(), [0]);
    client.reply(0, Outcome::Ok);
    assert_eq!(client.sent_set(), [1]);
    client.reply(1, Outcome::Nil);
    assert_eq!(client.sent_set(), [2]);
    assert_eq!(client.out.answer, None, "step 2 ends when all have been asked");
    client.reply(2, Outcome::Ok);
    assert_eq!(client.out.answer, Some(Answer::Granted { fence: None }));
    assert_eq!(client.out.events, [Event::Secured { client: ClientId(0), servers: set(&[0, 2]) }]);
    assert_eq!(client.deadline(), at(VALIDITY_MILLIS));
}

#[test]
fn all_nodes_are_asked_at_once_when_multiplexed() {
    let mut client = Client::new(5, Settings::multiplexed());
    client.acquire(Mode::Lock);
    let command = Command::Set {
        key: lock_key(LockId(0)),
        value: signature(1),
        if_absent: true,
        ttl: Some(Millis(10_000)),
    };
    assert_eq!(client.sent_to_all(), Some(command));
    assert_eq!(client.deadline(), at(50));
}

#[test]
fn a_grant_needs_more_than_half_of_the_nodes() {
    for (servers, yes, granted) in
        [(1, 1, true), (2, 1, false), (3, 1, false), (3, 2, true), (4, 2, false), (4, 3, true), (5, 3, true)]
    {
        let mut client = Client::new(servers, Settings::multiplexed());
        client.acquire(Mode::TryLock);
        for server in 0..servers {
            client.reply(server, if server < yes { Outcome::Ok } else { Outcome::Nil });
        }
        assert_eq!(client.is_granted(), granted, "{yes} of {servers}");
    }
}

#[test]
fn a_majority_that_comes_when_the_validity_is_over_is_none() {
    for (millis, granted) in [(VALIDITY_MILLIS - 1, true), (VALIDITY_MILLIS, false)] {
        let mut client = Client::new(1, Settings { node_timeout: None, ..Settings::as_written() });
        client.acquire(Mode::TryLock);
        client.now = Micros::millis(millis);
        client.reply(0, Outcome::Ok);
        assert_eq!(client.is_granted(), granted, "{millis} ms");
    }
}

#[test]
fn the_margin_shortens_the_validity() {
    let settings = Settings { drift_margin: Micros::seconds(4), ..Settings::as_written() };
    let client = Client::holding(3, settings, Micros::millis(1));
    assert_eq!(client.deadline(), at(6_000));
}

#[test]
fn only_whole_milliseconds_of_the_lifetime_count() {
    let settings =
        Settings { ttl: Some(Micros(2_000_999)), drift_margin: Micros::ZERO, ..Settings::as_written() };
    let mut client = Client::new(1, settings);
    client.acquire(Mode::Lock);
    assert_eq!(redis_keys::WORDS.fill_in(&client.sent()[0].1.to_string()), "SET lock A#1 NX PX 2000");
    client.reply(0, Outcome::Ok);
    assert_eq!(client.deadline(), at(2_000));
}

#[test]
fn without_a_lifetime_there_is_no_validity() {
    let mut client = Client::new(1, Settings { ttl: None, node_timeout: None, ..Settings::as_written() });
    client.acquire(Mode::Lock);
    assert_eq!(redis_keys::WORDS.fill_in(&client.sent()[0].1.to_string()), "SET lock A#1 NX");
    client.now = Micros::seconds(1_000_000);
    client.reply(0, Outcome::Ok);
    assert!(client.is_granted());
    assert_eq!(client.deadline(), None);
}

#[test]
fn counted_from_the_replies_a_late_majority_is_granted() {
    let settings =
        Settings { validity_from: ValidityFrom::Replies, node_timeout: None, ..Settings::as_written() };
    let mut client = Client::new(1, settings);
    client.acquire(Mode::Lock);
    client.now = Micros::seconds(60);
    client.reply(0, Outcome::Ok);
    assert!(client.is_granted());
    assert_eq!(client.deadline(), at(60_000 + VALIDITY_MILLIS));
}

#[test]
fn the_wall_clock_set_back_makes_a_late_majority_seem_early() {
    for (elapsed_clock, granted) in [(ElapsedClock::Wall, true), (ElapsedClock::Monotonic, false)] {
        let settings = Settings { elapsed_clock, node_timeout: None, ..Settings::as_written() };
        let mut client = Client::new(1, settings);
        client.acquire(Mode::TryLock);
        client.now = Micros::seconds(20);
        client.wall_offset = Micros::seconds(-15);
        client.reply(0, Outcome::Ok);
        assert_eq!(client.is_granted(), granted, "{elapsed_clock:?}");
    }
}

#[test]
fn measured_by_the_wall_clock_the_validity_ends_by_the_wall_clock() {
    let settings = Settings { elapsed_clock: ElapsedClock::Wall, ..Settings::as_written() };
    let mut client = Client::holding(3, settings, Micros::millis(1));
    assert_eq!(client.deadline(), Some(Due::Wall(Wall(Micros::millis(VALIDITY_MILLIS).0))));
    client.now = Micros::millis(VALIDITY_MILLIS);
    client.wall_offset = Micros::seconds(-1);
    client.wake();
    assert_eq!(client.out.answer, None);
    client.now = Micros::millis(VALIDITY_MILLIS + 1_000);
    client.wake();
    assert_eq!(client.out.answer, Some(Answer::Lost));
}

#[test]
fn the_next_node_is_asked_when_one_does_not_answer_in_time() {
    let mut client = Client::new(3, Settings::as_written());
    client.acquire(Mode::Lock);
    assert_eq!(client.deadline(), at(50));
    client.sleep();
    assert_eq!(client.sent_set(), [1]);
    assert_eq!(client.deadline(), at(100));
    client.reply(1, Outcome::Ok);
    client.reply(2, Outcome::Ok);
    assert!(client.is_granted());
    assert_eq!(client.out.events, [Event::Secured { client: ClientId(0), servers: set(&[1, 2]) }]);
}

#[test]
fn asked_at_once_all_silent_nodes_are_given_up_together() {
    let mut client = Client::new(3, Settings::multiplexed());
    client.acquire(Mode::TryLock);
    client.reply(2, Outcome::Ok);
    client.sleep();
    assert_eq!(client.out.answer, Some(Answer::Refused));
}

#[test]
fn a_late_answer_is_dismissed() {
    let mut client = Client::new(3, Settings::as_written());
    client.acquire(Mode::Lock);
    let late = client.serial();
    client.sleep();
    assert!(client.lock.dismisses(&Reply { serial: late, outcome: Outcome::Ok }));
    let before = client.lock.clone();
    client.reply_to(late, 0, Outcome::Ok);
    assert_eq!(client.lock, before);
    client.reply(1, Outcome::Ok);
    client.reply(2, Outcome::Nil);
    assert!(!client.is_granted(), "the late yes would have made a majority");
}

#[test]
fn a_second_copy_of_an_answer_is_not_another_vote() {
    let mut client = Client::new(3, Settings::multiplexed());
    client.acquire(Mode::Lock);
    client.reply(0, Outcome::Ok);
    let before = client.lock.clone();
    client.reply(0, Outcome::Ok);
    assert_eq!(client.lock, before);
}

#[test]
fn without_time_outs_a_silent_node_is_waited_for_for_ever() {
    for contact in [Contact::InTurn, Contact::AtOnce] {
        let settings = Settings { contact, node_timeout: None, ..Settings::as_written() };
        let mut client = Client::new(3, settings);
        client.acquire(Mode::Lock);
        assert_eq!(client.deadline(), None, "{contact:?}");
    }
}

#[test]
fn a_majority_settles_early_if_it_may() {
    for (settles, granted) in [(Settles::Majority, true), (Settles::All, false)] {
        for contact in [Contact::InTurn, Contact::AtOnce] {
            let mut client = Client::new(3, Settings { settles, contact, ..Settings::as_written() });
            client.acquire(Mode::Lock);
            client.reply(0, Outcome::Ok);
            client.reply(1, Outcome::Ok);
            assert_eq!(client.is_granted(), granted, "{settles:?}, {contact:?}");
        }
    }
}

#[test]
fn a_majority_of_no_settles_early_if_it_may() {
    let mut client = Client::new(3, Settings { settles: Settles::Majority, ..Settings::as_written() });
    client.acquire(Mode::TryLock);
    client.reply(0, Outcome::Nil);
    assert_eq!(client.out.answer, None);
    client.sleep();
    assert_eq!(client.out.answer, Some(Answer::Refused));
}

#[test]
fn a_tie_never_settles_where_only_a_majority_does() {
    for contact in [Contact::InTurn, Contact::AtOnce] {
        let settings = Settings { settles: Settles::Majority, contact, ..Settings::as_written() };
        let mut client = Client::new(2, settings);
        client.acquire(Mode::Lock);
        client.reply(0, Outcome::Ok);
        client.reply(1, Outcome::Nil);
        assert_eq!(client.out.answer, None);
        assert_eq!(client.deadline(), None, "{contact:?}");
        assert!(client.sent().is_empty());
    }
}

#[test]
fn a_tie_settles_where_all_do() {
    let mut client = Client::new(2, Settings::as_written());
    client.acquire(Mode::TryLock);
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Nil);
    assert_eq!(client.out.answer, Some(Answer::Refused));
}

#[test]
fn the_error_of_a_minority_does_no_harm() {
    let mut client = Client::new(3, Settings::as_written());
    client.acquire(Mode::TryLock);
    client.reply(0, OUT_OF_MEMORY);
    client.reply(1, Outcome::Ok);
    client.reply(2, Outcome::Ok);
    assert!(client.is_granted());
}

#[test]
fn the_error_of_a_minority_fails_the_attempt_where_it_escapes() {
    let settings = Settings { minority_error_fails: true, ..Settings::multiplexed() };
    let mut client = Client::new(3, settings);
    client.acquire(Mode::TryLock);
    client.reply(0, Outcome::Ok);
    client.reply(1, OUT_OF_MEMORY);
    assert_eq!(client.out.answer, Some(Answer::Refused));
    client.acquire(Mode::TryLock);
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Ok);
    client.sleep();
    assert_eq!(client.out.answer, Some(Answer::Refused), "a time-out is an error too");
    client.acquire(Mode::TryLock);
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Nil);
    client.reply(2, Outcome::Ok);
    assert!(client.is_granted(), "a no is no error");
}

#[test]
fn a_grant_carries_the_largest_counter_of_its_quorum() {
    let settings = Settings { fencing: true, ..Settings::multiplexed() };
    let mut client = Client::new(3, settings);
    client.acquire(Mode::Lock);
    let px = Some(Millis(10_000));
    let command = Command::SetAndIncr {
        key: lock_key(LockId(0)),
        value: signature(1),
        ttl: px,
        counter: counter_key(LockId(0)),
    };
    assert_eq!(client.sent_to_all(), Some(command));
    client.reply(0, Outcome::Integer(6));
    client.reply(1, Outcome::Nil);
    client.reply(2, Outcome::Integer(2));
    assert_eq!(client.out.answer, Some(Answer::Granted { fence: Some(FencingToken(6)) }));
}

#[test]
fn the_largest_counter_of_a_later_quorum_may_be_smaller() {
    let token_of = |answers: [Option<i64>; 5]| {
        let mut client = Client::new(5, Settings { fencing: true, ..Settings::multiplexed() });
        client.acquire(Mode::Lock);
        for (server, number) in (0..).zip(answers) {
            client.reply(server, number.map_or(Outcome::Nil, Outcome::Integer));
        }
        match client.out.answer {
            Some(Answer::Granted { fence: Some(token) }) => token,
            other => panic!("not granted: {other:?}"),
        }
    };
    let earlier = token_of([Some(6), Some(1), Some(1), None, None]);
    // The node in the middle took part in the earlier grant, and has counted on.
    let later = token_of([None, None, Some(2), Some(1), Some(1)]);
    assert!(later < earlier);
}
