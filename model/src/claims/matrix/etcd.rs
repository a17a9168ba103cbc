//! The locks on etcd: what the exhaustive search and the catalogue know, and random runs seldom meet.

use super::{Cell, broken, verified};
use crate::claims::Assumption;
use picklock_properties::Promise;

const OUTLIVED: &str = "the holder outlives its lease while it pauses (row E2)";
const CUT_OFF: &str =
    "the holder is cut off, and looks at its lease once a second: its end is seen elsewhere first";
const DRIFTING: &str = "the lease of a client whose clock is slow ends between two keep-alives";
const UNANSWERED: &str = "the client counts its lease from an answer's arrival, and looks once a second";
const TOO_SLOW: &str = "a client whose clock loses more than its margin while a lease lasts stops too late";
const UNFENCED: &str =
    "no fencing token is shown: the write of a holder that has outlived its lease is accepted";
const TOO_SLOW_OF_THREE: &str = "a client whose clock loses half of a lease's time, where the members' gain as much, stops too late (--plan; no seed's clock drifts so far)";
const DELETED_TWICE: &str = "a member does a deletion and crashes before it says so: said again, it is of the next one's key (row E16)";
const UNHEARD: &str = "keep-alives are lost, or go to a member that is dead, for as long as the lease lasts, and the client looks once a second";
const TWICE: &str = "a deletion that comes late is of the next key of the same name (row E4)";

const PUT_LATE: &str = "a transaction that comes late, or twice, puts a key after its client has left, and nobody knows of it (row E15)";

const UNTOLD: &str = "the host of the member that a waiter watches at loses its power, and nobody tells a client that does not ping (row E19)";

const REJOINS: &str = "the lease of a waiter whose clock loses half of the time, where the members' gain as much, ends between two keep-alives, and it begins anew behind the others (--plan; no seed's clock drifts so far)";

/// Leases end, as they do in random runs.
const TIMED: &[Assumption] = &[Assumption::NoExpiry];

