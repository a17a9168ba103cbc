//! The Cassandra locks.
//!
//! The reasons were found by repairing one thing at a time and running the same thousand seeds again (`tests/cassandra_queue.rs`
//! keeps the two that decide most): waiters that prolong
//! their cells end every lasting deadlock, whatever the fault; a holder that minds its own lease ends every double grant
//! under loss, partition, crash and power loss, and none under pauses; nothing ends those under clocks that differ by more
//! than the TTL.

use super::{Cell, broken};
use picklock_properties::Promise;

const WRITTEN: &str = "cassandra-queue";
const REPAIRED: &str = "cassandra-queue-repaired";

const OVERTAKING: &str =
    "the column's name is made before the cell is written: a late small name goes first (row C23)";
const UNNOTICED: &str =
    "the lease runs out while its holder cannot reach the store, and the holder does not notice";
const OUTLIVED: &str = "a holder outlives its lease while it pauses (row C3)";
const UNFENCED: &str =
    "there is no fencing token: the write of a holder that has outlived its lease is accepted";
const REVIVED: &str = "a renewal blindly writes cells that another client's grant has superseded (row C4)";
const NOT_REJOINED: &str = "a waiter whose queue cell expires polls for ever (row C6)";
const SKEW: &str = "coordinators' clocks differ by more than the TTL: cells are dead on arrival (row C15)";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(WRITTEN, "none", Fifo, OVERTAKING),
        broken(WRITTEN, "pause", MutualExclusion, OUTLIVED),
        broken(WRITTEN, "pause", FencedResource, UNFENCED),
        broken(WRITTEN, "pause", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "pause", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "pause", Fifo, OVERTAKING),
        broken(WRITTEN, "pause", LeaseLoss, REVIVED),
        broken(WRITTEN, "clock", MutualExclusion, SKEW),
        broken(WRITTEN, "clock", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "clock", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "clock", Fifo, OVERTAKING),
        broken(WRITTEN, "clock", LeaseLoss, REVIVED),
        broken(WRITTEN, "delay", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "delay", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "delay", Fifo, OVERTAKING),
        broken(WRITTEN, "loss", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "loss", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "loss", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "loss", Fifo, OVERTAKING),
        broken(WRITTEN, "duplicate", Fifo, OVERTAKING),
        broken(WRITTEN, "partition", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "partition", FencedResource, UNFENCED),
        broken(WRITTEN, "partition", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "partition", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "partition", Fifo, OVERTAKING),
        broken(WRITTEN, "partition", LeaseLoss, REVIVED),
        broken(WRITTEN, "crash", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "crash", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "crash", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "crash", Fifo, OVERTAKING),
        broken(WRITTEN, "crash", LeaseLoss, REVIVED),
        broken(WRITTEN, "power-loss", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "power-loss", DeadlockFreedom, NOT_REJOINED),
        broken(WRITTEN, "power-loss", StarvationFreedom, NOT_REJOINED),
        broken(WRITTEN, "power-loss", Fifo, OVERTAKING),
        broken(WRITTEN, "power-loss", LeaseLoss, REVIVED),
        broken(WRITTEN, "all", MutualExclusion, "all of the above"),
        broken(WRITTEN, "all", FencedResource, UNFENCED),
        broken(WRITTEN, "all", DeadlockFreedom, "all of the above"),
        broken(WRITTEN, "all", StarvationFreedom, "all of the above"),
        broken(WRITTEN, "all", Fifo, OVERTAKING),
        broken(WRITTEN, "all", LeaseLoss, REVIVED),
        broken(REPAIRED, "none", Fifo, OVERTAKING),
        broken(
            REPAIRED,
            "pause",
            MutualExclusion,
            "no lease helps against it; the fencing token does (row C3)",
        ),
        broken(REPAIRED, "pause", Fifo, OVERTAKING),
        broken(REPAIRED, "clock", MutualExclusion, SKEW),
        broken(REPAIRED, "clock", Fifo, OVERTAKING),
        broken(REPAIRED, "delay", Fifo, OVERTAKING),
        broken(REPAIRED, "loss", Fifo, OVERTAKING),
        broken(REPAIRED, "duplicate", Fifo, OVERTAKING),
        broken(REPAIRED, "partition", Fifo, OVERTAKING),
        broken(REPAIRED, "crash", Fifo, OVERTAKING),
        broken(REPAIRED, "power-loss", Fifo, OVERTAKING),
        broken(REPAIRED, "all", MutualExclusion, "no lease helps against pauses and wrong clocks"),
        broken(REPAIRED, "all", Fifo, OVERTAKING),
        broken(WRITTEN, "clock", FencedResource, UNFENCED),
        broken(WRITTEN, "delay", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "loss", LeaseLoss, REVIVED),
    ]
};
