//! A readers-writer lock on one Redis instance: any number of readers, or one writer.
//!
//! Two ways in which people build it. **Counted**: a key for the writer, and a counter of the readers, with a lease on each; this is
//! how the readers-writer lock of the textbooks is carried over to Redis. **Entries**: a key for the writer, and for each reader an
//! entry of its own with a lease of its own; this is the shape of Redisson's `RReadWriteLock` (`RedissonReadLock.java`,
//! `RedissonWriteLock.java`), whose readers each have a key `…:rwlock_timeout:…` beside the hash that names them. Here the entries are
//! one sorted set, by the moments at which they end on the server's clock. Scripts make each step one. The [`Line`]s are: step 1 the
//! script that asks, step 2 the hold, step 3 the release.
//!
//! ```text
//!      entries                                   A reads        Redis        B writes
//!   1  A: stop if writer; stop if next;            │── EVAL ──────▶│              │
//!         ZREMRANGEBYSCORE readers -inf TIME;      │◀── 1 ─────────│              │
//!         ZADD readers TIME+10s A#1                │ holds         │              │
//!   1  B: SET next B#1 PX 10000;                   │               │◀─── EVAL ────│
//!         ZREMRANGEBYSCORE readers -inf TIME;      │               │──── nil ────▶│ waits
//!         stop if writer; stop unless ZCARD        │               │              │
//!         readers < 1; DEL next;                   │               │              │
//!         SET writer B#1 NX PX 10000               │               │              │
//!   3  A: ZREM readers A#1                         │── ZREM ──────▶│              │
//!   1  B: the same again                           │               │◀─── EVAL ────│
//!                                                  │               │──── OK ─────▶│ holds
//!   3  B: if writer = B#1 then DEL writer          │               │◀─── EVAL ────│
//! ```
//!
//! Counted, step 1 of a reader is `stop if writer; INCR readers; PEXPIRE readers 10000`, of a writer `stop if readers > 0; SET writer
//! B#1 NX PX 10000`, and step 3 of a reader is `DECR readers`.
//!
//! **What it lives on.** What the lock on one instance lives on (`locks/redis_single.rs`): one server that forgets nothing and whose
//! clock is not set, holders that have left when their lease is over. Counted, moreover: that each `DECR` arrives once, and while the
//! counter is still the one that was counted up.
//!
//! **What breaks it.** A pause longer than the lease (row R1), in either mode. Counted: a `DECR` that comes when the lease of the
//! counter is over takes the count of another reader, or makes the counter −1 for all who come (row R29); one that arrives twice does
//! the same, and that the count stops at 0 ([`Readers::CountedFromZero`]) helps with neither. Both ways: a writer among readers that
//! come and go finds the lock taken by somebody each time it asks, for ever (row R30); a mark of the writer that waits, which no reader
//! overtakes ([`Settings::writers_first`]), repairs that, and lets readers starve instead: one writer that comes back at once is
//! always the first to ask. A crashed reader's count is given back by nobody: it keeps writers out until the counter dies, and
//! every reader that comes puts that off.
//!
//! **Where the sources are silent**, and what was decided:
//!
//! - A reply that does not come: the outcome is unknown. Whoever can tell its own entry takes it back, without waiting for the answer.
//!   A counted reader cannot tell whether it was counted, and leaves it: the lease is the repair.
//! - Nobody is told of a release: who waits asks again after [`Settings::retry_delay`]. Redisson wakes waiters by a message.
//! - There are no extensions. Redisson prolongs all leases while their process lives.
//! - No upgrade from reader to writer, and nobody enters twice.
//! - `next` is one writer's: of several that wait the last that asked. It is marked by those only that go on waiting.
//! - Only the first server is asked.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Readers, Settings};

use super::redis_keys::{self, NEXT, READERS, WRITER, key_of};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, Visitor};
use crate::names::Words;
use crate::stores::redis::{
    Check, Command, Key, Line as Script, Outcome, Redis, Reply, Request, Score, Token, Value,
};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{Access, AccessModes, LockId, Mode};
use serde::{Deserialize, Serialize};

/// To write, alone: the first of [`AccessModes::SHARED_EXCLUSIVE`].
pub const WRITE: Access = Access::FIRST;

