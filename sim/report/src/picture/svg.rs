//! The diagram itself.

use super::arrows::{arrow, tips};
use super::bars::{Bar, Bars};
use super::labels::{broken, label, shortened};
use super::layout::{BAND, BROKEN, Lasting, Layout, ROW, Row, Span, TOP, Window};
use super::times::{in_column, time_name};
use maud::{Markup, PreEscaped, html};
use picklock_engine::report::Operation;
use picklock_engine::report::Story;
use picklock_engine::report::{HIDDEN, is_hidden};
use picklock_engine::report::{JsonEvent, TimeColumn};
use picklock_reported::Reported;

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
            (tips())
            pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                line class="hatch" x1="0" y1="0" x2="0" y2="6" {}
            }
            // Not by colour alone: what two hold is striped.
            pattern id="stripes" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect class="stripes" width="8" height="8" {}
                line class="stripe" x1="2.5" y1="0" x2="2.5" y2="8" {}
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
                text class="asked" x=(layout.x(lane) + 14) y="38" { (shortened(&above.join(", "), Bars::characters(layout.lane - layout.bands()))) }
            }
        }
        @if layout.hidden.0 > 0 {
            text class="hidden" x=(layout.left() + 14) y=(TOP - 4) { (counted(layout.hidden.0)) " before" }
        }
        @for (row, steps) in &layout.gaps {
            line class="gap" x1=(layout.left()) y1=(layout.top(*row)) x2=(layout.width()) y2=(layout.top(*row)) {}
            text class="hidden" x="8" y=(layout.top(*row) + 4) { (counted(*steps)) " …" }
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
        path class="loop-arrow" marker-end="url(#tip-copy)"
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

fn step(layout: &Layout, number: usize, row: Row) -> Markup {
    let event = &layout.story.events[row.last];
    let y = layout.y(number);
    let lane = event.node.as_deref().and_then(|node| layout.lane_of(node));
    let [said, did] = lines(layout, row);
    let fault = is_fault(event.what);
    html! {
        g class={ "step" @if fault { " fault" } @if !event.violations.is_empty() { " breaks" } } data-row=(number) {
            @let time = in_column(layout, number);
            @if !time.is_empty() {
                text class="time" x=(layout.left() - 26 - layout.bands()) y=(y + 4) text-anchor="end" { (time) }
            }
            @if let Some(lane) = lane {
                circle class="dot" cx=(layout.x(lane)) cy=(y) r="4.5" {}
                @if !said.1.is_empty() {
                    (label(layout, lane, if did.1.is_empty() { y + 4 } else { y - 4 }, said.0, &said.1, fault))
                }
                @if !did.1.is_empty() {
                    (label(layout, lane, if said.1.is_empty() { y + 4 } else { y + 11 }, did.0, &did.1, false))
                }
            } @else if event.what == "ticked" || event.what == "healed" {
                line class="tick" x1=(layout.left() - 4) y1=(y) x2=(layout.width() - 8) y2=(y) {}
                text class="tick-word" x=(layout.width() - 10) y=(y - 4) text-anchor="end" { (between(layout, row, event)) }
            }
            @for (number, violation) in (1_i32..).zip(event.violations.iter().rev()) {
                (broken(layout, y - ROW / 2 - BROKEN * number + 13, &format!("✱ {}", violation.words)))
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
    let by = event.by_us.unwrap_or(0);
    let length = || duration(by.abs(), false);
    let message = || event.message.clone().unwrap_or_default();
    let said = match event.what {
        "delivered" => message(),
        "lost" => format!("lost: {}", message()),
        "duplicated" => format!("doubled: {}", message()),
        "woke" if event.doing.is_none() => event.remark.unwrap_or("wakes").to_owned(),
        "woke" | "ticked" | "healed" => String::new(),
        "crashed" if event.power_lost == Some(true) => "loses power".to_owned(),
        "crashed" => "crashes".to_owned(),
        "restarted" => "starts again".to_owned(),
        "paused" => "pauses".to_owned(),
        "suspended" => "is suspended".to_owned(),
        "clock-coarse" => format!("clock in steps of {}", length()),
        "connection-reset" => format!("connection to {} reset", event.from.clone().unwrap_or_default()),
        "disk-lost" => "loses its disk".to_owned(),
        "resumed" => "goes on".to_owned(),
        "clock-stepped" if by < 0 => format!("clock steps back {}", length()),
        "clock-stepped" => format!("clock steps forward {}", length()),
        "ticked-unevenly" if by < 0 => format!("clock misses {} of a tick", length()),
        "ticked-unevenly" => format!("clock counts {} too much in a tick", length()),
        "clock-drifts" => format!("clock drifts {} ppm", event.ppm.unwrap_or(0)),
        "clock-froze" => "clock stops".to_owned(),
        "clocks-froze" => "all clients' clocks stop".to_owned(),
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
        (_, "") => reported(event).collect::<Vec<_>>().join(", "),
        (_, doing) => format!("{place} {doing}{clock}").trim().to_owned(),
    };
    (said, did)
}

/// What the step told the monitors, in sentences, as far as nothing else shows it.
pub(super) fn reported(event: &JsonEvent) -> impl Iterator<Item = String> + '_ {
    let in_words = |report: &String| {
        let Some(reported) = Reported::parse(report) else { return Some(report.clone()) };
        if reported.is_answered() {
            return None;
        }
        let stored = event.message.as_deref().zip(event.stored.as_deref());
        let is_hidden = stored.is_some_and(|(message, stored)| is_hidden(message, stored));
        let hidden = if reported.is_written() && is_hidden { HIDDEN } else { "" };
        Some(reported.sentence() + hidden)
    };
    event.reported.iter().filter_map(in_words)
}

pub(super) fn is_fault(what: &str) -> bool {
    !matches!(what, "delivered" | "woke" | "ticked" | "healed" | "resumed" | "restarted" | "link-mended")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn what_a_server_reports_stands_there_in_words_above_the_arrows() {
        let mut events = toy::calls();
        let server =
            events.iter_mut().find(|event| event.node.as_deref() == Some("s1")).expect("it is asked");
        server.reported = vec!["record-written A".to_owned(), "secured B on 1 server".to_owned()];
        let drawn = toy::told(&events, |story| svg(story, Window::All));
        let (words, arrow) =
            (drawn.find(">A's record is written, B has it on"), drawn.rfind("class=\"flight"));
        assert!(words.is_some() && words > arrow, "{words:?} {arrow:?}");
        assert!(!drawn.contains("record-written") && !drawn.contains("1 servers"));
    }

    #[test]
    fn what_does_not_fit_beside_a_lane_is_there_in_full_as_a_title() {
        let mut events = toy::calls();
        let server =
            events.iter_mut().find(|event| event.node.as_deref() == Some("s1")).expect("it is asked");
        let message = "pin up a notice that is much too long to be read beside a lane of this picture";
        server.message = Some(message.to_owned());
        let drawn = toy::told(&events, |story| svg(story, Window::All));
        assert!(drawn.contains(&format!("<title>{message}</title>")));
        assert!(!drawn.contains(&format!(">{message}</text>")) && drawn.contains(">pin up a notice that"));
    }

    #[test]
    fn broken_promises_have_room_above_their_row() {
        toy::story(toy::overlap, |story| {
            let layout = Layout::new(story, Window::All);
            let breaks = layout.rows.iter().position(|row| !story.events[row.last].violations.is_empty());
            let row = breaks.expect("two hold");
            let count = story.events[layout.rows[row].last].violations.len() as i32;
            assert_eq!(layout.y(row) - layout.y(row - 1), ROW + BROKEN * count);
            assert_eq!(layout.top(row), layout.y(row) - ROW / 2 - BROKEN * count);
        });
    }
}
