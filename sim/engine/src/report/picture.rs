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
//! [`svg`] draws it, as one image that stands alone; [`page`] puts it into one HTML file, with every step's details beside it.
//! Neither loads anything from anywhere.

mod bars;
mod layout;
mod page;
mod svg;

pub use layout::Window;
pub use page::page;
pub use svg::{STYLE, svg};
