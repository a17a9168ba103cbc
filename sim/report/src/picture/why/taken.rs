//! What another client takes of what the store made the lock somebody's by, where no name in it says whose it is.

use super::stored::place_of;
use super::{Breaks, Cause, Kind, Search, reports_of};
use crate::flights::Flight;

impl Search<'_> {
    /// Of each who holds: where a message of another client takes what the store had stored for it, unless that is told already; and what
    /// was lost, if the other one said the same before.
    pub(super) fn taken_by_others(&self, causes: &[Cause], flights: &[Flight]) -> Vec<Cause> {
        let Some(Breaks { promise, parties, .. }) = &self.breaks else { return Vec::new() };
        if promise.is_of_progress() || self.is_of_objects {
            return Vec::new();
        }
        let holders = parties.iter().filter(|client| !self.is_granted_in(self.end, client));
        let taken = holders.filter_map(|client| self.taken_from(client));
        let is_told = |cause: &Cause| {
            let is_it = |told: &Cause| told.kind == Kind::Gone || told.words.contains(" is gone on ");
            causes.iter().any(|told| told.position == cause.position && is_it(told))
        };
        let mut told = Vec::new();
        for cause in taken {
            told.extend(self.lost_before(cause.position, flights));
            if !is_told(&cause) {
                told.push(cause);
            }
        }
        told
    }

    fn taken_from(&self, client: &str) -> Option<Cause> {
        let events = &self.story.events;
        let granted = self.last_report(client, |reported| reported.is_grant())?;
        let makes_it = |position: &usize| {
            let mut reports = reports_of(&events[*position]);
            reports.any(|reported| reported.is_made_by_the_store() && reported.client == client)
        };
        let made = (0..=granted).rev().find(makes_it)?;
        let server = events[made].node.as_deref()?;
        let before: &[String] = self.stored_before(made).next().map_or(&[], |(_, lines)| lines);
        let new = events[made].stored.iter().flatten().filter(|line| !before.contains(line));
        let gone = |line: &&String| {
            let lacks_it = |position: &usize| {
                let event = &events[*position];
                let lines = event.stored.as_ref().filter(|_| event.node.as_deref() == Some(server));
                lines.is_some_and(|lines| lines.iter().all(|other| place_of(other) != place_of(line)))
            };
            (made + 1..=self.end).find(lacks_it)
        };
        let (gone, line) = new.filter_map(|line| Some((gone(&line)?, line))).min()?;
        let taker = events[gone].from.as_deref().filter(|_| events[gone].what == "delivered")?;
        let is_other = taker != client && self.clients.contains(taker) && events[gone].remark.is_none();
        let words = format!("{client}'s {} is gone on {server}", place_of(line));
        is_other.then(|| self.cause(gone, Kind::Gone, self.by_message(gone, words)))
    }

    /// The last message that was lost between a client and its server from when it said for the last time what it says again in the message
    /// that arrives in this step.
    fn lost_before(&self, arrived: usize, flights: &[Flight]) -> Option<Cause> {
        let again = flights.iter().find(|flight| flight.ended == Some(arrived) && !flight.is_lost)?;
        let is_alike = |earlier: &&Flight| {
            let is_same =
                (&earlier.from, &earlier.to, &earlier.message) == (&again.from, &again.to, &again.message);
            is_same && earlier.sent < again.sent
        };
        let first = flights.iter().filter(is_alike).map(|earlier| earlier.sent).max()?;
        let is_between = |flight: &&Flight| {
            let ends = [(&again.from, &again.to), (&again.to, &again.from)];
            ends.contains(&(&flight.from, &flight.to)) && flight.is_lost
        };
        let lost = flights.iter().filter(is_between).filter_map(|flight| flight.ended);
        let lost = lost.filter(|lost| (first..again.sent).contains(lost)).max()?;
        let words = self.fault_words(lost, &self.story.events[lost])?;
        Some(self.cause(lost, Kind::Fault, words))
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{breaks, gets, has, reports, sends, step, stores, told};
    use picklock_properties::Promise;

    #[test]
    fn what_another_client_deletes_again_is_told_with_the_answer_that_was_lost() {
        let (put, delete) = ("put k", "delete k");
        let run = |lost: &'static str| {
            vec![
                sends(reports(step(0, "B"), "called B lock"), "s1", delete),
                sends(stores(gets(step(1, "s1"), "B", delete), &["revision 1"]), "B", "deleted"),
                has(step(2, "B"), lost, "s1", "deleted"),
                sends(reports(step(3, "A"), "called A lock"), "s1", put),
                reports(
                    stores(gets(step(4, "s1"), "A", put), &["revision 2", "k (created at 2)"]),
                    "acquired A",
                ),
                reports(step(5, "A"), "granted A"),
                sends(step(6, "B"), "s1", delete),
                stores(gets(step(7, "s1"), "B", delete), &["revision 3"]),
                breaks(
                    reports(step(8, "B"), "granted B"),
                    Promise::MutualExclusion,
                    "B enters while A holds",
                ),
            ]
        };
        let expected = [
            "s1 to B: deleted is lost",
            "A is granted the lock",
            "B's delete k: A's k is gone on s1",
            "B enters while A holds",
        ];
        assert_eq!(told(&run("lost"), None), expected);
        assert_eq!(told(&run("delivered"), None), expected[1..]);
    }
}
