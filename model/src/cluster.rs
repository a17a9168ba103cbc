//! Nodes, their clocks and conditions, and the monitors: one step of one node, the same for all engines.

use crate::machine::{Context, Data, Effects, Message, Node, Store};
use crate::system::{Process, ProcessContext, System};
use crate::time::{Clock, Due, Micros};
use crate::workload::{Resource, Workload};
use picklock_properties::{ClientId, Event, Judge, LockId, Monitors, PromiseSet, Usage, Violation};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::{SmallVec, smallvec};

/// Everything about a run that is not state: which lock on which store, in which variants, used how, judged by what.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Setup<Y: System> {
    /// The lock's variant.
    pub lock: Y::Settings,
    /// The store's configuration.
    pub store: <Y::Store as Store>::Settings,
    /// How many servers the store has, at least 1.
    pub servers: u8,
    /// Who uses the lock.
    pub workload: Workload,
    /// What is watched.
    pub promises: PromiseSet,
}

impl<Y: System> Default for Setup<Y> {
    /// Lock and store with their defaults, one server, the usual work, the usual promises.
    fn default() -> Setup<Y> {
        Setup {
            lock: Y::Settings::default(),
            store: <Y::Store as Store>::Settings::default(),
            servers: 1,
            workload: Workload::default(),
            promises: PromiseSet::usual(),
        }
    }
}

impl<Y: System> Setup<Y> {
    /// The same lock and store under other work. What is told how many use it hears of their new number.
    pub fn with_workload(&self, workload: Workload) -> Setup<Y> {
        Setup {
            lock: Y::settings_for(&self.lock, workload.clients),
            store: Y::Store::used_by(&self.store, workload.clients),
            workload,
            ..self.clone()
        }
    }
}

/// Whether a node works.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Status {
    /// It handles what comes.
    #[default]
    Up,
    /// It handles nothing; its clocks go on, its deadlines fire late, its messages wait.
    Paused {
        /// How many more ticks it may stay so, where time is ticks; 0 elsewhere.
        ticks_left: u8,
    },
    /// Its process has ended. Messages to it are lost.
    Down {
        /// What was not durable is gone.
        power_lost: bool,
    },
}

impl Status {
    /// What it is a tick later.
    pub(crate) fn a_tick_later(self) -> Status {
        match self {
            Status::Paused { ticks_left } => Status::Paused { ticks_left: ticks_left - 1 },
            Status::Up | Status::Down { .. } => self,
        }
    }
}

/// A node's clocks and status.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Condition {
    /// The node's clocks.
    pub clock: Clock,
    /// Whether it works.
    pub status: Status,
}

// Most nodes of most states are up with a perfect clock: one byte for those.
impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unusual = (*self != Condition::default()).then_some((self.clock, self.status));
        unusual.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let unusual = Option::<(Clock, Status)>::deserialize(deserializer)?;
        Ok(unusual.map_or_else(Condition::default, |(clock, status)| Condition { clock, status }))
    }
}

/// What a node is entered with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Entry<S: Store> {
    /// A message arrived.
    Message {
        /// Its sender.
        from: Node,
        /// What it says.
        message: Message<S>,
    },
    /// The client's application wants to be woken.
    AppDeadline,
    /// The lock's machine, or the server, wants to be woken.
    Deadline,
}

/// All nodes of a run.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Cluster<Y: System> {
    /// The clients, by number.
    pub clients: Vec<Y::Process>,
    /// The store's servers, by number.
    pub servers: Vec<Y::Store>,
    /// What the lock protects.
    pub resource: Resource,
    /// The clients' conditions, then the servers'.
    conditions: Vec<Condition>,
    /// What has been observed of each lock, as far as it matters.
    pub monitors: SmallVec<[Monitors; 1]>,
    /// What has been observed beside locks.
    pub judge: Y::Judge,
}

/// What [`Cluster::shared`] shows.
pub(crate) type Shared<J> = (Resource, Vec<Condition>, SmallVec<[Monitors; 1]>, J);

