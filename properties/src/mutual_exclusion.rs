//! Mutual exclusion: at most one client is in its critical section.
//!
//! Source: document 001, guarantees, the safety property; document 000, sections 1 and 3.
//!
//! *Holding* means: from `Granted` until `Left`, `Lost` or `Crashed`. A paused client that has outlived its lease
//! still holds, because the code in its critical section does not know: so neither an expiry nor the grant of another
//! client ends a hold here. A second grant to one that still holds is a defect, too, of the lock or of what uses it: two of
//! its threads believe that they are alone.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId};
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// At most one client holds, and it is granted once for each time that it holds. Broken by a grant while another client
/// holds, or while the client itself does; `other` is the holder with the smallest number, another client if there is one.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MutualExclusion {
    holders: ClientSet,
}

impl Monitor for MutualExclusion {
    fn on_granted(&mut self, client: ClientId, _fence: Option<FencingToken>, _hold: HoldId) -> Verdict {
        let is_holder = self.holders.contains(client);
        match self.grant(client).or(is_holder.then_some(client)) {
            Some(other) => Err(Violation { promise: Promise::MutualExclusion, client, other }),
            None => Ok(()),
        }
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.holders.remove(client);
    }
}

impl MutualExclusion {
    /// The other client that the new holder meets.
    fn grant(&mut self, client: ClientId) -> Option<ClientId> {
        self.holders.remove(client);
        let met = self.holders.first();
        self.holders.insert(client);
        met
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

    pub(crate) fn call(&mut self, client: ClientId, is_of_mode: bool) {
        match is_of_mode {
            true => self.callers.insert(client),
            false => self.callers.remove(client),
        }
    }

    /// The other caller of the mode that the new holder meets.
    pub(crate) fn grant(&mut self, client: ClientId) -> Option<ClientId> {
        if self.callers.contains(client) { self.exclusion.grant(client) } else { None }
    }

    pub(crate) fn end_hold(&mut self, client: ClientId) {
        self.exclusion.on_hold_ended(client);
    }

    pub(crate) fn end_call(&mut self, client: ClientId) {
        self.callers.remove(client);
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
    fn a_second_grant_to_the_holder_itself_is_rejected() {
        assert_broken(MutualExclusion::default(), &[granted(A), granted_again(A, 2)], A, A);
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(MutualExclusion::default(), &[granted(A), end, granted_again(A, 2)]);
        }
    }

    #[test]
    fn another_holder_is_named_rather_than_the_client_itself() {
        let mut monitor = after(MutualExclusion::default(), &[granted(B)]);
        let _ = monitor.observe(granted(A));
        assert_broken(monitor, &[granted_again(B, 2)], B, A);
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
