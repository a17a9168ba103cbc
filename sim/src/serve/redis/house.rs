//! What a server's process has for its clients' sake, beside what it stores: gone when the process ends.

use super::busy::Busy;
use super::events::Wanted;
use super::glob::matches;
use super::limits::{LIMITS, Limits};
use super::lua::{Libraries, Scripts};
use super::queue::Queue;
use super::reply::Reply;
use super::stats::Stats;
use super::store::Place;
use super::watched::Tells;
use crate::serve::watch::claims::Owner;
use bytes::Bytes;
use picklock_model::time::Micros;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::oneshot;

/// What a server's process has for its clients' sake.
#[derive(Debug, Default)]
pub struct House {
    pub sessions: Sessions,
    last_id: i64,
    pub scripts: Scripts,
    pub libraries: Libraries,
    /// Who listens to what.
    pub channels: BTreeMap<Bytes, BTreeSet<i64>>,
    pub patterns: BTreeMap<Bytes, BTreeSet<i64>>,
    /// Who would like to know whether a key changes.
    pub watched: BTreeMap<Place, BTreeSet<i64>>,
    /// Who waits for keys, in the order in which they came.
    pub waiters: BTreeMap<u64, Waiter>,
    last_ticket: u64,
    /// What is to be told to clients who did not ask.
    pub pushes: Vec<(i64, Sent)>,
    /// The script that goes on over several steps.
    pub busy: Option<Busy>,
    /// A script may: time is real, and whoever asks for it can wait.
    pub may_be_busy: bool,
    /// Which events of keys are published.
    pub events: Wanted,
    /// How much may wait to be read by a client.
    pub limits: Limits,
    /// What `CONFIG SET` has changed.
    pub config: BTreeMap<String, String>,
    pub commands: u64,
    pub stats: Stats,
    /// The process is about to end.
    pub ends: bool,
    /// What was asked for in vain, as it was said: each once.
    in_vain: BTreeSet<String>,
    /// What is to be said to who runs the server.
    pub notices: Vec<String>,
}

/// Those who are connected. Whoever is having a command run is taken out, and keeps its place.
#[derive(Debug, Default)]
pub struct Sessions(BTreeMap<i64, Option<Box<Session>>>);

impl Sessions {
    /// Takes a client out, until it is put back.
    pub fn take(&mut self, id: i64) -> Option<Box<Session>> {
        self.0.get_mut(&id)?.take()
    }

    /// Puts in a client that is new, or was taken out.
    pub fn put(&mut self, session: Box<Session>) {
        self.0.insert(session.id, Some(session));
    }

    pub fn get(&self, id: i64) -> Option<&Session> {
        self.0.get(&id)?.as_deref()
    }

    pub fn get_mut(&mut self, id: i64) -> Option<&mut Session> {
        self.0.get_mut(&id)?.as_deref_mut()
    }

    /// A client is gone.
    pub fn remove(&mut self, id: i64) -> Option<Box<Session>> {
        self.0.remove(&id)?
    }

    /// All but those who are taken out.
    pub fn iter(&self) -> impl Iterator<Item = &Session> {
        self.0.values().filter_map(Option::as_deref)
    }
}

/// What is told to a client who did not ask.
#[derive(Clone, PartialEq, Debug)]
pub enum Sent {
    /// This.
    Reply(Reply),
    /// Nothing: its connection is closed.
    Close,
}

/// What a server knows of a client.
#[derive(Debug)]
pub struct Session {
    /// Its number on this server since the process began.
    pub id: i64,
    /// Its connection, and which client of a trial it is.
    pub owner: Owner,
    pub name: Bytes,
    pub database: u8,
    /// Of the protocol: 2 or 3.
    pub version: u8,
    /// The commands of a transaction.
    pub transaction: Option<Transaction>,
    pub watches: BTreeSet<Place>,
    /// A key that it watches was changed.
    pub is_overtaken: bool,
    pub channels: BTreeSet<Bytes>,
    pub patterns: BTreeSet<Bytes>,
    /// When it came, in microseconds of true time.
    pub since: Micros,
    pub last_command: &'static str,
    /// Whether it wants to be answered.
    pub quiet: Quiet,
    /// Since when more waits for it than may for long.
    pub behind_since: Option<Micros>,
    /// Where what it is told goes.
    pub outbox: Arc<Queue<Outgoing>>,
}

/// Whether a client wants to be answered (`CLIENT REPLY`). Messages that it listens to come all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quiet {
    /// It does.
    No,
    /// Not to this command and to the next one.
    ThisAndNext,
    /// Not to the next command.
    Next,
    /// Never.
    Always,
}

/// A transaction that was begun.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub commands: Vec<Vec<Bytes>>,
    /// One of them is none.
    pub is_broken: bool,
}

/// Bytes on their way to a client.
#[derive(Debug)]
pub struct Outgoing {
    /// When they arrive, if nothing holds them up.
    pub due: Micros,
    /// They do not, and take the connection with them.
    pub is_lost: bool,
    pub bytes: Vec<u8>,
    /// The connection is closed after them.
    pub is_last: bool,
    pub tells: Tells,
}

