//! A counting semaphore on one Redis instance: up to n clients hold it at once.
//!
//! Source: J. Carlson, "Redis in Action", section 6.3 "Counting semaphores" (`python/ch06_listing_source.py`), and section 11.2.3
//! "Counting semaphores in Lua" (`python/ch11_listing_source.py`). The holders are the members of a sorted set, by the moment at which
//! they are taken for dead. Three ways to take a permit ([`Take`]): by one's rank in that set (6.3.1); by one's rank in a second set,
//! whose scores a counter gives (6.3.2, "fair"); by a script that counts who is there (11.2.3). The [`Line`]s are: step 1 the counter
//! drawn (6.3.2 only), step 2 the entry made, step 3 the entry taken back after a refusal, step 4 the hold, step 5 the release.
//!
//! ```text
//!     6.3.2, one permit                              A            Redis           B
//!  1  MULTI; ZREMRANGEBYSCORE holders -inf now;      │── EXEC ─────▶│             │
//!     ZINTERSTORE owners …; INCR counter; EXEC       │◀── 1 ────────│             │
//!  1                                                 │              │◀─── EXEC ───│
//!                                                    │              │──── 2 ─────▶│
//!  2  MULTI; ZADD holders now+10s B#1;               │              │◀─── EXEC ───│
//!     ZADD owners 2 B#1; ZRANK owners B#1; EXEC      │              │──── 0 ─────▶│ holds
//!  2  MULTI; ZADD holders …; ZADD owners 1 A#1;      │── EXEC ─────▶│             │
//!     ZRANK owners A#1; EXEC                         │◀── 0 ────────│             │
//!                                                    │ holds, too   │             │
//! ```
//!
//! **What it lives on.** One server that forgets nothing; holders that have left when their entry is over. By rank (6.3.1): clients'
//! clocks that agree to the microsecond. With stamps from clients' clocks, whichever way: clocks that agree by the margin that holders
//! leave; with stamps from the server's `TIME` only that its clock is not set.
//!
//! **What breaks it.** A pause longer than the entry lives (row R1). 6.3.1: a client whose clock is behind puts its entry before those
//! of the holders, and takes a permit that is none (row R31; the book says so, and calls the semaphore unfair for it). 6.3.2: between
//! `INCR` and `ZADD` another client with a later count finds itself first, as shown above (row R32; section 6.3.4 of the book says so,
//! and puts a lock around the whole). 11.2.3 repairs both, and still believes the clients' clocks: who is ahead by more than an entry
//! lives removes the entries of all holders (row R33), which is repaired by `TIME` in place of them.
//!
//! **Where the source is silent, or is not followed**:
//!
//! - A score is the moment of an entry's end, and `-inf now` is removed; in the book it is the moment of the request, and `-inf
//!   now - timeout` is. With one time-out for all these are the same entries in the same order. In 6.3.2 the clock is read again for
//!   the second transaction.
//! - The book's functions try once. Who waits asks again after [`Settings::retry_delay`].
//! - A reply that does not come: the outcome is unknown. The client takes back whatever it may have entered, without waiting for the
//!   answer, and counts the attempt as failed.
//! - The book's holders do not look at a clock; here they may ([`Settings::validity_margin`]). They prolong nothing: section 6.3.3,
//!   "Refreshing semaphores", is left out, and so is the lock of section 6.3.4.
//! - Only the first server is asked.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Settings, Stamps, Take};

use super::redis_keys::{self, COUNTER, HOLDERS, OWNERS, key_of};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, Visitor};
use crate::names::{Word, Words};
use crate::stores::redis::{
    Check, Command, Key, Line as Script, Outcome, Redis, Reply, Request, Score, Token,
};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{AccessModes, LockId, Mode};
use serde::{Deserialize, Serialize};

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RedisSemaphore {
    /// The semaphore that was asked for last.
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
    /// Step 1: has asked for the counter.
    Draws(Attempt),
    /// Step 2: has made its entry, or tried to.
    Enters(Attempt),
    /// Step 3: has taken back its entry, as there was no permit for it.
    Withdraws { mode: Mode },
    /// Before step 1: sleeps until it asks again. Only `lock` does.
    Waits { until: Monotonic },
    /// Step 4: the application holds; until then, if it minds.
    Held { token: u32, valid_until: Option<Monotonic> },
    /// Step 5: has given its entry back.
    Releases,
}

