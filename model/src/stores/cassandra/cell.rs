//! A cell: what a column holds, when it counts as live, and which of two cells of one column wins.

use super::protocol::{Change, ColumnName, Row, Value, timestamp_group};
use crate::machine::{Visitor, put_in_order};
use crate::time::Wall;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// One version of a column's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The write timestamp, in microseconds: the bigger one wins.
    pub timestamp: Wall,
    /// A value or its absence.
    pub content: Content,
}

/// What a cell says about its column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Content {
    /// It has this value.
    Live {
        /// The value.
        value: Value,
        /// The local deletion time of a cell with a TTL, in whole seconds of the coordinator that took the write, plus
        /// the TTL (`db/rows/BufferCell.java` `expiring`, `db/LivenessInfo.java` `expiring`). Fixed once; every server
        /// compares its own or the reader's clock with it.
        expiry_seconds: Option<i64>,
    },
    /// It was deleted: a tombstone.
    Tombstone {
        /// When, in whole seconds of the coordinator that took the delete.
        local_deletion_seconds: i64,
    },
}

impl Content {
    /// What a change leaves in the column when its coordinator takes it at `now_seconds`. In CQL a TTL of zero is none.
    pub(super) fn of(change: Change, now_seconds: i64) -> Content {
        match change {
            Change::Put { value, ttl_seconds } => Content::Live {
                value,
                expiry_seconds: ttl_seconds.filter(|&ttl| ttl > 0).map(|ttl| now_seconds + i64::from(ttl)),
            },
            Change::Delete => Content::Tombstone { local_deletion_seconds: now_seconds },
        }
    }
}

/// A column: its name and one cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Column {
    /// The name.
    pub name: ColumnName,
    /// The cell.
    pub cell: Cell,
}

/// Columns of one row, ordered by name, each name once.
pub type Columns = SmallVec<[Column; 2]>;

/// Which of two cells with one timestamp wins.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum TieRules {
    /// Since CASSANDRA-14592: tombstone over expiring cell over plain cell, then the later local deletion time, then
    /// the larger value (`db/rows/Cells.java` `resolveRegular`).
    #[default]
    V4,
    /// 2.1: tombstone, then the larger value, then the later expiry (`db/AbstractCell.java`,
    /// `db/BufferExpiringCell.java` and `db/BufferDeletedCell.java`, `reconcile`).
    ///
    /// Two corners of 2.1 are no function of the two cells and are left out: it asks the wall clock as well (a plain
    /// cell loses to a cell that has expired by now, whatever the values), and with equal values it keeps whichever
    /// cell it was asked about first; here the one without expiry wins, as if it expired last.
    V2_1,
}

impl Cell {
    /// Whether the column has a value at `now_seconds`: without expiry, or `now < local deletion time`
    /// (`db/rows/AbstractCell.java` `isLive`).
    pub fn is_live_at(&self, now_seconds: i64) -> bool {
        self.value_at(now_seconds).is_some()
    }

    /// The value at `now_seconds`, if the cell is live then.
    pub fn value_at(&self, now_seconds: i64) -> Option<Value> {
        match self.content {
            Content::Live { value, expiry_seconds } => {
                expiry_seconds.is_none_or(|expiry| now_seconds < expiry).then_some(value)
            }
            Content::Tombstone { .. } => None,
        }
    }

    /// From when on the cell is no longer needed to hide older ones, but for the grace period: `None` for a plain
    /// cell.
    pub fn local_deletion_seconds(&self) -> Option<i64> {
        match self.content {
            Content::Live { .. } => self.expiry_seconds(),
            Content::Tombstone { local_deletion_seconds } => Some(local_deletion_seconds),
        }
    }

    /// The time that the cell holds.
    pub(super) fn time(&self) -> Option<Wall> {
        match self.content {
            Content::Live { value, .. } => value.time(),
            Content::Tombstone { .. } => None,
        }
    }

