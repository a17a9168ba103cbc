//! Lock nodes at the master: who holds, who waits, how often the lock has gone from free to held, and whether it rests.

use super::protocol::{Generation, Handle, Outcome, Reply, SessionId, numbers_of};
use super::{Change, Chubby, Flaw, LOCK_DELAY_MAX, OnLoss, Settings};
use crate::machine::{Context, Effects, Visitor};
use crate::time::{Micros, Monotonic};
use picklock_properties::{Access, AccessModes, LockId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct LockNode {
    pub(super) lock: LockId,
    pub(super) generation: Generation,
    holders: SmallVec<[Holder; 1]>,
    /// In memory: whose acquisition is not answered yet, in the order of arrival.
    waiters: SmallVec<[Waiter; 1]>,
    /// A holder's session was lost: until when nobody is given the lock.
    rests_until: Option<Monotonic>,
}

/// Who has a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Holder {
    pub(super) handle: Handle,
    pub(super) access: Access,
    pub(super) lock_delay: Micros,
}

/// Who waits for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Waiter {
    holder: Holder,
    /// The latest request.
    serial: u32,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Chubby>;

impl LockNode {
    pub(super) fn new(lock: LockId) -> LockNode {
        LockNode {
            lock,
            generation: Generation::default(),
            holders: SmallVec::new(),
            waiters: SmallVec::new(),
            rests_until: None,
        }
    }

    /// Whether this handle has the lock.
    pub(super) fn is_held_by(&self, handle: Handle) -> bool {
        self.holders.iter().any(|holder| holder.handle == handle)
    }

    /// Whether those who have it share it.
    #[cfg(test)]
    pub(super) fn is_shared(&self) -> bool {
        self.holders.len() > 1
    }

    /// Somebody may wait: asked again, it is the same wait.
    pub(super) fn wait(&mut self, holder: Holder, serial: u32) {
        match self.waiters.iter_mut().find(|waiter| waiter.holder.handle == holder.handle) {
            Some(waiter) => waiter.serial = waiter.serial.max(serial),
            None => self.waiters.push(Waiter { holder, serial }),
        }
    }

    /// Whether somebody who comes now would have to wait.
    pub(super) fn is_in_the_way_of(&self, access: Access) -> bool {
        !self.waiters.is_empty() || self.rests_until.is_some() || !self.bears(access)
    }

    /// Gives the lock to those whose turn it is.
    pub(super) fn grant(&mut self, cx: &Cx, out: &mut Out) {
        self.rests_until.take_if(|until| cx.monotonic >= *until);
        while self.rests_until.is_none()
            && let Some(Waiter { holder, serial }) = self.waiters.first().copied()
            && self.bears(holder.access)
        {
            self.waiters.remove(0);
            if self.holders.is_empty() && cx.settings.flaw != Flaw::GenerationStays {
                self.generation.0 += 1;
            }
            self.holders.push(holder);
            let Handle { session: SessionId { client, .. }, .. } = holder.handle;
            out.changed(Change::Acquired { client, lock: self.lock });
            out.reply(client, Reply { serial, outcome: Outcome::Acquired(self.generation) });
        }
    }

    /// The handle has, or wants, the lock no more.
    pub(super) fn give_back(&mut self, handle: Handle) {
        self.holders.retain(|holder| holder.handle != handle);
        self.waiters.retain(|waiter| waiter.holder.handle != handle);
    }

    /// A session is lost, and what it holds with it: the lock rests for as long as its holder has asked for (section 2.4).
    pub(super) fn lose(&mut self, session: SessionId, cx: &Cx, out: &mut Out) {
        self.waiters.retain(|waiter| waiter.holder.handle.session != session);
        let Some(place) = self.holders.iter().position(|holder| holder.handle.session == session) else {
            return;
        };
        let Holder { lock_delay, .. } = self.holders.remove(place);
        out.changed(Change::Lost { client: session.client, lock: self.lock });
        if lock_delay > Micros::ZERO {
            let until = cx.monotonic + lock_delay.min(LOCK_DELAY_MAX);
            self.rests_until = self.rests_until.max(Some(until));
        }
        if cx.settings.on_loss == OnLoss::Delete {
            self.generation = Generation::default();
        }
    }

    /// There is a new master: who waits is forgotten, and asks again.
    pub(super) fn fail_over(&mut self, knows_delays: bool) {
        self.waiters.clear();
        if !knows_delays {
            self.rests_until = None;
        }
    }

    /// When the lock has rested.
    pub(super) fn deadline(&self) -> Option<Monotonic> {
        self.rests_until
    }

    fn bears(&self, access: Access) -> bool {
        let modes = AccessModes::SHARED_EXCLUSIVE;
        self.holders.iter().all(|holder| modes.compatible(holder.access, access))
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.holders.iter_mut().for_each(|holder| holder.handle.visit(visitor));
        for waiter in &mut self.waiters {
            waiter.holder.handle.visit(visitor);
            visitor.serial(numbers_of(waiter.holder.handle.session.client), &mut waiter.serial);
        }
        self.rests_until.iter_mut().for_each(|until| visitor.wake(until));
    }

    /// What it is, for the reader of a trace.
    pub(super) fn describe(&self) -> String {
        let holders: Vec<String> =
            self.holders.iter().map(|holder| holder.handle.session.to_string()).collect();
        let state = match (holders.is_empty(), self.rests_until) {
            (false, _) => format!("held by {}", holders.join(", ")),
            (true, Some(_)) => "rests".to_owned(),
            (true, None) => "free".to_owned(),
        };
        let waiting = match self.waiters.len() {
            0 => String::new(),
            count => format!(", {count} waiting"),
        };
        format!("lock {}: {state}, generation {}{waiting}", self.lock.0, self.generation.0)
    }
}
