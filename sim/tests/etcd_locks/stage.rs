//! Clients of one lock on a real server, what happens to them, and their judge.
//!
//! Every client is a driver with the lock's machine and a connection of its own, all in one thread: what they report is in the
//! order in which it happened.

use crate::real::Real;
use picklock_model::cluster::Setup;
use picklock_model::machine::{Lock, Message, Node};
use picklock_model::stores::etcd::{
    Etcd, Key, Keys, LeaseId, Name, Operation, Outcome, Range, Request, Settings, Step, Txn,
};
use picklock_model::time::{Micros, Monotonic};
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Event, Monitors, Promise, Violation};
use picklock_sim::hosted::{
    ClientNode, Driver, EtcdConnections, Inbox, Letter, Names, NodeClock, Patience, Post, Record, Recorded,
    SinceStart, Slot, Tcp,
};
use picklock_sim::seeded::dice::{Dice, Stream};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

/// The one member.
pub const MEMBER: Node = Node::Server(0);

/// A lock on etcd.
pub trait OnEtcd: Lock<Store = Etcd> {}

impl<L: Lock<Store = Etcd>> OnEtcd for L {}

/// What happens to a client, once.
#[derive(Clone, Copy, Debug)]
pub enum Happening {
    /// Its process does nothing for so long, from a grant on. Its connection goes on.
    HangsWhenGranted(Duration),
    /// An operator revokes its lease when it has begun to wait, a tenth of a second ago.
    LeaseRevokedWhenWaiting,
    /// The first such answer does not arrive.
    AnswerLost { of: fn(&Outcome) -> bool },
    /// The first such answer arrives so much later.
    AnswerLate { of: fn(&Outcome) -> bool, by: Duration },
    /// The first deletion that it asks for does not arrive.
    ReleaseLost,
    /// The first deletion that it asks for arrives, and again so much later.
    ReleaseComesAgain(Duration),
}

/// A play: who comes when, and how long they hold.
pub struct Stage<L: OnEtcd> {
    setup: Setup<L>,
    late: BTreeMap<u8, Micros>,
}

/// What was reported, and what of it is broken.
#[derive(Default, Debug)]
pub struct Told {
    pub events: Vec<Event>,
    pub violations: Vec<Violation>,
}

impl Told {
    pub fn breaks(&self, promise: Promise) -> bool {
        self.violations.iter().any(|violation| violation.promise == promise)
    }

    pub fn grants(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Granted { .. })).count()
    }

    /// Whether every token is larger than those before it.
    pub fn tokens_grow(&self) -> bool {
        let fence = |event: &Event| match event {
            Event::Granted { fence, .. } => *fence,
            _ => None,
        };
        self.events.iter().filter_map(fence).is_sorted_by(|one, two| one < two)
    }
}

