//! Several nodes that master resources: who masters what, and how they go on when one of them dies.
//!
//! ```text
//!   process             directory of R1: s2            s1                    s3
//!     │── who masters R1? ──▶│                          │                     │
//!     │◀─ s1 (asked first) ──│                          │                     │
//!     │── $ENQ R1 ──────────────────────────────────────▶│ masters R1         │
//!     │◀─ granted ───────────────────────────────────────│                    │
//!     │                      │               ✕ dies, starts again             │
//!     │                      │◀── started, has nothing ──│───────────────────▶│
//!     │                      │─── propose view 1 ───────▶│───────────────────▶│   all stop
//!     │◀─ view 1 ────────────│                           │                    │
//!     │── who masters R1? ──▶│ (when all have said what they master)
//!     │── R1 EX ─────────▶ whoever masters it now; it opens when all processes have spoken
//! ```
//!
//! Source: Linux, `fs/dlm`: `dir.c` (`dlm_hash2nodeid`, `dlm_recover_directory`), `lock.c` (`_dlm_master_lookup`: whoever asks first masters
//! it), `recoverd.c` (`ls_recover`: members, directory, masters, locks, grants, with everybody waiting for everybody between), `recover.c`.
//! The directory is kept by the node that a name's hash points to, the master is the node of whoever asked first (process *n* lives on node *n*
//! modulo their number). In a recovery survivors tell what they master, so that only what the dead node mastered gets a new master.
//!
//! **All locks are sent again**, those on masters that survive as well. Linux does so where it runs without a directory, and says why
//! (`recover_master_static`): with messages of a recovery that was given up under way, a process cannot know whether its request was done on a
//! master that survived.
//!
//! **Who goes on with whom** is agreed on as VMS' connection manager and corosync do, as far as locks see it: one node proposes a view, those in it
//! stop, and when all of them have it is installed. Nobody who has agreed to a later one goes on in an earlier one, and in a view nothing is
//! granted before all of its nodes have said what they master. So no node goes on in two views, and one that all nodes of the view before are in
//! is the only one. Where a node is left out, that one may go on in the view before.
//!
//! **Who is silent** is taken for dead by whoever has not heard of it for long ([`Settings::removed_after`]), together with the processes
//! that live there, and a view without it is proposed; if so few are left that there is no quorum, nothing is granted any more
//! ([`Settings::quorum`]). It stays so until the silent one has started again. Where it is switched off first ([`Settings::fences`]), no gate opens
//! before its processes are off. Where it is not, their locks are given on at once, and nobody there knows: it goes on in the view before.
//!
//! # What is left out
//!
//! - *Signs of life.* Where several nodes master resources there is no time: each may be taken for dead by each other one, once in a life and at
//!   any moment. Runs in time have one master.
//! - *A node that is out is not told so* (VMS: it crashes with `CLUEXIT` when it hears of the others), and one without a quorum waits for
//!   those whom it has taken for dead to start again, whether they live or not. Hidden: how such a cluster comes together again.
//! - *A fence that strikes the node itself*: its processes are switched off, one by one; as a master it goes on, and is heard by nobody who has
//!   heard of a later view.
//! - *Votes* are one for each node; there is no quorum disk.
//! - *All nodes at once.* Where none is left that knew the last view, they wait for ever.
//! - *An entry of the directory that goes* with the last lock (`DLM_MSG_REMOVE`): it stays until the next view. Hidden: lookups that
//!   meet a removal.
//! - *A node's own processes do not die with it*: both may, one after the other.
//! - *Value blocks lose their doubt*, as [`super::recovery`] says.

use super::circles::Gathered;
use super::gate::Gate;
use super::manager::{Manager, Name};
use super::peer::{Peer, View};
use super::protocol::{Ask, Reply, Request, Tell};
use super::resource::Notices;
use super::server::Dlm;
use super::settings::{NewMaster, Settings};
use crate::machine::{Context, Effects};
use crate::time::Monotonic;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Of whom, of which recovery, which names.
type EarlyNames = (u8, u8, SmallVec<[Name; 2]>);

