//! The rows of the queue lock's services: the time service of section 5.4, the lease service of section 6.

mod hunts;

use super::{CASSANDRA, Scenario, Search};
use crate::claims::cassandra_served::{for_ever, kept, one_replica_ahead, published_past_the_last, timed};
use crate::claims::{Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::CassandraServed;
use crate::locks::cassandra_queue::{QueueOrder, Timestamps};
use crate::locks::cassandra_served::{
    CellStamps, KEEPER_READS, REPLICA_SLEEPS, Settings, TimeService, Tombstones,
};
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Aim, TICK};
use picklock_properties::{ClientId, Promise};

/// Row C22 in its three forms.
pub(super) fn of_the_time() -> [Scenario; 3] {
    [c22a(), c22b(), c22c()]
}

/// What section 6 says of its own lease service: "в ходе реализации этого сервиса стали возникать проблемы".
pub(super) fn of_the_leases() -> [Scenario; 3] {
    [c32(), c33(), c34()]
}

/// Messages take no time here: nothing races, so that the order of the queue is the order of
/// the times (or row C23 would break it, too).
fn c22a() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = timed(2, 2, &[]);
        for_ever(&mut space);
        one_replica_ahead(&mut space);
        space.bounds.colocated = true;
        space.setup.lock.queue.poll_interval = TICK;
        space.bounds.crashes = 1;
        space.bounds.aim = Aim::At(REPLICA_SLEEPS);
        progress(space, lock, vec![Goal::StarvationFreedom(ClientId(1))])
    };
    Scenario {
        id: "C22a",
        story: "a replica of the time service that is ahead publishes and dies: the time stands still until the others \
                catch up, equal times are ordered by thread id, and the thread with the smaller one overtakes the other \
                again and again",
        breaks: Promise::StarvationFreedom,
        search: space(|lock| lock),
        fix: "the service publishes max(last + 1, now)",
        fix_search: space(published_past_the_last),
        note: "first in, first out is broken by a healthy service, too: two who ask between two publications are given \
               one time, and whoever takes a time may be late with it (row C23); that it never ends needs the standstill",
        ..CASSANDRA
    }
}

/// A service that publishes once, and not again while the threads contend: no replica is ahead, none dies.
fn c22b() -> Scenario {
    let space = |timestamps| {
        let mut space = timed(2, 1, &[Promise::MutualExclusion]);
        space.bounds.latency_ticks = Some(0);
        space.bounds.unhurried = true;
        space.setup.lock.time.period = Micros(10 * TICK.0);
        space.setup.lock.queue.timestamps = timestamps;
        safety(space, |lock| lock)
    };
    Scenario {
        id: "C22b",
        story: "the service's time is the write timestamp: to add, delete and add again within one value is a tie, which \
                the tombstone wins, and the record is hidden",
        breaks: Promise::MutualExclusion,
        search: space(Timestamps::Service),
        fix: "timestamps max(last + 1, service's time)",
        fix_search: space(Timestamps::ServiceMonotonic),
        note: "no replica needs to be ahead or to die: the time between two publications is enough. The authors' code adds \
               with the service's time and deletes with the client's own, which breaks it as well; the own-id check \
               alone keeps mutual exclusion in all of these",
        hunt: Some(hunts::c22b()),
        ..CASSANDRA
    }
}

fn c22c() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = timed(1, 2, &[Promise::TimeOrder]);
        space.setup.workload.rounds = 2;
        space.setup.lock.queue.remembers_time = true;
        safety(space, lock)
    };
    Scenario {
        id: "C22c",
        story: "two replicas find the same stored time smaller than theirs, and the one that took its own first writes \
                last: the time goes back",
        breaks: Promise::TimeOrder,
        search: space(|lock| lock),
        fix: "the cell's timestamp is its value: the larger time wins, whichever comes last",
        fix_search: space(|lock| Settings {
            time: TimeService { stamps: CellStamps::Value, ..lock.time },
            ..lock
        }),
        note: "section 5.4 guarantees a time that does not decrease, and names no timestamp; the authors' code has the \
               repair. One replica alone keeps it without. max(last + 1, now) without it does not",
        hunt: Some(hunts::c22c()),
        ..CASSANDRA
    }
}

