//! The znodes that the real server has from the beginning (`DataTree`, `ZooDefs`), as far as a client can look at them.
//!
//! The simulated servers do not have them. So nobody writes them, and nothing is ever below them but each other, where the real
//! server lets clients do both. The configuration is empty, as that of a server that is alone.

use super::jute::Writer;
use super::request::Acl;
use picklock_model::stores::zookeeper::Stat;

/// What is below the root.
pub const ZOOKEEPER: &str = "zookeeper";
const CONFIG: &str = "/zookeeper/config";

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved {
    path: &'static str,
    pub children: &'static [&'static str],
    /// How often children were created or deleted, and how often the access list was changed.
    cversion: i32,
    acl_version: i32,
}

const ALL: [Reserved; 3] = [
    Reserved { path: "/zookeeper", children: &["config", "quota"], cversion: -2, acl_version: 0 },
    Reserved { path: CONFIG, children: &[], cversion: 0, acl_version: -1 },
    Reserved { path: "/zookeeper/quota", children: &[], cversion: 0, acl_version: 0 },
];

/// The one at this path.
pub fn reserved(path: &str) -> Option<&'static Reserved> {
    ALL.iter().find(|reserved| reserved.path == path)
}

/// How many of them are below this path.
pub fn count_below(path: &str) -> usize {
    let below = format!("{}/", path.trim_end_matches('/'));
    ALL.iter().filter(|reserved| reserved.path.starts_with(&below)).count()
}

/// What clients see of the stat of the znode at this path: the root has a child more than it seems, and counts from -1 how often
/// children were created or deleted.
pub fn seen(path: &str, stat: &Stat) -> Stat {
    match path {
        "/" => Stat {
            children: stat.children.saturating_add(1),
            cversion: stat.cversion.wrapping_sub(1),
            ..*stat
        },
        _ => *stat,
    }
}

impl Reserved {
    /// Nobody may write it.
    pub fn is_read_only(&self) -> bool {
        self.path == CONFIG
    }

    pub fn acl(&self) -> Acl {
        const READ: i32 = 1;
        match self.is_read_only() {
            true => Acl { permissions: READ, ..Acl::open() },
            false => Acl::open(),
        }
    }

    /// It was there before all transactions, and holds nothing.
    pub fn stat(&self, writer: &mut Writer) {
        let children = i32::try_from(self.children.len()).unwrap_or(i32::MAX);
        writer.long(0).long(0).long(0).long(0);
        writer.int(0).int(self.cversion).int(self.acl_version);
        writer.long(0).int(0).int(children).long(0);
    }
}
