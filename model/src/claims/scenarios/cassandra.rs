//! The rows of the Cassandra queue lock.

mod hunts;
mod remains;
mod services;

use super::{Hunt, Scenario, Search};
use crate::claims::cassandra::{TTL_SECONDS, drop_from_queue_lock, queue_lock};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::CassandraQueue;
use crate::locks::cassandra_queue::{QueueOrder, ReleaseOrder, RetryDeletes, Settings, Timestamps};
use crate::machine::Line;
use crate::stores::cassandra::Consistency;
use crate::time::Micros;
use crate::workload::{Calls, Writes};
use crate::world::{Aim, TICK};
use picklock_properties::{ClientId, Promise};

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    let mut rows = vec![c1(), c2(), c3(), c4(), c6(), c7(), c8(), c9(), remains::c10(), c11()];
    rows.extend([remains::c12(), c14(), c15(), c16()]);
    rows.extend(services::of_the_time());
    rows.extend([c23(), remains::c24(), c25(), c31()]);
    rows.extend(services::of_the_leases());
    rows.extend([remains::c35(), c36(), c37(), c38()]);
    rows
}

fn c1() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = queue_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.bounds.clock_steps = 1;
        space.bounds.clock_step_ticks = -1;
        safety(space, lock)
    };
    Scenario {
        id: "C1",
        story: "A's clock steps back between deleting its record and writing it again: the record is hidden by its own \
                tombstone, A finds B's record alone, and line 4 asks only whether there is one record, not whose",
        breaks: Promise::MutualExclusion,
        search: space(|lock| lock),
        fix: "own-id check and monotonic timestamps",
        fix_search: space(|lock| Settings {
            own_id_check: true,
            timestamps: Timestamps::ClientMonotonic,
            ..lock
        }),
        hunt: Some(hunts::c1()),
        ..CASSANDRA
    }
}

fn c2() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = leased(2, &[Promise::MutualExclusion]);
        pause_once(&mut space, Aim::At(Line { listing: 6, number: 4 }));
        safety(space, lock)
    };
    Scenario {
        id: "C2",
        story: "A writes its record and pauses past the TTL before it handles what it reads; B enters meanwhile; A \
                finds one record and enters too",
        breaks: Promise::MutualExclusion,
        search: space(|lock| lock),
        fix: "own-id check, and the grant only while the lease is valid by the client's own clock",
        fix_search: space(|lock| Settings { own_id_check: true, ..valid(lock) }),
        note: "the own-id check alone, which the catalogue names, is not enough: the reply that names A alone may have \
               been on its way before the pause",
        hunt: Some(hunts::c2()),
        ..CASSANDRA
    }
}

fn c3() -> Scenario {
    let space = |promise, lock: fn(Settings) -> Settings, checks| {
        let mut space = leased(2, &[promise]);
        pause_once(&mut space, Aim::Holding);
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = checks;
        safety(space, lock)
    };
    Scenario {
        id: "C3",
        story: "the holder pauses past the TTL, its renewer with it, and another client enters",
        breaks: Promise::MutualExclusion,
        search: space(Promise::MutualExclusion, |lock| lock, false),
        fix: "fencing token (the timestamp of the record the grant rests on), checked by the resource: two may believe \
              to hold, only the later one can write",
        fix_search: space(Promise::FencedResource, |lock| Settings { fencing: true, ..lock }, true),
        hunt: Some(hunts::c3()),
        ..CASSANDRA
    }
}

fn c4() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = leased(2, &[Promise::LeaseLoss]);
        // Long enough for a renewal.
        space.setup.workload.hold = Micros(4 * TICK.0);
        pause_once(&mut space, Aim::Holding);

        safety(space, lock)
    };
    Scenario {
        id: "C4",
        story: "after C3 the old holder's renewer blindly writes its cells again, and goes on as if nothing had happened",
        breaks: Promise::LeaseLoss,
        search: space(|lock| lock),
        fix: "renewal that first looks whether the lock is still its own, and knows when its lease is over",
        fix_search: space(|lock| Settings { conditional_renewal: true, ..valid(lock) }),
        hunt: Some(hunts::c4()),
        ..CASSANDRA
    }
}

