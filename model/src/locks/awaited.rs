//! A request to Cassandra whose reply is waited for.

use crate::machine::{Owner, Visitor};
use crate::stores::cassandra::Reply;
use crate::time::Monotonic;
use serde::{Deserialize, Serialize};

/// Which reply it is, and when its outcome becomes unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Awaited {
    pub serial: u32,
    /// `None`: it is waited for as long as it takes.
    pub until: Option<Monotonic>,
}

impl Awaited {
    /// Whether this is the reply.
    pub fn is_answered_by(self, reply: &Reply) -> bool {
        self.serial == reply.serial
    }

    pub fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        if let Some(until) = &mut self.until {
            visitor.wake(until);
        }
    }
}
