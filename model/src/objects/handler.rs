//! The stream handler of the exactly-once article, *Heterogeneous concurrent exactly-once processing of data in real time*: it takes
//! numbers from two streams, puts the mean of the last few into an output queue, and raises a counter in another store whenever there were
//! enough of them.
//!
//! ```text
//!   streams ──▶ handler ──(A)──▶ output queue ──(B)──▶ counter ──(C)──▶ state ──(D)──▶ positions ──(E)──▶ next number
//! ```
//!
//! # The naive handler ([`Commit::Apart`])
//!
//! The document's first piece of code, line by line. Its letters A to E are where it crashes, and it begins anew with what is saved.
//!
//! # The other one ([`Commit::AtOnce`])
//!
//! The document promises a handler whose effect is as if it had run once although two run at the same time, and ends before it comes to
//! it. This one is ours, built from the document's parts. State and positions are one variable, changed by one
//! compare-and-set: that decides which number is the *n*th. All that follows from it is then fixed, so that whoever comes by may do it,
//! and it does no harm to do it twice: output *n* is written where nothing is, and the counter remembers up to which *n* it has
//! counted. Nobody decides the next number before the effects of the last are there.
//!
//! # What it lives on
//!
//! The two compare-and-sets are atomic. Nothing else: not on clocks, not on who is alive, not on which store is which.
//!
//! # What breaks it
//!
//! The naive one: a crash at B, C or D, and a second handler at any time (rows X6, X8). The other: nothing here that we know of.
//!
//! # Where the numbers come from
//!
//! From two streams that are there from the beginning and are read without asking a store, or from the lock-free queue into which
//! others push meanwhile ([`Input::Queue`], [`super::stream`]).
//!
//! # What is left out
//!
//! The window is one of numbers, not of time (see [`picklock_properties::Handler`]). One number is taken at a time.

use super::cells::{Ask, Cell, Heard, Version};
use super::client::{Next, Object, Turn};
use super::content::Content;
use super::queue;
use crate::machine::Line;
use crate::names::{Word, Words};
use picklock_properties::{ClientId, Event, Handler, ObjectAnswer, ObjectCall};
use serde::{Deserialize, Serialize};

/// The variant.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// How what was done is saved.
    pub commit: Commit,
    /// Where the numbers come from.
    pub input: Input,
}

/// Where the numbers come from.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Input {
    /// Three numbers in two streams.
    #[default]
    Streams,
    /// What the queue's positions hold, tenfold and modulo 256, so that hardly a mean is like the one before; up to 255 of them. A handler
    /// has finished when it comes to one that is empty.
    Queue,
}

/// How what was done is saved.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Commit {
    /// One after the other, when everything has been done: the naive handler.
    #[default]
    Apart,
    /// In one compare-and-set, before anything is done.
    AtOnce,
}

/// The numbers of both streams.
const STREAMS: [&[u8]; 2] = [&[10, 20], &[60]];

const STATE: Cell = Cell { word: Word(0), number: 0 };
const POSITIONS: Cell = Cell { word: Word(1), number: 0 };
/// Where the output queue ends.
const END: Cell = Cell { word: Word(2), number: 0 };
/// In another store, if there are two.
const COUNTER: Cell = Cell { word: Word(4), number: 1 };
const OUTPUT: Word = Word(3);

/// Where the words of the queue begin, of whose items numbers are made.
pub(super) const QUEUE_WORDS: u8 = 5;
pub(super) const ITEM: Word = Word(QUEUE_WORDS + queue::ITEM.0);

/// The number that an item of the queue stands for.
pub(super) fn number_of(item: u32) -> u8 {
    (Content::of(Some(item)).number() as u8).wrapping_mul(10)
}

const fn output(number: u8) -> Cell {
    Cell { word: OUTPUT, number }
}

/// Where a handler is in the streams and what its window will hold when the next number comes, with what the last one came to.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct State {
    /// How many numbers were taken of each stream.
    taken: [u8; 2],
    /// The last number, if there was one.
    held: Option<u8>,
    /// What comes out for it.
    mean: u8,
    /// Whether it is counted.
    counts: bool,
}

impl State {
    fn numbers(self) -> u8 {
        self.taken[0].saturating_add(self.taken[1])
    }

    /// The state after the next number of the two streams, which a handler of this number takes from "its" stream if there is one left.
    fn next(self, client: u8) -> Option<State> {
        let has_left = |stream: &usize| usize::from(self.taken[*stream]) < STREAMS[*stream].len();
        let own = usize::from(client % 2);
        let stream = Some(own).filter(has_left).or(Some(1 - own).filter(has_left))?;
        Some(self.after(stream, STREAMS[stream][usize::from(self.taken[stream])]))
    }

