//! What a process does when a master dies, and when it is itself taken for dead.
//!
//! Source: Linux, `fs/dlm/lock.c` (`dlm_recover_waiters_pre`), `fs/dlm/recover.c` (`dlm_recover_locks`).

use super::process::{Cx, ManagedProcess, Out, Phase};
use crate::stores::dlm::recovery::is_middle;
use crate::stores::dlm::{Ask, Held, Reply};
use picklock_properties::{ClientId, Event};

impl ManagedProcess {
    /// There is a new master: it is told what this one has, and what it waits for.
    pub(super) fn on_recover(&mut self, cx: &Cx, out: &mut Out) {
        let has = |number: usize| {
            let own = self.locks.get(number)?;
            let (number, name, mode) = (number as u8, own.name, Some(own.mode?));
            Some(Held { number, name, mode, queued: None, value: None })
        };
        let held = [has(0), has(1)];
        match self.phase {
            // What it said last is lost.
            Phase::Joins => self.ask(Ask::Join, cx, out),
            Phase::Starts => {}
            Phase::Asks { queued: true } => {
                let ask = self.copies_with_queued(held, cx);
                let queued = matches!(ask, Ask::Copies { again: None, .. });
                self.phase = Phase::Asks { queued };
                self.ask(ask, cx, out);
            }
            Phase::Asks { queued: false } => {
                self.ask(Ask::Copies { held, again: self.waits_for(cx) }, cx, out);
            }
            Phase::GivesBack { again } => {
                // It is off: nobody tells the new master of it.
                self.ask(Ask::Copies { held, again: None }, cx, out);
                if !self.is_unheard() {
                    self.locks.pop();
                    self.give_back(again, cx, out);
                }
            }
            Phase::Works { .. } | Phase::Thinks { .. } | Phase::Done | Phase::LooksUp => {
                self.ask(Ask::Copies { held, again: None }, cx, out);
            }
        }
    }

    /// What it has, and what it waits for in a queue: it comes to stand in one again. What it wants between PR and CW it asks for again
    /// ([`crate::stores::dlm::recovery::Middle::AskedAgain`]).
    fn copies_with_queued(&self, mut held: [Option<Held>; 2], cx: &Cx) -> Ask {
        let again = self.waits_for(cx);
        let Some((number, name, wish)) = again else { return Ask::Copies { held, again } };
        let place = usize::from(number);
        let mode = self.mode(number);
        if mode.is_some_and(|mode| is_middle(mode, wish.mode)) {
            return Ask::Copies { held, again };
        }
        held[place] = Some(Held { number, name, mode, queued: Some((wish.mode, wish.flags)), value: None });
        Ask::Copies { held, again: None }
    }

    /// Whether it has told a new master what it has, will tell it until it is heard, and asks for nothing before: the gate waits for that, and
    /// not for what comes after it.
    pub(super) fn is_unheard(&self) -> bool {
        matches!(self.asked, Some(Ask::Copies { again: None, .. }))
            && !matches!(self.phase, Phase::Asks { .. })
    }

    pub(super) fn on_heard(&mut self, cx: &Cx, out: &mut Out) {
        self.asked = None;
        match self.phase {
            Phase::GivesBack { again } => {
                self.locks.pop();
                self.give_back(again, cx, out);
            }
            Phase::Thinks { .. } | Phase::Done => self.alive_at = None,
            Phase::Works { .. } | Phase::Starts | Phase::Joins | Phase::LooksUp | Phase::Asks { .. } => {}
        }
    }

    /// Its node is switched off, and stays so: it has nothing, and says so once.
    pub(super) fn on_power_off(&mut self, cx: &Cx, out: &mut Out) {
        self.loses_all(cx, out);
        self.locks.clear();
        (self.phase, self.rounds_left) = (Phase::Done, 0);
        self.ask(Ask::WasOff, cx, out);
        self.was_off = Some(self.serial);
        (self.alive_at, self.asked) = (None, None);
    }

    pub(super) fn was_off_since(&self, reply: &Reply) -> bool {
        self.was_off.is_some_and(|was_off| reply.serial < was_off)
    }

    /// It was taken for dead: what it had is gone, and it starts again (`CLUEXIT`).
    pub(super) fn on_removed(&mut self, cx: &Cx, out: &mut Out) {
        self.loses_all(cx, out);
        self.start_again();
    }

    fn loses_all(&mut self, cx: &Cx, out: &mut Out) {
        for number in (0..self.locks.len()).rev() {
            self.go_by(number as u8, None, cx, out);
        }
        if matches!(self.phase, Phase::Works { .. }) {
            out.record(Event::Lost { client: ClientId(cx.machine.me) });
        }
    }

    pub(super) fn start_again(&mut self) {
        self.locks.clear();
        (self.alive_at, self.asked, self.finds) = (None, None, None);
        self.life = self.life.saturating_add(1);
        self.phase = Phase::Starts;
    }
}
