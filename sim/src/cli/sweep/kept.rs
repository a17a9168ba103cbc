//! `--results FILE`: what is found is in a file as soon as it is found.

use crate::cli::progress::Stopwatch;
use crate::cli::{BadCall, interrupt};
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use crate::registry::{AnyLock, SweepHow};
use crate::sweep::SweepReport;
use crate::sweep::results::{Question, Results, ResultsError};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Opens the file, to begin it or to go on.
pub fn open(path: &Path, question: &Question) -> Result<Results, BadCall> {
    if question.strategy == Strategy::Guided {
        return Err(BadCall(
            "--results with --strategy guided: such a search learns from its first seed on, and cannot go on in the middle"
                .to_owned(),
        ));
    }
    Results::open(path, question).map_err(|error| BadCall(format!("--results {error}")))
}

/// Runs the seeds that the file has not, and says what it says then, and in how many seconds that came about.
pub fn sweep(
    lock: &dyn AnyLock,
    (setup, faults): (&[u8], FaultSet),
    rest: Range<u64>,
    how: SweepHow,
    results: Results,
) -> Result<(SweepReport, f64), BadCall> {
    let stopwatch = Stopwatch::start();
    let full = AtomicBool::new(false);
    let kept: Mutex<(Results, Option<ResultsError>)> = Mutex::new((results, None));
    let on_merged = |until, report| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (results, error) = &mut *kept;
        if error.is_none() {
            *error = results.add(until, report, stopwatch.seconds()).err();
            full.fetch_or(error.is_some(), Ordering::Relaxed);
        }
    };
    let on_progress = |runs| {
        (how.on_progress)(runs);
        // Nothing that is found from now on would be kept.
        full.fetch_or(interrupt::happened(), Ordering::Relaxed);
    };
    let how = SweepHow {
        keep_going: true,
        on_merged: Some(&on_merged),
        on_progress: &on_progress,
        stop: &full,
        ..how
    };
    if !rest.is_empty() {
        lock.sweep(setup, faults, rest, &how)?;
    }
    let (results, error) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    match error {
        Some(error) => Err(BadCall(format!("--results {error}"))),
        None => Ok(results.finish()),
    }
}
