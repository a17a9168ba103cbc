//! What clients and servers of ZooKeeper say to each other.
//!
//! Source: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service* ("Поддерживаемые операции": exists, create, delete,
//! getData, setData, getChildren, sync) and
//! `zookeeper.jute`, with `multi` and `check` besides.
//!
//! A real connection is a TCP stream. Here messages may be lost, doubled and reordered, and these rules make a stream of
//! them: a connection has a number, drawn by the client, and whoever has another connection now dismisses the message; a
//! server takes only requests whose serial number is above all it has taken on the connection; and a server repeats in
//! everything it sends which watches have fired, until the client shows by its next request that it knows. So the
//! event of a watch comes before, or with, any reply that shows the change.

use super::{Path, SessionId, Zxid};
use crate::time::Micros;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// How a znode is created (`CreateMode.java`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CreateMode {
    /// It stays until it is deleted.
    Persistent,
    /// The same, and the server appends a number to its name.
    PersistentSequential,
    /// It lives as long as the session that created it.
    Ephemeral,
    /// The same, and the server appends a number to its name.
    EphemeralSequential,
}

impl CreateMode {
    /// Whether the server appends a number to the name.
    pub fn is_sequential(self) -> bool {
        matches!(self, CreateMode::PersistentSequential | CreateMode::EphemeralSequential)
    }

    /// Whether the znode goes with its session.
    pub fn is_ephemeral(self) -> bool {
        matches!(self, CreateMode::Ephemeral | CreateMode::EphemeralSequential)
    }
}

/// A change of the tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Write {
    /// `create`.
    Create {
        /// Where; without a suffix if the server is to append one.
        path: Path,
        /// As what.
        mode: CreateMode,
        /// What it holds.
        data: u32,
    },
    /// `delete`.
    Delete {
        /// Which.
        path: Path,
        /// Only if it has this version; `None` is the API's -1.
        version: Option<i32>,
    },
    /// `setData`.
    SetData {
        /// Whose.
        path: Path,
        /// What it will hold.
        data: u32,
        /// Only if it has this version; `None` is the API's -1.
        version: Option<i32>,
    },
    /// `check`: changes nothing, and fails if the znode is not there or has another version. In a `multi` only.
    Check {
        /// Which.
        path: Path,
        /// The version it must have; `None` is the API's -1.
        version: Option<i32>,
    },
}

/// What a client can ask for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// One change.
    Write(Write),
    /// All changes, or none.
    Multi(Vec<Write>),
    /// `exists`. With a watch: for the change or deletion of the znode, or, if it is not there, for its creation.
    Exists {
        /// Which.
        path: Path,
        /// Whether to tell when that changes.
        watch: bool,
    },
    /// `getData`. With a watch: for the change or deletion of the znode.
    GetData {
        /// Whose.
        path: Path,
        /// Whether to tell when that changes.
        watch: bool,
    },
    /// `getChildren`. With a watch: for the creation and deletion of children, and the deletion of the znode.
    GetChildren {
        /// Whose.
        path: Path,
        /// Whether to tell when that changes.
        watch: bool,
    },
    /// `sync`: answered when the server has all that the leader had proposed when it was asked.
    Sync,
    /// `closeSession`: the session ends, and its ephemeral znodes with it.
    CloseSession,
}

/// What `exists`, `getData`, `create2` and `setData` tell of a znode (`Stat` in `zookeeper.jute`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Stat {
    /// Which transaction created it.
    pub czxid: Zxid,
    /// Which last changed the data.
    pub mzxid: Zxid,
    /// Which last created or deleted a child.
    pub pzxid: Zxid,
    /// How often the data was changed.
    pub version: i32,
    /// How often children were created or deleted.
    pub cversion: i32,
    /// How many children there are.
    pub children: i32,
    /// The session it lives with, if it is ephemeral.
    pub owner: Option<SessionId>,
}

/// What a write did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Applied {
    /// A znode was created (`create2`, which returns the stat too).
    Created {
        /// Its path, with what the server appended.
        path: Path,
        /// Its stat.
        stat: Stat,
    },
    /// Data was changed.
    Set {
        /// The new stat.
        stat: Stat,
    },
    /// A znode was deleted, or a check passed.
    Done,
}

/// Why an operation did nothing (`KeeperException.Code`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Error {
    /// There is no such znode, or no parent for it.
    NoNode,
    /// There is such a znode already.
    NodeExists,
    /// The znode has another version.
    BadVersion,
    /// The znode has children.
    NotEmpty,
    /// The parent is ephemeral.
    NoChildrenForEphemerals,
    /// The root cannot be created or deleted.
    BadArguments,
    /// The session is over.
    SessionExpired,
}

