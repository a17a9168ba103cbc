//! Starvation-freedom: everybody who waits is granted.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 3: by the mandatory strategy, a thread waits for the resource "in any
//! case" and takes the lock "without fail".
//!
//! A liveness promise, like [deadlock-freedom](crate::DeadlockFreedom), but one per client: a lock that serves the
//! same two clients in turn for ever, past a third, is free of deadlock and starves the third.
//!
//! In whatever modes of access: a writer that waits while readers come and go, always some of them holding, starves.

use crate::history::ClientId;
use crate::usage::Usage;

/// Whenever a client waits, that client comes to hold, or its call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StarvationFreedom;

impl StarvationFreedom {
    /// The client waits.
    pub fn owed(usage: &Usage, client: ClientId) -> bool {
        usage.waiting.contains(client)
    }

    /// The client does not wait: it was granted, or it was refused, which a caller of `try_lock` puts up with, or it
    /// crashed.
    pub fn served(usage: &Usage, client: ClientId) -> bool {
        !usage.waiting.contains(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeadlockFreedom;
    use crate::notation::*;

    fn usage(history: &[crate::Event]) -> Usage {
        let mut usage = Usage::default();
        history.iter().for_each(|event| usage.observe(*event));
        usage
    }

    #[test]
    fn a_waiting_client_is_owed_a_grant_of_its_own() {
        for history in
            [vec![lock(A)], vec![lock(A), lock(B), granted(B)], vec![lock(A), granted(A), left(A), lock(A)]]
        {
            assert!(StarvationFreedom::owed(&usage(&history), A));
            assert!(!StarvationFreedom::served(&usage(&history), A));
        }
    }

    #[test]
    fn a_writer_that_waits_while_readers_come_and_go_is_owed_a_grant() {
        let accesses = crate::Accesses::new(crate::AccessModes::SHARED_EXCLUSIVE);
        let mut usage = Usage { accesses, ..Usage::default() };
        usage.observe(reads_lock(A));
        usage.observe(granted(A));
        usage.observe(lock(C));
        for _ in 0..3 {
            // Never without a reader.
            for (next, before) in [(B, A), (A, B)] {
                for event in [reads_lock(next), granted(next), left(before), released(before)] {
                    usage.observe(event);
                    assert!(StarvationFreedom::owed(&usage, C) && !StarvationFreedom::served(&usage, C));
                    assert!(
                        DeadlockFreedom::served(&usage) || DeadlockFreedom::owed_to(&usage).contains(next)
                    );
                }
            }
        }
    }

    #[test]
    fn a_client_that_was_granted_refused_or_crashed_is_served() {
        for end in [granted(A), refused(A), crashed(A)] {
            let usage = usage(&[lock(A), end]);
            assert!(!StarvationFreedom::owed(&usage, A) && StarvationFreedom::served(&usage, A));
        }
    }
}
