//! The locks of the Cassandra paper, *The Cassandra queue lock*.

use crate::waits_in_vain;
use picklock_engine::registry::{
    AnyLock, CLIENTS, CheckOptions, ROUNDS, Registered, with_holds_of_any_length,
};
use picklock_model::claims::{
    Assumption, cassandra as spaces, cassandra_lwt as lwt_spaces, cassandra_served,
    cassandra_shadow as shadow_spaces,
};
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::cassandra_served::{LeaseService, Settings as Served, TimeService};
use picklock_model::locks::cassandra_shadow::Backoff;
use picklock_model::locks::{
    CassandraLwt, CassandraQueue, CassandraServed, CassandraShadow, RowProbe, cassandra_lwt, cassandra_queue,
    cassandra_shadow,
};
use picklock_model::stores::cassandra::{CommitLog, Consistency};
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_model::world::TICK;
use picklock_properties::{Promise, PromiseSet};

/// The locks of the Cassandra paper, in the order of the tables.
pub(crate) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<CassandraQueue> {
            name: "cassandra-queue",
            summary: "the Cassandra queue lock as written (the Cassandra paper, Listings 5-7, lease of section 5.3)",
            default_settings: cassandra_queue::Settings::as_written(),
            setup: || cassandra_setup(cassandra_queue::Settings::as_written()),
            space: Some(|options| queue_space(options, cassandra_queue::Settings::listing())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraQueue> {
            name: "cassandra-queue-repaired",
            summary: "the same with the repairs of the catalogue (that of row C9 is partial), and a fencing token",
            default_settings: cassandra_queue::Settings::repaired(),
            setup: || cassandra_setup(cassandra_queue::Settings::repaired()),
            space: Some(|options| {
                let listing = cassandra_queue::Settings {
                    ttl_seconds: None,
                    poll_interval: Micros::ZERO,
                    request_timeout: None,
                    ..cassandra_queue::Settings::repaired()
                };
                queue_space(options, listing)
            }),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraShadow> {
            name: "cassandra-shadow",
            summary: "the old Cassandra lock as written (the Cassandra paper, Listings 3 and 4, lease of section 5.3)",
            default_settings: cassandra_shadow::Settings::as_written(),
            setup: || shadow_setup(cassandra_shadow::Settings::as_written()),
            space: Some(|options| shadow_space(options, cassandra_shadow::Settings::listing())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraShadow> {
            name: "cassandra-shadow-repaired",
            summary: "the same with every repair of the catalogue, and a fencing token",
            default_settings: cassandra_shadow::Settings::repaired(),
            setup: || shadow_setup(cassandra_shadow::Settings::repaired()),
            space: Some(|options| {
                let listing = cassandra_shadow::Settings {
                    ttl_seconds: None,
                    shadow_ttl_seconds: None,
                    backoff: Backoff::Fixed(Micros::ZERO),
                    request_timeout: None,
                    ..cassandra_shadow::Settings::repaired()
                };
                shadow_space(options, listing)
            }),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraServed> {
            name: "cassandra-timed",
            summary: "the queue lock with names from the time service, as written (the Cassandra paper, section 5.4)",
            default_settings: Served::timed(),
            setup: || served_setup(Served::timed()),
            space: Some(|options| served_space(options, Served::timed())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraServed> {
            name: "cassandra-timed-repaired",
            summary: "the same with every repair, and a service whose time neither stands still nor goes back",
            default_settings: Served::timed_repaired(),
            setup: || served_setup(Served::timed_repaired()),
            space: Some(|options| served_space(options, Served::timed_repaired())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraServed> {
            name: "cassandra-kept",
            summary: "the queue lock with leases that a service ends, not a TTL (the Cassandra paper, section 6)",
            default_settings: Served::kept(),
            setup: || served_setup(Served::kept()),
            space: Some(|options| served_space(options, Served::kept())),
            servers: 1,
            clients: CLIENTS,
            rounds: 1,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraServed> {
            name: "cassandra-kept-repaired",
            summary: "the same with every repair, and two keepers that delete only what they saw",
            default_settings: Served::kept_repaired(),
            setup: || served_setup(Served::kept_repaired()),
            space: Some(|options| served_space(options, Served::kept_repaired())),
            servers: 1,
            clients: CLIENTS,
            rounds: 1,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraLwt> {
            name: "cassandra-lwt",
            summary: "a lock by one conditional insert (INSERT IF NOT EXISTS), repeated blindly after a time-out",
            default_settings: cassandra_lwt::Settings::as_written(),
            setup: || lwt_setup(cassandra_lwt::Settings::as_written()),
            space: Some(|options| lwt_space(options, cassandra_lwt::Settings::listing())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<CassandraLwt> {
            name: "cassandra-lwt-shipped",
            summary: "the same on a store as it ships: its log is marked every 0.1 s and on disk every 10 s, not at once",
            default_settings: cassandra_lwt::Settings::as_written(),
            setup: || {
                let mut setup = lwt_setup(cassandra_lwt::Settings::as_written());
                setup.store.commit_log = CommitLog::AS_SHIPPED;
                setup
            },
            space: Some(|options| {
                let mut space = lwt_space(options, cassandra_lwt::Settings::listing());
                // What is exhaustive counts in ticks.
                space.setup.store.commit_log =
                    CommitLog::Periodic { period: Micros::seconds(10), marks: TICK };
                space.bounds.server_crashes = u8::from(options.drop.contains(&Assumption::NoCrash));
                space.bounds.server_crashes_restart = true;
                space
            }),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
    ]
}

/// What Lemma 1 speaks of.
pub(crate) fn row_probe() -> Box<dyn AnyLock> {
    Box::new(Registered::<RowProbe> {
        name: "row-probe",
        summary: "not a lock: two threads that do what Lemma 1 of the Cassandra paper speaks of",
        default_settings: Default::default(),
        setup: || spaces::row(2, 3, Consistency::Quorum, Consistency::Quorum).setup,
        space: Some(|options| {
            let mut space =
                spaces::row(options.clients, options.servers, Consistency::Quorum, Consistency::Quorum);
            options.drop.iter().for_each(|assumption| spaces::drop_from_row(&mut space, *assumption));
            space
        }),
        servers: 3,
        clients: CLIENTS,
        rounds: ROUNDS,
        is_lock: false,
        varies: false,
    })
}

/// How seeded runs use the Cassandra locks: two threads (no row of the catalogue needs a third), each three times, with a
/// hold that needs a renewal, and a lease longer than anybody has to wait when nothing goes wrong: or row C6 would hide
/// all others.
fn cassandra_setup(settings: cassandra_queue::Settings) -> Setup<CassandraQueue> {
    let lock = cassandra_queue::Settings {
        ttl_seconds: Some(20),
        poll_interval: Micros::millis(200),
        request_timeout: Some(Micros::seconds(3)),
        ..settings
    };
    Setup {
        lock,
        store: Default::default(),
        servers: 3,
        workload: seeded_workload(lock.fencing),
        promises: PromiseSet::usual(),
    }
}

fn seeded_workload(resource_checks: bool) -> Workload {
    Workload {
        clients: 2,
        rounds: 3,
        retries: false,
        calls: Calls::Lock,
        access: AccessChoice::First,
        think: Micros::seconds(5),
        hold: Micros::seconds(12),
        releases: true,
        writes: Writes::Resource,
        resource_checks,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    }
}

/// How seeded runs use the old lock: as they use the queue lock.
fn shadow_setup(settings: cassandra_shadow::Settings) -> Setup<CassandraShadow> {
    let seconds = Some(20);
    let lock = cassandra_shadow::Settings {
        ttl_seconds: seconds,
        shadow_ttl_seconds: settings.shadow_ttl_seconds.and(seconds),
        ..settings
    };
    Setup {
        lock,
        store: Default::default(),
        servers: 3,
        workload: seeded_workload(lock.fencing),
        promises: PromiseSet::usual(),
    }
}

fn shadow_space(options: &CheckOptions, settings: cassandra_shadow::Settings) -> Space<CassandraShadow> {
    let mut space = shadow_spaces::shadow_lock(options.clients, options.servers, calls(options), &[]);
    space.setup.promises = promises(options);
    space.setup.lock = settings;
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(space.setup.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && settings.fencing;
    options.drop.iter().for_each(|assumption| shadow_spaces::drop_from_shadow_lock(&mut space, *assumption));
    if waits_in_vain(&space) {
        shadow_spaces::answers_may_be_lost(&mut space);
    }
    if space.setup.promises.iter().any(Promise::is_of_progress) {
        shadow_spaces::back_off(&mut space, 2);
    }
    with_holds_of_any_length(space)
}

/// How seeded runs use the lock by conditional write: as they use the queue lock, but for the hold, which nothing renews.
fn lwt_setup(lock: cassandra_lwt::Settings) -> Setup<CassandraLwt> {
    Setup {
        lock,
        store: Default::default(),
        servers: 3,
        workload: Workload { work_fits: true, ..seeded_workload(false) },
        promises: PromiseSet::usual(),
    }
}

fn lwt_space(options: &CheckOptions, settings: cassandra_lwt::Settings) -> Space<CassandraLwt> {
    let mut space = lwt_spaces::lwt_lock(options.clients, options.servers, calls(options), &[]);
    space.setup.promises = promises(options);
    space.setup.lock = settings;
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(space.setup.promises);
    space.setup.workload.writes = writes;
    options.drop.iter().for_each(|assumption| lwt_spaces::drop_from_lwt_lock(&mut space, *assumption));
    if waits_in_vain(&space) {
        lwt_spaces::answers_may_be_lost(&mut space);
    }
    if options.drop.contains(&Assumption::StopsInTime) {
        return with_holds_of_any_length(space);
    }
    // As in seeded runs: nothing renews this lease, and its holder must have work that fits.
    if let Some(lease) = space.setup.lock.ttl_seconds {
        space.setup.workload.hold = Micros::seconds(i64::from(lease) / 2);
    }
    space
}

fn calls(options: &CheckOptions) -> Calls {
    if options.try_lock { Calls::TryLock } else { Calls::Lock }
}

fn promises(options: &CheckOptions) -> PromiseSet {
    match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    }
}

fn queue_space(options: &CheckOptions, settings: cassandra_queue::Settings) -> Space<CassandraQueue> {
    let promises = promises(options);
    let mut space = spaces::queue_lock(options.clients, options.servers, calls(options), &[]);
    space.setup.promises = promises;
    space.setup.lock = settings;
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && settings.fencing;
    options.drop.iter().for_each(|assumption| spaces::drop_from_queue_lock(&mut space, *assumption));
    if waits_in_vain(&space) {
        spaces::answers_may_be_lost(&mut space);
    }
    with_holds_of_any_length(space)
}

/// The same use of the lock, with its services beside it: two time replicas, or as many keepers as the variant has.
fn served_setup(lock: Served) -> Setup<CassandraServed> {
    let Setup { lock: queue, store, servers, workload, promises } = cassandra_setup(lock.queue);
    let attendants = if lock.lease_keepers > 0 { lock.lease_keepers } else { TIME_REPLICAS };
    let lock = Served { queue, threads: workload.clients, ..lock };
    Setup { lock, store, servers, workload: Workload { attendants, ..workload }, promises }
}

/// "Он имеет несколько реплик": with one of them alone nothing can go wrong between them.
const TIME_REPLICAS: u8 = 2;

/// One replica, or one keeper: the catalogue has the larger ones.
fn served_space(options: &CheckOptions, lock: Served) -> Space<CassandraServed> {
    let promises = match options.promises.is_empty() {
        true => vec![Promise::MutualExclusion],
        false => options.promises.iter().collect(),
    };
    let mut space = match lock.lease_keepers {
        0 => cassandra_served::timed(options.clients, 1, &promises),
        _ => cassandra_served::kept(options.clients, 1, &promises),
    };
    let small = space.setup.lock;
    space.setup.servers = options.servers;
    space.setup.workload.rounds = options.rounds;
    space.setup.workload.calls = if options.try_lock { Calls::TryLock } else { Calls::Lock };
    let writes = Writes::judged_by(options.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && lock.queue.fencing;
    space.setup.lock = Served {
        queue: cassandra_queue::Settings {
            ttl_seconds: small.queue.ttl_seconds,
            poll_interval: small.queue.poll_interval,
            request_timeout: small.queue.request_timeout,
            ..lock.queue
        },
        time: TimeService { period: small.time.period, ..lock.time },
        leases: LeaseService { period: small.leases.period, ..lock.leases },
        ..small
    };
    options.drop.iter().for_each(|assumption| cassandra_served::drop_from_served(&mut space, *assumption));
    with_holds_of_any_length(space)
}
