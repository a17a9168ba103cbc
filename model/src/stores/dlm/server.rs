//! The node that masters all resources, as a server: it hears processes, and tells them their ASTs.

use super::gate::Gate;
use super::lock::Handle;
use super::manager::Manager;
use super::protocol::{Ask, Reply, Request, Tell, owner_of};
use super::resource::Notices;
use super::settings::{Deadlocks, NewMaster, Settings};
use crate::machine::{Context, Effects, Silence, Store, Visitor};
use crate::time::{Due, Monotonic};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The node.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Dlm {
    manager: Manager,
    /// Who has been heard of, by number.
    heard: SmallVec<[Heard; 3]>,
    /// The shared disk, by block; those beyond the end were never written.
    disk: SmallVec<[Option<u32>; 2]>,
    /// When it looks for deadlocks.
    search_at: Option<Monotonic>,
    /// Whether anybody has begun to wait since that was said.
    has_more_waits: bool,
    /// How many masters there were before.
    epoch: u8,
    /// Closed, while a new master asks what there is.
    gate: Option<Gate>,
}

/// What is known of a process.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Heard {
    /// Its last request, if there was one.
    serial: Option<u32>,
    /// Which of its lives.
    life: u8,
    /// When it is taken for dead, if it is not heard of before.
    removed_at: Option<Monotonic>,
    /// Whether this life of it was.
    is_removed: bool,
    /// What its last request came to, if it has: for one that says it once more.
    told: Option<Tell>,
}

impl Dlm {
    /// What it masters.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The process is there: it is not dead, and is known from now on.
    fn notes(&mut self, from: u8, cx: &Context<Settings>) {
        let place = usize::from(from);
        if self.heard.len() <= place {
            self.heard.resize(place + 1, Heard::default());
        }
        self.heard[place].removed_at = cx.settings.removed_after.map(|after| cx.monotonic + after);
    }

    /// Whether the request was heard before, or came after a later one: the connection tells each once, and in order.
    fn has_heard(&mut self, from: u8, request: &Request) -> bool {
        let heard = &mut self.heard[usize::from(from)];
        if request.ask == Ask::Alive || heard.serial.is_some_and(|last| request.serial <= last) {
            return true;
        }
        (heard.serial, heard.told) = (Some(request.serial), None);
        false
    }

    /// Another life of it: the last one is dead, and has nothing.
    fn begins_life(&mut self, from: u8, request: &Request, settings: &Settings, notices: &mut Notices) {
        let heard = &mut self.heard[usize::from(from)];
        if heard.life < request.life {
            (heard.life, heard.is_removed) = (request.life, false);
            self.buries(from, settings, notices);
        }
    }

    fn buries(&mut self, process: u8, settings: &Settings, notices: &mut Notices) {
        self.manager.purge(process, settings, notices);
        if let Some(gate) = &mut self.gate {
            gate.forgets(process);
        }
    }

    /// What a process has, if it is asked for.
    fn on_copies(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<Settings>,
        notices: &mut Notices,
        effects: &mut Effects<Self>,
    ) {
        let NewMaster::Asks { minds_epoch, .. } = cx.settings.new_master else { return };
        let Ask::Copies { held, again } = request.ask else { return };
        self.begins_life(from, &request, cx.settings, notices);
        let (serial, epoch) = (request.serial, self.epoch);
        let heard = &mut self.heard[usize::from(from)];
        if heard.life > request.life {
            return;
        }
        if heard.is_removed {
            return effects.reply(from, Reply { serial, epoch, tell: Tell::Removed });
        }
        if minds_epoch && request.epoch != epoch {
            // The question of this recovery may be lost.
            return effects.reply(from, Reply { serial, epoch, tell: Tell::Recover });
        }
        let gate_waits = self.gate.as_ref().is_some_and(|gate| gate.waits_for(from));
        if heard.serial.is_none_or(|last| last < serial) {
            (heard.serial, heard.told) = (Some(serial), None);
        } else if !gate_waits {
            return self.say_again(from, &request, effects);
        }
        let is_said_again = heard.removed_at.is_some();
        let has_something = held.iter().any(Option::is_some);
        match (&mut self.gate, again) {
            (Some(gate), _) if gate_waits => gate.hears(from, held, again),
            // The last master never heard of it: it has nothing, and asks for the first time.
            (gate, Some((number, name, wish))) if !has_something => {
                let ask = Ask::Enqueue { number, name, wish };
                match gate {
                    Some(gate) => gate.saves(from, ask),
                    None => {
                        self.does(from, ask, cx.settings, notices);
                        self.mind_waits(cx);
                    }
                }
            }
            _ => {}
        }
        if again.is_none() && is_said_again {
            self.tell(from, Tell::Heard, effects);
        }
    }

    /// Opens the gate if everybody was heard.
    fn open_gate(&mut self, cx: &Context<Settings>, notices: &mut Notices) {
        let NewMaster::Asks { recovery, .. } = cx.settings.new_master else { return };
        let Some(gate) = self.gate.take_if(|gate| gate.may_open()) else { return };
        for (process, ask) in gate.open(&mut self.manager, recovery, cx.settings, notices) {
            self.does(process, ask, cx.settings, notices);
        }
        self.mind_waits(cx);
    }

