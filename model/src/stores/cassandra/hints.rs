//! Hinted handoff: a coordinator sends again what a replica has not acknowledged in time (`hints/HintsService.java`).
//!
//! A mutation whose callback expires becomes a hint (`net/RequestCallbacks.java` `onExpired`), whether or not the client was told
//! that the write was done. Hints lie in a buffer first, which is written to a file every ten seconds
//! (`hints_flush_period`), and every ten seconds what is in files is sent to whoever is alive
//! (`HintsDispatchTrigger`). Here one period is both. A coordinator that ends, however, has lost what was in its buffer, and hands over
//! the rest when it is back. A hint that is older than the grace period of tombstones is not applied (`Hint.applyFuture`): what it
//! would bring back may have been deleted and purged.
//!
//! Left out: the three hours after which nobody keeps hints for a node that is away (`max_hint_window`), and hints for nodes
//! that are known to be down, which are written at once and not at the time-out.

use super::pending::Servers;
use super::protocol::{ColumnName, Row};
use super::{Cassandra, Columns, Peer, Settings, cell};
use crate::machine::{Context, Effects, Owner, Visitor};
use crate::time::{Due, Micros};
use serde::{Deserialize, Serialize};

/// A mutation of one row that some replicas have not acknowledged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Handoff {
    serial: u32,
    row: Row,
    columns: Columns,
    /// Who lacks it, for all that is known.
    missing: Servers,
    stage: Stage,
    /// When the next stage begins, or the next attempt.
    due: Due,
    /// When it was written, by the coordinator's clock: with a grace period it is good for that long.
    written_seconds: i64,
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Stage {
    /// The time for acknowledgements is not over.
    UnderWay,
    /// It is a hint, and not yet on the disk.
    Buffered,
    /// It is on the disk.
    OnDisk,
}

impl Handoff {
    /// A mutation that was sent to all replicas but the coordinator just now, if hints are kept of it.
    pub fn of(serial: u32, row: Row, columns: &Columns, cx: &Context<Settings>) -> Option<Handoff> {
        cx.settings.hint_period?;
        let timeout = cx.settings.request_timeout?;
        let mut missing = Servers::default();
        (0..cx.servers).filter(|&server| server != cx.me).for_each(|server| missing.insert(server));
        let due = Due::Monotonic(cx.monotonic + timeout);
        let written_seconds = cx.wall.whole_seconds();
        let columns = columns.clone();
        (!missing.is_empty()).then_some(Handoff {
            serial,
            row,
            columns,
            missing,
            stage: Stage::UnderWay,
            due,
            written_seconds,
        })
    }

    pub fn has(&self, serial: u32) -> bool {
        self.serial == serial
    }

    pub fn due(&self) -> Due {
        self.due
    }

    /// Whether it holds a cell of this column.
    pub fn mentions(&self, row: Row, name: ColumnName) -> bool {
        self.row == row && self.columns.iter().any(|column| column.name == name)
    }

    fn is_too_old(&self, cx: &Context<Settings>) -> bool {
        let age_seconds = cx.wall.whole_seconds() - self.written_seconds;
        cx.settings.gc_grace_seconds.is_some_and(|grace_seconds| age_seconds > grace_seconds)
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        cell::visit_columns(&mut self.columns, self.row, visitor);
        visitor.due(&mut self.due);
        // Compared with the wall clock's whole seconds.
        visitor.expiry_seconds(&mut self.written_seconds);
    }
}

/// A replica has it.
pub(super) fn acknowledged(handoffs: &mut Vec<Handoff>, from: u8, serial: u32) {
    if let Some(at) = handoffs.iter().position(|handoff| handoff.has(serial)) {
        handoffs[at].missing.remove(from);
        if handoffs[at].missing.is_empty() {
            handoffs.remove(at);
        }
    }
}

/// Does what is due: keeps hints, writes them to the disk, and hands them over.
pub(super) fn on_deadline(
    handoffs: &mut Vec<Handoff>,
    cx: &Context<Settings>,
    effects: &mut Effects<Cassandra>,
) {
    let Some(period) = cx.settings.hint_period else { return };
    handoffs.retain_mut(|handoff| {
        if handoff.due > Due::Monotonic(cx.monotonic) {
            return true;
        }
        if handoff.is_too_old(cx) {
            return false;
        }
        handoff.due = Due::Monotonic(cx.monotonic + period);
        match handoff.stage {
            Stage::UnderWay => handoff.stage = Stage::Buffered,
            Stage::Buffered | Stage::OnDisk => {
                handoff.stage = Stage::OnDisk;
                let Handoff { serial, row, ref columns, missing, .. } = *handoff;
                for server in (0..cx.servers).filter(|&server| missing.contains(server)) {
                    effects
                        .peer(server, Peer::Mutation { serial: Some(serial), row, columns: columns.clone() });
                }
            }
        }
        true
    });
}

/// The process has ended, and begins again with what is on the disk.
pub(super) fn restart(handoffs: &mut Vec<Handoff>, cx: &Context<Settings>) {
    let period = cx.settings.hint_period.unwrap_or(Micros::ZERO);
    handoffs.retain(|handoff| handoff.stage == Stage::OnDisk);
    handoffs.iter_mut().for_each(|handoff| handoff.due = Due::Monotonic(cx.monotonic + period));
}
