//! Random operations on three real nodes and on three simulated ones, while one of them is stopped and started.
//!
//! A write goes to every node that is up before it is answered, so that each node knows what it has missed: what it says afterwards is
//! no matter of chance, but for which nodes a coordinator asks. Of the ways in which the simulator may answer, all that answered like the
//! real nodes so far are kept; a difference is an answer that none of them gives.
//!
//! Hints are messages that come late: what a node misses is kept for it, or lost.
//!
//! `PICKLOCK_CASSANDRA_OPERATIONS_ON_THREE=5000` compares more than a thousand in each of the two cases.

use crate::clock;
use crate::cql::{Answer, Connection, Level};
use crate::one_node::{Tally, any_operation, make};
use crate::real::Real;
use crate::simulated::Simulated;
use crate::words::{self, Dialect, KEYSPACE, Place};
use picklock_model::stores::cassandra::{
    Consistency, Mutation, Operation, ReadRepair, SHARED, Settings, Target, ThreadId,
};
use picklock_model::time::Micros;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const NODES: u8 = 3;

/// A coordinator knows that too few are up.
const UNAVAILABLE: i32 = 0x1000;

/// Sequences that a node is stopped and started for at the same time.
const SEQUENCES: usize = 150;

/// What is asked, of which of the nodes that are up, and of how many a read.
type Step = (Operation, u8, Consistency);

fn any_step() -> impl Strategy<Value = Step> {
    let reads =
        prop_oneof![2 => Just(Consistency::One), 2 => Just(Consistency::Quorum), 1 => Just(Consistency::All)];
    (any_operation(), 0..6_u8, reads)
}

/// Rounds of Paxos are about what rounds have written: which nodes a round asks is a race, and what only some of them have is seen or
/// not.
fn without_plain_writes_to_what_rounds_write(mut operation: Operation) -> Operation {
    let rename = |mutation: &mut Mutation| {
        if mutation.target == Target::Column(SHARED) {
            mutation.target = Target::Column(picklock_model::stores::cassandra::ColumnName {
                thread: ThreadId(0),
                ..SHARED
            });
        }
    };
    match &mut operation {
        Operation::Write(mutation) => rename(mutation),
        Operation::Batch(mutations) => mutations.iter_mut().for_each(rename),
        Operation::ReadSlice { .. } | Operation::Conditional { .. } => {}
    }
    operation
}

/// A sequence, as far as it has come.
struct Sequence {
    place: Place,
    read_repair: ReadRepair,
    /// All that may be.
    simulated: Vec<Simulated>,
    parts: [Vec<Step>; 3],
    log: Vec<String>,
    is_given_up: bool,
}

impl Sequence {
    fn play(&mut self, part: usize, down: Option<u8>, connections: &mut [Connection], tally: &mut Tally) {
        let up: Vec<u8> = (0..NODES).filter(|node| Some(*node) != down).collect();
        for (operation, whom, reads) in std::mem::take(&mut self.parts[part]) {
            let operation = without_plain_writes_to_what_rounds_write(operation);
            let Some(statement) = self.place.statement(&operation) else { continue };
            let coordinator = up[usize::from(whom) % up.len()];
            // Whoever is up has it when it is answered. (More than are up are refused before anything is written.)
            let writes = if down.is_some() { Consistency::Quorum } else { Consistency::All };
            let reads = if down.is_some() && reads == Consistency::All { Consistency::Quorum } else { reads };
            let settings = Settings { writes, reads, read_repair: self.read_repair, ..Settings::default() };
            let level = match operation {
                Operation::ReadSlice { .. } => reads,
                _ => writes,
            };
            if self.is_given_up {
                return;
            }
            let before = clock::within_a_second();
            let answer = connections[usize::from(coordinator)].ask(&statement, asked(level));
            self.is_given_up = clock::now().whole_seconds() != before.whole_seconds();
            if self.is_given_up {
                return;
            }
            self.log.push(format!("node {coordinator}, {level:?}: {statement}   -- {operation:?}"));
            let seen = words::outcome(&operation, &answer);
            let (mut expected, mut may_be) = (Vec::new(), Vec::new());
            for simulated in &self.simulated {
                for choice in 0..simulated.choices(coordinator, &operation, &settings) {
                    for last_first in [false, true] {
                        let mut next = simulated.clone();
                        let way = (choice, last_first);
                        let outcome = next.ask(coordinator, operation.clone(), way, &settings, before);
                        if Some(&outcome) == seen.as_ref() {
                            may_be.push(next);
                        }
                        expected.push(outcome);
                    }
                }
            }
            expected.sort();
            expected.dedup();
            assert!(!may_be.is_empty(), "{answer:?}\nand not one of {expected:?}\nafter {:#?}", self.log);
            may_be.sort();
            may_be.dedup();
            assert!(may_be.len() <= 64, "too much may be after {:#?}", self.log);
            self.simulated = may_be;
            tally.count(&operation, &seen.expect("it is one of them"));
        }
    }
}

