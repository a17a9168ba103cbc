//! A lock by one conditional write: what Cassandra 2.0 and later offer instead of the queue of the Cassandra paper, *The Cassandra queue
//! lock*, and what a program does that treats it like any other write.
//!
//! ```text
//!                                                     A           Cassandra          B
//!   1  INSERT M[owner = A] IF NOT EXISTS USING TTL    │── insert ───▶│               │
//!                                                     │◀─ applied ───│               │
//!   2  holds                                          │ holds        │◀── insert ────│
//!                                                     │              │── A has it ──▶│ waits, asks again
//!   3  DELETE M[owner] IF owner = A                   │── delete ───▶│               │
//!                                                     │◀─ applied ───│               │
//! ```
//!
//! **What it lives on.** Rounds of Paxos: of all conditional writes of one row, each sees what those before it wrote. A hold
//! that ends before the TTL does: there is no renewal, so the lease is as long as it is at the beginning, and the holder
//! does not look.
//!
//! **What breaks it.** A time-out says nothing: the write may have been applied, or may be finished later by somebody
//! else's round. The program that repeats the insert is then told that the lock is taken, by itself (row C29). A pause
//! A program that takes such an insert back, and asks again under another name ([`Settings::takes_back`]), is told that it is not there,
//! and a later round finishes it all the same, where a rejected write proposes nothing (row C39). A pause
//! longer than the TTL, as with every lease. And since the value names the thread and not the acquisition, a deletion that
//! arrives after the same thread has taken the lock again deletes that one.
//!
//! **Where no source decides:** a refused thread asks again after [`Settings::poll_interval`]; a request without an answer,
//! or with a time-out for one, is sent again at once, to the next server, whichever it is: a deletion too, whose condition
//! tells a second one from the first.

use super::awaited::Awaited;
use crate::locks::cassandra_tables::{self, MAIN};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, Visitor};
use crate::names::Words;
use crate::stores::cassandra::{
    Cassandra, Change, Condition, Operation, Outcome, Reply, Row, ThreadId, Value, Written,
};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{Event, LockId, Mode};
use serde::{Deserialize, Serialize};

/// The named knobs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// TTL of the cell in whole seconds; `None`: no lease.
    pub ttl_seconds: Option<u32>,
    /// How long a refused thread waits before it asks again.
    pub poll_interval: Micros,
    /// After how long without a reply a request's outcome is unknown; `None`: waits for ever.
    pub request_timeout: Option<Micros>,
    /// A refusal that shows the own value is a grant: an earlier insert of this acquisition was applied.
    pub own_value_is_success: bool,
    /// Each insert has a value of its own, as with a new UUID: one without an answer is deleted, if it is there, before the next.
    pub takes_back: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}

impl Settings {
    /// As one writes it who takes a refusal for a refusal.
    pub const fn as_written() -> Settings {
        Settings {
            ttl_seconds: Some(20),
            poll_interval: Micros::millis(200),
            request_timeout: Some(Micros::seconds(3)),
            own_value_is_success: false,
            takes_back: false,
        }
    }

    /// As it should be.
    pub const fn repaired() -> Settings {
        Settings { own_value_is_success: true, ..Settings::as_written() }
    }

    /// The bare algorithm: no lease, no waiting, no time-outs.
    pub const fn listing() -> Settings {
        Settings {
            ttl_seconds: None,
            poll_interval: Micros::ZERO,
            request_timeout: None,
            ..Settings::as_written()
        }
    }
}

/// One thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CassandraLwt {
    /// The lock that was asked for last.
    lock: LockId,
    phase: Phase,
    /// The server that is asked.
    contact: u8,
    serial: u32,
    /// The request under way.
    awaited: Option<Awaited>,
    /// Counts restarts: a thread that starts again is another thread.
    incarnation: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Inserts {
        mode: Mode,
    },
    Waits {
        until: Monotonic,
    },
    Held,
    Deletes,
    /// Deletes what an insert without an answer may have written.
    TakesBack {
        mode: Mode,
    },
}

