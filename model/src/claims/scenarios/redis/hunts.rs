//! Where random plans come upon the failures of the Redis locks by themselves: seconds, not ticks, and clients that come
//! in each other's way.

use crate::claims::cassandra::workload;
use crate::claims::redis::FAILOVER;
use crate::claims::scenarios::varied_unless_shaped;
use crate::claims::{Hunt, pack_setup};
use crate::cluster::Setup;
use crate::locks::redis_readers_writer::{self as shared, READ, Readers, RedisReadersWriter, WRITE};
use crate::locks::redis_semaphore::{self as permits, RedisSemaphore, Take};
use crate::locks::redis_single::{self as single, Fencing, RedisSingle, Release};
use crate::locks::redlock::{
    self as many, DrawnFor, ElapsedClock, ExtendBy, Extension, Redlock, Settles, ValidityFrom,
};
use crate::stores::redis::{self as store, Eviction, ExpiryClock, Layout, Persistence, Tenant, TenantDoes};
use crate::time::Micros;
use crate::workload::{AccessChoice, Calls, Pace, Workload, Writes};
use picklock_properties::{Promise, PromiseSet};

// Time, and what clients do with it.

pub(super) fn r1() -> Hunt {
    Hunt {
        lock: REDLOCK,
        setup: crowded(|_| {}),
        fixed_lock: "redis-single-fenced",
        fixed: one_fenced(),
        faults: &["pause"],
    }
}

/// Replies that are late by themselves, and not because their reader was paused: a pause would strike holders as well, and
/// nothing but a token helps then (row R1).
pub(super) fn r2() -> Hunt {
    on_redlock(
        &["delay"],
        |setup| {
            setup.lock.node_timeout = None;
            setup.lock.validity_from = ValidityFrom::Replies;
        },
        |setup| setup.lock.validity_from = ValidityFrom::Start,
    )
}

pub(super) fn r3() -> Hunt {
    on_redlock(
        &["clock"],
        |setup| setup.lock.drift_margin = WIDE_MARGIN,
        |setup| setup.store.expiry_clock = ExpiryClock::Monotonic,
    )
}

/// On nodes that nobody's wall clock troubles (else: row R3), with work that is longer than a lock is valid.
pub(super) fn r9() -> Hunt {
    on_redlock(
        &["clock"],
        |setup| {
            setup.store.expiry_clock = ExpiryClock::Monotonic;
            setup.lock.drift_margin = WIDE_MARGIN;
            setup.lock.elapsed_clock = ElapsedClock::Wall;
            setup.workload.hold = Micros::seconds(20);
        },
        |setup| setup.lock.elapsed_clock = ElapsedClock::Monotonic,
    )
}

/// Likewise, with clients that nobody's wall clock troubles, either: what is left of wrong clocks is their drift.
pub(super) fn r10() -> Hunt {
    on_redlock(
        &["clock"],
        |setup| {
            setup.store.expiry_clock = ExpiryClock::Monotonic;
            setup.workload.hold = Micros::seconds(20);
        },
        |setup| setup.lock.drift_margin = WIDE_MARGIN,
    )
}

pub(super) fn r16() -> Hunt {
    on_redlock(
        &["delay"],
        |setup| {
            setup.lock.node_timeout = None;
            let extension = Extension::as_written(Micros::seconds(10));
            setup.lock.extension = Some(Extension { validity_from: ValidityFrom::Replies, ..extension });
            // Longer than all extensions last.
            setup.workload.hold = Micros::seconds(40);
            setup.workload.rounds = 2;
        },
        |setup| setup.lock.extension = Some(Extension::as_written(Micros::seconds(10))),
    )
}

// Servers that forget.

pub(super) fn r4() -> Hunt {
    on_redlock(
        &["crash"],
        |setup| setup.store.persistence = Persistence::None,
        |setup| setup.store.restart_delay = Some(Micros::seconds(11)),
    )
}

