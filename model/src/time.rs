//! Time, as integers with the unit in the type.
//!
//! Every clock counts microseconds from [`EPOCH`], which is zero so that states stay small; what must be a real date
//! (Listing 5's column names, what a simulated Redis tells) is shifted to one by [`EPOCH_UNIX_MICROS`].

use serde::{Deserialize, Serialize};
use std::ops::{Add, Neg, Sub};

/// What every clock shows when a run begins, before offsets.
pub const EPOCH: i64 = 0;

/// The date a run begins at, for the reader of a trace: 2013-06-01T00:00:00Z, in microseconds since 1970.
pub const EPOCH_UNIX_MICROS: i64 = 1_370_044_800_000_000;

/// A length of time in microseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Micros(pub i64);

impl Micros {
    /// No time at all.
    pub const ZERO: Micros = Micros(0);

    /// `n` seconds.
    pub const fn seconds(n: i64) -> Micros {
        Micros(n * 1_000_000)
    }

    /// `n` milliseconds.
    pub const fn millis(n: i64) -> Micros {
        Micros(n * 1_000)
    }

    /// Whole seconds, rounded down.
    pub const fn whole_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, micros) = if self.0 < 0 { ("-", -self.0) } else { ("", self.0) };
        match micros {
            0 => f.write_str("0"),
            _ if micros % 1_000_000 == 0 => write!(f, "{sign}{}s", micros / 1_000_000),
            _ if micros >= 1_000_000 => {
                write!(f, "{sign}{}.{:03}s", micros / 1_000_000, micros / 1_000 % 1_000)
            }
            _ if micros % 1_000 == 0 => write!(f, "{sign}{}ms", micros / 1_000),
            _ if micros >= 1_000 => write!(f, "{sign}{}.{:03}ms", micros / 1_000, micros % 1_000),
            _ => write!(f, "{sign}{micros}us"),
        }
    }
}

impl Add for Micros {
    type Output = Micros;
    fn add(self, other: Micros) -> Micros {
        Micros(self.0 + other.0)
    }
}

impl Sub for Micros {
    type Output = Micros;
    fn sub(self, other: Micros) -> Micros {
        Micros(self.0 - other.0)
    }
}

impl Neg for Micros {
    type Output = Micros;
    fn neg(self) -> Micros {
        Micros(-self.0)
    }
}

/// What a node's wall clock shows, in microseconds since [`EPOCH`]: it may be skewed, drift, step and freeze.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Wall(pub i64);

impl Wall {
    /// Whole seconds since [`EPOCH`], rounded down, as stores that count in seconds see it.
    pub const fn whole_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Microseconds since 1970, for printing.
    pub const fn unix_micros(self) -> i64 {
        self.0 + EPOCH_UNIX_MICROS
    }
}

impl std::fmt::Display for Wall {
    /// To the microsecond, in seconds since the run began: `12.345678s`. Below a millisecond, where a world without time
    /// counts its steps, `7us`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, micros) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        match micros {
            0..1_000 => write!(f, "{sign}{micros}us"),
            _ => write!(f, "{sign}{}.{:06}s", micros / 1_000_000, micros % 1_000_000),
        }
    }
}

impl Add<Micros> for Wall {
    type Output = Wall;
    fn add(self, length: Micros) -> Wall {
        Wall(self.0 + length.0)
    }
}

impl Sub for Wall {
    type Output = Micros;
    fn sub(self, earlier: Wall) -> Micros {
        Micros(self.0 - earlier.0)
    }
}

/// What a node's monotonic clock shows, in microseconds: it drifts, but never steps. It goes on while a process is paused, and
/// stands still while the whole machine is suspended (Linux: `CLOCK_MONOTONIC`).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Monotonic(pub i64);

impl Add<Micros> for Monotonic {
    type Output = Monotonic;
    fn add(self, length: Micros) -> Monotonic {
        Monotonic(self.0 + length.0)
    }
}

impl Sub for Monotonic {
    type Output = Micros;
    fn sub(self, earlier: Monotonic) -> Micros {
        Micros(self.0 - earlier.0)
    }
}

/// When a machine wants to be woken, and by which of its node's clocks that is judged: the algorithm's own choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Due {
    /// When the wall clock shows this or more.
    Wall(Wall),
    /// When the monotonic clock shows this or more.
    Monotonic(Monotonic),
}

/// One node's clocks: how what they show follows from true time.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// What the wall clock shows more than true time, at `drift_since`.
    pub wall_offset: Micros,
    /// What the monotonic clock shows more than true time, at `drift_since`.
    pub monotonic_offset: Micros,
    /// Microseconds gained per second of true time, on both clocks.
    pub drift_ppm: i32,
    /// The wall clock shows whole multiples of so many microseconds only, so that readings in between tie. 0: each one.
    pub granularity: u32,
    /// True time at which the present drift began.
    pub drift_since: Micros,
    /// The wall clock stands still at this reading.
    pub frozen: Option<Wall>,
}

impl Clock {
    fn drift(&self, now: Micros) -> i64 {
        // Exact for a thousand years of true time at 1000 ppm; drift never runs backwards in between.
        if self.drift_ppm == 0 {
            0
        } else {
            ((now - self.drift_since).0 as i128 * self.drift_ppm as i128 / 1_000_000) as i64
        }
    }

    /// What the wall clock shows at true time `now`.
    pub fn wall(&self, now: Micros) -> Wall {
        self.frozen.unwrap_or_else(|| self.coarsened(self.fine_wall(now)))
    }

