//! A single server, where every request is one step, against a plain reference.

use super::cluster::Cluster;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    Change { row: Row, thread: u16, change: Change, timestamp: i64 },
    Read { row: Row, from: Option<u16>, count: u8 },
    Pass { seconds: i64 },
}

fn any_row() -> impl Strategy<Value = Row> {
    prop_oneof![Just(MAIN), Just(QUEUE)]
}

fn any_step() -> impl Strategy<Value = Step> {
    let put = (0..3u32, prop::option::of(1..4u32))
        .prop_map(|(value, ttl_seconds)| Change::Put { value: Value::Number(value), ttl_seconds });
    let change = prop_oneof![3 => put, 1 => Just(Change::Delete)];
    prop_oneof![
        4 => (any_row(), 0..4u16, change, 0..6i64)
            .prop_map(|(row, thread, change, timestamp)| Step::Change { row, thread, change, timestamp }),
        2 => (any_row(), prop::option::of(0..4u16), 0..5u8)
            .prop_map(|(row, from, count)| Step::Read { row, from, count }),
        1 => (1..3i64).prop_map(|seconds| Step::Pass { seconds }),
    ]
}

proptest! {
    /// The reference keeps every cell ever written and picks the winner when it is asked.
    #[test]
    fn one_server_returns_what_a_plain_map_of_all_cells_would(
        steps in prop::collection::vec(any_step(), 1..40),
        ties in prop_oneof![Just(TieRules::V4), Just(TieRules::V2_1)],
    ) {
        let mut cluster = Cluster::new(1, Settings { ties, ..Settings::default() });
        let mut written: BTreeMap<(Row, u16), Vec<Cell>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Change { row, thread, change, timestamp } => {
                    let target = Target::Column(plain(ThreadId(thread)));
                    let timestamp = Wall(timestamp);
                    let mutation = Mutation { row, target, change, timestamp: Some(timestamp) };
                    let serial = cluster.write(0, mutation);
                    prop_assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
                    let now_seconds = cluster.now.whole_seconds();
                    let content = match change {
                        Change::Put { value, ttl_seconds } => {
                            Content::Live { value, expiry_seconds: ttl_seconds.map(|ttl| now_seconds + i64::from(ttl)) }
                        }
                        Change::Delete => Content::Tombstone { local_deletion_seconds: now_seconds },
                    };
                    written.entry((row, thread)).or_default().push(Cell { timestamp, content });
                }
                Step::Read { row, from, count } => {
                    let first = from.map(|thread| plain(ThreadId(thread)));
                    let serial = cluster.request(0, 0, Operation::ReadSlice { row, from: first, count });
                    let now_seconds = cluster.now.whole_seconds();
                    let expected = written
                        .range((row, from.unwrap_or(0))..=(row, u16::MAX))
                        .filter_map(|(&(_, thread), cells)| {
                            let winner = cells.iter().copied().reduce(|left, right| reconcile(&left, &right, ties))?;
                            Some((plain(ThreadId(thread)), winner.value_at(now_seconds)?))
                        })
                        .take(usize::from(count))
                        .collect();
                    prop_assert_eq!(cluster.outcome(serial), Some(&Outcome::Slice(expected)));
                }
                Step::Pass { seconds } => cluster.pass(Micros::seconds(seconds)),
            }
        }
        prop_assert!(cluster.in_flight.is_empty());
    }
}

#[test]
fn an_expired_cell_goes_on_hiding_an_older_write() {
    let mut cluster = Cluster::new(1, Settings::default());
    cluster.write(0, put(A, 100, Some(1)));
    cluster.pass(Micros::seconds(2));
    cluster.write(0, put(A, 99, None));
    assert_eq!(cluster.read(0, 0), []);
    cluster.write(0, put(A, 101, None));
    assert_eq!(cluster.read(0, 0), [A]);
}

#[test]
fn a_write_older_than_ones_own_tombstone_is_lost() {
    let mut cluster = Cluster::new(1, Settings::default());
    for mutation in [put(A, 100, None), delete(A, 101), put(A, 99, None)] {
        let serial = cluster.write(0, mutation);
        assert_eq!(cluster.outcome(serial), Some(&Outcome::Applied));
    }
    assert_eq!(cluster.read(0, 0), []);
}

#[test]
fn a_coordinator_that_gives_timestamps_and_names_never_gives_one_twice_nor_goes_back() {
    let mut cluster = Cluster::new(1, Settings::default());
    let target = Target::CoordinatorTime(A);
    let add = Mutation {
        row: QUEUE,
        target,
        change: Change::Put { value: Value::EMPTY, ttl_seconds: None },
        timestamp: None,
    };
    cluster.ahead[0] = Micros::seconds(10);
    cluster.write(0, add);
    cluster.ahead[0] = Micros::ZERO;
    cluster.write(0, add);
    let first = cluster.servers[0].replica.entries().next().expect("written").column;
    let second = cluster.servers[0].replica.entries().nth(1).expect("another column").column;
    assert!(first.name < second.name);
    assert!(first.cell.timestamp < second.cell.timestamp);
}

#[test]
fn tombstones_go_after_the_grace_period_and_what_they_hid_may_return() {
    let mut cluster = Cluster::new(1, Settings { gc_grace_seconds: Some(10), ..Settings::default() });
    cluster.write(0, put(A, 100, None));
    cluster.write(0, delete(A, 101));
    cluster.pass(Micros::seconds(10));
    assert_eq!(cluster.read(0, 0), []);
    assert_eq!(cluster.contents(0), ["M: †tA@101us"]);
    cluster.pass(Micros::seconds(1));
    assert_eq!(cluster.read(0, 0), []);
    assert_eq!(cluster.contents(0), [""; 0]);
    cluster.write(0, put(A, 100, None));
    assert_eq!(cluster.read(0, 0), [A]);
}

#[test]
fn a_batch_shows_all_its_cells_at_one_timestamp() {
    let mut cluster = Cluster::new(1, Settings::default());
    let timeless = |row, thread| Mutation { row, timestamp: None, ..put(thread, 0, None) };
    cluster.request(0, 0, Operation::Batch([timeless(QUEUE, A), timeless(MAIN, B)].into_iter().collect()));
    let timestamps: Vec<Wall> =
        cluster.servers[0].replica.entries().map(|entry| entry.column.cell.timestamp).collect();
    assert_eq!(timestamps.len(), 2);
    assert_eq!(timestamps[0], timestamps[1]);
}

#[test]
fn a_small_state_is_a_few_dozen_bytes() {
    let mut cluster = Cluster::new(1, Settings::default());
    let empty = postcard::to_stdvec(&cluster.servers[0]).expect("serialisable").len();
    cluster.write(0, put(A, 100, None));
    cluster.write(0, delete(B, 101));
    let bytes = postcard::to_stdvec(&cluster.servers[0]).expect("serialisable");
    assert!(empty <= 10 && bytes.len() <= 28, "{empty} bytes empty, {} with two cells", bytes.len());
    assert_eq!(postcard::from_bytes::<Cassandra>(&bytes).expect("the same"), cluster.servers[0]);
}
