//! The client library, and that its local lease is conservative.

use super::*;
use crate::stores::chubby::session::{
    Count, Here, NextKeepAlive, Notice, Notices, Session, SessionSettings, Unanswered,
};
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

const SETTINGS: SessionSettings = SessionSettings {
    lease: Some(LEASE),
    count: Count::FromSending,
    margin: Micros::ZERO,
    grace: Micros::seconds(45),
    next: NextKeepAlive::AtOnce,
    unanswered: Unanswered::InJeopardy(Micros::seconds(1)),
    request_timeout: Some(Micros::seconds(1)),
};

/// A client's library, and a clock that the test moves.
struct Client {
    session: Session,
    settings: SessionSettings,
    now: Monotonic,
    out: Out,
}

impl Client {
    fn new(settings: SessionSettings) -> Client {
        Client { session: Session::new(), settings, now: Monotonic(0), out: Effects::default() }
    }

    fn does<T>(&mut self, step: impl FnOnce(&mut Session, &Here, &mut Out) -> T) -> (T, Vec<Request>) {
        let Client { session, settings, now, out } = self;
        out.clear();
        let told = step(session, &Here { me: A, now: *now, settings }, out);
        let asked = |(_, message): &(Node, Message<Chubby>)| match message {
            Message::Request(request) => *request,
            other => panic!("a client only asks: {other:?}"),
        };
        (told, out.sends.iter().map(asked).collect())
    }

    fn hears(&mut self, reply: Reply) -> (Notices, Vec<Request>) {
        self.does(|session, here, out| session.on_reply(reply, here, out))
    }

    /// As long as nothing else happens, with everything that is due in between.
    fn waits(&mut self, length: Micros) -> (Notices, Vec<Request>) {
        let end = self.now + length;
        let mut all = (Notices::new(), Vec::new());
        while let Some(at) = self.session.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let (notices, requests) = self.does(|session, here, out| session.on_deadline(here, out));
            all.0.extend(notices);
            all.1.extend(requests);
        }
        self.now = end;
        all
    }

    /// Has a session since now, and the first KeepAlive under way.
    fn opened(settings: SessionSettings) -> (Client, Request) {
        let mut client = Client::new(settings);
        let ((), requests) = client.does(|session, here, out| session.open(here, out));
        let outcome = Outcome::Created { lease: settings.lease };
        let (notices, requests) = client.hears(Reply { serial: requests[0].serial, outcome });
        assert_eq!(notices[..], [Notice::Open]);
        (client, requests[0])
    }
}

#[test]
fn who_hears_nothing_is_in_jeopardy_when_its_local_lease_is_over_and_has_no_session_after_the_grace_period() {
    let (mut client, _) = Client::opened(SETTINGS);
    assert_eq!(client.waits(Micros::millis(11_999)).0[..], []);
    let (notices, requests) = client.waits(Micros::millis(1));
    assert_eq!(notices[..], [Notice::Jeopardy]);
    assert!(matches!(requests[..], [Request { operation: Operation::KeepAlive(_), .. }]));
    assert_eq!(client.waits(Micros::millis(44_999)).0[..], []);
    assert_eq!(client.waits(Micros::millis(1)).0[..], [Notice::Over]);
    assert_eq!(client.session.id(), None);
}

#[test]
fn in_jeopardy_calls_wait_and_are_made_when_a_keep_alive_is_answered() {
    let (mut client, _) = Client::opened(SETTINGS);
    let (_, requests) = client.waits(LEASE);
    let session = client.session.id().unwrap();
    let release = Operation::Release { handle: Handle { session, number: 9 }, lock: LOCK };
    let ((), asked) = client.does(|session, here, out| session.call(release, here, out));
    assert_eq!(asked, []);
    let (notices, asked) = client.hears(kept_alive(requests[0].serial, Micros::ZERO));
    assert_eq!(notices[..], [Notice::KeptAlive]);
    let operations: Vec<Operation> = asked.iter().map(|request| request.operation).collect();
    assert_eq!(operations, [Operation::KeepAlive(session), release]);
}

#[test]
fn an_answer_that_is_older_than_the_lease_it_tells_of_keeps_nothing_alive() {
    for (waits, kept) in [(LEASE - Micros(1), &[Notice::KeptAlive][..]), (LEASE, &[])] {
        for count in [Count::FromSending, Count::FromReply, Count::NotAtAll] {
            let (mut client, keep_alive) = Client::opened(SessionSettings { count, ..SETTINGS });
            client.waits(waits);
            let (notices, _) = client.hears(kept_alive(keep_alive.serial, Micros::ZERO));
            assert_eq!(notices[..], *kept, "{count:?}, after {waits}");
        }
    }
}

#[test]
fn an_older_masters_refusal_is_followed_by_the_same_requests_to_the_new_one() {
    let (mut client, keep_alive) = Client::opened(SETTINGS);
    let reply = Reply { serial: keep_alive.serial, outcome: Outcome::NewMaster { epoch: 1 } };
    let (notices, asked) = client.hears(reply);
    assert_eq!(notices[..], []);
    assert!(matches!(asked[..], [Request { epoch: 1, operation: Operation::KeepAlive(_), .. }]));
    assert!(client.session.dismisses(&reply));
}

