//! Mutual exclusion: at most one client is in its critical section.
//!
//! Source: document 001, guarantees, the safety property; document 000, sections 1 and 3.
//!
//! *Holding* means: from `Granted` until `Left`, `Lost` or `Crashed`. A paused client that has outlived its lease
//! still holds, because the code in its critical section does not know: so neither an expiry nor the grant of another
//! client ends a hold here.

use crate::Promise;
use crate::history::{ClientId, ClientSet, Event, Mode};
use crate::monitor::{Monitor, Violation};
use serde::{Deserialize, Serialize};

/// At most one client holds. Broken by a grant while another client holds; `other` is the holder with the smallest
/// number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MutualExclusion {
    holders: ClientSet,
}

impl Monitor for MutualExclusion {
    fn observe(&mut self, event: Event) -> Result<(), Violation> {
        self.judge(event).map_or(Ok(()), |(client, other)| {
            Err(Violation { promise: Promise::MutualExclusion, client, other })
        })
    }
}

impl MutualExclusion {
    /// The newcomer and the holder it met, if the event breaks mutual exclusion.
    fn judge(&mut self, event: Event) -> Option<(ClientId, ClientId)> {
        match event {
            Event::Granted { client, .. } => {
                self.holders.remove(client);
                let met = self.holders.first();
                self.holders.insert(client);
                met.map(|other| (client, other))
            }
            Event::Left { client } | Event::Lost { client } | Event::Crashed { client } => {
                self.holders.remove(client);
                None
            }
            Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Refused { .. }
            | Event::Released { .. }
            | Event::Renewed { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordGone { .. }
            | Event::TimeGiven { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. } => None,
        }
    }
}

/// Mutual exclusion among the callers of one mode, blind to the grants of the other: what Theorems 1 and 2 claim.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct ExclusionWithinMode {
    /// Whose running call is of the mode: from `Called` until the call is over.
    callers: ClientSet,
    exclusion: MutualExclusion,
}

impl ExclusionWithinMode {
    /// Whose running call is of the mode.
    pub(crate) fn callers(&self) -> ClientSet {
        self.callers
    }

    pub(crate) fn judge(&mut self, event: Event, mode: Mode) -> Option<(ClientId, ClientId)> {
        match event {
            Event::Called { client, mode: called } if called == mode => self.callers.insert(client),
            Event::Called { client, .. }
            | Event::Refused { client }
            | Event::Released { client }
            | Event::Crashed { client } => self.callers.remove(client),
            Event::Granted { client, .. } if !self.callers.contains(client) => return None,
            Event::Granted { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Left { .. }
            | Event::Lost { .. }
            | Event::Renewed { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordGone { .. }
            | Event::TimeGiven { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. } => {}
        }
        self.exclusion.judge(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn a_grant_while_another_holds_is_rejected() {
        assert_broken(MutualExclusion::default(), &[granted(A), granted(B)], B, A);
    }

    #[test]
    fn the_first_of_several_holders_is_named() {
        let mut monitor = MutualExclusion::default();
        let _ = monitor.observe(granted(C));
        let _ = monitor.observe(granted(B));
        assert_broken(monitor, &[granted(A)], A, B);
    }

    #[test]
    fn a_finished_release_of_an_earlier_hold_does_not_end_this_one() {
        assert_broken(MutualExclusion::default(), &[granted(A), released(A), granted(B)], B, A);
    }

    #[test]
    fn an_acknowledged_renewal_does_not_end_a_hold() {
        assert_broken(MutualExclusion::default(), &[granted(A), renewed(A), granted(B)], B, A);
    }

    #[test]
    fn whoever_left_lost_or_crashed_does_not_hold() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(MutualExclusion::default(), &[granted(A), end, granted(B)]);
        }
    }

    #[test]
    fn a_waiting_client_does_not_hold() {
        let history =
            [lock(A), lock(B), enqueued(A), enqueued(B), granted(B), refused(A), left(B), released(B)];
        assert_kept(MutualExclusion::default(), &history);
    }

    #[test]
    fn a_second_grant_to_the_holder_itself_is_no_violation() {
        assert_kept(MutualExclusion::default(), &[granted(A), granted(A)]);
    }

    #[test]
    fn after_a_violation_both_hold() {
        let mut monitor = MutualExclusion::default();
        let _ = monitor.observe(granted(A));
        let _ = monitor.observe(granted(B));
        assert_broken(monitor, &[left(B), granted(C)], C, A);
        assert_kept(monitor, &[left(B), left(A), granted(C)]);
    }
}
