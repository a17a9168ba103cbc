//! What the store promises.
//!
//! - `one_server`: a single server against a plain reference
//! - `expiry`: when a key dies, by which clock, and what steps of the clock do to it
//! - `durability`: persistence, crashes, the delay after a restart
//! - `memory`: eviction, and the other tenant
//! - `replication`: how replicas follow, `WAIT`
//! - `failover`: who is master
//! - `losses`: when a record counts as gone
//! - `schedules`: random orders, losses and crashes; what the visitor is shown is all there is of time
//! - `cluster`: the driver of all of them

mod cluster;
mod durability;
mod expiry;
mod failover;
mod losses;
mod memory;
mod one_server;
mod replication;
mod schedules;

use super::*;
use crate::locks::redis_keys;
use crate::names::Word;
use picklock_properties::{ClientId, Event, LockId};

// Any keys would do; the changes of these mean something to the locks here.
const LOCK: Key = redis_keys::lock_key(LockId(0));
const COUNTER: Key = redis_keys::counter_key(LockId(0));
/// A key that no lock here knows.
const FOREIGN: Key = Key { word: Word(2), number: 1 };

/// The `serial`th signature of the client.
fn token(client: u8, serial: u32) -> Value {
    Value::Token(Token { client, serial })
}

/// `SET lock <client>#1 NX PX ttl`.
fn take(client: u8, ttl_ms: i64) -> Command {
    Command::Set { key: LOCK, value: token(client, 1), if_absent: true, ttl: Some(Millis(ttl_ms)) }
}

/// `SET key value`.
fn set(key: Key, value: Value) -> Command {
    Command::Set { key, value, if_absent: false, ttl: None }
}

/// The release script.
fn release(client: u8) -> Command {
    Command::CompareAndDelete { key: LOCK, value: token(client, 1) }
}

/// The client's record is gone from the server.
fn gone(client: u8, server: u8) -> Event {
    Event::RecordGone { client: ClientId(client), lock: LockId(0), server }
}
