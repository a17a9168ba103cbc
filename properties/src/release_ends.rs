//! Release ends: who gives the lock back is done with it in the end.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5.3: `Dispose` deletes the cells, and returns. An application that
//! waits in it for ever is as stuck as one that waits for the lock, even if everybody else goes on.
//!
//! A liveness promise, one per client, like [starvation-freedom](crate::StarvationFreedom).
//!
//! In whatever mode of access a client held: giving back is nobody's to be kept from.

use crate::history::ClientId;
use crate::usage::Usage;

/// Whenever a client releases, its release is complete in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseEnds;

impl ReleaseEnds {
    /// The client has left its critical section, and its release is not complete.
    pub fn owed(usage: &Usage, client: ClientId) -> bool {
        usage.releasing.contains(client)
    }

    /// The client's release is complete, or the client has crashed in it.
    pub fn served(usage: &Usage, client: ClientId) -> bool {
        !usage.releasing.contains(client)
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
    fn who_has_left_or_lost_the_lock_is_owed_an_end_of_its_release() {
        for end in [left(A), lost(A)] {
            let usage = usage(&[lock(A), granted(A), end, lock(B), granted(B)]);
            assert!(ReleaseEnds::owed(&usage, A) && !ReleaseEnds::served(&usage, A));
            assert!(!ReleaseEnds::owed(&usage, B) && ReleaseEnds::served(&usage, B));
        }
    }

    #[test]
    fn a_complete_release_a_crash_and_the_next_call_are_an_end() {
        for end in [released(A), crashed(A), lock(A)] {
            let usage = usage(&[lock(A), granted(A), left(A), end]);
            assert!(!ReleaseEnds::owed(&usage, A) && ReleaseEnds::served(&usage, A));
        }
    }
}
