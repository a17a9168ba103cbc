//! The four surprises ("WTF") of the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, one section each, and what else
//! is true of the ZooKeeper recipe, beside its rows of the catalogue. Whom a release wakes (row Z8) is counted in
//! `sim/src/measures/herd.rs`.

mod servers;

use crate::evidence::{breaks, check, evidence, lock, replay};
use crate::scenarios::is_golden;
use picklock_model::claims::{Judgement, NamedSpace, Scenario, Search, scenarios, zookeeper as spaces};
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::ZookeeperLock;
use picklock_model::locks::zookeeper_lock::{Parent, Settings};
use picklock_model::locks::zookeeper_paths::{parent_path, place_path, work_path};
use picklock_model::machine::{Line, Node};
use picklock_model::stores::zookeeper::session::Notice;
use picklock_model::stores::zookeeper::{
    self as store, Acknowledgements, Applied, Counter, CreateMode, Error, Guid, Operation, Outcome, Path,
    Suffix, Write,
};
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload};
use picklock_properties::{LockId, Promise, PromiseSet};
use picklock_sim::plans::plan::{Fault, Plan, Planned, Side, Target, Trigger, When};
use picklock_sim::registry::{CheckVerdict, Checked, Replay};
use picklock_sim::report::TextOptions;
use picklock_sim::sweep::PlannedRun;
use picklock_sim::token::Token;
use servers::{Fate, Servers};

const LOCK: &str = "zookeeper-lock";
const PARENT: Path = parent_path(LockId(0));
const WORK: Path = work_path(LockId(0));

/// WTF #1: "выворачиваем код на изнанку". The loss of a connection is an event of its own, it leaves the outcome of what was
/// asked open, and it is not the end of the session.
mod a_connection_lost {
    use super::*;

    const OWN: Path = place_path(LockId(0), Some(Guid { client: 0, serial: 99 }));

    #[test]
    fn leaves_open_whether_a_create_was_done_and_costs_no_session() {
        let to_the_client = |_: Node, to: Node| fate_if(to == Node::Client(0), Fate::Lost);
        let to_the_server = |_: Node, to: Node| fate_if(to == Node::Server(0), Fate::Lost);
        let (mut done, session) = cut_while_creating(to_the_client);
        let (mut not_done, _) = cut_while_creating(to_the_server);
        // CONNECTIONLOSS, and a connection again: the same in both cases.
        let told = vec![Notice::Disconnected, Notice::Connected];
        assert_eq!((done.told(0), not_done.told(0)), (told.clone(), told));
        assert_eq!(done.session(0), session);
        assert_eq!(done.ephemerals(0, 0).len(), 1, "the znode is there");
        assert_eq!(not_done.ephemerals(0, 0), []);
        // The guid tells them apart: "зная его и запросив детей, мы можем легко определить".
        assert_eq!((finds_its_guid(&mut done), finds_its_guid(&mut not_done)), (true, false));
    }

    fn cut_while_creating(fate: impl Fn(Node, Node) -> Fate) -> (Servers, store::SessionId) {
        let mut all = Servers::connected(1, 1, store::Settings::default());
        let session = all.session(0);
        all.ask(0, create(OWN, CreateMode::EphemeralSequential));
        all.deliver(fate);
        assert_eq!(all.told(0), [], "nothing tells the client but the silence");
        // Four seconds of silence end the connection; the next one comes a second later.
        all.pass(Micros::millis(5500));
        (all, session)
    }

    fn finds_its_guid(all: &mut Servers) -> bool {
        match all.does(0, Operation::GetChildren { path: PARENT, watch: false }) {
            Some(Outcome::Children(children)) => children.iter().any(|child| child.guid() == OWN.guid()),
            outcome => panic!("no children are listed: {outcome:?}"),
        }
    }

    #[test]
    fn while_creating_is_mended_by_a_look_for_the_own_guid() {
        let replies = Fault::LoseNext { from: Side::Servers, to: Side::Clients, count: 1 };
        let second_create = When::Trigger {
            client: Some(0),
            event: Trigger::Line(Line { listing: 0, number: 1 }),
            nth: 2,
            delay: Micros::ZERO,
        };
        let run = planned(
            setup(1, 1, |workload| workload.rounds = 2),
            vec![Planned { when: second_create, fault: replies }],
        );
        assert_eq!((reported(&run, "granted A"), reported(&run, "released A")), (2, 2));
        assert_eq!((reported(&run, "lost"), reported(&run, "record-gone")), (0, 0), "its session lives");
        let asks_to_create = |words: &String| words.starts_with("create ");
        let creates = run
            .events
            .iter()
            .filter(|step| step.what == "delivered" && step.message.as_ref().is_some_and(asks_to_create));
        assert_eq!(creates.count(), 2, "one for each round: none was repeated");
        is_golden("zookeeper-reply-lost", &run.text);
    }
}

