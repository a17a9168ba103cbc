//! Settings that somebody asks for by name: `ttl=5s`, `store.persistence=None`, `clients=3`.
//!
//! Whatever of a setup has a name can be set, in the words in which [`Set`](super::set::Set) tells it. What the lock itself calls so is meant
//! first, then a part of the whole setup (`servers`, `store.…`), then what its use calls so (`clients`, `rounds`, `hold`, `think`).

use super::set::names_of_times;
use super::tokens::{named, setup_from};
use super::{Registered, RunError};
use picklock_model::claims::{pack_setup, unpack_setup};
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::time::Micros;
use serde_json::Value;
use std::collections::BTreeSet;

/// Why a setting cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotSet {
    /// There is no such thing.
    #[error("{name}: {lock} has no such setting; it has {}", .known.join(", "))]
    NoSuchName {
        /// What was asked for.
        name: String,
        /// Of which lock.
        lock: &'static str,
        /// All that can be set.
        known: Vec<String>,
    },
    /// It has parts.
    #[error("{name}: it has parts, to be set one by one: {}", .parts.join(", "))]
    HasParts {
        /// What was asked for.
        name: String,
        /// Its parts.
        parts: Vec<String>,
    },
    /// A time without a unit could be of any.
    #[error("{name}={value}: it is a time: 5s, 100ms, 250us, or 0")]
    NoTime {
        /// What was asked for.
        name: String,
        /// What it should be.
        value: String,
    },
    /// A time, of what is none.
    #[error("{name}={value}: it is no time, but counts: a number, without a unit")]
    NoCount {
        /// What was asked for.
        name: String,
        /// What it should be.
        value: String,
    },
    /// It cannot be that.
    #[error("{name}={value}: {why}")]
    Wrong {
        /// What was asked for.
        name: String,
        /// What it should be.
        value: String,
        /// Why not.
        why: String,
    },
}

impl<Y: System> Registered<Y> {
    /// The packed setup with this set.
    pub(super) fn changed(&self, setup: &[u8], name: &str, value: &str) -> Result<Vec<u8>, RunError> {
        let setup: Setup<Y> = unpack_setup(setup)?;
        let mut whole = named(&setup)?;
        let times = names_of_times(&setup);
        let path = self.path_of(name, &whole)?;
        let place = path.split('.').try_fold(&mut whole, |part, name| part.get_mut(name));
        let Some(place) = place else { unreachable!("it was found there") };
        if let Value::Object(parts) = &*place
            && !parts.is_empty()
            && !value.starts_with('{')
            && !is_choice(value)
        {
            let parts = parts.keys().map(|part| format!("{name}.{part}")).collect();
            return Err(RunError::NotSet(NotSet::HasParts { name: name.to_owned(), parts }));
        }
        let is_time = times.contains(&path);
        let meant = value_of(name, value, place, is_time)?;
        let is_bare = value.parse().is_ok_and(|number: f64| number != 0.0);
        *place = meant;
        let setup: Setup<Y> = setup_from(whole).map_err(|error| {
            let why = match error {
                RunError::SetupParts(why) => why,
                other => other.to_string(),
            };
            // Of a time that has to be one.
            if is_time && value == NONE {
                return RunError::NotSet(NotSet::NoTime { name: name.to_owned(), value: value.to_owned() });
            }
            let why = what_it_takes(&path, &why).unwrap_or(why);
            RunError::NotSet(NotSet::Wrong { name: name.to_owned(), value: value.to_owned(), why })
        })?;
        // What was none is seen to be a time when it is there.
        if is_bare && names_of_times(&setup).contains(&path) {
            return Err(RunError::NotSet(NotSet::NoTime { name: name.to_owned(), value: value.to_owned() }));
        }
        Ok(pack_setup(&setup))
    }