const KEPT_ALIVE: &str = "the oldest key has the lock, and keep-alives come long before a lease ends";
const WATCHED: &str = "whoever leaves deletes its key, and the next one watches it";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::{DeadlockFreedom, FencedResource, Fifo, MutualExclusion, StarvationFreedom};
    [
        verified("etcd-mutex", "none", MutualExclusion, "etcd", TIMED, KEPT_ALIVE),
        verified("etcd-mutex", "none", DeadlockFreedom, "etcd-progress", TIMED, WATCHED),
        verified("etcd-mutex", "none", StarvationFreedom, "etcd-progress", TIMED, WATCHED),
        verified("etcd-mutex", "none", Fifo, "etcd-fifo", TIMED, KEPT_ALIVE),
        verified("etcd-election", "none", MutualExclusion, "election", TIMED, KEPT_ALIVE),
        verified("etcd-election", "none", DeadlockFreedom, "election-progress", TIMED, WATCHED),
        verified("etcd-election", "none", StarvationFreedom, "election-progress", TIMED, WATCHED),
        verified("etcd-election", "none", Fifo, "election-fifo", TIMED, KEPT_ALIVE),
        broken("etcd-mutex", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex", "clock", MutualExclusion, DRIFTING),
        broken("etcd-mutex", "clock", Fifo, REJOINS),
        broken("etcd-mutex", "clock", FencedResource, UNFENCED),
        broken("etcd-mutex", "loss", MutualExclusion, UNANSWERED),
        broken("etcd-mutex", "loss", FencedResource, UNFENCED),
        broken("etcd-mutex", "duplicate", MutualExclusion, TWICE),
        broken("etcd-mutex", "partition", MutualExclusion, CUT_OFF),
        broken("etcd-mutex", "delay", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex", "delay", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex", "duplicate", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex", "duplicate", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex-repaired", "clock", MutualExclusion, TOO_SLOW),
        broken("etcd-mutex-repaired", "clock", Fifo, REJOINS),
        broken("etcd-mutex-repaired", "delay", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex-repaired", "delay", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex-repaired", "duplicate", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex-repaired", "duplicate", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex-3", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex-3", "clock", MutualExclusion, TOO_SLOW_OF_THREE),
        broken("etcd-mutex-3", "clock", Fifo, REJOINS),
        broken("etcd-mutex-3", "clock", FencedResource, TOO_SLOW_OF_THREE),
        broken("etcd-mutex-3", "loss", MutualExclusion, UNHEARD),
        broken("etcd-mutex-3", "loss", FencedResource, UNFENCED),
        broken("etcd-mutex-3", "partition", FencedResource, CUT_OFF),
        broken("etcd-mutex-3", "crash", MutualExclusion, UNHEARD),
        broken("etcd-mutex-3", "power-loss", MutualExclusion, UNHEARD),
        broken("etcd-mutex-3", "delay", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex-3", "delay", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex-3", "duplicate", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex-3", "duplicate", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex-3", "power-loss", DeadlockFreedom, UNTOLD),
        broken("etcd-mutex-3", "power-loss", StarvationFreedom, UNTOLD),
        broken("etcd-mutex-3-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex-3-repaired", "clock", MutualExclusion, TOO_SLOW_OF_THREE),
        broken("etcd-mutex-3-repaired", "clock", Fifo, REJOINS),
        broken("etcd-mutex-3-repaired", "delay", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex-3-repaired", "delay", StarvationFreedom, PUT_LATE),
        broken("etcd-mutex-3-repaired", "duplicate", DeadlockFreedom, PUT_LATE),
        broken("etcd-mutex-3-repaired", "duplicate", StarvationFreedom, PUT_LATE),
        broken("etcd-election", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-election", "clock", MutualExclusion, DRIFTING),
        broken("etcd-election", "clock", Fifo, REJOINS),
        broken("etcd-election", "clock", FencedResource, UNFENCED),
        broken("etcd-election", "loss", MutualExclusion, UNANSWERED),
        broken("etcd-election", "loss", FencedResource, UNFENCED),
        broken("etcd-election", "partition", MutualExclusion, CUT_OFF),
        broken("etcd-election-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-election-repaired", "clock", MutualExclusion, TOO_SLOW),
        broken("etcd-election-repaired", "clock", Fifo, REJOINS),
        broken("etcd-election-repaired", "delay", DeadlockFreedom, PUT_LATE),
        broken("etcd-election-repaired", "delay", StarvationFreedom, PUT_LATE),
        broken("etcd-election-repaired", "duplicate", DeadlockFreedom, PUT_LATE),
        broken("etcd-election-repaired", "duplicate", StarvationFreedom, PUT_LATE),
        broken("etcd-election-3", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-election-3", "clock", MutualExclusion, TOO_SLOW_OF_THREE),
        broken("etcd-election-3", "clock", Fifo, REJOINS),
        broken("etcd-election-3", "clock", FencedResource, TOO_SLOW_OF_THREE),
        broken("etcd-election-3", "loss", MutualExclusion, UNHEARD),
        broken("etcd-election-3", "loss", FencedResource, UNFENCED),
        broken("etcd-election-3", "crash", MutualExclusion, UNHEARD),
        broken("etcd-election-3", "crash", FencedResource, UNFENCED),
        broken("etcd-election-3", "power-loss", MutualExclusion, UNHEARD),
        broken("etcd-election-3", "power-loss", FencedResource, UNFENCED),
        broken("etcd-election-3", "power-loss", DeadlockFreedom, UNTOLD),
        broken("etcd-election-3", "power-loss", StarvationFreedom, UNTOLD),
        broken("etcd-lease-key", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-lease-key", "clock", MutualExclusion, DRIFTING),
        broken("etcd-lease-key", "clock", FencedResource, UNFENCED),
        broken("etcd-lease-key", "loss", MutualExclusion, UNANSWERED),
        broken("etcd-lease-key", "crash", MutualExclusion, DELETED_TWICE),
        broken("etcd-lease-key", "crash", FencedResource, UNFENCED),
        broken("etcd-lease-key-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-lease-key-repaired", "clock", MutualExclusion, TOO_SLOW),
        broken("etcd-lease-key-repaired", "delay", DeadlockFreedom, PUT_LATE),
        broken("etcd-lease-key-repaired", "delay", StarvationFreedom, PUT_LATE),
        broken("etcd-lease-key-repaired", "duplicate", DeadlockFreedom, PUT_LATE),
        broken("etcd-lease-key-repaired", "duplicate", StarvationFreedom, PUT_LATE),
        broken("etcd-lease-key-3", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-lease-key-3", "clock", MutualExclusion, TOO_SLOW_OF_THREE),
        broken("etcd-lease-key-3", "clock", FencedResource, TOO_SLOW_OF_THREE),
        broken("etcd-lease-key-3", "power-loss", DeadlockFreedom, UNTOLD),
        broken("etcd-lease-key-3", "power-loss", StarvationFreedom, UNTOLD),
    ]
};
