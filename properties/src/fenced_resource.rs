//! Fenced resource: once a write of a later grant was accepted, no write of an earlier grant is.
//!
//! Source: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, the closing question (catalogue row Z18): what a lock
//! is worth if the resource is outside it.
//!
//! Judged at the resource, and separately from [mutual exclusion](crate::MutualExclusion): a pause that outlives a
//! lease breaks mutual exclusion under every lock with leases, while a resource that compares fencing tokens still
//! keeps this promise. The monitor does not look at the tokens: whether they do what they are for is the question.
//!
//! A write rests on the grant that began the hold in which it was sent, whatever its client has been granted since.
//!
//! A write of a superseded holder that arrives before any write of its successor is in order: to the resource the writes
//! come in the order of the grants. What such a write does to a successor that has read already is judged by
//! [`LostUpdate`](crate::LostUpdate).
//!
//! With several modes of access, a grant supersedes those before it that are incompatible with it: writes of clients that may
//! hold together come in any order. A grant in a mode that does not let its holder write lets nothing rest on it.

use crate::Promise;
use crate::access::AccessModes;
use crate::grant_order::{Grant, GrantOrder, Made};
use crate::history::{ClientId, ClientSet, FencingToken, HoldId, Mode, ServerSet};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Accepted writes come in the order of the grants that they rest on. Broken by an accepted write that rests on a grant
/// before that of a write accepted earlier, in an incompatible mode (`other` is the last writer), or on none at all (`other` is
/// the last writer, or the client itself).
///
/// Grants count in the order in which the store made them, where it says so
/// ([`Event::Acquired`](crate::Event::Acquired)), else in the order in which the clients learned of them; what a client believes in that
/// the store has not made comes before a grant that it has made by then, whose record is there and whose client learns of it later. Neither is
/// before the other of such a one and a grant whose record is gone by then and whose client learns of it later, nor of two grants of quorums
/// whose records were made across each other ([`Event::RecordMade`](crate::Event::RecordMade)): that one counts as the earlier one of which
/// a write is accepted first.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FencedResource {
    /// The grants that writes may still rest on: all but those that were made before the grant of an accepted write and are
    /// incompatible with it.
    order: GrantOrder<HoldId>,
    /// Who has acquired the lock before the last accepted write's grant, and not learned it yet.
    superseded: ClientSet,
    /// On which servers records of whom have made no grant yet, and were made before the grant of an accepted write; in the order of the
    /// clients. A grant that rests on these alone is superseded; if it rests on later ones, too, it comes after the write's.
    stale: Vec<(ClientId, ServerSet)>,
    /// Whose write was accepted last.
    writer: Option<ClientId>,
}

impl Monitor for FencedResource {
    fn on_called(&mut self, client: ClientId, _mode: Mode, usage: &Usage) -> Verdict {
        self.order.on_called(client, usage);
        self.forget_stale(client);
        if !usage.accesses.modes().is_exclusive() {
            self.superseded.remove(client);
        }
        Ok(())
    }

    fn on_acquired(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        let access = usage.accesses.of(client);
        if usage.accesses.modes().may_write(access) {
            self.order.on_acquired(client, access, usage);
            if !self.order.holding.contains(client) {
                self.superseded.remove(client);
                self.forget_stale(client);
            }
        }
        Ok(())
    }

    fn on_record_made(&mut self, client: ClientId, server: u8, usage: &Usage) -> Verdict {
        let access = usage.accesses.of(client);
        if usage.accesses.modes().may_write(access) {
            self.order.on_record_made(client, server, access);
            if let Ok(place) = self.stale_of(client) {
                self.stale[place].1.remove(server);
                self.stale.retain(|(_, servers)| !servers.is_empty());
            }
        }
        Ok(())
    }

    fn on_record_gone(&mut self, client: ClientId, _server: u8) -> Verdict {
        self.order.on_record_gone(client);
        Ok(())
    }

    fn on_secured(&mut self, client: ClientId, servers: ServerSet) -> Verdict {
        let stale = self.stale_of(client).map_or(ServerSet::EMPTY, |place| self.stale[place].1);
        let of_it = self.order.grants.iter().filter(|grant| grant.client == client).map(Grant::parts);
        let is_fresh = of_it.into_iter().any(|parts| parts.without(stale).meets(servers));
        if stale.meets(servers) && !is_fresh {
            self.order.void(client);
            self.superseded.insert(client);
        } else if self.order.on_secured(client, servers) {
            self.superseded.remove(client);
        }
        self.forget_stale(client);
        Ok(())
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        _fence: Option<FencingToken>,
        hold: HoldId,
        usage: &Usage,
    ) -> Verdict {
        let access = usage.accesses.of(client);
        self.forget_stale(client);
        if self.superseded.contains(client) || !usage.accesses.modes().may_write(access) {
            self.superseded.remove(client);
            self.order.forget_parts(client);
            self.order.holding.insert(client);
        } else {
            self.order.on_granted(client, access, hold);
        }
        Ok(())
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.order.forget_parts(client);
        self.forget_stale(client);
    }

