//! The spaces in which the ZooKeeper recipe is judged: the base that the claims speak of, and how each assumption is
//! dropped from it.
//!
//! The base is the five steps: sessions that do not end, and no time. Whatever makes time matter brings sessions along, in
//! ticks of a second: a session ends after three without a sign of life ([`SESSION`]), and a client that hears nothing for
//! two takes its connection for lost.

use super::Assumption;
use super::cassandra::workload;
use super::surroundings::majority_down;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::locks::znode_probe::{self, ZnodeProbe};
use crate::locks::zookeeper_lock::{self, OnConnectionLoss, ZookeeperLock};
use crate::stores::zookeeper::session::SessionSettings;
use crate::stores::zookeeper::{self as store, Acknowledgements, Counter, Election, Log};
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Bounds, TICK};
use picklock_properties::{Promise, PromiseSet};

/// How a session is held in small models. Connecting again takes a tick: else a client would try for ever within one.
pub const SESSION: SessionSettings =
    SessionSettings { timeout: Some(Micros(3 * TICK.0)), reconnect_delay: TICK, judges_itself: false };

/// How long a pause, or a step of a clock, must be to outlast every session.
pub const LONG_TICKS: u8 = 5;

/// How the servers of the seeded runs find out that one is gone: the real server's default `tickTime` halved, and its
/// `syncLimit` shortened, so that a leader changes while somebody holds.
pub const ELECTION: Election = Election { heartbeat: Micros::millis(500), timeout: Micros::seconds(2) };

/// The five steps, with clients that stop when they cannot know whether they hold. With more than one server, the
/// followers lag behind the leader, each as far as it likes; nothing else happens to them.
pub fn zookeeper_lock(clients: u8, servers: u8, calls: Calls, promises: &[Promise]) -> Space<ZookeeperLock> {
    let acknowledgements = if servers == 1 { Acknowledgements::Awaited } else { Acknowledgements::Assumed };
    Space {
        setup: Setup {
            lock: zookeeper_lock::Settings {
                on_connection_loss: OnConnectionLoss::Stop,
                ..zookeeper_lock::Settings::steps()
            },
            store: store::Settings {
                sequence: Counter::Order,
                acknowledgements,
                ..store::Settings::default()
            },
            servers,
            workload: workload(clients, calls),
            promises: promises.iter().copied().collect::<PromiseSet>(),
        },
        bounds: Bounds::default(),
    }
}

/// WTF #4: one client writes, the others read, on servers that lag behind the first one.
pub fn znode(clients: u8, servers: u8, sync_before_read: bool) -> Space<ZnodeProbe> {
    let recipe = zookeeper_lock(clients, servers, Calls::Lock, &[Promise::FreshRead]);
    let Setup { lock, store, servers, workload, promises } = recipe.setup;
    let lock = znode_probe::Settings { session: lock.session, sync_before_read };
    Space { setup: Setup { lock, store, servers, workload, promises }, bounds: recipe.bounds }
}

/// The same in ticks, with sessions that end. Servers that lag behind a leader that nothing happens to are no ensemble any
/// more when time passes: with more than one there are elections.
pub fn zookeeper_sessions(
    clients: u8,
    servers: u8,
    calls: Calls,
    promises: &[Promise],
) -> Space<ZookeeperLock> {
    let mut space = zookeeper_lock(clients, servers, calls, promises);
    with_sessions(&mut space);
    space
}

/// Drops an assumption of the recipe's claims. Several may be dropped, one after the other.
pub fn drop_from_zookeeper(space: &mut Space<ZookeeperLock>, assumption: Assumption) {
    match assumption {
        // What the dead leave behind stays, unless sessions expire.
        Assumption::NoCrash => space.bounds.crashes = 1,
        Assumption::FreeAtStart => space.setup.workload.rounds = 2,
        // Without sessions that end there is no time to stop in.
        Assumption::StopsInTime => {
            with_sessions(space);
            space.setup.lock.on_connection_loss = OnConnectionLoss::GoOn;
        }
        Assumption::NoExpiry => with_sessions(space),
        Assumption::NoPause | Assumption::NoSuspend => {
            with_sessions(space);
            space.bounds.pauses_suspend |= assumption == Assumption::NoSuspend;
            space.bounds.pauses = 1;
            space.bounds.pause_ticks = LONG_TICKS;
        }
        // A connection that has lost a message is found out by its silence, and silence is measured.
        Assumption::NoLoss => {
            with_sessions(space);
            space.bounds.losses = 2;
        }
        Assumption::NoDuplicate => {
            with_sessions(space);
            space.bounds.duplicates = 1;
        }
        Assumption::NoServerClockStep => {
            with_sessions(space);
            space.bounds.server_clock_steps = 1;
            space.bounds.server_clock_step_ticks = LONG_TICKS as i8;
        }
        Assumption::NoClockStep => {
            with_sessions(space);
            space.bounds.clock_steps = 1;
            space.bounds.clock_step_ticks = -(LONG_TICKS as i8);
        }
        Assumption::ClocksAgree => {
            with_sessions(space);
            space.bounds.let_clocks_disagree(LONG_TICKS);
        }
        Assumption::BoundedDrift => {
            with_sessions(space);
            space.bounds.drifts = 3;
            space.bounds.drift_ticks = 1;
        }
        Assumption::Durable => {
            with_sessions(space);
            space.setup.store.log = Log::Unsynced;
            space.bounds.power_losses = 1;
        }
        Assumption::MajorityUp => {
            with_sessions(space);
            space.bounds.server_crashes = majority_down(space.setup.servers);
        }
        Assumption::UniqueIds
        | Assumption::NoClockFreeze
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::KeysExpire
        | Assumption::KeysKept
        | Assumption::NoFailOver => {}
    }
}

fn with_sessions(space: &mut Space<ZookeeperLock>) {
    let Space { setup, bounds } = space;
    setup.lock.session = SESSION;
    bounds.latency_ticks = Some(0);
    bounds.unhurried = true;
    if setup.servers > 1 {
        // An ensemble with a majority has an odd number.
        setup.servers |= 1;
        setup.store.acknowledgements = Acknowledgements::Awaited;
        setup.store.election = Some(Election { heartbeat: TICK, timeout: Micros(2 * TICK.0) });
    }
}
