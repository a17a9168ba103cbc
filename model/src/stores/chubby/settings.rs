//! How a cell is configured, and its masters' mistakes as knobs.

use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The longest lock-delay that a handle may ask for (Burrows, section 2.4: "currently one minute").
pub const LOCK_DELAY_MAX: Micros = Micros::seconds(60);

/// How the masters of a cell go about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// When a KeepAlive is answered.
    pub keep_alives: KeepAlives,
    /// How many times the lease that its client is told of a session really lasts at the master (Consul: twice).
    pub lease_factor: u8,
    /// A master that is overloaded now and then gives longer leases. `None`: it never is.
    pub load: Option<Load>,
    /// What a new master makes of the sessions' leases, which the old one had in memory only (row H5).
    pub fail_over: FailOver,
    /// What a new master knows of the lock-delays that run.
    pub delays: Delays,
    /// How calls to an earlier master are told from calls to this one.
    pub epochs: Epochs,
    /// What becomes of a lock when its holder's session is lost.
    pub on_loss: OnLoss,
    /// Whether whoever loses its session is told at once, and not by its next request (Consul's blocking queries).
    pub tells_loss: bool,
    /// For tests of tests: how the master breaks its own contract.
    pub flaw: Flaw,
}

impl Settings {
    /// A cell of Chubby: KeepAlives are answered two seconds before the lease is over.
    pub const CHUBBY: Settings = Settings {
        keep_alives: KeepAlives::Held { until_left: Micros::seconds(2) },
        lease_factor: 1,
        load: None,
        fail_over: FailOver::Longest,
        delays: Delays::Kept,
        epochs: Epochs::Checked,
        on_loss: OnLoss::Release,
        tells_loss: false,
        flaw: Flaw::None,
    };

    /// Consul's servers: a renewal is answered at once, a session lasts for twice its TTL, and nobody counts masters.
    pub const CONSUL: Settings = Settings {
        keep_alives: KeepAlives::AnsweredAtOnce,
        lease_factor: 2,
        epochs: Epochs::Unknown,
        tells_loss: true,
        ..Settings::CHUBBY
    };

    /// For how long a session really lasts whose client was told so much.
    pub fn at_the_master(&self, lease: Micros) -> Micros {
        Micros(lease.0 * i64::from(self.lease_factor.max(1)))
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::CHUBBY
    }
}

/// When a KeepAlive is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum KeepAlives {
    /// When no more than this is left of the lease (section 2.8).
    Held {
        /// How much is left then.
        until_left: Micros,
    },
    /// When it comes (Consul's `session renew`).
    AnsweredAtOnce,
}

/// A master that is overloaded now and then: the longer the leases, the fewer KeepAlives (section 2.8: "up to around 60 s").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Of so many KeepAlives, one comes at such a time.
    pub one_in: u32,
    /// The lease that is given then.
    pub lease: Micros,
}

/// What a new master makes of leases.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum FailOver {
    /// Each lasts for the longest time that the old master may have given, from now on (section 2.9, step 3).
    #[default]
    Longest,
    /// Each lasts for as long as one usually does: what the old one gave under load was more.
    Usual,
    /// There are none: whoever is not heard of at once has no session.
    Forgotten,
}

/// What a new master knows of lock-delays.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Delays {
    /// They go on.
    #[default]
    Kept,
    /// They were in the old master's memory.
    Forgotten,
}

/// How calls to an earlier master are told from calls to this one.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Epochs {
    /// By the number of the master, which every call carries. A new master has every session acknowledge that it knows, or end,
    /// before it does anything but KeepAlives (section 2.9, steps 1 and 4 to 6).
    #[default]
    Checked,
    /// They are not, and a new master goes on where the old one was. Handles that were closed are not remembered by it.
    Unknown,
}

/// What becomes of a lock when its holder's session is lost.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum OnLoss {
    /// It is free, when its lock-delay is over.
    #[default]
    Release,
    /// Its node goes, and with it the count of its generations (Consul's `Behavior: "delete"`).
    Delete,
}

/// A way to break the contract, for tests that must find it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Flaw {
    /// None.
    #[default]
    None,
    /// A KeepAlive gives the usual lease from now on, though the session had a longer one.
    LeaseMovesBack,
    /// A lock that goes from free to held keeps its generation.
    GenerationStays,
}
