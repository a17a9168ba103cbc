//! Token order: the fencing tokens that come with grants are different, and grow in the order of the grants.
//!
//! Source: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, the closing question, and catalogue rows F1 to F4:
//! what makes a fencing token one. A resource can tell a superseded holder by its token only if its successor's is larger.
//!
//! Judged at the grant, not at the resource: a lock that hands out the same token twice breaks this promise whether or not
//! a late write is under way that makes use of it ([`FencedResource`](crate::FencedResource) is broken only then).
//!
//! In whatever modes of access: a lock that gives tokens to readers, too, gives each another one, or does not promise this. One
//! that gives them to writers only is judged by those.

use crate::Promise;
use crate::access::Access;
use crate::grant_order::{GrantOrder, Made};
use crate::history::{ClientId, FencingToken, HoldId, Mode, ServerSet};
use crate::monitor::{Monitor, Verdict, Violation};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// Of two grants of one lock that come with tokens, the later one comes with the larger token. Broken by the grant that
/// its client learns of second; `other` is the client of the other grant: of the largest token among the earlier grants, or
/// of the smallest among the later ones.
///
/// Grants count in the order in which the store made them, where it says so
/// ([`Event::Acquired`](crate::Event::Acquired)), else in the order in which the clients learned of them. Two grants of quorums whose
/// records were made across each other ([`Event::RecordMade`](crate::Event::RecordMade)) are not compared, nor is a grant without a
/// token.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TokenOrder {
    order: GrantOrder<Tokens>,
}

/// The tokens of grants between which no other can come any more: the smallest of those that begin here, and the largest of those
/// that are made here. Where none begins, or none is made, both are the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Tokens {
    smallest: (FencingToken, ClientId),
    largest: (FencingToken, ClientId),
}

impl Monitor for TokenOrder {
    fn on_called(&mut self, client: ClientId, _mode: Mode, usage: &Usage) -> Verdict {
        self.order.on_called(client, usage);
        self.join();
        Ok(())
    }

    fn on_acquired(&mut self, client: ClientId, usage: &Usage) -> Verdict {
        self.order.on_acquired(client, Access::FIRST, usage);
        self.join();
        Ok(())
    }

    fn on_record_made(&mut self, client: ClientId, server: u8, _usage: &Usage) -> Verdict {
        self.order.on_record_made(client, server, Access::FIRST);
        self.join();
        Ok(())
    }

    fn on_record_gone(&mut self, client: ClientId, _server: u8) -> Verdict {
        self.order.on_record_gone(client);
        Ok(())
    }

    fn on_secured(&mut self, client: ClientId, servers: ServerSet) -> Verdict {
        self.order.on_secured(client, servers);
        self.join();
        Ok(())
    }

    fn on_call_ended(&mut self, client: ClientId) {
        self.order.forget_parts(client);
        self.join();
    }

    fn on_granted(
        &mut self,
        client: ClientId,
        fence: Option<FencingToken>,
        _hold: HoldId,
        _usage: &Usage,
    ) -> Verdict {
        let Some(token) = fence else {
            // It takes its place, and has nothing to be compared.
            self.order.void(client);
            self.order.holding.insert(client);
            self.join();
            return Ok(());
        };
        let own = (token, client);
        let own = Tokens { smallest: own, largest: own };
        let (begun, made) = self.order.on_granted(client, Access::FIRST, own);
        let (earlier, later) = (&self.order.grants[..begun], &self.order.grants[made + 1..]);
        let largest = earlier.iter().filter(|grant| grant.is_made()).filter_map(|grant| grant.learned);
        let smallest =
            later.iter().filter(|grant| grant.made != Made::Ended).filter_map(|grant| grant.learned);
        let largest = largest.map(|tokens| tokens.largest);
        let smallest = smallest.map(|tokens| tokens.smallest);
        let (before, after) =
            (largest.max_by_key(|(token, _)| *token), smallest.min_by_key(|(token, _)| *token));
        let other = match (before, after) {
            (Some((largest, other)), _) if largest >= token => Some(other),
            (_, Some((smallest, other))) if smallest <= token => Some(other),
            (Some(_) | None, Some(_) | None) => None,
        };
        self.join();
        match other {
            Some(other) => Err(Violation::new(Promise::TokenOrder, client, other)),
            None => Ok(()),
        }
    }