fn c6() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = leased(1, &[]);
        pause_once(&mut space, Aim::Asking);
        progress(space, lock, vec![Goal::StarvationFreedom(ClientId(0))])
    };
    Scenario {
        id: "C6",
        story: "a waiter's queue cell expires, step 10 never joins the queue again, and the only client waits for ever",
        breaks: Promise::StarvationFreedom,
        search: space(|lock| lock),
        fix: "waiters prolong their queue cell too",
        fix_search: space(|lock| Settings { waiters_renew: true, ..lock }),
        note: "no pause is needed with two clients: a hold longer than the TTL does it",
        hunt: Some(hunts::c6()),
        ..CASSANDRA
    }
}

fn c7() -> Scenario {
    Scenario {
        hunt: Some(hunts::c7()),
        ..crash(
            "C7",
            Aim::Asking,
            "the head of the queue crashes, and all others wait behind its cell for ever",
        )
    }
}

fn c8() -> Scenario {
    Scenario {
        hunt: Some(hunts::c8()),
        ..crash("C8", Aim::Holding, "the holder crashes, and its cells stay for ever")
    }
}

fn crash(id: &'static str, aim: Aim, story: &'static str) -> Scenario {
    let space = |mut space: Space<CassandraQueue>, lock: fn(Settings) -> Settings| {
        space.bounds.crashes = 1;
        space.bounds.aim = aim;
        progress(space, lock, vec![Goal::DeadlockFreedom])
    };
    Scenario {
        id,
        story,
        breaks: Promise::DeadlockFreedom,
        search: space(queue_lock(2, 1, Calls::Lock, &[]), |lock| lock),
        fix: "a TTL, with waiters that prolong their own cells",
        fix_search: space(leased(2, &[]), |lock| Settings { waiters_renew: true, ..lock }),
        note: "the TTL alone only moves the failure: the waiter's own cell expires too (row C6)",
        ..CASSANDRA
    }
}

fn c9() -> Scenario {
    let space =
        |lock: fn(Settings) -> Settings| safety(queue_lock(2, 1, Calls::TryLock, &[Promise::Theorem3]), lock);
    Scenario {
        id: "C9",
        story: "a release whose deletion of the main cell arrives first: try_lock finds the main row empty and the old \
                holder at the head of the queue, and refuses a free lock",
        breaks: Promise::Theorem3,
        search: space(|lock| lock),
        fix: "delete the queue cell first, then the main cell: enough for two callers that call once",
        fix_search: space(|lock| Settings { release_order: ReleaseOrder::QueueThenMain, ..lock }),
        note: "the source names no order of the two deletions; and the better one is not enough, once somebody calls twice or a \
               third client does: a look at the main row that was taken before the last grant finds the lock free, and the \
               caller is refused for the queue cell of a holder that is leaving",
        hunt: Some(hunts::c9()),
        ..CASSANDRA
    }
}

