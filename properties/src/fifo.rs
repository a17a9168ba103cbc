//! First in, first out: nobody who was enqueued later is granted earlier.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5, which calls its queue "not very fair": clocks differ, and taking the
//! time and writing the cell are two steps (catalogue rows C22 and C23).
//!
//! A place in the order is taken when the store first puts the client into its queue within a call (`Enqueued`). Not when
//! the call begins: no store can know about a client it has not heard from. A client that is enqueued again, because its cell
//! was lost, keeps its place here: that it lost it in the store is the lock's fault.
//!
//! With several modes of access, only those are overtaken in whose way the grant stands: a reader that is granted before an
//! earlier reader takes nothing from it, and one that joins the readers past a waiting writer does.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::order::{Order, stands_in_the_way};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Grants come in the order of enqueueing, up to an allowed number of overtakes. Broken by every grant that overtakes
/// somebody, once the overtakes exceed that number; `other` is whoever was enqueued first among the overtaken.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Fifo {
    /// How many overtakes are put up with.
    allowed: u32,
    /// How many there were. Saturates at one more than allowed: beyond that all states are alike, and a count that
    /// grew without bound would keep the space of an exhaustive search from closing.
    overtakes: u32,
    order: Order<()>,
}

impl Fifo {
    /// Puts up with this many overtakes in the whole run. Every overtaken client counts: a grant that jumps the queue
    /// over two clients is two overtakes.
    pub fn allowing(overtakes: u32) -> Fifo {
        Fifo { allowed: overtakes, ..Fifo::default() }
    }

    /// How many overtakes there were, up to one more than allowed: [`Fifo::allowing`] `u32::MAX` counts them all.
    pub fn overtakes(&self) -> u32 {
        self.overtakes
    }

    /// Who stands in the queue, and waits.
    pub(crate) fn enqueued(&self) -> ClientSet {
        self.order.enqueued().iter().map(|(client, ())| *client).collect()
    }

    fn count(&mut self, overtaken: usize) {
        let overtaken = u32::try_from(overtaken).unwrap_or(u32::MAX);
        self.overtakes = self.overtakes.saturating_add(overtaken).min(self.allowed.saturating_add(1));
    }
}

impl Monitor for Fifo {
    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.order.renumber_clients(numbers);
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
        let earlier = self.order.enqueued()[..place].iter().map(|(earlier, ())| *earlier);
        let mut overtaken = earlier.filter(|earlier| stands_in_the_way(client, *earlier, usage));
        let first = overtaken.next();
        let count = usize::from(first.is_some()) + overtaken.count();
        self.count(count);
        match first {
            Some(first) if self.overtakes > self.allowed => {
                Err(Violation::of_modes(Promise::Fifo, client, first, usage))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.order.leave(client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessModes;
    use crate::notation::*;

    #[test]
    fn a_grant_past_somebody_enqueued_earlier_is_rejected() {
        let history = [lock(A), lock(B), enqueued(A), enqueued(B), granted(B)];
        assert_broken(Fifo::default(), &history, B, A);
    }

    #[test]
    fn a_grant_without_a_place_in_the_queue_overtakes_everybody_in_it() {
        let history = [lock(A), lock(B), lock(C), enqueued(B), enqueued(C), granted(A)];
        assert_broken(Fifo::default(), &history, A, B);
        assert_eq!(after(Fifo::allowing(u32::MAX), &history).overtakes(), 2);
    }

    #[test]
    fn grants_in_the_order_of_enqueueing_are_accepted() {
        let history = [lock(A), lock(B), enqueued(B), enqueued(A), granted(B), left(B), granted(A)];
        assert_kept(Fifo::default(), &history);
    }

    #[test]
    fn a_reader_takes_nothing_from_an_earlier_reader_and_something_from_an_earlier_writer() {
        let queue = [reads_lock(A), enqueued(A), lock(B), enqueued(B), reads_lock(C), enqueued(C)];
        let monitor = after(shared::<Fifo>(), &queue);
        assert_broken(monitor, &[granted(C)], C, B);
        let two_readers = [reads_lock(A), enqueued(A), reads_lock(C), enqueued(C), granted(C), granted(A)];
        assert_kept(shared::<Fifo>(), &two_readers);
    }

    #[test]
    fn whoever_takes_the_last_permit_overtakes_and_whoever_leaves_one_does_not() {
        let queue = [lock(A), enqueued(A), lock(B), enqueued(B), lock(C)];
        let permits = |permits| after(among::<Fifo>(AccessModes::permits(permits)), &queue);
        assert_kept(permits(2), &[granted(B), granted(A)]);
        assert_broken(permits(2), &[granted(C), granted(B)], B, A);
    }

    #[test]
    fn whoever_called_first_but_was_enqueued_later_is_not_overtaken() {
        assert_kept(Fifo::default(), &[lock(A), lock(B), enqueued(B), granted(B), enqueued(A), granted(A)]);
    }

    #[test]
    fn whoever_was_refused_or_crashed_is_not_overtaken() {
        for end in [refused(A), crashed(A)] {
            let history = [try_lock(A), lock(B), enqueued(A), enqueued(B), end, granted(B)];
            assert_kept(Fifo::default(), &history);
        }
    }

    #[test]
    fn enqueued_again_while_waiting_keeps_the_old_place() {
        let history = [lock(A), lock(B), enqueued(A), enqueued(B), enqueued(A)];
        assert_kept(after(Fifo::default(), &history), &[granted(A)]);
        assert_broken(after(Fifo::default(), &history), &[granted(B)], B, A);
    }

    #[test]
    fn a_new_call_takes_a_new_place() {
        let history = [try_lock(A), enqueued(A), lock(B), enqueued(B), refused(A), lock(A), enqueued(A)];
        assert_kept(after(Fifo::default(), &history), &[granted(B)]);
        assert_broken(after(Fifo::default(), &history), &[granted(A)], A, B);
    }

    #[test]
    fn a_holder_that_writes_its_queue_cell_again_is_not_waiting() {
        let history =
            [lock(A), enqueued(A), granted(A), enqueued(A), lock(B), enqueued(B), left(A), granted(B)];
        assert_kept(Fifo::default(), &history);
    }

    #[test]
    fn as_many_overtakes_as_allowed_are_accepted_and_the_next_is_rejected() {
        let jump = [lock(B), enqueued(B), granted(B), left(B), released(B)];
        let history = [&[lock(A), enqueued(A)][..], &jump, &jump, &jump[..3]].concat();
        assert_broken(Fifo::allowing(2), &history, B, A);
        assert_kept(Fifo::allowing(3), &history);
    }

    #[test]
    fn a_grant_in_order_is_accepted_although_too_many_were_overtaken_before() {
        let mut monitor = after(Fifo::default(), &[lock(A), lock(B), enqueued(A), enqueued(B)]);
        assert!(monitor.observe(granted(B)).is_err());
        assert_kept(monitor, &[left(B), granted(A)]);
    }

    #[test]
    fn the_count_stops_one_beyond_what_is_allowed() {
        let mut monitor = after(Fifo::allowing(1), &[lock(A), enqueued(A)]);
        for _ in 0..5 {
            for event in [lock(B), granted(B), left(B), released(B)] {
                let _ = monitor.observe(event);
            }
        }
        assert_eq!(monitor.overtakes(), 2);
    }
}
