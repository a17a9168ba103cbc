//! What a driver owns: one node's machine, entered the same way whatever it is.

use picklock_model::cluster::{Entry, Setup, Wake};
use picklock_model::machine::{Context, Effects, Line, Lock, Message, Node, Store};
use picklock_model::system::{Process, ProcessContext};
use picklock_model::time::{Due, Monotonic, Wall};
use picklock_model::workload::{Client, Resource};
use picklock_properties::{Event, LockId};
use std::convert::Infallible;
use std::sync::Arc;

/// What a node's own clocks show at an entry, and what it is told by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What the wall clock shows.
    pub wall: Wall,
    /// What the monotonic clock shows.
    pub monotonic: Monotonic,
    /// [`Context::choice`].
    pub choice: u32,
}

impl Reading {
    /// The context of an entry at this reading.
    pub fn context<Settings>(self, me: u8, servers: u8, settings: &Settings) -> Context<'_, Settings> {
        Context { me, servers, wall: self.wall, monotonic: self.monotonic, choice: self.choice, settings }
    }
}

/// One node of a cluster: a client, a server, or the resource.
pub trait Machine {
    /// The store that its messages are of.
    type Store: Store;
    /// What can be asked of it from outside, other than by messages; [`Infallible`] for nothing.
    type Call;

    /// Which node this is.
    fn me(&self) -> Node;

    /// Whether such a message from such a node is for a node like this. What is not comes from somebody who does not
    /// speak the protocol, and never gets to the machine.
    fn takes(&self, from: Node, message: &Message<Self::Store>) -> bool;

    /// When it wants to be woken, by its own clocks, and as what.
    fn deadlines(&self) -> [Option<(Due, Wake)>; 2];

    /// In how many ways it can handle this entry, by chance.
    fn choices(&self, entry: &Entry<Self::Store>) -> u32;

    /// A message that it takes has arrived, or a deadline has come.
    fn enter(&mut self, entry: Entry<Self::Store>, reading: Reading, effects: &mut Effects<Self::Store>);

    /// Somebody asks something of it.
    fn call(&mut self, call: Self::Call, reading: Reading, effects: &mut Effects<Self::Store>);

    /// Its process has started again after a crash or, if `power_lost`, after its machine went off.
    fn restart(&mut self, power_lost: bool, reading: Reading, effects: &mut Effects<Self::Store>);

    /// Which lock an entry is about, if the node can know it: a client asks for one at a time, a write at the resource is for
    /// one. `None` for an entry: what the node does next.
    fn about(&self, _entry: Option<&Entry<Self::Store>>) -> Option<LockId> {
        None
    }

    /// The line that it stands at, if it is a client.
    fn line(&self) -> Option<Line> {
        None
    }

    /// Whether it will do nothing more by itself.
    fn is_done(&self) -> bool {
        false
    }
}

/// A client of the workload, with its lock.
#[derive(Clone, Debug)]
pub struct ClientNode<L: Lock> {
    me: u8,
    client: Client<L>,
    setup: Arc<Setup<L>>,
}

impl<L: Lock> ClientNode<L> {
    /// The client before anything happened; its monotonic clock shows `start`.
    pub fn new(me: u8, start: Monotonic, setup: Arc<Setup<L>>) -> Self {
        ClientNode { me, client: Client::new(me, &setup.workload, start, &setup.lock), setup }
    }

    fn entered(&mut self, reading: Reading, enter: impl FnOnce(&mut Client<L>, &ProcessContext<L>)) {
        let machine = reading.context(self.me, self.setup.servers, &self.setup.lock);
        enter(&mut self.client, &ProcessContext { machine, workload: &self.setup.workload });
    }
}

impl<L: Lock> Machine for ClientNode<L> {
    type Store = L::Store;
    type Call = Infallible;

    fn me(&self) -> Node {
        Node::Client(self.me)
    }

