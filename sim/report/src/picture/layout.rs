//! Where everything stands: which steps are shown, in which row, and what lies along a lane for how long.

use super::bars::Bars;
use super::why::{Cause, why};
use crate::flights::{Flight, flights};
use picklock_engine::report::Story;
use picklock_engine::report::{JsonEvent, JsonMode};
use picklock_engine::report::{Operation, operations};
use picklock_properties::Promise;
use std::ops::Range;

/// Which steps of a run are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// All.
    All,
    /// So many up to where the promise breaks that the run is shown for, and a few beyond it, or up to the end; more, if whoever
    /// holds then was granted the lock not much earlier, or an operation began that is under way then. And a few around the first violation of each other promise.
    Last(usize),
}

/// How many steps are shown after a promise was broken.
const AFTERMATH_STEPS: usize = 8;
/// How many steps are shown up to where a promise breaks that the run is not shown for.
const OTHERS_STEPS: usize = 20;
/// How many steps at most a window is widened by, to show how holders came to hold, and where operations began.
const WIDENED_STEPS: usize = 300;
/// Pixels from one row to the next.
pub(super) const ROW: i32 = 38;
/// Pixels from one lane to the next, at least.
pub(super) const LANE: i32 = 236;
/// Pixels left of the first lane: the column of true time.
pub(super) const LEFT: i32 = 112;
/// Pixels that the band of one resource takes, left of its lane.
pub(super) const BAND: i32 = 30;
/// Pixels that each broken promise takes above the row in which it breaks.
pub(super) const BROKEN: i32 = 18;
/// Pixels above the first row: the names of the nodes.
pub(super) const TOP: i32 = 52;

/// A picture's measures.
pub(super) struct Layout<'a> {
    pub(super) story: Story<'a>,
    /// The steps of each row: one, or several in which nothing but time passed.
    pub(super) rows: Vec<Row>,
    /// How many promises break in each row and those above it.
    broken: Vec<i32>,
    pub(super) spans: Vec<Span>,
    pub(super) flights: Vec<Flight>,
    /// Why a promise breaks; empty of a drawing without causes.
    pub(super) causes: Vec<Cause>,
    /// What clients ask of shared objects.
    pub(super) bars: Bars,
    /// Pixels from one lane to the next.
    pub(super) lane: i32,
    /// What clients have in modes, each a band beside their lanes.
    pub(super) resources: Vec<String>,
    /// Steps before the first one shown, and after the last one.
    pub(super) hidden: (usize, usize),
    /// Where steps between are not shown: before which row, and how many.
    pub(super) gaps: Vec<(usize, usize)>,
    /// The row of the step that breaks the promise that the run is shown for.
    pub(super) opens: Option<usize>,
}

/// Neighbouring steps, as positions in [`Story::events`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// Something that lasts, on a node's lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span {
    /// The node's position in [`Story::nodes`]; `None`: on all lanes.
    pub(super) lane: Option<usize>,
    pub(super) what: Lasting,
    /// First and last row.
    pub(super) rows: (usize, usize),
}

/// What lasts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lasting {
    /// More than one client holds, and should not.
    Overlap,
    /// In the critical section.
    Holds,
    /// The same, while another one is.
    HoldsToo,
    Paused,
    Down,
    /// No message arrives from this node.
    CutOffFrom(String),
    /// It has something in a mode, and may wait for another one.
    InMode {
        /// Where the band stands: which of the resources of the run.
        place: usize,
        /// In which mode it has it.
        has: Option<String>,
        /// In which one it wants it.
        wants: Option<String>,
    },
}

