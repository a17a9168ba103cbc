//! Commands on strings.

use crate::serve::redis::events::Class;
use crate::serve::redis::numbers::{human, integer, wide_float};
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::Content;
use crate::serve::redis::turn::{
    NOT_A_FLOAT, NOT_AN_INTEGER, Refusal, Replied, SYNTAX, Turn, lower, number, refuse, wrong_number,
};
use bytes::Bytes;

pub fn get(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(turn.text(&words[1])?.map_or(Reply::Nil, Reply::Bulk))
}

/// What `SET` and `GETEX` can be told.
#[derive(Default)]
struct Options {
    if_absent: bool,
    if_present: bool,
    returns_old: bool,
    keeps_ttl: bool,
    persists: bool,
    /// The option, and the time that follows it.
    time: Option<(String, Bytes)>,
}

/// All options are read before a number is (`src/t_string.c` `parseExtendedStringArgumentsOrReply`).
fn options(words: &[Bytes], is_set: bool) -> Result<Options, Refusal> {
    let mut options = Options::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = lower(word);
        let fits = |options: &Options, name: &str| {
            !options.keeps_ttl
                && !options.persists
                && options.time.as_ref().is_none_or(|(before, _)| before == name)
        };
        match name.as_str() {
            "nx" if is_set && !options.if_present => options.if_absent = true,
            "xx" if is_set && !options.if_absent => options.if_present = true,
            "get" if is_set => options.returns_old = true,
            "keepttl" if is_set && !options.persists && options.time.is_none() => options.keeps_ttl = true,
            "persist" if !is_set && options.time.is_none() => options.persists = true,
            "ex" | "px" | "exat" | "pxat" if fits(&options, &name) => match rest.next() {
                Some(time) => options.time = Some((name, time.clone())),
                None => return refuse(SYNTAX),
            },
            _ => return refuse(SYNTAX),
        }
    }
    Ok(options)
}

/// The last millisecond of a life (`src/t_string.c` `getExpireMillisecondsOrReply`).
fn death(command: &str, option: &str, time: &Bytes, now_ms: i64) -> Result<i64, Refusal> {
    let time = number(time)?;
    let unit = if option.starts_with('e') { 1_000 } else { 1 };
    let base = if option.ends_with("at") { 0 } else { now_ms };
    let at = time.checked_mul(unit).and_then(|time| time.checked_add(base));
    match at.filter(|at| time > 0 && *at > 0) {
        Some(at) => Ok(at),
        None => invalid_time(command),
    }
}

pub fn invalid_time<T>(command: &str) -> Result<T, Refusal> {
    refuse(format!("ERR invalid expire time in '{command}' command"))
}

pub fn set(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let options = options(&words[3..], true)?;
    let now = turn.now_ms();
    let time = options.time.as_ref();
    let mut dies = time.map(|(option, time)| death("set", option, time, now)).transpose()?;
    let old = match options.returns_old {
        true => turn.text(&words[1])?.map_or(Reply::Nil, Reply::Bulk),
        false => Reply::Nil,
    };
    let is_there = turn.has(&words[1]);
    if (options.if_absent && is_there) || (options.if_present && !is_there) {
        return Ok(old);
    }
    if options.keeps_ttl {
        dies = turn.dies(&words[1]);
    }
    turn.put(&words[1], Content::text(words[2].clone()), dies);
    turn.event(Class::String, "set", &words[1]);
    if options.time.is_some() {
        turn.event(Class::Generic, "expire", &words[1]);
    }
    Ok(if options.returns_old { old } else { Reply::ok() })
}

pub fn setnx(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_free = !turn.has(&words[1]);
    if is_free {
        turn.put(&words[1], Content::text(words[2].clone()), None);
        turn.event(Class::String, "set", &words[1]);
    }
    Ok(Reply::truth(is_free))
}

pub fn setex(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let option = if name == "setex" { "ex" } else { "px" };
    let dies = death(&name, option, &words[2], turn.now_ms())?;
    turn.put(&words[1], Content::text(words[3].clone()), Some(dies));
    turn.event(Class::String, "set", &words[1]);
    turn.event(Class::Generic, "expire", &words[1]);
    Ok(Reply::ok())
}

