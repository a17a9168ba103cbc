//! The lock on the store that the Cassandra paper, *The Cassandra queue lock*, wishes for in section 6: "поток сообщает хранилищу, что он
//! хочет захватить блокировку, и через некоторое время хранилище само говорит потоку, что блокировка была успешно взята".
//!
//! The document has no more than this sentence, so the [`Line`]s are of this file: step 1 says what it wants, step 2 waits
//! until the store speaks, step 3 holds, step 4 gives back.
//!
//! ```text
//!                                          A             store            B
//!   1  enqueue the call                    │── enqueue ───▶│◀── enqueue ────│
//!   2  wait for the push                   │◀── granted ───│──── queued ───▶│ waits
//!   3  hold, and say so                    │── keep ──────▶│                │
//!                                          │◀── kept ──────│◀── enqueue ────│ "the same call, I live"
//!   4  give back                           │── release ───▶│── granted ────▶│ holds
//!                                          │◀── released ──│◀──── keep ─────│
//! ```
//!
//! **What it lives on.** A server that remembers what it has said; leases that are measured alike on both sides: the
//! server's from when a request arrives, the client's from when it was sent, which is before.
//!
//! **What breaks it.** A pause longer than the lease: two holders, and only fencing keeps the resource. Clocks that drift apart by more than the
//! margin. A server that forgets ([`Log::Unsynced`](crate::stores::feedback::Log)). By choice: a client that does not look at
//! its lease ([`Settings::minds_lease`]), one that calls anew where it should ask again ([`Repeats::NewTicket`]). And as
//! long as the one server is down, nobody gets anything.
//!
//! **Precautions**, each for one thing that goes wrong:
//!
//! - *An answer that does not come*: the same request again. The store knows the ticket, so that a call has one place.
//! - *A push that does not come*: the store repeats it, and a waiter's next sign of life is answered with it.
//! - *A push that comes late*: it names the last request heard of this call, and the client knows when it sent that one. If
//!   the lease counted from there may be over, the grant is not taken; the client asks again where it stands.
//! - *A lease that may be over while held*: the application is told to stop, by the client's own monotonic clock.
//! - *A call whose place is gone*: a waiter calls anew, and stands at the end; a holder stops.
//! - *A release that is not answered* is repeated until it is, so that the next one need not wait for the lease to run out.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Repeats, Settings};

use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, Visitor};
use crate::stores::feedback::{FeedbackStore, Reply, Request};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FeedbackLock {
    /// The lock that was asked for last.
    lock: LockId,
    phase: Phase,
    /// The last number drawn. It numbers the requests; a call's ticket is the number of its first one.
    serial: u32,
    /// The last sign of life, as long as no answer shows that the store has heard it.
    awaited: Option<Awaited>,
    /// When the next request is sent, if nothing happens before.
    again_at: Option<Monotonic>,
    /// Until when the lease runs at least, once known, if the client minds.
    valid_until: Option<Monotonic>,
}

/// Where the client stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// Step 1: has said what it wants, and has no answer yet.
    Enqueues { mode: Mode, ticket: u32 },
    /// Step 2: has a place in the queue.
    Waits { ticket: u32 },
    /// Step 3: the application holds.
    Holds { ticket: u32, fence: FencingToken },
    /// Step 4: gives the place back.
    Releases { ticket: u32 },
}

/// A sign of life that is not answered yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Awaited {
    serial: u32,
    /// Until when the lease runs at least if it is heard, and if the client minds.
    end: Option<Monotonic>,
}

/// What enters the `match`: of replies, only those to the present call.
#[derive(Clone, Copy)]
enum Input {
    Call(Call),
    Queued,
    Granted(FencingToken),
    Refused,
    Kept,
    Over,
    Released,
    /// It is time to send something again.
    AgainDue,
    /// The lease may be over.
    ValidityOver,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<FeedbackStore>;

/// The one server.
const SERVER: u8 = 0;

impl FeedbackLock {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            // Step 1.
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.lock = lock;
                self.call(mode, cx, out);
            }
            (Phase::Enqueues { mode, ticket }, Input::AgainDue) => match cx.settings.repeats {
                Repeats::SameTicket => self.enqueue(mode, ticket, cx, out),
                Repeats::NewTicket => self.call(mode, cx, out),
            },
            (Phase::Enqueues { mode: Mode::Lock, .. } | Phase::Waits { .. }, Input::Over) => {
                self.call(Mode::Lock, cx, out);
            }
            // What became of the attempt before nobody said; now it is over.
            (Phase::Enqueues { mode: Mode::TryLock, .. }, Input::Refused | Input::Over) => {
                self.end(Answer::Refused, out);
            }
            (Phase::Enqueues { mode: Mode::Lock, ticket } | Phase::Waits { ticket }, Input::Queued) => {
                self.phase = Phase::Waits { ticket };
                self.heard(cx);
            }

