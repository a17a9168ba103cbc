//! `picklock shrink --catalogue`: how much smaller the runs become that random plans find, and how they compare with the
//! shortest ones, which the exhaustive search finds.

use super::length::Length;
use crate::cli::hunt::STARTS_MAX;
use crate::cli::progress::{Progress, Stopwatch};
use crate::cli::screen::{Paint, Rows, Screen, Tone, grouped, sentence};
use crate::cli::seeded::Seeded;
use crate::cli::side_by_side::side_by_side;
use crate::cli::{BadCall, Ending, STATES_MAX, interrupt, jobs::Jobs, names};
use crate::plans::shrink::Size;
use crate::plans::strategy::Strategy;
use crate::registry::{Locks, Reduced, ShrinkHow};
use crate::report::TextOptions;
use crate::token::{Token, TokenError};
use picklock_model::claims::{Hunt, Scenario, Search, scenarios};
use picklock_model::explore::{Limits, Seen};
use picklock_properties::Promise;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// From one start's first seed to the next one's, as `picklock hunt` counts them.
const STRIDE: u64 = 1_000_000;
/// After so many seeds a start gives up.
const SEEDS_MAX: u64 = 10_000;
/// So much of a found run may be left, in the middle.
const RATIO_MAX: f64 = 0.5;

/// A run that was found and shrunk.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    breaks: Promise,
    lock: &'static str,
    start: u64,
    seed: u64,
    found: Size,
    shrunk: Size,
    length: Length,
    exhaustive: Option<Length>,
    runs: u64,
    seconds: f64,
    breaks_the_same: bool,
    token: String,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Row>,
    missing: &'a [String],
    summary: Summary,
}

/// The rows together. Ratios are of what is left to what was found, and of shrunk runs to exhaustive paths.
#[derive(Serialize)]
struct Summary {
    steps_median: Option<f64>,
    faults_median: Option<f64>,
    at_most_half: usize,
    of: usize,
    /// Of entries, repetitions and all.
    entries_to_exhaustive_median: Option<f64>,
    /// Of entries, repetitions counted once.
    once_to_exhaustive_median: Option<f64>,
}

