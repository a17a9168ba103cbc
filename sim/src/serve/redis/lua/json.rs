//! `cjson`: its options, and how it writes values (`deps/lua/src/lua_cjson.c`).
//!
//! `encode_keep_buffer` and `encode_number_precision` are taken and change nothing.

use super::decode::decode;
use super::misused;
use crate::serve::redis::numbers::general;
use mlua::{LightUserData, Lua, MultiValue, Table, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tables in tables: more are neither encoded nor decoded, whatever the options say.
const DEPTH_MAX: usize = 1_000;

/// What a script can set. It stays set for the scripts after it, as on the real server.
#[derive(Clone, Copy, Debug)]
struct Options {
    encode_depth_max: usize,
    decode_depth_max: usize,
    /// A list with too many places without a value becomes an object, and is no error.
    sparse_becomes_object: bool,
    /// Too many: so many times as many places as values (0: no number is too many), and more than `sparse_safe`.
    sparse_ratio: i64,
    sparse_safe: i64,
    invalid: Invalid,
    /// Whether numbers are decoded that JSON has not.
    decodes_invalid: bool,
}

/// What becomes of numbers that JSON has not.
#[derive(Clone, Copy, Debug)]
enum Invalid {
    Error,
    /// They are written as C writes them.
    Written,
    Null,
}

const DEFAULTS: Options = Options {
    encode_depth_max: DEPTH_MAX,
    decode_depth_max: DEPTH_MAX,
    sparse_becomes_object: false,
    sparse_ratio: 2,
    sparse_safe: 10,
    invalid: Invalid::Error,
    decodes_invalid: true,
};

type Shared = Arc<Mutex<Options>>;

fn read_options(options: &Shared) -> MutexGuard<'_, Options> {
    options.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `null` is in Lua.
pub fn null() -> Value {
    Value::LightUserData(LightUserData(std::ptr::null_mut()))
}

/// The table `cjson`.
pub fn library(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("null", null())?;
    table.set("_NAME", "cjson")?;
    let shared = Shared::new(Mutex::new(DEFAULTS));
    let options = shared.clone();
    let encode = move |lua: &Lua, value: Value| {
        let options = *read_options(&options);
        encode(lua, &value, &options)
    };
    table.set("encode", lua.create_function(encode)?)?;
    let options = shared.clone();
    let decode = move |lua: &Lua, given: MultiValue| {
        let options = *read_options(&options);
        let text = one_text(lua, given)?;
        decode(lua, &text, options.decode_depth_max.min(DEPTH_MAX), options.decodes_invalid)
    };
    table.set("decode", lua.create_function(decode)?)?;
    set_options(lua, &table, &shared)?;
    Ok(table)
}

/// The one argument of `decode`.
fn one_text(lua: &Lua, given: MultiValue) -> mlua::Result<mlua::LuaString> {
    let Ok([given]) = <[Value; 1]>::try_from(given.into_vec()) else {
        return Err(misused(lua, "bad argument #1 to 'decode' (expected 1 argument)"));
    };
    let kind = match &given {
        Value::LightUserData(_) => "userdata",
        other => other.type_name(),
    };
    let wrong = || misused(lua, &format!("bad argument #1 to 'decode' (string expected, got {kind})"));
    lua.coerce_string(given)?.ok_or_else(wrong)
}

/// The functions that set something, and return what is set.
fn set_options(lua: &Lua, table: &Table, shared: &Shared) -> mlua::Result<()> {
    for option in ["encode_keep_buffer", "encode_number_precision"] {
        table.set(option, lua.create_function(|_, given: MultiValue| Ok(given))?)?;
    }
    let options = shared.clone();
    let decode_invalid = move |lua: &Lua, given: Value| {
        let mut options = read_options(&options);
        let asked = match &given {
            Value::Nil => options.decodes_invalid,
            Value::Boolean(is_on) => *is_on,
            Value::String(text) => match &*text.as_bytes() {
                b"off" => false,
                b"on" => true,
                _ => {
                    return Err(misused(lua, "bad argument #1 to 'decode_invalid_numbers' (invalid option)"));
                }
            },
            _ => return Err(misused(lua, "bad argument #1 to 'decode_invalid_numbers' (string expected)")),
        };
        options.decodes_invalid = asked;
        Ok(asked)
    };
    table.set("decode_invalid_numbers", lua.create_function(decode_invalid)?)?;
    let options = shared.clone();
    let encode_depth = move |lua: &Lua, given: Option<i64>| {
        let mut options = read_options(&options);
        let max = within(lua, given, options.encode_depth_max as i64, 1)?;
        options.encode_depth_max = usize::try_from(max).unwrap_or(DEPTH_MAX);
        Ok(max)
    };
    table.set("encode_max_depth", lua.create_function(encode_depth)?)?;
    let options = shared.clone();
    let decode_depth = move |lua: &Lua, given: Option<i64>| {
        let mut options = read_options(&options);
        let max = within(lua, given, options.decode_depth_max as i64, 1)?;
        options.decode_depth_max = usize::try_from(max).unwrap_or(DEPTH_MAX);
        Ok(max)
    };
    table.set("decode_max_depth", lua.create_function(decode_depth)?)?;
    let options = shared.clone();
    let sparse = move |lua: &Lua, given: (Option<bool>, Option<i64>, Option<i64>)| {
        let mut options = read_options(&options);
        let (converts, ratio, safe) = given;
        options.sparse_becomes_object = converts.unwrap_or(options.sparse_becomes_object);
        options.sparse_ratio = within(lua, ratio, options.sparse_ratio, 0)?;
        options.sparse_safe = within(lua, safe, options.sparse_safe, 0)?;
        Ok((options.sparse_becomes_object, options.sparse_ratio, options.sparse_safe))
    };
    table.set("encode_sparse_array", lua.create_function(sparse)?)?;
    let options = shared.clone();
    let invalid = move |lua: &Lua, given: Value| {
        let mut options = read_options(&options);
        match &given {
            Value::Nil => {}
            Value::Boolean(is_on) => options.invalid = if *is_on { Invalid::Written } else { Invalid::Error },
            Value::String(text) => match &*text.as_bytes() {
                b"off" => options.invalid = Invalid::Error,
                b"on" => options.invalid = Invalid::Written,
                b"null" => options.invalid = Invalid::Null,
                _ => {
                    return Err(misused(lua, "bad argument #1 to 'encode_invalid_numbers' (invalid option)"));
                }
            },
            _ => return Err(misused(lua, "bad argument #1 to 'encode_invalid_numbers' (string expected)")),
        }
        match options.invalid {
            Invalid::Error => Ok(Value::Boolean(false)),
            Invalid::Written => Ok(Value::Boolean(true)),
            Invalid::Null => Ok(Value::String(lua.create_string("null")?)),
        }
    };
    table.set("encode_invalid_numbers", lua.create_function(invalid)?)
}

/// A number that was given, or what is set.
fn within(lua: &Lua, given: Option<i64>, set: i64, least: i64) -> mlua::Result<i64> {
    let most = i64::from(i32::MAX);
    match given {
        None => Ok(set),
        Some(given) if (least..=most).contains(&given) => Ok(given),
        Some(_) => Err(misused(
            lua,
            &format!("bad argument #1 to '?' (expected integer between {least} and {most})"),
        )),
    }
}

fn encode(lua: &Lua, value: &Value, options: &Options) -> mlua::Result<mlua::LuaString> {
    let mut text = Vec::new();
    write(lua, value, 0, options, &mut text)?;
    lua.create_string(text)
}

fn write(lua: &Lua, value: &Value, depth: usize, options: &Options, text: &mut Vec<u8>) -> mlua::Result<()> {
    match value {
        Value::Nil => text.extend(b"null"),
        Value::LightUserData(LightUserData(at)) if at.is_null() => text.extend(b"null"),
        Value::Boolean(is_true) => text.extend(if *is_true { &b"true"[..] } else { b"false" }),
        Value::Integer(number) => text.extend(general(*number as f64, 14).into_bytes()),
        Value::Number(number) if number.is_finite() => text.extend(general(*number, 14).into_bytes()),
        Value::Number(number) => match options.invalid {
            Invalid::Error => return Err(misused(lua, "Cannot serialise number: must not be NaN or Inf")),
            Invalid::Written if number.is_nan() => text.extend(b"nan"),
            Invalid::Written => text.extend(general(*number, 14).into_bytes()),
            Invalid::Null => text.extend(b"null"),
        },
        Value::String(string) => quoted(&string.as_bytes(), text),
        Value::Table(_) if depth >= options.encode_depth_max.min(DEPTH_MAX) => {
            return Err(misused(lua, &format!("Cannot serialise, excessive nesting ({})", depth + 1)));
        }
        Value::Table(table) => write_table(lua, table, depth, options, text)?,
        other => {
            let kind = other.type_name();
            return Err(misused(lua, &format!("Cannot serialise {kind}: type not supported")));
        }
    }
    Ok(())
}

/// How long a table is as a list; `None`: it is none.
fn length(lua: &Lua, table: &Table, options: &Options) -> mlua::Result<Option<i64>> {
    let (mut last, mut count) = (0_i64, 0_i64);
    for pair in table.pairs::<Value, Value>() {
        let place = match pair?.0 {
            Value::Integer(place) if place > 0 => place,
            Value::Number(place) if place >= 1.0 && place.fract() == 0.0 => place as i64,
            _ => return Ok(None),
        };
        last = last.max(place);
        count += 1;
    }
    let is_sparse = options.sparse_ratio > 0 && last > count.saturating_mul(options.sparse_ratio);
    if is_sparse && last > options.sparse_safe {
        return match options.sparse_becomes_object {
            true => Ok(None),
            false => Err(misused(lua, "Cannot serialise table: excessively sparse array")),
        };
    }
    Ok((last > 0).then_some(last))
}

fn write_table(
    lua: &Lua,
    table: &Table,
    depth: usize,
    options: &Options,
    text: &mut Vec<u8>,
) -> mlua::Result<()> {
    if let Some(length) = length(lua, table, options)? {
        text.push(b'[');
        for place in 1..=length {
            if place > 1 {
                text.push(b',');
            }
            write(lua, &table.raw_get(place)?, depth + 1, options, text)?;
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
                write(lua, &name, depth, options, text)?;
                text.push(b'"');
            }
            _ => return Err(misused(lua, "Cannot serialise table: table key must be a number or string")),
        }
        text.push(b':');
        write(lua, &value, depth + 1, options, text)?;
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
