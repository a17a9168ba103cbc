//! A process that uses a lock manager: it does the steps of its program, each when the one before is granted.
//!
//! ```text
//!   thinks ──▶ step ──asks──▶ granted ──▶ step … work … ──▶ gives all back ──▶ thinks
//!                       └───▶ refused ──────────────────────▶ gives all back ──▶ thinks, and begins again
//! ```
//!
//! **What it lives on.** A process that is alive is heard of, and one that is not heard of for long is dead. Messages come once: the
//! manager tells requests apart by their numbers, and what is not answered is said once more ([`Settings::alive_every`]), as the
//! connections of both systems do.
//!
//! **What breaks it.** A process that stands still for longer than [`crate::stores::dlm::Settings::removed_after`] is taken for dead, and
//! goes on with what it had when it wakes, until it is told. Both systems fence such a node before they give its locks on; here that is
//! done where [`crate::stores::dlm::Settings::fences`] says so.

use super::program::{Believes, Chosen, Program, Settings, Step};
use crate::cluster::Setup;
use crate::machine::{Effects, Line, Message, Node, Owner, Visitor};
use crate::stores::dlm::{Ask, Dlm, Flags, Mode, Name, Notice, Reply, Request, Status, Tell, Wish};
use crate::system::{InMode, Process, ProcessContext, System};
use crate::time::{Due, Micros, Monotonic};
use crate::workload::{ROUNDS_WITHOUT_END, Workload};
use picklock_properties::{AccessModes, ClientId, Event, HoldId, LockId, ManagerMonitors, Mode as Waits};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The system: processes over one lock manager.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Managed {}

impl System for Managed {
    type Store = Dlm;
    type Settings = Settings;
    type Process = ManagedProcess;
    type Judge = ManagerMonitors;

    fn access_modes(_settings: &Settings) -> AccessModes {
        AccessModes::DLM
    }

    fn patience(setup: &Setup<Self>) -> Option<Micros> {
        setup.store.removed_after
    }
}

/// One process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ManagedProcess {
    pub(super) phase: Phase,
    pub(super) rounds_left: u8,
    /// Which program it does, and which step of it is next.
    program: u8,
    step: u8,
    /// Counts its requests.
    pub(super) serial: u32,
    /// The number of its last hold.
    hold: u32,
    /// How often it has started.
    pub(super) life: u8,
    /// Of which master it knows.
    pub(super) epoch: u8,
    /// Which nodes master resources, a bit for each; `None`: all.
    pub(super) members: Option<u8>,
    /// Which of its locks it asks the master of, while it finds out where they are after a recovery.
    pub(super) finds: Option<u8>,
    /// With which request it told that it was switched off last: what was said to it before is not meant for it.
    pub(super) was_off: Option<u32>,
    /// When it says that it is alive, if it does.
    pub(super) alive_at: Option<Monotonic>,
    /// What it asked last, if it is not answered yet and may have to be said once more.
    pub(super) asked: Option<Ask>,
    /// Its locks, in the order in which it took them.
    pub(super) locks: SmallVec<[Own; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Will begin its program.
    Thinks {
        /// When.
        until: Monotonic,
        /// Whether it has asked already in this round, and was refused.
        again: bool,
    },
    /// Has started again, and will say so.
    Starts,
    /// Has said that it has started again.
    Joins,
    /// Has asked who masters what it wants.
    LooksUp,
    /// Has asked for something.
    Asks {
        /// Whether it was told that it waits in a queue.
        queued: bool,
    },
    /// Works.
    Works { until: Monotonic },
    /// Gives back what it has; to begin again, if a request of it was refused.
    GivesBack { again: bool },
    /// Will do nothing more.
    Done,
}

/// A lock of its own, as far as it knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) name: Name,
    /// What it goes by.
    pub(super) mode: Option<Mode>,
    /// Which one it has asked for.
    wants: Option<Mode>,
    /// Which node masters it.
    pub(super) master: u8,
}

