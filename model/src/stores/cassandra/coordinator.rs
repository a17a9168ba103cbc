//! A server as coordinator: it takes a client's request, sends it to the replicas, itself among them, and answers when
//! as many as the consistency level asks for have done their part.

use super::cell::{Cell, Column, Columns, Content, merge_all, merge_into};
use super::hints::{self, Handoff};
use super::paxos::Ballot;
use super::peer::Peer;
use super::pending::{Awaited, Pending, RowAcks, Servers};
use super::protocol::{
    ColumnName, Found, Mutation, NAME_GROUP, Outcome, Prefix, Reply, Row, Target, Written,
};
use super::{Cassandra, ExpiryClock, ReadRepair, ReadTargets, Settings};
use crate::machine::{Context, Effects, Owner, StampGroup, Visitor};
use crate::names::Word;
use crate::time::{Due, Micros, Wall};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// The coordinator's memory. All of it but `next_serial` and the hints on its disk is gone after a restart.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Coordinator {
    /// The number that the next message to replicas gets. Survives restarts here, so that an answer to the process
    /// before is not taken for one to this; the real server has new connections then.
    next_serial: u32,
    /// Clients' operations that too few replicas have answered yet.
    pending: SmallVec<[Pending; 1]>,
    /// The last write timestamp given to a client that sent none.
    last_timestamp: Option<Wall>,
    /// The last time put into a column's name.
    last_name: Option<Wall>,
    /// What replicas have not acknowledged, where hints are kept.
    handoffs: Vec<Handoff>,
}

/// Write timestamps that coordinators give are compared with each other only within a column; this one only with the
/// clock.
const LAST_TIMESTAMP: StampGroup = StampGroup { space: 6, member: 0 };

// A client's write.
impl Cassandra {
    /// `service/StorageProxy.java` `mutate`: one message per row and replica, all replicas at once, done when every
    /// row has enough acknowledgements.
    pub(super) fn write(
        &mut self,
        client: u8,
        request: u32,
        mutations: &[Mutation],
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        let mut unacknowledged: SmallVec<[RowAcks; 2]> = SmallVec::new();
        for (row, columns) in self.coordinator.resolve(mutations, cx) {
            self.replica.apply(row, &columns, cx);
            let is_live = |column: &Column| matches!(column.cell.content, Content::Live { .. });
            let put = columns.iter().any(is_live).then_some(row);
            // Not one that is older than what is there: the deletion that came before it, if it arrives late.
            let stands = |column: &&Column| is_live(column) && self.replica.has(row, column);
            if columns.iter().any(|column| stands(&column)) {
                effects.changed(Written::Put { row, client });
            }
            let is_awaited = cx.settings.writes.of(cx.servers) > 1;
            let is_counted = is_awaited || cx.settings.hint_period.is_some();
            let serial = is_counted.then(|| self.coordinator.draw_serial());
            self.coordinator
                .handoffs
                .extend(serial.and_then(|serial| Handoff::of(serial, row, &columns, cx)));
            match (serial.filter(|_| is_awaited), put) {
                (Some(serial), put) => {
                    unacknowledged.push(RowAcks { serial, put, acked: Servers::default() });
                }
                (None, Some(row)) => effects.changed(Written::Kept { row, client }),
                (None, None) => {}
            }
            for server in (0..cx.servers).filter(|&server| server != cx.me) {
                effects.peer(server, Peer::Mutation { serial, row, columns: columns.clone() });
            }
        }
        if unacknowledged.is_empty() {
            effects.reply(client, Reply { serial: request, outcome: Outcome::Applied });
        } else {
            self.coordinator.wait(client, request, Awaited::Acks(unacknowledged), cx);
        }
    }

    /// A replica has applied a mutation or a repair. Late, when nobody waits for it any more, and repeated ones change
    /// nothing.
    pub(super) fn on_ack(
        &mut self,
        from: u8,
        serial: u32,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        hints::acknowledged(&mut self.coordinator.handoffs, from, serial);
        let Some(at) = self.coordinator.pending.iter().position(|pending| pending.awaits_ack(serial)) else {
            return;
        };
        let Pending { client, awaited, .. } = &mut self.coordinator.pending[at];
        let outcome = match awaited {
            Awaited::Acks(rows) => {
                rows.retain(|row| {
                    if row.serial == serial {
                        row.acked.insert(from);
                    }
                    let is_kept = row.acked.len() + 1 >= cx.settings.writes.of(cx.servers);
                    if let Some(row) = row.put.filter(|_| is_kept) {
                        effects.changed(Written::Kept { row, client: *client });
                    }
                    !is_kept
                });
                rows.is_empty().then_some(Outcome::Applied)
            }
            Awaited::Repairs { missing, result, .. } => {
                missing.remove(from);
                missing.is_empty().then(|| Outcome::Slice(std::mem::take(result)))
            }
            Awaited::Cells { .. } => unreachable!("a read that waits for cells awaits no acknowledgement"),
        };
        if let Some(outcome) = outcome {
            let Pending { client, request, .. } = self.coordinator.pending.remove(at);
            effects.reply(client, Reply { serial: request, outcome });
        }
    }
}

