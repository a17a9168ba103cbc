//! Commands on lists, and what waits for them.

use super::strings::range;
use crate::serve::redis::events::Class;
use crate::serve::redis::numbers::float;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::Content;
use crate::serve::redis::turn::{Refusal, Replied, SYNTAX, Turn, Within, lower, number, refuse};
use bytes::Bytes;
use std::collections::VecDeque;

/// Changes a list that is there.
fn edit<T>(turn: &mut Turn, key: &Bytes, change: impl FnOnce(&mut VecDeque<Bytes>) -> T) -> Option<T> {
    let place = turn.place(key);
    turn.instance.keyspace.edit(&place, turn.cx, |content| match content {
        Content::List(list) => change(list),
        _ => unreachable!("its type was looked at"),
    })
}

fn push_one(turn: &mut Turn, key: &Bytes, value: Bytes, is_left: bool) {
    turn.edit(key, Content::List(VecDeque::new()), |content| match content {
        Content::List(list) if is_left => list.push_front(value),
        Content::List(list) => list.push_back(value),
        _ => unreachable!("its type was looked at"),
    });
}

/// `LPUSH`, `RPUSH`, `LPUSHX`, `RPUSHX`.
pub fn push(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let is_there = turn.list(&words[1])?.is_some();
    if name.ends_with('x') && !is_there {
        return Ok(Reply::Integer(0));
    }
    for value in &words[2..] {
        push_one(turn, &words[1], value.clone(), name.starts_with('l'));
    }
    turn.event(Class::List, if name.starts_with('l') { "lpush" } else { "rpush" }, &words[1]);
    llen(turn, words)
}

pub fn llen(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.list(&words[1])?.map_or(0, |list| list.len() as i64)))
}

fn pop_one(turn: &mut Turn, key: &Bytes, is_left: bool) -> Result<Option<Bytes>, Refusal> {
    if turn.list(key)?.is_none() {
        return Ok(None);
    }
    let popped = edit(turn, key, |list| if is_left { list.pop_front() } else { list.pop_back() });
    Ok(popped.flatten())
}

fn pop_event(is_left: bool) -> &'static str {
    if is_left { "lpop" } else { "rpop" }
}

/// Pops one element, of which is told.
fn taken(turn: &mut Turn, key: &Bytes, is_left: bool) -> Result<Option<Bytes>, Refusal> {
    let popped = pop_one(turn, key, is_left)?;
    if popped.is_some() {
        turn.lost(Class::List, pop_event(is_left), key);
    }
    Ok(popped)
}

/// `LPOP`, `RPOP`.
pub fn pop(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_left = lower(&words[0]) == "lpop";
    match &words[2..] {
        [] => Ok(taken(turn, &words[1], is_left)?.map_or(Reply::Nil, Reply::Bulk)),
        [count] => {
            let Some(count) = number(count).ok().and_then(|count| usize::try_from(count).ok()) else {
                return refuse("ERR value is out of range, must be positive");
            };
            if turn.list(&words[1])?.is_none() {
                return Ok(Reply::NoArray);
            }
            let mut popped = Vec::new();
            while popped.len() < count {
                let Some(value) = pop_one(turn, &words[1], is_left)? else { break };
                popped.push(value);
            }
            if !popped.is_empty() {
                turn.lost(Class::List, pop_event(is_left), &words[1]);
            }
            Ok(Reply::strings(popped))
        }
        _ => refuse(crate::serve::redis::turn::wrong_number(&lower(&words[0]))),
    }
}

pub fn lrange(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (start, end) = (number(&words[2])?, number(&words[3])?);
    let Some(list) = turn.list(&words[1])? else { return Ok(Reply::Array(Vec::new())) };
    Ok(Reply::strings(list.range(range(start, end, list.len())).cloned()))
}

pub fn ltrim(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (start, end) = (number(&words[2])?, number(&words[3])?);
    let Some(length) = turn.list(&words[1])?.map(VecDeque::len) else { return Ok(Reply::ok()) };
    let kept = range(start, end, length);
    edit(turn, &words[1], |list| {
        list.truncate(kept.end);
        list.drain(..kept.start.min(list.len()));
    });
    turn.lost(Class::List, "ltrim", &words[1]);
    Ok(Reply::ok())
}

fn index(place: i64, length: usize) -> Option<usize> {
    let place = if place < 0 { place + length as i64 } else { place };
    usize::try_from(place).ok().filter(|place| *place < length)
}

pub fn lindex(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let Some(list) = turn.list(&words[1])? else { return Ok(Reply::Nil) };
    let place = index(number(&words[2])?, list.len());
    Ok(place.and_then(|place| list.get(place)).cloned().map_or(Reply::Nil, Reply::Bulk))
}

pub fn lset(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let Some(length) = turn.list(&words[1])?.map(VecDeque::len) else { return refuse("ERR no such key") };
    let Some(place) = index(number(&words[2])?, length) else { return refuse("ERR index out of range") };
    edit(turn, &words[1], |list| list[place] = words[3].clone());
    turn.event(Class::List, "lset", &words[1]);
    Ok(Reply::ok())
}

