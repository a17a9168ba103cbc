//! When leases end (`server/lease/lessor.go`): the business of one member, the leader.
//!
//! ```text
//!   every 500 ms ── which leases are over by my clock? ──▶ revoke, through the log ──▶ applied: the keys are gone
//!                                                          until then a keep-alive waits
//! ```

use super::names::LeaseId;
use super::{KeepAlives, LeaseClock, Settings};
use crate::machine::{Context, Visitor, put_in_order};
use crate::time::{Due, Micros, Monotonic, Wall};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// When leases end. A lease that is not in here goes on for ever.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Lessor {
    expiries: SmallVec<[Expiry; 2]>,
}

/// When a lease ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Expiry {
    lease: LeaseId,
    at: Due,
    /// When its end, which is on its way into the log, is put there (again).
    revoking: Option<Monotonic>,
    /// When the others are told what is left of it.
    checkpoint_at: Option<Monotonic>,
    /// Who waits to learn what becomes of it: client and serial number.
    waiting: SmallVec<[(u8, u32); 1]>,
}

/// What a keep-alive comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Renewal {
    /// The lease has its full time again.
    Renewed,
    /// It is over, though it has not ended: the answer comes when it has.
    Waits,
}

type Cx<'a> = Context<'a, Settings>;

/// How long after it was put into the log the end of a lease is put there again (`expiredLeaseRetryInterval`).
const REVOKED_AGAIN: Micros = Micros::seconds(3);

impl Lessor {
    /// The lease has its full time, from now on and `extend` more (`refresh`).
    pub(super) fn refresh(&mut self, lease: LeaseId, ttl: Option<Micros>, extend: Micros, cx: &Cx) {
        let Some(ttl) = ttl else { return };
        let length = ttl + extend;
        let at = match cx.settings.lease_clock {
            LeaseClock::Monotonic => Due::Monotonic(cx.monotonic + length),
            LeaseClock::Wall => Due::Wall(cx.wall + length),
        };
        match self.expiries.iter_mut().find(|expiry| expiry.lease == lease) {
            Some(expiry) => expiry.at = at,
            None => {
                let checkpoint_at = cx.settings.checkpoints.filter(|interval| length > *interval);
                let checkpoint_at = checkpoint_at.map(|interval| cx.monotonic + interval);
                let waiting = SmallVec::new();
                self.expiries.push(Expiry { lease, at, revoking: None, checkpoint_at, waiting });
                self.expiries.sort_unstable_by_key(|expiry| expiry.lease);
            }
        }
    }

    /// `Renew`, of a lease that there is.
    pub(super) fn renew(
        &mut self,
        lease: LeaseId,
        ttl: Option<Micros>,
        asked: (u8, u32),
        cx: &Cx,
    ) -> Renewal {
        if let Some(expiry) = self.expiries.iter_mut().find(|expiry| expiry.lease == lease)
            && (expiry.revoking.is_some() || is_past(expiry.at, cx))
        {
            match cx.settings.keep_alives {
                KeepAlives::WaitForTheEnd | KeepAlives::LookOnce | KeepAlives::AskAgain => {
                    if !expiry.waiting.contains(&asked) {
                        expiry.waiting.push(asked);
                    }
                    return Renewal::Waits;
                }
                // Its end is on its way, and comes.
                KeepAlives::AnswerAtOnce => {}
            }
        }
        self.refresh(lease, ttl, Micros::ZERO, cx);
        Renewal::Renewed
    }

    /// The lease has ended: who waited to learn it.
    pub(super) fn forget(&mut self, lease: LeaseId) -> SmallVec<[(u8, u32); 1]> {
        match self.expiries.iter().position(|expiry| expiry.lease == lease) {
            Some(place) => self.expiries.remove(place).waiting,
            None => SmallVec::new(),
        }
    }

    /// `revokeExpiredLeases`: whatever is over is on its way into the log from here on.
    pub(super) fn look(&mut self, cx: &Cx) {
        for expiry in &mut self.expiries {
            if expiry.revoking.is_none() && is_past(expiry.at, cx) {
                expiry.revoking = Some(cx.monotonic);
            }
        }
    }

    /// When a lease that is counted here is over.
    pub(super) fn over_at(&self, lease: LeaseId) -> Option<Due> {
        self.expiries.iter().find(|expiry| expiry.lease == lease).map(|expiry| expiry.at)
    }

