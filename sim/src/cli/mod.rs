//! The command line: one file per command; the rest of the files is what commands share.
//!
//! A command parses its arguments into what the library asks for, calls it, and prints what comes back, as text or, with
//! `--json`, as one document. How it ends is its `Ending`, each with an exit code of its own, or a `BadCall`, which exits 2
//! after one line that says what was wrong and what would be right. Nothing else goes to stdout, and progress goes to
//! stderr, and only to a terminal.

#[cfg(all(feature = "serve", unix))]
mod attempt;
mod bench;
mod check;
mod ci;
mod completions;
mod diff;
mod given;
mod herd;
mod hunt;
mod interrupt;
mod jobs;
mod last;
mod lists;
mod man;
mod matrix;
mod memory;
mod merge;
mod names;
mod new;
mod next;
mod open;
mod overview;
mod plan_file;
mod plan_parts;
mod progress;
mod replay;
mod scenarios;
mod screen;
mod seeded;
mod seeds;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod shell;
mod shrink;
mod side_by_side;
mod snapshot;
mod sweep;
mod theorems;
mod tokens;
mod ttl;
mod typed;
mod watch;
mod widen;
mod written;

use crate::registry::{CheckVerdict, Locks, RunError};
use crate::token::Token;
use clap::{ColorChoice, Parser, Subcommand};
use picklock_model::claims::Expected;
use picklock_model::panics::{self, Panicked};
use screen::Screen;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Breaks distributed locks on purpose.
///
/// Runs lock algorithms against in-memory simulators of the stores they live on: under every schedule of a small model,
/// or under many seeded schedules with skewed clocks, pauses, partitions and crashes. Says for each lock which promise
/// survives which fault, with a token that replays the failure byte for byte.
///
/// Without a command: all locks on one screen.
#[derive(Debug, Parser)]
#[command(name = "picklock", version, after_help = EXAMPLES, subcommand_help_heading = "Commands")]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,

    /// Prints one JSON document on stdout, and nothing else.
    #[arg(long, global = true)]
    json: bool,

    /// When to use colours; auto: on a terminal that has some, unless NO_COLOR is set, or if CLICOLOR_FORCE is
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
}

const EXAMPLES: &str = "\
Examples:
  picklock                                    all locks on one screen
  picklock matrix                             every promise, 1,000 runs each
  picklock theorems theorem-1                 is it true, what does it lean on
  picklock check cassandra-queue --drop no-pause --drop no-expiry
  picklock sweep cassandra-queue --faults pause,clock --seeds 0..100000
  picklock replay C1                          a run again, step by step
  picklock shrink redlock:pause:70            as little of it as still breaks
  picklock hunt C6                            how many random plans find it
  picklock serve redis --faults pause,clock   a Redis for your own client
  picklock serve etcd --members 3             an etcd, likewise
  picklock serve zookeeper --servers 3        a ZooKeeper, likewise
  picklock serve cassandra --servers 3        a Cassandra, likewise
  picklock new my-lock                        a crate with a lock to begin with
  picklock try -- python3 worker.py           your client, until two of it hold
  picklock try etcd -- python3 worker.py      the same on an etcd

Exit codes:
  0  kept: every promise that was asked for, each put to the test
  1  violated: a promise was broken (replay and shrink: the run breaks one)
  2  the call was wrong; one line says what would be right
  3  incomplete: a limit or ^C came before a verdict
  4  vacuous: nothing broke, and nothing that gives that a meaning happened
  5  unexpected: see below
  141  none: nobody read the output to its end, as in picklock | head -1

Exit code 5 says that a verdict differs from the expected one (overview, matrix, theorems, scenarios, hunt, herd, ttl, widen, \
shrink --catalogue), that matrix differs from the file of --expect, that diff found a difference, or that a repeated run differs from \
the first (sweep). What is known to break is expected to, and is no failure there.

^C prints what was found so far; a second ^C ends at once.";

#[derive(Debug, Subcommand)]
enum Command {
    Overview(overview::Overview),
    Matrix(matrix::Matrix),
    Theorems(theorems::Theorems),
    Check(check::Check),
    Sweep(sweep::Sweep),
    Merge(merge::Merge),
    Diff(diff::Diff),
    Replay(replay::ReplayToken),
    Shrink(shrink::ShrinkToken),
    Scenarios(scenarios::Scenarios),
    Hunt(hunt::Hunt),
    Herd(herd::Herd),
    Ttl(ttl::Ttl),
    Widen(widen::Widen),
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    #[cfg(all(feature = "serve", unix))]
    Try(attempt::Try),
    Bench(bench::Bench),
    New(new::New),
    /// Lists the locks
    #[command(after_help = lists::SOURCES)]
    Locks,
    /// Lists the kinds of faults
    Faults(lists::FaultsAsked),
    /// Lists the promises
    #[command(after_help = lists::SOURCES)]
    Properties,
    /// Lists the assumptions that theorems and checks can drop
    Assumptions,
    Completions(completions::Completions),
    #[command(name = "man")]
    Manual(man::Manual),
    /// Reads tokens, a line each, and prints what tells their runs apart: the second process of a sweep
    #[command(hide = true)]
    Fingerprints,
}

/// No space of a theorem or of the catalogue has so many states.
const STATES_MAX: u64 = 150_000_000;

/// What a command that ran came to; the graver, the later, where several things came of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Ending {
    /// Every promise that was asked for is kept, or only those are broken that were expected to be.
    Fine,
    /// Nothing was broken, and nothing could have been.
    Vacuous,
    /// A limit or an interruption came before a verdict.
    Incomplete,
    /// A verdict differs from the expected one.
    Unexpected,
    /// A promise was broken.
    Broken,
}

