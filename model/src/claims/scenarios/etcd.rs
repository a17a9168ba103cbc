//! The rows of etcd, of its mutex, of its election, and of the lock on one key.
//!
//! Row E10 (a keep-alive that is answered though the lease is gone, or its end is on its way) is shown at the store itself: the answer
//! comes when the leader has taken the lease for over. Under the library's deadline mutual exclusion is lost by then without it, and a
//! client that counts from what it has sent does not believe it, which the claim of the mutex says with keep-alives answered at once.

mod calls;
mod hunts;
mod members;

use super::{Scenario, Search};
use crate::claims::etcd::{CAREFUL_SESSION, LONG_TICKS, drop_from_etcd, etcd_leases, on_etcd_with_leases};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::etcd_mutex::{ContextEnd, Fence, KeyName, UnlockErrors};
use crate::locks::{EtcdElection, EtcdMutex};
use crate::machine::Line;
use crate::stores::etcd::LeaseClock;
use crate::time::Micros;
use crate::workload::{Calls, Writes};
use crate::world::{Aim, TICK};
use picklock_properties::Promise;

/// The rows, in the order of the catalogue.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        e1(),
        e2(),
        e3(),
        e4(),
        members::e5(),
        members::e6(),
        e7(),
        members::e8(),
        members::e9(),
        e11(),
        e12(),
        calls::e13(),
        calls::e14(),
        calls::e15(),
        calls::e16(),
        calls::e17(),
        calls::e18(),
        members::e19(),
    ]
}

// Leases that end.

/// key.go:30, where a waiter waits.
const WAITING: Line = Line { listing: 2, number: 30 };

