//! The locks on etcd.

use super::{AnyLock, CheckOptions, Registered, with_holds_of_any_length};
use picklock_model::claims::etcd as spaces;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::EtcdMutex;
use picklock_model::locks::etcd_mutex::{Fence, Settings};
use picklock_model::stores::etcd as store;
use picklock_model::stores::etcd::session::SessionSettings;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

/// The locks, in the order of the tables.
pub(super) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<EtcdMutex> {
            name: "etcd-mutex",
            summary: "etcd's concurrency.Mutex, as written: keys of leases, in the order of their create revisions",
            default_settings: Settings::as_written(),
            setup: || setup(Settings::as_written()),
            space: Some(|options| space(options, Settings::as_written())),
            servers: 1,
            rounds: super::ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<EtcdMutex> {
            name: "etcd-mutex-repaired",
            summary: "the same, with create revisions as tokens, a guarded unlock, and a deadline that comes before the lease's",
            default_settings: Settings::repaired(),
            setup: || setup(Settings::repaired()),
            space: Some(|options| space(options, Settings::repaired())),
            servers: 1,
            rounds: super::ROUNDS,
            is_lock: true,
            varies: true,
        }),
    ]
}

/// Three clients that each take the lock four times, each time for longer than a lease lasts, so that it has to be kept alive.
fn setup(lock: Settings) -> Setup<EtcdMutex> {
    let session = SessionSettings { ttl: Some(Micros::seconds(6)), ..lock.session };
    Setup {
        lock: Settings { session, ..lock },
        store: store::Settings::default(),
        servers: 1,
        workload: Workload {
            clients: 3,
            rounds: 4,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::seconds(2),
            hold: Micros::seconds(8),
            releases: true,
            writes: Writes::Resource,
            resource_checks: lock.fence != Fence::None,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: PromiseSet::usual(),
    }
}

fn space(options: &CheckOptions, lock: Settings) -> Space<EtcdMutex> {
    let calls = if options.try_lock { Calls::TryLock } else { Calls::Lock };
    let mut space = spaces::etcd_mutex(options.clients, calls, &[]);
    let session = SessionSettings { deadline: lock.session.deadline, ..space.setup.lock.session };
    space.setup.lock = Settings { session, ..lock };
    space.setup.promises = match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    };
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(options.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && lock.fence != Fence::None;
    options.drop.iter().for_each(|assumption| spaces::drop_from_etcd(&mut space, *assumption));
    with_holds_of_any_length(space)
}
