//! What the theorems lean on, seen from the assumptions.

use super::super::screen::{Paint, Screen, Tone, cell, lines, sentence, wrapped};
use super::Row;
use crate::registry::CheckVerdict;
use picklock_model::claims::{THEOREMS, Unmet};

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

    let beside = as_table(rows, &theorems, &dropped, Paint::NONE);
    let widest = beside.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut text = match Screen::fits(widest) {
        true => as_table(rows, &theorems, &dropped, paint),
        false => as_list(rows, &theorems, &dropped, paint),
    };
    if text.contains(IN_SOME_VARIANTS) {
        text += &sentence(&format!(
            "{IN_SOME_VARIANTS}: some of its lines above break without it, and others hold"
        ));
    }
    text
}

fn as_table(rows: &[Row], theorems: &[&'static str], dropped: &[&str], paint: Paint) -> String {
    let mut header = vec!["assumption"];
    header.extend(theorems);
    let mut table = paint.table(&header);
    for names in dropped {
        let mut cells = vec![cell(Tone::Plain, &names.replace('+', " and "))];
        for theorem in theorems {
            let (tone, word) = word(rows, theorem, names);
            cells.push(cell(tone, word));
        }
        table.add_row(cells);
    }
    lines(&table)
}

/// The same where a table has no room: below each assumption, which theorems lean on it and which do not.
fn as_list(rows: &[Row], theorems: &[&'static str], dropped: &[&str], paint: Paint) -> String {
    let mut text = String::new();
    for names in dropped {
        text += &paint.text(Tone::Strong, &sentence(&names.replace('+', " and ")));
        let mut by_word: Vec<(Tone, &'static str, Vec<&str>)> = Vec::new();
        for theorem in theorems {
            let (tone, word) = word(rows, theorem, names);
            match by_word.iter_mut().find(|(_, known, _)| *known == word) {
                Some((_, _, of_word)) => of_word.push(theorem),
                None => by_word.push((tone, word, vec![theorem])),
            }
        }
        by_word.retain(|(_, word, _)| *word != UNCHECKED);
        let longest = by_word.iter().map(|(_, word, _)| word.len()).max().unwrap_or(0);
        for (tone, word, of_word) in by_word {
            let indent = " ".repeat(longest + 4);
            let of_word = wrapped(&of_word.join(", "), Screen::text_width(), &indent);
            text += &format!("  {}  {}", paint.text(tone, &format!("{word:longest$}")), of_word.trim_start());
        }
    }
    text
}

/// What stands where a theorem was not checked without an assumption.
const UNCHECKED: &str = "-";

/// What stands where a theorem was checked in several variants, and not all of them lean on the assumption.
const IN_SOME_VARIANTS: &str = "in some variants";

fn place(names: &str) -> Option<usize> {
    let first = names.split('+').next();
    picklock_model::claims::Assumption::ALL.iter().position(|assumption| Some(assumption.name()) == first)
}

fn word(rows: &[Row], theorem: &str, dropped: &str) -> (Tone, &'static str) {
    let is_it = |row: &&Row| row.theorem == theorem && row.dropped.as_deref() == Some(dropped);
    let all: Vec<&Row> = rows.iter().filter(is_it).collect();
    // Where others put it to the test, theirs is the word.
    let put_to_the_test: Vec<&Row> = all.iter().copied().filter(|row| !row.is_merely_unmet).collect();
    let is_unmet = put_to_the_test.is_empty() && !all.is_empty();
    let rows = if is_unmet { all } else { put_to_the_test };
    let verdicts: Vec<CheckVerdict> = rows.iter().map(|row| row.verdict).collect();
    if verdicts.is_empty() {
        (Tone::Faint, UNCHECKED)
    } else if is_unmet && rows.iter().all(|row| row.unmet == [Unmet::NoClockRead]) {
        (Tone::Unclear, "no clock is read")
    } else if is_unmet {
        (Tone::Unclear, "not put to the test")
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
