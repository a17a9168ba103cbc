//! The order of grants: when the lock became whose.
//!
//! Grants count in the order in which the store made them, where it says so ([`Event::Acquired`](crate::Event::Acquired)),
//! else in the order in which clients learned of them: a client that learns late was granted early.

use crate::access::Access;
use crate::history::{ClientId, ClientSet};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Grants, earliest first, with what a monitor wants to know of each.
///
/// A grant is dated once. That the store makes the lock a holder's once more (it set its record again, say) is no new
/// grant: its token is the old one, and whoever was granted meanwhile came later.
///
/// What a client acquired and did not learn of dates the grant of its next call, too, if nothing newer was acquired: a doubled
/// request of the earlier call may have left the record that the later one is granted by. Stores that tell of acquisitions
/// tell of each new record, so a grant that rests on a record of its own is dated by that. Only of a lock with several modes
/// of access is it void, because the store does not say in which mode it was acquired.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Clone + Serialize"))]
pub(crate) struct GrantOrder<T> {
    pub(crate) grants: Vec<Grant<T>>,
    /// Who is in its critical section.
    pub(crate) holding: ClientSet,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "Told<T>", into = "Told<T>", bound(serialize = "T: Clone + Serialize"))]
pub(crate) struct Grant<T> {
    pub(crate) client: ClientId,
    /// `None`: the client has acquired the lock, and not learned it yet.
    pub(crate) learned: Option<T>,
    /// In which mode of access; the first one where the monitor does not ask.
    pub(crate) access: Access,
}

/// How a grant is written down: one in the first mode as if there were no modes.
#[derive(Serialize, Deserialize)]
struct Told<T> {
    client: ClientId,
    learned: ToldLearned<T>,
}

#[derive(Serialize, Deserialize)]
enum ToldLearned<T> {
    No,
    Yes(T),
    NotIn(Access),
    In(Access, T),
}

impl<T> From<Grant<T>> for Told<T> {
    fn from(Grant { client, learned, access }: Grant<T>) -> Told<T> {
        let learned = match (access, learned) {
            (Access::FIRST, None) => ToldLearned::No,
            (Access::FIRST, Some(learned)) => ToldLearned::Yes(learned),
            (access, None) => ToldLearned::NotIn(access),
            (access, Some(learned)) => ToldLearned::In(access, learned),
        };
        Told { client, learned }
    }
}

impl<T> From<Told<T>> for Grant<T> {
    fn from(Told { client, learned }: Told<T>) -> Grant<T> {
        let (access, learned) = match learned {
            ToldLearned::No => (Access::FIRST, None),
            ToldLearned::Yes(learned) => (Access::FIRST, Some(learned)),
            ToldLearned::NotIn(access) => (access, None),
            ToldLearned::In(access, learned) => (access, Some(learned)),
        };
        Grant { client, learned, access }
    }
}

impl<T> Default for GrantOrder<T> {
    fn default() -> GrantOrder<T> {
        GrantOrder { grants: Vec::new(), holding: ClientSet::EMPTY }
    }
}

impl<T: Copy> GrantOrder<T> {
    pub(crate) fn on_called(&mut self, client: ClientId, usage: &Usage) {
        self.holding.remove(client);
        if !usage.accesses.modes().is_exclusive() {
            self.void(client);
        }
    }

    pub(crate) fn on_acquired(&mut self, client: ClientId, access: Access) {
        if !self.holding.contains(client) {
            self.void(client);
            self.grants.push(Grant { client, learned: None, access });
        }
    }

    /// Says what place in the order the grant has.
    pub(crate) fn on_granted(&mut self, client: ClientId, access: Access, learned: T) -> usize {
        self.holding.insert(client);
        let grant = Grant { client, learned: Some(learned), access };
        match self.grants.iter().position(|grant| grant.client == client && grant.learned.is_none()) {
            Some(place) => {
                self.grants[place] = grant;
                place
            }
            None => {
                self.grants.push(grant);
                self.grants.len() - 1
            }
        }
    }

    pub(crate) fn on_hold_ended(&mut self, client: ClientId) {
        self.holding.remove(client);
    }

    /// The clients have other numbers from now on ([`Monitor::renumber_clients`](crate::Monitor::renumber_clients)).
    pub(crate) fn renumber_clients(&mut self, numbers: &[u8]) {
        self.holding = self.holding.renumbered(numbers);
        self.grants.iter_mut().for_each(|grant| grant.client = grant.client.renumbered(numbers));
    }

    /// What the client has acquired dates no grant.
    pub(crate) fn void(&mut self, client: ClientId) {
        self.grants.retain(|grant| grant.client != client || grant.learned.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::A;

    /// A grant as it was before there were modes of access.
    #[derive(Serialize)]
    struct Former {
        client: ClientId,
        learned: Option<u32>,
    }

    #[test]
    fn a_grant_in_the_first_mode_has_the_bytes_that_it_had_without_modes() {
        for learned in [None, Some(7), Some(4711)] {
            let grant = Grant { client: A, learned, access: Access::FIRST };
            let former = Former { client: A, learned };
            assert_eq!(postcard::to_stdvec(&grant), postcard::to_stdvec(&former));
        }
    }

    #[test]
    fn a_grant_comes_back_from_its_bytes_in_every_mode() {
        for access in (0..8).map(Access) {
            for learned in [None, Some(4711)] {
                let grant = Grant { client: A, learned, access };
                let bytes = postcard::to_stdvec(&grant).unwrap();
                assert_eq!(postcard::from_bytes::<Grant<u32>>(&bytes), Ok(grant));
            }
        }
    }
}
