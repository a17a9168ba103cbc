//! What can be done with a lock whose type nobody needs to know.
//!
//! A lock's type is known to [`Registered`] only; the command, the claims and the tokens know its name, and its setup as
//! bytes. Nothing here, and no engine, knows any lock.

mod any;
mod changed;
mod checking;
mod general;
mod others;
mod registered;
mod replayed;
mod set;
mod surroundings;
mod tokens;
mod watcher;

pub use any::{AnyLock, Audit, PanickedIn, Reduced, RunError, ShrinkHow, SweepHow};
pub use changed::NotSet;
pub use checking::{CheckOptions, CheckVerdict, Checked, Counterexample, goals, with_holds_of_any_length};
pub use general::{General, GeneralHow, Seen, Sighting, Unexplained, Wanted};
pub use others::Other;
pub use registered::{CLIENTS, ROUNDS, Registered};
pub use replayed::{Broken, Replay};
pub use surroundings::Surroundings;
pub use tokens::unregistered_token;
