//! Clients of one lock on real nodes, what happens to them, and their judge.
//!
//! Every client is a driver with the lock's machine and connections of its own; what they report is in the order in which it happened.

use crate::cql::Level;
use crate::real::Real;
use crate::words::{self, Dialect, Place};
use picklock_model::cluster::Setup;
use picklock_model::machine::{Lock, Message, Node};
use picklock_model::stores::cassandra::{Cassandra, Operation, Outcome, Reply, Settings};
use picklock_model::time::{Micros, Monotonic};
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Event, Monitors, Promise, Violation};
use picklock_sim::hosted::{ClientNode, Driver, NodeClock, Post, Record, Recorded, SinceStart, Slot};
use picklock_sim::seeded::dice::{Dice, Stream};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

/// A lock on Cassandra.
pub trait OnCassandra: Lock<Store = Cassandra> {}

impl<L: Lock<Store = Cassandra>> OnCassandra for L {}

/// What happens to a client, once.
#[derive(Clone, Copy, Debug)]
pub enum Happening {
    /// Its process does nothing for so long, from a grant on. Its connections go on.
    HangsWhenGranted(Duration),
    /// The first such request is sent so much later.
    RequestLate { of: fn(&Operation) -> bool, by: Duration },
    /// It is heard of no more: the first such request does not arrive, nor does anything after it.
    Gone { before: fn(&Operation) -> bool },
    /// The first such request is lost.
    RequestLost { of: fn(&Operation) -> bool },
    /// The answer to the first such request is lost.
    AnswerLost { of: fn(&Operation) -> bool },
    /// Its wall clock steps back when it sends the first such request.
    ClockStepsBack { of: fn(&Operation) -> bool, by: Micros },
}

/// A play: who comes when, and how long they hold.
pub struct Stage<L: OnCassandra> {
    setup: Setup<L>,
    late: BTreeMap<u8, Micros>,
    behind: BTreeMap<u8, Micros>,
    sequence: Option<String>,
}

/// What was reported, and what of it is broken.
#[derive(Default, Debug)]
pub struct Told {
    pub events: Vec<Event>,
    /// Of each of them, when it happened: since the play began.
    pub when: Vec<Duration>,
    pub violations: Vec<Violation>,
}

impl Told {
    pub fn breaks(&self, promise: Promise) -> bool {
        self.violations.iter().any(|violation| violation.promise == promise)
    }

    /// Whether every token is larger than those before it, and there are some.
    pub fn tokens_grow(&self) -> bool {
        let fence = |event: &Event| match event {
            Event::Granted { fence, .. } => *fence,
            _ => None,
        };
        let tokens: Vec<_> = self.events.iter().filter_map(fence).collect();
        !tokens.is_empty() && tokens.is_sorted_by(|one, two| one < two)
    }

    pub fn grants(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Granted { .. })).count()
    }
}

