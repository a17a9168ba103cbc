//! The runs that once failed a test: a file with a token a line, to be kept under version control.
//!
//! ```text
//! # Runs that once broke a promise: they are run first. Lines may be deleted.
//! my-lock mutual-exclusion pk5_599JNBSZ…
//! ```

use crate::token::Token;
use picklock_properties::Promise;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

const HEAD: &str = "# Runs that once broke a promise: they are run first. Lines may be deleted.\n";

/// What such a file has in it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Regressions(Vec<Token>);

impl Regressions {
    /// The runs in the file; none if there is no file yet.
    pub fn read(path: &Path) -> Result<Regressions, String> {
        match fs::read_to_string(path) {
            Ok(text) => Regressions::parse(&text).map_err(|why| format!("{}: {why}", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Regressions::default()),
            Err(error) => Err(format!("{}: cannot be read: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Regressions, String> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(token) = line.split_whitespace().nth(2) else {
                return Err(format!("line {number}: there should be a lock, a promise and a token"));
            };
            tokens.push(token.parse::<Token>().map_err(|error| format!("line {number}: {error}"))?);
        }
        Ok(Regressions(tokens))
    }

    /// The runs in which this lock once broke this promise.
    pub fn of<'a>(&'a self, lock: &'a str, promise: Promise) -> impl Iterator<Item = &'a Token> {
        self.0.iter().filter(move |token| token.lock == lock && token.promise == Some(promise))
    }

    /// Adds a run at the end of the file, unless it is in there.
    pub fn add(path: &Path, token: &Token, promise: Promise) -> Result<(), String> {
        if Regressions::read(path)?.of(&token.lock, promise).any(|known| known == token) {
            return Ok(());
        }
        let unwritable = |error| format!("{}: cannot be written: {error}", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(unwritable)?;
        let is_new = file.metadata().map_err(unwritable)?.len() == 0;
        let head = if is_new { HEAD } else { "" };
        let line = format!("{head}{} {promise} {}\n", token.lock, token.encode());
        // In one piece: other tests may be adding theirs.
        file.write_all(line.as_bytes()).map_err(unwritable)
    }
}
