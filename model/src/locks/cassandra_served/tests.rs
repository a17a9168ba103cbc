//! The two services' machines alone, entered by hand.

use super::*;
use crate::locks::cassandra_tables::{self, TIME};
use crate::machine::{Message, Node};
use crate::stores::cassandra::{
    Change, ColumnName, Found, Mutation, Outcome, Prefix, Row, Target, ThreadId, Value,
};
use picklock_properties::LockId;
use smallvec::smallvec;

/// A service's process, its clocks, and what it asked last.
struct Bench {
    machine: CassandraServed,
    settings: Settings,
    wall: i64,
    monotonic: i64,
    asked: Option<Request>,
}

impl Bench {
    fn new(settings: Settings) -> Bench {
        let machine = CassandraServed::new(settings.threads, &settings);
        Bench { machine, settings, wall: 100, monotonic: 0, asked: None }
    }

    fn enter(&mut self, entry: impl FnOnce(&mut CassandraServed, &Cx, &mut Out)) {
        let mut out = Out::default();
        let cx = Context {
            me: self.settings.threads,
            servers: 3,
            wall: Wall(self.wall),
            monotonic: Monotonic(self.monotonic),
            choice: 0,
            settings: &self.settings,
        };
        entry(&mut self.machine, &cx, &mut out);
        assert!(out.events.is_empty() && out.answer.is_none(), "a service tells nobody anything");
        self.asked = out.sends.pop().map(|(to, message)| match (to, message) {
            (Node::Server(_), Message::Request(request)) => request,
            (to, message) => panic!("a service sends {message:?} to {to}"),
        });
    }

    /// Waits until it wants to be woken.
    fn wake(&mut self) {
        match self.machine.deadline(&self.settings) {
            Some(Due::Monotonic(at)) => self.monotonic = self.monotonic.max(at.0),
            deadline => panic!("it waits by {deadline:?}"),
        }
        self.enter(|machine, cx, out| machine.on_deadline(cx, out));
    }

    fn reply(&mut self, outcome: Outcome) {
        let serial = self.asked.as_ref().expect("it has asked").serial;
        self.enter(|machine, cx, out| machine.on_reply(0, Reply { serial, outcome }, cx, out));
    }

    /// What it writes or deletes, and with which timestamps.
    fn mutations(&self) -> Vec<(Row, ColumnName, Option<Value>, Option<Wall>)> {
        let seen = |mutation: &Mutation| {
            let Target::Column(name) = mutation.target else { panic!("it names its columns") };
            let value = match mutation.change {
                Change::Put { value, .. } => Some(value),
                Change::Delete => None,
            };
            (mutation.row, name, value, mutation.timestamp)
        };
        match self.asked.as_ref().map(|request| &request.operation) {
            Some(Operation::Write(mutation)) => vec![seen(mutation)],
            Some(Operation::Batch(mutations)) => mutations.iter().map(seen).collect(),
            Some(Operation::ReadSlice { .. } | Operation::Conditional { .. }) | None => Vec::new(),
        }
    }

    fn reads(&self) -> Option<Row> {
        match self.asked.as_ref()?.operation {
            Operation::ReadSlice { row, .. } => Some(row),
            Operation::Write(_) | Operation::Batch(_) | Operation::Conditional { .. } => None,
        }
    }
}

const CELL: ColumnName = ColumnName { prefix: Prefix::None, thread: ThreadId(0) };
const MAIN: Row = cassandra_tables::row(cassandra_tables::MAIN, LockId(0));

fn stored(at: i64) -> Outcome {
    Outcome::Slice(smallvec![(CELL, Value::Time(Wall(at)))])
}

fn nothing() -> Outcome {
    Outcome::Slice(Found::new())
}

/// A replica that took its local time at 100, found this, and handles it at 105.
fn publishes(settings: Settings, found: Outcome) -> Vec<(Option<Value>, Option<Wall>)> {
    let mut replica = Bench::new(settings);
    replica.wake();
    assert_eq!(replica.reads(), Some(TIME));
    replica.wall = 105;
    replica.reply(found);
    replica.mutations().into_iter().map(|(_, _, value, timestamp)| (value, timestamp)).collect()
}

