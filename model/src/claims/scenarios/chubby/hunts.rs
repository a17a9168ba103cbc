//! Where random plans come upon the failures of Chubby and Consul by themselves: seconds, not ticks.

use crate::claims::cassandra::workload;
use crate::claims::{Hunt, pack_setup};
use crate::cluster::Setup;
use crate::locks::ChubbyLock;
use crate::locks::chubby_lock::{Fence, Settings};
use crate::stores::chubby::session::{Count, NextKeepAlive, SessionSettings, Unanswered};
use crate::stores::chubby::{self as store, FailOver, Load};
use crate::time::Micros;
use crate::workload::{Calls, Workload, Writes};
use picklock_properties::Promise;

/// Without a lock-delay, which would hide it. A KeepAlive that is lost is said again in jeopardy, as the paper has it.
pub(super) fn h1() -> Hunt {
    hunt(
        &["delay", "loss"],
        |setup| {
            setup.lock.session.count = Count::FromReply;
            setup.lock.session.unanswered = Unanswered::InJeopardy(Micros::seconds(1));
        },
        |setup| setup.lock.session.count = Count::FromSending,
    )
}

/// Sequencers are shown, and the resource looks at them or does not.
pub(super) fn h2() -> Hunt {
    hunt(
        &["pause"],
        |setup| {
            fenced(setup);
            setup.lock.lock_delay = Micros::seconds(2);
            setup.workload.resource_checks = false;
        },
        |setup| setup.workload.resource_checks = true,
    )
}

/// Holders that know nothing of sequencers.
pub(super) fn h3() -> Hunt {
    hunt(
        &["pause"],
        |setup| {
            fenced(setup);
            setup.lock.lock_delay = Micros::millis(100);
            setup.lock.fence = Fence::None;
        },
        |setup| setup.lock.fence = Fence::Sequencer,
    )
}

pub(super) fn h4() -> Hunt {
    hunt(
        &["pause"],
        |setup| {
            setup.promises = [Promise::LostUpdate].into_iter().collect();
            setup.workload.writes = Writes::ReadModifyWrite { reads_with_token: false };
            setup.workload.resource_checks = true;
        },
        |setup| setup.workload.writes = Writes::ReadModifyWrite { reads_with_token: true },
    )
}

/// A master that is overloaded every other time, and clients that look for another one only in jeopardy. They hold for longer than the
/// usual lease lasts.
pub(super) fn h5() -> Hunt {
    hunt(
        &["crash"],
        |setup| {
            setup.store.load = Some(Load { one_in: 2, lease: Micros::seconds(30) });
            setup.store.fail_over = FailOver::Usual;
            setup.workload.hold = Micros::seconds(20);
            setup.lock.session.unanswered = Unanswered::InJeopardy(Micros::seconds(1));
        },
        |setup| setup.store.fail_over = FailOver::Longest,
    )
}

/// Holds that outlast a session that nobody renews, by programs that do not watch their key: who does is told within milliseconds.
/// Repaired, the renewer goes on for as long as it takes, which is more than Consul's does: a leader may be away for longer than a TTL here,
/// and then that one ends, too ([`Unanswered::WithinTtl`]).
pub(super) fn h6() -> Hunt {
    let consul = |unanswered| {
        let written = Settings::consul();
        let session = SessionSettings {
            lease: Some(Micros::seconds(6)),
            next: NextKeepAlive::After(Micros::seconds(3)),
            unanswered,
            ..written.session
        };
        let setup = Setup::<ChubbyLock> {
            lock: Settings { session, lock_delay: Micros::ZERO, ..written },
            store: store::Settings { tells_loss: false, ..store::Settings::CONSUL },
            servers: 1,
            workload: Workload {
                rounds: 6,
                think: Micros::millis(50),
                hold: Micros::seconds(40),
                ..workload(3, Calls::Lock)
            },
            promises: [Promise::MutualExclusion].into_iter().collect(),
        };
        pack_setup(&setup)
    };
    let second = Micros::seconds(1);
    Hunt {
        lock: "consul-lock",
        setup: consul(Unanswered::GivenUpAfter(second)),
        fixed_lock: "consul-lock",
        fixed: consul(Unanswered::After(second)),
        faults: &["crash"],
    }
}

// What random plans are let loose on.

const LOCK: &str = "chubby-lock";

/// A lock, or a master, with a flaw, and the same without.
fn hunt(
    faults: &'static [&'static str],
    flaw: impl Fn(&mut Setup<ChubbyLock>),
    repair: impl Fn(&mut Setup<ChubbyLock>),
) -> Hunt {
    let fixed = crowded(|setup| {
        flaw(setup);
        repair(setup);
    });
    Hunt { lock: LOCK, setup: crowded(flaw), fixed_lock: LOCK, fixed, faults }
}

/// Clients that stand in a queue all the time.
fn crowded(change: impl Fn(&mut Setup<ChubbyLock>)) -> Vec<u8> {
    let careful = Settings::careful();
    let session = SessionSettings {
        lease: Some(Micros::seconds(6)),
        margin: Micros::millis(62),
        grace: Micros::seconds(10),
        unanswered: Unanswered::After(Micros::seconds(2)),
        ..careful.session
    };
    let mut setup = Setup {
        lock: Settings { session, lock_delay: Micros::ZERO, ..careful },
        store: store::Settings::CHUBBY,
        servers: 1,
        workload: Workload {
            rounds: 6,
            think: Micros::millis(50),
            hold: Micros::seconds(4),
            ..workload(3, Calls::Lock)
        },
        promises: [Promise::MutualExclusion].into_iter().collect(),
    };
    change(&mut setup);
    pack_setup::<ChubbyLock>(&setup)
}

/// Holders write to a resource that looks at their sequencers.
fn fenced(setup: &mut Setup<ChubbyLock>) {
    setup.workload.writes = Writes::Resource;
    setup.workload.resource_checks = true;
    setup.promises = [Promise::FencedResource].into_iter().collect();
}