    fn on_hold_ended(&mut self, client: ClientId) {
        self.order.on_hold_ended(client);
    }

    fn each_token(&mut self, show: &mut dyn FnMut(&mut FencingToken)) {
        for grant in &mut self.order.grants {
            if let Some(tokens) = &mut grant.learned {
                show(&mut tokens.smallest.0);
                show(&mut tokens.largest.0);
            }
        }
    }

    fn renumber_clients(&mut self, numbers: &[u8]) {
        self.order.renumber_clients(numbers);
        let learned = self.order.grants.iter_mut().filter_map(|grant| grant.learned.as_mut());
        for (_, client) in learned.flat_map(|tokens| [&mut tokens.smallest, &mut tokens.largest]) {
            *client = client.renumbered(numbers);
        }
    }
}

impl TokenOrder {
    /// Whether a token was given out before.
    pub(crate) fn has_given(&self) -> bool {
        self.order.grants.iter().any(|grant| grant.learned.is_some())
    }

    /// Puts together what stands side by side.
    fn join(&mut self) {
        self.order.grants.dedup_by(|later, earlier| match (earlier.learned, later.learned) {
            (Some(first), Some(second)) => {
                let both = [(earlier.made, first), (later.made, second)];
                let smallest =
                    both.iter().filter(|(made, _)| *made != Made::Ended).map(|both| both.1.smallest);
                let largest = both.iter().filter(|(made, _)| *made != Made::Begun).map(|both| both.1.largest);
                // Of equal tokens the one that is nearest to what stands outside.
                let smallest = smallest.min_by_key(|(token, _)| *token);
                let largest = largest.max_by_key(|(token, _)| *token);
                (earlier.made, earlier.learned) = match (smallest, largest) {
                    (Some(smallest), Some(largest)) => (Made::Whole, Some(Tokens { smallest, largest })),
                    (Some(one), None) => (Made::Begun, Some(Tokens { smallest: one, largest: one })),
                    (None, one) => (Made::Ended, one.map(|one| Tokens { smallest: one, largest: one })),
                };
                true
            }
            (Some(_) | None, Some(_) | None) => false,
        });
        for grant in &mut self.order.grants {
            // Which client stands for tokens is in the tokens.
            if let Some(tokens) = &grant.learned {
                grant.client = tokens.largest.1;
            }
        }
        // Nothing can come before what stands first: how small its tokens are does not matter.
        if self.order.grants.first().is_some_and(|first| first.learned.is_some() && first.made == Made::Begun)
        {
            self.order.grants.remove(0);
        }
        if let Some(first) = self.order.grants.first_mut()
            && let Some(tokens) = &mut first.learned
        {
            first.made = Made::Whole;
            tokens.smallest = tokens.largest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn who_learns_late_of_a_quorum_that_it_had_first_has_the_smaller_token() {
        let records =
            [lock(A), lock(B), record_made(A, 0), record_made(A, 1), record_made(B, 1), record_made(B, 2)];
        let monitor = after(TokenOrder::default(), &records);
        let monitor = after(monitor, &[secured(B, &[1, 2]), granted_token(B, 2), secured(A, &[0, 1])]);
        assert_kept(monitor.clone(), &[granted_token(A, 1)]);
        assert_broken(monitor, &[granted_token(A, 3)], A, B);
    }

    #[test]
    fn of_quorums_made_across_each_other_either_may_have_the_smaller_token() {
        let records =
            [lock(A), lock(B), record_made(A, 0), record_made(B, 1), record_made(A, 1), record_made(B, 2)];
        let monitor = after(TokenOrder::default(), &records);
        let monitor = after(monitor, &[secured(B, &[1, 2]), granted_token(B, 2), secured(A, &[0, 1])]);
        for token in [1, 3] {
            let monitor = after(monitor.clone(), &[granted_token(A, token), left(A), left(B)]);
            // Who begins when both are made comes after both.
            let next = after(monitor, &[lock(C), record_made(C, 0), record_made(C, 1), secured(C, &[0, 1])]);
            assert_kept(next.clone(), &[granted_token(C, 4)]);
            assert_broken(next, &[granted_token(C, 2)], C, if token == 3 { A } else { B });
        }
    }

    #[test]
    fn who_believes_in_a_grant_while_the_store_has_made_the_lock_anothers_has_the_smaller_token() {
        let monitor = after(TokenOrder::default(), &[lock(A), lock(B), acquired(B), granted_token(A, 5)]);
        assert_kept(monitor.clone(), &[granted_token(B, 7)]);
        assert_broken(monitor, &[granted_token(B, 3)], B, A);
    }

    #[test]
    fn who_was_given_the_lock_for_a_moment_may_have_either_token_beside_who_believes_in_a_grant_meanwhile() {
        let monitor = after(TokenOrder::default(), &[acquired(A), record_gone(A), granted_token(B, 5)]);
        for token in [3, 7] {
            let monitor = after(monitor.clone(), &[granted_token(A, token)]);
            assert_kept(monitor.clone(), &[granted_token(C, 8)]);
            assert_broken(monitor, &[granted_token(C, 4)], C, if token == 3 { B } else { A });
        }
    }

    #[test]
    fn a_smaller_token_of_a_later_grant_is_rejected() {
        assert_broken(TokenOrder::default(), &[granted_token(A, 7), left(A), granted_token(B, 3)], B, A);
    }

    #[test]
    fn the_same_token_given_twice_is_rejected_even_to_the_same_client() {
        assert_broken(TokenOrder::default(), &[granted_token(A, 7), left(A), granted_token(B, 7)], B, A);
        assert_broken(TokenOrder::default(), &[granted_token(A, 7), left(A), granted_token(A, 7)], A, A);
    }

    #[test]
    fn the_holder_of_the_largest_token_so_far_is_named() {
        let mut monitor = after(TokenOrder::default(), &[granted_token(A, 7)]);
        let _ = monitor.observe(granted_token(B, 3));
        assert_broken(monitor, &[granted_token(C, 5)], C, A);
    }

    #[test]
    fn growing_tokens_are_accepted_with_or_without_gaps() {
        let history = [granted_token(A, 1), left(A), granted_token(B, 2), left(B), granted_token(A, 9)];
        assert_kept(TokenOrder::default(), &history);
    }

    #[test]
    fn grants_without_tokens_are_not_judged() {
        assert_kept(TokenOrder::default(), &[granted_token(A, 7), granted(B), granted_token(C, 8)]);
        assert_kept(TokenOrder::default(), &[acquired(A), acquired(B), granted_token(B, 1), granted(A)]);
    }

    #[test]
    fn who_learns_late_of_its_grant_has_the_smaller_token() {
        let late = after(TokenOrder::default(), &[acquired(A), acquired(B), granted_token(B, 2)]);
        assert_kept(late.clone(), &[granted_token(A, 1), granted_token(C, 3)]);
        assert_broken(late.clone(), &[granted_token(A, 2)], A, B);
        assert_broken(late, &[granted_token(A, 3)], A, B);
        // Without the store's word it is the later grant.
        assert_broken(TokenOrder::default(), &[granted_token(B, 2), granted_token(A, 1)], A, B);
    }

    #[test]
    fn the_smallest_of_the_tokens_given_since_is_what_counts_for_who_learns_late() {
        let late = [acquired(A), acquired(B), granted_token(B, 5), left(B), acquired(C), granted_token(C, 9)];
        let monitor = after(TokenOrder::default(), &late);
        assert_kept(monitor.clone(), &[granted_token(A, 4)]);
        assert_broken(monitor, &[granted_token(A, 6)], A, B);
    }

    #[test]
    fn of_equal_tokens_the_one_nearest_to_who_learns_late_is_named() {
        let history = [acquired(A), acquired(C), granted_token(C, 5), acquired(B)];
        let mut monitor = after(TokenOrder::default(), &history);
        let _ = monitor.observe(granted_token(B, 5));
        assert_broken(monitor, &[granted_token(A, 7)], A, C);
    }

    #[test]
    fn only_the_largest_token_is_remembered_once_nobody_can_come_between() {
        let history = [granted_token(A, 1), left(A), granted_token(B, 2), left(B)];
        let last = after(TokenOrder::default(), &[granted_token(B, 2), left(B)]);
        assert_eq!(after(TokenOrder::default(), &history), last);
        let voided =
            [acquired(A), granted_token(B, 1), left(B), granted(A), left(A), granted_token(B, 2), left(B)];
        assert_eq!(after(TokenOrder::default(), &voided), last);
    }
}
