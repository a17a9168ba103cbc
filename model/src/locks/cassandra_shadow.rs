//! The old Cassandra lock: the Cassandra paper, *The Cassandra queue lock*, section 4, Listings 3 and 4, with the lease of section 5.3.
//!
//! Each lock id has a row in two tables. Threads fight in the *shadow* table: a thread adds its cell and reads the row, and
//! only one that is alone there goes on. The *main* table says who won.
//!
//! ```text
//!   Listing 3  TryLock                          A            Cassandra            B
//!   1  read the main row                        │── read M ───────▶│ {}             │
//!   2  if there is one cell: 3-6 it says who    │                  │                │
//!   7  add a cell to the shadow row             │── add S[A] ─────▶│                │
//!   8  read the shadow row                      │── read S ───────▶│ {A}            │
//!   9  if there is one cell:                    │                  │◀── add S[B] ────│
//!   10     if the main row is empty:            │── read M ───────▶│◀── read S ──────│ {A, B}: 14, 15
//!   11         add a cell to the main row       │── add M[A] ─────▶│                │
//!   12         delete the cell from the shadow  │── delete S[A] ──▶│                │
//!   13         Success                          │ holds            │                │
//!   14 delete the cell from the shadow row      │                  │◀─ delete S[B] ──│
//!   15 ConcurrentAttempt                        │── delete M[A] ──▶│                │ Listing 4: waits, tries again
//! ```
//!
//! **What it lives on.** Lemma 1, in the shadow row; and that the shadow cell of a thread stays where it is from line 7
//! until the thread's main cell is written: whoever finds the shadow row empty of it finds the main row full. So it wants
//! what Lemma 1 wants, and either shadow cells that do not expire or a second look after line 11.
//!
//! **What breaks it.** A crash between lines 7 and 14 leaves a shadow cell that blocks everybody (row C17); a TTL on it lets
//! a thread that pauses between lines 8 and 11 in beside another (C18); a clock that steps back hides a shadow or main
//! cell behind its own tombstone (C19); threads that wait equally long fight for ever (C21). And nobody stands in line:
//! whoever sleeps is overtaken, as often as the others like.
//!
//! **Where the source is silent.** What a time-out means (here: outcome unknown; reads and additions are repeated, deletions
//! are taken for done); how a lock is released (here: its main cell is deleted, and as in section 5.3 it has a TTL and a
//! thread that renews it); what two cells in the main row mean, which line 2 does not ask for (here, as the listing has it:
//! the thread goes on to line 7, and turns back at line 10).

mod renewer;
mod requests;
mod settings;
mod validity;

pub use settings::{Backoff, Reread, Settings};

use super::awaited::Awaited;
use crate::locks::cassandra_tables::{self, MAIN, SHADOW};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Line, Lock, Owner, StampGroup, Visitor};
use crate::names::Words;
use crate::stores::cassandra::{
    Cassandra, Change, FENCE_TIMES, Found, Operation, Outcome, Reply, SHARED, Value, Written,
};
use crate::time::{Due, Micros, Monotonic, Wall};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use renewer::Renewer;
use serde::{Deserialize, Serialize};
use settings::Refusal;

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Cassandra>;

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CassandraShadow {
    /// The client's number.
    me: u8,
    /// Counts restarts: a thread that starts again is another thread.
    incarnation: u8,
    /// The lock that was asked for last: `lockId`, the key of both rows.
    lock: LockId,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// Listing 4's variable, up to 255; 0 where the back-off does not ask for it.
    attempt: u8,
    /// Which server is asked; the next one after a time-out.
    contact: u8,
    /// The last serial number drawn.
    serial: u32,
    /// The request that the phase waits for, and when its outcome becomes unknown.
    awaited: Option<Awaited>,
    /// The background thread of section 5.3.
    renewer: Renewer,
    /// What the last timestamp of the monotonic generator was.
    last_timestamp: Option<Wall>,
    /// When the shadow cell was last sent; kept only if something is going to be compared with it, as the next two.
    shadow_since: Option<Monotonic>,
    /// Since when the lease runs: read just before the main cell was last written with success.
    lease_since: Option<Monotonic>,
    /// When the write under way was sent: `lease_since` once it is acknowledged.
    main_sent: Option<Monotonic>,
    /// The fencing token to be: the time of the last addition to the main row.
    fence: Option<Wall>,
}

