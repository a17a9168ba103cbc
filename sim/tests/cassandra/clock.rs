//! The clock that this process and the servers share: they are on one machine.

use picklock_model::time::{Micros, Wall};
use std::thread::sleep;
use std::time::{Duration, UNIX_EPOCH};

/// Microseconds since 1970.
#[expect(clippy::disallowed_types, reason = "real servers, which judge by the real clock")]
pub fn now() -> Wall {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Wall(i64::try_from(since.as_micros()).expect("before the year 290000"))
}

/// Waits, if this second is nearly over, for the next: what is asked now is done in the second in which it is asked.
pub fn within_a_second() -> Wall {
    let at = now();
    let left = 1_000_000 - at.0.rem_euclid(1_000_000);
    if left > 100_000 {
        return at;
    }
    pass(Micros(left + 1_000));
    now()
}

pub fn pass(time: Micros) {
    sleep(Duration::from_micros(u64::try_from(time.0).expect("forward")));
}
