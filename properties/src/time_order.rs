//! Time order: the time service never gives out less than it gave out before.
//!
//! Source: document 000, section 5.4: the service "гарантированно будет отдавать неубывающее значение времени".
//!
//! Events carry no times: the thread that is given a time compares it with what it was given before, and says so
//! ([`Event::TimeGiven`]). That one thread suffices: if the service gave one thread less than it had given another one
//! before, it might as well have given both to the same thread.

use crate::Promise;
use crate::history::{ClientId, ClientSet, Event};
use crate::monitor::{Monitor, Violation};
use serde::{Deserialize, Serialize};

/// No thread is given less than it was given before. Broken by whoever is; `other` is the same client.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TimeOrder {
    /// Who was given the time, and remembers it.
    given: ClientSet,
}

impl TimeOrder {
    /// Whether the client has something to compare with.
    pub(crate) fn has_given(&self, client: ClientId) -> bool {
        self.given.contains(client)
    }
}

impl Monitor for TimeOrder {
    fn observe(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::TimeGiven { client, less: true } => {
                Err(Violation { promise: Promise::TimeOrder, client, other: client })
            }
            Event::TimeGiven { client, less: false } => {
                self.given.insert(client);
                Ok(())
            }
            Event::Crashed { client } => {
                self.given.remove(client);
                Ok(())
            }
            Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Granted { .. }
            | Event::Refused { .. }
            | Event::Left { .. }
            | Event::Lost { .. }
            | Event::Released { .. }
            | Event::Renewed { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordGone { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn less_than_before_is_rejected() {
        let history = [
            Event::TimeGiven { client: A, less: false },
            Event::TimeGiven { client: B, less: false },
            Event::TimeGiven { client: B, less: true },
        ];
        assert_broken(TimeOrder::default(), &history, B, B);
    }

    #[test]
    fn the_same_or_more_is_accepted_whoever_asks() {
        let history = [
            Event::TimeGiven { client: A, less: false },
            Event::TimeGiven { client: B, less: false },
            Event::TimeGiven { client: A, less: false },
            lock(A),
            granted(A),
        ];
        assert_kept(TimeOrder::default(), &history);
    }
}
