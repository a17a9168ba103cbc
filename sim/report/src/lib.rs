//! A run that is over, as others read it: why a promise broke, a picture, a page to step through, traces for other tools.
//!
//! ```text
//!   JSON steps of a run ──▶ Story ──┬──▶ why: the chain of causes ──▶ why_text: for a terminal
//!   (picklock_engine::report)       ├──▶ svg, page: space-time diagrams
//!                                   └──▶ perfetto, shiviz
//! ```
//!
//! Everything here reads steps as data. That is why it is a crate of its own: no type of a system or a store comes in, and no lock is
//! compiled again when a sentence changes.

mod flights;
mod others;
mod perfetto;
mod picture;
mod shiviz;
mod text;
#[cfg(test)]
mod toy;

pub use flights::{Flight, flights};
pub use others::{OtherRun, WAITS_UNJUDGED, other_runs};
pub use perfetto::perfetto;
pub use picture::{Cause, Others, STYLE, Window, page, page_with_others, svg, why_of};
pub use shiviz::shiviz;
pub use text::why_text;
