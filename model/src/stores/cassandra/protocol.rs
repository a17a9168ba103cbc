//! What clients and servers of Cassandra say to each other, as far as the recipes here need it.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 2 (cluster, keyspace, column family, cell; write one cell, write many
//! cells into one family, read a slice of a row from a column name with a count).

use crate::machine::{Owner, StampGroup, Visit, Visitor, put_in_order};
use crate::names::Word;
use crate::time::Wall;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt::{Display, Formatter};

/// The identifier of a thread that writes, a GUID in the source: only its identity and lexicographic order matter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ThreadId(pub u16);

impl ThreadId {
    /// Shows whose thread it is; [`SHARED`] is nobody's.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        if *self != SHARED.thread {
            let [mut client, incarnation] = self.0.to_le_bytes();
            visitor.client(&mut client);
            self.0 = u16::from_le_bytes([client, incarnation]);
        }
    }
}

impl Display for ThreadId {
    /// `tA`, `tB`, …; a later incarnation of a crashed client is another thread: `tA'2`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}", picklock_properties::ClientId((self.0 & 0xff) as u8))?;
        if self.0 >> 8 == 0 { Ok(()) } else { write!(f, "'{}", (self.0 >> 8) + 1) }
    }
}

/// What stands before the thread id in a column's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Prefix {
    /// A time in microseconds, padded with zeros to 20 digits.
    Time(Wall),
    /// Nothing: the name is the thread id.
    None,
}

/// A column's name as the recipes here build them.
///
/// Names are ordered lexicographically in a row. Padded digits compare as numbers and digits stand before letters, so
/// the derived order is the order of the strings. Names of other shapes are left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ColumnName {
    /// The part that orders them before the threads do.
    pub prefix: Prefix,
    /// The part that tells threads apart.
    pub thread: ThreadId,
}

/// The column whose name is the same for all threads, and the only one that conditional writes change: all ballots of a
/// row are then write timestamps of one column. The thread in it is nobody's.
pub const SHARED: ColumnName = ColumnName { prefix: Prefix::None, thread: ThreadId(u16::MAX) };

/// What it is called: a label of the users'.
const SHARED_LABEL: Word = Word(0);

impl Display for ColumnName {
    /// `tA`; with a time before it, counted from the beginning of the run: `12.345678s·tA`.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.prefix {
            Prefix::None if *self == SHARED => write!(f, "{}", SHARED_LABEL.label()),
            Prefix::Time(at) => write!(f, "{at}·{}", self.thread),
            Prefix::None => write!(f, "{}", self.thread),
        }
    }
}

/// A row of a table. Its users choose the names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The table (column family), a word of the users'.
    pub table: Word,
    /// The row's key.
    pub key: u8,
}

impl Row {
    /// Which of the users' words names a table whose cells hold times that clients may write with: the write timestamps of
    /// such cells are compared with the times. In other tables they are compared with each other only.
    pub const TIMES: Word = Word(3);
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.table.name(self.key.into()))
    }
}

/// What a cell holds. Only its order matters to the store, on a tie of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Value {
    /// Bytes that mean a number, or nothing.
    Number(u32),
    /// Bytes that mean a time.
    Time(Wall),
    /// Bytes that name a thread.
    Thread(ThreadId),
}

impl Value {
    /// No bytes: the name says it all.
    pub const EMPTY: Value = Value::Number(0);

    /// The time, if it is one.
    pub const fn time(self) -> Option<Wall> {
        match self {
            Value::Number(_) | Value::Thread(_) => None,
            Value::Time(at) => Some(at),
        }
    }

    /// Ordered as the bytes are: what one cell holds is of one kind.
    pub(super) const fn rank(self) -> i64 {
        match self {
            Value::Number(number) => number as i64,
            Value::Time(at) => at.0,
            Value::Thread(thread) => thread.0 as i64,
        }
    }

    /// Shows the time in it. It is compared with times in names; who makes it a write timestamp says so
    /// ([`carries_stamps_over`](crate::machine::Lock::carries_stamps_over)).
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Value::Number(_) => {}
            Value::Time(at) => visitor.stamp(NAME_GROUP, at),
            Value::Thread(thread) => thread.visit(visitor),
        }
    }
}

