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
use crate::serve::servers::Connection;
use crate::serve::watch::Watch;
use crate::serve::watch::claims::{Claims, How, Owner};
use crate::serve::watch::record::{LinkId, What};
use crate::serve::watch::{show, shown};
use bytes::Bytes;
use picklock_model::machine::Context;
use picklock_model::time::Micros;
use smallvec::SmallVec;
use std::borrow::Cow;

type Settings = super::store::Settings;

/// How many keys of one command are looked at: more than one sends who has locks among them.
const KEYS_MAX: usize = 512;
/// Longer values are no lock's.
const VALUE_MAX: usize = 1024;
/// How long a command or a reply is in the record.
const TEXT_MAX: usize = 160;
/// Longer lives are all the same: this is some 35,000 years, and in microseconds it is a number still.
const LIFE_MAX_MS: i64 = 1 << 50;

/// What a key holds, as far as a lock goes: the owner's value, and the last millisecond of its life.
type Held = Option<(Bytes, Option<i64>)>;

/// The keys of a command that can make, change or end a lock.
#[derive(Default)]
pub struct Sight {
    /// With what they held before it was run, and after.
    keys: SmallVec<[(Place, Held, Held); 1]>,
    /// It can take a lock.
    takes: bool,
    /// The server's wall clock, in milliseconds since 1970.
    now_ms: i64,
}

/// Shows a command in one line, not too long.
pub fn show_command(words: &[Bytes], to: &mut Vec<u8>) {
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            to.push(b' ');
        }
        show(word, to);
        if to.len() > TEXT_MAX {
            let text = String::from_utf8_lossy(to);
            let text: String = text.chars().take(TEXT_MAX).chain(['…']).collect();
            *to = text.into();
            return;
        }
    }
}

/// A reply as one line, not too long.
pub fn reply_text(reply: &Reply) -> Cow<'static, str> {
    Cow::Owned(match reply {
        Reply::Status(text) if text.as_ref() == b"OK" => return Cow::Borrowed("OK"),
        Reply::Nil | Reply::NoArray => return Cow::Borrowed("nil"),
        Reply::Status(text) => shown(text),
        Reply::Error(text) => format!("-{}", shown(text)),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(text) => shown(text),
        Reply::Array(replies) | Reply::Set(replies) | Reply::Push(replies) | Reply::Several(replies) => {
            let all = replies.iter().take(8).map(reply_text).collect::<Vec<_>>().join(" ");
            format!("[{}]", all.chars().take(TEXT_MAX).collect::<String>())
        }
        Reply::Map(pairs) => format!("{} pairs", pairs.len()),
        Reply::Double(number) => number.to_string(),
        Reply::BigNumber(text) | Reply::Verbatim(_, text) => shown(text),
        Reply::Boolean(is_true) => is_true.to_string(),
    })
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
        "eval" | "evalsha" | "fcall" => {
            let count = words.get(2).and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
            let count = count.unwrap_or(0_usize).min(KEYS_MAX);
            (true, words.get(3..).map_or(&[], |rest| &rest[..count.min(rest.len())]))
        }
        "del" | "unlink" => (false, &words[1..]),
        "getdel" | "expire" | "pexpire" | "expireat" | "pexpireat" | "persist" | "getset" | "setex"
        | "psetex" | "getex" | "hdel" | "move" => (false, one),
        "rename" | "renamenx" => (false, &words[1..words.len().min(3)]),
        // Whatever else writes may write over a lock, or take it away: MSET, SORT with STORE. Its words are few, and keys are among them.
        _ if spec.writes => (false, &words[1..]),
        _ => (false, &[]),
    }
}

/// The most locks that are looked at because of a command that names no keys.
const LOCKS_LOOKED_AT_MAX: usize = 512;

/// The key of another database that a command writes to: `COPY source destination DB n`.
fn copied_to(command: &[Bytes]) -> Option<Place> {
    let options = command.get(3..).filter(|_| is_one_of(command, &["copy"]))?;
    let at = options.iter().position(|word| word.eq_ignore_ascii_case(b"db"))?;
    Some((number(options, at + 1)?, command[2].clone()))
}

/// Whether this is one of these commands.
fn is_one_of(command: &[Bytes], names: &[&str]) -> bool {
    let name = command.first();
    name.is_some_and(|name| names.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes())))
}

