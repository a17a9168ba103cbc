//! Why a promise breaks: the steps of the run that it takes, in order.
//!
//! ```text
//!   A is granted the lock → A pauses for 2.799 s → A's record is gone on s1, s2 → ✱ B enters while A holds
//! ```
//!
//! Each cause is a step of the run, told in the words of its event. Which steps are causes follows from the promise alone, so that no
//! scenario needs a story of its own: what its parties were last granted, what struck in between, and which records were gone by then.

mod ahead;
mod apart;
mod asked;
mod at_once;
mod calls;
mod cut;
mod doubled;
mod expired;
mod finished;
mod gone;
mod herd;
mod holds;
mod late;
mod objects;
mod quorums;
mod revived;
mod risen;
#[cfg(test)]
mod steps;
mod stored;
mod struck;
mod survived;
mod taken;
mod together;
mod tokens;
mod waiting;
mod waits;
mod waits_at;

use super::layout::opening;
use super::svg::{duration, is_fault, words};
use super::times::{self, of_event};
use crate::flights::{Flight, flights};
use at_once::at_once;
use expired::expired_first;
use picklock_engine::report::{JsonEvent, TimeColumn};
use picklock_engine::report::{Kind, Reason, Story};
use picklock_engine::report::{Operation, operations};
use picklock_properties::Promise;
use picklock_reported::Reported;
use std::collections::{BTreeMap, BTreeSet};
use stored::{live_of, names, place_of};
use together::together;

/// A step that what broke is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// Its position in [`Story::events`].
    pub position: usize,
    /// What it is.
    pub kind: Kind,
    /// When, or in which step, where time is none to speak of.
    pub when: String,
    /// What happens, without a full stop.
    pub words: String,
}

/// With more causes than these, faults of one kind at one node are told together.
const CAUSES_MAX: usize = 12;

/// What the lock protects, as its events name it.
const RESOURCE: &str = "resource";

/// What stands between a server and what it has.
const STORES: &str = " stores ";

/// What stands between what comes to be there in one step.
const AND: &str = ", and ";

/// What lasts for less than this part of all that happens until the promise is broken is a trifle.
const SHORT_PART: i64 = 1_000;

/// The chain of causes; empty if no promise is broken.
pub fn why_of(story: &Story) -> Vec<Cause> {
    why(story, &flights(story.events, story.time))
}

/// How the run breaks the promise that [`why_of`] explains, with its name, in the words of the engine; the causes may end in others, which
/// say more.
pub(crate) fn explained(story: &Story) -> Option<String> {
    let (_, breaks) = broken(story)?;
    breaks.map(|Breaks { promise, words, .. }| format!("{promise}: {words}"))
}

