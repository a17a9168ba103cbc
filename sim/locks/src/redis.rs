//! The locks of the Redlock article, *Distributed Locks with Redis*.

use crate::waits_in_vain;
use picklock_engine::registry::{
    AnyLock, CLIENTS, CheckOptions, ROUNDS, Registered, with_holds_of_any_length,
};
use picklock_model::claims::{Assumption, redis as spaces};
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::redis_single::{self, Fencing};
use picklock_model::locks::redlock;
use picklock_model::locks::{RedisReadersWriter, RedisSemaphore, RedisSingle, Redlock};
use picklock_model::locks::{redis_readers_writer, redis_semaphore};
use picklock_model::stores::redis::{self as store, Layout, Persistence};
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_model::world::TICK;
use picklock_properties::{Promise, PromiseSet};

/// The locks, in the order of the tables.
pub(crate) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<RedisSingle> {
            name: "redis-single",
            summary: "SET NX PX on one Redis, released by script (the Redlock article, \"one instance\")",
            default_settings: redis_single::Settings::as_written(),
            setup: || single(redis_single::Settings::as_written(), 1),
            space: Some(|options| {
                single_space(options, redis_single::Settings::as_written(), Layout::Independent)
            }),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<RedisSingle> {
            name: "redis-single-fenced",
            summary: "the same, with a fencing token from the script that takes the lock, and a client that minds its lease",
            default_settings: redis_single::Settings::repaired(),
            setup: || single(redis_single::Settings::repaired(), 1),
            space: Some(|options| {
                single_space(options, redis_single::Settings::repaired(), Layout::Independent)
            }),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<RedisSingle> {
            name: "redis-failover",
            summary: "SET NX PX on a master with an asynchronous replica that is promoted (the Redlock article, why not)",
            default_settings: redis_single::Settings::as_written(),
            setup: || single(redis_single::Settings::as_written(), 2),
            space: Some(|options| {
                single_space(options, redis_single::Settings::as_written(), spaces::FAILOVER)
            }),
            servers: 2,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<RedisSingle> {
            name: "redis-failover-fenced",
            summary: "the same, with a fencing token from the script that takes the lock, and a client that minds its lease",
            default_settings: redis_single::Settings::repaired(),
            setup: || single(redis_single::Settings::repaired(), 2),
            space: Some(|options| {
                single_space(options, redis_single::Settings::repaired(), spaces::FAILOVER)
            }),
            servers: 2,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<Redlock> {
            name: "redlock",
            summary: "Redlock as written, on independent masters (the Redlock article, \"the algorithm\")",
            default_settings: redlock::Settings::as_written(),
            setup: || many(redlock::Settings::as_written()),
            space: Some(|options| many_space(options, false)),
            servers: 3,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<Redlock> {
            name: "redlock-fenced",
            summary: "the same, with the largest of the quorum's counters as fencing token",
            default_settings: redlock::Settings { fencing: true, ..redlock::Settings::as_written() },
            setup: || many(redlock::Settings { fencing: true, ..redlock::Settings::as_written() }),
            space: Some(|options| many_space(options, true)),
            servers: 3,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        readers_writer(
            "redis-readers-writer",
            "readers counted in one key with one lease, a writer when the count is 0 (the textbooks' lock on one Redis)",
            redis_readers_writer::Settings::counted(),
            || shared(redis_readers_writer::Settings::counted()),
            |options| shared_space(options, redis_readers_writer::Settings::counted()),
        ),
        readers_writer(
            "redis-readers-writer-repaired",
            "an entry with a lease for each reader (Redisson's RReadWriteLock), and no reader overtakes a writer",
            redis_readers_writer::Settings::repaired(),
            || shared(redis_readers_writer::Settings::repaired()),
            |options| shared_space(options, redis_readers_writer::Settings::repaired()),
        ),
        semaphore(
            "redis-semaphore",
            "two permits, by rank in a set ordered by the clients' clocks (\"Redis in Action\", 6.3.1)",
            redis_semaphore::Settings::basic(),
            || permits(redis_semaphore::Settings::basic()),
            |options| permits_space(options, redis_semaphore::Settings::basic()),
        ),
        semaphore(
            "redis-semaphore-fair",
            "two permits, by rank in a set ordered by a counter (\"Redis in Action\", 6.3.2)",
            redis_semaphore::Settings::fair(),
            || permits(redis_semaphore::Settings::fair()),
            |options| permits_space(options, redis_semaphore::Settings::fair()),
        ),
        semaphore(
            "redis-semaphore-repaired",
            "two permits, by a script that counts who is there (\"Redis in Action\", 11.2.3) by the server's clock",
            redis_semaphore::Settings::repaired(),
            || permits(redis_semaphore::Settings::repaired()),
            |options| permits_space(options, redis_semaphore::Settings::repaired()),
        ),
    ]
}

fn readers_writer(
    name: &'static str,
    summary: &'static str,
    default_settings: redis_readers_writer::Settings,
    setup: fn() -> Setup<RedisReadersWriter>,
    space: fn(&CheckOptions) -> Space<RedisReadersWriter>,
) -> Box<dyn AnyLock> {
    let (servers, is_lock, varies) = (1, true, true);
    Box::new(Registered {
        name,
        summary,
        default_settings,
        setup,
        space: Some(space),
        servers,
        clients: CLIENTS,
        rounds: ROUNDS,
        is_lock,
        varies,
    })
}

fn semaphore(
    name: &'static str,
    summary: &'static str,
    default_settings: redis_semaphore::Settings,
    setup: fn() -> Setup<RedisSemaphore>,
    space: fn(&CheckOptions) -> Space<RedisSemaphore>,
) -> Box<dyn AnyLock> {
    let (servers, is_lock, varies) = (1, true, true);
    Box::new(Registered {
        name,
        summary,
        default_settings,
        setup,
        space: Some(space),
        servers,
        // Fewer are in nobody's way.
        clients: default_settings.permits + 1,
        rounds: ROUNDS,
        is_lock,
        varies,
    })
}

/// Three clients, of whose calls one in three is a writer's.
fn shared(lock: redis_readers_writer::Settings) -> Setup<RedisReadersWriter> {
    let access = AccessChoice::Drawn { seed: 0, weights: [1, 2, 0, 0, 0, 0, 0, 0] };
    Setup {
        lock,
        store: default_store(Layout::Independent),
        servers: 1,
        workload: Workload { clients: 3, access, ..workload(false) },
        promises: PromiseSet::usual(),
    }
}

/// One client more than there are permits.
fn permits(lock: redis_semaphore::Settings) -> Setup<RedisSemaphore> {
    Setup {
        lock,
        store: default_store(Layout::Independent),
        servers: 1,
        workload: Workload { clients: lock.permits + 1, ..workload(false) },
        promises: PromiseSet::usual(),
    }
}

/// Two clients that each take the lock four times for a third of its lifetime: the document asks for work that fits into
/// it.
fn workload(checks: bool) -> Workload {
    Workload {
        clients: 2,
        rounds: 4,
        retries: false,
        calls: Calls::Lock,
        access: AccessChoice::First,
        think: Micros::seconds(2),
        hold: Micros::seconds(3),
        releases: true,
        writes: Writes::Resource,
        resource_checks: checks,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    }
}

/// Redis with its AOF as Redis sets it up by default: written at once, on disk within a second.
fn default_store(layout: Layout) -> store::Settings {
    store::Settings { layout, persistence: Persistence::AofEverySecond, ..store::Settings::default() }
}

/// One instance; with more servers, a master and its replicas.
fn single(lock: redis_single::Settings, servers: u8) -> Setup<RedisSingle> {
    let layout = if servers == 1 { Layout::Independent } else { spaces::FAILOVER };
    let checks = lock.fencing != Fencing::None;
    // Who does not look at its lease must have work that fits into it.
    let work_fits = lock.validity_margin.is_none();
    Setup {
        lock,
        store: default_store(layout),
        servers,
        workload: Workload { work_fits, ..workload(checks) },
        promises: PromiseSet::usual(),
    }
}

/// Five independent masters: the Redlock article, "a reasonable value".
fn many(lock: redlock::Settings) -> Setup<Redlock> {
    let store = default_store(Layout::Independent);
    Setup { lock, store, servers: 5, workload: workload(lock.fencing), promises: PromiseSet::usual() }
}

fn watched(options: &CheckOptions) -> PromiseSet {
    match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    }
}

fn calls(options: &CheckOptions) -> Calls {
    if options.try_lock { Calls::TryLock } else { Calls::Lock }
}

fn adapt(workload: &mut Workload, options: &CheckOptions, checks: bool) {
    workload.rounds = options.rounds;
    let writes = Writes::judged_by(options.promises);
    workload.writes = writes;
    workload.resource_checks = writes != Writes::None && checks;
}

/// How long a client waits at least for an answer that may never come.
fn patience<Y: System>(space: &Space<Y>) -> Option<Micros> {
    waits_in_vain(space).then_some(Micros(2 * TICK.0))
}

fn single_space(
    options: &CheckOptions,
    redis_single::Settings { fencing, validity_margin, .. }: redis_single::Settings,
    layout: Layout,
) -> Space<RedisSingle> {
    let mut space = spaces::redis_single(options.clients, calls(options), &[]);
    space.setup.servers = options.servers;
    space.setup.store.layout = layout;
    space.setup.promises = watched(options);
    space.setup.lock.fencing = fencing;
    adapt(&mut space.setup.workload, options, fencing != Fencing::None);
    options.drop.iter().for_each(|assumption| spaces::drop_from_redis_single(&mut space, *assumption));
    space.setup.lock.request_timeout = space.setup.lock.request_timeout.or(patience(&space));
    if validity_margin.is_some() || options.drop.contains(&Assumption::StopsInTime) {
        return with_holds_of_any_length(space);
    }
    // As in seeded runs: it does not look at its lease, and must have work that fits into it.
    space.setup.lock.validity_margin = None;
    space.setup.workload.hold = TICK;
    space
}

fn many_space(options: &CheckOptions, fencing: bool) -> Space<Redlock> {
    let mut space = spaces::redlock(options.clients, options.servers, calls(options), &[]);
    space.setup.promises = watched(options);
    space.setup.lock.fencing = fencing;
    adapt(&mut space.setup.workload, options, fencing);
    options.drop.iter().for_each(|assumption| spaces::drop_from_redlock(&mut space, *assumption));
    with_holds_of_any_length(space)
}

fn shared_space(options: &CheckOptions, lock: redis_readers_writer::Settings) -> Space<RedisReadersWriter> {
    let mut space = spaces::readers_writer(lock, options.clients, calls(options), &[]);
    space.setup.promises = watched(options);
    adapt(&mut space.setup.workload, options, false);
    options.drop.iter().for_each(|assumption| spaces::drop_from_readers_writer(&mut space, *assumption));
    space.setup.lock.request_timeout = space.setup.lock.request_timeout.or(patience(&space));
    with_holds_of_any_length(space)
}

fn permits_space(options: &CheckOptions, lock: redis_semaphore::Settings) -> Space<RedisSemaphore> {
    let mut space = spaces::semaphore(lock, options.clients, calls(options), &[]);
    space.setup.promises = watched(options);
    adapt(&mut space.setup.workload, options, false);
    options.drop.iter().for_each(|assumption| spaces::drop_from_semaphore(&mut space, *assumption));
    space.setup.lock.request_timeout = space.setup.lock.request_timeout.or(patience(&space));
    with_holds_of_any_length(space)
}
