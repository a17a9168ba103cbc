//! The diagram itself.

use super::bars::{Bar, Bars};
use super::layout::{BAND, Lasting, Layout, ROW, Row, Span, TOP, Window};
use crate::report::operations::Operation;
use crate::report::story::{Flight, Story};
use crate::report::{JsonEvent, TimeColumn};
use maud::{Markup, PreEscaped, html};

/// What colours and lines mean, for light and dark.
/// Colours, light, dark and printed, and what the parts of a diagram look like.
pub const STYLE: &str = include_str!("style.css");

/// The same for operations of shared objects, where there are any.
const OPERATIONS_STYLE: &str = include_str!("operations.css");

/// The same for what is had in modes.
const MODES_STYLE: &str = include_str!("modes.css");

/// The run as one SVG image that stands alone.
pub fn svg(story: Story, window: Window) -> String {
    let layout = Layout::new(story, window);
    let (width, height) = (layout.width(), layout.height() + CAPTION);
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 " (-CAPTION) " " (width) " " (height) }
            width=(width) height=(height) class="diagram alone" role="img" {
            title { (story.lock) ": " (story.broken.join("; ")) }
            style { (PreEscaped(style(&layout))) }
            rect class="paper" x="0" y=(-CAPTION) width=(width) height=(height) {}
            text class="caption" x="12" y=(18 - CAPTION) { (story.lock) }
            @for (number, broken) in (0_i32..).zip(story.broken.iter().take(1)) {
                text class="broken" x="12" y=(38 + 20 * number - CAPTION) { (broken) }
            }
            (drawn(&layout))
        }
    };
    drawing.into_string() + "\n"
}

/// What the diagram's parts look like, of those that it has.
pub(super) fn style(layout: &Layout) -> String {
    let operations = if layout.bars.operations.is_empty() { "" } else { OPERATIONS_STYLE };
    let modes = if layout.resources.is_empty() { "" } else { MODES_STYLE };
    format!("{STYLE}{operations}{modes}")
}

/// Pixels above the diagram, for what broke.
const CAPTION: i32 = 52;

/// Everything inside the `svg` element.
pub(super) fn drawn(layout: &Layout) -> Markup {
    html! {
        (defs())
        @for span in layout.spans.iter().filter(|span| span.what == Lasting::Overlap) { (band(layout, span)) }
        (loop_bracket(layout))
        @for number in 0..layout.rows.len() {
            rect class="row" x="0" y=(layout.y(number) - ROW / 2) width=(layout.width()) height=(ROW) data-row=(number) {}
        }
        (lanes(layout))
        @for span in layout.spans.iter().filter(|span| span.what != Lasting::Overlap) { (band(layout, span)) }
        @for bar in &layout.bars.shown { (operation(layout, bar)) }
        @for flight in &layout.flights { (arrow(layout, flight)) }
        @for (number, row) in layout.rows.iter().enumerate() { (step(layout, number, *row)) }
    }
}

fn defs() -> Markup {
    html! {
        defs {
            @for kind in ["sent", "lost", "late", "copy"] {
                marker id={ "tip-" (kind) } class=(kind) viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
                    orient="auto-start-reverse" { path d="M0,0 L8,4 L0,8 z" {} }
            }
            pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                line class="hatch" x1="0" y1="0" x2="0" y2="6" {}
            }
        }
    }
}

fn lanes(layout: &Layout) -> Markup {
    let bottom = layout.height() - 8;
    html! {
        text class="time head" x=(layout.left() - 26 - layout.bands()) y="26" text-anchor="end" {
            (time_name(layout.story.time))
        }
        @for (lane, name) in layout.story.nodes.iter().enumerate() {
            line class="lane" x1=(layout.x(lane)) y1=(TOP - 8) x2=(layout.x(lane)) y2=(bottom) {}
            text class="head" x=(layout.x(lane)) y="26" { (name) }
            @let above = layout.bars.begun_above(lane);
            @if !above.is_empty() {
                text class="asked" x=(layout.x(lane) + 14) y="38" { (short(&above.join(", "), layout)) }
            }
        }
        @if layout.hidden.0 > 0 {
            text class="hidden" x=(layout.left() + 14) y=(TOP - 4) { (counted(layout.hidden.0)) " before" }
        }
        @for (row, steps) in &layout.gaps {
            line class="gap" x1=(layout.left()) y1=(layout.y(*row) - ROW / 2) x2=(layout.width()) y2=(layout.y(*row) - ROW / 2) {}
            text class="hidden" x="8" y=(layout.y(*row) - ROW / 2 + 4) { (counted(*steps)) " …" }
        }
        @if layout.hidden.1 > 0 {
            text class="hidden" x=(layout.left() + 14) y=(bottom + 6) { (counted(layout.hidden.1)) " after" }
        }
    }
}

