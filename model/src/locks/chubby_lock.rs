//! A lock of a Chubby cell (M. Burrows, The Chubby lock service for loosely-coupled distributed systems, OSDI 2006; the lock-manager
//! article, *Distributed lock manager*): held in a session, for as long as that goes on. With other settings it is Consul's `Lock`
//! (`api/lock.go`).
//!
//! The paper numbers no steps; lines of a trace are these.
//!
//! ```text
//!                                                 A            master             B
//!   1  a session, and KeepAlives from then on     │── create ────▶│◀──── create ──│
//!                                                 │── KeepAlive ─▶│ held          │
//!   2  Acquire                                    │── acquire ───▶│◀─── acquire ──│ waits
//!                                                 │◀─ acquired, 1 │               │
//!   3  hold; writes carry the sequencer           │ holds         │               │
//!   4  Release                                    │── release ───▶│─ acquired, 2 ▶│ holds
//! ```
//!
//! **What it lives on.** The client's local lease ends before the master's. Whoever holds stops when it is over, or the lock-delay is
//! longer than it goes on. A new master keeps every session for as long as the old one may have promised.
//!
//! **What breaks it.** A holder that pauses for longer than its lease and its lock-delay together: two hold, and only a
//! sequencer keeps the first one's write out. A local lease that is counted from the answer ([`Count`](crate::stores::chubby::session::Count)).
//! A holder that works on in jeopardy ([`OnJeopardy::GoOn`]) for longer than the lock-delay. A resource that looks for the newest
//! sequencer it has seen, and has not seen the new holder's when it has read already (row H4).
//!
//! **Ours.** In the paper a program is told of jeopardy by an event, and what it does then is its affair; here its lock says that it is
//! lost ([`OnJeopardy::Stop`]), or nothing.
//!
//! **What it does not promise.** Any order among those who wait: a new master knows of none.
//!
//! **Consul.** The blocking queries of `Lock` are left out: by which a waiter learns at once that the lock is free (here it asks every
//! five seconds, as the real one does while a lock-delay runs), and by which a holder learns that its session is lost. Here the leader tells
//! it, once: a notice that is lost with the leader lets a second one in, where the real query fails with its leader and its holder stops
//! (`MonitorRetries` 0).

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Fence, OnJeopardy, Sessions, Settings, Wait};

use crate::cluster::Setup;
use crate::machine::{
    Answer, Call, Context, Effects, IDLE, Idle, Line, Lock, Owner, UNCHECKED_TOKENS, Visitor,
};
use crate::stores::chubby::session::{Here, Notice, Notices, Session};
use crate::stores::chubby::{Change, Chubby, Generation, Handle, Operation, Outcome, Reply};
use crate::time::{Due, Micros, Monotonic};
use crate::workload::Workload;
use picklock_properties::{Access, AccessModes, ClientId, Event, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ChubbyLock {
    /// The client's library.
    session: Session,
    /// The lock that is or was last asked for.
    lock: LockId,
    /// In which mode.
    access: Access,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// By which the lock is asked for, or had.
    handle: Option<u32>,
    /// The sequencer's number, while the lock is had.
    generation: Option<Generation>,
    /// When a client that waits at home asks again.
    again_at: Option<Monotonic>,
}

/// Where the client stands, by the steps above.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// Step 1: asks for a session.
    Open,
    /// Step 2: asks for the lock.
    Acquire,
    /// Step 2, of a client that waits at home.
    Sleep,
    /// Step 3.
    Held,
    /// Step 3: has its write done by the master.
    Write,
    /// The application was told that it does not hold any more.
    Lost,
    /// Step 4: gives the lock back.
    Release,
    /// Step 4, of a client that has a session for each hold: ends it. Whether it was refused.
    End { refused: bool },
}

/// What enters the client's `match`.
enum Input {
    Call(Call),
    /// The library says so.
    Told(Notice),
    /// A client that waits at home has waited long enough.
    Awake,
}

/// Alone: the first of [`AccessModes::SHARED_EXCLUSIVE`].
pub const EXCLUSIVE: Access = Access::FIRST;

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Chubby>;

