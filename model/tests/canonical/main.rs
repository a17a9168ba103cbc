//! Whether the canonical form hides nothing that a machine could see.
//!
//! The world of the exhaustive engine forgets the date, the numbers of requests, dead tombstones and dismissed messages
//! after every step. Beside it walks [`Plain`], which shares the machines with it and none of that: absolute true time, a
//! microsecond for each step and a second for each tick, serial numbers as they were drawn, messages in the order in which
//! they were sent, and every tombstone. Both are led along the same random path; after each step both must have sent and
//! reported the same, must have the same messages under way, and the same deadlines due. A message that the world dropped
//! as dismissed is delivered to the plain cluster, sooner or later, and must change nothing there.

mod cassandra;
mod cassandra_lwt;
mod cassandra_shadow;
mod feedback;
mod redis;
mod zookeeper;

use picklock_model::cluster::{Cluster, Condition, Entry, Status, Wake};
use picklock_model::explore::Space;
use picklock_model::machine::{Effects, Lock, Message, Node, Owner, StampGroup, Store, Visit, Visitor};
use picklock_model::time::{Clock, Due, Micros, Monotonic, Wall};
use picklock_model::world::{Action, TICK, Workspace, World};
use picklock_properties::{ClientId, Event, Violation};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::fmt::Debug;

/// A store whose messages can be compared between the two executors.
trait Comparable: Store {
    /// Takes out of a message what only the plain cluster remembers.
    fn forget_hidden(_message: &mut Message<Self>) {}
}

/// A lock on such a store.
trait Walkable: Lock<Store: Comparable> {}
impl<L: Lock<Store: Comparable>> Walkable for L {}

/// A message under way in the plain cluster.
#[derive(Clone, PartialEq, Debug)]
struct Flying<L: Lock> {
    from: Node,
    to: Node,
    sent_in_tick: u32,
    message: Message<L::Store>,
}

/// The second executor: the same cluster, without any canonical form.
struct Plain<'a, L: Walkable> {
    space: &'a Space<L>,
    cluster: Cluster<L>,
    now: Micros,
    tick: u32,
    /// In the order of sending.
    in_flight: Vec<Flying<L>>,
    effects: Effects<L::Store>,
    broken: Option<Violation>,
}

impl<'a, L: Walkable> Plain<'a, L> {
    fn new(space: &'a Space<L>) -> Self {
        let Space { setup, bounds } = space;
        let clock_of = |node| {
            let ticks = match node {
                Node::Client(client) if client + 1 == setup.workload.processes() => {
                    bounds.last_client_ahead_ticks
                }
                Node::Server(server) if server + 1 == setup.servers => bounds.last_server_ahead_ticks,
                Node::Client(_) | Node::Server(_) | Node::Resource => 0,
            };
            Clock { wall_offset: Micros(i64::from(ticks) * TICK.0), ..Clock::default() }
        };
        Plain {
            space,
            cluster: Cluster::new(setup, clock_of),
            now: Micros::ZERO,
            tick: 0,
            in_flight: Vec::new(),
            effects: Effects::default(),
            broken: None,
        }
    }

