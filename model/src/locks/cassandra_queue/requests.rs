//! What the thread asks of the store, and with which timestamps.

use super::phase::Phase;
use super::settings::{Expiry, Timestamps};
use super::{CassandraQueue, Cx, Out};
use crate::locks::awaited::Awaited;
use crate::locks::cassandra_tables::{self, MAIN, QUEUE, TIME};
use crate::names::Word;
use crate::stores::cassandra::{Change, ColumnName, Found, Mutation, Operation, Prefix, Row, Target, Value};
use crate::time::Wall;

impl CassandraQueue {
    pub(super) fn put_queue(&mut self, cx: &Cx) -> Mutation {
        let target = match self.column {
            Some(column) => Target::Column(column),
            None => Target::CoordinatorTime(self.thread(cx)),
        };
        let timestamp = self.timestamp(cx);
        Mutation { row: self.row(QUEUE), target, change: self.put(timestamp, cx), timestamp }
    }

    pub(super) fn put_main(&mut self, cx: &Cx) -> Mutation {
        let timestamp = self.timestamp(cx);
        self.fence = cx.settings.fencing.then(|| timestamp.unwrap_or(cx.wall));
        Mutation {
            row: self.row(MAIN),
            target: Target::Column(self.main_column(cx)),
            change: self.put(timestamp, cx),
            timestamp,
        }
    }

    /// What a keeper reads as the cell's timestamp (a Thrift slice has it) is its value here.
    fn put(&self, timestamp: Option<Wall>, cx: &Cx) -> Change {
        match cx.settings.expiry {
            Expiry::Store => Change::Put { value: Value::EMPTY, ttl_seconds: cx.settings.ttl_seconds },
            Expiry::Keeper => {
                Change::Put { value: Value::Time(timestamp.unwrap_or(cx.wall)), ttl_seconds: None }
            }
        }
    }

    pub(super) fn remove(&mut self, row: Row, target: Target, cx: &Cx) -> Mutation {
        let timestamp = match cx.settings.timestamps {
            Timestamps::ServiceAdds => Some(cx.wall),
            Timestamps::ClientWall
            | Timestamps::ClientMonotonic
            | Timestamps::Coordinator
            | Timestamps::Service
            | Timestamps::ServiceMonotonic => self.timestamp(cx),
        };
        Mutation { row, target, change: Change::Delete, timestamp }
    }

    pub(super) fn row(&self, table: Word) -> Row {
        cassandra_tables::row(table, self.lock)
    }

    pub(super) fn main_column(&self, cx: &Cx) -> ColumnName {
        ColumnName { prefix: Prefix::None, thread: self.thread(cx) }
    }

    fn timestamp(&mut self, cx: &Cx) -> Option<Wall> {
        let time = if cx.settings.timestamps.are_the_services() { self.service_time() } else { cx.wall };
        cx.settings.timestamps.next(&mut self.last_timestamp, time)
    }

    /// What the time service said last.
    pub(super) fn service_time(&self) -> Wall {
        match self.time {
            Some(time) => time,
            None => {
                unreachable!("the time is read before anything is written, and kept until the call is over")
            }
        }
    }

    pub(super) const fn read_of_time() -> Operation {
        Operation::ReadSlice { row: TIME, from: None, count: 1 }
    }

    /// What the time service has published, if it has.
    pub(super) fn time_in(found: &Found) -> Option<Wall> {
        found.first().and_then(|(_, value)| value.time())
    }

    pub(super) fn read(&mut self, phase: Phase, row: Row, count: u8, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        self.send(Operation::ReadSlice { row, from: None, count }, cx, out);
    }

    /// Sends the request that the phase waits for.
    pub(super) fn send(&mut self, operation: Operation, cx: &Cx, out: &mut Out) {
        self.awaited = Some(self.request(operation, cx, out));
    }

    pub(super) fn request(&mut self, operation: Operation, cx: &Cx, out: &mut Out) -> Awaited {
        let time = (cx.monotonic, cx.settings.request_timeout);
        Awaited::sent(operation, (cx.me + self.contact) % cx.servers, &mut self.serial, time, out)
    }
}
