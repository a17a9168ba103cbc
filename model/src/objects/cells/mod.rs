//! Variables with compare-and-set, whatever store they are in: what the algorithms of the exactly-once article, *Heterogeneous concurrent
//! exactly-once processing of data in real time*, are written over.
//!
//! ```text
//!   Object ──Ask──▶ client.rs ──▶ Cells ──requests──▶ store
//!          ◀─Heard──    (repeats)       ◀──replies───
//! ```
//!
//! | store | a variable is | its version is | compares by content | sets in any case |
//! |---|---|---|---|---|
//! | [`InMemory`] | a cell | counted, or starts again | yes | yes |
//! | [`InEtcd`] | a key | `VERSION` or `MOD` of it | yes | yes |
//! | [`InRedis`] | a key | what it holds: no other is there | yes | yes |
//! | [`InZooKeeper`] | a znode | `dataVersion`, which starts again | reads first | reads first |
//! | [`InCassandra`] | a row of one column | what it holds: no other is there | yes | reads first |
//! | [`InCache`] | a block of a disk, cached under a lock | what it holds: no other is there | yes | yes |

mod cassandra;
mod dlm;
mod etcd;
mod memory;
mod redis;
mod zookeeper;

pub use crate::stores::memory::Cell;
pub use cassandra::{CassandraReads, InCassandra, Reads};
pub use dlm::{CacheSettings, CachingNode, GivesUp, InCache, Validity, Writes};
pub use etcd::{EtcdField, EtcdVersions, InEtcd};
pub use memory::{AsItIs, InMemory};
pub use redis::InRedis;
pub use zookeeper::{Connection, InZooKeeper, ZooKeeperReads};

use crate::machine::{Context, Data, Effects, Store, Visitor};
use crate::time::Monotonic;
use serde::{Deserialize, Serialize};

/// What tells whether a variable was changed since it was read ("версия данных"). Opaque: it is shown back to the store, and
/// compared with nothing but [`Version::ABSENT`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Version(u64);

impl Version {
    /// Of what is not there.
    pub const ABSENT: Version = Version(0);

    /// Of what is there, in a store without versions: what it holds.
    pub fn of_content(content: u32) -> Version {
        Version(u64::from(content) + 1)
    }

    /// What [`Version::of_content`] was made of; `None` of what is not there.
    pub fn content(self) -> Option<u32> {
        self.0.checked_sub(1).map(|content| content as u32)
    }

    /// As a store counts it.
    pub fn number(self) -> u32 {
        self.0 as u32
    }
}

impl From<u32> for Version {
    fn from(number: u32) -> Version {
        Version(number.into())
    }
}

/// What can be asked of a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// `get_versioned`.
    Get,
    /// `set`, or `del` of what is there: in any case.
    Set(Option<u32>),
    /// `CAS_versioned`: if it has this version.
    SetIfVersion(Version, Option<u32>),
    /// `CAS`: if it holds this.
    SetIfContent {
        /// What it must hold.
        expected: Option<u32>,
        /// What it holds then.
        new: Option<u32>,
    },
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Heard {
    /// What is there, with its version.
    Found(Option<u32>, Version),
    /// Whether the condition held, and the variable was changed.
    Set(bool),
    /// The store could not do it, and has not.
    Failed,
}

/// A change of a variable, as its store tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed {
    /// Which.
    pub cell: Cell,
    /// What it held.
    pub before: Option<u32>,
    /// What it holds.
    pub after: Option<u32>,
    /// Whose request it was.
    pub by: u8,
}

/// What a client learns of its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// The store has answered.
    Heard(Heard),
    /// Nobody knows what became of it: the connection is gone, or the store does not know either.
    Unknown,
}

/// What a variable is asked for, by whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Which variable.
    pub cell: Cell,
    /// For what.
    pub ask: Ask,
}

/// Where and when a client is entered.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a, S> {
    /// The client's number.
    pub me: u8,
    /// How many servers there are.
    pub servers: u8,
    /// What its monotonic clock shows.
    pub now: Monotonic,
    /// How variables are kept.
    pub settings: &'a S,
}

impl<'a, S> Here<'a, S> {
    /// The same as a client's machine is told.
    pub fn new<T>(cx: &Context<T>, settings: &'a S) -> Here<'a, S> {
        Here { me: cx.me, servers: cx.servers, now: cx.monotonic, settings }
    }
}

/// Variables in a store, with what a client needs to get at them.
pub trait Cells: Data {
    /// Which store.
    type Store: Store;
    /// How they are kept there.
    type Settings: Data + Default;
    /// What a client has between its requests: a session, or nothing.
    type Link: Data;

    /// Whether it is the client who counts a request as not answered. If not, the link does.
    const TIMES_OUT: bool;

    /// Before anything happened.
    fn link(me: u8) -> Self::Link;

    /// Sends the request with this number, or keeps it until it can be sent. What was asked before is not waited for any more.
    fn ask(
        link: &mut Self::Link,
        question: Question,
        serial: u32,
        here: &Here<Self::Settings>,
        out: &mut Effects<Self::Store>,
    );

    /// A reply arrived; the last request has this number.
    fn on_reply(
        link: &mut Self::Link,
        reply: &<Self::Store as Store>::Reply,
        serial: u32,
        here: &Here<Self::Settings>,
        out: &mut Effects<Self::Store>,
    ) -> Option<Word>;