impl<L: OnCassandra> Stage<L> {
    /// So many clients, each of which takes the lock so many times, for a second.
    pub fn new(lock: L::Settings, clients: u8, rounds: u8) -> Stage<L> {
        let workload = Workload {
            clients,
            rounds,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::millis(1),
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
        let promises = [Promise::MutualExclusion, Promise::LeaseLoss].into_iter().collect();
        let setup = Setup { lock, store: Settings::default(), servers: 1, workload, promises };
        Stage { setup, late: BTreeMap::new(), behind: BTreeMap::new(), sequence: None }
    }

    pub fn holding(mut self, hold: Micros) -> Self {
        self.setup.workload.hold = hold;
        self
    }

    /// Each thinks for so long before it asks.
    pub fn thinking(mut self, think: Micros) -> Self {
        self.setup.workload.think = think;
        self
    }

    /// This client comes so much later than the others.
    pub fn late(mut self, client: u8, by: Micros) -> Self {
        self.late.insert(client, by);
        self
    }

    /// This client's wall clock is so much behind.
    pub fn behind(mut self, client: u8, by: Micros) -> Self {
        self.behind.insert(client, by);
        self
    }

    /// On so many nodes; each client asks the one of its own number first.
    pub fn on_nodes(mut self, nodes: u8) -> Self {
        self.setup.servers = nodes;
        self
    }

    /// About rows of this name.
    pub fn about(mut self, sequence: String) -> Self {
        self.sequence = Some(sequence);
        self
    }

    /// Until every client is done, or this long. Each play is about rows of its own.
    pub fn play(self, real: &Real, happens: &[(u8, Happening)], at_most: Duration) -> Told {
        static PLAYS: AtomicU32 = AtomicU32::new(0);
        let number = PLAYS.fetch_add(1, Ordering::Relaxed);
        let sequence = self.sequence.unwrap_or_else(|| format!("play {number}"));
        let place = Place { dialect: Dialect::Cells, table: "cells".to_owned(), sequence };
        let judge = Rc::new(Judge::new(&self.setup));
        let setup = Arc::new(self.setup);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut lines = Vec::new();
        runtime.block_on(LocalSet::new().run_until(async {
            let start = SinceStart::new();
            let mut processes = Vec::new();
            for me in 0..setup.workload.clients {
                let of = |times: &BTreeMap<u8, Micros>| times.get(&me).copied().unwrap_or(Micros::ZERO);
                let (slot, inbox) = unbounded_channel();
                let clock = NodeClock::default();
                // No clock shows a time before the first: names have no room for a sign.
                clock.change(|clock| clock.wall_offset = Micros::seconds(1_000) - of(&self.behind));
                let (nodes, threads): (Vec<_>, Vec<_>) =
                    (0..setup.servers).map(|node| line(real, node, place.clone(), slot.clone())).unzip();
                lines.extend(threads);
                let wires = Wires {
                    clock: clock.clone(),
                    happens: happens.iter().filter(|(to, _)| *to == me).map(|(_, what)| *what).collect(),
                    is_gone: false,
                    nodes,
                };
                let hangs = Rc::new(Cell::default());
                let will_hang = wires.happens.iter().find_map(|what| match what {
                    Happening::HangsWhenGranted(length) => Some(*length),
                    _ => None,
                });
                let scribe = Scribe { me, judge: judge.clone(), hangs: hangs.clone(), will_hang };
                let client = ClientNode::<L>::new(me, Monotonic::default(), setup.clone());
                let dice = Dice::new(me.into(), Stream::Choice);
                let mut driver = Driver::new(client, clock, start, dice, wires, scribe);
                let late = of(&self.late);
                processes.push(spawn_local(async move {
                    sleep(Duration::from_micros(u64::try_from(late.0).unwrap_or(0))).await;
                    let (mut inbox, (_open, mut calls)) = (inbox, unbounded_channel());
                    loop {
                        driver.turn(&mut inbox, &mut calls).await;
                        sleep(hangs.take()).await;
                    }
                }));
            }
            let end = Instant::now() + at_most;
            while !judge.all_are_done() && Instant::now() < end {
                assert!(processes.iter().all(|process| !process.is_finished()), "a client has panicked");
                sleep(Duration::from_millis(5)).await;
            }
            processes.iter().for_each(|process| process.abort());
        }));
        // They end with their clients.
        lines.into_iter().for_each(|line| line.join().expect("it understands every answer"));
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

/// Is told of every step of every client.
struct Judge {
    began: Instant,
    monitors: RefCell<Monitors>,
    told: RefCell<Told>,
    done: RefCell<Vec<bool>>,
}

impl Judge {
    fn new<L: OnCassandra>(setup: &Setup<L>) -> Judge {
        let done = vec![false; usize::from(setup.workload.clients)];
        Judge {
            began: Instant::now(),
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

impl Record<Cassandra> for Scribe {
    fn record(&mut self, step: Recorded<'_, Cassandra>) {
        for event in step.events {
            let mut told = self.judge.told.borrow_mut();
            told.events.push(*event);
            told.when.push(self.judge.began.elapsed());
            let keep = &mut |violation| told.violations.push(violation);
            self.judge.monitors.borrow_mut().observe(*event, keep);
            if matches!(event, Event::Granted { .. }) {
                self.hangs.set(self.will_hang.take().unwrap_or_default());
            }
        }
        self.judge.done.borrow_mut()[usize::from(self.me)] = step.is_done;
    }
}

/// What a client says to one node, and whether it is to hear the answer.
type Said = (u32, Operation, bool);

/// A connection, in a thread of its own: one request after the other, in the order in which they are sent.
fn line(real: &Real, node: u8, place: Place, slot: Slot<Cassandra>) -> (Sender<Said>, JoinHandle<()>) {
    let mut connection = real.connect(node);
    let (sender, said): (Sender<Said>, Receiver<Said>) = channel();
    let thread = std::thread::spawn(move || {
        for (serial, operation, is_heard) in said {
            let statement = place.statement(&operation).expect("a lock's words");
            // Who is not answered waits in vain.
            let Ok(answer) = connection.try_ask(&statement, Level::Quorum) else { return };
            let outcome: Outcome =
                words::outcome(&operation, &answer).unwrap_or_else(|| panic!("{statement}: {answer:?}"));
            if is_heard {
                let _ended = slot.send((Node::Server(node), Message::Reply(Reply { serial, outcome })));
            }
        }
    });
    (sender, thread)
}

/// Takes requests from the machine to the nodes, except for what happens to them.
struct Wires {
    clock: NodeClock,
    happens: Vec<Happening>,
    is_gone: bool,
    nodes: Vec<Sender<Said>>,
}

impl Post<Cassandra> for Wires {
    fn post(&mut self, to: Node, message: Message<Cassandra>) {
        let (Node::Server(node), Message::Request(request)) = (to, message) else { panic!("a client asks") };
        if self.is_gone {
            return;
        }
        let place = self.happens.iter().position(|what| match what {
            Happening::HangsWhenGranted(_) => false,
            Happening::RequestLate { of, .. }
            | Happening::Gone { before: of }
            | Happening::RequestLost { of }
            | Happening::AnswerLost { of }
            | Happening::ClockStepsBack { of, .. } => of(&request.operation),
        });
        let line = self.nodes[usize::from(node)].clone();
        let said = (request.serial, request.operation);
        let say = move |(serial, operation): (u32, Operation), is_heard| {
            // A connection that is lost takes nothing.
            let _lost = line.send((serial, operation, is_heard));
        };
        match place.map(|place| self.happens.remove(place)) {
            Some(Happening::HangsWhenGranted(_)) => unreachable!("that is no request's fate"),
            Some(Happening::Gone { .. }) => self.is_gone = true,
            Some(Happening::RequestLost { .. }) => {}
            Some(Happening::AnswerLost { .. }) => say(said, false),
            Some(Happening::RequestLate { by, .. }) => {
                spawn_local(async move {
                    sleep(by).await;
                    say(said, true);
                });
            }
            Some(Happening::ClockStepsBack { by, .. }) => {
                self.clock.change(|clock| clock.wall_offset = clock.wall_offset - by);
                say(said, true);
            }
            None => say(said, true),
        }
    }
}