impl<L: OnEtcd> Stage<L> {
    /// So many clients, each of which takes the lock so many times, for a second.
    pub fn new(lock: L::Settings, clients: u8, rounds: u8) -> Stage<L> {
        let workload = Workload {
            clients,
            rounds,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::millis(10),
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
        let promises = [Promise::MutualExclusion].into_iter().collect();
        let setup = Setup { lock, store: Settings::default(), servers: 1, workload, promises };
        Stage { setup, late: BTreeMap::new() }
    }

    pub fn holding(mut self, hold: Micros) -> Self {
        self.setup.workload.hold = hold;
        self
    }

    pub fn thinking(mut self, think: Micros) -> Self {
        self.setup.workload.think = think;
        self
    }

    /// This client comes so much later than the others.
    pub fn late(mut self, client: u8, by: Micros) -> Self {
        self.late.insert(client, by);
        self
    }

    /// Until every client is done, or this long. Each play is about a lock of its own name.
    pub fn play(self, real: &Real, happens: &[(u8, Happening)], at_most: Duration) -> Told {
        static PLAYS: AtomicU32 = AtomicU32::new(0);
        let lock = format!("play-{}", PLAYS.fetch_add(1, Ordering::Relaxed));
        let transport = Tcp { addresses: [(MEMBER, real.address)].into() };
        let judge = Rc::new(Judge::new(&self.setup));
        let setup = Arc::new(self.setup);
        runtime().block_on(LocalSet::new().run_until(async {
            is_ready(&transport).await;
            let start = SinceStart::new();
            let mut processes = Vec::new();
            for me in 0..setup.workload.clients {
                let player = Player {
                    me,
                    setup: setup.clone(),
                    happens: happens.iter().filter(|(to, _)| *to == me).map(|(_, what)| *what).collect(),
                    judge: judge.clone(),
                    late: self.late.get(&me).copied().unwrap_or(Micros::ZERO),
                };
                let names = Names::new([lock.clone()], format!("client {me}"));
                processes.push(spawn_local(player.play(transport.clone(), names, start)));
            }
            let end = Instant::now() + at_most;
            while !judge.all_are_done() && Instant::now() < end {
                assert!(processes.iter().all(|process| !process.is_finished()), "a client has panicked");
                sleep(Duration::from_millis(5)).await;
            }
            processes.iter().for_each(|process| process.abort());
        }));
        judge.told.take()
    }
}

/// All cases at once, each in a thread of its own: most of a play is waiting.
pub fn at_once<C: Send>(cases: impl IntoIterator<Item = C>, play: impl Fn(C) + Sync) {
    let play = &play;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || play(case));
        }
    });
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// It answers what takes a leader.
async fn is_ready(transport: &Tcp) {
    let names = Names::new(["is it ready"], "nobody");
    let (mut connections, mut inbox) = EtcdConnections::open(100, 1, transport, Patience::default(), names);
    for serial in 0..600 {
        let keys = Keys::One(Key { prefix: 0, name: Name::Word(0) });
        let operation = Operation::Range(Range::of(keys));
        connections.post(MEMBER, Message::Request(Request::new(serial, operation)));
        if tokio::time::timeout(Duration::from_millis(50), inbox.recv()).await.is_ok() {
            return;
        }
    }
    panic!("etcd does not answer");
}

/// Is told of every step of every client.
struct Judge {
    monitors: RefCell<Monitors>,
    told: RefCell<Told>,
    done: RefCell<Vec<bool>>,
}

impl Judge {
    fn new<L: OnEtcd>(setup: &Setup<L>) -> Judge {
        let done = vec![false; usize::from(setup.workload.clients)];
        Judge {
            monitors: RefCell::new(Monitors::new(setup.promises)),
            told: RefCell::default(),
            done: RefCell::new(done),
        }
    }

    fn all_are_done(&self) -> bool {
        self.done.borrow().iter().all(|is_done| *is_done)
    }
}

struct Scribe {
    me: u8,
    judge: Rc<Judge>,
    /// For how long the process hangs now.
    hangs: Rc<Cell<Duration>>,
    /// For how long it will, when it is granted the lock.
    will_hang: Option<Duration>,
}

impl Record<Etcd> for Scribe {
    fn record(&mut self, step: Recorded<'_, Etcd>) {
        for event in step.events {
            let mut told = self.judge.told.borrow_mut();
            told.events.push(*event);
            let keep = &mut |violation| told.violations.push(violation);
            self.judge.monitors.borrow_mut().observe(*event, keep);
            if matches!(event, Event::Granted { .. }) {
                self.hangs.set(self.will_hang.take().unwrap_or_default());
            }
        }
        self.judge.done.borrow_mut()[usize::from(self.me)] = step.is_done;
    }
}

/// A client, until its task is aborted: who is done keeps its session.
struct Player<L: OnEtcd> {
    me: u8,
    setup: Arc<Setup<L>>,
    happens: Vec<Happening>,
    judge: Rc<Judge>,
    late: Micros,
}

