//! The machine driven by hand: what it sends, and what it says to its application.

use super::*;
use crate::machine::{Message, Node};
use crate::time::Wall;
use picklock_properties::Access;

struct Bench {
    lock: RedisSemaphore,
    settings: Settings,
    now: Micros,
    out: Effects<Redis>,
}

impl Bench {
    fn new(settings: Settings) -> Bench {
        let lock = RedisSemaphore::new(0, &settings);
        Bench { lock, settings, now: Micros::ZERO, out: Effects::default() }
    }

    /// Enters the machine; what it sent, as the reader of a trace sees it.
    fn enter(&mut self, entry: impl FnOnce(&mut RedisSemaphore, &Cx, &mut Out)) -> Vec<String> {
        self.out.clear();
        self.now = self.now + Micros(1);
        let (wall, monotonic) = (Wall(self.now.0), Monotonic(self.now.0));
        let cx = Context { me: 0, servers: 1, wall, monotonic, choice: 0, settings: &self.settings };
        entry(&mut self.lock, &cx, &mut self.out);
        let told = |(to, message): &(Node, Message<Redis>)| match (to, message) {
            (Node::Server(0), Message::Request(request)) => {
                RedisSemaphore::WORDS.fill_in(&request.to_string())
            }
            other => panic!("it speaks to the first server, and asks: {other:?}"),
        };
        self.out.sends.iter().map(told).collect()
    }

    fn asks(&mut self, mode: Mode) -> Vec<String> {
        let call = Call::Acquire { lock: LockId(0), mode, access: Access::FIRST };
        self.enter(|lock, cx, out| lock.on_call(call, cx, out))
    }

    fn replies(&mut self, outcome: Outcome) -> Vec<String> {
        let serial = self.lock.serial;
        self.enter(|lock, cx, out| lock.on_reply(0, Reply { serial, outcome }, cx, out))
    }

    fn releases(&mut self) -> Vec<String> {
        self.enter(|lock, cx, out| lock.on_call(Call::Release, cx, out))
    }

    fn wakes(&mut self) -> Vec<String> {
        let Some(Due::Monotonic(Monotonic(at))) = self.lock.deadline(&self.settings) else {
            panic!("nothing is due")
        };
        self.now = Micros(at);
        self.enter(|lock, cx, out| lock.on_deadline(cx, out))
    }
}

const GRANTED: Option<Answer> = Some(Answer::Granted { fence: None });

#[test]
fn by_rank_the_entry_is_made_and_taken_back_if_it_stands_too_far_behind() {
    let mut bench = Bench::new(Settings::basic());
    let asked = "ZREMRANGEBYSCORE holders -inf 0.000001s; ZADD holders 10.000001s A#1; ZRANK holders A#1";
    assert_eq!(bench.asks(Mode::TryLock), [asked]);
    assert_eq!(bench.replies(Outcome::Integer(2)), ["ZREM holders A#1"]);
    assert_eq!(bench.out.answer, None);
    bench.replies(Outcome::Integer(1));
    assert_eq!(bench.out.answer, Some(Answer::Refused));
}

#[test]
fn by_counter_the_count_is_drawn_before_the_entry_is_made() {
    let mut bench = Bench::new(Settings::fair());
    let drawn = bench.asks(Mode::Lock);
    let purged = "ZREMRANGEBYSCORE holders -inf 0.000001s; ZINTERSTORE owners 2 owners holders WEIGHTS 1 0; INCR counter";
    assert_eq!(drawn, [purged]);
    let entered = bench.replies(Outcome::Integer(7));
    assert_eq!(entered, ["ZADD holders 10.000002s A#1; ZADD owners 7 A#1; ZRANK owners A#1"]);
    bench.replies(Outcome::Integer(1));
    assert_eq!(bench.out.answer, GRANTED);
    assert_eq!(bench.releases(), ["ZREM holders A#1; ZREM owners A#1"]);
}

#[test]
fn by_count_one_script_does_it_all_by_the_servers_clock() {
    let mut bench = Bench::new(Settings::repaired());
    let asked =
        "ZREMRANGEBYSCORE holders -inf TIME; stop unless ZCARD holders < 2; ZADD holders TIME + 10s A#1";
    assert_eq!(bench.asks(Mode::Lock), [asked]);
    bench.replies(Outcome::Nil);
    assert_eq!(bench.lock.doing(), "waiting");
    assert_eq!(bench.wakes(), [asked.replace("A#1", "A#2")]);
    bench.replies(Outcome::Integer(1));
    assert_eq!(bench.out.answer, GRANTED);
    assert_eq!(bench.releases(), ["ZREM holders A#2"]);
}

#[test]
fn an_outcome_that_is_unknown_is_taken_back() {
    let mut bench = Bench::new(Settings::fair());
    bench.asks(Mode::TryLock);
    assert_eq!(bench.wakes(), ["ZREM holders A#1; ZREM owners A#1"]);
    assert_eq!(bench.out.answer, Some(Answer::Refused));
}

#[test]
fn a_permit_that_comes_when_its_entry_is_over_is_none() {
    let mut bench = Bench::new(Settings { request_timeout: None, ..Settings::repaired() });
    bench.asks(Mode::TryLock);
    bench.now = Micros::seconds(10);
    assert_eq!(bench.replies(Outcome::Integer(1)), ["ZREM holders A#1"]);
    assert_eq!(bench.out.answer, Some(Answer::Refused));
}

#[test]
fn a_holder_is_told_to_stop_before_its_entry_is_over() {
    let mut bench = Bench::new(Settings::repaired());
    bench.asks(Mode::Lock);
    bench.replies(Outcome::Integer(1));
    assert!(bench.wakes().is_empty());
    assert_eq!(bench.out.answer, Some(Answer::Lost));
    assert!(bench.now < Micros::seconds(10));
}

#[test]
fn it_has_as_many_permits_as_its_settings_say() {
    assert_eq!(RedisSemaphore::modes(&Settings { permits: 3, ..Settings::basic() }), AccessModes::permits(3));
}
