//! A client's command being run: nobody else comes in between.

use super::events::{Class, Wanted};
use super::house::{House, Session};
use super::reply::Reply;
use super::store::{Content, Entry, Instance, Place, Settings, Sorted, unix_micros, unix_ms};
use bytes::Bytes;
use picklock_model::machine::Context;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// Why a command is not run to its end.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// This is replied.
    Error(Vec<u8>),
    /// It waits until one of the keys holds something, for so many milliseconds at most (0: for ever); then this is replied.
    Block {
        /// Which keys.
        places: Vec<Place>,
        /// How long.
        timeout_ms: u64,
        /// What is replied if it was in vain.
        in_vain: Reply,
    },
    /// `WAIT`: it waits until so many replicas have come as far as this, or for so many milliseconds (0: for ever).
    Replicas {
        /// How far; `None`: there are no replicas.
        offset: Option<(u32, u32)>,
        /// How many.
        replicas: i64,
        /// How long.
        timeout_ms: u64,
    },
    /// A script takes too long to be one step: it goes on by itself, and is the house's [`busy`](House::busy) one.
    Runs,
}

/// What a command comes to.
pub type Replied = Result<Reply, Refusal>;

pub const SYNTAX: &str = "ERR syntax error";
pub const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
pub const NOT_A_FLOAT: &str = "ERR value is not a valid float";
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

pub fn refuse<T>(text: impl Into<Vec<u8>>) -> Result<T, Refusal> {
    Err(Refusal::Error(text.into()))
}

pub fn wrong_number(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

/// In what a command is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    /// By itself.
    Itself,
    /// In a transaction or for somebody who had waited: it cannot wait.
    Transaction,
    /// In a script; whether that may write.
    Script {
        /// It may not (`EVAL_RO`).
        read_only: bool,
        /// It goes on where there is no memory left (`allow-oom`).
        allows_oom: bool,
        /// It has called a command that writes (`src/script.c` `SCRIPT_WRITE_DIRTY`).
        has_written: bool,
        /// When its step began, if that takes time: `TIME` goes on in it.
        since: Option<Instant>,
    },
}

impl Within {
    /// The same, where each command is a step of its own.
    pub fn in_steps(self) -> Within {
        match self {
            Within::Script { read_only, allows_oom, has_written, since: _ } => {
                Within::Script { read_only, allows_oom, has_written, since: None }
            }
            Within::Itself | Within::Transaction => self,
        }
    }
}

/// What there is beside this server.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Where the servers listen, if they listen on something with an address.
    pub addresses: Arc<[SocketAddr]>,
    /// What each server has of its master's changes; `None`: it has nothing, is down, or a master itself.
    pub replicas: Vec<Option<u32>>,
}

/// A client's command being run.
pub struct Turn<'a, 'cx> {
    pub instance: &'a mut Instance,
    pub cx: &'a Context<'cx, Settings>,
    pub house: &'a mut House,
    pub session: &'a mut Session,
    pub around: &'a Surroundings,
    pub within: Within,
}

impl Turn<'_, '_> {
    /// The key in the client's database.
    pub fn place(&self, key: &Bytes) -> Place {
        (self.session.database, key.clone())
    }

