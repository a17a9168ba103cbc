//! Taking the lock, giving it back, fencing tokens, and a client that minds its validity.

use super::*;

fn set(serial: u32, ttl: Option<Millis>) -> Command {
    Command::Set { key: lock_key(LockId(0)), value: token(serial), if_absent: true, ttl }
}

fn compare_and_delete(serial: u32) -> Command {
    Command::CompareAndDelete { key: lock_key(LockId(0)), value: token(serial) }
}

const READ_ONLY: Outcome = Outcome::Error(ServerError::ReadOnly);
const OUT_OF_MEMORY: Outcome = Outcome::Error(ServerError::OutOfMemory);
const LOCK_CALL: Call = Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST };
const TRY_LOCK: Call = Call::Acquire { lock: LockId(0), mode: Mode::TryLock, access: Access::FIRST };

#[test]
fn a_free_key_is_set_with_nx_and_px_and_the_lock_is_granted() {
    let mut bench = Bench::new(WRITTEN);
    bench.call(LOCK_CALL);
    assert_eq!(bench.sent(), [(0, set(1, Some(Millis(10_000))), false)]);
    assert_eq!(bench.lock.line(), Line { listing: 0, number: 1 });
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.answer, Some(Answer::Granted { fence: None }));
    assert_eq!(bench.out.events, [secured(0)]);
    assert_eq!(bench.lock.line(), Line { listing: 0, number: 3 });
}

#[test]
fn a_ttl_is_sent_in_whole_milliseconds_and_without_one_the_key_stays_for_good() {
    for (ttl, px) in
        [(Some(Micros(1_500)), Some(Millis(1))), (Some(Micros::millis(7)), Some(Millis(7))), (None, None)]
    {
        let mut bench = Bench::new(Settings { ttl, ..WRITTEN });
        bench.call(LOCK_CALL);
        assert_eq!(bench.sent_to(0), set(1, px));
        assert_eq!(RedisSingle::lease(&bench.settings), ttl);
    }
}

#[test]
fn lock_waits_for_the_drawn_delay_and_asks_again_with_a_new_value() {
    let mut bench = Bench::new(WRITTEN);
    bench.call(LOCK_CALL);
    bench.choice = 3;
    bench.reply(Outcome::Nil);
    assert_eq!((bench.sent().len(), bench.out.answer), (0, None));
    assert_eq!(bench.deadline(), Some(millis(800)));
    bench.wake(millis(800));
    assert_eq!(bench.sent_to(0), set(2, Some(Millis(10_000))));
}

#[test]
fn try_lock_is_refused_when_the_key_is_there() {
    let mut bench = Bench::new(WRITTEN);
    bench.call(TRY_LOCK);
    bench.reply(Outcome::Nil);
    assert_eq!(bench.out.answer, Some(Answer::Refused));
    assert_eq!((bench.sent().len(), bench.deadline()), (0, None));
}

#[test]
fn an_unanswered_set_is_taken_back_where_it_was_sent_and_the_next_server_is_asked() {
    let mut bench = Bench::new(WRITTEN);
    bench.call(LOCK_CALL);
    assert_eq!(bench.deadline(), Some(seconds(1)));
    bench.wake(seconds(1));
    assert_eq!(bench.sent_to(0), compare_and_delete(1));
    bench.late_reply(1, Outcome::Ok);
    bench.late_reply(2, Outcome::Integer(1));
    bench.wake(millis(1_200));
    assert_eq!(bench.sent_to(1), set(3, Some(Millis(10_000))));
}

#[test]
fn an_unanswered_try_is_taken_back_and_refused() {
    let mut bench = Bench::new(WRITTEN);
    bench.call(TRY_LOCK);
    bench.wake(seconds(1));
    assert_eq!(bench.sent_to(0), compare_and_delete(1));
    assert_eq!(bench.out.answer, Some(Answer::Refused));
}

#[test]
fn a_failed_attempt_is_taken_back_by_comparison_however_a_release_deletes() {
    for release in [Release::CompareAndDelete, Release::Delete, Release::GetThenDelete] {
        let mut bench = Bench::new(Settings { release, waits_for_replicas: true, ..WRITTEN });
        bench.call(LOCK_CALL);
        bench.wake(seconds(1));
        assert_eq!(bench.sent(), [(0, compare_and_delete(1), false)]);
    }
}

#[test]
fn a_client_turns_away_from_a_replica_but_not_from_a_full_memory() {
    for (outcome, next) in [(READ_ONLY, 1), (OUT_OF_MEMORY, 0)] {
        let mut bench = Bench::new(WRITTEN);
        bench.call(LOCK_CALL);
        bench.reply(outcome);
        assert_eq!(bench.sent_to(0), compare_and_delete(1));
        bench.wake(millis(200));
        assert_eq!(bench.sent_to(next), set(3, Some(Millis(10_000))));
    }
}

