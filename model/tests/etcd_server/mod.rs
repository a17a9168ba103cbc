//! The simulated etcd against the real one: random sequences of operations get the same answers and the same revisions.
//!
//! Needs `apt-get install etcd-server`; where there is none, this says so and passes. The server listens on loopback
//! ports, keeps its data in a temporary directory, and goes with the test. It is spoken to through its HTTP gateway.
//!
//! **Revisions.** A sequence has a prefix of its own and begins at whatever revision the server is at: what it shows is moved
//! by that. **Leases** of a sequence have numbers of their own, and live far longer than it.
//!
//! `PICKLOCK_ETCD_OPERATIONS=100000` compares more than two thousand.
//!
//! - `base64`: bytes in JSON
//! - `http`: as much of HTTP as that takes
//! - `real`: the real server, and its words
//! - here: random sequences

pub mod base64;
pub mod http;
mod real;

use picklock_model::machine::{Context, Effects, Message, Store};
use picklock_model::stores::etcd::{
    Compare, Comparison, Error, Etcd, Field, Key, Keys, LeaseId, Name, Operation, Order, Outcome, Put, Range,
    Reply, Request, Revision, Settings, Start, Step, Target, Txn, Value, WatchEvent,
};
use picklock_model::time::{Micros, Monotonic, Wall};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use real::Real;
use std::collections::BTreeMap;

/// How long leases are granted for: nothing ends by itself here.
const TTL: Micros = Micros::seconds(100_000);

/// Operations of one sequence.
const LENGTH: std::ops::RangeInclusive<usize> = 10..=20;

fn any_key() -> impl Strategy<Value = Key> {
    (1..6_u16).prop_map(|word| Key { prefix: 0, name: Name::Word(word) })
}

fn any_keys() -> impl Strategy<Value = Keys> {
    prop_oneof![
        4 => any_key().prop_map(Keys::One),
        2 => Just(Keys::Prefix(0)),
        1 => (any_key(), any_key()).prop_filter_map("an empty range is an error of its own", |(one, two)| {
            (one < two).then_some(Keys::Between(one, two))
        }),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![1 => Just(Value::Empty), 4 => (0..4_u32).prop_map(Value::Text)]
}

fn any_lease() -> impl Strategy<Value = LeaseId> {
    (1..4_u32).prop_map(|serial| LeaseId { client: 0, serial })
}

fn any_revision() -> impl Strategy<Value = Revision> {
    (1..16_u32).prop_map(Revision)
}

fn any_put() -> impl Strategy<Value = Put> {
    (any_key(), any_value(), prop::option::weighted(0.4, any_lease())).prop_map(|(key, value, lease)| Put {
        key,
        value,
        lease,
    })
}

/// Go's sort is not stable: what is equal comes in any order. Keys, create and mod revisions with keys put one by one are
/// never equal; a transaction's may be, and ranges inside of one are not sorted by revisions here.
fn any_range(may_sort: bool) -> impl Strategy<Value = Range> {
    let by = match may_sort {
        true => prop_oneof![Just(Field::Key), Just(Field::Create), Just(Field::Mod)].boxed(),
        false => Just(Field::Key).boxed(),
    };
    let revision = prop::option::weighted(0.4, any_revision());
    let before = prop::option::weighted(0.3, (2..16_u32).prop_map(Revision));
    (any_keys(), revision, before, by, any::<bool>(), 0..4_u8, any::<bool>()).prop_map(
        |(keys, revision, created_before, by, descending, limit, serializable)| Range {
            keys,
            revision,
            created_before,
            order: Order { by, descending },
            limit,
            serializable,
        },
    )
}

fn any_compare() -> impl Strategy<Value = Compare> {
    let result = prop_oneof![
        3 => Just(Comparison::Equal),
        1 => Just(Comparison::NotEqual),
        1 => Just(Comparison::Greater),
        1 => Just(Comparison::Less),
    ];
    let target = prop_oneof![
        (0..4_u32).prop_map(Target::Version),
        (0..16_u32).prop_map(|at| Target::Create(Revision(at))),
        (0..16_u32).prop_map(|at| Target::Mod(Revision(at))),
        any_value().prop_map(Target::Value),
        prop::option::of(any_lease()).prop_map(Target::Lease),
    ];
    (any_keys(), result, target).prop_map(|(keys, result, target)| Compare { keys, result, target })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => any_range(false).prop_map(Step::Range),
        3 => any_put().prop_map(Step::Put),
        1 => any_keys().prop_map(Step::Delete),
    ]
}

