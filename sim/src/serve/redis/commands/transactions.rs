//! `MULTI`, `EXEC`, `DISCARD`, `WATCH`, `UNWATCH`.

use super::run;
use crate::serve::redis::house::{Sent, Transaction};
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Refusal, Replied, Turn, Within, refuse};
use bytes::Bytes;
use std::collections::VecDeque;

pub fn multi(turn: &mut Turn, _: &[Bytes]) -> Replied {
    if turn.session.transaction.is_some() {
        return refuse("ERR MULTI calls can not be nested");
    }
    turn.session.transaction = Some(Transaction::default());
    Ok(Reply::ok())
}

pub fn exec(turn: &mut Turn, _: &[Bytes]) -> Replied {
    let Some(transaction) = turn.session.transaction.take() else { return refuse("ERR EXEC without MULTI") };
    let is_overtaken = turn.session.is_overtaken;
    turn.house.unwatch(turn.session);
    if transaction.is_broken {
        return refuse("EXECABORT Transaction discarded because of previous errors.");
    }
    if is_overtaken {
        return Ok(Reply::NoArray);
    }
    go_on(turn, Rest { replies: Vec::new(), commands: transaction.commands.into() })
}

/// What is still to be run of a transaction.
#[derive(Debug)]
pub struct Rest {
    replies: Vec<Reply>,
    commands: VecDeque<Vec<Bytes>>,
}

impl Rest {
    /// The command before it has come to this.
    pub fn after(mut self, ran: Replied) -> Rest {
        self.replies.push(match ran {
            Ok(reply) => reply,
            Err(Refusal::Error(text)) => Reply::error(text),
            Err(Refusal::Block { in_vain, .. }) => in_vain,
            Err(Refusal::Replicas { .. } | Refusal::Runs) => Reply::Integer(0),
        });
        self
    }

    /// This has told its own client something, as `PUBLISH` does: that stands before its reply.
    fn telling(mut self, mut told: Vec<Reply>) -> Rest {
        if !told.is_empty() {
            told.extend(self.replies.pop());
            self.replies.push(Reply::Several(told));
        }
        self
    }
}

/// Takes out what the client was told since there were so many pushes.
fn told_itself(turn: &mut Turn, before: usize) -> Vec<Reply> {
    let mut told = Vec::new();
    for (id, sent) in turn.house.pushes.split_off(before) {
        match sent {
            Sent::Reply(reply) if id == turn.session.id => told.push(reply),
            sent => turn.house.pushes.push((id, sent)),
        }
    }
    told
}

/// Runs it. A script that takes too long comes in between: then the rest waits for its end.
pub fn go_on(turn: &mut Turn, mut rest: Rest) -> Replied {
    let outside = std::mem::replace(&mut turn.within, Within::Transaction);
    while let Some(words) = rest.commands.pop_front() {
        let before = turn.house.pushes.len();
        match run(turn, &words) {
            Err(Refusal::Runs) => {
                turn.within = outside;
                if let Some(busy) = &mut turn.house.busy {
                    busy.rest = Some(rest);
                }
                return Err(Refusal::Runs);
            }
            ran => rest = rest.after(ran).telling(told_itself(turn, before)),
        }
    }
    turn.within = outside;
    Ok(Reply::Array(rest.replies))
}

pub fn discard(turn: &mut Turn, _: &[Bytes]) -> Replied {
    if turn.session.transaction.take().is_none() {
        return refuse("ERR DISCARD without MULTI");
    }
    turn.house.unwatch(turn.session);
    Ok(Reply::ok())
}

pub fn watch(turn: &mut Turn, words: &[Bytes]) -> Replied {
    if turn.session.transaction.is_some() {
        return refuse("ERR WATCH inside MULTI is not allowed");
    }
    for key in &words[1..] {
        let place = turn.place(key);
        turn.house.watched.entry(place.clone()).or_default().insert(turn.session.id);
        turn.session.watches.insert(place);
    }
    Ok(Reply::ok())
}

pub fn unwatch(turn: &mut Turn, _: &[Bytes]) -> Replied {
    turn.house.unwatch(turn.session);
    Ok(Reply::ok())
}
