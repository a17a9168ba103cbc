//! What the bytes of clients are in the simulated server: its keys and values are numbers.

use bytes::Bytes;
use picklock_model::names::Word;
use picklock_model::stores::redis::{Key, Token, Value};
use std::collections::BTreeMap;

/// Every key and every value that clients have named. One table for all servers, for a replica must mean the same by a
/// number as its master. It only grows.
#[derive(Debug, Default)]
pub struct Names {
    keys: Numbered,
    values: Numbered,
}

/// The word of every key: what it is really called is found by its number.
const ANY: Word = Word(0);

/// Bytes, numbered as they come.
#[derive(Debug, Default)]
struct Numbered {
    numbers: BTreeMap<Bytes, u32>,
    bytes: Vec<Bytes>,
}

impl Numbered {
    fn number(&mut self, bytes: &Bytes) -> u32 {
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        // Its own copy: what arrived is a slice of a larger buffer.
        let (bytes, number) = (Bytes::copy_from_slice(bytes), self.bytes.len() as u32);
        self.bytes.push(bytes.clone());
        self.numbers.insert(bytes, number);
        number
    }

    fn bytes(&self, number: u32) -> Bytes {
        self.bytes.get(number as usize).cloned().unwrap_or_default()
    }
}

impl Names {
    /// The key of this name.
    pub fn key(&mut self, name: &Bytes) -> Key {
        Key { word: ANY, number: self.keys.number(name) }
    }

    /// The value of these bytes. What reads as a number is one, and can be counted up.
    pub fn value(&mut self, bytes: &Bytes) -> Value {
        match integer(bytes) {
            Some(number) => Value::Integer(number),
            None => Value::Token(Token { client: 0, serial: self.values.number(bytes) }),
        }
    }

    /// The bytes of a value.
    pub fn bytes(&self, value: Value) -> Bytes {
        match value {
            Value::Integer(number) => Bytes::from(number.to_string()),
            Value::Token(token) => self.values.bytes(token.serial),
        }
    }
}

/// The number that these bytes are, written as the server writes numbers (`src/util.c` `string2ll`).
pub fn integer(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_as_the_bytes_it_was() {
        let mut names = Names::default();
        for bytes in ["", "7", "-7", "007", "+7", "9223372036854775808", "a b\r\n", "7 "] {
            let bytes = Bytes::from(bytes);
            let value = names.value(&bytes);
            assert_eq!(names.value(&bytes), value);
            assert_eq!(names.bytes(value), bytes);
        }
    }

    #[test]
    fn two_names_are_two_keys() {
        let mut names = Names::default();
        let (first, second) = (names.key(&Bytes::from("a")), names.key(&Bytes::from("b")));
        assert_ne!(first, second);
        assert_eq!(names.key(&Bytes::from("a")), first);
    }
}
