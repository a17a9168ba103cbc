//! What was meant by a line that cannot be read, where that is easy to see: what to type instead.

use crate::plans::fault::FaultKind;
use crate::registry::Locks;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use picklock_properties::Promise;
use std::error::Error as _;

/// What is said of these words behind the command's name; `None`: no more than the parser says.
pub fn meant(error: &Error, command: &Command, words: &[String], locks: &Locks) -> Option<String> {
    let chosen = Chosen::by(command, words);
    match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Some(format!("{} alone says too little: type {}", chosen.path, chosen.subcommands()?))
        }
        ErrorKind::InvalidSubcommand if chosen.is_within_another() => {
            let subcommand = told(error, ContextKind::InvalidSubcommand)?;
            let is_near = error.get(ContextKind::SuggestedSubcommand).is_some();
            let said =
                || Some(format!("{} has no {subcommand}: type {}", chosen.path, chosen.subcommands()?));
            if is_near { None } else { said() }
        }
        ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue | ErrorKind::UnknownArgument
            if chosen.takes_a_client() =>
        {
            chosen.client(error)
        }
        ErrorKind::UnknownArgument => chosen.option(&told(error, ContextKind::InvalidArg)?, locks),
        ErrorKind::ValueValidation => chosen.value(error),
        _ => None,
    }
}

fn told(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// The command that was called.
struct Chosen<'a> {
    command: &'a Command,
    /// `picklock serve redis`
    path: String,
    /// How many words its name has.
    depth: usize,
    /// What was typed behind its name.
    rest: &'a [String],
}