/// How an operation ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// The write did this.
    Applied(Applied),
    /// All writes of the `multi` did.
    Multi(Vec<Applied>),
    /// No write of the `multi` did anything.
    MultiFailed {
        /// Which of them could not.
        place: u8,
        /// Why.
        error: Error,
    },
    /// `exists`: it does.
    Exists(Stat),
    /// `getData`.
    Data {
        /// What the znode holds.
        data: u32,
        /// Its stat.
        stat: Stat,
    },
    /// `getChildren`, in no order that means anything.
    Children(SmallVec<[Path; 2]>),
    /// `sync`.
    Synced,
    /// The session is closed.
    SessionClosed,
    /// It did nothing.
    Failed(Error),
}

/// What a watch was set on (`Watcher.WatcherType`, and how `SetWatches` tells two kinds of data watches apart).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum WatchKind {
    /// `getData`, or `exists` of a znode that is there.
    Data,
    /// `exists` of a znode that is not there.
    Absence,
    /// `getChildren`.
    Children,
}

/// A watch that was set and has not fired.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Watch {
    /// The serial number of the request that set it.
    pub serial: u32,
    /// Which znode is watched.
    pub path: Path,
    /// For what.
    pub kind: WatchKind,
}

/// What has happened to a watched znode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum WatchEvent {
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// Its data was changed.
    DataChanged,
    /// A child was created or deleted.
    ChildrenChanged,
}

/// A watch that has fired: it is not set any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Fired {
    /// The serial number of the request that set it.
    pub serial: u32,
    /// Why it fired.
    pub event: WatchEvent,
}

/// The first thing a client says on a connection (`ConnectRequest`, with `SetWatches` right behind it).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Connect {
    /// The number of the connection to be.
    pub serial: u32,
    /// The session it is to go on with; `None` asks for a new one.
    pub session: Option<SessionId>,
    /// The session timeout; `None`: the session does not expire, and the client does not ping. No real client can ask
    /// for that; it keeps the spaces of the exhaustive engine small.
    pub timeout: Option<Micros>,
    /// The largest zxid that the client has seen.
    pub last: Zxid,
    /// The watches that have not fired.
    pub watches: SmallVec<[Watch; 1]>,
}

/// A client's message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Begins a connection.
    Connect(Connect),
    /// Asks for something.
    Do {
        /// On which connection.
        connection: u32,
        /// Tells this client's requests apart, and grows.
        serial: u32,
        /// Which watches the client still waits for: it knows of all others that they have fired.
        waiting: SmallVec<[u32; 2]>,
        /// What it asks for.
        operation: Operation,
    },
    /// Keeps the session alive.
    Ping {
        /// On which connection.
        connection: u32,
        /// From the same counter.
        serial: u32,
        /// As above.
        waiting: SmallVec<[u32; 2]>,
    },
}

/// A server's message to a client.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// On which connection.
    pub connection: u32,
    /// With an outcome: the last transaction that the server had applied. [`Zxid::NONE`] with everything else, which
    /// the real client does not look at (`ClientCnxn.readResponse`; 3.8 sends -1 with an event), and on a connection of
    /// a session that does not expire, which is never begun again.
    pub zxid: Zxid,
    /// Which watches have fired, as far as the server cannot know that the client knows.
    pub fired: SmallVec<[Fired; 1]>,
    /// What it says.
    pub body: Body,
}

impl Reply {
    /// Whether it is the word that a watch has fired, and nothing else: one wake-up of a client (row Z8 counts them).
    pub fn is_event(&self) -> bool {
        self.body == Body::Notified
    }
}

/// What a server says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Body {
    /// The connection stands.
    Connected(SessionId),
    /// There is no connection, for the session is over: SESSIONEXPIRED.
    Expired,
    /// The server has closed the connection, or never had it: CONNECTIONLOSS.
    Closed,
    /// A watch has fired.
    Notified,
    /// The server is alive.
    Pong,
    /// How an operation ended.
    Outcome {
        /// Which.
        serial: u32,
        /// How.
        outcome: Outcome,
    },
}

/// What changed, as the leader tells it, who applies every transaction first. After a leader change the new one may say
/// again what the old one said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A session has an ephemeral znode more.
    Created {
        /// Which znode.
        path: Path,
        /// Whose session it lives with.
        client: u8,
    },
    /// Ephemeral znodes of a client are gone, and it neither deleted them nor closed its session.
    Gone {
        /// Below which znode.
        parent: Path,
        /// Whose they were.
        client: u8,
    },
    /// Of the sequential ephemeral znodes below one, another is now the one that was created first.
    First {
        /// Below which znode.
        parent: Path,
        /// Whose it is.
        client: u8,
    },
    /// A transaction with a `setData` in it was done, or was turned down.
    Set {
        /// What was to be written to.
        path: Path,
        /// By whom.
        client: u8,
        /// Whether it was done.
        done: bool,
    },
    /// A client's watch has fired because an ephemeral znode is gone.
    Notified {
        /// Below which znode that was.
        parent: Path,
        /// Whose watch it is.
        client: u8,
        /// Whose session the znode lived with.
        of: u8,
    },
}