pub fn lrem(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let count = number(&words[2])?;
    let Some(list) = turn.list(&words[1])? else { return Ok(Reply::Integer(0)) };
    let most = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let equal = list.iter().enumerate().filter(|(_, value)| **value == words[3]).map(|(place, _)| place);
    let gone: Vec<usize> = match count < 0 {
        true => equal.collect::<Vec<_>>().into_iter().rev().take(most).collect(),
        false => equal.take(most).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    if !gone.is_empty() {
        // The last ones first: the places of the others stay.
        edit(turn, &words[1], |list| gone.iter().for_each(|place| drop(list.remove(*place))));
        turn.lost(Class::List, "lrem", &words[1]);
    }
    Ok(Reply::Integer(gone.len() as i64))
}

/// `LINSERT` (`src/t_list.c` `linsertCommand`).
pub fn linsert(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let behind = match lower(&words[2]).as_str() {
        "before" => 0,
        "after" => 1,
        _ => return refuse(SYNTAX),
    };
    let Some(list) = turn.list(&words[1])? else { return Ok(Reply::Integer(0)) };
    let Some(place) = list.iter().position(|value| *value == words[3]) else {
        return Ok(Reply::Integer(-1));
    };
    edit(turn, &words[1], |list| list.insert(place + behind, words[4].clone()));
    turn.event(Class::List, "linsert", &words[1]);
    llen(turn, words)
}

/// What `LPOS` can be told.
struct Sought {
    /// With which match it begins, from 1 on; below zero they are counted from the back.
    rank: i64,
    /// How many are wanted (0: all); `None`: one, and not in an array.
    count: Option<usize>,
    /// How many elements are looked at (0: all).
    looked_at_max: usize,
}

impl Sought {
    fn read(options: &[Bytes]) -> Result<Sought, Refusal> {
        let mut sought = Sought { rank: 1, count: None, looked_at_max: 0 };
        let positive = |word: &Bytes, name: &str| match number(word).map(usize::try_from) {
            Ok(Ok(count)) => Ok(count),
            _ => refuse(format!("ERR {name} can't be negative")),
        };
        for option in options.chunks(2) {
            let [name, value] = option else { return refuse(SYNTAX) };
            match lower(name).as_str() {
                "rank" => sought.rank = number(value)?,
                "count" => sought.count = Some(positive(value, "COUNT")?),
                "maxlen" => sought.looked_at_max = positive(value, "MAXLEN")?,
                _ => return refuse(SYNTAX),
            }
            if sought.rank == 0 {
                return refuse(
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                     negative to start from the end of the list",
                );
            }
        }
        Ok(sought)
    }

    /// The places of an element.
    fn places_of(&self, element: &Bytes, list: &VecDeque<Bytes>) -> Vec<Reply> {
        let most = |count: usize| if count == 0 { usize::MAX } else { count };
        let skipped = usize::try_from(self.rank.unsigned_abs() - 1).unwrap_or(usize::MAX);
        let place = |place: usize| Reply::Integer(place as i64);
        let is_it = |(_, value): &(usize, &Bytes)| *value == element;
        let (looked_at, taken) = (most(self.looked_at_max), most(self.count.unwrap_or(1)));
        let all = list.iter().enumerate();
        match self.rank < 0 {
            true => {
                let found = all.rev().take(looked_at).filter(is_it).skip(skipped).take(taken);
                found.map(|(at, _)| place(at)).collect()
            }
            false => {
                let found = all.take(looked_at).filter(is_it).skip(skipped).take(taken);
                found.map(|(at, _)| place(at)).collect()
            }
        }
    }
}

/// `LPOS` (`src/t_list.c` `lposCommand`).
pub fn lpos(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let sought = Sought::read(&words[3..])?;
    let found = turn.list(&words[1])?.map_or_else(Vec::new, |list| sought.places_of(&words[2], list));
    Ok(match sought.count {
        Some(_) => Reply::Array(found),
        None => found.into_iter().next().unwrap_or(Reply::Nil),
    })
}

fn side(word: &Bytes) -> Result<bool, Refusal> {
    match lower(word).as_str() {
        "left" => Ok(true),
        "right" => Ok(false),
        _ => refuse(SYNTAX),
    }
}

/// Moves an element from one end of a list to one of its ends. The list is never empty meanwhile: the key and its time to live stay.
fn turned(list: &mut VecDeque<Bytes>, (from_left, to_left): (bool, bool)) -> Option<Bytes> {
    let value = if from_left { list.pop_front()? } else { list.pop_back()? };
    match to_left {
        true => list.push_front(value.clone()),
        false => list.push_back(value.clone()),
    }
    Some(value)
}

fn shift(turn: &mut Turn, from: &Bytes, to: &Bytes, sides: (bool, bool)) -> Result<Option<Bytes>, Refusal> {
    if turn.list(from)?.is_none() {
        return Ok(None);
    }
    turn.list(to)?;
    let moved = if from == to {
        edit(turn, from, |list| turned(list, sides)).flatten()
    } else {
        let popped = pop_one(turn, from, sides.0)?;
        popped.inspect(|value| push_one(turn, to, value.clone(), sides.1))
    };
    let Some(value) = moved else { return Ok(None) };
    turn.event(Class::List, if sides.1 { "lpush" } else { "rpush" }, to);
    turn.lost(Class::List, pop_event(sides.0), from);
    Ok(Some(value))
}

/// `RPOPLPUSH`, `LMOVE`.
pub fn lmove(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let sides = match &words[3..] {
        [from, to] => (side(from)?, side(to)?),
        _ => (false, true),
    };
    Ok(shift(turn, &words[1], &words[2], sides)?.map_or(Reply::Nil, Reply::Bulk))
}

/// `BRPOPLPUSH`, `BLMOVE`.
pub fn blmove(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (sides, timeout) = match &words[3..] {
        [from, to, timeout] => ((side(from)?, side(to)?), timeout),
        rest => ((false, true), &rest[0]),
    };
    let timeout_ms = timeout_ms(timeout)?;
    match shift(turn, &words[1], &words[2], sides)? {
        Some(value) => Ok(Reply::Bulk(value)),
        // Whoever waits in vain is told so as by `BLPOP` (`src/blocked.c` `replyToBlockedClientOnTimeout`).
        None if turn.within == Within::Itself => turn.block(&words[1..2], timeout_ms, Reply::NoArray),
        None => Ok(Reply::Nil),
    }
}

/// `BLPOP`, `BRPOP`.
pub fn bpop(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_left = lower(&words[0]) == "blpop";
    let (keys, timeout) = (&words[1..words.len() - 1], &words[words.len() - 1]);
    let timeout_ms = timeout_ms(timeout)?;
    for key in keys {
        if let Some(value) = taken(turn, key, is_left)? {
            return Ok(Reply::strings([key.clone(), value]));
        }
    }
    turn.block(keys, timeout_ms, Reply::NoArray)
}

/// Seconds, perhaps with a fraction (`src/timeout.c` `getTimeoutFromObjectOrReply`).
pub fn timeout_ms(word: &Bytes) -> Result<u64, Refusal> {
    match float(word).map(|seconds| (seconds * 1_000.0).ceil()) {
        Some(ms) if ms < 0.0 => refuse("ERR timeout is negative"),
        Some(ms) if ms < i64::MAX as f64 => Ok(ms as u64),
        Some(_) => refuse("ERR timeout is out of range"),
        None => refuse("ERR timeout is not a float or out of range"),
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn an_element_is_put_beside_another() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("RPUSH l a b c b"), ":4");
        assert_eq!(client.line("SET s 1"), "+OK");
        for (line, said) in [
            ("LINSERT l BEFORE b x", ":5"),
            ("LINSERT l after c y", ":6"),
            ("LRANGE l 0 -1", "*6 $1 a $1 x $1 b $1 c $1 y $1 b"),
            ("LINSERT l BEFORE none x", ":-1"),
            ("LINSERT none BEFORE a x", ":0"),
            ("LINSERT none MIDDLE a x", "-ERR syntax error"),
            ("LINSERT s BEFORE a x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }

    #[test]
    fn an_element_is_found() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("RPUSH l a x b c y b"), ":6");
        for (line, said) in [
            ("LPOS l b", ":2"),
            ("LPOS l b RANK 2", ":5"),
            ("LPOS l b RANK -1", ":5"),
            ("LPOS l b RANK 3", "$-1"),
            ("LPOS l b RANK 3 COUNT 2", "*0"),
            ("LPOS l b COUNT 0", "*2 :2 :5"),
            ("LPOS l b COUNT 1", "*1 :2"),
            ("LPOS l b RANK -1 COUNT 0", "*2 :5 :2"),
            ("LPOS l b MAXLEN 2", "$-1"),
            ("LPOS l b MAXLEN 3", ":2"),
            ("LPOS l b RANK -1 MAXLEN 1", ":5"),
            ("LPOS l none", "$-1"),
            ("LPOS l none COUNT 0", "*0"),
            ("LPOS none b", "$-1"),
            ("LPOS none b COUNT 1", "*0"),
            ("LPOS l b COUNT -1", "-ERR COUNT can't be negative"),
            ("LPOS l b MAXLEN x", "-ERR MAXLEN can't be negative"),
            ("LPOS l b RANK x", "-ERR value is not an integer or out of range"),
            (
                "LPOS none b RANK 0",
                "-ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                 negative to start from the end of the list",
            ),
            ("LPOS l b RANK", "-ERR syntax error"),
            ("LPOS l b FOO 1", "-ERR syntax error"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