/// To read, beside other readers.
pub const READ: Access = Access(1);

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RedisReadersWriter {
    /// The lock that was asked for last.
    lock: LockId,
    phase: Phase,
    /// The last number drawn. It numbers the requests, and tells one's own entry from others.
    serial: u32,
    awaited: Option<Awaited>,
}

/// Where the client stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// Step 1: has asked. If it succeeds, the grant counts until `end`.
    Asks { mode: Mode, entry: Entry, end: Option<Monotonic> },
    /// Before step 1: sleeps until it asks again. Only `lock` does.
    Waits { access: Access, until: Monotonic },
    /// Step 2: the application holds; until then, if it minds.
    Held { entry: Entry, valid_until: Option<Monotonic> },
    /// Step 3: has given its entry back.
    Releases,
}

/// A reader's or a writer's entry on the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Entry {
    access: Access,
    /// What it is signed with.
    token: u32,
}

/// The request under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Awaited {
    serial: u32,
    /// When its outcome becomes unknown, if ever.
    until: Option<Monotonic>,
}

/// What enters the `match`.
#[derive(Clone, Copy)]
enum Input {
    Call(Call),
    /// The script came to its end.
    Done,
    /// It was stopped by a condition.
    Stopped,
    /// The request failed, or nobody knows.
    Failed,
    /// The retry delay is over.
    Woken,
    /// The lease is over by the client's own clock.
    ValidityOver,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Redis>;

impl RedisReadersWriter {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            // Step 1.
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access })) => {
                self.lock = lock;
                self.ask(mode, access, cx, out);
            }
            (Phase::Waits { access, .. }, Input::Woken) => self.ask(Mode::Lock, access, cx, out),
            (Phase::Asks { mode, entry, end }, Input::Done) if has_come(end, cx.monotonic) => {
                self.send(self.giving_back(entry, cx), cx, out);
                self.awaited = None;
                self.fail(mode, entry.access, cx, out);
            }
            (Phase::Asks { entry, end, .. }, Input::Done) => {
                self.phase = Phase::Held { entry, valid_until: end };
                out.answer(Answer::Granted { fence: None });
            }
            (Phase::Asks { mode, entry, .. }, Input::Stopped) => self.fail(mode, entry.access, cx, out),
            (Phase::Asks { mode, entry, .. }, Input::Failed) => {
                // A counted reader does not know whether there is anything to take back.
                if entry.access == WRITE || cx.settings.readers == Readers::Entries {
                    self.send(self.giving_back(entry, cx), cx, out);
                    self.awaited = None;
                }
                self.fail(mode, entry.access, cx, out);
            }

            // Step 2. Who is told to stop releases within this entry.
            (Phase::Held { entry, .. }, Input::ValidityOver) => {
                self.phase = Phase::Held { entry, valid_until: None };
                out.answer(Answer::Lost);
            }

            // Step 3. Whatever becomes of it, the call is over: the lease does the rest.
            (Phase::Held { entry, .. }, Input::Call(Call::Release)) => {
                self.phase = Phase::Releases;
                self.send(self.giving_back(entry, cx), cx, out);
            }
            (Phase::Releases, Input::Done | Input::Stopped | Input::Failed) => {
                self.phase = Phase::Idle;
                out.answer(Answer::Released);
            }

            (
                Phase::Idle | Phase::Waits { .. } | Phase::Held { .. },
                Input::Done | Input::Stopped | Input::Failed,
            ) => {
                unreachable!(
                    "no request is awaited in this phase, and replies to others are dismissed before"
                )
            }
            (_, Input::Woken) => unreachable!("only a waiting client sleeps"),
            (_, Input::ValidityOver) => unreachable!("only a holder minds its validity"),
            (_, Input::Call(Call::Write)) => unreachable!("no setup has this lock write inside its store"),
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
        }
    }

    fn ask(&mut self, mode: Mode, access: Access, cx: &Cx, out: &mut Out) {
        let entry = Entry { access, token: self.serial.wrapping_add(1) };
        self.phase = Phase::Asks { mode, entry, end: cx.settings.end(cx.monotonic) };
        let script = if access == WRITE { self.writing(mode, entry, cx) } else { self.reading(entry, cx) };
        self.send(Command::Script(script.into()), cx, out);
    }

    fn reading(&self, entry: Entry, cx: &Cx) -> Vec<Script> {
        let mut script = vec![Script::Require(Check::Absent(self.key(WRITER)))];
        if cx.settings.writers_first {
            script.push(Script::Require(Check::Absent(self.key(NEXT))));
        }
        let readers = self.key(READERS);
        script.extend(match cx.settings.readers {
            Readers::Counted | Readers::CountedFromZero => {
                [Command::Incr(readers), Command::PExpire(readers, cx.settings.px())].map(Script::Call)
            }
            Readers::Entries => {
                let (score, member) = (Score::After(cx.settings.ttl), signature(entry, cx));
                [self.purge(), Command::ZAdd { key: readers, score, member }].map(Script::Call)
            }
        });
        script
    }

    fn writing(&self, mode: Mode, entry: Entry, cx: &Cx) -> Vec<Script> {
        let (value, ttl) = (Value::Token(signature(entry, cx)), Some(cx.settings.px()));
        let set = |key, if_absent| Script::Call(Command::Set { key, value, if_absent, ttl });
        // Who gives up when it is refused keeps nobody waiting.
        let marks = cx.settings.writers_first && mode == Mode::Lock;
        let mut script = Vec::new();
        if marks {
            script.push(set(self.key(NEXT), false));
        }
        let readers = self.key(READERS);
        match cx.settings.readers {
            Readers::Counted | Readers::CountedFromZero => {
                script.push(Script::Require(Check::NotPositive(readers)));
            }
            Readers::Entries => {
                script.push(Script::Call(self.purge()));
                script.push(Script::Require(Check::Fewer(readers, 1)));
            }
        }
        script.push(Script::Require(Check::Absent(self.key(WRITER))));
        if marks {
            script.push(Script::Call(Command::Del(self.key(NEXT))));
        }
        script.push(set(self.key(WRITER), true));
        script
    }

    /// Readers' entries that are over.
    fn purge(&self) -> Command {
        Command::ZRemUpTo(self.key(READERS), Score::After(Micros::ZERO))
    }

    fn giving_back(&self, entry: Entry, cx: &Cx) -> Command {
        let (readers, token) = (self.key(READERS), signature(entry, cx));
        match (entry.access, cx.settings.readers) {
            (WRITE, _) => Command::CompareAndDelete { key: self.key(WRITER), value: Value::Token(token) },
            (_, Readers::Counted) => Command::Decr(readers),
            (_, Readers::CountedFromZero) => {
                let check = Script::Require(Check::Positive(readers));
                Command::Script([check, Script::Call(Command::Decr(readers))].into())
            }
            (_, Readers::Entries) => Command::ZRem(readers, token),
        }
    }

    /// The attempt came to nothing.
    fn fail(&mut self, mode: Mode, access: Access, cx: &Cx, out: &mut Out) {
        match mode {
            Mode::Lock => {
                let delay = Micros(cx.settings.retry_delay.0 * (1 + i64::from(cx.choice)));
                self.phase = Phase::Waits { access, until: cx.monotonic + delay };
            }
            Mode::TryLock => {
                self.phase = Phase::Idle;
                out.answer(Answer::Refused);
            }
        }
    }

    fn key(&self, word: crate::names::Word) -> Key {
        key_of(word, self.lock)
    }

    /// Sends a request and awaits it.
    fn send(&mut self, command: Command, cx: &Cx, out: &mut Out) {
        self.serial = self.serial.wrapping_add(1);
        let until = cx.settings.request_timeout.map(|timeout| cx.monotonic + timeout);
        self.awaited = Some(Awaited { serial: self.serial, until });
        out.request(0, Request { serial: self.serial, command, wait: false });
    }

    fn valid_until(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Held { valid_until, .. } => valid_until,
            Phase::Idle | Phase::Asks { .. } | Phase::Waits { .. } | Phase::Releases => None,
        }
    }

    fn waits_until(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Waits { until, .. } => Some(until),
            Phase::Idle | Phase::Asks { .. } | Phase::Held { .. } | Phase::Releases => None,
        }
    }
}

