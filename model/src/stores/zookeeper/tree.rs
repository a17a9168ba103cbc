//! The tree of znodes that every server keeps, and how writes change it (`DataTree.java`; what a write may do is decided
//! in `PrepRequestProcessor.java`).

use super::protocol::{Applied, Error, Stat, Write};
use super::{Counter, Flaw, Name, Numbered, Path, SessionId, Settings, Suffix, Zxid};
use crate::machine::{Visitor, put_in_order};
use crate::names::Word;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// One znode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Znode {
    /// What it holds.
    pub data: u32,
    /// Counts the changes of the data: what `setData` and `delete` may be conditional on.
    pub version: i32,
    /// Counts the children ever created: the `cversion` that is stored, and the next sequence number. Deletions do not
    /// raise it. (The `cversion` in a [`Stat`] is made of it: `2 * creates - children`, `DataNode.copyStat`.)
    pub creates: i32,
    /// Which transaction created it.
    pub czxid: Zxid,
    /// Which transaction last changed the data.
    pub mzxid: Zxid,
    /// Which transaction last created or deleted a child.
    pub pzxid: Zxid,
    /// The session it lives with, if it is ephemeral.
    pub owner: Option<SessionId>,
}

/// What a transaction did to the tree, for the watches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edit {
    Created(Path),
    /// And whose session it lived with, if it was ephemeral.
    Deleted(Path, Option<SessionId>),
    Data(Path),
}

/// The sequential ephemeral znode that was created first of those below the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct First {
    pub(super) parent: Name,
    czxid: Zxid,
    path: Path,
    pub(super) owner: SessionId,
}

pub(super) type Edits = SmallVec<[Edit; 2]>;

/// All znodes, in the order of their paths.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Tree {
    nodes: Vec<(Path, Znode)>,
}

impl Tree {
    /// The tree at the beginning: the root, and two znodes that are there before anybody comes, the first ones that its users'
    /// first two words name. The first of them may have had children ([`Settings::first_sequence`]).
    pub(super) fn new(settings: &Settings) -> Tree {
        let node = |creates| Znode {
            data: 0,
            version: 0,
            creates,
            czxid: Zxid::NONE,
            mzxid: Zxid::NONE,
            pzxid: Zxid::NONE,
            owner: None,
        };
        if settings.starts_empty {
            return Tree { nodes: vec![(Path::Root, node(0))] };
        }
        let nodes = vec![
            (Path::Root, node(2)),
            (Path::top(Word(0), 0), node(settings.first_sequence)),
            (Path::top(Word(1), 0), node(0)),
        ];
        Tree { nodes }
    }

    fn place(&self, path: Path) -> Result<usize, usize> {
        self.nodes.binary_search_by_key(&path, |(path, _)| *path)
    }

    /// The znode at `path`.
    pub(super) fn node(&self, path: Path) -> Result<&Znode, Error> {
        self.place(path).map(|place| &self.nodes[place].1).map_err(|_| Error::NoNode)
    }

    fn node_mut(&mut self, path: Path) -> Result<&mut Znode, Error> {
        self.place(path).map(|place| &mut self.nodes[place].1).map_err(|_| Error::NoNode)
    }

    /// All znodes, with their paths.
    pub(super) fn all(&self) -> impl Iterator<Item = (Path, &Znode)> {
        self.nodes.iter().map(|(path, node)| (*path, node))
    }

