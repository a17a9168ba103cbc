//! What was typed, read; and one line for what cannot be read.

mod meant;

use super::screen::READ_NO_MORE;
use super::{BadCall, CommandLine};
use crate::registry::Locks;
use clap::{ColorChoice, Command, CommandFactory, FromArgMatches};
use meant::meant;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};

/// The arguments of this process. Help and version are printed, and end it.
pub(super) fn command_line(locks: &Locks) -> Result<CommandLine, BadCall> {
    let arguments = without_help_of_help(std::env::args_os().collect());
    let command = taking_negative_numbers(CommandLine::command().color(colour(&arguments)));
    let matches = command.clone().try_get_matches_from(&arguments);
    match matches.and_then(|matches| CommandLine::from_arg_matches(&matches)) {
        Ok(command_line) => Ok(command_line),
        Err(error) if error.use_stderr() => Err(BadCall(refusal(&error, &command, &arguments, locks))),
        Err(help) => {
            let printed = help.print().and_then(|()| std::io::stdout().flush());
            match printed {
                Ok(()) => std::process::exit(help.exit_code()),
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    std::process::exit(READ_NO_MORE.into())
                }
                Err(error) => Err(BadCall(format!("the output cannot be written: {error}"))),
            }
        }
    }
}

/// `help --help` and `help sweep --help` are what `help` and `help sweep` are.
fn without_help_of_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|command| command == "help") {
        arguments.retain(|argument| argument != "--help" && argument != "-h");
    }
    arguments
}

/// What was wrong, and what would be right as far as that can be told.
fn refusal(error: &clap::Error, command: &Command, arguments: &[OsString], locks: &Locks) -> String {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    meant(error, command, &words, locks).unwrap_or_else(|| one_line(&error.render().to_string()))
}

/// What `--color` says, for help: that is printed before anything is read.
fn colour(arguments: &[OsString]) -> ColorChoice {
    let given = |(place, argument): (usize, &OsString)| {
        let argument = argument.to_str()?;
        match argument.strip_prefix("--color")? {
            "" => arguments.get(place + 1)?.to_str()?.parse().ok(),
            value => value.strip_prefix('=')?.parse().ok(),
        }
    };
    arguments.iter().enumerate().find_map(given).unwrap_or(ColorChoice::Auto)
}

/// A negative number after an option is its value, to be refused as such, and not the name of an option.
fn taking_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    });
    command.mut_subcommands(taking_negative_numbers)
}

/// What clap says in several paragraphs, in one line: what is wrong, what was meant perhaps, where help is.
fn one_line(text: &str) -> String {
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let mut line = paragraphs.next().unwrap_or_default();
    line = line.strip_prefix("error: ").unwrap_or(&line).to_owned();
    for paragraph in paragraphs {
        if let Some(tip) = paragraph.strip_prefix("tip: ").filter(|tip| tip.contains("similar")) {
            line += &format!("; {tip}");
        } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            let command: Vec<&str> =
                usage.split(' ').take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
            line += &format!("; {} --help says what there is", command.join(" "));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        let command = taking_negative_numbers(CommandLine::command());
        let error = command.clone().try_get_matches_from(line.split(' ')).expect_err("it is wrong");
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        refusal(&error, &command, &arguments, &Locks::builtin())
    }

    #[test]
    fn the_help_has_colours_as_it_is_told_to() {
        let of = |line: &str| colour(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("picklock sweep --help --color never"), ColorChoice::Never);
        assert_eq!(of("picklock --color=always sweep --help"), ColorChoice::Always);
        for line in ["picklock", "picklock --color", "picklock --color=x", "picklock --colors never"] {
            assert_eq!(of(line), ColorChoice::Auto, "{line}");
        }
    }

    #[test]
    fn help_needs_no_help() {
        for (line, read) in [
            ("picklock help --help", "picklock help"),
            ("picklock help sweep -h", "picklock help sweep"),
            ("picklock sweep --help", "picklock sweep --help"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(without_help_of_help(words(line)), words(read));
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_in_one_line_with_the_way_to_help() {
        for (line, said) in [
            (
                "picklock check redlock --nope",
                "unexpected argument '--nope' found; picklock check --help says what there is",
            ),
            (
                "picklock check redlock --client 2",
                "a similar argument exists: '--clients'; picklock check --help",
            ),
            ("picklock check", "required arguments were not provided: <LOCK>; picklock check --help"),
            ("picklock chek", "unrecognized subcommand 'chek'; a similar subcommand exists: 'check'"),
            ("picklock ttl --skew -1", "--skew -1 will not do: "),
            (
                "picklock check redlock --clients -2",
                "--clients -2 will not do: picklock check --help says \"How many clients, 1 to 8; ",
            ),
            ("picklock check redlock --clients 1000", "--clients 1000 will not do: "),
            (
                "picklock matrix --seeds 0..100",
                "--seeds 0..100 will not do: type --seeds 100; picklock matrix",
            ),
            ("picklock matrix --seeds 9..3", "type --seeds 1000; "),
            ("picklock hunt C6 --starts 0..3", "type --starts 3; "),
            ("picklock herd --clients x", "type --clients 2,4,8,16,32; picklock herd --help says \"How many"),
            ("picklock herd --clients 0..8", "type --clients 2,4,8,16,32; "),
            ("picklock herd --clients 2,,4", "--clients \"\" will not do: type --clients 2,4,8,16,32; "),
            ("picklock widen C9 --seconds x", "--seconds x will not do: picklock widen --help says"),
            (
                "picklock matrix redlock",
                "picklock matrix takes no redlock without an option: type picklock matrix --lock redlock",
            ),
            ("picklock sweep redlock pause", "type picklock sweep redlock --faults pause"),
            ("picklock theorems --drop x", "unexpected argument '--drop' found"),
        ] {
            let refused = refused(line);
            assert!(refused.contains(said) && !refused.contains('\n'), "{line}: {refused}");
        }
    }

    #[cfg(feature = "serve")]
    #[test]
    fn a_store_or_a_client_that_was_forgotten_is_asked_for() {
        let stores =
            "picklock serve redis, picklock serve etcd, picklock serve zookeeper or picklock serve cassandra";
        for (line, said) in [
            ("picklock serve", format!("picklock serve alone says too little: type {stores}")),
            ("picklock serve mongo", format!("picklock serve has no mongo: type {stores}")),
            ("picklock serve redi", "a similar subcommand exists: 'redis'".to_owned()),
        ] {
            assert!(refused(line).contains(&said), "{line}: {}", refused(line));
        }
    }

    #[cfg(all(feature = "serve", unix))]
    #[test]
    fn a_client_without_the_dashes_before_it_is_told_where_they_go() {
        for (line, typed) in [
            ("picklock try worker.py", "picklock try -- worker.py"),
            ("picklock try python3 worker.py --time 3", "picklock try -- python3 worker.py --time 3"),
            ("picklock try etcd --time 3 ./worker -v", "picklock try etcd --time 3 -- ./worker -v"),
            ("picklock try", "picklock try -- python3 worker.py"),
            ("picklock try zookeeper", "picklock try zookeeper -- python3 worker.py"),
        ] {
            let refused = refused(line);
            assert!(refused.ends_with(&format!(": type {typed}")), "{line}: {refused}");
        }
        assert!(refused("picklock try zookeper -- x").contains("a similar value exists: 'zookeeper'"));
    }
}
