//! `LCS`: the longest common subsequence of two strings (`src/t_string.c` `lcsCommand`).

use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Refusal, Replied, SYNTAX, Turn, lower, number, refuse};
use bytes::Bytes;

/// How many bytes the table may take (`proto-max-bulk-len`).
const TABLE_MAX_BYTES: u64 = 512 * 1024 * 1024;

#[derive(Default)]
struct Options {
    length: bool,
    ranges: bool,
    lengths_of_ranges: bool,
    /// Shorter ranges are not shown.
    least: usize,
}

impl Options {
    fn read(words: &[Bytes]) -> Result<Options, Refusal> {
        let mut options = Options::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match lower(word).as_str() {
                "len" => options.length = true,
                "idx" => options.ranges = true,
                "withmatchlen" => options.lengths_of_ranges = true,
                "minmatchlen" => match rest.next() {
                    Some(least) => options.least = usize::try_from(number(least)?).unwrap_or(0),
                    None => return refuse(SYNTAX),
                },
                _ => return refuse(SYNTAX),
            }
        }
        match options.length && options.ranges {
            true => refuse("ERR If you want both the length and indexes, please just use IDX."),
            false => Ok(options),
        }
    }
}

/// How long the longest common subsequence of the first bytes of both is, for each number of them.
struct Lengths {
    width: usize,
    of: Vec<u32>,
}

impl Lengths {
    fn new(one: &[u8], other: &[u8]) -> Lengths {
        let width = other.len() + 1;
        let mut lengths = Lengths { width, of: vec![0; (one.len() + 1) * width] };
        for (i, from_one) in one.iter().enumerate() {
            for (j, from_other) in other.iter().enumerate() {
                lengths.of[(i + 1) * width + j + 1] = match from_one == from_other {
                    true => lengths.get(i, j) + 1,
                    false => lengths.get(i, j + 1).max(lengths.get(i + 1, j)),
                };
            }
        }
        lengths
    }

    fn get(&self, i: usize, j: usize) -> u32 {
        self.of[i * self.width + j]
    }
}

/// A range of bytes that both have: where it begins in each, and how long it is.
struct Range {
    one: usize,
    other: usize,
    length: usize,
}

/// The subsequence, and the ranges that it is made of, the last one first.
fn trace(one: &[u8], other: &[u8], lengths: &Lengths) -> (Vec<u8>, Vec<Range>) {
    let (mut found, mut ranges) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (one.len(), other.len());
    let mut open: Option<Range> = None;
    while i > 0 && j > 0 {
        let mut ends = false;
        if one[i - 1] == other[j - 1] {
            found.push(one[i - 1]);
            match &mut open {
                None => open = Some(Range { one: i - 1, other: j - 1, length: 1 }),
                Some(range) if (range.one, range.other) == (i, j) => {
                    *range = Range { one: i - 1, other: j - 1, length: range.length + 1 };
                }
                Some(_) => ends = true,
            }
            ends |= open.as_ref().is_some_and(|range| range.one == 0 || range.other == 0);
            (i, j) = (i - 1, j - 1);
        } else {
            match lengths.get(i - 1, j) > lengths.get(i, j - 1) {
                true => i -= 1,
                false => j -= 1,
            }
            ends = true;
        }
        if ends {
            ranges.extend(open.take());
        }
    }
    ranges.extend(open);
    found.reverse();
    (found, ranges)
}

pub fn lcs(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let (Ok(one), Ok(other)) = (turn.text(&words[1]), turn.text(&words[2])) else {
        return refuse("ERR The specified keys must contain string values");
    };
    let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
    let options = Options::read(&words[3..])?;
    let size_bytes = 4 * (one.len() as u64 + 1) * (other.len() as u64 + 1);
    if size_bytes > TABLE_MAX_BYTES {
        return refuse("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
    }
    let lengths = Lengths::new(&one, &other);
    let length = Reply::Integer(lengths.get(one.len(), other.len()).into());
    if options.length {
        return Ok(length);
    }
    let (found, ranges) = trace(&one, &other, &lengths);
    if !options.ranges {
        return Ok(Reply::bulk(found));
    }
    let place = |start: usize, length: usize| {
        Reply::Array(vec![Reply::Integer(start as i64), Reply::Integer((start + length) as i64 - 1)])
    };
    let shown = ranges.iter().filter(|range| range.length >= options.least).map(|range| {
        let mut shown = vec![place(range.one, range.length), place(range.other, range.length)];
        shown.extend(options.lengths_of_ranges.then_some(Reply::Integer(range.length as i64)));
        Reply::Array(shown)
    });
    let matches = Reply::Array(shown.collect());
    Ok(Reply::Map(vec![(Reply::bulk("matches"), matches), (Reply::bulk("len"), length)]))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn the_longest_common_subsequence_is_found() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("MSET a ohmytext b mynewtext"), "+OK");
        for (line, said) in [
            ("LCS a b", "$6 mytext"),
            ("LCS a b LEN", ":6"),
            ("LCS a none", "$0"),
            ("LCS a b IDX", "*4 $7 matches *2 *2 *2 :4 :7 *2 :5 :8 *2 *2 :2 :3 *2 :0 :1 $3 len :6"),
            ("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN", "*4 $7 matches *1 *3 *2 :4 :7 *2 :5 :8 :4 $3 len :6"),
            ("LCS a b IDX LEN", "-ERR If you want both the length and indexes, please just use IDX."),
        ] {
            assert_eq!(client.line(line), said, "{line}");
        }
    }
}