fn asked(level: Consistency) -> Level {
    match level {
        Consistency::One => Level::One,
        Consistency::Quorum => Level::Quorum,
        Consistency::All => Level::All,
    }
}

/// Whether this node takes all others for up, or this one for down.
fn waits_until(connection: &mut Connection, all_are_up: bool) {
    for _ in 0..600 {
        let answer = connection.ask(&format!("SELECT * FROM {KEYSPACE}.cells WHERE key = 'any'"), Level::All);
        let is_known = match answer {
            Answer::Rows { .. } => all_are_up,
            Answer::Error { code, .. } => code == UNAVAILABLE && !all_are_up,
            Answer::Void => false,
        };
        if is_known {
            return;
        }
        clock::pass(Micros::millis(100));
    }
    panic!("nodes do not find out about each other");
}

/// Three nodes with a table for each kind of read repair.
pub fn three_nodes(hints: bool) -> Option<Real> {
    let real = Real::start(NODES, hints)?;
    let mut connection = real.connect(0);
    make(&mut connection, NODES);
    for (table, read_repair) in [("blocking", "BLOCKING"), ("none", "NONE"), ("cells", "BLOCKING")] {
        let read_repair = format!("read_repair = '{read_repair}'");
        // Who is asked is asked once.
        let options = [&read_repair, "speculative_retry = 'NEVER'", "additional_write_policy = 'NEVER'"];
        let created = connection.ask(&Place::create(table, Dialect::Cells, &options), Level::One);
        assert_eq!(created, Answer::Void);
    }
    (0..NODES).for_each(|node| waits_until(&mut real.connect(node), true));
    // News of one table may overtake those of another.
    for (node, table) in (0..NODES).flat_map(|node| ["blocking", "none", "cells"].map(|table| (node, table)))
    {
        let read = format!("SELECT * FROM {KEYSPACE}.{table} WHERE key = 'any'");
        let mut connection = real.connect(node);
        let mut tries = 0;
        while !matches!(connection.ask(&read, Level::One), Answer::Rows { .. }) {
            tries += 1;
            assert!(tries < 600, "node {node} does not learn of the table {table}");
            clock::pass(Micros::millis(100));
        }
    }
    Some(real)
}

