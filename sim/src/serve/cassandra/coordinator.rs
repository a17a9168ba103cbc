//! One server, as whoever serves it asks it: reads, writes and lightweight transactions of partitions, made of what the
//! simulated coordinator does.
//!
//! A lightweight transaction, as the simulator knows it, writes one column of a partition if that holds what is expected. Here
//! that column stands for all cells that transactions have come to. So one is done in two steps: the partition is read, and if
//! the condition is met by that, the cells that come of it are written in the place of those that were read. If somebody has
//! come in between, it is looked again at what is there now. A condition that is not met is not taken from a plain read: the
//! column is read once more by a round of Paxos, which first ends what another one has left open.

use super::change::Change;
use super::desk::{Answer, Said, Servers};
use super::names::{Cell, Clustering, Decided, Found, NEVER, Names, Place, merge};
use super::node::{Node, Request, Terms};
use super::refusal::{CAS_TIMEOUT, Level, READ_TIMEOUT, Refusal, WRITE_TIMEOUT, WriteType};
use super::schema::{Keyspace, Table};
use super::select::{self, Plan, Row, Shown};
use crate::serve::servers::State;
use bytes::Bytes;
use picklock_model::machine::{Store, Visit};
use picklock_model::stores::cassandra::{self, Condition, Consistency, Mutation, Operation, Value};
use picklock_model::time::{Micros, Wall};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// All requests are one client's: they are told apart by their numbers.
const CLIENT: u8 = 0;
/// How many columns the simulator gives at a time.
const COLUMNS_MAX: u8 = u8::MAX;
/// After how long without an answer another replica is asked, too (`speculative_retry`; the real one learns how long that is).
const SPECULATES_AFTER: Duration = Duration::from_millis(50);
/// How long a transaction that is in another one's way waits at most before it tries again (`StorageProxy.java` `sleepUninterruptibly`).
const BACKOFF_MAX: u64 = 100_000;

/// One of the servers.
#[derive(Clone, Debug)]
pub struct Coordinator {
    pub servers: Servers,
    pub number: u8,
}

/// A request under way: forgotten when nobody has any use for it.
struct Ticket<'a> {
    coordinator: &'a Coordinator,
    serial: u32,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.coordinator.servers.state().desk.forget(self.coordinator.number, self.serial);
    }
}

/// What is known of the moment at which something is asked.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub wall: Wall,
    /// The date at true time 0.
    pub date: i64,
}

impl Now {
    pub fn seconds(self) -> i64 {
        self.wall.whole_seconds()
    }
}

/// How many replicas a level asks for, in the simulator's words and in numbers.
pub fn required(level: Level, servers: u8) -> Result<(Consistency, u8), Refusal> {
    let quorum = Consistency::Quorum.of(servers);
    let number = match level.0 {
        0 | 1 | 10 => 1,
        2 => 2,
        3 => 3,
        4 | 6..=9 => quorum,
        // As no other is read ([`Level::read`]).
        _ => servers,
    };
    match number {
        1 => Ok((Consistency::One, 1)),
        number if number == quorum => Ok((Consistency::Quorum, number)),
        number if number >= servers => Ok((Consistency::All, number)),
        number => {
            Err(Refusal::not_served(format!("the consistency level of {number} replicas of {servers}")))
        }
    }
}

/// All that was read of a partition.
#[derive(Clone, Default, Debug)]
struct Partition {
    cells: BTreeMap<Place, Cell>,
    deleted: Option<Wall>,
    decided: Option<u32>,
}

/// What is read of a partition.
struct Reading<'a> {
    table: &'a Arc<Table>,
    key: &'a Bytes,
    level: Level,
    /// `None`: all of it.
    plan: Option<&'a Plan>,
    timeout: Micros,
}

