//! What all servers agree about: the tree and the sessions, changed by one transaction after the other.
//!
//! A real leader turns a request into a transaction that says what will be changed (`PrepRequestProcessor`), looking at
//! the state as it will be when all that it proposed before is applied. Here a transaction carries the request, and each
//! server works out the change when it applies it: the same, as all apply the same transactions in the same order.

use super::protocol::{Applied, Error, Outcome, Write};
use super::tree::{Change, Changes, First, Tree};
use super::{Ephemerals, Path, SessionId, Settings, Zxid};
use crate::machine::{Node, Owner, Visitor};
use crate::time::Micros;
use picklock_properties::{ClientId, Event, LockId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// A session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) timeout: Option<Micros>,
    /// The client's last session is remembered when it is over, so that no late or doubled request begins it again.
    is_open: bool,
}

/// What a transaction is to do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Action {
    /// A client's session begins.
    CreateSession {
        /// Its timeout.
        timeout: Option<Micros>,
    },
    /// A session ends: its client closed it, or its time was over.
    CloseSession,
    /// One change.
    Write(Write),
    /// All changes or none.
    Multi(Vec<Write>),
    /// The leader turned the request down; the error takes its place in the order like everything else.
    Fail(Error),
}

/// Where a transaction comes from: who is to be answered when it is applied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The server that the client talks to.
    pub server: u8,
    /// The client's serial number of the request.
    pub serial: u32,
}

/// One transaction: a place in the order of all changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Txn {
    /// Its number.
    pub zxid: Zxid,
    /// Whose session it belongs to.
    pub session: SessionId,
    /// Who waits for it, if anybody.
    pub origin: Option<Origin>,
    /// What it does.
    pub action: Action,
}

impl Txn {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.zxid.visit(visitor);
        self.session.visit(visitor);
        if let Some(origin) = &mut self.origin {
            visitor.serial(Owner::Node(Node::Client(self.session.client)), &mut origin.serial);
        }
        self.action.visit(visitor);
    }
}

impl Action {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Action::Write(write) => write.visit(visitor),
            Action::Multi(writes) => writes.iter_mut().for_each(|write| write.visit(visitor)),
            Action::CreateSession { .. } | Action::CloseSession | Action::Fail(_) => {}
        }
    }
}

impl Action {
    /// Whether it writes to what the lock protects.
    fn is_work(&self) -> bool {
        let is_work = |write: &Write| matches!(write, Write::SetData { path: Path::Work(_), .. });
        match self {
            Action::Write(write) => is_work(write),
            Action::Multi(writes) => writes.iter().any(is_work),
            Action::CreateSession { .. } | Action::CloseSession | Action::Fail(_) => false,
        }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Action::CreateSession { .. } => f.write_str("session begins"),
            Action::CloseSession => f.write_str("session ends"),
            Action::Write(write) => write!(f, "{write}"),
            Action::Multi(writes) => write!(f, "{} writes at once", writes.len()),
            Action::Fail(error) => write!(f, "{error}"),
        }
    }
}

/// What applying a transaction did, beside changing the state.
pub(super) struct Effect {
    pub(super) outcome: Outcome,
    pub(super) changes: Changes,
    /// Clients whose ephemeral znodes are gone, and who did not delete or close anything themselves.
    pub(super) bereft: SmallVec<[(LockId, u8); 1]>,
    /// A client that took a place in a lock's queue.
    pub(super) enqueued: Option<(LockId, u8)>,
    /// A client whose znode has become the first of a lock's queue.
    pub(super) acquired: SmallVec<[(LockId, u8); 1]>,
    /// A client that wrote to what the lock protects, and whether that was done.
    pub(super) written: Option<(u8, bool)>,
    /// The session that is over.
    pub(super) closed: Option<SessionId>,
}

impl Effect {
    /// Tells the monitors. Only the leader does, who applies every transaction first; after a leader change the new one
    /// may say again what the old one said. The order of grants and writes it does not repeat: of what an earlier leader has
    /// ordered (`is_own` is false), though the old one may not have come to it, it says only what that has come to, once
    /// ([`Replica::record_acquired`]). The ensemble keeps one record, whichever servers have it: the record of "server 0".
    pub(super) fn record(&self, is_own: bool, events: &mut Vec<Event>) {
        events.extend(self.enqueued.map(|(lock, client)| Event::Enqueued { client: ClientId(client), lock }));
        let gone =
            |&(lock, client): &(LockId, u8)| Event::RecordGone { client: ClientId(client), lock, server: 0 };
        events.extend(self.bereft.iter().map(gone));
        if !is_own {
            return;
        }
        let acquired = |&(lock, client): &(LockId, u8)| Event::Acquired { client: ClientId(client), lock };
        events.extend(self.acquired.iter().map(acquired));
        events.extend(self.written.map(|(client, accepted)| match accepted {
            true => Event::Accepted { client: ClientId(client), fence: None, hold: None },
            false => Event::Rejected { client: ClientId(client), fence: None, hold: None },
        }));
    }
}

/// The state after some transaction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Replica {
    pub(super) tree: Tree,
    /// In the order of their numbers.
    sessions: SmallVec<[Session; 2]>,
    /// The last transaction applied.
    pub(super) last: Zxid,
}

impl Replica {
    pub(super) fn new(settings: &Settings) -> Replica {
        Replica { tree: Tree::new(settings), sessions: SmallVec::new(), last: Zxid::NONE }
    }

    /// The session, if it is open.
    pub(super) fn session(&self, id: SessionId) -> Option<Session> {
        self.sessions().find(|session| session.id == id)
    }

