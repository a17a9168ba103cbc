//! The spaces in which users of a lock manager are judged. They have no time: no promise of one manager rests on any, and a request may
//! wait for as long as it likes.

use super::Assumption;
use super::cassandra::workload;
use crate::cluster::Setup;
use crate::explore::Space;
use crate::managed::program::{R1, R2};
use crate::managed::{Believes, Chosen, Managed, Program, Settings};
use crate::objects::cells::{CacheSettings, InCache, Writes};
use crate::objects::{self, Repeats, Shared, Variable};
use crate::stores::dlm::recovery::{Order, Recovery};
use crate::stores::dlm::{self, Deadlocks, Flags, Journals, Mode, NewMaster};
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use crate::world::Bounds;
use picklock_properties::Promise;

/// Linux until 2007: deadlocks are left as they are.
pub const LINUX_2006: dlm::Settings = dlm::Settings { deadlocks: Deadlocks::Left, ..dlm::Settings::LINUX };

/// A variable on a shared disk, cached under a lock.
pub type CachedVariable = Shared<Variable, InCache>;

/// A variable that so many nodes read and change through their caches.
pub fn cached_variable(
    cache: CacheSettings,
    store: dlm::Settings,
    (clients, rounds): (u8, u8),
    promises: &[Promise],
) -> Space<CachedVariable> {
    let object = objects::variable::Settings { values: 1, ..objects::variable::Settings::default() };
    let lock = objects::Settings {
        object,
        cells: cache,
        repeats: Repeats::Never,
        timeout: Micros::ZERO,
        poll_interval: Micros::ZERO,
    };
    let workload = Workload { rounds, ..workload(clients, Calls::Lock) };
    let promises = promises.iter().copied().collect();
    Space {
        setup: Setup { lock, store, servers: 1, workload, promises },
        bounds: Bounds { crashes_restart: true, ..Bounds::default() },
    }
}

/// The same, written into journals, and in place before a lock is given up; a node may die.
pub fn journaled_variable(journals: Journals, size: (u8, u8), promises: &[Promise]) -> Space<CachedVariable> {
    let cache = CacheSettings { writes: Writes::Journal, ..CacheSettings::default() };
    let store = dlm::Settings { journals, ..dlm::Settings::LINUX };
    let mut space = cached_variable(cache, store, size, promises);
    space.bounds.crashes = 1;
    space
}

/// So many processes that do these programs over this manager.
pub fn managed(
    programs: &[Program],
    chosen: Chosen,
    store: dlm::Settings,
    (clients, rounds): (u8, u8),
    promises: &[Promise],
) -> Space<Managed> {
    Space {
        setup: Setup {
            lock: Settings {
                programs: programs.to_vec(),
                chosen,
                believes: Believes::Nothing,
                alive_every: None,
            },
            store,
            servers: 1,
            workload: Workload { rounds, ..workload(clients, Calls::Lock) },
            promises: promises.iter().copied().collect(),
        },
        bounds: Bounds { crashes_restart: true, ..Bounds::default() },
    }
}

/// One lock each, in a mode that is drawn.
pub fn modes(store: dlm::Settings, size: (u8, u8), promises: &[Promise]) -> Space<Managed> {
    managed(&Mode::ALL.map(Program::holds), Chosen::Drawn, store, size, promises)
}

/// A readers-writer lock.
pub fn readers_and_writers(store: dlm::Settings, size: (u8, u8), promises: &[Promise]) -> Space<Managed> {
    managed(&[Mode::Ex, Mode::Pr].map(Program::holds), Chosen::Drawn, store, size, promises)
}

/// Readers that want to write what they have read.
pub fn upgrades(store: dlm::Settings, flags: Flags, size: (u8, u8), promises: &[Promise]) -> Space<Managed> {
    managed(&[Program::upgrades(flags)], Chosen::ByProcess, store, size, promises)
}

/// Two resources, which each takes in an order that is drawn.
pub fn two_resources(store: dlm::Settings, size: (u8, u8), promises: &[Promise]) -> Space<Managed> {
    managed(&[Program::both(R1, R2), Program::both(R2, R1)], Chosen::Drawn, store, size, promises)
}

/// A service of which one instance serves and the others stand by.
pub fn standby(store: dlm::Settings, size: (u8, u8), promises: &[Promise]) -> Space<Managed> {
    managed(&[Program::stands_by()], Chosen::ByProcess, store, size, promises)
}

