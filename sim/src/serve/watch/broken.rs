//! How it all came out.

use super::witness::promises;
use super::{Strike, Watch};
use picklock_model::time::Micros;
use picklock_properties::Promise;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// Who says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// Clients, by what they told the witness: two of them believed it.
    Clients,
    /// Servers, by what they handed out: whether two clients believed it, they do not know.
    Servers,
}

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Broken {
    pub at: Micros,
    pub judged_by: JudgedBy,
    pub property: Promise,
    pub lock: String,
    /// Who broke it.
    pub client: String,
    /// Against whom.
    pub other: String,
    /// What it is in half a sentence.
    pub words: String,
    /// What led to it, a line each.
    pub because: Vec<String>,
    /// The fault that led to it, as far as that can be told: the last one that struck the first holder, or where the lock was.
    pub fault: Option<Strike>,
}

/// The same for other programs.
#[derive(Clone, Debug, Serialize)]
pub struct BrokenLine {
    pub property: Promise,
    pub judged_by: JudgedBy,
    pub at_us: i64,
    pub lock: String,
    pub client: String,
    pub other: String,
    pub words: String,
    pub because: Vec<String>,
    pub fault: Option<FaultLine>,
}

/// A fault that has struck, for other programs.
#[derive(Clone, Debug, Serialize)]
pub struct FaultLine {
    pub number: usize,
    pub at_us: i64,
    pub words: String,
}

impl From<&Broken> for BrokenLine {
    fn from(broken: &Broken) -> BrokenLine {
        let fault = broken.fault.as_ref().map(|strike| FaultLine {
            number: strike.number,
            at_us: strike.at.0,
            words: strike.fault.to_string(),
        });
        BrokenLine {
            property: broken.property,
            judged_by: broken.judged_by,
            at_us: broken.at.0,
            lock: broken.lock.clone(),
            client: broken.client.clone(),
            other: broken.other.clone(),
            words: broken.words.clone(),
            because: broken.because.clone(),
            fault,
        }
    }
}

impl Display for Broken {
    /// A few lines: what broke, by which fault, and what led to it.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} broken at {}: {}", self.property, self.at, self.words)?;
        if let Some(strike) = &self.fault {
            writeln!(f, "  by the fault  {}, struck at {}", strike.fault, strike.at)?;
        }
        self.because.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// How it all came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Violated,
    Kept,
    /// Nothing was broken, and nothing could have been.
    Vacuous,
}

impl Verdict {
    pub(super) fn of(watch: &Watch) -> Verdict {
        let is_tested = match watch.has_witness() {
            // Somebody wanted what another one had, as clients say, or as the servers saw.
            true => {
                let asked =
                    watch.turned_away > 0 || !watch.witness.tested.intersection(promises()).is_empty();
                watch.witness.entered > 0 && asked
            }
            false => watch.claims.handed_out > 0 && watch.turned_away > 0,
        };
        match (watch.broken().next(), is_tested) {
            (Some(_), _) => Verdict::Violated,
            (None, true) => Verdict::Kept,
            (None, false) => Verdict::Vacuous,
        }
    }
}

impl Watch {
    /// The verdict in a few lines.
    pub fn summary(&self) -> String {
        let times = self.broken().count();
        let held = match self.has_witness() {
            true => format!("clients said {} times that they hold", self.witness.entered),
            false => format!("the servers handed locks out {} times", self.claims.handed_out),
        };
        match self.verdict() {
            Verdict::Violated => {
                // Of each promise the first time: what came first need not be the gravest.
                let mut promises: Vec<Promise> = Vec::new();
                let mut text = String::new();
                for broken in self.broken() {
                    if !promises.contains(&broken.property) {
                        promises.push(broken.property);
                        text += &broken.to_string();
                    }
                }
                let more = match times - promises.len() {
                    0 => String::new(),
                    1 => "and once more\n".to_owned(),
                    more => format!("and {more} times more\n"),
                };
                format!("{text}{more}{held}\n")
            }
            Verdict::Kept if self.has_witness() => {
                let seen = match self.overlapped() {
                    0 => String::new(),
                    times => format!(
                        "the servers handed a lock out twice {times} times, and no two clients said that they hold it\n"
                    ),
                };
                format!("not broken: {held}, and no two at once\n{seen}")
            }
            Verdict::Kept => format!(
                "not broken: {held}, to nobody before it was the last one's no more\n\
                 that is what servers know; whether two clients believed that they hold, a witness tells\n"
            ),
            Verdict::Vacuous if self.witness.entered == 0 && self.claims.handed_out == 0 => {
                "no verdict: nobody ever held a lock\n".to_owned()
            }
            Verdict::Vacuous => {
                format!("no verdict: {held}, and nobody ever asked for one that was somebody's\n")
            }
        }
    }
}
