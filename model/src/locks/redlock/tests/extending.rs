//! "Продлеваем блокировку": three nodes, extended 3 s before the end.

use super::*;

const LEAD: Micros = Micros::seconds(3);
const BEGINS: i64 = VALIDITY_MILLIS - 3_000;

fn extending_by(how: ExtendBy) -> Settings {
    let extension = Extension { lead: LEAD, times_max: 2, how, validity_from: ValidityFrom::Start };
    Settings { extension: Some(extension), ..Settings::as_written() }
}

/// A client whose first extension is under way.
fn extending(settings: Settings) -> Client {
    let mut client = Client::holding(3, settings, Micros::millis(1));
    assert_eq!(client.deadline(), at(BEGINS));
    client.sleep();
    assert_eq!(client.lock.doing(), "holds, extending");
    client
}

fn as_written() -> Settings {
    extending_by(ExtendBy::CompareAndExtend)
}

#[test]
fn an_extension_prolongs_the_validity_from_its_own_start() {
    let mut client = extending(as_written());
    let ttl = Millis(10_000);
    assert_eq!(
        client.sent_to_all(),
        Some(Command::CompareAndExtend { key: lock_key(LockId(0)), value: signature(1), ttl })
    );
    client.now = Micros::millis(BEGINS + 20);
    client.reply(0, Outcome::Integer(1));
    client.reply(1, Outcome::Integer(0));
    assert!(client.out.events.is_empty());
    client.reply(2, Outcome::Integer(1));
    let me = ClientId(0);
    assert_eq!(
        client.out.events,
        [Event::Secured { client: me, servers: set(&[0, 2]) }, Event::Renewed { client: me }]
    );
    assert_eq!(client.deadline(), at(BEGINS + VALIDITY_MILLIS - 3_000));
}

#[test]
fn counted_from_its_replies_an_extension_promises_too_much() {
    let mut settings = as_written();
    settings.node_timeout = None;
    settings.extension =
        settings.extension.map(|extension| Extension { validity_from: ValidityFrom::Replies, ..extension });
    let mut client = extending(settings);
    client.now = Micros::millis(BEGINS + 2_000);
    for server in 0..3 {
        client.reply(server, Outcome::Integer(1));
    }
    assert_eq!(client.deadline(), at(BEGINS + 2_000 + VALIDITY_MILLIS - 3_000));
}

#[test]
fn an_extension_without_a_majority_leaves_the_old_validity() {
    let mut client = extending(as_written());
    client.reply(0, Outcome::Integer(1));
    client.reply(1, Outcome::Integer(0));
    client.sleep();
    assert!(client.out.events.is_empty());
    assert_eq!(client.deadline(), at(VALIDITY_MILLIS), "and there is no other extension");
    client.sleep();
    assert_eq!(client.out.answer, Some(Answer::Lost));
}

#[test]
fn an_error_is_no_yes() {
    let mut client = extending(as_written());
    client.reply(0, Outcome::Integer(1));
    client.reply(1, OUT_OF_MEMORY);
    client.reply(2, OUT_OF_MEMORY);
    assert_eq!(client.deadline(), at(VALIDITY_MILLIS));
}

#[test]
fn silent_nodes_do_not_hinder_a_majority() {
    let mut client = extending(as_written());
    client.reply(0, Outcome::Integer(1));
    client.reply(2, Outcome::Integer(1));
    assert_eq!(client.deadline(), at(BEGINS + 50));
    client.sleep();
    assert_eq!(client.out.events.last(), Some(&Event::Renewed { client: ClientId(0) }));
}

#[test]
fn extensions_are_bounded() {
    let mut client = Client::holding(3, as_written(), Micros::millis(1));
    let mut extensions = 0;
    loop {
        client.sleep();
        if client.out.answer == Some(Answer::Lost) {
            break;
        }
        extensions += 1;
        for server in 0..3 {
            client.reply(server, Outcome::Integer(1));
        }
    }
    assert_eq!(extensions, 2);
    assert_eq!(client.now, Micros::millis(2 * BEGINS + VALIDITY_MILLIS));
}

