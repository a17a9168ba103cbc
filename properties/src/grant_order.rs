//! The order of grants: when the lock became whose.
//!
//! Grants count in the order in which the store made them, where it says so ([`Event::Acquired`](crate::Event::Acquired)),
//! else in the order in which clients learned of them: a client that learns late was granted early.

use crate::history::{ClientId, ClientSet};
use serde::{Deserialize, Serialize};

/// Grants, earliest first, with what a monitor wants to know of each.
///
/// A grant is dated once. That the store makes the lock a holder's once more (it set its record again, say) is no new
/// grant: its token is the old one, and whoever was granted meanwhile came later. What was acquired and not learned
/// before the client's next call is void.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct GrantOrder<T> {
    pub(crate) grants: Vec<Grant<T>>,
    /// Who is in its critical section.
    pub(crate) holding: ClientSet,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Grant<T> {
    pub(crate) client: ClientId,
    /// `None`: the client has acquired the lock, and not learned it yet.
    pub(crate) learned: Option<T>,
}

impl<T> Default for GrantOrder<T> {
    fn default() -> GrantOrder<T> {
        GrantOrder { grants: Vec::new(), holding: ClientSet::EMPTY }
    }
}

impl<T: Copy> GrantOrder<T> {
    pub(crate) fn on_called(&mut self, client: ClientId) {
        self.holding.remove(client);
        self.void(client);
    }

    pub(crate) fn on_acquired(&mut self, client: ClientId) {
        if !self.holding.contains(client) {
            self.void(client);
            self.grants.push(Grant { client, learned: None });
        }
    }

    /// Says what place in the order the grant has.
    pub(crate) fn on_granted(&mut self, client: ClientId, learned: T) -> usize {
        self.holding.insert(client);
        let grant = Grant { client, learned: Some(learned) };
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

    fn void(&mut self, client: ClientId) {
        self.grants.retain(|grant| grant.client != client || grant.learned.is_some());
    }
}
