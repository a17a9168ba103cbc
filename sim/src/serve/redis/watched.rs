//! What the use of a Redis says of locks: who took which key with which value, prolonged it, and gave it back.
//!
//! Looked at are keys before and after a command, and not what the command says it does: a lock is taken where a command that
//! can take one (`SET NX`, `SETNX`, a script, a transaction) leaves a string or a hash at a key where none was. A string is the
//! value by which its owner is known; of a hash it is the name of its first field (Redisson).

use super::commands::spec_of;
use super::house::Session;
use super::reply::Reply;
use super::store::{Content, Instance, Place, unix_ms};
use super::visit::{Servers, State};
use crate::serve::watch::Watch;
use crate::serve::watch::claims::Owner;
use crate::serve::watch::record::{Happened, LinkId, What};
use crate::serve::watch::{show, shown};
use bytes::Bytes;
use picklock_model::machine::Context;
use picklock_model::time::Micros;
use std::sync::Arc;

type Settings = super::store::Settings;

/// How many keys of one command are looked at.
const KEYS_MAX: usize = 16;
/// Longer values are no lock's.
const VALUE_MAX: usize = 1024;
/// How long a command or a reply is in the record.
const TEXT_MAX: usize = 160;
/// Longer lives are all the same: this is some 35,000 years, and in microseconds it is a number still.
const LIFE_MAX_MS: i64 = 1 << 50;

/// What a key holds, as far as a lock goes: the owner's value, and the last millisecond of its life.
type Held = Option<(Bytes, Option<i64>)>;

/// The keys of a command that can make, change or end a lock.
pub struct Sight {
    /// With what they held before it was run, and after.
    keys: Vec<(Place, Held, Held)>,
    /// It can take a lock.
    takes: bool,
    /// The server's wall clock, in milliseconds since 1970.
    now_ms: i64,
}

/// A command as one line, not too long.
pub fn command_text(words: &[Bytes]) -> String {
    let mut text = String::with_capacity(TEXT_MAX);
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            text.push(' ');
        }
        show(word, &mut text);
        if text.len() > TEXT_MAX {
            return text.chars().take(TEXT_MAX).chain(['…']).collect();
        }
    }
    text
}

/// A reply as one line, not too long.
pub fn reply_text(reply: &Reply) -> String {
    match reply {
        Reply::Status(text) => shown(text),
        Reply::Error(text) => format!("-{}", shown(text)),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(text) => shown(text),
        Reply::Nil | Reply::NoArray => "nil".to_owned(),
        Reply::Array(replies) | Reply::Set(replies) | Reply::Push(replies) | Reply::Several(replies) => {
            let all = replies.iter().take(8).map(reply_text).collect::<Vec<_>>().join(" ");
            format!("[{}]", all.chars().take(TEXT_MAX).collect::<String>())
        }
        Reply::Map(pairs) => format!("{} pairs", pairs.len()),
        Reply::Double(number) => number.to_string(),
        Reply::Verbatim(text) => shown(text.as_bytes()),
    }
}

/// The keys that a command names, of those commands that matter, and whether it can take a lock.
fn keys(words: &[Bytes]) -> (bool, &[Bytes]) {
    let (Some(spec), Some(first)) = (words.first().and_then(spec_of), words.get(1)) else {
        return (false, &[]);
    };
    let one = std::slice::from_ref(first);
    let says = |option: &str| words[2..].iter().any(|word| word.eq_ignore_ascii_case(option.as_bytes()));
    match spec.name {
        "set" => (says("nx"), one),
        "setnx" | "hsetnx" => (true, one),
        "eval" | "evalsha" => {
            let count = words.get(2).and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
            let count = count.unwrap_or(0_usize).min(KEYS_MAX);
            (true, words.get(3..).map_or(&[], |rest| &rest[..count.min(rest.len())]))
        }
        "del" | "unlink" => (false, &words[1..]),
        "getdel" | "expire" | "pexpire" | "expireat" | "pexpireat" | "persist" | "getset" | "setex"
        | "psetex" | "getex" | "hdel" => (false, one),
        _ => (false, &[]),
    }
}

fn held(instance: &Instance, place: &Place, now_ms: i64) -> Held {
    let entry = instance.keyspace.peek(place).filter(|entry| entry.dies.is_none_or(|at| now_ms <= at))?;
    let value = match &entry.content {
        Content::Text(text) => text.clone(),
        Content::Hash(fields) => fields.keys().next()?.clone(),
        Content::List(_) | Content::Set(_) | Content::Sorted(_) => return None,
    };
    if value.len() > VALUE_MAX {
        return None;
    }
    Some((value, entry.dies))
}

impl Sight {
    /// What the keys of this command hold, before it is run.
    pub fn before(words: &[Bytes], session: &Session, instance: &Instance, cx: &Context<Settings>) -> Sight {
        let now_ms = unix_ms(cx);
        let queued = session.transaction.iter().flat_map(|transaction| &transaction.commands);
        let is_exec = words.first().is_some_and(|name| name.eq_ignore_ascii_case(b"exec"));
        let commands: Vec<&[Bytes]> = match (&session.transaction, is_exec) {
            (Some(_), true) => queued.map(Vec::as_slice).collect(),
            // It is kept for later.
            (Some(_), false) => Vec::new(),
            (None, _) => vec![words],
        };
        let mut sight = Sight { keys: Vec::new(), takes: false, now_ms };
        for command in commands {
            let (takes, keys) = keys(command);
            sight.takes |= takes;
            for key in keys.iter().take(KEYS_MAX) {
                let place = (session.database, key.clone());
                if sight.keys.iter().all(|(known, ..)| *known != place) {
                    let held = held(instance, &place, now_ms);
                    sight.keys.push((place, held, None));
                }
            }
        }
        sight
    }

