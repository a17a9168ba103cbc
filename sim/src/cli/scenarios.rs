//! `picklock scenarios`: the catalogue of known failures, each found again, and the repair that must hold.

use super::ci::{Case, Ci, Outcome};
use super::jobs::Jobs;
use super::progress::Progress;
use super::screen::{Paint, Screen, Tone, counted, grouped, rule, sentence, wrapped};
use super::seeded::{Seeded, is_vacuous};
use super::{BadCall, Ending, STATES_MAX, interrupt, last, names, next};
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use crate::registry::{CheckVerdict, Locks};
use crate::report::TextOptions;
use crate::token::TokenError;
use clap::Args;
use picklock_model::claims::{Fall, REPAIRED, Scenario, Search, known_falls, scenarios};
use picklock_model::explore::{Limits, Seen};
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;
use std::fmt::Write;

/// Finds the known failures of the catalogue again, and checks that their repairs hold
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Scenarios {
    /// Only these rows: C1, C16…
    ids: Vec<String>,
    /// Only the rows of this system; may be repeated
    #[arg(long = "system", value_name = "S", value_delimiter = ',')]
    systems: Vec<String>,
    /// Says what the rows are about, and runs none
    #[arg(long, conflicts_with_all = ["junit", "github"])]
    list: bool,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    ci: Ci,
}

const EXAMPLES: &str = "\
Examples:
  picklock scenarios
  picklock scenarios --list
  picklock scenarios C16 --json
  picklock scenarios --system cassandra
  picklock scenarios C1 C2 --junit junit.xml --github

Exits 5 if a failure was not found, or its repair does not hold; 3 if a search did not end; 4 if nothing could have broken a \
repair. JSON: in the envelope's rows, \"fix_verdict\" is holds, violated, incomplete or vacuous.";

/// A scenario that was run.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    system: &'static str,
    story: &'static str,
    breaks: Promise,
    found: bool,
    /// Whether what was not found is not there, as far as was searched.
    searched_to_the_end: bool,
    seeds_tried: Option<u64>,
    steps: Option<usize>,
    token: Option<String>,
    /// What the failure was found in: who used the lock, what was allowed, what was not assumed.
    found_in: String,
    fix: &'static str,
    /// What the repair was held to: not always what the row breaks.
    fix_promises: Vec<Promise>,
    fix_verdict: CheckVerdict,
    fix_holds: bool,
    fix_in: String,
    fix_states: Option<u64>,
    fix_runs: Option<u64>,
    fix_token: Option<String>,
    /// By what the repair is known to fall, a step beyond its bounds.
    fix_falls: Vec<Fall>,
    note: &'static str,
}

/// A row of the catalogue that nobody ran.
#[derive(Serialize)]
struct Listed {
    id: &'static str,
    system: &'static str,
    breaks: Promise,
    story: &'static str,
}

/// What a search came to.
pub(super) struct Searched {
    /// Replays a violation of the promise.
    pub token: Option<String>,
    steps: Option<usize>,
    /// Whether the search went to its end: only then nothing found is nothing there.
    pub complete: bool,
    states: Option<u64>,
    /// Of a seeded search: how many seeds were run.
    runs: Option<u64>,
    /// Which promises were judged.
    pub judged: PromiseSet,
    /// Whether nothing put to the test what was judged: then nothing is broken, and nothing proved.
    vacuous: bool,
    /// What it searched.
    space: String,
}

