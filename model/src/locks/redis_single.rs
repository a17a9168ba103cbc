//! The lock on one Redis instance: the Redlock article, *Distributed Locks with Redis*, "Правильная реализация с единственным инстансом",
//! and on a master with replicas, of which the section before it ("Почему реализации, основанной на восстановлении после отказа, в данном
//! случае недостаточно") says that it does not suffice.
//!
//! A key is the lock. Who creates it holds it; its value is a random string, so that its owner can tell it from a later
//! one; its time to live gives it back if the owner is gone. The document numbers no steps here, so [`Line`]s stand for:
//! step 1 the `SET`, step 2 the fencing token drawn after it (not in the document), step 3 the hold with its extensions,
//! step 4 the release.
//!
//! ```text
//!                                              A             Redis            B
//!   1  SET lock A#1 NX PX 10000                │── SET NX PX ─▶│              │
//!                                              │◀── OK ────────│              │
//!  (2) INCR counter                            │               │              │
//!   3  holds, and may extend:                  │ holds         │◀─ SET NX PX ─│
//!      if lock = A#1 then PEXPIRE lock 10000   │               │─── nil ─────▶│
//!   4  if lock = A#1 then DEL lock             │── script ────▶│              │ waits 200 to 800 ms
//!                                              │◀── 1 ─────────│              │
//!                                              │               │◀─ SET NX PX ─│
//!                                              │               │─── OK ──────▶│ holds
//! ```
//!
//! **What it lives on.** One server that is always there and forgets nothing ("состоящей из единственного и всегда
//! доступного инстанса"), a hold that ends before the TTL does ("время, которое есть у клиента на выполнение операции"),
//! clocks of the client and the server that run alike, values that never repeat.
//!
//! **What breaks it** (catalogue, R and F rows). A pause longer than the TTL (R1): two holders, and only fencing keeps the
//! resource. Eviction or `FLUSHALL` (R23). Replication is asynchronous: the master dies before the key is on the replica
//! that is promoted (R7), or the replica's clock is ahead and the key expired on arrival (R8). A `SET` that arrives after
//! its own clean-up is a lock that nobody holds, for the TTL (R24). By choice: `DEL` (R11), `GET` and then `DEL` (R12), an
//! extension that makes the key anew (R15), a token drawn after the grant (F1). A counter lost in a failover (F2).
//!
//! **Where the source is silent**, and what was decided:
//!
//! - A reply that does not come: the outcome is unknown. The client takes its value back from the server that it asked
//!   (compare-and-delete, whatever [`Settings::release`] says, and without waiting for the answer) and counts the attempt
//!   as failed. An error is treated alike: a script that fails half way keeps what it did.
//! - Which server: the one asked last, and after `READONLY` or silence the next one. That stands for asking Sentinel who
//!   the master is; a client may so ask some servers in vain. With one server it changes nothing.
//! - A release without an answer is not repeated: the TTL is the repair. After a failover it goes to whom the client
//!   takes for the master by then.
//! - An extension without an answer is sent again at once, to the next server, as long as [`Extension::times_max`] allows;
//!   after an error, [`Settings::retry_delay`] later.
//! - An extension that finds the lock gone ends the hold of a client that minds its validity; one that does not mind goes
//!   on and tries no more.
//! - The end of the validity ends the hold also while an extension is under way; not so with the script that makes the
//!   key anew ([`ExtendBy::ExtendOrCreate`]), whose users do not look at the old validity.
//! - A release does not wait for the extension under way. If that one arrives last and makes the key anew, nobody holds a
//!   lock that is taken.

mod phase;
mod settings;
#[cfg(test)]
mod tests;

pub use super::redlock::ExtendBy;
pub use settings::{Extension, Fencing, Release, Settings};

