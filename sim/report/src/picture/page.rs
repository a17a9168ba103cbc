//! The diagram in a page of its own: why it broke on top, the steps below, each with its details beside it.
//!
//! The script draws the steps that are in sight, to the width that there is, from [`Run`]. Without scripts the page has the same
//! diagram as [`super::svg()`].

use super::data::Run;
use super::labels::with_short_names;
use super::layout::{Layout, Window};
use super::others::{OtherRuns, Others};
use super::svg::{drawn, style};
use super::why::Cause;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use picklock_engine::report::Story;
use picklock_engine::report::{JsonEvent, program};
use serde::Serialize;

const PAGE_STYLE: &str = include_str!("page.css");
/// In the order in which they name each other.
const SCRIPT: &str = concat!(
    include_str!("page/run.js"),
    include_str!("page/folds.js"),
    include_str!("page/labels.js"),
    include_str!("page/sheet.js"),
    include_str!("page/details.js"),
    include_str!("page/map.js"),
    include_str!("page/search.js"),
    include_str!("page/others.js"),
    include_str!("page/keys.js"),
);

/// The run as one HTML file that loads nothing from anywhere.
pub fn page(story: Story, window: Window) -> String {
    made(&Layout::with_causes(story, window), None)
}

/// The same with what else could have happened in its steps, to be drawn instead.
pub fn page_with_others(story: Story, window: Window, others: &Others) -> String {
    let layout = Layout::with_causes(story, window);
    made(&layout, Some(&OtherRuns::new(&layout, window, others)))
}

