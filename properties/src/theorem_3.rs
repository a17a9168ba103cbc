//! Theorem 3: of several `try_lock` callers, at least one is granted.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5.2, Theorem 3.
//!
//! «В ходе выполнения алгоритма Cassandra.TryGetLock несколькими потоками хотя бы один поток захватит блокировку»:
//! while several threads run TryGetLock (Listing 7), at least one of them takes the lock.
//!
//! Taken literally it is false: a caller is rightly refused while another thread holds. The proof speaks of a lock
//! that is free, or becomes free: "sooner or later the main row is empty, and the first in the queue takes the lock".
//! So the theorem is judged once per *episode*, a period in which `try_lock` callers contend for a free lock:
//!
//! - A call by `try_lock` *counts* if nobody held and nobody's release was unfinished when it was called; any other
//!   call counts from the moment it reports `FoundFree`, for then it passed line 1 of Listing 7 and took the lock to
//!   be free itself. A call that is refused at line 1 because of a holder, or of what a release has not yet removed,
//!   never counts.
//! - An episode lasts while at least one call that counts is open: neither granted nor refused nor crashed.
//! - An episode in which somebody was granted, by either mode, or in which somebody held at any moment, has nothing to
//!   explain: whoever was refused was refused in favour of that client.
//! - Any other episode in which somebody was refused breaks the theorem when it ends. Nobody held, nobody was granted,
//!   and a caller who asked for a free lock went away without it.
//!
//! Why it is judged at the end and not at the first refusal: the refused caller may have lost to one that is still on
//! its way through lines 4 to 10, and that one may yet be granted. Why a crash closes a call like a refusal: the
//! caller that stood first in the queue is gone, and those who were refused because of it got nothing for it
//! (catalogue row C25); but an episode in which everybody crashed refused nobody. Why an unfinished release is no
//! excuse once the lock was found free: the caller saw an empty main row, and it is the order of the releaser's
//! deletes that makes it lose to a queue cell whose owner does not hold any more (catalogue row C9).
//!
//! Callers of `lock` do not open or prolong an episode: the theorem is not about them. Their grant excuses one,
//! though, if it comes before the end. A refusal in favour of a `lock` caller that waits at the head of the queue and
//! is granted only after the episode is therefore a violation: whoever mixes the modes leaves the theorem's
//! assumptions.
//!
//! The document knows one mode of access. Of a lock with several, free means here that nobody holds in whatever mode: a refusal
//! while a compatible client holds is not judged.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// No episode ends with a refusal and without a grant. Broken by the event that closes the last open call that counts;
/// `other` is the client that was refused last, which is `client` itself unless the episode ended with a crash.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Theorem3 {
    holding: ClientSet,
    releasing: ClientSet,
    /// Open `try_lock` calls that do not count so far.
    uncounted: ClientSet,
    /// Open `try_lock` calls that count. An episode is open while there are any.
    contending: ClientSet,
    /// Whether somebody held or was granted in the open episode.
    excused: bool,
    /// Who was refused last in the open episode, as long as that is not excused.
    refused: Option<ClientId>,
    /// Whether an episode has broken the theorem and nobody has been granted since. Only [`Theorem3::served`] reads
    /// it: without it, the end state in which everybody has been refused would look like one in which nobody asked.
    failed: bool,
}

impl Theorem3 {
    /// The open `try_lock` calls that count.
    pub fn contending(&self) -> ClientSet {
        self.contending
    }

    /// The left side of "leads to": an episode is open, and nobody has held or been granted in it.
    pub fn owed(&self) -> bool {
        !self.contending.is_empty() && !self.excused
    }

    /// The right side of "leads to": the open episode has its grant, or none is open and the last one did not end in a
    /// violation. A lock that keeps its callers in lines 4 to 10 for ever never gets here, nor does one that refuses
    /// them all.
    pub fn served(&self) -> bool {
        !self.owed() && !self.failed
    }

    fn begin_call(&mut self, client: ClientId) {
        if self.holding.union(self.releasing).is_empty() {
            self.contending.insert(client);
        } else {
            self.uncounted.insert(client);
        }
    }

    fn count_call(&mut self, client: ClientId) {
        if self.uncounted.contains(client) {
            self.uncounted.remove(client);
            self.contending.insert(client);
            if !self.holding.is_empty() {
                self.excuse();
            }
        }
    }

