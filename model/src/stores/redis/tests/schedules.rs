//! Random orders, losses and crashes of a replicated store.

use super::cluster::Cluster;
use super::one_server::any_command;
use super::*;
use crate::machine::{Node, Owner, StampGroup, Visit};
use crate::time::Wall;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeSet;

/// Servers and positions are taken modulo how many there are.
#[derive(Clone, Debug)]
enum Step {
    Request { server: u8, client: u8, command: Command, wait: bool },
    Deliver { position: usize },
    Lose { position: usize },
    Duplicate { position: usize },
    Wake { server: u8 },
    Pass { millis: i64 },
    Jump { server: u8, millis: i64 },
    Restart { server: u8, power_lost: bool },
}

fn any_step() -> impl Strategy<Value = Step> {
    let server = || 0..3u8;
    let position = || 0..64usize;
    prop_oneof![
        6 => (server(), 0..2u8, any_command(), any::<bool>())
            .prop_map(|(server, client, command, wait)| Step::Request { server, client, command, wait }),
        8 => position().prop_map(|position| Step::Deliver { position }),
        1 => position().prop_map(|position| Step::Lose { position }),
        1 => position().prop_map(|position| Step::Duplicate { position }),
        3 => server().prop_map(|server| Step::Wake { server }),
        3 => prop_oneof![0..10i64, 0..4_000i64].prop_map(|millis| Step::Pass { millis }),
        1 => (server(), -20..20i64).prop_map(|(server, millis)| Step::Jump { server, millis }),
        1 => (server(), any::<bool>())
            .prop_map(|(server, power_lost)| Step::Restart { server, power_lost }),
    ]
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let persistence =
        prop_oneof![Just(Persistence::None), Just(Persistence::AofEverySecond), Just(Persistence::AofAlways)];
    let memory = prop_oneof![
        Just((Eviction::No, None)),
        Just((Eviction::No, Some(2))),
        Just((Eviction::AllKeysLru, Some(2)))
    ];
    let clock = prop_oneof![Just(ExpiryClock::Wall), Just(ExpiryClock::Monotonic)];
    let tenant = prop::option::of(prop_oneof![Just(TenantDoes::Writes), Just(TenantDoes::FlushesAll)]);
    let delay = prop::option::of(Just(Micros::millis(500)));
    (persistence, memory, clock, tenant, delay, any::<bool>()).prop_map(
        |(persistence, (eviction, keys_max), expiry_clock, tenant, restart_delay, is_replicated)| Settings {
            layout: if is_replicated {
                Layout::Replicated { ping_period: Micros::seconds(1), down_after: Micros::seconds(3) }
            } else {
                Layout::Independent
            },
            expiry_clock,
            persistence,
            restart_delay,
            eviction,
            keys_max,
            tenant: tenant.map(|does| Tenant { period: Micros::seconds(2), does }),
        },
    )
}

fn run(cluster: &mut Cluster, step: &Step) {
    let under_way = cluster.in_flight.len();
    match *step {
        Step::Request { server, client, ref command, wait } => {
            cluster.request(server, client, command.clone(), wait);
        }
        Step::Deliver { position } if under_way > 0 => cluster.deliver(position % under_way),
        Step::Lose { position } if under_way > 0 => drop(cluster.in_flight.remove(position % under_way)),
        Step::Duplicate { position } if under_way > 0 => {
            let twin = cluster.in_flight[position % under_way].clone();
            cluster.in_flight.push(twin);
        }
        // Nothing is under way.
        Step::Deliver { .. } | Step::Lose { .. } | Step::Duplicate { .. } => {}
        Step::Wake { server } => cluster.wake(server),
        Step::Pass { millis } => cluster.pass(Micros::millis(millis)),
        Step::Jump { server, millis } => {
            let ahead = &mut cluster.ahead[usize::from(server)];
            *ahead = *ahead + Micros::millis(millis);
        }
        Step::Restart { server, power_lost } => cluster.restart(server, power_lost),
    }
}

/// Moves all moments it is shown by so much time.
struct Shift(Micros);

impl Visitor for Shift {
    fn stamp(&mut self, _group: StampGroup, at: &mut Wall) {
        *at = *at + self.0;
    }

    fn due(&mut self, due: &mut Due) {
        match due {
            Due::Wall(at) => *at = *at + self.0,
            Due::Monotonic(at) => *at = *at + self.0,
        }
    }

    fn since(&mut self, at: &mut Monotonic, _limit: Micros) {
        *at = *at + self.0;
    }

    fn expiry_seconds(&mut self, _at: &mut i64) {
        panic!("Redis does not count in seconds");
    }

    fn serial(&mut self, _owner: Owner, _serial: &mut u32) {}
}

fn shift(cluster: &mut Cluster, by: Micros) {
    cluster.now = cluster.now + by;
    cluster.servers.iter_mut().for_each(|server| server.visit(&mut Shift(by)));
    cluster.in_flight.iter_mut().for_each(|flight| flight.message.visit(&mut Shift(by)));
}

