//! The command line: one file per command; the rest of the files is what commands share.
//!
//! A command parses its arguments into what the library asks for, calls it, and prints what comes back, as text or, with
//! `--json`, as one document. It ends in one of three ways: `Ending::Fine` exits 0, `Ending::Broken` exits 1, and a
//! `BadCall` exits 2 after one line that says what was wrong and what would be right. Nothing else goes to stdout,
//! and progress goes to stderr, and only to a terminal.

mod bench;
mod check;
mod completions;
mod herd;
mod hunt;
mod interrupt;
mod jobs;
mod lists;
mod matrix;
mod merge;
mod names;
mod plan_file;
mod progress;
mod replay;
mod scenarios;
mod screen;
mod seeded;
mod seeds;
#[cfg(feature = "serve")]
mod serve;
mod shrink;
mod sweep;
mod theorems;
mod ttl;
mod watch;

use crate::registry::{Locks, RunError};
use clap::{Parser, Subcommand};
use screen::Screen;
use std::io::Write;
use std::process::ExitCode;

/// Breaks distributed locks on purpose.
///
/// Runs lock algorithms against in-memory simulators of the stores they live on: under every schedule of a small model,
/// or under many seeded schedules with skewed clocks, pauses, partitions and crashes. Says for each lock which promise
/// survives which fault, with a token that replays the failure byte for byte.
///
/// Without a command: the verdict matrix.
#[derive(Debug, Parser)]
#[command(name = "picklock", version, after_help = EXAMPLES, subcommand_help_heading = "Commands")]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,

    /// Prints one JSON document on stdout, and nothing else.
    #[arg(long, global = true)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  picklock                                       which lock survives what
  picklock theorems theorem-1                    is it true, and what does it lean on
  picklock check cassandra-queue --drop no-pause --drop no-expiry
  picklock sweep cassandra-queue --faults pause,clock --seeds 0..100000
  picklock replay pk4_…                          the same run again, step by step
  picklock shrink pk4_…                          as little of it as still breaks the promise
  picklock hunt C6                               how many random plans until the failure shows
  picklock serve redis --faults pause,clock      a Redis for your own client to fail on

Exit codes: 0 nothing was violated; 1 something was, or (matrix, theorems, scenarios, hunt, herd, ttl) a verdict differs from the
expected one, or no verdict was reached; 2 the call was wrong.
Colours go to terminals only, and not if NO_COLOR is set. ^C prints what was found so far; a second ^C ends at once.";

#[derive(Debug, Subcommand)]
enum Command {
    Matrix(matrix::Matrix),
    Theorems(theorems::Theorems),
    Check(check::Check),
    Sweep(sweep::Sweep),
    Merge(merge::Merge),
    Replay(replay::ReplayToken),
    Shrink(shrink::ShrinkToken),
    Scenarios(scenarios::Scenarios),
    Hunt(hunt::Hunt),
    Herd(herd::Herd),
    Ttl(ttl::Ttl),
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    Bench(bench::Bench),
    /// Lists the locks
    Locks,
    /// Lists the kinds of faults
    Faults,
    /// Lists the promises
    Properties,
    /// Lists the assumptions that theorems and checks can drop
    Assumptions,
    Completions(completions::Completions),
    /// Reads tokens, a line each, and prints what tells their runs apart: the second process of a sweep
    #[command(hide = true)]
    Fingerprints,
}

/// What a command that ran came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// Nothing was violated, or only what was expected to be.
    Fine,
    /// A promise was broken, a verdict differs from the expected one, or there is no verdict.
    Broken,
}

impl Ending {
    fn broken_if(broken: bool) -> Ending {
        if broken { Ending::Broken } else { Ending::Fine }
    }
}

/// The call was wrong: one sentence that says what, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadCall(String);

impl From<RunError> for BadCall {
    fn from(error: RunError) -> BadCall {
        BadCall(error.to_string())
    }
}

/// The whole command over these locks: parses the arguments of this process, runs, and says how it ended. A binary of
/// your own with a lock of your own calls nothing else.
pub fn main(locks: &Locks) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        complain(&format!("picklock has a bug, please report it with the command line: {panic}"));
    }));
    let CommandLine { command, json } = CommandLine::parse();
    let mut screen = Screen::new(json);
    let ended = match command.unwrap_or_else(|| Command::Matrix(matrix::Matrix::default())) {
        Command::Matrix(command) => command.run(locks, &mut screen),
        Command::Theorems(command) => command.run(locks, &mut screen),
        Command::Check(command) => command.run(locks, &mut screen),
        Command::Sweep(command) => command.run(locks, &mut screen),
        Command::Merge(command) => command.run(locks, &mut screen),
        Command::Fingerprints => watch::fingerprints(locks, &mut screen),
        Command::Replay(command) => command.run(locks, &mut screen),
        Command::Shrink(command) => command.run(locks, &mut screen),
        Command::Scenarios(command) => command.run(locks, &mut screen),
        Command::Hunt(command) => command.run(locks, &mut screen),
        Command::Herd(command) => command.run(&mut screen),
        Command::Ttl(command) => command.run(&mut screen),
        #[cfg(feature = "serve")]
        Command::Serve(command) => command.run(&mut screen),
        Command::Bench(command) => command.run(&mut screen),
        Command::Locks => lists::locks(locks, &mut screen),
        Command::Faults => lists::faults(&mut screen),
        Command::Properties => lists::properties(&mut screen),
        Command::Assumptions => lists::assumptions(&mut screen),
        Command::Completions(command) => command.run(&mut screen),
    };
    match ended.and_then(|ending| screen.finish().map(|()| ending)) {
        Ok(Ending::Fine) => ExitCode::SUCCESS,
        Ok(Ending::Broken) => ExitCode::from(1),
        Err(BadCall(what)) => {
            complain(&what);
            ExitCode::from(2)
        }
    }
}

/// One line on stderr; if nobody reads it, nobody can be told.
fn complain(what: &str) {
    let _ = writeln!(std::io::stderr(), "error: {what}");
}
