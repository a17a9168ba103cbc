//! What the commands and scripts do.

use super::keyspace::{Keyspace, Record, Turn, dies_after};
use super::protocol::{Check, Command, Key, Line, Millis, Outcome, ServerError, Value};
use super::sorted::Content;
use super::{Eviction, Settings};
use crate::machine::Context;

impl Keyspace {
    /// Runs the command on a master, where nothing expired is left.
    pub(super) fn run(&mut self, command: &Command, turn: &mut Turn) -> Outcome {
        let room = if may_grow(command) { self.make_room(turn) } else { Ok(()) };
        self.call(command, room, turn).unwrap_or_else(Outcome::Error)
    }

    fn call(
        &mut self,
        command: &Command,
        room: Result<(), ServerError>,
        turn: &mut Turn,
    ) -> Result<Outcome, ServerError> {
        match *command {
            Command::Set { key, value, if_absent, ttl } => {
                room.and_then(|()| self.set(key, value, if_absent, ttl, turn))
            }
            Command::Get(key) => self.get(key, turn.cx).map(reply_of),
            Command::Del(key) => Ok(self.delete(key, turn)),
            Command::PExpire(key, ttl) => Ok(self.pexpire(key, ttl, turn)),
            Command::Incr(key) => room.and_then(|()| self.increase(key, 1, turn)),
            Command::Decr(key) => room.and_then(|()| self.increase(key, -1, turn)),
            Command::FlushAll => {
                self.clear(turn);
                Ok(Outcome::Ok)
            }
            Command::CompareAndDelete { key, value } => Ok(match self.holds(key, value, turn.cx)? {
                true => self.delete(key, turn),
                false => Outcome::Integer(0),
            }),
            Command::CompareAndExtend { key, value, ttl } => Ok(match self.holds(key, value, turn.cx)? {
                true => {
                    let outcome = self.pexpire(key, ttl, turn);
                    if ttl.0 > 0 {
                        turn.prolonged(key, value);
                    }
                    outcome
                }
                false => Outcome::Integer(0),
            }),
            Command::ExtendOrCreate { key, value, ttl } => match self.get(key, turn.cx)? {
                Some(other) if other != value => Ok(Outcome::Nil),
                // The script asks whether there is memory only when it comes to the SET (`src/script.c`
                // `scriptVerifyOOM`).
                Some(_) | None => room.and_then(|()| {
                    let outcome = self.set(key, value, false, Some(ttl), turn)?;
                    turn.prolonged(key, value);
                    Ok(outcome)
                }),
            },
            Command::SetAndIncr { key, value, ttl, counter } => {
                room.and_then(|()| self.set(key, value, true, ttl, turn)).and_then(|outcome| match outcome {
                    Outcome::Ok => self.increase(counter, 1, turn),
                    Outcome::Nil | Outcome::Bulk(_) | Outcome::Integer(_) | Outcome::Error(_) => Ok(outcome),
                })
            }
            Command::ZAdd { key, score, member } => {
                room.and_then(|()| self.add_member(key, score, member, turn))
            }
            Command::ZRem(key, name) => {
                self.keep_members(key, |member, _| member.name != name, turn).map(Outcome::Integer)
            }
            Command::ZRank(key, name) => self.rank(key, name, turn.cx),
            Command::ZRemUpTo(key, upto) => self.remove_members_upto(key, upto, turn),
            Command::ZInterStore { key, other } => room.and_then(|()| self.intersect(key, other, turn)),
            Command::Script(ref lines) => {
                let mut last = Outcome::Nil;
                let mut room = room;
                for line in lines {
                    last = match line {
                        Line::Call(command) => {
                            let outcome = self.call(command, room, turn)?;
                            if !is_read(command) {
                                // Only a script's first write is turned down for want of memory, whatever it did
                                // (`src/script.c` `scriptVerifyOOM`).
                                room = Ok(());
                            }
                            outcome
                        }
                        Line::Require(check) if self.is_true(*check, turn.cx)? => continue,
                        Line::Require(_) => return Ok(Outcome::Nil),
                    };
                }
                Ok(last)
            }
        }
    }

