//! Faults of one kind at one node as one cause, where a chain would be too long to read.

use super::cut::cut_off;
use super::doubled::AGAIN;
use super::{Cause, Kind, RESOURCE};
use picklock_engine::report::{JsonEvent, Story};
use std::collections::BTreeSet;

/// A cause of a chain, and how many like it were left out.
pub(super) struct Told {
    cause: Cause,
    like: (&'static str, Option<String>),
    /// The first one's place among all causes.
    nth: usize,
    times: usize,
    /// Whether all that stand for are messages that begin alike, or none.
    is_alike: bool,
    /// The latest one's message.
    latest: Option<String>,
}

impl Told {
    /// Whether nothing else stands between this and another one.
    pub(super) fn is_next_to(&self, other: &Told) -> bool {
        self.nth + self.times == other.nth
    }
}

/// How a message begins: `SET`, `keep`, `ping`.
fn beginning(event: &JsonEvent) -> Option<&str> {
    event.message.as_deref().and_then(|message| message.split(' ').next())
}

/// The resource, if the message is to it or from it.
fn resource_of(event: &JsonEvent) -> Option<&str> {
    [&event.from, &event.to].into_iter().flatten().map(String::as_str).find(|node| *node == RESOURCE)
}

/// Faults of one kind at one node as one cause.
pub(super) fn together(story: &Story, causes: &[Cause], may: impl Fn(&Told, &Told) -> bool) -> Vec<Cause> {
    let mut chain: Vec<Told> = Vec::new();
    let others = causes.iter().filter(|cause| cause.kind != Kind::Fault);
    let others: BTreeSet<usize> = others.map(|cause| cause.position).collect();
    for (nth, cause) in causes.iter().enumerate() {
        let event = &story.events[cause.position];
        let of = match event.what {
            // A partition cuts links of many nodes, all at one moment.
            "link-cut" => Some(event.at_us.to_string()),
            // A bad network loses messages of all; but what a holder's work waits for is not what somebody else's request waits for.
            "lost" | "duplicated" => resource_of(event).map(str::to_owned),
            // That one of which something came is told by itself.
            "delivered" if others.contains(&cause.position) => Some(cause.position.to_string()),
            // A second copy need not be late.
            "delivered" => cause.words.ends_with(AGAIN).then(|| AGAIN.to_owned()),
            // One may come back with what it had, and another time without.
            "restarted" => Some(cause.words.clone()),
            _ => event.node.clone(),
        };
        // What servers do of their own accord is alike whichever does it.
        let like = event.remark.map_or((event.what, of), |remark| (remark, None));
        let told =
            Told { cause: cause.clone(), like, nth, times: 1, is_alike: true, latest: event.message.clone() };
        let is_fault = |told: &Told| told.cause.kind == Kind::Fault;
        let earlier = chain
            .iter_mut()
            .rev()
            .find(|earlier| is_fault(earlier) && earlier.like == told.like && may(earlier, &told));
        match earlier.filter(|_| is_fault(&told)) {
            Some(earlier) => {
                earlier.times += 1;
                earlier.latest = told.latest;
                let first = beginning(&story.events[earlier.cause.position]);
                earlier.is_alike &= event.remark.is_some() || first == beginning(event);
            }
            None => chain.push(told),
        }
    }
    let counted = |told: Told| match told.times {
        1 => told.cause,
        times => {
            let cut = cut_off(story.events, told.cause.position).filter(|(_, links)| *links <= times);
            let is_of_links = story.events[told.cause.position].what == "link-cut";
            let (words, told_of) =
                cut.filter(|_| is_of_links).unwrap_or_else(|| (told.cause.words.clone(), 1));
            // A single other one may be what matters.
            let latest = told.latest.as_ref().map(|message| format!("\"{message}\""));
            let another = latest.unwrap_or_else(|| "another message".to_owned());
            let words = match (times - told_of, story.events[told.cause.position].what) {
                (0, _) => words,
                (more, "link-cut") => format!("{words}, and {} cut", links(more)),
                (1, "lost" | "duplicated") if !told.is_alike => format!("{words}, and so is {another}"),
                (more, "lost" | "duplicated") if !told.is_alike => {
                    format!("{words}, and so are {more} other messages")
                }
                (1, _) if !told.is_alike => format!("{words}, and so does {another}"),
                (more, _) if !told.is_alike => format!("{words}, and so do {more} other messages"),
                (more, _) => format!("{words}, and {more} more like it"),
            };
            Cause { words, ..told.cause }
        }
    };
    chain.into_iter().map(counted).collect()
}

/// `1 more link is`, `16 more links are`.
fn links(count: usize) -> String {
    if count == 1 { "1 more link is".to_owned() } else { format!("{count} more links are") }
}