use self::phase::{Attempt, Awaited, Lease, Phase, has_come};
use super::redis_keys::{self, LOCK, counter_key, lock_key};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, Visitor};
use crate::names::Words;
use crate::stores::redis::{Change, Command, Key, Outcome, Redis, Reply, Request, ServerError, Token, Value};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RedisSingle {
    /// The lock that was asked for last.
    lock: LockId,
    phase: Phase,
    /// The server that is asked: the master, for all this client knows.
    contact: u8,
    /// The last number drawn. It numbers the requests, and signs the key: the number of the `SET` is the lock's value.
    serial: u32,
    /// The request that the phase waits for, and when its outcome becomes unknown.
    awaited: Option<Awaited>,
}

/// What enters the `match`.
#[derive(Clone, Copy)]
enum Input {
    Call(Call),
    /// The awaited reply is no error.
    Ok,
    Nil,
    Integer(i64),
    Bulk(Value),
    /// The awaited request failed, or nobody knows.
    Failed(Failure),
    /// The retry delay is over.
    Woken,
    /// It is time to extend.
    ExtensionDue,
    /// The lease is over by the client's own clock.
    ValidityOver,
}

#[derive(Clone, Copy)]
enum Failure {
    /// No reply in time.
    Unknown,
    Error(ServerError),
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Redis>;

impl RedisSingle {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            // Step 1: SET NX PX.
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.lock = lock;
                self.set(mode, cx, out);
            }
            (Phase::Waits { .. }, Input::Woken) => self.set(Mode::Lock, cx, out),
            (Phase::Sets(attempt), Input::Ok) => match cx.settings.fencing {
                Fencing::None | Fencing::WithGrant => self.settle(attempt, None, cx, out),
                Fencing::AfterGrant => {
                    self.phase = Phase::Draws(attempt);
                    self.request(
                        Command::Incr(counter_key(self.lock)),
                        cx.settings.waits_for_replicas,
                        cx,
                        out,
                    );
                }
            },
            // Step 2, in one with step 1 or after it.
            (Phase::Sets(attempt) | Phase::Draws(attempt), Input::Integer(number)) => {
                self.settle(attempt, Some(FencingToken(number)), cx, out);
            }
            (Phase::Sets(attempt), Input::Nil) => self.fail(attempt.mode, cx, out),
            // The key may be set or not. The clean-up goes to the server that was asked.
            (Phase::Sets(attempt) | Phase::Draws(attempt), Input::Failed(failure)) => {
                self.clean_up(attempt.token, cx, out);
                self.turn_from_contact(failure, cx);
                self.fail(attempt.mode, cx, out);
            }

            // Step 3: holds, and extends.
            (Phase::Held(lease), Input::ExtensionDue) => self.extend(lease, cx, out),
            (Phase::Extends { lease, end }, Input::Ok | Input::Integer(1)) => {
                self.prolong(lease, end, cx, out);
            }
            // The key is gone, or another's.
            (Phase::Extends { lease, .. }, Input::Nil | Input::Integer(_)) => {
                match cx.settings.validity_margin {
                    Some(_) => self.lose(lease, out),
                    None => self.phase = Phase::Held(Lease::without_end(lease.token)),
                }
            }
            (Phase::Extends { lease, .. }, Input::Failed(failure)) => {
                self.turn_from_contact(failure, cx);
                match (lease.extensions_left, failure) {
                    (0, Failure::Unknown | Failure::Error(_)) => self.phase = Phase::Held(lease),
                    (_, Failure::Unknown) => self.extend(lease, cx, out),
                    (_, Failure::Error(_)) => {
                        let extend_at = Some(cx.monotonic + cx.settings.retry_delay);
                        self.phase = Phase::Held(Lease { extend_at, ..lease });
                    }
                }
            }
            (Phase::Held(lease) | Phase::Extends { lease, .. }, Input::ValidityOver) => self.lose(lease, out),