impl<L: OnEtcd> Player<L> {
    async fn play(self, transport: Tcp, names: Names, start: SinceStart) {
        sleep(Duration::from_micros(u64::try_from(self.late.0).unwrap_or(0))).await;
        let (connections, heard) = EtcdConnections::open(self.me, 1, &transport, Patience::default(), names);
        let connections = Rc::new(RefCell::new(connections));
        let post = Wires {
            me: self.me,
            connections,
            happens: self.happens.clone(),
            lease: LeaseId { client: self.me, serial: 0 },
        };
        let (slot, mut inbox) = unbounded_channel();
        spawn_local(pass_on(heard, slot, self.happens.clone()));
        let hangs = Rc::new(Cell::default());
        let will_hang = self.happens.iter().find_map(|what| match what {
            Happening::HangsWhenGranted(length) => Some(*length),
            _ => None,
        });
        let scribe = Scribe { me: self.me, judge: self.judge, hangs: hangs.clone(), will_hang };
        let client = ClientNode::<L>::new(self.me, Monotonic::default(), self.setup);
        let dice = Dice::new(self.me.into(), Stream::Choice);
        let mut driver = Driver::new(client, NodeClock::default(), start, dice, post, scribe);
        let (_open, mut calls) = unbounded_channel();
        loop {
            driver.turn(&mut inbox, &mut calls).await;
            sleep(hangs.take()).await;
        }
    }
}

/// Takes answers from the connections to the machine, except for what happens to them.
async fn pass_on(mut heard: Inbox<Etcd>, slot: Slot<Etcd>, mut happens: Vec<Happening>) {
    while let Some(letter) = heard.recv().await {
        match answer_fate(&letter, &mut happens) {
            Some(Happening::AnswerLost { .. }) => {}
            Some(Happening::AnswerLate { by, .. }) => {
                let slot = slot.clone();
                spawn_local(async move {
                    sleep(by).await;
                    let _ended = slot.send(letter);
                });
            }
            _ => {
                let _ended = slot.send(letter);
            }
        }
    }
}

fn answer_fate(letter: &Letter<Etcd>, happens: &mut Vec<Happening>) -> Option<Happening> {
    let Message::Reply(reply) = &letter.1 else { return None };
    let place = happens.iter().position(|what| match what {
        Happening::AnswerLost { of } | Happening::AnswerLate { of, .. } => of(&reply.outcome),
        _ => false,
    })?;
    Some(happens.remove(place))
}

/// Takes requests from the machine to the connections, except for what happens to them.
struct Wires {
    me: u8,
    connections: Rc<RefCell<EtcdConnections>>,
    happens: Vec<Happening>,
    lease: LeaseId,
}

impl Wires {
    fn fate(&mut self, operation: &Operation) -> Option<Happening> {
        let place = self.happens.iter().position(|what| match what {
            Happening::LeaseRevokedWhenWaiting => matches!(operation, Operation::Watch { .. }),
            Happening::ReleaseLost | Happening::ReleaseComesAgain(_) => is_deletion(operation),
            _ => false,
        })?;
        Some(self.happens.remove(place))
    }
}

impl Post<Etcd> for Wires {
    fn post(&mut self, to: Node, message: Message<Etcd>) {
        let Message::Request(request) = &message else { panic!("{message:?} is no request") };
        if let Operation::Grant { .. } = request.operation {
            self.lease = LeaseId { client: self.me, serial: request.serial };
        }
        match self.fate(&request.operation) {
            Some(Happening::ReleaseLost) => return,
            Some(Happening::ReleaseComesAgain(later)) => {
                let (again, connections) = (message.clone(), self.connections.clone());
                spawn_local(async move {
                    sleep(later).await;
                    connections.borrow_mut().post(to, again);
                });
            }
            Some(Happening::LeaseRevokedWhenWaiting) => {
                // Of a number that the machine never awaits; its first keep-alive has been answered by then.
                let operation = Operation::Revoke(self.lease);
                let request = Request::new(u32::MAX, operation);
                let connections = self.connections.clone();
                spawn_local(async move {
                    sleep(Duration::from_millis(100)).await;
                    connections.borrow_mut().post(to, Message::Request(request));
                });
            }
            _ => {}
        }
        self.connections.borrow_mut().post(to, message);
    }

    fn poll_tasks(&mut self, cx: &mut Context<'_>) -> Poll<Infallible> {
        self.connections.borrow_mut().poll_tasks(cx)
    }
}

/// By the key's name, or only if it is still the one that was put.
pub fn is_deletion(operation: &Operation) -> bool {
    match operation {
        Operation::Delete(_) => true,
        Operation::Txn(Txn { success, .. }) => matches!(success.first(), Some(Step::Delete(_))),
        _ => false,
    }
}
