//! The guarantees of document 001, and what each side of the argument about Redlock leans on.
//!
//! The critique (M. Kleppmann) lets the holder pause, and clocks jump; the reply (antirez) has the client look at the clock
//! after every delay that comes before the grant, and takes clocks for sane. Both are right about what they assume: a
//! pause before the grant is harmless, one after it is not, and a clock that is set breaks the lock whoever pauses.

use super::Claim;
use crate::claims::redis::{LONG_TICKS, drop_from_redlock, redlock};
use crate::claims::{Assumption, Expected, Judgement, NamedSpace};
use crate::explore::{Draws, Goal, Space};
use crate::locks::Redlock;
use crate::locks::redlock::Contact;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Aim, TICK};
use picklock_properties::Promise;

/// The claims, in the order of the source.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = safety("redlock", Promise::MutualExclusion);
    claims.extend(the_argument());
    claims.extend(safety("min-validity", Promise::MinValidity));
    claims.extend(liveness_a());
    claims.extend(liveness_b());
    claims
}

fn claim(theorem: &'static str, space: &Space<Redlock>, dropped: &[Assumption], expected: Expected) -> Claim {
    Claim {
        theorem,
        space: NamedSpace::new("redlock", space),
        clients: space.setup.workload.clients,
        servers: space.setup.servers,
        variant: "",
        dropped: dropped.to_vec(),
        judgement: Judgement::Safety,
        expected,
        reason: "",
        long: false,
    }
}

fn safety(theorem: &'static str, promise: Promise) -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let base = || redlock(2, 3, Calls::TryLock, &[promise]);
    let dropped = |assumption, expected, reason| {
        let mut space = base();
        drop_from_redlock(&mut space, assumption);
        Claim { reason, ..claim(theorem, &space, &[assumption], expected) }
    };
    let variant = |variant, change: fn(&mut Space<Redlock>), long| {
        let mut space = base();
        change(&mut space);
        let reason = "two majorities share a node, and its key outlives the first holder's validity";
        Claim { variant, reason, long, ..claim(theorem, &space, &[], Holds) }
    };
    let (delayed, gone) = match promise {
        Promise::MinValidity => {
            (Violated, "the keys are gone: what keeps the lock is that their node stays away")
        }
        _ => (Holds, "a node that has forgotten takes part in no lock that was alive then"),
    };
    vec![
        variant("in turn", |_| {}, false),
        variant("at once", |space| space.setup.lock.contact = Contact::AtOnce, false),
        variant("in turn, slow messages", |space| space.bounds.latency_ticks = Some(1), true),
        variant("in turn, until granted", |space| space.setup.workload.calls = Calls::Lock, false),
        Claim { variant: "delayed restart", reason: gone, expected: delayed, ..forgetful(theorem, promise) },
        dropped(NoPause, Violated, "the holder outlives its keys while it pauses (row R1)"),
        dropped(BoundedDrift, Violated, "a node's clock runs ahead by more than the margin (row R10)"),
        dropped(NoServerClockStep, Violated, "a node's clock is set past the TTL (row R3)"),
        dropped(Durable, Violated, "a node of the majority restarts empty (row R4)"),
        dropped(StopsInTime, Violated, "the holder works on when its lock is over"),
        dropped(KeysKept, Violated, "FLUSHALL (row R23)"),
        dropped(NoClockStep, Holds, "the client measures by its monotonic clock (else: row R9)"),
        dropped(ClocksAgree, Holds, "only how long something takes matters, not what time it is"),
        dropped(NoCrash, Holds, "the keys of the dead expire"),
        dropped(NoLoss, Holds, "an answer that does not come counts as no"),
        dropped(NoDuplicate, Holds, "a key that is set again is nobody's lock"),
        dropped(MajorityUp, Holds, "who cannot reach a majority holds nothing"),
    ]
}