    fn takes(&self, from: Node, message: &Message<L::Store>) -> bool {
        match (from, message) {
            (Node::Server(server), Message::Reply(_)) => server < self.setup.servers,
            (Node::Resource, Message::Shown { .. } | Message::Written { .. }) => true,
            (
                Node::Client(_) | Node::Server(_) | Node::Resource,
                Message::Request(_)
                | Message::Reply(_)
                | Message::Peer(_)
                | Message::Read { .. }
                | Message::Shown { .. }
                | Message::Write { .. }
                | Message::Written { .. },
            ) => false,
        }
    }

    fn deadlines(&self) -> [Option<(Due, Wake)>; 2] {
        [
            self.client.app_deadline(&self.setup.workload).map(|due| (due, Wake::App)),
            self.client.lock.deadline(&self.setup.lock).map(|due| (due, Wake::Machine)),
        ]
    }

    fn choices(&self, entry: &Entry<L::Store>) -> u32 {
        match entry {
            Entry::Message { message: Message::Reply(reply), .. } => {
                self.client.lock.choices(Some(reply), &self.setup.lock)
            }
            Entry::Deadline => self.client.lock.choices(None, &self.setup.lock),
            Entry::Message { .. } | Entry::AppDeadline => 1,
        }
    }

    fn enter(&mut self, entry: Entry<L::Store>, reading: Reading, effects: &mut Effects<L::Store>) {
        self.entered(reading, |client, cx| match entry {
            Entry::Message { from, message } => client.on_message(from, message, cx, effects),
            Entry::AppDeadline => client.on_app_deadline(cx, effects),
            Entry::Deadline => client.on_deadline(cx, effects),
        });
    }

    fn call(&mut self, call: Infallible, _reading: Reading, _effects: &mut Effects<L::Store>) {
        match call {}
    }

    fn restart(&mut self, _power_lost: bool, reading: Reading, _effects: &mut Effects<L::Store>) {
        self.entered(reading, |client, cx| client.on_restart(cx));
    }

    fn about(&self, _entry: Option<&Entry<L::Store>>) -> Option<LockId> {
        Some(self.client.busy_with(self.me, &self.setup.workload))
    }

    fn line(&self) -> Option<Line> {
        Some(self.client.lock.line())
    }

    fn is_done(&self) -> bool {
        // An attendant is never done.
        self.me < self.setup.workload.clients && self.client.is_done()
    }
}

/// A server of the store.
#[derive(Clone, Debug)]
pub struct ServerNode<S: Store> {
    me: u8,
    servers: u8,
    server: S,
    settings: S::Settings,
    means: fn(&S::Change, u8) -> Option<Event>,
}

impl<S: Store> ServerNode<S> {
    /// The server before anything happened. What changes in it means nothing to anybody.
    pub fn new(me: u8, servers: u8, settings: S::Settings) -> Self {
        ServerNode { me, servers, server: S::new(me, servers, &settings), settings, means: |_, _| None }
    }

    /// The same server, whose changes are read by this lock ([`Lock::means`]).
    #[must_use]
    pub fn read_by<L: Lock<Store = S>>(self) -> Self {
        ServerNode { means: L::means, ..self }
    }
}

impl<S: Store> Machine for ServerNode<S> {
    type Store = S;
    type Call = Infallible;

    fn me(&self) -> Node {
        Node::Server(self.me)
    }

    fn takes(&self, from: Node, message: &Message<S>) -> bool {
        match (from, message) {
            (Node::Client(_), Message::Request(_)) => true,
            (Node::Server(server), Message::Peer(_)) => server < self.servers,
            (
                Node::Client(_) | Node::Server(_) | Node::Resource,
                Message::Request(_)
                | Message::Reply(_)
                | Message::Peer(_)
                | Message::Read { .. }
                | Message::Shown { .. }
                | Message::Write { .. }
                | Message::Written { .. },
            ) => false,
        }
    }

    fn deadlines(&self) -> [Option<(Due, Wake)>; 2] {
        [self.server.deadline(&self.settings), self.server.other_deadline(&self.settings)]
            .map(|due| due.map(|due| (due, Wake::Machine)))
    }