// A client's read.
impl Cassandra {
    /// `service/reads/AbstractReadExecutor.java`, without digests: the coordinator reads itself and asks as many
    /// others for all their cells as the consistency level wants besides.
    pub(super) fn read(
        &mut self,
        client: u8,
        request: u32,
        (row, from, count): (Row, Option<ColumnName>, u8),
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        let columns = self.replica.read(row, from, cx);
        if is_overwhelmed(&columns, count, cx.wall.whole_seconds(), cx.settings) {
            effects.reply(client, Reply { serial: request, outcome: Outcome::TimedOut });
            return;
        }
        let others = cx.settings.reads.of(cx.servers) - 1;
        if others == 0 {
            let outcome = Outcome::Slice(live_columns(&columns, count, cx.wall.whole_seconds()));
            effects.reply(client, Reply { serial: request, outcome });
            return;
        }
        let serial = self.coordinator.draw_serial();
        match cx.settings.read_targets {
            ReadTargets::Any => combination(cx.choice, cx.me, cx.servers, others)
                .for_each(|server| effects.peer(server, Peer::Read { serial, row, from })),
            ReadTargets::Closest => (1..=others)
                .map(|distance| (cx.me + distance) % cx.servers)
                .for_each(|server| effects.peer(server, Peer::Read { serial, row, from })),
        }
        let now_seconds = match cx.settings.expiry_clock {
            ExpiryClock::Coordinator => Some(cx.wall.whole_seconds()),
            ExpiryClock::Replica => None,
        };
        let mut answered = Servers::default();
        answered.insert(cx.me);
        let found = columns.into_iter().map(|column| (cx.me, column)).collect();
        let awaited = Awaited::Cells { serial, row, count, now_seconds, answered, found };
        self.coordinator.wait(client, request, awaited, cx);
    }

    /// A replica's part of a read has come. With all parts, the coordinator merges them and, if it repairs, first
    /// sends every contacted replica what it lacks and waits for that
    /// (`service/reads/repair/BlockingReadRepair.java`, `RowIteratorMergeListener.onCell`: wherever the merged cell
    /// is not equal to the replica's).
    pub(super) fn on_cells(
        &mut self,
        from: u8,
        answered: u32,
        columns: Columns,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        let Some(at) = self.coordinator.pending.iter().position(|pending| pending.awaits_cells(answered))
        else {
            return; // Timed out, or from before a restart.
        };
        let Awaited::Cells { serial, row, count, now_seconds, answered, found } =
            &mut self.coordinator.pending[at].awaited
        else {
            unreachable!("it awaits cells")
        };
        if answered.contains(from) {
            return; // The message was duplicated.
        }
        if is_overwhelmed(&columns, *count, now_seconds.unwrap_or(cx.wall.whole_seconds()), cx.settings) {
            // The replica has refused (`db/filter/TombstoneOverwhelmingException.java`), and so does the coordinator.
            let Pending { client, request, .. } = self.coordinator.pending.remove(at);
            effects.reply(client, Reply { serial: request, outcome: Outcome::TimedOut });
            return;
        }
        answered.insert(from);
        found.extend(columns.into_iter().map(|column| (from, column)));
        found.sort_unstable();
        if answered.len() < cx.settings.reads.of(cx.servers) {
            return;
        }
        let (serial, row, count, answered, found) = (*serial, *row, *count, *answered, std::mem::take(found));
        // With `Replica` the receiving server's clock has its say too: it turns what has expired into tombstones
        // while it unpacks the answers (2.1 `db/ColumnSerializer.java` `deserialize`, `db/BufferExpiringCell.java`
        // `create`).
        let now_seconds = now_seconds.unwrap_or(cx.wall.whole_seconds());
        let mut merged = Columns::new();
        for of_one in found.chunk_by(|(server, _), (next, _)| server == next) {
            merge_all(&mut merged, of_one.iter().map(|(_, column)| *column), cx.settings.ties);
        }
        let result = live_columns(&merged, count, now_seconds);
        // It is merged until the limit is reached (`db/filter/DataLimits.java` `Counter`): what lies behind is not repaired.
        let is_last = |column: &Column| Some(column.name) == result.last().map(|(name, _)| *name);
        let merged_until = match result.len() == usize::from(count) {
            true => merged.iter().position(is_last).map_or(0, |last| last + 1),
            false => merged.len(),
        };

        let mut missing = Servers::default();
        match cx.settings.read_repair {
            ReadRepair::Blocking => {
                let mut rest = &found[..];
                for server in (0..cx.servers).filter(|&server| answered.contains(server)) {
                    let own;
                    (own, rest) = rest.split_at(rest.partition_point(|(of, _)| *of <= server));
                    // Both are in the order of names.
                    let mut own = own.iter().map(|(_, column)| column).peekable();
                    let lacks = |column: &&Column| {
                        while own.next_if(|own| own.name < column.name).is_some() {}
                        own.next_if(|own| own == column).is_none()
                    };
                    let columns: Columns = merged[..merged_until].iter().filter(lacks).copied().collect();
                    if columns.is_empty() {
                        continue;
                    } else if server == cx.me {
                        self.replica.apply(row, &columns, cx);
                    } else {
                        missing.insert(server);
                        effects.peer(server, Peer::Repair { serial, row, columns });
                    }
                }
            }
            ReadRepair::None => {}
        }
        if missing.is_empty() {
            let Pending { client, request, .. } = self.coordinator.pending.remove(at);
            effects.reply(client, Reply { serial: request, outcome: Outcome::Slice(result) });
        } else {
            self.coordinator.pending[at].awaited = Awaited::Repairs { serial, row, missing, result };
        }
    }
}

