//! A process of the lease service (section 6): "логика аренды блокировки лежит не на TTL, а на собственном сервисе, который
//! следит за тем, что аренда продлевается".
//!
//! It reads the queue and the main row again and again. A cell that it has seen unchanged for N seconds of its own
//! monotonic clock is not renewed any more, and is deleted. It watches one lock.

use super::{Caller, Cx, Judges, Out, Settings, Tombstones};
use crate::locks::cassandra_tables;
use crate::machine::{Line, Visitor};
use crate::stores::cassandra::{
    Change, ColumnName, Found, Mutation, NAME_GROUP, Operation, Outcome, Reply, Row, Target,
};
use crate::time::{Micros, Monotonic, Wall};
use picklock_properties::LockId;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// One keeper.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseKeeper {
    caller: Caller,
    phase: Phase,
    /// The cells that it saw last, in no order that matters but always the same.
    seen: SmallVec<[Seen; 2]>,
}

/// A cell as it was seen last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Seen {
    row: Row,
    name: ColumnName,
    /// Its timestamp, which a renewal changes.
    timestamp: Wall,
    /// When it was seen like this first.
    since: Monotonic,
    /// Whether that was N ago when the row was asked for again.
    was_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Will look then.
    Sleeps { until: Monotonic },
    /// Reads this row.
    Reads { row: Row },
    /// Deletes from this row.
    Deletes { row: Row },
}

const QUEUE: Row = cassandra_tables::row(cassandra_tables::QUEUE, LockId(0));
const MAIN: Row = cassandra_tables::row(cassandra_tables::MAIN, LockId(0));

/// As many as a row can have.
const ALL: u8 = u8::MAX;

impl LeaseKeeper {
    pub(super) fn new(me: u8) -> LeaseKeeper {
        LeaseKeeper {
            caller: Caller::new(me),
            phase: Phase::Sleeps { until: Monotonic(0) },
            seen: SmallVec::new(),
        }
    }

    pub(super) fn on_reply(&mut self, reply: Reply, cx: &Cx, out: &mut Out) {
        if !self.caller.takes(&reply) {
            return;
        }
        match (self.phase, reply.outcome) {
            (Phase::Reads { row }, Outcome::Slice(found)) => {
                self.compare(row, &found, cx);
                let over = self.take_over(row, cx);
                if over.is_empty() { self.next_row(row, cx, out) } else { self.delete(row, over, cx, out) }
            }
            // Deletions of unknown outcome are repeated: what is still there is seen again, and is over again after N.
            (Phase::Deletes { row }, Outcome::Applied | Outcome::TimedOut) => self.next_row(row, cx, out),
            (Phase::Reads { row }, Outcome::TimedOut) => self.next_row(row, cx, out),
            (Phase::Reads { .. }, Outcome::Applied) | (Phase::Deletes { .. }, Outcome::Slice(_)) => {
                unreachable!("a reply is of its request's kind")
            }
            (Phase::Sleeps { .. }, _) => unreachable!("a keeper that sleeps awaits no reply"),
        }
    }

    /// What is new or renewed is seen from now on; what is gone is forgotten.
    fn compare(&mut self, row: Row, found: &Found, cx: &Cx) {
        let cells = found.iter().filter_map(|(name, value)| Some((*name, value.time()?)));
        let now: SmallVec<[(ColumnName, Wall); 2]> = cells.collect();
        self.seen.retain(|seen| seen.row != row || now.contains(&(seen.name, seen.timestamp)));
        for (name, timestamp) in now {
            if !self.seen.iter().any(|seen| seen.row == row && seen.name == name) {
                self.seen.push(Seen { row, name, timestamp, since: cx.monotonic, was_over: false });
            }
        }
        self.seen.sort_unstable_by_key(|seen| (seen.row, seen.name));
    }

    /// Takes out what was not renewed in time.
    fn take_over(&mut self, row: Row, cx: &Cx) -> SmallVec<[Seen; 2]> {
        let is_over = |seen: &Seen| {
            seen.row == row
                && match cx.settings.leases.judges {
                    Judges::AsItHandles => Self::is_over(seen, cx),
                    Judges::AsItAsks => seen.was_over,
                }
        };
        let over = self.seen.iter().copied().filter(is_over).collect();
        self.seen.retain(|seen| !is_over(seen));
        over
    }

