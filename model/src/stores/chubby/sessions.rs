//! Sessions at the master: until when each lasts, and the KeepAlive that is held.
//!
//! ```text
//!   KeepAlive ──▶ held ──────────── until little is left of the lease ──▶ the lease moves forward, and the answer says so
//!   nothing is held, and the lease is over ──▶ the session is lost
//!   a new master ──▶ what is held is forgotten; the lease starts anew, as long as the old master may have given
//! ```

use super::protocol::{Outcome, Reply, SessionId, numbers_of};
use super::{Chubby, FailOver, Flaw, KeepAlives, Load, Settings};
use crate::machine::{Context, Effects, Visitor};
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};

/// What the database and the master's memory have of a session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// The usual lease. `None`: the session lasts for good.
    lease: Option<Micros>,
    /// In memory: until when the session lasts at least.
    lasts_until: Option<Monotonic>,
    /// In memory: the KeepAlive that waits for its answer.
    held: Option<HeldKeepAlive>,
    /// In memory: whether it knows of this master.
    heard: Heard,
    /// In memory: the last handle that was closed. Later ones have larger numbers.
    pub(super) closed: Option<u32>,
}

/// A KeepAlive that waits for its answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct HeldKeepAlive {
    serial: u32,
    arrived_at: Monotonic,
    /// How long the lease is that the answer will give.
    lease: Micros,
}

/// How far a session is in learning of a new master (section 2.9, steps 5 and 6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Heard {
    /// It has acknowledged that it knows, or was created here.
    Acknowledged,
    /// It was told.
    Told,
    /// Nothing was heard of it.
    Unaware,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Chubby>;

/// How long a KeepAlive may be held for that to be counted right in the exhaustive engine.
const LONGEST: Micros = Micros::seconds(100);

impl Session {
    pub(super) fn new(id: SessionId, lease: Option<Micros>, cx: &Cx) -> Session {
        let lasts_until = lease.map(|lease| cx.monotonic + cx.settings.at_the_master(lease));
        Session { id, lease, lasts_until, held: None, heard: Heard::Acknowledged, closed: None }
    }

    /// What its client is told when it is created.
    pub(super) fn lease(&self) -> Option<Micros> {
        self.lease
    }

    pub(super) fn has_acknowledged(&self) -> bool {
        self.heard == Heard::Acknowledged
    }

    /// Nothing was heard for as long as the lease lasts. Whose KeepAlive is held is there: it will be answered first.
    pub(super) fn is_over(&self, cx: &Cx) -> bool {
        self.held.is_none() && self.lasts_until.is_some_and(|until| cx.monotonic >= until)
    }

    /// A KeepAlive has arrived. A session without an end needs none, and is answered all the same.
    pub(super) fn keep_alive(&mut self, serial: u32, cx: &Cx, out: &mut Out) {
        let Some(usual) = self.lease else { return self.answer(serial, Micros::ZERO, Micros::ZERO, out) };
        let lease = match cx.settings.load {
            Some(Load { lease, .. }) if cx.choice == 0 => lease,
            Some(_) | None => usual,
        };
        if self.heard == Heard::Unaware {
            self.extend(usual, cx);
            self.answer(serial, Micros::ZERO, usual, out);
            self.heard = Heard::Told;
            return;
        }
        self.heard = Heard::Acknowledged;
        self.held = Some(HeldKeepAlive { serial, arrived_at: cx.monotonic, lease });
        self.answer_in_time(cx, out);
    }

    /// Answers the KeepAlive that is held, if little enough is left of the lease.
    pub(super) fn answer_in_time(&mut self, cx: &Cx, out: &mut Out) {
        let is_due = self.answer_at(cx.settings).is_some_and(|at| cx.monotonic >= at);
        let Some(held) = self.held.take_if(|_| is_due) else { return };
        self.extend(held.lease, cx);
        let Micros(second) = Micros::seconds(1);
        let Micros(length) = cx.monotonic - held.arrived_at;
        self.answer(held.serial, Micros(length.div_euclid(second) * second), held.lease, out);
    }

    /// The lease moves forward only.
    fn extend(&mut self, lease: Micros, cx: &Cx) {
        let until = cx.monotonic + cx.settings.at_the_master(lease);
        self.lasts_until = match cx.settings.flaw {
            Flaw::LeaseMovesBack => Some(until),
            Flaw::None | Flaw::GenerationStays => self.lasts_until.max(Some(until)),
        };
    }

    fn answer(&self, serial: u32, held: Micros, lease: Micros, out: &mut Out) {
        let failed_over = self.heard == Heard::Unaware;
        let outcome = Outcome::KeptAlive { held, lease, failed_over };
        out.reply(self.id.client, Reply { serial, outcome });
    }

    /// There is a new master: what the old one had in memory is gone.
    pub(super) fn fail_over(&mut self, asks_nobody: bool, cx: &Cx) {
        let Session { id, lease, .. } = *self;
        let longest = |usual: Micros| cx.settings.load.map_or(usual, |load| usual.max(load.lease));
        let lasts_until = lease.map(|usual| match cx.settings.fail_over {
            FailOver::Longest => cx.monotonic + cx.settings.at_the_master(longest(usual)),
            FailOver::Usual => cx.monotonic + cx.settings.at_the_master(usual),
            FailOver::Forgotten => cx.monotonic,
        });
        // Who sends no KeepAlives acknowledges nothing.
        let heard = if asks_nobody || lease.is_none() { Heard::Acknowledged } else { Heard::Unaware };
        *self = Session { id, lease, lasts_until, held: None, heard, closed: None };
    }

    /// When there is something to do about it.
    pub(super) fn deadline(&self, settings: &Settings) -> Option<Monotonic> {
        self.answer_at(settings).or(self.lasts_until)
    }

    /// When the KeepAlive that is held is answered.
    fn answer_at(&self, settings: &Settings) -> Option<Monotonic> {
        let (held, until) = (self.held?, self.lasts_until?);
        Some(match settings.keep_alives {
            KeepAlives::Held { until_left } => (until + -until_left).max(held.arrived_at),
            KeepAlives::AnsweredAtOnce => held.arrived_at,
        })
    }

    /// Until when it lasts.
    #[cfg(test)]
    pub(super) fn lasts_until(&self) -> Option<Monotonic> {
        self.lasts_until
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.id.visit(visitor);
        self.lasts_until.iter_mut().for_each(|until| visitor.wake(until));
        let owner = numbers_of(self.id.client);
        if let Some(held) = &mut self.held {
            visitor.serial(owner, &mut held.serial);
            visitor.since(&mut held.arrived_at, LONGEST);
        }
        self.closed.iter_mut().for_each(|closed| visitor.serial(owner, closed));
    }
}
