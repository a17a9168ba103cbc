//! The queue lock with its services: the time service, and the lease service instead of the TTL.
//!
//! The flaws of the threads are those of the queue lock, and so are most of the reasons; what the services add is named.

use super::{Cell, broken};
use picklock_properties::Promise;

const TIMED: &str = "cassandra-timed";
const TIMED_REPAIRED: &str = "cassandra-timed-repaired";
const KEPT: &str = "cassandra-kept";
const KEPT_REPAIRED: &str = "cassandra-kept-repaired";

const OVERTAKING: &str =
    "the column's name is made before the cell is written: a late small name goes first (row C23)";
const OVERTAKING_UNTIL_PUBLISHED: &str = "between two publications all are given one time; and whoever takes a time may be late with it (rows C22a, C23)";
const UNNOTICED: &str =
    "the lease runs out while its holder cannot reach the store, and the holder does not notice";
const OUTLIVED: &str = "a holder outlives its lease while it pauses (row C3)";
const OUTLIVED_OR_KEPT: &str = "a holder outlives its lease while it pauses, or the keeper pauses and ends a lease that was renewed (rows C3, C33)";
const UNFENCED: &str =
    "there is no fencing token: a write that arrives after its holder has lost the lock is accepted";
const REVIVED: &str = "a renewal blindly writes cells that another client's grant has superseded (row C4)";
const LOOKED_FIRST: &str =
    "a renewal looks whether the lock is its own, and writes then: the lock may change hands in between";
const NOT_REJOINED: &str = "a waiter whose queue cell expires polls for ever (row C6)";
const NOT_REJOINED_KEPT: &str = "a waiter whose queue cell the keeper deletes polls for ever (row C6), and nobody ends a lease without a keeper (row C34)";
const SKEW: &str = "coordinators' clocks differ by more than the TTL: cells are dead on arrival (row C15)";
const UNSEEN: &str =
    "a clock that was set back stamps renewals that change nothing: the keeper sees none (as in row C32)";
