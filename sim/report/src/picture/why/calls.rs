//! Calls of shared objects of which nothing came: who made them has no part in what another one is told.

use super::{Search, reports_of};
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
