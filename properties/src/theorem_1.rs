//! Theorem 1: `lock` callers exclude each other.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5.1, Theorem 1.
//!
//! «В ходе выполнения алгоритма Cassandra.GetLock несколькими потоками блокировка не будет взята более чем одним
//! потоком одновременно»: while several threads run GetLock (Listing 6), the lock is not taken by more than one of
//! them at a time.
//!
//! The theorem says nothing about callers of `try_lock`, so their grants neither break it nor are judged by it;
//! [mutual exclusion](crate::MutualExclusion) covers a mixture of both.
//!
//! The document knows one mode of access. Of a lock with several, callers that may hold together by its table do not break it.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::mutual_exclusion::ExclusionWithinMode;
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// At most one client holds by [`Mode::Lock`]. Broken by a grant to such a caller while another such caller holds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Theorem1(ExclusionWithinMode);

impl Theorem1 {
    /// Whose running call is one of `lock`.
    pub(crate) fn callers(&self) -> ClientSet {
        self.0.callers()
    }
}

impl Monitor for Theorem1 {
    fn on_called(&mut self, client: ClientId, mode: Mode, _usage: &Usage) -> Verdict {
        self.0.call(client, mode == Mode::Lock);
        Ok(())
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        match self.0.grant(client, usage) {
            Some(other) => Err(Violation::of_modes(Promise::Theorem1, client, other, usage)),
            None => Ok(()),
        }
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.0.end_hold(client);
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.0.end_call(client);
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.0.renumber_clients(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn a_lock_caller_granted_while_another_holds_is_rejected() {
        let history = [lock(A), lock(B), granted(A), granted(B)];
        assert_broken(Theorem1::default(), &history, B, A);
    }

    #[test]
    fn a_caller_who_calls_after_the_grant_is_judged_too() {
        assert_broken(Theorem1::default(), &[lock(A), granted(A), lock(B), granted(B)], B, A);
    }

    #[test]
    fn a_try_lock_caller_among_the_holders_is_not_judged() {
        assert_kept(Theorem1::default(), &[lock(A), try_lock(B), granted(A), granted(B)]);
        assert_kept(Theorem1::default(), &[lock(A), try_lock(B), granted(B), granted(A)]);
    }

    #[test]
    fn callers_of_lock_that_may_hold_together_do_not_break_it() {
        let readers = [reads_lock(A), granted(A), reads_lock(B), granted(B), lock(C)];
        let monitor = after(shared::<Theorem1>(), &readers);
        assert_broken(monitor, &[granted(C)], C, A);
    }

    #[test]
    fn two_try_lock_callers_are_not_judged() {
        assert_kept(Theorem1::default(), &[try_lock(A), try_lock(B), granted(A), granted(B)]);
    }

    #[test]
    fn the_mode_of_an_earlier_call_does_not_count() {
        for over in [vec![refused(A)], vec![crashed(A)], vec![granted(A), left(A), released(A)]] {
            let history =
                [&[lock(A)], over.as_slice(), &[try_lock(A), granted(A), lock(B), granted(B)]].concat();
            assert_kept(Theorem1::default(), &history);
        }
    }

    #[test]
    fn holders_one_after_the_other_are_accepted() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(Theorem1::default(), &[lock(A), lock(B), granted(A), end, granted(B)]);
        }
    }

    #[test]
    fn a_finished_call_leaves_nothing_behind() {
        let history = [lock(A), granted(A), left(A), released(A), lock(B), refused(B)];
        assert_eq!(after(Theorem1::default(), &history), Theorem1::default());
    }
}
