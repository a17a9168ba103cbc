//! Where results go: stdout, as text or as one JSON document; colours, tables and numbers.

use super::{BadCall, Ending};
use anstream::AutoStream;
use clap::ColorChoice;
use comfy_table::{Attribute, Cell, Color, ContentLineStyle, LineStyle, Table, TableStyle};
use serde::Serialize;
use std::io::{ErrorKind, Write};

const TEXT_WIDTH_MIN: usize = 60;
const TEXT_WIDTH_MAX: usize = 118;

/// Stdout.
pub struct Screen {
    json: bool,
    colour: bool,
    failed: Option<std::io::Error>,
}

impl Screen {
    /// Stdout, for one document if `json`, else for text.
    pub fn new(json: bool, colour: ColorChoice) -> Screen {
        let colour = match colour {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM, CI, and whether it is a terminal.
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never,
        };
        Screen { json, colour, failed: None }
    }

    /// Whether one JSON document is wanted.
    pub fn wants_json(&self) -> bool {
        self.json
    }

    /// How text is painted here.
    pub fn paint(&self) -> Paint {
        Paint { colour: self.colour }
    }

    /// Columns of the terminal, if it is one.
    pub fn width() -> Option<usize> {
        Table::new().width().map(usize::from)
    }

    /// How wide text is set here: as wide as the terminal, if it is one, and not so wide that nobody finds the next line.
    pub fn text_width() -> usize {
        Screen::width().map_or(TEXT_WIDTH_MAX, |width| width.clamp(TEXT_WIDTH_MIN, TEXT_WIDTH_MAX))
    }

    /// Whether lines of so many columns stay lines here: in a file they all do.
    pub fn fits(columns: usize) -> bool {
        Screen::width().is_none_or(|width| columns <= width.max(TEXT_WIDTH_MIN))
    }

    /// Whether people read it, for whom tokens are too long: they are kept, and `@last:3` stands for the third.
    pub fn is_terminal() -> bool {
        Screen::width().is_some()
    }

    /// Prints text, unless a document is wanted.
    pub fn text(&mut self, text: &str) {
        if !self.json {
            self.write(text.as_bytes());
        }
    }

    /// Prints the document, if one is wanted.
    pub fn document<T: Serialize + ?Sized>(&mut self, document: &T) {
        if self.json {
            self.write(json(document).as_bytes());
        }
    }

    /// Prints a document that is no list of rows, and with it which picklock wrote it, if one is wanted.
    pub fn versioned<T: Serialize>(&mut self, document: &T) {
        self.document(&Versioned::new(document));
    }

    /// Prints rows as a document that says whether they are all, if one is wanted.
    pub fn rows<T: Serialize>(&mut self, rows: &[T], complete: bool) {
        self.document(&Rows::new(rows, complete));
    }

    /// Prints either way: what is a document of its own kind.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        self.failed = stdout.write_all(bytes).and_then(|()| stdout.flush()).err();
    }

    /// Whether nobody reads on, so that going on is in vain.
    pub fn is_closed(&self) -> bool {
        self.failed.is_some()
    }

    /// The code to exit with, if everything could be printed. A reader who has read enough (`| head`) is no error.
    pub fn finish(self, ending: Ending) -> Result<u8, BadCall> {
        match self.failed {
            None => Ok(ending.exit_code()),
            Some(error) if error.kind() == ErrorKind::BrokenPipe => Ok(READ_NO_MORE),
            Some(error) => Err(BadCall(format!("the output cannot be written: {error}"))),
        }
    }
}

/// Exits with this where nobody reads on: what a shell says of a program that the signal of a broken pipe has ended, as it ends git or
/// grep. It is neither a pass nor a failure.
pub const READ_NO_MORE: u8 = 128 + 13;

/// Rows on their way to another program: with the version that wrote them, so that fields can be added, and whether they
/// are all that was asked for.
#[derive(Serialize)]
pub struct Rows<'a, T> {
    picklock: &'static str,
    schema: u32,
    complete: bool,
    rows: &'a [T],
}

/// Changes when fields go or change their meaning; not when some are added.
pub const SCHEMA: u32 = 1;

/// A document that is no list of rows, with the version that wrote it.
#[derive(Serialize)]
pub struct Versioned<'a, T> {
    picklock: &'static str,
    schema: u32,
    #[serde(flatten)]
    document: &'a T,
}

