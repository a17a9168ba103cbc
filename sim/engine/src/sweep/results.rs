//! A sweep's results in a file: what shards are merged from, and from where a sweep that was killed goes on.
//!
//! ```text
//!   {"sweep":{"format":5,"version":"0.1.0","lock":"redlock","setup":"2Uw…","faults":"pause","strategy":"swarm",
//!             "seeds":[0,5000],"of":[0,20000]}}
//!   {"seeds":[0,1024],"seconds":0.41,"report":{"runs":1024,…}}
//!   {"seeds":[1024,2048],"seconds":0.39,"report":{…}}
//! ```
//!
//! The first line (here it is two) is the question, each later one the answer for the next seeds, up to a multiple of [`LINE_SEEDS`]: the
//! same lines however often the sweep was killed on the way, and on however many threads it ran, but for the seconds. A
//! line is written when all before it are. What a killed process left of a line is cut off by the one that goes on. That
//! bears with the end of the process, not with a machine's loss of power.

use super::SweepReport;
use crate::files;
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use crate::token::FORMAT_VERSION;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// So many seeds are a line: a killed sweep runs at most these again.
pub const LINE_SEEDS: u64 = 1024;

/// What a sweep asks: files are parts of one sweep if they differ in nothing but `seeds`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Question {
    /// The format of the tokens that are made of what is found.
    pub format: u8,
    /// The version of picklock: another one's seeds may be other runs.
    #[serde(default)]
    pub version: String,
    /// The lock's name in the registry.
    pub lock: String,
    /// Its packed setup, in base58: lock, store, workload, promises.
    pub setup: String,
    /// Which kinds of faults a plan may draw, by their names.
    pub faults: String,
    /// How plans are drawn.
    pub strategy: Strategy,
    /// The seeds of this file, from the first up to but without the second.
    pub seeds: [u64; 2],
    /// The seeds of the whole sweep, of which this file's are a shard.
    pub of: [u64; 2],
}

impl Question {
    /// The question that a sweep of this lock asks.
    pub fn new(
        lock: &str,
        setup: &[u8],
        faults: FaultSet,
        strategy: Strategy,
        seeds: Range<u64>,
        of: Range<u64>,
    ) -> Question {
        Question {
            format: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            lock: lock.to_owned(),
            setup: bs58::encode(setup).into_string(),
            faults: faults.to_string(),
            strategy,
            seeds: [seeds.start, seeds.end],
            of: [of.start, of.end],
        }
    }

    /// The packed setup; `None` if somebody has changed it.
    pub fn setup(&self) -> Option<Vec<u8>> {
        bs58::decode(&self.setup).into_vec().ok()
    }

    /// In which word the two questions differ, if not in their seeds only.
    fn differs_in(&self, other: &Question) -> Option<&'static str> {
        let differences = [
            ("format", self.format != other.format),
            ("version", self.version != other.version),
            ("lock", self.lock != other.lock),
            ("setup", self.setup != other.setup),
            ("faults", self.faults != other.faults),
            ("strategy", self.strategy != other.strategy),
            ("seeds", self.of != other.of),
        ];
        differences.into_iter().find_map(|(name, differs)| differs.then_some(name))
    }
}

#[derive(Serialize, Deserialize)]
struct First {
    sweep: Question,
}

#[derive(Serialize, Deserialize)]
struct Line {
    seeds: [u64; 2],
    seconds: f64,
    report: SweepReport,
}

