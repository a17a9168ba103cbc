//! The paper the trace is written on: lines, colours, allowed characters, and what stands above the table.

use super::super::{program, violation_words};
use super::cell::{Line, Style, UNBROKEN};
use super::row::{Lane, Row};
use super::{TextOptions, TextTrace};
use picklock_properties::Violation;

/// No terminal is taken to be narrower.
const WIDTH_MIN: usize = 32;
/// Where lines are shorter than this, two columns of indentation are one too many.
const INDENTED_FROM: usize = 14;

impl TextOptions {
    /// The text in the characters that are allowed.
    pub(super) fn spell(self, text: &str) -> String {
        if !self.ascii || text.is_ascii() {
            return text.to_owned();
        }
        let mut plain = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                '→' => plain.push_str("->"),
                '←' => plain.push_str("<-"),
                '…' => plain.push_str(".."),
                '⏸' => plain.push_str("||"),
                '█' => plain.push('#'),
                '┃' => plain.push('I'),
                '┊' => plain.push(':'),
                '▶' => plain.push('>'),
                '✗' | '×' => plain.push('x'),
                '─' | '—' => plain.push('-'),
                '⋮' => plain.push(':'),
                '†' => plain.push('!'),
                '·' => plain.push('.'),
                character if character.is_ascii() || character == UNBROKEN => plain.push(character),
                _ => plain.push('?'),
            }
        }
        plain
    }
}

/// Lines for a terminal: what has been written so far.
pub struct Page {
    options: TextOptions,
    text: String,
}

impl Page {
    /// Nothing yet.
    pub fn new(options: TextOptions) -> Page {
        Page { options, text: String::new() }
    }

    /// The text, with a line break at its end.
    pub fn finish(self) -> String {
        self.text
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn head(&mut self, trace: &TextTrace) {
        let heading = &trace.heading;
        self.line([(heading.lock.as_str(), Style::Strong)]);
        if !heading.settings.is_empty() {
            self.fact("settings", &heading.settings.join(", "), Style::Plain);
        }
        let first = trace.told();
        match heading.broken.or(first.map(|(_, violation)| violation.promise)) {
            Some(promise) => {
                self.fact("broken", &format!("{promise}: {}", promise.statement()), Style::Broken)
            }
            None => self.fact("broken", &format!("nothing, in {}", count(trace.steps, "step")), Style::Plain),
        }
        let how = match (first, &trace.never) {
            (Some((step, violation)), _) => Some(format!("in step {step}, {}", violation_words(&violation))),
            (None, Some(never)) => Some(never.clone()),
            (None, None) => None,
        };
        if let Some(how) = how.filter(|_| self.options.tells_how) {
            self.fact("how", &how, Style::Plain);
        }
        if let Some(token) = heading.token.as_ref().filter(|_| self.options.names_command) {
            let replay = format!("{} replay ", program());
            // Never broken into lines: it is there to be copied.
            self.line([
                ("  replay    ", Style::Faint),
                (replay.as_str(), Style::Plain),
                (token, Style::Plain),
            ]);
        }
        self.text.push('\n');
    }

    /// What the signs in the table stand for, right above it.
    pub(super) fn marks(&mut self, trace: &TextTrace) {
        let any = |is: fn(&Lane) -> bool| trace.rows.iter().flat_map(|row| &row.lanes).any(is);
        let marks = [
            (any(|lane| lane.holds), "█ in its critical section"),
            (any(|lane| lane.asks), "┃ waits for an answer of an object"),
            (any(|lane| lane.paused), "┊ paused"),
            (any(|lane| lane.down), "× down"),
            (true, "← got"),
            (true, "→ sent"),
            (true, "= stores now"),
            (trace.rows.iter().any(Row::is_at_step), "step N in a column: the algorithm's own"),
        ];
        let marks: Vec<&str> = marks.into_iter().filter(|(seen, _)| *seen).map(|(_, mark)| mark).collect();
        self.fact("marks", &marks.join(", "), Style::Faint);
    }

    /// A line of the head, with what follows indented below its value.
    fn fact(&mut self, label: &str, value: &str, style: Style) {
        self.labelled(&format!("  {label:<10}"), value, style);
    }

    /// A text as long as it likes behind a label: lines after the first begin where the first one does.
    pub fn labelled(&mut self, label: &str, value: &str, style: Style) {
        let value = Line { text: self.options.spell(value), style };
        let width = self.options.width.saturating_sub(length(label)).max(WIDTH_MIN);
        let blank = " ".repeat(length(label));
        for (index, piece) in wrap(&value, width).iter().enumerate() {
            let label = if index == 0 { label } else { &blank };
            self.line([(label, Style::Faint), (&piece.text, piece.style)]);
        }
    }

    /// Below the row that breaks the promise. Of what is told above the table the name is enough.
    pub(super) fn violation(&mut self, violation: &Violation, is_told: bool) {
        let words = if is_told { String::new() } else { format!(": {}", violation_words(violation)) };
        let words = format!(" ✗ {} broken{words}", violation.promise);
        self.wrapped(&self.options.spell(&words), Style::Broken);
    }

    pub(super) fn wrapped(&mut self, text: &str, style: Style) {
        for piece in wrap(&Line { text: text.to_owned(), style }, self.options.width.max(WIDTH_MIN)) {
            self.line([(piece.text.as_str(), style)]);
        }
    }

    /// Pieces of one line, as they are.
    pub fn line<'a>(&mut self, pieces: impl IntoIterator<Item = (&'a str, Style)>) {
        let mut line = Written::new(self.options);
        pieces.into_iter().for_each(|(text, style)| line.put(text, style));
        self.push(line);
    }

    pub(super) fn push(&mut self, line: Written) {
        self.text.push_str(&line.text);
        self.text.push('\n');
    }
}