/// This client's name, from this attempt.
fn signature(entry: Entry, cx: &Cx) -> Token {
    Token { client: cx.me, serial: entry.token }
}

/// Whether there is such a moment, and it is not ahead.
fn has_come(at: Option<Monotonic>, now: Monotonic) -> bool {
    at.is_some_and(|at| at <= now)
}

impl Lock for RedisReadersWriter {
    type Store = Redis;
    type Settings = Settings;

    const WORDS: Words = redis_keys::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        RedisReadersWriter { lock: LockId::default(), phase: Phase::Idle, serial: 0, awaited: None }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        if self.dismisses(&reply) {
            return;
        }
        self.awaited = None;
        let input = match reply.outcome {
            Outcome::Ok | Outcome::Integer(_) | Outcome::Bulk(_) => Input::Done,
            Outcome::Nil => Input::Stopped,
            Outcome::Error(_) => Input::Failed,
        };
        self.step(input, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        if has_come(self.valid_until(), cx.monotonic) {
            self.step(Input::ValidityOver, cx, out);
        } else if has_come(self.awaited.and_then(|awaited| awaited.until), cx.monotonic) {
            self.awaited = None;
            self.step(Input::Failed, cx, out);
        } else if has_come(self.waits_until(), cx.monotonic) {
            self.step(Input::Woken, cx, out);
        }
        // Else the engine woke us early: nothing is due.
    }

