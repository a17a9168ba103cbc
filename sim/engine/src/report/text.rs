//! The trace of a run for a person at a terminal: a row per step, a column per node.
//!
//! ```text
//!  step      time │  A                │  B                │  s1
//! ────────────────┼───────────────────┼───────────────────┼─────────────────
//!     7 0.003000s │█ ← s1 done        │                   │
//!                 │█ HOLDS L1:4       │                   │
//!     8 0.003500s │█ ⏸ paused         │                   │
//!     9 0.004000s │█┊                 │                   │  ← B pin up tB
//!                 │█┊                 │                   │  = tA, tB
//!                 │█┊                 │                   │  → B done
//! ✗  10 0.005500s │█┊                 │█ ← s1 done        │
//!                 │█┊                 │█ HOLDS L1:4       │
//! ✗ mutual-exclusion broken
//! ```
//!
//! The bar `█` stands in a client's column on every line while the client is in its critical section, so that an overlap is
//! two bars side by side. The bar `┃` stands there while the client waits for an answer of a shared object. Whatever happens, happens in the column of the node that it happens to; a message lost is shown
//! where it should have arrived.
//!
//! This file turns steps into rows and decides which of them are shown; `cell` finds the words, `table` the places.

mod cell;
mod page;
mod row;
mod table;
#[cfg(test)]
mod tests;

use super::message_words;
use cell::Lines;
pub use cell::Style;
pub use page::Page;
use picklock_model::cluster::Cluster;
use picklock_model::machine::{Node, Store};
use picklock_model::system::System;
use picklock_model::time::Micros;
use picklock_model::trace::{Happening, Observer, Step};
use picklock_properties::{ClientId, ClientSet, Event, Hold, ObjectCall, Promise, Violation};
use row::{Fold, Gap, Row, Weight, What};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What is known about a run before it begins: the top of its trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heading {
    /// The lock's name.
    pub lock: String,
    /// What is not as it is by default: `own_id_check=true`.
    pub settings: Vec<String>,
    /// The token that replays the run.
    pub token: Option<String>,
    /// The promise that the run is shown for. `None`: the first one that a step breaks.
    pub broken: Option<Promise>,
}

/// How a trace is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// What stands beside the step number.
    pub time: TimeColumn,
    /// Only this many rows, the last ones, but every fault of a node, a clock or a link, every broken promise, and the
    /// last grant of each client; `None`: all rows. Bounds the memory of a long run, too.
    pub last: Option<usize>,
    /// Shows a client that asks the same again and again as one row.
    pub fold: bool,
    /// Colours for a terminal (ANSI).
    pub colour: bool,
    /// Nothing but ASCII.
    pub ascii: bool,
    /// Its head names the command that replays the run; false where the reader is told of another way.
    pub names_command: bool,
    /// Its head says how the promise is broken; false where the reader is told of all that led to it.
    pub tells_how: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            width: 120,
            time: TimeColumn::Seconds,
            last: None,
            fold: true,
            colour: false,
            ascii: false,
            names_command: true,
            tells_how: true,
        }
    }
}

/// How true time is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeColumn {
    /// `12.345678s` since the run began.
    Seconds,
    /// `tick 3`: the run counts time in ticks.
    Ticks {
        /// How long a tick is in the model's time; more than nothing.
        length: Micros,
    },
    /// Not at all: time does not pass in the run.
    Hidden,
}

impl TimeColumn {
    /// A moment as it is shown in the column.
    pub fn show(self, at: Micros) -> String {
        match self {
            TimeColumn::Seconds => {
                let (sign, micros) =
                    if at.0 < 0 { ("-", at.0.unsigned_abs()) } else { ("", at.0.unsigned_abs()) };
                format!("{sign}{}.{:06}s", micros / 1_000_000, micros % 1_000_000)
            }
            TimeColumn::Ticks { length } => format!("tick {}", at.0.div_euclid(length.0.max(1))),
            TimeColumn::Hidden => String::new(),
        }
    }
}

