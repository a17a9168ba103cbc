//! Steps of runs that are no lock's, for tests of what is told of them.

use super::{Breaks, Search, why_of};
use crate::flights::{Flight, flights};
use crate::toy;
use picklock_engine::report::{JsonEvent, JsonMessage, JsonViolation, Story};
use picklock_properties::Promise;
use std::collections::BTreeMap;

/// A step of a node, to which nothing has been said of it yet.
pub(super) fn step(at_us: i64, node: &str) -> JsonEvent {
    let mut events = Vec::new();
    toy::story(toy::overlap, |story| events.extend(story.events.first().cloned()));
    let mut event = events.remove(0);
    (event.at_us, event.wall_us, event.line, event.stored) = (at_us, None, None, None);
    (event.what, event.wake, event.node) = ("woke", Some("machine"), Some(node.to_owned()));
    event.doing = ["A", "B"].contains(&node).then_some("waits");
    event.sent.clear();
    event.reported.clear();
    event.holders.clear();
    event
}

pub(super) fn sends(mut event: JsonEvent, to: &str, message: &str) -> JsonEvent {
    event.sent.push(JsonMessage { to: to.to_owned(), message: message.to_owned() });
    event
}

pub(super) fn gets(mut event: JsonEvent, from: &str, message: &str) -> JsonEvent {
    (event.what, event.wake, event.to) = ("delivered", None, event.node.clone());
    (event.from, event.message) = (Some(from.to_owned()), Some(message.to_owned()));
    event
}

/// What becomes of a message to the node of this step: `lost`, `duplicated`.
pub(super) fn has(event: JsonEvent, what: &'static str, from: &str, message: &str) -> JsonEvent {
    JsonEvent { what, ..gets(event, from, message) }
}

/// What strikes the node of this step: `crashed`, `restarted`.
pub(super) fn is_struck(event: JsonEvent, what: &'static str) -> JsonEvent {
    JsonEvent { what, wake: None, ..event }
}

pub(super) fn reports(mut event: JsonEvent, report: &str) -> JsonEvent {
    event.reported.push(report.to_owned());
    event
}

pub(super) fn stores(mut event: JsonEvent, lines: &[&str]) -> JsonEvent {
    event.stored = Some(lines.iter().map(|line| (*line).to_owned()).collect());
    event
}

/// A client is somewhere else in what it does.
pub(super) fn goes_on(mut event: JsonEvent, line: &str) -> JsonEvent {
    event.line = Some(line.to_owned());
    event
}

pub(super) fn breaks(mut event: JsonEvent, property: Promise, words: &str) -> JsonEvent {
    let [client, other] = ["A", "B"].map(str::to_owned);
    event.violations = vec![JsonViolation { property, client, other, words: words.to_owned() }];
    event
}

pub(super) fn waits_for_ever(event: JsonEvent) -> JsonEvent {
    breaks(event, Promise::DeadlockFreedom, "A waits")
}

pub(super) fn told(events: &[JsonEvent], loop_start: Option<usize>) -> Vec<String> {
    let mut told = Vec::new();
    toy::story_of(events, |story| {
        let causes = why_of(&Story { loop_start, ..story });
        told = causes.into_iter().map(|cause| cause.words).collect();
    });
    told
}

/// Searches these steps for causes of what the last one breaks, or of what never comes in the loop that starts here.
pub(super) fn search_in(
    events: &[JsonEvent],
    loop_start: Option<usize>,
    to: impl FnOnce(&Search, &[Flight]),
) {
    toy::story_of(events, |story| {
        let story = Story { loop_start, ..story };
        let end = events.len() - 1;
        let clients = events.iter().filter(|event| event.doing.is_some());
        let clients = clients.filter_map(|event| event.node.as_deref()).collect();
        let breaks = Breaks::in_step(&story, end);
        let is_of_objects = events.iter().any(|event| !event.operations.is_empty());
        let (idle, written_in) = (BTreeMap::new(), BTreeMap::new());
        let search = Search { story: &story, end, breaks, clients, idle, written_in, is_of_objects };
        to(&search, &flights(events, story.time));
    });
}
