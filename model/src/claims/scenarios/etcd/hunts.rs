//! Where random plans come upon the failures of etcd's locks by themselves: seconds, not ticks.

use crate::claims::cassandra::workload;
use crate::claims::{Hunt, pack_setup};
use crate::cluster::Setup;
use crate::locks::etcd_election::{self, EtcdElection, ResignErrors, Sessions};
use crate::locks::etcd_lease_key::{self, EtcdLeaseKey, Wait};
use crate::locks::etcd_mutex::{ContextEnd, EtcdMutex, KeyName, OnDone, Settings, UnlockErrors};
use crate::machine::Lock;
use crate::stores::etcd::session::SessionSettings;
use crate::stores::etcd::{self as store, LeaseClock};
use crate::time::Micros;
use crate::workload::{Calls, Pace, Workload, Writes};
use picklock_properties::Promise;

// Leases that end.

/// Waiters that are cut off for longer than a lease, among holders who hold for a moment: hardly one of those outlives its lease,
/// for nobody pauses. The look for the key alone leaves the window that the row's note speaks of, one run in seven thousand here.
pub(super) fn e1() -> Hunt {
    hunt(
        &["partition"],
        |setup| {
            in_passing(&mut setup.workload);
            setup.lock.session.ttl = Some(SHORT_LEASE);
            setup.lock.on_done = OnDone::GoOn;
            setup.lock.checks_own_key = false;
        },
        |setup| {
            setup.lock.checks_own_key = true;
            setup.lock.on_done = OnDone::Stop;
        },
    )
}

pub(super) fn e2() -> Hunt {
    hunt(&["pause"], |_| {}, fenced)
}

/// As row E1.
pub(super) fn e3() -> Hunt {
    election(&["partition"], |setup, is_repaired| {
        in_passing(&mut setup.workload);
        setup.lock.session.ttl = Some(SHORT_LEASE);
        setup.lock.on_done = if is_repaired { OnDone::Stop } else { OnDone::GoOn };
        setup.lock.checks_own_key = is_repaired;
    })
}

/// With clients that stop before their lease is over: what is left is that the leader ends it before that.
pub(super) fn e7() -> Hunt {
    hunt(
        &["clock"],
        |setup| setup.store.lease_clock = LeaseClock::Wall,
        |setup| setup.store.lease_clock = LeaseClock::Monotonic,
    )
}

// Calls of unknown outcome.

/// One session locks again and again.
pub(super) fn e4() -> Hunt {
    hunt(
        &["loss"],
        |setup| {
            setup.lock.unlock_errors = UnlockErrors::CalledAgainLater;
            setup.lock.guards_unlock = false;
        },
        |setup| {
            setup.lock.unlock_errors = UnlockErrors::CalledAgain;
            setup.lock.guards_unlock = true;
        },
    )
}

/// A pause across the end of the caller's context. Leases that do not end: no holder outlives one while it pauses.
pub(super) fn e11() -> Hunt {
    hunt(
        &["pause"],
        |setup| {
            in_passing(&mut setup.workload);
            setup.workload.hold = Micros::millis(50);
            setup.lock.session.ttl = None;
            setup.lock.checks_own_key = false;
            setup.lock.patience = Some(Micros::millis(200));
            setup.lock.context_end = ContextEnd::DeletesAndSucceeds;
        },
        |setup| setup.lock.context_end = ContextEnd::Fails,
    )
}

pub(super) fn e12() -> Hunt {
    hunt(
        &["loss"],
        |setup| {
            setup.promises = [Promise::DeadlockFreedom].into_iter().collect();
            setup.lock.key_name = KeyName::DrawnAnew;
        },
        |setup| setup.lock.key_name = KeyName::Lease,
    )
}

/// Nobody comes back: who campaigns again finds the key that it has left, and resigns by it.
pub(super) fn e13() -> Hunt {
    election(&["loss"], |setup, is_repaired| {
        once(setup);
        if !is_repaired {
            setup.lock.resign_errors = ResignErrors::Forgotten;
        }
    })
}

/// Calls are given up soon.
pub(super) fn e14() -> Hunt {
    election(&["delay"], |setup, is_repaired| {
        setup.lock.session.request_timeout = Some(Micros::millis(200));
        if !is_repaired {
            setup.lock.resign_errors = ResignErrors::Forgotten;
        }
    })
}

/// Somebody has to come after the last campaign of another: clients that come and go as they like.
pub(super) fn e15() -> Hunt {
    election(&["duplicate"], |setup, is_repaired| {
        once(setup);
        (setup.workload.rounds, setup.workload.think) = (4, Micros::millis(100));
        setup.workload.hold = Micros::millis(1);
        setup.workload.pace = Some(Pace { seed: 15, spread_per_mille: 1000 });
        if is_repaired {
            setup.lock.sessions = Sessions::OneEach;
        }
    })
}

