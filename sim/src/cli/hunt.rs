//! `picklock hunt`: how many random plans it takes until a known failure shows by itself, and that the repaired lock
//! goes through the same seeds unharmed.

mod count;

use super::jobs::Jobs;
use super::progress::{Progress, Stopwatch};
use super::scenarios::is_it;
use super::screen::{Paint, Screen, Tone, counted, wrapped};
use super::seeded::Seeded;
use super::{BadCall, Ending, interrupt, names};
use clap::Args;
use count::Count;
use picklock_model::claims::{Hunt as Grounds, Scenario, UNHUNTED, scenarios};
use picklock_properties::Promise;
use picklock_sim::fault::{FaultKind, FaultSet};
use serde::Serialize;
use std::fmt::Write;
use std::ops::Range;

/// Lets random plans find the known failures without a script, and counts the seeds that it takes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Hunt {
    /// Only these rows of the catalogue: C4, C6…; all that can be hunted unless given
    ids: Vec<String>,
    /// Only the rows of this system; may be repeated
    #[arg(long = "system", value_name = "S", value_delimiter = ',')]
    systems: Vec<String>,
    /// From how many starting points each failure is looked for; start K, from 0, begins at seed K × 1000000
    #[arg(long, value_name = "N", default_value_t = 20)]
    starts: u64,
    /// After how many seeds a start gives up
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    seeds_max: u64,
    #[command(flatten)]
    jobs: Jobs,
}

const EXAMPLES: &str = "\
Examples:
  picklock hunt
  picklock hunt C6 --starts 100
  picklock hunt --system cassandra --seeds-max 1000 --json

Of the starts' numbers of seeds: the median (of an even number the lower one of the two in the
middle), the least and the most; a start that gave up counts as more than --seeds-max. Seconds are
those of the hunt from all starts together, without the repaired lock's runs. Its seeds are those
that were tried, its plans are drawn anew, by its own measure; only the row's promise counts.

Exits 1 if a failure was not found from every start, or a repaired run breaks the promise.";

/// From one start's first seed to the next one's: so many seeds a start can try at most.
const STRIDE: u64 = 1_000_000;

/// A row that was hunted.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    system: &'static str,
    #[serde(skip)]
    story: &'static str,
    breaks: Promise,
    lock: &'static str,
    faults: Vec<FaultKind>,
    starts: u64,
    seeds_max: u64,
    found: u64,
    median_seeds: Option<u64>,
    least_seeds: Option<u64>,
    most_seeds: Option<u64>,
    seconds: f64,
    token: Option<String>,
    fix: &'static str,
    fix_holds: bool,
    fix_runs: u64,
    fix_token: Option<String>,
}

/// What the repaired lock did with the seeds of all starts.
struct Repaired {
    runs: u64,
    token: Option<String>,
    /// Whether every run ended by itself.
    complete: bool,
    grants: u64,
}

