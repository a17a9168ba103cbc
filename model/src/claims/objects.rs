//! The spaces in which shared objects are judged: the base that the claims speak of, and how each assumption is dropped from it.
//!
//! The base has time, in ticks of a second: a message takes up to one, so that those of different clients come in any order, and a
//! request counts as lost after three. Clients begin when they like. Nothing is lost, nobody dies.

use super::Assumption;
use super::cassandra::{patient_store, workload};
use crate::cluster::Setup;
use crate::explore::Space;
use crate::machine::Store;
use crate::objects::cells::{
    AsItIs, CassandraReads, Cells, EtcdField, EtcdVersions, InCassandra, InEtcd, InMemory, InRedis,
    InZooKeeper, Reads, ZooKeeperReads,
};
use crate::objects::{Accounts, Handling, Object, Queue, Repeats, Settings, Shared, Stream, Variable};
use crate::objects::{accounts, handler, queue, stream, variable};
use crate::stores::cassandra::CommitLog;
use crate::stores::etcd::{self, History};
use crate::stores::memory;
use crate::stores::redis::{self, Persistence};
use crate::stores::zookeeper::session::SessionSettings;
use crate::stores::zookeeper::{self, Acknowledgements};
use crate::system::System;
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use crate::world::{Bounds, TICK};
use picklock_properties::Promise;

/// A variable in the ideal store.
pub type MemoryVariable = Shared<Variable, InMemory>;
/// A variable in etcd.
pub type EtcdVariable = Shared<Variable, InEtcd>;
/// A variable in Redis.
pub type RedisVariable = Shared<Variable, InRedis>;
/// A variable in ZooKeeper.
pub type ZooKeeperVariable = Shared<Variable, InZooKeeper>;
/// A variable in Cassandra.
pub type CassandraVariable = Shared<Variable, InCassandra>;
/// Accounts in two ideal stores.
pub type MemoryAccounts = Shared<Accounts, InMemory>;
/// A queue in the ideal store.
pub type MemoryQueue = Shared<Queue, InMemory>;
/// A stream handler, with its counter in a store of its own.
pub type MemoryHandler = Shared<Handling, InMemory>;
/// Stream handlers over a queue, in the ideal store.
pub type MemoryStream = Shared<Stream, InMemory>;

/// How requests are repeated in small models: as often as anything can be lost, and more.
fn settings<O, C>(object: O, cells: C) -> Settings<O, C> {
    Settings { object, cells, repeats: Repeats::Times(9), timeout: Micros(3 * TICK.0), poll_interval: TICK }
}

fn space<O: Object, C: Cells>(
    lock: Settings<O::Settings, C::Settings>,
    store: <C::Store as Store>::Settings,
    servers: u8,
    (clients, rounds): (u8, u8),
    promises: &[Promise],
) -> Space<Shared<O, C>> {
    Space {
        setup: Setup {
            lock,
            store,
            servers,
            workload: Workload { rounds, ..workload(clients, Calls::Lock) },
            promises: promises.iter().copied().collect(),
        },
        bounds: Bounds {
            latency_ticks: Some(1),
            unhurried: true,
            crashes_restart: true,
            ..Bounds::default()
        },
    }
}

/// A variable with compare-and-set by value, as the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real
/// time*, makes it of one by version.
pub fn variable(clients: u8, rounds: u8, promises: &[Promise]) -> Space<MemoryVariable> {
    let lock = settings(variable::Settings::default(), AsItIs {});
    space(lock, memory::Settings::default(), 1, (clients, rounds), promises)
}

/// An object as it is by default, in etcd on one member, where this field of a key tells versions apart.
pub fn in_etcd<O: Object>(by: EtcdField, size: (u8, u8), promises: &[Promise]) -> Space<Shared<O, InEtcd>> {
    let lock = settings(O::Settings::default(), EtcdVersions { by });
    let store = etcd::Settings { history: History::WhileUnderWay, ..etcd::Settings::default() };
    space(lock, store, 1, size, promises)
}