    /// All that are open.
    pub(super) fn sessions(&self) -> impl Iterator<Item = Session> + '_ {
        self.sessions.iter().copied().filter(|session| session.is_open)
    }

    /// Tells the monitors whose the locks are, as a leader finds them when it begins.
    pub(super) fn record_acquired(&self, events: &mut Vec<Event>) {
        let firsts = self.tree.first_in_queues().into_iter();
        events.extend(
            firsts.map(|first| Event::Acquired {
                client: ClientId(first.owner.client),
                lock: LockId(first.lock),
            }),
        );
    }

    /// Makes the next transaction happen.
    pub(super) fn apply(&mut self, txn: &Txn, settings: &Settings) -> Effect {
        let mut effect = Effect {
            outcome: Outcome::Synced,
            changes: Changes::new(),
            bereft: SmallVec::new(),
            enqueued: None,
            acquired: SmallVec::new(),
            written: None,
            closed: None,
        };
        let zxid = txn.zxid;
        self.last = zxid;
        let is_open = self.session(txn.session).is_some();
        let before = self.tree.first_in_queues();
        effect.outcome = match &txn.action {
            Action::CreateSession { timeout } => {
                let SessionId { client, serial } = txn.session;
                let is_late = |other: &Session| other.id.client == client && other.id.serial >= serial;
                if self.sessions.iter().any(is_late) {
                    Outcome::Failed(Error::SessionExpired)
                } else {
                    self.sessions.retain(|other| other.id.client != client || other.is_open);
                    self.sessions.push(Session { id: txn.session, timeout: *timeout, is_open: true });
                    self.sessions.sort_unstable();
                    Outcome::Synced
                }
            }
            Action::Fail(error) => Outcome::Failed(*error),
            Action::CloseSession => {
                self.close(txn, settings, &mut effect);
                Outcome::SessionClosed
            }
            Action::Write(_) | Action::Multi(_) if !is_open => Outcome::Failed(Error::SessionExpired),
            Action::Write(write) => {
                let deleted = self.owner_of_deleted(*write);
                match self.tree.write(*write, txn.session, zxid, settings, &mut effect.changes) {
                    Ok(applied) => {
                        self.note(applied, deleted, txn.session, &mut effect);
                        Outcome::Applied(applied)
                    }
                    Err(error) => Outcome::Failed(error),
                }
            }
            Action::Multi(writes) => {
                let deleted: SmallVec<[_; 2]> =
                    writes.iter().map(|write| self.owner_of_deleted(*write)).collect();
                match self.tree.write_all(writes, txn.session, zxid, settings, &mut effect.changes) {
                    Ok(all) => {
                        for (applied, deleted) in all.iter().zip(deleted) {
                            self.note(*applied, deleted, txn.session, &mut effect);
                        }
                        Outcome::Multi(all)
                    }
                    Err((place, error)) => Outcome::MultiFailed { place, error },
                }
            }
        };
        let is_new = |first: &First| !before.contains(first);
        let now = self.tree.first_in_queues().into_iter().filter(is_new);
        effect.acquired = now.map(|first| (LockId(first.lock), first.owner.client)).collect();
        if txn.action.is_work() {
            let accepted = matches!(effect.outcome, Outcome::Applied(_) | Outcome::Multi(_));
            effect.written = Some((txn.session.client, accepted));
        }
        effect
    }

    fn close(&mut self, txn: &Txn, settings: &Settings, effect: &mut Effect) {
        if self.session(txn.session).is_none() {
            return;
        }
        let SessionId { client, serial } = txn.session;
        let has_later = |other: &Session| other.id.client == client && other.id.serial > serial;
        if self.sessions.iter().any(has_later) {
            self.sessions.retain(|session| session.id != txn.session);
        }
        for session in self.sessions.iter_mut().filter(|session| session.id == txn.session) {
            session.is_open = false;
        }
        effect.closed = Some(txn.session);
        match settings.ephemerals {
            Ephemerals::GoWithTheirSession => {
                for path in self.tree.ephemerals(txn.session) {
                    let bereft = (path.lock(), txn.session.client);
                    if txn.origin.is_none() && !effect.bereft.contains(&bereft) {
                        effect.bereft.push(bereft);
                    }
                    self.tree.remove(path, txn.zxid, &mut effect.changes);
                }
            }
            Ephemerals::StayBehind => {}
        }
    }

    fn owner_of_deleted(&self, write: Write) -> Option<(LockId, SessionId)> {
        match write {
            Write::Delete { path, .. } => Some((path.lock(), self.tree.node(path).ok()?.owner?)),
            Write::Create { .. } | Write::SetData { .. } | Write::Check { .. } => None,
        }
    }

    fn note(
        &self,
        applied: Applied,
        deleted: Option<(LockId, SessionId)>,
        by: SessionId,
        effect: &mut Effect,
    ) {
        if let Applied::Created { path: Path::Child { lock, suffix: Some(_), .. }, stat } = applied
            && stat.owner.is_some()
        {
            effect.enqueued = Some((LockId(lock), by.client));
        }
        if let Some((lock, owner)) = deleted
            && owner.client != by.client
        {
            effect.bereft.push((lock, owner.client));
        }
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.tree.visit(visitor);
        self.sessions.iter_mut().for_each(|session| session.id.visit(visitor));
        self.last.visit(visitor);
    }
}

impl Change {
    /// The znode that changed, and the one above if its children did.
    pub(super) fn touched(self) -> (Path, Option<Path>) {
        match self {
            Change::Created(path) | Change::Deleted(path) => (path, path.parent()),
            Change::Data(path) => (path, None),
        }
    }
}
