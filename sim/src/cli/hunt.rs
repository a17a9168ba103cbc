//! `picklock hunt`: how many random plans it takes until a known failure shows by itself, and that the repaired lock
//! goes through the same seeds unharmed.

mod count;
mod general;
mod summary;
mod table;
mod times;

use super::jobs::Jobs;
use super::progress::{Progress, Stopwatch};
use super::scenarios::is_it;
use super::screen::{Rows, Screen, Tone, sentence};
use super::seeded::{Seeded, is_vacuous};
use super::{BadCall, Ending, interrupt, last, names, next};
use crate::plans::fault::FaultKind;
use crate::plans::strategy::Strategy;
use crate::registry::Locks;
use clap::Args;
use count::Count;
use picklock_model::claims::{Hunt as Grounds, Scenario, UNHUNTED, scenarios};
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;
use std::ops::Range;
use table::Widths;
use times::{Spread, Times};

/// Lets random plans find the known failures without a script, and counts the seeds that it takes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Hunt {
    /// Only these rows of the catalogue: C4, C6…; all that can be hunted unless given
    ids: Vec<String>,
    /// Only the rows of this system; may be repeated
    #[arg(long = "system", value_name = "S", value_delimiter = ',')]
    systems: Vec<String>,
    /// From how many starting points each failure is looked for, 1 to 100000; start K, from 0, begins at seed K × 1000000
    #[arg(long, value_name = "N", default_value_t = 20)]
    starts: u64,
    /// After how many seeds a start gives up
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    seeds_max: u64,
    /// Over how many fresh seeds each repaired lock is run, beside those that were tried
    #[arg(long, value_name = "N", default_value_t = 0)]
    repairs: u64,
    /// How plans are drawn: plain, swarm, pct, mixed, guided; several, with commas between, are compared
    #[arg(long = "strategy", value_name = "S,S", value_delimiter = ',', default_value = "swarm")]
    strategies: Vec<String>,
    /// Looks for the rows with nothing prepared for them: each lock in its registered use, every kind of fault
    #[arg(long)]
    general: bool,
    #[command(flatten)]
    jobs: Jobs,
}

const EXAMPLES: &str = "\
Examples:
  picklock hunt
  picklock hunt C6 --starts 100
  picklock hunt --starts 1 --repairs 100000
  picklock hunt --system cassandra --seeds-max 1000 --json
  picklock hunt C6 C14 --strategy plain,swarm,pct,mixed,guided
  picklock hunt --general R1 R3 --starts 5 --seeds-max 1000

Of the starts' numbers of seeds: the median (of an even number the lower one of the two in the \
middle), the least and the most; a start that gave up counts as more than --seeds-max. Likewise of \
their seconds, the repaired lock's runs left out. Its seeds are those that were tried by the first \
strategy, its plans are drawn anew, by its own measure; only the row's promise counts.

Strategies:
  plain   every kind of fault in every plan, at random times
  swarm   each seed a few kinds of faults, half of them aimed at what clients do
  pct     as swarm, and the messages of some nodes or links are always the faster ones
  mixed   as swarm for half of the seeds, as pct for the others
  guided  as swarm, and plans that met something new are changed and tried again

A row's own hunt has a setup cut for it and the one kind of fault. With --general it has the lock as \
it is registered, all kinds of faults, and no row in mind; only the flaw is put in where the registered \
lock has it not. A failing run counts as a row's if the row's repair, and nothing else changed, keeps \
the run's plan from failing under 48 seeds of the network, where without it 3 of 16 fail at least. Where \
the repair is no other setting of the lock or its store, it counts as the row's if it needs no faults \
but the row's, and no other row's repair prevents it.

With --general it says what it found, and judges nothing: it exits 0, or 3 if it was interrupted. Without, it exits 5 if a failure was not \
found from every start, or a repaired run breaks the promise; 3 if it was interrupted.";

/// From one start's first seed to the next one's: so many seeds a start can try at most.
const STRIDE: u64 = 1_000_000;
/// More starts than that nobody waits for.
pub(super) const STARTS_MAX: u64 = 100_000;

