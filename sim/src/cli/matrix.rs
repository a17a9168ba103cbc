//! `picklock matrix`, and `picklock` alone: which lock keeps which promise under which fault.

mod judged;

use super::jobs::Jobs;
use super::progress::Progress;
use super::screen::{Paint, Screen, json};
use super::{BadCall, Ending, interrupt, names};
use clap::Args;
use judged::{Judged, Row};
use picklock_properties::{Promise, PromiseSet};
use picklock_sim::fault::{FaultKind, FaultSet};
use picklock_sim::registry::{AnyLock, Locks, SweepHow};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Shows which lock keeps which promise under which fault
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Matrix {
    /// Only this lock; may be repeated
    #[arg(long = "lock", value_name = "LOCK", value_delimiter = ',')]
    locks: Vec<String>,
    /// Only this row: a kind of fault, `none`, or `all` of them at once; may be repeated
    #[arg(long = "fault", value_name = "FAULT", value_delimiter = ',')]
    faults: Vec<String>,
    /// How many seeds each lock has to get through under each fault
    #[arg(long, value_name = "N", default_value_t = SEEDS_DEFAULT)]
    seeds: u64,
    #[command(flatten)]
    jobs: Jobs,
    /// Writes report.txt and report.json into this folder, too
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  picklock matrix
  picklock matrix --lock cassandra-queue --fault pause --fault clock --seeds 100000
  picklock matrix --json --out report

Exits 1 if a verdict differs from the expected one. That a lock which is known to break was not seen breaking counts
only with as many seeds as by default.";

/// So many that each of the known failures is found, and that all of it takes less than a minute on two cores.
const SEEDS_DEFAULT: u64 = 1000;

/// The columns.
const PROMISES: [Promise; 6] = [
    Promise::MutualExclusion,
    Promise::FencedResource,
    Promise::DeadlockFreedom,
    Promise::StarvationFreedom,
    Promise::Fifo,
    Promise::LeaseLoss,
];

impl Default for Matrix {
    fn default() -> Matrix {
        let (locks, faults) = (Vec::new(), Vec::new());
        Matrix { locks, faults, seeds: SEEDS_DEFAULT, jobs: Jobs::default(), out: None }
    }
}

impl Matrix {
    /// Runs all seeds of all rows.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let locks = self.chosen_locks(locks)?;
        let faults = self.chosen_faults()?;
        let jobs = self.jobs.count()?;
        if self.seeds == 0 {
            return Err(BadCall("--seeds 0 shows nothing; it takes at least 1".to_owned()));
        }
        let out = self.out.as_deref().map(Folder::open).transpose()?;

        let planned = locks.len() * faults.len();
        let progress = Progress::runs(planned as u64 * self.seeds);
        let on_progress = |runs| progress.add(runs);
        let stop = interrupt::flag();
        let how = SweepHow { jobs, keep_going: true, ..SweepHow::new(&on_progress, stop) };
        let promises: PromiseSet = PROMISES.into_iter().collect();
        let mut rows = Vec::new();
        for lock in &locks {
            let setup = lock.setup(Some(promises));
            for (name, faults) in &faults {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                progress.name(format!("{}, {name}", lock.name()));
                let report = lock.sweep(&setup, *faults, 0..self.seeds, &how)?;
                rows.push(Row::new(lock.name(), name, *faults, &setup, &report));
            }
        }
        drop(progress);

        let judged = Judged { rows, seeds: self.seeds, planned, interrupted: interrupt::happened() };
        screen.text(&judged.text(screen.paint()));
        screen.document(&judged.cells());
        if let Some(out) = out {
            out.write("report.txt", &judged.text(Paint::NONE))?;
            out.write("report.json", &json(&judged.cells()))?;
            screen.text(&format!("\nthe same in {}: report.txt, report.json\n", out.path.display()));
        }
        Ok(Ending::broken_if(judged.differs()))
    }

    fn chosen_locks<'a>(&self, locks: &'a Locks) -> Result<Vec<&'a dyn AnyLock>, BadCall> {
        if self.locks.is_empty() {
            return Ok(locks.iter().filter(|lock| lock.is_lock()).collect());
        }
        self.locks.iter().map(|name| names::real_lock(locks, name)).collect()
    }

    fn chosen_faults(&self) -> Result<Vec<(&'static str, FaultSet)>, BadCall> {
        let mut rows = vec![("none", FaultSet::EMPTY)];
        rows.extend(FaultKind::ALL.map(|kind| (kind.name(), FaultSet::from(kind))));
        rows.push(("all", FaultSet::ALL));
        if self.faults.is_empty() {
            return Ok(rows);
        }
        self.faults
            .iter()
            .map(|name| names::find("fault", name, rows.clone(), |row| row.0.to_owned()))
            .collect()
    }
}

/// Where the report goes.
struct Folder<'a> {
    path: &'a Path,
}

impl Folder<'_> {
    /// Makes sure, before anything is run, that the report can be written.
    fn open(path: &Path) -> Result<Folder<'_>, BadCall> {
        let folder = Folder { path };
        std::fs::create_dir_all(path).map_err(|error| folder.unwritable(&error))?;
        for name in ["report.txt", "report.json"] {
            let opened = OpenOptions::new().append(true).create(true).open(path.join(name));
            opened.map_err(|error| folder.unwritable(&error))?;
        }
        Ok(folder)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), BadCall> {
        std::fs::write(self.path.join(name), text).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> BadCall {
        BadCall(format!("--out {}: nothing can be written there: {error}", self.path.display()))
    }
}
