//! A run that was shown again, and what it broke, in words.

use crate::report::{JsonEvent, Story, TimeColumn, violation_words};
use crate::token::Token;
use picklock_properties::{Promise, PromiseSet, Violation};
use serde::Serialize;

/// A run shown again.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// The trace as text.
    #[serde(skip)]
    pub text: String,
    /// The broken promise that the trace is shown for: the one that the token was made for, or else the gravest.
    pub shown_for: Option<Promise>,
    /// Which promises were watched, step by step.
    #[serde(skip)]
    pub watched: PromiseSet,
    /// Those of them that the run could have broken ([`Promise::tested_by`]): of the others it says nothing.
    #[serde(skip)]
    pub tested: PromiseSet,
    /// Equal for equal runs.
    pub trace_hash: String,
    /// Not the run that the token was made of: the lock, its store, or the simulator has changed since.
    pub came_out_otherwise: bool,
    /// What the run broke, first violation of each promise, in order.
    pub violations: Vec<Violation>,
    /// The trace as data.
    pub events: Vec<JsonEvent>,
    /// Lasso only: what is never kept in the loop.
    pub starved: Option<Promise>,
    /// The same in a sentence: `in the loop at the end, for ever, nobody is granted the lock`.
    pub never: Option<String>,
    /// Seeded runs only: the plan, a line per fault.
    pub plan: Option<String>,
    /// Seeded runs only: there are faults in the plan, and none of them struck.
    pub nothing_struck: bool,
    /// What is not as it is by default, as `name=value`.
    pub settings: Vec<String>,
    /// The same for people: `ttl=3.999s`.
    #[serde(skip)]
    pub settings_told: Vec<String>,
    /// All nodes, in the order of their lanes.
    pub nodes: Vec<String>,
    /// How many locks there are.
    pub locks: u8,
    /// A lasso: how many steps its stem has.
    pub loop_start: Option<usize>,
    /// How true time passes: in microseconds, in ticks, or not at all.
    pub time: TimeColumn,
    /// What is wrong with the trace itself: a defect of picklock, or of a machine that does not show all its times and numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defect: Option<String>,
    /// What a machine said that panicked in the step behind the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panicked: Option<String>,
}

/// A broken promise. Where it is broken by what never comes, by nobody in particular.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Broken {
    /// Which one.
    pub property: Promise,
    /// By whom.
    pub client: Option<String>,
    /// The other client, without whom it would not be broken; the same where there is none.
    pub other: Option<String>,
    /// Half a sentence: `B enters while A holds`.
    pub words: String,
}

impl Replay {
    /// Everything that the run broke.
    pub fn broken(&self) -> impl Iterator<Item = Promise> {
        self.violations.iter().map(|violation| violation.promise).chain(self.starved)
    }

    /// Whether the run broke this promise, or, if none is named, any.
    pub fn breaks(&self, promise: Option<Promise>) -> bool {
        self.broken().any(|broken| promise.is_none_or(|promise| promise == broken))
    }

    /// Every broken promise in words, the one that the run is shown for first.
    pub fn in_words(&self) -> Vec<Broken> {
        let mut broken: Vec<Broken> = self
            .violations
            .iter()
            .map(|violation| Broken {
                property: violation.promise,
                client: Some(violation.client.to_string()),
                other: Some(violation.other.to_string()),
                words: violation_words(violation),
            })
            .collect();
        broken.extend(self.starved.zip(self.never.as_ref()).map(|(promise, never)| Broken {
            property: promise,
            client: None,
            other: None,
            words: never.clone(),
        }));
        broken.sort_by_key(|broken| Some(broken.property) != self.shown_for);
        broken
    }

    /// The run as a picture or a trace of it, or whatever else a story gives. `token` replays it, and `broken` is what it breaks.
    pub fn told<T>(&self, token: &Token, broken: &[Broken], of_story: impl Fn(Story) -> T) -> T {
        let broken: Vec<String> =
            broken.iter().map(|broken| format!("{}: {}", broken.property, broken.words)).collect();
        let plan: Vec<String> = self.plan.iter().flat_map(|plan| plan.lines()).map(str::to_owned).collect();
        of_story(Story {
            lock: &token.lock,
            settings: &self.settings_told,
            token: &token.encode(),
            broken: &broken,
            again: "",
            reasons: &[],
            about: &[],
            plan: &plan,
            shown_for: self.shown_for,
            nodes: &self.nodes,
            locks: self.locks,
            events: &self.events,
            loop_start: self.loop_start,
            time: self.time,
        })
    }
}
