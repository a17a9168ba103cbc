//! Whether the canonical form hides nothing that a machine could see.
//!
//! The world of the exhaustive engine forgets the date, the numbers of requests, dead tombstones and dismissed messages
//! after every step. Beside it walks a [`Telling`], which shares the machines with it and none of that: absolute true time, a
//! microsecond for each step and a second for each tick, serial numbers as they were drawn, and every tombstone. Both are
//! led along the same random path; after each step both must have sent and reported the same, must have the same messages
//! under way, and the same deadlines due. A message that the world dropped as dismissed is delivered in the telling, sooner
//! or later, and must change nothing there; but for what was under way to a node that is down, which is lost with its connections.
//!
//! And beside both goes what the search remembers of local steps, from walk to walk ([`Remembered`]): where it knows a step, it
//! leads to the world that the step leads to, byte for byte.
//!
//! There are two manners of telling, unabridged and as a reader is shown it: some paths are walked twice.

mod cassandra;
mod cassandra_lwt;
mod cassandra_shadow;
mod chubby;
mod dlm;
mod etcd;
mod feedback;
mod redis;
mod zookeeper;

use picklock_model::cluster::{Cluster, Status};
use picklock_model::explore::{Manner, Remembered, Space, Telling, pack, unpack};
use picklock_model::machine::{Effects, Message, Node, Owner, StampGroup, Store, Visit, Visitor};
use picklock_model::system::{Process, System};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use picklock_model::trace::{Observer, Step};
use picklock_model::world::{Action, Envelope, Workspace, World};
use picklock_properties::{ClientId, Event, HoldId, Monitors, Violation};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::collections::BTreeSet;
use std::fmt::{Debug, Display};

/// A store whose messages can be compared between the two executors.
trait Comparable: Store {
    /// Takes out of a message what only the plain cluster remembers.
    fn forget_hidden(_message: &mut Message<Self>) {}
}

/// A system over such a store: a lock, or whatever else engines run.
trait Walkable: System<Store: Comparable> {}
impl<L: System<Store: Comparable>> Walkable for L {}

/// A message as both executors can see it: times and numbers taken out.
fn words<L: Walkable>(envelope: &Envelope<L>) -> String {
    let Envelope { from, to, age, message } = envelope;
    format!("{from} to {to}, {age} ticks old: {:?}", blanked(message))
}

fn blanked<S: Comparable>(message: &Message<S>) -> Message<S> {
    let mut said = message.clone();
    said.visit(&mut Blank);
    S::forget_hidden(&mut said);
    said
}

/// Takes times and numbers out of a message.
struct Blank;

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
        *serial = 0;
    }
}

/// Tokens that are times differ between the executors, and so do the numbers of holds.
fn without_fence(event: &Event) -> Event {
    match *event {
        Event::Granted { client, .. } => Event::Granted { client, fence: None, hold: HoldId(0) },
        Event::ResourceRead { client, .. } => Event::ResourceRead { client, hold: HoldId(0) },
        Event::Accepted { client, .. } => Event::Accepted { client, fence: None, hold: None },
        Event::Rejected { client, .. } => Event::Rejected { client, fence: None, hold: None },
        event => event,
    }
}

/// What a step did, as both executors can see it.
fn seen<S: Comparable>(effects: &Effects<S>) -> (Vec<(Node, Message<S>)>, Vec<Event>) {
    let sends = effects.sends.iter().map(|(to, message)| (*to, blanked(message))).collect();
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
    remembered: u64,
}

impl Walked {
    /// Whether few steps were taken as a whole: what is remembered is held to what the world does wherever it matters.
    fn are_mostly_remembered(&self) -> bool {
        self.remembered * 4 > self.steps * 3
    }
}

/// Leads both executors along the path; `Err` says how they came where they part.
fn walk<L: Walkable>(
    space: &Space<L>,
    path: &[(u16, bool)],
    remembered: &mut Remembered<L>,
    walked: &mut Walked,
) -> Result<(), String> {
    // As a reader is shown it, every fourth: there is less in that to go wrong.
    let is_shown = path.len().is_multiple_of(4);
    let manners = [Some(Manner::Unabridged), is_shown.then_some(Manner::AsSearched)];
    for manner in manners.into_iter().flatten() {
        let mut taken = Vec::new();
        walk_along(space, manner, path, remembered, walked, &mut taken)
            .map_err(|difference| format!("{}\n{difference}", story(space, &taken)))?;
    }
    Ok(())
}