    /// Where in the whole setup what is called so stands.
    fn path_of(&self, name: &str, whole: &Value) -> Result<String, RunError> {
        let stands = |path: &String| {
            let found = path.split('.').try_fold(whole, |part, name| part.get(name));
            found.is_some() && !path.starts_with("promises")
        };
        let meant = [format!("lock.{name}"), name.to_owned(), format!("workload.{name}")];
        meant.into_iter().find(stands).ok_or_else(|| {
            let mut known = BTreeSet::new();
            leaves("", whole, &mut known);
            let (lock, name) = (self.name, name.to_owned());
            RunError::NotSet(NotSet::NoSuchName { name, lock, known: known.into_iter().collect() })
        })
    }
}

/// What would have been right, where it is told as a type of Rust's.
fn what_it_takes(path: &str, why: &str) -> Option<String> {
    let (_, expected) = why.rsplit_once(", expected ")?;
    // These have bounds of their own, as a setup that is out of them is told.
    let least = u64::from(matches!(path, "servers" | "workload.clients"));
    let most = match expected {
        "u8" if path == "servers" => 9,
        "u8" if path == "workload.clients" => 128,
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" => u64::MAX,
        "a boolean" => return Some("it is true or false".to_owned()),
        structure if structure.starts_with("struct ") => {
            return Some("it is none, or has parts, as in {name:value,name:value}".to_owned());
        }
        names if names.contains('`') => return Some(format!("it is {}", names.replace('`', ""))),
        _ => return None,
    };
    Some(format!("it takes a whole number, {least} to {most}"))
}

/// One of several, by its name.
fn is_choice(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The names of all that has no parts, as they are asked for.
fn leaves(name: &str, value: &Value, known: &mut BTreeSet<String>) {
    match value {
        Value::Object(parts) if !parts.is_empty() => {
            for (part, value) in parts {
                match (name, part.as_str()) {
                    ("", "promises") => {}
                    ("", "lock" | "workload") => leaves("", value, known),
                    ("", part) => leaves(part, value, known),
                    (whole, part) => leaves(&format!("{whole}.{part}"), value, known),
                }
            }
        }
        _ => _ = known.insert(name.to_owned()),
    }
}

/// Plans take a multiple of what a lease takes, and have an end.
const TIME_MAX: Micros = Micros::seconds(86_400);

/// No value, where there may be none.
const NONE: &str = "none";

/// What is meant by `value`, in the place of what is there now.
fn value_of(name: &str, value: &str, now: &Value, is_time: bool) -> Result<Value, RunError> {
    let (name, text) = (name.to_owned(), value.to_owned());
    if value == NONE {
        return Ok(Value::Null);
    }
    if let Some(time) = time(value) {
        if time > TIME_MAX {
            let why = format!("it may be a day at most, {TIME_MAX}");
            return Err(RunError::NotSet(NotSet::Wrong { name, value: text, why }));
        }
        // What is none could be a time.
        if is_time || now.is_null() && !name.ends_with("seconds") {
            return Ok(Value::from(time.0));
        }
        return Err(RunError::NotSet(NotSet::NoCount { name, value: text }));
    }
    if is_time && is_too_long(value) {
        let why = format!("it may be a day at most, {TIME_MAX}");
        return Err(RunError::NotSet(NotSet::Wrong { name, value: text, why }));
    }
    match serde_json::from_str(value) {
        Ok(Value::Number(number)) if is_time && number.as_i64() != Some(0) => {
            Err(RunError::NotSet(NotSet::NoTime { name, value: text }))
        }
        Ok(_) if is_time && value != "0" => Err(RunError::NotSet(NotSet::NoTime { name, value: text })),
        Ok(value) => Ok(value),
        Err(_) if value.starts_with('{') => parts_of(&name, value),
        Err(_) if is_time => Err(RunError::NotSet(NotSet::NoTime { name, value: text })),
        Err(_) => Ok(Value::String(text)),
    }
}

/// No setting has parts within parts within parts.
const DEPTH_MAX: usize = 4;

/// Parts as they are told: `{does:FlushesAll,period:3s}`.
fn parts_of(name: &str, text: &str) -> Result<Value, RunError> {
    let wrong = || {
        let why = "it has parts, as in {name:value,name:value}".to_owned();
        RunError::NotSet(NotSet::Wrong { name: name.to_owned(), value: text.to_owned(), why })
    };
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(wrong)?;
    let (mut depth, mut parts, mut from) = (0_usize, Vec::new(), 0);
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' if depth == DEPTH_MAX => return Err(wrong()),
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1).ok_or_else(wrong)?,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    let part = |part: &str| {
        let (part, value) = part.split_once(':').ok_or_else(wrong)?;
        let (part, value) = (part.trim(), value.trim());
        Ok((part.to_owned(), value_of(&format!("{name}.{part}"), value, &Value::Null, false)?))
    };
    parts.into_iter().map(part).collect::<Result<serde_json::Map<_, _>, RunError>>().map(Value::Object)
}

