//! Where random plans come upon the failures of the ZooKeeper recipe by themselves: seconds, not ticks, and an ensemble
//! whose leader may change.

use crate::claims::cassandra::workload;
use crate::claims::scenarios::varied_unless_shaped;
use crate::claims::zookeeper as spaces;
use crate::claims::{Hunt, pack_setup};
use crate::cluster::Setup;
use crate::locks::znode_probe::{self, ZnodeProbe};
use crate::locks::zookeeper_lock::{
    Fence, OnConnectionLoss, Parent, Retries, Settings, Watch, ZookeeperLock,
};
use crate::stores::zookeeper::{self as store, Counter, Election, Ephemerals, SessionClock};
use crate::time::Micros;
use crate::workload::{Calls, Workload, Writes};
use picklock_properties::Promise;

// Requests of unknown outcome.

/// With a look at a server that is not behind (else: row Z19).
pub(super) fn z1() -> Hunt {
    hunt(
        &["loss"],
        |setup| {
            progress(setup);
            setup.lock.guid = false;
            setup.lock.sync_before_search = true;
        },
        |setup| setup.lock.guid = true,
    )
}

/// With a look at a server that is not behind: else the repaired lock deadlocks by row Z19.
pub(super) fn z2() -> Hunt {
    hunt(
        &["loss"],
        |setup| {
            progress(setup);
            setup.lock.retries = Retries::GivenUp;
            setup.lock.sync_before_search = true;
        },
        |setup| setup.lock.retries = Retries::BackgroundDelete,
    )
}

pub(super) fn z19() -> Hunt {
    Hunt {
        lock: LOCK,
        setup: lagging(false),
        fixed_lock: LOCK,
        fixed: lagging(true),
        faults: &["delay", "partition"],
    }
}

/// On servers with the real ones' default times, a client may come to one that is behind.
pub(super) fn lagging(sync_before_search: bool) -> Vec<u8> {
    crowded(|setup| {
        progress(setup);
        setup.lock.sync_before_search = sync_before_search;
        setup.store.election = Some(SLOW_ELECTION);
        setup.workload.rounds = 8;
        setup.workload.hold = Micros::millis(500);
    })
}

// Sessions that end.

pub(super) fn z3() -> Hunt {
    Hunt {
        lock: LOCK,
        setup: crowded(|_| {}),
        fixed_lock: REPAIRED,
        fixed: crowded_and_fenced(|_| {}),
        faults: &["pause"],
    }
}

/// Stopping alone does not do on every ensemble, as the row's note says: what is repaired is the resource's side.
pub(super) fn z4() -> Hunt {
    Hunt {
        setup: crowded(holds_until_answered),
        fixed: crowded_and_fenced(holds_until_answered),
        faults: &["partition"],
        ..z3()
    }
}

/// A host that dies tells nobody, and the client that it served hears nothing more: what it has heard last is what counts.
pub(super) fn z20() -> Hunt {
    Hunt {
        lock: REPAIRED,
        setup: served_by_a_dying_host(),
        fixed: crowded_and_fenced(holds_long),
        faults: &["power-loss"],
        ..z3()
    }
}

pub(super) fn served_by_a_dying_host() -> Vec<u8> {
    crowded(|setup| {
        setup.lock = Settings::repaired();
        holds_long(setup);
    })
}

fn holds_long(setup: &mut Setup<ZookeeperLock>) {
    setup.store.election = Some(Election { heartbeat: Micros::millis(1500), timeout: Micros::seconds(15) });
    setup.workload.rounds = 12;
    setup.workload.hold = Micros::seconds(7);
}

/// What holders do is done only when the resource has answered: who is cut off holds for as long as that takes.
fn holds_until_answered(setup: &mut Setup<ZookeeperLock>) {
    setup.workload.rounds = 4;
    setup.workload.think = Micros::seconds(2);
    setup.workload.hold = Micros::seconds(3);
    setup.workload.writes = Writes::Resource;
}

/// On one server, with clients that stop when their connection is gone (else: row Z4): all are told at once, and it takes a
/// message that is lost for the holder to be the last to know.
pub(super) fn z12() -> Hunt {
    hunt(
        &["clock", "loss"],
        |setup| {
            setup.servers = 1;
            setup.store.election = None;
            setup.workload.clients = 6;
            setup.store.session_clock = SessionClock::Wall;
            setup.lock.session.reconnect_delay = Micros::millis(100);
            setup.lock.on_connection_loss = OnConnectionLoss::Stop;
        },
        |setup| setup.store.session_clock = SessionClock::Monotonic,
    )
}

pub(super) fn z11() -> Hunt {
    hunt(
        &["crash"],
        |setup| {
            progress(setup);
            setup.store.ephemerals = Ephemerals::StayBehind;
        },
        |setup| setup.store.ephemerals = Ephemerals::GoWithTheirSession,
    )
}

