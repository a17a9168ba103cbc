//! The rows of three members: what goes wrong when a leader changes, or does not know that it has.
//!
//! They are looked for by seeds: a world with elections and leases is too large to be gone through. Disks that get stuck and
//! operators that have leaders change are surroundings of the store, drawn or timed by no plan.

use super::super::{Hunt, Scenario, Search};
use super::ETCD;
use super::hunts::crowded;
use crate::claims::objects::{etcd_variable, in_time};
use crate::claims::pack_setup;
use crate::objects::cells::EtcdField;
use crate::objects::content::Marks;
use crate::stores::etcd::session::PINGS;
use crate::stores::etcd::{self as store, Office, ReadIndex, Stalls};
use crate::time::Micros;
use picklock_properties::Promise;

pub(super) fn e5() -> Scenario {
    let setup = |revoke_office| {
        crowded(3, |setup| {
            setup.store.stalls = Some(STALLS);
            setup.store.revoke_office = revoke_office;
        })
    };
    row(Scenario {
        id: "E5",
        story: "the leader's disk gets stuck, and another leads; when it goes on it has the leases revoked whose time is over by its own \
                count, though their holders keep them alive at the new leader",
        search: seeds(setup(Office::Assumed), &[]),
        fix: "a leader that was not told of the time for three ticks has a quorum confirm that it leads before it revokes (#16822)",
        fix_search: seeds(setup(Office::Confirmed), &[]),
        note: "a member passes on what it is given to propose: what the old leader wants revoked reaches the new one as anybody's wish",
        ..ETCD
    })
}

pub(super) fn e6() -> Scenario {
    let setup = |keep_alive_office| {
        crowded(3, |setup| {
            setup.store.stalls = Some(STALLS);
            setup.store.keep_alive_office = keep_alive_office;
        })
    };
    row(Scenario {
        id: "E6",
        story: "the leader's disk gets stuck, and another leads; the old one goes on to answer keep-alives by itself, and its holder is \
                content while the new leader ends the lease",
        search: seeds(setup(Office::Assumed), &[]),
        fix: "a leader that was not told of the time for three ticks has a quorum confirm that it leads before it answers (#16822)",
        fix_search: seeds(setup(Office::Confirmed), &[]),
        note: "keep-alives that another member passes on are answered without that, in today's release too (leasehttp): \
               that member would have to hear of the new leader later than the lease ends",
        ..ETCD
    })
}

pub(super) fn e8() -> Scenario {
    let setup = |checkpoints| {
        crowded(3, |setup| {
            setup.store.handovers = Some(Micros::seconds(4));
            setup.store.checkpoints = checkpoints;
            setup.promises = [Promise::DeadlockFreedom].into_iter().collect();
        })
    };
    row(Scenario {
        id: "E8",
        story: "the holder dies, and every new leader gives its lease its full time again: with leaders that change more often than \
                that, the lease never ends",
        breaks: Promise::DeadlockFreedom,
        search: seeds(setup(None), &["crash"]),
        fix: "checkpoints of what is left of a lease, from which a new leader goes on",
        fix_search: seeds(setup(Some(Micros::seconds(1))), &["crash"]),
        note: "checkpoints are off by default, in today's release too (feature gate LeaseCheckpoint), and come every five minutes if \
               they are on: shorter leases are never told of",
        ..ETCD
    })
}

/// Five clients with fourteen calls each, for marks are counted to fifteen; far enough apart that an election passes meanwhile.
pub(super) fn e9() -> Scenario {
    let setup = |read_index| {
        let mut setup = in_time(etcd_variable(5, 14, EtcdField::ModRevision, &[Promise::Linearizable]));
        setup.lock.object.marks = Marks::EachClient;
        setup.servers = 3;
        setup.store = store::Settings { read_index, ..store::Settings::default() };
        setup.workload.think = Micros::millis(300);
        pack_setup(&setup)
    };
    let seeds = |setup| Search::Seeds { lock: VARIABLE, setup, faults: &["partition"], seeds: 5000 };
    row(Scenario {
        id: "E9",
        story: "a leader that is cut off does not know of the new one yet, and answers a read from what it has: what was written meanwhile \
                is not in it",
        breaks: Promise::Linearizable,
        search: seeds(setup(ReadIndex::Unconfirmed)),
        fix: "a quorum confirms that the leader leads before it answers, under a new number for every asking (#741, #20418)",
        fix_search: seeds(setup(ReadIndex::NumberedAnew)),
        note: "on a variable. The mutex reads where it has written, and is broken only if it goes to the old leader in between: not seen in \
               5,000 runs. That an old word confirms a new read where numbers come again (#20418, up to 3.6.8) is shown at the store itself",
        ..ETCD
    })
}

pub(super) fn e19() -> Scenario {
    let setup = |dial_keep_alive| {
        crowded(3, |setup| {
            setup.lock.session.dial_keep_alive = dial_keep_alive;
            setup.promises = [Promise::DeadlockFreedom].into_iter().collect();
        })
    };
    row(Scenario {
        id: "E19",
        story: "the host of the member that a waiter watches at loses its power, and nobody says so; its keep-alives go to another member: \
                its key stays in the queue, and it hears of no deletion, not even when the member is back",
        breaks: Promise::DeadlockFreedom,
        search: seeds(setup(None), &["power-loss"]),
        fix: "pings (DialKeepAliveTime, DialKeepAliveTimeout), after which the watch goes on at another member",
        fix_search: seeds(setup(Some(PINGS)), &["power-loss"]),
        note: "a watch has no time-out of its own, and no pings are sent by default (etcd-io/etcd#8980). What the operating system finds out, it \
               finds out after two hours, for gRPC leaves it its defaults. Where a member's process alone ends, its operating system says so, and \
               who has sent something over the same connection learns that the host was away when it is back",
        ..ETCD
    })
}

/// Longer than a lease lasts.
const STALLS: Stalls = Stalls { one_in: 60, lasts: Micros::seconds(8) };

const LOCK: &str = "etcd-mutex-3-repaired";

const VARIABLE: &str = "etcd-variable-mod";

fn seeds(setup: Vec<u8>, faults: &'static [&'static str]) -> Search {
    Search::Seeds { lock: LOCK, setup, faults, seeds: 5000 }
}

/// Its hunt is its search.
fn row(row: Scenario) -> Scenario {
    let (Search::Seeds { lock, setup, faults, .. }, Search::Seeds { setup: fixed, .. }) =
        (&row.search, &row.fix_search)
    else {
        unreachable!("these rows are looked for by seeds");
    };
    let hunt = Hunt { lock, setup: setup.clone(), fixed_lock: lock, fixed: fixed.clone(), faults };
    Scenario { hunt: Some(hunt), ..row }
}
