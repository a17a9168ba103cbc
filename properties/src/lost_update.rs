//! Lost update: no accepted write rests on a read that another one has made stale.
//!
//! Source: the Cassandra paper, *The Cassandra queue lock*, section 1: what a lock is for is to read, compute and write without anybody in
//! between. Two who withdraw money from one account is its example.
//!
//! Fencing on writes alone does not give this: a superseded holder's write that comes before its successor's is in order
//! ([`FencedResource`](crate::FencedResource)), and if the successor has read by then, its own write undoes the other. A
//! resource that takes note of the token when it is *read* turns the late write down.
//!
//! In whatever modes of access: a lock that lets two write at once does not promise this of them, and readers break it by nothing.

use crate::Promise;
use crate::history::{ClientId, HoldId};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Whoever has read and then writes overwrites nothing that it has not read. Broken by the accepted write; `other` is the
/// client whose accepted write it overwrites unread, the latest one.
///
/// A read stands for the hold in which it was sent. One that is answered again counts anew: its client may go by either
/// answer. The same write accepted again loses nothing but what others wrote since. Who writes without having read loses
/// what there is on purpose: such writes are not judged. Of each client the latest [`LostUpdate::HOLDS_MAX`] holds in
/// which it has read are told apart, the earlier ones are not judged.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LostUpdate {
    /// Who has read, in the order of clients, and of each client the earliest read first.
    readers: Vec<Reader>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Reader {
    client: ClientId,
    hold: HoldId,
    /// Whose write was accepted last, of the others' since.
    overwritten_by: Option<ClientId>,
}

impl LostUpdate {
    /// How many holds of one client are told apart.
    pub const HOLDS_MAX: usize = 8;

    /// Whether the client has read in this hold, and another one has read, too.
    pub(crate) fn is_contended_by(&self, client: ClientId, hold: Option<HoldId>) -> bool {
        let is_own = |reader: &Reader| reader.client == client && Some(reader.hold) == hold;
        self.readers.iter().any(is_own) && self.readers.iter().any(|reader| reader.client != client)
    }

    fn of(&self, client: ClientId) -> std::ops::Range<usize> {
        let start = self.readers.partition_point(|reader| reader.client < client);
        start..self.readers.partition_point(|reader| reader.client <= client)
    }
}

impl Monitor for LostUpdate {
    fn on_resource_read(&mut self, client: ClientId, hold: HoldId) -> Verdict {
        self.readers.retain(|reader| (reader.client, reader.hold) != (client, hold));
        let own = self.of(client);
        self.readers.insert(own.end, Reader { client, hold, overwritten_by: None });
        if own.len() >= Self::HOLDS_MAX {
            self.readers.remove(own.start);
        }
        Ok(())
    }

    fn on_accepted(&mut self, client: ClientId, hold: Option<HoldId>, _usage: &Usage) -> Verdict {
        // Who cannot say in which hold it was sent is not asked whether it has read.
        let is_own = |reader: &Reader| reader.client == client && Some(reader.hold) == hold;
        let mut lost = None;
        for reader in &mut self.readers {
            if is_own(reader) {
                lost = reader.overwritten_by.take();
            } else {
                reader.overwritten_by = Some(client);
            }
        }
        match lost {
            Some(other) => Err(Violation::new(Promise::LostUpdate, client, other)),
            None => Ok(()),
        }
    }

    fn each_hold(&mut self, show: &mut dyn FnMut(ClientId, &mut HoldId)) {
        self.readers.iter_mut().for_each(|reader| show(reader.client, &mut reader.hold));
    }

    fn forget_holds(&mut self, is_over: &dyn Fn(ClientId, HoldId) -> bool) {
        self.readers.retain(|reader| !is_over(reader.client, reader.hold));
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        for reader in &mut self.readers {
            reader.client = reader.client.renumbered(numbers);
            reader.overwritten_by = reader.overwritten_by.map(|writer| writer.renumbered(numbers));
        }
        self.readers.sort_by_key(|reader| reader.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn a_write_over_one_that_came_after_the_read_is_rejected() {
        assert_broken(LostUpdate::default(), &[reads(A), reads(B), accepted(A), accepted(B)], B, A);
    }

    #[test]
    fn it_is_rejected_even_if_the_other_has_not_read() {
        assert_broken(LostUpdate::default(), &[reads(B), accepted(A), accepted(B)], B, A);
    }

    #[test]
    fn it_is_rejected_if_the_other_write_is_of_the_clients_own_earlier_hold() {
        let history = [reads_in(A, 1), reads_in(A, 2), accepted_of(A, 1), accepted_of(A, 2)];
        assert_broken(LostUpdate::default(), &history, A, A);
    }

    #[test]
    fn the_latest_of_several_lost_writes_is_named() {
        assert_broken(LostUpdate::default(), &[reads(C), accepted(A), accepted(B), accepted(C)], C, B);
    }

    #[test]
    fn a_write_that_came_again_after_anothers_is_rejected() {
        let history = [reads(A), accepted(A), reads(B), accepted(B), accepted(A)];
        assert_broken(LostUpdate::default(), &history, A, B);
    }

    #[test]
    fn one_after_the_other_is_accepted() {
        let history = [reads(A), accepted(A), reads(B), accepted(B), reads_in(A, 2), accepted_of(A, 2)];
        assert_kept(LostUpdate::default(), &history);
    }

    #[test]
    fn a_write_that_was_turned_down_loses_nothing_and_makes_nothing_stale() {
        assert_kept(LostUpdate::default(), &[reads(A), reads(B), rejected(A), accepted(B)]);
    }

    #[test]
    fn the_same_write_accepted_again_is_accepted() {
        assert_kept(LostUpdate::default(), &[reads(A), accepted(A), accepted(A)]);
    }

    #[test]
    fn who_has_read_again_may_write() {
        assert_kept(LostUpdate::default(), &[reads(B), accepted(A), reads(B), accepted(B)]);
    }

    #[test]
    fn a_blind_write_loses_what_there_is_on_purpose() {
        assert_kept(LostUpdate::default(), &[accepted(A), accepted(B), accepted(A)]);
    }

    #[test]
    fn of_a_client_that_has_read_too_often_the_earliest_hold_is_not_judged() {
        let often: Vec<_> = (1..=9).map(|hold| reads_in(A, hold)).chain([accepted(B)]).collect();
        let monitor = after(LostUpdate::default(), &often);
        assert_kept(monitor.clone(), &[accepted_of(A, 1)]);
        assert_broken(monitor, &[accepted_of(A, 2)], A, B);
    }
}
