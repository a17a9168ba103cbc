//! Messages that came later than others, and made a difference.

use super::doubled::AGAIN;
use super::{Breaks, Cause, Kind, SHORT_PART, Search, reports_of};
use crate::flights::Flight;
use picklock_engine::report::TimeColumn;

pub(super) const OVERTAKEN: &str = "arrives after a later one";
const LATE: &str = "arrives late";

/// Whether a cause in these words is that a message comes so late.
pub(super) fn is_late(words: &str) -> bool {
    [AGAIN, OVERTAKEN, LATE].iter().any(|late| words.ends_with(late))
}

impl Search<'_> {
    /// Messages of the parties that took much longer than others.
    pub(super) fn late(&self, start: usize, flights: &[Flight]) -> Vec<Cause> {
        let Some(Breaks { parties, .. }) = &self.breaks else { return Vec::new() };
        let reported = |position: usize| reports_of(&self.story.events[position]);
        let of_party =
            |flight: &&Flight| parties.contains(flight.from.as_str()) || parties.contains(flight.to.as_str());
        flights
            .iter()
            .filter(|flight| flight.is_late && !self.is_short(flight))
            .filter(of_party)
            .filter_map(|flight| {
                let arrived = flight.ended.filter(|ended| (start..=self.end).contains(ended))?;
                let asks_only =
                    !self.clients.contains(flight.to.as_str()) && !self.changes_something(arrived);
                let Flight { from, to, message, sent, is_only_overtaken, .. } = flight;
                let waits = || !self.went_on(from, *sent, arrived);
                let may_be_nothing = self.is_of_progress() || *is_only_overtaken;
                if asks_only && (self.is_of_objects || may_be_nothing && waits()) {
                    return None;
                }
                if self.is_of_progress() && !self.is_of_objects && !self.clients.contains(to.as_str()) {
                    // Nor what is of use to nobody.
                    if self.changes_something(arrived) && self.is_late_for_nothing(arrived, flights) {
                        return None;
                    }
                }
                // Nor does it matter when that comes of which a client does nothing, and which it did not go on without.
                let is_heeded = self.goes_on(arrived)
                    || !self.story.events[arrived].sent.is_empty()
                    || self.went_on(to, *sent, arrived);
                if self.is_of_progress() && self.clients.contains(to.as_str()) && !is_heeded {
                    return None;
                }
                // Nor one that was overtaken, if nothing comes of it where it was sent or where it arrives.
                if *is_only_overtaken
                    && self.clients.contains(to.as_str())
                    && !self.changes_something(*sent)
                    && !self.goes_on(arrived)
                    && self.story.events[arrived].sent.is_empty()
                {
                    return None;
                }
                // Nor if nothing comes of whatever overtook it.
                if *is_only_overtaken
                    && self.clients.contains(to.as_str())
                    && !self.is_overtaken_in_earnest(flight, flights)
                {
                    return None;
                }
                // Whoever calls could have called later.
                if self.is_call_of(flight) && waits() {
                    return None;
                }
                let is_again = self.came_before(flight, flights);
                if is_again && asks_only && !self.passes_on(arrived) && reported(arrived).next().is_none() {
                    return None;
                }
                let late = match (is_again, is_only_overtaken) {
                    (true, _) => AGAIN,
                    (false, true) => OVERTAKEN,
                    (false, false) => LATE,
                };
                Some(self.cause(arrived, Kind::Fault, format!("{from} to {to}: {message} {late}")))
            })
            .collect()
    }

    /// Whether something came of a later message of the same link that arrived earlier: its receiver went on, said something, or sent
    /// something.
    fn is_overtaken_in_earnest(&self, flight: &Flight, flights: &[Flight]) -> bool {
        let overtakes = |later: &&Flight| {
            let is_of_link = (&later.from, &later.to) == (&flight.from, &flight.to) && !later.is_lost;
            is_of_link && later.sent > flight.sent && later.ended.is_some() && later.ended < flight.ended
        };
        flights.iter().filter(overtakes).filter_map(|later| later.ended).any(|ended| {
            let event = &self.story.events[ended];
            self.goes_on(ended) || !event.sent.is_empty() || reports_of(event).next().is_some()
        })
    }

    /// Whether a message is the one that its client calls by.
    fn is_call_of(&self, flight: &Flight) -> bool {
        let mut reports = reports_of(&self.story.events[flight.sent]);
        reports.any(|reported| reported.is_call() && reported.client == flight.from)
    }

    /// Whether a message took no time beside that for which somebody has waited in vain.
    fn is_short(&self, flight: &Flight) -> bool {
        let events = &self.story.events;
        let whole = events[self.end].at_us - events[0].at_us;
        let took = |ended: usize| events[ended].at_us - events[flight.sent].at_us;
        self.is_of_progress()
            && self.story.time == TimeColumn::Seconds
            && flight.ended.is_some_and(|ended| took(ended) < whole / SHORT_PART)
    }
}
