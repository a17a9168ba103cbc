//! What a server counts of commands and errors, for `INFO`.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// How many codes of errors are told apart: scripts make up their own.
const CODES_MAX: usize = 1_000;

/// What a server counts since its process began, or since `CONFIG RESETSTAT`.
#[derive(Debug, Default)]
pub struct Stats {
    /// Errors that were replied, to clients or to scripts.
    pub errors: u64,
    codes: BTreeMap<String, u64>,
    commands: BTreeMap<Cow<'static, str>, Calls>,
    /// The error that a script is about to reply was counted when the script was told of it.
    pub is_counted: bool,
}

/// How often a command was run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    /// To its end.
    pub calls: u64,
    /// Before it was run, it was refused.
    pub rejected: u64,
    /// It has replied an error.
    pub failed: u64,
}

impl Stats {
    /// Of a command, by its name in lower case.
    pub fn of(&mut self, name: Cow<'static, str>) -> &mut Calls {
        self.commands.entry(name).or_default()
    }

    /// An error is replied; its first word is its code (`src/networking.c` `afterErrorReply`).
    pub fn error(&mut self, text: &[u8]) {
        self.errors += 1;
        let code = text.split(|byte| *byte == b' ').next().filter(|code| code.len() < text.len().min(32));
        let code = String::from_utf8_lossy(code.unwrap_or(b"ERR"));
        if let Some(count) = self.codes.get_mut(code.as_ref()) {
            *count += 1;
        } else if self.codes.len() < CODES_MAX {
            self.codes.insert(code.into_owned(), 1);
        }
    }

    /// A command that was run has replied this error, unless that was counted before.
    pub fn failed(&mut self, name: Cow<'static, str>, text: &[u8]) {
        if !std::mem::take(&mut self.is_counted) {
            self.error(text);
        }
        self.of(name).failed += 1;
    }

    /// Codes of errors, with how often each was replied.
    pub fn codes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.codes.iter().map(|(code, count)| (code.as_str(), *count))
    }

    /// Commands that were asked for, by name.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &Calls)> {
        self.commands.iter().map(|(name, calls)| (name.as_ref(), calls))
    }
}