    /// [`Cells::deadline`] has come.
    fn on_deadline(
        _link: &mut Self::Link,
        _here: &Here<Self::Settings>,
        _out: &mut Effects<Self::Store>,
    ) -> Option<Word> {
        None
    }

    /// When the link wants to be woken.
    fn deadline(_link: &Self::Link) -> Option<Monotonic> {
        None
    }

    /// The process has started again.
    fn on_restart(_link: &mut Self::Link, _me: u8) {}

    /// Whether a reply will be dismissed whenever it comes.
    fn dismisses(
        link: &Self::Link,
        reply: &<Self::Store as Store>::Reply,
        serial: u32,
        is_asking: bool,
    ) -> bool;

    /// Shows the times and numbers of the link to `visitor`.
    fn visit_link<V: Visitor>(_link: &mut Self::Link, _visitor: &mut V) {}

    /// What a change in the store is, if it is one of a variable. A store that tells of no changes has none.
    fn changed(_change: &<Self::Store as Store>::Change) -> Option<Changed> {
        None
    }

    /// Shows a version to `visitor`, where it is more than a number that counts.
    fn visit_version<V: Visitor>(_version: &mut Version, _settings: &Self::Settings, _visitor: &mut V) {}

    /// What the store is asked first, to get this done.
    fn first(ask: Ask) -> Ask {
        ask
    }

    /// What an answer means for what was to be done: that it is, or what to ask next.
    fn then(_ask: Ask, heard: Heard) -> Result<Heard, Ask> {
        Ok(heard)
    }
}

/// Variables in a store that a client simply asks: a request, and its reply.
pub trait Direct: Data {
    /// Which store.
    type Store: Store;
    /// How they are kept there.
    type Settings: Data + Default;

    /// The request that asks for it.
    fn request(question: Question, serial: u32, settings: &Self::Settings)
    -> <Self::Store as Store>::Request;

    /// Which server is asked.
    fn server(cell: Cell, here: &Here<Self::Settings>) -> u8 {
        cell.number % here.servers
    }

    /// Which request a reply answers.
    fn serial_of(reply: &<Self::Store as Store>::Reply) -> u32;

    /// What a reply says.
    fn heard(reply: &<Self::Store as Store>::Reply, settings: &Self::Settings) -> Word;

    /// As [`Cells::changed`].
    fn changed(_change: &<Self::Store as Store>::Change) -> Option<Changed> {
        None
    }

    /// As [`Cells::visit_version`].
    fn visit_version<V: Visitor>(_version: &mut Version, _settings: &Self::Settings, _visitor: &mut V) {}

    /// As [`Cells::first`].
    fn first(ask: Ask) -> Ask {
        ask
    }

    /// As [`Cells::then`].
    fn then(_ask: Ask, heard: Heard) -> Result<Heard, Ask> {
        Ok(heard)
    }
}

impl<D: Direct> Cells for D {
    type Store = D::Store;
    type Settings = D::Settings;
    type Link = ();

    const TIMES_OUT: bool = true;

    fn link(_me: u8) {}

    fn ask(
        _link: &mut (),
        question: Question,
        serial: u32,
        here: &Here<D::Settings>,
        out: &mut Effects<D::Store>,
    ) {
        out.request(D::server(question.cell, here), D::request(question, serial, here.settings));
    }

    fn on_reply(
        _link: &mut (),
        reply: &<D::Store as Store>::Reply,
        serial: u32,
        here: &Here<D::Settings>,
        _out: &mut Effects<D::Store>,
    ) -> Option<Word> {
        (D::serial_of(reply) == serial).then(|| D::heard(reply, here.settings))
    }

    fn dismisses(_link: &(), reply: &<D::Store as Store>::Reply, serial: u32, is_asking: bool) -> bool {
        D::serial_of(reply) != serial || !is_asking
    }

    fn changed(change: &<D::Store as Store>::Change) -> Option<Changed> {
        D::changed(change)
    }

    fn visit_version<V: Visitor>(version: &mut Version, settings: &D::Settings, visitor: &mut V) {
        D::visit_version(version, settings, visitor);
    }

    fn first(ask: Ask) -> Ask {
        D::first(ask)
    }

    fn then(ask: Ask, heard: Heard) -> Result<Heard, Ask> {
        D::then(ask, heard)
    }
}

/// [`Cells::first`] where a variable can be set by its version only: it is read before.
fn read_first(ask: Ask) -> Ask {
    match ask {
        Ask::Set(_) | Ask::SetIfContent { .. } => Ask::Get,
        Ask::Get | Ask::SetIfVersion(..) => ask,
    }
}

/// [`Cells::then`] of the same: then set if it has the version that was read, and read again if it has not.
fn then_set(ask: Ask, heard: Heard) -> Result<Heard, Ask> {
    match (ask, heard) {
        (Ask::Set(None), Heard::Found(None, _)) => Ok(Heard::Set(true)),
        (Ask::Set(new), Heard::Found(_, version)) => Err(Ask::SetIfVersion(version, new)),
        (Ask::SetIfContent { expected, .. }, Heard::Found(content, _)) if content != expected => {
            Ok(Heard::Set(false))
        }
        (Ask::SetIfContent { new, .. }, Heard::Found(_, version)) => Err(Ask::SetIfVersion(version, new)),
        (Ask::Set(_) | Ask::SetIfContent { .. }, Heard::Set(false)) => Err(Ask::Get),
        (_, heard) => Ok(heard),
    }
}
