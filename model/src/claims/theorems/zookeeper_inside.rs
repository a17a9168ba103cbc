//! The closing question of the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*: what a critical section is worth
//! inside of the ensemble, and outside.
//!
//! Inside, the write and the end of the lock have places in one order. A write in one transaction with a check of the lock's
//! znode cannot come after the znode is gone, and nobody else is granted the lock before: no assumption about clocks,
//! pauses, or what the client knows of its session is needed. The lock's own session does the same for a write without the
//! check, for the ensemble takes nothing of a session that is over; but only as long as nobody repeats the write in another
//! session. Outside, there is no such order, unless the resource makes one of the tokens.

use super::Claim;
use crate::claims::zookeeper::{drop_from_zookeeper, zookeeper_lock};
use crate::claims::{Assumption, Expected, Judgement, NamedSpace};
use crate::explore::Space;
use crate::locks::ZookeeperLock;
use crate::locks::zookeeper_lock::{Fence, OnConnectionLoss};
use crate::workload::{Calls, Writes};
use picklock_properties::Promise;

/// The claims: guarded inside, unguarded inside, outside.
pub(super) fn claims() -> Vec<Claim> {
    use Assumption::*;
    use Expected::{Holds, Untested, Violated};
    let guarded = |dropped: &[Assumption], expected, reason| {
        claim("", (Writes::Store, Fence::Check), dropped, expected, reason)
    };
    let unguarded = |dropped: &[Assumption], expected, reason| {
        claim("unguarded", (Writes::Store, Fence::None), dropped, expected, reason)
    };
    let outside = |variant, fence, expected, reason| {
        claim(variant, (Writes::Resource, fence), &[StopsInTime, NoPause], expected, reason)
    };
    vec![
        guarded(&[], Holds, "the write is before the end of the znode, and the next grant behind it"),
        guarded(
            &[NoPause],
            Untested,
            "the session of a holder that pauses too long is over, and its write with it",
        ),
        guarded(&[StopsInTime, NoPause], Holds, "in whatever session it is written, the znode is gone"),
        guarded(&[StopsInTime, NoLoss], Holds, "a write repeated is checked again"),
        guarded(&[StopsInTime, NoDuplicate], Untested, "a connection takes no request twice"),
        guarded(
            &[StopsInTime, NoCrash, NoExpiry],
            Untested,
            "what a dead holder has sent comes before its session's end, or never",
        ),
        guarded(
            &[StopsInTime, NoServerClockStep],
            Untested,
            "sessions are measured by the monotonic clock (else: row Z12)",
        ),
        unguarded(&[NoPause], Untested, "a session that is over writes nothing: it is a fence by itself"),
        unguarded(
            &[StopsInTime, NoPause],
            Violated,
            "the library repeats in another session what the last one could not write any more",
        ),
        outside(
            "outside, without a token",
            Fence::None,
            Violated,
            "nothing orders what is written there with the lock (row Z18)",
        ),
        outside(
            "outside, with a token",
            Fence::Czxid,
            Holds,
            "the order of the czxids is the order of the grants",
        ),
    ]
}

fn claim(
    variant: &'static str,
    (writes, fence): (Writes, Fence),
    dropped: &[Assumption],
    expected: Expected,
    reason: &'static str,
) -> Claim {
    let space = space(writes, fence, dropped);
    Claim {
        theorem: "inside",
        space: NamedSpace::new("zookeeper-lock", &space),
        clients: space.setup.workload.clients,
        servers: space.setup.servers,
        variant,
        dropped: dropped.to_vec(),
        judgement: Judgement::Safety,
        expected,
        reason,
        long: false,
    }
}

/// Two clients that write once each, on one server. Who does not stop in time goes as far as a library can: into another
/// session.
fn space(writes: Writes, fence: Fence, dropped: &[Assumption]) -> Space<ZookeeperLock> {
    let mut space = zookeeper_lock(2, 1, Calls::Lock, &[Promise::FencedResource]);
    space.setup.workload.writes = writes;
    space.setup.workload.resource_checks = true;
    space.setup.lock.fence = fence;
    for assumption in dropped {
        drop_from_zookeeper(&mut space, *assumption);
        if *assumption == Assumption::StopsInTime {
            space.setup.lock.on_connection_loss = OnConnectionLoss::GoOnInAnother;
        }
    }
    space
}