fn compare(hints: bool) {
    let Some(mut real) = three_nodes(hints) else { return };
    let wanted = std::env::var("PICKLOCK_CASSANDRA_OPERATIONS_ON_THREE").ok();
    let wanted: u32 = wanted.and_then(|number| number.parse().ok()).unwrap_or(1_000);
    let mut runner = TestRunner::deterministic();
    let part = || prop::collection::vec(any_step(), 6..=12);
    let strategy = (part(), part(), part());
    let mut tally = Tally::default();
    let (mut begun, mut given_up, mut most) = (0, 0, 0);
    for wave in 0.. {
        if tally.total() >= wanted {
            break;
        }
        let down = 2 - (wave % NODES);
        let mut sequences: Vec<Sequence> = Vec::new();
        for _ in 0..SEQUENCES.min((wanted - tally.total()) as usize / 24 + 1) {
            let (first, second, third) =
                strategy.new_tree(&mut runner).expect("nothing is filtered out").current();
            let (table, read_repair) = match begun % 2 {
                0 => ("blocking", ReadRepair::Blocking),
                _ => ("none", ReadRepair::None),
            };
            let (table, sequence) = (table.to_owned(), begun.to_string());
            sequences.push(Sequence {
                place: Place { dialect: Dialect::Cells, table, sequence },
                read_repair,
                simulated: vec![Simulated::new(NODES, hints)],
                parts: [first, second, third],
                log: Vec::new(),
                is_given_up: false,
            });
            begun += 1;
        }
        let mut connections: Vec<Connection> = (0..NODES).map(|node| real.connect(node)).collect();
        sequences.iter_mut().for_each(|one| one.play(0, None, &mut connections, &mut tally));

        real.stop_node(down);
        for node in (0..NODES).filter(|node| *node != down) {
            waits_until(&mut connections[usize::from(node)], false);
        }
        for sequence in &mut sequences {
            sequence.simulated.iter_mut().for_each(|simulated| simulated.goes_down(down));
            sequence.log.push(format!("node {down} is stopped"));
            sequence.play(1, Some(down), &mut connections, &mut tally);
        }
        // The last things that it misses, one of each of the others.
        let marks: Vec<String> = (0..NODES).map(|node| format!("mark {wave} of {node}")).collect();
        for node in (0..NODES).filter(|node| *node != down) {
            let mark = &marks[usize::from(node)];
            for name in ["a", "b"] {
                let statement = format!(
                    "UPDATE {KEYSPACE}.blocking SET value = 0x WHERE key = '{mark}' AND name = '{name}'"
                );
                let marked = connections[usize::from(node)].ask(&statement, Level::Quorum);
                assert_eq!(marked, Answer::Void);
            }
        }

        real.start_node(down);
        connections[usize::from(down)] = real.connect(down);
        connections.iter_mut().for_each(|connection| waits_until(connection, true));
        if hints {
            for node in (0..NODES).filter(|node| *node != down) {
                has_its_hints(&mut connections[usize::from(down)], &marks[usize::from(node)]);
            }
        }
        for sequence in &mut sequences {
            let settings = Settings { read_repair: sequence.read_repair, ..Settings::default() };
            let now = clock::now();
            sequence.simulated.iter_mut().for_each(|simulated| simulated.comes_up(down, &settings, now));
            sequence.log.push(format!("node {down} is started"));
            sequence.play(2, None, &mut connections, &mut tally);
        }
        if !hints {
            repairs_as_far_as_it_looks(&mut connections, down, &marks);
        }
        given_up += sequences.iter().filter(|sequence| sequence.is_given_up).count();
        most = sequences.iter().map(|sequence| sequence.simulated.len()).max().unwrap_or(0).max(most);
    }
    println!(
        "{} operations of {begun} sequences compared on three nodes, hints {hints}, {given_up} given up, at most {most} ways: {tally:?}",
        tally.total(),
    );
    tally.assert_all_kinds();
}

/// A read with a limit repairs what it returns, and nothing behind it.
fn repairs_as_far_as_it_looks(connections: &mut [Connection], down: u8, marks: &[String]) {
    let other = (down + 1) % NODES;
    let key = &marks[usize::from(other)];
    let read = format!("SELECT name FROM {KEYSPACE}.blocking WHERE key = '{key}'");
    let mut found = |node: u8, limit: &str, level| match connections[usize::from(node)]
        .ask(&format!("{read}{limit}"), level)
    {
        Answer::Rows { rows, .. } => rows.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(found(down, "", Level::One), 0, "it has missed them");
    assert_eq!(found(other, " LIMIT 1", Level::All), 1);
    assert_eq!(found(down, "", Level::One), 1, "the first is repaired");
    assert_eq!(found(other, "", Level::All), 2);
    assert_eq!(found(down, "", Level::One), 2, "both are");
}

fn has_its_hints(connection: &mut Connection, mark: &str) {
    for _ in 0..900 {
        let statement = format!("SELECT * FROM {KEYSPACE}.blocking WHERE key = '{mark}'");
        match connection.ask(&statement, Level::One) {
            Answer::Rows { rows, .. } if rows.len() == 2 => return,
            _ => clock::pass(Micros::millis(100)),
        }
    }
    panic!("no hints come");
}

#[test]
fn a_node_that_was_away_has_what_its_hints_bring() {
    compare(true);
}

#[test]
fn a_node_that_was_away_without_hints_has_what_repairs_bring() {
    compare(false);
}
