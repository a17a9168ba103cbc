//! Why the calls of a shared object come to what no order of them explains: what each of them has stored, and the answers that were
//! lost on the way.

use super::expired::ends_at;
use super::risen::Cell;
use super::stored::{names, place_of, quoted};
use super::waits::is_resource;
use super::{AND, Cause, Kind, STORES, Search, reports_of};
use crate::flights::Flight;
use picklock_engine::report::{JsonEvent, Operation, TimeColumn, operations};
use std::collections::BTreeSet;

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
        let changes = |is_told: &dyn Fn(&str) -> bool| -> Vec<Cause> {
            (0..=self.end).flat_map(|position| self.changes(position, is_told)).collect()
        };
        let mut causes = changes(&|_| true);
        if causes.len() > CHANGES_MAX {
            // What servers say of themselves nobody has asked for.
            let asked: BTreeSet<&str> = self.asked_for();
            causes = changes(&|line| asked.contains(place_of(line)));
        }
        if causes.len() > CHANGES_MAX {
            // What the call has done that comes back at last.
            let operations = operations(&self.story.events[..=self.end]);
            let last = operations.iter().find(|call| call.ended == Some(self.end));
            causes.retain(|change| last.is_some_and(|call| self.is_of_call(change, call)));
        }
        if causes.len() > CHANGES_MAX {
            causes.clear();
        }
        causes.extend(self.second_answers(flights));
        causes
    }

    /// Whether a client has brought a change about in one of its calls.
    fn is_of_call(&self, change: &Cause, call: &Operation) -> bool {
        let is_its = self.story.events[change.position].from.as_ref() == Some(&call.client);
        is_its && change.position >= call.begun
    }

    /// What clients name when they ask for something.
    fn asked_for(&self) -> BTreeSet<&str> {
        let of_clients = self.story.events[..=self.end].iter().filter(|event| event.doing.is_some());
        of_clients.flat_map(|event| &event.sent).flat_map(|sent| named_in(&sent.message)).collect()
    }

    /// In a small world, where no record that is gone says more: the last changes of what is stored before the promise breaks.
    pub(super) fn last_changes(&self, flights: &[Flight]) -> Vec<Cause> {
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
                named_in(message).any(|word| word == place_of(line))
            };
            let mut after = after.iter().copied().flatten();
            before.is_some() || after.any(|line| self.is_somebodys(line) || is_asked_for(line))
        };
        let mut unasked = self.changed_in_vain(flights);
        unasked.extend(self.taken_back_at_last(flights));
        let steps = (0..=self.end).rev().filter(|position| !unasked.contains(position)).filter(is_change);
        let (mut changes, mut told): (Vec<Cause>, usize) = (Vec::new(), 0);
        for position in steps {
            let last = changes.first().map_or(position, |last| last.position);
            if told < LAST && !self.is_for_nothing(position, last) {
                let of_step = self.changes(position, &|line| self.is_asked_for_at_last(line, flights));
                told += usize::from(!of_step.is_empty());
                changes.extend(of_step);
            }
        }
        let overtaken = changes.iter().flat_map(|change| self.overtaken(change.position, flights));
        let overtaken: Vec<Cause> = overtaken.collect();
        let read = self.read_apart(&changes, flights);
        let sent = self.sent_before_another(&changes, flights);
        changes.into_iter().chain(overtaken).chain(read).chain(sent).collect()
    }

    /// In a large world, where nothing else tells why: what the last answer was given upon, the last changes of each place that its
    /// question names, other than by the question itself.
    pub(super) fn asked_at_last(&self, flights: &[Flight]) -> Vec<Cause> {
        const LAST: usize = 3;
        let answer = self.answer_at(self.end, flights).filter(|_| self.story.time == TimeColumn::Seconds);
        let Some(Flight { from, sent, .. }) = answer.filter(|_| !self.is_of_objects) else {
            return Vec::new();
        };
        let question = self.story.events[*sent].message.as_deref().unwrap_or_default();
        let places: BTreeSet<&str> = named_in(question).collect();
        let is_of_place = |line: &str| places.contains(place_of(line));
        let is_change = |position: &usize| {
            self.story.events[*position].node.as_ref() == Some(from)
                && self.changed(*position).any(|line| is_of_place(line))
        };
        let last = (0..*sent).rev().filter(is_change).take(LAST);
        last.flat_map(|position| self.changes(position, &is_of_place)).collect()
    }

    /// Whether nothing comes to be there but what is told by its kind and by whose it is, `lease B@1`, if it stays to the end, or goes
    /// before the last change in a step that is told for something else.
    fn is_for_nothing(&self, position: usize, last: usize) -> bool {
        let is_new = |before: Option<&[String]>, line: &str| {
            !line.starts_with(COUNTED) && before.is_none_or(|before| before.iter().all(|other| other != line))
        };
        let is_told_for_other = |line: &String| {
            let server = &self.story.events[position].node;
            let is_gone = |later: &usize| {
                let event = &self.story.events[*later];
                event.node == *server && event.stored.as_ref().is_some_and(|lines| !lines.contains(line))
            };
            (position..=self.end).find(is_gone).is_none_or(|gone| {
                let (before, after) = self.around(gone);
                gone < last && after.into_iter().flatten().any(|other| is_new(before, other))
            })
        };
        let (before, after) = self.around(position);
        let mut new = after.into_iter().flatten().filter(|line| is_new(before, line)).peekable();
        new.peek().is_some() && new.all(|line| is_of_kind(line) && is_told_for_other(line))
    }

    /// What the step of a server stores that breaks a promise by itself.
    pub(super) fn done_by_a_server(&self) -> Vec<Cause> {
        let is_server = !self.is_of_objects && !is_resource(&self.story.events[self.end]);
        if self.is_of_progress() || !is_server {
            return Vec::new();
        }
        let mut causes = self.changes(self.end, &|_| true);
        causes.extend(self.made_way());
        causes
    }

    /// Where the last thing went that had been stored in the place that this step fills anew.
    fn made_way(&self) -> Option<Cause> {
        let server = &self.story.events[self.end].node;
        let has = |lines: Option<&[String]>, place: &str| {
            lines.is_some_and(|lines| lines.iter().any(|line| place_of(line) == place))
        };
        let (before, after) = self.around(self.end);
        let filled = after?.iter().map(|line| place_of(line)).find(|place| !has(before, place))?;
        let goes = |position: &usize| {
            let event = &self.story.events[*position];
            event.node == *server && event.stored.is_some() && {
                let (before, after) = self.around(*position);
                has(before, filled) && !has(after, filled)
            }
        };
        self.change((0..self.end).rev().find(goes)?)
    }

    /// Steps in which a server does something for a client that does not go on upon it, in a place that nobody names any more but in
    /// such steps.
    fn changed_in_vain(&self, flights: &[Flight]) -> BTreeSet<usize> {
        let events = &self.story.events;
        let is_acknowledged = |position: usize| {
            let is_it =
                |flight: &&Flight| flight.sent == position && self.clients.contains(flight.to.as_str());
            let heard = flights.iter().find(is_it).filter(|flight| !flight.is_lost)?.ended?;
            Some(heard <= self.end && !self.goes_on(heard) && events[heard].reported.is_empty())
        };
        let mut named: BTreeSet<&str> = BTreeSet::new();
        let mut in_vain = BTreeSet::new();
        for (position, event) in events[..=self.end].iter().enumerate().rev() {
            let (Some(message), "delivered") = (event.message.as_deref(), event.what) else { continue };
            let is_named = |line: &String| {
                named.contains(place_of(line)) || !named_in(message).any(|word| word == place_of(line))
            };
            let mut changed = self.changed(position).peekable();
            if changed.peek().is_some() && !changed.any(is_named) && is_acknowledged(position) == Some(true) {
                in_vain.insert(position);
            } else {
                named.extend(named_in(message));
            }
        }
        in_vain
    }

    /// Lines of what a server stores that come or go in this step.
    pub(super) fn changed(&self, position: usize) -> impl Iterator<Item = &String> {
        let (before, after) = self.around(position);
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or(before.unwrap_or_default()));
        let gone = before.iter().filter(|line| !after.contains(line));
        gone.chain(after.iter().filter(|line| !before.contains(line)))
    }

    /// Where a client sent what arrives in this step after what it sent later, and that it left in between.
    fn overtaken(&self, arrived: usize, flights: &[Flight]) -> Vec<Cause> {
        let is_it = |flight: &&Flight| {
            flight.ended == Some(arrived) && flight.is_late && self.clients.contains(flight.from.as_str())
        };
        let Some(Flight { from, to, message, sent, .. }) = flights.iter().find(is_it) else {
            return Vec::new();
        };
        let sends = self.cause(*sent, Kind::Milestone, format!("{from} sends {message} to {to}"));
        let left = (sent + 1..arrived).find_map(|position| {
            let mut reports = reports_of(&self.story.events[position]);
            let left = reports.find(|reported| reported.client == from && reported.is_departure())?;
            Some(self.cause(position, Kind::Milestone, left.sentence()))
        });
        [sends].into_iter().chain(left).collect()
    }

    /// Whether what a server stores is another after this step than before.
    pub(super) fn changes_something(&self, position: usize) -> bool {
        let (before, after) = self.around(position);
        after.is_some_and(|after| before.unwrap_or_default() != after)
    }

    /// The last change of what is stored that a client has brought about.
    pub(super) fn last_change_by(&self, client: &str) -> Option<Cause> {
        let is_its = |position: &usize| self.story.events[*position].from.as_deref() == Some(client);
        (0..=self.end).rev().filter(is_its).find_map(|position| self.change(position))
    }

    /// The first of the changes that this step brings about, if any.
    pub(super) fn change(&self, position: usize) -> Option<Cause> {
        self.changes(position, &|_| true).into_iter().next()
    }

    /// What a server stores that it did not before, or what it does not any more, and what has expired: of such lines as are to be
    /// told.
    fn changes(&self, position: usize, is_told: &dyn Fn(&str) -> bool) -> Vec<Cause> {
        let (before, after) = self.around(position);
        let (before, Some(after)) = (before.unwrap_or_default(), after) else { return Vec::new() };
        let event = &self.story.events[position];
        let Some(server) = event.node.as_deref() else { return Vec::new() };
        let is_counted = |line: &&String| line.starts_with(COUNTED);
        // Of nothing but tombstones nobody sees that they go.
        let is_buried =
            |line: &&String| Cell::all(line).count() > 0 && Cell::all(line).all(|cell| cell.is_tombstone);
        let new = || after.iter().filter(|line| !before.contains(line) && is_told(line));
        let gone = || before.iter().filter(|line| !after.contains(line) && is_told(line));
        let stores = |line: &String| format!("{server}{STORES}{line}");
        let now = event.wall_us.unwrap_or(event.at_us);
        // Whoever asks next finds it so: that is not what took it.
        let over: Vec<&str> = gone()
            .filter(|line| ends_at(line).is_some_and(|until| until <= now))
            .map(String::as_str)
            .collect();
        let has = if over.len() == 1 { "has" } else { "have" };
        let expired = format!("{} {has} expired on {server}", over.join(" and "));
        let expired = (!over.is_empty()).then(|| self.cause(position, Kind::Record, expired));
        let of_clients = new().filter(|line| self.is_somebodys(line)).cloned().collect::<Vec<_>>().join(AND);
        let words = Some(of_clients).filter(|lines| !lines.is_empty()).map(|lines| stores(&lines));
        let words = words.or_else(|| new().find(|line| !is_counted(line)).map(stores));
        let words = words.or_else(|| {
            let gone = gone().find(|line| !is_counted(line) && !is_buried(line));
            gone.filter(|_| expired.is_none()).map(|line| format!("{} is gone on {server}", quoted(line)))
        });
        let counted = || new().next().filter(|_| !before.is_empty() && expired.is_none()).map(stores);
        let changed = words.or_else(counted);
        let changed =
            changed.map(|words| self.cause(position, Kind::Record, self.by_message(position, words)));
        expired.into_iter().chain(changed).collect()
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
            let Flight { from, to, message, sent, ended, .. } = flights.iter().find(is_next)?;
            let heard = self.story.events[ended.filter(|ended| *ended < self.end)?].step;
            let words = format!("{from} answers {to}: {message}, heard in step {heard}");
            Some(self.cause(*sent, Kind::Milestone, words))
        });
        next.take(CHANGES_MAX).collect()
    }
}

/// Whether something that is stored is told by its kind and by whose it is: `lease B@1`.
pub(super) fn is_of_kind(line: &str) -> bool {
    let (kind, whose) = line.split_once(' ').unwrap_or((line, ""));
    kind.chars().all(char::is_alphabetic) && whose.starts_with(char::is_alphabetic)
}

/// Of a message what may be a place: `M` and `tA` of `add M[tA] at 5us`.
fn named_in(message: &str) -> impl Iterator<Item = &str> {
    message.split([' ', ',', ';', '[', ']'])
}