    /// The state after this number of this stream.
    fn after(self, stream: usize, number: u8) -> State {
        let mut held: Vec<i32> = self.held.map(i32::from).into_iter().collect();
        let (mean, counts) = Handler::default().step(&mut held, i32::from(number));
        let mut taken = self.taken;
        taken[stream] += 1;
        State { taken, held: Some(number), mean: mean as u8, counts }
    }

    /// As one word: 8 bits of the first stream and 4 of the second, 8 of the last number with one more whether there is one, 8 of the
    /// mean, 1 whether it counts.
    fn word(self) -> u32 {
        let held = self.held.map_or(0, |held| u32::from(held) | 1 << 8);
        u32::from(self.taken[0])
            | u32::from(self.taken[1]) << 8
            | held << 12
            | u32::from(self.mean) << 21
            | u32::from(self.counts) << 29
    }

    fn of(word: Option<u32>) -> State {
        let word = word.unwrap_or(0);
        let bits = |from: u32, many: u32| (word >> from & ((1 << many) - 1)) as u8;
        State {
            taken: [bits(0, 8), bits(8, 4)],
            held: (word >> 20 & 1 == 1).then_some(bits(12, 8)),
            mean: bits(21, 8),
            counts: bits(29, 1) == 1,
        }
    }

    /// What the naive handler saves of it as `state`: the window.
    fn window(self) -> State {
        State { held: self.held, ..State::default() }
    }

    /// And as positions.
    fn positions(self) -> State {
        State { taken: self.taken, ..State::default() }
    }
}

/// A handler at work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Handling {
    /// Restores the state; of the naive handler L1:2.
    Restores,
    /// L1:2, `input_indexes = storage.get_input_indexes()`.
    RestoresPositions {
        /// The window.
        window: State,
    },
    /// L1:4, `items, new_input_indexes = input_queues.get_from(input_indexes)`, of the queue; of the other handler the first half of step 3.
    Takes {
        /// Before this number.
        state: State,
        /// Of the state, where it is saved already.
        version: Option<Version>,
        /// Whether it has saved a number since it restored its state.
        has_saved: bool,
    },
    /// L1:9, `output_queues[0].push(avg)`: where is the end? Nothing is written of this number yet: the handler is at point A, and if it
    /// has saved a number before, at its point E.
    FindsEnd {
        /// After this number.
        state: State,
        /// Whether it has saved a number since it restored its state.
        has_saved: bool,
    },
    /// L1:9: writes there.
    Outputs {
        /// After this number.
        state: State,
        /// Where to.
        end: u8,
    },
    /// L1:9: the end is behind it.
    MovesEnd {
        /// After this number.
        state: State,
    },
    /// L1:11, `db.increment_counter()`: what is it?
    ReadsCounter {
        /// After this number.
        state: State,
        /// Of the state, where it is saved already.
        version: Option<Version>,
    },
    /// L1:11: one more, if it is that still.
    Counts {
        /// After this number.
        state: State,
        /// Of the state, where it is saved already.
        version: Option<Version>,
    },
    /// L1:12, `storage.save_state(state)`.
    SavesState {
        /// After this number.
        state: State,
    },
    /// L1:13, `storage.save_queue_indexes(new_input_indexes)`.
    SavesPositions {
        /// After this number.
        state: State,
    },
    /// Step 1 of the other handler: output *n*, where nothing is.
    OutputsAgain {
        /// After this number.
        state: State,
        /// Of the state.
        version: Version,
    },
    /// Step 3 of the other handler: the next number, state and positions at once.
    Decides,
}

/// How the counter is kept: how often it was raised, and up to which number, of the handler that remembers.
fn counted(word: Option<u32>) -> (u32, u8) {
    let word = word.unwrap_or(0);
    (word & 0xff, (word >> 8) as u8)
}

impl Handling {
    fn restore() -> (Handling, Next) {
        (Handling::Restores, Next::Ask(STATE, Ask::Get))
    }

    /// The naive handler takes the next number, or is done.
    fn handle(self, state: State, has_saved: bool, whose: Turn, settings: &Settings) -> (Handling, Next) {
        match settings.input {
            Input::Queue => Handling::take(state, None, has_saved),
            Input::Streams => match state.next(whose.client) {
                Some(state) => Handling::find_end(state, has_saved),
                None => (self, Next::Return(ObjectAnswer::Done)),
            },
        }
    }

    fn take(state: State, version: Option<Version>, has_saved: bool) -> (Handling, Next) {
        let item = Cell { word: ITEM, number: state.numbers() };
        (Handling::Takes { state, version, has_saved }, Next::Ask(item, Ask::Get))
    }

    fn find_end(state: State, has_saved: bool) -> (Handling, Next) {
        (Handling::FindsEnd { state, has_saved }, Next::Ask(END, Ask::Get))
    }

