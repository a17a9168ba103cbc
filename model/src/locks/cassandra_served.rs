//! The Cassandra queue lock with the services that the Cassandra paper puts beside it: the time service of section 5.4, and the
//! lease service that section 6 says is being built.
//!
//! ```text
//!   thread                       Cassandra                       time replica          lease keeper
//!     │── read T ────────────────▶│◀──────────────── read T ─────────│                     │
//!     │◀─ the published time ─────│◀── T = max(local, stored) ───────│ every period        │
//!     │── add Q[time·A], M[A] ───▶│                                                        │
//!     │   every N/2 again ───────▶│◀───────────────────────── read Q, read M ──────────────│ every period
//!     ✗  dies                     │◀── delete what was not renewed for N on its own clock ──│
//! ```
//!
//! A service's process is a client of the store like any other, with a clock of its own, that can crash and pause; nobody
//! asks it for the lock (`Workload::attendants`). The threads are [`CassandraQueue`]s; what they do differently are knobs
//! of that machine: where a column's name and a write's timestamp come from, and who ends a lease.
//!
//! **What it lives on.** The time service: that some replica's clock is past what is published. The lease service: that
//! renewals differ from each other, that a deletion does not reach what was renewed meanwhile, and that a keeper lives.
//!
//! **What breaks it.** Rows C22 and C32 to C34 of `crate::claims`.
//!
//! The authors' own code is public (`skbkontur/cassandra-primitives`, 2015 and after: `TimeServiceCore`,
//! `ExpirationServiceCore`, `NewRemoteLock/WithExpirationService`); what it decides where the document is silent is named
//! at each knob.

mod lease_keeper;
mod settings;
#[cfg(test)]
mod tests;
mod time_replica;

pub use lease_keeper::{
    DELETES as KEEPER_DELETES, LeaseKeeper, READS as KEEPER_READS, SLEEPS as KEEPER_SLEEPS,
};
pub use settings::{Advance, CellStamps, Judges, LeaseService, Settings, TimeService, Tombstones};
pub use time_replica::{
    READS as REPLICA_READS, SLEEPS as REPLICA_SLEEPS, TimeReplica, WRITES as REPLICA_WRITES,
};

use crate::locks::CassandraQueue;
use crate::locks::cassandra_queue::{self, Expiry};
use crate::locks::cassandra_tables;
use crate::machine::{Call, Context, Effects, Line, Lock, Owner, Visitor};
use crate::names::Words;
use crate::stores::cassandra::{Cassandra, Operation, Reply, Request, Written};
use crate::time::{Due, Micros, Monotonic, Wall};
use picklock_properties::Event;
use serde::{Deserialize, Serialize};

/// One process: whose, its number says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CassandraServed {
    /// A client's.
    Thread(CassandraQueue),
    /// A replica of the time service.
    TimeReplica(TimeReplica),
    /// A process of the lease service.
    LeaseKeeper(LeaseKeeper),
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<Cassandra>;

/// What both services know of talking to the store: one request at a time, to one server, and to the next one after a
/// time-out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Caller {
    contact: u8,
    serial: u32,
    /// When the outcome of the request under way becomes unknown, if one is under way.
    awaited: Option<Option<Monotonic>>,
}

impl Caller {
    fn new(me: u8) -> Caller {
        Caller { contact: me, serial: 0, awaited: None }
    }

    fn send(&mut self, operation: Operation, cx: &Cx, out: &mut Out) {
        self.contact %= cx.servers;
        self.serial = self.serial.wrapping_add(1);
        self.awaited = Some(cx.settings.queue.request_timeout.map(|length| cx.monotonic + length));
        out.request(self.contact, Request { serial: self.serial, operation });
    }

    /// Whether this is the reply that is waited for; if so, none is any more.
    fn takes(&mut self, reply: &Reply) -> bool {
        let takes = !self.dismisses(reply);
        if takes {
            self.awaited = None;
        }
        takes
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.awaited.is_none() || reply.serial != self.serial
    }

    fn deadline(&self) -> Option<Monotonic> {
        self.awaited.flatten()
    }

    /// Nobody answered: somebody else is asked next time.
    fn give_up(&mut self) {
        self.awaited = None;
        self.contact = self.contact.wrapping_add(1);
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(Some(until)) = &mut self.awaited {
            visitor.wake(until);
        }
    }
}

/// What the thread is told.
fn of_thread<'a>(cx: &Cx<'a>) -> Context<'a, cassandra_queue::Settings> {
    let &Context { me, servers, wall, monotonic, choice, settings } = cx;
    Context { me, servers, wall, monotonic, choice, settings: &settings.queue }
}