impl Scenarios {
    /// Runs all rows.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let chosen = self.chosen()?;
        if self.list {
            list(&chosen, screen);
            return Ok(Ending::Fine);
        }
        let pool = self.jobs.pool()?;
        self.ci.check()?;
        let jobs = self.jobs.count()?;
        let paint = screen.paint();
        let widths = Widths::of(&chosen);
        screen.text(&widths.header(paint));
        let mut rows: Vec<Row> = Vec::new();
        for (number, scenario) in chosen.iter().enumerate() {
            if interrupt::happened() || screen.is_closed() {
                break;
            }
            let progress = Progress::states();
            progress.begin_of(number, chosen.len(), scenario.id);
            let run = |search, breaks| pool.install(|| run(locks, scenario, search, breaks, jobs, &progress));
            let found = run(&scenario.search, Some(scenario.breaks))?;
            progress.begin_of(number, chosen.len(), &format!("{}, repaired", scenario.id));
            // The repaired lock may be held to another promise, and must keep whatever it is held to.
            let fixed = run(&scenario.fix_search, None)?;
            drop(progress);
            if interrupt::happened() {
                break;
            }
            let row = Row::new(scenario, found, fixed);
            screen.text(&widths.row(&row, paint));
            rows.push(row);
        }
        if rows.len() < chosen.len() {
            let note =
                format!("stopped after {} of {} rows: the rest is NOT a pass", rows.len(), chosen.len());
            screen.text(&paint.text(Tone::Unclear, &format!("\n{}", sentence(&note))));
        }
        last::keep(rows.iter().filter_map(|row| row.token.as_deref()));
        if let Some(row) = rows.iter().find(|row| row.found) {
            let steps = if row.seeds_tried.is_some() { next::steps } else { next::of_path };
            screen.text(&format!("\nby the id of a row:\n{}", steps(row.id)));
        }
        let complete = rows.len() == chosen.len();
        screen.rows(&rows, complete);
        screen.text(&closing(&rows, chosen.len(), paint));
        let missing = Ending::Incomplete.or_fine(!complete);
        let ending = rows.iter().map(Row::ending).fold(missing, Ending::max);
        self.ci.report("scenarios", rows.iter().flat_map(Row::cases).collect(), ending, screen)?;
        Ok(ending)
    }

    fn chosen(&self) -> Result<Vec<Scenario>, BadCall> {
        let all = scenarios();
        for id in self.ids.iter().filter(|id| !all.iter().any(|scenario| is_it(id, scenario.id))) {
            names::find("scenario", id, all.clone(), |scenario| scenario.id.to_owned())?;
        }
        for system in &self.systems {
            names::find("system", system, all.clone(), |scenario| scenario.system.to_owned())?;
        }
        let chosen = |scenario: &Scenario| {
            (self.ids.is_empty() || self.ids.iter().any(|id| is_it(id, scenario.id)))
                && (self.systems.is_empty()
                    || self.systems.iter().any(|system| system.eq_ignore_ascii_case(scenario.system)))
        };
        let chosen: Vec<Scenario> = all.into_iter().filter(chosen).collect();
        match chosen.is_empty() {
            true => {
                Err(BadCall("no row is of all that is asked for: leave out --system, or the rows".to_owned()))
            }
            false => Ok(chosen),
        }
    }
}

/// What the rows are about.
fn list(chosen: &[Scenario], screen: &mut Screen) {
    let widest = chosen.iter().map(|row| row.id.len()).max().unwrap_or(0);
    let indent = " ".repeat(widest + 2);
    let mut system = "";
    for &Scenario { id, system: of, story, .. } in chosen {
        if of != system {
            let title = if system.is_empty() { format!("{of}\n") } else { format!("\n{of}\n") };
            screen.text(&screen.paint().text(Tone::Strong, &title));
            system = of;
        }
        screen.text(&wrapped(&format!("{id:widest$}  {story}"), Screen::text_width(), &indent));
    }
    let rows: Vec<Listed> = chosen
        .iter()
        .map(|&Scenario { id, system, breaks, story, .. }| Listed { id, system, breaks, story })
        .collect();
    screen.rows(&rows, true);
}

/// Whether the row is asked for: by its id, or by that of all forms that it has (C22 for C22a, C22b, C22c).
pub(super) fn is_it(asked: &str, id: &str) -> bool {
    asked.eq_ignore_ascii_case(id) || asked.eq_ignore_ascii_case(family(id))
}

/// The id of all forms that a row has: C22 of C22a. Most have one.
pub(super) fn family(id: &str) -> &str {
    id.trim_end_matches(|letter: char| letter.is_ascii_lowercase())
}