// The explorer clones a state per transition into the memory of the one before: `clone_from` must not allocate.
impl<Y: System> Clone for Cluster<Y> {
    fn clone(&self) -> Self {
        Cluster {
            clients: self.clients.clone(),
            servers: self.servers.clone(),
            resource: self.resource.clone(),
            conditions: self.conditions.clone(),
            monitors: self.monitors.clone(),
            judge: self.judge.clone(),
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.clients.clone_from(&source.clients);
        self.servers.clone_from(&source.servers);
        self.clone_shared_from(source);
    }
}

impl<Y: System> Cluster<Y> {
    /// The cluster before anything happened, with these clocks (by default, perfect ones).
    pub fn new(setup: &Setup<Y>, clock_of: impl Fn(Node) -> Clock) -> Self {
        let clients = (0..setup.workload.processes()).map(Node::Client);
        let servers = (0..setup.servers).map(Node::Server);
        let conditions: Vec<Condition> = clients
            .chain(servers)
            .map(|node| Condition { clock: clock_of(node), status: Status::Up })
            .collect();
        Cluster {
            clients: (0..setup.workload.processes())
                .map(|me| {
                    let start = conditions[usize::from(me)].clock.monotonic(Micros::ZERO);
                    Y::Process::new(me, &setup.workload, start, &setup.lock)
                })
                .collect(),
            servers: (0..setup.servers).map(|me| Y::Store::new(me, setup.servers, &setup.store)).collect(),
            resource: Resource::new(&setup.workload),
            conditions,
            monitors: smallvec![
                Monitors::new(setup.promises).with_modes(Y::access_modes(&setup.lock));
                usize::from(setup.workload.locks.max(1))
            ],
            judge: Y::judge(&setup.lock, setup.promises),
        }
    }

    /// All nodes that have clocks: clients, then servers.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<Y> {
        let (clients, servers) = (self.clients.len() as u8, self.servers.len() as u8);
        (0..clients).map(Node::Client).chain((0..servers).map(Node::Server))
    }

    /// The position of a node in [`Self::nodes`]; the resource has none.
    pub fn index(&self, node: Node) -> Option<usize> {
        match node {
            Node::Client(client) => Some(usize::from(client)),
            Node::Server(server) => Some(self.clients.len() + usize::from(server)),
            Node::Resource => None,
        }
    }

    /// A node's clocks and status; the resource is always up and has a perfect clock.
    pub fn condition(&self, node: Node) -> Condition {
        self.index(node).map_or_else(Condition::default, |index| self.conditions[index])
    }

    /// The same, to change; `None` for the resource, which does not fail.
    pub fn condition_mut(&mut self, node: Node) -> Option<&mut Condition> {
        self.index(node).map(|index| &mut self.conditions[index])
    }

    /// All conditions, in the order of [`Self::nodes`].
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// What no single client or server owns, so that it can be packed by itself; [`Self::set_shared`] puts it back.
    pub(crate) fn shared(&self) -> (&Resource, &[Condition], &[Monitors], &Y::Judge) {
        (&self.resource, &self.conditions, &self.monitors, &self.judge)
    }

    /// See [`Self::shared`].
    pub(crate) fn set_shared(&mut self, shared: Shared<Y::Judge>) {
        (self.resource, self.conditions, self.monitors, self.judge) = shared;
    }

    /// Makes equal what [`Self::shared`] shows.
    pub(crate) fn clone_shared_from(&mut self, source: &Self) {
        self.resource.clone_from(&source.resource);
        self.conditions.clone_from(&source.conditions);
        self.monitors.clone_from(&source.monitors);
        self.judge.clone_from(&source.judge);
    }

    /// When the node wants to be woken, by its own clocks, and as what. A client has two wishes, its application's and
    /// its lock's; a server may have two as well.
    pub fn deadlines(&self, node: Node, setup: &Setup<Y>) -> [Option<(Due, Wake)>; 2] {
        match node {
            Node::Client(client) => deadlines_of_client(&self.clients[usize::from(client)], setup),
            Node::Server(server) => deadlines_of_server(&self.servers[usize::from(server)], setup),
            Node::Resource => [None, None],
        }
    }

    /// In how many ways the node can handle this entry, by chance.
    pub fn choices(&self, node: Node, entry: &Entry<Y::Store>, setup: &Setup<Y>) -> u32 {
        match (node, entry) {
            (Node::Client(client), Entry::Message { message: Message::Reply(reply), .. }) => {
                self.clients[usize::from(client)].choices(Some(reply), &setup.lock)
            }
            (Node::Client(client), Entry::Deadline) => {
                self.clients[usize::from(client)].choices(None, &setup.lock)
            }
            (Node::Server(server), Entry::Message { message, .. }) => {
                self.servers[usize::from(server)].choices(message, setup.servers, &setup.store)
            }
            (Node::Server(server), Entry::Deadline) => {
                self.servers[usize::from(server)].choices_at_deadline(&setup.store)
            }
            (Node::Client(client), Entry::AppDeadline) => {
                self.clients[usize::from(client)].app_choices(client, &setup.workload, &setup.lock)
            }
            (Node::Client(_), Entry::Message { .. })
            | (Node::Server(_), Entry::AppDeadline)
            | (Node::Resource, _) => 1,
        }
    }