#[test]
fn an_answer_to_a_keep_alive_that_was_said_again_meanwhile_is_an_answer() {
    let settings = SessionSettings { unanswered: Unanswered::After(Micros::seconds(4)), ..SETTINGS };
    let (mut client, first) = Client::opened(settings);
    let (_, again) = client.waits(Micros::seconds(4));
    assert_eq!(again.len(), 1);
    let (notices, asked) = client.hears(kept_alive(first.serial, Micros::seconds(3)));
    assert_eq!((&notices[..], &asked[..]), (&[Notice::KeptAlive][..], &[][..]));
    assert_eq!(client.session.safe_until(), Some(Monotonic(0) + Micros::seconds(15)));
    let (notices, asked) = client.hears(kept_alive(again[0].serial, Micros::ZERO));
    assert_eq!((&notices[..], asked.len()), (&[Notice::KeptAlive][..], 1));
}

/// TTL 12 s, renewed after 6, again every second (Consul's `RenewPeriodic`).
const PERIODIC: SessionSettings = SessionSettings {
    count: Count::NotAtAll,
    next: NextKeepAlive::After(Micros::seconds(6)),
    unanswered: Unanswered::WithinTtl(Micros::seconds(1)),
    ..SETTINGS
};

/// A session of this kind, with no KeepAlive sent yet.
fn opened_quietly(settings: SessionSettings) -> Client {
    let mut client = Client::new(settings);
    let ((), requests) = client.does(|session, here, out| session.open(here, out));
    let outcome = Outcome::Created { lease: settings.lease };
    let (notices, requests) = client.hears(Reply { serial: requests[0].serial, outcome });
    assert_eq!((&notices[..], &requests[..]), (&[Notice::Open][..], &[][..]));
    client
}

#[test]
fn a_renewer_gives_up_for_good_when_more_than_a_ttl_has_passed_since_the_last_answer() {
    let mut client = opened_quietly(PERIODIC);
    assert_eq!(client.waits(Micros::millis(5_999)).1, []);
    // After 6 s, and each second after that; at 12 s not more than the TTL has passed.
    let (notices, asked) = client.waits(Micros::millis(6_001));
    assert_eq!((&notices[..], asked.len()), (&[][..], 7));
    let (notices, asked) = client.waits(Micros::seconds(60));
    assert_eq!(
        (&notices[..], &asked[..]),
        (&[][..], &[][..]),
        "not another word, and the client is not told"
    );
    assert_eq!(client.session.deadline(), None);
    assert!(client.session.id().is_some());
    let goes_on = SessionSettings { unanswered: Unanswered::After(Micros::seconds(1)), ..PERIODIC };
    let mut client = opened_quietly(goes_on);
    assert_eq!(client.waits(Micros::seconds(72)).1.len(), 67);
}

#[test]
fn an_answer_within_the_ttl_begins_the_count_anew() {
    let mut client = opened_quietly(PERIODIC);
    let (_, asked) = client.waits(Micros::seconds(11));
    let (notices, _) = client.hears(kept_alive(asked.last().expect("several").serial, Micros::ZERO));
    assert_eq!(notices[..], [Notice::KeptAlive]);
    let (_, asked) = client.waits(Micros::seconds(12));
    assert_eq!(asked.len(), 7);
    assert_eq!(client.waits(Micros::seconds(60)).1, []);
}

/// Whether a client's local lease never outlasts the master's, whatever the messages take (in tenths of a second, there and back).
fn is_conservative(count: Count) -> bool {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&vec((0..30_i64, 0..30_i64), 1..10), |ways| {
        let tenths = |count: i64| Micros::millis(100 * count);
        let mut cell = Cell::new(Settings::CHUBBY);
        let mut client = Client::new(SessionSettings { count, ..SETTINGS });
        let ((), mut requests) = client.does(|session, here, out| session.open(here, out));
        for (there, back) in ways {
            let Some(request) = requests.pop() else { return Ok(()) };
            // The master answers now or later; the client's own time passes while it does, and nothing comes of it.
            cell.now = client.now + tenths(there);
            let mut replies = cell.hears(A, request.serial, request.operation);
            while replies.is_empty()
                && let Some(Due::Monotonic(at)) = cell.chubby.deadline(&cell.settings)
            {
                let length = at - cell.now;
                replies = cell.after(length);
            }
            let Some((_, reply)) = replies.pop() else { return Ok(()) };
            client.now = cell.now + tenths(back);
            (_, requests) = client.hears(reply);
            let there = cell.chubby.sessions.first().and_then(|session| session.lasts_until());
            if client.session.safe_until() > there {
                return Err(TestCaseError::fail("the client believes for longer than the master keeps"));
            }
        }
        Ok(())
    });
    outcome.is_ok()
}

#[test]
fn a_local_lease_is_over_before_the_masters_if_it_is_counted_from_the_sending() {
    assert!(is_conservative(Count::FromSending));
    assert!(!is_conservative(Count::FromReply));
}
