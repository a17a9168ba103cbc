//! Operations of the simulated servers as statements of CQL, and answers of the real ones as outcomes.
//!
//! A row of the simulator is a partition with a column family's columns for its rows. Three ways to keep such in CQL hold the same cells;
//! what tells them apart is what else they keep.

use crate::cql::Answer;
use picklock_model::stores::cassandra::{
    Change, ColumnName, Condition, Found, Mutation, Operation, Outcome, Prefix, Row, SHARED, Target,
    ThreadId, Value,
};
use picklock_model::time::Wall;

/// How columns are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Dialect {
    /// `COMPACT STORAGE`, as column families were kept when the paper was written: a row is its one cell.
    Compact,
    /// `UPDATE`, and `DELETE value`: cells in rows that nothing else keeps alive.
    Cells,
    /// `INSERT`, and `DELETE` of the row, as one writes today: rows have markers with a time to live of their own, and what deletes them
    /// is not a cell.
    Rows,
}

/// A table of this kind, and a name for what one sequence keeps there.
#[derive(Clone, Debug)]
pub struct Place {
    pub dialect: Dialect,
    pub table: String,
    pub sequence: String,
}

pub const KEYSPACE: &str = "picklock";

impl Place {
    /// The statement that makes the table.
    pub fn create(table: &str, dialect: Dialect, options: &[&str]) -> String {
        let mut with: Vec<&str> = options.to_vec();
        if dialect == Dialect::Compact {
            with.push("COMPACT STORAGE");
        }
        let with = if with.is_empty() { String::new() } else { format!(" WITH {}", with.join(" AND ")) };
        format!(
            "CREATE TABLE {KEYSPACE}.{table} (key text, name text, value blob, PRIMARY KEY (key, name)){with}"
        )
    }

    /// `None`: nothing that can be said in this dialect.
    pub fn statement(&self, operation: &Operation) -> Option<String> {
        match operation {
            Operation::Write(mutation) => self.mutation(mutation),
            Operation::Batch(mutations) => {
                let statements: Option<Vec<String>> =
                    mutations.iter().map(|mutation| self.mutation(mutation)).collect();
                Some(format!("BEGIN BATCH {} APPLY BATCH", statements?.join(" ")))
            }
            Operation::ReadSlice { row, from, count } => {
                let from = from.map_or(String::new(), |name| format!(" AND name >= '{}'", text(name)));
                let (table, key) = (self.table(), self.key(*row));
                Some(format!("SELECT name, value FROM {table} WHERE key = '{key}'{from} LIMIT {count}"))
            }
            Operation::Conditional { row, change, condition } => self.conditional(*row, *change, *condition),
        }
    }

    pub fn table(&self) -> String {
        format!("{KEYSPACE}.{}", self.table)
    }

    pub fn key(&self, row: Row) -> String {
        format!("{}/{}/{}", self.sequence, row.table.0, row.key)
    }

    fn mutation(&self, Mutation { row, target, change, timestamp }: &Mutation) -> Option<String> {
        match target {
            Target::Column(name) => Some(self.change(*row, *name, *change, *timestamp, "")),
            Target::CoordinatorTime(_) => None,
        }
    }

    fn change(&self, row: Row, name: ColumnName, change: Change, at: Option<Wall>, only_if: &str) -> String {
        let (table, key, name) = (self.table(), self.key(row), text(name));
        let at = at.map(|at| format!("TIMESTAMP {}", at.0));
        match change {
            Change::Put { value, ttl_seconds } => {
                let ttl = ttl_seconds.map(|ttl| format!("TTL {ttl}"));
                let using = using(at.into_iter().chain(ttl));
                let value = blob(value);
                // An update leaves no marker, and is the only one that can have a condition on a value.
                match self.dialect == Dialect::Cells || only_if.contains("value") {
                    true => format!(
                        "UPDATE {table}{using} SET value = {value} WHERE key = '{key}' AND name = '{name}'{only_if}"
                    ),
                    false => format!(
                        "INSERT INTO {table} (key, name, value) VALUES ('{key}', '{name}', {value}){only_if}{using}"
                    ),
                }
            }
            Change::Delete => {
                let what = if self.dialect == Dialect::Cells { "value " } else { "" };
                let using = using(at);
                format!("DELETE {what}FROM {table}{using} WHERE key = '{key}' AND name = '{name}'{only_if}")
            }
        }
    }

