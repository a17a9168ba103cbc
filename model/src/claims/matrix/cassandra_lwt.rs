//! The lock by conditional write.

use super::{Cell, broken};
use picklock_properties::Promise;

const LOCK: &str = "cassandra-lwt";

const OUTLIVED: &str = "a holder outlives its lease while it pauses, and does not look";
const KEPT_WAITING: &str =
    "a holder whose work waits for the network outlives its lease, which nothing renews, and does not look";
const UNFENCED: &str =
    "there is no fencing token: the write of a holder that has outlived its lease is accepted";
const SKEW: &str =
    "coordinators' clocks differ by more than the lease has left: the cell has expired for one of them";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(LOCK, "pause", MutualExclusion, OUTLIVED),
        broken(LOCK, "pause", FencedResource, UNFENCED),
        broken(LOCK, "clock", MutualExclusion, SKEW),
        broken(LOCK, "delay", MutualExclusion, KEPT_WAITING),
        broken(LOCK, "delay", FencedResource, UNFENCED),
        broken(LOCK, "partition", MutualExclusion, KEPT_WAITING),
        broken(LOCK, "partition", FencedResource, UNFENCED),
        broken(LOCK, "all", MutualExclusion, "all of the above"),
        broken(LOCK, "all", FencedResource, UNFENCED),
        broken(LOCK, "clock", FencedResource, UNFENCED),
    ]
};