// The order of the queue. Nothing has to go wrong.

/// A lock that has been used for 215 days.
pub(super) fn z5() -> Hunt {
    hunt(
        &[],
        |setup| {
            setup.store.sequence = Counter::Wraps;
            setup.store.first_sequence = i32::MAX - 5;
        },
        |setup| setup.lock.parent = Parent::RecreatedWhenEmpty,
    )
}

pub(super) fn z7() -> Hunt {
    hunt(
        &[],
        |setup| {
            setup.lock.relists = false;
            setup.lock.watch = Watch::First;
        },
        |setup| setup.lock.watch = Watch::Predecessor,
    )
}

pub(super) fn z8() -> Hunt {
    hunt(
        &[],
        |setup| {
            setup.lock.watch = Watch::Parent;
            setup.promises = [Promise::NoHerd].into_iter().collect();
        },
        |setup| setup.lock.watch = Watch::Predecessor,
    )
}

// What lies outside of ZooKeeper.

/// Replies that are late: who has just connected, and is told late, begins to read when the writer knows already, on a
/// server that does not.
pub(super) fn z9() -> Hunt {
    let probe = |sync_before_read| {
        pack_setup::<ZnodeProbe>(&Setup {
            lock: znode_probe::Settings { sync_before_read, ..znode_probe::Settings::default() },
            store: ensemble(),
            servers: 3,
            workload: workload(3, Calls::Lock),
            promises: [Promise::FreshRead].into_iter().collect(),
        })
    };
    Hunt { lock: PROBE, setup: probe(false), fixed_lock: PROBE, fixed: probe(true), faults: &["delay"] }
}

/// Clients that leave the parent empty between their rounds, so that it is created again.
pub(super) fn z13() -> Hunt {
    hunt(
        &["pause"],
        |setup| {
            fenced(setup);
            setup.store.first_sequence = 5;
            setup.lock.parent = Parent::RecreatedWhenEmpty;
            setup.lock.fence = Fence::Sequence;
            setup.workload.think = Micros::seconds(8);
            setup.workload.hold = Micros::seconds(1);
        },
        |setup| setup.lock.fence = Fence::Czxid,
    )
}

pub(super) fn z18() -> Hunt {
    hunt(&["pause"], fenced, |setup| setup.lock.fence = Fence::Czxid)
}

// What random plans are let loose on.

const LOCK: &str = "zookeeper-lock";

const PROBE: &str = "znode-probe";

const REPAIRED: &str = "zookeeper-lock-repaired";

/// The real servers' defaults: `tickTime` 2 s, `syncLimit` 5. A session may be shorter than what a follower is given.
const SLOW_ELECTION: Election = Election { heartbeat: Micros::seconds(1), timeout: Micros::seconds(10) };

/// The recipe, or the servers, with a flaw, and the same without.
fn hunt(
    faults: &'static [&'static str],
    flaw: impl Fn(&mut Setup<ZookeeperLock>),
    repair: impl Fn(&mut Setup<ZookeeperLock>),
) -> Hunt {
    let fixed = crowded(|setup| {
        flaw(setup);
        repair(setup);
    });
    Hunt { lock: LOCK, setup: crowded(flaw), fixed_lock: LOCK, fixed, faults }
}

/// Clients that stand in a queue all the time, on an ensemble of three.
fn crowded(change: impl Fn(&mut Setup<ZookeeperLock>)) -> Vec<u8> {
    let usual = Workload {
        rounds: 6,
        think: Micros::millis(50),
        hold: Micros::seconds(4),
        ..workload(3, Calls::Lock)
    };
    let mut setup = Setup {
        lock: Settings::as_written(),
        store: ensemble(),
        servers: 3,
        workload: usual,
        promises: [Promise::MutualExclusion].into_iter().collect(),
    };
    change(&mut setup);
    setup.workload = varied_unless_shaped(setup.workload, &usual);
    pack_setup::<ZookeeperLock>(&setup)
}

/// Servers that miss each other soon.
fn ensemble() -> store::Settings {
    store::Settings { election: Some(spaces::ELECTION), ..store::Settings::default() }
}

/// The same with czxids as tokens, which the resource checks, and holders that stop.
fn crowded_and_fenced(change: impl Fn(&mut Setup<ZookeeperLock>)) -> Vec<u8> {
    crowded(|setup| {
        setup.lock = Settings::repaired();
        fenced(setup);
        change(setup);
    })
}

/// Holders write to a resource that looks at tokens, if there are any.
fn fenced(setup: &mut Setup<ZookeeperLock>) {
    setup.workload.writes = Writes::Resource;
    setup.workload.resource_checks = true;
    setup.promises = [Promise::FencedResource].into_iter().collect();
}

fn progress(setup: &mut Setup<ZookeeperLock>) {
    setup.promises = [Promise::DeadlockFreedom].into_iter().collect();
}
