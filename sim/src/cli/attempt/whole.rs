//! How all rounds of a trial came out together: the verdict, in a line and as a document.

use super::children::Ended;
use crate::cli::Ending;
use crate::cli::screen::counted;
use crate::cli::serve::told::Told;
use crate::cli::sweep::names_of;
use crate::plans::plan::Plan;
use crate::seeded::network::Network;
use crate::serve::watch::Verdict;
use picklock_model::machine::Node;
use picklock_model::time::Micros;
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;

/// How a round came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// It was to its end, or something broke.
    Done,
    /// ^C, or SIGTERM.
    Interrupted,
    /// It could not go on, and is not counted.
    Failed,
}

/// The end of a client that nobody had asked to end, or that it has left the witness, for machines.
#[derive(Serialize)]
pub struct EndedLine {
    at_us: Micros,
    client: String,
    status: String,
    last_words: String,
    started_again: bool,
    /// Its process has not ended: it has left the witness.
    #[serde(skip)]
    runs_on: bool,
    /// It is to be started again, and the round is over before.
    #[serde(skip)]
    pub is_due: bool,
    /// It had been started again, and ended before it said anything.
    #[serde(skip)]
    came_to_nothing: bool,
}

impl EndedLine {
    /// `is_due`: it is to be started again. `came_to_nothing`: it had been, and had not said anything yet.
    pub fn of(ended: &Ended, at: Micros, is_due: bool, came_to_nothing: bool) -> EndedLine {
        EndedLine {
            at_us: at,
            client: Node::Client(ended.client).to_string(),
            status: ended.status.to_string(),
            last_words: ended.last_words.clone(),
            started_again: false,
            runs_on: false,
            is_due,
            came_to_nothing,
        }
    }

    /// Of a client that runs on, and has had no connection to the witness since then.
    pub fn left(client: u8, since: Micros) -> EndedLine {
        EndedLine {
            at_us: since,
            client: Node::Client(client).to_string(),
            status: "runs on, without a connection to the witness".to_owned(),
            last_words: String::new(),
            started_again: false,
            runs_on: true,
            is_due: false,
            came_to_nothing: false,
        }
    }

    /// It is started again.
    pub fn starts_again(&mut self) {
        (self.started_again, self.is_due) = (true, false);
    }

    /// Whether it was waited for to be started again, and is this client's.
    pub fn waits(&self, client: u8) -> bool {
        self.is_due && self.client == Node::Client(client).to_string()
    }

    /// Whether it was missing for the rest of the round, or came back to nothing.
    fn is_missed(&self) -> bool {
        self.came_to_nothing || !(self.started_again || self.is_due)
    }

    /// In a line.
    pub fn in_words(&self) -> String {
        let EndedLine { client, status, last_words, .. } = self;
        if self.runs_on {
            return format!("{client} {status}\n");
        }
        let last = if last_words.is_empty() { String::new() } else { format!(": {last_words}") };
        format!("{client} has ended ({status}){last}\n")
    }
}

/// A round, for machines.
#[derive(Serialize)]
pub struct RoundLine {
    pub round: u64,
    pub seed: Option<u64>,
    pub seconds: f64,
    #[serde(flatten)]
    pub told: Told,
    pub faults_struck: usize,
    pub messages_lost: u64,
    pub ended: Vec<EndedLine>,
    /// Something was to strike, and nothing did.
    #[serde(skip)]
    pub is_idle: bool,
    /// No client asked a server for anything.
    #[serde(skip)]
    pub is_unused: bool,
}

impl RoundLine {
    /// Whether somebody was missing for the rest of it: what was not tried there is no pass.
    fn is_cut_short(&self) -> bool {
        self.ended.iter().any(EndedLine::is_missed)
    }
}

/// Whether nothing came of a plan that asks for something, when so many faults struck and so many messages were lost.
pub fn is_idle(plan: &Plan, faults_struck: usize, messages_lost: u64) -> bool {
    let is_slow = !Network { loss_per_mille: 0, reply_loss_per_mille: 0, ..plan.network }.is_of_a_good_day();
    let asks = !plan.faults.is_empty() || !plan.network.is_of_a_good_day();
    asks && !is_slow && faults_struck == 0 && messages_lost == 0
}

/// All rounds, for machines.
#[derive(Serialize)]
pub struct Document {
    complete: bool,
    verdict: Verdict,
    /// Of which promises; none: of all that clients can break.
    properties: Vec<Promise>,
    rounds: usize,
    broken_rounds: usize,
    /// In how many a client ended by itself, and was not started again, or left the witness.
    cut_short_rounds: usize,
    seconds: f64,
    rows: Vec<RoundLine>,
}

