//! When steps happened, as it stands in the column left of the lanes and beside the causes.

use super::layout::Layout;
use super::svg::duration;
use picklock_engine::report::Story;
use picklock_engine::report::{JsonEvent, TimeColumn};

const SECOND_US: i64 = 1_000_000;

/// What stands above the times.
pub(super) fn time_name(time: TimeColumn) -> &'static str {
    match time {
        TimeColumn::Seconds => "true time",
        TimeColumn::Ticks { .. } => "tick",
        TimeColumn::Hidden => "",
    }
}

/// The time of a row; empty if it is that of the row above.
pub(super) fn in_column(layout: &Layout, number: usize) -> String {
    let shown = |number: usize| of_event(&layout.story, &layout.story.events[layout.rows[number].last]);
    let now = shown(number);
    if number.checked_sub(1).is_some_and(|before| shown(before) == now) { String::new() } else { now }
}

/// One unit and as many decimals in all rows: times that stand below each other are compared by their digits.
pub(super) fn of_event(story: &Story, event: &JsonEvent) -> String {
    of_moment(story, event.at_us)
}

/// The same of a moment at which there need not be a step.
pub(super) fn of_moment(story: &Story, at_us: i64) -> String {
    let is_short = || story.events.last().is_none_or(|last| last.at_us < SECOND_US);
    match story.time {
        TimeColumn::Seconds if is_short() => format!("{}.{:03} ms", at_us / 1_000, at_us % 1_000),
        // Not rounded: a clock that shows a second has reached it.
        TimeColumn::Seconds => format!("{}.{:03} s", at_us / SECOND_US, at_us % SECOND_US / 1_000),
        TimeColumn::Ticks { .. } | TimeColumn::Hidden => moment(story.time, at_us),
    }
}

/// True time: microseconds in seeded runs, ticks of a second in timed models; nothing where time does not pass.
fn moment(time: TimeColumn, at_us: i64) -> String {
    match time {
        TimeColumn::Seconds => duration(at_us, false),
        TimeColumn::Ticks { length } => match at_us.div_euclid(length.0.max(1)) {
            0 => String::new(),
            tick => tick.to_string(),
        },
        TimeColumn::Hidden => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::layout::Window;
    use crate::toy;

    fn column(story: Story) -> Vec<String> {
        let layout = Layout::new(story, Window::All);
        (0..layout.rows.len()).map(|number| in_column(&layout, number)).collect()
    }

    #[test]
    fn all_times_of_a_run_have_one_unit_and_as_many_decimals() {
        toy::story(toy::overlap, |story| {
            assert_eq!(column(story)[..3], ["0.000 s", "", "0.001 s"]);
            // Its first steps alone take less than a second.
            let short = Story { events: &story.events[..4], ..story };
            assert_eq!(column(short), ["0.000 ms", "0.500 ms", "1.000 ms", "1.500 ms"]);
        });
    }
}