/// The number that a command has in this place.
fn number(command: &[Bytes], place: usize) -> Option<u8> {
    std::str::from_utf8(command.get(place)?).ok()?.parse().ok()
}

/// The commands that run with this one, each with the database that it is about: a transaction may choose another one on its way.
fn run_with<'a>(words: &'a [Bytes], session: &'a Session) -> impl Iterator<Item = (u8, &'a [Bytes])> {
    let runs = is_one_of(words, &["exec"]);
    let of_transaction = session.transaction.iter().filter(move |_| runs);
    let of_transaction = of_transaction.flat_map(|transaction| &transaction.commands).map(Vec::as_slice);
    // Within a transaction it is kept for later.
    let alone = session.transaction.is_none().then_some(words);
    let mut database = session.database;
    of_transaction.chain(alone).map(move |command| {
        let about = database;
        if is_one_of(command, &["select"]) {
            database = number(command, 1).unwrap_or(database);
        }
        (about, command)
    })
}

/// What goes from its place with a command that names no keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emptied {
    /// All keys of all databases.
    All,
    /// Any, of any database: a script or a function may choose a database, and touch keys that it was not told.
    Any,
    /// Those of this database.
    One(u8),
    /// Those of these two come into each other's place, or of all if they are not told by numbers.
    Two(u8, u8),
}

impl Emptied {
    /// If it is such a command, and about this database.
    fn by(command: &[Bytes], database: u8) -> Option<Emptied> {
        let is = |names: &[&str]| is_one_of(command, names);
        match () {
            () if is(&["flushall"]) => Some(Emptied::All),
            () if is(&["flushdb"]) => Some(Emptied::One(database)),
            () if is(&["swapdb"]) => Some(match (number(command, 1), number(command, 2)) {
                (Some(first), Some(second)) => Emptied::Two(first, second),
                _ => Emptied::All,
            }),
            () if is(&["eval", "evalsha", "fcall"]) => Some(Emptied::Any),
            () => None,
        }
    }

    fn has(self, database: u8) -> bool {
        match self {
            Emptied::All | Emptied::Any => true,
            Emptied::One(only) => database == only,
            Emptied::Two(first, second) => database == first || database == second,
        }
    }
}

/// A lock's key as claims know it: databases are apart from each other.
fn name_of((database, key): &Place) -> Bytes {
    match database {
        0 => key.clone(),
        other => Bytes::from([key.as_ref(), format!("@{other}").as_bytes()].concat()),
    }
}

/// The keys that may go by this name: a key of the first database may look like one of another.
fn places_of(name: &Bytes) -> impl Iterator<Item = Place> {
    let at = name.iter().rposition(|byte| *byte == b'@');
    let other = at.and_then(|at| {
        let database = std::str::from_utf8(&name[at + 1..]).ok()?.parse().ok().filter(|other| *other > 0)?;
        Some((database, name.slice(..at)))
    });
    std::iter::once((0, name.clone())).chain(other)
}

fn held(instance: &Instance, place: &Place, now_ms: i64) -> Held {
    let entry = instance.keyspace.peek(place).filter(|entry| entry.dies.is_none_or(|at| now_ms <= at))?;
    let value = match &entry.content {
        Content::Text(text) => text.share(),
        Content::Hash(fields) => fields.keys().next()?.clone(),
        Content::List(_) | Content::Set(_) | Content::Sorted(_) => return None,
    };
    if value.len() > VALUE_MAX {
        return None;
    }
    Some((value, entry.dies))
}

impl Sight {
    /// Whether this command has to be looked at: most are about keys that nobody has ever locked.
    pub fn is_needed(words: &[Bytes], session: &Session, asked: &Asked, claims: &Claims) -> bool {
        if !asked.doubts.is_empty() || session.transaction.is_some() || session.database > 0 {
            return true;
        }
        let (takes, keys) = keys(words);
        takes
            || Emptied::by(words, session.database).is_some()
            || copied_to(words).is_some()
            || keys.iter().take(KEYS_MAX).any(|key| claims.knows(key))
    }

