//! What else is true of Redlock (the Redlock article, *Distributed Locks with Redis*), beside its rows of the catalogue.

use picklock_model::claims::redis as spaces;
use picklock_model::locks::Redlock;
use picklock_model::locks::redlock::{Contact, ExtendBy, Extension, Settings, ValidityFrom};
use picklock_model::stores::redis::{self as store, Persistence};
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Event, Promise};

const LOCK: &str = "redlock";

/// Two clients, three nodes; one node may lose power, and one clock drift by less than the margin.
mod exhaustive {
    use super::*;
    use crate::evidence::{check, evidence};
    use picklock_model::claims::{Judgement, NamedSpace};
    use picklock_model::explore::Space;
    use picklock_model::world::TICK;
    use picklock_sim::registry::{CheckVerdict, Checked};

    /// Everything within the tick.
    const AT_ONCE: u8 = 0;
    const WITHIN_A_TICK: u8 = 1;

    /// "The argument for safety": the keys of a quorum live together while their client holds, so that nobody else gets
    /// one meanwhile.
    #[test]
    fn asked_in_turn_its_quorum_outlives_its_holder_and_nobody_else_gets_in() {
        kept(&space(Contact::InTurn, AT_ONCE));
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn asked_at_once_its_quorum_outlives_its_holder_and_nobody_else_gets_in() {
        kept(&space(Contact::AtOnce, AT_ONCE));
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn the_same_where_messages_take_a_tick() {
        for contact in [Contact::InTurn, Contact::AtOnce] {
            let mut space = space(contact, WITHIN_A_TICK);
            // With a fault there would be ten times as many states.
            (space.bounds.power_losses, space.bounds.drifts) = (0, 0);
            kept(&space);
        }
    }

    /// Delayed restarts stand in for durability as far as mutual exclusion goes: nobody else gets the majority. But the
    /// holder's own majority is gone with the key, so that another loss is one too many.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_delayed_restart_keeps_mutual_exclusion_and_not_the_majority() {
        let forgets = |promise| {
            let mut space = space(Contact::AtOnce, AT_ONCE);
            space.setup.promises = [promise].into_iter().collect();
            space.setup.store.persistence = Persistence::None;
            space.setup.store.restart_delay = Some(Micros(i64::from(spaces::LONG_TICKS) * TICK.0));
            space
        };
        kept(&forgets(Promise::MutualExclusion));
        broken(&forgets(Promise::MinValidity));
    }

    fn space(contact: Contact, latency_ticks: u8) -> Space<Redlock> {
        let promises = [Promise::MutualExclusion, Promise::MinValidity];
        let mut space = spaces::redlock(2, 3, Calls::TryLock, &promises);
        space.setup.lock.contact = contact;
        space.bounds.latency_ticks = Some(latency_ticks);
        space
    }

    fn broken(space: &Space<Redlock>) {
        let Checked { verdict, exploration, .. } = search(space);
        assert_eq!(verdict, CheckVerdict::Violated, "{:?}: {exploration:?}", space.setup.lock);
    }

    fn kept(space: &Space<Redlock>) {
        let Checked { verdict, exploration, counterexample, .. } = search(space);
        if let Some(found) = counterexample {
            panic!("{:?}\n{}", space.setup.lock, evidence(found.promise, &found.token));
        }
        assert_eq!(verdict, CheckVerdict::Holds, "{exploration:?}");
        let coverage = exploration.coverage;
        assert!(coverage.granted > 0 && coverage.lost_leases > 0, "{exploration:?}");
        let is_faulty = space.bounds.power_losses > 0 || space.bounds.drifts > 0;
        assert!(coverage.faults > 0 || !is_faulty, "{exploration:?}");
    }

    fn search(space: &Space<Redlock>) -> Checked {
        check(&NamedSpace::new(LOCK, space), &Judgement::Safety)
    }
}

/// Three clients that come in each other's way, on five nodes.
mod seeded {
    use super::*;
    use crate::seeds::seeds;
    use picklock_model::cluster::Setup;
    use picklock_model::locks::redis_keys::lock_key;
    use picklock_model::machine::{Message, Node};
    use picklock_model::stores::redis::{Command, Value};
    use picklock_model::time::{Due, Monotonic};
    use picklock_model::trace::{Observer, Step};
    use picklock_properties::{ClientId, LockId, ServerSet};
    use picklock_sim::plans::fault::{FaultKind, FaultSet};
    use picklock_sim::plans::plan::{Fault, Plan, Planned, Side, Target, When};
    use picklock_sim::plans::swarm::Scale;
    use picklock_sim::seeded::outcome::{Limits, Outcome};
    use picklock_sim::seeded::run::run;

    const CLIENTS: u8 = 3;
    const SERVERS: u8 = 5;
    const ROUNDS: u8 = 4;