/// [`why_of`] a story whose messages are known.
pub(super) fn why(story: &Story, flights: &[Flight]) -> Vec<Cause> {
    let Some((end, breaks)) = broken(story) else { return Vec::new() };
    if !story.reasons.is_empty() {
        return told(story, end, breaks.as_ref());
    }
    let clients = story.events.iter().filter(|event| event.doing.is_some());
    let clients = clients.filter_map(|event| event.node.as_deref()).collect();
    let is_of_objects = story.events.iter().any(|event| !event.operations.is_empty());
    let (idle, written_in) = (BTreeMap::new(), BTreeMap::new());
    let mut search = Search { story, end, breaks, clients, idle, written_in, is_of_objects };
    search.written_in = search.written_in(flights);
    search.idle = search.without_effect(flights);
    let mut causes = search.milestones();
    if let Some((of_writes, whose)) = search.late_write(flights) {
        causes.retain(|cause| !search.is_of_their_writes(cause, &whose));
        causes.extend(of_writes);
    }
    // Where hardly anybody is granted anything, what is stored for a moment is nobody's cause.
    let too_late = search.too_late(flights);
    if too_late.is_none() {
        causes.extend(search.records_gone(flights));
    }
    let start = causes.iter().map(|cause| cause.position).chain(search.calls()).min().unwrap_or(end);
    // What an object answers may rest on a call of long ago.
    let start = if search.is_of_objects { 0 } else { start };
    causes.extend(search.faults(start, flights));
    causes.extend(search.remarks(start));
    causes.extend(too_late.map_or_else(|| search.late(start, flights), |cause| vec![cause]));
    let is_of_faults = causes.iter().any(|cause| cause.kind == Kind::Fault);
    let expired_on = search.expired_on();
    // Whoever takes no lock itself is there for its clock.
    let is_attendant =
        |node: &str| search.clients.contains(node) && search.with_role(node, search.end) != node;
    let is_asked = |node: &str| !is_of_faults || expired_on.contains(node) || is_attendant(node);
    causes.extend(search.clocks(is_asked));
    let in_vain = search.written_in_vain();
    if !in_vain.is_empty() {
        causes.extend(search.answer_of_others(flights));
    }
    causes.extend(in_vain);
    causes.extend(search.left_beside(flights));
    causes.extend(search.left_behind(flights));
    causes.extend(search.risen());
    causes.extend(search.revived(flights));
    causes.extend(search.shared_out());
    causes.extend(search.tokens(flights));
    causes.extend(search.wait_alike());
    causes.extend(search.ahead(flights));
    // Where the store told of lost records, that is enough.
    for quiet in [Search::expired_there, Search::missed, Search::lost_in_line] {
        if causes.iter().all(|cause| cause.kind != Kind::Gone) {
            causes.extend(quiet(&search, flights));
            if causes.iter().any(|cause| cause.kind == Kind::Gone) {
                causes.extend(search.enters_by(flights));
            }
        }
    }
    if causes.iter().all(|cause| cause.kind == Kind::Milestone) || search.is_of_objects {
        causes.extend(search.answer(flights));
        causes.extend(search.answered_before(flights));
    }
    if causes.iter().all(|cause| !matches!(cause.kind, Kind::Record | Kind::Gone)) {
        causes.extend(search.last_changes(flights));
    }
    if causes.iter().all(|cause| cause.kind == Kind::Milestone) {
        causes.extend(search.asked_at_last(flights));
    }
    let is_followed = |cause: &Cause| search.is_settled_call(cause, flights);
    causes.retain(|cause| !is_followed(cause));
    causes.extend(search.of_objects(flights));
    causes.extend(search.broken_off(flights));
    causes.extend(search.herd(flights));
    causes.extend(search.asked_before(flights));
    causes.extend(search.quorums());
    causes.extend(search.done_by_a_server());
    causes.extend(search.wanted());
    causes.extend(search.told_in_vain(flights));
    causes.extend(search.waits_at(flights));
    causes.extend(search.left_by_nobody(flights));
    causes.extend(search.granted_upon_others(flights));
    causes.extend(search.doubled_changes(&causes, flights));
    causes.extend(search.taken_by_others(&causes, flights));
    let overtaken = search.overtaken_write(flights);
    causes.extend(overtaken.iter().flat_map(|overtaken| overtaken.causes.clone()));
    causes.extend(search.ends(overtaken.map(|overtaken| overtaken.words)));
    // Whoever calls, does so first; what arrives late comes before what comes of it.
    let arrives_late = |cause: &Cause| cause.kind == Kind::Fault && late::is_late(&cause.words);
    let is_first = |cause: &Cause| search.is_call(cause) || arrives_late(cause);
    causes.sort_by_key(|cause| (cause.position, !is_first(cause), cause.kind));
    // What is stored may be told twice: after the message that brought it, and alone.
    let again: Vec<Cause> = causes.clone();
    causes.retain(|cause| {
        // Among others that come to be there in the same step.
        let is_listed = |other: &Cause| {
            let told = cause.words.split_once(STORES).filter(|_| cause.kind == Kind::Record);
            told.is_some_and(|(by, line)| {
                let lines = other.words.strip_prefix(by).and_then(|words| words.strip_prefix(STORES));
                lines.is_some_and(|lines| lines.split(AND).any(|other| other == line))
            })
        };
        let is_more =
            |rest: &str| [", upon ", ", heard in step ", AND].iter().any(|more| rest.starts_with(more));
        let says_more = |other: &Cause| {
            let more = other.words.strip_prefix(&cause.words);
            // Of a record it is said on which servers it is.
            let is_alike = other.kind == cause.kind || more.is_some_and(|rest| rest.starts_with(", on "));
            other.position == cause.position
                && is_alike
                && other.words.len() > cause.words.len()
                && (other.words.ends_with(&cause.words)
                    || more.is_some_and(|rest| is_more(rest) || rest.starts_with(", on "))
                    || is_listed(other))
        };
        !again.iter().any(says_more)
    });
    // What a server does of its own accord may be told twice: as what it did, and as what took a record.
    let again: Vec<Cause> = causes.clone();
    causes.retain(|cause| {
        let tells_what_came_of_it = |other: &Cause| {
            other.position == cause.position
                && other.words.strip_prefix(&cause.words).is_some_and(|rest| rest.starts_with(": "))
        };
        !again.iter().any(tells_what_came_of_it)
    });
    // What took a record is that, and no fault among others.
    let again: Vec<Cause> = causes.clone();
    causes.retain(|cause| {
        let is_it = |other: &Cause| (other.position, &other.words) == (cause.position, &cause.words);
        let decides = |other: &Cause| is_it(other) && other.kind == Kind::Gone;
        cause.kind != Kind::Fault || !again.iter().any(decides)
    });
    let mut told: BTreeSet<(usize, String)> = BTreeSet::new();
    causes.retain(|cause| told.insert((cause.position, cause.words.clone())));
    // An answer may be told twice: first comes who says what it lacks.
    causes.dedup_by(|later, earlier| {
        let is_of_it = (later.position, later.kind) == (earlier.position, earlier.kind);
        is_of_it && earlier.words.starts_with(&later.words)
    });
    // What is gone is told once: first comes who says that a grant rests on it.
    causes.dedup_by(|later, earlier| {
        (later.position, later.kind) == (earlier.position, earlier.kind) && later.kind == Kind::Gone
    });
    let causes = expired_first(causes);
    let struck = search.struck(&causes, flights);
    let short = at_once(story, together(story, &causes, &struck, |one, other| one.is_next_to(other)));
    if short.len() <= CAUSES_MAX {
        return short;
    }
    at_once(story, together(story, &causes, &struck, |_, _| true))
}

/// The reasons that the story gives, each at the step that it is about, or at the last one before it; and what broke.
fn told(story: &Story, end: usize, breaks: Option<&Breaks>) -> Vec<Cause> {
    let place = |reason: &Reason| {
        let is_it = |event: &JsonEvent| {
            event.at_us == reason.at_us && (reason.kind != Kind::Fault || is_fault(event.what))
        };
        let before = || story.events.iter().rposition(|event| event.at_us <= reason.at_us);
        story.events[..=end].iter().position(is_it).or_else(before).unwrap_or(0).min(end)
    };
    let cause = |reason: &Reason| {
        let when = times::of_moment(story, reason.at_us);
        Cause { position: place(reason), kind: reason.kind, when, words: reason.words.clone() }
    };
    let mut causes: Vec<(i64, Cause)> =
        story.reasons.iter().map(|reason| (reason.at_us, cause(reason))).collect();
    causes.sort_by_key(|(at, cause)| (*at, cause.kind));
    let when = times::of_moment(story, story.events[end].at_us);
    let ends = breaks.map(|breaks| Cause {
        position: end,
        kind: Kind::Breaks,
        when,
        words: breaks.words.to_owned(),
    });
    causes.into_iter().map(|(_, cause)| cause).chain(ends).collect()
}

