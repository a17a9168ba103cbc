//! What a server asks when it starts again, and what is an answer to it: perhaps not to the question that it waits for.

use super::{Cause, Kind, Search};
use crate::flights::Flight;
use std::collections::BTreeSet;

impl Search<'_> {
    /// Answers to what a server asked before it went down once more, which reach it when it is back; and what the same clients answer
    /// when it asks again.
    pub(super) fn asked_before(&self, flights: &[Flight]) -> Vec<Cause> {
        let events = &self.story.events[..=self.end];
        let down = |server: &str, since: usize, until: usize| {
            events[since..until]
                .iter()
                .any(|event| event.what == "crashed" && event.node.as_deref() == Some(server))
        };
        let is_question = |flight: &&Flight| {
            events.get(flight.sent).is_some_and(|event| event.what == "restarted")
                && self.clients.contains(flight.to.as_str())
        };
        let answer = |(question, asked): (&Flight, usize)| {
            let is_its = |flight: &&Flight| {
                (&flight.from, &flight.to) == (&question.to, &question.from)
                    && Some(flight.sent) == question.ended
                    && !flight.is_lost
                    && flight.ended.is_some_and(|ended| ended <= self.end)
            };
            let answer = flights.iter().find(is_its).filter(|_| !question.is_lost)?;
            let arrived = answer.ended?;
            Some((arrived, answer, down(&question.from, asked, arrived)))
        };
        let questions: Vec<&Flight> = flights.iter().filter(is_question).collect();
        let each = questions.iter().map(|question| (*question, self.asked_at(question, &questions)));
        let mut answers: Vec<(usize, &Flight, bool)> = each.filter_map(answer).collect();
        answers.sort_by_key(|(arrived, ..)| *arrived);
        let (early, since): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(.., is_early)| *is_early);
        let Some((first, Flight { from, to, message, .. }, _)) = early.first() else { return Vec::new() };
        let mut words = format!("{from}'s \"{message}\" answers what {to} asked before it went down again");
        for (_, answer, _) in &early[1..] {
            words += &format!(", and so does {}'s \"{}\"", answer.from, answer.message);
        }
        for client in self.passed_over(&questions) {
            words += &format!("; {client} hears a later question, and minds no earlier one any more");
        }
        let mut causes = vec![self.cause(*first, Kind::Milestone, words)];
        causes.extend(since.into_iter().filter_map(|(arrived, answer, _)| {
            let Flight { from, to, message, .. } = answer;
            let is_again = early.iter().any(|(_, earlier, _)| earlier.from == *from);
            let words = format!("{from}'s \"{message}\" answers what {to} has asked since");
            is_again.then(|| self.cause(arrived, Kind::Milestone, words))
        }));
        causes
    }

    /// Where a server asked what is asked here. In a loop everything arrives but what its receiver minds no more: where nothing else says
    /// which of several questions in the same words was heard, the last ones were.
    fn asked_at(&self, question: &Flight, questions: &[&Flight]) -> usize {
        let alike = alike(question, questions);
        let place = alike.iter().position(|other| *other == question).unwrap_or(0);
        let unheard = alike.iter().skip(place).filter(|other| other.ended.is_none()).count();
        let later = alike.get(place + unheard).filter(|_| self.story.loop_start.is_some());
        later.map_or(question.sent, |later| later.sent)
    }

    /// Clients that hear the last of several questions in the same words, and to which those before never come.
    fn passed_over<'f>(&self, questions: &[&'f Flight]) -> BTreeSet<&'f str> {
        let is_heard = |question: &&Flight| question.ended.is_some();
        let is_passed_over = |question: &&&Flight| {
            let alike = alike(question, questions);
            self.story.loop_start.is_some() && alike.iter().any(is_heard) && !alike.iter().all(is_heard)
        };
        questions.iter().filter(is_passed_over).map(|question| question.to.as_str()).collect()
    }
}

/// Questions of the same server to the same client in the same words, in the order in which they were asked.
fn alike<'f>(question: &Flight, questions: &[&'f Flight]) -> Vec<&'f Flight> {
    let is_alike = |other: &&&Flight| {
        (&other.from, &other.to, &other.message) == (&question.from, &question.to, &question.message)
    };
    questions.iter().filter(is_alike).copied().collect()
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, is_struck, search_in, sends, step, stores};

    #[test]
    fn of_questions_in_the_same_words_the_last_one_is_heard_in_a_loop_and_the_first_elsewhere() {
        let ask = |at: i64| {
            let again = stores(is_struck(step(at, "s1"), "restarted"), &[]);
            sends(sends(again, "A", "what?"), "B", "what?")
        };
        let says = |at: i64, client: &str| sends(gets(step(at, client), "s1", "what?"), "s1", "nothing");
        let run = vec![
            ask(0),
            is_struck(step(1, "s1"), "crashed"),
            ask(2),
            says(3, "A"),
            says(4, "B"),
            stores(gets(step(5, "s1"), "B", "nothing"), &[]),
            stores(gets(step(6, "s1"), "A", "nothing"), &[]),
            says(7, "B"),
            stores(gets(step(8, "s1"), "B", "nothing"), &[]),
        ];
        let told = |loop_start: Option<usize>| {
            let mut told = Vec::new();
            search_in(&run, loop_start, |search, flights| {
                told = search.asked_before(flights).into_iter().map(|cause| cause.words).collect();
            });
            told
        };
        let since = "B's \"nothing\" answers what s1 has asked since";
        let early = "B's \"nothing\" answers what s1 asked before it went down again";
        let passed_over = format!("{early}; A hears a later question, and minds no earlier one any more");
        assert_eq!(told(Some(9)), [passed_over, since.to_owned()]);
        assert_eq!(told(None), [format!("{early}, and so does A's \"nothing\""), since.to_owned()]);
    }
}
