//! What a member promises.
//!
//! - `reference`: the scenarios of etcd's own reference model
//! - `cluster`: several members, and a network between them
//! - `clients`: what a client does with several members, and they for it
//! - `leaders`: writes, reads and leases when another member leads
//! - `raft`: what members agree about, and flaws that break it
//! - `transactions`: comparisons, branches, what is refused
//! - `ranges`: old revisions, bounds, order, limits, compaction
//! - `leases`: when they end, and what goes with them. `keep_alives`: what is promised of them, and kept or not
//! - `watches`: which events come, and in what order

mod clients;
mod cluster;
mod keep_alives;
mod leaders;
mod leases;
mod raft;
mod ranges;
mod reference;
mod transactions;
mod watches;

use super::*;
use crate::locks::EtcdMutex;
use crate::machine::{Lock, Node};
use crate::time::Monotonic;
use picklock_properties::{ClientId, Event, LockId};

/// One member, and the time.
struct Member {
    etcd: Etcd,
    settings: Settings,
    monotonic: Monotonic,
    wall: Wall,
    serial: u32,
    /// What came unasked, or later: to whom, and what.
    told: Vec<(u8, Reply)>,
    events: Vec<Event>,
}

impl Member {
    fn new(settings: Settings) -> Member {
        Member {
            etcd: Etcd::new(0, 1, &settings),
            settings,
            monotonic: Monotonic(0),
            wall: Wall(0),
            serial: 100,
            told: Vec::new(),
            events: Vec::new(),
        }
    }

    fn step(&mut self, step: impl FnOnce(&mut Etcd, &Cx, &mut Out)) -> Vec<(u8, Reply)> {
        let mut out = Out::default();
        let Member { monotonic, wall, settings, .. } = *self;
        let cx = Context { me: 0, servers: 1, wall, monotonic, choice: 0, settings: &settings };
        step(&mut self.etcd, &cx, &mut out);
        out.read_changes(0, EtcdMutex::means);
        self.events.append(&mut out.events);
        let replies = out.sends.drain(..).map(|(to, message)| match (to, message) {
            (Node::Client(client), Message::Reply(reply)) => (client, reply),
            (to, message) => panic!("a member alone says {message:?} to {to}"),
        });
        replies.collect()
    }

    /// Asks under this number, and returns what is answered to it at once.
    fn ask_as(&mut self, client: u8, serial: u32, operation: Operation) -> Option<Reply> {
        let request = Request::new(serial, operation);
        let replies = self.step(|etcd, cx, out| etcd.on_request(client, request, cx, out));
        let is_answer = |(to, reply): &(u8, Reply)| {
            *to == client && reply.serial == serial && !matches!(reply.outcome, Outcome::Events(_))
        };
        let (mut answers, others): (Vec<_>, Vec<_>) = replies.into_iter().partition(is_answer);
        self.told.extend(others);
        assert!(answers.len() <= 1, "answered twice: {answers:?}");
        answers.pop().map(|(_, reply)| reply)
    }

    fn ask(&mut self, operation: Operation) -> Reply {
        self.serial += 1;
        self.ask_as(0, self.serial, operation).expect("answered at once")
    }

    fn outcome(&mut self, operation: Operation) -> Outcome {
        self.ask(operation).outcome
    }

    fn put(&mut self, name: u16, value: u32) -> Reply {
        self.ask(put(name, value, None))
    }

    /// A lease of client A with this number.
    fn grant(&mut self, serial: u32, ttl: Micros) -> LeaseId {
        let granted = self.ask_as(0, serial, Operation::Grant { ttl: Some(ttl) });
        match granted.expect("answered at once").outcome {
            Outcome::Granted { lease, .. } => lease,
            outcome => panic!("not granted: {outcome:?}"),
        }
    }

    /// Lets time pass, waking the member whenever it wants to be.
    fn wait(&mut self, length: Micros) {
        let end = self.monotonic + length;
        while let Some(Due::Monotonic(at)) = self.etcd.deadline(&self.settings) {
            let due = at.max(self.monotonic);
            if due > end {
                break;
            }
            self.pass(due - self.monotonic);
            let told = self.step(|etcd, cx, out| etcd.on_deadline(cx, out));
            self.told.extend(told);
        }
        self.pass(end - self.monotonic);
    }

    fn pass(&mut self, length: Micros) {
        self.monotonic = self.monotonic + length;
        self.wall = self.wall + length;
    }

    fn restart(&mut self, power_lost: bool) {
        self.step(|etcd, cx, out| etcd.on_restart(power_lost, cx, out));
    }
}

fn key(name: u16) -> Key {
    Key { prefix: 0, name: Name::Word(name) }
}

fn one(name: u16) -> Keys {
    Keys::One(key(name))
}

const ALL: Keys = Keys::Prefix(0);

fn put(name: u16, value: u32, lease: Option<LeaseId>) -> Operation {
    Operation::Put(Put { key: key(name), value: Value::Text(value), lease })
}

fn get(keys: Keys) -> Operation {
    Operation::Range(Range::of(keys))
}

fn delete(name: u16) -> Operation {
    Operation::Delete(one(name))
}

fn compare(name: u16, result: Comparison, target: Target) -> Compare {
    Compare { keys: one(name), result, target }
}

/// Names and values of what was read.
fn seen(outcome: &Outcome) -> Vec<(u16, Value)> {
    let Outcome::Range(found) = outcome else { panic!("nothing was read: {outcome:?}") };
    let word = |kv: &KeyValue| match kv.key.name {
        Name::Word(word) => (word, kv.value),
        name => panic!("{name:?} is no word"),
    };
    found.kvs.iter().map(word).collect()
}
