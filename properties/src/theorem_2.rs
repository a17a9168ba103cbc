//! Theorem 2: `try_lock` callers exclude each other.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5.2, Theorem 2.
//!
//! «В ходе выполнения алгоритма Cassandra.TryGetLock несколькими потоками блокировку сможет взять не более одного
//! потока»: while several threads run TryGetLock (Listing 7), at most one of them takes the lock. A thread that left
//! makes room for the next one: the proof is that of Theorem 1, so the claim is about one moment, as there.
//!
//! The theorem says nothing about callers of `lock`, so their grants neither break it nor are judged by it;
//! [mutual exclusion](crate::MutualExclusion) covers a mixture of both.
//!
//! The document knows one mode of access. Of a lock with several, callers that may hold together by its table do not break it.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::mutual_exclusion::ExclusionWithinMode;
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// At most one client holds by [`Mode::TryLock`]. Broken by a grant to such a caller while another such caller holds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Theorem2(ExclusionWithinMode);

impl Theorem2 {
    /// Whose running call is one of `try_lock`.
    pub(crate) fn callers(&self) -> ClientSet {
        self.0.callers()
    }
}

impl Monitor for Theorem2 {
    fn on_called(&mut self, client: ClientId, mode: Mode, _usage: &Usage) -> Verdict {
        self.0.call(client, mode == Mode::TryLock);
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
            Some(other) => Err(Violation::of_modes(Promise::Theorem2, client, other, usage)),
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
    fn a_try_lock_caller_granted_while_another_holds_is_rejected() {
        let history = [try_lock(A), try_lock(B), granted(A), granted(B)];
        assert_broken(Theorem2::default(), &history, B, A);
    }

    #[test]
    fn a_caller_who_calls_after_the_grant_is_judged_too() {
        assert_broken(Theorem2::default(), &[try_lock(A), granted(A), try_lock(B), granted(B)], B, A);
    }

    #[test]
    fn a_lock_caller_among_the_holders_is_not_judged() {
        assert_kept(Theorem2::default(), &[try_lock(A), lock(B), granted(A), granted(B)]);
        assert_kept(Theorem2::default(), &[try_lock(A), lock(B), granted(B), granted(A)]);
    }

    #[test]
    fn two_lock_callers_are_not_judged() {
        assert_kept(Theorem2::default(), &[lock(A), lock(B), granted(A), granted(B)]);
    }

    #[test]
    fn the_mode_of_an_earlier_call_does_not_count() {
        for over in [vec![refused(A)], vec![crashed(A)], vec![granted(A), left(A), released(A)]] {
            let history =
                [&[try_lock(A)], over.as_slice(), &[lock(A), granted(A), try_lock(B), granted(B)]].concat();
            assert_kept(Theorem2::default(), &history);
        }
    }

    #[test]
    fn holders_one_after_the_other_are_accepted() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(Theorem2::default(), &[try_lock(A), try_lock(B), granted(A), end, granted(B)]);
        }
    }

    #[test]
    fn a_finished_call_leaves_nothing_behind() {
        let history = [try_lock(A), granted(A), left(A), released(A), try_lock(B), refused(B)];
        assert_eq!(after(Theorem2::default(), &history), Theorem2::default());
    }
}
