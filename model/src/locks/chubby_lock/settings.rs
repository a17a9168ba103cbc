//! The variants of the locks on a cell, as named knobs on one machine.

use crate::stores::chubby::session::{Count, NextKeepAlive, SessionSettings, Unanswered};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How the session is held.
    pub session: SessionSettings,
    /// How long a session is used.
    pub sessions: Sessions,
    /// Where a client waits that finds the lock taken.
    pub wait: Wait,
    /// For how long nobody else may have the lock when this client's session is lost (row H3). A minute at most.
    pub lock_delay: Micros,
    /// What a holder does whose session is in jeopardy.
    pub on_jeopardy: OnJeopardy,
    /// What keeps out the write of a holder whose time is over (row H2).
    pub fence: Fence,
}

/// How long a session is used.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Sessions {
    /// As long as its client lives.
    #[default]
    OneEach,
    /// For one hold, after which it is ended (Consul's `Lock`, which makes its own).
    OneEachHold,
}

/// Where a client waits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Wait {
    /// At the master, which answers when the lock is there (`Acquire`).
    #[default]
    AtTheMaster,
    /// At home: it asks again after so long.
    AtHome(Micros),
}

/// What a holder does whose session is in jeopardy.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum OnJeopardy {
    /// It stops: the lock may be another's.
    #[default]
    Stop,
    /// It works on, until the grace period is over.
    GoOn,
}

/// What keeps out the write of a holder whose time is over.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Fence {
    /// Nothing.
    None,
    /// A sequencer: the lock's generation.
    #[default]
    Sequencer,
}

impl Settings {
    /// The paper's, with every precaution: the holder stops in jeopardy, and its writes carry the sequencer. A lock-delay of a
    /// minute.
    pub const fn careful() -> Settings {
        Settings {
            session: SessionSettings::DEFAULT,
            sessions: Sessions::OneEach,
            wait: Wait::AtTheMaster,
            lock_delay: Micros::seconds(60),
            on_jeopardy: OnJeopardy::Stop,
            fence: Fence::Sequencer,
        }
    }

    /// The paper's, for programs that know nothing of it: they work on in jeopardy, and no resource looks at sequencers. The
    /// lock-delay is what is left to protect it (section 2.4).
    pub const fn unmodified() -> Settings {
        Settings { on_jeopardy: OnJeopardy::GoOn, fence: Fence::None, ..Settings::careful() }
    }

    /// Sessions that do not end, and calls that are waited for.
    pub const fn timeless() -> Settings {
        Settings { session: SessionSettings::TIMELESS, lock_delay: Micros::ZERO, ..Settings::careful() }
    }

    /// Consul's `Lock` (`api/lock.go`), with a TTL of 15 s that is renewed after half of it, again every second if that fails, and for
    /// good no more when a TTL has passed without an answer; and a lock-delay of 15 s. The client believes to hold until it is told,
    /// whether its session is renewed or not.
    pub const fn consul() -> Settings {
        Settings {
            session: SessionSettings {
                lease: Some(Micros::seconds(15)),
                count: Count::NotAtAll,
                margin: Micros::ZERO,
                grace: Micros::ZERO,
                next: NextKeepAlive::After(Micros::millis(7_500)),
                unanswered: Unanswered::WithinTtl(Micros::seconds(1)),
                request_timeout: Some(Micros::seconds(1)),
            },
            sessions: Sessions::OneEachHold,
            wait: Wait::AtHome(Micros::seconds(5)),
            lock_delay: Micros::seconds(15),
            on_jeopardy: OnJeopardy::GoOn,
            fence: Fence::None,
        }
    }

    /// The same by a client that counts its TTL from the sending, stops when it is over, and shows its LockIndex.
    pub const fn consul_repaired() -> Settings {
        let written = Settings::consul();
        let session = SessionSettings {
            count: Count::FromSending,
            margin: Micros::millis(152),
            grace: Micros::seconds(15),
            ..written.session
        };
        Settings { session, on_jeopardy: OnJeopardy::Stop, fence: Fence::Sequencer, ..written }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::careful()
    }
}
