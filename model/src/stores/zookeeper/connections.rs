//! Who talks to a server, and what they watch (`ServerCnxn.java`, `WatchManager.java`).

use super::protocol::*;
use super::replica::Replica;
use super::tree::Edit;
use super::{Path, SessionId, ZooKeeper, Zxid};
use crate::machine::{Effects, Node, Owner, Visitor, put_in_order};
use crate::time::Micros;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Pending {
    /// The transaction of this request.
    Txn { serial: u32 },
    /// The leader's answer to a `sync`.
    Leader { serial: u32 },
    /// For this server to have applied this transaction.
    Caught { serial: u32, until: Zxid },
}

/// One client's connection.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Connection {
    pub(super) session: SessionId,
    /// The connection's number.
    pub(super) number: u32,
    /// The last request taken.
    taken: u32,
    timeout: Option<Micros>,
    pub(super) pending: Option<Pending>,
    watches: SmallVec<[Watch; 1]>,
    /// What the client may not know yet.
    fired: SmallVec<[Fired; 1]>,
}

impl Connection {
    pub(super) fn new(session: SessionId, number: u32, timeout: Option<Micros>) -> Connection {
        Connection {
            session,
            number,
            taken: number,
            timeout,
            pending: None,
            watches: SmallVec::new(),
            fired: SmallVec::new(),
        }
    }

    pub(super) fn expires(&self) -> bool {
        self.timeout.is_some()
    }

    /// Whether a request is the next on this connection; if so it is taken.
    pub(super) fn takes(&mut self, serial: u32, waiting: &[u32]) -> bool {
        if serial <= self.taken {
            return false;
        }
        self.taken = serial;
        self.fired.retain(|fired| waiting.contains(&fired.serial));
        true
    }

    /// Sets a watch; a second one on the same takes the first one's place.
    pub(super) fn watch(&mut self, watch: Watch) {
        self.watches.retain(|other| (other.path, other.kind) != (watch.path, watch.kind));
        self.watches.push(watch);
    }

    /// Sets the watches of an earlier connection again, or fires those that missed something (`DataTree.setWatches`).
    pub(super) fn watch_again(&mut self, watches: &[Watch], last: Zxid, replica: &Replica) {
        for watch in watches {
            let node = replica.tree.node(watch.path);
            let event = match (watch.kind, node) {
                (WatchKind::Data | WatchKind::Children, Err(_)) => Some(WatchEvent::Deleted),
                (WatchKind::Data, Ok(node)) if node.mzxid > last => Some(WatchEvent::DataChanged),
                (WatchKind::Children, Ok(node)) if node.pzxid > last => Some(WatchEvent::ChildrenChanged),
                (WatchKind::Absence, Ok(_)) => Some(WatchEvent::Created),
                (WatchKind::Data | WatchKind::Children, Ok(_)) | (WatchKind::Absence, Err(_)) => None,
            };
            match event {
                Some(event) => self.fired.push(Fired { serial: watch.serial, event }),
                None => self.watches.push(*watch),
            }
        }
    }

    /// Fires what a change is watched by. Whether anything was.
    pub(super) fn fire(&mut self, change: Edit) -> bool {
        let (path, parent) = change.touched();
        let before = self.fired.len();
        let fired = &mut self.fired;
        self.watches.retain(|watch| {
            let event = match (watch.kind, change) {
                (WatchKind::Data | WatchKind::Absence, Edit::Created(_)) if watch.path == path => {
                    WatchEvent::Created
                }
                (WatchKind::Data | WatchKind::Absence | WatchKind::Children, Edit::Deleted(..))
                    if watch.path == path =>
                {
                    WatchEvent::Deleted
                }
                (WatchKind::Data | WatchKind::Absence, Edit::Data(_)) if watch.path == path => {
                    WatchEvent::DataChanged
                }
                (WatchKind::Children, Edit::Created(_) | Edit::Deleted(..)) if Some(watch.path) == parent => {
                    WatchEvent::ChildrenChanged
                }
                (WatchKind::Data | WatchKind::Absence | WatchKind::Children, _) => return true,
            };
            fired.push(Fired { serial: watch.serial, event });
            false
        });
        self.fired.len() > before
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        let client = Owner::Node(Node::Client(self.session.client));
        self.session.visit(visitor);
        visitor.serial(client, &mut self.number);
        visitor.serial(client, &mut self.taken);
        match &mut self.pending {
            None => {}
            Some(Pending::Txn { serial } | Pending::Leader { serial }) => visitor.serial(client, serial),
            Some(Pending::Caught { serial, until }) => {
                visitor.serial(client, serial);
                until.visit(visitor);
            }
        }
        self.watches.iter_mut().for_each(|watch| watch.visit(client, visitor));
        self.fired.iter_mut().for_each(|fired| visitor.serial(client, &mut fired.serial));
    }
}