    // A write may arrive after its sender has left or crashed: it is in order until a later grant's is there.
    fn on_hold_ended(&mut self, client: ClientId) {
        self.order.on_hold_ended(client);
    }

    fn on_accepted(&mut self, client: ClientId, hold: Option<HoldId>, usage: &Usage) -> Verdict {
        let rests_on = self.order.grants.iter().rposition(|grant| {
            let is_meant = |learned: HoldId| hold.is_none_or(|hold| hold == learned);
            grant.client == client && grant.is_made() && grant.learned.is_some_and(is_meant)
        });
        let Some(rests_on) = rests_on else {
            let other = self.writer.unwrap_or(client);
            return Err(Violation::new(Promise::FencedResource, client, other));
        };
        self.supersede_those_before(rests_on, usage.accesses.modes());
        self.writer = Some(client);
        Ok(())
    }

    fn each_hold(&mut self, show: &mut dyn FnMut(ClientId, &mut HoldId)) {
        for grant in &mut self.order.grants {
            if let Some(hold) = &mut grant.learned {
                show(grant.client, hold);
            }
        }
    }

    fn forget_holds(&mut self, is_over: &dyn Fn(ClientId, HoldId) -> bool) {
        self.order.grants.retain(|grant| grant.learned.is_none_or(|hold| !is_over(grant.client, hold)));
        self.order.join_parts();
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.order.renumber_clients(numbers);
        self.superseded = self.superseded.renumbered(numbers);
        self.stale.iter_mut().for_each(|(client, _)| *client = client.renumbered(numbers));
        self.stale.sort_unstable_by_key(|(client, _)| *client);
        self.writer = self.writer.map(|writer| writer.renumbered(numbers));
    }
}

impl FencedResource {
    /// Whose write was accepted last.
    pub(crate) fn writer(&self) -> Option<ClientId> {
        self.writer
    }

    /// A write was accepted that rests on the grant made at this place.
    fn supersede_those_before(&mut self, mut rests_on: usize, modes: &AccessModes) {
        let written = self.order.grants[rests_on];
        let mut begun = self.order.begun(rests_on);
        let (mut stale, mut gone) = (Vec::new(), ClientSet::EMPTY);
        for place in (0..begun).rev() {
            let grant = self.order.grants[place];
            if modes.compatible(written.access, grant.access) {
                continue;
            }
            match grant.made {
                Made::Parts(_) => stale.push(grant),
                Made::Begun if gone.contains(grant.client) => gone.remove(grant.client),
                // It ends while this one is made, or after that.
                Made::Begun => continue,
                Made::Whole | Made::Ended | Made::Awaited | Made::Over => {
                    if self.order.begun(place) != place {
                        gone.insert(grant.client);
                    }
                    if grant.learned.is_none() {
                        self.superseded.insert(grant.client);
                    }
                }
            }
            self.order.grants.remove(place);
            (begun, rests_on) = (begun - 1, rests_on - 1);
        }
        let grants = &mut self.order.grants;
        // Whoever writes from now on comes later, though its grant was made across this one.
        if grants[..=rests_on].iter().any(|grant| grant.made != Made::Whole) {
            grants.remove(rests_on);
            if begun != rests_on {
                grants.remove(begun);
            }
            grants.insert(0, Grant { made: Made::Whole, ..written });
            rests_on = 0;
        }
        for grant in stale {
            let place = self.stale.binary_search_by_key(&grant.client, |(client, _)| *client);
            match place {
                Ok(place) => self.stale[place].1 = self.stale[place].1.union(grant.parts()),
                Err(place) => self.stale.insert(place, (grant.client, grant.parts())),
            }
            grants.insert(rests_on + 1, grant);
        }
        self.order.join_parts();
    }

    fn stale_of(&self, client: ClientId) -> Result<usize, usize> {
        self.stale.binary_search_by_key(&client, |(whose, _)| *whose)
    }

