//! What the store promises.
//!
//! - `cells`: which of two cells wins, and when a cell is live
//! - `one_server`: a single server against a plain reference
//! - `replication`: consistency levels, convergence, time-outs, repair
//! - `conditional`: lightweight transactions
//! - `durability`: restarts and the commit log
//! - `hints`: hinted handoff, and reads that pass too many tombstones
//! - `settling`: forgetting changes no answer
//! - `cluster`: the driver of all of them

mod cells;
mod cluster;
mod conditional;
mod durability;
mod hints;
mod one_server;
mod replication;
mod settling;

use super::*;
use crate::locks::cassandra_tables;
use crate::time::EPOCH_UNIX_MICROS;

const A: ThreadId = ThreadId(0);
const B: ThreadId = ThreadId(1);
// Any tables would do.
const MAIN: Row = Row { table: cassandra_tables::MAIN, key: 0 };
const QUEUE: Row = Row { table: cassandra_tables::QUEUE, key: 0 };

/// The column named by the thread alone.
fn plain(thread: ThreadId) -> ColumnName {
    ColumnName { prefix: Prefix::None, thread }
}

/// Writes `thread`'s column in the main row; `timestamp` is the client's.
fn put(thread: ThreadId, timestamp: i64, ttl_seconds: Option<u32>) -> Mutation {
    change(thread, timestamp, Change::Put { value: Value::Number(1), ttl_seconds })
}

/// Deletes it.
fn delete(thread: ThreadId, timestamp: i64) -> Mutation {
    change(thread, timestamp, Change::Delete)
}

fn change(thread: ThreadId, timestamp: i64, change: Change) -> Mutation {
    Mutation { row: MAIN, target: Target::Column(plain(thread)), change, timestamp: Some(Wall(timestamp)) }
}

/// Reads the main row.
fn read_main() -> Operation {
    Operation::ReadSlice { row: MAIN, from: None, count: 100 }
}