/// The same, in so many independent masters of Redis that lose nothing.
pub fn in_redis<O: Object>(servers: u8, size: (u8, u8), promises: &[Promise]) -> Space<Shared<O, InRedis>> {
    let lock = settings(O::Settings::default(), AsItIs {});
    let store = redis::Settings { persistence: Persistence::AofAlways, ..redis::Settings::default() };
    space(lock, store, servers, size, promises)
}

/// The same, in ZooKeeper with so many servers. Sessions do not end; followers lag behind as they like.
pub fn in_zookeeper<O: Object>(
    servers: u8,
    sync_before_read: bool,
    size: (u8, u8),
    promises: &[Promise],
) -> Space<Shared<O, InZooKeeper>> {
    let session = SessionSettings { timeout: None, reconnect_delay: TICK, judges_itself: false };
    let lock = settings(O::Settings::default(), ZooKeeperReads { sync_before_read, session });
    let acknowledgements = if servers == 1 { Acknowledgements::Awaited } else { Acknowledgements::Assumed };
    let store =
        zookeeper::Settings { acknowledgements, starts_empty: true, ..zookeeper::Settings::default() };
    space(lock, store, servers, size, promises)
}

/// The same, in Cassandra with so many replicas, each of which coordinates.
pub fn in_cassandra<O: Object>(
    servers: u8,
    reads: Reads,
    size: (u8, u8),
    promises: &[Promise],
) -> Space<Shared<O, InCassandra>> {
    let lock = settings(O::Settings::default(), CassandraReads { reads });
    space(lock, patient_store(), servers, size, promises)
}

/// A variable in etcd, on one member, by this field of a key.
pub fn etcd_variable(clients: u8, rounds: u8, by: EtcdField, promises: &[Promise]) -> Space<EtcdVariable> {
    in_etcd(by, (clients, rounds), promises)
}

/// Accounts in two stores: the first client puts money in, moves some of it, and counts it in its last round; all others look on.
pub fn accounts(clients: u8, rounds: u8, promises: &[Promise]) -> Space<MemoryAccounts> {
    let lock = settings(accounts::Settings::default(), AsItIs {});
    space(lock, memory::Settings::default(), 2, (clients, rounds), promises)
}

/// A queue, of which the last client reads one position after the other.
pub fn queue(clients: u8, rounds: u8, promises: &[Promise]) -> Space<MemoryQueue> {
    let lock = settings(queue::Settings::default(), AsItIs {});
    space(lock, memory::Settings::default(), 1, (clients, rounds), promises)
}

/// Stream handlers with three numbers in two streams; its counter is in another store.
pub fn handler(clients: u8, rounds: u8, promises: &[Promise]) -> Space<MemoryHandler> {
    let lock = settings(handler::Settings::default(), AsItIs {});
    space(lock, memory::Settings::default(), 2, (clients, rounds), promises)
}

/// Clients that push numbers into a queue, and so many, the last ones, that handle them; its counter is in another store.
pub fn stream(clients: u8, rounds: u8, handlers: u8, promises: &[Promise]) -> Space<MemoryStream> {
    let lock = settings(stream::Settings { handlers, ..stream::Settings::default() }, AsItIs {});
    space(lock, memory::Settings::default(), 2, (clients, rounds), promises)
}

/// The same for seeded runs: clients that think for a second before each operation, and take a request for lost after another.
pub fn in_time<Y, O, C>(space: Space<Y>) -> Setup<Y>
where
    Y: System<Settings = Settings<O, C>>,
    O: Clone,
    C: Clone,
{
    let lock = Settings {
        timeout: Micros::seconds(1),
        poll_interval: Micros::millis(500),
        ..space.setup.lock.clone()
    };
    let workload = Workload { think: Micros::seconds(1), ..space.setup.workload };
    Setup { lock, workload, ..space.setup }
}

