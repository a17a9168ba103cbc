//! From where to where in a sorted set: by scores, or by names.

use crate::serve::redis::numbers::float_of_text;
use crate::serve::redis::store::{Score, Sorted};
use crate::serve::redis::turn::{Refusal, refuse};
use bytes::Bytes;

/// From a score to a score.
pub struct Scores {
    min: (f64, bool),
    max: (f64, bool),
}

impl Scores {
    /// `src/t_zset.c` `zslParseRange`.
    pub fn read(min: &Bytes, max: &Bytes) -> Result<Scores, Refusal> {
        let bound = |word: &Bytes| {
            let (text, is_open) = match word.strip_prefix(b"(") {
                Some(rest) => (rest, true),
                None => (&word[..], false),
            };
            match float_of_text(text) {
                Some(number) => Ok((number, is_open)),
                None => refuse("ERR min or max is not a float"),
            }
        };
        Ok(Scores { min: bound(min)?, max: bound(max)? })
    }

    pub fn admit(&self, score: Score) -> bool {
        let score = score.get();
        let above = if self.min.1 { score > self.min.0 } else { score >= self.min.0 };
        above && if self.max.1 { score < self.max.0 } else { score <= self.max.0 }
    }
}

/// From a name to a name. Members with one score are in the order of their names; if scores differ, the real server does not
/// say what is in a range.
pub struct Names {
    min: Edge,
    max: Edge,
}

enum Edge {
    /// `-`: before all names.
    Front,
    /// `+`: behind all names.
    Back,
    /// `[…`, or `(…` if it is open.
    Name { name: Bytes, is_open: bool },
}

impl Names {
    /// `src/t_zset.c` `zslParseLexRange`.
    pub fn read(min: &Bytes, max: &Bytes) -> Result<Names, Refusal> {
        let edge = |word: &Bytes| match word.first().copied() {
            Some(b'-') if word.len() == 1 => Ok(Edge::Front),
            Some(b'+') if word.len() == 1 => Ok(Edge::Back),
            Some(sign @ (b'(' | b'[')) => Ok(Edge::Name { name: word.slice(1..), is_open: sign == b'(' }),
            _ => refuse("ERR min or max not valid string range item"),
        };
        Ok(Names { min: edge(min)?, max: edge(max)? })
    }

    fn is_above(&self, member: &Bytes) -> bool {
        match &self.min {
            Edge::Front => true,
            Edge::Back => false,
            Edge::Name { name, is_open } => member > name || (!is_open && member == name),
        }
    }

    fn is_below(&self, member: &Bytes) -> bool {
        match &self.max {
            Edge::Front => false,
            Edge::Back => true,
            Edge::Name { name, is_open } => member < name || (!is_open && member == name),
        }
    }

    /// The members between.
    pub fn of<'a>(&self, sorted: &'a Sorted) -> impl DoubleEndedIterator<Item = &'a (Score, Bytes)> {
        sorted.iter().filter(move |(_, member)| self.is_above(member) && self.is_below(member))
    }
}
