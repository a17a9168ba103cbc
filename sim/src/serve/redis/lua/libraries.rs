//! Libraries of functions (`src/functions.c`, `src/function_lua.c`).
//!
//! Simplifications: they are not on disk and not on replicas, but gone when the process ends, as scripts are. While a
//! library is loaded, it sees the globals of a script, where the real server hides some (`error`).

use super::leash::{INSTRUCTIONS_MAX, Limit};
use super::{Flags, LIBRARY, Machine, Script, raise, raised, run};
use crate::serve::redis::turn::{Replied, Turn, refuse};
use bytes::Bytes;
use mlua::{Error, MultiValue, Table, Value};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};

/// The libraries that a server knows, by name, and what runs their functions: scripts have another machine.
#[derive(Default)]
pub struct Libraries {
    pub known: BTreeMap<String, Library>,
    machine: Option<Machine>,
}

/// A library.
pub struct Library {
    pub code: Bytes,
    functions: BTreeMap<String, Member>,
}

struct Member {
    script: Script,
    description: Option<Bytes>,
}

impl Debug for Libraries {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}

impl Libraries {
    /// `FUNCTION FLUSH`.
    pub fn clear(&mut self) {
        *self = Libraries::default();
    }

    pub fn functions_count(&self) -> usize {
        self.known.values().map(|library| library.functions.len()).sum()
    }
}

impl Library {
    /// Its functions: name, description and flags.
    pub fn functions(&self) -> impl Iterator<Item = (&str, Option<&Bytes>, &[&'static str])> {
        self.functions.iter().map(|(name, member)| {
            (name.as_str(), member.description.as_ref(), member.script.flags.words.as_slice())
        })
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The name in the first line, and the text from the end of that line on.
fn named(text: &[u8]) -> Result<(String, &[u8]), String> {
    if !text.starts_with(b"#!") {
        return Err("ERR Missing library metadata".to_owned());
    }
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return Err("ERR Invalid library metadata".to_owned());
    };
    let first = String::from_utf8_lossy(&text[2..end]).into_owned();
    let mut parts = first.split_ascii_whitespace();
    let engine = parts.next().unwrap_or_default().to_owned();
    let mut name = None;
    for part in parts {
        match part.split_once('=') {
            Some((key, value)) if key.eq_ignore_ascii_case("name") => {
                if name.is_some() {
                    return Err(
                        "ERR Invalid metadata value, name argument was given multiple times".to_owned()
                    );
                }
                name = Some(value.to_owned());
            }
            _ => return Err(format!("ERR Invalid metadata value given: {part}")),
        }
    }
    let Some(name) = name else { return Err("ERR Library name was not given".to_owned()) };
    if !is_name(&name) {
        return Err(format!("ERR {}", names()));
    }
    if !engine.eq_ignore_ascii_case("lua") {
        return Err(format!("ERR Engine '{engine}' not found"));
    }
    Ok((name, &text[end..]))
}

fn names() -> String {
    "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"
        .to_owned()
}

/// What `redis.register_function` was given.
fn registered(given: &MultiValue) -> Result<(String, Member), String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(Bytes::copy_from_slice(&text.as_bytes())),
        _ => None,
    };
    let (mut name, mut body, mut description, mut flags) = (None, None, None, Vec::new());
    let given: Vec<&Value> = given.iter().collect();
    match given.as_slice() {
        [Value::Table(named)] => {
            for pair in named.pairs::<Value, Value>() {
                let (key, value) = pair.map_err(|error| error.to_string())?;
                let Some(key) = text(&key) else {
                    return Err(
                        "named argument key given to redis.register_function is not a string".to_owned()
                    );
                };
                match (key.to_ascii_lowercase().as_slice(), &value) {
                    (b"function_name", value) => {
                        name = Some(text(value).ok_or(
                            "function_name argument given to redis.register_function must be a string",
                        )?);
                    }
                    (b"description", value) => {
                        description = Some(text(value).ok_or(
                            "description argument given to redis.register_function must be a string",
                        )?);
                    }
                    (b"callback", Value::Function(function)) => body = Some(function.clone()),
                    (b"callback", _) => {
                        return Err("callback argument given to redis.register_function must be a function"
                            .to_owned());
                    }
                    (b"flags", Value::Table(words)) => flags = flags_of(words)?,
                    (b"flags", _) => {
                        return Err(
                            "flags argument to redis.register_function must be a table representing \
                                    function flags"
                                .to_owned(),
                        );
                    }
                    _ => return Err("unknown argument given to redis.register_function".to_owned()),
                }
            }
        }
        [_] => {
            return Err(
                "calling redis.register_function with a single argument is only applicable to Lua table \
                        (representing named arguments)."
                    .to_owned(),
            );
        }
        [first, second] => {
            name = Some(text(first).ok_or("first argument to redis.register_function must be a string")?);
            let Value::Function(function) = second else {
                return Err("second argument to redis.register_function must be a function".to_owned());
            };
            body = Some(function.clone());
        }
        _ => return Err("wrong number of arguments to redis.register_function".to_owned()),
    }
    let name = name.ok_or("redis.register_function must get a function name argument")?;
    let body = body.ok_or("redis.register_function must get a callback argument")?;
    let name = String::from_utf8_lossy(&name).into_owned();
    if !is_name(&name) {
        // In these words on the real server, too.
        return Err(names());
    }
    let flags = Flags::declared(flags.iter().map(String::as_str)).map_err(|_| "unknown flag given")?;
    Ok((name, Member { script: Script { body, flags }, description }))
}

