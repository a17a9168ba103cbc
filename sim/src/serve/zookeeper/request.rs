//! What clients say (`zookeeper.jute`, `ZooDefs.OpCode`).

#[cfg(test)]
mod tests;
pub mod wording;

use super::jute::{Damaged, Reader};
use bytes::Bytes;

/// The first thing a client says (`ConnectRequest`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    pub last_zxid: i64,
    pub timeout_ms: i32,
    /// 0 asks for a new one.
    pub session: i64,
    pub password: Bytes,
    /// Clients before 3.4 do not say whether they would be content with reads, and are not answered to that.
    pub says_read_only: bool,
}

impl Hello {
    /// # Errors
    /// If it is none.
    pub fn read(frame: Bytes) -> Result<Hello, Damaged> {
        let mut reader = Reader::new(frame);
        let _protocol_version = reader.int()?;
        let (last_zxid, timeout_ms, session) = (reader.long()?, reader.int()?, reader.long()?);
        let password = reader.buffer()?;
        let says_read_only = reader.bool().is_ok();
        Ok(Hello { last_zxid, timeout_ms, session, password, says_read_only })
    }
}

/// Who may do what with a znode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acl {
    pub permissions: i32,
    pub scheme: String,
    pub id: String,
}

/// `ZooDefs.Perms.ALL`.
const ALL: i32 = 31;

impl Acl {
    /// The only one that is kept: anybody may do anything (`OPEN_ACL_UNSAFE`).
    pub fn open() -> Acl {
        Acl { permissions: ALL, scheme: "world".to_owned(), id: "anyone".to_owned() }
    }

    fn read(reader: &mut Reader) -> Result<Acl, Damaged> {
        Ok(Acl { permissions: reader.int()?, scheme: reader.string()?, id: reader.string()? })
    }
}

/// A change of the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    Create {
        path: String,
        data: Option<Bytes>,
        acl: Vec<Acl>,
        flags: i32,
        /// The stat is answered, too (`create2` and its like).
        wants_stat: bool,
        /// For how long the znode is to live, in milliseconds, if that is said (`createTTL`).
        time_ms: Option<i64>,
        /// It is a container, whatever its flags say besides (`createContainer`).
        is_container: bool,
    },
    Delete {
        path: String,
        version: i32,
    },
    SetData {
        path: String,
        data: Option<Bytes>,
        version: i32,
    },
    Check {
        path: String,
        version: i32,
    },
}

/// A look at one znode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look {
    Exists,
    Data,
    Children {
        wants_stat: bool,
    },
    /// `getACL`.
    Acl,
    /// `setACL`, with an open one and this version.
    SetAcl {
        version: i32,
        is_open: bool,
    },
}

/// What a client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    Ping,
    Auth {
        scheme: String,
    },
    Close,
    Change(Change),
    Multi(Vec<Change>),
    Look {
        look: Look,
        path: String,
        watch: bool,
    },
    /// `multiRead`.
    Looks(Vec<(Look, String)>),
    Sync {
        path: String,
    },
    SetWatches {
        zxid: i64,
        data: Vec<String>,
        absent: Vec<String>,
        children: Vec<String>,
        has_persistent: bool,
    },
    /// Whether a watch of this kind is set.
    CheckWatches {
        path: String,
        kind: i32,
    },
    RemoveWatches {
        path: String,
        kind: i32,
    },
    Ephemerals {
        prefix: String,
    },
    CountBelow {
        path: String,
    },
    WhoAmI,
    /// What this server does not have, by its type and its name.
    Missing {
        name: &'static str,
    },
    /// `reconfig`, which is off.
    Reconfigure,
    /// What no server has, by its type.
    Unknown(i32),
    /// No record of the type that it says it has. Of a type that changes something, the error takes a place in the order of
    /// all changes.
    Damaged {
        is_change: bool,
    },
}