            // Step 2.
            (Phase::Waits { ticket }, Input::AgainDue) => self.enqueue(Mode::Lock, ticket, cx, out),
            (Phase::Enqueues { mode, ticket }, Input::Granted(fence)) => {
                self.take(mode, ticket, fence, cx, out);
            }
            (Phase::Waits { ticket }, Input::Granted(fence)) => self.take(Mode::Lock, ticket, fence, cx, out),

            // Step 3.
            (Phase::Holds { ticket, fence }, Input::AgainDue) => self.keep(ticket, fence, cx, out),
            (Phase::Holds { .. }, Input::Kept) => {
                self.heard(cx);
                // What was prolonged may be over again by the time this is known.
                if self.is_over(cx) {
                    self.lose(out);
                } else {
                    out.record(Event::Renewed { client: ClientId(cx.me) });
                }
            }
            (Phase::Holds { .. }, Input::Over | Input::ValidityOver) => self.lose(out),

            // Step 4.
            (Phase::Holds { ticket, .. }, Input::Call(Call::Release))
            | (Phase::Releases { ticket }, Input::AgainDue) => self.release(ticket, cx, out),
            (Phase::Releases { .. }, Input::Released) => self.end(Answer::Released, out),

            (_, Input::Call(Call::Write)) => {
                unreachable!("no setup has this lock write inside its store")
            }
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
            (Phase::Idle, Input::AgainDue) => unreachable!("an idle client sends nothing"),
            (
                Phase::Idle | Phase::Enqueues { .. } | Phase::Waits { .. } | Phase::Releases { .. },
                Input::ValidityOver,
            ) => unreachable!("only a holder minds its validity"),
            (
                Phase::Idle
                | Phase::Enqueues { .. }
                | Phase::Waits { .. }
                | Phase::Holds { .. }
                | Phase::Releases { .. },
                Input::Queued
                | Input::Granted(_)
                | Input::Refused
                | Input::Kept
                | Input::Over
                | Input::Released,
            ) => unreachable!("nobody waits for this reply in this phase: it was dismissed"),
        }
    }

    /// A new call, with a place at the end of the queue.
    fn call(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        self.valid_until = None;
        let ticket = self.serial.wrapping_add(1);
        self.enqueue(mode, ticket, cx, out);
    }

    /// The call, for the first time or again.
    fn enqueue(&mut self, mode: Mode, ticket: u32, cx: &Cx, out: &mut Out) {
        let serial = self.show_life(cx);
        if !matches!(self.phase, Phase::Waits { ticket: queued } if queued == ticket) {
            self.phase = Phase::Enqueues { mode, ticket };
        }
        let (lock, lease) = (self.lock, cx.settings.lease);
        out.request(SERVER, Request::Enqueue { lock, ticket, serial, mode, lease });
    }

    /// The store says that the lock is this call's.
    fn take(&mut self, mode: Mode, ticket: u32, fence: FencingToken, cx: &Cx, out: &mut Out) {
        if self.is_over(cx) {
            // If an answer is awaited, it will tell.
            if self.awaited.is_none() {
                self.enqueue(mode, ticket, cx, out);
            }
            return;
        }
        self.phase = Phase::Holds { ticket, fence };
        self.keep(ticket, fence, cx, out);
        out.answer(Answer::Granted { fence: Some(fence) });
    }

    fn keep(&mut self, ticket: u32, fence: FencingToken, cx: &Cx, out: &mut Out) {
        let serial = self.show_life(cx);
        out.request(SERVER, Request::Keep { ticket, serial, fence });
    }

    /// The application is told to stop, and releases within this entry.
    fn lose(&mut self, out: &mut Out) {
        self.stop_counting();
        out.answer(Answer::Lost);
    }

    fn release(&mut self, ticket: u32, cx: &Cx, out: &mut Out) {
        self.stop_counting();
        self.phase = Phase::Releases { ticket };
        self.again_at = cx.settings.request_timeout.map(|timeout| cx.monotonic + timeout);
        out.request(SERVER, Request::Release { ticket });
    }

    fn end(&mut self, answer: Answer, out: &mut Out) {
        self.stop_counting();
        self.phase = Phase::Idle;
        out.answer(answer);
    }

    fn stop_counting(&mut self) {
        self.awaited = None;
        self.again_at = None;
        self.valid_until = None;
    }

    /// Draws the number of a request from whose arrival on the lease runs anew.
    fn show_life(&mut self, cx: &Cx) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.awaited = Some(Awaited { serial: self.serial, end: cx.settings.end(cx.monotonic) });
        self.again_at = cx.settings.request_timeout.map(|timeout| cx.monotonic + timeout);
        self.serial
    }

    /// The store has heard the last sign of life.
    fn heard(&mut self, cx: &Cx) {
        if let Some(awaited) = self.awaited.take() {
            self.valid_until = awaited.end;
            self.again_at = cx.settings.heartbeat.map(|heartbeat| cx.monotonic + heartbeat);
        }
    }

    /// Whether the lease may be over, by the own clock.
    fn is_over(&self, cx: &Cx) -> bool {
        cx.settings.end(cx.monotonic).is_some() && self.valid_until.is_none_or(|end| end <= cx.monotonic)
    }

    fn is_awaited(&self, serial: u32) -> bool {
        self.awaited.is_some_and(|awaited| awaited.serial == serial)
    }

    fn stops_at(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Holds { .. } => self.valid_until,
            Phase::Idle | Phase::Enqueues { .. } | Phase::Waits { .. } | Phase::Releases { .. } => None,
        }
    }
}