/// Pages of one file, and now and then the whole file.
pub fn hierarchy(store: dlm::Settings, size: (u8, u8), promises: &[Promise]) -> Space<Managed> {
    let programs = [Program::page(1), Program::page(2), Program::holds(Mode::Ex)];
    managed(&programs, Chosen::Drawn, store, size, promises)
}

/// One that stands by for EX, one that reads and then wants to write, and one that only reads: the two conversions wait for the reader, and
/// the second of them for the first (row V7).
pub fn two_conversions(store: dlm::Settings, rounds: u8, promises: &[Promise]) -> Space<Managed> {
    let programs = [Program::stands_by(), Program::upgrades(Flags::NONE), Program::holds(Mode::Pr)];
    managed(&programs, Chosen::ByProcess, store, (3, rounds), promises)
}

/// Linux, which tells who waits that it does, with a new master that grants conversions in this order.
pub fn queues_in_order(order: Order, members: u8) -> dlm::Settings {
    let recovery = Recovery { order, ..Recovery::LINUX };
    let new_master = NewMaster::Asks { recovery, members, minds_epoch: true };
    dlm::Settings { tells_who_waits: true, new_master, ..dlm::Settings::LINUX }
}

/// A cached variable whose master dies once.
pub fn cached_whose_master_dies(
    mut space: Space<CachedVariable>,
    recovery: Recovery,
) -> Space<CachedVariable> {
    let members = space.setup.workload.clients;
    space.bounds.power_losses = 1;
    space.setup.store.new_master = NewMaster::Asks { recovery, members, minds_epoch: true };
    space
}

/// The same with masters that die, so many one after the other, each with another one in its place at once.
pub fn whose_master_dies(mut space: Space<Managed>, new_master: NewMaster, deaths: u8) -> Space<Managed> {
    space.bounds.power_losses = deaths;
    space.setup.store.new_master = new_master;
    space
}

/// The same users over so many nodes, each of which masters what was first asked for from it, with so many deaths of nodes.
pub fn among(mut space: Space<Managed>, nodes: u8, deaths: u8) -> Space<Managed> {
    space.setup.servers = nodes;
    let members = space.setup.workload.clients;
    whose_master_dies(space, asks(members), deaths)
}

/// A new master of so many processes that does as Linux does.
pub fn asks(members: u8) -> NewMaster {
    NewMaster::Asks { recovery: Recovery::LINUX, members, minds_epoch: true }
}

/// Drops an assumption of the claims about a lock manager. Several may be dropped, one after the other.
pub fn drop_from_managed(space: &mut Space<Managed>, assumption: Assumption) {
    drop_from_bounds(&mut space.bounds, assumption);
    let members = space.setup.workload.clients;
    match assumption {
        // Where there is no time, a silence of any length may come at any moment.
        Assumption::NoPause | Assumption::NoSuspend => {
            space.setup.store.removed_after = Some(Micros::seconds(20));
        }
        // It has no disk: what is lost is the master's memory.
        Assumption::NoFailOver => {
            space.bounds.power_losses = 1;
            space.setup.store.new_master = asks(members);
        }
        // What else may be dropped is in the bounds, or means nothing to them.
        _ => {}
    }
}

/// The same, of whatever uses one.
pub fn drop_from_bounds(bounds: &mut Bounds, assumption: Assumption) {
    super::objects::drop_from_objects(bounds, assumption);
}

/// Nodes that cache, in virtual time. Their requests arrive, and nobody is taken for dead for its silence.
pub fn cached_in_time(space: Space<CachedVariable>) -> Setup<CachedVariable> {
    let workload = Workload { think: Micros::seconds(1), ..space.setup.workload };
    Setup { workload, ..space.setup }
}

/// The same users in virtual time: a second of thinking and one of work, ten of `DEADLOCK_WAIT`, and twenty of silence before one is taken for
/// dead (`RECNXINTERVAL`). When the master dies, the next one asks whom the last one had heard.
pub fn in_time(space: Space<Managed>) -> Setup<Managed> {
    let second = Micros::seconds(1);
    let workload = Workload { think: second, hold: second, ..space.setup.workload };
    let lock = Settings { alive_every: Some(second), ..space.setup.lock };
    let removed_after = Some(Micros::seconds(20));
    let store = dlm::Settings { removed_after, new_master: asks(0), ..space.setup.store };
    Setup { workload, lock, store, ..space.setup }
}