impl Coordinator {
    /// Asks, and waits for the answer. `operation` is told in numbers, perhaps twice: names may move while they are given.
    async fn ask(
        &self,
        level: Level,
        timeout: Micros,
        skips: u32,
        mut operation: impl FnMut(&mut Names, Now) -> Result<Operation, Refusal>,
    ) -> Result<Answer, Refusal> {
        let (consistency, required) = required(level, self.servers.count())?;
        self.servers.runs(self.number).await;
        let (to, answer) = oneshot::channel();
        let serial = self.servers.step(|state, now| {
            if state.nodes[usize::from(self.number)].condition.is_down() {
                return Err(stopped());
            }
            self.check_alive(state, now, level, required)?;
            let moment = self.moment(state, now);
            let operation = loop {
                let operation = operation(&mut state.desk.names, moment)?;
                match state.desk.names.take_move() {
                    None => break operation,
                    Some(moved) => {
                        state.nodes.iter_mut().for_each(|node| node.machine.visit(&mut &moved));
                        state.letters.iter_mut().for_each(|(.., letter)| letter.visit(&mut &moved));
                    }
                }
            };
            let serial = state.desk.expect(self.number, to);
            let terms = Terms { level: consistency, timeout, skips };
            let request = Request { terms, asked: cassandra::Request { serial, operation } };
            state.enter(&self.servers, self.number, now, |machine: &mut Node, cx, effects| {
                machine.on_request(CLIENT, request, cx, effects);
            });
            Ok(serial)
        })?;
        let _ticket = Ticket { coordinator: self, serial };
        // If its process has ended, so has the connection.
        answer.await.map_err(|_| stopped())
    }

    /// Nothing is begun if too few replicas are known to be alive.
    fn check_alive(
        &self,
        state: &State<Node>,
        now: Micros,
        level: Level,
        required: u8,
    ) -> Result<(), Refusal> {
        let node = &state.nodes[usize::from(self.number)];
        let clock = node.clock.monotonic(now.max(node.free_at));
        let alive =
            (0..self.servers.count()).filter(|server| node.machine.believes_in(self.number, *server, clock));
        let alive = alive.count() as u8;
        if alive < required { Err(Refusal::Unavailable { level, required, alive }) } else { Ok(()) }
    }

    /// What the machine's clock will show in the next step.
    fn moment(&self, state: &State<Node>, now: Micros) -> Now {
        let node = &state.nodes[usize::from(self.number)];
        Now { wall: node.clock.wall(now.max(node.free_at)), date: state.desk.date }
    }

    /// What the server's clock shows.
    pub fn now(&self) -> Now {
        let now = self.servers.now();
        self.moment(&self.servers.state(), now)
    }

    /// A timestamp of this server, after that one.
    fn timestamp(&self, after: Option<Wall>) -> Wall {
        let now = self.servers.now();
        let mut state = self.servers.state();
        let wall = self.moment(&state, now).wall;
        state.desk.timestamp(self.number, wall, after)
    }

    /// Changes of partitions, none of which depends on anything.
    pub async fn write(&self, changes: &[Change], level: Level, write: WriteType) -> Result<(), Refusal> {
        if level.is_serial() {
            return Err(Refusal::invalid("You must use conditional updates for serializable writes"));
        }
        let (_, required) = required(level, self.servers.count())?;
        // One for all of a request.
        let given = self.timestamp(None);
        let answer = self
            .ask(level, WRITE_TIMEOUT, 0, |names, now| {
                let mut mutations: SmallVec<[Mutation; 2]> = SmallVec::new();
                for change in changes {
                    let timestamp = change.timestamp.map_or(given, |at| Wall(at.saturating_sub(now.date)));
                    mutations.extend(change.mutations(names, timestamp, now.seconds())?);
                }
                Ok(Operation::Batch(mutations))
            })
            .await?;
        match answer.said {
            Said::Applied | Said::Found(_) => Ok(()),
            Said::TimedOut => Err(Refusal::WriteTimeout {
                level,
                received: answer.received,
                required,
                write,
                contentions: 0,
            }),
        }
    }

