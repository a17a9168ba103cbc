//! Commands on sorted sets.

use super::bounds::{Names, Scores};
use super::keys::Scan;
use super::lists::timeout_ms;
use super::strings::range;
use crate::serve::redis::events::Class;
use crate::serve::redis::numbers::{float, shortest};
use crate::serve::redis::reply::Reply;
use crate::serve::redis::store::{Content, Score, Sorted};
use crate::serve::redis::turn::{NOT_A_FLOAT, Refusal, Replied, SYNTAX, Turn, lower, number, refuse};
use bytes::Bytes;

fn edit<T>(turn: &mut Turn, key: &Bytes, change: impl FnOnce(&mut Sorted) -> T) -> T {
    turn.edit(key, Content::Sorted(Sorted::default()), |content| match content {
        Content::Sorted(sorted) => change(sorted),
        _ => unreachable!("its type was looked at"),
    })
}

fn score(word: &Bytes) -> Result<Score, Refusal> {
    float(word).and_then(Score::new).map_or_else(|| refuse(NOT_A_FLOAT), Ok)
}

fn said(score: Score) -> Reply {
    Reply::Double(score.get())
}

#[derive(Default)]
struct How {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    counts_changes: bool,
    increases: bool,
}

/// `ZADD`, `ZINCRBY` (`src/t_zset.c` `zaddGenericCommand`).
pub fn zadd(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let mut how = How { increases: lower(&words[0]) == "zincrby", ..How::default() };
    let mut at = 2;
    while let Some(word) = words.get(at).filter(|_| lower(&words[0]) == "zadd") {
        match lower(word).as_str() {
            "nx" => how.nx = true,
            "xx" => how.xx = true,
            "gt" => how.gt = true,
            "lt" => how.lt = true,
            "ch" => how.counts_changes = true,
            "incr" => how.increases = true,
            _ => break,
        }
        at += 1;
    }
    let pairs = &words[at..];
    if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
        return refuse(SYNTAX);
    }
    if how.nx && how.xx {
        return refuse("ERR XX and NX options at the same time are not compatible");
    }
    if [how.gt, how.lt, how.nx].into_iter().filter(|is_set| *is_set).count() > 1 {
        return refuse("ERR GT, LT, and/or NX options at the same time are not compatible");
    }
    if how.increases && pairs.len() > 2 {
        return refuse("ERR INCR option supports a single increment-element pair");
    }
    let scores: Vec<Score> = pairs.iter().step_by(2).map(score).collect::<Result<_, _>>()?;
    turn.sorted(&words[1])?;
    let (mut new, mut changed, mut last) = (0, 0, None);
    for (given, member) in scores.into_iter().zip(pairs.iter().skip(1).step_by(2)) {
        let before = turn.sorted(&words[1])?.and_then(|sorted| sorted.score(member));
        let sum = if how.increases { before.map_or(0.0, Score::get) + given.get() } else { given.get() };
        let Some(score) = Score::new(sum) else {
            return refuse("ERR resulting score is not a number (NaN)");
        };
        let is_held_back = match before {
            None => how.xx,
            Some(before) => how.nx || (how.gt && score <= before) || (how.lt && score >= before),
        };
        last = (!is_held_back).then_some(score);
        if is_held_back || before == Some(score) {
            continue;
        }
        edit(turn, &words[1], |sorted| sorted.insert(member.clone(), score));
        changed += 1;
        new += i64::from(before.is_none());
    }
    if changed > 0 {
        turn.event(Class::Sorted, if how.increases { "zincr" } else { "zadd" }, &words[1]);
    }
    Ok(match how.increases {
        true => last.map_or(Reply::Nil, said),
        false => Reply::Integer(if how.counts_changes { changed } else { new }),
    })
}

fn remove(turn: &mut Turn, key: &Bytes, members: &[Bytes], event: &'static str) -> Result<i64, Refusal> {
    let known = turn.sorted(key)?;
    if !known.is_some_and(|known| members.iter().any(|member| known.score(member).is_some())) {
        return Ok(0);
    }
    let gone = edit(turn, key, |sorted| members.iter().filter(|member| sorted.remove(member)).count());
    turn.lost(Class::Sorted, event, key);
    Ok(gone as i64)
}