/// Drops an assumption of the claims about objects. Several may be dropped, one after the other.
pub fn drop_from_objects(bounds: &mut Bounds, assumption: Assumption) {
    match assumption {
        Assumption::NoLoss => bounds.losses = 1,
        Assumption::NoDuplicate => bounds.duplicates = 1,
        Assumption::NoCrash => bounds.crashes = 1,
        Assumption::NoPause | Assumption::NoSuspend => {
            bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            bounds.pauses = 1;
            bounds.pause_ticks = 5;
        }
        // None of these means anything to them: they look at no clock but for their patience.
        Assumption::UniqueIds
        | Assumption::NoClockStep
        | Assumption::NoClockFreeze
        | Assumption::ClocksAgree
        | Assumption::NoExpiry
        | Assumption::Durable
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::FreeAtStart
        | Assumption::StopsInTime
        | Assumption::NoServerClockStep
        | Assumption::BoundedDrift
        | Assumption::MajorityUp
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver => {}
    }
}

/// How an assumption is dropped that a store makes: what it may lose, and what it takes to get over it.
pub type DropInStore<C> =
    fn(&mut Bounds, &mut <C as Cells>::Settings, &mut <<C as Cells>::Store as Store>::Settings, Assumption);

/// The same of an object in any store.
pub fn drop_from_object<O: Object, C: Cells>(
    space: &mut Space<Shared<O, C>>,
    assumption: Assumption,
    in_store: DropInStore<C>,
) {
    drop_from_objects(&mut space.bounds, assumption);
    in_store(&mut space.bounds, &mut space.setup.lock.cells, &mut space.setup.store, assumption);
}

/// Nothing can be dropped from the ideal store: it loses nothing.
pub fn in_ideal_store<C, S>(_bounds: &mut Bounds, _cells: &mut C, _store: &mut S, _assumption: Assumption) {}

/// etcd acknowledges before it syncs (`--unsafe-no-fsync`).
pub fn of_etcd(
    bounds: &mut Bounds,
    _cells: &mut EtcdVersions,
    store: &mut etcd::Settings,
    assumption: Assumption,
) {
    if assumption == Assumption::Durable {
        store.log = etcd::Log::Unsynced;
        bounds.power_losses = 1;
    }
}

/// Redis keeps nothing on its disk.
pub fn of_redis(
    bounds: &mut Bounds,
    _cells: &mut AsItIs,
    store: &mut redis::Settings,
    assumption: Assumption,
) {
    if assumption == Assumption::Durable {
        store.persistence = Persistence::None;
        bounds.power_losses = 1;
    }
}

/// Cassandra writes to its disk now and then.
pub fn of_cassandra(
    bounds: &mut Bounds,
    _cells: &mut CassandraReads,
    store: &mut crate::stores::cassandra::Settings,
    assumption: Assumption,
) {
    if assumption == Assumption::Durable {
        store.commit_log = CommitLog::LOST_WITH_POWER;
        bounds.power_losses = 1;
    }
}

/// A connection that has lost a message is found out by its silence, and silence is measured: sessions may end. Long ones, for
/// messages take up to a tick.
pub fn of_zookeeper(
    bounds: &mut Bounds,
    cells: &mut ZooKeeperReads,
    store: &mut zookeeper::Settings,
    assumption: Assumption,
) {
    match assumption {
        Assumption::NoLoss
        | Assumption::NoDuplicate
        | Assumption::NoExpiry
        | Assumption::NoPause
        | Assumption::NoSuspend => {
            cells.session.timeout = Some(Micros(9 * TICK.0));
        }
        Assumption::Durable => {
            cells.session.timeout = Some(Micros(9 * TICK.0));
            store.log = zookeeper::Log::Unsynced;
            bounds.power_losses = 1;
        }
        _ => {}
    }
}
