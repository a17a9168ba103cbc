//! The handler of the exactly-once article's example, as data.

use serde::{Deserialize, Serialize};

/// Takes a number of any stream, puts out the mean of the last few, and counts how often there were enough of them.
///
/// The document's window is one of time. Here it is one of numbers: what a run puts out then depends on the order in which it
/// took the numbers and on nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Handler {
    /// How many numbers the window holds, at least 1: `duration` of the document.
    pub window: u8,
    /// The counter is raised by one whenever the window holds more numbers than this: `size_boundary`.
    pub boundary: u8,
}

impl Default for Handler {
    /// The smallest in which the order matters and the counter is not the number of outputs.
    fn default() -> Handler {
        Handler { window: 2, boundary: 1 }
    }
}

impl Handler {
    /// Takes the next number into the window: what comes out, and whether the counter is raised. What the window drops is
    /// dropped from `held`.
    pub fn step(self, held: &mut Vec<i32>, number: i32) -> (i32, bool) {
        held.push(number);
        let surplus = held.len().saturating_sub(usize::from(self.window.max(1)));
        held.drain(..surplus);
        let sum: i64 = held.iter().copied().map(i64::from).sum();
        // Rounded down; between the smallest and the largest, so that it fits.
        (sum.div_euclid(held.len() as i64) as i32, held.len() > usize::from(self.boundary))
    }

    /// How often the counter is raised by the next `numbers` numbers, if `held` are in the window.
    pub(crate) fn counts(self, held: usize, numbers: usize) -> usize {
        let holds = |taken: usize| (held + taken).min(usize::from(self.window.max(1)));
        (1..=numbers).filter(|taken| holds(*taken) > usize::from(self.boundary)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_the_last_numbers_and_counts_once_there_are_enough() {
        let mut held = Vec::new();
        let outputs: Vec<_> =
            [4, 8, 1, -6].map(|number| Handler { window: 3, boundary: 2 }.step(&mut held, number)).into();
        assert_eq!(outputs, [(4, false), (6, false), (4, true), (1, true)]);
        assert_eq!(held, [8, 1, -6]);
        assert_eq!(Handler { window: 0, boundary: 0 }.step(&mut vec![5], 7), (7, true));
        assert_eq!(Handler::default().step(&mut vec![0], -1), (-1, true));
    }

    #[test]
    fn counts_to_come_are_those_that_come() {
        for (window, boundary) in (0..5).flat_map(|window| (0..5).map(move |boundary| (window, boundary))) {
            let handler = Handler { window, boundary };
            for (held, numbers) in
                (0..usize::from(window)).flat_map(|held| (0..6).map(move |all| (held, all)))
            {
                let mut window = vec![0; held];
                let counted = (0..numbers).filter(|_| handler.step(&mut window, 0).1).count();
                assert_eq!(handler.counts(held, numbers), counted);
            }
        }
    }
}
