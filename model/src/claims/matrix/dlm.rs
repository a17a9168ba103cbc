//! The users of a lock manager.

use super::{Cell, broken};
use picklock_properties::Promise;

const OUTLIVED: &str = "who is silent for twenty seconds is taken for dead, and goes on with what it had: both systems fence such a node, and \
                        nothing is fenced here";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::MutualExclusion;
    [
        broken("dlm-modes", "pause", MutualExclusion, OUTLIVED),
        broken("dlm-modes", "loss", MutualExclusion, OUTLIVED),
        broken("dlm-readers-writer", "pause", MutualExclusion, OUTLIVED),
        broken("dlm-readers-writer", "loss", MutualExclusion, OUTLIVED),
        broken("dlm-upgrade", "pause", MutualExclusion, OUTLIVED),
        broken("dlm-upgrade", "loss", MutualExclusion, OUTLIVED),
        broken("dlm-two", "pause", MutualExclusion, OUTLIVED),
        broken("dlm-two", "loss", MutualExclusion, OUTLIVED),
        broken("dlm-standby", "pause", MutualExclusion, OUTLIVED),
        broken("dlm-standby", "loss", MutualExclusion, OUTLIVED),
        broken("dlm-pages", "pause", MutualExclusion, OUTLIVED),
        broken("dlm-pages", "loss", MutualExclusion, OUTLIVED),
        broken("dlm-modes", "all", MutualExclusion, OUTLIVED),
        broken("dlm-readers-writer", "all", MutualExclusion, OUTLIVED),
        broken("dlm-upgrade", "all", MutualExclusion, OUTLIVED),
        broken("dlm-two", "all", MutualExclusion, OUTLIVED),
        broken("dlm-standby", "all", MutualExclusion, OUTLIVED),
        broken("dlm-pages", "all", MutualExclusion, OUTLIVED),
    ]
};
