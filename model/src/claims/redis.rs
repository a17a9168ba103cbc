//! The spaces in which the Redis locks are judged: the base that the claims speak of, and how each assumption is dropped
//! from it.
//!
//! Time is ticks of a second. A key that gets [`TTL`] in one tick is dead four ticks later, and not a moment before; a
//! client takes its lock for over two ticks after it began to ask ([`DRIFT_MARGIN`]): one tick for a clock that has drifted
//! by so much, and one because two things within a tick come in any order.

use super::Assumption;
use super::cassandra::workload;
use super::surroundings::majority_down;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::redis_readers_writer::{self, READ, RedisReadersWriter, WRITE};
use crate::locks::redis_semaphore::{self, RedisSemaphore};
use crate::locks::redis_single::{self, RedisSingle};
use crate::locks::redlock::{self, Redlock};
use crate::stores::redis::{self as store, Layout, Persistence, Tenant, TenantDoes};
use crate::time::Micros;
use crate::workload::{AccessChoice, Calls, Workload};
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// The lifetime of keys in small models: the server counts in whole milliseconds, and the last of them counts.
pub const TTL: Micros = Micros::millis(3999);

/// How much earlier than its keys a client takes its lock for over.
pub const DRIFT_MARGIN: Micros = Micros::millis(1999);

/// How long a pause, or a step of a clock, must be to outlast every key: a tick longer than the lifetime.
pub const LONG_TICKS: u8 = 5;

/// A master that pings twice a second, and replicas that take it for dead after two (Sentinel: every second, and thirty):
/// soon enough for a failover while somebody holds.
pub const FAILOVER: Layout =
    Layout::Replicated { ping_period: Micros::millis(500), down_after: Micros::seconds(2) };

/// Redlock as written, on independent nodes that lose nothing, with clocks that drift by less than the margin.
pub fn redlock(clients: u8, servers: u8, calls: Calls, promises: &[Promise]) -> Space<Redlock> {
    let lock = redlock::Settings {
        ttl: Some(TTL),
        drift_margin: DRIFT_MARGIN,
        node_timeout: Some(TICK),
        retry_delay: TICK,
        retry_choices: 1,
        ..redlock::Settings::as_written()
    };
    let mut workload = workload(clients, calls);
    // Longer than a lock is valid: whether its holder stops in time matters.
    workload.hold = Micros(3 * TICK.0);
    Space {
        setup: Setup {
            lock,
            store: store::Settings { persistence: Persistence::AofAlways, ..store::Settings::default() },
            servers,
            workload,
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds {
            latency_ticks: Some(0),
            unhurried: true,
            power_losses: 1,
            drifts: 1,
            drift_ticks: 1,
            ..Bounds::default()
        },
    }
}

/// Drops an assumption of Redlock's claims. Several may be dropped, one after the other.
pub fn drop_from_redlock(space: &mut Space<Redlock>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        Assumption::StopsInTime => setup.lock.minds_validity = false,
        Assumption::KeysExpire => setup.lock.ttl = None,
        assumption => drop_from_redis(bounds, &mut setup.store, setup.servers, assumption),
    }
}

/// The lock on one instance, with clients that mind their validity.
pub fn redis_single(clients: u8, calls: Calls, promises: &[Promise]) -> Space<RedisSingle> {
    let lock = redis_single::Settings {
        ttl: Some(TTL),
        validity_margin: Some(DRIFT_MARGIN),
        request_timeout: None,
        retry_delay: TICK,
        retry_choices: 1,
        ..redis_single::Settings::as_written()
    };
    let Space { setup, bounds } = redlock(clients, 1, calls, promises);
    Space {
        setup: Setup {
            lock,
            store: setup.store,
            servers: setup.servers,
            workload: setup.workload,
            promises: setup.promises,
        },
        bounds,
    }
}

/// Drops an assumption of the claims about the lock on one instance.
pub fn drop_from_redis_single(space: &mut Space<RedisSingle>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        Assumption::StopsInTime => setup.lock.validity_margin = None,
        Assumption::KeysExpire => setup.lock.ttl = None,
        Assumption::NoLoss => {
            setup.lock.request_timeout = Some(Micros(2 * TICK.0));
            bounds.losses = 1;
        }
        assumption => drop_from_redis(bounds, &mut setup.store, setup.servers, assumption),
    }
}

/// A writer, two readers, and so on: whoever is few has both.
pub const MIXED: AccessChoice = AccessChoice::ByClient([WRITE, READ, READ, WRITE, READ, READ, WRITE, READ]);

