//! The runs that once failed a test: a file with a token a line, to be kept under version control.
//!
//! ```text
//! # Runs that once broke a promise: they are run first. Lines may be deleted.
//! my-lock mutual-exclusion pk5_599JNBSZ… pause,loss
//! ```
//!
//! Behind the token stands what the test that found it asked for. A test runs those lines of its lock and its promise whose faults it
//! asks for itself: that a lock breaks under a pause says nothing against a test of lost messages. The token of a schedule of a small
//! world, which somebody has put there by hand, is run by tests of that world alone.

use crate::plans::fault::FaultSet;
use crate::token::{Body, Token};
use picklock_properties::Promise;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

const HEAD: &str = "# Runs that once broke a promise: they are run first. Lines may be deleted.\n";

/// What such a file has in it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Regressions(Vec<Kept>);

/// A run that once failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    pub token: Token,
    /// The faults of the test that found it, if they stand there.
    under: Option<FaultSet>,
}

impl Kept {
    /// The kinds of faults that are in it; `None`: it is a schedule of a small world, and no random run.
    pub fn faults(&self) -> Option<FaultSet> {
        match &self.token.body {
            Body::Planned { plan, .. } => Some(plan.kinds()),
            Body::Path { .. } => None,
        }
    }

    /// Whether it belongs to a test of random runs under these faults: they are all that is in it, or all that was asked for when it
    /// was found. What is made small may have become a fault of another kind.
    pub fn is_of(&self, faults: FaultSet) -> bool {
        let is_within = |of: FaultSet| of.is_within(faults);
        self.faults().is_some_and(|of| is_within(of) || self.under.is_some_and(is_within))
    }
}

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
        let mut all = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace().skip(2);
            let Some(token) = words.next() else {
                return Err(format!("line {number}: there should be a lock, a promise and a token"));
            };
            let token = token.parse::<Token>().map_err(|error| format!("line {number}: {error}"))?;
            let under = words.next().map(str::parse::<FaultSet>).transpose();
            all.push(Kept { token, under: under.map_err(|error| format!("line {number}: {error}"))? });
        }
        Ok(Regressions(all))
    }

    /// The runs in which this lock once broke this promise.
    pub fn of<'a>(&'a self, lock: &'a str, promise: Promise) -> impl Iterator<Item = &'a Kept> {
        self.0.iter().filter(move |kept| kept.token.lock == lock && kept.token.promise == Some(promise))
    }

    /// Adds a run at the end of the file, which a test under these faults has found, unless it is in there.
    pub fn add(path: &Path, token: &Token, promise: Promise, under: FaultSet) -> Result<(), String> {
        let known = Regressions::read(path)?;
        if known.of(&token.lock, promise).any(|kept| kept.token == *token && kept.is_of(under)) {
            return Ok(());
        }
        let unwritable = |error| format!("{}: cannot be written: {error}", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(unwritable)?;
        let is_new = file.metadata().map_err(unwritable)?.len() == 0;
        let head = if is_new { HEAD } else { "" };
        let line = format!("{head}{} {promise} {} {under}\n", token.lock, token.encode());
        // In one piece: other tests may be adding theirs.
        file.write_all(line.as_bytes()).map_err(unwritable)
    }
}
