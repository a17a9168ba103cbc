//! How long it took from each start, in seconds.

use serde::Serialize;

/// Of all starts. One that gave up counts as longer than any other.
#[derive(Clone, Default)]
pub struct Times {
    /// Sorted.
    found: Vec<f64>,
    starts: usize,
}

/// The seconds of a row. `None`: that start gave up.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    /// What half of the starts did not exceed; of an even number of starts the lower one of the two in the middle.
    #[serde(rename = "seconds_median")]
    pub median: Option<f64>,
    /// Of the quickest start.
    #[serde(rename = "seconds_least")]
    pub least: Option<f64>,
    /// Of the slowest start.
    #[serde(rename = "seconds_most")]
    pub most: Option<f64>,
}

impl Times {
    /// One more start: how many seconds it took, or that it gave up.
    pub fn add(&mut self, seconds: Option<f64>) {
        self.starts += 1;
        if let Some(seconds) = seconds {
            let place = self.found.partition_point(|known| *known <= seconds);
            self.found.insert(place, seconds);
        }
    }

    /// The three numbers.
    pub fn spread(&self) -> Spread {
        let nth = |place: usize| self.found.get(place).copied();
        let last = self.starts.saturating_sub(1);
        Spread { median: nth(last / 2), least: nth(0), most: nth(last) }
    }
}

impl Spread {
    /// `0.013 (0.001 to 0.120)`; a dash stands for a start that gave up.
    pub fn shown(&self) -> String {
        let one = |seconds: Option<f64>| seconds.map_or("–".to_owned(), |seconds| format!("{seconds:.3}"));
        format!("{} ({} to {})", one(self.median), one(self.least), one(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_lower_one_of_the_two_in_the_middle_and_who_gave_up_comes_last() {
        let mut times = Times::default();
        [Some(0.5), None, Some(0.25), Some(2.0)].into_iter().for_each(|seconds| times.add(seconds));
        let spread = times.spread();
        assert_eq!(spread, Spread { median: Some(0.5), least: Some(0.25), most: None });
        assert_eq!(spread.shown(), "0.500 (0.250 to –)");
        assert_eq!(Times::default().spread().shown(), "– (– to –)");
    }
}
