//! Several replicas: consistency levels, convergence, partial writes, repair, skew.

use super::cluster::Cluster;
use super::*;
use proptest::prelude::*;

fn consistency(writes: Consistency, reads: Consistency) -> Settings {
    Settings { writes, reads, read_repair: ReadRepair::None, ..Settings::default() }
}

#[derive(Clone, Debug)]
enum Step {
    Write { server: u8, thread: u16, change: Change, timestamp: i64 },
    Read { server: u8, choice: u32 },
    Deliver { position: usize },
    Duplicate { position: usize },
}

fn any_step() -> impl Strategy<Value = Step> {
    let put = (0..3u32).prop_map(|value| Change::Put { value: Value::Number(value), ttl_seconds: None });
    let change = prop_oneof![2 => put, 1 => Just(Change::Delete)];
    prop_oneof![
        2 => (0..3u8, 0..3u16, change, 0..6i64)
            .prop_map(|(server, thread, change, timestamp)| Step::Write { server, thread, change, timestamp }),
        1 => (0..3u8, any::<u32>()).prop_map(|(server, choice)| Step::Read { server, choice }),
        6 => any::<usize>().prop_map(|position| Step::Deliver { position }),
        1 => any::<usize>().prop_map(|position| Step::Duplicate { position }),
    ]
}

/// Takes the steps and returns the serial numbers of the requests.
fn run(cluster: &mut Cluster, steps: &[Step]) -> Vec<u32> {
    let mut serials = Vec::new();
    for step in steps {
        match step {
            Step::Write { server, thread, change: what, timestamp } => {
                serials.push(cluster.write(*server, change(ThreadId(*thread), *timestamp, *what)));
            }
            Step::Read { server, choice } => serials.push(cluster.request(*server, *choice, read_main())),
            Step::Deliver { .. } | Step::Duplicate { .. } if cluster.in_flight.is_empty() => {}
            Step::Deliver { position } => cluster.deliver(position % cluster.in_flight.len()),
            Step::Duplicate { position } => {
                let flight = cluster.in_flight[position % cluster.in_flight.len()].clone();
                cluster.in_flight.push(flight);
            }
        }
    }
    serials
}

fn any_read_repair() -> impl Strategy<Value = ReadRepair> {
    prop_oneof![Just(ReadRepair::None), Just(ReadRepair::Blocking)]
}

proptest! {
    #[test]
    fn replicas_converge_and_every_request_is_answered_once_everything_is_delivered(
        steps in prop::collection::vec(any_step(), 1..60),
        read_repair in any_read_repair(),
    ) {
        let mut cluster = Cluster::new(3, Settings { read_repair, ..Settings::default() });
        let serials = run(&mut cluster, &steps);
        cluster.deliver_all();
        for server in [1, 2] {
            prop_assert_eq!(cluster.contents(server), cluster.contents(0));
        }
        for serial in serials {
            prop_assert_eq!(cluster.replies.iter().filter(|reply| reply.serial == serial).count(), 1);
        }
    }

    #[test]
    fn a_quorum_read_begun_after_an_acknowledged_quorum_write_sees_it(
        before in prop::collection::vec(any_step(), 0..30),
        writer in 0..3u8,
        delivered in prop::collection::vec(any::<usize>(), 0..30),
        reader in 0..3u8,
        choice in any::<u32>(),
        afterwards in prop::collection::vec(any::<usize>(), 0..60),
        read_repair in any_read_repair(),
        (writes, reads) in prop_oneof![
            Just((Consistency::Quorum, Consistency::Quorum)),
            Just((Consistency::All, Consistency::One)),
            Just((Consistency::One, Consistency::All)),
        ],
    ) {
        let mut cluster = Cluster::new(3, Settings { writes, reads, read_repair, ..Settings::default() });
        run(&mut cluster, &before);
        let write = cluster.write(writer, put(ThreadId(9), 100, None));
        let mut delivered = delivered.into_iter();
        while cluster.outcome(write).is_none() {
            // Any order, then whatever is oldest.
            let position = delivered.next().unwrap_or(0) % cluster.in_flight.len();
            cluster.deliver(position);
        }
        let read = cluster.request(reader, choice, read_main());
        let mut afterwards = afterwards.into_iter();
        while cluster.outcome(read).is_none() {
            let position = afterwards.next().unwrap_or(0) % cluster.in_flight.len();
            cluster.deliver(position);
        }
        prop_assert!(cluster.threads(read).contains(&ThreadId(9)));
    }
}

