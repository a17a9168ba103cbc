//! The tables of the locks of the Cassandra paper, *The Cassandra queue lock*, and what changes of them mean to the judges.

use crate::names::{Word, Words};
use crate::stores::cassandra::{Row, Written};
use picklock_properties::{ClientId, Event, LockId};

/// What tables, and the one column with a name of its own, are called.
pub const WORDS: Words = Words { names: &["M", "Q", "S", "T"], labels: &["owner"] };

/// Who owns the lock ("основная строка").
pub const MAIN: Word = Word(0);

/// Who waits for it, in order ("очередь").
pub const QUEUE: Word = Word(1);

/// Where Listing 3 fights for it ("теневая таблица").
pub const SHADOW: Word = Word(2);

/// The row of the time service, with its one cell ("в специально заведенной под эти цели ячейке", section 5.4).
pub const TIME: Row = Row { table: Row::TIMES, key: 0 };

/// The lock's row in this table: the lock's id is its key.
pub const fn row(table: Word, lock: LockId) -> Row {
    Row { table, key: lock.0 }
}

/// Whose cell comes into the queue is in it; whose cell the main row keeps, for the first time or anew, has its record there.
pub fn means(change: &Written, _server: u8) -> Option<Event> {
    let (Written::Put { row, client } | Written::Kept { row, client }) = *change;
    let (client, lock) = (ClientId(client), LockId(row.key));
    match change {
        Written::Put { .. } if row.table == QUEUE => Some(Event::Enqueued { client, lock }),
        Written::Kept { .. } if row.table == MAIN => Some(Event::RecordWritten { client, lock }),
        Written::Put { .. } | Written::Kept { .. } => None,
    }
}
