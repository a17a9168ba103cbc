//! `picklock matrix`: which lock keeps which promise under which fault; and which object.

mod held;
mod judged;
mod kind;
mod report;

use super::ci::Ci;
use super::jobs::Jobs;
use super::progress::Progress;
use super::screen::{Rows, Screen};
use super::snapshot::Difference;
use super::tokens::{Plans, Tokens, UNCHANGED};
use super::{BadCall, Ending, interrupt, last, names, written};
use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::strategy::Strategy;
use crate::registry::{AnyLock, Locks, SweepHow};
use clap::Args;
use held::Held;
pub use judged::{Judged, Row, Verdict};
pub use kind::Kind;
use report::Folder;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Shows which lock keeps which promise under which fault
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Matrix {
    /// Only this lock or object; may be repeated
    #[arg(long = "lock", value_name = "LOCK", value_delimiter = ',')]
    locks: Vec<String>,
    /// A table of these: `locks`, unless told otherwise, or `objects`, made of compare-and-set; may be repeated
    #[arg(long = "system", value_name = "S", value_delimiter = ',', conflicts_with = "locks")]
    systems: Vec<String>,
    /// Only this row: a kind of fault, `none`, or `all` eight of them at once; may be repeated
    #[arg(long = "fault", value_name = "FAULT", value_delimiter = ',')]
    faults: Vec<String>,
    /// How many seeds each lock has to get through under each fault
    #[arg(long, value_name = "N", default_value_t = SEEDS_DEFAULT)]
    seeds: u64,
    #[command(flatten)]
    jobs: Jobs,
    /// Writes the report into this folder: index.html, with the picture of a small run for each broken promise, and
    /// report.txt and report.json
    #[arg(long, value_parser = written::named(), value_name = "DIR")]
    out: Option<PathBuf>,
    /// Expects what this file has, which --accept has written, and nothing else: says what differs, and exits 5 for that alone
    #[arg(long, value_name = "FILE", conflicts_with = "accept")]
    expect: Option<PathBuf>,
    /// Writes what was seen into this file, for --expect; what it has and these runs do not contradict stays
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    accept: Option<PathBuf>,
    #[command(flatten)]
    ci: Ci,
}

const EXAMPLES: &str = "\
Examples:
  picklock matrix
  picklock matrix --lock cassandra-queue --fault pause --fault clock --seeds 100000
  picklock matrix --fault partition
  picklock matrix --system objects
  picklock matrix --json --out report
  picklock matrix --lock redlock --accept redlock.json
  picklock matrix --lock redlock --junit junit.xml --github

Exits 5 if a promise breaks that is believed or verified to be kept, 3 if runs are missing or did not end, 4 if no cell \
could have been broken, else 0: what is known to break is expected to, with any number of seeds.

With --expect, the file says what is expected. Not to have met a failure contradicts no file, unless the seed that had broken the \
promise is run again; to break what was not broken does, by whatever seed. Cells that were not asked for are left out.

JSON: a cell's \"verdict\" is violated, known-violated (by \"known_by\", not met by these seeds), verified, not-seen (in \
\"tested\" of \"runs\" it could have been), vacuous, or incomplete; \"expected\" is violated, kept, verified or unknown.";

/// The cells, and what is not as the file of --expect has it.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, &'a judged::Cell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<&'a [Difference]>,
}

/// So many that most of the known failures are met, and that all of it takes about a minute on two cores.
const SEEDS_DEFAULT: u64 = 1000;

impl Matrix {
    /// Runs all seeds of all rows.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let chosen = self.chosen_locks(locks)?;
        let faults = self.chosen_faults()?;
        let jobs = self.jobs.count()?;
        if self.seeds == 0 {
            return Err(BadCall("--seeds 0 shows nothing; it takes at least 1".to_owned()));
        }
        let out = self.out.as_deref().map(Folder::open).transpose()?;
        self.ci.check()?;
        let held = Held::open(self.expect.as_deref(), self.accept.as_deref())?;

        let planned = chosen.len() * faults.len();
        let progress = Progress::uneven_runs(planned as u64 * self.seeds);
        let on_progress = |runs| progress.add(runs);
        let stop = interrupt::flag();
        let how = SweepHow { jobs, keep_going: true, ..SweepHow::new(&on_progress, stop) };
        let (mut rows, mut uses) = (Vec::new(), Vec::new());
        for (kind, lock) in &chosen {
            let promises = kind.watched(*lock);
            let setup = lock.setup(Some(promises));
            if stop.load(Ordering::Relaxed) {
                break;
            }
            uses.push((*kind, lock.name(), lock.use_in_words(&setup)?));
            for (name, faults) in &faults {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                progress.begin(format!("{}, {name}", lock.name()));
                let report = lock.sweep(&setup, *faults, 0..self.seeds, &how)?;
                let plans =
                    Plans::Drawn { faults: *faults, strategy: Strategy::default(), planned: UNCHANGED };
                let tokens = Tokens { lock: *lock, setup: &setup, plans }.of_first(&report)?;
                rows.push(Row::new((*kind, lock.name()), name, promises, &report, &tokens));
            }
        }
        drop(progress);

