//! How far a search is, and how much of it may be left.

/// How many states the latest levels have.
#[derive(Default)]
pub(super) struct Levels {
    /// The latest one first.
    pub sizes: [u64; 4],
    /// States whose successors are known.
    pub worked_off: u64,
}

impl Levels {
    pub fn begin(&mut self, size: u64) {
        self.sizes.rotate_right(1);
        self.sizes[0] = size;
    }

    /// A guess how many states there are after the latest level: levels fall as they have fallen.
    pub fn left(&self) -> Option<u64> {
        let [latest, .., earliest] = self.sizes;
        let is_falling = self.sizes.windows(2).all(|pair| pair[0] < pair[1]);
        // In three levels; one level for a third of that.
        let ratio = (latest as f64 / earliest as f64).cbrt();
        (is_falling && ratio < 0.97).then(|| (latest as f64 * ratio / (1.0 - ratio)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_guessed_once_levels_fall() {
        let mut levels = Levels::default();
        let mut guess = |size| {
            levels.begin(size);
            levels.left()
        };
        assert_eq!([1, 100, 8_000].map(&mut guess), [None; 3]);
        assert_eq!([4_000, 2_000].map(&mut guess), [None; 2]);
        // 500, 250, 125 and so on.
        assert_eq!(guess(1_000), Some(1_000));
        assert_eq!(guess(1_001), None);
    }
}