/// Where the calling thread stands. Line numbers are of Listing 3, but for the back-off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// 1: reads the main row to see who is the owner.
    CheckOwner,
    /// 7: adds a cell to the shadow row.
    AddShadow,
    /// 8: reads the shadow row to see whether it has one cell.
    CheckRivals,
    /// 10: reads the main row to see whether it is empty.
    CheckFree,
    /// 11: adds a cell to the main row.
    AddMain,
    /// Repair of row C18: looks again.
    LookAgain,
    /// Repair of row C18: takes line 11 back.
    LeaveMain,
    /// 12 or 14: deletes the cell from the shadow row.
    LeaveShadow { succeeds: bool },
    /// Listing 4, 6 or 9: waits before it goes to 2.
    BacksOff { after: Refusal, until: Monotonic },
    /// 13: returned; the application holds.
    Held,
    /// Section 5.3: the renewal under way has to end before anything is deleted.
    JoinRenewer,
    /// Section 5.3: deletes the main cell.
    Release,
}

/// What enters the calling thread's `match`.
enum Input {
    Call(Call),
    /// The awaited write is acknowledged.
    Applied,
    /// The awaited read returned these columns.
    Slice(Found),
    /// The awaited request's outcome is unknown.
    Unknown {
        /// A coordinator said so: it did something. Else nobody answered.
        answered: bool,
    },
    /// The back-off is over.
    Woken,
}

