//! Lease loss: a lease that another client has been granted meanwhile is never prolonged.
//!
//! Source: document 001, «Повышаем доступность алгоритма: продлеваем блокировку» (extending the lock): the lease may
//! be prolonged only if the key still exists and still holds the own value. Document 000, section 5.3, prolongs by
//! writing the cells again without looking (catalogue rows C4 and R15).
//!
//! That a client outlives its lease cannot be prevented; that it takes a lease back which is another's by now can.

use crate::Promise;
use crate::grant_order::GrantOrder;
use crate::history::{ClientId, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// No lease is prolonged for a client that holds although another one was granted later. Broken by the acknowledged
/// renewal; `other` is the client of the latest grant.
///
/// Grants count in the order in which the store made them, where it says so
/// ([`Event::Acquired`](crate::Event::Acquired)), else in the order in which the clients learned of them: whoever learns
/// late of a grant that is over supersedes nobody.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseLoss {
    /// What is acquired and not learned yet, what is held, and the latest grant, if somebody may have been superseded by it.
    order: GrantOrder<Learned>,
}

/// That a client has learned of its grant. (A unit type would be nothing in JSON, and so is what nobody has learned.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Learned {
    Granted,
}

impl Monitor for LeaseLoss {
    fn on_called(&mut self, client: ClientId, _mode: Mode) -> Verdict {
        self.order.on_called(client);
        self.tidy();
        Ok(())
    }

    fn on_acquired(&mut self, client: ClientId) -> Verdict {
        self.order.on_acquired(client);
        Ok(())
    }

    fn on_granted(&mut self, client: ClientId, _fence: Option<FencingToken>, _hold: HoldId) -> Verdict {
        // What the client has held so far it holds anew.
        self.order.on_hold_ended(client);
        self.tidy();
        self.order.on_granted(client, Learned::Granted);
        self.tidy();
        Ok(())
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.order.on_hold_ended(client);
        self.tidy();
    }

    fn on_renewed(&mut self, client: ClientId) -> Verdict {
        let latest = self.order.grants.iter().rev().find(|grant| grant.learned.is_some());
        match latest {
            Some(latest) if latest.client != client && self.order.holding.contains(client) => {
                Err(Violation { promise: Promise::LeaseLoss, client, other: latest.client })
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl LeaseLoss {
    /// Drops the grants that are over, but for the latest, and that too if nobody was granted or acquired before it.
    fn tidy(&mut self) {
        let GrantOrder { grants, holding } = &mut self.order;
        let latest = grants.iter().rposition(|grant| grant.learned.is_some());
        let mut place = 0;
        grants.retain(|grant| {
            let is_latest = Some(place) == latest;
            place += 1;
            is_latest || grant.learned.is_none() || holding.contains(grant.client)
        });
        if grants.first().is_some_and(|grant| grant.learned.is_some() && !holding.contains(grant.client)) {
            grants.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn a_renewal_after_another_grant_is_rejected() {
        assert_broken(LeaseLoss::default(), &[granted(A), granted(B), renewed(A)], A, B);
    }

    #[test]
    fn it_does_not_help_that_the_other_one_has_left_already() {
        assert_broken(
            LeaseLoss::default(),
            &[granted(A), granted(B), left(B), released(B), renewed(A)],
            A,
            B,
        );
    }

    #[test]
    fn the_latest_of_several_grants_is_named() {
        assert_broken(LeaseLoss::default(), &[granted(A), granted(B), left(B), granted(C), renewed(A)], A, C);
        assert_broken(LeaseLoss::default(), &[granted(A), granted(B), granted(C), renewed(B)], B, C);
    }

    #[test]
    fn the_new_holder_may_renew() {
        assert_kept(LeaseLoss::default(), &[granted(A), granted(B), renewed(B)]);
    }

    #[test]
    fn a_holder_whom_nobody_superseded_may_renew() {
        assert_kept(LeaseLoss::default(), &[lock(B), granted(A), renewed(A), enqueued(B), renewed(A)]);
    }

    #[test]
    fn whoever_noticed_the_loss_left_or_crashed_is_not_superseded() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(LeaseLoss::default(), &[granted(A), end, granted(B), renewed(A)]);
            assert_kept(LeaseLoss::default(), &[granted(A), granted(B), end, renewed(A)]);
        }
    }

    #[test]
    fn a_client_granted_again_may_renew_again() {
        assert_kept(LeaseLoss::default(), &[granted(A), granted(B), granted(A), renewed(A)]);
        assert_broken(LeaseLoss::default(), &[granted(A), granted(B), granted(A), renewed(B)], B, A);
        let properly = [granted(A), left(A), granted(B), granted(A), renewed(A)];
        assert_kept(LeaseLoss::default(), &properly);
    }

    #[test]
    fn a_rightful_holder_may_renew_though_another_learns_late_of_an_older_grant() {
        let late = [lock(A), lock(B), acquired(A), acquired(B), granted(B), granted(A)];
        assert_kept(after(LeaseLoss::default(), &late), &[renewed(B)]);
        assert_broken(after(LeaseLoss::default(), &late), &[renewed(A)], A, B);
        // Where the store says nothing, the grant that was learned later is the later one.
        let unknown = [lock(A), lock(B), granted(B), granted(A)];
        assert_broken(after(LeaseLoss::default(), &unknown), &[renewed(B)], B, A);
    }

    #[test]
    fn what_another_has_acquired_and_not_learned_supersedes_nobody() {
        let history = [acquired(A), granted(A), acquired(B), renewed(A)];
        assert_kept(LeaseLoss::default(), &history);
        assert_broken(after(LeaseLoss::default(), &history), &[granted(B), renewed(A)], A, B);
    }

    #[test]
    fn a_record_taken_back_is_no_grant() {
        let history = [acquired(A), granted(A), acquired(B), granted(B), acquired(A), renewed(A)];
        assert_broken(LeaseLoss::default(), &history, A, B);
    }

    #[test]
    fn who_learns_late_may_be_superseded_by_one_who_has_left() {
        let history = [acquired(A), acquired(B), granted(B), left(B), granted(A), renewed(A)];
        assert_broken(LeaseLoss::default(), &history, A, B);
    }

    #[test]
    fn a_superseded_client_that_left_is_forgotten_with_whoever_superseded_it() {
        let history = [granted(A), granted(B), left(A)];
        assert_eq!(after(LeaseLoss::default(), &history), after(LeaseLoss::default(), &[granted(B)]));
    }

    #[test]
    fn nothing_is_remembered_once_nobody_holds() {
        let history = [granted(A), granted(B), granted(C), left(A), left(C), crashed(B)];
        assert_eq!(after(LeaseLoss::default(), &history), LeaseLoss::default());
    }
}
