//! Extensions (the Redlock article, *Distributed Locks with Redis*, "Повышаем доступность алгоритма: продлеваем блокировку").

use super::*;

const BY_COMPARISON: Extension =
    Extension { lead: Micros::seconds(3), times_max: 2, how: ExtendBy::CompareAndExtend };
const BY_CREATION: Extension = Extension { how: ExtendBy::ExtendOrCreate, ..BY_COMPARISON };

/// Goes on whatever the clock says.
const SLOPPY: Settings = Settings { extension: Some(BY_COMPARISON), ..Settings::as_written() };
/// TTL 10 s, margin 2 s, extended 3 s before that.
const MINDS: Settings = Settings {
    validity_margin: Some(Micros::seconds(2)),
    extension: Some(BY_COMPARISON),
    ..Settings::as_written()
};

const SCRIPT: Command = Command::CompareAndExtend {
    key: lock_key(LockId(0)),
    value: Value::Token(Token { client: 0, serial: 1 }),
    ttl: Millis(10_000),
};

#[test]
fn an_extension_is_sent_its_lead_before_the_end_with_the_margin_if_there_is_one() {
    for (settings, at) in [(SLOPPY, 7), (MINDS, 5)] {
        let mut bench = Bench::holding(settings);
        assert_eq!(bench.deadline(), Some(seconds(at)));
        bench.wake(seconds(at));
        assert_eq!(bench.sent_to(0), SCRIPT);
        assert_eq!(
            (bench.lock.line(), bench.lock.doing()),
            (Line { listing: 0, number: 3 }, "holds, extends")
        );
    }
}

#[test]
fn an_extension_that_succeeds_renews_the_lease_from_just_before_it_was_sent() {
    let mut bench = Bench::holding(MINDS);
    bench.wake(seconds(5));
    bench.now = seconds(6);
    bench.reply(Outcome::Integer(1));
    assert_eq!(bench.out.events, [secured(0), Event::Renewed { client: ClientId(0) }]);
    assert_eq!(bench.deadline(), Some(seconds(10)));
    bench.wake(seconds(10));
    assert_eq!(bench.sent_to(0), SCRIPT);
    bench.reply(Outcome::Integer(1));
    assert_eq!(bench.deadline(), Some(seconds(18)), "both extensions are used up: the end is next");
    bench.wake(seconds(18));
    assert_eq!(bench.out.answer, Some(Answer::Lost));
}

#[test]
fn a_client_that_does_not_mind_forgets_the_end_with_its_last_extension() {
    let mut bench = Bench::holding(SLOPPY);
    for at in [7, 14] {
        bench.wake(seconds(at));
        bench.reply(Outcome::Integer(1));
    }
    assert_eq!(bench.deadline(), None);
}

#[test]
fn only_a_client_that_minds_or_may_extend_again_remembers_what_the_end_will_be() {
    let once =
        |settings| Settings { extension: Some(Extension { times_max: 1, ..BY_COMPARISON }), ..settings };
    for (settings, remembers) in [(SLOPPY, true), (MINDS, true), (once(SLOPPY), false), (once(MINDS), true)] {
        let mut bench = Bench::holding(settings);
        bench.wake(bench.deadline().expect("an extension is due"));
        assert!(matches!(bench.lock.phase, Phase::Extends { end, .. } if end.is_some() == remembers));
    }
}

#[test]
fn no_extension_is_sent_without_a_ttl_or_if_none_is_allowed() {
    let none_allowed = Extension { times_max: 0, ..BY_COMPARISON };
    for settings in [Settings { ttl: None, ..SLOPPY }, Settings { extension: Some(none_allowed), ..SLOPPY }] {
        assert_eq!(Bench::holding(settings).deadline(), None);
    }
}

#[test]
fn a_client_that_minds_loses_a_lock_that_its_extension_finds_gone() {
    let by_creation = Settings { extension: Some(BY_CREATION), ..MINDS };
    for (settings, gone) in [(MINDS, Outcome::Integer(0)), (by_creation, Outcome::Nil)] {
        let mut bench = Bench::holding(settings);
        bench.wake(seconds(5));
        bench.reply(gone);
        assert_eq!((bench.out.answer, bench.out.events.len()), (Some(Answer::Lost), 0));
        bench.call(Call::Release);
        assert!(matches!(bench.sent_to(0), Command::CompareAndDelete { .. }));
    }
}

#[test]
fn a_client_that_does_not_mind_goes_on_without_its_lock_and_extends_no_more() {
    let mut bench = Bench::holding(SLOPPY);
    bench.wake(seconds(7));
    bench.reply(Outcome::Integer(0));
    assert_eq!((bench.out.answer, bench.out.events.len(), bench.deadline()), (None, 0, None));
    bench.call(Call::Release);
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn the_script_that_makes_the_key_anew_renews_a_lease_that_was_over() {
    let mut bench = Bench::holding(Settings { extension: Some(BY_CREATION), ..SLOPPY });
    bench.wake(seconds(60));
    assert_eq!(
        bench.sent_to(0),
        Command::ExtendOrCreate { key: lock_key(LockId(0)), value: token(1), ttl: Millis(10_000) }
    );
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.events, [secured(0), Event::Renewed { client: ClientId(0) }]);
    assert_eq!(bench.deadline(), Some(seconds(67)));
}