impl Display for Value {
    /// What stands behind the column's name: `=tA`, a time as it stands in a name, nothing where there are no bytes.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            &Value::EMPTY => Ok(()),
            Value::Number(number) => write!(f, "={number}"),
            Value::Time(at) => write!(f, "={at}"),
            Value::Thread(thread) => write!(f, "={thread}"),
        }
    }
}

/// Which column a mutation changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Target {
    /// The column with this name.
    Column(ColumnName),
    /// A column named by the coordinator: its own time on arrival, then the thread id (CQL's `now()`).
    CoordinatorTime(ThreadId),
}

/// What a mutation does to its column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Change {
    /// Write a cell.
    Put {
        /// The value.
        value: Value,
        /// Time to live in whole seconds, counted by the coordinator's clock.
        ttl_seconds: Option<u32>,
    },
    /// Write a tombstone.
    Delete,
}

/// One cell to change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Mutation {
    /// In which row.
    pub row: Row,
    /// Which column.
    pub target: Target,
    /// Put or delete.
    pub change: Change,
    /// The write timestamp given by the client in microseconds; `None`: the coordinator takes its own wall clock.
    pub timestamp: Option<Wall>,
}

/// A client's request to a coordinator. Consistency levels are the store's settings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Tells this client's requests apart.
    pub serial: u32,
    /// What to do.
    pub operation: Operation,
}

/// What a client can ask for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// Change one cell.
    Write(Mutation),
    /// Change several cells of one family: all of them in the end, not isolated from readers of several rows.
    Batch(SmallVec<[Mutation; 2]>),
    /// The first `count` live columns of `row`, from `from` on (inclusive) or from the beginning.
    ReadSlice {
        /// In which row.
        row: Row,
        /// First name of interest.
        from: Option<ColumnName>,
        /// How many columns at most.
        count: u8,
    },
    /// Change the [`SHARED`] column of `row` if `condition` holds: a lightweight transaction
    /// (`INSERT … IF NOT EXISTS`, `DELETE … IF owner = …`). If it does not hold, the answer is a slice: what is there.
    Conditional {
        /// In which row.
        row: Row,
        /// What to write.
        change: Change,
        /// On which condition.
        condition: Condition,
    },
}

/// On what a conditional write depends: the live value of the [`SHARED`] column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Condition {
    /// There is none.
    Absent,
    /// It is this.
    Equals(Value),
}

/// A coordinator's reply to a client.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub serial: u32,
    /// What became of it.
    pub outcome: Outcome,
}

/// The live columns that a read returns, in order, with their values.
pub type Found = SmallVec<[(ColumnName, Value); 2]>;

/// What became of a request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// As many replicas as the consistency level asks for acknowledged the write.
    Applied,
    /// The live columns, in order, with their values.
    Slice(Found),
    /// Too few replicas answered the coordinator in time. A write may be on some of them and stays there.
    TimedOut,
}

/// The stamps of one column: written by one thread, so one group per row and thread. Those of a cell in [`Row::TIMES`] may be
/// its values, and are compared with them.
pub fn timestamp_group(row: Row, thread: ThreadId) -> StampGroup {
    if row.table == Row::TIMES {
        return NAME_GROUP;
    }
    StampGroup {
        space: 0,
        member: u32::from(row.table.0) << 24 | u32::from(row.key) << 16 | u32::from(thread.0),
    }
}

/// The times in column names, and those in values, which become names. Several rows share a group, which costs states, not
/// truth.
pub const NAME_GROUP: StampGroup = StampGroup { space: 1, member: 0 };

/// Write times as fencing tokens: compared with each other, whoever wrote.
pub const FENCE_TIMES: StampGroup = StampGroup { space: 2, member: 0 };

impl ColumnName {
    /// Shows the time in the name, and whose it is.
    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        if let Prefix::Time(at) = &mut self.prefix {
            visitor.stamp(NAME_GROUP, at);
        }
        self.thread.visit(visitor);
    }
}

