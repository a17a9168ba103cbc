//! The Redis locks.
//!
//! Starvation-freedom and first-in-first-out are promised by none of them: that the one is hardly ever broken is the random
//! delays' doing, and for the other they have no queue that could be overtaken.

use super::{Cell, broken};
use picklock_properties::Promise;

const SINGLE: &str = "redis-single";
const SINGLE_FENCED: &str = "redis-single-fenced";
const FAILOVER: &str = "redis-failover";
const FAILOVER_FENCED: &str = "redis-failover-fenced";
const REDLOCK: &str = "redlock";
const REDLOCK_FENCED: &str = "redlock-fenced";

const SHARED: &str = "redis-readers-writer";
const SHARED_REPAIRED: &str = "redis-readers-writer-repaired";
const PERMITS: &str = "redis-semaphore";
const PERMITS_FAIR: &str = "redis-semaphore-fair";
const PERMITS_REPAIRED: &str = "redis-semaphore-repaired";

const OUTLIVED: &str = "the holder outlives its key while it pauses (row R1)";
const UNFENCED: &str =
    "there is no fencing token: the write of a holder that has outlived its key is accepted";
const LATE: &str = "a write of a holder that has outlived its key is slow, and there is no fencing token";
const SET: &str = "a server's wall clock is set past the TTL, or runs ahead (rows R3, R10)";
const EVERYSEC: &str = "a power loss takes the last second of the AOF (row R5)";
const UNMINDED: &str = "the holder cannot reach the resource in time, and does not look at its lease";
const SPLIT: &str = "the replica is promoted while the master is only cut off: two masters";
const FALSE_ALARM: &str = "pings get lost, the replica is promoted while the master lives: two masters";
const RETURNS: &str = "an old master comes back, and takes locks that the new one does not know of";
const UNREPLICATED: &str =
    "the master dies before its replica has heard of the lock (row R7), or loses its last second";
const ALL: &str = "all of the above";

const SLOW_WORK: &str = "the resource is slow to answer, and the holder does not look at its lease";
const COUNTER: &str =
    "a power loss takes the counter's last second with it: a token is given out twice (row F2)";
const COUNTER_UNREPLICATED: &str =
    "the promoted replica has not heard of the counter's last steps: a token is given out twice (row F2)";
const COUNTERS_APART: &str =
    "the largest of a quorum's counters need not grow: a later grant may have the smaller token (row F4)";

const DECR_LATE: &str =
    "a reader's DECR comes too late, or twice, and takes another reader's count (row R29)";
const OVERTAKEN: &str =
    "the smaller stamp of a request that was overtaken takes a permit that is none (row R31)";
const BETWEEN: &str =
    "a larger count is entered before a smaller one, and both have the last permit (row R32)";

