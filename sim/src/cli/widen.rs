//! `picklock widen`: every verified claim once more, with one bound at a time a little wider.

mod table;

use super::check::why_incomplete;
use super::jobs::Jobs;
use super::memory::{self, MaxMemory};
use super::progress::{Progress, Stopwatch};
use super::screen::{Rows, Screen};
use super::{BadCall, Ending, interrupt, last, names, next, states_within, written};
use crate::registry::{AnyLock, CheckVerdict, Locks};
use clap::Args;
use picklock_model::claims::{
    Claim, Expected, Judgement, NamedSpace, REPAIRED, Search, THEOREMS, Widened, Widening, claims,
    known_fall, scenarios,
};
use picklock_model::explore::{Limits, Seen};
use picklock_model::world::Fault;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes each verified claim a step beyond each of its bounds: one client, round, loss or tick more
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Widen {
    /// Only these: theorems, rows of the catalogue (their repairs), or locks (all that is verified of them)
    names: Vec<String>,
    /// Gives a try up after so many states; that is no pass
    #[arg(long, value_name = "N", default_value_t = STATES_MAX)]
    max_states: u64,
    /// Gives a try up after so many seconds; that is no pass, and another machine may come further
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    #[command(flatten)]
    memory: MaxMemory,
    /// Takes the claims along that take longer than a few seconds themselves
    #[arg(long)]
    long: bool,
    /// Only claims whose space lets in one of these faults: losses, crashes, power_losses, ...
    #[arg(long, value_name = "FAULTS", value_delimiter = ',')]
    let_in: Vec<String>,
    /// Writes the table there, as Markdown
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
}

const EXAMPLES: &str = "\
Examples:
  picklock widen theorem-3
  picklock widen C9 Z2 redlock --seconds 60
  picklock widen --let-in crashes,power_losses --seconds 10
  picklock widen --max-states 3000000 --out widening.md

A fault that a claim leaves out altogether is an assumption of it, and no bound: picklock theorems drops those.

Exits 0 if all that fell is known to, 3 if a limit came first somewhere, 4 if nothing could have broken a claim, 5 if \
something fell that is not known to, or stood that is.";

const STATES_MAX: u64 = 2_000_000;

/// Why a try was given up that took too long; other machines come further, or less far.
const OUT_OF_TIME: &str = "--seconds were over";

/// The widenings that were tried, and the claims that only --long takes along.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Row>,
    left_out: Vec<String>,
}

/// What is claimed to be verified, wherever that stands.
struct Verified {
    /// The theorem, or the row whose repair it is.
    name: &'static str,
    /// What sets it apart from others of that name.
    variant: &'static str,
    dropped: Option<String>,
    space: NamedSpace,
    judgement: Judgement,
    long: bool,
}

/// A claim and a bound of it.
#[derive(Serialize)]
struct Row {
    /// The theorem, or the row whose repair it is.
    claim: &'static str,
    lock: &'static str,
    variant: &'static str,
    dropped: Option<String>,
    clients: u8,
    servers: u8,
    widening: Widening,
    verdict: CheckVerdict,
    expected: Expected,
    /// Why it falls, where that is known.
    why: Option<&'static str>,
    why_incomplete: Option<&'static str>,
    states: u64,
    steps: Option<usize>,
    token: Option<String>,
    seconds: f64,
}

