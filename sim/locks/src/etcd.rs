//! The locks on etcd.

use picklock_engine::registry::{AnyLock, CheckOptions, Registered, with_holds_of_any_length};
use picklock_model::claims::etcd::{self as spaces, InSession};
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::etcd_keys::Fence;
use picklock_model::locks::{
    EtcdElection, EtcdLeaseKey, EtcdMutex, etcd_election, etcd_lease_key, etcd_mutex,
};
use picklock_model::stores::etcd as store;
use picklock_model::stores::etcd::session::SessionSettings;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

/// The locks, in the order of the tables.
pub(crate) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<EtcdMutex> {
            default_settings: etcd_mutex::Settings::as_written(),
            space: Some(|options| space(options, etcd_mutex::Settings::as_written())),
            ..Registered::new(
                "etcd-mutex",
                "etcd's concurrency.Mutex, as written: keys of leases, in the order of their create revisions",
                || setup(etcd_mutex::Settings::as_written()),
            )
        }),
        Box::new(Registered::<EtcdMutex> {
            default_settings: etcd_mutex::Settings::repaired(),
            space: Some(|options| space(options, etcd_mutex::Settings::repaired())),
            ..Registered::new(
                "etcd-mutex-repaired",
                "the same, with create revisions as tokens, a guarded unlock, and a deadline that comes before the lease's",
                || setup(etcd_mutex::Settings::repaired()),
            )
        }),
        Box::new(Registered::<EtcdElection> {
            default_settings: etcd_election::Settings::as_written(),
            space: Some(|options| space(options, etcd_election::Settings::as_written())),
            ..Registered::new(
                "etcd-election",
                "etcd's concurrency.Election, as written: who leads holds, and nobody looks for its own key after waiting",
                || setup(etcd_election::Settings::as_written()),
            )
        }),
        Box::new(Registered::<EtcdElection> {
            default_settings: etcd_election::Settings::repaired(),
            space: Some(|options| space(options, etcd_election::Settings::repaired())),
            ..Registered::new(
                "etcd-election-repaired",
                "the same, with that look, a resignation that is repeated, tokens, and a deadline that comes before the lease's",
                || setup(etcd_election::Settings::repaired()),
            )
        }),
        Box::new(Registered::<EtcdLeaseKey> {
            default_settings: etcd_lease_key::Settings::as_written(),
            space: Some(|options| space(options, etcd_lease_key::Settings::as_written())),
            ..Registered::new(
                "etcd-lease-key",
                "one key in etcd, put by whoever finds none, bound to a lease, and deleted by its name",
                || setup(etcd_lease_key::Settings::as_written()),
            )
        }),
        Box::new(Registered::<EtcdLeaseKey> {
            default_settings: etcd_lease_key::Settings::repaired(),
            space: Some(|options| space(options, etcd_lease_key::Settings::repaired())),
            ..Registered::new(
                "etcd-lease-key-repaired",
                "the same, with create revisions as tokens, a guarded unlock, and a deadline that comes before the lease's",
                || setup(etcd_lease_key::Settings::repaired()),
            )
        }),
    ]
}

/// The same locks on three members: a leader, and two others of which one may be missed.
pub(crate) fn locks_on_three() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<EtcdMutex> {
            default_settings: etcd_mutex::Settings::as_written(),
            space: Some(|options| space(options, etcd_mutex::Settings::as_written())),
            servers: MEMBERS,
            ..Registered::new(
                "etcd-mutex-3",
                "etcd's concurrency.Mutex, as written, on three members that elect a leader",
                || on_three(setup(etcd_mutex::Settings::as_written())),
            )
        }),
        Box::new(Registered::<EtcdMutex> {
            default_settings: etcd_mutex::Settings::repaired(),
            space: Some(|options| space(options, etcd_mutex::Settings::repaired())),
            servers: MEMBERS,
            ..Registered::new(
                "etcd-mutex-3-repaired",
                "the same, with create revisions as tokens, a guarded unlock, pings, and a deadline that comes before the lease's",
                || on_three(setup(etcd_mutex::Settings::repaired())),
            )
        }),
        Box::new(Registered::<EtcdElection> {
            default_settings: etcd_election::Settings::as_written(),
            space: Some(|options| space(options, etcd_election::Settings::as_written())),
            servers: MEMBERS,
            ..Registered::new(
                "etcd-election-3",
                "etcd's concurrency.Election, as written, on three members that elect a leader of their own",
                || on_three(setup(etcd_election::Settings::as_written())),
            )
        }),
        Box::new(Registered::<EtcdLeaseKey> {
            default_settings: etcd_lease_key::Settings::as_written(),
            space: Some(|options| space(options, etcd_lease_key::Settings::as_written())),
            servers: MEMBERS,
            ..Registered::new(
                "etcd-lease-key-3",
                "one key in etcd, bound to a lease and deleted by its name, on three members that elect a leader",
                || on_three(setup(etcd_lease_key::Settings::as_written())),
            )
        }),
    ]
}

/// How many members it takes for one to be missed.
const MEMBERS: u8 = 3;

fn on_three<L: InSession>(setup: Setup<L>) -> Setup<L> {
    Setup { servers: MEMBERS, ..setup }
}

/// Three clients that each take the lock four times, each time for longer than a lease lasts, so that it has to be kept alive.
fn setup<L: InSession>(mut lock: L::Settings) -> Setup<L> {
    let is_fenced = *L::fence(&mut lock) != Fence::None;
    L::session(&mut lock).ttl = Some(Micros::seconds(6));
    Setup {
        lock,
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
            resource_checks: is_fenced,
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

fn space<L: InSession>(options: &CheckOptions, mut lock: L::Settings) -> Space<L> {
    let calls = if options.try_lock { Calls::TryLock } else { Calls::Lock };
    let mut space = spaces::on_etcd::<L>(options.clients, calls, &[]);
    let is_fenced = *L::fence(&mut lock) != Fence::None;
    let deadline = L::session(&mut lock).deadline;
    *L::session(&mut lock) = SessionSettings { deadline, ..*L::session(&mut space.setup.lock) };
    space.setup.lock = lock;
    space.setup.promises = match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    };
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(options.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && is_fenced;
    // How many have to be down for a majority to be lost.
    space.setup.servers = options.servers;
    options.drop.iter().for_each(|assumption| spaces::drop_from_etcd(&mut space, *assumption));
    if options.servers > 1 {
        spaces::among(options.servers, &mut space);
    }
    with_holds_of_any_length(space)
}
