//! The lock of a Chubby cell, and Consul's: what they lean on.
//!
//! The master is one at a time, and its database loses nothing. What the lock leans on is that a client takes its lease for over
//! before the master does, or else that the lock-delay lasts longer than a holder goes on.

use super::Claim;
use crate::claims::chubby::{
    CONSUL_LONG_TICKS, CONSUL_LOSSES, LONG_TICKS, TTL, chubby_lock, consul_lock, drop_from_chubby,
    drop_from_consul,
};
use crate::claims::{Assumption, Expected, Judgement};
use crate::explore::{Draws, Goal, Space};
use crate::locks::ChubbyLock;
use crate::locks::chubby_lock::{Fence, Settings};
use crate::stores::chubby::session::Unanswered;
use crate::stores::chubby::{Delays, FailOver, OnLoss};
use crate::time::Micros;
use crate::workload::{AccessChoice, Calls, Writes};
use crate::world::TICK;
use picklock_properties::{Access, AccessModes, ClientId, Promise};

/// The claims, in the order of the statements.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = exclusion();
    claims.extend(fencing());
    claims.extend(progress());
    claims.extend(consul());
    claims.extend(consul_fencing());
    claims
}

const ALONE: [Promise; 1] = [Promise::MutualExclusion];

fn claim(
    theorem: &'static str,
    space: &Space<ChubbyLock>,
    dropped: &[Assumption],
    expected: Expected,
) -> Claim {
    Claim::of("chubby-lock", theorem, space, dropped, expected)
}

const fn ticks(count: u8) -> Micros {
    Micros(count as i64 * TICK.0)
}

/// Two clients without these assumptions; one round each where time passes. A holder works for longer than a lease lasts without a
/// KeepAlive: whether it is kept alive, and its holder stops in time, matters.
fn without(promise: &[Promise], dropped: &[Assumption]) -> Space<ChubbyLock> {
    let mut space = chubby_lock(2, Calls::Lock, promise);
    dropped.iter().for_each(|assumption| drop_from_chubby(&mut space, *assumption));
    if space.bounds.latency_ticks.is_some() {
        space.setup.workload.rounds = 1;
    }
    space.setup.workload.hold = ticks(LONG_TICKS);
    space
}

