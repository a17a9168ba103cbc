//! What the rows of a hunt say of the strategies, side by side.

use super::Row;
use crate::cli::screen::{Paint, Tone, cell, lines};
use crate::plans::strategy::Strategy;
use comfy_table::CellAlignment;

/// A strategy over all rows.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Summary {
    strategy: Strategy,
    rows: usize,
    /// In how many rows every start found it.
    from_every: usize,
    /// In how many rows at least half of the starts did.
    from_half: usize,
    /// Of the medians of those rows in which every strategy has one: only those can be compared.
    mean_median: Option<f64>,
    compared: usize,
    seconds: f64,
}

/// A table, a line per strategy; nothing for a single row by a single strategy.
pub fn text(rows: &[Row], strategies: &[Strategy], paint: Paint) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let titles = ["strategy", "rows", "from every start", "from half", "mean of medians", "seconds"];
    let mut table = paint.table(&titles);
    let all: Vec<Summary> = strategies.iter().map(|strategy| summary(rows, strategies, *strategy)).collect();
    let right = |text: String| cell(Tone::Plain, &text).set_alignment(CellAlignment::Right);
    for of in &all {
        table.add_row([
            cell(Tone::Plain, of.strategy.name()),
            right(of.rows.to_string()),
            right(of.from_every.to_string()),
            right(of.from_half.to_string()),
            right(of.mean_median.map_or("–".to_owned(), |mean| format!("{mean:.1}"))),
            right(format!("{:.1}", of.seconds)),
        ]);
    }
    let compared = all.first().map_or(0, |of| of.compared);
    let (rows, which) = if strategies.len() > 1 {
        ("of which every strategy has one", compared)
    } else {
        ("that have one", compared)
    };
    format!("\n{}the mean is geometric, over the {which} rows {rows}\n", lines(&table))
}

fn summary(rows: &[Row], strategies: &[Strategy], strategy: Strategy) -> Summary {
    let mine = || rows.iter().filter(|row| row.strategy == strategy);
    let is_compared = |id: &str| {
        let of_row = rows.iter().filter(|row| row.id == id && row.median_seeds.is_some());
        of_row.count() == strategies.len()
    };
    let medians: Vec<u64> =
        mine().filter(|row| is_compared(row.id)).filter_map(|row| row.median_seeds).collect();
    let logarithms: f64 = medians.iter().map(|median| (*median as f64).ln()).sum();
    Summary {
        strategy,
        rows: mine().count(),
        from_every: mine().filter(|row| row.found == row.starts).count(),
        from_half: mine().filter(|row| 2 * row.found >= row.starts).count(),
        mean_median: (!medians.is_empty()).then(|| (logarithms / medians.len() as f64).exp()),
        compared: medians.len(),
        seconds: mine().map(|row| row.seconds).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::hunt::tests::row;

    #[test]
    fn only_rows_that_every_strategy_found_from_half_of_the_starts_are_compared() {
        let both = [Strategy::Swarm, Strategy::Pct];
        let rows = [
            row("C4", Strategy::Swarm, 20, Some(2)),
            row("C4", Strategy::Pct, 20, Some(4)),
            row("C6", Strategy::Swarm, 19, Some(8)),
            row("C6", Strategy::Pct, 20, Some(100)),
            row("C9", Strategy::Swarm, 20, Some(1000)),
            row("C9", Strategy::Pct, 3, None),
        ];
        let swarm = summary(&rows, &both, Strategy::Swarm);
        assert_eq!((swarm.rows, swarm.from_every, swarm.from_half, swarm.compared), (3, 2, 3, 2));
        assert!((swarm.mean_median.unwrap() - 4.0).abs() < 1e-9, "{swarm:?}");
        let pct = summary(&rows, &both, Strategy::Pct);
        assert_eq!((pct.from_every, pct.from_half), (2, 2));
        assert!((pct.mean_median.unwrap() - 20.0).abs() < 1e-9, "{pct:?}");
    }

    #[test]
    fn a_single_row_needs_no_summary() {
        let paint = Paint::NONE;
        assert_eq!(text(&[row("C4", Strategy::Swarm, 20, Some(2))], &[Strategy::Swarm], paint), "");
    }
}
