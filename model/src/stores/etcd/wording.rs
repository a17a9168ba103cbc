//! How messages and keys read in a trace.

use super::names::KeyValue;
use super::protocol::*;
use std::fmt::{Display, Formatter, Result};

/// One after the other, with this between them.
fn joined<T: Display>(items: &[T], between: &str, f: &mut Formatter<'_>) -> Result {
    items.iter().enumerate().try_for_each(|(place, item)| {
        f.write_str(if place == 0 { "" } else { between })?;
        write!(f, "{item}")
    })
}

impl Display for KeyValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} (created at {})", self.key, self.create_revision)
    }
}

impl Display for Keys {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Keys::One(key) => write!(f, "{key}"),
            Keys::Prefix(prefix) => write!(f, "{prefix}/*"),
            Keys::Between(first, end) => write!(f, "[{first}, {end})"),
        }
    }
}

impl Display for Field {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Field::Key => "key",
            Field::Version => "version",
            Field::Create => "create revision",
            Field::Mod => "mod revision",
            Field::Value => "value",
        })
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "get {}", self.keys)?;
        if let Some(before) = self.created_before {
            write!(f, " created before {before}")?;
        }
        if let Some(at) = self.revision {
            write!(f, " at revision {at}")?;
        }
        match (self.limit, self.order) {
            (0, _) => Ok(()),
            (limit, Order { by, descending: false }) => write!(f, ", first {limit} by {by}"),
            (limit, Order { by, descending: true }) => write!(f, ", last {limit} by {by}"),
        }
    }
}

impl Display for Put {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "put {} {}", self.key, self.value)
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Step::Range(range) => write!(f, "{range}"),
            Step::Put(put) => write!(f, "{put}"),
            Step::Delete(keys) => write!(f, "delete {keys}"),
        }
    }
}

impl Display for Compare {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let sign = match self.result {
            Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Greater => ">",
            Comparison::Less => "<",
        };
        match self.target {
            Target::Version(version) => write!(f, "version({}) {sign} {version}", self.keys),
            Target::Create(at) => write!(f, "create({}) {sign} {at}", self.keys),
            Target::Mod(at) => write!(f, "mod({}) {sign} {at}", self.keys),
            Target::Value(value) => write!(f, "value({}) {sign} {value}", self.keys),
            Target::Lease(None) => write!(f, "lease({}) {sign} 0", self.keys),
            Target::Lease(Some(lease)) => write!(f, "lease({}) {sign} {lease}", self.keys),
        }
    }
}

impl Display for Txn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("if ")?;
        joined(&self.compare, " and ", f)?;
        f.write_str(" then ")?;
        joined(&self.success, ", ", f)?;
        if !self.failure.is_empty() {
            f.write_str(" else ")?;
            joined(&self.failure, ", ", f)?;
        }
        Ok(())
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.way {
            Way::Alone | Way::NewStream | Way::OpenStream => write!(f, "{}", self.operation),
            Way::Connection { .. } => write!(f, "connection of {}", self.operation),
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Operation::Range(range) => write!(f, "{range}"),
            Operation::Put(put) => write!(f, "{put}"),
            Operation::Delete(keys) => write!(f, "delete {keys}"),
            Operation::Txn(txn) => write!(f, "{txn}"),
            Operation::Compact(at) => write!(f, "compact {at}"),
            Operation::Grant { ttl: Some(ttl) } => write!(f, "grant a lease of {ttl}"),
            Operation::Grant { ttl: None } => f.write_str("grant a lease"),
            Operation::GrantAs { lease, ttl: Some(ttl) } => write!(f, "grant {lease} for {ttl}"),
            Operation::GrantAs { lease, ttl: None } => write!(f, "grant {lease}"),
            Operation::Revoke(lease) => write!(f, "revoke {lease}"),
            Operation::KeepAlive(lease) => write!(f, "keep {lease} alive"),
            Operation::TimeToLive(lease) => write!(f, "time to live of {lease}"),
            Operation::Watch { keys, start: Start::Now } => write!(f, "watch {keys}"),
            Operation::Watch { keys, start: Start::At(from) } => write!(f, "watch {keys} from {from}"),
        }
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.kvs.is_empty() {
            true => f.write_str("none"),
            false => joined(&self.kvs, ", ", f),
        }
    }
}

impl Display for Response {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Response::Range(found) => write!(f, "{found}"),
            Response::Put => f.write_str("put"),
            Response::Deleted(keys) => write!(f, "{keys} deleted"),
        }
    }
}

impl Display for WatchEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            WatchEvent::Put(kv) => write!(f, "{} was put at {}", kv.key, kv.mod_revision),
            WatchEvent::Delete { key, mod_revision } => write!(f, "{key} was deleted at {mod_revision}"),
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Error::LeaseNotFound => "requested lease not found",
            Error::LeaseExists => "lease already exists",
            Error::Compacted => "required revision has been compacted",
            Error::FutureRevision => "required revision is a future revision",
            Error::DuplicateKey => "duplicate key given in txn request",
        })
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.outcome {
            Outcome::Range(found) => write!(f, "{found}"),
            Outcome::Put => f.write_str("put"),
            Outcome::Deleted(keys) => write!(f, "{keys} deleted"),
            Outcome::Txn { succeeded, responses } => {
                f.write_str(if *succeeded { "then: " } else { "else: " })?;
                joined(responses, ", ", f)
            }
            Outcome::Compacted => f.write_str("compacted"),
            Outcome::Granted { lease, .. } => write!(f, "granted {lease}"),
            Outcome::Revoked => f.write_str("revoked"),
            Outcome::KeptAlive { lease, ttl: Some(ttl) } => write!(f, "{lease} goes on for {ttl}"),
            Outcome::KeptAlive { lease, ttl: None } => write!(f, "{lease} goes on"),
            Outcome::LeaseOver(lease) => write!(f, "{lease} is over"),
            Outcome::TimeToLive { granted: None, .. } => f.write_str("no such lease"),
            Outcome::TimeToLive { granted: Some(ttl), keys } => {
                write!(f, "of {ttl}: ")?;
                joined(keys, ", ", f)
            }
            Outcome::Watching { .. } => f.write_str("watching"),
            Outcome::Events(events) => joined(events, ", ", f),
            Outcome::WatchCanceled { compact_revision } => {
                write!(f, "cancelled, compacted up to {compact_revision}")
            }
            Outcome::Failed(error) => write!(f, "{error}"),
            Outcome::NoLeader => f.write_str("no leader"),
        }?;
        write!(f, " (revision {})", self.revision)
    }
}
