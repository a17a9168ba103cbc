//! Settling changes no answer, and leaves nothing that need not stay.

use super::cluster::Cluster;
use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// The client's timestamp is the present time, plus this.
    Write {
        server: u8,
        thread: u16,
        change: Change,
        later_micros: i64,
    },
    Add {
        server: u8,
        thread: u16,
    },
    Read {
        server: u8,
        choice: u32,
    },
    Deliver {
        position: usize,
    },
    Lose {
        position: usize,
    },
    Pass {
        millis: i64,
    },
    Restart {
        server: u8,
        power_lost: bool,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let put = (0..3u32, prop::option::of(1..3u32))
        .prop_map(|(value, ttl_seconds)| Change::Put { value: Value::Number(value), ttl_seconds });
    let change = prop_oneof![1 => put, 1 => Just(Change::Delete)];
    let later_micros = prop_oneof![3 => Just(0), 1 => 0..3_000_000i64];
    prop_oneof![
        6 => (0..3u8, 0..2u16, change, later_micros)
            .prop_map(|(server, thread, change, later_micros)| Step::Write { server, thread, change, later_micros }),
        1 => (0..3u8, 0..2u16).prop_map(|(server, thread)| Step::Add { server, thread }),
        4 => (0..3u8, any::<u32>()).prop_map(|(server, choice)| Step::Read { server, choice }),
        20 => any::<usize>().prop_map(|position| Step::Deliver { position }),
        1 => any::<usize>().prop_map(|position| Step::Lose { position }),
        2 => (1..1500i64).prop_map(|millis| Step::Pass { millis }),
        1 => (0..3u8, any::<bool>()).prop_map(|(server, power_lost)| Step::Restart { server, power_lost }),
    ]
}

fn take(cluster: &mut Cluster, step: &Step) {
    let servers = cluster.servers.len() as u8;
    match *step {
        Step::Write { server, thread, change: what, later_micros } => {
            // No wall clock is below the horizon from now on, the client's neither.
            let timestamp = cluster.horizon().0 + 1 + later_micros;
            cluster.write(server % servers, change(ThreadId(thread), timestamp, what));
        }
        Step::Add { server, thread } => {
            let target = Target::CoordinatorTime(ThreadId(thread));
            let add = Change::Put { value: Value::EMPTY, ttl_seconds: Some(1) };
            cluster.write(server % servers, Mutation { row: MAIN, target, change: add, timestamp: None });
        }
        Step::Read { server, choice } => {
            cluster.request(server % servers, choice, read_main());
        }
        Step::Deliver { .. } | Step::Lose { .. } if cluster.in_flight.is_empty() => {}
        Step::Deliver { position } => cluster.deliver(position % cluster.in_flight.len()),
        Step::Lose { position } => {
            cluster.in_flight.remove(position % cluster.in_flight.len());
        }
        Step::Pass { millis } => {
            cluster.pass(Micros::millis(millis));
            cluster.run_deadlines();
        }
        Step::Restart { server, power_lost } => cluster.restart(server % servers, power_lost),
    }
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let level = || prop_oneof![Just(Consistency::One), Just(Consistency::Quorum), Just(Consistency::All)];
    let clock = prop_oneof![Just(ExpiryClock::Coordinator), Just(ExpiryClock::Replica)];
    let commit_log = prop_oneof![
        Just(CommitLog::Batch),
        Just(CommitLog::Periodic { period: Micros::millis(700), marks: Micros::millis(300) })
    ];
    let ties = prop_oneof![Just(TieRules::V4), Just(TieRules::V2_1)];
    (level(), level(), ties, clock, commit_log).prop_map(|(writes, reads, ties, expiry_clock, commit_log)| {
        Settings { writes, reads, ties, expiry_clock, commit_log, ..Settings::default() }
    })
}

