//! Where random plans come upon the failures of the services by themselves: as the queue lock's hunts, with the services
//! beside it. Row C22a has none.

use crate::claims::cassandra::workload;
use crate::claims::pack_setup;
use crate::claims::scenarios::{Hunt, varied_unless_shaped};
use crate::cluster::Setup;
use crate::locks::CassandraServed;
use crate::locks::cassandra_queue::{self, QueueOrder, Timestamps};
use crate::locks::cassandra_served::{CellStamps, Settings, Tombstones};
use crate::stores::cassandra as store;
use crate::time::Micros;
use crate::workload::{Calls, Workload};
use picklock_properties::Promise;

/// No fault: two who ask between two publications are given one time, by which the thread with the smaller id goes before
/// one that is in the main row already, and battles there.
pub(super) fn c22b() -> Hunt {
    let mut setup = used(Settings::timed(), 2, Promise::MutualExclusion);
    setup.lock.queue.ttl_seconds = None;
    setup.lock.queue.timestamps = Timestamps::Service;
    hunt(&[], setup, |lock| lock.queue.timestamps = Timestamps::ServiceMonotonic)
}

/// No fault, but replicas that publish ten times a second, and a thread that asks without a break: what it is told twice has
/// to change between.
pub(super) fn c22c() -> Hunt {
    let mut setup = used(Settings::timed(), 2, Promise::TimeOrder);
    setup.lock.queue.ttl_seconds = None;
    setup.lock.queue.remembers_time = true;
    setup.lock.time.period = Micros::millis(100);
    (setup.lock.threads, setup.workload.clients) = (1, 1);
    let work = &mut setup.workload;
    (work.rounds, work.think, work.hold) = (200, Micros::ZERO, Micros::ZERO);
    hunt(&[], setup, |lock| lock.time.stamps = CellStamps::Value)
}

/// A keeper and a replica of the time service. Holders look at their own lease, for a quorum of servers that is down longer
/// than a lease would end it just so.
pub(super) fn c32() -> Hunt {
    let mut setup = used(Settings::kept(), 2, Promise::MutualExclusion);
    setup.lock.queue = prompt(cassandra_queue::Settings {
        queue_order: QueueOrder::Service,
        timestamps: Timestamps::ServiceAdds,
        validity_margin: Micros::seconds(2),
        ..setup.lock.queue
    });
    // Longer than a lease.
    setup.workload.hold = Micros::seconds(30);
    hunt(&["crash"], setup, |lock| lock.queue.timestamps = Timestamps::ClientMonotonic)
}

/// A late reply does to a keeper what a pause does, and holders that look at their own lease bear it (of a paused one two
/// hold, whatever is repaired: row C3). The failure wants a thread that is first in the queue while another one holds: a time
/// that is published every five minutes makes the one with the smaller id just that. Each of three keepers may be the one.
pub(super) fn c33() -> Hunt {
    let keepers = 3;
    let mut setup =
        used(Settings { lease_keepers: keepers, ..Settings::kept() }, keepers + 1, Promise::MutualExclusion);
    setup.lock.time.period = Micros::seconds(300);
    setup.lock.queue = prompt(cassandra_queue::Settings {
        ttl_seconds: Some(10),
        // What drivers wait for a reply.
        request_timeout: Some(Micros::seconds(12)),
        queue_order: QueueOrder::Service,
        timestamps: Timestamps::ClientMonotonic,
        validity_margin: Micros::seconds(1),
        ..setup.lock.queue
    });
    (setup.workload.think, setup.workload.hold) = (Micros::seconds(1), Micros::seconds(30));
    hunt(&["delay"], setup, |lock| lock.leases.tombstones = Tombstones::Seen)
}

/// A plan has up to three crashes: two may be those of both keepers, and the third the holder's.
pub(super) fn c34() -> Hunt {
    let mut setup = used(Settings::kept(), 1, Promise::DeadlockFreedom);
    setup.lock.queue.waiters_renew = true;
    let mut fixed = setup.clone();
    (fixed.lock.lease_keepers, fixed.workload.attendants) = (3, 3);
    repaired(&["crash"], &setup, &fixed)
}

/// Nobody waits with a cell that is over, nobody takes another one's record for the own, nobody holds longer than the lease
/// lasts by the own clock.
fn prompt(lock: cassandra_queue::Settings) -> cassandra_queue::Settings {
    cassandra_queue::Settings { own_id_check: true, waiters_renew: true, validity_check: true, ..lock }
}

const LOCK: &str = "cassandra-timed";

/// Longer than anybody waits while nothing goes wrong, but for where a row says otherwise.
const TTL_SECONDS: u32 = 20;

/// Two threads, three times each, with a hold that needs a renewal, and services beside them.
fn used(lock: Settings, attendants: u8, promise: Promise) -> Setup<CassandraServed> {
    let queue = cassandra_queue::Settings {
        ttl_seconds: Some(TTL_SECONDS),
        poll_interval: Micros::millis(200),
        ..lock.queue
    };
    Setup {
        lock: Settings { queue, threads: 2, ..lock },
        store: store::Settings::default(),
        servers: 3,
        workload: Workload { attendants, ..usual() },
        promises: [promise].into_iter().collect(),
    }
}

fn usual() -> Workload {
    Workload { rounds: 3, think: Micros::seconds(5), hold: Micros::seconds(12), ..workload(2, Calls::Lock) }
}

/// On the lock as it is set up, and on the same repaired.
fn hunt(faults: &'static [&'static str], setup: Setup<CassandraServed>, repair: fn(&mut Settings)) -> Hunt {
    let mut fixed = setup.clone();
    repair(&mut fixed.lock);
    repaired(faults, &setup, &fixed)
}

fn repaired(
    faults: &'static [&'static str],
    setup: &Setup<CassandraServed>,
    fixed: &Setup<CassandraServed>,
) -> Hunt {
    let varied = |setup: &Setup<CassandraServed>| {
        let workload = varied_unless_shaped(setup.workload, &usual());
        pack_setup(&Setup { workload, ..setup.clone() })
    };
    Hunt { lock: LOCK, fixed_lock: LOCK, setup: varied(setup), fixed: varied(fixed), faults }
}