impl ChubbyLock {
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access })) => {
                (self.lock, self.mode, self.access) = (lock, mode, access);
                self.begin(cx, out);
            }

            // Step 1.
            (Phase::Open, Input::Told(Notice::Open)) => self.go(Phase::Acquire, cx, out),

            // Step 2.
            (Phase::Acquire, Input::Told(Notice::Answered(Outcome::Acquired(generation)))) => {
                self.hold(generation, cx, out);
            }
            (Phase::Acquire, Input::Told(Notice::Answered(Outcome::Refused))) => {
                match (self.mode, cx.settings.wait) {
                    (Mode::Lock, Wait::AtHome(interval)) => {
                        self.phase = Phase::Sleep;
                        self.again_at = Some(cx.monotonic + interval);
                    }
                    (Mode::TryLock, _) => self.leave(true, cx, out),
                    (Mode::Lock, Wait::AtTheMaster) => unreachable!("the master lets it wait"),
                }
            }
            (Phase::Sleep, Input::Awake) => self.go(Phase::Acquire, cx, out),
            (Phase::Acquire | Phase::Sleep, Input::Told(Notice::Over)) => {
                self.again_at = None;
                self.begin(cx, out);
            }

            // Step 3.
            (Phase::Held, Input::Told(Notice::KeptAlive)) => {
                out.record(Event::Renewed { client: ClientId(cx.me) });
            }
            (Phase::Held, Input::Call(Call::Write)) => self.go(Phase::Write, cx, out),
            (Phase::Write, Input::Told(Notice::Answered(Outcome::Written { accepted }))) => {
                self.phase = Phase::Held;
                out.answer(Answer::Written { accepted });
            }
            (Phase::Held | Phase::Write, Input::Told(Notice::Jeopardy)) => match cx.settings.on_jeopardy {
                OnJeopardy::Stop => self.lose(out),
                OnJeopardy::GoOn => {}
            },
            (Phase::Held | Phase::Write, Input::Told(Notice::Over)) => self.lose(out),

            // Step 4.
            (Phase::Held | Phase::Lost, Input::Call(Call::Release)) => match self.session.id() {
                Some(_) => self.go(Phase::Release, cx, out),
                None => self.finish(Answer::Released, out),
            },
            (Phase::Release, Input::Told(Notice::Answered(Outcome::Released))) => self.leave(false, cx, out),
            (Phase::Release | Phase::End { refused: false }, Input::Told(Notice::Over)) => {
                self.finish(Answer::Released, out);
            }
            (Phase::End { refused: true }, Input::Told(Notice::Over)) => self.finish(Answer::Refused, out),

            // Only a holder looks at its session.
            (
                Phase::Idle
                | Phase::Open
                | Phase::Acquire
                | Phase::Sleep
                | Phase::Write
                | Phase::Lost
                | Phase::Release
                | Phase::End { .. },
                Input::Told(Notice::KeptAlive | Notice::Jeopardy),
            )
            | (Phase::Idle | Phase::Lost, Input::Told(Notice::Over)) => {}

            (
                phase,
                Input::Call(_)
                | Input::Told(Notice::Open | Notice::Over | Notice::Answered(_))
                | Input::Awake,
            ) => unreachable!("nothing of the kind is under way in {phase:?}"),
        }
    }

    /// Steps 1 and 2.
    fn begin(&mut self, cx: &Cx, out: &mut Out) {
        (self.handle, self.generation) = (None, None);
        let next = if self.session.id().is_some() { Phase::Acquire } else { Phase::Open };
        self.go(next, cx, out);
    }

    /// Enters a phase, and asks what it asks.
    fn go(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        let here = here(cx);
        if phase == Phase::Open {
            return self.session.open(&here, out);
        }
        let Some(session) = self.session.id() else { unreachable!("{phase:?} is of a session") };
        if phase == Phase::Acquire {
            self.handle = Some(self.session.draw());
        }
        let Some(number) = self.handle else { unreachable!("{phase:?} is by a handle") };
        let (handle, lock) = (Handle { session, number }, self.lock);
        let operation = match phase {
            Phase::Acquire => {
                let mode = match cx.settings.wait {
                    Wait::AtTheMaster => self.mode,
                    Wait::AtHome(_) => Mode::TryLock,
                };
                Operation::Acquire {
                    handle,
                    lock,
                    access: self.access,
                    mode,
                    lock_delay: cx.settings.lock_delay,
                }
            }
            Phase::Write => {
                let sequencer = self.generation.filter(|_| cx.settings.fence == Fence::Sequencer);
                Operation::Write { handle, lock, sequencer }
            }
            Phase::Release => Operation::Release { handle, lock },
            Phase::End { .. } => Operation::EndSession(session),
            Phase::Idle | Phase::Open | Phase::Sleep | Phase::Held | Phase::Lost => {
                unreachable!("{phase:?} asks nothing")
            }
        };
        self.session.call(operation, &here, out);
    }

    fn hold(&mut self, generation: Generation, cx: &Cx, out: &mut Out) {
        debug_assert!(self.session.is_safe(&here(cx)), "in jeopardy nothing is acquired");
        self.phase = Phase::Held;
        self.generation = Some(generation);
        // Who shares a lock writes nothing, and all who share it have one generation.
        let shows = cx.settings.fence == Fence::Sequencer && self.access == EXCLUSIVE;
        let Generation(number) = generation;
        out.answer(Answer::Granted { fence: shows.then_some(FencingToken(number)) });
    }

    fn lose(&mut self, out: &mut Out) {
        self.phase = Phase::Lost;
        self.session.forget_call();
        out.answer(Answer::Lost);
    }

    /// The lock is not had, and the session may not be needed any more.
    fn leave(&mut self, refused: bool, cx: &Cx, out: &mut Out) {
        match cx.settings.sessions {
            Sessions::OneEachHold => self.go(Phase::End { refused }, cx, out),
            Sessions::OneEach => self.finish(if refused { Answer::Refused } else { Answer::Released }, out),
        }
    }

    fn finish(&mut self, answer: Answer, out: &mut Out) {
        self.phase = Phase::Idle;
        self.mode = Mode::Lock;
        (self.handle, self.generation, self.again_at) = (None, None, None);
        out.answer(answer);
    }

    fn take(&mut self, notices: Notices, cx: &Cx, out: &mut Out) {
        notices.into_iter().for_each(|notice| self.step(Input::Told(notice), cx, out));
    }
}