    /// The paths of the znodes right below `path`.
    pub(super) fn children(&self, path: Path) -> impl Iterator<Item = Path> + '_ {
        self.nodes.iter().map(|(child, _)| *child).filter(move |child| child.parent() == Some(path))
    }

    /// What `exists` tells of a znode.
    pub(super) fn stat(&self, path: Path) -> Result<Stat, Error> {
        let node = self.node(path)?;
        let children = self.children(path).count() as i32;
        Ok(Stat {
            czxid: node.czxid,
            mzxid: node.mzxid,
            pzxid: node.pzxid,
            version: node.version,
            cversion: node.creates.wrapping_mul(2).wrapping_sub(children),
            children,
            owner: node.owner,
        })
    }

    /// Makes one write of `session` happen, as part of transaction `zxid`. A write that fails changes nothing.
    pub(super) fn write(
        &mut self,
        write: Write,
        session: SessionId,
        zxid: Zxid,
        settings: &Settings,
        edits: &mut Edits,
    ) -> Result<Applied, Error> {
        match write {
            Write::Create { path, mode, data } => {
                let parent_path = path.parent().ok_or(Error::BadArguments)?;
                let parent = self.node(parent_path)?;
                let creates = parent.creates;
                let path = match (path, mode.is_sequential()) {
                    (Path::Child { parent: below, label, guid, suffix: None }, true) => {
                        let suffix = match (settings.flaw, settings.sequence) {
                            (Flaw::SequenceCountsChildren, _) => {
                                Suffix::Number(self.children(parent_path).count() as i32)
                            }
                            (_, Counter::Wraps | Counter::Sticks) => Suffix::Number(creates),
                            (_, Counter::Order) => Suffix::Order(zxid.counter),
                        };
                        Path::Child { parent: below, label, guid, suffix: Some(suffix) }
                    }
                    (Path::Numbered(Numbered { own, above }), true) => {
                        let own = own.with_digits(creates).ok_or(Error::BadArguments)?;
                        Path::Numbered(Numbered { own, above })
                    }
                    // Other names have no place for a suffix here.
                    (_, true) => return Err(Error::BadArguments),
                    (path, false) => path,
                };
                let has_ephemeral_parent = parent.owner.is_some();
                let Err(place) = self.place(path) else { return Err(Error::NodeExists) };
                if has_ephemeral_parent {
                    return Err(Error::NoChildrenForEphemerals);
                }
                let parent = self.node_mut(parent_path)?;
                match (settings.sequence, creates.checked_add(1)) {
                    (Counter::Order, _) => parent.pzxid = zxid,
                    (Counter::Wraps, _) => {
                        parent.creates = creates.wrapping_add(1);
                        parent.pzxid = zxid;
                    }
                    // `DataTree.createNode`: only "if (parentCVersion > parent.stat.getCversion())".
                    (Counter::Sticks, Some(creates)) => {
                        parent.creates = creates;
                        parent.pzxid = zxid;
                    }
                    (Counter::Sticks, None) => {}
                }
                let node = Znode {
                    data,
                    version: 0,
                    creates: 0,
                    czxid: zxid,
                    mzxid: zxid,
                    pzxid: zxid,
                    owner: mode.is_ephemeral().then_some(session),
                };
                self.nodes.insert(place, (path, node));
                edits.push(Edit::Created(path));
                Ok(Applied::Created { path, stat: self.stat(path)? })
            }
            Write::Delete { path, version } => {
                let parent = path.parent().ok_or(Error::BadArguments)?;
                self.node(parent)?;
                check_version(self.node(path)?, version)?;
                if self.children(path).next().is_some() {
                    return Err(Error::NotEmpty);
                }
                self.remove(path, zxid, edits);
                Ok(Applied::Done)
            }
            Write::SetData { path, data, version } => {
                let node = self.node_mut(path)?;
                check_version(node, version)?;
                node.data = data;
                node.version = node.version.wrapping_add(1);
                node.mzxid = zxid;
                edits.push(Edit::Data(path));
                Ok(Applied::Set { stat: self.stat(path)? })
            }
            Write::Check { path, version } => {
                check_version(self.node(path)?, version)?;
                Ok(Applied::Done)
            }
        }
    }

    /// All writes, or none and the place and error of the first that fails.
    pub(super) fn write_all(
        &mut self,
        writes: &[Write],
        session: SessionId,
        zxid: Zxid,
        settings: &Settings,
        edits: &mut Edits,
    ) -> Result<Vec<Applied>, (u8, Error)> {
        let before = self.clone();
        let mut applied = Vec::with_capacity(writes.len());
        for (place, write) in writes.iter().enumerate() {
            match self.write(*write, session, zxid, settings, edits) {
                Ok(done) => applied.push(done),
                Err(error) => {
                    *self = before;
                    edits.clear();
                    return Err((place as u8, error));
                }
            }
        }
        Ok(applied)
    }

    /// The ephemeral znodes of a session.
    pub(super) fn ephemerals(&self, session: SessionId) -> SmallVec<[Path; 2]> {
        let own = self.nodes.iter().filter(|(_, node)| node.owner == Some(session));
        own.map(|(path, _)| *path).collect()
    }

    /// Below each znode, the sequential ephemeral one that was created first, and whose it is. (By the zxid, which does not
    /// wrap or stick as sequence numbers do.)
    pub(super) fn first_children(&self) -> SmallVec<[First; 1]> {
        let mut firsts: SmallVec<[First; 1]> = SmallVec::new();
        for (path, node) in &self.nodes {
            let (Path::Child { parent, suffix: Some(_), .. }, Some(owner)) = (*path, node.owner) else {
                continue;
            };
            let candidate = First { parent, czxid: node.czxid, path: *path, owner };
            match firsts.iter_mut().find(|first| first.parent == parent) {
                Some(first) => *first = candidate.min(*first),
                None => firsts.push(candidate),
            }
        }
        firsts
    }

    /// Takes a znode without children away.
    pub(super) fn remove(&mut self, path: Path, zxid: Zxid, edits: &mut Edits) {
        if let Ok(place) = self.place(path) {
            let (_, node) = self.nodes.remove(place);
            edits.push(Edit::Deleted(path, node.owner));
        }
        if let Some(parent) = path.parent().and_then(|parent| self.node_mut(parent).ok()) {
            parent.pzxid = zxid;
        }
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        for (path, node) in &mut self.nodes {
            path.visit(visitor);
            node.czxid.visit(visitor);
            node.mzxid.visit(visitor);
            node.pzxid.visit(visitor);
            if let Some(owner) = &mut node.owner {
                owner.visit(visitor);
            }
        }
        put_in_order::<V, _, _>(&mut self.nodes, |(path, _)| *path);
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = String> + '_ {
        self.nodes.iter().filter(|(path, _)| *path != Path::Root).map(|(path, node)| {
            let owner = node.owner.map(|owner| format!(" of session {owner}")).unwrap_or_default();
            format!("{path}{owner}: data {}, version {}, created by {}", node.data, node.version, node.czxid)
        })
    }
}

/// `None` is the -1 of the API: any version.
fn check_version(node: &Znode, version: Option<i32>) -> Result<(), Error> {
    match version {
        Some(version) if version != node.version => Err(Error::BadVersion),
        Some(_) | None => Ok(()),
    }
}
