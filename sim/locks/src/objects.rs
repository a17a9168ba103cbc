//! The shared objects of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*.

use picklock_engine::registry::{AnyLock, CheckOptions, Registered};
use picklock_model::claims::objects as spaces;
use picklock_model::claims::objects::{
    CassandraVariable, EtcdVariable, MemoryAccounts, MemoryHandler, MemoryQueue, MemoryStream,
    MemoryVariable, RedisVariable, ZooKeeperVariable, in_time,
};
use picklock_model::claims::zookeeper::ELECTION;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::objects::accounts::Intents;
use picklock_model::objects::cells::{Cells, EtcdField, Reads};
use picklock_model::objects::content::Marks;
use picklock_model::objects::handler::Commit;
use picklock_model::objects::queue::{Order, Wanted};
use picklock_model::objects::{Object, Shared, Variable};
use picklock_model::stores::cassandra;
use picklock_model::stores::redis::Persistence;
use picklock_model::stores::zookeeper::session::SessionSettings;
use picklock_model::stores::zookeeper::{self, Acknowledgements};
use picklock_model::system::System;
use picklock_properties::Promise;

const LINEARIZABLE: &[Promise] = &[Promise::Linearizable];

/// The objects, in the order of the tables.
pub(crate) fn objects() -> Vec<Box<dyn AnyLock>> {
    vec![
        registered(
            "cas-variable",
            "an object: a variable with compare-and-set by value, made of one by version (the exactly-once article, \"CAS\")",
            || in_time(variable(3, 3, Marks::None)),
            |options| asked(variable(options.clients, options.rounds, Marks::None), options),
        ),
        registered(
            "cas-variable-marked",
            "the same, where each client's last change can be told from what is there",
            || in_time(variable(3, 3, Marks::EachClient)),
            |options| asked(variable(options.clients, options.rounds, Marks::EachClient), options),
        ),
        registered(
            "etcd-variable",
            "the same as written, in etcd and with deletes, compared by VERSION",
            || in_time(etcd_variable(3, 3, EtcdField::Version)),
            |options| {
                let space = etcd_variable(options.clients, options.rounds, EtcdField::Version);
                asked_of(space, options, spaces::of_etcd)
            },
        ),
        registered(
            "etcd-variable-mod",
            "the same, compared by MOD",
            || in_time(etcd_variable(3, 3, EtcdField::ModRevision)),
            |options| {
                let space = etcd_variable(options.clients, options.rounds, EtcdField::ModRevision);
                asked_of(space, options, spaces::of_etcd)
            },
        ),
        registered(
            "redis-variable",
            "the same as written, in Redis as it comes, by a script that compares what is there",
            || redis_in_time(Marks::None, Persistence::Rdb),
            |options| asked_of(redis_variable(options, Marks::None), options, spaces::of_redis),
        ),
        registered(
            "redis-variable-marked",
            "the same with marks, in Redis that syncs each write to its disk",
            || redis_in_time(Marks::EachClient, Persistence::AofAlways),
            |options| asked_of(redis_variable(options, Marks::EachClient), options, spaces::of_redis),
        ),
        checked_alone(
            "zookeeper-variable",
            "the same as written, in ZooKeeper: setData of a version, and reads from whatever server the client has",
            || zookeeper_in_time(Marks::None, false),
            |options| {
                asked_of(zookeeper_variable(options, Marks::None, false), options, spaces::of_zookeeper)
            },
        ),
        checked_alone(
            "zookeeper-variable-synced",
            "the same with marks and a sync before each read",
            || zookeeper_in_time(Marks::EachClient, true),
            |options| {
                asked_of(zookeeper_variable(options, Marks::EachClient, true), options, spaces::of_zookeeper)
            },
        ),
        checked_alone(
            "cassandra-variable",
            "the same as written, in Cassandra: lightweight transactions, and reads at QUORUM",
            || cassandra_in_time(Marks::None, Reads::Plain),
            |options| {
                asked_of(
                    cassandra_variable(options, Marks::None, Reads::Plain),
                    options,
                    spaces::of_cassandra,
                )
            },
        ),
        checked_alone(
            "cassandra-variable-quorum",
            "the same with marks",
            || cassandra_in_time(Marks::EachClient, Reads::Plain),
            |options| {
                let space = cassandra_variable(options, Marks::EachClient, Reads::Plain);
                asked_of(space, options, spaces::of_cassandra)
            },
        ),
        checked_alone(
            "cassandra-variable-serial",
            "the same with marks, and reads that are serial",
            || cassandra_in_time(Marks::EachClient, Reads::Serial),
            |options| {
                asked_of(
                    cassandra_variable(options, Marks::EachClient, Reads::Serial),
                    options,
                    spaces::of_cassandra,
                )
            },
        ),
        checked_with_rounds(
            3,
            "transfer",
            "an object: money moved between two stores in two half-transactions (the exactly-once article, \"Example\")",
            || in_time(accounts(2, 6, false)),
            |options| asked(accounts(options.clients, options.rounds, false), options),
        ),
        checked_with_rounds(
            3,
            "transfer-logged",
            "the same, with the operation's mark on each account and the intent written down before",
            || in_time(accounts(2, 6, true)),
            |options| asked(accounts(options.clients, options.rounds, true), options),
        ),
        registered(
            "naive-queue",
            "an object: a queue whose index is raised first (the exactly-once article, \"A queue that is, as it were, lock-free\")",
            || in_time(queue(3, 5, Order::IndexFirst, Marks::None)),
            |options| asked(queue(options.clients, options.rounds, Order::IndexFirst, Marks::None), options),
        ),
        registered(
            "naive-queue-waiting",
            "the same, whose readers wait for an item that the index promises",
            || in_time(waiting(3, 5)),
            |options| asked(waiting(options.clients, options.rounds), options),
        ),
        registered(
            "lock-free-queue",
            "a queue whose item is written first (the exactly-once article, its section on adding without locks)",
            || in_time(queue(3, 5, Order::ItemFirst, Marks::None)),
            |options| asked(queue(options.clients, options.rounds, Order::ItemFirst, Marks::None), options),
        ),
        registered(
            "lock-free-queue-marked",
            "the same, with the pusher's mark beside the item",
            || in_time(queue(3, 5, Order::ItemFirst, Marks::Last)),
            |options| asked(queue(options.clients, options.rounds, Order::ItemFirst, Marks::Last), options),
        ),
        registered(
            "lock-free-queue-index",
            "the same; its reader asks for the index, which is never to fall",
            || in_time(indexed(3, 5)),
            |options| asked(indexed(options.clients, options.rounds), options),
        ),
        registered(
            "naive-handler",
            "an object: a handler of three numbers in two streams that saves after each effect (the exactly-once article, the first listing)",
            || in_time(handler(2, 4, Commit::Apart)),
            |options| asked(handler(options.clients, options.rounds, Commit::Apart), options),
        ),
        registered(
            "handler",
            "an object: the same handler, twice at once, that decides in one compare-and-set what the next number is, before its effects",
            || in_time(handler(2, 4, Commit::AtOnce)),
            |options| asked(handler(options.clients, options.rounds, Commit::AtOnce), options),
        ),
        registered(
            "naive-stream",
            "an object: the naive handler, fed by a lock-free queue: the last client handles what the others push",
            || in_time(stream(3, 4, 1, Commit::Apart)),
            |options| asked(stream(options.clients, options.rounds, 1, Commit::Apart), options),
        ),
        // Two handlers, and somebody who pushes.
        Box::new(
            object(
                "stream",
                "the other handler, fed by it: the last two clients handle at once what the others push",
                || in_time(stream(4, 4, 2, Commit::AtOnce)),
                |options| asked(stream(options.clients, options.rounds, 2, Commit::AtOnce), options),
            )
            .checked_with_clients(3),
        ),
    ]
}

