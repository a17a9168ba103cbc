//! Messages: arrows from the step that sent one to the step in which it ended.

use super::layout::{Layout, ROW};
use crate::flights::Flight;
use maud::{Markup, html};

/// How far an arrow is bent that crosses other lanes, in pixels at its middle handle; the first is taken that keeps clear of their dots, or else the one that
/// comes least near.
const BENDS: [i32; 7] = [12, -12, 24, -24, 40, -40, 60];
/// Nearer to a dot, in pixels, an arrow seems to end there or to come from there.
const CLEAR: f64 = 16.0;

/// The tips, one for each fate of a message that arrives.
pub(super) fn tips() -> Markup {
    html! {
        @for kind in ["sent", "lost", "late", "copy"] {
            marker id={ "tip-" (kind) } class=(kind) viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9"
                markerUnits="userSpaceOnUse" orient="auto-start-reverse" { path d="M0,0 L8,4 L0,8 z" {} }
        }
    }
}

pub(super) fn arrow(layout: &Layout, flight: &Flight) -> Markup {
    let Some(Curve { from: (x1, y1), handle: (mx, my), to: (x2, y2) }) = curve(layout, flight) else {
        return html! {};
    };
    let class = fate(flight);
    let end = flight.ended.and_then(|ended| layout.row_of(ended));
    let arrives = end.is_some() && !flight.is_lost;
    html! {
        g class={ "flight " (class) } data-sent=[layout.row_of(flight.sent)] data-ended=[end] {
            path d={ "M" (x1) "," (y1) " Q" (mx) "," (my) " " (x2) "," (y2) }
                marker-end=[arrives.then(|| format!("url(#tip-{class})"))] { title { (flight_words(flight)) } }
            @if flight.is_lost { text class="cross" x=(x2) y=(y2 + 5) text-anchor="middle" { "✕" } }
        }
    }
}

/// What becomes of a message, and its colour.
pub(super) fn fate(flight: &Flight) -> &'static str {
    match flight {
        Flight { is_lost: true, .. } => "lost",
        Flight { ended: None, .. } => "under-way",
        Flight { is_copy: true, .. } => "copy",
        Flight { is_late: true, .. } => "late",
        Flight { .. } => "sent",
    }
}

/// `A to s1: ping, lost`.
pub(super) fn flight_words(flight: &Flight) -> String {
    let adverb = match fate(flight) {
        "lost" => ", lost",
        "copy" => ", a second time",
        "late" => ", late",
        "under-way" => ", still under way",
        _ => "",
    };
    format!("{} to {}: {}{adverb}", flight.from, flight.to, flight.message)
}

/// A quadratic curve whose handle stands halfway between its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Curve {
    from: (i32, i32),
    handle: (i32, i32),
    to: (i32, i32),
}

impl Curve {
    fn new(from: (i32, i32), to: (i32, i32), bend: i32) -> Curve {
        let handle = (i32::midpoint(from.0, to.0), i32::midpoint(from.1, to.1) + bend);
        Curve { from, handle, to }
    }

    /// Its height where it crosses this line; `None` if it does not.
    fn y_at(&self, x: i32) -> Option<f64> {
        let way = f64::from(x - self.from.0) / f64::from(self.to.0 - self.from.0);
        let [start, handle, end] = [self.from.1, self.handle.1, self.to.1].map(f64::from);
        let back = 1.0 - way;
        let y = back * back * start + 2.0 * way * back * handle + way * way * end;
        (way > 0.0 && way < 1.0).then_some(y)
    }
}

