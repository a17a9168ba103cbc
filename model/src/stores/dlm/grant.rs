//! When a lock may be granted, and what becomes of those that wait when something has changed.
//!
//! Source: Linux, `fs/dlm/lock.c`, `_can_be_granted`, `conversion_deadlock_detect`, `grant_pending_convert`,
//! `grant_pending_wait`; the numbers are those of the sentences that it cites from R. Davis, *VAXcluster Principles*, chapter 6.

use super::lock::{Flags, Handle, Lock};
use super::mode::Mode;
use super::resource::{Notices, Resource};
use super::settings::Settings;

/// When it is asked whether a lock may be granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// When it is asked for.
    Now,
    /// When it waits.
    Later,
    /// When it waits on a resource whose queues were put together anew, in whatever order (`RSB_RECOVER_GRANT`).
    Recovered,
}

impl Resource {
    /// `_can_be_granted`.
    pub(super) fn may_be_granted(&self, lock: &Lock, when: When) -> bool {
        let Some(mode) = lock.requested else { return false };
        let is_conversion = lock.granted.is_some();
        // 6-11: a NL lock is in nobody's way, and need not wait behind others.
        if lock.flags.has(Flags::EXPEDITE) {
            return true;
        }
        // 6-3: compatible with the granted modes of all others, of those that convert as well.
        if self.conflicts(lock.handle, mode) {
            return false;
        }
        let is_first = |queue: &[Lock]| queue.first().is_some_and(|first| first.handle == lock.handle);
        match (when, is_conversion) {
            // Their order is lost; in the new one they could be in each other's way in place.
            (When::Recovered, true) => true,
            // 6-5, 6-7: in place, past those that wait; with QUECVT behind those that convert.
            (When::Now, true) => !lock.flags.has(Flags::QUECVT) || self.converting.is_empty(),
            _ if lock.flags.has(Flags::NOORDER) => true,
            // 6-3: the conversions ahead of it go first.
            (When::Later, true) => is_first(&self.converting),
            // 6-4: conversions go first, and then those who came first.
            (When::Now, false) => self.converting.is_empty() && self.waiting.is_empty(),
            (When::Later | When::Recovered, false) => self.converting.is_empty() && is_first(&self.waiting),
        }
    }

    /// Whether somebody else's granted mode does not go beside this one (`queue_conflict`).
    pub(super) fn conflicts(&self, handle: Handle, mode: Mode) -> bool {
        let others = self.granted.iter().chain(&self.converting).filter(|lock| lock.handle != handle);
        others.filter_map(|lock| lock.granted).any(|granted| !granted.goes_beside(mode))
    }

    /// Whether its granted mode is in the way of a conversion that waits already: that one cannot be granted before this one goes,
    /// and this one would wait behind it (`conversion_deadlock_detect`).
    pub(super) fn is_in_the_way_of_a_conversion(&self, lock: &Lock) -> bool {
        let Some(granted) = lock.granted else { return false };
        let ahead = self.converting.iter().take_while(|other| other.handle != lock.handle);
        ahead.filter_map(|other| other.requested).any(|requested| !granted.goes_beside(requested))
    }

    /// Grants whoever can be granted now, and tells those who are in the way of the rest (`grant_pending_locks`).
    pub(super) fn grant_pending(&mut self, settings: &Settings, notices: &mut Notices) {
        self.grant_converting(settings, notices);
        self.grant_waiting(settings, notices);
        self.tell_those_still_in_the_way(notices);
    }

    /// The converting queue, again and again until nothing changes (`grant_pending_convert`).
    pub(super) fn grant_converting(&mut self, settings: &Settings, notices: &mut Notices) {
        let when = if self.is_out_of_order { When::Recovered } else { When::Later };
        while let Some(handle) = self.next_to_grant(when) {
            self.grant(handle, settings, notices);
        }
        self.is_out_of_order &= !self.converting.is_empty();
    }

    fn next_to_grant(&self, when: When) -> Option<Handle> {
        self.converting.iter().find(|lock| self.may_be_granted(lock, when)).map(|lock| lock.handle)
    }

    /// The waiting queue, once (`grant_pending_wait`).
    fn grant_waiting(&mut self, settings: &Settings, notices: &mut Notices) {
        let waiting: Vec<Handle> = self.waiting.iter().map(|lock| lock.handle).collect();
        for handle in waiting {
            let Some(lock) = self.lock(handle) else { unreachable!("a grant takes no other lock away") };
            if self.may_be_granted(lock, When::Later) {
                self.grant(handle, settings, notices);
            }
        }
    }
}
