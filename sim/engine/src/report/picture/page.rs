//! The diagram in a page of its own, with every step's details beside it.

use super::layout::{Layout, Window};
use super::svg::{drawn, style};
use crate::report::story::Story;
use crate::report::{JsonEvent, TimeColumn, program};
use maud::{DOCTYPE, PreEscaped, html};
use picklock_model::time::{Micros, Wall};
use serde::Serialize;
use std::collections::BTreeMap;

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page's script reads.
#[derive(Serialize)]
struct Run {
    /// How many steps the run has, shown or not.
    total: usize,
    locks: u8,
    /// The row that is chosen first: where the promise breaks that the run is shown for.
    opens: Option<usize>,
    /// One for each row of the diagram.
    steps: Vec<Details>,
}

/// A step, and how things stand after it.
#[derive(Serialize)]
struct Details {
    step: u64,
    /// `true time 1.500000 s`, `tick 3`; empty where time does not pass.
    when: String,
    words: String,
    sent: Vec<String>,
    reported: Vec<String>,
    /// What clients wait for, of shared objects; with its answer, if it comes in this step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operations: Vec<String>,
    holders: Vec<String>,
    violations: Vec<String>,
    /// What each node's wall clock shows, as last seen.
    clocks: BTreeMap<String, Clock>,
    /// What each server stores, as last seen.
    stored: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Serialize)]
struct Clock {
    shown: String,
    /// How far it is from true time; empty if it is not.
    wrong: String,
}

/// The run as one HTML file that loads nothing from anywhere.
pub fn page(story: Story, window: Window) -> String {
    let layout = Layout::new(story, window);
    let (width, height) = (layout.width(), layout.height());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "picklock: " (story.lock) }
                style { (PreEscaped(style(&layout))) (PreEscaped(PAGE_STYLE)) }
            }
            body {
                header {
                    h1 { (story.lock) }
                    @for broken in story.broken { p class="what-broke" { (broken) } }
                    @if let Some(note) = broken_again(&layout) { p { (note) } }
                    @if story.broken.is_empty() { p class="what-held" { "no promise was broken" } }
                    @if !story.settings.is_empty() { div class="mono" { (story.settings.join(", ")) } }
                    @if !story.token.is_empty() {
                        div { (program()) " replay " code class="token" { (story.token) } }
                    }
                    @if !story.plan.is_empty() {
                        details { summary { "the fault plan" } pre { (story.plan.join("\n")) } }
                    }
                }
                div class="legend" {
                    @if layout.bars.operations.is_empty() {
                        span class="k-holds" { "holds" } span class="k-overlap" { "two hold" }
                    } @else {
                        span class="k-holds" { "asks, and is answered" } span class="k-open" { "outcome unknown" }
                        span class="k-overlap" { "breaks the promise" }
                    }
                    span class="k-paused" { "pauses" }
                    span class="k-down" { "is down" } span class="k-cut" { "cut off" } span class="k-sent" { "message" }
                    span class="k-late" { "late" } span class="k-lost" { "lost" } span class="k-copy" { "doubled" }
                }
                main {
                    div class="drawing" {
                        svg xmlns="http://www.w3.org/2000/svg" class="diagram" width=(width) height=(height)
                            viewBox={ "0 0 " (width) " " (height) } { (drawn(&layout)) }
                    }
                    aside {
                        div class="controls" {
                            button data-key="Home" title="Home" { "⇤" } " " button data-key="ArrowUp" title="↑ or k" { "↑" } " "
                            button data-key="ArrowDown" title="↓ or j" { "↓" } " " button data-key="End" title="End" { "⇥" } " "
                            button data-key="n" title="n: the next broken promise; p: the one before" { "✱" }
                        }
                        div id="details" {}
                    }
                }
                script id="run" type="application/json" { (PreEscaped(embedded(&run(&layout)))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// What of the run's broken promises is not in the picture.
fn broken_again(layout: &Layout) -> Option<String> {
    match layout.broken_unseen() {
        0 => None,
        1 => Some("broken once more in steps that are not drawn here: with --all they are".to_owned()),
        more => {
            Some(format!("broken {more} times more in steps that are not drawn here: with --all they are"))
        }
    }
}

/// JSON inside a script element: nothing in it may end that element.
fn embedded(run: &Run) -> String {
    match serde_json::to_string(run) {
        Ok(text) => text.replace('<', "\\u003c"),
        Err(error) => unreachable!("plain data serialises: {error}"),
    }
}

fn run(layout: &Layout) -> Run {
    let mut clocks = BTreeMap::new();
    let mut stored = BTreeMap::new();
    let mut steps = Vec::with_capacity(layout.rows.len());
    let mut rows = layout.rows.iter().peekable();
    for (position, event) in layout.story.events.iter().enumerate() {
        if let Some(node) = &event.node {
            if let Some(wall) = event.wall_us {
                clocks.insert(node.clone(), wall - event.at_us);
            }
            if let Some(lines) = &event.stored {
                stored.insert(node.clone(), lines.clone());
            }
        }
        if rows.next_if(|row| row.last == position).is_some() {
            let operations = layout.bars.under_way(position);
            steps.push(Details { operations, ..details(event, &clocks, &stored, layout.story.time) });
        }
    }
    Run { total: layout.story.events.len(), locks: layout.story.locks, opens: layout.opens, steps }
}

fn details(
    event: &JsonEvent,
    clocks: &BTreeMap<String, i64>,
    stored: &BTreeMap<String, Vec<String>>,
    time: TimeColumn,
) -> Details {
    let clock = |wrong: &i64| Clock {
        // As it stands in messages.
        shown: Wall(event.at_us + wrong).to_string(),
        wrong: if *wrong == 0 { String::new() } else { format!("{:+.6} s", *wrong as f64 / 1e6) },
    };
    Details {
        step: event.step,
        when: match time {
            TimeColumn::Seconds => format!("true time {:.6} s", event.at_us as f64 / 1e6),
            TimeColumn::Ticks { .. } | TimeColumn::Hidden => time.show(Micros(event.at_us)),
        },
        words: sentence(event),
        sent: event.sent.iter().map(|sent| format!("to {}: {}", sent.to, sent.message)).collect(),
        reported: event.reported.clone(),
        operations: Vec::new(),
        holders: event.holders.clone(),
        violations: event
            .violations
            .iter()
            .map(|violation| format!("{}: {}", violation.property, violation.words))
            .collect(),
        clocks: clocks.iter().map(|(node, wrong)| (node.clone(), clock(wrong))).collect(),
        stored: stored.clone(),
    }
}

/// `B, delivered from s1: {tA}. L6:4 one record in the main row?`
fn sentence(event: &JsonEvent) -> String {
    let mut words = event.node.clone().map_or_else(String::new, |node| format!("{node}, ")) + event.what;
    for (preposition, node) in [(" from ", &event.from), (" to ", &event.to)] {
        if let Some(node) = node.as_ref().filter(|node| Some(*node) != event.node.as_ref()) {
            words = words + preposition + node;
        }
    }
    if let Some(message) = &event.message {
        words = words + ": " + message;
    }
    let place = event.line.iter().map(String::as_str).chain(event.doing);
    let place = place.collect::<Vec<_>>().join(" ");
    if place.is_empty() { words } else { format!("{words}. Now: {place}") }
}
