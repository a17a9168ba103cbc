//! Causes that no fault and no word of a store tells: what a server answered, and what it had and had not stored by then.

use super::{Breaks, Cause, Kind, Search};
use crate::report::JsonEvent;
use crate::report::story::Flight;
use picklock_properties::Reported;
use std::collections::BTreeSet;

impl Search<'_> {
    /// The answer that lets a client do what breaks the promise.
    pub(super) fn answer(&self, flights: &[Flight]) -> Option<Cause> {
        let Flight { from, to, message, sent, .. } = self.answer_at(self.end, flights)?;
        Some(self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}")))
    }

    /// The answer of a server that a client was told in this step.
    fn answer_at<'f>(&self, step: usize, flights: &'f [Flight]) -> Option<&'f Flight> {
        flights.iter().find(|flight| {
            flight.ended == Some(step)
                && !flight.is_lost
                && self.story.events[flight.sent].stored.is_some()
                && self.clients.contains(flight.to.as_str())
        })
    }

    /// What the servers that a party was granted the lock by did not have of those who held before it.
    pub(super) fn missed(&self, flights: &[Flight]) -> Vec<Cause> {
        let Some(Breaks { parties, promise, .. }) = &self.breaks else { return Vec::new() };
        if promise.is_of_progress() {
            return Vec::new();
        }
        let granted = |client: &&str| self.last_report(client, |reported| reported.is_grant());
        let steps = parties.iter().filter_map(granted).chain([self.end]);
        let answers = steps.filter_map(|step| Some((step, self.answer_at(step, flights)?)));
        let missed = answers.flat_map(|(step, Flight { from, to, sent, .. })| {
            let holds = move |other: &&&str| granted(other).is_some_and(|granted| granted < step);
            let others = parties.iter().filter(move |other| *other != to).filter(holds);
            others.filter_map(move |other| self.nothing_of(other, from, *sent, flights))
        });
        missed.collect()
    }

    /// Of each party the last record that a server was asked by it to write, and that changed nothing there: what is stored counts
    /// as newer.
    pub(super) fn written_in_vain(&self) -> Vec<Cause> {
        let Some(Breaks { parties, .. }) = &self.breaks else { return Vec::new() };
        parties.iter().filter_map(|client| self.written_in_vain_by(client)).collect()
    }

    fn written_in_vain_by(&self, client: &str) -> Option<Cause> {
        let events = &self.story.events;
        let is_written = |report: &String| {
            Reported::parse(report).is_some_and(|reported| reported.client == client && reported.is_written())
        };
        let stored_before = |position: usize| {
            let earlier = events[..position].iter().rev();
            earlier
                .filter(|earlier| earlier.node == events[position].node)
                .find_map(|earlier| earlier.stored.as_ref())
        };
        let called = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let position = (called..=self.end).rev().find(|position| {
            let event = &events[*position];
            // By other replicas' acknowledgements a record is written, too, and this server stores nothing.
            event.from.as_deref() == Some(client)
                && event.reported.iter().any(is_written)
                && event.stored.is_some()
                && stored_before(*position) == event.stored.as_ref()
        })?;
        let server = events[position].node.as_ref()?;
        let newer = events[position].message.as_deref().zip(events[position].stored.as_deref());
        let newer = newer.and_then(|(message, stored)| newer_than(message, stored));
        let words = match newer {
            Some((column, at, true)) => format!("{server} hides it, for {column} was deleted at {at}"),
            Some((column, at, false)) => format!("{server} keeps {column} at {at}, which is newer"),
            None => format!("{server} has something newer, and it changes nothing"),
        };
        Some(self.cause(position, Kind::Gone, self.by_message(position, words)))
    }

    /// Where progress ends: of each client that waits the first and the last of the records that it left beside each other, of which it
    /// minds one, and the answer upon which it wrote the last, if the first was not there yet.
    pub(super) fn left_beside(&self, flights: &[Flight]) -> Vec<Cause> {
        let is_of_progress = self.breaks.as_ref().is_none_or(|breaks| breaks.promise.is_of_progress());
        let clients = self.clients.iter().filter(|_| is_of_progress);
        clients.flat_map(|client| self.left_beside_by(client, flights)).collect()
    }

    fn left_beside_by(&self, client: &str, flights: &[Flight]) -> Vec<Cause> {
        let granted = self.last_report(client, |reported| reported.is_grant());
        let called = self.last_report(client, |reported| reported.is_call());
        if called.is_none() || granted > called {
            return Vec::new();
        }
        let records = self.own_records(client);
        let [(one_at, server, one), .., (last_at, _, last)] = &records[..] else { return Vec::new() };
        let stored = |at: usize, words: String| self.cause(at, Kind::Record, words);
        let mut causes = vec![
            stored(*one_at, format!("{server} stores {one}")),
            stored(*last_at, format!("{server} stores {last} beside it")),
        ];
        let events = &self.story.events;
        // A name that the store completes is asked for by its beginning.
        let is_last = |word: &str| names(word, client) && place_of(last).starts_with(word);
        let asks = |position: &usize| {
            let event = &events[*position];
            let is_sent = || event.sent.iter().any(|sent| sent.message.split(' ').any(is_last));
            event.node.as_deref() == Some(client) && is_sent()
        };
        let upon = (0..*last_at).rev().find(asks).and_then(|asked| self.answer_at(asked, flights));
        let has_one = |lines: &[String]| lines.iter().any(|line| place_of(line) == place_of(one));
        let lacks_one =
            |answer: &&Flight| events[answer.sent].stored.as_deref().is_some_and(|lines| !has_one(lines));
        if let Some(Flight { from, message, sent, .. }) = upon.filter(lacks_one) {
            let words = format!("{from} answers {client}: {message}; it does not have {} yet", place_of(one));
            causes.push(self.cause(*sent, Kind::Milestone, words));
        }
        causes
    }

    /// What a server has at the end that bears the client's name, with where it was stored first; empty if no server has more than one.
    fn own_records(&self, client: &str) -> Vec<(usize, &str, &str)> {
        let events = &self.story.events[..=self.end];
        let of = |event: &'_ JsonEvent, server: &str| {
            event.node.as_deref() == Some(server) && event.stored.is_some()
        };
        let servers: BTreeSet<&str> = events
            .iter()
            .filter(|event| event.stored.is_some())
            .filter_map(|event| event.node.as_deref())
            .collect();
        let records_on = |server: &'_ str| {
            let at_the_end = events.iter().rfind(|event| of(event, server))?;
            let own = at_the_end.stored.iter().flatten().filter(|line| names(place_of(line), client));
            let first_stored = |line: &'_ String| {
                let has = |event: &JsonEvent| {
                    event.stored.iter().flatten().any(|other| place_of(other) == place_of(line))
                };
                events.iter().position(|event| of(event, server) && has(event))
            };
            let mut records: Vec<(usize, &str, &str)> = own
                .filter_map(|line| Some((first_stored(line)?, at_the_end.node.as_deref()?, line.as_str())))
                .collect();
            records.sort_unstable();
            (records.len() > 1).then_some(records)
        };
        servers.into_iter().find_map(records_on).unwrap_or_default()
    }

    /// What the server does not have of the client's in this step: what it had since the client called, and has lost, or what another
    /// server has, and what would bring it is under way.
    fn nothing_of(&self, client: &str, server: &str, at: usize, flights: &[Flight]) -> Option<Cause> {
        let lines_of = |server: &str, position: usize| {
            let event = &self.story.events[position];
            event.stored.as_ref().filter(|_| event.node.as_deref() == Some(server))
        };
        let now = (0..=at).rev().find_map(|position| lines_of(server, position))?;
        let has = |lines: &[String], place: &str| {
            lines.iter().any(|line| place_of(line) == place && names(line, client))
        };
        let called = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let lost = |lines: &Vec<String>| {
            lines.iter().find(|line| names(line, client) && !has(now, place_of(line))).cloned()
        };
        let had =
            (called..at).rev().find_map(|position| Some((position, lost(lines_of(server, position)?)?)));
        if let Some((had, line)) = had {
            let gone = (had + 1..=at).find(|position| lines_of(server, *position).is_some())?;
            let words = self.by_message(gone, format!("{server} does not have {line} any more"));
            return Some(self.cause(gone, Kind::Gone, words));
        }
        let elsewhere = (called..at).rev().filter_map(|position| self.story.events[position].stored.as_ref());
        let missing = elsewhere.filter_map(lost).find_map(|line| {
            let is_of_it = |flight: &&Flight| {
                let is_there = flight.ended.is_some_and(|ended| ended <= at && !flight.is_lost);
                let message = &flight.message;
                flight.to == server
                    && flight.sent < at
                    && !is_there
                    && names(message, client)
                    && words_of(message).any(|word| word == place_of(&line))
            };
            Some((flights.iter().find(is_of_it)?, line))
        });
        let (Flight { from, message, sent, .. }, line) = missing?;
        let words = format!("{from} to {server}: {message} is under way, and {server} does not have {line}");
        Some(self.cause(*sent, Kind::Milestone, words))
    }

    /// What happens in a step, after whose message brings it about, if one does.
    pub(super) fn by_message(&self, position: usize, what: String) -> String {
        let event = &self.story.events[position];
        match (event.what, &event.from, &event.message) {
            ("delivered", Some(from), Some(message)) => format!("{from}'s {message}: {what}"),
            _ => what,
        }
    }
}

