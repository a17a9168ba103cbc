//! Commands on keys, whatever they hold.

use super::strings::invalid_time;
use crate::serve::redis::events::Class;
use crate::serve::redis::glob::matches;
use crate::serve::redis::numbers::integer;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::{DATABASES, Slot};
use crate::serve::redis::turn::{NOT_AN_INTEGER, Refusal, Replied, SYNTAX, Turn, lower, number, refuse};
use bytes::Bytes;

pub fn del(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let mut gone = 0;
    for key in &words[1..] {
        if turn.remove(key) {
            turn.event(Class::Generic, "del", key);
            gone += 1;
        }
    }
    Ok(Reply::Integer(gone))
}

pub fn exists(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let there = words[1..].iter().filter(|key| turn.has(key)).count();
    Ok(Reply::Integer(there as i64))
}

pub fn kind(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::status(turn.find(&words[1]).map_or("none", |entry| entry.content.kind())))
}

pub fn rename(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let if_absent = lower(&words[0]) == "renamenx";
    let Some(entry) = turn.find(&words[1]).cloned() else { return refuse("ERR no such key") };
    let is_taken = turn.has(&words[2]);
    let said = if if_absent { Reply::Integer(1) } else { Reply::ok() };
    if words[1] == words[2] {
        return Ok(if if_absent { Reply::Integer(0) } else { said });
    }
    if if_absent && is_taken {
        return Ok(Reply::Integer(0));
    }
    turn.remove(&words[2]);
    turn.put(&words[2], entry.content, entry.dies);
    turn.remove(&words[1]);
    turn.event(Class::Generic, "rename_from", &words[1]);
    turn.event(Class::Generic, "rename_to", &words[2]);
    Ok(said)
}

/// `EXPIRE`, `PEXPIRE`, `EXPIREAT`, `PEXPIREAT` (`src/expire.c` `expireGenericCommand`).
pub fn expire(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
    for option in &words[3..] {
        match lower(option).as_str() {
            "nx" => nx = true,
            "xx" => xx = true,
            "gt" => gt = true,
            "lt" => lt = true,
            _ => return refuse([b"ERR Unsupported option ".as_slice(), option].concat()),
        }
    }
    if nx && (xx || gt || lt) {
        return refuse("ERR NX and XX, GT or LT options at the same time are not compatible");
    }
    if gt && lt {
        return refuse("ERR GT and LT options at the same time are not compatible");
    }
    let unit = if name.starts_with('e') { 1_000 } else { 1 };
    let base = if name.ends_with("at") { 0 } else { turn.now_ms() };
    let time = number(&words[2])?;
    let Some(at) = time.checked_mul(unit).and_then(|time| time.checked_add(base)) else {
        return invalid_time(&name);
    };
    if !turn.has(&words[1]) {
        return Ok(Reply::Integer(0));
    }
    let dies = turn.dies(&words[1]);
    let is_held_back = (nx && dies.is_some())
        || (xx && dies.is_none())
        || (gt && dies.is_none_or(|before| at <= before))
        || (lt && dies.is_some_and(|before| at >= before));
    if is_held_back {
        return Ok(Reply::Integer(0));
    }
    let place = turn.place(&words[1]);
    match at <= turn.now_ms() {
        true => {
            turn.remove(&words[1]);
            turn.event(Class::Generic, "del", &words[1]);
        }
        false => {
            turn.instance.keyspace.set_death(&place, Some(at), turn.cx);
            turn.event(Class::Generic, "expire", &words[1]);
        }
    }
    Ok(Reply::Integer(1))
}

/// `TTL`, `PTTL`, `EXPIRETIME`, `PEXPIRETIME`.
pub fn ttl(turn: &mut Turn, words: &[Bytes]) -> Replied {
    if !turn.has(&words[1]) {
        return Ok(Reply::Integer(-2));
    }
    let Some(at) = turn.dies(&words[1]) else { return Ok(Reply::Integer(-1)) };
    let left = at.saturating_sub(turn.now_ms()).max(0);
    // Rounded to the nearest second (`src/expire.c` `ttlGenericCommand`).
    let seconds = |ms: i64| ms.saturating_add(500) / 1_000;
    Ok(Reply::Integer(match lower(&words[0]).as_str() {
        "ttl" => seconds(left),
        "pttl" => left,
        "expiretime" => seconds(at),
        _ => at,
    }))
}

pub fn persist(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_mortal = turn.dies(&words[1]).is_some();
    if is_mortal {
        let place = turn.place(&words[1]);
        turn.instance.keyspace.set_death(&place, None, turn.cx);
        turn.event(Class::Generic, "persist", &words[1]);
    }
    Ok(Reply::truth(is_mortal))
}

/// In no order, as in the real server.
pub fn keys(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let all: Vec<Bytes> = alive(turn, 0).map(|(_, key)| key).filter(|key| matches(&words[1], key)).collect();
    Ok(Reply::strings(all))
}

