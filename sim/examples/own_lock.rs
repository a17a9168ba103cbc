//! A lock of one's own on one of picklock's stores: what everybody writes first, `SET NX PX`, and a plain `DEL` at the end.
//!
//! ```sh
//! cargo run --release --example own_lock -- matrix --lock my-lock
//! cargo run --release --example own_lock -- check my-lock --drop no-pause
//! cargo run --release --example own_lock -- sweep my-lock --faults loss
//! ```

use picklock_sim::prelude::model::locks::redis_keys;
use picklock_sim::prelude::model::names::{Word, Words};
use picklock_sim::prelude::model::stores::redis::{Change, Command, Key, Millis, Outcome, Redis};
use picklock_sim::prelude::model::stores::redis::{Reply, Request, Token, Value};
use picklock_sim::prelude::*;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

const LOCK: Key = Key { word: Word(0), number: 0 };
const LEASE: Micros = Micros::seconds(3);
const RETRY: Micros = Micros::millis(500);

/// One client's machine: small plain data, no handles, no history.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MyLock {
    phase: Phase,
    /// The number of the last request, which its reply repeats.
    serial: u32,
    /// When it is sent again.
    again: Option<Monotonic>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Asks(Mode),
    Holds,
    Leaves,
}

impl MyLock {
    fn send(&mut self, phase: Phase, cx: &Context<()>, out: &mut Effects<Redis>) {
        let value = Value::Token(Token { client: cx.me, serial: 0 });
        let command = match phase {
            Phase::Leaves => Command::Del(LOCK),
            _ => Command::Set { key: LOCK, value, if_absent: true, ttl: Some(Millis(LEASE.0 / 1000)) },
        };
        *self = MyLock { phase, serial: self.serial + 1, again: Some(cx.monotonic + RETRY) };
        out.request(0, Request { serial: self.serial, command, wait: false });
    }
}

impl Lock for MyLock {
    type Store = Redis;
    type Settings = ();
    const WORDS: Words = Words { names: &["my_resource"], labels: &[] };

    fn new(_me: u8, _settings: &()) -> Self {
        MyLock { phase: Phase::Idle, serial: 0, again: None }
    }

    fn on_call(&mut self, call: Call, cx: &Context<()>, out: &mut Effects<Redis>) {
        match call {
            Call::Acquire { mode, .. } => self.send(Phase::Asks(mode), cx, out),
            Call::Release => self.send(Phase::Leaves, cx, out),
            Call::Write => unreachable!("only a lock that says so writes in its own store"),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, _cx: &Context<()>, out: &mut Effects<Redis>) {
        let (phase, answer) = match (self.phase, reply.outcome) {
            _ if reply.serial != self.serial => return,
            (Phase::Asks(_), Outcome::Ok) => (Phase::Holds, Answer::Granted { fence: None }),
            // Perhaps by itself: the answer to its first request may be lost, and then nil means its own key.
            (Phase::Asks(Mode::TryLock), _) => (Phase::Idle, Answer::Refused),
            (Phase::Leaves, _) => (Phase::Idle, Answer::Released),
            // Somebody else has it (or an answer came twice): again, later.
            _ => return,
        };
        *self = MyLock { phase, again: None, ..*self };
        out.answer(answer);
    }

    fn on_deadline(&mut self, cx: &Context<()>, out: &mut Effects<Redis>) {
        self.send(self.phase, cx, out);
    }

    fn on_restart(&mut self, _cx: &Context<()>) {
        // It counts on, as by a number on disk: an answer to an earlier life is told apart.
        *self = MyLock { phase: Phase::Idle, again: None, ..*self };
    }

    fn deadline(&self, _settings: &()) -> Option<Due> {
        self.again.map(Due::Monotonic)
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        redis_keys::signed(LOCK.word, change, server)
    }

    fn visit<V: Visitor>(&mut self, _settings: &(), visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        self.again.iter_mut().for_each(|again| visitor.wake(again));
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "idle",
            Phase::Asks(_) => "SET NX PX",
            Phase::Holds => "holds",
            Phase::Leaves => "DEL",
        }
    }

    fn lease(_settings: &()) -> Option<Micros> {
        Some(LEASE)
    }
}

/// The lock as commands and tests have it. Nobody prolongs the lease, and nobody is told that it is over: whoever uses this
/// lock must be done before.
pub fn registered() -> Registered<MyLock> {
    Registered::new("my-lock", "SET NX PX, and DEL", || Setup {
        workload: Workload { work_fits: true, ..Workload::default() },
        ..Setup::default()
    })
}

fn main() -> ExitCode {
    picklock_sim::cli::main(&Locks::builtin().and(registered()))
}
