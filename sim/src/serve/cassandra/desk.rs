//! What the servers have for their clients' sake: what names mean, the schema, prepared statements, who waits for which answer.

use super::connection::Told;
use super::cql::Statement;
use super::frame::{Writer, opcode};
use super::names::{Found, Names};
use super::node::{Node, Reply};
use super::schema::{Schema, SchemaChange};
use super::values::{Moment, Uuids};
use crate::serve::servers::{self, Served};
use bytes::Bytes;
use picklock_model::stores::cassandra::{self, Outcome};
use picklock_model::time::{Micros, Wall};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Simulated servers, which outlive the connections to them and their processes. Cheap to clone: all clones are the same
/// servers.
pub type Servers = servers::Servers<Node>;

/// What a server has said, in the clients' words.
#[derive(Clone, Debug)]
pub struct Answer {
    pub said: Said,
    /// How many replicas have answered.
    pub received: u8,
    /// A conditional write was proposed, and may be done though it is not known.
    pub is_proposed: bool,
}

#[derive(Clone, Debug)]
pub enum Said {
    Applied,
    Found(Vec<Found>),
    TimedOut,
}

/// A statement that clients call by a number.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub text: Arc<str>,
    pub statement: Arc<Statement>,
    pub markers: Arc<[Option<String>]>,
    /// The keyspace that was in use.
    pub keyspace: Option<String>,
}

/// What the servers have for their clients' sake.
#[derive(Debug, Default)]
pub struct Desk {
    pub names: Names,
    pub schema: Schema,
    pub prepared: BTreeMap<Bytes, Prepared>,
    /// The date at true time 0, in microseconds since 1970.
    pub date: i64,
    /// Where the servers are, for each client of a trial; for all others, the first of these.
    addresses: Vec<Vec<SocketAddr>>,
    serial: u32,
    waiting: BTreeMap<(u8, u32), oneshot::Sender<Answer>>,
    /// The last timestamp that each server has given.
    timestamps: BTreeMap<u8, Wall>,
    /// What gives each server's UUIDs.
    uuids: BTreeMap<u8, Arc<Uuids>>,
    /// Who wants to know of changes of the schema: with the server and the version of the protocol.
    listeners: Vec<(u8, u8, mpsc::UnboundedSender<Told>)>,
    /// What was said once, and is not said again.
    said: BTreeSet<String>,
}

/// Where nothing was said of addresses.
const PORT: u16 = 9042;

impl Served for Node {
    type Desk = Desk;

    /// Cells by their timestamps, and times to live by when they end.
    const COMPARES_CLOCKS: bool = true;

    fn says(&self, server: u8, _client: u8, reply: Reply, desk: &mut Desk) {
        let Reply { reply: cassandra::Reply { serial, outcome }, received, is_proposed } = reply;
        let Some(to) = desk.waiting.remove(&(server, serial)) else { return };
        let said = match outcome {
            Outcome::Applied => Said::Applied,
            Outcome::TimedOut => Said::TimedOut,
            Outcome::Slice(found) => {
                let all = found.into_iter().filter_map(|(name, value)| desk.names.found(name, value));
                Said::Found(all.collect())
            }
        };
        // If nobody listens any more, nobody minds.
        let _gone = to.send(Answer { said, received, is_proposed });
    }

    fn ended(server: u8, desk: &mut Desk) {
        desk.waiting.retain(|(of, _), _| *of != server);
        desk.listeners.retain(|(of, ..)| *of != server);
        desk.timestamps.remove(&server);
        desk.uuids.remove(&server);
    }
}

impl Servers {
    /// Where clients find the servers, in their order: for each client of a trial, or once for all.
    pub fn advertise(&self, addresses: Vec<Vec<SocketAddr>>) {
        self.state().desk.addresses = addresses;
    }

    /// The date at true time 0, in microseconds since 1970. Timestamps that clients give are compared with the servers' clocks.
    pub fn set_date(&self, date: i64) {
        self.state().desk.date = date;
    }

    /// From now on it is kept what happens, in this file, too, if there is one. `date` is that of this moment, in microseconds
    /// since 1970; true time 0 is when its second began, for what is to live for seconds ends with one. Through these ports come
    /// clients of a trial.
    #[cfg(feature = "cli")]
    pub(crate) fn watch(&self, date: i64, file: Option<std::fs::File>, doors: BTreeMap<u16, u8>) {
        let late = Micros(date.rem_euclid(1_000_000));
        let date = if self.begin_at(servers::duration(late)) { date - late.0 } else { date - self.now().0 };
        let state = &mut *self.state();
        state.watch.record.begin(date, file);
        state.watch.record.know_doors(doors);
        state.desk.date = date;
    }
}

impl Desk {
    /// A number for a request, and for who waits for its answer.
    pub fn expect(&mut self, server: u8, to: oneshot::Sender<Answer>) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.waiting.insert((server, self.serial), to);
        self.serial
    }

    /// Nobody waits for it any more.
    pub fn forget(&mut self, server: u8, serial: u32) {
        self.waiting.remove(&(server, serial));
    }

    /// How many requests there were.
    pub fn draw(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// A timestamp of this server: its clock, but never the same or less than before (`ClientState.getTimestamp`).
    pub fn timestamp(&mut self, server: u8, wall: Wall, after: Option<Wall>) -> Wall {
        let last = self.timestamps.get(&server).copied().max(after);
        let next = last.map_or(wall, |last| wall.max(last + Micros(1)));
        self.timestamps.insert(server, next);
        next
    }

    /// What functions see of a request that comes to this server now.
    pub fn moment(&mut self, server: u8, wall: Wall) -> Moment {
        let uuids = Arc::clone(self.uuids.entry(server).or_default());
        Moment { unix_micros: wall.0 + self.date, server, uuids }
    }

    /// Where this client finds the servers.
    pub fn addresses(&self, client: Option<u8>, count: u8) -> Vec<SocketAddr> {
        let own = self.addresses.get(usize::from(client.unwrap_or(0))).or(self.addresses.first());
        let guessed = |server: u8| SocketAddr::from((Ipv4Addr::LOCALHOST, PORT + u16::from(server)));
        (0..count)
            .map(|server| {
                own.and_then(|own| own.get(usize::from(server))).copied().unwrap_or_else(|| guessed(server))
            })
            .collect()
    }

    pub fn listen(&mut self, server: u8, version: u8, to: mpsc::UnboundedSender<Told>) {
        self.listeners.push((server, version, to));
    }

    /// All who want to know are told of a change of the schema.
    pub fn tell(&mut self, change: &SchemaChange) {
        let mut body = Writer::default();
        body.string("SCHEMA_CHANGE");
        change.write(&mut body);
        self.listeners
            .retain(|(_, version, to)| to.send(body.frame(*version, -1, opcode::EVENT, &[]).into()).is_ok());
    }

    /// Whether this was not said before.
    pub fn is_first(&mut self, what: &str) -> bool {
        self.said.insert(what.to_owned())
    }
}

impl SchemaChange {
    /// As results and events have it.
    pub fn write(&self, body: &mut Writer) {
        body.string(self.change);
        match &self.table {
            None => body.string("KEYSPACE").string(&self.keyspace),
            Some(table) => body.string("TABLE").string(&self.keyspace).string(table),
        };
    }
}
