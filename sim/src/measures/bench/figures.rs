//! What comes out: of one run, and of all seeds of one point.

use super::Case;
use serde::Serialize;

/// What one run comes to, within its window.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// How often the lock was granted.
    pub acquisitions: u64,
    /// The same per second of virtual time.
    pub per_second: f64,
    /// From a call to its grant: half of them waited no longer. Calls that still wait at the end count, with what they
    /// have waited by then.
    pub wait_p50_ms: Option<f64>,
    /// 99 of 100 waited no longer.
    pub wait_p99_ms: Option<f64>,
    /// The longest.
    pub wait_max_ms: Option<f64>,
    /// What the clients asked of the store, whatever for, by grants.
    pub requests_per_acquisition: Option<f64>,
    /// What the servers said to each other, by grants.
    pub replica_messages_per_acquisition: Option<f64>,
    /// Jain's index over the threads' grants: 1 if all have as many, 1/n if one has them all. (R. Jain, D. Chiu, W. Hawe,
    /// "A quantitative measure of fairness", 1984.)
    pub jain: Option<f64>,
    /// How often at most one thread was granted without another in between.
    pub longest_run: u64,
    /// How many threads, on average, had called before the one that was granted, and waited on.
    pub overtakes_per_acquisition: Option<f64>,
    /// Whether two held at once.
    pub mutual_exclusion_broken: bool,
}

/// A figure of several runs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// What all seeds of a point come to. `None` where no run had the figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    /// Name of the lock.
    pub lock: &'static str,
    /// How many threads contended.
    pub threads: u8,
    /// How long each held.
    pub hold_ms: f64,
    /// [`Figures::per_second`].
    pub per_second: Spread,
    /// [`Figures::wait_p50_ms`].
    pub wait_p50_ms: Option<Spread>,
    /// [`Figures::wait_p99_ms`].
    pub wait_p99_ms: Option<Spread>,
    /// [`Figures::wait_max_ms`].
    pub wait_max_ms: Option<Spread>,
    /// [`Figures::requests_per_acquisition`].
    pub requests_per_acquisition: Option<Spread>,
    /// [`Figures::replica_messages_per_acquisition`].
    pub replica_messages_per_acquisition: Option<Spread>,
    /// [`Figures::jain`].
    pub jain: Option<Spread>,
    /// [`Figures::longest_run`].
    pub longest_run: Spread,
    /// [`Figures::overtakes_per_acquisition`].
    pub overtakes_per_acquisition: Option<Spread>,
    /// Whether two held at once in one of the runs.
    pub mutual_exclusion_broken: bool,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let (mut count, mut sum, mut min, mut max) = (0_u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            count += 1;
            sum += value;
            min = value.min(min);
            max = value.max(max);
        }
        (count > 0).then(|| Spread { mean: sum / f64::from(count), min, max })
    }
}

impl Point {
    /// The figures of its runs together, of which there is at least one.
    pub(super) fn new(lock: &'static str, case: &Case, runs: &[Figures]) -> Point {
        let some = |figure: fn(&Figures) -> Option<f64>| Spread::of(runs.iter().filter_map(figure));
        let all = |figure: fn(&Figures) -> f64| match Spread::of(runs.iter().map(figure)) {
            Some(spread) => spread,
            None => unreachable!("a point has a run"),
        };
        Point {
            lock,
            threads: case.threads,
            hold_ms: case.hold.0 as f64 / 1000.0,
            per_second: all(|run| run.per_second),
            wait_p50_ms: some(|run| run.wait_p50_ms),
            wait_p99_ms: some(|run| run.wait_p99_ms),
            wait_max_ms: some(|run| run.wait_max_ms),
            requests_per_acquisition: some(|run| run.requests_per_acquisition),
            replica_messages_per_acquisition: some(|run| run.replica_messages_per_acquisition),
            jain: some(|run| run.jain),
            longest_run: all(|run| run.longest_run as f64),
            overtakes_per_acquisition: some(|run| run.overtakes_per_acquisition),
            mutual_exclusion_broken: runs.iter().any(|run| run.mutual_exclusion_broken),
        }
    }
}
