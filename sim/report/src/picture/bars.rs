//! Operations of shared objects on the lanes of their clients: each a bar from call to return.
//!
//! One whose outcome is unknown has a tail, from where its client stopped waiting to the end: for so long it may still be
//! done. Tails stand left of the lane, each at its own place, because the client goes on meanwhile.

use super::layout::Row;
use picklock_engine::report::Operation;
use picklock_engine::report::Story;

/// All bars of a picture.
pub(super) struct Bars {
    /// The operations of the run, shown or not.
    pub(super) operations: Vec<Operation>,
    /// Those of which something is shown.
    pub(super) shown: Vec<Bar>,
}

/// An operation, as far as it is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bar {
    /// The operation's position in [`Bars::operations`].
    pub(super) operation: usize,
    /// The client's position in [`Story::nodes`].
    pub(super) lane: usize,
    /// First and last row in which the client waits for it; `None`: in none that is shown.
    pub(super) rows: Option<(usize, usize)>,
    /// Whether the step in which it began is shown, and that in which it ended.
    pub(super) has_ends: (bool, bool),
    /// Where the outcome is unknown though the client does not wait any more.
    pub(super) tail: Option<Tail>,
}

/// For how long an operation that nobody waits for may still be done: to the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tail {
    /// In which row it starts.
    pub(super) from: usize,
    /// How many the lane has already.
    place: usize,
}

impl Tail {
    /// How far left of its lane it stands, in pixels.
    pub(super) fn offset(self) -> i32 {
        10 + TAIL * self.place.min(TAILS_MAX) as i32
    }
}

/// Pixels from one tail to the next.
const TAIL: i32 = 6;
/// So many tails have places of their own.
const TAILS_MAX: usize = 5;
/// Pixels beside a lane's line that no text may fill.
const MARGIN: i32 = 18;
/// Pixels that ten characters take.
const TEN_CHARACTERS: i32 = 66;

impl Bars {
    pub(super) fn new(story: &Story, operations: Vec<Operation>, rows: &[Row]) -> Bars {
        let mut shown = Vec::new();
        let mut tails = vec![0; story.nodes.len()];
        for (number, operation) in operations.iter().enumerate() {
            let Some(lane) = story.nodes.iter().position(|node| *node == operation.client) else { continue };
            let last_step = operation.ended.unwrap_or(usize::MAX);
            let first = rows.partition_point(|row| row.last < operation.begun);
            let after = rows.partition_point(|row| row.first <= last_step);
            let is_seen =
                |row: Option<&Row>, at: usize| row.is_some_and(|row| row.first <= at && at <= row.last);
            let begins = is_seen(rows.get(first), operation.begun);
            let ends = after.checked_sub(1).is_some_and(|last| is_seen(rows.get(last), last_step));
            let is_open = operation.answer.is_none() && operation.ended.is_some();
            let from = if ends { after.saturating_sub(1) } else { after };
            let tail = (is_open && from < rows.len()).then(|| {
                tails[lane] += 1;
                Tail { from, place: tails[lane] - 1 }
            });
            let waits = (first < after).then(|| (first, after - 1));
            if waits.is_some() || tail.is_some() {
                shown.push(Bar { operation: number, lane, rows: waits, has_ends: (begins, ends), tail });
            }
        }
        Bars { operations, shown }
    }

    /// Pixels that a lane needs for the labels, and for tails.
    pub(super) fn lane_width(&self) -> i32 {
        let label = |bar: &Bar| self.operations[bar.operation].label().chars().count() as i32;
        let longest = self.shown.iter().map(label).max().unwrap_or(0);
        let tails =
            self.shown.iter().filter_map(|bar| bar.tail).map(|tail| tail.place + 1).max().unwrap_or(0);
        MARGIN + (longest * TEN_CHARACTERS + 9) / 10 + TAIL * tails.min(TAILS_MAX) as i32
    }

    /// Characters that fit beside the line of a lane so wide.
    pub(super) fn characters(lane: i32) -> usize {
        usize::try_from((lane - MARGIN) * 10 / TEN_CHARACTERS).unwrap_or(0).max(1)
    }

    /// What clients wait for in this step; with the answer only if it comes in it.
    pub(super) fn under_way(&self, position: usize) -> Vec<String> {
        let here = self.operations.iter().filter(|operation| operation.is_under_way(position));
        let words = |operation: &Operation| match operation.ended {
            Some(ended) if ended == position => format!("{}: {}", operation.client, operation.label()),
            _ => format!("{}: {}", operation.client, operation.call),
        };
        here.map(words).collect()
    }