impl CassandraShadow {
    /// The calling thread: Listing 3, a line an arm, and Listing 4 around it.
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            // Listing 4, line 1.
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                (self.lock, self.mode) = (lock, mode);
                self.attempt = u8::from(cx.settings.backoff.counts_attempts() && mode == Mode::Lock);
                self.try_lock(cx, out);
            }

            // Listing 3, lines 1 to 6.
            (Phase::CheckOwner, Input::Slice(columns)) => match self.owner(&columns, cx.settings) {
                Some(Ownership::Ours) => self.hold(cx, out),
                Some(Ownership::Theirs) => self.refuse(Refusal::AnotherThreadIsOwner, cx, out),
                None => {
                    if columns.is_empty() {
                        out.record(Event::FoundFree { client: ClientId(cx.me) });
                    }
                    self.add_shadow(cx, out);
                }
            },
            (Phase::CheckOwner, Input::Unknown { .. }) => self.try_lock(cx, out),

            // Line 7.
            (Phase::AddShadow, Input::Applied) => self.check_rivals(cx, out),
            // The cell may be there or not; adding it again adds the same cell.
            (Phase::AddShadow, Input::Unknown { .. }) => self.add_shadow(cx, out),

            // Lines 8 and 9.
            (Phase::CheckRivals, Input::Slice(columns)) => {
                let own = self.column(cx.settings);
                let is_own = columns.first().is_some_and(|(name, _)| *name == own);
                if columns.len() == 1 && (is_own || !cx.settings.own_id_check) {
                    self.check_free(cx, out);
                } else {
                    self.leave_shadow(false, cx, out);
                }
            }
            (Phase::CheckRivals, Input::Unknown { .. }) => self.check_rivals(cx, out),

            // Line 10.
            (Phase::CheckFree, Input::Slice(columns)) => {
                if columns.is_empty() {
                    self.add_main(cx, out)
                } else {
                    self.leave_shadow(false, cx, out)
                }
            }
            (Phase::CheckFree, Input::Unknown { .. }) => self.check_free(cx, out),

            // Line 11.
            (Phase::AddMain, Input::Applied) => {
                self.lease_since = self.main_sent;
                match cx.settings.reread {
                    // By its own clock, the thread stood in the shadow row while it wrote: nobody else came past it.
                    Reread::Nothing if self.shadow_is_valid(cx) => self.leave_shadow(true, cx, out),
                    Reread::Nothing => self.leave_main(cx, out),
                    Reread::Shadow | Reread::Main => self.look_again(cx, out),
                }
            }
            (Phase::AddMain, Input::Unknown { .. }) => self.add_main(cx, out),

            // The repair of row C18.
            (Phase::LookAgain, Input::Slice(columns)) => {
                let own = self.column(cx.settings);
                let is_own = columns.first().is_some_and(|(name, _)| *name == own);
                if columns.len() == 1 && is_own {
                    self.leave_shadow(true, cx, out);
                } else {
                    self.leave_main(cx, out);
                }
            }
            (Phase::LookAgain, Input::Unknown { .. }) => self.look_again(cx, out),
            (Phase::LeaveMain, Input::Unknown { answered })
                if cx.settings.retry_deletes.repeats(answered) =>
            {
                self.leave_main(cx, out);
            }
            (Phase::LeaveMain, Input::Applied | Input::Unknown { .. }) => self.leave_shadow(false, cx, out),

            // Lines 12 to 15.
            (Phase::LeaveShadow { succeeds }, Input::Unknown { answered })
                if cx.settings.retry_deletes.repeats(answered) =>
            {
                self.leave_shadow(succeeds, cx, out);
            }
            (Phase::LeaveShadow { succeeds: true }, Input::Applied | Input::Unknown { .. }) => {
                if self.lease_is_valid(cx) { self.hold(cx, out) } else { self.leave_main(cx, out) }
            }
            (Phase::LeaveShadow { succeeds: false }, Input::Applied | Input::Unknown { .. }) => {
                self.refuse(Refusal::ConcurrentAttempt, cx, out);
            }

            // Listing 4, lines 7, 10 and 11.
            (Phase::BacksOff { after, .. }, Input::Woken) => {
                if after == Refusal::ConcurrentAttempt && cx.settings.backoff.counts_attempts() {
                    self.attempt = self.attempt.saturating_add(1);
                }
                self.try_lock(cx, out);
            }

            // Section 5.3, release.
            (Phase::Held, Input::Call(Call::Release)) => {
                if cx.settings.join_renewer && self.renewer.is_writing() {
                    self.phase = Phase::JoinRenewer;
                } else {
                    self.begin_release(cx, out);
                }
            }
            (Phase::Release, Input::Unknown { answered }) if cx.settings.retry_deletes.repeats(answered) => {
                self.begin_release(cx, out);
            }
            (Phase::Release, Input::Applied | Input::Unknown { .. }) => {
                self.forget_call();
                out.answer(Answer::Released);
            }

            (
                Phase::Idle | Phase::Held | Phase::JoinRenewer | Phase::BacksOff { .. },
                Input::Applied | Input::Slice(_) | Input::Unknown { .. },
            ) => unreachable!(
                "no request is awaited in this phase, and replies to others are dismissed before"
            ),
            (
                Phase::CheckOwner | Phase::CheckRivals | Phase::CheckFree | Phase::LookAgain,
                Input::Applied,
            ) => {
                unreachable!("a read is not answered like a write")
            }
            (
                Phase::AddShadow
                | Phase::AddMain
                | Phase::LeaveMain
                | Phase::LeaveShadow { .. }
                | Phase::Release,
                Input::Slice(_),
            ) => unreachable!("a write is not answered like a read"),
            (_, Input::Woken) => unreachable!("only a thread that backs off sleeps"),
            (_, Input::Call(Call::Write)) => {
                unreachable!("no setup has this lock write inside its store")
            }
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
        }
    }

    /// What lines 2 and 3 make of the main row; `None` if it is not one cell.
    fn owner(&self, columns: &Found, settings: &Settings) -> Option<Ownership> {
        let [(name, _)] = columns.as_slice() else { return None };
        // A grant that has to know how old its cell is, or its token, cannot rest on one that is left from before.
        let takes_any = (!settings.validity_check || settings.ttl_seconds.is_none()) && !settings.fencing;
        match *name == self.column(settings) && takes_any {
            true => Some(Ownership::Ours),
            false => Some(Ownership::Theirs),
        }
    }

    /// Line 1, and Listing 4, line 2.
    fn try_lock(&mut self, cx: &Cx, out: &mut Out) {
        self.read(Phase::CheckOwner, self.row(MAIN), 2, cx, out);
    }

    fn add_shadow(&mut self, cx: &Cx, out: &mut Out) {
        let change = Change::Put { value: Value::EMPTY, ttl_seconds: cx.settings.shadow_ttl_seconds };
        let is_looked_at = cx.settings.validity_check && cx.settings.shadow_ttl_seconds.is_some();
        self.shadow_since = is_looked_at.then_some(cx.monotonic);
        self.write(Phase::AddShadow, self.row(SHADOW), change, cx, out);
        if cx.settings.reads_before_ack {
            self.check_rivals(cx, out);
        }
    }

    fn check_rivals(&mut self, cx: &Cx, out: &mut Out) {
        self.read(Phase::CheckRivals, self.row(SHADOW), 2, cx, out);
    }

    fn check_free(&mut self, cx: &Cx, out: &mut Out) {
        self.read(Phase::CheckFree, self.row(MAIN), 1, cx, out);
    }

    fn add_main(&mut self, cx: &Cx, out: &mut Out) {
        let mutation = self.put_main(cx);
        self.phase = Phase::AddMain;
        self.send(Operation::Write(mutation), cx, out);
    }

    fn look_again(&mut self, cx: &Cx, out: &mut Out) {
        self.phase = Phase::LookAgain;
        let own = self.column(cx.settings);
        let operation = match cx.settings.reread {
            Reread::Main => Operation::ReadSlice { row: self.row(MAIN), from: None, count: 2 },
            Reread::Shadow => Operation::ReadSlice { row: self.row(SHADOW), from: Some(own), count: 1 },
            Reread::Nothing => unreachable!("nothing is looked at again"),
        };
        self.send(operation, cx, out);
    }

    fn leave_main(&mut self, cx: &Cx, out: &mut Out) {
        self.lease_since = None;
        self.main_sent = None;
        self.fence = None;
        self.write(Phase::LeaveMain, self.row(MAIN), Change::Delete, cx, out);
    }

    fn leave_shadow(&mut self, succeeds: bool, cx: &Cx, out: &mut Out) {
        self.shadow_since = None;
        self.write(Phase::LeaveShadow { succeeds }, self.row(SHADOW), Change::Delete, cx, out);
    }

    /// Line 6 or 15; what Listing 4 makes of it.
    fn refuse(&mut self, refusal: Refusal, cx: &Cx, out: &mut Out) {
        match self.mode {
            Mode::TryLock => {
                self.forget_call();
                out.answer(Answer::Refused);
            }
            Mode::Lock => {
                let length = cx.settings.backoff.length(cx.choice);
                self.phase = Phase::BacksOff { after: refusal, until: cx.monotonic + length };
                if length == Micros::ZERO {
                    self.step(Input::Woken, cx, out);
                }
            }
        }
    }

    fn hold(&mut self, cx: &Cx, out: &mut Out) {
        self.phase = Phase::Held;
        self.start_renewer(cx);
        out.answer(Answer::Granted { fence: self.fence.map(|at| FencingToken(at.0)) });
    }

    fn begin_release(&mut self, cx: &Cx, out: &mut Out) {
        self.renewer = Renewer::Off;
        self.lease_since = None;
        self.main_sent = None;
        self.write(Phase::Release, self.row(MAIN), Change::Delete, cx, out);
    }

    fn forget_call(&mut self) {
        self.phase = Phase::Idle;
        self.mode = Mode::Lock;
        self.attempt = 0;
        self.lease_since = None;
        self.main_sent = None;
        self.fence = None;
    }

    /// Whether this entry ends a run of Listing 3 without success, so that a length is drawn.
    fn refusal(&self, outcome: Option<&Outcome>, settings: &Settings) -> Option<Refusal> {
        match (self.phase, outcome) {
            (Phase::CheckOwner, Some(Outcome::Slice(columns))) => match self.owner(columns, settings) {
                Some(Ownership::Theirs) => Some(Refusal::AnotherThreadIsOwner),
                Some(Ownership::Ours) | None => None,
            },
            (Phase::LeaveShadow { succeeds: false }, outcome) => {
                let is_repeated = match outcome {
                    Some(Outcome::TimedOut) => settings.retry_deletes.repeats(true),
                    None => settings.retry_deletes.repeats(false),
                    Some(Outcome::Applied | Outcome::Slice(_)) => false,
                };
                (!is_repeated).then_some(Refusal::ConcurrentAttempt)
            }
            (_, _) => None,
        }
    }
}

