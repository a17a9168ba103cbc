//! The variants, as named knobs on one machine.

use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};

/// The named knobs. By default every precaution is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// For how long after each sign of life the store keeps a place, a waiter's or a holder's. `None`: for good, and
    /// nobody need say that he lives.
    pub lease: Option<Micros>,
    /// How much earlier than the lease the client takes its place for lost: its clock may be slow.
    pub drift_margin: Micros,
    /// How long after an answer the next sign of life is sent; `None`: never.
    pub heartbeat: Option<Micros>,
    /// After how long without an answer a request is sent again; `None`: never.
    pub request_timeout: Option<Micros>,
    /// A grant is taken, and a hold goes on, only while the lease is alive by the client's own clock.
    pub minds_lease: bool,
    /// What is sent when nobody knows whether a call has been put into the queue.
    pub repeats: Repeats,
}

/// What is sent when nobody knows whether a call has been put into the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Repeats {
    /// The same call again, which the store knows by its ticket.
    SameTicket,
    /// Another call: the place of the first is given up for one at the end.
    NewTicket,
}

impl Settings {
    /// A lease of 30 s, said to be alive every 10 s; margin and time-outs for one data centre.
    pub const fn careful() -> Settings {
        Settings {
            lease: Some(Micros::seconds(30)),
            drift_margin: Micros::millis(302),
            heartbeat: Some(Micros::seconds(10)),
            request_timeout: Some(Micros::seconds(1)),
            minds_lease: true,
            repeats: Repeats::SameTicket,
        }
    }

    /// Neither leases nor time-outs: what is left where nothing is lost and nobody dies.
    pub const fn timeless() -> Settings {
        Settings { lease: None, heartbeat: None, request_timeout: None, ..Settings::careful() }
    }

    /// Until when the lease runs at least, if it is kept by a request that is sent now, and if the client minds.
    pub(super) fn end(&self, now: Monotonic) -> Option<Monotonic> {
        self.lease.filter(|_| self.minds_lease).map(|lease| now + (lease - self.drift_margin))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::careful()
    }
}