    /// Whether the lease is over, though it has not ended.
    pub(super) fn is_over(&self, lease: LeaseId, cx: &Cx) -> bool {
        let mut of_lease = self.expiries.iter().filter(|expiry| expiry.lease == lease);
        of_lease.any(|expiry| expiry.revoking.is_some() || is_past(expiry.at, cx))
    }

    /// [`Lessor::look`] for who has others: the leases whose end is to be put into the log now, for the first time or again.
    pub(super) fn take_over(&mut self, cx: &Cx) -> SmallVec<[LeaseId; 2]> {
        let mut over = SmallVec::new();
        for expiry in &mut self.expiries {
            let is_due = match expiry.revoking {
                Some(at) => cx.monotonic >= at,
                None => is_past(looked_at(expiry.at, cx.settings.expiry_interval), cx),
            };
            if is_due {
                expiry.revoking = Some(cx.monotonic + REVOKED_AGAIN);
                over.push(expiry.lease);
            }
        }
        over
    }

    /// The checkpoints that are due: what is left of which lease, in whole seconds.
    pub(super) fn take_checkpoints(&mut self, cx: &Cx) -> SmallVec<[(LeaseId, Micros); 1]> {
        let mut due = SmallVec::new();
        for expiry in &mut self.expiries {
            if let Due::Monotonic(at) = expiry.at
                && expiry.revoking.is_none()
                && expiry.checkpoint_at.take_if(|checkpoint| cx.monotonic >= *checkpoint).is_some()
            {
                let Micros(second) = Micros::seconds(1);
                let Micros(left) = at - cx.monotonic;
                due.push((expiry.lease, Micros(-(-left).div_euclid(second) * second)));
            }
        }
        due
    }

    /// A checkpoint is in the log: when the next one is due, if the lease lasts that long (`scheduleCheckpointIfNeeded`).
    pub(super) fn plan_checkpoint(&mut self, lease: LeaseId, cx: &Cx) {
        let Some(interval) = cx.settings.checkpoints else { return };
        let next = cx.monotonic + interval;
        for expiry in self.expiries.iter_mut().filter(|expiry| expiry.lease == lease) {
            let lasts = matches!(expiry.at, Due::Monotonic(at) if at > next);
            expiry.checkpoint_at = lasts.then_some(next);
        }
    }

    /// The leases whose end is on its way.
    pub(super) fn revoking(&self) -> SmallVec<[LeaseId; 2]> {
        self.expiries.iter().filter(|expiry| expiry.revoking.is_some()).map(|expiry| expiry.lease).collect()
    }

    /// When there is something to do next: by the monotonic clock and by the wall clock.
    pub(super) fn deadlines(&self, settings: &Settings) -> [Option<Due>; 2] {
        let due = |expiry: &Expiry| match expiry.revoking {
            Some(at) => Due::Monotonic(at),
            None => looked_at(expiry.at, settings.expiry_interval),
        };
        let is_monotonic = |due: &Due| matches!(due, Due::Monotonic(_));
        let checkpoints =
            || self.expiries.iter().filter_map(|expiry| expiry.checkpoint_at.map(Due::Monotonic));
        let all = || self.expiries.iter().map(due).chain(checkpoints());
        [all().filter(is_monotonic).min(), all().filter(|due| !is_monotonic(due)).min()]
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        for expiry in &mut self.expiries {
            expiry.lease.visit(visitor);
            visitor.due(&mut expiry.at);
            expiry.revoking.iter_mut().chain(&mut expiry.checkpoint_at).for_each(|at| visitor.wake(at));
            for (client, serial) in &mut expiry.waiting {
                visitor.serial_of(client, serial);
            }
        }
        put_in_order::<V, _, _>(&mut self.expiries, |expiry| expiry.lease);
    }
}

fn is_past(due: Due, cx: &Cx) -> bool {
    match due {
        Due::Monotonic(at) => cx.monotonic >= at,
        Due::Wall(at) => cx.wall >= at,
    }
}

/// The first look at or after this moment: the loop looks every `interval`.
fn looked_at(due: Due, interval: Micros) -> Due {
    let up = |at: i64| match interval.0 {
        0 => at,
        interval => -(-at).div_euclid(interval) * interval,
    };
    match due {
        Due::Monotonic(Monotonic(at)) => Due::Monotonic(Monotonic(up(at))),
        Due::Wall(Wall(at)) => Due::Wall(Wall(up(at))),
    }
}