/// A node among several.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Which of its lives: on its disk.
    life: u8,
    /// What it goes by.
    view: View,
    /// Whether it has started again, and is in no view yet.
    is_fresh: bool,
    /// The number of the latest view that it has agreed to.
    agreed: u8,
    /// Whether it has stopped for that, and it is not installed yet.
    has_stopped: bool,
    /// The latest life that it has heard of, of each node.
    started: SmallVec<[u8; 4]>,
    /// What it has proposed, and who has agreed.
    proposed: Option<(View, u8)>,
    /// Who masters what, of what it is the directory of.
    directory: SmallVec<[(Name, u8); 2]>,
    /// Whose names it has heard in this view.
    heard_names: u8,
    /// Names of a view that is not installed here yet.
    early_names: SmallVec<[EarlyNames; 1]>,
    /// Requests of such a one.
    early: SmallVec<[(u8, Request); 1]>,
    /// Who wants to know a master, and waits until everybody has said what they master.
    lookups: SmallVec<[(u8, u32, Name); 1]>,
    /// It looks for a deadlock.
    pub(super) search: Option<Gathered>,
    /// When each node is taken for dead, if it is not heard of before.
    silent_at: SmallVec<[Option<Monotonic>; 4]>,
    /// Who is, and has not started again since: a bit for each.
    silent: u8,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Dlm>;

fn bit(node: u8) -> u8 {
    1 << node
}

impl Member {
    /// Before anything happened: all are there.
    pub fn new(me: u8, servers: u8, settings: &Settings) -> Member {
        let lives: SmallVec<[u8; 4]> = (0..servers).map(|_| 0).collect();
        let members = ((1_u16 << servers) - 1) as u8;
        let view = View { epoch: 0, members, lives: lives.clone() };
        let mut member = Member { view, started: lives, heard_names: members, ..Member::default() };
        member.listen(me, Monotonic(0), settings);
        member
    }

    /// From now on it minds who of the others is silent.
    fn listen(&mut self, me: u8, now: Monotonic, settings: &Settings) {
        let Some(after) = settings.removed_after else { return };
        self.silent_at.resize(self.view.lives.len(), None);
        for node in self.view.nodes().filter(|node| *node != me && self.silent & bit(*node) == 0) {
            self.silent_at[usize::from(node)] = Some(now + after);
        }
    }

    fn hears_of(&mut self, node: u8, now: Monotonic, settings: &Settings) {
        let Some(after) = settings.removed_after else { return };
        if let Some(Some(at)) = self.silent_at.get_mut(usize::from(node)) {
            *at = now + after;
        }
    }

    /// When it takes each of the others for dead.
    pub(super) fn silences(&self) -> impl Iterator<Item = (u8, Monotonic)> {
        self.silent_at.iter().enumerate().filter_map(|(node, at)| Some((node as u8, (*at)?)))
    }

    pub(super) fn wakes(&mut self) -> impl Iterator<Item = &mut Monotonic> {
        self.silent_at.iter_mut().flatten()
    }

    /// Whether this node is taken for dead.
    fn is_silent(&self, node: u8) -> bool {
        self.silent & bit(node) != 0
    }

    /// The node that a process lives on.
    fn home_of(&self, process: u8) -> u8 {
        process % self.view.lives.len().max(1) as u8
    }

    /// Whether it lives on a node that goes on in this view.
    pub(super) fn is_home_of(&self, process: u8) -> bool {
        self.view.has(self.home_of(process))
    }

    /// Those with whom it would go on: its view without those that it takes for dead, and whoever has started again.
    fn those_left(&self) -> u8 {
        let is_back = |node: &u8| self.view.has(*node) || self.is_dead(*node);
        (0..self.view.lives.len() as u8)
            .filter(|node| is_back(node) && !self.is_silent(*node))
            .map(bit)
            .fold(0, |left, node| left | node)
    }

    fn is_quorum(&self, nodes: u8) -> bool {
        2 * nodes.count_ones() as usize > self.view.lives.len()
    }

    /// Whether it may grant anything, as far as other nodes are concerned.
    pub fn may_open(&self) -> bool {
        !self.is_fresh && !self.has_stopped && self.has_heard_all()
    }

    /// The others of its view: a bit for each.
    pub(super) fn others(&self, me: u8) -> u8 {
        self.view.members & !bit(me)
    }

    fn has_heard_all(&self) -> bool {
        self.heard_names == self.view.members
    }

