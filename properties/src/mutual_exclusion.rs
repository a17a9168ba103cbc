//! Mutual exclusion: at most one client is in its critical section.
//!
//! Source: the Redlock article, *Distributed Locks with Redis*, guarantees, the safety property; the Cassandra paper, *The Cassandra queue
//! lock*, sections 1 and 3.
//!
//! *Holding* means: from `Granted` until `Left`, `Lost` or `Crashed`. A paused client that has outlived its lease
//! still holds, because the code in its critical section does not know: so neither an expiry nor the grant of another
//! client ends a hold here. A second grant to one that still holds is a defect, too, of the lock or of what uses it: two of
//! its threads believe that they are alone.
//!
//! A lock with several modes of access ([`AccessModes`](crate::AccessModes)) excludes less: two may hold whose modes are compatible,
//! and of one mode as many as it bears. Clients that ask in other modes than each other hold together rightly or wrongly by
//! that table, and by nothing else.

use crate::Promise;
use crate::history::{ClientId, ClientSet, FencingToken, HoldId};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// All who hold may hold together, which one client always may, and two never of a lock with one mode of access; and each is
/// granted once for each time that it holds. Broken by a grant while others hold beside whom the client may not, or while the
/// client itself does; `other` is the one of them with the smallest number, another client if there is one.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MutualExclusion {
    holders: ClientSet,
}

impl Monitor for MutualExclusion {
    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        let is_holder = self.holders.contains(client);
        match self.grant(client, usage).or(is_holder.then_some(client)) {
            Some(other) => Err(Violation::of_modes(Promise::MutualExclusion, client, other, usage)),
            None => Ok(()),
        }
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.holders.remove(client);
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.holders = self.holders.renumbered(numbers);
    }
}

impl MutualExclusion {
    /// The other client that the new holder meets and must not.
    fn grant(&mut self, client: ClientId, usage: &Usage) -> Option<ClientId> {
        let accesses = &usage.accesses;
        let met = accesses.in_the_way(client, accesses.of(client), self.holders).first();
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

    /// The other caller of the mode that the new holder meets and must not.
    pub(crate) fn grant(&mut self, client: ClientId, usage: &Usage) -> Option<ClientId> {
        if self.callers.contains(client) { self.exclusion.grant(client, usage) } else { None }
    }

    pub(crate) fn end_hold(&mut self, client: ClientId) {
        self.exclusion.on_hold_ended(client);
    }

    pub(crate) fn end_call(&mut self, client: ClientId) {
        self.callers.remove(client);
    }

    pub(crate) fn renumber_clients(&mut self, numbers: &[u8]) {
        self.callers = self.callers.renumbered(numbers);
        self.exclusion.renumber_clients(numbers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, AccessModes};
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

    fn of_a_shared_lock() -> Among<MutualExclusion> {
        shared()
    }

    #[test]
    fn readers_hold_together_and_a_writer_among_them_is_rejected() {
        let readers = [reads_lock(A), granted(A), reads_lock(B), granted(B)];
        assert_kept(of_a_shared_lock(), &readers);
        let writer = after(of_a_shared_lock(), &readers);
        assert_broken(writer, &[lock(C), granted(C)], C, A);
        let writer = after(of_a_shared_lock(), &readers);
        assert_kept(writer, &[lock(C), left(B), lost(A), granted(C)]);
    }

    #[test]
    fn a_reader_beside_a_writer_is_rejected_and_so_are_two_writers() {
        let writer = after(of_a_shared_lock(), &[lock(A), granted(A)]);
        assert_broken(writer.clone(), &[reads_lock(B), granted(B)], B, A);
        assert_broken(writer, &[lock(B), granted(B)], B, A);
    }

    #[test]
    fn who_reads_in_one_round_and_writes_in_the_next_is_judged_by_the_round() {
        let history = [reads_lock(A), granted(A), left(A), released(A), lock(A), reads_lock(B), granted(B)];
        let monitor = after(of_a_shared_lock(), &history);
        assert_broken(monitor, &[granted(A)], A, B);
    }

    #[test]
    fn a_violation_of_a_lock_with_modes_names_them() {
        let mut monitor = after(of_a_shared_lock(), &[reads_lock(A), granted(A), lock(B)]);
        let modes =
            [AccessModes::SHARED_EXCLUSIVE.name(Access(0)), AccessModes::SHARED_EXCLUSIVE.name(Access(1))];
        let violation = Violation { modes: Some(modes), ..Violation::new(Promise::MutualExclusion, B, A) };
        let found = monitor.observe(granted(B)).expect_err("a writer beside a reader");
        assert_eq!((found, found.modes), (violation, violation.modes));
        // The names are no part of a state, and do not make it another one.
        let bytes = postcard::to_stdvec(&found).unwrap();
        assert_eq!(postcard::from_bytes::<Violation>(&bytes), Ok(found));
    }

    #[test]
    fn the_lock_managers_protected_readers_bear_concurrent_readers_and_no_concurrent_writer() {
        let mode = |name| AccessModes::DLM.named(name).expect("it is one of the six");
        let readers = [
            locks_in(A, mode("PR")),
            granted(A),
            locks_in(B, mode("CR")),
            granted(B),
            locks_in(C, mode("NL")),
            granted(C),
        ];
        let monitor = after(among::<MutualExclusion>(AccessModes::DLM), &readers);
        let fourth = ClientId(3);
        assert_broken(monitor.clone(), &[locks_in(fourth, mode("CW")), granted(fourth)], fourth, A);
        assert_broken(monitor.clone(), &[locks_in(fourth, mode("EX")), granted(fourth)], fourth, A);
        assert_kept(monitor, &[locks_in(fourth, mode("PR")), granted(fourth)]);
    }

    #[test]
    fn one_permit_more_than_there_are_is_rejected() {
        let all = [lock(A), granted(A), lock(B), granted(B), lock(C)];
        let monitor = after(among::<MutualExclusion>(AccessModes::permits(2)), &all);
        assert_broken(monitor.clone(), &[granted(C)], C, A);
        assert_kept(monitor, &[left(A), granted(C)]);
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
