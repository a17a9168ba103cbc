//! Of a write that rests on no grant that counts: which hold it is of, and which write had made that one an earlier one.

use super::{Breaks, Cause, Kind, RESOURCE, Search, reports_of};
use crate::flights::Flight;
use picklock_properties::Promise;
use picklock_reported::Reported;

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
        let causes = vec![granted(write)?, granted(earlier)?, told(accepted, other, ACCEPTED)?];
        (client != other).then(|| (causes, [client.to_owned(), other.to_owned()]))
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