/// What enters the `match`.
#[derive(Clone, Copy)]
enum Input {
    Call(Call),
    Applied,
    /// The condition does not hold; this is there.
    NotApplied(Option<Value>),
    /// No reply in time, or a time-out for a reply: the outcome is unknown.
    Unknown,
    /// The wait is over.
    Woken,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Cassandra>;

impl CassandraLwt {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            // Step 1.
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.lock = lock;
                self.insert(mode, cx, out);
            }
            (Phase::Waits { .. }, Input::Woken) => self.insert(Mode::Lock, cx, out),
            (Phase::Inserts { .. }, Input::Applied) => self.hold(out),
            (Phase::Inserts { .. }, Input::NotApplied(owner))
                if cx.settings.own_value_is_success && owner == Some(self.own_value(cx)) =>
            {
                self.hold(out);
            }
            (Phase::Inserts { mode: Mode::Lock }, Input::NotApplied(_)) => {
                self.phase = Phase::Waits { until: cx.monotonic + cx.settings.poll_interval };
            }
            (Phase::Inserts { mode: Mode::TryLock }, Input::NotApplied(_)) => {
                self.phase = Phase::Idle;
                out.answer(Answer::Refused);
            }
            (Phase::Inserts { mode }, Input::Unknown) => {
                self.turn_from_contact(cx);
                if cx.settings.takes_back {
                    self.take_back(mode, cx, out)
                } else {
                    self.insert(mode, cx, out)
                }
            }
            // It is gone, or it never was there, and never will be.
            (Phase::TakesBack { mode }, Input::Applied | Input::NotApplied(_)) => {
                self.incarnation = self.incarnation.wrapping_add(1);
                self.insert(mode, cx, out);
            }
            (Phase::TakesBack { mode }, Input::Unknown) => {
                self.turn_from_contact(cx);
                self.take_back(mode, cx, out);
            }

            // Step 3.
            (Phase::Held, Input::Call(Call::Release)) => self.delete(cx, out),
            // Not applied: it is deleted already, or expired.
            (Phase::Deletes, Input::Applied | Input::NotApplied(_)) => {
                self.phase = Phase::Idle;
                out.answer(Answer::Released);
            }
            (Phase::Deletes, Input::Unknown) => {
                self.turn_from_contact(cx);
                self.delete(cx, out);
            }

            (
                Phase::Idle | Phase::Waits { .. } | Phase::Held,
                Input::Applied | Input::NotApplied(_) | Input::Unknown,
            ) => unreachable!(
                "no request is awaited in this phase, and replies to others are dismissed before"
            ),
            (
                Phase::Idle | Phase::Inserts { .. } | Phase::Held | Phase::Deletes | Phase::TakesBack { .. },
                Input::Woken,
            ) => {
                unreachable!("only a refused thread sleeps")
            }
            (_, Input::Call(Call::Write)) => unreachable!("no setup has this lock write inside its store"),
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
        }
    }

    fn insert(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        self.phase = Phase::Inserts { mode };
        let change = Change::Put { value: self.own_value(cx), ttl_seconds: cx.settings.ttl_seconds };
        self.request(change, Condition::Absent, cx, out);
    }

    fn hold(&mut self, out: &mut Out) {
        self.phase = Phase::Held;
        out.answer(Answer::Granted { fence: None });
    }

    fn delete(&mut self, cx: &Cx, out: &mut Out) {
        self.phase = Phase::Deletes;
        self.request(Change::Delete, Condition::Equals(self.own_value(cx)), cx, out);
    }

    fn take_back(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        self.phase = Phase::TakesBack { mode };
        self.request(Change::Delete, Condition::Equals(self.own_value(cx)), cx, out);
    }

    fn request(&mut self, change: Change, condition: Condition, cx: &Cx, out: &mut Out) {
        let operation = Operation::Conditional { row: self.row(), change, condition };
        let time = (cx.monotonic, cx.settings.request_timeout);
        self.awaited =
            Some(Awaited::sent(operation, (cx.me + self.contact) % cx.servers, &mut self.serial, time, out));
    }

    fn row(&self) -> Row {
        cassandra_tables::row(MAIN, self.lock)
    }

    /// The thread's id.
    fn own_value(&self, cx: &Cx) -> Value {
        Value::Thread(ThreadId(u16::from(self.incarnation) << 8 | u16::from(cx.me)))
    }

    fn turn_from_contact(&mut self, cx: &Cx) {
        self.contact = (self.contact + 1) % cx.servers;
    }

    fn wakes_at(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Waits { until } => Some(until),
            Phase::Idle | Phase::Inserts { .. } | Phase::Held | Phase::Deletes | Phase::TakesBack { .. } => {
                None
            }
        }
    }
}

