//! etcd's own mutex, which comes without a proof: what it must lean on.
//!
//! One member. Whatever the order of its steps, the queue is in the order of the create revisions, and one transaction finds
//! a place in it. What the lock leans on is that a holder stops before the leader ends its lease, and that nothing deletes a key
//! but its owner's present self.

use super::Claim;
use crate::claims::etcd::{CAREFUL_SESSION, InSession, LONG_TICKS, drop_from_etcd, etcd_mutex, on_etcd};
use crate::claims::{Assumption, Expected, Judgement, NamedSpace, pack_setup, unpack_setup};
use crate::explore::{Draws, Goal, Space};
use crate::locks::EtcdMutex;
use crate::locks::etcd_mutex::{Fence, UnlockErrors};
use crate::stores::etcd::{KeepAlives, LeaseClock};
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
    claims.into_iter().flat_map(|claim| one_round_first::<EtcdMutex>(claim, "etcd")).collect()
}

/// Where time passes, two rounds under a fault take minutes to go through: such a claim is made of one round first. And of no more,
/// where two have not been gone through to their end: fenced writes under a pause did not end within seven minutes, progress with a
/// lost message not within ten, and in nine gigabytes.
pub(super) fn one_round_first<L: InSession>(claim: Claim, exclusion: &str) -> Vec<Claim> {
    let mut setup = match unpack_setup::<L>(&claim.space.setup) {
        Ok(setup) => setup,
        Err(error) => unreachable!("it was packed here: {error}"),
    };
    let is_small = claim.space.bounds.latency_ticks.is_none() || claim.dropped == [Assumption::NoExpiry];
    let is_one = claim.long || !claim.variant.is_empty() || setup.workload.rounds == 1;
    if is_small || is_one || claim.expected == Expected::Violated {
        return vec![claim];
    }
    setup.workload.rounds = 1;
    let space = NamedSpace { setup: pack_setup::<L>(&setup), ..claim.space.clone() };
    let once = Claim { variant: "one round", space, ..claim.clone() };
    let is_short_enough =
        claim.theorem == exclusion || claim.dropped == [Assumption::NoCrash, Assumption::NoExpiry];
    let twice = is_short_enough.then_some(Claim { long: true, ..claim });
    [once].into_iter().chain(twice).collect()
}

fn claim(
    theorem: &'static str,
    space: &Space<EtcdMutex>,
    dropped: &[Assumption],
    expected: Expected,
) -> Claim {
    Claim::of("etcd-mutex", theorem, space, dropped, expected)
}

/// Two clients, two rounds, without these assumptions. A holder works for longer than a lease lasts without a keep-alive:
/// whether it is kept alive, and its holder stops in time, matters.
pub(super) fn without<L: InSession>(promise: &[Promise], dropped: &[Assumption]) -> Space<L> {
    let mut space = on_etcd(2, Calls::Lock, promise);
    dropped.iter().for_each(|assumption| drop_from_etcd(&mut space, *assumption));
    space.setup.workload.hold = Micros(i64::from(LONG_TICKS) * TICK.0);
    space
}

/// The client counts its lease's time from what it has sent.
pub(super) fn careful<L: InSession>(space: &mut Space<L>) {
    *L::session(&mut space.setup.lock) = CAREFUL_SESSION;
}

