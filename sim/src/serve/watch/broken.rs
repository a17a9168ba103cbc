//! How it all came out.

use super::claims::How;
use super::seen::times;
use super::witness::{self, Unread, promises};
use super::{Strike, Watch};
use crate::report::{Kind, Reason};
use picklock_model::machine::Node;
use picklock_model::time::Micros;
use picklock_properties::{ClientId, Promise, PromiseSet};
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
    /// What led to it.
    pub because: Vec<Because>,
    /// The fault that may have led to it: the last one that struck the first holder, or where the lock was. Whether it breaks without it
    /// nobody has tried.
    pub fault: Option<Strike>,
}

/// One thing that led to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Because {
    /// A client entered.
    Entered { client: String, at: Micros },
    /// A client's lease was over.
    LeaseOver { client: String, at: Micros },
    /// A server ended a client's session, of which it had not heard in time.
    SessionOver { client: String, server: u8, at: Micros },
    /// A fault struck.
    Struck { fault: String, at: Micros },
    /// A client has taken away on a server what was another one's; if that is known, which key.
    Taken { by: String, how: How, server: u8, whose: String, key: Option<String>, at: Micros },
    /// No fault struck from when a client asked for what it held until that was over, or since if it was not.
    NothingStruck { client: String, since: Micros, until: Option<Micros> },
}

/// What somebody does to what is another one's, and what that is.
fn taken(how: How, key: Option<&str>, whose: &str) -> (&'static str, String) {
    let what = match key {
        Some(key) => format!("{key}, which is {whose}'s"),
        None => format!("what is {whose}'s"),
    };
    match how {
        How::Deleted => ("deletes", what),
        How::Overwritten => ("overwrites", what),
        How::Shortened => ("cuts short", what),
    }
}

impl Because {
    /// When it was.
    pub(super) fn at(&self) -> Micros {
        match self {
            Because::Entered { at, .. }
            | Because::LeaseOver { at, .. }
            | Because::SessionOver { at, .. }
            | Because::Struck { at, .. }
            | Because::Taken { at, .. }
            | Because::NothingStruck { since: at, .. } => *at,
        }
    }

    /// The same for a picture, which has the time beside it. `blamed`: what is suspected.
    fn reason(&self, blamed: Option<&Strike>) -> Reason {
        let (kind, words) = match self {
            Because::Entered { client, .. } => (Kind::Milestone, format!("{client} enters")),
            Because::LeaseOver { client, .. } => (Kind::Gone, format!("{client}'s lease is over")),
            Because::SessionOver { client, server, .. } => {
                (Kind::Gone, format!("{} ends {client}'s session", Node::Server(*server)))
            }
            Because::Struck { fault, at } => {
                let is_it =
                    blamed.is_some_and(|strike| strike.at == *at && strike.fault.to_string() == *fault);
                (Kind::Fault, if is_it { format!("suspect: {fault}") } else { fault.clone() })
            }
            Because::Taken { by, how, server, whose, key, .. } => {
                let (does, what) = taken(*how, key.as_deref(), whose);
                (Kind::Gone, format!("{by} {does} on {} {what}", Node::Server(*server)))
            }
            Because::NothingStruck { client, until: None, .. } => {
                (Kind::Milestone, format!("{client} asks for it, and no fault strikes since"))
            }
            Because::NothingStruck { client, until: Some(_), .. } => {
                (Kind::Milestone, format!("{client} asks for it, and no fault strikes until it is over"))
            }
        };
        Reason { at_us: self.at().0, kind, words }
    }
}

impl Display for Because {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Because::Entered { client, at } => write!(f, "{client} entered at {at}"),
            Because::LeaseOver { client, at } => write!(f, "{client}'s lease was over at {at}"),
            Because::SessionOver { client, server, at } => {
                write!(f, "{} ended {client}'s session at {at}", Node::Server(*server))
            }
            Because::Struck { fault, at } => write!(f, "struck at {at}: {fault}"),
            Because::Taken { by, how, server, whose, key, at } => {
                let (does, what) = taken(*how, key.as_deref(), whose);
                write!(f, "{by} {does} on {} at {at} {what}", Node::Server(*server))
            }
            Because::NothingStruck { client, until: None, .. } => {
                write!(f, "no fault struck since {client} asked for it")
            }
            Because::NothingStruck { client, until: Some(until), .. } => {
                write!(f, "no fault struck from when {client} asked for it until it was over at {until}")
            }
        }
    }
}

impl Broken {
    /// What led to it, for a picture: the same as the lines say.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let blamed = self
            .fault
            .as_ref()
            .map(|strike| Because::Struck { fault: strike.fault.to_string(), at: strike.at });
        let unlisted = blamed.filter(|blamed| !self.because.contains(blamed));
        self.because.iter().chain(&unlisted).map(|because| because.reason(self.fault.as_ref())).collect()
    }
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
            because: broken.because.iter().map(Because::to_string).collect(),
            fault,
        }
    }
}

