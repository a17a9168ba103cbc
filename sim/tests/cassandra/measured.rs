//! How fast the locks are on three real nodes under contention: the benchmark of the Cassandra paper, section 5.5, beside which
//! `picklock bench` has the same of simulated nodes.
//!
//! A short point each, to see that it can be measured; `PICKLOCK_CASSANDRA_SECONDS=20` measures every point for so long.

use crate::clock;
use crate::cql::{Answer, Connection, Level};
use crate::stage::{OnCassandra, Stage, Told};
use crate::three_nodes::three_nodes;
use crate::words::{Dialect, Place};
use picklock_model::locks::cassandra_queue::{self, CassandraQueue};
use picklock_model::locks::cassandra_shadow::{self, CassandraShadow};
use picklock_model::locks::cassandra_tables::{self, QUEUE};
use picklock_model::stores::cassandra::Operation;
use picklock_model::time::Micros;
use picklock_model::workload::ROUNDS_WITHOUT_END;
use picklock_properties::{ClientId, Event, LockId, Promise};
use std::collections::BTreeMap;
use std::time::Duration;

/// What `picklock bench` has.
const TTL_SECONDS: u32 = 900;
const POLL_INTERVAL: Micros = Micros::millis(20);
const WARM_UP: Duration = Duration::from_secs(2);

/// A point of the table.
struct Figures {
    per_second: f64,
    /// From call to grant: of half of them, and of all but one in a hundred.
    wait: [Duration; 2],
    /// Jain's index: 1 is equal shares, 1/n one thread has all.
    fairness: f64,
    /// The most grants of one thread in a row.
    run_max: usize,
    /// Grants in the last quarter of the time, to those in the first: whether it wears out.
    late: f64,
}

impl Figures {
    fn of(told: &Told, clients: u8, window: Duration) -> Figures {
        let mut called: BTreeMap<ClientId, Duration> = BTreeMap::new();
        let mut waits = Vec::new();
        let mut granted = Vec::new();
        let mut quarters = [0.0; 4];
        for (event, at) in told.events.iter().zip(&told.when) {
            match *event {
                Event::Called { client, .. } => _ = called.insert(client, *at),
                Event::Granted { client, .. } if *at >= WARM_UP => {
                    waits.extend(called.remove(&client).map(|since| *at - since));
                    granted.push(client);
                    let quarter = (*at - WARM_UP).as_secs_f64() / window.as_secs_f64() * 4.0;
                    quarters[(quarter as usize).min(3)] += 1.0;
                }
                _ => {}
            }
        }
        waits.sort_unstable();
        let of_waits =
            |hundredths: usize| waits.get(waits.len() * hundredths / 100).copied().unwrap_or_default();
        let shares: Vec<f64> = (0..clients)
            .map(|me| granted.iter().filter(|client| **client == ClientId(me)).count() as f64)
            .collect();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let sum: f64 = shares.iter().sum();
        Figures {
            per_second: granted.len() as f64 / window.as_secs_f64(),
            wait: [of_waits(50), of_waits(99)],
            fairness: sum * sum / (f64::from(clients) * squares),
            late: quarters[3] / quarters[0],
            run_max: granted.chunk_by(|one, next| one == next).map(<[_]>::len).max().unwrap_or(0),
        }
    }
}

