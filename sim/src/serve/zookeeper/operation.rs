//! What clients ask for, as the simulated servers are asked for it.

use super::answer::code;
use super::names::Names;
use super::request::{Asked, Change, Look, is_open};
use super::reserved::{Reserved, reserved};
use picklock_model::stores::zookeeper::{CreateMode, Operation, Path, Write};

/// What the layer above the servers turns down, in the place of the server that would have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Which of the changes.
    pub place: usize,
    /// With which code.
    pub code: i32,
}

/// What a server is asked for, one operation after the other in one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub operations: Vec<Operation>,
    pub refusal: Option<Refusal>,
}

/// What is asked in the place of a change that is turned down: it fails, too, and takes its place in the order of all, as the
/// real server's error does.
const FAILS: Write = Write::Delete { path: Path::Root, version: None };

/// What a server is to be asked; `None`: that is answered without.
pub fn plan(asked: &Asked, names: &mut Names) -> Option<Plan> {
    Some(match asked {
        Asked::Change(change) => match write_of(change, names) {
            Ok(write) => Plan { operations: vec![Operation::Write(write)], refusal: None },
            Err(code) => {
                let refusal = Some(Refusal { place: 0, code });
                Plan { operations: vec![Operation::Write(FAILS)], refusal }
            }
        },
        Asked::Multi(changes) => {
            let (mut writes, mut refusal) = (Vec::new(), None);
            for (place, change) in changes.iter().enumerate() {
                let written = match lacks_its_time(change) {
                    true => Err(code::MARSHALLING_ERROR),
                    false => write_of(change, names),
                };
                match written {
                    Ok(write) => writes.push(write),
                    Err(code) => {
                        writes.push(FAILS);
                        refusal = Some(Refusal { place, code });
                        break;
                    }
                }
            }
            Plan { operations: vec![Operation::Multi(writes)], refusal }
        }
        Asked::Look { look, path, watch } => {
            let code = match look {
                Look::Exists if path.contains('\0') => Some(code::BAD_ARGUMENTS),
                Look::SetAcl { .. } if !is_valid(path) => Some(code::BAD_ARGUMENTS),
                Look::SetAcl { is_open: false, .. } => Some(code::INVALID_ACL),
                _ => None,
            };
            let watch = *watch && code.is_none();
            Plan {
                operations: vec![look_at(look, path, watch, names)],
                refusal: code.map(|code| Refusal { place: 0, code }),
            }
        }
        Asked::Looks(looks) => {
            let operations = looks.iter().map(|(look, path)| look_at(look, path, false, names)).collect();
            Plan { operations, refusal: None }
        }
        Asked::Damaged { is_change: true } => Plan {
            operations: vec![Operation::Write(FAILS)],
            refusal: Some(Refusal { place: 0, code: code::MARSHALLING_ERROR }),
        },
        Asked::Sync { .. } => Plan { operations: vec![Operation::Sync], refusal: None },
        Asked::Close => Plan { operations: vec![Operation::CloseSession], refusal: None },
        Asked::Ping
        | Asked::Auth { .. }
        | Asked::SetWatches { .. }
        | Asked::CheckWatches { .. }
        | Asked::RemoveWatches { .. }
        | Asked::Ephemerals { .. }
        | Asked::CountBelow { .. }
        | Asked::WhoAmI
        | Asked::Missing { .. }
        | Asked::Reconfigure
        | Asked::Unknown(_)
        | Asked::Damaged { is_change: false } => return None,
    })
}

/// What is to live for a time, and does not say for how long: the real server comes upon that when it looks at the change, and
/// answers the whole `multi` with an error.
fn lacks_its_time(change: &Change) -> bool {
    matches!(change, Change::Create { flags: 5 | 6, time_ms: None, .. })
}

fn look_at(look: &Look, path: &str, watch: bool, names: &mut Names) -> Operation {
    match look {
        // Only what is waited for has to be told apart from all else that is not there.
        Look::Exists | Look::Acl | Look::SetAcl { .. } => {
            let path = if watch { names.path(path) } else { names.find(path) };
            Operation::Exists { path, watch }
        }
        Look::Data => Operation::GetData { path: names.find(path), watch },
        Look::Children { .. } => Operation::GetChildren { path: names.find(path), watch },
    }
}

