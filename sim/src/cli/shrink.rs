//! `picklock shrink TOKEN`: a failing run with as little in it as possible; and how little that is, over the catalogue.

mod catalogue;
mod length;

use super::jobs::Jobs;
use super::progress::Progress;
use super::screen::{Screen, Tone, counted, fitting, grouped, sentence};
use super::{BadCall, Ending, given, interrupt, last, names, next};
use crate::plans::shrink::Size;
use crate::registry::{Locks, Reduced, ShrinkHow};
use crate::token::Token;
use clap::Args;
use picklock_properties::Promise;
use serde::Serialize;
use std::fmt::Write;

/// Makes a failing run small: the fewest faults, clients, servers, rounds and steps that still break the promise
#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\n{EXAMPLES}", given::WHAT))]
pub struct ShrinkToken {
    /// What matrix, sweep, hunt and scenarios print, pk5_…, or a short name: redlock:pause:3, @last
    #[arg(required_unless_present = "catalogue")]
    token: Option<String>,
    /// Keeps this promise broken, not the one that the token was printed for, or else the gravest that the run breaks
    #[arg(long = "property", value_name = "P")]
    property: Option<String>,
    /// Keeps all servers; without, only those stay without which the lock would be another one: three of Redlock
    #[arg(long, conflicts_with = "catalogue")]
    keep_servers: bool,
    /// Measures it: shrinks what random plans find of each row of the catalogue that has a hunt
    #[arg(long, conflicts_with_all = ["token", "property"])]
    catalogue: bool,
    /// With --catalogue: from how many starting points each failure is looked for, 1 to 100000; start K, from 0, begins at seed K × 1000000
    #[arg(long, value_name = "N", default_value_t = 3, requires = "catalogue")]
    starts: u64,
    #[command(flatten)]
    jobs: Jobs,
}

const EXAMPLES: &str = "\
Examples:
  picklock shrink redlock:pause:70
  picklock replay $(picklock shrink redlock:pause:70 --json | jq -r .token) --out run.html
  picklock shrink --catalogue

Of the catalogue: steps are all that a trace shows, up to the one that breaks the promise; of promises of \
progress, all of the run. Beside them, to compare with the shortest counterexample of the exhaustive search: \
steps in which a node does something (a message, a deadline or a restart, no ticks, no faults), what it does \
again counted once / every time. Exits 5 if in the middle more than half of the steps or faults is left, a \
failure was not found, or a shrunk run breaks another promise.

^C ends it with the smallest run so far. Exits 1, for what is left still breaks the promise; 0 if nothing is broken.";

#[derive(Serialize)]
struct Document {
    token: String,
    property: Option<Promise>,
    before: Option<Size>,
    after: Option<Size>,
    plan: Vec<String>,
    runs: u64,
    interrupted: bool,
}

impl ShrinkToken {
    /// Shrinks it.
    pub fn run(self, locks: &Locks, screen: &mut Screen) -> Result<Ending, BadCall> {
        let Some(token) = &self.token else { return catalogue::run(locks, self.starts, &self.jobs, screen) };
        let Some(token) = given::token(locks, token)? else { return Ok(Ending::Incomplete) };
        let lock = names::lock_of(locks, &token)?;
        let wanted = names::promises(self.property.as_slice())?.iter().next();
        let progress = Progress::seeds();
        let on_run = |runs| progress.set(runs);
        let usual = ShrinkHow::new(interrupt::flag(), &on_run);
        let how = ShrinkHow { promise: wanted, keep_servers: self.keep_servers, ..usual };
        let reduced = lock
            .shrink(&token, &how)
            .map_err(|error| BadCall(format!("this token cannot be shrunk: {error}")))?;
        drop(progress);
        let document = Document::of(&token, reduced);
        let is_kept = last::keep([document.token.as_str()]);
        let name = if is_kept { "@last" } else { document.token.as_str() };
        screen.text(&text(&document, name, screen));
        screen.versioned(&document);
        Ok(Ending::broken_if(document.property.is_some()))
    }
}

impl Document {
    fn of(token: &Token, reduced: Reduced) -> Document {
        let plain = |property| Document {
            token: token.encode(),
            property,
            before: None,
            after: None,
            plan: Vec::new(),
            runs: 0,
            interrupted: false,
        };
        match reduced {
            Reduced::NothingBroken => plain(None),
            Reduced::Shortest { promise } => plain(Some(promise)),
            Reduced::Shrunk { promise, token, before, after, plan, runs, interrupted } => Document {
                token: token.encode(),
                property: Some(promise),
                before: Some(before),
                after: Some(after),
                plan: plan.lines().map(str::to_owned).collect(),
                runs,
                interrupted,
            },
        }
    }
}

/// `name` is what the small run can be called by.
fn text(document: &Document, name: &str, screen: &Screen) -> String {
    let paint = screen.paint();
    let mut text = String::new();
    let Some(promise) = document.property else {
        return format!("{}\n", paint.text(Tone::Good, "no promise was broken: there is nothing to shrink"));
    };
    let (Some(before), Some(after)) = (document.before, document.after) else {
        let why = format!(
            "{promise} is broken by a path of the exhaustive search, which goes from the shortest to the longest: there is no \
             shorter one"
        );
        return format!("{}\n{}\n", sentence(&why), document.token);
    };
    let _ = writeln!(text, "{}", paint.text(Tone::Bad, &format!("{promise} broken, with")));
    let parts = [
        ("fault", before.faults.into(), after.faults.into()),
        ("client", before.clients.into(), after.clients.into()),
        ("server", before.servers.into(), after.servers.into()),
        ("round", before.rounds.into(), after.rounds.into()),
        ("step", before.steps, after.steps),
    ];
    for (what, before, after) in parts {
        let was = if before == after { String::new() } else { format!("  (was {})", grouped(before)) };
        let _ = writeln!(text, "  {}{}", counted(after, what), paint.text(Tone::Faint, &was));
    }
    text.push('\n');
    document.plan.iter().for_each(|line| text += &fitting(line, Screen::width(), "  "));
    let _ = write!(text, "\n{}\n\n{}", document.token, next::of_small(name));
    if document.interrupted {
        let _ = writeln!(
            text,
            "\n{}",
            paint.text(
                Tone::Unclear,
                &format!("stopped after {}: more may go", counted(document.runs, "run"))
            )
        );
    }
    text
}