/// How many of the rows came out as the catalogue says.
fn closing(rows: &[Row], chosen: usize, paint: Paint) -> String {
    let count = |is_so: fn(&Row) -> bool| rows.iter().filter(|row| is_so(row)).count() as u64;
    let (found, hold) = (count(|row| row.found), count(|row| row.fix_holds));
    let of_another = count(|row| row.fix_holds && row.held_to_another().is_some());
    let all = rows.len() as u64;
    let tone = if (found, hold) == (all, all) { Tone::Good } else { Tone::Bad };
    let repairs = match (all, hold) {
        (1, 0) => "its repair does not hold".to_owned(),
        (1, _) => "its repair holds".to_owned(),
        (_, 1) => "1 of their repairs holds".to_owned(),
        (_, hold) => format!("{} of their repairs hold", grouped(hold)),
    };
    let mut words = format!("{} of {} found, {repairs}", grouped(found), grouped(all));
    if rows.len() < chosen {
        words += " so far";
    }
    if of_another > 0 {
        let _ = match all {
            1 => write!(words, ", held to another promise than the row breaks"),
            _ => write!(
                words,
                ", {} of these held to another promise than the row breaks",
                grouped(of_another)
            ),
        };
    }
    format!("\n{}", paint.text(tone, &sentence(&words)))
}

/// Looks for a violation of this promise, or of any.
pub(super) fn run(
    locks: &Locks,
    scenario: &Scenario,
    search: &Search,
    breaks: Option<Promise>,
    jobs: usize,
    progress: &Progress,
) -> Result<Searched, BadCall> {
    let stop = interrupt::flag();
    match search {
        Search::Space { space, judgement } => {
            let on_progress = |seen: &Seen| progress.search(seen);
            let limits = Limits { states_max: STATES_MAX, stop, on_progress: &on_progress };
            let lock = names::lock(locks, space.lock)?;
            let checked = lock.check(space, judgement, &limits)?;
            let surroundings = lock.surroundings(space)?;
            let counterexample =
                checked.counterexample.filter(|found| breaks.is_none_or(|breaks| found.promise == breaks));
            Ok(Searched {
                steps: counterexample.as_ref().map(|found| found.steps),
                token: counterexample.map(|found| found.token.encode()),
                complete: checked.verdict != CheckVerdict::Incomplete,
                states: Some(checked.exploration.states),
                runs: None,
                judged: checked.judged,
                vacuous: checked.nothing_expired
                    || !checked.never_struck.is_empty()
                    || is_vacuous(checked.judged, checked.untested, scenario.breaks),
                space: format!(
                    "{}; set: {}; {}; allowed: {}; not assumed: {}",
                    surroundings.used,
                    surroundings.settings_in_words(),
                    surroundings.time,
                    surroundings.allowed_in_words(),
                    surroundings.not_in_force_in_words()
                ),
            })
        }
        Search::Seeds { lock, setup, faults, seeds } => {
            let seeded = Seeded::new(locks, lock, setup, faults)?;
            let tried = seeded.first_break(Strategy::Swarm, 0..*seeds, breaks, jobs, progress)?;
            let token = tried.token;
            let allowed = match seeded.faults() {
                FaultSet::EMPTY => "no plan strikes".to_owned(),
                faults => format!("allowed: random plans of {faults}"),
            };
            Ok(Searched {
                steps: token.as_deref().map(|token| steps(&seeded, token)).transpose()?,
                token,
                complete: tried.complete,
                states: None,
                runs: Some(tried.runs),
                judged: seeded.watched()?,
                vacuous: is_vacuous(seeded.watched()?, tried.untested, scenario.breaks),
                space: format!(
                    "{}; set: {}; {allowed}",
                    seeded.lock().use_in_words(setup)?,
                    seeded.lock().settings_in_words(setup)?
                ),
            })
        }
    }
}

/// How many steps the run of a token has.
fn steps(seeded: &Seeded, token: &str) -> Result<usize, BadCall> {
    let token = token.parse().map_err(|error: TokenError| BadCall(error.to_string()))?;
    let options = TextOptions { last: Some(0), ..TextOptions::default() };
    Ok(seeded.lock().replay(&token, &options)?.events.len())
}