    /// A hundredth of the TTL is the margin (and 2 ms for the precision of `PX`): half of it for the client's clock, half
    /// for the node's.
    const WITHIN_MARGIN_PPM: i32 = 5_000;
    const BEYOND_MARGIN_PPM: i32 = 50_000;

    /// MIN_VALIDITY, as the document has it and by the clocks themselves: when a client is granted the lock, all keys of
    /// its quorum are there, and go on living until `TTL - (T2 - T1) - CLOCK_DRIFT` have passed on the client's clock.
    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn the_keys_of_a_quorum_live_together_for_min_validity_whatever_happens_within_the_margin() {
        use FaultKind::{Crash, Delay, Duplicate, Loss, Partition, Pause, PowerLoss};
        let kinds = FaultSet::from_iter([Pause, Delay, Loss, Duplicate, Partition, Crash, PowerLoss]);
        for contact in [Contact::InTurn, Contact::AtOnce] {
            let setup = setup(contact);
            let scale = Scale::of(&setup);
            let mut watched = Quorums::new(&setup);
            for seed in seeds(150) {
                let plan = drifting(Plan::random(kinds, seed, &scale), WITHIN_MARGIN_PPM, seed);
                run_one(&setup, &plan, seed, &mut watched);
            }
            assert!(watched.short.is_empty(), "{contact:?}: {:?}", watched.short.first());
            assert!(watched.keys > 0, "{contact:?}: nobody was ever granted the lock");
        }
    }

    #[test]
    fn a_drift_beyond_the_margin_lets_a_key_of_the_quorum_die_before_min_validity_is_over() {
        let setup = setup(Contact::AtOnce);
        let mut watched = Quorums::new(&setup);
        for seed in seeds(50) {
            let plan = drifting(late(), BEYOND_MARGIN_PPM, seed);
            run_one(&setup, &plan, seed, &mut watched);
        }
        assert!(!watched.short.is_empty(), "{} keys, all of which live for long enough", watched.keys);
    }

    /// The monitor judges the same without formulas: does a key of a holder's quorum go?
    #[test]
    fn the_monitor_of_min_validity_agrees() {
        use FaultKind::{Delay, Duplicate, Loss, Partition};
        let kinds = FaultSet::from_iter([Delay, Loss, Duplicate, Partition]);
        let setup = setup(Contact::AtOnce);
        let scale = Scale::of(&setup);
        let breaks = |plan: &Plan, seed| {
            run_one(&setup, plan, seed, &mut Quorums::new(&setup)).breaks(Promise::MinValidity)
        };
        for seed in seeds(150) {
            let plan = drifting(Plan::random(kinds, seed, &scale), WITHIN_MARGIN_PPM, seed);
            assert!(!breaks(&plan, seed), "seed {seed}\n{plan}");
        }
        assert!(
            seeds(50).any(|seed| breaks(&drifting(late(), BEYOND_MARGIN_PPM, seed), seed)),
            "no drift beyond the margin breaks it"
        );
    }

    /// Liveness B of the document: as long as a majority of nodes is up, clients get the lock and give it back.
    #[test]
    fn with_a_minority_of_nodes_down_for_good_everybody_gets_the_lock() {
        for (contact, down) in [(Contact::InTurn, 1), (Contact::InTurn, 2), (Contact::AtOnce, 2)] {
            for seed in seeds(200) {
                let faults = (0..down).map(|number| Planned {
                    when: When::At(Micros(drawn(seed, number, 6_000_000))),
                    fault: Fault::Crash { node: Target::Server(number + seed as u8), restart_after: None },
                });
                let plan = Plan { faults: faults.collect(), ..late() };
                let outcome = everybody_is_served(contact, &plan, seed);
                assert_eq!(outcome.strikes.crashes, u64::from(down), "seed {seed}");
            }
        }
    }

    #[test]
    fn partitions_that_heal_delay_the_lock_and_do_not_block_it() {
        let mut cut_off = 0;
        for seed in seeds(200) {
            // Some of the nodes, often a majority, from everybody; and a client from all nodes.
            let nodes = (0..SERVERS).filter(|number| drawn(seed, *number, 2) == 0).map(Target::Server);
            let client = Target::Client(seed as u8);
            let cut = |number, side: Side, length| Planned {
                when: When::At(Micros(drawn(seed, number, 8_000_000))),
                fault: Fault::Cut { from: side, to: Side::Everybody, both_ways: true, length },
            };
            let faults = vec![
                cut(10, Side::Nodes(nodes.collect()), Micros::seconds(12)),
                cut(11, Side::Nodes([client].into_iter().collect()), Micros::seconds(15)),
            ];
            let outcome = everybody_is_served(Contact::AtOnce, &Plan { faults, ..late() }, seed);
            cut_off += outcome.strikes.cut_off;
        }
        assert!(cut_off > 0, "no message was cut off");
    }

