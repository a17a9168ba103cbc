//! What a matrix or a sweep showed, kept in a file: cells that a later run is held against.
//!
//! A cell is one of three kinds: broken (met by a run, or known), kept (verified, not seen to break, or vacuous), or without a verdict.
//! Not to have met a failure contradicts nobody who has met it, unless the very seed was run that had broken it.

use super::BadCall;
use super::matrix::Verdict;
use super::screen::{SCHEMA, counted};
use crate::files;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// A promise of a lock under a fault, and what was seen of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shown {
    /// Which lock or object.
    pub lock: String,
    /// Which fault, or which of them, with commas between.
    pub fault: String,
    /// Which promise.
    pub property: String,
    /// What was said of it.
    pub verdict: Verdict,
    /// The first seed that broke it.
    pub first_seed: Option<u64>,
    /// The first seed that was run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub from: u64,
    /// How many were run from there on.
    pub runs: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What became of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Broken, or known to be, and was not; or no longer verified, or no longer put to the test by as many runs.
    Worse,
    /// No longer broken by the seed that had broken it; or verified; or put to the test by no more runs than before.
    Better,
    /// Was not there.
    New,
    /// Is not there any more.
    Gone,
}

/// How a cell is beside what it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beside {
    Same,
    /// Other, and no contradiction: the runs that would show it were not made, or did not end.
    Unmet,
    Changed(Change),
}

impl Shown {
    /// Which cell it is.
    fn is_of(&self, other: &Shown) -> bool {
        (&self.lock, &self.fault, &self.property) == (&other.lock, &other.fault, &other.property)
    }

    /// What was seen, in words.
    fn words(&self) -> String {
        let runs = counted(self.runs, "run");
        match (self.verdict, self.first_seed) {
            (Verdict::Violated, Some(seed)) => format!("broken by seed {seed}"),
            (Verdict::Violated, None) => "broken".to_owned(),
            (Verdict::KnownViolated, _) => "known to break".to_owned(),
            (Verdict::Verified, _) => "verified".to_owned(),
            (Verdict::NotSeen, _) => format!("not seen to break in {runs}"),
            (Verdict::Vacuous, _) => format!("put to the test by none of {runs}"),
            (Verdict::Incomplete, _) => "without a verdict".to_owned(),
        }
    }

    /// How it `is`, beside how it was.
    fn beside(&self, is: &Shown) -> Beside {
        use Verdict::{Incomplete, KnownViolated, NotSeen, Vacuous, Verified, Violated};
        // The very run that had broken it was made again.
        let was_rerun = self.first_seed.is_some_and(|seed| seed >= is.from && seed - is.from < is.runs);
        match (self.verdict, is.verdict) {
            (was, is) if was == is => Beside::Same,
            (Violated | KnownViolated, Violated | KnownViolated) => Beside::Same,
            (_, Incomplete) => Beside::Unmet,
            (_, Violated | KnownViolated) => Beside::Changed(Change::Worse),
            // What nothing breaks in a small world is not broken by a seed that was not run.
            (Violated | KnownViolated, Verified) => Beside::Changed(Change::Better),
            (Violated, _) if !was_rerun => Beside::Unmet,
            (Violated, _) => Beside::Changed(Change::Better),
            (KnownViolated, _) => Beside::Unmet,
            (Verified, _) => Beside::Changed(Change::Worse),
            (_, Verified) | (Incomplete, _) => Beside::Changed(Change::Better),
            (NotSeen, _) if is.runs < self.runs => Beside::Unmet,
            (NotSeen, _) => Beside::Changed(Change::Worse),
            (Vacuous, _) if is.runs > self.runs => Beside::Unmet,
            (Vacuous, _) => Beside::Changed(Change::Better),
        }
    }
}

/// A cell that is not what it was.
#[derive(Serialize)]
pub struct Difference {
    lock: String,
    fault: String,
    property: String,
    change: Change,
    was: Option<Shown>,
    is: Option<Shown>,
}

impl Difference {
    fn new(change: Change, was: Option<&Shown>, is: Option<&Shown>) -> Difference {
        let of = match (is, was) {
            (Some(cell), _) | (None, Some(cell)) => cell,
            (None, None) => unreachable!("a difference is one of a cell"),
        };
        Difference {
            lock: of.lock.clone(),
            fault: of.fault.clone(),
            property: of.property.clone(),
            change,
            was: was.cloned(),
            is: is.cloned(),
        }
    }

    /// Whether it is one of this cell.
    pub fn is_of(&self, lock: &str, fault: &str, property: &str) -> bool {
        (self.lock.as_str(), self.fault.as_str(), self.property.as_str()) == (lock, fault, property)
    }

    /// What became of it.
    pub fn change(&self) -> Change {
        self.change
    }

    /// What was, and what is, without the cell's name.
    pub fn words(&self) -> String {
        let words = |cell: &Option<Shown>| cell.as_ref().map_or_else(|| "not there".to_owned(), Shown::words);
        format!("was {}, is {}", words(&self.was), words(&self.is))
    }

    /// One line.
    pub fn line(&self) -> String {
        format!("{} · {} · {}: {}", self.lock, self.fault, self.property, self.words())
    }
}

/// All that differs, and how much neither differs nor is the same.
pub struct Differences {
    /// Cells that are not what they were: in the order in which they are now, then those that are gone.
    pub changed: Vec<Difference>,
    /// How many were met by neither side's runs, or not put to the test so often.
    pub unmet: usize,
    /// How many are the same.
    pub same: usize,
}

