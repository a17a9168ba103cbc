//! Lays the rows out: how wide each column is, where lines break, and which marks run down beside the text.

use super::cell::{Line, Style};
use super::page::{Page, Written, count, length, wrap};
use super::row::{Lane, Mark, Row, What};
use super::{TextOptions, TextTrace};
use picklock_model::machine::Node;
use picklock_properties::Violation;
use std::collections::BTreeSet;

/// The whole trace.
pub(super) fn render(trace: &TextTrace) -> String {
    let mut page = Page::new(trace.options);
    page.head(trace);
    page.marks(trace);
    if trace.rows.is_empty() {
        page.line([("nothing happened", Style::Faint)]);
        return page.finish();
    }
    let table = Table::new(trace);
    table.names(&mut page);
    let mut lines_since_names = 0;
    for (row, cells) in trace.rows.iter().zip(&table.cells) {
        // A column whose name has left the screen is a riddle.
        if lines_since_names > LINES_BETWEEN_NAMES {
            table.names(&mut page);
            lines_since_names = 0;
        }
        lines_since_names += table.row(row, cells, &mut page);
    }
    page.finish()
}

const LINES_BETWEEN_NAMES: usize = 60;
/// Columns narrower than this, on average, and the servers share one.
const TEXT_AVERAGE_MIN: usize = 14;
const TEXT_MIN: usize = 8;
/// Where columns would be narrower than this, modes have no place beside the bars.
const TEXT_BESIDE_MODES_MIN: usize = 20;
/// Border, bar, pause mark; and a blank after the text.
const FRAME: usize = 4;

/// The lines of a row's cells, by column.
type Cells = Vec<(usize, Vec<Line>)>;

struct Table {
    columns: Vec<Column>,
    cells: Vec<Cells>,
    step_width: usize,
    time_width: usize,
    /// How wide the modes are that clients have, and whether those of several resources are told apart. With no width they
    /// stand in the cells, where they change.
    modes: (usize, bool),
    /// The violation of which the words stand above the table, and in which step it is.
    told: Option<(usize, Violation)>,
    options: TextOptions,
}

struct Column {
    name: String,
    /// Where its node stands in the lanes; `None` if several share the column.
    lane: Option<usize>,
    is_client: bool,
    width: usize,
}

