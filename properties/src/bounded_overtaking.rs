//! Bounded overtaking: nobody who is enqueued is overtaken twice by the same other.
//!
//! Source: *bounded waiting*, as textbooks call it, with a bound of one for each other. Between first in, first out, which no overtaking
//! keeps, and starvation-freedom, which any finite number of them keeps: it tells a queue that is merely "not very fair" (the Cassandra
//! paper, *The Cassandra queue lock*, section 5) from one in which somebody with a slow clock always comes first.
//!
//! The places in the order, and who stands in whose way, are those of [`Fifo`](crate::Fifo). What counts is one wait: whoever asks again
//! begins anew.

use crate::Promise;
use crate::history::{ClientId, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Each grant overtakes whoever was enqueued earlier and still waits for it; the same two may meet so once. Broken by the grant that
/// overtakes somebody again; `other` is whoever was enqueued first among those.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BoundedOvertaking {
    /// Everybody whose call is neither granted nor over and who was enqueued, earliest first.
    order: Vec<Waiting>,
    /// Whose call is neither granted nor over, and who was not enqueued yet: a holder that renews its queue cell must not queue
    /// behind itself.
    calling: Vec<ClientId>,
}

/// One in the queue.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Waiting {
    client: ClientId,
    /// Who else was granted the lock since, and whether that overtook this one; in the order of their numbers.
    granted_since: Vec<(ClientId, bool)>,
}

impl Waiting {
    /// Whether this other was granted the lock since.
    fn has_seen(&self, other: ClientId) -> bool {
        self.granted_since.iter().any(|(granted, _)| *granted == other)
    }
}

impl BoundedOvertaking {
    /// Whether a grant to this client decides between two in the queue one of whom was granted the lock already while the other waited.
    pub(crate) fn decides(&self, client: ClientId) -> bool {
        let own = self.order.iter().find(|waiting| waiting.client == client);
        let others = || self.order.iter().filter(|other| other.client != client);
        others().any(|other| other.has_seen(client) || own.is_some_and(|own| own.has_seen(other.client)))
    }

    /// Takes a client out of the order and says what place it had there; the last one if it had none.
    fn leave(&mut self, client: ClientId) -> usize {
        self.calling.retain(|calling| *calling != client);
        let place = self.order.iter().position(|waiting| waiting.client == client);
        if let Some(place) = place {
            self.order.remove(place);
        }
        place.unwrap_or(self.order.len())
    }
}

impl Monitor for BoundedOvertaking {
    fn renumber_clients(&mut self, numbers: &[u8]) {
        for Waiting { client, granted_since } in &mut self.order {
            *client = client.renumbered(numbers);
            granted_since.iter_mut().for_each(|(other, _)| *other = other.renumbered(numbers));
            granted_since.sort_unstable();
        }
        self.calling.iter_mut().for_each(|client| *client = client.renumbered(numbers));
        self.calling.sort_unstable();
    }

    fn on_called(&mut self, client: ClientId, _mode: Mode, _usage: &Usage) -> Verdict {
        self.leave(client);
        self.calling.push(client);
        self.calling.sort_unstable();
        Ok(())
    }

    fn on_enqueued(&mut self, client: ClientId) -> Verdict {
        if let Some(at) = self.calling.iter().position(|calling| *calling == client) {
            self.calling.remove(at);
            self.order.push(Waiting { client, granted_since: Vec::new() });
        }
        Ok(())
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        let place = self.leave(client);
        let accesses = &usage.accesses;
        let holders = usage.holding.union([client].into_iter().collect());
        let mut again = None;
        for (at, other) in self.order.iter_mut().enumerate() {
            let stands_in_its_way =
                || accesses.in_the_way(other.client, accesses.of(other.client), holders).contains(client);
            let is_overtaken = at < place && stands_in_its_way();
            match other.granted_since.binary_search_by_key(&client, |(granted, _)| *granted) {
                Ok(found) if is_overtaken && other.granted_since[found].1 => {
                    again = again.or(Some(other.client));
                }
                Ok(found) => other.granted_since[found].1 |= is_overtaken,
                Err(to) => other.granted_since.insert(to, (client, is_overtaken)),
            }
        }
        match again {
            Some(first) => Err(Violation::of_modes(Promise::BoundedOvertaking, client, first, usage)),
            None => Ok(()),
        }
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.leave(client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    /// B is granted past A, gives the lock back, and stands in the queue again.
    fn passes_once() -> Vec<crate::Event> {
        vec![
            lock(A),
            enqueued(A),
            lock(B),
            enqueued(B),
            granted(B),
            left(B),
            released(B),
            lock(B),
            enqueued(B),
        ]
    }

    fn then(mut history: Vec<crate::Event>, more: &[crate::Event]) -> Vec<crate::Event> {
        history.extend(more);
        history
    }

    #[test]
    fn the_second_grant_past_the_same_waiter_is_rejected_and_the_first_is_not() {
        assert_kept(BoundedOvertaking::default(), &passes_once());
        assert_broken(BoundedOvertaking::default(), &then(passes_once(), &[granted(B)]), B, A);
    }

    #[test]
    fn several_others_may_each_pass_once() {
        let third = [left(B), released(B), lock(C), enqueued(C), granted(C)];
        let history = [lock(A), enqueued(A), lock(B), granted(B)];
        assert_kept(BoundedOvertaking::default(), &then(history.to_vec(), &third));
    }

    #[test]
    fn whoever_asks_again_begins_anew() {
        let again = [refused(A), lock(A), enqueued(A), granted(B)];
        assert_kept(BoundedOvertaking::default(), &then(passes_once(), &again));
        // It stands behind B now, who is first and overtakes nobody; the next time it does, for the first time.
        let once_more = [left(B), released(B), lock(B), enqueued(B), granted(B)];
        let history = then(then(passes_once(), &again), &once_more);
        assert_kept(BoundedOvertaking::default(), &history);
    }

    #[test]
    fn a_grant_without_a_place_in_the_queue_overtakes_everybody_in_it() {
        let once = [lock(A), enqueued(A), lock(B), granted(B), left(B), released(B), lock(B)];
        assert_broken(BoundedOvertaking::default(), &then(once.to_vec(), &[granted(B)]), B, A);
    }

    #[test]
    fn a_holder_that_renews_its_cell_does_not_queue_behind_itself() {
        let history =
            [lock(A), enqueued(A), granted(A), enqueued(A), lock(B), enqueued(B), left(A), granted(B)];
        assert_kept(BoundedOvertaking::default(), &history);
    }

    #[test]
    fn readers_take_nothing_from_readers_and_pass_a_writer_once() {
        let among = |last: crate::Event| {
            let once = [reads_lock(B), enqueued(B), granted(B), left(B), released(B)];
            let mut history = vec![last, enqueued(A)];
            history.extend(once);
            history.extend([reads_lock(B), enqueued(B), granted(B)]);
            history
        };
        assert_kept(shared::<BoundedOvertaking>(), &among(reads_lock(A)));
        assert_broken(shared::<BoundedOvertaking>(), &among(lock(A)), B, A);
    }

    #[test]
    fn other_numbers_of_the_clients_are_the_same_order() {
        let mut monitor = after(BoundedOvertaking::default(), &passes_once());
        monitor.renumber_clients(&[1, 0]);
        assert_eq!(monitor.order[0], Waiting { client: B, granted_since: vec![(A, true)] });
        assert_eq!(monitor.order[1], Waiting { client: A, granted_since: vec![] });
    }
}
