//! The `picklock` command: which distributed lock keeps which promise under which fault.

use picklock_sim::cli;
use picklock_sim::registry::Locks;
use std::process::ExitCode;

/// Engines and served stores live on many small values.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main(&Locks::builtin())
}
