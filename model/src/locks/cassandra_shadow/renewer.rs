//! The background thread of section 5.3, which prolongs the main cell: "раз в N/2 секунд будет перезаписывать ячейки".
//!
//! The authors' own lock calls it *relock* (skbkontur/cassandra-distributed-lock,
//! `CassandraRemoteLockImplementation.TryRelock`): it writes without looking whether the cell is still there, and gives
//! up only if its last success is older than half the TTL (`RemoteLocker.TryRelock`, by the wall clock).

use super::{CassandraShadow, Cx, Out, Phase};
use crate::locks::awaited::Awaited;
use crate::locks::cassandra_tables::MAIN;
use crate::machine::{Answer, Visitor};
use crate::stores::cassandra::{Operation, Outcome};
use crate::time::{Micros, Monotonic};
use picklock_properties::{ClientId, Event};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Renewer {
    Off,
    /// Sleeps for N/2.
    Sleeps {
        until: Monotonic,
    },
    /// Conditional renewal only: looks whether the lock is still ours.
    ReadsMain(Awaited),
    /// Rewrites the main cell.
    WritesMain(Awaited),
}

impl Renewer {
    pub fn awaited(&self) -> Option<Awaited> {
        match *self {
            Renewer::ReadsMain(awaited) | Renewer::WritesMain(awaited) => Some(awaited),
            Renewer::Off | Renewer::Sleeps { .. } => None,
        }
    }

    pub fn is_writing(&self) -> bool {
        matches!(self, Renewer::WritesMain(_))
    }

    pub fn deadline(&self) -> Option<Monotonic> {
        match *self {
            Renewer::Off => None,
            Renewer::Sleeps { until } => Some(until),
            Renewer::ReadsMain(awaited) | Renewer::WritesMain(awaited) => awaited.until,
        }
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Renewer::Off => {}
            Renewer::Sleeps { until } => visitor.wake(until),
            Renewer::ReadsMain(awaited) | Renewer::WritesMain(awaited) => awaited.visit(visitor),
        }
    }
}

impl CassandraShadow {
    pub(super) fn start_renewer(&mut self, cx: &Cx) {
        if let Some(ttl) = cx.settings.ttl() {
            self.renewer = Renewer::Sleeps { until: cx.monotonic + Micros(ttl.0 / 2) };
        }
    }

    /// The renewer's own deadline has come.
    pub(super) fn on_renewer_deadline(&mut self, cx: &Cx, out: &mut Out) {
        match self.renewer {
            Renewer::Sleeps { .. } => self.renew(cx, out),
            Renewer::Off => unreachable!("a renewer that is off has no deadline"),
            Renewer::ReadsMain(_) | Renewer::WritesMain(_) => {
                self.on_renewal_reply(Outcome::TimedOut, cx, out);
            }
        }
    }

    fn renew(&mut self, cx: &Cx, out: &mut Out) {
        if cx.settings.conditional_renewal {
            let operation = Operation::ReadSlice { row: self.row(MAIN), from: None, count: 2 };
            self.renewer = Renewer::ReadsMain(self.request(operation, cx, out));
        } else {
            self.write_again(cx, out);
        }
    }

    fn write_again(&mut self, cx: &Cx, out: &mut Out) {
        let token = self.fence;
        let mutation = self.put_main(cx);
        // A renewal prolongs the grant, it does not make a new one: the token stays.
        self.fence = token;
        self.renewer = Renewer::WritesMain(self.request(Operation::Write(mutation), cx, out));
    }

    /// What the renewer waited for has come, or is given up.
    pub(super) fn on_renewal_reply(&mut self, outcome: Outcome, cx: &Cx, out: &mut Out) {
        match (self.renewer, outcome) {
            (Renewer::ReadsMain(_), Outcome::Slice(columns)) => {
                let is_ours = columns.len() == 1 && columns[0].0 == self.column(cx.settings);
                if is_ours && self.lease_is_valid(cx) { self.write_again(cx, out) } else { self.lose(out) }
            }
            (Renewer::WritesMain(_), Outcome::Applied) => {
                self.lease_since = self.main_sent;
                // What was prolonged may be over again by the time this is known.
                if self.phase == Phase::Held && !self.lease_is_valid(cx) {
                    return self.lose(out);
                }
                out.record(Event::Renewed { client: ClientId(cx.me) });
                self.start_renewer(cx);
            }
            (Renewer::ReadsMain(_) | Renewer::WritesMain(_), Outcome::TimedOut) => {
                self.contact = (self.contact + 1) % cx.servers;
                match self.phase {
                    // A release is waiting: whether this write arrives or not, its deletion comes after it.
                    Phase::JoinRenewer => self.renewer = Renewer::Off,
                    _ if !self.lease_is_valid(cx) => self.lose(out),
                    _ => self.renew(cx, out),
                }
            }
            (Renewer::ReadsMain(_), Outcome::Applied) | (Renewer::WritesMain(_), Outcome::Slice(_)) => {
                unreachable!("a renewal's reply is of its request's kind")
            }
            (Renewer::Off | Renewer::Sleeps { .. }, _) => {
                unreachable!("a renewer that sleeps awaits no reply")
            }
        }
        if self.phase == Phase::JoinRenewer && !self.renewer.is_writing() {
            self.begin_release(cx, out);
        }
    }

    /// The lease is over, and its holder knows.
    pub(super) fn lose(&mut self, out: &mut Out) {
        self.renewer = Renewer::Off;
        self.lease_since = None;
        if self.phase == Phase::Held {
            out.answer(Answer::Lost);
        }
    }
}
