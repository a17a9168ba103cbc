//! Lease loss: a lease that another client has been granted meanwhile is never prolonged.
//!
//! Source: the Redlock article, *Distributed Locks with Redis*, «Повышаем доступность алгоритма: продлеваем блокировку» (extending the
//! lock): the lease may be prolonged only if the key still exists and still holds the own value. The Cassandra paper, *The Cassandra queue
//! lock*, section 5.3, prolongs by writing the cells again without looking (catalogue rows C4 and R15).
//!
//! That a client outlives its lease cannot be prevented; that it takes a lease back which is another's by now can.
//!
//! With several modes of access, a grant takes the lease of those who held before it in incompatible modes. What is shared is
//! taken from nobody by one more who shares it; of permits, the one that a client had is gone when as many others hold by later
//! grants as there are.

use crate::Promise;
use crate::access::AccessModes;
use crate::grant_order::{Grant, GrantOrder, Made};
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode, ServerSet};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// No lease is prolonged for a client that holds although another one, beside whom it may not hold, was granted later. `other` is
/// the client of the latest such grant.
///
/// A lease is prolonged when the store has written its record, where the store says so
/// ([`Event::RecordWritten`](crate::Event::RecordWritten)), else when its holder learns of that: whoever reads late that its lease
/// was prolonged in time, has taken it from nobody. Grants likewise count in the order in which the store made them
/// ([`Event::Acquired`](crate::Event::Acquired)), else in the order in which the clients learned of them: whoever learns
/// late of a grant that is over supersedes nobody. Nor does one whose records were made across those of the holder's grant
/// ([`Event::RecordMade`](crate::Event::RecordMade)).
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseLoss {
    /// What is acquired and not learned yet, what is held, and of each mode of access the latest grant, if somebody may have been
    /// superseded by it.
    order: GrantOrder<Learned>,
    /// Holders whose record was written and judged since they last learned of it.
    written: ClientSet,
}

/// That a client has learned of its grant. (A unit type would be nothing in JSON, and so is what nobody has learned.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Learned {
    Granted,
}

impl Monitor for LeaseLoss {
    fn on_called(&mut self, client: ClientId, _mode: Mode, usage: &Usage) -> Verdict {
        self.written.remove(client);
        self.order.on_called(client, usage);
        self.tidy();
        Ok(())
    }

    fn on_acquired(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        self.order.on_acquired(client, usage.accesses.of(client), usage);
        Ok(())
    }

    fn on_record_made(&mut self, client: ClientId, server: u8, usage: &Usage) -> Verdict {
        self.order.on_record_made(client, server, usage.accesses.of(client));
        Ok(())
    }

    fn on_record_gone(&mut self, client: ClientId, _server: u8) -> Verdict {
        self.order.on_record_gone(client);
        Ok(())
    }

    fn on_secured(&mut self, client: ClientId, servers: ServerSet) -> Verdict {
        self.order.on_secured(client, servers);
        self.tidy();
        Ok(())
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.order.forget_parts(client);
        self.tidy();
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        // What the client has held so far it holds anew.
        self.on_hold_ended(client);
        self.tidy();
        self.order.on_granted(client, usage.accesses.of(client), Learned::Granted);
        self.tidy();
        Ok(())
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.written.remove(client);
        self.order.on_hold_ended(client);
        self.tidy();
    }

    fn on_record_written(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        if self.order.holding.contains(client) {
            self.written.insert(client);
        }
        self.judge(client, usage)
    }

    fn on_renewed(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        if self.written.contains(client) {
            self.written.remove(client);
            return Ok(());
        }
        self.judge(client, usage)
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.order.renumber_clients(numbers);
        self.written = self.written.renumbered(numbers);
    }
}

impl LeaseLoss {
    /// The client's lease, if it holds, is prolonged now.
    fn judge(&self, client: ClientId, usage: &Usage) -> Verdict {
        let GrantOrder { grants, holding } = &self.order;
        let is_own =
            |grant: &Grant<Learned>| grant.client == client && grant.learned.is_some() && grant.is_made();
        if !holding.contains(client) {
            return Ok(());
        }
        let own = grants.iter().rposition(is_own);
        let modes = usage.accesses.modes();
        let own = own.unwrap_or_else(|| unreachable!("what {client} holds is on record"));
        let access = grants[own].access;
        // A client that was granted the lock anew holds by its latest grant.
        let is_held = |place: usize| {
            holding.contains(grants[place].client)
                && !grants[place + 1..].iter().any(|later| {
                    later.client == grants[place].client
                        && later.learned.is_some()
                        && later.made != Made::Ended
                })
        };
        let begins_later = |place: &usize| {
            grants[*place].learned.is_some() && matches!(grants[*place].made, Made::Whole | Made::Begun)
        };
        let later = || (own + 1..grants.len()).rev().filter(begins_later);
        let takes = |place: &usize| {
            let taker = grants[*place].access;
            let bears = modes.beside(access, taker);
            let sharing =
                || later().filter(|other| is_held(*other) && grants[*other].access == taker).count();
            bears == 0 || (bears != u8::MAX && is_held(*place) && sharing() > usize::from(bears))
        };
        match later().find(takes) {
            Some(taker) => Err(Violation::of_modes(Promise::LeaseLoss, client, grants[taker].client, usage)),
            None => Ok(()),
        }
    }