#[test]
fn after_the_last_server_the_first_is_asked_again() {
    let mut bench = Bench::new(WRITTEN);
    bench.servers = 2;
    for (server, serial) in [(0, 1), (1, 3), (0, 5)] {
        bench.call(TRY_LOCK);
        assert_eq!(bench.sent_to(server), set(serial, Some(Millis(10_000))));
        bench.reply(READ_ONLY);
        assert_eq!(bench.out.answer, Some(Answer::Refused));
    }
}

#[test]
fn without_a_request_timeout_a_client_waits_for_ever() {
    let mut bench = Bench::new(Settings { request_timeout: None, ..WRITTEN });
    bench.call(LOCK_CALL);
    assert_eq!(bench.deadline(), None);
    bench.wake(seconds(1_000));
    assert_eq!(bench.sent().len(), 0);
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.answer, Some(Answer::Granted { fence: None }));
}

#[test]
fn a_release_compares_and_deletes_and_waits_for_the_answer() {
    let mut bench = Bench::holding(WRITTEN);
    bench.call(Call::Release);
    assert_eq!(bench.sent(), [(0, compare_and_delete(1), false)]);
    assert_eq!(bench.out.answer, None);
    assert_eq!(bench.lock.line(), Line { listing: 0, number: 4 });
    bench.reply(Outcome::Integer(1));
    assert_eq!(bench.out.answer, Some(Answer::Released));
    assert_eq!(bench.deadline(), None);
}

#[test]
fn a_plain_delete_asks_nobody_whose_key_it_is() {
    let mut bench = Bench::holding(Settings { release: Release::Delete, ..WRITTEN });
    bench.call(Call::Release);
    assert_eq!(bench.sent(), [(0, Command::Del(lock_key(LockId(0))), false)]);
    bench.reply(Outcome::Integer(0));
    assert_eq!(bench.out.answer, Some(Answer::Released));
}

#[test]
fn get_then_delete_deletes_after_it_saw_its_own_value() {
    let settings = Settings { release: Release::GetThenDelete, waits_for_replicas: true, ..WRITTEN };
    let mut bench = Bench::holding(settings);
    bench.call(Call::Release);
    assert_eq!(bench.sent(), [(0, Command::Get(lock_key(LockId(0))), false)]);
    bench.reply(Outcome::Bulk(token(1)));
    assert_eq!(bench.sent(), [(0, Command::Del(lock_key(LockId(0))), true)]);
    assert_eq!(bench.out.answer, None);
    bench.reply(Outcome::Integer(1));
    assert_eq!(bench.out.answer, Some(Answer::Released));
}

#[test]
fn get_then_delete_leaves_the_key_of_another_alone() {
    let another = Value::Token(Token { client: 1, serial: 1 });
    for outcome in [Outcome::Bulk(another), Outcome::Bulk(token(0)), Outcome::Nil] {
        let mut bench = Bench::holding(Settings { release: Release::GetThenDelete, ..WRITTEN });
        bench.call(Call::Release);
        bench.reply(outcome);
        assert_eq!((bench.sent().len(), bench.out.answer), (0, Some(Answer::Released)));
    }
}

#[test]
fn a_release_that_fails_is_not_repeated_and_the_next_server_is_asked_next_time() {
    for release in [Release::CompareAndDelete, Release::Delete, Release::GetThenDelete] {
        for failure in [None, Some(READ_ONLY)] {
            let mut bench = Bench::holding(Settings { release, ..WRITTEN });
            bench.call(Call::Release);
            match failure {
                None => bench.wake(seconds(1)),
                Some(error) => bench.reply(error),
            }
            assert_eq!((bench.sent().len(), bench.out.answer), (0, Some(Answer::Released)));
            bench.call(LOCK_CALL);
            assert!(matches!(bench.sent_to(1), Command::Set { .. }));
        }
    }
}

#[test]
fn a_token_drawn_with_the_grant_comes_from_the_same_script() {
    let mut bench = Bench::new(Settings { fencing: Fencing::WithGrant, ..WRITTEN });
    bench.call(LOCK_CALL);
    let script = Command::SetAndIncr {
        key: lock_key(LockId(0)),
        value: token(1),
        ttl: Some(Millis(10_000)),
        counter: counter_key(LockId(0)),
    };
    assert_eq!(bench.sent_to(0), script);
    bench.reply(Outcome::Integer(33));
    assert_eq!(bench.out.answer, Some(Answer::Granted { fence: Some(FencingToken(33)) }));
}

#[test]
fn a_token_drawn_after_the_grant_is_a_second_request() {
    let mut bench = Bench::new(Settings { fencing: Fencing::AfterGrant, ..WRITTEN });
    bench.call(LOCK_CALL);
    assert_eq!(bench.sent_to(0), set(1, Some(Millis(10_000))));
    bench.reply(Outcome::Ok);
    assert_eq!(bench.sent_to(0), Command::Incr(counter_key(LockId(0))));
    assert_eq!((bench.out.answer, bench.out.events.len()), (None, 0));
    assert_eq!(bench.lock.line(), Line { listing: 0, number: 2 });
    bench.reply(Outcome::Integer(7));
    assert_eq!(bench.out.answer, Some(Answer::Granted { fence: Some(FencingToken(7)) }));
    assert_eq!(bench.out.events, [secured(0)]);
}

