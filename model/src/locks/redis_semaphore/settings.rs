//! The variants of the semaphore, as named knobs on one machine.

use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::basic`] and [`Settings::fair`] are the book's semaphores of section 6.3, [`Settings::repaired`] that of
/// section 11.2.3 with the server's clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How many may hold at once.
    pub permits: u8,
    /// For how long an entry counts.
    pub timeout: Micros,
    /// How a permit is taken (R31, R32).
    pub take: Take,
    /// By whose clock an entry is over (R33).
    pub stamps: Stamps,
    /// After how long without a reply a request's outcome is unknown, on the client's monotonic clock; `None`: the client waits
    /// for ever.
    pub request_timeout: Option<Micros>,
    /// How long a client that got no permit waits, at least, before it asks again.
    pub retry_delay: Micros,
    /// The delay is `retry_delay * (1 + choice)` with a random choice below this; 1 makes it fixed.
    pub retry_choices: u32,
    /// `None`: a holder never looks at a clock, as in the book. `Some`: it counts from just before it asked, on its monotonic clock,
    /// takes the grant only while `timeout` less this margin is not over, and leaves when it is.
    pub validity_margin: Option<Micros>,
}

/// How a permit is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Take {
    /// Section 6.3.1: who stands among the first n by time.
    ByRank,
    /// Section 6.3.2: who stands among the first n by a counter, which is drawn in a transaction before.
    ByCounter,
    /// Section 11.2.3: who is entered by a script that finds fewer than n.
    ByCount,
}

/// By whose clock an entry is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stamps {
    /// The client's that makes it, and the client's that removes it: what the book does.
    Clients,
    /// The server's, by `TIME`.
    Server,
}

impl Settings {
    /// Section 6.3.1, with two permits and a client that minds its time.
    pub const fn basic() -> Settings {
        Settings {
            permits: 2,
            timeout: Micros::seconds(10),
            take: Take::ByRank,
            stamps: Stamps::Clients,
            request_timeout: Some(Micros::seconds(1)),
            retry_delay: Micros::millis(200),
            retry_choices: 4,
            validity_margin: Some(Micros::millis(102)),
        }
    }

    /// Section 6.3.2.
    pub const fn fair() -> Settings {
        Settings { take: Take::ByCounter, ..Settings::basic() }
    }

    /// Section 11.2.3, by the server's clock.
    pub const fn repaired() -> Settings {
        Settings { take: Take::ByCount, stamps: Stamps::Server, ..Settings::basic() }
    }

    /// Until when an entry counts that was asked for just after `sent`; `None`: the client does not want to know.
    pub(super) fn end(&self, sent: Monotonic) -> Option<Monotonic> {
        self.validity_margin.map(|margin| sent + (self.timeout - margin))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::basic()
    }
}