pub(super) fn r5() -> Hunt {
    on_redlock(
        &["power-loss"],
        |setup| setup.store.persistence = Persistence::AofEverySecond,
        |setup| setup.store.persistence = Persistence::AofAlways,
    )
}

/// Nothing has to go wrong: somebody else fills the memory sooner than a waiter asks for the key again, which counts as a use.
pub(super) fn r23() -> Hunt {
    on_one(
        &[],
        |setup| {
            setup.store.keys_max = Some(4);
            setup.store.tenant = Some(Tenant { period: Micros::millis(100), does: TenantDoes::Writes });
            setup.store.eviction = Eviction::AllKeysLru;
        },
        |setup| setup.store.eviction = Eviction::No,
    )
}

// Failover.

pub(super) fn r7() -> Hunt {
    Hunt {
        lock: FAILING_OVER,
        setup: failing_over(|_| {}),
        fixed_lock: REDLOCK,
        fixed: crowded(|_| {}),
        faults: &["crash", "power-loss"],
    }
}

// How a lock is given back.

pub(super) fn r11() -> Hunt {
    released_late(Release::Delete)
}

pub(super) fn r12() -> Hunt {
    released_late(Release::GetThenDelete)
}

/// Work that is longer than a lock is valid, so that every release is on its way when the key dies.
fn released_late(flaw: Release) -> Hunt {
    on_one(
        &["delay"],
        |setup| {
            setup.lock.release = flaw;
            setup.workload.hold = Micros::seconds(20);
        },
        |setup| setup.lock.release = Release::CompareAndDelete,
    )
}

/// Work that is longer than a lock is ever extended, so that one who was paused comes back to it when the next one's lock has
/// come and gone.
pub(super) fn r15() -> Hunt {
    let extended = |how| {
        move |setup: &mut Setup<RedisSingle>| {
            setup.lock.extension = Some(single::Extension { lead: Micros::seconds(8), times_max: 1, how });
            setup.workload = Workload {
                rounds: 3,
                think: Micros::seconds(20),
                hold: Micros::seconds(40),
                ..workload(2, Calls::Lock)
            };
            setup.promises = [Promise::LeaseLoss].into_iter().collect();
        }
    };
    on_one(&["pause"], extended(ExtendBy::ExtendOrCreate), extended(ExtendBy::CompareAndExtend))
}

/// A client library that sends again, and a key without a time to live.
pub(super) fn r24() -> Hunt {
    on_one(&["duplicate"], |setup| *setup = resent(None), |setup| *setup = resent(Some(Micros::seconds(10))))
}

pub(super) fn r34() -> Hunt {
    on_redlock(
        &["delay"],
        |setup| setup.lock.value = DrawnFor::PerCall,
        |setup| setup.lock.value = DrawnFor::PerAttempt,
    )
}

/// Clients that ask a server again and again, and hold for a moment.
pub(super) fn resent(ttl: Option<Micros>) -> Setup<RedisSingle> {
    let mut workload = workload(2, Calls::Lock);
    workload.rounds = 4;
    workload.hold = Micros::seconds(1);
    workload.think = Micros::seconds(1);
    Setup {
        lock: single::Settings {
            ttl,
            request_timeout: Some(Micros::millis(20)),
            ..single::Settings::as_written()
        },
        store: store::Settings { persistence: Persistence::AofAlways, ..store::Settings::default() },
        servers: 1,
        workload,
        promises: [Promise::DeadlockFreedom].into_iter().collect(),
    }
}

// Getting the lock at all.

/// Nothing has to go wrong: nine who begin in step, as after a deployment, and wait for fifteen seconds each time. Progress is
/// owed within a minute and three lives of a key, and so six split votes in a row count as for ever. The longest of the
/// delays by chance is as long.
pub(super) fn r18() -> Hunt {
    on_redlock(
        &[],
        |setup| {
            progress(setup);
            setup.servers = 5;
            setup.workload.clients = 9;
            setup.workload.rounds = 1;
            setup.lock.retry_delay = Micros::seconds(15);
            setup.lock.retry_choices = 1;
        },
        |setup| {
            setup.lock.retry_delay = Micros::millis(200);
            setup.lock.retry_choices = 75;
        },
    )
}

