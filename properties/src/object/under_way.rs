//! What is remembered of each client's call until it comes back.

use crate::history::ClientId;
use serde::{Deserialize, Serialize};

/// At most one thing per client, in the order of clients.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct UnderWay<T>(Vec<(ClientId, T)>);

impl<T> Default for UnderWay<T> {
    fn default() -> UnderWay<T> {
        UnderWay(Vec::new())
    }
}

impl<T> UnderWay<T> {
    /// In place of what was there.
    pub(crate) fn begin(&mut self, client: ClientId, remembered: T) {
        match self.place(client) {
            Ok(place) => self.0[place].1 = remembered,
            Err(place) => self.0.insert(place, (client, remembered)),
        }
    }

    pub(crate) fn end(&mut self, client: ClientId) -> Option<T> {
        self.place(client).ok().map(|place| self.0.remove(place).1)
    }

    pub(crate) fn get(&self, client: ClientId) -> Option<&T> {
        self.place(client).ok().map(|place| &self.0[place].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(ClientId, T)> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn place(&self, client: ClientId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&client, |(client, _)| *client)
    }
}
