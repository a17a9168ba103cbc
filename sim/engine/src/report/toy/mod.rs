//! A lock on a notice board, for the tests of the renderers: look whether the board is empty, then pin up your name.
//!
//! Between line 1 and line 3 somebody else may do the same, which is what its traces show.

mod calls;

pub use calls::calls;

use picklock_model::cluster::{Cluster, Entry, Setup, Status, Wake};
use picklock_model::machine::{
    Answer, Call, Context, Effects, Line, Lock, Message, Node, Silence, Store, Visit, Visitor,
};
use picklock_model::time::{Clock, Due, Micros, Monotonic, Wall};
use picklock_model::trace::{Happening, Observer, Step};
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{ClientId, Event, PromiseSet, Violation};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

pub const A: Node = Node::Client(0);
pub const B: Node = Node::Client(1);
pub const S1: Node = Node::Server(0);
pub const S2: Node = Node::Server(1);

/// A and B both find the board empty; B's clock is two seconds behind, A pauses as soon as it holds.
pub fn overlap(observer: &mut impl Observer<Notice>) {
    let mut bench = Bench::new(Workload { writes: Writes::Resource, ..WORKLOAD }, observer);
    bench.set_clock(B, Micros::seconds(-2));
    bench.wake(A, Wake::App);
    bench.deliver(A, S1);
    bench.wake(B, Wake::App);
    bench.deliver(B, S1);
    bench.deliver(S1, A);
    bench.deliver(A, S1);
    bench.deliver(S1, A);
    bench.pause(A);
    bench.lose(S1, S2);
    bench.deliver(S1, B);
    bench.deliver(B, S1);
    bench.deliver(S1, B);
    bench.resume(A);
    bench.pass(Micros::seconds(1));
    bench.wake(A, Wake::App);
    bench.deliver(A, Node::Resource);
}

/// B looks sixteen times while A holds, and gets the board when A has left.
pub fn patience(observer: &mut impl Observer<Notice>) {
    let mut bench = Bench::new(WORKLOAD, observer);
    bench.wake(A, Wake::App);
    bench.exchange(A);
    bench.exchange(A);
    bench.wake(B, Wake::App);
    bench.exchange(B);
    for _ in 0..15 {
        bench.pass(Micros::millis(10));
        bench.wake(B, Wake::Machine);
        bench.exchange(B);
    }
    bench.pass(Micros::seconds(1));
    bench.wake(A, Wake::App);
    bench.exchange(A);
    bench.wake(B, Wake::Machine);
    bench.exchange(B);
    bench.exchange(B);
}

/// Faults of nodes, clocks and links, one after the other.
pub fn misfortune(observer: &mut impl Observer<Notice>) {
    let mut bench = Bench::new(WORKLOAD, observer);
    bench.wake(A, Wake::App);
    bench.duplicate(A, S1);
    bench.lose(A, S1);
    bench.pause(B);
    bench.resume(B);
    let by = Micros::seconds(-2);
    bench.strike(Happening::ClockStepped { node: A, by }, |cluster, _| clock(cluster, A).step(by));
    bench.strike(Happening::ClockDrifts { node: B, ppm: 200 }, |cluster, now| {
        clock(cluster, B).set_drift(200, now);
    });
    bench.strike(Happening::ClockFroze { node: S2 }, |cluster, now| clock(cluster, S2).freeze(now));
    bench.strike(Happening::ClockThawed { node: S2 }, |cluster, _| clock(cluster, S2).unfreeze());
    bench.strike(Happening::LinkCut { from: A, to: S1 }, |_, _| {});
    bench.strike(Happening::LinkMended { from: A, to: S1 }, |_, _| {});
    bench.strike(Happening::Ticked, |_, _| {});
    bench.strike(Happening::Ticked, |_, _| {});
    bench.crash(S1, true);
    bench.restart(S1);
    bench.crash(A, false);
    bench.strike(Happening::Healed, |_, _| {});
}

/// Faults of machines, connections and disks.
pub fn hardship(observer: &mut impl Observer<Notice>) {
    let mut bench = Bench::new(WORKLOAD, observer);
    bench.wake(A, Wake::App);
    bench.suspend(B);
    bench.resume(B);
    let granularity = Micros(15_625);
    bench.strike(Happening::ClockCoarse { node: B, granularity }, |cluster, _| {
        clock(cluster, B).coarsen(granularity);
    });
    bench.strike(Happening::ConnectionReset { from: B, to: S1 }, |_, _| {});
    bench.crash(S2, true);
    bench.strike(Happening::DiskLost { node: S2 }, |_, _| {});
    bench.restart(S2);
}

pub const WORKLOAD: Workload = Workload {
    clients: 2,
    rounds: 1,
    retries: false,
    calls: Calls::Lock,
    access: AccessChoice::First,
    think: Micros::ZERO,
    hold: Micros::seconds(1),
    releases: true,
    writes: Writes::None,
    resource_checks: false,
    resource_forgets: false,
    locks: 1,
    attendants: 0,
    pace: None,
    varies: false,
    work_fits: false,
};

