//! How the served Redis is configured.

use picklock_model::stores::redis::{Eviction, Layout, Persistence};
use picklock_model::time::EPOCH_UNIX_MICROS;
use serde::{Deserialize, Serialize};

/// How the servers are configured. The same on all of them.
///
/// The choices are those of the [model's Redis](picklock_model::stores::redis::Settings). What a real server has not is
/// not here: expiry by another clock, another tenant (connect one), a server that waits before it serves (start it later).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Independent masters, or one master with replicas.
    pub layout: Layout,
    /// What survives the end of the process, and a power loss.
    pub persistence: Persistence,
    /// What happens when there are more keys than `keys_max`.
    pub eviction: Eviction,
    /// How many keys fit into the memory; `None`: any number.
    pub keys_max: Option<u16>,
    /// What every wall clock shows at true time zero, in microseconds since 1970, before anything is wrong with it.
    pub date: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            layout: Layout::default(),
            persistence: Persistence::default(),
            eviction: Eviction::default(),
            keys_max: None,
            date: EPOCH_UNIX_MICROS,
        }
    }
}