fn variable(clients: u8, rounds: u8, marks: Marks) -> Space<MemoryVariable> {
    let mut space = spaces::variable(clients, rounds, LINEARIZABLE);
    space.setup.lock.object.marks = marks;
    space
}

fn etcd_variable(clients: u8, rounds: u8, by: EtcdField) -> Space<EtcdVariable> {
    let mut space = spaces::etcd_variable(clients, rounds, by, LINEARIZABLE);
    (space.setup.lock.object.deletes, space.setup.lock.object.values) = (true, 1);
    space
}

fn redis_variable(options: &CheckOptions, marks: Marks) -> Space<RedisVariable> {
    let mut space =
        spaces::in_redis::<Variable>(options.servers, (options.clients, options.rounds), LINEARIZABLE);
    space.setup.lock.object.marks = marks;
    space
}

fn redis_in_time(marks: Marks, persistence: Persistence) -> Setup<RedisVariable> {
    let mut setup = in_time(spaces::in_redis::<Variable>(1, (3, 3), LINEARIZABLE));
    setup.lock.object.marks = marks;
    setup.store.persistence = persistence;
    setup
}

fn zookeeper_variable(options: &CheckOptions, marks: Marks, sync: bool) -> Space<ZooKeeperVariable> {
    let mut space = spaces::in_zookeeper::<Variable>(
        options.servers,
        sync,
        (options.clients, options.rounds),
        LINEARIZABLE,
    );
    space.setup.lock.object.marks = marks;
    space
}

/// Three servers that elect a leader, and sessions that end.
fn zookeeper_in_time(marks: Marks, sync: bool) -> Setup<ZooKeeperVariable> {
    let mut setup = in_time(spaces::in_zookeeper::<Variable>(3, sync, (3, 3), LINEARIZABLE));
    setup.lock.object.marks = marks;
    setup.lock.cells.session = SessionSettings::DEFAULT;
    setup.store = zookeeper::Settings {
        acknowledgements: Acknowledgements::Awaited,
        election: Some(ELECTION),
        ..setup.store
    };
    setup
}

fn cassandra_variable(options: &CheckOptions, marks: Marks, reads: Reads) -> Space<CassandraVariable> {
    let mut space = spaces::in_cassandra::<Variable>(
        options.servers,
        reads,
        (options.clients, options.rounds),
        LINEARIZABLE,
    );
    space.setup.lock.object.marks = marks;
    space
}