fn any_txn() -> impl Strategy<Value = Txn> {
    let compare = prop::collection::vec(any_compare(), 0..3);
    let steps = || prop::collection::vec(any_step(), 0..4);
    (compare, steps(), steps()).prop_map(|(compare, success, failure)| Txn {
        compare: compare.into(),
        success: success.into(),
        failure: failure.into(),
    })
}

fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => any_put().prop_map(Operation::Put),
        4 => any_range(true).prop_map(Operation::Range),
        2 => any_keys().prop_map(Operation::Delete),
        6 => any_txn().prop_map(Operation::Txn),
        1 => any_revision().prop_map(Operation::Compact),
        // The number of the lease is the request's: see `serial_of`.
        3 => Just(Operation::Grant { ttl: Some(TTL) }),
        1 => any_lease().prop_map(Operation::Revoke),
        1 => any_lease().prop_map(Operation::KeepAlive),
        1 => any_lease().prop_map(Operation::TimeToLive),
    ]
}

/// An operation, and the number of the lease that it asks for, if it asks for one.
fn any_request() -> impl Strategy<Value = (Operation, u32)> {
    (any_operation(), 1..4_u32)
}

/// One member, and nothing that takes time.
struct Simulated {
    etcd: Etcd,
    settings: Settings,
}

impl Simulated {
    fn new() -> Simulated {
        let settings = Settings::default();
        Simulated { etcd: Etcd::new(0, 1, &settings), settings }
    }

    fn ask(&mut self, serial: u32, operation: Operation) -> Vec<Reply> {
        let cx = Context {
            me: 0,
            servers: 1,
            wall: Wall(0),
            monotonic: Monotonic(0),
            choice: 0,
            settings: &self.settings,
        };
        let mut out = Effects::default();
        self.etcd.on_request(0, Request::new(serial, operation), &cx, &mut out);
        let replies = out.sends.into_iter().filter_map(|(_, message)| match message {
            Message::Reply(reply) => Some(reply),
            _ => None,
        });
        replies.collect()
    }
}