    /// When a cell with a TTL expires.
    pub(super) fn expiry_seconds(&self) -> Option<i64> {
        match self.content {
            Content::Live { expiry_seconds, .. } => expiry_seconds,
            Content::Tombstone { .. } => None,
        }
    }

    /// An expired cell as the tombstone it has become; others as they are. Both hide the same older writes.
    pub fn with_expiry_applied(self, now_seconds: i64) -> Cell {
        match self.content {
            Content::Live { expiry_seconds: Some(expiry), .. } if now_seconds >= expiry => {
                Cell { content: Content::Tombstone { local_deletion_seconds: expiry }, ..self }
            }
            Content::Live { .. } | Content::Tombstone { .. } => self,
        }
    }

    /// Shows the times in the cell of the column `name` of `row`.
    pub(super) fn visit<V: Visitor>(&mut self, row: Row, name: ColumnName, visitor: &mut V) {
        visitor.stamp(timestamp_group(row, name.thread), &mut self.timestamp);
        match &mut self.content {
            Content::Live { value, expiry_seconds } => {
                value.visit(visitor);
                expiry_seconds.iter_mut().for_each(|at| visitor.expiry_seconds(at));
            }
            Content::Tombstone { local_deletion_seconds } => visitor.expiry_seconds(local_deletion_seconds),
        }
    }

    /// Ordered as cells win over each other; equal only for equal cells, so that the winner of many cells does not
    /// depend on the order in which they meet.
    fn precedence(&self, ties: TieRules) -> (Wall, u8, i64, i64) {
        let (class, first, second) = match (ties, self.content) {
            (TieRules::V4, Content::Live { value, expiry_seconds: None }) => (0, 0, value.rank()),
            (TieRules::V4, Content::Live { value, expiry_seconds: Some(expiry) }) => {
                (1, expiry, value.rank())
            }
            (TieRules::V2_1, Content::Live { value, expiry_seconds }) => {
                (0, value.rank(), expiry_seconds.unwrap_or(i64::MAX))
            }
            (TieRules::V4 | TieRules::V2_1, Content::Tombstone { local_deletion_seconds }) => {
                (2, local_deletion_seconds, 0)
            }
        };
        (self.timestamp, class, first, second)
    }
}

impl Column {
    /// Shows the times in the name and in the cell.
    pub(super) fn visit<V: Visitor>(&mut self, row: Row, visitor: &mut V) {
        self.cell.visit(row, self.name, visitor);
        self.name.visit(visitor);
    }
}

/// Shows the columns of a row, in the order of their names.
pub(super) fn visit_columns<V: Visitor>(columns: &mut Columns, row: Row, visitor: &mut V) {
    columns.iter_mut().for_each(|column| column.visit(row, visitor));
    put_in_order::<V, _, _>(columns, |column| column.name);
}

/// Which of two cells of one column stays: the bigger timestamp, on a tie what `ties` says.
///
/// Whether a cell has expired by now does not matter: an expired cell goes on hiding older ones, as a tombstone would.
pub fn reconcile(left: &Cell, right: &Cell, ties: TieRules) -> Cell {
    if left.precedence(ties) >= right.precedence(ties) { *left } else { *right }
}

/// Adds one column to ordered columns; what is there under this name is reconciled with it.
pub(super) fn merge_into(columns: &mut Columns, column: Column, ties: TieRules) {
    match columns.binary_search_by(|probe| probe.name.cmp(&column.name)) {
        Ok(at) => columns[at].cell = reconcile(&columns[at].cell, &column.cell, ties),
        Err(at) => columns.insert(at, column),
    }
}

/// Adds columns in the order of their names to others in that order, as [`merge_into`] does one by one.
pub(super) fn merge_all(columns: &mut Columns, ordered: impl IntoIterator<Item = Column>, ties: TieRules) {
    let mut at = 0;
    for column in ordered {
        at += columns[at..].iter().take_while(|probe| probe.name < column.name).count();
        match columns.get_mut(at) {
            Some(there) if there.name == column.name => {
                there.cell = reconcile(&there.cell, &column.cell, ties);
            }
            _ => columns.insert(at, column),
        }
    }
}
