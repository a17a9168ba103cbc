//! The times and numbers in what clients and members say to each other.

use super::Watcher;
use super::protocol::*;
use crate::machine::{Owner, Visit, Visitor, put_in_order};

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
        self.cancels.iter_mut().for_each(|watch| visitor.serial(Owner::Sender, watch));
        self.operation.visit(visitor);
    }
}

impl Operation {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Operation::Range(range) => range.visit(visitor),
            Operation::Put(put) => put.visit(visitor),
            Operation::Delete(keys) => keys.visit(visitor),
            Operation::Txn(txn) => {
                txn.compare.iter_mut().for_each(|compare| compare.visit(visitor));
                txn.success.iter_mut().chain(&mut txn.failure).for_each(|step| step.visit(visitor));
            }
            Operation::Compact(at) => at.visit(visitor),
            Operation::Grant { ttl: _ } => {}
            Operation::Revoke(lease)
            | Operation::KeepAlive(lease)
            | Operation::TimeToLive(lease)
            | Operation::GrantAs { lease, ttl: _ } => lease.visit(visitor),
            Operation::Watch { keys, start } => {
                keys.visit(visitor);
                start.visit(visitor);
            }
        }
    }
}

impl Keys {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Keys::One(key) => key.visit(visitor),
            Keys::Prefix(_) => {}
            Keys::Between(first, end) => {
                first.visit(visitor);
                end.visit(visitor);
            }
        }
    }
}

impl Start {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Start::Now => {}
            Start::At(from) => from.visit(visitor),
        }
    }
}

impl Range {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.keys.visit(visitor);
        self.revision.iter_mut().chain(&mut self.created_before).for_each(|at| at.visit(visitor));
    }
}

impl Put {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.key.visit(visitor);
        self.value.visit(visitor);
        self.lease.iter_mut().for_each(|lease| lease.visit(visitor));
    }
}

impl Step {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Step::Range(range) => range.visit(visitor),
            Step::Put(put) => put.visit(visitor),
            Step::Delete(keys) => keys.visit(visitor),
        }
    }
}

impl Compare {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.keys.visit(visitor);
        match &mut self.target {
            Target::Version(_) | Target::Lease(None) => {}
            Target::Create(at) | Target::Mod(at) => at.visit(visitor),
            Target::Value(value) => value.visit(visitor),
            Target::Lease(Some(lease)) => lease.visit(visitor),
        }
    }
}

impl Found {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.kvs.iter_mut().for_each(|kv| kv.visit(visitor));
        put_in_order::<V, _, _>(&mut self.kvs, |kv| kv.key);
    }
}

impl WatchEvent {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            WatchEvent::Put(kv) => kv.visit(visitor),
            WatchEvent::Delete { key, mod_revision } => {
                key.visit(visitor);
                mod_revision.visit(visitor);
            }
        }
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
        self.revision.visit(visitor);
        match &mut self.outcome {
            Outcome::Range(found) => found.visit(visitor),
            Outcome::Txn { succeeded: _, responses } => {
                for response in responses {
                    match response {
                        Response::Range(found) => found.visit(visitor),
                        Response::Put | Response::Deleted(_) => {}
                    }
                }
            }
            Outcome::Granted { lease, ttl: _ }
            | Outcome::KeptAlive { lease, ttl: _ }
            | Outcome::LeaseOver(lease) => lease.visit(visitor),
            Outcome::TimeToLive { granted: _, keys } => keys.iter_mut().for_each(|key| key.visit(visitor)),
            Outcome::Events(events) => events.iter_mut().for_each(|event| event.visit(visitor)),
            Outcome::WatchCanceled { compact_revision } => compact_revision.visit(visitor),
            Outcome::Put
            | Outcome::Deleted(_)
            | Outcome::Compacted
            | Outcome::Revoked
            | Outcome::Watching { boot: _ }
            | Outcome::Failed(_)
            | Outcome::NoLeader => {}
        }
    }
}

impl Watcher {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial_of(&mut self.client, &mut self.serial);
        self.keys.visit(visitor);
        self.from.visit(visitor);
    }
}
