//! Fenced resource: once a write of a later grant was accepted, no write of an earlier grant is.
//!
//! Source: document 003, the closing question (catalogue row Z18): what a lock is worth if the resource is outside it.
//!
//! Judged at the resource, and separately from [mutual exclusion](crate::MutualExclusion): a pause that outlives a
//! lease breaks mutual exclusion under every lock with leases, while a resource that compares fencing tokens still
//! keeps this promise. The monitor does not look at the tokens: whether they do what they are for is the question.
//!
//! A write of a superseded holder that arrives before any write of its successor does no harm, and no resource could
//! know better: to the resource the writes come in the order of the grants.

use crate::Promise;
use crate::history::{ClientId, ClientSet, Event};
use crate::monitor::{Monitor, Violation};
use serde::{Deserialize, Serialize};

/// Accepted writes come in the order of the grants that they rest on. Broken by an accepted write whose client was granted
/// before another one that has had a write accepted since (`other`), or that was never granted at all (`other` is the
/// last writer, or the client itself).
///
/// Grants count in the order in which the store made them, where it says so ([`Event::Acquired`]), else in the order in
/// which the clients learned of them: a client that learns late is granted early.
///
/// What a client has acquired and lost again before it learned of it is void once it stands in the queue anew: the grant
/// that it learns of later rests on another record, of which the store may have said nothing (a leader does not repeat
/// what another one has ordered).
///
/// A client that holds for the second time is not told apart from its own earlier self: a write from its first hold,
/// accepted during its second one, passes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FencedResource {
    /// Who may still write, in the order of their latest grants: the last accepted writer and everybody granted since,
    /// or, before any write, everybody granted.
    order: Vec<ClientId>,
    /// Who has acquired the lock and not learned it yet.
    acquired: ClientSet,
    /// Whose record is gone, of those.
    gone: ClientSet,
    /// Whose write was accepted last.
    writer: Option<ClientId>,
}

impl Monitor for FencedResource {
    fn observe(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Acquired { client, .. } => {
                self.put_last(client);
                self.acquired.insert(client);
                self.gone.remove(client);
            }
            Event::Granted { client, .. } if self.acquired.contains(client) => self.forget_acquired(client),
            Event::Granted { client, .. } => self.put_last(client),
            // What was acquired in an earlier call is not what this one is granted.
            Event::Called { client, .. } => self.forget_acquired(client),
            Event::RecordGone { client, .. } if self.acquired.contains(client) => self.gone.insert(client),
            Event::Enqueued { client, .. } if self.gone.contains(client) => self.forget_acquired(client),
            Event::Accepted { client, .. } => match self.order.iter().position(|granted| *granted == client) {
                Some(place) => {
                    self.order.drain(..place);
                    self.writer = Some(client);
                }
                None => {
                    let other = self.writer.unwrap_or(client);
                    return Err(Violation { promise: Promise::FencedResource, client, other });
                }
            },
            Event::Rejected { .. }
            // A write may arrive after its sender has left or crashed: it is in order until a later grant's is there.
            | Event::Left { .. }
            | Event::Lost { .. }
            | Event::Released { .. }
            | Event::Crashed { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Refused { .. }
            | Event::Renewed { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::RecordGone { .. }
            | Event::TimeGiven { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. } => {}
        }
        Ok(())
    }
}

impl FencedResource {
    /// Whose write was accepted last.
    pub(crate) fn writer(&self) -> Option<ClientId> {
        self.writer
    }

    fn forget_acquired(&mut self, client: ClientId) {
        self.acquired.remove(client);
        self.gone.remove(client);
    }

    fn put_last(&mut self, client: ClientId) {
        self.order.retain(|granted| *granted != client);
        self.order.push(client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockId;
    use crate::notation::*;

    #[test]
    fn a_write_of_an_earlier_grant_after_one_of_a_later_grant_is_rejected() {
        let history = [granted(A), granted(B), accepted(B), accepted(A)];
        assert_broken(FencedResource::default(), &history, A, B);
    }

    #[test]
    fn what_was_acquired_and_lost_before_the_client_learned_of_it_dates_no_grant_after_it_queued_again() {
        let gone = Event::RecordGone { client: C, lock: LockId(0), server: 0 };
        let history =
            [acquired(C), gone, enqueued(C), acquired(B), granted(B), accepted(B), granted(C), accepted(C)];
        assert_kept(FencedResource::default(), &history);
        // Without a new place in the queue it is the same grant, learned late.
        let late = [acquired(C), gone, acquired(B), granted(B), accepted(B), granted(C), accepted(C)];
        assert_broken(FencedResource::default(), &late, C, B);
    }

    #[test]
    fn it_is_rejected_even_if_its_sender_left_properly_or_crashed() {
        for end in [left(A), lost(A), crashed(A)] {
            let history = [granted(A), end, granted(B), accepted(B), accepted(A)];
            assert_broken(FencedResource::default(), &history, A, B);
        }
    }

    #[test]
    fn a_write_accepted_from_a_client_that_was_never_granted_is_rejected() {
        assert_broken(FencedResource::default(), &[accepted(A)], A, A);
    }

    #[test]
    fn a_superseded_write_that_the_resource_turned_down_is_accepted() {
        assert_kept(
            FencedResource::default(),
            &[granted(A), granted(B), accepted(B), rejected(A), accepted(B)],
        );
    }

    #[test]
    fn a_superseded_write_that_arrives_before_any_later_one_is_accepted() {
        assert_kept(FencedResource::default(), &[granted(A), granted(B), accepted(A), accepted(B)]);
    }

    #[test]
    fn a_write_that_arrives_after_its_sender_left_is_accepted() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(FencedResource::default(), &[granted(A), end, accepted(A)]);
        }
    }

    #[test]
    fn who_learns_late_of_its_grant_is_granted_when_the_store_granted_it() {
        let late = [lock(A), lock(B), acquired(A), acquired(B), granted(B), granted(A)];
        let monitor = after(FencedResource::default(), &late);
        assert_kept(monitor.clone(), &[accepted(A), accepted(B)]);
        assert_broken(monitor, &[accepted(B), accepted(A)], A, B);
    }

    #[test]
    fn what_was_acquired_in_an_earlier_call_dates_no_later_grant() {
        let history = [lock(A), acquired(A), refused(A), lock(B), granted(B), lock(A), granted(A)];
        assert_kept(after(FencedResource::default(), &history), &[accepted(B), accepted(A)]);
    }

    #[test]
    fn a_client_granted_again_may_write_again() {
        assert_kept(
            FencedResource::default(),
            &[granted(A), granted(B), accepted(B), granted(A), accepted(A)],
        );
    }
}