    /// The requests that wait for something, with whose they are.
    pub fn serials(&mut self) -> impl Iterator<Item = (u8, &mut u32)> {
        let early = self.early.iter_mut().map(|(from, request)| (*from, &mut request.serial));
        early.chain(self.lookups.iter_mut().map(|(from, serial, _)| (*from, serial)))
    }

    /// What it is the directory of.
    pub fn directory(&self) -> &[(Name, u8)] {
        &self.directory
    }

    /// Somebody else is known to master it.
    fn enter(&mut self, name: Name, master: u8) {
        if let Err(place) = self.directory.binary_search_by_key(&name, |(name, _)| *name) {
            self.directory.insert(place, (name, master));
        }
    }

    /// The master of this resource; if it has none, the node of this process from now on.
    fn master_of(&mut self, name: Name, process: u8) -> u8 {
        let home = self.home_of(process);
        let home = if self.view.has(home) { home } else { self.view.nodes().next().unwrap_or(0) };
        self.enter(name, home);
        self.directory.iter().find(|(entry, _)| *entry == name).map_or(home, |(_, master)| *master)
    }

    /// Whether a node has died since the view, or is taken for dead.
    fn somebody_died(&self) -> bool {
        self.those_left() != self.view.members || self.view.nodes().any(|node| self.is_dead(node))
    }

    fn is_dead(&self, node: u8) -> bool {
        self.started[usize::from(node)] > self.view.lives[usize::from(node)]
    }

    /// A number that nobody else proposes, above all that it knows.
    fn next_epoch(&self, me: u8) -> u8 {
        let nodes = self.view.lives.len().max(1) as u8;
        let above = self.agreed.max(self.view.epoch) + 1;
        above + (me + nodes - above % nodes) % nodes
    }
}

impl Dlm {
    /// How many it may still take for dead.
    #[cfg(test)]
    pub(super) fn silences(&self) -> u32 {
        self.member.iter().flat_map(|member| member.silences()).count() as u32
    }

    /// In which view it grants locks, if it does: its number, and a bit for each node.
    #[cfg(test)]
    pub(super) fn open_view(&self) -> Option<(u8, u8)> {
        let member = self.member.as_ref().filter(|member| member.may_open() && self.gate.is_none())?;
        Some((member.view.epoch, member.view.members))
    }

    /// A request, where several nodes master resources.
    pub(super) fn on_request_among(&mut self, from: u8, request: Request, cx: &Cx, effects: &mut Out) {
        let mut notices = Notices::new();
        self.notes(from, cx);
        self.hears_among(from, request, cx, &mut notices, effects);
        self.open_gate(cx, &mut notices);
        self.tell_all(notices, effects);
    }