    /// Answers the command on a replica, which changes nothing: what has expired is not shown, and stays until the
    /// master says so. A script runs until it comes to a write (`src/script.c` `scriptVerifyWriteCommandAllow`).
    pub(super) fn run_read_only(&mut self, command: &Command, cx: &Context<Settings>) -> Outcome {
        self.call_read_only(command, cx).unwrap_or_else(Outcome::Error)
    }

    fn call_read_only(&mut self, command: &Command, cx: &Context<Settings>) -> Result<Outcome, ServerError> {
        match *command {
            Command::Get(key) => self.get(key, cx).map(reply_of),
            Command::CompareAndDelete { key, value } | Command::CompareAndExtend { key, value, .. }
                if !self.holds(key, value, cx)? =>
            {
                Ok(Outcome::Integer(0))
            }
            Command::ExtendOrCreate { key, value, .. }
                if self.get(key, cx)?.is_some_and(|other| other != value) =>
            {
                Ok(Outcome::Nil)
            }
            Command::ZRank(key, name) => self.rank(key, name, cx),
            Command::Script(ref lines) => {
                let mut last = Outcome::Nil;
                for line in lines {
                    last = match line {
                        Line::Call(command) => self.call_read_only(command, cx)?,
                        Line::Require(check) if self.is_true(*check, cx)? => continue,
                        Line::Require(_) => return Ok(Outcome::Nil),
                    };
                }
                Ok(last)
            }
            Command::Set { .. }
            | Command::Del(_)
            | Command::PExpire(..)
            | Command::Incr(_)
            | Command::Decr(_)
            | Command::FlushAll
            | Command::CompareAndDelete { .. }
            | Command::CompareAndExtend { .. }
            | Command::ExtendOrCreate { .. }
            | Command::SetAndIncr { .. }
            | Command::ZAdd { .. }
            | Command::ZRem(..)
            | Command::ZRemUpTo(..)
            | Command::ZInterStore { .. } => Err(ServerError::ReadOnly),
        }
    }

    /// What a script's condition comes to.
    fn is_true(&mut self, check: Check, cx: &Context<Settings>) -> Result<bool, ServerError> {
        let is_positive = |value| match value {
            None => Ok(false),
            Some(Value::Integer(number)) => Ok(number > 0),
            // `tonumber` of a random string is nil, and Lua compares nil with nothing.
            Some(Value::Token(_)) => Err(ServerError::NotAnInteger),
        };
        match check {
            Check::Absent(key) => Ok(self.live(key, cx).is_none()),
            Check::Holds(key, value) => self.holds(key, value, cx),
            Check::Positive(key) => self.get(key, cx).and_then(is_positive),
            Check::NotPositive(key) => self.get(key, cx).and_then(is_positive).map(|yes| !yes),
            Check::Fewer(key, count) => {
                self.members(key, cx).map(|(members, _)| members.len() < count as usize)
            }
        }
    }

    /// What is dead is not shown: a replica still has it.
    pub(super) fn live(&mut self, key: Key, cx: &Context<Settings>) -> Option<Record> {
        self.find(key, cx).filter(|record| !record.is_dead(cx))
    }

    /// `GET`.
    fn get(&mut self, key: Key, cx: &Context<Settings>) -> Result<Option<Value>, ServerError> {
        let record = self.live(key, cx);
        record.map(|record| record.content.value().ok_or(ServerError::WrongType)).transpose()
    }

