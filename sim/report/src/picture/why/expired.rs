//! Records that are there and count for nothing: by the clock of the server that answers, their lives are over. Nothing goes, and no
//! store tells of it.

use super::gone::micros;
use super::stored::names;
use super::{Breaks, Cause, Kind, Search, duration};
use crate::flights::Flight;
use std::collections::BTreeSet;

/// What stands between a cell and the moment to which it lives.
const UNTIL: &str = " until ";

/// What stands between a record and the server by whose clock its life was over.
const EXPIRED: &str = " expired on ";

/// What is over in a step makes room for what is stored in it.
pub(super) fn expired_first(mut causes: Vec<Cause>) -> Vec<Cause> {
    let is_over = |cause: &Cause| cause.kind == Kind::Gone && cause.words.contains(EXPIRED);
    for later in 1..causes.len() {
        let position = causes[later].position;
        let is_stored = |cause: &Cause| (cause.position, cause.kind) == (position, Kind::Record);
        let earlier = causes[..later].iter().position(is_stored).filter(|_| is_over(&causes[later]));
        if let Some(earlier) = earlier {
            causes[earlier..=later].rotate_right(1);
        }
    }
    causes
}

impl Search<'_> {
    /// What the servers that a party was granted the lock by had of those who held before, and took for expired.
    pub(super) fn expired_there(&self, flights: &[Flight]) -> Vec<Cause> {
        let Some(Breaks { parties, promise, .. }) = &self.breaks else { return Vec::new() };
        if promise.is_of_progress() {
            return Vec::new();
        }
        let granted = |client: &&str| self.last_report(client, |reported| reported.is_grant());
        let steps: BTreeSet<usize> = parties.iter().filter_map(granted).chain([self.end]).collect();
        let answers = steps.into_iter().filter_map(|step| Some((step, self.answer_at(step, flights)?)));
        let mut causes: Vec<Cause> = answers
            .flat_map(|(step, answer)| {
                let holds = move |other: &&&str| granted(other).is_some_and(|granted| granted < step);
                let others = parties.iter().filter(move |other| *other != &answer.to).filter(holds);
                others.filter_map(move |other| self.expired_of(other, answer))
            })
            .collect();
        causes.dedup_by(|later, earlier| later.words == earlier.words);
        causes
    }

    /// A record of the client's that a server knows of as it answers, and does not tell.
    fn expired_of(&self, client: &str, answer: &Flight) -> Option<Cause> {
        if names(&answer.message, client) {
            return None;
        }
        let events = &self.story.events;
        let event = &events[answer.sent];
        let now = event.wall_us.unwrap_or(event.at_us);
        let of_server = events[..=answer.sent].iter().rev().filter(|earlier| earlier.node == event.node);
        // What another replica told it is of the row that was asked for; what it stores may be of others.
        let told = event.message.iter();
        let stored = of_server.filter_map(|earlier| earlier.stored.as_ref()).take(1).flatten();
        let mut cells = told.chain(stored).flat_map(|text| text.split([',', '{', '}']));
        let until =
            cells.find_map(|cell| ends_at(cell).filter(|until| names(cell, client) && *until <= now))?;
        let words = lives_until(client, until, &answer.from, now);
        Some(self.cause(answer.sent, Kind::Gone, words))
    }
}

/// The moment to which what is stored lives, in microseconds by a server's clock; `None`: it does not end by itself.
pub(super) fn ends_at(stored: &str) -> Option<i64> {
    stored.split_once(UNTIL).and_then(|(_, until)| micros(until))
}

/// Both times are in microseconds, by the server's clock.
pub(super) fn lives_until(client: &str, until: i64, server: &str, now: i64) -> String {
    let (until, now) = (duration(until, false), duration(now, false));
    format!("{client}'s record lives until {until}: by {server}'s clock it is {now}, and it has expired")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_told_before_what_is_stored_in_the_same_step() {
        let cause = |position, kind, words: &str| Cause {
            position,
            kind,
            when: String::new(),
            words: words.to_owned(),
        };
        let causes = vec![
            cause(1, Kind::Record, "s1 stores lock = A"),
            cause(2, Kind::Record, "s1 stores lock = B"),
            cause(2, Kind::Milestone, "B calls lock"),
            cause(2, Kind::Gone, "A's record expired on s1 at 4s"),
            cause(3, Kind::Record, "s1 stores lock = C"),
            cause(3, Kind::Gone, "B's record is gone on s1"),
        ];
        let told: Vec<String> = expired_first(causes).into_iter().map(|cause| cause.words).collect();
        let expected = [
            "s1 stores lock = A",
            "A's record expired on s1 at 4s",
            "s1 stores lock = B",
            "B calls lock",
            "s1 stores lock = C",
            "B's record is gone on s1",
        ];
        assert_eq!(told, expected);
    }
}
