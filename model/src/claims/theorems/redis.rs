//! The guarantees of the Redlock article, *Distributed Locks with Redis*, and what each side of the argument about Redlock leans on.
//!
//! The critique (M. Kleppmann) lets the holder pause, and clocks jump; the reply (antirez) has the client look at the clock
//! after every delay that comes before the grant, and takes clocks for sane. Both are right about what they assume: a
//! pause before the grant is harmless, one after it is not, and a clock that is set breaks the lock whoever pauses.

use super::Claim;
use crate::claims::redis::{
    LONG_TICKS, drop_from_readers_writer, drop_from_redlock, drop_from_semaphore, readers_writer, redlock,
    semaphore,
};
use crate::claims::{Assumption, Expected, Judgement};
use crate::explore::{Draws, Goal, Space};
use crate::locks::Redlock;
use crate::locks::redis_readers_writer::{self as shared, RedisReadersWriter};
use crate::locks::redis_semaphore::{self as permits, RedisSemaphore, Stamps};
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
    claims.extend(readers_writers());
    claims.extend(semaphores());
    claims
}

fn claim(theorem: &'static str, space: &Space<Redlock>, dropped: &[Assumption], expected: Expected) -> Claim {
    Claim::of("redlock", theorem, space, dropped, expected)
}

fn safety(theorem: &'static str, promise: Promise) -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
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
        dropped(NoClockStep, Untested, "the client measures by its monotonic clock (else: row R9)"),
        dropped(ClocksAgree, Untested, "only how long something takes matters, not what time it is"),
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
        let claim = progress("liveness-b", &mut space, dropped, expected, reason);
        if clients == 1 { Claim { variant: "almost surely, one client", ..claim } } else { claim }
    };
    vec![
        claim(1, &[], Holds, "two of three nodes are a majority, and no dead one is waited for"),
        claim(2, &[], Holds, "two of three nodes are a majority, and no dead one is waited for"),
        claim(2, &[NoLoss], Holds, "the next attempt gets through"),
        claim(1, &[MajorityUp], Violated, "one of three nodes is no majority"),
    ]
}

/// A writer and two readers.
fn readers_writers() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let space = |lock, change: &dyn Fn(&mut Space<RedisReadersWriter>)| {
        let mut space = readers_writer(lock, 3, Calls::TryLock, &[Promise::MutualExclusion]);
        change(&mut space);
        space
    };
    let claim = |lock, variant, dropped: &[Assumption], expected, reason| {
        let space = space(lock, &|space| {
            dropped.iter().for_each(|assumption| drop_from_readers_writer(space, *assumption));
        });
        let name = "redis-readers-writer-repaired";
        Claim { variant, reason, ..Claim::of(name, "readers-writer", &space, dropped, expected) }
    };
    let entries = |dropped: &[Assumption], expected, reason| {
        claim(shared::Settings::repaired(), "an entry each", dropped, expected, reason)
    };
    let counted = |dropped: &[Assumption], expected, reason| {
        claim(shared::Settings::counted(), "counted", dropped, expected, reason)
    };
    let until_granted = |lock, variant, reason| {
        let space = space(lock, &|space| space.setup.workload.calls = Calls::Lock);
        let name = "redis-readers-writer-repaired";
        Claim { variant, reason, ..Claim::of(name, "readers-writer", &space, &[], Holds) }
    };
    let outlived = "the holder outlives its entry while it pauses (row R1)";
    vec![
        entries(&[], Holds, "a writer is let in when every entry is gone or over, and its reader has left"),
        until_granted(
            shared::Settings::repaired(),
            "an entry each, until granted",
            "a writer is let in when every entry is gone or over, and its reader has left",
        ),
        counted(&[], Holds, "each counts down while its count is there"),
        until_granted(
            shared::Settings::counted(),
            "counted, until granted",
            "each counts down while its count is there",
        ),
        entries(&[NoPause], Violated, outlived),
        entries(&[BoundedDrift], Violated, "the server's clock runs ahead by more than the margin (row R10)"),
        entries(&[NoServerClockStep], Violated, "the server's clock is set past the lease (row R3)"),
        entries(&[Durable], Violated, "the server restarts empty (row R4)"),
        entries(&[StopsInTime], Violated, "the holder works on when its lease is over"),
        entries(&[KeysKept], Violated, "FLUSHALL (row R23)"),
        entries(&[NoClockStep], Untested, "clients measure by their monotonic clocks"),
        entries(&[ClocksAgree], Untested, "all moments are the server's"),
        entries(&[NoCrash], Holds, "the entries of the dead end by themselves"),
        entries(&[NoLoss], Holds, "an answer that does not come counts as no"),
        entries(&[NoDuplicate], Holds, "an entry that is made or removed again is nobody else's"),
        counted(&[NoPause], Violated, outlived),
        counted(&[NoCrash], Holds, "a count that nobody counts down ends with the counter"),
        counted(&[NoLoss], Holds, "a count that nobody counts down ends with the counter"),
        counted(&[NoDuplicate], Violated, "a DECR that arrives twice takes another reader's count (row R29)"),
    ]
}

