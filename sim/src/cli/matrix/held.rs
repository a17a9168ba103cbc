//! `--expect FILE` and `--accept FILE`: the matrix held against what it was.

use super::judged::Judged;
use crate::cli::screen::{Paint, Screen, Tone, counted, fitting, sentence};
use crate::cli::snapshot::{self, Change, Differences, Shown, accepted, differences};
use crate::cli::{BadCall, Ending};
use crate::files;
use crate::plans::fault::FaultSet;
use crate::registry::Locks;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A file that the matrix is held against, or that takes it.
pub struct Held {
    path: PathBuf,
    cells: Vec<Shown>,
    accepts: bool,
}

/// What came of it.
pub struct Compared {
    /// The cells that were asked for, beside those of the file.
    pub differences: Differences,
    /// How many of the file were not asked for.
    left_out: usize,
}

impl Held {
    /// Reads the file, before anything is run; one that is to be written may be missing, and must be writable.
    pub fn open(expect: Option<&Path>, accept: Option<&Path>) -> Result<Option<Held>, BadCall> {
        let (path, accepts) = match (expect, accept) {
            (Some(path), _) => (path, false),
            (None, Some(path)) => (path, true),
            (None, None) => return Ok(None),
        };
        let file = path.display();
        if !accepts && !path.exists() {
            return Err(BadCall(format!(
                "--expect {file}: there is no such file; --accept {file} writes it"
            )));
        }
        if accepts {
            files::refuse_other_than_files(path).map_err(|error| unwritable(path, &error))?;
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
            opened.map_err(|error| unwritable(path, &error))?;
        }
        let is_new = accepts && path.metadata().is_ok_and(|file| file.len() == 0);
        let cells = if is_new { Vec::new() } else { snapshot::read(path)? };
        Ok(Some(Held { path: path.to_owned(), cells, accepts }))
    }

    /// The matrix beside the file, if it is to be as that; `faults` are the rows that were asked for.
    pub fn compared(
        &self,
        locks: &Locks,
        judged: &Judged,
        faults: &[(&'static str, FaultSet)],
    ) -> Option<Compared> {
        if self.accepts {
            return None;
        }
        let is = kept(judged);
        let was_run = |cell: &&Shown| {
            let is_row = judged.rows.iter().any(|row| row.lock == cell.lock && row.fault == cell.fault);
            // A lock that is not there any more can be asked for no more.
            is_row || locks.named(&cell.lock).is_none() && faults.iter().any(|(name, _)| *name == cell.fault)
        };
        let was: Vec<Shown> = self.cells.iter().filter(was_run).cloned().collect();
        let left_out = self.cells.len() - was.len();
        Some(Compared { differences: differences(&was, &is), left_out })
    }

    /// How the command ends: by the file, and by whether all was run.
    pub fn ending(&self, judged: &Judged, compared: Option<&Compared>) -> Ending {
        let differs = compared.is_some_and(|compared| !compared.differences.changed.is_empty());
        let known = match judged.ending() {
            Ending::Unexpected | Ending::Broken => Ending::Incomplete.or_fine(!judged.is_complete()),
            ending => ending,
        };
        known.max(Ending::Unexpected.or_fine(differs))
    }

    /// Writes what is accepted, or says what differs.
    pub fn settle(
        &self,
        judged: &Judged,
        compared: Option<&Compared>,
        paint: Paint,
    ) -> Result<String, BadCall> {
        let file = self.path.display();
        let Some(Compared { differences, left_out }) = compared else {
            if !judged.is_complete() {
                // A file that only says that it can be written is no result.
                if std::fs::metadata(&self.path).is_ok_and(|file| file.len() == 0) {
                    let _ = std::fs::remove_file(&self.path);
                    let note = format!("\n{file} is not written: not all was run\n");
                    return Ok(paint.text(Tone::Unclear, &note));
                }
                let note = format!("\n{file} is left as it was: not all was run\n");
                return Ok(paint.text(Tone::Unclear, &note));
            }
            let cells = accepted(&self.cells, &kept(judged));
            std::fs::write(&self.path, snapshot::text(&cells))
                .map_err(|error| unwritable(&self.path, &error))?;
            let changed = cells.iter().filter(|cell| !self.cells.contains(cell)).count();
            return Ok(format!(
                "\naccepted: {file} has {}, {changed} of them new or changed\n",
                counted(cells.len() as u64, "cell")
            ));
        };
        let mut text = "\n".to_owned();
        if !differences.changed.is_empty() {
            text += &paint.text(Tone::Strong, &format!("not as {file} has it"));
            text.push('\n');
        }
        for difference in &differences.changed {
            let tone = if difference.change() == Change::Worse { Tone::Bad } else { Tone::Unclear };
            let line = fitting(&difference.line(), Screen::width(), "  ");
            let _ = writeln!(text, "{}", paint.text(tone, line.trim_end_matches('\n')));
        }
        text += &sentence(&format!(
            "of {file}: {} the same, {}, {} not met by these runs, {left_out} not asked for",
            differences.same,
            counted(differences.changed.len() as u64, "difference"),
            differences.unmet,
        ));
        if !differences.changed.is_empty() {
            let _ = writeln!(text, "the same call with --accept {file} makes these what is expected");
        }
        Ok(text)
    }
}

fn kept(judged: &Judged) -> Vec<Shown> {
    judged.cells().iter().map(|cell| cell.kept()).collect()
}

fn unwritable(path: &Path, error: &std::io::Error) -> BadCall {
    BadCall(format!("--accept {}: it cannot be written: {error}", path.display()))
}
