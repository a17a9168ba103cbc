//! States as bytes, in the format of postcard: numbers are seven bits a byte, the lowest first, signed ones counted outwards
//! from zero; whether there is a value in an option is a byte, and so is a boolean; a list begins with its length, and structs
//! are their fields one after another. Two values of one type have the same bytes if and only if they are equal.
//!
//! The code is not postcard's because nothing can go wrong here: what is packed is plain data, and what is unpacked was packed here. So the error is a type without values, which costs no check and no code; most
//! numbers are one byte, and that is all that is done for them.

mod packer;
mod unpacker;

use packer::Packer;
use serde::de::DeserializeOwned;
use serde::{Serialize, de, ser};
use std::fmt::Display;
use unpacker::Unpacker;

/// Packs `value`; the bytes replace what was in `bytes`.
pub fn pack<T: Serialize>(value: &T, bytes: &mut Vec<u8>) {
    bytes.clear();
    append(value, bytes);
}

/// What [`pack`] made these bytes of.
pub fn unpack<T: DeserializeOwned>(mut bytes: &[u8]) -> T {
    let value = take(&mut bytes);
    debug_assert!(bytes.is_empty(), "all that was packed is unpacked");
    value
}

/// Packs `value` behind what is there.
pub(super) fn append<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) {
    let Ok(()) = value.serialize(&mut Packer::new(bytes));
}

/// What [`append`] made the first bytes of; leaves the others.
pub(super) fn take<T: DeserializeOwned>(bytes: &mut &[u8]) -> T {
    let mut unpacker = Unpacker::new(bytes);
    let Ok(value) = T::deserialize(&mut unpacker);
    *bytes = unpacker.left();
    value
}

/// What cannot happen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Never {}

impl Display for Never {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

impl ser::Error for Never {
    fn custom<T: Display>(message: T) -> Never {
        unreachable!("a state is plain data: {message}")
    }
}

impl de::Error for Never {
    fn custom<T: Display>(message: T) -> Never {
        unreachable!("the bytes were packed by us: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::{collection, option};
    use serde::Deserialize;
    use smallvec::SmallVec;
    use std::collections::BTreeMap;

    /// Every shape that a state can have.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
    struct Shapes {
        flags: (bool, bool, ()),
        small: (u8, i8, u16, i16),
        large: (u32, i32, u64, i64),
        huge: (u128, i128),
        word: Option<Option<char>>,
        ratio: (f32, f64),
        name: String,
        list: SmallVec<[Shape; 2]>,
        lists: Vec<Vec<Option<u8>>>,
        map: BTreeMap<i16, Shape>,
        array: [Number; 3],
        boxed: Option<Box<Shapes>>,
        unit: Unit,
    }

    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
    enum Shape {
        #[default]
        Nothing,
        Newtype(Number),
        Pair(i64, bool),
        Fields {
            at: i64,
            by: Option<Number>,
        },
        Less,
    }

    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
    struct Number(u64);

    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
    struct Unit;

    /// Mostly what states are full of, and now and then the last of its kind.
    fn number<T: Copy + Default + std::fmt::Debug + Arbitrary + From<u8> + 'static>(
        least: T,
        most: T,
    ) -> BoxedStrategy<T> {
        let numbers = prop_oneof![
            4 => Just(T::default()),
            4 => (0..128_u8).prop_map(T::from),
            1 => any::<T>(),
            1 => prop_oneof![Just(least), Just(most)],
        ];
        numbers.boxed()
    }

    fn shape() -> BoxedStrategy<Shape> {
        let signed = || number(i64::MIN, i64::MAX);
        let unsigned = || number(0, u64::MAX).prop_map(Number);
        prop_oneof![
            Just(Shape::Nothing),
            unsigned().prop_map(Shape::Newtype),
            (signed(), any::<bool>()).prop_map(|(number, flag)| Shape::Pair(number, flag)),
            (signed(), option::of(unsigned())).prop_map(|(at, by)| Shape::Fields { at, by }),
            Just(Shape::Less),
        ]
        .boxed()
    }

    fn shapes() -> impl Strategy<Value = Shapes> {
        let numbers = (
            (any::<bool>(), any::<bool>(), any::<()>()),
            (number(0, u8::MAX), any::<i8>(), number(0, u16::MAX), number(i16::MIN, i16::MAX)),
            (
                number(0, u32::MAX),
                number(i32::MIN, i32::MAX),
                number(0, u64::MAX),
                number(i64::MIN, i64::MAX),
            ),
            (number(0, u128::MAX), number(i128::MIN, i128::MAX)),
        );
        let lists = (
            collection::vec(shape(), 0..5).prop_map(SmallVec::from_vec),
            collection::vec(collection::vec(option::of(any::<u8>()), 0..3), 0..3),
            collection::btree_map(number(i16::MIN, i16::MAX), shape(), 0..4),
            [(); 3].map(|()| number(0, u64::MAX).prop_map(Number)),
        );
        let words = (option::of(option::of(any::<char>())), any::<String>(), (any::<f32>(), any::<f64>()));
        (numbers, words, lists).prop_map(|(numbers, (word, name, ratio), (list, lists, map, array))| {
            let (flags, small, large, huge) = numbers;
            Shapes {
                flags,
                small,
                large,
                huge,
                word,
                name,
                ratio,
                list,
                lists,
                map,
                array,
                ..Shapes::default()
            }
        })
    }

    fn packed<T: Serialize>(value: &T) -> Vec<u8> {
        let mut bytes = vec![0xff; 3];
        pack(value, &mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn whatever_is_packed_is_a_postcard_and_comes_back(shapes in shapes(), boxed in option::of(shapes())) {
            let shapes = Shapes { boxed: boxed.map(Box::new), ..shapes };
            prop_assert_eq!(packed(&shapes), postcard::to_stdvec(&shapes).unwrap());
            prop_assert_eq!(unpack::<Shapes>(&packed(&shapes)), shapes);
        }
    }

    #[test]
    #[should_panic(expected = "they do not end early")]
    fn bytes_of_something_else_are_not_taken_for_a_state() {
        unpack::<[u64; 3]>(&[1, 2]);
    }
}
