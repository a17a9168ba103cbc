//! The machine driven by hand: what it sends, and what it says to its application.

use super::*;
use crate::machine::{Message, Node};
use crate::time::Wall;

struct Bench {
    lock: RedisReadersWriter,
    settings: Settings,
    now: Micros,
    out: Effects<Redis>,
}

impl Bench {
    fn new(settings: Settings) -> Bench {
        let lock = RedisReadersWriter::new(0, &settings);
        Bench { lock, settings, now: Micros::ZERO, out: Effects::default() }
    }

    /// Enters the machine; what it sent, as the reader of a trace sees it.
    fn enter(&mut self, entry: impl FnOnce(&mut RedisReadersWriter, &Cx, &mut Out)) -> Vec<String> {
        self.out.clear();
        self.now = self.now + Micros(1);
        let (wall, monotonic) = (Wall(self.now.0), Monotonic(self.now.0));
        let cx = Context { me: 0, servers: 1, wall, monotonic, choice: 0, settings: &self.settings };
        entry(&mut self.lock, &cx, &mut self.out);
        let told = |(to, message): &(Node, Message<Redis>)| match (to, message) {
            (Node::Server(0), Message::Request(request)) => {
                RedisReadersWriter::WORDS.fill_in(&request.to_string())
            }
            other => panic!("it speaks to the first server, and asks: {other:?}"),
        };
        self.out.sends.iter().map(told).collect()
    }

    fn asks(&mut self, access: Access, mode: Mode) -> Vec<String> {
        self.enter(|lock, cx, out| lock.on_call(Call::Acquire { lock: LockId(0), mode, access }, cx, out))
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
fn a_reader_is_counted_up_and_down() {
    let mut bench = Bench::new(Settings::counted());
    assert_eq!(bench.asks(READ, Mode::Lock), ["stop if writer; INCR readers; PEXPIRE readers 10000"]);
    assert!(bench.replies(Outcome::Integer(1)).is_empty());
    assert_eq!(bench.out.answer, GRANTED);
    assert_eq!(bench.releases(), ["DECR readers"]);
    bench.replies(Outcome::Integer(0));
    assert_eq!(bench.out.answer, Some(Answer::Released));
}

#[test]
fn a_reader_has_an_entry_of_its_own_and_removes_it() {
    let mut bench = Bench::new(Settings::repaired());
    let asked =
        "stop if writer; stop if next; ZREMRANGEBYSCORE readers -inf TIME; ZADD readers TIME + 10s A#1";
    assert_eq!(bench.asks(READ, Mode::Lock), [asked]);
    bench.replies(Outcome::Integer(1));
    assert_eq!(bench.releases(), ["ZREM readers A#1"]);
}

#[test]
fn a_writer_that_waits_leaves_a_mark_and_one_that_only_tries_does_not() {
    let taking = "ZREMRANGEBYSCORE readers -inf TIME; stop unless ZCARD readers < 1; stop if writer; ";
    let mut bench = Bench::new(Settings::repaired());
    let marked = format!("SET next A#1 PX 10000; {taking}DEL next; SET writer A#1 NX PX 10000");
    assert_eq!(bench.asks(WRITE, Mode::Lock), [marked]);
    let mut bench = Bench::new(Settings::repaired());
    assert_eq!(bench.asks(WRITE, Mode::TryLock), [format!("{taking}SET writer A#1 NX PX 10000")]);
    bench.replies(Outcome::Nil);
    assert_eq!(bench.out.answer, Some(Answer::Refused));
}

#[test]
fn a_refused_client_asks_again_after_the_retry_delay_with_another_signature() {
    let mut bench = Bench::new(Settings::repaired());
    let first = bench.asks(WRITE, Mode::Lock);
    bench.replies(Outcome::Nil);
    assert_eq!(bench.lock.doing(), "waiting");
    let again = bench.wakes();
    assert_eq!(again, [first[0].replace("A#1", "A#2")]);
    bench.replies(Outcome::Ok);
    assert_eq!(bench.out.answer, GRANTED);
    assert_eq!(bench.releases(), ["if writer = A#2 then DEL writer"]);
}

#[test]
fn an_outcome_that_is_unknown_is_taken_back_by_all_but_counted_readers() {
    for (settings, access, expected) in [
        (Settings::counted(), READ, None),
        (Settings::counted(), WRITE, Some("if writer = A#1 then DEL writer")),
        (Settings::repaired(), READ, Some("ZREM readers A#1")),
    ] {
        let mut bench = Bench::new(settings);
        bench.asks(access, Mode::TryLock);
        let expected: Vec<&str> = expected.into_iter().collect();
        assert_eq!(bench.wakes(), expected);
        assert_eq!(bench.out.answer, Some(Answer::Refused));
    }
}

#[test]
fn a_grant_that_comes_when_the_lease_is_over_is_none() {
    let mut bench = Bench::new(Settings { request_timeout: None, ..Settings::counted() });
    bench.asks(READ, Mode::TryLock);
    bench.now = Micros::seconds(10);
    assert_eq!(bench.replies(Outcome::Integer(1)), ["DECR readers"]);
    assert_eq!(bench.out.answer, Some(Answer::Refused));
}

#[test]
fn a_holder_is_told_to_stop_before_its_lease_is_over() {
    let mut bench = Bench::new(Settings::repaired());
    bench.asks(READ, Mode::Lock);
    bench.replies(Outcome::Integer(1));
    assert!(bench.wakes().is_empty());
    assert_eq!(bench.out.answer, Some(Answer::Lost));
    assert!(bench.now < Micros::seconds(10));
    assert_eq!(bench.releases(), ["ZREM readers A#1"]);
}

#[test]
fn what_answers_an_older_request_is_dismissed() {
    let mut bench = Bench::new(Settings::repaired());
    bench.asks(READ, Mode::Lock);
    let stale = Reply { serial: bench.lock.serial + 1, outcome: Outcome::Integer(1) };
    assert!(bench.lock.dismisses(&stale));
    bench.enter(|lock, cx, out| lock.on_reply(0, stale, cx, out));
    assert_eq!(bench.out.answer, None);
}
