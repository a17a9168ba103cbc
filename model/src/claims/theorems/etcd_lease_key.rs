//! The lock that is one key with a lease: what it leans on as it is usually written, and what each repair is for.

use super::Claim;
use super::etcd::{careful, one_round_first, without};
use crate::claims::etcd::{drop_from_etcd, on_etcd};
use crate::claims::{Assumption, Expected, Judgement};
use crate::explore::{Draws, Goal, Space};
use crate::locks::EtcdLeaseKey;
use crate::locks::etcd_lease_key::{Fence, Wait};
use crate::time::Micros;
use crate::workload::{Calls, Writes};
use crate::world::TICK;
use picklock_properties::{ClientId, Promise};

/// The claims, in the order of the statements.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = exclusion();
    claims.extend(progress());
    claims.extend(fencing());
    claims.into_iter().flat_map(|claim| one_round_first::<EtcdLeaseKey>(claim, "lease-key")).collect()
}

fn claim(
    theorem: &'static str,
    space: &Space<EtcdLeaseKey>,
    dropped: &[Assumption],
    expected: Expected,
) -> Claim {
    Claim::of("etcd-lease-key", theorem, space, dropped, expected)
}

fn exclusion() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::MutualExclusion];
    let base = |variant, calls| Claim {
        variant,
        reason: "one order of all transactions, and only who finds no key puts one",
        ..claim("lease-key", &on_etcd(3, calls, &PROMISE), &[], Holds)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("lease-key", &without(&PROMISE, assumptions), assumptions, expected)
    };
    let variant =
        |variant, assumptions: &[Assumption], change: fn(&mut Space<EtcdLeaseKey>), expected, reason| {
            let mut space = without(&PROMISE, assumptions);
            change(&mut space);
            Claim { variant, reason, ..claim("lease-key", &space, assumptions, expected) }
        };
    let unlock = |variant, guards_unlock, expected, reason| {
        let mut space: Space<EtcdLeaseKey> = without(&PROMISE, &[NoLoss]);
        careful(&mut space);
        space.bounds.losses = 1;
        space.setup.lock.guards_unlock = guards_unlock;
        space.setup.workload.hold = TICK;
        let long = expected == Holds;
        Claim { variant, reason, long, ..claim("lease-key", &space, &[NoLoss], expected) }
    };
    vec![
        base("lock", Calls::Lock),
        base("try_lock", Calls::TryLock),
        dropped(&[NoExpiry], Untested, "whose keep-alives arrive in time keeps its lease"),
        dropped(&[NoPause], Violated, "the holder outlives its lease while it pauses"),
        variant(
            "every repair but a token",
            &[NoPause],
            |space| {
                careful(space);
                space.setup.lock.guards_unlock = true;
                space.setup.lock.finds_own_key = true;
            },
            Violated,
            "no deadline helps who cannot look at it",
        ),
        dropped(
            &[NoLoss],
            Violated,
            "the client counts its lease from the answer's arrival: the leader is first",
        ),
        unlock(
            "deadline counted from the sending, one loss",
            false,
            Violated,
            "an unlock whose answer is lost is called again, and deletes the key of whoever holds by then",
        ),
        unlock(
            "deadline counted from the sending, one loss, guarded",
            true,
            Holds,
            "the next one's key has another create revision",
        ),
        variant(
            "deadline counted from the sending",
            &[NoLoss, StopsInTime],
            careful,
            Violated,
            "the holder does not look whether its session is done",
        ),
        dropped(
            &[NoDuplicate],
            Violated,
            "an unlock that comes twice deletes the key of whoever holds by then",
        ),
        variant(
            "guarded",
            &[NoDuplicate],
            |space| space.setup.lock.guards_unlock = true,
            Holds,
            "the next one's key has another create revision",
        ),
        dropped(&[NoServerClockStep], Untested, "leases are counted by a monotonic clock"),
        dropped(&[NoClockStep], Untested, "the client looks at its monotonic clock only"),
        dropped(&[ClocksAgree], Untested, "the client looks at its monotonic clock only"),
        dropped(
            &[BoundedDrift],
            Violated,
            "the lease of a client whose clock is slow ends between two keep-alives",
        ),
        dropped(&[NoCrash], Holds, "the key of the dead stays"),
        dropped(&[NoCrash, NoExpiry], Holds, "the dead do not work on when their lease ends"),
        dropped(&[MajorityUp], Holds, "without a member nobody is granted anything"),
    ]
}

