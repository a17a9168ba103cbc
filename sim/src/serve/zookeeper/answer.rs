//! What servers answer, in bytes, with the codes of the real server (`KeeperException.Code`).

use super::desk::Heard;
use super::jute::Writer;
use super::names::{Names, session_id};
use super::operation::Refusal;
use super::request::{Acl, Asked, Change, Look, kind, wording};
use super::reserved::{Reserved, ZOOKEEPER, reserved, seen};
use crate::serve::watch::shown;
use bytes::Bytes;
use picklock_model::stores::zookeeper::{Applied, Error, Outcome, Path, Stat, WatchEvent, Zxid};
use std::collections::BTreeMap;

/// The codes of errors.
pub mod code {
    pub const OK: i32 = 0;
    pub const RUNTIME_INCONSISTENCY: i32 = -2;
    pub const MARSHALLING_ERROR: i32 = -5;
    pub const UNIMPLEMENTED: i32 = -6;
    pub const BAD_ARGUMENTS: i32 = -8;
    pub const NO_NODE: i32 = -101;
    pub const NO_AUTH: i32 = -102;
    pub const BAD_VERSION: i32 = -103;
    pub const NO_CHILDREN_FOR_EPHEMERALS: i32 = -108;
    pub const NODE_EXISTS: i32 = -110;
    pub const NOT_EMPTY: i32 = -111;
    pub const SESSION_EXPIRED: i32 = -112;
    pub const INVALID_ACL: i32 = -114;
    pub const AUTH_FAILED: i32 = -115;
    pub const NO_WATCHER: i32 = -121;
    pub const RECONFIG_DISABLED: i32 = -123;
}

/// The numbers that answers have which nobody has asked for, and pings.
pub mod xid {
    pub const EVENT: i32 = -1;
    pub const PING: i32 = -2;
}

/// `KeeperState.SyncConnected`.
const CONNECTED: i32 = 3;

/// The code of an error.
pub fn code_of(error: Error) -> i32 {
    match error {
        Error::NoNode => code::NO_NODE,
        Error::NodeExists => code::NODE_EXISTS,
        Error::BadVersion => code::BAD_VERSION,
        Error::NotEmpty => code::NOT_EMPTY,
        Error::NoChildrenForEphemerals => code::NO_CHILDREN_FOR_EPHEMERALS,
        Error::BadArguments => code::BAD_ARGUMENTS,
        Error::SessionExpired => code::SESSION_EXPIRED,
    }
}

fn name_of(code: i32) -> String {
    let name = match code {
        code::RUNTIME_INCONSISTENCY => "RuntimeInconsistency",
        code::MARSHALLING_ERROR => "MarshallingError",
        code::UNIMPLEMENTED => "Unimplemented",
        code::BAD_ARGUMENTS => "BadArguments",
        code::NO_NODE => "NoNode",
        code::NO_AUTH => "NoAuth",
        code::BAD_VERSION => "BadVersion",
        code::NO_CHILDREN_FOR_EPHEMERALS => "NoChildrenForEphemerals",
        code::NODE_EXISTS => "NodeExists",
        code::NOT_EMPTY => "NotEmpty",
        code::SESSION_EXPIRED => "SessionExpired",
        code::INVALID_ACL => "InvalidACL",
        code::AUTH_FAILED => "AuthFailed",
        code::NO_WATCHER => "NoWatcher",
        code::RECONFIG_DISABLED => "ReconfigDisabled",
        other => return format!("error {other}"),
    };
    name.to_owned()
}

/// A message to a client.
#[derive(Clone, Debug)]
pub struct Answer {
    pub bytes: Bytes,
    /// What it says, for the record.
    pub text: String,
}

/// The number of a transaction, as clients see it.
pub fn zxid_number(zxid: Zxid) -> i64 {
    zxid.token().0
}