impl<'a, T: Serialize> Versioned<'a, T> {
    /// This one.
    pub fn new(document: &'a T) -> Versioned<'a, T> {
        Versioned { picklock: env!("CARGO_PKG_VERSION"), schema: SCHEMA, document }
    }
}

impl<'a, T: Serialize> Rows<'a, T> {
    /// These; `complete` unless something came before all of them were there.
    pub fn new(rows: &'a [T], complete: bool) -> Rows<'a, T> {
        Rows { picklock: env!("CARGO_PKG_VERSION"), schema: SCHEMA, complete, rows }
    }
}

/// A document with a line break at its end.
pub fn json<T: Serialize + ?Sized>(document: &T) -> String {
    match serde_json::to_string_pretty(document) {
        Ok(text) => text + "\n",
        Err(error) => unreachable!("documents are plain data: {error}"),
    }
}

/// What a piece of text is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// As it is.
    Plain,
    /// A promise kept.
    Good,
    /// A promise broken.
    Bad,
    /// Neither: no verdict.
    Unclear,
    /// To be seen first.
    Strong,
    /// To be seen last.
    Faint,
}

/// Colours, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint {
    colour: bool,
}

impl Paint {
    /// For files.
    pub const NONE: Paint = Paint { colour: false };

    /// Whether there are colours.
    pub fn has_colour(self) -> bool {
        self.colour
    }

    /// Text in its tone, padded before it is coloured.
    pub fn text(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Unclear => "33",
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Plain => "",
        };
        if self.colour && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// An empty table: no lines but one under the header.
    pub fn table(self, header: &[&str]) -> Table {
        let mut table = Table::new();
        table
            .load_style(
                TableStyle::new()
                    .header_lines(ContentLineStyle::none())
                    .header_separator(LineStyle::none().fill('─').junction('─')),
            )
            .force_no_tty()
            .set_header(header.iter().map(|title| cell(Tone::Strong, title)));
        if self.colour {
            table.enforce_styling();
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table
    }
}

/// A cell of a table in its tone.
pub fn cell(tone: Tone, text: &str) -> Cell {
    let cell = Cell::new(text);
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Bad => cell.fg(Color::DarkRed),
        Tone::Unclear => cell.fg(Color::DarkYellow),
        Tone::Strong => cell.add_attribute(Attribute::Bold),
        Tone::Faint => cell.add_attribute(Attribute::Dim),
    }
}

/// The table as lines without blanks at their ends, with a line break at the end of each.
pub fn lines(table: &Table) -> String {
    table.lines().map(|line| without_blank_end(without_overhang(&line)) + "\n").collect()
}

/// The line under the head is as long as what stands above it: blanks at its end are drawn, too.
fn without_overhang(line: &str) -> &str {
    let is_rule = !line.is_empty() && line.chars().all(|letter| letter == '─');
    line.strip_suffix("──").filter(|_| is_rule).unwrap_or(line)
}

/// A line without blanks at its end, also where a colour ends after them.
fn without_blank_end(line: &str) -> String {
    let mut ends = String::new();
    let mut rest = line.trim_end();
    while let Some(at) = rest.rfind('\u{1b}').filter(|at| is_escape(&rest[*at..])) {
        ends.insert_str(0, &rest[at..]);
        rest = rest[..at].trim_end();
    }
    rest.to_owned() + &ends
}

/// Whether the text is nothing but one escape sequence that selects a colour or a weight.
fn is_escape(text: &str) -> bool {
    let inner = text.strip_prefix("\u{1b}[").and_then(|text| text.strip_suffix('m'));
    inner.is_some_and(|inner| inner.chars().all(|letter| letter.is_ascii_digit() || letter == ';'))
}

/// A table whose rows are of these things, as lines; each thing's name stands on a line of its own above its first row, so that the
/// columns need not begin behind the longest name.
pub fn headed(table: &str, of: &[&str], paint: Paint) -> String {
    let heads = table.lines().count() - of.len();
    let mut text = String::new();
    for (number, line) in table.lines().enumerate() {
        let row = number.checked_sub(heads);
        if let Some(row) = row.filter(|row| *row == 0 || of[row - 1] != of[*row]) {
            text += &format!("{}\n", paint.text(Tone::Strong, of[row]));
        }
        text += &format!("{line}\n");
    }
    text
}

