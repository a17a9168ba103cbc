//! `EVAL`, `EVALSHA`, `SCRIPT`.

use super::unknown_subcommand;
use crate::serve::redis::lua;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, SYNTAX, Turn, lower, number, refuse, wrong_number};
use bytes::Bytes;

/// `EVAL`, `EVALSHA`, `EVAL_RO`, `EVALSHA_RO`.
pub fn eval(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let count = number(&words[2])?;
    let rest = &words[3..];
    let Ok(count) = usize::try_from(count) else { return refuse("ERR Number of keys can't be negative") };
    if count > rest.len() {
        return refuse("ERR Number of keys can't be greater than number of args");
    }
    let (keys, arguments) = rest.split_at(count);
    let sha = match name.starts_with("evalsha") {
        false => match lua::load(&mut turn.house.scripts, &words[1]) {
            Ok(sha) => sha,
            Err(error) => return refuse(error),
        },
        true => lower(&words[1]),
    };
    if !turn.house.scripts.knows(&sha) {
        return refuse("NOSCRIPT No matching script. Please use EVAL.");
    }
    lua::call(turn, &sha, keys, arguments, name.ends_with("_ro"))
}

pub fn script(turn: &mut Turn, words: &[Bytes]) -> Replied {
    match (lower(&words[1]).as_str(), &words[2..]) {
        ("load", [text]) => match lua::load(&mut turn.house.scripts, text) {
            Ok(sha) => Ok(Reply::bulk(sha)),
            Err(error) => refuse(error),
        },
        ("exists", shas @ [_, ..]) => {
            let known = shas.iter().map(|sha| Reply::truth(turn.house.scripts.knows(&lower(sha))));
            Ok(Reply::Array(known.collect()))
        }
        ("flush", how) => {
            let is_known = |how: &Bytes| matches!(lower(how).as_str(), "sync" | "async");
            if how.len() > 1 || !how.iter().all(is_known) {
                return match how.len() {
                    0 | 1 => refuse("ERR SCRIPT FLUSH only support SYNC|ASYNC option"),
                    _ => refuse(SYNTAX),
                };
            }
            turn.house.scripts.clear();
            Ok(Reply::ok())
        }
        ("kill", []) => match &turn.house.busy {
            Some(busy) => busy.kill(false),
            None => refuse("NOTBUSY No scripts in execution right now."),
        },
        (what @ ("load" | "exists" | "kill"), _) => refuse(wrong_number(&format!("script|{what}"))),
        _ => refuse(unknown_subcommand("SCRIPT", &words[1])),
    }
}
