//! `MULTI`, `EXEC`, `DISCARD`, `WATCH`, `UNWATCH`.

use super::run;
use crate::serve::redis::house::Transaction;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Refusal, Replied, Turn, Within, refuse};
use bytes::Bytes;

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
    let outside = std::mem::replace(&mut turn.within, Within::Transaction);
    let mut replies = Vec::with_capacity(transaction.commands.len());
    for words in transaction.commands {
        replies.push(match run(turn, &words) {
            Ok(reply) => reply,
            Err(Refusal::Error(text)) => Reply::error(text),
            Err(Refusal::Block { in_vain, .. }) => in_vain,
            Err(Refusal::Replicas { .. }) => Reply::Integer(0),
        });
    }
    turn.within = outside;
    Ok(Reply::Array(replies))
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
