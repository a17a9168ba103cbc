//! One client at a bench: a hand that calls, replies and lets time pass.

use super::*;

pub const WRITTEN: Settings = Settings::as_written();

pub fn seconds(n: i64) -> Monotonic {
    Monotonic(Micros::seconds(n).0)
}

pub fn millis(n: i64) -> Monotonic {
    Monotonic(Micros::millis(n).0)
}

/// Client A's value number `serial`.
pub fn token(serial: u32) -> Value {
    Value::Token(Token { client: 0, serial })
}

pub fn secured(server: u8) -> Event {
    Event::Secured { client: ClientId(0), servers: [server].into_iter().collect() }
}

/// Client A's machine on three servers, with a clock that only the test moves.
pub struct Bench {
    pub lock: RedisSingle,
    pub settings: Settings,
    pub servers: u8,
    pub now: Monotonic,
    pub choice: u32,
    pub out: Out,
}

impl Bench {
    pub fn new(settings: Settings) -> Bench {
        Bench {
            lock: RedisSingle::new(0, &settings),
            settings,
            servers: 3,
            now: Monotonic(0),
            choice: 0,
            out: Out::default(),
        }
    }

    /// A client that was granted the lock at time 0, with value A#1.
    pub fn holding(settings: Settings) -> Bench {
        let mut bench = Bench::new(settings);
        bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
        bench.reply(match settings.fencing {
            Fencing::None => Outcome::Ok,
            Fencing::WithGrant => Outcome::Integer(1),
            Fencing::AfterGrant => unreachable!("the tests of this variant go step by step"),
        });
        assert!(matches!(bench.out.answer, Some(Answer::Granted { .. })), "granted: {:?}", bench.out.answer);
        bench
    }

    fn enter(&mut self, entry: impl FnOnce(&mut RedisSingle, &Cx, &mut Out)) {
        let cx = Context {
            me: 0,
            servers: self.servers,
            wall: Wall(0),
            monotonic: self.now,
            choice: self.choice,
            settings: &self.settings,
        };
        self.out.clear();
        entry(&mut self.lock, &cx, &mut self.out);
    }

    pub fn call(&mut self, call: Call) {
        self.enter(|lock, cx, out| lock.on_call(call, cx, out));
    }

    /// The awaited request is answered.
    pub fn reply(&mut self, outcome: Outcome) {
        let serial = self.lock.awaited.map(|awaited| awaited.serial);
        let reply = Reply { serial: serial.expect("a request is awaited"), outcome };
        assert!(!self.lock.dismisses(&reply));
        self.enter(|lock, cx, out| lock.on_reply(lock.contact, reply, cx, out));
    }

    /// A reply to request number `serial` arrives that nobody waits for.
    pub fn late_reply(&mut self, serial: u32, outcome: Outcome) {
        let before = self.lock.clone();
        let reply = Reply { serial, outcome };
        assert!(self.lock.dismisses(&reply));
        assert_eq!(self.lock.choices(Some(&reply), &self.settings), 1);
        self.enter(|lock, cx, out| lock.on_reply(0, reply, cx, out));
        assert_eq!(self.lock, before);
        assert_eq!((self.out.sends.len(), self.out.answer), (0, None));
    }

    /// Time passes to `at`, and the machine is woken, due or not.
    pub fn wake(&mut self, at: Monotonic) {
        self.now = at;
        self.enter(|lock, cx, out| lock.on_deadline(cx, out));
    }

    pub fn restart(&mut self) {
        self.enter(|lock, cx, _out| lock.on_restart(cx));
    }

    pub fn deadline(&self) -> Option<Monotonic> {
        self.lock.deadline(&self.settings).map(|due| match due {
            Due::Monotonic(at) => at,
            Due::Wall(at) => unreachable!("no deadline is judged by the wall clock, but {at:?} is"),
        })
    }

    /// What the last entry sent: server, command, whether followed by WAIT.
    pub fn sent(&self) -> Vec<(u8, Command, bool)> {
        self.out
            .sends
            .iter()
            .map(|send| match send {
                (Node::Server(server), Message::Request(request)) => {
                    (*server, request.command.clone(), request.wait)
                }
                other => unreachable!("a lock sends requests to servers, not {other:?}"),
            })
            .collect()
    }

    /// The one command that the last entry sent, to `server`.
    pub fn sent_to(&self, server: u8) -> Command {
        match &self.sent()[..] {
            [(to, command, _)] if *to == server => command.clone(),
            other => panic!("one request to server {server}, not {other:?}"),
        }
    }
}
