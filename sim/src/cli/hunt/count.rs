//! How many seeds it took from each start, in numbers that bear with starts from which nothing was found.

/// Of all starts. One that gave up counts as more than the most seeds that were allowed.
pub struct Count {
    /// Sorted; the seeds that were tried, the one that found it included.
    found: Vec<u64>,
    seeds_max: u64,
    starts: usize,
}

impl Count {
    /// Of no start yet; each gives up after `seeds_max` seeds.
    pub fn new(seeds_max: u64) -> Count {
        Count { found: Vec::new(), seeds_max, starts: 0 }
    }

    /// One more start: how many seeds it took, or that it gave up.
    pub fn add(&mut self, seeds: Option<u64>) {
        self.starts += 1;
        if let Some(seeds) = seeds {
            debug_assert!(
                (1..=self.seeds_max).contains(&seeds),
                "a start tries 1 to {} seeds",
                self.seeds_max
            );
            let place = self.found.partition_point(|known| *known <= seeds);
            self.found.insert(place, seeds);
        }
    }

    /// From how many starts it was found.
    pub fn found(&self) -> u64 {
        self.found.len() as u64
    }

    /// What half of the starts did not exceed; of an even number of starts the lower one of the two in the middle, for
    /// that is a number of seeds that one start really took, where there may be no mean of the two. `None`: more than
    /// were allowed.
    pub fn median(&self) -> Option<u64> {
        self.nth(self.starts.saturating_sub(1) / 2)
    }

    /// Of the luckiest start. `None`: all gave up.
    pub fn least(&self) -> Option<u64> {
        self.nth(0)
    }

    /// Of the unluckiest start. `None`: it gave up.
    pub fn most(&self) -> Option<u64> {
        self.nth(self.starts.saturating_sub(1))
    }

    fn nth(&self, place: usize) -> Option<u64> {
        self.found.get(place).copied()
    }
}

/// A number of seeds, `> 10000` if it is more than were allowed.
pub fn shown(seeds: Option<u64>, seeds_max: u64) -> String {
    match seeds {
        Some(seeds) => seeds.to_string(),
        None => format!("> {seeds_max}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(starts: &[Option<u64>]) -> Count {
        let mut count = Count::new(100);
        starts.iter().for_each(|seeds| count.add(*seeds));
        count
    }

    #[test]
    fn the_median_of_an_odd_number_is_the_one_in_the_middle_whatever_the_order() {
        for starts in [[1, 7, 100], [7, 100, 1], [100, 1, 7]] {
            let count = of(&starts.map(Some));
            assert_eq!((count.least(), count.median(), count.most()), (Some(1), Some(7), Some(100)));
        }
        assert_eq!(of(&[Some(5)]).median(), Some(5));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_lower_one_of_the_two_in_the_middle() {
        assert_eq!(of(&[Some(9), Some(2)]).median(), Some(2));
        assert_eq!(of(&[Some(8), Some(1), Some(4), Some(2)]).median(), Some(2));
        assert_eq!(of(&[Some(3), Some(3), Some(3), Some(9)]).median(), Some(3));
    }

    #[test]
    fn a_start_that_gave_up_counts_as_more_than_any_that_found_it() {
        let count = of(&[None, Some(40), None, Some(100)]);
        assert_eq!(
            (count.found(), count.least(), count.median(), count.most()),
            (2, Some(40), Some(100), None)
        );
        let count = of(&[None, Some(40), None]);
        assert_eq!((count.found(), count.least(), count.median(), count.most()), (1, Some(40), None, None));
    }

    #[test]
    fn of_starts_that_all_gave_up_there_is_no_number() {
        let count = of(&[None, None]);
        assert_eq!((count.found(), count.least(), count.median(), count.most()), (0, None, None, None));
    }

    #[test]
    fn more_than_were_allowed_is_shown_as_that() {
        assert_eq!(
            (shown(Some(10_000), 10_000).as_str(), shown(None, 10_000).as_str()),
            ("10000", "> 10000")
        );
    }
}
