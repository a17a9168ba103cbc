//! Deadlock-freedom: if somebody waits, somebody is granted.
//!
//! Source: the Redlock article, *Distributed Locks with Redis*, guarantees, liveness property A: in the end the lock can always be
//! acquired, even if the client that locked the resource crashed or was cut off.
//!
//! A liveness promise: no finite history breaks it, so it has no monitor. It is "owed leads to served", judged by the
//! engine on the cycles of the explored graph under weak fairness.
//!
//! With several modes of access, a lock may be owed to somebody while others hold it: to a reader beside readers, to whoever
//! wants a permit that is left. A writer that waits while readers come and go is owed nothing here, for somebody is granted; that
//! is [starvation](crate::StarvationFreedom).

use crate::history::ClientSet;
use crate::usage::Usage;

/// Whenever somebody waits who may hold beside all who hold, which is nobody's case while one with the only mode of access
/// does, somebody is granted, or nobody waits so any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlockFreedom;

impl DeadlockFreedom {
    /// Whose waiting is not explained by who holds.
    pub fn owed_to(usage: &Usage) -> ClientSet {
        usage.accesses.admitted(usage.waiting, usage.holding)
    }

    /// Somebody waits whom no holder keeps from it.
    pub fn owed(usage: &Usage) -> bool {
        !DeadlockFreedom::owed_to(usage).is_empty()
    }

    /// Somebody was granted just now, or nobody waits who could be: refused and crashed clients are owed nothing.
    pub fn served(usage: &Usage) -> bool {
        usage.just_granted || !DeadlockFreedom::owed(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{AccessModes, Accesses};
    use crate::notation::*;

    fn usage(history: &[crate::Event]) -> Usage {
        let mut usage = Usage::default();
        history.iter().for_each(|event| usage.observe(*event));
        usage
    }

    #[test]
    fn a_free_lock_is_owed_to_whoever_waits() {
        for history in
            [vec![lock(A)], vec![lock(A), granted(B), left(B)], vec![lock(A), granted(B), crashed(B)]]
        {
            assert!(DeadlockFreedom::owed(&usage(&history)));
            assert!(!DeadlockFreedom::served(&usage(&history)));
        }
    }

    #[test]
    fn the_grant_of_anybody_serves() {
        let usage = usage(&[lock(A), lock(B), granted(B)]);
        assert!(!DeadlockFreedom::owed(&usage) && DeadlockFreedom::served(&usage));
    }

    fn shared(history: &[crate::Event]) -> Usage {
        let mut usage = Usage { accesses: Accesses::new(AccessModes::SHARED_EXCLUSIVE), ..Usage::default() };
        history.iter().for_each(|event| usage.observe(*event));
        usage
    }

    #[test]
    fn a_shared_lock_is_owed_to_whoever_waits_beside_compatible_holders() {
        for (history, owed) in [
            (vec![reads_lock(A), granted(A), reads_lock(B)], true),
            (vec![reads_lock(A), granted(A), lock(B)], false),
            (vec![lock(A), granted(A), reads_lock(B)], false),
            (vec![lock(A), granted(A), left(A), reads_lock(B), lock(C)], true),
            // The reader beside the reader, not the writer.
            (vec![reads_lock(A), granted(A), lock(C), reads_lock(B)], true),
        ] {
            let usage = shared(&history);
            assert_eq!((DeadlockFreedom::owed(&usage), DeadlockFreedom::served(&usage)), (owed, !owed));
        }
    }

    #[test]
    fn a_grant_beside_others_serves_even_if_somebody_else_is_owed_one_too() {
        let usage = shared(&[reads_lock(A), reads_lock(B), granted(A)]);
        assert!(DeadlockFreedom::owed(&usage) && DeadlockFreedom::served(&usage));
        assert_eq!(DeadlockFreedom::owed_to(&usage), ClientSet::from_iter([B]));
        let usage = shared(&[reads_lock(A), reads_lock(B), granted(A), left(A)]);
        assert!(DeadlockFreedom::owed(&usage) && !DeadlockFreedom::served(&usage));
    }

    #[test]
    fn a_permit_that_is_left_is_owed() {
        let permits = Usage { accesses: Accesses::new(AccessModes::permits(2)), ..Usage::default() };
        let mut usage = permits;
        [lock(A), granted(A), lock(B), lock(C)].iter().for_each(|event| usage.observe(*event));
        assert!(DeadlockFreedom::owed(&usage) && !DeadlockFreedom::served(&usage));
        usage.observe(granted(B));
        assert!(!DeadlockFreedom::owed(&usage) && DeadlockFreedom::served(&usage));
    }

    #[test]
    fn nothing_is_owed_where_nobody_waits() {
        for history in [vec![], vec![try_lock(A), refused(A)], vec![lock(A), crashed(A)]] {
            assert!(!DeadlockFreedom::owed(&usage(&history)));
            assert!(DeadlockFreedom::served(&usage(&history)));
        }
    }
}