    fn conditional(&self, row: Row, change: Change, condition: Condition) -> Option<String> {
        let only_if = match (condition, self.dialect, change) {
            (Condition::Absent, Dialect::Cells, _) => " IF value = null".to_owned(),
            (Condition::Absent, Dialect::Compact | Dialect::Rows, Change::Put { .. }) => {
                " IF NOT EXISTS".to_owned()
            }
            (Condition::Absent, Dialect::Compact | Dialect::Rows, Change::Delete) => return None,
            // It would leave the marker as it is: see `a_renewed_row_outlives_its_value`.
            (Condition::Equals(_), Dialect::Rows, Change::Put { .. }) => return None,
            (Condition::Equals(value), _, _) => format!(" IF value = {}", blob(value)),
        };
        Some(self.change(row, SHARED, change, None, &only_if))
    }
}

/// What the answer says about such an operation; `None`: something that the simulator has no word for.
pub fn outcome(operation: &Operation, answer: &Answer) -> Option<Outcome> {
    match (operation, answer) {
        (_, answer) if answer.is_too_few() => Some(Outcome::TimedOut),
        (Operation::Write(_) | Operation::Batch(_), Answer::Void) => Some(Outcome::Applied),
        (Operation::ReadSlice { .. }, Answer::Rows { rows, .. }) => {
            let columns = rows.iter().map(|row| match &row[..] {
                [Some(name), Some(bytes)] => Some((named(name)?, value(bytes)?)),
                _ => None,
            });
            Some(Outcome::Slice(columns.collect::<Option<Found>>()?))
        }
        (Operation::Conditional { .. }, Answer::Rows { columns, rows }) => {
            let of = |column| {
                let place = columns.iter().position(|name| name == column)?;
                rows.first()?[place].as_deref()
            };
            if of("[applied]")? == [1] {
                return Some(Outcome::Applied);
            }
            let there = match of("value") {
                Some(bytes) => Some((SHARED, value(bytes)?)),
                None => None,
            };
            Some(Outcome::Slice(there.into_iter().collect()))
        }
        _ => None,
    }
}

fn using(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    if parts.is_empty() { String::new() } else { format!(" USING {}", parts.join(" AND ")) }
}

/// Ordered as the simulator orders them.
fn text(ColumnName { prefix, thread }: ColumnName) -> String {
    match prefix {
        Prefix::Time(at) => format!("{:020}t{:05}", at.0, thread.0),
        Prefix::None => format!("t{:05}", thread.0),
    }
}

fn named(name: &[u8]) -> Option<ColumnName> {
    let (time, thread) = std::str::from_utf8(name).ok()?.split_once('t')?;
    let prefix = match time {
        "" => Prefix::None,
        digits => Prefix::Time(Wall(digits.parse().ok()?)),
    };
    Some(ColumnName { prefix, thread: ThreadId(thread.parse().ok()?) })
}

/// Bytes that are ordered as the values are; their number says of which kind they are.
fn blob(value: Value) -> String {
    match value {
        Value::EMPTY => "0x".to_owned(),
        Value::Number(number) => format!("0x{number:08x}"),
        Value::Time(at) => format!("0x{:016x}", at.0),
        Value::Thread(thread) => format!("0x{:04x}", thread.0),
    }
}

fn value(bytes: &[u8]) -> Option<Value> {
    match bytes.len() {
        0 => Some(Value::EMPTY),
        2 => Some(Value::Thread(ThreadId(u16::from_be_bytes(bytes.try_into().ok()?)))),
        4 => Some(Value::Number(u32::from_be_bytes(bytes.try_into().ok()?))),
        8 => Some(Value::Time(Wall(i64::from_be_bytes(bytes.try_into().ok()?)))),
        _ => None,
    }
}