/// From here on no start has tried a seed, unless there are a million of them.
const FRESH: u64 = STRIDE * STRIDE;

/// A row that was hunted by one strategy. What is said of the repaired lock is the same for all of them.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    system: &'static str,
    #[serde(skip)]
    story: &'static str,
    breaks: Promise,
    lock: &'static str,
    faults: Vec<FaultKind>,
    strategy: Strategy,
    starts: u64,
    seeds_max: u64,
    found: u64,
    median_seeds: Option<u64>,
    least_seeds: Option<u64>,
    most_seeds: Option<u64>,
    /// Of all starts together.
    seconds: f64,
    #[serde(flatten)]
    seconds_to_find: Spread,
    token: Option<String>,
    fix: &'static str,
    fix_holds: bool,
    fix_runs: u64,
    fix_token: Option<String>,
}

impl Row {
    /// The tokens that it is shown with: what was found and, beside the first strategy, what breaks the repaired lock.
    fn tokens(&self, is_first: bool) -> impl Iterator<Item = &str> {
        [self.token.as_deref(), self.fix_token.as_deref().filter(|_| is_first)].into_iter().flatten()
    }
}

/// What one strategy came to.
struct Hunted {
    strategy: Strategy,
    count: Count,
    times: Times,
    seconds: f64,
    token: Option<String>,
    /// The seeds of each start that were tried.
    tried: Vec<Range<u64>>,
}

/// What the repaired lock did with the seeds of all starts.
struct Repaired {
    runs: u64,
    token: Option<String>,
    /// Whether every run ended by itself.
    complete: bool,
    /// The promises that no run put to the test.
    untested: PromiseSet,
    vacuous: bool,
}

/// Rows with where they are hunted, and rows that are not.
type Chosen = (Vec<(Scenario, Grounds)>, Vec<Unhunted>);