    /// "The number of attempts must be limited": a holder that never wants to stop is stopped.
    #[test]
    fn a_lock_that_is_extended_ends_when_no_extension_is_left() {
        let mut setup = setup(Contact::AtOnce);
        let ttl = Settings::as_written().ttl.unwrap();
        setup.workload.hold = Micros(1000 * ttl.0);
        setup.workload.rounds = 2;
        for times_max in [0, 1, 3] {
            setup.lock.extension = Some(Extension {
                times_max,
                how: ExtendBy::CompareAndExtend,
                validity_from: ValidityFrom::Start,
                lead: Micros(ttl.0 / 3),
            });
            for seed in seeds(10) {
                let mut holds = Holds::default();
                let outcome = run(&setup, &Plan::default(), seed, &Limits::of(&setup), &mut holds);
                assert_eq!(outcome.violations, [], "seed {seed}");
                assert_eq!(outcome.grants, u64::from(2 * CLIENTS), "seed {seed}");
                let extended = Micros(ttl.0 * i64::from(times_max) / 2);
                let longest = Micros(ttl.0 * (i64::from(times_max) + 1));
                for length in holds.lengths {
                    assert!(extended < length && length < longest, "{length} with {times_max} extensions");
                }
            }
        }
    }

    /// Longer holds than a lock is valid for, so that its end is what ends them.
    fn setup(contact: Contact) -> Setup<Redlock> {
        let promises = [Promise::MutualExclusion, Promise::MinValidity].into_iter().collect();
        Setup {
            lock: Settings { contact, ..Settings::as_written() },
            store: store::Settings { persistence: Persistence::AofAlways, ..store::Settings::default() },
            servers: SERVERS,
            workload: Workload {
                clients: CLIENTS,
                rounds: ROUNDS,
                retries: false,
                calls: Calls::Lock,
                access: AccessChoice::First,
                think: Micros::millis(50),
                hold: Micros::seconds(12),
                releases: true,
                writes: Writes::None,
                resource_checks: false,
                resource_forgets: false,
                locks: 1,
                attendants: 0,
                pace: None,
                varies: false,
                work_fits: false,
            },
            promises,
        }
    }

    /// A plan that heals when all work has long been done.
    fn late() -> Plan {
        Plan { heal_at: Micros::seconds(600), ..Plan::default() }
    }

    fn everybody_is_served(contact: Contact, plan: &Plan, seed: u64) -> Outcome {
        let mut setup = setup(contact);
        setup.workload.hold = Micros::seconds(1);
        setup.promises = [Promise::MutualExclusion, Promise::DeadlockFreedom].into_iter().collect();
        let mut holds = Holds::default();
        let outcome = run(&setup, plan, seed, &Limits::of(&setup), &mut holds);
        assert_eq!(outcome.violations, [], "seed {seed}\n{plan}");
        let served = (holds.lengths.len(), holds.releases);
        let all = usize::from(CLIENTS * ROUNDS);
        assert_eq!(served, (all, all), "seed {seed}: grants and releases\n{plan}");
        assert!(holds.last < plan.heal_at, "seed {seed}: only healed were all of them served\n{plan}");
        outcome
    }

    fn run_one(setup: &Setup<Redlock>, plan: &Plan, seed: u64, watched: &mut Quorums) -> Outcome {
        watched.begun = [None; CLIENTS as usize];
        let outcome = run(setup, plan, seed, &Limits::of(setup), watched);
        assert!(!outcome.truncated, "seed {seed}: a run that was cut short is no evidence");
        outcome
    }

    /// Every clock drifts from the beginning, by up to so much in either direction.
    fn drifting(mut plan: Plan, ppm_max: i32, seed: u64) -> Plan {
        let clients = (0..CLIENTS).map(Target::Client);
        let nodes = clients.chain((0..SERVERS).map(Target::Server)).enumerate();
        plan.faults.extend(nodes.map(|(number, node)| {
            let ppm = drawn(seed, number as u8, i64::from(2 * ppm_max + 1)) as i32 - ppm_max;
            Planned { when: When::At(Micros::ZERO), fault: Fault::Drift { node, ppm } }
        }));
        plan
    }

