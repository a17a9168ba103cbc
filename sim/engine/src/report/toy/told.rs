//! The stories of its runs.

use super::{A, B, Node, S1, S2};
use crate::report::{JsonEvent, JsonEvents, Story, TimeColumn};

/// Tells `to` the story of a run.
pub fn story(run: impl FnOnce(&mut JsonEvents), to: impl FnOnce(Story)) {
    let mut events = JsonEvents::default();
    run(&mut events);
    story_of(&events.finish(), to);
}

/// What is told of these steps.
pub fn told(events: &[JsonEvent], tell: impl FnOnce(Story) -> String) -> String {
    let mut told = String::new();
    story_of(events, |story| told = tell(story));
    told
}

/// The same of these steps.
pub fn story_of(events: &[JsonEvent], to: impl FnOnce(Story)) {
    let nodes = [A, B, S1, S2, Node::Resource].map(|node| node.to_string());
    to(Story {
        lock: "notice-board",
        settings: &[],
        token: "pk0_toy",
        shown_for: None,
        broken: &[],
        again: "",
        reasons: &[],
        about: &[],
        plan: &[],
        nodes: &nodes,
        locks: 1,
        events,
        loop_start: None,
        time: TimeColumn::Seconds,
    });
}
