//! The distributed lock manager of VMS and of Linux (the lock-manager article, *Distributed lock manager*, "Реализация VMS", "Кластеризация
//! в Linux"): resources, and locks on them in six modes.
//!
//! ```text
//!     A              manager: R1                     B
//!     │── $ENQ EX ───────▶│ granted: A EX              │
//!     │◀─ granted ────────│                            │
//!     │                   │ waiting: B PR    ◀── $ENQ ─│
//!     │◀─ in the way of PR│   (blocking AST)           │
//!     │── convert NL ────▶│ granted: A NL, B PR        │
//!     │◀─ granted ────────│── granted, value ─────────▶│
//! ```
//!
//! # What it does
//!
//! - *Modes* NL, CR, CW, PR, PW, EX, by the tables of [`Mode`].
//! - *Queues* of what is granted, converts and waits ([`Resource`]); who is granted when, with NOQUEUE, QUECVT, EXPEDITE, NOORDER
//!   and HEADQUE. Completion and blocking ASTs are [`Notice`]s.
//! - *Value blocks*, read by who goes up, written by who goes down from PW or EX, in doubt when such a holder dies.
//! - *Parents and sublocks*, in VMS ([`Manager`], [`Name`]).
//! - *Deadlocks*: refused in place (Linux), searched for and ended by refusing one request that waits (VMS), or left (Linux until
//!   2007): [`Deadlocks`].
//!
//! - *A master that dies*: another node comes in its place, asks the owners for their copies, and puts the resources together anew
//!   ([`recovery`]). The gate is closed meanwhile ([`NewMaster::Asks`]).
//! - *Several nodes*, each with a part of the directory, and the master of what was first asked for from it ([`member`]). Who looks for a
//!   deadlock there asks all others ([`circles`]).
//! - *Who is silent* is taken for dead, and switched off first where that is asked for ([`Settings::fences`]). Among several nodes that is a
//!   node, and those who are left go on where they are a quorum ([`Settings::quorum`]).
//! - *A disk that all share*, with a journal of each process, which is replayed before the locks of a dead one are given on ([`Journals`]).
//!
//! # Where the lock-manager article and the kernel say different things
//!
//! | | the lock-manager article | kernel | here |
//! |---|---|---|---|
//! | compatibility | its table | `__dlm_compat_matrix` | the same 36 entries |
//! | value block, who reads | "any kind of lock but NULL" | a new NL lock as well | [`ValueReaders`] |
//! | value block, size | 32 bytes | `ls_lvblen`, 32 for users; the VMS manual: 16, or 64 with XVALBLK | one number |
//! | a deadlock ends | "freeing the resource that was locked first" | a conversion is refused, nothing is freed; VMS refuses one request that waits | as the systems do |
//! | which deadlocks | a circle over two resources | conversions on one resource only | [`Deadlocks`] |
//! | when nobody has a lock | the resource's data is destroyed | the same (`toss_rsb` frees the value block) | the same |
//!
//! # What is left out, and what that hides
//!
//! With one server, *one node masters everything*, and a new master is at once where the old one was. With several, each masters what was first
//! asked for from it ([`member`]), and there is no time, so that a silence may be of any length: what a timeout is worth is hidden.
//!
//! ALTPR and ALTCW (another mode than asked for), NOQUEUEBAST, FORCEUNLOCK and DEQALL, TIMEOUT, PERSISTENT and ORPHAN locks, range locks,
//! VMS' lock priorities and its choice of a victim by priority (the one here is the request of the circle with the highest number).
//! What fails in those is hidden.

pub mod circles;
mod deaths;
mod disk;
mod gate;
mod grant;
mod lock;
mod manager;
pub mod member;
mod mode;
pub mod peer;
mod protocol;
pub mod recovery;
mod resource;
mod search;
mod server;
mod settings;
#[cfg(test)]
mod tests;

pub use lock::{Flags, Handle, Lock, Notice, Refusal, Status, Value};
pub use manager::{Manager, Name};
pub use mode::{Mode, ValueMoves};
pub use protocol::{Ask, Held, Reply, Request, Tell};
pub use resource::{Notices, Queue, Resource, Wish};
pub use search::{Wait, circle};
pub use server::Dlm;
pub use settings::{Deadlocks, Journals, Kind, NewMaster, Settings, ValueReaders};