/// A client that waits for keys.
#[derive(Debug)]
pub struct Waiter {
    pub client: i64,
    pub places: Vec<Place>,
    /// What it asked.
    pub words: Vec<Bytes>,
    pub answer: oneshot::Sender<Reply>,
}

impl Session {
    pub fn new(id: i64, owner: Owner, since: Micros, outbox: Arc<Queue<Outgoing>>) -> Session {
        Session {
            id,
            owner,
            name: Bytes::new(),
            database: 0,
            version: 2,
            transaction: None,
            watches: BTreeSet::new(),
            is_overtaken: false,
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            since,
            last_command: "NULL",
            quiet: Quiet::No,
            behind_since: None,
            outbox,
        }
    }

    /// To how much it listens.
    pub fn subscriptions(&self) -> i64 {
        (self.channels.len() + self.patterns.len()) as i64
    }
}

impl House {
    /// Somebody has connected; its number.
    pub fn admit(&mut self, owner: Owner, since: Micros, outbox: Arc<Queue<Outgoing>>) -> i64 {
        self.last_id += 1;
        let session = Session::new(self.last_id, owner, since, outbox);
        self.sessions.put(Box::new(session));
        self.last_id
    }

    /// A client is gone.
    pub fn dismiss(&mut self, id: i64) {
        let Some(mut session) = self.sessions.remove(id) else { return };
        self.unwatch(&mut session);
        self.unsubscribe_all(&mut session);
        self.waiters.retain(|_, waiter| waiter.client != id);
    }

    pub fn unwatch(&mut self, session: &mut Session) {
        for place in std::mem::take(&mut session.watches) {
            forget(&mut self.watched, &place, session.id);
        }
        session.is_overtaken = false;
    }

    pub fn unsubscribe_all(&mut self, session: &mut Session) {
        for channel in std::mem::take(&mut session.channels) {
            forget(&mut self.channels, &channel, session.id);
        }
        for pattern in std::mem::take(&mut session.patterns) {
            forget(&mut self.patterns, &pattern, session.id);
        }
    }

    /// Tells who listens; how many that are.
    pub fn publish(&mut self, channel: &Bytes, message: &Bytes) -> i64 {
        let before = self.pushes.len();
        let bulk = |bytes: &Bytes| Reply::Bulk(bytes.clone());
        for id in self.channels.get(channel).into_iter().flatten() {
            let push = vec![Reply::bulk("message"), bulk(channel), bulk(message)];
            self.pushes.push((*id, Sent::Reply(Reply::Push(push))));
        }
        for (pattern, clients) in self.patterns.iter().filter(|(pattern, _)| matches(pattern, channel)) {
            for id in clients {
                let push = vec![Reply::bulk("pmessage"), bulk(pattern), bulk(channel), bulk(message)];
                self.pushes.push((*id, Sent::Reply(Reply::Push(push))));
            }
        }
        (self.pushes.len() - before) as i64
    }

    /// Somebody asked for what the real server has and this one has not: whoever runs it is told once.
    pub fn missing(&mut self, what: &str) {
        self.say_once(format!("was asked for {what}, which a real server has and this one has not"));
    }

    /// Somebody asked for what this server does not know: whoever runs it is told once.
    pub fn unknown(&mut self, what: &str) {
        self.say_once(format!("was asked for {what}, which it does not know"));
    }

    /// Somebody spoke HTTP, and is heard no more: whoever runs the server is told once.
    pub fn attacked(&mut self) {
        self.say_once("was spoken to in HTTP (POST or Host:), and closes such connections".to_owned());
    }

    /// A subscriber does not read, and is heard no more: whoever runs the server is told once.
    pub fn gave_up(&mut self) {
        let what = format!("closes connections of subscribers for which more waits than {LIMITS} lets");
        self.say_once(what);
    }

    fn say_once(&mut self, what: String) {
        if self.in_vain.insert(what.clone()) {
            self.notices.push(what);
        }
    }

    /// A place in the queue of those who wait.
    pub fn wait(&mut self, waiter: Waiter) -> u64 {
        self.last_ticket += 1;
        self.waiters.insert(self.last_ticket, waiter);
        self.last_ticket
    }

    /// Keys were changed: who watches them is told when it asks.
    pub fn overtake(&mut self, touched: &[Place], session: &mut Session) {
        if self.watched.is_empty() {
            return;
        }
        for place in touched {
            for id in self.watched.get(place).into_iter().flatten() {
                match self.sessions.get_mut(*id) {
                    Some(other) => other.is_overtaken = true,
                    None => session.is_overtaken |= session.id == *id,
                }
            }
        }
    }
}

/// A client does not listen to this any more.
pub fn forget<K: Ord + Clone>(listeners: &mut BTreeMap<K, BTreeSet<i64>>, what: &K, id: i64) {
    if let Some(clients) = listeners.get_mut(what) {
        clients.remove(&id);
        if clients.is_empty() {
            listeners.remove(what);
        }
    }
}