/// `12,345,678`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 run`, `2 runs`, `12,345 runs`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Words in lines of at most `width` columns, each indented. A word that no line has room for, as a list in a setting, is broken
/// behind its commas.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let room = width.saturating_sub(indent.chars().count());
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let is_long = word.chars().count() > room;
        let parts: Vec<&str> = if is_long { word.split_inclusive(',').collect() } else { vec![word] };
        for (nth, part) in parts.into_iter().enumerate() {
            let line = &lines[lines.len() - 1];
            let blank = if nth == 0 && !line.is_empty() { " " } else { "" };
            let length = line.chars().count() + blank.len() + part.chars().count();
            if !line.is_empty() && length > room {
                lines.push(part.to_owned());
            } else {
                let last = lines.len() - 1;
                lines[last] += blank;
                lines[last] += part;
            }
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// The line under the head of a table of so many columns, no longer than the terminal is wide.
pub fn rule(columns: usize) -> String {
    let width = Screen::width().map_or(columns, |width| columns.min(width.max(TEXT_WIDTH_MIN)));
    "─".repeat(width) + "\n"
}

/// A line that says what something is, behind its name. A terminal gets lines that fit it.
pub fn fact(name: &str, what: &str) -> String {
    listed(&[name.to_owned(), what.to_owned()], 8, Screen::width(), Paint::NONE)
}

/// A line of a list, in lines that fit a terminal of so many columns, indented below the first; in a file it is one.
pub fn fitting(words: &str, terminal: Option<usize>, indent: &str) -> String {
    let Some(width) = terminal else { return format!("{indent}{words}\n") };
    let below = format!("{indent}  ");
    let lines = wrapped(words, width.max(TEXT_WIDTH_MIN), &below);
    format!("{indent}{}", lines.trim_start())
}

/// A sentence, in lines that fit the terminal; in a file it is one.
pub fn sentence(words: &str) -> String {
    indented(words, "")
}

/// The same, indented.
pub fn indented(words: &str, indent: &str) -> String {
    match Screen::width() {
        Some(_) => wrapped(words, Screen::text_width(), indent),
        None => format!("{indent}{words}\n"),
    }
}

/// A command prints a list of things, and that was it. A terminal gets lines that fit it; a file, a line for each thing.
pub fn list<T: Serialize>(screen: &mut Screen, rows: &[T], line: impl Fn(&T) -> [String; 2]) -> Ending {
    let lines: Vec<[String; 2]> = rows.iter().map(line).collect();
    let width = lines.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0);
    let text: String =
        lines.iter().map(|line| listed(line, width, Screen::width(), screen.paint())).collect();
    screen.text(&text);
    screen.rows(rows, true);
    Ending::Fine
}

/// A thing and what it is, which begins behind the longest name and goes on below itself.
fn listed([name, what]: &[String; 2], width: usize, terminal: Option<usize>, paint: Paint) -> String {
    let name = paint.text(Tone::Strong, &format!("{name:width$}"));
    let indent = " ".repeat(width + 2);
    // Less than that is no column to read.
    match terminal.filter(|terminal| *terminal >= width + 22) {
        Some(terminal) => format!("{name}  {}", wrapped(what, terminal, &indent).trim_start()),
        None => format!("{name}  {what}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_above_all_rows_of_its_own() {
        let table = "head\n────\n 1\n 2\n 3\n";
        let shown = "head\n────\na\n 1\n 2\nb\n 3\n";
        assert_eq!(headed(table, &["a", "a", "b"], Paint::NONE), shown);
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_broken_behind_its_commas() {
        assert_eq!(
            wrapped("set: rounds=2, of=[[1,22,333],[4]]", 12, "  "),
            "  set:\n  rounds=2,\n  of=[[1,22,\n  333],[4]]\n"
        );
        assert_eq!(wrapped("one two three", 9, "  "), "  one two\n  three\n");
        assert_eq!(wrapped("indivisible", 4, " "), " indivisible\n");
    }

    #[test]
    fn what_is_listed_fits_the_terminal_and_stays_a_line_in_a_file() {
        let row = ["redlock".to_owned(), "Redlock as written, on independent masters".to_owned()];
        let shown = |terminal| listed(&row, 8, terminal, Paint::NONE);
        assert_eq!(shown(None), "redlock   Redlock as written, on independent masters\n");
        assert_eq!(shown(Some(32)), "redlock   Redlock as written, on\n          independent masters\n");
        assert_eq!(shown(Some(20)), shown(None), "a terminal that is too narrow wraps by itself");
    }
}
