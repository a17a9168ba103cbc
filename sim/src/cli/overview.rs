//! `picklock` alone, or `picklock overview`: all locks on one screen, a letter for each promise that breaks.

use super::jobs::Jobs;
use super::matrix::{Judged, Kind, Row, Verdict, rows_of_faults};
use super::names::{self, program};
use super::progress::Progress;
use super::screen::{Paint, Screen, Tone, counted, wrapped};
use super::tokens::{Plans, Tokens, UNCHANGED};
use super::{BadCall, Ending, interrupt, last, next};
use crate::plans::strategy::Strategy;
use crate::registry::{AnyLock, Locks, SweepHow};
use clap::Args;
use picklock_properties::Promise;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Shows all locks on one screen: which of them breaks under which fault
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Overview {
    /// Only this lock; may be repeated
    #[arg(long = "lock", value_name = "LOCK", value_delimiter = ',')]
    locks: Vec<String>,
    /// The variants of each lock as well: repaired, with a fencing token, on three members
    #[arg(long, conflicts_with = "locks")]
    all: bool,
    /// How many seeds each lock has to get through under each fault
    #[arg(long, value_name = "N", default_value_t = SEEDS_DEFAULT)]
    seeds: u64,
    #[command(flatten)]
    jobs: Jobs,
}

const EXAMPLES: &str = "\
Examples:
  picklock
  picklock overview --all
  picklock overview --lock redlock,zookeeper-lock,etcd-mutex --seeds 10000

The same runs as those of picklock matrix, which has all promises, a token for each failure, and more seeds. Exits as that does.

JSON: the cells of picklock matrix.";

/// So few that it takes seconds.
const SEEDS_DEFAULT: u64 = 100;

/// What is shown, the gravest first, with its letter: in capitals if a run broke it.
const LETTERS: [(Promise, char, &str); 4] = [
    (Promise::MutualExclusion, 'm', "two hold at once"),
    (Promise::FencedResource, 'w', "a late write is taken"),
    (Promise::DeadlockFreedom, 'd', "all wait for ever"),
    (Promise::StarvationFreedom, 's', "one client waits for ever"),
];

/// The column of each fault: what it is called, and how wide it is.
const COLUMNS: [(&str, &str, usize); 9] = [
    ("none", "none", 5),
    ("pause", "pause", 6),
    ("clock", "clock", 6),
    ("delay", "delay", 6),
    ("loss", "loss", 5),
    ("duplicate", "dupl", 5),
    ("partition", "part", 5),
    ("crash", "crash", 6),
    ("power-loss", "power", 5),
];

impl Default for Overview {
    fn default() -> Overview {
        Overview { locks: Vec::new(), all: false, seeds: SEEDS_DEFAULT, jobs: Jobs::default() }
    }
}

impl Overview {
    /// Runs all seeds, and prints a line as soon as it is known.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let chosen = self.chosen_locks(locks)?;
        let jobs = self.jobs.count()?;
        if self.seeds == 0 {
            return Err(BadCall("--seeds 0 shows nothing; it takes at least 1".to_owned()));
        }
        let planned = chosen.len() * COLUMNS.len();
        let page = Page { paint: screen.paint(), names: Page::names(&chosen), terminal: Page::narrow() };
        let progress = Progress::uneven_runs(planned as u64 * self.seeds);
        let on_progress = |runs| progress.add(runs);
        let stop = interrupt::flag();
        let how = SweepHow { jobs, keep_going: true, ..SweepHow::new(&on_progress, stop) };
        progress.aside(|| screen.text(&page.head(chosen.len(), self.seeds)));
        let mut rows = Vec::new();
        for (number, lock) in chosen.iter().enumerate() {
            if stop.load(Ordering::Relaxed) || screen.is_closed() {
                break;
            }
            progress.begin_of(number, chosen.len(), lock.name());
            let first = rows.len();
            for fault in COLUMNS.map(|(fault, ..)| fault) {
                rows.push(row(*lock, fault, self.seeds, &how)?);
            }
            progress.aside(|| screen.text(&page.line(number, &rows[first..])));
        }
        drop(progress);