    /// Does what the world did; `flying` is the message that the action is about, if it is about one.
    fn apply(&mut self, action: Action, flying: Option<usize>) {
        let Space { setup, bounds } = self.space;
        let ticks = matches!(action, Action::Tick | Action::DriftingTick { .. });
        self.now = self.now + if ticks { TICK } else { Micros(1) };
        self.effects.clear();
        match action {
            Action::Deliver { choice, .. } => {
                let Flying { from, to, message, .. } = self.in_flight.remove(index(flying));
                self.step(to, Entry::Message { from, message }, choice);
            }
            Action::Wake { node, wake, choice } => self.step(node, wake.entry(), choice),
            Action::Tick | Action::DriftingTick { .. } => {
                if let Action::DriftingTick { node } = action {
                    let by = match node {
                        Node::Server(_) => Micros(i64::from(bounds.drift_ticks) * TICK.0),
                        Node::Client(_) | Node::Resource => -TICK,
                    };
                    let clock = &mut self.condition_of(node).clock;
                    clock.wall_offset = clock.wall_offset + by;
                    clock.monotonic_offset = clock.monotonic_offset + by;
                }
                self.tick += 1;
                for client in 0..setup.workload.processes() {
                    if let Status::Paused { ticks_left } = &mut self.condition(client).status {
                        *ticks_left -= 1;
                    }
                }
            }
            Action::Lose { .. } => {
                self.in_flight.remove(index(flying));
            }
            Action::Duplicate { .. } => {
                let twin = self.in_flight[index(flying)].clone();
                self.in_flight.push(twin);
            }
            Action::Pause { client } => {
                self.condition(client).status = Status::Paused { ticks_left: bounds.pause_ticks };
            }
            Action::Resume { client } => self.condition(client).status = Status::Up,
            Action::Crash { client } => self.crash(Node::Client(client)),
            Action::LosePower { server } => {
                let node = Node::Server(server);
                self.crash(node);
                self.in_flight.retain(|flying| flying.to != node);
                let Plain { cluster, effects, broken, .. } = self;
                cluster.restart(node, self.now, setup, effects, &mut |violation| {
                    broken.get_or_insert(violation);
                });
                self.send(node);
            }
            Action::CrashServer { server } => {
                let node = Node::Server(server);
                self.crash(node);
                if bounds.crashes_take_sent {
                    self.in_flight.retain(|flying| flying.from != node);
                }
            }
            Action::RestartResource => {
                self.cluster.resource.restart(&setup.workload);
                self.in_flight.retain(|flying| flying.to != Node::Resource);
            }
            Action::StepServerClock { server } => {
                let by = Micros(i64::from(bounds.server_clock_step_ticks) * TICK.0);
                self.condition_of(Node::Server(server)).clock.step(by);
            }
            Action::StepClock { client } => {
                let by = Micros(i64::from(bounds.clock_step_ticks) * TICK.0);
                self.condition(client).clock.step(by);
            }
            Action::FreezeClock { client } => {
                let now = self.now;
                self.condition(client).clock.freeze(now);
            }
        }
    }

    /// An untimed world covers every speed of every node, and lets any deadline come now: here it has to be waited for.
    fn wait_for(&mut self, node: Node, wake: Wake) {
        let clock = self.cluster.condition(node).clock;
        for (due, whose) in self.cluster.deadlines(node, &self.space.setup).into_iter().flatten() {
            if whose == wake {
                self.now =
                    clock.true_time_of(due, self.now).expect("the clock that this deadline goes by moves");
            }
        }
    }

    fn step(&mut self, node: Node, entry: Entry<L::Store>, choice: u8) {
        let Plain { cluster, effects, broken, .. } = self;
        let mut on_violation = |violation| {
            broken.get_or_insert(violation);
        };
        let choice = u32::from(choice);
        cluster.step(node, entry, choice, self.now, &self.space.setup, effects, &mut on_violation);
        self.send(node);
    }

    fn crash(&mut self, node: Node) {
        let Plain { cluster, effects, broken, .. } = self;
        cluster.crash(node, true, &self.space.setup, effects, &mut |violation| {
            broken.get_or_insert(violation);
        });
    }

    fn send(&mut self, from: Node) {
        for (to, message) in &self.effects.sends {
            let message = message.clone();
            self.in_flight.push(Flying { from, to: *to, sent_in_tick: self.tick, message });
        }
    }

    fn condition(&mut self, client: u8) -> &mut Condition {
        self.condition_of(Node::Client(client))
    }

    fn condition_of(&mut self, node: Node) -> &mut Condition {
        self.cluster.condition_mut(node).unwrap()
    }

