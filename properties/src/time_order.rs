//! Time order: the time service never gives out less than it gave out before.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5.4: the service "гарантированно будет отдавать неубывающее значение
//! времени".
//!
//! Events carry no times: the thread that is given a time compares it with what it was given before, and says so
//! ([`Event::TimeGiven`](crate::Event::TimeGiven)). That one thread suffices: if the service gave one thread less than it had given another one
//! before, it might as well have given both to the same thread.
//!
//! Modes of access make no difference to the time.

use crate::Promise;
use crate::history::{ClientId, ClientSet};
use crate::monitor::{Monitor, Verdict, Violation};
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
    fn on_time_given(&mut self, client: ClientId, less: bool) -> Verdict {
        match less {
            true => Err(Violation::new(Promise::TimeOrder, client, client)),
            false => {
                self.given.insert(client);
                Ok(())
            }
        }
    }

    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.given.remove(client);
        Ok(())
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.given = self.given.renumbered(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;
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
