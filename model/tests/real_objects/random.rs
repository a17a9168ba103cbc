//! A small generator for what is drawn.

/// SplitMix64 (Steele, Lea, Flood 2014). The same seed draws the same; what a real server makes of it differs from run to run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A generator of its own for each thread.
    pub fn split(&mut self) -> Random {
        Random(self.next())
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        assert!(end > 0, "nothing to draw from");
        ((u64::from(end) * (self.next() >> 32)) >> 32) as u32
    }

    pub fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }
}