    /// Drops the grants that are over, but for the one of each mode that began last, and those too if nobody was granted or acquired before
    /// them.
    fn tidy(&mut self) {
        let GrantOrder { grants, holding } = &mut self.order;
        let is_over = |grant: &Grant<Learned>| grant.learned.is_some() && !holding.contains(grant.client);
        // To those who hold still it matters whether it began after theirs was made.
        grants.retain(|grant| !is_over(grant) || grant.made != Made::Ended);
        grants.iter_mut().filter(|grant| is_over(grant)).for_each(|grant| grant.made = Made::Whole);
        let mut is_latest = [true; AccessModes::MODES_MAX];
        for place in (0..grants.len()).rev() {
            let grant = grants[place];
            let is_latest = match (grant.learned, grant.made) {
                (None, _) | (_, Made::Ended) => false,
                (Some(_), _) => std::mem::replace(&mut is_latest[usize::from(grant.access.0)], false),
            };
            if is_over(&grant) && !is_latest {
                grants.remove(place);
            }
        }
        let first = grants.iter().position(|grant| !is_over(grant)).unwrap_or(grants.len());
        grants.drain(..first);
        self.order.join_parts();
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
    fn a_quorum_made_across_the_holders_takes_its_lease_from_nobody() {
        let across =
            [lock(A), lock(B), record_made(A, 0), record_made(B, 1), record_made(A, 1), record_made(B, 2)];
        let learned = [secured(A, &[0, 1]), granted(A), secured(B, &[1, 2]), granted(B)];
        assert_kept(
            after(after(LeaseLoss::default(), &across), &learned),
            &[renewed(A), left(B), renewed(A)],
        );
        let after_it =
            [lock(A), lock(B), record_made(A, 0), record_made(A, 1), record_made(B, 1), record_made(B, 2)];
        let monitor = after(after(LeaseLoss::default(), &after_it), &learned);
        assert_broken(monitor.clone(), &[renewed(A)], A, B);
        assert_broken(monitor, &[left(B), renewed(A)], A, B);
    }

    #[test]
    fn a_share_is_prolonged_beside_later_readers_and_not_after_a_writer() {
        let readers = [reads_lock(A), granted(A), reads_lock(B), granted(B), renewed(A), renewed(B)];
        let monitor = after(shared::<LeaseLoss>(), &readers);
        let monitor = after(monitor, &[lock(C), granted(C), renewed(C), left(C)]);
        assert_broken(monitor.clone(), &[renewed(A)], A, C);
        // One more reader hides the writer before it from nobody.
        let monitor = after(monitor, &[left(B), released(B), reads_lock(B), granted(B), renewed(B)]);
        assert_broken(monitor, &[renewed(A)], A, C);
    }

    #[test]
    fn a_permit_is_gone_when_all_are_held_by_later_grants() {
        let history = [lock(A), granted(A), lock(B), granted(B), renewed(A), lock(C), granted(C)];
        let monitor = after(among::<LeaseLoss>(AccessModes::permits(2)), &history);
        assert_broken(monitor.clone(), &[renewed(A)], A, C);
        assert_kept(monitor, &[renewed(B), left(B), renewed(A)]);
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
    fn a_lease_is_prolonged_when_its_record_is_written_whenever_its_holder_learns_of_it() {
        let history = [granted(A), record_written(A), granted(B)];
        assert_kept(after(LeaseLoss::default(), &history), &[renewed(A)]);
        // The next time counts for itself, told by the store or not.
        assert_broken(after(LeaseLoss::default(), &history), &[renewed(A), renewed(A)], A, B);
        assert_broken(after(LeaseLoss::default(), &history), &[record_written(A)], A, B);
        // And what was written for an earlier hold counts for that one.
        let again = [left(A), granted(A), granted(B), renewed(A)];
        assert_broken(after(LeaseLoss::default(), &history), &again, A, B);
    }

    #[test]
    fn who_takes_a_lease_back_is_accused_at_once_and_once() {
        let monitor = after(LeaseLoss::default(), &[granted(A), granted(B)]);
        assert_broken(monitor.clone(), &[record_written(A)], A, B);
        let mut monitor = monitor;
        assert!(monitor.observe(record_written(A)).is_err());
        assert_kept(monitor, &[renewed(A)]);
    }

    #[test]
    fn a_record_that_nobody_holds_by_prolongs_nothing() {
        let history = [lock(A), record_written(A), granted(B), granted(A)];
        assert_kept(after(LeaseLoss::default(), &[granted(A), granted(B), left(A)]), &[record_written(A)]);
        assert_kept(after(LeaseLoss::default(), &history), &[renewed(A)]);
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
