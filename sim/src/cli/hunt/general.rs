//! `picklock hunt --general`: which rows of the catalogue random plans meet that know of none.

use super::count::{Count, shown};
use super::{Hunt, STRIDE};
use crate::cli::names::program;
use crate::cli::progress::Progress;
use crate::cli::screen::{Paint, Rows, Screen, Tone, counted, grouped, wrapped};
use crate::cli::{BadCall, Ending, interrupt, last, names, next};
use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::strategy::Strategy;
use crate::registry::{AnyLock, General, GeneralHow, Locks, Seen, Sighting, Unexplained, Wanted};
use crate::sweep::PlannedRun;
use picklock_model::claims::{Hunt as Grounds, Scenario};
use picklock_properties::Promise;
use serde::Serialize;
use std::fmt::Write;

/// A row that was looked for.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    lock: &'static str,
    breaks: Promise,
    /// Whether the registered lock has the flaw, or it was put in; nothing where the row cannot be looked for.
    as_registered: Option<bool>,
    /// Whether its runs are told by its repair, or by the kinds of faults that they need.
    by_repair: Option<bool>,
    why_not: Option<&'static str>,
    starts: u64,
    seeds_max: u64,
    found: u64,
    median_seeds: Option<u64>,
    least_seeds: Option<u64>,
    most_seeds: Option<u64>,
    /// The kinds of faults without which the first run that shows it does not.
    faults: Vec<FaultKind>,
    token: Option<String>,
}

/// Failures of a registered lock that no row explains, where all rows were asked about.
#[derive(Serialize)]
struct Rest {
    lock: &'static str,
    breaks: Promise,
    /// Runs whose cause could be told, and is no row's.
    others: u64,
    /// Runs that hang on so little that it could not.
    delicate: u64,
    token: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Row>,
    unexplained: &'a [Rest],
}

impl Hunt {
    /// Looks for all rows, lock by lock.
    pub(super) fn run_general(
        &self,
        locks: &Locks,
        screen: &mut Screen,
        chosen: &[(Scenario, Grounds)],
        strategies: &[Strategy],
        jobs: usize,
    ) -> Result<Ending, BadCall> {
        let [strategy] = strategies else {
            return Err(BadCall("--general compares no strategies: it takes one".to_owned()));
        };
        if matches!(strategy, Strategy::Guided) {
            return Err(BadCall("--general draws a plan for each seed, and a guided search changes them: plain, swarm, pct or mixed".to_owned()));
        }
        if self.repairs > 0 {
            return Err(BadCall("--repairs belongs to the rows' own hunts, and not to --general".to_owned()));
        }
        let paint = screen.paint();
        screen.text(&header(paint));
        let (mut rows, mut rests, mut complete) = (Vec::new(), Vec::new(), true);
        let progress = Progress::seeds();
        for name in by_lock(chosen) {
            if interrupt::happened() || screen.is_closed() {
                complete = false;
                break;
            }
            let lock = names::lock(locks, name)?;
            let of_lock: Vec<&(Scenario, Grounds)> =
                chosen.iter().filter(|(_, grounds)| grounds.lock == name).collect();
            progress.begin(name.to_owned());
            let (found, of_rest, is_complete) = self.of_lock(lock, &of_lock, *strategy, jobs, &progress)?;
            complete &= is_complete;
            for row in found {
                let nth = rows.iter().filter(|row: &&Row| row.token.is_some()).count() + 1;
                progress.aside(|| screen.text(&line(&row, nth, paint)));
                rows.push(row);
            }
            rests.extend(of_rest);
        }
        drop(progress);
        screen.text(&summary(&rows, self.seeds_max));
        if !self.ids.is_empty() || !self.systems.is_empty() {
            // Rows that were not asked for might explain them.
            rests.clear();
        }
        screen.text(&unexplained(&rests));
        let first = rows.iter().find_map(|row| Some((row.id, row.token.as_deref()?)));
        let is_kept = last::keep(rows.iter().filter_map(|row| row.token.as_deref()));
        if let Some((id, token)) = first {
            let name = if is_kept { "@last" } else { token };
            screen.text(&format!("\nthe first run that shows {id}:\n{}", next::steps(name)));
        }
        if !complete {
            screen.text(&paint.text(Tone::Unclear, "\nstopped before the end: not all was looked for\n"));
        }
        screen.document(&Document { rows: Rows::new(&rows, complete), unexplained: &rests });
        Ok(Ending::Incomplete.or_fine(!complete))
    }