/// The step that breaks what the run is shown for, and how; or the last one of a loop in which it never comes.
fn broken<'a>(story: &'a Story<'a>) -> Option<(usize, Option<Breaks<'a>>)> {
    let breaks = opening(story).and_then(|at| Some((at, Breaks::in_step(story, at)?)));
    // In a loop nothing else counts.
    let breaks = breaks.filter(|(_, breaks)| {
        story.loop_start.is_none() || story.shown_for.is_none_or(|promise| promise == breaks.promise)
    });
    match breaks {
        Some((at, breaks)) => Some((at, Some(breaks))),
        None => story.loop_start.and_then(|_| Some((story.events.len().checked_sub(1)?, None))),
    }
}

/// The violation that a run is shown for.
struct Breaks<'a> {
    promise: Promise,
    /// Whom it takes to break it.
    parties: BTreeSet<&'a str>,
    /// Whether no other client is named with who breaks it.
    is_alone: bool,
    words: &'a str,
}

impl<'a> Breaks<'a> {
    /// `None` if this step breaks no promise.
    fn in_step(story: &'a Story<'a>, position: usize) -> Option<Breaks<'a>> {
        let event = story.events.get(position)?;
        let shown = event.violations.iter().find(|violation| Some(violation.property) == story.shown_for);
        let violation = shown.or(event.violations.first())?;
        let holders = event.holders.iter().map(String::as_str);
        let parties = holders.chain([violation.client.as_str(), violation.other.as_str()]);
        Some(Breaks {
            promise: violation.property,
            parties: parties.collect(),
            is_alone: violation.client == violation.other,
            words: &violation.words,
        })
    }
}

/// Looks for causes of what breaks in a step, or of what never comes in a loop.
struct Search<'a> {
    story: &'a Story<'a>,
    /// The step that breaks the promise, or the last one of the loop.
    end: usize,
    /// `None` for a loop.
    breaks: Option<Breaks<'a>>,
    clients: BTreeSet<&'a str>,
    /// Those of whose last calls nothing came, with where they made them.
    idle: BTreeMap<&'a str, usize>,
    /// Of whose writes one is late, and until which step each of them counts.
    written_in: BTreeMap<String, usize>,
    /// The run is one of shared objects, or of a handler: any client's call may be what another one's answer rests on.
    is_of_objects: bool,
}