            // Step 4: deletes the key. Whatever becomes of it, the call is over: the TTL does the rest.
            (Phase::Held(lease) | Phase::Extends { lease, .. }, Input::Call(Call::Release)) => {
                self.release(lease.token, cx, out);
            }
            (Phase::Looks { token }, Input::Bulk(value)) if value == signature(token, cx) => {
                self.phase = Phase::Deletes;
                self.request(Command::Del(self.key()), cx.settings.waits_for_replicas, cx, out);
            }
            (Phase::Looks { .. }, Input::Bulk(_) | Input::Nil) | (Phase::Deletes, Input::Integer(_)) => {
                self.released(out);
            }
            (Phase::Looks { .. } | Phase::Deletes, Input::Failed(failure)) => {
                self.turn_from_contact(failure, cx);
                self.released(out);
            }

            (
                Phase::Idle | Phase::Waits { .. } | Phase::Held(_),
                Input::Ok | Input::Nil | Input::Integer(_) | Input::Bulk(_) | Input::Failed(_),
            ) => unreachable!(
                "no request is awaited in this phase, and replies to others are dismissed before"
            ),
            (Phase::Sets(_) | Phase::Draws(_) | Phase::Extends { .. } | Phase::Deletes, Input::Bulk(_)) => {
                unreachable!("only GET is answered with a value")
            }
            (Phase::Draws(_), Input::Ok | Input::Nil) => unreachable!("INCR is answered with a number"),
            (Phase::Looks { .. }, Input::Ok | Input::Integer(_)) => {
                unreachable!("GET is answered with a value or nil")
            }
            (Phase::Deletes, Input::Ok | Input::Nil) => unreachable!("a deletion is answered with a number"),
            (_, Input::Woken) => unreachable!("only a waiting client sleeps"),
            (_, Input::ExtensionDue) => unreachable!("only a holder extends, one extension at a time"),
            (_, Input::ValidityOver) => unreachable!("only a holder minds its validity"),
            (_, Input::Call(Call::Write)) => {
                unreachable!("no setup has this lock write inside its store")
            }
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
        }
    }

    fn set(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        let token = self.serial.wrapping_add(1);
        let (key, value, ttl) = (self.key(), signature(token, cx), cx.settings.px());
        let command = match cx.settings.fencing {
            Fencing::None | Fencing::AfterGrant => Command::Set { key, value, if_absent: true, ttl },
            Fencing::WithGrant => Command::SetAndIncr { key, value, ttl, counter: counter_key(self.lock) },
        };
        self.phase = Phase::Sets(Attempt { mode, token, end: cx.settings.end(cx.monotonic) });
        self.request(command, cx.settings.waits_for_replicas, cx, out);
    }

    /// The key is set, and the token drawn, if one is.
    fn settle(&mut self, attempt: Attempt, fence: Option<FencingToken>, cx: &Cx, out: &mut Out) {
        let extensions = cx.settings.extension.map_or(0, |extension| extension.times_max);
        let lease = Lease::new(attempt.token, attempt.end, extensions, cx.settings);
        if lease.is_over(cx.monotonic) {
            self.clean_up(attempt.token, cx, out);
            return self.fail(attempt.mode, cx, out);
        }
        self.phase = Phase::Held(lease);
        self.record_secured(cx, out);
        out.answer(Answer::Granted { fence });
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

    /// Takes back what a failed attempt may have set, or may set yet. Nobody waits for the answer.
    fn clean_up(&mut self, token: u32, cx: &Cx, out: &mut Out) {
        let command = Command::CompareAndDelete { key: self.key(), value: signature(token, cx) };
        self.request(command, false, cx, out);
        self.awaited = None;
    }

    fn extend(&mut self, lease: Lease, cx: &Cx, out: &mut Out) {
        let (Some(extension), Some(ttl)) = (cx.settings.extension, cx.settings.px()) else {
            unreachable!("an extension is due only if there is one, and something to extend");
        };
        let (key, value) = (self.key(), signature(lease.token, cx));
        let command = match extension.how {
            ExtendBy::CompareAndExtend => Command::CompareAndExtend { key, value, ttl },
            ExtendBy::ExtendOrCreate => Command::ExtendOrCreate { key, value, ttl },
        };
        let lease = Lease { extend_at: None, extensions_left: lease.extensions_left - 1, ..lease };
        let minds = cx.settings.validity_margin.is_some() || lease.extensions_left > 0;
        let end = cx.settings.end(cx.monotonic).filter(|_| minds);
        self.phase = Phase::Extends { lease, end };
        self.request(command, cx.settings.waits_for_replicas, cx, out);
    }

    /// The server says that the key lives longer.
    fn prolong(&mut self, lease: Lease, end: Option<Monotonic>, cx: &Cx, out: &mut Out) {
        let prolonged = Lease::new(lease.token, end, lease.extensions_left, cx.settings);
        let is_late = match cx.settings.creates() {
            // The document: only an extension that succeeds within the validity counts.
            false => lease.is_over(cx.monotonic),
            // redlock-rb compares with the new validity only.
            true => prolonged.is_over(cx.monotonic),
        };
        if is_late {
            return self.lose(lease, out);
        }
        self.phase = Phase::Held(prolonged);
        self.record_secured(cx, out);
        out.record(Event::Renewed { client: ClientId(cx.me) });
    }

    /// The application is told to stop, and releases within this entry.
    fn lose(&mut self, lease: Lease, out: &mut Out) {
        self.awaited = None;
        self.phase = Phase::Held(Lease::without_end(lease.token));
        out.answer(Answer::Lost);
    }

    fn key(&self) -> Key {
        lock_key(self.lock)
    }

    fn release(&mut self, token: u32, cx: &Cx, out: &mut Out) {
        let (phase, command, wait) = match cx.settings.release {
            Release::CompareAndDelete => {
                let value = signature(token, cx);
                (Phase::Deletes, Command::CompareAndDelete { key: self.key(), value }, true)
            }
            Release::Delete => (Phase::Deletes, Command::Del(self.key()), true),
            Release::GetThenDelete => (Phase::Looks { token }, Command::Get(self.key()), false),
        };
        self.phase = phase;
        self.request(command, wait && cx.settings.waits_for_replicas, cx, out);
    }

    fn released(&mut self, out: &mut Out) {
        self.phase = Phase::Idle;
        out.answer(Answer::Released);
    }

    /// Sends a request and awaits it; one that was awaited before is given up.
    fn request(&mut self, command: Command, wait: bool, cx: &Cx, out: &mut Out) {
        self.serial = self.serial.wrapping_add(1);
        let until = cx.settings.request_timeout.map(|timeout| cx.monotonic + timeout);
        self.awaited = Some(Awaited { serial: self.serial, until });
        out.request(self.contact, Request { serial: self.serial, command, wait });
    }

    /// The next server is asked the next time, if this one is silent or says that it is not the master.
    fn turn_from_contact(&mut self, failure: Failure, cx: &Cx) {
        match failure {
            Failure::Unknown | Failure::Error(ServerError::ReadOnly) => {
                self.contact = (self.contact + 1) % cx.servers;
            }
            Failure::Error(ServerError::OutOfMemory | ServerError::NotAnInteger | ServerError::WrongType) => {
            }
        }
    }

    fn record_secured(&self, cx: &Cx, out: &mut Out) {
        let servers = [self.contact].into_iter().collect();
        out.record(Event::Secured { client: ClientId(cx.me), servers });
    }
}

