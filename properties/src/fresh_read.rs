//! Fresh read: what is known to be written is read.
//!
//! Source: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, WTF #4, «quorum write, но не read»: a read is
//! answered by the server that the client talks to, which may be behind. «если один клиент узнал об изменении части данных через канал
//! связи все ZooKeeper, ему может помочь принудительная синхронизация»: who has learned of a change outside of the store asks for `sync`
//! first.
//!
//! How a client has learned of it is not judged. Once a record is acknowledged its writer may tell anybody, in no time;
//! so whoever begins to read later may know, and what it knows it must see.
//!
//! What is read and written does not depend on modes of access.

use crate::Promise;
use crate::history::{ClientId, ClientSet};
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// No read misses a record that was acknowledged before the read began. Broken by the end of the read; `other` is the
/// missed writer with the smallest number.
///
/// A record stands until its client's call ends: it may be withdrawn then, and need not be seen any more. Reads whose
/// beginning is not told ([`Event::ReadBegun`](crate::Event::ReadBegun)) are not judged.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FreshRead {
    /// Whose records are acknowledged.
    written: ClientSet,
    /// By client that reads: whose records it must see, in the order of the clients; only those that must see any.
    owed: Vec<(ClientId, ClientSet)>,
}

impl FreshRead {
    /// Whether there is a record that the client's read, under way, must see.
    pub(crate) fn must_see_some(&self, client: ClientId) -> bool {
        self.owed.iter().any(|(reader, _)| *reader == client)
    }

    /// Takes out what a client's read, under way, must see.
    fn take_owed(&mut self, client: ClientId) -> ClientSet {
        match self.owed.binary_search_by_key(&client, |(reader, _)| *reader) {
            Ok(place) => self.owed.remove(place).1,
            Err(_) => ClientSet::EMPTY,
        }
    }

    /// Its record may be withdrawn from now on, and its read is of no interest.
    fn forget(&mut self, client: ClientId) {
        self.take_owed(client);
        self.written.remove(client);
        self.owed.iter_mut().for_each(|(_, owed)| owed.remove(client));
        self.owed.retain(|(_, owed)| !owed.is_empty());
    }
}

impl Monitor for FreshRead {
    fn on_written(&mut self, client: ClientId) -> Verdict {
        self.written.insert(client);
        Ok(())
    }

    fn on_read_begun(&mut self, client: ClientId) -> Verdict {
        self.take_owed(client);
        if !self.written.is_empty() {
            let place = self.owed.partition_point(|(reader, _)| *reader < client);
            self.owed.insert(place, (client, self.written));
        }
        Ok(())
    }

    fn on_row_read(&mut self, client: ClientId, saw: ClientSet) -> Verdict {
        match self.take_owed(client).without(saw).first() {
            Some(other) => Err(Violation::new(Promise::FreshRead, client, other)),
            None => Ok(()),
        }
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.forget(client);
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.forget(client);
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.written = self.written.renumbered(numbers);
        for (reader, owed) in &mut self.owed {
            (*reader, *owed) = (reader.renumbered(numbers), owed.renumbered(numbers));
        }
        self.owed.sort_unstable_by_key(|(reader, _)| *reader);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn a_read_begun_after_the_acknowledgement_that_misses_the_record_is_rejected() {
        assert_broken(FreshRead::default(), &[written(A), begins_to_read(B), read(B, &[])], B, A);
    }

    #[test]
    fn a_client_that_misses_its_own_record_is_rejected() {
        assert_broken(FreshRead::default(), &[written(A), begins_to_read(A), read(A, &[])], A, A);
    }

    #[test]
    fn a_read_that_misses_one_of_two_records_is_rejected() {
        let history = [written(A), written(B), begins_to_read(C), read(C, &[A])];
        assert_broken(FreshRead::default(), &history, C, B);
    }

    #[test]
    fn a_second_read_is_judged_like_the_first() {
        let history = [written(A), begins_to_read(B), read(B, &[A]), begins_to_read(B), read(B, &[])];
        assert_broken(FreshRead::default(), &history, B, A);
    }

    #[test]
    fn a_read_that_sees_all_that_is_known_is_fresh() {
        assert_kept(FreshRead::default(), &[written(A), begins_to_read(B), read(B, &[A, C])]);
    }

    #[test]
    fn a_read_begun_before_the_acknowledgement_may_miss_the_record() {
        assert_kept(FreshRead::default(), &[begins_to_read(B), written(A), read(B, &[])]);
    }

    #[test]
    fn a_read_whose_beginning_is_not_told_is_not_judged() {
        assert_kept(FreshRead::default(), &[written(A), read(B, &[])]);
        let second = [written(A), begins_to_read(B), read(B, &[A]), read(B, &[])];
        assert_kept(FreshRead::default(), &second);
    }

    #[test]
    fn a_record_withdrawn_at_the_end_of_a_call_need_not_be_seen() {
        for end in [refused(A), left(A), lost(A), released(A), crashed(A), lock(A)] {
            assert_kept(FreshRead::default(), &[written(A), end, begins_to_read(B), read(B, &[])]);
            assert_kept(FreshRead::default(), &[written(A), begins_to_read(B), end, read(B, &[])]);
        }
    }

    #[test]
    fn nothing_is_remembered_of_calls_that_are_over() {
        let history = [written(A), begins_to_read(B), read(B, &[A]), released(A)];
        assert_eq!(after(FreshRead::default(), &history), FreshRead::default());
        let history = [written(A), begins_to_read(B), crashed(A)];
        assert_eq!(after(FreshRead::default(), &history), FreshRead::default());
    }
}
