//! Replies as values of Lua, and values of Lua as replies (`src/script_lua.c` `redisProtocolToLuaType`,
//! `luaReplyToRedisReply`).

use crate::serve::redis::numbers::{general, shortest};
use crate::serve::redis::reply::Reply;
use bytes::Bytes;
use mlua::{Lua, Table, Value};

/// Tables in tables: more are an error of the script's.
const DEPTH_MAX: usize = 64;

/// A word of a command; `None`: it is none.
pub fn word(value: &Value) -> Option<Bytes> {
    match value {
        Value::String(text) => Some(Bytes::copy_from_slice(&text.as_bytes())),
        Value::Integer(number) => Some(general(*number as f64, 17).into()),
        Value::Number(number) => Some(general(*number, 17).into()),
        _ => None,
    }
}

/// A reply for a script, as this version of the protocol has it.
pub fn value_of(lua: &Lua, reply: &Reply, version: u8) -> mlua::Result<Value> {
    let text = |text: &[u8]| Ok(Value::String(lua.create_string(text)?));
    let single = |name: &str, text: &[u8]| {
        let table = lua.create_table()?;
        table.raw_set(name, lua.create_string(text)?)?;
        Ok(Value::Table(table))
    };
    let many = |replies: &mut dyn Iterator<Item = &Reply>| {
        let table = lua.create_table()?;
        for (place, reply) in (1..).zip(replies) {
            table.raw_set(place, value_of(lua, reply, version)?)?;
        }
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Status(status) => single("ok", status),
        Reply::Error(error) => single("err", error),
        Reply::Integer(number) => Ok(Value::Number(*number as f64)),
        Reply::Bulk(bytes) => text(bytes),
        Reply::BigNumber(number) if version >= 3 => single("big_number", number),
        Reply::Verbatim(format, string) if version >= 3 => {
            let (table, verbatim) = (lua.create_table()?, lua.create_table()?);
            verbatim.raw_set("format", lua.create_string(format)?)?;
            verbatim.raw_set("string", lua.create_string(string)?)?;
            table.raw_set("verbatim_string", verbatim)?;
            Ok(Value::Table(table))
        }
        Reply::BigNumber(string) | Reply::Verbatim(_, string) => text(string),
        Reply::Boolean(is_true) => Ok(Value::Boolean(*is_true)),
        Reply::Double(number) if version >= 3 => {
            let table = lua.create_table()?;
            table.raw_set("double", *number)?;
            Ok(Value::Table(table))
        }
        Reply::Nil | Reply::NoArray if version >= 3 => Ok(Value::Nil),
        Reply::Map(pairs) if version >= 3 => {
            let (table, map) = (lua.create_table()?, lua.create_table()?);
            for (name, value) in pairs {
                map.raw_set(value_of(lua, name, version)?, value_of(lua, value, version)?)?;
            }
            table.raw_set("map", map)?;
            Ok(Value::Table(table))
        }
        Reply::Set(members) if version >= 3 => {
            let (table, set) = (lua.create_table()?, lua.create_table()?);
            for member in members {
                set.raw_set(value_of(lua, member, version)?, true)?;
            }
            table.raw_set("set", set)?;
            Ok(Value::Table(table))
        }
        Reply::Double(number) => text(shortest(*number).as_bytes()),
        Reply::Nil | Reply::NoArray => Ok(Value::Boolean(false)),
        Reply::Array(replies) | Reply::Set(replies) | Reply::Push(replies) | Reply::Several(replies) => {
            many(&mut replies.iter())
        }
        Reply::Map(pairs) => many(&mut pairs.iter().flat_map(|(name, value)| [name, value])),
    }
}

/// What a script returns that has chosen this version of the protocol.
pub fn reply_of(value: &Value, version: u8) -> Reply {
    at_depth(value, version, 0)
}

