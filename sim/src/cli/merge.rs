//! `picklock merge FILE…`: what the shards of a sweep say together.

use super::screen::{Screen, Tone};
use super::sweep::{Asked, Document, Violations};
use super::tokens::{Plans, Tokens, UNCHANGED};
use super::{BadCall, Ending, names};
use crate::registry::Locks;
use crate::sweep::results::{Merged, merge};
use clap::Args;
use std::path::PathBuf;

/// Puts the results of a sweep's shards together, as if one process had run them all
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// The files that sweep --results has written, in any order
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Says how often each fault struck and each situation arose
    #[arg(short, long)]
    verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  picklock sweep redlock --seeds 0..1000000 --shard 1/2 --results 1.jsonl
  picklock sweep redlock --seeds 0..1000000 --shard 2/2 --results 2.jsonl
  picklock merge 1.jsonl 2.jsonl

Seconds are those of all processes together. Exits as sweep does: 1 if a promise was broken, 3 if seeds are missing.";

impl Merge {
    /// Puts them together.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let merged = merge(&self.files).map_err(|error| BadCall(error.to_string()))?;
        let Some(Merged { question, report, seconds, missing }) = merged else {
            return Err(BadCall("there is nothing in these files yet".to_owned()));
        };
        let lock = names::lock(locks, &question.lock)?;
        let faults = names::faults(&question.faults)?;
        let setup =
            question.setup().ok_or_else(|| BadCall("the setup in these files is damaged".to_owned()))?;
        // No guided search writes such files: nobody changed a plan.
        let plans = Plans::Drawn { faults, strategy: question.strategy, planned: UNCHANGED };
        let violations = Violations::of(&report, &Tokens { lock, setup: &setup, plans }, screen)?;
        let [start, end] = question.of;
        let drawn = (faults, Some(question.strategy));
        let promises = lock.watched_in(&setup)?;
        let asked = Asked { promises, by_name: promises != lock.watched(), until_tested: None };
        let document = Document::new(
            (lock.name(), lock.is_lock()),
            drawn,
            None,
            asked,
            start..end,
            report,
            seconds,
            violations,
        );
        let ending = document.show(screen, self.verbose)?;
        if !missing.is_empty() {
            let missing: Vec<String> =
                missing.iter().map(|seeds| format!("{}..{}", seeds.start, seeds.end)).collect();
            let note = format!("no file has the seeds {}\n", missing.join(", "));
            screen.text(&screen.paint().text(Tone::Unclear, &note));
        }
        Ok(ending.max(Ending::Incomplete.or_fine(!missing.is_empty())))
    }
}
