//! The recipe of the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, which gives no proof: what it must lean on.
//!
//! Followers that lag break nothing here: a client's own create bounds what its server can be missing, as the source's
//! WTF #4 argues. What the recipe leans on is that a client learns of the end of its session before another is granted.

use super::Claim;
use crate::claims::zookeeper::{LONG_TICKS, drop_from_zookeeper, zookeeper_lock};
use crate::claims::{Assumption, Expected, Judgement};
use crate::explore::{Draws, Goal, Space};
use crate::locks::ZookeeperLock;
use crate::time::Micros;
use crate::workload::Calls;
use crate::world::{Aim, TICK};
use picklock_properties::{ClientId, Promise};

/// The claims, in the order of the source.
pub(super) fn claims() -> Vec<Claim> {
    let mut claims = exclusion();
    claims.extend(order());
    claims.extend(progress());
    claims
}

fn claim(
    theorem: &'static str,
    space: &Space<ZookeeperLock>,
    dropped: &[Assumption],
    expected: Expected,
) -> Claim {
    Claim::of("zookeeper-lock", theorem, space, dropped, expected)
}

/// Two clients on one server without these assumptions. A holder works for longer than a session lasts without a sign of
/// life: whether it stops in time matters.
fn without(promise: &[Promise], dropped: &[Assumption]) -> Space<ZookeeperLock> {
    let mut space = zookeeper_lock(2, 1, Calls::Lock, promise);
    dropped.iter().for_each(|assumption| drop_from_zookeeper(&mut space, *assumption));
    space.setup.workload.hold = Micros(i64::from(LONG_TICKS) * TICK.0);
    space
}

fn exclusion() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::MutualExclusion];
    let base = |variant, clients, servers, calls| Claim {
        variant,
        reason: "one order of all creates, and whoever is first in it holds",
        ..claim("zookeeper", &zookeeper_lock(clients, servers, calls, &PROMISE), &[], Holds)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("zookeeper", &without(&PROMISE, assumptions), assumptions, expected)
    };
    let variant = |variant, assumption, change: fn(&mut Space<ZookeeperLock>), expected, reason| {
        let mut space = without(&PROMISE, &[assumption]);
        change(&mut space);
        Claim { variant, reason, ..claim("zookeeper", &space, &[assumption], expected) }
    };
    vec![
        base("lock", 3, 1, Calls::Lock),
        base("try_lock", 3, 1, Calls::TryLock),
        base("followers lag", 2, 3, Calls::Lock),
        Claim { long: true, ..base("followers lag", 3, 2, Calls::Lock) },
        dropped(&[NoExpiry], Untested, "whoever gives signs of life keeps its session"),
        dropped(&[NoPause], Violated, "the holder outlives its session while it pauses (row Z3)"),
        variant(
            "paused before the grant",
            NoPause,
            |space| space.bounds.aim = Aim::Asking,
            Violated,
            "the answer that it is first was true when it was sent; no step looks at how long ago that was",
        ),
        dropped(&[NoLoss], Holds, "who hears nothing stops before the server ends its session"),
        dropped(&[NoLoss, StopsInTime], Violated, "the holder goes on without a connection (row Z4)"),
        dropped(&[Durable], Violated, "the server restarts empty"),
        variant(
            "power loss, log synced",
            NoExpiry,
            |space| space.bounds.power_losses = 1,
            Untested,
            "sessions and znodes survive, and all sessions have their full time again",
        ),
        dropped(&[NoServerClockStep], Untested, "sessions are counted by the monotonic clock"),
        dropped(&[NoClockStep], Untested, "the client looks at its monotonic clock only"),
        dropped(&[ClocksAgree], Untested, "the client looks at its monotonic clock only"),
        dropped(
            &[BoundedDrift],
            Violated,
            "the session of a client whose clock is slow ends between two of its pings",
        ),
        variant(
            "a tick of drift",
            NoExpiry,
            |space| {
                space.bounds.drifts = 1;
                space.bounds.drift_ticks = 1;
            },
            Untested,
            "a client pings three times in the time of a session",
        ),
        dropped(&[NoCrash], Holds, "the znode of the dead stays"),
        dropped(&[NoCrash, NoExpiry], Holds, "the dead do not work on when their session ends"),
        dropped(&[NoDuplicate], Holds, "a connection takes nothing twice"),
        dropped(&[MajorityUp], Holds, "without a server nobody is granted anything"),
    ]
}

fn order() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    const PROMISE: [Promise; 1] = [Promise::Fifo];
    let base = |variant, clients, servers| Claim {
        variant,
        reason: "the sequence numbers are the order, and nobody leaves the queue",
        ..claim("zookeeper-fifo", &zookeeper_lock(clients, servers, Calls::Lock, &PROMISE), &[], Holds)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| Claim {
        reason,
        ..claim("zookeeper-fifo", &without(&PROMISE, assumptions), assumptions, expected)
    };
    vec![
        base("one server", 3, 1),
        base("followers lag", 2, 3),
        dropped(&[NoExpiry], Untested, "whoever gives signs of life keeps its place"),
        dropped(&[NoPause], Violated, "a waiter's session ends, and it stands at the end again"),
        dropped(&[NoLoss], Violated, "a waiter's session ends, and it stands at the end again"),
        dropped(&[NoCrash], Holds, "the dead keep their place"),
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
    let base = |variant, clients, servers| Claim {
        variant,
        judgement: served(clients),
        reason: "whoever leaves wakes the next one",
        ..claim("zookeeper-progress", &zookeeper_lock(clients, servers, Calls::Lock, &[]), &[], Holds)
    };
    let dropped = |assumptions: &[Assumption], expected, reason| {
        let mut space = without(&[], assumptions);
        // Whether somebody stops in time does not matter here.
        space.setup.workload.hold = Micros::ZERO;
        Claim { judgement: served(2), reason, ..claim("zookeeper-progress", &space, assumptions, expected) }
    };
    vec![
        base("one server", 3, 1),
        base("followers lag", 2, 3),
        dropped(&[NoExpiry], Untested, "whoever leaves wakes the next one"),
        dropped(&[NoCrash], Violated, "the znode of the dead stays, for their session does not end"),
        dropped(&[NoCrash, NoExpiry], Holds, "the znode of the dead goes with their session"),
        dropped(&[NoLoss], Holds, "a request of unknown outcome is asked after, and a watch set again"),
        dropped(&[NoPause], Holds, "whose session has ended begins anew"),
        dropped(&[MajorityUp], Violated, "without a server nobody is granted anything"),
    ]
}