/// A change in numbers, or the code with which it is turned down (`PrepRequestProcessor.pRequest2Txn`).
fn write_of(change: &Change, names: &mut Names) -> Result<Write, i32> {
    Ok(match change {
        Change::Create { path, data, acl, flags, time_ms, is_container, .. } => {
            let mode = match flags {
                1 if *is_container => CreateMode::Persistent,
                3 if *is_container => CreateMode::PersistentSequential,
                0 => CreateMode::Persistent,
                1 => CreateMode::Ephemeral,
                2 => CreateMode::PersistentSequential,
                3 => CreateMode::EphemeralSequential,
                // A container, which nobody takes away here when it is empty.
                4 => CreateMode::Persistent,
                // With a time to live: `extendedTypesEnabled` is off, as it is by default.
                5 | 6 => return Err(code::UNIMPLEMENTED),
                _ => return Err(code::BAD_ARGUMENTS),
            };
            // Only what has a time to live may have one (`EphemeralType.validateTTL`).
            if time_ms.is_some_and(|time_ms| time_ms >= 0) {
                return Err(code::BAD_ARGUMENTS);
            }
            if !path.contains('/') || path.contains('\0') {
                return Err(code::BAD_ARGUMENTS);
            }
            if !is_open(acl) {
                return Err(code::INVALID_ACL);
            }
            let path = match mode.is_sequential() {
                true if is_valid(&format!("{path}0")) => names.sequential(path),
                false if path == "/" || reserved(path).is_some() => return Err(code::NODE_EXISTS),
                false if is_valid(path) => names.path(path),
                true | false => return Err(code::BAD_ARGUMENTS),
            };
            Write::Create { path, mode, data: names.data(data.as_ref()) }
        }
        Change::Delete { path, version } => {
            if !path.contains('/') || path.contains('\0') || path == "/" || reserved(path).is_some() {
                return Err(code::BAD_ARGUMENTS);
            }
            Write::Delete { path: names.find(path), version: version_of(*version) }
        }
        Change::SetData { path, data, version } => {
            if !is_valid(path) {
                return Err(code::BAD_ARGUMENTS);
            }
            if reserved(path).is_some_and(Reserved::is_read_only) {
                return Err(code::NO_AUTH);
            }
            Write::SetData {
                path: names.find(path),
                data: names.data(data.as_ref()),
                version: version_of(*version),
            }
        }
        Change::Check { path, version } => {
            if !is_valid(path) {
                return Err(code::BAD_ARGUMENTS);
            }
            if reserved(path).is_some() {
                return match version {
                    // What is always there, whatever its version.
                    -1 | 0 => Ok(Write::Check { path: Path::Root, version: None }),
                    _ => Err(code::BAD_VERSION),
                };
            }
            Write::Check { path: names.find(path), version: version_of(*version) }
        }
    })
}

/// -1 is any.
fn version_of(version: i32) -> Option<i32> {
    (version != -1).then_some(version)
}

/// `PathUtils.validatePath`.
pub fn is_valid(path: &str) -> bool {
    let Some(below) = path.strip_prefix('/') else { return false };
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    // Java looks at halves of characters above 0xffff, which are not allowed.
    let is_letter = |letter: char| !matches!(letter, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..);
    below.is_empty() || (below.split('/').all(is_name) && below.chars().all(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_the_real_servers() {
        for path in ["/", "/a", "/a/b.c", "/a/...", "/ä", "/a b"] {
            assert!(is_valid(path), "{path}");
        }
        for path in [
            "",
            "a",
            "a/b",
            "//",
            "/a/",
            "/a//b",
            "/.",
            "/a/..",
            "/a/./b",
            "/\0",
            "/\n",
            "/\u{7f}",
            "/\u{e000}",
            "/🔒",
        ] {
            assert!(!is_valid(path), "{path:?}");
        }
    }
}
