//! The Cassandra queue lock: the Cassandra paper, section 5, Listings 5, 6 and 7, with the lease of section 5.3.
//!
//! Each lock id has two rows: the queue Q, ordered by arrival time (Listing 5), and the main row M, which names the
//! owner. A thread joins Q, waits until it is first there, joins M, and holds the lock if it then finds one record in M.
//!
//! ```text
//!   Listing 6  GetLock                          A            Cassandra            B
//!   1  add the thread to the queue              │── add Q[10·A] ──▶│                │
//!   2  if our thread is first in the queue:     │── read Q ───────▶│ {10·A}         │
//!   3      add a cell to the main row           │── add M[A] ─────▶│◀── add Q[20·B] ─│
//!   4      if the main row has one record:      │── read M ───────▶│ {A}            │
//!   5          done                             │ holds            │◀── read Q ──────│
//!   6      else:                                │                  │ {10·A, 20·B}    │
//!   7          delete the cell from the main row│                  │                │ waits,
//!   8          go to 2                          │                  │                │ reads Q again
//!   9  else:                                    │── delete Q[10·A] ▶│                │
//!   10     go to 2                              │── delete M[A] ──▶│                │
//! ```
//!
//! **What it lives on.** Lemma 1: of two threads that write a record each and then read the row, one sees both. That
//! wants quorums that intersect, reads that start after the own write is acknowledged, acknowledged writes that
//! survive, write timestamps that grow, records that do not expire before both have read, and thread ids that differ.
//!
//! **What breaks it.** A pause longer than the TTL after line 4 (two holders); a pause between lines 3 and 4 ("one
//! record" is not "my record"); a clock that steps back or stands still (a record hidden by its own tombstone); a
//! waiter whose queue cell expires (it polls for ever); a crash without TTL; `crate::claims` has the whole list.
//!
//! **Where the source is silent.** What a time-out means (here: outcome unknown; reads and additions are repeated, as
//! they are idempotent, deletions are taken for done), how long "go to 2" waits (`poll_interval`), the order in which a
//! release deletes its two cells (here: both are sent at once). [`Settings::repaired`] decides all three for the better.

mod phase;
mod renewal;
mod requests;
mod settings;

pub use settings::{Expiry, QueueOrder, ReleaseOrder, RetryDeletes, Settings, Timestamps};

