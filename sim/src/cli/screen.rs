//! Where results go: stdout, as text or as one JSON document; colours, tables and numbers.

use super::{BadCall, Ending};
use comfy_table::{Attribute, Cell, Color, ContentLineStyle, LineStyle, Table, TableStyle};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};

/// Stdout.
pub struct Screen {
    json: bool,
    colour: bool,
    failed: Option<std::io::Error>,
}

impl Screen {
    /// Stdout, for one document if `json`, else for text.
    pub fn new(json: bool) -> Screen {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Screen { json, colour: !refused && std::io::stdout().is_terminal(), failed: None }
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

    /// Says whether everything could be printed. A reader who has read enough (`| head`) is no error.
    pub fn finish(self) -> Result<(), BadCall> {
        match self.failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(BadCall(format!("the output cannot be written: {error}")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

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
const SCHEMA: u32 = 1;

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
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
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

/// Words in lines of at most `width` columns, each indented.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = &lines[lines.len() - 1];
        if !line.is_empty()
            && indent.chars().count() + line.chars().count() + 1 + word.chars().count() > width
        {
            lines.push(String::new());
        }
        let last = lines.len() - 1;
        if !lines[last].is_empty() {
            lines[last].push(' ');
        }
        lines[last].push_str(word);
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// A command prints a list of things, and that was it.
pub fn list<T: Serialize>(screen: &mut Screen, rows: &[T], line: impl Fn(&T) -> [String; 2]) -> Ending {
    let lines: Vec<[String; 2]> = rows.iter().map(line).collect();
    let width = lines.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0);
    for [name, what] in lines {
        screen.text(&format!("{}  {what}\n", screen.paint().text(Tone::Strong, &format!("{name:width$}"))));
    }
    screen.rows(rows, true);
    Ending::Fine
}