pub(super) type Cx<'a> = ProcessContext<'a, Managed>;
pub(super) type Out = Effects<Dlm>;

impl ManagedProcess {
    /// In which mode it has its lock of this number, for all it knows.
    pub fn mode(&self, number: u8) -> Option<Mode> {
        self.locks.get(usize::from(number))?.mode
    }

    fn program<'a>(&self, cx: &Cx<'a>) -> &'a Program {
        &cx.machine.settings.programs[usize::from(self.program)]
    }

    pub(super) fn ask(&mut self, ask: Ask, cx: &Cx, out: &mut Out) {
        self.serial += 1;
        if let Some(every) = cx.machine.settings.alive_every {
            (self.alive_at, self.asked) = (Some(cx.machine.monotonic + every), Some(ask));
        }
        self.send(ask, cx, out);
    }

    fn send(&self, ask: Ask, cx: &Cx, out: &mut Out) {
        let request = |ask| Request { serial: self.serial, life: self.life, epoch: self.epoch, ask };
        if cx.machine.servers == 1 {
            return out.request(0, request(ask));
        }
        for (node, ask) in self.addressed(ask, cx) {
            out.request(node, request(ask));
        }
    }

    /// Goes by this mode of the lock from here on.
    pub(super) fn go_by(&mut self, number: u8, mode: Option<Mode>, cx: &Cx, out: &mut Out) {
        let Some(own) = self.locks.get_mut(usize::from(number)) else { return };
        if own.mode != mode {
            own.mode = mode;
            let (client, resource) = (ClientId(cx.machine.me), resource_of(own.name));
            out.record(Event::Has { client, resource, access: mode.map(Mode::access) });
        }
    }

    /// Does the next step, or gives everything back when there is none.
    fn go_on(&mut self, cx: &Cx, out: &mut Out) {
        let Some(step) = self.program(cx).0.get(usize::from(self.step)) else {
            return self.give_back(false, cx, out);
        };
        self.step += 1;
        match *step {
            Step::Take(name, mode, flags) => {
                let number = self.locks.len() as u8;
                self.locks.push(Own { name, mode: None, wants: Some(mode), master: 0 });
                if cx.machine.servers > 1 {
                    self.phase = Phase::LooksUp;
                    return self.ask(Ask::Lookup { name }, cx, out);
                }
                self.phase = Phase::Asks { queued: false };
                self.ask(Ask::Enqueue { number, name, wish: Wish { mode, flags, value: 0 } }, cx, out);
            }
            Step::Convert(number, mode, flags) => {
                let has = self.mode(number);
                // Who asks for less has less; who may be demoted may have nothing.
                if has > Some(mode) {
                    self.go_by(number, Some(mode), cx, out);
                } else if flags.has(Flags::CONVDEADLK) && cx.machine.settings.believes == Believes::Nothing {
                    self.go_by(number, Some(Mode::Nl), cx, out);
                }
                if let Some(own) = self.locks.get_mut(usize::from(number)) {
                    own.wants = Some(mode);
                }
                self.phase = Phase::Asks { queued: false };
                self.ask(Ask::Convert { number, wish: Wish { mode, flags, value: 0 } }, cx, out);
            }
            Step::Work => {
                self.hold = self.serial;
                let (client, hold) = (ClientId(cx.machine.me), HoldId(self.hold));
                out.record(Event::Granted { client, fence: None, hold });
                let round = self.round(cx.workload);
                let until = cx.machine.monotonic + cx.workload.hold_of(cx.machine.me, round);
                self.phase = Phase::Works { until };
            }
        }
    }

    /// The last of its locks, or on to the next round.
    pub(super) fn give_back(&mut self, again: bool, cx: &Cx, out: &mut Out) {
        self.phase = Phase::GivesBack { again };
        if let Some(number) = self.locks.len().checked_sub(1) {
            let number = number as u8;
            self.go_by(number, None, cx, out);
            return self.ask(Ask::Dequeue { number, flags: Flags::NONE, value: 0 }, cx, out);
        }
        if !again {
            out.record(Event::Released { client: ClientId(cx.machine.me) });
            let is_counted = cx.workload.rounds != ROUNDS_WITHOUT_END;
            self.rounds_left -= u8::from(is_counted && self.rounds_left > 0);
        }
        self.think(again, cx);
    }

    pub(super) fn think(&mut self, again: bool, cx: &Cx) {
        let round = self.round(cx.workload);
        self.phase = match self.rounds_left {
            0 => Phase::Done,
            _ => {
                let until = cx.machine.monotonic + cx.workload.think_of(cx.machine.me, round);
                Phase::Thinks { until, again }
            }
        };
        // It has nothing that anybody could want.
        (self.alive_at, self.asked) = (None, None);
    }

    /// What its last step asked for: the lock's number, on what, in which mode.
    pub(super) fn waits_for(&self, cx: &Cx) -> Option<(u8, Name, Wish)> {
        let wish = |mode, flags| Wish { mode, flags, value: 0 };
        match *self.program(cx).0.get(usize::from(self.step.checked_sub(1)?))? {
            Step::Take(name, mode, flags) => Some((self.locks.len() as u8 - 1, name, wish(mode, flags))),
            Step::Convert(number, mode, flags) => {
                Some((number, self.locks.get(usize::from(number))?.name, wish(mode, flags)))
            }
            Step::Work => None,
        }
    }

    fn round(&self, workload: &Workload) -> u8 {
        workload.rounds - self.rounds_left.min(workload.rounds)
    }

    fn on_tell(&mut self, tell: Tell, cx: &Cx, out: &mut Out) {
        if let (Phase::Asks { queued }, Tell::Ast { notice: Notice::Queued, .. }) = (&mut self.phase, tell) {
            // It says on what it has asked: the completion may be lost.
            *queued = true;
            return;
        }
        self.asked = None;
        self.locks.iter_mut().for_each(|own| own.wants = None);
        match (self.phase, tell) {
            (Phase::Joins, Tell::Joined) => self.think(false, cx),
            (
                Phase::Asks { .. },
                Tell::Ast { number, notice: Notice::Completed { status: Status::Granted, granted, .. } },
            ) => {
                self.go_by(number, granted, cx, out);
                self.go_on(cx, out);
            }
            (Phase::Asks { .. }, Tell::Ast { number, notice: Notice::Completed { granted, .. } }) => {
                // Refused: what is granted stays so, if anything is.
                self.go_by(number, granted, cx, out);
                if granted.is_none() {
                    self.locks.pop();
                }
                self.give_back(true, cx, out);
            }
            (Phase::GivesBack { again }, Tell::Ast { notice: Notice::Completed { .. }, .. }) => {
                self.locks.pop();
                self.give_back(again, cx, out);
            }
            (
                phase @ (Phase::Thinks { .. }
                | Phase::Starts
                | Phase::Joins
                | Phase::LooksUp
                | Phase::Asks { .. }
                | Phase::Works { .. }
                | Phase::GivesBack { .. }
                | Phase::Done),
                Tell::Joined
                | Tell::Removed
                | Tell::PowerOff
                | Tell::Recover
                | Tell::View { .. }
                | Tell::Master { .. }
                | Tell::Heard
                | Tell::Replay { .. }
                | Tell::Ast { .. }
                | Tell::Read { .. }
                | Tell::Written,
            ) => unreachable!("nothing of the kind is under way in {phase:?}"),
        }
    }

    /// It gives up what it has when it has worked, whoever rings; and what it was told before its last request is settled.
    fn does_not_mind(&self, reply: &Reply) -> bool {
        let is_queued = Phase::Asks { queued: true };
        matches!(reply.tell, Tell::Ast { notice: Notice::Blocks(_), .. })
            || matches!(reply.tell, Tell::Ast { notice: Notice::Queued, .. }) && self.phase == is_queued
            || (reply.tell == Tell::Heard) != self.is_unheard()
            || reply.serial != self.serial
            || reply.epoch < self.epoch
            || reply.tell != Tell::Removed && self.alive_at.is_some() && self.asked.is_none()
            || !self.is_unheard()
                && matches!(
                    self.phase,
                    Phase::Starts | Phase::LooksUp | Phase::Thinks { .. } | Phase::Works { .. } | Phase::Done
                )
    }
}

