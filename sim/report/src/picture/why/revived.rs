//! Records that were deleted, and that are there again when servers come back without what they had heard last.

use super::risen::Cell;
use super::stored::names;
use super::{Cause, Kind, Search};
use crate::flights::Flight;
use std::collections::BTreeSet;

impl Search<'_> {
    /// Of each party that is granted what it asked for, or enters in the end, by a record that had been deleted: where that came back,
    /// the answer that names it, and what the party stored upon that.
    pub(super) fn revived(&self, flights: &[Flight]) -> Vec<Cause> {
        let parties = self.breaks.iter().filter(|breaks| !breaks.promise.is_of_progress());
        let parties = parties.flat_map(|breaks| breaks.parties.iter().copied());
        parties.filter_map(|client| self.revived_of(client, flights)).flatten().collect()
    }

    fn revived_of(&self, client: &str, flights: &[Flight]) -> Option<Vec<Cause>> {
        let restarts = (0..=self.end).filter(|position| self.story.events[*position].what == "restarted");
        let came_back =
            |position| self.undeleted(position, client).into_iter().map(move |cell| (cell, position));
        let mut places: Vec<(Cell, Vec<usize>)> = Vec::new();
        for (cell, position) in restarts.flat_map(came_back) {
            match places.iter_mut().find(|(other, _)| *other == cell) {
                Some((_, positions)) => positions.push(position),
                None => places.push((cell, vec![position])),
            }
        }
        places.iter().find_map(|(cell, positions)| self.granted_by(*cell, positions, client, flights))
    }

    /// Where a cell came back, if its client went on upon an answer that names it, and stored something by that.
    fn granted_by(
        &self,
        cell: Cell,
        came_back: &[usize],
        client: &str,
        flights: &[Flight],
    ) -> Option<Vec<Cause>> {
        let Cell { row, column, .. } = cell;
        let last = *came_back.last()?;
        let is_it = |flight: &&Flight| {
            let is_told = flight.to == client && flight.sent > last && !flight.is_lost;
            is_told && flight.message.split(['{', '}', ',', ' ']).any(|word| word == column)
        };
        let Flight { from, to, message, sent, ended, .. } = flights.iter().find(is_it)?;
        let arrived = ended.filter(|arrived| *arrived <= self.end && self.goes_on(*arrived))?;
        let is_upon = |flight: &&Flight| flight.sent == arrived && flight.from == client && !flight.is_lost;
        let stored = flights.iter().find(is_upon)?.ended.filter(|stored| *stored <= self.end)?;
        let nodes = came_back.iter().filter_map(|position| self.story.events[*position].node.as_deref());
        let servers: BTreeSet<&str> = nodes.collect();
        let has = if servers.len() == 1 { "has" } else { "have" };
        let servers = servers.into_iter().collect::<Vec<_>>().join(", ");
        let again = format!("{servers} {has} {column} in {row} again, which was deleted");
        Some(vec![
            self.cause(last, Kind::Record, again),
            self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}")),
            self.stores_of_it(stored, client)?,
        ])
    }

    /// The cells of a client's that count after this step, and whose tombstones the server had before it went down.
    fn undeleted(&self, restarted: usize, client: &str) -> Vec<Cell<'_>> {
        let events = &self.story.events;
        let of_server = |position: &usize| events[*position].node == events[restarted].node;
        let crashed = (0..restarted).rev().filter(of_server).find(|at| events[*at].what == "crashed");
        let stored = |at: usize| events[at].stored.as_deref();
        let before = crashed.and_then(|crashed| (0..crashed).rev().filter(of_server).find_map(stored));
        let (Some(before), Some(after)) = (before, stored(restarted)) else { return Vec::new() };
        let is_back = |cell: &Cell| {
            let is_own = !cell.is_tombstone && names(cell.column, client);
            is_own && before.iter().flat_map(|line| Cell::all(line)).any(|other| cell.is_hidden_by(&other))
        };
        after.iter().flat_map(|line| Cell::all(line)).filter(is_back).collect()
    }

    /// What a server stores of a client's in this step, upon what message.
    fn stores_of_it(&self, position: usize, client: &str) -> Option<Cause> {
        let server = self.story.events[position].node.as_deref()?;
        let mut new = self.changed(position).filter(|line| !self.had(position, line));
        let line = new.find_map(|line| super::stored::live_of(line, client))?;
        let words = self.by_message(position, format!("{server} stores {line}"));
        Some(self.cause(position, Kind::Record, words))
    }

    fn had(&self, position: usize, line: &String) -> bool {
        let (before, _) = self.around(position);
        before.is_some_and(|before| before.contains(line))
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{
        breaks, gets, goes_on, is_struck, reports, search_in, sends, step, stores,
    };
    use picklock_properties::Promise;

    #[test]
    fn a_deleted_record_that_is_there_again_is_told_with_what_was_granted_by_it() {
        let run = |before: &str| {
            vec![
                stores(step(0, "s1"), &[before]),
                is_struck(step(1, "s1"), "crashed"),
                stores(is_struck(step(2, "s1"), "restarted"), &["Q: 1·tA@1us"]),
                reports(goes_on(sends(step(3, "A"), "s1", "read Q"), "L1:1"), "called A lock"),
                sends(stores(gets(step(4, "s1"), "A", "read Q"), &["Q: 1·tA@1us"]), "A", "{1·tA}"),
                sends(goes_on(gets(step(5, "A"), "s1", "{1·tA}"), "L1:2"), "s1", "add M[tA]"),
                stores(gets(step(6, "s1"), "A", "add M[tA]"), &["M: tA@5us", "Q: 1·tA@1us"]),
                reports(breaks(step(7, "A"), Promise::MutualExclusion, "A enters"), "granted A"),
            ]
        };
        let told = |before: &str| {
            let mut told = Vec::new();
            search_in(&run(before), None, |search, flights| {
                told = search.revived(flights).into_iter().map(|cause| cause.words).collect();
            });
            told
        };
        let expected = [
            "s1 has 1·tA in Q again, which was deleted",
            "s1 answers A: {1·tA}",
            "A's add M[tA]: s1 stores M: tA@5us",
        ];
        assert_eq!(told("Q: †1·tA@2us"), expected);
        assert_eq!(told("Q: 1·tA@1us"), Vec::<String>::new(), "it was there all the time");
    }
}