impl Search<'_> {
    /// Of each party the last report of each kind that the promise is about.
    fn milestones(&self) -> Vec<Cause> {
        // In a loop something never comes.
        let promise = self.breaks.as_ref().map_or(Promise::StarvationFreedom, |breaks| breaks.promise);
        let mut seen: Vec<Reported> = Vec::new();
        let mut causes = Vec::new();
        // What is reported in the step that breaks it is told by the violation.
        let before = if self.breaks.is_some() { self.end } else { self.end + 1 };
        for (position, event) in self.story.events[..before].iter().enumerate().rev() {
            for report in event.reported.iter().rev() {
                let Some(reported) = Reported::parse(report) else { continue };
                let is_same =
                    |later: &Reported| (later.what, later.client) == (reported.what, reported.client);
                let is_told = self.is_party(reported.client)
                    && !self.is_over(&reported, &seen)
                    && !self.is_granted_anew(&reported)
                    && !self.is_woken_before(position, &reported);
                if reported.is_of_interest(promise) && is_told && !seen.iter().any(is_same) {
                    let is_idle = reported.is_refused_call() || self.is_idle_by(reported.client, position);
                    if !self.is_handed_on(&reported) && !is_idle {
                        let first = self.first_in_its_call(&reported, position);
                        causes.push(self.cause(first, Kind::Milestone, reported.sentence()));
                    }
                    seen.push(reported);
                }
            }
        }
        causes
    }

    /// Who takes a place in a queue keeps it until its call is over, however often it is said to be there: where it took it.
    fn first_in_its_call(&self, reported: &Reported, last: usize) -> usize {
        let says = |position: usize, is_it: &dyn Fn(&Reported) -> bool| {
            reports_of(&self.story.events[position])
                .any(|other| other.client == reported.client && is_it(&other))
        };
        if !reported.is_place() {
            return last;
        }
        let called = (0..=last).rev().find(|position| says(*position, &|other| other.is_call())).unwrap_or(0);
        let takes_it = |position: &usize| says(*position, &|other| other.is_place());
        (called..=last).find(takes_it).unwrap_or(last)
    }

    /// Whether the cause is that somebody calls.
    fn is_call(&self, cause: &Cause) -> bool {
        let mut reports = reports_of(&self.story.events[cause.position]);
        cause.kind == Kind::Milestone
            && reports.any(|reported| reported.is_call() && reported.sentence() == cause.words)
    }

    /// Of progress counts who waits since when, and who held last: nothing that came before a client's last call or grant. That it
    /// left, read or wrote counts nowhere once it has called or holds again.
    fn is_over(&self, reported: &Reported, later: &[Reported]) -> bool {
        let may_be = self.is_of_progress() || reported.is_departure() || reported.is_access();
        may_be && later.iter().any(|later| reported.is_settled_by(later))
    }

    /// Where nobody is granted anything any more: whether a client has left since, and another one was granted it. It is not who held
    /// last.
    fn is_handed_on(&self, reported: &Reported) -> bool {
        let stands_still = self.breaks.as_ref().is_some_and(|breaks| {
            breaks.promise.is_of_progress() && breaks.promise != Promise::StarvationFreedom
        });
        if !stands_still || !(reported.is_grant() || reported.is_release()) {
            return false;
        }
        let left = self.last_report(reported.client, |reported| reported.is_departure());
        let mut others = self.clients.iter().filter(|other| **other != reported.client);
        let lines = self.stored_at_the_end();
        let is_left = |line: &String| live_of(line, reported.client).is_some();
        if lines.values().copied().flatten().any(is_left) {
            return false;
        }
        left.is_some() && others.any(|other| self.last_report(other, |reported| reported.is_grant()) > left)
    }

    /// Of who enters in the step that breaks it an earlier grant is over.
    fn is_granted_anew(&self, reported: &Reported) -> bool {
        let of_holders =
            self.breaks.as_ref().is_some_and(|breaks| breaks.promise == Promise::MutualExclusion);
        of_holders && reported.is_grant() && self.is_granted_in(self.end, reported.client)
    }

    /// Whether what breaks is that something never comes.
    fn is_of_progress(&self) -> bool {
        self.breaks.as_ref().is_none_or(|breaks| breaks.promise.is_of_progress())
    }

    /// In a loop, where somebody waits, and in what an object answers, everybody has a part.
    fn is_party(&self, client: &str) -> bool {
        match &self.breaks {
            Some(Breaks { promise, parties, .. }) if !promise.is_of_progress() && !self.is_of_objects => {
                parties.contains(client)
            }
            _ => true,
        }
    }

    /// What struck since the first of the other causes, and what struck a clock before.
    fn faults(&self, start: usize, flights: &[Flight]) -> Vec<Cause> {
        let struck = self.story.events[..=self.end].iter().enumerate();
        struck
            .filter(|(_, event)| is_fault(event.what) || ENDS.contains(&event.what))
            .filter(|(position, event)| *position >= start || self.lasts(*position, event, start))
            .filter(|(position, _)| !self.is_about_others(*position))
            .filter(|(position, event)| !self.is_trifle(*position, event))
            .filter(|(position, event)| !self.is_cut_in_vain(*position, event, flights))
            .filter(|(position, event)| !self.is_made_up_for(*position, event, flights))
            .filter_map(|(position, event)| {
                Some(self.cause(position, Kind::Fault, self.fault_words(position, event)?))
            })
            .collect()
    }

    /// A link that was cut, and on which nothing was lost until it was whole again.
    fn is_cut_in_vain(&self, position: usize, event: &JsonEvent, flights: &[Flight]) -> bool {
        let events = &self.story.events;
        let mends = |later: &usize| {
            let later = &events[*later];
            later.what == "link-mended" && later.node == event.node && later.from == event.from
        };
        let mended = (position + 1..=self.end).find(mends).unwrap_or(self.end + 1);
        let is_of_link = |flight: &&Flight| {
            event.from.as_ref() == Some(&flight.from) && event.node.as_ref() == Some(&flight.to)
        };
        let mut lost = flights.iter().filter(is_of_link).filter(|flight| flight.is_lost);
        event.what == "link-cut"
            && !lost.any(|flight| flight.ended.is_some_and(|ended| (position..mended).contains(&ended)))
    }

    /// A pause that is over before anybody could mind, and its end; and ends of what struck others.
    fn is_trifle(&self, position: usize, event: &JsonEvent) -> bool {
        let events = &self.story.events;
        let whole = events[self.end].at_us - events[0].at_us;
        let is_short = |from: usize, to: usize| events[to].at_us - events[from].at_us < whole / SHORT_PART;
        let of_node = |other: &JsonEvent| other.node == event.node;
        let in_seconds = self.story.time == TimeColumn::Seconds;
        match event.what {
            // Whoever is down or cut off hears nothing: that it went down, or was cut off, is told. That its last answer went with it is
            // news to who had asked.
            "lost" => {
                let is_an_answer = event.to.as_deref().is_some_and(|node| self.clients.contains(node));
                if self.is_of_objects && is_an_answer && !self.is_cut_at(event, position) {
                    return false;
                }
                let mut nodes = [&event.from, &event.to].into_iter().flatten();
                let is_down = nodes.any(|node| self.is_down_at(node, position));
                let is_known = is_down || self.is_cut_at(event, position);
                is_known && !self.is_missed(position, event) && !self.would_take(event)
            }
            "crashed" | "restarted" => self.is_survived(position),
            "paused" if in_seconds => {
                let resumed = (position..events.len())
                    .find(|later| of_node(&events[*later]) && events[*later].what == "resumed");
                resumed.is_some_and(|resumed| is_short(position, resumed))
            }
            "resumed" if in_seconds => {
                let paused = (0..position)
                    .rev()
                    .find(|earlier| of_node(&events[*earlier]) && events[*earlier].what == "paused");
                let is_party = event.node.as_deref().is_some_and(|node| self.is_party(node));
                !is_party || paused.is_some_and(|paused| is_short(paused, position))
            }
            _ => false,
        }
    }

    /// Whether a message that was lost asked a server for what it still has of its client's at the end, where somebody waits.
    fn would_take(&self, lost: &JsonEvent) -> bool {
        let (Some(from), Some(to), Some(message)) = (&lost.from, &lost.to, &lost.message) else {
            return false;
        };
        let lines = self.stored_at_the_end();
        let mut left = lines.get(to.as_str()).copied().into_iter().flatten();
        let is_asked_for =
            |line: &String| names(line, from) && message.split(' ').any(|word| word == place_of(line));
        self.is_of_progress() && left.any(is_asked_for)
    }

    /// Whether a server whose record of a holder is gone later was to hear this of it, and did not hear it by then; or one by which
    /// another one holds.
    fn is_missed(&self, position: usize, lost: &JsonEvent) -> bool {
        let (Some(from), Some(to)) = (lost.from.as_deref(), lost.to.as_deref()) else { return false };
        if self.is_left_out(position, from, to) {
            return true;
        }
        let later = &self.story.events[position..=self.end];
        let is_gone = |event: &JsonEvent| {
            let mut reports = reports_of(event);
            reports.any(|reported| reported.client == from && reported.lost_on() == Some(to))
        };
        let is_heard = |event: &JsonEvent| {
            event.what == "delivered"
                && (&event.from, &event.to, &event.message) == (&lost.from, &lost.to, &lost.message)
        };
        let holds = || (0..position).any(|earlier| self.is_granted_in(earlier, from));
        let gone = later.iter().position(is_gone).filter(|_| !self.is_of_progress());
        gone.is_some_and(|gone| !later[..gone].iter().any(is_heard) && holds())
    }

    /// A doubled request that changes nothing whenever it arrives; and where somebody waits, a lost one that was said again while its
    /// client was still at the same.
    fn is_made_up_for(&self, position: usize, event: &JsonEvent, flights: &[Flight]) -> bool {
        let events = &self.story.events;
        let (Some(from), Some(to), Some(message)) = (&event.from, &event.to, &event.message) else {
            return false;
        };
        if self.is_of_objects || !self.clients.contains(from.as_str()) {
            return false;
        }
        let alike = flights.iter().filter(|flight| {
            (&flight.from, &flight.to, &flight.message) == (from, to, message) && !flight.is_lost
        });
        let mut arrived =
            alike.filter_map(|flight| flight.ended).filter(|ended| *ended > position && *ended <= self.end);
        let is_gone = |event: &JsonEvent| {
            let mut reports = reports_of(event);
            reports.any(|reported| reported.client == from && reported.lost_on().is_some())
        };
        match event.what {
            "duplicated" => !arrived.any(|at| self.changes_something(at) || self.passes_on(at)),
            "lost" if self.is_of_progress() => arrived
                .any(|at| !self.went_on(from, position, at) && !events[position..at].iter().any(is_gone)),
            _ => false,
        }
    }

    /// Whether a server tells others something in this step.
    fn passes_on(&self, position: usize) -> bool {
        let mut sent = self.story.events[position].sent.iter();
        sent.any(|sent| !self.clients.contains(sent.to.as_str()))
    }

    /// Whether a client is at something else between these steps than it was before.
    fn went_on(&self, client: &str, since: usize, until: usize) -> bool {
        let is_its = |at: &usize| self.story.events[*at].node.as_deref() == Some(client);
        (since + 1..until).filter(is_its).any(|at| self.goes_on(at))
    }

    /// Whether a node is down in this step.
    fn is_down_at(&self, node: &str, position: usize) -> bool {
        let of_it =
            self.story.events[..position].iter().rev().filter(|event| event.node.as_deref() == Some(node));
        let last = of_it.map(|event| event.what).find(|what| matches!(*what, "crashed" | "restarted"));
        last == Some("crashed")
    }

    /// Clocks of such nodes that are wrong from the start, where they first look at them: there is no step that set them so.
    fn clocks(&self, is_asked: impl Fn(&str) -> bool) -> Vec<Cause> {
        const WRONG_US: i64 = 1_000;
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let mut causes = Vec::new();
        for (position, event) in self.story.events[..=self.end].iter().enumerate() {
            let (Some(node), Some(wall)) = (event.node.as_deref(), event.wall_us) else { continue };
            let wrong = wall - event.at_us;
            let is_step = |earlier: &JsonEvent| {
                matches!(earlier.what, "clock-stepped" | "ticked-unevenly" | "clock-drifts")
                    && earlier.node.as_deref() == Some(node)
            };
            let is_told = || self.story.events[..=position].iter().any(is_step);
            if known.insert(node) && wrong.abs() >= WRONG_US && is_asked(node) && !is_told() {
                let side = if wrong > 0 { "ahead" } else { "behind" };
                let words = format!("{node}'s clock is {} {side}", duration(wrong.abs(), false));
                causes.push(self.cause(position, Kind::Fault, words));
                // Of whoever takes no lock others see what it has written by that clock.
                let is_attendant = self.clients.contains(node) && self.with_role(node, self.end) != node;
                causes.extend(self.last_change_by(node).filter(|_| is_attendant));
            }
        }
        causes
    }

    /// What servers have done of their own accord since the first of the other causes.
    fn remarks(&self, start: usize) -> Vec<Cause> {
        let told = self.story.events[..=self.end].iter().enumerate().skip(start);
        let of_server = told.filter(|(_, event)| event.stored.is_some());
        let remarks = of_server.filter_map(|(position, event)| {
            let (server, remark) = (event.node.as_ref()?, event.remark?);
            // It may have a subject of its own.
            let has_subject = remark.contains(": ");
            let words = if has_subject { remark.to_owned() } else { format!("{server} {remark}") };
            let words = match self.stays(position) {
                Some(line) => format!("{words}: {line} stays"),
                None => words,
            };
            Some(self.cause(position, Kind::Fault, words))
        });
        remarks.collect()
    }

    /// Whether a message is one of a client that has no part in it, or all links that are cut at this moment are.
    fn is_about_others(&self, position: usize) -> bool {
        let event = &self.story.events[position];
        let is_other = |node: &&str| {
            self.clients.contains(node) && (!self.is_party(node) || self.is_idle_by(node, position))
        };
        let mut others = nodes_of(event).filter(is_other);
        if event.what == "link-cut" {
            let is_alike = |other: &&JsonEvent| (other.what, other.at_us) == (event.what, event.at_us);
            let is_of = |one: &str| {
                let mut cut = self.story.events.iter().filter(is_alike);
                cut.all(|other| nodes_of(other).any(|node| node == one))
            };
            return others.any(is_of);
        }
        event.message.is_some() && others.next().is_some()
    }

    /// Where each party called for what it was granted last, or asked several servers for it the last time.
    fn calls(&self) -> Vec<usize> {
        let parties = self.breaks.iter().flat_map(|breaks| &breaks.parties);
        let asked = |client: &&str| {
            let called = self.last_report(client, |reported| reported.is_call())?;
            let enters = self.is_granted_in(self.end, client).then_some(self.end);
            let granted = enters.or_else(|| self.last_report(client, |reported| reported.is_grant()));
            let asked_all = granted.and_then(|granted| self.asked_all(client, granted));
            Some(asked_all.map_or(called, |(asked, _)| asked.max(called)))
        };
        parties.filter_map(asked).collect()
    }

    /// Whether a fault that struck before the first cause is in force then.
    fn lasts(&self, position: usize, event: &JsonEvent, start: usize) -> bool {
        let undone = |by: &[&str]| {
            let later = &self.story.events[position + 1..start];
            later
                .iter()
                .any(|later| by.contains(&later.what) && later.node == event.node && later.from == event.from)
        };
        match event.what {
            "clock-stepped" | "ticked-unevenly" | "clock-drifts" | "clock-coarse" | "clocks-froze"
            | "disk-lost" => true,
            "clock-froze" => !undone(&["clock-thawed"]),
            "paused" | "suspended" => !undone(&["resumed", "crashed"]),
            "crashed" => !undone(&["restarted"]),
            "link-cut" => !undone(&["link-mended"]),
            _ => false,
        }
    }

    fn fault_words(&self, position: usize, event: &JsonEvent) -> Option<String> {
        let node = event.node.as_deref()?;
        let message = event.message.as_deref().unwrap_or_default();
        let (from, to) = (event.from.as_deref().unwrap_or(node), event.to.as_deref().unwrap_or(node));
        let (said, _) = words(event);
        Some(match event.what {
            "lost" => format!("{from} to {to}: {message} is lost"),
            "duplicated" => format!("{from} to {to}: {message} is doubled"),
            "link-cut" => format!("{node} is cut off from {from}"),
            "paused" | "suspended" => {
                let length = self.pause_length(position, event);
                format!("{} {said}{length}", self.with_role(node, position))
            }
            _ => match said.strip_prefix("clock") {
                Some(rest) => format!("{node}'s clock{rest}"),
                None if event.what == "crashed" => format!("{} {said}", self.with_role(node, position)),
                None if self.comes_back_whole(position) => {
                    format!("{node} {said}, with all that it had stored")
                }
                None => format!("{node} {said}"),
            },
        })
    }

    /// Whether a server starts again in this step, and has what it had stored before it went down.
    fn comes_back_whole(&self, position: usize) -> bool {
        let events = &self.story.events;
        let event = &events[position];
        if event.what != "restarted" {
            return false;
        }
        let of_it = |earlier: &usize| events[*earlier].node == event.node;
        let crashed = (0..position).rev().filter(of_it).find(|earlier| events[*earlier].what == "crashed");
        let before = crashed.and_then(|crashed| {
            (0..crashed).rev().filter(of_it).find_map(|earlier| events[earlier].stored.as_ref())
        });
        before.is_some_and(|before| !before.is_empty() && Some(before) == event.stored.as_ref())
    }

    /// `C (who has renewed?)`: whoever takes no lock itself, with what it is about before this step.
    pub(super) fn with_role(&self, node: &str, position: usize) -> String {
        const OF_ANYBODY: [&str; 3] = ["done", "thinks", "idle"];
        let asks = |event: &JsonEvent| {
            let mut reports = reports_of(event);
            reports.any(|reported| reported.client == node && reported.is_call())
        };
        let before = self.story.events[..position].iter().rev();
        let doing = before.filter(|event| event.node.as_deref() == Some(node)).find_map(|event| event.doing);
        match doing.filter(|doing| !OF_ANYBODY.contains(doing)) {
            Some(doing) if !self.is_of_objects && !self.story.events.iter().any(asks) => {
                format!("{node} ({doing})")
            }
            _ => node.to_owned(),
        }
    }

    /// ` for 2.799 s`, ` for 2 ticks`: as long as it lasts, or as the run does. Nothing where time does not pass.
    fn pause_length(&self, position: usize, paused: &JsonEvent) -> String {
        let later = &self.story.events[position + 1..];
        let resumed = later.iter().find(|event| event.what == "resumed" && event.node == paused.node);
        let until = resumed.or(later.last()).unwrap_or(paused).at_us;
        if until == paused.at_us {
            return String::new();
        }
        let length = match self.story.time {
            TimeColumn::Seconds => duration(until - paused.at_us, false),
            TimeColumn::Ticks { length } => {
                let ticks = |at_us: i64| at_us.div_euclid(length.0.max(1));
                match ticks(until) - ticks(paused.at_us) {
                    1 => "1 tick".to_owned(),
                    ticks => format!("{ticks} ticks"),
                }
            }
            TimeColumn::Hidden => return String::new(),
        };
        let more = if resumed.is_some() { "" } else { " and longer" };
        format!(" for {length}{more}")
    }

    /// What breaks, in such words or in those of the run, or what goes round for ever while it never comes.
    fn ends(&self, in_words: Option<String>) -> Vec<Cause> {
        if let Some(breaks) = &self.breaks {
            let words = match (in_words, self.answered()) {
                (Some(words), _) => words,
                (None, Some(answered)) => format!("{answered}: {}", breaks.words),
                (None, None) => breaks.words.to_owned(),
            };
            return vec![self.cause(self.end, Kind::Breaks, words)];
        }
        let start = self.story.loop_start.unwrap_or(self.end);
        let (position, words) = match self.story.events.len().saturating_sub(start) {
            0 => (self.end, "from here on nothing happens".to_owned()),
            1 => (start, "from here one step again and again".to_owned()),
            steps => (start, format!("from here {steps} steps again and again")),
        };
        // What never comes then says it, too.
        let is_said = start >= self.story.events.len() && !self.story.broken.is_empty();
        // The promise's name stands in the heading.
        let in_words =
            |told: &String| told.split_once(": ").map_or(told.clone(), |(_, words)| words.to_owned());
        let never = self.story.broken.iter().map(|told| self.cause(self.end, Kind::Breaks, in_words(told)));
        let goes_round = (!is_said).then(|| self.cause(position, Kind::Loop, words));
        goes_round.into_iter().chain(never).collect()
    }

    /// The call that came back in the step that breaks the promise, and with what: `x0.read() → absent`.
    fn answered(&self) -> Option<String> {
        let came_back =
            |operation: &Operation| operation.ended == Some(self.end) && operation.answer.is_some();
        let operation = operations(&self.story.events[..=self.end]).into_iter().find(came_back)?;
        Some(operation.label())
    }

    fn last_report(&self, client: &str, is_it: fn(&Reported) -> bool) -> Option<usize> {
        // Not in the step itself: the grant that breaks a promise is not the one that a record of the past rests on.
        let until = self.written_in.get(client).map_or(self.end, |until| self.end.min(*until));
        self.story.events[..until].iter().rposition(|event| {
            event
                .reported
                .iter()
                .filter_map(|report| Reported::parse(report))
                .any(|reported| reported.client == client && is_it(&reported))
        })
    }

    fn cause(&self, position: usize, kind: Kind, words: String) -> Cause {
        let event = &self.story.events[position];
        let when = match self.story.time {
            TimeColumn::Seconds => of_event(self.story, event),
            TimeColumn::Ticks { .. } | TimeColumn::Hidden => format!("step {}", event.step),
        };
        Cause { position, kind, when, words }
    }
}

