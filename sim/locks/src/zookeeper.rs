//! The lock of the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*.

use picklock_engine::registry::{
    AnyLock, CLIENTS, CheckOptions, ROUNDS, Registered, with_holds_of_any_length,
};
use picklock_model::claims::zookeeper as spaces;
use picklock_model::cluster::Setup;
use picklock_model::explore::Space;
use picklock_model::locks::zookeeper_lock::{Fence, Settings};
use picklock_model::locks::{ZnodeProbe, ZookeeperLock};
use picklock_model::stores::zookeeper as store;
use picklock_model::time::Micros;
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

/// The locks, in the order of the tables.
pub(crate) fn locks() -> Vec<Box<dyn AnyLock>> {
    vec![
        Box::new(Registered::<ZookeeperLock> {
            name: "zookeeper-lock",
            summary: "the first of the ephemeral sequential znodes, as written (the ZooKeeper article, five steps)",
            default_settings: Settings::as_written(),
            setup: || setup(Settings::as_written()),
            space: Some(|options| space(options, Settings::as_written())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
        Box::new(Registered::<ZookeeperLock> {
            name: "zookeeper-lock-repaired",
            summary: "the same, with czxids as fencing tokens, and a holder that stops when its connection is gone",
            default_settings: Settings::repaired(),
            setup: || setup(Settings::repaired()),
            space: Some(|options| space(options, Settings::repaired())),
            servers: 1,
            clients: CLIENTS,
            rounds: ROUNDS,
            is_lock: true,
            varies: true,
        }),
    ]
}

/// What WTF #4 speaks of.
pub(crate) fn znode_probe() -> Box<dyn AnyLock> {
    Box::new(Registered::<ZnodeProbe> {
        name: "znode-probe",
        summary: "not a lock: one client writes and tells the others, who read (the ZooKeeper article, WTF #4)",
        default_settings: Default::default(),
        setup: || spaces::znode(2, 2, false).setup,
        space: Some(|options| spaces::znode(options.clients, options.servers, false)),
        servers: 2,
        clients: CLIENTS,
        rounds: ROUNDS,
        is_lock: false,
        varies: false,
    })
}

/// Three clients that each take the lock four times, each time for half of a session's timeout, on an ensemble of three: a
/// leader, and two followers of which one may be missed.
fn setup(lock: Settings) -> Setup<ZookeeperLock> {
    Setup {
        lock,
        store: store::Settings { election: Some(spaces::ELECTION), ..store::Settings::default() },
        servers: 3,
        workload: Workload {
            clients: 3,
            rounds: 4,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::seconds(2),
            hold: Micros::seconds(3),
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

fn space(options: &CheckOptions, lock: Settings) -> Space<ZookeeperLock> {
    let calls = if options.try_lock { Calls::TryLock } else { Calls::Lock };
    let mut space = spaces::zookeeper_lock(options.clients, options.servers, calls, &[]);
    space.setup.lock = Settings { session: space.setup.lock.session, ..lock };
    space.setup.promises = match options.promises.is_empty() {
        true => [Promise::MutualExclusion].into_iter().collect(),
        false => options.promises,
    };
    space.setup.workload.rounds = options.rounds;
    let writes = Writes::judged_by(options.promises);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = writes != Writes::None && lock.fence != Fence::None;
    options.drop.iter().for_each(|assumption| spaces::drop_from_zookeeper(&mut space, *assumption));
    with_holds_of_any_length(space)
}
