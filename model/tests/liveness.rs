//! The search for fair lassos: what it must find, what it must not accuse, and that what it finds is one.
//!
//! Most of it on [`Maze`]: a lock whose machine is a graph given as a setting, so that a test draws the very loop that it
//! is about. The last test takes the lassos of the catalogue.

use picklock_model::claims::objects::MemoryQueue;
use picklock_model::claims::{Judgement, NamedSpace, Search, scenarios, unpack_setup};
use picklock_model::cluster::{Setup, Wake};
use picklock_model::explore::{Draws, Exploration, Goal, Lasso, Limits, Space, Verdict, check_liveness};
use picklock_model::locks::{
    CassandraLwt, CassandraQueue, CassandraServed, CassandraShadow, EtcdElection, EtcdLeaseKey, EtcdMutex,
    RedisReadersWriter, Redlock, ZookeeperLock,
};
use picklock_model::machine::{Answer, Call, Context, Effects, Line, Lock, Node, Store, Visit, Visitor};
use picklock_model::managed::Managed;
use picklock_model::system::{Process, System};
use picklock_model::time::{Due, Micros, Monotonic};
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_model::world::{Action, Bounds, Workspace, World};
use picklock_properties::ClientId;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The room in which the lock is granted.
const GRANTED: u8 = 0;

/// A lock that is a graph: a client that asks walks from room to room, by chance where there are several doors, until it
/// comes to the room in which it is granted the lock, or to one without doors.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Maze {
    room: Option<u8>,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Plan {
    /// Where each client begins.
    starts: Vec<u8>,
    /// Where the doors of each room lead.
    doors: Vec<Vec<u8>>,
}

impl Plan {
    fn doors(&self, room: u8) -> &[u8] {
        &self.doors[usize::from(room)]
    }
}

impl Lock for Maze {
    type Store = Nothing;
    type Settings = Plan;

    fn new(_me: u8, _plan: &Plan) -> Self {
        Maze { room: None }
    }

    fn on_call(&mut self, call: Call, cx: &Context<Plan>, _out: &mut Effects<Nothing>) {
        match call {
            Call::Acquire { .. } => self.room = Some(cx.settings.starts[usize::from(cx.me)]),
            Call::Write => unreachable!("no setup has this lock write inside its store"),
            Call::Release => unreachable!("who is granted the lock keeps it"),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Silence, _cx: &Context<Plan>, _out: &mut Effects<Nothing>) {
        unreachable!("nobody replies, not even {reply}")
    }

    fn on_deadline(&mut self, cx: &Context<Plan>, out: &mut Effects<Nothing>) {
        let Some(room) = self.room else { return };
        let next = cx.settings.doors(room)[cx.choice as usize];
        self.room = (next != GRANTED).then_some(next);
        if next == GRANTED {
            out.answer(Answer::Granted { fence: None });
        }
    }

    fn on_restart(&mut self, _cx: &Context<Plan>) {
        self.room = None;
    }

    fn deadline(&self, plan: &Plan) -> Option<Due> {
        let room = self.room?;
        (!plan.doors(room).is_empty()).then_some(Due::Monotonic(Monotonic(0)))
    }

    fn choices(&self, _reply: Option<&Silence>, plan: &Plan) -> u32 {
        self.room.map_or(1, |room| plan.doors(room).len() as u32)
    }

    fn visit<V: Visitor>(&mut self, _plan: &Plan, _visitor: &mut V) {}

    fn line(&self) -> Line {
        Line::NONE
    }

    fn doing(&self) -> &'static str {
        "walks"
    }

    fn lease(_plan: &Plan) -> Option<Micros> {
        None
    }
}

/// A store that is never asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Nothing;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Silence;

impl Visit for Silence {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}
}

impl Display for Silence {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("silence")
    }
}

impl Store for Nothing {
    type Settings = ();
    type Request = Silence;
    type Reply = Silence;
    type Peer = Silence;
    type Change = Silence;

    fn new(_me: u8, _servers: u8, _settings: &()) -> Self {
        Nothing
    }

    fn on_request(&mut self, _from: u8, _request: Silence, _cx: &Context<()>, _out: &mut Effects<Self>) {}