    /// Delivers what nobody waits for any more, if its receiver takes anything: it must leave no trace.
    fn deliver_dismissed(&mut self) {
        let dismissed =
            |plain: &Self, flying: &Flying<L>| plain.cluster.dismisses(flying.to, &flying.message);
        while let Some(position) = self.in_flight.iter().position(|flying| {
            dismissed(self, flying) && self.cluster.condition(flying.to).status == Status::Up
        }) {
            let Flying { from, to, message, .. } = self.in_flight.remove(position);
            let (before, said) = (self.cluster.clone(), format!("{from} to {to}: {message:?}"));
            self.now = self.now + Micros(1);
            let mut effects = Effects::default();
            let entry = Entry::Message { from, message };
            self.cluster.step(to, entry, 0, self.now, &self.space.setup, &mut effects, &mut |_| {});
            assert!(effects.sends.is_empty() && effects.events.is_empty(), "dismissed, and answered: {said}");
            assert!(self.cluster == before, "dismissed, and remembered: {said}");
        }
    }

    /// What the world should have under way: everything that somebody still waits for.
    fn awaited(&self) -> Vec<Sight<L::Store>> {
        let latency = u32::from(self.space.bounds.latency_ticks.unwrap_or(0));
        let awaited = |flying: &&Flying<L>| !self.cluster.dismisses(flying.to, &flying.message);
        self.in_flight
            .iter()
            .filter(awaited)
            .map(|Flying { from, to, sent_in_tick, message }| {
                Sight::of(*from, *to, (self.tick - sent_in_tick).min(latency) as u8, message)
            })
            .collect()
    }
}

fn index(flying: Option<usize>) -> usize {
    flying.expect("the action is about a message")
}

/// A message as both executors can see it.
struct Sight<S: Store> {
    from: Node,
    to: Node,
    age: u8,
    /// Times and numbers taken out.
    said: Message<S>,
    /// The numbers, in the order in which the message shows them. The executors number differently, but in one order.
    serials: Vec<u32>,
}

impl<S: Comparable> Sight<S> {
    fn of(from: Node, to: Node, age: u8, message: &Message<S>) -> Self {
        let (said, serials) = blanked(message);
        Sight { from, to, age, said, serials }
    }

    /// Places in `sights`, put into an order that both executors agree on.
    fn sorted(sights: &[Self]) -> Vec<usize> {
        let mut places: Vec<usize> = (0..sights.len()).collect();
        places.sort_by(|left, right| {
            let key = |place: usize| {
                let Sight { from, to, age, said, serials } = &sights[place];
                (from, to, said, serials, age)
            };
            key(*left).cmp(&key(*right))
        });
        places
    }

    fn words(&self) -> String {
        format!("{} to {}, {} ticks old: {:?}", self.from, self.to, self.age, self.said)
    }
}

fn blanked<S: Comparable>(message: &Message<S>) -> (Message<S>, Vec<u32>) {
    let (mut said, mut blank) = (message.clone(), Blank::default());
    said.visit(&mut blank);
    S::forget_hidden(&mut said);
    (said, blank.serials)
}

/// Takes times and numbers out of a message, and notes the numbers.
#[derive(Default)]
struct Blank {
    serials: Vec<u32>,
}

impl Visitor for Blank {
    fn stamp(&mut self, _group: StampGroup, at: &mut Wall) {
        at.0 = 0;
    }

    fn due(&mut self, due: &mut Due) {
        *due = Due::Monotonic(Monotonic(0));
    }

    fn since(&mut self, at: &mut Monotonic, _limit: Micros) {
        at.0 = 0;
    }

    fn expiry_seconds(&mut self, at: &mut i64) {
        *at = 0;
    }

    fn serial(&mut self, _owner: Owner, serial: &mut u32) {
        self.serials.push(std::mem::take(serial));
    }
}

