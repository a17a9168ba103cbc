//! A sweep as people read it: the verdict first.

use super::cases::untested;
use super::{Document, Verdict};
use crate::cli::next;
use crate::cli::screen::{Paint, Screen, Tone, cell, counted, fact, grouped, lines, sentence};
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use crate::sweep::SweepReport;
use comfy_table::CellAlignment;
use std::fmt::Write;

impl Document {
    /// All of it; `verbose`: with how often each fault struck and each situation arose.
    pub fn text(&self, paint: Paint, verbose: bool) -> String {
        let mut text = String::new();
        let faults = match &self.plan {
            Some(plan) => format!("{plan}\n"),
            None => fact("faults", &self.faults.iter().copied().collect::<FaultSet>().to_string()),
        };
        // The usual strategy needs no word.
        let faults = match self.strategy.filter(|strategy| *strategy != Strategy::Swarm) {
            Some(strategy) => faults + &fact("plans", &format!("{strategy}: {}", strategy.description())),
            None => faults,
        };
        let rate = if self.seconds > 0.0 { self.events as f64 / self.seconds } else { 0.0 };
        let came = match self.is_lock {
            true => format!("the lock was granted {}", counted(self.grants, "time")),
            false if self.grants == 1 => "one call was answered".to_owned(),
            false => format!("{} were answered", counted(self.grants, "call")),
        };
        let _ = writeln!(text, "{}", paint.text(Tone::Strong, self.lock));
        text += &self.in_short(paint);
        text += &faults;
        if !self.set.is_empty() {
            text += &fact("set", &self.set.join(", "));
        }
        if let Some(used) = &self.used {
            text += &fact("use", used);
        }
        text += &fact("seeds", &format!("{}..{}", self.seeds[0], self.seeds[1]));
        let ran = format!(
            "{}, {} in {:.1} s, {} a second; {came}",
            counted(self.runs, "run"),
            counted(self.events, "event"),
            self.seconds,
            grouped(rate as u64),
        );
        text += &fact("ran", &ran);
        text += &self.what_struck(paint, verbose);
        if verbose {
            text += &self.what_arose(paint);
        }
        text += &self.what_broke(paint);
        if self.truncated > 0 {
            let runs = counted(self.truncated, "run");
            let note = format!("{runs} did not end and prove nothing: this is NOT a pass\n");
            text += &paint.text(Tone::Unclear, &note);
        }
        if self.interrupted {
            text += &paint.text(Tone::Unclear, "interrupted: the seeds that were not run are NOT a pass\n");
        }
        if let Some(watch) = &self.watch {
            text += &watch.text(paint);
        }
        text
    }

    /// The verdict: what was broken, what was not though it could have been, and what could not.
    fn in_short(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (promise, runs) in &self.broken {
            let broken = format!("✗ {promise} broken in {}", counted(*runs, "run"));
            text += &paint.text(Tone::Bad, &sentence(&broken));
        }
        let unbroken = self
            .tested
            .iter()
            .filter(|(promise, _)| self.asked.contains(*promise) && !self.broken.contains_key(promise));
        for (promise, runs) in unbroken {
            let could = counted(runs, "run");
            text += &sentence(&format!("· {promise} not seen to break; it could have in {could}"));
        }
        for promise in &self.untested {
            let vacuous = format!("– {promise} {}", untested(*promise));
            text += &paint.text(Tone::Unclear, &sentence(&vacuous));
        }
        match self.verdict {
            Verdict::Violated | Verdict::NotSeen => {}
            Verdict::Vacuous => text += &paint.text(Tone::Unclear, "vacuous: this is NOT a pass\n"),
            Verdict::Incomplete if self.truncated == 0 && !self.interrupted => {
                text += &paint
                    .text(Tone::Unclear, "too few of these runs put it to the test: this is NOT a pass\n");
            }
            Verdict::Incomplete => {}
        }
        text
    }

    fn what_struck(&self, paint: Paint, verbose: bool) -> String {
        let is_any = self.strikes.named().into_iter().any(|(_, times)| times > 0);
        let mut text = match (is_any, verbose) {
            (false, _) => "nothing struck\n".to_owned(),
            (true, true) => self.strikes_listed(paint),
            (true, false) => String::new(),
        };
        if !self.never_struck.is_empty() {
            let never: FaultSet = self.never_struck.iter().copied().collect();
            text += &paint.text(Tone::Unclear, &format!("never struck, though asked for: {never}\n"));
        }
        text + "\n"
    }

    fn strikes_listed(&self, paint: Paint) -> String {
        let mut table = paint.table(&["fault", "struck"]);
        for (name, times) in self.strikes.named().into_iter().filter(|(_, times)| *times > 0) {
            let times = cell(Tone::Plain, &grouped(times)).set_alignment(CellAlignment::Right);
            table.add_row([cell(Tone::Plain, name), times]);
        }
        format!("\n{}", lines(&table))
    }

    fn what_arose(&self, paint: Paint) -> String {
        let mut table = paint.table(&["situation", "arose"]);
        for (mark, times) in self.marks.iter().filter(|(_, times)| *times > 0) {
            let times = cell(Tone::Plain, &grouped(times)).set_alignment(CellAlignment::Right);
            table.add_row([cell(Tone::Plain, mark.description()), times]);
        }
        if table.is_empty() { String::new() } else { lines(&table) + "\n" }
    }

    fn what_broke(&self, paint: Paint) -> String {
        let Some(first) = self.violations.listed.first() else { return String::new() };
        let mut text = String::new();
        // Tokens are too long for a terminal; their names are not.
        let is_named =
            Screen::is_terminal() && self.violations.listed.iter().all(|violated| violated.name.is_some());
        let mut table = paint.table(&["property", "seed", if is_named { "run" } else { "token" }]);
        for violated in &self.violations.listed {
            let run = violated.name.as_ref().filter(|_| is_named).unwrap_or(&violated.token);
            table.add_row([violated.property.name(), &violated.seed.to_string(), run]);
        }
        text += &lines(&table);
        if self.violations.count > self.violations.listed.len() {
            let more = self.violations.count - self.violations.listed.len();
            let _ =
                writeln!(text, "… and {more} more: --json lists up to {} of each", SweepReport::LISTED_MAX);
        }
        let name = first.name.as_ref().unwrap_or(&first.token);
        let _ = write!(text, "\n{}{}", sentence(&format!("{}:", first.words)), next::steps(name));
        text
    }
}