impl Widen {
    /// Widens all that was asked for.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        states_within(self.max_states)?;
        if self.seconds.is_some_and(|seconds| seconds.is_nan() || seconds <= 0.0) {
            return Err(BadCall("--seconds: it takes more than none".to_owned()));
        }
        let (long, verified): (Vec<Verified>, Vec<Verified>) =
            self.chosen(locks)?.into_iter().partition(|claim| claim.long && !self.long);
        if verified.is_empty() {
            let words = "all of these take longer than a few seconds themselves: --long takes them along";
            return Err(BadCall(words.to_owned()));
        }
        let left_out: Vec<String> = long.iter().map(Verified::title).collect();
        let pool = self.jobs.pool()?;
        self.out.as_deref().map(can_be_written).transpose()?;
        interrupt::flag();
        let paint = screen.paint();
        screen.text(&table::header(paint));
        let progress = Progress::states();
        let mut rows: Vec<Row> = Vec::new();
        let mut complete = true;
        'claims: for claim in &verified {
            let lock = names::lock(locks, claim.space.lock)?;
            let mut is_first = true;
            for widening in Widening::ALL {
                if interrupt::happened() || screen.is_closed() {
                    complete = false;
                    break 'claims;
                }
                progress.begin(format!("{}, a {widening} more", claim.title()));
                let Some(row) = pool.install(|| self.widened(claim, lock, widening, &progress))? else {
                    continue;
                };
                progress.aside(|| screen.text(&table::line(claim, &row, is_first, paint)));
                is_first = false;
                rows.push(row);
            }
        }
        drop(progress);
        complete &= !interrupt::happened();
        screen.text(&table::summary(&rows, complete, paint));
        screen.text(&table::left_out(&left_out));
        let is_kept = last::keep(rows.iter().filter_map(|row| row.token.as_deref()));
        if let Some(token) = rows.iter().find_map(|row| row.token.as_deref()) {
            let name = if is_kept { "@last" } else { token };
            screen.text(&format!("\nthe first that fell:\n{}", next::of_path(name)));
        }
        screen.document(&Document { rows: Rows::new(&rows, complete && left_out.is_empty()), left_out });
        if let Some(path) = &self.out {
            let text = table::markdown(&verified, &rows, self.max_states, complete);
            std::fs::write(path, text).map_err(|error| unwritable(path, &error))?;
        }
        let missing = Ending::Incomplete.or_fine(!complete);
        Ok(rows.iter().map(Row::ending).fold(missing, Ending::max))
    }

    /// One try; `None` if that bound means nothing there.
    fn widened(
        &self,
        claim: &Verified,
        lock: &dyn AnyLock,
        widening: Widening,
        progress: &Progress,
    ) -> Result<Option<Row>, BadCall> {
        let Some(Widened { space, clients, servers }) = lock.widened(&claim.space, widening)? else {
            return Ok(None);
        };
        let judgement = match widening {
            Widening::Client => claim.judgement.with_client(clients),
            _ => claim.judgement.clone(),
        };
        let watch = Stopwatch::start();
        let (memory, is_late) = (self.memory.watch(), AtomicBool::new(false));
        let on_progress = |seen: &Seen| {
            progress.search(seen);
            memory.look();
            if self.seconds.is_some_and(|seconds| watch.seconds() > seconds) {
                is_late.store(true, Ordering::Relaxed);
                memory.stop().store(true, Ordering::Relaxed);
            }
        };
        let limits = Limits { states_max: self.max_states, stop: memory.stop(), on_progress: &on_progress };
        let checked = lock.check(&space, &judgement, &limits)?;
        let is_late = is_late.load(Ordering::Relaxed) && !interrupt::happened();
        let fall = known_fall(claim.name, claim.variant, claim.dropped.as_deref(), widening);
        Ok(Some(Row {
            claim: claim.name,
            lock: lock.name(),
            variant: claim.variant,
            dropped: claim.dropped.clone(),
            clients,
            servers,
            widening,
            verdict: checked.verdict,
            expected: if fall.is_some() { Expected::Violated } else { Expected::Holds },
            why: fall.map(|fall| fall.why),
            why_incomplete: why_incomplete(&checked).map(|why| match (is_late, memory.is_too_much()) {
                (true, _) => OUT_OF_TIME,
                (false, true) => memory::REACHED,
                (false, false) => why,
            }),
            states: checked.exploration.states,
            steps: checked.counterexample.as_ref().map(|found| found.steps),
            token: checked.counterexample.map(|found| found.token.encode()),
            seconds: watch.seconds(),
        }))
    }

    /// What is verified of all that was named, or of everything.
    fn chosen(&self, locks: &Locks) -> Result<Vec<Verified>, BadCall> {
        let all = everything();
        let known: Vec<String> = THEOREMS
            .iter()
            .map(|theorem| theorem.name.to_owned())
            .chain(scenarios().iter().map(|row| row.id.to_owned()))
            .chain(locks.iter().map(|lock| lock.name().to_owned()))
            .collect();
        let is = |claim: &Verified, name: &String| {
            claim.name.eq_ignore_ascii_case(name) || claim.space.lock.eq_ignore_ascii_case(name)
        };
        for name in &self.names {
            if !all.iter().any(|claim| is(claim, name)) {
                let known_name = known.iter().find(|known| known.eq_ignore_ascii_case(name));
                return Err(match known_name {
                    Some(name) => BadCall(format!("nothing is verified of {name} that could be widened")),
                    None => match names::find("theorem, row or lock", name, known, Clone::clone) {
                        Err(unknown) => unknown,
                        Ok(name) => unreachable!("{name} was looked for"),
                    },
                });
            }
        }
        let let_in = self.let_in.iter().map(|name| {
            names::find("kind of fault", name, Fault::ALL.to_vec(), |fault| fault.name().to_owned())
        });
        let let_in: Vec<Fault> = let_in.collect::<Result<_, _>>()?;
        let is_chosen = |claim: &Verified| {
            let is_named = self.names.iter().any(|name| is(claim, name));
            let budget = claim.space.bounds.let_in();
            let is_struck = let_in.iter().any(|fault| budget.allows(*fault));
            (self.names.is_empty() || is_named) && (self.let_in.is_empty() || is_struck)
        };
        let chosen: Vec<Verified> = all.into_iter().filter(is_chosen).collect();
        match chosen.is_empty() && !self.let_in.is_empty() {
            true => Err(BadCall(format!("--let-in {}: no such claim has these", self.let_in.join(",")))),
            false => Ok(chosen),
        }
    }
}