    fn on_restart(&mut self, cx: &Cx) {
        // The counter stands for random strings, which do not repeat in a new process either.
        *self = RedisReadersWriter { serial: self.serial, ..RedisReadersWriter::new(cx.me, cx.settings) };
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let request = self.awaited.and_then(|awaited| awaited.until);
        let moments = [request, self.valid_until(), self.waits_until()];
        moments.into_iter().flatten().min().map(Due::Monotonic)
    }

    /// The retry delay is drawn where an attempt of `lock` fails. One that succeeded on the server may still be too late.
    fn choices(&self, reply: Option<&Reply>, settings: &Settings) -> u32 {
        let Phase::Asks { mode: Mode::Lock, end, .. } = self.phase else { return 1 };
        let may_fail = match reply {
            Some(reply) if self.dismisses(reply) => false,
            Some(Reply { outcome: Outcome::Ok | Outcome::Integer(_) | Outcome::Bulk(_), .. }) => {
                end.is_some()
            }
            Some(Reply { outcome: Outcome::Nil | Outcome::Error(_), .. }) | None => true,
        };
        if may_fail { settings.retry_choices.max(1) } else { 1 }
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.awaited.is_none_or(|awaited| awaited.serial != reply.serial)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(Awaited { serial, until }) = &mut self.awaited {
            visitor.serial(Owner::Me, serial);
            until.iter_mut().for_each(|until| visitor.wake(until));
        }
        match &mut self.phase {
            Phase::Idle | Phase::Releases => {}
            Phase::Waits { until, .. } => visitor.wake(until),
            Phase::Asks { entry, end: at, .. } | Phase::Held { entry, valid_until: at } => {
                visitor.serial(Owner::Me, &mut entry.token);
                at.iter_mut().for_each(|at| visitor.wake(at));
            }
        }
    }

    /// See the head of this file for what these stand for.
    fn line(&self) -> Line {
        match self.phase {
            Phase::Idle | Phase::Waits { .. } => Line::NONE,
            Phase::Asks { .. } => Line { listing: 0, number: 1 },
            Phase::Held { .. } => Line { listing: 0, number: 2 },
            Phase::Releases => Line { listing: 0, number: 3 },
        }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Asks { entry: Entry { access: WRITE, .. }, .. } => "asking to write",
            Phase::Asks { .. } => "asking to read",
            Phase::Waits { .. } => "waiting",
            Phase::Held { entry: Entry { access: WRITE, .. }, .. } => "writes",
            Phase::Held { .. } => "reads",
            Phase::Releases => "releasing",
        }
    }

    fn valid_until(&self, _settings: &Settings) -> Option<Due> {
        self.valid_until().map(Due::Monotonic)
    }

    fn modes(_settings: &Settings) -> AccessModes {
        AccessModes::SHARED_EXCLUSIVE
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        Some(settings.ttl)
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }
}