const IN_FLIGHT: &str = "a write is under way when its holder's lease ends, the next one overtakes it, and there is no fencing token";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(SINGLE, "pause", MutualExclusion, OUTLIVED),
        broken(SINGLE, "pause", FencedResource, UNFENCED),
        broken(SINGLE, "clock", MutualExclusion, SET),
        broken(SINGLE, "delay", FencedResource, LATE),
        broken(SINGLE, "partition", MutualExclusion, UNMINDED),
        broken(SINGLE, "partition", FencedResource, UNFENCED),
        broken(SINGLE, "power-loss", MutualExclusion, EVERYSEC),
        broken(SINGLE, "all", MutualExclusion, ALL),
        broken(SINGLE, "all", FencedResource, UNFENCED),
        broken(SINGLE_FENCED, "pause", MutualExclusion, OUTLIVED),
        broken(SINGLE_FENCED, "clock", MutualExclusion, SET),
        broken(SINGLE_FENCED, "power-loss", MutualExclusion, EVERYSEC),
        broken(SINGLE_FENCED, "all", MutualExclusion, ALL),
        broken(FAILOVER, "pause", MutualExclusion, OUTLIVED),
        broken(FAILOVER, "pause", FencedResource, UNFENCED),
        broken(FAILOVER, "clock", MutualExclusion, SET),
        broken(FAILOVER, "delay", FencedResource, LATE),
        broken(FAILOVER, "loss", MutualExclusion, FALSE_ALARM),
        broken(FAILOVER, "partition", MutualExclusion, SPLIT),
        broken(FAILOVER, "partition", FencedResource, UNFENCED),
        broken(FAILOVER, "power-loss", MutualExclusion, UNREPLICATED),
        broken(FAILOVER, "all", MutualExclusion, ALL),
        broken(FAILOVER, "all", FencedResource, UNFENCED),
        broken(FAILOVER_FENCED, "pause", MutualExclusion, OUTLIVED),
        broken(FAILOVER_FENCED, "clock", MutualExclusion, SET),
        broken(FAILOVER_FENCED, "partition", MutualExclusion, SPLIT),
        broken(FAILOVER_FENCED, "crash", MutualExclusion, RETURNS),
        broken(FAILOVER_FENCED, "power-loss", MutualExclusion, UNREPLICATED),
        broken(FAILOVER_FENCED, "all", MutualExclusion, ALL),
        broken(REDLOCK, "none", FencedResource, IN_FLIGHT),
        broken(REDLOCK, "pause", MutualExclusion, OUTLIVED),
        broken(REDLOCK, "pause", FencedResource, UNFENCED),
        broken(REDLOCK, "power-loss", MutualExclusion, EVERYSEC),
        broken(REDLOCK, "all", MutualExclusion, ALL),
        broken(REDLOCK, "all", FencedResource, UNFENCED),
        broken(REDLOCK_FENCED, "pause", MutualExclusion, OUTLIVED),
        broken(REDLOCK_FENCED, "power-loss", MutualExclusion, EVERYSEC),
        broken(REDLOCK_FENCED, "all", MutualExclusion, ALL),
        broken(SHARED, "none", FencedResource, IN_FLIGHT),
        broken(SHARED, "pause", MutualExclusion, OUTLIVED),
        broken(SHARED, "pause", FencedResource, UNFENCED),
        broken(SHARED, "clock", MutualExclusion, SET),
        broken(SHARED, "delay", MutualExclusion, DECR_LATE),
        broken(SHARED, "delay", FencedResource, LATE),
        broken(SHARED, "duplicate", MutualExclusion, DECR_LATE),
        broken(SHARED, "power-loss", MutualExclusion, EVERYSEC),
        broken(SHARED, "all", MutualExclusion, ALL),
        broken(SHARED, "all", FencedResource, UNFENCED),
        broken(SHARED_REPAIRED, "none", FencedResource, IN_FLIGHT),
        broken(SHARED_REPAIRED, "pause", MutualExclusion, OUTLIVED),
        broken(SHARED_REPAIRED, "pause", FencedResource, UNFENCED),
        broken(SHARED_REPAIRED, "clock", MutualExclusion, SET),
        broken(SHARED_REPAIRED, "delay", FencedResource, LATE),
        broken(SHARED_REPAIRED, "duplicate", FencedResource, LATE),
        broken(SHARED_REPAIRED, "power-loss", MutualExclusion, EVERYSEC),
        broken(SHARED_REPAIRED, "power-loss", FencedResource, EVERYSEC),
        broken(SHARED_REPAIRED, "all", MutualExclusion, ALL),
        broken(SHARED_REPAIRED, "all", FencedResource, UNFENCED),
        broken(PERMITS, "none", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "pause", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "clock", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "delay", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "loss", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "duplicate", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "partition", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "crash", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "power-loss", MutualExclusion, OVERTAKEN),
        broken(PERMITS, "all", MutualExclusion, OVERTAKEN),
        broken(PERMITS_FAIR, "none", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "pause", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "clock", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "delay", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "loss", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "duplicate", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "partition", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "crash", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "power-loss", MutualExclusion, BETWEEN),
        broken(PERMITS_FAIR, "all", MutualExclusion, BETWEEN),
        broken(PERMITS_REPAIRED, "pause", MutualExclusion, OUTLIVED),
        broken(PERMITS_REPAIRED, "clock", MutualExclusion, SET),
        broken(PERMITS_REPAIRED, "power-loss", MutualExclusion, EVERYSEC),
        broken(PERMITS_REPAIRED, "all", MutualExclusion, ALL),
        broken(SINGLE, "clock", FencedResource, SET),
        broken(SINGLE, "power-loss", FencedResource, EVERYSEC),
        broken(SINGLE, "loss", FencedResource, UNFENCED),
        broken(SINGLE, "delay", MutualExclusion, SLOW_WORK),
        broken(SINGLE_FENCED, "power-loss", FencedResource, COUNTER),
        broken(SINGLE_FENCED, "all", FencedResource, COUNTER),
        broken(FAILOVER, "loss", FencedResource, FALSE_ALARM),
        broken(FAILOVER, "power-loss", FencedResource, UNREPLICATED),
        broken(FAILOVER, "crash", FencedResource, RETURNS),
        broken(FAILOVER_FENCED, "pause", FencedResource, COUNTER_UNREPLICATED),
        broken(FAILOVER_FENCED, "partition", FencedResource, COUNTER_UNREPLICATED),
        broken(FAILOVER_FENCED, "power-loss", FencedResource, COUNTER_UNREPLICATED),
        broken(FAILOVER_FENCED, "crash", FencedResource, COUNTER_UNREPLICATED),
        broken(FAILOVER_FENCED, "all", FencedResource, COUNTER_UNREPLICATED),
        broken(REDLOCK, "clock", MutualExclusion, SET),
        broken(REDLOCK, "clock", FencedResource, SET),
        broken(REDLOCK, "delay", FencedResource, LATE),
        broken(REDLOCK, "power-loss", FencedResource, EVERYSEC),
        broken(REDLOCK_FENCED, "clock", MutualExclusion, SET),
        broken(REDLOCK_FENCED, "clock", FencedResource, COUNTERS_APART),
        broken(REDLOCK_FENCED, "pause", FencedResource, COUNTERS_APART),
        broken(REDLOCK_FENCED, "power-loss", FencedResource, COUNTERS_APART),
        broken(REDLOCK_FENCED, "all", FencedResource, COUNTERS_APART),
    ]
};
