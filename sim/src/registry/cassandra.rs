//! The locks of document 000.

use super::{AnyLock, CheckOptions, Registered, judged};
use picklock_model::claims::{cassandra as spaces, cassandra_shadow as shadow_spaces};
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::cassandra_shadow::Backoff;
use picklock_model::locks::{CassandraQueue, CassandraShadow, RowProbe, cassandra_queue, cassandra_shadow};
use picklock_model::stores::cassandra::Consistency;
use picklock_model::time::Micros;
use picklock_model::workload::{Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

/// The locks of document 000, in the order of the tables.
pub(super) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<CassandraQueue> {
            name: "cassandra-queue",
            summary: "the Cassandra queue lock as written (document 000, Listings 5-7, lease of section 5.3)",
            default_settings: cassandra_queue::Settings::as_written(),
            setup: || cassandra_setup(cassandra_queue::Settings::as_written()),
            space: |options| queue_space(options, cassandra_queue::Settings::listing()),
            servers: 1,
            is_lock: true,
        }),
        Box::new(Registered::<CassandraQueue> {
            name: "cassandra-queue-repaired",
            summary: "the same with every repair of the catalogue, and a fencing token",
            default_settings: cassandra_queue::Settings::repaired(),
            setup: || cassandra_setup(cassandra_queue::Settings::repaired()),
            space: |options| {
                let listing = cassandra_queue::Settings {
                    ttl_seconds: None,
                    poll_interval: Micros::ZERO,
                    request_timeout: None,
                    ..cassandra_queue::Settings::repaired()
                };
                queue_space(options, listing)
            },
            servers: 1,
            is_lock: true,
        }),
        Box::new(Registered::<CassandraShadow> {
            name: "cassandra-shadow",
            summary: "the old Cassandra lock as written (document 000, Listings 3 and 4, lease of section 5.3)",
            default_settings: cassandra_shadow::Settings::as_written(),
            setup: || shadow_setup(cassandra_shadow::Settings::as_written()),
            space: |options| shadow_space(options, cassandra_shadow::Settings::listing()),
            servers: 1,
            is_lock: true,
        }),
        Box::new(Registered::<CassandraShadow> {
            name: "cassandra-shadow-repaired",
            summary: "the same with every repair of the catalogue, and a fencing token",
            default_settings: cassandra_shadow::Settings::repaired(),
            setup: || shadow_setup(cassandra_shadow::Settings::repaired()),
            space: |options| {
                let listing = cassandra_shadow::Settings {
                    ttl_seconds: None,
                    shadow_ttl_seconds: None,
                    backoff: Backoff::Fixed(Micros::ZERO),
                    request_timeout: None,
                    ..cassandra_shadow::Settings::repaired()
                };
                shadow_space(options, listing)
            },
            servers: 1,
            is_lock: true,
        }),
    ]
}

/// What Lemma 1 speaks of.
pub(super) fn row_probe() -> Box<dyn AnyLock> {
    Box::new(Registered::<RowProbe> {
        name: "row-probe",
        summary: "not a lock: two threads that do what Lemma 1 of document 000 speaks of",
        default_settings: Default::default(),
        setup: || spaces::row(2, 3, Consistency::Quorum, Consistency::Quorum).setup,
        space: |options| {
            let mut space =
                spaces::row(options.clients, options.servers, Consistency::Quorum, Consistency::Quorum);
            options.drop.iter().for_each(|assumption| spaces::drop_from_row(&mut space, *assumption));
            space
        },
        servers: 3,
        is_lock: false,
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
        promises: judged(),
    }
}

fn seeded_workload(resource_checks: bool) -> Workload {
    Workload {
        clients: 2,
        rounds: 3,
        retries: false,
        calls: Calls::Lock,
        think: Micros::seconds(5),
        hold: Micros::seconds(12),
        releases: true,
        writes: Writes::Resource,
        resource_checks,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
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
        promises: judged(),
    }
}

fn shadow_space(options: &CheckOptions, settings: cassandra_shadow::Settings) -> Space<CassandraShadow> {
    let mut space = shadow_spaces::shadow_lock(options.clients, options.servers, calls(options), &[]);
    space.setup.promises = promises(options);
    space.setup.lock = settings;
    space.setup.workload.rounds = options.rounds;
    let watches_writes = space.setup.promises.contains(Promise::FencedResource);
    space.setup.workload.writes = Writes::resource_if(watches_writes);
    space.setup.workload.resource_checks = watches_writes && settings.fencing;
    options.drop.iter().for_each(|assumption| shadow_spaces::drop_from_shadow_lock(&mut space, *assumption));
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
    let watches_writes = promises.contains(Promise::FencedResource);
    space.setup.workload.writes = Writes::resource_if(watches_writes);
    space.setup.workload.resource_checks = watches_writes && settings.fencing;
    options.drop.iter().for_each(|assumption| spaces::drop_from_queue_lock(&mut space, *assumption));
    space
}