    fn forget_stale(&mut self, client: ClientId) {
        if let Ok(place) = self.stale_of(client) {
            self.stale.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccessModes;
    use crate::notation::*;

    #[test]
    fn a_write_of_an_earlier_grant_after_one_of_a_later_grant_is_rejected() {
        let history = [granted(A), granted(B), accepted(B), accepted(A)];
        assert_broken(FencedResource::default(), &history, A, B);
    }

    #[test]
    fn writers_that_hold_together_write_in_any_order() {
        let cw = AccessModes::DLM.named("CW").expect("it is one of the six");
        let history = [locks_in(A, cw), granted(A), locks_in(B, cw), granted(B), accepted(B), accepted(A)];
        let monitor = after(among::<FencedResource>(AccessModes::DLM), &history);
        // Then somebody is granted the lock alone and writes: what they send after that is late.
        let monitor = after(monitor, &[lock(C), granted(C), accepted(C)]);
        assert_broken(monitor.clone(), &[accepted(A)], A, C);
        assert_broken(monitor, &[accepted(B)], B, C);
    }

    #[test]
    fn who_believes_in_a_grant_while_the_store_has_made_the_lock_anothers_is_before_the_other() {
        let history = [lock(A), lock(B), acquired(B), granted(A), left(A), granted(B)];
        let monitor = after(FencedResource::default(), &history);
        assert_kept(monitor.clone(), &[accepted(A), accepted(B)]);
        assert_broken(monitor, &[accepted(B), accepted(A)], A, B);
        // What the store makes afterwards is later, as are grants of which it says nothing.
        let history = [lock(A), lock(B), granted(A), acquired(B), granted(B), granted(C)];
        let monitor = after(FencedResource::default(), &history);
        assert_broken(monitor.clone(), &[accepted(B), accepted(A)], A, B);
        assert_broken(monitor, &[accepted(C), accepted(B)], B, C);
    }

    #[test]
    fn who_is_given_the_lock_after_anothers_record_is_gone_is_later_than_the_other() {
        for over in [record_gone(A), acquired(C)] {
            let history = [lock(A), lock(B), acquired(A), over, acquired(B), granted(B), granted(A)];
            let monitor = after(FencedResource::default(), &history);
            assert_broken(monitor.clone(), &[accepted(B), accepted(A)], A, B);
            assert_kept(monitor, &[accepted(A), accepted(B)]);
        }
    }

    #[test]
    fn who_was_given_the_lock_for_a_moment_is_neither_before_nor_after_who_believes_in_a_grant_meanwhile() {
        for over in [record_gone(A), acquired(C)] {
            let believes = [lock(A), lock(B), acquired(A), over, granted(B)];
            let monitor = after(FencedResource::default(), &believes);
            let both = after(monitor.clone(), &[granted(A)]);
            assert_kept(both.clone(), &[accepted(A), accepted(B)]);
            assert_broken(both.clone(), &[accepted(A), accepted(B), accepted(A)], A, B);
            assert_broken(both, &[accepted(B), accepted(A), accepted(B)], B, A);
            // Whether it writes before or after the other has learned.
            assert_kept(monitor, &[accepted(B), granted(A), accepted(A)]);
        }
    }

    #[test]
    fn who_was_given_the_lock_for_a_moment_is_before_whom_the_store_gave_it_to_later() {
        let learned = after(FencedResource::default(), &[acquired(A), acquired(C), granted(C), granted(A)]);
        assert_broken(learned, &[accepted(C), accepted(A)], A, C);
        // Once that one has learned, it is before whoever believes in a grant, too.
        let learned = [
            acquired(A),
            record_gone(A),
            granted(B),
            acquired(C),
            granted(C),
            left(C),
            granted(D),
            granted(A),
        ];
        let learned = after(FencedResource::default(), &learned);
        assert_kept(learned.clone(), &[accepted(B), accepted(A)]);
        assert_broken(learned, &[accepted(D), accepted(A)], A, D);
    }

    #[test]
    fn of_a_grant_to_share_the_store_need_not_tell() {
        // A's record to write is gone when B reads, and C writes after that, of which the store tells neither.
        let history = [lock(A), acquired(A), reads_lock(B), granted(B), left(B), lock(C), granted(C)];
        let monitor = after(shared::<FencedResource>(), &history);
        assert_broken(monitor, &[granted(A), accepted(C), accepted(A)], A, C);
    }

    #[test]
    fn nothing_rests_on_a_grant_to_read() {
        assert_broken(shared::<FencedResource>(), &[reads_lock(A), granted(A), accepted(A)], A, A);
        let history = [lock(A), granted(A), accepted(A), left(A), released(A), reads_lock(A), granted(A)];
        let monitor = after(shared::<FencedResource>(), &history);
        assert_broken(monitor, &[accepted_of(A, 2)], A, A);
    }

    #[test]
    fn a_reader_supersedes_nobody_by_what_it_does_not_write() {
        let history = [lock(A), granted(A), reads_lock(B), granted(B), accepted(A), accepted(A)];
        assert_kept(shared::<FencedResource>(), &history);
    }

    #[test]
    fn it_is_rejected_even_if_its_sender_left_properly_or_crashed() {
        for end in [left(A), lost(A), crashed(A)] {
            let history = [granted(A), end, granted(B), accepted(B), accepted(A)];
            assert_broken(FencedResource::default(), &history, A, B);
        }
    }

    #[test]
    fn it_is_rejected_even_if_its_sender_holds_again() {
        let history =
            [granted(A), left(A), granted(B), accepted(B), left(B), granted_again(A, 2), accepted_of(A, 1)];
        assert_broken(FencedResource::default(), &history, A, B);
        let own = [granted(A), left(A), granted_again(A, 2), accepted_of(A, 2), accepted_of(A, 1)];
        assert_broken(FencedResource::default(), &own, A, A);
    }

    #[test]
    fn a_write_accepted_from_a_client_that_was_never_granted_is_rejected() {
        assert_broken(FencedResource::default(), &[accepted(A)], A, A);
        assert_broken(FencedResource::default(), &[lock(A), acquired(A), accepted(A)], A, A);
    }

    #[test]
    fn a_superseded_write_that_the_resource_turned_down_is_accepted() {
        assert_kept(
            FencedResource::default(),
            &[granted(A), granted(B), accepted(B), rejected(A), accepted(B)],
        );
    }

    #[test]
    fn a_superseded_write_that_arrives_before_any_later_one_is_accepted() {
        assert_kept(FencedResource::default(), &[granted(A), granted(B), accepted(A), accepted(B)]);
    }

    #[test]
    fn a_late_write_of_its_senders_earlier_hold_is_accepted_before_any_later_one() {
        let history = [granted(A), left(A), granted_again(A, 2), granted(B), accepted_of(A, 1), accepted(B)];
        assert_kept(FencedResource::default(), &history);
    }

    #[test]
    fn a_write_that_arrives_after_its_sender_left_is_accepted() {
        for end in [left(A), lost(A), crashed(A)] {
            assert_kept(FencedResource::default(), &[granted(A), end, accepted(A)]);
        }
    }

    #[test]
    fn a_write_of_which_nobody_knows_the_hold_rests_on_its_senders_latest_grant() {
        let inside = crate::Event::Accepted { client: A, fence: None, hold: None };
        let history = [granted(A), left(A), granted(B), accepted(B), left(B), granted_again(A, 2), inside];
        assert_kept(FencedResource::default(), &history);
        assert_broken(FencedResource::default(), &[granted(A), granted(B), accepted(B), inside], A, B);
    }

    #[test]
    fn who_learns_late_of_its_grant_is_granted_when_the_store_granted_it() {
        let late = [lock(A), lock(B), acquired(A), acquired(B), granted(B), granted(A)];
        let monitor = after(FencedResource::default(), &late);
        assert_kept(monitor.clone(), &[accepted(A), accepted(B)]);
        assert_broken(monitor, &[accepted(B), accepted(A)], A, B);
    }

    #[test]
    fn a_record_of_an_earlier_call_dates_the_grant_that_it_brings() {
        // A doubled request makes A's record once more after A has left; A's next call finds it, and is answered late.
        let again =
            [lock(A), acquired(A), granted(A), left(A), acquired(A), released(A), lock(A), acquired(B)];
        let monitor = after(FencedResource::default(), &again);
        assert_kept(monitor.clone(), &[granted(B), granted_again(A, 2), accepted_of(A, 2), accepted(B)]);
        let late = [granted(B), accepted(B), granted_again(A, 2), accepted_of(A, 2)];
        assert_broken(monitor.clone(), &late, A, B);
        // A record of its own is what a grant rests on.
        let own = [granted(B), accepted(B), left(B), acquired(A), granted_again(A, 2), accepted_of(A, 2)];
        assert_kept(monitor, &own);
    }

    #[test]
    fn with_several_modes_what_was_acquired_in_an_earlier_call_dates_no_grant() {
        let history = [lock(A), acquired(A), refused(A), lock(B), granted(B), lock(A), granted(A)];
        assert_kept(after(shared::<FencedResource>(), &history), &[accepted(B), accepted(A)]);
    }

    #[test]
    fn of_several_records_that_a_client_acquires_before_it_learns_of_one_the_last_dates_its_grant() {
        // B's record of a dead session is the first in the queue once more, and goes; B's new one comes after A.
        let history = [lock(B), acquired(B), acquired(A), granted(A), accepted(A), left(A)];
        let monitor = after(FencedResource::default(), &history);
        assert_kept(monitor.clone(), &[acquired(B), granted(B), accepted(B)]);
        // Without the second one it is the first that B has learned of late.
        assert_broken(monitor, &[granted(B), accepted(B)], B, A);
    }

    #[test]
    fn who_has_its_quorum_before_another_begins_is_the_earlier_one_whenever_it_learns() {
        let records =
            [lock(A), lock(B), record_made(A, 0), record_made(A, 1), record_made(B, 1), record_made(B, 2)];
        let learned = [secured(B, &[1, 2]), granted(B), secured(A, &[0, 1]), granted(A)];
        let monitor = after(after(FencedResource::default(), &records), &learned);
        assert_kept(monitor.clone(), &[accepted(A), accepted(B)]);
        assert_broken(monitor, &[accepted(B), accepted(A)], A, B);
        // A record that it does not rest on makes it no later.
        let late = [record_made(A, 2), secured(B, &[1, 2]), granted(B), secured(A, &[0, 1]), granted(A)];
        let monitor = after(after(FencedResource::default(), &records), &late);
        assert_kept(monitor.clone(), &[accepted(A), accepted(B)]);
        assert_broken(monitor, &[accepted(B), accepted(A)], A, B);
    }

    #[test]
    fn of_quorums_made_across_each_other_who_writes_first_is_the_earlier_one() {
        let across =
            [lock(A), lock(B), record_made(A, 0), record_made(B, 1), record_made(A, 1), record_made(B, 2)];
        let learned = [secured(A, &[0, 1]), granted(A), secured(B, &[1, 2]), granted(B)];
        // One may be made within the other.
        let within =
            [lock(A), lock(B), record_made(B, 1), record_made(A, 0), record_made(A, 1), record_made(B, 2)];
        for made in [across, within] {
            let monitor = after(after(FencedResource::default(), &made), &learned);
            assert_broken(monitor.clone(), &[accepted(A), accepted(B), accepted(B), accepted(A)], A, B);
            assert_broken(monitor, &[accepted(B), accepted(A), accepted(A), accepted(B)], B, A);
        }
    }

    #[test]
    fn who_learns_of_a_quorum_after_a_later_ones_write_is_late() {
        let history = [lock(A), lock(B), record_made(A, 0), record_made(B, 1), record_made(B, 2)];
        let history = after(FencedResource::default(), &history);
        let monitor = after(history, &[secured(B, &[1, 2]), granted(B), accepted(B)]);
        assert_broken(monitor.clone(), &[secured(A, &[0]), granted(A), accepted(A)], A, B);
        // With a later record of its own it is not, and supersedes; nor is it in a later call.
        let later = [record_made(A, 2), secured(A, &[0, 2]), granted(A), accepted(A)];
        let later = after(monitor.clone(), &later);
        assert_broken(later, &[accepted(B)], B, A);
        let again = [refused(A), lock(A), record_made(A, 0), secured(A, &[0]), granted(A), accepted(A)];
        assert_kept(monitor, &again);
    }

    #[test]
    fn in_which_order_records_of_one_client_are_made_is_forgotten() {
        let one = after(FencedResource::default(), &[lock(A), record_made(A, 0), record_made(A, 1)]);
        let other = after(FencedResource::default(), &[lock(A), record_made(A, 1), record_made(A, 0)]);
        assert_eq!(one, other);
        let none = after(one, &[refused(A)]);
        assert_eq!(none, after(FencedResource::default(), &[lock(A), refused(A)]));
    }

    #[test]
    fn a_record_set_once_more_does_not_make_a_hold_younger() {
        let history =
            [acquired(A), granted(A), acquired(B), granted(B), acquired(A), accepted(B), accepted(A)];
        assert_broken(FencedResource::default(), &history, A, B);
    }

    #[test]
    fn a_client_granted_again_may_write_again() {
        assert_kept(
            FencedResource::default(),
            &[granted(A), granted(B), accepted(B), left(A), granted_again(A, 2), accepted_of(A, 2)],
        );
    }

    #[test]
    fn a_hold_that_nothing_can_arrive_from_any_more_is_forgotten() {
        let mut monitor = after(FencedResource::default(), &[granted(A), left(A), granted(B)]);
        monitor.forget_holds(&|client, hold| (client, hold) == (A, HoldId(1)));
        assert_eq!(monitor, after(FencedResource::default(), &[granted(B)]));
    }
}