pub fn zrem(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(remove(turn, &words[1], &words[2..], "zrem")?))
}

pub fn zscore(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(turn.sorted(&words[1])?.and_then(|sorted| sorted.score(&words[2])).map_or(Reply::Nil, said))
}

pub fn zmscore(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let sorted = turn.sorted(&words[1])?;
    let one = |member| sorted.and_then(|sorted| sorted.score(member)).map_or(Reply::Nil, said);
    Ok(Reply::Array(words[2..].iter().map(one).collect()))
}

pub fn zcard(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.sorted(&words[1])?.map_or(0, |sorted| sorted.len() as i64)))
}

/// `ZRANK`, `ZREVRANK`.
pub fn zrank(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_back = lower(&words[0]) == "zrevrank";
    let Some(sorted) = turn.sorted(&words[1])? else { return Ok(Reply::Nil) };
    let rank = sorted.iter().position(|(_, member)| *member == words[2]);
    let rank = rank.map(|rank| if is_back { sorted.len() - 1 - rank } else { rank });
    Ok(rank.map_or(Reply::Nil, |rank| Reply::Integer(rank as i64)))
}

fn listed(members: Vec<(Score, Bytes)>, with_scores: bool, turn: &Turn) -> Reply {
    let is_new = turn.session.version >= 3;
    let mut shown = Vec::new();
    for (score, member) in members {
        match (with_scores, is_new) {
            (true, true) => shown.push(Reply::Array(vec![Reply::Bulk(member), said(score)])),
            (true, false) => shown.extend([Reply::Bulk(member), said(score)]),
            (false, _) => shown.push(Reply::Bulk(member)),
        }
    }
    Reply::Array(shown)
}

/// What the ends of a range are.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum By {
    #[default]
    Rank,
    Score,
    Name,
}

/// As the command's name has it.
fn by(command: &str) -> By {
    if command.ends_with("byscore") {
        By::Score
    } else if command.ends_with("bylex") {
        By::Name
    } else {
        By::Rank
    }
}