fn counted(steps: usize) -> String {
    if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") }
}

/// The part of a lasso that goes round for ever.
fn loop_bracket(layout: &Layout) -> Markup {
    let Some(start) = layout.story.loop_start.and_then(|start| layout.row_of(start)) else { return html! {} };
    let (top, bottom) = (layout.y(start) - ROW / 2, layout.y(layout.rows.len().saturating_sub(1)) + ROW / 2);
    html! {
        rect class="loop" x="4" y=(top) width=(layout.width() - 8) height=(bottom - top) rx="8" {}
        path class="loop-arrow" marker-end="url(#tip-sent)"
            d={ "M16," (bottom - 10) " C2," (bottom - 30) " 2," (top + 30) " 16," (top + 10) } {}
        text class="loop-word" x="20" y=(top + 14) { "again and again" }
    }
}

fn band(layout: &Layout, span: &Span) -> Markup {
    if let (Some(lane), Lasting::InMode { place, has, wants }) = (span.lane, &span.what) {
        return mode_band(layout, lane, *place, [has.as_deref(), wants.as_deref()], span.rows);
    }
    let (top, bottom) = (layout.y(span.rows.0) - ROW / 2, layout.y(span.rows.1) + ROW / 2);
    let class = span.what.name();
    let (x, width) = match (span.lane, &span.what) {
        (None, _) => (layout.left() - 4, layout.width() - layout.left()),
        (Some(lane), Lasting::Paused | Lasting::Down) => (layout.x(lane) - 10, 20),
        (Some(lane), Lasting::CutOffFrom(from)) => {
            // Beside the lane, each sender that is cut off at its own place.
            let place = layout.lane_of(from).unwrap_or(0) as i32;
            (layout.x(lane) + layout.lane - 44 - 5 * place, 3)
        }
        (Some(lane), Lasting::Overlap | Lasting::Holds | Lasting::HoldsToo | Lasting::InMode { .. }) => {
            (layout.x(lane) - 5, 10)
        }
    };
    let words = match &span.what {
        Lasting::Overlap => "more than one client holds".to_owned(),
        Lasting::Holds => "holds".to_owned(),
        Lasting::HoldsToo => "holds while another one holds".to_owned(),
        Lasting::Paused => "pauses".to_owned(),
        Lasting::Down => "is down".to_owned(),
        Lasting::CutOffFrom(from) => format!("nothing from {from} arrives"),
        Lasting::InMode { .. } => String::new(),
    };
    html! {
        rect class=(class) x=(x) y=(top) width=(width) height=(bottom - top) { title { (words) } }
        @if let Lasting::CutOffFrom(from) = &span.what {
            text class="cut-word" x=(x - 3) y=(top + 12) text-anchor="end" { "✂ " (from) }
        }
    }
}

