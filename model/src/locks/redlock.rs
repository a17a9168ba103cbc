//! Redlock: the Redlock article, *Distributed Locks with Redis*, "Алгоритм Redlock", with the retry, the release and the extension of the
//! sections after it.
//!
//! N Redis masters know nothing of each other. A client holds the lock while a majority of them holds the key
//! `resource_name` with the client's random value, and knows for how long that will be: the keys expire by themselves.
//!
//! ```text
//!   step                                           A          1      2      3          B
//!   1  reads the clock: T1                         │          │      │      │          │
//!   2  SET key value NX PX ttl on every node       │── SET ──▶│ OK   │      │          │
//!                                                  │── SET ─────────▶│ OK   │          │
//!                                                  │── SET ────────────────▶│ (no answer within the time-out)
//!   3  a majority, in less than the validity?      │ yes      │      │      │◀── SET ──│ 1: nil, 2: nil, 3: OK
//!   4  valid for TTL - (now - T1) - drift          │ holds    │      │      │          │ no majority:
//!   5  else: unlocks all nodes                     │          │◀─────│◀─────│◀─ if own: DEL, waits, goes to 1
//!      release: unlocks all nodes                  │─ if own: DEL ──▶│─────▶│          │
//! ```
//!
//! **What it lives on.** Two majorities share a node, so that nobody else gets one while the keys of the first are
//! there: for at least `MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT` ("Соображения по поводу безопасности"). That wants
//! clocks of nodes and clients that run at nearly the same rate and are not set, keys that survive a restart (or nodes
//! that stay away for a TTL after one), no eviction, and a client that has stopped when its validity is over: no pause
//! between its last look at the clock and the end of its work.
//!
//! **What breaks it.** A pause or long work past the validity (R1), a pause before the replies are read if the elapsed time
//! is not taken off (R2), a node's clock that jumps (R3) or drifts past the margin (R10), a node that forgets (R4, R5,
//! R23), the client's wall clock set back while it measures the elapsed time (R9), an extension that makes lost keys
//! again (R15) or counts from too late (R16), an unlocking that is late and meets the keys of the next attempt (R34). It waits
//! without need: after a split vote with a fixed delay (R18), on a tie (R19), on a minority's error (R20), on keys left
//! behind (R21, R24), on a hung node (R25), cut off from the majority (R28).
//!
//! **Where the source is silent**, and what was decided:
//!
//! - The value: a new one for each attempt, so that an unlocking under way never meets the key of a later attempt. Most clients
//!   draw one for the whole call ([`DrawnFor::PerCall`]): then a late `DEL` of a first attempt deletes the keys of the second (R34).
//! - A reply that is there when its time-out is over too (the client was paused) may be read first, as from a socket; once
//!   the client has acted on the time-out, the answer is dismissed.
//! - Unlocking, after a failure or as the release: every node at once, and no answer is waited for, for nothing depends on
//!   it: a key that stays goes with its TTL. A SET that is still under way may land after it (R24). Where time does not
//!   pass, a client that retries for as long as it takes thus sends without end: such a space does not close.
//! - Retries are not bounded (`lock` waits for the lock), extensions are. After an extension that failed there is no other;
//!   the old validity stands until it is over, and so do the keys. (redlock-rb unlocks all nodes then.)
//! - An extension asks all nodes at once and is decided when all have answered or the time-out is over. The time-out is
//!   read from the clock that the validity is read from. A release does not wait for it: an extension under way may land after the
//!   release. The source's script then finds no key; [`ExtendBy::ExtendOrCreate`] makes one that nobody will release.

mod extension;
mod hold;
mod round;
mod settings;
#[cfg(test)]
mod tests;
mod validity;

pub use settings::{Contact, DrawnFor, ElapsedClock, ExtendBy, Extension, Settings, Settles, ValidityFrom};