#[test]
fn a_replica_publishes_the_local_time_that_it_took_first_if_the_stored_one_is_smaller() {
    let published = vec![(Some(Value::Time(Wall(100))), Some(Wall(105)))];
    assert_eq!(publishes(Settings::timed(), nothing()), published);
    assert_eq!(publishes(Settings::timed(), stored(99)), published);
    assert_eq!(publishes(Settings::timed(), stored(100)), []);
    assert_eq!(publishes(Settings::timed(), stored(200)), []);
}

#[test]
fn a_repaired_replica_publishes_more_than_what_is_stored_and_stamps_it_with_itself() {
    let published = |at| vec![(Some(Value::Time(Wall(at))), Some(Wall(at)))];
    assert_eq!(publishes(Settings::timed_repaired(), stored(99)), published(100));
    assert_eq!(publishes(Settings::timed_repaired(), stored(200)), published(201));
}

#[test]
fn a_replica_goes_on_after_whatever_became_of_its_attempt() {
    for outcome in [Outcome::Applied, Outcome::TimedOut] {
        let mut replica = Bench::new(Settings::timed());
        replica.wake();
        replica.reply(nothing());
        replica.reply(outcome);
        replica.wake();
        assert_eq!(replica.reads(), Some(TIME));
    }
    // Nobody answered: a period later the next attempt, at the next server.
    let mut replica = Bench::new(Settings::timed());
    replica.wake();
    replica.wake();
    assert_eq!(replica.asked, None);
    replica.wake();
    assert_eq!(replica.reads(), Some(TIME));
}

#[test]
fn a_late_reply_is_dismissed() {
    let mut replica = Bench::new(Settings::timed());
    replica.wake();
    let late = Reply { serial: 1, outcome: nothing() };
    replica.wake();
    assert!(replica.machine.dismisses(&late));
    let before = replica.machine.clone();
    replica.enter(|machine, cx, out| machine.on_reply(0, late, cx, out));
    assert_eq!((replica.asked.clone(), replica.machine.clone()), (None, before));
}

/// One look of a keeper at a main row that holds this.
fn look(keeper: &mut Bench, main: Outcome) {
    keeper.wake();
    keeper.reply(nothing());
    assert_eq!(keeper.reads(), Some(MAIN));
    keeper.reply(main);
}

#[test]
fn a_keeper_deletes_a_cell_that_it_has_seen_unchanged_for_the_lease() {
    let mut keeper = Bench::new(Settings::kept());
    look(&mut keeper, stored(50));
    let since = keeper.monotonic;
    while keeper.mutations().is_empty() {
        assert!(keeper.monotonic < since + Micros::seconds(40).0, "it never does");
        look(&mut keeper, stored(50));
    }
    assert_eq!(keeper.monotonic, since + Micros::seconds(30).0);
    assert_eq!(keeper.mutations(), [(MAIN, CELL, None, Some(Wall(100)))]);
    keeper.reply(Outcome::Applied);
    look(&mut keeper, stored(50));
    assert_eq!(keeper.mutations(), [], "what is still there gets its whole lease again");
}

#[test]
fn a_keeper_leaves_a_cell_that_changes() {
    let mut keeper = Bench::new(Settings::kept());
    for renewal in 0..100 {
        look(&mut keeper, stored(renewal / 15));
        assert_eq!(keeper.mutations(), []);
    }
}

#[test]
fn a_repaired_keeper_counts_to_when_it_asked_and_deletes_only_what_it_saw() {
    let mut keeper = Bench::new(Settings::kept_repaired());
    look(&mut keeper, stored(50));
    keeper.wake();
    keeper.reply(nothing());
    keeper.monotonic += Micros::seconds(60).0;
    keeper.reply(stored(50));
    assert_eq!(keeper.mutations(), [], "the row was read before the pause");
    look(&mut keeper, stored(50));
    assert_eq!(keeper.mutations(), [(MAIN, CELL, None, Some(Wall(50)))]);
}

#[test]
fn a_keeper_that_starts_again_has_seen_nothing() {
    let mut keeper = Bench::new(Settings::kept());
    look(&mut keeper, stored(50));
    keeper.monotonic += Micros::seconds(60).0;
    keeper.enter(|machine, cx, _| machine.on_restart(cx));
    look(&mut keeper, stored(50));
    assert_eq!(keeper.mutations(), []);
}
