//! Causes that no fault and no word of a store tells: what a server answered, and what it had and had not stored by then.

use super::expired::{ends_at, lives_until};
use super::{Breaks, Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_engine::report::JsonEvent;
use picklock_engine::report::{HIDDEN, Newer, newer_than};
use picklock_reported::Reported;
use std::collections::BTreeSet;

impl Search<'_> {
    /// The answer that lets a client do what breaks the promise, unless what was reported with it says so.
    pub(super) fn answer(&self, flights: &[Flight]) -> Option<Cause> {
        let Flight { from, to, message, sent, .. } = self.answer_at(self.end, flights)?;
        let is_told = |report: &String| {
            let reported = Reported::parse(report).filter(|reported| reported.client == *to);
            let is_about = |reported: &Reported| {
                self.breaks.as_ref().is_some_and(|breaks| reported.is_of_interest(breaks.promise))
            };
            reported.is_some_and(|reported| reported.is_answered() && is_about(&reported))
        };
        if self.taken_back_at_last(flights) == Some(*sent) {
            return None;
        }
        let is_told = self.story.events[*sent].reported.iter().any(is_told);
        let words = format!("{from} answers {to}: {message}");
        (!is_told).then(|| self.cause(*sent, Kind::Milestone, words))
    }

    /// Who enters in the step that breaks it: where what it is told last, and names it, was stored, and the answer.
    pub(super) fn enters_by(&self, flights: &[Flight]) -> Vec<Cause> {
        let is_entry =
            |flight: &&Flight| self.is_granted_in(self.end, &flight.to) && names(&flight.message, &flight.to);
        let Some(answer) = self.answer_at(self.end, flights).filter(is_entry) else { return Vec::new() };
        let Flight { from, to, sent, .. } = answer;
        let events = &self.story.events;
        let called = self.last_report(to, |reported| reported.is_call()).unwrap_or(0);
        let own = |position: usize| {
            let mut lines = events[position].stored.iter().flatten();
            lines.find_map(|line| live_of(line, to)).filter(|_| events[position].node.as_ref() == Some(from))
        };
        let last = (called..=*sent).rev().find_map(own);
        let stored = last.and_then(|last| {
            let at = (called..=*sent).find(|at| own(*at).as_ref() == Some(&last))?;
            let stores = format!("{from} stores {last}");
            // What is answered at once says upon what.
            let words = if at == *sent { stores } else { self.by_message(at, stores) };
            Some(self.cause(at, Kind::Record, words))
        });
        stored.into_iter().chain(self.answer(flights)).collect()
    }

    /// Where a server did what a client asked that is refused in the step that breaks it, if all that was its own is gone by that.
    pub(super) fn taken_back_at_last(&self, flights: &[Flight]) -> Option<usize> {
        let Flight { to, sent, .. } = self.answer_at(self.end, flights)?;
        let mut reports = reports_of(&self.story.events[self.end]);
        let is_refused = reports.any(|reported| reported.client == to && reported.is_refusal());
        let (before, after) = self.around(*sent);
        let has = |lines: Option<&[String]>| {
            lines.is_some_and(|lines| lines.iter().any(|line| live_of(line, to).is_some()))
        };
        (is_refused && has(before) && !has(after)).then_some(*sent)
    }

    /// The answer that breaks a promise where it names others that have a part in it, and not who it is for: nobody can tell what others there were.
    pub(super) fn answer_of_others(&self, flights: &[Flight]) -> Option<Cause> {
        let asks = |position| self.answer_of_others_at(position, flights);
        asks(self.end).map(|(cause, _)| cause)
    }

    /// The same of each party's last grant before that, where it asks a question and such an answer is enough.
    pub(super) fn granted_upon_others(&self, flights: &[Flight]) -> Vec<Cause> {
        let Some(Breaks { parties, .. }) = &self.breaks else { return Vec::new() };
        let granted = |client: &&str| self.last_report(client, |reported| reported.is_grant());
        let answers = parties.iter().filter_map(granted).filter_map(|granted| {
            let (cause, is_enough) = self.answer_of_others_at(granted, flights)?;
            is_enough.then_some(cause)
        });
        answers.collect()
    }

    /// Such an answer that is heard in this step, and whether its client is granted what it asked for by that.
    fn answer_of_others_at(&self, heard: usize, flights: &[Flight]) -> Option<(Cause, bool)> {
        let Breaks { parties, .. } = self.breaks.as_ref()?;
        let Flight { from, to, message, sent, .. } = self.answer_at(heard, flights)?;
        let named: Vec<&str> = parties.iter().copied().filter(|party| names(message, party)).collect();
        if self.is_of_progress() || named.is_empty() || named.contains(&to.as_str()) {
            return None;
        }
        let mut before = self.story.events[..*sent].iter().rev();
        let asking = before.find(|event| event.node.as_deref() == Some(to)).and_then(|event| event.doing);
        let asked = asking.filter(|doing| doing.ends_with('?'));
        let named = named.join("'s and ");
        let answer = match asked {
            Some(doing) => format!("{to} asks \"{doing}\", and {from} answers {message}"),
            None => format!("{from} answers {to}: {message}"),
        };
        let line = self.is_enough_for(to, heard);
        let enough = line.map_or_else(String::new, |line| format!("; in {line} that is enough"));
        let words = format!("{answer}, which is {named}'s and not {to}'s{enough}");
        Some((self.cause(*sent, Kind::Milestone, words), line.is_some() && asked.is_some()))
    }

    /// In which line a client stood when it was told what it was in this step, if that was what it needed to be granted what it asked for.
    fn is_enough_for(&self, client: &str, heard: usize) -> Option<&str> {
        let (before, event) = (&self.story.events[..heard], &self.story.events[heard]);
        let is_of_it = |event: &&JsonEvent| event.node.as_deref() == Some(client);
        let earlier = before.iter().rfind(is_of_it)?;
        earlier.line.as_deref().filter(|_| is_of_it(&event) && self.is_granted_in(heard, client))
    }

    /// The answer of a server that a client was told in this step.
    pub(super) fn answer_at<'f>(&self, step: usize, flights: &'f [Flight]) -> Option<&'f Flight> {
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
            others.filter_map(move |other| self.nothing_of(other, from, *sent, flights)).flatten()
        });
        missed.collect()
    }

    /// Of each party the last record that a server was asked by it to write, and that changed nothing there: what is stored counts
    /// as newer; and what brought that.
    pub(super) fn written_in_vain(&self) -> Vec<Cause> {
        let Some(Breaks { parties, .. }) = &self.breaks else { return Vec::new() };
        parties.iter().filter_map(|client| self.written_in_vain_by(client)).flatten().collect()
    }

    fn written_in_vain_by(&self, client: &str) -> Option<Vec<Cause>> {
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
        let (message, stored) = (events[position].message.as_deref()?, events[position].stored.as_deref()?);
        let newer = newer_than(message, stored);
        let words = match newer {
            Some(Newer { at, is_deleted: true, .. }) => {
                format!("{client}'s record is written{HIDDEN} of {at}")
            }
            Some(newer) if newer.is_the_same(message) => {
                format!("{server} has it already, and it changes nothing")
            }
            Some(Newer { column, at, is_deleted: false }) => {
                format!("{server} keeps {column} at {at}, which is newer")
            }
            None => format!("{server} has something newer, and it changes nothing"),
        };
        // Of what is there as it was nothing is lost.
        let is_there = newer.is_some_and(|newer| newer.is_the_same(message));
        let kind = if is_there { Kind::Milestone } else { Kind::Gone };
        let in_vain = self.cause(position, kind, self.by_message(position, words));
        let deletion = newer.filter(|newer| newer.is_deleted);
        let buried = deletion.and_then(|deletion| self.buried(position, deletion));
        Some(buried.into_iter().chain([in_vain]).collect())
    }

    /// The step in which the server of this one was told that a column is deleted.
    fn buried(&self, position: usize, deletion: Newer) -> Option<Cause> {
        let events = &self.story.events;
        let message = events[position].message.as_deref()?;
        let server = events[position].node.as_deref()?;
        let stored = |earlier: &usize| events[*earlier].stored.as_deref();
        let of_server = |earlier: &usize| events[*earlier].node.as_deref() == Some(server);
        let steps = (0..position).rev().filter(|earlier| of_server(earlier) && stored(earlier).is_some());
        let is_there = |earlier: &usize| {
            stored(earlier).is_some_and(|stored| newer_than(message, stored) == Some(deletion))
        };
        let first = steps.take_while(is_there).last()?;
        let words = self.by_message(first, format!("{server} keeps a tombstone of {}", deletion.column));
        Some(self.cause(first, Kind::Record, words))
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

    /// What a server has at the end whose place bears the client's name, or which is of one that does, with where it was stored first; empty if no server has more than one.
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
            let own = at_the_end.stored.iter().flatten().filter(|line| is_own(line, client));
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
    pub(super) fn nothing_of(
        &self,
        client: &str,
        server: &str,
        at: usize,
        flights: &[Flight],
    ) -> Option<Vec<Cause>> {
        let lines_of = |server: &str, position: usize| {
            let event = &self.story.events[position];
            event.stored.as_ref().filter(|_| event.node.as_deref() == Some(server))
        };
        let now = (0..=at).rev().find_map(|position| lines_of(server, position))?;
        let has = |lines: &[String], place: &str| {
            lines.iter().any(|line| place_of(line) == place && live_of(line, client).is_some())
        };
        let called = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let lost = |lines: &Vec<String>| {
            let is_lost = |line: &&String| !has(now, place_of(line));
            lines.iter().filter(is_lost).find_map(|line| live_of(line, client))
        };
        let at_last =
            || (called..at).rev().find_map(|position| Some((position, lost(lines_of(server, position)?)?)));
        // What goes of later holds than that in which it writes is nothing to that one.
        let at_first = |written: &usize| {
            let mut had =
                (0..*written).rev().find_map(|position| Some((position, lines_of(server, position)?)))?;
            for position in *written..=at {
                let Some(lines) = lines_of(server, position) else { continue };
                let goes = |line: &&String| !has(lines, place_of(line));
                if let Some(line) = had.1.iter().filter(goes).find_map(|line| live_of(line, client)) {
                    return Some((had.0, line));
                }
                had = (position, lines);
            }
            None
        };
        let had = self.written_in.get(client).map_or_else(at_last, at_first);
        if let Some((had, line)) = had {
            let gone = (had + 1..=at).find(|position| lines_of(server, *position).is_some())?;
            // What a client takes away itself on the way to its grant, that does not rest on.
            let granted = self.last_report(client, |reported| reported.is_grant()).unwrap_or(0);
            let takes_it = |flight: &Flight| {
                flight.ended == Some(gone) && flight.from == client && flight.sent >= called
            };
            if gone < granted && flights.iter().any(takes_it) {
                return None;
            }
            let event = &self.story.events[gone];
            let now = event.wall_us.unwrap_or(event.at_us);
            let mut causes = self.by_itself(client, &line, gone, flights);
            causes.extend(self.read_before(client, &line, gone, flights));
            let expired = ends_at(&line).filter(|until| *until <= now);
            if let Some(nowhere) =
                self.nowhere(client, &line, called, at, flights).filter(|_| expired.is_none())
            {
                causes.extend(nowhere.into_iter().chain(self.answer_of_several(at)));
                return Some(causes);
            }
            let words = match expired {
                // Whoever asks next finds it so: that is not what took it.
                Some(until) => lives_until(client, until, server, now),
                // What it does of its own accord is about whoever loses something by that.
                None if event.remark.is_some() => {
                    self.by_remark(gone, format!("{} is gone on {server}", quoted(&line)))
                }
                None => self.by_message(gone, format!("{server} does not have {} any more", quoted(&line))),
            };
            causes.push(self.cause(gone, Kind::Gone, words));
            return Some(causes);
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
        let (Flight { from, message, sent, ended, is_lost, .. }, line) = missing?;
        let lacks = format!("and {server} does not have {line}");
        let missed = match ended.filter(|ended| *is_lost && *ended < at) {
            Some(lost) => {
                self.cause(lost, Kind::Fault, format!("{from} to {server}: {message} is lost, {lacks}"))
            }
            None => {
                let words = format!("{from} to {server}: {message} is under way, {lacks}");
                self.cause(*sent, Kind::Milestone, words)
            }
        };
        Some(vec![missed])
    }

    /// Where a client sent what takes its own record in this step, if it did; and the answer upon which it had that record still, if it
    /// was there before it called.
    fn by_itself(&self, client: &str, line: &str, gone: usize, flights: &[Flight]) -> Vec<Cause> {
        let (events, place) = (&self.story.events, place_of(line));
        let is_its =
            |flight: &&Flight| flight.from == client && flight.ended == Some(gone) && !flight.is_lost;
        let Some(taken) = flights.iter().find(is_its) else { return Vec::new() };
        let Flight { to, message, sent, .. } = taken;
        let mut causes = self.doubled(taken, line, flights);
        if causes.is_empty() {
            causes.push(self.cause(*sent, Kind::Milestone, format!("{client} sends {message} to {to}")));
        }
        let called = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let stored = events[..called].iter().rev().filter(|event| event.node.as_ref() == Some(to));
        let before = stored.into_iter().find_map(|event| event.stored.as_ref());
        if before.is_some_and(|lines| lines.iter().any(|line| place_of(line) == place)) {
            let is_of_it = |flight: &&Flight| {
                &flight.from == to
                    && flight.to == client
                    && flight.sent >= called
                    && !flight.is_lost
                    && flight.message.split([' ', ',']).any(|word| word == place)
            };
            let answer = flights.iter().find(is_of_it).filter(|answer| answer.sent < gone);
            causes.extend(answer.map(|Flight { sent, message, .. }| {
                self.cause(*sent, Kind::Milestone, format!("{to} answers {client}: {message}"))
            }));
        }
        causes
    }

    /// What another one had read of the client when it sent what takes its record in this step, if that was written anew since; and
    /// where it was.
    fn read_before(&self, client: &str, line: &str, gone: usize, flights: &[Flight]) -> Vec<Cause> {
        let events = &self.story.events;
        let takes_it =
            |flight: &&Flight| flight.ended == Some(gone) && flight.from != client && !flight.is_lost;
        let read = flights.iter().find(takes_it).and_then(|flight| self.answer_at(flight.sent, flights));
        let Some(read) = read.filter(|read| names(&read.message, client)) else { return Vec::new() };
        let has = |position: &usize| {
            let event = &events[*position];
            let mut lines = event.stored.iter().flatten().filter(|_| event.node.as_ref() == Some(&read.from));
            lines.any(|stored| live_of(stored, client).as_deref() == Some(line))
        };
        let Some(written) = (0..gone).find(has).filter(|written| *written > read.sent) else {
            return Vec::new();
        };
        let Flight { from, to, message, sent, .. } = read;
        let question = |answer: &Flight| events[answer.sent].message.as_deref();
        let is_earlier = |flight: &&Flight| {
            let is_back = (&flight.from, &flight.to) == (from, to) && !flight.is_lost;
            is_back && flight.sent < *sent && question(flight) == question(read)
        };
        // Whoever compares the two finds nothing new.
        let earlier = flights.iter().rfind(is_earlier).filter(|earlier| earlier.message == *message);
        let answers = format!("{from} answers {to}: {message}");
        let again = if earlier.is_some() { format!("{answers}, as before") } else { answers.clone() };
        let earlier = earlier.map(|earlier| self.cause(earlier.sent, Kind::Milestone, answers));
        let stores = self.by_message(written, format!("{from} stores {line}"));
        let read = self.cause(*sent, Kind::Milestone, again);
        earlier.into_iter().chain([read, self.cause(written, Kind::Record, stores)]).collect()
    }

    /// What happens in a step, after whose message brings it about, if one does.
    pub(super) fn by_message(&self, position: usize, what: String) -> String {
        let event = &self.story.events[position];
        match (event.what, &event.from, &event.message) {
            ("delivered", Some(from), Some(message)) if !self.clients.contains(from.as_str()) => {
                format!("{what}, upon \"{message}\" from {from}")
            }
            ("delivered", Some(from), Some(message)) => match self.with_role(from, position) {
                client if client == *from => format!("{from}'s {message}: {what}"),
                attendant => format!("{attendant}, {message}: {what}"),
            },
            _ => what,
        }
    }
}

/// Whether something that is stored or sent is the client's: `lock = A#1`, `tA@5us`, `/lock/A#1-…02`.
pub(super) fn names(line: &str, client: &str) -> bool {
    words_of(line).any(|word| word == client || word.strip_prefix('t') == Some(client))
}

/// What of it is the client's, and no tombstone: `M: tA@5us` of `M: tA@5us, †tB@15us`.
pub(super) fn live_of(line: &str, client: &str) -> Option<String> {
    let (place, cells) = match line.split_once(": ") {
        Some((place, cells)) if !names(place, client) && !place.contains('{') => (place, cells),
        _ => return names(line, client).then(|| line.to_owned()),
    };
    let own = cells.split(", ").filter(|cell| names(cell, client) && !cell.starts_with('†'));
    let own: Vec<&str> = own.collect();
    (!own.is_empty()).then(|| format!("{place}: {}", own.join(", ")))
}

/// What is stored, between quotes if it is a sentence of its own: `"R1: A's lock 1 has PW"`.
pub(super) fn quoted(line: &str) -> String {
    if line.contains(" has ") { format!("\"{line}\"") } else { line.to_owned() }
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric())
}

