//! Whether the canonical form hides nothing that a machine could see.
//!
//! The world of the exhaustive engine forgets the date, the numbers of requests, dead tombstones and dismissed messages
//! after every step. Beside it walks [`Plain`], which shares the machines with it and none of that: absolute true time, a
//! microsecond for each step and a second for each tick, serial numbers as they were drawn, messages in the order in which
//! they were sent, and every tombstone. Both are led along the same random path; after each step both must have sent and
//! reported the same, must have the same messages under way, and the same deadlines due. A message that the world dropped
//! as dismissed is delivered to the plain cluster, sooner or later, and must change nothing there.

use picklock_model::claims::{Assumption, cassandra as spaces};
use picklock_model::cluster::{Cluster, Condition, Entry, Status, Wake};
use picklock_model::explore::Space;
use picklock_model::locks::cassandra_queue::{QueueOrder, ReleaseOrder, RetryDeletes, Settings, Timestamps};
use picklock_model::locks::{CassandraQueue, RowProbe};
use picklock_model::machine::{Effects, Lock, Message, Node, Owner, StampGroup, Visit, Visitor};
use picklock_model::stores::cassandra::{Cassandra, Consistency, Content, Peer, ReadRepair};
use picklock_model::time::{Clock, Due, Micros, Monotonic, Wall};
use picklock_model::workload::Calls;
use picklock_model::world::{Action, Aim, TICK, Workspace, World};
use picklock_properties::{ClientId, Event, Promise, Violation};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::fmt::Debug;

/// A message under way in the plain cluster.
#[derive(Clone, PartialEq, Debug)]
struct Flying<L: Lock> {
    from: Node,
    to: Node,
    sent_in_tick: u32,
    message: Message<L::Store>,
}

/// The second executor: the same cluster, without any canonical form.
struct Plain<'a, L: Lock<Store = Cassandra>> {
    space: &'a Space<L>,
    cluster: Cluster<L>,
    now: Micros,
    tick: u32,
    /// In the order of sending.
    in_flight: Vec<Flying<L>>,
    effects: Effects<L::Store>,
    broken: Option<Violation>,
}

