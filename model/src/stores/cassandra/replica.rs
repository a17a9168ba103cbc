//! A server as replica: it keeps cells, and what of them survives a power loss.

use super::cell::{Cell, Column, Columns, reconcile};
use super::paxos::Promises;
use super::protocol::{ColumnName, Row};
use super::{CommitLog, ExpiryClock, Settings};
use crate::machine::{Context, Visitor, put_in_order};
use crate::time::{Due, Wall};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// One column of one row, as stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub row: Row,
    pub column: Column,
}

impl Entry {
    fn key(&self) -> (Row, ColumnName) {
        (self.row, self.column.name)
    }
}

/// The cells of one server.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Replica {
    /// Memtable and tables on disk, as one: ordered by row, then lexicographically by column name.
    cells: SmallVec<[Entry; 4]>,
    /// What a power loss leaves, with [`CommitLog::Periodic`]; with [`CommitLog::Batch`] that is `cells`, and this
    /// empty.
    synced: Vec<Entry>,
    /// What it remembers of conditional writes, by row.
    paxos: SmallVec<[Promises; 1]>,
    /// What of that a power loss leaves: as `synced`.
    synced_paxos: Vec<Promises>,
    /// When the commit log is synced next: set while `synced` is behind.
    sync_due: Option<Due>,
}

impl Replica {
    /// Applies a mutation of one row.
    pub fn apply(&mut self, row: Row, columns: &[Column], cx: &Context<Settings>) {
        for &column in columns {
            let entry = Entry { row, column };
            match self.cells.binary_search_by(|probe| probe.key().cmp(&entry.key())) {
                Ok(at) => {
                    let stored = &mut self.cells[at].column.cell;
                    *stored = reconcile(stored, &column.cell, cx.settings.ties);
                }
                Err(at) => self.cells.insert(at, entry),
            }
        }
        self.purge(row, cx);
        self.log(cx);
    }

    fn log(&mut self, cx: &Context<Settings>) {
        if let CommitLog::Periodic { period } = cx.settings.commit_log {
            self.sync_due.get_or_insert(Due::Monotonic(cx.monotonic + period));
        }
    }

    /// What it remembers of the rounds about this row, to be changed: `system.paxos` is written through the same log.
    pub fn promises(&mut self, row: Row, cx: &Context<Settings>) -> &mut Promises {
        self.log(cx);
        let at = match self.paxos.binary_search_by(|probe| probe.row.cmp(&row)) {
            Ok(at) => at,
            Err(at) => {
                self.paxos.insert(at, Promises::new(row));
                at
            }
        };
        &mut self.paxos[at]
    }

    /// Whether it remembers rounds about this row: it may send a commit again, which must not find its column forgotten.
    pub fn has_promised(&self, row: Row) -> bool {
        self.paxos.iter().chain(&self.synced_paxos).any(|promises| promises.row == row)
    }

    /// All columns of `row` from `from` on, live or not. With [`ExpiryClock::Replica`] this server's clock turns what
    /// has expired into tombstones on the way out.
    pub fn read(&mut self, row: Row, from: Option<ColumnName>, cx: &Context<Settings>) -> Columns {
        self.purge(row, cx);
        let start = self.cells.partition_point(|entry| match from {
            Some(name) => entry.key() < (row, name),
            None => entry.row < row,
        });
        let end = start + self.cells[start..].partition_point(|entry| entry.row == row);
        let columns = self.cells[start..end].iter().map(|entry| entry.column);
        match cx.settings.expiry_clock {
            ExpiryClock::Coordinator => columns.collect(),
            ExpiryClock::Replica => {
                let now_seconds = cx.wall.whole_seconds();
                columns
                    .map(|Column { name, cell }| Column { name, cell: cell.with_expiry_applied(now_seconds) })
                    .collect()
            }
        }
    }

    /// Tombstones and expired cells go once the grace period is over (`db/rows/AbstractCell.java` `purge`,
    /// `db/ReadCommand.java` `withoutPurgeableTombstones`): `local deletion time < now - gc_grace`.
    fn purge(&mut self, row: Row, cx: &Context<Settings>) {
        let Some(grace_seconds) = cx.settings.gc_grace_seconds else { return };
        let now_seconds = cx.wall.whole_seconds();
        self.cells.retain(|entry| {
            let purgeable = |since_seconds| since_seconds + grace_seconds < now_seconds;
            entry.row != row || !entry.column.cell.local_deletion_seconds().is_some_and(purgeable)
        });
    }

    /// When the commit log is synced next, if it is behind.
    pub fn sync_due(&self) -> Option<Due> {
        self.sync_due
    }

    /// Brings the commit log on disk.
    pub fn sync(&mut self) {
        self.synced.clear();
        self.synced.extend_from_slice(&self.cells);
        self.synced_paxos.clear();
        self.synced_paxos.extend_from_slice(&self.paxos);
        self.sync_due = None;
    }

    /// The server starts again. It replays its commit log and flushes what it replayed to disk
    /// (`db/commitlog/CommitLogReplayer.java` `blockForWrites`), so that all it has then is durable.
    pub fn restart(&mut self, power_lost: bool, commit_log: CommitLog) {
        match commit_log {
            CommitLog::Batch => {}
            CommitLog::Periodic { .. } => {
                if power_lost {
                    self.cells.clear();
                    self.cells.extend_from_slice(&self.synced);
                    self.paxos.clear();
                    self.paxos.extend_from_slice(&self.synced_paxos);
                }
                self.sync();
            }
        }
    }

    /// Everything stored, what is only in the synced image included.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.cells.iter().chain(&self.synced)
    }

    /// The times that clients may write with.
    pub fn times(&self) -> impl Iterator<Item = Wall> {
        let is_among_them = |entry: &&Entry| entry.row.table == Row::TIMES;
        self.entries().filter(is_among_them).filter_map(|entry| entry.column.cell.time())
    }

    /// The cells stored for one column: none, one, or one more in the synced image.
    pub fn versions(&self, row: Row, name: ColumnName) -> impl Iterator<Item = &Cell> {
        self.entries().filter(move |entry| entry.key() == (row, name)).map(|entry| &entry.column.cell)
    }

    /// Forgets these columns, in the synced image too.
    pub fn forget(&mut self, columns: &[(Row, ColumnName)]) {
        self.cells.retain(|entry| !columns.contains(&entry.key()));
        self.synced.retain(|entry| !columns.contains(&entry.key()));
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        for Entry { row, column } in self.cells.iter_mut().chain(&mut self.synced) {
            column.visit(*row, visitor);
        }
        put_in_order::<V, _, _>(&mut self.cells, Entry::key);
        put_in_order::<V, _, _>(&mut self.synced, Entry::key);
        self.paxos.iter_mut().chain(&mut self.synced_paxos).for_each(|promises| promises.visit(visitor));
        self.sync_due.iter_mut().for_each(|due| visitor.due(due));
    }

    /// One line per row.
    pub fn contents(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for row in self.cells.chunk_by(|left, right| left.row == right.row) {
            let columns: Vec<String> = row.iter().map(|entry| entry.column.to_string()).collect();
            lines.push(format!("{}: {}", row[0].row, columns.join(", ")));
        }
        if self.sync_due.is_some() {
            lines.push("the commit log on disk is behind".to_owned());
        }
        lines
    }
}
