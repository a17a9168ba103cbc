//! Starvation-freedom: everybody who waits is granted.
//!
//! Source: document 000, section 3: by the mandatory strategy, a thread waits for the resource "in any case" and takes
//! the lock "without fail".
//!
//! A liveness promise, like [deadlock-freedom](crate::DeadlockFreedom), but one per client: a lock that serves the
//! same two clients in turn for ever, past a third, is free of deadlock and starves the third.

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
    fn a_client_that_was_granted_refused_or_crashed_is_served() {
        for end in [granted(A), refused(A), crashed(A)] {
            let usage = usage(&[lock(A), end]);
            assert!(!StarvationFreedom::owed(&usage, A) && StarvationFreedom::served(&usage, A));
        }
    }
}
