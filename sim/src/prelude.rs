//! All that a test of a lock needs, in one `use`.
//!
//! ```
//! use picklock_sim::prelude::*;
//! ```

pub use crate::plans::fault::{FaultKind, FaultSet};
pub use crate::registry::{AnyLock, Locks, Registered, locks};
pub use crate::testing::{Runs, World, assert_keeps, assert_verified};
pub use picklock_model::claims::Assumption;
pub use picklock_model::cluster::Setup;
pub use picklock_model::machine::{Answer, Call, Context, Effects, Line, Lock, Owner, Store, Visitor};
pub use picklock_model::time::{Due, Micros, Monotonic, Wall};
pub use picklock_model::workload::{Workload, Writes};
pub use picklock_properties::{ClientId, Event, FencingToken, Mode, Promise, PromiseSet};
// What locks and stores are made of.
pub use {picklock_model as model, picklock_properties as properties};
