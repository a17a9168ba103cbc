//! What servers bring to an end between themselves after the client that had asked for it has taken it back: one of them had accepted
//! it, and those that the client asked last did not know.

use super::stored::{live_of, names, place_of};
use super::{Cause, Kind, Search};
use crate::flights::Flight;
use picklock_engine::report::JsonEvent;

/// What one server came upon at another.
struct Found<'a> {
    /// Where it went on with it.
    begun: usize,
    /// Where it was stored.
    stored: usize,
    /// What it is, with the moment that it is stored for: `owner=tA'1@2s`.
    cell: &'a str,
    /// The same without it: it had been accepted for another moment.
    value: &'a str,
}

impl Search<'_> {
    /// Where a client took back what servers have of it by this step, where one of them came upon it all the same, and where that was
    /// stored; empty if it is what the client asked for itself.
    pub(super) fn finished(
        &self,
        place: &str,
        own: &str,
        client: &str,
        by: usize,
        flights: &[Flight],
    ) -> Vec<Cause> {
        let found = self.found(place, own, client, by);
        found.and_then(|found| self.taken_back(&found, own, client, flights)).unwrap_or_default()
    }

    /// `None` if no server said it to the one that stored it.
    fn found<'o>(&self, place: &str, own: &'o str, client: &str, by: usize) -> Option<Found<'o>> {
        let events = &self.story.events[..=by];
        let is_it = |line: &String| place_of(line) == place && live_of(line, client).as_deref() == Some(own);
        let stored = events.iter().position(|event| event.stored.iter().flatten().any(is_it))?;
        let (_, cells) = own.split_once(": ")?;
        let cell = cells.split(", ").find(|cell| names(cell, client))?;
        let (value, _) = cell.split_once('@')?;
        let begun =
            events.iter().position(|event| event.node == events[stored].node && tells(event, cell))?;
        let (from, message) = events[begun].from.as_ref().zip(events[begun].message.as_ref())?;
        let is_found = !self.clients.contains(from.as_str()) && says(message, value);
        is_found.then_some(Found { begun, stored, cell, value })
    }

    fn taken_back(&self, found: &Found, own: &str, client: &str, flights: &[Flight]) -> Option<Vec<Cause>> {
        let Found { begun, stored, cell, value } = *found;
        let events = &self.story.events;
        let server = events[stored].node.as_ref()?;
        let takes_back =
            |at: &usize| events[*at].node.as_deref() == Some(client) && tells(&events[*at], value);
        let at = (0..begun).rev().find(takes_back)?;
        let back = events[at].sent.iter().find(|sent| says(&sent.message, value))?;
        let back = format!("{client} sends {} to {}", back.message, back.to);
        let message = &events[begun].sent.iter().find(|sent| says(&sent.message, cell))?.message;
        let sends = self.by_message(begun, format!("{server} sends {message}"));
        let stores = self.by_message(stored, format!("{server} stores {own}"));
        let from = events[begun].from.as_deref()?;
        let told = [
            self.cause(at, Kind::Milestone, back),
            self.cause(begun, Kind::Milestone, sends),
            self.cause(stored, Kind::Record, stores),
        ];
        Some(self.accepted_alone(from, value, begun, flights).into_iter().chain(told).collect())
    }

    /// Where the first of the messages was lost by which a server told the others of what it has accepted, if none of them arrived.
    fn accepted_alone(&self, server: &str, value: &str, by: usize, flights: &[Flight]) -> Option<Cause> {
        let is_of_server = |node: &str| !self.clients.contains(node);
        let passes_on = |flight: &&Flight| {
            let is_told = flight.from == server && is_of_server(&flight.to) && flight.sent < by;
            is_told && says(&flight.message, value)
        };
        // What it answers to whoever asks comes after that.
        let sent = flights.iter().filter(passes_on).map(|flight| flight.sent);
        let last = sent.filter(|sent| self.story.events[*sent].sent.len() > 1).max()?;
        let mut told = flights.iter().filter(passes_on).filter(|flight| flight.sent == last);
        let lost = told.clone().filter_map(|flight| flight.ended).min()?;
        told.all(|flight| flight.is_lost).then_some(())?;
        let words = self.fault_words(lost, &self.story.events[lost])?;
        Some(self.cause(lost, Kind::Record, format!("{words}: {server} alone has accepted it")))
    }
}

/// Whether a value stands in a message, and is not the beginning of a longer one.
fn says(message: &str, value: &str) -> bool {
    let mut found = message.match_indices(value);
    found.any(|(at, _)| !message[at + value.len()..].starts_with(char::is_alphanumeric))
}

/// Whether that is said in this step.
fn tells(event: &JsonEvent, value: &str) -> bool {
    event.sent.iter().any(|sent| says(&sent.message, value))
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, has, reports, sends, step, stores, told, waits_for_ever};

    #[test]
    fn a_value_is_no_other_one_that_begins_so() {
        assert!(super::says("delete M[owner] if owner=tA'1", "owner=tA'1"));
        assert!(super::says("propose M[owner=tA'1@2s]", "owner=tA'1"));
        assert!(!super::says("propose M[owner=tA'12@2s]", "owner=tA'1"));
    }

    #[test]
    fn what_a_client_took_back_and_another_server_finishes_is_told_with_where_it_was_accepted_alone() {
        let (insert, delete) = ("insert M[owner]=tA'1 if not exists", "delete M[owner] if owner=tA'1");
        let (early, late) = ("propose M[owner=tA'1@1s]", "propose M[owner=tA'1@2s]");
        let accepted = "promise M, accepted owner=tA'1@1s";
        let stored = &["M: owner=tA'1@2s"][..];
        let run = |found: &str| {
            vec![
                sends(reports(step(0, "A"), "called A lock"), "s2", insert),
                reports(step(1, "B"), "called B lock"),
                sends(sends(stores(gets(step(2, "s2"), "A", insert), &[]), "s1", early), "s3", early),
                has(step(3, "s1"), "lost", "s2", early),
                has(step(4, "s3"), "lost", "s2", early),
                sends(step(5, "A"), "s3", delete),
                sends(stores(gets(step(6, "s3"), "A", delete), &[]), "A", "{}"),
                gets(step(7, "A"), "s3", "{}"),
                sends(stores(gets(step(8, "s2"), "s3", "prepare M"), &[]), "s3", found),
                sends(sends(stores(gets(step(9, "s3"), "s2", found), &[]), "s1", late), "s2", late),
                sends(stores(gets(step(10, "s1"), "s3", late), &[]), "s3", "accept M"),
                stores(gets(step(11, "s3"), "s1", "accept M"), stored),
                sends(step(12, "B"), "s3", "read M"),
                sends(stores(gets(step(13, "s3"), "B", "read M"), stored), "B", "{owner=tA'1}"),
                gets(step(14, "B"), "s3", "{owner=tA'1}"),
                waits_for_ever(step(15, "B")),
            ]
        };
        let told_of = told(&run(accepted), None);
        let expected = [
            "s2 to s1: propose M[owner=tA'1@1s] is lost: s2 alone has accepted it",
            "A sends delete M[owner] if owner=tA'1 to s3",
            "s3 sends propose M[owner=tA'1@2s], upon \"promise M, accepted owner=tA'1@1s\" from s2",
            "s3 stores M: owner=tA'1@2s, upon \"accept M\" from s1",
        ];
        for words in expected {
            assert!(told_of.iter().any(|told| told == words), "{words}: {told_of:?}");
        }
        let asked = told(&run("promise M"), None);
        assert!(asked.iter().all(|words| !words.contains("alone")), "nothing was found: {asked:?}");
    }
}
