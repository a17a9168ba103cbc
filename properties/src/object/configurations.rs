//! Everything that an object may be by now: the heart of judging linearizability as it happens.

use super::specification::Specification;
use super::under_way::UnderWay;
use crate::history::ClientId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What an object may be, given the calls of it that began, came back and were given up so far.
///
/// Of each configuration three things are kept: the state of the object, what the calls under way would be told that were
/// done already, and which of the calls that were given up may still be done. A call is taken to be done only when some
/// answer needs it (just-in-time linearization): what was not needed yet can be done later as well. So a configuration that
/// can still come of another one is left out, and of two histories after which the same futures are possible the
/// configurations are the same.
///
/// A call that was given up stays possible for ever, in every number of orders with others of its kind: many of them
/// make this slow, in the worst case twice as slow with each. Those that can change nothing any more are forgotten.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "S::State: Serialize, S::Call: Serialize, S::Answer: Serialize",
    deserialize = "S::State: Deserialize<'de>, S::Call: Deserialize<'de>, S::Answer: Deserialize<'de>"
))]
pub struct Configurations<S: Specification> {
    under_way: UnderWay<S::Call>,
    /// In order, and never none.
    possible: Vec<Configuration<S>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(
    serialize = "S::State: Serialize, S::Call: Serialize, S::Answer: Serialize",
    deserialize = "S::State: Deserialize<'de>, S::Call: Deserialize<'de>, S::Answer: Deserialize<'de>"
))]
struct Configuration<S: Specification> {
    state: S::State,
    /// What those of the calls under way are told that are done.
    answers: UnderWay<S::Answer>,
    /// Those of the calls given up that are not done, in order.
    given_up: Vec<S::Call>,
}

impl<S: Specification> Default for Configurations<S> {
    fn default() -> Configurations<S> {
        let unused =
            Configuration { state: S::State::default(), answers: UnderWay::default(), given_up: Vec::new() };
        Configurations { under_way: UnderWay::default(), possible: vec![unused] }
    }
}

impl<S: Specification> Configurations<S> {
    /// A call begins. One of the same client that is still under way is given up.
    pub fn begin(&mut self, client: ClientId, call: S::Call) {
        self.give_up(client);
        self.under_way.begin(client, call);
    }

    /// The client's call comes back with this answer; whether it could have. If it could not, the call is taken to have
    /// been given up instead. An answer to no call is no answer.
    pub fn end(&mut self, client: ClientId, told: &S::Answer) -> bool {
        let Some(call) = self.under_way.get(client) else { return true };
        let mut possible = BTreeSet::new();
        let mut met: BTreeSet<_> = self.possible.iter().cloned().collect();
        let mut ahead = std::mem::take(&mut self.possible);
        let before = ahead.clone();
        while let Some(mut configuration) = ahead.pop() {
            match configuration.answers.end(client) {
                // What else is done after it is done when it is needed.
                Some(given) if S::agrees(call, &given, told) => {
                    possible.insert(configuration);
                }
                Some(_) => {}
                None => configuration.each_next(&self.under_way, &mut |next| {
                    if met.insert(next.clone()) {
                        ahead.push(next);
                    }
                }),
            }
        }
        if possible.is_empty() {
            self.possible = before;
            self.give_up(client);
            return false;
        }
        self.under_way.end(client);
        self.keep(possible);
        true
    }

    /// The client will never learn what became of its call, which may be done yet.
    pub fn give_up(&mut self, client: ClientId) {
        let Some(call) = self.under_way.end(client) else { return };
        let possible = std::mem::take(&mut self.possible).into_iter().map(|mut configuration| {
            if configuration.answers.end(client).is_none() {
                let place = configuration.given_up.partition_point(|other| *other < call);
                configuration.given_up.insert(place, call.clone());
            }
            configuration
        });
        let possible = possible.collect();
        self.keep(possible);
    }

    /// The call of this client that is under way.
    pub fn call(&self, client: ClientId) -> Option<&S::Call> {
        self.under_way.get(client)
    }

    /// Whether the object may be another one than at the beginning, or may be changed before the client's call is done.
    pub(crate) fn may_have_changed(&self) -> bool {
        self.under_way.len() > 1
            || self.possible.len() > 1
            || self.possible.iter().any(|one| one.state != S::State::default() || !one.given_up.is_empty())
    }

    /// Those of `possible` that cannot come of others of them.
    fn keep(&mut self, possible: BTreeSet<Configuration<S>>) {
        let alive = |mut configuration: Configuration<S>| {
            let Configuration { state, given_up, .. } = &mut configuration;
            given_up.retain(|call| S::may_change(state, call));
            configuration
        };
        let possible: BTreeSet<_> = possible.into_iter().map(alive).collect();
        if possible.len() == 1 {
            self.possible = possible.into_iter().collect();
            return;
        }
        let mut come_of_others = BTreeSet::new();
        let mut ahead: Vec<_> = possible.iter().cloned().collect();
        while let Some(configuration) = ahead.pop() {
            let mut meet = |next: Configuration<S>| {
                if come_of_others.insert(next.clone()) {
                    ahead.push(next);
                }
            };
            configuration.each_next(&self.under_way, &mut |next| meet(alive(next)));
            configuration.each_without(&mut meet);
        }
        // Each step does one call more or forgets one: none leads back, and what is left is never nothing.
        self.possible = possible.into_iter().filter(|one| !come_of_others.contains(one)).collect();
        assert!(!self.possible.is_empty(), "of several configurations one comes of no other");
    }
}

impl<S: Specification> Configuration<S> {
    /// Each configuration that one more call leads to.
    fn each_next(&self, under_way: &UnderWay<S::Call>, each: &mut dyn FnMut(Configuration<S>)) {
        for (client, call) in under_way.iter() {
            if self.answers.get(*client).is_some() {
                continue;
            }
            S::outcomes(&self.state, call, &mut |state, given| {
                let mut next = Configuration { state, ..self.clone() };
                next.answers.begin(*client, given);
                each(next);
            });
        }
        self.each_without(&mut |without| {
            let place =
                self.given_up.iter().zip(&without.given_up).take_while(|(one, other)| one == other).count();
            S::outcomes(&self.state, &self.given_up[place], &mut |state, _| {
                // Nobody is told that it was done in vain: it is done where it changes something.
                if state != self.state {
                    each(Configuration { state, ..without.clone() });
                }
            });
        });
    }

    /// Each configuration in which one of the calls given up will never be done.
    fn each_without(&self, each: &mut dyn FnMut(Configuration<S>)) {
        for place in 0..self.given_up.len() {
            // Of equal calls one is as good as another.
            if place > 0 && self.given_up[place] == self.given_up[place - 1] {
                continue;
            }
            let mut without = self.clone();
            without.given_up.remove(place);
            each(without);
        }
    }
}
