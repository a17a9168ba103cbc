//! `picklock bench`: the benchmark that the Cassandra paper, *The Cassandra queue lock*, leaves blank in section 5.5.

use super::jobs::Jobs;
use super::progress::Progress;
use super::screen::{Screen, Tone, cell, counted, headed, lines, wrapped};
use super::{BadCall, Ending, interrupt, names, seeds, written};
use crate::files;
use crate::measures::bench::{
    Contestant, Grid, LATENCY, POLL_INTERVAL, Point, Spread, TTL_SECONDS, WARM_UP, contestants, plot,
};
use clap::Args;
use comfy_table::CellAlignment;
use picklock_model::time::Micros;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Measures the Cassandra locks under contention: table, JSON and plot (the Cassandra paper, section 5.5)
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// These locks; all unless given
    #[arg(long, value_name = "LOCK", value_delimiter = ',')]
    locks: Vec<String>,
    /// How many threads contend for one lock, 1 to 128
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32, 64, 128])]
    threads: Vec<u64>,
    /// For how many milliseconds each thread holds the lock
    #[arg(long, value_name = "MS", value_delimiter = ',', default_values_t = [0, 10, 100])]
    hold_ms: Vec<u64>,
    /// Each point is measured with these seeds, the last one not among them
    #[arg(allow_hyphen_values = true, long, value_name = "A..B", default_value = "0..3")]
    seeds: String,
    /// For how many seconds of virtual time, after a warm-up
    #[arg(long, value_name = "S", default_value_t = 20)]
    seconds: u64,
    /// Draws a plot into this file (SVG)
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
}

const EXAMPLES: &str = "\
Examples:
  picklock bench
  picklock bench --locks cassandra-queue,feedback-lock --threads 2,32 --hold-ms 10
  picklock bench --svg bench.svg

All time is virtual: the same call prints the same figures on every machine. Figures are means over the seeds, with the smallest and \
the largest where they differ much. Exits 1 if two threads ever held the lock at once.";

const THREADS_MAX: u64 = 128;
const HOLD_MS_MAX: u64 = 60_000;
const SECONDS_MAX: u64 = 3600;
const SEEDS_MAX: u64 = 1000;
/// Columns of a terminal on which all of the table fits.
const WIDE: usize = 100;

#[derive(Serialize)]
struct Document {
    latency_ms: [f64; 2],
    warm_up_seconds: i64,
    seconds: u64,
    first_seed: u64,
    seeds: u64,
    poll_interval_ms: f64,
    ttl_seconds: u32,
    locks: Vec<Entry>,
    points: Vec<Point>,
    interrupted: bool,
}

#[derive(Serialize)]
struct Entry {
    lock: &'static str,
    summary: &'static str,
    servers: u8,
}

fn unwritable(file: &Path, error: &io::Error) -> BadCall {
    BadCall(format!("--svg {}: it cannot be written: {error}", file.display()))
}

impl Bench {
    /// Measures all.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let grid = self.grid()?;
        let pool = self.jobs.pool()?;
        if let Some(file) = &self.svg {
            // Not at the end, when all is measured. What is there stays until then.
            files::refuse_other_than_files(file).map_err(|error| unwritable(file, &error))?;
            File::options().append(true).create(true).open(file).map_err(|error| unwritable(file, &error))?;
        }
        let progress = Progress::uneven_runs(grid.runs());
        let on_progress = |runs| progress.add(runs);
        let points = pool.install(|| grid.measure(&on_progress, interrupt::flag()));
        drop(progress);

        if let Some(file) = &self.svg {
            std::fs::write(file, plot(&grid, &points)).map_err(|error| unwritable(file, &error))?;
        }
        let wanted = grid.contestants.len() * grid.threads.len() * grid.holds.len();
        let document = self.document(&grid, points, wanted);
        screen.text(&document.text(screen));
        screen.versioned(&document);
        let broken = document.points.iter().any(|point| point.mutual_exclusion_broken);
        Ok(Ending::broken_if(broken).max(Ending::Incomplete.or_fine(document.interrupted)))
    }

    fn grid(&self) -> Result<Grid, BadCall> {
        let find = |name: &String| {
            names::find("lock in the benchmark", name, contestants().to_vec(), |one| one.name.to_owned())
        };
        let contestants = match self.locks.is_empty() {
            true => contestants().to_vec(),
            false => self.locks.iter().map(find).collect::<Result<Vec<Contestant>, BadCall>>()?,
        };
        let threads = self.threads.iter().map(|threads| within("--threads", *threads, 1, THREADS_MAX));
        let holds = self.hold_ms.iter().map(|hold| within("--hold-ms", *hold, 0, HOLD_MS_MAX));
        let seconds = within("--seconds", self.seconds, 1, SECONDS_MAX)?;
        let seeds = seeds::range(&self.seeds)?;
        if seeds.end - seeds.start > SEEDS_MAX {
            return Err(BadCall(format!("--seeds {}: it takes at most {SEEDS_MAX} of them", self.seeds)));
        }
        Ok(Grid {
            contestants,
            threads: threads.map(|number| number.map(|number| number as u8)).collect::<Result<_, _>>()?,
            holds: holds
                .map(|hold| hold.map(|hold| Micros::millis(hold as i64)))
                .collect::<Result<_, _>>()?,
            seeds,
            window: Micros::seconds(seconds as i64),
        })
    }

    fn document(&self, grid: &Grid, points: Vec<Point>, wanted: usize) -> Document {
        let entry = |one: &Contestant| Entry { lock: one.name, summary: one.summary, servers: one.servers };
        Document {
            latency_ms: LATENCY.map(in_ms),
            warm_up_seconds: WARM_UP.whole_seconds(),
            seconds: self.seconds,
            first_seed: grid.seeds.start,
            seeds: grid.seeds.end - grid.seeds.start,
            poll_interval_ms: in_ms(POLL_INTERVAL),
            ttl_seconds: TTL_SECONDS,
            locks: grid.contestants.iter().map(entry).collect(),
            interrupted: points.len() < wanted,
            points,
        }
    }
}

