//! The variants of etcd's election, as named knobs on one machine.

pub use crate::locks::etcd_keys::{Fence, OnDone};
use crate::stores::etcd::session::{Deadline, PINGS, SessionSettings};
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the library at commit c34dc7ee0, [`Settings::repaired`] what it should be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How the client asks, and how it holds its session.
    pub session: SessionSettings,
    /// What the candidates propose.
    pub proposal: Proposal,
    /// After waiting the candidate looks whether its own key is still there (row E3; not in the library).
    pub checks_own_key: bool,
    /// What follows when `Resign` returns an error.
    pub resign_errors: ResignErrors,
    /// For how long a candidate keeps its session (row E15).
    pub sessions: Sessions,
    /// What a leader does when its session is done.
    pub on_done: OnDone,
    /// What keeps out the write of a leader whose time is over.
    pub fence: Fence,
    /// For how long the caller of `Campaign` waits at most (its context's deadline), before it calls again.
    pub patience: Option<Micros>,
}

/// What a candidate proposes: the value of its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Proposal {
    /// Its own name, always.
    Name,
    /// Another value with every call of `Campaign`: a key that is there already is proclaimed anew.
    DrawnAnew,
}

/// What follows when `Resign` returns an error: whether the key is deleted, now or later, is unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ResignErrors {
    /// The library has forgotten which key it was, and `Resign` called again does nothing (#22123): the application goes on.
    Forgotten,
    /// The library still knows, and the application calls again until it is answered (proposed in #22211).
    CalledAgain,
    /// The application orphans the session, whose lease then ends, and begins another one. Needs no change of the library.
    SessionOrphaned,
}

/// For how long a candidate keeps its session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Sessions {
    /// For good, campaign after campaign.
    Kept,
    /// Until it has resigned: it leaves the session, whose lease then ends, and takes another for the next campaign.
    OneEach,
}

impl Settings {
    /// The library, and an application that looks at `Session.Done`. `Rev` would be a token; the library's examples have no use
    /// for it.
    pub const fn as_written() -> Settings {
        Settings {
            session: SessionSettings::DEFAULT,
            proposal: Proposal::Name,
            checks_own_key: false,
            resign_errors: ResignErrors::Forgotten,
            sessions: Sessions::Kept,
            on_done: OnDone::Stop,
            fence: Fence::None,
            patience: None,
        }
    }

    /// Every repair at once: a look at the own key, a resignation that is repeated, the deadline counted from the sending, with a
    /// margin, and noticed when it comes, the create revision as token, pings where there are several members. All but that of row E15, a session for every
    /// campaign: it costs a lease each time.
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
            checks_own_key: true,
            resign_errors: ResignErrors::CalledAgain,
            fence: Fence::CreateRevision,
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
