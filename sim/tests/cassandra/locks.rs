//! The locks on Cassandra, on real nodes: the machines that the simulators run. Who holds when is judged by the same monitors.
//!
//! What is staged is what happens to clients and to nodes; what the nodes make of it is their own affair.
//!
//! `PICKLOCK_CASSANDRA_MINUTES=10` has ten threads on three nodes take the lock for so long, and not just twice each.

use crate::cql::{Answer, Level};
use crate::one_node::make;
use crate::real::Real;
use crate::stage::{Happening, OnCassandra, Stage, Told, at_once};
use crate::three_nodes::three_nodes;
use crate::words::{Dialect, Place};
use picklock_model::locks::cassandra_lwt::{self, CassandraLwt};
use picklock_model::locks::cassandra_queue::{self, CassandraQueue, RetryDeletes, Timestamps};
use picklock_model::locks::cassandra_tables::{self, MAIN, QUEUE};
use picklock_model::stores::cassandra::{Change, Mutation, Operation};
use picklock_model::time::Micros;
use picklock_model::workload::ROUNDS_WITHOUT_END;
use picklock_properties::{LockId, Promise};
use std::time::Duration;

/// Nodes with a table for the locks.
fn start(nodes: u8) -> Option<Real> {
    let real = Real::start(nodes, false)?;
    let mut connection = real.connect(0);
    make(&mut connection, nodes);
    assert_eq!(connection.ask(&Place::create("cells", Dialect::Cells, &[]), Level::One), Answer::Void);
    Some(real)
}

/// Without a time-out: whatever is late, is waited for.
fn queue() -> cassandra_queue::Settings {
    cassandra_queue::Settings {
        ttl_seconds: None,
        request_timeout: None,
        ..cassandra_queue::Settings::as_written()
    }
}

/// The second one's cells expire in a later second than the first one's.
const LATER: Micros = Micros::millis(1_500);

fn reads_main(operation: &Operation) -> bool {
    matches!(operation, Operation::ReadSlice { row, .. } if row.table == MAIN)
}

fn deletes_main(operation: &Operation) -> bool {
    matches!(operation, Operation::Write(Mutation { row, change: Change::Delete, .. }) if row.table == MAIN)
}

fn reads_queue(operation: &Operation) -> bool {
    matches!(operation, Operation::ReadSlice { row, .. } if row.table == QUEUE)
}

fn is_deletion(operation: &Operation) -> bool {
    matches!(operation, Operation::Write(Mutation { change: Change::Delete, .. }))
}

fn is_conditional(operation: &Operation) -> bool {
    matches!(operation, Operation::Conditional { .. })
}

/// Whoever wants to hold, fights for it.
fn contended<L: OnCassandra>(real: &Real, nodes: u8, lock: L::Settings, (clients, rounds): (u8, u8)) -> Told {
    let stage = Stage::<L>::new(lock, clients, rounds).holding(Micros::millis(3)).on_nodes(nodes);
    let told = stage.play(real, &[], Duration::from_secs(900));
    assert_eq!(told.violations, []);
    assert_eq!(told.grants(), usize::from(clients) * usize::from(rounds), "{told:?}");
    told
}

#[test]
fn nobody_enters_while_another_holds() {
    let Some(real) = start(1) else { return };
    contended::<CassandraQueue>(&real, 1, cassandra_queue::Settings::as_written(), (4, 6));
    contended::<CassandraQueue>(&real, 1, cassandra_queue::Settings::repaired(), (4, 6));
    let lwt = |settings| cassandra_lwt::Settings { poll_interval: Micros::millis(20), ..settings };
    contended::<CassandraLwt>(&real, 1, lwt(cassandra_lwt::Settings::as_written()), (4, 6));
    contended::<CassandraLwt>(&real, 1, lwt(cassandra_lwt::Settings::repaired()), (4, 6));
}

