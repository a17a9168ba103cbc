//! What the page's script draws the run from.
//!
//! Rows are those of the diagram, lanes are positions in `nodes`. What does not change from one row to the next is left out, so that
//! a run of many steps stays a file that a browser opens at once.

use super::arrows::{fate, flight_words};
use super::layout::{Lasting, Layout, Row, Span};
use super::svg::{between, duration, is_fault, lines, reported};
use super::times::{in_column, time_name};
use crate::flights::Flight;
use crate::others::call_words;
use picklock_engine::report::{JsonEvent, TimeColumn};
use picklock_model::time::{Micros, Wall};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct Run<'a> {
    /// How many steps the run has, shown or not.
    total: usize,
    locks: u8,
    /// The row where the promise breaks that the run is shown for.
    opens: Option<usize>,
    /// The row that a loop begins with.
    loop_start: Option<usize>,
    /// Steps before the first row, and after the last one.
    hidden: (usize, usize),
    /// What draws them, too; empty if nothing does.
    draws_hidden: &'static str,
    /// Where steps between are not shown: before which row, and how many.
    gaps: &'a [(usize, usize)],
    /// What stands above the times.
    time: &'static str,
    nodes: &'a [String],
    resources: &'a [String],
    steps: Vec<Details>,
    spans: Vec<Lasts<'a>>,
    flights: Vec<Arrow>,
    operations: Vec<Called>,
    map: Map,
}

/// A row: its last step, and how things stand after it.
#[derive(Serialize)]
struct Details {
    step: u64,
    /// Whose step it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<usize>,
    what: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fault: bool,
    /// Whom the link leads from that was cut or mended, and whose message is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<usize>,
    /// As it stands in the column of times; empty if it stands in the row above.
    #[serde(skip_serializing_if = "String::is_empty")]
    time: String,
    /// `10.806 s later`, if so much time passed since the row before that a reader should know.
    #[serde(skip_serializing_if = "String::is_empty")]
    later: String,
    /// `true time 1.500000 s`, `tick 3`; empty where time does not pass.
    #[serde(skip_serializing_if = "String::is_empty")]
    when: String,
    /// What stands beside the lane, with the style of each line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<(&'static str, String)>,
    words: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sent: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reported: Vec<String>,
    /// What clients wait for, of shared objects; with its answer, if it comes in this step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operations: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holders: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<String>,
    /// What the wall clocks show that are wrong, as last seen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    clocks: BTreeMap<String, Clock>,
    /// What servers store, of those where that changed since the row before.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    stored: BTreeMap<String, Vec<String>>,
}

#[derive(Serialize)]
struct Clock {
    shown: String,
    /// How far it is from true time.
    wrong: String,
}

/// Something that lasts, on a lane or on all.
#[derive(Serialize)]
struct Lasts<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<usize>,
    what: &'static str,
    /// First and last row.
    rows: (usize, usize),
    /// Whose messages do not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<usize>,
    /// Which resource is had in a mode, and in which one, and which one is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<(usize, Option<&'a str>, Option<&'a str>)>,
}

/// A message.
#[derive(Serialize)]
struct Arrow {
    from: usize,
    to: usize,
    /// The row in which it was sent; `None`: in none that is shown.
    sent: Option<usize>,
    /// The same for its end.
    ended: Option<usize>,
    fate: &'static str,
    words: String,
}

/// What a client asks of a shared object.
#[derive(Serialize)]
struct Called {
    lane: usize,
    rows: Option<(usize, usize)>,
    /// Whether its beginning is shown, and its end.
    has_ends: (bool, bool),
    /// Its outcome is unknown.
    open: bool,
    breaks: bool,
    /// From which row on it may still be done, and how far left of the lane that stands.
    tail: Option<(usize, i32)>,
    label: String,
}

/// The whole run in small, by positions of steps.
#[derive(Serialize)]
struct Map {
    /// Lane, what lasts, first and last step.
    spans: Vec<(usize, &'static str, usize, usize)>,
    /// Those of nodes, clocks and links: a bad network loses messages everywhere.
    faults: Vec<usize>,
    broken: Vec<usize>,
}

impl<'a> Run<'a> {
    pub(super) fn new(layout: &'a Layout<'a>) -> Run<'a> {
        Run {
            total: layout.story.events.len(),
            locks: layout.story.locks,
            opens: layout.opens,
            loop_start: layout.story.loop_start.and_then(|start| layout.row_of(start)),
            hidden: layout.hidden,
            draws_hidden: if layout.story.token.is_empty() { "" } else { ": --all draws them" },
            gaps: &layout.gaps,
            time: time_name(layout.story.time),
            nodes: layout.story.nodes,
            resources: &layout.resources,
            steps: steps(layout),
            spans: layout.spans.iter().map(|span| lasts(layout, span)).collect(),
            flights: arrows(layout),
            operations: calls(layout),
            map: map(layout),
        }
    }
}

