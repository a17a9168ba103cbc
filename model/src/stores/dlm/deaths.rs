//! Processes that are dead, or taken for dead: they are switched off, their journals are replayed, and what they had is given on.
//!
//! ```text
//!   silent for RECNXINTERVAL ──▶ switched off ──▶ its journal is replayed ──▶ its locks are given on
//!                next life ───────────────────────▶┘
//! ```
//!
//! Source: Linux, `dlm_controld` (fencing first), `fs/dlm/lock.c` (`dlm_recover_purge`), `fs/gfs2/lock_dlm.c` (journals before locks).

use super::protocol::{Reply, Request, Tell};
use super::resource::Notices;
use super::server::Dlm;
use super::settings::{Journals, Settings};
use crate::machine::Effects;

impl Dlm {
    /// Another life of it: the last one is dead, and has nothing.
    pub(super) fn begins_life(
        &mut self,
        from: u8,
        request: &Request,
        settings: &Settings,
        notices: &mut Notices,
        effects: &mut Effects<Dlm>,
    ) {
        let heard = &mut self.heard[usize::from(from)];
        if heard.life < request.life {
            (heard.life, heard.is_removed) = (request.life, false);
            self.buries(from, settings, notices, effects);
        }
    }

    /// It has what it has until it is known to be off.
    pub(super) fn switches_off(&self, process: u8, effects: &mut Effects<Dlm>) {
        let serial = self.heard[usize::from(process)].serial.unwrap_or(0);
        effects.reply(process, Reply { serial, epoch: self.epoch, tell: Tell::PowerOff });
    }

    /// Its locks are given on, now or when its journal is replayed. What it was to replay another one does.
    pub(super) fn buries(
        &mut self,
        process: u8,
        settings: &Settings,
        notices: &mut Notices,
        effects: &mut Effects<Dlm>,
    ) {
        for of in self.disk.entrusted_to(process) {
            self.lets_replay(of, process, effects);
        }
        if self.disk.has_journal(process) {
            self.lets_replay(process, process, effects);
            if settings.journals == Journals::ReplayedFirst {
                return;
            }
        }
        self.gives_on(process, settings, notices);
    }

    fn gives_on(&mut self, process: u8, settings: &Settings, notices: &mut Notices) {
        self.manager.purge(process, settings, notices);
        if let Some(gate) = &mut self.gate {
            gate.forgets(process);
        }
    }

    /// Somebody who is there replays the journal of a dead process: a survivor, or else whoever comes back.
    fn lets_replay(&mut self, of: u8, dead: u8, effects: &mut Effects<Dlm>) {
        let is_there = |process: &u8| {
            let heard = &self.heard[usize::from(*process)];
            *process != dead && heard.serial.is_some() && !heard.is_removed
        };
        let by = (0..self.heard.len() as u8).find(is_there).unwrap_or(dead);
        self.disk.replayed_by(of, by);
        effects.reply(by, Reply { serial: 0, epoch: self.epoch, tell: Tell::Replay { of } });
    }

    /// A journal is replayed. Its owner is gone, and what it had is given on; if it is back, it has joined now.
    pub(super) fn on_replayed(
        &mut self,
        of: u8,
        settings: &Settings,
        notices: &mut Notices,
        effects: &mut Effects<Dlm>,
    ) {
        if !self.disk.awaits_replay(of) {
            return;
        }
        let joins = self.disk.replay(of);
        if settings.journals == Journals::ReplayedFirst {
            self.gives_on(of, settings, notices);
            if let Some(serial) = joins {
                effects.reply(of, Reply { serial, epoch: self.epoch, tell: Tell::Joined });
            }
        }
    }
}

impl Settings {
    /// What is said to who is taken for dead.
    pub(super) fn removal(&self) -> Tell {
        if self.fences { Tell::PowerOff } else { Tell::Removed }
    }
}
