//! Where somebody waits for word of something, and no word comes: the server that it asked went down with the question, or had what it
//! asked about behind it already.

use super::stored::place_of;
use super::{Cause, Kind, Search};
use crate::flights::Flight;
use std::collections::BTreeSet;

impl Search<'_> {
    /// Of each who waits where it asked for word, if no word can come of it.
    pub(super) fn waits_at(&self, flights: &[Flight]) -> Vec<Cause> {
        if !self.is_of_progress() || self.is_of_objects {
            return Vec::new();
        }
        let waiting = self.who_waits();
        waiting.iter().filter_map(|client| self.waits_at_by(client, flights)).flatten().collect()
    }

    fn waits_at_by(&self, client: &str, flights: &[Flight]) -> Option<Vec<Cause>> {
        let events = &self.story.events;
        let began = self.began_to_wait(client);
        let is_asked = |flight: &&Flight| {
            flight.from == client && flight.sent == began && !self.clients.contains(flight.to.as_str())
        };
        let Flight { to, message, ended, .. } =
            flights.iter().filter(is_asked).find(|asked| !asked.is_lost && asked.ended <= Some(self.end))?;
        let asked = (*ended)?;
        let waits = format!("{client} sends {message} to {to}, and waits");
        let mut causes = vec![self.cause(began, Kind::Milestone, waits)];
        let goes_down = |position: &usize| {
            events[*position].what == "crashed" && events[*position].node.as_ref() == Some(to)
        };
        if let Some(down) = (asked + 1..=self.end).find(goes_down) {
            causes.push(self.cause(down, Kind::Fault, self.fault_words(down, &events[down])?));
            return Some(causes);
        }
        // Upon what it waits may be over by the time that it asks.
        let told = flights.iter().find(|flight| flight.ended == Some(began) && flight.to == client)?;
        let goes = |position: &usize| {
            let (before, after) = self.around(*position);
            let (Some(before), Some(after)) = (before, after) else { return None };
            let is_of_it = |line: &&String| {
                let place = place_of(line);
                [message, &told.message].iter().all(|text| text.split([' ', ',']).any(|word| word == place))
            };
            let is_gone = |line: &&String| after.iter().all(|other| place_of(other) != place_of(line));
            before.iter().find(|line| is_of_it(line) && is_gone(line))
        };
        let is_of = |server: &str, position: &usize| events[*position].node.as_deref() == Some(server);
        let (gone, line) = (told.sent..asked)
            .filter(|position| is_of(to, position))
            .find_map(|position| Some((position, goes(&position)?)))?;
        let words = self.by_message(gone, format!("{line} is gone on {to}"));
        causes.push(self.cause(gone, Kind::Record, words));
        // Where the one was told, and the other asked, it is news to both.
        if told.from != *to {
            let mut there = (told.sent..gone).filter(|position| is_of(&told.from, position));
            if let Some(first) = there.find(|position| goes(position).is_some()) {
                let words = self.by_message(first, format!("{line} is gone on {}", told.from));
                causes.push(self.cause(first, Kind::Record, words));
            }
        }
        let answer = flights.iter().find(|flight| flight.sent == asked && flight.to == client);
        causes.extend(answer.map(|Flight { from, to, message, sent, .. }| {
            self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}"))
        }));
        Some(causes)
    }

    /// What a waiter is told of that names nobody, and that came when who had asked for it was done already.
    pub(super) fn left_by_nobody(&self, flights: &[Flight]) -> Vec<Cause> {
        if !self.is_of_progress() || self.is_of_objects {
            return Vec::new();
        }
        let waiting = self.who_waits();
        waiting
            .iter()
            .filter_map(|client| self.left_by_nobody_to(client, &waiting, flights))
            .flatten()
            .collect()
    }

    fn left_by_nobody_to(
        &self,
        client: &str,
        waiting: &BTreeSet<&str>,
        flights: &[Flight],
    ) -> Option<Vec<Cause>> {
        let events = &self.story.events;
        let began = self.began_to_wait(client);
        let is_told =
            |flight: &&Flight| flight.ended == Some(began) && flight.to == client && !flight.is_lost;
        let told = flights.iter().find(is_told)?;
        let server = told.from.as_str();
        let lines = self.stored_at_the_end();
        let is_told = |line: &&String| told.message.split([' ', ',']).any(|word| word == place_of(line));
        let line = lines.get(server)?.iter().find(|line| is_told(line) && !self.is_somebodys(line))?;
        let has = |position: &usize| {
            let event = &events[*position];
            let lines = event.stored.as_ref().filter(|_| event.node.as_deref() == Some(server));
            lines.map(|lines| lines.contains(line))
        };
        let came = (0..=self.end).rev().filter(|position| has(position).is_some());
        let came = came.take_while(|position| has(position) == Some(true)).last()?;
        let by = flights.iter().find(|flight| flight.ended == Some(came) && !flight.is_lost)?;
        let from = by.from.as_str();
        let is_done = self.clients.contains(from) && !waiting.contains(from) && self.is_done_at(from, came);
        if !is_done {
            return None;
        }
        let stores = self.by_message(came, format!("{server} stores {line}, and {from} is done already"));
        let Flight { message, sent, to, .. } = by;
        let sends = self.cause(*sent, Kind::Milestone, format!("{from} sends {message} to {to}"));
        Some(vec![sends, self.cause(came, Kind::Record, stores)])
    }

    /// Whether a client has given back what it called for last by this step, as far as it knows.
    fn is_done_at(&self, client: &str, position: usize) -> bool {
        let told = (0..position).rev().flat_map(|at| {
            let reports: Vec<_> = super::reports_of(&self.story.events[at]).collect();
            reports.into_iter().rev()
        });
        let mut told = told.filter(|reported| reported.client == client);
        let last = told.find(|reported| reported.is_call() || reported.is_grant() || reported.is_release());
        last.is_some_and(|reported| reported.is_release())
    }

    /// Whether a late message leaves nothing but what is told by its kind and by whose it is, and its client does nothing upon that.
    pub(super) fn is_late_for_nothing(&self, arrived: usize, flights: &[Flight]) -> bool {
        let is_of_kind = self.changed(arrived).all(|line| super::objects::is_of_kind(line));
        let is_heeded = |flight: &Flight| {
            flight.ended.is_some_and(|ended| ended <= self.end && !flight.is_lost && self.goes_on(ended))
        };
        let mut answers = flights.iter().filter(|flight| flight.sent == arrived);
        is_of_kind && !answers.any(is_heeded)
    }
}