/// Shrinks what each row's hunt finds from so many starts.
pub fn run(locks: &Locks, starts: u64, jobs: &Jobs, screen: &mut Screen) -> Result<Ending, BadCall> {
    if !(1..=STARTS_MAX).contains(&starts) {
        return Err(BadCall(format!("--starts {starts}: it takes 1 to {STARTS_MAX} starts")));
    }
    let (threads, pool, paint) = (jobs.count()?, jobs.pool()?, screen.paint());
    screen.text(&header(paint));
    let (mut rows, mut missing): (Vec<Row>, Vec<String>) = (Vec::new(), Vec::new());
    let hunted = hunted();
    let planned = hunted.len() as u64 * starts;
    let (progress, is_closed) = (Progress::seeds(), AtomicBool::new(false));
    let is_over = || interrupt::happened() || is_closed.load(Ordering::Relaxed);
    let of_row = |(scenario, hunt): &(Scenario, Hunt)| -> Result<Vec<Option<Row>>, BadCall> {
        if is_over() {
            return Ok((0..starts).map(|_| None).collect());
        }
        progress.begin(scenario.id.to_owned());
        let exhaustive = pool.install(|| exhaustive(locks, scenario, &progress))?;
        let from = |start| match is_over() {
            true => Ok(None),
            false => shrunk(locks, scenario, hunt, start, exhaustive, &progress),
        };
        (0..starts).map(from).collect()
    };
    let mut error = None;
    side_by_side(&hunted, threads, of_row, |(scenario, _), of_row| {
        let of_row = match of_row {
            Ok(of_row) => of_row,
            Err(bad) => {
                error = Some(bad);
                return ControlFlow::Break(());
            }
        };
        for (start, found) in of_row.into_iter().enumerate() {
            match found {
                Some(found) => {
                    progress.aside(|| screen.text(&line(&found, paint)));
                    rows.push(found);
                }
                None => missing.push(format!("{} from start {start}", scenario.id)),
            }
        }
        is_closed.store(screen.is_closed(), Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    drop(progress);
    if let Some(error) = error {
        return Err(error);
    }
    let summary = Summary::of(&rows);
    let is_stopped = interrupt::happened() || screen.is_closed();
    let closing = match is_stopped && !missing.is_empty() {
        true => stopped(&summary, planned, paint),
        false => closing(&summary, &missing, paint),
    };
    screen.text(&closing);
    let differs = !summary.is_fine() || !rows.iter().all(|row| row.breaks_the_same);
    // What is missing was not found, or not looked for.
    let ending = match (missing.is_empty(), is_stopped) {
        (false, true) => Ending::Incomplete,
        (false, false) => Ending::Unexpected,
        (true, _) => Ending::Unexpected.or_fine(differs),
    };
    let complete = missing.is_empty() || !is_stopped;
    screen.document(&Document { rows: Rows::new(&rows, complete), missing: &missing, summary });
    Ok(ending)
}

fn hunted() -> Vec<(Scenario, Hunt)> {
    scenarios().into_iter().filter_map(|row| row.hunt.clone().map(|hunt| (row, hunt))).collect()
}

/// The shortest path to the same failure, where the row looks for it exhaustively.
fn exhaustive(locks: &Locks, scenario: &Scenario, progress: &Progress) -> Result<Option<Length>, BadCall> {
    match &scenario.search {
        Search::Space { space, judgement } => {
            let on_progress = |seen: &Seen| progress.search(seen);
            let limits =
                Limits { states_max: STATES_MAX, stop: interrupt::flag(), on_progress: &on_progress };
            let lock = names::lock(locks, space.lock)?;
            let found = lock.check(space, judgement, &limits)?.counterexample;
            let Some(found) = found.filter(|found| found.promise == scenario.breaks) else { return Ok(None) };
            let replay =
                lock.replay(&found.token, &TextOptions { last: Some(0), ..TextOptions::default() })?;
            Ok(Some(Length::of(&replay, scenario.breaks)))
        }
        Search::Seeds { .. } => Ok(None),
    }
}

/// The first seed of this start that breaks the promise, shrunk; `None` if none does, or it was stopped.
fn shrunk(
    locks: &Locks,
    scenario: &Scenario,
    hunt: &Hunt,
    start: u64,
    exhaustive: Option<Length>,
    progress: &Progress,
) -> Result<Option<Row>, BadCall> {
    let seeded = Seeded::new(locks, hunt.lock, &hunt.setup, hunt.faults)?;
    let first = start * STRIDE;
    let seeds = first..first + SEEDS_MAX;
    let tried = seeded.first_break(Strategy::Swarm, seeds, Some(scenario.breaks), 1, progress)?;
    let (Some(seed), Some(token)) = (tried.broken, &tried.token) else { return Ok(None) };
    let token: Token = token.parse().map_err(|error: TokenError| BadCall(error.to_string()))?;
    let watch = Stopwatch::start();
    let reduced = seeded.lock().shrink(&token, &ShrinkHow::new(interrupt::flag(), &|_| progress.add(1)))?;
    let Reduced::Shrunk { promise, token, before, after, runs, interrupted: false, .. } = reduced else {
        return Ok(None);
    };
    let seconds = watch.seconds();
    let replay = seeded.lock().replay(&token, &TextOptions { last: Some(0), ..TextOptions::default() })?;
    Ok(Some(Row {
        id: scenario.id,
        breaks: scenario.breaks,
        lock: hunt.lock,
        start,
        seed,
        found: before,
        shrunk: after,
        length: Length::of(&replay, promise),
        exhaustive,
        runs,
        seconds,
        breaks_the_same: replay.violations.iter().any(|broken| broken.promise == scenario.breaks),
        token: token.encode(),
    }))
}

impl Summary {
    fn of(rows: &[Row]) -> Summary {
        let steps = |row: &Row| ratio(row.shrunk.steps, row.found.steps);
        let faults = |row: &Row| ratio(row.shrunk.faults.into(), row.found.faults.into());
        let beside = |row: &Row, part: fn(Length) -> u64| {
            row.exhaustive.and_then(|exhaustive| ratio(part(row.length), part(exhaustive)))
        };
        Summary {
            steps_median: median(rows.iter().filter_map(steps)),
            faults_median: median(rows.iter().filter_map(faults)),
            at_most_half: rows.iter().filter_map(steps).filter(|ratio| *ratio <= RATIO_MAX).count(),
            of: rows.len(),
            entries_to_exhaustive_median: median(
                rows.iter().filter_map(|row| beside(row, |length| length.entries)),
            ),
            once_to_exhaustive_median: median(
                rows.iter().filter_map(|row| beside(row, |length| length.once)),
            ),
        }
    }

    fn is_fine(&self) -> bool {
        let is_small = |median: Option<f64>| median.is_some_and(|median| median <= RATIO_MAX);
        is_small(self.steps_median) && is_small(self.faults_median)
    }
}

/// Nothing is no part of nothing: a run that was found without faults says nothing about how they go.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Of an even number the upper one of the two in the middle: it is not flattered.
fn median(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

fn header(paint: Paint) -> String {
    let titles = format!(
        "{:5} {:18} {:>8}  {:>7}  {:>17}  {:>4}  {:>13}  {:>16}  {:>7}",
        "id", "breaks", "seed", "faults", "steps", "left", "once / of", "exhaustive", "seconds"
    );
    format!("{}\n{}\n", paint.text(Tone::Strong, &titles), "─".repeat(titles.chars().count()))
}

fn line(row: &Row, paint: Paint) -> String {
    let Row { found, shrunk, length, .. } = row;
    let left = ratio(shrunk.steps, found.steps).unwrap_or(1.0);
    let tone = if left <= RATIO_MAX { Tone::Good } else { Tone::Unclear };
    let lengths = |length: Length| format!("{} / {}", grouped(length.once), grouped(length.entries));
    let same = if row.breaks_the_same { "" } else { "  ✗ breaks something else" };
    format!(
        "{:5} {:18} {:>8}  {:>7}  {:>17}  {}  {:>13}  {:>16}  {:>7.1}{}\n      {}\n",
        row.id,
        row.breaks.name(),
        row.seed,
        format!("{} → {}", found.faults, shrunk.faults),
        format!("{} → {}", grouped(found.steps), grouped(shrunk.steps)),
        paint.text(tone, &format!("{:>3.0}%", 100.0 * left)),
        lengths(*length),
        row.exhaustive.map_or("–".to_owned(), lengths),
        row.seconds,
        paint.text(Tone::Bad, same),
        paint.text(Tone::Faint, &row.token),
    )
}

/// Of a search that was stopped: no verdict, for the rows that are missing might change it.
fn stopped(summary: &Summary, planned: u64, paint: Paint) -> String {
    let note = format!("stopped after {} of {planned} rows: the rest is NOT a pass\n", summary.of);
    let finished = match summary.of {
        0 => String::new(),
        1 => averages("of the one that was finished: ", summary),
        finished => averages(&format!("of the {finished} that were finished: "), summary),
    };
    format!("\n{}{finished}", paint.text(Tone::Unclear, &note))
}

fn closing(summary: &Summary, missing: &[String], paint: Paint) -> String {
    let verdict = match (summary.is_fine(), missing.is_empty()) {
        (true, true) => paint.text(Tone::Good, "✓ at most half is left"),
        (true, false) => paint.text(Tone::Unclear, "? at most half is left of those that were shrunk"),
        (false, _) => paint.text(Tone::Bad, "✗ more than half is left"),
    };
    let mut text = format!("\n{}", averages(&format!("{verdict}: "), summary));
    if !missing.is_empty() {
        const NAMED: usize = 5;
        let (named, others) = missing.split_at(missing.len().min(NAMED));
        let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let note = sentence(&format!("without {}{others}: not found", named.join(", ")));
        text += &paint.text(Tone::Unclear, &note);
    }
    text
}

fn averages(of: &str, summary: &Summary) -> String {
    let shown = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
    let left = format!(
        "{of}in the middle {} of the steps and {} of the faults; at most half of the steps in {} of {} runs",
        shown(summary.steps_median),
        shown(summary.faults_median),
        summary.at_most_half,
        summary.of,
    );
    let beside = format!(
        "beside the exhaustive search: {} times its steps, {} with what is repeated counted once",
        shown(summary.entries_to_exhaustive_median),
        shown(summary.once_to_exhaustive_median),
    );
    sentence(&left) + &sentence(&beside)
}
