//! A run as its pictures need it: what happened, step by step, and all that is known of it.

use super::{JsonEvent, TimeColumn};
use picklock_properties::Promise;

/// A run that is over, with what a picture of it says beside the steps.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    /// The lock's name.
    pub lock: &'a str,
    /// What is not as it is by default: `own_id_check=true`.
    pub settings: &'a [String],
    /// The token that replays the run; empty if nothing does.
    pub token: &'a str,
    /// What runs it again, where that is not the command with the token; empty otherwise.
    pub again: &'a str,
    /// What broke, in words, with the promise's name first.
    pub broken: &'a [String],
    /// Of these the promise that the run is shown for.
    pub shown_for: Option<Promise>,
    /// Why it broke, where that is known to whoever tells it, and need not be sought in the steps; empty otherwise.
    pub reasons: &'a [Reason],
    /// What is known of such runs, in sentences: the row of the catalogue that it was asked for by.
    pub about: &'a [String],
    /// The fault plan, a line each; none for a path of the exhaustive engine.
    pub plan: &'a [String],
    /// All nodes: clients, attendants, servers, and the resource if somebody writes to it.
    pub nodes: &'a [String],
    /// How many locks there are: with several, two holders at once are no overlap.
    pub locks: u8,
    /// The steps.
    pub events: &'a [JsonEvent],
    /// A lasso: the steps from this position on go round for ever.
    pub loop_start: Option<usize>,
    /// How true time is shown: if in ticks, many steps share an instant.
    pub time: TimeColumn,
}

/// One thing that led to what broke.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// When it was.
    pub at_us: i64,
    /// What it is.
    pub kind: Kind,
    /// What happens, without a full stop.
    pub words: String,
}

/// What a cause is, and its colour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A server stores what a grant rests on.
    Record,
    /// A client was told something, or asks for it.
    Milestone,
    /// What struck.
    Fault,
    /// What a grant rested on is not stored any more.
    Gone,
    /// Where steps begin to repeat for ever.
    Loop,
    /// What breaks, or never comes.
    Breaks,
}

impl Kind {
    /// Its name in the style sheet.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Record => "record",
            Kind::Milestone => "milestone",
            Kind::Fault => "fault",
            Kind::Gone => "gone",
            Kind::Loop => "loop",
            Kind::Breaks => "breaks",
        }
    }
}
