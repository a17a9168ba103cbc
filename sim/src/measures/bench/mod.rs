//! The benchmark that the Cassandra paper, *The Cassandra queue lock*, leaves blank in section 5.5: "[Тут результаты бенчмарков и легенда к
//! ним]".
//!
//! ```text
//!   contestants x threads x hold times x seeds ──▶ one run each (crate::seeded::run, no faults) ──▶ Tally ──▶ Figures
//!                                                                                                   │
//!                                  table, JSON, plot ◀── Point: the figures of all seeds, and their spread ◀┘
//! ```
//!
//! All threads want one lock. Each calls, holds, releases and calls again at once. What is measured is virtual: every message
//! takes [`LATENCY`], and nothing else takes any time. Servers are never busy, so that what a lock asks of its store does not
//! show in how fast it is: it is a figure of its own, [`Figures::requests_per_acquisition`].
//!
//! # Example
//!
//! ```
//! use picklock_model::time::Micros;
//! use picklock_sim::measures::bench::{Case, contestants};
//!
//! let case = Case { threads: 4, hold: Micros::millis(10), window: Micros::seconds(2) };
//! for contestant in contestants().iter().filter(|contestant| contestant.name == "feedback-lock") {
//!     let figures = contestant.measure(&case, 0);
//!     // To enqueue, to say that it is held, to release.
//!     assert_eq!(figures.requests_per_acquisition.map(f64::round), Some(3.0));
//! }
//! ```

mod contestants;
mod figures;
#[cfg(feature = "cli")]
mod plot;
mod tally;

pub use contestants::{Contestant, contestants};
pub use figures::{Figures, Point, Spread};
#[cfg(feature = "cli")]
pub use plot::plot;

use picklock_model::time::Micros;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a message takes from one node to another: each draws its own, uniformly.
pub const LATENCY: [Micros; 2] = [Micros(500), Micros::millis(2)];

/// How long a run goes on before anything is counted.
pub const WARM_UP: Micros = Micros::seconds(2);

/// How long a thread of the queue lock waits before it looks again whether it is first.
pub const POLL_INTERVAL: Micros = Micros::millis(20);

/// Longer than any run: "около 15 минут", the Cassandra paper, section 6.
pub const TTL_SECONDS: u32 = 900;

/// One point of the plot: who contends for the lock, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// How many threads there are, 1 to 128.
    pub threads: u8,
    /// How long each holds the lock.
    pub hold: Micros,
    /// For how long it is counted, after [`WARM_UP`].
    pub window: Micros,
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Which locks.
    pub contestants: Vec<Contestant>,
    /// How many threads, each number in turn.
    pub threads: Vec<u8>,
    /// How long they hold, each time in turn.
    pub holds: Vec<Micros>,
    /// Each point is measured with all of them.
    pub seeds: Range<u64>,
    /// See [`Case::window`].
    pub window: Micros,
}

impl Grid {
    fn cases(&self) -> Vec<(Contestant, Case)> {
        let mut cases = Vec::new();
        for hold in &self.holds {
            for contestant in &self.contestants {
                for threads in &self.threads {
                    cases.push((*contestant, Case { threads: *threads, hold: *hold, window: self.window }));
                }
            }
        }
        cases
    }

    /// How many runs that takes.
    pub fn runs(&self) -> u64 {
        let points = self.contestants.len() * self.threads.len() * self.holds.len();
        points as u64 * (self.seeds.end - self.seeds.start)
    }

    /// Measures all points, on all threads of the present pool, and says after each run that it is done. Once `stop` is
    /// set no further run is begun, and points that lack one are left out. Else the result is the same on any number of threads.
    pub fn measure(&self, on_progress: &(dyn Fn(u64) + Sync), stop: &AtomicBool) -> Vec<Point> {
        let cases = self.cases();
        let runs: Vec<(usize, u64)> =
            (0..cases.len()).flat_map(|case| self.seeds.clone().map(move |seed| (case, seed))).collect();
        let figures: Vec<Option<Figures>> = runs
            .par_iter()
            .with_max_len(1)
            .map(|(case, seed)| {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                let (contestant, case) = &cases[*case];
                let figures = contestant.measure(case, *seed);
                on_progress(1);
                Some(figures)
            })
            .collect();
        let seeds = (self.seeds.end - self.seeds.start) as usize;
        let complete = |runs: &[Option<Figures>]| runs.iter().copied().collect::<Option<Vec<Figures>>>();
        cases
            .iter()
            .zip(figures.chunks(seeds.max(1)))
            .filter_map(|((contestant, case), runs)| {
                Some(Point::new(contestant.name, case, &complete(runs)?))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