/// The types of requests.
pub mod kind {
    pub const CREATE: i32 = 1;
    pub const DELETE: i32 = 2;
    pub const EXISTS: i32 = 3;
    pub const GET_DATA: i32 = 4;
    pub const SET_DATA: i32 = 5;
    pub const GET_ACL: i32 = 6;
    pub const SET_ACL: i32 = 7;
    pub const GET_CHILDREN: i32 = 8;
    pub const SYNC: i32 = 9;
    pub const PING: i32 = 11;
    pub const GET_CHILDREN_2: i32 = 12;
    pub const CHECK: i32 = 13;
    pub const MULTI: i32 = 14;
    pub const CREATE_2: i32 = 15;
    pub const RECONFIG: i32 = 16;
    pub const CHECK_WATCHES: i32 = 17;
    pub const REMOVE_WATCHES: i32 = 18;
    pub const CREATE_CONTAINER: i32 = 19;
    pub const CREATE_TTL: i32 = 21;
    pub const MULTI_READ: i32 = 22;
    pub const AUTH: i32 = 100;
    pub const SET_WATCHES: i32 = 101;
    pub const SASL: i32 = 102;
    pub const GET_EPHEMERALS: i32 = 103;
    pub const COUNT_BELOW: i32 = 104;
    pub const SET_WATCHES_2: i32 = 105;
    pub const ADD_WATCH: i32 = 106;
    pub const WHO_AM_I: i32 = 107;
    pub const CLOSE: i32 = -11;
    pub const ERROR: i32 = -1;
}

/// More changes in one `multi` than these are not taken: the simulated server counts them in a byte.
pub const CHANGES_MAX: usize = 255;

/// A request, with the number that its answer has, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    pub xid: i32,
    pub asked: Asked,
}

impl Request {
    /// # Errors
    /// If it has no header.
    pub fn read(frame: Bytes) -> Result<Request, Damaged> {
        let mut reader = Reader::new(frame);
        let (xid, kind) = (reader.int()?, reader.int()?);
        let asked = read(kind, &mut reader).unwrap_or(Asked::Damaged { is_change: changes(kind) });
        Ok(Request { xid, asked })
    }
}

/// Whether requests of this type change something.
fn changes(kind: i32) -> bool {
    matches!(
        kind,
        kind::CREATE
            | kind::DELETE
            | kind::SET_DATA
            | kind::SET_ACL
            | kind::MULTI
            | kind::CREATE_2
            | kind::CREATE_CONTAINER
            | kind::CREATE_TTL
    )
}

