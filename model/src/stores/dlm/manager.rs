//! All resources that a node masters, and what its processes ask for: `$ENQ`, `$DEQ`, a conversion, a cancel.
//!
//! Source: the lock-manager article, *Distributed lock manager*, "Ресурсы" (parents: database, table, record, field) and "Получение
//! блокировки"; the VMS system services manual, `$ENQ` and `$DEQ`.

use super::lock::{Flags, Handle, Notice, Refusal, Status};
use super::resource::{Notices, Resource, Wish};
use super::search;
use super::settings::{Kind, Settings};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// What a resource is called: a number at each level, database, table, record, field; 0 where the name ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Name(pub [u8; 4]);

impl Name {
    /// A resource without a parent; `number` begins with 1.
    pub const fn of(number: u8) -> Name {
        Name([number, 0, 0, 0])
    }

    /// The resource of this number below this one; at the lowest level, this one.
    #[must_use]
    pub fn below(self, number: u8) -> Name {
        let mut levels = self.0;
        if let Some(level) = levels.iter_mut().find(|level| **level == 0) {
            *level = number;
        }
        Name(levels)
    }

    /// The one above it, if it has one.
    pub fn parent(self) -> Option<Name> {
        let mut levels = self.0;
        let last = levels.iter_mut().skip(1).rev().find(|level| **level != 0)?;
        *last = 0;
        Some(Name(levels))
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "R{}", self.0[0])?;
        self.0[1..].iter().filter(|level| **level != 0).try_for_each(|level| write!(f, ".{level}"))
    }
}

/// All resources that a node masters, by name.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Manager {
    /// Those on which there are locks, in the order of their names.
    pub resources: SmallVec<[(Name, Resource); 2]>,
}

impl Manager {
    /// The resource of this name, if there is a lock on it.
    pub fn resource(&self, name: Name) -> Option<&Resource> {
        self.place(name).ok().map(|place| &self.resources[place].1)
    }

    /// On which resource the lock is.
    pub fn resource_of(&self, handle: Handle) -> Option<Name> {
        let has = |(_, resource): &&(Name, Resource)| resource.lock(handle).is_some();
        self.resources.iter().find(has).map(|(name, _)| *name)
    }

    /// `$ENQ` without a lock id: a new lock. In VMS, one on a resource below another is a sublock of its process' lock on that one,
    /// which must be granted.
    pub fn request(
        &mut self,
        handle: Handle,
        name: Name,
        wish: Wish,
        settings: &Settings,
        notices: &mut Notices,
    ) {
        if self.resource_of(handle).is_some() {
            return refuse(handle, Refusal::State, notices);
        }
        if settings.kind == Kind::Vms
            && name.parent().is_some_and(|parent| !self.is_granted_to(parent, handle.owner))
        {
            return refuse(handle, Refusal::Parent, notices);
        }
        self.with(name, |resource| resource.request(handle, wish, settings, notices));
    }

    /// `$ENQ` with a lock id and CONVERT.
    pub fn convert(&mut self, handle: Handle, wish: Wish, settings: &Settings, notices: &mut Notices) {
        let Some(name) = self.resource_of(handle) else { return refuse(handle, Refusal::State, notices) };
        self.with(name, |resource| resource.convert(handle, wish, settings, notices));
    }

    /// `$DEQ`.
    pub fn release(
        &mut self,
        handle: Handle,
        flags: Flags,
        value: u32,
        settings: &Settings,
        notices: &mut Notices,
    ) {
        let Some(name) = self.resource_of(handle) else { return refuse(handle, Refusal::State, notices) };
        let is_sublock = |(below, resource): &(Name, Resource)| {
            below.parent() == Some(name) && resource.locks().any(|lock| lock.handle.owner == handle.owner)
        };
        if settings.kind == Kind::Vms && self.resources.iter().any(is_sublock) {
            let granted = self.resource(name).and_then(|resource| resource.lock(handle)?.granted);
            let status = Status::Refused(Refusal::Sublocks);
            return notices
                .push((handle, Notice::Completed { status, granted, value: None, is_demoted: false }));
        }
        self.with(name, |resource| resource.release(handle, flags, value, settings, notices));
    }

