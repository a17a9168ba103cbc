//! The matrix once all is run: what the seeds showed beside what is known.

mod cases;

use super::super::Ending;
use super::super::names::program;
use super::super::next;
use super::super::screen::{Paint, Screen, Tone, cell, counted, grouped, headed, lines, wrapped};
use super::kind::Kind;
use crate::registry::{all_known_of, known_run};
use crate::sweep::SweepReport;
use picklock_model::claims::{Cell as Entry, Claim, Judgement, Known, claims};
use picklock_properties::{Promise, PromiseSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A lock or an object under a fault.
pub struct Row {
    /// In which table it is.
    pub kind: Kind,
    /// Which lock.
    pub lock: &'static str,
    /// Which fault.
    pub fault: &'static str,
    /// One for each promise that was watched.
    pub cells: Vec<Cell>,
}

/// What is said of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A run broke the promise.
    Violated,
    /// It is known to break, by a row of the catalogue or another seed; these runs did not meet it.
    KnownViolated,
    /// It holds in every schedule of a smaller world, and no run broke it.
    Verified,
    /// No run broke it, though some could have.
    NotSeen,
    /// No run could have.
    Vacuous,
    /// Some runs did not end, and none of the others broke it.
    Incomplete,
}

/// What is expected of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// To be broken, if enough runs are made.
    Violated,
    /// To be kept: it is believed to.
    Kept,
    /// To be kept: it is verified.
    Verified,
    /// Either.
    Unknown,
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
    verdict: Verdict,
    expected: Expected,
    /// What it is known by: rows of the catalogue, a theorem, or a seed, as `@5269`.
    known_by: Option<String>,
    /// Why; where several kinds of faults break it, each in its own way, all of those.
    reason: Option<String>,
    runs: u64,
    /// How many of them put the promise to the test.
    tested: u64,
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
    /// How that run breaks it, a line for each cause.
    #[serde(skip)]
    pub story: Option<String>,
}

/// All rows that were run.
pub struct Judged {
    /// The rows.
    pub rows: Vec<Row>,
    /// Of each lock: who used it, in words.
    pub uses: Vec<(Kind, &'static str, String)>,
    /// How many seeds each was to get through.
    pub seeds: u64,
    /// How many rows there were to be.
    pub planned: usize,
    /// Whether that is not all.
    pub interrupted: bool,
}

impl Row {
    /// Judges a sweep with these promises watched. `tokens` has one of each promise that was broken, of its first seed.
    pub fn new(
        (kind, lock): (Kind, &'static str),
        fault: &'static str,
        promises: PromiseSet,
        report: &SweepReport,
        tokens: &BTreeMap<Promise, String>,
    ) -> Row {
        let cell = |promise: Promise| {
            let known = all_known_of(lock, fault, promise);
            Cell::new((lock, fault, promise), &known, report, tokens.get(&promise).cloned())
        };
        let watched = kind.columns().iter().copied().filter(|promise| promises.contains(*promise));
        Row { kind, lock, fault, cells: watched.map(cell).collect() }
    }

    /// The cell of this promise; `None` if it was not watched.
    pub fn cell(&self, promise: Promise) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.property == promise)
    }
}

impl Cell {
    fn new(
        (lock, fault, promise): (&'static str, &'static str, Promise),
        known: &[&Entry],
        report: &SweepReport,
        token: Option<String>,
    ) -> Cell {
        let run = || {
            let run = known_run(lock, fault, promise)?;
            Some(if run.fault == fault {
                format!("@{}", run.seed)
            } else {
                format!("{}@{}", run.fault, run.seed)
            })
        };
        let (expected, known_by) = match known.first().map(|entry| entry.known) {
            None => run().map_or((Expected::Unknown, None), |run| (Expected::Violated, Some(run))),
            Some(Known::Broken) => {
                let rows =
                    distinct(known.iter().filter_map(|entry| entry.rows()).flat_map(|rows| rows.split(", ")));
                (Expected::Violated, Some(rows.join(", ")).filter(|rows| !rows.is_empty()).or_else(run))
            }
            Some(Known::Kept) => (Expected::Kept, None),
            Some(Known::Verified { theorem, dropped }) => {
                let dropped: Vec<&str> = dropped.iter().map(|assumption| assumption.name()).collect();
                (Expected::Verified, Some(format!("{theorem} without {}", dropped.join(", "))))
            }
        };
        let first_seed = report.first_seed(promise);
        let tested = report.tested.times(promise);
        let verdict = match (first_seed, expected) {
            (Some(_), _) => Verdict::Violated,
            (None, Expected::Violated) => Verdict::KnownViolated,
            (None, _) if report.truncated > 0 || report.stopped => Verdict::Incomplete,
            (None, Expected::Verified) => Verdict::Verified,
            (None, Expected::Kept | Expected::Unknown) if tested == 0 => Verdict::Vacuous,
            (None, Expected::Kept | Expected::Unknown) => Verdict::NotSeen,
        };
        Cell {
            lock,
            fault,
            property: promise,
            verdict,
            expected,
            known_by,
            reason: Some(distinct(known.iter().map(|entry| entry.reason)).join("; or "))
                .filter(|reason| !reason.is_empty()),
            runs: report.runs,
            tested,
            first_seed,
            violations: report.broken.get(&promise).copied().unwrap_or(0),
            token: token.filter(|_| first_seed.is_some()),
            shrunk: None,
            picture: None,
            story: None,
        }
    }