/// The number by which judges know a resource.
fn resource_of(name: Name) -> LockId {
    let [first, second, ..] = name.0;
    LockId(first.saturating_sub(1) | second << 4)
}

impl Process<Managed> for ManagedProcess {
    fn new(me: u8, workload: &Workload, start: Monotonic, _settings: &Settings) -> Self {
        let rounds_left = if me < workload.clients { workload.rounds } else { 0 };
        let phase = match rounds_left {
            0 => Phase::Done,
            _ => Phase::Thinks { until: start + workload.think_of(me, 0), again: false },
        };
        ManagedProcess {
            phase,
            rounds_left,
            program: 0,
            step: 0,
            serial: 0,
            hold: 0,
            life: 0,
            epoch: 0,
            members: None,
            finds: None,
            was_off: None,
            alive_at: None,
            asked: None,
            locks: SmallVec::new(),
        }
    }

    fn on_message(&mut self, from: Node, message: Message<Dlm>, cx: &Cx, out: &mut Out) {
        let Message::Reply(reply) = message else { unreachable!("{from} does not send {message:?}") };
        match reply.tell {
            Tell::Recover if reply.epoch > self.epoch => {
                self.epoch = reply.epoch;
                self.on_recover(cx, out);
            }
            Tell::Recover => {}
            Tell::View { members } if reply.epoch > self.epoch => {
                (self.epoch, self.members) = (reply.epoch, Some(members));
                self.on_view(cx, out);
            }
            Tell::View { .. } => {}
            Tell::Master { node } if self.has_asked_for_master(&reply) => self.on_master(node, cx, out),
            Tell::Master { .. } => {}
            Tell::Removed if reply.serial == self.serial && self.alive_at.is_some() => {
                self.on_removed(cx, out);
            }
            Tell::Removed => {}
            Tell::PowerOff if !self.was_off_since(&reply) => self.on_power_off(cx, out),
            Tell::PowerOff => {}
            tell if !self.does_not_mind(&reply) => {
                self.epoch = reply.epoch;
                match tell {
                    Tell::Heard => self.on_heard(cx, out),
                    tell => self.on_tell(tell, cx, out),
                }
            }
            _ => {}
        }
    }

