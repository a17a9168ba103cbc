//! `SORT`, `SORT_RO` (`src/sort.c`).
//!
//! Strings are compared byte by byte, as in the C locale. What is equal by its weight in `ALPHA` stays in its order.

use crate::serve::redis::events::Class;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::Content;
use crate::serve::redis::turn::{Refusal, Replied, SYNTAX, Turn, WRONG_TYPE, Within, lower, number, refuse};
use bytes::Bytes;
use std::cmp::Ordering;

/// What is asked for.
#[derive(Default)]
struct Order {
    descends: bool,
    is_alpha: bool,
    /// The first one, and how many; below zero: all.
    limit: Option<(i64, i64)>,
    by: Option<Bytes>,
    gets: Vec<Bytes>,
    store: Option<Bytes>,
}

impl Order {
    fn read(options: &[Bytes], read_only: bool) -> Result<Order, Refusal> {
        let mut order = Order::default();
        let mut rest = options;
        while let Some((option, after)) = rest.split_first() {
            rest = match (lower(option).as_str(), after) {
                ("asc", after) => {
                    order.descends = false;
                    after
                }
                ("desc", after) => {
                    order.descends = true;
                    after
                }
                ("alpha", after) => {
                    order.is_alpha = true;
                    after
                }
                ("limit", [start, count, after @ ..]) => {
                    order.limit = Some((number(start)?, number(count)?));
                    after
                }
                ("by", [pattern, after @ ..]) => {
                    order.by = Some(pattern.clone());
                    after
                }
                ("get", [pattern, after @ ..]) => {
                    order.gets.push(pattern.clone());
                    after
                }
                ("store", [key, after @ ..]) if !read_only => {
                    order.store = Some(key.clone());
                    after
                }
                _ => return refuse(SYNTAX),
            };
        }
        Ok(order)
    }

    /// Which of so many are wanted.
    fn range(&self, length: usize) -> std::ops::Range<usize> {
        let (start, count) = self.limit.unwrap_or((0, -1));
        let start = usize::try_from(start.max(0)).map_or(length, |start| start.min(length));
        let end = match usize::try_from(count) {
            Ok(count) => start.saturating_add(count).min(length),
            Err(_) => length,
        };
        start..end
    }
}

/// The weight of an element.
#[derive(Clone, PartialEq, Debug)]
enum Weight {
    Number(f64),
    /// `None`: there is no such key.
    Text(Option<Bytes>),
}

/// What is sorted, in its order; and whether that is none.
fn elements(turn: &mut Turn, key: &Bytes) -> Result<(Vec<Bytes>, bool), Refusal> {
    match turn.find(key).map(|entry| &entry.content) {
        None => Ok((Vec::new(), false)),
        Some(Content::List(list)) => Ok((list.iter().cloned().collect(), false)),
        Some(Content::Set(members)) => Ok((members.iter().cloned().collect(), true)),
        Some(Content::Sorted(sorted)) => {
            Ok((sorted.iter().map(|(_, member)| member.clone()).collect(), false))
        }
        Some(Content::Text(_) | Content::Hash(_)) => refuse(WRONG_TYPE),
    }
}

/// What a pattern names, with the element in the place of the first `*`: a string, or a field of a hash after `->`
/// (`src/sort.c` `lookupKeyByPattern`).
fn look_up(turn: &mut Turn, pattern: &Bytes, element: &Bytes) -> Option<Bytes> {
    if pattern.as_ref() == b"#" {
        return Some(element.clone());
    }
    let star = pattern.iter().position(|byte| *byte == b'*')?;
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = after.windows(2).position(|two| two == b"->").filter(|at| at + 2 < after.len());
    let (after, field) = match arrow {
        Some(at) => (&after[..at], Some(Bytes::copy_from_slice(&after[at + 2..]))),
        None => (after, None),
    };
    let key = Bytes::from([before, element, after].concat());
    match field {
        None => turn.text(&key).ok().flatten(),
        Some(field) => turn.hash(&key).ok().flatten()?.get(&field).cloned(),
    }
}

/// As `strtod` reads it, and all of it.
fn score(text: &Bytes) -> Result<f64, Refusal> {
    let number = std::str::from_utf8(text).unwrap_or("-").trim_start();
    let read = match text.is_empty() {
        true => Some(0.0),
        false => crate::serve::redis::numbers::float(number.as_bytes()),
    };
    match read {
        Some(score) if !score.is_nan() => Ok(score),
        _ => refuse("ERR One or more scores can't be converted into double"),
    }
}

fn weight(turn: &mut Turn, order: &Order, element: &Bytes) -> Result<Weight, Refusal> {
    let by = match &order.by {
        Some(pattern) => look_up(turn, pattern, element),
        None => Some(element.clone()),
    };
    match (order.is_alpha, by) {
        (true, by) => Ok(Weight::Text(by)),
        // There is no such key.
        (false, None) => Ok(Weight::Number(0.0)),
        (false, Some(by)) => Ok(Weight::Number(score(&by)?)),
    }
}