/// The lock's value: this client's, from this attempt.
fn signature(token: u32, cx: &Cx) -> Value {
    Value::Token(Token { client: cx.me, serial: token })
}

impl Lock for RedisSingle {
    type Store = Redis;
    type Settings = Settings;

    const WORDS: Words = redis_keys::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        RedisSingle { lock: LockId::default(), phase: Phase::Idle, contact: 0, serial: 0, awaited: None }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        if self.dismisses(&reply) {
            // Late: the request was given up, or nobody waited for its answer.
            return;
        }
        self.awaited = None;
        let input = match reply.outcome {
            Outcome::Ok => Input::Ok,
            Outcome::Nil => Input::Nil,
            Outcome::Bulk(value) => Input::Bulk(value),
            Outcome::Integer(number) => Input::Integer(number),
            Outcome::Error(error) => Input::Failed(Failure::Error(error)),
        };
        self.step(input, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        // A lease that is over goes first: whatever else is due does not matter any more.
        if has_come(self.phase.stops_at(cx.settings), cx.monotonic) {
            self.step(Input::ValidityOver, cx, out);
        } else if has_come(self.awaited.and_then(|awaited| awaited.until), cx.monotonic) {
            self.awaited = None;
            self.step(Input::Failed(Failure::Unknown), cx, out);
        } else if has_come(self.phase.extend_at(), cx.monotonic) {
            self.step(Input::ExtensionDue, cx, out);
        } else if has_come(self.phase.waits_until(), cx.monotonic) {
            self.step(Input::Woken, cx, out);
        }
        // Else the engine woke us early: nothing is due.
    }

