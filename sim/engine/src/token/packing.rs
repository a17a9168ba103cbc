//! A value of named parts as few bytes, and back.
//!
//! ```text
//!   {"pause": {"node": "struck", "length": 45000000}}
//!        │                │               │
//!   shape 2 of `words`    word 3      4 bytes        names that `words` knows take a byte, others are spelt
//!   └ with shape 3: {"node", "length"}, one byte for both names
//! ```
//!
//! | first byte | a value |
//! |---|---|
//! | `00`–`3f` | 0 to 63 |
//! | `4x` `5x` `6x` | a number of 12, 20 or 28 bits: *x* and 1, 2 or 3 bytes more |
//! | `70`–`72` | a larger number, 8 bytes; `-1 - n`, where *n* follows; a float, 8 bytes |
//! | `74`–`76` | nothing, false, true |
//! | `77` | text: its length, its bytes |
//! | `79` `7a` | a list, or named parts: how many, then each; a part is a name and a value |
//! | `80`–`bf` | one of [`TEXTS`] |
//! | `c0`–`ff` | one of [`SHAPES`]: the values of its parts follow in its order |
//!
//! A name is a byte, its place in [`NAMES`], or `ff` and a text.

use super::words::{NAMES, SHAPES, TEXTS};
use serde_json::{Map, Number, Value};

/// The bytes of a value: the same for equal values.
pub(super) fn pack(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    put(value, &mut out);
    out
}

/// The value of these bytes; `None` if they are not one, or more than one.
pub(super) fn unpack(bytes: &[u8]) -> Option<Value> {
    let mut from = Reader { bytes, depth: 0 };
    let value = from.value()?;
    from.bytes.is_empty().then_some(value)
}

const EIGHT_BYTES: u8 = 0x70;
const NEGATIVE: u8 = 0x71;
const FLOAT: u8 = 0x72;
const NULL: u8 = 0x74;
const FALSE: u8 = 0x75;
const TRUE: u8 = 0x76;
const TEXT: u8 = 0x77;
const LIST: u8 = 0x79;
const PARTS: u8 = 0x7a;
const FIRST_TEXT: u8 = 0x80;
const FIRST_SHAPE: u8 = 0xc0;
const SPELT: u8 = 0xff;

/// No token goes deeper: what does is no token, and must not exhaust the stack.
const DEPTH_MAX: u8 = 32;

fn put(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => put_number(number, out),
        Value::String(text) => match TEXTS.iter().position(|known| known == text) {
            Some(place) => out.push(FIRST_TEXT + place as u8),
            None => {
                out.push(TEXT);
                put_text(text, out);
            }
        },
        Value::Array(values) => {
            out.push(LIST);
            put_count(values.len() as u64, out);
            values.iter().for_each(|value| put(value, out));
        }
        Value::Object(parts) => put_parts(parts, out),
    }
}

fn put_parts(parts: &Map<String, Value>, out: &mut Vec<u8>) {
    let has_shape =
        |shape: &&[&str]| shape.len() == parts.len() && shape.iter().all(|name| parts.contains_key(*name));
    if let Some(place) = SHAPES.iter().position(has_shape) {
        out.push(FIRST_SHAPE + place as u8);
        SHAPES[place].iter().for_each(|name| put(&parts[*name], out));
        return;
    }
    // The order of a map's parts is nobody's promise.
    let mut parts: Vec<(&String, &Value)> = parts.iter().collect();
    parts.sort_unstable_by_key(|(name, _)| *name);
    out.push(PARTS);
    put_count(parts.len() as u64, out);
    for (name, value) in parts {
        match NAMES.iter().position(|known| known == name) {
            Some(place) => out.push(place as u8),
            None => {
                out.push(SPELT);
                put_text(name, out);
            }
        }
        put(value, out);
    }
}

fn put_number(number: &Number, out: &mut Vec<u8>) {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), _, _) => put_count(number, out),
        (None, Some(number), _) => {
            out.push(NEGATIVE);
            put_count(!number as u64, out);
        }
        (None, None, float) => {
            out.push(FLOAT);
            out.extend(float.unwrap_or(f64::NAN).to_be_bytes());
        }
    }
}

