//! The matrix once all is run: verdicts beside the expected ones.

use super::super::names::program;
use super::super::screen::{Paint, Tone, cell, counted, grouped, lines};
use super::super::sweep::seeded_token;
use super::{PROMISES, SEEDS_DEFAULT};
use crate::fault::FaultSet;
use crate::registry::CheckVerdict;
use crate::sweep::SweepReport;
use picklock_model::claims::{Expected, expected_cell, known_cell};
use picklock_properties::Promise;
use serde::Serialize;
use std::fmt::Write;

/// A lock under a fault.
pub struct Row {
    /// Which lock.
    pub lock: &'static str,
    /// Which fault.
    pub fault: &'static str,
    /// One for each promise; none for what could not have been broken.
    pub cells: Vec<Option<Cell>>,
}

/// A promise of a lock under a fault.
#[derive(Serialize)]
pub struct Cell {
    /// Which lock.
    pub lock: &'static str,
    /// Which fault.
    pub fault: &'static str,
    /// Which promise.
    pub property: Promise,
    verdict: CheckVerdict,
    expected: Expected,
    runs: u64,
    first_seed: Option<u64>,
    violations: u64,
    /// Replays the first run that breaks it.
    pub token: Option<String>,
    /// Replays as little of that as breaks it still, if a report was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrunk: Option<String>,
    /// The file with its picture, in the report's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
}

/// How a verdict stands to the expected one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    AsExpected,
    /// Known to break, but these few seeds did not show it.
    NotFound,
    Differs,
}

/// All rows that were run.
pub struct Judged {
    /// The rows.
    pub rows: Vec<Row>,
    /// How many seeds each was to get through.
    pub seeds: u64,
    /// How many rows there were to be.
    pub planned: usize,
    /// Whether that is not all.
    pub interrupted: bool,
}

impl Row {
    /// Judges a sweep with all promises watched.
    pub fn new(
        lock: &'static str,
        fault: &'static str,
        faults: FaultSet,
        setup: &[u8],
        report: &SweepReport,
    ) -> Row {
        let cell = |promise| {
            // A lock without a queue overtakes nobody, one that never renews prolongs nothing: no merit of theirs.
            let could_break = match promise {
                Promise::Fifo => report.enqueued > 0,
                Promise::LeaseLoss => report.renewals > 0,
                _ => true,
            };
            let expected = expected_cell(lock, fault, promise);
            // What is known to break and could not is a difference, and shown.
            if !could_break && expected == Expected::Holds {
                return None;
            }
            let first_seed = report.first_seed(promise);
            let verdict = match first_seed {
                Some(_) => CheckVerdict::Violated,
                None if report.truncated > 0 || report.stopped => CheckVerdict::Incomplete,
                None => CheckVerdict::Holds,
            };
            Some(Cell {
                lock,
                fault,
                property: promise,
                verdict,
                expected,
                runs: report.runs,
                first_seed,
                violations: report.broken.get(&promise).copied().unwrap_or(0),
                token: first_seed.map(|seed| seeded_token(lock, setup, faults, seed)),
                shrunk: None,
                picture: None,
            })
        };
        Row { lock, fault, cells: PROMISES.map(cell).into() }
    }
}

impl Cell {
    fn standing(&self, seeds: u64) -> Standing {
        match (self.verdict, self.expected) {
            (CheckVerdict::Holds, Expected::Holds) | (CheckVerdict::Violated, Expected::Violated) => {
                Standing::AsExpected
            }
            (CheckVerdict::Holds, Expected::Violated) if seeds < SEEDS_DEFAULT => Standing::NotFound,
            (CheckVerdict::Holds, Expected::Violated)
            | (CheckVerdict::Violated, Expected::Holds)
            | (CheckVerdict::Incomplete, _) => Standing::Differs,
        }
    }

    /// What kind of cell it is on a page, and its text.
    pub fn mark(&self, seeds: u64) -> (&'static str, String) {
        let (class, text) = match self.verdict {
            CheckVerdict::Holds => ("kept", "✓".to_owned()),
            CheckVerdict::Violated => ("broken", format!("✗ {}", grouped(self.violations))),
            CheckVerdict::Incomplete => ("unclear", "?".to_owned()),
        };
        match self.standing(seeds) {
            Standing::AsExpected | Standing::NotFound => (class, text),
            Standing::Differs => (class, text + " !"),
        }
    }

