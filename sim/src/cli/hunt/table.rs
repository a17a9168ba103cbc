//! The rows of a hunt as text.

use super::{Row, count};
use crate::cli::names::program;
use crate::cli::screen::{Paint, Screen, Tone, counted, rule, wrapped};
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use picklock_model::claims::{Hunt as Grounds, Scenario};
use std::fmt::Write;

/// How wide the columns are.
pub struct Widths {
    id: usize,
    breaks: usize,
    strategy: usize,
    seeds: usize,
    /// How many seeds it took stands in a line of its own: there is no room for three columns.
    is_folded: bool,
}

/// `✓ 20 of 20`.
const FOUND: usize = 10;

impl Widths {
    /// Wide enough for all rows.
    pub fn of(rows: &[(Scenario, Grounds)], strategies: &[Strategy], seeds_max: u64) -> Widths {
        let widest =
            |length: fn(&Scenario) -> usize| rows.iter().map(|(row, _)| length(row)).max().unwrap_or(0);
        let longest = strategies.iter().map(|strategy| strategy.name().len()).max().unwrap_or(0);
        let (id, breaks, strategy, seeds) = (
            widest(|row| row.id.len()).max("id".len()),
            widest(|row| row.breaks.name().len()).max("breaks".len()),
            longest.max("strategy".len()),
            count::shown(None, seeds_max).len().max("median".len()),
        );
        let all = id + breaks + strategy + FOUND + 3 * seeds + 6 * "  ".len();
        Widths { id, breaks, strategy, seeds, is_folded: !Screen::fits(all) }
    }

    /// The titles.
    pub fn header(&self, paint: Paint) -> String {
        let &Widths { id, breaks, strategy, seeds, is_folded } = self;
        let numbers = match is_folded {
            true => String::new(),
            false => format!("  {:>seeds$}  {:>seeds$}  {:>seeds$}", "median", "least", "most"),
        };
        let titles = format!(
            "{:id$}  {:breaks$}  {:strategy$}  {:FOUND$}{numbers}",
            "id", "breaks", "strategy", "starts"
        );
        format!("{}\n{}", paint.text(Tone::Strong, &titles), rule(titles.chars().count()))
    }

    /// A row by one strategy; the first one says what the row is, and what its repaired lock did. `nth` is the place of its first
    /// token among all.
    pub fn row(&self, row: &Row, nth: usize, is_first: bool, paint: Paint) -> String {
        let &Widths { id, breaks, strategy, seeds, is_folded } = self;
        let (tone, mark) = if row.found == row.starts { (Tone::Good, "✓") } else { (Tone::Bad, "✗") };
        let found = format!("{mark} {} of {}", row.found, row.starts);
        let shown = |number| count::shown(number, row.seeds_max);
        let indent = " ".repeat(id + 2);
        let (median, least, most) = (shown(row.median_seeds), shown(row.least_seeds), shown(row.most_seeds));
        let numbers = match is_folded {
            true => format!("\n{indent}seeds: {median} ({least} to {most})"),
            false => format!("  {median:>seeds$}  {least:>seeds$}  {most:>seeds$}"),
        };
        let mut text = format!(
            "{:id$}  {:breaks$}  {:strategy$}  {}{numbers}\n",
            row.id,
            row.breaks.name(),
            row.strategy.name(),
            paint.text(tone, &format!("{found:FOUND$}")),
        );
        let _ = writeln!(text, "{indent}seconds: {}", row.seconds_to_find.shown());
        if is_first {
            let _ = writeln!(text, "{indent}repaired: {}", repaired(row, paint));
            let faults: FaultSet = row.faults.iter().copied().collect();
            let ground = format!("lock {}, faults {faults}", row.lock);
            for words in [ground.as_str(), row.story, &format!("repair: {}", row.fix)] {
                text += &wrapped(words, Screen::text_width(), &indent);
            }
        }
        // On a terminal a short name does.
        for (token, nth) in row.tokens(is_first).zip(nth..) {
            let name = match Screen::is_terminal() {
                true => format!("{} replay @last:{nth}", program()),
                false => token.to_owned(),
            };
            let _ = writeln!(text, "{indent}{}", paint.text(Tone::Faint, &name));
        }
        text
    }
}

fn repaired(row: &Row, paint: Paint) -> String {
    let size = counted(row.fix_runs, "run");
    let (tone, holds) = match (row.fix_holds, &row.fix_token) {
        (true, _) => (Tone::Good, format!("✓ holds, {size}")),
        (false, Some(_)) => (Tone::Bad, format!("✗ does not hold, {size}")),
        (false, None) => (Tone::Unclear, format!("? {size} prove nothing")),
    };
    paint.text(tone, &holds)
}