    fn of_lock(
        &self,
        lock: &dyn AnyLock,
        chosen: &[&(Scenario, Grounds)],
        strategy: Strategy,
        jobs: usize,
        progress: &Progress,
    ) -> Result<(Vec<Row>, Vec<Rest>, bool), BadCall> {
        let wanted: Vec<Wanted> = chosen
            .iter()
            .map(|(scenario, grounds)| Wanted {
                breaks: scenario.breaks,
                flawed: &grounds.setup,
                repaired: (grounds.lock == grounds.fixed_lock).then_some(&grounds.fixed),
                faults: grounds.faults.iter().filter_map(|name| name.parse::<FaultKind>().ok()).collect(),
            })
            .collect();
        let on_progress = |seeds| progress.add(seeds);
        let how = GeneralHow {
            faults: FaultSet::ALL,
            strategy,
            starts: self.starts,
            stride: STRIDE,
            seeds_max: self.seeds_max,
            jobs,
            on_progress: &on_progress,
            stop: interrupt::flag(),
        };
        let General { rows, unexplained, complete } = lock.general(&wanted, &how)?;
        let row = |(sighting, (scenario, grounds)): (Sighting, &&(Scenario, Grounds))| {
            self.row(lock, scenario, grounds, sighting)
        };
        let rows: Result<Vec<Row>, BadCall> = rows.into_iter().zip(chosen).map(row).collect();
        let name = chosen.first().map_or("", |(_, grounds)| grounds.lock);
        let setup =
            lock.setup(Some(wanted.iter().map(|row| row.breaks).chain(lock.watched().iter()).collect()));
        let rest = |(breaks, Unexplained { delicate, others, first }): (Promise, Unexplained)| {
            let token = |run: PlannedRun| Ok(lock.token(&setup, &run, Some(breaks))?.encode());
            let token: Option<Result<String, BadCall>> = first.map(token);
            Ok(Rest { lock: name, breaks, others, delicate, token: token.transpose()? })
        };
        let rests: Result<Vec<Rest>, BadCall> = unexplained.into_iter().map(rest).collect();
        Ok((rows?, rests?, complete))
    }

    fn row(
        &self,
        lock: &dyn AnyLock,
        scenario: &Scenario,
        grounds: &Grounds,
        sighting: Sighting,
    ) -> Result<Row, BadCall> {
        let mut count = Count::new(self.seeds_max);
        let (mut as_registered, mut by_repair, mut why_not) = (None, None, None);
        let (mut faults, mut token) = (Vec::new(), None);
        match sighting {
            Sighting::NotComparable(why) => why_not = Some(why),
            Sighting::LookedFor { as_registered: is_so, by_repair: is_told, setup, seen } => {
                (as_registered, by_repair) = (Some(is_so), Some(is_told));
                seen.iter().for_each(|seen| count.add(seen.as_ref().map(|seen| seen.seeds)));
                if let Some(Seen { run, kinds, .. }) = seen.iter().flatten().next() {
                    faults = kinds.iter().collect();
                    token = Some(lock.token(&setup, run, Some(scenario.breaks))?.encode());
                }
            }
        }
        Ok(Row {
            id: scenario.id,
            lock: grounds.lock,
            breaks: scenario.breaks,
            as_registered,
            by_repair,
            why_not,
            starts: self.starts,
            seeds_max: self.seeds_max,
            found: count.found(),
            median_seeds: count.median(),
            least_seeds: count.least(),
            most_seeds: count.most(),
            faults,
            token,
        })
    }
}

/// The locks of these rows, each once, in the order of the rows.
fn by_lock(chosen: &[(Scenario, Grounds)]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (_, grounds) in chosen {
        if !names.contains(&grounds.lock) {
            names.push(grounds.lock);
        }
    }
    names
}