/// The smallest of engines: the test says what happens.
pub struct Bench<'o, O> {
    setup: Setup<Notice>,
    cluster: Cluster<Notice>,
    effects: Effects<Board>,
    in_flight: Vec<(Node, Node, Message<Board>)>,
    now: Micros,
    pub observer: &'o mut O,
}

impl<'o, O: Observer<Notice>> Bench<'o, O> {
    pub fn new(workload: Workload, observer: &'o mut O) -> Self {
        let setup = Setup { lock: (), store: (), servers: 2, workload, promises: PromiseSet::safety() };
        let cluster = Cluster::new(&setup, |_| Clock::default());
        Bench {
            setup,
            cluster,
            effects: Effects::default(),
            in_flight: Vec::new(),
            now: Micros::ZERO,
            observer,
        }
    }

    pub fn set_clock(&mut self, node: Node, offset: Micros) {
        clock(&mut self.cluster, node).step(offset);
    }

    pub fn pass(&mut self, length: Micros) {
        self.now = self.now + length;
    }

    pub fn wake(&mut self, node: Node, wake: Wake) {
        self.enter(node, wake.entry(), Happening::Woke { node, wake });
    }

    pub fn deliver(&mut self, from: Node, to: Node) {
        let message = self.take(from, to);
        let happening = Happening::Delivered { from, to, message: message.clone() };
        self.enter(to, Entry::Message { from, message }, happening);
    }

    /// A request of the client to the first server, and the reply.
    pub fn exchange(&mut self, client: Node) {
        self.deliver(client, S1);
        self.deliver(S1, client);
    }

    pub fn lose(&mut self, from: Node, to: Node) {
        let message = self.take(from, to);
        self.strike(Happening::Lost { from, to, message }, |_, _| {});
    }

    fn duplicate(&mut self, from: Node, to: Node) {
        let message = self.take(from, to);
        self.in_flight.extend(std::iter::repeat_n((from, to, message.clone()), 2));
        self.strike(Happening::Duplicated { from, to, message }, |_, _| {});
    }

    pub fn pause(&mut self, node: Node) {
        self.set_status(Happening::Paused { node }, node, Status::Paused { ticks_left: 0 });
    }

    fn suspend(&mut self, node: Node) {
        self.set_status(Happening::Suspended { node }, node, Status::Paused { ticks_left: 0 });
    }

    pub fn resume(&mut self, node: Node) {
        self.set_status(Happening::Resumed { node }, node, Status::Up);
    }

    pub fn crash(&mut self, node: Node, power_lost: bool) {
        let mut violations = Vec::new();
        let on_violation = &mut |violation| violations.push(violation);
        self.cluster.crash(node, power_lost, &self.setup, &mut self.effects, on_violation);
        self.show(&Happening::Crashed { node, power_lost }, &violations);
    }

    fn restart(&mut self, node: Node) {
        self.cluster.restart(node, self.now, &self.setup, &mut self.effects, &mut |_| {});
        self.show(&Happening::Restarted { node }, &[]);
    }

    pub fn strike(&mut self, happening: Happening<Board>, change: impl FnOnce(&mut Cluster<Notice>, Micros)) {
        self.effects.clear();
        change(&mut self.cluster, self.now);
        self.show(&happening, &[]);
    }

    /// The node wakes, and this is what the monitors are told.
    pub fn tell(&mut self, node: Node, events: &[Event], violations: &[Violation]) {
        self.effects.clear();
        events.iter().for_each(|event| self.effects.record(*event));
        self.show(&Happening::Woke { node, wake: Wake::App }, violations);
    }

    fn set_status(&mut self, happening: Happening<Board>, node: Node, status: Status) {
        self.strike(happening, |cluster, _| {
            cluster.condition_mut(node).expect("only nodes that can pause are paused").status = status;
        });
    }

    fn enter(&mut self, node: Node, entry: Entry<Board>, happening: Happening<Board>) {
        let mut violations = Vec::new();
        let Bench { cluster, setup, effects, now, .. } = self;
        cluster.step(node, entry, 0, *now, setup, effects, &mut |violation| violations.push(violation));
        self.in_flight.extend(self.effects.sends.iter().map(|(to, message)| (node, *to, message.clone())));
        self.show(&happening, &violations);
    }

    fn take(&mut self, from: Node, to: Node) -> Message<Board> {
        let at = self
            .in_flight
            .iter()
            .position(|message| (message.0, message.1) == (from, to))
            .unwrap_or_else(|| panic!("nothing is on its way from {from} to {to}"));
        self.in_flight.remove(at).2
    }

    fn show(&mut self, happening: &Happening<Board>, violations: &[Violation]) {
        let Bench { cluster, effects, now, .. } = self;
        self.observer.observe(&Step { at: *now, happening, effects, cluster, violations, sent_in: None });
        self.now = self.now + Micros(500);
    }
}

fn clock(cluster: &mut Cluster<Notice>, node: Node) -> &mut Clock {
    &mut cluster.condition_mut(node).expect("only nodes with clocks are struck").clock
}

/// A client of the board.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Notice {
    phase: Phase,
    pinned: Option<Name>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Looks,
    Waits { until: Monotonic },
    Pins,
    Held,
    TakesDown,
}

