//! `FCALL`, `FUNCTION`.

use super::unknown_subcommand;
use crate::serve::redis::glob::matches;
use crate::serve::redis::lua;
use crate::serve::redis::numbers::integer;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, Turn, lower, refuse, wrong_number};
use bytes::Bytes;

/// `FCALL`, `FCALL_RO`.
pub fn fcall(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = String::from_utf8_lossy(&words[1]).into_owned();
    lua::call_function(turn, &name, integer(&words[2]), &words[3..], lower(&words[0]).ends_with("_ro"))
}

pub fn function(turn: &mut Turn, words: &[Bytes]) -> Replied {
    match (lower(&words[1]).as_str(), &words[2..]) {
        ("load", [options @ .., code]) => {
            for option in options {
                if lower(option) != "replace" {
                    let shown = String::from_utf8_lossy(option);
                    return refuse(format!("ERR Unknown option given: {shown}"));
                }
            }
            match lua::load_library(&mut turn.house.libraries, code, !options.is_empty()) {
                Ok(name) => Ok(Reply::bulk(name)),
                Err(error) => refuse(error),
            }
        }
        ("flush", how) => {
            let is_known = |how: &Bytes| matches!(lower(how).as_str(), "sync" | "async");
            if how.len() > 1 || !how.iter().all(is_known) {
                return refuse("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
            }
            turn.house.libraries.clear();
            Ok(Reply::ok())
        }
        ("delete", [name]) => {
            let name = String::from_utf8_lossy(name).into_owned();
            match turn.house.libraries.known.remove(&name) {
                Some(_) => Ok(Reply::ok()),
                None => refuse("ERR Library not found"),
            }
        }
        ("list", options) => list(turn, options),
        ("kill", []) => match &turn.house.busy {
            Some(busy) => busy.kill(true),
            None => refuse("NOTBUSY No scripts in execution right now."),
        },
        ("stats", []) => {
            let libraries = &turn.house.libraries;
            let (running, (known, functions)) = match &turn.house.busy {
                Some(busy) => busy.stats()?,
                None => (Reply::Nil, (libraries.known.len(), libraries.functions_count())),
            };
            let counts = [("libraries_count", known), ("functions_count", functions)];
            let counts = counts.map(|(name, count)| (Reply::bulk(name), Reply::Integer(count as i64)));
            let engines = Reply::Map(vec![(Reply::bulk("LUA"), Reply::Map(counts.to_vec()))]);
            let running = (Reply::bulk("running_script"), running);
            Ok(Reply::Map(vec![running, (Reply::bulk("engines"), engines)]))
        }
        (what @ ("load" | "delete" | "kill" | "stats"), _) => {
            refuse(wrong_number(&format!("function|{what}")))
        }
        (what, _) => {
            if matches!(what, "dump" | "restore") {
                turn.house.missing(&format!("FUNCTION {}", what.to_uppercase()));
            }
            refuse(unknown_subcommand("FUNCTION", &words[1]))
        }
    }
}

fn list(turn: &Turn, options: &[Bytes]) -> Replied {
    let (mut with_code, mut pattern) = (false, None);
    let mut rest = options;
    while let Some((option, after)) = rest.split_first() {
        rest = match (lower(option).as_str(), after) {
            ("withcode", after) if !with_code => {
                with_code = true;
                after
            }
            ("libraryname", [name, after @ ..]) if pattern.is_none() => {
                pattern = Some(name);
                after
            }
            ("libraryname", []) if pattern.is_none() => {
                return refuse("ERR library name argument was not given");
            }
            _ => return refuse([b"ERR Unknown argument ".as_slice(), option].concat()),
        };
    }
    let mut said = Vec::new();
    for (name, library) in &turn.house.libraries.known {
        if pattern.is_some_and(|pattern| !matches(pattern, name.as_bytes())) {
            continue;
        }
        let functions = library.functions().map(|(name, description, flags)| {
            Reply::Map(vec![
                (Reply::bulk("name"), Reply::bulk(name.to_owned())),
                (
                    Reply::bulk("description"),
                    description.map_or(Reply::Nil, |text| Reply::Bulk(text.clone())),
                ),
                (Reply::bulk("flags"), Reply::Set(flags.iter().map(|flag| Reply::status(flag)).collect())),
            ])
        });
        let mut shown = vec![
            (Reply::bulk("library_name"), Reply::bulk(name.clone())),
            (Reply::bulk("engine"), Reply::bulk("LUA")),
            (Reply::bulk("functions"), Reply::Array(functions.collect())),
        ];
        if with_code {
            shown.push((Reply::bulk("library_code"), Reply::Bulk(library.code.clone())));
        }
        said.push(Reply::Map(shown));
    }
    Ok(Reply::Array(said))
}