    fn on_peer(&mut self, _from: u8, _message: Silence, _cx: &Context<()>, _out: &mut Effects<Self>) {}

    fn on_deadline(&mut self, _cx: &Context<()>, _out: &mut Effects<Self>) {}

    fn on_restart(&mut self, _power_lost: bool, _cx: &Context<()>, _out: &mut Effects<Self>) {}

    fn deadline(&self, _settings: &()) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}

    fn contents(&self) -> Vec<String> {
        Vec::new()
    }
}

/// One client per start; room 0 is where the lock is granted.
fn maze(starts: &[u8], doors: &[&[u8]]) -> Space<Maze> {
    let doors = doors.iter().map(|doors| doors.to_vec()).collect();
    let workload = Workload {
        clients: starts.len() as u8,
        rounds: 1,
        retries: false,
        calls: Calls::Lock,
        access: AccessChoice::First,
        think: Micros::ZERO,
        hold: Micros::ZERO,
        releases: false,
        writes: Writes::None,
        resource_checks: false,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    };
    let lock = Plan { starts: starts.to_vec(), doors };
    let promises = [].into_iter().collect();
    Space { setup: Setup { lock, store: (), servers: 1, workload, promises }, bounds: Bounds::default() }
}

const A_STARVES: Goal = Goal::StarvationFreedom(ClientId(0));

/// The lasso on which the goal is missed, checked by walking it.
fn lasso<Y: System>(space: &Space<Y>, goal: Goal) -> Option<Lasso> {
    lasso_with(space, goal, Draws::Adversary)
}

/// The same, with an adversary who may or may not decide what is drawn.
fn lasso_with<Y: System>(space: &Space<Y>, goal: Goal, draws: Draws) -> Option<Lasso> {
    let (exploration, mut lassos) = check_liveness(space, &[goal], draws, &Limits::states(1_000_000));
    assert_eq!(exploration.verdict, Verdict::Verified, "the space is not exhausted");
    let lasso = lassos.pop().flatten();
    if let Some(lasso) = &lasso {
        check_lasso(space, goal, lasso);
    }
    lasso
}

/// Walks stem and loop: the goal is owed somewhere before the loop, served nowhere from there on, the loop is closed, and
/// it is fair.
fn check_lasso<Y: System>(space: &Space<Y>, goal: Goal, lasso: &Lasso) {
    let Lasso { stem, cycle, .. } = lasso;
    let mut walker = space.walker();
    let mut states = vec![goal.owed_and_served(space, walker.world())];
    for action in stem {
        walker.step(*action, &mut ()).unwrap();
        states.push(goal.owed_and_served(space, walker.world()));
    }
    let unserved_from = states.iter().rposition(|(_, served)| *served).map_or(0, |last| last + 1);
    assert!(states[unserved_from..].iter().any(|(owed, _)| *owed), "{goal:?} is not owed on {lasso:?}");

    let entry = walker.world().clone();
    let mut round = vec![(entry.clone(), None)];
    for action in cycle {
        let taken = name_of(walker.world(), space, *action);
        walker.step(*action, &mut ()).unwrap();
        assert!(
            !goal.owed_and_served(space, walker.world()).1,
            "{goal:?} is served in the loop of {lasso:?}"
        );
        round.push((walker.world().clone(), taken));
    }
    assert_eq!(*walker.world(), entry, "the loop of {lasso:?} does not lead back to its beginning");
    let possible: Vec<Vec<Name>> = round.iter().map(|(world, _)| debts(world, space)).collect();
    for debt in &possible[0] {
        let is_taken = round.iter().any(|(_, taken)| taken.as_ref() == Some(debt));
        let is_impossible = possible.iter().any(|names| !names.contains(debt));
        assert!(is_taken || is_impossible, "{debt:?} is put off for ever on {lasso:?}");
    }
    let passes = |name: &Name| *name == format!("{:?}", Action::Tick);
    let may_pass = possible.iter().flatten().any(passes);
    let has_passed = round.iter().filter_map(|(_, taken)| taken.as_ref()).any(passes);
    assert!(
        space.bounds.latency_ticks.is_none() || !may_pass || has_passed,
        "time stands still on {lasso:?}, though it may pass"
    );
}

