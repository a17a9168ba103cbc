//! How a run is shown: as text or as a picture for a person, as JSON or a trace for a tool, as a hash for a comparison.
//!
//! Text, JSON and hash are [`Observer`]s that an engine takes along; it makes no difference to them whether the steps come
//! from a seeded run or from a path of the exhaustive search. Pictures and traces are made of the JSON steps of a run that
//! is over. Here is what they have in common: the words.

mod hash;
mod json;
mod newer;
mod operations;
mod post;
mod story;
mod text;
#[cfg(test)]
mod toy;

pub use hash::TraceHash;
pub use json::{JsonEvent, JsonEvents, JsonMessage, JsonMode, JsonViolation};
pub use newer::{HIDDEN, Newer, is_hidden, newer_than};
pub use operations::{JsonOperation, Operation, labelled, operations};
pub use story::{Kind, Reason, Story};
pub use text::{Heading, Page, Style, TextOptions, TextTrace, TimeColumn, never_again};

use picklock_model::machine::{Message, Store};
use picklock_model::names::Words;
use picklock_model::system::System;
use picklock_model::trace::{Observer, Step};
use picklock_properties::{FencingToken, Having, Promise, Violation};
use std::sync::OnceLock;

static PROGRAM: OnceLock<String> = OnceLock::new();

/// The program that replays tokens, as a trace names it: `picklock`, unless a command said what it was called by.
pub fn program() -> &'static str {
    PROGRAM.get().map_or("picklock", String::as_str)
}

/// Says once what this program is called.
pub fn name_program(name: String) {
    // Whoever asks twice gets the same name.
    let _ = PROGRAM.set(name);
}

/// Two observers of one run, the first one first.
#[derive(Clone, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<Y: System, A: Observer<Y>, B: Observer<Y>> Observer<Y> for Both<A, B> {
    fn watches(&self) -> bool {
        self.0.watches() || self.1.watches()
    }

    fn observe(&mut self, step: &Step<Y>) {
        if self.0.watches() {
            self.0.observe(step);
        }
        if self.1.watches() {
            self.1.observe(step);
        }
    }
}

/// The mode of [`picklock_properties::AccessModes::permits`].
const PERMIT: &str = "permit";

/// What a violation means, in half a sentence without a full stop: `B enters while A holds`.
pub fn violation_words(violation: &Violation) -> String {
    let Violation { promise, client, other, modes, having } = violation;
    let alone = client == other;
    if let (Having::IsGranted, Promise::MutualExclusion, Some([by, beside])) = (having, promise, modes) {
        return format!("{client} is granted {by} while {other} has {beside}");
    }
    // A lock with several modes of access says in which.
    let [by, beside] = modes.map_or_else(Default::default, |modes| modes.map(|mode| format!(" ({mode})")));
    match promise {
        // Of a semaphore one other holder is named, and it takes all of them.
        Promise::MutualExclusion if modes.is_some_and(|[_, beside]| beside.as_str() == PERMIT) => {
            format!("{client} enters{by} while as many hold as there are permits, {other} among them")
        }
        Promise::MutualExclusion if alone => format!("{client} is granted the lock while it holds it"),
        Promise::MutualExclusion => format!("{client} enters{by} while {other} holds{beside}"),
        Promise::Theorem1 => {
            format!("{client} enters by lock{by} while {other} holds by lock{beside}")
        }
        Promise::Theorem2 => {
            format!("{client} enters by try_lock{by} while {other} holds by try_lock{beside}")
        }
        Promise::FencedResource if alone => {
            format!(
                "the resource accepts a write from {client} that rests on no grant, or on an earlier one of its own"
            )
        }
        Promise::FencedResource => {
            format!(
                "the resource accepts a write from {client} after one from {other}, whose grant is the later one"
            )
        }
        Promise::Fifo => format!("{client} is granted before {other}, who was enqueued earlier"),
        Promise::BoundedOvertaking => {
            format!(
                "{client} is granted before {other}, who was enqueued earlier and was overtaken by it already"
            )
        }
        Promise::LeaseLoss => format!("{client} prolongs its lease after {other} was granted the lock"),
        Promise::Theorem3 if alone => {
            format!("{client} is refused last, and nobody was granted the free lock")
        }
        Promise::Theorem3 => {
            format!("{client} drops out, {other} was refused, and nobody was granted the free lock")
        }
        Promise::Lemma1 => {
            format!("{client} wrote, read and missed the record of {other}, who had missed that of {client}")
        }
        // Random runs end: what they show is a bound, that of `Limits::of`. A loop without an end has words of its own.
        Promise::DeadlockFreedom => {
            let waiting =
                if alone { format!("{client} waits") } else { format!("{client} and {other} wait") };
            format!(
                "{waiting}, and nobody was granted the lock for three leases and a minute after the last fault"
            )
        }
        Promise::StarvationFreedom => format!(
            "{client} waits, and was not granted the lock after the last fault for as long as every client's turn may take \
             (three leases, a minute and a hold each)"
        ),
        Promise::MinValidity => format!("{client} holds, and a record that its grant rests on is gone"),
        Promise::NoHerd => format!("{client} is woken by the same release as {other}"),
        Promise::FreshRead if alone => format!("{client} does not see what it wrote itself"),
        Promise::FreshRead => {
            format!(
                "{client} does not see what {other} had written, as it could know, before it began to read"
            )
        }
        Promise::TimeOrder => format!("the time service tells {client} less than it told it before"),
        Promise::TokenOrder if alone => {
            format!("{client} is granted a token out of order with its own earlier one")
        }
        Promise::TokenOrder => format!("{client} is granted a token out of order with that of {other}"),
        Promise::LostUpdate if alone => {
            format!("a write of {client} overwrites one of its own earlier hold unread")
        }
        Promise::LostUpdate => format!("a write of {client} overwrites one of {other} that it has not read"),
        Promise::ReleaseEnds => format!("{client} has left and is never done with its release"),
        Promise::Linearizable => format!("{client} is told what no order of the calls explains"),
        Promise::Conservation => {
            format!("{client} adds the accounts up, and it is not what was put in less what was taken out")
        }
        Promise::NoHole => format!("{client} finds an empty position of the queue below a filled one"),
        Promise::NoOverwrite => format!("{client} finds that a position of the queue has lost its item"),
        Promise::NoDuplicate => format!("{client} finds an item once more than it was pushed"),
        Promise::IndexNeverFalls => format!("{client} finds that the index of the queue has fallen"),
        Promise::ExactlyOnce => {
            format!("{client} leaves the output as no single handler without crashes would")
        }
    }
}

