//! Random operations on one real node and on the simulated one.
//!
//! **Time** is the machine's: both are told the same second. A sequence stops half-way for as long as its shorter times to live take.
//! An operation that a second's end falls into would have two answers: its sequence is given up, and others are compared in its place.
//!
//! `PICKLOCK_CASSANDRA_OPERATIONS=100000` compares more than three thousand.

use crate::clock;
use crate::cql::{Answer, Connection, Level};
use crate::real::Real;
use crate::simulated::Simulated;
use crate::words::{self, Dialect, KEYSPACE, Place};
use picklock_model::names::Word;
use picklock_model::stores::cassandra::{
    Change, ColumnName, CommitLog, Condition, Mutation, Operation, Outcome, Prefix, Row, SHARED, Settings,
    Target, ThreadId, Value,
};
use picklock_model::time::{Micros, Wall};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;

/// Operations of one half of a sequence.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=16;

/// Sequences that wait at the same time.
const SEQUENCES: usize = 200;

/// Later than any clock here: what is written with it hides whatever a coordinator stamps.
const FAR_FUTURE: i64 = 4_000_000_000_000_000;

fn any_row() -> impl Strategy<Value = Row> {
    (0..2_u8).prop_map(|table| Row { table: Word(table), key: 0 })
}

fn any_name() -> impl Strategy<Value = ColumnName> {
    let thread = (0..3_u16).prop_map(ThreadId);
    let prefix = prop_oneof![2 => Just(Prefix::None), 1 => (1..3_i64).prop_map(|at| Prefix::Time(Wall(at)))];
    let named = (prefix, thread).prop_map(|(prefix, thread)| ColumnName { prefix, thread });
    prop_oneof![5 => named, 2 => Just(SHARED)]
}

fn any_value() -> impl Strategy<Value = Value> {
    (0..4_u32).prop_map(Value::Number)
}

fn any_put(weight_of_short: u32) -> impl Strategy<Value = Change> {
    let ttl = prop_oneof![
        6 => Just(None),
        1 => Just(Some(0)),
        weight_of_short => (1..4_u32).prop_map(Some),
        2 => (1..3_u32).prop_map(|times| Some(times * 10_000)),
    ];
    (any_value(), ttl).prop_map(|(value, ttl_seconds)| Change::Put { value, ttl_seconds })
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![3 => any_put(3), 1 => Just(Change::Delete)]
}

/// Few, so that they meet; or none, and the coordinator gives one.
fn any_timestamp() -> impl Strategy<Value = Option<Wall>> {
    prop_oneof![
        6 => (1..6_i64).prop_map(|at| Some(Wall(at))),
        1 => (0..2_i64).prop_map(|at| Some(Wall(FAR_FUTURE + at))),
        3 => Just(None),
    ]
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    (any_row(), any_name(), any_change(), any_timestamp()).prop_map(|(row, name, change, timestamp)| {
        Mutation { row, target: Target::Column(name), change, timestamp }
    })
}

pub fn any_operation() -> impl Strategy<Value = Operation> {
    let read = (any_row(), prop::option::of(any_name()), 1..6_u8)
        .prop_map(|(row, from, count)| Operation::ReadSlice { row, from, count });
    let condition = prop_oneof![2 => Just(Condition::Absent), 3 => any_value().prop_map(Condition::Equals)];
    let conditional = (any_row(), any_change(), condition)
        .prop_map(|(row, change, condition)| Operation::Conditional { row, change, condition });
    prop_oneof![
        6 => any_mutation().prop_map(Operation::Write),
        1 => prop::collection::vec(any_mutation(), 2..4).prop_map(|all| Operation::Batch(all.into())),
        5 => read,
        3 => conditional,
    ]
}

