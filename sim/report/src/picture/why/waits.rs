//! Why somebody waits for ever, where no single fault says it: answers that come too late, servers that are shared out among those who
//! want most of them, and what is left of who has gone.

use super::expired::ends_at;
use super::gone::in_short;
use super::stored::{is_own, live_of, names, place_of};
use super::{AND, Cause, Kind, STORES, Search};
use crate::flights::Flight;
use crate::picture::svg::duration;
use picklock_engine::report::{JsonEvent, TimeColumn};
use picklock_reported::Reported;
use std::collections::{BTreeMap, BTreeSet};

/// What stands between what a lock has at a lock manager and what it asks for.
const WANTS: &str = ", wants ";

/// An answer that reached a client.
struct Answer {
    /// Position of the step in which it did.
    at: usize,
    /// How long after the request that was.
    took_us: i64,
    /// How long after the request the client had gone on without it, if it had.
    given_up_us: Option<i64>,
}

impl Search<'_> {
    /// Where many answers take longer than clients wait for them: one cause, instead of each of these messages.
    pub(super) fn too_late(&self, flights: &[Flight]) -> Option<Cause> {
        // Of fewer it is the single ones that count.
        const FEWEST: usize = 10;
        const PART: usize = 4;
        if !self.is_of_progress() || self.story.time != TimeColumn::Seconds {
            return None;
        }
        let answers = self.answers(flights);
        let late: Vec<&Answer> = answers.iter().filter(|answer| answer.given_up_us.is_some()).collect();
        if late.len() < FEWEST || late.len() * PART < answers.len() {
            return None;
        }
        let mut waited: Vec<i64> = late.iter().filter_map(|answer| answer.given_up_us).collect();
        waited.sort_unstable();
        let longest = late.iter().map(|answer| answer.took_us).max()?;
        let words = format!(
            "answers take up to {}, and clients go on without them after {}: {} of {} come too late",
            duration(longest, false),
            duration(waited[waited.len() / 2], false),
            late.len(),
            answers.len()
        );
        Some(self.cause(late.first()?.at, Kind::Fault, words))
    }

    /// What servers answer to clients at once, in the order of the requests.
    fn answers(&self, flights: &[Flight]) -> Vec<Answer> {
        let events = &self.story.events;
        let arrived = |flight: &Flight| flight.ended.filter(|ended| !flight.is_lost && *ended <= self.end);
        let mut sent_in: BTreeMap<usize, Vec<&Flight>> = BTreeMap::new();
        for flight in flights.iter().filter(|flight| self.clients.contains(flight.to.as_str())) {
            sent_in.entry(flight.sent).or_default().push(flight);
        }
        let mut timers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (position, event) in events[..=self.end].iter().enumerate() {
            if let (Some(node), Some("machine")) = (event.node.as_deref(), event.wake) {
                timers.entry(node).or_default().push(position);
            }
        }
        let answer = |request: &Flight| {
            let client = request.from.as_str();
            let answers = sent_in.get(&arrived(request)?)?;
            let at = answers.iter().find(|answer| answer.to == client).and_then(|answer| arrived(answer))?;
            let since = |position: usize| events[position].at_us - events[request.sent].at_us;
            let timers = timers.get(client).map_or(&[][..], Vec::as_slice);
            let next = timers.get(timers.partition_point(|position| *position <= request.sent));
            let given_up_us = next.filter(|woke| **woke < at).map(|woke| since(*woke));
            Some(Answer { at, took_us: since(at), given_up_us })
        };
        let is_request = |flight: &&Flight| self.clients.contains(flight.from.as_str());
        flights.iter().filter(is_request).filter_map(answer).collect()
    }

    /// What servers still have of clients that take their release for done, or are down for good, where somebody asks for it who waits;
    /// and since when they have it.
    pub(super) fn left_behind(&self, flights: &[Flight]) -> Vec<Cause> {
        let waiting = self.who_waits();
        let clients = self.clients.iter().filter(|_| self.is_of_progress());
        clients.filter_map(|client| self.left_behind_by(client, &waiting, flights)).flatten().collect()
    }

    fn left_behind_by(
        &self,
        client: &str,
        waiting: &BTreeSet<&str>,
        flights: &[Flight],
    ) -> Option<Vec<Cause>> {
        let last = |is_it: fn(&Reported) -> bool| self.last_report(client, is_it);
        let released = last(|reported| reported.is_release());
        let released = released.filter(|released| last(|reported| reported.is_call()) < Some(*released));
        // Whoever waits for one key, and has it all the same, does not know.
        let unknown = last(|reported| reported.is_call()).filter(|_| waiting.contains(client));
        let is_gone = self.down_since(client).or(released);
        let gone = is_gone.or(unknown)?;
        let events = &self.story.events[..=self.end];
        let lines = self.stored_at_the_end();
        let stored = lines.iter().flat_map(|(server, lines)| lines.iter().map(move |line| (*server, line)));
        // Requests that wait are told as what they want.
        let own = stored.filter(|(_, line)| !line.contains(WANTS)).filter_map(|(server, line)| {
            let own = live_of(line, client).filter(|own| self.lives_on(server, own))?;
            // A word that stands before the name of whatever it is, is no place to ask for: `lease B@1`.
            let after = line.strip_prefix(place_of(line))?;
            let is_place =
                after.starts_with([':']) || after.starts_with(" =") || names(place_of(line), client);
            is_place.then_some((server, line, own))
        });
        own.into_iter().find_map(|(server, line, own)| {
            let asks = |event: &JsonEvent| {
                let place = place_of(line);
                let is_of_it = |message: &str| {
                    // What is changed if it is so is looked at, too.
                    let is_cell = |word: &str| {
                        let rest = word.strip_prefix(place).filter(|_| message.contains(" if "));
                        rest.is_some_and(|rest| rest.starts_with('['))
                    };
                    message.split([' ', ',']).any(|word| word == place || is_cell(word))
                };
                event.sent.iter().any(|sent| sent.to == server && is_of_it(&sent.message))
            };
            // Where several may have something in one place, and nobody has left, it takes an answer that names whom one waits behind.
            let is_row = line[place_of(line).len()..].starts_with(':') && is_gone.is_none();
            let last_named = |waiter: &str| {
                events.iter().rposition(|event| {
                    let of_server = event.from.as_deref() == Some(server) && event.what == "delivered";
                    let is_its = of_server && event.node.as_deref() == Some(waiter);
                    is_its && event.message.as_deref().is_some_and(|message| names(message, client))
                })
            };
            let last_asked = |waiter: &str| if is_row { last_named(waiter) } else { Some(self.end) };
            // Of each who waits since when, and up to where it may be told of it.
            let others = waiting.iter().copied().filter(|waiter| *waiter != client);
            let others: BTreeMap<&str, (usize, usize)> = others
                .filter_map(|waiter| {
                    let since = self.last_report(waiter, |reported| reported.is_call())?;
                    Some((waiter, (since, last_asked(waiter)?)))
                })
                .collect();
            let is_asked = |position: &usize| {
                let event = &events[*position];
                let waits = event.node.as_deref().and_then(|node| others.get(node));
                let is_in_time = waits.is_some_and(|(since, told)| (*since..=*told).contains(position));
                is_in_time && asks(event) && self.has_by(server, &own, client, *position)
            };
            let asked = (gone..events.len()).find(is_asked)?;
            let waiter = events[asked].node.as_ref()?;
            let words = format!("{server} still stores {own}, and {waiter} waits behind it");
            let stored = self.stored_again(server, place_of(line), client, asked);
            let unheard =
                is_gone.is_none().then(|| self.unheard(server, place_of(line), client, asked, flights));
            let finished =
                is_gone.is_none().then(|| self.finished(place_of(line), &own, client, asked, flights));
            let left = [self.cause(asked, Kind::Record, words)];
            let before = unheard.into_iter().chain(finished).flatten();
            Some(stored.into_iter().chain(before).chain(left).collect())
        })
    }

    /// Whether a server stores this of a client's by the end of a step.
    fn has_by(&self, server: &str, own: &str, client: &str, by: usize) -> bool {
        let of_server = |event: &&JsonEvent| event.node.as_deref() == Some(server);
        let mut before = self.story.events[..=by].iter().rev().filter(of_server);
        let lines = before.find_map(|event| event.stored.as_ref());
        lines.is_some_and(|lines| lines.iter().any(|line| live_of(line, client).as_deref() == Some(own)))
    }

    /// Where a server stored what it has of a client's in a place in this step, and where the answer came, if it came after a later one,
    /// upon which the client had gone on.
    fn unheard(&self, server: &str, place: &str, client: &str, at: usize, flights: &[Flight]) -> Vec<Cause> {
        let of_server = |position: &usize| self.story.events[*position].node.as_deref() == Some(server);
        let own = |position: usize| {
            let mut lines = self.story.events[position].stored.as_ref()?.iter();
            lines.find(|line| place_of(line) == place).and_then(|line| live_of(line, client))
        };
        let steps = (0..=at).rev().filter(of_server).map(|position| (position, own(position)));
        let Some((first, Some(line))) = steps.take_while(|(_, own)| own.is_some()).last() else {
            return Vec::new();
        };
        let to_client = |flight: &&Flight| flight.from == server && flight.to == client && !flight.is_lost;
        let mut answers = flights.iter().filter(to_client).filter(|flight| flight.sent >= first);
        let Some(answer) = answers.next().filter(|answer| answer.sent == first) else { return Vec::new() };
        let overtakes = |later: &&Flight| {
            later.ended < answer.ended && later.ended.is_some_and(|ended| self.goes_on(ended))
        };
        let (Some(later), Some(arrived)) = (answers.find(overtakes), answer.ended) else { return Vec::new() };
        let stores = self.by_message(first, format!("{server} stores {line}"));
        let words =
            format!("{server} to {client}: {} arrives after a later one, {}", answer.message, later.message);
        vec![self.cause(first, Kind::Record, stores), self.cause(arrived, Kind::Fault, words)]
    }

    /// The step since which a server has what it has in a place of a client's in that one, if it came there since that client called, and
    /// was there and lost before: since that call, by a second copy of the request, say; or the very same at any time.
    fn stored_again(&self, server: &str, place: &str, client: &str, at: usize) -> Option<Cause> {
        let called = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let steps = self.story.events[..=at].iter().enumerate().rev();
        let of_server = steps.filter(|(_, event)| event.node.as_deref() == Some(server));
        let mut own = of_server.filter_map(|(position, event)| {
            let mut lines = event.stored.as_ref()?.iter().filter(|line| place_of(line) == place);
            Some((position, lines.find_map(|line| live_of(line, client))))
        });
        let (first, own_line) = own.by_ref().take_while(|(_, own)| own.is_some()).last()?;
        let own_line = own_line.filter(|_| first >= called)?;
        let is_it = |position: usize, earlier: &String| position >= called || *earlier == own_line;
        let is_again =
            own.any(|(position, earlier)| earlier.is_some_and(|earlier| is_it(position, &earlier)));
        let words = format!("{server} stores {own_line} again");
        is_again.then(|| self.cause(first, Kind::Record, self.by_message(first, words)))
    }

    /// Whether what a server stores at the end is not over by its own clock.
    fn lives_on(&self, server: &str, line: &str) -> bool {
        let Some(until) = ends_at(line) else { return true };
        let events = self.story.events[..=self.end].iter();
        let last = events.rev().find(|event| event.node.as_deref() == Some(server));
        last.is_none_or(|event| event.wall_us.unwrap_or(event.at_us) < until)
    }

    /// Where requests wait at a lock manager: each of them as it was stored, and whatever is granted where they wait.
    pub(super) fn wanted(&self) -> Vec<Cause> {
        // Of more nobody sees a circle.
        const LINES_MAX: usize = 8;
        if !self.is_of_progress() {
            return Vec::new();
        }
        let lines = self.stored_at_the_end();
        let each = || lines.iter().flat_map(|(server, lines)| lines.iter().map(move |line| (*server, line)));
        let places: BTreeSet<&str> =
            each().filter(|(_, line)| line.contains(WANTS)).map(|(_, line)| place_of(line)).collect();
        let there = each().filter(|(_, line)| places.contains(place_of(line)) && self.is_somebodys(line));
        let first_stored = |(server, line): (&str, &String)| {
            let has = |event: &JsonEvent| {
                event.node.as_deref() == Some(server)
                    && event.stored.as_ref().is_some_and(|lines| lines.contains(line))
            };
            self.story.events[..=self.end].iter().position(has)
        };
        let mut together: BTreeMap<(usize, &str), Vec<&str>> = BTreeMap::new();
        for (server, line) in there {
            if let Some(position) = first_stored((server, line)) {
                together.entry((position, server)).or_default().push(line);
            }
        }
        if together.values().map(Vec::len).sum::<usize>() > LINES_MAX {
            return Vec::new();
        }
        let stored = |((position, server), lines): ((usize, &str), Vec<&str>)| {
            let words = format!("{server}{STORES}{}", lines.join(AND));
            self.cause(position, Kind::Record, self.by_message(position, words))
        };
        together.into_iter().map(stored).collect()
    }

    /// Where somebody waits: what a server has of a client to which it says something of its own accord, and that stays to the end.
    pub(super) fn stays(&self, position: usize) -> Option<&str> {
        let event = &self.story.events[position];
        let (before, after) = self.around(position);
        let (before, after) = before.zip(after).filter(|_| self.is_of_progress())?;
        let lines = self.stored_at_the_end();
        let at_the_end = lines.get(event.node.as_deref()?)?;
        let told = || event.sent.iter().map(|sent| sent.to.as_str()).filter(|to| self.clients.contains(*to));
        let mut lines = after.iter().filter(|line| before.contains(*line) && at_the_end.contains(*line));
        lines.find_map(|line| told().find(|client| is_own(line, client)).map(|client| in_short(line, client)))
    }

    /// What each server has after the last step.
    pub(super) fn stored_at_the_end(&self) -> BTreeMap<&str, &[String]> {
        let servers = self.story.events[..=self.end].iter().filter(|event| !is_resource(event));
        servers.filter_map(|event| Some((event.node.as_deref()?, event.stored.as_deref()?))).collect()
    }

    /// Of a loop, how many servers each client gets at best, where no server is had by two of them.
    pub(super) fn shared_out(&self) -> Option<Cause> {
        let start = self.story.loop_start?;
        let mut stored: BTreeMap<&str, &[String]> = BTreeMap::new();
        let mut best: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
        for (position, event) in self.story.events.iter().enumerate() {
            let Some((server, lines)) = event.node.as_deref().zip(event.stored.as_deref()) else { continue };
            if is_resource(event) {
                continue;
            }
            stored.insert(server, lines);
            for client in self.clients.iter().filter(|_| position >= start) {
                let has = |lines: &[String]| lines.iter().any(|line| names(line, client));
                let own: BTreeSet<&str> =
                    stored.iter().filter(|(_, lines)| has(lines)).map(|(server, _)| *server).collect();
                if own.len() > best.get(client).map_or(0, |(_, most)| most.len()) {
                    best.insert(client, (position, own));
                }
            }
        }
        let shares: usize = best.values().map(|(_, own)| own.len()).sum();
        let had: BTreeSet<&str> = best.values().flat_map(|(_, own)| own.iter().copied()).collect();
        if best.len() < 2 || shares > had.len() {
            return None;
        }
        let at = best.values().map(|(position, _)| *position).max()?;
        let servers = stored.len();
        let mut words = String::new();
        for (client, (_, own)) in &best {
            let (count, named) = (own.len(), own.iter().copied().collect::<Vec<_>>().join(", "));
            words += &match words.is_empty() {
                true => format!("{client}'s record is at most on {count} of {servers} servers ({named})"),
                false => format!(", {client}'s on {count} ({named})"),
            };
        }
        Some(self.cause(at, Kind::Record, words))
    }

    /// Of a loop, whether all who wait in it for some time begin and end that at the same time, so that they meet again.
    pub(super) fn wait_alike(&self) -> Option<Cause> {
        let TimeColumn::Ticks { length } = self.story.time else { return None };
        let tick = |position: usize| self.story.events[position].at_us.div_euclid(length.0.max(1));
        let start = self.story.loop_start?;
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        let mut waits: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
        let mut at = start;
        for (position, event) in self.story.events.iter().enumerate().skip(start) {
            let Some(client) = event.node.as_deref().filter(|node| self.clients.contains(node)) else {
                continue;
            };
            let since = last.insert(client, position).map(tick);
            let waited = since.map(|since| (since, tick(position))).filter(|(since, until)| since < until);
            if let Some(waited) = waited.filter(|_| event.wake == Some("machine") && self.goes_on(position)) {
                waits.entry(client).or_default().push(waited);
                at = position;
            }
        }
        let mut alike = waits.values();
        let first = alike.next()?;
        if waits.len() < 2 || alike.any(|other| other != first) {
            return None;
        }
        let who = waits.keys().copied().collect::<Vec<_>>().join(" and ");
        let ticks: Vec<String> = first.iter().map(|(since, until)| (until - since).to_string()).collect();
        let word = if ticks == ["1"] { "tick" } else { "ticks" };
        let words =
            format!("{who} wait equally long, {} {word}, and go on at the same time", ticks.join(" and "));
        Some(self.cause(at, Kind::Milestone, words))
    }
}

