//! The `picklock` command: which distributed lock keeps which promise under which fault.

use picklock_sim::cli;
use picklock_sim::registry::Locks;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(&Locks::builtin())
}