/// Tokens that are times differ between the executors.
fn without_fence(event: &Event) -> Event {
    match *event {
        Event::Granted { client, .. } => Event::Granted { client, fence: None },
        Event::Accepted { client, .. } => Event::Accepted { client, fence: None },
        Event::Rejected { client, .. } => Event::Rejected { client, fence: None },
        event => event,
    }
}

/// What a step did, as both executors can see it.
fn seen<S: Comparable>(effects: &Effects<S>) -> (Vec<(Node, Message<S>)>, Vec<Event>) {
    let sends = effects.sends.iter().map(|(to, message)| (*to, blanked(message).0)).collect();
    (sends, effects.events.iter().map(without_fence).collect())
}

/// How often the interesting things happened on all walks: a comparison during which none did proves nothing.
#[derive(Default, Debug)]
struct Walked {
    steps: u64,
    grants: u64,
    faults: u64,
    ticks: u64,
    dismissed: u64,
    broken: u64,
}

/// Leads both executors along the path; `Err` says how they came where they part.
fn walk<L: Walkable>(space: &Space<L>, path: &[(u16, bool)], walked: &mut Walked) -> Result<(), String> {
    let mut story = Vec::new();
    walk_along(space, path, walked, &mut story)
        .map_err(|difference| format!("{}\n{difference}", story.join("\n")))
}

fn walk_along<L: Walkable>(
    space: &Space<L>,
    path: &[(u16, bool)],
    walked: &mut Walked,
    story: &mut Vec<String>,
) -> Result<(), String> {
    let Space { setup, bounds } = space;
    assert!(!bounds.colocated && bounds.link_messages_max == 0, "the second executor has no such thing");
    let mut world = World::new(setup, bounds);
    let mut again = world.clone();
    let mut plain = Plain::new(space);
    let (mut workspace, mut other_workspace) = (Workspace::default(), Workspace::default());
    let mut actions = Vec::new();
    for (step, (number, delivers_dismissed)) in path.iter().enumerate() {
        world.actions(setup, bounds, &mut actions);
        if actions.is_empty() {
            break;
        }
        let action = actions[usize::from(*number) % actions.len()];
        let happening = format!("step {step}, {action:?}: {:?}", world.happening(action, bounds));
        story.push(happening);

        // The message in the plain cluster that stands where the world's stands.
        let sights: Vec<Sight<L::Store>> =
            world.in_flight.iter().map(|e| Sight::of(e.from, e.to, e.age, &e.message)).collect();
        let flying = match action {
            Action::Deliver { position, .. } | Action::Lose { position } | Action::Duplicate { position } => {
                let place = Sight::sorted(&sights).iter().position(|at| *at == usize::from(position));
                let awaited: Vec<usize> = (0..plain.in_flight.len())
                    .filter(|at| {
                        let flying = &plain.in_flight[*at];
                        !plain.cluster.dismisses(flying.to, &flying.message)
                    })
                    .collect();
                Some(awaited[Sight::sorted(&plain.awaited())[place.unwrap()]])
            }
            _ => None,
        };
        if let (Action::Wake { node, wake, .. }, true) = (action, bounds.latency_ticks.is_none()) {
            plain.wait_for(node, wake);
        }

        world.apply(action, setup, bounds, &mut workspace);
        plain.apply(action, flying);

        // The canonical form of a world is its own, packed or not, and the same whenever it is reached by the same way.
        let packed = postcard::to_stdvec(&world).unwrap();
        if postcard::from_bytes::<World<L>>(&packed).as_ref() != Ok(&world) {
            return Err("the world does not come back from its bytes".to_owned());
        }
        again.apply(action, setup, bounds, &mut other_workspace);
        if again != world {
            return Err("the same step leads to two worlds".to_owned());
        }
        again = postcard::from_bytes(&packed).unwrap();

        differs("what the step did", &seen(&workspace.effects), &seen(&plain.effects))?;
        differs("what it broke", &world.broken, &plain.broken)?;
        differs("what is observed", &world.cluster.monitors, &plain.cluster.monitors)?;
        let before = plain.in_flight.len();
        if *delivers_dismissed {
            plain.deliver_dismissed();
        }
        compare(&world, &plain)?;

        walked.steps += 1;
        walked.dismissed += (before - plain.in_flight.len()) as u64;
        walked.grants +=
            workspace.effects.events.iter().filter(|event| matches!(event, Event::Granted { .. })).count()
                as u64;
        walked.ticks += u64::from(action == Action::Tick);
        walked.faults += u64::from(!action.is_fair());
        walked.broken += u64::from(world.broken.is_some());
    }
    Ok(())
}

