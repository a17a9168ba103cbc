//! The lock on the store with feedback.
//!
//! Its queue is in the order in which one server hears of the calls, so that nobody is overtaken as long as places last: what
//! breaks first-in-first-out is that a waiter's place has a lease, too.

use super::{Cell, broken};
use picklock_properties::Promise;

const LOCK: &str = "feedback-lock";

const OUTLIVED: &str =
    "no lease helps against a holder that outlives it while it pauses; the fencing token does";
const TOO_SLOW: &str = "a client whose clock loses more than its margin while a lease lasts stops too late";
const LAPSED: &str = "a waiter is not heard of for longer than its lease, loses its place, and stands at the end of the queue again";

const LAPSED_DRIFTING: &str = "the place of a waiter whose clock loses half of the time, where the server's gains as much, ends between two of its signs of life (--plan; no seed's clock drifts so far)";

/// What is known.
pub(super) const CELLS: &[Cell] = &{
    use Promise::*;
    [
        broken(LOCK, "pause", MutualExclusion, OUTLIVED),
        broken(LOCK, "clock", MutualExclusion, TOO_SLOW),
        broken(LOCK, "clock", Fifo, LAPSED_DRIFTING),
        broken(LOCK, "pause", Fifo, LAPSED),
        broken(LOCK, "partition", Fifo, LAPSED),
        broken(LOCK, "loss", Fifo, LAPSED),
        broken(LOCK, "all", MutualExclusion, OUTLIVED),
        broken(LOCK, "all", Fifo, LAPSED),
    ]
};
