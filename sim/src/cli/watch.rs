//! The determinism watch: some of the runs are repeated in a second process, and both must be the same, step by step.
//!
//! ```text
//!   this process ──── tokens ───▶ the same binary, as `fingerprints`
//!        │ runs them again              │ runs them
//!        ▼                              ▼
//!   fingerprints ─────── equal? ─── fingerprints        no: both replay the run, and the first step that differs is shown
//! ```
//!
//! Another process has another address space, other hash seeds, and has run nothing before: what differs here leans on
//! something that no token carries. That is a defect of the simulator, or of a lock or store that breaks the rules of
//! [`picklock_model::machine`], and no verdict stands until it is gone.

use super::screen::{Paint, Screen, Tone, counted};
use super::{BadCall, Ending, names};
use crate::registry::{Locks, RunError};
use crate::report::TextOptions;
use crate::token::{Token, TokenError};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::process::{Command, Stdio};

/// One run of so many is repeated unless the user says otherwise.
pub const SHARE: u64 = 1000;

/// What came of it.
#[derive(Serialize)]
pub struct Watched {
    /// How many runs were repeated.
    runs: usize,
    /// Those that were not the same.
    differences: Vec<Difference>,
}

/// A run that is not the same in another process.
#[derive(Serialize)]
struct Difference {
    token: String,
    /// The first step that differs, from 1; `None`: when they were shown step by step, none did.
    step: Option<usize>,
    /// That step here.
    here: Option<Value>,
    /// That step there.
    there: Option<Value>,
}

/// Of these seeds the first, and one of `share`.
pub fn chosen(seeds: Range<u64>, share: u64) -> impl Iterator<Item = u64> {
    let first = Some(seeds.start).filter(|first| !seeds.is_empty() && !first.is_multiple_of(share));
    // Close to the last seed there is none.
    let next = seeds.start.checked_next_multiple_of(share).unwrap_or(seeds.end);
    first.into_iter().chain((next..seeds.end).step_by(usize::try_from(share).unwrap_or(usize::MAX)))
}

/// Repeats these runs, here and in a second process.
pub fn watch(locks: &Locks, tokens: Vec<String>) -> Result<Watched, BadCall> {
    let there = second_process(&tokens)?;
    let mut differences = Vec::new();
    for (token, there) in tokens.iter().zip(&there) {
        if fingerprint(locks, token)? != *there {
            differences.push(Difference::of(locks, token)?);
        }
    }
    Ok(Watched { runs: tokens.len(), differences })
}

/// The fingerprints of these tokens' runs, as the same binary finds them in a process of its own.
fn second_process(tokens: &[String]) -> Result<Vec<String>, BadCall> {
    let failed = |error: std::io::Error| {
        BadCall(format!(
            "the second process, which repeats some of the runs, cannot be had: {error}; --watch 0 does without"
        ))
    };
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .arg("fingerprints")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both ends were asked for");
    };
    let lines = std::thread::scope(|scope| {
        let written = scope.spawn(move || tokens.iter().try_for_each(|token| writeln!(stdin, "{token}")));
        let lines = BufReader::new(stdout).lines().collect::<Result<Vec<String>, _>>()?;
        match written.join() {
            Ok(written) => written.map(|()| lines),
            Err(_) => unreachable!("writing lines does not panic"),
        }
    });
    let lines = lines.map_err(failed)?;
    let ended = child.wait().map_err(failed)?;
    if !ended.success() || lines.len() != tokens.len() {
        return Err(failed(std::io::Error::other(format!("it ended early ({ended})"))));
    }
    Ok(lines)
}

fn parsed(token: &str) -> Result<Token, BadCall> {
    token.parse().map_err(|error: TokenError| BadCall(error.to_string()))
}

fn cannot(error: RunError) -> BadCall {
    BadCall(format!("this token cannot be run: {error}"))
}