/// What is owed, told apart by content: whose deadline, which message.
type Name = String;

/// The name of the action if it is owed and changes the world.
fn name_of<Y: System>(world: &World<Y>, space: &Space<Y>, number: u16) -> Option<Name> {
    let Space { setup, bounds } = space;
    let mut actions = Vec::new();
    world.actions(setup, bounds, &mut actions);
    let action = actions[usize::from(number)];
    let mut next = world.clone();
    next.apply(action, setup, bounds, &mut Workspace::default());
    let client = |node| match node {
        Node::Client(client) => Some(&world.cluster.clients[usize::from(client)]),
        Node::Server(_) | Node::Resource => None,
    };
    // A new request is nobody's debt where time may pass without it.
    let is_up_to_it = match action {
        Action::Wake { node, wake: Wake::App, .. } => {
            (bounds.latency_ticks.is_none() || bounds.unhurried)
                && client(node).is_some_and(|client| client.may_stop_asking(&setup.workload))
        }
        _ => false,
    };
    (action.is_fair() && !is_up_to_it && next != *world).then(|| match action {
        Action::Deliver { position, .. } => {
            let envelope = &world.in_flight[usize::from(position)];
            let mut message = envelope.message.clone();
            message.visit(&mut Blank);
            format!("{} {} {message:?}", envelope.from, envelope.to)
        }
        Action::Wake { node, wake, .. } => format!("{node} {wake:?}"),
        other => format!("{other:?}"),
    })
}

fn debts<Y: System>(world: &World<Y>, space: &Space<Y>) -> Vec<Name> {
    let mut actions = Vec::new();
    world.actions(&space.setup, &space.bounds, &mut actions);
    (0..actions.len() as u16).filter_map(|number| name_of(world, space, number)).collect()
}

/// Takes times and numbers out of a message.
struct Blank;