impl Display for Broken {
    /// A few lines: what broke, which fault is suspected, and what came before it.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} broken at {}: {}", self.property, self.at, self.words)?;
        if let Some(strike) = &self.fault {
            writeln!(f, "  suspect: {}, struck at {}", strike.fault, strike.at)?;
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
        let tested = watch.tested();
        let is_tested = match watch.asked {
            Some(asked) => asked.intersection(tested) == asked,
            None => !tested.is_empty(),
        };
        // What was said by those who were turned away nobody has heard, nor what nobody can read.
        let all_heard = watch.witness.refused == 0 && watch.witness.unread.is_none();
        match (watch.broken().next(), is_tested && all_heard) {
            (Some(_), _) => Verdict::Violated,
            (None, true) => Verdict::Kept,
            (None, false) => Verdict::Vacuous,
        }
    }
}

impl Watch {
    /// What was put to the test, as clients say, or as the servers saw.
    fn tested(&self) -> PromiseSet {
        let held = match self.has_witness() {
            true => self.witness.entered,
            false => self.claims.handed_out,
        };
        if held == 0 {
            return PromiseSet::EMPTY;
        }
        let exclusion = (self.turned_away > 0).then_some(Promise::MutualExclusion).into_iter().collect();
        if !self.has_witness() {
            return exclusion;
        }
        let told = self.witness.tested.intersection(promises()).union(exclusion);
        // Who asks for nothing but a fenced resource wants to know what becomes of a write that comes too late: there has to be one.
        let is_late = |promise: &Promise| *promise != Promise::FencedResource || self.witness.turned_down > 0;
        match self.asked {
            Some(_) => told.iter().filter(is_late).collect(),
            None => told,
        }
    }

    /// What is asked for and was not put to the test, or was.
    fn asked_in_words(&self, is_tested: bool) -> Option<String> {
        let tested = self.tested();
        let these = self.asked?.iter().filter(|promise| tested.contains(*promise) == is_tested);
        let names: Vec<&str> = these.map(Promise::name).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }

    /// The verdict in a few lines, of so many servers.
    pub fn summary(&self, servers: u8) -> String {
        let verdict = self.verdict_in_words(servers);
        match self.verdict() {
            // What broke broke, whatever else was there.
            Verdict::Violated => verdict,
            // There it is said already.
            Verdict::Vacuous if self.nobody_held() => verdict,
            Verdict::Kept | Verdict::Vacuous => {
                let few = self.few_used(servers).map(|few| format!("{few}\n"));
                verdict + &few.unwrap_or_default()
            }
        }
    }

    /// What the witness was told and cannot read.
    fn not_read(&self) -> String {
        let Some(Unread { count, first, why }) = &self.witness.unread else { return String::new() };
        let lines = match count {
            1 => format!("a line that it cannot read, {first:?}"),
            count => format!("{count} lines that it cannot read, the first of them {first:?}"),
        };
        format!("no verdict: the witness was told {lines}: {why}\n")
    }

    /// How often it mattered that writes are checked, where two may be in at once.
    fn told_of_fencing(&self) -> String {
        let (overlapped, late) = (times(self.overlapped_unasked), times(self.witness.turned_down));
        let in_time = match self.witness.turned_down_in_time {
            0 => String::new(),
            count => format!(", and one of the last to enter {}", times(count)),
        };
        format!(
            "{overlapped} while another one was in, and a write that came too late was turned down {late}{in_time}"
        )
    }

    fn verdict_in_words(&self, servers: u8) -> String {
        let count = self.broken().count();
        let held = match self.has_witness() {
            true => format!("clients said {} that they hold", times(self.witness.entered)),
            false => format!("the servers handed locks out {}", times(self.claims.handed_out)),
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
                let more = match count - promises.len() {
                    0 => String::new(),
                    1 => "and once more\n".to_owned(),
                    more => format!("and {more} times more\n"),
                };
                format!("{text}{more}{held}\n")
            }
            Verdict::Kept if !self.is_asked(Promise::MutualExclusion) => {
                let kept = self.asked_in_words(true).unwrap_or_default();
                format!("not broken: {kept}; {held}, {}\n", self.told_of_fencing())
            }
            Verdict::Kept if self.has_witness() => {
                let seen = match self.overlapped() {
                    0 => String::new(),
                    count => format!(
                        "the servers handed out {} what was another client's still, and no two clients said that they hold it\n",
                        times(count as u64)
                    ),
                };
                format!("not broken: {held}, and no two at once\n{seen}")
            }
            Verdict::Kept => format!(
                "not broken: {held}, to nobody before it was the last one's no more\n\
                 that is what servers know; whether two clients believed that they hold, a witness tells\n"
            ),
            Verdict::Vacuous if self.witness.refused > 0 => format!(
                "no verdict: the witness turned clients away {}, as there were more than {} of them, or of locks more than {}\n{held}\n",
                times(self.witness.refused),
                ClientId::MAX,
                witness::LOCKS_MAX
            ),
            Verdict::Vacuous if self.witness.unread.is_some() => format!("{}{held}\n", self.not_read()),
            Verdict::Vacuous if self.nobody_held() => {
                format!("no verdict: nobody ever held a lock\n{}", self.seen(servers))
            }
            Verdict::Vacuous => match self.asked_in_words(false) {
                Some(untested) if !self.is_asked(Promise::MutualExclusion) => format!(
                    "no verdict: {held}, {}; nothing put {untested} to the test\n",
                    self.told_of_fencing()
                ),
                Some(untested) if untested != Promise::MutualExclusion.name() => {
                    format!("no verdict: {held}; nothing put {untested} to the test\n")
                }
                _ => format!("no verdict: {held}, and nobody ever asked for one that was somebody's\n"),
            },
        }
    }
}