#[test]
fn the_validity_ends_though_an_extension_is_under_way() {
    let mut client = extending(Settings { node_timeout: None, ..as_written() });
    let serial = client.serial();
    client.reply(0, Outcome::Integer(1));
    assert_eq!(client.deadline(), at(VALIDITY_MILLIS));
    client.sleep();
    assert_eq!(client.out.answer, Some(Answer::Lost));
    assert!(client.lock.dismisses(&Reply { serial, outcome: Outcome::Integer(1) }));
}

#[test]
fn a_majority_that_is_prolonged_too_late_does_not_count() {
    let mut client = extending(Settings { node_timeout: None, ..as_written() });
    client.now = Micros::millis(VALIDITY_MILLIS);
    for server in 0..3 {
        client.reply(server, Outcome::Integer(1));
    }
    assert!(client.out.events.is_empty());
    client.wake();
    assert_eq!(client.out.answer, Some(Answer::Lost));
}

#[test]
fn who_does_not_mind_the_validity_does_not_extend_after_it_either() {
    let mut client =
        Client::holding(3, Settings { minds_validity: false, ..as_written() }, Micros::millis(1));
    assert_eq!(client.deadline(), at(BEGINS));
    client.now = Micros::millis(VALIDITY_MILLIS);
    client.wake();
    assert!(client.sent().is_empty());
    assert_eq!(client.deadline(), None);
}

#[test]
fn a_paused_holder_makes_its_lost_keys_again() {
    let mut client = Client::holding(3, extending_by(ExtendBy::ExtendOrCreate), Micros::millis(1));
    client.now = Micros::seconds(60);
    client.wake();
    assert_eq!(client.out.answer, None, "the old validity is not looked at");
    let ttl = Millis(10_000);
    assert_eq!(
        client.sent_to_all(),
        Some(Command::ExtendOrCreate { key: lock_key(LockId(0)), value: signature(1), ttl })
    );
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Nil);
    client.reply(2, Outcome::Ok);
    assert_eq!(client.out.events.last(), Some(&Event::Renewed { client: ClientId(0) }));
    assert_eq!(client.deadline(), at(60_000 + BEGINS));
}

#[test]
fn a_paused_holder_that_finds_other_keys_has_lost() {
    let mut client = Client::holding(3, extending_by(ExtendBy::ExtendOrCreate), Micros::millis(1));
    client.now = Micros::seconds(60);
    client.wake();
    for server in 0..3 {
        client.reply(server, Outcome::Nil);
    }
    client.wake();
    assert_eq!(client.out.answer, Some(Answer::Lost));
}

#[test]
fn a_paused_holder_of_the_source_has_lost_before_it_extends() {
    let mut client = Client::holding(3, as_written(), Micros::millis(1));
    client.now = Micros::seconds(60);
    client.wake();
    assert_eq!(client.out.answer, Some(Answer::Lost));
    assert!(client.sent().is_empty());
}

#[test]
fn a_release_does_not_wait_for_the_extension_under_way() {
    for how in [ExtendBy::CompareAndExtend, ExtendBy::ExtendOrCreate] {
        let mut client = extending(extending_by(how));
        let serial = client.serial();
        client.release();
        assert_eq!(client.out.answer, Some(Answer::Released));
        assert_eq!(client.sent_to_all(), unlocking(1));
        assert!(client.lock.dismisses(&Reply { serial, outcome: Outcome::Ok }), "{how:?}");
    }
}

#[test]
fn nothing_is_extended_that_does_not_end() {
    let client = Client::holding(3, Settings { ttl: None, ..as_written() }, Micros::millis(1));
    assert_eq!(client.deadline(), None);
}

#[test]
fn measured_by_the_wall_clock_the_extension_begins_and_times_out_by_it() {
    let settings = Settings { elapsed_clock: ElapsedClock::Wall, ..as_written() };
    let mut client = Client::holding(3, settings, Micros::millis(1));
    let wall = |millis: i64| Some(Due::Wall(Wall(Micros::millis(millis).0)));
    assert_eq!(client.deadline(), wall(BEGINS));
    client.now = Micros::millis(BEGINS);
    client.wake();
    assert_eq!(client.deadline(), wall(BEGINS + 50));
}