/// What one cell in the main row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ownership {
    /// Line 4.
    Ours,
    /// Line 6.
    Theirs,
}

impl Lock for CassandraShadow {
    type Store = Cassandra;
    type Settings = Settings;

    const WORDS: Words = cassandra_tables::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(me: u8, _settings: &Settings) -> Self {
        CassandraShadow {
            me,
            incarnation: 0,
            lock: LockId(0),
            mode: Mode::Lock,
            phase: Phase::Idle,
            attempt: 0,
            contact: 0,
            serial: 0,
            awaited: None,
            renewer: Renewer::Off,
            last_timestamp: None,
            shadow_since: None,
            lease_since: None,
            main_sent: None,
            fence: None,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        let is = |awaited: Option<Awaited>| awaited.is_some_and(|awaited| awaited.is_answered_by(&reply));
        if is(self.renewer.awaited()) {
            return self.on_renewal_reply(reply.outcome, cx, out);
        }
        if !is(self.awaited) {
            // Late: the request was given up, and repeated or overtaken by events.
            return;
        }
        self.awaited = None;
        let input = match reply.outcome {
            Outcome::Applied => Input::Applied,
            Outcome::Slice(columns) => Input::Slice(columns),
            Outcome::TimedOut => Input::Unknown { answered: true },
        };
        self.step(input, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        let due = |at: Option<Monotonic>| at.is_some_and(|at| at <= cx.monotonic);
        if due(self.validity_deadline(cx.settings)) {
            self.lose(out);
        } else if due(self.renewer.deadline()) {
            self.on_renewer_deadline(cx, out);
        } else if let Phase::BacksOff { until, .. } = self.phase
            && until <= cx.monotonic
        {
            self.step(Input::Woken, cx, out);
        } else if due(self.awaited.and_then(|awaited| awaited.until)) {
            self.awaited = None;
            self.contact = (self.contact + 1) % cx.servers;
            self.step(Input::Unknown { answered: false }, cx, out);
        }
        // Else the engine woke us early: nothing is due.
    }

    fn on_restart(&mut self, cx: &Cx) {
        let incarnation = self.incarnation.wrapping_add(1);
        // A new process has new connections, on which no reply to the old one can arrive: its numbers are not reused.
        let serial = self.serial;
        *self = CassandraShadow { incarnation, serial, ..CassandraShadow::new(cx.me, cx.settings) };
    }

    fn means(change: &Written, server: u8) -> Option<Event> {
        cassandra_tables::means(change, server)
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        let backoff = match self.phase {
            Phase::BacksOff { until, .. } => Some(until),
            _ => None,
        };
        let request = self.awaited.and_then(|awaited| awaited.until);
        [backoff, request, self.renewer.deadline(), self.validity_deadline(settings)]
            .into_iter()
            .flatten()
            .min()
            .map(Due::Monotonic)
    }

    fn choices(&self, reply: Option<&Reply>, settings: &Settings) -> u32 {
        let is_awaited = |reply: &Reply| self.awaited.is_some_and(|awaited| awaited.is_answered_by(reply));
        if self.mode == Mode::TryLock || reply.is_some_and(|reply| !is_awaited(reply)) {
            return 1;
        }
        match self.refusal(reply.map(|reply| &reply.outcome), settings) {
            Some(refusal) => settings.backoff.choices(refusal, self.attempt),
            None => 1,
        }
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        [self.awaited, self.renewer.awaited()]
            .into_iter()
            .flatten()
            .all(|awaited| !awaited.is_answered_by(reply))
    }

    /// Who is there is asked of one record only; of more than one, whether there are any. What stands behind the own shadow cell is asked
    /// of nobody.
    fn strike_out(&self, reply: &mut Reply, settings: &Settings) {
        let awaits = |awaited: Option<Awaited>| awaited.is_some_and(|awaited| awaited.serial == reply.serial);
        let Outcome::Slice(columns) = &mut reply.outcome else { return };
        let is_counted = match self.phase {
            Phase::CheckFree => awaits(self.awaited),
            Phase::CheckOwner | Phase::CheckRivals => awaits(self.awaited) && columns.len() > 1,
            Phase::LookAgain if awaits(self.awaited) => {
                let own = self.column(settings);
                columns.len() != 1 || columns.iter().any(|(name, _)| *name != own)
            }
            _ => {
                matches!(self.renewer, Renewer::ReadsMain(awaited) if awaits(Some(awaited)))
                    && columns.len() > 1
            }
        };
        if is_counted && self.phase == Phase::LookAgain {
            columns.clear();
        } else if is_counted {
            columns.iter_mut().for_each(|column| *column = (SHARED, Value::EMPTY));
        }
    }

    fn visit<V: Visitor>(&mut self, settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        self.awaited.iter_mut().for_each(|awaited| awaited.visit(visitor));
        self.renewer.visit(visitor);
        if let Phase::BacksOff { until, .. } = &mut self.phase {
            visitor.wake(until);
        }
        if let Some(last) = &mut self.last_timestamp {
            visitor.stamp(StampGroup { space: 3, member: u32::from(self.me) }, last);
        }
        visitor.client(&mut self.me);
        if let Some(fence) = &mut self.fence {
            visitor.stamp(FENCE_TIMES, fence);
        }
        let ttl = settings.ttl().unwrap_or(Micros::ZERO);
        let shadow_ttl = settings.shadow_ttl().unwrap_or(Micros::ZERO);
        self.shadow_since.iter_mut().for_each(|since| visitor.since(since, shadow_ttl));
        [&mut self.lease_since, &mut self.main_sent]
            .into_iter()
            .flatten()
            .for_each(|since| visitor.since(since, ttl));
    }

    fn carries_stamps_over(settings: &Settings, clocks_err: bool) -> bool {
        clocks_err && settings.timestamps.count_on()
    }

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::CheckOwner => 1,
            Phase::AddShadow => 7,
            Phase::CheckRivals => 8,
            Phase::CheckFree => 10,
            Phase::AddMain => 11,
            Phase::LeaveShadow { succeeds: true } => 12,
            Phase::LeaveShadow { succeeds: false } => 14,
            Phase::Held => 13,
            Phase::BacksOff { after: Refusal::AnotherThreadIsOwner, .. } => {
                return Line { listing: 4, number: 6 };
            }
            Phase::BacksOff { after: Refusal::ConcurrentAttempt, .. } => {
                return Line { listing: 4, number: 9 };
            }
            Phase::Idle | Phase::LookAgain | Phase::LeaveMain | Phase::JoinRenewer | Phase::Release => {
                return Line::NONE;
            }
        };
        Line { listing: 3, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::CheckOwner => "who is the owner?",
            Phase::AddShadow => "joining the shadow row",
            Phase::CheckRivals => "alone in the shadow row?",
            Phase::CheckFree => "is the main row empty?",
            Phase::AddMain => "joining the main row",
            Phase::LookAgain => "still alone?",
            Phase::LeaveMain => "leaving the main row",
            Phase::LeaveShadow { .. } => "leaving the shadow row",
            Phase::BacksOff { .. } => "waiting",
            Phase::Held => "holds",
            Phase::JoinRenewer => "releasing: waiting for the renewal to end",
            Phase::Release => "releasing",
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.ttl()
    }
}