impl Hunt {
    /// Hunts all rows.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let chosen = self.chosen()?;
        self.check_numbers()?;
        let jobs = self.jobs.count()?;
        let paint = screen.paint();
        let widths = Widths::of(&chosen, self.seeds_max);
        screen.text(&widths.header(paint));
        let mut rows: Vec<Row> = Vec::new();
        for (scenario, grounds) in &chosen {
            if interrupt::happened() || screen.is_closed() {
                break;
            }
            let row = self.hunt(scenario, grounds, jobs)?;
            if interrupt::happened() {
                break;
            }
            screen.text(&widths.row(&row, paint));
            rows.push(row);
        }
        let missing: Vec<&str> = chosen[rows.len()..].iter().map(|(scenario, _)| scenario.id).collect();
        if !missing.is_empty() {
            let (hunted, all) = (rows.len(), chosen.len());
            let note = format!(
                "\nstopped after {hunted} of {all} rows, without {}: the rest is NOT a pass\n",
                missing.join(", ")
            );
            screen.text(&paint.text(Tone::Unclear, &note));
        }
        screen.document(&rows);
        Ok(Ending::broken_if(!missing.is_empty() || !rows.iter().all(Row::is_as_catalogued)))
    }

    /// Those of the rows asked for that can be hunted, with where.
    fn chosen(&self) -> Result<Vec<(Scenario, Grounds)>, BadCall> {
        let all = scenarios();
        let hunted: Vec<&str> = all.iter().filter(|row| row.hunt.is_some()).map(|row| row.id).collect();
        let these = format!("these have one: {}", hunted.join(", "));
        for id in &self.ids {
            let asked: Vec<&Scenario> = all.iter().filter(|row| is_it(id, row.id)).collect();
            if asked.is_empty() {
                names::find("scenario", &id.to_uppercase(), all.clone(), |row| row.id.to_owned())?;
            }
            if asked.iter().all(|row| row.hunt.is_none()) {
                return Err(BadCall(format!("{} has no hunt{}; {these}", id, why_not(&asked))));
            }
        }
        for system in &self.systems {
            names::find("system", system, all.clone(), |row| row.system.to_owned())?;
        }
        let is_chosen = |row: &Scenario| {
            (self.ids.is_empty() || self.ids.iter().any(|id| is_it(id, row.id)))
                && (self.systems.is_empty() || self.systems.iter().any(|system| system == row.system))
        };
        let with_grounds = |row: Scenario| row.hunt.clone().map(|grounds| (row, grounds));
        let chosen: Vec<(Scenario, Grounds)> =
            all.into_iter().filter(is_chosen).filter_map(with_grounds).collect();
        match chosen.is_empty() {
            true => Err(BadCall(format!("no row that was asked for has a hunt; {these}"))),
            false => Ok(chosen),
        }
    }

    fn check_numbers(&self) -> Result<(), BadCall> {
        let &Hunt { starts, seeds_max, .. } = self;
        if !(1..=STRIDE).contains(&seeds_max) {
            return Err(BadCall(format!(
                "--seeds-max {seeds_max}: it takes 1 to {STRIDE} seeds, for there the next start begins"
            )));
        }
        let starts_max = u64::MAX / STRIDE;
        if !(1..=starts_max).contains(&starts) {
            return Err(BadCall(format!("--starts {starts}: it takes 1 to {starts_max} starts")));
        }
        Ok(())
    }

    /// From every start, until it is found or given up; then the repaired lock over the seeds that were tried.
    fn hunt(&self, scenario: &Scenario, grounds: &Grounds, jobs: usize) -> Result<Row, BadCall> {
        let progress = Progress::seeds();
        progress.name(scenario.id.to_owned());
        let broken = Seeded::new(grounds.lock, &grounds.setup, grounds.faults)?;
        let mut count = Count::new(self.seeds_max);
        let (mut token, mut tried) = (None, Vec::<Range<u64>>::new());
        let watch = Stopwatch::start();
        for start in 0..self.starts {
            if interrupt::happened() {
                break;
            }
            let first = start * STRIDE;
            let seeds = first..first + self.seeds_max;
            let found = broken.first_break(seeds, Some(scenario.breaks), jobs, &progress)?;
            count.add(found.broken.map(|_| found.runs));
            tried.push(first..first + found.runs);
            token = token.or_else(|| found.broken.map(|seed| broken.token(seed)));
        }
        let seconds = watch.seconds();
        progress.name(format!("{}, repaired", scenario.id));
        let fixed = Seeded::new(grounds.fixed_lock, &grounds.fixed, grounds.faults)?;
        let repaired = repaired(&fixed, tried, jobs, &progress)?;
        Ok(Row {
            id: scenario.id,
            system: scenario.system,
            story: scenario.story,
            breaks: scenario.breaks,
            lock: grounds.lock,
            faults: broken.faults().iter().collect(),
            starts: self.starts,
            seeds_max: self.seeds_max,
            found: count.found(),
            median_seeds: count.median(),
            least_seeds: count.least(),
            most_seeds: count.most(),
            seconds,
            token,
            fix: scenario.fix,
            fix_holds: repaired.holds(),
            fix_runs: repaired.runs,
            fix_token: repaired.token,
        })
    }
}

/// Why none of the rows is hunted, after a colon.
fn why_not(rows: &[&Scenario]) -> String {
    let reasons = rows.iter().filter_map(|row| UNHUNTED.iter().find(|(id, _)| *id == row.id));
    reasons.map(|(_, why)| format!(": {why}")).collect()
}