fn any_skew() -> impl Strategy<Value = Vec<Micros>> {
    prop::collection::vec((0..2500i64).prop_map(Micros::millis), 3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Two clusters in lockstep, one of them settled after every step. Without repairs they send the same messages.
    #[test]
    fn settling_after_every_step_changes_no_reply(
        settings in any_settings(),
        servers in 1..=3u8,
        skew in any_skew(),
        steps in prop::collection::vec(any_step(), 1..80),
    ) {
        let settings = Settings { read_repair: ReadRepair::None, ..settings };
        let mut kept = Cluster::new(servers, settings);
        kept.ahead.copy_from_slice(&skew[..usize::from(servers)]);
        let mut settled = kept.clone();
        for step in &steps {
            take(&mut kept, step);
            take(&mut settled, step);
            settled.settle();
            prop_assert_eq!(&settled.replies, &kept.replies);
            prop_assert_eq!(settled.in_flight.len(), kept.in_flight.len());
        }
    }

    /// With repairs the settled cluster sends fewer, so that both run every request to its end.
    #[test]
    fn settling_changes_no_reply_with_repairs_either(
        settings in any_settings(),
        skew in any_skew(),
        steps in prop::collection::vec((any_step(), 0..8u8), 1..40),
    ) {
        let mut kept = Cluster::new(3, settings);
        kept.ahead.clone_from(&skew);
        let mut settled = kept.clone();
        let answers = |cluster: &Cluster| {
            cluster.replies.iter().map(|reply| (reply.serial, reply.outcome.clone())).collect::<Vec<_>>()
        };
        for (step, connected) in &steps {
            let connected: Vec<u8> = (0..3).filter(|server| connected & 1 << server != 0).collect();
            let mut now = Micros::ZERO;
            for cluster in [&mut kept, &mut settled] {
                take(cluster, step);
                cluster.deliver_among(&connected);
                now = now.max(cluster.now);
            }
            // Repairs took time in one of them.
            (kept.now, settled.now) = (now, now);
            settled.settle();
            prop_assert_eq!(answers(&settled), answers(&kept));
        }
    }
}

#[test]
fn a_tombstone_is_forgotten_when_it_is_everywhere_and_the_past() {
    let mut cluster = Cluster::new(3, Settings::default());
    cluster.write(0, put(A, 1, None));
    cluster.deliver_all();
    let timestamp = cluster.now.0 + 1;
    cluster.write(0, delete(A, timestamp));
    cluster.settle();
    assert_eq!(cluster.contents(0), [format!("M: †tA@{timestamp}us")], "the others still have the column");
    cluster.deliver_all();
    cluster.settle();
    assert!(cluster.servers.iter().all(|server| server.contents().is_empty()));
}

#[test]
fn a_tombstone_stays_while_an_older_write_is_under_way() {
    let mut cluster = Cluster::new(3, Settings { request_timeout: None, ..Settings::default() });
    cluster.write(0, put(A, 1, None));
    let late = cluster.in_flight.remove(1);
    cluster.deliver_all();
    cluster.write(0, delete(A, 2));
    cluster.deliver_all();
    cluster.in_flight.push(late);
    cluster.settle();
    assert_eq!(cluster.contents(2), ["M: †tA@2us"]);
    cluster.deliver_all();
    assert_eq!(cluster.read(2, 0), []);
    cluster.settle();
    assert!(cluster.contents(2).is_empty());
}

#[test]
fn an_expired_cell_is_forgotten_when_the_slowest_clock_says_so() {
    let mut cluster = Cluster::new(2, Settings::default());
    cluster.ahead[1] = Micros::seconds(1);
    cluster.write(0, put(A, 1, Some(5)));
    cluster.deliver_all();
    cluster.pass(Micros::seconds(4));
    cluster.settle();
    assert_eq!(cluster.contents(0), ["M: tA=1@1us until 5s"]);
    cluster.pass(Micros::seconds(1));
    cluster.settle();
    assert!(cluster.servers.iter().all(|server| server.contents().is_empty()));
}

#[test]
fn a_tombstone_from_a_clock_ahead_stays() {
    let mut cluster = Cluster::new(1, Settings::default());
    cluster.write(0, delete(A, 1_000_000));
    cluster.settle();
    assert_eq!(cluster.contents(0), ["M: †tA@1.000000s"]);
}

#[test]
fn a_tombstone_stays_while_a_request_to_change_its_column_is_under_way() {
    let name = ColumnName { prefix: Prefix::Time(Wall(1)), thread: A };
    let added = Mutation { target: Target::Column(name), ..delete(A, 1) };
    let by_name = Operation::Write(added);
    let by_time = Operation::Write(Mutation { target: Target::CoordinatorTime(A), ..added });
    let in_batch = Operation::Batch([delete(B, 1), added].into_iter().collect());
    let elsewhere = Operation::Write(Mutation { row: QUEUE, ..added });
    for (operation, stays) in
        [(by_name, true), (by_time, true), (in_batch, true), (elsewhere, false), (read_main(), false)]
    {
        let mut cluster = Cluster::new(1, Settings::default());
        cluster.write(0, added);
        cluster.pass(Micros(10));
        let in_flight = [Message::Request(Request { serial: 9, operation })];
        let (horizon, settings) = (cluster.horizon(), cluster.settings.clone());
        let mut servers: Vec<&mut Cassandra> = cluster.servers.iter_mut().collect();
        Cassandra::settle(&mut servers, &mut in_flight.iter(), horizon, &settings);
        assert_eq!(cluster.contents(0).len(), usize::from(stays), "{in_flight:?}");
    }
}

#[test]
fn a_time_handed_out_is_remembered_until_every_clock_has_passed_it() {
    let mut cluster = Cluster::new(2, Settings { writes: Consistency::One, ..Settings::default() });
    let fresh = cluster.servers[0].coordinator.clone();
    cluster.ahead[0] = Micros::seconds(10);
    cluster.write(0, Mutation { timestamp: None, ..put(A, 0, None) });
    cluster.settle();
    assert_ne!(cluster.servers[0].coordinator, fresh);
    cluster.pass(Micros::seconds(11));
    cluster.settle();
    assert_eq!(cluster.servers[0].coordinator, fresh);
}