    /// Labels of what began at this lane before the first row.
    pub(super) fn begun_above(&self, lane: usize) -> Vec<String> {
        let is_above = |bar: &&Bar| {
            let first = bar.rows.map(|rows| rows.0).or(bar.tail.map(|tail| tail.from));
            bar.lane == lane && !bar.has_ends.0 && first == Some(0)
        };
        self.shown.iter().filter(is_above).map(|bar| self.operations[bar.operation].label()).collect()
    }

    /// The operations that begin in these steps at this lane, and those that end.
    pub(super) fn at(&self, lane: usize, row: Row) -> (Vec<&Operation>, Vec<&Operation>) {
        let here = |at: usize| row.first <= at && at <= row.last;
        let of_lane = || {
            self.shown.iter().filter(move |bar| bar.lane == lane).map(|bar| &self.operations[bar.operation])
        };
        (
            of_lane().filter(|operation| here(operation.begun)).collect(),
            of_lane().filter(|operation| operation.ended.is_some_and(here)).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::layout::{LANE, Layout, Window};
    use crate::picture::svg::svg;
    use crate::toy;

    fn bars(window: Window, look: impl FnOnce(Layout)) {
        toy::story_of(&toy::calls(), |story| look(Layout::new(story, window)));
    }

    #[test]
    fn an_operation_is_a_bar_from_its_call_to_its_answer_on_the_lane_of_its_client() {
        bars(Window::All, |layout| {
            let drawn: Vec<(usize, Option<(usize, usize)>)> =
                layout.bars.shown.iter().map(|bar| (bar.lane, bar.rows)).collect();
            let last = layout.rows.len() - 1;
            assert_eq!(
                drawn,
                [
                    (0, Some((0, 4))),
                    (1, Some((2, 11))),
                    (0, Some((6, 7))),
                    (0, Some((12, 12))),
                    (0, Some((13, last)))
                ]
            );
            assert!(layout.bars.shown.iter().take(4).all(|bar| bar.has_ends == (true, true)));
            assert_eq!(layout.bars.shown[4].has_ends, (true, false), "nobody knows how it would have ended");
        });
    }

    #[test]
    fn what_was_given_up_has_a_tail_to_the_end_and_nothing_else_has() {
        bars(Window::All, |layout| {
            let tails: Vec<Option<usize>> =
                layout.bars.shown.iter().map(|bar| bar.tail.map(|tail| tail.from)).collect();
            assert_eq!(tails, [None, None, Some(7), None, None]);
        });
    }

    #[test]
    fn the_diagram_says_of_each_operation_what_came_of_it_and_marks_the_one_that_breaks_a_promise() {
        let drawn = toy::told(&toy::calls(), |story| svg(story, Window::All));
        for label in
            ["x0.compare_and_set(1, 2) → refused", "x0.read() → 1", "x0.write(7) → ?", "x0.read() → 7"]
        {
            assert!(drawn.contains(&format!(">{label}</text>")), "{label} is missing in {drawn}");
        }
        for (class, times) in [
            ("class=\"operation\"", 2),
            ("class=\"operation open\"", 2),
            ("class=\"operation breaks\"", 1),
            ("class=\"tail\"", 1),
        ] {
            assert_eq!(drawn.matches(class).count(), times, "{class} in {drawn}");
        }
    }

    #[test]
    fn a_window_goes_back_to_where_an_operation_began_that_is_under_way_when_a_promise_breaks() {
        bars(Window::Last(10), |layout| {
            assert_eq!(layout.hidden.0, 0, "B asks in the third step");
        });
        let mut long = toy::calls();
        let between = vec![long[8].clone(); 400];
        long.splice(8..8, between);
        toy::story_of(&long, |story| {
            let layout = Layout::new(story, Window::Last(10));
            assert!(layout.hidden.0 > 80, "not that far");
            let began = layout.bars.shown.iter().map(|bar| bar.has_ends.0).collect::<Vec<_>>();
            assert!(began.contains(&false), "{began:?}");
            assert_eq!(layout.bars.begun_above(1), ["x0.read() → 1"]);
            assert_eq!(layout.bars.begun_above(0), ["x0.write(7) → ?"]);
        });
    }

    #[test]
    fn lanes_are_wide_enough_for_every_label_and_as_ever_where_there_is_none() {
        bars(Window::All, |layout| {
            assert!(Bars::characters(layout.lane) >= "x0.compare_and_set(1, 2) → refused".chars().count());
        });
        toy::story(toy::overlap, |story| {
            let layout = Layout::new(story, Window::All);
            assert_eq!((layout.lane, Bars::characters(layout.lane)), (LANE, 33));
            assert!(!svg(story, Window::All).contains("operation"));
        });
    }
}
