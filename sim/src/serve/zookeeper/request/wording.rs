//! Requests as the record has them.

use super::{Asked, Change, Look};
use crate::serve::watch::shown;
use std::fmt::{Display, Formatter};

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::Create { path, data, flags, .. } => {
                let mode = match flags {
                    1 => " -e",
                    2 => " -s",
                    3 => " -s -e",
                    4 => " -c",
                    5 => " -t",
                    6 => " -s -t",
                    _ => "",
                };
                write!(f, "create{mode} {} {}", shown(path.as_bytes()), held(data.as_deref()))
            }
            Change::Delete { path, version } => write!(f, "delete {} {version}", shown(path.as_bytes())),
            Change::SetData { path, data, version } => {
                write!(f, "set {} {} {version}", shown(path.as_bytes()), held(data.as_deref()))
            }
            Change::Check { path, version } => write!(f, "check {} {version}", shown(path.as_bytes())),
        }
    }
}

impl Look {
    fn name(&self) -> &'static str {
        match self {
            Look::Exists => "exists",
            Look::Data => "get",
            Look::Children { .. } => "ls",
            Look::Acl => "getAcl",
            Look::SetAcl { .. } => "setAcl",
        }
    }
}

impl Display for Asked {
    /// In the words of ZooKeeper's own command line.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Asked::Ping => f.write_str("ping"),
            Asked::Auth { scheme } => write!(f, "addauth {}", shown(scheme.as_bytes())),
            Asked::Close => f.write_str("close"),
            Asked::Change(change) => write!(f, "{change}"),
            Asked::Multi(changes) => {
                f.write_str("multi")?;
                for (place, change) in changes.iter().take(8).enumerate() {
                    write!(f, "{} {change}", if place == 0 { "" } else { "," })?;
                }
                if changes.len() > 8 { f.write_str(", …") } else { Ok(()) }
            }
            Asked::Look { look, path, watch } => {
                write!(f, "{}{} {}", look.name(), if *watch { " -w" } else { "" }, shown(path.as_bytes()))
            }
            Asked::Looks(looks) => write!(f, "multiRead of {}", looks.len()),
            Asked::Sync { path } => write!(f, "sync {}", shown(path.as_bytes())),
            Asked::SetWatches { data, absent, children, .. } => {
                write!(f, "setWatches of {}", data.len() + absent.len() + children.len())
            }
            Asked::CheckWatches { path, .. } => write!(f, "checkWatches {}", shown(path.as_bytes())),
            Asked::RemoveWatches { path, .. } => write!(f, "removewatches {}", shown(path.as_bytes())),
            Asked::Ephemerals { prefix } => write!(f, "getEphemerals {}", shown(prefix.as_bytes())),
            Asked::CountBelow { path } => write!(f, "getAllChildrenNumber {}", shown(path.as_bytes())),
            Asked::WhoAmI => f.write_str("whoami"),
            Asked::Missing { name } => f.write_str(name),
            Asked::Reconfigure => f.write_str("reconfig"),
            Asked::Unknown(kind) => write!(f, "request of type {kind}"),
            Asked::Damaged { .. } => f.write_str("a damaged request"),
        }
    }
}

/// What a znode holds, and not too much of it.
pub fn held(data: Option<&[u8]>) -> String {
    match data {
        None => "null".to_owned(),
        Some([]) => "\"\"".to_owned(),
        Some(data) => shown(data),
    }
}

#[cfg(test)]
mod tests {
    use super::held;

    #[test]
    fn what_is_empty_is_seen() {
        let shown = [None, Some(&b""[..]), Some(&b"x"[..])].map(held);
        assert_eq!(shown, ["null", "\"\"", "x"]);
    }
}