/// States are numbered with 32 bits.
const STATES_LIMIT: u64 = 2_000_000_000;

/// Refuses `--max-states` that no search could be given.
fn states_within(states_max: u64) -> Result<(), BadCall> {
    match states_max {
        1..=STATES_LIMIT => Ok(()),
        _ => Err(BadCall(format!("--max-states {states_max}: it takes 1 to {STATES_LIMIT}"))),
    }
}

impl Ending {
    fn broken_if(broken: bool) -> Ending {
        Ending::Broken.or_fine(broken)
    }

    /// This, if so.
    fn or_fine(self, is_so: bool) -> Ending {
        if is_so { self } else { Ending::Fine }
    }

    /// How a verdict about promises that were asked for ends the command.
    fn of(verdict: CheckVerdict) -> Ending {
        match verdict {
            CheckVerdict::Holds => Ending::Fine,
            CheckVerdict::Violated => Ending::Broken,
            CheckVerdict::Incomplete => Ending::Incomplete,
            CheckVerdict::Vacuous => Ending::Vacuous,
        }
    }

    /// How a verdict about a claim ends the command.
    fn of_claim(verdict: CheckVerdict, expected: Expected) -> Ending {
        match verdict {
            CheckVerdict::Incomplete => Ending::Incomplete,
            CheckVerdict::Vacuous => Ending::Vacuous,
            CheckVerdict::Holds | CheckVerdict::Violated => {
                Ending::Unexpected.or_fine(verdict.contradicts(expected))
            }
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            Ending::Fine => 0,
            Ending::Broken => 1,
            // 2 is a wrong call's.
            Ending::Incomplete => 3,
            Ending::Vacuous => 4,
            Ending::Unexpected => 5,
        }
    }
}

/// The call was wrong: one sentence that says what, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadCall(String);

impl From<RunError> for BadCall {
    fn from(error: RunError) -> BadCall {
        let RunError::Panicked(panicked) = &error else { return BadCall(error.to_string()) };
        let token = panicked.token.as_ref().map(Token::encode);
        if token.is_some() {
            last::keep(token.as_deref());
        }
        let see = token.map_or_else(String::new, |token| format!("\n{}", next::see(&token).trim_end()));
        BadCall(format!("{error}{see}"))
    }
}

/// The whole command over these locks: parses the arguments of this process, runs, and says how it ended. A binary of
/// your own with a lock of your own calls nothing else.
pub fn main(locks: &Locks) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        if panics::will_be_told(panic) {
            return;
        }
        complain(&format!("picklock has a bug, please report it with the command line: {panic}"));
    }));
    crate::report::name_program(names::program());
    let CommandLine { command, json, color } = match typed::command_line(locks) {
        Ok(command_line) => command_line,
        Err(BadCall(what)) => {
            complain(&what);
            return ExitCode::from(2);
        }
    };
    let mut screen = Screen::new(json, color);
    let run = || match command.unwrap_or_else(|| Command::Overview(overview::Overview::default())) {
        Command::Overview(command) => command.run(locks, &mut screen),
        Command::Matrix(command) => command.run(locks, &mut screen),
        Command::Theorems(command) => command.run(locks, &mut screen),
        Command::Check(command) => command.run(locks, &mut screen),
        Command::Sweep(command) => command.run(locks, &mut screen),
        Command::Merge(command) => command.run(locks, &mut screen),
        Command::Diff(command) => command.run(&mut screen),
        Command::Fingerprints => watch::fingerprints(locks, &mut screen),
        Command::Replay(command) => command.run(locks, &mut screen),
        Command::Shrink(command) => command.run(locks, &mut screen),
        Command::Scenarios(command) => command.run(locks, &mut screen),
        Command::Hunt(command) => command.run(locks, &mut screen),
        Command::Herd(command) => command.run(&mut screen),
        Command::Ttl(command) => command.run(&mut screen),
        Command::Widen(command) => command.run(locks, &mut screen),
        #[cfg(feature = "serve")]
        Command::Serve(command) => command.run(&mut screen),
        #[cfg(all(feature = "serve", unix))]
        Command::Try(command) => command.run(&mut screen),
        Command::Bench(command) => command.run(&mut screen),
        Command::New(command) => command.run(locks, &mut screen),
        Command::Locks => lists::locks(locks, &mut screen),
        Command::Faults(asked) => asked.run(&mut screen),
        Command::Properties => lists::properties(&mut screen),
        Command::Assumptions => lists::assumptions(&mut screen),
        Command::Completions(command) => command.run(locks, &mut screen),
        Command::Manual(command) => command.run(&mut screen),
    };
    let ended = match panics::of(run) {
        Ok(ended) => ended,
        // Where nobody could say more of it.
        Err(Panicked { what, .. }) => Err(BadCall(format!("a machine panicked: {what}"))),
    };
    match ended.and_then(|ending| screen.finish(ending)) {
        Ok(code) => ExitCode::from(code),
        Err(BadCall(what)) => {
            complain(&what);
            ExitCode::from(2)
        }
    }
}

/// One line on stderr, and on a terminal as many as it takes; if nobody reads it, nobody can be told.
fn complain(what: &str) {
    let what = format!("error: {what}");
    let told = match Screen::width().filter(|_| std::io::stderr().is_terminal()) {
        // What is there to be copied stands in lines of its own.
        Some(_) if what.contains('\n') => what,
        Some(_) => screen::sentence(&what).trim_end().to_owned(),
        None => what,
    };
    let _ = writeln!(std::io::stderr(), "{told}");
}
