//! Another run: what else could have happened in a step, and what became of it.

use picklock_engine::registry::{AnyLock, Other, RunError};
use picklock_engine::report::{JsonEvent, TextOptions};
use picklock_engine::token::Token;
use picklock_model::time::Micros;
use picklock_properties::Promise;
use picklock_reported::Reported;

/// A run that is another one from a step on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherRun {
    /// In which step, from 1.
    pub step: usize,
    /// What happens in it: `s1 gets B's read Q`.
    pub words: String,
    /// How many of the later steps of the first run are not possible any more.
    pub left_out: usize,
    /// Replays it.
    pub token: String,
    /// What it breaks, in words, with the promise's name first: the one that it is shown for first.
    pub broken: Vec<String>,
    /// Of these the promise that it is shown for.
    pub shown_for: Option<Promise>,
    /// Whether it is another run than one in which something never comes: of this one that is not judged.
    pub of_progress: bool,
    /// Its steps, from the beginning.
    pub events: Vec<JsonEvent>,
}

/// What is said of a run that ends, where the first one went round for ever.
pub const WAITS_UNJUDGED: &str = "whether anybody waits for ever in it is not judged";

impl OtherRun {
    /// What the one run shows: `nothing is broken in this run, 31 steps`.
    pub fn outcome(&self) -> String {
        let breaks = |event: &&JsonEvent| {
            event.violations.iter().any(|violation| Some(violation.property) == self.shown_for)
        };
        match (self.shown_for, self.events.iter().find(breaks)) {
            (Some(promise), Some(event)) => format!("breaks {promise} in step {}", event.step),
            (_, _) if self.of_progress => {
                format!("no step breaks a promise, {}; {WAITS_UNJUDGED}", steps(self.events.len()))
            }
            (_, _) => format!("nothing is broken in this run, {}", steps(self.events.len())),
        }
    }

    /// How much of the first run is missing in it, if anything is: `2 steps left out`.
    pub fn left_out_in_words(&self) -> Option<String> {
        (self.left_out > 0).then(|| format!("{} left out", steps(self.left_out)))
    }
}

fn steps(number: usize) -> String {
    format!("{number} step{}", if number == 1 { "" } else { "s" })
}

/// The other runs of a step, each run and in words.
///
/// # Errors
/// If the token's run is one of a seed, or has no such step.
pub fn other_runs(lock: &dyn AnyLock, token: &Token, step: usize) -> Result<Vec<OtherRun>, RunError> {
    let shown = TextOptions { last: Some(0), ..TextOptions::default() };
    let of_progress = token.promise.is_some_and(|promise| promise.is_of_progress());
    let mut runs = Vec::new();
    for Other { token, left_out } in lock.others(token, step)? {
        let replay = lock.replay(&token, &shown)?;
        let broken = replay.in_words();
        let broken = broken.iter().map(|broken| format!("{}: {}", broken.property, broken.words));
        runs.push(OtherRun {
            step,
            words: happens(&replay.events[step - 1]),
            left_out,
            token: token.encode(),
            broken: broken.collect(),
            shown_for: replay.shown_for,
            of_progress,
            events: replay.events,
        });
    }
    tell_apart(&mut runs);
    Ok(runs)
}

/// Where several would be called the same, says what comes of each at once.
fn tell_apart(runs: &mut [OtherRun]) {
    let names: Vec<String> = runs.iter().map(|run| run.words.clone()).collect();
    let times = |names: &[String], name: &String| names.iter().filter(|other| *other == name).count();
    for run in runs.iter_mut().filter(|run| times(&names, &run.words) > 1) {
        let next = follows(&run.events[run.step - 1]);
        run.words = format!("{}, and then {next}", run.words);
    }
    let names: Vec<String> = runs.iter().map(|run| run.words.clone()).collect();
    for (nth, name) in names.iter().enumerate().filter(|(_, name)| times(&names, name) > 1) {
        let number = times(&names[..=nth], name);
        runs[nth].words = format!("{name}, in way {number}");
    }
}

/// What the node of a step does in it.
fn follows(event: &JsonEvent) -> String {
    let sent = event.sent.iter().map(|sent| format!("{} is sent {}", sent.to, sent.message));
    let did = event.reported.iter().cloned().chain(sent).collect::<Vec<_>>();
    match event.doing {
        _ if !did.is_empty() => did.join(", "),
        Some(doing) => doing.to_owned(),
        None => "nothing".to_owned(),
    }
}

/// What happens in a step, as a sentence without a full stop: `s1 gets B's read Q`.
pub fn happens(event: &JsonEvent) -> String {
    let node = event.node.as_deref().map_or("nobody", of_name);
    let from = event.from.as_deref().map_or("nobody", of_name);
    let to = event.to.as_deref().map_or("nobody", of_name);
    let message = event.message.as_deref().unwrap_or("message");
    let by = Micros(event.by_us.unwrap_or(0));
    let length = Micros(by.0.abs());
    match event.what {
        "delivered" => format!("{to} gets {from}'s {message}"),
        "lost" => format!("{from}'s {message} to {to} is lost"),
        "duplicated" => format!("{from}'s {message} to {to} is doubled"),
        "woke" => {
            let did = event.remark.or(event.doing).map_or_else(String::new, |did| format!(": {did}"));
            match (event.wake, call_words(event)) {
                (Some("app"), Some(call)) => call + &did,
                (Some("app"), None) => format!("{node} goes on by itself{did}"),
                (_, _) => format!("{node}'s timer goes off{did}"),
            }
        }
        "ticked" => "time passes".to_owned(),
        "ticked-unevenly" if by.0 < 0 => format!("time passes, of which {node}'s clocks miss {length}"),
        "ticked-unevenly" => format!("time passes, and {node}'s clocks count {length} too much"),
        "paused" => format!("{node} pauses"),
        "suspended" => format!("{node} is suspended with its machine"),
        "resumed" => format!("{node} goes on after its pause"),
        "crashed" if event.power_lost == Some(true) => format!("{node} loses power"),
        "crashed" => format!("{node} crashes"),
        "restarted" => format!("{node} starts again"),
        "clock-stepped" if by.0 < 0 => format!("{node}'s clock steps back {length}"),
        "clock-stepped" => format!("{node}'s clock steps forward {length}"),
        "clock-froze" => format!("{node}'s clock stops"),
        "clocks-froze" => "all clients' clocks stop, and show the same".to_owned(),
        other => format!("{node}: {other}"),
    }
}

/// What a client asks for in a step in which it goes on by itself, in a sentence: `A calls lock`.
pub fn call_words(event: &JsonEvent) -> Option<String> {
    let mut reported = event.reported.iter().filter_map(|report| Reported::parse(report));
    reported.find(Reported::is_call).map(|call| call.sentence())
}

fn of_name(node: &str) -> &str {
    if node == "resource" { "the resource" } else { node }
}