fn compare(one: &(Weight, Bytes), other: &(Weight, Bytes)) -> Ordering {
    match (&one.0, &other.0) {
        // Equal ones are in one order all the same.
        (Weight::Number(first), Weight::Number(second)) => {
            first.partial_cmp(second).unwrap_or(Ordering::Equal).then_with(|| one.1.cmp(&other.1))
        }
        (Weight::Text(first), Weight::Text(second)) => first.cmp(second),
        (Weight::Number(_), Weight::Text(_)) | (Weight::Text(_), Weight::Number(_)) => Ordering::Equal,
    }
}

/// The elements in the order that is asked for.
fn sorted(turn: &mut Turn, key: &Bytes, order: &mut Order) -> Result<Vec<Bytes>, Refusal> {
    let (mut elements, is_set) = elements(turn, key)?;
    let mut sorts = order.by.as_ref().is_none_or(|pattern| pattern.contains(&b'*'));
    let is_stored = order.store.is_some() || matches!(turn.within, Within::Script { .. });
    if !sorts && is_set && is_stored {
        // A set has no order, and what is kept of it has one.
        (sorts, order.is_alpha, order.by) = (true, true, None);
    }
    if !sorts {
        if order.descends && !is_set {
            elements.reverse();
        }
        return Ok(elements);
    }
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        weighed.push((weight(turn, order, &element)?, element));
    }
    weighed.sort_by(|one, other| match order.descends {
        true => compare(one, other).reverse(),
        false => compare(one, other),
    });
    Ok(weighed.into_iter().map(|(_, element)| element).collect())
}

pub fn sort(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let mut order = Order::read(&words[2..], lower(&words[0]) == "sort_ro")?;
    let elements = sorted(turn, &words[1], &mut order)?;
    let mut got: Vec<Option<Bytes>> = Vec::new();
    for element in &elements[order.range(elements.len())] {
        match order.gets.is_empty() {
            true => got.push(Some(element.clone())),
            false => got.extend(order.gets.iter().map(|pattern| look_up(turn, pattern, element))),
        }
    }
    let Some(store) = order.store else {
        return Ok(Reply::Array(got.into_iter().map(|one| one.map_or(Reply::Nil, Reply::Bulk)).collect()));
    };
    let count = got.len();
    // If there is nothing, the key goes.
    let list = Content::List(got.into_iter().map(Option::unwrap_or_default).collect());
    turn.replace(&store, list, Class::List, "sortstore");
    Ok(Reply::Integer(count as i64))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    fn client(lines: &[&str]) -> Direct {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for line in lines {
            let said = client.line(line);
            assert!(!said.starts_with('-'), "{line}: {said}");
        }
        client
    }

    #[test]
    fn elements_are_sorted_by_number_or_text() {
        let client = client(&["RPUSH l 3 10 1 2", "SADD s b a c", "ZADD z 1 9 2 8"]);
        for (line, said) in [
            ("SORT l", "*4 $1 1 $1 2 $1 3 $2 10"),
            ("SORT l DESC LIMIT 1 2", "*2 $1 3 $1 2"),
            ("SORT l ALPHA", "*4 $1 1 $2 10 $1 2 $1 3"),
            ("SORT_RO l LIMIT 9 1", "*0"),
            ("SORT l LIMIT -1 -1", "*4 $1 1 $1 2 $1 3 $2 10"),
            ("SORT l BY nosort DESC", "*4 $1 2 $1 1 $2 10 $1 3"),
            ("SORT l BY nosort LIMIT 1 1", "*1 $2 10"),
            ("SORT s ALPHA DESC", "*3 $1 c $1 b $1 a"),
            ("SORT s", "-ERR One or more scores can't be converted into double"),
            ("SORT z", "*2 $1 8 $1 9"),
            ("SORT z BY nosort", "*2 $1 9 $1 8"),
            ("SORT none", "*0"),
            ("SORT l LIMIT 1", "-ERR syntax error"),
            ("SORT l LIMIT 1 x", "-ERR value is not an integer or out of range"),
            ("SORT_RO l STORE m", "-ERR syntax error"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }

    #[test]
    fn weights_and_values_are_looked_up() {
        let client = client(&[
            "RPUSH l 1 2 3",
            "MSET w_1 30 w_2 20 t_1 b t_2 a v_1 one",
            "HSET h_1 f x",
            "HSET h_3 f w",
        ]);
        for (line, said) in [
            ("SORT l BY w_*", "*3 $1 3 $1 2 $1 1"),
            ("SORT l BY t_* ALPHA", "*3 $1 3 $1 2 $1 1"),
            ("SORT l BY h_*->f ALPHA GET # GET h_*->f", "*6 $1 2 $-1 $1 3 $1 w $1 1 $1 x"),
            ("SORT l GET v_* GET v", "*6 $3 one $-1 $-1 $-1 $-1 $-1"),
            ("SORT l GET v_* STORE m", ":3"),
            ("LRANGE m 0 -1", "*3 $3 one $0  $0"),
            ("SORT none STORE m", ":0"),
            ("EXISTS m", ":0"),
            ("SORT w_1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
