//! The locks there are, by name, with everything that the command does with a lock.
//!
//! Registering a lock is one entry in [`locks`]; no engine knows any. They are a crate of their own because here all that is
//! generic in a lock is compiled for each of them, once: what only tells of locks does not wait for it.

mod cassandra;
mod chubby;
mod dlm;
mod etcd;
mod feedback;
mod objects;
mod redis;
mod zookeeper;

use picklock_engine::registry::{AnyLock, Registered};
use picklock_model::claims::unpack_setup;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::system::System;
use picklock_properties::Promise;

/// The locks that a command knows: those of this crate, others, or both.
///
/// ```
/// use picklock_locks::Locks;
///
/// let names: Vec<&str> = Locks::builtin().iter().map(|lock| lock.name()).collect();
/// assert_eq!(names[0], "cassandra-queue");
/// ```
pub struct Locks(Vec<Box<dyn AnyLock>>);

impl Locks {
    /// Those of this crate, in the order of the tables.
    pub fn builtin() -> Locks {
        Locks(locks())
    }

    /// None: for a command that knows the locks of others only.
    pub fn none() -> Locks {
        Locks(Vec::new())
    }

    /// One more, after the others. A lock of the same name, whose tokens it would read, makes way.
    #[must_use]
    pub fn and<Y: System>(mut self, lock: Registered<Y>) -> Locks {
        self.0.retain(|known| known.name() != lock.name);
        self.0.push(Box::new(lock));
        self
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&dyn AnyLock> {
        self.iter().find(|lock| lock.name() == name)
    }

    /// The setup that runs of the one of this name start from, to be changed in a test; none if there is none of this name and type.
    ///
    /// ```
    /// use picklock_locks::Locks;
    /// use picklock_model::locks::Redlock;
    ///
    /// let redlock = Locks::builtin().setup_of::<Redlock>("redlock").expect("it is one of them");
    /// assert_eq!(redlock.servers, 5);
    /// ```
    pub fn setup_of<Y: System>(&self, name: &str) -> Option<Setup<Y>> {
        unpack_setup(&self.named(name)?.setup(None)).ok()
    }

    /// All, in the order of the tables.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AnyLock> {
        self.0.iter().map(AsRef::as_ref)
    }
}

/// All locks of this crate, in the order of the tables.
pub fn locks() -> Vec<Box<dyn AnyLock>> {
    let mut locks = cassandra::locks();
    locks.extend(redis::locks());
    locks.extend(zookeeper::locks());
    locks.extend(etcd::locks());
    locks.extend(etcd::locks_on_three());
    locks.extend(chubby::locks());
    locks.push(feedback::lock());
    locks.extend(dlm::locks());
    locks.push(cassandra::row_probe());
    locks.push(zookeeper::znode_probe());
    locks.extend(objects::objects());
    locks.push(dlm::cache());
    locks
}

/// Whether progress is judged where a server may take the question along when it loses power: whoever has no time-out then waits for
/// ever for the answer, however good the lock is.
fn waits_in_vain<Y: System>(Space { setup, bounds }: &Space<Y>) -> bool {
    bounds.power_losses > 0 && setup.promises.iter().any(Promise::is_of_progress)
}