/// A readers-writer lock on one instance, with clients that mind their validity.
pub fn readers_writer(
    lock: redis_readers_writer::Settings,
    clients: u8,
    calls: Calls,
    promises: &[Promise],
) -> Space<RedisReadersWriter> {
    let lock = redis_readers_writer::Settings {
        ttl: TTL,
        validity_margin: Some(DRIFT_MARGIN),
        request_timeout: None,
        retry_delay: TICK,
        retry_choices: 1,
        ..lock
    };
    let Space { setup: Setup { store, servers, workload, promises, .. }, bounds } =
        redlock(clients, 1, calls, promises);
    let workload = Workload { access: MIXED, ..workload };
    Space { setup: Setup { lock, store, servers, workload, promises }, bounds }
}

/// Drops an assumption of the claims about the readers-writer lock.
pub fn drop_from_readers_writer(space: &mut Space<RedisReadersWriter>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        // The server's clock agrees with itself.
        Assumption::ClocksAgree => bounds.last_client_ahead_ticks = LONG_TICKS as i8,
        Assumption::StopsInTime => setup.lock.validity_margin = None,
        Assumption::NoLoss => {
            setup.lock.request_timeout = Some(Micros(2 * TICK.0));
            bounds.losses = 1;
        }
        assumption => drop_from_redis(bounds, &mut setup.store, setup.servers, assumption),
    }
}

/// How long an entry of a semaphore is good for. In whole ticks, other than [`TTL`]: entries are compared with what clocks show later, and
/// those show whole ticks (`crate::canonical`).
const ENTRY: Micros = Micros(4 * TICK.0);

/// A semaphore of two permits on one instance, with clients that mind their validity.
pub fn semaphore(
    lock: redis_semaphore::Settings,
    clients: u8,
    calls: Calls,
    promises: &[Promise],
) -> Space<RedisSemaphore> {
    let lock = redis_semaphore::Settings {
        timeout: ENTRY,
        validity_margin: Some(Micros(2 * TICK.0)),
        request_timeout: None,
        retry_delay: TICK,
        retry_choices: 1,
        ..lock
    };
    let Space { setup: Setup { store, servers, workload, promises, .. }, bounds } =
        redlock(clients, 1, calls, promises);
    Space { setup: Setup { lock, store, servers, workload, promises }, bounds }
}

/// Drops an assumption of the claims about the semaphore.
pub fn drop_from_semaphore(space: &mut Space<RedisSemaphore>, assumption: Assumption) {
    let Space { setup, bounds } = space;
    match assumption {
        Assumption::StopsInTime => setup.lock.validity_margin = None,
        Assumption::NoLoss => {
            setup.lock.request_timeout = Some(Micros(2 * TICK.0));
            bounds.losses = 1;
        }
        // The server's clock agrees with itself; clients' clocks are compared with each other.
        Assumption::ClocksAgree => bounds.last_client_ahead_ticks = LONG_TICKS as i8,
        assumption => drop_from_redis(bounds, &mut setup.store, setup.servers, assumption),
    }
}

fn drop_from_redis(bounds: &mut Bounds, store: &mut store::Settings, servers: u8, assumption: Assumption) {
    match assumption {
        Assumption::NoPause | Assumption::NoSuspend => {
            bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            bounds.pauses = 1;
            bounds.pause_ticks = LONG_TICKS;
        }
        Assumption::BoundedDrift => bounds.drifts = 4,
        Assumption::NoServerClockStep => {
            bounds.server_clock_steps = 1;
            bounds.server_clock_step_ticks = LONG_TICKS as i8;
        }
        Assumption::Durable => store.persistence = Persistence::None,
        Assumption::KeysKept => {
            store.tenant = Some(Tenant { period: Micros(3 * TICK.0), does: TenantDoes::FlushesAll });
        }
        Assumption::NoCrash => bounds.crashes = 1,
        // Of a master and its replica both, and one alone a second time when it is back.
        Assumption::MajorityUp => bounds.server_crashes = majority_down(servers).max(2),
        Assumption::NoLoss => bounds.losses = 1,
        Assumption::NoDuplicate => bounds.duplicates = 1,
        Assumption::NoClockStep => {
            bounds.clock_steps = 1;
            bounds.clock_step_ticks = -(LONG_TICKS as i8);
        }
        Assumption::ClocksAgree => bounds.let_clocks_disagree(LONG_TICKS),
        Assumption::FreeAtStart
        | Assumption::StopsInTime
        | Assumption::NoExpiry
        | Assumption::KeysExpire
        | Assumption::UniqueIds
        | Assumption::NoClockFreeze
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::NoFailOver => {}
    }
}