/// Watches a run and writes its trace.
#[derive(Clone, Debug)]
pub struct TextTrace {
    heading: Heading,
    options: TextOptions,
    nodes: Vec<Node>,
    rows: Vec<Row>,
    steps: usize,
    /// What the servers and the resource stored when last seen.
    stored: BTreeMap<Node, Vec<String>>,
    /// What the latest steps looked like, numbers aside, since one of them got somewhere.
    familiar: BTreeSet<String>,
    /// How many rows at the end are nothing new.
    repeats: usize,
    /// In which step each client was last granted the lock.
    grants: BTreeMap<ClientId, usize>,
    /// What each client has asked of a shared object and waits for.
    asked: BTreeMap<ClientId, ObjectCall>,
    /// How many rows at the beginning [`TextOptions::last`] has thinned out already.
    thinned: usize,
    /// Steps that have a row whatever is folded or left out.
    kept: Vec<usize>,
    /// Lasso only: what never happens in its loop.
    never: Option<String>,
}

/// What never comes, in a sentence; in a loop, or because nothing is left to happen.
pub fn never_again(what: &str, goes_round: bool) -> String {
    match goes_round {
        true => format!("in the loop at the end, for ever, {what}"),
        false => format!("after the last step nothing happens any more, and for ever {what}"),
    }
}

impl TextTrace {
    /// Nothing has happened yet.
    pub fn new(heading: Heading, options: TextOptions) -> Self {
        TextTrace {
            heading,
            options,
            nodes: Vec::new(),
            rows: Vec::new(),
            steps: 0,
            stored: BTreeMap::new(),
            familiar: BTreeSet::new(),
            repeats: 0,
            grants: BTreeMap::new(),
            asked: BTreeMap::new(),
            thinned: 0,
            kept: Vec::new(),
            never: None,
        }
    }

    /// These steps, counted from 1, have a row whatever is folded or left out: the reader is told of them elsewhere.
    pub fn keep(&mut self, steps: &[usize]) {
        self.kept.extend_from_slice(steps);
    }

    /// The path is a lasso, and what comes from here on comes again and again.
    pub fn loop_starts(&mut self) {
        self.push_banner("the loop starts here".to_owned());
    }

    /// The loop is closed; `what` never happens in it: `nobody is granted the lock`.
    pub fn loop_ends(&mut self, what: &str) {
        self.push_banner(format!("and back to there: {what}, for ever"));
        self.never = Some(never_again(what, true));
    }

    /// Nothing is left to happen: the loop has no steps.
    pub fn nothing_follows(&mut self, what: &str) {
        self.push_banner(format!("from here on nothing happens: {what}, for ever"));
        self.never = Some(never_again(what, false));
    }

    /// Something that the reader must know before he trusts what follows.
    pub fn warn(&mut self, what: &str) {
        self.push_banner(what.to_owned());
    }

    /// The trace, with a line break at its end.
    pub fn finish(mut self) -> String {
        if let Some(last) = self.options.last {
            self.thin_out(last);
        }
        table::render(&self)
    }

    /// A finished trace as its head and its table, for whoever has more to say of the run before its steps.
    pub fn parts(text: &str) -> (&str, &str) {
        // The one blank line of a trace is between them.
        match text.find("\n\n") {
            Some(end) => (&text[..=end], &text[end + 2..]),
            None => (text, ""),
        }
    }

    /// In which step the promise is broken that the run is shown for, and by whom: the first time, as far as rows are left.
    fn told(&self) -> Option<(usize, Violation)> {
        let broken = self.heading.broken;
        let of_row = |row: &Row| {
            let is_it = |violation: &&Violation| broken.is_none_or(|promise| promise == violation.promise);
            row.violations.iter().find(is_it).map(|violation| (row.step, *violation))
        };
        self.rows.iter().find_map(of_row)
    }

    fn push_banner(&mut self, text: String) {
        self.familiar.clear();
        self.push(Row { what: What::Banner(text), ..Row::empty(self.steps) });
    }