pub(super) fn r19() -> Hunt {
    on_redlock(
        &[],
        |setup| {
            progress(setup);
            two_of_two(setup);
            setup.lock.settles = Settles::Majority;
        },
        |setup| setup.lock.settles = Settles::All,
    )
}

/// A node that starts again stays away for as long as the longest lock of anybody lasts (row R4), two minutes here; the other
/// six are enough, should two more be struck.
pub(super) fn r20() -> Hunt {
    on_redlock(
        &["crash"],
        |setup| {
            progress(setup);
            setup.servers = 7;
            setup.store.restart_delay = Some(Micros::seconds(120));
            setup.lock.minority_error_fails = true;
        },
        |setup| setup.lock.minority_error_fails = false,
    )
}

pub(super) fn r21() -> Hunt {
    on_redlock(
        &[],
        |setup| {
            progress(setup);
            two_of_two(setup);
            setup.lock.ttl = None;
            setup.lock.unlocks_after_failure = false;
        },
        |setup| setup.lock.unlocks_after_failure = true,
    )
}

pub(super) fn r25() -> Hunt {
    on_redlock(
        &["crash"],
        |setup| {
            progress(setup);
            setup.lock.node_timeout = None;
        },
        |setup| setup.lock.node_timeout = Some(Micros::millis(50)),
    )
}

fn progress(setup: &mut Setup<Redlock>) {
    setup.promises = [Promise::DeadlockFreedom].into_iter().collect();
}

fn two_of_two(setup: &mut Setup<Redlock>) {
    setup.servers = 2;
    setup.workload.clients = 2;
}

// Locks that several may hold.

/// Work that is longer than a grant lasts, so that every release is on its way when the counter dies.
pub(super) fn r29() -> Hunt {
    let setup = |readers| {
        let lock = shared::Settings { readers, ..shared::Settings::counted() };
        let mut setup = shared_by(lock, 4);
        setup.workload.hold = Micros::seconds(20);
        setup.workload.access = AccessChoice::Drawn { seed: 0, weights: [1, 2, 0, 0, 0, 0, 0, 0] };
        pack_setup(&setup)
    };
    Hunt {
        lock: SHARED,
        setup: setup(Readers::CountedFromZero),
        fixed_lock: SHARED,
        fixed: setup(Readers::Entries),
        faults: &["delay"],
    }
}

/// Nothing has to go wrong: seven readers who come back soon, for longer than any of eight is to wait. Not at once: among readers
/// who are kept out by its mark, a writer that comes back at once would always be the first.
pub(super) fn r30() -> Hunt {
    let setup = |writers_first| {
        let mut setup = shared_by(shared::Settings { writers_first, ..shared::Settings::repaired() }, 8);
        setup.workload.rounds = 200;
        setup.workload.hold = Micros::seconds(6);
        setup.workload.think = Micros::seconds(1);
        setup.workload.pace = Some(Pace { seed: 0, spread_per_mille: 500 });
        setup.workload.access = AccessChoice::ByClient([WRITE, READ, READ, READ, READ, READ, READ, READ]);
        setup.promises = [Promise::StarvationFreedom].into_iter().collect();
        pack_setup(&setup)
    };
    Hunt { lock: SHARED, setup: setup(false), fixed_lock: SHARED, fixed: setup(true), faults: &[] }
}

/// Nothing has to go wrong.
pub(super) fn r31() -> Hunt {
    taken(Take::ByRank)
}

/// Nothing has to go wrong.
pub(super) fn r32() -> Hunt {
    taken(Take::ByCounter)
}

/// One client more than there are permits, or two.
fn taken(flaw: Take) -> Hunt {
    let setup = |take| {
        pack_setup(&Setup::<RedisSemaphore> {
            lock: permits::Settings { take, ..permits::Settings::basic() },
            store: store::Settings { persistence: Persistence::AofAlways, ..store::Settings::default() },
            servers: 1,
            workload: busy(4),
            promises: [Promise::MutualExclusion].into_iter().collect(),
        })
    };
    Hunt { lock: PERMITS, setup: setup(flaw), fixed_lock: PERMITS, fixed: setup(Take::ByCount), faults: &[] }
}