pub(super) fn is_resource(event: &JsonEvent) -> bool {
    event.node.as_deref() == Some(super::RESOURCE)
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, goes_on, reports, sends, step, stores, told, waits_for_ever};
    use crate::picture::why::why_of;
    use crate::toy;
    use picklock_engine::report::{JsonEvent, Story, TimeColumn};
    use picklock_model::time::Micros;

    #[test]
    fn answers_that_nobody_waits_for_any_more_are_one_cause() {
        let mut events = vec![reports(step(0, "A"), "called A lock")];
        for at in (1..=20).map(|round| round * 1_000_000) {
            let (ask, answer) = (format!("ask {at}"), format!("answer {at}"));
            events.push(sends(step(at, "A"), "s1", &ask));
            events.push(sends(gets(step(at + 10_000, "s1"), "A", &ask), "A", &answer));
            if at > 5_000_000 {
                events.push(step(at + 50_000, "A"));
            }
            events.push(gets(step(at + 90_000, "A"), "s1", &answer));
        }
        events.push(waits_for_ever(step(30_000_000, "A")));
        let expected = [
            "A calls lock",
            "answers take up to 90 ms, and clients go on without them after 50 ms: 15 of 20 come too late",
            "A waits",
        ];
        assert_eq!(told(&events, None), expected);
    }

    #[test]
    fn what_is_left_of_who_has_gone_is_told_with_who_waits_behind_it() {
        let kept = &["0/B@1 (created at 2)", "0/A@1 (created at 3)"][..];
        let run = |at_the_end: &[&str]| {
            vec![
                stores(step(1, "s1"), kept),
                reports(step(2, "A"), "called A lock"),
                reports(step(3, "B"), "released B"),
                sends(step(4, "A"), "s1", "watch 0/B@1 from 3"),
                stores(gets(step(5, "s1"), "A", "watch 0/B@1 from 3"), at_the_end),
                waits_for_ever(step(6, "A")),
            ]
        };
        let expected = [
            "A calls lock",
            "B is done with its release",
            "s1 still stores 0/B@1 (created at 2), and A waits behind it",
            "A waits",
        ];
        assert_eq!(told(&run(kept), None), expected);
        let gone = told(&run(&kept[1..]), None);
        assert!(gone.iter().all(|words| !words.contains("still stores")), "{gone:?}");
        // A second copy of what stored it comes when it is gone.
        let mut again = run(kept);
        let copy = gets(step(3, "s1"), "B", "put 0/B@1");
        again.splice(3..3, [stores(step(3, "s1"), &kept[1..]), stores(copy, kept)]);
        again.insert(0, reports(step(0, "B"), "called B lock"));
        let stored = "B's put 0/B@1: s1 stores 0/B@1 (created at 2) again".to_owned();
        assert!(told(&again, None).contains(&stored), "{:?}", told(&again, None));
    }

    #[test]
    fn of_a_loop_it_is_told_who_has_which_servers_unless_two_have_the_same() {
        let run = |of_b: &str| {
            vec![
                reports(step(0, "A"), "called A lock"),
                reports(step(0, "B"), "called B lock"),
                stores(step(0, "s1"), &["lock = A#1"]),
                stores(step(0, "s2"), &[of_b]),
                stores(step(0, "s1"), &[]),
                stores(step(0, "s2"), &[]),
            ]
        };
        let split = "A's record is at most on 1 of 2 servers (s1), B's on 1 (s2)";
        assert!(told(&run("lock = B#1"), Some(2)).contains(&split.to_owned()));
        let both = told(&run("lock = A#1, B#1"), Some(2));
        assert!(both.iter().all(|words| !words.contains(" servers ")), "{both:?}");
    }

    #[test]
    fn of_a_loop_it_is_told_that_all_wait_equally_long_if_they_do() {
        let run = |of_b: i64| {
            vec![
                reports(step(0, "A"), "called A lock"),
                reports(step(0, "B"), "called B lock"),
                stores(step(0, "s1"), &["lock = A#1"]),
                stores(step(0, "s2"), &["lock = B#1"]),
                gets(step(1, "A"), "s1", "nil"),
                gets(step(2, "B"), "s1", "nil"),
                goes_on(step(2_000_000, "A"), "L1:1"),
                goes_on(step(of_b * 1_000_000 + 1, "B"), "L1:1"),
            ]
        };
        let in_ticks = |events: &[JsonEvent]| {
            let mut told = Vec::new();
            toy::story_of(events, |story| {
                let time = TimeColumn::Ticks { length: Micros::seconds(1) };
                let causes = why_of(&Story { loop_start: Some(2), time, ..story });
                told = causes.into_iter().map(|cause| cause.words).collect();
            });
            told
        };
        let alike = "A and B wait equally long, 2 ticks, and go on at the same time".to_owned();
        assert!(in_ticks(&run(2)).contains(&alike), "{:?}", in_ticks(&run(2)));
        let apart: Vec<String> = in_ticks(&run(3));
        assert!(apart.iter().all(|words| !words.contains("equally")), "{apart:?}");
    }
}
