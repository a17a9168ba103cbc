//! What the matrix has tables of, and the columns of each.

use crate::registry::{AnyLock, Locks};
use picklock_properties::{Promise, PromiseSet};

/// What a table is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Locks.
    Locks,
    /// Objects that clients share without a lock.
    Objects,
}

impl Kind {
    /// In the order of the tables.
    pub const ALL: [Kind; 2] = [Kind::Locks, Kind::Objects];

    /// What `--system` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Locks => "locks",
            Kind::Objects => "objects",
        }
    }

    /// One of them.
    pub fn singular(self) -> &'static str {
        match self {
            Kind::Locks => "lock",
            Kind::Objects => "object",
        }
    }

    /// What it belongs to; `None` for what is there to probe a store, which has no row.
    pub fn of(lock: &dyn AnyLock) -> Option<Kind> {
        let is_judged = || Kind::Objects.columns().iter().any(|promise| lock.watched().contains(*promise));
        match lock.is_lock() {
            true => Some(Kind::Locks),
            false => is_judged().then_some(Kind::Objects),
        }
    }

    /// All there are.
    pub fn rows(self, locks: &Locks) -> Vec<&dyn AnyLock> {
        locks.iter().filter(|lock| Kind::of(*lock) == Some(self)).collect()
    }

    /// The columns, in order.
    pub fn columns(self) -> &'static [Promise] {
        match self {
            Kind::Locks => &[
                Promise::MutualExclusion,
                Promise::FencedResource,
                Promise::DeadlockFreedom,
                Promise::StarvationFreedom,
                Promise::Fifo,
                Promise::LeaseLoss,
            ],
            Kind::Objects => &[
                Promise::Linearizable,
                Promise::Conservation,
                Promise::NoHole,
                Promise::NoOverwrite,
                Promise::NoDuplicate,
                Promise::IndexNeverFalls,
                Promise::ExactlyOnce,
                // A queue's readers may wait for ever.
                Promise::DeadlockFreedom,
            ],
        }
    }

    /// What is watched in its runs: of a lock, everything that there is a column for; of an object, only what it promises.
    pub fn watched(self, lock: &dyn AnyLock) -> PromiseSet {
        let columns = self.columns().iter().copied();
        match self {
            Kind::Locks => columns.collect(),
            Kind::Objects => columns.filter(|promise| lock.watched().contains(*promise)).collect(),
        }
    }
}
