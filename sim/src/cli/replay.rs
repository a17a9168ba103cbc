//! `picklock replay TOKEN`: the same run again, to look at.

use super::screen::{Paint, Screen, Tone, json};
use super::{BadCall, Ending, names};
use crate::registry::{Locks, Replay};
use crate::report::{
    JsonEvent, Story, TextOptions, TimeColumn, Window, page, perfetto, shiviz, svg, violation_words,
};
use crate::token::{Token, TokenError};
use clap::{Args, ValueEnum};
use picklock_properties::Promise;
use serde::Serialize;
use std::fmt::Write;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

/// Shows the run of a token again, step by step
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplayToken {
    /// What matrix, theorems, check, sweep and scenarios print: pk4_…
    token: String,
    /// How it is shown
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Writes it into this file, not to stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Shows the last N rows, and of those before them only faults, broken promises and last grants
    #[arg(long, value_name = "N", default_value_t = 60)]
    last: usize,
    /// Shows all rows
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// Columns; those of the terminal, or 120, unless given
    #[arg(long, value_name = "W")]
    width: Option<u16>,
    /// Nothing but ASCII
    #[arg(long)]
    ascii: bool,
}

const EXAMPLES: &str = "\
Examples:
  picklock replay pk4_…
  picklock replay pk4_… --all | less
  picklock replay pk4_… --format html --out run.html
  picklock replay pk4_… --json | jq '.events[] | select(.violations != [])'

Exits 1 if the run breaks a promise, else 0.";

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A table: a row per step, a column per node
    Text,
    /// One document; the same as --json
    Json,
    /// A page with a space-time diagram to step through, which loads nothing from anywhere
    Html,
    /// The diagram alone
    Svg,
    /// A trace for Perfetto (ui.perfetto.dev)
    Perfetto,
    /// A log for ShiViz
    Shiviz,
}

#[derive(Serialize)]
struct Document {
    token: String,
    lock: String,
    trace_hash: String,
    violation: Option<Broken>,
    violations: Vec<Broken>,
    plan: Option<Vec<String>>,
    events: Vec<JsonEvent>,
}

/// A broken promise. Where it is broken by what never comes, by nobody in particular.
#[derive(Clone, Serialize)]
pub struct Broken {
    property: Promise,
    client: Option<String>,
    other: Option<String>,
    words: String,
}

const WIDTH_OF_FILES: usize = 120;

impl ReplayToken {
    /// Runs it again.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let token: Token = self.token.parse().map_err(|error: TokenError| BadCall(error.to_string()))?;
        let lock = names::lock_of(locks, &token)?;
        let file = self.out.as_ref().map(|path| {
            File::create(path)
                .map_err(|error| BadCall(format!("--out {}: cannot be written: {error}", path.display())))
        });
        let mut file = file.transpose()?;

        let paint = if file.is_some() { Paint::NONE } else { screen.paint() };
        let terminal = if file.is_some() { None } else { Screen::width() };
        let options = TextOptions {
            width: self.width.map(usize::from).or(terminal).unwrap_or(WIDTH_OF_FILES),
            time: TimeColumn::Seconds,
            last: (!self.all).then_some(self.last),
            fold: true,
            colour: paint.has_colour(),
            ascii: self.ascii,
        };
        let replay = lock
            .replay(&token, &options)
            .map_err(|error| BadCall(format!("this token cannot be replayed: {error}")))?;

        let broken = broken(&replay);
        let ending = Ending::broken_if(!broken.is_empty());
        let window = if self.all { Window::All } else { Window::Last(self.last) };
        let format = if screen.wants_json() { Format::Json } else { self.format };
        let shown = match format {
            Format::Json => json(&document(&token, replay, broken)),
            Format::Text => text(replay, &broken, paint),
            Format::Html => told(&token, &replay, &broken, |story| page(story, window)),
            Format::Svg => told(&token, &replay, &broken, |story| svg(story, window)),
            Format::Perfetto => told(&token, &replay, &broken, perfetto),
            Format::Shiviz => told(&token, &replay, &broken, shiviz),
        };
        match (&mut file, &self.out) {
            (Some(file), Some(path)) => file
                .write_all(shown.as_bytes())
                .map_err(|error| BadCall(format!("--out {}: cannot be written: {error}", path.display())))?,
            (_, _) => screen.write(shown.as_bytes()),
        }
        Ok(ending)
    }
}

/// What it breaks.
pub fn broken(replay: &Replay) -> Vec<Broken> {
    let mut broken: Vec<Broken> = replay
        .violations
        .iter()
        .map(|violation| Broken {
            property: violation.promise,
            client: Some(violation.client.to_string()),
            other: Some(violation.other.to_string()),
            words: violation_words(violation),
        })
        .collect();
    broken.extend(replay.starved.map(|promise| Broken {
        property: promise,
        client: None,
        other: None,
        words: "what is owed where the loop begins is not served anywhere in it".to_owned(),
    }));
    broken
}

fn document(token: &Token, replay: Replay, broken: Vec<Broken>) -> Document {
    Document {
        token: token.encode(),
        lock: token.lock.clone(),
        trace_hash: replay.trace_hash,
        violation: broken.first().cloned(),
        violations: broken,
        plan: replay.plan.map(|plan| plan.lines().map(str::to_owned).collect()),
        events: replay.events,
    }
}

/// The run as one of the pictures or traces.
pub fn told(token: &Token, replay: &Replay, broken: &[Broken], as_text: impl Fn(Story) -> String) -> String {
    let broken: Vec<String> =
        broken.iter().map(|broken| format!("{}: {}", broken.property, broken.words)).collect();
    let plan: Vec<String> = replay.plan.iter().flat_map(|plan| plan.lines()).map(str::to_owned).collect();
    as_text(Story {
        lock: &token.lock,
        settings: &replay.settings,
        token: &token.encode(),
        broken: &broken,
        plan: &plan,
        nodes: &replay.nodes,
        locks: replay.locks,
        events: &replay.events,
        loop_start: replay.loop_start,
        in_ticks: replay.in_ticks,
    })
}

fn text(replay: Replay, broken: &[Broken], paint: Paint) -> String {
    let mut text = replay.text;
    text.push('\n');
    if broken.is_empty() {
        let _ = writeln!(text, "{}", paint.text(Tone::Good, "no promise was broken"));
    }
    for Broken { property, words, .. } in broken {
        let _ = writeln!(text, "{}: {words}", paint.text(Tone::Bad, &format!("{property} broken")));
    }
    if let Some(plan) = replay.plan {
        let _ = writeln!(text, "\n{}", paint.text(Tone::Strong, "the plan"));
        plan.lines().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    }
    let _ = writeln!(text, "\ntrace hash {}", replay.trace_hash);
    text
}