/// Where it is stored: the key, the row, the node.
pub(super) fn place_of(line: &str) -> &str {
    line.split([' ', ':', '=']).next().unwrap_or(line)
}

/// Whether the place has the client's name, or is of somebody who has: `/lock/02 of session B@1`.
pub(super) fn is_own(line: &str, client: &str) -> bool {
    let place = place_of(line);
    let (head, _) = line.split_once(": ").unwrap_or((line, ""));
    let owner = head.strip_prefix(place).and_then(|owner| owner.strip_prefix(" of "));
    names(place, client) || place.starts_with('/') && owner.is_some_and(|owner| names(owner, client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_stored_in_one_place_only_the_living_cells_of_a_client_are_its_own() {
        for (line, own) in [
            ("M: tA@5us, tB@15us", Some("M: tA@5us")),
            ("M: †tA@5us, tB@15us", None),
            ("lock = A#1, dies at 6s", Some("lock = A#1, dies at 6s")),
            (
                "/lock/A#1-02 of session A@2: data 0, version 0",
                Some("/lock/A#1-02 of session A@2: data 0, version 0"),
            ),
            ("lock = B#1", None),
            ("holders = {D#1: 10s, A#1: 11s}", Some("holders = {D#1: 10s, A#1: 11s}")),
        ] {
            assert_eq!(live_of(line, "A").as_deref(), own);
        }
    }

    #[test]
    fn what_is_a_sentence_of_its_own_stands_between_quotes_in_another_one() {
        assert_eq!(quoted("R1: A's lock 1 has PW"), "\"R1: A's lock 1 has PW\"");
        assert_eq!(quoted("lock = A#1, dies at 6s"), "lock = A#1, dies at 6s");
    }

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
}
