//! The variants of the readers-writer lock, as named knobs on one machine.

use crate::stores::redis::Millis;
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::counted`] is the lock as it is built first, [`Settings::repaired`] what it should have been.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// For how long a writer's key and a reader's entry or count live, of which whole milliseconds are sent for keys.
    pub ttl: Micros,
    /// After how long without a reply a request's outcome is unknown, on the client's monotonic clock; `None`: the client waits
    /// for ever.
    pub request_timeout: Option<Micros>,
    /// How long a client that did not get the lock waits, at least, before it asks again.
    pub retry_delay: Micros,
    /// The delay is `retry_delay * (1 + choice)` with a random choice below this; 1 makes it fixed.
    pub retry_choices: u32,
    /// `None`: a holder never looks at a clock. `Some`: it counts from just before it asked, on its monotonic clock, takes the grant
    /// only while `ttl` less this margin is not over, and leaves when it is.
    pub validity_margin: Option<Micros>,
    /// What the server knows of readers (R29).
    pub readers: Readers,
    /// Whether no reader is let in past a writer that waits (R30).
    pub writers_first: bool,
}

/// What the server knows of readers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Readers {
    /// How many there are: one counter with one lease for all, which each that comes prolongs. Each counts it down when it
    /// leaves.
    Counted,
    /// The same, but nobody counts below 0.
    CountedFromZero,
    /// Who they are: an entry for each, with a lease of its own.
    Entries,
}

impl Settings {
    /// Readers are counted, and come whenever nobody writes.
    pub const fn counted() -> Settings {
        Settings {
            ttl: Micros::seconds(10),
            request_timeout: Some(Micros::seconds(1)),
            retry_delay: Micros::millis(200),
            retry_choices: 4,
            validity_margin: Some(Micros::millis(102)),
            readers: Readers::Counted,
            writers_first: false,
        }
    }

    /// Each reader has an entry of its own, and none overtakes a writer.
    pub const fn repaired() -> Settings {
        Settings { readers: Readers::Entries, writers_first: true, ..Settings::counted() }
    }

    /// The lease as `PX` takes it.
    pub(super) fn px(&self) -> Millis {
        Millis(self.ttl.0.div_euclid(Micros::millis(1).0))
    }

    /// Until when an entry counts that was asked for just after `sent`; `None`: the client does not want to know.
    pub(super) fn end(&self, sent: Monotonic) -> Option<Monotonic> {
        self.validity_margin.map(|margin| sent + (Micros::millis(self.px().0) - margin))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::counted()
    }
}
