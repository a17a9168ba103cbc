//! `cmsgpack` (`deps/lua/src/lua_cmsgpack.c`, version 0.4.0).
//!
//! A text may have arrays in arrays 1,000 deep; the real one reads some more.

use super::misused;
use mlua::{Lua, LuaString, MultiValue, Table, Value};

/// Tables in tables that are packed: what is deeper is nil (`LUACMSGPACK_MAX_NESTING`).
const DEPTH_MAX: usize = 16;
/// Arrays in arrays that are unpacked.
const UNPACKED_DEPTH_MAX: usize = 1_000;
/// How many values one call unpacks (`LUAI_MAXCSTACK`).
const VALUES_MAX: usize = 8_000;

/// The table `cmsgpack`.
pub fn library(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("_NAME", "cmsgpack")?;
    table.set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.set("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo")?;
    table.set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    table.set("pack", lua.create_function(pack)?)?;
    table.set("unpack", lua.create_function(|lua, text: LuaString| unpack(lua, &text, 0, 0))?)?;
    let one =
        |lua: &Lua, (text, offset): (LuaString, Option<i64>)| unpack(lua, &text, 1, offset.unwrap_or(0));
    table.set("unpack_one", lua.create_function(one)?)?;
    let limit = |lua: &Lua, (text, limit, offset): (LuaString, i64, Option<i64>)| {
        unpack(lua, &text, limit, offset.unwrap_or(0))
    };
    table.set("unpack_limit", lua.create_function(limit)?)?;
    Ok(table)
}

fn pack(lua: &Lua, values: MultiValue) -> mlua::Result<LuaString> {
    if values.is_empty() {
        return Err(misused(lua, "bad argument #0 to 'pack' (MessagePack pack needs input.)"));
    }
    let mut packed = Vec::new();
    for value in &values {
        write(value, 0, &mut packed)?;
    }
    lua.create_string(packed)
}

/// The sign for a length, and the length in as few bytes as there is a sign for.
fn length(length: usize, short: (u8, usize), signs: [Option<u8>; 3], to: &mut Vec<u8>) {
    let [eight, sixteen, thirty_two] = signs;
    let (base, most) = short;
    match (u8::try_from(length), u16::try_from(length), eight) {
        _ if length <= most => to.push(base | length as u8),
        (Ok(length), _, Some(sign)) => to.extend([sign, length]),
        (_, Ok(length), _) => {
            to.extend(sixteen);
            to.extend(length.to_be_bytes());
        }
        _ => {
            to.extend(thirty_two);
            to.extend((length as u32).to_be_bytes());
        }
    }
}

fn write(value: &Value, depth: usize, to: &mut Vec<u8>) -> mlua::Result<()> {
    match value {
        Value::String(text) => {
            let bytes = text.as_bytes();
            length(bytes.len(), (0xa0, 31), [Some(0xd9), Some(0xda), Some(0xdb)], to);
            to.extend_from_slice(&bytes);
        }
        Value::Boolean(is_true) => to.push(if *is_true { 0xc3 } else { 0xc2 }),
        Value::Integer(number) => write_integer(*number, to),
        Value::Number(number) => write_number(*number, to),
        Value::Table(table) if depth < DEPTH_MAX => write_table(table, depth, to)?,
        _ => to.push(0xc0),
    }
    Ok(())
}