/// All connections of a server, at most one a client, in the order of the clients.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Connections(Vec<Connection>);

impl Connections {
    /// The connection of a client.
    pub(super) fn of(&mut self, client: u8) -> Option<&mut Connection> {
        self.0.iter_mut().find(|connection| connection.session.client == client)
    }

    /// Whether the client's connection is this one, or a later one.
    pub(super) fn has_reached(&self, client: u8, number: u32) -> bool {
        self.0.iter().any(|connection| connection.session.client == client && connection.number >= number)
    }

    /// A new connection takes the place of the client's old one.
    pub(super) fn open(&mut self, connection: Connection) {
        self.0.retain(|other| other.session.client != connection.session.client);
        self.0.push(connection);
        self.0.sort_unstable_by_key(|connection| connection.session.client);
    }

    /// Takes a client's connection away.
    pub(super) fn close(&mut self, client: u8) {
        self.0.retain(|connection| connection.session.client != client);
    }

    /// Ends all connections, and tells the clients.
    pub(super) fn close_all(&mut self, out: &mut Effects<ZooKeeper>) {
        for connection in self.0.drain(..) {
            out.reply(connection.session.client, closed(connection.number));
        }
    }

    /// The process ended; nobody is told.
    pub(super) fn forget_all(&mut self) {
        self.0.clear();
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.0.iter_mut()
    }

    /// [`super::Flaw::EventsAfterReplies`]: what was sent once is not sent again.
    pub(super) fn forget_fired(&mut self, client: u8) {
        if let Some(connection) = self.of(client) {
            connection.fired.clear();
        }
    }

    /// Sends what a server says on a connection.
    pub(super) fn say(&mut self, client: u8, last: Zxid, body: Body, out: &mut Effects<ZooKeeper>) {
        let Some(connection) = self.of(client) else { return };
        let is_answer = matches!(body, Body::Outcome { .. });
        let zxid = if connection.expires() && is_answer { last } else { Zxid::NONE };
        let fired = connection.fired.clone();
        out.reply(client, Reply { connection: connection.number, zxid, fired, body });
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.0.iter_mut().for_each(|connection| connection.visit(visitor));
        put_in_order::<V, _, _>(&mut self.0, |connection| connection.session.client);
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().filter(|connection| !connection.watches.is_empty()).map(|connection| {
            let paths: Vec<String> = connection.watches.iter().map(|watch| watch.path.to_string()).collect();
            format!("watches of session {}: {}", connection.session, paths.join(", "))
        })
    }
}

/// A connection that the server does not have, or has closed.
pub(super) fn closed(connection: u32) -> Reply {
    Reply { connection, zxid: Zxid::NONE, fired: SmallVec::new(), body: Body::Closed }
}

/// A read, answered from what the server has applied, and the watch that it sets.
pub(super) fn read(operation: &Operation, replica: &Replica) -> Option<(Outcome, Option<(Path, WatchKind)>)> {
    let tree = &replica.tree;
    let failed = |error| (Outcome::Failed(error), None);
    Some(match operation {
        Operation::Exists { path, watch } => match tree.stat(*path) {
            Ok(stat) => (Outcome::Exists(stat), watch.then_some((*path, WatchKind::Data))),
            Err(error) => (Outcome::Failed(error), watch.then_some((*path, WatchKind::Absence))),
        },
        Operation::GetData { path, watch } => match (tree.node(*path), tree.stat(*path)) {
            (Ok(node), Ok(stat)) => {
                (Outcome::Data { data: node.data, stat }, watch.then_some((*path, WatchKind::Data)))
            }
            (Err(error), _) | (_, Err(error)) => failed(error),
        },
        Operation::GetChildren { path, watch } => match tree.node(*path) {
            Ok(_) => {
                let children = tree.children(*path).collect();
                (Outcome::Children(children), watch.then_some((*path, WatchKind::Children)))
            }
            Err(error) => failed(error),
        },
        Operation::Write(_) | Operation::Multi(_) | Operation::Sync | Operation::CloseSession => return None,
    })
}