fn steps(layout: &Layout) -> Vec<Details> {
    let mut clocks: BTreeMap<&str, i64> = BTreeMap::new();
    let mut stored: BTreeMap<&str, &Vec<String>> = BTreeMap::new();
    let mut changed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut steps = Vec::with_capacity(layout.rows.len());
    for (position, event) in layout.story.events.iter().enumerate() {
        if let Some(node) = event.node.as_deref() {
            if let Some(wall) = event.wall_us {
                clocks.insert(node, wall - event.at_us);
            }
            if let Some(lines) = &event.stored
                && stored.insert(node, lines) != Some(lines)
            {
                changed.insert(node.to_owned(), lines.clone());
            }
        }
        if layout.rows.get(steps.len()).is_some_and(|row| row.last == position) {
            steps.push(details(layout, steps.len(), &clocks, std::mem::take(&mut changed)));
        }
    }
    steps
}

fn details(
    layout: &Layout,
    number: usize,
    clocks: &BTreeMap<&str, i64>,
    stored: BTreeMap<String, Vec<String>>,
) -> Details {
    let row = layout.rows[number];
    let event = &layout.story.events[row.last];
    let lane = event.node.as_deref().and_then(|node| layout.lane_of(node));
    let comes_from = matches!(event.what, "link-cut" | "link-mended" | "lost");
    let clock = |wrong: i64| Clock {
        // As it stands in messages.
        shown: Wall(event.at_us + wrong).to_string(),
        wrong: format!("{:+.6} s", wrong as f64 / 1e6),
    };
    Details {
        step: event.step,
        lane,
        what: event.what,
        fault: is_fault(event.what),
        from: event.from.as_deref().filter(|_| comes_from).and_then(|from| layout.lane_of(from)),
        time: in_column(layout, number),
        later: later(layout, number),
        when: match layout.story.time {
            TimeColumn::Seconds => format!("true time {:.6} s", event.at_us as f64 / 1e6),
            TimeColumn::Ticks { .. } | TimeColumn::Hidden => layout.story.time.show(Micros(event.at_us)),
        },
        lines: shown_lines(layout, row, lane),
        words: sentence(event),
        sent: event.sent.iter().map(|sent| format!("to {}: {}", sent.to, sent.message)).collect(),
        reported: reported(event).collect(),
        operations: layout.bars.under_way(row.last),
        holders: event.holders.clone(),
        violations: event
            .violations
            .iter()
            .map(|violation| format!("{}: {}", violation.property, violation.words))
            .collect(),
        clocks: clocks
            .iter()
            .filter(|(_, wrong)| **wrong != 0)
            .map(|(node, wrong)| ((*node).to_owned(), clock(*wrong)))
            .collect(),
        stored,
    }
}

/// Rows are equally far from each other, whatever time lies between them.
fn later(layout: &Layout, number: usize) -> String {
    const WORTH_A_WORD_US: i64 = 1_000_000;
    let at = |row: Row| layout.story.events[row.last].at_us;
    let passed = number.checked_sub(1).map_or(0, |before| at(layout.rows[number]) - at(layout.rows[before]));
    match layout.story.time {
        TimeColumn::Seconds if passed >= WORTH_A_WORD_US => format!("{} later", duration(passed, false)),
        _ => String::new(),
    }
}

fn shown_lines(layout: &Layout, row: Row, lane: Option<usize>) -> Vec<(&'static str, String)> {
    if lane.is_none() {
        return vec![("between", between(layout, row, &layout.story.events[row.last]))];
    }
    lines(layout, row).into_iter().filter(|(_, words)| !words.is_empty()).collect()
}