impl<'a, L: Lock<Store = Cassandra>> Plain<'a, L> {
    fn new(space: &'a Space<L>) -> Self {
        let Space { setup, bounds } = space;
        let clock_of = |node| {
            let ticks = match node {
                Node::Client(client) if client + 1 == setup.workload.clients => {
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
                for client in 0..setup.workload.clients {
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
            Action::CrashServer { server } => self.crash(Node::Server(server)),
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
        cluster.crash(node, true, effects, &mut |violation| {
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
    fn awaited(&self) -> Vec<Sight> {
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
struct Sight {
    from: Node,
    to: Node,
    age: u8,
    /// Times and numbers taken out.
    said: Message<Cassandra>,
    /// The numbers, in the order in which the message shows them. The executors number differently, but in one order.
    serials: Vec<u32>,
}

impl Sight {
    fn of(from: Node, to: Node, age: u8, message: &Message<Cassandra>) -> Self {
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

fn blanked(message: &Message<Cassandra>) -> (Message<Cassandra>, Vec<u32>) {
    let (mut said, mut blank) = (message.clone(), Blank::default());
    said.visit(&mut blank);
    if let Message::Peer(Peer::Cells { columns, .. }) = &mut said {
        // The plain cluster remembers tombstones that hide nothing any more.
        columns.retain(|column| matches!(column.cell.content, Content::Live { .. }));
    }
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

fn without_fence(event: &Event) -> Event {
    match *event {
        Event::Granted { client, .. } => Event::Granted { client, fence: None },
        Event::Accepted { client, .. } => Event::Accepted { client, fence: None },
        Event::Rejected { client, .. } => Event::Rejected { client, fence: None },
        event => event,
    }
}

/// What a step did, as both executors can see it.
fn seen(effects: &Effects<Cassandra>) -> (Vec<(Node, Message<Cassandra>)>, Vec<Event>) {
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
fn walk<L: Lock<Store = Cassandra>>(
    space: &Space<L>,
    path: &[(u16, bool)],
    walked: &mut Walked,
) -> Result<(), String> {
    let mut story = Vec::new();
    walk_along(space, path, walked, &mut story)
        .map_err(|difference| format!("{}\n{difference}", story.join("\n")))
}

fn walk_along<L: Lock<Store = Cassandra>>(
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
        let sights: Vec<Sight> =
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
fn compare<L: Lock<Store = Cassandra>>(world: &World<L>, plain: &Plain<L>) -> Result<(), String> {
    let Space { setup, bounds } = plain.space;
    for client in 0..setup.workload.clients {
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
    let sights: Vec<Sight> =
        world.in_flight.iter().map(|e| Sight::of(e.from, e.to, e.age, &e.message)).collect();
    let words = |sights: &[Sight]| -> Vec<String> {
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
fn walks_alike<L: Lock<Store = Cassandra>>(space: Space<L>, is_interesting: fn(&Walked) -> bool) {
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
        config.cases = CASES;
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

fn queue_lock(clients: u8, calls: Calls, dropped: &[Assumption]) -> Space<CassandraQueue> {
    let mut space = spaces::queue_lock(clients, 1, calls, &[Promise::MutualExclusion]);
    dropped.iter().for_each(|assumption| spaces::drop_from_queue_lock(&mut space, *assumption));
    space
}

/// Every repair at once, with the lease of the small models.
fn repaired(ttl_seconds: Option<u32>) -> Settings {
    Settings {
        ttl_seconds,
        poll_interval: if ttl_seconds.is_some() { TICK } else { Micros::ZERO },
        request_timeout: None,
        validity_margin: TICK,
        ..Settings::repaired()
    }
}

#[test]
fn untimed_lock() {
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.workload.rounds = 2;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks == 0);
}

#[test]
fn untimed_try_lock_of_three() {
    let mut space = queue_lock(3, Calls::TryLock, &[]);
    space.setup.workload.rounds = 2;
    space.setup.workload.retries = true;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_lock_with_crashes_and_duplicates() {
    let mut space = queue_lock(3, Calls::Lock, &[Assumption::NoCrash, Assumption::NoDuplicate]);
    space.bounds.duplicates = 3;
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500 && walked.dismissed > 100);
}

#[test]
fn untimed_repaired_lock_with_writes_to_the_resource() {
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.lock = repaired(None);
    space.setup.workload.rounds = 2;
    space.setup.workload.writes = true;
    space.setup.workload.resource_checks = true;
    space.setup.promises = [Promise::FencedResource, Promise::MutualExclusion].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_lock_with_clocks_that_step_back() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoClockStep]);
    space.bounds.clock_steps = 3;
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
}

#[test]
fn untimed_lock_with_clocks_that_step_forward_beside_one_that_is_behind() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoClockStep, Assumption::ClocksAgree]);
    space.bounds.clock_steps = 2;
    space.bounds.clock_step_ticks = 1;
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
}

#[test]
fn untimed_lock_with_a_clock_that_stands_still() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoClockFreeze]);
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.faults > 200);
    space.setup.lock.timestamps = Timestamps::ClientMonotonic;
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
}

#[test]
fn untimed_try_lock_with_a_clock_that_stands_still_and_one_that_steps_back() {
    let mut space = queue_lock(2, Calls::TryLock, &[Assumption::NoClockFreeze, Assumption::NoClockStep]);
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
}

/// The clock that stands still may be one that was set back, and the other be set back as far.
#[test]
fn untimed_try_lock_with_a_clock_that_stands_still_and_several_steps_back() {
    let mut space = queue_lock(2, Calls::TryLock, &[Assumption::NoClockFreeze, Assumption::NoClockStep]);
    space.bounds.clock_steps = 2;
    space.setup.workload.rounds = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 500);
}

#[test]
fn untimed_lock_named_and_stamped_by_its_coordinator() {
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.lock.timestamps = Timestamps::Coordinator;
    space.setup.lock.queue_order = QueueOrder::Coordinator;
    space.setup.lock.release_order = ReleaseOrder::MainThenQueue;
    space.setup.workload.rounds = 2;
    walks_alike(space, |walked| walked.grants > 100);
}

#[test]
fn untimed_lock_on_a_store_that_loses_power() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::Durable]);
    space.bounds.power_losses = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 200);
}

#[test]
fn untimed_lock_on_three_replicas() {
    // Without read repair, for what is settled is not repaired: then the plain cluster has more to say than the world.
    let mut space = queue_lock(2, Calls::Lock, &[]);
    space.setup.servers = 3;
    space.setup.store.read_repair = ReadRepair::None;
    walks_alike(space, |walked| walked.steps > 10_000);
}

#[test]
fn untimed_probes_of_a_row_on_three_replicas() {
    walks_alike(spaces::row(3, 3, Consistency::Quorum, Consistency::Quorum), |walked| walked.steps > 5000);
}

#[test]
fn timed_lock_with_a_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry]);
    space.setup.workload.hold = Micros(3 * TICK.0);
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 1000);
}