    fn excuse(&mut self) {
        self.excused = true;
        self.refused = None;
    }

    /// Closes the client's call; the client that was refused last, if that ends an episode which breaks the theorem.
    fn close_call(&mut self, client: ClientId) -> Option<ClientId> {
        self.uncounted.remove(client);
        if !self.contending.contains(client) {
            return None;
        }
        self.contending.remove(client);
        if !self.contending.is_empty() {
            return None;
        }
        self.excused = false;
        let refused = self.refused.take();
        self.failed |= refused.is_some();
        refused
    }
}

impl Monitor for Theorem3 {
    fn on_called(&mut self, client: ClientId, mode: Mode, _usage: &Usage) -> Verdict {
        // A client has one call at a time: whatever its last one left open is over now.
        let broken = self.close_call(client);
        if mode == Mode::TryLock {
            self.begin_call(client);
        }
        self.releasing.remove(client);
        verdict(client, broken)
    }

    fn on_found_free(&mut self, client: ClientId) -> Verdict {
        self.count_call(client);
        Ok(())
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        _usage: &Usage,
    ) -> Verdict {
        self.holding.insert(client);
        self.releasing.remove(client);
        self.failed = false;
        if !self.contending.is_empty() {
            self.excuse();
        }
        verdict(client, self.close_call(client))
    }

    fn on_refused(&mut self, client: ClientId) -> Verdict {
        if self.contending.contains(client) && !self.excused {
            self.refused = Some(client);
        }
        verdict(client, self.close_call(client))
    }

    fn on_left(&mut self, client: ClientId) -> Verdict {
        self.holding.remove(client);
        self.releasing.insert(client);
        Ok(())
    }

    fn on_lost(&mut self, client: ClientId) -> Verdict {
        self.on_left(client)
    }

    fn on_released(&mut self, client: ClientId) -> Verdict {
        self.releasing.remove(client);
        Ok(())
    }

    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.holding.remove(client);
        self.releasing.remove(client);
        verdict(client, self.close_call(client))
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        let Theorem3 { holding, releasing, uncounted, contending, excused: _, refused, failed: _ } = self;
        for clients in [holding, releasing, uncounted, contending] {
            *clients = clients.renumbered(numbers);
        }
        *refused = refused.map(|client| client.renumbered(numbers));
    }
}