fn c11() -> Scenario {
    let space = |level: Consistency| {
        let mut space = queue_lock(2, 2, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.store.writes = level;
        space.setup.store.reads = level;
        safety(space, |lock| lock)
    };
    Scenario {
        id: "C11",
        story: "at consistency ONE each client asks a replica that has not heard of the other",
        breaks: Promise::MutualExclusion,
        search: space(Consistency::One),
        fix: "QUORUM",
        fix_search: space(Consistency::Quorum),
        hunt: Some(hunts::c11()),
        ..CASSANDRA
    }
}

fn c14() -> Scenario {
    let hunt = hunts::c14();
    Scenario {
        id: "C14",
        story: "a deletion reaches too few replicas and is taken for done: the cell stays, and all wait behind it",
        breaks: Promise::DeadlockFreedom,
        search: seeds(&hunt, &hunt.setup),
        fix: "repeat the deletion until it is acknowledged",
        fix_search: seeds(&hunt, &hunt.fixed),
        note: "it lasts if coordinators always read the same replicas: by chance they would come upon the tombstone; with hinted \
               handoff it is not seen to break",
        hunt: Some(hunt),
        ..CASSANDRA
    }
}

/// The random runs that a hunt begins with.
pub(super) fn seeds(hunt: &Hunt, setup: &[u8]) -> Search {
    Search::Seeds { lock: hunt.lock, setup: setup.to_vec(), faults: hunt.faults, seeds: 3000 }
}

fn c36() -> Scenario {
    let hunt = hunts::c36();
    Scenario {
        id: "C36",
        story: "a replica misses a deletion that a quorum acknowledges, and gets it by no read until the tombstone's grace period is over: \
                the others purge it, the cell of the replica is alive again, and all wait for an owner who has left",
        breaks: Promise::DeadlockFreedom,
        search: seeds(&hunt, &hunt.setup),
        fix: "a grace period that is longer than any replica goes without what it has missed: ten days, and a repair within them",
        fix_search: seeds(&hunt, &hunt.fixed),
        note: "no retry helps, for the deletion was acknowledged; hinted handoff brings it to a replica that is away for less than the grace \
               period and three hours (row C37); a TTL ends the wait, and costs what a TTL costs",
        hunt: Some(hunt),
        ..CASSANDRA
    }
}

fn c37() -> Scenario {
    let hunt = hunts::c37();
    Scenario {
        id: "C37",
        story: "with hinted handoff, too: the replica is away for longer than the grace period, the hint for it has become too old, the others \
                have purged the tombstone, and what it comes back with is alive again",
        breaks: Promise::DeadlockFreedom,
        search: seeds(&hunt, &hunt.setup),
        fix: "a grace period that is longer than any replica goes without what it has missed: ten days, and a repair within them",
        fix_search: seeds(&hunt, &hunt.fixed),
        note: "hints bring a deletion to a replica that is away for less: under losses and partitions alone the same lock is not seen to break",
        hunt: Some(hunt),
        ..CASSANDRA
    }
}

fn c38() -> Scenario {
    let hunt = hunts::c38();
    Scenario {
        id: "C38",
        story: "each grant leaves a tombstone in the queue's row; once there are more than a read may pass, every look at the first in the queue \
                fails, and nobody is granted the lock any more",
        breaks: Promise::DeadlockFreedom,
        search: seeds(&hunt, &hunt.setup),
        fix: "a grace period in which fewer are granted the lock than a read may pass",
        fix_search: seeds(&hunt, &hunt.fixed),
        note: "100,000 tombstones as shipped, ten days: seen on a real node; a shorter grace period invites row C36",
        hunt: Some(hunt),
        ..CASSANDRA
    }
}

fn c15() -> Scenario {
    let space = |ttl_seconds| {
        let mut space = leased(2, &[Promise::MutualExclusion]);
        space.setup.servers = 2;
        space.bounds.colocated = true;
        space.bounds.link_messages_max = 2;
        space.bounds.last_server_ahead_ticks = 3;
        space.setup.lock.ttl_seconds = Some(ttl_seconds);
        safety(space, |lock| lock)
    };
    Scenario {
        id: "C15",
        story: "one coordinator's clock is ahead by more than the TTL: for its clients the others' cells are dead on arrival",
        breaks: Promise::MutualExclusion,
        search: space(2),
        fix: "a TTL far above the skew",
        fix_search: space(12),
        hunt: Some(hunts::c15()),
        ..CASSANDRA
    }
}

fn c16() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        safety(queue_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]), lock)
    };
    Scenario {
        id: "C16",
        story: "two threads with one id share a column: each finds one record in the main row",
        breaks: Promise::MutualExclusion,
        search: space(|lock| Settings { shared_thread_id: true, ..lock }),
        fix: "unique ids",
        fix_search: space(|lock| lock),
        hunt: Some(hunts::c16()),
        ..CASSANDRA
    }
}