fn put_count(number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    match number {
        0..0x40 => out.push(bytes[7]),
        0x40..0x1000 => out.extend([0x40 | bytes[6], bytes[7]]),
        0x1000..0x10_0000 => out.extend([0x50 | bytes[5], bytes[6], bytes[7]]),
        0x10_0000..0x1000_0000 => out.extend([0x60 | bytes[4], bytes[5], bytes[6], bytes[7]]),
        0x1000_0000.. => {
            out.push(EIGHT_BYTES);
            out.extend(bytes);
        }
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_count(text.len() as u64, out);
    out.extend(text.as_bytes());
}

/// What has not been read yet.
struct Reader<'a> {
    bytes: &'a [u8],
    depth: u8,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Option<Value> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= DEPTH_MAX)?;
        let value = match self.byte()? {
            first @ 0..0x80 => match first {
                NULL => Value::Null,
                FALSE => Value::Bool(false),
                TRUE => Value::Bool(true),
                TEXT => Value::String(self.text()?),
                LIST => Value::Array((0..self.count()?).map(|_| self.value()).collect::<Option<_>>()?),
                PARTS => Value::Object(
                    (0..self.count()?).map(|_| Some((self.name()?, self.value()?))).collect::<Option<_>>()?,
                ),
                NEGATIVE => Value::from(i64::try_from(self.count()?).ok().map(|number| !number)?),
                FLOAT => Value::Number(Number::from_f64(f64::from_be_bytes(self.array()?))?),
                first => Value::from(self.count_from(first)?),
            },
            first @ FIRST_TEXT..FIRST_SHAPE => Value::from(*TEXTS.get(usize::from(first - FIRST_TEXT))?),
            first @ FIRST_SHAPE.. => {
                let shape = SHAPES.get(usize::from(first - FIRST_SHAPE))?;
                let parts = shape.iter().map(|name| Some(((*name).to_owned(), self.value()?)));
                Value::Object(parts.collect::<Option<_>>()?)
            }
        };
        self.depth -= 1;
        Some(value)
    }

    fn name(&mut self) -> Option<String> {
        match self.byte()? {
            SPELT => self.text(),
            place => NAMES.get(usize::from(place)).map(|name| (*name).to_owned()),
        }
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.count()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn count(&mut self) -> Option<u64> {
        let first = self.byte()?;
        self.count_from(first)
    }

    fn count_from(&mut self, first: u8) -> Option<u64> {
        let high = u64::from(first & 0x0f);
        Some(match first {
            0..0x40 => first.into(),
            0x40..0x50 => high << 8 | u64::from(self.byte()?),
            0x50..0x60 => high << 16 | u64::from(u16::from_be_bytes(self.array()?)),
            0x60..0x70 => {
                let [one, two, three] = self.array()?;
                high << 24 | u64::from(u32::from_be_bytes([0, one, two, three]))
            }
            EIGHT_BYTES => u64::from_be_bytes(self.array()?),
            _ => return None,
        })
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::json;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (0u64..1 << 30).prop_map(Value::from),
            (-1.0e12..1.0e12).prop_map(|float: f64| Value::from(float)),
            "[a-z-]{0,12}".prop_map(Value::from),
            proptest::sample::select(TEXTS).prop_map(Value::from),
        ];
        let name = prop_oneof!["[a-z_]{0,8}", proptest::sample::select(NAMES).prop_map(str::to_owned)];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(Value::from),
                btree_map(name.clone(), inner, 0..5)
                    .prop_map(|parts| Value::Object(parts.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back(value in values()) {
            prop_assert_eq!(unpack(&pack(&value)), Some(value));
        }

        #[test]
        fn no_bytes_whatever_make_the_reader_panic(bytes in vec(any::<u8>(), 0..80)) {
            if let Some(value) = unpack(&bytes) {
                prop_assert_eq!(unpack(&pack(&value)), Some(value));
            }
        }
    }

    #[test]
    fn a_number_takes_as_many_bytes_as_it_needs() {
        let bytes = |number: i64| pack(&json!(number)).len();
        let lengths = [0, 63, 64, 4_095, 4_096, 1_048_575, 1_048_576, 268_435_455, 268_435_456, -1, -65];
        assert_eq!(lengths.map(bytes), [1, 1, 2, 2, 3, 3, 4, 4, 9, 2, 3]);
    }

    #[test]
    fn known_names_take_a_byte_and_a_known_shape_one_for_all_of_them() {
        let fault = json!({"when": {"at": 7}, "fault": {"pause": {"node": "struck", "length": 45_000_000}}});
        assert_eq!(pack(&fault).len(), 1 + 2 + 2 + 1 + 4);
        assert_eq!(pack(&json!({"seed": 1, "unheard-of": 2})).len(), 2 + 2 + 2 + 10 + 1);
    }

    #[test]
    fn what_goes_too_deep_is_refused() {
        assert_eq!(unpack(&[[LIST, 1].repeat(100), vec![0]].concat()), None);
        assert!(unpack(&[[LIST, 1].repeat(usize::from(DEPTH_MAX) - 1), vec![0]].concat()).is_some());
    }

    #[test]
    fn a_list_that_claims_to_be_endless_is_refused_at_once() {
        assert_eq!(unpack(&[LIST, EIGHT_BYTES, 255, 255, 255, 255, 255, 255, 255, 255, 0]), None);
    }
}
