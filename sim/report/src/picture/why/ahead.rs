//! A loop in which one waits and another one is granted what both want: how that one's record comes before the other's, each time.

use super::stored::{live_of, names, place_of};
use super::{Cause, Kind, Search};
use crate::flights::Flight;
use picklock_engine::report::JsonEvent;

impl Search<'_> {
    /// Where who waits left its record, where another one left its own beside it since, upon which answer, and the next one that names
    /// that one alone.
    pub(super) fn ahead(&self, flights: &[Flight]) -> Vec<Cause> {
        let Some(start) = self.story.loop_start.filter(|start| *start < self.story.events.len()) else {
            return Vec::new();
        };
        let pairs = self.who_waits().into_iter().flat_map(|waiter| {
            let others = self.clients.iter().copied().filter(move |other| *other != waiter);
            others.map(move |other| (waiter, other))
        });
        let is_granted = |other: &str| (start..=self.end).any(|position| self.is_granted_in(position, other));
        let mut pairs = pairs.filter(|(_, other)| is_granted(other));
        pairs.find_map(|(waiter, other)| self.ahead_of(waiter, other, start, flights)).unwrap_or_default()
    }

    fn ahead_of(&self, waiter: &str, other: &str, start: usize, flights: &[Flight]) -> Option<Vec<Cause>> {
        let events = &self.story.events;
        let has_both = |line: &&String| live_of(line, waiter).is_some() && live_of(line, other).is_some();
        let comes = |position: &usize| {
            let is_its = events[*position].from.as_deref() == Some(other);
            let (before, after) = self.around(*position);
            let is_new = |line: &&String| before.is_some_and(|before| !before.contains(*line));
            is_its.then(|| after.into_iter().flatten().filter(has_both).find(is_new)).flatten()
        };
        let (beside, line) = (start..=self.end).find_map(|position| Some((position, comes(&position)?)))?;
        let (place, own) = (place_of(line), live_of(line, waiter)?);
        let server = &events[beside].node;
        let has_own = |event: &JsonEvent| {
            let mut lines = event.stored.iter().flatten().filter(|_| event.node == *server);
            lines.any(|line| place_of(line) == place && live_of(line, waiter).as_ref() == Some(&own))
        };
        let waits = self.change(events.iter().position(has_own)?)?;
        let sent = flights.iter().find(|flight| flight.ended == Some(beside) && flight.from == other)?.sent;
        let upon = self.answer_at(sent, flights).filter(|upon| upon.sent >= start)?;
        let is_next = |flight: &&Flight| {
            flight.sent > beside && flight.to == other && names(&flight.message, other) && !flight.is_lost
        };
        let next = flights.iter().find(is_next).filter(|next| !names(&next.message, waiter))?;
        let answer = |Flight { from, to, message, sent, .. }: &Flight| {
            self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}"))
        };
        Some(vec![waits, answer(upon), self.change(beside)?, answer(next)])
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, goes_on, reports, search_in, sends, step, stores};

    #[test]
    fn whose_record_comes_before_that_of_who_waits_is_told_with_the_answers_before_and_after() {
        let (alone, both) = (&["Q: 1·tB@2us"][..], &["Q: 1·tA@4us, 1·tB@2us"][..]);
        let run = |first: &str| {
            vec![
                sends(reports(step(0, "B"), "called B lock"), "s1", "add Q[1·tB]"),
                stores(gets(step(1, "s1"), "B", "add Q[1·tB]"), alone),
                sends(reports(step(2, "A"), "called A lock"), "s1", "read T"),
                sends(stores(gets(step(3, "s1"), "A", "read T"), alone), "A", "{1}"),
                sends(gets(step(4, "A"), "s1", "{1}"), "s1", "add Q[1·tA]"),
                stores(gets(step(5, "s1"), "A", "add Q[1·tA]"), both),
                sends(goes_on(step(6, "A"), "L1:2"), "s1", "read Q"),
                sends(stores(gets(step(7, "s1"), "A", "read Q"), both), "A", first),
                reports(gets(step(8, "A"), "s1", first), "granted A"),
            ]
        };
        let told = |first: &str| {
            let mut told = Vec::new();
            search_in(&run(first), Some(2), |search, flights| {
                told = search.ahead(flights).into_iter().map(|cause| cause.words).collect();
            });
            told
        };
        let expected = [
            "B's add Q[1·tB]: s1 stores Q: 1·tB@2us",
            "s1 answers A: {1}",
            "A's add Q[1·tA]: s1 stores Q: 1·tA@4us, 1·tB@2us",
            "s1 answers A: {1·tA}",
        ];
        assert_eq!(told("{1·tA}"), expected);
        assert_eq!(told("{1·tA, 1·tB}"), Vec::<String>::new(), "that names both");
    }
}
