//! Min validity: while a client holds, every record that its grant rests on is alive.
//!
//! Source: the Redlock article, *Distributed Locks with Redis*, «Соображения по поводу безопасности»: the keys of the quorum live together
//! for at least
//! `MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT` from the moment T2 at which the last reply came, so that nobody else can
//! have a majority meanwhile. A client that leaves its critical section when that time is over leaves it before the first
//! key of its quorum goes. That is what is judged here, without times: the formula is the client's reason to leave.
//!
//! It is the argument behind mutual exclusion, and breaks earlier: one lost key of a quorum is one too many, whether or
//! not another client is there to make use of it.

use crate::Promise;
use crate::history::{ClientId, ServerSet};
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// No record in the quorum of a holder goes while it holds, in whatever mode of access. Broken by the record that goes; `other` is the client itself.
///
/// Records on servers that do not report ([`Event::RecordGone`](crate::Event::RecordGone)) are not judged, nor is one that is given up for another
/// ([`Event::Secured`](crate::Event::Secured) again).
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MinValidity {
    /// By client: where the records are that its grant rests on, in the order of the clients; none once it has left.
    quorums: Vec<(ClientId, ServerSet)>,
}

impl Monitor for MinValidity {
    fn on_secured(&mut self, client: ClientId, servers: ServerSet) -> Verdict {
        match self.place(client) {
            Ok(place) => self.quorums[place].1 = servers,
            Err(place) => self.quorums.insert(place, (client, servers)),
        }
        Ok(())
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.quorums.iter_mut().for_each(|(client, _)| *client = client.renumbered(numbers));
        self.quorums.sort_unstable_by_key(|(client, _)| *client);
    }

    fn on_record_gone(&mut self, client: ClientId, server: u8) -> Verdict {
        let rests_on_it = |place: usize| self.quorums[place].1.contains(server);
        match self.place(client).is_ok_and(rests_on_it) {
            true => Err(Violation::new(Promise::MinValidity, client, client)),
            false => Ok(()),
        }
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.forget(client);
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.forget(client);
    }
}

impl MinValidity {
    fn forget(&mut self, client: ClientId) {
        if let Ok(place) = self.place(client) {
            self.quorums.remove(place);
        }
    }

    fn place(&self, client: ClientId) -> Result<usize, usize> {
        self.quorums.binary_search_by_key(&client, |(whose, _)| *whose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;
    use crate::{Event, LockId};

    fn gone(client: ClientId, server: u8) -> Event {
        Event::RecordGone { client, lock: LockId(0), server }
    }

    #[test]
    fn a_record_of_the_quorum_that_goes_while_its_client_holds_is_rejected() {
        assert_broken(MinValidity::default(), &[lock(A), secured(A, &[0, 2]), granted(A), gone(A, 2)], A, A);
    }

    #[test]
    fn it_is_rejected_between_securing_and_granting_too() {
        assert_broken(MinValidity::default(), &[lock(A), secured(A, &[0, 2]), gone(A, 0)], A, A);
    }

    #[test]
    fn a_record_outside_the_quorum_may_go() {
        assert_kept(MinValidity::default(), &[secured(A, &[0, 2]), granted(A), gone(A, 1), left(A)]);
    }

    #[test]
    fn a_record_of_somebody_else_may_go() {
        let history = [secured(A, &[0, 2]), granted(A), gone(B, 0), gone(B, 2)];
        assert_kept(MinValidity::default(), &history);
    }

    #[test]
    fn whoever_left_lost_or_crashed_may_lose_its_records() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(MinValidity::default(), &[secured(A, &[0, 2]), granted(A), end, gone(A, 0)]);
        }
    }

    #[test]
    fn an_extension_rests_on_what_it_secured_and_on_nothing_else() {
        let extended = [secured(A, &[0, 1]), granted(A), secured(A, &[1, 2]), renewed(A)];
        let after_it = after(MinValidity::default(), &extended);
        assert_kept(after_it.clone(), &[gone(A, 0)]);
        assert_broken(after_it, &[gone(A, 2)], A, A);
    }

    #[test]
    fn nothing_is_remembered_of_who_does_not_hold() {
        let history = [secured(A, &[0, 1]), granted(A), left(A), released(A)];
        assert_eq!(after(MinValidity::default(), &history), MinValidity::default());
    }
}
