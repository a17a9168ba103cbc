//! Bytes into values.

use super::Never;
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

/// Takes from the front of what is left.
pub(super) struct Unpacker<'a> {
    bytes: &'a [u8],
}

impl<'a> Unpacker<'a> {
    pub fn new(bytes: &'a [u8]) -> Unpacker<'a> {
        Unpacker { bytes }
    }

    /// The bytes that were not taken.
    pub fn left(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => ends_early(),
        }
    }

    #[inline]
    fn number(&mut self) -> u64 {
        match self.byte() {
            first @ 0..0x80 => first.into(),
            first => self.digits_after(first) as u64,
        }
    }

    fn wide_number(&mut self) -> u128 {
        match self.byte() {
            first @ 0..0x80 => first.into(),
            first => self.digits_after(first),
        }
    }

    #[cold]
    fn digits_after(&mut self, first: u8) -> u128 {
        let (mut number, mut at) = (u128::from(first & 0x7f), 7);
        loop {
            let byte = self.byte();
            number |= u128::from(byte & 0x7f) << at;
            if byte < 0x80 {
                return number;
            }
            at += 7;
        }
    }

    #[inline]
    fn signed(&mut self) -> i64 {
        let number = self.number();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    fn run(&mut self) -> &'a [u8] {
        let length = self.number() as usize;
        self.fixed_run(length)
    }

    fn fixed_run(&mut self, length: usize) -> &'a [u8] {
        match self.bytes.split_at_checked(length) {
            Some((run, rest)) => {
                self.bytes = rest;
                run
            }
            None => ends_early(),
        }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.fixed_run(N).first_chunk() {
            Some(array) => *array,
            None => ends_early(),
        }
    }
}

#[cold]
fn ends_early() -> ! {
    unreachable!("the bytes were packed by us: they do not end early")
}

/// Numbers, by the width in which they are asked for. That they fit was seen when they were packed.
macro_rules! numbers {
    ($($deserialize:ident: $visit:ident($read:ident as $Width:ty),)*) => {
        $(#[inline]
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
            visitor.$visit(self.$read() as $Width)
        })*
    };
}

impl<'de> de::Deserializer<'de> for &mut Unpacker<'de> {
    type Error = Never;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Never> {
        unreachable!("the bytes do not say what they are, and no state needs them to")
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_any(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_any(visitor)
    }

    numbers! {
        deserialize_i8: visit_i8(byte as i8),
        deserialize_i16: visit_i16(signed as i16),
        deserialize_i32: visit_i32(signed as i32),
        deserialize_i64: visit_i64(signed as i64),
        deserialize_u8: visit_u8(byte as u8),
        deserialize_u16: visit_u16(number as u16),
        deserialize_u32: visit_u32(number as u32),
        deserialize_u64: visit_u64(number as u64),
        deserialize_u128: visit_u128(wide_number as u128),
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_bool(self.byte() != 0)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let number = self.wide_number();
        visitor.visit_i128((number >> 1) as i128 ^ -((number & 1) as i128))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_f32(f32::from_le_bytes(self.array()))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_f64(f64::from_le_bytes(self.array()))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        match std::str::from_utf8(self.run()) {
            Ok(value) => visitor.visit_borrowed_str(value),
            Err(error) => unreachable!("the bytes were packed by us: {error}"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_borrowed_bytes(self.run())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        if self.byte() == 0 { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let left = self.number() as usize;
        visitor.visit_seq(Elements { left, unpacker: self })
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(Elements { left: length, unpacker: self })
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let left = self.number() as usize;
        visitor.visit_map(Elements { left, unpacker: self })
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_enum(self)
    }
}

/// The fields of a struct, which knows itself how many it has.
struct Fields<'a, 'de>(&'a mut Unpacker<'de>);

impl<'de> de::SeqAccess<'de> for Fields<'_, 'de> {
    type Error = Never;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Never> {
        seed.deserialize(&mut *self.0).map(Some)
    }
}

/// The elements of a list or the entries of a map, up to the last one.
struct Elements<'a, 'de> {
    left: usize,
    unpacker: &'a mut Unpacker<'de>,
}

impl<'de> de::SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Never;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Never> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.unpacker).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> de::MapAccess<'de> for Elements<'_, 'de> {
    type Error = Never;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Never> {
        de::SeqAccess::next_element_seed(self, seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Never> {
        seed.deserialize(&mut *self.unpacker)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> de::EnumAccess<'de> for &mut Unpacker<'de> {
    type Error = Never;
    type Variant = Self;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Never> {
        let number = self.number() as u32;
        let Ok(variant) = seed.deserialize(IntoDeserializer::<Never>::into_deserializer(number));
        Ok((variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for &mut Unpacker<'de> {
    type Error = Never;

    #[inline]
    fn unit_variant(self) -> Result<(), Never> {
        Ok(())
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Never> {
        seed.deserialize(self)
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }
}