impl Lock for CassandraLwt {
    type Store = Cassandra;
    type Settings = Settings;

    const WORDS: Words = cassandra_tables::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        CassandraLwt {
            lock: LockId::default(),
            phase: Phase::Idle,
            contact: 0,
            serial: 0,
            awaited: None,
            incarnation: 0,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        if self.dismisses(&reply) {
            return; // Late: the request was given up.
        }
        self.awaited = None;
        let input = match reply.outcome {
            Outcome::Applied => Input::Applied,
            Outcome::Slice(found) => Input::NotApplied(found.first().map(|&(_, value)| value)),
            Outcome::TimedOut => Input::Unknown,
        };
        self.step(input, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        let has_come = |at: Option<Monotonic>| at.is_some_and(|at| at <= cx.monotonic);
        if has_come(self.awaited.and_then(|awaited| awaited.until)) {
            self.awaited = None;
            self.step(Input::Unknown, cx, out);
        } else if has_come(self.wakes_at()) {
            self.step(Input::Woken, cx, out);
        }
        // Else the engine woke us early: nothing is due.
    }

    fn on_restart(&mut self, cx: &Cx) {
        // A new process has new connections, on which no reply to the old one can arrive: its numbers are not reused.
        let (incarnation, serial) = (self.incarnation.wrapping_add(1), self.serial);
        *self = CassandraLwt { incarnation, serial, ..CassandraLwt::new(cx.me, cx.settings) };
    }

    fn means(change: &Written, server: u8) -> Option<Event> {
        cassandra_tables::means(change, server)
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        let request = self.awaited.and_then(|awaited| awaited.until);
        request.into_iter().chain(self.wakes_at()).min().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.awaited.is_none_or(|awaited| !awaited.is_answered_by(reply))
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(awaited) = &mut self.awaited {
            awaited.visit(visitor);
        }
        match &mut self.phase {
            Phase::Waits { until } => visitor.wake(until),
            Phase::Idle | Phase::Inserts { .. } | Phase::Held | Phase::Deletes | Phase::TakesBack { .. } => {}
        }
    }

    /// No listing: see the head of this file for what the steps are.
    fn line(&self) -> Line {
        match self.phase {
            Phase::Idle | Phase::Waits { .. } => Line::NONE,
            Phase::Inserts { .. } | Phase::TakesBack { .. } => Line { listing: 0, number: 1 },
            Phase::Held => Line { listing: 0, number: 2 },
            Phase::Deletes => Line { listing: 0, number: 3 },
        }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Inserts { .. } => "inserting",
            Phase::Waits { .. } => "waiting",
            Phase::Held => "holds",
            Phase::Deletes => "releasing",
            Phase::TakesBack { .. } => "taking back",
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.ttl_seconds.map(|seconds| Micros::seconds(i64::from(seconds)))
    }

    /// Timestamps are the ballots' of its coordinators.
    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }
}
