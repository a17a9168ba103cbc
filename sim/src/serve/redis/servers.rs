//! The servers behind the ports: their machines, their clocks, what is wrong with them right now, and what they say to
//! each other.

use super::condition::{Condition, Direction};
use super::names::Names;
use super::scripts::Script;
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::network::Network;
use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::redis::{Command, Key, Outcome, Peer, Redis, Request, Settings, Value};
use picklock_model::time::{Clock, Due, EPOCH_UNIX_MICROS, Micros};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a message from server to server takes, when nothing is wrong.
const PEER_LATENCY: Micros = Micros(500);

/// Simulated Redis servers, which outlive the connections to them and their processes. Cheap to clone: all clones are the
/// same servers.
///
/// What they store lives here, also while nobody [serves](super::serve) them; what a crash leaves of it is for
/// [`Settings::persistence`] to say.
#[derive(Clone, Debug)]
pub struct Servers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: Settings,
    count: u8,
    /// What every wall clock shows at true time zero, in microseconds since 1970, before anything is wrong with it.
    date: i64,
    state: Mutex<State>,
    /// Something is wrong now that was not, or the other way about.
    struck: Notify,
    /// A machine was entered: its deadlines may be others.
    entered: Notify,
}

/// What is counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Connections that were accepted.
    pub connections: u64,
    /// Commands that were answered, with a value or with an error.
    pub commands: u64,
    /// Requests that were lost with their connections, and replies that were, after their commands were run.
    pub lost: u64,
    /// Faults that struck.
    pub faults: u64,
}

#[derive(Debug)]
pub(super) struct State {
    began: Option<Instant>,
    pub nodes: Vec<ServerState>,
    /// What servers have said to each other and not heard yet, with the true time at which it arrives.
    letters: Vec<(Micros, u8, u8, Peer)>,
    pub names: Names,
    /// How messages of clients fare, if anything is wrong with the network.
    pub network: Option<Network>,
    pub dice: Dice,
    /// Until when what one server says does not get to another.
    pub cuts: Vec<(u8, u8, Micros)>,
    pub tally: Tally,
    effects: Effects<Redis>,
}

#[derive(Debug)]
pub(super) struct ServerState {
    machine: Redis,
    pub clock: Clock,
    /// The first true time at which it may take its next step: no two share a microsecond.
    free_at: Micros,
    pub condition: Condition,
    /// Up to this true time its clocks have not counted, because its machine is suspended.
    suspended_until: Micros,
    /// `SCRIPT LOAD` and `EVAL` leave them here, until the process ends.
    pub scripts: BTreeMap<String, Script>,
    /// Which numbers connections have.
    clients: Vec<bool>,
}

impl Servers {
    /// As many servers, which have stored nothing yet. Time begins when the first of them is served.
    ///
    /// # Panics
    /// If there are none, or more than 16.
    pub fn new(count: u8, settings: Settings) -> Servers {
        Servers::since(count, settings, EPOCH_UNIX_MICROS)
    }

    /// The same; `date` is what their wall clocks show in the beginning, in microseconds since 1970.
    pub fn since(count: u8, settings: Settings, date: i64) -> Servers {
        let nodes = (0..count).map(|me| ServerState {
            machine: Redis::new(me, count, &settings),
            clock: Clock::default(),
            free_at: Micros::ZERO,
            condition: Condition::default(),
            suspended_until: Micros::ZERO,
            scripts: BTreeMap::new(),
            clients: Vec::new(),
        });
        let state = State {
            began: None,
            nodes: nodes.collect(),
            letters: Vec::new(),
            names: Names::default(),
            network: None,
            dice: Dice::new(0, Stream::Network),
            cuts: Vec::new(),
            tally: Tally::default(),
            effects: Effects::default(),
        };
        let (struck, entered) = (Notify::new(), Notify::new());
        Servers(Arc::new(Shared { settings, count, date, state: Mutex::new(state), struck, entered }))
    }

    /// How many servers there are.
    pub fn count(&self) -> u8 {
        self.0.count
    }

    /// What has been counted so far.
    pub fn tally(&self) -> Tally {
        self.state().tally
    }