#[test]
fn a_read_of_one_after_a_write_of_one_may_miss_it() {
    let mut cluster = Cluster::new(2, consistency(Consistency::One, Consistency::One));
    let serial = cluster.write(0, put(A, 100, None));
    assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
    let read = cluster.request(1, 0, read_main());
    assert_eq!(cluster.threads(read), []);
}

#[test]
fn quorum_against_one_may_miss_it() {
    for (writes, reads) in [(Consistency::Quorum, Consistency::One), (Consistency::One, Consistency::Quorum)]
    {
        let mut cluster = Cluster::new(3, consistency(writes, reads));
        let serial = cluster.write(0, put(A, 100, None));
        cluster.deliver_among(&[0, 1]);
        assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
        if writes == Consistency::One {
            cluster.servers[1] = Cassandra::new(1, 3, &cluster.settings);
        }
        let read = cluster.request(2, 1, read_main());
        cluster.deliver_all();
        assert_eq!(cluster.threads(read), []);
    }
}

#[test]
fn a_failed_quorum_write_stays_on_some_replicas() {
    let mut cluster = Cluster::new(3, consistency(Consistency::Quorum, Consistency::Quorum));
    let serial = cluster.write(0, put(A, 100, None));
    cluster.in_flight.clear();
    cluster.pass(Micros::seconds(2));
    cluster.run_deadlines();
    assert_eq!(cluster.outcome(serial), Some(&Outcome::TimedOut));
    assert_eq!(cluster.contents(0), ["M: tA=1@100us"]);
    // Whether it is seen depends on who is asked.
    assert_eq!(cluster.read(1, 0), [A]);
    assert_eq!(cluster.read(1, 1), []);
}

/// A copy that arrives late is older than the deletion that came before it: nobody comes into a queue by it.
#[test]
fn a_cell_that_a_deletion_hides_is_not_told_to_be_put() {
    let mut cluster = Cluster::new(1, Settings::default());
    let put_so_far = |cluster: &Cluster| {
        cluster.told.iter().filter(|told| matches!(told, Written::Put { client: 0, .. })).count()
    };
    for (mutation, puts) in [
        (put(A, 100, None), 1),
        (put(A, 100, None), 2),
        (delete(A, 200), 2),
        (put(A, 100, None), 2),
        (put(A, 200, None), 2),
        (put(A, 201, None), 3),
    ] {
        cluster.write(0, mutation);
        assert_eq!(put_so_far(&cluster), puts, "after {mutation:?}");
    }
}

#[test]
fn a_cell_is_told_to_be_kept_once_when_as_many_replicas_have_it_as_the_level_asks_for() {
    let kept = |cluster: &Cluster| {
        cluster.told.iter().filter(|told| matches!(told, Written::Kept { client: 0, .. })).count()
    };
    for (writes, after) in
        [(Consistency::One, [1, 1, 1]), (Consistency::Quorum, [0, 1, 1]), (Consistency::All, [0, 0, 1])]
    {
        let mut cluster = Cluster::new(3, consistency(writes, Consistency::Quorum));
        cluster.write(0, put(A, 100, None));
        let mut seen = vec![kept(&cluster)];
        // Both mutations, and what they are acknowledged by.
        cluster.deliver(0);
        cluster.deliver(0);
        for _ in 0..2 {
            if !cluster.in_flight.is_empty() {
                cluster.deliver(0);
            }
            seen.push(kept(&cluster));
        }
        assert_eq!(seen, after, "{writes:?}");
        cluster.write(0, delete(A, 101));
        cluster.deliver_all();
        assert_eq!(kept(&cluster), 1, "a deletion keeps nothing");
    }
}