#[test]
fn a_token_that_cannot_be_drawn_costs_the_lock() {
    for failure in [None, Some(OUT_OF_MEMORY)] {
        let mut bench = Bench::new(Settings { fencing: Fencing::AfterGrant, ..WRITTEN });
        bench.call(LOCK_CALL);
        bench.reply(Outcome::Ok);
        match failure {
            None => bench.wake(seconds(1)),
            Some(error) => bench.reply(error),
        }
        assert_eq!(bench.sent_to(0), compare_and_delete(1));
        assert_eq!((bench.out.answer, bench.out.events.len()), (None, 0));
        assert_eq!(bench.deadline(), Some(bench.now + WRITTEN.retry_delay));
    }
}

#[test]
fn with_wait_every_change_that_is_awaited_waits_for_the_replicas() {
    let extension = Extension { lead: Micros::seconds(5), times_max: 1, how: ExtendBy::CompareAndExtend };
    let settings = Settings {
        waits_for_replicas: true,
        fencing: Fencing::AfterGrant,
        extension: Some(extension),
        ..WRITTEN
    };
    let mut bench = Bench::new(settings);
    let waits = |bench: &Bench| matches!(bench.sent()[..], [(0, _, true)]);
    bench.call(LOCK_CALL);
    assert!(waits(&bench), "SET");
    bench.reply(Outcome::Ok);
    assert!(waits(&bench), "INCR");
    bench.reply(Outcome::Integer(1));
    bench.wake(seconds(5));
    assert!(waits(&bench), "the extension");
    bench.call(Call::Release);
    assert!(waits(&bench), "the release");
}

#[test]
fn as_written_a_client_never_looks_at_a_clock() {
    let mut bench = Bench::new(Settings { request_timeout: None, ..WRITTEN });
    bench.call(LOCK_CALL);
    bench.now = seconds(11);
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.answer, Some(Answer::Granted { fence: None }));
    assert_eq!(bench.deadline(), None);
}

/// TTL 10 s, margin 2 s, so that a grant counts for 8 s.
const MINDS: Settings = Settings {
    validity_margin: Some(Micros::seconds(2)),
    request_timeout: Some(Micros::seconds(20)),
    ..Settings::as_written()
};

#[test]
fn a_grant_that_settles_too_late_is_taken_back() {
    for (at, is_granted) in [(7_999, true), (8_000, false)] {
        for fencing in [Fencing::None, Fencing::AfterGrant] {
            let mut bench = Bench::new(Settings { fencing, ..MINDS });
            bench.call(LOCK_CALL);
            bench.now = millis(at);
            bench.reply(Outcome::Ok);
            if fencing == Fencing::AfterGrant {
                bench.reply(Outcome::Integer(1));
            }
            assert_eq!(bench.out.answer.is_some(), is_granted, "{fencing:?} at {at} ms");
            if !is_granted {
                assert_eq!(bench.sent_to(0), compare_and_delete(1));
                assert_eq!(bench.deadline(), Some(millis(at + 200)));
                assert_eq!(bench.out.events, []);
            }
        }
    }
}

#[test]
fn a_try_that_settles_too_late_is_taken_back_and_refused() {
    let mut bench = Bench::new(MINDS);
    bench.call(TRY_LOCK);
    bench.now = seconds(8);
    bench.reply(Outcome::Ok);
    assert_eq!((bench.sent_to(0), bench.out.answer), (compare_and_delete(1), Some(Answer::Refused)));
}

#[test]
fn validity_counts_from_just_before_the_set_was_sent() {
    let mut bench = Bench::new(MINDS);
    bench.call(LOCK_CALL);
    bench.now = seconds(3);
    bench.reply(Outcome::Ok);
    assert_eq!(bench.deadline(), Some(seconds(8)));
}

#[test]
fn a_holder_that_minds_its_validity_loses_the_lock_when_it_is_over_and_can_release_at_once() {
    let mut bench = Bench::holding(MINDS);
    bench.wake(millis(7_999));
    assert_eq!(bench.out.answer, None);
    bench.wake(seconds(8));
    assert_eq!((bench.out.answer, bench.deadline()), (Some(Answer::Lost), None));
    bench.call(Call::Release);
    assert_eq!(bench.sent_to(0), compare_and_delete(1));
}

#[test]
fn a_key_without_ttl_is_valid_for_good() {
    let mut bench = Bench::new(Settings { ttl: None, ..MINDS });
    bench.call(LOCK_CALL);
    bench.now = seconds(19);
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.answer, Some(Answer::Granted { fence: None }));
    assert_eq!(bench.deadline(), None);
}

#[test]
fn the_repaired_margin_is_a_hundredth_of_the_ttl_and_two_milliseconds() {
    let repaired = Settings::repaired();
    let hundredth = repaired.ttl.map(|ttl| Micros(ttl.0 / 100) + Micros::millis(2));
    assert_eq!(repaired.validity_margin, hundredth);
    assert_eq!(repaired.fencing, Fencing::WithGrant);
    assert_eq!(Bench::holding(repaired).deadline(), Some(millis(9_898)));
}
