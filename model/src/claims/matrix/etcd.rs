//! The locks on etcd: what the exhaustive search and the catalogue know, and random runs seldom meet.

use super::{Cell, broken};
use picklock_properties::Promise;

const OUTLIVED: &str = "the holder outlives its lease while it pauses (row E2)";
const CUT_OFF: &str =
    "the holder is cut off, and looks at its lease once a second: its end is seen elsewhere first";
const DRIFTING: &str = "the lease of a client whose clock is slow ends between two keep-alives";
const UNANSWERED: &str = "the client counts its lease from an answer's arrival, and looks once a second";
const TWICE: &str = "a deletion that comes late is of the next key of the same name (row E4)";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::MutualExclusion;
    [
        broken("etcd-mutex", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex", "clock", MutualExclusion, DRIFTING),
        broken("etcd-mutex", "loss", MutualExclusion, UNANSWERED),
        broken("etcd-mutex", "duplicate", MutualExclusion, TWICE),
        broken("etcd-mutex", "partition", MutualExclusion, CUT_OFF),
        broken("etcd-mutex-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex-3", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-mutex-3-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-election", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-election", "clock", MutualExclusion, DRIFTING),
        broken("etcd-election", "loss", MutualExclusion, UNANSWERED),
        broken("etcd-election", "partition", MutualExclusion, CUT_OFF),
        broken("etcd-election-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-election-3", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-lease-key", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-lease-key", "clock", MutualExclusion, DRIFTING),
        broken("etcd-lease-key", "loss", MutualExclusion, UNANSWERED),
        broken("etcd-lease-key-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("etcd-lease-key-3", "pause", MutualExclusion, OUTLIVED),
    ]
};