/// How often what was compared, by kind and by whether it was done.
#[derive(Default, Debug)]
struct Tally(BTreeMap<(&'static str, bool), u32>);

impl Tally {
    fn count(&mut self, operation: &Operation, outcome: &Outcome) {
        let kind = match operation {
            Operation::Range(_) => "range",
            Operation::Put(_) => "put",
            Operation::Delete(_) => "delete",
            Operation::Txn(_) => "txn",
            Operation::Compact(_) => "compact",
            Operation::Grant { .. } | Operation::GrantAs { .. } => "grant",
            Operation::Revoke(_) => "revoke",
            Operation::KeepAlive(_) => "keep alive",
            Operation::TimeToLive(_) => "time to live",
            Operation::Watch { .. } => "watch",
        };
        let is_done = !matches!(outcome, Outcome::Failed(_) | Outcome::LeaseOver(_));
        *self.0.entry((kind, is_done)).or_default() += 1;
    }

    fn total(&self) -> u32 {
        self.0.values().sum()
    }
}

/// A watch from a revision on, of all that the sequence has done: the events of both must be the same.
fn compare_watches(simulated: &mut Simulated, real: &mut Real, from: Revision, tally: &mut Tally) {
    let operation = Operation::Watch { keys: Keys::Prefix(0), start: Start::At(from) };
    let replies = simulated.ask(u32::MAX, operation.clone());
    let mut expected: Vec<WatchEvent> = Vec::new();
    let mut outcome = Outcome::Watching { boot: 0 };
    for reply in replies {
        match reply.outcome {
            Outcome::Events(events) => expected.extend(events),
            Outcome::Watching { .. } => {}
            other => outcome = other,
        }
    }
    tally.count(&operation, &outcome);
    match outcome {
        Outcome::WatchCanceled { compact_revision } => {
            assert_eq!(real.watch(from, 1), Err(compact_revision), "a watch from {from}");
        }
        _ if expected.is_empty() => {}
        _ => {
            let events = real.watch(from, expected.len()).expect("not cancelled");
            assert_eq!(events, expected, "a watch from {from}");
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn random_operations_get_the_same_answers() {
    let Some(mut real) = Real::start() else { return };
    let wanted = std::env::var("PICKLOCK_ETCD_OPERATIONS").ok().and_then(|number| number.parse().ok());
    let wanted: u32 = wanted.unwrap_or(2_000);
    let mut runner = TestRunner::deterministic();
    let strategy = (prop::collection::vec(any_request(), LENGTH), any_revision());
    let mut tally = Tally::default();
    while tally.total() < wanted {
        let (requests, from) = strategy.new_tree(&mut runner).expect("little is filtered out").current();
        let mut simulated = Simulated::new();
        let mut compacted = None;
        real.begin();
        for (place, (operation, lease)) in requests.iter().enumerate() {
            let serial = match operation {
                Operation::Grant { .. } => *lease,
                _ => 1_000 + place as u32,
            };
            let mut replies = simulated.ask(serial, operation.clone());
            let reply = replies.pop().expect("answered at once");
            assert!(replies.is_empty(), "nobody watches");
            let seen = real.ask(serial, operation);
            // A failed call has no header.
            let revision = match reply.outcome {
                Outcome::Failed(_) => None,
                _ => seen.revision,
            };
            let expected =
                real::Seen { revision: revision.map(|_| reply.revision), outcome: reply.outcome.clone() };
            assert_eq!(
                seen,
                expected,
                "{operation:?}\nafter {:#?}",
                requests[..place].iter().map(|(operation, _)| operation).collect::<Vec<_>>()
            );
            if let (Operation::Compact(at), Outcome::Compacted) = (operation, &reply.outcome) {
                compacted = Some(*at);
            }
            tally.count(operation, &reply.outcome);
        }
        // etcd before 3.4.34 and 3.5.16 loses a deletion at the very revision that is compacted (#18089).
        if from <= simulated.etcd.revision() && Some(from) != compacted {
            compare_watches(&mut simulated, &mut real, from, &mut tally);
        }
    }
    println!("{} operations compared: {:?}", tally.total(), tally.0);
    let is_rare = |kind| tally.0.get(&(kind, true)).is_none_or(|times| *times < 5);
    for kind in ["range", "put", "delete", "txn", "grant", "revoke", "keep alive", "time to live", "watch"] {
        assert!(!is_rare(kind), "{kind} was hardly ever done: {:?}", tally.0);
    }
}

/// The one thing that takes time: a lease ends late and never early, and no shorter one is granted than two seconds.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lease_ends_within_the_same_bounds() {
    let Some(mut real) = Real::start() else { return };
    real.begin();
    let lease = LeaseId { client: 0, serial: 1 };
    let begun = real::Clock::now();
    let granted = real.ask(1, &Operation::Grant { ttl: Some(Micros::seconds(1)) }).outcome;
    let least = Settings::default().lease_ttl_min;
    assert_eq!(granted, Outcome::Granted { lease, ttl: Some(least) });
    let key = Key { prefix: 0, name: Name::Word(1) };
    real.ask(2, &Operation::Put(Put { key, value: Value::Empty, lease: Some(lease) }));
    let read = Operation::Range(Range::of(Keys::One(key)));
    while !matches!(real.ask(3, &read).outcome, Outcome::Range(found) if found.kvs.is_empty()) {
        assert!(begun.elapsed() < Micros::seconds(60), "the lease does not end");
    }
    assert!(begun.elapsed() >= least, "it ended after {}", begun.elapsed());
    assert_eq!(real.ask(4, &Operation::KeepAlive(lease)).outcome, Outcome::LeaseOver(lease));
    assert_eq!(real.ask(5, &Operation::Revoke(lease)).outcome, Outcome::Failed(Error::LeaseNotFound));
}