    /// What is said of it.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// A name for the first run that breaks it, if one did: as good as its token, and shorter.
    pub fn name_of_run(&self) -> Option<String> {
        let (Cell { lock, fault, property, .. }, seed) = (self, self.first_seed?);
        // Without a promise the gravest is shown.
        Some(match property {
            Promise::MutualExclusion => format!("{lock}:{fault}:{seed}"),
            _ => format!("{lock}:{fault}:{seed}:{property}"),
        })
    }

    /// Why it is expected to be what it is, as far as that is known.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What it is known by: rows of the catalogue, a theorem, or a seed.
    pub fn known_by(&self) -> Option<&str> {
        self.known_by.as_deref()
    }

    /// Whether a run broke what is believed, or even verified, to be kept.
    fn is_surprise(&self) -> bool {
        self.verdict == Verdict::Violated && matches!(self.expected, Expected::Kept | Expected::Verified)
    }

    fn ending(&self) -> Ending {
        match self.verdict {
            Verdict::Violated => Ending::Unexpected.or_fine(self.is_surprise()),
            Verdict::Incomplete => Ending::Incomplete,
            Verdict::KnownViolated | Verdict::Verified | Verdict::NotSeen | Verdict::Vacuous => Ending::Fine,
        }
    }

    /// What kind of cell it is on a page, and its text.
    pub fn mark(&self) -> (&'static str, String) {
        let class = match self.verdict {
            Verdict::Violated | Verdict::KnownViolated => "broken",
            Verdict::Verified => "kept",
            Verdict::NotSeen => "unseen",
            Verdict::Vacuous => "nothing",
            Verdict::Incomplete => "unclear",
        };
        let text = match self.verdict {
            // By which seed first the picture says.
            Verdict::Violated => format!("✗ ×{}", grouped(self.violations)),
            _ => self.text(),
        };
        (class, self.marked(text))
    }

    fn shown(&self) -> (Tone, String) {
        let tone = match self.verdict {
            Verdict::Violated | Verdict::KnownViolated => Tone::Bad,
            Verdict::Verified => Tone::Good,
            Verdict::NotSeen => Tone::Plain,
            Verdict::Vacuous => Tone::Faint,
            Verdict::Incomplete => Tone::Unclear,
        };
        (tone, self.marked(self.text()))
    }

    fn text(&self) -> String {
        match self.verdict {
            Verdict::Violated => {
                format!("✗ {} ×{}", self.first_seed.unwrap_or(0), grouped(self.violations))
            }
            Verdict::KnownViolated => format!("✗ {}", self.known_by.as_deref().unwrap_or("known")),
            Verdict::Verified => "✓".to_owned(),
            // So few runs that they say little.
            Verdict::NotSeen if self.tested < self.runs / 2 => format!("· {}", grouped(self.tested)),
            Verdict::NotSeen => "·".to_owned(),
            Verdict::Vacuous => "–".to_owned(),
            Verdict::Incomplete => "?".to_owned(),
        }
    }

    fn marked(&self, text: String) -> String {
        if self.is_surprise() { text + " !" } else { text }
    }

    /// What was not expected, and why not: one line.
    pub fn surprise(&self) -> Option<String> {
        let expected = match self.known_by.as_deref() {
            Some(theorem) => format!("verified by {theorem}"),
            None => "believed to be kept".to_owned(),
        };
        self.is_surprise().then(|| {
            format!(
                "{} · {} · {}: broken by seed {}, but {expected}: {}",
                self.lock,
                self.fault,
                self.property,
                self.first_seed.unwrap_or(0),
                self.reason().unwrap_or_default()
            )
        })
    }
}