    /// What concerns locks.
    fn does(&mut self, from: u8, ask: Ask, settings: &Settings, notices: &mut Notices) {
        let handle = |number| Handle { owner: from, number };
        match ask {
            Ask::Enqueue { number, name, wish } => {
                self.manager.request(handle(number), name, wish, settings, notices);
            }
            Ask::Convert { number, wish } => self.manager.convert(handle(number), wish, settings, notices),
            Ask::Dequeue { number, flags, value } => {
                self.manager.release(handle(number), flags, value, settings, notices);
            }
            Ask::Cancel { number } => self.manager.cancel(handle(number), settings, notices),
            Ask::Alive | Ask::Join | Ask::Copies { .. } | Ask::Read { .. } | Ask::Write { .. } => {
                unreachable!("{ask:?} concerns no lock")
            }
        }
    }

    /// Says once more what it may not have heard, and rings once more for it.
    fn say_again(&mut self, from: u8, request: &Request, effects: &mut Effects<Self>) {
        let heard = &self.heard[usize::from(from)];
        if heard.serial != Some(request.serial) || heard.life != request.life {
            return;
        }
        if let Some(tell) = heard.told {
            effects.reply(from, Reply { serial: request.serial, epoch: self.epoch, tell });
        }
        let mut notices = Notices::new();
        self.manager.ring_again(from, &mut notices);
        self.tell_all(notices, effects);
    }

    fn write(&mut self, block: u8, content: Option<u32>) {
        let place = usize::from(block);
        if self.disk.len() <= place {
            self.disk.resize(place + 1, None);
        }
        self.disk[place] = content;
    }

    fn tell(&mut self, to: u8, tell: Tell, effects: &mut Effects<Self>) {
        let Some(heard) = self.heard.get_mut(usize::from(to)) else { unreachable!("it has a lock") };
        if heard.removed_at.is_some() && !matches!(tell, Tell::Ast { notice: super::Notice::Blocks(_), .. }) {
            heard.told = Some(tell);
        }
        effects.reply(to, Reply { serial: heard.serial.unwrap_or(0), epoch: self.epoch, tell });
    }

    fn tell_all(&mut self, notices: Notices, effects: &mut Effects<Self>) {
        for (Handle { owner, number }, notice) in notices {
            self.tell(owner, Tell::Ast { number, notice }, effects);
        }
    }

    /// Whether anybody may wait for it to say something: it has a lock, or will have one when the gate opens, or is asked what it has.
    fn is_waited_for(&self, process: u8) -> bool {
        let mut locks = self.manager.resources.iter().flat_map(|(_, resource)| resource.locks());
        locks.any(|lock| lock.handle.owner == process)
            || self.gate.as_ref().is_some_and(|gate| gate.minds(process))
    }

    fn loses_locks(&mut self) {
        (self.manager, self.search_at, self.has_more_waits) = (Manager::default(), None, false);
        self.heard.iter_mut().for_each(|heard| heard.told = None);
    }

    /// Somebody may have begun to wait.
    fn mind_waits(&mut self, cx: &Context<Settings>) {
        let Deadlocks::Searched { after } = cx.settings.deadlocks else { return };
        if !self.manager.somebody_waits() {
            (self.search_at, self.has_more_waits) = (None, false);
        } else if self.search_at.is_some() {
            self.has_more_waits = true;
        } else {
            self.search_at = Some(cx.monotonic + after);
        }
    }
}

impl Store for Dlm {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Silence;

    fn new(_me: u8, _servers: u8, _settings: &Settings) -> Self {
        Dlm::default()
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        let mut notices = Notices::new();
        self.notes(from, cx);
        if let Ask::Copies { .. } = request.ask {
            self.on_copies(from, request, cx, &mut notices, effects);
            self.open_gate(cx, &mut notices);
            return self.tell_all(notices, effects);
        }
        if self.has_heard(from, &request) {
            let heard = &self.heard[usize::from(from)];
            let (serial, epoch) = (request.serial, self.epoch);
            return match heard.is_removed {
                true => effects.reply(from, Reply { serial, epoch, tell: Tell::Removed }),
                // It may not have heard that there is a new master.
                false if request.epoch < epoch => {
                    effects.reply(from, Reply { serial, epoch, tell: Tell::Recover });
                }
                false => self.say_again(from, &request, effects),
            };
        }
        self.begins_life(from, &request, cx.settings, &mut notices);
        if self.heard[usize::from(from)].is_removed {
            return self.tell(from, Tell::Removed, effects);
        }
        match request.ask {
            Ask::Join => {
                if let Some(gate) = &mut self.gate {
                    gate.forgets(from);
                }
                self.tell(from, Tell::Joined, effects);
            }
            Ask::Read { block } => {
                let content = self.disk.get(usize::from(block)).copied().flatten();
                self.tell(from, Tell::Read { content }, effects);
            }
            Ask::Write { block, content } => {
                self.write(block, content);
                self.tell(from, Tell::Written, effects);
            }
            // It is to the last master: it will be asked again.
            _ if request.epoch < self.epoch => self.tell(from, Tell::Recover, effects),
            ask => match &mut self.gate {
                Some(gate) => gate.saves(from, ask),
                None => {
                    self.does(from, ask, cx.settings, &mut notices);
                    self.mind_waits(cx);
                }
            },
        }
        self.open_gate(cx, &mut notices);
        self.tell_all(notices, effects);
    }

