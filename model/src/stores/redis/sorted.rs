//! Sorted sets: the commands on them, and what a key holds that may be one.

use super::Settings;
use super::keyspace::{Keyspace, Record, Turn};
use super::protocol::{Key, Outcome, Score, ServerError, Token, Value};
use crate::machine::{Context, StampGroup, Visitor, put_in_order};
use crate::time::Due;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// What a key holds on a server: what [`Value`] says, or a sorted set. Written down as [`Value`] is, where it is one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Content {
    /// [`Value::Token`].
    Token(Token),
    /// [`Value::Integer`].
    Integer(i64),
    /// A sorted set, never empty. Boxed, as most keys hold none.
    Sorted(Box<Members>),
}

/// A sorted set, the least first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Members(Vec<Member>);

/// A member of a sorted set. They are ordered by score, and then by name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Never [`Score::After`].
    pub score: Score,
    /// What it is called.
    pub name: Token,
}

impl Content {
    /// The value, if it is no sorted set.
    pub(super) fn value(&self) -> Option<Value> {
        match self {
            Content::Token(token) => Some(Value::Token(*token)),
            Content::Integer(number) => Some(Value::Integer(*number)),
            Content::Sorted(_) => None,
        }
    }

    pub(super) fn visit<V: Visitor>(&mut self, key: Key, visitor: &mut V) {
        match self {
            Content::Token(token) => token.visit(visitor),
            Content::Integer(_) => {}
            Content::Sorted(members) => {
                for Member { score, name } in &mut members.0 {
                    score.visit(key, visitor);
                    name.visit(visitor);
                }
                put_in_order::<V, _, _>(&mut members.0, |Member { score, name }| (*score, *name));
            }
        }
    }
}

impl From<Value> for Content {
    fn from(value: Value) -> Content {
        match value {
            Value::Token(token) => Content::Token(token),
            Value::Integer(number) => Content::Integer(number),
        }
    }
}

impl Display for Content {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::Token(token) => write!(f, "{token}"),
            Content::Integer(number) => write!(f, "{number}"),
            Content::Sorted(members) => {
                f.write_str("{")?;
                members.0.iter().enumerate().try_for_each(|(place, Member { score, name })| {
                    write!(f, "{}{name}: {score}", if place == 0 { "" } else { ", " })
                })?;
                f.write_str("}")
            }
        }
    }
}

impl Token {
    /// Shows its number to `visitor`.
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial_of(&mut self.client, &mut self.serial);
    }
}

impl Score {
    /// What it comes to on a server whose clock shows this.
    fn settled(self, cx: &Context<Settings>) -> Score {
        match self {
            Score::Count(_) | Score::At(_) => self,
            Score::After(lapse) => Score::At(cx.wall + lapse),
        }
    }

    /// Times in one set are compared with each other.
    pub(super) fn visit<V: Visitor>(&mut self, key: Key, visitor: &mut V) {
        match self {
            Score::At(at) => visitor.stamp(StampGroup { space: 6, member: u32::from(key.word.0) }, at),
            Score::Count(_) | Score::After(_) => {}
        }
    }
}

impl Keyspace {
    /// A set's members and when it dies; an absent key is an empty set (`src/t_zset.c`).
    pub(super) fn members(
        &mut self,
        key: Key,
        cx: &Context<Settings>,
    ) -> Result<(Vec<Member>, Option<Due>), ServerError> {
        match self.live(key, cx) {
            None => Ok((Vec::new(), None)),
            Some(Record { content: Content::Sorted(members), dies, .. }) => Ok((members.0, dies)),
            Some(_) => Err(ServerError::WrongType),
        }
    }

    /// Puts the members in place of those before. The last one that goes takes the key with it (`src/t_zset.c`).
    fn put_members(&mut self, key: Key, members: Vec<Member>, dies: Option<Due>, turn: &mut Turn) {
        if members.is_empty() {
            self.remove(key, turn.by, turn);
        } else {
            let content = Content::Sorted(Box::new(Members(members)));
            self.put(Record { key, content, dies }, turn);
        }
    }

    /// `ZADD`: 1 if the member is new, 0 if it only has another score now.
    pub(super) fn add_member(
        &mut self,
        key: Key,
        score: Score,
        name: Token,
        turn: &mut Turn,
    ) -> Result<Outcome, ServerError> {
        let (mut members, dies) = self.members(key, turn.cx)?;
        let before = members.len();
        members.retain(|member| member.name != name);
        let is_new = members.len() == before;
        let member = Member { score: score.settled(turn.cx), name };
        members.insert(members.partition_point(|other| *other < member), member);
        self.put_members(key, members, dies, turn);
        Ok(Outcome::Integer(is_new.into()))
    }

    /// `ZREM`, `ZREMRANGEBYSCORE key -inf upto`, `ZINTERSTORE`: keeps some; how many went.
    pub(super) fn keep_members(
        &mut self,
        key: Key,
        is_kept: impl Fn(&Member, &Context<Settings>) -> bool,
        turn: &mut Turn,
    ) -> Result<i64, ServerError> {
        let (mut members, dies) = self.members(key, turn.cx)?;
        let before = members.len();
        members.retain(|member| is_kept(member, turn.cx));
        let gone = before - members.len();
        if gone > 0 {
            self.put_members(key, members, dies, turn);
        }
        Ok(gone as i64)
    }

    /// `ZREMRANGEBYSCORE key -inf upto`.
    pub(super) fn remove_members_upto(
        &mut self,
        key: Key,
        upto: Score,
        turn: &mut Turn,
    ) -> Result<Outcome, ServerError> {
        let is_kept = |member: &Member, cx: &Context<Settings>| member.score > upto.settled(cx);
        self.keep_members(key, is_kept, turn).map(Outcome::Integer)
    }

    /// `ZINTERSTORE key 2 key other WEIGHTS 1 0`: the members keep their scores, and those go that are not in `other`. What is
    /// left has no time to live any more: the key is written anew.
    pub(super) fn intersect(
        &mut self,
        key: Key,
        other: Key,
        turn: &mut Turn,
    ) -> Result<Outcome, ServerError> {
        let (others, _) = self.members(other, turn.cx)?;
        let (mut members, dies) = self.members(key, turn.cx)?;
        let before = members.len();
        members.retain(|member| others.iter().any(|other| other.name == member.name));
        let left = members.len();
        if left < before || dies.is_some() {
            self.put_members(key, members, None, turn);
        }
        Ok(Outcome::Integer(left as i64))
    }

    /// `ZRANK`: how many members come before this one.
    pub(super) fn rank(
        &mut self,
        key: Key,
        name: Token,
        cx: &Context<Settings>,
    ) -> Result<Outcome, ServerError> {
        let (members, _) = self.members(key, cx)?;
        let place = members.iter().position(|member| member.name == name);
        Ok(place.map_or(Outcome::Nil, |place| Outcome::Integer(place as i64)))
    }
}
