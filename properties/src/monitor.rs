//! A monitor folds the events of a run into a verdict.

use crate::history::{ClientId, Event};
use std::hash::Hash;

/// Judges one promise, event by event.
///
/// A monitor holds only what it needs to judge what is still to come: it is hashed with every state of an exhaustive
/// search, and a monitor that kept the history would make every path a state of its own. Two histories after which the
/// same futures are violations should leave equal monitors.
pub trait Monitor: Clone + Eq + Hash + std::fmt::Debug {
    /// Takes the next event of the history; `Err` if it breaks the promise. After an `Err` the monitor goes on as if
    /// the event had been legal, so that a run can be watched past its first violation.
    fn observe(&mut self, event: Event) -> Result<(), Violation>;
}

/// A promise was broken: which one, by whom, against whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Violation {
    /// The broken promise.
    pub promise: crate::Promise,
    /// The client whose step broke it.
    pub client: ClientId,
    /// The other party: the client that already held, was overtaken, was superseded by… `client` itself where there
    /// is no second one.
    pub other: ClientId,
}