/// Whether the two are the same to whoever must not know the date: clients, deadlines, messages.
fn compare<L: Walkable>(world: &World<L>, plain: &Plain<L>) -> Result<(), String> {
    let Space { setup, bounds } = plain.space;
    for client in 0..setup.workload.processes() {
        let standing = |cluster: &Cluster<L>| {
            let client = &cluster.clients[usize::from(client)];
            (client.lock.line(), client.doing(), client.holds(), client.is_done())
        };
        let what = format!("what {} does", ClientId(client));
        differs(&what, &standing(&world.cluster), &standing(&plain.cluster))?;
    }
    for node in world.cluster.nodes() {
        let status = |cluster: &Cluster<L>| match cluster.condition(node).status {
            // Whether a client lost power matters to nobody, for it stays down.
            Status::Down { .. } => Status::Down { power_lost: true },
            status => status,
        };
        differs(&format!("the status of {node}"), &status(&world.cluster), &status(&plain.cluster))?;
        // The deadlines of who is down are in the past in the one and not in the other, and nobody asks.
        if let Status::Down { .. } = status(&world.cluster) {
            continue;
        }
        let due = |cluster: &Cluster<L>, now| {
            let clock = cluster.condition(node).clock;
            let is_due = |(due, wake)| (wake, bounds.latency_ticks.is_none() || clock.is_due(due, now));
            cluster.deadlines(node, setup).map(|deadline| deadline.map(is_due))
        };
        let what = format!("which deadlines of {node} are due");
        differs(&what, &due(&world.cluster, Micros::ZERO), &due(&plain.cluster, plain.now))?;
    }
    let sights: Vec<Sight<L::Store>> =
        world.in_flight.iter().map(|e| Sight::of(e.from, e.to, e.age, &e.message)).collect();
    let words = |sights: &[Sight<L::Store>]| -> Vec<String> {
        Sight::sorted(sights).into_iter().map(|at| sights[at].words()).collect()
    };
    differs("what is under way", &words(&sights), &words(&plain.awaited()))
}

fn differs<T: PartialEq + Debug>(what: &str, world: &T, plain: &T) -> Result<(), String> {
    if world == plain {
        return Ok(());
    }
    Err(format!("{what} differs\n  in the world: {world:?}\n  plain:        {plain:?}"))
}

const CASES: u32 = 300;

/// Random walks, each of them twice as long as any client needs that is left alone.
fn walks_alike<L: Walkable>(space: Space<L>, is_interesting: fn(&Walked) -> bool) {
    walk_cases(CASES, space, is_interesting);
}

/// So many random walks.
fn walk_cases<L: Walkable>(cases: u32, space: Space<L>, is_interesting: fn(&Walked) -> bool) {
    let mut walked = Walked::default();
    let mut config = ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/canonical.proptest-regressions"
        )))),
        source_file: Some(file!()),
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    let paths = vec((any::<u16>(), any::<bool>()), 0..160);
    let shared = std::cell::RefCell::new(&mut walked);
    let result = TestRunner::new(config)
        .run(&paths, |path| walk(&space, &path, &mut shared.borrow_mut()).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{failure}");
    }
    assert!(is_interesting(&walked), "the walks saw too little: {walked:?}");
}