fn read(kind: i32, reader: &mut Reader) -> Result<Asked, Damaged> {
    let look = |look: Look, reader: &mut Reader| {
        Ok(Asked::Look { look, path: reader.string()?, watch: reader.bool()? })
    };
    Ok(match kind {
        kind::PING => Asked::Ping,
        kind::CLOSE => Asked::Close,
        kind::AUTH => {
            let _kind = reader.int()?;
            Asked::Auth { scheme: reader.string()? }
        }
        kind::CREATE
        | kind::CREATE_2
        | kind::CREATE_CONTAINER
        | kind::CREATE_TTL
        | kind::DELETE
        | kind::SET_DATA => Asked::Change(change(kind, reader)?),
        kind::EXISTS => look(Look::Exists, reader)?,
        kind::GET_DATA => look(Look::Data, reader)?,
        kind::GET_CHILDREN => look(Look::Children { wants_stat: false }, reader)?,
        kind::GET_CHILDREN_2 => look(Look::Children { wants_stat: true }, reader)?,
        kind::GET_ACL => Asked::Look { look: Look::Acl, path: reader.string()?, watch: false },
        kind::SET_ACL => {
            let (path, acl, version) = (reader.string()?, reader.vector(Acl::read)?, reader.int()?);
            Asked::Look { look: Look::SetAcl { version, is_open: is_open(&acl) }, path, watch: false }
        }
        kind::SYNC => Asked::Sync { path: reader.string()? },
        kind::MULTI => {
            let changes = several(reader, part)?;
            if changes.len() > CHANGES_MAX {
                Asked::Missing { name: "a multi of so many" }
            } else {
                Asked::Multi(changes)
            }
        }
        kind::MULTI_READ => Asked::Looks(several(reader, |kind, reader| {
            let look = match kind {
                kind::GET_DATA => Look::Data,
                kind::GET_CHILDREN => Look::Children { wants_stat: false },
                _ => return Err(Damaged),
            };
            let path = reader.string()?;
            let _watch = reader.bool()?;
            Ok((look, path))
        })?),
        kind::SET_WATCHES | kind::SET_WATCHES_2 => {
            let zxid = reader.long()?;
            let mut paths = || reader.vector(Reader::string);
            let (data, absent, children) = (paths()?, paths()?, paths()?);
            let has_persistent = kind == kind::SET_WATCHES_2 && !(paths()?.is_empty() && paths()?.is_empty());
            Asked::SetWatches { zxid, data, absent, children, has_persistent }
        }
        kind::CHECK_WATCHES => Asked::CheckWatches { path: reader.string()?, kind: reader.int()? },
        kind::REMOVE_WATCHES => Asked::RemoveWatches { path: reader.string()?, kind: reader.int()? },
        kind::GET_EPHEMERALS => Asked::Ephemerals { prefix: reader.string()? },
        kind::COUNT_BELOW => Asked::CountBelow { path: reader.string()? },
        kind::WHO_AM_I => Asked::WhoAmI,
        kind::RECONFIG => Asked::Reconfigure,
        kind::ADD_WATCH => Asked::Missing { name: "addWatch" },
        kind::SASL => Asked::Unknown(kind),
        other => Asked::Unknown(other),
    })
}

/// Operations until the last header says that there are no more (`MultiOperationRecord.java`).
fn several<T>(
    reader: &mut Reader,
    read: impl Fn(i32, &mut Reader) -> Result<T, Damaged>,
) -> Result<Vec<T>, Damaged> {
    let mut all = Vec::new();
    loop {
        let (kind, done, _error) = (reader.int()?, reader.bool()?, reader.int()?);
        if done {
            return Ok(all);
        }
        all.push(read(kind, reader)?);
    }
}

/// A change in a `multi`, where only containers are answered with their stat (`Op.Create.getOpcode`).
fn part(kind: i32, reader: &mut Reader) -> Result<Change, Damaged> {
    let mut change = change(kind, reader)?;
    if let Change::Create { flags, wants_stat, time_ms, is_container, .. } = &mut change {
        (*wants_stat, *is_container) = (*flags == 4, false);
        // A time that the flags do not ask for is not looked at.
        *time_ms = time_ms.filter(|_| matches!(flags, 5 | 6));
    }
    Ok(change)
}

fn change(kind: i32, reader: &mut Reader) -> Result<Change, Damaged> {
    let path = reader.string()?;
    Ok(match kind {
        kind::CREATE | kind::CREATE_2 | kind::CREATE_CONTAINER | kind::CREATE_TTL => {
            let (data, acl, flags) = (reader.nullable()?, reader.vector(Acl::read)?, reader.int()?);
            let time_ms = if kind == kind::CREATE_TTL { Some(reader.long()?) } else { None };
            let (wants_stat, is_container) = (kind != kind::CREATE, kind == kind::CREATE_CONTAINER);
            Change::Create { path, data, acl, flags, wants_stat, time_ms, is_container }
        }
        kind::DELETE => Change::Delete { path, version: reader.int()? },
        kind::SET_DATA => Change::SetData { path, data: reader.nullable()?, version: reader.int()? },
        kind::CHECK => Change::Check { path, version: reader.int()? },
        _ => return Err(Damaged),
    })
}

/// Whether this says that anybody may do anything, and nothing else.
pub fn is_open(acl: &[Acl]) -> bool {
    !acl.is_empty() && acl.iter().all(|entry| *entry == Acl::open())
}
