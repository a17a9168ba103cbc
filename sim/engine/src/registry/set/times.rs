//! Which settings are times: those that are of the type [`Micros`], by the name that serde is told.

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::collections::BTreeSet;
use std::fmt::Display;

/// The name of the type, to serde.
const MICROS: &str = "Micros";

/// The names of the times among these settings; of settings within settings, and of one of several alternatives, `whole.part`. Times
/// in lists have no names.
pub fn names_of_times<T: Serialize>(settings: &T) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // What fails to be serialised has been found to be no JSON before.
    let _failed = settings.serialize(Names { within: Some(String::new()), found: &mut found });
    found
}

/// Goes through settings; nothing comes of it but the names.
struct Names<'a> {
    /// The name of what is gone through; `None`: it has none.
    within: Option<String>,
    found: &'a mut BTreeSet<String>,
}

impl Names<'_> {
    fn part<T: Serialize + ?Sized>(&mut self, name: Option<&str>, value: &T) -> Result<(), Failed> {
        let within = name.and_then(|name| self.named(name));
        value.serialize(Names { within, found: self.found })
    }

    /// What a part of this name is called.
    fn named(&self, part: &str) -> Option<String> {
        self.within.as_deref().map(|whole| match whole {
            "" => part.to_owned(),
            whole => format!("{whole}.{part}"),
        })
    }

    fn nameless(self) -> Self {
        Names { within: None, found: self.found }
    }
}

/// Settings that cannot be serialised.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl Error for Failed {
    fn custom<T: Display>(why: T) -> Self {
        Failed(why.to_string())
    }
}

impl<'a> Serializer for Names<'a> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Names<'a>;
    type SerializeTuple = Names<'a>;
    type SerializeTupleStruct = Names<'a>;
    type SerializeTupleVariant = Names<'a>;
    type SerializeMap = Names<'a>;
    type SerializeStruct = Names<'a>;
    type SerializeStructVariant = Names<'a>;

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        match (name, self.within) {
            (MICROS, Some(within)) => {
                self.found.insert(within);
                Ok(())
            }
            (_, within) => value.serialize(Names { within, found: self.found }),
        }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failed> {
        value.serialize(self)
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Names<'a>, Failed> {
        Ok(self)
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Names<'a>, Failed> {
        Ok(self.nameless())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Names<'a>, Failed> {
        Ok(self.nameless())
    }

    fn serialize_tuple(self, _len: usize) -> Result<Names<'a>, Failed> {
        Ok(self.nameless())
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Names<'a>, Failed> {
        Ok(self.nameless())
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Names<'a>, Failed> {
        Ok(self.nameless())
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Names<'a>, Failed> {
        Ok(Names { within: self.named(variant), found: self.found })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        value.serialize(Names { within: self.named(variant), found: self.found })
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
    ) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_bool(self, _value: bool) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_i8(self, _value: i8) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_i16(self, _value: i16) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_i32(self, _value: i32) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_i64(self, _value: i64) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_u8(self, _value: u8) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_u16(self, _value: u16) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_u32(self, _value: u32) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_u64(self, _value: u64) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_f32(self, _value: f32) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_f64(self, _value: f64) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_char(self, _value: char) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_str(self, _value: &str) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_bytes(self, _value: &[u8]) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_unit_struct(self, _value: &'static str) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeStruct for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.part(Some(name), value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeStructVariant for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.part(Some(name), value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeMap for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _key: &T) -> Result<(), Failed> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.part(None, value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeSeq for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.part(None, value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeTuple for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.part(None, value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeTupleStruct for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.part(None, value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}

impl SerializeTupleVariant for Names<'_> {
    type Ok = ();
    type Error = Failed;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.part(None, value)
    }

    fn end(self) -> Result<(), Failed> {
        Ok(())
    }
}