impl Lock for FeedbackLock {
    type Store = FeedbackStore;
    type Settings = Settings;

    fn new(_me: u8, _settings: &Settings) -> Self {
        FeedbackLock {
            lock: LockId::default(),
            phase: Phase::Idle,
            serial: 0,
            awaited: None,
            again_at: None,
            valid_until: None,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        if self.dismisses(&reply) {
            // Late: it is about another call, or another question.
            return;
        }
        let input = match reply {
            Reply::Queued { .. } => Input::Queued,
            Reply::Granted { heard, fence, .. } => {
                if heard.is_some_and(|serial| self.is_awaited(serial)) {
                    self.heard(cx);
                }
                Input::Granted(fence)
            }
            Reply::Refused { .. } => Input::Refused,
            Reply::Kept { .. } => Input::Kept,
            Reply::Over { .. } => Input::Over,
            Reply::Released { .. } => Input::Released,
        };
        self.step(input, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        let has_come = |at: Option<Monotonic>| at.is_some_and(|at| at <= cx.monotonic);
        if has_come(self.stops_at()) {
            self.step(Input::ValidityOver, cx, out);
        } else if has_come(self.again_at) {
            self.step(Input::AgainDue, cx, out);
        }
        // Else the engine woke us early: nothing is due.
    }

    fn on_restart(&mut self, cx: &Cx) {
        // The counter is not durable: it stands for numbers that do not repeat in a new process either.
        *self = FeedbackLock { serial: self.serial, ..FeedbackLock::new(cx.me, cx.settings) };
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        [self.stops_at(), self.again_at].into_iter().flatten().min().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        match (self.phase, reply) {
            (Phase::Idle, _) => true,
            (
                Phase::Enqueues { ticket, .. }
                | Phase::Waits { ticket }
                | Phase::Holds { ticket, .. }
                | Phase::Releases { ticket },
                reply,
            ) if reply.ticket() != ticket => true,
            (Phase::Enqueues { .. } | Phase::Waits { .. }, Reply::Queued { serial, .. })
            | (Phase::Holds { .. }, Reply::Kept { serial, .. }) => !self.is_awaited(*serial),
            (Phase::Enqueues { .. } | Phase::Waits { .. }, Reply::Granted { .. } | Reply::Over { .. })
            | (Phase::Enqueues { mode: Mode::TryLock, .. }, Reply::Refused { .. })
            | (Phase::Holds { .. }, Reply::Over { .. })
            | (Phase::Releases { .. }, Reply::Released { .. }) => false,
            // It holds already, and has said so.
            (Phase::Holds { .. }, Reply::Granted { .. })
            | (Phase::Holds { .. }, Reply::Queued { .. } | Reply::Refused { .. } | Reply::Released { .. })
            | (
                Phase::Enqueues { .. } | Phase::Waits { .. },
                Reply::Kept { .. } | Reply::Refused { .. } | Reply::Released { .. },
            )
            | (
                Phase::Releases { .. },
                Reply::Queued { .. }
                | Reply::Granted { .. }
                | Reply::Refused { .. }
                | Reply::Kept { .. }
                | Reply::Over { .. },
            ) => true,
        }
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Enqueues { ticket, .. }
            | Phase::Waits { ticket }
            | Phase::Holds { ticket, .. }
            | Phase::Releases { ticket } => visitor.serial(Owner::Me, ticket),
        }
        let ends = self.awaited.as_mut().and_then(|awaited| {
            visitor.serial(Owner::Me, &mut awaited.serial);
            awaited.end.as_mut()
        });
        for at in [ends, self.again_at.as_mut(), self.valid_until.as_mut()].into_iter().flatten() {
            visitor.wake(at);
        }
    }

    /// The document numbers no steps: see the head of this file for what these stand for.
    fn line(&self) -> Line {
        match self.phase {
            Phase::Idle => Line::NONE,
            Phase::Enqueues { .. } => Line { listing: 0, number: 1 },
            Phase::Waits { .. } => Line { listing: 0, number: 2 },
            Phase::Holds { .. } => Line { listing: 0, number: 3 },
            Phase::Releases { .. } => Line { listing: 0, number: 4 },
        }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Enqueues { .. } => "joining the queue",
            Phase::Waits { .. } => "waiting",
            Phase::Holds { .. } => "holds",
            Phase::Releases { .. } => "releasing",
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.lease
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }
}
