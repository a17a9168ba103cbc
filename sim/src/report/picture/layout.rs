//! Where everything stands: which steps are shown, in which row, and what lies along a lane for how long.

use crate::report::story::{Flight, Story, flights};

/// Which steps of a run are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// All.
    All,
    /// So many up to the first broken promise and a few beyond it, or up to the end; more, if whoever holds then was granted the
    /// lock not much earlier.
    Last(usize),
}

/// How many steps are shown after a promise was broken.
const AFTERMATH_STEPS: usize = 8;
/// How many steps at most a window is widened by, to show how holders came to hold.
const WIDENED_STEPS: usize = 300;
/// Pixels from one row to the next.
pub(super) const ROW: i32 = 38;
/// Pixels from one lane to the next.
pub(super) const LANE: i32 = 236;
/// Pixels left of the first lane: the column of true time.
pub(super) const LEFT: i32 = 112;
/// Pixels above the first row: the names of the nodes.
pub(super) const TOP: i32 = 52;

/// A picture's measures.
pub(super) struct Layout<'a> {
    pub(super) story: Story<'a>,
    /// The steps of each row: one, or several in which nothing but time passed.
    pub(super) rows: Vec<Row>,
    pub(super) spans: Vec<Span>,
    pub(super) flights: Vec<Flight>,
    /// Steps before the first one shown, and after the last one.
    pub(super) hidden: (usize, usize),
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
    /// More than one client holds.
    Overlap,
    /// In the critical section.
    Holds,
    /// The same, while another one is.
    HoldsToo,
    Paused,
    Down,
    /// No message arrives from this node.
    CutOffFrom(String),
}

impl<'a> Layout<'a> {
    pub(super) fn new(story: Story<'a>, window: Window) -> Layout<'a> {
        let shown = shown(&story, window);
        let rows = rows(&story, shown.clone());
        let spans = spans(&story, &rows);
        let hidden = (shown.start, story.events.len() - shown.end);
        Layout { story, rows, spans, flights: flights(story.events), hidden }
    }

    /// The row that the step at this position is in; `None` if it is not shown.
    pub(super) fn row_of(&self, position: usize) -> Option<usize> {
        let after = self.rows.partition_point(|row| row.last < position);
        self.rows.get(after).filter(|row| row.first <= position).map(|_| after)
    }

    pub(super) fn lane_of(&self, node: &str) -> Option<usize> {
        self.story.nodes.iter().position(|known| known == node)
    }

    pub(super) fn x(&self, lane: usize) -> i32 {
        LEFT + LANE * lane as i32 + 14
    }

    pub(super) fn y(&self, row: usize) -> i32 {
        TOP + ROW * row as i32 + ROW / 2
    }

    pub(super) fn width(&self) -> i32 {
        LEFT + LANE * self.story.nodes.len() as i32 + 8
    }

    pub(super) fn height(&self) -> i32 {
        TOP + ROW * self.rows.len() as i32 + 12
    }
}

fn shown(story: &Story, window: Window) -> std::ops::Range<usize> {
    let all = story.events.len();
    let Window::Last(steps) = window else { return 0..all };
    if story.loop_start.is_some() {
        return 0..all;
    }
    let broken = story.events.iter().position(|event| !event.violations.is_empty());
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
    let earliest = holders.iter().map(granted).min().unwrap_or(start).saturating_sub(2);
    start.min(earliest.max(start.saturating_sub(WIDENED_STEPS)))..end
}

fn rows(story: &Story, shown: std::ops::Range<usize>) -> Vec<Row> {
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
fn spans(story: &Story, rows: &[Row]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut faults: Vec<(usize, Lasting)> = Vec::new();
    let mut row = 0;
    for (position, event) in story.events.iter().enumerate() {
        note_fault(story, event, &mut faults);
        let Some(current) = rows.get(row) else { break };
        if position != current.last {
            continue;
        }
        let overlap = event.holders.len() > 1 && story.locks == 1;
        let holding = event.holders.iter().filter_map(|holder| {
            let lane = story.nodes.iter().position(|node| node == holder)?;
            Some((Some(lane), if overlap { Lasting::HoldsToo } else { Lasting::Holds }))
        });
        let all = overlap.then_some((None, Lasting::Overlap));
        let lasting: Vec<(Option<usize>, Lasting)> = all
            .into_iter()
            .chain(holding)
            .chain(faults.iter().map(|(lane, what)| (Some(*lane), what.clone())))
            .collect();
        for (lane, what) in lasting {
            let goes_on = |span: &&mut Span| span.lane == lane && span.what == what && span.rows.1 + 1 == row;
            match spans.iter_mut().find(goes_on) {
                Some(span) => span.rows.1 = row,
                None => spans.push(Span { lane, what, rows: (row, row) }),
            }
        }
        row += 1;
    }
    spans.sort_by(|one, other| (&one.what, one.lane).cmp(&(&other.what, other.lane)));
    spans
}

fn note_fault(story: &Story, event: &crate::report::JsonEvent, faults: &mut Vec<(usize, Lasting)>) {
    let lane_of = |node: &Option<String>| {
        let node = node.as_ref()?;
        story.nodes.iter().position(|known| known == node)
    };
    let Some(lane) = lane_of(&event.node) else { return };
    let cut = || Lasting::CutOffFrom(event.from.clone().unwrap_or_default());
    match event.what {
        "paused" => faults.push((lane, Lasting::Paused)),
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
