//! How long a run is, so that one of the seeded engine can be laid beside a path of the exhaustive search.
//!
//! Time passes in the exhaustive search in ticks, and clients ask when they like; in a seeded run a client that waits for a
//! lease to end asks a hundred times. So ticks, faults, and messages that are lost on their way do not count; and what a node
//! does again, to the same effect, counts once until the lock changes hands or a fault strikes: much as a trace folds it.

use crate::registry::Replay;
use crate::report::JsonEvent;
use picklock_properties::Promise;
use serde::Serialize;
use std::collections::BTreeSet;

/// Up to the step that breaks the promise; of a promise of progress, all of the run, or stem and loop.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Length {
    /// Steps in which a node is entered: by a message, a deadline, or a start after a crash.
    pub entries: u64,
    /// Those that are no repetition.
    pub once: u64,
}

impl Length {
    /// Of a run that was shown again.
    pub fn of(replay: &Replay, promise: Promise) -> Length {
        let breaks = |event: &&JsonEvent| event.violations.iter().any(|broken| broken.property == promise);
        let events = &replay.events;
        let until = events.iter().find(breaks).map_or(events.len(), |event| event.step as usize);
        let (mut length, mut known) = (Length::default(), Known::default());
        for event in events.iter().take(until) {
            let is_entry = ENTRIES.contains(&event.what);
            let is_new = known.is_new(event);
            length.entries += u64::from(is_entry);
            length.once += u64::from(is_entry && is_new);
        }
        length
    }
}

const ENTRIES: [&str; 3] = ["delivered", "woke", "restarted"];
/// What happens on the way or of itself: after it, who repeats itself goes on doing so.
const NOBODY_CARES: [&str; 5] = ["lost", "duplicated", "ticked", "ticked-unevenly", "healed"];
/// The lock changes hands, or somebody asks for it.
const CHANGES_HANDS: [&str; 5] = ["called", "granted", "refused", "left", "crashed"];

/// What nodes did since something changed.
#[derive(Default)]
struct Known(BTreeSet<String>);

impl Known {
    fn is_new(&mut self, event: &JsonEvent) -> bool {
        if NOBODY_CARES.contains(&event.what) {
            return false;
        }
        let changes_hands = |reported: &String| CHANGES_HANDS.iter().any(|word| reported.starts_with(word));
        if !matches!(event.what, "delivered" | "woke") || event.reported.iter().any(changes_hands) {
            self.0.clear();
            return true;
        }
        self.0.insert(likeness(event))
    }
}

/// What the step looks like, numbers aside: times, and so a lease that was prolonged, are no news.
fn likeness(event: &JsonEvent) -> String {
    let sent = event.sent.iter().map(|sent| format!("to {} {}", sent.to, without_numbers(&sent.message)));
    let stored = event.stored.iter().flatten().chain(&event.reported).chain(&event.message);
    let words: Vec<String> = stored.map(|words| without_numbers(words)).chain(sent).collect();
    format!("{:?} {:?} {:?} {:?} {words:?}", event.node, event.from, event.line, event.doing)
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|character| !character.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(node: &str, what: &'static str, message: &str, reported: &[&str]) -> JsonEvent {
        JsonEvent {
            step: 0,
            at_us: 0,
            node: Some(node.to_owned()),
            what,
            from: None,
            to: None,
            message: Some(message.to_owned()),
            sent_in: None,
            wake: None,
            power_lost: None,
            by_us: None,
            ppm: None,
            line: None,
            wall_us: None,
            doing: None,
            remark: None,
            stored: None,
            sent: Vec::new(),
            reported: reported.iter().map(|words| (*words).to_owned()).collect(),
            operations: Vec::new(),
            holders: Vec::new(),
            modes: Vec::new(),
            holders_share: false,
            violations: Vec::new(),
        }
    }

    fn once(events: &[JsonEvent]) -> Vec<bool> {
        let mut known = Known::default();
        events.iter().map(|event| known.is_new(event)).collect()
    }

    #[test]
    fn who_asks_the_same_again_does_nothing_new_until_the_lock_changes_hands_or_a_fault_strikes() {
        let poll = || event("B", "delivered", "nil 17", &[]);
        let again = || event("B", "delivered", "nil 18", &[]);
        let tick = || event("B", "ticked", "", &[]);
        assert_eq!(once(&[poll(), again(), tick(), again()]), [true, false, false, false]);
        let left = || event("A", "woke", "", &["left A"]);
        assert_eq!(once(&[poll(), left(), again(), again()]), [true, true, true, false]);
        let paused = || event("A", "paused", "", &[]);
        assert_eq!(once(&[poll(), paused(), again()]), [true, true, true]);
    }

    #[test]
    fn what_a_server_stores_is_news_unless_it_stored_it_before_numbers_aside() {
        let stores = |contents: &str| JsonEvent {
            stored: Some(vec![contents.to_owned()]),
            ..event("s1", "delivered", "set", &[])
        };
        let steps = [stores("A@1"), stores("A@2"), stores("B@3"), stores("A@4")];
        assert_eq!(once(&steps), [true, false, true, false]);
    }
}
