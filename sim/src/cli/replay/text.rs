//! A run as text: what broke and why, the plan, the steps, and what to do next.

use super::super::next;
use super::super::screen::{Paint, Tone, counted, fitting, wrapped};
use super::OTHERWISE;
use crate::registry::{Broken, Replay};
use crate::report::{JsonEvent, TextTrace};
use crate::token::{Body, Token};
use picklock_properties::Promise;

/// What is above a longer table has left the screen when the last line is printed.
const SCREEN_LINES: usize = 40;

/// A run that is shown.
pub struct Shown<'a> {
    pub token: &'a Token,
    /// What it was called by.
    pub name: &'a str,
    pub replay: &'a Replay,
    pub broken: &'a [Broken],
    /// Whether all of its rows are shown.
    pub all: bool,
    pub paint: Paint,
    /// How many columns the terminal has, if it is shown on one.
    pub terminal: Option<usize>,
}

impl Shown<'_> {
    /// `about` is what the catalogue says of it, and `why` the chain of causes.
    pub fn text(&self, about: &str, why: &str) -> String {
        let (head, table) = TextTrace::parts(&self.replay.text);
        let hash = format!("  hash      {}\n", self.replay.trace_hash);
        let (plan, verdict) = (self.plan(), self.verdict(table.lines().count() > SCREEN_LINES));
        let next = self.next();
        let note = match self.replay.came_out_otherwise {
            true => format!("{}\n", self.paint.text(Tone::Unclear, OTHERWISE)),
            false => String::new(),
        };
        let head = format!("{head}{hash}");
        let parts = [note.as_str(), &head, about, why, &plan, table, &verdict, &next];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn plan(&self) -> String {
        let Some(plan) = &self.replay.plan else { return String::new() };
        let lines = plan.lines().map(|line| fitting(line, self.terminal, "  "));
        let idle = match self.replay.nothing_struck {
            true => format!("  {}\n", self.paint.text(Tone::Unclear, "no fault of it struck in this run")),
            false => String::new(),
        };
        format!("{}\n{}{idle}", self.paint.text(Tone::Strong, "the plan"), lines.collect::<String>())
    }

    /// What it came to, in a line or two. What broke stands above the table, and is said again only where that is out of sight.
    fn verdict(&self, is_long: bool) -> String {
        let Shown { token, replay, broken, .. } = self;
        let mut lines = String::new();
        let is_kept = |promise: &Promise| broken.iter().all(|broken| broken.property != *promise);
        if let Some(promise) = token.promise.filter(is_kept).filter(|_| replay.panicked.is_none()) {
            let (tone, words) = match replay.tested.contains(promise) {
                true => (Tone::Good, format!("{promise} kept")),
                false => (Tone::Unclear, format!("{promise}: nothing in this run put it to the test")),
            };
            lines += &format!("{}\n", self.paint.text(tone, &words));
        }
        if replay.panicked.is_some() {
            let words = "the run did not end: a machine panicked";
            lines += &format!("{}\n", self.paint.text(Tone::Unclear, words));
        } else if broken.is_empty() {
            lines += &format!("{}\n", self.paint.text(Tone::Good, "no promise was broken"));
        }
        let asked = broken.iter().find(|broken| Some(broken.property) == token.promise);
        if let Some(gravest) = asked.or(broken.first()).filter(|_| is_long) {
            lines += &self.broken_again(gravest);
        }
        let times: usize = replay.events.iter().map(|event| event.violations.len()).sum();
        let again = times.saturating_sub(broken.len());
        if again > 0 && !self.all {
            let more = counted(again as u64, "more violation");
            lines += &format!("{more} in the same run: --all shows where\n");
        }
        lines
    }

    fn broken_again(&self, Broken { property, words, .. }: &Broken) -> String {
        let breaks =
            |event: &&JsonEvent| event.violations.iter().any(|violation| violation.property == *property);
        let event = self.replay.events.iter().find(breaks);
        let place = event.map_or_else(String::new, |event| format!(" in step {}", event.step));
        let head = format!("{property} broken");
        let told = fitting(&format!("{head}{place}: {words}"), self.terminal, "");
        told.replacen(&head, &self.paint.text(Tone::Bad, &head), 1)
    }

    /// The calls that draw it, or make it small if it breaks what it was asked for.
    fn next(&self) -> String {
        let Shown { token, name, .. } = self;
        let is_asked = |broken: &Broken| token.promise.is_none_or(|promise| promise == broken.property);
        // Standard input is read, and gone.
        let name = if name.trim() == "-" { token.encode() } else { name.split_whitespace().collect() };
        match &token.body {
            _ if !self.broken.iter().any(is_asked) => next::after_seeing_it_keep(&name),
            Body::Path { .. } => next::after_seeing_path(&name),
            Body::Planned { .. } => next::after_seeing(&name),
        }
    }
}

/// What is said of a row of the catalogue, in lines of so many columns.
pub fn told_of(about: &[String], width: usize) -> String {
    let Some((story, rest)) = about.split_first() else { return String::new() };
    let told = rest.iter().map(|sentence| wrapped(sentence, width, "  "));
    format!("{}{}", wrapped(story, width, ""), told.collect::<String>())
}
