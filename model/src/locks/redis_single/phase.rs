//! Where a client stands, and what it has to remember there.

use super::Settings;
use crate::machine::{Owner, Visitor};
use crate::time::Monotonic;
use picklock_properties::Mode;
use serde::{Deserialize, Serialize};

/// Where the client stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Outside any call.
    Idle,
    /// Step 1: has sent the `SET`.
    Sets(Attempt),
    /// Step 2: has sent the `INCR`.
    Draws(Attempt),
    /// Before step 1: sleeps until it asks again. Only `lock` does.
    Waits { until: Monotonic },
    /// Step 3: the application holds.
    Held(Lease),
    /// Step 3: has sent an extension; `end` is what the lease's end will be if it succeeds and anybody minds.
    Extends { lease: Lease, end: Option<Monotonic> },
    /// Step 4, if it is `GET` and then `DEL`: has sent the `GET`.
    Looks { token: u32 },
    /// Step 4: has sent what deletes the key.
    Deletes,
}

/// A `SET` under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub(super) mode: Mode,
    /// What the key is signed with.
    pub(super) token: u32,
    /// Until when it counts, if it succeeds: [`Settings::end`].
    pub(super) end: Option<Monotonic>,
}

/// What a holder has to remember.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Lease {
    /// What the key is signed with.
    pub(super) token: u32,
    /// When the validity is over, if the client minds.
    pub(super) valid_until: Option<Monotonic>,
    /// When the next extension is sent, if any will be.
    pub(super) extend_at: Option<Monotonic>,
    /// How many extensions may still be sent.
    pub(super) extensions_left: u8,
}

/// The request under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Awaited {
    pub(super) serial: u32,
    /// When its outcome becomes unknown, if ever.
    pub(super) until: Option<Monotonic>,
}

impl Phase {
    fn lease(&self) -> Option<&Lease> {
        match self {
            Phase::Held(lease) | Phase::Extends { lease, .. } => Some(lease),
            Phase::Idle
            | Phase::Sets(_)
            | Phase::Draws(_)
            | Phase::Waits { .. }
            | Phase::Looks { .. }
            | Phase::Deletes => None,
        }
    }

    /// When a holder notices that its lease is over, if it looks.
    pub(super) fn stops_at(&self, settings: &Settings) -> Option<Monotonic> {
        let lease = self.lease()?;
        let may_be_extended = matches!(self, Phase::Extends { .. }) || lease.extensions_left > 0;
        // Whoever makes lost keys anew does not stop while that may still bring the lock back.
        lease.valid_until.filter(|_| !(settings.creates() && may_be_extended))
    }

    pub(super) fn extend_at(&self) -> Option<Monotonic> {
        self.lease().and_then(|lease| lease.extend_at)
    }

    pub(super) fn waits_until(&self) -> Option<Monotonic> {
        match *self {
            Phase::Waits { until } => Some(until),
            Phase::Idle
            | Phase::Sets(_)
            | Phase::Draws(_)
            | Phase::Held(_)
            | Phase::Extends { .. }
            | Phase::Looks { .. }
            | Phase::Deletes => None,
        }
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Phase::Idle | Phase::Deletes => {}
            Phase::Sets(Attempt { token, end, .. }) | Phase::Draws(Attempt { token, end, .. }) => {
                visitor.serial(Owner::Me, token);
                end.iter_mut().for_each(|end| visitor.wake(end));
            }
            Phase::Waits { until } => visitor.wake(until),
            Phase::Held(lease) => lease.visit(visitor),
            Phase::Extends { lease, end } => {
                lease.visit(visitor);
                end.iter_mut().for_each(|end| visitor.wake(end));
            }
            Phase::Looks { token } => visitor.serial(Owner::Me, token),
        }
    }
}

impl Lease {
    /// A key that counts until `end`.
    pub(super) fn new(token: u32, end: Option<Monotonic>, extensions_left: u8, settings: &Settings) -> Lease {
        let extend_at = match (end, settings.extension) {
            (Some(end), Some(extension)) if extensions_left > 0 => Some(end + -extension.lead),
            (Some(_) | None, Some(_) | None) => None,
        };
        Lease {
            token,
            valid_until: end.filter(|_| settings.validity_margin.is_some()),
            extend_at,
            extensions_left,
        }
    }

    /// Nothing more to be done before the release.
    pub(super) fn without_end(token: u32) -> Lease {
        Lease { token, valid_until: None, extend_at: None, extensions_left: 0 }
    }

    pub(super) fn is_over(&self, now: Monotonic) -> bool {
        has_come(self.valid_until, now)
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.token);
        [&mut self.valid_until, &mut self.extend_at].into_iter().flatten().for_each(|at| visitor.wake(at));
    }
}

impl Awaited {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        self.until.iter_mut().for_each(|until| visitor.wake(until));
    }
}

/// Whether there is such a moment, and it is not ahead.
pub(super) fn has_come(at: Option<Monotonic>, now: Monotonic) -> bool {
    at.is_some_and(|at| at <= now)
}