use super::awaited::Awaited;
use crate::locks::cassandra_tables::{self, MAIN, QUEUE};
use crate::machine::{Answer, Call, Context, Effects, Line, Lock, Owner, StampGroup, Visitor};
use crate::names::Words;
use crate::stores::cassandra::{
    Cassandra, ColumnName, FENCE_TIMES, NAME_GROUP, Operation, Outcome, Prefix, Reply, SHARED, Target,
    ThreadId, Value, Written,
};
use crate::time::{Due, Micros, Monotonic, Wall};
use phase::{Input, Phase, Renewer, Timed};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CassandraQueue {
    /// The client's number.
    me: u8,
    /// Counts restarts: a thread that starts again is another thread.
    incarnation: u8,
    /// The lock that was asked for last: `lockId`, the key of both rows.
    lock: LockId,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// How often this call has left the main row again; counted only if that is bounded.
    attempts: u8,
    /// The name of the own queue cell, once known.
    column: Option<ColumnName>,
    /// Which server is asked, counted from the one with the own number; the next one after a time-out.
    contact: u8,
    /// The last serial number drawn.
    serial: u32,
    /// The request that the phase waits for, and when its outcome becomes unknown.
    awaited: Option<Awaited>,
    /// The release's second deletion, when both are sent at once.
    awaited_too: Option<Awaited>,
    /// The background thread of section 5.3.
    renewer: Renewer,
    /// What the last timestamp of the monotonic generator was.
    last_timestamp: Option<Wall>,
    /// Since when the lease runs: read just before the main cell was last written with success.
    lease_since: Option<Monotonic>,
    /// When the write under way was sent: `lease_since` once it is acknowledged.
    main_sent: Option<Monotonic>,
    /// What the time service said last, while a call is served.
    time: Option<Wall>,
    /// What it said last in any call, if that is remembered.
    last_given: Option<Wall>,
    /// The fencing token to be: the time of the last addition to the main row.
    fence: Option<Wall>,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Cassandra>;

impl CassandraQueue {
    /// The calling thread: Listing 6 and Listing 7, a line an arm.
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                (self.lock, self.mode) = (lock, mode);
                match mode {
                    Mode::Lock => self.name_column(cx, out),
                    Mode::TryLock => self.read(Phase::CheckFree, self.row(MAIN), 1, cx, out),
                }
            }

            // Listing 7, lines 1 and 2.
            (Phase::CheckFree, Input::Slice(columns)) if columns.is_empty() => {
                out.record(Event::FoundFree { client: ClientId(cx.me) });
                self.name_column(cx, out);
            }
            (Phase::CheckFree, Input::Slice(_)) => self.refuse(out),
            (Phase::CheckFree, Input::Unknown { .. }) => {
                self.read(Phase::CheckFree, self.row(MAIN), 1, cx, out)
            }

            // Listing 5, line 1, by the time service; the same before the write of line 3 / 5, if that needs it.
            (Phase::ReadTime { before }, Input::Slice(columns)) => {
                let time = Self::time_in(&columns);
                if cx.settings.remembers_time
                    && let Some(given) = time
                {
                    let less = self.last_given.is_some_and(|last| given < last);
                    out.record(Event::TimeGiven { client: ClientId(cx.me), less });
                    self.last_given = time;
                }
                match (time, before) {
                    // Nothing is published yet.
                    (None, before) if cx.settings.poll_interval == Micros::ZERO => {
                        self.read_time(before, cx, out)
                    }
                    (None, before) => {
                        let until = cx.monotonic + cx.settings.poll_interval;
                        self.phase = Phase::PollTime { until, before };
                    }
                    (Some(time), Timed::Enqueue) => {
                        self.time = Some(time);
                        self.enqueue(cx, out);
                    }
                    (Some(time), Timed::AddMain) => {
                        self.time = Some(time);
                        self.add_main(cx, out);
                    }
                }
            }
            (Phase::ReadTime { before }, Input::Unknown { .. })
            | (Phase::PollTime { before, .. }, Input::Woken) => self.read_time(before, cx, out),

            // Listing 6, line 1; Listing 7, line 3.
            (Phase::Enqueue, Input::Applied) => {
                if cx.settings.waiters_renew && self.mode == Mode::Lock {
                    self.start_renewer(cx);
                }
                self.check_first(cx, out);
            }
            // The cell may be there or not; adding it again adds the same cell.
            (Phase::Enqueue, Input::Unknown { .. }) => self.write_queue(cx, out),

            // Listing 6, line 2; Listing 7, line 4.
            (Phase::CheckFirst, Input::Slice(columns)) => {
                let me = self.thread(cx);
                if cx.settings.queue_order == QueueOrder::Coordinator {
                    // The own cell is the latest of this thread; an older one is left from a release that failed.
                    let own = columns.iter().rfind(|(name, _)| name.thread == me);
                    self.column = own.map(|(name, _)| *name).or(self.column);
                }
                if columns.first().is_some_and(|(name, _)| name.thread == me) {
                    match cx.settings.timestamps.are_the_services() {
                        true => self.read_time(Timed::AddMain, cx, out),
                        false => self.add_main(cx, out),
                    }
                } else {
                    match self.mode {
                        // Lines 9 and 10.
                        Mode::Lock => {
                            self.phase = Phase::Poll { until: cx.monotonic + cx.settings.poll_interval }
                        }
                        // Lines 11 and 12.
                        Mode::TryLock => self.dequeue(cx, out),
                    }
                }
            }
            (Phase::CheckFirst, Input::Unknown { .. }) => self.check_first(cx, out),
            (Phase::Poll { .. }, Input::Woken) => self.check_first(cx, out),

            // Listing 6, line 3; Listing 7, line 5.
            (Phase::AddMain, Input::Applied) => {
                self.lease_since = self.main_sent;
                self.read(Phase::CheckAlone, self.row(MAIN), 2, cx, out);
            }
            (Phase::AddMain, Input::Unknown { .. }) => self.add_main(cx, out),

            // Listing 6, line 4; Listing 7, line 6.
            (Phase::CheckAlone, Input::Slice(columns)) => {
                let alone = columns.len() == 1;
                let own = columns.iter().any(|(name, _)| name.thread == self.thread(cx));
                if alone && (own || !cx.settings.own_id_check) && self.lease_is_valid(cx) {
                    self.hold(cx, out);
                } else {
                    self.delete_main(Phase::DeleteMain, cx, out);
                }
            }
            (Phase::CheckAlone, Input::Unknown { .. }) => {
                self.read(Phase::CheckAlone, self.row(MAIN), 2, cx, out)
            }

            // Listing 6, lines 7 and 8; Listing 7, lines 9 and 10.
            (Phase::DeleteMain, Input::Applied) => self.go_to_2(cx, out),
            (Phase::DeleteMain, Input::Unknown { answered })
                if cx.settings.retry_deletes.repeats(answered) =>
            {
                self.delete_main(Phase::DeleteMain, cx, out);
            }
            (Phase::DeleteMain, Input::Unknown { .. }) => self.go_to_2(cx, out),

            // Listing 7, lines 12 and 13.
            (Phase::Dequeue, Input::Applied) => self.refuse(out),
            (Phase::Dequeue, Input::Unknown { answered }) if cx.settings.retry_deletes.repeats(answered) => {
                self.dequeue(cx, out)
            }
            (Phase::Dequeue, Input::Unknown { .. }) => self.refuse(out),

            // Section 5.3, release.
            (Phase::Held, Input::Call(Call::Release)) => {
                if cx.settings.join_renewer && self.renewer.is_writing() {
                    self.phase = Phase::JoinRenewer;
                } else {
                    self.begin_release(cx, out);
                }
            }
            (Phase::ReleaseQueue, Input::Unknown { answered })
                if cx.settings.retry_deletes.repeats(answered) =>
            {
                self.delete_queue(Phase::ReleaseQueue, cx, out);
            }
            (Phase::ReleaseQueue, Input::Applied | Input::Unknown { .. }) => {
                match cx.settings.release_order {
                    ReleaseOrder::QueueThenMain => self.delete_main(Phase::ReleaseMain, cx, out),
                    ReleaseOrder::MainThenQueue | ReleaseOrder::Unordered => self.released(out),
                }
            }
            (Phase::ReleaseMain, Input::Unknown { answered })
                if cx.settings.retry_deletes.repeats(answered) =>
            {
                self.delete_main(Phase::ReleaseMain, cx, out);
            }
            (Phase::ReleaseMain, Input::Applied | Input::Unknown { .. }) => match cx.settings.release_order {
                ReleaseOrder::MainThenQueue => self.delete_queue(Phase::ReleaseQueue, cx, out),
                ReleaseOrder::QueueThenMain | ReleaseOrder::Unordered => self.released(out),
            },
            // Both were sent; the one that is answered first leaves the other in `awaited`.
            (Phase::ReleaseBoth, Input::Unknown { answered })
                if cx.settings.retry_deletes.repeats(answered) =>
            {
                self.delete_both(cx, out)
            }
            (Phase::ReleaseBoth, Input::Applied | Input::Unknown { .. }) => match self.awaited_too.take() {
                Some(other) => self.awaited = Some(other),
                None => self.released(out),
            },

            (
                Phase::Idle | Phase::Held | Phase::JoinRenewer | Phase::Poll { .. } | Phase::PollTime { .. },
                Input::Applied | Input::Slice(_),
            ) => {
                unreachable!(
                    "no request is awaited in this phase, and replies to others are dismissed before"
                )
            }
            (
                Phase::Idle | Phase::Held | Phase::JoinRenewer | Phase::Poll { .. } | Phase::PollTime { .. },
                Input::Unknown { .. },
            ) => unreachable!("no request is awaited in this phase, so none can time out"),
            (
                Phase::CheckFree | Phase::ReadTime { .. } | Phase::CheckFirst | Phase::CheckAlone,
                Input::Applied,
            ) => {
                unreachable!("a read is not answered like a write")
            }
            (
                Phase::Enqueue
                | Phase::AddMain
                | Phase::DeleteMain
                | Phase::Dequeue
                | Phase::ReleaseQueue
                | Phase::ReleaseMain
                | Phase::ReleaseBoth,
                Input::Slice(_),
            ) => unreachable!("a write is not answered like a read"),
            (_, Input::Woken) => unreachable!("only a polling thread sleeps"),
            (_, Input::Call(Call::Write)) => {
                unreachable!("no setup has this lock write inside its store")
            }
            (_, Input::Call(Call::Acquire { .. } | Call::Release)) => {
                unreachable!("the application calls only an idle lock, and releases only a held one")
            }
        }
    }

    fn thread(&self, cx: &Cx) -> ThreadId {
        let number = if cx.settings.shared_thread_id { 0 } else { cx.me };
        ThreadId(u16::from(self.incarnation) << 8 | u16::from(number))
    }

    /// Listing 5: where the time comes from.
    fn name_column(&mut self, cx: &Cx, out: &mut Out) {
        match cx.settings.asks_the_time() {
            true => self.read_time(Timed::Enqueue, cx, out),
            false => self.enqueue(cx, out),
        }
    }

    fn read_time(&mut self, before: Timed, cx: &Cx, out: &mut Out) {
        self.phase = Phase::ReadTime { before };
        self.send(Self::read_of_time(), cx, out);
    }

    fn enqueue(&mut self, cx: &Cx, out: &mut Out) {
        // Listing 5. The time is taken here; the cell is written when the message arrives.
        self.column = match cx.settings.queue_order {
            QueueOrder::ClientClock => {
                Some(ColumnName { prefix: Prefix::Time(cx.wall), thread: self.thread(cx) })
            }
            QueueOrder::Service => {
                Some(ColumnName { prefix: Prefix::Time(self.service_time()), thread: self.thread(cx) })
            }
            QueueOrder::Coordinator => None,
        };
        self.write_queue(cx, out);
    }

    fn write_queue(&mut self, cx: &Cx, out: &mut Out) {
        let mutation = self.put_queue(cx);
        self.phase = Phase::Enqueue;
        self.send(Operation::Write(mutation), cx, out);
    }

    /// "Go to 2" (4 in Listing 7), from lines 8 and 10.
    fn go_to_2(&mut self, cx: &Cx, out: &mut Out) {
        if let (Mode::TryLock, Some(max)) = (self.mode, cx.settings.try_attempts_max) {
            self.attempts += 1;
            if self.attempts >= max {
                return self.dequeue(cx, out);
            }
        }
        if cx.settings.poll_interval == Micros::ZERO {
            self.check_first(cx, out);
        } else {
            self.phase = Phase::Poll { until: cx.monotonic + cx.settings.poll_interval };
        }
    }

    fn check_first(&mut self, cx: &Cx, out: &mut Out) {
        // A column named by the coordinator has to be found before it can be deleted: read the whole queue.
        let count = match cx.settings.queue_order {
            QueueOrder::ClientClock | QueueOrder::Service => 1,
            QueueOrder::Coordinator => u8::MAX,
        };
        self.read(Phase::CheckFirst, self.row(QUEUE), count, cx, out);
    }

    fn add_main(&mut self, cx: &Cx, out: &mut Out) {
        let mutation = self.put_main(cx);
        self.main_sent = cx.settings.validity_check.then_some(cx.monotonic);
        self.phase = Phase::AddMain;
        self.send(Operation::Write(mutation), cx, out);
        if cx.settings.reads_before_ack {
            self.lease_since = self.main_sent;
            self.read(Phase::CheckAlone, self.row(MAIN), 2, cx, out);
        }
    }

    fn delete_main(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        let mutation = self.remove(self.row(MAIN), Target::Column(self.main_column(cx)), cx);
        self.lease_since = None;
        self.main_sent = None;
        self.phase = phase;
        self.send(Operation::Write(mutation), cx, out);
    }

    fn delete_queue(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        match self.column {
            Some(column) => {
                let mutation = self.remove(self.row(QUEUE), Target::Column(column), cx);
                self.send(Operation::Write(mutation), cx, out);
            }
            // The coordinator named the cell and it was never seen: nothing that could be deleted.
            None => self.step(Input::Applied, cx, out),
        }
    }

    fn delete_both(&mut self, cx: &Cx, out: &mut Out) {
        self.delete_queue(Phase::ReleaseBoth, cx, out);
        self.awaited_too = self.awaited.take();
        self.delete_main(Phase::ReleaseBoth, cx, out);
    }

    fn dequeue(&mut self, cx: &Cx, out: &mut Out) {
        self.delete_queue(Phase::Dequeue, cx, out);
    }

    fn hold(&mut self, cx: &Cx, out: &mut Out) {
        self.phase = Phase::Held;
        if self.renewer == Renewer::Off {
            self.start_renewer(cx);
        }
        out.answer(Answer::Granted { fence: self.fence.map(|at| FencingToken(at.0)) });
    }

    fn refuse(&mut self, out: &mut Out) {
        self.forget_call();
        out.answer(Answer::Refused);
    }

    fn begin_release(&mut self, cx: &Cx, out: &mut Out) {
        self.renewer = Renewer::Off;
        match cx.settings.release_order {
            ReleaseOrder::Unordered => self.delete_both(cx, out),
            ReleaseOrder::QueueThenMain => self.delete_queue(Phase::ReleaseQueue, cx, out),
            ReleaseOrder::MainThenQueue => self.delete_main(Phase::ReleaseMain, cx, out),
        }
    }

    fn released(&mut self, out: &mut Out) {
        self.forget_call();
        out.answer(Answer::Released);
    }

    fn forget_call(&mut self) {
        self.phase = Phase::Idle;
        self.mode = Mode::Lock;
        self.attempts = 0;
        self.column = None;
        self.renewer = Renewer::Off;
        self.lease_since = None;
        self.main_sent = None;
        self.time = None;
        self.fence = None;
    }
}