    /// Whether the receiver will dismiss this message whenever it arrives.
    pub fn dismisses(&self, to: Node, message: &Message<Y::Store>) -> bool {
        if let Status::Down { .. } = self.condition(to).status {
            return true;
        }
        match (to, message) {
            (Node::Client(client), message) => self.clients[usize::from(client)].dismisses(message),
            (Node::Server(server), message) => dismisses(&self.servers[usize::from(server)], message),
            (Node::Resource, _) => false,
        }
    }

    /// Whether the node is a client that will not ask for a lock again. An attendant is never done.
    pub fn is_done(&self, node: Node, setup: &Setup<Y>) -> bool {
        match node {
            Node::Client(client) if client < setup.workload.clients => {
                self.clients[usize::from(client)].is_done()
            }
            Node::Client(_) | Node::Server(_) | Node::Resource => false,
        }
    }

    /// What has been observed of all locks together: who waits for one, who holds one.
    pub fn usage(&self) -> Usage {
        Usage::of_all(&self.monitors)
    }

    /// The lock that the client asks for, or holds, in its present round.
    fn lock_of(&self, client: ClientId, workload: &Workload) -> LockId {
        self.clients[usize::from(client.0)].busy_with(client.0, workload)
    }

    /// Tells an event to the monitors of the lock that it is about; returns the promises that it puts to the test. A store may
    /// tell of more than locks: nobody watches the rest.
    fn observe(
        &mut self,
        event: Event,
        about: LockId,
        on_violation: &mut dyn FnMut(Violation),
    ) -> PromiseSet {
        let mut tested = self.judge.tested_by(event);
        self.judge.observe(event, on_violation);
        if let Some(monitors) = self.monitors.get_mut(usize::from(about.0)) {
            tested = tested.union(monitors.tested_by(event));
            monitors.observe(event, on_violation);
        }
        tested
    }

    /// One step of one node, at true time `now`. The node must be up. What it wants done is left in `effects`, what it
    /// broke is told to `on_violation`.
    #[expect(
        clippy::too_many_arguments,
        reason = "the seam between engines and nodes; a struct would only rename it"
    )]
    pub fn step(
        &mut self,
        node: Node,
        entry: Entry<Y::Store>,
        choice: u32,
        now: Micros,
        setup: &Setup<Y>,
        effects: &mut Effects<Y::Store>,
        on_violation: &mut dyn FnMut(Violation),
    ) {
        debug_assert_eq!(self.condition(node).status, Status::Up, "{node} is entered though it is not up");
        effects.clear();
        let clock = self.condition(node).clock;
        let about = match (node, &entry) {
            (Node::Client(client), _) => Some(self.lock_of(ClientId(client), &setup.workload)),
            (
                Node::Resource,
                Entry::Message { message: Message::Read { lock, .. } | Message::Write { lock, .. }, .. },
            ) => Some(*lock),
            (Node::Server(_) | Node::Resource, _) => None,
        };
        match node {
            Node::Client(me) => {
                let cx = ProcessContext {
                    machine: context(me, setup.servers, clock, now, choice, &setup.lock),
                    workload: &setup.workload,
                };
                let client = &mut self.clients[usize::from(me)];
                match entry {
                    Entry::Message { from, message } => client.on_message(from, message, &cx, effects),
                    Entry::AppDeadline => client.on_app_deadline(&cx, effects),
                    Entry::Deadline => client.on_deadline(&cx, effects),
                }
            }
            Node::Server(me) => {
                let cx = context(me, setup.servers, clock, now, choice, &setup.store);
                let server = &mut self.servers[usize::from(me)];
                match entry {
                    Entry::Message { from: Node::Client(from), message: Message::Request(request) } => {
                        server.on_request(from, request, &cx, effects);
                    }
                    Entry::Message { from: Node::Server(from), message: Message::Peer(message) } => {
                        server.on_peer(from, message, &cx, effects);
                    }
                    Entry::Deadline => server.on_deadline(&cx, effects),
                    entry => unreachable!("a server is not entered with {entry:?}"),
                }
                effects.read_changes(me, Y::meaning);
            }
            Node::Resource => match entry {
                Entry::Message {
                    from: Node::Client(from),
                    message: Message::Read { serial, lock, fence },
                } => {
                    self.resource.on_read::<Y::Store>(from, serial, lock, fence, &setup.workload, effects);
                }
                Entry::Message {
                    from: Node::Client(from),
                    message: Message::Write { serial, lock, fence },
                } => {
                    self.resource.on_write::<Y::Store>(from, serial, lock, fence, &setup.workload, effects);
                }
                entry => unreachable!("the resource is not entered with {entry:?}"),
            },
        }
        for event in &effects.events {
            let about = event.lock().or(about);
            let about = about.unwrap_or_else(|| self.lock_of(event.client(), &setup.workload));
            effects.tested = effects.tested.union(self.observe(*event, about, on_violation));
        }
    }

    /// The node's process ends. Its messages under way stay under way.
    pub fn crash(
        &mut self,
        node: Node,
        power_lost: bool,
        setup: &Setup<Y>,
        effects: &mut Effects<Y::Store>,
        on_violation: &mut dyn FnMut(Violation),
    ) {
        effects.clear();
        let Some(condition) = self.condition_mut(node) else { return };
        condition.status = Status::Down { power_lost };
        if let Node::Client(client) = node {
            let event = Event::crashed(ClientId(client));
            effects.record(event);
            let about = self.lock_of(event.client(), &setup.workload);
            effects.tested = self.observe(event, about, on_violation);
        }
    }

    /// A server that is down has lost its disk, or another machine comes in its place and under its name: it starts again
    /// with nothing. Clients and the resource have nothing to lose beside what a loss of power takes from them.
    pub fn lose_disk(&mut self, node: Node, setup: &Setup<Y>) {
        debug_assert!(matches!(self.condition(node).status, Status::Down { .. }), "{node} is not down");
        if let Node::Server(me) = node {
            self.servers[usize::from(me)] = Y::Store::new(me, setup.servers, &setup.store);
        }
    }

    /// A crashed node starts again, with what it had made durable.
    pub fn restart(
        &mut self,
        node: Node,
        now: Micros,
        setup: &Setup<Y>,
        effects: &mut Effects<Y::Store>,
        on_violation: &mut dyn FnMut(Violation),
    ) {
        effects.clear();
        let Some(condition) = self.condition_mut(node) else {
            return self.resource.restart(&setup.workload);
        };
        let Status::Down { power_lost } = condition.status else {
            unreachable!("only a node that is down is restarted");
        };
        condition.status = Status::Up;
        let clock = condition.clock;
        match node {
            Node::Client(me) => {
                let cx = ProcessContext {
                    machine: context(me, setup.servers, clock, now, 0, &setup.lock),
                    workload: &setup.workload,
                };
                self.clients[usize::from(me)].on_restart(&cx);
            }
            Node::Server(me) => {
                let cx = context(me, setup.servers, clock, now, 0, &setup.store);
                self.servers[usize::from(me)].on_restart(power_lost, &cx, effects);
                effects.read_changes(me, Y::meaning);
            }
            Node::Resource => unreachable!("the resource has no condition, and has been restarted above"),
        }
        for event in &effects.events {
            let about = event.lock().unwrap_or_else(|| self.lock_of(event.client(), &setup.workload));
            effects.tested = effects.tested.union(self.observe(*event, about, on_violation));
        }
    }
}

