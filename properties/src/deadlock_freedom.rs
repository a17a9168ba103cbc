//! Deadlock-freedom: if somebody waits, somebody is granted.
//!
//! Source: document 001, guarantees, liveness property A: in the end the lock can always be acquired, even if the
//! client that locked the resource crashed or was cut off.
//!
//! A liveness promise: no finite history breaks it, so it has no monitor. It is "owed leads to served", judged by the
//! engine on the cycles of the explored graph under weak fairness.

use crate::usage::Usage;

/// Whenever somebody waits and nobody holds, somebody comes to hold, or nobody waits any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlockFreedom;

impl DeadlockFreedom {
    /// Somebody waits for a lock that nobody holds.
    pub fn owed(usage: &Usage) -> bool {
        !usage.waiting.is_empty() && usage.holding.is_empty()
    }

    /// Somebody holds, or nobody waits: refused and crashed clients are owed nothing.
    pub fn served(usage: &Usage) -> bool {
        !usage.holding.is_empty() || usage.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn nothing_is_owed_where_nobody_waits() {
        for history in [vec![], vec![try_lock(A), refused(A)], vec![lock(A), crashed(A)]] {
            assert!(!DeadlockFreedom::owed(&usage(&history)));
            assert!(DeadlockFreedom::served(&usage(&history)));
        }
    }
}
