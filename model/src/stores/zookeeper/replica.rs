//! What all servers agree about: the tree and the sessions, changed by one transaction after the other.
//!
//! A real leader turns a request into a transaction that says what will be changed (`PrepRequestProcessor`), looking at
//! the state as it will be when all that it proposed before is applied. Here a transaction carries the request, and each
//! server works out the change when it applies it: the same, as all apply the same transactions in the same order.

use super::protocol::{Applied, Change, Error, Outcome, Write};
use super::tree::{Edit, Edits, First, Tree};
use super::{Ephemerals, Out, Path, SessionId, Settings, Zxid};
use crate::machine::{Node, Owner, Visitor, put_in_order};
use crate::time::Micros;
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
    /// The znodes whose data it is to set.
    fn sets(&self) -> impl Iterator<Item = Path> {
        let writes = match self {
            Action::Write(write) => std::slice::from_ref(write),
            Action::Multi(writes) => writes.as_slice(),
            Action::CreateSession { .. } | Action::CloseSession | Action::Fail(_) => &[],
        };
        writes.iter().filter_map(|write| match write {
            Write::SetData { path, .. } => Some(*path),
            Write::Create { .. } | Write::Delete { .. } | Write::Check { .. } => None,
        })
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
    pub(super) edits: Edits,
    /// What is told of it whoever has ordered it: what was created, and what is gone.
    pub(super) seen: SmallVec<[Change; 2]>,
    /// What is told of it by the leader who has ordered it: what is first now, and whose data was set.
    pub(super) ordered: SmallVec<[Change; 2]>,
    /// The session that is over.
    pub(super) closed: Option<SessionId>,
}

impl Effect {
    /// Tells what changed. Only the leader does. The order of firsts and writes it does not repeat: of what an earlier leader
    /// has ordered (`is_own` is false), though the old one may not have come to it, it tells only what that has come to, once
    /// ([`Replica::tell_firsts`]).
    pub(super) fn tell(&self, is_own: bool, out: &mut Out) {
        let ordered = self.ordered.iter().filter(|_| is_own);
        self.seen.iter().chain(ordered).for_each(|change| out.changed(*change));
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

    /// Tells which znodes are first, as a leader finds them when it begins.
    pub(super) fn tell_firsts(&self, out: &mut Out) {
        self.tree.first_children().into_iter().for_each(|first| out.changed(told(first)));
    }

    /// Makes the next transaction happen.
    pub(super) fn apply(&mut self, txn: &Txn, settings: &Settings) -> Effect {
        let mut effect = Effect {
            outcome: Outcome::Synced,
            edits: Edits::new(),
            seen: SmallVec::new(),
            ordered: SmallVec::new(),
            closed: None,
        };
        let zxid = txn.zxid;
        self.last = zxid;
        let is_open = self.session(txn.session).is_some();
        let before = self.tree.first_children();
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
                match self.tree.write(*write, txn.session, zxid, settings, &mut effect.edits) {
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
                match self.tree.write_all(writes, txn.session, zxid, settings, &mut effect.edits) {
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
        effect.ordered.extend(self.tree.first_children().into_iter().filter(is_new).map(told));
        let done = matches!(effect.outcome, Outcome::Applied(_) | Outcome::Multi(_));
        let client = txn.session.client;
        effect.ordered.extend(txn.action.sets().map(|path| Change::Set { path, client, done }));
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
                    let gone = path.parent().map(|parent| Change::Gone { parent, client });
                    let is_told = |gone: &Change| txn.origin.is_none() && !effect.seen.contains(gone);
                    effect.seen.extend(gone.filter(is_told));
                    self.tree.remove(path, txn.zxid, &mut effect.edits);
                }
            }
            Ephemerals::StayBehind => {}
        }
    }

    /// Below which znode a write deletes an ephemeral one, and whose.
    fn owner_of_deleted(&self, write: Write) -> Option<(Path, SessionId)> {
        match write {
            Write::Delete { path, .. } => Some((path.parent()?, self.tree.node(path).ok()?.owner?)),
            Write::Create { .. } | Write::SetData { .. } | Write::Check { .. } => None,
        }
    }

    fn note(&self, applied: Applied, deleted: Option<(Path, SessionId)>, by: SessionId, effect: &mut Effect) {
        if let Applied::Created { path, stat } = applied
            && stat.owner.is_some()
        {
            effect.seen.push(Change::Created { path, client: by.client });
        }
        if let Some((parent, SessionId { client, .. })) = deleted
            && client != by.client
        {
            effect.seen.push(Change::Gone { parent, client });
        }
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.tree.visit(visitor);
        self.sessions.iter_mut().for_each(|session| session.id.visit(visitor));
        put_in_order::<V, _, _>(&mut self.sessions, |session| *session);
        self.last.visit(visitor);
    }
}

fn told(first: First) -> Change {
    Change::First { parent: Path::Top(first.parent), client: first.owner.client }
}

impl Edit {
    /// The znode that changed, and the one above if its children did.
    pub(super) fn touched(self) -> (Path, Option<Path>) {
        match self {
            Edit::Created(path) | Edit::Deleted(path, _) => (path, path.parent()),
            Edit::Data(path) => (path, None),
        }
    }

    /// What it means that a client's watch has fired for this.
    pub(super) fn notifies(self, client: u8) -> Option<Change> {
        match self {
            Edit::Deleted(path, Some(owner)) => {
                Some(Change::Notified { parent: path.parent()?, client, of: owner.client })
            }
            Edit::Deleted(_, None) | Edit::Created(_) | Edit::Data(_) => None,
        }
    }
}
