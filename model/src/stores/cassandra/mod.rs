//! Apache Cassandra, as far as the Cassandra paper, *The Cassandra queue lock* (section 2) and its recipes need it.
//!
//! ```text
//!            write / batch / read slice                 mutation, read, repair
//!   client ───────────────────────────▶ coordinator ───────────────────────────▶ replicas: all servers
//!          ◀───────────────────────────  (any server,   ◀─────────────────────────
//!            applied / slice / timed out  a replica too)          ack, cells
//! ```
//!
//! # What is modelled
//!
//! - Cells, not rows, are the unit: a bigger timestamp wins, ties go by [`TieRules`], a tombstone or an expired cell
//!   hides older writes ([`reconcile`]). Columns of a row are read in the lexicographic order of their names.
//! - Every server is a replica of everything (replication factor = servers) and coordinates the requests that clients
//!   send to it. It applies a write to itself at once, sends it to all others, and acknowledges it when as many
//!   replicas as [`Settings::writes`] asks for have it. It reads itself and as many others as [`Settings::reads`]
//!   asks for besides; which others is chance ([`Store::choices`]). A write that too few replicas acknowledge in time
//!   is answered with [`Outcome::TimedOut`] and not rolled back: it stays where it is.
//! - A batch is one message per row to each replica: atomic in the end, not isolated from readers of several rows.
//! - TTLs are whole seconds: the coordinator of the write adds them to its clock; who judges the expiry is
//!   [`Settings::expiry_clock`]. Timestamps that the client does not give are the coordinator's, which never gives
//!   the same or a smaller one twice, even if its clock steps back, until it restarts.
//! - Conditional writes of one column, by Paxos: prepare, read, propose, commit among all replicas, with the ballot as
//!   write timestamp; one that is rejected ends what few have accepted before ([`Settings::rejections`]). What differs there is said in
//!   `proposer`.
//! - Blocking read repair of what a read returns, the commit log, the grace period of tombstones, hinted handoff, and reads that
//!   fail past too many tombstones.
//!
//! # What is left out, and which failures that hides
//!
//! - *Time between commit log, memtable and acknowledgement.* A replica applies and acknowledges a mutation in one
//!   step. Hidden: a crash between two of these; it looks the same as one before the mutation or before the
//!   acknowledgement.
//! - *Coordinator and its own replica are one step.* Hidden: a coordinator whose own write is late or lost (a full
//!   queue drops it) while others have it. A read always uses the coordinator's own cells; the real one takes the
//!   replicas that answered fastest of late, its own first nearly always.
//! - *Hints of conditional writes, and of repairs.* Plain writes have them ([`Settings::hint_period`]).
//! - *The batchlog.* Hidden: a coordinator that dies in a logged batch; others finish it for him about ten seconds
//!   later. Here the rest of the batch is lost with him. The one batch that is sent here deletes what has expired: what is lost
//!   of it is deleted in the next pass, and what came late would be older than any renewal.
//! - *Digest reads, speculative retries, rapid read protection.* They save work, or ask one replica more when another
//!   is slow; a read here returns what such a read could return.
//! - *Paging.* Nobody here reads more cells of a row than one page has.
//! - *A repair's own speculation* (`BlockingPartitionRepair.maybeSendAdditionalWrites`): a replica that answers a
//!   read and then not the repair makes the read time out here; the real coordinator tries the others.
//! - *Anti-entropy repair, compaction, flushes, disks that fill or break, topology changes, datacentres,* and the
//!   failure detector: a coordinator does not refuse up front (`UnavailableException`), with nothing written; it times out, with
//!   something written.
//! - *What tombstones cost.* A read past many is slow; that it fails past too many is modelled ([`Settings::tombstones_max`]).
//! - *Row and range tombstones, counters.* The Cassandra paper has none.
//! - *Of lightweight transactions:* the second variant of Paxos (4.1), reads at SERIAL, conditions on more than one column,
//!   and that `system.paxos` forgets a round after three hours. The second variant takes fewer round trips and finishes rounds before
//!   replicas change; what it answers is the same (`sim/tests/cassandra.rs`). Hidden: what goes wrong when rounds of both variants meet,
//!   and a round that is finished hours later.
//! - *The rest of the tie rule.* In 2.1 ties depend on the clock, see [`TieRules::V2_1`].