impl Hunt {
    /// Hunts all rows.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let (chosen, unhunted) = self.chosen()?;
        let strategies = names::strategies(&self.strategies)?;
        self.check_numbers()?;
        let jobs = self.jobs.count()?;
        if self.general {
            return self.run_general(locks, screen, &chosen, &strategies, jobs);
        }
        let paint = screen.paint();
        for Unhunted { id, why } in &unhunted {
            screen.text(&sentence(&format!("{id} is not hunted: {why}")));
        }
        let widths = Widths::of(&chosen, &strategies, self.seeds_max);
        if !chosen.is_empty() {
            screen.text(&widths.header(paint));
        }
        let mut rows: Vec<Row> = Vec::new();
        let mut tokens: Vec<String> = Vec::new();
        for (scenario, grounds) in &chosen {
            if interrupt::happened() || screen.is_closed() {
                break;
            }
            let of_row = self.hunt(locks, scenario, grounds, &strategies, jobs)?;
            if interrupt::happened() {
                break;
            }
            for (place, row) in of_row.into_iter().enumerate() {
                screen.text(&widths.row(&row, tokens.len() + 1, place == 0, paint));
                tokens.extend(row.tokens(place == 0).map(str::to_owned));
                rows.push(row);
            }
        }
        screen.text(&summary::text(&rows, &strategies, paint));
        let hunted = rows.len() / strategies.len();
        let missing: Vec<&str> = chosen[hunted..].iter().map(|(scenario, _)| scenario.id).collect();
        if !missing.is_empty() {
            let all = chosen.len();
            let note = format!(
                "\nstopped after {hunted} of {all} rows, without {}: the rest is NOT a pass\n",
                missing.join(", ")
            );
            screen.text(&paint.text(Tone::Unclear, &note));
        }
        let is_kept = last::keep(tokens.iter().map(String::as_str));
        if let Some((id, token)) = rows.iter().find_map(|row| Some((row.id, row.token.as_deref()?))) {
            let is_last = is_kept && tokens.first().is_some_and(|first| first == token);
            let name = if is_last { "@last" } else { token };
            screen.text(&format!("\nwhat was found of {id} first:\n{}", next::steps(name)));
        }
        let is_complete = missing.is_empty() && !chosen.is_empty();
        screen.document(&Document { rows: Rows::new(&rows, is_complete), unhunted: &unhunted });
        let differs = Ending::Unexpected.or_fine(!rows.iter().all(Row::is_as_catalogued));
        // Where nothing is hunted, nothing is shown.
        let is_in_vain = Ending::Vacuous.or_fine(chosen.is_empty());
        Ok(differs.max(is_in_vain).max(Ending::Incomplete.or_fine(!missing.is_empty())))
    }

    /// Those of the rows asked for that can be hunted, with where; and those asked for by name that cannot, with why not.
    fn chosen(&self) -> Result<Chosen, BadCall> {
        let all = scenarios();
        let mut unhunted = Vec::new();
        for id in &self.ids {
            let asked: Vec<&Scenario> = all.iter().filter(|row| is_it(id, row.id)).collect();
            if asked.is_empty() {
                names::find("scenario", id, all.clone(), |row| row.id.to_owned())?;
            }
            unhunted.extend(asked.into_iter().filter(|row| row.hunt.is_none()).map(Unhunted::new));
        }
        for system in &self.systems {
            names::find("system", system, all.clone(), |row| row.system.to_owned())?;
        }
        let is_chosen = |row: &Scenario| {
            (self.ids.is_empty() || self.ids.iter().any(|id| is_it(id, row.id)))
                && (self.systems.is_empty()
                    || self.systems.iter().any(|system| system.eq_ignore_ascii_case(row.system)))
        };
        let with_grounds = |row: Scenario| row.hunt.clone().map(|grounds| (row, grounds));
        let hunted: Vec<&str> = all.iter().filter(|row| row.hunt.is_some()).map(|row| row.id).collect();
        let these = format!("these have one: {}", hunted.join(", "));
        let chosen: Vec<(Scenario, Grounds)> =
            all.into_iter().filter(is_chosen).filter_map(with_grounds).collect();
        match chosen.is_empty() && unhunted.is_empty() {
            true => Err(BadCall(format!("no row that was asked for has a hunt; {these}"))),
            false => Ok((chosen, unhunted)),
        }
    }

    fn check_numbers(&self) -> Result<(), BadCall> {
        let &Hunt { starts, seeds_max, .. } = self;
        if !(1..=STRIDE).contains(&seeds_max) {
            return Err(BadCall(format!(
                "--seeds-max {seeds_max}: it takes 1 to {STRIDE} seeds, for there the next start begins"
            )));
        }
        let repairs_max = u64::MAX - FRESH;
        if self.repairs > repairs_max {
            return Err(BadCall(format!("--repairs {}: it takes up to {repairs_max} seeds", self.repairs)));
        }
        if !(1..=STARTS_MAX).contains(&starts) {
            return Err(BadCall(format!("--starts {starts}: it takes 1 to {STARTS_MAX} starts")));
        }
        Ok(())
    }

    /// By every strategy; then the repaired lock over the seeds that the first one tried.
    fn hunt(
        &self,
        locks: &Locks,
        scenario: &Scenario,
        grounds: &Grounds,
        strategies: &[Strategy],
        jobs: usize,
    ) -> Result<Vec<Row>, BadCall> {
        let progress = Progress::seeds();
        let broken = Seeded::new(locks, grounds.lock, &grounds.setup, grounds.faults)?;
        let mut hunted = Vec::new();
        for strategy in strategies {
            progress.begin(format!("{}, {strategy}", scenario.id));
            hunted.push(self.by_strategy(*strategy, &broken, scenario.breaks, jobs, &progress)?);
        }
        progress.begin(format!("{}, repaired", scenario.id));
        let fixed = Seeded::new(locks, grounds.fixed_lock, &grounds.fixed, grounds.faults)?;
        let repaired = match hunted.first() {
            Some(first) => {
                let fresh = FRESH..FRESH + self.repairs;
                let seeds = first.tried.iter().cloned().chain([fresh]).collect();
                let mut found = repaired(first.strategy, &fixed, seeds, jobs, &progress)?;
                found.vacuous = is_vacuous(fixed.watched()?, found.untested, scenario.breaks);
                found
            }
            None => unreachable!("the command line names one strategy at least"),
        };
        let row = |hunted: Hunted| Row {
            id: scenario.id,
            system: scenario.system,
            story: scenario.story,
            breaks: scenario.breaks,
            lock: grounds.lock,
            faults: broken.faults().iter().collect(),
            strategy: hunted.strategy,
            starts: self.starts,
            seeds_max: self.seeds_max,
            found: hunted.count.found(),
            median_seeds: hunted.count.median(),
            least_seeds: hunted.count.least(),
            most_seeds: hunted.count.most(),
            seconds: hunted.seconds,
            seconds_to_find: hunted.times.spread(),
            token: hunted.token,
            fix: scenario.fix,
            fix_holds: repaired.holds(),
            fix_runs: repaired.runs,
            fix_token: repaired.token.clone(),
        };
        Ok(hunted.into_iter().map(row).collect())
    }

    /// From every start, until it is found or given up.
    fn by_strategy(
        &self,
        strategy: Strategy,
        broken: &Seeded,
        breaks: Promise,
        jobs: usize,
        progress: &Progress,
    ) -> Result<Hunted, BadCall> {
        let (mut count, mut times) = (Count::new(self.seeds_max), Times::default());
        let (mut token, mut tried) = (None, Vec::<Range<u64>>::new());
        let watch = Stopwatch::start();
        for start in 0..self.starts {
            if interrupt::happened() {
                break;
            }
            let first = start * STRIDE;
            let seeds = first..first + self.seeds_max;
            let of_start = Stopwatch::start();
            let broken = if token.is_none() { *broken } else { broken.without_tokens() };
            let found = broken.first_break(strategy, seeds, Some(breaks), jobs, progress)?;
            times.add(found.broken.map(|_| of_start.seconds()));
            count.add(found.broken.map(|_| found.runs));
            tried.push(first..first + found.runs);
            token = token.or(found.token);
        }
        Ok(Hunted { strategy, count, times, seconds: watch.seconds(), token, tried })
    }
}

