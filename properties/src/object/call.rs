//! What clients ask of shared objects, and what they are told.

use serde::{Deserialize, Serialize};

/// Which object, of those of its kind: variables, queues and accounts are numbered each from 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ObjectId(pub u8);

/// A call of a shared object. Values, items and amounts are small numbers: what matters of them is whether they are equal, and
/// what they add up to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ObjectCall {
    /// Reads a variable. Answered by [`ObjectAnswer::Value`].
    Read {
        /// Which variable.
        variable: ObjectId,
    },
    /// Gives a variable a value, whatever it has. Answered by [`ObjectAnswer::Done`].
    Write {
        /// Which variable.
        variable: ObjectId,
        /// The new value.
        value: i32,
    },
    /// Gives a variable a value if it has the expected one: `CAS` of the exactly-once article, *Heterogeneous concurrent exactly-once
    /// processing of data in real time*. Answered by [`ObjectAnswer::Done`] or [`ObjectAnswer::Refused`].
    CompareAndSet {
        /// Which variable.
        variable: ObjectId,
        /// The value it must have; `None` if it must not exist.
        expected: Option<i32>,
        /// The new value.
        new: i32,
    },
    /// Gives a variable a value if it has not changed since it had this version: `CAS_versioned` of the exactly-once article. Answered
    /// by [`ObjectAnswer::Done`] or [`ObjectAnswer::Refused`].
    CompareAndSetVersion {
        /// Which variable.
        variable: ObjectId,
        /// The version it must have; 0 if it must not exist. [`Variable`](crate::Variable) says how versions are counted.
        version: u32,
        /// The new value.
        new: i32,
    },
    /// Takes a variable away. Answered by [`ObjectAnswer::Done`], whether there was one or not.
    Delete {
        /// Which variable.
        variable: ObjectId,
    },
    /// Puts money into an account from outside. Answered by [`ObjectAnswer::Done`].
    Add {
        /// Which account.
        account: ObjectId,
        /// How much.
        amount: u32,
    },
    /// Takes money out of an account. Answered by [`ObjectAnswer::Done`], or [`ObjectAnswer::Refused`] where there is not enough.
    Withdraw {
        /// Which account.
        account: ObjectId,
        /// How much.
        amount: u32,
    },
    /// Moves money from one account to another, in two halves or as one. Answered by [`ObjectAnswer::Done`], or
    /// [`ObjectAnswer::Refused`] where there is not enough.
    Transfer {
        /// From which account.
        from: ObjectId,
        /// To which account.
        to: ObjectId,
        /// How much.
        amount: u32,
    },
    /// Looks at all accounts at one moment while others work, and adds them up. Answered by [`ObjectAnswer::Total`]. A transfer
    /// may be in its gap just then.
    Glance,
    /// Adds all accounts up when everybody is done: no transfer is under way, none that was given up can go on, and whatever
    /// recovers those of the crashed has run. Answered by [`ObjectAnswer::Total`].
    Audit,
    /// Appends an item to a queue. Answered by [`ObjectAnswer::Pushed`].
    Push {
        /// Which queue.
        queue: ObjectId,
        /// The item. Items are told apart by their numbers.
        item: i32,
    },
    /// Reads one position of a queue. Answered by [`ObjectAnswer::Item`].
    ReadAt {
        /// Which queue.
        queue: ObjectId,
        /// Which position, counted from 0.
        position: u32,
    },
    /// Reads the index of a queue: a hint to where its end is, never beyond the first empty position. Answered by
    /// [`ObjectAnswer::Index`].
    ReadIndex {
        /// Which queue.
        queue: ObjectId,
    },
    /// Handles streams until nothing more is in them. Answered by [`ObjectAnswer::Done`].
    Handle,
}

impl ObjectCall {
    /// Which variable the call is about, if it is about one.
    pub fn variable(self) -> Option<ObjectId> {
        match self {
            ObjectCall::Read { variable }
            | ObjectCall::Write { variable, .. }
            | ObjectCall::CompareAndSet { variable, .. }
            | ObjectCall::CompareAndSetVersion { variable, .. }
            | ObjectCall::Delete { variable } => Some(variable),
            ObjectCall::Add { .. }
            | ObjectCall::Withdraw { .. }
            | ObjectCall::Transfer { .. }
            | ObjectCall::Glance
            | ObjectCall::Audit
            | ObjectCall::Push { .. }
            | ObjectCall::ReadAt { .. }
            | ObjectCall::ReadIndex { .. }
            | ObjectCall::Handle => None,
        }
    }

    /// Which queue the call is about, if it is about one.
    pub fn queue(self) -> Option<ObjectId> {
        match self {
            ObjectCall::Push { queue, .. }
            | ObjectCall::ReadAt { queue, .. }
            | ObjectCall::ReadIndex { queue } => Some(queue),
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
            | ObjectCall::Handle => None,
        }
    }

    /// Whether the call is about accounts: one, two, or all of them.
    pub fn is_of_accounts(self) -> bool {
        self.variable().is_none() && self.queue().is_none() && self != ObjectCall::Handle
    }
}

