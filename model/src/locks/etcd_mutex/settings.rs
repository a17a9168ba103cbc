//! The variants of etcd's mutex, as named knobs on one machine.

pub use crate::locks::etcd_keys::{Fence, OnDone};
use crate::stores::etcd::session::{Deadline, PINGS, SessionSettings};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the library at commit c34dc7ee0, [`Settings::repaired`] what it should be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How the client asks, and how it holds its session.
    pub session: SessionSettings,
    /// How the key is named (row E12).
    pub key_name: KeyName,
    /// After waiting the client looks whether its own key is still there (row E1; since b14c7cd44).
    pub checks_own_key: bool,
    /// `Unlock` deletes the key only if it is still the one that was locked (row E4; not in the library).
    pub guards_unlock: bool,
    /// What the application does when `Unlock` returns an error.
    pub unlock_errors: UnlockErrors,
    /// What a holder does when its session is done.
    pub on_done: OnDone,
    /// What keeps out the write of a holder whose time is over (row E2).
    pub fence: Fence,
    /// For how long the caller of `Lock` waits at most (its context's deadline), before it calls again.
    pub patience: Option<Micros>,
    /// What `Lock` does when that comes as the wait succeeds (row E11).
    pub context_end: ContextEnd,
    /// What follows when the deletion of a refused `TryLock` fails.
    pub refusal_errors: RefusalErrors,
}

/// What follows when a refused `TryLock` cannot delete its key: whether it is deleted, now or later, is unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum RefusalErrors {
    /// It returns the error, and the key may stay in the queue for as long as its session goes on. The application takes it for a refusal.
    Returned,
    /// The deletion is called again until it is answered. Not in the library.
    CalledAgain,
}

/// How a key in the queue is named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum KeyName {
    /// By the session's lease: who asks again finds its own place.
    Lease,
    /// Drawn anew for each attempt (before 22797c718, #5199).
    DrawnAnew,
}

/// What the application does when `Unlock` returns an error: its outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum UnlockErrors {
    /// It calls `Unlock` again before it does anything else.
    CalledAgain,
    /// It goes on, and something in the background calls `Unlock` again until it succeeds (#22082).
    CalledAgainLater,
}

/// What `Lock` does when the caller's context ends as the wait succeeds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ContextEnd {
    /// It fails.
    Fails,
    /// It deletes its key, and returns nil all the same (before #10111).
    DeletesAndSucceeds,
}

impl Settings {
    /// The library, and an application that looks at `Session.Done`. There is no fencing token in its interface.
    pub const fn as_written() -> Settings {
        Settings {
            session: SessionSettings::DEFAULT,
            key_name: KeyName::Lease,
            checks_own_key: true,
            guards_unlock: false,
            unlock_errors: UnlockErrors::CalledAgain,
            on_done: OnDone::Stop,
            fence: Fence::None,
            patience: None,
            context_end: ContextEnd::Fails,
            refusal_errors: RefusalErrors::Returned,
        }
    }

    /// Every repair at once: the unlock guarded, the deadline counted from the sending, with a margin, and noticed when it comes,
    /// the create revision as token, pings where there are several members, and a key that does not stay after a refusal.
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
            guards_unlock: true,
            fence: Fence::CreateRevision,
            refusal_errors: RefusalErrors::CalledAgain,
            ..Settings::as_written()
        }
    }

    /// The library alone: leases that do not end, calls that are waited for.
    pub const fn timeless() -> Settings {
        Settings { session: SessionSettings::TIMELESS, ..Settings::as_written() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
