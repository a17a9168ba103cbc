//! Calls of shared objects: those of which nothing came, so that who made them has no part in what another one is told; those that were
//! broken off; and all that the last one was answered.

use super::{Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_engine::report::{Operation, operations};
use std::collections::BTreeMap;

impl<'a> Search<'a> {
    /// Where clients made their last calls that were not done, as they were told, or never came to where they could have been. Where
    /// somebody waits for an answer, every call counts.
    pub(super) fn without_effect(&self, flights: &[Flight]) -> BTreeMap<&'a str, usize> {
        if !self.is_of_objects || self.is_of_progress() {
            return BTreeMap::new();
        }
        let operations = operations(&self.story.events[..=self.end]);
        let last = |client: &'a str| {
            let call = operations.iter().rfind(|operation| operation.client == client)?;
            self.came_to_nothing(call, flights).then_some((client, call.begun))
        };
        self.clients.iter().copied().filter_map(last).collect()
    }

    /// Whether nothing comes of what a client calls for in this step, or has called for.
    pub(super) fn is_idle_by(&self, client: &str, position: usize) -> bool {
        self.idle.get(client).is_some_and(|begun| *begun <= position)
    }

    /// Calls that their clients never came back from, and that something came of, where the same clients call again later.
    pub(super) fn broken_off(&self, flights: &[Flight]) -> Vec<Cause> {
        let told = self.calls_broken_off(flights).into_iter().filter_map(|(client, begun)| {
            let mut reports = reports_of(&self.story.events[begun]);
            let asks = reports.find(|reported| reported.client == client)?;
            Some(self.cause(begun, Kind::Milestone, asks.sentence()))
        });
        told.collect()
    }

    /// Whether the cause is what became of a call, and its client broke off a later one.
    pub(super) fn is_settled_call(&self, cause: &Cause, flights: &[Flight]) -> bool {
        let broken_off = self.calls_broken_off(flights);
        let mut reports = reports_of(&self.story.events[cause.position]);
        let told = reports.find(|reported| {
            cause.kind == Kind::Milestone && reported.is_end_of_call() && reported.sentence() == cause.words
        });
        let is_later =
            |client: &str| broken_off.iter().any(|(other, begun)| other == client && cause.position < *begun);
        told.is_some_and(|told| is_later(told.client))
    }

    fn calls_broken_off(&self, flights: &[Flight]) -> Vec<(String, usize)> {
        if !self.is_of_objects || self.is_of_progress() {
            return Vec::new();
        }
        let operations = operations(&self.story.events[..=self.end]);
        let changed = |call: &Operation| {
            let until = call.ended.unwrap_or(self.end);
            let of_call = |flight: &&Flight| {
                flight.from == call.client && !flight.is_lost && (call.begun..until).contains(&flight.sent)
            };
            let mut arrived = flights.iter().filter(of_call).filter_map(|flight| flight.ended);
            arrived.any(|arrived| arrived <= self.end && self.changes_something(arrived))
        };
        let is_last = |call: &Operation| {
            operations.iter().all(|other| other.client != call.client || other.begun <= call.begun)
        };
        let broken_off =
            operations.iter().filter(|call| call.answer.is_none() && !is_last(call) && changed(call));
        broken_off.map(|call| (call.client.clone(), call.begun)).collect()
    }

    /// What the client was answered before the last answer of the call that comes back in the step that breaks it, where that asks
    /// several servers.
    pub(super) fn answered_before(&self, flights: &[Flight]) -> Vec<Cause> {
        let operations = operations(&self.story.events[..=self.end]);
        let last = |call: &&Operation| call.ended == Some(self.end) && call.answer.is_some();
        let Some(call) = operations.iter().find(last).filter(|_| self.is_of_objects) else {
            return Vec::new();
        };
        let Some(at_last) = self.answer_at(self.end, flights) else { return Vec::new() };
        let is_answer = |flight: &&Flight| {
            let arrived = flight.ended.filter(|ended| (call.begun..self.end).contains(ended));
            flight.to == call.client && flight.from != at_last.from && !flight.is_lost && arrived.is_some()
        };
        let answers = flights.iter().filter(is_answer).filter(|flight| flight.sent >= call.begun);
        let told = answers.map(|Flight { from, to, message, sent, .. }| {
            self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}"))
        });
        told.collect()
    }

    fn came_to_nothing(&self, call: &Operation, flights: &[Flight]) -> bool {
        let is_told = |ended: usize| {
            let mut reports = reports_of(&self.story.events[ended]);
            reports.any(|reported| reported.client == call.client && reported.is_refused_call())
        };
        match call.ended {
            Some(ended) => ended < self.end && is_told(ended),
            None => {
                let of_call = |flight: &&Flight| {
                    flight.from == call.client && (call.begun..=self.end).contains(&flight.sent)
                };
                let mut sent = flights.iter().filter(of_call).peekable();
                sent.peek().is_some() && sent.all(|flight| self.is_idle(flight, flights))
            }
        }
    }

    /// Whether what was asked for was lost on the way, or changed nothing and is answered.
    fn is_idle(&self, asked: &Flight, flights: &[Flight]) -> bool {
        let Some(ended) = asked.ended.filter(|ended| *ended <= self.end) else { return false };
        let is_answer = |flight: &&Flight| {
            let is_back = (&flight.from, &flight.to) == (&asked.to, &asked.from) && !flight.is_lost;
            is_back && flight.sent >= ended && flight.ended.is_some_and(|ended| ended <= self.end)
        };
        asked.is_lost || !self.changes_something(ended) && flights.iter().any(|flight| is_answer(&flight))
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::Kind;
    use crate::picture::why::steps::{breaks, gets, is_struck, reports, search_in, sends, step, stores};
    use picklock_engine::report::{JsonEvent, JsonOperation};
    use picklock_properties::Promise;

    fn asks(event: JsonEvent, call: &str) -> JsonEvent {
        let mut event = reports(event, &format!("invoked A {call}"));
        let (client, call) = ("A".to_owned(), call.to_owned());
        event.operations.push(JsonOperation::Invoked { client, call });
        event
    }

    fn is_told(event: JsonEvent, answer: &str) -> JsonEvent {
        let mut event = reports(event, &format!("returned A {answer}"));
        let (client, answer) = ("A".to_owned(), answer.to_owned());
        event.operations.push(JsonOperation::Returned { client, answer });
        event
    }

    #[test]
    fn a_call_that_was_broken_off_is_told_and_what_became_of_the_one_before_it_is_not() {
        let run = |stored: &str| {
            vec![
                asks(step(0, "A"), "add(4)"),
                is_told(step(1, "A"), "done"),
                stores(step(2, "s1"), &["account0 = 4"]),
                sends(asks(step(3, "A"), "transfer(1)"), "s1", "set account0 := 3"),
                stores(gets(step(4, "s1"), "A", "set account0 := 3"), &[stored]),
                is_struck(step(5, "A"), "crashed"),
                asks(step(6, "A"), "audit()"),
                sends(stores(step(7, "s2"), &[]), "A", "nothing"),
                gets(step(8, "A"), "s2", "nothing"),
                sends(stores(step(9, "s1"), &[stored]), "A", "3"),
                is_told(
                    breaks(gets(step(10, "A"), "s1", "3"), Promise::Conservation, "3 in all"),
                    "3 in all",
                ),
            ]
        };
        let told = |stored: &str| {
            let mut told = (Vec::new(), false, Vec::new());
            search_in(&run(stored), None, |search, flights| {
                let words = |causes: Vec<super::Cause>| -> Vec<String> {
                    causes.into_iter().map(|cause| cause.words).collect()
                };
                let done = search.cause(1, Kind::Milestone, "A is told done".to_owned());
                let is_settled = search.is_settled_call(&done, flights);
                told =
                    (words(search.broken_off(flights)), is_settled, words(search.answered_before(flights)));
            });
            told
        };
        let answered = vec!["s2 answers A: nothing".to_owned()];
        let broken_off = vec!["A asks transfer(1)".to_owned()];
        assert_eq!(told("account0 = 3"), (broken_off, true, answered.clone()));
        assert_eq!(told("account0 = 4"), (Vec::new(), false, answered), "nothing came of it");
    }
}