        let mut judged =
            Judged { rows, uses, seeds: self.seeds, planned, interrupted: interrupt::happened() };
        screen.text(&judged.text(screen.paint()));
        let written = out.map(|out| out.fill(locks, &mut judged, &self.jobs.pool()?)).transpose()?;
        last::keep(judged.tokens_in_order());
        let compared = held.as_ref().and_then(|held| held.compared(locks, &judged, &faults));
        let differences = compared.as_ref().map(|compared| compared.differences.changed.as_slice());
        screen.document(&Document { rows: Rows::new(&judged.cells(), judged.is_complete()), differences });
        if let Some(written) = written {
            screen.text(&written);
        }
        if let Some(held) = &held {
            screen.text(&held.settle(&judged, compared.as_ref(), screen.paint())?);
        }
        let ending = match &held {
            Some(held) => held.ending(&judged, compared.as_ref()),
            None => judged.ending(),
        };
        self.ci.report("matrix", judged.cases(differences), ending, screen)?;
        Ok(ending)
    }

    /// By table, each in the order asked for.
    fn chosen_locks<'a>(&self, locks: &'a Locks) -> Result<Vec<(Kind, &'a dyn AnyLock)>, BadCall> {
        let kind =
            |name: &String| names::find("system", name, Kind::ALL.to_vec(), |kind| kind.name().to_owned());
        let mut chosen: Vec<(Kind, &dyn AnyLock)> = Vec::new();
        for name in &self.locks {
            let lock = names::lock(locks, name)?;
            match Kind::of(lock) {
                Some(kind) => chosen.push((kind, lock)),
                None => chosen.push((Kind::Locks, names::real_lock(locks, name)?)),
            }
        }
        if self.locks.is_empty() {
            let kinds = match self.systems.is_empty() {
                true => vec![Kind::Locks],
                false => self.systems.iter().map(kind).collect::<Result<Vec<Kind>, BadCall>>()?,
            };
            let asked = Kind::ALL.into_iter().filter(|kind| kinds.contains(kind));
            chosen.extend(asked.flat_map(|kind| kind.rows(locks).into_iter().map(move |lock| (kind, lock))));
        }
        let mut named = BTreeSet::new();
        chosen.retain(|(_, lock)| named.insert(lock.name()));
        let of = |kind: Kind| chosen.iter().copied().filter(move |(own, _)| *own == kind);
        Ok(Kind::ALL.into_iter().flat_map(of).collect())
    }

    /// One that was asked for, to show how another command is called.
    fn a_lock(&self) -> &str {
        self.locks.first().map_or("redlock", String::as_str)
    }

    fn chosen_faults(&self) -> Result<Vec<(&'static str, FaultSet)>, BadCall> {
        let rows = rows_of_faults();
        if self.faults.is_empty() {
            return Ok(rows);
        }
        let row = |name: &String| match kind_without_row(name) {
            Some(kind) => {
                let sweep = format!("{} sweep {} --faults {kind}", names::program(), self.a_lock());
                Err(BadCall(format!("--fault {kind}: the matrix has no row for it; {sweep} strikes with it")))
            }
            None => names::find("fault of the matrix", name, rows.clone(), |row| row.0.to_owned()),
        };
        let mut chosen = self.faults.iter().map(row).collect::<Result<Vec<_>, BadCall>>()?;
        let mut named = BTreeSet::new();
        chosen.retain(|(name, _)| named.insert(*name));
        Ok(chosen)
    }
}

/// The rows of a lock: nothing, each kind of fault, all of them at once.
pub fn rows_of_faults() -> Vec<(&'static str, FaultSet)> {
    let kinds = FaultKind::USUAL.map(|kind| (kind.name(), FaultSet::from(kind)));
    [("none", FaultSet::EMPTY)].into_iter().chain(kinds).chain([("all", FaultSet::ALL)]).collect()
}

fn kind_without_row(name: &str) -> Option<FaultKind> {
    let has_none = |kind: &FaultKind| !FaultKind::USUAL.contains(kind);
    FaultKind::ALL.into_iter().filter(has_none).find(|kind| kind.name().eq_ignore_ascii_case(name))
}
