//! The old Cassandra lock.
//!
//! The reasons were found by repairing one thing at a time and running the same thousand seeds again
//! (`tests/cassandra_shadow.rs` keeps the three that decide most): a TTL on shadow cells ends every lasting deadlock,
//! whatever the fault; a holder that minds its own lease ends every double grant under all but pauses and clocks; a relock
//! that looks first ends every prolonged lease that was another's. Nothing ends double grants under pauses, nor under
//! clocks that differ by more than the TTL.

use super::{Cell, broken};
use picklock_properties::Promise;

const WRITTEN: &str = "cassandra-shadow";
const REPAIRED: &str = "cassandra-shadow-repaired";

const UNNOTICED: &str =
    "the lease runs out while its holder cannot reach the store, and the holder does not notice";
const OUTLIVED: &str = "a holder outlives its lease while it pauses (row C3)";
const UNFENCED: &str =
    "there is no fencing token: the write of a holder that has outlived its lease is accepted";
const RELOCKED: &str = "a relock blindly writes a cell that another client's grant has superseded (row C30)";
const LEFT: &str = "a shadow cell is left behind by a dead thread or by a lost deletion (row C17)";
const UNDELETED: &str = "a deletion stamped earlier than its shadow cell deletes nothing, and the cell stays";
const SKEW: &str = "coordinators' clocks differ by more than the TTL: cells are dead on arrival (row C15)";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(WRITTEN, "pause", MutualExclusion, OUTLIVED),
        broken(WRITTEN, "pause", FencedResource, UNFENCED),
        broken(WRITTEN, "pause", LeaseLoss, RELOCKED),
        broken(WRITTEN, "clock", MutualExclusion, SKEW),
        broken(WRITTEN, "clock", DeadlockFreedom, UNDELETED),
        broken(WRITTEN, "clock", StarvationFreedom, UNDELETED),
        broken(WRITTEN, "clock", LeaseLoss, RELOCKED),
        broken(WRITTEN, "delay", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "delay", FencedResource, UNFENCED),
        broken(WRITTEN, "delay", LeaseLoss, RELOCKED),
        broken(WRITTEN, "loss", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "loss", DeadlockFreedom, LEFT),
        broken(WRITTEN, "loss", StarvationFreedom, LEFT),
        broken(WRITTEN, "loss", LeaseLoss, RELOCKED),
        broken(WRITTEN, "partition", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "partition", FencedResource, UNFENCED),
        broken(WRITTEN, "partition", DeadlockFreedom, LEFT),
        broken(WRITTEN, "partition", StarvationFreedom, LEFT),
        broken(WRITTEN, "partition", LeaseLoss, RELOCKED),
        broken(WRITTEN, "crash", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "crash", DeadlockFreedom, LEFT),
        broken(WRITTEN, "crash", StarvationFreedom, LEFT),
        broken(WRITTEN, "crash", LeaseLoss, RELOCKED),
        broken(WRITTEN, "power-loss", MutualExclusion, UNNOTICED),
        broken(WRITTEN, "power-loss", LeaseLoss, RELOCKED),
        broken(WRITTEN, "all", MutualExclusion, "all of the above"),
        broken(WRITTEN, "all", FencedResource, UNFENCED),
        broken(WRITTEN, "all", DeadlockFreedom, "all of the above"),
        broken(WRITTEN, "all", StarvationFreedom, "all of the above"),
        broken(WRITTEN, "all", LeaseLoss, RELOCKED),
        broken(
            REPAIRED,
            "pause",
            MutualExclusion,
            "no lease helps against it; the fencing token does (row C3)",
        ),
        broken(REPAIRED, "clock", MutualExclusion, SKEW),
        broken(REPAIRED, "all", MutualExclusion, "no lease helps against pauses and wrong clocks"),
        broken(WRITTEN, "clock", FencedResource, UNFENCED),
    ]
};
