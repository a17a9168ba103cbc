//! `--plan FILE`: the same faults at the same moments for every seed.

use super::BadCall;
use crate::plans::plan::Plan;
use crate::registry::{AnyLock, RunError, SweepHow};
use crate::seeded::outcome::Outcome;
use crate::sweep::SweepReport;
use crate::token::differences::passed_over;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A plan that was read and can be run.
pub struct PlanFile(Plan);

/// Most seeds that one thread runs without looking up.
const BLOCK_MAX: u64 = 64;
/// Blocks that are handed out at once, for each thread.
const BLOCKS: u64 = 8;

impl PlanFile {
    /// Reads a plan.
    pub fn read(path: &Path) -> Result<PlanFile, BadCall> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| BadCall(format!("the plan {shown} cannot be read: {error}")))?;
        let no_plan =
            |error: serde_json::Error| BadCall(format!("the plan {shown} is not a fault plan: {error}"));
        let plan: Plan = serde_json::from_str(&text).map_err(no_plan)?;
        let (given, known) = serde_json::from_str(&text)
            .and_then(|given| Ok((given, serde_json::to_value(&plan)?)))
            .map_err(no_plan)?;
        if let Some(name) = passed_over(&given, &known) {
            return Err(BadCall(format!("the plan {shown} cannot be run: no plan has a {name:?} there")));
        }
        match plan.implausible() {
            Some(why) => Err(BadCall(format!("the plan {shown} cannot be run: {why}"))),
            None => Ok(PlanFile(plan)),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.0
    }

    /// Runs the seeds. The report is that of one thread, however many there are.
    pub fn sweep(
        &self,
        lock: &dyn AnyLock,
        setup: &[u8],
        seeds: Range<u64>,
        how: &SweepHow,
        pool: &rayon::ThreadPool,
    ) -> Result<SweepReport, BadCall> {
        let mut report = SweepReport::default();
        let (mut next, mut block) = (seeds.start, 1);
        while next < seeds.end {
            if how.stop.load(Ordering::Relaxed) {
                report.stopped = true;
                break;
            }
            let end = next.saturating_add(how.jobs as u64 * BLOCKS * block).min(seeds.end);
            let blocks: Vec<u64> = (next..end).step_by(block as usize).collect();
            let run = |first: u64| -> Result<Vec<Outcome>, RunError> {
                let outcomes =
                    lock.run_planned(setup, &self.0, first..first.saturating_add(block).min(end))?;
                (how.on_progress)(outcomes.len() as u64);
                Ok(outcomes)
            };
            let outcomes: Vec<Vec<Outcome>> =
                pool.install(|| blocks.into_par_iter().map(run).collect::<Result<_, _>>())?;
            for (seed, outcome) in (next..).zip(outcomes.into_iter().flatten()) {
                report.add(seed, &outcome);
                if !how.keep_going && !report.is_clean() {
                    return Ok(report);
                }
            }
            next = end;
            // The first seeds one by one: often one of them is the last.
            block = (2 * block).min(BLOCK_MAX);
        }
        Ok(report)
    }
}
