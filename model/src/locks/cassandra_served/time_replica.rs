//! A replica of the time service (section 5.4): "каждая из которых периодически пытается обновить значение текущего
//! времени в специально заведенной под эти цели ячейке в Cassandra".

use super::{Advance, Caller, CellStamps, Cx, Out};
use crate::locks::cassandra_tables::TIME;
use crate::machine::{Line, Visitor};
use crate::stores::cassandra::{
    Change, ColumnName, Mutation, NAME_GROUP, Operation, Outcome, Prefix, Reply, Target, ThreadId, Value,
};
use crate::time::{Micros, Monotonic, Wall};
use serde::{Deserialize, Serialize};

/// One replica.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TimeReplica {
    caller: Caller,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Will publish then.
    Sleeps { until: Monotonic },
    /// Has taken its local time, and reads what is published.
    Reads { local: Wall },
    /// Publishes.
    Writes,
}

/// The one cell of the service.
const CELL: ColumnName = ColumnName { prefix: Prefix::None, thread: ThreadId(0) };

impl TimeReplica {
    pub(super) fn new(me: u8) -> TimeReplica {
        TimeReplica { caller: Caller::new(me), phase: Phase::Sleeps { until: Monotonic(0) } }
    }

    pub(super) fn on_reply(&mut self, reply: Reply, cx: &Cx, out: &mut Out) {
        if !self.caller.takes(&reply) {
            return;
        }
        match (self.phase, reply.outcome) {
            (Phase::Reads { local }, Outcome::Slice(found)) => {
                let stored = found.first().and_then(|(_, value)| value.time());
                match Self::next(stored, local, cx.settings.time.advance) {
                    Some(time) => self.publish(time, cx, out),
                    None => self.sleep(cx),
                }
            }
            // Whether it is there or not: the next attempt will see.
            (Phase::Writes, Outcome::Applied) | (Phase::Reads { .. } | Phase::Writes, Outcome::TimedOut) => {
                self.sleep(cx);
            }
            (Phase::Reads { .. }, Outcome::Applied) | (Phase::Writes, Outcome::Slice(_)) => {
                unreachable!("a reply is of its request's kind")
            }
            (Phase::Sleeps { .. }, _) => unreachable!("a replica that sleeps awaits no reply"),
        }
    }

    /// "Если значение в ячейке меньше локального времени, то ячейка просто переписывается с новым значением".
    fn next(stored: Option<Wall>, local: Wall, advance: Advance) -> Option<Wall> {
        match (stored, advance) {
            (None, _) => Some(local),
            (Some(stored), Advance::Local) => (stored < local).then_some(local),
            (Some(stored), Advance::PastLast) => Some(local.max(stored + Micros(1))),
        }
    }

    fn publish(&mut self, time: Wall, cx: &Cx, out: &mut Out) {
        let timestamp = match cx.settings.time.stamps {
            CellStamps::Clock => cx.wall,
            CellStamps::Value => time,
        };
        let mutation = Mutation {
            row: TIME,
            target: Target::Column(CELL),
            change: Change::Put { value: Value::Time(time), ttl_seconds: None },
            timestamp: Some(timestamp),
        };
        self.phase = Phase::Writes;
        self.caller.send(Operation::Write(mutation), cx, out);
    }

    fn sleep(&mut self, cx: &Cx) {
        self.phase = Phase::Sleeps { until: cx.monotonic + cx.settings.time.period };
    }

    pub(super) fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        match self.phase {
            Phase::Sleeps { .. } => {
                self.phase = Phase::Reads { local: cx.wall };
                self.caller.send(Operation::ReadSlice { row: TIME, from: None, count: 1 }, cx, out);
            }
            Phase::Reads { .. } | Phase::Writes => {
                self.caller.give_up();
                self.sleep(cx);
            }
        }
    }

    pub(super) fn on_restart(&mut self, cx: &Cx) {
        let Caller { contact, serial, .. } = self.caller;
        self.caller = Caller { contact, serial, awaited: None };
        self.phase = Phase::Sleeps { until: cx.monotonic };
    }

    pub(super) fn deadline(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Sleeps { until } => Some(until),
            Phase::Reads { .. } | Phase::Writes => self.caller.deadline(),
        }
    }

    pub(super) fn dismisses(&self, reply: &Reply) -> bool {
        self.caller.dismisses(reply)
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.caller.visit(visitor);
        match &mut self.phase {
            Phase::Sleeps { until } => visitor.wake(until),
            Phase::Reads { local } => visitor.stamp(NAME_GROUP, local),
            Phase::Writes => {}
        }
    }

    /// The steps of section 5.4, counted: it has no listing.
    pub(super) fn line(&self) -> Line {
        match self.phase {
            Phase::Sleeps { .. } => SLEEPS,
            Phase::Reads { .. } => READS,
            Phase::Writes => WRITES,
        }
    }

    pub(super) fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Sleeps { .. } => "keeps the time",
            Phase::Reads { .. } => "which time is published?",
            Phase::Writes => "publishes its time",
        }
    }
}

/// A replica between two attempts.
pub const SLEEPS: Line = Line { listing: 0, number: 50 };
/// A replica that has read its clock and waits for what is published.
pub const READS: Line = Line { listing: 0, number: 51 };
/// A replica that publishes.
pub const WRITES: Line = Line { listing: 0, number: 52 };