fn write_integer(number: i64, to: &mut Vec<u8>) {
    match number {
        -32..=0x7f => to.push(number as u8),
        0x80..=0xff => to.extend([0xcc, number as u8]),
        0x100..=0xffff => {
            to.push(0xcd);
            to.extend((number as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            to.push(0xce);
            to.extend((number as u32).to_be_bytes());
        }
        0x1_0000_0000.. => {
            to.push(0xcf);
            to.extend(number.to_be_bytes());
        }
        -0x80..-32 => to.extend([0xd0, number as u8]),
        -0x8000..-0x80 => {
            to.push(0xd1);
            to.extend((number as i16).to_be_bytes());
        }
        -0x8000_0000..-0x8000 => {
            to.push(0xd2);
            to.extend((number as i32).to_be_bytes());
        }
        ..-0x8000_0000 => {
            to.push(0xd3);
            to.extend(number.to_be_bytes());
        }
    }
}

/// A whole number as one, and another one in as few bytes as it fits into.
fn write_number(number: f64, to: &mut Vec<u8>) {
    let (least, too_large) = (i64::MIN as f64, -(i64::MIN as f64));
    if number.fract() == 0.0 && number >= least && number < too_large {
        return write_integer(number as i64, to);
    }
    let single = number as f32;
    if f64::from(single) == number {
        to.push(0xca);
        to.extend(single.to_be_bytes());
    } else {
        to.push(0xcb);
        to.extend(number.to_be_bytes());
    }
}

/// How long it is, if it has the keys from 1 to that and no other.
fn list_length(table: &Table) -> mlua::Result<Option<usize>> {
    let (mut count, mut last) = (0, 0);
    for pair in table.pairs::<Value, Value>() {
        let place = match pair?.0 {
            Value::Integer(place) => place as f64,
            Value::Number(place) => place,
            _ => return Ok(None),
        };
        if place < 1.0 || place.fract() != 0.0 || place > f64::from(i32::MAX) {
            return Ok(None);
        }
        (count, last) = (count + 1, last.max(place as usize));
    }
    Ok((count == last).then_some(count))
}

fn write_table(table: &Table, depth: usize, to: &mut Vec<u8>) -> mlua::Result<()> {
    if let Some(count) = list_length(table)? {
        length(count, (0x90, 15), [None, Some(0xdc), Some(0xdd)], to);
        for place in 1..=count {
            write(&table.raw_get(place)?, depth + 1, to)?;
        }
        return Ok(());
    }
    let count = table.pairs::<Value, Value>().count();
    length(count, (0x80, 15), [None, Some(0xde), Some(0xdf)], to);
    for pair in table.pairs::<Value, Value>() {
        let (name, value) = pair?;
        write(&name, depth + 1, to)?;
        write(&value, depth + 1, to)?;
    }
    Ok(())
}

/// So many values from this place on, and before them the place after them; all of them if both are zero.
fn unpack(lua: &Lua, text: &LuaString, limit: i64, offset: i64) -> mlua::Result<MultiValue> {
    let text = text.as_bytes();
    let (Ok(start), Ok(count)) = (usize::try_from(offset), usize::try_from(limit)) else {
        let text = format!("Invalid request to unpack with offset of {offset} and limit of {}.", text.len());
        return Err(misused(lua, &text));
    };
    let Some(rest) = text.get(start..) else {
        let text = format!("Start offset {offset} greater than input length {}.", text.len());
        return Err(misused(lua, &text));
    };
    let is_all = start == 0 && count == 0;
    let mut packed = Packed { lua, rest };
    let mut values = Vec::new();
    while !packed.rest.is_empty() && (is_all || values.len() < count) {
        if values.len() >= VALUES_MAX {
            let text =
                "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)";
            return Err(misused(lua, text));
        }
        values.push(packed.value(0)?);
    }
    if !is_all {
        let after = if packed.rest.is_empty() { -1 } else { (text.len() - packed.rest.len()) as i64 };
        values.insert(0, Value::Integer(after));
    }
    Ok(MultiValue::from_iter(values))
}

/// A table of so many entries.
enum Opened {
    List(usize),
    Map(usize),
}

/// What is left to be unpacked.
struct Packed<'a> {
    lua: &'a Lua,
    rest: &'a [u8],
}

impl Packed<'_> {
    fn take(&mut self, count: usize) -> mlua::Result<&[u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(misused(self.lua, "Missing bytes in input.")),
        }
    }

    fn array<const N: usize>(&mut self) -> mlua::Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    /// A length of one, two or four bytes.
    fn length(&mut self, bytes: usize) -> mlua::Result<usize> {
        Ok(self.take(bytes)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    /// It calls itself a thousand times at most, and so has little on the stack.
    fn value(&mut self, depth: usize) -> mlua::Result<Value> {
        let sign = self.array::<1>()?[0];
        match self.opened(sign)? {
            Some(Opened::List(length)) => self.list(length, depth),
            Some(Opened::Map(length)) => self.map(length, depth),
            None => self.plain(sign),
        }
    }

    /// What a sign opens, if it opens anything.
    fn opened(&mut self, sign: u8) -> mlua::Result<Option<Opened>> {
        Ok(Some(match sign {
            0x80..=0x8f => Opened::Map(usize::from(sign & 0xf)),
            0x90..=0x9f => Opened::List(usize::from(sign & 0xf)),
            0xdc..=0xdd => Opened::List(self.length(2 << (sign - 0xdc))?),
            0xde..=0xdf => Opened::Map(self.length(2 << (sign - 0xde))?),
            _ => return Ok(None),
        }))
    }

    /// What opens nothing.
    fn plain(&mut self, sign: u8) -> mlua::Result<Value> {
        let number = |number: i64| Ok(Value::Number(number as f64));
        match sign {
            0x00..=0x7f => number(sign.into()),
            0xa0..=0xbf => self.text(usize::from(sign & 0x1f)),
            0xe0..=0xff => number((sign as i8).into()),
            0xc0 => Ok(Value::Nil),
            0xc2 => Ok(Value::Boolean(false)),
            0xc3 => Ok(Value::Boolean(true)),
            0xca => Ok(Value::Number(f32::from_be_bytes(self.array()?).into())),
            0xcb => Ok(Value::Number(f64::from_be_bytes(self.array()?))),
            0xcc => number(self.array::<1>()?[0].into()),
            0xcd => number(u16::from_be_bytes(self.array()?).into()),
            0xce => number(u32::from_be_bytes(self.array()?).into()),
            // The upper half of them is below zero, as it is in C.
            0xcf | 0xd3 => number(i64::from_be_bytes(self.array()?)),
            0xd0 => number((self.array::<1>()?[0] as i8).into()),
            0xd1 => number(i16::from_be_bytes(self.array()?).into()),
            0xd2 => number(i32::from_be_bytes(self.array()?).into()),
            0xd9..=0xdb => {
                let length = self.length(1 << (sign - 0xd9))?;
                self.text(length)
            }
            _ => Err(misused(self.lua, "Bad data format in input.")),
        }
    }

    fn text(&mut self, length: usize) -> mlua::Result<Value> {
        let lua = self.lua;
        Ok(Value::String(lua.create_string(self.take(length)?)?))
    }

    fn table(&self, depth: usize) -> mlua::Result<Table> {
        match depth < UNPACKED_DEPTH_MAX {
            true => self.lua.create_table(),
            false => Err(misused(self.lua, "stack overflow")),
        }
    }

    fn list(&mut self, length: usize, depth: usize) -> mlua::Result<Value> {
        let table = self.table(depth)?;
        for place in 1..=length {
            table.raw_set(place, self.value(depth + 1)?)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, length: usize, depth: usize) -> mlua::Result<Value> {
        let table = self.table(depth)?;
        for _ in 0..length {
            let (name, value) = (self.value(depth + 1)?, self.value(depth + 1)?);
            match &name {
                Value::Nil => return Err(misused(self.lua, "table index is nil")),
                Value::Number(number) if number.is_nan() => {
                    return Err(misused(self.lua, "table index is NaN"));
                }
                _ => table.raw_set(name, value)?,
            }
        }
        Ok(Value::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn what_is_packed_is_unpacked() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let hex = "local function hex(text)
            return (text:gsub('.', function(byte) return string.format('%02x', byte:byte()) end)) end ";
        for (script, said) in [
            (
                "return hex(cmsgpack.pack(0.1, -1099511627776, 'a', true, {}))",
                "$44 cb3fb999999999999ad3ffffff0000000000a161c390",
            ),
            (
                "return hex(cmsgpack.pack(-1, -33, 127, 128, 65536, 0.5))",
                "$32 ffd0df7fcc80ce00010000ca3f000000",
            ),
            ("return {cmsgpack.unpack(cmsgpack.pack(1, {2, 3}, 'x'))}", "*3 :1 *2 :2 :3 $1 x"),
            ("return cmsgpack.unpack(cmsgpack.pack({a = {b = 'c'}})).a.b", "$1 c"),
            ("return {cmsgpack.unpack_one(cmsgpack.pack(1, 2))}", "*2 :1 :1"),
            ("return {cmsgpack.unpack_limit(cmsgpack.pack(1, 2), 1, 1)}", "*2 :-1 :2"),
            ("return select('#', cmsgpack.unpack(''))", ":0"),
        ] {
            assert_eq!(
                client.say(&["EVAL", &format!("{hex}{script}"), "0"]).as_deref(),
                Some(said),
                "{script}"
            );
        }
        for (script, wrong) in [
            ("cmsgpack.unpack('\\221\\255')", "Missing bytes in input."),
            ("cmsgpack.unpack('\\193')", "Bad data format in input."),
            ("cmsgpack.unpack('\\129\\192\\1')", "table index is nil"),
            ("cmsgpack.unpack(string.rep('\\145', 100000))", "stack overflow"),
            ("cmsgpack.unpack_one('a', 2)", "Start offset 2 greater than input length 1."),
            ("cmsgpack.pack()", "MessagePack pack needs input."),
        ] {
            let said = client.say(&["EVAL", script, "0"]).expect("it answers");
            assert!(said.starts_with("-ERR user_script:1: ") && said.contains(wrong), "{script}: {said}");
        }
    }
}