/// Three clients, and two permits.
fn semaphores() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let space = |lock, change: &dyn Fn(&mut Space<RedisSemaphore>)| {
        let mut space = semaphore(lock, 3, Calls::TryLock, &[Promise::MutualExclusion]);
        change(&mut space);
        space
    };
    let claim = |lock, variant, dropped: &[Assumption], expected, reason| {
        let space = space(lock, &|space| {
            dropped.iter().for_each(|assumption| drop_from_semaphore(space, *assumption));
        });
        let name = "redis-semaphore-repaired";
        Claim { variant, reason, ..Claim::of(name, "semaphore", &space, dropped, expected) }
    };
    let server = |dropped: &[Assumption], expected, reason| {
        claim(permits::Settings::repaired(), "the server's clock", dropped, expected, reason)
    };
    let clients = |dropped: &[Assumption], expected, reason| {
        let lock = permits::Settings { stamps: Stamps::Clients, ..permits::Settings::repaired() };
        claim(lock, "the clients' clocks", dropped, expected, reason)
    };
    let counted =
        "who is entered found fewer entries than permits, and holders have left when theirs are over";
    let until_granted = {
        let space = space(permits::Settings::repaired(), &|space| space.setup.workload.calls = Calls::Lock);
        let variant = "the server's clock, until granted";
        let claim = Claim::of("redis-semaphore-repaired", "semaphore", &space, &[], Holds);
        Claim { variant, reason: counted, ..claim }
    };
    vec![
        server(&[], Holds, counted),
        until_granted,
        clients(&[], Holds, counted),
        server(&[NoPause], Violated, "the holder outlives its entry while it pauses (row R1)"),
        server(&[BoundedDrift], Violated, "the server's clock runs ahead by more than the margin (row R10)"),
        server(&[NoServerClockStep], Violated, "the server's clock is set past the lease (row R3)"),
        server(&[Durable], Violated, "the server restarts empty (row R4)"),
        server(&[StopsInTime], Violated, "the holder works on when its entry is over"),
        server(&[KeysKept], Violated, "FLUSHALL (row R23)"),
        server(&[NoClockStep], Untested, "all moments are the server's"),
        server(&[ClocksAgree], Untested, "all moments are the server's"),
        server(&[NoCrash], Holds, "the entries of the dead end by themselves"),
        server(&[NoLoss], Holds, "an answer that does not come counts as no"),
        server(&[NoDuplicate], Holds, "an entry that is made or removed again is nobody else's"),
        clients(&[ClocksAgree], Violated, "who is ahead removes the entries of all holders (row R33)"),
        clients(&[NoClockStep], Violated, "an entry made by a clock that was set back is over at once"),
        clients(&[NoServerClockStep], Untested, "no moment is the server's"),
    ]
}