impl Table {
    fn new(trace: &TextTrace) -> Table {
        let options = trace.options;
        let numbers = LongNumbers::of(&trace.rows);
        let step_width = trace.steps.to_string().len().max(4);
        let time_width = trace.rows.iter().map(|row| length(&options.time.show(row.at))).max().unwrap_or(0);
        let left = 1 + step_width + 1 + time_width + usize::from(time_width > 0);
        let is_idle = |node: Node| {
            let is_here = |row: &Row| cells(row).iter().any(|(here, _)| *here == node);
            node == Node::Resource && !trace.rows.iter().any(is_here)
        };
        let nodes: Vec<Node> = trace.nodes.iter().copied().filter(|node| !is_idle(*node)).collect();
        let clients = nodes.iter().filter(|node| matches!(node, Node::Client(_))).count();
        let room_beside = |modes: usize, columns: usize| {
            let taken = modes + usize::from(modes > 0);
            options.width.saturating_sub(left + FRAME * columns + taken * clients)
        };
        let (widest, several) = Table::modes_of(trace);
        let is_narrow = room_beside(widest, nodes.len()) < TEXT_BESIDE_MODES_MIN * nodes.len();
        let modes = (if is_narrow { 0 } else { widest }, several);
        let room = |columns: usize| room_beside(modes.0, columns);

        let servers = nodes.iter().filter(|node| matches!(node, Node::Server(_))).count();
        let shared = servers > 1 && room(nodes.len()) < TEXT_AVERAGE_MIN * nodes.len();
        let column_of = |node: Node| match node {
            Node::Client(client) => usize::from(client),
            Node::Server(server) => clients + if shared { 0 } else { usize::from(server) },
            Node::Resource => clients + if shared { 1 } else { servers },
        };

        let mut columns: Vec<Column> = Vec::new();
        for (lane, node) in trace.nodes.iter().enumerate().filter(|(_, node)| nodes.contains(node)) {
            match columns.get_mut(column_of(*node)) {
                Some(servers) => (servers.name, servers.lane) = ("servers".to_owned(), None),
                None => columns.push(Column {
                    name: node.to_string(),
                    lane: Some(lane),
                    is_client: matches!(node, Node::Client(_)),
                    width: 0,
                }),
            }
        }
        let mut had = vec![String::new(); clients];
        let cells: Vec<Cells> = trace
            .rows
            .iter()
            .map(|row| {
                let changed = if is_narrow { modes_changed(row, &mut had, several) } else { Vec::new() };
                let prepare = |(node, mut lines): (Node, Vec<Line>)| {
                    if let (true, Node::Server(_), Some(first)) = (shared, node, lines.first_mut()) {
                        first.text = format!("{node} {}", first.text);
                    }
                    lines.iter_mut().for_each(|line| line.text = options.spell(&numbers.shorten(&line.text)));
                    (column_of(node), lines)
                };
                changed.into_iter().chain(cells(row)).map(prepare).collect()
            })
            .collect();
        let wanted: Vec<usize> = columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let here = cells.iter().flatten().filter(|(column, _)| *column == index);
                let longest = here.flat_map(|(_, lines)| lines).map(|line| length(&line.text)).max();
                longest.unwrap_or(0).max(length(&column.name)).max(TEXT_MIN)
            })
            .collect();
        for (column, width) in columns.iter_mut().zip(share(room(wanted.len()), &wanted)) {
            column.width = width;
        }
        Table { columns, cells, step_width, time_width, modes, told: trace.told(), options }
    }

    /// How wide the longest mode is, and whether there are several resources.
    fn modes_of(trace: &TextTrace) -> (usize, bool) {
        let marks = || trace.rows.iter().flat_map(|row| &row.modes);
        let resources: BTreeSet<u8> = marks().map(|mark| mark.resource.0).collect();
        let several = resources.len() > 1;
        let lane = |row: &Row, client: u8| length(&trace.options.spell(&modes_words(row, client, several)));
        let clients = |row: &Row| row.modes.iter().map(|mark| lane(row, mark.client)).max().unwrap_or(0);
        (trace.rows.iter().map(clients).max().unwrap_or(0), several)
    }

    /// What this column's client has, beside its bar; blanks below the first line.
    fn mode_words(&self, row: &Row, column: usize, line: usize) -> String {
        let is_step = matches!(row.what, What::Step(_));
        let words =
            if line == 0 && is_step { modes_words(row, column as u8, self.modes.1) } else { String::new() };
        self.options.spell(&words)
    }

    /// Whether modes stand beside the bar of this column: it is a client's, and some client has something in a mode.
    fn shows_modes(&self, column: usize) -> bool {
        self.modes.0 > 0 && column < self.clients()
    }

    fn clients(&self) -> usize {
        self.columns.iter().filter(|column| column.is_client).count()
    }

    fn names(&self, page: &mut Page) {
        let frame = Frame::of(self.options);
        let mut line = Written::new(self.options);
        line.put(&self.left(' ', "step", if self.time_width > 0 { "time" } else { "" }), Style::Faint);
        for (index, column) in self.columns.iter().enumerate() {
            line.put(frame.border, Style::Faint);
            line.put("  ", Style::Plain);
            if self.shows_modes(index) {
                line.put_padded("", Style::Plain, self.modes.0 + 1);
            }
            line.put_padded(&column.name, Style::Strong, column.width + 1);
        }
        page.push(line);
        let mut line = Written::new(self.options);
        line.put(&frame.rule.repeat(self.left(' ', "", "").chars().count()), Style::Faint);
        for (index, column) in self.columns.iter().enumerate() {
            let modes = if self.shows_modes(index) { self.modes.0 + 1 } else { 0 };
            line.put(frame.crossing, Style::Faint);
            line.put(&frame.rule.repeat(column.width + FRAME - 1 + modes), Style::Faint);
        }
        page.push(line);
    }

    /// How many lines it took.
    fn row(&self, row: &Row, cells: &Cells, page: &mut Page) -> usize {
        match &row.what {
            What::Banner(text) => {
                let rule = self.options.spell("──");
                page.wrapped(&format!("{rule} {} {rule}", self.options.spell(text)), Style::Strong);
                return 1;
            }
            What::Gap(gap) => {
                let lost = match gap.losses {
                    0 => String::new(),
                    losses => format!(", in which {} got lost or came twice", count(losses, "message")),
                };
                let text = format!("⋮ {} not shown{lost}", count(gap.steps, "step"));
                page.wrapped(&self.options.spell(&text), Style::Faint);
                return 1;
            }
            What::Step(_) | What::Fold(_) => {}
        }
        let wrapped: Vec<Vec<Line>> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                let here = cells.iter().filter(|(column, _)| *column == index).flat_map(|(_, lines)| lines);
                here.flat_map(|line| wrap(line, column.width)).collect()
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for line in 0..height {
            page.push(self.table_line(row, &wrapped, line));
        }
        // Two events of one step may break a promise in the same words: once is enough.
        let all = &row.violations;
        let once = (0..all.len()).filter(|place| !all[..*place].contains(&all[*place]));
        let is_told = |violation: Violation| self.told == Some((row.step, violation));
        height + once.map(|place| page.violation(&all[place], is_told(all[place]))).count()
    }

    fn table_line(&self, row: &Row, wrapped: &[Vec<Line>], index: usize) -> Written {
        let frame = Frame::of(self.options);
        let overlap = row.lanes.iter().any(|lane| lane.overlaps);
        let mut line = Written::new(self.options);
        let (step, time) = match (&row.what, index) {
            (What::Step(_), 0) => (row.step.to_string(), self.options.time.show(row.at)),
            (What::Fold(_), 0) => (self.options.spell("…"), String::new()),
            _ => (String::new(), String::new()),
        };
        if row.violations.is_empty() || index > 0 {
            line.put(&self.left(' ', &step, &time), Style::Faint);
        } else {
            line.put(&self.left(frame.broken, &step, &time), Style::Broken);
        }
        for (place, (column, lines)) in self.columns.iter().zip(wrapped).enumerate() {
            let lane = column.lane.and_then(|lane| row.lanes.get(lane)).copied().unwrap_or_default();
            line.put(frame.border, Style::Faint);
            line.put(frame.bar(lane), if overlap { Style::Broken } else { Style::Holds });
            if self.shows_modes(place) {
                line.put_padded(&self.mode_words(row, place, index), Style::Holds, self.modes.0 + 1);
            }
            match lines.get(index) {
                Some(text) => {
                    line.put(" ", Style::Plain);
                    line.put_padded(&text.text, text.style, column.width + 1);
                }
                None => line.put_padded(frame.status(lane), Style::Fault, column.width + 2),
            }
        }
        line
    }

    fn left(&self, mark: char, step: &str, time: &str) -> String {
        let (step_width, time_width) = (self.step_width, self.time_width);
        match time_width {
            0 => format!("{mark}{step:>step_width$} "),
            _ => format!("{mark}{step:>step_width$} {time:>time_width$} "),
        }
    }
}

