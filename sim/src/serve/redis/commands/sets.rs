//! Commands on sets.

use super::keys::Scan;
use crate::serve::redis::events::Class;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::Content;
use crate::serve::redis::turn::{Refusal, Replied, Turn, lower, number, refuse};
use bytes::Bytes;
use std::collections::BTreeSet;

pub fn sadd(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(add(turn, &words[1], &words[2..])?))
}

/// How many there were not.
fn add(turn: &mut Turn, key: &Bytes, new: &[Bytes]) -> Result<i64, Refusal> {
    let known = turn.set(key)?;
    if known.is_some_and(|known| new.iter().all(|member| known.contains(member))) {
        return Ok(0);
    }
    let count = turn.edit(key, Content::Set(BTreeSet::new()), |content| match content {
        Content::Set(members) => new.iter().filter(|member| members.insert((*member).clone())).count(),
        _ => unreachable!("its type was looked at"),
    });
    turn.event(Class::Set, "sadd", key);
    Ok(count as i64)
}

/// `SMOVE` (`src/t_set.c` `smoveCommand`).
pub fn smove(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (from, to, member) = (&words[1], &words[2], &words[3..4]);
    let Some(known) = turn.set(from)? else { return Ok(Reply::Integer(0)) };
    let is_there = known.contains(&member[0]);
    turn.set(to)?;
    if is_there && from != to {
        remove(turn, from, member, "srem")?;
        add(turn, to, member)?;
    }
    Ok(Reply::truth(is_there))
}

pub fn srem(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(remove(turn, &words[1], &words[2..], "srem")?))
}

/// How many there were.
fn remove(turn: &mut Turn, key: &Bytes, gone: &[Bytes], event: &'static str) -> Result<i64, Refusal> {
    let known = turn.set(key)?;
    if !known.is_some_and(|known| gone.iter().any(|member| known.contains(member))) {
        return Ok(0);
    }
    let place = turn.place(key);
    let count = turn.instance.keyspace.edit(&place, turn.cx, |content| match content {
        Content::Set(members) => gone.iter().filter(|member| members.remove(*member)).count(),
        _ => unreachable!("its type was looked at"),
    });
    turn.lost(Class::Set, event, key);
    Ok(count.unwrap_or(0) as i64)
}

pub fn sismember(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::truth(turn.set(&words[1])?.is_some_and(|members| members.contains(&words[2]))))
}

pub fn smismember(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let members = turn.set(&words[1])?;
    let is_in = |member| Reply::truth(members.is_some_and(|members| members.contains(member)));
    Ok(Reply::Array(words[2..].iter().map(is_in).collect()))
}

pub fn smembers(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let members = turn.set(&words[1])?.into_iter().flatten();
    Ok(Reply::Set(members.cloned().map(Reply::Bulk).collect()))
}

pub fn scard(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.set(&words[1])?.map_or(0, |members| members.len() as i64)))
}

/// `SPOP`, `SRANDMEMBER`: other members each time, one after the other from somewhere on.
pub fn some(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let pops = lower(&words[0]) == "spop";
    let count = match &words[2..] {
        [] => None,
        [count] => Some(number(count)?),
        _ => return refuse("ERR syntax error"),
    };
    let most = count.map_or(1, i64::unsigned_abs) as usize;
    if pops && count.is_some_and(|count| count < 0) {
        return refuse("ERR value is out of range, must be positive");
    }
    let somewhere = turn.somewhere();
    let Some(members) = turn.set(&words[1])?.filter(|members| !members.is_empty()) else {
        return Ok(match count {
            None => Reply::Nil,
            Some(_) if pops => Reply::Set(Vec::new()),
            Some(_) => Reply::Array(Vec::new()),
        });
    };
    // With a count below zero members come again.
    let comes_again = count.is_some_and(|count| count < 0);
    let most = if comes_again { most } else { most.min(members.len()) };
    let (first, last) = (members.iter().skip(somewhere % members.len()), members.iter().cycle());
    let shown: Vec<Bytes> = first.chain(last).take(most).cloned().collect();
    if pops && !shown.is_empty() {
        remove(turn, &words[1], &shown, "spop")?;
    }
    Ok(match count {
        None => shown.into_iter().next().map_or(Reply::Nil, Reply::Bulk),
        Some(_) if pops => Reply::Set(shown.into_iter().map(Reply::Bulk).collect()),
        Some(_) => Reply::strings(shown),
    })
}

fn combined(turn: &mut Turn, how: &str, keys: &[Bytes]) -> Result<BTreeSet<Bytes>, Refusal> {
    let mut sets = Vec::new();
    for key in keys {
        sets.push(turn.set(key)?.cloned().unwrap_or_default());
    }
    let sets = sets.into_iter().reduce(|left, right| match how {
        "sinter" => left.intersection(&right).cloned().collect(),
        "sunion" => left.union(&right).cloned().collect(),
        _ => left.difference(&right).cloned().collect(),
    });
    Ok(sets.unwrap_or_default())
}

/// `SINTER`, `SUNION`, `SDIFF`.
pub fn combine(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let members = combined(turn, &lower(&words[0]), &words[1..])?;
    Ok(Reply::Set(members.into_iter().map(Reply::Bulk).collect()))
}

/// `SINTERSTORE`, `SUNIONSTORE`, `SDIFFSTORE`.
pub fn store(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let members = combined(turn, name.trim_end_matches("store"), &words[2..])?;
    let event = match name.as_str() {
        "sinterstore" => "sinterstore",
        "sunionstore" => "sunionstore",
        _ => "sdiffstore",
    };
    let count = members.len() as i64;
    turn.replace(&words[1], Content::Set(members), Class::Set, event);
    Ok(Reply::Integer(count))
}

/// All of it at once, as the real server shows a small one.
pub fn sscan(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let scan = Scan::read(&words[2], &words[3..], false)?;
    let members = turn.set(&words[1])?.into_iter().flatten().filter(|member| scan.admits(member));
    Ok(Reply::Array(vec![Reply::bulk("0"), Reply::strings(members.cloned())]))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn a_member_goes_to_another_set() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
        for (line, said) in [
            ("SADD a 1 2 3", ":3"),
            ("SADD b 3 4", ":2"),
            ("SET s 1", "+OK"),
            ("SMOVE a b 1", ":1"),
            ("SMOVE a b 9", ":0"),
            ("SMOVE none b 1", ":0"),
            ("SMOVE none s 1", ":0"),
            ("SMOVE a a 2", ":1"),
            ("SMOVE a a 9", ":0"),
            ("SMOVE a s 9", wrong),
            ("SMOVE s a 2", wrong),
            ("SMOVE a b 3", ":1"),
            ("SMEMBERS a", "*1 $1 2"),
            ("SMEMBERS b", "*3 $1 1 $1 3 $1 4"),
            ("SMOVE a c 2", ":1"),
            ("EXISTS a", ":0"),
            ("SMEMBERS c", "*1 $1 2"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
