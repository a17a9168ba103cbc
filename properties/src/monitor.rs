//! A monitor folds the events of a run into a verdict.

use crate::history::{ClientId, ClientSet, Event, FencingToken, HoldId, Mode, ServerSet};
use std::hash::Hash;

/// Whether an event keeps the promise.
pub type Verdict = Result<(), Violation>;

/// Judges one promise, event by event.
///
/// A monitor holds only what it needs to judge what is still to come: it is hashed with every state of an exhaustive
/// search, and a monitor that kept the history would make every path a state of its own. Two histories after which the
/// same futures are violations should leave equal monitors.
///
/// There is one method for each kind of event. A monitor says what it does at those that concern its promise; at all
/// others nothing happens.
pub trait Monitor: Clone + Eq + Hash + std::fmt::Debug {
    /// Takes the next event of the history; `Err` if it breaks the promise. After an `Err` the monitor goes on as if
    /// the event had been legal, so that a run can be watched past its first violation.
    fn observe(&mut self, event: Event) -> Verdict {
        match event {
            Event::Called { client, mode } => self.on_called(client, mode),
            Event::FoundFree { client } => self.on_found_free(client),
            Event::Enqueued { client, lock: _ } => self.on_enqueued(client),
            Event::Granted { client, fence, hold } => self.on_granted(client, fence, hold),
            Event::Refused { client } => self.on_refused(client),
            Event::Left { client } => self.on_left(client),
            Event::Lost { client } => self.on_lost(client),
            Event::Released { client } => self.on_released(client),
            Event::Renewed { client } => self.on_renewed(client),
            Event::Crashed { client } => self.on_crashed(client),
            Event::ResourceRead { client, hold } => self.on_resource_read(client, hold),
            Event::Accepted { client, fence: _, hold } => self.on_accepted(client, hold),
            Event::Rejected { client, fence: _, hold } => self.on_rejected(client, hold),
            Event::RowRead { client, saw } => self.on_row_read(client, saw),
            Event::Secured { client, servers } => self.on_secured(client, servers),
            Event::Acquired { client, lock: _ } => self.on_acquired(client),
            Event::RecordGone { client, lock: _, server } => self.on_record_gone(client, server),
            Event::Woken { client } => self.on_woken(client),
            Event::Written { client } => self.on_written(client),
            Event::ReadBegun { client } => self.on_read_begun(client),
            Event::TimeGiven { client, less } => self.on_time_given(client, less),
        }
    }

    /// A hold is over, however it ended: by default what leaving, losing the lease and crashing come to.
    fn on_hold_ended(&mut self, _client: ClientId) {}

    /// A call is over: by default what being refused, a finished release, a crash and the beginning of the next call come
    /// to.
    fn on_call_ended(&mut self, _client: ClientId) {}

    /// [`Event::Called`].
    fn on_called(&mut self, client: ClientId, _mode: Mode) -> Verdict {
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::FoundFree`].
    fn on_found_free(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Enqueued`].
    fn on_enqueued(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Granted`].
    fn on_granted(&mut self, _client: ClientId, _fence: Option<FencingToken>, _hold: HoldId) -> Verdict {
        Ok(())
    }

    /// [`Event::Refused`].
    fn on_refused(&mut self, client: ClientId) -> Verdict {
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::Left`].
    fn on_left(&mut self, client: ClientId) -> Verdict {
        self.on_hold_ended(client);
        Ok(())
    }

    /// [`Event::Lost`].
    fn on_lost(&mut self, client: ClientId) -> Verdict {
        self.on_hold_ended(client);
        Ok(())
    }

    /// [`Event::Released`].
    fn on_released(&mut self, client: ClientId) -> Verdict {
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::Renewed`].
    fn on_renewed(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Crashed`].
    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.on_hold_ended(client);
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::ResourceRead`].
    fn on_resource_read(&mut self, _client: ClientId, _hold: HoldId) -> Verdict {
        Ok(())
    }

    /// [`Event::Accepted`].
    fn on_accepted(&mut self, _client: ClientId, _hold: Option<HoldId>) -> Verdict {
        Ok(())
    }

    /// [`Event::Rejected`].
    fn on_rejected(&mut self, _client: ClientId, _hold: Option<HoldId>) -> Verdict {
        Ok(())
    }

    /// [`Event::RowRead`].
    fn on_row_read(&mut self, _client: ClientId, _saw: ClientSet) -> Verdict {
        Ok(())
    }

    /// [`Event::Secured`].
    fn on_secured(&mut self, _client: ClientId, _servers: ServerSet) -> Verdict {
        Ok(())
    }

    /// [`Event::Acquired`].
    fn on_acquired(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::RecordGone`].
    fn on_record_gone(&mut self, _client: ClientId, _server: u8) -> Verdict {
        Ok(())
    }

    /// [`Event::Woken`].
    fn on_woken(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Written`].
    fn on_written(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::ReadBegun`].
    fn on_read_begun(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::TimeGiven`].
    fn on_time_given(&mut self, _client: ClientId, _less: bool) -> Verdict {
        Ok(())
    }

    /// Shows every number of a hold that the monitor remembers, so that an engine can renumber a client's holds.
    fn each_hold(&mut self, _show: &mut dyn FnMut(ClientId, &mut HoldId)) {}

    /// Shows every fencing token that the monitor remembers, so that an engine can move tokens that are times.
    fn each_token(&mut self, _show: &mut dyn FnMut(&mut FencingToken)) {}

    /// Forgets the holds of which the engine knows that nothing can arrive from them any more.
    fn forget_holds(&mut self, _is_over: &dyn Fn(ClientId, HoldId) -> bool) {}
}

/// A promise was broken: which one, by whom, against whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Violation {
    /// The broken promise.
    pub promise: crate::Promise,
    /// The client whose step broke it.
    pub client: ClientId,
    /// The other party: the client that already held, was overtaken, was superseded by… `client` itself where there
    /// is no second one.
    pub other: ClientId,
}
