//! Rows about cells that are there and should not be, or should be there and are not: a renewal that arrives after the
//! release, a write lost with the power, the record of somebody who is dead.

use super::{CASSANDRA, hunts, leased, progress, safety};
use crate::claims::cassandra::queue_lock;
use crate::claims::scenarios::{Scenario, Search};
use crate::explore::Goal;
use crate::locks::cassandra_queue::{Settings, Timestamps};
use crate::stores::cassandra::CommitLog;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Aim, TICK};
use picklock_properties::{ClientId, Promise};

pub(super) fn c10() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = leased(1, &[Promise::Theorem3]);
        space.bounds.latency_ticks = Some(1);
        space.setup.workload.calls = Calls::TryLock;
        space.setup.workload.rounds = 2;
        // Until the first renewal is due.
        space.setup.workload.hold = Micros(2 * TICK.0);
        space.setup.lock.timestamps = Timestamps::Coordinator;
        safety(space, lock)
    };
    Scenario {
        id: "C10",
        story: "a renewal that is under way when its holder releases arrives after the deletion and is stamped on arrival: \
                the main cell is back, and the only client there is is refused a lock that nobody holds",
        breaks: Promise::Theorem3,
        search: space(|lock| lock),
        fix: "stop the renewer, and wait for its write, before anything is deleted",
        fix_search: space(|lock| Settings { join_renewer: true, ..lock }),
        note: "it wants two clocks: a renewal stamped by the client's own clock is older than the deletion, whenever it \
               arrives; and it lasts no longer than a TTL, so that what breaks is a needless refusal, not progress",
        hunt: Some(hunts::c10()),
        ..CASSANDRA
    }
}

pub(super) fn c12() -> Scenario {
    let hunt = hunts::c12();
    let seeds = |setup: &[u8]| Search::Seeds {
        lock: hunt.lock,
        setup: setup.to_vec(),
        faults: hunt.faults,
        seeds: 500,
    };
    Scenario {
        id: "C12",
        story: "a quorum of the replicas loses power within the period of its commit log, and with it the acknowledged \
                record of the holder: the next one finds the main row empty",
        breaks: Promise::MutualExclusion,
        search: seeds(&hunt.setup),
        fix: "a commit log that is synced before a write is acknowledged",
        fix_search: seeds(&hunt.fixed),
        note: "",
        hunt: Some(hunt),
        ..CASSANDRA
    }
}

pub(super) fn c24() -> Scenario {
    let space = |lock: fn(Settings) -> Settings| {
        let mut space = queue_lock(2, 1, Calls::TryLock, &[]);
        space.bounds.crashes = 1;
        space.bounds.aim = Aim::Asking;
        progress(
            space,
            lock,
            vec![Goal::StarvationFreedom(ClientId(0)), Goal::StarvationFreedom(ClientId(1))],
        )
    };
    Scenario {
        id: "C24",
        story: "a caller of try_lock that is first in the queue meets the record of a dead one in the main row, and repeats \
                lines 4 to 10 for as long as that stays: it gets no answer at all",
        breaks: Promise::StarvationFreedom,
        search: space(|lock| lock),
        fix: "bounded attempts",
        fix_search: space(|lock| Settings { try_attempts_max: Some(2), ..lock }),
        note: "what is owed to a caller of try_lock is an answer; without TTL it waits for ever, with one until the record \
               expires. The bound gives up Theorem 3: its proof needs a first in the queue that stays",
        hunt: Some(hunts::c24()),
        ..CASSANDRA
    }
}

pub(super) fn c35() -> Scenario {
    let space = |commit_log| {
        let mut space = queue_lock(2, 1, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.store.commit_log = commit_log;
        (space.bounds.server_crashes, space.bounds.server_crashes_restart) = (1, true);
        safety(space, |lock| lock)
    };
    let marked_every_tick = CommitLog::Periodic { period: Micros::seconds(10), marks: TICK };
    Scenario {
        id: "C35",
        story: "the server's process is killed and starts again at once; its log got no mark since it acknowledged the record of the \
                holder, and replay ends at the last one: the next one finds the main row empty",
        breaks: Promise::MutualExclusion,
        search: space(marked_every_tick),
        fix: "a commit log that is synced before a write is acknowledged",
        fix_search: space(CommitLog::Batch),
        note: "a tenth of a second in the default configuration, which a real node was seen to lose; among several replicas each that \
               has acknowledged must die, or the others must not have heard yet",
        hunt: Some(hunts::c35()),
        ..CASSANDRA
    }
}
