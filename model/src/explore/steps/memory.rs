//! What is remembered where clocks differ in one way.

use super::Hashed;
use super::known::Known;
use super::outcomes::{ANY, Entered, Outcome, Taken};
use super::rows::Row;
use super::settling::Settling;
use super::symmetry::Symmetry;
use crate::canonical::{Frame, Holds, Piece, Ranks};
use crate::cluster::{Shared, Status, dismisses};
use crate::explore::label::debt_of_message;
use crate::explore::{Alike, Space};
use crate::machine::{Effects, Message, Node};
use crate::system::{Process, System};
use crate::world::{Action, Budget, Envelope, World};
use picklock_properties::Monitors;
use smallvec::SmallVec;

/// How what is shared changes while no node takes a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Change {
    /// A fault is told to the judge.
    Struck,
    /// The same; and a client pauses.
    Paused { client: u8 },
    /// A client goes on.
    Resumed { client: u8 },
    /// A node's wall clock is set; that is no fault to the judge.
    ClockSet { node: u8 },
    /// Pauses have a tick less.
    Ticked,
}

/// How much time a part is older afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Length {
    Step,
    Tick,
}

/// What is remembered where clocks differ in one way.
pub(in crate::explore) struct Memory<'s, Y: System> {
    pub(super) space: &'s Space<Y>,
    /// How times move in a step, and in a tick.
    pub(super) frame: Frame,
    pub(super) tick_frame: Frame,
    /// The groups of stamps that were met.
    pub(super) groups: Vec<u64>,
    pub(super) clients: Vec<Known<Y::Process>>,
    pub(super) servers: Vec<Known<Y::Store>>,
    pub(super) shared: Known<Shared<Y::Judge>>,
    /// Of what is shared: whether holds are remembered in it, which may be forgotten.
    pub(super) has_holds: Vec<bool>,
    pub(super) messages: Known<Envelope<Y>>,
    /// By node and part: what comes of what enters it.
    pub(super) taken: Vec<Vec<Vec<Taken>>>,
    /// The same, where something is observed and what is shared has a part in it.
    pub(super) taken_together: Hashed<(Node, u32, Entered, u8, u32), u32>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) dismissed: Hashed<(Node, u32, u32), bool>,
    /// The numbers of servers together; of one alone it is its own.
    pub(super) together: Hashed<SmallVec<[u32; 4]>, u32>,
    /// By server and part: whether it has anything that may be dropped when it settles.
    pub(super) may_settle: [Vec<Vec<Option<bool>>>; 2],
    /// What becomes of servers together when they settle.
    pub(super) settling: [Vec<Option<Settling>>; 2],
    /// By message: whether servers may settle less because of it.
    pub(super) may_keep: Vec<Option<bool>>,
    /// What messages are at another age.
    pub(super) aged: Hashed<(u32, u8), u32>,
    /// By message: what a fair schedule owes while it is under way, if that was asked for.
    pub(super) debts: Vec<Option<u32>>,
    /// By what is shared: what a liveness check wants to know of it.
    pub(super) flags: Vec<Option<u16>>,
    /// What becomes of what is shared.
    pub(super) changed: Hashed<(u32, Change), u32>,
    /// By kind and part: what it is a tick later.
    pub(super) ticked: Hashed<(u64, u32), u32>,
    /// By kind and part: what it is in canonical form where all that it holds is in its place.
    pub(super) in_place: Vec<Vec<u32>>,
    /// By kind, part, and what it sees of the others: what it is in canonical form.
    pub(super) rewritten: Hashed<SmallVec<[u64; 8]>, u32>,
    /// Takes the steps.
    pub(super) world: World<Y>,
    pub(super) effects: Effects<Y::Store>,
    pub(super) ranks: Ranks,
    pub(super) next: Row,
    /// The numbers of what is remembered of the nodes' steps that have led there, one after the other.
    came: SmallVec<[u32; 4]>,
    /// Which worlds are one.
    pub(super) alike: Alike,
    /// If they are one whichever client is which.
    pub(super) symmetry: Option<Symmetry>,
    /// What is left of messages beside who will get them.
    pub(super) struck_out: Hashed<(u8, u32, u32), u32>,
    /// Worlds that were taken for one were found to go on differently.
    pub(super) is_in_vain: bool,
    pub(super) packed: Vec<u8>,
}

