//! The locks of a Chubby cell, and of Consul.

use picklock_engine::registry::{AnyLock, CheckOptions, Registered, with_holds_of_any_length};
use picklock_model::claims::chubby as spaces;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::ChubbyLock;
use picklock_model::locks::chubby_lock::{Fence, Settings};
use picklock_model::stores::chubby as store;
use picklock_model::stores::chubby::session::{SessionSettings, Unanswered};
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

/// The locks, in the order of the tables.
pub(crate) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<ChubbyLock> {
            default_settings: Settings::careful(),
            space: Some(|options| space(options, Settings::careful())),
            ..Registered::new(
                "chubby-lock",
                "a lock of a Chubby cell, whose holder stops in jeopardy and shows its sequencer",
                || setup(chubby(Settings::careful()), store::Settings::CHUBBY),
            )
        }),
        Box::new(Registered::<ChubbyLock> {
            default_settings: Settings::unmodified(),
            space: Some(|options| space(options, Settings::unmodified())),
            ..Registered::new(
                "chubby-lock-unmodified",
                "the same under a program that works on in jeopardy, and shows nothing: the lock-delay is what is left",
                || setup(chubby(Settings::unmodified()), store::Settings::CHUBBY),
            )
        }),
        Box::new(Registered::<ChubbyLock> {
            default_settings: Settings::consul(),
            space: Some(|options| consul_space(options, Settings::consul())),
            ..Registered::new("consul-lock", "Consul's Lock (api/lock.go), as written, on one leader", || {
                setup(Settings::consul(), store::Settings::CONSUL)
            })
        }),
        Box::new(Registered::<ChubbyLock> {
            default_settings: Settings::consul_repaired(),
            space: Some(|options| consul_space(options, Settings::consul_repaired())),
            ..Registered::new(
                "consul-lock-repaired",
                "the same, with the LockIndex as token, and a holder that stops when its TTL is over by its own count",
                || setup(Settings::consul_repaired(), store::Settings::CONSUL),
            )
        }),
    ]
}

/// Leases that are as long as those of the other locks here, and what goes with them: the real ones are twice that and more.
fn chubby(lock: Settings) -> Settings {
    let session = SessionSettings {
        lease: Some(Micros::seconds(6)),
        margin: Micros::millis(62),
        grace: Micros::seconds(10),
        unanswered: Unanswered::After(Micros::seconds(2)),
        ..lock.session
    };
    Settings { session, lock_delay: Micros::seconds(10), ..lock }
}

/// Three clients that each take the lock four times, each time for longer than a lease lasts.
fn setup(lock: Settings, store: store::Settings) -> Setup<ChubbyLock> {
    Setup {
        lock,
        store,
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

fn space(options: &CheckOptions, lock: Settings) -> Space<ChubbyLock> {
    let mut space = spaces::chubby_lock(options.clients, calls(options), &[]);
    space.setup.lock = Settings { session: space.setup.lock.session, lock_delay: Micros::ZERO, ..lock };
    options.drop.iter().for_each(|assumption| spaces::drop_from_chubby(&mut space, *assumption));
    with_options(space, options)
}

fn consul_space(options: &CheckOptions, lock: Settings) -> Space<ChubbyLock> {
    let mut space = spaces::consul_lock(options.clients, calls(options), &[], lock);
    options.drop.iter().for_each(|assumption| spaces::drop_from_consul(&mut space, *assumption));
    with_options(space, options)
}

fn calls(options: &CheckOptions) -> Calls {
    if options.try_lock { Calls::TryLock } else { Calls::Lock }
}

fn with_options(mut space: Space<ChubbyLock>, options: &CheckOptions) -> Space<ChubbyLock> {
    space.setup.promises = match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    };
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(options.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && space.setup.lock.fence != Fence::None;
    with_holds_of_any_length(space)
}
