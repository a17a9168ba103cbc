//! A queue to which items are appended and whose positions are read; nothing is taken out of it.

use super::call::{ObjectAnswer, ObjectCall, ObjectId};
use super::specification::Specification;

/// The queue of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*: a message is added at
/// the end, and read by its index. It has no removal.
///
/// Its index is a hint: it may lag behind the end, and is never beyond it. That it never falls is a promise of its own
/// ([`IndexNeverFalls`](crate::IndexNeverFalls)).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Queue;

impl Specification for Queue {
    type Object = Option<ObjectId>;
    type Call = ObjectCall;
    type Answer = ObjectAnswer;
    /// The items, in the order of positions.
    type State = Vec<i32>;

    fn object(call: &ObjectCall) -> Option<ObjectId> {
        call.queue()
    }

    fn outcomes(items: &Vec<i32>, call: &ObjectCall, each: &mut dyn FnMut(Vec<i32>, ObjectAnswer)) {
        match *call {
            ObjectCall::Push { item, .. } => {
                let mut longer = items.clone();
                longer.push(item);
                each(longer, ObjectAnswer::Pushed { position: items.len() as u32 });
            }
            ObjectCall::ReadAt { position, .. } => {
                each(items.clone(), ObjectAnswer::Item { item: items.get(position as usize).copied() });
            }
            ObjectCall::ReadIndex { .. } => {
                each(items.clone(), ObjectAnswer::Index { index: items.len() as u32 });
            }
            // Not of a queue: nothing comes of it.
            ObjectCall::Read { .. }
            | ObjectCall::Write { .. }
            | ObjectCall::CompareAndSet { .. }
            | ObjectCall::CompareAndSetVersion { .. }
            | ObjectCall::Delete { .. }
            | ObjectCall::Add { .. }
            | ObjectCall::Withdraw { .. }
            | ObjectCall::Transfer { .. }
            | ObjectCall::Glance
            | ObjectCall::Audit
            | ObjectCall::Handle => {}
        }
    }

    /// An index is at most the end.
    fn agrees(_call: &ObjectCall, given: &ObjectAnswer, told: &ObjectAnswer) -> bool {
        match (*given, *told) {
            (ObjectAnswer::Index { index: end }, ObjectAnswer::Index { index }) => index <= end,
            _ => given == told,
        }
    }

    fn may_change(_items: &Vec<i32>, call: &ObjectCall) -> bool {
        matches!(call, ObjectCall::Push { .. })
    }
}
