//! What a thread asks of the store, and how its rows and columns are named.

use super::{CassandraShadow, Cx, Out, Phase, Settings};
use crate::locks::awaited::Awaited;
use crate::locks::cassandra_tables::{self, MAIN};
use crate::names::Word;
use crate::stores::cassandra::{
    Change, ColumnName, Mutation, Operation, Prefix, Row, Target, ThreadId, Value,
};

impl CassandraShadow {
    /// The row that the lock id has in a table.
    pub(super) fn row(&self, table: Word) -> Row {
        cassandra_tables::row(table, self.lock)
    }

    pub(super) fn column(&self, settings: &Settings) -> ColumnName {
        let number = if settings.shared_thread_id { 0 } else { self.me };
        ColumnName {
            prefix: Prefix::None,
            thread: ThreadId(u16::from(self.incarnation) << 8 | u16::from(number)),
        }
    }

    pub(super) fn put_main(&mut self, cx: &Cx) -> Mutation {
        let change = Change::Put { value: Value::EMPTY, ttl_seconds: cx.settings.ttl_seconds };
        let mutation = self.mutation(self.row(MAIN), change, cx);
        self.fence = cx.settings.fencing.then(|| mutation.timestamp.unwrap_or(cx.wall));
        let is_looked_at = cx.settings.validity_check && cx.settings.ttl_seconds.is_some();
        self.main_sent = is_looked_at.then_some(cx.monotonic);
        mutation
    }

    pub(super) fn mutation(&mut self, row: Row, change: Change, cx: &Cx) -> Mutation {
        let timestamp = cx.settings.timestamps.next(&mut self.last_timestamp, cx.wall);
        Mutation { row, target: Target::Column(self.column(cx.settings)), change, timestamp }
    }

    pub(super) fn write(&mut self, phase: Phase, row: Row, change: Change, cx: &Cx, out: &mut Out) {
        let mutation = self.mutation(row, change, cx);
        self.phase = phase;
        self.send(Operation::Write(mutation), cx, out);
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
