//! Not a lock: two threads that do what Lemma 1 of the Cassandra paper, *The Cassandra queue lock*, speaks of, and nothing else.
//!
//! "Если два потока A и B одновременно запишут по одной ячейке в одну строку в Cassandra и после этого прочитают ее, то
//! хотя бы один из них увидит в строке обе записи." Each client writes its cell into the main row, waits for the
//! acknowledgement, reads the row, and stays. The lemma is a property of the store; the probe only asks the question.

use crate::locks::cassandra_tables::{self, MAIN};
use crate::machine::{Call, Context, Effects, IDLE, Line, Lock, Owner, Visitor};
use crate::names::Words;
use crate::stores::cassandra::{
    Cassandra, Change, ColumnName, Mutation, Operation, Outcome, Prefix, Reply, Request, Row, Target,
    ThreadId, Value, Written,
};
use crate::time::{Due, Micros};
use picklock_properties::{ClientId, Event, LockId};
use serde::{Deserialize, Serialize};

/// The assumptions of the lemma that are the threads' own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Settings {
    /// Reads without waiting for the acknowledgement (assumption "read after own write" dropped).
    pub reads_before_ack: bool,
    /// All threads write the same column (assumption "unique ids" dropped).
    pub shared_column: bool,
    /// TTL of the cells in whole seconds.
    pub ttl_seconds: Option<u32>,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RowProbe {
    phase: Phase,
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Writes,
    Reads,
    HasRead,
}

const ROW: Row = cassandra_tables::row(MAIN, LockId(0));

impl RowProbe {
    fn send(&mut self, operation: Operation, cx: &Context<Settings>, out: &mut Effects<Cassandra>) {
        self.serial = self.serial.wrapping_add(1);
        out.request(cx.me % cx.servers, Request { serial: self.serial, operation });
    }

    fn read(&mut self, cx: &Context<Settings>, out: &mut Effects<Cassandra>) {
        self.phase = Phase::Reads;
        self.send(Operation::ReadSlice { row: ROW, from: None, count: u8::MAX }, cx, out);
    }
}

impl Lock for RowProbe {
    type Store = Cassandra;
    type Settings = Settings;

    const SHOWS_CLIENTS: bool = true;

    const HOLDS: bool = false;

    const WORDS: Words = cassandra_tables::WORDS;

    fn new(_me: u8, _settings: &Settings) -> Self {
        RowProbe { phase: Phase::Idle, serial: 0 }
    }

    fn on_call(&mut self, call: Call, cx: &Context<Settings>, out: &mut Effects<Cassandra>) {
        match call {
            Call::Acquire { .. } => {
                let thread = ThreadId(if cx.settings.shared_column { 0 } else { u16::from(cx.me) });
                let mutation = Mutation {
                    row: ROW,
                    target: Target::Column(ColumnName { prefix: Prefix::None, thread }),
                    change: Change::Put {
                        value: Value::Thread(ThreadId(u16::from(cx.me))),
                        ttl_seconds: cx.settings.ttl_seconds,
                    },
                    timestamp: Some(cx.wall),
                };
                self.phase = Phase::Writes;
                self.send(Operation::Write(mutation), cx, out);
                if cx.settings.reads_before_ack {
                    self.read(cx, out);
                }
            }
            Call::Write => unreachable!("no setup has this lock write inside its store"),
            Call::Release => unreachable!("the probe never answers, so nothing is ever released"),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Context<Settings>, out: &mut Effects<Cassandra>) {
        if reply.serial != self.serial {
            return;
        }
        match (self.phase, reply.outcome) {
            (Phase::Writes, Outcome::Applied) => self.read(cx, out),
            (Phase::Reads, Outcome::Slice(columns)) => {
                self.phase = Phase::HasRead;
                // With a shared column a thread recognises its record by nothing but its value.
                let clients = columns.iter().map(|(name, value)| match value {
                    Value::Thread(thread) if cx.settings.shared_column => ClientId(thread.0 as u8),
                    Value::Thread(_) | Value::Number(_) | Value::Time(_) => ClientId(name.thread.0 as u8),
                });
                out.record(Event::RowRead { client: ClientId(cx.me), saw: clients.collect() });
            }
            (Phase::Writes | Phase::Reads, Outcome::TimedOut) => self.phase = Phase::HasRead,
            // A reply that arrives twice, or to what was asked before the process ended.
            (Phase::Idle | Phase::HasRead, _) => {}
            (Phase::Writes, Outcome::Slice(_)) | (Phase::Reads, Outcome::Applied) => {
                unreachable!("one request at a time, and replies are of its kind")
            }
        }
    }

    fn on_deadline(&mut self, _cx: &Context<Settings>, _out: &mut Effects<Cassandra>) {}

    fn on_restart(&mut self, _cx: &Context<Settings>) {
        *self = RowProbe { phase: Phase::HasRead, serial: self.serial };
    }

    fn means(change: &Written, server: u8) -> Option<Event> {
        cassandra_tables::means(change, server)
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        None
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        reply.serial != self.serial || self.phase == Phase::HasRead
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
    }

    fn line(&self) -> Line {
        Line::NONE
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::Writes => "writing its record",
            Phase::Reads => "reading the row",
            Phase::HasRead => "has read",
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.ttl_seconds.map(|seconds| Micros::seconds(i64::from(seconds)))
    }
}
