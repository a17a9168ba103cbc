//! The variants of the lock on one key, as named knobs on one machine.

pub use crate::locks::etcd_keys::{Fence, OnDone};
use crate::stores::etcd::session::{Deadline, PINGS, SessionSettings};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the lock as it is usually written, [`Settings::repaired`] what it should be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How the client asks, and how it holds its session.
    pub session: SessionSettings,
    /// How it waits.
    pub wait: Wait,
    /// A refused client looks whether the key that is there is of its own lease: it has put it before, and was not told.
    pub finds_own_key: bool,
    /// Unlock deletes the key only if it is still the one that was put.
    pub guards_unlock: bool,
    /// What a holder does when its session is done.
    pub on_done: OnDone,
    /// What keeps out the write of a holder whose time is over.
    pub fence: Fence,
}

/// How a client waits that was refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Wait {
    /// It watches the key from now on (python-etcd3 before kragniz/python-etcd3#1109): what happened between the answer and the watch
    /// it does not see.
    WatchFromNow,
    /// It watches the key from the revision of the answer on.
    WatchFromAnswer,
    /// It asks again after so long.
    Poll(Micros),
}

impl Settings {
    /// As usually written, with an application that looks whether its session is done.
    pub const fn as_written() -> Settings {
        Settings {
            session: SessionSettings::DEFAULT,
            wait: Wait::WatchFromNow,
            finds_own_key: false,
            guards_unlock: false,
            on_done: OnDone::Stop,
            fence: Fence::None,
        }
    }

    /// Every repair at once: a watch from the answer on, a look whose key it is, a guarded unlock, the deadline counted from the
    /// sending, with a margin, and noticed when it comes, the create revision as token, pings where there are
    /// several members.
    pub const fn repaired() -> Settings {
        let session = SessionSettings {
            deadline: Deadline::FromSending,
            margin: Micros::millis(500),
            deadline_interval: Micros::ZERO,
            dial_keep_alive: Some(PINGS),
            ..SessionSettings::DEFAULT
        };
        Settings {
            session,
            wait: Wait::WatchFromAnswer,
            finds_own_key: true,
            guards_unlock: true,
            fence: Fence::CreateRevision,
            ..Settings::as_written()
        }
    }

    /// As usually written, with leases that do not end and calls that are waited for.
    pub const fn timeless() -> Settings {
        Settings { session: SessionSettings::TIMELESS, ..Settings::as_written() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
