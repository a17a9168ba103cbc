//! What a key holds.

use super::text::Text;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};

/// What a key holds. A collection that has become empty is no content: its key goes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Content {
    /// A string.
    Text(Text),
    /// Fields with their values. The real server keeps few of them in the order in which they came; here they are in order.
    Hash(BTreeMap<Bytes, Bytes>),
    /// The left end first.
    List(VecDeque<Bytes>),
    /// Its members, in order, which is none of the real server's.
    Set(BTreeSet<Bytes>),
    /// Members with scores.
    Sorted(Sorted),
}

impl Content {
    /// A string.
    pub fn text(bytes: impl Into<Bytes>) -> Content {
        Content::Text(bytes.into().into())
    }

    /// As `TYPE` says it.
    pub fn kind(&self) -> &'static str {
        match self {
            Content::Text(_) => "string",
            Content::Hash(_) => "hash",
            Content::List(_) => "list",
            Content::Set(_) => "set",
            Content::Sorted(_) => "zset",
        }
    }

    /// Whether it is a collection of nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Content::Text(_) => false,
            Content::Hash(fields) => fields.is_empty(),
            Content::List(list) => list.is_empty(),
            Content::Set(members) => members.is_empty(),
            Content::Sorted(sorted) => sorted.len() == 0,
        }
    }
}

/// A sorted set. A rank is found by counting.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Sorted {
    scores: BTreeMap<Bytes, Score>,
    order: BTreeSet<(Score, Bytes)>,
}

impl Sorted {
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    pub fn score(&self, member: &Bytes) -> Option<Score> {
        self.scores.get(member).copied()
    }

    /// Its score before.
    pub fn insert(&mut self, member: Bytes, score: Score) -> Option<Score> {
        let before = self.scores.insert(member.clone(), score);
        if let Some(before) = before {
            self.order.remove(&(before, member.clone()));
        }
        self.order.insert((score, member));
        before
    }

    /// Whether it was there.
    pub fn remove(&mut self, member: &Bytes) -> bool {
        let Some(score) = self.scores.remove(member) else { return false };
        self.order.remove(&(score, member.clone()))
    }

    /// The least score first, and of equal ones the least member.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(Score, Bytes)> + ExactSizeIterator {
        self.order.iter()
    }
}

/// A member's place in a sorted set: no NaN, and no zero below zero.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Score(f64);

impl Score {
    /// `None`: it is no number.
    pub fn new(score: f64) -> Option<Score> {
        // The zero below zero becomes zero.
        (!score.is_nan()).then_some(Score(score + 0.0))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Score) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Score {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