    /// True time: what has passed since the first server was served, or, inside of a turmoil simulation, since that began.
    pub fn now(&self) -> Micros {
        #[cfg(feature = "hosted")]
        let simulated = turmoil::sim_elapsed();
        #[cfg(not(feature = "hosted"))]
        let simulated = None;
        let elapsed = simulated.unwrap_or_else(|| {
            let began = *self.state().began.get_or_insert_with(Instant::now);
            began.elapsed()
        });
        Micros(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
    }

    /// What a server stores, one line per entry.
    pub fn contents(&self, server: u8) -> Vec<String> {
        self.state().contents(server)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is wrong, and wakes whom that concerns.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.0.struck.notify_waiters();
        self.0.entered.notify_waiters();
        changed
    }

    /// A number for a new connection; `None`: there are too many.
    pub(super) fn admit(&self, server: u8) -> Option<u8> {
        let mut state = self.state();
        state.tally.connections += 1;
        let clients = &mut state.nodes[usize::from(server)].clients;
        let free = clients.iter().position(|taken| !taken).unwrap_or(clients.len());
        let number = u8::try_from(free).ok()?;
        if free == clients.len() {
            clients.push(true);
        }
        clients[free] = true;
        Some(number)
    }

    pub(super) fn dismiss(&self, server: u8, client: u8) {
        self.state().nodes[usize::from(server)].clients[usize::from(client)] = false;
    }

    /// Runs one client's command, whatever it comes to: one step, in which nobody else comes in.
    pub(super) fn visit<T>(&self, server: u8, client: u8, ask: impl FnOnce(&mut Visit) -> T) -> T {
        let now = self.now();
        let said = {
            let mut state = self.state();
            ask(&mut Visit { servers: self, state: &mut state, server, client, now })
        };
        self.0.entered.notify_waiters();
        said
    }

    /// The process of a server ends.
    pub(super) fn crash(&self, server: u8, power_lost: bool) {
        self.change(|state| {
            let node = &mut state.nodes[usize::from(server)];
            node.condition.crash(power_lost);
            node.scripts.clear();
        });
    }

    /// What a server that is down has stored is gone.
    pub(super) fn lose_disk(&self, server: u8) {
        let Shared { settings, count, .. } = &*self.0;
        let machine = Redis::new(server, *count, settings);
        self.change(|state| state.nodes[usize::from(server)].machine = machine);
    }

    /// The process of a server starts again, if it had ended by a fault.
    pub fn restart(&self, server: u8) {
        let now = self.now();
        self.change(|state| {
            let Some(power_lost) = state.nodes[usize::from(server)].condition.restart() else { return };
            state.letters.retain(|(at, _, to, _)| *to != server || *at > now);
            let enter = |machine: &mut Redis, cx: &Context<Settings>, effects: &mut Effects<Redis>| {
                machine.on_restart(power_lost, cx, effects);
            };
            state.enter(self, server, now, enter);
        });
    }

    /// How far a server has come in its master's changes, or in its own: its term's epoch, and a count.
    pub(super) fn acknowledged(&self, server: u8, offset: (u32, u32)) -> usize {
        let state = self.state();
        let others = state.nodes.iter().enumerate().filter(|(other, _)| *other != usize::from(server));
        let has_it = |node: &ServerState| {
            node.machine.replicated().is_some_and(|its| its.0 == offset.0 && its >= offset)
        };
        others.filter(|(_, node)| has_it(node)).count()
    }

    /// Waits until the server has something to do by itself, and does it.
    pub(super) async fn tick(&self, server: u8) {
        loop {
            let (entered, now) = (self.0.entered.notified(), self.now());
            tokio::pin!(entered);
            entered.as_mut().enable();
            let due = {
                let mut state = self.state();
                match state.nodes[usize::from(server)].condition.runs_at(now) {
                    Some(at) if at <= now => {
                        if state.do_what_is_due(self, server, now) {
                            return;
                        }
                        state.next_due(self, server, now)
                    }
                    other => other,
                }
            };
            tokio::select! {
                biased;
                () = &mut entered => {}
                () = sleep_until(due, now) => {}
            }
        }
    }

    /// Waits until messages of this direction get through. False: the process has ended since.
    pub(super) async fn passes(&self, server: u8, life: u64, direction: Direction) -> bool {
        loop {
            let (struck, now) = (self.0.struck.notified(), self.now());
            tokio::pin!(struck);
            struck.as_mut().enable();
            let opens = {
                let state = self.state();
                let condition = &state.nodes[usize::from(server)].condition;
                if condition.life != life || condition.is_down() {
                    return false;
                }
                condition.passes_at(direction, now)
            };
            if opens <= now {
                return true;
            }
            tokio::select! {
                biased;
                () = &mut struck => {}
                () = sleep_until(Some(opens), now) => {}
            }
        }
    }

    /// Waits until the process has ended.
    pub(super) async fn ends(&self, server: u8, life: u64) {
        loop {
            let struck = self.0.struck.notified();
            tokio::pin!(struck);
            struck.as_mut().enable();
            if self.state().nodes[usize::from(server)].condition.life != life {
                return;
            }
            struck.await;
        }
    }
}

/// Sleeps until this true time; for ever if there is none.
async fn sleep_until(at: Option<Micros>, now: Micros) {
    match at {
        Some(at) => tokio::time::sleep(duration(at - now)).await,
        None => std::future::pending().await,
    }
}

pub(super) fn duration(length: Micros) -> Duration {
    Duration::from_micros(u64::try_from(length.0).unwrap_or(0))
}

impl ServerState {
    /// Its machine stands still until then: its monotonic clock does not count that, nor does its wall clock if `wall_too`.
    pub fn suspend(&mut self, now: Micros, until: Micros, wall_too: bool) {
        let from = now.max(self.suspended_until);
        self.condition.pause(until);
        if self.condition.is_down() || until <= from {
            return;
        }
        self.suspended_until = until;
        // It reads no clock before it wakes: they may as well show now what they will show then.
        self.clock.wake(self.clock.monotonic(from) + Micros(1), wall_too, until);
    }
}

impl State {
    pub fn contents(&self, server: u8) -> Vec<String> {
        self.nodes[usize::from(server)].machine.contents()
    }

