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
        let answer = |question: &&Flight| {
            let is_its = |flight: &&Flight| {
                (&flight.from, &flight.to) == (&question.to, &question.from)
                    && Some(flight.sent) == question.ended
                    && !flight.is_lost
                    && flight.ended.is_some_and(|ended| ended <= self.end)
            };
            let answer = flights.iter().find(is_its).filter(|_| !question.is_lost)?;
            let arrived = answer.ended?;
            Some((arrived, answer, down(&question.from, question.sent, arrived)))
        };
        let questions: Vec<&Flight> = flights.iter().filter(is_question).collect();
        let mut answers: Vec<(usize, &Flight, bool)> = questions.iter().filter_map(answer).collect();
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

    /// Clients to which a question never comes, and which hear a later one in the same words. In a loop everything arrives but what its
    /// receiver minds no more.
    fn passed_over<'f>(&self, questions: &[&'f Flight]) -> BTreeSet<&'f str> {
        let is_passed_over = |question: &&&Flight| {
            let is_heard_later = |other: &&Flight| {
                let is_alike = (&other.from, &other.to, &other.message)
                    == (&question.from, &question.to, &question.message);
                is_alike && other.sent > question.sent && other.ended.is_some()
            };
            question.ended.is_none() && questions.iter().any(is_heard_later)
        };
        let passed_over = questions.iter().filter(|_| self.story.loop_start.is_some()).filter(is_passed_over);
        passed_over.map(|question| question.to.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::why::steps::{gets, is_struck, search_in, sends, step, stores};
    use picklock_engine::report::JsonEvent;

    #[test]
    fn an_answer_is_to_the_question_that_was_heard_and_another_one_in_the_same_words_may_never_come() {
        let ask = |at: i64| {
            let again = stores(is_struck(step(at, "s1"), "restarted"), &[]);
            sends(sends(again, "A", "what?"), "B", "what?")
        };
        let says = |at: i64, client: &str| sends(gets(step(at, client), "s1", "what?"), "s1", "nothing");
        let heard = |asked: Option<u64>| JsonEvent { sent_in: asked, ..says(3, "A") };
        let run = |asked: Option<u64>| {
            let run = vec![
                ask(0),
                is_struck(step(1, "s1"), "crashed"),
                ask(2),
                heard(asked),
                says(4, "B"),
                stores(gets(step(5, "s1"), "B", "nothing"), &[]),
                stores(gets(step(6, "s1"), "A", "nothing"), &[]),
                says(7, "B"),
                stores(gets(step(8, "s1"), "B", "nothing"), &[]),
            ];
            (1..).zip(run).map(|(step, event)| JsonEvent { step, ..event }).collect::<Vec<_>>()
        };
        let told = |asked: Option<u64>, loop_start: Option<usize>| {
            let mut told = Vec::new();
            search_in(&run(asked), loop_start, |search, flights| {
                told = search.asked_before(flights).into_iter().map(|cause| cause.words).collect();
            });
            told
        };
        let since = "B's \"nothing\" answers what s1 has asked since";
        let early = "B's \"nothing\" answers what s1 asked before it went down again";
        let passed_over = format!("{early}; A hears a later question, and minds no earlier one any more");
        assert_eq!(told(Some(3), Some(9)), [passed_over, since.to_owned()]);
        let both = [format!("{early}, and so does A's \"nothing\""), since.to_owned()];
        assert_eq!(told(Some(1), Some(9)), both, "the other one is passed over by none");
        assert_eq!(told(None, None), both);
    }
}