impl Lock for CassandraServed {
    type Store = Cassandra;
    type Settings = Settings;

    const WORDS: Words = cassandra_tables::WORDS;

    fn new(me: u8, settings: &Settings) -> Self {
        match me.checked_sub(settings.threads) {
            None => CassandraServed::Thread(CassandraQueue::new(me, &settings.queue)),
            Some(attendant) if attendant < settings.lease_keepers => {
                CassandraServed::LeaseKeeper(LeaseKeeper::new(me))
            }
            Some(_) => CassandraServed::TimeReplica(TimeReplica::new(me)),
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        match self {
            CassandraServed::Thread(thread) => thread.on_call(call, &of_thread(cx), out),
            CassandraServed::TimeReplica(_) | CassandraServed::LeaseKeeper(_) => {
                unreachable!("nobody asks a service for the lock")
            }
        }
    }

    fn on_reply(&mut self, from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        match self {
            CassandraServed::Thread(thread) => thread.on_reply(from, reply, &of_thread(cx), out),
            CassandraServed::TimeReplica(replica) => replica.on_reply(reply, cx, out),
            CassandraServed::LeaseKeeper(keeper) => keeper.on_reply(reply, cx, out),
        }
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        match self {
            CassandraServed::Thread(thread) => thread.on_deadline(&of_thread(cx), out),
            CassandraServed::TimeReplica(replica) => replica.on_deadline(cx, out),
            CassandraServed::LeaseKeeper(keeper) => keeper.on_deadline(cx, out),
        }
    }

    fn on_restart(&mut self, cx: &Cx) {
        match self {
            CassandraServed::Thread(thread) => thread.on_restart(&of_thread(cx)),
            CassandraServed::TimeReplica(replica) => replica.on_restart(cx),
            CassandraServed::LeaseKeeper(keeper) => keeper.on_restart(cx),
        }
    }

    fn means(change: &Written, server: u8) -> Option<Event> {
        cassandra_tables::means(change, server)
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        match self {
            CassandraServed::Thread(thread) => thread.deadline(&settings.queue),
            CassandraServed::TimeReplica(replica) => replica.deadline().map(Due::Monotonic),
            CassandraServed::LeaseKeeper(keeper) => keeper.deadline().map(Due::Monotonic),
        }
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        match self {
            CassandraServed::Thread(thread) => thread.dismisses(reply),
            CassandraServed::TimeReplica(replica) => replica.dismisses(reply),
            CassandraServed::LeaseKeeper(keeper) => keeper.dismisses(reply),
        }
    }

    fn visit<V: Visitor>(&mut self, settings: &Settings, visitor: &mut V) {
        match self {
            CassandraServed::Thread(thread) => thread.visit(&settings.queue, visitor),
            CassandraServed::TimeReplica(replica) => replica.visit(visitor),
            CassandraServed::LeaseKeeper(keeper) => keeper.visit(settings, visitor),
        }
    }

    fn carries_stamps_over(settings: &Settings, clocks_err: bool) -> bool {
        // What a keeper saw as a value becomes the timestamp of its deletion.
        let keeps = settings.queue.expiry == Expiry::Keeper && settings.leases.tombstones == Tombstones::Seen;
        keeps || CassandraQueue::carries_stamps_over(&settings.queue, clocks_err)
    }

    fn earliest_timestamp(&self, settings: &Settings) -> Option<Wall> {
        match self {
            CassandraServed::Thread(thread) => thread.earliest_timestamp(&settings.queue),
            // The first writes nothing older than its clock but to its own cell, which is never deleted; what the second
            // writes are tombstones, beside which older tombstones make no difference.
            CassandraServed::TimeReplica(_) | CassandraServed::LeaseKeeper(_) => None,
        }
    }

    fn line(&self) -> Line {
        match self {
            CassandraServed::Thread(thread) => thread.line(),
            CassandraServed::TimeReplica(replica) => replica.line(),
            CassandraServed::LeaseKeeper(keeper) => keeper.line(),
        }
    }

    fn doing(&self) -> &'static str {
        match self {
            CassandraServed::Thread(thread) => thread.doing(),
            CassandraServed::TimeReplica(replica) => replica.doing(),
            CassandraServed::LeaseKeeper(keeper) => keeper.doing(),
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        CassandraQueue::lease(&settings.queue)
    }

    fn used_by(settings: &Settings, clients: u8) -> Settings {
        Settings { threads: clients, ..*settings }
    }
}
