//! What the users of a store call things in it: words of their own, told by number.
//!
//! A store keeps keys, rows, znodes. What they are called and what they are for is their users' affair: in a state a name is
//! the number of a word, and the words stand in a table beside the lock that uses them ([`Lock::WORDS`]). Another key or
//! table wants another word in that table, and no change of the store.
//!
//! What machines print has no room for a table, so a name is printed as a placeholder, `⟨0⟩`, and whoever shows it to a
//! reader fills in the words:
//!
//! ```
//! use picklock_model::names::{Word, Words};
//!
//! const LOCK: Word = Word(0);
//! const OTHER: Word = Word(1);
//! const WORDS: Words = Words { names: &["lock", "other:{}"], labels: &[] };
//!
//! let printed = format!("SET {} {}", LOCK.name(0), OTHER.name(7));
//! assert_eq!(printed, "SET ⟨0⟩ ⟨1:7⟩");
//! assert_eq!(WORDS.fill_in(&printed), "SET lock other:7");
//! ```
//!
//! [`Lock::WORDS`]: crate::machine::Lock::WORDS

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A word of the users' table, by its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Word(pub u8);

/// The words that users chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Words {
    /// For what has a name and a number. The number goes where `{}` stands; without one, behind the word, unless it is 0.
    pub names: &'static [&'static str],
    /// For a part of a longer name, or a name without a number.
    pub labels: &'static [&'static str],
}

impl Word {
    /// Prints the placeholder of a name: this word with a number.
    pub fn name(self, number: u32) -> impl Display {
        Placeholder { sign: "", word: self, number }
    }

    /// Prints the placeholder of a label.
    pub fn label(self) -> impl Display {
        Placeholder { sign: LABEL, word: self, number: 0 }
    }
}

const OPEN: char = '⟨';
const CLOSE: char = '⟩';
const LABEL: &str = "~";

struct Placeholder {
    sign: &'static str,
    word: Word,
    number: u32,
}

impl Display for Placeholder {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Placeholder { sign, word, number } = self;
        match number {
            0 => write!(f, "{OPEN}{sign}{}{CLOSE}", word.0),
            number => write!(f, "{OPEN}{sign}{}:{number}{CLOSE}", word.0),
        }
    }
}

impl Words {
    /// For users who name nothing.
    pub const NONE: Words = Words { names: &[], labels: &[] };

    /// The text with words in place of placeholders. One that the table has no word for stays.
    pub fn fill_in(self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from)) = rest.split_once(OPEN) {
            filled.push_str(before);
            let (inside, behind) = from.split_once(CLOSE).unwrap_or((from, ""));
            filled.push_str(&self.word(inside).unwrap_or_else(|| format!("{OPEN}{inside}{CLOSE}")));
            rest = behind;
        }
        filled.push_str(rest);
        filled
    }

    /// What stands between the brackets, in words.
    fn word(self, inside: &str) -> Option<String> {
        if let Some(label) = inside.strip_prefix(LABEL) {
            return self.labels.get(label.parse::<usize>().ok()?).map(|word| (*word).to_owned());
        }
        let (word, number) = inside.split_once(':').unwrap_or((inside, "0"));
        let word = self.names.get(word.parse::<usize>().ok()?)?;
        Some(match (word.contains("{}"), number) {
            (true, number) => word.replace("{}", number),
            (false, "0") => (*word).to_owned(),
            (false, number) => format!("{word}{number}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words = Words { names: &["lock", "_locknode_{}"], labels: &["owner"] };

    #[test]
    fn a_number_stands_where_the_word_wants_it_or_behind_it_unless_it_is_none() {
        let printed = [Word(0).name(0), Word(0).name(2), Word(1).name(0), Word(1).name(12)];
        let words = printed.map(|name| WORDS.fill_in(&name.to_string()));
        assert_eq!(words, ["lock", "lock2", "_locknode_0", "_locknode_12"]);
    }

    #[test]
    fn a_label_is_a_word_of_its_own_table() {
        let text = format!("insert {}[{}] = {}", Word(0).name(0), Word(0).label(), Word(0).name(1));
        assert_eq!(WORDS.fill_in(&text), "insert lock[owner] = lock1");
    }

    #[test]
    fn what_there_is_no_word_for_stays_as_it_is() {
        for text in ["", "SET a 7", "⟨9⟩", "⟨9:1⟩ and ⟨~1⟩", "⟨⟩⟨x⟩"] {
            assert_eq!(WORDS.fill_in(text), text);
        }
        assert_eq!(Words::NONE.fill_in("⟨0⟩"), "⟨0⟩");
    }
}