    fn on_peer(
        &mut self,
        _from: u8,
        message: Silence,
        _cx: &Context<Settings>,
        _effects: &mut Effects<Self>,
    ) {
        match message {}
    }

    /// Looks for deadlocks and ends them all; takes those for dead who are silent.
    fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        let is_due = |at: Option<Monotonic>| at.is_some_and(|at| at <= cx.monotonic);
        let mut notices = Notices::new();
        for client in 0..self.heard.len() {
            if !is_due(self.heard[client].removed_at) {
                continue;
            }
            self.heard[client].removed_at = None;
            // Who has nothing may be silent.
            if self.is_waited_for(client as u8) {
                self.heard[client].is_removed = true;
                effects.remark = Some("takes a silent one for dead");
                self.buries(client as u8, cx.settings, &mut notices);
            }
        }
        if let (Deadlocks::Searched { after }, true) = (cx.settings.deadlocks, is_due(self.search_at)) {
            while self.manager.end_a_deadlock(cx.settings, &mut notices).is_some() {
                effects.remark = Some("has found a deadlock");
            }
            let looks_again = std::mem::take(&mut self.has_more_waits) && self.manager.somebody_waits();
            self.search_at = looks_again.then(|| cx.monotonic + after);
        }
        self.open_gate(cx, &mut notices);
        self.tell_all(notices, effects);
    }

    /// Another node comes in its place. Who is a member all nodes know, and the disk is none of theirs.
    fn on_restart(&mut self, _power_lost: bool, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        // It begins anew to listen who is there.
        let removed_at = cx.settings.removed_after.map(|after| cx.monotonic + after);
        for heard in &mut self.heard {
            heard.removed_at = heard.removed_at.and(removed_at);
        }
        match cx.settings.new_master {
            NewMaster::HasAll => {}
            NewMaster::HasNone => self.loses_locks(),
            NewMaster::Asks { members, .. } => {
                self.loses_locks();
                self.epoch += 1;
                (0..members).for_each(|process| self.notes(process, cx));
                let is_asked = |process: &u8| {
                    let heard = &self.heard[usize::from(*process)];
                    !heard.is_removed && (heard.serial.is_some() || *process < members)
                };
                let alive: SmallVec<[u8; 4]> = (0..self.heard.len() as u8).filter(is_asked).collect();
                for process in &alive {
                    // Who had nothing, and was left to be silent, must answer as well.
                    self.heard[usize::from(*process)].removed_at = removed_at;
                    effects.reply(*process, Reply { serial: 0, epoch: self.epoch, tell: Tell::Recover });
                }
                self.gate = Some(Gate::closed_for(alive.into_iter()));
                let mut notices = Notices::new();
                self.open_gate(cx, &mut notices);
                self.tell_all(notices, effects);
            }
        }
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.search_at.map(Due::Monotonic)
    }

    fn other_deadline(&self, _settings: &Settings) -> Option<Due> {
        self.heard.iter().filter_map(|heard| heard.removed_at).min().map(Due::Monotonic)
    }

    /// What an AST is not about any more is the process' to see: it counts its requests.
    fn is_notice(reply: &Reply) -> bool {
        matches!(reply.tell, Tell::Ast { notice: super::Notice::Blocks(_), .. })
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        for (client, heard) in self.heard.iter_mut().enumerate() {
            if let Some(serial) = &mut heard.serial {
                visitor.serial(owner_of(client as u8), serial);
            }
            heard.removed_at.iter_mut().for_each(|at| visitor.wake(at));
        }
        self.search_at.iter_mut().for_each(|at| visitor.wake(at));
    }

    fn contents(&self) -> Vec<String> {
        let locks = self.manager.resources.iter().flat_map(|(name, resource)| {
            resource.locks().map(move |lock| {
                let has = lock.granted.map_or_else(|| "nothing".to_owned(), |mode| mode.to_string());
                let wants = lock.requested.map_or_else(String::new, |mode| format!(", wants {mode}"));
                format!("{name}: {} has {has}{wants}", lock.handle)
            })
        });
        let values = self.manager.resources.iter().map(|(name, resource)| {
            let doubt = if resource.is_doubtful { " (not valid)" } else { "" };
            format!("{name}: value {}{doubt}", resource.value.content)
        });
        let blocks = self.disk.iter().enumerate();
        let blocks = blocks.filter_map(|(block, content)| Some(format!("block {block} = {}", (*content)?)));
        locks.chain(values).chain(blocks).collect()
    }
}
