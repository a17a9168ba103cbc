//! Variables in Cassandra.

use super::{Ask, Cell, Direct, Heard, Here, Question, Version, Word};
use crate::stores::cassandra::{
    Cassandra, Change, Condition, Operation, Outcome, Reply, Request, Row, Value,
};
use serde::{Deserialize, Serialize};

/// In Cassandra: a row a variable, of one column that only lightweight transactions change, `UPDATE … IF value = …`.
///
/// There are no versions that a client could show. What a variable holds stands in their place, so that ABA is possible
/// wherever a content comes again. A client asks the coordinator that has its number, and goes on asking it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum InCassandra {}

/// How variables are read.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CassandraReads {
    /// How a variable is read.
    pub reads: Reads,
}

/// How a variable is read.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reads {
    /// Like anything else, at the consistency level of the store's settings. It may miss what is decided and not yet written,
    /// which nobody was told yet.
    Plain,
    /// By a conditional write that can never be done: a round of Paxos, which finishes what others have begun. What
    /// `SERIAL` stands for in the real one.
    #[default]
    Serial,
}

/// What no variable holds: the columns of variables hold what [`Content`](crate::objects::content::Content) makes, and that is
/// never all ones.
const NEVER: Value = Value::Number(u32::MAX);

fn row(cell: Cell) -> Row {
    Row { table: cell.word, key: cell.number }
}

fn set_if(row: Row, expected: Option<u32>, new: Option<u32>) -> Operation {
    let change = match new {
        Some(new) => Change::Put { value: Value::Number(new), ttl_seconds: None },
        None => Change::Delete,
    };
    let condition = match expected {
        Some(expected) => Condition::Equals(Value::Number(expected)),
        None => Condition::Absent,
    };
    Operation::Conditional { row, change, condition }
}

impl Direct for InCassandra {
    type Store = Cassandra;
    type Settings = CassandraReads;

    fn request(Question { cell, ask }: Question, serial: u32, settings: &CassandraReads) -> Request {
        let row = row(cell);
        let operation = match ask {
            Ask::Get => match settings.reads {
                Reads::Plain => Operation::ReadSlice { row, from: None, count: 1 },
                Reads::Serial => {
                    let condition = Condition::Equals(NEVER);
                    Operation::Conditional { row, change: Change::Delete, condition }
                }
            },
            Ask::SetIfVersion(version, new) => set_if(row, version.content(), new),
            Ask::SetIfContent { expected, new } => set_if(row, expected, new),
            Ask::Set(_) => unreachable!("it is read before"),
        };
        Request { serial, operation }
    }

    fn server(_cell: Cell, here: &Here<CassandraReads>) -> u8 {
        here.me % here.servers
    }

    fn serial_of(reply: &Reply) -> u32 {
        reply.serial
    }

    fn heard(reply: &Reply, _settings: &CassandraReads) -> Word {
        match &reply.outcome {
            Outcome::Applied => Word::Heard(Heard::Set(true)),
            Outcome::Slice(found) => Word::Heard(match found.first() {
                Some(&(_, Value::Number(content))) => {
                    Heard::Found(Some(content), Version::of_content(content))
                }
                Some((_, Value::Time(_) | Value::Thread(_))) | None => Heard::Found(None, Version::ABSENT),
            }),
            Outcome::TimedOut => Word::Unknown,
        }
    }

    /// A plain write beside lightweight transactions is ordered with them by clocks alone; nobody should.
    fn first(ask: Ask) -> Ask {
        match ask {
            Ask::Set(_) => Ask::Get,
            Ask::Get | Ask::SetIfVersion(..) | Ask::SetIfContent { .. } => ask,
        }
    }

    /// A transaction whose condition does not hold answers with what is there.
    fn then(ask: Ask, heard: Heard) -> Result<Heard, Ask> {
        match (ask, heard) {
            (Ask::Set(None), Heard::Found(None, _)) => Ok(Heard::Set(true)),
            (Ask::Set(new), Heard::Found(_, version)) => Err(Ask::SetIfVersion(version, new)),
            (Ask::SetIfVersion(..) | Ask::SetIfContent { .. }, Heard::Found(..)) => Ok(Heard::Set(false)),
            (_, heard) => Ok(heard),
        }
    }
}