    fn choices(&self, entry: &Entry<S>) -> u32 {
        match entry {
            Entry::Message { message, .. } => self.server.choices(message, self.servers, &self.settings),
            Entry::Deadline => self.server.choices_at_deadline(&self.settings),
            Entry::AppDeadline => 1,
        }
    }

    fn enter(&mut self, entry: Entry<S>, reading: Reading, effects: &mut Effects<S>) {
        let cx = reading.context(self.me, self.servers, &self.settings);
        match entry {
            Entry::Message { from: Node::Client(from), message: Message::Request(request) } => {
                self.server.on_request(from, request, &cx, effects);
            }
            Entry::Message { from: Node::Server(from), message: Message::Peer(message) } => {
                self.server.on_peer(from, message, &cx, effects);
            }
            Entry::Deadline => self.server.on_deadline(&cx, effects),
            entry @ (Entry::Message { .. } | Entry::AppDeadline) => {
                unreachable!("a server takes no {entry:?}")
            }
        }
        effects.read_changes(self.me, self.means);
    }

    fn call(&mut self, call: Infallible, _reading: Reading, _effects: &mut Effects<S>) {
        match call {}
    }

    fn restart(&mut self, power_lost: bool, reading: Reading, effects: &mut Effects<S>) {
        let cx = reading.context(self.me, self.servers, &self.settings);
        self.server.on_restart(power_lost, &cx, effects);
        effects.read_changes(self.me, self.means);
    }
}

/// The resource that the lock protects.
#[derive(Clone, Debug)]
pub struct ResourceNode<L: Lock> {
    resource: Resource,
    setup: Arc<Setup<L>>,
}

impl<L: Lock> ResourceNode<L> {
    /// The resource before anything was written.
    pub fn new(setup: Arc<Setup<L>>) -> Self {
        ResourceNode { resource: Resource::new(&setup.workload), setup }
    }
}

impl<L: Lock> Machine for ResourceNode<L> {
    type Store = L::Store;
    type Call = Infallible;

    fn me(&self) -> Node {
        Node::Resource
    }

    fn takes(&self, from: Node, message: &Message<L::Store>) -> bool {
        let locks = self.setup.workload.locks.max(1);
        let asked = match message {
            Message::Read { lock, .. } | Message::Write { lock, .. } => Some(*lock),
            Message::Request(_)
            | Message::Reply(_)
            | Message::Peer(_)
            | Message::Shown { .. }
            | Message::Written { .. } => None,
        };
        matches!(from, Node::Client(_)) && asked.is_some_and(|lock| lock.0 < locks)
    }

    fn deadlines(&self) -> [Option<(Due, Wake)>; 2] {
        [None, None]
    }

    fn choices(&self, _entry: &Entry<L::Store>) -> u32 {
        1
    }

    fn enter(&mut self, entry: Entry<L::Store>, _reading: Reading, effects: &mut Effects<L::Store>) {
        match entry {
            Entry::Message { from: Node::Client(from), message: Message::Write { serial, lock, fence } } => {
                self.resource.on_write::<L::Store>(from, serial, lock, fence, &self.setup.workload, effects);
            }
            Entry::Message { from: Node::Client(from), message: Message::Read { serial, lock, fence } } => {
                self.resource.on_read::<L::Store>(from, serial, lock, fence, &self.setup.workload, effects);
            }
            entry @ (Entry::Message { .. } | Entry::AppDeadline | Entry::Deadline) => {
                unreachable!("the resource takes no {entry:?}")
            }
        }
    }

    fn call(&mut self, call: Infallible, _reading: Reading, _effects: &mut Effects<L::Store>) {
        match call {}
    }

    fn restart(&mut self, _power_lost: bool, _reading: Reading, _effects: &mut Effects<L::Store>) {
        self.resource.restart(&self.setup.workload);
    }

    fn about(&self, entry: Option<&Entry<L::Store>>) -> Option<LockId> {
        match entry {
            Some(Entry::Message {
                message: Message::Read { lock, .. } | Message::Write { lock, .. },
                ..
            }) => Some(*lock),
            Some(Entry::Message { .. } | Entry::AppDeadline | Entry::Deadline) | None => None,
        }
    }
}
