//! Where it takes several servers to hold: which of them those were, and where a record was that none of them has any more.

use super::stored::live_of;
use super::{Breaks, Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_properties::Promise;
use std::collections::{BTreeMap, BTreeSet};

/// The servers by which a client was granted what it asked for.
struct Quorum<'a> {
    client: &'a str,
    called: usize,
    granted: usize,
    servers: BTreeSet<&'a str>,
}

impl Search<'_> {
    /// On which servers the records were made of each party that holds by some of them only.
    pub(super) fn quorums(&self) -> Vec<Cause> {
        let quorums = self.quorums_of_parties();
        let all = self.stored_at_the_end().len();
        let told = |Quorum { client, granted, servers, .. }: &Quorum| {
            let named = servers.iter().copied().collect::<Vec<_>>().join(", ");
            let words = format!("{client}'s record was made on {} of {all} servers ({named})", servers.len());
            self.cause(*granted, Kind::Record, words)
        };
        quorums.iter().filter(|quorum| quorum.servers.len() < all).map(told).collect()
    }

    /// Whether what is lost in this step was to make the client's record on a server, too, by which another one holds.
    pub(super) fn is_left_out(&self, position: usize, client: &str, server: &str) -> bool {
        let quorums = self.quorums_of_parties();
        let is_open = |quorum: &Quorum| {
            quorum.client == client
                && (quorum.called..quorum.granted).contains(&position)
                && !quorum.servers.contains(server)
        };
        quorums.iter().any(is_open) && quorums.iter().any(|quorum| quorum.servers.contains(server))
    }

    /// Where by this step no server has any more what several had of a client's since it called: on which of them it was when it was
    /// written, who asked for what took it, and where the last one lost it.
    pub(super) fn nowhere(
        &self,
        client: &str,
        line: &str,
        called: usize,
        at: usize,
        flights: &[Flight],
    ) -> Option<Vec<Cause>> {
        let is_it = |stored: &String| live_of(stored, client).as_deref() == Some(line);
        let mut has: BTreeMap<&str, bool> = BTreeMap::new();
        let (mut written, mut lost) = (None, called);
        for (position, event) in self.story.events.iter().enumerate().take(at + 1).skip(called) {
            let (server, lines) = (event.node.as_deref(), event.stored.as_deref());
            if let Some((server, lines)) = server.zip(lines) {
                let is_there = lines.iter().any(is_it);
                let had = has.get(server).copied();
                if had.is_some() || is_there {
                    has.insert(server, is_there);
                }
                if had == Some(true) && !is_there {
                    lost = position;
                }
            }
            let mut reports = reports_of(event);
            if reports.any(|reported| reported.client == client && reported.is_written()) {
                let on = has.iter().filter(|(_, is_there)| **is_there).map(|(server, _)| *server);
                written = Some((position, on.collect::<Vec<_>>()));
            }
        }
        let (position, on) = written.filter(|_| has.len() > 1 && !has.values().any(|is_there| *is_there))?;
        let (all, count, on) = (self.stored_at_the_end().len(), on.len(), on.join(", "));
        let servers = has.into_keys().collect::<Vec<_>>().join(", ");
        let gone = self.by_message(lost, format!("{servers} do not have {line} any more"));
        let written = format!("{client}'s record is written, on {count} of {all} servers ({on})");
        let told = [self.cause(position, Kind::Record, written), self.cause(lost, Kind::Gone, gone)];
        Some(self.asked_of_servers(lost, flights).into_iter().chain(told).collect())
    }

    /// Where a client asked for what a server tells another one in this step.
    fn asked_of_servers(&self, told: usize, flights: &[Flight]) -> Option<Cause> {
        let is_client = |node: &str| self.clients.contains(node);
        let arrives = |at: usize| flights.iter().find(|flight| flight.ended == Some(at) && !flight.is_lost);
        let passed_on = arrives(told).filter(|flight| !is_client(&flight.from))?;
        let asked = arrives(passed_on.sent).filter(|flight| is_client(&flight.from))?;
        let Flight { from, to, message, sent, .. } = asked;
        let client = self.with_role(from, sent + 1);
        Some(self.cause(*sent, Kind::Milestone, format!("{client} sends {message} to {to}")))
    }

    /// What a server answers in this step upon what another one told it.
    pub(super) fn answer_of_several(&self, sent: usize) -> Option<Cause> {
        let event = &self.story.events[sent];
        event.from.as_deref().filter(|from| !self.clients.contains(from))?;
        let server = event.node.as_deref()?;
        let sent_to = event.sent.iter().find(|sent| self.clients.contains(sent.to.as_str()))?;
        let words = format!("{server} answers {}: {}", sent_to.to, sent_to.message);
        Some(self.cause(sent, Kind::Milestone, self.by_message(sent, words)))
    }

    fn quorums_of_parties(&self) -> Vec<Quorum<'_>> {
        let breaks = self.breaks.as_ref().filter(|breaks| breaks.promise == Promise::MutualExclusion);
        let parties = breaks.into_iter().flat_map(|Breaks { parties, .. }| parties.iter());
        parties.filter_map(|client| self.quorum_of(client)).collect()
    }

    /// `None` where one server is enough, or no server says that it has made a record.
    fn quorum_of<'s>(&'s self, client: &'s str) -> Option<Quorum<'s>> {
        let events = &self.story.events;
        let reports = |position: usize| {
            let reports = reports_of(&events[position]);
            reports.filter(|reported| reported.client == client)
        };
        let enters = self.is_granted_in(self.end, client).then_some(self.end);
        let granted = enters.or_else(|| self.last_report(client, |reported| reported.is_grant()))?;
        let count = reports(granted).find_map(|reported| reported.secured_on()).filter(|count| *count > 1)?;
        let called =
            (0..granted).rev().find(|position| reports(*position).any(|reported| reported.is_call()))?;
        let mut servers: BTreeSet<&str> = BTreeSet::new();
        for made in (called..granted).rev().flat_map(reports).filter_map(|reported| reported.made_on()) {
            if servers.len() < count {
                servers.insert(made);
            }
        }
        (servers.len() == count).then_some(Quorum { client, called, granted, servers })
    }
}