/// Whether something that is stored or sent is the client's: `lock = A#1`, `tA@5us`, `/lock/A#1-…02`.
pub(super) fn names(line: &str, client: &str) -> bool {
    words_of(line).any(|word| word == client || word.strip_prefix('t') == Some(client))
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric())
}

/// Where it is stored: the key, the row, the node.
fn place_of(line: &str) -> &str {
    line.split([' ', ':', '=']).next().unwrap_or(line)
}

/// What is stored of the column that `add M[tA] at 1us` would write: which, of what time, and whether it is a deletion.
fn newer_than<'a>(message: &'a str, stored: &'a [String]) -> Option<(&'a str, &'a str, bool)> {
    let (row, column) = message.split(' ').find_map(|word| word.strip_suffix(']')?.split_once('['))?;
    let cells = stored.iter().find_map(|line| line.strip_prefix(row)?.strip_prefix(": "))?;
    cells.split(", ").find_map(|cell| {
        let (cell, is_deleted) = cell.strip_prefix('†').map_or((cell, false), |cell| (cell, true));
        Some((column, cell.strip_prefix(column)?.strip_prefix('@')?, is_deleted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_names_its_client_in_the_words_of_every_store() {
        for (line, place) in [
            ("lock = A#1, dies at 6s", "lock"),
            ("M: tA@5us, tB@15us", "M"),
            ("0/A@1 (created at 3)", "0/A@1"),
            ("/_locknode_0/A#1-lock-0000000002 of session A@2", "/_locknode_0/A#1-lock-0000000002"),
        ] {
            assert!(names(line, "A") && !names(line, "C"), "{line}");
            assert_eq!(place_of(line), place);
        }
        assert!(!names("lock = AB#1", "A"), "another client's name begins so");
    }

    #[test]
    fn what_is_newer_is_told_of_the_column_that_was_to_be_written() {
        let stored = ["M: †tA@15us, tB@12us".to_owned(), "Q: 1us·tA@1us".to_owned()];
        let newer = |message| newer_than(message, &stored);
        assert_eq!(newer("add M[tA] at -1s"), Some(("tA", "15us", true)));
        assert_eq!(newer("add M[tB] at 2us"), Some(("tB", "12us", false)));
        assert_eq!((newer("add M[tC] at 2us"), newer("add N[tA] at 2us"), newer("ping")), (None, None, None));
    }
}
