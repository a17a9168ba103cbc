//! How the servers are configured, and which of their flaws are at work.

use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// How the servers are configured. The same on all of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How servers find out that another is gone. `None`: they do not, and the leader of the beginning leads for
    /// good; then no message between servers may be lost, and no server crash.
    pub election: Option<Election>,
    /// Whether the leader waits for a quorum.
    pub acknowledgements: Acknowledgements,
    /// Which clock of the leader counts the time of sessions.
    pub session_clock: SessionClock,
    /// What becomes of a session's ephemeral znodes.
    pub ephemerals: Ephemerals,
    /// When a transaction is on the disk.
    pub log: Log,
    /// What a sequence number is, and what happens after the largest.
    pub sequence: Counter,
    /// The first sequence number below the first znode: how many children it has ever had when the run begins.
    pub first_sequence: i32,
    /// For tests of tests: how the servers break their own contract.
    pub flaw: Flaw,
    /// There is nothing but the root when the run begins; else there are the znodes that the users' first two words name.
    pub starts_empty: bool,
}

/// How servers find out that another is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Election {
    /// How often a leader tells its followers that it lives, on its monotonic clock (half a `tickTime`).
    pub heartbeat: Micros,
    /// After how long without a sign of life a follower gives its leader up, and a leader a follower (`syncLimit`).
    /// Server *n* waits *n* heartbeats longer before it stands itself, so that not all stand at once.
    pub timeout: Micros,
}

/// Whether the leader waits for a quorum before it commits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Acknowledgements {
    /// It does, and followers apply what it says is committed.
    #[default]
    Awaited,
    /// It takes them for granted: what it proposes is committed, and a follower applies it when it comes. For the
    /// exhaustive engine and ensembles in which nothing fails: all that is left of one is how far its followers lag. Any
    /// number of servers will do.
    Assumed,
}

/// Which clock of the leader counts the time of sessions.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum SessionClock {
    /// The monotonic one, since 3.5 (`Time.currentElapsedTime`, ZOOKEEPER-1366).
    #[default]
    Monotonic,
    /// The wall clock, as before: when it jumps, all sessions expire.
    Wall,
}

/// What becomes of a session's ephemeral znodes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Ephemerals {
    /// They go when it ends.
    #[default]
    GoWithTheirSession,
    /// They stay: what ZOOKEEPER-1208 and ZOOKEEPER-2355 came to, each in its own way.
    StayBehind,
}

/// When a transaction is on the disk.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Log {
    /// Before it is acknowledged.
    #[default]
    Synced,
    /// Some time later (`forceSync=no`). The worst case is modelled: a server that loses power loses everything.
    Unsynced,
}

/// What a sequence number is, and what happens after 2147483647.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Counter {
    /// Since 3.6 (ZOOKEEPER-3249: "if (parentCVersion > parent.stat.getCversion())" in `DataTree.createNode`) the
    /// stored counter stays at 2147483647, and every later child gets this number; `tests/zookeeper_server.rs` sees a real
    /// one do it.
    ///
    /// A create that is prepared while the one before it is still outstanding is numbered from that one's change, so a
    /// burst goes on at -2147483648 and falls back to 2147483647 when the leader comes to rest. That window is left out.
    #[default]
    Sticks,
    /// Up to 3.5: it goes on at -2147483648, as the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, says.
    Wraps,
    /// Not a number at all, but the order of creation: see [`super::Suffix::Order`]. For the exhaustive engine.
    Order,
}

/// A way to break the contract, for tests that must find it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Flaw {
    /// None: the real server.
    #[default]
    None,
    /// A follower logs whatever proposal comes, missing the ones before.
    SkipsGaps,
    /// A server takes clients that have seen more than it has.
    TakesClientsAhead,
    /// The leader commits what nobody has but itself.
    CommitsAlone,
    /// A watch's event is sent, but not repeated in the replies that show the change.
    EventsAfterReplies,
    /// The sequence number is the number of children that there are.
    SequenceCountsChildren,
}
