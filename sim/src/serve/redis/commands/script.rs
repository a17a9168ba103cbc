//! `EVAL`, `EVALSHA`, `SCRIPT`.

use super::{help, unknown_subcommand};
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

/// `src/eval.c` `scriptCommand`.
const HELP: [&str; 14] = [
    "DEBUG (YES|SYNC|NO)",
    "    Set the debug mode for subsequent scripts executed.",
    "EXISTS <sha1> [<sha1> ...]",
    "    Return information about the existence of the scripts in the script cache.",
    "FLUSH [ASYNC|SYNC]",
    "    Flush the Lua scripts cache. Very dangerous on replicas.",
    "    When called without the optional mode argument, the behavior is determined by the",
    "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
    "    * ASYNC: Asynchronously flush the scripts cache.",
    "    * SYNC: Synchronously flush the scripts cache.",
    "KILL",
    "    Kill the currently executing Lua script.",
    "LOAD <script>",
    "    Load a script into the scripts cache without executing it.",
];

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
        ("help", []) => Ok(help("SCRIPT", &HELP)),
        (what @ ("load" | "exists" | "kill" | "help"), _) => refuse(wrong_number(&format!("script|{what}"))),
        _ => refuse(unknown_subcommand("SCRIPT", &words[1])),
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn it_says_what_it_does() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let said = client.line("SCRIPT HELP");
        let first = "*17 +SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are: +DEBUG (YES|SYNC|NO) +    Set ";
        assert!(said.starts_with(first), "{said}");
        assert!(said.ends_with(" without executing it. +HELP +    Prints this help."), "{said}");
        let wrong = "-ERR wrong number of arguments for 'script|help' command";
        assert_eq!(client.line("SCRIPT HELP LOAD"), wrong);
    }
}
