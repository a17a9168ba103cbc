//! What the algorithms keep in a variable: a number, and who has changed it.
//!
//! "Such an operation can be repeated without harm to the logic above" (the exactly-once article, *Heterogeneous concurrent exactly-once
//! processing of data in real time*, "CAS") is true of the store and false of the answer: applied, its reply lost, and repeated, it says
//! no. Whoever has to know marks what it writes. How much of a mark is enough is a setting ([`Marks`]), for that is where it goes wrong.

use super::client::Turn;
use serde::{Deserialize, Serialize};

/// What is written beside a number, so that who wrote it knows it again.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Marks {
    /// Nothing, as in the document.
    #[default]
    None,
    /// The operation that wrote last. Enough while nobody else writes in between.
    Last,
    /// The last operation of each client, of up to five.
    EachClient,
}

impl Marks {
    /// How to read a [`Content`] that is shown as one number.
    pub fn stored(self) -> Option<&'static str> {
        (self != Marks::None)
            .then_some("what is stored is a number and 4,096 times the marks of who wrote it")
    }
}

/// A number of up to 12 bits with its marks, as one word: a number that is written without marks is itself.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Content(u32);

const NUMBER_BITS: u32 = 12;
const MARK_BITS: u32 = 4;
const MARK_MAX: u32 = (1 << MARK_BITS) - 1;

impl Content {
    /// A number that nobody has marked.
    pub fn new(number: u16) -> Content {
        Content(u32::from(number) & ((1 << NUMBER_BITS) - 1))
    }

    /// What a variable holds; what is not there is 0.
    pub fn of(word: Option<u32>) -> Content {
        Content(word.unwrap_or(0))
    }

    /// As a variable holds it.
    pub fn word(self) -> u32 {
        self.0
    }

    /// The number.
    pub fn number(self) -> u16 {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as u16
    }

    /// Another number in its place, marked by this operation, and with what marks are kept of the others.
    #[must_use]
    pub fn replaced(self, number: u16, marks: Marks, whose: Turn) -> Content {
        let old = match marks {
            Marks::None | Marks::Last => 0,
            Marks::EachClient => self.0 >> NUMBER_BITS,
        };
        let (place, mark) = place_and_mark(marks, whose);
        let others = old & !(MARK_MAX << place);
        Content(Content::new(number).0 | (others | mark << place) << NUMBER_BITS)
    }

    /// Whether this operation has written what is there, or something before it that can still be told.
    pub fn bears(self, marks: Marks, whose: Turn) -> bool {
        let (place, mark) = place_and_mark(marks, whose);
        let found = self.0 >> NUMBER_BITS >> place;
        match marks {
            Marks::None => false,
            Marks::Last => found == mark,
            Marks::EachClient => found & MARK_MAX == mark,
        }
    }
}

/// Where an operation leaves its mark, and which: its round counted from 1, beside its client where there is one place for all. From the
/// sixteenth on they are all alike, and who lost an answer may take an earlier operation for a later one: whoever sets up a use of
/// marks has no more than fifteen operations a client.
fn place_and_mark(marks: Marks, Turn { client, round, .. }: Turn) -> (u32, u32) {
    let round = (u32::from(round) + 1).min(MARK_MAX);
    match marks {
        Marks::None => (0, 0),
        Marks::Last => (0, round | u32::from(client + 1) << MARK_BITS),
        Marks::EachClient => (u32::from(client) * MARK_BITS, round),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(client: u8, round: u8) -> Turn {
        Turn { client, round, clients: 5, rounds: 9 }
    }

    #[test]
    fn a_number_without_marks_is_the_word_itself() {
        assert_eq!(Content::default().replaced(7, Marks::None, turn(3, 2)).word(), 7);
        assert_eq!(Content::of(None).number(), 0);
    }

    #[test]
    fn the_last_mark_alone_is_gone_when_another_has_written() {
        let mine = Content::default().replaced(7, Marks::Last, turn(3, 2));
        assert!(mine.bears(Marks::Last, turn(3, 2)) && !mine.bears(Marks::Last, turn(3, 1)));
        let theirs = mine.replaced(9, Marks::Last, turn(1, 2));
        assert_eq!((theirs.number(), theirs.bears(Marks::Last, turn(3, 2))), (9, false));
    }

    #[test]
    fn each_clients_mark_stays_until_that_client_writes_again() {
        let mine = Content::default().replaced(7, Marks::EachClient, turn(4, 2));
        let theirs = mine.replaced(9, Marks::EachClient, turn(0, 0));
        assert!(theirs.bears(Marks::EachClient, turn(4, 2)) && theirs.bears(Marks::EachClient, turn(0, 0)));
        let again = theirs.replaced(9, Marks::EachClient, turn(4, 3));
        assert!(!again.bears(Marks::EachClient, turn(4, 2)) && again.bears(Marks::EachClient, turn(4, 3)));
        assert_eq!(again.number(), 9);
    }
}
