//! All accounts together: what they hold in sum, and nothing of how it is distributed.

use super::call::{ObjectAnswer, ObjectCall};
use super::specification::Specification;

/// The sum of all accounts. What is put in raises it, what is taken out lowers it, a transfer leaves it as it is.
///
/// Whether an account has enough is not kept, so that a withdrawal or a transfer may always be refused.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Accounts;

impl Specification for Accounts {
    type Object = ();
    type Call = ObjectCall;
    type Answer = ObjectAnswer;
    /// The sum.
    type State = i32;

    fn object(_call: &ObjectCall) {}

    fn outcomes(sum: &i32, call: &ObjectCall, each: &mut dyn FnMut(i32, ObjectAnswer)) {
        match *call {
            ObjectCall::Add { amount, .. } => each(sum.saturating_add_unsigned(amount), ObjectAnswer::Done),
            ObjectCall::Withdraw { amount, .. } => {
                each(sum.saturating_sub_unsigned(amount), ObjectAnswer::Done);
                each(*sum, ObjectAnswer::Refused);
            }
            ObjectCall::Transfer { .. } => {
                each(*sum, ObjectAnswer::Done);
                each(*sum, ObjectAnswer::Refused);
            }
            ObjectCall::Glance | ObjectCall::Audit => each(*sum, ObjectAnswer::Total { total: *sum }),
            // Not of accounts: nothing comes of it.
            ObjectCall::Read { .. }
            | ObjectCall::Write { .. }
            | ObjectCall::CompareAndSet { .. }
            | ObjectCall::CompareAndSetVersion { .. }
            | ObjectCall::Delete { .. }
            | ObjectCall::Push { .. }
            | ObjectCall::ReadAt { .. }
            | ObjectCall::ReadIndex { .. }
            | ObjectCall::Handle => {}
        }
    }

    /// At a glance the accounts may hold less, never more: a transfer may be between its halves.
    fn agrees(call: &ObjectCall, given: &ObjectAnswer, told: &ObjectAnswer) -> bool {
        match (call, *given, *told) {
            (ObjectCall::Glance, ObjectAnswer::Total { total }, ObjectAnswer::Total { total: seen }) => {
                seen <= total
            }
            _ => given == told,
        }
    }

    fn may_change(_sum: &i32, call: &ObjectCall) -> bool {
        matches!(call, ObjectCall::Add { .. } | ObjectCall::Withdraw { .. })
    }
}