    fn on_app_deadline(&mut self, cx: &Cx, out: &mut Out) {
        let client = ClientId(cx.machine.me);
        match self.phase {
            Phase::Thinks { .. } => {
                let programs = cx.machine.settings.programs.len() as u32;
                if programs == 0 {
                    return self.phase = Phase::Done;
                }
                let chosen = match cx.machine.settings.chosen {
                    Chosen::ByProcess => u32::from(cx.machine.me) % programs,
                    Chosen::Drawn => cx.machine.choice,
                };
                (self.program, self.step) = (chosen as u8, 0);
                let access = self.program(cx).working_mode().access();
                out.record(Event::Called { client, mode: Waits::Lock, access });
                self.go_on(cx, out);
            }
            Phase::Starts => {
                self.phase = Phase::Joins;
                self.ask(Ask::Join, cx, out);
            }
            Phase::Works { .. } => {
                out.record(Event::Left { client });
                self.go_on(cx, out);
            }
            Phase::Joins | Phase::LooksUp | Phase::Asks { .. } | Phase::GivesBack { .. } | Phase::Done => {
                unreachable!("its application waits for nothing in {:?}", self.phase)
            }
        }
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        self.send(self.asked.unwrap_or(Ask::Alive), cx, out);
        self.alive_at = cx.machine.settings.alive_every.map(|every| cx.machine.monotonic + every);
    }