/// Where a part belongs.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    Node(usize),
    Shared,
    Message,
}

impl Slot {
    pub(super) fn number(self) -> u64 {
        match self {
            Slot::Node(at) => at as u64,
            Slot::Shared => u64::from(u8::MAX) + 1,
            Slot::Message => u64::from(u8::MAX) + 2,
        }
    }
}

impl<'s, Y: System> Memory<'s, Y> {
    pub(super) fn new(space: &'s Space<Y>, frame: Frame, tick_frame: Frame, alike: Alike) -> Self {
        let world = World::new(&space.setup, &space.bounds);
        let nodes = world.cluster.conditions().len();
        let servers = world.cluster.servers.len();
        Memory {
            space,
            frame,
            tick_frame,
            groups: Vec::new(),
            clients: world.cluster.clients.iter().map(|_| Known::default()).collect(),
            servers: world.cluster.servers.iter().map(|_| Known::default()).collect(),
            shared: Known::default(),
            has_holds: Vec::new(),
            messages: Known::default(),
            taken: vec![Vec::new(); nodes],
            taken_together: Hashed::default(),
            outcomes: Vec::new(),
            dismissed: Hashed::default(),
            together: Hashed::default(),
            may_settle: [(); 2].map(|()| vec![Vec::new(); servers]),
            settling: [Vec::new(), Vec::new()],
            may_keep: Vec::new(),
            aged: Hashed::default(),
            debts: Vec::new(),
            flags: Vec::new(),
            changed: Hashed::default(),
            ticked: Hashed::default(),
            in_place: vec![Vec::new(); nodes + 2],
            rewritten: Hashed::default(),
            world,
            effects: Effects::default(),
            ranks: Ranks::default(),
            next: Row::default(),
            came: SmallVec::new(),
            symmetry: (alike == Alike::Renamed).then(|| Symmetry::new(space.setup.workload.clients, nodes)),
            struck_out: Hashed::default(),
            alike,
            is_in_vain: false,
            packed: Vec::new(),
        }
    }

    pub(super) fn kept(&self) -> usize {
        let nodes = self.clients.iter().map(|known| known.values.len());
        let nodes = nodes.chain(self.servers.iter().map(|known| known.values.len())).sum::<usize>();
        nodes
            + self.shared.values.len()
            + self.messages.values.len()
            + self.outcomes.len()
            + self.dismissed.len()
            + self.settling[0].len()
            + self.ticked.len()
            + self.changed.len()
            + self.rewritten.len()
            + self.struck_out.len()
    }

    /// Whether worlds that were taken for one were found to go on differently.
    pub fn are_told_apart(&self) -> bool {
        self.is_in_vain
    }

    /// What `action` makes of the world of `row`, in canonical form; [`Self::pack_next`] has it in bytes. Returns the faults that are
    /// left then. `None`: that is not known part by part.
    pub fn step(&mut self, row: &Row, budget: Budget, action: Action) -> Option<Budget> {
        self.came.clear();
        let mut next = std::mem::take(&mut self.next);
        next.clone_from(row);
        let is_known = self.happen(row, &mut next, action);
        self.next = next;
        is_known.then(|| budget.after(action, &self.space.bounds))
    }

