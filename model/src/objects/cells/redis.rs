//! Variables in Redis.

use super::{AsItIs, Ask, Cell, Direct, Heard, Question, Version, Word};
use crate::stores::redis::{Check, Command, Key, Line, Outcome, Redis, Reply, Request, Value};
use serde::{Deserialize, Serialize};

/// In Redis: a key a variable, compared and set by a script, `if redis.call('get', key) == expected then …`.
///
/// Redis has no versions. What a variable holds stands in their place, so that ABA is possible wherever a content comes again.
/// A master is asked always, and always the same one: who finds a replica there asks it again and again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum InRedis {}

fn key(cell: Cell) -> Key {
    Key { word: cell.word, number: cell.number.into() }
}

fn value(content: u32) -> Value {
    Value::Integer(content.into())
}

/// `SET` or `DEL`.
fn set(key: Key, new: Option<u32>) -> Command {
    match new {
        Some(new) => Command::Set { key, value: value(new), if_absent: false, ttl: None },
        None => Command::Del(key),
    }
}

impl Direct for InRedis {
    type Store = Redis;
    type Settings = AsItIs;

    fn request(Question { cell, ask }: Question, serial: u32, _settings: &AsItIs) -> Request {
        let key = key(cell);
        let set_if = |expected: Option<u32>, new| {
            let check = match expected {
                Some(expected) => Check::Holds(key, value(expected)),
                None => Check::Absent(key),
            };
            Command::Script([Line::Require(check), Line::Call(set(key, new))].into())
        };
        let command = match ask {
            Ask::Get => Command::Get(key),
            Ask::Set(new) => set(key, new),
            Ask::SetIfVersion(version, new) => set_if(version.content(), new),
            Ask::SetIfContent { expected, new } => set_if(expected, new),
        };
        Request { serial, command, wait: false }
    }

    fn serial_of(reply: &Reply) -> u32 {
        reply.serial
    }

    fn heard(reply: &Reply, _settings: &AsItIs) -> Word {
        Word::Heard(match reply.outcome {
            Outcome::Bulk(Value::Integer(content)) => {
                Heard::Found(Some(content as u32), Version::of_content(content as u32))
            }
            Outcome::Ok | Outcome::Integer(_) => Heard::Set(true),
            // Of a script: the condition does not hold.
            Outcome::Nil => Heard::Found(None, Version::ABSENT),
            Outcome::Bulk(Value::Token(_)) | Outcome::Error(_) => Heard::Failed,
        })
    }

    /// A script that changes nothing answers as `GET` of nothing does.
    fn then(ask: Ask, heard: Heard) -> Result<Heard, Ask> {
        Ok(match (ask, heard) {
            (Ask::SetIfVersion(..) | Ask::SetIfContent { .. }, Heard::Found(..)) => Heard::Set(false),
            (_, heard) => heard,
        })
    }
}