use super::redis_keys::{self, LOCK, counter_key, lock_key};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, Store, Visitor};
use crate::names::Words;
use crate::stores::redis::{Change, Command, Key, Redis, Reply, Request, Token, Value};
use crate::time::{Due, Micros, Monotonic};
use hold::Hold;
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use round::{Round, Vote};
use serde::{Deserialize, Serialize};
use validity::{has_come, is_over, validity_from_now};

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Redis>;

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Redlock {
    /// The lock that was asked for last: `resource_name`.
    lock: LockId,
    phase: Phase,
    /// The last number drawn, for requests and for values.
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// Steps 2 and 3.
    Acquires(Attempt),
    /// "Повторная попытка при отказе": waits before it starts again with step 1.
    BacksOff {
        until: Monotonic,
        /// The number of the random value, if the next attempt has the same.
        value: Option<u32>,
    },
    /// Step 4: the application holds.
    Held(Hold),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Attempt {
    mode: Mode,
    /// The number of the random value.
    value: u32,
    /// `T1 + TTL - CLOCK_DRIFT`: step 3's comparison and step 4's validity are both the question whether it has come.
    /// `None`: not looked at, or not known before the attempt is decided ([`ValidityFrom::Replies`]).
    valid_until: Option<Due>,
    round: Round,
    /// The largest number that a counter has given.
    fence: Option<FencingToken>,
}

enum Input {
    Call(Call),
    /// A node has answered the request under way.
    Heard(u8, Reply),
    /// The deadline has come.
    Woken,
}

impl Redlock {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.lock = lock;
                self.begin(mode, None, cx, out);
            }
            (Phase::Held(hold), Input::Call(Call::Release)) => self.release(hold, cx, out),
            (Phase::Acquires(attempt), Input::Heard(from, reply)) => {
                let vote = Vote::on_lock(reply.outcome);
                self.on_vote(attempt, from, vote, cx, out);
            }
            (Phase::Acquires(attempt), Input::Woken) => self.on_time_out(attempt, cx, out),
            (Phase::BacksOff { value, .. }, Input::Woken) => self.begin(Mode::Lock, value, cx, out),
            (
                Phase::Held(mut hold @ Hold { extending: Some(mut extending), .. }),
                Input::Heard(from, reply),
            ) => {
                extending.round.count(from, Vote::on_extension(reply.outcome));
                hold.extending = Some(extending);
                self.phase = Phase::Held(hold);
                if extending.round.unheard.is_empty() {
                    self.end_extension(hold, extending, cx, out);
                }
            }
            (Phase::Held(hold), Input::Woken) => self.on_hold_deadline(hold, cx, out),
            (
                Phase::Acquires(_) | Phase::BacksOff { .. } | Phase::Held(_),
                Input::Call(Call::Acquire { .. }),
            ) => {
                unreachable!("the application has not given back what it asked for before")
            }
            (_, Input::Call(Call::Write)) => {
                unreachable!("no setup has this lock write inside its store")
            }
            (Phase::Idle | Phase::Acquires(_) | Phase::BacksOff { .. }, Input::Call(Call::Release)) => {
                unreachable!("only what was granted is released")
            }
            (Phase::Idle | Phase::BacksOff { .. } | Phase::Held(_), Input::Heard(..)) => {
                unreachable!("no round is under way, and replies to earlier ones are dismissed")
            }
            (Phase::Idle, Input::Woken) => unreachable!("nothing is due outside of calls"),
        }
    }

    /// Steps 1 and 2, with this random value or, if there is none, another one.
    fn begin(&mut self, mode: Mode, value: Option<u32>, cx: &Cx, out: &mut Out) {
        let valid_until = match cx.settings.validity_from {
            ValidityFrom::Start => validity_from_now(cx),
            ValidityFrom::Replies => None,
        };
        let value = value.unwrap_or_else(|| self.draw());
        let round = Round::new(value, cx.servers);
        self.ask(Attempt { mode, value, valid_until, round, fence: None }, cx, out);
    }

    /// Step 2: asks the next node, or all.
    fn ask(&mut self, mut attempt: Attempt, cx: &Cx, out: &mut Out) {
        attempt.round.serial = self.draw();
        attempt.round.until = cx.settings.node_timeout.map(|length| Due::Monotonic(cx.monotonic + length));
        let (key, value, ttl) = (self.key(), token(attempt.value, cx), cx.settings.px());
        let command = match cx.settings.fencing {
            false => Command::Set { key, value, if_absent: true, ttl },
            true => Command::SetAndIncr { key, value, ttl, counter: counter_key(self.lock) },
        };
        match cx.settings.contact {
            Contact::InTurn => send(attempt.round.next(), attempt.round.serial, &command, out),
            Contact::AtOnce => send(0..cx.servers, attempt.round.serial, &command, out),
        }
        self.phase = Phase::Acquires(attempt);
    }

    fn on_vote(&mut self, mut attempt: Attempt, from: u8, vote: Vote, cx: &Cx, out: &mut Out) {
        attempt.round.count(from, vote);
        if let Vote::Yes(Some(number)) = vote {
            attempt.fence = attempt.fence.max(Some(FencingToken(number)));
        }
        self.go_on(attempt, vote, cx, out);
    }

    fn on_time_out(&mut self, mut attempt: Attempt, cx: &Cx, out: &mut Out) {
        give_up(&mut attempt.round, cx.settings);
        self.go_on(attempt, Vote::Failed, cx, out);
    }

    fn go_on(&mut self, mut attempt: Attempt, last: Vote, cx: &Cx, out: &mut Out) {
        match (attempt.round.verdict(last, cx.settings), cx.settings.contact) {
            (Some(is_agreed), _) => self.settle(attempt, is_agreed, cx, out),
            (None, _) if attempt.round.unheard.is_empty() => {
                // A tie, and neither majority will ever be: the attempt waits for ever (R19).
                attempt.round.until = None;
                self.phase = Phase::Acquires(attempt);
            }
            (None, Contact::InTurn) => self.ask(attempt, cx, out),
            (None, Contact::AtOnce) => self.phase = Phase::Acquires(attempt),
        }
    }

    /// Steps 3 to 5.
    fn settle(&mut self, attempt: Attempt, is_agreed: bool, cx: &Cx, out: &mut Out) {
        let valid_until = match cx.settings.validity_from {
            ValidityFrom::Start => attempt.valid_until,
            ValidityFrom::Replies => validity_from_now(cx),
        };
        if is_agreed && !is_over(valid_until, cx) {
            out.record(Event::Secured { client: ClientId(cx.me), servers: attempt.round.yes });
            out.answer(Answer::Granted { fence: attempt.fence });
            let extensions_left = cx.settings.extension.map_or(0, |extension| extension.times_max);
            let hold = Hold { value: attempt.value, valid_until, extensions_left, extending: None };
            self.phase = Phase::Held(hold.without_unused(cx.settings));
            return;
        }
        if cx.settings.unlocks_after_failure {
            self.unlock(attempt.value, cx, out);
        }
        match attempt.mode {
            Mode::TryLock => {
                self.phase = Phase::Idle;
                out.answer(Answer::Refused);
            }
            Mode::Lock => {
                let delay = Micros(cx.settings.retry_delay.0 * (1 + i64::from(cx.choice)));
                let value = match cx.settings.value {
                    DrawnFor::PerAttempt => None,
                    DrawnFor::PerCall => Some(attempt.value),
                };
                self.phase = Phase::BacksOff { until: cx.monotonic + delay, value };
            }
        }
    }

    /// "Высвобождение блокировки": done as soon as every node has been told.
    fn release(&mut self, hold: Hold, cx: &Cx, out: &mut Out) {
        self.unlock(hold.value, cx, out);
        self.phase = Phase::Idle;
        out.answer(Answer::Released);
    }

    fn key(&self) -> Key {
        lock_key(self.lock)
    }

    /// Unlocks all nodes, also those that are believed not to be locked: a SET whose answer was lost may have set its key.
    fn unlock(&mut self, value: u32, cx: &Cx, out: &mut Out) {
        let command = Command::CompareAndDelete { key: self.key(), value: token(value, cx) };
        send(0..cx.servers, self.draw(), &command, out);
    }

    /// A number that this client has never used.
    fn draw(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// The round under way, if there is one.
    fn round(&self) -> Option<&Round> {
        match &self.phase {
            Phase::Acquires(attempt) => Some(&attempt.round),
            Phase::Held(hold) => hold.extending.as_ref().map(|extending| &extending.round),
            Phase::Idle | Phase::BacksOff { .. } => None,
        }
    }
}