        let interrupted = interrupt::happened();
        let judged = Judged { rows, uses: Vec::new(), seeds: self.seeds, planned, interrupted };
        screen.text(&page.foot(&judged, !self.all && self.locks.is_empty()));
        last::keep(judged.tokens_in_order());
        screen.rows(&judged.cells(), judged.is_complete());
        Ok(judged.ending())
    }

    fn chosen_locks<'a>(&self, locks: &'a Locks) -> Result<Vec<&'a dyn AnyLock>, BadCall> {
        if !self.locks.is_empty() {
            let mut chosen: Vec<&dyn AnyLock> =
                self.locks.iter().map(|name| names::real_lock(locks, name)).collect::<Result<_, _>>()?;
            let mut named = BTreeSet::new();
            chosen.retain(|lock| named.insert(lock.name()));
            return Ok(chosen);
        }
        let all = Kind::Locks.rows(locks);
        let is_variant = |lock: &dyn AnyLock| all.iter().any(|other| base_of(lock, *other).is_some());
        Ok(all.iter().copied().filter(|lock| self.all || !is_variant(*lock)).collect())
    }
}

/// One lock under one fault.
fn row(lock: &dyn AnyLock, fault: &str, seeds: u64, how: &SweepHow) -> Result<Row, BadCall> {
    let (name, faults) = names::find("fault", fault, rows_of_faults(), |row| row.0.to_owned())?;
    let promises = Kind::Locks.watched(lock);
    let setup = lock.setup(Some(promises));
    let report = lock.sweep(&setup, faults, 0..seeds, how)?;
    let plans = Plans::Drawn { faults, strategy: Strategy::default(), planned: UNCHANGED };
    let tokens = Tokens { lock, setup: &setup, plans }.of_first(&report)?;
    Ok(Row::new((Kind::Locks, lock.name()), name, promises, &report, &tokens))
}

/// What comes behind the name of `other` in that of `lock`, which is a variant of it.
fn base_of<'a>(lock: &'a dyn AnyLock, other: &dyn AnyLock) -> Option<&'a str> {
    lock.name().strip_prefix(other.name()).filter(|rest| rest.starts_with('-'))
}

/// How it is printed.
struct Page {
    paint: Paint,
    /// What each line begins with.
    names: Vec<String>,
    /// How many columns the terminal has for it; `None`: as many as it takes.
    terminal: Option<usize>,
}

/// As wide as the text below the table is set.
const TEXT_WIDTH: usize = 80;

impl Page {
    /// The columns of a terminal that has not room for the text as it is set.
    fn narrow() -> Option<usize> {
        (!Screen::fits(TEXT_WIDTH)).then(Screen::text_width)
    }

    /// The locks' names; of a variant that stands below what it is one of, what is behind that name.
    fn names(locks: &[&dyn AnyLock]) -> Vec<String> {
        let mut base: Option<&dyn AnyLock> = None;
        let name = |lock: &dyn AnyLock| lock.name().to_owned();
        let mut names = Vec::new();
        for lock in locks {
            match base.and_then(|base| base_of(*lock, base)) {
                Some(rest) => names.push(format!("  …{rest}")),
                None => {
                    base = Some(*lock);
                    names.push(name(*lock));
                }
            }
        }
        names
    }

    fn width(&self) -> usize {
        self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + 2
    }

    /// Whether a name stands on a line of its own, above its cells: beside each other they are too wide.
    fn is_folded(&self) -> bool {
        let cells: usize = COLUMNS.iter().map(|(.., width)| width).sum();
        self.terminal.is_some_and(|terminal| self.width() + cells > terminal)
    }

    /// What stands before the cells.
    fn before_cells(&self) -> usize {
        if self.is_folded() { 2 } else { self.width() }
    }

    /// A sentence of the text, in lines that fit.
    fn told(&self, words: &str) -> String {
        match self.terminal {
            Some(terminal) => wrapped(words, terminal, ""),
            None => format!("{words}\n"),
        }
    }

