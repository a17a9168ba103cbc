//! What the commands and scripts do.

use super::keyspace::{Keyspace, Record, Turn, dies_after};
use super::protocol::{Command, Key, Millis, Outcome, ServerError, Value};
use super::{Eviction, Settings};
use crate::machine::Context;

impl Keyspace {
    /// Runs the command on a master, where nothing expired is left.
    pub(super) fn run(&mut self, command: Command, turn: &mut Turn) -> Outcome {
        let room = if may_grow(&command) { self.make_room(turn) } else { Ok(()) };
        let outcome = match command {
            Command::Set { key, value, if_absent, ttl } => {
                room.and_then(|()| self.set(key, value, if_absent, ttl, turn))
            }
            Command::Get(key) => Ok(reply_of(self.find(key, turn.cx))),
            Command::Del(key) => Ok(self.delete(key, turn)),
            Command::PExpire(key, ttl) => Ok(self.pexpire(key, ttl, turn)),
            Command::Incr(key) => room.and_then(|()| self.incr(key, turn)),
            Command::FlushAll => {
                self.clear(turn);
                Ok(Outcome::Ok)
            }
            Command::CompareAndDelete { key, value } => Ok(match self.holds(key, value, turn.cx) {
                true => self.delete(key, turn),
                false => Outcome::Integer(0),
            }),
            Command::CompareAndExtend { key, value, ttl } => Ok(match self.holds(key, value, turn.cx) {
                true => self.pexpire(key, ttl, turn),
                false => Outcome::Integer(0),
            }),
            Command::ExtendOrCreate { key, value, ttl } => match self.find(key, turn.cx) {
                Some(record) if record.value != value => Ok(Outcome::Nil),
                // The script asks whether there is memory only when it comes to the SET (`src/script.c`
                // `scriptVerifyOOM`).
                Some(_) | None => room.and_then(|()| self.set(key, value, false, Some(ttl), turn)),
            },
            Command::SetAndIncr { key, value, ttl, counter } => {
                room.and_then(|()| self.set(key, value, true, ttl, turn)).and_then(|outcome| match outcome {
                    Outcome::Ok => self.incr(counter, turn),
                    Outcome::Nil | Outcome::Bulk(_) | Outcome::Integer(_) | Outcome::Error(_) => Ok(outcome),
                })
            }
        };
        outcome.unwrap_or_else(Outcome::Error)
    }

    /// Answers the command on a replica, which changes nothing: what has expired is not shown, and stays until the
    /// master says so. A script runs until it comes to a write (`src/script.c` `scriptVerifyWriteCommandAllow`).
    pub(super) fn run_read_only(&mut self, command: Command, cx: &Context<Settings>) -> Outcome {
        let mut live = |key| self.find(key, cx).filter(|record| !record.is_dead(cx));
        let holds = |record: Option<Record>, value| record.is_some_and(|record| record.value == value);
        match command {
            Command::Get(key) => reply_of(live(key)),
            Command::CompareAndDelete { key, value } | Command::CompareAndExtend { key, value, .. }
                if !holds(live(key), value) =>
            {
                Outcome::Integer(0)
            }
            Command::ExtendOrCreate { key, value, .. }
                if live(key).is_some_and(|record| record.value != value) =>
            {
                Outcome::Nil
            }
            Command::Set { .. }
            | Command::Del(_)
            | Command::PExpire(..)
            | Command::Incr(_)
            | Command::FlushAll
            | Command::CompareAndDelete { .. }
            | Command::CompareAndExtend { .. }
            | Command::ExtendOrCreate { .. }
            | Command::SetAndIncr { .. } => Outcome::Error(ServerError::ReadOnly),
        }
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
        self.put(Record { key, value, dies: ttl.map(|ttl| dies_after(ttl, turn.cx)) }, turn);
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

    fn incr(&mut self, key: Key, turn: &mut Turn) -> Result<Outcome, ServerError> {
        let record = self.find(key, turn.cx).unwrap_or(Record { key, value: Value::Integer(0), dies: None });
        let Value::Integer(number) = record.value else { return Err(ServerError::NotAnInteger) };
        let next = number.checked_add(1).ok_or(ServerError::NotAnInteger)?;
        self.put(Record { value: Value::Integer(next), ..record }, turn);
        Ok(Outcome::Integer(next))
    }

    fn holds(&mut self, key: Key, value: Value, cx: &Context<Settings>) -> bool {
        self.find(key, cx).is_some_and(|record| record.value == value)
    }
}

fn reply_of(record: Option<Record>) -> Outcome {
    record.map_or(Outcome::Nil, |record| Outcome::Bulk(record.value))
}

/// Whether the real command has the flag `CMD_DENYOOM`, or the script may come to one that has.
fn may_grow(command: &Command) -> bool {
    match command {
        Command::Set { .. }
        | Command::Incr(_)
        | Command::ExtendOrCreate { .. }
        | Command::SetAndIncr { .. } => true,
        Command::Get(_)
        | Command::Del(_)
        | Command::PExpire(..)
        | Command::FlushAll
        | Command::CompareAndDelete { .. }
        | Command::CompareAndExtend { .. } => false,
    }
}