fn in_ms(length: Micros) -> f64 {
    length.0 as f64 / 1000.0
}

fn within(option: &str, number: u64, least: u64, most: u64) -> Result<u64, BadCall> {
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(BadCall(format!("{option} {number}: it takes {least} to {most}")))
}

impl Document {
    fn text(&self, screen: &Screen) -> String {
        let mut text = String::new();
        let mut holds: Vec<f64> = self.points.iter().map(|point| point.hold_ms).collect();
        holds.dedup();
        for hold in holds {
            let title = format!("each thread holds the lock for {hold} ms\n");
            text += &screen.paint().text(Tone::Strong, &title);
            text += &self.table(hold, screen);
            text.push('\n');
        }
        text += &self.legend();
        if self.interrupted {
            let note = format!("\nstopped after {} points\n", self.points.len());
            text += &screen.paint().text(Tone::Unclear, &note);
        }
        text
    }

    fn table(&self, hold_ms: f64, screen: &Screen) -> String {
        // A narrow terminal has no room for how far the seeds are apart.
        let is_wide = Screen::width().is_none_or(|width| width >= WIDE);
        let header = [
            "lock\n  threads",
            "per\nsecond",
            "wait\np50",
            "\np99",
            "max,\nms",
            "requ-\nests",
            "repli-\ncas'",
            "\nJain",
            "max\nrun",
            "over-\ntakes",
        ];
        let mut table = screen.paint().table(&header);
        let points: Vec<&Point> = self.points.iter().filter(|point| point.hold_ms == hold_ms).collect();
        for point in &points {
            let tone = if point.mutual_exclusion_broken { Tone::Bad } else { Tone::Plain };
            let number = |text: String| cell(tone, &text).set_alignment(CellAlignment::Right);
            table.add_row([
                number(point.threads.to_string()),
                number(if is_wide { spread(&point.per_second) } else { rounded(point.per_second.mean) }),
                number(mean(point.wait_p50_ms)),
                number(mean(point.wait_p99_ms)),
                number(point.wait_max_ms.map_or_else(none, |spread| rounded(spread.max))),
                number(mean(point.requests_per_acquisition)),
                number(mean(point.replica_messages_per_acquisition)),
                number(point.jain.map_or_else(none, |spread| format!("{:.2}", spread.mean))),
                number(rounded(point.longest_run.mean)),
                number(mean(point.overtakes_per_acquisition)),
            ]);
        }
        headed(&lines(&table), &points.iter().map(|point| point.lock).collect::<Vec<_>>(), screen.paint())
    }

    fn legend(&self) -> String {
        let [least, most] = self.latency_ms;
        let latency = format!(
            "One message takes {least} to {most} ms, each its own; nothing else takes any time, and no server is ever busy. Every \
             thread calls again as soon as it has released. {} of {} s after {} s of warm-up, nothing goes wrong; the longest \
             wait is that of all seeds.",
            counted(self.seeds, "run"),
            self.seconds,
            self.warm_up_seconds,
        );
        let columns = "per second: acquisitions (smallest to largest of the seeds, where there is room; --json has them). wait: from call to grant; who still waits at the \
             end counts with what he has waited. requests: of clients to the store per acquisition, with release; \
             replicas': what servers say to each other. Jain: 1 is equal shares, 1/n one thread has all. max run: the most \
             grants of one thread in a row. overtakes: who had called at an earlier moment, per acquisition.";
        let setups = format!(
            "Cassandra: 3 replicas, QUORUM, TTL {} s (no renewal within a run). Queue locks look every {} ms whether they are \
             first. Old lock: back-off of Listing 4. Feedback: one server, lease 30 s, a sign of life every 10 s.",
            self.ttl_seconds, self.poll_interval_ms,
        );
        let width = Screen::text_width();
        [latency.as_str(), columns, setups.as_str()].map(|text| wrapped(text, width, "")).concat()
    }
}

fn none() -> String {
    "–".to_owned()
}

fn mean(figure: Option<Spread>) -> String {
    figure.map_or_else(none, |spread| rounded(spread.mean))
}

/// Smallest and largest beside the mean, where they are more than a twentieth of it apart.
fn spread(figure: &Spread) -> String {
    match figure.max - figure.min > figure.mean / 20.0 {
        true => format!("{} ({} to {})", rounded(figure.mean), rounded(figure.min), rounded(figure.max)),
        false => rounded(figure.mean),
    }
}

/// Three digits, or all before the point.
fn rounded(number: f64) -> String {
    match number {
        _ if number >= 100.0 => format!("{number:.0}"),
        _ if number >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}