    /// `$DEQ` with CANCEL.
    pub fn cancel(&mut self, handle: Handle, settings: &Settings, notices: &mut Notices) {
        let Some(name) = self.resource_of(handle) else { return refuse(handle, Refusal::State, notices) };
        self.with(name, |resource| resource.cancel(handle, Status::Cancelled, settings, notices));
    }

    /// The process is dead: whatever it has or waits for goes.
    pub fn purge(&mut self, owner: u8, settings: &Settings, notices: &mut Notices) {
        let names: SmallVec<[Name; 2]> = self.resources.iter().map(|(name, _)| *name).collect();
        for name in names {
            self.with(name, |resource| resource.purge(owner, settings, notices));
        }
    }

    /// Looks for a circle of waits, and refuses one of its requests; returns it. Others stay.
    pub fn end_a_deadlock(&mut self, settings: &Settings, notices: &mut Notices) -> Option<Handle> {
        let victim = search::circle(self)?.into_iter().max()?;
        self.refuses(victim, settings, notices);
        Some(victim)
    }

    /// A request that waits is refused, to end a deadlock.
    pub(super) fn refuses(&mut self, victim: Handle, settings: &Settings, notices: &mut Notices) {
        let Some(name) = self.resource_of(victim) else { return };
        self.with(name, |resource| resource.cancel(victim, Status::Deadlock, settings, notices));
    }

    /// Those who are in the way of what this process waits for are told so once more: they may not have heard.
    pub fn ring_again(&self, waits: u8, notices: &mut Notices) {
        for (_, resource) in &self.resources {
            let queued = resource.converting.iter().chain(&resource.waiting);
            for wanted in queued.filter(|lock| lock.handle.owner == waits).filter_map(|lock| lock.requested) {
                let others = resource.granted.iter().filter(|lock| lock.handle.owner != waits);
                let holders =
                    others.filter(|lock| lock.granted.is_some_and(|mode| !mode.goes_beside(wanted)));
                notices.extend(holders.map(|lock| (lock.handle, Notice::Blocks(wanted))));
            }
        }
    }

    /// Whoever waits is told so, where that is done ([`Settings::tells_who_waits`]).
    pub(super) fn say_who_waits(&self, handle: Handle, settings: &Settings, notices: &mut Notices) {
        let mut locks = self.resources.iter().filter_map(|(_, resource)| resource.lock(handle));
        if settings.tells_who_waits && locks.any(|lock| lock.requested.is_some()) {
            notices.push((handle, Notice::Queued));
        }
    }

    /// Whether anybody waits.
    pub fn somebody_waits(&self) -> bool {
        self.resources
            .iter()
            .any(|(_, resource)| !resource.converting.is_empty() || !resource.waiting.is_empty())
    }

    /// Does it to the resource of this name, which comes into being for it, and goes when no lock is left.
    pub(super) fn with(&mut self, name: Name, what: impl FnOnce(&mut Resource)) {
        let place = self.place(name).unwrap_or_else(|place| {
            self.resources.insert(place, (name, Resource::default()));
            place
        });
        what(&mut self.resources[place].1);
        if self.resources[place].1.is_unused() {
            self.resources.remove(place);
        }
    }

    fn place(&self, name: Name) -> Result<usize, usize> {
        self.resources.binary_search_by_key(&name, |(name, _)| *name)
    }

    fn is_granted_to(&self, name: Name, owner: u8) -> bool {
        let is_it = |lock: &super::lock::Lock| lock.handle.owner == owner && lock.granted.is_some();
        self.resource(name).is_some_and(|resource| resource.locks().any(is_it))
    }
}

fn refuse(handle: Handle, refusal: Refusal, notices: &mut Notices) {
    let status = Status::Refused(refusal);
    notices.push((handle, Notice::Completed { status, granted: None, value: None, is_demoted: false }));
}