#[test]
fn the_queue_is_fair_on_real_nodes_and_the_old_lock_is_not() {
    let Some(real) = three_nodes(false) else { return };
    let asked = std::env::var("PICKLOCK_CASSANDRA_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let window = Duration::from_secs(asked.unwrap_or(6));
    let threads: &[u8] = if asked.is_some() { &[1, 2, 4, 8, 16] } else { &[4] };
    let shadow = cassandra_shadow::Settings {
        ttl_seconds: Some(TTL_SECONDS),
        ..cassandra_shadow::Settings::as_written()
    };
    let queue = |lock| cassandra_queue::Settings {
        ttl_seconds: Some(TTL_SECONDS),
        poll_interval: POLL_INTERVAL,
        ..lock
    };
    println!(
        "{:<28}{:>8}{:>9}{:>9}{:>9}{:>8}{:>9}{:>8}",
        "lock, threads", "hold ms", "a second", "p50 ms", "p99 ms", "Jain", "max run", "late"
    );
    for hold in [0, 10] {
        for &clients in threads {
            let hold = Micros::millis(hold);
            let old = measured::<CassandraShadow>(&real, "cassandra-shadow", shadow, (clients, hold), window);
            let as_written = queue(cassandra_queue::Settings::as_written());
            let new =
                measured::<CassandraQueue>(&real, "cassandra-queue", as_written, (clients, hold), window);
            let repaired = queue(cassandra_queue::Settings::repaired());
            let name = "cassandra-queue-repaired";
            let fenced = measured::<CassandraQueue>(&real, name, repaired, (clients, hold), window);
            for queue in [new, fenced] {
                assert!(queue.fairness > 0.99, "{clients} threads: {}", queue.fairness);
                // Who has just had it is the first to come for it again, where nobody queues.
                assert!(clients == 1 || old.run_max > queue.run_max, "{clients} threads");
            }
        }
    }
}

fn measured<L: OnCassandra>(
    real: &crate::real::Real,
    name: &str,
    lock: L::Settings,
    (clients, hold): (u8, Micros),
    window: Duration,
) -> Figures {
    let stage = Stage::<L>::new(lock, clients, ROUNDS_WITHOUT_END).thinking(Micros::ZERO).holding(hold);
    let told = stage.on_nodes(3).play(real, &[], WARM_UP + window);
    assert!(!told.breaks(Promise::MutualExclusion), "{:?}", told.violations);
    let figures = Figures::of(&told, clients, window);
    let Figures { per_second, wait: [half, most], fairness, run_max, late } = &figures;
    let [half, most] = [half, most].map(|wait| wait.as_secs_f64() * 1_000.0);
    println!(
        "{:<28}{:>8}{per_second:>9.1}{half:>9.1}{most:>9.1}{fairness:>8.2}{run_max:>9}{late:>8.2}",
        format!("{name}, {clients}"),
        hold.0 / 1_000
    );
    figures
}

/// Whoever was granted the lock has left a tombstone in the queue's row, for ten days unless told otherwise. A look at the first in the
/// queue reads past all of them, and a node gives up at so many (`cassandra.yaml` `tombstone_failure_threshold`). The simulators
/// read past any number, and take no time for it.
#[test]
fn nobody_is_granted_a_lock_that_was_granted_a_hundred_thousand_times_within_ten_days() {
    let Some(real) = three_nodes(false) else { return };
    let place = Place { dialect: Dialect::Cells, table: "cells".to_owned(), sequence: "worn out".to_owned() };
    let row = cassandra_tables::row(QUEUE, LockId(0));
    let read =
        place.statement(&Operation::ReadSlice { row, from: None, count: 1 }).expect("it has words for it");
    let mut connection = real.connect(0);
    delete(&mut connection, &place, row, 0..90_000);
    assert!(matches!(connection.ask(&read, Level::Quorum), Answer::Rows { rows, .. } if rows.is_empty()));
    delete(&mut connection, &place, row, 90_000..100_001);
    match connection.ask(&read, Level::Quorum) {
        Answer::Error { code: READ_FAILURE, message } => println!("{message}"),
        other => panic!("{other:?}"),
    }
}

/// Why the two locks come in another order than on simulated nodes: what a statement takes here is work, not a message's way. And a look
/// at the first of the queue reads past each tombstone before it.
#[test]
fn what_a_look_at_a_queue_takes_is_measured() {
    let Some(real) = three_nodes(false) else { return };
    let row = cassandra_tables::row(QUEUE, LockId(0));
    let mut connection = real.connect(0);
    for tombstones in [0, 500, 5_000] {
        let sequence = format!("{tombstones} tombstones");
        let place = Place { dialect: Dialect::Cells, table: "cells".to_owned(), sequence };
        delete(&mut connection, &place, row, 0..tombstones);
        let (table, key) = (place.table(), place.key(row));
        let write = format!("UPDATE {table} SET value = 0x01 WHERE key = '{key}' AND name = '99999999'");
        let look = format!("SELECT name, value FROM {table} WHERE key = '{key}' LIMIT 1");
        let mut median = |statement: &str| {
            let mut took: Vec<Duration> = (0..300)
                .map(|_| {
                    let since = clock::now();
                    let answer = connection.ask(statement, Level::Quorum);
                    assert!(!matches!(answer, Answer::Error { .. }), "{answer:?}");
                    Duration::from_micros(clock::now().0.abs_diff(since.0))
                })
                .collect();
            took.sort_unstable();
            took[took.len() / 2]
        };
        // Once for nothing: a process that has just begun is slow at anything.
        let [write, look] = [&write, &look].map(|statement| (median(statement), median(statement)).1);
        println!(
            "{tombstones} tombstones: a write takes {write:?}, a look at the first {look:?} (medians of 300)"
        );
    }
}

const READ_FAILURE: i32 = 0x1300;

/// What is left of clients that had these numbers for a name in the queue.
fn delete(
    connection: &mut Connection,
    place: &Place,
    row: picklock_model::stores::cassandra::Row,
    numbers: std::ops::Range<u32>,
) {
    let (table, key) = (place.table(), place.key(row));
    let numbers: Vec<u32> = numbers.collect();
    for some in numbers.chunks(50) {
        let each =
            |number: &u32| format!("DELETE value FROM {table} WHERE key = '{key}' AND name = '{number:08}';");
        let statements: String = some.iter().map(each).collect();
        let answer = connection.ask(&format!("BEGIN UNLOGGED BATCH {statements} APPLY BATCH"), Level::All);
        assert_eq!(answer, Answer::Void);
    }
}
