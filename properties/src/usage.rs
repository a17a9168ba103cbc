//! Who waits, who holds, who is releasing: the state that the liveness promises are predicates of.

use crate::access::{Access, Accesses};
use crate::history::{ClientId, ClientSet, Event};
use crate::monitors::Monitors;
use serde::{Deserialize, Serialize};

/// What each client is doing with the lock, folded from the history. A client is in at most one of `waiting`,
/// `holding`,
/// `releasing` and `crashed`; in none of them while it does not use the lock.
///
/// Not a monitor, for it judges nothing: [`DeadlockFreedom`](crate::DeadlockFreedom) and
/// [`StarvationFreedom`](crate::StarvationFreedom) do, over cycles of such states.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Usage {
    /// Whose call is neither granted nor over.
    pub waiting: ClientSet,
    /// Who is in its critical section.
    pub holding: ClientSet,
    /// Who has left its critical section and does not know yet that its release is complete.
    pub releasing: ClientSet,
    /// Whose process ended; until it calls again.
    pub crashed: ClientSet,
    /// Who was ever granted, in the whole history.
    pub granted: ClientSet,
    /// In which mode of access each of those waits or holds. Not written down with the rest, where modes are few and states
    /// many: [`Monitors`] do it for the locks that have several.
    #[serde(skip)]
    pub accesses: Accesses,
    /// Whether a grant was the last thing that any client of the lock did to it. Kept and written down like the modes, where
    /// there are several, because there a client may be granted what another holds
    /// ([`DeadlockFreedom`](crate::DeadlockFreedom)).
    #[serde(skip)]
    pub just_granted: bool,
}

impl Usage {
    /// Takes the next event of the history.
    pub fn observe(&mut self, event: Event) {
        let client = event.client();
        match event {
            Event::Called { access, .. } => {
                self.depart(client);
                self.waiting.insert(client);
                self.accesses.set(client, access);
            }
            Event::Granted { .. } => {
                self.depart(client);
                self.holding.insert(client);
                self.granted.insert(client);
            }
            Event::Left { .. } | Event::Lost { .. } => {
                self.depart(client);
                self.releasing.insert(client);
            }
            Event::Crashed { .. } => {
                self.depart(client);
                self.crashed.insert(client);
            }
            Event::Refused { .. } | Event::Unknown { .. } => self.waiting.remove(client),
            // Who has called an object waits for it to answer, and nobody is in its way.
            Event::Invoked { .. } => {
                self.depart(client);
                self.waiting.insert(client);
            }
            Event::Returned { .. } => {
                self.waiting.remove(client);
                self.granted.insert(client);
            }
            Event::Released { .. } => {
                self.waiting.remove(client);
                self.releasing.remove(client);
            }
            Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Renewed { .. }
            | Event::ResourceRead { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordGone { .. }
            | Event::RecordWritten { .. }
            | Event::TimeGiven { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. }
            | Event::Input { .. }
            | Event::Output { .. }
            | Event::Counted { .. }
            | Event::Settled { .. }
            | Event::Has { .. }
            | Event::RecordMade { .. }
            | Event::Notified { .. } => return,
        }
        // A mode is of interest for as long as its client waits or holds; what is over must not tell two states apart.
        if !self.waiting.union(self.holding).contains(client) {
            self.accesses.set(client, Access::FIRST);
        }
        self.just_granted = matches!(event, Event::Granted { .. }) && !self.accesses.modes().is_exclusive();
    }

    /// Those who hold and because of whom `client` should not.
    pub fn in_the_way_of(&self, client: ClientId) -> ClientSet {
        self.accesses.in_the_way(client, self.accesses.of(client), self.holding)
    }

    /// Whether all who hold may hold together.
    pub fn is_legal(&self) -> bool {
        self.holding.iter().all(|holder| self.in_the_way_of(holder).is_empty())
    }

    /// What clients are doing with all of these locks together.
    pub fn of_all(locks: &[Monitors]) -> Usage {
        let mut all = Usage::default();
        locks.iter().for_each(|monitors| all.add(monitors.usage()));
        all
    }

    /// What clients are doing with this lock and with another one that has the same modes, together.
    pub fn add(&mut self, other: &Usage) {
        self.waiting = self.waiting.union(other.waiting);
        self.holding = self.holding.union(other.holding);
        self.releasing = self.releasing.union(other.releasing);
        self.crashed = self.crashed.union(other.crashed);
        self.granted = self.granted.union(other.granted);
        self.accesses.add(&other.accesses);
        self.just_granted |= other.just_granted;
    }

    /// The clients have other numbers from now on ([`Monitor::renumber_clients`](crate::Monitor::renumber_clients)).
    pub(crate) fn renumber_clients(&mut self, numbers: &[u8]) {
        let Usage { waiting, holding, releasing, crashed, granted, accesses, just_granted: _ } = self;
        for clients in [waiting, holding, releasing, crashed, granted] {
            *clients = clients.renumbered(numbers);
        }
        accesses.renumber_clients(numbers);
    }

    /// Takes the client out of whatever it was doing.
    fn depart(&mut self, client: ClientId) {
        for doing in [&mut self.waiting, &mut self.holding, &mut self.releasing, &mut self.crashed] {
            doing.remove(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    fn usage(history: &[Event]) -> Usage {
        let mut usage = Usage::default();
        history.iter().for_each(|event| usage.observe(*event));
        usage
    }

    fn set(clients: &[ClientId]) -> ClientSet {
        clients.iter().copied().collect()
    }

    #[test]
    fn a_client_goes_from_waiting_to_holding_to_releasing_to_none() {
        let mut usage = Usage::default();
        usage.observe(lock(A));
        assert_eq!(usage, Usage { waiting: set(&[A]), ..Usage::default() });
        usage.observe(granted(A));
        assert_eq!(usage, Usage { holding: set(&[A]), granted: set(&[A]), ..Usage::default() });
        usage.observe(left(A));
        assert_eq!(usage, Usage { releasing: set(&[A]), granted: set(&[A]), ..Usage::default() });
        usage.observe(released(A));
        assert_eq!(usage, Usage { granted: set(&[A]), ..Usage::default() });
    }

    #[test]
    fn a_lost_lease_is_released_too() {
        assert_eq!(usage(&[lock(A), granted(A), lost(A)]).releasing, set(&[A]));
    }

    #[test]
    fn a_refused_client_does_not_wait() {
        assert_eq!(usage(&[try_lock(A), refused(A)]), Usage::default());
    }

    #[test]
    fn a_crash_ends_whatever_the_client_did_until_it_calls_again() {
        for history in [vec![lock(A)], vec![granted(A)], vec![granted(A), left(A)]] {
            let mut crashed_usage = usage(&history);
            crashed_usage.observe(crashed(A));
            assert_eq!(
                crashed_usage,
                Usage { crashed: set(&[A]), granted: crashed_usage.granted, ..Usage::default() }
            );
            crashed_usage.observe(lock(A));
            assert_eq!((crashed_usage.crashed, crashed_usage.waiting), (ClientSet::EMPTY, set(&[A])));
        }
    }

    #[test]
    fn the_acknowledgement_of_a_late_release_does_not_end_a_newer_hold() {
        assert_eq!(usage(&[granted(A), left(A), granted(A), released(A)]).holding, set(&[A]));
    }

    #[test]
    fn two_may_hold_at_once() {
        assert_eq!(usage(&[granted(A), granted(B)]).holding, set(&[A, B]));
    }
}
