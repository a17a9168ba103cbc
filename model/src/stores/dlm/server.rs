//! The node that masters all resources, as a server: it hears processes, and tells them their ASTs.

use super::disk::Disk;
use super::gate::Gate;
use super::lock::Handle;
use super::manager::Manager;
use super::member::{Member, entry_words};
use super::peer::Peer;
use super::protocol::{Ask, Reply, Request, Tell, owner_of};
use super::recovery::Recovery;
use super::resource::Notices;
use super::settings::{Deadlocks, Journals, NewMaster, Settings};
use crate::machine::{Context, Effects, Silence, Store, Visitor};
use crate::time::{Due, Monotonic};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The node.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Dlm {
    pub(super) manager: Manager,
    /// Who has been heard of, by number.
    pub(super) heard: SmallVec<[Heard; 3]>,
    /// The disk that all share.
    pub(super) disk: Disk,
    /// When it looks for deadlocks.
    search_at: Option<Monotonic>,
    /// Whether anybody has begun to wait since that was said.
    has_more_waits: bool,
    /// How many masters there were before.
    pub(super) epoch: u8,
    /// Closed, while a new master asks what there is.
    pub(super) gate: Option<Gate>,
    /// Its part among others; who masters everything has none.
    pub(super) member: Option<Box<Member>>,
}

/// What is known of a process.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Heard {
    /// Its last request, if there was one.
    pub(super) serial: Option<u32>,
    /// Which of its lives.
    pub(super) life: u8,
    /// When it is taken for dead, if it is not heard of before.
    removed_at: Option<Monotonic>,
    /// Whether this life of it was.
    pub(super) is_removed: bool,
    /// What its last request came to, if it has: for one that says it once more.
    told: Option<Tell>,
}

/// Something that the server is woken for.
enum Moment {
    /// This process was not heard of for too long.
    Silence(usize),
    /// This node was not.
    SilentNode(u8),
    /// It is to look for deadlocks.
    Search,
}

impl Dlm {
    /// The moments that have come.
    fn due(&self, cx: &Context<Settings>) -> SmallVec<[Moment; 4]> {
        let has_come = |at: Option<Monotonic>| at.is_some_and(|at| at <= cx.monotonic);
        let is_silent = |client: &usize| has_come(self.heard[*client].removed_at);
        let silences = (0..self.heard.len()).filter(is_silent).map(Moment::Silence);
        let of_nodes = self.member.iter().flat_map(|member| member.silences());
        let nodes = of_nodes.filter(|(_, at)| has_come(Some(*at))).map(|(node, _)| Moment::SilentNode(node));
        silences.chain(nodes).chain(has_come(self.search_at).then_some(Moment::Search)).collect()
    }

    /// It was not heard of for too long.
    fn takes_for_dead(
        &mut self,
        client: usize,
        cx: &Context<Settings>,
        notices: &mut Notices,
        effects: &mut Effects<Dlm>,
    ) {
        self.heard[client].removed_at = None;
        // Who has nothing may be silent.
        if self.is_waited_for(client as u8) {
            self.heard[client].is_removed = true;
            effects.remark = Some("takes a silent one for dead");
            match cx.settings.fences {
                true => self.switches_off(client as u8, effects),
                false => self.buries(client as u8, cx.settings, notices, effects),
            }
        }
    }

    /// Looks for deadlocks, and ends those that it finds.
    fn searches(&mut self, cx: &Context<Settings>, notices: &mut Notices, effects: &mut Effects<Dlm>) {
        while self.manager.end_a_deadlock(cx.settings, notices).is_some() {
            effects.remark = Some("has found a deadlock");
        }
        self.search_at = None;
        if !(self.manager.somebody_waits() && self.asks_who_waits(None, cx, effects)) {
            self.looks_again(cx);
        }
    }

    /// The search is over; who began to wait meanwhile may be in another circle.
    pub(super) fn looks_again(&mut self, cx: &Context<Settings>) {
        let Deadlocks::Searched { after } = cx.settings.deadlocks else { return };
        let looks_again = std::mem::take(&mut self.has_more_waits) && self.manager.somebody_waits();
        self.search_at = looks_again.then(|| cx.monotonic + after);
    }

