//! etcd's own election, which comes without a proof either: what it must lean on.
//!
//! It is the queue of the mutex, and leans on what the mutex leans on. What differs: nobody looks after waiting whether the own key
//! is still there; a resignation compares the create revision; and one that has failed is forgotten.

use super::Claim;
use super::etcd::{DOWN_FOR_LONG, careful, one_round_first, without};
use crate::claims::etcd::{drop_from_etcd, on_etcd};
use crate::claims::{Assumption, Expected, Judgement};
use crate::explore::{Draws, Goal, Space};
use crate::locks::EtcdElection;
use crate::locks::etcd_election::{Fence, Proposal, ResignErrors};
use crate::machine::Line;
use crate::time::Micros;
use crate::workload::{Calls, Writes};
use crate::world::{Aim, TICK};
use picklock_properties::{ClientId, Promise};

/// The claims, in the order of the statements.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = exclusion();
    claims.extend(order());
    claims.extend(progress());
    claims.extend(fencing());
    claims.into_iter().flat_map(|claim| one_round_first::<EtcdElection>(claim, "election")).collect()
}

fn claim(
    theorem: &'static str,
    space: &Space<EtcdElection>,
    dropped: &[Assumption],
    expected: Expected,
) -> Claim {
    Claim::of("etcd-election", theorem, space, dropped, expected)
}

/// key.go:30, where a candidate waits.
const WAITING: Line = Line { listing: 2, number: 30 };

fn exclusion() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::MutualExclusion];
    let base = |variant, clients, calls| Claim {
        variant,
        reason: "one order of all creates, and whoever is first in it leads",
        ..claim("election", &on_etcd(clients, calls, &PROMISE), &[], Holds)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("election", &without(&PROMISE, assumptions), assumptions, expected)
    };
    let variant =
        |variant, assumptions: &[Assumption], change: fn(&mut Space<EtcdElection>), expected, reason| {
            let mut space = without(&PROMISE, assumptions);
            change(&mut space);
            Claim { variant, reason, ..claim("election", &space, assumptions, expected) }
        };
    vec![
        base("lock", 3, Calls::Lock),
        base("try_lock", 2, Calls::TryLock),
        dropped(&[NoExpiry], Untested, "whose keep-alives arrive in time keeps its lease"),
        dropped(&[NoPause], Violated, "the leader outlives its lease while it pauses"),
        variant(
            "paused while it waits",
            &[NoPause],
            waiting,
            Violated,
            "its key has gone with its lease, and nobody looks (row E3)",
        ),
        dropped(
            &[NoLoss],
            Violated,
            "the client counts its lease from the answer's arrival, and looks once a second: the leader is first",
        ),
        variant(
            "deadline counted from the sending",
            &[NoLoss, StopsInTime],
            careful,
            Violated,
            "the leader does not look whether its session is done",
        ),
        dropped(
            &[NoDuplicate],
            Holds,
            "a resignation that comes twice compares the create revision, and the next key of the same name has another",
        ),
        variant(
            "every campaign with another value",
            &[NoDuplicate],
            |space| space.setup.lock.proposal = Proposal::DrawnAnew,
            Holds,
            "a proclamation keeps the create revision, and compares it",
        ),
        dropped(
            &[NoServerClockStep],
            Untested,
            "the leader of the members counts leases by its monotonic clock",
        ),
        dropped(&[NoClockStep], Untested, "the client looks at its monotonic clock only"),
        dropped(&[ClocksAgree], Untested, "the client looks at its monotonic clock only"),
        dropped(
            &[BoundedDrift],
            Violated,
            "the lease of a client whose clock is slow ends between two keep-alives",
        ),
        dropped(&[NoCrash], Holds, "the key of the dead stays"),
        dropped(&[NoCrash, NoExpiry], Holds, "the dead do not work on when their lease ends"),
        dropped(&[MajorityUp], Holds, "without a member nobody is elected"),
        // Two rounds have more than 50 million states.
        variant(
            "one round",
            &[NoExpiry, MajorityUp],
            |space| space.setup.workload.rounds = 1,
            Holds,
            "who cannot keep its lease alive stops, and a member that comes back gives every lease its full time again",
        ),
    ]
}