/// First collects the servers' numbers, then replaces each by its rank among its owner's, as the exhaustive engine
/// does.
#[derive(Default)]
struct Ranks {
    rewrites: bool,
    numbers: BTreeSet<(u8, u32)>,
    me: Option<u8>,
    from: Option<u8>,
    to: Option<u8>,
}

impl Visitor for Ranks {
    fn stamp(&mut self, _group: StampGroup, _at: &mut Wall) {}

    fn due(&mut self, _due: &mut Due) {}

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}

    fn expiry_seconds(&mut self, _at: &mut i64) {}

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        let server = match owner {
            Owner::Me => self.me,
            Owner::Sender => self.from,
            Owner::Receiver => self.to,
            Owner::Node(Node::Server(server)) => Some(server),
            // Requests and signatures are the test's own.
            Owner::Node(Node::Client(_)) => return,
            Owner::Node(Node::Resource) => None,
        };
        let server = server.expect("whose number it is");
        if self.rewrites {
            *serial = self.numbers.range((server, 0)..(server, *serial)).count() as u32;
        } else {
            self.numbers.insert((server, *serial));
        }
    }
}

fn renumber(cluster: &mut Cluster) {
    let mut ranks = Ranks::default();
    for rewrites in [false, true] {
        ranks.rewrites = rewrites;
        for (me, server) in cluster.servers.iter_mut().enumerate() {
            (ranks.me, ranks.from, ranks.to) = (Some(me as u8), None, None);
            server.visit(&mut ranks);
        }
        for flight in &mut cluster.in_flight {
            (ranks.me, ranks.from, ranks.to) = (None, Some(flight.from), Some(flight.to));
            flight.message.visit(&mut ranks);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "src/stores/redis/tests/schedules.proptest-regressions",
        ))),
        ..ProptestConfig::default()
    })]

    /// The date makes no difference, and the visitor is shown all of it: a cluster that is moved in time and goes on is
    /// the cluster that goes on and is moved.
    #[test]
    fn all_that_depends_on_the_date_is_shown_to_the_visitor(
        settings in any_settings(),
        before in prop::collection::vec(any_step(), 0..60),
        after in prop::collection::vec(any_step(), 0..60),
    ) {
        let mut cluster = Cluster::new(3, settings);
        before.iter().for_each(|step| run(&mut cluster, step));
        let mut moved = cluster.clone();
        let day = Micros::seconds(86_400);
        shift(&mut moved, day);
        for step in &after {
            run(&mut cluster, step);
            run(&mut moved, step);
        }
        shift(&mut cluster, day);
        prop_assert_eq!(cluster, moved);
    }

    /// Offsets serve only to be compared, and to be counted on from the last one.
    #[test]
    fn only_the_order_of_offsets_matters(
        settings in any_settings(),
        before in prop::collection::vec(any_step(), 0..60),
        after in prop::collection::vec((any_step(), any::<bool>()), 0..60),
    ) {
        let layout = Layout::Replicated { ping_period: Micros::seconds(1), down_after: Micros::seconds(3) };
        let mut cluster = Cluster::new(3, Settings { layout, ..settings });
        before.iter().for_each(|step| run(&mut cluster, step));
        let mut renumbered = cluster.clone();
        renumber(&mut renumbered);
        for (step, again) in &after {
            run(&mut cluster, step);
            run(&mut renumbered, step);
            if *again {
                renumber(&mut renumbered);
            }
        }
        prop_assert_eq!(&cluster.replies, &renumbered.replies);
        prop_assert_eq!(&cluster.events, &renumbered.events);
        for server in 0..3 {
            prop_assert_eq!(cluster.contents(server), renumbered.contents(server));
        }
    }

    /// Whatever has happened, once nothing goes wrong any more there is one master, and its replicas have its keys.
    #[test]
    fn replicas_agree_with_one_master_in_the_end(
        settings in any_settings(),
        steps in prop::collection::vec(any_step(), 0..100),
    ) {
        let layout = Layout::Replicated { ping_period: Micros::seconds(1), down_after: Micros::seconds(3) };
        let mut cluster = Cluster::new(3, Settings { layout, tenant: None, ..settings });
        steps.iter().for_each(|step| run(&mut cluster, step));
        cluster.deliver_all();
        cluster.live(20);
        let masters = cluster.servers.iter().filter(|server| server.is_master()).count();
        prop_assert_eq!(masters, 1);
        // In no order: reads on the master are uses of a key that the replicas know nothing of.
        let keys = |cluster: &Cluster, server| -> BTreeSet<String> {
            let lines = cluster.contents(server).into_iter().filter(|line| line.contains(" = "));
            lines.map(|line| line.split(", dies").next().unwrap_or_default().to_owned()).collect()
        };
        let first = keys(&cluster, 0);
        prop_assert_eq!(&keys(&cluster, 1), &first);
        prop_assert_eq!(&keys(&cluster, 2), &first);
    }
}