/// Ends of faults that a reader looks for.
const ENDS: [&str; 2] = ["resumed", "restarted"];

/// The nodes that a step is about.
fn nodes_of(event: &JsonEvent) -> impl Iterator<Item = &str> {
    [&event.from, &event.to, &event.node].into_iter().flatten().map(String::as_str)
}

/// What is reported in a step.
fn reports_of(event: &JsonEvent) -> impl Iterator<Item = Reported<'_>> {
    event.reported.iter().filter_map(|report| Reported::parse(report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;
    use picklock_engine::report::JsonViolation;

    fn chain(run: impl FnOnce(&mut picklock_engine::report::JsonEvents)) -> Vec<String> {
        let mut told = Vec::new();
        toy::story(run, |story| {
            let flights = flights(story.events, story.time);
            told = why(&story, &flights).into_iter().map(|cause| cause.words).collect();
        });
        told
    }

    #[test]
    fn the_chain_leads_from_the_grant_over_the_pause_to_who_enters_too() {
        let told = chain(toy::overlap);
        let place = |words: &str| told.iter().position(|cause| cause.starts_with(words));
        let places = ["A is granted the lock", "A pauses for", "B enters while A holds"].map(place);
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told:?}");
        assert_eq!(places[2], Some(told.len() - 1));
    }

    #[test]
    fn reasons_that_the_story_gives_stand_in_place_of_those_that_are_sought() {
        toy::story(toy::overlap, |story| {
            let at_us = story.events[5].at_us + 1;
            let words = "B deletes what is A's".to_owned();
            let reasons = [Reason { at_us, kind: Kind::Gone, words }];
            let causes = why(&Story { reasons: &reasons, ..story }, &[]);
            let told: Vec<&str> = causes.iter().map(|cause| cause.words.as_str()).collect();
            assert_eq!(told, ["B deletes what is A's", "B enters while A holds"]);
            assert!(story.events[causes[0].position].at_us <= at_us && causes[0].position >= 5, "{causes:?}");
        });
    }

    #[test]
    fn a_run_that_keeps_its_promises_has_none() {
        assert_eq!(chain(toy::patience), Vec::<String>::new());
    }

    #[test]
    fn many_faults_of_one_kind_are_one_cause() {
        toy::story(toy::overlap, |story| {
            let mut events = story.events.to_vec();
            let broken = events.iter().position(|event| !event.violations.is_empty()).expect("B enters");
            let pause = events.iter().find(|event| event.what == "paused").expect("A pauses").clone();
            // One message is lost already.
            let lost = JsonEvent { what: "lost", message: Some("ping".to_owned()), ..pause };
            events.splice(broken..broken, std::iter::repeat_n(lost, 20));
            let story = Story { events: &events, ..story };
            let causes = why(&story, &[]);
            assert!(causes.len() <= CAUSES_MAX, "{causes:?}");
            let is_told = |cause: &Cause| cause.words.ends_with(" is lost, and so are 20 other messages");
            assert!(causes.iter().any(is_told), "{causes:?}");
        });
    }

    #[test]
    fn what_is_lost_on_the_way_to_the_resource_is_told_apart_from_what_others_lose() {
        toy::story(toy::overlap, |story| {
            let mut events = story.events.to_vec();
            let broken = events.iter().position(|event| !event.violations.is_empty()).expect("B enters");
            let pause = events.iter().find(|event| event.what == "paused").expect("A pauses").clone();
            let lost = |to: &str| JsonEvent {
                what: "lost",
                message: Some("write".to_owned()),
                from: Some("A".to_owned()),
                to: Some(to.to_owned()),
                ..pause.clone()
            };
            events.splice(broken..broken, (0..20).flat_map(|_| [lost("s1"), lost(RESOURCE)]));
            let causes = why(&Story { events: &events, ..story }, &[]);
            let told = |end: &str| causes.iter().filter(|cause| cause.words.ends_with(end)).count();
            let apart = [
                "A to resource: write is lost, and 19 more like it",
                "A to s1: write is lost, and 19 more like it before",
            ];
            assert_eq!(apart.map(told), [1, 1], "{causes:?}");
        });
    }

    #[test]
    fn a_pause_that_is_nothing_beside_its_run_is_no_cause() {
        toy::story(toy::overlap, |story| {
            let pauses = |length| {
                let mut events = story.events.to_vec();
                let pause = events.iter().find(|event| event.what == "paused").expect("A pauses").clone();
                let paused = JsonEvent { node: Some("B".to_owned()), ..pause };
                let at = events.iter().position(|event| event.what == "paused").expect("A pauses");
                let resumed = JsonEvent { what: "resumed", at_us: paused.at_us + length, ..paused.clone() };
                events.splice(at..at, [paused, resumed]);
                let causes = why(&Story { events: &events, ..story }, &[]);
                causes.iter().filter(|cause| cause.words.starts_with("B pauses")).count()
            };
            assert_eq!((pauses(1), pauses(1_000)), (0, 1));
        });
    }

    #[test]
    fn who_waits_behind_a_record_of_its_own_is_told_with_the_answer_that_did_not_have_it() {
        toy::story(toy::patience, |story| {
            let step = |at_us: i64, node: &str, from: Option<(&str, &str)>, sent: Option<(&str, &str)>| {
                let mut event = story.events.first().expect("steps").clone();
                event.what = if from.is_some() { "delivered" } else { "woke" };
                (event.node, event.at_us, event.wall_us) = (Some(node.to_owned()), at_us, None);
                (event.stored, event.line) = (None, None);
                event.from = from.map(|(from, _)| from.to_owned());
                event.to = from.map(|_| node.to_owned());
                event.message = from.map(|(_, message)| message.to_owned());
                event.doing = node.starts_with('B').then_some("waits");
                let message = |(to, message): (&str, &str)| picklock_engine::report::JsonMessage {
                    to: to.to_owned(),
                    message: message.to_owned(),
                };
                event.sent = sent.map(message).into_iter().collect();
                event.reported.clear();
                event.holders.clear();
                event
            };
            let (one, other) = ("/lock/B#1-07 of session B@2", "/lock/B#1-08 of session B@2");
            let stored = |mut event: JsonEvent, lines: &[&str]| {
                event.stored = Some(lines.iter().map(|line| (*line).to_owned()).collect());
                event
            };
            let mut events = vec![
                step(1, "B", None, Some(("s1", "create /lock/B#1-"))),
                stored(step(2, "s1", Some(("B", "children")), Some(("B", "no children"))), &[]),
                stored(step(3, "s1", Some(("B", "create /lock/B#1-")), None), &[one]),
                step(4, "B", Some(("s1", "no children")), Some(("s1", "create /lock/B#1-"))),
                stored(step(5, "s1", Some(("B", "create /lock/B#1-")), None), &[one, other]),
                step(6, "B", None, None),
            ];
            events[0].reported = vec!["called B lock".to_owned()];
            events[5].violations = vec![JsonViolation {
                property: Promise::DeadlockFreedom,
                client: "B".to_owned(),
                other: "B".to_owned(),
                words: "B waits".to_owned(),
            }];
            let story = Story { events: &events, shown_for: None, loop_start: None, ..story };
            let flights = flights(&events, story.time);
            let told: Vec<String> = why(&story, &flights).into_iter().map(|cause| cause.words).collect();
            let expected = [
                "B calls lock",
                "s1 answers B: no children; it does not have /lock/B#1-07 yet",
                "s1 stores /lock/B#1-07 of session B@2",
                "s1 stores /lock/B#1-08 of session B@2 beside it",
                "B waits",
            ];
            assert_eq!(told, expected);
        });
    }

    #[test]
    fn a_promise_of_progress_is_about_everybody() {
        toy::story(toy::patience, |story| {
            let mut events = story.events.to_vec();
            let last = events.last_mut().expect("steps");
            last.violations.push(JsonViolation {
                property: Promise::DeadlockFreedom,
                client: "B".to_owned(),
                other: "B".to_owned(),
                words: "B waits".to_owned(),
            });
            let causes = why(&Story { events: &events, ..story }, &[]);
            assert!(causes.iter().any(|cause| cause.words.starts_with("A is granted")), "{causes:?}");
            assert_eq!(causes.last().map(|cause| cause.words.as_str()), Some("B waits"));
        });
    }
}