impl Row {
    fn new(scenario: &Scenario, found: Searched, fixed: Searched) -> Row {
        let fix_verdict = match (&fixed.token, fixed.complete, fixed.vacuous) {
            (Some(_), _, _) => CheckVerdict::Violated,
            (None, false, _) => CheckVerdict::Incomplete,
            (None, true, true) => CheckVerdict::Vacuous,
            (None, true, false) => CheckVerdict::Holds,
        };
        Row {
            id: scenario.id,
            system: scenario.system,
            story: scenario.story,
            breaks: scenario.breaks,
            found: found.token.is_some(),
            searched_to_the_end: found.complete,
            seeds_tried: found.runs,
            steps: found.steps,
            token: found.token,
            found_in: found.space,
            fix: scenario.fix,
            fix_promises: fixed.judged.iter().collect(),
            fix_verdict,
            fix_holds: fix_verdict == CheckVerdict::Holds,
            fix_in: fixed.space,
            fix_states: fixed.states,
            fix_runs: fixed.runs,
            fix_token: fixed.token,
            fix_falls: known_falls(scenario.id, REPAIRED, None).copied().collect(),
            note: scenario.note,
        }
    }

    /// Where a repair is not held to what the row breaks: to what.
    fn held_to_another(&self) -> Option<String> {
        let names: Vec<&str> = self.fix_promises.iter().copied().map(Promise::name).collect();
        let is_another = !self.fix_promises.contains(&self.breaks);
        is_another.then(|| format!("it is held to {}, not to {}", names.join(", "), self.breaks))
    }

    /// Its first name in that case, for the table.
    fn other_promise(&self) -> String {
        match self.fix_promises.first() {
            Some(first) if self.held_to_another().is_some() => format!("{first} "),
            _ => String::new(),
        }
    }

    /// As a build server shows it: that the failure is found again, and that its repair holds.
    fn cases(&self) -> [Case; 2] {
        let found = match (self.found, self.searched_to_the_end) {
            (true, _) => Outcome::Passed,
            (false, true) => Outcome::Failed(format!("not found again: {}", self.story)),
            (false, false) => Outcome::Unclear(format!("the search did not end: {}", self.story)),
        };
        let repaired = match self.fix_verdict {
            CheckVerdict::Holds => Outcome::Passed,
            CheckVerdict::Violated => Outcome::Failed(format!("does not hold: {}", self.fix)),
            CheckVerdict::Incomplete => Outcome::Unclear(format!("the search did not end: {}", self.fix)),
            CheckVerdict::Vacuous => Outcome::Unclear(format!("nothing put it to the test: {}", self.fix)),
        };
        let case = |name: &str, outcome: Outcome, said: &str, token: Option<String>| Case {
            group: self.system.to_owned(),
            name: format!("{} {name}", self.id),
            outcome,
            said: said.to_owned(),
            token,
            seconds: None,
        };
        let token = self.found.then(|| self.id.to_owned());
        [
            case("found", found, self.story, token),
            case("repaired", repaired, self.fix, self.fix_token.clone()),
        ]
    }

    fn ending(&self) -> Ending {
        let repaired = match self.fix_verdict {
            CheckVerdict::Holds => Ending::Fine,
            CheckVerdict::Violated => Ending::Unexpected,
            CheckVerdict::Incomplete => Ending::Incomplete,
            CheckVerdict::Vacuous => Ending::Vacuous,
        };
        let found = match (self.found, self.searched_to_the_end) {
            (true, _) => Ending::Fine,
            (false, true) => Ending::Unexpected,
            (false, false) => Ending::Incomplete,
        };
        repaired.max(found)
    }
}

struct Widths {
    id: usize,
    system: usize,
    breaks: usize,
    /// What became of the repair stands in a line of its own: there is no room for a column.
    is_folded: bool,
}

/// `✓ seed 12345, 12345 steps`.
const FOUND: usize = 24;
/// `✓ starvation-freedom holds, 12,345 states`; where it is longer, it is the last thing in its line.
const REPAIRED_WIDTH: usize = 41;