/// All rounds.
pub struct Whole {
    pub lines: Vec<RoundLine>,
    /// How the last one ended.
    pub over: Over,
    /// The promises that were asked for; none: all that can be judged.
    pub asked: PromiseSet,
    pub seconds: f64,
}

impl Whole {
    fn count(&self, verdict: Verdict) -> usize {
        self.lines.iter().filter(|line| line.told.verdict == verdict).count()
    }

    fn cut_short(&self) -> usize {
        self.lines.iter().filter(|line| line.is_cut_short()).count()
    }

    /// Whether nothing of what was to strike did, in any round.
    fn is_idle(&self) -> bool {
        self.lines.iter().all(|line| line.is_idle)
    }

    /// Whether no client ever asked a server for anything: their lock is none of these servers'.
    fn is_unused(&self) -> bool {
        self.lines.iter().all(|line| line.is_unused)
    }

    fn verdict(&self) -> Verdict {
        match (self.count(Verdict::Violated), self.count(Verdict::Kept)) {
            (1.., _) => Verdict::Violated,
            (0, 1..) if !self.is_idle() && !self.is_unused() => Verdict::Kept,
            (0, _) => Verdict::Vacuous,
        }
    }

    fn is_complete(&self) -> bool {
        self.over == Over::Done && self.cut_short() == 0
    }

    /// How it ends the command.
    pub fn ending(&self) -> Ending {
        match self.verdict() {
            Verdict::Violated => Ending::Broken,
            Verdict::Kept | Verdict::Vacuous if !self.is_complete() => Ending::Incomplete,
            Verdict::Kept => Ending::Fine,
            Verdict::Vacuous => Ending::Vacuous,
        }
    }

    /// In a line.
    pub fn in_words(&self) -> String {
        let count = self.lines.len() as u64;
        let (rounds, kept) = (counted(count, "round"), self.count(Verdict::Kept));
        let any = |is_so: fn(&RoundLine) -> bool| self.lines.iter().any(is_so);
        match (self.verdict(), self.over) {
            (Verdict::Violated, _) => {
                let broken = self.count(Verdict::Violated);
                format!("broken in {broken} of {rounds}, {:.0} s\n", self.seconds)
            }
            (Verdict::Kept, Over::Interrupted) => {
                let kept = counted(kept as u64, "round");
                format!("stopped in round {count}: not broken so far, and {kept} put it to the test\n")
            }
            (Verdict::Vacuous, Over::Interrupted) => {
                format!("stopped in round {count}: no verdict so far\n")
            }
            (_, Over::Failed) => {
                format!(
                    "the round after {rounds} could not go on, which is no pass: {kept} put it to the test\n"
                )
            }
            (_, Over::Done) if self.cut_short() > 0 => format!(
                "cut short, which is no pass: in {} of {rounds} a client ended by itself or left the witness, and the rest was tried without it; clients \
                 go on until the witness does not answer, and --restart starts again who ended\n",
                self.cut_short()
            ),
            (Verdict::Kept, _) => format!("not broken in {rounds}, {kept} of which put it to the test\n"),
            (Verdict::Vacuous, _) if any(|line| line.told.unread_lines > 0) => {
                format!("no verdict: in {rounds} the witness was told lines that it cannot read\n")
            }
            (Verdict::Vacuous, _) if !any(|line| !line.told.nobody_held()) => {
                format!("no verdict: in {rounds} nobody ever held a lock\n")
            }
            (Verdict::Vacuous, _) if self.is_unused() => {
                format!("no verdict: in {rounds} no client asked a server for anything\n")
            }
            (Verdict::Vacuous, _) if self.is_idle() => {
                format!("no verdict: in {rounds} nothing struck of what was to strike\n")
            }
            (Verdict::Vacuous, _) if !self.asked.is_empty() => {
                let asked = names_of(self.asked).join(", ");
                format!("no verdict: in {rounds} none put all that was asked for to the test ({asked})\n")
            }
            (Verdict::Vacuous, _) => {
                format!("no verdict: in {rounds} nobody asked for a lock that another one had\n")
            }
        }
    }

    pub fn document(self) -> Document {
        Document {
            complete: self.is_complete(),
            verdict: self.verdict(),
            properties: self.asked.iter().collect(),
            rounds: self.lines.len(),
            broken_rounds: self.count(Verdict::Violated),
            cut_short_rounds: self.cut_short(),
            seconds: self.seconds,
            rows: self.lines,
        }
    }
}
