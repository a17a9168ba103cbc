//! A server as replica: it keeps cells, and what of them survives a power loss.

use super::cell::{Cell, Column, Columns, reconcile};
use super::paxos::Promises;
use super::protocol::{ColumnName, Row};
use super::{CommitLog, ExpiryClock, Settings};
use crate::machine::{Context, Visitor, put_in_order};
use crate::time::{Due, Micros, Monotonic, Wall};
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
    /// What it remembers of conditional writes, by row.
    paxos: SmallVec<[Promises; 1]>,
    /// What a power loss leaves of them, with [`CommitLog::Periodic`]; nothing before the first write.
    synced: Option<Box<Image>>,
    /// What a killed process leaves of them, as long as that is not everything: as they were at the last mark.
    marked: Option<Box<Image>>,
}

/// What a restart brings back.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Image {
    cells: Vec<Entry>,
    paxos: Vec<Promises>,
    /// When the log is synced or marked next: set while this is behind.
    due: Option<Due>,
}

impl Image {
    fn take(&mut self, cells: &[Entry], paxos: &[Promises]) {
        self.cells.clear();
        self.cells.extend_from_slice(cells);
        self.paxos.clear();
        self.paxos.extend_from_slice(paxos);
        self.due = None;
    }
}

impl Replica {
    /// Applies a mutation of one row.
    pub fn apply(&mut self, row: Row, columns: &[Column], cx: &Context<Settings>) {
        self.log(cx);
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
    }

    /// Whether this is what is stored of its column.
    pub fn has(&self, row: Row, column: &Column) -> bool {
        let entry = Entry { row, column: *column };
        self.cells
            .binary_search_by(|probe| probe.key().cmp(&entry.key()))
            .is_ok_and(|at| self.cells[at] == entry)
    }

    /// To be called before anything changes.
    fn log(&mut self, cx: &Context<Settings>) {
        if let CommitLog::Periodic { period, marks } = cx.settings.commit_log {
            let synced = self.synced.get_or_insert_default();
            synced.due.get_or_insert(Due::Monotonic(cx.monotonic + period));
            if marks > Micros::ZERO && self.marked.is_none() {
                let marked = self.marked.insert(Box::default());
                marked.take(&self.cells, &self.paxos);
                marked.due = Some(Due::Monotonic(cx.monotonic + marks));
            }
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
        self.all_promises().any(|promises| promises.row == row)
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

    /// When the commit log is marked or synced next, if it is behind.
    pub fn deadline(&self) -> Option<Due> {
        self.images().filter_map(|image| image.due).min()
    }

    fn images(&self) -> impl Iterator<Item = &Image> {
        [&self.synced, &self.marked].into_iter().flatten().map(Box::as_ref)
    }

    /// Marks the commit log and brings it on disk, whichever is due: what is synced is marked, too.
    pub fn on_deadline(&mut self, now: Monotonic) {
        let is_due = |image: &Option<Box<Image>>| {
            image.as_ref().and_then(|image| image.due).is_some_and(|due| due <= Due::Monotonic(now))
        };
        if is_due(&self.synced) {
            self.sync();
        } else if is_due(&self.marked) {
            self.marked = None;
        }
    }

    fn sync(&mut self) {
        if let Some(synced) = &mut self.synced {
            synced.take(&self.cells, &self.paxos);
        }
        self.marked = None;
    }

    /// The server starts again. It replays its commit log and flushes what it replayed to disk
    /// (`db/commitlog/CommitLogReplayer.java` `blockForWrites`), so that all it has then is durable.
    pub fn restart(&mut self, power_lost: bool, commit_log: CommitLog) {
        match commit_log {
            CommitLog::Batch => {}
            CommitLog::Periodic { .. } => {
                let left = if power_lost { &self.synced } else { &self.marked };
                if let Some(Image { cells, paxos, .. }) = left.as_deref() {
                    self.cells.clear();
                    self.cells.extend_from_slice(cells);
                    self.paxos.clear();
                    self.paxos.extend_from_slice(paxos);
                }
                self.sync();
            }
        }
    }

    /// Everything stored, what only a restart would bring back included.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.cells.iter().chain(self.images().flat_map(|image| &image.cells))
    }

    fn all_promises(&self) -> impl Iterator<Item = &Promises> {
        self.paxos.iter().chain(self.images().flat_map(|image| &image.paxos))
    }

    /// The times that clients may write with.
    pub fn times(&self) -> impl Iterator<Item = Wall> {
        let is_among_them = |entry: &&Entry| entry.row.table == Row::TIMES;
        self.entries().filter(is_among_them).filter_map(|entry| entry.column.cell.time())
    }

    /// The cells stored for one column: none, one, or more that a restart would bring back.
    pub fn versions(&self, row: Row, name: ColumnName) -> impl Iterator<Item = &Cell> {
        self.entries().filter(move |entry| entry.key() == (row, name)).map(|entry| &entry.column.cell)
    }

    /// Forgets these columns, a restart does not bring them back.
    pub fn forget(&mut self, columns: &[(Row, ColumnName)]) {
        self.cells.retain(|entry| !columns.contains(&entry.key()));
        for image in [&mut self.synced, &mut self.marked].into_iter().flatten() {
            image.cells.retain(|entry| !columns.contains(&entry.key()));
        }
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        let Replica { cells, paxos, synced, marked } = self;
        cells.iter_mut().for_each(|Entry { row, column }| column.visit(*row, visitor));
        put_in_order::<V, _, _>(cells, Entry::key);
        paxos.iter_mut().for_each(|promises| promises.visit(visitor));
        for Image { cells, paxos, due } in [synced, marked].into_iter().flatten().map(Box::as_mut) {
            cells.iter_mut().for_each(|Entry { row, column }| column.visit(*row, visitor));
            put_in_order::<V, _, _>(cells, Entry::key);
            paxos.iter_mut().for_each(|promises| promises.visit(visitor));
            due.iter_mut().for_each(|due| visitor.due(due));
        }
    }

    /// One line per row.
    pub fn contents(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for row in self.cells.chunk_by(|left, right| left.row == right.row) {
            let columns: Vec<String> = row.iter().map(|entry| entry.column.to_string()).collect();
            lines.push(format!("{}: {}", row[0].row, columns.join(", ")));
        }
        if self.synced.as_ref().is_some_and(|synced| synced.due.is_some()) {
            lines.push("the commit log on disk is behind".to_owned());
        }
        if self.marked.is_some() {
            lines.push("the end of the commit log has no mark".to_owned());
        }
        lines
    }
}