    /// What the wall clock would show if it were not coarse.
    fn fine_wall(&self, now: Micros) -> Wall {
        Wall(now.0 + self.wall_offset.0 + self.drift(now))
    }

    fn coarsened(&self, reading: Wall) -> Wall {
        match i64::from(self.granularity) {
            0 | 1 => reading,
            granularity => Wall(reading.0.div_euclid(granularity) * granularity),
        }
    }

    /// What the monotonic clock shows at true time `now`.
    pub fn monotonic(&self, now: Micros) -> Monotonic {
        Monotonic(now.0 + self.monotonic_offset.0 + self.drift(now))
    }

    /// Whether `due` has come at true time `now`.
    pub fn is_due(&self, due: Due, now: Micros) -> bool {
        match due {
            Due::Wall(at) => self.wall(now) >= at,
            Due::Monotonic(at) => self.monotonic(now) >= at,
        }
    }

    /// The true time at which `due` comes if nothing more happens to this clock; `None` if never (frozen).
    pub fn true_time_of(&self, due: Due, now: Micros) -> Option<Micros> {
        let missing = match due {
            Due::Wall(at) => match self.frozen {
                Some(reading) if reading < at => return None,
                Some(_) => return Some(now),
                // The first reading that is shown as `at` or later.
                None => -self.coarsened(Wall(-at.0)).0 - self.fine_wall(now).0,
            },
            Due::Monotonic(at) => at.0 - self.monotonic(now).0,
        };
        if missing <= 0 {
            return Some(now);
        }
        if self.drift_ppm == 0 {
            return Some(now + Micros(missing));
        }
        let rate = 1_000_000 + i128::from(self.drift_ppm);
        let mut at = Micros(now.0 + (missing as i128 * 1_000_000).div_euclid(rate) as i64);
        while !self.is_due(due, at) {
            at = at + Micros(1);
        }
        Some(at)
    }

    /// Sets the drift from true time `now` on; what the clocks show at `now` stays.
    pub fn set_drift(&mut self, drift_ppm: i32, now: Micros) {
        let gained = Micros(self.drift(now));
        self.wall_offset = self.wall_offset + gained;
        self.monotonic_offset = self.monotonic_offset + gained;
        self.drift_since = now;
        self.drift_ppm = drift_ppm;
    }

    /// Steps the wall clock; the monotonic clock does not step.
    pub fn step(&mut self, by: Micros) {
        self.wall_offset = self.wall_offset + by;
        if let Some(reading) = self.frozen {
            self.frozen = Some(reading + by);
        }
    }

    /// From now on the wall clock shows whole multiples of `granularity` only.
    pub fn coarsen(&mut self, granularity: Micros) {
        self.granularity = u32::try_from(granularity.0.max(0)).unwrap_or(u32::MAX);
    }

    /// The machine wakes up at true time `now`, having been suspended when its monotonic clock showed `reading`: the clock
    /// did not count that time, and goes on from there. The wall clock is right if the machine asks its hardware or its host
    /// for the time, else it has lost the time, too (`wall_too`).
    pub fn wake(&mut self, reading: Monotonic, wall_too: bool, now: Micros) {
        let slept = self.monotonic(now) - reading;
        self.monotonic_offset = self.monotonic_offset - slept;
        if wall_too {
            self.step(-slept);
        }
    }

    /// The wall clock stands still from `now` on.
    pub fn freeze(&mut self, now: Micros) {
        self.frozen = Some(self.wall(now));
    }

    /// The wall clock goes on, and shows again what it would have shown.
    pub fn unfreeze(&mut self) {
        self.frozen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_wall_clock_shows_multiples_and_a_deadline_comes_with_the_first_that_is_late_enough() {
        for (granularity, drift_ppm, offset) in [(7, 0, 3), (7, 250_000, -11), (10, -400_000, 5), (1, 0, 0)] {
            let mut clock =
                Clock { wall_offset: Micros(offset), drift_ppm, drift_since: Micros(2), ..Clock::default() };
            let fine: Vec<Wall> = (0..200).map(|now| clock.wall(Micros(now))).collect();
            clock.coarsen(Micros(granularity));
            for (now, fine) in (0..200).zip(fine) {
                let shown = clock.wall(Micros(now));
                assert!(shown.0 % granularity == 0 && (0..granularity).contains(&(fine - shown).0));
            }
            for due in (-20..80).map(|at| Due::Wall(Wall(at))) {
                let came = (5..200).map(Micros).find(|now| clock.is_due(due, *now)).unwrap();
                let at = clock.true_time_of(due, Micros(5)).unwrap();
                // A slow clock's readings are rounded up: noticed a microsecond late.
                assert!(
                    at == came || drift_ppm < 0 && at == came + Micros(1),
                    "{at}, not {came}: {due:?} by {clock:?}"
                );
            }
        }
    }

    #[test]
    fn a_machine_that_wakes_goes_on_from_the_monotonic_reading_at_which_it_was_suspended() {
        for (wall_too, drift_ppm) in [(false, 0), (true, 0), (false, 100_000), (true, -100_000)] {
            let mut clock = Clock { drift_ppm, ..Clock::default() };
            let (suspended, woken) = (Micros::seconds(3), Micros::seconds(10));
            let (reading, right) = (clock.monotonic(suspended), clock.wall(woken));
            let slept = clock.monotonic(woken) - reading;
            assert!(slept > Micros::seconds(6));
            clock.wake(reading, wall_too, woken);
            assert_eq!(clock.monotonic(woken), reading);
            assert_eq!(right - clock.wall(woken), if wall_too { slept } else { Micros::ZERO });
        }
    }
}
