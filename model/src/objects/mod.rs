//! Shared objects: what one can build on compare-and-set, after the exactly-once article, *Heterogeneous concurrent exactly-once processing
//! of data in real time*. None of it is a lock; all of it is what locks are used for.
//!
//! ```text
//!   application: draws a call ──▶ Object: the algorithm, a machine over variables ──▶ Cells: variables in a store
//!        ▲                                   (client.rs: requests, repeats)                (memory, etcd)
//!        └── answer, or unknown ◀──┘
//! ```
//!
//! The document does not number its pieces of code. They are counted here as they come, and a line is told as `L9:5`: the fifth line
//! of the ninth piece, comments and empty lines not counted. 1 is the naive handler, 5 to 7 are the compare-and-sets, 8 is the transfer by
//! half-transactions, 9 the lock-free queue. The text ends before its exactly-once handler: what stands here for it
//! is ours ([`handler`]).

pub mod accounts;
pub mod cells;
pub mod client;
pub mod content;
pub mod handler;
pub mod queue;
pub mod stream;
pub mod variable;

pub use accounts::Accounts;
pub use client::{Next, Object, ObjectClient, Repeats, Settings, Shared, Turn};
pub use handler::Handling;
pub use queue::Queue;
pub use stream::Stream;
pub use variable::Variable;