    /// The rows of a `SELECT`, in their order.
    pub async fn read(&self, table: &Arc<Table>, plan: &Plan, level: Level) -> Result<Vec<Row>, Refusal> {
        level.check_read()?;
        let keys = match &plan.keys {
            Some(keys) => keys.clone(),
            None => self.servers.state().desk.names.partitions(table.id),
        };
        let mut rows = Vec::new();
        for key in keys {
            if level.is_serial() {
                // What others have left open is ended, and a quorum has it, before the rest is read.
                self.look(table, &key, level).await?;
            }
            let reading = Reading { table, key: &key, level, plan: Some(plan), timeout: READ_TIMEOUT };
            let partition = self.partition(&reading).await?;
            let mut found = self.rows(table, &key, &partition);
            found.retain(|(_, row)| plan.wants(table, row));
            if plan.reversed {
                found.reverse();
            }
            rows.extend(found.into_iter().map(|(_, row)| row));
            if let Some(limit) = plan.limit.filter(|limit| rows.len() >= *limit) {
                rows.truncate(limit);
                break;
            }
        }
        Ok(rows)
    }

    /// The rows that are there, by the server's clock.
    fn rows(&self, table: &Table, key: &Bytes, partition: &Partition) -> Vec<(Clustering, Row)> {
        let decided = self.servers.state().desk.names.decided(partition.decided);
        let mut cells = partition.cells.clone();
        for (place, cell) in &*decided {
            merge(&mut cells, place.clone(), cell.clone());
        }
        let now = self.now();
        select::rows(table, key, &cells, partition.deleted, now.seconds(), now.date)
    }

    /// A partition, as many replicas as the level asks for have it; of what is behind the rows that are asked for, perhaps
    /// nothing.
    async fn partition(&self, reading: &Reading<'_>) -> Result<Partition, Refusal> {
        let Reading { table, plan, .. } = reading;
        let mut partition = Partition::default();
        let mut next: Option<Place> = None;
        loop {
            let (found, count, is_whole) = self.slice(reading, next.as_ref()).await?;
            let is_all = found.len() < usize::from(count);
            for found in found {
                match found {
                    Found::Cell(place, cell) => {
                        next = Some(place.clone());
                        merge(&mut partition.cells, place, cell);
                    }
                    Found::Deleted(at) => partition.deleted = partition.deleted.max(Some(at)),
                    Found::Decided(number) => partition.decided = Some(number),
                }
            }
            if is_all {
                return Ok(partition);
            }
            // Of the last row there may be more.
            let limit = plan.and_then(|plan| plan.limit.filter(|_| !plan.reversed && !is_whole));
            if let (Some(plan), Some(limit)) = (plan, limit) {
                let rows = self.rows(table, reading.key, &partition);
                let last = next.as_ref().map(|(clustering, _)| clustering);
                let complete = rows.iter().filter(|(of, row)| Some(of) != last && plan.wants(table, row));
                if complete.count() >= limit {
                    return Ok(partition);
                }
            }
        }
    }