/// Runs the repaired lock over all these seeds, up to the first that breaks anything: it may be held to another promise.
fn repaired(
    fixed: &Seeded,
    tried: Vec<Range<u64>>,
    jobs: usize,
    progress: &Progress,
) -> Result<Repaired, BadCall> {
    let mut repaired = Repaired { runs: 0, token: None, complete: true, grants: 0 };
    for seeds in tried {
        let run = fixed.first_break(seeds, None, jobs, progress)?;
        repaired.runs += run.runs;
        repaired.complete &= run.complete;
        repaired.grants += run.grants;
        repaired.token = run.broken.map(|seed| fixed.token(seed));
        if repaired.token.is_some() || interrupt::happened() {
            break;
        }
    }
    Ok(repaired)
}

impl Repaired {
    /// What never gives the lock to anybody keeps promises too, and proves nothing.
    fn holds(&self) -> bool {
        self.token.is_none() && self.complete && self.grants > 0
    }
}

impl Row {
    fn is_as_catalogued(&self) -> bool {
        self.found == self.starts && self.fix_holds
    }
}

struct Widths {
    id: usize,
    system: usize,
    breaks: usize,
    seeds: usize,
}

/// `✓ from 20 of 20`.
const FOUND: usize = 17;

impl Widths {
    fn of(rows: &[(Scenario, Grounds)], seeds_max: u64) -> Widths {
        let widest =
            |length: fn(&Scenario) -> usize| rows.iter().map(|(row, _)| length(row)).max().unwrap_or(0);
        Widths {
            id: widest(|row| row.id.len()).max("id".len()),
            system: widest(|row| row.system.len()).max("system".len()),
            breaks: widest(|row| row.breaks.name().len()).max("breaks".len()),
            seeds: count::shown(None, seeds_max).len().max("median".len()),
        }
    }

    fn header(&self, paint: Paint) -> String {
        let &Widths { id, system, breaks, seeds } = self;
        let titles = format!(
            "{:id$}  {:system$}  {:breaks$}  {:FOUND$}  {:>seeds$}  {:>seeds$}  {:>seeds$}  {:>7}  repaired",
            "id", "system", "breaks", "found", "median", "least", "most", "seconds"
        );
        format!("{}\n{}\n", paint.text(Tone::Strong, &titles), "─".repeat(titles.chars().count() + 12))
    }

    fn row(&self, row: &Row, paint: Paint) -> String {
        let &Widths { id, system, breaks, seeds } = self;
        let (tone, mark) = if row.found == row.starts { (Tone::Good, "✓") } else { (Tone::Bad, "✗") };
        let found = format!("{mark} {} of {} starts", row.found, row.starts);
        let size = counted(row.fix_runs, "run");
        let (fix_tone, holds) = match (row.fix_holds, &row.fix_token) {
            (true, _) => (Tone::Good, format!("✓ holds, {size}")),
            (false, Some(_)) => (Tone::Bad, format!("✗ does not hold, {size}")),
            (false, None) => (Tone::Unclear, format!("? {size} prove nothing")),
        };
        let shown = |number| count::shown(number, row.seeds_max);
        let mut text = format!(
            "{:id$}  {:system$}  {:breaks$}  {}  {:>seeds$}  {:>seeds$}  {:>seeds$}  {:>7.1}  {}\n",
            row.id,
            row.system,
            row.breaks.name(),
            paint.text(tone, &format!("{found:FOUND$}")),
            shown(row.median_seeds),
            shown(row.least_seeds),
            shown(row.most_seeds),
            row.seconds,
            paint.text(fix_tone, &holds),
        );
        let indent = " ".repeat(id + 2);
        let faults: FaultSet = row.faults.iter().copied().collect();
        let ground = format!("lock {}, faults {faults}", row.lock);
        for words in [ground.as_str(), row.story, &format!("repair: {}", row.fix)] {
            text += &wrapped(words, 118, &indent);
        }
        for token in [&row.token, &row.fix_token].into_iter().flatten() {
            let _ = writeln!(text, "{indent}{}", paint.text(Tone::Faint, token));
        }
        text
    }
}