/// In which mode a client has something: a band beside its lane, with the mode that it waits for below the one that it has.
fn mode_band(
    layout: &Layout,
    lane: usize,
    place: usize,
    [has, wants]: [Option<&str>; 2],
    rows: (usize, usize),
) -> Markup {
    let (top, bottom) = (layout.y(rows.0) - ROW / 2, layout.y(rows.1) + ROW / 2);
    let right = layout.x(lane) - 8 - BAND * (layout.resources.len() - 1 - place) as i32;
    let (x, width) = (right - BAND + 4, BAND - 4);
    let resource = &layout.resources[place];
    let title = match (has, wants) {
        (Some(has), Some(wants)) => format!("has {resource} in {has}, waits for {wants}"),
        (Some(has), None) => format!("has {resource} in {has}"),
        (None, wants) => format!("waits for {resource} in {}", wants.unwrap_or_default()),
    };
    html! {
        rect class={ "mode" @if wants.is_some() { " wanted" } @if has.is_none() { " none" } } x=(x) y=(top) width=(width)
            height=(bottom - top) { title { (title) } }
        text class="mode-word" x=(x + width / 2) y=(top + 13) text-anchor="middle" { (has.unwrap_or("–")) }
        @if let Some(wants) = wants {
            text class="mode-word wanted" x=(x + width / 2) y=(top + 27) text-anchor="middle" { "→" (wants) }
        }
        @if rows.0 == 0 && layout.resources.len() > 1 {
            text class="mode-name" x=(x + width / 2) y=(TOP - 4) text-anchor="middle" { (resource) }
        }
    }
}

/// What a client asks, from call to return.
fn operation(layout: &Layout, bar: &Bar) -> Markup {
    let operation = &layout.bars.operations[bar.operation];
    let bottom = layout.y(layout.rows.len().saturating_sub(1)) + ROW / 2;
    let x = layout.x(bar.lane);
    let breaks = if operation.broke.is_empty() { "" } else { " breaks" };
    let title = format!("{}: {}", operation.client, operation.label());
    let is_open = operation.answer.is_none();
    html! {
        @if let Some((first, last)) = bar.rows {
            @let top = if bar.has_ends.0 { layout.y(first) - 9 } else { layout.y(first) - ROW / 2 };
            @let end = if bar.has_ends.1 { layout.y(last) + 9 } else { layout.y(last) + ROW / 2 };
            rect class={ "operation" (if is_open { " open" } else { "" }) (breaks) } x=(x - 6) y=(top) width="12" height=(end - top)
                rx="5" { title { (title) } }
            @if is_open && operation.ended.is_none() {
                text class={ "open-word" (breaks) } x=(x - 10) y=(bottom - 4) text-anchor="end" { "?" }
            }
        }
        @if let Some(tail) = bar.tail {
            @let top = layout.y(tail.from) - if bar.has_ends.1 { 0 } else { ROW / 2 };
            line class="tail" x1=(x - tail.offset()) y1=(top) x2=(x - tail.offset()) y2=(bottom) {
                title { (title) ": nobody waits for it any more, and it may still be done" }
            }
            text class="open-word" x=(x - tail.offset()) y=(bottom + 9) text-anchor="middle" { "?" }
        }
    }
}

