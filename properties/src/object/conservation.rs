//! Conservation: the accounts together hold what was put in less what was taken out.
//!
//! Source: the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*, sections on half-transactions
//! and on the example: a transfer in two halves, each a compare-and-set, leaves the sum as it was; in between "итоговая сумма может
//! отличаться от корректной в меньшую сторону", the sum may be less than right, and so never more. The one problem that is left, it says,
//! is the loss of money if the process dies in between.
//!
//! So the sum is looked at in two ways. A [glance](ObjectCall::Glance) may be at any time, and must not show more than
//! there can be. An [audit](ObjectCall::Audit) is when everybody is done, recovery of what crashed included, and must show
//! what there is. Which of the two it is says whoever looks: no history shows that nothing can arrive any more.
//!
//! Left out: how the money is distributed, and whether a withdrawal was refused rightly. Amounts add up within 31 bits.

use super::accounts::Accounts;
use super::call::{ObjectAnswer, ObjectCall};
use super::configurations::Configurations;
use crate::Promise;
use crate::history::ClientId;
use crate::monitor::{Monitor, Verdict, Violation};
use serde::{Deserialize, Serialize};

/// The sum of all accounts is what was put in less what was taken out, as far as clients were told. Broken by what a glance or
/// an audit is told; `other` is the client that looked itself.
///
/// What is under way, was given up, or was the last that a crashed client asked for, counts or does not, the same for all who look
/// later. After a violation the look counts as not answered.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Conservation {
    sums: Configurations<Accounts>,
}

impl Conservation {
    /// Whether the client looks at a sum that may be another one than nothing.
    pub(crate) fn is_tested_by(&self, client: ClientId) -> bool {
        matches!(self.sums.call(client), Some(ObjectCall::Glance | ObjectCall::Audit))
            && self.sums.may_have_changed()
    }
}

impl Monitor for Conservation {
    fn on_invoked(&mut self, client: ClientId, call: ObjectCall) -> Verdict {
        self.sums.give_up(client);
        if call.is_of_accounts() {
            self.sums.begin(client, call);
        }
        Ok(())
    }

    fn on_returned(&mut self, client: ClientId, answer: ObjectAnswer) -> Verdict {
        match self.sums.end(client, &answer) {
            true => Ok(()),
            false => Err(Violation::new(Promise::Conservation, client, client)),
        }
    }

    fn on_unknown(&mut self, client: ClientId) -> Verdict {
        self.sums.give_up(client);
        Ok(())
    }

    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.on_unknown(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Event;
    use crate::notation::*;
    use crate::object::ObjectId;

    const GLANCE: ObjectCall = ObjectCall::Glance;
    const AUDIT: ObjectCall = ObjectCall::Audit;
    const DONE: ObjectAnswer = ObjectAnswer::Done;

    fn add(amount: u32) -> ObjectCall {
        ObjectCall::Add { account: ObjectId(0), amount }
    }

    fn withdraw(amount: u32) -> ObjectCall {
        ObjectCall::Withdraw { account: ObjectId(0), amount }
    }

    fn transfer(amount: u32) -> ObjectCall {
        ObjectCall::Transfer { from: ObjectId(0), to: ObjectId(1), amount }
    }

    fn of(total: i32) -> ObjectAnswer {
        ObjectAnswer::Total { total }
    }

    /// Somebody put in 100.
    fn hundred(history: &[Event]) -> Conservation {
        after(Conservation::default(), &[&done(C, add(100), DONE)[..], history].concat())
    }

    #[track_caller]
    fn audits(monitor: &Conservation, totals: std::ops::RangeInclusive<i32>, right: &[i32]) {
        for total in totals {
            match right.contains(&total) {
                true => assert_kept(monitor.clone(), &done(C, AUDIT, of(total))),
                false => assert_broken(monitor.clone(), &done(C, AUDIT, of(total)), C, C),
            }
        }
    }

    #[test]
    fn an_audit_shows_what_was_put_in_less_what_was_taken_out() {
        let history = [done(A, withdraw(30), DONE), done(B, withdraw(80), ObjectAnswer::Refused)].concat();
        audits(&hundred(&history), 0..=150, &[70]);
    }

    #[test]
    fn a_withdrawal_taken_twice_for_a_lost_answer_is_rejected() {
        // Done, the answer was lost, asked again, and refused.
        let refused = hundred(&done(A, withdraw(60), ObjectAnswer::Refused));
        assert_broken(refused, &done(C, AUDIT, of(40)), C, C);
        let once = hundred(&done(A, withdraw(30), DONE));
        assert_broken(once, &done(C, AUDIT, of(40)), C, C);
    }

    #[test]
    fn what_nobody_knows_counts_or_does_not_and_the_same_for_all() {
        for lost in [unknown(A), crashed(A)] {
            let monitor = hundred(&[invoked(A, withdraw(10)), lost, invoked(B, add(3))]);
            audits(&monitor, 80..=110, &[90, 93, 100, 103]);
            let seen = after(monitor, &done(C, AUDIT, of(93)));
            audits(&seen, 80..=110, &[93]);
        }
    }

    #[test]
    fn a_transfer_leaves_the_sum_and_one_that_died_in_between_does_not() {
        for end in [returned(A, DONE), returned(A, ObjectAnswer::Refused), unknown(A), crashed(A)] {
            audits(&hundred(&[invoked(A, transfer(10)), end]), 80..=120, &[100]);
        }
    }

    #[test]
    fn a_glance_shows_less_and_never_more() {
        let monitor = hundred(&[invoked(A, transfer(10))]);
        for total in [0, 90, 100] {
            assert_kept(monitor.clone(), &done(B, GLANCE, of(total)));
        }
        assert_broken(monitor.clone(), &done(B, GLANCE, of(101)), B, B);
        let more = after(monitor.clone(), &[invoked(C, add(5))]);
        assert_kept(more.clone(), &done(B, GLANCE, of(105)));
        assert_broken(more, &done(B, GLANCE, of(106)), B, B);
        let less = after(monitor, &done(C, withdraw(5), DONE));
        assert_broken(less, &done(B, GLANCE, of(96)), B, B);
    }

    #[test]
    fn a_glance_that_began_before_a_withdrawal_may_show_what_was_there() {
        let monitor = hundred(&[invoked(B, GLANCE), invoked(A, withdraw(5)), returned(A, DONE)]);
        assert_kept(monitor.clone(), &[returned(B, of(100))]);
        assert_broken(monitor, &[returned(B, of(101))], B, B);
    }

    #[test]
    fn after_a_violation_the_sum_is_what_it_was() {
        let mut monitor = hundred(&[invoked(B, AUDIT)]);
        assert!(monitor.observe(returned(B, of(99))).is_err());
        audits(&monitor, 90..=110, &[100]);
    }
}