/// Row C1. The second in the queue is there first, and its read is late; the first finds two records, deletes its own, and its clock
/// steps back: the record that it adds again is hidden by its own tombstone.
fn a_clock_steps_back(real: &Real) {
    at_once([(false, true), (true, false)], |(own_id_check, is_broken)| {
        let timestamps = if own_id_check { Timestamps::ClientMonotonic } else { Timestamps::ClientWall };
        let lock = cassandra_queue::Settings { own_id_check, timestamps, ..queue() };
        let happens = [
            (0, Happening::ClockStepsBack { of: deletes_main, by: Micros::seconds(1) }),
            (1, Happening::RequestLate { of: reads_main, by: Duration::from_secs(2) }),
        ];
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).behind(0, Micros::seconds(100));
        let stage = stage.late(0, Micros::millis(700)).holding(Micros::seconds(4));
        let told = stage.play(real, &happens, Duration::from_secs(20));
        assert_eq!(told.breaks(Promise::MutualExclusion), is_broken, "{told:?}");
        assert!(told.grants() >= 1, "{told:?}");
    });
}

/// Row C2. The first one's read of the main row is so late that its record has expired, and finds the second one's alone.
fn a_late_read_finds_somebody_elses_record(real: &Real) {
    at_once([(false, true), (true, false)], |(own_id_check, is_broken)| {
        let lock = cassandra_queue::Settings { ttl_seconds: Some(3), own_id_check, ..queue() };
        let late = [(0, Happening::RequestLate { of: reads_main, by: Duration::from_secs(6) })];
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).holding(Micros::seconds(5));
        let told = stage.late(1, LATER).play(real, &late, Duration::from_secs(16));
        assert_eq!(told.breaks(Promise::MutualExclusion), is_broken, "{told:?}");
        assert!(told.grants() >= 1, "{told:?}");
    });
}

/// Row C3. The process hangs, and its renewer with it. No lease can help; the tokens still tell the two apart.
fn a_paused_holder_outlives_its_record(real: &Real) {
    at_once([false, true], |fencing| {
        let lock = cassandra_queue::Settings { ttl_seconds: Some(3), fencing, own_id_check: true, ..queue() };
        let hangs = [(0, Happening::HangsWhenGranted(Duration::from_secs(6)))];
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).holding(Micros::seconds(4));
        let told = stage.late(1, LATER).play(real, &hangs, Duration::from_secs(16));
        assert!(told.breaks(Promise::MutualExclusion), "{told:?}");
        assert_eq!(told.tokens_grow(), fencing, "{told:?}");
    });
}

/// Row C4. The holder hangs for longer than its record lasts, and its renewer writes the record again when another one holds.
fn a_renewer_takes_the_lease_back(real: &Real) {
    at_once([(false, true), (true, false)], |(conditional_renewal, is_broken)| {
        let lock = cassandra_queue::Settings { ttl_seconds: Some(3), conditional_renewal, ..queue() };
        let hangs = [(0, Happening::HangsWhenGranted(Duration::from_secs(6)))];
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).holding(Micros::seconds(9));
        let told = stage.late(1, LATER).play(real, &hangs, Duration::from_secs(24));
        assert!(told.breaks(Promise::MutualExclusion), "{told:?}");
        assert_eq!(told.breaks(Promise::LeaseLoss), is_broken, "{told:?}");
    });
}

/// Rows C7 and C8. Who is first in the queue, or holds, is heard of no more.
fn who_is_gone_stays_in_the_way(real: &Real) {
    let at_the_head = Happening::Gone { before: reads_queue };
    let releasing = Happening::Gone { before: is_deletion };
    let cases =
        [(None, at_the_head, 0), (Some(3), at_the_head, 1), (None, releasing, 1), (Some(3), releasing, 2)];
    at_once(cases, |(ttl_seconds, gone, grants)| {
        let lock = cassandra_queue::Settings { ttl_seconds, waiters_renew: true, ..queue() };
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).late(1, Micros::millis(500));
        let told = stage.play(real, &[(0, gone)], Duration::from_secs(12));
        assert_eq!(told.grants(), grants, "{ttl_seconds:?} {gone:?} {told:?}");
    });
}

