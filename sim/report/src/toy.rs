//! The runs that the renderers in the engine are tested with, as stories: what is read there is read here.

#[expect(dead_code, reason = "text is tested with more of it than pictures are")]
#[path = "../../engine/src/report/toy/mod.rs"]
mod runs;

use picklock_engine::report::{JsonEvent, JsonEvents, Story, TimeColumn};
use picklock_model::machine::Node;
use runs::{A, B, S1, S2};
pub use runs::{calls, misfortune, overlap, patience};

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