fn exclusion() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let base = |variant, calls, access| {
        let mut space = chubby_lock(3, calls, &ALONE);
        space.setup.workload.access = access;
        Claim {
            variant,
            reason: "there is one master, and it gives the lock to those who go together",
            ..claim("chubby", &space, &[], Holds)
        }
    };
    let one_writer = {
        let mut modes = [Access(1); AccessModes::MODES_MAX];
        modes[0] = Access::FIRST;
        AccessChoice::ByClient(modes)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("chubby", &without(&ALONE, assumptions), assumptions, expected)
    };
    let variant =
        |variant, assumptions: &[Assumption], change: &dyn Fn(&mut Space<ChubbyLock>), expected, reason| {
            let mut space = without(&ALONE, assumptions);
            change(&mut space);
            Claim { variant, reason, ..claim("chubby", &space, assumptions, expected) }
        };
    let rests = |count: u8| move |space: &mut Space<ChubbyLock>| space.setup.lock.lock_delay = ticks(count);
    vec![
        base("lock", Calls::Lock, AccessChoice::First),
        base("try_lock", Calls::TryLock, AccessChoice::First),
        base("one writes, two read", Calls::Lock, one_writer),
        dropped(&[NoExpiry], Untested, "whose KeepAlives arrive in time keeps its session"),
        variant(
            "two rounds",
            &[NoExpiry],
            &|space| space.setup.workload.rounds = 2,
            Untested,
            "whose KeepAlives arrive in time keeps its session",
        ),
        dropped(&[NoPause], Violated, "the holder outlives its session while it pauses"),
        variant(
            "lock-delay of two ticks",
            &[NoPause],
            &rests(2),
            Violated,
            "the pause lasts as long as what was left of the lease and the lock-delay together",
        ),
        variant(
            "lock-delay of four ticks",
            &[NoPause],
            &rests(4),
            Holds,
            "the pause is over before the lock-delay is, and then the holder sees that its lease is",
        ),
        variant(
            "lock-delay of four ticks, two rounds",
            &[NoPause],
            &|space| {
                rests(4)(space);
                space.setup.workload.rounds = 2;
            },
            Holds,
            "the pause is over before the lock-delay is, and then the holder sees that its lease is",
        ),
        dropped(&[NoSuspend], Violated, "as with a pause that the clock counts"),
        variant(
            "lock-delay of four ticks",
            &[NoSuspend],
            &rests(4),
            Holds,
            "as with a pause that the clock counts",
        ),
        dropped(
            &[NoLoss],
            Holds,
            "a KeepAlive that is lost puts the session in jeopardy, and its holder stops",
        ),
        variant(
            "two losses",
            &[NoLoss],
            &|space| space.bounds.losses = 2,
            Holds,
            "a KeepAlive that is lost puts the session in jeopardy, and its holder stops",
        ),
        variant(
            "two losses",
            &[NoLoss, StopsInTime],
            &|space| space.bounds.losses = 2,
            Violated,
            "the holder works on in jeopardy, and its session is lost meanwhile",
        ),
        variant(
            "four losses, lock-delay of one tick",
            &[NoLoss, StopsInTime],
            &|space| {
                space.bounds.losses = 4;
                rests(1)(space);
            },
            Violated,
            "the grace period is longer than what is left of the lease and the lock-delay together",
        ),
        variant(
            "four losses, lock-delay as long as the grace period",
            &[NoLoss, StopsInTime],
            &|space| {
                space.bounds.losses = 4;
                rests(2)(space);
            },
            Holds,
            "the holder gives up when its grace period is over, and the lock rests until then",
        ),
        dropped(&[NoDuplicate], Holds, "a handle is used once, and stays closed"),
        dropped(&[NoServerClockStep], Untested, "leases are counted by a monotonic clock"),
        dropped(&[NoClockStep], Untested, "the client looks at its monotonic clock only"),
        dropped(&[ClocksAgree], Untested, "the client looks at its monotonic clock only"),
        dropped(&[BoundedDrift], Holds, "the master says when the next KeepAlive is due, by its own clock"),
        dropped(
            &[BoundedDrift, NoLoss],
            Violated,
            "a client whose clock is slow learns of its jeopardy when the session is over",
        ),
        dropped(
            &[NoFailOver],
            Holds,
            "a new master keeps each session for as long as the old one may have promised",
        ),
        variant(
            "two fail-overs",
            &[NoFailOver],
            &|space| space.bounds.power_losses = 2,
            Holds,
            "a new master keeps each session for as long as the old one may have promised",
        ),
        variant(
            "leases forgotten",
            &[NoFailOver],
            &|space| space.setup.store.fail_over = FailOver::Forgotten,
            Violated,
            "the new master ends a session whose client counts on what the old one promised",
        ),
        dropped(
            &[NoFailOver, StopsInTime],
            Holds,
            "that is what the grace period is for: the new master knows the session",
        ),
        variant(
            "lock-delay of five ticks",
            &[NoPause, NoFailOver],
            &rests(5),
            Holds,
            "the lock-delay goes on under the new master",
        ),
        variant(
            "lock-delay of five ticks, forgotten",
            &[NoPause, NoFailOver],
            &|space| {
                rests(5)(space);
                space.setup.store.delays = Delays::Forgotten;
            },
            Violated,
            "the new master gives the lock away while the holder still pauses",
        ),
        dropped(&[NoCrash], Holds, "what the dead hold stays theirs"),
        dropped(&[NoCrash, NoExpiry], Holds, "the dead do not work on when their session ends"),
        dropped(&[MajorityUp], Holds, "without a master nobody is granted anything"),
    ]
}

