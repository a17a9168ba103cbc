//! What is counted during a run.

use super::Figures;
use picklock_model::machine::{Lock, Message};
use picklock_model::time::Micros;
use picklock_model::trace::{Observer, Step};
use picklock_properties::Event;

/// Room for this many waits before the memory for them grows.
const WAITS: usize = 1 << 14;

/// Counts, step by step.
pub(super) struct Tally {
    from: Micros,
    until: Micros,
    /// Of each thread that waits, since when.
    waiting: Vec<Option<Micros>>,
    /// Of each thread, how often it was granted.
    acquired: Vec<u64>,
    /// How long those waited who were granted, in microseconds.
    waits: Vec<i64>,
    requests: u64,
    replica_messages: u64,
    last: Option<u8>,
    run: u64,
    longest_run: u64,
    overtakes: u64,
}

impl Tally {
    /// Counts what happens at or after `from`, and before `until`.
    pub(super) fn new(threads: u8, from: Micros, until: Micros) -> Tally {
        Tally {
            from,
            until,
            waiting: vec![None; usize::from(threads)],
            acquired: vec![0; usize::from(threads)],
            waits: Vec::with_capacity(WAITS),
            requests: 0,
            replica_messages: 0,
            last: None,
            run: 0,
            longest_run: 0,
            overtakes: 0,
        }
    }

    fn granted(&mut self, client: u8, at: Micros) {
        let Some(called) = self.waiting[usize::from(client)].take() else { return };
        if at < self.from {
            return;
        }
        self.acquired[usize::from(client)] += 1;
        self.waits.push((at - called).0);
        // Who called in the same moment was not overtaken: at the beginning all do.
        self.overtakes += self.waiting.iter().flatten().filter(|earlier| **earlier < called).count() as u64;
        self.run = if self.last == Some(client) { self.run + 1 } else { 1 };
        self.last = Some(client);
        self.longest_run = self.longest_run.max(self.run);
    }

    /// What it comes to.
    pub(super) fn figures(mut self, broken: bool) -> Figures {
        // Whoever still waits has waited for that long at least. Left out, those who starve would make waits look short.
        let until = self.until;
        self.waits.extend(self.waiting.iter().flatten().map(|called| (until - *called).0));
        self.waits.sort_unstable();
        let acquisitions: u64 = self.acquired.iter().sum();
        let per_acquisition = |count: u64| (acquisitions > 0).then(|| count as f64 / acquisitions as f64);
        let squares: u64 = self.acquired.iter().map(|count| count * count).sum();
        Figures {
            acquisitions,
            per_second: acquisitions as f64 * 1e6 / (self.until - self.from).0.max(1) as f64,
            wait_p50_ms: percentile_ms(&self.waits, 50),
            wait_p99_ms: percentile_ms(&self.waits, 99),
            wait_max_ms: percentile_ms(&self.waits, 100),
            requests_per_acquisition: per_acquisition(self.requests),
            replica_messages_per_acquisition: per_acquisition(self.replica_messages),
            jain: (acquisitions > 0)
                .then(|| (acquisitions as f64).powi(2) / (self.acquired.len() as f64 * squares as f64)),
            longest_run: self.longest_run,
            overtakes_per_acquisition: per_acquisition(self.overtakes),
            mutual_exclusion_broken: broken,
        }
    }
}

/// The smallest that `percent` of all are not above: of waits in microseconds, sorted.
fn percentile_ms(waits: &[i64], percent: usize) -> Option<f64> {
    let rank = (waits.len() * percent).div_ceil(100).max(1);
    waits.get(rank - 1).map(|wait| *wait as f64 / 1000.0)
}

impl<L: Lock> Observer<L> for Tally {
    fn observe(&mut self, step: &Step<L>) {
        if step.at >= self.until {
            return;
        }
        for event in &step.effects.events {
            match *event {
                Event::Called { client, .. } => {
                    self.waiting[usize::from(client.0)] = Some(step.at);
                }
                Event::Granted { client, .. } => self.granted(client.0, step.at),
                _ => {}
            }
        }
        if step.at < self.from {
            return;
        }
        for (to, message) in &step.effects.sends {
            match message {
                Message::Request(_) => self.requests += 1,
                // What a server says to itself goes over no wire.
                Message::Peer(_) if step.happening.node() != Some(*to) => self.replica_messages += 1,
                Message::Peer(_)
                | Message::Reply(_)
                | Message::Read { .. }
                | Message::Shown { .. }
                | Message::Write { .. }
                | Message::Written { .. } => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: i64) -> Micros {
        Micros::millis(time)
    }

    fn called(tally: &mut Tally, client: u8, at: Micros) {
        tally.waiting[usize::from(client)] = Some(at);
    }

    #[test]
    fn runs_overtakes_and_shares_are_those_of_the_grants_within_the_window() {
        let mut tally = Tally::new(3, ms(10), ms(1010));
        for client in 0..3 {
            called(&mut tally, client, ms(i64::from(client)));
        }
        // Before the window.
        tally.granted(2, ms(5));
        called(&mut tally, 2, ms(6));
        // A and B called before.
        tally.granted(2, ms(20));
        called(&mut tally, 2, ms(21));
        tally.granted(2, ms(30));
        tally.granted(0, ms(40));
        let figures = tally.figures(false);
        assert_eq!((figures.acquisitions, figures.per_second), (3, 3.0));
        assert_eq!((figures.longest_run, figures.overtakes_per_acquisition), (2, Some(4.0 / 3.0)));
        // Shares of 1, 0 and 2.
        assert_eq!(figures.jain, Some(9.0 / 15.0));
    }

    #[test]
    fn whoever_still_waits_at_the_end_has_waited_until_then() {
        let mut tally = Tally::new(2, ms(0), ms(1000));
        called(&mut tally, 0, ms(0));
        called(&mut tally, 1, ms(100));
        tally.granted(0, ms(30));
        let figures = tally.figures(false);
        assert_eq!(figures.wait_p50_ms, Some(30.0));
        assert_eq!((figures.wait_p99_ms, figures.wait_max_ms), (Some(900.0), Some(900.0)));
    }

    #[test]
    fn nobody_served_is_no_figure_and_no_division_by_zero() {
        let figures = Tally::new(2, ms(0), ms(1000)).figures(false);
        assert_eq!((figures.acquisitions, figures.jain, figures.wait_p50_ms), (0, None, None));
        assert_eq!(figures.requests_per_acquisition, None);
    }
}
