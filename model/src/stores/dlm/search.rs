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

/// A circle of requests each of which waits for the owner of the next, and the last for that of the first; `None`: there is none.
pub fn circle(manager: &Manager) -> Option<Vec<Handle>> {
    let waits: Vec<Handle> = requests(manager).map(|(_, lock)| lock.handle).collect();
    waits.iter().find_map(|from| {
        let (mut path, mut seen) = (vec![*from], vec![*from]);
        closes(manager, *from, &mut path, &mut seen).then_some(path)
    })
}

/// Depth first from the last request of the path to one that its first one's owner is in the way of.
fn closes(manager: &Manager, from: Handle, path: &mut Vec<Handle>, seen: &mut Vec<Handle>) -> bool {
    let Some(last) = path.last().copied() else { return false };
    for owner in in_the_way_of(manager, last) {
        if owner == from.owner {
            return true;
        }
        let next: Vec<Handle> =
            requests(manager).map(|(_, lock)| lock.handle).filter(|handle| handle.owner == owner).collect();
        for next in next {
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            path.push(next);
            if closes(manager, from, path, seen) {
                return true;
            }
            path.pop();
        }
    }
    false
}

/// What waits, and is not said to be ended from elsewhere.
fn requests(manager: &Manager) -> impl Iterator<Item = (&Resource, &Lock)> {
    manager.resources.iter().flat_map(|(_, resource)| {
        let waits = resource.converting.iter().chain(&resource.waiting);
        waits.filter(|lock| !lock.flags.has(Flags::NODLCKWT)).map(move |lock| (resource, lock))
    })
}

/// The processes that must do something before this request can be granted, each once.
fn in_the_way_of(manager: &Manager, handle: Handle) -> Vec<u8> {
    let Some((resource, request)) = requests(manager).find(|(_, lock)| lock.handle == handle) else {
        return Vec::new();
    };
    let mut owners: Vec<u8> = resource.in_the_way_of(request).map(|lock| lock.handle.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
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