mod cell;
mod coordinator;
mod hints;
mod paxos;
mod peer;
mod pending;
mod proposer;
mod protocol;
mod replica;
mod settle;
#[cfg(test)]
mod tests;

pub use cell::{Cell, Column, Columns, Content, TieRules, reconcile};
pub use paxos::{Ballot, Paxos, Proposal, Said};
pub use peer::Peer;
pub use protocol::*;

use crate::machine::{Context, Effects, Message, Store, Visitor};
use crate::time::{Due, Micros, Wall};
use picklock_properties::FencingToken;
use serde::{Deserialize, Serialize};

/// How the cluster is configured. The same on all servers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How many replicas must have a write before it is acknowledged.
    pub writes: Consistency,
    /// How many replicas a read asks.
    pub reads: Consistency,
    /// Who wins among cells of one timestamp.
    pub ties: TieRules,
    /// Whose clock says that a cell has expired.
    pub expiry_clock: ExpiryClock,
    /// Which replicas a coordinator reads besides itself, if the consistency level does not ask for all.
    pub read_targets: ReadTargets,
    /// What a read does about replicas that lack what it found.
    pub read_repair: ReadRepair,
    /// After how long the coordinator gives up, on its monotonic clock; `None`: never. `cassandra.yaml` has 2 s for
    /// writes and 5 s for reads.
    pub request_timeout: Option<Micros>,
    /// When a write is on disk.
    pub commit_log: CommitLog,
    /// After how many seconds tombstones and expired cells are dropped; `None`: not within a run. The real default is
    /// ten days, longer than any run here.
    ///
    /// For the seeded engine only: the exhaustive one forgets how long ago something past was, and would purge
    /// nothing. An expired cell is purged by its expiry, the real one already by the time it was written.
    pub gc_grace_seconds: Option<i64>,
    /// How often a coordinator sends again what a replica has missed, and after how long it has that on its disk; `None`: it does not.
    /// The real default is ten seconds. For the seeded engine, and only with a request timeout, after which something counts as missed.
    pub hint_period: Option<Micros>,
    /// A read that passes more tombstones and expired cells than this before it has found enough fails, which its client is told as
    /// a timeout; `None`: never. `cassandra.yaml` has 100,000 (`tombstone_failure_threshold`). For the seeded engine: the exhaustive one
    /// forgets tombstones that hide nothing.
    pub tombstones_max: Option<u32>,
    /// What becomes of a conditional write whose condition does not hold.
    pub rejections: Rejections,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            writes: Consistency::Quorum,
            reads: Consistency::Quorum,
            ties: TieRules::default(),
            expiry_clock: ExpiryClock::default(),
            read_targets: ReadTargets::default(),
            read_repair: ReadRepair::default(),
            request_timeout: Some(Micros::seconds(2)),
            commit_log: CommitLog::default(),
            gc_grace_seconds: None,
            hint_period: None,
            tombstones_max: None,
            rejections: Rejections::default(),
        }
    }
}

/// What a coordinator does when it has found that the condition of a conditional write does not hold.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Rejections {
    /// It has nothing accepted in its place, by a quorum, and answers then: what fewer had accepted before is never finished. From 3.0.24,
    /// 3.11.10 and 4.0 on (CASSANDRA-12126).
    #[default]
    Proposed,
    /// It answers at once. Before that, and with `paxos_variant: v1_without_linearizable_reads_or_rejected_writes`.
    Answered,
}

/// How many of the replicas must take part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Consistency {
    /// One.
    One,
    /// More than half.
    Quorum,
    /// Every one.
    All,
}

impl Consistency {
    /// As a number of `servers`.
    pub const fn of(self, servers: u8) -> u8 {
        match self {
            Consistency::One => 1,
            Consistency::Quorum => servers / 2 + 1,
            Consistency::All => servers,
        }
    }
}

/// Whose clock is compared with a cell's local deletion time.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ExpiryClock {
    /// 3.0 and later: the reading coordinator's, once per command (`db/ReadCommand.java` `nowInSec`), so that only
    /// its skew against the writing coordinator counts.
    #[default]
    Coordinator,
    /// Before 3.0: every server that reads or unpacks a cell turns it into a tombstone once its own clock says so:
    /// each replica as it answers, and the coordinator as it merges. (A 2.x command does carry the coordinator's
    /// time, for counting, and a cell in a 2.x replica's memory is judged by that; read from its disk, by the
    /// replica's clock.)
    Replica,
}