/// The client's step has ended an episode, and this one was refused for nobody.
fn verdict(client: ClientId, refused_for_nobody: Option<ClientId>) -> Verdict {
    match refused_for_nobody {
        Some(other) => Err(Violation::new(Promise::Theorem3, client, other)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn all_refused_is_rejected() {
        let history = [try_lock(A), try_lock(B), found_free(A), found_free(B), refused(A), refused(B)];
        assert_broken(Theorem3::default(), &history, B, B);
    }

    #[test]
    fn a_single_caller_refused_a_free_lock_is_rejected() {
        assert_broken(Theorem3::default(), &[try_lock(A), refused(A)], A, A);
    }

    #[test]
    fn a_crash_in_the_middle_of_the_call_while_the_rest_are_refused_is_rejected() {
        let history = [try_lock(A), try_lock(B), found_free(A), enqueued(A), refused(B), crashed(A)];
        assert_broken(Theorem3::default(), &history, A, B);
        let history = [try_lock(A), try_lock(B), found_free(A), enqueued(A), crashed(A), refused(B)];
        assert_broken(Theorem3::default(), &history, B, B);
    }

    #[test]
    fn refused_after_finding_the_lock_free_during_a_release_is_rejected() {
        let history = [lock(A), granted(A), left(A), try_lock(B), found_free(B), refused(B)];
        assert_broken(Theorem3::default(), &history, B, B);
    }

    #[test]
    fn refused_although_the_release_was_finished_before_the_call_is_rejected() {
        let history = [lock(A), granted(A), left(A), released(A), try_lock(B), refused(B)];
        assert_broken(Theorem3::default(), &history, B, B);
    }

    #[test]
    fn an_earlier_episode_with_a_grant_does_not_excuse_a_later_one() {
        let first = [try_lock(A), try_lock(B), granted(A), refused(B), left(A), released(A)];
        let second = [try_lock(A), try_lock(B), refused(A), refused(B)];
        assert_broken(Theorem3::default(), &[first.as_slice(), &second].concat(), B, B);
    }

    #[test]
    fn what_a_crashed_holder_left_behind_is_no_excuse() {
        let history = [lock(A), granted(A), crashed(A), try_lock(B), refused(B)];
        assert_broken(Theorem3::default(), &history, B, B);
    }

    #[test]
    fn a_waiting_lock_caller_is_no_excuse_before_its_grant() {
        let history = [lock(A), enqueued(A), try_lock(B), found_free(B), refused(B)];
        assert_broken(Theorem3::default(), &history, B, B);
    }

    #[test]
    fn one_granted_and_the_rest_refused_is_accepted() {
        assert_kept(Theorem3::default(), &[try_lock(A), try_lock(B), granted(A), refused(B)]);
        assert_kept(Theorem3::default(), &[try_lock(A), try_lock(B), refused(B), granted(A)]);
    }

    #[test]
    fn the_winner_may_have_come_after_the_refused_one_as_long_as_the_episode_lasts() {
        let history = [try_lock(A), try_lock(B), refused(A), try_lock(C), refused(B), granted(C)];
        assert_kept(Theorem3::default(), &history);
    }

    #[test]
    fn refused_because_of_a_holder_is_accepted() {
        assert_kept(Theorem3::default(), &[lock(A), granted(A), try_lock(B), refused(B)]);
    }

    #[test]
    fn refused_at_line_1_during_a_release_is_accepted() {
        for end in [left(A), lost(A)] {
            assert_kept(Theorem3::default(), &[lock(A), granted(A), end, try_lock(B), refused(B)]);
            assert_kept(
                Theorem3::default(),
                &[lock(A), granted(A), end, try_lock(B), released(A), refused(B)],
            );
        }
    }

    #[test]
    fn found_free_while_somebody_holds_is_accepted() {
        let history = [lock(A), granted(A), try_lock(B), found_free(B), left(A), refused(B)];
        assert_kept(Theorem3::default(), &history);
    }

    #[test]
    fn the_grant_of_a_lock_caller_excuses() {
        assert_kept(Theorem3::default(), &[lock(A), try_lock(B), found_free(B), granted(A), refused(B)]);
    }

    #[test]
    fn everybody_crashed_is_accepted() {
        assert_kept(Theorem3::default(), &[try_lock(A), try_lock(B), crashed(A), crashed(B)]);
    }

    #[test]
    fn a_winner_that_left_before_the_last_refusal_is_accepted() {
        let history = [try_lock(A), try_lock(B), granted(A), left(A), released(A), refused(B)];
        assert_kept(Theorem3::default(), &history);
    }

    #[test]
    fn lock_callers_alone_never_break_it() {
        assert_kept(Theorem3::default(), &[lock(A), found_free(A), refused(A), lock(B), crashed(B)]);
    }

    #[test]
    fn an_open_episode_is_owed_a_grant_and_is_served_by_it() {
        let open = after(Theorem3::default(), &[try_lock(A), try_lock(B), refused(B)]);
        assert!(open.owed() && !open.served());
        assert_eq!(open.contending(), [A].into_iter().collect());
        let won = after(open, &[granted(A)]);
        assert!(!won.owed() && won.served());
    }

    #[test]
    fn an_episode_excused_by_a_lock_caller_is_served() {
        let excused = after(Theorem3::default(), &[lock(A), try_lock(B), granted(A)]);
        assert!(!excused.owed() && excused.served());
    }

    #[test]
    fn all_refused_stays_unserved_until_somebody_is_granted() {
        let mut failed = after(Theorem3::default(), &[try_lock(A)]);
        assert!(failed.observe(refused(A)).is_err());
        assert!(!failed.owed() && !failed.served());
        let again = after(failed, &[try_lock(B)]);
        assert!(again.owed() && !again.served());
        assert!(after(again, &[granted(B)]).served());
    }

    #[test]
    fn all_crashed_is_owed_nothing() {
        let crashed = after(Theorem3::default(), &[try_lock(A), crashed(A)]);
        assert!(!crashed.owed() && crashed.served());
    }

    #[test]
    fn a_finished_episode_leaves_nothing_behind() {
        let history = [try_lock(A), try_lock(B), refused(B), granted(A), left(A), released(A)];
        assert_eq!(after(Theorem3::default(), &history), Theorem3::default());
    }
}
