//! What the servers of a Redis have for their clients' sake, and how a client's command is run.

use super::names::Names;
use super::scripts::Script;
use crate::serve::servers::{self, Served, ServerState};
use picklock_model::machine::Store;
use picklock_model::stores::redis::{Command, Key, Outcome, Redis, Reply, Request, Value};
use picklock_model::time::{Due, Micros};
use std::collections::BTreeMap;

/// Simulated Redis servers, which outlive the connections to them and their processes. Cheap to clone: all clones are the
/// same servers.
pub type Servers = servers::Servers<Redis>;

pub(super) type State = servers::State<Redis>;

/// What the servers have for their clients' sake.
#[derive(Debug, Default)]
pub struct Desk {
    pub names: Names,
    /// `SCRIPT LOAD` and `EVAL` leave them with a server, until its process ends.
    scripts: BTreeMap<u8, BTreeMap<String, Script>>,
    /// Which numbers the connections to a server have.
    seats: BTreeMap<u8, Vec<bool>>,
    /// What the command that is being run came to.
    said: Option<Outcome>,
}

impl Served for Redis {
    type Desk = Desk;

    fn says(&self, _server: u8, _client: u8, reply: Reply, desk: &mut Desk) {
        desk.said = Some(reply.outcome);
    }

    fn ended(server: u8, desk: &mut Desk) {
        desk.scripts.remove(&server);
    }
}

/// A number for a new connection; `None`: there are too many.
pub(super) fn admit(servers: &Servers, server: u8) -> Option<u8> {
    let mut state = servers.state();
    state.tally.connections += 1;
    let seats = state.desk.seats.entry(server).or_default();
    let free = seats.iter().position(|taken| !taken).unwrap_or(seats.len());
    let number = u8::try_from(free).ok()?;
    if free == seats.len() {
        seats.push(true);
    }
    seats[free] = true;
    Some(number)
}

pub(super) fn dismiss(servers: &Servers, server: u8, client: u8) {
    if let Some(seats) = servers.state().desk.seats.get_mut(&server) {
        seats[usize::from(client)] = false;
    }
}

/// Runs one client's command, whatever it comes to: one step, in which nobody else comes in.
pub(super) fn visit<T>(servers: &Servers, server: u8, client: u8, ask: impl FnOnce(&mut Visit) -> T) -> T {
    servers.step(|state, now| ask(&mut Visit { servers, state, server, client, now }))
}

/// How far a server has come in its master's changes, or in its own: its term's epoch, and a count.
pub(super) fn acknowledged(servers: &Servers, server: u8, offset: (u32, u32)) -> usize {
    let state = servers.state();
    let others = state.nodes.iter().enumerate().filter(|(other, _)| *other != usize::from(server));
    let has_it = |node: &ServerState<Redis>| {
        node.machine.replicated().is_some_and(|its| its.0 == offset.0 && its >= offset)
    };
    others.filter(|(_, node)| has_it(node)).count()
}

/// A client's command being run: nobody else comes in between.
pub(super) struct Visit<'a> {
    pub servers: &'a Servers,
    pub state: &'a mut State,
    pub server: u8,
    client: u8,
    now: Micros,
}

impl Visit<'_> {
    /// Runs a command of the machine. `None`: the server answers nobody now ([`Settings::restart_delay`]).
    pub fn run(&mut self, command: Command) -> Option<Outcome> {
        let request = Request { serial: 0, command, wait: false };
        let (servers, server, client) = (self.servers, self.server, self.client);
        self.state.desk.said = None;
        self.state.enter(servers, server, self.now, |machine, cx, effects| {
            machine.on_request(client, request, cx, effects);
        });
        self.state.desk.said.take()
    }

    fn node(&mut self) -> &mut ServerState<Redis> {
        &mut self.state.nodes[usize::from(self.server)]
    }

    pub fn scripts(&mut self) -> &mut BTreeMap<String, Script> {
        self.state.desk.scripts.entry(self.server).or_default()
    }

    /// What a key holds, and for how many more milliseconds, if not for good. Expired keys are not there.
    pub fn look(&mut self, key: Key) -> Option<(Value, Option<i64>)> {
        let now = self.now.max(self.node().free_at);
        let node = self.node();
        let (value, dies) = node.machine.key(key)?;
        if dies.is_some_and(|due| node.clock.is_due(due, now)) {
            return None;
        }
        // The last whole millisecond of its life: see the machine's reckoning of deaths.
        let left = |at: i64, now: i64| at.div_euclid(1_000) - 1 - now.div_euclid(1_000);
        let left_ms = dies.map(|due| match due {
            Due::Wall(at) => left(at.0, node.clock.wall(now).0),
            Due::Monotonic(at) => left(at.0, node.clock.monotonic(now).0),
        });
        Some((value, left_ms))
    }

    /// What the server's wall clock shows, in microseconds since 1970.
    pub fn unix_micros(&mut self) -> i64 {
        let now = self.now;
        self.node().clock.wall(now).0 + self.servers.date()
    }

    /// How far it has come in what it replicates, or in what is replicated to it.
    pub fn replicated(&mut self) -> Option<(u32, u32)> {
        self.node().machine.replicated()
    }

    pub fn is_master(&mut self) -> bool {
        self.node().machine.is_master()
    }
}