    fn push(&mut self, row: Row) {
        if let What::Step(Weight::Repeat | Weight::Tick) = row.what {
            self.push_repeat(row);
        } else {
            self.repeats = 0;
            self.rows.push(row);
        }
        if let Some(last) = self.options.last
            && self.rows.len() - self.thinned > 2 * last + 64
        {
            self.thin_out(last);
        }
    }

    /// More than three polls, or a dozen steps of any kind, become one row as soon as they are more.
    fn push_repeat(&mut self, row: Row) {
        if let Some(fold @ Row { what: What::Fold(_), .. }) = self.rows.last_mut() {
            return fold.absorb(row);
        }
        let is_tick = |row: &Row| row.what == What::Step(Weight::Tick);
        match self.rows.last_mut() {
            Some(last) if self.options.fold && is_tick(last) && is_tick(&row) => *last = row,
            _ => {
                self.rows.push(row);
                self.repeats += 1;
            }
        }
        let first = self.rows.len() - self.repeats;
        let polls: usize = self.rows[first..].iter().map(|row| row.polls).sum();
        if self.options.fold && (polls > 3 || self.repeats > 12) {
            let mut fold = Row { what: What::Fold(Fold::default()), ..Row::empty(self.steps) };
            self.rows.drain(first..).for_each(|row| fold.absorb(row));
            self.rows.push(fold);
            self.repeats = 0;
        }
    }

    /// Keeps the last rows, and of those before them what a reader cannot do without.
    fn thin_out(&mut self, last: usize) {
        let cut = self.rows.len().saturating_sub(last).max(self.thinned);
        let recent = self.rows.split_off(cut);
        let mut kept: Vec<Row> = Vec::new();
        for row in std::mem::take(&mut self.rows) {
            if self.outlasts(&row) {
                kept.push(row);
                continue;
            }
            match kept.last_mut() {
                Some(gap @ Row { what: What::Gap(_), .. }) => gap.absorb(row),
                _ => {
                    let mut gap = Row { what: What::Gap(Gap::default()), ..Row::empty(row.step) };
                    gap.absorb(row);
                    kept.push(gap);
                }
            }
        }
        self.thinned = kept.len();
        self.repeats = self.repeats.min(recent.len());
        kept.extend(recent);
        self.rows = kept;
    }

    fn outlasts(&self, row: &Row) -> bool {
        match &row.what {
            What::Step(_) if self.kept.contains(&row.step) => true,
            What::Step(Weight::Fault) | What::Banner(_) => true,
            What::Step(_) | What::Fold(_) | What::Gap(_) => {
                !row.violations.is_empty()
                    || row.granted.is_some_and(|client| self.grants.get(&client) == Some(&row.step))
            }
        }
    }

    /// On the first step: who there is, and what everybody else stores (the one whose step it is comes with the step).
    fn meet<Y: System>(&mut self, cluster: &Cluster<Y>, stepping: Option<Node>) {
        self.nodes = cluster.nodes().collect();
        let servers = cluster.nodes().filter(|node| matches!(node, Node::Server(_)));
        self.stored = servers
            .filter(|server| Some(*server) != stepping)
            .map(|server| (server, contents(cluster, server)))
            .collect();
    }

