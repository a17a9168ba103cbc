//! The lock by conditional write.

use super::{Cell, broken};
use picklock_properties::Promise;

const LOCK: &str = "cassandra-lwt";
const SHIPPED: &str = "cassandra-lwt-shipped";

const OUTLIVED: &str = "a holder outlives its lease while it pauses, and does not look";
const KEPT_WAITING: &str =
    "a holder whose work waits for the network outlives its lease, which nothing renews, and does not look";
const UNFENCED: &str =
    "there is no fencing token: the write of a holder that has outlived its lease is accepted";
const SKEW: &str =
    "coordinators' clocks differ by more than the lease has left: the cell has expired for one of them";
const FORGOTTEN: &str = "servers that lose power within ten seconds of a grant forget it: the commit log was not on disk (row C12)";
const UNMARKED: &str = "servers that are killed within a tenth of a second of a grant forget it: their logs had no mark since (row C35)";

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
        broken(LOCK, "loss", MutualExclusion, KEPT_WAITING),
        broken(LOCK, "loss", FencedResource, UNFENCED),
        broken(LOCK, "all", MutualExclusion, "all of the above"),
        broken(LOCK, "all", FencedResource, UNFENCED),
        broken(LOCK, "clock", FencedResource, UNFENCED),
        broken(SHIPPED, "pause", MutualExclusion, OUTLIVED),
        broken(SHIPPED, "pause", FencedResource, UNFENCED),
        broken(SHIPPED, "clock", MutualExclusion, SKEW),
        broken(SHIPPED, "clock", FencedResource, UNFENCED),
        broken(SHIPPED, "delay", MutualExclusion, KEPT_WAITING),
        broken(SHIPPED, "delay", FencedResource, UNFENCED),
        broken(SHIPPED, "partition", MutualExclusion, KEPT_WAITING),
        broken(SHIPPED, "partition", FencedResource, UNFENCED),
        broken(SHIPPED, "loss", MutualExclusion, KEPT_WAITING),
        broken(SHIPPED, "loss", FencedResource, UNFENCED),
        broken(SHIPPED, "power-loss", MutualExclusion, FORGOTTEN),
        broken(SHIPPED, "power-loss", FencedResource, FORGOTTEN),
        broken(SHIPPED, "crash", MutualExclusion, UNMARKED),
        broken(SHIPPED, "crash", FencedResource, UNMARKED),
        broken(SHIPPED, "all", MutualExclusion, "all of the above"),
        broken(SHIPPED, "all", FencedResource, "all of the above"),
    ]
};
