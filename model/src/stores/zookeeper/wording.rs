//! How messages read in a trace.

use super::protocol::*;
use std::fmt::{Display, Formatter};

fn version(version: &Option<i32>) -> String {
    version.map_or_else(String::new, |version| format!(" if at version {version}"))
}

fn watched(watch: &bool) -> &'static str {
    if *watch { ", watched" } else { "" }
}

impl Display for Write {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Write::Create { path, mode, .. } => match mode {
                CreateMode::Persistent => write!(f, "create {path}"),
                CreateMode::PersistentSequential => write!(f, "create sequential {path}"),
                CreateMode::Ephemeral => write!(f, "create ephemeral {path}"),
                CreateMode::EphemeralSequential => write!(f, "create ephemeral sequential {path}"),
            },
            Write::Delete { path, version: at } => write!(f, "delete {path}{}", version(at)),
            Write::SetData { path, data, version: at } => write!(f, "set {path} to {data}{}", version(at)),
            Write::Check { path, version: at } => write!(f, "check {path}{}", version(at)),
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Operation::Write(write) => write!(f, "{write}"),
            Operation::Multi(writes) => {
                f.write_str("all or none:")?;
                writes.iter().try_for_each(|write| write!(f, " {write};"))
            }
            Operation::Exists { path, watch } => write!(f, "exists {path}{}", watched(watch)),
            Operation::GetData { path, watch } => write!(f, "get {path}{}", watched(watch)),
            Operation::GetChildren { path, watch } => write!(f, "children of {path}{}", watched(watch)),
            Operation::Sync => f.write_str("sync"),
            Operation::CloseSession => f.write_str("close the session"),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Request::Connect(Connect { session: None, .. }) => f.write_str("connect, new session"),
            Request::Connect(Connect { session: Some(session), last, watches, .. }) => {
                write!(f, "connect, session {session}, has seen {last}")?;
                watches.iter().try_for_each(|watch| write!(f, ", watches {}", watch.path))
            }
            Request::Do { operation, .. } => write!(f, "{operation}"),
            Request::Ping { .. } => f.write_str("ping"),
        }
    }
}

impl Display for Applied {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Applied::Created { path, stat } => write!(f, "created {path} by {}", stat.czxid),
            Applied::Set { stat } => write!(f, "set, version {}", stat.version),
            Applied::Done => f.write_str("done"),
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Error::NoNode => "no such znode",
            Error::NodeExists => "znode exists",
            Error::BadVersion => "another version",
            Error::NotEmpty => "has children",
            Error::NoChildrenForEphemerals => "an ephemeral has no children",
            Error::BadArguments => "bad arguments",
            Error::SessionExpired => "session expired",
        })
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Applied(applied) => write!(f, "{applied}"),
            Outcome::Multi(all) => {
                f.write_str("all done:")?;
                all.iter().try_for_each(|applied| write!(f, " {applied};"))
            }
            Outcome::MultiFailed { place, error } => write!(f, "none done: write {}: {error}", place + 1),
            Outcome::Exists(stat) => write!(f, "exists, created by {}", stat.czxid),
            Outcome::Data { data, stat } => write!(f, "{data}, version {}", stat.version),
            Outcome::Children(paths) if paths.is_empty() => f.write_str("no children"),
            Outcome::Children(paths) => paths
                .iter()
                .enumerate()
                .try_for_each(|(place, path)| write!(f, "{}{path}", if place == 0 { "" } else { ", " })),
            Outcome::Synced => f.write_str("synced"),
            Outcome::SessionClosed => f.write_str("session closed"),
            Outcome::Failed(error) => write!(f, "{error}"),
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (place, fired) in self.fired.iter().enumerate() {
            f.write_str(if place == 0 { "watch: " } else { ", watch: " })?;
            f.write_str(match fired.event {
                WatchEvent::Created => "created",
                WatchEvent::Deleted => "deleted",
                WatchEvent::DataChanged => "data changed",
                WatchEvent::ChildrenChanged => "children changed",
            })?;
        }
        if self.body == Body::Notified {
            return Ok(());
        }
        if !self.fired.is_empty() {
            f.write_str("; ")?;
        }
        match &self.body {
            Body::Connected(session) => write!(f, "connected, session {session}"),
            Body::Expired => f.write_str("session expired"),
            Body::Closed => f.write_str("connection closed"),
            Body::Notified => Ok(()),
            Body::Pong => f.write_str("pong"),
            Body::Outcome { outcome, .. } => write!(f, "{outcome}"),
        }
    }
}