fn header(paint: Paint) -> String {
    let titles = format!("{:5} {:22} {:20} {:8} {:>8}  needs", "id", "lock", "breaks", "starts", "median");
    format!("{}\n{}\n", paint.text(Tone::Strong, &titles), "─".repeat(78))
}

/// How wide a line is up to its needs.
const NUMBERS: usize = 70;

/// A row; `nth` of the tokens that are kept is its own.
fn line(row: &Row, nth: usize, paint: Paint) -> String {
    let head = format!("{:5} {:22} {:20} ", row.id, row.lock, row.breaks.name());
    if let Some(why) = row.why_not {
        let head = head.trim_end();
        return format!("{head}\n{}", wrapped(&format!("not looked for: {why}"), 72, "      "));
    }
    let tone = if row.median_seeds.is_some() { Tone::Good } else { Tone::Plain };
    let found = paint.text(tone, &format!("{:8}", format!("{}/{}", row.found, row.starts)));
    let faults: FaultSet = row.faults.iter().copied().collect();
    let needs = match (row.found, faults.is_empty()) {
        (0, _) => String::new(),
        (_, true) => "no fault".to_owned(),
        (_, false) => faults.to_string(),
    };
    let put_in = match (row.as_registered, row.by_repair) {
        (Some(false), _) => " (flaw put in)",
        (_, Some(false)) => " (told by the fault)",
        (Some(true) | None, _) => "",
    };
    let median = shown(row.median_seeds, row.seeds_max);
    let needs = format!("{needs}{put_in}");
    let needs = needs.trim_start();
    let mut text = format!("{head}{found} {median:>8}");
    // What does not fit behind the numbers stands below them.
    let is_short = Screen::width().is_none_or(|width| NUMBERS + needs.chars().count() <= width);
    text += &match (needs.is_empty(), is_short) {
        (true, _) => "\n".to_owned(),
        (false, true) => format!("  {needs}\n"),
        (false, false) => format!("\n{}", wrapped(needs, Screen::text_width(), "      ")),
    };
    if let Some(token) = &row.token {
        let name = match Screen::is_terminal() {
            true => format!("{} replay @last:{nth}", program()),
            false => token.clone(),
        };
        let _ = writeln!(text, "      {}", paint.text(Tone::Faint, &name));
    }
    text
}

/// How many rows half of the starts met within so many seeds.
fn summary(rows: &[Row], seeds_max: u64) -> String {
    let looked_for: Vec<&Row> = rows.iter().filter(|row| row.as_registered.is_some()).collect();
    let registered = looked_for.iter().filter(|row| row.as_registered == Some(true)).count();
    let mut text = format!(
        "\n{} of {} could be looked for: {registered} as registered, {} with the flaw put in\n",
        looked_for.len(),
        counted(rows.len() as u64, "row"),
        looked_for.len() - registered
    );
    let powers = (2..).map(|power| 10_u64.pow(power)).take_while(|bound| *bound < seeds_max);
    for bound in powers.chain([seeds_max]) {
        let met = |registered: bool| {
            let mine = looked_for.iter().filter(|row| row.as_registered == Some(registered));
            mine.filter(|row| row.median_seeds.is_some_and(|median| median <= bound)).count()
        };
        let _ = writeln!(
            text,
            "  within {:>9} seeds, by the median of the starts: {} + {}",
            grouped(bound),
            met(true),
            met(false)
        );
    }
    text
}

fn unexplained(rests: &[Rest]) -> String {
    if rests.is_empty() {
        return String::new();
    }
    let mut text =
        "\nfailures of registered locks that were looked at, and are told to be no row's:\n".to_owned();
    for Rest { lock, breaks, others, delicate, token } in rests {
        let (lock, breaks) = (*lock, breaks.name());
        let _ = writeln!(text, "  {lock}, {breaks}: {others}, and {delicate} too delicate to tell");
        if let Some(token) = token {
            let _ = writeln!(text, "      {token}");
        }
    }
    text
}
