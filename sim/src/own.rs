//! How to bring a lock of your own, and a store of your own: a walk through two examples. There is no code in this module.
//!
//! What you write is one state machine per client, without I/O: it is told of a call, a reply, a deadline, and says what to
//! send and what to answer ([`picklock_model::machine::Lock`]). What you get for it is the whole command: the matrix, the exhaustive
//! check, sweeps, replays, pictures and shrunk failures, from your own binary.
//!
//! # A lock
//!
//! 1. *Choose the store.* Its requests and replies are types: [`Command`](picklock_model::stores::redis::Command) for Redis, for
//!    example. A client's request carries a number that the reply repeats: a reply that comes late must be told apart.
//! 2. *Say what a client remembers*: a phase, the number of the last request, when to ask again. Small plain data, which can be
//!    compared, copied and packed: the exhaustive engine keeps millions of them.
//! 3. *Handle the entries.* `on_call`: the application wants the lock, or gives it back. `on_reply`. `on_deadline`: what
//!    `deadline` asked for has come; that no reply came in time says nothing about what became of the request. `on_restart`:
//!    the process starts again and has nothing but what it wrote down.
//! 4. *Show every time and number* in `visit`: so the exhaustive engine knows which states differ in nothing but the date.
//!    `doing` says in words where it stands, for pictures; `line`, if it is given, where in its source: pauses and crashes can be aimed at
//!    lines (`check --at`, triggers of plans), and at nothing finer than a message without them.
//! 5. *Say how long a lease lasts* in `lease`, if it ends by itself: fault plans scale with it, and time passes in `check`.
//! 6. *Name what it keeps* in its store: keys, tables and paths are words of its own (`WORDS`). What a change of them means,
//!    `means` says; a lock that does not say so is judged by what its clients do alone.
//! 7. *Register it*, and hand it to [`cli::main`](crate::cli::main).
//!
//! This is all of it, `sim/examples/own_lock.rs`:
//!
//! ```no_run
#![doc = include_str!("../examples/own_lock.rs")]
//! ```
//!
//! ```text
//! $ cargo run --release --example own_lock -- check my-lock --drop no-pause
//! my-lock
//! ✗ violated: mutual-exclusion, in 11 steps
//! …
//!     5 tick 1 │█ ⏸ paused                     │                               │
//!     8 tick 4 │█┊                             │                               │
//!     9 tick 4 │█┊                             │  calls lock                   │
//! …
//! ✗  11 tick 4 │█┊                             │█ ← s1 OK                      │
//!              │█┊                             │█ HOLDS                        │
//! ✗ mutual-exclusion broken
//! ```
//!
//! `sweep my-lock` finds the same among random plans with all kinds of faults, `shrink TOKEN` makes it small, `replay TOKEN
//! --format html` draws it, and `matrix --lock my-lock --out report` does it all for every fault and every promise.
//!
//! # In a test
//!
//! The same without a command ([`testing`](crate::testing)). A failure says why, with the last steps of the run made small, its token,
//! and a page to step through; and its token is run first from then on.
//!
//! ```
//! use picklock_model::locks::RedisSingle; // yours, in its place
//! use picklock_model::locks::redis_single::Settings;
//! use picklock_sim::prelude::*;
//!
//! /// A careful client, and a resource that checks its fencing tokens.
//! fn mine() -> Registered<RedisSingle> {
//!     Registered::new("mine", "as careful as can be", || {
//!         let mut setup = Setup { lock: Settings::repaired(), ..Setup::default() };
//!         setup.workload.resource_checks = true;
//!         setup
//!     })
//! }
//!
//! // A pause outlasts every lease …
//! let runs = Runs { faults: FaultKind::Pause.into(), seeds: 500, regressions: None, pages: None };
//! let why = picklock_sim::testing::keeps(&mine(), Promise::MutualExclusion, &runs).unwrap_err();
//! assert!(why.contains("enters while"), "{why}");
//! // … and the tokens keep its writes out.
//! assert_keeps(&mine(), Promise::FencedResource, &runs);
//! // So it is on every schedule of two clients.
//! assert_verified(&mine(), Promise::FencedResource, &World { rounds: 1, ..World::default() });
//! ```
//!
//! # A store
//!
//! A store is a machine too, one per server ([`picklock_model::machine::Store`]), with a request, a reply, and a type for what
//! servers say to each other ([`Silence`](picklock_model::machine::Silence) if there is one server). Its messages go through the same
//! network as all others, with the same faults; `on_restart` decides what survives the end of the process, and what a loss
//! of power. `sim/examples/own_store.rs` has one in 75 lines, with a lock on it:
//!
//! ```no_run
#![doc = include_str!("../examples/own_store.rs")]
//! ```