    fn on_restart(&mut self, _cx: &Cx) {
        self.start_again();
    }

    fn app_deadline(&self, _workload: &Workload) -> Option<Due> {
        match self.phase {
            _ if self.is_unheard() || self.finds.is_some() => None,
            Phase::Thinks { until, .. } | Phase::Works { until } => Some(Due::Monotonic(until)),
            Phase::Starts => Some(Due::Monotonic(Monotonic::default())),
            Phase::Joins | Phase::LooksUp | Phase::Asks { .. } | Phase::GivesBack { .. } | Phase::Done => {
                None
            }
        }
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.alive_at.map(Due::Monotonic)
    }

    fn app_choices(&self, _me: u8, _workload: &Workload, settings: &Settings) -> u32 {
        match (self.phase, settings.chosen) {
            (Phase::Thinks { .. }, Chosen::Drawn) => settings.programs.len() as u32,
            _ => 1,
        }
    }

    fn dismisses(&self, message: &Message<Dlm>) -> bool {
        match message {
            Message::Reply(Reply { tell: Tell::Recover, epoch, .. }) => *epoch <= self.epoch,
            Message::Reply(Reply { tell: Tell::View { .. }, epoch, .. }) => *epoch <= self.epoch,
            Message::Reply(reply) if matches!(reply.tell, Tell::Master { .. }) => {
                !self.has_asked_for_master(reply)
            }
            Message::Reply(reply) if reply.tell == Tell::Removed => reply.serial != self.serial,
            Message::Reply(reply) if reply.tell == Tell::PowerOff => self.was_off_since(reply),
            Message::Reply(reply) => self.does_not_mind(reply),
            _ => false,
        }
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        visitor.serial(Owner::Me, &mut self.hold);
        self.was_off.iter_mut().for_each(|serial| visitor.serial(Owner::Me, serial));
        self.alive_at.iter_mut().for_each(|at| visitor.wake(at));
        match &mut self.phase {
            Phase::Thinks { until, .. } | Phase::Works { until } => visitor.wake(until),
            Phase::Starts
            | Phase::Joins
            | Phase::LooksUp
            | Phase::Asks { .. }
            | Phase::GivesBack { .. }
            | Phase::Done => {}
        }
    }

    fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    fn is_thinking(&self) -> bool {
        matches!(self.phase, Phase::Thinks { .. })
    }

    fn may_stop_asking(&self, workload: &Workload) -> bool {
        // Who was refused still wants what it asked for.
        matches!(self.phase, Phase::Thinks { again: false, .. })
            && workload.is_past_first_round(self.rounds_left)
    }

    fn is_working(&self) -> bool {
        self.holds()
    }

    fn holds(&self) -> bool {
        matches!(self.phase, Phase::Works { .. })
    }

    fn latest_hold(&self) -> HoldId {
        HoldId(self.hold)
    }

    fn line(&self) -> Line {
        Line::NONE
    }

    fn in_modes(&self) -> Vec<InMode> {
        let in_mode = |own: &Own| {
            let (has, wants) = (own.mode.map(Mode::access), own.wants.map(Mode::access));
            InMode { resource: resource_of(own.name), has, wants }
        };
        self.locks.iter().filter(|own| own.mode.or(own.wants).is_some()).map(in_mode).collect()
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Thinks { .. } => "thinks",
            Phase::Starts => "has started again",
            Phase::Joins => "joins",
            Phase::LooksUp => "looks for the master",
            Phase::Asks { .. } => "waits for a lock",
            Phase::Works { .. } => "works",
            Phase::GivesBack { again: false } => "gives back",
            Phase::GivesBack { again: true } => "was refused, gives back",
            Phase::Done => "done",
        }
    }
}
