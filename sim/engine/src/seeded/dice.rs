//! Randomness: integers only, and from a generator whose numbers are the same on every machine and in every version.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What the numbers are for. Streams of one seed are independent: drawing one more number from one of them, as a run
/// with one fault less does, leaves the others as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// How long messages take, and which are lost.
    Network,
    /// What the machines are told by chance, and the order after a pause.
    Choice,
    /// Which faults there are.
    Plan,
    /// Whether messages travel by rank, and whose rank it is.
    Schedule,
    /// Who has which rank, and when it falls.
    Ranks,
    /// Which plan a guided search changes, and how.
    Guide,
    /// How many clients there are, and how long they think and hold.
    Workload,
    /// Whether a process that ends takes along what it had just said.
    LastWords,
}

/// A stream of random numbers.
///
/// Numbers are scaled by multiplication, here and not in the `rand` crate, whose algorithms may change with a version: a
/// token has to mean the same run next year. The bias of that is below 2^-40 for every range in use.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The stream `stream` of the seed `seed`.
    pub fn new(seed: u64, stream: Stream) -> Dice {
        let salt = match stream {
            Stream::Network => 0x6e65_7477_6f72_6b21,
            Stream::Choice => 0x6368_6f69_6365_7321,
            Stream::Plan => 0x706c_616e_6e69_6e67,
            Stream::Schedule => 0x7363_6865_6475_6c65,
            Stream::Ranks => 0x7072_696f_7269_7479,
            Stream::Guide => 0x6775_6964_6564_2121,
            Stream::Workload => 0x776f_726b_6c6f_6164,
            Stream::LastWords => 0x6c61_7374_776f_7264,
        };
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed ^ salt))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `n - 1`; 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `min` to `max`, both included.
    #[inline]
    pub fn between(&mut self, min: i64, max: i64) -> i64 {
        debug_assert!(min <= max, "no number lies between {min} and {max}");
        min + self.below((max - min) as u64 + 1) as i64
    }

    /// Yes in `per_mille` of a thousand cases.
    pub fn per_mille(&mut self, per_mille: u16) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// Heads or tails.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// A number from `min` to `max`, both included and positive, of which every order of magnitude (doubling) is equally
    /// likely.
    pub fn log_uniform(&mut self, min: i64, max: i64) -> i64 {
        debug_assert!(0 < min, "a logarithm needs a positive number, not {min}");
        let max = max.max(min);
        let octave = self.below(u64::from((max / min).ilog2()) + 1);
        let low = min << octave;
        self.between(low, max.min(low.saturating_mul(2) - 1))
    }

    /// `n` or `-n`.
    pub fn sign(&mut self, n: i64) -> i64 {
        if self.coin() { n } else { -n }
    }

    /// One of `all`, each equally likely.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_are_pinned() {
        let mut dice = Dice::new(4711, Stream::Network);
        assert_eq!([dice.bits(), dice.bits()], [15_359_539_275_616_210_692, 576_261_826_013_187_178]);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |stream| Dice::new(1, stream).bits();
        assert!(first(Stream::Network) != first(Stream::Choice));
        assert!(first(Stream::Choice) != first(Stream::Plan));
    }

    #[test]
    fn every_number_of_a_range_is_drawn_and_no_other() {
        let mut dice = Dice::new(0, Stream::Plan);
        let mut seen = [0u32; 5];
        (0..1000).for_each(|_| seen[(dice.between(-2, 2) + 2) as usize] += 1);
        assert!(seen.iter().all(|times| *times > 150), "{seen:?}");
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.pick::<u8>(&[]), None);
    }

    #[test]
    fn small_and_large_numbers_are_equally_likely_on_a_logarithmic_scale() {
        let mut dice = Dice::new(0, Stream::Plan);
        let numbers: Vec<i64> = (0..2000).map(|_| dice.log_uniform(1000, 90_000_000)).collect();
        assert!(numbers.iter().all(|n| (1000..=90_000_000).contains(n)));
        let small = numbers.iter().filter(|n| **n < 300_000).count();
        assert!((800..1200).contains(&small), "{small} of 2000 are in the lower half of the scale");
    }
}