/// Three replicas, whose coordinators do not wait for ever.
fn cassandra_in_time(marks: Marks, reads: Reads) -> Setup<CassandraVariable> {
    let mut setup = in_time(spaces::in_cassandra::<Variable>(3, reads, (3, 3), LINEARIZABLE));
    setup.lock.object.marks = marks;
    setup.store = cassandra::Settings::default();
    setup
}

fn accounts(clients: u8, rounds: u8, is_logged: bool) -> Space<MemoryAccounts> {
    let mut space = spaces::accounts(clients, rounds, &[Promise::Conservation]);
    if is_logged {
        (space.setup.lock.object.marks, space.setup.lock.object.intents) =
            (Marks::Last, Intents::CompareAndSet);
    }
    space
}

/// Readers that do not wait: a place that they find empty is one.
fn queue(clients: u8, rounds: u8, order: Order, marks: Marks) -> Space<MemoryQueue> {
    let promises = [
        Promise::Linearizable,
        Promise::NoHole,
        Promise::NoOverwrite,
        Promise::NoDuplicate,
        Promise::DeadlockFreedom,
    ];
    let mut space = spaces::queue(clients, rounds, &promises);
    let object = &mut space.setup.lock.object;
    (object.order, object.marks, object.readers_wait) = (order, marks, false);
    space
}

/// Of these it is asked what the index does.
fn indexed(clients: u8, rounds: u8) -> Space<MemoryQueue> {
    let promises = [Promise::Linearizable, Promise::IndexNeverFalls, Promise::DeadlockFreedom];
    let mut space = spaces::queue(clients, rounds, &promises);
    let object = &mut space.setup.lock.object;
    (object.marks, object.readers_ask) = (Marks::Last, Wanted::Index);
    space
}

/// Who waits at a hole tells nobody of it: of these it is asked whether they come to an end.
fn waiting(clients: u8, rounds: u8) -> Space<MemoryQueue> {
    let promises =
        [Promise::Linearizable, Promise::NoOverwrite, Promise::NoDuplicate, Promise::DeadlockFreedom];
    let mut space = spaces::queue(clients, rounds, &promises);
    space.setup.lock.object.order = Order::IndexFirst;
    space
}

fn handler(clients: u8, rounds: u8, commit: Commit) -> Space<MemoryHandler> {
    let mut space = spaces::handler(clients, rounds, &[Promise::ExactlyOnce]);
    space.setup.lock.object.commit = commit;
    space
}

/// Pushers whose items can be told apart.
fn stream(clients: u8, rounds: u8, handlers: u8, commit: Commit) -> Space<MemoryStream> {
    let mut space = spaces::stream(clients, rounds, handlers, &[Promise::ExactlyOnce]);
    let object = &mut space.setup.lock.object;
    (object.handler.commit, object.queue.marks) = (commit, Marks::Last);
    space
}

fn registered<Y: System>(
    name: &'static str,
    summary: &'static str,
    setup: fn() -> Setup<Y>,
    space: fn(&CheckOptions) -> Space<Y>,
) -> Box<dyn AnyLock> {
    Box::new(object(name, summary, setup, space))
}

/// One of which `check` explores so many operations of each client: fewer do not come to what it is there for.
fn checked_with_rounds<Y: System>(
    rounds: u8,
    name: &'static str,
    summary: &'static str,
    setup: fn() -> Setup<Y>,
    space: fn(&CheckOptions) -> Space<Y>,
) -> Box<dyn AnyLock> {
    Box::new(object(name, summary, setup, space).checked_with_rounds(rounds))
}

/// One of which `check` explores the simplest store, of one server.
fn checked_alone<Y: System>(
    name: &'static str,
    summary: &'static str,
    setup: fn() -> Setup<Y>,
    space: fn(&CheckOptions) -> Space<Y>,
) -> Box<dyn AnyLock> {
    Box::new(object(name, summary, setup, space).checked_with_servers(1))
}

fn object<Y: System>(
    name: &'static str,
    summary: &'static str,
    setup: fn() -> Setup<Y>,
    space: fn(&CheckOptions) -> Space<Y>,
) -> Registered<Y> {
    Registered { is_lock: false, ..Registered::new(name, summary, setup).checked_in(space) }
}

/// The space that a caller asked for, of an object of which nothing can be dropped but in its surroundings.
fn asked<O: Object, C: Cells>(space: Space<Shared<O, C>>, options: &CheckOptions) -> Space<Shared<O, C>> {
    asked_of(space, options, spaces::in_ideal_store)
}

/// The same, in a store of which something can be dropped, too.
fn asked_of<O: Object, C: Cells>(
    mut space: Space<Shared<O, C>>,
    options: &CheckOptions,
    in_store: spaces::DropInStore<C>,
) -> Space<Shared<O, C>> {
    space.setup.servers = options.servers;
    if !options.promises.is_empty() {
        space.setup.promises = options.promises;
    }
    options.drop.iter().for_each(|assumption| spaces::drop_from_object(&mut space, *assumption, in_store));
    space
}