/// In the authors' code a keeper tells a renewed cell by its timestamp, and that is the time service's.
fn c32() -> Scenario {
    let space = |timestamps| {
        let mut space = kept(2, 1, &[Promise::MutualExclusion]);
        space.setup.workload.attendants = 2;
        space.setup.lock.queue.queue_order = QueueOrder::Service;
        space.setup.lock.queue.timestamps = timestamps;
        space.setup.lock.queue.own_id_check = true;
        space.bounds.attendants_colocated = true;
        space.bounds.unhurried = false;
        space.bounds.crashes = 1;
        space.bounds.aim = Aim::At(REPLICA_SLEEPS);
        safety(space, |lock| lock)
    };
    Scenario {
        id: "C32",
        story: "the time service stands still (row C22a), every renewal writes the same timestamp, the keeper sees no \
                renewal, and ends the lease of a live and prompt holder",
        breaks: Promise::MutualExclusion,
        search: space(Timestamps::ServiceAdds),
        fix: "renewals are stamped by the thread's own clock, and never twice with one time",
        fix_search: space(Timestamps::ClientMonotonic),
        note: "a keeper compares timestamps of one thread with each other: it needs no common clock",
        hunt: Some(hunts::c32()),
        ..CASSANDRA
    }
}

/// Of the shortest lease that can be renewed in time, a pause of half its length.
fn c33() -> Scenario {
    let space = |tombstones| {
        let mut space = kept(2, 1, &[Promise::MutualExclusion]);
        space.setup.lock.queue.ttl_seconds = Some(2);
        space.setup.workload.calls = Calls::TryLock;
        space.setup.workload.releases = false;
        space.bounds.pauses = 1;
        space.bounds.pause_ticks = 1;
        space.bounds.aim = Aim::At(KEEPER_READS);
        space.setup.lock.leases.tombstones = tombstones;
        safety(space, |lock| lock)
    };
    Scenario {
        id: "C33",
        story: "the keeper pauses between reading the rows and judging them: what it then deletes has been renewed \
                meanwhile",
        breaks: Promise::MutualExclusion,
        search: space(Tombstones::Clock),
        fix: "it deletes with the timestamp of the cell that it saw: what was written later stays",
        fix_search: space(Tombstones::Seen),
        note: "the holder neither pauses nor errs; no TTL fails like this",
        hunt: Some(hunts::c33()),
        ..CASSANDRA
    }
}

/// The shortest lease, and short holds: the failure needs neither.
fn c34() -> Scenario {
    let space = |keepers| {
        let mut space = kept(2, keepers, &[]);
        space.setup.lock.queue.ttl_seconds = Some(2);
        space.setup.lock.queue.waiters_renew = true;
        space.setup.workload.hold = TICK;
        space.bounds.unhurried = false;
        space.bounds.colocated = true;
        space.bounds.crashes = 2;
        progress(space, |lock| lock, vec![Goal::DeadlockFreedom])
    };
    Scenario {
        id: "C34",
        story: "the keeper dies, and then the holder: nobody ends its lease",
        breaks: Promise::DeadlockFreedom,
        search: space(1),
        fix: "a second keeper: they need not know of each other",
        fix_search: space(2),
        note: "with a TTL the store does the keeper's work, and it is replicated. Here all that somebody does \
               between two of its waits is one step: nobody dies in the middle of it",
        hunt: Some(hunts::c34()),
        ..CASSANDRA
    }
}

fn safety(mut space: Space<CassandraServed>, lock: fn(Settings) -> Settings) -> Search {
    space.setup.lock = lock(space.setup.lock);
    Search::Space { space: NamedSpace::new("cassandra-timed", &space), judgement: Judgement::Safety }
}

fn progress(mut space: Space<CassandraServed>, lock: fn(Settings) -> Settings, goals: Vec<Goal>) -> Search {
    space.setup.lock = lock(space.setup.lock);
    Search::Space {
        space: NamedSpace::new("cassandra-timed", &space),
        judgement: Judgement::Progress { goals, draws: Draws::Adversary },
    }
}
