//! A request to Cassandra whose reply is waited for.

use crate::machine::{Effects, Owner, Visitor};
use crate::stores::cassandra::{Cassandra, Operation, Reply, Request};
use crate::time::{Micros, Monotonic};
use serde::{Deserialize, Serialize};

/// Which reply it is, and when its outcome becomes unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Awaited {
    pub serial: u32,
    /// `None`: it is waited for as long as it takes.
    pub until: Option<Monotonic>,
}

impl Awaited {
    /// Sends a request to a server, under the next number of `serial`; after `timeout` its outcome becomes unknown.
    pub fn sent(
        operation: Operation,
        server: u8,
        serial: &mut u32,
        (now, timeout): (Monotonic, Option<Micros>),
        out: &mut Effects<Cassandra>,
    ) -> Awaited {
        *serial = serial.wrapping_add(1);
        out.request(server, Request { serial: *serial, operation });
        Awaited { serial: *serial, until: timeout.map(|length| now + length) }
    }

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