/// Row C6. A hold is longer than the time to live of a waiter's cell.
fn a_waiters_cell_expires(real: &Real) {
    at_once([(false, 1), (true, 2)], |(waiters_renew, grants)| {
        let lock = cassandra_queue::Settings { ttl_seconds: Some(3), waiters_renew, ..queue() };
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).holding(Micros::seconds(5));
        let told = stage.late(1, Micros::millis(500)).play(real, &[], Duration::from_secs(14));
        assert_eq!(told.grants(), grants, "{told:?}");
        assert_eq!(told.violations, []);
    });
}

/// Row C16. Both find one record, and it is everybody's.
fn two_threads_with_one_name(real: &Real) {
    at_once([(true, true), (false, false)], |(shared_thread_id, is_broken)| {
        let lock = cassandra_queue::Settings { shared_thread_id, ..queue() };
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).late(1, Micros::millis(300));
        let told = stage.play(real, &[], Duration::from_secs(10));
        assert_eq!(told.breaks(Promise::MutualExclusion), is_broken, "{told:?}");
        assert_eq!(told.grants(), 2, "{told:?}");
    });
}

/// Row C29. The answer to the insert is lost; who repeats it is refused by itself.
fn a_repeated_insert_waits_for_itself(real: &Real) {
    at_once([(false, 0), (true, 1)], |(own_value_is_success, grants)| {
        let lock = cassandra_lwt::Settings {
            own_value_is_success,
            request_timeout: Some(Micros::seconds(1)),
            ..cassandra_lwt::Settings::as_written()
        };
        let lost = [(0, Happening::AnswerLost { of: is_conditional })];
        let told = Stage::<CassandraLwt>::new(lock, 1, 1).play(real, &lost, Duration::from_secs(8));
        assert_eq!(told.grants(), grants, "{told:?}");
    });
}

/// Row C31. The deletion of the main row's record is lost, and nothing expires.
fn a_lost_deletion_stays_in_the_way(real: &Real) {
    at_once([(RetryDeletes::Never, 1), (RetryDeletes::Unanswered, 2)], |(retry_deletes, grants)| {
        let lock =
            cassandra_queue::Settings { retry_deletes, request_timeout: Some(Micros::seconds(1)), ..queue() };
        let lost = [(0, Happening::RequestLost { of: deletes_main })];
        let stage = Stage::<CassandraQueue>::new(lock, 2, 1).late(1, Micros::millis(500));
        let told = stage.play(real, &lost, Duration::from_secs(8));
        assert_eq!(told.grants(), grants, "{told:?}");
    });
}

/// One node serves them all, in plays of their own at the same time: most of a play is waiting.
#[test]
fn failures_of_the_catalogue_are_seen() {
    let Some(real) = start(1) else { return };
    type Play = fn(&Real);
    let rows: [(&str, Play); 9] = [
        ("C1", a_clock_steps_back),
        ("C2", a_late_read_finds_somebody_elses_record),
        ("C3", a_paused_holder_outlives_its_record),
        ("C4", a_renewer_takes_the_lease_back),
        ("C7 and C8", who_is_gone_stays_in_the_way),
        ("C6", a_waiters_cell_expires),
        ("C16", two_threads_with_one_name),
        ("C29", a_repeated_insert_waits_for_itself),
        ("C31", a_lost_deletion_stays_in_the_way),
    ];
    at_once(rows, |(row, play)| {
        play(&real);
        println!("{row}: seen as the catalogue says");
    });
}