#[test]
fn a_partial_delete_leaves_the_column_to_the_others() {
    let mut cluster = Cluster::new(3, consistency(Consistency::Quorum, Consistency::Quorum));
    cluster.write(0, put(A, 100, None));
    cluster.deliver_all();
    cluster.write(0, delete(A, 101));
    cluster.in_flight.clear();
    assert_eq!(cluster.read(0, 0), []);
    assert_eq!(cluster.read(1, 1), [A]);
}

#[test]
fn blocking_read_repair_makes_quorum_reads_monotonic_and_its_absence_does_not() {
    for (read_repair, second) in [(ReadRepair::Blocking, vec![A]), (ReadRepair::None, vec![])] {
        let mut cluster = Cluster::new(3, Settings { read_repair, ..Settings::default() });
        cluster.write(0, put(A, 100, None));
        cluster.in_flight.clear();
        assert_eq!(cluster.read(1, 0), [A]);
        assert_eq!(cluster.read(2, 1), second, "{read_repair:?}");
    }
}

/// As seen on real nodes.
#[test]
fn a_read_with_a_limit_repairs_what_it_returns_and_nothing_behind_it() {
    let mut cluster = Cluster::new(3, Settings::default());
    for mutation in [delete(ThreadId(0), 100), put(ThreadId(1), 100, None), put(ThreadId(2), 100, None)] {
        cluster.write(0, mutation);
    }
    cluster.in_flight.clear();
    let mut repaired_by = |count| {
        cluster.request(1, 0, Operation::ReadSlice { row: MAIN, from: None, count });
        cluster.deliver_all();
        cluster.contents(1)
    };
    assert_eq!(repaired_by(1), ["M: †tA@100us, tB=1@100us"]);
    assert_eq!(repaired_by(3), ["M: †tA@100us, tB=1@100us, tC=1@100us"], "all that there is");
}

#[test]
fn a_read_waits_for_its_repairs() {
    let mut cluster = Cluster::new(3, Settings::default());
    cluster.write(0, put(A, 100, None));
    cluster.in_flight.clear();
    let read = cluster.request(0, 0, read_main());
    while !matches!(cluster.in_flight[0].message, Message::Peer(Peer::Repair { .. })) {
        cluster.deliver(0);
    }
    assert_eq!(cluster.outcome(read), None);
    let repair = cluster.in_flight.remove(0);
    cluster.pass(Micros::seconds(2));
    cluster.run_deadlines();
    assert_eq!(cluster.outcome(read), Some(&Outcome::TimedOut));
    cluster.in_flight.push(repair);
    cluster.deliver_all();
    assert_eq!(cluster.dismissed, 1, "the acknowledgement of the repair comes too late");
    assert_eq!(cluster.contents(1), ["M: tA=1@100us"]);
}

#[test]
fn one_replica_acknowledging_twice_is_one_replica() {
    let mut cluster = Cluster::new(5, Settings::default());
    let serial = cluster.write(0, put(A, 100, None));
    cluster.in_flight.truncate(1);
    cluster.deliver(0);
    cluster.in_flight.push(cluster.in_flight[0].clone());
    cluster.deliver_all();
    assert_eq!(cluster.outcome(serial), None);
}

#[test]
fn one_replica_answering_a_read_twice_is_one_replica() {
    let mut cluster = Cluster::new(5, Settings::default());
    let read = cluster.request(0, 0, read_main());
    cluster.in_flight.truncate(1);
    cluster.deliver(0);
    cluster.in_flight.push(cluster.in_flight[0].clone());
    cluster.deliver_all();
    assert_eq!(cluster.outcome(read), None);
}