pub fn getset(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let old = get(turn, words)?;
    turn.put(&words[1], Content::text(words[2].clone()), None);
    turn.event(Class::String, "set", &words[1]);
    Ok(old)
}

pub fn getdel(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let old = get(turn, words)?;
    if turn.remove(&words[1]) {
        turn.event(Class::Generic, "del", &words[1]);
    }
    Ok(old)
}

pub fn getex(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let options = options(&words[2..], false)?;
    let value = get(turn, words)?;
    if value == Reply::Nil {
        return Ok(value);
    }
    let (now, place) = (turn.now_ms(), turn.place(&words[1]));
    match options.time {
        Some((option, time)) => {
            let at = death("getex", &option, &time, now)?;
            // A moment that has passed (`src/t_string.c` `getexCommand`).
            match option.ends_with("at") && at <= now {
                true => {
                    turn.remove(&words[1]);
                    turn.event(Class::Generic, "del", &words[1]);
                }
                false => {
                    turn.instance.keyspace.set_death(&place, Some(at), turn.cx);
                    turn.event(Class::Generic, "expire", &words[1]);
                }
            }
        }
        None if options.persists && turn.dies(&words[1]).is_some() => {
            turn.instance.keyspace.set_death(&place, None, turn.cx);
            turn.event(Class::Generic, "persist", &words[1]);
        }
        None => {}
    }
    Ok(value)
}

pub fn mget(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let value = |key| turn.text(key).ok().flatten().map_or(Reply::Nil, Reply::Bulk);
    Ok(Reply::Array(words[1..].iter().map(value).collect()))
}

pub fn mset(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    if words.len().is_multiple_of(2) {
        return refuse(wrong_number(&name));
    }
    let pairs = words[1..].chunks_exact(2);
    if name == "msetnx" && pairs.clone().any(|pair| turn.has(&pair[0])) {
        return Ok(Reply::Integer(0));
    }
    for pair in pairs {
        turn.put(&pair[0], Content::text(pair[1].clone()), None);
        turn.event(Class::String, "set", &pair[0]);
    }
    Ok(if name == "msetnx" { Reply::Integer(1) } else { Reply::ok() })
}

pub fn strlen(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.text(&words[1])?.map_or(0, |text| text.len() as i64)))
}

pub fn append(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (old, dies) = (turn.text(&words[1])?.unwrap_or_default(), turn.dies(&words[1]));
    let text = Bytes::from([old, words[2].clone()].concat());
    let length = text.len() as i64;
    turn.put(&words[1], Content::text(text), dies);
    turn.event(Class::String, "append", &words[1]);
    Ok(Reply::Integer(length))
}

pub fn getrange(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (start, end) = (number(&words[2])?, number(&words[3])?);
    let text = turn.text(&words[1])?.unwrap_or_default();
    // Unlike a list, which ends before its front (`src/t_string.c` `getrangeCommand`).
    let end = if end < 0 && start <= end || start >= 0 { end.max(-(text.len() as i64)) } else { end };
    let range = range(start, end, text.len());
    Ok(Reply::Bulk(text.slice(range)))
}

/// The longest string there may be (`proto-max-bulk-len`).
const TEXT_MAX_BYTES: i64 = 512 * 1024 * 1024;

