//! Forgetting what nothing can ask about any more, so that the exhaustive engine's space is finite: tombstones that
//! hide nothing, expired cells that nobody can see.

use super::Cassandra;
use super::cell::Cell;
use super::peer::Peer;
use super::protocol::{ColumnName, Mutation, Operation, Outcome, Prefix, Reply, Row, Target, Value};
use crate::machine::Message;
use crate::time::Wall;
use smallvec::SmallVec;

/// Removes every column that is dead on all servers for good.
///
/// Dead for good: at every server, the synced image included, there is no cell, or a tombstone or a cell expired at
/// `horizon`; it is older than `horizon`, so that a write under way from later on wins whether or not the cell is
/// there; and no message under way and no read under way has a cell of it or was begun while it was live. That a
/// request sent later carries no timestamp below `horizon` is the caller's to know: who keeps a timestamp for
/// later must keep it above, or such columns may not be settled. What a cell in [`Row::TIMES`] holds may become such a
/// timestamp, too: nothing from that on is settled.
///
/// What changes is that blocking reads have fewer tombstones to repair: they wait less often, and return the same.
pub(super) fn settle(
    servers: &mut [&mut Cassandra],
    in_flight: &mut dyn Iterator<Item = &Message<Cassandra>>,
    horizon: Wall,
) {
    let mut dead: SmallVec<[(Row, ColumnName); 8]> = SmallVec::new();
    let is_over = |cell: &Cell| is_over(cell, horizon);
    for server in servers.iter() {
        for entry in server.replica.entries().filter(|entry| is_over(&entry.column.cell)) {
            let (row, name) = (entry.row, entry.column.name);
            let everywhere = || servers.iter().all(|server| server.replica.versions(row, name).all(is_over));
            if !dead.contains(&(row, name)) && everywhere() {
                dead.push((row, name));
            }
        }
    }
    for server in servers.iter_mut() {
        server.coordinator.forget_times_before(horizon);
    }
    if dead.is_empty() {
        return;
    }
    let messages: SmallVec<[&Message<Cassandra>; 8]> = in_flight.collect();
    let times = || servers.iter().flat_map(|server| server.replica.times());
    if times().next().is_some() {
        if servers.iter().any(|server| server.coordinator.reads(Row::TIMES)) {
            return;
        }
        let earliest = times().chain(messages.iter().copied().flat_map(times_in)).min();
        dead.retain(|&mut (row, name)| {
            let mut versions = servers.iter().flat_map(|server| server.replica.versions(row, name));
            versions.all(|cell| earliest.is_none_or(|earliest| cell.timestamp < earliest))
        });
    }
    dead.retain(|&mut (row, name)| {
        let versions = servers.iter().flat_map(|server| server.replica.versions(row, name));
        let last_expiry_seconds = versions.filter_map(Cell::expiry_seconds).max();
        !servers.iter().any(|server| {
            server.replica.has_promised(row)
                || server.proposer.needs(row)
                || server.coordinator.needs(row, name, last_expiry_seconds)
        })
    });
    for message in messages {
        if dead.is_empty() {
            return;
        }
        dead.retain(|&mut (row, name)| !mentions(message, row, name));
    }
    for server in servers {
        server.replica.forget(&dead);
    }
}

/// Whether a server has anything that may be removed, whatever the others have.
pub(super) fn may_settle(server: &Cassandra, horizon: Wall) -> bool {
    server.coordinator.has_times_before(horizon)
        || server.replica.entries().any(|entry| is_over(&entry.column.cell, horizon))
}

/// Whether less may be removed because of the message, whatever the servers have.
pub(super) fn may_keep(message: &Message<Cassandra>) -> bool {
    match message {
        Message::Request(request) => !matches!(request.operation, Operation::ReadSlice { .. }),
        Message::Reply(_) => times_in(message).next().is_some(),
        Message::Peer(Peer::Read { .. } | Peer::Ack { .. })
        | Message::Read { .. }
        | Message::Shown { .. }
        | Message::Write { .. }
        | Message::Written { .. } => false,
        Message::Peer(Peer::Mutation { .. } | Peer::Cells { .. } | Peer::Repair { .. } | Peer::Paxos(_)) => {
            true
        }
    }
}

fn is_over(cell: &Cell, horizon: Wall) -> bool {
    cell.timestamp < horizon && !cell.is_live_at(horizon.whole_seconds())
}

/// The times that a client is about to read.
fn times_in(message: &Message<Cassandra>) -> impl Iterator<Item = Wall> {
    let found: &[(ColumnName, Value)] = match message {
        Message::Reply(Reply { outcome: Outcome::Slice(found), .. }) => found,
        Message::Reply(Reply { outcome: Outcome::Applied | Outcome::TimedOut, .. })
        | Message::Request(_)
        | Message::Peer(_)
        | Message::Read { .. }
        | Message::Shown { .. }
        | Message::Write { .. }
        | Message::Written { .. } => &[],
    };
    found.iter().filter_map(|(_, value)| value.time())
}

/// Whether the message carries a cell of the column, or a client's request to change it.
fn mentions(message: &Message<Cassandra>, row: Row, name: ColumnName) -> bool {
    let changes = |mutation: &Mutation| {
        mutation.row == row
            && match mutation.target {
                Target::Column(target) => target == name,
                // Which name it gets is not known yet.
                Target::CoordinatorTime(thread) => {
                    name.thread == thread && matches!(name.prefix, Prefix::Time(_))
                }
            }
    };
    match message {
        Message::Request(request) => match &request.operation {
            Operation::Write(mutation) => changes(mutation),
            Operation::Batch(mutations) => mutations.iter().any(changes),
            Operation::ReadSlice { .. } => false,
            Operation::Conditional { row: of, .. } => *of == row,
        },
        Message::Peer(
            Peer::Mutation { row: of, columns, .. }
            | Peer::Cells { row: of, columns, .. }
            | Peer::Repair { row: of, columns, .. },
        ) => *of == row && columns.iter().any(|column| column.name == name),
        Message::Peer(Peer::Paxos(paxos)) => paxos.row == row,
        Message::Peer(Peer::Read { .. } | Peer::Ack { .. })
        | Message::Reply(_)
        | Message::Read { .. }
        | Message::Shown { .. }
        | Message::Write { .. }
        | Message::Written { .. } => false,
    }
}
