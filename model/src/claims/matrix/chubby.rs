//! The locks of a Chubby cell, and Consul's.
//!
//! A pause of no known length outlasts every lock-delay.

use super::{Cell, broken};
use picklock_properties::Promise;

const OUTLIVED: &str = "the holder outlives its session and the lock-delay while it pauses";
const UNSHOWN: &str =
    "no sequencer is shown: the write of a holder that has outlived the lock-delay is accepted (rows H2, H3)";

const OUTPACED: &str = "no sequencer is shown: a holder whose clock is slow writes when its session is over";
const DRIFTING: &str =
    "two TTLs and the lock-delay are over by the leader's clock before one TTL is by the holder's";
const UNHEARD: &str =
    "no renewal arrives for two TTLs, and what tells the holder of it comes after the lock-delay";
const UNTOLD: &str = "no sequencer is shown: a holder that has not heard of the end of its session writes";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken("chubby-lock", "pause", MutualExclusion, OUTLIVED),
        broken("chubby-lock", "all", MutualExclusion, OUTLIVED),
        broken("chubby-lock-unmodified", "pause", MutualExclusion, OUTLIVED),
        broken("chubby-lock-unmodified", "pause", FencedResource, UNSHOWN),
        broken("chubby-lock-unmodified", "all", MutualExclusion, OUTLIVED),
        broken("chubby-lock-unmodified", "all", FencedResource, UNSHOWN),
        broken("consul-lock", "pause", MutualExclusion, OUTLIVED),
        broken("consul-lock", "pause", FencedResource, UNSHOWN),
        broken("consul-lock", "clock", MutualExclusion, DRIFTING),
        broken("consul-lock", "clock", FencedResource, OUTPACED),
        broken("consul-lock", "delay", MutualExclusion, UNHEARD),
        broken("consul-lock", "loss", MutualExclusion, UNHEARD),
        broken("consul-lock", "loss", FencedResource, UNTOLD),
        broken("consul-lock", "all", MutualExclusion, OUTLIVED),
        broken("consul-lock", "all", FencedResource, UNSHOWN),
        broken("consul-lock-repaired", "pause", MutualExclusion, OUTLIVED),
        broken("consul-lock-repaired", "clock", MutualExclusion, DRIFTING),
        broken("consul-lock-repaired", "all", MutualExclusion, OUTLIVED),
    ]
};
