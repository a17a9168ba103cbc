//! "The probability that both fare badly is about 1e-8. So this will happen in 23 years! Systems do not live so long, so it
//! will never happen" (the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, lines 164 to 168
//! of the text): two handlers, each of which something befalls once a day, and batches of ten seconds.
//!
//! The sum is right, for what it assumes: that the two have nothing to do with each other, and that what befalls them
//! is over at once. Here the same is drawn at random, with either assumption dropped.

#[path = "real_objects/random.rs"]
#[expect(dead_code, reason = "what others draw")]
mod random;

use random::Random;

const DAY: f64 = 86_400.0;
const YEAR: f64 = 365.25 * DAY;
const BATCH: f64 = 10.0;

/// What befalls the handlers.
#[derive(Clone, Copy)]
struct Mishaps {
    /// For how long a handler does nothing, in seconds.
    last: f64,
    /// Of so many one befalls both: a bad release, a full disk, a network.
    shared_in: Option<f64>,
}

/// As the document has it.
const AS_WRITTEN: Mishaps = Mishaps { last: 0.0, shared_in: None };

/// The batches that a handler fails in so many years, first and last of each mishap.
fn failed(years: f64, every: f64, last: f64, random: &mut Random) -> Vec<(u64, u64)> {
    let mut batches = Vec::new();
    let mut at = 0.0;
    loop {
        // Between 0 and 1, without either.
        let drawn = (f64::from(random.below(u32::MAX)) + 0.5) / f64::from(u32::MAX);
        at -= every * drawn.ln();
        if at > years * YEAR {
            return batches;
        }
        batches.push(((at / BATCH) as u64, ((at + last) / BATCH) as u64));
    }
}

/// How many years lie between two times at which both fail the same batch, on the average of so many years.
fn years_between(mishaps: Mishaps, years: f64) -> f64 {
    let mut random = Random::new(23);
    let Mishaps { last, shared_in } = mishaps;
    let shared = shared_in.map_or(0.0, |of| 1.0 / of);
    let own = DAY / (1.0 - shared);
    let (one, other) = (failed(years, own, last, &mut random), failed(years, own, last, &mut random));
    let both = shared_in.map_or(0, |of| failed(years, DAY * of, last, &mut random).len());
    let mut meetings = both;
    let (mut a, mut b) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(&&(first, end)), Some(&&(other_first, other_end))) = (a.peek(), b.peek()) {
        meetings += usize::from(first <= other_end && other_first <= end);
        if end <= other_end {
            a.next()
        } else {
            b.next()
        };
    }
    years / meetings as f64
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn once_in_23_years_is_right_for_what_it_assumes() {
    let computed = BATCH / (BATCH / DAY).powi(2) / YEAR;
    assert!((23.6..23.7).contains(&computed), "{computed}");
    let drawn = years_between(AS_WRITTEN, 100_000.0);
    println!("as written: {drawn:.1} years");
    assert!((22.0..25.5).contains(&drawn), "{drawn}");
}

/// What outlasts a batch fails the next ones, too: two such meet far more often.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_lasts_for_minutes_befalls_both_within_months() {
    for last in [10.0, 60.0, 600.0] {
        let drawn = years_between(Mishaps { last, ..AS_WRITTEN }, 40_000.0);
        println!("{last} s each: {drawn:.2} years");
        // Two lengths in which the other may begin, and a batch for where the bounds of batches fall.
        let computed = DAY * DAY / (2.0 * last + BATCH) / YEAR;
        assert!((drawn / computed - 1.0).abs() < 0.1, "{drawn} years drawn, {computed} computed");
    }
}

#[test]
fn what_is_shared_once_in_a_hundred_times_befalls_both_within_months() {
    let drawn = years_between(Mishaps { shared_in: Some(100.0), ..AS_WRITTEN }, 4_000.0);
    println!("one of a hundred is shared: {:.0} days", drawn * 365.25);
    assert!((90.0..110.0).contains(&(drawn * 365.25)), "{drawn}");
}