/// Which replicas a coordinator reads besides itself.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ReadTargets {
    /// Any, by chance: what a dynamic snitch may come to, and all that may happen.
    #[default]
    Any,
    /// Always the same, the next ones by number: what a snitch that ranks by topology does.
    Closest,
}

/// What a read does when replicas differ.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ReadRepair {
    /// It brings the contacted replicas up to date and replies when they have acknowledged that: of two quorum reads,
    /// the later one never returns less. The real default.
    #[default]
    Blocking,
    /// It replies and leaves them as they are.
    None,
}

/// When a write reaches the disk.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CommitLog {
    /// Before it is acknowledged: neither a killed process nor a power loss loses anything.
    ///
    /// The default here, though not there: the theorems of the Cassandra paper assume that an acknowledged write is not lost
    /// ("после записи ячейки … результаты запросов на чтение этой строки обязательно будут содержать эту ячейку",
    /// section 2). Dropping that assumption is choosing [`CommitLog::Periodic`].
    #[default]
    Batch,
    /// Some time after it was applied, acknowledged or not. The real default is [`CommitLog::AS_SHIPPED`].
    ///
    /// The real server marks and syncs by the clock, written to or not; here a period begins with the first write after the last one
    /// ended, so that a server at rest has no timer. The bounds are the same, the average losses larger.
    Periodic {
        /// The longest time that a power loss takes a write back. (Of a compressed or encrypted log a killed process loses the same.)
        period: Micros,
        /// The longest time that a killed process takes a write back; zero: never. The real log is a mapped file, which the kernel keeps,
        /// but its replay ends at its last mark, and it gets one every tenth of a second
        /// (`db/commitlog/AbstractCommitLogService.java` `DEFAULT_MARKER_INTERVAL_MILLIS`).
        marks: Micros,
    },
}

impl CommitLog {
    /// What `cassandra.yaml` has, and the code: on disk every 10 s, marked every 100 ms.
    pub const AS_SHIPPED: CommitLog =
        CommitLog::Periodic { period: Micros::seconds(10), marks: Micros::millis(100) };
    /// As shipped, where no process is killed without a power loss: the marks, which would only be in the way, are made at once.
    pub const LOST_WITH_POWER: CommitLog =
        CommitLog::Periodic { period: Micros::seconds(10), marks: Micros::ZERO };
}

/// One server: a replica and a coordinator.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cassandra {
    replica: replica::Replica,
    coordinator: coordinator::Coordinator,
    proposer: proposer::Proposer,
}

impl Store for Cassandra {
    type Settings = Settings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Change = Written;

    const SHOWS_CLIENTS: bool = true;

    fn new(_me: u8, servers: u8, _settings: &Settings) -> Self {
        assert!((1..=16).contains(&servers), "between one and sixteen servers");
        Cassandra {
            replica: replica::Replica::default(),
            coordinator: coordinator::Coordinator::default(),
            proposer: proposer::Proposer::default(),
        }
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<Settings>,
        effects: &mut Effects<Self>,
    ) {
        match request.operation {
            Operation::Write(mutation) => self.write(from, request.serial, &[mutation], cx, effects),
            Operation::Batch(mutations) => self.write(from, request.serial, &mutations, cx, effects),
            Operation::ReadSlice { row, from: first, count } => {
                self.read(from, request.serial, (row, first, count), cx, effects);
            }
            Operation::Conditional { row, change, condition } => {
                self.compare_and_set(from, request.serial, (row, change, condition), cx, effects);
            }
        }
    }

    fn on_peer(&mut self, from: u8, message: Peer, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        match message {
            Peer::Mutation { serial, row, columns } => {
                self.replica.apply(row, &columns, cx);
                if let Some(serial) = serial {
                    effects.peer(from, Peer::Ack { serial });
                }
            }
            Peer::Repair { serial, row, columns } => {
                self.replica.apply(row, &columns, cx);
                effects.peer(from, Peer::Ack { serial });
            }
            Peer::Read { serial, row, from: first } => {
                let columns = self.replica.read(row, first, cx);
                effects.peer(from, Peer::Cells { serial, row, columns });
            }
            Peer::Cells { serial, row: _, columns } if self.proposer.awaits(serial) => {
                self.on_round_cells(from, serial, columns, cx, effects);
            }
            Peer::Cells { serial, row: _, columns } => self.on_cells(from, serial, columns, cx, effects),
            Peer::Ack { serial } => self.on_ack(from, serial, cx, effects),
            Peer::Paxos(paxos) => self.on_paxos(from, paxos, cx, effects),
        }
    }