fn progress() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let served = |clients: u8| {
        let mut goals = vec![Goal::DeadlockFreedom];
        goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
        Judgement::Progress { goals, draws: Draws::Adversary }
    };
    let with = |variant,
                clients,
                assumptions: &[Assumption],
                change: fn(&mut Space<EtcdLeaseKey>),
                expected,
                reason| {
        let mut space: Space<EtcdLeaseKey> = on_etcd(clients, Calls::Lock, &[]);
        space.setup.lock.wait = Wait::WatchFromAnswer;
        assumptions.iter().for_each(|assumption| drop_from_etcd(&mut space, *assumption));
        change(&mut space);
        Claim {
            variant,
            judgement: served(clients),
            reason,
            ..claim("lease-key-progress", &space, assumptions, expected)
        }
    };
    const DELETED: &str = "who is refused sees every deletion since, and asks again";
    vec![
        with("watch from the answer on", 3, &[], |_| {}, Holds, DELETED),
        with(
            "watch from its arrival on",
            2,
            &[],
            |space| space.setup.lock.wait = Wait::WatchFromNow,
            Violated,
            "the key is deleted before the watch arrives, and nothing more happens to it (kragniz/python-etcd3#1107)",
        ),
        with("", 2, &[NoExpiry], |_| {}, Untested, DELETED),
        with(
            "polling",
            2,
            &[NoExpiry],
            |space| {
                space.setup.lock.wait = Wait::Poll(TICK);
                space.setup.workload.rounds = 1;
            },
            Untested,
            "who asks again and again finds the key gone some time",
        ),
        with("", 2, &[NoCrash], |_| {}, Violated, "the key of the dead stays, for their lease does not end"),
        with("", 2, &[NoCrash, NoExpiry], |_| {}, Holds, "the key of the dead goes with their lease"),
        with(
            "",
            2,
            &[NoLoss],
            |space| space.setup.workload.rounds = 1,
            Violated,
            "the transaction whose answer was lost is said again and refused: its client waits for itself",
        ),
        with(
            "own key looked for, one round",
            2,
            &[NoLoss],
            |space| {
                space.setup.lock.finds_own_key = true;
                space.setup.workload.rounds = 1;
            },
            Holds,
            "who is refused by its own key holds",
        ),
        with("", 2, &[MajorityUp], |_| {}, Violated, "without a member nobody is granted anything"),
    ]
}

/// The create revision of the key as token, and a resource that checks it.
fn fencing() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    const PROMISE: [Promise; 1] = [Promise::FencedResource];
    let space = |fence, assumptions: &[Assumption]| {
        let mut space: Space<EtcdLeaseKey> = on_etcd(2, Calls::Lock, &PROMISE);
        assumptions.iter().for_each(|assumption| drop_from_etcd(&mut space, *assumption));
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = fence != Fence::None;
        // Who pauses outlives its lease in a hold that is shorter than the pause, and writes when the next one has written. Who does not
        // pause outlives it in a hold that is longer than that one's.
        space.bounds.unhurried_holders = assumptions.contains(&NoLoss);
        let is_short = space.bounds.latency_ticks.is_some() && !space.bounds.unhurried_holders;
        space.setup.workload.hold = if is_short { TICK } else { Micros::ZERO };
        space.setup.lock.fence = fence;
        space
    };
    let fenced = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("lease-key-fencing", &space(Fence::CreateRevision, assumptions), assumptions, expected)
    };
    const LARGER: &str = "the next holder's create revision is larger, and the resource has seen it";
    vec![
        fenced(&[], Holds, "nobody outlives anything"),
        fenced(&[NoPause], Holds, LARGER),
        Claim {
            variant: "no token",
            reason: "the resource cannot know whose time is over",
            ..claim("lease-key-fencing", &space(Fence::None, &[NoPause]), &[NoPause], Violated)
        },
        fenced(&[NoLoss], Holds, LARGER),
        fenced(&[NoLoss, StopsInTime], Holds, "it does not matter who holds on"),
        fenced(
            &[NoDuplicate],
            Holds,
            "whoever lost its key by another's unlock has the smaller create revision",
        ),
        fenced(&[Durable], Violated, "the member begins empty, and its revisions from 1"),
    ]
}