    fn shown(&self, seeds: u64) -> (Tone, String) {
        let (tone, what) = match (self.verdict, self.first_seed) {
            (CheckVerdict::Holds, _) => (Tone::Good, "✓".to_owned()),
            (CheckVerdict::Incomplete, _) => (Tone::Unclear, "?".to_owned()),
            (CheckVerdict::Violated, seed) => {
                (Tone::Bad, format!("✗ {} ×{}", seed.unwrap_or(0), grouped(self.violations)))
            }
        };
        match self.standing(seeds) {
            Standing::AsExpected => (tone, what),
            Standing::NotFound => (Tone::Unclear, what + " (✗)"),
            Standing::Differs => (tone, what + " !"),
        }
    }

    /// Why it is not as expected: one line.
    fn difference(&self, seeds: u64) -> Option<String> {
        let reason = known_cell(self.lock, self.fault, self.property)
            .map_or("the promise is claimed to be kept", |known| known.reason);
        let runs = counted(self.runs, "run");
        let was = match (self.verdict, self.standing(seeds)) {
            (_, Standing::AsExpected) => return None,
            (_, Standing::NotFound) => format!("not found in {runs}"),
            (CheckVerdict::Holds, Standing::Differs) => format!("kept in {runs}"),
            (CheckVerdict::Violated, Standing::Differs) => {
                format!("broken by seed {}", self.first_seed.unwrap_or(0))
            }
            (CheckVerdict::Incomplete, Standing::Differs) => {
                "not known, for some runs did not end".to_owned()
            }
        };
        let expected = match self.expected {
            Expected::Holds => "to be kept",
            Expected::Violated => "to be broken",
        };
        Some(format!(
            "{} · {} · {}: {was}, expected {expected}: {reason}",
            self.lock, self.fault, self.property
        ))
    }
}