    /// The next cells of a partition, how many there are at most, and whether rows can be known only from all of them. If nobody
    /// answers, another replica is asked, too.
    async fn slice(
        &self,
        reading: &Reading<'_>,
        next: Option<&Place>,
    ) -> Result<(Vec<Found>, u8, bool), Refusal> {
        let Reading { table, key, level, plan, .. } = reading;
        let (_, required) = required(*level, self.servers.count())?;
        let is_whole = {
            let names = &mut self.servers.state().desk.names;
            let row = names.partition(table.id, key)?;
            names.is_read_whole(row)
        };
        let is_one = plan.is_some_and(|plan| plan.is_one && plan.from.is_some());
        let cells = table.columns.len() + 1 - table.key_columns();
        let count = match is_one && !is_whole {
            true => u8::try_from(cells + 1).unwrap_or(COLUMNS_MAX),
            false => COLUMNS_MAX,
        };
        let first = plan.and_then(|plan| plan.from.clone()).filter(|_| !is_whole);
        let first = first.map(|clustering| (clustering, super::names::MARKER));
        let from = next.cloned().or(first);
        let ask = |skips: u32| {
            let from = from.clone();
            self.ask(*level, reading.timeout, skips, move |names, _| {
                let row = names.partition(table.id, key)?;
                let from = from.as_ref().map(|(clustering, column)| names.column(clustering, *column));
                Ok(Operation::ReadSlice { row, from, count })
            })
        };
        let answer = {
            let first = ask(0);
            tokio::pin!(first);
            let is_choosy = required > 1 && required < self.servers.count();
            tokio::select! {
                biased;
                answer = &mut first => answer?,
                () = sleep(SPECULATES_AFTER), if is_choosy => tokio::select! {
                    biased;
                    answer = &mut first => answer?,
                    answer = ask(1) => answer?,
                },
            }
        };
        match answer.said {
            Said::Found(found) => {
                // All cells of one row are in one answer, whatever comes behind it.
                Ok((found, if is_one && !is_whole { COLUMNS_MAX } else { count }, is_whole))
            }
            Said::Applied | Said::TimedOut => {
                let received = answer.received;
                Err(Refusal::ReadTimeout { level: *level, received, required, has_data: received > 0 })
            }
        }
    }

    /// What lightweight transactions have come to in a partition, by a round of Paxos that writes nothing.
    async fn look(&self, table: &Arc<Table>, key: &Bytes, level: Level) -> Result<Option<u32>, Refusal> {
        let began = self.servers.now();
        loop {
            let answer = self
                .ask(Level(8), WRITE_TIMEOUT, 0, |names, _| {
                    let row = names.partition(table.id, key)?;
                    let change = cassandra::Change::Delete;
                    Ok(Operation::Conditional { row, change, condition: Condition::Equals(NEVER) })
                })
                .await?;
            match answer.said {
                Said::Found(found) => return Ok(decided(&found)),
                Said::Applied | Said::TimedOut => self.back_off(began).await.map_err(|()| {
                    let required = Consistency::Quorum.of(self.servers.count());
                    Refusal::ReadTimeout { level, received: answer.received, required, has_data: false }
                })?,
            }
        }
    }

    /// A transaction was in another one's way. `Err`: its time is up.
    async fn back_off(&self, began: Micros) -> Result<(), ()> {
        let serial = self.servers.state().desk.draw();
        let spread = u64::from(serial).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        sleep(Duration::from_micros(spread % BACKOFF_MAX)).await;
        if self.servers.now() - began < CAS_TIMEOUT { Ok(()) } else { Err(()) }
    }

