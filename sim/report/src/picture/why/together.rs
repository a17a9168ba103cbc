//! Faults of one kind at one node as one cause, where a chain would be too long to read.

use super::cut::cut_off;
use super::doubled::AGAIN;
use super::late::OVERTAKEN;
use super::{Cause, Kind, RESOURCE};
use picklock_engine::report::{JsonEvent, Story};
use std::collections::{BTreeMap, BTreeSet};

/// Whose message a fault has struck. What strikes one of them is not told under what strikes another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Struck {
    /// What those have in common that may be told as one.
    pub(super) whose: String,
    /// The last one before this step is told, and the others behind it; `None`: the first one.
    pub(super) until: Option<usize>,
}

/// A cause of a chain, and how many like it were left out.
pub(super) struct Told<'a> {
    like: (&'static str, Option<String>),
    /// The first one's place among all causes.
    nth: usize,
    /// All of them, in their order.
    all: Vec<&'a Cause>,
    until: Option<usize>,
    /// What a server has done of its own accord, if the cause is that.
    remark: Option<&'static str>,
    /// How many before it are like it, and have no line of their own.
    before: usize,
}

impl Told<'_> {
    /// Whether nothing else stands between this and another one.
    pub(super) fn is_next_to(&self, other: &Told) -> bool {
        self.nth + self.all.len() == other.nth
    }

    /// The one that is told: the last one of those that count, if it is one that decides.
    fn at(&self) -> usize {
        let decides = |until| self.all.iter().rposition(|cause| cause.position < until);
        self.until.map_or(0, |until| decides(until).unwrap_or(self.all.len() - 1))
    }

    fn is_fault(&self) -> bool {
        self.all[0].kind == Kind::Fault
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
pub(super) fn together(
    story: &Story,
    causes: &[Cause],
    struck: &BTreeMap<usize, Struck>,
    may: impl Fn(&Told, &Told) -> bool,
) -> Vec<Cause> {
    let mut chain: Vec<Told> = Vec::new();
    let others = causes.iter().filter(|cause| cause.kind != Kind::Fault);
    let others: BTreeSet<usize> = others.map(|cause| cause.position).collect();
    for (nth, cause) in causes.iter().enumerate() {
        let event = &story.events[cause.position];
        let of_whom = struck.get(&cause.position);
        let whose = || of_whom.map(|struck| struck.whose.clone());
        let of = match event.what {
            // A partition cuts links of many nodes, all at one moment.
            "link-cut" => Some(event.at_us.to_string()),
            // A bad network loses messages of all; but what a holder's work waits for is not what somebody else's request waits for.
            "lost" | "duplicated" => whose().or_else(|| resource_of(event).map(str::to_owned)),
            // That one of which something came is told by itself.
            "delivered" if others.contains(&cause.position) => Some(cause.position.to_string()),
            // A second copy need not be late.
            "delivered" => {
                let again = cause.words.ends_with(AGAIN).then_some(AGAIN);
                whose().map(|whose| whose + again.unwrap_or_default()).or(again.map(str::to_owned))
            }
            // One may come back with what it had, and another time without.
            "restarted" => Some(cause.words.clone()),
            _ => event.node.clone(),
        };
        // What servers do of their own accord is alike whichever does it.
        let like = event.remark.map_or((event.what, of), |remark| (remark, None));
        let until = of_whom.and_then(|struck| struck.until);
        let (all, remark) = (vec![cause], event.remark);
        let told = Told { like, nth, all, until, remark, before: 0 };
        let earlier = chain
            .iter_mut()
            .rev()
            .find(|earlier| earlier.is_fault() && earlier.like == told.like && may(earlier, &told));
        match earlier.filter(|_| told.is_fault()) {
            Some(earlier) => earlier.all.push(cause),
            None => chain.push(told),
        }
    }
    let chain = behind_what_decided(chain, may);
    let mut causes: Vec<Cause> = chain.into_iter().map(|told| counted(story, &told)).collect();
    causes.sort_by_key(|cause| cause.position);
    causes
}

/// What a server has done of its own accord before, in vain, is told behind where the same took a record and is said to have.
fn behind_what_decided(mut chain: Vec<Told>, may: impl Fn(&Told, &Told) -> bool) -> Vec<Told> {
    let is_it = |one: &Told, other: &Told| {
        let is_said = one.remark.is_some_and(|remark| other.all[0].words.contains(remark));
        is_said && one.is_fault() && other.all[0].kind == Kind::Gone && one.nth < other.nth
    };
    let mut at = 0;
    while at < chain.len() {
        let decides = (at + 1..chain.len()).find(|later| is_it(&chain[at], &chain[*later]));
        match decides.filter(|later| may(&chain[at], &chain[*later])) {
            Some(later) => {
                chain[later].before += chain[at].all.len();
                chain.remove(at);
            }
            None => at += 1,
        }
    }
    chain
}

/// What is told, and how many more there are like it.
fn counted(story: &Story, told: &Told) -> Cause {
    let (at, times) = (told.at(), told.all.len());
    let cause = told.all[at].clone();
    let event = &story.events[cause.position];
    if told.before > 0 {
        return Cause { words: format!("{}, and {} more like it before", cause.words, told.before), ..cause };
    }
    if times == 1 {
        return cause;
    }
    let link = |other: &&Cause| {
        let cut = &story.events[other.position];
        Some((cut.node.as_deref()?, cut.from.as_deref()?))
    };
    let cut: Vec<(&str, &str)> = told.all.iter().filter_map(link).collect();
    let is_of_links = event.what == "link-cut";
    let cut = cut_off(&cut);
    let (words, told_of) = cut.filter(|_| is_of_links).unwrap_or_else(|| (cause.words.clone(), 1));
    let others = || told.all.iter().map(|other| &story.events[other.position]);
    let is_alike = event.remark.is_some() || others().all(|other| beginning(other) == beginning(event));
    // A single other one may be what matters.
    let other = told.all.get(if at == 0 { 1 } else { 0 });
    let other = other.and_then(|other| story.events[other.position].message.as_ref());
    let another = other.map_or_else(|| "another message".to_owned(), |message| format!("\"{message}\""));
    let before = if at > 0 && at + 1 == times { " before" } else { "" };
    // A message that was overtaken is late, and not each that is late was.
    let overtaken = told.all.iter().filter(|other| other.words.ends_with(OVERTAKEN)).count();
    let are_mixed = event.what == "delivered" && overtaken > 0 && overtaken < times;
    let words = match (times - told_of, event.what) {
        (0, _) => words,
        (1, _) if are_mixed => format!("{words}, and {another}{before} is late, too"),
        (more, _) if are_mixed => format!("{words}, and {more} other messages{before} are late, too"),
        (more, "link-cut") => format!("{words}, and {} cut", links(more)),
        (1, "lost" | "duplicated") if !is_alike => format!("{words}, and so is {another}{before}"),
        (more, "lost" | "duplicated") if !is_alike => {
            format!("{words}, and so are {more} other messages{before}")
        }
        (1, _) if !is_alike => format!("{words}, and so does {another}{before}"),
        (more, _) if !is_alike => format!("{words}, and so do {more} other messages{before}"),
        (more, _) => format!("{words}, and {more} more like it{before}"),
    };
    Cause { words, ..cause }
}

/// `1 more link is`, `16 more links are`.
fn links(count: usize) -> String {
    if count == 1 { "1 more link is".to_owned() } else { format!("{count} more links are") }
}
