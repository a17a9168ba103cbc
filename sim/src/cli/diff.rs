//! `picklock diff A.json B.json`: what two results of a matrix or a sweep say differently, cell by cell.

use super::screen::{Rows, Screen, Tone, counted, fitting};
use super::snapshot::{Change, Difference, differences, read};
use super::{BadCall, Ending};
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// Shows what two results of a matrix or a sweep say differently, cell by cell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// What was: the output of matrix, overview, sweep or merge with --json, or a snapshot of matrix --accept
    #[arg(value_name = "A.json")]
    was: PathBuf,
    /// What is
    #[arg(value_name = "B.json")]
    is: PathBuf,
}

const EXAMPLES: &str = "\
Example: picklock diff before.json after.json

Not to have met a failure contradicts nobody who has met it, unless the seed that had broken the promise was run again: such cells are \
counted, and are no difference. A cell that only one of the files has is one.

Exits 5 if there is a difference, else 0. JSON: rows with \"change\": worse, better, new or gone.";

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Difference>,
    same: usize,
    unmet: usize,
}

impl Diff {
    /// Compares them.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let (was, is) = (read(&self.was)?, read(&self.is)?);
        let all = differences(&was, &is);
        let mut text = String::new();
        for difference in &all.changed {
            let tone = match difference.change() {
                Change::Worse => Tone::Bad,
                Change::Better => Tone::Good,
                Change::New | Change::Gone => Tone::Plain,
            };
            let line = fitting(&difference.line(), Screen::width(), "");
            let _ = writeln!(text, "{}", screen.paint().text(tone, line.trim_end_matches('\n')));
        }
        let _ = writeln!(
            text,
            "{}, {} not met by these runs, {} the same",
            counted(all.changed.len() as u64, "difference"),
            all.unmet,
            all.same
        );
        screen.text(&text);
        screen.document(&Document { rows: Rows::new(&all.changed, true), same: all.same, unmet: all.unmet });
        Ok(Ending::Unexpected.or_fine(!all.changed.is_empty()))
    }
}
