//! What clients and servers of Redis say to each other, as far as the recipes here need it.
//!
//! Source: document 001 (`SET resource_name my_random_value NX PX 30000`, the compare-and-delete script, the script that
//! extends), and the commands that real implementations use instead of them.

use crate::machine::{Owner, Visit, Visitor};
use crate::names::Word;
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A key's name, which its users choose. Keys are ordered by word, then by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// What it is called: a word of the users', but for [`Key::TENANTS`].
    pub word: Word,
    /// Which one of those that are called so.
    pub number: u32,
}

impl Key {
    /// The one word that is not the users': the keys of somebody else on the same server ([`super::Tenant`]).
    pub const TENANTS: Word = Word(u8::MAX);
}

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.word {
            Key::TENANTS => write!(f, "other:{}", self.number),
            word => write!(f, "{}", word.name(self.number)),
        }
    }
}

/// A random string ("20 bytes from /dev/urandom"): a client's draws never repeat, nor equal
/// another's. That two of them collide is left out; with 160 bits nobody will see it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Token {
    /// Who drew it.
    pub client: u8,
    /// From this client's counter.
    pub serial: u32,
}

impl Display for Token {
    /// `A#3`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", ClientId(self.client), self.serial)
    }
}

/// What a key holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Value {
    /// What a client has drawn.
    Token(Token),
    /// A counter's value, a decimal string in the real server.
    Integer(i64),
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Token(token) => write!(f, "{token}"),
            Value::Integer(number) => write!(f, "{number}"),
        }
    }
}

/// A length of time in milliseconds, as `PX` and `PEXPIRE` take it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Millis(pub i64);

impl Display for Millis {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What a client can ask for. A script runs alone on the server, like a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Command {
    /// `SET key value [NX] [PX ttl]`: [`Outcome::Ok`], or [`Outcome::Nil`] if `NX` found the key.
    Set {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
        /// `NX`: only if there is no such key.
        if_absent: bool,
        /// `PX`: for how long; without, for good.
        ttl: Option<Millis>,
    },
    /// `GET key`: [`Outcome::Bulk`] or [`Outcome::Nil`].
    Get(Key),
    /// `DEL key`: [`Outcome::Integer`], how many keys went.
    Del(Key),
    /// `PEXPIRE key ttl`: [`Outcome::Integer`], 1 if there is such a key. A time that is not positive deletes it.
    PExpire(Key, Millis),
    /// `INCR key`: [`Outcome::Integer`], the new value; an absent key counts as 0.
    Incr(Key),
    /// `FLUSHALL`: [`Outcome::Ok`].
    FlushAll,
    /// Document 001's script of the release, `if get(key) == value then return del(key) else return 0`:
    /// [`Outcome::Integer`].
    CompareAndDelete {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
    },
    /// Document 001's script of the extension, `if get(key) == value then return pexpire(key, ttl) else return 0`:
    /// [`Outcome::Integer`].
    CompareAndExtend {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
        /// For how long from now on.
        ttl: Millis,
    },
    /// The extension script of a widely used client (redlock-rb), `if not exists(key) or get(key) == value then return
    /// set(key, value, 'PX', ttl)`: it makes the key again if it is gone. [`Outcome::Ok`] or [`Outcome::Nil`].
    ExtendOrCreate {
        /// Which key.
        key: Key,
        /// What it must hold, if it is there, and will hold.
        value: Value,
        /// For how long from now on.
        ttl: Millis,
    },
    /// A script that sets a key and draws a number for it in one step,
    /// `if set(key, value, 'NX' [, 'PX', ttl]) then return incr(counter) else return false`: [`Outcome::Integer`], the
    /// number, or [`Outcome::Nil`].
    SetAndIncr {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
        /// For how long; without, for good.
        ttl: Option<Millis>,
        /// Which counter.
        counter: Key,
    },
}

/// A client's request to a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Tells this client's requests apart.
    pub serial: u32,
    /// What to do.
    pub command: Command,
    /// Followed by `WAIT`: the reply comes when every replica that the server knows has acknowledged the change, not
    /// before. There is no time-out but the client's own.
    pub wait: bool,
}