    fn on_restart(&mut self, cx: &Cx) {
        // The counter is not durable: it stands for random strings, which do not repeat in a new process either, and for
        // new connections, on which no reply to the old process can arrive.
        *self = RedisSingle { serial: self.serial, ..RedisSingle::new(cx.me, cx.settings) };
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        let request = self.awaited.and_then(|awaited| awaited.until);
        [request, self.phase.stops_at(settings), self.phase.extend_at(), self.phase.waits_until()]
            .into_iter()
            .flatten()
            .min()
            .map(Due::Monotonic)
    }

    /// The retry delay is drawn where an attempt of `lock` fails. Whether one that succeeded on the server fails by the
    /// client's clock is not known here, so the entry counts as drawing if the client minds its validity; if it is granted,
    /// all its ways are the same way.
    fn means(change: &Change, server: u8) -> Option<Event> {
        redis_keys::signed(LOCK, change, server)
    }

    fn choices(&self, reply: Option<&Reply>, settings: &Settings) -> u32 {
        let (attempt, is_last_step) = match self.phase {
            Phase::Sets(attempt) => (attempt, settings.fencing != Fencing::AfterGrant),
            Phase::Draws(attempt) => (attempt, true),
            Phase::Idle
            | Phase::Waits { .. }
            | Phase::Held(_)
            | Phase::Extends { .. }
            | Phase::Looks { .. }
            | Phase::Deletes => return 1,
        };
        let may_fail = match reply {
            Some(reply) if self.dismisses(reply) => false,
            Some(Reply { outcome: Outcome::Ok | Outcome::Integer(_), .. }) => {
                is_last_step && settings.validity_margin.is_some() && attempt.end.is_some()
            }
            Some(Reply { outcome: Outcome::Nil | Outcome::Bulk(_) | Outcome::Error(_), .. }) | None => true,
        };
        if attempt.mode == Mode::Lock && may_fail { settings.retry_choices.max(1) } else { 1 }
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.awaited.is_none_or(|awaited| awaited.serial != reply.serial)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(awaited) = &mut self.awaited {
            awaited.visit(visitor);
        }
        self.phase.visit(visitor);
    }

    /// The document numbers no steps: see the head of this file for what these stand for.
    fn line(&self) -> Line {
        match self.phase {
            Phase::Idle | Phase::Waits { .. } => Line::NONE,
            Phase::Sets(_) => Line { listing: 0, number: 1 },
            Phase::Draws(_) => Line { listing: 0, number: 2 },
            Phase::Held(_) | Phase::Extends { .. } => Line { listing: 0, number: 3 },
            Phase::Looks { .. } | Phase::Deletes => Line { listing: 0, number: 4 },
        }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Sets(_) => "setting the key",
            Phase::Draws(_) => "drawing a token",
            Phase::Waits { .. } => "waiting",
            Phase::Held(_) => "holds",
            Phase::Extends { .. } => "holds, extends",
            Phase::Looks { .. } => "releasing: whose key?",
            Phase::Deletes => "releasing",
        }
    }

    fn valid_until(&self, settings: &Settings) -> Option<Due> {
        self.phase.stops_at(settings).map(Due::Monotonic)
    }

    fn is_renewing(&self) -> bool {
        matches!(self.phase, Phase::Extends { .. })
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.ttl
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }
}
