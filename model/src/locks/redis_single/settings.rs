//! The variants of the lock on one Redis instance, as named knobs on one machine.

use crate::locks::redlock::ExtendBy;
use crate::stores::redis::Millis;
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the source's algorithm, [`Settings::repaired`] what it should have been.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// `PX`: how long the key lives without extension, of which whole milliseconds are sent and counted. `None`: `SET NX`
    /// without `PX`, so that a key whose owner is gone, or that arrives after its release (catalogue, R24), stays for good.
    pub ttl: Option<Micros>,
    /// After how long without a reply a request's outcome is unknown, on the client's monotonic clock; `None`: the client
    /// waits for ever. An attempt that is given up may still arrive, after its own clean-up: R24 needs this knob.
    pub request_timeout: Option<Micros>,
    /// How long a client that did not get the lock waits, at least, before it asks again. Also how long it waits after an
    /// error before it tries to extend again.
    pub retry_delay: Micros,
    /// The delay is `retry_delay * (1 + choice)` with a random choice below this; 1 makes it fixed.
    pub retry_choices: u32,
    /// How the key is deleted (R11, R12).
    pub release: Release,
    /// `None`: the client never looks at a clock, as the document's text on the single instance has it. `Some`: it counts
    /// from just before it sent the `SET` (or the extension) on its monotonic clock, takes the grant only while `ttl` less
    /// this margin is not over, and says [`Lost`](crate::machine::Answer::Lost) when it is. That bounds a slow reply; a
    /// pause in the critical section (R1) it only notices afterwards. A margin of the whole `ttl` grants nothing, ever.
    pub validity_margin: Option<Micros>,
    /// Whether grants carry a fencing token, and when it is drawn (R1, F1; that a failover forgets the counter is F2).
    pub fencing: Fencing,
    /// Every change that the client waits for is followed by `WAIT`: it is done when the replicas have it, too. The
    /// repair of R7, and of F2, that the Redlock article, *Distributed Locks with Redis*, does not mention. A replica that is dead but not
    /// forgotten stops all.
    pub waits_for_replicas: bool,
    /// Whether the holder prolongs the key's life (the Redlock article, "Повышаем доступность алгоритма: продлеваем
    /// блокировку"; R15). Without `ttl` there is nothing to extend.
    pub extension: Option<Extension>,
}

/// How the key is deleted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Release {
    /// The document's script: only if the value is the own one, in one step.
    CompareAndDelete,
    /// `DEL`, whoever's key it is: what the document warns of (R11).
    Delete,
    /// `GET`, and `DEL` if the value was the own one: by then the key may be another's (R12).
    GetThenDelete,
}

/// Whether and when a fencing token is drawn: `INCR` of a counter on the same server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Fencing {
    /// No tokens.
    None,
    /// The script that takes the key draws the token: one step.
    WithGrant,
    /// After the `SET` has succeeded (F1): a client that is slow to draw gets a later token than its successor.
    AfterGrant,
}

/// How a holder prolongs the key's life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Extension {
    /// How long before `ttl` (less the validity margin, if any) is over the extension is sent.
    pub lead: Micros,
    /// How many extensions one grant may send, with those that failed: "the number of attempts must be limited, else
    /// liveness is violated", as the document has it.
    pub times_max: u8,
    /// By which script.
    pub how: ExtendBy,
}

impl Settings {
    /// The source's algorithm: `SET NX PX`, compare-and-delete, nothing else. Its TTL is 30 s; here 10 s. Where it is
    /// silent, the plainest reading.
    pub const fn as_written() -> Settings {
        Settings {
            ttl: Some(Micros::seconds(10)),
            request_timeout: Some(Micros::seconds(1)),
            retry_delay: Micros::millis(200),
            retry_choices: 4,
            release: Release::CompareAndDelete,
            validity_margin: None,
            fencing: Fencing::None,
            waits_for_replicas: false,
            extension: None,
        }
    }

    /// What can be repaired on one instance: the client minds its validity (margin: a hundredth of the TTL and 2 ms, as
    /// Redlock reckons), and each grant carries a fencing token. A failover (R7, R8, F2) still breaks it.
    pub const fn repaired() -> Settings {
        Settings {
            validity_margin: Some(Micros::millis(102)),
            fencing: Fencing::WithGrant,
            ..Settings::as_written()
        }
    }

    /// The TTL as `PX` takes it.
    pub(super) fn px(&self) -> Option<Millis> {
        self.ttl.map(|ttl| Millis(ttl.0.div_euclid(Micros::millis(1).0)))
    }

    /// Whether an extension makes a lost key anew.
    pub(super) fn creates(&self) -> bool {
        self.extension.is_some_and(|extension| extension.how == ExtendBy::ExtendOrCreate)
    }

    /// Until when a key counts that was set or extended by a request sent just after `sent`; `None`: the client does not
    /// want to know.
    pub(super) fn end(&self, sent: Monotonic) -> Option<Monotonic> {
        let Millis(px) = self.px()?;
        let margin = match (self.validity_margin, self.extension) {
            (Some(margin), _) => margin,
            (None, Some(_)) => Micros::ZERO,
            (None, None) => return None,
        };
        Some(sent + (Micros::millis(px) - margin))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
