//! What the theorems lean on, seen from the assumptions.

use super::super::screen::{Paint, Tone, cell, lines};
use super::Row;
use crate::registry::CheckVerdict;
use picklock_model::claims::THEOREMS;

/// A row for each set of assumptions that was dropped, a column for each theorem that was checked.
pub fn leaning(rows: &[Row], paint: Paint) -> String {
    let theorems: Vec<&str> = THEOREMS
        .iter()
        .map(|theorem| theorem.name)
        .filter(|name| rows.iter().any(|row| row.theorem == *name))
        .collect();
    let mut dropped: Vec<&str> = Vec::new();
    for name in rows.iter().filter_map(|row| row.dropped.as_deref()) {
        if !dropped.contains(&name) {
            dropped.push(name);
        }
    }
    // Single ones first: several together are a footnote to each.
    dropped.sort_by_key(|names| (names.matches('+').count(), place(names)));

    let mut header = vec!["assumption"];
    header.extend(&theorems);
    let mut table = paint.table(&header);
    for names in dropped {
        let mut cells = vec![cell(Tone::Plain, &names.replace('+', " and "))];
        for theorem in &theorems {
            let (tone, word) = word(rows, theorem, names);
            cells.push(cell(tone, word));
        }
        table.add_row(cells);
    }
    let mut text = lines(&table);
    if text.contains(IN_SOME_VARIANTS) {
        text += &format!("{IN_SOME_VARIANTS}: some of its lines above break without it, and others hold\n");
    }
    text
}

/// What stands where a theorem was checked in several variants, and not all of them lean on the assumption.
const IN_SOME_VARIANTS: &str = "in some variants";

fn place(names: &str) -> Option<usize> {
    let first = names.split('+').next();
    picklock_model::claims::Assumption::ALL.iter().position(|assumption| Some(assumption.name()) == first)
}

fn word(rows: &[Row], theorem: &str, dropped: &str) -> (Tone, &'static str) {
    let is_it = |row: &&Row| row.theorem == theorem && row.dropped.as_deref() == Some(dropped);
    let rows: Vec<&Row> = rows.iter().filter(is_it).collect();
    let verdicts: Vec<CheckVerdict> = rows.iter().map(|row| row.verdict).collect();
    if verdicts.is_empty() {
        (Tone::Faint, "-")
    } else if verdicts.iter().all(|verdict| *verdict == CheckVerdict::Violated) {
        (Tone::Bad, "leans on")
    } else if verdicts.contains(&CheckVerdict::Violated) {
        (Tone::Bad, IN_SOME_VARIANTS)
    } else if verdicts.contains(&CheckVerdict::Incomplete) || verdicts.contains(&CheckVerdict::Vacuous) {
        (Tone::Unclear, "not known")
    } else if rows.iter().all(|row| row.variant.contains("one round")) {
        // What a client leaves behind may stop it in the next one.
        (Tone::Good, "not for one round")
    } else {
        (Tone::Good, "does not need")
    }
}