/// WTF #2: "сервер главный". The server says when a session is over, and the client learns it last.
mod the_server_decides {
    use super::*;

    #[test]
    fn a_paused_holder_is_expired_before_it_knows() {
        let row = row("Z3");
        let run = counterexample(&row);
        let [violation] = run.violations[..] else { panic!("one promise is broken: {:?}", run.violations) };
        let holder = violation.other;
        assert_eq!(reported(&run, &format!("record-gone {holder}")), 1, "{}", run.text);
        assert_eq!(reported(&run, &format!("lost {holder}")), 0, "{}", run.text);
    }

    #[test]
    fn a_paused_holder_learns_after_another_was_granted_the_lock() {
        for servers in [1, 3] {
            let pause = Fault::Pause { node: Target::Struck, length: Micros::seconds(10) };
            let setup = setup(2, servers, |workload| workload.hold = Micros::seconds(15));
            let run = planned(setup, vec![granted_first(pause)]);
            let gone = step_of(&run, "record-gone", 1);
            let second_grant = step_of(&run, "granted", 2);
            let lost = step_of(&run, "lost", 1);
            assert!(gone < second_grant && second_grant < lost, "{}", run.text);
            if servers == 1 {
                is_golden("zookeeper-paused-holder", &run.text);
            }
        }
    }

    /// "сервер не посылает SESSIONEXPIRED, так как относительно сервера время на время отключения было остановлено".
    #[test]
    fn a_full_restart_expires_nobody_however_long_it_takes() {
        for (servers, seconds) in [(1, 20), (3, 20), (3, 600)] {
            let run = planned(holding(servers, seconds), all_down(servers, seconds));
            assert_eq!(reported(&run, "record-gone"), 0, "{servers} servers\n{}", run.text);
            assert_eq!((reported(&run, "lost"), reported(&run, "granted")), (0, 2), "{servers} servers");
            assert_eq!(run.violations, [], "{servers} servers");
        }
        let mut alone = holding(1, 10);
        alone.workload.clients = 1;
        is_golden("zookeeper-full-restart", &planned(alone, all_down(1, 10)).text);
    }

    /// The same silence between clients and servers, while the servers' time goes on.
    #[test]
    fn a_cut_of_the_same_length_expires_the_holder() {
        let cut = Fault::Cut {
            from: Side::Clients,
            to: Side::Servers,
            both_ways: true,
            length: Micros::seconds(20),
        };
        let run = planned(holding(3, 20), vec![granted_first(cut)]);
        assert!(step_of(&run, "record-gone", 1) < step_of(&run, "lost", 1), "{}", run.text);
    }

    /// Two clients of which the first holds for longer than the servers are away.
    fn holding(servers: u8, seconds: i64) -> Setup<ZookeeperLock> {
        setup(2, servers, |workload| workload.hold = Micros::seconds(seconds + 4))
    }

    fn all_down(servers: u8, seconds: i64) -> Vec<Planned> {
        let restart_after = Some(Micros::seconds(seconds));
        let down = |server| Fault::PowerLoss { node: Target::Server(server), restart_after };
        (0..servers).map(|server| granted_first(down(server))).collect()
    }

    /// Strikes half a second after the first grant.
    fn granted_first(fault: Fault) -> Planned {
        let when =
            When::Trigger { client: None, event: Trigger::Granted, nth: 1, delay: Micros::millis(500) };
        Planned { when, fault }
    }
}

/// WTF #3: "переполняется int".
mod the_counter_overflows {
    use super::*;

    #[test]
    fn and_goes_on_below_zero_up_to_3_5_and_stands_still_since() {
        for (sequence, after) in [(Counter::Wraps, i32::MIN), (Counter::Sticks, i32::MAX)] {
            let mut all = at_the_end(sequence);
            assert_eq!([enqueued(&mut all, 1), enqueued(&mut all, 2)], [i32::MAX, after], "{sequence:?}");
        }
    }