    /// What it masters.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The process is there: it is not dead, and is known from now on.
    pub(super) fn notes(&mut self, from: u8, cx: &Context<Settings>) {
        let place = usize::from(from);
        if self.heard.len() <= place {
            self.heard.resize(place + 1, Heard::default());
        }
        let after = cx.settings.removed_after.filter(|_| self.member.is_none());
        self.heard[place].removed_at = after.map(|after| cx.monotonic + after);
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
        self.begins_life(from, &request, cx.settings, notices, effects);
        let (serial, epoch) = (request.serial, self.epoch);
        let heard = &mut self.heard[usize::from(from)];
        if heard.life > request.life {
            return;
        }
        if heard.is_removed {
            return effects.reply(from, Reply { serial, epoch, tell: cx.settings.removal() });
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
    pub(super) fn open_gate(&mut self, cx: &Context<Settings>, notices: &mut Notices) {
        let recovery = match cx.settings.new_master {
            NewMaster::Asks { recovery, .. } => recovery,
            NewMaster::HasAll | NewMaster::HasNone => Recovery::LINUX,
        };
        if self.member.as_ref().is_some_and(|member| !member.may_open()) {
            return;
        }
        if cx.settings.journals == Journals::ReplayedFirst && self.disk.awaits_any_replay() {
            return;
        }
        let Some(gate) = self.gate.take_if(|gate| gate.may_open()) else { return };
        for (process, ask) in gate.open(&mut self.manager, recovery, cx.settings, notices) {
            self.does(process, ask, cx.settings, notices);
        }
        self.mind_waits(cx);
    }

    /// What concerns locks.
    pub(super) fn does(&mut self, from: u8, ask: Ask, settings: &Settings, notices: &mut Notices) {
        let handle = |number| Handle { owner: from, number };
        match ask {
            Ask::Enqueue { number, name, wish } => {
                self.manager.request(handle(number), name, wish, settings, notices);
                self.manager.say_who_waits(handle(number), settings, notices);
            }
            Ask::Convert { number, wish } => {
                self.manager.convert(handle(number), wish, settings, notices);
                self.manager.say_who_waits(handle(number), settings, notices);
            }
            Ask::Dequeue { number, flags, value } => {
                self.manager.release(handle(number), flags, value, settings, notices);
            }
            Ask::Cancel { number } => self.manager.cancel(handle(number), settings, notices),
            Ask::Alive
            | Ask::WasOff
            | Ask::Join
            | Ask::Copies { .. }
            | Ask::Lookup { .. }
            | Ask::Read { .. }
            | Ask::Write { .. }
            | Ask::Log { .. }
            | Ask::Replay { .. } => unreachable!("{ask:?} concerns no lock"),
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

    fn tell(&mut self, to: u8, tell: Tell, effects: &mut Effects<Self>) {
        let Some(heard) = self.heard.get_mut(usize::from(to)) else { unreachable!("it has a lock") };
        if heard.removed_at.is_some() && !matches!(tell, Tell::Ast { notice: super::Notice::Blocks(_), .. }) {
            heard.told = Some(tell);
        }
        effects.reply(to, Reply { serial: heard.serial.unwrap_or(0), epoch: self.epoch, tell });
    }

    pub(super) fn tell_all(&mut self, notices: Notices, effects: &mut Effects<Self>) {
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

    pub(super) fn loses_locks(&mut self) {
        (self.manager, self.search_at, self.has_more_waits) = (Manager::default(), None, false);
        self.heard.iter_mut().for_each(|heard| heard.told = None);
    }

    /// Somebody may have begun to wait.
    pub(super) fn mind_waits(&mut self, cx: &Context<Settings>) {
        let Deadlocks::Searched { after } = cx.settings.deadlocks else { return };
        if !self.manager.somebody_waits() {
            (self.search_at, self.has_more_waits) = (None, false);
        } else if self.search_at.is_some() || self.is_asking() {
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
    type Peer = Peer;
    type Change = Silence;

    const SETTLES: bool = false;

    fn used_by(settings: &Settings, clients: u8) -> Settings {
        let mut settings = *settings;
        if let NewMaster::Asks { members, .. } = &mut settings.new_master {
            // 0 asks those only of whom it has heard, however many there are.
            *members = if *members > 0 { clients } else { 0 };
        }
        settings
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    fn new(me: u8, servers: u8, settings: &Settings) -> Self {
        let member = (servers > 1).then(|| Box::new(Member::new(me, servers, settings)));
        Dlm { member, ..Dlm::default() }
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        if self.member.is_some() {
            return self.on_request_among(from, request, cx, effects);
        }
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
                true => effects.reply(from, Reply { serial, epoch, tell: cx.settings.removal() }),
                // It may not have heard that there is a new master.
                false if request.epoch < epoch => {
                    effects.reply(from, Reply { serial, epoch, tell: Tell::Recover });
                }
                false => self.say_again(from, &request, effects),
            };
        }
        self.begins_life(from, &request, cx.settings, &mut notices, effects);
        if self.heard[usize::from(from)].is_removed && request.ask != Ask::WasOff {
            return self.tell(from, cx.settings.removal(), effects);
        }
        match request.ask {
            Ask::WasOff => {
                self.heard[usize::from(from)].is_removed = false;
                self.buries(from, cx.settings, &mut notices, effects);
            }
            Ask::Join => {
                if let Some(gate) = &mut self.gate {
                    gate.forgets(from);
                }
                // Who has a journal to be replayed first joins then.
                match cx.settings.journals == Journals::ReplayedFirst && self.disk.awaits_replay(from) {
                    true => self.disk.joins_when_replayed(from, request.serial),
                    false => self.tell(from, Tell::Joined, effects),
                }
            }
            // It is the only one, and masters everything.
            Ask::Lookup { .. } => {
                let (serial, epoch) = (request.serial, self.epoch);
                effects.reply(from, Reply { serial, epoch, tell: Tell::Master { node: cx.me } });
            }
            Ask::Read { block } => {
                let content = self.disk.read(block);
                self.tell(from, Tell::Read { content }, effects);
            }
            Ask::Write { block, content } => {
                self.disk.write(from, block, content);
                self.tell(from, Tell::Written, effects);
            }
            Ask::Log { block, content } => {
                self.disk.log(from, block, content);
                self.tell(from, Tell::Written, effects);
            }
            Ask::Replay { of } => {
                self.on_replayed(of, cx.settings, &mut notices, effects);
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

    fn on_peer(&mut self, from: u8, message: Peer, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        self.on_peer_among(from, message, cx, effects);
    }

    /// Looks for deadlocks and ends them all; takes those for dead who are silent.
    fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        let mut notices = Notices::new();
        let due = self.due(cx);
        // Of several moments that have come, any may have been the first; the server is woken for the others at once.
        match due.get(cx.choice as usize % due.len().max(1)) {
            Some(Moment::Silence(client)) => self.takes_for_dead(*client, cx, &mut notices, effects),
            Some(Moment::SilentNode(node)) => self.takes_node_for_dead(*node, cx, effects),
            Some(Moment::Search) => self.searches(cx, &mut notices, effects),
            None => {}
        }
        self.open_gate(cx, &mut notices);
        self.tell_all(notices, effects);
    }

    fn surroundings(settings: &Settings) -> Vec<String> {
        let fenced = if settings.fences { ", when it is off," } else { "" };
        let alone = if settings.quorum { "" } else { ", by however few nodes" };
        let silence = settings.removed_after.map(|after| {
            format!("who is silent for {after} is taken for dead, and its locks are{fenced} given on{alone}")
        });
        silence.into_iter().collect()
    }

    fn choices_at_deadline(&self, _settings: &Settings) -> u32 {
        let silences = self.heard.iter().filter(|heard| heard.removed_at.is_some()).count();
        let nodes = self.member.iter().flat_map(|member| member.silences()).count();
        (silences + nodes + usize::from(self.search_at.is_some())).max(1) as u32
    }

    /// Another node comes in its place. Who is a member all nodes know, and the disk is none of theirs.
    fn on_restart(&mut self, _power_lost: bool, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        if self.member.is_some() {
            return self.on_restart_among(cx, effects);
        }
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
                    (!heard.is_removed || cx.settings.fences)
                        && (heard.serial.is_some() || *process < members)
                };
                let alive: SmallVec<[u8; 4]> = (0..self.heard.len() as u8).filter(is_asked).collect();
                for process in &alive {
                    if self.heard[usize::from(*process)].is_removed {
                        // Whether it is off the last master knew.
                        self.switches_off(*process, effects);
                        continue;
                    }
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
        let of_nodes = self.member.iter().flat_map(|member| member.silences()).map(|(_, at)| at);
        self.heard.iter().filter_map(|heard| heard.removed_at).chain(of_nodes).min().map(Due::Monotonic)
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
        self.member.iter_mut().flat_map(|member| member.wakes()).for_each(|at| visitor.wake(at));
        let among = self.member.iter_mut().flat_map(|member| member.serials());
        among.for_each(|(client, serial)| visitor.serial(owner_of(client), serial));
        let searches = self.member.iter_mut().filter_map(|member| member.search.as_mut());
        searches.for_each(|search| search.visit(visitor));
        self.disk.joins().for_each(|(client, serial)| visitor.serial(owner_of(client), serial));
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
        let entries = self.member.iter().flat_map(|member| member.directory()).map(entry_words);
        locks.chain(values).chain(self.disk.contents()).chain(entries).collect()
    }
}