fn exclusion() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::MutualExclusion];
    let base = |variant, clients, calls| Claim {
        variant,
        reason: "one order of all creates, and whoever is first in it holds",
        ..claim("etcd", &etcd_mutex(clients, calls, &PROMISE), &[], Holds)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("etcd", &without(&PROMISE, assumptions), assumptions, expected)
    };
    let variant =
        |variant, assumptions: &[Assumption], change: fn(&mut Space<EtcdMutex>), expected, reason| {
            let mut space = without(&PROMISE, assumptions);
            change(&mut space);
            Claim { variant, reason, ..claim("etcd", &space, assumptions, expected) }
        };
    let in_rounds =
        |rounds, variant, assumptions: &[Assumption], change: fn(&mut Space<EtcdMutex>), reason| {
            let mut space = without(&PROMISE, assumptions);
            change(&mut space);
            space.setup.workload.rounds = rounds;
            Claim { variant, reason, long: rounds > 1, ..claim("etcd", &space, assumptions, Holds) }
        };
    let mut claims = vec![
        base("lock", 3, Calls::Lock),
        base("try_lock", 3, Calls::TryLock),
        dropped(&[NoExpiry], Untested, "whose keep-alives arrive in time keeps its lease"),
        dropped(&[NoPause], Violated, "the holder outlives its lease while it pauses (row E2)"),
        variant(
            "paused before the grant",
            &[NoPause],
            |space| space.bounds.aim = Aim::Asking,
            Violated,
            "the own key was there when it was looked for; nobody asks how long ago that was",
        ),
        variant(
            "paused, deadline counted from the sending",
            &[NoPause],
            careful,
            Violated,
            "no deadline helps who cannot look at it",
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
            "the holder does not look whether its session is done",
        ),
        dropped(
            &[NoDuplicate],
            Violated,
            "a deletion that comes late is of the next key of the same name (row E4)",
        ),
        variant(
            "guarded unlock",
            &[NoDuplicate],
            |space| space.setup.lock.guards_unlock = true,
            Holds,
            "a key that was put again has another create revision",
        ),
        dropped(&[Durable], Violated, "the member begins empty"),
        dropped(&[NoServerClockStep], Untested, "leases are counted by the monotonic clock"),
        variant(
            "leases in wall-clock time",
            &[NoServerClockStep],
            |space| space.setup.store.lease_clock = LeaseClock::Wall,
            Violated,
            "all leases end at once, and the holder learns it last (row E7)",
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
        dropped(&[MajorityUp], Holds, "without a member nobody is granted anything"),
    ];
    // Two rounds are 75,751,563 states, and hold.
    claims.push(in_rounds(
        1,
        "one round",
        &[NoExpiry, MajorityUp],
        |_| {},
        "who cannot keep its lease alive stops, and a member that comes back gives every lease its full time again",
    ));
    // Minutes each, and two rounds are needed; row E4 has the first and the last in less time.
    let unlock = |variant, unlock_errors, guards_unlock, expected, reason| {
        let mut space: Space<EtcdMutex> = without(&PROMISE, &[NoLoss]);
        careful(&mut space);
        space.bounds.losses = 1;
        space.setup.lock.unlock_errors = unlock_errors;
        space.setup.lock.guards_unlock = guards_unlock;
        Claim { variant, reason, long: true, ..claim("etcd", &space, &[NoLoss], expected) }
    };
    claims.extend([
        unlock(
            "unlock called again in the background",
            UnlockErrors::CalledAgainLater,
            false,
            Violated,
            "the second deletion is of the key that the same session has put since (row E4)",
        ),
        unlock(
            "unlock called again in the background, guarded",
            UnlockErrors::CalledAgainLater,
            true,
            Violated,
            "if the first deletion never came, the session has locked the key that is still there: it has the create revision \
             that the guard compares",
        ),
        unlock(
            "unlock called again until it is answered, guarded",
            UnlockErrors::CalledAgain,
            true,
            Holds,
            "when the session locks again its old key is gone, and the new one has another create revision",
        ),
    ]);
    let aimed = |space: &mut Space<EtcdMutex>| {
        careful(space);
        space.bounds.aim = Aim::Asking;
    };
    const IN_TIME: &str =
        "the client looks at its clock when it is granted, and keeps its lease alive before it is over";
    claims.extend([
        in_rounds(
            1,
            "paused before the grant, deadline counted from the sending, one round",
            &[NoPause],
            aimed,
            IN_TIME,
        ),
        // Six minutes.
        in_rounds(
            2,
            "paused before the grant, deadline counted from the sending",
            &[NoPause],
            aimed,
            IN_TIME,
        ),
        // And no lease ends.
        Claim {
            expected: Untested,
            ..in_rounds(
            1,
            "power loss, log synced, one round",
            &[NoExpiry],
            |space| space.bounds.power_losses = 1,
            "keys and leases survive, and all leases have their full time again",
        )
        },
        in_rounds(
            1,
            "deadline counted from the sending, one round",
            &[NoLoss],
            careful,
            "the client stops before the leader can end its lease",
        ),
        in_rounds(
            1,
            "deadline counted from the sending, keep-alives answered at once, one round",
            &[NoLoss],
            |space| {
                careful(space);
                space.setup.store.keep_alives = KeepAlives::AnswerAtOnce;
            },
            "when the leader has taken the lease for over the client has, too, and believes no answer that comes later (E10 of etcd's list)",
        ),
    ]);
    claims.push(Claim {
        long: true,
        ..variant(
            "deadline counted from the sending, three losses, one round",
            &[NoLoss],
            |space| {
                careful(space);
                space.bounds.losses = 3;
                space.setup.workload.rounds = 1;
            },
            Holds,
            "the client stops before the leader can end its lease",
        )
    });
    claims
}