/// What a client wants to be woken for.
pub(crate) fn deadlines_of_client<Y: System>(
    client: &Y::Process,
    setup: &Setup<Y>,
) -> [Option<(Due, Wake)>; 2] {
    [
        client.app_deadline(&setup.workload).map(|due| (due, Wake::App)),
        client.deadline(&setup.lock).map(|due| (due, Wake::Machine)),
    ]
}

/// What a server wants to be woken for.
pub(crate) fn deadlines_of_server<Y: System>(
    server: &Y::Store,
    setup: &Setup<Y>,
) -> [Option<(Due, Wake)>; 2] {
    [server.deadline(&setup.store), server.other_deadline(&setup.store)]
        .map(|due| due.map(|due| (due, Wake::Machine)))
}

/// Whether a server will dismiss this message whenever it arrives.
pub(crate) fn dismisses<S: Store>(server: &S, message: &Message<S>) -> bool {
    match message {
        Message::Peer(message) => server.dismisses(message),
        Message::Request(_)
        | Message::Reply(_)
        | Message::Read { .. }
        | Message::Shown { .. }
        | Message::Write { .. }
        | Message::Written { .. } => false,
    }
}

/// Who in a node wants to be woken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Wake {
    /// A client's application.
    App,
    /// A client's lock, or a server.
    Machine,
}

impl Wake {
    /// The entry that answers the wish.
    pub fn entry<S: Store>(self) -> Entry<S> {
        match self {
            Wake::App => Entry::AppDeadline,
            Wake::Machine => Entry::Deadline,
        }
    }
}

fn context<Settings: Data>(
    me: u8,
    servers: u8,
    clock: Clock,
    now: Micros,
    choice: u32,
    settings: &Settings,
) -> Context<'_, Settings> {
    Context { me, servers, wall: clock.wall(now), monotonic: clock.monotonic(now), choice, settings }
}
