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
use crate::order::{Order, stands_in_the_way};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Each grant overtakes whoever was enqueued earlier and still waits for it; the same two may meet so once. Broken by the grant that
/// overtakes somebody again; `other` is whoever was enqueued first among those.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BoundedOvertaking {
    order: Order<Grants>,
}

/// What a wait has seen: who else was granted the lock since it was enqueued, and whether that overtook it; in the order of their
/// numbers.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Grants(Vec<(ClientId, bool)>);

impl Grants {
    /// Whether this other was granted the lock since.
    fn has_seen(&self, other: ClientId) -> bool {
        self.0.binary_search_by_key(&other, |(granted, _)| *granted).is_ok()
    }

    /// Notes one more grant to this other, and says whether it overtakes this wait for a second time.
    fn is_passed_again(&mut self, other: ClientId, is_overtaken: bool) -> bool {
        match self.0.binary_search_by_key(&other, |(granted, _)| *granted) {
            Ok(found) => {
                let (_, was_overtaken) = &mut self.0[found];
                let is_again = *was_overtaken && is_overtaken;
                *was_overtaken |= is_overtaken;
                is_again
            }
            Err(to) => {
                self.0.insert(to, (other, is_overtaken));
                false
            }
        }
    }
}

impl BoundedOvertaking {
    /// Whether a grant to this client decides between two in the queue one of whom was granted the lock already while the other waited.
    pub(crate) fn decides(&self, client: ClientId) -> bool {
        let own = self.order.of(client);
        let mut others = self.order.enqueued().iter().filter(|(other, _)| *other != client);
        others.any(|(other, seen)| seen.has_seen(client) || own.is_some_and(|own| own.has_seen(*other)))
    }
}

impl Monitor for BoundedOvertaking {
    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.order.renumber_clients(numbers);
        for (_, Grants(granted)) in self.order.enqueued_mut() {
            granted.iter_mut().for_each(|(other, _)| *other = other.renumbered(numbers));
            granted.sort_unstable();
        }
    }

    fn on_called(&mut self, client: ClientId, _mode: Mode, _usage: &Usage) -> Verdict {
        self.order.call(client);
        Ok(())
    }

    fn on_enqueued(&mut self, client: ClientId) -> Verdict {
        self.order.enqueue(client);
        Ok(())
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        let place = self.order.leave(client);
        let mut again = None;
        for (at, (other, seen)) in self.order.enqueued_mut().iter_mut().enumerate() {
            let is_overtaken = at < place && stands_in_the_way(client, *other, usage);
            if seen.is_passed_again(client, is_overtaken) {
                again = again.or(Some(*other));
            }
        }
        match again {
            Some(first) => Err(Violation::of_modes(Promise::BoundedOvertaking, client, first, usage)),
            None => Ok(()),
        }
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.order.leave(client);
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
        assert_eq!(monitor.order.enqueued(), [(B, Grants(vec![(A, true)])), (A, Grants::default())]);
    }
}