/// ` token 5`, or nothing.
fn fence_words(fence: Option<FencingToken>) -> String {
    fence.map_or_else(String::new, |token| format!(" {token}"))
}

/// What a message says, in the words of the lock.
fn message_words<S: Store>(message: &Message<S>, words: Words) -> String {
    match message {
        Message::Request(request) => words.fill_in(&request.to_string()),
        Message::Reply(reply) => words.fill_in(&reply.to_string()),
        Message::Peer(message) => words.fill_in(&message.to_string()),
        Message::Read { fence, .. } => format!("read{}", fence_words(*fence)),
        Message::Shown { .. } => "shown".to_owned(),
        Message::Write { fence, .. } => format!("write{}", fence_words(*fence)),
        Message::Written { accepted: true, .. } => "written".to_owned(),
        Message::Written { accepted: false, .. } => "turned down".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picklock_properties::{Access, AccessModes, ClientId};

    #[test]
    fn every_promise_has_words_for_its_violation_that_name_who_broke_it() {
        for promise in Promise::ALL {
            for other in [ClientId(0), ClientId(1)] {
                let words = violation_words(&Violation::new(promise, ClientId(1), other));
                assert!(words.contains('B') && !words.ends_with('.'), "{words}");
            }
        }
    }

    #[test]
    fn a_violation_of_a_lock_with_several_modes_of_access_names_them() {
        let modes = [Access(0), Access(1)].map(|access| AccessModes::SHARED_EXCLUSIVE.name(access));
        let violation = Violation::new(Promise::MutualExclusion, ClientId(1), ClientId(0));
        assert_eq!(violation_words(&violation), "B enters while A holds");
        let violation = Violation { modes: Some(modes), ..violation };
        assert_eq!(violation_words(&violation), "B enters (write) while A holds (read)");
        // Who works on nothing enters nothing.
        let violation = Violation { having: Having::IsGranted, ..violation };
        assert_eq!(violation_words(&violation), "B is granted write while A has read");
    }

    #[test]
    fn two_observers_see_the_same_steps() {
        let mut both = Both(TraceHash::default(), TraceHash::default());
        toy::overlap(&mut both);
        assert_eq!(both.0, both.1);
        assert_ne!(both.0, TraceHash::default());
    }
}
