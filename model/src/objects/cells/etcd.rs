//! Variables in etcd.

use super::{Ask, Cell, Direct, Heard, Here, Question, Version, Word};
use crate::machine::Visitor;
use crate::stores::etcd;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;

/// In etcd: a key a variable. What is not there has version and revision 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum InEtcd {}

/// What of an etcd key is its version.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct EtcdVersions {
    /// Which field is compared.
    pub by: EtcdField,
}

/// A field that a change of the key changes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum EtcdField {
    /// `VERSION`: how often it was put since it was created. It starts again after a delete.
    #[default]
    Version,
    /// `MOD`: the revision that put it last. No revision comes again.
    ModRevision,
}

impl InEtcd {
    fn key(cell: Cell) -> etcd::Key {
        etcd::Key { prefix: cell.word.0, name: etcd::Name::Word(u16::from(cell.number)) }
    }

    fn step(cell: Cell, content: Option<u32>) -> etcd::Step {
        let key = InEtcd::key(cell);
        match content {
            Some(content) => {
                etcd::Step::Put(etcd::Put { key, value: etcd::Value::Text(content), lease: None })
            }
            None => etcd::Step::Delete(etcd::Keys::One(key)),
        }
    }

    fn content(value: etcd::Value) -> Option<u32> {
        match value {
            etcd::Value::Text(content) => Some(content),
            etcd::Value::Empty | etcd::Value::Drawn { .. } | etcd::Value::Name(_) => None,
        }
    }
}

impl Direct for InEtcd {
    type Store = etcd::Etcd;
    type Settings = EtcdVersions;

    /// Each client asks a member of its own.
    fn server(_cell: Cell, here: &Here<EtcdVersions>) -> u8 {
        here.me % here.servers
    }

    fn request(Question { cell, ask }: Question, serial: u32, settings: &EtcdVersions) -> etcd::Request {
        let keys = etcd::Keys::One(InEtcd::key(cell));
        let txn = |target, new| {
            let compare = etcd::Compare { keys, result: etcd::Comparison::Equal, target };
            let success = smallvec![InEtcd::step(cell, new)];
            etcd::Operation::Txn(etcd::Txn { compare: smallvec![compare], success, failure: smallvec![] })
        };
        let operation = match ask {
            Ask::Get => etcd::Operation::Range(etcd::Range::of(keys)),
            Ask::Set(new) => match InEtcd::step(cell, new) {
                etcd::Step::Put(put) => etcd::Operation::Put(put),
                etcd::Step::Delete(keys) => etcd::Operation::Delete(keys),
                etcd::Step::Range(range) => etcd::Operation::Range(range),
            },
            Ask::SetIfVersion(version, new) => match settings.by {
                EtcdField::Version => txn(etcd::Target::Version(version.number()), new),
                EtcdField::ModRevision => txn(etcd::Target::Mod(etcd::Revision(version.number())), new),
            },
            Ask::SetIfContent { expected: Some(expected), new } => {
                txn(etcd::Target::Value(etcd::Value::Text(expected)), new)
            }
            // Nothing can be said of the value of a key that is not there; its version is 0.
            Ask::SetIfContent { expected: None, new } => txn(etcd::Target::Version(0), new),
        };
        etcd::Request::new(serial, operation)
    }

    fn serial_of(reply: &etcd::Reply) -> u32 {
        reply.serial
    }

    fn heard(reply: &etcd::Reply, settings: &EtcdVersions) -> Word {
        Word::Heard(match &reply.outcome {
            etcd::Outcome::Range(found) => match found.kvs.first() {
                Some(kv) => {
                    let version: Version = match settings.by {
                        EtcdField::Version => kv.version.into(),
                        EtcdField::ModRevision => kv.mod_revision.0.into(),
                    };
                    Heard::Found(InEtcd::content(kv.value), version)
                }
                None => Heard::Found(None, Version::ABSENT),
            },
            etcd::Outcome::Put | etcd::Outcome::Deleted(_) => Heard::Set(true),
            etcd::Outcome::Txn { succeeded, .. } => Heard::Set(*succeeded),
            _ => Heard::Failed,
        })
    }

    fn visit_version<V: Visitor>(version: &mut Version, settings: &EtcdVersions, visitor: &mut V) {
        if settings.by == EtcdField::ModRevision {
            let mut revision = etcd::Revision(version.number());
            revision.visit(visitor);
            *version = revision.0.into();
        }
    }
}