/// A permit asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Attempt {
    mode: Mode,
    /// What the entry is called.
    token: u32,
    /// Until when it counts, if it succeeds.
    end: Option<Monotonic>,
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
    /// The last reply of the transaction, or the script's.
    Number(i64),
    /// The script was stopped by a condition.
    Stopped,
    /// The request failed, or nobody knows.
    Failed,
    /// The retry delay is over.
    Woken,
    /// The entry is over by the client's own clock.
    ValidityOver,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Redis>;

impl RedisSemaphore {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            // Step 1, or step 2 if no counter is drawn.
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.lock = lock;
                self.ask(mode, cx, out);
            }
            (Phase::Waits { .. }, Input::Woken) => self.ask(Mode::Lock, cx, out),
            (Phase::Draws(attempt), Input::Number(count)) => {
                self.phase = Phase::Enters(attempt);
                self.send(self.entering(attempt.token, Some(count), cx), cx, out);
            }

            // Step 2 has succeeded, too late.
            (Phase::Enters(attempt), Input::Number(number))
                if is_granted(number, cx) && has_come(attempt.end, cx.monotonic) =>
            {
                self.clean_up(attempt.token, cx, out);
                self.fail(attempt.mode, cx, out);
            }
            (Phase::Enters(Attempt { token, end, .. }), Input::Number(number)) if is_granted(number, cx) => {
                self.phase = Phase::Held { token, valid_until: end };
                out.answer(Answer::Granted { fence: None });
            }
            // Step 3.
            (Phase::Enters(attempt), Input::Number(_)) => {
                self.phase = Phase::Withdraws { mode: attempt.mode };
                self.send(self.giving_back(attempt.token, cx), cx, out);
            }
            (Phase::Withdraws { mode }, Input::Number(_) | Input::Failed) => self.fail(mode, cx, out),
            (Phase::Enters(attempt), Input::Stopped) => self.fail(attempt.mode, cx, out),
            (Phase::Draws(attempt) | Phase::Enters(attempt), Input::Failed) => {
                self.clean_up(attempt.token, cx, out);
                self.fail(attempt.mode, cx, out);
            }

            // Step 4. Who is told to stop releases within this entry.
            (Phase::Held { token, .. }, Input::ValidityOver) => {
                self.phase = Phase::Held { token, valid_until: None };
                out.answer(Answer::Lost);
            }

            // Step 5. Whatever becomes of it, the call is over: the entry ends by itself.
            (Phase::Held { token, .. }, Input::Call(Call::Release)) => {
                self.phase = Phase::Releases;
                self.send(self.giving_back(token, cx), cx, out);
            }
            (Phase::Releases, Input::Number(_) | Input::Failed) => {
                self.phase = Phase::Idle;
                out.answer(Answer::Released);
            }

            (
                Phase::Idle | Phase::Waits { .. } | Phase::Held { .. },
                Input::Number(_) | Input::Stopped | Input::Failed,
            ) => unreachable!(
                "no request is awaited in this phase, and replies to others are dismissed before"
            ),
            (Phase::Draws(_) | Phase::Withdraws { .. } | Phase::Releases, Input::Stopped) => {
                unreachable!("these make nothing depend on a condition")
            }
            (_, Input::Woken) => unreachable!("only a waiting client sleeps"),
            (_, Input::ValidityOver) => unreachable!("only a holder minds its validity"),
            (_, Input::Call(Call::Write)) => unreachable!("no setup has this lock write inside its store"),
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
        }
    }

    fn ask(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        let token = self.serial.wrapping_add(1);
        let attempt = Attempt { mode, token, end: cx.settings.end(cx.monotonic) };
        let command = match cx.settings.take {
            Take::ByRank | Take::ByCount => {
                self.phase = Phase::Enters(attempt);
                self.entering(token, None, cx)
            }
            Take::ByCounter => {
                self.phase = Phase::Draws(attempt);
                let (key, other) = (self.key(OWNERS), self.key(HOLDERS));
                transaction([
                    self.purge(cx),
                    Command::ZInterStore { key, other },
                    Command::Incr(self.key(COUNTER)),
                ])
            }
        };
        self.send(command, cx, out);
    }

    /// Step 2.
    fn entering(&self, token: u32, count: Option<i64>, cx: &Cx) -> Command {
        let (key, member) = (self.key(HOLDERS), signature(token, cx));
        let score = match cx.settings.stamps {
            Stamps::Clients => Score::At(cx.wall + cx.settings.timeout),
            Stamps::Server => Score::After(cx.settings.timeout),
        };
        let enter = Command::ZAdd { key, score, member };
        match (cx.settings.take, count) {
            (Take::ByCounter, Some(count)) => {
                let key = self.key(OWNERS);
                let own = Command::ZAdd { key, score: Score::Count(count), member };
                transaction([enter, own, Command::ZRank(key, member)])
            }
            (Take::ByCount, None) => {
                let room = Check::Fewer(key, u32::from(cx.settings.permits));
                let lines = [Script::Call(self.purge(cx)), Script::Require(room), Script::Call(enter)];
                Command::Script(lines.into())
            }
            (Take::ByRank, None) => transaction([self.purge(cx), enter, Command::ZRank(key, member)]),
            (Take::ByRank | Take::ByCount, Some(_)) | (Take::ByCounter, None) => {
                unreachable!("a counter is drawn by those who are ranked by it")
            }
        }
    }

    /// Removes the holders that are taken for dead.
    fn purge(&self, cx: &Cx) -> Command {
        Command::ZRemUpTo(
            self.key(HOLDERS),
            match cx.settings.stamps {
                Stamps::Clients => Score::At(cx.wall),
                Stamps::Server => Score::After(Micros::ZERO),
            },
        )
    }

    fn giving_back(&self, token: u32, cx: &Cx) -> Command {
        let member = signature(token, cx);
        let leave = Command::ZRem(self.key(HOLDERS), member);
        match cx.settings.take {
            Take::ByRank | Take::ByCount => leave,
            Take::ByCounter => transaction([leave, Command::ZRem(self.key(OWNERS), member)]),
        }
    }

    /// Takes back what a failed attempt may have entered. Nobody waits for the answer.
    fn clean_up(&mut self, token: u32, cx: &Cx, out: &mut Out) {
        self.send(self.giving_back(token, cx), cx, out);
        self.awaited = None;
    }

    /// The attempt came to nothing.
    fn fail(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        match mode {
            Mode::Lock => {
                let delay = Micros(cx.settings.retry_delay.0 * (1 + i64::from(cx.choice)));
                self.phase = Phase::Waits { until: cx.monotonic + delay };
            }
            Mode::TryLock => {
                self.phase = Phase::Idle;
                out.answer(Answer::Refused);
            }
        }
    }

    fn key(&self, word: Word) -> Key {
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
            Phase::Idle
            | Phase::Draws(_)
            | Phase::Enters(_)
            | Phase::Withdraws { .. }
            | Phase::Waits { .. }
            | Phase::Releases => None,
        }
    }

    fn waits_until(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Waits { until } => Some(until),
            Phase::Idle
            | Phase::Draws(_)
            | Phase::Enters(_)
            | Phase::Withdraws { .. }
            | Phase::Held { .. }
            | Phase::Releases => None,
        }
    }
}