#[test]
fn timed_lock_with_pauses_longer_than_its_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.bounds.latency_ticks = Some(0);
    space.bounds.pauses = 3;
    space.setup.workload.hold = Micros(3 * TICK.0);
    space.setup.workload.rounds = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space.clone(), |walked| walked.grants > 100 && walked.ticks > 1000 && walked.faults > 200);
    space.bounds.aim = Aim::Holding;
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 1000 && walked.faults > 50);
}

#[test]
fn timed_repaired_lock_with_pauses_and_writes_to_the_resource() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoPause]);
    space.setup.lock = repaired(Some(spaces::TTL_SECONDS));
    space.bounds.pauses = 3;
    space.setup.workload.hold = Micros(4 * TICK.0);
    space.setup.workload.rounds = 2;
    space.setup.workload.writes = true;
    space.setup.workload.resource_checks = true;
    space.setup.promises = [Promise::FencedResource, Promise::LeaseLoss].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 50 && walked.ticks > 1000 && walked.faults > 200);
}

#[test]
fn timed_lock_with_lost_messages_and_time_outs() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoLoss]);
    space.bounds.losses = 3;
    walks_alike(space.clone(), |walked| walked.grants > 50 && walked.ticks > 1000 && walked.faults > 200);
    space.setup.lock.retry_deletes = RetryDeletes::UntilAcknowledged;
    space.bounds.duplicates = 2;
    walks_alike(space, |walked| walked.grants > 50 && walked.dismissed > 50);
}

#[test]
fn timed_lock_with_clocks_that_step_back_and_a_lease() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::NoClockStep]);
    space.bounds.clock_steps = 2;
    space.setup.workload.rounds = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.grants > 100 && walked.ticks > 1000 && walked.faults > 200);
}

#[test]
fn timed_lock_with_a_client_behind_and_a_server_ahead() {
    let mut space = queue_lock(2, Calls::Lock, &[Assumption::NoExpiry, Assumption::ClocksAgree]);
    space.setup.servers = 2;
    space.setup.store.writes = Consistency::All;
    space.setup.store.reads = Consistency::One;
    space.setup.store.read_repair = ReadRepair::None;
    space.bounds.last_server_ahead_ticks = 3;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.steps > 10_000 && walked.ticks > 1000);
}

#[test]
fn timed_probes_of_a_row_that_expires() {
    let mut space: Space<RowProbe> = spaces::row(3, 1, Consistency::Quorum, Consistency::Quorum);
    spaces::drop_from_row(&mut space, Assumption::NoExpiry);
    space.bounds.pauses = 2;
    space.bounds.pause_ticks = 2;
    space.setup.promises = [].into_iter().collect();
    walks_alike(space, |walked| walked.ticks > 300 && walked.faults > 100);
}

/// The comparison is worth something only if it notices a difference.
#[test]
fn a_plain_cluster_of_another_setup_parts_from_the_world() {
    let space = queue_lock(2, Calls::Lock, &[]);
    let (mut world, mut workspace) = (World::new(&space.setup, &space.bounds), Workspace::default());
    let mut other = space.clone();
    other.setup.workload.calls = Calls::TryLock;
    let mut plain = Plain::new(&other);
    let mut actions = Vec::new();
    world.actions(&space.setup, &space.bounds, &mut actions);
    world.apply(actions[0], &space.setup, &space.bounds, &mut workspace);
    plain.apply(actions[0], None);
    assert!(compare(&world, &plain).is_err());
}
