//! Commands on hashes.

use super::keys::Scan;
use crate::serve::redis::events::Class;
use crate::serve::redis::numbers::{float, human, integer};
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::Content;
use crate::serve::redis::turn::{NOT_A_FLOAT, Replied, Turn, lower, number, refuse, wrong_number};
use bytes::Bytes;
use std::collections::BTreeMap;

fn write(turn: &mut Turn, key: &Bytes, field: Bytes, value: Bytes) -> Option<Bytes> {
    turn.edit(key, Content::Hash(BTreeMap::new()), |content| match content {
        Content::Hash(fields) => fields.insert(field, value),
        _ => unreachable!("its type was looked at"),
    })
}

fn field(turn: &mut Turn, words: &[Bytes]) -> Result<Option<Bytes>, crate::serve::redis::turn::Refusal> {
    Ok(turn.hash(&words[1])?.and_then(|fields| fields.get(&words[2]).cloned()))
}

pub fn hset(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    if !words.len().is_multiple_of(2) {
        return refuse(wrong_number(&name));
    }
    turn.hash(&words[1])?;
    let mut new = 0;
    for pair in words[2..].chunks_exact(2) {
        new += i64::from(write(turn, &words[1], pair[0].clone(), pair[1].clone()).is_none());
    }
    turn.event(Class::Hash, "hset", &words[1]);
    Ok(if name == "hmset" { Reply::ok() } else { Reply::Integer(new) })
}

pub fn hsetnx(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_free = field(turn, words)?.is_none();
    if is_free {
        write(turn, &words[1], words[2].clone(), words[3].clone());
        turn.event(Class::Hash, "hset", &words[1]);
    }
    Ok(Reply::truth(is_free))
}

pub fn hget(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(field(turn, words)?.map_or(Reply::Nil, Reply::Bulk))
}

pub fn hmget(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let fields = turn.hash(&words[1])?;
    let value = |name| fields.and_then(|fields| fields.get(name)).cloned().map_or(Reply::Nil, Reply::Bulk);
    Ok(Reply::Array(words[2..].iter().map(value).collect()))
}

pub fn hdel(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let there =
        turn.hash(&words[1])?.is_some_and(|fields| words[2..].iter().any(|name| fields.contains_key(name)));
    if !there {
        return Ok(Reply::Integer(0));
    }
    let place = turn.place(&words[1]);
    let gone = turn.instance.keyspace.edit(&place, turn.cx, |content| match content {
        Content::Hash(fields) => words[2..].iter().filter(|name| fields.remove(*name).is_some()).count(),
        _ => unreachable!("its type was looked at"),
    });
    turn.lost(Class::Hash, "hdel", &words[1]);
    Ok(Reply::Integer(gone.unwrap_or(0) as i64))
}

pub fn hexists(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::truth(field(turn, words)?.is_some()))
}

pub fn hstrlen(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(field(turn, words)?.map_or(0, |value| value.len() as i64)))
}

pub fn hlen(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.hash(&words[1])?.map_or(0, |fields| fields.len() as i64)))
}

/// `HKEYS`, `HVALS`.
pub fn halves(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_keys = lower(&words[0]) == "hkeys";
    let fields = turn.hash(&words[1])?.into_iter().flatten();
    Ok(Reply::strings(fields.map(|(name, value)| if is_keys { name } else { value }.clone())))
}

pub fn hgetall(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let fields = turn.hash(&words[1])?.into_iter().flatten();
    Ok(Reply::Map(
        fields.map(|(name, value)| (Reply::Bulk(name.clone()), Reply::Bulk(value.clone()))).collect(),
    ))
}

pub fn hincrby(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let by = number(&words[3])?;
    let old = match field(turn, words)?.map(|value| integer(&value)) {
        None => 0,
        Some(Some(old)) => old,
        Some(None) => return refuse("ERR hash value is not an integer"),
    };
    let Some(new) = old.checked_add(by) else { return refuse("ERR increment or decrement would overflow") };
    write(turn, &words[1], words[2].clone(), new.to_string().into());
    turn.event(Class::Hash, "hincrby", &words[1]);
    Ok(Reply::Integer(new))
}

/// `HINCRBYFLOAT` (`src/t_hash.c` `hincrbyfloatCommand`); of the numbers `INCRBYFLOAT` says more.
pub fn hincrbyfloat(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let Some(by) = float(&words[3]) else { return refuse(NOT_A_FLOAT) };
    if !by.is_finite() {
        return refuse("ERR value is NaN or Infinity");
    }
    let old = match field(turn, words)?.map(|value| float(&value)) {
        None => 0.0,
        Some(Some(old)) => old,
        Some(None) => return refuse("ERR hash value is not a float"),
    };
    if !(old + by).is_finite() {
        return refuse("ERR increment would produce NaN or Infinity");
    }
    let text = Bytes::from(human(old + by));
    write(turn, &words[1], words[2].clone(), text.clone());
    turn.event(Class::Hash, "hincrbyfloat", &words[1]);
    Ok(Reply::Bulk(text))
}

/// All of it at once, as the real server shows a small one.
pub fn hscan(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let scan = Scan::read(&words[2], &words[3..], false)?;
    let fields = turn.hash(&words[1])?.into_iter().flatten().filter(|(name, _)| scan.admits(name));
    let shown = Reply::strings(fields.flat_map(|(name, value)| [name.clone(), value.clone()]));
    Ok(Reply::Array(vec![Reply::bulk("0"), shown]))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn a_field_is_increased_by_a_fraction() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for (line, said) in [
            ("HSET h f 10.5 t abc", ":2"),
            ("HINCRBYFLOAT h f 0.1", "$4 10.6"),
            ("HGET h f", "$4 10.6"),
            ("HINCRBYFLOAT h g 5.0e3", "$4 5000"),
            ("HINCRBYFLOAT h q 1e20", "$21 100000000000000000000"),
            ("HINCRBYFLOAT h z 1e-5", "$7 0.00001"),
            ("HINCRBYFLOAT h y 3.00", "$1 3"),
            ("HINCRBYFLOAT h f x", "-ERR value is not a valid float"),
            ("HINCRBYFLOAT h f nan", "-ERR value is not a valid float"),
            ("HINCRBYFLOAT h f inf", "-ERR value is NaN or Infinity"),
            ("HINCRBYFLOAT h t 1", "-ERR hash value is not a float"),
            ("SET s 1", "+OK"),
            ("HINCRBYFLOAT s t 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