#[test]
fn without_a_time_out_the_coordinator_waits_for_ever() {
    let mut cluster = Cluster::new(3, Settings { request_timeout: None, ..Settings::default() });
    cluster.write(0, put(A, 100, None));
    assert_eq!(cluster.servers[0].deadline(&cluster.settings), None);
}

#[test]
fn a_batch_over_two_rows_is_not_isolated_but_acknowledged_as_one() {
    let mut cluster = Cluster::new(3, Settings::default());
    let queued = Mutation { row: QUEUE, ..put(A, 100, None) };
    let serial = cluster.request(0, 0, Operation::Batch([queued, put(A, 100, None)].into_iter().collect()));
    // To s2 and s3: the queue row's mutation, then the main row's.
    assert_eq!(cluster.in_flight.len(), 4);
    cluster.deliver(0);
    assert_eq!(cluster.contents(1), ["Q: tA=1@100us"]);
    let acknowledgement = cluster.in_flight.len() - 1;
    cluster.deliver(acknowledgement);
    assert_eq!(cluster.outcome(serial), None);
    cluster.deliver_all();
    assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
}

#[test]
fn every_choice_asks_another_set_of_replicas() {
    for servers in 1..=6 {
        for reads in [Consistency::One, Consistency::Quorum, Consistency::All] {
            let cluster = Cluster::new(servers, consistency(Consistency::One, reads));
            let message = Message::Request(Request { serial: 0, operation: read_main() });
            let ways = cluster.servers[0].choices(&message, servers, &cluster.settings);
            let asked: std::collections::BTreeSet<Vec<u8>> = (0..ways)
                .map(|choice| {
                    let mut cluster = cluster.clone();
                    cluster.request(servers - 1, choice, read_main());
                    cluster.in_flight.iter().map(|flight| flight.to).collect()
                })
                .collect();
            assert_eq!(asked.len(), ways as usize);
            assert!(asked.iter().all(|others| others.len() + 1 == usize::from(reads.of(servers))));
            assert!(asked.iter().flatten().all(|&other| other != servers - 1));
        }
    }
}

#[test]
fn a_cell_is_dead_on_arrival_when_the_readers_clock_is_ahead_by_its_ttl() {
    for expiry_clock in [ExpiryClock::Coordinator, ExpiryClock::Replica] {
        let mut cluster = Cluster::new(3, Settings { expiry_clock, ..Settings::default() });
        cluster.ahead[1] = Micros::seconds(5);
        cluster.write(0, put(A, 100, Some(5)));
        cluster.deliver_all();
        assert_eq!(cluster.read(1, 0), [], "{expiry_clock:?}");
    }
}

#[test]
fn a_contacted_replicas_clock_counts_only_before_3_0() {
    for (expiry_clock, seen) in [(ExpiryClock::Coordinator, vec![A]), (ExpiryClock::Replica, vec![])] {
        let mut cluster = Cluster::new(3, Settings { expiry_clock, ..Settings::default() });
        cluster.ahead[1] = Micros::seconds(5);
        cluster.write(0, put(A, 100, Some(5)));
        cluster.deliver_all();
        assert_eq!(cluster.read(0, 0), seen, "{expiry_clock:?}");
    }
}

#[test]
fn a_read_judges_expiry_by_the_time_at_which_it_began() {
    let mut cluster = Cluster::new(3, Settings { request_timeout: None, ..Settings::default() });
    cluster.write(0, put(A, 100, Some(1)));
    cluster.deliver_all();
    let read = cluster.request(0, 0, read_main());
    cluster.pass(Micros::seconds(3));
    cluster.deliver_all();
    assert_eq!(cluster.threads(read), [A]);
    assert_eq!(cluster.read(0, 0), []);
}
