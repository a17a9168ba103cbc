//! The variants of the recipe, as named knobs on one machine.

use crate::stores::zookeeper::session::SessionSettings;
use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// The named knobs. [`Settings::as_written`] is the source's algorithm, [`Settings::repaired`] what it should have been.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How the client holds its session.
    pub session: SessionSettings,
    /// Step 1: the name has a guid, by which a create of unknown outcome is found again (row Z1).
    pub guid: bool,
    /// After a create of unknown outcome the client asks its server to `sync` before it looks for the guid. The source
    /// does not: a server that it came to may be behind, and the create be repeated although it is done.
    pub sync_before_search: bool,
    /// Steps 2 and 4: what a waiter watches.
    pub watch: Watch,
    /// Step 5: an event leads back to step 2. If not, it is taken for the lock.
    pub relists: bool,
    /// What a create or delete of unknown outcome leads to.
    pub retries: Retries,
    /// What a holder does when its connection is gone.
    pub on_connection_loss: OnConnectionLoss,
    /// What keeps out the write of a holder whose time is over.
    pub fence: Fence,
    /// What becomes of the parent.
    pub parent: Parent,
    /// Steps 3 and 4: which number comes first (row Z5).
    pub order: Order,
}

/// What a waiter watches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Watch {
    /// The znode right before its own.
    Predecessor,
    /// The children of the parent: one release wakes everybody (row Z8).
    Parent,
    /// The first znode of all: the same herd, and the wrong one to watch if an event is taken for the lock (row Z7).
    First,
    /// The znode right after its own, as if step 4 sorted the other way; the last one watches itself (row Z7).
    Successor,
}

/// What a create or delete of unknown outcome leads to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Retries {
    /// It is repeated until its outcome is known.
    UntilKnown,
    /// The call ends in an error: a `try_lock` is refused, a release is taken for done, and an application that wants
    /// the lock calls again. What the request may have left behind is nobody's (row Z2).
    GivenUp,
    /// The same, but the library remembers what may have been left behind, and deletes it before anything else
    /// (Curator's `guaranteed` and `findAndDeleteProtectedNodeInBackground`).
    BackgroundDelete,
}

/// What a holder does when its connection is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum OnConnectionLoss {
    /// It stops: it cannot know whether its session goes on.
    Stop,
    /// It goes on until it is told that its session is over (row Z4).
    GoOn,
    /// The same; and if that finds it in the middle of a write inside the ensemble, the library repeats the write in
    /// another session, without a word to the application (Curator's `RetryLoop` takes SESSIONEXPIRED for an error to be
    /// tried again, and its `ZooKeeper` handle is replaced underneath).
    GoOnInAnother,
}

/// What keeps out the write of a holder whose time is over: a token that a grant carries for the resource outside to compare,
/// or, for work inside the ensemble ([`crate::workload::Writes::Store`]), a condition of the write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Fence {
    /// Nothing.
    None,
    /// The zxid of the transaction that created the own znode: it never comes again.
    Czxid,
    /// The number in the znode's name: it begins anew with the parent (row Z13). Needs numbers, not
    /// [`crate::stores::zookeeper::Counter::Order`]; with that the grant carries nothing.
    Sequence,
    /// The write inside the ensemble and a check that the own znode is there are one `multi`: once the znode is gone, by
    /// its session's end or otherwise, nothing is written. Without it the write goes by itself, whatever a grant carries.
    /// A grant carries nothing.
    Check,
}

/// What becomes of the parent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Parent {
    /// It stays, and so does its counter.
    Kept,
    /// Before step 1 a client deletes it, which works if nobody's znode is there; whoever finds no parent creates it
    /// again (the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, WTF #3; Curator's container znodes do it by
    /// themselves).
    RecreatedWhenEmpty,
}

/// Which number comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// The one whose text sorts first, as implementations do.
    Text,
    /// The one from which the other is reached by counting up, should the counter wrap on the way.
    Wrapping,
}

impl Settings {
    /// The source's algorithm; where it is silent, the plainest reading. It says nothing of a holder whose connection is
    /// gone ("нужно приостановить вычисления", WTF #1, is about the client's own steps), and has no fencing token.
    pub const fn as_written() -> Settings {
        Settings {
            session: SessionSettings::DEFAULT,
            guid: true,
            sync_before_search: false,
            watch: Watch::Predecessor,
            relists: true,
            retries: Retries::UntilKnown,
            on_connection_loss: OnConnectionLoss::GoOn,
            fence: Fence::None,
            parent: Parent::Kept,
            order: Order::Text,
        }
    }

    /// Every repair of the catalogue at once.
    pub const fn repaired() -> Settings {
        Settings {
            sync_before_search: true,
            on_connection_loss: OnConnectionLoss::Stop,
            fence: Fence::Czxid,
            parent: Parent::RecreatedWhenEmpty,
            order: Order::Wrapping,
            ..Settings::as_written()
        }
    }

    /// The five steps alone: sessions that do not end, connections that do not break.
    pub const fn steps() -> Settings {
        let session = SessionSettings { timeout: None, reconnect_delay: Micros::ZERO, judges_itself: false };
        Settings { session, ..Settings::as_written() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::as_written()
    }
}