    /// The keys of locks that this command, or one that runs with it, may take away without naming them.
    pub fn emptied(words: &[Bytes], session: &Session, claims: &Claims) -> Vec<Place> {
        let mut all = Vec::new();
        for (database, command) in run_with(words, session) {
            if let Some(emptied) = Emptied::by(command, database) {
                let looked_at = if emptied == Emptied::Any { LOCKS_LOOKED_AT_MAX } else { usize::MAX };
                let is_in = |(database, _): &Place| emptied.has(*database);
                all.extend(claims.locks().take(looked_at).flat_map(places_of).filter(is_in));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What the keys of this command hold, before it is run.
    pub fn before(
        words: &[Bytes],
        session: &Session,
        instance: &Instance,
        emptied: Vec<Place>,
        cx: &Context<Settings>,
    ) -> Sight {
        let now_ms = unix_ms(cx);
        let mut sight = Sight { keys: SmallVec::new(), takes: false, now_ms };
        for place in emptied {
            if let held @ Some(_) = held(instance, &place, now_ms) {
                sight.keys.push((place, held, None));
            }
        }
        for (database, command) in run_with(words, session) {
            sight.add(command, database, instance);
        }
        sight
    }

    fn add(&mut self, command: &[Bytes], database: u8, instance: &Instance) {
        let (takes, keys) = keys(command);
        self.takes |= takes;
        let named = keys.iter().take(KEYS_MAX).map(|key| (database, key.clone()));
        for place in named.chain(copied_to(command)) {
            if self.keys.iter().all(|(known, ..)| *known != place) {
                let held = held(instance, &place, self.now_ms);
                self.keys.push((place, held, None));
            }
        }
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
        for (place, before, after) in self.keys {
            let name = name_of(&place);
            let life = |dies: Option<i64>| {
                dies.map(|dies| Micros::millis(dies.saturating_sub(now_ms).clamp(0, LIFE_MAX_MS)))
            };
            let claims = &mut watch.claims;
            match (&before, &after) {
                (None, Some((value, dies))) if self.takes => {
                    let number = claims.took(server, &name, value, life(*dies), asked.owner, asked.at, now);
                    taken.push((name.clone(), number));
                }
                (Some((old, _)), None) => {
                    claims.let_go(server, &name, old, How::Deleted, asked.owner, asked.at, now);
                }
                (Some((old, died)), Some((new, dies))) if old == new => {
                    if died != dies {
                        claims.prolonged(server, &name, old, life(*dies), asked.owner, asked.at, now);
                    } else if self.takes && !words.contains(old) {
                        let is_anothers = |holder: &Owner| match (holder.client, asked.owner.client) {
                            (Some(holder), Some(asker)) => holder != asker,
                            _ => holder.link != asked.owner.link,
                        };
                        watch.turned_away += u64::from(claims.holders(&name, now).iter().any(is_anothers));
                    }
                }
                (Some((old, _)), Some((value, dies))) => {
                    claims.let_go(server, &name, old, How::Overwritten, asked.owner, asked.at, now);
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
}

impl Asked {
    /// A client has sent this.
    pub fn new(
        servers: &Servers,
        state: &mut State,
        connection: &Connection,
        words: &[Bytes],
        at: Micros,
    ) -> Asked {
        let (watch, owner) = (&mut state.watch, connection.owner());
        let mut asked = Asked { servers: servers.clone(), owner, at, doubts: Vec::new() };
        if !watch.record.is_on() {
            return asked;
        }
        let text = |to: &mut Vec<u8>| show_command(words, to);
        watch.record.of_command(at, What::Asked, connection.server, connection.link, text, None);
        if is_one_of(words, &["eval", "evalsha", "fcall"]) {
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
        let doubts = std::mem::take(&mut self.doubts);
        Asked { servers: self.servers.clone(), owner: self.owner, at: self.at, doubts }
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
    pub text: Cow<'static, str>,
    pub claims: Vec<(Bytes, u64)>,
}

impl Tells {
    /// It was written into its client's socket.
    pub fn told(self, watch: &mut Watch, server: u8, link: LinkId, now: Micros) {
        if self.text.is_empty() && self.claims.is_empty() {
            return;
        }
        watch.record.of_command(
            now,
            What::Told,
            server,
            link,
            |to| to.extend_from_slice(self.text.as_bytes()),
            None,
        );
        for (key, number) in &self.claims {
            watch.told(server, key, *number, now);
        }
    }
}
