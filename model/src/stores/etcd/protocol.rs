//! What clients and members say to each other: the part of etcd's v3 API that the recipes use.
//!
//! A request is a call of gRPC: it goes alone, two of them may overtake each other (members handle each call by itself,
//! also two of one connection), and its answer may be lost. Nothing tells a client that a member is gone but its own
//! time-out.

use super::names::{Key, KeyValue, LeaseId, Revision, Value};
use crate::time::Micros;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// From a client to a member.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Tells this client's requests apart. A watch goes by the number of the request that began it.
    pub serial: u32,
    /// The watch that the client has no more use for. Its library says so in a message of its own, which costs states and
    /// changes nothing: events that come nevertheless are dismissed.
    pub cancels: Option<u32>,
    /// For how long the client waits for the answer, where the member is told (`grpc-timeout`): what is not proposed by then is not
    /// proposed any more. `None`: for as long as the member tries.
    pub patience: Option<Micros>,
    /// How it comes to the member.
    pub way: Way,
    /// What it asks for.
    pub operation: Operation,
}

impl Request {
    /// A call that nobody has said anything more of.
    pub const fn new(serial: u32, operation: Operation) -> Request {
        Request { serial, cancels: None, patience: None, way: Way::Alone, operation }
    }
}

/// How a request comes to its member, where that makes a difference: where there are several.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Way {
    /// As a call of its own, or as what begins a watch.
    #[default]
    Alone,
    /// As the first message of a stream that ends if there is no leader (`WithRequireLeader`): it does not even begin then.
    NewStream,
    /// As a later message of such a stream.
    OpenStream,
    /// As what keeps up the connection of a watch that is there, over which the client sends nothing else: what TCP does there is not
    /// the client's doing. A host that has lost its power in between knows of no such connection, and hears nothing.
    Connection {
        /// How often the host had lost its power when the watch began.
        boot: u8,
    },
}

/// What a client can ask for.
#[expect(clippy::large_enum_variant, reason = "a box would be allocated anew with every copy of a message")]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// `KV.Range`.
    Range(Range),
    /// `KV.Put`, if the key's lease is there.
    Put(Put),
    /// `KV.DeleteRange`.
    Delete(Keys),
    /// `KV.Txn`: a decision and what follows from it, all at one revision. A transaction inside a transaction is left out.
    Txn(Txn),
    /// `KV.Compact`: revisions below this one cannot be asked for any more.
    Compact(Revision),
    /// `Lease.LeaseGrant`, of a lease with the number of this request.
    Grant {
        /// In whole seconds; `None`: it never ends by itself, for worlds without time.
        ttl: Option<Micros>,
    },
    /// `Lease.LeaseRevoke`: the lease ends, and its keys with it, all at one revision.
    Revoke(LeaseId),
    /// `Lease.LeaseKeepAlive`: one message of the stream.
    KeepAlive(LeaseId),
    /// `Lease.LeaseTimeToLive`, with its keys.
    TimeToLive(LeaseId),
    /// `Watch.Watch`: the events of these keys.
    Watch {
        /// Which keys.
        keys: Keys,
        /// From where on.
        start: Start,
    },
    /// `Lease.LeaseGrant`, of a lease whose number the client has chosen.
    GrantAs {
        /// Which.
        lease: LeaseId,
        /// In whole seconds.
        ttl: Option<Micros>,
    },
}

impl Operation {
    /// Whether it goes through the log. A transaction that only reads does not.
    pub fn is_change(&self) -> bool {
        let changes = |step: &Step| match step {
            Step::Put(_) | Step::Delete(_) => true,
            Step::Range(_) => false,
        };
        match self {
            Operation::Txn(txn) => txn.success.iter().chain(&txn.failure).any(changes),
            Operation::Put(_)
            | Operation::Delete(_)
            | Operation::Compact(_)
            | Operation::Grant { .. }
            | Operation::GrantAs { .. }
            | Operation::Revoke(_) => true,
            Operation::Range(_)
            | Operation::KeepAlive(_)
            | Operation::TimeToLive(_)
            | Operation::Watch { .. } => false,
        }
    }

