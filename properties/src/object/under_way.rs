//! What is remembered of each client's call until it comes back.

use crate::history::ClientId;
use serde::{Deserialize, Serialize};

/// At most one thing per client, or whatever else has one call at a time, in the order of clients.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct UnderWay<T, K = ClientId>(Vec<(K, T)>);

impl<T, K> Default for UnderWay<T, K> {
    fn default() -> UnderWay<T, K> {
        UnderWay(Vec::new())
    }
}

impl<T, K: Copy + Ord> UnderWay<T, K> {
    /// In place of what was there.
    pub(crate) fn begin(&mut self, client: K, remembered: T) {
        match self.place(client) {
            Ok(place) => self.0[place].1 = remembered,
            Err(place) => self.0.insert(place, (client, remembered)),
        }
    }

    pub(crate) fn end(&mut self, client: K) -> Option<T> {
        self.place(client).ok().map(|place| self.0.remove(place).1)
    }

    pub(crate) fn get(&self, client: K) -> Option<&T> {
        self.place(client).ok().map(|place| &self.0[place].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, T)> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, remembered)| remembered)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn place(&self, client: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&client, |(client, _)| *client)
    }
}