/// The generation as token, and a resource that compares it with the newest one it has seen.
fn fencing() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::FencedResource];
    let space = |writes, fence, assumptions: &[Assumption]| {
        let mut space = without(&PROMISE, assumptions);
        space.setup.workload.writes = writes;
        space.setup.workload.resource_checks = writes != Writes::Store && fence == Fence::Sequencer;
        // Who pauses outlives its session in a hold that is shorter than the pause, and writes when the next one has written. Who does
        // not pause outlives it in a hold that is longer than that one's.
        let lasts_on = [NoLoss, NoFailOver].iter().any(|assumption| assumptions.contains(assumption));
        space.bounds.unhurried_holders = lasts_on;
        let is_short = space.bounds.latency_ticks.is_some() && !lasts_on;
        space.setup.workload.hold = if is_short { TICK } else { Micros::ZERO };
        space.setup.lock.fence = fence;
        space
    };
    let fenced = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim(
            "chubby-fencing",
            &space(Writes::Resource, Fence::Sequencer, assumptions),
            assumptions,
            expected,
        )
    };
    let variant = |variant,
                   writes,
                   fence,
                   assumptions: &[Assumption],
                   change: fn(&mut Space<ChubbyLock>),
                   expected,
                   reason| {
        let mut space = space(writes, fence, assumptions);
        change(&mut space);
        Claim { variant, reason, ..claim("chubby-fencing", &space, assumptions, expected) }
    };
    const LARGER: &str = "the next holder's generation is larger, and the resource has seen it";
    const IN_SESSION: &str = "the master that ends a session takes no more writes of it";
    vec![
        fenced(&[], Holds, "nobody outlives anything"),
        fenced(&[NoPause], Holds, LARGER),
        variant(
            "two rounds",
            Writes::Resource,
            Fence::Sequencer,
            &[NoPause],
            |space| space.setup.workload.rounds = 2,
            Holds,
            LARGER,
        ),
        variant(
            "no sequencer",
            Writes::Resource,
            Fence::None,
            &[NoPause],
            |_| {},
            Violated,
            "the resource cannot know whose time is over",
        ),
        variant(
            "two losses",
            Writes::Resource,
            Fence::Sequencer,
            &[NoLoss, StopsInTime],
            |space| space.bounds.losses = 2,
            Holds,
            "it does not matter who holds on",
        ),
        fenced(&[NoFailOver], Holds, "generations are in the database"),
        variant(
            "a resource in the cell, no sequencer",
            Writes::Store,
            Fence::None,
            &[NoPause],
            |_| {},
            Untested,
            IN_SESSION,
        ),
        variant(
            "a resource in the cell, no sequencer",
            Writes::Store,
            Fence::None,
            &[NoDuplicate],
            |_| {},
            Violated,
            "the session goes on, and a write of its earlier hold comes a second time",
        ),
        variant(
            "a resource in the cell",
            Writes::Store,
            Fence::Sequencer,
            &[NoDuplicate],
            |_| {},
            Holds,
            "a sequencer is valid as long as its handle has the lock",
        ),
    ]
}

fn progress() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let served = |clients: u8| {
        let mut goals = vec![Goal::DeadlockFreedom];
        goals.extend((0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))));
        Judgement::Progress { goals, draws: Draws::Adversary }
    };
    let with = |variant, clients, assumptions: &[Assumption], lock_delay, expected, reason| {
        let mut space = without(&[], assumptions);
        space.setup.workload.clients = clients;
        space.setup.workload.hold = Micros::ZERO;
        space.setup.lock.lock_delay = lock_delay;
        Claim {
            variant,
            judgement: served(clients),
            reason,
            ..claim("chubby-progress", &space, assumptions, expected)
        }
    };
    let none = Micros::ZERO;
    vec![
        with("", 3, &[], none, Holds, "the master lets them wait in the order in which they came"),
        with(
            "",
            2,
            &[NoCrash],
            none,
            Violated,
            "what the dead hold stays theirs, for their session does not end",
        ),
        with("", 2, &[NoCrash, NoExpiry], none, Holds, "the session of the dead ends"),
        with("lock-delay", 2, &[NoCrash, NoExpiry], ticks(2), Holds, "and a lock-delay is over some time"),
        with(
            "",
            2,
            &[NoLoss],
            none,
            Holds,
            "a request that is not answered is said again, by the same handle",
        ),
        with("", 2, &[NoFailOver], none, Holds, "who waited asks the new master"),
        with("", 2, &[MajorityUp], none, Violated, "without a master nobody is granted anything"),
    ]
}

/// Two clients of Consul's, one round each; a holder works for longer than a session lasts that nobody renews.
fn of_consul(promise: &[Promise], lock: Settings, dropped: &[Assumption]) -> Space<ChubbyLock> {
    let mut space = consul_lock(2, Calls::Lock, promise, lock);
    dropped.iter().for_each(|assumption| drop_from_consul(&mut space, *assumption));
    if dropped.contains(&Assumption::NoLoss) {
        space.bounds.losses = CONSUL_LOSSES;
    }
    space.setup.workload.hold = Micros(3 * TTL.0);
    space
}

