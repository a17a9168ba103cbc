//! A variable with compare-and-set, by value and by version.

use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::specification::Specification;
use serde::{Deserialize, Serialize};

/// A variable: `CAS` and `CAS_versioned` of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real
/// time*.
///
/// The version counts what was done to *this* variable from the beginning, one for each write, each compare-and-set that was done,
/// and each delete of what existed. It never starts again: a store that counts anew after a delete lets an old compare
/// succeed (ABA), which the exactly-once article counts on versions to prevent. Stores call such a number a modification revision. One
/// that counts the modifications of all its keys together must be recorded as this variable's.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Variable;

/// What a variable is.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct VariableState {
    /// Its value, if it exists.
    pub value: Option<i32>,
    /// How often it was modified, by a delete as well: its modification revision.
    pub revision: u32,
}

impl VariableState {
    /// The version that a reader is told and that a compare is about: 0 where there is nothing.
    pub fn version(self) -> u32 {
        if self.value.is_some() { self.revision } else { 0 }
    }

    fn with(self, value: Option<i32>) -> VariableState {
        VariableState { value, revision: self.revision + 1 }
    }
}

impl Specification for Variable {
    type Object = Option<ObjectId>;
    type Call = ObjectCall;
    type Answer = ObjectAnswer;
    type State = VariableState;

    fn object(call: &ObjectCall) -> Option<ObjectId> {
        call.variable()
    }

    fn outcomes(state: &VariableState, call: &ObjectCall, each: &mut dyn FnMut(VariableState, ObjectAnswer)) {
        let mut compare_and_set = |is_expected: bool, new: i32| match is_expected {
            true => each(state.with(Some(new)), ObjectAnswer::Done),
            false => each(*state, ObjectAnswer::Refused),
        };
        match *call {
            ObjectCall::Read { .. } => {
                let version = Some(state.version());
                each(*state, ObjectAnswer::Value { value: state.value, version });
            }
            ObjectCall::Write { value, .. } => each(state.with(Some(value)), ObjectAnswer::Done),
            ObjectCall::CompareAndSet { expected, new, .. } => compare_and_set(state.value == expected, new),
            ObjectCall::CompareAndSetVersion { version, new, .. } => {
                compare_and_set(state.version() == version, new);
            }
            ObjectCall::Delete { .. } => {
                let left = if state.value.is_some() { state.with(None) } else { *state };
                each(left, ObjectAnswer::Done);
            }
            // Not of a variable: nothing comes of it.
            ObjectCall::Add { .. }
            | ObjectCall::Withdraw { .. }
            | ObjectCall::Transfer { .. }
            | ObjectCall::Glance
            | ObjectCall::Audit
            | ObjectCall::Push { .. }
            | ObjectCall::ReadAt { .. }
            | ObjectCall::ReadIndex { .. }
            | ObjectCall::Handle => {}
        }
    }

    /// A version that the client is not told is any.
    fn agrees(_call: &ObjectCall, given: &ObjectAnswer, told: &ObjectAnswer) -> bool {
        match (*given, *told) {
            (ObjectAnswer::Value { value, .. }, ObjectAnswer::Value { value: seen, version: None }) => {
                value == seen
            }
            _ => given == told,
        }
    }

    fn may_change(state: &VariableState, call: &ObjectCall) -> bool {
        match *call {
            ObjectCall::Write { .. } | ObjectCall::CompareAndSet { .. } | ObjectCall::Delete { .. } => true,
            // Versions only grow; what does not exist may be deleted again.
            ObjectCall::CompareAndSetVersion { version, .. } => {
                version == 0 || version > state.revision || version == state.version()
            }
            ObjectCall::Read { .. }
            | ObjectCall::Add { .. }
            | ObjectCall::Withdraw { .. }
            | ObjectCall::Transfer { .. }
            | ObjectCall::Glance
            | ObjectCall::Audit
            | ObjectCall::Push { .. }
            | ObjectCall::ReadAt { .. }
            | ObjectCall::ReadIndex { .. }
            | ObjectCall::Handle => false,
        }
    }
}
