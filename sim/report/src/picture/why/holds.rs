//! Of a write that rests on no grant that counts: which hold it is of, and which write had made that one an earlier one.

use super::{Breaks, Cause, Kind, RESOURCE, Search, reports_of};
use crate::flights::Flight;
use picklock_properties::Promise;
use picklock_reported::Reported;
use std::collections::BTreeMap;

/// What is reported of a grant, and of a write.
const GRANTED: &str = "granted";
const ACCEPTED: &str = "accepted";

/// A write of a hold that is over.
pub(super) struct Overtaken {
    /// Where the hold began, and the write of a later one that came first.
    pub(super) causes: Vec<Cause>,
    /// What breaks.
    pub(super) words: String,
}

impl Search<'_> {
    /// `None` if another client's grant is told with it, or the write rests on no grant at all.
    pub(super) fn overtaken_write(&self, flights: &[Flight]) -> Option<Overtaken> {
        let is_it = |breaks: &&Breaks| breaks.promise == Promise::FencedResource && breaks.is_alone;
        self.breaks.as_ref().filter(is_it)?;
        let write = self.arriving(self.end, flights).filter(|write| write.to == RESOURCE)?;
        let client = write.from.as_str();
        let hold = self.granted_before(client, write.sent)?;
        let is_later = |position: &usize| {
            let accepted = self.arriving(*position, flights)?;
            let is_accepted = |reported: &Reported| reported.is_access() && reported.client == accepted.from;
            let told = reports_of(&self.story.events[*position]).find(is_accepted)?;
            let began = self.granted_before(told.client, accepted.sent)?;
            (accepted.to == RESOURCE && began > hold).then_some(*position)
        };
        let first = (hold + 1..self.end).find_map(|position| is_later(&position))?;
        let told = |position: usize, is_it: &dyn Fn(&Reported) -> bool| {
            let told = reports_of(&self.story.events[position]).find(|reported| is_it(reported))?;
            Some(self.cause(position, Kind::Milestone, told.sentence()))
        };
        let granted = told(hold, &|reported| reported.is_grant() && reported.client == client)?;
        let accepted = told(first, &|reported| reported.is_access())?;
        let whose = self.arriving(first, flights)?.from.as_str();
        let whose = if whose == client { "a later one" } else { whose };
        let (hold, first) = (self.story.events[hold].step, self.story.events[first].step);
        let words = format!(
            "the resource accepts a write from {client} of its hold that began in step {hold}, after one of {whose} (step {first})"
        );
        Some(Overtaken { causes: vec![granted, accepted], words })
    }

    /// Of a write after one that rests on another client's later grant: where either was granted what it wrote under, and where the other
    /// one's write was accepted. With whose grants and writes those are.
    pub(super) fn late_write(&self, flights: &[Flight]) -> Option<(Vec<Cause>, [String; 2])> {
        let is_it = |breaks: &&Breaks| breaks.promise == Promise::FencedResource && !breaks.is_alone;
        self.breaks.as_ref().filter(is_it)?;
        let write = self.arriving(self.end, flights).filter(|write| write.to == RESOURCE)?;
        let is_accepted = |position: &usize| {
            reports_of(&self.story.events[*position]).any(|reported| reported.what == ACCEPTED)
        };
        let accepted = (0..self.end).rev().find(is_accepted)?;
        let earlier = self.arriving(accepted, flights).filter(|earlier| earlier.to == RESOURCE)?;
        let (client, other) = (write.from.as_str(), earlier.from.as_str());
        let told = |position: usize, client: &str, what: &str| {
            let is_it = |reported: &Reported| reported.what == what && reported.client == client;
            let reported = reports_of(&self.story.events[position]).find(is_it)?;
            Some(self.cause(position, Kind::Milestone, reported.sentence()))
        };
        let granted = |flight: &Flight| {
            let position = self.granted_before(&flight.from, flight.sent)?;
            told(position, &flight.from, GRANTED)
        };
        let mut causes = vec![granted(write)?, granted(earlier)?, told(accepted, other, ACCEPTED)?];
        let begins = |flight: &Flight| self.granted_before(&flight.from, flight.sent);
        // By whom it was learned of first it would be the other way round.
        causes.extend(
            begins(earlier)
                .filter(|theirs| begins(write) > Some(*theirs))
                .and_then(|theirs| self.made_for(client, theirs)),
        );
        (client != other).then(|| (causes, [client.to_owned(), other.to_owned()]))
    }

    /// Of whose writes it is that one is late: how many steps there are until each has sent its. What comes after that is no part of the
    /// hold that it writes in.
    pub(super) fn written_in(&self, flights: &[Flight]) -> BTreeMap<String, usize> {
        let is_it = |breaks: &&Breaks| breaks.promise == Promise::FencedResource && !breaks.is_alone;
        let sent = |position: usize| {
            let write = self.arriving(position, flights).filter(|write| write.to == RESOURCE)?;
            Some((write.from.clone(), write.sent + 1))
        };
        let is_accepted = |position: &usize| {
            reports_of(&self.story.events[*position]).any(|reported| reported.what == ACCEPTED)
        };
        let accepted = (0..self.end).rev().find(is_accepted);
        let both = self.breaks.as_ref().filter(is_it).and(accepted).and_then(|accepted| {
            Some([sent(accepted)?, sent(self.end)?]).filter(|[one, other]| one.0 != other.0)
        });
        both.into_iter().flatten().collect()
    }

    /// Where the store made the lock a client's last, until this step.
    fn made_for(&self, client: &str, until: usize) -> Option<Cause> {
        let is_it = |reported: &Reported| reported.is_made_by_the_store() && reported.client == client;
        let made = (0..=until)
            .rev()
            .find(|position| reports_of(&self.story.events[*position]).any(|told| is_it(&told)))?;
        let server = self.story.events[made].node.as_deref()?;
        Some(self.cause(
            made,
            Kind::Record,
            self.by_message(made, format!("the lock is {client}'s on {server}")),
        ))
    }

    /// Whether a cause is that one of these was granted what it asked for, or that a write of it was accepted.
    pub(super) fn is_of_their_writes(&self, cause: &Cause, clients: &[String]) -> bool {
        let mut reports = reports_of(&self.story.events[cause.position]);
        cause.kind == Kind::Milestone
            && reports.any(|reported| {
                [GRANTED, ACCEPTED].contains(&reported.what)
                    && clients.iter().any(|client| client == reported.client)
                    && reported.sentence() == cause.words
            })
    }

    /// Where a client was granted what it asked for last, by the time that it sent something.
    fn granted_before(&self, client: &str, sent: usize) -> Option<usize> {
        (0..=sent).rev().find(|position| self.is_granted_in(*position, client))
    }

    fn arriving<'f>(&self, position: usize, flights: &'f [Flight]) -> Option<&'f Flight> {
        flights.iter().find(|flight| flight.ended == Some(position) && !flight.is_lost)
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{breaks, gets, reports, sends, step, stores, told};
    use picklock_engine::report::JsonEvent;
    use picklock_properties::Promise;

    /// A write of B is accepted, and one of A that arrives in the last step.
    fn late(until_written: Vec<JsonEvent>, until_late: Vec<JsonEvent>) -> Vec<String> {
        let accepted = reports(gets(step(50, "resource"), "B", "write"), "accepted B");
        let words = "the resource accepts a write from A after one from B, whose grant is the later one";
        let late = breaks(gets(step(90, "resource"), "A", "write"), Promise::FencedResource, words);
        let events = until_written.into_iter().chain([accepted]).chain(until_late).chain([late]);
        told(&events.collect::<Vec<_>>(), None)
    }

    #[test]
    fn who_learned_late_what_the_store_had_made_early_is_told_with_where_it_made_it() {
        let made = reports(stores(gets(step(1, "s1"), "B", "resign"), &["k of A"]), "acquired A");
        let granted = sends(reports(step(3, "B"), "granted B"), "resource", "write");
        let learns = sends(reports(step(60, "A"), "granted A"), "resource", "write");
        let told = late(vec![made, step(2, "A"), granted], vec![learns]);
        let expected =
            ["B's resign: the lock is A's on s1", "B is granted the lock", "a write of B is accepted"];
        assert_eq!(told[..3], expected, "{told:?}");
    }

    #[test]
    fn of_a_late_write_the_end_of_the_hold_counts_that_it_was_sent_in() {
        let (early, other) = (["k = A#1"], ["k = A#2"]);
        let has = |at, lines: &[&str]| stores(gets(step(at, "s1"), "A", "set"), lines);
        let until_written = vec![
            reports(step(0, "A"), "called A lock"),
            has(1, &early),
            sends(reports(step(2, "A"), "granted A"), "resource", "write"),
            sends(step(3, "A"), "s1", "release #1"),
            stores(gets(step(4, "s1"), "A", "release #1"), &[]),
            reports(step(5, "A"), "called A lock"),
            has(6, &other),
            reports(step(7, "A"), "granted A"),
            sends(step(8, "A"), "s1", "release #2"),
            stores(gets(step(9, "s1"), "A", "release #2"), &[]),
            sends(step(10, "B"), "s1", "set"),
            sends(stores(gets(step(11, "s1"), "B", "set"), &["k = B#1"]), "B", "OK"),
            sends(reports(gets(step(12, "B"), "s1", "OK"), "granted B"), "resource", "write"),
        ];
        let told = late(until_written, vec![]);
        assert!(told.iter().any(|words| words.contains("release #1")), "{told:?}");
        assert!(told.iter().all(|words| !words.contains("release #2")), "{told:?}");
    }
}