pub(super) fn e16() -> Hunt {
    lease_key(&["loss"], |setup, is_repaired| setup.lock.guards_unlock = is_repaired)
}

pub(super) fn e17() -> Hunt {
    lease_key(&["delay"], |setup, is_repaired| {
        once(setup);
        // Nobody calls again, or a transaction that was late stops the lock as well (row E15).
        setup.lock.session.request_timeout = None;
        if !is_repaired {
            setup.lock.wait = Wait::WatchFromNow;
        }
    })
}

pub(super) fn e18() -> Hunt {
    lease_key(&["loss"], |setup, is_repaired| {
        once(setup);
        setup.lock.finds_own_key = is_repaired;
    })
}

// What random plans are let loose on.

/// The repaired election with a flaw, and the same without.
fn election(faults: &'static [&'static str], change: impl Fn(&mut Setup<EtcdElection>, bool)) -> Hunt {
    let repaired = etcd_election::Settings::repaired();
    let session = SessionSettings { ttl: Some(LEASE), ..repaired.session };
    of("etcd-election-repaired", faults, etcd_election::Settings { session, ..repaired }, change)
}

/// The repaired lock on one key with a flaw, and the same without.
fn lease_key(faults: &'static [&'static str], change: impl Fn(&mut Setup<EtcdLeaseKey>, bool)) -> Hunt {
    let repaired = etcd_lease_key::Settings::repaired();
    let session = SessionSettings { ttl: Some(LEASE), ..repaired.session };
    of("etcd-lease-key-repaired", faults, etcd_lease_key::Settings { session, ..repaired }, change)
}

fn of<L: Lock<Store = store::Etcd>>(
    lock: &'static str,
    faults: &'static [&'static str],
    settings: L::Settings,
    change: impl Fn(&mut Setup<L>, bool),
) -> Hunt {
    let changed = |is_repaired| {
        let mut setup = contended(1, settings.clone());
        change(&mut setup, is_repaired);
        pack_setup::<L>(&setup)
    };
    Hunt { lock, setup: changed(false), fixed_lock: lock, fixed: changed(true), faults }
}

/// Many clients that hold once, for a moment, and are to be served all.
fn once<L: Lock>(setup: &mut Setup<L>) {
    (setup.workload.clients, setup.workload.rounds) = (6, 1);
    setup.workload.hold = Micros::millis(5);
    setup.promises = [Promise::DeadlockFreedom].into_iter().collect();
}

/// Many clients that hold for a moment, again and again.
fn in_passing(workload: &mut Workload) {
    (workload.clients, workload.rounds) = (4, 60);
    (workload.think, workload.hold) = (Micros::millis(50), Micros::millis(5));
}

const LEASE: Micros = Micros::seconds(6);

/// For rows in which a client must be cut off for as long as a lease lasts.
const SHORT_LEASE: Micros = Micros::seconds(2);

const LOCK: &str = "etcd-mutex-repaired";

/// The repaired mutex, or the member, with a flaw, and the same without.
fn hunt(
    faults: &'static [&'static str],
    flaw: impl Fn(&mut Setup<EtcdMutex>),
    repair: impl Fn(&mut Setup<EtcdMutex>),
) -> Hunt {
    let fixed = crowded(1, |setup| {
        flaw(setup);
        repair(setup);
    });
    Hunt { lock: LOCK, setup: crowded(1, flaw), fixed_lock: LOCK, fixed, faults }
}

/// The mutex among them.
pub(super) fn crowded(servers: u8, change: impl Fn(&mut Setup<EtcdMutex>)) -> Vec<u8> {
    let repaired = Settings::repaired();
    let session = SessionSettings { ttl: Some(LEASE), ..repaired.session };
    let mut setup = contended(servers, Settings { session, ..repaired });
    change(&mut setup);
    pack_setup::<EtcdMutex>(&setup)
}

/// Clients that stand in a queue all the time, with a lock that leans on nothing but its lease.
fn contended<L: Lock<Store = store::Etcd>>(servers: u8, lock: L::Settings) -> Setup<L> {
    Setup {
        lock,
        store: store::Settings::default(),
        servers,
        workload: Workload {
            rounds: 6,
            think: Micros::millis(50),
            hold: Micros::seconds(4),
            ..workload(3, Calls::Lock)
        },
        promises: [Promise::MutualExclusion].into_iter().collect(),
    }
}

/// Holders write to a resource that looks at their tokens.
fn fenced(setup: &mut Setup<EtcdMutex>) {
    setup.workload.writes = Writes::Resource;
    setup.workload.resource_checks = true;
    setup.promises = [Promise::FencedResource].into_iter().collect();
}