    fn is_over(seen: &Seen, cx: &Cx) -> bool {
        cx.settings.lease().is_some_and(|lease| cx.monotonic >= seen.since + lease)
    }

    fn delete(&mut self, row: Row, over: SmallVec<[Seen; 2]>, cx: &Cx, out: &mut Out) {
        let remove = |seen: Seen| Mutation {
            row,
            target: Target::Column(seen.name),
            change: Change::Delete,
            timestamp: Some(match cx.settings.leases.tombstones {
                Tombstones::Clock => cx.wall,
                Tombstones::Seen => seen.timestamp,
            }),
        };
        self.phase = Phase::Deletes { row };
        self.caller.send(Operation::Batch(over.into_iter().map(remove).collect()), cx, out);
    }

    fn next_row(&mut self, row: Row, cx: &Cx, out: &mut Out) {
        match row {
            QUEUE => self.read(MAIN, cx, out),
            _ => self.sleep(cx),
        }
    }

    fn read(&mut self, row: Row, cx: &Cx, out: &mut Out) {
        for seen in self.seen.iter_mut().filter(|seen| seen.row == row) {
            seen.was_over = cx.settings.leases.judges == Judges::AsItAsks && Self::is_over(seen, cx);
        }
        self.phase = Phase::Reads { row };
        self.caller.send(Operation::ReadSlice { row, from: None, count: ALL }, cx, out);
    }

    fn sleep(&mut self, cx: &Cx) {
        self.phase = Phase::Sleeps { until: cx.monotonic + cx.settings.leases.period };
    }

    pub(super) fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        match self.phase {
            Phase::Sleeps { .. } => self.read(QUEUE, cx, out),
            Phase::Reads { row } | Phase::Deletes { row } => {
                self.caller.give_up();
                self.next_row(row, cx, out);
            }
        }
    }

    /// What was seen is forgotten: every cell gets its N from now on.
    pub(super) fn on_restart(&mut self, cx: &Cx) {
        let Caller { contact, serial, .. } = self.caller;
        *self = LeaseKeeper {
            caller: Caller { contact, serial, awaited: None },
            phase: Phase::Sleeps { until: cx.monotonic },
            seen: SmallVec::new(),
        };
    }

    pub(super) fn deadline(&self) -> Option<Monotonic> {
        match self.phase {
            Phase::Sleeps { until } => Some(until),
            Phase::Reads { .. } | Phase::Deletes { .. } => self.caller.deadline(),
        }
    }

    pub(super) fn dismisses(&self, reply: &Reply) -> bool {
        self.caller.dismisses(reply)
    }

    pub(super) fn visit<V: Visitor>(&mut self, settings: &Settings, visitor: &mut V) {
        self.caller.visit(visitor);
        if let Phase::Sleeps { until } = &mut self.phase {
            visitor.wake(until);
        }
        let lease = settings.lease().unwrap_or(Micros::ZERO);
        for seen in &mut self.seen {
            seen.name.visit(visitor);
            visitor.stamp(NAME_GROUP, &mut seen.timestamp);
            visitor.since(&mut seen.since, lease);
        }
    }

    /// The steps of section 6, counted: it has no listing.
    pub(super) fn line(&self) -> Line {
        match self.phase {
            Phase::Sleeps { .. } => SLEEPS,
            Phase::Reads { .. } => READS,
            Phase::Deletes { .. } => DELETES,
        }
    }

    pub(super) fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Sleeps { .. } => "keeps the leases",
            Phase::Reads { .. } => "who has renewed?",
            Phase::Deletes { .. } => "ends a lease",
        }
    }
}

/// A keeper between two looks.
pub const SLEEPS: Line = Line { listing: 0, number: 60 };
/// A keeper that waits for a row.
pub const READS: Line = Line { listing: 0, number: 61 };
/// A keeper that deletes.
pub const DELETES: Line = Line { listing: 0, number: 62 };