fn order() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::Fifo];
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("etcd-fifo", &without(&PROMISE, assumptions), assumptions, expected)
    };
    vec![
        Claim {
            reason: "the create revisions are the order, and nobody leaves the queue",
            ..claim("etcd-fifo", &etcd_mutex(3, Calls::Lock, &PROMISE), &[], Holds)
        },
        dropped(&[NoExpiry], Untested, "whose keep-alives arrive in time keeps its place"),
        dropped(&[NoPause], Violated, "a waiter's lease ends, and it stands at the end again"),
        dropped(&[NoLoss], Violated, "a waiter's lease ends, and it stands at the end again"),
        dropped(&[NoCrash], Holds, "the dead keep their place"),
        dropped(&[NoExpiry, MajorityUp], Violated, DOWN_FOR_LONG),
    ]
}

/// Why nobody keeps a place in the queue for good.
pub(super) const DOWN_FOR_LONG: &str =
    "the member is down for longer than a lease lasts, and a waiter begins anew when it comes back";

fn progress() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let served = |clients: u8| {
        let mut goals = vec![Goal::DeadlockFreedom];
        goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
        Judgement::Progress { goals, draws: Draws::Adversary }
    };
    let dropped = |assumptions: &[Assumption], expected, reason| {
        let mut space = without(&[], assumptions);
        // Whether somebody stops in time does not matter here.
        space.setup.workload.hold = Micros::ZERO;
        Claim { judgement: served(2), reason, ..claim("etcd-progress", &space, assumptions, expected) }
    };
    vec![
        Claim {
            judgement: served(3),
            reason: "whoever leaves deletes the key that the next one watches",
            ..claim("etcd-progress", &etcd_mutex(3, Calls::Lock, &[]), &[], Holds)
        },
        dropped(&[NoExpiry], Untested, "whoever leaves deletes the key that the next one watches"),
        dropped(&[NoCrash], Violated, "the key of the dead stays, for their lease does not end"),
        dropped(&[NoCrash, NoExpiry], Holds, "the key of the dead goes with their lease"),
        dropped(&[NoLoss], Holds, "who asks again finds its own key, and a watch is begun again"),
        dropped(&[NoPause], Holds, "whose lease has ended begins anew"),
        dropped(&[MajorityUp], Violated, "without a member nobody is granted anything"),
    ]
}

/// The create revision of the own key as token, and a resource that checks it.
fn fencing() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    const PROMISE: [Promise; 1] = [Promise::FencedResource];
    let space = |clients, fence, assumptions: &[Assumption]| {
        let mut space = etcd_mutex(clients, Calls::Lock, &PROMISE);
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
        ..claim("etcd-fencing", &space(2, Fence::CreateRevision, assumptions), assumptions, expected)
    };
    const LARGER: &str = "the next holder's create revision is larger, and the resource has seen it";
    vec![
        Claim {
            reason: "nobody outlives anything",
            ..claim("etcd-fencing", &space(2, Fence::CreateRevision, &[]), &[], Holds)
        },
        fenced(&[NoPause], Holds, LARGER),
        Claim {
            variant: "no token",
            reason: "the resource cannot know whose time is over (row E2)",
            ..claim("etcd-fencing", &space(2, Fence::None, &[NoPause]), &[NoPause], Violated)
        },
        fenced(&[NoLoss], Holds, LARGER),
        fenced(&[NoLoss, StopsInTime], Holds, "it does not matter who holds on"),
        fenced(
            &[NoDuplicate],
            Holds,
            "who holds beside another one has the smaller create revision or the larger, never the same",
        ),
        fenced(&[Durable], Violated, "the member begins empty, and its revisions from 1"),
    ]
}