/// `SETRANGE` (`src/t_string.c` `setrangeCommand`).
pub fn setrange(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (offset, piece) = (number(&words[2])?, &words[3]);
    if offset < 0 {
        return refuse("ERR offset is out of range");
    }
    let old = turn.text(&words[1])?.unwrap_or_default();
    if piece.is_empty() {
        return Ok(Reply::Integer(old.len() as i64));
    }
    let end = offset.saturating_add(piece.len() as i64);
    if end > TEXT_MAX_BYTES {
        return refuse("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    }
    let (mut text, start, end) = (Vec::from(old), offset as usize, end as usize);
    text.resize(text.len().max(end), 0);
    text[start..end].copy_from_slice(piece);
    let (dies, length) = (turn.dies(&words[1]), text.len() as i64);
    turn.put(&words[1], Content::text(text), dies);
    turn.event(Class::String, "setrange", &words[1]);
    Ok(Reply::Integer(length))
}

/// In which byte a bit is, and what that byte is if only this bit is set (`src/bitops.c` `getBitOffsetFromArgument`).
fn bit(word: &Bytes) -> Result<(usize, u8), Refusal> {
    match integer(word).filter(|offset| *offset >= 0 && *offset >> 3 < TEXT_MAX_BYTES) {
        Some(offset) => Ok(((offset >> 3) as usize, 0x80 >> (offset & 7))),
        None => refuse("ERR bit offset is not an integer or out of range"),
    }
}

pub fn getbit(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (byte, mask) = bit(&words[2])?;
    let text = turn.text(&words[1])?.unwrap_or_default();
    Ok(Reply::truth(text.get(byte).is_some_and(|byte| byte & mask != 0)))
}

/// `SETBIT` (`src/bitops.c` `setbitCommand`).
pub fn setbit(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (byte, mask) = bit(&words[2])?;
    let is_on = match integer(&words[3]) {
        Some(0) => false,
        Some(1) => true,
        _ => return refuse("ERR bit is not an integer or out of range"),
    };
    let mut text = Vec::from(turn.text(&words[1])?.unwrap_or_default());
    let (was_there, was_on) = (text.len() > byte, text.get(byte).is_some_and(|byte| byte & mask != 0));
    if !was_there || was_on != is_on {
        text.resize(text.len().max(byte + 1), 0);
        text[byte] = if is_on { text[byte] | mask } else { text[byte] & !mask };
        let dies = turn.dies(&words[1]);
        turn.put(&words[1], Content::text(text), dies);
        turn.event(Class::String, "setbit", &words[1]);
    }
    Ok(Reply::truth(was_on))
}

/// `BITCOUNT` (`src/bitops.c` `bitcountCommand`).
pub fn bitcount(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let Some(text) = turn.text(&words[1])? else { return Ok(Reply::Integer(0)) };
    // The first place and the last one, and how many bits a place has.
    let (first, last, bits) = match &words[2..] {
        [] => (0, -1, 8),
        [first, last, unit @ ..] if unit.len() < 2 => {
            let (first, last) = (number(first)?, number(last)?);
            if first < 0 && last < 0 && first > last {
                return Ok(Reply::Integer(0));
            }
            match unit {
                [] => (first, last, 8),
                [unit] if unit.eq_ignore_ascii_case(b"byte") => (first, last, 8),
                [unit] if unit.eq_ignore_ascii_case(b"bit") => (first, last, 1),
                _ => return refuse(SYNTAX),
            }
        }
        _ => return refuse(SYNTAX),
    };
    let length = text.len() as i64 * 8 / bits;
    let from_front = |place: i64| if place < 0 { place.saturating_add(length).max(0) } else { place };
    let (first, last) = (from_front(first), from_front(last).min(length - 1));
    if first > last {
        return Ok(Reply::Integer(0));
    }
    let (first, last) = ((first * bits) as usize, (last * bits + bits - 1) as usize);
    let bytes = &text[first / 8..=last / 8];
    let front = bytes[0] & !(0xff_u8 >> (first % 8));
    let back = bytes[bytes.len() - 1] & (0x7f_u8 >> (last % 8));
    let all: i64 = bytes.iter().map(|byte| i64::from(byte.count_ones())).sum();
    Ok(Reply::Integer(all - i64::from(front.count_ones()) - i64::from(back.count_ones())))
}

/// Places from the front, or from the back if below zero; the last one is in it.
pub fn range(start: i64, end: i64, length: usize) -> std::ops::Range<usize> {
    let length = length as i64;
    let absolute = |place: i64| if place < 0 { place.saturating_add(length).max(0) } else { place };
    // A range that ends before the front is empty (`src/t_list.c` `lrangeCommand`).
    let (start, end) = (absolute(start), if end < -length { -1 } else { absolute(end) });
    let end = end.saturating_add(1).min(length);
    if start >= end { 0..0 } else { start as usize..end as usize }
}

/// `INCR`, `DECR`, `INCRBY`, `DECRBY`. The key's time to live stays.
pub fn increase(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let by = match (lower(&words[0]).as_str(), words.get(2)) {
        ("incr", _) => 1,
        ("decr", _) => -1,
        ("decrby", Some(by)) => match number(by)?.checked_neg() {
            Some(by) => by,
            None => return refuse("ERR decrement would overflow"),
        },
        (_, Some(by)) => number(by)?,
        (_, None) => return refuse(SYNTAX),
    };
    let old = match turn.text(&words[1])? {
        Some(text) => integer(&text).map_or_else(|| refuse(NOT_AN_INTEGER), Ok)?,
        None => 0,
    };
    let Some(new) = old.checked_add(by) else {
        return refuse("ERR increment or decrement would overflow");
    };
    let dies = turn.dies(&words[1]);
    turn.put(&words[1], Content::text(new.to_string()), dies);
    turn.event(Class::String, "incrby", &words[1]);
    Ok(Reply::Integer(new))
}

/// The real server adds numbers of 80 bits; here they have 64, so that the last digits may differ.
pub fn incrbyfloat(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let read = |text: &Bytes| wide_float(text).map_or_else(|| refuse(NOT_A_FLOAT), Ok);
    let old = turn.text(&words[1])?.map_or(Ok(0.0), |text| read(&text))?;
    let new = old + read(&words[2])?;
    if !new.is_finite() {
        // The real one has room for some of these (`1e400`).
        return refuse("ERR increment would produce NaN or Infinity");
    }
    let text = human(new);
    let dies = turn.dies(&words[1]);
    turn.put(&words[1], Content::text(text.clone()), dies);
    turn.event(Class::String, "incrbyfloat", &words[1]);
    Ok(Reply::bulk(text))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn a_number_that_has_room_in_80_bits_is_one() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let (too_large, none) =
            ("-ERR increment would produce NaN or Infinity", "-ERR value is not a valid float");
        for (by, said) in [
            ("1e400", too_large),
            ("-0.001e+4930", too_large),
            ("inf", too_large),
            ("1e5000", none),
            ("1000e4930", none),
            ("1e-5000", none),
            ("nan", none),
            ("1e400x", none),
            ("1e-400", "$1 0"),
            ("1.5", "$3 1.5"),
        ] {
            assert_eq!(client.line(&format!("INCRBYFLOAT k {by}")), said, "{by}");
        }
    }

    #[test]
    fn bits_are_counted() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("SET s foobar"), "+OK");
        for (line, said) in [
            ("BITCOUNT s", ":26"),
            ("BITCOUNT s 0 0", ":4"),
            ("BITCOUNT s 1 1 BYTE", ":6"),
            ("BITCOUNT s 5 30 BIT", ":17"),
            ("BITCOUNT s 5 -5 bit", ":23"),
            ("BITCOUNT s -3 -1", ":10"),
            ("BITCOUNT s -100 -50", ":4"),
            ("BITCOUNT s -2 -100", ":0"),
            ("BITCOUNT s 3 1", ":0"),
            ("BITCOUNT s 100 200", ":0"),
            ("BITCOUNT s 0 -100 BIT", ":0"),
            ("BITCOUNT s 47 47 BIT", ":0"),
            ("BITCOUNT s 48 50 BIT", ":0"),
            ("BITCOUNT s 0", "-ERR syntax error"),
            ("BITCOUNT s 0 1 FOO", "-ERR syntax error"),
            ("BITCOUNT s -1 -2 BIT 3", "-ERR syntax error"),
            ("BITCOUNT s 0 x", "-ERR value is not an integer or out of range"),
            ("BITCOUNT none 0 x", ":0"),
            ("RPUSH l a", ":1"),
            ("BITCOUNT l", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