fn consul() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let with = |variant,
                lock: Settings,
                assumptions: &[Assumption],
                change: &dyn Fn(&mut Space<ChubbyLock>),
                expected,
                reason| {
        let mut space = of_consul(&ALONE, lock, assumptions);
        change(&mut space);
        let name = if lock == Settings::consul() { "consul-lock" } else { "consul-lock-repaired" };
        Claim { variant, reason, ..Claim::of(name, "consul", &space, assumptions, expected) }
    };
    let written = |assumptions: &[Assumption], expected, reason| {
        with("", Settings::consul(), assumptions, &|_| {}, expected, reason)
    };
    let stops = |assumptions: &[Assumption], expected, reason| {
        with("stops by its own count", Settings::consul_repaired(), assumptions, &|_| {}, expected, reason)
    };
    let gives_up = |space: &mut Space<ChubbyLock>| {
        space.setup.lock.session.unanswered = Unanswered::GivenUpAfter(TICK);
    };
    vec![
        written(&[], Holds, "a session that is renewed each third of its TTL lasts for two"),
        written(&[NoPause], Violated, "the holder outlives its session while it pauses"),
        with(
            "lock-delay as long as the pause",
            Settings::consul(),
            &[NoPause],
            &|space| space.setup.lock.lock_delay = ticks(CONSUL_LONG_TICKS),
            Holds,
            "the holder is told when it goes on, before anybody else has the lock",
        ),
        written(
            &[NoLoss],
            Violated,
            "all renewals of a TTL are lost, no other one is sent, the session ends, and the holder looks at no clock (two losses are too few)",
        ),
        written(
            &[BoundedDrift],
            Violated,
            "the leader's two TTLs are over before the holder's clock says that one is",
        ),
        written(&[NoFailOver], Holds, "a new leader gives each session its full time"),
        with(
            "renewer stops at the first error",
            Settings::consul(),
            &[NoFailOver],
            &gives_up,
            Violated,
            "the session ends, and the lock is another's before its holder is told (row H6)",
        ),
        with(
            "renewer stops at the first error, lock-delay of two ticks",
            Settings::consul(),
            &[NoFailOver],
            &|space| {
                gives_up(space);
                space.setup.lock.lock_delay = ticks(2);
            },
            Holds,
            "the lock is lost, and its holder is told before it is another's",
        ),
        stops(&[], Holds, "a holder counts one TTL where the leader counts two"),
        stops(&[NoLoss], Holds, "a holder counts one TTL where the leader counts two"),
        stops(&[BoundedDrift], Violated, "two TTLs by the leader's clock are less than one by the holder's"),
        stops(&[NoFailOver], Holds, "a holder counts one TTL where the leader counts two"),
        with(
            "renewer stops at the first error, stops by its own count",
            Settings::consul_repaired(),
            &[NoFailOver],
            &gives_up,
            Holds,
            "the holder stops a whole TTL before the leader ends the session",
        ),
    ]
}

fn consul_fencing() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Violated};
    let with = |variant, assumptions: &[Assumption], on_loss, expected, reason| {
        let mut space = of_consul(&[Promise::FencedResource], Settings::consul_repaired(), assumptions);
        space.setup.workload.hold = TICK;
        space.setup.workload.writes = Writes::Resource;
        space.setup.workload.resource_checks = true;
        space.setup.store.on_loss = on_loss;
        Claim {
            variant,
            reason,
            ..Claim::of("consul-lock-repaired", "consul-fencing", &space, assumptions, expected)
        }
    };
    vec![
        with("", &[], OnLoss::Release, Holds, "nobody outlives anything"),
        with(
            "",
            &[NoPause],
            OnLoss::Release,
            Holds,
            "the next holder's LockIndex is larger, and the resource has seen it",
        ),
        with(
            "behavior delete",
            &[NoPause],
            OnLoss::Delete,
            Violated,
            "the key goes with its session, and the next holder's LockIndex is 1 again",
        ),
    ]
}