    /// What they hold after it.
    pub fn look_again(&mut self, instance: &Instance) {
        for (place, _, after) in &mut self.keys {
            *after = held(instance, place, self.now_ms);
        }
    }

    /// What became of them. Claims that the reply tells of, by their keys.
    pub fn tell(
        self,
        server: u8,
        words: &[Bytes],
        asked: &mut Asked,
        now: Micros,
        watch: &mut Watch,
    ) -> Vec<(Bytes, u64)> {
        let now_ms = self.now_ms;
        let mut taken = Vec::new();
        for ((database, key), before, after) in self.keys {
            // Databases are apart from each other.
            let name = match database {
                0 => key.clone(),
                other => Bytes::from([key.as_ref(), format!("@{other}").as_bytes()].concat()),
            };
            let life = |dies: Option<i64>| {
                dies.map(|dies| Micros::millis(dies.saturating_sub(now_ms).clamp(0, LIFE_MAX_MS)))
            };
            let claims = &mut watch.claims;
            match (&before, &after) {
                (None, Some((value, dies))) if self.takes => {
                    let number = claims.took(server, &name, value, life(*dies), asked.owner, asked.at, now);
                    taken.push((name.clone(), number));
                }
                (Some((old, _)), None) => claims.deleted(server, &name, old, asked.owner, asked.at, now),
                (Some((old, died)), Some((new, dies))) if old == new => {
                    if died != dies {
                        claims.prolonged(server, &name, old, life(*dies), asked.at);
                    } else if self.takes && !words.contains(old) {
                        let is_anothers = |holder: &Owner| match (holder.client, asked.owner.client) {
                            (Some(holder), Some(asker)) => holder != asker,
                            _ => holder.link != asked.owner.link,
                        };
                        watch.turned_away += u64::from(claims.holders(&name, now).iter().any(is_anothers));
                    }
                }
                (Some((old, _)), Some((value, dies))) => {
                    claims.deleted(server, &name, old, asked.owner, asked.at, now);
                    if self.takes {
                        let number =
                            claims.took(server, &name, value, life(*dies), asked.owner, asked.at, now);
                        taken.push((name.clone(), number));
                    }
                }
                (None, _) => {}
            }
            let at = asked.at;
            asked.doubts.retain(|(doubted, value)| {
                let keeps = after.as_ref().is_some_and(|(held, _)| held == value);
                if *doubted == name {
                    watch.claims.settled(doubted, value, (!keeps).then_some(at));
                }
                *doubted != name
            });
        }
        // It was kept for a transaction, or is about another database's key.
        for (doubted, value) in asked.doubts.drain(..) {
            watch.claims.settled(&doubted, &value, None);
        }
        taken
    }
}

/// A command that has come out of its client's socket.
pub struct Asked {
    servers: Servers,
    pub owner: Owner,
    pub at: Micros,
    /// The claims that it may give up. What never runs has given them up, as far as its client knows.
    pub doubts: Vec<(Bytes, Bytes)>,
    /// What it says, if that is kept.
    pub text: Arc<str>,
}

impl Asked {
    /// A client has sent this.
    pub fn new(servers: &Servers, state: &mut State, link: LinkId, words: &[Bytes], at: Micros) -> Asked {
        let watch = &mut state.watch;
        let owner = Owner { link, client: watch.record.client_of(link) };
        let mut asked =
            Asked { servers: servers.clone(), owner, at, doubts: Vec::new(), text: Arc::default() };
        if !watch.record.is_on() {
            return asked;
        }
        asked.text = command_text(words).into();
        watch.record.add(Happened { link: Some(link), ..Happened::new(at, What::Asked, asked.text.clone()) });
        let is_script = words
            .first()
            .is_some_and(|name| name.eq_ignore_ascii_case(b"eval") || name.eq_ignore_ascii_case(b"evalsha"));
        if is_script {
            let (_, keys) = keys(words);
            for key in keys {
                let values = words.iter().skip(3 + keys.len());
                let doubted = values.filter(|value| watch.claims.in_doubt(key, value));
                asked.doubts.extend(doubted.map(|value| (key.clone(), value.clone())));
            }
        }
        asked
    }

    /// It is answered by another one in its place.
    pub fn hand_over(&mut self) -> Asked {
        let (doubts, text) = (std::mem::take(&mut self.doubts), std::mem::take(&mut self.text));
        Asked { servers: self.servers.clone(), owner: self.owner, at: self.at, doubts, text }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.doubts.is_empty() {
            return;
        }
        let watch = &mut self.servers.state().watch;
        for (key, value) in &self.doubts {
            watch.claims.settled(key, value, Some(self.at));
        }
    }
}

/// What a reply that is on its way will tell.
#[derive(Debug, Default)]
pub struct Tells {
    pub text: Arc<str>,
    pub claims: Vec<(Bytes, u64)>,
}

impl Tells {
    /// It was written into its client's socket.
    pub fn told(self, watch: &mut Watch, server: u8, link: LinkId, now: Micros) {
        if self.text.is_empty() && self.claims.is_empty() {
            return;
        }
        watch.record.add(Happened { link: Some(link), ..Happened::new(now, What::Told, self.text) });
        for (key, number) in &self.claims {
            watch.told(server, key, *number, now);
        }
    }
}
