//! No herd: a release wakes one waiter, not all.
//!
//! Source: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, the recipe, step 4: each waiter watches the znode
//! «который в полученном списке находиться перед тем, что создан нами на шаге 1», so that one release concerns one waiter. The document
//! does not say what for; with a watch on the parent the lock is as safe, and every release makes all of them ask again, of whom all but
//! one in vain.
//!
//! What is judged is the time from the going of a holder's record to the next grant: who is woken in it because that record is gone. The
//! store says whose watches fire for which record ([`Event::Notified`](crate::Event::Notified)), for a waiter cannot know: of one that
//! watches a parent, the notice of an arrival may still be on its way when the holder leaves. A record may go at its owner's word or be
//! taken away, by the end of a session: both wake. A woken client that drops out has passed its place on, and whoever is woken for that is
//! no herd. Wake-ups by arrivals, or by the going of a waiter, are not judged.
//!
//! A server that is asked for a client's watches again, on a new connection, knows what has changed, but not by whom: such notices are not
//! judged, which hides a herd that only clients whose connections broke belong to.
//!
//! With several modes of access, waiters that can all be granted beside each other and beside who still holds are no herd: a
//! writer that leaves may wake every reader, but not a reader and a writer.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Until the next grant, no waiter is woken because a holder's record is gone beside another one woken for that which could be granted
/// in its place. Broken by the second one; `other` is the one with the smallest number among those woken before that stand in its way.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NoHerd {
    /// Who held when the last grant came, and has not called since.
    holders: ClientSet,
    /// Whose watches have fired since because a record of these was gone, and who has not been woken yet.
    notified: ClientSet,
    /// Who was woken by that, and has not dropped out.
    woken: ClientSet,
}

impl NoHerd {
    /// Whether the client held when the last grant came, and has not called since.
    pub(crate) fn is_holder(&self, client: ClientId) -> bool {
        self.holders.contains(client)
    }
}

impl Monitor for NoHerd {
    fn on_notified(&mut self, client: ClientId, of: ClientId) -> Verdict {
        if self.holders.contains(of) {
            self.notified.insert(client);
        }
        Ok(())
    }

    fn on_woken(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        if !self.notified.contains(client) {
            return Ok(());
        }
        self.notified.remove(client);
        let (accesses, others) = (&usage.accesses, self.woken);
        self.woken.insert(client);
        let beside = others.union(usage.holding);
        let in_the_way = accesses.in_the_way(client, accesses.of(client), beside);
        match others.iter().find(|other| in_the_way.contains(*other)) {
            Some(other) => Err(Violation::of_modes(Promise::NoHerd, client, other, usage)),
            None => Ok(()),
        }
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        let mut holders = usage.holding;
        holders.insert(client);
        *self = NoHerd { holders, ..NoHerd::default() };
        Ok(())
    }

    fn on_called(&mut self, client: ClientId, _mode: Mode, _usage: &Usage) -> Verdict {
        self.holders.remove(client);
        self.on_call_ended(client);
        Ok(())
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.notified.remove(client);
        self.woken.remove(client);
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        let NoHerd { holders, notified, woken } = self;
        for clients in [holders, notified, woken] {
            *clients = clients.renumbered(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn two_waiters_woken_by_one_release_are_rejected() {
        for leaves in [left(A), lost(A), crashed(A)] {
            let history = [granted(A), leaves, notified(B, A), notified(C, A), woken(C), woken(B)];
            assert_broken(NoHerd::default(), &history, B, C);
        }
    }

    #[test]
    fn a_record_that_is_taken_away_from_its_holder_wakes_as_well() {
        let history = [granted(A), notified(B, A), woken(B), notified(C, A), woken(C)];
        assert_broken(NoHerd::default(), &history, C, B);
    }

    #[test]
    fn every_further_one_is_rejected_too() {
        let told = [notified(B, A), notified(C, A), notified(ClientId(3), A)];
        let mut monitor =
            after(NoHerd::default(), &[granted(A), left(A), told[0], told[1], told[2], woken(B)]);
        assert!(monitor.observe(woken(C)).is_err());
        assert!(monitor.observe(woken(ClientId(3))).is_err());
    }

    #[test]
    fn a_notice_of_something_else_that_arrives_meanwhile_is_no_herd() {
        // B's watch has fired for C's arrival.
        assert_kept(NoHerd::default(), &[granted(A), left(A), notified(C, A), woken(B), woken(C)]);
        // Of a waiter that gave up, all who watch hear.
        let gives_up = [notified(A, C), notified(B, C), woken(A), woken(B)];
        assert_kept(after(NoHerd::default(), &[granted(A)]), &gives_up);
    }

    #[test]
    fn what_is_left_of_an_earlier_call_is_no_release_any_more() {
        assert_kept(
            NoHerd::default(),
            &[granted(A), left(A), released(A), lock(A), notified(B, A), notified(C, A), woken(B), woken(C)],
        );
    }

    #[test]
    fn readers_woken_together_are_no_herd_and_a_writer_among_them_makes_one() {
        let history = [
            lock(A),
            granted(A),
            reads_lock(B),
            reads_lock(C),
            left(A),
            notified(B, A),
            notified(C, A),
            woken(B),
            woken(C),
        ];
        let monitor = after(shared::<NoHerd>(), &history);
        let writer = ClientId(3);
        assert_broken(monitor, &[lock(writer), notified(writer, A), woken(writer)], writer, B);
    }

    #[test]
    fn a_permit_given_back_wakes_one() {
        let fourth = ClientId(3);
        let history = [lock(A), granted(A), lock(B), granted(B), lock(C), lock(fourth), left(A)];
        let history = [&history[..], &[notified(C, A), woken(C)]].concat();
        let monitor = after(among::<NoHerd>(crate::AccessModes::permits(2)), &history);
        assert_broken(monitor.clone(), &[notified(fourth, A), woken(fourth)], fourth, C);
        assert_kept(monitor, &[left(B), notified(fourth, B), woken(fourth)]);
    }

    #[test]
    fn one_waiter_per_release_is_no_herd() {
        let one_by_one = [
            granted(A),
            left(A),
            notified(B, A),
            woken(B),
            granted(B),
            left(B),
            notified(C, B),
            woken(C),
            granted(C),
        ];
        assert_kept(NoHerd::default(), &one_by_one);
    }

    #[test]
    fn one_waiter_woken_twice_is_no_herd() {
        let twice = [granted(A), left(A), notified(B, A), woken(B), notified(B, A), woken(B)];
        assert_kept(NoHerd::default(), &twice);
    }

    #[test]
    fn who_is_woken_after_the_next_grant_is_not_judged() {
        let late = [granted(A), left(A), notified(B, A), notified(C, A), woken(B), granted(B), woken(C)];
        assert_kept(NoHerd::default(), &late);
    }

    #[test]
    fn a_woken_client_that_drops_out_passes_its_place_on() {
        let told = [granted(A), left(A), notified(B, A), notified(C, A), woken(B)];
        for out in [crashed(B), refused(B), lock(B)] {
            assert_kept(after(NoHerd::default(), &told), &[out, woken(C)]);
        }
        assert_broken(after(NoHerd::default(), &told), &[crashed(A), woken(C)], C, B);
    }

    #[test]
    fn nothing_is_remembered_of_earlier_releases_once_somebody_holds() {
        let history = [granted(A), left(A), notified(B, A), notified(C, A), woken(B), granted(B)];
        assert_eq!(after(NoHerd::default(), &history), after(NoHerd::default(), &[granted(B)]));
    }
}
