//! Messages that arrive twice: what came of it the first time, and what was there by the second.

use super::stored::live_of;
use super::{Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use std::ops::Range;

/// What the second copy of a message does.
pub(super) const AGAIN: &str = "arrives a second time";

/// Whether both say the same to the same one.
fn is_alike(one: &Flight, other: &Flight) -> bool {
    (&one.from, &one.to, &one.message) == (&other.from, &other.to, &other.message)
}

impl Search<'_> {
    /// Whether the other copy of a message that was doubled has arrived before.
    pub(super) fn came_before(&self, flight: &Flight, flights: &[Flight]) -> bool {
        let is_other = |other: &&Flight| {
            is_alike(other, flight) && other.sent == flight.sent && other.is_copy != flight.is_copy
        };
        let mut others = flights.iter().filter(is_other).filter(|other| !other.is_lost);
        others.any(|other| other.ended.is_some() && other.ended < flight.ended)
    }

    /// Where what a client says here arrived the first time since it called or held last, if that was before.
    fn first_arrival(&self, second: &Flight, flights: &[Flight]) -> Option<usize> {
        let begun = self.begun_before(second);
        let said = flights.iter().filter(|flight| is_alike(flight, second));
        let said = said.filter(|flight| flight.sent >= begun && !flight.is_lost);
        said.filter_map(|flight| flight.ended).min().filter(|first| Some(*first) < second.ended)
    }

    /// Where the sender of a message called last, or was granted what it asked for, when it sent that.
    fn begun_before(&self, flight: &Flight) -> usize {
        let begins = |position: &usize| {
            let mut reports = reports_of(&self.story.events[*position]);
            reports
                .any(|reported| reported.client == flight.from && (reported.is_call() || reported.is_grant()))
        };
        (0..flight.sent).rev().find(begins).unwrap_or(0)
    }

    /// Where the message was doubled, or said again, that takes a client's record when it comes the second time, what it did the first
    /// time, and where what is taken was stored since.
    pub(super) fn doubled(&self, second: &Flight, line: &str, flights: &[Flight]) -> Vec<Cause> {
        let Some((first, gone)) = self.first_arrival(second, flights).zip(second.ended) else {
            return Vec::new();
        };
        let events = &self.story.events;
        let Flight { from, to, message, .. } = second;
        let doubling = self.doubling(second, self.begun_before(second)..gone);
        let said = match doubling {
            Some(doubling) => doubling,
            None => {
                // Of two that were sent one after the other the first one may come last.
                let is_earlier = |flight: &Flight| is_alike(flight, second) && flight.sent < second.sent;
                let begun = self.begun_before(second);
                let is_again = flights.iter().any(|flight| is_earlier(flight) && flight.sent >= begun);
                let again = if is_again { " again" } else { "" };
                self.cause(second.sent, Kind::Milestone, format!("{from} sends {message} to {to}{again}"))
            }
        };
        let has = |position: &usize| {
            let event = &events[*position];
            let mut lines = event.stored.iter().flatten().filter(|_| event.node.as_ref() == Some(to));
            lines.any(|stored| live_of(stored, from).as_deref() == Some(line))
        };
        let anew = (first + 1..gone).find(has);
        let anew = anew.map(|at| self.cause(at, Kind::Record, format!("{to} stores {line} anew")));
        [said].into_iter().chain(self.change(first)).chain(anew).collect()
    }

    /// Where in these steps a message was doubled.
    fn doubling(&self, flight: &Flight, within: Range<usize>) -> Option<Cause> {
        let events = &self.story.events;
        let Flight { from, to, message, sent, .. } = flight;
        let is_it = |position: &usize| {
            let event = &events[*position];
            let of = (event.from.as_ref(), event.to.as_ref(), event.message.as_ref());
            let is_of_it = event.sent_in.is_none_or(|sent_in| events[*sent].step == sent_in);
            event.what == "duplicated" && of == (Some(from), Some(to), Some(message)) && is_of_it
        };
        let at = within.rev().find(is_it)?;
        Some(self.cause(at, Kind::Fault, self.fault_words(at, &events[at])?))
    }

    /// Where a message was doubled of which a change is told that its second copy has brought about.
    pub(super) fn doubled_changes(&self, causes: &[Cause], flights: &[Flight]) -> Vec<Cause> {
        let changes = causes.iter().filter(|cause| matches!(cause.kind, Kind::Record | Kind::Gone));
        let told = changes.filter_map(|change| {
            let is_it = |flight: &&Flight| flight.ended == Some(change.position) && !flight.is_lost;
            let second = flights.iter().find(is_it).filter(|flight| self.came_before(flight, flights))?;
            let is_of_client =
                self.clients.contains(second.from.as_str()) && self.changes_something(change.position);
            self.doubling(second, second.sent..change.position).filter(|_| is_of_client)
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, has, reports, search_in, sends, step, stores};

    #[test]
    fn of_what_comes_twice_it_is_told_what_it_did_first_and_what_was_stored_since() {
        let (one, other) = ("0/A (created at 2)", "0/A (created at 5)");
        let run = |is_doubled: bool| {
            let doubling = has(step(2, "s1"), "duplicated", "A", "delete 0/A");
            let said_again = sends(step(2, "A"), "s1", "delete 0/A");
            vec![
                reports(stores(gets(step(0, "s1"), "A", "put 0/A"), &[one]), "called A lock"),
                sends(reports(step(1, "A"), "granted A"), "s1", "delete 0/A"),
                if is_doubled { doubling } else { said_again },
                stores(gets(step(3, "s1"), "A", "delete 0/A"), &[]),
                stores(gets(step(4, "s1"), "A", "put 0/A"), &[other]),
                stores(gets(step(5, "s1"), "A", "delete 0/A"), &[]),
            ]
        };
        let told = |is_doubled: bool| {
            let mut told = Vec::new();
            search_in(&run(is_doubled), None, |search, flights| {
                let second = flights.iter().rfind(|flight| flight.ended == Some(5)).expect("it comes twice");
                assert_eq!(search.came_before(second, flights), is_doubled);
                let causes = search.doubled(second, other, flights);
                told = causes.into_iter().map(|cause| (cause.position, cause.words)).collect();
            });
            told
        };
        let said = [(2, "A to s1: delete 0/A is doubled"), (2, "A sends delete 0/A to s1 again")];
        for (is_doubled, first) in [true, false].into_iter().zip(said) {
            let expected = [
                first,
                (3, "A's delete 0/A: 0/A (created at 2) is gone on s1"),
                (4, "s1 stores 0/A (created at 5) anew"),
            ];
            let expected = expected.map(|(position, words)| (position, words.to_owned()));
            assert_eq!(told(is_doubled), expected);
        }
    }
}