fn arrow(layout: &Layout, flight: &Flight) -> Markup {
    let (Some(from), Some(to)) = (layout.lane_of(&flight.from), layout.lane_of(&flight.to)) else {
        return html! {};
    };
    let end = flight.ended.and_then(|ended| layout.row_of(ended));
    let start = layout.row_of(flight.sent);
    let side = if layout.x(to) > layout.x(from) { 1 } else { -1 };
    let last = layout.rows.len().saturating_sub(1);
    let (x1, y1) = match start {
        Some(row) => (layout.x(from) + 6 * side, layout.y(row)),
        // From above the first row.
        None => (layout.x(to) - 60 * side, TOP - 6),
    };
    let (x2, y2) = match (end, start) {
        (Some(row), _) if flight.is_lost => ((layout.x(from) + 2 * layout.x(to)) / 3, layout.y(row)),
        (Some(row), _) => (layout.x(to) - 6 * side, layout.y(row)),
        // Still under way below the last row.
        (None, Some(_)) => (layout.x(from) + 60 * side, layout.y(last) + ROW / 2 + 4),
        (None, None) => return html! {},
    };
    let class = fate(flight);
    let arrives = end.is_some() && !flight.is_lost;
    html! {
        g class={ "flight " (class) } data-sent=[start] data-ended=[end] {
            line x1=(x1) y1=(y1) x2=(x2) y2=(y2) marker-end=[arrives.then(|| format!("url(#tip-{class})"))] {
                title { (flight_words(flight)) }
            }
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

fn step(layout: &Layout, number: usize, row: Row) -> Markup {
    let event = &layout.story.events[row.last];
    let y = layout.y(number);
    let lane = event.node.as_deref().and_then(|node| layout.lane_of(node));
    let [said, did] = lines(layout, row);
    let fault = is_fault(event.what);
    html! {
        g class={ "step" @if fault { " fault" } @if !event.violations.is_empty() { " breaks" } } data-row=(number) {
            @if shows_time(layout, number) {
                text class="time" x=(layout.left() - 26 - layout.bands()) y=(y + 4) text-anchor="end" { (time_of(layout.story.time, event)) }
            }
            @if let Some(lane) = lane {
                @let x = layout.x(lane);
                circle class="dot" cx=(x) cy=(y) r="4.5" {}
                @if !said.1.is_empty() {
                    text class=(said.0) x=(x + 14) y=(if did.1.is_empty() { y + 4 } else { y - 4 }) { (short(&said.1, layout)) }
                }
                @if !did.1.is_empty() {
                    text class=(did.0) x=(x + 14) y=(if said.1.is_empty() { y + 4 } else { y + 11 }) { (short(&did.1, layout)) }
                }
            } @else if event.what == "ticked" || event.what == "healed" {
                line class="tick" x1=(layout.left() - 4) y1=(y) x2=(layout.width() - 8) y2=(y) {}
                text class="tick-word" x=(layout.width() - 10) y=(y - 4) text-anchor="end" { (between(layout, row, event)) }
            }
            @if !event.violations.is_empty() {
                text class="broken" x=(layout.width() - 10) y=(y - ROW / 2 + 12) text-anchor="end" {
                    @for violation in &event.violations { "  ✱ " (violation.words) }
                }
            }
        }
    }
}

/// A step's two lines with the style of each.
pub(super) fn lines(layout: &Layout, row: Row) -> [(&'static str, String); 2] {
    let event = &layout.story.events[row.last];
    let (said, did) = words(event);
    match event.node.as_deref().and_then(|node| layout.lane_of(node)) {
        Some(lane) => with_operations(layout, lane, row, said, did),
        None => [("said", said), ("did", did)],
    }
}

/// The same with operations. What is asked in it stands in the first one that is free; what came of it stands in
/// the second, instead of what the client does then.
fn with_operations(
    layout: &Layout,
    lane: usize,
    row: Row,
    said: String,
    did: String,
) -> [(&'static str, String); 2] {
    let style = |operation: &Operation| if operation.broke.is_empty() { "asked" } else { "asked breaks" };
    let (begun, ended) = layout.bars.at(lane, row);
    if let Some(operation) = begun.last() {
        let label = (style(operation), operation.label());
        return if said.is_empty() { [label, ("did", did)] } else { [("said", said), label] };
    }
    let Some(operation) = ended.last() else { return [("said", said), ("did", did)] };
    let outcome = match (&operation.answer, layout.row_of(operation.begun)) {
        (_, None) => operation.label(),
        (Some(answer), Some(_)) => format!("→ {answer}"),
        (None, Some(_)) => "→ ?".to_owned(),
    };
    [("said", said), (style(operation), outcome)]
}

/// What nobody in particular does.
pub(super) fn between(layout: &Layout, row: Row, event: &JsonEvent) -> String {
    match (event.what, row.last - row.first + 1) {
        ("healed", _) => "no more faults from here on".to_owned(),
        (_, _) if layout.story.time == TimeColumn::Seconds => "time passes, and nothing else".to_owned(),
        (_, 1) => "a tick of time passes".to_owned(),
        (_, ticks) => format!("{ticks} ticks of time pass"),
    }
}

/// A step's two lines: what arrived or struck; and what the node does then.
pub(super) fn words(event: &JsonEvent) -> (String, String) {
    let clock = || event.by_us.map_or_else(String::new, |by| format!(" by {}", duration(by, true)));
    let message = || event.message.clone().unwrap_or_default();
    let said = match event.what {
        "delivered" => message(),
        "lost" => format!("lost: {}", message()),
        "duplicated" => format!("doubled: {}", message()),
        "woke" if event.doing.is_none() => "wakes".to_owned(),
        "woke" | "ticked" | "healed" => String::new(),
        "crashed" if event.power_lost == Some(true) => "loses power".to_owned(),
        "crashed" => "crashes".to_owned(),
        "restarted" => "starts again".to_owned(),
        "paused" => "pauses".to_owned(),
        "suspended" => "is suspended".to_owned(),
        "clock-coarse" => format!("clock in steps of {}", duration(event.by_us.unwrap_or(0), false)),
        "connection-reset" => format!("connection to {} reset", event.from.clone().unwrap_or_default()),
        "disk-lost" => "loses its disk".to_owned(),
        "resumed" => "goes on".to_owned(),
        "clock-stepped" | "ticked-unevenly" => format!("clock is set{}", clock()),
        "clock-drifts" => format!("clock drifts {} ppm", event.ppm.unwrap_or(0)),
        "clock-froze" => "clock stands still".to_owned(),
        "clock-thawed" => "clock goes on".to_owned(),
        "link-cut" => format!("cut off from {}", event.from.clone().unwrap_or_default()),
        "link-mended" => format!("hears {} again", event.from.clone().unwrap_or_default()),
        other => other.to_owned(),
    };
    let place = event.line.clone().unwrap_or_default();
    let doing = event.doing.unwrap_or_default();
    let wrong_clock = event.wall_us.map(|wall| wall - event.at_us).filter(|wrong| wrong.abs() >= 1_000);
    let clock = wrong_clock.map_or_else(String::new, |wrong| format!(" (clock {})", duration(wrong, true)));
    let did = match (event.what, doing) {
        ("duplicated" | "link-cut" | "link-mended" | "connection-reset", _) => String::new(),
        // What a server does is seen from what it reports.
        (_, "") => event.reported.join(", "),
        (_, doing) => format!("{place} {doing}{clock}").trim().to_owned(),
    };
    (said, did)
}

pub(super) fn is_fault(what: &str) -> bool {
    !matches!(what, "delivered" | "woke" | "ticked" | "healed" | "resumed" | "restarted" | "link-mended")
}

pub(super) fn shows_time(layout: &Layout, number: usize) -> bool {
    let at = |row: Row| time_of(layout.story.time, &layout.story.events[row.last]);
    let (now, before) = (layout.rows[number], number.checked_sub(1).map(|before| layout.rows[before]));
    before.is_none_or(|before| at(before) != at(now))
}

/// True time: microseconds in seeded runs, ticks of a second in timed models; nothing where time does not pass.
pub(super) fn time_of(time: TimeColumn, event: &JsonEvent) -> String {
    match time {
        TimeColumn::Seconds => duration(event.at_us, false),
        TimeColumn::Ticks { length } => match event.at_us.div_euclid(length.0.max(1)) {
            0 => String::new(),
            tick => tick.to_string(),
        },
        TimeColumn::Hidden => String::new(),
    }
}

/// What stands above the times.
pub(super) fn time_name(time: TimeColumn) -> &'static str {
    match time {
        TimeColumn::Seconds => "true time",
        TimeColumn::Ticks { .. } => "tick",
        TimeColumn::Hidden => "",
    }
}

/// `+1.5 s`, `20 ms`, `350 µs`.
pub(super) fn duration(micros: i64, signed: bool) -> String {
    let sign = match (signed, micros < 0) {
        (_, true) => "−",
        (true, false) => "+",
        (false, false) => "",
    };
    let micros = micros.unsigned_abs();
    let trimmed = |whole: u64, thousandths: u64| {
        let text = format!("{whole}.{thousandths:03}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match micros {
        0..1_000 => format!("{sign}{micros} µs"),
        1_000..1_000_000 => format!("{sign}{} ms", trimmed(micros / 1_000, micros % 1_000)),
        _ => format!("{sign}{} s", trimmed(micros / 1_000_000, micros % 1_000_000 / 1_000)),
    }
}

fn short(text: &str, layout: &Layout) -> String {
    let characters = Bars::characters(layout.lane - layout.bands());
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars().take(characters - 1).chain(['…']).collect()
}
