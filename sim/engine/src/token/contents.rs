//! What stands in a token, as named parts.

use super::differences::{NoSuchPart, applied, differences, passed_over, without_nothing};
use super::{Body, Mark, SetupBase, SetupChanges, Token, TokenError};
use crate::plans::pins::Pin;
use crate::plans::plan::Plan;
use picklock_properties::Promise;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

impl Token {
    /// Its parts.
    pub(super) fn contents(&self) -> Value {
        let mut parts = Map::new();
        let mut say = |name: &str, value: Value| parts.insert(name.to_owned(), value);
        say("lock", Value::from(self.lock.as_str()));
        if let Some(promise) = self.promise {
            say("promise", Value::from(promise.name()));
        }
        let SetupChanges { base, changes } = &self.setup;
        match (base, changes) {
            (SetupBase::Registered, None) => {}
            (SetupBase::Registered, Some(changes)) => {
                say("setup", changes.clone());
            }
            (SetupBase::OfType, changes) => {
                say("own_setup", changes.clone().unwrap_or_default());
            }
        }
        match &self.body {
            Body::Planned { plan, pins, seed } => {
                say("plan", told_plan(plan));
                if !pins.is_empty() {
                    say("pins", told_pins(pins));
                }
                say("seed", Value::from(*seed));
            }
            Body::Path { bounds, actions, loop_start } => {
                say("bounds", bounds.clone().unwrap_or_default());
                say("actions", Value::from(actions.as_slice()));
                if let Some(start) = loop_start {
                    say("loop", Value::from(*start));
                }
            }
        }
        if let Some(Mark(mark)) = self.mark {
            say("mark", Value::from(mark));
        }
        Value::Object(parts)
    }

    /// The token of these parts.
    pub(super) fn from_contents(contents: Value) -> Result<Token, TokenError> {
        let Value::Object(mut parts) = contents else { return Err(TokenError::Unreadable) };
        let lock = read(parts.remove("lock").ok_or(TokenError::Unreadable)?)?;
        let promise = parts.remove("promise").map(promise).transpose()?;
        let setup = match (parts.remove("setup"), parts.remove("own_setup")) {
            (None, None) => SetupChanges::none(),
            (Some(changes), None) => SetupChanges { base: SetupBase::Registered, changes: Some(changes) },
            (None, Some(Value::Null)) => SetupChanges { base: SetupBase::OfType, changes: None },
            (None, Some(changes)) => SetupChanges { base: SetupBase::OfType, changes: Some(changes) },
            (Some(_), Some(_)) => return Err(TokenError::Unreadable),
        };
        let mark = parts.remove("mark").map(read::<u32>).transpose()?.map(Mark);
        let body = match parts.remove("plan") {
            Some(told) => Body::Planned {
                plan: plan(&told)?,
                pins: parts.remove("pins").map(pins).transpose()?.unwrap_or_default(),
                seed: read(parts.remove("seed").ok_or(TokenError::Unreadable)?)?,
            },
            None => Body::Path {
                bounds: parts.remove("bounds").filter(|bounds| *bounds != Value::Null),
                actions: read(parts.remove("actions").ok_or(TokenError::Unreadable)?)?,
                loop_start: parts.remove("loop").map(read).transpose()?,
            },
        };
        // Only here, so that a part of the other kind of run is strange, too.
        match parts.keys().next() {
            None => Ok(Token { lock, promise, setup, body, mark }),
            Some(strange) => Err(TokenError::Unheard(strange.clone())),
        }
    }
}

/// Plain data as a value of named parts.
fn value_of<T: Serialize>(plain: &T) -> Value {
    serde_json::to_value(plain).unwrap_or_else(|error| unreachable!("this is plain data: {error}"))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, TokenError> {
    serde_json::from_value(value).map_err(|_| TokenError::Unreadable)
}

fn promise(name: Value) -> Result<Promise, TokenError> {
    let name: String = read(name)?;
    name.parse().map_err(|_| TokenError::Unheard(name))
}

/// How a plan differs from one in which nothing goes wrong.
fn told_plan(told: &Plan) -> Value {
    let Some(full) = differences(&value_of(&Plan::default()), &value_of(told)) else {
        return Value::Null;
    };
    let brief = briefly(&full);
    if plan(&brief).as_ref() == Ok(told) { brief } else { full }
}

/// The same with less in what is new: what reads it takes 0, false and nothing for granted, or should.
fn briefly(differences: &Value) -> Value {
    match differences {
        Value::Object(parts) => {
            Value::Object(parts.iter().map(|(name, part)| (name.clone(), briefly(part))).collect())
        }
        Value::Array(whole) => Value::Array(whole.iter().map(without_nothing).collect()),
        plain => plain.clone(),
    }
}

fn plan(told: &Value) -> Result<Plan, TokenError> {
    if *told == Value::Null {
        return Ok(Plan::default());
    }
    let whole =
        applied(&value_of(&Plan::default()), told).map_err(|NoSuchPart(name)| TokenError::Unheard(name))?;
    let plan: Plan = serde_json::from_value(whole.clone()).map_err(|error| unheard(&error))?;
    match passed_over(&whole, &value_of(&plan)) {
        None => Ok(plan),
        Some(name) => Err(TokenError::Unheard(name)),
    }
}

/// A fault or a trigger of a later picklock has a name that serde finds unknown.
fn unheard(error: &serde_json::Error) -> TokenError {
    let words = error.to_string();
    match words.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`')) {
        Some((name, _)) => TokenError::Unheard(name.to_owned()),
        None => TokenError::Unreadable,
    }
}

/// For each a client and a step, or nothing.
fn told_pins(pins: &[Option<Pin>]) -> Value {
    let told = |pin: &Option<Pin>| match *pin {
        None => vec![Value::Null],
        Some(Pin { client, step }) => vec![Value::from(client), Value::from(step)],
    };
    Value::Array(pins.iter().flat_map(told).collect())
}

fn pins(told: Value) -> Result<Vec<Option<Pin>>, TokenError> {
    let told: Vec<Option<u16>> = read(told)?;
    let (mut pins, mut told) = (Vec::new(), told.into_iter());
    while let Some(first) = told.next() {
        let pin = first.map(|client| {
            let client = u8::try_from(client).ok()?;
            Some(Pin { client, step: told.next()?? })
        });
        pins.push(match pin {
            None => None,
            Some(pin) => Some(pin.ok_or(TokenError::Unreadable)?),
        });
    }
    Ok(pins)
}