/// Shows the times in what a read returns.
pub(super) fn visit_found<V: Visitor>(found: &mut Found, visitor: &mut V) {
    for (name, value) in &mut *found {
        name.visit(visitor);
        value.visit(visitor);
    }
    put_in_order::<V, _, _>(found, |(name, _)| *name);
}

impl Change {
    /// Shows the time in the value.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Change::Put { value, .. } => value.visit(visitor),
            Change::Delete => {}
        }
    }
}

impl Condition {
    /// Shows the time in the value.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Condition::Absent => {}
            Condition::Equals(value) => value.visit(visitor),
        }
    }
}

impl Visit for Mutation {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        let (Target::Column(ColumnName { thread, .. }) | Target::CoordinatorTime(thread)) = self.target;
        if let Some(timestamp) = &mut self.timestamp {
            visitor.stamp(timestamp_group(self.row, thread), timestamp);
        }
        match &mut self.target {
            Target::Column(name) => name.visit(visitor),
            Target::CoordinatorTime(thread) => thread.visit(visitor),
        }
        self.change.visit(visitor);
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
        match &mut self.operation {
            Operation::Write(mutation) => mutation.visit(visitor),
            Operation::Batch(mutations) => mutations.iter_mut().for_each(|mutation| mutation.visit(visitor)),
            Operation::ReadSlice { from, .. } => from.iter_mut().for_each(|name| name.visit(visitor)),
            Operation::Conditional { change, condition, .. } => {
                change.visit(visitor);
                condition.visit(visitor);
            }
        }
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
        match &mut self.outcome {
            Outcome::Slice(columns) => visit_found(columns, visitor),
            Outcome::Applied | Outcome::TimedOut => {}
        }
    }
}

impl Display for Mutation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let verb = match self.change {
            Change::Put { .. } => "add",
            Change::Delete => "delete",
        };
        write!(f, "{verb} {}[", self.row)?;
        match self.target {
            Target::Column(name) => write!(f, "{name}]")?,
            Target::CoordinatorTime(thread) => write!(f, "now()·{thread}]")?,
        }
        if let Change::Put { value, .. } = self.change {
            write!(f, "{value}")?;
        }
        if let Some(timestamp) = self.timestamp {
            write!(f, " at {timestamp}")?;
        }
        if let Change::Put { ttl_seconds: Some(seconds), .. } = self.change {
            write!(f, " ttl {seconds}s")?;
        }
        Ok(())
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match &self.operation {
            Operation::Write(mutation) => write!(f, "{mutation}"),
            Operation::Batch(mutations) => {
                f.write_str("batch")?;
                mutations.iter().try_for_each(|mutation| write!(f, ", {mutation}"))
            }
            Operation::ReadSlice { row, from: None, count } => write!(f, "read {row} first {count}"),
            Operation::ReadSlice { row, from: Some(name), count } => {
                write!(f, "read {row} from {name} first {count}")
            }
            Operation::Conditional { row, change, condition } => {
                match change {
                    Change::Put { value, .. } => write!(f, "insert {row}[{SHARED}]{value}")?,
                    Change::Delete => write!(f, "delete {row}[{SHARED}]")?,
                }
                match condition {
                    Condition::Absent => f.write_str(" if not exists"),
                    Condition::Equals(value) => write!(f, " if {SHARED}{value}"),
                }
            }
        }
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match &self.outcome {
            Outcome::Applied => f.write_str("applied"),
            Outcome::TimedOut => f.write_str("timed out"),
            Outcome::Slice(columns) => {
                f.write_str("{")?;
                for (position, (name, value)) in columns.iter().enumerate() {
                    write!(f, "{}{name}{value}", if position == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// What changed, as coordinators tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// A client's write has put a live cell into the row, here to begin with, and nothing newer hides it; conditional writes are not
    /// told.
    Put {
        /// Which row.
        row: Row,
        /// Who asked for it.
        client: u8,
    },
    /// As many replicas as the consistency level asks for have such a cell by now.
    Kept {
        /// Which row.
        row: Row,
        /// Who asked for it.
        client: u8,
    },
}