const NO_LEASE_HELPS: &str = "no lease helps against a pause; the fencing token does (row C3)";
const NO_TIME: &str = "both time replicas end for good before a majority has the first time: the client asks for a time that nobody publishes";
const COUNTED_FAST: &str = "the keepers' clocks gain half of a lease's time where the holder's loses as much: they end a lease that it counts on (--plan; no seed's clock drifts so far)";
const AHEAD: &str = "two hold by clocks that run apart, and the first one's was set ahead: its token is the larger one (--plan)";
const ALL: &str = "all of the above";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(TIMED, "none", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "pause", MutualExclusion, OUTLIVED),
        broken(TIMED, "pause", FencedResource, UNFENCED),
        broken(TIMED, "pause", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "pause", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "pause", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "pause", LeaseLoss, REVIVED),
        broken(TIMED, "clock", MutualExclusion, SKEW),
        broken(TIMED, "clock", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "clock", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "clock", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "clock", LeaseLoss, REVIVED),
        broken(TIMED, "delay", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "delay", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "delay", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "loss", MutualExclusion, UNNOTICED),
        broken(TIMED, "loss", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "loss", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "loss", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "loss", LeaseLoss, REVIVED),
        broken(TIMED, "duplicate", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "partition", MutualExclusion, UNNOTICED),
        broken(TIMED, "partition", FencedResource, UNFENCED),
        broken(TIMED, "partition", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "partition", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "partition", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "partition", LeaseLoss, REVIVED),
        broken(TIMED, "crash", MutualExclusion, UNNOTICED),
        broken(TIMED, "crash", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "crash", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "crash", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "crash", LeaseLoss, REVIVED),
        broken(TIMED, "power-loss", MutualExclusion, UNNOTICED),
        broken(TIMED, "power-loss", DeadlockFreedom, NOT_REJOINED),
        broken(TIMED, "power-loss", StarvationFreedom, NOT_REJOINED),
        broken(TIMED, "power-loss", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "power-loss", LeaseLoss, REVIVED),
        broken(TIMED, "all", MutualExclusion, ALL),
        broken(TIMED, "all", FencedResource, UNFENCED),
        broken(TIMED, "all", DeadlockFreedom, ALL),
        broken(TIMED, "all", StarvationFreedom, ALL),
        broken(TIMED, "all", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED, "all", LeaseLoss, REVIVED),
        broken(TIMED_REPAIRED, "none", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "pause", MutualExclusion, NO_LEASE_HELPS),
        broken(TIMED_REPAIRED, "pause", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "clock", MutualExclusion, SKEW),
        broken(TIMED_REPAIRED, "clock", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "delay", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "loss", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "duplicate", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "partition", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "crash", DeadlockFreedom, NO_TIME),
        broken(TIMED_REPAIRED, "crash", StarvationFreedom, NO_TIME),
        broken(TIMED_REPAIRED, "crash", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "power-loss", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "all", MutualExclusion, NO_LEASE_HELPS),
        broken(TIMED_REPAIRED, "all", Fifo, OVERTAKING_UNTIL_PUBLISHED),
        broken(TIMED_REPAIRED, "all", LeaseLoss, LOOKED_FIRST),
        broken(KEPT, "none", Fifo, OVERTAKING),
        broken(KEPT, "pause", MutualExclusion, OUTLIVED_OR_KEPT),
        broken(KEPT, "pause", FencedResource, UNFENCED),
        broken(KEPT, "pause", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "pause", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "pause", Fifo, OVERTAKING),
        broken(KEPT, "pause", LeaseLoss, REVIVED),
        broken(KEPT, "clock", MutualExclusion, UNSEEN),
        broken(KEPT, "clock", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "clock", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "clock", Fifo, OVERTAKING),
        broken(KEPT, "clock", LeaseLoss, UNSEEN),
        broken(KEPT, "delay", FencedResource, UNFENCED),
        broken(KEPT, "delay", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "delay", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "delay", Fifo, OVERTAKING),
        broken(KEPT, "loss", MutualExclusion, UNNOTICED),
        broken(KEPT, "loss", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "loss", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "loss", Fifo, OVERTAKING),
        broken(KEPT, "loss", LeaseLoss, REVIVED),
        broken(KEPT, "duplicate", Fifo, OVERTAKING),
        broken(KEPT, "partition", MutualExclusion, UNNOTICED),
        broken(KEPT, "partition", FencedResource, UNFENCED),
        broken(KEPT, "partition", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "partition", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "partition", Fifo, OVERTAKING),
        broken(KEPT, "partition", LeaseLoss, REVIVED),
        broken(KEPT, "crash", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "crash", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "crash", Fifo, OVERTAKING),
        broken(KEPT, "power-loss", MutualExclusion, UNNOTICED),
        broken(KEPT, "power-loss", DeadlockFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "power-loss", StarvationFreedom, NOT_REJOINED_KEPT),
        broken(KEPT, "power-loss", Fifo, OVERTAKING),
        broken(KEPT, "power-loss", LeaseLoss, REVIVED),
        broken(KEPT, "all", MutualExclusion, ALL),
        broken(KEPT, "all", FencedResource, UNFENCED),
        broken(KEPT, "all", DeadlockFreedom, ALL),
        broken(KEPT, "all", StarvationFreedom, ALL),
        broken(KEPT, "all", Fifo, OVERTAKING),
        broken(KEPT, "all", LeaseLoss, REVIVED),
        broken(KEPT_REPAIRED, "none", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "pause", MutualExclusion, NO_LEASE_HELPS),
        broken(KEPT_REPAIRED, "pause", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "clock", MutualExclusion, COUNTED_FAST),
        broken(KEPT_REPAIRED, "clock", FencedResource, AHEAD),
        broken(KEPT_REPAIRED, "clock", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "delay", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "loss", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "duplicate", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "partition", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "crash", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "power-loss", Fifo, OVERTAKING),
        broken(KEPT_REPAIRED, "all", MutualExclusion, NO_LEASE_HELPS),
        broken(KEPT_REPAIRED, "all", Fifo, OVERTAKING),
    ]
};
