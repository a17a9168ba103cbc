//! Deadlocks, by search: circles of requests that wait for one another, over resources.
//!
//! ```text
//!   A: granted R1, waits for R2 ──▶ B has R2, waits for R1 ──▶ A
//! ```
//!
//! Source: the lock-manager article, *Distributed lock manager*, "Определение ситуаций взаимной блокировки"; VAXcluster Principles, chapter
//! 6: after `DEADLOCK_WAIT` the waits are followed from a request to the locks that are in its way, to the processes that have them, and on
//! to what those wait for.
//!
//! **Where the document is wrong**: it says that the way out is "освобождая от блокировки ресурс, который был заблокирован первым",
//! the resource that was locked first is freed. No granted lock is ever taken away: one *waiting* request of the circle is
//! refused (`SS$_DEADLOCK`), and its process must give back what it has.
//!
//! **What it lives on**: a process waits for one thing at a time, and does nothing else meanwhile. One that waits for several things and
//! goes on with the first that it gets may be in a circle that is no deadlock.

use super::lock::{Flags, Handle, Lock};
use super::manager::Manager;
use super::resource::Resource;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A request that waits, as one master knows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Wait {
    /// Whose, and of which of its locks.
    pub handle: Handle,
    /// The request's number: another one of the same lock is another wait. Where one node knows all waits, 0.
    pub serial: u32,
    /// The processes that must do something before it can be granted, each once.
    pub owners: SmallVec<[u8; 2]>,
}

/// All requests that wait at this master.
pub fn waits(manager: &Manager) -> Vec<Wait> {
    let wait = |(resource, lock): (&Resource, &Lock)| {
        let mut owners: SmallVec<[u8; 2]> =
            resource.in_the_way_of(lock).map(|lock| lock.handle.owner).collect();
        owners.sort_unstable();
        owners.dedup();
        Wait { handle: lock.handle, serial: 0, owners }
    };
    requests(manager).map(wait).collect()
}

/// A circle of requests each of which waits for the owner of the next, and the last for that of the first; `None`: there is none.
pub fn circle(manager: &Manager) -> Option<Vec<Handle>> {
    circle_of(&waits(manager))
}

/// The same of waits at several masters.
pub fn circle_of(waits: &[Wait]) -> Option<Vec<Handle>> {
    waits.iter().find_map(|from| {
        let (mut path, mut seen) = (vec![from.handle], vec![from.handle]);
        closes(waits, from, from, &mut path, &mut seen).then_some(path)
    })
}

/// Depth first from the last request of the path to one that its first one's owner is in the way of.
fn closes(waits: &[Wait], from: &Wait, last: &Wait, path: &mut Vec<Handle>, seen: &mut Vec<Handle>) -> bool {
    for owner in last.owners.iter().copied() {
        if owner == from.handle.owner {
            return true;
        }
        for next in waits.iter().filter(|wait| wait.handle.owner == owner) {
            if seen.contains(&next.handle) {
                continue;
            }
            seen.push(next.handle);
            path.push(next.handle);
            if closes(waits, from, next, path, seen) {
                return true;
            }
            path.pop();
        }
    }
    false
}

/// What waited at both times, and for whom at both: a wait that ended in between has another number, or is gone.
pub fn lasting(before: &[Wait], after: &[Wait]) -> Vec<Wait> {
    let both = |wait: &Wait| {
        let same = |other: &&Wait| (other.handle, other.serial) == (wait.handle, wait.serial);
        let earlier = before.iter().find(same)?;
        let owners = wait.owners.iter().copied().filter(|owner| earlier.owners.contains(owner)).collect();
        Some(Wait { owners, ..wait.clone() })
    };
    after.iter().filter_map(both).collect()
}

/// What waits, and is not said to be ended from elsewhere.
fn requests(manager: &Manager) -> impl Iterator<Item = (&Resource, &Lock)> {
    manager.resources.iter().flat_map(|(_, resource)| {
        let waits = resource.converting.iter().chain(&resource.waiting);
        waits.filter(|lock| !lock.flags.has(Flags::NODLCKWT)).map(move |lock| (resource, lock))
    })
}

impl Resource {
    /// The locks that must go, or be granted, before this request that waits can be granted: those whose granted mode does not go beside
    /// it, and those ahead of it.
    fn in_the_way_of<'a>(&'a self, request: &'a Lock) -> impl Iterator<Item = &'a Lock> {
        let is_conversion = request.granted.is_some();
        let in_order = !request.flags.has(Flags::NOORDER);
        let holds = move |lock: &&Lock| {
            let conflicts =
                |mode: super::Mode| request.requested.is_some_and(|wanted| !wanted.goes_beside(mode));
            lock.handle != request.handle
                && lock.granted.is_some_and(conflicts)
                && !lock.flags.has(Flags::NODLCKBLK)
        };
        let queue = if is_conversion { &self.converting } else { &self.waiting };
        let ahead = queue.iter().take_while(|lock| lock.handle != request.handle);
        let conversions = self.converting.iter().filter(move |_| !is_conversion);
        let holders = self.granted.iter().chain(&self.converting).filter(holds);
        holders.chain(ahead.chain(conversions).filter(move |_| in_order))
    }
}
