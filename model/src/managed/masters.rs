//! A process where several nodes master resources: it asks the directory who does, and after a recovery finds its locks' masters anew.
//!
//! ```text
//!   view 1 ──▶ who masters R1? ──▶ s2 ──▶ what it has, to each node what that masters ──▶ goes on
//! ```
//!
//! Source: Linux, `fs/dlm/lock.c` (`set_master`, `send_lookup`), `fs/dlm/recover.c` (`dlm_recover_masters`, `dlm_recover_locks`).

use super::process::{Cx, ManagedProcess, Out, Phase};
use crate::stores::dlm::peer::{directory_of, nodes};
use crate::stores::dlm::{Ask, Held, Name, Reply};
use smallvec::SmallVec;

impl ManagedProcess {
    fn members(&self, cx: &Cx) -> u8 {
        self.members.unwrap_or(((1_u16 << cx.machine.servers) - 1) as u8)
    }

    /// To whom this goes: to the master, to the directory, to all; of what it has, to each what is that one's.
    pub(super) fn addressed(&self, ask: Ask, cx: &Cx) -> SmallVec<[(u8, Ask); 3]> {
        let members = self.members(cx);
        let master = |number: u8| self.locks.get(usize::from(number)).map_or(0, |own| own.master);
        match ask {
            Ask::Enqueue { number, .. }
            | Ask::Convert { number, .. }
            | Ask::Dequeue { number, .. }
            | Ask::Cancel { number } => SmallVec::from_iter([(master(number), ask)]),
            Ask::Lookup { name } => SmallVec::from_iter([(directory_of(name, members), ask)]),
            Ask::Copies { held, again } => nodes(members)
                .map(|node| {
                    let is_its = |held: &Held| master(held.number) == node;
                    let held = held.map(|held| held.filter(is_its));
                    (node, Ask::Copies { held, again: again.filter(|(number, ..)| master(*number) == node) })
                })
                .collect(),
            // Those without whom it lives wait for it, too.
            Ask::WasOff => (0..cx.machine.servers).map(|node| (node, ask)).collect(),
            Ask::Join
            | Ask::Alive
            | Ask::Read { .. }
            | Ask::Write { .. }
            | Ask::Log { .. }
            | Ask::Replay { .. } => nodes(members).map(|node| (node, ask)).collect(),
        }
    }

    pub(super) fn has_asked_for_master(&self, reply: &Reply) -> bool {
        let asks = self.finds.is_some() || self.phase == Phase::LooksUp;
        asks && (reply.serial, reply.epoch) == (self.serial, self.epoch)
    }

    /// Other nodes go on, or the same ones without locks.
    pub(super) fn on_view(&mut self, cx: &Cx, out: &mut Out) {
        self.finds = None;
        match self.phase {
            Phase::Starts => {}
            Phase::Joins => self.ask(Ask::Join, cx, out),
            _ => self.find_from(0, cx, out),
        }
    }

    /// Asks who masters the next of its locks; when it knows of all, it tells everybody what it has.
    fn find_from(&mut self, place: usize, cx: &Cx, out: &mut Out) {
        let is_sought = |place: &usize| self.is_sought(*place, cx);
        if let Some(place) = (place..self.locks.len()).find(is_sought) {
            self.finds = Some(place as u8);
            let name = self.locks[place].name;
            return self.ask(Ask::Lookup { name }, cx, out);
        }
        self.finds = None;
        self.on_recover(cx, out);
        if let (Phase::LooksUp, Some(name)) = (self.phase, self.wanted()) {
            self.ask(Ask::Lookup { name }, cx, out);
        }
    }

    /// Whether it has this lock, or waits for it.
    fn is_sought(&self, place: usize, cx: &Cx) -> bool {
        let waits = matches!(self.phase, Phase::Asks { .. })
            && self.waits_for(cx).is_some_and(|(number, ..)| usize::from(number) == place);
        waits || self.locks[place].mode.is_some()
    }

    /// What it has taken last.
    fn wanted(&self) -> Option<Name> {
        self.locks.last().map(|own| own.name)
    }

    /// This node masters what it asked about.
    pub(super) fn on_master(&mut self, node: u8, cx: &Cx, out: &mut Out) {
        if let Some(place) = self.finds.map(usize::from) {
            self.locks[place].master = node;
            return self.find_from(place + 1, cx, out);
        }
        let Some((number, name, wish)) = self.waits_for(cx) else { unreachable!("it is about to take it") };
        self.locks[usize::from(number)].master = node;
        self.phase = Phase::Asks { queued: false };
        self.ask(Ask::Enqueue { number, name, wish }, cx, out);
    }
}
