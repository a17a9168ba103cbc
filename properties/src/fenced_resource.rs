//! Fenced resource: a write is never accepted from a holder that another grant has superseded.
//!
//! Source: document 003, the closing question (catalogue row Z18): what a lock is worth if the resource is outside it.
//!
//! Judged at the resource, and separately from [mutual exclusion](crate::MutualExclusion): a pause that outlives a
//! lease breaks mutual exclusion under every lock with leases, while a resource that compares fencing tokens still
//! keeps this promise. The monitor does not look at the tokens: whether they do what they are for is the question.

use crate::Promise;
use crate::history::{ClientId, Event};
use crate::monitor::{Monitor, Violation};
use serde::{Deserialize, Serialize};

/// Only the client of the latest grant gets a write accepted. Broken by an accepted write of anybody else; `other` is
/// the client of the latest grant, or the writer itself if nobody was ever granted.
///
/// A client that holds for the second time is not told apart from its own earlier self: a write from its first hold,
/// accepted during its second one, passes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FencedResource {
    latest: Option<ClientId>,
}

impl Monitor for FencedResource {
    fn observe(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Granted { client, .. } => self.latest = Some(client),
            Event::Accepted { client, .. } if self.latest != Some(client) => {
                let other = self.latest.unwrap_or(client);
                return Err(Violation { promise: Promise::FencedResource, client, other });
            }
            Event::Accepted { .. }
            | Event::Rejected { .. }
            // A write may arrive after its sender has left or crashed: it is in order until the next grant.
            | Event::Left { .. }
            | Event::Lost { .. }
            | Event::Released { .. }
            | Event::Crashed { .. }
            | Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Refused { .. }
            | Event::Renewed { .. }
            | Event::RowRead { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn a_write_accepted_from_a_superseded_holder_is_rejected() {
        assert_broken(FencedResource::default(), &[granted(A), granted(B), accepted(A)], A, B);
    }

    #[test]
    fn a_write_that_arrives_after_the_next_grant_is_rejected_even_if_its_sender_left_properly() {
        let history = [granted(A), left(A), released(A), granted(B), accepted(A)];
        assert_broken(FencedResource::default(), &history, A, B);
    }

    #[test]
    fn a_write_accepted_from_a_client_that_was_never_granted_is_rejected() {
        assert_broken(FencedResource::default(), &[accepted(A)], A, A);
    }

    #[test]
    fn a_superseded_write_that_the_resource_turned_down_is_accepted() {
        assert_kept(FencedResource::default(), &[granted(A), granted(B), rejected(A), accepted(B)]);
    }

    #[test]
    fn a_write_that_arrives_late_but_before_the_next_grant_is_accepted() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(FencedResource::default(), &[granted(A), end, accepted(A)]);
        }
    }

    #[test]
    fn a_write_before_the_other_grant_is_accepted() {
        assert_kept(FencedResource::default(), &[granted(A), accepted(A), granted(B), accepted(B)]);
    }

    #[test]
    fn a_client_granted_again_may_write_again() {
        assert_kept(FencedResource::default(), &[granted(A), granted(B), granted(A), accepted(A)]);
    }
}
