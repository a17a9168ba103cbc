//! A new master: it asks every process what it has, and does nothing else until all have answered.
//!
//! ```text
//!     A: R1 EX                 new master                B: wants R1 EX
//!     │◀─ what do you have? ───────│─── what do you have? ─────▶│
//!     │── R1 EX ──────────────────▶│                            │
//!     │── $DEQ ───────────────────▶│ kept: the gate is closed   │
//!     │                            │◀──── nothing, asks for EX ─│
//!     │                            │ puts R1 together, opens    │
//!     │◀─ released ────────────────│──── granted ──────────────▶│
//! ```
//!
//! Source: Linux, `fs/dlm/recoverd.c`, `ls_recover`; `fs/dlm/requestqueue.c`, what is said meanwhile is saved. Every recovery has a number
//! (`ls_recover_seq`): an answer to the question of a recovery that was given up counts for nothing (row V6).

use super::lock::{Flags, Handle, Lock};
use super::manager::{Manager, Name};
use super::protocol::{Ask, Held};
use super::recovery::Recovery;
use super::resource::{Notices, Resource, Wish};
use super::settings::Settings;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What a new master has heard, and of whom it has not heard yet.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Gate {
    waits_for: SmallVec<[u8; 4]>,
    copies: SmallVec<[(Name, Lock); 4]>,
    again: SmallVec<[(u8, Again); 4]>,
    saved: SmallVec<[(u8, Ask); 4]>,
}

/// What was asked for and not answered: the lock's number, on what, in which mode.
type Again = (u8, Name, Wish);

impl Gate {
    /// Closes, until these have answered.
    pub fn closed_for(members: impl Iterator<Item = u8>) -> Gate {
        Gate { waits_for: members.collect(), ..Gate::default() }
    }

    /// Whether everybody has been heard.
    pub fn may_open(&self) -> bool {
        self.waits_for.is_empty()
    }

    /// Whether this one has not been heard yet.
    pub fn waits_for(&self, process: u8) -> bool {
        self.waits_for.contains(&process)
    }

    /// Whether it waits for this one, or keeps anything that it said.
    pub fn minds(&self, process: u8) -> bool {
        self.waits_for(process)
            || self.copies.iter().any(|(_, lock)| lock.handle.owner == process)
            || self.again.iter().any(|(whose, _)| *whose == process)
            || self.saved.iter().any(|(whose, _)| *whose == process)
    }

    /// What a process has.
    pub fn hears(&mut self, process: u8, held: [Option<Held>; 2], again: Option<Again>) {
        self.waits_for.retain(|other| *other != process);
        let lock = |Held { number, name, mode, queued, value }| {
            let handle = Handle { owner: process, number };
            let (requested, flags) = queued.map_or((None, Flags::NONE), |(mode, flags)| (Some(mode), flags));
            let flags = if value.is_some() { flags.and(Flags::VALBLK) } else { flags };
            let value = value.unwrap_or_default();
            (name, Lock { handle, granted: mode, requested, flags, told: None, value, is_demoted: false })
        };
        self.copies.extend(held.into_iter().flatten().map(lock));
        self.again.extend(again.map(|again| (process, again)));
    }

    /// A process is dead, or has started again: it has nothing.
    pub fn forgets(&mut self, process: u8) {
        self.waits_for.retain(|other| *other != process);
        self.copies.retain(|(_, lock)| lock.handle.owner != process);
        self.again.retain(|(whose, _)| *whose != process);
        self.saved.retain(|(whose, _)| *whose != process);
    }

    /// Something is asked for while the gate is closed.
    pub fn saves(&mut self, process: u8, ask: Ask) {
        self.saved.push((process, ask));
    }

    /// Puts the resources together, grants what can be granted, and what was asked for again; returns what was asked for meanwhile.
    pub fn open(
        self,
        manager: &mut Manager,
        recovery: Recovery,
        settings: &Settings,
        notices: &mut Notices,
    ) -> impl Iterator<Item = (u8, Ask)> + use<> {
        let mut names: SmallVec<[Name; 4]> = self.copies.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let of_it = self.copies.iter().filter(|(on, _)| *on == name).map(|(_, lock)| *lock);
            let copies: SmallVec<[Lock; 4]> = of_it.collect();
            manager.with(name, |resource| {
                *resource = Resource::rebuilt(&copies, recovery);
                resource.reopen(recovery, settings, notices);
            });
        }
        for (owner, (number, name, wish)) in self.again {
            let handle = Handle { owner, number };
            match manager.resource_of(handle) {
                Some(_) => manager.convert(handle, wish, settings, notices),
                None => manager.request(handle, name, wish, settings, notices),
            }
            manager.say_who_waits(handle, settings, notices);
        }
        self.saved.into_iter()
    }
}