    /// A number below `below`, from a seed. (Weyl's sequence, multiplied twice: good enough to scatter plans.)
    fn drawn(seed: u64, number: u8, below: i64) -> i64 {
        let mixed = (seed * 64 + u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((mixed >> 33) % below as u64) as i64
    }

    /// Looks at the keys that every grant rests on.
    struct Quorums {
        ttl: Micros,
        margin: Micros,
        /// By client: the value of its attempt, and T1, its monotonic clock's reading when it began to ask.
        begun: [Option<(Value, Monotonic)>; CLIENTS as usize],
        /// How many keys were looked at.
        keys: u64,
        short: Vec<Short>,
    }

    /// A key that does not live as long as its client counts on it.
    #[derive(Debug)]
    #[expect(dead_code, reason = "read by whoever reads the failure")]
    struct Short {
        at: Micros,
        client: ClientId,
        server: u8,
        /// Until when it lives by true time, if it is there and the client's.
        lives_until: Option<Micros>,
        /// Until when the client counts on it.
        counted_until: Micros,
    }

    impl Quorums {
        fn new(setup: &Setup<Redlock>) -> Quorums {
            let (ttl, margin) = (setup.lock.ttl.unwrap(), setup.lock.drift_margin);
            Quorums { ttl, margin, begun: [None; CLIENTS as usize], keys: 0, short: Vec::new() }
        }

        fn on_grant(&mut self, step: &Step<Redlock>, client: ClientId, quorum: ServerSet) {
            let clock = step.cluster.condition(Node::Client(client.0)).clock;
            let (value, t1) = self.begun[usize::from(client.0)].expect("who is granted has asked");
            let t2 = clock.monotonic(step.at);
            let min_validity = self.ttl - (t2 - t1) - self.margin;
            let counted_until = clock
                .true_time_of(Due::Monotonic(t2 + min_validity), step.at)
                .expect("a monotonic clock goes on");
            for server in (0..SERVERS).filter(|server| quorum.contains(*server)) {
                self.keys += 1;
                let held = step.cluster.servers[usize::from(server)].key(lock_key(LockId(0)));
                let lives_until = held.filter(|(holds, _)| *holds == value).map(|(_, dies)| {
                    let clock = step.cluster.condition(Node::Server(server)).clock;
                    let dies = dies.expect("every key has a time to live");
                    clock.true_time_of(dies, step.at).expect("no clock stands still")
                });
                if lives_until.is_none_or(|until| until < counted_until) {
                    self.short.push(Short { at: step.at, client, server, lives_until, counted_until });
                }
            }
        }
    }

    impl Observer<Redlock> for Quorums {
        fn observe(&mut self, step: &Step<Redlock>) {
            for (_, message) in &step.effects.sends {
                let (Message::Request(request), Some(Node::Client(client))) =
                    (message, step.happening.node())
                else {
                    continue;
                };
                if let Command::Set { value, .. } = request.command {
                    let clock = step.cluster.condition(Node::Client(client)).clock;
                    let begun = &mut self.begun[usize::from(client)];
                    // Asked in turn, an attempt goes on with the next node.
                    if begun.is_none_or(|(other, _)| other != value) {
                        *begun = Some((value, clock.monotonic(step.at)));
                    }
                }
            }
            let mut quorum = ServerSet::EMPTY;
            for event in &step.effects.events {
                match *event {
                    Event::Secured { servers, .. } => quorum = servers,
                    Event::Granted { client, .. } => self.on_grant(step, client, quorum),
                    _ => {}
                }
            }
        }
    }

    /// How long each hold lasted.
    #[derive(Default)]
    struct Holds {
        since: [Option<Micros>; CLIENTS as usize],
        lengths: Vec<Micros>,
        releases: usize,
        /// When the last client had given the lock back.
        last: Micros,
    }

    impl Observer<Redlock> for Holds {
        fn observe(&mut self, step: &Step<Redlock>) {
            for event in &step.effects.events {
                match *event {
                    Event::Granted { client, .. } => self.since[usize::from(client.0)] = Some(step.at),
                    Event::Left { client } | Event::Lost { client } => {
                        let since = self.since[usize::from(client.0)].take();
                        self.lengths.extend(since.map(|since| step.at - since));
                    }
                    Event::Released { .. } => (self.releases, self.last) = (self.releases + 1, step.at),
                    _ => {}
                }
            }
        }
    }
}

/// The largest counter of a quorum is no fencing token, whatever happens or does not.
mod tokens {
    use crate::evidence::{lock, sweep};
    use picklock_properties::Promise;
    use picklock_sim::plans::fault::FaultSet;

    #[test]
    fn its_largest_counters_come_out_of_order_without_any_fault_as_often_as_the_book_says() {
        let name = "redlock-fenced";
        let setup = lock(name).setup(Some([Promise::TokenOrder].into_iter().collect()));
        let report = sweep(name, &setup, FaultSet::EMPTY, 0..1_000, true);
        let said = format!("in {} runs of 1,000 somebody is granted", report.broken[&Promise::TokenOrder]);
        assert!(include_str!("../docs/src/findings/redis.md").contains(&said), "{said}");
    }
}
