//! Two who write one thing, each upon what it had read before the other one wrote.

use super::stored::place_of;
use super::{Cause, Kind, Search, reports_of};
use crate::flights::Flight;
use picklock_properties::Promise;

impl Search<'_> {
    /// Of changes of one place by different clients the answers upon which the two wrote, where the later one's came before the other
    /// had written, and both had been told the same.
    pub(super) fn read_apart(&self, changes: &[Cause], flights: &[Flight]) -> Vec<Cause> {
        if self.is_of_progress() {
            return Vec::new();
        }
        let positions: Vec<usize> = changes.iter().map(|change| change.position).collect();
        let pairs = positions.iter().flat_map(|one| positions.iter().map(move |other| (*one, *other)));
        let told = pairs.filter(|(one, other)| one < other).filter_map(|(one, other)| {
            let (early, late) = (self.read_for(one, flights)?, self.read_for(other, flights)?);
            // What comes late is told as that.
            let is_apart = early.to != late.to && late.sent < one && !late.is_late;
            let is_apart = is_apart && early.message == late.message;
            let asks_for = |place: &&str| [early, late].iter().all(|read| self.is_asked_in(read.sent, place));
            let place = self.changed_in_both(one, other).filter(|_| is_apart).find(asks_for);
            place.map(|_| [early, late])
        });
        let answer = |Flight { from, to, message, sent, .. }: &Flight| {
            self.cause(*sent, Kind::Milestone, format!("{from} answers {to}: {message}"))
        };
        told.flatten().map(answer).collect()
    }

    /// Where a client sent what changes a place after what another one sent later; and whether it was giving up then.
    pub(super) fn sent_before_another(&self, changes: &[Cause], flights: &[Flight]) -> Vec<Cause> {
        if self.is_of_progress() {
            return Vec::new();
        }
        let of_client = |change: &Cause| {
            let is_it = |flight: &&Flight| flight.ended == Some(change.position) && !flight.is_lost;
            flights.iter().find(is_it).filter(|flight| self.clients.contains(flight.from.as_str()))
        };
        let told = changes.iter().filter_map(|change| {
            let flight = of_client(change).filter(|flight| !flight.is_late)?;
            let is_earlier = |other: &&Cause| {
                let is_later_sent = |later: &Flight| later.from != flight.from && later.sent > flight.sent;
                other.position < change.position
                    && of_client(other).is_some_and(is_later_sent)
                    && self.changed_in_both(other.position, change.position).next().is_some()
            };
            changes.iter().any(|other| is_earlier(&other)).then(|| self.sends(flight))
        });
        told.collect()
    }

    fn sends(&self, flight: &Flight) -> Cause {
        let Flight { from, to, message, sent, .. } = flight;
        let mut reports = reports_of(&self.story.events[*sent]);
        let gives_up = reports
            .find(|reported| reported.client == from && (reported.is_departure() || reported.is_refusal()));
        let words = match gives_up {
            Some(reported) => format!("{}, and sends {message} to {to}", reported.sentence()),
            None => format!("{from} sends {message} to {to}"),
        };
        self.cause(*sent, Kind::Milestone, words)
    }

    /// What a client had read when it sent what arrives in this step.
    fn read_for<'f>(&self, arrived: usize, flights: &'f [Flight]) -> Option<&'f Flight> {
        let is_it = |flight: &&Flight| flight.ended == Some(arrived) && !flight.is_lost;
        let sent = flights.iter().find(is_it)?;
        let read = self.answer_at(sent.sent, flights)?;
        let is_read = (&read.from, &read.to) == (&sent.to, &sent.from) && !self.changes_something(read.sent);
        is_read.then_some(read)
    }

    /// Whether a place is what is asked for in this step.
    fn is_asked_in(&self, asked: usize, place: &str) -> bool {
        let question = self.story.events[asked].message.as_deref().unwrap_or_default();
        question.split(' ').any(|word| word == place)
    }

    /// Places of one server in which something changes in both steps.
    fn changed_in_both(&self, one: usize, other: usize) -> impl Iterator<Item = &str> {
        let events = &self.story.events;
        let is_one_server = events[one].node == events[other].node;
        let places = self.changed(one).filter(move |_| is_one_server).map(|line| place_of(line));
        places.filter(move |place| self.changed(other).any(|line| place_of(line) == *place))
    }

    /// Whether what is stored is what the promise is about: where that is what a client was told in the end, and no more, the place
    /// that it had asked for.
    pub(super) fn is_asked_for_at_last(&self, line: &str, flights: &[Flight]) -> bool {
        let is_of_answer = self.breaks.as_ref().is_some_and(|breaks| breaks.promise == Promise::TimeOrder);
        let answer = self.answer_at(self.end, flights).filter(|_| is_of_answer);
        answer.is_none_or(|answer| self.is_asked_in(answer.sent, place_of(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::Promise;
    use crate::picture::why::steps::{breaks, gets, reports, search_in, sends, step, stores};

    fn told(run: &[picklock_engine::report::JsonEvent]) -> (Vec<String>, Vec<String>) {
        let mut told = (Vec::new(), Vec::new());
        search_in(run, None, |search, flights| {
            let changes: Vec<_> = (0..run.len()).filter_map(|position| search.change(position)).collect();
            let words = |causes: Vec<super::Cause>| causes.into_iter().map(|cause| cause.words).collect();
            told = (
                words(search.read_apart(&changes, flights)),
                words(search.sent_before_another(&changes, flights)),
            );
        });
        told
    }

    #[test]
    fn two_who_write_one_thing_upon_the_same_answer_are_told_with_it() {
        let run = |second: &str| {
            vec![
                sends(stores(gets(step(0, "s1"), "A", "read T"), &[]), "A", "{}"),
                sends(stores(gets(step(1, "s1"), "B", "read T"), &[]), "B", second),
                sends(gets(step(2, "B"), "s1", second), "s1", "add T[4]"),
                stores(gets(step(3, "s1"), "B", "add T[4]"), &["T: 4"]),
                sends(gets(step(4, "A"), "s1", "{}"), "s1", "add T[2]"),
                stores(gets(step(5, "s1"), "A", "add T[2]"), &["T: 2"]),
                breaks(step(6, "A"), Promise::TimeOrder, "A is told less"),
            ]
        };
        let (read, sent) = told(&run("{}"));
        assert_eq!(
            (read, sent),
            (vec!["s1 answers B: {}".to_owned(), "s1 answers A: {}".to_owned()], vec![])
        );
        assert!(told(&run("{3}")).0.is_empty(), "they were not told the same");
    }

    #[test]
    fn what_comes_after_something_that_was_sent_later_is_told_where_it_was_sent() {
        let run = |is_late: bool| {
            let sent = if is_late { [0, 1] } else { [1, 0] };
            let of_a = sends(reports(step(sent[0], "A"), "refused A"), "s1", "DECR readers");
            let of_b = sends(step(sent[1], "B"), "s1", "INCR readers");
            let mut run = vec![of_a, of_b];
            run.sort_by_key(|event| event.at_us);
            run.extend([
                stores(gets(step(2, "s1"), "B", "INCR readers"), &["readers = 2"]),
                stores(gets(step(3, "s1"), "A", "DECR readers"), &["readers = 1"]),
                breaks(step(4, "A"), Promise::MutualExclusion, "B enters while A holds"),
            ]);
            run
        };
        assert_eq!(told(&run(true)).1, ["A is refused, and sends DECR readers to s1"]);
        assert!(told(&run(false)).1.is_empty(), "it was sent last");
    }
}