/// Only who waits is paused.
fn waiting(space: &mut Space<EtcdElection>) {
    space.bounds.aim = Aim::At(WAITING);
    space.bounds.unhurried = false;
    space.setup.workload.hold = TICK;
}

fn order() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::Fifo];
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("election-fifo", &without(&PROMISE, assumptions), assumptions, expected)
    };
    vec![
        Claim {
            reason: "the create revisions are the order, and nobody leaves the queue",
            ..claim("election-fifo", &on_etcd(3, Calls::Lock, &PROMISE), &[], Holds)
        },
        dropped(&[NoExpiry], Untested, "whose keep-alives arrive in time keeps its place"),
        dropped(&[NoPause], Violated, "a waiter's lease ends, and it stands at the end again"),
        dropped(&[NoLoss], Violated, "a waiter's lease ends, and it stands at the end again"),
        dropped(&[NoCrash], Holds, "the dead keep their place"),
        dropped(&[NoExpiry, MajorityUp], Violated, DOWN_FOR_LONG),
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
    let asked = |variant, rounds, assumptions: &[Assumption], resign_errors, expected, reason| {
        let mut space: Space<EtcdElection> = without(&[], assumptions);
        // Whether somebody stops in time does not matter here.
        space.setup.workload.hold = Micros::ZERO;
        space.setup.workload.rounds = rounds;
        space.setup.lock.resign_errors = resign_errors;
        Claim {
            variant,
            judgement: served(2),
            reason,
            ..claim("election-progress", &space, assumptions, expected)
        }
    };
    let dropped = |assumptions: &[Assumption], expected, reason| {
        asked("", 2, assumptions, ResignErrors::Forgotten, expected, reason)
    };
    vec![
        Claim {
            judgement: served(3),
            reason: "whoever resigns deletes the key that the next one watches",
            ..claim("election-progress", &on_etcd(3, Calls::Lock, &[]), &[], Holds)
        },
        dropped(&[NoExpiry], Untested, "whoever resigns deletes the key that the next one watches"),
        dropped(&[NoCrash], Violated, "the key of the dead stays, for their lease does not end"),
        dropped(&[NoCrash, NoExpiry], Holds, "the key of the dead goes with their lease"),
        asked(
            "one round",
            1,
            &[NoLoss],
            ResignErrors::Forgotten,
            Violated,
            "a resignation is lost, and the library has forgotten the key, which its session keeps alive",
        ),
        asked(
            "resignation called again until it is answered, one round",
            1,
            &[NoLoss],
            ResignErrors::CalledAgain,
            Holds,
            "who asks again finds its own key, a watch is begun again, and a key is deleted in the end",
        ),
        asked(
            "session orphaned if a resignation fails, one round",
            1,
            &[NoLoss],
            ResignErrors::SessionOrphaned,
            Holds,
            "the key goes with the lease that nobody keeps alive",
        ),
        dropped(
            &[NoDuplicate],
            Violated,
            "a campaign's transaction comes a second time after the resignation, and puts a key that nobody knows of",
        ),
        dropped(&[NoPause], Holds, "whose lease has ended leads without a key, or begins anew"),
        dropped(&[MajorityUp], Violated, "without a member nobody is elected"),
    ]
}

/// The create revision of the own key as token, and a resource that checks it.
fn fencing() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    const PROMISE: [Promise; 1] = [Promise::FencedResource];
    let space = |fence, assumptions: &[Assumption]| {
        let mut space: Space<EtcdElection> = on_etcd(2, Calls::Lock, &PROMISE);
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
        ..claim("election-fencing", &space(Fence::CreateRevision, assumptions), assumptions, expected)
    };
    const LARGER: &str = "the next leader's create revision is larger, and the resource has seen it";
    vec![
        fenced(&[], Holds, "nobody outlives anything"),
        fenced(&[NoPause], Holds, LARGER),
        Claim {
            variant: "no token",
            reason: "the resource cannot know whose time is over",
            ..claim("election-fencing", &space(Fence::None, &[NoPause]), &[NoPause], Violated)
        },
        fenced(&[NoLoss], Holds, LARGER),
        fenced(&[NoLoss, StopsInTime], Holds, "it does not matter who goes on leading"),
        fenced(&[NoDuplicate], Holds, "of two create revisions one is the larger"),
        fenced(&[Durable], Violated, "the member begins empty, and its revisions from 1"),
    ]
}