    /// The server's wall clock, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        unix_ms(self.cx)
    }

    /// The server's wall clock, in microseconds since 1970.
    pub fn now_micros(&self) -> i64 {
        unix_micros(self.cx)
    }

    pub fn find(&mut self, key: &Bytes) -> Option<&Entry> {
        let (place, now) = (self.place(key), self.instance.lives_at(self.now_ms()));
        self.instance.keyspace.find(&place, now)
    }

    /// Some number, another one at each command: where any will do. The same commands draw the same ones.
    pub fn somewhere(&self) -> usize {
        (self.house.commands.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
    }

    /// Whether there is such a key.
    pub fn has(&mut self, key: &Bytes) -> bool {
        self.find(key).is_some()
    }

    /// The string that a key holds.
    pub fn text(&mut self, key: &Bytes) -> Result<Option<Bytes>, Refusal> {
        match self.find(key).map(|entry| &entry.content) {
            None => Ok(None),
            Some(Content::Text(text)) => Ok(Some(text.share())),
            Some(_) => refuse(WRONG_TYPE),
        }
    }

    pub fn hash(&mut self, key: &Bytes) -> Result<Option<&BTreeMap<Bytes, Bytes>>, Refusal> {
        match self.find(key).map(|entry| &entry.content) {
            None => Ok(None),
            Some(Content::Hash(fields)) => Ok(Some(fields)),
            Some(_) => refuse(WRONG_TYPE),
        }
    }

    pub fn list(&mut self, key: &Bytes) -> Result<Option<&VecDeque<Bytes>>, Refusal> {
        match self.find(key).map(|entry| &entry.content) {
            None => Ok(None),
            Some(Content::List(list)) => Ok(Some(list)),
            Some(_) => refuse(WRONG_TYPE),
        }
    }

    pub fn set(&mut self, key: &Bytes) -> Result<Option<&BTreeSet<Bytes>>, Refusal> {
        match self.find(key).map(|entry| &entry.content) {
            None => Ok(None),
            Some(Content::Set(members)) => Ok(Some(members)),
            Some(_) => refuse(WRONG_TYPE),
        }
    }

    pub fn sorted(&mut self, key: &Bytes) -> Result<Option<&Sorted>, Refusal> {
        match self.find(key).map(|entry| &entry.content) {
            None => Ok(None),
            Some(Content::Sorted(sorted)) => Ok(Some(sorted)),
            Some(_) => refuse(WRONG_TYPE),
        }
    }

    /// Writes a key anew. Empty collections are not written: the key goes.
    pub fn put(&mut self, key: &Bytes, content: Content, dies: Option<i64>) {
        let place = self.place(key);
        if content.is_empty() {
            self.instance.keyspace.remove(&place, self.cx);
            return;
        }
        let is_told = self.house.events.wants(Class::New) && !self.has(key);
        self.instance.keyspace.put(place, content, dies, self.cx);
        if is_told {
            self.event(Class::New, "new", key);
        }
    }

    /// Writes what a command has come to, or removes the key if that is nothing.
    pub fn replace(&mut self, key: &Bytes, content: Content, class: Class, event: &'static str) {
        if !content.is_empty() {
            self.put(key, content, None);
            self.event(class, event, key);
        } else if self.remove(key) {
            self.event(Class::Generic, "del", key);
        }
    }

    /// Something has happened to a key.
    pub fn event(&mut self, class: Class, event: &'static str, key: &Bytes) {
        if self.house.events != Wanted::default() {
            let place = self.place(key);
            self.house.event(class, event, &place);
        }
    }

    /// A collection has lost something, and with its last element the key is gone.
    pub fn lost(&mut self, class: Class, event: &'static str, key: &Bytes) {
        self.event(class, event, key);
        if self.house.events != Wanted::default() && !self.has(key) {
            self.event(Class::Generic, "del", key);
        }
    }

    /// Changes what a key holds, or holds from now on if there is no such key.
    pub fn edit<T>(&mut self, key: &Bytes, new: Content, change: impl FnOnce(&mut Content) -> T) -> T {
        let place = self.place(key);
        if !self.has(key) {
            self.instance.keyspace.put(place.clone(), new, None, self.cx);
            self.event(Class::New, "new", key);
        }
        match self.instance.keyspace.edit(&place, self.cx, change) {
            Some(changed) => changed,
            None => unreachable!("it is there, or was put there"),
        }
    }

    /// Whether the key was there.
    pub fn remove(&mut self, key: &Bytes) -> bool {
        let place = self.place(key);
        self.has(key) && self.instance.keyspace.remove(&place, self.cx)
    }

    /// The last millisecond of the key's life, if it dies.
    pub fn dies(&mut self, key: &Bytes) -> Option<i64> {
        self.find(key).and_then(|entry| entry.dies)
    }

    /// Something that is waited for: in a transaction and in a script it is in vain at once.
    pub fn block(&self, keys: &[Bytes], timeout_ms: u64, in_vain: Reply) -> Replied {
        match self.within {
            Within::Itself => {
                let places = keys.iter().map(|key| self.place(key)).collect();
                Err(Refusal::Block { places, timeout_ms, in_vain })
            }
            Within::Transaction | Within::Script { .. } => Ok(in_vain),
        }
    }
}

/// A whole number among the arguments.
pub fn number(bytes: &Bytes) -> Result<i64, Refusal> {
    super::numbers::integer(bytes).map_or_else(|| refuse(NOT_AN_INTEGER), Ok)
}

/// The word in lower case, for the names of commands and options.
pub fn lower(word: &Bytes) -> String {
    String::from_utf8_lossy(word).to_ascii_lowercase()
}