    fn save(state: State) -> (Handling, Next) {
        let ask = Ask::Set(Some(state.window().word()));
        (Handling::SavesState { state }, Next::Ask(STATE, ask))
    }

    fn read_counter(state: State, version: Option<Version>) -> (Handling, Next) {
        (Handling::ReadsCounter { state, version }, Next::Ask(COUNTER, Ask::Get))
    }

    /// The other handler finds out what the next number is, and decides that it is, or is done.
    fn go_on_after(
        self,
        state: State,
        version: Version,
        whose: Turn,
        settings: &Settings,
    ) -> (Handling, Next) {
        match settings.input {
            Input::Queue => Handling::take(state, Some(version), false),
            Input::Streams => match state.next(whose.client) {
                Some(next) => Handling::decide(next, version),
                None => (self, Next::Return(ObjectAnswer::Done)),
            },
        }
    }

    fn decide(next: State, version: Version) -> (Handling, Next) {
        (Handling::Decides, Next::Ask(STATE, Ask::SetIfVersion(version, Some(next.word()))))
    }
}

impl Object for Handling {
    type Settings = Settings;

    const WORDS: Words =
        Words { names: &["state", "positions", "end", "output{}", "counter"], labels: &["value"] };
    fn call(_settings: &Settings, _whose: Turn, _choice: u32) -> ObjectCall {
        ObjectCall::Handle
    }

    fn begin(_call: ObjectCall, _whose: Turn, _settings: &Settings) -> (Self, Next) {
        Handling::restore()
    }

    fn go_on(&mut self, heard: Heard, whose: Turn, settings: &Settings) -> Next {
        let (handling, next) = match (*self, heard, settings.commit) {
            (Handling::Restores, Heard::Found(found, _), Commit::Apart) => {
                (Handling::RestoresPositions { window: State::of(found) }, Next::Ask(POSITIONS, Ask::Get))
            }
            (Handling::Restores, Heard::Found(found, version), Commit::AtOnce) => {
                let state = State::of(found);
                match state.numbers() {
                    0 => self.go_on_after(state, version, whose, settings),
                    number => {
                        let ask = Ask::SetIfVersion(Version::ABSENT, Some(u32::from(state.mean)));
                        (Handling::OutputsAgain { state, version }, Next::Ask(output(number - 1), ask))
                    }
                }
            }
            (Handling::RestoresPositions { window }, Heard::Found(found, _), _) => {
                self.handle(State { held: window.held, ..State::of(found) }, false, whose, settings)
            }
            (Handling::Takes { .. }, Heard::Found(None, _), _) => (*self, Next::Return(ObjectAnswer::Done)),
            (Handling::Takes { state, version, has_saved }, Heard::Found(Some(item), _), _) => {
                let next = state.after(0, number_of(item));
                match version {
                    Some(version) => Handling::decide(next, version),
                    None => Handling::find_end(next, has_saved),
                }
            }
            (Handling::FindsEnd { state, .. }, Heard::Found(found, _), _) => {
                let end = found.unwrap_or(0) as u8;
                let ask = Ask::Set(Some(u32::from(state.mean)));
                (Handling::Outputs { state, end }, Next::Ask(output(end), ask))
            }
            (Handling::Outputs { state, end }, Heard::Set(_), _) => {
                (Handling::MovesEnd { state }, Next::Ask(END, Ask::Set(Some(u32::from(end) + 1))))
            }
            (Handling::MovesEnd { state }, Heard::Set(_), _) if state.counts => {
                Handling::read_counter(state, None)
            }
            (Handling::MovesEnd { state }, Heard::Set(_), _) => Handling::save(state),
            (
                Handling::ReadsCounter { state, version: known @ Some(of_state) },
                Heard::Found(found, version),
                _,
            ) => {
                let ((count, up_to), number) = (counted(found), state.numbers());
                if up_to >= number {
                    self.go_on_after(state, of_state, whose, settings)
                } else {
                    let ask = Ask::SetIfVersion(version, Some((count + 1) | u32::from(number) << 8));
                    (Handling::Counts { state, version: known }, Next::Ask(COUNTER, ask))
                }
            }
            (Handling::ReadsCounter { state, version: None }, Heard::Found(found, version), _) => {
                let ask = Ask::SetIfVersion(version, Some(counted(found).0 + 1));
                (Handling::Counts { state, version: None }, Next::Ask(COUNTER, ask))
            }
            (Handling::Counts { state, version: None }, Heard::Set(true), _) => Handling::save(state),
            (Handling::Counts { state, version: Some(version) }, Heard::Set(true), _) => {
                self.go_on_after(state, version, whose, settings)
            }
            (Handling::Counts { state, version }, Heard::Set(false), _) => {
                Handling::read_counter(state, version)
            }
            (Handling::SavesState { state }, Heard::Set(_), _) => {
                let ask = Ask::Set(Some(state.positions().word()));
                (Handling::SavesPositions { state }, Next::Ask(POSITIONS, ask))
            }
            (Handling::SavesPositions { state }, Heard::Set(_), _) => {
                self.handle(state, true, whose, settings)
            }
            // Whether it was this one that wrote it, or another: it is there.
            (Handling::OutputsAgain { state, version }, Heard::Set(_), _) => match state.counts {
                true => Handling::read_counter(state, Some(version)),
                false => self.go_on_after(state, version, whose, settings),
            },
            // Whoever has decided: what it has decided is there.
            (Handling::Decides, Heard::Set(_), _) => Handling::restore(),
            (at, heard, _) => unreachable!("{at:?} has asked nothing that is answered with {heard:?}"),
        };
        *self = handling;
        next
    }