impl Lock for CassandraQueue {
    type Store = Cassandra;
    type Settings = Settings;

    const WORDS: Words = cassandra_tables::WORDS;
    const SHOWS_CLIENTS: bool = true;

    fn new(me: u8, _settings: &Settings) -> Self {
        CassandraQueue {
            me,
            incarnation: 0,
            lock: LockId::default(),
            mode: Mode::Lock,
            phase: Phase::Idle,
            attempts: 0,
            column: None,
            contact: 0,
            serial: 0,
            awaited: None,
            awaited_too: None,
            renewer: Renewer::Off,
            last_timestamp: None,
            lease_since: None,
            main_sent: None,
            time: None,
            last_given: None,
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
        if is(self.awaited_too) {
            self.awaited_too = self.awaited;
        } else if !is(self.awaited) {
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
            match self.renewer {
                Renewer::Sleeps { .. } => self.renew(cx, out),
                Renewer::Off
                | Renewer::ReadsMain(_)
                | Renewer::ReadsTime(_)
                | Renewer::WritesQueue(_)
                | Renewer::WritesMain(_) => self.on_renewal_reply(Outcome::TimedOut, cx, out),
            }
        } else if let Phase::Poll { until } | Phase::PollTime { until, .. } = self.phase
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
        *self = CassandraQueue { incarnation, serial, ..CassandraQueue::new(cx.me, cx.settings) };
    }

    fn means(change: &Written, server: u8) -> Option<Event> {
        cassandra_tables::means(change, server)
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        let poll = match self.phase {
            Phase::Poll { until } | Phase::PollTime { until, .. } => Some(until),
            _ => None,
        };
        let request = self.awaited.and_then(|awaited| awaited.until);
        [poll, request, self.renewer.deadline(), self.validity_deadline(settings)]
            .into_iter()
            .flatten()
            .min()
            .map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        [self.awaited, self.awaited_too, self.renewer.awaited()]
            .into_iter()
            .flatten()
            .all(|awaited| awaited.serial != reply.serial)
    }

    /// Of the main row a thread wants to know whether it is empty or has one record, and of one whose it is. Which two of three records a
    /// slice has is up to the order of names, and nobody asks.
    fn strike_out(&self, reply: &mut Reply, _settings: &Settings) {
        let awaits = |awaited: Option<Awaited>| awaited.is_some_and(|awaited| awaited.serial == reply.serial);
        let Outcome::Slice(columns) = &mut reply.outcome else { return };
        let is_counted = match self.phase {
            Phase::CheckFree => awaits(self.awaited),
            Phase::CheckAlone => awaits(self.awaited) && columns.len() > 1,
            _ => {
                matches!(self.renewer, Renewer::ReadsMain(awaited) if awaits(Some(awaited)))
                    && columns.len() > 1
            }
        };
        if is_counted {
            columns.iter_mut().for_each(|column| *column = (SHARED, Value::EMPTY));
        }
    }

    fn visit<V: Visitor>(&mut self, settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        [&mut self.awaited, &mut self.awaited_too]
            .into_iter()
            .flatten()
            .for_each(|awaited| awaited.visit(visitor));
        self.renewer.visit(visitor);
        if let Phase::Poll { until } | Phase::PollTime { until, .. } = &mut self.phase {
            visitor.wake(until);
        }
        if let Some(column) = &mut self.column {
            column.visit(visitor);
        }
        if let Some(last) = &mut self.last_timestamp {
            visitor.stamp(StampGroup { space: 3, member: u32::from(self.me) }, last);
        }
        visitor.client(&mut self.me);
        [&mut self.time, &mut self.last_given]
            .into_iter()
            .flatten()
            .for_each(|time| visitor.stamp(NAME_GROUP, time));
        if let Some(fence) = &mut self.fence {
            visitor.stamp(FENCE_TIMES, fence);
        }
        let ttl = settings.ttl().unwrap_or(Micros::ZERO);
        [&mut self.lease_since, &mut self.main_sent]
            .into_iter()
            .flatten()
            .for_each(|since| visitor.since(since, ttl));
    }

    fn carries_stamps_over(settings: &Settings, clocks_err: bool) -> bool {
        settings.timestamps.are_the_services() || clocks_err && settings.timestamps.count_on()
    }

    fn earliest_timestamp(&self, settings: &Settings) -> Option<Wall> {
        self.time.filter(|_| settings.timestamps.are_the_services())
    }

    fn line(&self) -> Line {
        self.phase.line(self.mode)
    }

    fn doing(&self) -> &'static str {
        self.phase.doing()
    }

    fn valid_until(&self, settings: &Settings) -> Option<Due> {
        self.validity_deadline(settings).map(Due::Monotonic)
    }

    fn is_renewing(&self) -> bool {
        // What it reads first decides whether it writes.
        self.phase == Phase::Held && !matches!(self.renewer, Renewer::Off | Renewer::Sleeps { .. })
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.ttl()
    }
}
