//! The stream handler over the lock-free queue: some clients push numbers, the others handle them, as the exactly-once article,
//! *Heterogeneous concurrent exactly-once processing of data in real time*, puts its parts together. Both are what they are alone
//! ([`super::queue`], [`super::handler`]); here they meet in one store.
//!
//! ```text
//!   pushers ── push, update_index ──▶ index, item0, item1 …
//!                                         │ item at the position
//!                                         ▼
//!                                     handlers ──▶ state and positions ──▶ output0, output1 … ──▶ counter
//! ```
//!
//! A number is in the stream as soon as its item is in the queue, whether its pusher knows or not. The queue writes the item first: with
//! the index first there is no order in which the numbers come.

use super::cells::{Cell, Heard, Version};
use super::client::{Next, Object, Turn};
use super::handler::{self, Commit, Handling, Input, QUEUE_WORDS};
use super::queue::{self, Order, Queue};
use crate::machine::Line;
use crate::names::{Word, Words};
use picklock_properties::{ClientId, Event, ObjectCall};
use serde::{Deserialize, Serialize};

/// The variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Of the pushers. There are no readers beside the handlers.
    pub queue: queue::Settings,
    /// Of the handlers.
    pub handler: handler::Settings,
    /// The last so many clients are handlers.
    pub handlers: u8,
}

impl Default for Settings {
    /// Two handlers that decide at once.
    fn default() -> Settings {
        Settings {
            queue: queue::Settings { order: Order::ItemFirst, readers: 0, ..queue::Settings::default() },
            handler: handler::Settings { commit: Commit::AtOnce, input: Input::Queue },
            handlers: 2,
        }
    }
}

/// An operation under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stream {
    /// Of a pusher.
    Pushes(Queue),
    /// Of a handler.
    Handles(Handling),
}

/// What a pusher asks of variables that have other names here.
fn placed(next: Next) -> Next {
    let placed = |cell: Cell| Cell { word: Word(cell.word.0 + QUEUE_WORDS), ..cell };
    match next {
        Next::Ask(cell, ask) => Next::Ask(placed(cell), ask),
        Next::AskLater(cell, ask) => Next::AskLater(placed(cell), ask),
        Next::Return(answer) => Next::Return(answer),
    }
}

impl Object for Stream {
    type Settings = Settings;

    const WORDS: Words = Words {
        names: &["state", "positions", "end", "output{}", "counter", "index", "item{}"],
        labels: &["value"],
    };

    fn stored(settings: &Settings) -> Option<&'static str> {
        Queue::stored(&settings.queue)
    }

    fn call(settings: &Settings, whose: Turn, choice: u32) -> ObjectCall {
        match whose.client >= whose.clients.saturating_sub(settings.handlers) {
            true => Handling::call(&settings.handler, whose, choice),
            false => Queue::call(&settings.queue, whose, choice),
        }
    }

    fn begin(call: ObjectCall, whose: Turn, settings: &Settings) -> (Self, Next) {
        match call {
            ObjectCall::Handle => {
                let (handling, next) = Handling::begin(call, whose, &settings.handler);
                (Stream::Handles(handling), next)
            }
            push => {
                let (queue, next) = Queue::begin(push, whose, &settings.queue);
                (Stream::Pushes(queue), placed(next))
            }
        }
    }

    fn go_on(&mut self, heard: Heard, whose: Turn, settings: &Settings) -> Next {
        match self {
            Stream::Pushes(queue) => placed(queue.go_on(heard, whose, &settings.queue)),
            Stream::Handles(handling) => handling.go_on(heard, whose, &settings.handler),
        }
    }

    fn settles(&self) -> bool {
        match self {
            Stream::Pushes(queue) => queue.settles(),
            Stream::Handles(handling) => handling.settles(),
        }
    }

    fn given(settings: &Settings) -> Vec<Event> {
        Handling::given(&settings.handler)
    }

    fn means(cell: Cell, before: Option<u32>, after: Option<u32>, by: u8) -> Option<Event> {
        match (cell.word, before, after) {
            (handler::ITEM, None, Some(item)) => {
                let value = i32::from(handler::number_of(item));
                Some(Event::Input { client: ClientId(by), stream: 0, value })
            }
            _ => Handling::means(cell, before, after, by),
        }
    }

    fn each_version(&mut self, show: &mut dyn FnMut(&mut Version)) {
        match self {
            Stream::Pushes(queue) => queue.each_version(show),
            Stream::Handles(handling) => handling.each_version(show),
        }
    }

    fn line(&self) -> Line {
        match self {
            Stream::Pushes(queue) => queue.line(),
            Stream::Handles(handling) => handling.line(),
        }
    }

    fn doing(&self) -> &'static str {
        match self {
            Stream::Pushes(queue) => queue.doing(),
            Stream::Handles(handling) => handling.doing(),
        }
    }
}