/// One line for a run: equal for equal runs.
fn fingerprint(locks: &Locks, token: &str) -> Result<String, BadCall> {
    let token = parsed(token)?;
    names::lock_of(locks, &token)?.fingerprint(&token).map_err(cannot)
}

/// The other side: a fingerprint for each token on stdin.
pub fn fingerprints(locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| BadCall(format!("stdin cannot be read: {error}")))?;
        let fingerprint = fingerprint(locks, &line)?;
        screen.write(format!("{fingerprint}\n").as_bytes());
    }
    Ok(Ending::Fine)
}

impl Difference {
    fn of(locks: &Locks, token: &str) -> Result<Difference, BadCall> {
        let (here, there) = (steps_here(locks, token)?, steps_there(token)?);
        let step = (0..here.len().max(there.len())).find(|step| here.get(*step) != there.get(*step));
        let at = |steps: &[Value]| step.and_then(|step| steps.get(step).cloned());
        Ok(Difference {
            token: token.to_owned(),
            step: step.map(|step| step + 1),
            here: at(&here),
            there: at(&there),
        })
    }

    fn text(&self) -> String {
        let shown =
            |step: &Option<Value>| step.as_ref().map_or("nothing any more".to_owned(), Value::to_string);
        match self.step {
            None => "  the steps were the same when they were looked at one by one\n".to_owned(),
            Some(step) => {
                let (here, there) = (shown(&self.here), shown(&self.there));
                format!("  first in step {step}\n  here:  {here}\n  there: {there}\n")
            }
        }
    }
}

fn steps_here(locks: &Locks, token: &str) -> Result<Vec<Value>, BadCall> {
    let token = parsed(token)?;
    let replay = names::lock_of(locks, &token)?.replay(&token, &TextOptions::default()).map_err(cannot)?;
    Ok(replay.events.iter().map(|event| serde_json::to_value(event).unwrap_or_default()).collect())
}

fn steps_there(token: &str) -> Result<Vec<Value>, BadCall> {
    let failed = |error: std::io::Error| BadCall(format!("the second process cannot be had: {error}"));
    let shown = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["replay", token, "--json"])
        .output()
        .map_err(failed)?;
    let mut document: Value = serde_json::from_slice(&shown.stdout)
        .map_err(|error| BadCall(format!("the second process cannot replay {token}: {error}")))?;
    match document["events"].take() {
        Value::Array(events) => Ok(events),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Ok(Vec::new())
        }
    }
}

impl Watched {
    /// Whether a run was not the same.
    pub fn differs(&self) -> bool {
        !self.differences.is_empty()
    }

    /// As people read it.
    pub fn text(&self, paint: Paint) -> String {
        let runs = counted(self.runs as u64, "run");
        if !self.differs() {
            return paint.text(
                Tone::Faint,
                &format!("{runs} repeated in a second process: the same, step by step\n"),
            );
        }
        let mut text = paint.text(
            Tone::Bad,
            &format!(
                "DEFECT: of {runs} repeated in a second process, {} came out otherwise. The simulator, this lock or its store \
                 leans on something that is not in the token; please report it. Until it is repaired no verdict stands\n",
                self.differences.len(),
            ),
        );
        for difference in &self.differences {
            let _ = write!(text, "{}\n{}", difference.token, difference.text());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seed_and_one_of_so_many_are_repeated_wherever_a_shard_begins() {
        let seeds = |seeds: Range<u64>, share| chosen(seeds, share).collect::<Vec<u64>>();
        assert_eq!(seeds(0..10, 1000), [0]);
        assert_eq!(seeds(5..3001, 1000), [5, 1000, 2000, 3000]);
        assert_eq!(seeds(1000..1001, 1000), [1000]);
        assert!(seeds(7..7, 1000).is_empty());
        assert_eq!(seeds(7..10, 1), [7, 8, 9]);
        assert_eq!(seeds(u64::MAX - 1..u64::MAX, 1000), [u64::MAX - 1]);
    }
}
