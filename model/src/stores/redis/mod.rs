//! Redis, as far as document 001 and its locks need it.

mod protocol;

pub use protocol::*;

use crate::time::Micros;
use serde::{Deserialize, Serialize};

/// How the servers are configured. The same on all of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Independent masters, or one master with replicas.
    pub layout: Layout,
    /// Which clock says that a key has expired.
    pub expiry_clock: ExpiryClock,
    /// What survives the end of the process, and a power loss.
    pub persistence: Persistence,
    /// For how long a server that starts again turns nobody's request down and answers none, on its monotonic clock
    /// (document 001: "stays unavailable for a bit more than the largest TTL in use"). `None`: it serves at once.
    pub restart_delay: Option<Micros>,
    /// What happens when there are more keys than `keys_max`.
    pub eviction: Eviction,
    /// How many keys fit into the memory; `None`: any number.
    pub keys_max: Option<u16>,
    /// Somebody else who uses the same servers.
    pub tenant: Option<Tenant>,
}

/// How the servers stand to each other.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Layout {
    /// All are masters and know nothing of each other (Redlock).
    #[default]
    Independent,
    /// The first is a master, all others are its replicas; when they miss it for too long, the next one is promoted.
    Replicated {
        /// How often a master tells its replicas that it lives, and how much it has written.
        ping_period: Micros,
        /// For how long a replica hears nothing before it takes its master for dead (Sentinel's
        /// `down-after-milliseconds`).
        down_after: Micros,
    },
}

/// Which clock says that a key has expired.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ExpiryClock {
    /// The wall clock, as in the real server (`src/server.c` `ustime`, `src/db.c` `keyIsExpired`).
    #[default]
    Wall,
    /// The monotonic clock: what the catalogue proposes (row R3).
    Monotonic,
}

/// What survives the end of the process, and a power loss.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Persistence {
    /// Nothing: neither AOF nor snapshots.
    #[default]
    None,
    /// `appendfsync everysec`: the end of the process costs nothing, a power loss what was written since the last sync.
    AofEverySecond,
    /// `appendfsync always`: nothing that was acknowledged is lost.
    AofAlways,
}

/// `maxmemory-policy`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Eviction {
    /// `noeviction`: commands that may grow the memory are turned down.
    #[default]
    No,
    /// `allkeys-lru`: the key goes that was not used for longest.
    AllKeysLru,
}

/// Somebody else who uses the same servers, by a monotonic timer of the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tenant {
    /// How often.
    pub period: Micros,
    /// What.
    pub does: TenantDoes,
}

/// What the other tenant does each time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TenantDoes {
    /// Writes a new key of its own.
    Writes,
    /// `FLUSHALL`.
    FlushesAll,
}
