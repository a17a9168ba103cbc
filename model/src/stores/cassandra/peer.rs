//! What servers say to each other: the coordinator's half of a client's request, and the replicas' answers.

use super::cell::{Cell, Column, Columns, Content, visit_columns};
use super::paxos::Paxos;
use super::protocol::{ColumnName, Row};
use crate::machine::{Owner, Visit, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// From server to server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Peer {
    /// Coordinator to replica: write these cells of one row, all at once.
    Mutation {
        /// Comes back in the acknowledgement; `None`: nobody waits for one, and none is sent.
        serial: Option<u32>,
        /// The row.
        row: Row,
        /// The cells.
        columns: Columns,
    },
    /// Coordinator to replica: send this row, from `from` on.
    Read {
        /// Comes back with the cells.
        serial: u32,
        /// The row.
        row: Row,
        /// First name of interest.
        from: Option<ColumnName>,
    },
    /// Replica to coordinator: the cells asked for, tombstones and expired ones included.
    Cells {
        /// The number of the `Read`.
        serial: u32,
        /// The row.
        row: Row,
        /// The cells.
        columns: Columns,
    },
    /// Coordinator to replica: cells that a read found newer elsewhere (`READ_REPAIR_REQ`).
    Repair {
        /// Comes back in the acknowledgement.
        serial: u32,
        /// The row.
        row: Row,
        /// The cells.
        columns: Columns,
    },
    /// Replica to coordinator: the mutation or repair is applied.
    Ack {
        /// The number of what is acknowledged.
        serial: u32,
    },
    /// Part of a conditional write.
    Paxos(Paxos),
}

impl Visit for Peer {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Peer::Mutation { serial, row, columns } => {
                serial.iter_mut().for_each(|serial| visitor.serial(Owner::Sender, serial));
                visit_columns(columns, *row, visitor);
            }
            Peer::Read { serial, row: _, from } => {
                visitor.serial(Owner::Sender, serial);
                from.iter_mut().for_each(|name| name.visit(visitor));
            }
            Peer::Cells { serial, row, columns } => {
                visitor.serial(Owner::Receiver, serial);
                visit_columns(columns, *row, visitor);
            }
            Peer::Repair { serial, row, columns } => {
                visitor.serial(Owner::Sender, serial);
                visit_columns(columns, *row, visitor);
            }
            Peer::Ack { serial } => visitor.serial(Owner::Receiver, serial),
            Peer::Paxos(paxos) => paxos.visit(visitor),
        }
    }
}

impl Display for Peer {
    /// `mutate M[tA] ts 100us`, `read Q`, `cells M {tA@100us, †tB@90us}`, `repair M[tA]`, `ack`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Mutation { row, columns, .. } => {
                f.write_str("mutate ")?;
                for (position, Column { name, cell }) in columns.iter().enumerate() {
                    let separator = if position == 0 { "" } else { ", " };
                    write!(f, "{separator}{row}[{}{name}] ts {}", cell.mark(), cell.timestamp)?;
                }
                Ok(())
            }
            Peer::Read { row, from: None, .. } => write!(f, "read {row}"),
            Peer::Read { row, from: Some(name), .. } => write!(f, "read {row} from {name}"),
            Peer::Cells { row, columns, .. } => {
                write!(f, "cells {row} {{")?;
                for (position, column) in columns.iter().enumerate() {
                    write!(f, "{}{column}", if position == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Peer::Repair { row, columns, .. } => {
                f.write_str("repair ")?;
                for (position, Column { name, cell }) in columns.iter().enumerate() {
                    write!(f, "{}{row}[{}{name}]", if position == 0 { "" } else { ", " }, cell.mark())?;
                }
                Ok(())
            }
            Peer::Ack { .. } => f.write_str("ack"),
            Peer::Paxos(paxos) => write!(f, "{paxos}"),
        }
    }
}

impl Display for Column {
    /// `tA@1.000100s`, `tA@1.000100s until 12s`, and `†tA@1.000101s` for a tombstone.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.cell.mark(), self.name)?;
        if let Content::Live { value, .. } = self.cell.content {
            write!(f, "{value}")?;
        }
        write!(f, "@{}", self.cell.timestamp)?;
        match self.cell.content {
            Content::Live { expiry_seconds: Some(expiry), .. } => write!(f, " until {expiry}s"),
            Content::Live { expiry_seconds: None, .. } | Content::Tombstone { .. } => Ok(()),
        }
    }
}

impl Cell {
    /// What stands before the name of a deleted column.
    fn mark(&self) -> &'static str {
        match self.content {
            Content::Live { .. } => "",
            Content::Tombstone { .. } => "†",
        }
    }
}