/// What a client was told of its call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum ObjectAnswer {
    /// It was done.
    Done,
    /// It was not done and will not be: the variable was another one than expected, or there was not enough money.
    Refused,
    /// What a variable is.
    Value {
        /// Its value, if it exists.
        value: Option<i32>,
        /// Its version, 0 if it does not exist; `None` where the client is not told.
        version: Option<u32>,
    },
    /// The item was appended.
    Pushed {
        /// At which position.
        position: u32,
    },
    /// What is at a position.
    Item {
        /// The item, if there is one.
        item: Option<i32>,
    },
    /// The index of a queue.
    Index {
        /// The first position that may be empty, for all that the index knows.
        index: u32,
    },
    /// What all accounts hold together.
    Total {
        /// The sum.
        total: i32,
    },
}

/// The call as a listing would write it; variables are `x0`, `x1`…, accounts `a0`…, queues `q0`….
impl std::fmt::Display for ObjectCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ObjectCall::Read { variable } => write!(f, "x{}.read()", variable.0),
            ObjectCall::Write { variable, value } => write!(f, "x{}.write({value})", variable.0),
            ObjectCall::CompareAndSet { variable, expected: Some(expected), new } => {
                write!(f, "x{}.compare_and_set({expected}, {new})", variable.0)
            }
            ObjectCall::CompareAndSet { variable, expected: None, new } => {
                write!(f, "x{}.compare_and_set(absent, {new})", variable.0)
            }
            ObjectCall::CompareAndSetVersion { variable, version, new } => {
                write!(f, "x{}.compare_and_set(version {version}, {new})", variable.0)
            }
            ObjectCall::Delete { variable } => write!(f, "x{}.delete()", variable.0),
            ObjectCall::Add { account, amount } => write!(f, "a{}.add({amount})", account.0),
            ObjectCall::Withdraw { account, amount } => write!(f, "a{}.withdraw({amount})", account.0),
            ObjectCall::Transfer { from, to, amount } => {
                write!(f, "transfer(a{}, a{}, {amount})", from.0, to.0)
            }
            ObjectCall::Glance => f.write_str("glance()"),
            ObjectCall::Audit => f.write_str("audit()"),
            ObjectCall::Push { queue, item } => write!(f, "q{}.push({item})", queue.0),
            ObjectCall::ReadAt { queue, position } => write!(f, "q{}.read_at({position})", queue.0),
            ObjectCall::ReadIndex { queue } => write!(f, "q{}.read_index()", queue.0),
            ObjectCall::Handle => f.write_str("handle()"),
        }
    }
}

impl std::fmt::Display for ObjectAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ObjectAnswer::Done => f.write_str("done"),
            ObjectAnswer::Refused => f.write_str("refused"),
            ObjectAnswer::Value { value: None, .. } => f.write_str("absent"),
            ObjectAnswer::Value { value: Some(value), version: None } => write!(f, "{value}"),
            ObjectAnswer::Value { value: Some(value), version: Some(version) } => {
                write!(f, "{value} version {version}")
            }
            ObjectAnswer::Pushed { position } => write!(f, "at {position}"),
            ObjectAnswer::Item { item: None } => f.write_str("empty"),
            ObjectAnswer::Item { item: Some(item) } => write!(f, "{item}"),
            ObjectAnswer::Index { index } => write!(f, "index {index}"),
            ObjectAnswer::Total { total } => write!(f, "{total} in all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_answers_are_written_as_a_listing_would() {
        let (variable, queue, account) = (ObjectId(0), ObjectId(1), ObjectId(2));
        for (call, words) in [
            (ObjectCall::CompareAndSet { variable, expected: Some(1), new: 2 }, "x0.compare_and_set(1, 2)"),
            (ObjectCall::CompareAndSet { variable, expected: None, new: 2 }, "x0.compare_and_set(absent, 2)"),
            (ObjectCall::ReadAt { queue, position: 3 }, "q1.read_at(3)"),
            (ObjectCall::Transfer { from: account, to: variable, amount: 5 }, "transfer(a2, a0, 5)"),
        ] {
            assert_eq!(call.to_string(), words);
        }
        assert_eq!(ObjectAnswer::Value { value: Some(7), version: Some(2) }.to_string(), "7 version 2");
        assert_eq!(ObjectAnswer::Item { item: None }.to_string(), "empty");
    }

    #[test]
    fn a_call_is_of_exactly_one_kind_of_object() {
        let (variable, queue, account) = (ObjectId(0), ObjectId(1), ObjectId(2));
        for (call, kind) in [
            (ObjectCall::Read { variable }, (true, false, false)),
            (ObjectCall::ReadIndex { queue }, (false, true, false)),
            (ObjectCall::Add { account, amount: 1 }, (false, false, true)),
            (ObjectCall::Audit, (false, false, true)),
        ] {
            let kinds = (call.variable().is_some(), call.queue().is_some(), call.is_of_accounts());
            assert_eq!(kinds, kind, "{call}");
        }
    }
}