/// `None` if neither end is shown.
fn curve(layout: &Layout, flight: &Flight) -> Option<Curve> {
    let (from, to) = (layout.lane_of(&flight.from)?, layout.lane_of(&flight.to)?);
    let [start, end] =
        [Some(flight.sent), flight.ended].map(|step| step.and_then(|step| layout.row_of(step)));
    let side = if layout.x(to) > layout.x(from) { 1 } else { -1 };
    let first = match (start, end) {
        (Some(row), _) => (layout.x(from) + 6 * side, layout.y(row)),
        // Sent in no step that is shown: its last stretch.
        (None, row) => (layout.x(to) - 60 * side, layout.y(row?) - ROW / 2),
    };
    let last = match end {
        // Above the words of the step that tells of the loss.
        Some(row) if flight.is_lost => ((layout.x(from) + 2 * layout.x(to)) / 3, layout.y(row) - ROW / 2),
        Some(row) => (layout.x(to) - 6 * side, layout.y(row)),
        // Still under way, or it ends where nothing is drawn: its first stretch.
        None => {
            let bottom = layout.y(layout.rows.len().saturating_sub(1)) + ROW / 2 + 4;
            (layout.x(from) + 40 * side, (first.1 + 2 * ROW).min(bottom))
        }
    };
    let straight = Curve::new(first, last, 0);
    let Some(rows) = start.zip(end).filter(|_| from.abs_diff(to) > 1) else { return Some(straight) };
    let bent = BENDS.map(|bend| Curve::new(first, last, bend));
    let clearance = |curve: &&Curve| clearance(layout, curve, rows).min(CLEAR);
    // Of equals the first, which is bent least.
    bent.iter().rev().max_by(|one, other| clearance(one).total_cmp(&clearance(other))).copied()
}

/// How near it comes to a dot of the lanes that it crosses.
fn clearance(layout: &Layout, curve: &Curve, rows: (usize, usize)) -> f64 {
    // It may leave the rows of its ends by one, where it is bent.
    let near = rows.0.saturating_sub(1)..(rows.1 + 2).min(layout.rows.len());
    let distances = near.filter_map(|number| {
        let node = layout.story.events[layout.rows[number].last].node.as_deref()?;
        let y = curve.y_at(layout.x(layout.lane_of(node)?))?;
        Some((y - f64::from(layout.y(number))).abs())
    });
    distances.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::layout::Window;
    use crate::toy;
    use picklock_engine::report::{JsonEvent, JsonMessage, Story};

    /// A sends to s1, B does something, and it arrives: in even rows a straight line leads through B's dot.
    fn with_a_node_between(look: impl FnOnce(Layout)) {
        toy::story(toy::overlap, |story| {
            let step = |node: &str| JsonEvent {
                node: Some(node.to_owned()),
                sent: Vec::new(),
                violations: Vec::new(),
                ..story.events[0].clone()
            };
            let message = "ping".to_owned();
            let sent = vec![JsonMessage { to: "s1".to_owned(), message: message.clone() }];
            let (from, to) = (Some("A".to_owned()), Some("s1".to_owned()));
            let events = [
                JsonEvent { sent, ..step("A") },
                step("B"),
                JsonEvent { what: "delivered", from, to, message: Some(message), ..step("s1") },
            ];
            look(Layout::new(Story { events: &events, ..story }, Window::All));
        });
    }

    #[test]
    fn an_arrow_does_not_lead_through_the_dot_of_a_node_that_has_no_part_in_it() {
        with_a_node_between(|layout| {
            let made = curve(&layout, &layout.flights[0]).expect("both ends are shown");
            let straight = Curve::new(made.from, made.to, 0);
            assert!(clearance(&layout, &straight, (0, 2)) < 1.0, "else there is nothing to keep clear of");
            let clear = BENDS.map(|bend| clearance(&layout, &Curve::new(made.from, made.to, bend), (0, 2)));
            let most = clear.into_iter().fold(0.0, f64::max).min(CLEAR);
            assert!(most > 9.0 && clearance(&layout, &made, (0, 2)) >= most, "{made:?} of {clear:?}");
        });
    }

    #[test]
    fn an_arrow_to_the_next_lane_is_straight() {
        toy::story(toy::overlap, |story| {
            let layout = Layout::new(story, Window::All);
            let next = layout.flights.iter().find(|flight| flight.from == "B" && flight.to == "s1");
            let made = curve(&layout, next.expect("B asks the server")).expect("it is shown");
            assert_eq!(made, Curve::new(made.from, made.to, 0));
        });
    }
}
