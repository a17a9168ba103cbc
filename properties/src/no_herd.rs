//! No herd: a release wakes one waiter, not all.
//!
//! Source: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, the recipe, step 4: each waiter watches the znode
//! «который в полученном списке находиться перед тем, что создан нами на шаге 1», so that one release concerns one waiter. The document
//! does not say what for; with a watch on the parent the lock is as safe, and every release makes all of them ask again, of whom all but
//! one in vain.
//!
//! What is judged is the time between a holder's leaving and the next grant. A woken client that drops out in it has
//! passed its place on, and whoever is woken for that is no herd. Wake-ups at other times are not judged: a watch on the
//! parent wakes at each arrival, too, but no release did that.
//!
//! What woke a client is not asked. A holder has left when it says so, and an arrival between that and what the store does about it
//! counts as well: of a lock that wakes at arrivals a run can be shown in which the release alone woke one. A lock whose waiters watch
//! their predecessors wakes nobody by an arrival.
//!
//! With several modes of access, waiters that can all be granted beside each other and beside who still holds are no herd: a
//! writer that leaves may wake every reader, but not a reader and a writer.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// No waiter is woken between a holder's leaving and the next grant beside another one that could be granted in its place.
/// Broken by the second one; `other` is the one with the smallest number among those woken before that stand in its way.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NoHerd {
    /// A holder has left, and nobody was granted since.
    is_free: bool,
    /// Who was woken since, and has not dropped out.
    woken: ClientSet,
}

impl NoHerd {
    /// Whether a holder has left, and nobody was granted since.
    pub(crate) fn is_free(&self) -> bool {
        self.is_free
    }
}

impl Monitor for NoHerd {
    fn on_woken(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        if !self.is_free {
            return Ok(());
        }
        let (accesses, others) = (&usage.accesses, self.woken);
        self.woken.insert(client);
        let beside = others.union(usage.holding);
        let in_the_way = accesses.in_the_way(client, accesses.of(client), beside);
        match others.iter().find(|other| in_the_way.contains(*other)) {
            Some(other) => Err(Violation::of_modes(Promise::NoHerd, client, other, usage)),
            None => Ok(()),
        }
    }

    fn on_left(&mut self, _client: ClientId) -> Verdict {
        *self = NoHerd { is_free: true, woken: ClientSet::EMPTY };
        Ok(())
    }

    fn on_lost(&mut self, client: ClientId) -> Verdict {
        self.on_left(client)
    }

    fn on_granted(
        &mut self,
        _client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        _usage: &Usage,
    ) -> Verdict {
        *self = NoHerd::default();
        Ok(())
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.woken.remove(client);
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.woken = self.woken.renumbered(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn two_waiters_woken_by_one_release_are_rejected() {
        for leaves in [left(A), lost(A)] {
            assert_broken(NoHerd::default(), &[granted(A), leaves, woken(C), woken(B)], B, C);
        }
    }

    #[test]
    fn every_further_one_is_rejected_too() {
        let mut monitor = after(NoHerd::default(), &[left(A), woken(B)]);
        assert!(monitor.observe(woken(C)).is_err());
        assert!(monitor.observe(woken(A)).is_err());
    }

    #[test]
    fn readers_woken_together_are_no_herd_and_a_writer_among_them_makes_one() {
        let history = [lock(A), granted(A), reads_lock(B), reads_lock(C), left(A), woken(B), woken(C)];
        let monitor = after(shared::<NoHerd>(), &history);
        let writer = ClientId(3);
        assert_broken(monitor, &[lock(writer), woken(writer)], writer, B);
    }

    #[test]
    fn a_permit_given_back_wakes_one() {
        let history =
            [lock(A), granted(A), lock(B), granted(B), lock(C), lock(ClientId(3)), left(A), woken(C)];
        let monitor = after(among::<NoHerd>(crate::AccessModes::permits(2)), &history);
        assert_broken(monitor.clone(), &[woken(ClientId(3))], ClientId(3), C);
        assert_kept(monitor, &[left(B), woken(ClientId(3))]);
    }

    #[test]
    fn one_waiter_per_release_is_no_herd() {
        let one_by_one = [granted(A), left(A), woken(B), granted(B), left(B), woken(C), granted(C)];
        assert_kept(NoHerd::default(), &one_by_one);
    }

    #[test]
    fn one_waiter_woken_twice_is_no_herd() {
        assert_kept(NoHerd::default(), &[left(A), woken(B), woken(B)]);
    }

    #[test]
    fn who_is_woken_before_a_release_or_after_the_next_grant_is_not_judged() {
        let arrivals = [granted(A), woken(B), woken(C), left(A), woken(B), granted(B), woken(C)];
        assert_kept(NoHerd::default(), &arrivals);
    }

    #[test]
    fn a_woken_client_that_drops_out_passes_its_place_on() {
        for out in [crashed(B), refused(B), lock(B)] {
            assert_kept(NoHerd::default(), &[left(A), woken(B), out, woken(C)]);
        }
        assert_broken(NoHerd::default(), &[left(A), woken(B), crashed(A), woken(C)], C, B);
    }

    #[test]
    fn nothing_is_remembered_once_somebody_holds() {
        assert_eq!(after(NoHerd::default(), &[left(A), woken(B), granted(B)]), NoHerd::default());
    }
}
