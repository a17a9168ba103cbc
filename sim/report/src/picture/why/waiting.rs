//! What those were told who wait for ever: the last answers, and what became of the records that they left.

use super::expired::{ends_at, lives_until};
use super::risen::Cell;
use super::stored::{live_of, names, place_of};
use super::{Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_engine::report::{JsonEvent, operations};
use std::collections::BTreeSet;

/// What a server answers a client, once or many times.
struct Answers {
    cause: Cause,
    from: String,
    to: String,
    message: String,
    times: usize,
}

impl Answers {
    /// A single one.
    fn of(cause: Cause, from: &str, to: &str, message: &str) -> Answers {
        let [from, to, message] = [from, to, message].map(str::to_owned);
        Answers { cause, from, to, message, times: 1 }
    }
}

impl Search<'_> {
    /// Who waits at the end, and is there.
    pub(super) fn who_waits(&self) -> BTreeSet<&str> {
        let events = &self.story.events[..=self.end];
        let called: BTreeSet<String> = match self.is_of_objects {
            true => {
                let all = operations(events).into_iter().filter(|operation| operation.ended.is_none());
                all.map(|operation| operation.client).collect()
            }
            false => BTreeSet::new(),
        };
        let waits = |client: &str| {
            let asked = self.last_report(client, |reported| reported.is_call());
            let granted = self.last_report(client, |reported| reported.is_grant());
            // The last step of a loop is one of it like any other.
            let is_granted_at_last = self.breaks.is_none() && self.is_granted_in(self.end, client);
            called.contains(client) || asked.is_some() && asked > granted && !is_granted_at_last
        };
        let all = self.clients.iter().copied();
        all.filter(|client| waits(client) && self.down_since(client).is_none()).collect()
    }

    /// Whether a client is granted what it asked for in this step.
    pub(super) fn is_granted_in(&self, position: usize, client: &str) -> bool {
        let mut reports = reports_of(&self.story.events[position]);
        reports.any(|reported| reported.client == client && reported.is_grant())
    }

    /// Where a client went down that is down at the end.
    pub(super) fn down_since(&self, client: &str) -> Option<usize> {
        let events = &self.story.events[..=self.end];
        let of_it = |what: &str| {
            events.iter().rposition(|event| event.what == what && event.node.as_deref() == Some(client))
        };
        let crashed = of_it("crashed")?;
        (of_it("restarted") < Some(crashed)).then_some(crashed)
    }

    /// Of each of these what it was told last, and where it lost what it had left.
    pub(super) fn told_in_vain(&self, flights: &[Flight]) -> Vec<Cause> {
        let waiting = if self.is_of_progress() { self.who_waits() } else { BTreeSet::new() };
        let answers = waiting.iter().flat_map(|client| self.last_answers(client, flights)).collect();
        let lost = waiting.iter().flat_map(|client| self.own_record_lost(client));
        self.alike_as_one(answers).into_iter().chain(lost).collect()
    }

    /// What a server says to several clients many times as one cause, where it says so to the last of them the first time.
    fn alike_as_one(&self, answers: Vec<Answers>) -> Vec<Cause> {
        let mut alike: Vec<Vec<Answers>> = Vec::new();
        for answers in answers {
            let is_like = |other: &&mut Vec<Answers>| {
                let first = other.first().filter(|first| first.times > 1 && answers.times > 1);
                first.is_some_and(|first| (&first.from, &first.message) == (&answers.from, &answers.message))
            };
            match alike.iter_mut().find(is_like) {
                Some(others) => others.push(answers),
                None => alike.push(vec![answers]),
            }
        }
        let told = |mut alike: Vec<Answers>| {
            let times = |answers: &Answers| format!("to {} {} times", answers.to, answers.times);
            let each = alike.iter().map(times).collect::<Vec<_>>().join(" and ");
            let last = alike.iter().map(|answers| answers.cause.position).max();
            let words = alike
                .first()
                .map(|Answers { from, message, .. }| format!("{from} answers {message}, {each} in all"));
            match last.zip(words).filter(|_| alike.len() > 1) {
                Some((position, words)) => vec![self.cause(position, Kind::Milestone, words)],
                None => alike.drain(..).map(|answers| answers.cause).collect(),
            }
        };
        alike.into_iter().flat_map(told).collect()
    }

    /// Whether a client is at something else after this step of it than before: a sign of life leaves it as it was.
    pub(super) fn goes_on(&self, position: usize) -> bool {
        let event = &self.story.events[position];
        let before = self.story.events[..position].iter().rfind(|earlier| earlier.node == event.node);
        before.is_none_or(|before| (&before.line, before.doing) != (&event.line, event.doing))
    }

    /// The last answers that a client got while it waits, and no acknowledgement; of what does not go round none that is about itself
    /// alone (a session that is kept alive), and those that name others rather than those that name nobody. Those that say the same
    /// are one.
    fn last_answers(&self, client: &str, flights: &[Flight]) -> Vec<Answers> {
        let events = &self.story.events;
        let since = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let goes_round = self.story.loop_start.filter(|start| *start < events.len());
        let is_answer = |flight: &&Flight| {
            let sent = &events[flight.sent];
            let is_of_server = sent.what == "delivered" && sent.stored.is_some();
            // At its start a loop has what was said at its end.
            let comes_again = goes_round.is_some_and(|start| flight.ended >= Some(start));
            let is_since = flight.sent >= since || comes_again;
            flight.to == client && is_of_server && is_since && !flight.is_lost
        };
        // Where nothing is left to happen there was no sign of life that one would wait for, and what is under way changes nothing more.
        let nothing_follows = self.story.loop_start.is_some_and(|start| start >= events.len());
        let ended = |flight: &Flight| flight.ended.or(nothing_follows.then_some(self.end));
        let mut answers: Vec<(usize, &Flight)> =
            flights.iter().filter(is_answer).filter_map(|flight| Some((ended(flight)?, flight))).collect();
        answers.retain(|(ended, answer)| {
            let goes_on = nothing_follows || self.goes_on(*ended) || !events[*ended].sent.is_empty();
            *ended <= self.end && !self.changes_something(answer.sent) && goes_on
        });
        answers.sort_by_key(|(ended, _)| *ended);
        if let Some(start) = goes_round {
            // Whoever hears now this and now that is not kept waiting by one of them.
            let mut round =
                answers.iter().filter(|(ended, _)| *ended >= start).map(|(_, answer)| &answer.message);
            let first = round.next();
            if first.is_none() || round.any(|other| Some(other) != first) {
                return self.sent_to_wait(&answers, start).into_iter().collect();
            }
        }
        let of_others = |answer: &Flight| {
            self.clients.iter().any(|other| *other != client && names(&answer.message, other))
        };
        if goes_round.is_none() {
            answers.retain(|(_, answer)| of_others(answer) || !names(&answer.message, client));
            // Whoever is told of others, and goes on being told, waits for them.
            let half = since + (self.end - since) / 2;
            if answers.iter().any(|(ended, answer)| *ended >= half && of_others(answer)) {
                answers.retain(|(_, answer)| of_others(answer));
            }
        }
        let mut alike = answers.chunk_by(|(_, one), (_, other)| one.message == other.message).rev();
        let told = |alike: &[(usize, &Flight)]| {
            let (_, first) = alike.first()?;
            let Flight { from, to, message, sent, .. } = first;
            // Also those that it does not mind.
            let is_like = |flight: &&Flight| {
                let is_same = (&flight.to, &flight.message) == (to, message) && flight.sent >= *sent;
                is_same && !flight.is_lost && flight.ended.is_some_and(|ended| ended <= self.end)
            };
            let by_all = flights.iter().filter(is_like).count().max(1);
            let all = flights.iter().filter(is_like).filter(|flight| flight.from == *from).count().max(1);
            let others = if by_all > all { " (others, too)" } else { "" };
            let again = match (goes_round, by_all - 1) {
                (Some(_), _) => ", again and again".to_owned(),
                (None, 0) => String::new(),
                (None, 1) => format!(", and once more{others}"),
                (None, more) => format!(", and {more} times more{others}"),
            };
            let cause = self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}{again}"));
            // What goes round is counted nowhere.
            let times = if goes_round.is_some() { 1 } else { all };
            Some(Answers { times, ..Answers::of(cause, from, to, message) })
        };
        let Some(last) = alike.next() else { return Vec::new() };
        // Of a single one it counts what came before it, too.
        let before = alike.next().filter(|_| last.len() == 1 && goes_round.is_none());
        let read_past = last.first().and_then(|(_, answer)| {
            let Flight { from, to, message, .. } = answer;
            Some(Answers::of(self.read_past(answer)?, from, to, message))
        });
        before.into_iter().chain([last]).filter_map(told).chain(read_past).collect()
    }

    /// Of answers to a client the one upon which it began to wait, if it is at nothing else in the loop that starts here.
    fn sent_to_wait(&self, answers: &[(usize, &Flight)], start: usize) -> Option<Answers> {
        let (_, last) = answers.iter().rfind(|(ended, _)| self.goes_on(*ended))?;
        let Flight { from, to, message, sent, .. } = last;
        let mut events = self.story.events.iter().enumerate().skip(start);
        let moves = |(position, event): (usize, &JsonEvent)| {
            event.node.as_deref() == Some(to) && self.goes_on(position)
        };
        let is_still = *sent < start && !events.any(moves);
        is_still.then(|| {
            let cause = self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}"));
            Answers::of(cause, from, to, message)
        })
    }

    /// How many tombstones a server reads past for an answer that names nobody, if that is many.
    fn read_past(&self, answer: &Flight) -> Option<Cause> {
        const MANY: usize = 10;
        if self.clients.iter().any(|client| names(&answer.message, client)) {
            return None;
        }
        let lines = self.story.events[answer.sent].stored.as_ref()?;
        let counted = lines.iter().filter(|line| self.is_somebodys(line)).map(|line| {
            let tombstones = Cell::all(line).filter(|cell| cell.is_tombstone).count();
            (tombstones, Cell::all(line).count() - tombstones, place_of(line))
        });
        let (tombstones, others, row) = counted.max().filter(|(tombstones, ..)| *tombstones >= MANY)?;
        let others = match others {
            1 => "1 other cell".to_owned(),
            others => format!("{others} other cells"),
        };
        let words = format!("{} has {tombstones} tombstones in {row}, and {others}", answer.from);
        Some(self.cause(answer.sent, Kind::Record, words))
    }

    /// Where a client's last record was stored, and where it is gone, if none is anywhere from then on and it did not take it away itself.
    fn own_record_lost(&self, client: &str) -> Vec<Cause> {
        let events = &self.story.events[..=self.end];
        let since = self.last_report(client, |reported| reported.is_call()).unwrap_or(0);
        let own = |position: usize| {
            let event = &events[position];
            let now = event.wall_us.unwrap_or(event.at_us);
            let own = event.stored.as_ref()?.iter().filter_map(|line| live_of(line, client));
            // A store may have what is over for long after that.
            own.into_iter().find(|line| ends_at(line).is_none_or(|until| now < until))
        };
        let Some(last) = (since..=self.end).rev().find(|position| own(*position).is_some()) else {
            return Vec::new();
        };
        let server = events[last].node.as_deref();
        // Who is down, and is shown because a message to it is lost, looks at no clock.
        let is_of_server = |position: &usize| {
            let event = &events[*position];
            event.node.as_deref() == server && event.stored.is_some() && event.what != "lost"
        };
        let is_before_loop = self.story.loop_start.is_none_or(|start| last < start);
        let gone = (last + 1..=self.end).find(is_of_server).filter(|_| is_before_loop);
        let (Some(gone), Some(line), Some(server)) = (gone, own(last), server) else { return Vec::new() };
        let event = &events[gone];
        let now = event.wall_us.unwrap_or(event.at_us);
        let words = match ends_at(&line).filter(|until| *until <= now) {
            Some(until) => lives_until(client, until, server, now),
            None if event.from.as_deref() == Some(client) => return Vec::new(),
            None => self.by_message(gone, format!("{client}'s record is gone on {server}")),
        };
        let has_it = |position: &usize| {
            is_of_server(position) && own(*position).is_some_and(|other| place_of(&other) == place_of(&line))
        };
        let stored = (since..=last).find(has_it).unwrap_or(last);
        let stores = self.cause(stored, Kind::Record, format!("{server} stores {line}"));
        vec![stores, self.cause(gone, Kind::Gone, words)]
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, goes_on, reports, sends, step, stores, told, waits_for_ever};

    #[test]
    fn what_a_server_says_to_several_many_times_is_told_once() {
        let run = |to_b: &str| {
            let mut run = vec![
                stores(step(0, "s1"), &["lock"]),
                reports(step(0, "A"), "called A lock"),
                reports(step(1, "B"), "called B lock"),
            ];
            for round in 1..=3 {
                for (client, answer) in [("A", "nil"), ("B", to_b)] {
                    let at = round * 10;
                    run.push(sends(goes_on(step(at, client), "L1:1"), "s1", "SET lock NX"));
                    let asked = stores(gets(step(at + 1, "s1"), client, "SET lock NX"), &["lock"]);
                    run.push(sends(asked, client, answer));
                    run.push(goes_on(gets(step(at + 2, client), "s1", answer), "L1:2"));
                }
            }
            run.push(waits_for_ever(step(100, "A")));
            run
        };
        let alike = "s1 answers nil, to A 3 times and to B 3 times in all".to_owned();
        assert!(told(&run("nil"), None).contains(&alike), "{:?}", told(&run("nil"), None));
        let unlike = told(&run("busy"), None);
        assert!(unlike.contains(&"s1 answers A: nil, and 2 times more".to_owned()), "{unlike:?}");
    }
}
