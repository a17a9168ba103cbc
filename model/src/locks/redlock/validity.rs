//! Validity as one moment of one of the client's clocks.
//!
//! `MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT` counted from T2 is `TTL - CLOCK_DRIFT` counted from T1. So steps 3 and 4
//! both ask whether the moment `T1 + TTL - CLOCK_DRIFT` has come, and no elapsed time has to be kept.

use super::Cx;
use super::settings::ElapsedClock;
use crate::time::{Due, Micros};

/// Until when a lock is valid that counts from now.
pub fn validity_from_now(cx: &Cx) -> Option<Due> {
    cx.settings.validity().map(|length| from_now(length, cx))
}

/// A moment of the clock that the validity is measured by.
pub fn from_now(length: Micros, cx: &Cx) -> Due {
    match cx.settings.elapsed_clock {
        ElapsedClock::Monotonic => Due::Monotonic(cx.monotonic + length),
        ElapsedClock::Wall => Due::Wall(cx.wall + length),
    }
}

/// Whether this client's own clock shows `due` or more.
pub fn has_come(due: Due, cx: &Cx) -> bool {
    match due {
        Due::Wall(at) => cx.wall >= at,
        Due::Monotonic(at) => cx.monotonic >= at,
    }
}

/// Whether the validity is over. One that is not known never is.
pub fn is_over(valid_until: Option<Due>, cx: &Cx) -> bool {
    valid_until.is_some_and(|due| has_come(due, cx))
}