impl Coordinator {
    pub(super) fn draw_serial(&mut self) -> u32 {
        self.next_serial += 1;
        self.next_serial
    }

    /// A ballot after all timestamps given and after the one in the way (`service/ClientState.java`
    /// `getTimestampForPaxos`).
    pub(super) fn draw_ballot(&mut self, in_the_way: Option<Ballot>, cx: &Context<Settings>) -> Ballot {
        let at_least = in_the_way.map_or(cx.wall, |ballot| cx.wall.max(ballot.at + Micros(1)));
        Ballot { at: after(&mut self.last_timestamp, at_least), server: cx.me }
    }

    fn wait(&mut self, client: u8, request: u32, awaited: Awaited, cx: &Context<Settings>) {
        let deadline = cx.settings.request_timeout.map(|timeout| Due::Monotonic(cx.monotonic + timeout));
        self.pending.push(Pending { client, request, deadline, awaited });
    }

    /// Turns what the client asks for into cells, row by row: names, timestamps and expiries that are the
    /// coordinator's to give are given here, once, for all replicas. A request gets one timestamp, whatever the
    /// number of its cells.
    fn resolve(&mut self, mutations: &[Mutation], cx: &Context<Settings>) -> SmallVec<[(Row, Columns); 2]> {
        let now_seconds = cx.wall.whole_seconds();
        let mut given = None;
        let mut rows: SmallVec<[(Row, Columns); 2]> = SmallVec::new();
        for mutation in mutations {
            let name = match mutation.target {
                Target::Column(name) => name,
                Target::CoordinatorTime(thread) => {
                    // `utils/TimeUUID.java`: never the same time twice.
                    ColumnName { prefix: Prefix::Time(after(&mut self.last_name, cx.wall)), thread }
                }
            };
            // `service/ClientState.java` `getTimestamp`: the clock, but never the same or less than before.
            let timestamp = mutation
                .timestamp
                .unwrap_or_else(|| *given.get_or_insert_with(|| after(&mut self.last_timestamp, cx.wall)));
            let content = Content::of(mutation.change, now_seconds);
            let column = Column { name, cell: Cell { timestamp, content } };
            match rows.iter_mut().find(|(row, _)| *row == mutation.row) {
                Some((_, columns)) => merge_into(columns, column, cx.settings.ties),
                None => rows.push((mutation.row, smallvec![column])),
            }
        }
        rows
    }

    /// Whether somebody waits for this acknowledgement, or it ends a hint.
    pub fn awaits_ack(&self, serial: u32) -> bool {
        self.pending.iter().any(|pending| pending.awaits_ack(serial))
            || self.handoffs.iter().any(|handoff| handoff.has(serial))
    }

    /// Whether somebody waits for these cells.
    pub fn awaits_cells(&self, serial: u32) -> bool {
        self.pending.iter().any(|pending| pending.awaits_cells(serial))
    }

    /// The first time at which an operation is given up, or something becomes of a hint.
    pub fn deadline(&self) -> Option<Due> {
        let handoffs = self.handoffs.iter().map(Handoff::due);
        self.pending.iter().filter_map(|pending| pending.deadline).chain(handoffs).min()
    }

