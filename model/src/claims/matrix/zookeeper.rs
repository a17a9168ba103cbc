//! The ZooKeeper recipe.
//!
//! Its queue is one of sessions: whose session ends while he waits stands at the end of it again, and that is all that
//! breaks first-in-first-out here. No fencing token is ever passed by.
//!
//! The repaired lock's holder stops in time under partition because a leader gives a silent follower up sooner than the
//! sessions of its clients ([`ELECTION`](crate::claims::zookeeper::ELECTION)): that follower lets its clients go. With the
//! real server's default, which is longer than the sessions here, nothing would tell the holder before its session ends.

use super::{Cell, broken, kept};
use picklock_properties::Promise;

const WRITTEN: &str = "zookeeper-lock";
const REPAIRED: &str = "zookeeper-lock-repaired";

const OUTLIVED: &str = "the holder outlives its session while it pauses (row Z3)";
const UNFENCED: &str =
    "there is no fencing token: the write of a holder that has outlived its session is accepted (row Z18)";
const CUT_OFF: &str = "the holder is cut off, and goes on when its session is over (row Z4)";
const UNREPORTED: &str =
    "the holder's server dies with signs of life that it had not passed on, and the holder goes on (row Z20)";
const SLOW: &str = "the holder's pings are slow: its session is over before they arrive, and it goes on";
const UNREPORTED_SINCE: &str = "the follower of a holder that had just come to it dies before its next beat: the leader counts the session from the reconnection, the holder from a later pong (as in row Z20; --plan)";
const REJOINS_DRIFTING: &str = "the session of a waiter whose clock loses half of the time, where servers' gain as much, ends between two of its pings, and it stands at the end of the queue again (--plan; no seed's clock drifts so far)";
const DRIFTING: &str = "the session of a client whose clock is slow ends between two of its pings";
const LATE: &str = "a write of a holder that has outlived its session is slow, and there is no fencing token";
const REJOINS: &str = "a waiter's session ends, and it stands at the end of the queue again";
const SERVERLESS: &str =
    "a waiter's session ends before it has found another server, and it stands at the end of the queue again";
const ALL: &str = "all of the above";
const PINGS: &str = "one order of all creates, and whoever gives signs of life keeps its session";
const WAKES: &str = "whoever leaves wakes the next one";
const ORDERED: &str = "czxids only grow, and the resource compares them";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(WRITTEN, "pause", MutualExclusion, OUTLIVED),
        broken(WRITTEN, "pause", FencedResource, UNFENCED),
        broken(WRITTEN, "pause", Fifo, REJOINS),
        broken(WRITTEN, "clock", MutualExclusion, DRIFTING),
        broken(WRITTEN, "clock", FencedResource, LATE),
        broken(WRITTEN, "clock", Fifo, REJOINS_DRIFTING),
        broken(WRITTEN, "delay", MutualExclusion, SLOW),
        broken(WRITTEN, "delay", FencedResource, LATE),
        broken(WRITTEN, "delay", Fifo, REJOINS),
        broken(WRITTEN, "loss", Fifo, REJOINS),
        broken(WRITTEN, "partition", MutualExclusion, CUT_OFF),
        broken(WRITTEN, "partition", FencedResource, UNFENCED),
        broken(WRITTEN, "partition", Fifo, REJOINS),
        broken(WRITTEN, "crash", Fifo, SERVERLESS),
        broken(WRITTEN, "power-loss", Fifo, SERVERLESS),
        broken(WRITTEN, "power-loss", MutualExclusion, UNREPORTED),
        broken(WRITTEN, "crash", FencedResource, UNFENCED),
        broken(WRITTEN, "power-loss", FencedResource, UNFENCED),
        broken(WRITTEN, "all", MutualExclusion, ALL),
        broken(WRITTEN, "all", FencedResource, UNFENCED),
        broken(WRITTEN, "all", Fifo, REJOINS),
        broken(REPAIRED, "pause", MutualExclusion, OUTLIVED),
        broken(REPAIRED, "clock", MutualExclusion, DRIFTING),
        broken(REPAIRED, "clock", Fifo, REJOINS_DRIFTING),
        broken(REPAIRED, "partition", MutualExclusion, UNREPORTED_SINCE),
        broken(REPAIRED, "crash", MutualExclusion, UNREPORTED_SINCE),
        broken(REPAIRED, "power-loss", MutualExclusion, UNREPORTED_SINCE),
        broken(REPAIRED, "pause", Fifo, REJOINS),
        broken(REPAIRED, "delay", Fifo, REJOINS),
        broken(REPAIRED, "loss", Fifo, REJOINS),
        broken(REPAIRED, "partition", Fifo, REJOINS),
        broken(REPAIRED, "crash", Fifo, SERVERLESS),
        broken(REPAIRED, "power-loss", Fifo, SERVERLESS),
        broken(REPAIRED, "all", MutualExclusion, ALL),
        broken(REPAIRED, "all", Fifo, REJOINS),
        kept(WRITTEN, "none", MutualExclusion, PINGS),
        kept(WRITTEN, "none", DeadlockFreedom, WAKES),
        kept(WRITTEN, "none", StarvationFreedom, WAKES),
        kept(WRITTEN, "none", Fifo, PINGS),
        kept(REPAIRED, "none", MutualExclusion, PINGS),
        kept(REPAIRED, "none", DeadlockFreedom, WAKES),
        kept(REPAIRED, "none", StarvationFreedom, WAKES),
        kept(REPAIRED, "none", Fifo, PINGS),
        kept(REPAIRED, "none", FencedResource, ORDERED),
        kept(REPAIRED, "pause", FencedResource, ORDERED),
        kept(REPAIRED, "clock", FencedResource, ORDERED),
        kept(REPAIRED, "delay", FencedResource, ORDERED),
        kept(REPAIRED, "loss", FencedResource, ORDERED),
        kept(REPAIRED, "duplicate", FencedResource, ORDERED),
        kept(REPAIRED, "partition", FencedResource, ORDERED),
        kept(REPAIRED, "crash", FencedResource, ORDERED),
        kept(REPAIRED, "power-loss", FencedResource, ORDERED),
        kept(REPAIRED, "all", FencedResource, ORDERED),
    ]
};