    #[test]
    fn and_without_a_guid_a_counter_that_stands_still_has_no_name_for_the_next_one() {
        let mut all = at_the_end(Counter::Sticks);
        let nameless = place_path(LockId(0), None);
        let mut enqueue = || all.does(0, create(nameless, CreateMode::EphemeralSequential));
        assert!(matches!(enqueue(), Some(Outcome::Applied(Applied::Created { .. }))));
        assert_eq!(enqueue(), Some(Outcome::Failed(Error::NodeExists)));
    }

    /// "znode можно удалить только когда у него нет детей": whoever could be overtaken keeps the counter as it is.
    #[test]
    fn and_begins_anew_with_a_parent_that_can_be_deleted_only_while_nobody_queues() {
        let mut all = at_the_end(Counter::Wraps);
        let place = numbered(1, enqueued(&mut all, 1));
        assert_eq!(all.does(0, delete(PARENT)), Some(Outcome::Failed(Error::NotEmpty)));
        assert_eq!(all.does(0, delete(place)), Some(Outcome::Applied(Applied::Done)));
        assert_eq!(all.does(0, delete(PARENT)), Some(Outcome::Applied(Applied::Done)));
        all.does(0, create(PARENT, CreateMode::Persistent));
        assert_eq!(enqueued(&mut all, 2), 0);
    }

    #[test]
    fn and_breaks_mutual_exclusion_either_way_unless_an_empty_parent_is_created_anew() {
        for sequence in [Counter::Wraps, Counter::Sticks] {
            let space = |parent| {
                let mut space = spaces::zookeeper_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
                space.setup.store.sequence = sequence;
                space.setup.store.first_sequence = i32::MAX;
                space.setup.lock.parent = parent;
                space
            };
            broken(&space(Parent::Kept));
            kept(&space(Parent::RecreatedWhenEmpty));
        }
    }

    #[test]
    fn and_the_newcomer_with_the_negative_number_is_first() {
        let mut setup = setup(2, 1, |_| {});
        setup.store.sequence = Counter::Wraps;
        setup.store.first_sequence = i32::MAX;
        // B comes when A holds.
        let late = Fault::SlowLink {
            from: Side::Nodes([Target::Client(1)].into_iter().collect()),
            to: Side::Servers,
            extra: Micros::millis(200),
            length: Micros::seconds(1),
        };
        let run = planned(setup, vec![Planned { when: When::At(Micros::ZERO), fault: late }]);
        assert!(breaks(&run, Promise::MutualExclusion), "{}", run.text);
        is_golden("zookeeper-wrapped-counter", &run.text);
    }

    fn at_the_end(sequence: Counter) -> Servers {
        Servers::connected(
            1,
            1,
            store::Settings { sequence, first_sequence: i32::MAX, ..store::Settings::default() },
        )
    }

    /// The number that the server appends.
    fn enqueued(all: &mut Servers, serial: u32) -> i32 {
        let path = place_path(LockId(0), Some(Guid { client: 0, serial }));
        match all.does(0, create(path, CreateMode::EphemeralSequential)) {
            Some(Outcome::Applied(Applied::Created { path, .. })) => match path.suffix() {
                Some(Suffix::Number(number)) => number,
                suffix => panic!("{suffix:?} is no number"),
            },
            outcome => panic!("nothing was created: {outcome:?}"),
        }
    }

    fn numbered(serial: u32, number: i32) -> Path {
        let guid = Some(Guid { client: 0, serial });
        place_path(LockId(0), guid).with_suffix(Some(Suffix::Number(number)))
    }
}

/// WTF #4: "quorum write, но не read".
mod a_follower_lags {
    use super::*;

    /// Row Z9. A has written and tells B, and not through ZooKeeper; B's server has not heard of it.
    #[test]
    fn and_a_fact_learned_elsewhere_is_read_too_early_unless_a_sync_comes_first() {
        let mut all = lagging();
        all.remark("A calls B: it is written. B reads:");
        assert_eq!(read(&mut all, 1), 0, "the past");
        all.remark("B asks its server to catch up, and reads:");
        all.ask(1, Operation::Sync);
        all.deliver(|_, _| Fate::Arrives);
        assert_eq!(all.outcome(1), None, "its server knows how much it lacks");
        all.let_go();
        all.deliver(|_, _| Fate::Arrives);
        assert_eq!(all.outcome(1), Some(Outcome::Synced));
        assert_eq!(read(&mut all, 1), 1);
        is_golden("z9", &all.story);
    }