/// A row that no random plans are tried on.
#[derive(Serialize)]
struct Unhunted {
    id: &'static str,
    why: &'static str,
}

impl Unhunted {
    fn new(row: &Scenario) -> Unhunted {
        let why = UNHUNTED.iter().find(|(id, _)| *id == row.id).map_or("nobody has said why", |(_, why)| why);
        Unhunted { id: row.id, why }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Row>,
    unhunted: &'a [Unhunted],
}

/// Runs the repaired lock over all these seeds, up to the first that breaks anything: it may be held to another promise.
fn repaired(
    strategy: Strategy,
    fixed: &Seeded,
    tried: Vec<Range<u64>>,
    jobs: usize,
    progress: &Progress,
) -> Result<Repaired, BadCall> {
    let mut repaired =
        Repaired { runs: 0, token: None, complete: true, untested: PromiseSet::ALL, vacuous: true };
    for seeds in tried {
        let run = fixed.first_break(strategy, seeds, None, jobs, progress)?;
        repaired.runs += run.runs;
        repaired.complete &= run.complete;
        repaired.untested =
            repaired.untested.iter().filter(|promise| run.untested.contains(*promise)).collect();
        repaired.token = run.token;
        if repaired.token.is_some() || interrupt::happened() {
            break;
        }
    }
    Ok(repaired)
}

impl Repaired {
    /// What never gives the lock to anybody keeps promises too, and proves nothing.
    fn holds(&self) -> bool {
        self.token.is_none() && self.complete && !self.vacuous
    }
}

impl Row {
    fn is_as_catalogued(&self) -> bool {
        self.found == self.starts && self.fix_holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of which only this matters.
    pub fn row(id: &'static str, strategy: Strategy, found: u64, median_seeds: Option<u64>) -> Row {
        Row {
            id,
            system: "",
            story: "",
            breaks: Promise::MutualExclusion,
            lock: "",
            faults: Vec::new(),
            strategy,
            starts: 20,
            seeds_max: 10_000,
            found,
            median_seeds,
            least_seeds: None,
            most_seeds: None,
            seconds: 1.0,
            seconds_to_find: Times::default().spread(),
            token: None,
            fix: "",
            fix_holds: true,
            fix_runs: 0,
            fix_token: None,
        }
    }
}