    /// Whether the member asked answers it from what it has applied, however far it is behind.
    pub fn is_local(&self) -> bool {
        match self {
            Operation::Watch { .. } => true,
            Operation::Range(range) => range.serializable,
            Operation::Put(_)
            | Operation::Delete(_)
            | Operation::Txn(_)
            | Operation::Compact(_)
            | Operation::Grant { .. }
            | Operation::GrantAs { .. }
            | Operation::Revoke(_)
            | Operation::KeepAlive(_)
            | Operation::TimeToLive(_) => false,
        }
    }
}

/// Which keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Keys {
    /// This one.
    One(Key),
    /// All below this prefix.
    Prefix(u8),
    /// From this one on, up to the other, which is not among them.
    Between(Key, Key),
}

impl Keys {
    /// Whether the key is among them.
    pub fn contains(&self, key: Key) -> bool {
        match *self {
            Keys::One(one) => one == key,
            Keys::Prefix(prefix) => prefix == key.prefix,
            Keys::Between(first, end) => first <= key && key < end,
        }
    }
}

/// What to read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Range {
    /// Which keys.
    pub keys: Keys,
    /// As they were at this revision; `None`: as they are.
    pub revision: Option<Revision>,
    /// Only those created before this revision. The API's `max_create_revision` is the number before it: revisions are
    /// compared here, never subtracted.
    pub created_before: Option<Revision>,
    /// By what they are sorted.
    pub order: Order,
    /// How many at most; 0: all. All are counted nevertheless.
    pub limit: u8,
    /// Whether the member asked may answer from what it has applied, however far it is behind.
    pub serializable: bool,
}

impl Range {
    /// These keys as they are, by key.
    pub const fn of(keys: Keys) -> Range {
        Range {
            keys,
            revision: None,
            created_before: None,
            order: Order { by: Field::Key, descending: false },
            limit: 0,
            serializable: false,
        }
    }

    /// `clientv3.WithFirstCreate`: the one created first.
    pub const fn first_created(keys: Keys) -> Range {
        Range { order: Order { by: Field::Create, descending: false }, limit: 1, ..Range::of(keys) }
    }

    /// `clientv3.WithLastCreate`: the one created last.
    pub const fn last_created(keys: Keys) -> Range {
        Range { order: Order { by: Field::Create, descending: true }, limit: 1, ..Range::of(keys) }
    }
}

/// By what the keys read are sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Order {
    /// By this.
    pub by: Field,
    /// The largest first.
    pub descending: bool,
}

/// A field of a [`KeyValue`], to sort by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Field {
    /// The key.
    Key,
    /// How often it was put.
    Version,
    /// When it was created.
    Create,
    /// When it was last put.
    Mod,
    /// What it is bound to.
    Value,
}

/// What to put.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Put {
    /// Where.
    pub key: Key,
    /// What.
    pub value: Value,
    /// With whose end it goes; a put without one detaches the key from the one it had.
    pub lease: Option<LeaseId>,
}

/// If all comparisons hold, the first list of steps, else the second.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Txn {
    /// What must hold.
    pub compare: SmallVec<[Compare; 1]>,
    /// What then follows.
    pub success: SmallVec<[Step; 2]>,
    /// What else follows.
    pub failure: SmallVec<[Step; 2]>,
}

/// One step of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Step {
    /// Reads, seeing what the steps before it did.
    Range(Range),
    /// Puts; no key may be put twice, nor put and deleted, by the steps of one list.
    Put(Put),
    /// Deletes.
    Delete(Keys),
}

/// A comparison: of all these keys, the field with the operand. A key that does not exist counts as zeros, except that
/// nothing holds of its value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Compare {
    /// Which keys.
    pub keys: Keys,
    /// How.
    pub result: Comparison,
    /// What with what.
    pub target: Target,
}

/// How two things compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `<`
    Less,
}

/// A field, and what it is compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Target {
    /// The version.
    Version(u32),
    /// The create revision.
    Create(Revision),
    /// The mod revision.
    Mod(Revision),
    /// The value.
    Value(Value),
    /// The lease; `None` is 0. Leases are compared for equality only: the order of their numbers means nothing here.
    Lease(Option<LeaseId>),
}

/// From where on a watch sees events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Start {
    /// From now on (`start_revision` 0).
    Now,
    /// This revision's, and what comes after.
    At(Revision),
}

