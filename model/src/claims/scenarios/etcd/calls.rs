//! Calls of unknown outcome, of the election and of the lock on one key.

use super::super::{Scenario, Search};
use super::{ETCD, hunts};
use crate::claims::etcd::{InSession, SESSION, drop_from_etcd, on_etcd, on_etcd_with_leases};
use crate::claims::{Assumption, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::etcd_election::{ResignErrors, Sessions};
use crate::locks::etcd_lease_key::Wait;
use crate::locks::{EtcdElection, EtcdLeaseKey};
use crate::stores::etcd::session::SessionSettings;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::TICK;
use picklock_properties::Promise;

// The election.

pub(super) fn e13() -> Scenario {
    let space = |resign_errors| {
        let mut space: Space<EtcdElection> = on_etcd(2, Calls::Lock, &[]);
        drop_from_etcd(&mut space, Assumption::NoLoss);
        space.setup.workload.rounds = 1;
        space.setup.lock.resign_errors = resign_errors;
        progress("etcd-election", &space)
    };
    Scenario {
        id: "E13",
        story: "a resignation fails, and the library has forgotten which key it was: the key stays, its session is kept alive, and \
                Resign called again does nothing",
        breaks: Promise::DeadlockFreedom,
        search: space(ResignErrors::Forgotten),
        fix: "the library remembers the key until a member has answered, and the application calls again until then",
        fix_search: space(ResignErrors::CalledAgain),
        note: "open: etcd-io/etcd#22123. An application that leaves its session when a resignation fails needs no change of the \
               library: the lease ends, and the key with it",
        hunt: Some(hunts::e13()),
        ..ETCD
    }
}

pub(super) fn e14() -> Scenario {
    let space = |resign_errors| {
        let mut space: Space<EtcdElection> = on_etcd_with_leases(2, Calls::Lock, &[Promise::MutualExclusion]);
        // Leases have no part in it.
        space.setup.lock.session = SessionSettings { ttl: None, ..SESSION };
        space.setup.lock.resign_errors = resign_errors;
        space.setup.workload.hold = TICK;
        // Of a message that is lost, what was doubled is a message that comes late.
        space.bounds.losses = 1;
        space.bounds.duplicates = 1;
        space.bounds.unhurried = false;
        safety("etcd-election", &space)
    };
    Scenario {
        id: "E14",
        story: "a resignation is late, and its candidate leads again by the key that is still there, with its old create revision; the \
                resignation finds the revision that it looks for, and deletes the key of a leader",
        breaks: Promise::MutualExclusion,
        search: space(ResignErrors::Forgotten),
        fix: "resign until a member has answered, before the next campaign: that one's key is another, and has another create revision",
        fix_search: space(ResignErrors::CalledAgain),
        note: "the guard keeps out what comes twice (row E4), and not what comes late: create revisions tell keys apart, not the times \
               that one key was led by",
        hunt: Some(hunts::e14()),
        ..ETCD
    }
}

pub(super) fn e15() -> Scenario {
    let space = |sessions| {
        let mut space: Space<EtcdElection> = on_etcd_with_leases(2, Calls::Lock, &[]);
        drop_from_etcd(&mut space, Assumption::NoDuplicate);
        space.setup.workload.rounds = 1;
        space.setup.lock.sessions = sessions;
        progress("etcd-election", &space)
    };
    Scenario {
        id: "E15",
        story: "a campaign's transaction comes a second time, after the resignation, and puts a key that nobody knows of, for as long as \
                the session is kept alive",
        breaks: Promise::DeadlockFreedom,
        search: space(Sessions::Kept),
        fix: "a session for every campaign, left with the resignation: its lease ends, and whatever its transaction has put",
        fix_search: space(Sessions::OneEach),
        note: "a transaction that creates what it does not find does so whenever it comes: no network need double it. Who \
               gave up on it calls again, and the first one comes after the unlock. The mutex and the lock on one key are stopped in the same way, their \
               repaired variants too",
        hunt: Some(hunts::e15()),
        ..ETCD
    }
}

// The lock on one key.

pub(super) fn e16() -> Scenario {
    let space = |guards_unlock| {
        let mut space: Space<EtcdLeaseKey> = on_etcd(2, Calls::Lock, &[Promise::MutualExclusion]);
        drop_from_etcd(&mut space, Assumption::NoDuplicate);
        space.setup.lock.guards_unlock = guards_unlock;
        safety("etcd-lease-key", &space)
    };
    Scenario {
        id: "E16",
        story: "an unlock comes a second time when somebody else holds: a deletion by the key's name is of anybody's key",
        breaks: Promise::MutualExclusion,
        search: space(false),
        fix: "delete the key only if its create revision is the one that was put",
        fix_search: space(true),
        note: "in the mutex, whose keys are named by sessions, a late unlock hits nobody but its own session (row E4). A client that \
               repeats an unlock whose answer was lost does the same",
        hunt: Some(hunts::e16()),
        ..ETCD
    }
}

pub(super) fn e17() -> Scenario {
    let space = |wait| {
        let mut space: Space<EtcdLeaseKey> = on_etcd(2, Calls::Lock, &[]);
        space.setup.lock.wait = wait;
        progress("etcd-lease-key", &space)
    };
    Scenario {
        id: "E17",
        story: "the key is deleted after a client was refused and before its watch has arrived, which begins with now: nothing more \
                happens to the key, and its waiter sleeps for ever",
        breaks: Promise::DeadlockFreedom,
        search: space(Wait::WatchFromNow),
        fix: "watch from the revision of the refusal on",
        fix_search: space(Wait::WatchFromAnswer),
        note: "without any fault: python-etcd3 before kragniz/python-etcd3#1109",
        hunt: Some(hunts::e17()),
        ..ETCD
    }
}

pub(super) fn e18() -> Scenario {
    let space = |finds_own_key| {
        let mut space: Space<EtcdLeaseKey> = on_etcd(2, Calls::Lock, &[]);
        drop_from_etcd(&mut space, Assumption::NoLoss);
        space.setup.workload.rounds = 1;
        space.setup.lock.wait = Wait::WatchFromAnswer;
        space.setup.lock.finds_own_key = finds_own_key;
        progress("etcd-lease-key", &space)
    };
    Scenario {
        id: "E18",
        story: "the answer to the transaction is lost, and the same one, said again, is refused: its client waits for itself, and keeps \
                the key alive by its session",
        breaks: Promise::DeadlockFreedom,
        search: space(false),
        fix: "who is refused looks whether the key is bound to its own lease",
        fix_search: space(true),
        note: "what is done once may be said twice, as far as the store goes, and its answer is another (row X1). \
               In row E12 the mutex waits for itself because the second key has another name; here there is one name, and nobody looks",
        hunt: Some(hunts::e18()),
        ..ETCD
    }
}

fn safety<L: InSession>(lock: &'static str, space: &Space<L>) -> Search {
    Search::Space { space: NamedSpace::new(lock, space), judgement: Judgement::Safety }
}

/// Who holds gives back at once.
fn progress<L: InSession>(lock: &'static str, space: &Space<L>) -> Search {
    let mut space = space.clone();
    space.setup.workload.hold = Micros::ZERO;
    let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Adversary };
    Search::Space { space: NamedSpace::new(lock, &space), judgement }
}
