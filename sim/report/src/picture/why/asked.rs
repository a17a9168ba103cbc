//! What a server asks when it starts again, and what is an answer to it: perhaps not to the question that it waits for.

use super::{Cause, Kind, Search};
use crate::flights::Flight;

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
        let answer = |question: &Flight| {
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
        let mut answers: Vec<(usize, &Flight, bool)> =
            flights.iter().filter(is_question).filter_map(answer).collect();
        answers.sort_by_key(|(arrived, ..)| *arrived);
        let (early, since): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(.., is_early)| *is_early);
        let Some((first, Flight { from, to, message, .. }, _)) = early.first() else { return Vec::new() };
        let mut words = format!("{from}'s \"{message}\" answers what {to} asked before it went down again");
        for (_, answer, _) in &early[1..] {
            words += &format!(", and so does {}'s \"{}\"", answer.from, answer.message);
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
}