fn here<'a>(cx: &Cx<'a>) -> Here<'a> {
    Here::new(cx, &cx.settings.session)
}

impl Lock for ChubbyLock {
    type Store = Chubby;
    type Settings = Settings;

    const WRITES_INSIDE: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        ChubbyLock {
            session: Session::new(),
            lock: LockId::default(),
            access: EXCLUSIVE,
            mode: Mode::Lock,
            phase: Phase::Idle,
            handle: None,
            generation: None,
            again_at: None,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        let notices = self.session.on_reply(reply, &here(cx), out);
        self.take(notices, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        if self.again_at.take_if(|at| cx.monotonic >= *at).is_some() {
            self.step(Input::Awake, cx, out);
        }
        let notices = self.session.on_deadline(&here(cx), out);
        self.take(notices, cx, out);
    }

    fn on_restart(&mut self, cx: &Cx) {
        let mut session = self.session.clone();
        session.restart();
        *self = ChubbyLock { session, ..ChubbyLock::new(cx.me, cx.settings) };
    }

    /// Whose session has the lock, has it; a session that is lost is a record that is gone.
    fn means(change: &Change, server: u8) -> Option<Event> {
        Some(match *change {
            Change::Acquired { client, lock } => Event::Acquired { client: ClientId(client), lock },
            Change::Lost { client, lock } => Event::RecordGone { client: ClientId(client), lock, server },
            Change::Wrote { client, lock: _, accepted: true } => {
                Event::Accepted { client: ClientId(client), fence: None, hold: None }
            }
            Change::Wrote { client, lock: _, accepted: false } => {
                Event::Rejected { client: ClientId(client), fence: None, hold: None }
            }
        })
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.session.deadline().into_iter().chain(self.again_at).min().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.session.dismisses(reply)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        self.session.visit(visitor);
        self.handle.iter_mut().for_each(|handle| visitor.serial(Owner::Me, handle));
        self.again_at.iter_mut().for_each(|at| visitor.wake(at));
    }

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Open => 1,
            Phase::Acquire | Phase::Sleep => 2,
            Phase::Held | Phase::Write => 3,
            Phase::Release | Phase::End { .. } => 4,
            Phase::Idle | Phase::Lost => return Line::NONE,
        };
        Line { listing: 0, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Open => "asking for a session",
            Phase::Acquire => "asking for the lock",
            Phase::Sleep => "asking again later",
            Phase::Held => "holds",
            Phase::Write => "writing in the cell",
            Phase::Lost => "has lost the lock",
            Phase::Release => "releasing",
            Phase::End { .. } => "ending its session",
        }
    }

    fn valid_until(&self, settings: &Settings) -> Option<Due> {
        match (self.phase, settings.on_jeopardy) {
            (Phase::Held, OnJeopardy::Stop) => self.session.safe_until().map(Due::Monotonic),
            _ => None,
        }
    }

    fn modes(_settings: &Settings) -> AccessModes {
        AccessModes::SHARED_EXCLUSIVE
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.session.lease
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    fn idle(settings: &Settings, workload: &Workload) -> Option<Idle> {
        let shows = settings.fence == Fence::Sequencer && workload.writes.reach_the_resource();
        (shows && !workload.resource_checks).then_some(Idle { setting: "fence", why: UNCHECKED_TOKENS })
    }

    /// The session as the master counts it, and the lock-delay after it.
    fn patience(setup: &Setup<ChubbyLock>) -> Option<Micros> {
        let lease = setup.lock.session.lease?;
        Some(setup.store.at_the_master(lease) + setup.lock.lock_delay)
    }
}