/// Each once, in this order.
fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}

impl Judged {
    /// All cells, row by row.
    pub fn cells(&self) -> Vec<&Cell> {
        self.rows.iter().flat_map(|row| &row.cells).collect()
    }

    /// Whether no row is missing.
    pub fn is_complete(&self) -> bool {
        !self.interrupted && self.rows.len() == self.planned
    }

    /// How it ends the command. A cell that nothing could have broken is one of many; all of them are no matrix.
    pub fn ending(&self) -> Ending {
        let cells = self.cells();
        let nothing = !cells.is_empty() && cells.iter().all(|cell| cell.verdict == Verdict::Vacuous);
        let known = Ending::Incomplete.or_fine(!self.is_complete()).max(Ending::Vacuous.or_fine(nothing));
        cells.iter().map(|cell| cell.ending()).fold(known, Ending::max)
    }

    /// The marks of a page's table, explained: there a cell leads to its run.
    pub fn legend_of_page(&self) -> [String; 6] {
        let runs = counted(self.seeds, "run");
        [
            format!("✗ ×3: broken by 3 of {runs}, and leads to one of these"),
            "✗ R3: known to break by that row of the catalogue; ✗ @5269: by that seed; ✗ pause@12: by that seed of another row; \
             ✗ known: for the reason that is given; not met by these runs, and leads to what is known, below"
                .to_owned(),
            "✓: verified, no schedule of a small world breaks it: one to four clients and a fault or two; picklock theorems \
             has each with its bounds"
                .to_owned(),
            format!("·: not seen to break in {runs}, half of which could have, or more; · 12: only 12 could have"),
            "–: vacuous, no run could have broken it; ?: some runs did not end".to_owned(),
            "!: a surprise, what is believed or verified to be kept was broken".to_owned(),
        ]
    }

    /// The marks of the table, explained.
    fn legend(&self) -> String {
        let runs = counted(self.seeds, "run");
        let marks = [
            ("✗ 17 ×3", format!("broken: by seed 17 first, by 3 of {runs}")),
            ("✗ R3", "known to break by that row of the catalogue; ✗ @5269 by that seed".to_owned()),
            ("✗ known", "known to break, and not seen in these runs (--json: why)".to_owned()),
            (
                "✓",
                "verified: no schedule of a small world breaks it, one to four clients and a fault or two; picklock theorems \
                 has each with its bounds (--json: by which one), and picklock widen what lies a step beyond them"
                    .to_owned(),
            ),
            ("·", format!("not seen to break in {runs}, half of which could have, or more; · 12: only 12 could have")),
            ("–", "vacuous: no run could have broken it".to_owned()),
            ("?", "some runs did not end".to_owned()),
            ("!", "a surprise: what is believed or verified to be kept was broken".to_owned()),
        ];
        let below = " ".repeat(9);
        let line = |(mark, words): &(&str, String)| {
            let words = wrapped(words, Screen::text_width().min(LEGEND_WIDTH_MAX), &below);
            format!("{mark:<9}{}", words.trim_start())
        };
        marks.iter().map(line).collect()
    }

    /// As people read it.
    pub fn text(&self, paint: Paint) -> String {
        let tables = Kind::ALL.map(|kind| self.table(kind, paint));
        let mut text: String =
            tables.iter().filter(|table| !table.is_empty()).map(|table| table.clone() + "\n").collect();
        text += &self.survivors();
        if !self.rows.is_empty() {
            text += &self.legend();
        }
        for kind in Kind::ALL {
            text += &self.used_in_words(kind);
        }
        if !self.is_complete() {
            let note = format!(
                "interrupted after {} of {} rows: what is missing is NOT a pass\n",
                self.rows.len(),
                self.planned
            );
            text += &paint.text(Tone::Unclear, &note);
        }
        text += &self.surprises(paint);
        text += &self.tokens(paint);
        text
    }