/// The transaction of this number.
pub fn zxid_of(number: i64) -> Zxid {
    match number {
        ..=0 => Zxid::NONE,
        number => Zxid { epoch: (number >> 32) as u32, counter: number as u32 },
    }
}

fn header(xid: i32, zxid: Zxid, code: i32) -> Writer {
    let mut writer = Writer::new();
    writer.int(xid).long(zxid_number(zxid)).int(code);
    writer
}

/// An answer that says no more than whether it went well.
pub fn plain(xid: i32, zxid: Zxid, code: i32) -> Answer {
    let text = if code == code::OK { "OK".to_owned() } else { name_of(code) };
    Answer { bytes: header(xid, zxid, code).frame(), text }
}

/// An answer with something in it.
pub fn with(xid: i32, zxid: Zxid, text: impl Into<String>, write: impl FnOnce(&mut Writer)) -> Answer {
    let mut writer = header(xid, zxid, code::OK);
    write(&mut writer);
    Answer { bytes: writer.frame(), text: text.into() }
}

/// A watch has fired (`WatcherEvent`).
pub fn event(event: WatchEvent, path: &str) -> Answer {
    let (kind, name) = match event {
        WatchEvent::Created => (1, "NodeCreated"),
        WatchEvent::Deleted => (2, "NodeDeleted"),
        WatchEvent::DataChanged => (3, "NodeDataChanged"),
        WatchEvent::ChildrenChanged => (4, "NodeChildrenChanged"),
    };
    let mut writer = Writer::new();
    // Its header says nothing of transactions.
    writer.int(xid::EVENT).long(-1).int(code::OK);
    writer.int(kind).int(CONNECTED).string(path);
    Answer { bytes: writer.frame(), text: format!("{name} {}", shown(path.as_bytes())) }
}

/// The session stands, or is over: then it has no time (`ConnectResponse`).
pub fn welcome(session: Option<(i64, i32, [u8; 16])>, says_read_only: bool) -> Answer {
    let (id, timeout_ms, password) = session.unwrap_or_default();
    let mut writer = Writer::new();
    writer.int(0).int(timeout_ms).long(id).buffer(&password);
    if says_read_only {
        writer.bool(false);
    }
    let text = match session {
        Some(_) => format!("session {id:#x} of {timeout_ms} ms"),
        None => "the session is over".to_owned(),
    };
    Answer { bytes: writer.frame(), text }
}

/// When transactions were: the servers themselves have no use for that.
#[derive(Debug, Default)]
pub struct Dates(BTreeMap<Zxid, i64>);

impl Dates {
    /// The date of a transaction, in milliseconds since 1970; it is from now if nobody has heard of it before.
    fn of(&mut self, zxid: Zxid, now_ms: i64) -> i64 {
        if zxid == Zxid::NONE {
            return 0;
        }
        *self.0.entry(zxid).or_insert(now_ms)
    }
}

/// What is looked up for an answer.
pub struct Around<'a> {
    pub names: &'a Names,
    pub dates: &'a mut Dates,
    /// The date, as the server has it that gives transactions theirs.
    pub now_ms: i64,
}

impl Around<'_> {
    fn stat(&mut self, writer: &mut Writer, stat: &Stat, data_bytes: usize) {
        let mut date = |zxid| self.dates.of(zxid, self.now_ms);
        let (created, modified) = (date(stat.czxid), date(stat.mzxid));
        writer.long(zxid_number(stat.czxid)).long(zxid_number(stat.mzxid)).long(created).long(modified);
        // Who may do what never changes.
        writer.int(stat.version).int(stat.cversion).int(0);
        writer.long(stat.owner.map_or(0, session_id));
        writer
            .int(i32::try_from(data_bytes).unwrap_or(i32::MAX))
            .int(stat.children)
            .long(zxid_number(stat.pzxid));
    }

    fn name(&self, path: Path) -> String {
        let text = self.names.text(path);
        text.rsplit_once('/').map_or_else(String::new, |(_, name)| name.to_owned())
    }
}

