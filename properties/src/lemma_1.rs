//! Lemma 1: of two writers who then read, at least one sees the other.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 5.1, Lemma 1.
//!
//! «Если два потока A и B одновременно запишут по одной ячейке в одну строку в Cassandra и после этого прочитают ее,
//! то хотя бы один из них увидит в строке обе записи»: if two threads each write one cell into one row and read the
//! row after that, at least one of them sees both records.
//!
//! The lemma is about two threads and is checked for every pair of them. It takes for granted that a record, once
//! written, stays: the monitor therefore trusts a client's latest read until its call ends or it leaves its critical
//! section, and an engine emits `RowRead` only for a record that stands until then. Two threads that take turns at
//! Listing 6 keep to this even across line 7: a thread withdraws its record only after it saw the other's, and then it
//! did not miss it. Three threads do not: A may have withdrawn because of C, and B, who comes later, rightly misses A.
//!
//! What is read and written does not depend on modes of access.

use crate::Promise;
use crate::history::{ClientId, ClientSet};
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// No two clients read the row after their own write and both miss the other's record. Broken by the second of the two
/// reads; `other` is the earlier reader with the smallest number.
///
/// Watches the clients 0 to 7 ([`Lemma1::CLIENTS_MAX`]); the reads of others are not judged.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Lemma1 {
    /// A square of bits, one row per reader: bit 8 × reader + writer says that the latest read of `reader` missed
    /// `writer`. A client that has not read has missed nobody.
    missed: u64,
}

impl Lemma1 {
    /// How many clients are watched: as many as make a square in one machine word.
    pub const CLIENTS_MAX: u8 = 8;

    /// Whether another client's latest read missed the record of this one, whose own read must see both.
    pub(crate) fn depends_on(&self, writer: ClientId) -> bool {
        let others = (0..Self::CLIENTS_MAX).map(ClientId).filter(|other| *other != writer);
        writer.0 < Self::CLIENTS_MAX && others.into_iter().any(|other| self.missed & miss(other, writer) != 0)
    }

    fn forget(&mut self, reader: ClientId) {
        if reader.0 < Self::CLIENTS_MAX {
            self.missed &= !(0xff << (Self::CLIENTS_MAX * reader.0));
        }
    }
}

/// The bit that says `reader` missed `writer`.
fn miss(reader: ClientId, writer: ClientId) -> u64 {
    1 << (Lemma1::CLIENTS_MAX * reader.0 + writer.0)
}

impl Monitor for Lemma1 {
    fn on_row_read(&mut self, client: ClientId, saw: ClientSet) -> Verdict {
        if client.0 >= Self::CLIENTS_MAX {
            return Ok(());
        }
        self.forget(client);
        let unseen =
            (0..Self::CLIENTS_MAX).map(ClientId).filter(|writer| *writer != client && !saw.contains(*writer));
        let mut missed_each_other = None;
        for other in unseen {
            self.missed |= miss(client, other);
            if self.missed & miss(other, client) != 0 {
                missed_each_other = missed_each_other.or(Some(other));
            }
        }
        match missed_each_other {
            Some(other) => Err(Violation::new(Promise::Lemma1, client, other)),
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
        let clients = || (0..Self::CLIENTS_MAX).map(ClientId);
        let missed = clients().flat_map(|reader| clients().map(move |writer| (reader, writer)));
        let missed = missed.filter(|(reader, writer)| self.missed & miss(*reader, *writer) != 0);
        let renumbered = |client: ClientId| client.renumbered(numbers);
        self.missed =
            missed.fold(0, |all, (reader, writer)| all | miss(renumbered(reader), renumbered(writer)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn two_who_saw_only_themselves_are_rejected() {
        assert_broken(Lemma1::default(), &[read(A, &[A]), read(B, &[B])], B, A);
    }

    #[test]
    fn two_who_saw_nothing_at_all_are_rejected() {
        assert_broken(Lemma1::default(), &[read(A, &[]), read(B, &[])], B, A);
    }

    #[test]
    fn any_pair_of_three_is_judged() {
        let history = [read(A, &[A, B, C]), read(B, &[A, B]), read(C, &[A, C])];
        assert_broken(Lemma1::default(), &history, C, B);
    }

    #[test]
    fn the_last_watched_client_is_judged() {
        let last = ClientId(Lemma1::CLIENTS_MAX - 1);
        assert_broken(Lemma1::default(), &[read(last, &[last]), read(A, &[A])], A, last);
    }

    #[test]
    fn one_who_saw_both_suffices() {
        assert_kept(Lemma1::default(), &[read(A, &[A]), read(B, &[A, B])]);
        assert_kept(Lemma1::default(), &[read(A, &[A, B]), read(B, &[B])]);
    }

    #[test]
    fn a_later_read_takes_the_place_of_an_earlier_one() {
        assert_kept(Lemma1::default(), &[read(A, &[A]), read(A, &[A, B]), read(B, &[B])]);
        assert_broken(Lemma1::default(), &[read(A, &[A, B]), read(A, &[A]), read(B, &[B])], B, A);
    }

    #[test]
    fn a_record_withdrawn_at_the_end_of_a_call_need_not_be_seen() {
        for end in [refused(A), left(A), lost(A), released(A), crashed(A), lock(A)] {
            assert_kept(Lemma1::default(), &[read(A, &[A]), end, read(B, &[B])]);
        }
    }

    #[test]
    fn a_client_beyond_the_limit_is_not_judged() {
        let beyond = ClientId(Lemma1::CLIENTS_MAX);
        let history = [read(beyond, &[beyond]), read(A, &[A]), crashed(beyond)];
        assert_kept(Lemma1::default(), &history);
        assert_broken(after(Lemma1::default(), &history), &[read(B, &[B])], B, A);
    }
}