/// What a range can be told.
#[derive(Default)]
struct Options {
    by: By,
    is_back: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

/// `ZRANGE`, `ZREVRANGE`, `ZRANGEBYSCORE`, `ZREVRANGEBYSCORE`, `ZRANGEBYLEX`, `ZREVRANGEBYLEX` (`src/t_zset.c`
/// `zrangeGenericCommand`).
pub fn zrange(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let mut how = Options { by: by(&name), is_back: name.starts_with("zrev"), ..Options::default() };
    let mut rest = words[4..].iter();
    while let Some(word) = rest.next() {
        match lower(word).as_str() {
            "withscores" => how.with_scores = true,
            "limit" => match (rest.next(), rest.next()) {
                (Some(offset), Some(count)) => how.limit = Some((number(offset)?, number(count)?)),
                _ => return refuse(SYNTAX),
            },
            "byscore" if name == "zrange" && how.by == By::Rank => how.by = By::Score,
            "bylex" if name == "zrange" && how.by == By::Rank => how.by = By::Name,
            "rev" if name == "zrange" && !how.is_back => how.is_back = true,
            _ => return refuse(SYNTAX),
        }
    }
    if how.limit.is_some_and(|(_, count)| count != -1) && how.by == By::Rank {
        return refuse(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        );
    }
    if how.with_scores && how.by == By::Name {
        return refuse("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    }
    let members = ranged(turn, words, &how)?;
    Ok(listed(members, how.with_scores, turn))
}

fn ranged(turn: &mut Turn, words: &[Bytes], how: &Options) -> Result<Vec<(Score, Bytes)>, Refusal> {
    // Backwards the last one is said first.
    let (first, last) = if how.is_back { (&words[3], &words[2]) } else { (&words[2], &words[3]) };
    match how.by {
        By::Rank => {
            let (start, end) = (number(&words[2])?, number(&words[3])?);
            let Some(sorted) = turn.sorted(&words[1])? else { return Ok(Vec::new()) };
            let range = range(start, end, sorted.len());
            let (skipped, taken) = (range.start, range.len());
            Ok(match how.is_back {
                true => sorted.iter().rev().skip(skipped).take(taken).cloned().collect(),
                false => sorted.iter().skip(skipped).take(taken).cloned().collect(),
            })
        }
        By::Score => {
            let scores = Scores::read(first, last)?;
            let Some(sorted) = turn.sorted(&words[1])? else { return Ok(Vec::new()) };
            Ok(limited(sorted.iter().filter(|(score, _)| scores.admit(*score)), how))
        }
        By::Name => {
            let names = Names::read(first, last)?;
            let Some(sorted) = turn.sorted(&words[1])? else { return Ok(Vec::new()) };
            Ok(limited(names.of(sorted), how))
        }
    }
}

fn limited<'a>(
    members: impl DoubleEndedIterator<Item = &'a (Score, Bytes)>,
    how: &Options,
) -> Vec<(Score, Bytes)> {
    let (offset, count) = how.limit.unwrap_or((0, -1));
    let Ok(offset) = usize::try_from(offset) else { return Vec::new() };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    match how.is_back {
        true => members.rev().skip(offset).take(count).cloned().collect(),
        false => members.skip(offset).take(count).cloned().collect(),
    }
}

pub fn zcount(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let scores = Scores::read(&words[2], &words[3])?;
    let sorted = turn.sorted(&words[1])?;
    let count = sorted.map_or(0, |sorted| sorted.iter().filter(|(score, _)| scores.admit(*score)).count());
    Ok(Reply::Integer(count as i64))
}

pub fn zlexcount(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let names = Names::read(&words[2], &words[3])?;
    let sorted = turn.sorted(&words[1])?;
    Ok(Reply::Integer(sorted.map_or(0, |sorted| names.of(sorted).count() as i64)))
}

/// `ZREMRANGEBYSCORE`, `ZREMRANGEBYRANK`, `ZREMRANGEBYLEX`.
pub fn zremrange(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let by = by(&lower(&words[0]));
    let members = ranged(turn, words, &Options { by, ..Options::default() })?;
    let members: Vec<Bytes> = members.into_iter().map(|(_, member)| member).collect();
    let event = match by {
        By::Rank => "zremrangebyrank",
        By::Score => "zremrangebyscore",
        By::Name => "zremrangebylex",
    };
    Ok(Reply::Integer(remove(turn, &words[1], &members, event)?))
}

fn popped(turn: &mut Turn, key: &Bytes, is_max: bool, most: usize) -> Result<Vec<(Score, Bytes)>, Refusal> {
    let Some(sorted) = turn.sorted(key)? else { return Ok(Vec::new()) };
    let members: Vec<(Score, Bytes)> = match is_max {
        true => sorted.iter().rev().take(most).cloned().collect(),
        false => sorted.iter().take(most).cloned().collect(),
    };
    let names: Vec<Bytes> = members.iter().map(|(_, member)| member.clone()).collect();
    remove(turn, key, &names, if is_max { "zpopmax" } else { "zpopmin" })?;
    Ok(members)
}

/// `ZPOPMIN`, `ZPOPMAX`.
pub fn zpop(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_max = lower(&words[0]) == "zpopmax";
    if words.len() > 3 {
        return refuse(SYNTAX);
    }
    match words.get(2) {
        None => {
            let members = popped(turn, &words[1], is_max, 1)?;
            let flat = members.into_iter().flat_map(|(score, member)| [Reply::Bulk(member), said(score)]);
            Ok(Reply::Array(flat.collect()))
        }
        Some(count) => {
            let Some(count) = number(count).ok().and_then(|count| usize::try_from(count).ok()) else {
                return refuse("ERR value is out of range, must be positive");
            };
            let members = popped(turn, &words[1], is_max, count)?;
            Ok(listed(members, true, turn))
        }
    }
}

/// `BZPOPMIN`, `BZPOPMAX`.
pub fn bzpop(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_max = lower(&words[0]) == "bzpopmax";
    let (keys, timeout) = (&words[1..words.len() - 1], &words[words.len() - 1]);
    let timeout_ms = timeout_ms(timeout)?;
    for key in keys {
        if let Some((score, member)) = popped(turn, key, is_max, 1)?.pop() {
            return Ok(Reply::Array(vec![Reply::Bulk(key.clone()), Reply::Bulk(member), said(score)]));
        }
    }
    turn.block(keys, timeout_ms, Reply::NoArray)
}

/// `ZINTERSTORE`, `ZUNIONSTORE`: of sorted sets and of sets, whose members have the score 1.
pub fn store(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let count = number(&words[2])?;
    if count < 1 {
        return refuse(format!("ERR at least 1 input key is needed for '{name}' command"));
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let Some(keys) = words[3..].get(..count) else { return refuse(SYNTAX) };
    let (weights, aggregate) = weighted(&words[3 + count..], count)?;
    let is_inter = name == "zinterstore";
    let mut sources = Vec::new();
    for (key, weight) in keys.iter().zip(weights) {
        let members: Vec<(Bytes, f64)> = match turn.find(key).map(|entry| &entry.content) {
            None => Vec::new(),
            Some(Content::Set(members)) => members.iter().map(|member| (member.clone(), weight)).collect(),
            Some(Content::Sorted(sorted)) => {
                sorted.iter().map(|(score, member)| (member.clone(), score.get() * weight)).collect()
            }
            Some(_) => return refuse(crate::serve::redis::turn::WRONG_TYPE),
        };
        sources.push(members);
    }
    // The smallest first. An infinity without a weight is no number, which is zero: but for the later ones of those that
    // must have the member in common (`src/t_zset.c` `zunionInterDiffGenericCommand`).
    sources.sort_by_key(Vec::len);
    let mut sum: Option<Vec<(Bytes, f64)>> = None;
    for mut members in sources {
        if !is_inter || sum.is_none() {
            members.iter_mut().filter(|(_, score)| score.is_nan()).for_each(|(_, score)| *score = 0.0);
        }
        sum = Some(match sum {
            None => members,
            Some(before) => joined(before, members, is_inter, &aggregate),
        });
    }
    let mut sorted = Sorted::default();
    for (member, score) in sum.unwrap_or_default() {
        sorted.insert(
            member,
            Score::new(score).or_else(|| Score::new(0.0)).unwrap_or_else(|| unreachable!("zero")),
        );
    }
    let count = sorted.len() as i64;
    let event = if is_inter { "zinterstore" } else { "zunionstore" };
    turn.replace(&words[1], Content::Sorted(sorted), Class::Sorted, event);
    Ok(Reply::Integer(count))
}

fn weighted(options: &[Bytes], count: usize) -> Result<(Vec<f64>, String), Refusal> {
    let (mut weights, mut aggregate, mut rest) = (vec![1.0; count], "sum".to_owned(), options);
    while let Some((option, after)) = rest.split_first() {
        rest = match lower(option).as_str() {
            "weights" if after.len() >= count => {
                for (weight, word) in weights.iter_mut().zip(after) {
                    *weight = float(word).map_or_else(|| refuse("ERR weight value is not a float"), Ok)?;
                }
                &after[count..]
            }
            "aggregate" => match after.split_first().map(|(how, rest)| (lower(how), rest)) {
                Some((how, rest)) if matches!(how.as_str(), "sum" | "min" | "max") => {
                    aggregate = how;
                    rest
                }
                _ => return refuse(SYNTAX),
            },
            _ => return refuse(SYNTAX),
        };
    }
    Ok((weights, aggregate))
}

fn joined(
    before: Vec<(Bytes, f64)>,
    members: Vec<(Bytes, f64)>,
    is_inter: bool,
    aggregate: &str,
) -> Vec<(Bytes, f64)> {
    let mut others: std::collections::BTreeMap<Bytes, f64> = members.into_iter().collect();
    let mut joined = Vec::new();
    for (member, score) in before {
        match others.remove(&member) {
            Some(other) => {
                let score = match aggregate {
                    "min" => score.min(other),
                    "max" => score.max(other),
                    // Infinities of both signs make zero.
                    _ if (score + other).is_nan() => 0.0,
                    _ => score + other,
                };
                joined.push((member, score));
            }
            None if !is_inter => joined.push((member, score)),
            None => {}
        }
    }
    if !is_inter {
        joined.extend(others);
    }
    joined
}

/// All of it at once, as the real server shows a small one.
pub fn zscan(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let scan = Scan::read(&words[2], &words[3..], false)?;
    let mut shown = Vec::new();
    for (score, member) in turn.sorted(&words[1])?.into_iter().flat_map(Sorted::iter) {
        if scan.admits(member) {
            shown.extend([Reply::Bulk(member.clone()), Reply::bulk(shortest(score.get()))]);
        }
    }
    Ok(Reply::Array(vec![Reply::bulk("0"), Reply::Array(shown)]))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    const NO_NAME: &str = "-ERR min or max not valid string range item";

    #[test]
    fn ranges_of_names_have_open_and_closed_ends() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("ZADD z 0 a 0 b 0 c 0 d 0 e"), ":5");
        assert_eq!(client.line("SET s 1"), "+OK");
        for (line, said) in [
            ("ZLEXCOUNT z - +", ":5"),
            ("ZLEXCOUNT z [b [d", ":3"),
            ("ZLEXCOUNT z (b (d", ":1"),
            ("ZLEXCOUNT z [b [b", ":1"),
            ("ZLEXCOUNT z (b [b", ":0"),
            ("ZLEXCOUNT z [d [b", ":0"),
            ("ZLEXCOUNT z + -", ":0"),
            ("ZLEXCOUNT z - -", ":0"),
            ("ZLEXCOUNT z ( [", ":0"),
            ("ZLEXCOUNT none - +", ":0"),
            ("ZLEXCOUNT none b +", NO_NAME),
            ("ZLEXCOUNT z - +x", NO_NAME),
            ("ZRANGEBYLEX z - (c LIMIT 1 1", "*1 $1 b"),
            ("ZRANGEBYLEX z - + LIMIT -1 1", "*0"),
            ("ZREVRANGEBYLEX z [c -", "*3 $1 c $1 b $1 a"),
            ("ZREVRANGEBYLEX z - +", "*0"),
            ("ZRANGE z + - BYLEX REV LIMIT 1 2", "*2 $1 d $1 c"),
            (
                "ZRANGE z - + BYLEX WITHSCORES",
                "-ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ),
            ("ZRANGE z - + BYLEX BYSCORE", "-ERR syntax error"),
            ("ZRANGEBYSCORE z 0 1 BYLEX", "-ERR syntax error"),
            ("ZRANGE z 0 1 BYLEX", NO_NAME),
            ("ZRANGE s - + BYLEX", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("ZREMRANGEBYLEX z [b (d", ":2"),
            ("ZRANGE z 0 -1", "*3 $1 a $1 d $1 e"),
            ("ZREMRANGEBYLEX z - +", ":3"),
            ("EXISTS z", ":0"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }

    #[test]
    fn bounds_are_read_as_c_reads_them() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("ZADD z 0 a 1 b 0x10 c"), ":3");
        for (min, said) in [
            ("", ":3"),
            ("(", ":2"),
            (" 1", ":2"),
            ("0x10", ":1"),
            ("1 ", "-ERR min or max is not a float"),
            ("1x", "-ERR min or max is not a float"),
            ("nan", "-ERR min or max is not a float"),
        ] {
            assert_eq!(client.say(&["ZCOUNT", "z", min, "+inf"]).as_deref(), Some(said), "{min}");
        }
    }

    #[test]
    fn one_count_is_popped() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("ZADD z 0 a 1 b"), ":2");
        for (line, said) in [
            ("ZPOPMIN z 1 x", "-ERR syntax error"),
            ("ZPOPMAX z x y", "-ERR syntax error"),
            ("ZPOPMIN none 1 2 3", "-ERR syntax error"),
            ("ZPOPMIN z -1", "-ERR value is out of range, must be positive"),
            ("ZPOPMAX z 1", "*2 $1 b $1 1"),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