/// All that is verified.
fn everything() -> Vec<Verified> {
    claims().into_iter().filter_map(of_claim).chain(of_rows()).collect()
}

/// What can be widened by its name, and what it is: a theorem, a row by its repair, a lock by all that is verified of it.
pub(super) fn widenable(locks: &Locks) -> Vec<(&'static str, &'static str)> {
    let all = everything();
    let is_one = |name: &str| all.iter().any(|claim| claim.name == name);
    let theorems = THEOREMS.iter().map(|theorem| (theorem.name, theorem.source));
    let rows = scenarios().into_iter().map(|row| (row.id, row.fix));
    let has_one = |lock: &&dyn AnyLock| all.iter().any(|claim| claim.space.lock == lock.name());
    let locks = locks.iter().filter(has_one).map(|lock| (lock.name(), lock.summary()));
    let mut named: Vec<(&'static str, &'static str)> =
        theorems.chain(rows).filter(|(name, _)| is_one(name)).collect();
    // Where a theorem is called as its lock is, the one name stands for both.
    let others: Vec<_> = locks.filter(|(name, _)| !named.iter().any(|(known, _)| known == name)).collect();
    named.extend(others);
    named
}

fn of_claim(claim: Claim) -> Option<Verified> {
    (claim.expected != Expected::Violated).then(|| Verified {
        name: claim.theorem,
        variant: claim.variant,
        dropped: claim.dropped_names(),
        space: claim.space,
        judgement: claim.judgement,
        long: claim.long,
    })
}

/// The repairs that were verified; what random plans were tried on has no bounds to widen.
fn of_rows() -> impl Iterator<Item = Verified> {
    scenarios().into_iter().filter_map(|row| match row.fix_search {
        Search::Space { space, judgement } => {
            Some(Verified { name: row.id, variant: REPAIRED, dropped: None, space, judgement, long: false })
        }
        Search::Seeds { .. } => None,
    })
}

impl Verified {
    fn title(&self) -> String {
        let dropped = self.dropped.as_ref().map_or_else(String::new, |names| format!(", without {names}"));
        let variant = if self.variant.is_empty() { String::new() } else { format!(", {}", self.variant) };
        format!("{} of {}{variant}{dropped}", self.name, self.space.lock)
    }
}

impl Row {
    /// Whether it fell though it is not known to, or stood though it is.
    fn differs(&self) -> bool {
        self.verdict.contradicts(self.expected)
    }

    fn ending(&self) -> Ending {
        Ending::of_claim(self.verdict, self.expected)
    }
}

/// Makes sure, before anything is searched, that the table can be written.
fn can_be_written(path: &Path) -> Result<(), BadCall> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> BadCall {
    BadCall(format!("--out {}: cannot be written: {error}", path.display()))
}