impl Lasting {
    /// Its name in the style sheets.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Lasting::Overlap => "overlap",
            Lasting::Holds => "holds",
            Lasting::HoldsToo => "holds-too",
            Lasting::Paused => "paused",
            Lasting::Down => "down",
            Lasting::CutOffFrom(_) => "cut",
            Lasting::InMode { .. } => "mode",
        }
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(story: Story<'a>, window: Window) -> Layout<'a> {
        let operations = operations(story.events);
        let shown = apart(shown(&story, &operations, window));
        Layout::of(story, operations, flights(story.events, story.time), Vec::new(), &shown)
    }

    /// The same, and each cause of what breaks with the steps beside it.
    pub(super) fn with_causes(story: Story<'a>, window: Window) -> Layout<'a> {
        Layout::beside(story, window, None)
    }

    /// The same, and the step at this position with those beside it.
    pub(super) fn beside(story: Story<'a>, window: Window, position: Option<usize>) -> Layout<'a> {
        let operations = operations(story.events);
        let flights = flights(story.events, story.time);
        let beside = |position: usize| position.saturating_sub(1)..(position + 2).min(story.events.len());
        let causes = why(&story, &flights);
        let mut shown = shown(&story, &operations, window);
        shown.extend(causes.iter().map(|cause| cause.position).chain(position).map(beside));
        Layout::of(story, operations, flights, causes, &apart(shown))
    }

    fn of(
        story: Story<'a>,
        operations: Vec<Operation>,
        flights: Vec<Flight>,
        causes: Vec<Cause>,
        shown: &[Range<usize>],
    ) -> Layout<'a> {
        let ends = shown.first().zip(shown.last());
        let hidden = ends.map_or((0, 0), |(first, last)| (first.start, story.events.len() - last.end));
        let (mut all, mut gaps) = (Vec::new(), Vec::new());
        for (nth, range) in shown.iter().enumerate() {
            if nth > 0 {
                gaps.push((all.len(), range.start - shown[nth - 1].end));
            }
            all.extend(rows(&story, range.clone()));
        }
        let resources = resources(&story);
        let spans = spans(&story, &resources, &all);
        let bars = Bars::new(&story, operations, &all);
        let lane = bars.lane_width().max(LANE) + BAND * resources.len() as i32;
        let broken = all.iter().scan(0, |sum, row| {
            *sum += story.events[row.last].violations.len() as i32;
            Some(*sum)
        });
        let mut layout = Layout {
            story,
            broken: broken.collect(),
            rows: all,
            spans,
            flights,
            causes,
            bars,
            lane,
            resources,
            hidden,
            gaps,
            opens: None,
        };
        layout.opens = opening(&story).and_then(|at| layout.row_of(at));
        layout
    }

    /// The row that the step at this position is in; `None` if it is not shown.
    pub(super) fn row_of(&self, position: usize) -> Option<usize> {
        let after = self.rows.partition_point(|row| row.last < position);
        self.rows.get(after).filter(|row| row.first <= position).map(|_| after)
    }

    /// What lasts in the whole run, shown or not, with positions of steps for rows.
    pub(super) fn spans_of_all(&self) -> Vec<Span> {
        let each: Vec<Row> =
            (0..self.story.events.len()).map(|position| Row { first: position, last: position }).collect();
        spans(&self.story, &[], &each)
    }

    /// How many times a promise is broken in steps that are not shown.
    pub(super) fn broken_unseen(&self) -> usize {
        let events = self.story.events.iter().enumerate();
        let unseen = events.filter(|(position, _)| self.row_of(*position).is_none());
        unseen.map(|(_, event)| event.violations.len()).sum()
    }

    pub(super) fn lane_of(&self, node: &str) -> Option<usize> {
        self.story.nodes.iter().position(|known| known == node)
    }

    pub(super) fn x(&self, lane: usize) -> i32 {
        self.left() + self.lane * lane as i32 + 14
    }

    /// Pixels left of the first lane and its bands.
    pub(super) fn left(&self) -> i32 {
        LEFT + self.bands()
    }

    /// Pixels that the bands of a lane take.
    pub(super) fn bands(&self) -> i32 {
        BAND * self.resources.len() as i32
    }

    pub(super) fn y(&self, row: usize) -> i32 {
        TOP + ROW * row as i32 + ROW / 2 + BROKEN * self.broken.get(row).copied().unwrap_or(0)
    }

    /// Where a row begins, with what it breaks.
    pub(super) fn top(&self, row: usize) -> i32 {
        row.checked_sub(1).map_or(TOP, |before| self.y(before) + ROW / 2)
    }

    pub(super) fn width(&self) -> i32 {
        self.left() + self.lane * self.story.nodes.len() as i32 + 8
    }

    pub(super) fn height(&self) -> i32 {
        TOP + ROW * self.rows.len() as i32 + BROKEN * self.broken.last().copied().unwrap_or(0) + 12
    }
}

/// The step that breaks the promise that the run is shown for, or else the first that breaks any.
pub(super) fn opening(story: &Story) -> Option<usize> {
    let breaks = |promise: Option<Promise>| {
        let breaks = move |event: &JsonEvent| {
            event
                .violations
                .iter()
                .any(|violation| promise.is_none_or(|promise| promise == violation.property))
        };
        story.events.iter().position(breaks)
    };
    breaks(story.shown_for).or_else(|| breaks(None))
}

/// What is shown. Ranges may overlap.
fn shown(story: &Story, operations: &[Operation], window: Window) -> Vec<Range<usize>> {
    let all = story.events.len();
    let whole = || std::iter::once(0..all).collect();
    let Window::Last(steps) = window else { return whole() };
    if story.loop_start.is_some() {
        return whole();
    }
    let mut known: Vec<Promise> = Vec::new();
    let mut ranges = vec![around(story, operations, opening(story), steps)];
    for (position, event) in story.events.iter().enumerate() {
        for violation in
            event.violations.iter().filter(|violation| Some(violation.property) != story.shown_for)
        {
            if !known.contains(&violation.property) {
                known.push(violation.property);
                ranges.push(around(story, operations, Some(position), steps.min(OTHERS_STEPS)));
            }
        }
    }
    ranges
}

/// The same in order, with none that touches the next one.
fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

fn around(story: &Story, operations: &[Operation], broken: Option<usize>, steps: usize) -> Range<usize> {
    let all = story.events.len();
    let end = broken.map_or(all, |at| (at + 1 + AFTERMATH_STEPS).min(all));
    let start = end.saturating_sub(steps);
    let holders = broken.map_or(&[] as &[String], |at| &story.events[at].holders);
    // The step after the last one in which this client did not hold yet.
    let granted = |holder: &String| {
        let before = broken.unwrap_or(0);
        story.events[..before]
            .iter()
            .rposition(|event| !event.holders.contains(holder))
            .map_or(0, |at| at + 1)
    };
    let concurrent = |operation: &&Operation| broken.is_some_and(|at| operation.is_under_way(at));
    let begun = operations.iter().filter(concurrent).map(|operation| operation.begun);
    let earliest = holders.iter().map(granted).chain(begun).min().unwrap_or(start).saturating_sub(2);
    start.min(earliest.max(start.saturating_sub(WIDENED_STEPS)))..end
}

fn rows(story: &Story, shown: Range<usize>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for position in shown {
        let event = &story.events[position];
        let only_time = |at: usize| {
            let event = &story.events[at];
            event.what == "ticked" && event.violations.is_empty() && Some(at) != story.loop_start
        };
        match rows.last_mut() {
            Some(row) if event.what == "ticked" && only_time(position) && only_time(row.last) => {
                row.last = position;
            }
            _ => rows.push(Row { first: position, last: position }),
        }
    }
    rows
}

/// What lasts at each row, gathered into spans.
fn spans(story: &Story, resources: &[String], rows: &[Row]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut faults: Vec<(usize, Lasting)> = Vec::new();
    let mut row = 0;
    for (position, event) in story.events.iter().enumerate() {
        note_fault(story, event, &mut faults);
        let Some(current) = rows.get(row) else { break };
        if position != current.last {
            continue;
        }
        let is_next = row > 0 && rows[row - 1].last + 1 == current.first;
        let overlap = event.holders.len() > 1 && !event.holders_share && story.locks == 1;
        let holding = event.holders.iter().filter_map(|holder| {
            let lane = story.nodes.iter().position(|node| node == holder)?;
            Some((Some(lane), if overlap { Lasting::HoldsToo } else { Lasting::Holds }))
        });
        let all = overlap.then_some((None, Lasting::Overlap));
        let lasting: Vec<(Option<usize>, Lasting)> = all
            .into_iter()
            .chain(holding)
            .chain(faults.iter().map(|(lane, what)| (Some(*lane), what.clone())))
            .chain(event.modes.iter().filter_map(|mode| in_mode(story, resources, mode)))
            .collect();
        for (lane, what) in lasting {
            // Not over steps that are not shown: who knows what was there.
            let goes_on = |span: &&mut Span| {
                span.lane == lane && span.what == what && span.rows.1 + 1 == row && is_next
            };
            match spans.iter_mut().rev().find(goes_on) {
                Some(span) => span.rows.1 = row,
                None => spans.push(Span { lane, what, rows: (row, row) }),
            }
        }
        row += 1;
    }
    spans.sort_by(|one, other| (&one.what, one.lane).cmp(&(&other.what, other.lane)));
    spans
}

fn in_mode(story: &Story, resources: &[String], mode: &JsonMode) -> Option<(Option<usize>, Lasting)> {
    let lane = story.nodes.iter().position(|node| *node == mode.client)?;
    let place = resources.iter().position(|resource| *resource == mode.resource)?;
    let (has, wants) = (mode.has.clone(), mode.wants.clone());
    Some((Some(lane), Lasting::InMode { place, has, wants }))
}

/// What anybody has in a mode at any time, in order.
fn resources(story: &Story) -> Vec<String> {
    let modes = story.events.iter().flat_map(|event| &event.modes);
    let mut resources: Vec<String> = modes.map(|mode| mode.resource.clone()).collect();
    resources.sort_by_key(|resource| (resource.len(), resource.clone()));
    resources.dedup();
    resources
}

fn note_fault(story: &Story, event: &JsonEvent, faults: &mut Vec<(usize, Lasting)>) {
    let lane_of = |node: &Option<String>| {
        let node = node.as_ref()?;
        story.nodes.iter().position(|known| known == node)
    };
    let Some(lane) = lane_of(&event.node) else { return };
    let cut = || Lasting::CutOffFrom(event.from.clone().unwrap_or_default());
    match event.what {
        "paused" | "suspended" => faults.push((lane, Lasting::Paused)),
        "resumed" => faults.retain(|fault| *fault != (lane, Lasting::Paused)),
        "crashed" => {
            faults.retain(|fault| *fault != (lane, Lasting::Paused));
            faults.push((lane, Lasting::Down));
        }
        "restarted" => faults.retain(|fault| *fault != (lane, Lasting::Down)),
        "link-cut" => faults.push((lane, cut())),
        "link-mended" => faults.retain(|fault| *fault != (lane, cut())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;
    use picklock_engine::report::JsonViolation;

    fn with_story(violations: &[(usize, Promise)], shown_for: Option<Promise>, look: impl FnOnce(Layout)) {
        toy::story(toy::patience, |story| {
            // The same steps again and again: long enough for windows to be apart.
            let mut events: Vec<JsonEvent> = story.events.iter().cycle().take(400).cloned().collect();
            for (step, event) in (1..).zip(&mut events) {
                (event.step, event.violations) = (step, Vec::new());
            }
            for (position, property) in violations {
                events[*position].violations.push(JsonViolation {
                    property: *property,
                    client: "A".to_owned(),
                    other: "B".to_owned(),
                    words: String::new(),
                });
            }
            let story = Story { events: &events, shown_for, ..story };
            look(Layout::new(story, Window::Last(10)));
        });
    }

    #[test]
    fn every_broken_promise_has_its_steps_in_the_picture_and_it_opens_where_the_run_is_shown_for() {
        use Promise::{Fifo, LeaseLoss, MutualExclusion};
        let violations =
            [(30, Fifo), (32, Fifo), (150, MutualExclusion), (151, MutualExclusion), (390, LeaseLoss)];
        with_story(&violations, Some(MutualExclusion), |layout| {
            for position in [30, 150, 390] {
                assert!(layout.row_of(position).is_some(), "{position} is not shown");
            }
            assert_eq!(layout.opens, layout.row_of(150));
            assert_eq!(layout.gaps.len(), 2);
            let hidden: usize = layout.gaps.iter().map(|(_, steps)| steps).sum();
            assert!(hidden > 100 && layout.row_of(80).is_none());
            assert_eq!(layout.hidden.1, 400 - 390 - 1 - AFTERMATH_STEPS);
        });
    }

    #[test]
    fn what_is_broken_outside_the_windows_is_counted() {
        // The first break of a promise has a window of its own, further ones far from it have none.
        let violations = [(30, Promise::Fifo), (200, Promise::Fifo), (201, Promise::Fifo)];
        with_story(&violations, Some(Promise::Fifo), |layout| assert_eq!(layout.broken_unseen(), 2));
        with_story(&violations[..1], Some(Promise::Fifo), |layout| assert_eq!(layout.broken_unseen(), 0));
    }

    #[test]
    fn what_is_shown_for_nothing_in_particular_opens_at_the_first_violation() {
        with_story(&[(70, Promise::Fifo)], None, |layout| assert_eq!(layout.opens, layout.row_of(70)));
        with_story(&[], None, |layout| {
            assert_eq!((layout.opens, layout.gaps.len(), layout.hidden.1), (None, 0, 0));
        });
    }
}