fn at_depth(value: &Value, version: u8, depth: usize) -> Reply {
    match value {
        Value::String(text) => Reply::Bulk(Bytes::copy_from_slice(&text.as_bytes())),
        Value::Integer(number) => Reply::Integer(*number),
        Value::Number(number) => Reply::Integer(whole(*number)),
        Value::Boolean(is_true) if version >= 3 => Reply::Boolean(*is_true),
        Value::Boolean(true) => Reply::Integer(1),
        Value::Table(_) if depth >= DEPTH_MAX => Reply::error("ERR reached lua stack limit"),
        Value::Table(table) => of_table(table, version, depth),
        _ => Reply::Nil,
    }
}

fn of_table(table: &Table, version: u8, depth: usize) -> Reply {
    let bytes_of = |table: &Table, name: &str| match table.raw_get::<Value>(name) {
        Ok(Value::String(text)) => Some(text.as_bytes().to_vec()),
        _ => None,
    };
    let bytes = |name: &str| bytes_of(table, name);
    let in_one_line = |mut text: Vec<u8>| {
        text.iter_mut().filter(|byte| matches!(byte, b'\r' | b'\n')).for_each(|byte| *byte = b' ');
        Bytes::from(text)
    };
    if let Some(error) = bytes("err") {
        return Reply::error(error.strip_prefix(b"-").unwrap_or(&error));
    }
    if let Some(status) = bytes("ok") {
        return Reply::Status(in_one_line(status));
    }
    match table.raw_get::<Value>("double") {
        Ok(Value::Number(number)) => return Reply::Double(number),
        Ok(Value::Integer(number)) => return Reply::Double(number as f64),
        _ => {}
    }
    if let Some(number) = bytes("big_number") {
        return Reply::BigNumber(in_one_line(number));
    }
    if let Ok(Value::Table(verbatim)) = table.raw_get::<Value>("verbatim_string")
        && let (Some(said), Some(text)) = (bytes_of(&verbatim, "format"), bytes_of(&verbatim, "string"))
    {
        // As C reads it: up to the first NUL.
        let letters = said.into_iter().take_while(|byte| *byte != 0).chain(std::iter::repeat(b' '));
        let mut format = [b' '; 3];
        format.iter_mut().zip(letters).for_each(|(to, letter)| *to = letter);
        return Reply::Verbatim(format, text.into());
    }
    let inner = |value: &Value| at_depth(value, version, depth + 1);
    if let Ok(Value::Table(map)) = table.raw_get::<Value>("map") {
        let pairs = map.pairs::<Value, Value>().flatten();
        return Reply::Map(pairs.map(|(name, value)| (inner(&name), inner(&value))).collect());
    }
    if let Ok(Value::Table(set)) = table.raw_get::<Value>("set") {
        return Reply::Set(set.pairs::<Value, Value>().flatten().map(|(name, _)| inner(&name)).collect());
    }
    let mut replies = Vec::new();
    for place in 1_i64.. {
        match table.raw_get::<Value>(place) {
            Ok(Value::Nil) | Err(_) => break,
            Ok(value) => replies.push(inner(&value)),
        }
    }
    Reply::Array(replies)
}

/// A number without its fraction. What fits into no integer, and what is no number, is the least one: C leaves it open what a
/// cast makes of these, and this is what x86 and the real server on it do (`src/script_lua.c` `luaReplyToRedisReply`).
pub fn whole(number: f64) -> i64 {
    // 2^63 is the first number that is too large; what is less than -2^63 saturates to that.
    if number.is_nan() || number >= -(i64::MIN as f64) { i64::MIN } else { number as i64 }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn what_fits_into_no_integer_is_the_least_one() {
        for number in [9_223_372_036_854_775_807.0, 1e300, f64::INFINITY, f64::NAN, -1e300, f64::NEG_INFINITY]
        {
            assert_eq!(whole(number), i64::MIN, "{number}");
        }
        assert_eq!([1.9, -1.9, 9_223_372_036_854_774_784.0].map(whole), [1, -1, i64::MAX - 1023]);
    }
}
