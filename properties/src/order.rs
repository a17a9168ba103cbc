//! The order of a queue, as the monitors of order keep it.

use crate::history::{ClientId, ClientSet};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Who waits, who of them was enqueued, and what a monitor notes of each wait.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Order<T> {
    /// Whose call is neither granted nor over. A holder that renews its queue cell reports `Enqueued`, too, and must
    /// not queue behind itself.
    waiting: ClientSet,
    /// Those of them that were enqueued, earliest first.
    enqueued: Vec<(ClientId, T)>,
}

impl<T> Default for Order<T> {
    fn default() -> Order<T> {
        Order { waiting: ClientSet::EMPTY, enqueued: Vec::new() }
    }
}

impl<T> Order<T> {
    /// Gives the clients other numbers; what is noted of each is the monitor's to renumber.
    pub(crate) fn renumber_clients(&mut self, numbers: &[u8]) {
        self.waiting = self.waiting.renumbered(numbers);
        self.enqueued.iter_mut().for_each(|(client, _)| *client = client.renumbered(numbers));
    }

    /// A client begins to wait: whatever place it had is lost.
    pub(crate) fn call(&mut self, client: ClientId) {
        self.leave(client);
        self.waiting.insert(client);
    }

    /// Gives a client the last place, if it waits and has none.
    pub(crate) fn enqueue(&mut self, client: ClientId)
    where
        T: Default,
    {
        if self.waiting.contains(client) && self.of(client).is_none() {
            self.enqueued.push((client, T::default()));
        }
    }

    /// Takes a client out of the order and says what place it had there; the last one if it had none.
    pub(crate) fn leave(&mut self, client: ClientId) -> usize {
        self.waiting.remove(client);
        let place = self.enqueued.iter().position(|(enqueued, _)| *enqueued == client);
        if let Some(place) = place {
            self.enqueued.remove(place);
        }
        place.unwrap_or(self.enqueued.len())
    }

    /// Who was enqueued and waits, earliest first, and what is noted of the wait.
    pub(crate) fn enqueued(&self) -> &[(ClientId, T)] {
        &self.enqueued
    }

    /// The same, to note something.
    pub(crate) fn enqueued_mut(&mut self) -> &mut [(ClientId, T)] {
        &mut self.enqueued
    }

    /// What is noted of a client's wait, if it has a place.
    pub(crate) fn of(&self, client: ClientId) -> Option<&T> {
        self.enqueued.iter().find(|(enqueued, _)| *enqueued == client).map(|(_, noted)| noted)
    }
}

/// Whether a grant to `client` stands in the way of another who waits.
pub(crate) fn stands_in_the_way(client: ClientId, other: ClientId, usage: &Usage) -> bool {
    let accesses = &usage.accesses;
    let holders = usage.holding.union(ClientSet::from_iter([client]));
    accesses.in_the_way(other, accesses.of(other), holders).contains(client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{A, B, C};

    fn queue() -> Order<u8> {
        let mut order = Order::default();
        for client in [A, B, C] {
            order.call(client);
        }
        for client in [B, A] {
            order.enqueue(client);
        }
        order
    }

    #[test]
    fn places_are_in_the_order_of_enqueueing_and_whoever_has_none_has_the_last() {
        assert_eq!(queue().leave(B), 0);
        assert_eq!(queue().leave(A), 1);
        assert_eq!(queue().leave(C), 2);
    }

    #[test]
    fn only_who_waits_is_enqueued_and_once() {
        let mut order = queue();
        order.enqueued_mut()[0].1 = 7;
        order.enqueue(B);
        assert_eq!(order.enqueued(), [(B, 7), (A, 0)]);
        order.leave(B);
        order.enqueue(B);
        assert_eq!((order.of(B), order.of(A)), (None, Some(&0)));
    }

    #[test]
    fn other_numbers_are_the_same_places() {
        let mut order = queue();
        order.leave(C);
        order.renumber_clients(&[1, 0, 2]);
        assert_eq!(order.enqueued(), [(A, 0), (B, 0)]);
    }
}