/// A server's reply to a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub serial: u32,
    /// What became of it.
    pub outcome: Outcome,
}

/// What changed on a server. A mere replica tells nothing, a master that was demoted does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The key holds a value that it did not hold before.
    Came {
        /// Which key.
        key: Key,
        /// What it holds now.
        value: Value,
        /// No other server has a say in what the key holds: this is the only one, or the master of all others.
        alone: bool,
    },
    /// The key does not hold this value any more.
    Gone {
        /// Which key.
        key: Key,
        /// What it held.
        value: Value,
        /// The client that asked for it; `None`: it expired, was lost, evicted, or flushed by whomever.
        by: Option<u8>,
    },
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// `+OK`.
    Ok,
    /// `$-1`: no such key, or `NX` found one.
    Nil,
    /// `$…`: a value.
    Bulk(Value),
    /// `:…`: a number.
    Integer(i64),
    /// `-…`: nothing was changed; except that a script which fails at its second write keeps its first.
    Error(ServerError),
}

/// Why a server turned a command down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ServerError {
    /// `READONLY`: a replica takes no writes from clients.
    ReadOnly,
    /// `OOM`: the memory is full and nothing may be evicted.
    OutOfMemory,
    /// `ERR value is not an integer or out of range`: `INCR` of a key that holds something else, or the largest number;
    /// and `SET` with a time to live that is not positive.
    NotAnInteger,
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let px = |ttl: &Option<Millis>| ttl.map_or_else(String::new, |ttl| format!(" PX {ttl}"));
        match self {
            Command::Set { key, value, if_absent, ttl } => {
                write!(f, "SET {key} {value}{}{}", if *if_absent { " NX" } else { "" }, px(ttl))
            }
            Command::Get(key) => write!(f, "GET {key}"),
            Command::Del(key) => write!(f, "DEL {key}"),
            Command::PExpire(key, ttl) => write!(f, "PEXPIRE {key} {ttl}"),
            Command::Incr(key) => write!(f, "INCR {key}"),
            Command::FlushAll => f.write_str("FLUSHALL"),
            Command::CompareAndDelete { key, value } => write!(f, "if {key} = {value} then DEL {key}"),
            Command::CompareAndExtend { key, value, ttl } => {
                write!(f, "if {key} = {value} then PEXPIRE {key} {ttl}")
            }
            Command::ExtendOrCreate { key, value, ttl } => {
                write!(f, "if no {key} or {key} = {value} then SET {key} {value} PX {ttl}")
            }
            Command::SetAndIncr { key, value, ttl, counter } => {
                write!(f, "if SET {key} {value} NX{} then INCR {counter}", px(ttl))
            }
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.command, if self.wait { ", WAIT" } else { "" })
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.outcome {
            Outcome::Ok => f.write_str("OK"),
            Outcome::Nil => f.write_str("nil"),
            Outcome::Bulk(value) => write!(f, "{value}"),
            Outcome::Integer(number) => write!(f, "{number}"),
            Outcome::Error(error) => write!(f, "{error}"),
        }
    }
}

impl Display for ServerError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ServerError::ReadOnly => "READONLY",
            ServerError::OutOfMemory => "OOM",
            ServerError::NotAnInteger => "not an integer",
        })
    }
}

impl Value {
    /// Shows the number in a signature to `visitor`. A counter's value is a number that counts, and stays.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Value::Token(token) => {
                let owner = Owner::Node(crate::machine::Node::Client(token.client));
                visitor.serial(owner, &mut token.serial);
            }
            Value::Integer(_) => {}
        }
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
        match &mut self.command {
            Command::Set { value, .. }
            | Command::CompareAndDelete { value, .. }
            | Command::CompareAndExtend { value, .. }
            | Command::ExtendOrCreate { value, .. }
            | Command::SetAndIncr { value, .. } => value.visit(visitor),
            Command::Get(_)
            | Command::Del(_)
            | Command::PExpire(..)
            | Command::Incr(_)
            | Command::FlushAll => {}
        }
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
        match &mut self.outcome {
            Outcome::Bulk(value) => value.visit(visitor),
            Outcome::Ok | Outcome::Nil | Outcome::Integer(_) | Outcome::Error(_) => {}
        }
    }
}
