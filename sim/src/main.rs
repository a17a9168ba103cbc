//! The `picklock` command: which distributed lock keeps which promise under which fault.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
