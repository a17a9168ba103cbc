//! Users of the lock managers of VMS and Linux (the lock-manager article, *Distributed lock manager*).

use picklock_engine::registry::{AnyLock, CheckOptions, Registered};
use picklock_model::claims::Assumption;
use picklock_model::claims::dlm as spaces;
use picklock_model::claims::dlm::CachedVariable;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::managed::Managed;
use picklock_model::objects::cells::CacheSettings;
use picklock_model::stores::dlm::recovery::Recovery;
use picklock_model::stores::dlm::{Flags, Settings};
use picklock_properties::Promise;

const USUAL: &[Promise] = &[Promise::MutualExclusion, Promise::DeadlockFreedom];

/// The users, in the order of the tables.
pub(crate) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        registered(
            "dlm-modes",
            "a lock of Linux' lock manager in any of six modes (the lock-manager article, modes)",
            || spaces::in_time(spaces::modes(Settings::LINUX, (3, 3), USUAL)),
            |options| asked(options, |size, promises| spaces::modes(Settings::LINUX, size, promises)),
        ),
        registered(
            "dlm-readers-writer",
            "the same in PR to read and EX to write",
            || spaces::in_time(spaces::readers_and_writers(Settings::LINUX, (3, 3), USUAL)),
            |options| {
                asked(options, |size, promises| spaces::readers_and_writers(Settings::LINUX, size, promises))
            },
        ),
        registered(
            "dlm-upgrade",
            "the same, converted from PR to EX when what was read is to be written",
            || spaces::in_time(spaces::upgrades(Settings::LINUX, Flags::NONE, (3, 3), USUAL)),
            |options| {
                asked(options, |size, promises| {
                    spaces::upgrades(Settings::LINUX, Flags::NONE, size, promises)
                })
            },
        ),
        registered(
            "dlm-two",
            "two locks of VMS' lock manager, taken in any order: deadlocks are searched for",
            || spaces::in_time(spaces::two_resources(Settings::VMS, (3, 3), USUAL)),
            |options| asked(options, |size, promises| spaces::two_resources(Settings::VMS, size, promises)),
        ),
        registered(
            "dlm-standby",
            "a service whose instances stand by in NL, and of which one serves in EX (the lock-manager article, failover)",
            || spaces::in_time(spaces::standby(Settings::LINUX, (3, 3), USUAL)),
            |options| asked(options, |size, promises| spaces::standby(Settings::LINUX, size, promises)),
        ),
        registered(
            "dlm-pages",
            "pages of a file under VMS' lock manager, or the whole file (the lock-manager article, resources)",
            || spaces::in_time(spaces::hierarchy(Settings::VMS, (3, 3), USUAL)),
            |options| asked(options, |size, promises| spaces::hierarchy(Settings::VMS, size, promises)),
        ),
    ]
}

/// What it is used for that is no lock.
pub(crate) fn cache() -> Box<dyn AnyLock> {
    let cached = Registered::<CachedVariable>::new(
        "cached-variable",
        "an object: a variable on a shared disk, in caches that a lock manager keeps fresh (the lock-manager article, value blocks; gfs2)",
        || spaces::cached_in_time(variable((3, 3), &[Promise::Linearizable])),
    );
    Box::new(Registered { is_lock: false, ..cached.checked_in(cached_space).checked_with_servers(1) })
}

fn variable(size: (u8, u8), promises: &[Promise]) -> Space<CachedVariable> {
    spaces::cached_variable(CacheSettings::default(), Settings::LINUX, size, promises)
}

fn cached_space(options: &CheckOptions) -> Space<CachedVariable> {
    let mut space = variable((options.clients, options.rounds), &[Promise::Linearizable]);
    if !options.promises.is_empty() {
        space.setup.promises = options.promises;
    }
    for assumption in &options.drop {
        match assumption {
            // Nobody is taken for dead for its silence; what a master that dies takes along is no matter of its disk.
            Assumption::NoPause | Assumption::NoSuspend | Assumption::Durable => {}
            Assumption::NoFailOver => space = spaces::cached_whose_master_dies(space, Recovery::LINUX),
            assumption => spaces::drop_from_bounds(&mut space.bounds, *assumption),
        }
    }
    space
}

fn registered(
    name: &'static str,
    summary: &'static str,
    setup: fn() -> Setup<Managed>,
    space: fn(&CheckOptions) -> Space<Managed>,
) -> Box<dyn AnyLock> {
    Box::new(Registered::new(name, summary, setup).checked_in(space).checked_with_servers(1))
}

fn asked(options: &CheckOptions, space: impl Fn((u8, u8), &[Promise]) -> Space<Managed>) -> Space<Managed> {
    let mut space = space((options.clients, options.rounds), &[Promise::MutualExclusion]);
    if !options.promises.is_empty() {
        space.setup.promises = options.promises;
    }
    options.drop.iter().for_each(|assumption| spaces::drop_from_managed(&mut space, *assumption));
    space
}
