//! `cjson`: its rules about tables over the reader of `serde_json`.
//!
//! Its options (`cjson.encode_max_depth` and the like) are taken, and change nothing. Errors in a text that is no JSON are `serde_json`'s words.

use super::misused;
use crate::serve::redis::numbers::general;
use mlua::{LightUserData, Lua, Table, Value};
use serde_json::Value as Json;

/// Tables in tables that it encodes.
const DEPTH_MAX: usize = 1_000;
/// A list may have so many places without a value, or so many times as many as there are values.
const HOLES_MAX: i64 = 10;
const SPARSE_RATIO: i64 = 2;

fn null() -> Value {
    Value::LightUserData(LightUserData(std::ptr::null_mut()))
}

/// The table `cjson`.
pub fn library(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("null", null())?;
    table.set("_NAME", "cjson")?;
    table.set("encode", lua.create_function(encode)?)?;
    table.set("decode", lua.create_function(decode)?)?;
    for option in ["encode_keep_buffer", "encode_max_depth", "decode_max_depth", "encode_number_precision"]
        .into_iter()
        .chain(["encode_sparse_array", "encode_invalid_numbers", "decode_invalid_numbers"])
    {
        table.set(option, lua.create_function(|_, given: mlua::MultiValue| Ok(given))?)?;
    }
    Ok(table)
}

fn encode(lua: &Lua, value: Value) -> mlua::Result<mlua::LuaString> {
    let mut text = Vec::new();
    write(lua, &value, 0, &mut text)?;
    lua.create_string(text)
}

fn write(lua: &Lua, value: &Value, depth: usize, text: &mut Vec<u8>) -> mlua::Result<()> {
    match value {
        Value::Nil => text.extend(b"null"),
        Value::LightUserData(LightUserData(at)) if at.is_null() => text.extend(b"null"),
        Value::Boolean(is_true) => text.extend(if *is_true { &b"true"[..] } else { b"false" }),
        Value::Integer(number) => text.extend(general(*number as f64, 14).into_bytes()),
        Value::Number(number) if number.is_finite() => text.extend(general(*number, 14).into_bytes()),
        Value::Number(_) => return Err(misused(lua, "Cannot serialise number: must not be NaN or Inf")),
        Value::String(string) => quoted(&string.as_bytes(), text),
        Value::Table(_) if depth >= DEPTH_MAX => {
            return Err(misused(lua, &format!("Cannot serialise, excessive depth ({})", depth + 1)));
        }
        Value::Table(table) => write_table(lua, table, depth, text)?,
        other => {
            let kind = other.type_name();
            return Err(misused(lua, &format!("Cannot serialise {kind}: type not supported")));
        }
    }
    Ok(())
}

/// How long a table is as a list; `None`: it is none.
fn length(lua: &Lua, table: &Table) -> mlua::Result<Option<i64>> {
    let (mut last, mut count) = (0, 0);
    for pair in table.pairs::<Value, Value>() {
        let place = match pair?.0 {
            Value::Integer(place) if place > 0 => place,
            Value::Number(place) if place >= 1.0 && place.fract() == 0.0 => place as i64,
            _ => return Ok(None),
        };
        last = last.max(place);
        count += 1;
    }
    if last > count * SPARSE_RATIO && last > HOLES_MAX {
        return Err(misused(lua, "Cannot serialise table: excessively sparse array"));
    }
    Ok((last > 0).then_some(last))
}

fn write_table(lua: &Lua, table: &Table, depth: usize, text: &mut Vec<u8>) -> mlua::Result<()> {
    if let Some(length) = length(lua, table)? {
        text.push(b'[');
        for place in 1..=length {
            if place > 1 {
                text.push(b',');
            }
            write(lua, &table.raw_get(place)?, depth + 1, text)?;
        }
        text.push(b']');
        return Ok(());
    }
    text.push(b'{');
    for (number, pair) in table.pairs::<Value, Value>().enumerate() {
        let (name, value) = pair?;
        if number > 0 {
            text.push(b',');
        }
        match &name {
            Value::String(name) => quoted(&name.as_bytes(), text),
            Value::Integer(_) | Value::Number(_) => {
                text.push(b'"');
                write(lua, &name, depth, text)?;
                text.push(b'"');
            }
            _ => return Err(misused(lua, "Cannot serialise table: table key must be a number or string")),
        }
        text.push(b':');
        write(lua, &value, depth + 1, text)?;
    }
    text.push(b'}');
    Ok(())
}

/// Bytes as they are, whether they are UTF-8 or not; with a `\` before `/`, as the library has it.
fn quoted(bytes: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' | b'/' => text.extend([b'\\', *byte]),
            8 => text.extend(b"\\b"),
            12 => text.extend(b"\\f"),
            b'\n' => text.extend(b"\\n"),
            b'\r' => text.extend(b"\\r"),
            b'\t' => text.extend(b"\\t"),
            0..=31 | 127 => text.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => text.push(*byte),
        }
    }
    text.push(b'"');
}

fn decode(lua: &Lua, text: mlua::LuaString) -> mlua::Result<Value> {
    let json: Json =
        serde_json::from_slice(&text.as_bytes()).map_err(|error| misused(lua, &error.to_string()))?;
    read(lua, &json)
}

fn read(lua: &Lua, json: &Json) -> mlua::Result<Value> {
    Ok(match json {
        Json::Null => null(),
        Json::Bool(is_true) => Value::Boolean(*is_true),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(string) => Value::String(lua.create_string(string)?),
        Json::Array(values) => {
            let table = lua.create_table()?;
            for (place, value) in (1..).zip(values) {
                table.raw_set(place, read(lua, value)?)?;
            }
            Value::Table(table)
        }
        Json::Object(members) => {
            let table = lua.create_table()?;
            for (name, value) in members {
                table.raw_set(lua.create_string(name)?, read(lua, value)?)?;
            }
            Value::Table(table)
        }
    })
}