/// Nodes that lose everything with their power, and stay away for longer than a key lives.
fn forgetful(theorem: &'static str, promise: Promise) -> Claim {
    let mut space = redlock(2, 3, Calls::TryLock, &[promise]);
    drop_from_redlock(&mut space, Assumption::Durable);
    space.setup.store.restart_delay = Some(Micros(i64::from(LONG_TICKS) * TICK.0));
    claim(theorem, &space, &[Assumption::Durable], Expected::Holds)
}

/// What the critique and the reply say about pauses.
fn the_argument() -> Vec<Claim> {
    let space = |assumption, aim| {
        let mut space = redlock(2, 3, Calls::TryLock, &[Promise::MutualExclusion]);
        drop_from_redlock(&mut space, assumption);
        space.bounds.aim = aim;
        space
    };
    let dropped = [Assumption::NoPause];
    vec![
        Claim {
            variant: "paused before the grant",
            reason: "the reply: step 3 looks at the clock after every delay (without it: row R2)",
            ..claim("redlock", &space(Assumption::NoPause, Aim::Asking), &dropped, Expected::Holds)
        },
        Claim {
            variant: "paused after the grant",
            reason: "the critique: nobody looks at the clock in the critical section (row R1)",
            ..claim("redlock", &space(Assumption::NoPause, Aim::Holding), &dropped, Expected::Violated)
        },
        Claim {
            variant: "suspended before the grant",
            reason: "the clock that step 3 looks at has not counted the delay (CLOCK_MONOTONIC, not CLOCK_BOOTTIME)",
            ..claim(
                "redlock",
                &space(Assumption::NoSuspend, Aim::Asking),
                &[Assumption::NoSuspend],
                Expected::Violated,
            )
        },
    ]
}

/// Clients that ask until they are granted, and wait for a random time between two attempts.
fn contended(clients: u8) -> Space<Redlock> {
    let mut space = redlock(clients, 3, Calls::Lock, &[]);
    space.bounds.power_losses = 0;
    space.bounds.drifts = 0;
    space.setup.lock.retry_choices = 2;
    space.setup.workload.hold = Micros::ZERO;
    space
}

fn progress(
    theorem: &'static str,
    space: &mut Space<Redlock>,
    dropped: &[Assumption],
    expected: Expected,
    reason: &'static str,
) -> Claim {
    dropped.iter().for_each(|assumption| drop_from_redlock(space, *assumption));
    // One lost deletion leaves a majority free.
    space.bounds.losses *= 2;
    let judgement = Judgement::Progress { goals: vec![Goal::DeadlockFreedom], draws: Draws::Dice };
    Claim { judgement, reason, variant: "almost surely", ..claim(theorem, space, dropped, expected) }
}

fn liveness_a() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let claim = |dropped: &[Assumption], expected, reason| {
        progress("liveness-a", &mut contended(2), dropped, expected, reason)
    };
    vec![
        claim(&[], Holds, "who fails unlocks what it got, and waits for a random time"),
        claim(&[NoCrash], Holds, "the keys of the dead expire"),
        claim(&[NoLoss], Holds, "a key whose deletion was lost expires"),
        claim(&[KeysExpire], Holds, "nobody dies, and nothing is lost"),
        claim(&[NoCrash, KeysExpire], Violated, "the keys of the dead stay"),
        claim(&[NoLoss, KeysExpire], Violated, "a majority of keys whose deletions were lost stays"),
    ]
}

fn liveness_b() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let claim = |clients, dropped: &[Assumption], expected, reason| {
        let mut space = contended(clients);
        space.bounds.server_crashes = 1;
        progress("liveness-b", &mut space, dropped, expected, reason)
    };
    vec![
        claim(1, &[], Holds, "two of three nodes are a majority, and no dead one is waited for"),
        claim(2, &[], Holds, "two of three nodes are a majority, and no dead one is waited for"),
        claim(2, &[NoLoss], Holds, "the next attempt gets through"),
        claim(1, &[MajorityUp], Violated, "one of three nodes is no majority"),
    ]
}
