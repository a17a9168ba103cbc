//! Records that a grant rests on, and that are gone by the time it counts: where they were stored, what took them, and when.

use super::stored::{names, place_of};
use super::{Breaks, Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_engine::report::JsonEvent;
use picklock_reported::Reported;
use std::collections::BTreeSet;

impl Search<'_> {
    /// Of each party where it lost the records that its last grant rests on, and the first of these as it was stored.
    pub(super) fn records_gone(&self, flights: &[Flight]) -> Vec<Cause> {
        let Some(Breaks { parties, .. }) = &self.breaks else { return Vec::new() };
        parties.iter().flat_map(|client| self.records_gone_of(client, flights)).collect()
    }

    /// The servers by whose clocks the life of a party's record was over.
    pub(super) fn expired_on(&self) -> BTreeSet<&str> {
        let parties = self.breaks.iter().flat_map(|breaks| &breaks.parties);
        let expired = parties.flat_map(|client| {
            let gone = self.gone_of(client).into_iter();
            gone.filter(|(position, _)| self.expired_at(*position, client).is_some())
        });
        expired.map(|(_, server)| server).collect()
    }

    /// Where the records are gone that a client's last grant rests on, and on which server.
    pub(super) fn gone_of(&self, client: &str) -> Vec<(usize, &str)> {
        let granted = self.last_report(client, |reported| reported.is_grant()).unwrap_or(0);
        let called = self.story.events[..granted].iter().rposition(|event| {
            let reported = reports_of(event);
            reported.into_iter().any(|reported| reported.client == client && reported.is_call())
        });
        let asked_all = self.asked_all(client, granted).map(|(position, _)| position);
        let asked = asked_all.max(called);
        let enters = self.is_granted_in(self.end, client);
        self.story.events[..=self.end]
            .iter()
            .enumerate()
            .skip(called.unwrap_or(granted))
            .flat_map(|(position, event)| event.reported.iter().map(move |report| (position, report)))
            .filter_map(|(position, report)| {
                let reported = Reported::parse(report).filter(|reported| reported.client == client)?;
                Some((position, reported.lost_on()?))
            })
            // What went before the grant was missed by it, unless it was stored anew.
            .filter(|(position, server)| *position >= granted || !self.stores_of(server, granted, client))
            // Who enters in the step that breaks it may do so by a record that came after.
            .filter(|(_, server)| !(enters && self.stores_of(server, self.end, client)))
            // What was there before it asked is left from an earlier time.
            .filter(|(position, _)| {
                let stored = self.first_stored(*position, client);
                stored.is_none_or(|stored| asked.is_none_or(|asked| stored >= asked))
            })
            .collect()
    }

    /// Where what is gone after this step was stored first.
    fn first_stored(&self, gone: usize, client: &str) -> Option<usize> {
        let line = self.line_gone(gone, client)?;
        self.stored_before(gone)
            .take_while(|(_, lines)| lines.contains(line))
            .last()
            .map(|(position, _)| position)
    }

    fn records_gone_of(&self, client: &str, flights: &[Flight]) -> Vec<Cause> {
        let granted = self.last_report(client, |reported| reported.is_grant()).unwrap_or(0);
        let gone = self.gone_of(client);
        let Some((first, _)) = gone.first().copied() else { return Vec::new() };
        let servers: BTreeSet<&str> = gone.iter().map(|(_, server)| *server).collect();
        let servers = servers.into_iter().collect::<Vec<_>>().join(", ");
        let expired: Option<Vec<&str>> =
            gone.iter().map(|(position, _)| self.expired_at(*position, client)).collect();
        let words = match expired.as_deref() {
            // Whoever asks next finds it so: that is not what took it.
            Some([at, others @ ..]) if others.iter().all(|other| other == at) => {
                format!("{client}'s record expired on {servers} at {at}")
            }
            Some([at, ..]) => format!("{client}'s record expired on {servers}, first at {at}"),
            Some([]) | None => {
                let gone = format!("{client}'s record is gone on {servers}");
                let gone = self.by_remark(first, gone);
                let event = &self.story.events[first];
                let place = self.line_gone(first, client).map(|line| place_of(line));
                let is_asked_for = |message: &str| {
                    event.remark.is_none() && message.split(' ').any(|word| Some(word) == place)
                };
                match (&event.from, &event.message) {
                    // It is found to be gone, and was not asked for.
                    (Some(from), Some(message))
                        if from != client
                            && self.clients.contains(from.as_str())
                            && !names(message, client)
                            && !is_asked_for(message) =>
                    {
                        format!("{gone} when {from}'s {message} comes")
                    }
                    (_, _) => self.by_message(first, gone),
                }
            }
        };
        let mut causes = vec![self.cause(first, Kind::Gone, words)];
        causes.extend(self.remark_before(granted, first));
        causes.extend(self.decided(granted, first, client));
        causes.extend(self.sent_before(first, client));
        causes.extend(self.falls_silent(granted, first, client));
        causes.extend(self.record(first, client));
        match self.prolonged(granted, client, flights) {
            Some(prolonged) => causes.extend(prolonged),
            None => causes.extend(self.answered_elsewhere(first, client, flights)),
        }
        causes
    }

    /// Where another client sent what takes a client's record in this step, if that was not there yet and its own was; and where its own
    /// went meanwhile.
    fn sent_before(&self, gone: usize, client: &str) -> Vec<Cause> {
        let events = &self.story.events;
        let event = &events[gone];
        let (Some(from), Some(to), Some(message)) = (&event.from, &event.node, &event.message) else {
            return Vec::new();
        };
        let is_other = from != client && self.clients.contains(from.as_str()) && !names(message, client);
        let sends = |position: &usize| {
            let mut sent = events[*position].sent.iter();
            events[*position].node.as_ref() == Some(from)
                && sent.any(|sent| sent.to == *to && sent.message == *message)
        };
        let sent = (0..gone).rev().find(sends).filter(|_| is_other && event.remark.is_none());
        let first_stored = self.first_stored(gone, client);
        let is_before = |sent: &usize| {
            first_stored.is_some_and(|stored| *sent < stored) && self.stores_of(to, *sent, from)
        };
        let Some(sent) = sent.filter(is_before) else { return Vec::new() };
        let words = self.by_message(sent, format!("{from} sends {message} to {to}"));
        let mut causes = vec![self.cause(sent, Kind::Milestone, words)];
        let loses = |position: &usize| {
            let mut reports = reports_of(&events[*position]);
            reports.any(|reported| reported.client == from && reported.lost_on() == Some(to))
        };
        let lost = (sent + 1..gone).find(loses);
        causes.extend(lost.and_then(|lost| self.record(lost, from)));
        causes.extend(lost.map(|lost| {
            let words = match self.expired_at(lost, from) {
                Some(at) => format!("{from}'s record expired on {to} at {at}"),
                None => self.by_message(lost, format!("{from}'s record is gone on {to}")),
            };
            self.cause(lost, Kind::Gone, words)
        }));
        causes
    }

    /// The last time that the client was told that it holds for longer, and what told it so.
    fn prolonged(&self, granted: usize, client: &str, flights: &[Flight]) -> Option<Vec<Cause>> {
        let position = self.last_report(client, |reported| reported.is_prolonged())?;
        let told = reports_of(&self.story.events[position]).find(Reported::is_prolonged)?.sentence();
        let is_it = |flight: &&Flight| flight.ended == Some(position) && flight.to == client;
        let answer = flights.iter().find(is_it).map(|Flight { from, message, sent, .. }| {
            self.cause(*sent, Kind::Milestone, format!("{from} answers {client}: {message}"))
        });
        let told = self.cause(position, Kind::Milestone, told);
        (position > granted).then(|| answer.into_iter().chain([told]).collect())
    }

    /// Where a client gets no answer to what it sent the server of this step by its own timer, and sends it nothing more before this step.
    fn falls_silent(&self, granted: usize, gone: usize, client: &str) -> Option<Cause> {
        let events = &self.story.events;
        let server = events[gone].node.as_deref()?;
        let is_timer = |position: usize| events[position].wake == Some("machine");
        let of_client = |position: &usize| events[*position].node.as_deref() == Some(client);
        let sends = |position: &usize| events[*position].sent.iter().any(|sent| sent.to == server);
        let last = (granted..gone).rev().filter(of_client).find(sends).filter(|last| is_timer(*last))?;
        let next = (last + 1..gone).filter(of_client).find(|next| events[*next].what == "woke")?;
        let is_answered = (last + 1..next).filter(of_client).any(|at| events[at].what == "delivered");
        let words = format!("{client} has no answer, and sends {server} nothing more");
        let is_silent = is_timer(next) && events[next].sent.is_empty() && !self.goes_on(next);
        (is_silent && !is_answered).then(|| self.cause(next, Kind::Milestone, words))
    }

    /// Whether a server stores something of the client's before this step.
    fn stores_of(&self, server: &str, before: usize, client: &str) -> bool {
        let is_its = |event: &&JsonEvent| event.node.as_deref() == Some(server) && event.stored.is_some();
        let last = self.story.events[..before].iter().rev().find(is_its);
        last.and_then(|event| event.stored.as_ref())
            .is_some_and(|lines| lines.iter().any(|line| names(line, client)))
    }

    /// Where the record was stored that is gone after this step of a server.
    fn record(&self, gone: usize, client: &str) -> Option<Cause> {
        let server = self.story.events[gone].node.as_ref()?;
        let line = self.line_gone(gone, client)?;
        let (position, _) = self.stored_before(gone).take_while(|(_, lines)| lines.contains(line)).last()?;
        Some(self.cause(position, Kind::Record, format!("{server} stores {}", in_short(line, client))))
    }

    /// What a server stores of a client's until this step.
    fn line_gone(&self, gone: usize, client: &str) -> Option<&String> {
        let after = self.story.events[gone].stored.as_ref()?;
        let (_, before) = self.stored_before(gone).next()?;
        before.iter().find(|line| !after.contains(line) && names(line, client))
    }

    /// What the server of this step stored after earlier ones, the last one first; where it goes down it shows what is left.
    pub(super) fn stored_before(&self, position: usize) -> impl Iterator<Item = (usize, &Vec<String>)> {
        let events = &self.story.events;
        let stored = move |earlier: usize| {
            let event = &events[earlier];
            let is_up = event.what != "crashed";
            event.stored.as_ref().filter(|_| is_up && event.node == events[position].node)
        };
        (0..position).rev().filter_map(move |earlier| Some((earlier, stored(earlier)?)))
    }

    /// The moment to which what is gone after this step was to live, if that is over by the server's own clock.
    fn expired_at(&self, gone: usize, client: &str) -> Option<&str> {
        let event: &JsonEvent = &self.story.events[gone];
        let (_, at) = self.line_gone(gone, client)?.rsplit_once(", dies at ")?;
        (micros(at)? <= event.wall_us.unwrap_or(event.at_us)).then_some(at)
    }

    /// What comes of what a server does of its own accord, after the remark that says so.
    pub(super) fn by_remark(&self, position: usize, what: String) -> String {
        let event = &self.story.events[position];
        match (event.remark, &event.node) {
            // It has a subject of its own.
            (Some(remark), _) if remark.contains(": ") => format!("{remark}: {what}"),
            (Some(remark), Some(server)) => format!("{server} {remark}: {what}"),
            (_, _) => what,
        }
    }

    /// What a server has done of its own accord, if it tells the others of it before the record is gone.
    fn remark_before(&self, granted: usize, gone: usize) -> Option<Cause> {
        let events = &self.story.events;
        let is_told = |event: &JsonEvent| {
            event.from.as_deref().is_some_and(|from| !self.clients.contains(from)) && event.remark.is_none()
        };
        let of = Some(&events[gone]).filter(|event| is_told(event))?;
        let remarked = (granted..gone).rev().find(|position| {
            let event = &events[*position];
            event.remark.is_some() && (event.node == of.from || event.node == of.node)
        })?;
        let (server, remark) = (events[remarked].node.as_ref()?, events[remarked].remark?);
        Some(self.cause(remarked, Kind::Gone, format!("{server} {remark}")))
    }

    /// Where the server last told the others something of the client, if what takes the record is a message of theirs that does not name
    /// it: what brought that, or what it told them.
    fn decided(&self, granted: usize, gone: usize, client: &str) -> Option<Cause> {
        let events = &self.story.events;
        let is_client = |node: &str| self.clients.contains(node);
        let is_unnamed = |event: &JsonEvent| {
            let is_of_server = event.from.as_deref().is_some_and(|from| !is_client(from));
            let is_named = event.message.as_deref().is_some_and(|message| names(message, client));
            is_of_server && !is_named && event.remark.is_none()
        };
        let of = Some(&events[gone]).filter(|event| is_unnamed(event))?;
        let told = |event: &JsonEvent| {
            let is_asked = event.from.as_deref().is_some_and(is_client);
            let mut sent = event.sent.iter().filter(|_| event.node == of.node && !is_asked);
            let sent = sent.find(|sent| !is_client(&sent.to) && names(&sent.message, client))?;
            Some((sent.to.clone(), sent.message.clone()))
        };
        let (position, (to, message)) =
            (granted..gone).rev().find_map(|position| Some((position, told(&events[position])?)))?;
        let (server, event) = (of.node.as_ref()?, &events[position]);
        let words = match (&event.from, &event.message) {
            (Some(from), Some(brought)) if names(brought, client) => format!("{from} to {server}: {brought}"),
            (_, _) => format!("{server} to {to}: {message}"),
        };
        Some(self.cause(position, Kind::Milestone, words))
    }

    /// The last time before that at which a client was told something upon a sign of life, if that was by another server.
    pub(super) fn answered_elsewhere(&self, gone: usize, client: &str, flights: &[Flight]) -> Option<Cause> {
        let events = &self.story.events;
        let is_still = |position: usize| {
            events[position].node.as_deref() == Some(client)
                && events[position].reported.is_empty()
                && !self.goes_on(position)
        };
        let asks = |position: &usize| events[*position].wake == Some("machine") && is_still(*position);
        let answer = |position: usize| {
            let server = &events[position].sent.first()?.to;
            let is_its = |later: &usize| {
                let event = &events[*later];
                event.what == "delivered"
                    && event.node.as_deref() == Some(client)
                    && event.from.as_ref() == Some(server)
            };
            let told = (position + 1..gone).find(is_its)?;
            (is_still(told) && events[told].sent.is_empty()).then_some((told, server))
        };
        let (told, server) = (0..gone).rev().filter(asks).find_map(answer)?;
        let message = events[told].message.as_deref()?;
        let is_elsewhere =
            events[gone].node.as_ref() != Some(server) && !self.clients.contains(server.as_str());
        let sent =
            flights.iter().find(|flight| flight.ended == Some(told)).map_or(told, |flight| flight.sent);
        is_elsewhere
            .then(|| self.cause(sent, Kind::Milestone, format!("{server} answers {client}: {message}")))
    }
}

