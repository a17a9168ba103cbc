//! Where random plans come upon the failures of etcd's mutex by themselves: seconds, not ticks.

use crate::claims::cassandra::workload;
use crate::claims::{Hunt, pack_setup};
use crate::cluster::Setup;
use crate::locks::EtcdMutex;
use crate::locks::etcd_mutex::{KeyName, Settings, UnlockErrors};
use crate::stores::etcd::session::SessionSettings;
use crate::stores::etcd::{self as store, LeaseClock};
use crate::time::Micros;
use crate::workload::{Calls, Workload, Writes};
use picklock_properties::Promise;

// Leases that end.

pub(super) fn e2() -> Hunt {
    hunt(&["pause"], |_| {}, fenced)
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

// What random plans are let loose on.

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

/// Clients that stand in a queue all the time, with a lock that leans on nothing but its lease.
pub(super) fn crowded(servers: u8, change: impl Fn(&mut Setup<EtcdMutex>)) -> Vec<u8> {
    let repaired = Settings::repaired();
    let session = SessionSettings { ttl: Some(Micros::seconds(6)), ..repaired.session };
    let mut setup = Setup {
        lock: Settings { session, ..repaired },
        store: store::Settings::default(),
        servers,
        workload: Workload {
            rounds: 6,
            think: Micros::millis(50),
            hold: Micros::seconds(4),
            ..workload(3, Calls::Lock)
        },
        promises: [Promise::MutualExclusion].into_iter().collect(),
    };
    change(&mut setup);
    pack_setup::<EtcdMutex>(&setup)
}

/// Holders write to a resource that looks at their tokens.
fn fenced(setup: &mut Setup<EtcdMutex>) {
    setup.workload.writes = Writes::Resource;
    setup.workload.resource_checks = true;
    setup.promises = [Promise::FencedResource].into_iter().collect();
}