/// Of what is, beside what was.
pub fn differences(was: &[Shown], is: &[Shown]) -> Differences {
    let mut all = Differences { changed: Vec::new(), unmet: 0, same: 0 };
    for cell in is {
        match was.iter().find(|old| old.is_of(cell)) {
            None => all.changed.push(Difference::new(Change::New, None, Some(cell))),
            Some(old) => match old.beside(cell) {
                Beside::Same => all.same += 1,
                Beside::Unmet => all.unmet += 1,
                Beside::Changed(change) => all.changed.push(Difference::new(change, Some(old), Some(cell))),
            },
        }
    }
    let gone = was.iter().filter(|old| !is.iter().any(|cell| cell.is_of(old)));
    all.changed.extend(gone.map(|old| Difference::new(Change::Gone, Some(old), None)));
    all
}

/// What is to be accepted: what is, and of what was all that is not contradicted by it. A failure that few seeds did not meet stays
/// known, and so does what was not asked for.
pub fn accepted(was: &[Shown], is: &[Shown]) -> Vec<Shown> {
    let kept = |old: &Shown| match is.iter().find(|cell| cell.is_of(old)) {
        Some(cell) if old.beside(cell) != Beside::Unmet => cell.clone(),
        Some(_) | None => old.clone(),
    };
    let mut all: Vec<Shown> = was.iter().map(kept).collect();
    all.extend(is.iter().filter(|cell| !was.iter().any(|old| old.is_of(cell))).cloned());
    all
}

/// The cells of a file: a snapshot, or what `matrix`, `overview`, `sweep` or `merge` printed with `--json`.
pub fn read(path: &Path) -> Result<Vec<Shown>, BadCall> {
    let file = path.display();
    let text = files::read_text(path).map_err(|error| BadCall(format!("{file} cannot be read: {error}")))?;
    cells(&text).map_err(|why| BadCall(format!("{file}: {why}")))
}

fn cells(text: &str) -> Result<Vec<Shown>, String> {
    let other = || "it is no result of matrix or sweep, as --json prints them, and no snapshot".to_owned();
    let document: Value = serde_json::from_str(text).map_err(|error| format!("{} ({error})", other()))?;
    if let Some(schema) = document["schema"].as_u64().filter(|schema| *schema > u64::from(SCHEMA)) {
        return Err(format!(
            "a newer picklock wrote it, with schema {schema}; this one reads up to {SCHEMA}"
        ));
    }
    match document.get("rows").and_then(Value::as_array) {
        Some(rows) if rows.is_empty() => Err("it has no rows: there is nothing to compare".to_owned()),
        Some(rows) => {
            let cell = |(number, row)| {
                Shown::deserialize(row).map_err(|error| format!("{}: row {number}: {error}", other()))
            };
            (1..).zip(rows).map(cell).collect()
        }
        None => Sweep::deserialize(&document).map(Sweep::cells).map_err(|_| other()),
    }
}

/// What is read of a sweep's document.
#[derive(Deserialize)]
struct Sweep {
    lock: String,
    faults: Vec<String>,
    plan: Option<Value>,
    seeds: [u64; 2],
    runs: u64,
    truncated: u64,
    interrupted: bool,
    tested: serde_json::Map<String, Value>,
    untested: Vec<String>,
    broken: serde_json::Map<String, Value>,
    violations: Vec<Violation>,
}

#[derive(Deserialize)]
struct Violation {
    property: String,
    seed: u64,
}

impl Sweep {
    /// A cell for each promise that was asked for or broken.
    fn cells(self) -> Vec<Shown> {
        let fault = match (&self.plan, self.faults.is_empty()) {
            (Some(_), _) => "plan".to_owned(),
            (None, true) => "none".to_owned(),
            (None, false) => self.faults.join(","),
        };
        let mut properties: Vec<&String> = self.broken.keys().collect();
        for property in self.tested.keys().chain(&self.untested) {
            if !properties.contains(&property) {
                properties.push(property);
            }
        }
        let cell = |property: &String| {
            let seeds = self.violations.iter().filter(|violation| violation.property == *property);
            let verdict = match () {
                () if self.broken.contains_key(property) => Verdict::Violated,
                () if self.truncated > 0 || self.interrupted => Verdict::Incomplete,
                () if self.untested.contains(property) => Verdict::Vacuous,
                () => Verdict::NotSeen,
            };
            Shown {
                lock: self.lock.clone(),
                fault: fault.clone(),
                property: property.clone(),
                verdict,
                first_seed: seeds.map(|violation| violation.seed).min(),
                from: self.seeds[0],
                runs: self.runs,
            }
        };
        properties.into_iter().map(cell).collect()
    }
}

/// A snapshot as a file: a line for each cell, so that a change of one is a change of one line.
pub fn text(cells: &[Shown]) -> String {
    let line = |cell: &Shown| match serde_json::to_string(cell) {
        Ok(line) => line,
        Err(error) => unreachable!("cells are plain data: {error}"),
    };
    let lines: Vec<String> = cells.iter().map(line).collect();
    format!(
        "{{\"picklock\": {:?}, \"schema\": {SCHEMA}, \"complete\": true, \"rows\": [\n{}\n]}}\n",
        env!("CARGO_PKG_VERSION"),
        lines.join(",\n")
    )
}

#[cfg(test)]
mod tests;
