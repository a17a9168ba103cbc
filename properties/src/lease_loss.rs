//! Lease loss: a lease that another client has been granted meanwhile is never prolonged.
//!
//! Source: document 001, «Повышаем доступность алгоритма: продлеваем блокировку» (extending the lock): the lease may
//! be prolonged only if the key still exists and still holds the own value. Document 000, section 5.3, prolongs by
//! writing the cells again without looking (catalogue rows C4 and R15).
//!
//! That a client outlives its lease cannot be prevented; that it takes a lease back which is another's by now can.

use crate::Promise;
use crate::history::{ClientId, ClientSet, Event};
use crate::monitor::{Monitor, Violation};
use serde::{Deserialize, Serialize};

/// No lease is prolonged for a client that held while another was granted. Broken by the acknowledged renewal; `other`
/// is the client of the latest grant.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseLoss {
    /// Who holds and was granted last. One suffices: every grant supersedes whoever held before.
    holder: Option<ClientId>,
    /// Who still holds although another was granted meanwhile.
    superseded: ClientSet,
    /// Whose grant was the latest to supersede somebody, for the report; forgotten with the last superseded client.
    superseder: Option<ClientId>,
}

impl Monitor for LeaseLoss {
    fn observe(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Granted { client, .. } => {
                if let Some(held) = self.holder.replace(client) {
                    self.superseded.insert(held);
                }
                self.superseded.remove(client);
                self.superseder = (!self.superseded.is_empty()).then_some(client);
            }
            Event::Left { client } | Event::Lost { client } | Event::Crashed { client } => {
                self.end_hold(client)
            }
            Event::Renewed { client } if self.superseded.contains(client) => {
                let other = self.superseder.unwrap_or(client);
                return Err(Violation { promise: Promise::LeaseLoss, client, other });
            }
            Event::Renewed { .. }
            | Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Refused { .. }
            | Event::Released { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordGone { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. } => {}
        }
        Ok(())
    }
}

impl LeaseLoss {
    fn end_hold(&mut self, client: ClientId) {
        if self.holder == Some(client) {
            self.holder = None;
        }
        self.superseded.remove(client);
        if self.superseded.is_empty() {
            self.superseder = None;
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