    /// "ZooKeeper поддерживает read your writes consistency": the answer to a write waits until the server has it.
    #[test]
    fn and_whoever_writes_reads_its_own_write_and_all_before_it() {
        let mut all = lagging();
        assert_eq!(all.does(1, set(2)), None, "A's write is under way, and B's cannot come before it");
        all.let_go();
        all.deliver(|_, _| Fate::Arrives);
        assert!(matches!(all.outcome(1), Some(Outcome::Applied(Applied::Set { stat })) if stat.version == 2));
        assert_eq!(read(&mut all, 1), 2);
    }

    /// What surprises: the own create bounds what a client can miss, and its own view is all that the recipe needs. Three
    /// clients (`picklock check zookeeper-lock --clients 3 --servers 2`) come to the same, and take too long for a test.
    #[test]
    fn and_the_recipe_does_not_mind() {
        for calls in [Calls::Lock, Calls::TryLock] {
            let space = |servers| {
                let space = spaces::zookeeper_lock(2, servers, calls, &[Promise::MutualExclusion]);
                assert!(servers == 1 || space.setup.store.acknowledgements == Acknowledgements::Assumed);
                space
            };
            let (alone, lagging) = (kept(&space(1)), kept(&space(2)));
            assert!(lagging.exploration.states > 2 * alone.exploration.states, "the follower does lag");
        }
    }

    /// A has written on the first server, and the second one, to which B is connected, has not heard of it.
    fn lagging() -> Servers {
        let settings =
            store::Settings { acknowledgements: Acknowledgements::Assumed, ..store::Settings::default() };
        let mut all = Servers::connected(2, 2, settings);
        all.ask(0, set(1));
        all.deliver(|from, to| fate_if((from, to) == (Node::Server(0), Node::Server(1)), Fate::Waits));
        assert!(
            matches!(all.outcome(0), Some(Outcome::Applied(Applied::Set { .. }))),
            "A knows it is written"
        );
        all
    }

    fn read(all: &mut Servers, client: u8) -> u32 {
        match all.does(client, Operation::GetData { path: WORK, watch: false }) {
            Some(Outcome::Data { data, .. }) => data,
            outcome => panic!("nothing was read: {outcome:?}"),
        }
    }

    fn set(data: u32) -> Operation {
        Operation::Write(Write::SetData { path: WORK, data, version: None })
    }
}

fn fate_if(is_struck: bool, fate: Fate) -> Fate {
    if is_struck { fate } else { Fate::Arrives }
}

fn create(path: Path, mode: CreateMode) -> Operation {
    Operation::Write(Write::Create { path, mode, data: 0 })
}

fn delete(path: Path) -> Operation {
    Operation::Write(Write::Delete { path, version: None })
}

/// Clients that each take the lock as written, once unless changed, for a second unless changed.
fn setup(clients: u8, servers: u8, change: impl FnOnce(&mut Workload)) -> Setup<ZookeeperLock> {
    let mut workload = Workload {
        clients,
        rounds: 1,
        retries: false,
        calls: Calls::Lock,
        access: AccessChoice::First,
        think: Micros::millis(100),
        hold: Micros::seconds(1),
        releases: true,
        writes: picklock_model::workload::Writes::None,
        resource_checks: false,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    };
    change(&mut workload);
    let election = (servers > 1).then_some(spaces::ELECTION);
    Setup {
        lock: Settings::as_written(),
        store: store::Settings { election, ..store::Settings::default() },
        servers,
        workload,
        promises: PromiseSet::from_iter([Promise::MutualExclusion]),
    }
}

/// The run of a plan written by hand, with seed 1.
fn planned(setup: Setup<ZookeeperLock>, faults: Vec<Planned>) -> Replay {
    let plan = Plan { faults, heal_at: Micros::seconds(3600), ..Plan::default() };
    let setup = picklock_model::claims::pack_setup(&setup);
    let token = lock(LOCK).token(&setup, &PlannedRun { plan, seed: 1 }, None);
    trace(&token.expect("the run can be told by names"))
}

fn trace(token: &Token) -> Replay {
    replay(token, &TextOptions { width: 120, ..TextOptions::default() })
}