/// One line, without blanks at its end.
pub(super) struct Written {
    options: TextOptions,
    text: String,
    blanks: usize,
}

impl Written {
    pub(super) fn new(options: TextOptions) -> Written {
        Written { options, text: String::new(), blanks: 0 }
    }

    pub(super) fn put(&mut self, text: &str, style: Style) {
        let ink = text.trim_end_matches(' ');
        if !ink.is_empty() {
            self.text.extend(std::iter::repeat_n(' ', self.blanks));
            self.blanks = 0;
            match style.escape().filter(|_| self.options.colour) {
                Some(escape) => self.text.extend([escape, ink, "\x1b[0m"]),
                None => self.text.push_str(ink),
            }
        }
        self.blanks += text.len() - ink.len();
    }

    pub(super) fn put_padded(&mut self, text: &str, style: Style, width: usize) {
        self.put(text, style);
        self.blanks += width.saturating_sub(length(text));
    }
}

impl Style {
    fn escape(self) -> Option<&'static str> {
        match self {
            Style::Plain => None,
            Style::Faint => Some("\x1b[2m"),
            Style::Strong => Some("\x1b[1m"),
            Style::Holds => Some("\x1b[1;32m"),
            Style::Fault => Some("\x1b[33m"),
            Style::Broken => Some("\x1b[1;31m"),
        }
    }
}

/// Breaks at blanks (but not at [`UNBROKEN`] ones), before an `@` if need be, after a comma in what is longer than a line, and elsewhere
/// only where that is not enough; what follows is indented.
pub(super) fn wrap(line: &Line, width: usize) -> Vec<Line> {
    let piece = |text: String| Line { text: text.replace(UNBROKEN, " "), style: line.style };
    let indent = if width < INDENTED_FROM { " " } else { "  " };
    let mut pieces = Vec::new();
    let mut text = String::new();
    for word in line.text.split(' ') {
        for (index, part) in parts(word, width).enumerate() {
            let blank = if index == 0 && !text.is_empty() { " " } else { "" };
            if !text.is_empty() && length(&text) + blank.len() + length(part) > width {
                pieces.push(piece(std::mem::replace(&mut text, indent.to_owned())));
            } else {
                text.push_str(blank);
            }
            for character in part.chars() {
                if length(&text) >= width {
                    pieces.push(piece(std::mem::replace(&mut text, indent.to_owned())));
                }
                text.push(character);
            }
        }
    }
    pieces.push(piece(text));
    pieces
}

/// `tA@100` can be broken into `tA` and `@100`, and a list that is longer than a line behind each comma.
fn parts(word: &str, width: usize) -> impl Iterator<Item = &str> {
    let is_list = length(word) > width;
    let ends = word.match_indices(['@', ',']).filter_map(move |(at, sign)| match sign {
        "@" => Some(at).filter(|at| *at > 0),
        _ => Some(at + 1).filter(|_| is_list),
    });
    let mut from = 0;
    ends.chain([word.len()]).map(move |to| {
        let part = &word[from..to];
        from = to;
        part
    })
}

/// Everything that a trace is written with takes one column of the terminal.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// `1 step`, `2 steps`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_blank_for_longer_than_a_line_is_broken_behind_its_commas() {
        let told = |text: &str| -> Vec<String> {
            let line = Line { text: text.to_owned(), style: Style::Plain };
            wrap(&line, 12).into_iter().map(|piece| piece.text).collect()
        };
        assert_eq!(told("[{Take:1,Ex,0},Work]"), ["[{Take:1,Ex,", " 0},Work]"]);
        assert_eq!(told("does [1,2,3]"), ["does [1,2,3]"]);
        assert_eq!(told("[1,2,3] and [4,5]"), ["[1,2,3] and", " [4,5]"], "each fits a line of its own");
    }
}