    /// What came of the nodes' steps within the last one: several where some messages arrive at once
    /// ([`Bounds::colocated`](crate::world::Bounds::colocated)).
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.came.iter().map(|number| &self.outcomes[*number as usize])
    }

    fn happen(&mut self, row: &Row, next: &mut Row, action: Action) -> bool {
        let is_colocated = self.space.bounds.delivers_at_once();
        let is_known = match action {
            Action::Deliver { position, choice } => {
                let message = next.messages.remove(usize::from(position));
                let to = self.messages.value(message).to;
                self.enter(row, next, to, Entered::Message(message), choice)
            }
            Action::Wake { node, wake, choice } => self.enter(row, next, node, Entered::Woken(wake), choice),
            Action::Tick => self.tick(next),
            Action::Lose { .. } | Action::Duplicate { .. } | Action::Pause { .. } | Action::Resume { .. } => {
                self.interfere(row, next, action)
            }
            Action::Crash { .. }
            | Action::LosePower { .. }
            | Action::CrashServer { .. }
            | Action::CrashUnheard { .. }
            | Action::LosePowerUnheard { .. }
            | Action::CrashServerUnheard { .. }
            | Action::RestartResource => match action.end(&self.space.bounds) {
                // What arrives at once after that is not looked into.
                Some((node, end)) if !is_colocated => self.enter(row, next, node, Entered::Ended(end), 0),
                Some(_) | None => false,
            },
            // A clock is put wrong: another memory is of that ([`super::Steps::step`]). Where a server may be down for a while its return is
            // one step among many.
            Action::DriftingTick { .. }
            | Action::RestartServer { .. }
            | Action::StepServerClock { .. }
            | Action::StepClock { .. }
            | Action::FreezeClock { .. } => false,
        };
        if !is_known || !is_colocated {
            return is_known;
        }
        // Which message arrives first depends on their order: they are sorted when no other one arrives.
        let is_of_a_node = matches!(action, Action::Deliver { .. } | Action::Wake { .. });
        while let Some(position) = self.due_at_once(next) {
            if !is_of_a_node {
                return false;
            }
            let before = next.clone();
            let message = next.messages.remove(position);
            let to = self.messages.value(message).to;
            if !self.enter(&before, next, to, Entered::Message(message), 0) {
                return false;
            }
        }
        if is_of_a_node {
            self.sort_messages(next);
        }
        true
    }

    /// Makes the world of a row the one that the last step led to, in which a clock was set that is this memory's now: nothing of it need be
    /// in canonical form yet. `false`: bits are not enough for that.
    pub(super) fn begin_after(&mut self, row: &Row) -> bool {
        self.came.clear();
        let mut next = std::mem::take(&mut self.next);
        next.clone_from(row);
        self.strike_out_of_all(&mut next);
        self.settle(&mut next, Length::Step);
        self.forget_holds(&mut next);
        let is_known = self.rewrite_all(&mut next);
        self.next = next;
        is_known
    }

    /// What `flags` says of what was observed up to the last step. It is always the same that is asked.
    pub fn flags_next(&mut self, flags: &dyn Fn(&[Monitors]) -> u16) -> u16 {
        let number = self.next.shared;
        let at = number as usize;
        if self.flags.len() <= at {
            self.flags.resize(at + 1, None);
        }
        let shared = &self.shared;
        *self.flags[at].get_or_insert_with(|| flags(&shared.value(number).2))
    }

    /// What a fair schedule owes by each message of a row, one after the other.
    pub fn debts(&mut self, row: &Row, debts: &mut Vec<u32>) {
        debts.clear();
        for message in &row.messages {
            let at = *message as usize;
            if self.debts.len() <= at {
                self.debts.resize(at + 1, None);
            }
            let messages = &self.messages;
            debts.push(*self.debts[at].get_or_insert_with(|| debt_of_message(messages.value(*message))));
        }
    }

    fn due_at_once(&self, row: &Row) -> Option<usize> {
        self.view(row, Budget::default(), false).due_at_once(&self.space.setup, &self.space.bounds)
    }

    /// Something enters a node. `false`: what comes of it is not known part by part.
    fn enter(&mut self, row: &Row, next: &mut Row, node: Node, entered: Entered, choice: u8) -> bool {
        let number = self.number_of_outcome(row, node, entered, choice);
        self.came.push(number);
        let Outcome { part, shared, sends, .. } = &self.outcomes[number as usize];
        let slot = self.slot(node);
        if let Some(slot) = slot {
            next.nodes[slot] = *part;
        }
        next.shared = if *shared == ANY { row.shared } else { *shared };
        let sends = sends.clone();
        if let Entered::Ended(end) = entered {
            let messages = &self.messages;
            next.messages.retain(|message| !end.takes(node, messages.value(*message)));
        }
        // To nobody else has anything happened that would make him dismiss what he did not before.
        let mut at = 0;
        while let Some(message) = next.messages.get(at) {
            let is_for_it = slot.is_some() && self.messages.value(*message).to == node;
            if is_for_it && self.is_dismissed(next, *message) {
                next.messages.remove(at);
            } else {
                at += 1;
            }
        }
        let before = next.messages.len();
        for message in sends {
            if !self.is_dismissed(next, message) {
                let message = self.struck_out(next, message);
                next.messages.push(message);
            }
        }
        // Nothing is forgotten while messages still arrive within the step: a read among them could tell.
        let goes_on = self.space.bounds.delivers_at_once() && self.due_at_once(next).is_some();
        if !goes_on {
            self.settle(next, Length::Step);
            self.forget_holds(next);
        }
        // A client counts its requests and its holds, each for itself, and both are put in order together: by what they are after the
        // step as a whole. And two readings of a clock that is ahead are as far apart as they are within the step as a whole.
        self.rewrite(next, slot, row.shared, before)
            && !(goes_on
                && (self.ranks.lowers_serials_of(self.clients.len()) || !self.ranks.are_of_the_past()))
    }

    pub(super) fn frame(&self, length: Length) -> &Frame {
        match length {
            Length::Step => &self.frame,
            Length::Tick => &self.tick_frame,
        }
    }

    /// The place of a node among the nodes; the resource has none.
    pub(super) fn slot(&self, node: Node) -> Option<usize> {
        match node {
            Node::Client(client) => Some(usize::from(client)),
            Node::Server(server) => Some(self.clients.len() + usize::from(server)),
            Node::Resource => None,
        }
    }

    /// Whether whoever gets the message will dismiss it.
    pub(super) fn is_dismissed(&mut self, row: &Row, message: u32) -> bool {
        let envelope = self.messages.value(message);
        let Some(slot) = self.slot(envelope.to) else { return false };
        if let Status::Down { .. } = self.shared.value(row.shared).1[slot].status {
            return true;
        }
        let part = row.nodes[slot];
        let can_be = match (envelope.to, &envelope.message) {
            (Node::Client(_), _) | (Node::Server(_), Message::Peer(_)) => true,
            (Node::Server(_) | Node::Resource, _) => false,
        };
        can_be
            && *self.dismissed.entry((envelope.to, part, message)).or_insert_with(|| match envelope.to {
                Node::Client(_) => self.clients[slot].value(part).dismisses(&envelope.message),
                Node::Server(_) => {
                    dismisses(self.servers[slot - self.clients.len()].value(part), &envelope.message)
                }
                Node::Resource => false,
            })
    }

    pub(super) fn node_of(&mut self, slot: usize, bytes: &[u8]) -> u32 {
        let Memory { space: Space { setup, .. }, frame, groups, clients, servers, .. } = self;
        match slot.checked_sub(clients.len()) {
            None => clients[slot].number_of(bytes, |client| {
                Holds::of(Piece::<Y>::Client(slot as u8, client), frame, setup, groups)
            }),
            Some(server) => servers[server].number_of(bytes, |value| {
                Holds::of(Piece::<Y>::Server(server as u8, value), frame, setup, groups)
            }),
        }
    }

    pub(super) fn shared_of(&mut self, bytes: &[u8]) -> u32 {
        let Memory { space: Space { setup, .. }, frame, groups, shared, has_holds, .. } = self;
        shared.number_of(bytes, |value| {
            let mut holds = 0;
            value.2.iter_mut().for_each(|monitors| monitors.each_hold(&mut |_, _| holds += 1));
            has_holds.push(holds > 0);
            Holds::of(Piece::<Y>::Shared(value), frame, setup, groups)
        })
    }

    pub(super) fn message_of(&mut self, bytes: &[u8]) -> u32 {
        let Memory { space: Space { setup, .. }, frame, groups, messages, .. } = self;
        messages.number_of(bytes, |message| Holds::of(Piece::Message(message), frame, setup, groups))
    }
}