impl Visitor for Blank {
    fn stamp(&mut self, _group: picklock_model::machine::StampGroup, at: &mut picklock_model::time::Wall) {
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

    fn serial(&mut self, _owner: picklock_model::machine::Owner, serial: &mut u32) {
        *serial = 0;
    }
}

#[test]
fn a_way_to_the_grant_without_fork_is_taken_in_the_end() {
    let space = maze(&[1], &[&[], &[2], &[3], &[GRANTED]]);
    assert_eq!(lasso(&space, A_STARVES), None);
    assert_eq!(lasso(&space, Goal::DeadlockFreedom), None);
    assert_eq!(lasso(&space, Goal::SomebodyIsGranted), None);
}

#[test]
fn who_stands_in_a_room_without_doors_starves() {
    let space = maze(&[1], &[&[], &[2], &[]]);
    let found = lasso(&space, A_STARVES).unwrap();
    // Asks, and goes through the only door.
    assert_eq!((found.stem.len(), found.cycle.len(), found.owed_actions), (2, 0, 0));
}

#[test]
fn who_walks_in_a_circle_starves() {
    let space = maze(&[1], &[&[], &[2], &[3], &[2]]);
    let found = lasso(&space, A_STARVES).unwrap();
    assert_eq!((found.stem.len(), found.cycle.len(), found.owed_actions), (2, 2, 1));
}

#[test]
fn who_may_always_miss_the_right_door_starves() {
    // Room 2 has a door to the grant, but which door is taken is chance, and no schedule owes a choice.
    let space = maze(&[1], &[&[], &[2], &[1, GRANTED]]);
    assert!(lasso(&space, A_STARVES).is_some());
}

/// Weak fairness owes what could change something; a step that leads back to where it began changes nothing, and taking it
/// for ever is as good as standing still.
#[test]
fn who_turns_round_on_the_spot_starves() {
    let space = maze(&[1], &[&[], &[1]]);
    let found =
        lasso(&space, A_STARVES).expect("a client that takes the same step for ever is not granted the lock");
    assert_eq!(found.stem.len(), 1);
}

#[test]
fn who_turns_round_on_the_spot_beside_one_who_walks_in_a_circle_starves() {
    let space = maze(&[1, 2], &[&[], &[1], &[3], &[2]]);
    assert!(lasso(&space, A_STARVES).is_some(), "B walks, A turns round, and nobody is unfair to A");
}

#[test]
fn a_violation_behind_a_join_is_found() {
    // Two ways lead to room 4; a search that judges paths by their first visit sees only one of them through.
    let space = maze(&[1], &[&[], &[2, 3], &[4], &[4], &[5], &[4]]);
    assert!(lasso(&space, A_STARVES).is_some());
    let space = maze(&[1], &[&[], &[2, 3], &[4], &[4], &[]]);
    assert!(lasso(&space, A_STARVES).is_some());
}

#[test]
fn a_circle_of_others_is_no_excuse_to_put_off_a_client_for_ever() {
    // B walks in a circle; A is one step before the grant, and its step is possible all the time.
    let space = maze(&[1, 2], &[&[], &[GRANTED], &[3], &[2]]);
    assert_eq!(lasso(&space, A_STARVES), None);
    assert!(lasso(&space, Goal::StarvationFreedom(ClientId(1))).is_some());
    assert_eq!(lasso(&space, Goal::DeadlockFreedom), None);
}

#[test]
fn a_grant_before_the_call_of_another_is_no_grant_to_it() {
    let space = maze(&[1, 2], &[&[], &[GRANTED], &[]]);
    let found = lasso(&space, Goal::StarvationFreedom(ClientId(1))).unwrap();
    assert!(found.cycle.is_empty());
    assert_eq!(lasso(&space, A_STARVES), None);
}

#[test]
fn several_goals_are_judged_in_one_search() {
    let space = maze(&[1, 2], &[&[], &[GRANTED], &[3], &[2]]);
    let goals = [A_STARVES, Goal::StarvationFreedom(ClientId(1)), Goal::DeadlockFreedom];
    let (_, together) = check_liveness(&space, &goals, Draws::Adversary, &Limits::states(1000));
    assert_eq!(together, goals.map(|goal| lasso(&space, goal)));
}

#[test]
fn dice_find_the_right_door_in_the_end() {
    let space = maze(&[1], &[&[], &[2], &[1, GRANTED]]);
    assert!(lasso_with(&space, A_STARVES, Draws::Adversary).is_some());
    assert_eq!(lasso_with(&space, A_STARVES, Draws::Dice), None);
}

#[test]
fn dice_do_not_help_where_no_door_leads_to_the_grant() {
    let space = maze(&[1], &[&[], &[2, 3], &[1], &[1, 2]]);
    assert!(lasso_with(&space, A_STARVES, Draws::Dice).is_some());
    // From room 1 the grant can be missed for good, and with some probability is.
    let space = maze(&[1], &[&[], &[GRANTED, 2], &[3], &[2]]);
    assert!(lasso_with(&space, A_STARVES, Draws::Dice).is_some());
}

#[test]
fn an_adversary_who_never_lets_the_dice_be_rolled_is_unfair() {
    // B goes round for ever; A's roll is owed all the time.
    let space = maze(&[1, 3], &[&[], &[2, GRANTED], &[1], &[4], &[3]]);
    assert_eq!(lasso_with(&space, A_STARVES, Draws::Dice), None);
    assert!(lasso_with(&space, Goal::StarvationFreedom(ClientId(1)), Draws::Dice).is_some());
}

#[test]
fn an_incomplete_search_judges_nothing() {
    let space = maze(&[1], &[&[], &[2], &[3], &[2]]);
    let (Exploration { verdict, .. }, lassos) =
        check_liveness(&space, &[A_STARVES], Draws::Adversary, &Limits::states(2));
    assert!(matches!(verdict, Verdict::Incomplete { .. }), "{verdict:?}");
    assert_eq!(lassos, [None]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/liveness.proptest-regressions"
        )))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn in_any_maze_the_verdict_is_that_of_the_definition(space in mazes(false)) {
        for goal in [A_STARVES, Goal::StarvationFreedom(ClientId(1)), Goal::DeadlockFreedom] {
            prop_assert_eq!(lasso(&space, goal).is_some(), by_definition(&space, goal), "{:?}", goal);
        }
    }

    /// Who walks alone and rolls dice is granted for sure iff the grant can be reached from wherever it can come to.
    #[test]
    fn with_dice_a_lonely_walker_starves_iff_it_can_come_where_no_way_leads_to_the_grant(
        space in lonely_mazes()
    ) {
        let Plan { starts, doors } = &space.setup.lock;
        let reach = |from: u8| {
            let mut reached = vec![from];
            let mut next = 0;
            while next < reached.len() {
                for door in &doors[usize::from(reached[next])] {
                    if !reached.contains(door) {
                        reached.push(*door);
                    }
                }
                next += 1;
            }
            reached
        };
        // The walk ends where it is granted.
        let comes_by = {
            let mut rooms = vec![starts[0]];
            let mut next = 0;
            while next < rooms.len() {
                if rooms[next] != GRANTED {
                    for door in &doors[usize::from(rooms[next])] {
                        if !rooms.contains(door) {
                            rooms.push(*door);
                        }
                    }
                }
                next += 1;
            }
            rooms
        };
        let starves = comes_by.iter().any(|room| !reach(*room).contains(&GRANTED));
        prop_assert_eq!(lasso_with(&space, A_STARVES, Draws::Dice).is_some(), starves);
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn in_any_maze_with_doors_that_lead_back_into_their_room_likewise(space in mazes(true)) {
        for goal in [A_STARVES, Goal::StarvationFreedom(ClientId(1)), Goal::DeadlockFreedom] {
            prop_assert_eq!(lasso(&space, goal).is_some(), by_definition(&space, goal), "{:?}", goal);
        }
    }
}