impl Judged {
    /// As JSON has it.
    pub fn cells(&self) -> Vec<&Cell> {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten()).collect()
    }

    /// Whether a verdict differs from the expected one, or some are missing.
    pub fn differs(&self) -> bool {
        let differs = |cell: &&Cell| cell.standing(self.seeds) == Standing::Differs;
        self.interrupted || self.cells().iter().any(differs)
    }

    /// As people read it.
    pub fn text(&self, paint: Paint) -> String {
        let mut text = self.table(paint);
        let _ = write!(
            text,
            "\n✓ kept in {} · ✗ first seed that breaks it ×how many do · – nothing that could break it · ? some runs did not end\n\
             ! not as expected · (✗) known to break, but not seen in so few runs\n",
            counted(self.seeds, "run"),
        );
        if self.interrupted {
            let note = format!(
                "interrupted after {} of {} rows: what is missing is NOT a pass\n",
                self.rows.len(),
                self.planned
            );
            text += &paint.text(Tone::Unclear, &note);
        }
        text += &self.differences(paint);
        text += &self.tokens(paint);
        text
    }

    fn table(&self, paint: Paint) -> String {
        let titles = PROMISES.map(|promise| promise.name().replacen('-', "-\n", 1));
        let mut header = vec!["lock\n  fault"];
        header.extend(titles.iter().map(String::as_str));
        let mut table = paint.table(&header);
        let mut lock = "";
        for row in &self.rows {
            if row.lock != lock {
                lock = row.lock;
                table.add_row([cell(Tone::Strong, lock)]);
            }
            let mut cells = vec![cell(Tone::Plain, &format!("  {}", row.fault))];
            cells.extend(row.cells.iter().map(|judged| {
                let (tone, text) = match judged {
                    Some(judged) => judged.shown(self.seeds),
                    None => (Tone::Faint, "–".to_owned()),
                };
                cell(tone, &text)
            }));
            table.add_row(cells);
        }
        lines(&table)
    }

    /// Every verdict that is not as expected, in a line.
    pub fn differences_listed(&self) -> Vec<String> {
        self.cells().iter().filter_map(|cell| cell.difference(self.seeds)).collect()
    }

    fn differences(&self, paint: Paint) -> String {
        let differences = self.differences_listed();
        if differences.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", paint.text(Tone::Strong, "not as expected"));
        differences.iter().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
        text
    }

    /// Of each row the token of its first broken promise, and what to do with it.
    fn tokens(&self, paint: Paint) -> String {
        let broken = |row: &Row| -> Option<(String, String)> {
            row.cells.iter().flatten().find_map(|cell| {
                let token = cell.token.clone()?;
                Some((format!("{} · {} · {}", row.lock, row.fault, cell.property), token))
            })
        };
        let broken: Vec<(String, String)> = self.rows.iter().filter_map(broken).collect();
        // Two holders at once are what most readers came to see.
        let telling = broken.iter().find(|(what, _)| what.ends_with(Promise::MutualExclusion.name()));
        let Some((_, first)) = telling.or(broken.first()) else { return String::new() };
        let width = broken.iter().map(|(what, _)| what.chars().count()).max().unwrap_or(0);
        let mut text =
            format!("\n{}\n", paint.text(Tone::Strong, "one broken promise of each row (--json has all)"));
        for (what, token) in &broken {
            let _ = writeln!(text, "  {what:width$}  {token}");
        }
        let _ = write!(
            text,
            "\n{}\n  {program} replay {first}\n  {program} theorems\n",
            paint.text(Tone::Strong, "to see how it happened, and what the lock leans on"),
            program = program(),
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_could_break_is_not_shown_as_kept() {
        let report = SweepReport { runs: 10, grants: 20, ..SweepReport::default() };
        let row = Row::new("redlock", "none", FaultSet::EMPTY, &[], &report);
        let judged: Vec<Promise> = row.cells.iter().flatten().map(|cell| cell.property).collect();
        assert!(judged.contains(&Promise::MutualExclusion), "{judged:?}");
        assert!(!judged.contains(&Promise::Fifo) && !judged.contains(&Promise::LeaseLoss), "{judged:?}");
        let judged = Judged { rows: vec![row], seeds: 10, planned: 1, interrupted: false };
        assert!(judged.text(Paint::NONE).contains('–'));
    }

    fn cell(verdict: CheckVerdict, expected: Expected) -> Cell {
        let first_seed = (verdict == CheckVerdict::Violated).then_some(17);
        Cell {
            lock: "lock",
            fault: "fault",
            property: Promise::Fifo,
            verdict,
            expected,
            runs: 100,
            first_seed,
            violations: u64::from(first_seed.is_some()),
            token: first_seed.map(|_| "pk4_token".to_owned()),
            shrunk: None,
            picture: None,
        }
    }

    fn judged(verdict: CheckVerdict, expected: Expected, seeds: u64) -> Judged {
        let row = Row { lock: "lock", fault: "fault", cells: vec![Some(cell(verdict, expected))] };
        Judged { rows: vec![row], seeds, planned: 1, interrupted: false }
    }

    #[test]
    fn a_known_failure_that_few_seeds_miss_is_shown_but_is_no_difference() {
        let few = judged(CheckVerdict::Holds, Expected::Violated, SEEDS_DEFAULT - 1);
        assert!(!few.differs());
        let text = few.text(Paint::NONE);
        assert!(
            text.contains("✓ (✗)") && text.contains("not found in 100 runs, expected to be broken"),
            "{text}"
        );
        let enough = judged(CheckVerdict::Holds, Expected::Violated, SEEDS_DEFAULT);
        assert!(enough.differs() && enough.text(Paint::NONE).contains("✓ !"));
    }

    #[test]
    fn what_is_not_known_and_what_was_not_run_is_never_as_expected() {
        for expected in [Expected::Holds, Expected::Violated] {
            let unknown = judged(CheckVerdict::Incomplete, expected, 10);
            assert!(unknown.differs() && unknown.text(Paint::NONE).contains("? !"));
        }
        let interrupted = Judged { interrupted: true, ..judged(CheckVerdict::Holds, Expected::Holds, 10) };
        assert!(interrupted.differs() && interrupted.text(Paint::NONE).contains("NOT a pass"));
    }

    #[test]
    fn a_surprise_counts_with_any_number_of_seeds_and_an_expected_failure_never() {
        let surprise = judged(CheckVerdict::Violated, Expected::Holds, 1);
        let text = surprise.text(Paint::NONE);
        assert!(
            surprise.differs() && text.contains("✗ 17 ×1 !") && text.contains("broken by seed 17"),
            "{text}"
        );
        assert!(text.contains("replay pk4_token"), "{text}");
        let known = judged(CheckVerdict::Violated, Expected::Violated, 1);
        assert!(!known.differs() && !known.text(Paint::NONE).contains("not as expected\n"));
    }
}
