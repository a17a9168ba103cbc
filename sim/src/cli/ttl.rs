//! `picklock ttl`: the smallest safe TTL of the Cassandra queue lock, by skew and pause, beside the formula it should obey.

use super::progress::Progress;
use super::screen::{Rows, Screen, Tone, cell, lines, sentence};
use super::{BadCall, Ending, interrupt, states_within};
use clap::Args;
use comfy_table::{Cell, CellAlignment};
use picklock_model::claims::lease_lengths::{AUTHORS_TTL_SECONDS, Answer, Found, Holder, Question};
use picklock_model::explore::Limits;
use serde::Serialize;

/// Finds the smallest TTL under which the Cassandra queue lock excludes, by skew and pause
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ttl {
    /// By how many seconds the coordinators' clocks differ, at most: 0 to 9
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    skew: u8,
    /// For how many seconds a client may pause, at most: 0 to 9
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pause: u8,
    /// For how many seconds a message between servers may be under way: 0 to 9
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    latency: u8,
    /// Gives up a TTL whose space has more states; an incomplete search is no number
    #[arg(long, value_name = "N", default_value_t = 4_000_000)]
    max_states: u64,
}

const EXAMPLES: &str = "\
Examples:
  picklock ttl
  picklock ttl --skew 1 --pause 1
  picklock ttl --skew 0 --pause 0 --latency 1
  picklock ttl --json

Every schedule of two clients on two coordinators, for TTLs of 1, 2, 3… seconds, until one keeps mutual exclusion. Each \
number stands before what the formula says. As written the holder renews every half TTL and believes that it holds; a \
holder that minds its lease stops by its own clock, a second more than skew and pause before the TTL is over.

Exits 5 if a number differs from its formula, 3 if it was not found.";

/// Above this the spaces are larger than anybody waits for.
const SECONDS_MAX: u8 = 9;

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    question: Question,
    formula_seconds: u32,
    #[serde(flatten)]
    found: Found,
    as_formula: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    rows: Rows<'a, Row>,
    authors_ttl_seconds: u32,
    /// How much skew and pause together the authors' TTL bears as written, by the formula; `null` unless every search ended, and agrees with it.
    borne_seconds: Option<u32>,
}

impl Ttl {
    /// Searches all.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        states_within(self.max_states)?;
        for (name, seconds) in [("skew", self.skew), ("pause", self.pause), ("latency", self.latency)] {
            if seconds > SECONDS_MAX {
                return Err(BadCall(format!("--{name} {seconds}: it takes 0 to {SECONDS_MAX} seconds")));
            }
        }
        let progress = Progress::states();
        let limits = Limits {
            states_max: self.max_states,
            stop: interrupt::flag(),
            on_progress: &|seen| progress.search(seen),
        };
        let questions = self.questions();
        let mut rows: Vec<Row> = Vec::new();
        for question in &questions {
            if interrupt::happened() {
                break;
            }
            progress.begin(format!("skew {}s, pause {}s", question.skew_seconds, question.pause_seconds));
            rows.push(Row::new(*question, &limits));
        }
        drop(progress);
        screen.text(&table(&rows, screen));
        let borne_seconds = Question::borne_seconds(AUTHORS_TTL_SECONDS, u32::from(self.latency));
        let complete = rows.len() == questions.len();
        // The formula speaks for the authors' TTL only if it was right wherever it was asked.
        let borne_seconds = Some(borne_seconds).filter(|_| complete && rows.iter().all(|row| row.as_formula));
        if let Some(borne_seconds) = borne_seconds {
            let borne = format!(
                "by the formula, the authors' TTL of {} minutes tolerates {borne_seconds}s of skew and pause together, as written",
                AUTHORS_TTL_SECONDS / 60
            );
            screen.text(&format!("\n{}", sentence(&borne)));
        }
        if !complete {
            let ended = rows.iter().filter(|row| row.ending() != Ending::Incomplete).count();
            let note =
                format!("stopped after {ended} of {} searches: the rest is NOT a pass\n", questions.len());
            screen.text(&screen.paint().text(Tone::Unclear, &note));
        }
        screen.document(&Document {
            rows: Rows::new(&rows, complete),
            authors_ttl_seconds: AUTHORS_TTL_SECONDS,
            borne_seconds,
        });
        let missing = Ending::Incomplete.or_fine(!complete);
        Ok(rows.iter().map(Row::ending).fold(missing, Ending::max))
    }

    fn questions(&self) -> Vec<Question> {
        let mut questions = Vec::new();
        for skew_seconds in 0..=self.skew {
            for pause_seconds in 0..=self.pause {
                for holder in [Holder::AsWritten, Holder::MindsItsLease] {
                    let latency_seconds = self.latency;
                    questions.push(Question { skew_seconds, pause_seconds, latency_seconds, holder });
                }
            }
        }
        questions
    }
}

impl Row {
    fn new(question: Question, limits: &Limits) -> Row {
        let formula_seconds = question.formula();
        // One more than the formula says: a number that differs is seen to differ.
        let found = question.smallest_safe_ttl(formula_seconds + 1, limits);
        let as_formula = found.answer == Answer::Seconds(formula_seconds);
        Row { question, formula_seconds, found, as_formula }
    }

    fn ending(&self) -> Ending {
        match self.found.answer {
            Answer::IncompleteAt(_) => Ending::Incomplete,
            Answer::Seconds(_) | Answer::NoneUpTo(_) => Ending::Unexpected.or_fine(!self.as_formula),
        }
    }
}

fn table(rows: &[Row], screen: &Screen) -> String {
    let mut table = screen.paint().table(&["skew", "pause", "as written", "minds its lease", "states"]);
    for pair in rows.chunks(2) {
        let Question { skew_seconds, pause_seconds, .. } = pair[0].question;
        let number = |text: String| cell(Tone::Plain, &text).set_alignment(CellAlignment::Right);
        let mut cells = vec![number(format!("{skew_seconds}s")), number(format!("{pause_seconds}s"))];
        cells.extend(pair.iter().map(answer));
        cells.resize_with(4, || cell(Tone::Plain, ""));
        cells.push(number(pair.iter().map(|row| row.found.states).sum::<u64>().to_string()));
        table.add_row(cells);
    }
    lines(&table)
}

fn answer(row: &Row) -> Cell {
    let found = match row.found.answer {
        Answer::Seconds(seconds) => format!("{seconds}s"),
        Answer::NoneUpTo(seconds) => format!("more than {seconds}s"),
        Answer::IncompleteAt(seconds) => format!("unknown from {seconds}s on"),
    };
    let (tone, mark) = match (row.as_formula, row.found.answer) {
        (true, _) => (Tone::Good, "="),
        (false, Answer::IncompleteAt(_)) => (Tone::Unclear, "?"),
        (false, Answer::Seconds(_) | Answer::NoneUpTo(_)) => (Tone::Bad, "≠"),
    };
    cell(tone, &format!("{found} {mark} {}s", row.formula_seconds)).set_alignment(CellAlignment::Right)
}