/// Why a file of results cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system says so.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it says.
        error: std::io::Error,
    },
    /// Another process writes it.
    #[error("{path}: another sweep is writing it", path = .0.display())]
    Busy(PathBuf),
    /// Not such a file, or somebody has changed it.
    #[error("{path}: line {line} is not what a sweep writes there", path = path.display())]
    NotResults {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// Written when files did not say so yet.
    #[error(
        "{path}: it does not say which version of picklock has found this: an older one has",
        path = .0.display()
    )]
    NoVersion(PathBuf),
    /// Of another sweep.
    #[error("{path}: these are the results of another sweep, with other {what}", path = path.display())]
    OtherSweep {
        /// Which file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// Two files have the same seeds.
    #[error(
        "{one} and {other} both have the seeds {start}..{end}, which would be counted twice",
        one = one.display(), other = other.display(), start = seeds.start, end = seeds.end
    )]
    Twice {
        /// A file.
        one: PathBuf,
        /// The other.
        other: PathBuf,
        /// What both have.
        seeds: Range<u64>,
    },
}

/// What a file says.
struct Told {
    path: PathBuf,
    question: Question,
    /// The first seed that it says nothing of.
    next: u64,
    report: SweepReport,
    seconds: f64,
    /// How many bytes that is; what comes after them is a line that was never finished.
    bytes: u64,
}

impl Told {
    /// `None` if not even the question was finished.
    fn read(path: &Path, text: &[u8]) -> Result<Option<Told>, ResultsError> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let bad = |line| ResultsError::NotResults { path: path.to_owned(), line };
        let Some(first) = lines.next() else {
            let begun =
                text.is_empty() || b"{\"sweep\":".starts_with(text) || text.starts_with(b"{\"sweep\":");
            return if begun { Ok(None) } else { Err(bad(1)) };
        };
        let First { sweep: question } = serde_json::from_slice(first).map_err(|_| bad(1))?;
        if question.version.is_empty() {
            return Err(ResultsError::NoVersion(path.to_owned()));
        }
        let mut told = Told {
            path: path.to_owned(),
            next: question.seeds[0],
            question,
            report: SweepReport::default(),
            seconds: 0.0,
            bytes: first.len() as u64,
        };
        for (number, line) in (2..).zip(lines) {
            let Line { seeds, seconds, report } = serde_json::from_slice(line).map_err(|_| bad(number))?;
            if seeds[0] != told.next || seeds[1] <= seeds[0] || seeds[1] > told.question.seeds[1] {
                return Err(bad(number));
            }
            told.next = seeds[1];
            told.seconds += seconds;
            told.report.append(report);
            told.bytes += line.len() as u64;
        }
        Ok(Some(told))
    }
}

/// A file of results being written.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    file: File,
    end: u64,
    next: u64,
    /// Of all lines.
    report: SweepReport,
    /// Of the line to come.
    line: SweepReport,
    line_from: u64,
    seconds: f64,
    /// The stopwatch at the last line.
    lap: f64,
}

impl Results {
    /// Opens a file to write, to go on where it ends if it is there: the first seed to run is then [`Results::next`].
    ///
    /// # Errors
    /// If it cannot be written, or holds something else, or another process is writing it.
    pub fn open(path: &Path, question: &Question) -> Result<Results, ResultsError> {
        let io = |error| ResultsError::Io { path: path.to_owned(), error };
        // A device, once opened to be read, may have no end.
        files::refuse_other_than_files(path).map_err(io)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ResultsError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        let told = Told::read(path, &text)?;
        if let Some(told) = &told {
            let what = match told.question.differs_in(question) {
                Some(what) => Some(what),
                None => (told.question.seeds != question.seeds).then_some("shard"),
            };
            if let Some(what) = what {
                return Err(ResultsError::OtherSweep { path: path.to_owned(), what });
            }
        }
        let bytes = told.as_ref().map_or(0, |told| told.bytes);
        file.set_len(bytes).map_err(io)?;
        file.seek(SeekFrom::Start(bytes)).map_err(io)?;
        let (next, report, seconds) = match told {
            Some(Told { next, report, seconds, .. }) => (next, report, seconds),
            None => {
                write_line(&mut file, &First { sweep: question.clone() }).map_err(io)?;
                (question.seeds[0], SweepReport::default(), 0.0)
            }
        };
        let line = SweepReport::default();
        let (path, end) = (path.to_owned(), question.seeds[1]);
        Ok(Results { path, file, end, next, report, line, line_from: next, seconds, lap: 0.0 })
    }

