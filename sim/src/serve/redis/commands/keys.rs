//! Commands on keys.

use super::{NOT_AN_INTEGER, Refusal, Replied, SYNTAX, bulk, entered, number, ok, refuse, replied};
use crate::serve::redis::visit::Visit;
use bytes::Bytes;
use picklock_model::stores::redis::{Command, Key, Millis, Outcome, Value};
use redis_protocol::resp2::types::BytesFrame;

pub(super) fn run(name: &str, arguments: &[Bytes], visit: &mut Visit) -> Replied {
    match name {
        "set" => set(arguments, visit),
        "setnx" => {
            let options = Options { if_absent: true, ..Options::default() };
            let was_set = write(&arguments[0], &arguments[1], &options, visit)? == ok();
            Ok(BytesFrame::Integer(was_set.into()))
        }
        "setex" | "psetex" => {
            let unit = if name == "setex" { 1_000 } else { 1 };
            let ttl = lifetime(name, number(&arguments[1])?, unit, None)?;
            write(&arguments[0], &arguments[2], &Options { ttl: Some(ttl), ..Options::default() }, visit)
        }
        "getset" => {
            let options = Options { returns_old: true, ..Options::default() };
            write(&arguments[0], &arguments[1], &options, visit)
        }
        "get" => replied(Command::Get(key(&arguments[0], visit)), visit),
        "getdel" => {
            let key = key(&arguments[0], visit);
            let was = replied(Command::Get(key), visit)?;
            if was != BytesFrame::Null {
                entered(Command::Del(key), visit)?;
            }
            Ok(was)
        }
        "mget" => {
            let values = arguments.iter().map(|name| {
                let key = key(name, visit);
                replied(Command::Get(key), visit)
            });
            Ok(BytesFrame::Array(values.collect::<Result<_, _>>()?))
        }
        "strlen" => Ok(BytesFrame::Integer(match get(&arguments[0], visit)? {
            Some(value) => visit.state.desk.names.bytes(value).len() as i64,
            None => 0,
        })),
        "del" | "unlink" => {
            counted(arguments, visit, |key, visit| match entered(Command::Del(key), visit)? {
                Outcome::Integer(number) => Ok(number),
                other => unreachable!("a deletion is answered with a number, not {other:?}"),
            })
        }
        "exists" => counted(arguments, visit, |key, visit| {
            Ok(i64::from(entered(Command::Get(key), visit)? != Outcome::Nil))
        }),
        "ttl" | "pttl" => {
            let is_there = get(&arguments[0], visit)?.is_some();
            let key = key(&arguments[0], visit);
            Ok(BytesFrame::Integer(match visit.look(key).filter(|_| is_there) {
                None => -2,
                Some((_, None)) => -1,
                // `src/expire.c` `ttlGenericCommand`: rounded to the nearest second.
                Some((_, Some(left))) if name == "ttl" => (left.max(0) + 500) / 1_000,
                Some((_, Some(left))) => left.max(0),
            }))
        }
        "persist" => {
            get(&arguments[0], visit)?;
            let key = key(&arguments[0], visit);
            let Some((value, Some(_))) = visit.look(key) else { return Ok(BytesFrame::Integer(0)) };
            entered(Command::Set { key, value, if_absent: false, ttl: None }, visit)?;
            Ok(BytesFrame::Integer(1))
        }
        "expire" | "pexpire" => {
            if let Some(option) = arguments.get(2) {
                return refuse(format!("ERR Unsupported option {}", String::from_utf8_lossy(option)));
            }
            let unit = if name == "expire" { 1_000 } else { 1 };
            let Some(ttl) = number(&arguments[1])?.checked_mul(unit) else { return invalid_time(name) };
            let key = key(&arguments[0], visit);
            replied(Command::PExpire(key, Millis(ttl)), visit)
        }
        "incr" => replied(Command::Incr(key(&arguments[0], visit)), visit),
        "incrby" => increase(&arguments[0], number(&arguments[1])?, visit),
        "flushall" | "flushdb" => match arguments {
            [] => replied(Command::FlushAll, visit),
            [how] if how.eq_ignore_ascii_case(b"async") || how.eq_ignore_ascii_case(b"sync") => {
                replied(Command::FlushAll, visit)
            }
            _ => refuse(SYNTAX),
        },
        other => unreachable!("{other} is no command on keys"),
    }
}

pub(super) fn key(name: &Bytes, visit: &mut Visit) -> Key {
    visit.state.desk.names.key(name)
}

/// What a key holds, asked as a client asks.
pub(super) fn get(name: &Bytes, visit: &mut Visit) -> Result<Option<Value>, Refusal> {
    match entered(Command::Get(key(name, visit)), visit)? {
        Outcome::Bulk(value) => Ok(Some(value)),
        Outcome::Nil => Ok(None),
        other => unreachable!("GET is not answered with {other:?}"),
    }
}