impl Attempt {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.value);
        if let Some(until) = &mut self.valid_until {
            visitor.due(until);
        }
        self.round.visit(visitor);
        if let Some(fence) = &mut self.fence {
            Redis::visit_fence(fence, visitor);
        }
    }

    /// Whether the attempt, when `last` has been counted, fails or may fail, so that a delay will be drawn. Whether the
    /// validity is over is known to the clock alone: where it decides, the ways to go are equal if the lock is granted.
    fn may_fail(&self, last: Vote, settings: &Settings) -> bool {
        match self.round.verdict(last, settings) {
            Some(true) => self.valid_until.is_some(),
            Some(false) => true,
            None => false,
        }
    }
}

/// The time-out is over: one node is given up, or all that were asked at once.
fn give_up(round: &mut Round, settings: &Settings) {
    match (settings.contact, round.next()) {
        (Contact::InTurn, Some(server)) => round.count(server, Vote::Failed),
        (Contact::AtOnce, Some(_)) => round.give_up_all(),
        (Contact::InTurn | Contact::AtOnce, None) => unreachable!("nobody is waited for"),
    }
}

fn send(servers: impl IntoIterator<Item = u8>, serial: u32, command: &Command, out: &mut Out) {
    for server in servers {
        out.request(server, Request { serial, command: command.clone(), wait: false });
    }
}