/// As Cassandra's queue names its columns: twenty digits of time, then who.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Name(Wall, u8);

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:020}t{}", self.0.unix_micros(), ClientId(self.1))
    }
}

type Cx<'a> = Context<'a, ()>;

impl Lock for Notice {
    type Store = Board;
    type Settings = ();

    fn new(_me: u8, _settings: &()) -> Self {
        Notice { phase: Phase::Idle, pinned: None }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, effects: &mut Effects<Board>) {
        match call {
            Call::Acquire { .. } => self.look(effects),
            Call::Write => unreachable!("no setup has this lock write inside its store"),
            Call::Release => {
                self.phase = Phase::TakesDown;
                effects.request(0, Request::TakeDown(self.pinned.unwrap_or(Name(cx.wall, cx.me))));
            }
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, effects: &mut Effects<Board>) {
        match (self.phase, reply) {
            (Phase::Looks, Reply::Shows(None)) => {
                let name = Name(cx.wall, cx.me);
                self.phase = Phase::Pins;
                self.pinned = Some(name);
                effects.request(0, Request::PinUp(name));
            }
            (Phase::Looks, Reply::Shows(Some(_))) => {
                self.phase = Phase::Waits { until: cx.monotonic + Micros::millis(10) };
            }
            (Phase::Pins, Reply::Done) => {
                self.phase = Phase::Held;
                effects.answer(Answer::Granted { fence: None });
            }
            (Phase::TakesDown, Reply::Done) => {
                self.phase = Phase::Idle;
                effects.answer(Answer::Released);
            }
            (phase, reply) => panic!("no test lets {reply:?} come to a client that {phase:?}"),
        }
    }

    fn on_deadline(&mut self, _cx: &Cx, effects: &mut Effects<Board>) {
        self.look(effects);
    }

    fn on_restart(&mut self, cx: &Cx) {
        *self = Notice::new(cx.me, cx.settings);
    }

    fn deadline(&self, _settings: &()) -> Option<Due> {
        match self.phase {
            Phase::Waits { until } => Some(Due::Monotonic(until)),
            Phase::Idle | Phase::Looks | Phase::Pins | Phase::Held | Phase::TakesDown => None,
        }
    }

    fn visit<V: Visitor>(&mut self, _settings: &(), _visitor: &mut V) {}

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Looks => 1,
            Phase::Waits { .. } => 2,
            Phase::Pins => 3,
            Phase::Held => 4,
            Phase::Idle | Phase::TakesDown => return Line::NONE,
        };
        Line { listing: 1, number }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "idle",
            Phase::Looks => "is the board empty?",
            Phase::Waits { .. } => "waiting",
            Phase::Pins => "pinning up",
            Phase::Held => "holds",
            Phase::TakesDown => "taking down",
        }
    }

    fn lease(_settings: &()) -> Option<Micros> {
        None
    }
}

impl Notice {
    fn look(&mut self, effects: &mut Effects<Board>) {
        self.phase = Phase::Looks;
        effects.request(0, Request::Look);
    }
}

/// A server of the board; the first one tells the others what was pinned up.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Board(Vec<Name>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Request {
    Look,
    PinUp(Name),
    TakeDown(Name),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reply {
    Shows(Option<Name>),
    Done,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Copy(Name);

impl Store for Board {
    type Settings = ();
    type Request = Request;
    type Reply = Reply;
    type Peer = Copy;
    type Change = Silence;

    fn new(_me: u8, _servers: u8, _settings: &()) -> Self {
        Board(Vec::new())
    }

    fn on_request(&mut self, from: u8, request: Request, cx: &Cx, effects: &mut Effects<Self>) {
        match request {
            Request::Look => return effects.reply(from, Reply::Shows(self.0.first().copied())),
            Request::PinUp(name) => {
                self.0.push(name);
                (1..cx.servers).for_each(|server| effects.peer(server, Copy(name)));
            }
            Request::TakeDown(name) => self.0.retain(|pinned| *pinned != name),
        }
        effects.reply(from, Reply::Done);
    }

    fn on_peer(&mut self, _from: u8, Copy(name): Copy, _cx: &Cx, _effects: &mut Effects<Self>) {
        self.0.push(name);
    }

    fn on_deadline(&mut self, _cx: &Cx, _effects: &mut Effects<Self>) {}

    fn on_restart(&mut self, _power_lost: bool, _cx: &Cx, _effects: &mut Effects<Self>) {
        self.0.clear();
    }

    fn deadline(&self, _settings: &()) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}

    fn contents(&self) -> Vec<String> {
        self.0.iter().map(Name::to_string).collect()
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Request::Look => f.write_str("look"),
            Request::PinUp(name) => write!(f, "pin up {name}"),
            Request::TakeDown(name) => write!(f, "take down {name}"),
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Reply::Shows(None) => f.write_str("{}"),
            Reply::Shows(Some(name)) => write!(f, "{{{name}}}"),
            Reply::Done => f.write_str("done"),
        }
    }
}

impl Display for Copy {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "copy {}", self.0)
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}
}

impl Visit for Copy {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}
}