    /// What keeps everything under the one fault that was asked for, as far as is known.
    fn survivors(&self) -> String {
        let Some(fault) = self.rows.first().map(|row| row.fault) else { return String::new() };
        if self.rows.len() < 2 || self.rows.iter().any(|row| row.fault != fault) {
            return String::new();
        }
        let is_kept =
            |cell: &Cell| matches!(cell.verdict, Verdict::Verified | Verdict::NotSeen | Verdict::Vacuous);
        // Of which nothing could have broken, nothing is known.
        let is_tried = |cell: &Cell| cell.verdict != Verdict::Vacuous;
        let survives = |row: &&Row| row.cells.iter().all(is_kept) && row.cells.iter().any(is_tried);
        let kept: Vec<&str> = self.rows.iter().filter(survives).map(|row| row.lock).collect();
        let under = if fault == "none" { "without faults".to_owned() } else { format!("under {fault}") };
        let words = match kept.as_slice() {
            [] if self.rows.iter().any(|row| !row.cells.iter().any(is_tried)) => {
                format!(
                    "{under} each of these broke a promise, here or in a run that is known, or nothing could have broken it"
                )
            }
            [] => format!("{under} each of these broke a promise, here or in a run that is known"),
            kept => {
                format!("{under} no promise broke, here or in any run that is known, of: {}", kept.join(", "))
            }
        };
        let words = wrapped(&words, Screen::text_width(), "");
        let Some(lock) = kept.first().filter(|_| fault != "none") else { return words + "\n" };
        let harder = format!("  try harder  {} sweep {lock} --faults {fault} --seeds 0..100000\n", program());
        words + &harder + "\n"
    }

    /// Who used the locks; those that were used alike together.
    fn used_in_words(&self, kind: Kind) -> String {
        let mut alike: Vec<(&str, Vec<&str>)> = Vec::new();
        for (_, lock, used) in self.uses.iter().filter(|(own, _, _)| *own == kind) {
            match alike.iter_mut().find(|(known, _)| known == used) {
                Some((_, locks)) => locks.push(lock),
                None => alike.push((used, vec![lock])),
            }
        }
        if alike.is_empty() {
            return String::new();
        }
        let of = kind.singular();
        let title = format!("who used the {of}, while faults of the row's kind came at random");
        let mut text = format!("\n{}", wrapped(&title, Screen::text_width(), ""));
        for (used, locks) in alike {
            text += &wrapped(&format!("{}:", locks.join(", ")), Screen::text_width(), "  ");
            text += &wrapped(used, Screen::text_width(), "      ");
        }
        text
    }

