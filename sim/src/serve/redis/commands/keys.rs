//! Commands on keys, whatever they hold.

use super::strings::invalid_time;
use crate::serve::redis::events::Class;
use crate::serve::redis::glob::matches;
use crate::serve::redis::numbers::{self, integer};
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
    alive.map(|(slot, key, _)| (slot, Bytes::copy_from_slice(key)))
}

pub fn randomkey(turn: &mut Turn, _: &[Bytes]) -> Replied {
    let slots = turn.instance.keyspace.slots().max(1);
    let from = (turn.somewhere() % slots) as Slot;
    let found = alive(turn, from).next().or_else(|| alive(turn, 0).next());
    Ok(found.map_or(Reply::Nil, |(_, key)| Reply::Bulk(key)))
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
        let Some(cursor) = numbers::cursor(cursor) else { return refuse("ERR invalid cursor") };
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
    turn.session.database = database(&words[1])?;
    Ok(Reply::ok())
}

/// Read as a C `int` (`src/db.c` `selectCommand`).
fn database(word: &Bytes) -> Result<u8, Refusal> {
    let Ok(database) = i32::try_from(number(word)?) else {
        return refuse("ERR value is out of range, value must between -2147483648 and 2147483647");
    };
    match u8::try_from(database).ok().filter(|database| *database < DATABASES) {
        Some(database) => Ok(database),
        None => refuse("ERR DB index is out of range"),
    }
}

/// `COPY` (`src/db.c` `copyCommand`).
pub fn copy(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let home = turn.session.database;
    let (mut to, mut replaces) = (home, false);
    let mut rest = words[3..].iter();
    while let Some(option) = rest.next() {
        match lower(option).as_str() {
            "replace" => replaces = true,
            "db" => match rest.next() {
                Some(word) => to = database(word)?,
                None => return refuse(SYNTAX),
            },
            _ => return refuse(SYNTAX),
        }
    }
    if words[1] == words[2] && home == to {
        return refuse("ERR source and destination objects are the same");
    }
    let Some(entry) = turn.find(&words[1]).cloned() else { return Ok(Reply::Integer(0)) };
    turn.session.database = to;
    let is_copied = replaces || !turn.has(&words[2]);
    if is_copied {
        turn.remove(&words[2]);
        turn.put(&words[2], entry.content, entry.dies);
        turn.event(Class::Generic, "copy_to", &words[2]);
    }
    turn.session.database = home;
    Ok(Reply::truth(is_copied))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn a_key_is_copied_with_its_time_to_live() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("SET a 1"), "+OK");
        for (line, said) in [
            ("COPY a b", ":1"),
            ("GET b", "$1 1"),
            ("COPY a b", ":0"),
            ("COPY a b REPLACE", ":1"),
            ("COPY none c", ":0"),
            ("COPY a a", "-ERR source and destination objects are the same"),
            ("COPY a a DB 0", "-ERR source and destination objects are the same"),
            ("COPY a a DB 1", ":1"),
            ("COPY a a DB 1", ":0"),
            ("COPY a a REPLACE DB 0 DB 2", ":1"),
            ("DBSIZE", ":2"),
            ("COPY a b DB 16", "-ERR DB index is out of range"),
            ("COPY a b DB -1", "-ERR DB index is out of range"),
            ("COPY a b DB x", "-ERR value is not an integer or out of range"),
            (
                "COPY a b DB 99999999999",
                "-ERR value is out of range, value must between -2147483648 and 2147483647",
            ),
            ("COPY a b DB", "-ERR syntax error"),
            ("COPY a b FOO", "-ERR syntax error"),
            ("RPUSH l x y", ":2"),
            ("EXPIREAT l 99999999999", ":1"),
            ("COPY l m", ":1"),
            ("LRANGE m 0 -1", "*2 $1 x $1 y"),
            ("EXPIRETIME m", ":99999999999"),
            ("SELECT 2", "+OK"),
            ("GET a", "$1 1"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }

    #[test]
    fn whoever_asks_for_any_key_or_member_does_not_hear_of_one_only() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for number in 0..600 {
            assert_eq!(client.line(&format!("SET k{number} x")), "+OK");
            assert_eq!(client.line(&format!("SADD s m{number}")), ":1");
        }
        assert_eq!(client.line("DEL k0 k1 k2"), ":3");
        let different = |line: &str| {
            let said: std::collections::BTreeSet<String> = (0..60).map(|_| client.line(line)).collect();
            assert!(said.iter().all(|said| said.starts_with('$')), "{said:?}");
            said.len()
        };
        for line in ["RANDOMKEY", "SRANDMEMBER s", "SPOP s"] {
            assert!(different(line) > 30, "{line}: {}", different(line));
        }
        assert_eq!(
            client.line("SCARD s").trim_start_matches(':').parse(),
            Ok(600 - 60),
            "each is taken once"
        );
        assert!(client.line("SRANDMEMBER s -5").starts_with("*5"));
        assert!(client.line("SRANDMEMBER s 5000").starts_with("*540"));
        assert_eq!(
            (client.line("SPOP none"), client.line("SPOP none 3")),
            ("$-1".to_owned(), "*0".to_owned())
        );
    }

    #[test]
    fn a_cursor_below_zero_is_behind_all_keys() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("SET a 1"), "+OK");
        for (line, said) in [
            ("SCAN 0", "*2 $1 0 *1 $1 a"),
            ("SCAN ", "*2 $1 0 *1 $1 a"),
            ("SCAN -1", "*2 $1 0 *0"),
            ("SCAN +5", "*2 $1 0 *0"),
            ("SCAN x", "-ERR invalid cursor"),
            ("SCAN 1x", "-ERR invalid cursor"),
            ("SSCAN none -1", "*2 $1 0 *0"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
