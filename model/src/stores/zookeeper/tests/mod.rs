//! What the servers and the client's library promise.
//!
//! - `tree`: what the operations do, and why they fail
//! - `watches`: when an event comes, how often, and before what
//! - `sessions`: how they are held, lost and ended
//! - `stream`: lost, doubled and reordered messages on a connection
//! - `replication`: one order, quorums, lag, gaps
//! - `leaders`: leader change and restarts
//! - `ensemble`: the driver of all of them

mod ensemble;
mod leaders;
mod replication;
mod sessions;
mod stream;
mod tree;
mod watches;

use super::session::{Notice, SessionSettings};
use super::*;
use crate::locks::zookeeper_paths;
use crate::time::Micros;
use ensemble::Ensemble;
use picklock_properties::LockId;

// Any znodes would do; the changes of these mean something to the recipe here.
const LOCK: Path = zookeeper_paths::parent_path(LockId(0));
const WORK: Path = zookeeper_paths::work_path(LockId(0));

/// A place in the lock's queue, to be numbered by the server.
const PLACE: Path = zookeeper_paths::place_path(LockId(0), None);

fn guarded(client: u8, serial: u32) -> Path {
    zookeeper_paths::place_path(LockId(0), Some(Guid { client, serial }))
}

fn numbered(number: i32) -> Path {
    PLACE.with_suffix(Some(Suffix::Number(number)))
}

fn create(path: Path, mode: CreateMode) -> Operation {
    Operation::Write(Write::Create { path, mode, data: 0 })
}

fn delete(path: Path) -> Operation {
    Operation::Write(Write::Delete { path, version: None })
}

fn set(path: Path, data: u32, version: Option<i32>) -> Operation {
    Operation::Write(Write::SetData { path, data, version })
}

fn enqueue() -> Operation {
    create(PLACE, CreateMode::EphemeralSequential)
}

fn exists(path: Path) -> Operation {
    Operation::Exists { path, watch: false }
}

fn watch(path: Path) -> Operation {
    Operation::Exists { path, watch: true }
}

fn get(path: Path) -> Operation {
    Operation::GetData { path, watch: false }
}

fn children(path: Path) -> Operation {
    Operation::GetChildren { path, watch: false }
}

/// The path of what was created.
fn created(outcome: Outcome) -> Path {
    match outcome {
        Outcome::Applied(Applied::Created { path, .. }) => path,
        outcome => panic!("nothing was created: {outcome:?}"),
    }
}

fn failed(error: Error) -> Outcome {
    Outcome::Failed(error)
}

const DONE: Outcome = Outcome::Applied(Applied::Done);

const ELECTION: Election = Election { heartbeat: Micros::millis(500), timeout: Micros::seconds(2) };

fn electing() -> Settings {
    Settings { election: Some(ELECTION), ..Settings::default() }
}
