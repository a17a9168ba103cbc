//! Where a promise is about tokens: what each of them was drawn from, and places that went and came again, with whatever is counted there.

use super::stored::place_of;
use super::{Cause, Kind, Search};
use crate::flights::Flight;
use picklock_engine::report::JsonEvent;
use picklock_properties::Promise;
use std::collections::{BTreeMap, BTreeSet};

impl Search<'_> {
    /// Of each party's last token the answers of several servers that it was taken from; and what was gone and there again before one.
    pub(super) fn tokens(&self, flights: &[Flight]) -> Vec<Cause> {
        let Some(breaks) = &self.breaks else { return Vec::new() };
        if !matches!(breaks.promise, Promise::FencedResource | Promise::TokenOrder) {
            return Vec::new();
        }
        let parties = breaks.parties.iter().copied();
        let tokens: Vec<(&str, usize)> =
            parties.filter_map(|client| Some((client, self.last_token(client)?))).collect();
        let drawn = tokens.iter().filter_map(|(client, granted)| self.drawn(client, *granted, flights));
        let first = tokens.iter().map(|(_, granted)| *granted).min();
        let last = tokens.iter().map(|(_, granted)| *granted).max();
        let again = first.zip(last).map_or_else(Vec::new, |(first, last)| self.made_again(first, last));
        drawn.chain(again).collect()
    }

    /// Where the client was granted the token that it has at last: perhaps in the step that breaks the promise.
    fn last_token(&self, client: &str) -> Option<usize> {
        (0..=self.end).rev().find(|position| self.is_granted_in(*position, client))
    }

    /// What the servers answered that the client had asked the same before it was granted its token.
    fn drawn(&self, client: &str, granted: usize, flights: &[Flight]) -> Option<Cause> {
        let events = &self.story.events;
        let (since, question) = self.asked_all(client, granted)?;
        let is_answer = |flight: &&Flight| {
            flight.to == client
                && flight.sent > since
                && !flight.is_lost
                && flight.ended.is_some_and(|ended| ended <= granted)
                && events[flight.sent].message.as_deref() == Some(question)
        };
        let mut answers: Vec<&Flight> = flights.iter().filter(is_answer).collect();
        answers.sort_by_key(|answer| &answer.from);
        let last = answers.iter().map(|answer| answer.sent).max().filter(|_| answers.len() > 1)?;
        let each: Vec<String> =
            answers.iter().map(|answer| format!("{} answers {}", answer.from, answer.message)).collect();
        Some(self.cause(last, Kind::Milestone, format!("to {client} {}", each.join(", "))))
    }

    /// Where the client asked several servers the same, the last time until it was granted what it asked for, and what.
    pub(super) fn asked_all(&self, client: &str, granted: usize) -> Option<(usize, &str)> {
        let asks_all = |event: &JsonEvent| {
            let is_alike = event.sent.windows(2).all(|two| two[0].message == two[1].message);
            event.node.as_deref() == Some(client) && event.sent.len() > 1 && is_alike
        };
        let last = self.story.events[..=granted].iter().rposition(asks_all)?;
        Some((last, self.story.events[last].sent.first()?.message.as_str()))
    }

    /// What a server had at the one step, did not have after it, and has anew before the other: where it went, and where it came.
    fn made_again(&self, first: usize, last: usize) -> Vec<Cause> {
        let events = &self.story.events;
        let servers: BTreeSet<&str> = self.stored_at_the_end().into_keys().collect();
        let of_server = |server: &str| {
            let mut there: BTreeSet<&str> = BTreeSet::new();
            let mut gone: BTreeMap<&str, usize> = BTreeMap::new();
            for (position, event) in events[..=last].iter().enumerate() {
                let Some(lines) = event.stored.as_ref().filter(|_| event.node.as_deref() == Some(server))
                else {
                    continue;
                };
                let is_nobodys = |line: &&String| line.starts_with('/') && !self.is_somebodys(line);
                let now: BTreeSet<&str> =
                    lines.iter().filter(is_nobodys).map(|line| place_of(line)).collect();
                if position > first {
                    if let Some((place, went)) = gone.iter().find(|(place, _)| now.contains(*place)) {
                        let stored = format!("{server} stores {place} anew, which was gone");
                        let gone = format!("{place} is gone on {server}");
                        return Some(vec![
                            self.cause(*went, Kind::Gone, self.by_message(*went, gone)),
                            self.cause(position, Kind::Record, self.by_message(position, stored)),
                        ]);
                    }
                    gone.extend(there.difference(&now).map(|place| (*place, position)));
                }
                there = now;
            }
            None
        };
        servers.into_iter().find_map(of_server).unwrap_or_default()
    }
}