fn token(serial: u32, cx: &Cx) -> Value {
    Value::Token(Token { client: cx.me, serial })
}

impl Lock for Redlock {
    type Store = Redis;
    type Settings = Settings;

    const WORDS: Words = redis_keys::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        Redlock { lock: LockId::default(), phase: Phase::Idle, serial: 0 }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        let is_awaited = self.round().is_some_and(|round| round.awaits(&reply) && round.takes(from));
        if is_awaited {
            self.step(Input::Heard(from, reply), cx, out);
        }
        // Else late, or a duplicate, or the answer to an unlocking that nobody waits for.
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        // Woken early, nothing is due.
        if self.deadline(cx.settings).is_some_and(|due| has_come(due, cx)) {
            self.step(Input::Woken, cx, out);
        }
    }

    fn on_restart(&mut self, cx: &Cx) {
        // The counter stays: it is not remembered, it stands for randomness. A new process draws other random values than
        // the old one, and has new connections, on which no reply to the old one can arrive.
        *self = Redlock { serial: self.serial, ..Redlock::new(cx.me, cx.settings) };
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Acquires(attempt) => attempt.round.until,
            Phase::BacksOff { until, .. } => Some(Due::Monotonic(*until)),
            // All are moments of the clock that the validity is measured by, so that the smallest comes first.
            Phase::Held(hold) => {
                let time_out = hold.extending.and_then(|extending| extending.round.until);
                [hold.validity_deadline(settings), hold.extension_deadline(settings), time_out]
                    .into_iter()
                    .flatten()
                    .min()
            }
        }
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        redis_keys::signed(LOCK, change, server)
    }

    fn choices(&self, reply: Option<&Reply>, settings: &Settings) -> u32 {
        let Phase::Acquires(mut attempt @ Attempt { mode: Mode::Lock, .. }) = self.phase else { return 1 };
        let last = match (reply, attempt.round.next()) {
            // Which of the nodes it is that answers makes no difference to the count.
            (Some(reply), Some(server)) if attempt.round.awaits(reply) => {
                let vote = Vote::on_lock(reply.outcome);
                attempt.round.count(server, vote);
                vote
            }
            (None, Some(_)) => {
                give_up(&mut attempt.round, settings);
                Vote::Failed
            }
            // A late reply, or a tie for ever.
            (Some(_), Some(_)) | (Some(_) | None, None) => return 1,
        };
        if attempt.may_fail(last, settings) { settings.retry_choices.max(1) } else { 1 }
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.round().is_none_or(|round| !round.awaits(reply))
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Acquires(attempt) => attempt.visit(visitor),
            Phase::BacksOff { until, value } => {
                visitor.wake(until);
                if let Some(value) = value {
                    visitor.serial(Owner::Me, value);
                }
            }
            Phase::Held(hold) => hold.visit(visitor),
        }
    }

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Idle => return Line::NONE,
            // Step 1 is over as soon as it begins, and step 3 as soon as step 2 has ended.
            Phase::Acquires(_) => 2,
            Phase::Held(_) => 4,
            Phase::BacksOff { .. } => 5,
        };
        Line { listing: 0, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Acquires(_) => "locking the nodes",
            Phase::BacksOff { .. } => "waiting before another attempt",
            Phase::Held(Hold { extending: None, .. }) => "holds",
            Phase::Held(Hold { extending: Some(_), .. }) => "holds, extending",
        }
    }

    fn valid_until(&self, settings: &Settings) -> Option<Due> {
        match self.phase {
            Phase::Held(hold) => hold.validity_deadline(settings),
            Phase::Idle | Phase::Acquires(_) | Phase::BacksOff { .. } => None,
        }
    }

    fn is_renewing(&self) -> bool {
        matches!(self.phase, Phase::Held(Hold { extending: Some(_), .. }))
    }

    fn fewest_servers(_settings: &Settings) -> u8 {
        3
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.ttl
    }

    fn reads_wall_clock(settings: &Settings) -> bool {
        settings.elapsed_clock == ElapsedClock::Wall
    }
}