/// How often what was compared, by kind and by whether it was done or found something.
#[derive(Default, Debug)]
pub struct Tally(BTreeMap<(&'static str, bool), u32>);

impl Tally {
    pub fn count(&mut self, operation: &Operation, outcome: &Outcome) {
        let kind = match operation {
            Operation::Write(Mutation { change: Change::Put { ttl_seconds: None, .. }, .. }) => "put",
            Operation::Write(Mutation { change: Change::Put { .. }, .. }) => "put with TTL",
            Operation::Write(Mutation { change: Change::Delete, .. }) => "delete",
            Operation::Batch(_) => "batch",
            Operation::ReadSlice { .. } => "read",
            Operation::Conditional { .. } => "conditional",
        };
        let is_done = match (operation, outcome) {
            (Operation::ReadSlice { .. }, Outcome::Slice(columns)) => !columns.is_empty(),
            (_, outcome) => *outcome == Outcome::Applied,
        };
        *self.0.entry((kind, is_done)).or_default() += 1;
    }

    pub fn total(&self) -> u32 {
        self.0.values().sum()
    }

    pub fn assert_all_kinds(&self) {
        for kind in ["put", "put with TTL", "delete", "batch", "read", "conditional"] {
            let times = self.0.get(&(kind, true)).copied().unwrap_or(0);
            assert!(times >= 5, "{kind} was hardly ever done: {:?}", self.0);
        }
    }
}

/// A sequence, as far as it has come.
struct Sequence {
    place: Place,
    simulated: Simulated,
    halves: [Vec<Operation>; 2],
    log: Vec<String>,
    is_given_up: bool,
}

impl Sequence {
    fn play(&mut self, half: usize, connection: &mut Connection, tally: &mut Tally) {
        let settings = Settings::default();
        for operation in std::mem::take(&mut self.halves[half]) {
            let Some(statement) = self.place.statement(&operation) else { continue };
            if self.is_given_up {
                return;
            }
            let before = clock::within_a_second();
            let answer = connection.ask(&statement, Level::Quorum);
            self.is_given_up = clock::now().whole_seconds() != before.whole_seconds();
            if self.is_given_up {
                return;
            }
            self.log.push(format!("{statement}   -- {operation:?}"));
            let expected = self.simulated.ask(0, operation.clone(), (0, false), &settings, before);
            let seen = words::outcome(&operation, &answer);
            assert_eq!(seen.as_ref(), Some(&expected), "{answer:?}\nafter {:#?}", self.log);
            tally.count(&operation, &expected);
        }
    }
}

/// A node with a table for each dialect.
fn one_node() -> Option<(Real, Connection)> {
    one_node_with(CommitLog::AS_SHIPPED)
}

fn one_node_with(log: CommitLog) -> Option<(Real, Connection)> {
    let real = Real::start_with(1, false, log)?;
    let mut connection = real.connect(0);
    make(&mut connection, 1);
    for dialect in [Dialect::Compact, Dialect::Cells, Dialect::Rows] {
        let created = connection.ask(&Place::create(&table(dialect), dialect, &[]), Level::One);
        assert_eq!(created, Answer::Void);
    }
    Some((real, connection))
}

pub fn make(connection: &mut Connection, replicas: u8) {
    let replication = format!("{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}");
    let made =
        connection.ask(&format!("CREATE KEYSPACE {KEYSPACE} WITH replication = {replication}"), Level::One);
    assert_eq!(made, Answer::Void);
}

fn table(dialect: Dialect) -> String {
    format!("{dialect:?}").to_lowercase()
}

#[test]
fn random_operations_get_the_same_answers() {
    let Some((_real, mut connection)) = one_node() else { return };
    let wanted = std::env::var("PICKLOCK_CASSANDRA_OPERATIONS").ok().and_then(|number| number.parse().ok());
    let wanted: u32 = wanted.unwrap_or(3_000);
    let mut runner = TestRunner::deterministic();
    let halves = || prop::collection::vec(any_operation(), LENGTH);
    let strategy = (halves(), halves());
    let mut tally = Tally::default();
    let (mut begun, mut given_up) = (0, 0);
    while tally.total() < wanted {
        let mut sequences: Vec<Sequence> = Vec::new();
        for _ in 0..SEQUENCES.min((wanted - tally.total()) as usize / 20 + 1) {
            let (first, second) = strategy.new_tree(&mut runner).expect("nothing is filtered out").current();
            let dialect = [Dialect::Compact, Dialect::Cells, Dialect::Rows][begun % 3];
            let place = Place { dialect, table: table(dialect), sequence: begun.to_string() };
            let simulated = Simulated::new(1, false);
            let halves = [first, second];
            sequences.push(Sequence { place, simulated, halves, log: Vec::new(), is_given_up: false });
            begun += 1;
        }
        sequences.iter_mut().for_each(|sequence| sequence.play(0, &mut connection, &mut tally));
        clock::pass(Micros::seconds(2));
        sequences.iter_mut().for_each(|sequence| sequence.play(1, &mut connection, &mut tally));
        given_up += sequences.iter().filter(|sequence| sequence.is_given_up).count();
    }
    println!(
        "{} operations of {begun} sequences compared, {given_up} given up: {:?}",
        tally.total(),
        tally.0
    );
    tally.assert_all_kinds();
}

/// What the simulator has no word for. A row that was inserted has a time to live of its own, which an update does not change: renewed for
/// a shorter time than it was taken for, a lock is nobody's and not to be had until the insert's time is over. What is only updated is
/// gone with its value.
#[test]
fn a_renewed_row_outlives_its_value() {
    let Some((_real, mut connection)) = one_node() else { return };
    let mut ask = |statement: &str| connection.ask(statement, Level::Quorum);
    let applied = |answer: Answer| match answer {
        Answer::Rows { rows, .. } => rows[0][0].as_deref() == Some(&[1]),
        other => panic!("{other:?}"),
    };
    let row = "key = 'lock' AND name = 'owner'";
    let insert = "INSERT INTO picklock.rows (key, name, value) VALUES ('lock', 'owner', 0x01) IF NOT EXISTS USING TTL 1000";
    let update = |table: &str, ttl: u32, condition: &str| {
        format!("UPDATE picklock.{table} USING TTL {ttl} SET value = 0x01 WHERE {row} IF value = {condition}")
    };
    assert!(applied(ask(insert)));
    assert!(applied(ask(&update("rows", 1, "0x01"))));
    assert!(applied(ask(&update("cells", 1000, "null"))));
    assert!(applied(ask(&update("cells", 1, "0x01"))));
    clock::pass(Micros::millis(2_100));
    assert!(!applied(ask(insert)), "the row is there, without a value");
    assert!(applied(ask(&update("cells", 1000, "null"))));
}

/// A process that is killed has lost what was acknowledged since its log got its last mark, a tenth of a second ago at most: replay ends
/// at a mark (`db/commitlog/AbstractCommitLogService.java`, `DEFAULT_MARKER_INTERVAL_MILLIS`); row C35. With a log in
/// batches nothing is lost.
#[test]
fn a_process_that_is_killed_has_lost_its_last_acknowledged_writes() {
    const EARLY: u16 = 10;
    const ALL: u16 = 60;
    for log in [CommitLog::Batch, CommitLog::AS_SHIPPED] {
        let Some((mut real, mut connection)) = one_node_with(log) else { return };
        let column = |thread| ColumnName { prefix: Prefix::None, thread: ThreadId(thread) };
        let row = Row { table: Word(0), key: 0 };
        let read = Operation::ReadSlice { row, from: None, count: 100 };
        let mut times_lost = 0;
        for attempt in 0..5 {
            let sequence = format!("killed {attempt}");
            let place = Place { dialect: Dialect::Cells, table: "cells".to_owned(), sequence };
            for thread in 0..ALL {
                if thread == EARLY {
                    clock::pass(Micros::seconds(1));
                }
                let target = Target::Column(column(thread));
                let change = Change::Put { value: Value::EMPTY, ttl_seconds: None };
                let write = Operation::Write(Mutation { row, target, change, timestamp: None });
                let answer = connection.ask(&place.statement(&write).expect("it can be said"), Level::Quorum);
                assert_eq!(words::outcome(&write, &answer), Some(Outcome::Applied));
            }
            real.kill_node(0);
            real.start_node(0);
            connection = real.connect(0);
            let answer = connection.ask(&place.statement(&read).expect("it can be said"), Level::Quorum);
            let Some(Outcome::Slice(found)) = words::outcome(&read, &answer) else { panic!("{answer:?}") };
            let first = (0..ALL).map(|thread| (column(thread), Value::EMPTY)).take(found.len());
            assert!(first.eq(found.iter().copied()), "the last ones are lost, if any: {found:?}");
            assert!(found.len() >= usize::from(EARLY), "what is older than a second is not lost: {found:?}");
            println!("{log:?}: {} of {ALL} acknowledged writes are lost", usize::from(ALL) - found.len());
            times_lost += u32::from(found.len() < usize::from(ALL));
            // Often enough for the one, and too seldom for a mark just before the end to matter for the other.
            if times_lost > 0 || (log == CommitLog::Batch && attempt == 1) {
                break;
            }
        }
        assert_eq!(times_lost > 0, log != CommitLog::Batch);
    }
}
