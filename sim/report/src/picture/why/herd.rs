//! Why one release wakes several: who held, what each of them was told when it began to wait, and what it has lost since.

use super::stored::names;
use super::{Breaks, Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_properties::Promise;
use picklock_reported::Reported;

impl Search<'_> {
    /// Of each who is woken who held before, and the answer upon which it began to wait, or what it left with its server then.
    pub(super) fn herd(&self, flights: &[Flight]) -> Vec<Cause> {
        let of_each = |(client, fired, holder): (&str, usize, &str)| {
            let held = self.last_of(holder, fired, |reported| reported.is_grant());
            let left = self.last_of(holder, fired, |reported| reported.is_departure());
            let since = held.as_ref().map(|held| held.position);
            let left = left.filter(|left| since < Some(left.position));
            let begins = |flight: &&Flight| {
                let arrived = flight.ended.filter(|ended| !flight.is_lost && *ended <= self.end);
                let is_woken = |position: usize| {
                    self.reports(position).any(|reported| reported.client == client && reported.is_wake())
                };
                flight.to == client
                    && flight.sent < fired
                    && self.story.events[flight.sent].stored.is_some()
                    && arrived.is_some_and(|arrived| self.goes_on(arrived) && !is_woken(arrived))
            };
            let answer = flights.iter().filter(begins).max_by_key(|flight| flight.ended);
            let begins = answer.map(|Flight { from, to, message, sent, .. }| {
                let answer = || self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}"));
                // What it left there says for what it waits.
                let left = self.change(*sent).filter(|left| names(&left.words, client));
                left.unwrap_or_else(answer)
            });
            held.into_iter().chain(left).chain(begins)
        };
        self.woken().into_iter().flat_map(of_each).collect()
    }

    /// Whether a client is woken in this step by an earlier release than the one that breaks it: who held last does not hold yet.
    pub(super) fn is_woken_before(&self, position: usize, reported: &Reported) -> bool {
        let is_before = |(client, fired, holder): (&str, usize, &str)| {
            let held = self.last_of(holder, fired, |reported| reported.is_grant());
            client == reported.client && held.is_some_and(|held| position < held.position)
        };
        reported.is_wake() && self.woken().into_iter().any(is_before)
    }

    /// Of each who is woken what its server does not have of it any more, for which it waits all the same.
    pub(super) fn lost_in_line(&self, flights: &[Flight]) -> Vec<Cause> {
        let lost = self.woken().into_iter().filter_map(|(client, fired, _)| {
            let server = self.story.events[fired].node.as_deref()?;
            let lost = self.nothing_of(client, server, fired.checked_sub(1)?, flights)?;
            lost.iter().any(|cause| cause.kind == Kind::Gone).then_some(lost)
        });
        lost.flatten().collect()
    }

    /// Who is woken by one release, where that is what breaks: the step in which its watch fires, and whose record is gone then.
    fn woken(&self) -> Vec<(&str, usize, &str)> {
        let Some(Breaks { parties, promise: Promise::NoHerd, .. }) = &self.breaks else { return Vec::new() };
        let fired = |client: &&str| {
            (0..=self.end).rev().find_map(|position| {
                let mut reports = self.reports(position).filter(|reported| reported.client == *client);
                Some((position, reports.find_map(|reported| reported.woken_by())?))
            })
        };
        let fired = parties.iter().filter_map(|client| Some((*client, fired(client)?)));
        fired.map(|(client, (position, holder))| (client, position, holder)).collect()
    }

    /// The last report of a kind that there is of a client before a step.
    fn last_of(&self, client: &str, before: usize, is_it: fn(&Reported) -> bool) -> Option<Cause> {
        let told = |position: usize| {
            let mut reports = self.reports(position);
            let told = reports.find(|reported| reported.client == client && is_it(reported))?;
            Some(self.cause(position, Kind::Milestone, told.sentence()))
        };
        (0..before).rev().find_map(told)
    }

    fn reports(&self, position: usize) -> impl Iterator<Item = Reported<'_>> {
        reports_of(&self.story.events[position])
    }
}
