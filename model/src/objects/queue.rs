//! The queue of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time* ("Очередь"): an index
//! that says where its end is, and a variable for each position. Nothing is ever taken out: a reader reads the position that it likes.
//!
//! Lines are told as [`super`] says: `push` with `update_index` is the ninth piece of code. The naive queue is two sentences; its
//! steps are told as `step 1`, `step 2`.
//!
//! ```text
//!     pusher                         variables                      another pusher
//!     │── index? ─────────────────────▶│ index 0                       │
//!     │── item 0 := X if absent ──────▶│ item 0 = X                    │
//!     │   (stands still here)          │◀─── item 0 := Y if absent ────│  not done: the next one
//!     │                                │◀─── item 1 := Y if absent ────│
//!     │                                │◀─── index := 2 if unchanged ──│
//!     │── index := 1 if unchanged ────▶│ not done: 2 is there, which is more
//! ```
//!
//! # What it lives on
//!
//! A compare-and-set on one variable that is atomic. The index is a hint: wherever it stands, a pusher finds the end by looking.
//!
//! # What breaks it
//!
//! - `push` whose first write is applied, its reply lost, and is repeated: the answer says that somebody else has the position, and
//!   the item is pushed a second time (row X2). A mark beside the item repairs that ([`Marks::Last`]): a position is written once,
//!   so that the last mark is the only one.
//! - [`Order::IndexFirst`]: who takes an index and stops leaves a hole, before which readers stand for ever (rows X4 and X5).

use super::cells::{Ask, Cell, Heard, Version};
use super::client::{Next, Object, Turn};
use super::content::{Content, Marks};
use crate::machine::Line;
use crate::names::{Word, Words};
use picklock_properties::{ObjectAnswer, ObjectCall, ObjectId};
use serde::{Deserialize, Serialize};

/// The variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// What a pusher writes first.
    pub order: Order,
    /// How a pusher knows its own item again.
    pub marks: Marks,
    /// The last so many clients only read, one position after the other.
    pub readers: u8,
    /// What readers ask for.
    pub readers_ask: Wanted,
    /// How the index is raised when the item is there.
    pub raises: Raises,
    /// Whether a reader who knows by the index that there must be an item waits for it; if not, it says that there is none.
    pub readers_wait: bool,
}

/// What readers ask for.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Wanted {
    /// The items, one position after the other.
    #[default]
    Items,
    /// The index, again and again.
    Index,
}

/// How the index is raised when the item is there.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Raises {
    /// L9:11 to 14: if it is smaller still, by compare-and-set.
    #[default]
    CompareAndSet,
    /// In any case, as who has not read on might write it: it falls when the one before was slow.
    Set,
}

/// What a pusher writes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// The item, into the first position that is empty, and then the index ("Lock-free реализация добавления").
    ItemFirst,
    /// The index, and then the item ("A queue that is, as it were, lock-free"). A reader knows by the index which items are there or on their way.
    IndexFirst,
}

impl Default for Settings {
    /// The lock-free one as written, and one reader.
    fn default() -> Settings {
        Settings {
            order: Order::ItemFirst,
            marks: Marks::None,
            readers: 1,
            readers_ask: Wanted::Items,
            raises: Raises::CompareAndSet,
            readers_wait: true,
        }
    }
}

/// The variables' words: `index` and `item0`, `item1` …
const WORDS: Words = Words { names: &["index", "item{}"], labels: &["value"] };

/// There is one queue.
const QUEUE: ObjectId = ObjectId(0);

const INDEX: Cell = Cell { word: Word(0), number: 0 };

/// The word of the items.
pub(super) const ITEM: Word = Word(1);

const fn item(position: u8) -> Cell {
    Cell { word: ITEM, number: position }
}

/// An operation under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Queue {
    /// L9:2, `index = queue.get_current_index()`.
    AsksForEnd {
        /// What is pushed.
        item: u16,
    },
    /// L9:5, `var.CAS_versioned(0, value)`.
    PutsItem {
        /// What is pushed.
        item: u16,
        /// Where to.
        position: u8,
    },
    /// Beside the listing: whose item is there?
    LooksWhose {
        /// What is pushed.
        item: u16,
        /// Where somebody's item is.
        position: u8,
    },
    /// L9:8, `index = max(queue.get_current_index(), index + 1)`.
    AsksAgain {
        /// What is pushed.
        item: u16,
        /// Where it found another item.
        position: u8,
    },
    /// L9:11, `cur_index, version = queue.get_current_index_versioned()`.
    ReadsIndex {
        /// Where its item is.
        position: u8,
    },
    /// L9:14, `queue.current_index_var().CAS_versioned(version, index)`.
    RaisesIndex {
        /// Where its item is.
        position: u8,
    },
    /// Step 1 of the naive queue: what is the index, to raise it?
    TakesIndex {
        /// What is pushed.
        item: u16,
        /// It has read that this is the index, and raises it.
        position: Option<u8>,
    },
    /// Step 2: writes the item there.
    FillsPosition {
        /// Where to.
        position: u8,
    },
    /// A reader asks whether there is, or will be, an item at its position.
    AsksForIndex {
        /// Which position.
        position: u8,
    },
    /// A reader reads its position.
    Reads {
        /// Which position.
        position: u8,
    },
    /// A reader reads the index.
    LooksAtIndex,
}

