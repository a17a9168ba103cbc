//! `picklock completions SHELL`: commands, options, and the names of locks, faults, promises and whatever else has one.

use super::matrix::Kind;
use super::scenarios::family;
use super::screen::Screen;
use super::{BadCall, CommandLine, Ending, names, widen};
use crate::measures::bench::contestants;
use crate::plans::fault::FaultKind;
use crate::plans::strategy::Strategy;
use crate::registry::Locks;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args, Command, CommandFactory};
use picklock_model::claims::{Assumption, Scenario, THEOREMS, scenarios};
use picklock_properties::Promise;

/// Prints a completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example: picklock completions bash > ~/.local/share/bash-completion/completions/picklock

The script knows the names of locks, faults, promises, assumptions, theorems and rows of the catalogue, those of this command's own locks \
included."
)]
pub struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints it.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        if screen.wants_json() {
            return Err(BadCall(
                "completions prints a script for a shell: --json has nothing to say about it".to_owned(),
            ));
        }
        let mut script = Vec::new();
        let mut command = with_names(without_hidden(&CommandLine::command()), locks);
        clap_complete::generate(self.shell, &mut command, names::name(), &mut script);
        screen.write(&script);
        Ok(Ending::Fine)
    }
}

/// The command without those below it that its help does not show. A command keeps what is below it for good, and scripts do not ask
/// whether it is hidden: it is put together again, of what scripts are made of.
fn without_hidden(command: &Command) -> Command {
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut shown = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().cloned())
        .subcommands(below.cloned());
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(version) = command.get_version() {
        shown = shown.version(version.to_owned());
    }
    shown
}

/// The command with what its arguments may be. Only scripts are made from it: a call is read by [`names`], which knows more, lists
/// with commas for one, and says what was meant.
fn with_names(command: Command, locks: &Locks) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match values(&name, argument.get_id().as_str(), locks) {
        Some(values) => taking(argument, values),
        None => argument,
    });
    command.mut_subcommands(|command| with_names(command, locks))
}

/// Rows by their ids, and before the forms of one row (C22a, C22b) what stands for all of them (C22).
fn rows_and_families(rows: &[Scenario]) -> Vec<PossibleValue> {
    let mut values: Vec<PossibleValue> = Vec::new();
    for row in rows {
        let family = family(row.id);
        let is_new = values.iter().all(|value| value.get_name() != family);
        if family != row.id && is_new {
            values.push(PossibleValue::new(family).help("all its forms"));
        }
        values.push(PossibleValue::new(row.id).help(row.story));
    }
    values
}

fn taking(argument: Arg, values: Vec<PossibleValue>) -> Arg {
    argument.value_parser(PossibleValuesParser::new(values))
}

/// What an argument of a command may be, if that has a name.
fn values(command: &str, argument: &str, locks: &Locks) -> Option<Vec<PossibleValue>> {
    let named = |name: &'static str, what: &'static str| PossibleValue::new(name).help(what);
    let faults = || FaultKind::ALL.into_iter().map(move |kind| named(kind.name(), kind.description()));
    let some = [named("none", "no faults"), named("all", "the usual kinds")];
    let values: Vec<PossibleValue> = match (command, argument) {
        ("bench", "locks") => contestants().iter().map(|one| named(one.name, one.summary)).collect(),
        ("check" | "sweep", "lock") => locks.iter().map(|lock| named(lock.name(), lock.summary())).collect(),
        ("matrix" | "overview", "locks") => {
            let has_row = |kind: &Kind| kind.rows(locks).into_iter();
            let kinds = if command == "matrix" { Kind::ALL.as_slice() } else { &[Kind::Locks] };
            kinds.iter().flat_map(has_row).map(|lock| named(lock.name(), lock.summary())).collect()
        }
        ("matrix" | "sweep" | "serve" | "redis" | "etcd" | "zookeeper" | "cassandra", "faults") => {
            some.into_iter().chain(faults()).collect()
        }
        #[cfg(feature = "serve")]
        ("try" | "redis" | "etcd" | "zookeeper" | "cassandra", "properties") => {
            crate::serve::watch::witness::promises()
                .iter()
                .map(|promise| named(promise.name(), promise.statement()))
                .collect()
        }
        ("check" | "sweep" | "replay" | "shrink", "properties" | "property") => {
            Promise::ALL.iter().map(|promise| named(promise.name(), promise.statement())).collect()
        }
        ("check", "drop") => Assumption::ALL
            .iter()
            .map(|assumption| named(assumption.name(), assumption.statement()))
            .collect(),
        ("sweep" | "hunt", "strategy" | "strategies") => {
            Strategy::ALL.iter().map(|strategy| named(strategy.name(), strategy.description())).collect()
        }
        ("theorems", "names") => THEOREMS.iter().map(|theorem| named(theorem.name, theorem.source)).collect(),
        ("widen", "names") => {
            widen::widenable(locks).into_iter().map(|(name, what)| named(name, what)).collect()
        }
        ("scenarios", "ids") => rows_and_families(&scenarios()),
        ("hunt", "ids") => {
            let hunted = scenarios().into_iter().filter(|row| row.hunt.is_some());
            rows_and_families(&hunted.collect::<Vec<_>>())
        }
        ("replay" | "shrink", "token") => scenarios().iter().map(|row| named(row.id, row.story)).collect(),
        ("scenarios" | "hunt", "systems") => {
            let mut systems: Vec<&'static str> = scenarios().iter().map(|row| row.system).collect();
            systems.dedup();
            systems.into_iter().map(PossibleValue::new).collect()
        }
        ("matrix", "systems") => Kind::ALL.iter().map(|kind| PossibleValue::new(kind.name())).collect(),
        _ => return None,
    };
    Some(values)
}
