//! What uses a lock manager: processes that take, convert and give back locks by a program, and a cache that its locks keep fresh.
//!
//! ```text
//!   program: $ENQ R1 PR, convert to EX, work ──▶ Managed: one process ──requests──▶ stores::dlm
//!                                                    ▲        ◀── completion and blocking ASTs ──┘
//! ```
//!
//! A lock of a lock manager is not one that is taken and given back ([`crate::machine::Lock`]): it is converted while it is held, and a
//! process may have several, on resources that stand in some order. So this is a kind of system of its own.

mod masters;
pub mod process;
pub mod program;
mod recovery;

pub use process::{Managed, ManagedProcess};
pub use program::{Believes, Chosen, Program, Settings, Step};