fn made(layout: &Layout, others: Option<&OtherRuns>) -> String {
    let (width, height) = (layout.width(), layout.height());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "picklock: " (layout.story.lock) }
                style { (PreEscaped(style(layout))) (PreEscaped(PAGE_STYLE)) }
            }
            body {
                (header(layout))
                div id="another" class="another" role="status" hidden {}
                (causes(layout))
                (tools(layout, others.is_some()))
                main {
                    div class="drawing" id="drawing" tabindex="0" aria-label="the steps of the run" {
                        noscript {
                            svg xmlns="http://www.w3.org/2000/svg" class="diagram" width=(width) height=(height)
                                viewBox={ "0 0 " (width) " " (height) } { (drawn(layout)) }
                        }
                    }
                    canvas id="map" tabindex="0" {}
                    aside aria-label="the chosen step" { div id="details" aria-live="polite" {} }
                }
                script id="run" type="application/json" { (PreEscaped(embedded(&Run::new(layout)))) }
                @if let Some(others) = others {
                    script id="others" type="application/json" { (PreEscaped(embedded(others))) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

fn header(layout: &Layout) -> Markup {
    let story = &layout.story;
    html! {
        header {
            h1 { (story.lock) }
            div id="broken" {
                @for broken in story.broken {
                    p class="what-broke" title=(broken) {
                        @match step_of(layout, broken) {
                            Some(step) => { a href={ "#" (step) } { "✗ " (broken) } }
                            None => { "✗ " (broken) }
                        }
                    }
                }
                @if let Some(note) = broken_again(layout) { p { (note) } }
                @if story.broken.is_empty() { p class="what-held" { "no promise was broken" } }
            }
            @if !story.about.is_empty() {
                details class="known" title=(story.about[0]) {
                    summary { (story.about[0]) }
                    div class="about" { @for sentence in &story.about[1..] { p { (sentence) } } }
                }
            }
            details {
                summary { "the same run again" }
                div class="about" {
                    @if !story.again.is_empty() {
                        div class="mono" { (story.again) }
                    } @else if !story.token.is_empty() {
                        div { (program()) " replay " code class="token" { (story.token) } }
                    }
                    @if !story.settings.is_empty() { div class="mono" { (story.settings.join(", ")) } }
                    @if !story.plan.is_empty() { h2 { "the fault plan" } pre { (story.plan.join("\n")) } }
                }
            }
        }
    }
}

/// The step that breaks this promise in these words, if it is drawn. What a loop breaks no step does: the last one stands for it.
pub(super) fn step_of(layout: &Layout, broken: &str) -> Option<u64> {
    let breaks = |event: &JsonEvent| {
        let mut told = event.violations.iter().map(|broken| format!("{}: {}", broken.property, broken.words));
        told.any(|told| told == broken)
    };
    let events = layout.story.events;
    let end_of_loop = || layout.story.loop_start.and_then(|_| events.len().checked_sub(1));
    let position = events.iter().position(breaks).or_else(end_of_loop)?;
    layout.row_of(position).map(|_| events[position].step)
}

/// In the chain of causes, a name of more characters gives up its middle.
const CAUSE_NAME: usize = 24;

/// The chain of causes, each leading to its step. In a low window it is short, until it is asked for in full.
fn causes(layout: &Layout) -> Markup {
    let causes = &layout.causes;
    let number = |cause: &Cause| layout.story.events[cause.position].step;
    let words = |cause: &Cause| {
        html! {
            small { (cause.when) }
            span { @if cause.kind.name() == "breaks" { "✱ " } (with_short_names(&cause.words, CAUSE_NAME)) }
        }
    };
    html! {
        nav id="why" class="why" aria-label="why: the chain of causes" hidden[causes.is_empty()] {
            @if !causes.is_empty() {
                ol {
                    @for cause in causes {
                        li class={ "cause " (cause.kind.name()) } {
                            a href={ "#" (number(cause)) } title={ "step " (number(cause)) ": " (cause.words) } { (words(cause)) }
                        }
                    }
                }
            }
        }
    }
}

/// What the script serves: without one there is nothing to press.
fn tools(layout: &Layout, has_others: bool) -> Markup {
    html! {
        div class="tools" role="toolbar" aria-label="to go through the run" {
            (button("Home", "⇤", "the first step: Home"))
            (button("ArrowUp", "↑", "the step before: ↑ or k"))
            (button("ArrowDown", "↓", "the next step: ↓ or j"))
            (button("End", "⇥", "the last step: End"))
            (button("p", "✱↑", "the broken promise before: p"))
            (button("n", "✱↓", "the next broken promise: n"))
            (button("f", "⚡", "the next fault: f; the one before: Shift f"))
            input id="search" type="search" placeholder="search: /" aria-label="search the steps: /" autocomplete="off";
            output id="found" for="search" {}
            (button("o", "unfold", "all steps, or repeated ones as one row: o"))
            (button("c", "why", "the chain of causes above in full, or short: c"))
            details class="help" { summary title="marks, words and keys: ?" { "marks, words, keys (?)" } div { (legend(layout)) (keys(has_others)) (glossary()) } }
        }
    }
}

fn button(key: &str, face: &str, words: &str) -> Markup {
    html! { button type="button" data-key=(key) title=(words) aria-label=(words) { (face) } }
}

fn legend(layout: &Layout) -> Markup {
    html! {
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
    }
}

const KEYS: [(&str, &str); 11] = [
    ("↑ ↓, j k", "the step before, the next one"),
    ("PgUp PgDn, Home End", "ten steps, the first and the last one"),
    ("b", "where the promise breaks that the run is shown for"),
    ("n p", "the next broken promise, the one before"),
    ("f F", "the next fault, the one before"),
    ("[ ]", "the step before and the next one of the same node"),
    ("Enter", "unfolds a row of repeated steps, and folds it again"),
    ("o", "unfolds all"),
    ("c", "in a low window, the chain of causes above in full, or short again"),
    ("/", "search; there Enter and Shift Enter go on and back, Esc leaves"),
    ("?", "shows these marks, words and keys, and hides them again"),
];

/// The same where other runs can be drawn.
const KEYS_OF_OTHERS: [(&str, &str); 2] = [
    ("i", "what could have happened instead in the chosen step; there Tab goes on, and Enter draws it"),
    ("Esc", "back to the run of this page"),
];

fn keys(has_others: bool) -> Markup {
    let more = if has_others { KEYS_OF_OTHERS.as_slice() } else { &[] };
    html! { dl class="keys" { @for (key, words) in KEYS.iter().chain(more) { dt { (key) } dd { (words) } } } }
}

/// Words of the steps and stores that no other place explains.
const WORDS: [(&str, &str); 8] = [
    ("L6:4", "where a client stands: in line 4 of listing 6 of its lock's source"),
    ("step 4", "beside a client the same, where the source has numbered steps; elsewhere a step of this run"),
    (
        "A#49",
        "the 49th number from client A's own counter, which nobody else draws: it stands for a random value that A writes into a \
         key, for the unique part of its znode's name, or for its session",
    ),
    (
        "A@2",
        "such a number, too, of a session or a lease that client A has with the store: what hangs on it ends with it",
    ),
    ("tA@5s", "the timestamp of a write: of two writes of one column, the later timestamp counts"),
    (
        "until 12s",
        "what was written with a time to live: it is gone as soon as the clock of the server that looks at it shows 12 s (dies at 12s \
         says the same)",
    ),
    ("unsynced", "the server has not brought all that it stores to its disk: a loss of power takes the rest"),
    ("†", "a tombstone: the column was deleted, and the mark keeps older writes of it away"),
];

fn glossary() -> Markup {
    html! { dl class="keys" { @for (word, meaning) in WORDS { dt { (word) } dd { (meaning) } } } }
}

/// What of the run's broken promises is not in the picture.
fn broken_again(layout: &Layout) -> Option<String> {
    // What cannot be run again cannot be drawn with more in it, either.
    let all = if layout.story.token.is_empty() { "" } else { ": with --all they are" };
    match layout.broken_unseen() {
        0 => None,
        1 => Some(format!("broken once more in steps that are not drawn here{all}")),
        more => Some(format!("broken {more} times more in steps that are not drawn here{all}")),
    }
}

/// JSON inside a script element: nothing in it may end that element.
fn embedded(data: &impl Serialize) -> String {
    match serde_json::to_string(data) {
        Ok(text) => text.replace('<', "\\u003c"),
        Err(error) => unreachable!("plain data serialises: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;
    use picklock_engine::report::{Kind, Reason};

    fn page_of_overlap(window: Window) -> String {
        let mut made = String::new();
        toy::story(toy::overlap, |story| made = page(story, window));
        made
    }

    #[test]
    fn every_cause_on_top_leads_to_a_step_that_is_drawn() {
        for window in [Window::All, Window::Last(1)] {
            let made = page_of_overlap(window);
            let (_, strip) = made.split_once("class=\"why\"").expect("a chain of causes");
            let (strip, _) = strip.split_once("</nav>").expect("its end");
            let leads: Vec<&str> =
                strip.split("href=\"#").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect();
            assert!(leads.len() >= 3, "{strip}");
            assert_eq!(leads.len(), strip.matches("<li").count(), "all lead somewhere: {strip}");
            assert!(leads.iter().all(|step| made.contains(&format!("\"step\":{step},"))), "{leads:?}");
            assert!(strip.contains("B enters while A holds"), "{strip}");
        }
    }

    #[test]
    fn what_stands_behind_names_and_until_when_something_is_stored_is_explained_beside_the_keys() {
        let made = page_of_overlap(Window::All);
        let (_, help) = made.split_once("class=\"help\"").expect("marks, words and keys");
        for word in ["A#49", "A@2", "until 12s"] {
            assert!(help.contains(&format!("<dt>{word}</dt><dd>")), "{word}");
        }
    }

    #[test]
    fn a_long_name_among_the_causes_keeps_its_end_and_a_title_has_all_of_it() {
        let znode = "/_locknode_0/A#1-lock-0000000002";
        let mut made = String::new();
        toy::story(toy::overlap, |story| {
            let words = format!("s1 stores {znode}");
            let reasons = [Reason { at_us: story.events[0].at_us, kind: Kind::Record, words }];
            made = page(Story { reasons: &reasons, ..story }, Window::All);
        });
        assert!(made.contains("<span>s1 stores /_lockn…-lock-0000000002</span>"), "{made}");
        assert!(made.contains(&format!("s1 stores {znode}\">")), "{made}");
    }

    #[test]
    fn a_page_loads_nothing_and_is_the_same_again() {
        let made = page_of_overlap(Window::All);
        assert!(!made.contains("src=") && !made.contains("@import") && !made.contains("url(http"));
        assert_eq!(made, page_of_overlap(Window::All));
    }

    #[test]
    fn without_a_script_there_is_the_diagram() {
        let made = page_of_overlap(Window::All);
        let (_, plain) = made.split_once("<noscript>").expect("a drawing without scripts");
        assert!(plain.starts_with("<svg") && plain.contains("class=\"row\""));
    }
}
