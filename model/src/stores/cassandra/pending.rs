//! What a coordinator remembers of the operations that too few replicas have answered yet.

#[cfg(doc)]
use super::ExpiryClock;
use super::cell::Column;
use super::protocol::{ColumnName, Found, Row, visit_found};
use crate::machine::{Owner, Visitor, put_in_order};
use crate::names::Word;
use crate::time::Due;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A client's operation under way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    pub client: u8,
    /// The client's own number of it.
    pub request: u32,
    /// When the coordinator gives up.
    pub deadline: Option<Due>,
    pub awaited: Awaited,
}

/// What a pending operation waits for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Awaited {
    /// Acknowledgements of a write, for each of its rows that has too few.
    Acks(SmallVec<[RowAcks; 2]>),
    /// The cells of a read.
    Cells {
        serial: u32,
        row: Row,
        count: u8,
        /// The one now of the command, with [`ExpiryClock::Coordinator`].
        now_seconds: Option<i64>,
        /// Who has answered; the coordinator itself has from the start.
        answered: Servers,
        /// What they have, by server and name.
        found: SmallVec<[(u8, Column); 2]>,
    },
    /// Acknowledgements of the repairs that a read sent, before its result may go out.
    Repairs { serial: u32, row: Row, missing: Servers, result: Found },
}

/// Who has acknowledged one row's mutation, the coordinator not counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct RowAcks {
    pub serial: u32,
    /// The row that a live cell was put into.
    pub put: Option<Row>,
    pub acked: Servers,
}

/// A set of servers, by number: sixteen at most.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Servers(u16);

impl Servers {
    pub fn insert(&mut self, server: u8) {
        self.0 |= 1 << server;
    }

    pub fn remove(&mut self, server: u8) {
        self.0 &= !(1 << server);
    }

    pub fn contains(self, server: u8) -> bool {
        self.0 & 1 << server != 0
    }

    pub fn len(self) -> u8 {
        self.0.count_ones() as u8
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Pending {
    /// Whether it waits for this acknowledgement.
    pub fn awaits_ack(&self, serial: u32) -> bool {
        match &self.awaited {
            Awaited::Acks(rows) => rows.iter().any(|row| row.serial == serial),
            Awaited::Repairs { serial: repair, .. } => *repair == serial,
            Awaited::Cells { .. } => false,
        }
    }

    /// Whether it waits for these cells.
    pub fn awaits_cells(&self, serial: u32) -> bool {
        match &self.awaited {
            Awaited::Cells { serial: read, .. } => *read == serial,
            Awaited::Acks(_) | Awaited::Repairs { .. } => false,
        }
    }

    /// Whether it is a read of this table.
    pub fn reads(&self, table: Word) -> bool {
        match &self.awaited {
            Awaited::Cells { row, .. } | Awaited::Repairs { row, .. } => row.table == table,
            Awaited::Acks(_) => false,
        }
    }

    /// Whether it can tell the column from its absence although it is dead for all later reads: it holds a cell of
    /// it, or its now is from before `last_expiry_seconds`, when some stored cell of the column was still live.
    pub fn needs(&self, row: Row, name: ColumnName, last_expiry_seconds: Option<i64>) -> bool {
        match &self.awaited {
            Awaited::Cells { row: read, now_seconds, found, .. } => {
                let was_live = now_seconds.zip(last_expiry_seconds).is_some_and(|(now, expiry)| now < expiry);
                *read == row && (was_live || found.iter().any(|(_, column)| column.name == name))
            }
            Awaited::Acks(_) | Awaited::Repairs { .. } => false,
        }
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial_of(&mut self.client, &mut self.request);
        self.deadline.iter_mut().for_each(|due| visitor.due(due));
        match &mut self.awaited {
            Awaited::Acks(rows) => rows.iter_mut().for_each(|row| visitor.serial(Owner::Me, &mut row.serial)),
            Awaited::Cells { serial, row, count: _, now_seconds, answered: _, found } => {
                visitor.serial(Owner::Me, serial);
                // Compared with expiries only.
                now_seconds.iter_mut().for_each(|now| visitor.expiry_seconds(now));
                found.iter_mut().for_each(|(_, column)| column.visit(*row, visitor));
                put_in_order::<V, _, _>(found, |(server, column)| (*server, column.name));
            }
            Awaited::Repairs { serial, row: _, missing: _, result } => {
                visitor.serial(Owner::Me, serial);
                visit_found(result, visitor);
            }
        }
    }
}