/// A length of time with its unit: `5s`, `1.5s`, `100ms`, `250us`.
fn time(text: &str) -> Option<Micros> {
    let (number, unit) = [("us", 1), ("ms", 1_000), ("s", 1_000_000)]
        .into_iter()
        .find_map(|(unit, micros)| Some((text.strip_suffix(unit)?, micros)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = !whole.is_empty() && whole.len() <= 9 && fraction.len() <= 6;
    if !is_number || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let of_fraction: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10_i64.pow(fraction.len() as u32);
    let part = of_fraction * unit;
    (part % scale == 0).then_some(Micros(whole * unit + part / scale))
}

/// Whether it is a time with more digits than any that can be set has.
fn is_too_long(text: &str) -> bool {
    let number = ["us", "ms", "s"].into_iter().find_map(|unit| text.strip_suffix(unit));
    number.is_some_and(|number| number.len() > 9 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("5s"), Some(Micros::seconds(5)));
        assert_eq!(time("1.5s"), Some(Micros::millis(1500)));
        assert_eq!(time("0.25ms"), Some(Micros(250)));
        assert_eq!(time("250us"), Some(Micros(250)));
        for text in ["5", "s", "-1s", "1.0000001s", "0.5us", "1e3s", "5 s", "99999999999s", "None"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_is_what_stands_there() {
        let value = |value, now: &Value, is_time| {
            value_of("x", value, now, is_time).map_err(|error| error.to_string())
        };
        assert_eq!(value("5s", &Value::from(1), true), Ok(Value::from(5_000_000)));
        assert_eq!(value("5s", &Value::Null, false), Ok(Value::from(5_000_000)));
        assert_eq!(value("0", &Value::from(1), true), Ok(Value::from(0)));
        assert_eq!(value("none", &Value::from(1), true), Ok(Value::Null));
        assert_eq!(value("3", &Value::from(1), false), Ok(Value::from(3)));
        assert_eq!(value("true", &Value::from(false), false), Ok(Value::from(true)));
        assert_eq!(value("AofAlways", &Value::from("None"), false), Ok(Value::from("AofAlways")));
        let parts = serde_json::json!({"does": "FlushesAll", "period": 3_000_000, "of": {"some": 2}});
        assert_eq!(value("{does:FlushesAll,period:3s,of:{some:2}}", &Value::Null, false), Ok(parts));
        let deep = "{a:".repeat(100_000);
        for text in [deep.as_str(), "{does}", "{does:{a:1}", "{a:1}}", "{"] {
            assert!(value(text, &Value::Null, false).is_err(), "{text}");
        }
        assert!(value("5", &Value::from(1), true).is_err_and(|why| why.contains("it is a time")));
        assert!(value("soon", &Value::from(1), true).is_err_and(|why| why.contains("it is a time")));
        assert!(value("5s", &Value::from(1), false).is_err_and(|why| why.contains("without a unit")));
    }
}