/// How often something was reported to the monitors.
fn reported(run: &Replay, what: &str) -> usize {
    run.events.iter().flat_map(|step| &step.reported).filter(|reported| reported.starts_with(what)).count()
}

/// In which step it was reported for the `nth` time, from 1.
fn step_of(run: &Replay, what: &str, nth: usize) -> u64 {
    let mut steps = run.events.iter().filter(|step| step.reported.iter().any(|word| word.starts_with(what)));
    match steps.nth(nth - 1) {
        Some(step) => step.step,
        None => panic!("{what} is not reported {nth} times\n{}", run.text),
    }
}

fn row(id: &str) -> Scenario {
    match scenarios().into_iter().find(|row| row.id == id) {
        Some(row) => row,
        None => panic!("the catalogue has no row {id}"),
    }
}

/// The shortest run that breaks the row's promise.
fn counterexample(row: &Scenario) -> Replay {
    let Search::Space { space, judgement } = &row.search else {
        panic!("{} is not searched in a space", row.id)
    };
    match check(space, judgement).counterexample {
        Some(found) if found.promise == row.breaks => trace(&found.token),
        found => panic!("{}: {} is not broken, but {found:?}", row.id, row.breaks),
    }
}

fn broken(space: &Space<ZookeeperLock>) {
    let Checked { verdict, exploration, .. } = search(space);
    assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.setup);
}

fn kept(space: &Space<ZookeeperLock>) -> Checked {
    let checked = search(space);
    if let Some(found) = &checked.counterexample {
        panic!("{:?}\n{}", space.setup, evidence(found.promise, &found.token));
    }
    assert_eq!(checked.verdict, CheckVerdict::Holds, "{:?}", checked.exploration);
    assert!(checked.exploration.coverage.granted > 0, "{:?}", checked.exploration);
    checked
}

fn search(space: &Space<ZookeeperLock>) -> Checked {
    check(&NamedSpace::new(LOCK, space), &Judgement::Safety)
}

/// What two nodes say to each other is said over one TCP connection: of servers the first part of the contract that every proof of Zab
/// begins with, of a client and its server what makes a session's requests be served, and its watches fire, in order.
mod what_two_nodes_say_arrives_in_order {
    use super::*;
    use picklock_model::machine::Message;
    use picklock_model::trace::{Happening, Observer, Step};
    use picklock_sim::registry::Locks;
    use picklock_sim::seeded::network::Network;
    use picklock_sim::seeded::outcome::Limits;
    use picklock_sim::seeded::run::run;
    use std::collections::{BTreeMap, VecDeque};

    type Sent = Message<store::ZooKeeper>;

    /// What is under way between two nodes, and how much came from servers to servers, and from and to clients.
    #[derive(Default)]
    struct Links {
        under_way: BTreeMap<(Node, Node), VecDeque<Sent>>,
        heard: [usize; 2],
    }

    fn keeps_order(message: &Sent) -> bool {
        matches!(message, Message::Peer(_) | Message::Request(_) | Message::Reply(_))
    }

    impl Observer<ZookeeperLock> for Links {
        fn observe(&mut self, step: &Step<ZookeeperLock>) {
            if let Happening::Delivered { from, to, message } = step.happening
                && keeps_order(message)
            {
                let oldest = self.under_way.get_mut(&(*from, *to)).and_then(VecDeque::pop_front);
                assert_eq!(oldest.as_ref(), Some(message), "{from} to {to} at {}", step.at);
                self.heard[usize::from(!matches!(message, Message::Peer(_)))] += 1;
            }
            let Some(from) = step.happening.node() else { return };
            for (to, message) in step.effects.sends.iter().filter(|(_, message)| keeps_order(message)) {
                self.under_way.entry((from, *to)).or_default().push_back(message.clone());
            }
        }
    }

    #[test]
    fn however_slow_some_messages_are() {
        let setup: Setup<ZookeeperLock> = Locks::builtin().setup_of(LOCK).expect("it is registered");
        let network = Network { tail_per_mille: 200, tail_max: Micros::millis(400), ..Network::default() };
        let plan = Plan { network, heal_at: Micros::seconds(60), ..Plan::default() };
        for seed in 0..10 {
            let mut links = Links::default();
            run(&setup, &plan, seed, &Limits::of(&setup), &mut links);
            assert!(links.heard.iter().all(|heard| *heard > 100), "seed {seed}: {:?} messages", links.heard);
        }
    }
}