fn shared_by(lock: shared::Settings, clients: u8) -> Setup<RedisReadersWriter> {
    Setup {
        lock,
        store: store::Settings { persistence: Persistence::AofAlways, ..store::Settings::default() },
        servers: 1,
        workload: busy(clients),
        promises: [Promise::MutualExclusion].into_iter().collect(),
    }
}

/// Clients who come in each other's way.
fn busy(clients: u8) -> Workload {
    Workload {
        rounds: 6,
        think: Micros::seconds(1),
        hold: Micros::seconds(3),
        ..workload(clients, Calls::Lock)
    }
}

// Fencing.

/// Clients that wait for their server for as long as it takes, and look at no clock.
pub(super) fn f1() -> Hunt {
    on_one(
        &["pause"],
        |setup| {
            fenced(&mut setup.workload, &mut setup.promises);
            setup.lock = single::Settings {
                request_timeout: None,
                fencing: Fencing::AfterGrant,
                ..single::Settings::as_written()
            };
        },
        |setup| setup.lock.fencing = Fencing::WithGrant,
    )
}

/// The resource has to restart between the write of a later holder and that of a paused one.
pub(super) fn f3() -> Hunt {
    on_one(
        &["pause", "resource"],
        |setup| {
            fenced(&mut setup.workload, &mut setup.promises);
            setup.lock = single::Settings {
                request_timeout: None,
                fencing: Fencing::WithGrant,
                ..single::Settings::as_written()
            };
            setup.workload.resource_forgets = true;
        },
        |setup| setup.workload.resource_forgets = false,
    )
}

/// A link that is cut makes a second master, and requests that are lost take some of the clients there: both count on from
/// where they were. A write that is lost comes a second later.
pub(super) fn f2() -> Hunt {
    let counting = |setup: &mut Setup<RedisSingle>| {
        fenced(&mut setup.workload, &mut setup.promises);
        setup.lock.fencing = Fencing::WithGrant;
        setup.lock.request_timeout = Some(Micros::millis(50));
        setup.lock.retry_delay = Micros::millis(50);
        setup.workload.clients = 4;
        setup.workload.hold = Micros::seconds(2);
    };
    Hunt {
        lock: "redis-failover-fenced",
        setup: failing_over(|setup| {
            counting(setup);
            setup.store.layout =
                Layout::Replicated { ping_period: Micros::millis(500), down_after: Micros::seconds(1) };
        }),
        fixed_lock: "redis-single-fenced",
        fixed: one(counting),
        faults: &["loss", "partition"],
    }
}

/// Clients in step, as in row R18: the votes are split again and again, and each time other nodes count further. They ask no
/// more than once while somebody holds, so that the counts stay near to each other.
pub(super) fn f4() -> Hunt {
    let ttl = Micros::seconds(2);
    let in_step = Workload { rounds: 4, hold: Micros::seconds(1), ..workload(5, Calls::Lock) };
    Hunt {
        lock: "redlock-fenced",
        setup: crowded(|setup| {
            setup.servers = 5;
            setup.workload = in_step;
            fenced(&mut setup.workload, &mut setup.promises);
            setup.lock = many::Settings {
                ttl: Some(ttl),
                drift_margin: many::Settings::usual_margin(ttl),
                retry_delay: Micros::seconds(1),
                retry_choices: 1,
                fencing: true,
                ..setup.lock
            };
        }),
        fixed_lock: "redis-single-fenced",
        fixed: one(|setup| {
            setup.workload = in_step;
            fenced(&mut setup.workload, &mut setup.promises);
            setup.lock = single::Settings {
                ttl: Some(ttl),
                retry_delay: Micros::seconds(1),
                retry_choices: 1,
                ..single::Settings::repaired()
            };
        }),
        faults: &["pause"],
    }
}