impl Widths {
    fn of(rows: &[Scenario]) -> Widths {
        let widest = |length: fn(&Scenario) -> usize| rows.iter().map(length).max().unwrap_or(0);
        let (id, system, breaks) = (
            widest(|row| row.id.len()).max("id".len()),
            widest(|row| row.system.len()).max("system".len()),
            widest(|row| row.breaks.name().len()).max("breaks".len()),
        );
        let all = id + system + breaks + FOUND + REPAIRED_WIDTH + 4 * "  ".len();
        Widths { id, system, breaks, is_folded: !Screen::fits(all) }
    }

    fn header(&self, paint: Paint) -> String {
        let &Widths { id, system, breaks, is_folded } = self;
        let last = if is_folded { "found".to_owned() } else { format!("{:FOUND$}  repaired", "found") };
        let titles = format!("{:id$}  {:system$}  {:breaks$}  {last}", "id", "system", "breaks");
        format!("{}\n{}", paint.text(Tone::Strong, &titles), rule(78))
    }

    fn row(&self, row: &Row, paint: Paint) -> String {
        let &Widths { id, system, breaks, is_folded } = self;
        let (tone, mark) = match (row.found, row.searched_to_the_end) {
            (true, _) => (Tone::Good, "✓"),
            (false, true) => (Tone::Bad, "✗"),
            (false, false) => (Tone::Unclear, "?"),
        };
        let steps = row.steps.unwrap_or(0);
        let found = match (row.found, row.seeds_tried) {
            (true, None) => format!("{mark} {steps} steps"),
            (true, Some(tried)) => format!("{mark} seed {}, {steps} steps", tried.saturating_sub(1)),
            (false, None) => format!("{mark} not found"),
            (false, Some(tried)) => format!("{mark} not in {}", counted(tried, "seed")),
        };
        let size = match (row.fix_states, row.fix_runs) {
            (Some(states), _) => counted(states, "state"),
            (None, Some(runs)) => counted(runs, "run"),
            (None, None) => String::new(),
        };
        let (fix_tone, holds) = match row.fix_verdict {
            CheckVerdict::Holds => (Tone::Good, format!("✓ {}holds, {size}", row.other_promise())),
            CheckVerdict::Violated => (Tone::Bad, format!("✗ does not hold, {size}")),
            CheckVerdict::Incomplete => (Tone::Unclear, format!("? incomplete, {size}")),
            CheckVerdict::Vacuous => (Tone::Unclear, format!("– vacuous, {size}")),
        };
        let indent = " ".repeat(id + 2);
        let repaired = paint.text(fix_tone, &holds);
        let last = match is_folded {
            false => format!("{}  {repaired}", paint.text(tone, &format!("{found:FOUND$}"))),
            true => format!("{}\n{indent}repaired: {repaired}", paint.text(tone, &found)),
        };
        let mut text =
            format!("{:id$}  {:system$}  {:breaks$}  {last}\n", row.id, row.system, row.breaks.name());
        let falls: Vec<String> = row.fix_falls.iter().map(Fall::in_words).collect();
        let held_to = row.held_to_another().unwrap_or_default();
        let told = [
            ("", row.story),
            ("in: ", row.found_in.as_str()),
            ("repair: ", row.fix),
            ("", held_to.as_str()),
            ("in: ", row.fix_in.as_str()),
        ];
        let falls = falls.iter().map(|words| ("", words.as_str())).filter(|_| row.fix_holds);
        for (title, words) in told.into_iter().chain(falls).chain([("note: ", row.note)]) {
            if !words.is_empty() {
                text += &wrapped(&format!("{title}{words}"), Screen::text_width(), &indent);
            }
        }
        // On a terminal the row's name stands for what it finds.
        let found = row.token.as_ref().filter(|_| !Screen::is_terminal());
        for token in [found, row.fix_token.as_ref()].into_iter().flatten() {
            let _ = writeln!(text, "{indent}{}", paint.text(Tone::Faint, token));
        }
        text
    }
}