    /// Drops what is under way between two servers and not to be kept.
    pub fn letters_retain(&mut self, keeps: impl Fn(u8, u8) -> bool) {
        self.letters.retain(|(_, from, to, _)| keeps(*from, *to));
    }

    /// One step of a server. What it replies to a client, if anything.
    fn enter(
        &mut self,
        servers: &Servers,
        server: u8,
        now: Micros,
        entry: impl FnOnce(&mut Redis, &Context<Settings>, &mut Effects<Redis>),
    ) -> Option<Outcome> {
        let node = &mut self.nodes[usize::from(server)];
        let at = now.max(node.free_at);
        node.free_at = at + Micros(1);
        // A slow clock shows the same microsecond twice.
        while node.clock.monotonic(node.free_at) <= node.clock.monotonic(at) {
            node.free_at = node.free_at + Micros(1);
        }
        let cx = Context {
            me: server,
            servers: servers.0.count,
            wall: node.clock.wall(at),
            monotonic: node.clock.monotonic(at),
            choice: 0,
            settings: &servers.0.settings,
        };
        self.effects.clear();
        entry(&mut node.machine, &cx, &mut self.effects);
        let mut outcome = None;
        for (to, message) in self.effects.sends.drain(..) {
            match (to, message) {
                (Node::Server(to), Message::Peer(peer)) => {
                    let is_cut = |cut: &(u8, u8, Micros)| (cut.0, cut.1) == (server, to) && now < cut.2;
                    if !self.cuts.iter().any(is_cut) {
                        self.letters.push((now + PEER_LATENCY, server, to, peer));
                    }
                }
                (Node::Client(_), Message::Reply(reply)) => outcome = Some(reply.outcome),
                (to, message) => unreachable!("a Redis server says nothing like {message:?} to {to}"),
            }
        }
        outcome
    }

    fn next_due(&self, servers: &Servers, server: u8, now: Micros) -> Option<Micros> {
        let node = &self.nodes[usize::from(server)];
        let settings = &servers.0.settings;
        let wishes = [node.machine.deadline(settings), node.machine.other_deadline(settings)];
        let deadlines = wishes.into_iter().flatten().filter_map(|due| node.clock.true_time_of(due, now));
        let letters = self.letters.iter().filter(|(_, _, to, _)| *to == server).map(|(at, ..)| *at);
        deadlines.chain(letters).min()
    }

    /// Whether there was anything.
    fn do_what_is_due(&mut self, servers: &Servers, server: u8, now: Micros) -> bool {
        let arrived = self.letters.iter().position(|(at, _, to, _)| *to == server && *at <= now);
        if let Some(arrived) = arrived {
            let (_, from, _, peer) = self.letters.remove(arrived);
            self.enter(servers, server, now, |machine, cx, effects| machine.on_peer(from, peer, cx, effects));
            return true;
        }
        let is_due = self.next_due(servers, server, now).is_some_and(|at| at <= now);
        if is_due {
            self.enter(servers, server, now, |machine, cx, effects| machine.on_deadline(cx, effects));
        }
        is_due
    }
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
        self.state.enter(servers, server, self.now, |machine, cx, effects| {
            machine.on_request(client, request, cx, effects);
        })
    }

    pub fn node(&mut self) -> &mut ServerState {
        &mut self.state.nodes[usize::from(self.server)]
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
        self.node().clock.wall(now).0 + self.servers.0.date
    }

    /// How far it has come in what it replicates, or in what is replicated to it.
    pub fn replicated(&mut self) -> Option<(u32, u32)> {
        self.node().machine.replicated()
    }

    pub fn is_master(&mut self) -> bool {
        self.node().machine.is_master()
    }
}
