//! What the client does with what it is told, and when.

use super::*;
use crate::machine::Message;
use picklock_properties::Access;

const LOCK: LockId = LockId(0);
const FENCE: FencingToken = FencingToken(7);

/// One client, and a clock that the test moves.
struct Client {
    lock: FeedbackLock,
    settings: Settings,
    now: Monotonic,
    out: Out,
}

impl Client {
    fn new(settings: Settings) -> Client {
        let lock = FeedbackLock::new(0, &settings);
        Client { lock, settings, now: Monotonic(0), out: Effects::default() }
    }

    fn does(&mut self, step: impl FnOnce(&mut FeedbackLock, &Cx, &mut Out)) -> Vec<Request> {
        let cx = Context {
            me: 0,
            servers: 1,
            wall: crate::time::Wall(0),
            monotonic: self.now,
            choice: 0,
            settings: &self.settings,
        };
        self.out.clear();
        step(&mut self.lock, &cx, &mut self.out);
        let asked = |message: &Message<FeedbackStore>| match message {
            Message::Request(request) => *request,
            other => panic!("a client only asks: {other:?}"),
        };
        self.out.sends.iter().map(|(_, message)| asked(message)).collect()
    }

    fn calls(&mut self, mode: Mode) -> Vec<Request> {
        self.does(|lock, cx, out| {
            lock.on_call(Call::Acquire { lock: LOCK, mode, access: Access::FIRST }, cx, out)
        })
    }

    fn releases(&mut self) -> Vec<Request> {
        self.does(|lock, cx, out| lock.on_call(Call::Release, cx, out))
    }

    fn hears(&mut self, reply: Reply) -> Vec<Request> {
        self.does(|lock, cx, out| lock.on_reply(SERVER, reply, cx, out))
    }

    fn after(&mut self, length: Micros) -> Vec<Request> {
        self.now = self.now + length;
        self.does(|lock, cx, out| lock.on_deadline(cx, out))
    }

    fn holds(&self) -> bool {
        matches!(self.lock.phase, Phase::Holds { .. })
    }
}

fn enqueue(ticket: u32, serial: u32) -> Request {
    let lease = Settings::careful().lease;
    Request::Enqueue { lock: LOCK, ticket, serial, mode: Mode::Lock, lease }
}

fn keep(ticket: u32, serial: u32) -> Request {
    Request::Keep { ticket, serial, fence: FENCE }
}

fn granted(ticket: u32, heard: u32) -> Reply {
    Reply::Granted { ticket, heard: Some(heard), fence: FENCE }
}

#[test]
fn an_acquisition_costs_three_requests() {
    let mut client = Client::new(Settings::careful());
    assert_eq!(client.calls(Mode::Lock), [enqueue(1, 1)]);
    assert_eq!(client.hears(granted(1, 1)), [keep(1, 2)]);
    assert_eq!(client.out.answer, Some(Answer::Granted { fence: Some(FENCE) }));
    assert_eq!(client.releases(), [Request::Release { ticket: 1 }]);
    assert_eq!(client.hears(Reply::Released { ticket: 1 }), []);
    assert_eq!(client.out.answer, Some(Answer::Released));
}

#[test]
fn whoever_is_not_answered_asks_again_under_the_same_ticket() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    assert_eq!(client.after(Micros::seconds(1)), [enqueue(1, 2)]);
    // The first answer comes late, and says nothing of the second request.
    assert_eq!(client.hears(Reply::Queued { ticket: 1, serial: 1 }), []);
    assert_eq!(client.after(Micros::seconds(1)), [enqueue(1, 3)]);
}

#[test]
fn a_waiter_says_now_and_then_that_it_lives() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.hears(Reply::Queued { ticket: 1, serial: 1 });
    assert_eq!(client.after(Micros::seconds(9)), []);
    assert_eq!(client.after(Micros::seconds(1)), [enqueue(1, 2)]);
}