/// From a member to a client.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request this answers, or that began the watch.
    pub serial: u32,
    /// Where the store is (`header.revision`).
    pub revision: Revision,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// What was read.
    Range(Found),
    /// It is put.
    Put,
    /// How many keys were deleted.
    Deleted(u32),
    /// Which list of steps was taken, and what came of each.
    Txn {
        /// Whether all comparisons held.
        succeeded: bool,
        /// One for each step.
        responses: SmallVec<[Response; 2]>,
    },
    /// It is compacted.
    Compacted,
    /// The lease is there.
    Granted {
        /// It has the number of the request.
        lease: LeaseId,
        /// For how long, which may be more than was asked for.
        ttl: Option<Micros>,
    },
    /// The lease is over.
    Revoked,
    /// The lease goes on.
    KeptAlive {
        /// Which.
        lease: LeaseId,
        /// For how long from here: its full time.
        ttl: Option<Micros>,
    },
    /// The lease is over, or never was (a TTL of 0).
    LeaseOver(LeaseId),
    /// What is left of the lease.
    TimeToLive {
        /// Its full time; nothing if there is no such lease.
        granted: Option<Micros>,
        /// The keys that go with it, in order.
        keys: SmallVec<[Key; 1]>,
    },
    /// The watch is there.
    Watching {
        /// How often the member's host has lost its power: a connection from before that is gone, and nobody says so. Zero of a member
        /// that is alone.
        boot: u8,
    },
    /// What has happened to the watched keys, whole revisions, in their order.
    Events(SmallVec<[WatchEvent; 1]>),
    /// The watch is over: what it asked for is compacted, up to here.
    WatchCanceled {
        /// The first revision that can still be watched.
        compact_revision: Revision,
    },
    /// Nothing was done.
    Failed(Error),
    /// The stream of keep-alives is over, for the member knows of no leader (`ErrGRPCNoLeader`), or was to find out whether it leads itself,
    /// and did not (`ErrNotPrimary`).
    NoLeader,
}

/// What came of one step of a transaction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Response {
    /// What was read.
    Range(Found),
    /// It is put.
    Put,
    /// How many keys were deleted.
    Deleted(u32),
}

/// What a range came to.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The keys, sorted, up to the limit.
    pub kvs: SmallVec<[KeyValue; 1]>,
    /// How many there are of these keys, whatever limit and conditions say.
    pub count: u32,
}

/// An event of a watch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum WatchEvent {
    /// A key was put.
    Put(KeyValue),
    /// A key is gone.
    Delete {
        /// Which.
        key: Key,
        /// When.
        mod_revision: Revision,
    },
}

impl WatchEvent {
    /// Which key it is about.
    pub fn key(&self) -> Key {
        match self {
            WatchEvent::Put(kv) => kv.key,
            WatchEvent::Delete { key, .. } => *key,
        }
    }

    /// When it happened.
    pub fn revision(&self) -> Revision {
        match self {
            WatchEvent::Put(kv) => kv.mod_revision,
            WatchEvent::Delete { mod_revision, .. } => *mod_revision,
        }
    }
}

/// Why nothing was done (`api/v3rpc/rpctypes/error.go`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Error {
    /// There is no such lease: it never was, or it is over.
    LeaseNotFound,
    /// There is such a lease already.
    LeaseExists,
    /// The revision asked for is compacted.
    Compacted,
    /// The revision asked for is yet to come.
    FutureRevision,
    /// A key is put twice, or put and deleted.
    DuplicateKey,
}

/// What changed of the keys that are bound to a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A key is created.
    Created {
        /// Which key.
        key: Key,
        /// Its lease.
        lease: LeaseId,
    },
    /// A key is gone, and nobody deleted it or revoked its lease: that has run out, or everything was lost.
    Gone {
        /// Which key.
        key: Key,
        /// Its lease.
        lease: LeaseId,
    },
    /// Of the keys with this prefix, another is now the one that was created first.
    First {
        /// Which key.
        key: Key,
        /// Its lease.
        lease: LeaseId,
    },
    /// A watch tells that a key has just gone.
    Notified {
        /// Which key.
        key: Key,
        /// The lease it had.
        lease: LeaseId,
        /// Whose watch it is.
        client: u8,
    },
}