    fn on_deadline(&mut self, cx: &Context<Settings>, effects: &mut Effects<Self>) {
        self.coordinator.on_deadline(cx, effects);
        self.proposer.time_out(cx, effects);
        self.replica.on_deadline(cx.monotonic);
    }

    fn on_restart(&mut self, power_lost: bool, cx: &Context<Settings>, _effects: &mut Effects<Self>) {
        self.coordinator.restart(cx);
        self.proposer = proposer::Proposer::default();
        self.replica.restart(power_lost, cx.settings.commit_log);
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        [self.coordinator.deadline(), self.proposer.deadline(), self.replica.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn choices(&self, message: &Message<Self>, servers: u8, settings: &Settings) -> u32 {
        match message {
            Message::Request(Request { operation: Operation::ReadSlice { .. }, .. }) => {
                match settings.read_targets {
                    ReadTargets::Any => {
                        coordinator::combinations(servers - 1, settings.reads.of(servers) - 1)
                    }
                    ReadTargets::Closest => 1,
                }
            }
            Message::Request(Request {
                operation: Operation::Write(_) | Operation::Batch(_) | Operation::Conditional { .. },
                ..
            })
            | Message::Reply(_)
            | Message::Peer(_)
            | Message::Read { .. }
            | Message::Shown { .. }
            | Message::Write { .. }
            | Message::Written { .. } => 1,
        }
    }

    fn is_durable(settings: &Settings) -> bool {
        settings.commit_log == CommitLog::Batch
    }

    /// A state has no tombstones that hide nothing, and does not tell how long ago anything was written.
    fn unseen(settings: &Settings) -> Vec<&'static str> {
        [
            ("gc_grace_seconds", settings.gc_grace_seconds.is_some()),
            ("hint_period", settings.hint_period.is_some()),
            ("tombstones_max", settings.tombstones_max.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_set)| is_set.then_some(name))
        .collect()
    }

    fn dismisses(&self, message: &Peer) -> bool {
        match message {
            Peer::Ack { serial } => !self.coordinator.awaits_ack(*serial),
            Peer::Cells { serial, .. } => {
                !self.coordinator.awaits_cells(*serial) && !self.proposer.awaits(*serial)
            }
            Peer::Paxos(paxos) => !paxos.said.is_question() && !self.proposer.awaits(paxos.serial),
            Peer::Mutation { .. } | Peer::Read { .. } | Peer::Repair { .. } => false,
        }
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.replica.visit(visitor);
        self.coordinator.visit(visitor);
        self.proposer.visit(visitor);
    }

    fn visit_fence<V: Visitor>(token: &mut FencingToken, visitor: &mut V) {
        let mut at = Wall(token.0);
        visitor.stamp(FENCE_TIMES, &mut at);
        token.0 = at.0;
    }

    fn settle(
        servers: &mut [&mut Self],
        in_flight: &mut dyn Iterator<Item = &Message<Self>>,
        horizon: Wall,
        _settings: &Settings,
    ) {
        settle::settle(servers, in_flight, horizon);
    }

    fn may_settle(&self, horizon: Wall) -> bool {
        settle::may_settle(self, horizon)
    }

    fn may_keep(message: &Message<Self>) -> bool {
        settle::may_keep(message)
    }

    fn talks_of_what_settles(settings: &Settings) -> bool {
        settings.read_repair == ReadRepair::Blocking
    }

    /// As long as a coordinator that judges by its read's beginning waits for the others' cells.
    fn looks_back_seconds(settings: &Settings, servers: u8, latency: Micros) -> i64 {
        match settings.expiry_clock {
            ExpiryClock::Coordinator if settings.reads.of(servers) > 1 => {
                -Micros(-2 * latency.0).whole_seconds()
            }
            ExpiryClock::Coordinator | ExpiryClock::Replica => 0,
        }
    }

    fn contents(&self) -> Vec<String> {
        self.replica.contents()
    }
}