#[test]
fn a_push_that_comes_when_the_lease_may_be_over_is_not_taken_and_the_client_asks_where_it_stands() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.hears(Reply::Queued { ticket: 1, serial: 1 });
    // It was paused; its deadline has not been looked at.
    client.now = client.now + Micros::seconds(30);
    assert_eq!(client.hears(granted(1, 1)), [enqueue(1, 2)]);
    assert!(!client.holds());
    // It had the lock all the time.
    assert_eq!(client.hears(granted(1, 2)), [keep(1, 3)]);
    assert!(client.holds());
}

#[test]
fn a_client_that_does_not_look_at_its_lease_takes_the_late_push() {
    let mut client = Client::new(Settings { minds_lease: false, ..Settings::careful() });
    client.calls(Mode::Lock);
    client.hears(Reply::Queued { ticket: 1, serial: 1 });
    client.now = client.now + Micros::seconds(3000);
    client.hears(granted(1, 1));
    assert!(client.holds());
}

#[test]
fn a_push_is_as_good_as_the_lost_answer_to_what_it_has_heard() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.now = client.now + Micros::millis(900);
    client.hears(granted(1, 1));
    assert!(client.holds());
}

#[test]
fn a_push_after_a_request_that_the_store_has_not_heard_counts_on_nothing() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.after(Micros::seconds(1));
    // It may have been under way for any time since the first request.
    assert_eq!(client.hears(granted(1, 1)), []);
    assert!(!client.holds());
    client.hears(granted(1, 2));
    assert!(client.holds());
}

#[test]
fn a_holder_stops_when_its_lease_may_be_over_by_its_own_clock() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.hears(granted(1, 1));
    let almost = Settings::careful().end(Monotonic(0)).unwrap();
    client.now = Monotonic(almost.0 - 1);
    client.after(Micros::ZERO);
    assert_eq!(client.out.answer, None);
    client.after(Micros(1));
    assert_eq!(client.out.answer, Some(Answer::Lost));
    assert_eq!(client.releases(), [Request::Release { ticket: 1 }]);
}

#[test]
fn an_answered_sign_of_life_prolongs_from_when_it_was_sent() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.hears(granted(1, 1));
    client.now = client.now + Micros::millis(500);
    client.hears(Reply::Kept { ticket: 1, serial: 2 });
    assert_eq!(client.out.events, [Event::Renewed { client: ClientId(0) }]);
    assert_eq!(client.lock.valid_until, Settings::careful().end(Monotonic(0)));
}

#[test]
fn a_call_whose_place_is_gone_is_made_anew_by_a_waiter_and_ends_the_hold_of_a_holder() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.hears(Reply::Queued { ticket: 1, serial: 1 });
    assert_eq!(client.hears(Reply::Over { ticket: 1 }), [enqueue(2, 2)]);
    client.hears(granted(2, 2));
    assert!(client.holds());
    client.hears(Reply::Over { ticket: 1 });
    assert!(client.holds(), "that was the call before");
    client.hears(Reply::Over { ticket: 2 });
    assert_eq!(client.out.answer, Some(Answer::Lost));
}

#[test]
fn a_release_is_repeated_until_it_is_answered() {
    let mut client = Client::new(Settings::careful());
    client.calls(Mode::Lock);
    client.hears(granted(1, 1));
    client.releases();
    assert_eq!(client.after(Micros::seconds(1)), [Request::Release { ticket: 1 }]);
    assert_eq!(client.hears(granted(1, 1)), [], "it has been given up");
}

#[test]
fn who_is_refused_is_told_also_when_the_first_answer_was_lost() {
    for reply in [Reply::Refused { ticket: 1 }, Reply::Over { ticket: 1 }] {
        let mut client = Client::new(Settings::careful());
        client.calls(Mode::TryLock);
        client.after(Micros::seconds(1));
        client.hears(reply);
        assert_eq!(client.out.answer, Some(Answer::Refused));
    }
}