fn counted(
    names: &[Bytes],
    visit: &mut Visit,
    mut each: impl FnMut(Key, &mut Visit) -> Result<i64, Refusal>,
) -> Replied {
    let mut count = 0;
    for name in names {
        let key = key(name, visit);
        count += each(key, visit)?;
    }
    Ok(BytesFrame::Integer(count))
}

/// What `SET` can be told beside key and value.
#[derive(Default)]
struct Options {
    if_absent: bool,
    if_present: bool,
    returns_old: bool,
    keeps_ttl: bool,
    ttl: Option<Millis>,
}

fn set(arguments: &[Bytes], visit: &mut Visit) -> Replied {
    let mut options = Options::default();
    let mut rest = arguments[2..].iter();
    let mut times = 0;
    while let Some(option) = rest.next() {
        let name = String::from_utf8_lossy(option).to_lowercase();
        match name.as_str() {
            "nx" => options.if_absent = true,
            "xx" => options.if_present = true,
            "get" => options.returns_old = true,
            "keepttl" => options.keeps_ttl = true,
            "ex" | "px" | "exat" | "pxat" => {
                let Some(time) = rest.next() else { return refuse(SYNTAX) };
                let unit = if name.starts_with('e') { 1_000 } else { 1 };
                let since = name.ends_with("at").then(|| visit.unix_micros().div_euclid(1_000));
                options.ttl = Some(lifetime("set", number(time)?, unit, since)?);
                times += 1;
            }
            _ => return refuse(SYNTAX),
        }
    }
    if (options.if_absent && options.if_present) || times > 1 || (times > 0 && options.keeps_ttl) {
        return refuse(SYNTAX);
    }
    write(&arguments[0], &arguments[1], &options, visit)
}

/// A time to live; `since`: it is a moment of the server's clock.
fn lifetime(command: &str, time: i64, unit: i64, since: Option<i64>) -> Result<Millis, Refusal> {
    let ttl = time.checked_mul(unit).filter(|_| time > 0);
    match ttl.and_then(|ttl| ttl.checked_sub(since.unwrap_or(0))) {
        Some(ttl) => Ok(Millis(ttl)),
        None => invalid_time(command),
    }
}

fn invalid_time<T>(command: &str) -> Result<T, Refusal> {
    refuse(format!("ERR invalid expire time in '{command}' command"))
}

fn write(name: &Bytes, bytes: &Bytes, options: &Options, visit: &mut Visit) -> Replied {
    let (key, value) = (key(name, visit), visit.state.desk.names.value(bytes));
    let needs_old = options.returns_old || options.if_present || options.keeps_ttl;
    let old = if needs_old { get(name, visit)? } else { None };
    let old_ttl = visit.look(key).and_then(|(_, left)| left);
    let is_held_back =
        (options.if_present && old.is_none()) || (options.if_absent && needs_old && old.is_some());
    let outcome = match is_held_back {
        true => Outcome::Nil,
        false => set_until(key, value, options, old_ttl, visit)?,
    };
    match (options.returns_old, outcome) {
        (true, _) => Ok(old.map_or(BytesFrame::Null, |old| bulk(visit.state.desk.names.bytes(old)))),
        (false, Outcome::Nil) => Ok(BytesFrame::Null),
        (false, _) => Ok(ok()),
    }
}

fn set_until(
    key: Key,
    value: Value,
    options: &Options,
    old_ttl: Option<i64>,
    visit: &mut Visit,
) -> Result<Outcome, Refusal> {
    let ttl = if options.keeps_ttl { old_ttl.map(|left| Millis(left.max(1))) } else { options.ttl };
    match ttl {
        // A moment that has passed: the key is there, and dead.
        Some(Millis(left)) if left <= 0 => {
            let set = Command::Set { key, value, if_absent: options.if_absent, ttl: None };
            let outcome = entered(set, visit)?;
            if outcome == Outcome::Ok {
                entered(Command::Del(key), visit)?;
            }
            Ok(outcome)
        }
        ttl => entered(Command::Set { key, value, if_absent: options.if_absent, ttl }, visit),
    }
}

/// `INCRBY`: the key's time to live stays.
fn increase(name: &Bytes, by: i64, visit: &mut Visit) -> Replied {
    let old = match get(name, visit)? {
        Some(Value::Integer(number)) => number,
        Some(Value::Token(_)) => return refuse(NOT_AN_INTEGER),
        None => 0,
    };
    let Some(new) = old.checked_add(by) else {
        return refuse("ERR increment or decrement would overflow");
    };
    let options = Options { keeps_ttl: true, ..Options::default() };
    write(name, &Bytes::from(new.to_string()), &options, visit)?;
    Ok(BytesFrame::Integer(new))
}