/// Keys that live, from this slot on.
fn alive<'a>(turn: &'a Turn, from: Slot) -> impl Iterator<Item = (Slot, Bytes)> + 'a {
    let now = turn.instance.lives_at(turn.now_ms());
    let keys = turn.instance.keyspace.starting_at(turn.session.database, from);
    let alive = keys.filter(move |(_, _, entry)| entry.dies.is_none_or(|at| now <= at));
    alive.map(|(slot, key, _)| (slot, key.clone()))
}

pub fn randomkey(turn: &mut Turn, _: &[Bytes]) -> Replied {
    // Any one will do: the first.
    let first = alive(turn, 0).next();
    Ok(first.map_or(Reply::Nil, |(_, key)| Reply::Bulk(key)))
}

/// What `SCAN` and its like can be told.
pub struct Scan {
    pub cursor: u64,
    pub pattern: Option<Bytes>,
    pub count: usize,
    kind: Option<String>,
}

impl Scan {
    pub fn read(cursor: &Bytes, options: &[Bytes], of_keys: bool) -> Result<Scan, Refusal> {
        let number_of = |text: &Bytes| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let Some(cursor) = number_of(cursor) else { return refuse("ERR invalid cursor") };
        let mut scan = Scan { cursor, pattern: None, count: 10, kind: None };
        let mut rest = options.chunks(2);
        for option in &mut rest {
            match (lower(&option[0]).as_str(), option.get(1)) {
                ("match", Some(pattern)) => scan.pattern = Some(pattern.clone()),
                ("count", Some(count)) => {
                    let Some(count) = integer(count) else { return refuse(NOT_AN_INTEGER) };
                    let Ok(count @ 1..) = usize::try_from(count) else { return refuse(SYNTAX) };
                    scan.count = count;
                }
                ("type", Some(kind)) if of_keys => scan.kind = Some(lower(kind)),
                _ => return refuse(SYNTAX),
            }
        }
        Ok(scan)
    }

    pub fn admits(&self, name: &[u8]) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| matches(pattern, name))
    }
}

/// A cursor is the slot of the next key: what is there all the time is shown once.
pub fn scan(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let scan = Scan::read(&words[1], &words[2..], true)?;
    // Behind the last slot there is nothing.
    let from = Slot::try_from(scan.cursor).unwrap_or(Slot::MAX);
    let seen: Vec<(Slot, Bytes)> = alive(turn, from).take(scan.count + 1).collect();
    let next = seen.get(scan.count).map_or(0, |(slot, _)| *slot);
    let mut shown = Vec::new();
    for (_, key) in seen.into_iter().take(scan.count) {
        let is_kind = match &scan.kind {
            Some(kind) => turn.find(&key).is_some_and(|entry| entry.content.kind() == kind),
            None => true,
        };
        if is_kind && scan.admits(&key) {
            shown.push(key);
        }
    }
    Ok(Reply::Array(vec![Reply::bulk(next.to_string()), Reply::strings(shown)]))
}

pub fn dbsize(turn: &mut Turn, _: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.instance.keyspace.len(turn.session.database) as i64))
}

pub fn flush(turn: &mut Turn, words: &[Bytes]) -> Replied {
    match &words[1..] {
        [] => {}
        [how] if matches!(lower(how).as_str(), "async" | "sync") => {}
        _ => return refuse(SYNTAX),
    }
    let database = (lower(&words[0]) == "flushdb").then_some(turn.session.database);
    turn.instance.keyspace.clear(database, turn.cx);
    Ok(Reply::ok())
}

/// `SWAPDB` (`src/db.c` `swapdbCommand`).
pub fn swap(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let read = |word: &Bytes| integer(word).and_then(|number| i32::try_from(number).ok());
    let Some(first) = read(&words[1]) else { return refuse("ERR invalid first DB index") };
    let Some(second) = read(&words[2]) else { return refuse("ERR invalid second DB index") };
    let of = |number: i32| u8::try_from(number).ok().filter(|database| *database < DATABASES);
    let (Some(first), Some(second)) = (of(first), of(second)) else {
        return refuse("ERR DB index is out of range");
    };
    turn.instance.keyspace.swap(first, second, turn.cx);
    Ok(Reply::ok())
}

pub fn select(turn: &mut Turn, words: &[Bytes]) -> Replied {
    // Read as a C `int` (`src/db.c` `selectCommand`).
    let database = integer(&words[1]).and_then(|number| i32::try_from(number).ok());
    let Some(database) = database else { return refuse("ERR value is not an integer or out of range") };
    match u8::try_from(database).ok().filter(|database| *database < DATABASES) {
        Some(database) => {
            turn.session.database = database;
            Ok(Reply::ok())
        }
        None => refuse("ERR DB index is out of range"),
    }
}