fn flags_of(words: &Table) -> Result<Vec<String>, String> {
    let mut flags = Vec::new();
    for word in words.sequence_values::<Value>() {
        match word {
            Ok(Value::String(word)) => flags.push(word.to_string_lossy().to_ascii_lowercase()),
            _ => return Err("unknown flag given".to_owned()),
        }
    }
    Ok(flags)
}

/// `FUNCTION LOAD`: the library's name.
///
/// # Errors
/// What the server replies.
pub fn load_library(libraries: &mut Libraries, code: &Bytes, replaces: bool) -> Result<String, String> {
    let (name, text) = named(code)?;
    if libraries.known.contains_key(&name) && !replaces {
        return Err(format!("ERR Library '{name}' already exists"));
    }
    let machine = match &libraries.machine {
        Some(machine) => machine.clone(),
        None => {
            let made = Machine::new().map_err(|error| format!("ERR {error}"))?;
            libraries.machine.insert(made).clone()
        }
    };
    let compiled = |error: Error| match error {
        Error::SyntaxError { message, .. } => format!("ERR Error compiling function: {message}"),
        other => format!("ERR Error compiling function: {other}"),
    };
    let chunk = machine.lua.load(text).set_name(LIBRARY).set_environment(machine.environment.clone());
    let chunk = chunk.into_function().map_err(compiled)?;
    let functions: RefCell<BTreeMap<String, Member>> = RefCell::default();
    let (is_well, said) = registering(&machine, &chunk, &functions)
        .map_err(|error| format!("ERR Error registering functions: {error}"))?;
    if !is_well {
        let text = match &said {
            Value::Table(failure) => failure.get::<mlua::LuaString>("err").map(|text| text.to_string_lossy()),
            _ => Ok("the library has failed".to_owned()),
        };
        let text = text.unwrap_or_else(|error| error.to_string());
        // The real server says `ERR` twice for some errors, too.
        return Err(format!("ERR Error registering functions: {text}"));
    }
    let functions = functions.into_inner();
    if functions.is_empty() {
        return Err("ERR No functions registered".to_owned());
    }
    let others = || libraries.known.iter().filter(|(other, _)| **other != name);
    for function in functions.keys() {
        if others().any(|(_, library)| library.functions.contains_key(function)) {
            return Err(format!("ERR Function {function} already exists"));
        }
    }
    libraries.known.insert(name.clone(), Library { code: code.clone(), functions });
    Ok(name)
}

fn registering(
    machine: &Machine,
    chunk: &mlua::Function,
    functions: &RefCell<BTreeMap<String, Member>>,
) -> mlua::Result<(bool, Value)> {
    let Machine { lua, redis, run, .. } = machine;
    machine.leash.begin(Limit::Instructions(INSTRUCTIONS_MAX));
    let wrong = |text: String| raise(format!("ERR {text}"));
    let register = |_: &mlua::Lua, given: MultiValue| {
        let (name, member) = registered(&given).map_err(wrong)?;
        match functions.borrow_mut().insert(name, member) {
            None => Ok(()),
            Some(_) => Err(wrong("Function already exists in the library".to_owned())),
        }
    };
    for name in ["call", "pcall", "setresp"] {
        redis.raw_set(name, Value::Nil)?;
    }
    let ended = lua.scope(|scope| {
        redis.raw_set("register_function", scope.create_function(register)?)?;
        run.call::<(bool, Value)>(chunk)
    });
    let too_late = |_: &mlua::Lua, _: MultiValue| -> mlua::Result<()> {
        let text = "redis.register_function can only be called on FUNCTION LOAD command";
        Err(Error::RuntimeError(text.to_owned()))
    };
    redis.raw_set("register_function", lua.create_function(too_late)?)?;
    if !matches!(ended, Ok((true, _))) {
        machine.leash.fasten(&machine.lua)?;
    }
    match ended {
        Err(error) => match raised(&error) {
            Some(raised) => Err(Error::RuntimeError(raised.text.clone())),
            None => Err(error),
        },
        ended => ended,
    }
}

/// `FCALL`, `FCALL_RO`: the keys are so many of the words.
pub fn call_function(
    turn: &mut Turn,
    name: &str,
    count: Option<i64>,
    rest: &[Bytes],
    read_only: bool,
) -> Replied {
    let libraries = &turn.house.libraries;
    let found = libraries.known.values().find_map(|library| library.functions.get(name));
    let (Some(member), Some(machine)) = (found, libraries.machine.clone()) else {
        return refuse("ERR Function not found");
    };
    let script = member.script.clone();
    let Some(count) = count else { return refuse("ERR Bad number of keys provided") };
    if count > rest.len() as i64 {
        return refuse("ERR Number of keys can't be greater than number of args");
    }
    let Ok(count) = usize::try_from(count) else { return refuse("ERR Number of keys can't be negative") };
    script.flags.admit(turn, read_only)?;
    let (keys, arguments) = rest.split_at(count);
    run(turn, &machine, &script, (name, LIBRARY), keys, arguments, read_only)
}