    fn settles(&self) -> bool {
        true
    }

    fn given(settings: &Settings) -> Vec<Event> {
        if settings.input == Input::Queue {
            return Vec::new();
        }
        let numbers =
            (0..).zip(STREAMS).flat_map(|(stream, numbers)| numbers.iter().map(move |n| (stream, *n)));
        numbers
            .map(|(stream, number)| Event::Input { client: ClientId(0), stream, value: i32::from(number) })
            .collect()
    }

    fn means(cell: Cell, before: Option<u32>, after: Option<u32>, by: u8) -> Option<Event> {
        let client = ClientId(by);
        let value = after.filter(|_| after != before)?;
        match cell {
            Cell { word: OUTPUT, .. } => Some(Event::Output { client, value: value as i32 }),
            COUNTER => Some(Event::Counted { client }),
            _ => None,
        }
    }

    fn each_version(&mut self, show: &mut dyn FnMut(&mut Version)) {
        match self {
            Handling::Takes { version: Some(version), .. }
            | Handling::ReadsCounter { version: Some(version), .. }
            | Handling::Counts { version: Some(version), .. }
            | Handling::OutputsAgain { version, .. } => show(version),
            Handling::Restores
            | Handling::RestoresPositions { .. }
            | Handling::Takes { version: None, .. }
            | Handling::FindsEnd { .. }
            | Handling::Outputs { .. }
            | Handling::MovesEnd { .. }
            | Handling::ReadsCounter { version: None, .. }
            | Handling::Counts { version: None, .. }
            | Handling::SavesState { .. }
            | Handling::SavesPositions { .. }
            | Handling::Decides => {}
        }
    }

    fn line(&self) -> Line {
        let (listing, number) = match self {
            Handling::Restores | Handling::RestoresPositions { .. } => (1, 2),
            Handling::Takes { version: None, .. } => (1, 4),
            // Beside (A), and beside (E): what comes before and after what is written.
            Handling::FindsEnd { has_saved: false, .. } => (1, 8),
            Handling::FindsEnd { has_saved: true, .. } => (1, 14),
            Handling::Outputs { .. } | Handling::MovesEnd { .. } => (1, 9),
            Handling::ReadsCounter { version: None, .. } | Handling::Counts { version: None, .. } => (1, 11),
            Handling::SavesState { .. } => (1, 12),
            Handling::SavesPositions { .. } => (1, 13),
            Handling::OutputsAgain { .. } => (0, 1),
            Handling::ReadsCounter { .. } | Handling::Counts { .. } => (0, 2),
            Handling::Takes { .. } | Handling::Decides => (0, 3),
        };
        Line { listing, number }
    }

    fn doing(&self) -> &'static str {
        match self {
            Handling::Restores | Handling::RestoresPositions { .. } => "restores",
            Handling::FindsEnd { .. }
            | Handling::Outputs { .. }
            | Handling::MovesEnd { .. }
            | Handling::OutputsAgain { .. } => "puts out",
            Handling::ReadsCounter { .. } | Handling::Counts { .. } => "counts",
            Handling::SavesState { .. } | Handling::SavesPositions { .. } => "saves",
            Handling::Takes { .. } | Handling::Decides => "takes the next number",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_that_a_handler_comes_by_comes_back_from_its_word() {
        for client in 0..2 {
            let mut state = State::default();
            while let Some(next) = state.next(client) {
                assert_eq!(State::of(Some(next.word())), next);
                state = next;
            }
            assert_eq!((state.numbers(), state.taken), (3, [2, 1]));
        }
        assert_eq!(State::of(None), State::default());
        let far = (0..255).fold(State::default(), |state, number| state.after(0, number));
        assert_eq!((State::of(Some(far.word())), far.taken), (far, [255, 0]));
    }
}
