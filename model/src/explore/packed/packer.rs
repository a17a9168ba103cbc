//! Values into bytes.

use super::Never;
use serde::{Serialize, ser};

/// Appends to what is there.
pub(super) struct Packer<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> Packer<'a> {
    pub fn new(bytes: &'a mut Vec<u8>) -> Packer<'a> {
        Packer { bytes }
    }

    #[inline]
    fn number(&mut self, number: u64) {
        if number < 0x80 {
            self.bytes.push(number as u8);
        } else {
            self.digits(number.into());
        }
    }

    #[cold]
    fn digits(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn length(&mut self, length: Option<usize>) {
        match length {
            Some(length) => self.number(length as u64),
            None => unreachable!("what a state is made of knows its length"),
        }
    }
}

impl<'a, 'b> ser::Serializer for &'a mut Packer<'b> {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = &'a mut Packer<'b>;
    type SerializeTuple = &'a mut Packer<'b>;
    type SerializeTupleStruct = &'a mut Packer<'b>;
    type SerializeTupleVariant = &'a mut Packer<'b>;
    type SerializeMap = &'a mut Packer<'b>;
    type SerializeStruct = &'a mut Packer<'b>;
    type SerializeStructVariant = &'a mut Packer<'b>;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Never> {
        self.bytes.push(value.into());
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Never> {
        self.serialize_u8(value as u8)
    }

    fn serialize_i16(self, value: i16) -> Result<(), Never> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Never> {
        self.serialize_i64(value.into())
    }

    #[inline]
    fn serialize_i64(self, value: i64) -> Result<(), Never> {
        self.number((value << 1 ^ value >> 63) as u64);
        Ok(())
    }

    #[inline]
    fn serialize_u8(self, value: u8) -> Result<(), Never> {
        self.bytes.push(value);
        Ok(())
    }

    #[inline]
    fn serialize_u16(self, value: u16) -> Result<(), Never> {
        self.serialize_u64(value.into())
    }

    #[inline]
    fn serialize_u32(self, value: u32) -> Result<(), Never> {
        self.serialize_u64(value.into())
    }

    #[inline]
    fn serialize_u64(self, value: u64) -> Result<(), Never> {
        self.number(value);
        Ok(())
    }

    #[inline]
    fn serialize_u128(self, value: u128) -> Result<(), Never> {
        match u64::try_from(value) {
            Ok(number) => self.number(number),
            Err(_) => self.digits(value),
        }
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Never> {
        self.serialize_u128((value << 1 ^ value >> 127) as u128)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Never> {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Never> {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Never> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Never> {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Never> {
        self.length(Some(value.len()));
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Never> {
        self.bytes.push(0);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Never> {
        self.bytes.push(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Never> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        number: u32,
        _variant: &'static str,
    ) -> Result<(), Never> {
        self.serialize_u32(number)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        number: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        self.number(number.into());
        value.serialize(self)
    }

    #[inline]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Never> {
        self.length(length);
        Ok(self)
    }

    #[inline]
    fn serialize_tuple(self, _length: usize) -> Result<Self, Never> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Self, Never> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        number: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, Never> {
        self.number(number.into());
        Ok(self)
    }

    #[inline]
    fn serialize_map(self, length: Option<usize>) -> Result<Self, Never> {
        self.length(length);
        Ok(self)
    }

    #[inline]
    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Self, Never> {
        Ok(self)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        number: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, Never> {
        self.number(number.into());
        Ok(self)
    }
}

/// What is made of parts is the parts: every way of serde's to say so.
macro_rules! parts {
    ($($Trait:ident: $part:ident($($name:ty)?),)*) => {
        $(impl ser::$Trait for &mut Packer<'_> {
            type Ok = ();
            type Error = Never;

            #[inline]
            fn $part<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Result<(), Never> {
                value.serialize(&mut **self)
            }

            #[inline]
            fn end(self) -> Result<(), Never> {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element(),
    SerializeTuple: serialize_element(),
    SerializeTupleStruct: serialize_field(),
    SerializeTupleVariant: serialize_field(),
    SerializeStruct: serialize_field(&'static str),
    SerializeStructVariant: serialize_field(&'static str),
}

impl ser::SerializeMap for &mut Packer<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Never> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Never> {
        Ok(())
    }
}