/// The answer to what a client has asked, with the number of the request and that of the last transaction.
pub fn answer(
    (xid, zxid): (i32, Zxid),
    asked: &Asked,
    refusal: Option<Refusal>,
    heard: &[Heard],
    around: &mut Around,
) -> Answer {
    let mut writer = header(xid, zxid, code::OK);
    match body(asked, refusal, heard, &mut writer, around) {
        Ok(text) => Answer { bytes: writer.frame(), text },
        Err(code) => plain(xid, zxid, code),
    }
}

/// What comes behind the header; the error's code, if nothing does.
fn body(
    asked: &Asked,
    refusal: Option<Refusal>,
    heard: &[Heard],
    writer: &mut Writer,
    around: &mut Around,
) -> Result<String, i32> {
    let done = || Ok("OK".to_owned());
    if let (Asked::Looks(looks), None) = (asked, refusal) {
        for ((look, path), heard) in looks.iter().zip(heard) {
            let kind = if *look == Look::Data { kind::GET_DATA } else { kind::GET_CHILDREN };
            match &heard.outcome {
                Outcome::Failed(error) if reserved(path).is_none() => failed(writer, code_of(*error)),
                _ => {
                    writer.int(kind).bool(false).int(code::OK);
                    looked(look, path, heard, writer, around)?;
                }
            }
        }
        writer.int(-1).bool(true).int(-1);
        return done();
    }
    let Some(first) = heard.first() else { return Err(code::MARSHALLING_ERROR) };
    match (asked, &first.outcome) {
        (Asked::Multi(changes), Outcome::MultiFailed { place, error }) => {
            let place = usize::from(*place);
            let code = refusal
                .filter(|refusal| refusal.place == place)
                .map_or(code_of(*error), |refusal| refusal.code);
            if code == code::MARSHALLING_ERROR {
                return Err(code);
            }
            for at in 0..changes.len() {
                failed(
                    writer,
                    match at.cmp(&place) {
                        std::cmp::Ordering::Less => code::OK,
                        std::cmp::Ordering::Equal => code,
                        std::cmp::Ordering::Greater => code::RUNTIME_INCONSISTENCY,
                    },
                );
            }
            writer.int(-1).bool(true).int(-1);
            Ok(format!("{} at {place}", name_of(code)))
        }
        (Asked::Multi(changes), Outcome::Multi(all)) => {
            for (change, applied) in changes.iter().zip(all) {
                let kind = match change {
                    Change::Create { wants_stat: false, .. } => kind::CREATE,
                    Change::Create { wants_stat: true, .. } => kind::CREATE_2,
                    Change::Delete { .. } => kind::DELETE,
                    Change::SetData { .. } => kind::SET_DATA,
                    Change::Check { .. } => kind::CHECK,
                };
                writer.int(kind).bool(false).int(code::OK);
                changed(change, applied, writer, around);
            }
            writer.int(-1).bool(true).int(-1);
            done()
        }
        (_, Outcome::Failed(Error::SessionExpired)) => Err(code::SESSION_EXPIRED),
        (_, _) if refusal.is_some() => Err(refusal.map_or(code::OK, |refusal| refusal.code)),
        (Asked::Look { look, path, .. }, Outcome::Failed(_)) if reserved(path).is_some() => {
            looked(look, path, first, writer, around)
        }
        (_, Outcome::Failed(error)) => Err(code_of(*error)),
        (Asked::Change(change), Outcome::Applied(applied)) => Ok(changed(change, applied, writer, around)),
        (Asked::Look { look, path, .. }, _) => looked(look, path, first, writer, around),
        (Asked::Sync { path }, _) => {
            writer.string(path);
            done()
        }
        (_, _) => done(),
    }
}

fn failed(writer: &mut Writer, code: i32) {
    writer.int(kind::ERROR).bool(false).int(code).int(code);
}