fn e1() -> Scenario {
    let space = |checks_own_key| {
        let mut space = etcd_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_etcd(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::At(WAITING);
        space.bounds.unhurried = false;
        space.setup.workload.hold = TICK;
        space.setup.lock.checks_own_key = checks_own_key;
        if checks_own_key {
            space.setup.lock.session = CAREFUL_SESSION;
        }
        safety(space)
    };
    Scenario {
        id: "E1",
        story: "a waiter's lease ends while it waits, and its key goes; when the key before is deleted it takes itself for the \
                first, and so does whoever comes next",
        breaks: Promise::MutualExclusion,
        search: space(false),
        fix: "look for the own key after waiting, and at the clock when the answer comes",
        fix_search: space(true),
        note: "the library looks for the key alone, which leaves a window: the lease may end between the look and the grant. A \
               client that counts its lease's time from what it has sent and looks at its clock when it is granted closes it",
        hunt: Some(hunts::e1()),
        ..ETCD
    }
}

fn e2() -> Scenario {
    let space = |fence| {
        let promise = match fence {
            Fence::None => Promise::MutualExclusion,
            Fence::CreateRevision => Promise::FencedResource,
        };
        let mut space = etcd_leases(2, Calls::Lock, &[promise]);
        drop_from_etcd(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::Holding;
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = TICK;
        space.setup.workload.writes = Writes::resource_if(fence == Fence::CreateRevision);
        space.setup.workload.resource_checks = fence == Fence::CreateRevision;
        space.setup.lock.fence = fence;
        safety(space)
    };
    Scenario {
        id: "E2",
        story: "the holder pauses for longer than its lease lasts, and the next one in the queue is first",
        breaks: Promise::MutualExclusion,
        search: space(Fence::None),
        fix: "the create revision of the own key as fencing token, checked by the resource: two may believe to hold, only the \
              later one can write",
        fix_search: space(Fence::CreateRevision),
        hunt: Some(hunts::e2()),
        ..ETCD
    }
}

fn e3() -> Scenario {
    let space = |checks_own_key| {
        let mut space: Space<EtcdElection> = on_etcd_with_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_etcd(&mut space, Assumption::NoPause);
        space.bounds.aim = Aim::At(WAITING);
        space.bounds.unhurried = false;
        space.setup.workload.hold = TICK;
        space.setup.lock.checks_own_key = checks_own_key;
        if checks_own_key {
            space.setup.lock.session = CAREFUL_SESSION;
        }
        Search::Space { space: NamedSpace::new("etcd-election", &space), judgement: Judgement::Safety }
    };
    Scenario {
        id: "E3",
        story: "a candidate's lease ends while it waits, and its key goes; when the key before is deleted it leads, and so does whoever \
                comes next: Campaign does not look for its own key, as Lock does since row E1",
        breaks: Promise::MutualExclusion,
        search: space(false),
        fix: "look for the own key after waiting, and at the clock when the answer comes",
        fix_search: space(true),
        note: "the look alone leaves the window of row E1: the lease may end between the look and the election. A client that counts its \
               lease's time from what it has sent, and looks at its clock before it leads, needs no look here; the look is for keys that \
               go without their lease. Neither Campaign nor Lock watches the own key while it waits: who has lost it learns of that when \
               the one before it leaves (etcd-io/etcd#19597)",
        hunt: Some(hunts::e3()),
        ..ETCD
    }
}

fn e7() -> Scenario {
    let space = |lease_clock| {
        let mut space = etcd_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_etcd(&mut space, Assumption::NoServerClockStep);
        space.setup.workload.rounds = 1;
        space.setup.workload.hold = Micros(i64::from(LONG_TICKS) * TICK.0);
        space.setup.store.lease_clock = lease_clock;
        safety(space)
    };
    Scenario {
        id: "E7",
        story: "the leader's wall clock jumps, and all leases end, that of the holder too",
        breaks: Promise::MutualExclusion,
        search: space(LeaseClock::Wall),
        fix: "leases counted by the monotonic clock (Go 1.9; 4136df793)",
        fix_search: space(LeaseClock::Monotonic),
        hunt: Some(hunts::e7()),
        ..ETCD
    }
}

// Calls of unknown outcome.

fn e4() -> Scenario {
    let space = |unlock_errors, guards_unlock| {
        let mut space = etcd_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        space.bounds.losses = 1;
        space.bounds.unhurried = false;
        space.setup.lock.session = CAREFUL_SESSION;
        space.setup.lock.unlock_errors = unlock_errors;
        space.setup.lock.guards_unlock = guards_unlock;
        space.setup.workload.hold = TICK;
        safety(space)
    };
    Scenario {
        id: "E4",
        story: "an unlock fails for its caller, as its request or its answer is lost, and the session locks again; the unlock is called \
            again, and deletes the key that the session holds by now, for it has the same name",
        breaks: Promise::MutualExclusion,
        search: space(UnlockErrors::CalledAgainLater, false),
        fix: "call unlock again until it is answered before the session locks again, and delete the key only if its create \
              revision is the one that was locked",
        fix_search: space(UnlockErrors::CalledAgain, true),
        note: "open: etcd-io/etcd#22082. The guard by itself, as proposed in #22115, is not enough: if the first deletion never \
               came, the key is still there, the session locks it again with its old create revision, and the second deletion \
               passes the guard. A deletion that comes late does the same as one that is called again, without anybody calling \
               twice: that is what the guard is for",
        hunt: Some(hunts::e4()),
        ..ETCD
    }
}

fn e11() -> Scenario {
    let space = |context_end| {
        let mut space = etcd_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        space.setup.workload.hold = Micros(2 * TICK.0);
        // As the library was then: the look for the own key came later. That no lease ends before its holder knows is of row E1.
        space.setup.lock.checks_own_key = false;
        space.setup.lock.session = CAREFUL_SESSION;
        space.setup.lock.patience = Some(Micros(2 * TICK.0));
        space.setup.lock.context_end = context_end;
        safety(space)
    };
    Scenario {
        id: "E11",
        story: "the caller's context ends as the wait succeeds: Lock deletes its key, and returns nil all the same",
        breaks: Promise::MutualExclusion,
        search: space(ContextEnd::DeletesAndSucceeds),
        fix: "Lock fails if it has deleted its key (#10111)",
        fix_search: space(ContextEnd::Fails),
        hunt: Some(hunts::e11()),
        ..ETCD
    }
}

fn e12() -> Scenario {
    let space = |key_name| {
        let mut space = etcd_leases(2, Calls::Lock, &[]);
        space.bounds.losses = 1;
        space.setup.workload.rounds = 1;
        space.setup.lock.key_name = key_name;
        let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Adversary };
        Search::Space { space: NamedSpace::new("etcd-mutex", &space), judgement }
    };
    Scenario {
        id: "E12",
        story: "the answer to the transaction is lost, and Lock is called again under another key: it waits behind its own first \
                one for as long as its session lasts",
        breaks: Promise::DeadlockFreedom,
        search: space(KeyName::DrawnAnew),
        fix: "a key named by the session's lease: who asks again finds its own place",
        fix_search: space(KeyName::Lease),
        hunt: Some(hunts::e12()),
        ..ETCD
    }
}

/// What the rows above have in common; the searches are placeholders that every row replaces.
const ETCD: Scenario = Scenario {
    id: "",
    system: "etcd",
    story: "",
    breaks: Promise::MutualExclusion,
    search: Search::NOWHERE,
    fix: "",
    fix_search: Search::NOWHERE,
    note: "",
    hunt: None,
};

fn safety(space: Space<EtcdMutex>) -> Search {
    Search::Space { space: NamedSpace::new("etcd-mutex", &space), judgement: Judgement::Safety }
}