    /// The first seed of which it says nothing yet.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The report on the seeds up to `until`, from those of the last report on; `stopwatch` shows the seconds since the
    /// file was opened. Writes a line if one is full.
    ///
    /// # Errors
    /// If it cannot be written. What is in the file stays.
    pub fn add(&mut self, until: u64, report: SweepReport, stopwatch: f64) -> Result<(), ResultsError> {
        self.line.append(report);
        self.next = until;
        if !until.is_multiple_of(LINE_SEEDS) && until != self.end {
            return Ok(());
        }
        let mut report = std::mem::take(&mut self.line);
        report.violations.retain({
            // Of each promise as many as are listed in the end.
            let mut listed = self.report.broken.clone();
            move |found| {
                let listed = listed.entry(found.violation.promise).or_default();
                *listed += 1;
                *listed <= SweepReport::LISTED_MAX
            }
        });
        let seconds = ((stopwatch - self.lap) * 1000.0).round() / 1000.0;
        let line = Line { seeds: [self.line_from, until], seconds, report };
        write_line(&mut self.file, &line)
            .map_err(|error| ResultsError::Io { path: self.path.clone(), error })?;
        (self.line_from, self.lap) = (until, stopwatch);
        self.seconds += seconds;
        self.report.append(line.report);
        Ok(())
    }

    /// What all lines say together, and in how many seconds.
    pub fn finish(self) -> (SweepReport, f64) {
        let report = SweepReport { stopped: self.line_from < self.end, ..self.report };
        (report, self.seconds)
    }
}

fn write_line<T: Serialize>(file: &mut File, line: &T) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

/// What the files of a sweep say together.
#[derive(Clone, PartialEq, Debug)]
pub struct Merged {
    /// The question, of the whole sweep.
    pub question: Question,
    /// The report that one sweep over all its seeds would have given.
    pub report: SweepReport,
    /// The seconds of all processes together.
    pub seconds: f64,
    /// The seeds that no file has.
    pub missing: Vec<Range<u64>>,
}

/// Puts the files of a sweep's shards together, in whatever order they are given.
///
/// # Errors
/// If one cannot be read, is of another sweep, or has seeds that another one has.
pub fn merge(paths: &[PathBuf]) -> Result<Option<Merged>, ResultsError> {
    let mut parts = Vec::new();
    for path in paths {
        let text = files::read(path).map_err(|error| ResultsError::Io { path: path.clone(), error })?;
        // A sweep that was killed before it began has nothing to say.
        parts.extend(Told::read(path, &text)?);
    }
    parts.sort_by_key(|told| (told.question.seeds[0], told.next));
    let Some(first) = parts.first() else { return Ok(None) };
    let of = first.question.of;
    let question = Question { seeds: of, ..first.question.clone() };
    for told in &parts {
        if let Some(what) = told.question.differs_in(&question) {
            return Err(ResultsError::OtherSweep { path: told.path.clone(), what });
        }
    }
    let mut farthest = first;
    for told in &parts[1..] {
        let seeds = told.question.seeds[0]..told.next.min(farthest.next);
        if !seeds.is_empty() {
            return Err(ResultsError::Twice { one: farthest.path.clone(), other: told.path.clone(), seeds });
        }
        farthest = if told.next > farthest.next { told } else { farthest };
    }
    let mut merged = Merged { question, report: SweepReport::default(), seconds: 0.0, missing: Vec::new() };
    let mut next = of[0];
    for told in parts {
        merged.missing.extend(Some(next..told.question.seeds[0]).filter(|gap| !gap.is_empty()));
        next = next.max(told.next);
        merged.seconds += told.seconds;
        merged.report.append(told.report);
    }
    merged.missing.extend(Some(next..of[1]).filter(|gap| !gap.is_empty()));
    merged.report.stopped = !merged.missing.is_empty();
    Ok(Some(merged))
}

#[cfg(test)]
mod tests;
