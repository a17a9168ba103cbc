//! What clients and servers of Redis say to each other, as far as the recipes here need it.
//!
//! Source: the Redlock article, *Distributed Locks with Redis* (`SET resource_name my_random_value NX PX 30000`, the compare-and-delete
//! script, the script that extends), and the commands that real implementations use instead of them.

use crate::machine::{Owner, Visit, Visitor};
use crate::names::Word;
use crate::time::{Micros, Wall};
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

/// A member's place in a sorted set: a double in the real server. Here it says what it is, so that moments can be told from
/// counts; a set has the one or the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Score {
    /// A number that counts something.
    Count(i64),
    /// A moment of somebody's wall clock.
    At(Wall),
    /// A moment so long after the present one by the server's clock: the script that sends this asks for `TIME`. A server
    /// writes it down as [`Score::At`].
    After(Micros),
}

impl Display for Score {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Score::Count(count) => write!(f, "{count}"),
            // To the microsecond: which of two is smaller may be all that matters.
            Score::At(Wall(at)) => {
                write!(f, "{}.{:06}s", at.div_euclid(1_000_000), at.rem_euclid(1_000_000))
            }
            Score::After(Micros(0)) => f.write_str("TIME"),
            Score::After(lapse) => write!(f, "TIME + {lapse}"),
        }
    }
}

/// What a client can ask for. A script runs alone on the server, like a command.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
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
    /// `DECR key`: [`Outcome::Integer`], the new value; an absent key counts as 0.
    Decr(Key),
    /// `FLUSHALL`: [`Outcome::Ok`].
    FlushAll,
    /// The Redlock article's script of the release, `if get(key) == value then return del(key) else return 0`:
    /// [`Outcome::Integer`].
    CompareAndDelete {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
    },
    /// The Redlock article's script of the extension, `if get(key) == value then return pexpire(key, ttl) else return 0`:
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
    /// `ZADD key score member`: [`Outcome::Integer`], 1 if the member is new.
    ZAdd {
        /// Which sorted set.
        key: Key,
        /// The member's place in it.
        score: Score,
        /// The member.
        member: Token,
    },
    /// `ZREM key member`: [`Outcome::Integer`], how many went.
    ZRem(Key, Token),
    /// `ZRANK key member`: [`Outcome::Integer`], how many come before it, or [`Outcome::Nil`].
    ZRank(Key, Token),
    /// `ZREMRANGEBYSCORE key -inf upto`: [`Outcome::Integer`], how many went.
    ZRemUpTo(Key, Score),
    /// `ZINTERSTORE key 2 key other WEIGHTS 1 0`: [`Outcome::Integer`], how many members of `key` are left, with their scores: those
    /// that are in `other`, too.
    ZInterStore {
        /// The set that becomes smaller.
        key: Key,
        /// The set in which its members must be.
        other: Key,
    },
    /// Several commands as one, `EVAL` or `MULTI` … `EXEC`: the reply is the last one's. A condition that does not hold ends it with
    /// [`Outcome::Nil`], and an error with that error; what was done before stays.
    Script(Box<[Line]>),
}

/// A line of a script.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Line {
    /// `redis.call(…)`, of a command that is no script.
    Call(Command),
    /// `if … then return false end`, of the opposite.
    Require(Check),
}

/// What a script may make what follows depend on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Check {
    /// There is no such key.
    Absent(Key),
    /// The key holds this, `redis.call('get', key) == value`.
    Holds(Key, Value),
    /// The counter is above 0; an absent key counts as 0.
    Positive(Key),
    /// The counter is not above 0.
    NotPositive(Key),
    /// The sorted set has fewer members than this.
    Fewer(Key, u32),
}

/// A client's request to a server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
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
    /// The time to live of the key counts anew, for whoever knows this value of it.
    Prolonged {
        /// Which key.
        key: Key,
        /// What it holds.
        value: Value,
        /// As with [`Change::Came`].
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
    /// `WRONGTYPE`: a command on strings, of a key that holds a sorted set, or the other way round.
    WrongType,
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
            Command::Decr(key) => write!(f, "DECR {key}"),
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
            Command::ZAdd { key, score, member } => write!(f, "ZADD {key} {score} {member}"),
            Command::ZRem(key, member) => write!(f, "ZREM {key} {member}"),
            Command::ZRank(key, member) => write!(f, "ZRANK {key} {member}"),
            Command::ZRemUpTo(key, upto) => write!(f, "ZREMRANGEBYSCORE {key} -inf {upto}"),
            Command::ZInterStore { key, other } => {
                write!(f, "ZINTERSTORE {key} 2 {key} {other} WEIGHTS 1 0")
            }
            Command::Script(lines) => lines
                .iter()
                .enumerate()
                .try_for_each(|(place, line)| write!(f, "{}{line}", if place == 0 { "" } else { "; " })),
        }
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Line::Call(command) => write!(f, "{command}"),
            Line::Require(Check::Absent(key)) => write!(f, "stop if {key}"),
            Line::Require(Check::Holds(key, value)) => write!(f, "stop unless {key} = {value}"),
            Line::Require(Check::Positive(key)) => write!(f, "stop unless {key} > 0"),
            Line::Require(Check::NotPositive(key)) => write!(f, "stop if {key} > 0"),
            Line::Require(Check::Fewer(key, count)) => write!(f, "stop unless ZCARD {key} < {count}"),
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
            ServerError::WrongType => "WRONGTYPE",
        })
    }
}

impl Value {
    /// Shows the number in a signature to `visitor`. A counter's value is a number that counts, and stays.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Value::Token(token) => token.visit(visitor),
            Value::Integer(_) => {}
        }
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
        self.command.visit(visitor);
    }
}

impl Command {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Command::Set { value, .. }
            | Command::CompareAndDelete { value, .. }
            | Command::CompareAndExtend { value, .. }
            | Command::ExtendOrCreate { value, .. }
            | Command::SetAndIncr { value, .. } => value.visit(visitor),
            Command::ZAdd { key, score, member } => {
                score.visit(*key, visitor);
                member.visit(visitor);
            }
            Command::ZRem(_, member) | Command::ZRank(_, member) => member.visit(visitor),
            Command::ZRemUpTo(key, upto) => upto.visit(*key, visitor),
            Command::Script(lines) => {
                for line in lines {
                    match line {
                        Line::Call(command) => command.visit(visitor),
                        Line::Require(Check::Holds(_, value)) => value.visit(visitor),
                        Line::Require(
                            Check::Absent(_) | Check::Positive(_) | Check::NotPositive(_) | Check::Fewer(..),
                        ) => {}
                    }
                }
            }
            Command::Get(_)
            | Command::Del(_)
            | Command::PExpire(..)
            | Command::Incr(_)
            | Command::Decr(_)
            | Command::FlushAll
            | Command::ZInterStore { .. } => {}
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