fn c23() -> Scenario {
    let space =
        |lock: fn(Settings) -> Settings| safety(queue_lock(2, 1, Calls::Lock, &[Promise::Fifo]), lock);
    Scenario {
        id: "C23",
        story: "a delay between taking the time and writing the cell: a late small key goes before one that stood there",
        breaks: Promise::Fifo,
        search: space(|lock| lock),
        fix: "the store names the column as it writes it",
        fix_search: space(|lock| Settings { queue_order: QueueOrder::Coordinator, ..lock }),
        note: "an ordinary message delay is enough; no pause is needed. Two coordinators may still give two cells the same time, to the \
               microsecond, and then the smaller id goes first: once in 63,788 random runs",
        hunt: Some(hunts::c23()),
        ..CASSANDRA
    }
}

fn c25() -> Scenario {
    let aimed = |mut space: Space<CassandraQueue>| {
        space.bounds.crashes = 1;
        space.bounds.aim = Aim::Asking;
        space.setup.workload.releases = false;
        space
    };
    let retrying = || {
        let mut space = aimed(leased(2, &[]));
        space.setup.workload.calls = Calls::TryLock;
        space.setup.workload.retries = true;
        space.setup.workload.think = Micros(i64::from(TTL_SECONDS + 2) * TICK.0);
        space
    };
    Scenario {
        id: "C25",
        story: "a try_lock caller crashes after line 5: the others are refused, and nobody holds",
        breaks: Promise::Theorem3,
        search: safety(aimed(queue_lock(2, 1, Calls::TryLock, &[Promise::Theorem3])), |lock| lock),
        fix: "a TTL, and callers that try again after it: somebody is granted in the end",
        fix_search: progress(retrying(), |lock| lock, vec![Goal::SomebodyIsGranted]),
        note: "the first round of refusals stays: Theorem 3 itself cannot be repaired against a crash",
        hunt: Some(hunts::c25()),
        ..CASSANDRA
    }
}

fn c31() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = queue_lock(2, 1, Calls::Lock, &[]);
        drop_from_queue_lock(&mut space, Assumption::NoLoss);
        progress(space, lock, vec![Goal::DeadlockFreedom])
    };
    Scenario {
        id: "C31",
        story: "the deletion of step 7 is lost: the record stays in the main row, and nobody is ever alone there",
        breaks: Promise::DeadlockFreedom,
        search: space(|lock| lock),
        fix: "repeat the deletion until it is acknowledged",
        fix_search: space(|lock| Settings { retry_deletes: RetryDeletes::UntilAcknowledged, ..lock }),
        note: "random plans mostly lose the deletion of a release, not that of step 7: the end is the same, and so is the \
               repair",
        hunt: Some(hunts::c31()),
        ..CASSANDRA
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
pub(super) const CASSANDRA: Scenario = Scenario {
    id: "",
    system: "cassandra",
    story: "",
    breaks: Promise::MutualExclusion,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

/// The lock with the lease of section 5.3, in ticks, on a network that delivers within the tick.
fn leased(clients: u8, promises: &[Promise]) -> Space<CassandraQueue> {
    let mut space = queue_lock(clients, 1, Calls::Lock, promises);
    drop_from_queue_lock(&mut space, Assumption::NoExpiry);
    space.bounds.latency_ticks = Some(0);
    space
}

/// One pause, up to a tick longer than the TTL.
fn pause_once(space: &mut Space<CassandraQueue>, aim: Aim) {
    space.bounds.pauses = 1;
    space.bounds.pause_ticks = TTL_SECONDS as u8 + 1;
    space.bounds.aim = aim;
}

/// The lease as the client itself can judge it: a second is taken off, for the store counts in whole ones.
fn valid(lock: Settings) -> Settings {
    Settings { validity_check: true, validity_margin: TICK, ..lock }
}

fn safety(mut space: Space<CassandraQueue>, lock: fn(Settings) -> Settings) -> Search {
    space.setup.lock = lock(space.setup.lock);
    Search::Space { space: NamedSpace::new("cassandra-queue", &space), judgement: Judgement::Safety }
}

fn progress(mut space: Space<CassandraQueue>, lock: fn(Settings) -> Settings, goals: Vec<Goal>) -> Search {
    space.setup.lock = lock(space.setup.lock);
    Search::Space {
        space: NamedSpace::new("cassandra-queue", &space),
        judgement: Judgement::Progress { goals, draws: Draws::Adversary },
    }
}
