//! Why the calls of a shared object come to what no order of them explains: what each of them has stored, and the answers that were
//! lost on the way.

use super::expired::ends_at;
use super::risen::Cell;
use super::stored::{names, place_of};
use super::{AND, Cause, Kind, STORES, Search};
use crate::flights::Flight;
use picklock_engine::report::{JsonEvent, TimeColumn};

/// Of more changes nobody reads a chain: a long run is told by its calls.
const CHANGES_MAX: usize = 8;

/// What a store counts at every change, whatever it is: told only where nothing else is.
const COUNTED: &str = "revision ";

impl Search<'_> {
    /// Every change of what is stored, and what a client was answered after an answer to it had been lost.
    pub(super) fn of_objects(&self, flights: &[Flight]) -> Vec<Cause> {
        if !self.is_of_objects {
            return Vec::new();
        }
        let changes: Vec<Cause> = (0..=self.end).filter_map(|position| self.change(position)).collect();
        let mut causes = if changes.len() > CHANGES_MAX { Vec::new() } else { changes };
        causes.extend(self.second_answers(flights));
        causes
    }

    /// In a small world, where no record that is gone says more: the last changes of what is stored before the promise breaks.
    pub(super) fn last_changes(&self) -> Vec<Cause> {
        const LAST: usize = 6;
        let goes_round = self.story.loop_start.is_some_and(|start| start < self.story.events.len());
        if self.is_of_objects || goes_round || self.story.time == TimeColumn::Seconds {
            return Vec::new();
        }
        // What a server says of itself when it is first looked at is no change.
        let is_change = |position: &usize| {
            let (before, after) = self.around(*position);
            let is_asked_for = |line: &str| {
                let message = self.story.events[*position].message.as_deref().unwrap_or_default();
                message.split([' ', ',', ';']).any(|word| word == place_of(line))
            };
            let mut after = after.iter().copied().flatten();
            before.is_some() || after.any(|line| self.is_somebodys(line) || is_asked_for(line))
        };
        let changes = (0..=self.end).rev().filter(is_change).filter_map(|position| self.change(position));
        changes.take(LAST).collect()
    }

    /// Whether what a server stores is another after this step than before.
    pub(super) fn changes_something(&self, position: usize) -> bool {
        let (before, after) = self.around(position);
        after.is_some_and(|after| before.unwrap_or_default() != after)
    }

    fn change(&self, position: usize) -> Option<Cause> {
        if !self.changes_something(position) {
            return None;
        }
        let (before, after) = self.around(position);
        let (before, after) = (before.unwrap_or_default(), after?);
        let server = self.story.events[position].node.as_deref()?;
        let is_counted = |line: &&String| line.starts_with(COUNTED);
        // Of nothing but tombstones nobody sees that they go.
        let is_buried =
            |line: &&String| Cell::all(line).count() > 0 && Cell::all(line).all(|cell| cell.is_tombstone);
        let new = || after.iter().filter(|line| !before.contains(line));
        let gone = || before.iter().filter(|line| !after.contains(line));
        let stores = |line: &String| format!("{server}{STORES}{line}");
        let of_clients = new().filter(|line| self.is_somebodys(line)).cloned().collect::<Vec<_>>().join(AND);
        let words = Some(of_clients).filter(|lines| !lines.is_empty()).map(|lines| stores(&lines));
        let words = words.or_else(|| new().find(|line| !is_counted(line)).map(stores));
        let event = &self.story.events[position];
        let now = event.wall_us.unwrap_or(event.at_us);
        let is_over = |line: &&String| ends_at(line).is_some_and(|until| until <= now);
        // Whoever asks next finds it so: that is not what took it.
        if let Some(line) = gone().find(is_over).filter(|_| words.is_none()) {
            return Some(self.cause(position, Kind::Record, format!("{line} has expired on {server}")));
        }
        let words = words.or_else(|| {
            let gone = gone().find(|line| !is_counted(line) && !is_buried(line));
            gone.map(|line| format!("{line} is gone on {server}"))
        });
        let words = words.or_else(|| new().next().filter(|_| !before.is_empty()).map(stores))?;
        Some(self.cause(position, Kind::Record, self.by_message(position, words)))
    }

    /// Whether something that is stored bears the name of a client.
    pub(super) fn is_somebodys(&self, line: &str) -> bool {
        self.clients.iter().any(|client| names(line, client))
    }

    /// What a server stores before this step of it and after it, if it is one.
    pub(super) fn around(&self, position: usize) -> (Option<&[String]>, Option<&[String]>) {
        let event = &self.story.events[position];
        let of_server = |earlier: &&JsonEvent| earlier.node == event.node;
        let before = self.story.events[..position].iter().rev().filter(of_server);
        (before.into_iter().find_map(|earlier| earlier.stored.as_deref()), event.stored.as_deref())
    }

    /// Of each answer that was lost the next one that the same server gave the same client: it is about what was done already.
    fn second_answers(&self, flights: &[Flight]) -> Vec<Cause> {
        let is_answer = |flight: &&Flight| self.clients.contains(flight.to.as_str());
        let lost = flights.iter().filter(is_answer).filter(|flight| flight.is_lost);
        let next = lost.filter_map(|lost| {
            let is_next = |flight: &&Flight| {
                let Flight { from, to, sent, .. } = flight;
                (from, to) == (&lost.from, &lost.to) && *sent > lost.sent && !flight.is_lost
            };
            let Flight { from, to, message, ended, .. } = flights.iter().find(is_next)?;
            let told = ended.filter(|ended| *ended < self.end)?;
            Some(self.cause(told, Kind::Milestone, format!("{from} answers {to}: {message}")))
        });
        next.take(CHANGES_MAX).collect()
    }
}