    /// Gives up what has waited too long, and hands over hints.
    pub fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Cassandra>) {
        self.time_out(cx, effects);
        hints::on_deadline(&mut self.handoffs, cx, effects);
    }

    /// Gives up what has waited too long. What was written stays written.
    fn time_out(&mut self, cx: &Context<Settings>, effects: &mut Effects<Cassandra>) {
        self.pending.retain(|pending| {
            let over = pending.deadline.is_some_and(|due| due <= Due::Monotonic(cx.monotonic));
            if over {
                effects.reply(pending.client, Reply { serial: pending.request, outcome: Outcome::TimedOut });
            }
            !over
        });
    }

    /// A new process remembers nothing of the old one's operations.
    pub fn restart(&mut self, cx: &Context<Settings>) {
        let mut handoffs = std::mem::take(&mut self.handoffs);
        hints::restart(&mut handoffs, cx);
        *self = Coordinator { next_serial: self.next_serial, handoffs, ..Coordinator::default() };
    }

    /// Whether a read of this table is under way.
    pub fn reads(&self, table: Word) -> bool {
        self.pending.iter().any(|pending| pending.reads(table))
    }

    /// Whether an operation under way can tell the column from its absence: see [`Pending::needs`].
    pub fn needs(&self, row: Row, name: ColumnName, last_expiry_seconds: Option<i64>) -> bool {
        self.pending.iter().any(|pending| pending.needs(row, name, last_expiry_seconds))
            || self.handoffs.iter().any(|handoff| handoff.mentions(row, name))
    }

    /// Forgets times handed out that every later reading of the clock exceeds anyway.
    pub fn forget_times_before(&mut self, horizon: Wall) {
        self.last_timestamp = self.last_timestamp.filter(|&last| last >= horizon);
        self.last_name = self.last_name.filter(|&last| last >= horizon);
    }

    /// Whether it remembers any of them.
    pub fn has_times_before(&self, horizon: Wall) -> bool {
        [self.last_timestamp, self.last_name].into_iter().flatten().any(|last| last < horizon)
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.next_serial);
        self.last_timestamp.iter_mut().for_each(|at| visitor.stamp(LAST_TIMESTAMP, at));
        self.last_name.iter_mut().for_each(|at| visitor.stamp(NAME_GROUP, at));
        self.pending.iter_mut().for_each(|pending| pending.visit(visitor));
        self.handoffs.iter_mut().for_each(|handoff| handoff.visit(visitor));
    }
}

/// Whether a replica with these columns refuses to go on looking (`db/ReadCommand.java` `withMetricsRecording`): it counts what is dead
/// until it has found as much as was asked for.
fn is_overwhelmed(columns: &[Column], count: u8, now_seconds: i64, settings: &Settings) -> bool {
    let Some(tombstones_max) = settings.tombstones_max else { return false };
    let (mut live, mut dead) = (0, 0);
    for column in columns {
        if live == count {
            break;
        }
        match column.cell.value_at(now_seconds) {
            Some(_) => live += 1,
            None => dead += 1,
        }
    }
    dead > tombstones_max
}

/// The clock's reading, or just after `last` if the clock is not past that.
fn after(last: &mut Option<Wall>, wall: Wall) -> Wall {
    let next = last.map_or(wall, |last| wall.max(last + Micros(1)));
    *last = Some(next);
    next
}

/// What the client sees of merged columns. The limit comes last: replicas send everything, which is what the real
/// coordinator reaches in several rounds (`service/reads/ShortReadRowsProtection.java`).
fn live_columns(columns: &[Column], count: u8, now_seconds: i64) -> Found {
    let live = columns
        .iter()
        .filter_map(|Column { name, cell }| cell.value_at(now_seconds).map(|value| (*name, value)));
    live.take(usize::from(count)).collect()
}

/// How many ways there are to choose `chosen` of `all`.
pub(super) fn combinations(all: u8, chosen: u8) -> u32 {
    if chosen > all {
        return 0;
    }
    let ways = (0..u64::from(chosen)).fold(1, |ways, step| ways * (u64::from(all) - step) / (step + 1));
    ways as u32
}

/// The `rank`-th way to choose `left` servers other than `me`, in lexicographic order.
fn combination(mut rank: u32, me: u8, servers: u8, mut left: u8) -> impl Iterator<Item = u8> {
    let mut behind = servers - 1;
    (0..servers).filter(move |&server| {
        if server == me || left == 0 {
            return false;
        }
        behind -= 1;
        let with_this_one = combinations(behind, left - 1);
        let take = rank < with_this_one;
        if take {
            left -= 1;
        } else {
            rank -= with_this_one;
        }
        take
    })
}
