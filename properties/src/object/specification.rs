//! What one call does to an object that nobody else uses.

use std::fmt::Debug;
use std::hash::Hash;

/// A sequential specification: the object as it would be if one call were done after the other.
pub trait Specification: Copy + Default + Eq + Ord + Hash + Debug {
    /// Tells objects apart. A history is linearizable if it is for each object by itself.
    type Object: Ord + Debug;
    /// What can be asked.
    type Call: Clone + Ord + Hash + Debug;
    /// What can be told.
    type Answer: Clone + Ord + Hash + Debug;
    /// What is kept of an object; the default is an object that nobody has used.
    type State: Clone + Default + Ord + Hash + Debug;

    /// Which object the call is about.
    fn object(call: &Self::Call) -> Self::Object;

    /// What may come of the call, done on an object in this state: each state it may leave, with the answer that it would have.
    /// Most calls have one outcome.
    fn outcomes(state: &Self::State, call: &Self::Call, each: &mut dyn FnMut(Self::State, Self::Answer));

    /// Whether a client that was told `told` may have been told so by an object that would have answered `given`. An answer
    /// may leave something out, or be a bound.
    fn agrees(call: &Self::Call, given: &Self::Answer, told: &Self::Answer) -> bool {
        let _ = call;
        given == told
    }

    /// Whether the call could change an object in this state, done now or after whatever else may be done before. A call
    /// that nobody waits for any more and that can change nothing is forgotten. `true` is never wrong, only slow.
    fn may_change(state: &Self::State, call: &Self::Call) -> bool;
}