impl<'a> Chosen<'a> {
    fn by(whole: &'a Command, words: &'a [String]) -> Chosen<'a> {
        let mut chosen = Chosen { command: whole, path: whole.get_name().to_owned(), depth: 1, rest: words };
        for (place, word) in words.iter().enumerate().take_while(|(_, word)| *word != "--") {
            if let Some(command) = chosen.command.find_subcommand(word) {
                let path = format!("{} {}", chosen.path, command.get_name());
                chosen = Chosen { command, path, depth: chosen.depth + 1, rest: &words[place + 1..] };
            }
        }
        chosen
    }

    fn is_within_another(&self) -> bool {
        self.depth > 1
    }

    /// `picklock serve redis, picklock serve etcd, picklock serve zookeeper or picklock serve cassandra`
    fn subcommands(&self) -> Option<String> {
        let subcommands = self.command.get_subcommands().filter(|command| command.get_name() != "help");
        let mut calls: Vec<String> =
            subcommands.map(|command| format!("{} {}", self.path, command.get_name())).collect();
        let last = calls.pop()?;
        Some(if calls.is_empty() { last } else { format!("{} or {last}", calls.join(", ")) })
    }

    /// Whether another program's command comes behind two dashes.
    fn takes_a_client(&self) -> bool {
        self.command.get_positionals().any(Arg::is_last_set)
    }

    /// Of a client that was named without the dashes, or not at all.
    fn client(&self, error: &Error) -> Option<String> {
        let path = &self.path;
        if error.get(ContextKind::SuggestedValue).is_some() || self.rest.iter().any(|word| word == "--") {
            return None;
        }
        let (own, client) = self.rest.split_at(self.own_words());
        match client {
            [] if error.kind() == ErrorKind::MissingRequiredArgument => {
                let call = line(path, own);
                Some(format!(
                    "{path} needs the command of your client after --: type {call} -- python3 worker.py"
                ))
            }
            // Something else is wrong.
            [] => None,
            [first, ..] if first.starts_with('-') => None,
            client => {
                let call = line(path, own);
                let client = client.join(" ");
                Some(format!("the command of your client comes after --: type {call} -- {client}"))
            }
        }
    }

    /// How many of the words are options, their values, and what else the command itself takes.
    fn own_words(&self) -> usize {
        let mut taken = 0;
        let mut positionals = self.command.get_positionals().filter(|argument| !argument.is_last_set());
        while let Some(word) = self.rest.get(taken) {
            taken += match word.strip_prefix("--") {
                Some(option) => {
                    let (name, value) =
                        option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
                    let known =
                        self.command.get_arguments().find(|argument| argument.get_long() == Some(name));
                    match known {
                        Some(argument) if argument.get_action().takes_values() && value.is_none() => 2,
                        Some(_) => 1,
                        None if is_of_all(name) => 1,
                        None => return taken,
                    }
                }
                None => {
                    let possible = positionals.next().map(Arg::get_possible_values).unwrap_or_default();
                    match possible.iter().any(|value| value.matches(word, false)) {
                        true => 1,
                        false => return taken,
                    }
                }
            };
        }
        self.rest.len()
    }

    /// Of the name of something that is said with an option.
    fn option(&self, word: &str, locks: &Locks) -> Option<String> {
        if word.starts_with('-') {
            return None;
        }
        let is_lock = locks.iter().any(|lock| lock.name() == word);
        let is_fault = word.split(',').all(|word| FaultKind::ALL.iter().any(|kind| kind.name() == word));
        let is_promise = Promise::ALL.iter().any(|promise| promise.name() == word);
        let options: &[&str] = match () {
            () if is_lock => &["lock"],
            () if is_fault => &["faults", "fault"],
            () if is_promise => &["property"],
            () => &[],
        };
        let has = |option: &&&str| self.command.get_arguments().any(|own| own.get_long() == Some(**option));
        let option = options.iter().find(has)?;
        let (before, behind) = match self.rest.iter().position(|own| own == word) {
            Some(place) => (&self.rest[..place], &self.rest[place + 1..]),
            None => (self.rest, &[] as &[String]),
        };
        let call = line(&format!("{} --{option} {word}", line(&self.path, before)), behind);
        Some(format!("{} takes no {word} without an option: type {call}", self.path))
    }

    /// Of a number that is none, or too large. What says more than that is left as it is.
    fn value(&self, error: &Error) -> Option<String> {
        let why = error.source()?.to_string();
        let of_numbers = [
            "is not in",
            "too large to fit",
            "too small to fit",
            "invalid digit",
            "empty string",
            "invalid float",
        ];
        if !of_numbers.iter().any(|said| why.contains(said)) {
            return None;
        }
        let (argument, value) =
            (told(error, ContextKind::InvalidArg)?, told(error, ContextKind::InvalidValue)?);
        let name = argument.split(' ').next().unwrap_or_default();
        let is_it = |own: &&Arg| own.get_long().is_some_and(|long| name == format!("--{long}"));
        let own = self.command.get_arguments().find(is_it)?;
        let help = own.get_help()?.to_string();
        let help: Vec<&str> = help.split_whitespace().collect();
        let help = help.join(" ");
        let typed = good_value(own, &value).map_or_else(String::new, |good| format!("type {name} {good}; "));
        let value = if value.is_empty() { "\"\"" } else { &value };
        Some(format!("{name} {value} will not do: {typed}{} --help says \"{help}\"", self.path))
    }
}

/// What an option that takes a number could be given: of a range of seeds, how many they are; else what it is unless given.
fn good_value(option: &Arg, value: &str) -> Option<String> {
    let count = |range: &str| {
        let (first, end) = range.split_once("..")?;
        end.parse::<u64>().ok()?.checked_sub(first.parse().ok()?).filter(|count| *count > 0)
    };
    match (option.get_value_delimiter(), count(value)) {
        (None, Some(count)) => Some(count.to_string()),
        (delimiter, _) => {
            let usual: Vec<_> =
                option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            let between = delimiter.map_or_else(String::new, String::from);
            (!usual.is_empty()).then(|| usual.join(&between))
        }
    }
}

/// Options that every command has.
fn is_of_all(name: &str) -> bool {
    name == "json"
}

fn line(first: &str, then: &[String]) -> String {
    std::iter::once(first).chain(then.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}
