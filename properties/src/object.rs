//! Judges of shared objects: variables with compare-and-set, queues, accounts, and a handler of streams.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, "Гетерогенная конкурентная
//! обработка данных в реальном времени строго один раз" (heterogeneous concurrent processing of data in real time, exactly once).
//!
//! ```text
//!   a client                      Invoked ------- Returned      or Unknown, or Crashed: done, or to be done, or never
//!                                    \               /
//!   the object, as if                 one moment of its own
//! ```
//!
//! What happens inside an object is not recorded. A judge sees when a call began, when it came back and with what, and asks
//! whether an object that does one call after the other could have answered so. [`ObjectMonitors`] judge as it happens, and
//! are part of every state of an exhaustive search; [`check`] judges finished histories, of thousands of calls.
//!
//! A [`Specification`] says what one call does to an object that nobody else uses: [`Variable`], [`Queue`], [`Accounts`].
//!
//! # Example
//!
//! ```
//! use picklock_properties::{ClientId, Event, Judge, ObjectAnswer, ObjectCall, ObjectId, ObjectMonitors, Promise, PromiseSet};
//!
//! let (client, queue) = (ClientId(0), ObjectId(0));
//! let history = [
//!     Event::Invoked { client, call: ObjectCall::Push { queue, item: 7 } },
//!     // It was pushed, the answer was lost, and it was pushed again.
//!     Event::Returned { client, answer: ObjectAnswer::Pushed { position: 1 } },
//!     Event::Invoked { client, call: ObjectCall::ReadAt { queue, position: 0 } },
//!     Event::Returned { client, answer: ObjectAnswer::Item { item: Some(7) } },
//! ];
//!
//! let mut monitors = ObjectMonitors::new([Promise::NoDuplicate].into_iter().collect());
//! let mut broken = Vec::new();
//! for event in history {
//!     monitors.observe(event, &mut |violation| broken.push(violation.promise));
//! }
//! assert_eq!(broken, [Promise::NoDuplicate]);
//! ```

mod accounts;
mod appended;
mod call;
mod checker;
mod configurations;
mod conservation;
mod exactly_once;
mod handler;
mod index_never_falls;
mod judge;
mod linearizable;
mod monitors;
mod no_duplicate;
mod no_hole;
mod no_overwrite;
mod queue;
mod specification;
mod under_way;
mod variable;

pub use accounts::Accounts;
pub use call::{ObjectAnswer, ObjectCall, ObjectId};
pub use checker::{NotLinearizable, Operation, check, check_objects};
pub use configurations::Configurations;
pub use conservation::Conservation;
pub use exactly_once::ExactlyOnce;
pub use handler::Handler;
pub use index_never_falls::IndexNeverFalls;
pub use judge::Judge;
pub use linearizable::Linearizable;
pub use monitors::ObjectMonitors;
pub use no_duplicate::NoDuplicate;
pub use no_hole::NoHole;
pub use no_overwrite::NoOverwrite;
pub use queue::Queue;
pub use specification::Specification;
pub use variable::{Variable, VariableState};