    fn head(&self, locks: usize, seeds: u64) -> String {
        let said = format!(
            "{}, 8 kinds of faults, {} of each with faults at random moments",
            counted(locks as u64, "lock"),
            counted(seeds, "run"),
        );
        let heads: String = COLUMNS.iter().map(|(_, head, width)| format!("{head:width$}")).collect();
        let heads = format!("{:width$}{}", "", heads.trim_end(), width = self.before_cells());
        format!("{}\n{}\n", self.told(&said), self.paint.text(Tone::Strong, &heads))
    }

    fn line(&self, number: usize, rows: &[Row]) -> String {
        let name = match self.is_folded() {
            true => format!("{}\n  ", self.names[number]),
            false => format!("{:width$}", self.names[number], width = self.width()),
        };
        let cells: String = COLUMNS
            .iter()
            .zip(rows)
            .map(|((_, _, width), row)| {
                let (tone, text) = letters(row);
                self.paint.text(tone, &format!("{text:width$}"))
            })
            .collect();
        format!("{}{}\n", self.paint.text(Tone::Strong, &name), cells.trim_end())
    }

    /// What the letters mean, and what to type next.
    fn foot(&self, judged: &Judged, leaves_out_variants: bool) -> String {
        let mut text = "\n".to_owned();
        if !judged.is_complete() {
            let note = format!(
                "interrupted after {} of {} cells: what is missing is NOT a pass",
                judged.rows.len(),
                judged.planned
            );
            let note = self.told(&note) + "\n";
            text += &self.paint.text(Tone::Unclear, &note);
        }
        let meaning =
            |(_, letter, what): &(Promise, char, &str)| format!("{} {what}", letter.to_ascii_uppercase());
        let letters = LETTERS.iter().map(meaning).collect::<Vec<_>>();
        let marks = "M: a run here broke it.  m: known to break, not met here.  ·: not seen to break,\n\
                     which is no proof.  ✓: no two hold at once in any schedule of a small world\n\
                     (one to four clients, a fault or two: picklock theorems says which).";
        match self.terminal {
            None => {
                letters.chunks(2).for_each(|letters| text += &format!("{}\n", letters.join("   ")));
                text += &format!("{marks}\n");
            }
            Some(_) => {
                letters.iter().for_each(|letter| text += &self.told(letter));
                text += &self.told(&marks.replace('\n', " "));
            }
        }
        for line in judged.surprises_listed() {
            text += &self.paint.text(Tone::Bad, &format!("! {line}\n"));
        }
        if let Some(name) = judged.telling() {
            text += &format!("\n{}", next::steps(&name));
            text += &judged.leans_on().unwrap_or_default();
        }
        let program = program();
        text += &format!("  see all     {program} matrix\n");
        if leaves_out_variants {
            text += &format!("  repaired    {program} overview --all\n");
        }
        text
    }
}

/// A letter for each promise that breaks, or what is to be said in their place.
fn letters(row: &Row) -> (Tone, String) {
    let verdict = |promise: Promise| row.cell(promise).map(|cell| cell.verdict());
    let mut text = String::new();
    for (promise, letter, _) in LETTERS {
        // Where all wait for ever, so does each.
        let is_said = promise == Promise::StarvationFreedom && text.to_ascii_lowercase().contains('d');
        match verdict(promise) {
            Some(Verdict::Violated) if !is_said => text.push(letter.to_ascii_uppercase()),
            Some(Verdict::KnownViolated) if !is_said => text.push(letter),
            _ => {}
        }
    }
    if !text.is_empty() {
        return (Tone::Bad, text);
    }
    let is_unclear = row.cells.iter().any(|cell| cell.verdict() == Verdict::Incomplete);
    match verdict(Promise::MutualExclusion) {
        _ if is_unclear => (Tone::Unclear, "?".to_owned()),
        Some(Verdict::Verified) => (Tone::Good, "✓".to_owned()),
        Some(Verdict::Vacuous) | None => (Tone::Faint, "–".to_owned()),
        Some(_) => (Tone::Plain, "·".to_owned()),
    }
}