    /// Before a command that may need memory, whether or not it will (`src/server.c` `processCommand`).
    fn make_room(&mut self, turn: &mut Turn) -> Result<(), ServerError> {
        let Some(keys_max) = turn.cx.settings.keys_max.map(usize::from) else { return Ok(()) };
        match turn.cx.settings.eviction {
            Eviction::No if self.len() >= keys_max => Err(ServerError::OutOfMemory),
            Eviction::No => Ok(()),
            Eviction::AllKeysLru => {
                while self.len() >= keys_max && self.len() > 0 {
                    self.evict(turn);
                }
                Ok(())
            }
        }
    }

    fn set(
        &mut self,
        key: Key,
        value: Value,
        if_absent: bool,
        ttl: Option<Millis>,
        turn: &mut Turn,
    ) -> Result<Outcome, ServerError> {
        if ttl.is_some_and(|ttl| ttl.0 <= 0) {
            return Err(ServerError::NotAnInteger);
        }
        if if_absent && self.find(key, turn.cx).is_some() {
            return Ok(Outcome::Nil);
        }
        let dies = ttl.map(|ttl| dies_after(ttl, turn.cx));
        self.put(Record { key, content: value.into(), dies }, turn);
        Ok(Outcome::Ok)
    }

    fn delete(&mut self, key: Key, turn: &mut Turn) -> Outcome {
        Outcome::Integer(self.remove(key, turn.by, turn).into())
    }

    /// `src/expire.c` `expireGenericCommand`: a moment that has come deletes the key at once.
    fn pexpire(&mut self, key: Key, ttl: Millis, turn: &mut Turn) -> Outcome {
        let Some(record) = self.find(key, turn.cx) else { return Outcome::Integer(0) };
        if ttl.0 <= 0 {
            return self.delete(key, turn);
        }
        self.put(Record { dies: Some(dies_after(ttl, turn.cx)), ..record }, turn);
        Outcome::Integer(1)
    }

    /// `INCR` and `DECR`.
    fn increase(&mut self, key: Key, by: i64, turn: &mut Turn) -> Result<Outcome, ServerError> {
        let record = self.find(key, turn.cx);
        let (content, dies) = match record {
            Some(record) => (record.content, record.dies),
            None => (Content::Integer(0), None),
        };
        let number = match content {
            Content::Integer(number) => number,
            Content::Token(_) => return Err(ServerError::NotAnInteger),
            Content::Sorted(_) => return Err(ServerError::WrongType),
        };
        let next = number.checked_add(by).ok_or(ServerError::NotAnInteger)?;
        self.put(Record { key, content: Content::Integer(next), dies }, turn);
        Ok(Outcome::Integer(next))
    }

    fn holds(&mut self, key: Key, value: Value, cx: &Context<Settings>) -> Result<bool, ServerError> {
        Ok(self.get(key, cx)? == Some(value))
    }
}

fn reply_of(value: Option<Value>) -> Outcome {
    value.map_or(Outcome::Nil, Outcome::Bulk)
}

/// Whether the real command lacks the flag `CMD_WRITE`.
fn is_read(command: &Command) -> bool {
    matches!(command, Command::Get(_) | Command::ZRank(..))
}

/// Whether the real command has the flag `CMD_DENYOOM`, or the script may come to one that has.
fn may_grow(command: &Command) -> bool {
    match command {
        Command::Set { .. }
        | Command::Incr(_)
        | Command::Decr(_)
        | Command::ExtendOrCreate { .. }
        | Command::SetAndIncr { .. }
        | Command::ZAdd { .. }
        | Command::ZInterStore { .. } => true,
        Command::Script(lines) => lines.iter().any(|line| match line {
            Line::Call(command) => may_grow(command),
            Line::Require(_) => false,
        }),
        Command::Get(_)
        | Command::Del(_)
        | Command::PExpire(..)
        | Command::FlushAll
        | Command::CompareAndDelete { .. }
        | Command::CompareAndExtend { .. }
        | Command::ZRem(..)
        | Command::ZRank(..)
        | Command::ZRemUpTo(..) => false,
    }
}
