//! The rows of a hunt as text.

use super::{Row, count};
use crate::cli::screen::{Paint, Tone, counted, wrapped};
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use picklock_model::claims::{Hunt as Grounds, Scenario};
use std::fmt::Write;

/// How wide the columns are.
pub struct Widths {
    id: usize,
    system: usize,
    breaks: usize,
    strategy: usize,
    seeds: usize,
}

/// `✓ 20 of 20 starts`.
const FOUND: usize = 17;
/// `0.013 (0.001 to 0.120)`.
const SECONDS: usize = 24;

impl Widths {
    /// Wide enough for all rows.
    pub fn of(rows: &[(Scenario, Grounds)], strategies: &[Strategy], seeds_max: u64) -> Widths {
        let widest =
            |length: fn(&Scenario) -> usize| rows.iter().map(|(row, _)| length(row)).max().unwrap_or(0);
        let longest = strategies.iter().map(|strategy| strategy.name().len()).max().unwrap_or(0);
        Widths {
            id: widest(|row| row.id.len()).max("id".len()),
            system: widest(|row| row.system.len()).max("system".len()),
            breaks: widest(|row| row.breaks.name().len()).max("breaks".len()),
            strategy: longest.max("strategy".len()),
            seeds: count::shown(None, seeds_max).len().max("median".len()),
        }
    }

    /// The titles.
    pub fn header(&self, paint: Paint) -> String {
        let &Widths { id, system, breaks, strategy, seeds } = self;
        let titles = format!(
            "{:id$}  {:system$}  {:breaks$}  {:strategy$}  {:FOUND$}  {:>seeds$}  {:>seeds$}  {:>seeds$}  {:SECONDS$}  repaired",
            "id", "system", "breaks", "strategy", "found", "median", "least", "most", "seconds"
        );
        format!("{}\n{}\n", paint.text(Tone::Strong, &titles), "─".repeat(titles.chars().count() + 12))
    }

    /// A row by one strategy; the first one says what the row is, and what its repaired lock did.
    pub fn row(&self, row: &Row, is_first: bool, paint: Paint) -> String {
        let &Widths { id, system, breaks, strategy, seeds } = self;
        let (tone, mark) = if row.found == row.starts { (Tone::Good, "✓") } else { (Tone::Bad, "✗") };
        let found = format!("{mark} {} of {} starts", row.found, row.starts);
        let shown = |number| count::shown(number, row.seeds_max);
        let spread = row.seconds_to_find.shown();
        let mut text = format!(
            "{:id$}  {:system$}  {:breaks$}  {:strategy$}  {}  {:>seeds$}  {:>seeds$}  {:>seeds$}  {spread:SECONDS$}",
            row.id,
            row.system,
            row.breaks.name(),
            row.strategy.name(),
            paint.text(tone, &format!("{found:FOUND$}")),
            shown(row.median_seeds),
            shown(row.least_seeds),
            shown(row.most_seeds),
        );
        if is_first {
            let _ = write!(text, "  {}", repaired(row, paint));
        }
        let mut text = format!("{}\n", text.trim_end());
        let indent = " ".repeat(id + 2);
        if is_first {
            let faults: FaultSet = row.faults.iter().copied().collect();
            let ground = format!("lock {}, faults {faults}", row.lock);
            for words in [ground.as_str(), row.story, &format!("repair: {}", row.fix)] {
                text += &wrapped(words, 118, &indent);
            }
        }
        for token in [&row.token, &row.fix_token.clone().filter(|_| is_first)].into_iter().flatten() {
            let _ = writeln!(text, "{indent}{}", paint.text(Tone::Faint, token));
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