/// What happened on a walk, step by step. Told when it is over: of most walks nobody asks.
fn story<L: Walkable>(space: &Space<L>, taken: &[Action]) -> String {
    let Space { setup, bounds } = space;
    let mut world = space.walker_telling(Manner::Unabridged).world().clone();
    let mut workspace = Workspace::default();
    let mut steps = Vec::new();
    for (step, action) in taken.iter().enumerate() {
        steps.push(format!("step {step}, {action:?}: {:?}", world.happening(*action, bounds)));
        world.apply(*action, setup, bounds, &mut workspace);
    }
    steps.join("\n")
}

fn walk_along<L: Walkable>(
    space: &Space<L>,
    manner: Manner,
    path: &[(u16, bool)],
    remembered: &mut Remembered<L>,
    walked: &mut Walked,
    taken: &mut Vec<Action>,
) -> Result<(), String> {
    let Space { setup, bounds } = space;
    let mut walker = space.walker_telling(manner);
    let mut again = walker.world().clone();
    let mut workspace = Workspace::default();
    let mut actions = Vec::new();
    let mut packed = Vec::new();
    let mut dismissed: Vec<Envelope<L>> = Vec::new();
    for (number, delivers_dismissed) in path {
        again.actions(setup, bounds, &mut actions);
        if actions.is_empty() {
            break;
        }
        let number = usize::from(*number) % actions.len();
        let action = actions[number];
        taken.push(action);

        let mut told = Told::default();
        walker.step(number as u16, &mut told).map_err(|error| error.to_string())?;
        let known = remembered.step(&again, action);
        again.apply(action, setup, bounds, &mut workspace);

        // The canonical form of a world is its own, packed or not, and the same whenever it is reached by the same way.
        let world = walker.world();
        pack(world, &mut packed);
        if unpack::<World<L>>(&packed) != *world {
            return Err("the world does not come back from its bytes".to_owned());
        }
        if packed != postcard::to_stdvec(world).unwrap() {
            return Err("the world has other bytes as a postcard".to_owned());
        }
        if again != *world {
            return Err("the same step leads to two worlds".to_owned());
        }
        if let Some(known) = known {
            if known != packed {
                let known: World<L> = unpack(&known);
                return Err(format!("what is remembered leads to\n{known:?}\nand not to\n{world:?}"));
            }
            walked.remembered += 1;
        }
        again = unpack(&packed);

        if let Some(parting) = walker.telling().parting() {
            return Err(parting.to_string());
        }
        differs("what the step did", &seen(&workspace.effects), &seen(&told.effects))?;
        differs("what it broke", &again.broken, &told.broken)?;
        compare(space, &again, walker.telling())?;

        dismissed.extend(walker.telling().take_dismissed());
        let status = |envelope: &Envelope<L>| again.cluster.condition(envelope.to).status;
        dismissed.retain(|envelope| !matches!(status(envelope), Status::Down { .. }));
        if *delivers_dismissed {
            let is_paused = |envelope: &Envelope<L>| matches!(status(envelope), Status::Paused { .. });
            let (later, now) = dismissed.drain(..).partition(is_paused);
            dismissed = later;
            walked.dismissed += now.len() as u64;
            for envelope in now {
                let said = format!("{} to {}: {:?}", envelope.from, envelope.to, envelope.message);
                if !walker.telling().is_dismissed(envelope) {
                    return Err(format!("dismissed, and answered or remembered: {said}"));
                }
            }
        }

        walked.steps += 1;
        walked.grants +=
            workspace.effects.events.iter().filter(|event| matches!(event, Event::Granted { .. })).count()
                as u64;
        walked.ticks += u64::from(action == Action::Tick);
        walked.faults += u64::from(!action.is_fair());
        walked.broken += u64::from(again.broken.is_some());
    }
    Ok(())
}