/// Whether the last reply of step 2 is a permit: a rank among the first, or a script that came to its end.
fn is_granted(number: i64, cx: &Cx) -> bool {
    cx.settings.take == Take::ByCount || number < i64::from(cx.settings.permits)
}

/// `MULTI` … `EXEC`.
fn transaction<const N: usize>(commands: [Command; N]) -> Command {
    Command::Script(commands.map(Script::Call).into())
}

/// What this client's entry is called, from this attempt.
fn signature(token: u32, cx: &Cx) -> Token {
    Token { client: cx.me, serial: token }
}

/// Whether there is such a moment, and it is not ahead.
fn has_come(at: Option<Monotonic>, now: Monotonic) -> bool {
    at.is_some_and(|at| at <= now)
}

impl Lock for RedisSemaphore {
    type Store = Redis;
    type Settings = Settings;

    const WORDS: Words = redis_keys::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        RedisSemaphore { lock: LockId::default(), phase: Phase::Idle, serial: 0, awaited: None }
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
            Outcome::Integer(number) => Input::Number(number),
            Outcome::Nil => Input::Stopped,
            Outcome::Error(_) => Input::Failed,
            Outcome::Ok | Outcome::Bulk(_) => {
                unreachable!("the last command of each request is answered with a number")
            }
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
        *self = RedisSemaphore { serial: self.serial, ..RedisSemaphore::new(cx.me, cx.settings) };
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let request = self.awaited.and_then(|awaited| awaited.until);
        let moments = [request, self.valid_until(), self.waits_until()];
        moments.into_iter().flatten().min().map(Due::Monotonic)
    }

    /// The retry delay is drawn where an attempt of `lock` fails.
    fn choices(&self, reply: Option<&Reply>, settings: &Settings) -> u32 {
        let is_waiting = match self.phase {
            Phase::Draws(attempt) | Phase::Enters(attempt) => attempt.mode == Mode::Lock,
            Phase::Withdraws { mode } => mode == Mode::Lock,
            Phase::Idle | Phase::Waits { .. } | Phase::Held { .. } | Phase::Releases => false,
        };
        let may_fail = match (reply, self.phase) {
            (Some(reply), _) if self.dismisses(reply) => false,
            (Some(Reply { outcome: Outcome::Integer(_), .. }), Phase::Draws(_)) => false,
            (Some(Reply { outcome: Outcome::Integer(_), .. }), Phase::Enters(attempt)) => {
                attempt.end.is_some()
            }
            (Some(_) | None, _) => true,
        };
        if is_waiting && may_fail { settings.retry_choices.max(1) } else { 1 }
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
            Phase::Idle | Phase::Withdraws { .. } | Phase::Releases => {}
            Phase::Waits { until } => visitor.wake(until),
            Phase::Draws(Attempt { token, end: at, .. })
            | Phase::Enters(Attempt { token, end: at, .. })
            | Phase::Held { token, valid_until: at } => {
                visitor.serial(Owner::Me, token);
                at.iter_mut().for_each(|at| visitor.wake(at));
            }
        }
    }

    /// See the head of this file for what these stand for.
    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Idle | Phase::Waits { .. } => return Line::NONE,
            Phase::Draws(_) => 1,
            Phase::Enters(_) => 2,
            Phase::Withdraws { .. } => 3,
            Phase::Held { .. } => 4,
            Phase::Releases => 5,
        };
        Line { listing: 0, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Draws(_) => "drawing a count",
            Phase::Enters(_) => "entering",
            Phase::Withdraws { .. } => "taking its entry back",
            Phase::Waits { .. } => "waiting",
            Phase::Held { .. } => "holds",
            Phase::Releases => "releasing",
        }
    }

    fn valid_until(&self, _settings: &Settings) -> Option<Due> {
        self.valid_until().map(Due::Monotonic)
    }

    fn modes(settings: &Settings) -> AccessModes {
        AccessModes::permits(settings.permits.max(1))
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        Some(settings.timeout)
    }

    fn reads_wall_clock(settings: &Settings) -> bool {
        settings.stamps == Stamps::Clients
    }

    /// Entries have scores, and the set that they are in has no life of its own.
    fn needs_server_clock(settings: &Settings) -> bool {
        settings.stamps == Stamps::Server
    }
}