/// A name whose rows node 1 reads with node 2, and never with node 0: an order that does not change is that of the ring, which begins
/// where the row's token is.
fn name_that_node_1_reads_with_node_2(real: &Real, what: &str) -> String {
    let mut connection = real.connect(0);
    for number in 0.. {
        let sequence = format!("{what} {number}");
        let place = Place { dialect: Dialect::Cells, table: "cells".to_owned(), sequence: sequence.clone() };
        let is_well = [MAIN, QUEUE].into_iter().all(|table| {
            let (key, table) = (place.key(cassandra_tables::row(table, LockId(0))), place.table());
            connection.ask(
                &format!("UPDATE {table} SET value = 0x WHERE key = '{key}' AND name = 'x'"),
                Level::All,
            );
            let found =
                connection.ask(&format!("SELECT token(key) FROM {table} WHERE key = '{key}'"), Level::One);
            connection.ask(&format!("DELETE FROM {table} WHERE key = '{key}' AND name = 'x'"), Level::All);
            let Answer::Rows { rows, .. } = found else { panic!("{found:?}") };
            let bytes = rows[0][0].clone().expect("a token");
            let token = i64::from_be_bytes(bytes.try_into().expect("eight bytes"));
            Real::TOKENS[0] < token && token <= Real::TOKENS[1]
        });
        if is_well {
            return sequence;
        }
    }
    unreachable!("there are many names")
}

/// Nodes do nothing for a while: stopped and going on by signals.
fn paused(real: &Real, nodes: &[u8], from: Duration, until: Duration, play: impl FnOnce()) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(from);
            nodes.iter().for_each(|node| real.pause_node(*node));
            std::thread::sleep(until - from);
            nodes.iter().for_each(|node| real.resume_node(*node));
        });
        play();
    });
}

/// Row C2 by a pause of the coordinator: the read lies in its socket until the record has expired.
fn a_paused_coordinator_reads_somebody_elses_record(real: &Real) {
    let cases = [(false, true), (true, false)];
    let names = cases
        .map(|(own_id_check, _)| name_that_node_1_reads_with_node_2(real, &format!("C2 {own_id_check}")));
    paused(real, &[0], Duration::from_millis(800), Duration::from_millis(6_000), || {
        at_once(cases.into_iter().zip(names), |((own_id_check, is_broken), name)| {
            let lock = cassandra_queue::Settings { ttl_seconds: Some(3), own_id_check, ..queue() };
            // It is sent when nobody reads it.
            let late = [(0, Happening::RequestLate { of: reads_main, by: Duration::from_millis(1_200) })];
            let stage = Stage::<CassandraQueue>::new(lock, 2, 1).holding(Micros::seconds(6)).on_nodes(3);
            let told = stage.about(name).late(1, LATER).play(real, &late, Duration::from_secs(16));
            assert_eq!(told.breaks(Promise::MutualExclusion), is_broken, "{told:?}");
            assert!(told.grants() >= 1, "{told:?}");
        });
    });
}

#[test]
fn a_failure_that_takes_three_nodes_is_seen() {
    let Some(real) = three_nodes(false) else { return };
    let as_written = cassandra_queue::Settings::as_written();
    let told = match std::env::var("PICKLOCK_CASSANDRA_MINUTES").ok().and_then(|number| number.parse().ok()) {
        None => contended::<CassandraQueue>(&real, 3, as_written, (10, 2)),
        Some(minutes) => {
            let stage = Stage::<CassandraQueue>::new(as_written, 10, ROUNDS_WITHOUT_END);
            let stage = stage.holding(Micros::millis(3)).on_nodes(3);
            let told = stage.play(&real, &[], Duration::from_mins(minutes));
            assert_eq!(told.violations, []);
            told
        }
    };
    assert!(told.grants() >= 20, "{} grants", told.grants());
    println!("{} grants to ten threads on three nodes, never two at a time", told.grants());
    a_paused_coordinator_reads_somebody_elses_record(&real);
    println!("C2 seen with a paused node, and not seen where it is repaired");
}
