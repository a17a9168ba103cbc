//! A run as a picture: a space-time diagram with a lane per node and time going down.
//!
//! ```text
//!   true time      A                 B                 s1
//!     0 ms         ●────────────────────────────────▶ ●      a message, from the step that sent it to its arrival
//!     1 ms         ┃ ◀─────────────────────────────── ●
//!     2 ms         ┃ holds            ●──────────── ✕         lost
//!     5 s          ░ pauses           │
//!     6 s          ░                  ┃ holds: red, for A holds too
//! ```
//!
//! [`svg`] draws it, as one image that stands alone. [`page`] is one HTML file with the causes on top and every step's details beside
//! it; its script draws the same from data, to the width of the window. Neither loads anything from anywhere.

mod arrows;
mod bars;
mod data;
mod labels;
mod layout;
mod others;
mod page;
mod svg;
mod times;
mod why;

pub use layout::Window;
pub use others::Others;
pub use page::{page, page_with_others};
pub use svg::{STYLE, svg};
pub(crate) use why::explained;
pub use why::{Cause, why_of};