    /// The rows of a table.
    pub fn of_kind(&self, kind: Kind) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.kind == kind).collect()
    }

    /// The columns of a table that has rows: none that nobody promises.
    pub fn columns(&self, kind: Kind) -> Vec<Promise> {
        let rows = self.of_kind(kind);
        let is_promised = |promise: &Promise| rows.iter().any(|row| row.cell(*promise).is_some());
        kind.columns().iter().copied().filter(is_promised).collect()
    }

    /// Empty if there is no row of this kind.
    fn table(&self, kind: Kind, paint: Paint) -> String {
        let (rows, columns) = (self.of_kind(kind), self.columns(kind));
        if rows.is_empty() {
            return String::new();
        }
        // With one kind of faults, one line is enough for a lock.
        let fault = rows[0].fault;
        let is_one = rows.iter().all(|row| row.fault == fault);
        let first = match is_one {
            true => format!("{}, under\n{fault}", kind.singular()),
            false => format!("{}\n  fault", kind.singular()),
        };
        // What is wider than the terminal is several tables, each with some of the columns.
        let mut parts = vec![columns];
        let mut tables = Vec::new();
        while let Some(mut part) = parts.pop() {
            let table = table_of(&rows, &part, (&first, is_one), paint);
            let width = table.lines().map(columns_of).max().unwrap_or(0);
            if Screen::fits(width) || part.len() < 2 {
                tables.push(table);
                continue;
            }
            let rest = part.split_off(part.len().div_ceil(2));
            parts.extend([rest, part]);
        }
        tables.join("\n")
    }

    /// Everything that was not expected, in a line each.
    pub fn surprises_listed(&self) -> Vec<String> {
        self.cells().iter().filter_map(|cell| cell.surprise()).collect()
    }

    fn surprises(&self, paint: Paint) -> String {
        let surprises = self.surprises_listed();
        if surprises.is_empty() {
            return String::new();
        }
        let mut text = format!("\n{}\n", paint.text(Tone::Strong, "not as expected"));
        surprises.iter().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
        text
    }

    /// The run that most readers would want to see first: two holders at once, of Redlock if it is there.
    fn most_telling(&self) -> Option<&Cell> {
        let broken = self.cells().into_iter().filter(|cell| cell.first_seed.is_some());
        let rank = |cell: &&Cell| (cell.property != Promise::MutualExclusion, cell.lock != "redlock");
        broken.min_by_key(rank)
    }

    /// The name of that run.
    pub fn telling(&self) -> Option<String> {
        self.most_telling().and_then(Cell::name_of_run)
    }

    /// How to see what the lock of that run leans on, if anything is claimed of it.
    pub fn leans_on(&self) -> Option<String> {
        let has_locks = self.rows.iter().any(|row| row.kind == Kind::Locks);
        let theorem = self.most_telling().filter(|_| has_locks).and_then(theorem_about)?;
        Some(format!("  see why     {} theorems {theorem}\n", program()))
    }

    /// The tokens of all runs that break a promise, the one to be seen first before the others.
    pub fn tokens_in_order(&self) -> Vec<&str> {
        let first = self.most_telling().and_then(|cell| cell.token.as_deref());
        let others = self.cells().into_iter().filter_map(|cell| cell.token.as_deref());
        first.into_iter().chain(others.filter(|other| Some(*other) != first)).collect()
    }

    /// Of each row a run that breaks a promise, and what to do with it.
    fn tokens(&self, paint: Paint) -> String {
        let Some(first) = self.telling() else { return String::new() };
        let title = "a run of each row that breaks a promise (--json has all, with tokens)";
        let title = wrapped(title, Screen::text_width(), "");
        let title: Vec<String> = title.lines().map(|line| paint.text(Tone::Strong, line)).collect();
        let mut text = format!("\n{}\n", title.join("\n"));
        for name in self.rows.iter().filter_map(|row| row.cells.iter().find_map(Cell::name_of_run)) {
            let _ = writeln!(text, "  {name}");
        }
        let (title, theorems) = match self.leans_on() {
            Some(theorems) => ("to see how it happened, and what the lock leans on", theorems),
            None => ("to see how it happened", String::new()),
        };
        let _ = write!(text, "\n{}\n{}{theorems}", paint.text(Tone::Strong, title), next::steps(&first));
        text
    }
}

/// What is claimed of the promise that this run breaks, or of its lock if nothing is.
fn theorem_about(cell: &Cell) -> Option<&'static str> {
    let of_lock: Vec<Claim> = claims().into_iter().filter(|claim| claim.space.lock == cell.lock).collect();
    let is_about_it = |claim: &&Claim| match &claim.judgement {
        Judgement::Safety => !cell.property.is_of_progress() && claim.theorem.contains(cell.property.name()),
        progress => progress.of(PromiseSet::EMPTY).contains(cell.property),
    };
    of_lock.iter().find(is_about_it).or(of_lock.first()).map(|claim| claim.theorem)
}

/// The rows that have something to say of these promises.
fn table_of(rows: &[&Row], columns: &[Promise], (first, is_one): (&str, bool), paint: Paint) -> String {
    let titles: Vec<String> = columns.iter().map(|promise| promise.name().replacen('-', "-\n", 1)).collect();
    let mut header = vec![first];
    header.extend(titles.iter().map(String::as_str));
    let mut table = paint.table(&header);
    let says = |row: &&&Row| columns.iter().any(|promise| row.cell(*promise).is_some());
    let rows: Vec<&&Row> = rows.iter().filter(says).collect();
    for row in &rows {
        let name = if is_one { row.lock.to_owned() } else { format!("  {}", row.fault) };
        let mut cells = vec![cell(Tone::Plain, &name)];
        cells.extend(columns.iter().map(|promise| {
            let (tone, text) = row.cell(*promise).map_or((Tone::Faint, String::new()), Cell::shown);
            cell(tone, &text)
        }));
        table.add_row(cells);
    }
    match is_one {
        true => lines(&table),
        false => headed(&lines(&table), &rows.iter().map(|row| row.lock).collect::<Vec<_>>(), paint),
    }
}

/// How many columns a line takes, whatever its colours.
fn columns_of(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let plain = parts.next().unwrap_or_default().chars().count();
    plain + parts.map(|part| part.split_once('m').map_or(0, |(_, text)| text.chars().count())).sum::<usize>()
}

/// As wide as the table mostly is.
const LEGEND_WIDTH_MAX: usize = 80;

#[cfg(test)]
mod tests;