    fn hears_among(&mut self, from: u8, request: Request, cx: &Cx, notices: &mut Notices, effects: &mut Out) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        if member.is_fresh || request.epoch > self.epoch {
            return member.early.push((from, request));
        }
        if request.life < self.heard[usize::from(from)].life {
            return;
        }
        self.begins_life(from, &request, cx.settings, notices, effects);
        let (serial, epoch) = (request.serial, self.epoch);
        if request.ask == Ask::WasOff {
            let heard = &mut self.heard[usize::from(from)];
            heard.serial = heard.serial.max(Some(serial));
            return self.buries(from, cx.settings, notices, effects);
        }
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        if !member.is_home_of(from) {
            return effects.reply(from, Reply { serial, epoch, tell: cx.settings.removal() });
        }
        if request.epoch < epoch {
            let tell = Tell::View { members: member.view.members };
            return effects.reply(from, Reply { serial, epoch, tell });
        }
        let heard = &mut self.heard[usize::from(from)];
        let is_late = heard.serial.is_some_and(|last| serial <= last);
        heard.serial = heard.serial.max(Some(serial));
        match request.ask {
            Ask::Lookup { name } => {
                member.lookups.push((from, serial, name));
                self.answer_lookups(effects);
            }
            // What was said after it may be here already.
            Ask::Copies { held, again } => {
                if let Some(gate) = self.gate.as_mut().filter(|gate| gate.waits_for(from)) {
                    gate.hears(from, held, again);
                }
            }
            _ if is_late => {}
            Ask::Join => {
                if let Some(gate) = &mut self.gate {
                    gate.forgets(from);
                }
                effects.reply(from, Reply { serial, epoch, tell: Tell::Joined });
            }
            ask => match &mut self.gate {
                Some(gate) => gate.saves(from, ask),
                None => {
                    self.does(from, ask, cx.settings, notices);
                    self.mind_waits(cx);
                }
            },
        }
    }

    /// When everybody has said what they master.
    fn answer_lookups(&mut self, effects: &mut Out) {
        let Some(member) = self.member.as_mut().filter(|member| member.has_heard_all()) else { return };
        for (from, serial, name) in std::mem::take(&mut member.lookups) {
            let tell = Tell::Master { node: member.master_of(name, from) };
            effects.reply(from, Reply { serial, epoch: self.epoch, tell });
        }
    }

    pub(super) fn on_peer_among(&mut self, from: u8, message: Peer, cx: &Cx, effects: &mut Out) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        let mut notices = Notices::new();
        member.hears_of(from, cx.monotonic, cx.settings);
        match message {
            Peer::Started { life } => {
                let started = &mut member.started[usize::from(from)];
                if life > *started {
                    *started = life;
                    member.silent &= !bit(from);
                }
                self.propose(cx, effects);
            }
            Peer::Propose(view) => {
                let is_meant = view.lives[usize::from(cx.me)] == member.life;
                if view.epoch > member.agreed && is_meant {
                    (member.agreed, member.proposed) = (view.epoch, None);
                    self.stop();
                    effects.peer(from, Peer::Agree { epoch: view.epoch });
                }
            }
            Peer::Agree { epoch } => {
                let Some((view, agreed)) = &mut member.proposed else { return };
                if view.epoch == epoch {
                    *agreed |= bit(from);
                    self.decide(cx, effects);
                }
            }
            Peer::Install(view) => {
                if member.agreed == view.epoch && view.lives[usize::from(cx.me)] == member.life {
                    self.install(view, cx, effects);
                }
            }
            Peer::Names { epoch, names } => {
                if member.is_fresh || epoch > self.epoch {
                    member.early_names.push((from, epoch, names));
                } else if epoch == self.epoch {
                    member.heard_names |= bit(from);
                    names.iter().for_each(|name| member.enter(*name, from));
                    self.answer_lookups(effects);
                }
            }
            Peer::WhoWaits { epoch } => self.on_who_waits(from, epoch, effects),
            Peer::Waits { epoch, waits } => {
                if epoch == self.epoch {
                    self.on_waits(from, waits, cx, &mut notices, effects);
                }
            }
            Peer::Refuse { epoch, handle, serial } => {
                if epoch == self.epoch {
                    self.refuses(handle, serial, cx.settings, &mut notices);
                }
            }
        }
        self.open_gate(cx, &mut notices);
        self.tell_all(notices, effects);
    }

    /// This one was not heard of for too long. If those who are left are too few, nothing is granted any more.
    pub(super) fn takes_node_for_dead(&mut self, node: u8, cx: &Cx, effects: &mut Out) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        member.silent_at[usize::from(node)] = None;
        if !member.view.has(node) || member.is_fresh {
            return;
        }
        member.silent |= bit(node);
        effects.remark = Some("takes a silent node for dead");
        if cx.settings.quorum && !member.is_quorum(member.those_left()) {
            effects.remark = Some("takes a silent node for dead, and has no quorum");
            member.proposed = None;
            return self.stop();
        }
        self.propose(cx, effects);
    }

    /// Whoever is the first of those that live proposes to go on with those that have started again; whoever takes one for dead, to go on
    /// without it.
    fn propose(&mut self, cx: &Cx, effects: &mut Out) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        let is_there = |node: &u8| !member.is_dead(*node) && !member.is_silent(*node);
        let first = member.view.nodes().find(is_there);
        if member.is_fresh || !member.somebody_died() || first != Some(cx.me) && member.silent == 0 {
            return;
        }
        let (epoch, members) = (member.next_epoch(cx.me), member.those_left());
        if cx.settings.quorum && !member.is_quorum(members) {
            return;
        }
        let view = View { epoch, members, lives: member.started.clone() };
        for node in view.nodes().filter(|node| *node != cx.me) {
            effects.peer(node, Peer::Propose(view.clone()));
        }
        (member.agreed, member.proposed) = (epoch, Some((view, bit(cx.me))));
        self.stop();
        self.decide(cx, effects);
    }

    fn decide(&mut self, cx: &Cx, effects: &mut Out) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        let Some((view, _)) = member.proposed.take_if(|(view, agreed)| view.members == *agreed) else {
            return;
        };
        for node in view.nodes().filter(|node| *node != cx.me) {
            effects.peer(node, Peer::Install(view.clone()));
        }
        self.install(view, cx, effects);
    }

    /// Nothing is granted until a view is installed. What is asked for meanwhile is asked for again then.
    fn stop(&mut self) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        (member.has_stopped, member.search) = (true, None);
        self.gate = Some(Gate::default());
    }

    fn install(&mut self, view: View, cx: &Cx, effects: &mut Out) {
        let names: SmallVec<[Name; 2]> = self.manager.resources.iter().map(|(name, _)| *name).collect();
        let epoch = view.epoch;
        self.loses_locks();
        self.epoch = epoch;
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        for node in view.nodes() {
            let its = names.iter().copied().filter(|name| view.directory_of(*name) == node).collect();
            if node != cx.me {
                effects.peer(node, Peer::Names { epoch, names: its });
            }
        }
        (member.is_fresh, member.has_stopped, member.proposed) = (false, false, None);
        member.search = None;
        for (started, life) in member.started.iter_mut().zip(&view.lives) {
            *started = (*started).max(*life);
        }
        (member.heard_names, member.view) = (bit(cx.me), view);
        member.silent &= member.view.members;
        member.listen(cx.me, cx.monotonic, cx.settings);
        member.directory.clear();
        member.lookups.clear();
        for name in names {
            if member.view.directory_of(name) == cx.me {
                member.enter(name, cx.me);
            }
        }
        let (early, early_names) =
            (std::mem::take(&mut member.early), std::mem::take(&mut member.early_names));
        for (from, of, names) in early_names {
            if of == epoch {
                member.heard_names |= bit(from);
                names.iter().for_each(|name| member.enter(*name, from));
            } else if of > epoch {
                member.early_names.push((from, of, names));
            }
        }
        let processes = match cx.settings.new_master {
            NewMaster::Asks { members, .. } => members,
            NewMaster::HasAll | NewMaster::HasNone => 0,
        };
        let tell = Tell::View { members: member.view.members };
        let (inside, outside): (SmallVec<[u8; 4]>, SmallVec<[u8; 4]>) =
            (0..processes).partition(|process| member.is_home_of(*process));
        (0..processes).for_each(|process| self.notes(process, cx));
        for process in &inside {
            effects.reply(*process, Reply { serial: 0, epoch, tell });
        }
        // Those outside have what they have until they are off; or nobody asks.
        let minded = if cx.settings.fences { &outside[..] } else { &[] };
        minded.iter().for_each(|process| self.switches_off(*process, effects));
        self.gate = Some(Gate::closed_for(inside.iter().chain(minded).copied()));
        let mut notices = Notices::new();
        for (from, request) in early {
            self.hears_among(from, request, cx, &mut notices, effects);
        }
        self.tell_all(notices, effects);
        self.propose(cx, effects);
    }

    /// It knows the number of its life and to what it has agreed, and nothing else.
    pub(super) fn on_restart_among(&mut self, cx: &Cx, effects: &mut Out) {
        let Some(member) = &mut self.member else { unreachable!("it is one of several") };
        member.life += 1;
        let (life, view) = (member.life, member.view.clone());
        let (agreed, mut started) = (member.agreed, member.started.clone());
        started[usize::from(cx.me)] = life;
        **member = Member { life, view, agreed, started, is_fresh: true, ..Member::default() };
        self.manager = Manager::default();
        self.gate = Some(Gate::default());
        (0..cx.servers).filter(|node| *node != cx.me).for_each(|node| {
            effects.peer(node, Peer::Started { life });
        });
    }
}

/// Whose lock it is, in words.
pub(super) fn entry_words((name, master): &(Name, u8)) -> String {
    format!("directory: s{} masters {name}", master + 1)
}