    /// A lightweight transaction: what it shows, alone or in a batch.
    pub async fn transact(
        &self,
        change: &Change,
        level: Level,
        serial: Level,
        in_batch: bool,
    ) -> Result<Shown, Refusal> {
        let Change { table, key, .. } = change;
        {
            let state = self.servers.state();
            let keyspace = state.desk.schema.keyspaces.get(&table.keyspace);
            level.check_commit(&keyspace.map_or_else(String::new, Keyspace::strategy))?;
        }
        let Some(condition) = &change.condition else {
            unreachable!("a transaction has a condition");
        };
        let servers = self.servers.count();
        let quorum = Consistency::Quorum.of(servers);
        let mut contentions = 0;
        let timed_out = |received: u8, contentions: u32| Refusal::WriteTimeout {
            level: serial,
            received,
            required: quorum,
            write: WriteType::Cas,
            contentions,
        };
        required(level, servers)?;
        let began = self.servers.now();
        {
            let names = &mut self.servers.state().desk.names;
            let row = names.partition(table.id, key)?;
            names.transacts(row);
        }
        let reading = Reading { table, key, level: serial, plan: None, timeout: WRITE_TIMEOUT };
        let mut partition = self.partition(&reading).await.map_err(|refusal| match refusal {
            Refusal::ReadTimeout { received, .. } => timed_out(received, contentions),
            other => other,
        })?;
        // Whether what is decided was read by a round of Paxos.
        let mut is_certain = false;
        loop {
            let rows = self.rows(table, key, &partition);
            let super::change::What::Cells { clustering, .. } = &change.what else {
                unreachable!("a transaction is about one row");
            };
            let row = rows.iter().find(|(of, _)| of == clustering).map(|(_, row)| row);
            let is_met = condition.is_met(table, row);
            if !is_met && is_certain {
                return Ok(not_applied(change, row, in_batch));
            }
            if self.servers.now() - began >= CAS_TIMEOUT {
                return Err(timed_out(0, contentions));
            }
            if !is_met {
                let before = partition.decided;
                let found = self.look(table, key, serial).await.map_err(|refusal| match refusal {
                    Refusal::ReadTimeout { received, .. } => timed_out(received, contentions),
                    other => other,
                })?;
                is_certain = true;
                if found == before {
                    return Ok(not_applied(change, row, in_batch));
                }
                partition.decided = found;
                continue;
            }
            let answer = self.propose(change, &partition, level).await?;
            match answer.said {
                Said::Applied => return Ok(Shown::applied(table, true, &[], None)),
                Said::Found(found) => {
                    partition.decided = decided(&found);
                    is_certain = true;
                }
                Said::TimedOut if answer.is_proposed => return Err(timed_out(answer.received, contentions)),
                Said::TimedOut => {
                    contentions += 1;
                    self.back_off(began).await.map_err(|()| timed_out(answer.received, contentions))?;
                }
            }
        }
    }

    /// Writes what comes of a change in the place of what was decided before, if that is so still.
    async fn propose(&self, change: &Change, partition: &Partition, level: Level) -> Result<Answer, Refusal> {
        let before = self.servers.state().desk.names.decided(partition.decided);
        // Later than all that was decided: a ballot is.
        let after = before.values().map(|cell| cell.timestamp).max();
        let timestamp = self.timestamp(after);
        let mut after: Decided = (*before).clone();
        change.decide(&mut after, timestamp, self.now().seconds());
        let number = self.servers.state().desk.names.decide(after);
        let condition = match partition.decided {
            None => Condition::Absent,
            Some(number) => Condition::Equals(Value::Number(number)),
        };
        self.ask(level, WRITE_TIMEOUT, 0, |names, _| {
            let row = names.partition(change.table.id, &change.key)?;
            let put = cassandra::Change::Put { value: Value::Number(number), ttl_seconds: None };
            Ok(Operation::Conditional { row, change: put, condition })
        })
        .await
    }
}

/// What was there instead. A batch shows the row's key, too, as it may be about several (`ModificationStatement.buildCasFailureResultSet`).
fn not_applied(change: &Change, row: Option<&Row>, in_batch: bool) -> Shown {
    let table = &change.table;
    let columns: Vec<usize> = match &change.condition {
        Some(super::change::If::NotExists) => (0..table.columns.len()).collect(),
        Some(super::change::If::Columns(columns)) => {
            let mut seen = BTreeSet::new();
            let key = 0..if in_batch { table.key_columns() } else { 0 };
            key.chain(columns.iter().map(|(at, ..)| *at)).filter(|at| seen.insert(*at)).collect()
        }
        Some(super::change::If::Exists) | None => Vec::new(),
    };
    Shown::applied(table, false, &columns, row)
}

fn decided(found: &[Found]) -> Option<u32> {
    found.iter().find_map(|found| match found {
        Found::Decided(number) => Some(*number),
        Found::Cell(..) | Found::Deleted(_) => None,
    })
}

fn stopped() -> Refusal {
    Refusal::Server("Server is shutting down".to_owned())
}