/// In which modes a client has what it has after a step.
fn modes_words(row: &Row, client: u8, several: bool) -> String {
    let words = |mark: &Mark| match several {
        true => format!("R{}:{}", mark.resource.0 + 1, mark.words()),
        false => mark.words(),
    };
    row.modes.iter().filter(|mark| mark.client == client).map(words).collect::<Vec<_>>().join(" ")
}

/// What clients have after a step, of those that had something else before it.
fn modes_changed(row: &Row, had: &mut [String], several: bool) -> Vec<(Node, Vec<Line>)> {
    if !matches!(row.what, What::Step(_)) {
        return Vec::new();
    }
    let mut changed = Vec::new();
    for (client, had) in (0..).zip(had) {
        let has = modes_words(row, client, several);
        if *had != has {
            let text = if has.is_empty() { "has nothing".to_owned() } else { format!("has {has}") };
            changed.push((Node::Client(client), vec![Line { text, style: Style::Holds }]));
            *had = has;
        }
    }
    changed
}

/// What stands in the row's cells, by node.
fn cells(row: &Row) -> Vec<(Node, Vec<Line>)> {
    let said = |text: String| vec![Line { text, style: Style::Faint }];
    match &row.what {
        What::Step(_) => row.cell.iter().cloned().collect(),
        What::Fold(fold) if fold.polls.is_empty() => {
            vec![(Node::Client(0), said(format!("… {} …", count(fold.steps, "step"))))]
        }
        What::Fold(fold) => fold
            .polls
            .iter()
            .map(|(node, polls)| (*node, said(format!("… {} …", count(*polls, "poll")))))
            .collect(),
        What::Gap(_) | What::Banner(_) => Vec::new(),
    }
}

/// Gives every column what it wants if there is room; else those that want little get it and the others share the rest.
fn share(room: usize, wanted: &[usize]) -> Vec<usize> {
    let mut widths: Vec<Option<usize>> = vec![None; wanted.len()];
    loop {
        let given: usize = widths.iter().flatten().sum();
        let open = widths.iter().filter(|width| width.is_none()).count();
        let fair = room.saturating_sub(given).checked_div(open).unwrap_or(0).max(TEXT_MIN);
        let modest: Vec<usize> =
            (0..wanted.len()).filter(|index| widths[*index].is_none() && wanted[*index] <= fair).collect();
        if modest.is_empty() {
            return widths.into_iter().map(|width| width.unwrap_or(fair)).collect();
        }
        modest.into_iter().for_each(|index| widths[index] = Some(wanted[index]));
    }
}

