//! `--instead`: what else could have happened in a step, and the run that comes of it.

use super::super::screen::{Screen, Tone, indented, sentence};
use super::super::{BadCall, names};
use crate::registry::AnyLock;
use crate::report::{OtherRun, WAITS_UNJUDGED, other_runs};
use crate::token::Token;
use serde::Serialize;
use std::fmt::Write;
use std::str::FromStr;

/// `12`, or `12:2`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instead {
    step: usize,
    number: Option<usize>,
}

impl FromStr for Instead {
    type Err = String;

    fn from_str(text: &str) -> Result<Instead, String> {
        let parsed = match text.split_once(':') {
            None => text.parse().ok().map(|step| Instead { step, number: None }),
            Some((step, number)) => step
                .parse()
                .ok()
                .zip(number.parse().ok())
                .map(|(step, number)| Instead { step, number: Some(number) }),
        };
        parsed.ok_or_else(|| "12 is a step, and 12:2 the second of what could have happened in it".to_owned())
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    number: usize,
    words: &'a str,
    outcome: String,
    left_out: usize,
    broken: &'a [String],
    steps: usize,
    token: &'a str,
}

impl std::fmt::Display for Instead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            None => write!(f, "{}", self.step),
            Some(number) => write!(f, "{}:{number}", self.step),
        }
    }
}

impl Instead {
    /// Whether no run is asked for, but a list of them.
    pub fn is_a_list(self) -> bool {
        self.number.is_none()
    }

    /// The token of the other run; `None`: all of the step were listed.
    pub fn token(
        self,
        lock: &dyn AnyLock,
        token: &Token,
        name: &str,
        screen: &mut Screen,
    ) -> Result<Option<Token>, BadCall> {
        let Instead { step, number } = self;
        let runs = other_runs(lock, token, step)
            .map_err(|error| BadCall(format!("--instead {step} is not for this run: {error}")))?;
        let Some(number) = number else {
            list(&runs, step, name, screen);
            return Ok(None);
        };
        let Some(run) = number.checked_sub(1).and_then(|place| runs.get(place)) else {
            let many = runs.len();
            return Err(BadCall(format!(
                "--instead {step}:{number}: {many} other things could have happened in step {step}; --instead {step} lists them"
            )));
        };
        eprintln!("note: in step {step} {}", run.words);
        if run.of_progress {
            eprintln!("note: {WAITS_UNJUDGED}");
        }
        let token = run.token.parse::<Token>().map_err(|error| BadCall(error.to_string()))?;
        Ok(Some(token))
    }
}

fn list(runs: &[OtherRun], step: usize, name: &str, screen: &mut Screen) {
    let listed = runs.iter().enumerate().map(|(place, run)| Listed {
        number: place + 1,
        words: &run.words,
        outcome: run.outcome(),
        left_out: run.left_out,
        broken: &run.broken,
        steps: run.events.len(),
        token: &run.token,
    });
    let listed: Vec<Listed> = listed.collect();
    screen.rows(&listed, true);
    let title = format!("what else could have happened in step {step}, and what became of the run then");
    let mut text = sentence(&title) + "\n";
    for (Listed { number, words, outcome, .. }, run) in listed.iter().zip(runs) {
        let tone = if run.broken.is_empty() { Tone::Plain } else { Tone::Bad };
        let missing = run.left_out_in_words().map_or_else(String::new, |words| format!("; {words}"));
        let outcome = indented(&format!("{outcome}{missing}"), "      ");
        let outcome: Vec<String> = outcome.lines().map(|line| screen.paint().text(tone, line)).collect();
        let _ =
            writeln!(text, "{number:>4}  {}{}", indented(words, "      ").trim_start(), outcome.join("\n"));
    }
    match runs.is_empty() {
        true => text += "nothing\n",
        false => {
            let _ = writeln!(text, "\n  see one     {} replay {name} --instead {step}:1", names::program());
        }
    }
    screen.text(&text);
}
