//! Whose messages a fault has struck: what strikes those whom the promise broke for is told by itself.

use super::together::Struck;
use super::{Cause, Kind, RESOURCE, Search};
use crate::flights::Flight;
use std::collections::{BTreeMap, BTreeSet};

/// So many lost answers have a line of their own.
const ANSWERS_MAX: usize = 3;

impl Search<'_> {
    /// Of those steps whose message was struck, if it is one of somebody who has a part in what breaks.
    pub(super) fn struck(&self, causes: &[Cause], flights: &[Flight]) -> BTreeMap<usize, Struck> {
        let parties = self.concerned();
        let answers = self.answers_lost(causes, &parties, flights);
        let links = self.signs_of_life(&parties, flights);
        let waiting = parties.iter().filter(|_| self.is_of_progress() && !self.is_of_objects);
        let waiting: BTreeMap<&str, usize> =
            waiting.map(|client| (*client, self.began_to_wait(client))).collect();
        let faults = causes.iter().filter(|cause| cause.kind == Kind::Fault).map(|cause| cause.position);
        let told = faults.filter_map(|position| {
            let event = &self.story.events[position];
            let (from, to) = (event.from.as_deref()?, event.to.as_deref()?);
            if answers.contains(&position) {
                return Some((position, Struck { whose: position.to_string(), until: None }));
            }
            let is_of_resource = [from, to].contains(&RESOURCE);
            let client = [from, to].into_iter().find(|node| parties.contains(node));
            if let Some(client) = client.filter(|_| !is_of_resource) {
                let began = waiting.get(client).copied();
                return Some((position, self.struck_of(client, position, began, causes)));
            }
            let is_it = |link: &&SignsOfLife| {
                [(from, to), (to, from)].contains(&link.between)
                    && (link.since..link.until).contains(&position)
            };
            let link = links.iter().find(is_it)?;
            let whose = format!("{} and {}", link.between.0, link.between.1);
            Some((position, Struck { whose, until: Some(link.until) }))
        });
        told.collect()
    }

    /// Those whom the promise broke for, or who wait for ever. What an object answers rests on everybody's calls.
    fn concerned(&self) -> BTreeSet<&str> {
        match &self.breaks {
            _ if self.is_of_objects => self.clients.clone(),
            Some(breaks) if !breaks.promise.is_of_progress() => breaks.parties.clone(),
            _ => self.who_waits(),
        }
    }

    /// Of who waits for ever what struck before it began to decides why it does, and then what strikes first; of others what struck last
    /// before their record was gone, or before the end.
    fn struck_of(&self, client: &str, position: usize, began: Option<usize>, causes: &[Cause]) -> Struck {
        if let Some(began) = began {
            let is_before = position < began;
            let whose = format!("{client}{}", if is_before { "" } else { ", waiting" });
            return Struck { whose, until: is_before.then_some(began) };
        }
        let own = format!("{client}'s record ");
        let gone = causes.iter().find(|cause| cause.kind == Kind::Gone && cause.words.contains(&own));
        let until = gone.map_or(self.end, |gone| gone.position);
        Struck { whose: client.to_owned(), until: Some(until) }
    }

    /// Where a client did something else for the last time.
    pub(super) fn began_to_wait(&self, client: &str) -> usize {
        let of_it = |position: &usize| self.story.events[*position].node.as_deref() == Some(client);
        (0..=self.end).rev().filter(of_it).find(|position| self.goes_on(*position)).unwrap_or(self.end)
    }

    /// Answers to such clients that are lost, and that were about something that was done.
    fn answers_lost(
        &self,
        causes: &[Cause],
        parties: &BTreeSet<&str>,
        flights: &[Flight],
    ) -> BTreeSet<usize> {
        let told: BTreeSet<usize> = causes.iter().map(|cause| cause.position).collect();
        let is_it = |flight: &&Flight| {
            flight.is_lost && parties.contains(flight.to.as_str()) && self.changes_something(flight.sent)
        };
        let lost = flights.iter().filter(is_it).filter_map(|flight| flight.ended);
        let mut lost: Vec<usize> =
            lost.filter(|position| *position <= self.end && told.contains(position)).collect();
        lost.sort_unstable();
        lost.into_iter().rev().take(ANSWERS_MAX).collect()
    }

    /// Where a client's record is gone on another server than the one that answers it: the link by which that one passes on its signs of
    /// life, since the last one came.
    fn signs_of_life(&self, parties: &BTreeSet<&str>, flights: &[Flight]) -> Vec<SignsOfLife<'_>> {
        if self.is_of_progress() {
            return Vec::new();
        }
        let link = |client: &&str| {
            let (gone, server) = self.gone_of(client).first().copied()?;
            let answered = self.answered_elsewhere(gone, client, flights)?;
            let other = self.story.events[answered.position].node.as_deref()?;
            Some(SignsOfLife { between: (other, server), since: answered.position, until: gone })
        };
        parties.iter().filter_map(link).collect()
    }
}

/// The link by which a server passes on a client's signs of life.
struct SignsOfLife<'a> {
    between: (&'a str, &'a str),
    since: usize,
    until: usize,
}
