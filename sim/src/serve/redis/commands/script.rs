//! `EVAL`, `EVALSHA`, `SCRIPT`.

use super::keys::{get, key};
use super::{NOT_AN_INTEGER, Replied, bulk, number, ok, refuse, replied};
use crate::serve::redis::scripts::{Script, UNKNOWN};
use crate::serve::redis::visit::Visit;
use bytes::Bytes;
use picklock_model::stores::redis::{Command, Millis};
use redis_protocol::resp2::types::BytesFrame;

pub(super) fn run(name: &str, arguments: &[Bytes], visit: &mut Visit) -> Replied {
    match name {
        "script" => about_scripts(arguments, visit),
        "eval" => match load(&arguments[0], visit) {
            Some((_, script)) => call(script, &arguments[1..], visit),
            None => refuse(UNKNOWN),
        },
        _ => {
            let sha = String::from_utf8_lossy(&arguments[0]).to_lowercase();
            match visit.scripts().get(&sha).copied() {
                Some(script) => call(script, &arguments[1..], visit),
                None => refuse("NOSCRIPT No matching script. Please use EVAL."),
            }
        }
    }
}

/// The script and its name, under which the server knows it from now on.
fn load(text: &Bytes, visit: &mut Visit) -> Option<(String, Script)> {
    let script = Script::of(text)?;
    let sha = sha1_smol::Sha1::from(text).digest().to_string();
    visit.scripts().insert(sha.clone(), script);
    Some((sha, script))
}

fn about_scripts(arguments: &[Bytes], visit: &mut Visit) -> Replied {
    let (what, rest) = (String::from_utf8_lossy(&arguments[0]).to_lowercase(), &arguments[1..]);
    match (what.as_str(), rest) {
        ("load", [text]) => match load(text, visit) {
            Some((sha, _)) => Ok(bulk(sha)),
            None => refuse(UNKNOWN),
        },
        ("exists", [_, ..]) => {
            let known =
                |sha: &Bytes| visit.scripts().contains_key(&String::from_utf8_lossy(sha).to_lowercase());
            let known = rest.iter().map(known).collect::<Vec<bool>>().into_iter();
            Ok(BytesFrame::Array(known.map(|known| BytesFrame::Integer(known.into())).collect()))
        }
        ("flush", _) => {
            visit.scripts().clear();
            Ok(ok())
        }
        _ => refuse(super::about::unknown_subcommand("SCRIPT", &arguments[0])),
    }
}

fn call(script: Script, arguments: &[Bytes], visit: &mut Visit) -> Replied {
    let keys = number(&arguments[0])?;
    let Ok(count) = usize::try_from(keys) else { return refuse("ERR Number of keys can't be negative") };
    if count > arguments.len() - 1 {
        return refuse("ERR Number of keys can't be greater than number of args");
    }
    let (keys, values) = arguments[1..].split_at(count);
    let (keys_min, values_min) = script.arity();
    if keys.len() < keys_min || values.len() < values_min {
        return refuse(format!("ERR this script looks at {keys_min} keys and {values_min} arguments"));
    }
    let name = key(&keys[0], visit);
    let value = visit.state.desk.names.value(&values[0]);
    let ttl = match values.get(1).filter(|_| values_min > 1) {
        Some(ttl) => Millis(number(ttl)?),
        None => Millis(0),
    };
    match script {
        Script::CompareAndDelete => replied(Command::CompareAndDelete { key: name, value }, visit),
        Script::CompareAndDeleteOrMissing => match get(&keys[0], visit)? {
            Some(_) => replied(Command::CompareAndDelete { key: name, value }, visit),
            None => Ok(BytesFrame::Integer(-1)),
        },
        Script::CompareAndPExpire => replied(Command::CompareAndExtend { key: name, value, ttl }, visit),
        Script::CompareAndExpire => {
            let Some(ttl) = ttl.0.checked_mul(1_000) else { return refuse(NOT_AN_INTEGER) };
            replied(Command::CompareAndExtend { key: name, value, ttl: Millis(ttl) }, visit)
        }
        Script::ExtendOrCreate => replied(Command::ExtendOrCreate { key: name, value, ttl }, visit),
        Script::SetAndIncr | Script::SetForAndIncr => {
            let ttl = (script == Script::SetForAndIncr).then_some(ttl);
            let counter = key(&keys[1], visit);
            replied(Command::SetAndIncr { key: name, value, ttl, counter }, visit)
        }
    }
}