#[test]
fn a_client_that_minds_does_not_extend_a_lease_that_is_over() {
    let mut bench = Bench::holding(MINDS);
    bench.wake(seconds(60));
    assert_eq!((bench.sent().len(), bench.out.answer), (0, Some(Answer::Lost)));
}

#[test]
fn an_extension_that_succeeds_after_the_end_of_the_validity_does_not_count() {
    let mut bench = Bench::holding(MINDS);
    bench.wake(seconds(5));
    bench.now = seconds(8);
    bench.reply(Outcome::Integer(1));
    assert_eq!((bench.out.answer, bench.out.events.len()), (Some(Answer::Lost), 0));
}

#[test]
fn the_lease_ends_while_an_extension_is_under_way() {
    let mut bench = Bench::holding(Settings { request_timeout: None, ..MINDS });
    bench.wake(seconds(5));
    assert_eq!(bench.deadline(), Some(seconds(8)));
    bench.wake(seconds(8));
    assert_eq!(bench.out.answer, Some(Answer::Lost));
    bench.late_reply(2, Outcome::Integer(1));
}

#[test]
fn a_client_that_makes_lost_keys_anew_goes_on_past_its_validity_while_an_extension_may_come() {
    let mut bench = Bench::holding(Settings { extension: Some(BY_CREATION), ..MINDS });
    bench.wake(seconds(60));
    assert!(matches!(bench.sent_to(0), Command::ExtendOrCreate { .. }));
    assert_eq!((bench.out.answer, bench.deadline()), (None, Some(seconds(61))));
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.events, [secured(0), Event::Renewed { client: ClientId(0) }]);
    assert_eq!(bench.deadline(), Some(seconds(65)));
    bench.wake(seconds(65));
    bench.now = seconds(73);
    bench.reply(Outcome::Ok);
    assert_eq!(bench.out.answer, Some(Answer::Lost), "the new validity is over too");
}

#[test]
fn a_client_that_makes_lost_keys_anew_stops_when_none_of_its_extensions_was_answered() {
    let mut bench = Bench::holding(Settings { extension: Some(BY_CREATION), ..MINDS });
    for at in [10, 11, 12] {
        bench.wake(seconds(at));
        assert_eq!(bench.out.answer, None);
    }
    assert_eq!(bench.deadline(), Some(seconds(8)));
    bench.wake(seconds(12));
    assert_eq!(bench.out.answer, Some(Answer::Lost));
}

#[test]
fn an_unanswered_extension_is_sent_again_at_once_to_the_next_server_while_there_are_any_left() {
    let mut bench = Bench::holding(SLOPPY);
    bench.wake(seconds(7));
    bench.wake(seconds(8));
    assert_eq!(bench.sent_to(1), SCRIPT);
    bench.wake(seconds(9));
    assert_eq!((bench.sent().len(), bench.out.answer, bench.deadline()), (0, None, None));
    bench.call(Call::Release);
    assert!(matches!(bench.sent_to(2), Command::CompareAndDelete { .. }));
}

#[test]
fn a_renewal_by_the_next_server_rests_on_that_server() {
    let mut bench = Bench::holding(SLOPPY);
    bench.wake(seconds(7));
    bench.wake(seconds(8));
    bench.reply(Outcome::Integer(1));
    assert_eq!(bench.out.events[0], secured(1));
}

#[test]
fn an_extension_that_met_an_error_is_sent_again_after_the_retry_delay() {
    let mut bench = Bench::holding(MINDS);
    bench.wake(seconds(5));
    bench.reply(Outcome::Error(ServerError::ReadOnly));
    assert_eq!((bench.sent().len(), bench.deadline()), (0, Some(millis(5_200))));
    bench.wake(millis(5_200));
    assert_eq!(bench.sent_to(1), SCRIPT);
    bench.reply(Outcome::Error(ServerError::OutOfMemory));
    assert_eq!(bench.deadline(), Some(seconds(8)), "none is left: the end is next");
}

#[test]
fn a_release_does_not_wait_for_the_extension_under_way() {
    let mut bench = Bench::holding(SLOPPY);
    bench.wake(seconds(7));
    bench.call(Call::Release);
    assert!(matches!(bench.sent_to(0), Command::CompareAndDelete { .. }));
    bench.late_reply(2, Outcome::Integer(1));
    bench.reply(Outcome::Integer(1));
    assert_eq!(bench.out.answer, Some(Answer::Released));
}