/// Mazes for two, of up to seven rooms with up to three doors each.
fn mazes(may_lead_back: bool) -> impl Strategy<Value = Space<Maze>> {
    let doors = vec(vec(any::<u8>(), 0..=3), 2..=7);
    (doors, any::<u8>(), any::<u8>()).prop_map(move |(mut doors, first, second)| {
        let rooms = doors.len() as u8;
        for (room, doors) in (0..).zip(&mut doors) {
            doors.iter_mut().for_each(|door| *door %= rooms);
            doors.retain(|door| may_lead_back || *door != room);
        }
        let doors: Vec<&[u8]> = doors.iter().map(Vec::as_slice).collect();
        maze(&[1 + first % (rooms - 1), 1 + second % (rooms - 1)], &doors)
    })
}

/// Mazes for one.
fn lonely_mazes() -> impl Strategy<Value = Space<Maze>> {
    mazes(true).prop_map(|mut space| {
        space.setup.workload.clients = 1;
        space.setup.lock.starts.truncate(1);
        space
    })
}

/// The definition, word by word, on all worlds: is there a set of worlds that can be gone round for ever without serving
/// the goal, reached from one in which it is owed without being served, in which each debt is impossible somewhere or paid?
fn by_definition(space: &Space<Maze>, goal: Goal) -> bool {
    let Space { setup, bounds } = space;
    let mut worlds = vec![World::new(setup, bounds)];
    let mut edges: Vec<(usize, usize, (Node, Wake))> = Vec::new();
    let (mut next, mut actions) = (0, Vec::new());
    while next < worlds.len() {
        worlds[next].actions(setup, bounds, &mut actions);
        for action in &actions {
            let Action::Wake { node, wake, .. } = *action else {
                unreachable!("nothing else happens in a maze")
            };
            let mut world = worlds[next].clone();
            world.apply(*action, setup, bounds, &mut Workspace::default());
            let to = worlds.iter().position(|known| *known == world).unwrap_or_else(|| {
                worlds.push(world);
                worlds.len() - 1
            });
            // A step that changes nothing is none.
            if to != next {
                edges.push((next, to, (node, wake)));
            }
        }
        next += 1;
    }
    let (owed, served): (Vec<bool>, Vec<bool>) =
        worlds.iter().map(|world| goal.owed_and_served(space, world)).unzip();
    // Which worlds each world leads to without serving the goal, itself included.
    let leads_to: Vec<Vec<bool>> = (0..worlds.len())
        .map(|from| {
            let mut reached = vec![false; worlds.len()];
            let mut open = if served[from] { vec![] } else { vec![from] };
            while let Some(at) = open.pop() {
                if !std::mem::replace(&mut reached[at], true) {
                    let ways = edges.iter().filter(|(from, to, _)| *from == at && !served[*to]);
                    open.extend(ways.map(|(_, to, _)| *to));
                }
            }
            reached
        })
        .collect();
    (0..worlds.len()).any(|entry| {
        let is_owed = (0..worlds.len()).any(|from| owed[from] && leads_to[from][entry]);
        let round: Vec<usize> =
            (0..worlds.len()).filter(|at| leads_to[entry][*at] && leads_to[*at][entry]).collect();
        let is_possible =
            |at: usize, name| edges.iter().any(|(from, _, other)| *from == at && *other == name);
        let is_fair = edges.iter().filter(|(from, _, _)| round.contains(from)).all(|(_, _, name)| {
            let is_impossible = round.iter().any(|at| !is_possible(*at, *name));
            let is_paid = edges
                .iter()
                .any(|(from, to, other)| other == name && round.contains(from) && round.contains(to));
            is_impossible || is_paid
        });
        is_owed && !round.is_empty() && is_fair
    })
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_lassos_of_the_catalogue_are_lassos() {
    let mut found = 0;
    for row in scenarios() {
        let Search::Space { space, judgement: Judgement::Progress { goals, draws } } = row.search else {
            continue;
        };
        for goal in goals {
            let is_lasso = match space.lock {
                "cassandra-queue" => has_lasso::<CassandraQueue>(&space, goal, draws),
                "cassandra-shadow" => has_lasso::<CassandraShadow>(&space, goal, draws),
                "cassandra-lwt" => has_lasso::<CassandraLwt>(&space, goal, draws),
                "cassandra-timed" | "cassandra-kept" => has_lasso::<CassandraServed>(&space, goal, draws),
                "redis-readers-writer" => has_lasso::<RedisReadersWriter>(&space, goal, draws),
                "naive-queue-waiting" => has_lasso::<MemoryQueue>(&space, goal, draws),
                "redlock" => has_lasso::<Redlock>(&space, goal, draws),
                "zookeeper-lock" => has_lasso::<ZookeeperLock>(&space, goal, draws),
                "etcd-mutex" => has_lasso::<EtcdMutex>(&space, goal, draws),
                "etcd-election" => has_lasso::<EtcdElection>(&space, goal, draws),
                "etcd-lease-key" => has_lasso::<EtcdLeaseKey>(&space, goal, draws),
                "dlm-readers-writer" | "dlm-upgrade" | "dlm-two" => has_lasso::<Managed>(&space, goal, draws),
                other => panic!("of which machine {other} is, is not known here"),
            };
            assert!(is_lasso, "{}: {goal:?} is kept", row.id);
            found += 1;
        }
    }
    assert!(found >= 12, "only {found} rows of the catalogue are judged by loops");
}

fn has_lasso<Y: System>(named: &NamedSpace, goal: Goal, draws: Draws) -> bool {
    let setup = unpack_setup::<Y>(&named.setup).unwrap();
    lasso_with(&Space { setup, bounds: named.bounds.clone() }, goal, draws).is_some()
}

/// A waiter that polls a server beside it is back where it was within one step: the loop is a single world.
#[test]
fn a_crashed_holder_blocks_the_lock_even_if_polling_takes_no_time() {
    let row = scenarios().into_iter().find(|row| row.id == "C8").unwrap();
    let Search::Space { space: named, .. } = row.search else { unreachable!("C8 is searched exhaustively") };
    let mut space =
        Space { setup: unpack_setup::<CassandraQueue>(&named.setup).unwrap(), bounds: named.bounds };
    space.setup.lock.poll_interval = Micros::seconds(1);
    assert!(lasso(&space, Goal::DeadlockFreedom).is_some(), "over a network");
    space.bounds.colocated = true;
    assert!(lasso(&space, Goal::DeadlockFreedom).is_some(), "side by side");
}