/// Five nodes that count for themselves, and clients who are not in step.
pub(super) fn fenced_by_quorum() -> Vec<u8> {
    crowded(|setup| {
        setup.servers = 5;
        setup.workload.rounds = 8;
        setup.lock.fencing = true;
        fenced(&mut setup.workload, &mut setup.promises);
    })
}

/// One node, with a token from its counter, checked by the resource.
pub(super) fn one_fenced() -> Vec<u8> {
    one(|setup| {
        setup.lock = single::Settings::repaired();
        fenced(&mut setup.workload, &mut setup.promises);
    })
}

fn fenced(workload: &mut Workload, promises: &mut PromiseSet) {
    workload.writes = Writes::Resource;
    workload.resource_checks = true;
    *promises = [Promise::FencedResource].into_iter().collect();
}

// What random plans are let loose on.

const REDLOCK: &str = "redlock";

const SINGLE: &str = "redis-single";

const SHARED: &str = "redis-readers-writer";

const PERMITS: &str = "redis-semaphore";

const FAILING_OVER: &str = "redis-failover";

/// Wide enough for any drift that a plan draws: what is left is clocks that are set.
const WIDE_MARGIN: Micros = Micros::seconds(5);

/// Redlock with a flaw, and the same without.
fn on_redlock(
    faults: &'static [&'static str],
    flaw: impl Fn(&mut Setup<Redlock>),
    repair: impl Fn(&mut Setup<Redlock>),
) -> Hunt {
    let fixed = crowded(|setup| {
        flaw(setup);
        repair(setup);
    });
    Hunt { lock: REDLOCK, setup: crowded(flaw), fixed_lock: REDLOCK, fixed, faults }
}

/// The lock on one instance with a flaw, and the same without.
fn on_one(
    faults: &'static [&'static str],
    flaw: impl Fn(&mut Setup<RedisSingle>),
    repair: impl Fn(&mut Setup<RedisSingle>),
) -> Hunt {
    let fixed = one(|setup| {
        flaw(setup);
        repair(setup);
    });
    Hunt { lock: SINGLE, setup: one(flaw), fixed_lock: SINGLE, fixed, faults }
}

/// Redlock on three nodes with clients that come in each other's way, so that nobody has more than a majority.
fn crowded(change: impl Fn(&mut Setup<Redlock>)) -> Vec<u8> {
    let mut setup = Setup {
        lock: many::Settings::multiplexed(),
        store: durable(),
        servers: 3,
        workload: rush(),
        promises: [Promise::MutualExclusion].into_iter().collect(),
    };
    change(&mut setup);
    setup.workload = varied_unless_shaped(setup.workload, &rush());
    pack_setup::<Redlock>(&setup)
}

/// One node, and clients that mind their validity.
fn one(change: impl Fn(&mut Setup<RedisSingle>)) -> Vec<u8> {
    let mut setup = Setup {
        lock: single::Settings { fencing: Fencing::None, ..single::Settings::repaired() },
        store: durable(),
        servers: 1,
        workload: rush(),
        promises: [Promise::MutualExclusion].into_iter().collect(),
    };
    change(&mut setup);
    setup.workload = varied_unless_shaped(setup.workload, &rush());
    pack_setup::<RedisSingle>(&setup)
}

/// The same on a master and its replica.
fn failing_over(change: impl Fn(&mut Setup<RedisSingle>)) -> Vec<u8> {
    one(|setup| {
        setup.servers = 2;
        setup.store.layout = FAILOVER;
        change(setup);
    })
}

/// Nodes that forget nothing.
fn durable() -> store::Settings {
    store::Settings { persistence: Persistence::AofAlways, ..store::Settings::default() }
}

/// Clients that come in each other's way all the time, and work for a good part of a lock's life.
fn rush() -> Workload {
    Workload { rounds: 6, think: Micros::millis(50), hold: Micros::seconds(4), ..workload(3, Calls::Lock) }
}