/// A record without what a store notes of it, if it names its client all the same.
pub(super) fn in_short<'a>(line: &'a str, client: &str) -> &'a str {
    let place = line.split_once(": ").map_or(line, |(place, _)| place);
    if names(place_of(place), client) { place } else { line }
}

/// `10.002s`, `11ms`, `7us` in microseconds.
pub(super) fn micros(length: &str) -> Option<i64> {
    let digits = length.find(|letter: char| letter.is_alphabetic())?;
    let (number, unit) = length.split_at(digits);
    let unit_us = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * unit_us).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_by_its_place_where_that_names_its_client() {
        for (line, short) in [
            ("/lock/A#1-02 of session A@2: data 0, version 0", "/lock/A#1-02 of session A@2"),
            ("M: tA@5us", "M: tA@5us"),
            ("lock = A#1, dies at 4s", "lock = A#1, dies at 4s"),
        ] {
            assert_eq!(in_short(line, "A"), short);
        }
    }

    #[test]
    fn lengths_are_read_as_they_are_written() {
        let read = ["4s", "10.002s", "11ms", "1.500ms", "7us", "-2s"].map(micros);
        assert_eq!(read, [4_000_000, 10_002_000, 11_000, 1_500, 7, -2_000_000].map(Some));
        assert_eq!((micros("0"), micros("soon")), (None, None));
    }
}