/// `B gets from s1: {tA}. Now: L6:4 one record in the main row?`
fn sentence(event: &JsonEvent) -> String {
    let node = event.node.as_deref();
    let mut words = match (event.what, node) {
        ("delivered", Some(node)) => format!("{node} gets"),
        ("woke", Some(node)) => match (call_words(event), event.remark) {
            (Some(call), _) => call,
            (None, Some(remark)) => format!("{node}: {remark}"),
            (None, None) => format!("{node} goes on by itself"),
        },
        ("ticked", _) => "time passes, and nothing else".to_owned(),
        (what, Some(node)) => format!("{node}, {}", what.replace('-', " ")),
        (what, None) => what.replace('-', " "),
    };
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

fn lasts<'a>(layout: &Layout, span: &'a Span) -> Lasts<'a> {
    let from = match &span.what {
        Lasting::CutOffFrom(from) => layout.lane_of(from),
        _ => None,
    };
    let mode = match &span.what {
        Lasting::InMode { place, has, wants } => Some((*place, has.as_deref(), wants.as_deref())),
        _ => None,
    };
    Lasts { lane: span.lane, what: span.what.name(), rows: span.rows, from, mode }
}

fn arrows(layout: &Layout) -> Vec<Arrow> {
    let arrow = |flight: &Flight| {
        let (from, to) = (layout.lane_of(&flight.from)?, layout.lane_of(&flight.to)?);
        let (sent, ended) = (layout.row_of(flight.sent), flight.ended.and_then(|ended| layout.row_of(ended)));
        let is_shown = sent.is_some() || ended.is_some();
        is_shown.then(|| Arrow { from, to, sent, ended, fate: fate(flight), words: flight_words(flight) })
    };
    layout.flights.iter().filter_map(arrow).collect()
}

fn calls(layout: &Layout) -> Vec<Called> {
    let bars = layout.bars.shown.iter();
    bars.map(|bar| {
        let operation = &layout.bars.operations[bar.operation];
        Called {
            lane: bar.lane,
            rows: bar.rows,
            has_ends: bar.has_ends,
            open: operation.answer.is_none(),
            breaks: !operation.broke.is_empty(),
            tail: bar.tail.map(|tail| (tail.from, tail.offset())),
            label: operation.label(),
        }
    })
    .collect()
}

fn map(layout: &Layout) -> Map {
    let is_seen =
        |what: &Lasting| matches!(what, Lasting::Holds | Lasting::HoldsToo | Lasting::Paused | Lasting::Down);
    let positions = |is: fn(&JsonEvent) -> bool| {
        let events = layout.story.events.iter().enumerate();
        events.filter(|(_, event)| is(event)).map(|(position, _)| position).collect()
    };
    Map {
        spans: layout
            .spans_of_all()
            .iter()
            .filter(|span| is_seen(&span.what))
            .filter_map(|span| Some((span.lane?, span.what.name(), span.rows.0, span.rows.1)))
            .collect(),
        faults: positions(|event| is_fault(event.what) && event.message.is_none()),
        broken: positions(|event| !event.violations.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::layout::Window;
    use crate::toy;

    #[test]
    fn what_a_server_stores_is_told_where_it_changes_and_nowhere_else() {
        toy::story(toy::patience, |story| {
            let layout = Layout::new(story, Window::All);
            let run = Run::new(&layout);
            let mut last: BTreeMap<&str, &Vec<String>> = BTreeMap::new();
            for (details, row) in run.steps.iter().zip(&layout.rows) {
                let event = &story.events[row.last];
                let (Some(node), Some(lines)) = (event.node.as_deref(), &event.stored) else {
                    assert!(details.stored.is_empty(), "{}", details.step);
                    continue;
                };
                let changed = last.insert(node, lines) != Some(lines);
                assert_eq!(details.stored.get(node), changed.then_some(lines), "step {}", details.step);
            }
            assert!(!last.is_empty() && run.steps.iter().any(|step| step.reported.is_empty()));
        });
    }

    #[test]
    fn the_map_shows_the_whole_run_though_the_drawing_does_not() {
        toy::story(toy::overlap, |story| {
            let layout = Layout::new(story, Window::Last(1));
            let (whole, all) = (Run::new(&layout).map, Layout::new(story, Window::All));
            let whole_again = Run::new(&all).map;
            assert_eq!(whole.spans, whole_again.spans);
            assert_eq!((whole.faults, whole.broken), (whole_again.faults, whole_again.broken));
            assert!(whole.spans.iter().any(|(_, what, ..)| *what == "paused"), "{:?}", whole.spans);
        });
    }
}
