//! How a run is shown: as text or as a picture for a person, as JSON or a trace for a tool, as a hash for a comparison.
//!
//! Text, JSON and hash are [`Observer`]s that an engine takes along; it makes no difference to them whether the steps come
//! from a seeded run or from a path of the exhaustive search. Pictures and traces are made of the JSON steps of a run that
//! is over. Here is what they have in common: the words.

mod hash;
mod json;
mod perfetto;
#[cfg(feature = "report")]
mod picture;
mod post;
mod shiviz;
mod story;
mod text;
#[cfg(test)]
mod toy;

pub use hash::TraceHash;
pub use json::{JsonEvent, JsonEvents, JsonMessage, JsonViolation};
pub use perfetto::perfetto;
#[cfg(feature = "report")]
pub use picture::{STYLE, Window, page, svg};
pub use post::Post;
pub use shiviz::shiviz;
pub use story::Story;
pub use text::{Heading, TextOptions, TextTrace, TimeColumn};

use picklock_model::machine::{Lock, Message, Node, Store};
use picklock_model::names::Words;
use picklock_model::trace::{Observer, Step};
use picklock_properties::{Event, FencingToken, Mode, Promise, Violation};
use std::sync::OnceLock;

static PROGRAM: OnceLock<String> = OnceLock::new();

/// The program that replays tokens, as a trace names it: `picklock`, unless a command said what it was called by.
pub fn program() -> &'static str {
    PROGRAM.get().map_or("picklock", String::as_str)
}

/// Says once what this program is called.
pub(crate) fn name_program(name: String) {
    // Whoever asks twice gets the same name.
    let _ = PROGRAM.set(name);
}

/// Two observers of one run, the first one first.
#[derive(Clone, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<L: Lock, A: Observer<L>, B: Observer<L>> Observer<L> for Both<A, B> {
    fn watches(&self) -> bool {
        self.0.watches() || self.1.watches()
    }

    fn observe(&mut self, step: &Step<L>) {
        if self.0.watches() {
            self.0.observe(step);
        }
        if self.1.watches() {
            self.1.observe(step);
        }
    }
}

/// What a violation means, in half a sentence without a full stop: `B enters while A holds`.
pub fn violation_words(violation: &Violation) -> String {
    let Violation { promise, client, other } = violation;
    let alone = client == other;
    match promise {
        Promise::MutualExclusion if alone => format!("{client} is granted the lock while it holds it"),
        Promise::MutualExclusion => format!("{client} enters while {other} holds"),
        Promise::Theorem1 => format!("{client} enters by lock while {other} holds by lock"),
        Promise::Theorem2 => format!("{client} enters by try_lock while {other} holds by try_lock"),
        Promise::FencedResource if alone => {
            format!(
                "the resource accepts a write from {client} that rests on no grant, or on an earlier one of its own"
            )
        }
        Promise::FencedResource => {
            format!(
                "the resource accepts a write from {client} after one from {other}, who was granted the lock later"
            )
        }
        Promise::Fifo => format!("{client} is granted before {other}, who was enqueued earlier"),
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
        Promise::DeadlockFreedom if alone => format!("{client} waits, and nobody is ever granted the lock"),
        Promise::DeadlockFreedom => format!("{client} and {other} wait, and nobody is ever granted the lock"),
        Promise::StarvationFreedom => format!("{client} waits and is never granted the lock"),
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
    }
}

/// What an event is called in JSON: verb first, then who.
fn event_words(event: &Event) -> String {
    let client = event.client();
    match event {
        Event::Called { mode, .. } => format!("called {client} {}", mode_words(*mode)),
        Event::FoundFree { .. } => format!("found-free {client}"),
        Event::Enqueued { .. } => format!("enqueued {client}"),
        Event::Granted { fence, .. } => format!("granted {client}{}", fence_words(*fence)),
        Event::Refused { .. } => format!("refused {client}"),
        Event::Left { .. } => format!("left {client}"),
        Event::Lost { .. } => format!("lost {client}"),
        Event::Released { .. } => format!("released {client}"),
        Event::Renewed { .. } => format!("renewed {client}"),
        Event::Crashed { .. } => format!("crashed {client}"),
        Event::ResourceRead { .. } => format!("resource-read {client}"),
        Event::Accepted { fence, .. } => format!("accepted {client}{}", fence_words(*fence)),
        Event::Rejected { fence, .. } => format!("rejected {client}{}", fence_words(*fence)),
        Event::RowRead { saw, .. } => format!("row-read {client} saw {saw:?}"),
        Event::Secured { servers, .. } => format!("secured {client} on {} servers", servers.len()),
        Event::Acquired { .. } => format!("acquired {client}"),
        Event::RecordGone { server, .. } => format!("record-gone {client} on {}", Node::Server(*server)),
        Event::Woken { .. } => format!("woken {client}"),
        Event::Written { .. } => format!("written {client}"),
        Event::ReadBegun { .. } => format!("read-begun {client}"),
        Event::TimeGiven { less, .. } => {
            format!("time-given {client} {}", if *less { "less than before" } else { "as before or more" })
        }
    }
}

fn mode_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Lock => "lock",
        Mode::TryLock => "try_lock",
    }
}

/// ` token 5`, or nothing.
fn fence_words(fence: Option<FencingToken>) -> String {
    fence.map_or_else(String::new, |token| format!(" token {}", token.0))
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
    use picklock_properties::ClientId;

    #[test]
    fn every_promise_has_words_for_its_violation_that_name_who_broke_it() {
        for promise in Promise::ALL {
            for other in [ClientId(0), ClientId(1)] {
                let words = violation_words(&Violation { promise, client: ClientId(1), other });
                assert!(words.contains('B') && !words.ends_with('.'), "{words}");
            }
        }
    }

    #[test]
    fn two_observers_see_the_same_steps() {
        let mut both = Both(TraceHash::default(), TraceHash::default());
        toy::overlap(&mut both);
        assert_eq!(both.0, both.1);
        assert_ne!(both.0, TraceHash::default());
    }
}
