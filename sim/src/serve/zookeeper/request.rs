//! What clients say (`zookeeper.jute`, `ZooDefs.OpCode`).

use super::jute::{Damaged, Reader};
use crate::serve::watch::shown;
use bytes::Bytes;
use std::fmt::{Display, Formatter};

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
        data: Bytes,
        acl: Vec<Acl>,
        flags: i32,
        /// The stat is answered, too (`create2` and its like).
        wants_stat: bool,
    },
    Delete {
        path: String,
        version: i32,
    },
    SetData {
        path: String,
        data: Bytes,
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
    /// No record of the type that it says it has.
    Damaged,
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
        let asked = read(kind, &mut reader).unwrap_or(Asked::Damaged);
        Ok(Request { xid, asked })
    }
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
            let changes = several(reader, change)?;
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

fn change(kind: i32, reader: &mut Reader) -> Result<Change, Damaged> {
    let path = reader.string()?;
    Ok(match kind {
        kind::CREATE | kind::CREATE_2 | kind::CREATE_CONTAINER | kind::CREATE_TTL => {
            let (data, acl, flags) = (reader.buffer()?, reader.vector(Acl::read)?, reader.int()?);
            if kind == kind::CREATE_TTL {
                let _ttl = reader.long()?;
            }
            Change::Create { path, data, acl, flags, wants_stat: kind != kind::CREATE }
        }
        kind::DELETE => Change::Delete { path, version: reader.int()? },
        kind::SET_DATA => Change::SetData { path, data: reader.buffer()?, version: reader.int()? },
        kind::CHECK => Change::Check { path, version: reader.int()? },
        _ => return Err(Damaged),
    })
}

/// Whether this says that anybody may do anything, and nothing else.
pub fn is_open(acl: &[Acl]) -> bool {
    !acl.is_empty() && acl.iter().all(|entry| *entry == Acl::open())
}

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
                write!(f, "create{mode} {} {}", shown(path.as_bytes()), shown(data))
            }
            Change::Delete { path, version } => write!(f, "delete {} {version}", shown(path.as_bytes())),
            Change::SetData { path, data, version } => {
                write!(f, "set {} {} {version}", shown(path.as_bytes()), shown(data))
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
            Asked::Damaged => f.write_str("a damaged request"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::jute::Writer;
    use super::*;
    use proptest::prelude::*;

    fn request(write: impl FnOnce(&mut Writer)) -> Request {
        let mut writer = Writer::new();
        write(&mut writer);
        Request::read(writer.frame().slice(4..)).expect("it has a header")
    }

    fn open(writer: &mut Writer) {
        writer.vector(&[Acl::open()], |writer, acl| {
            writer.int(acl.permissions).string(&acl.scheme).string(&acl.id);
        });
    }

    #[test]
    fn a_create_is_read_as_clients_write_it() {
        let read = request(|writer| {
            writer.int(1).int(kind::CREATE).string("/a").buffer(b"x");
            open(writer);
            writer.int(3);
        });
        let (path, data, acl) = ("/a".to_owned(), Bytes::from_static(b"x"), vec![Acl::open()]);
        let create = Change::Create { path, data, acl, flags: 3, wants_stat: false };
        assert_eq!(read, Request { xid: 1, asked: Asked::Change(create) });
        assert_eq!(read.asked.to_string(), "create -s -e /a x");
    }

    #[test]
    fn a_multi_ends_where_its_last_header_says_so() {
        let read = request(|writer| {
            writer.int(9).int(kind::MULTI);
            writer.int(kind::CHECK).bool(false).int(-1).string("/a").int(3);
            writer.int(kind::DELETE).bool(false).int(-1).string("/a").int(-1);
            writer.int(-1).bool(true).int(-1);
        });
        assert_eq!(read.asked.to_string(), "multi check /a 3, delete /a -1");
        let endless = request(|writer| {
            writer.int(9).int(kind::MULTI);
        });
        assert_eq!(endless.asked, Asked::Damaged);
    }

    #[test]
    fn what_is_not_the_record_it_says_is_damaged_and_keeps_its_number() {
        for kind in [kind::CREATE, kind::EXISTS, kind::SET_WATCHES, kind::SET_ACL, kind::AUTH] {
            let read = request(|writer| {
                writer.int(5).int(kind).int(1_000_000);
            });
            assert_eq!(read, Request { xid: 5, asked: Asked::Damaged });
        }
        assert_eq!(Request::read(Bytes::from_static(b"123")), Err(Damaged));
    }

    #[test]
    fn an_old_client_says_nothing_of_reads_only() {
        let hello = |old: bool| {
            let mut writer = Writer::new();
            writer.int(0).long(7).int(10_000).long(0).buffer(&[0; 16]);
            if !old {
                writer.bool(false);
            }
            Hello::read(writer.frame().slice(4..)).expect("it is one")
        };
        assert!(!hello(true).says_read_only && hello(false).says_read_only);
        assert_eq!(hello(true).last_zxid, 7);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_none(
            xid in any::<i32>(),
            kind in prop_oneof![-12..30, 99..110, any::<i32>()],
            rest in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            let frame = [&xid.to_be_bytes()[..], &kind.to_be_bytes(), &rest].concat();
            let read = Request::read(Bytes::from(frame.clone())).expect("it has a header");
            prop_assert_eq!(read.xid, xid);
            // What is said of it is short, whatever it is.
            prop_assert!(read.asked.to_string().len() < 2_000);
            let _any = Hello::read(Bytes::from(frame));
        }
    }
}