/// Names may have many digits (a store may show its columns as it keeps them), of which a reader needs those in which they
/// differ.
struct LongNumbers {
    /// How many of the first digits all long numbers of the trace have in common, and may lose.
    common: usize,
}

impl LongNumbers {
    const DIGITS_MIN: usize = 16;
    /// So many are left of each, even if they differ in fewer.
    const DIGITS_LEFT: usize = 3;

    fn of(rows: &[Row]) -> LongNumbers {
        let lines = rows.iter().flat_map(|row| &row.cell).flat_map(|(_, lines)| lines);
        let numbers: BTreeSet<&str> = lines
            .flat_map(|line| line.text.split(|character: char| !character.is_ascii_digit()))
            .filter(|digits| digits.len() >= Self::DIGITS_MIN)
            .collect();
        // In order, the first and the last differ as early as any two.
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return LongNumbers { common: 0 };
        };
        let shortest = numbers.iter().map(|digits| digits.len()).min().unwrap_or(0);
        let same = first.bytes().zip(last.bytes()).take_while(|(left, right)| left == right).count();
        LongNumbers { common: same.min(shortest - Self::DIGITS_LEFT) }
    }

    fn shorten(&self, text: &str) -> String {
        let mut short = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
            let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
            let (before, number) = (&rest[..start], &rest[start..start + digits]);
            short.push_str(before);
            if digits >= Self::DIGITS_MIN && self.common > 1 {
                short.push('…');
                short.push_str(&number[self.common..]);
            } else {
                short.push_str(number);
            }
            rest = &rest[start + digits..];
        }
        short + rest
    }
}

/// The marks of the table itself.
struct Frame {
    border: &'static str,
    rule: &'static str,
    crossing: &'static str,
    holds: &'static str,
    asks: &'static str,
    paused: &'static str,
    down: &'static str,
    broken: char,
}

impl Frame {
    fn of(options: TextOptions) -> &'static Frame {
        const UNICODE: Frame = Frame {
            border: "│",
            rule: "─",
            crossing: "┼",
            holds: "█",
            asks: "┃",
            paused: "┊",
            down: "×",
            broken: '✗',
        };
        const ASCII: Frame = Frame {
            border: "|",
            rule: "-",
            crossing: "+",
            holds: "#",
            asks: "I",
            paused: ":",
            down: "x",
            broken: 'x',
        };
        if options.ascii { &ASCII } else { &UNICODE }
    }

    fn bar(&self, lane: Lane) -> &'static str {
        match lane {
            Lane { holds: true, .. } => self.holds,
            Lane { asks: true, .. } => self.asks,
            Lane { .. } => " ",
        }
    }

    fn status(&self, lane: Lane) -> &'static str {
        match lane {
            Lane { down: true, .. } => self.down,
            Lane { paused: true, .. } => self.paused,
            Lane { .. } => " ",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_want_little_get_it_and_the_others_share_the_rest() {
        assert_eq!(share(100, &[10, 20, 30]), [10, 20, 30]);
        assert_eq!(share(100, &[10, 90, 200]), [10, 45, 45]);
        assert_eq!(share(100, &[90, 20, 90]), [40, 20, 40]);
        assert_eq!(share(0, &[90, 20]), [TEXT_MIN, TEXT_MIN]);
    }

    #[test]
    fn long_numbers_keep_the_digits_in_which_they_differ() {
        let shorten = |texts: &[&str]| {
            let row = |text: &&str| Row {
                cell: Some((Node::Client(0), vec![Line { text: (*text).to_owned(), style: Style::Plain }])),
                ..Row::empty(1)
            };
            let numbers = LongNumbers::of(&texts.iter().map(row).collect::<Vec<_>>());
            texts.iter().map(|text| numbers.shorten(text)).collect::<Vec<_>>()
        };
        assert_eq!(
            shorten(&[
                "{00001370044800000001tA}",
                "{00001370044800020000tB, 00001370044800000001tA} at 12345"
            ]),
            ["{…00001tA}", "{…20000tB, …00001tA} at 12345"]
        );
        assert_eq!(shorten(&["Q[00001370044800000001tA]"]), ["Q[…001tA]"]);
        assert_eq!(shorten(&["s1 at 12345", "tick 7"]), ["s1 at 12345", "tick 7"]);
    }
}