/// Random walks of a world alone, beside what the search remembers of its steps.
fn remembers_what_the_world_does<L: Walkable>(space: &Space<L>) {
    let Space { setup, bounds } = space;
    let shared = std::cell::RefCell::new((0, Remembered::new(space)));
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&vec(any::<u16>(), 0..160), |path| {
        let (known, remembered) = &mut *shared.borrow_mut();
        let (mut world, mut actions) = (World::new(setup, bounds), Vec::new());
        for number in path {
            world.actions(setup, bounds, &mut actions);
            let Some(place) = usize::from(number).checked_rem(actions.len()) else { break };
            let stepped = remembered.step(&world, actions[place]);
            world.apply(actions[place], setup, bounds, &mut Workspace::default());
            if let Some(stepped) = stepped {
                prop_assert_eq!(&unpack::<World<L>>(&stepped), &world, "{:?}", actions[place]);
                *known += 1;
            }
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    let (known, _) = shared.into_inner();
    assert!(known > 100, "{known} steps are remembered");
}

/// What was told of one action.
struct Told<L: System> {
    effects: Effects<L::Store>,
    broken: Option<Violation>,
}

impl<L: System> Default for Told<L> {
    fn default() -> Self {
        Told { effects: Effects::default(), broken: None }
    }
}

impl<L: System> Observer<L> for Told<L> {
    fn observe(&mut self, step: &Step<L>) {
        self.effects.sends.extend(step.effects.sends.iter().cloned());
        self.effects.events.extend(&step.effects.events);
        self.broken = self.broken.or(step.violations.first().copied());
    }
}

/// Whether the two are the same to whoever must not know the date: clients, monitors, deadlines, messages.
fn compare<L: Walkable>(space: &Space<L>, world: &World<L>, telling: &Telling<L>) -> Result<(), String> {
    let Space { setup, bounds } = space;
    let (told, now) = (telling.world(), telling.now());
    let observed =
        [world.cluster.monitors.clone(), telling.observed()].map(|all| comparable::<L>(all.to_vec()));
    differs("what is observed", &observed[0], &observed[1])?;
    differs("which faults may still come", &world.budget, &told.budget)?;
    for client in 0..setup.workload.processes() {
        let standing = |cluster: &Cluster<L>| {
            let client = &cluster.clients[usize::from(client)];
            (client.line(), client.doing(), client.holds(), client.is_done())
        };
        let what = format_args!("what {} does", ClientId(client));
        differs(what, &standing(&world.cluster), &standing(&told.cluster))?;
    }
    for node in world.cluster.nodes() {
        let status = |cluster: &Cluster<L>| match cluster.condition(node).status {
            // Whether a client lost power matters to nobody, for it stays down.
            Status::Down { .. } => Status::Down { power_lost: true },
            status => status,
        };
        differs(format_args!("the status of {node}"), &status(&world.cluster), &status(&told.cluster))?;
        // The deadlines of who is down are in the past in the one and not in the other, and nobody asks.
        if let Status::Down { .. } = status(&world.cluster) {
            continue;
        }
        let due = |cluster: &Cluster<L>, now| {
            let clock = cluster.condition(node).clock;
            let is_due = |(due, wake)| (wake, bounds.latency_ticks.is_none() || clock.is_due(due, now));
            cluster.deadlines(node, setup).map(|deadline| deadline.map(is_due))
        };
        let what = format_args!("which deadlines of {node} are due");
        differs(what, &due(&world.cluster, Micros::ZERO), &due(&told.cluster, now))?;
    }
    // Message by message: the telling keeps them in the order of the world.
    let are_same = |(one, other): (&Envelope<L>, &Envelope<L>)| {
        (one.from, one.to, one.age) == (other.from, other.to, other.age)
            && blanked(&one.message) == blanked(&other.message)
    };
    if world.in_flight.len() == told.in_flight.len()
        && world.in_flight.iter().zip(&told.in_flight).all(are_same)
    {
        return Ok(());
    }
    let under_way = |world: &World<L>| -> Vec<String> { world.in_flight.iter().map(words).collect() };
    differs("what is under way", &under_way(world), &under_way(told))?;
    Err("messages under way differ that are told in the same words".to_owned())
}

/// Monitors as both executors can see them: holds are told apart by their order among their client's, for their numbers
/// differ, and tokens, which may be times, not at all.
fn comparable<L: Walkable>(mut all: Vec<Monitors>) -> Vec<Monitors> {
    let mut holds = BTreeSet::new();
    for monitors in &mut all {
        monitors.each_hold(&mut |client, hold| _ = holds.insert((client, *hold)));
        monitors.each_token(&mut |token| L::Store::visit_fence(token, &mut Blank));
    }
    for monitors in &mut all {
        monitors.each_hold(&mut |client, hold| {
            hold.0 = holds.range((client, HoldId(0))..(client, *hold)).count() as u32;
        });
    }
    all
}

fn differs<T: PartialEq + Debug>(what: impl Display, world: &T, plain: &T) -> Result<(), String> {
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
    let shared = std::cell::RefCell::new((&mut walked, Remembered::new(&space)));
    let result = TestRunner::new(config).run(&paths, |path| {
        let (walked, remembered) = &mut *shared.borrow_mut();
        walk(&space, &path, remembered, walked).map_err(TestCaseError::fail)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    assert!(is_interesting(&walked), "the walks saw too little: {walked:?}");
    // Where a clock stands still, most steps are taken as a whole; where somebody counts on then, all are.
    let bounds = &space.bounds;
    let clocks_err = bounds.freezes > 0 || bounds.clock_steps > 0 && bounds.clock_step_ticks < 0;
    let counts_on = bounds.latency_ticks.is_none() && L::has_one_stamp_group(&space.setup.lock, clocks_err);
    let is_remembered = space.setup.workload.locks <= 1 && !(clocks_err && counts_on);
    assert!(!is_remembered || walked.remembered > 0, "nothing is remembered: {walked:?}");
}