fn changed(change: &Change, applied: &Applied, writer: &mut Writer, around: &mut Around) -> String {
    match (change, applied) {
        (Change::Create { data, wants_stat, .. }, Applied::Created { path, stat }) => {
            let text = around.names.text(*path);
            writer.string(&text);
            if *wants_stat {
                around.stat(writer, stat, data.as_ref().map_or(0, Bytes::len));
            } else {
                // Its date is that of its answer, whoever looks first.
                around.dates.of(stat.czxid, around.now_ms);
            }
            shown(text.as_bytes())
        }
        (Change::SetData { data, path, .. }, Applied::Set { stat }) => {
            around.stat(writer, &seen(path, stat), data.as_ref().map_or(0, Bytes::len));
            format!("version {}", stat.version)
        }
        (_, _) => "OK".to_owned(),
    }
}

fn looked(
    look: &Look,
    path: &str,
    heard: &Heard,
    writer: &mut Writer,
    around: &mut Around,
) -> Result<String, i32> {
    if let Some(reserved) = reserved(path) {
        return looked_at_reserved(look, reserved, writer);
    }
    let held = heard.data.and_then(|data| around.names.bytes(data)).unwrap_or_default();
    match (look, &heard.outcome) {
        (Look::SetAcl { version, .. }, _) if !matches!(version, -1 | 0) => Err(code::BAD_VERSION),
        (Look::Exists | Look::SetAcl { .. }, Outcome::Exists(stat)) => {
            around.stat(writer, &seen(path, stat), held.len());
            Ok(format!("version {}", stat.version))
        }
        (Look::Acl, Outcome::Exists(stat)) => {
            writer.vector(&[Acl::open()], |writer, acl| {
                writer.int(acl.permissions).string(&acl.scheme).string(&acl.id);
            });
            around.stat(writer, &seen(path, stat), held.len());
            Ok("world:anyone".to_owned())
        }
        (Look::Data, Outcome::Data { data, stat }) => {
            let bytes = around.names.bytes(*data);
            writer.nullable(bytes.as_deref());
            around.stat(writer, &seen(path, stat), bytes.as_ref().map_or(0, Bytes::len));
            Ok(format!("{} version {}", wording::held(bytes.as_deref()), stat.version))
        }
        (Look::Children { wants_stat }, Outcome::Children(paths)) => {
            let mut names: Vec<String> = paths.iter().map(|path| around.name(*path)).collect();
            if path == "/" {
                names.push(ZOOKEEPER.to_owned());
            }
            writer.vector(&names, |writer, name| {
                writer.string(name);
            });
            if let (true, Some(stat)) = (*wants_stat, &heard.stat) {
                around.stat(writer, &seen(path, stat), held.len());
            }
            let more = if names.len() > 8 { " …" } else { "" };
            let names: Vec<String> = names.iter().take(8).map(|name| shown(name.as_bytes())).collect();
            Ok(format!("[{}{more}]", names.join(" ")))
        }
        (_, _) => Err(code::MARSHALLING_ERROR),
    }
}

/// What is seen of a znode that is there from the beginning.
fn looked_at_reserved(look: &Look, reserved: &Reserved, writer: &mut Writer) -> Result<String, i32> {
    match look {
        Look::SetAcl { .. } if reserved.is_read_only() => return Err(code::NO_AUTH),
        Look::SetAcl { version, .. } if !matches!(version, -1 | 0) => return Err(code::BAD_VERSION),
        Look::Exists | Look::SetAcl { .. } => {}
        Look::Data => {
            writer.nullable(Some(&[]));
        }
        Look::Acl => {
            writer.vector(&[reserved.acl()], |writer, acl| {
                writer.int(acl.permissions).string(&acl.scheme).string(&acl.id);
            });
        }
        Look::Children { .. } => {
            writer.vector(reserved.children, |writer, name| {
                writer.string(name);
            });
        }
    }
    if !matches!(look, Look::Children { wants_stat: false }) {
        reserved.stat(writer);
    }
    Ok("OK".to_owned())
}