impl Queue {
    fn put(item_: u16, position: u8, whose: Turn, settings: &Settings) -> (Queue, Next) {
        let content = Content::default().replaced(item_, settings.marks, whose);
        let ask = Ask::SetIfVersion(Version::ABSENT, Some(content.word()));
        (Queue::PutsItem { item: item_, position }, Next::Ask(item(position), ask))
    }

    fn pushed(position: u8) -> Next {
        Next::Return(ObjectAnswer::Pushed { position: u32::from(position) })
    }

    fn is_reader(settings: &Settings, whose: Turn) -> bool {
        whose.client >= whose.clients.saturating_sub(settings.readers)
    }
}

impl Object for Queue {
    type Settings = Settings;

    const WORDS: Words = WORDS;

    fn stored(settings: &Settings) -> Option<&'static str> {
        settings.marks.stored()
    }

    fn call(settings: &Settings, whose: Turn, _choice: u32) -> ObjectCall {
        match (Queue::is_reader(settings, whose), settings.readers_ask) {
            (true, Wanted::Items) => ObjectCall::ReadAt { queue: QUEUE, position: u32::from(whose.round) },
            (true, Wanted::Index) => ObjectCall::ReadIndex { queue: QUEUE },
            // No two items are equal.
            (false, _) => ObjectCall::Push {
                queue: QUEUE,
                item: 1 + i32::from(whose.round) * i32::from(whose.clients) + i32::from(whose.client),
            },
        }
    }

    fn begin(call: ObjectCall, _whose: Turn, settings: &Settings) -> (Self, Next) {
        let get_index = Next::Ask(INDEX, Ask::Get);
        match (call, settings.order) {
            (ObjectCall::Push { item, .. }, Order::ItemFirst) => {
                (Queue::AsksForEnd { item: item as u16 }, get_index)
            }
            (ObjectCall::Push { item, .. }, Order::IndexFirst) => {
                (Queue::TakesIndex { item: item as u16, position: None }, get_index)
            }
            (ObjectCall::ReadAt { position, .. }, Order::ItemFirst) => {
                let position = position as u8;
                (Queue::Reads { position }, Next::Ask(item(position), Ask::Get))
            }
            (ObjectCall::ReadAt { position, .. }, Order::IndexFirst) => {
                (Queue::AsksForIndex { position: position as u8 }, get_index)
            }
            (ObjectCall::ReadIndex { .. }, _) => (Queue::LooksAtIndex, get_index),
            (call, _) => unreachable!("a queue is not asked for {call:?}"),
        }
    }

    fn go_on(&mut self, heard: Heard, whose: Turn, settings: &Settings) -> Next {
        let (queue, next) = match (*self, heard) {
            (Queue::AsksForEnd { item }, Heard::Found(end, _)) => {
                Queue::put(item, Content::of(end).number() as u8, whose, settings)
            }
            (Queue::PutsItem { position, .. }, Heard::Set(true)) => {
                (Queue::ReadsIndex { position }, Next::Ask(INDEX, Ask::Get))
            }
            (Queue::PutsItem { item, position }, Heard::Set(false)) => match settings.marks {
                Marks::None => (Queue::AsksAgain { item, position }, Next::Ask(INDEX, Ask::Get)),
                Marks::Last | Marks::EachClient => {
                    (Queue::LooksWhose { item, position }, Next::Ask(self::item(position), Ask::Get))
                }
            },
            (Queue::LooksWhose { position, .. }, Heard::Found(found, _))
                if Content::of(found).bears(settings.marks, whose) =>
            {
                (Queue::ReadsIndex { position }, Next::Ask(INDEX, Ask::Get))
            }
            (Queue::LooksWhose { item, position }, Heard::Found(..)) => {
                (Queue::AsksAgain { item, position }, Next::Ask(INDEX, Ask::Get))
            }
            (Queue::AsksAgain { item, position }, Heard::Found(end, _)) => {
                let end = Content::of(end).number() as u8;
                Queue::put(item, end.max(position + 1), whose, settings)
            }
            (Queue::LooksAtIndex, Heard::Found(end, _)) => {
                let index = u32::from(Content::of(end).number());
                (*self, Next::Return(ObjectAnswer::Index { index }))
            }
            (Queue::ReadsIndex { position }, Heard::Found(..)) if settings.raises == Raises::Set => {
                let ask = Ask::Set(Some(Content::new(u16::from(position) + 1).word()));
                (Queue::RaisesIndex { position }, Next::Ask(INDEX, ask))
            }
            // Somebody has raised it as far, or further.
            (Queue::ReadsIndex { position }, Heard::Found(end, _))
                if Content::of(end).number() > u16::from(position) =>
            {
                (*self, Queue::pushed(position))
            }
            (Queue::ReadsIndex { position }, Heard::Found(_, version)) => {
                let ask = Ask::SetIfVersion(version, Some(Content::new(u16::from(position) + 1).word()));
                (Queue::RaisesIndex { position }, Next::Ask(INDEX, ask))
            }
            (Queue::RaisesIndex { position }, Heard::Set(true)) => (*self, Queue::pushed(position)),
            (Queue::RaisesIndex { position }, Heard::Set(false)) => {
                (Queue::ReadsIndex { position }, Next::Ask(INDEX, Ask::Get))
            }
            (Queue::TakesIndex { item, .. }, Heard::Found(end, version)) => {
                let position = Content::of(end).number() as u8;
                let next = Content::of(end).replaced(u16::from(position) + 1, settings.marks, whose);
                let ask = Ask::SetIfVersion(version, Some(next.word()));
                (Queue::TakesIndex { item, position: Some(position) }, Next::Ask(INDEX, ask))
            }
            (Queue::TakesIndex { item, position: Some(position) }, Heard::Set(true)) => {
                let ask = Ask::Set(Some(Content::new(item).word()));
                (Queue::FillsPosition { position }, Next::Ask(self::item(position), ask))
            }
            (Queue::TakesIndex { item, .. }, Heard::Set(false)) => {
                (Queue::TakesIndex { item, position: None }, Next::Ask(INDEX, Ask::Get))
            }
            (Queue::FillsPosition { position }, Heard::Set(_)) => (*self, Queue::pushed(position)),
            (Queue::AsksForIndex { position }, Heard::Found(end, _)) => {
                match Content::of(end).number() > u16::from(position) {
                    true => (Queue::Reads { position }, Next::Ask(item(position), Ask::Get)),
                    false => (*self, Next::Return(ObjectAnswer::Item { item: None })),
                }
            }
            (Queue::Reads { .. }, Heard::Found(Some(found), _)) => {
                let item = Some(i32::from(Content::of(Some(found)).number()));
                (*self, Next::Return(ObjectAnswer::Item { item }))
            }
            // The index says that there is one: it must be on its way.
            (Queue::Reads { position }, Heard::Found(None, _))
                if settings.order == Order::IndexFirst && settings.readers_wait =>
            {
                (*self, Next::AskLater(item(position), Ask::Get))
            }
            (Queue::Reads { .. }, Heard::Found(None, _)) => {
                (*self, Next::Return(ObjectAnswer::Item { item: None }))
            }
            (at, heard) => unreachable!("{at:?} has asked nothing that is answered with {heard:?}"),
        };
        *self = queue;
        next
    }

    fn each_version(&mut self, _show: &mut dyn FnMut(&mut Version)) {
        // None outlives the request that it is in.
    }

    fn line(&self) -> Line {
        let (listing, number) = match self {
            Queue::AsksForEnd { .. } => (9, 2),
            Queue::PutsItem { .. } | Queue::LooksWhose { .. } => (9, 5),
            Queue::AsksAgain { .. } => (9, 8),
            Queue::ReadsIndex { .. } => (9, 11),
            Queue::RaisesIndex { .. } => (9, 14),
            Queue::TakesIndex { .. } => (0, 1),
            Queue::FillsPosition { .. } => (0, 2),
            Queue::AsksForIndex { .. } | Queue::Reads { .. } | Queue::LooksAtIndex => return Line::NONE,
        };
        Line { listing, number }
    }

    fn doing(&self) -> &'static str {
        match self {
            Queue::AsksForEnd { .. } | Queue::AsksAgain { .. } => "looks for the end",
            Queue::PutsItem { .. } | Queue::FillsPosition { .. } => "writes its item",
            Queue::LooksWhose { .. } => "looks whose item it is",
            Queue::ReadsIndex { .. } | Queue::RaisesIndex { .. } => "raises the index",
            Queue::TakesIndex { .. } => "takes an index",
            Queue::AsksForIndex { .. } | Queue::Reads { .. } | Queue::LooksAtIndex => "reads",
        }
    }
}