    fn row<Y: System>(&mut self, step: &Step<Y>) -> Row {
        let node = step.happening.node();
        let mut lines = Lines::default();
        lines.add_happening(step.happening, step.effects.remark, Y::WORDS);
        let mut asking: ClientSet = self.asked.keys().copied().collect();
        lines.add_events(
            &step.effects.events,
            &step.cluster.usage().accesses,
            &mut self.asked,
            step.violations,
        );
        self.asked.keys().for_each(|client| asking.insert(*client));
        if let Happening::Crashed { node: Node::Client(client), .. } = step.happening {
            lines.add_outcome(self.asked.remove(&ClientId(*client)), None, false);
        }
        let mut changed = false;
        match node {
            Some(Node::Client(client)) if goes_on(step.happening) => {
                lines.add_doing(step, client);
                lines.add_sends(&step.effects.sends, Y::WORDS);
            }
            Some(Node::Client(_)) | None => {}
            Some(node @ (Node::Server(_) | Node::Resource)) => {
                let contents = contents(step.cluster, node);
                if let Happening::Delivered { message, .. } = step.happening {
                    lines.mark_hidden(&message_words(message, Y::WORDS), &contents);
                }
                changed = self.add_stored(node, contents, &mut lines);
                // That the resource answers goes without saying.
                if node != Node::Resource {
                    lines.add_sends(&step.effects.sends, Y::WORDS);
                }
            }
        }
        let weight = match self.weigh(step, &lines, changed) {
            Weight::Repeat | Weight::Tick if self.kept.contains(&self.steps) => Weight::News,
            weight => weight,
        };
        if let Some(node) = node
            && goes_on(step.happening)
        {
            lines.add_clock(step.cluster.condition(node).clock, step.at, self.options.time);
        }
        let begins = |event: &&Event| event.hold() == Some(Hold::Begins);
        let granted = step.effects.events.iter().find(begins).map(Event::client);
        let is_poll = matches!(node, Some(Node::Client(_))) && !step.effects.sends.is_empty();
        Row {
            what: What::Step(weight),
            step: self.steps,
            at: step.at,
            polls: usize::from(is_poll),
            cell: node.map(|node| (node, lines.0)),
            lanes: row::lanes(step.cluster, asking),
            modes: row::marks(step.cluster),
            violations: step.violations.iter().copied().collect(),
            granted,
        }
    }

    /// Adds what is stored now, if that changed, and says whether it did.
    fn add_stored(&mut self, node: Node, contents: Vec<String>, lines: &mut Lines) -> bool {
        let before = self.stored.insert(node, contents.clone()).unwrap_or_default();
        if before == contents {
            return false;
        }
        lines.add_contents(&before, &contents);
        true
    }

    fn weigh<Y: System>(&mut self, step: &Step<Y>, lines: &Lines, changed: bool) -> Weight {
        let weight = match step.happening {
            Happening::Lost { .. } | Happening::Duplicated { .. } => Weight::Loss,
            // A promise of progress is broken by nothing but the passing of time.
            Happening::Ticked if step.violations.is_empty() => return Weight::Tick,
            Happening::Delivered { .. } | Happening::Woke { .. } => {
                if step.effects.events.is_empty() && !changed {
                    let familiar = !self.familiar.insert(lines.likeness(step.happening.node()));
                    return if familiar { Weight::Repeat } else { Weight::News };
                }
                Weight::News
            }
            _ => Weight::Fault,
        };
        self.familiar.clear();
        weight
    }
}

impl<Y: System> Observer<Y> for TextTrace {
    fn observe(&mut self, step: &Step<Y>) {
        self.steps += 1;
        if self.nodes.is_empty() {
            self.meet(step.cluster, step.happening.node());
        }
        if step.happening.node() == Some(Node::Resource) && !self.nodes.contains(&Node::Resource) {
            self.nodes.push(Node::Resource);
        }
        if *step.happening == Happening::Healed {
            return self.push_banner(
                "healed: links whole, nodes up, clocks go on; progress is owed from here".to_owned(),
            );
        }
        let row = self.row(step);
        if let Some(client) = row.granted {
            self.grants.insert(client, row.step);
        }
        self.push(row);
    }
}

fn contents<Y: System>(cluster: &Cluster<Y>, node: Node) -> Vec<String> {
    match node {
        Node::Server(server) => {
            let lines = cluster.servers[usize::from(server)].contents();
            lines.iter().map(|line| Y::WORDS.fill_in(line)).collect()
        }
        Node::Resource => cluster.resource.contents(),
        Node::Client(_) => unreachable!("what a client knows is shown by what it does"),
    }
}

/// Whether the node does something of its own in it, or may again.
fn goes_on<S: Store>(happening: &Happening<S>) -> bool {
    matches!(
        happening,
        Happening::Delivered { .. }
            | Happening::Woke { .. }
            | Happening::Resumed { .. }
            | Happening::Restarted { .. }
    )
}
