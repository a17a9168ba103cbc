//! The servers behind the ports: their machines, their clocks, what is wrong with them right now, and what they say to
//! each other.

use super::condition::{Condition, Direction};
use super::watch::Watch;
use super::watch::claims::Owner;
use super::watch::record::{Happened, LinkId, What};
use crate::seeded::dice::{Dice, Stream};
use crate::seeded::network::Network;
use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::time::{Clock, Micros};
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a message from server to server takes, when nothing is wrong.
const PEER_LATENCY: Micros = Micros(500);

/// A store that can be served.
pub trait Served: Store {
    /// What its servers have for their clients' sake, beside their machines: what names mean, who waits for an answer.
    type Desk: Debug + Default + Send + 'static;

    /// Whether what one server's wall clock said is compared with what another's says, so that a step of one stays a fault until its
    /// clock shows the true time again. Where each server measures only how much time went by, a step is over at once.
    const COMPARES_CLOCKS: bool = false;

    /// This server says something to a client.
    fn says(&self, server: u8, client: u8, reply: Self::Reply, desk: &mut Self::Desk);

    /// Something has changed in a server.
    fn changed(_change: &Self::Change, _desk: &mut Self::Desk) {}

    /// A server has made a step: what clients have put there and what has gone since, as far as that is followed.
    fn watched(_server: u8, _now: Micros, _desk: &mut Self::Desk, _watch: &mut Watch) {}

    /// The process of a server has ended.
    fn ended(server: u8, desk: &mut Self::Desk);

    /// A server has done by itself what was due.
    fn acted(_servers: &Servers<Self>, _server: u8) {}

    /// The sessions of clients that were open until this server's last step, as far as anybody knew; none where there are no sessions.
    fn sessions_over(&self, _server: u8, _desk: &mut Self::Desk) -> Vec<SessionOver> {
        Vec::new()
    }
}

/// A session that a server has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionOver {
    /// The connection that it went on on last.
    pub link: LinkId,
    /// Its client has asked for its end; if not, it was not heard of for too long.
    pub is_closed: bool,
}

/// Simulated servers of a store, which outlive the connections to them and their processes. Cheap to clone: all clones are the
/// same servers.
///
/// What they store lives here, also while nobody serves them; what a crash leaves of it is for the store's settings to say.
#[derive(Clone, Debug)]
pub struct Servers<S: Served>(Arc<Shared<S>>);

#[derive(Debug)]
struct Shared<S: Served> {
    settings: S::Settings,
    count: u8,
    /// When the first server was served.
    began: OnceLock<Instant>,
    state: Mutex<State<S>>,
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
pub(super) struct State<S: Served> {
    pub nodes: Vec<ServerState<S>>,
    /// What servers have said to each other and not heard yet, with the true time at which it arrives.
    pub letters: Vec<(Micros, u8, u8, S::Peer)>,
    pub desk: S::Desk,
    /// How messages of clients fare, if anything is wrong with the network.
    pub network: Option<Network>,
    pub dice: Dice,
    /// Until when what one server says does not get to another.
    pub cuts: Vec<(u8, u8, Micros)>,
    pub tally: Tally,
    /// What is to be said to whoever runs the servers, and since when.
    pub notices: Vec<(Micros, String)>,
    /// When the plan in force began.
    pub plan_began: Micros,
    pub watch: Watch,
    effects: Effects<S>,
    /// Since this was last asked, somebody has got another deadline, or has been written to.
    is_stirred: bool,
}

/// A connection, as far as faults strike it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub server: u8,
    /// Its number over all servers.
    pub link: LinkId,
    /// Which client of a trial it is, if it is one's.
    pub client: Option<u8>,
    /// What it ends with.
    life: u64,
}

impl Connection {
    /// Who is at its other end.
    pub fn owner(&self) -> Owner {
        Owner { link: self.link, client: self.client }
    }
}

#[derive(Debug)]
pub(super) struct ServerState<S: Served> {
    pub machine: S,
    pub clock: Clock,
    /// The first true time at which it may take its next step: no two share a microsecond.
    pub free_at: Micros,
    pub condition: Condition,
    /// Up to this true time its clocks have not counted, because its machine is suspended.
    suspended_until: Micros,
}

impl<S: Served> Servers<S> {
    /// As many servers, which have stored nothing yet. Time begins when the first of them is served.
    ///
    /// # Panics
    /// If there are none, or more than 16.
    pub fn new(count: u8, settings: S::Settings) -> Servers<S> {
        let nodes = (0..count).map(|me| ServerState {
            machine: S::new(me, count, &settings),
            clock: Clock::default(),
            free_at: Micros::ZERO,
            condition: Condition::default(),
            suspended_until: Micros::ZERO,
        });
        let state = State {
            nodes: nodes.collect(),
            letters: Vec::new(),
            desk: S::Desk::default(),
            network: None,
            dice: Dice::new(0, Stream::Network),
            cuts: Vec::new(),
            tally: Tally::default(),
            notices: Vec::new(),
            plan_began: Micros::ZERO,
            watch: Watch::of_servers(S::COMPARES_CLOCKS),
            effects: Effects::default(),
            is_stirred: false,
        };
        let (struck, entered) = (Notify::new(), Notify::new());
        let (began, state) = (OnceLock::new(), Mutex::new(state));
        Servers(Arc::new(Shared { settings, count, began, state, struck, entered }))
    }

    /// How many servers there are.
    pub fn count(&self) -> u8 {
        self.0.count
    }

    /// What has been counted so far.
    pub fn tally(&self) -> Tally {
        self.state().tally
    }

    /// What is to be said to whoever runs the servers and was not said yet, with the true time it is of: what
    /// they do of their own accord, and what they were asked for in vain.
    pub fn take_notices(&self) -> Vec<(Micros, String)> {
        std::mem::take(&mut self.state().notices)
    }

    /// True time: what has passed since the first server was served, or, inside of a turmoil simulation, since that began.
    pub fn now(&self) -> Micros {
        let elapsed = simulated_time().unwrap_or_else(|| self.0.began.get_or_init(Instant::now).elapsed());
        Micros(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
    }

    /// True time begins here, so long after its 0. False: it has begun before, or is a simulation's.
    #[cfg(feature = "cli")]
    pub(super) fn begin_at(&self, late: Duration) -> bool {
        let began = Instant::now().checked_sub(late).filter(|_| simulated_time().is_none());
        began.is_some_and(|began| self.0.began.set(began).is_ok())
    }

    /// Something is to be said of a server.
    pub(super) fn notice(&self, server: u8, what: &str) {
        let now = self.now();
        self.state().notice(server, now, what);
    }

    /// When the plan in force began.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command looks"))]
    pub(crate) fn plan_began(&self) -> Micros {
        self.state().plan_began
    }

    /// What is known of the use of the servers: looks at it, or changes it, while nothing else happens.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command looks"))]
    pub(crate) fn watched<T>(&self, look: impl FnOnce(&mut Watch, Micros) -> T) -> T {
        let now = self.now();
        look(&mut self.state().watch, now)
    }

    /// What a server stores, one line per entry.
    pub fn contents(&self, server: u8) -> Vec<String> {
        self.state().contents(server)
    }

    pub(super) fn settings(&self) -> &S::Settings {
        &self.0.settings
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State<S>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is wrong, and wakes whom that concerns.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State<S>) -> T) -> T {
        let changed = change(&mut self.state());
        self.0.struck.notify_waiters();
        self.0.entered.notify_waiters();
        changed
    }

    /// Somebody asks something: one step, in which nobody else comes in.
    pub(super) fn step<T>(&self, ask: impl FnOnce(&mut State<S>, Micros) -> T) -> T {
        let now = self.now();
        let (said, is_stirred) = {
            let state = &mut *self.state();
            let said = ask(state, now);
            (said, std::mem::take(&mut state.is_stirred))
        };
        if is_stirred {
            self.0.entered.notify_waiters();
        }
        said
    }

    /// Somebody connects to a server, from and to these addresses. `None`: its process has ended, and nobody takes it.
    pub(super) fn connect(&self, server: u8, ends: Option<(SocketAddr, SocketAddr)>) -> Option<Connection> {
        let now = self.now();
        let state = &mut *self.state();
        state.tally.connections += 1;
        let condition = &state.nodes[usize::from(server)].condition;
        if condition.is_down() {
            return None;
        }
        let link = state.watch.record.connect(now, server, ends);
        let client = state.watch.record.client_of(link);
        Some(Connection { server, link, client, life: condition.life_of(client) })
    }

    /// The process of a server ends.
    pub(super) fn crash(&self, server: u8, power_lost: bool) {
        self.change(|state| state.crash(server, power_lost));
    }

    /// What a server that is down has stored is gone.
    pub(super) fn lose_disk(&self, server: u8) {
        let Shared { settings, count, .. } = &*self.0;
        let machine = S::new(server, *count, settings);
        self.change(|state| state.nodes[usize::from(server)].machine = machine);
    }

    /// The process of a server starts again, if it had ended by a fault.
    pub fn restart(&self, server: u8) {
        let now = self.now();
        self.change(|state| {
            let Some(power_lost) = state.nodes[usize::from(server)].condition.restart() else { return };
            state.letters.retain(|(at, _, to, _)| *to != server || *at > now);
            let enter = |machine: &mut S, cx: &Context<S::Settings>, effects: &mut Effects<S>| {
                machine.on_restart(power_lost, cx, effects);
                // What is lost with the power was over by no clock.
                effects.changes.clear();
            };
            state.enter(self, server, now, enter);
        });
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
                            // It may have written to others, who wait for no letters so early.
                            drop(state);
                            S::acted(self, server);
                            self.0.entered.notify_waiters();
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

    /// Waits until the process runs, or has ended.
    pub(super) async fn runs(&self, server: u8) {
        loop {
            let (struck, now) = (self.0.struck.notified(), self.now());
            tokio::pin!(struck);
            struck.as_mut().enable();
            let runs_at = self.state().nodes[usize::from(server)].condition.runs_at(now);
            match runs_at {
                Some(at) if at > now => tokio::select! {
                    biased;
                    () = &mut struck => {}
                    () = sleep_until(Some(at), now) => {}
                },
                Some(_) | None => return,
            }
        }
    }

    /// Waits until messages of this direction get through, and the process runs. False: the connection has ended since.
    pub(super) async fn passes(&self, connection: &Connection, direction: Direction) -> bool {
        self.opens(connection, |condition, now| condition.passes_at(connection.client, direction, now)).await
    }

    /// Waits until the link carries messages of this direction, whether the process runs or not. False: the connection has
    /// ended since.
    pub(super) async fn carries(&self, connection: &Connection, direction: Direction) -> bool {
        self.opens(connection, |condition, now| condition.carries_at(connection.client, direction, now)).await
    }

    async fn opens(&self, connection: &Connection, opens_at: impl Fn(&Condition, Micros) -> Micros) -> bool {
        // `None`: the connection has ended.
        let opens = |now: Micros| {
            let state = self.state();
            let condition = state.condition_of(connection)?;
            Some(opens_at(condition, now))
        };
        // As almost always: nobody has to be told when that changes.
        let now = self.now();
        match opens(now) {
            None => return false,
            Some(at) if at <= now => return true,
            Some(_) => {}
        }
        loop {
            let (struck, now) = (self.0.struck.notified(), self.now());
            tokio::pin!(struck);
            struck.as_mut().enable();
            let Some(opens) = opens(now) else { return false };
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

    /// Waits until the process has ended, or just the connection.
    pub(super) async fn ends(&self, connection: &Connection) {
        loop {
            let struck = self.0.struck.notified();
            tokio::pin!(struck);
            struck.as_mut().enable();
            let life =
                self.state().nodes[usize::from(connection.server)].condition.life_of(connection.client);
            if life != connection.life {
                return;
            }
            struck.await;
        }
    }
}

/// How long a turmoil simulation has gone on, inside of one.
fn simulated_time() -> Option<Duration> {
    #[cfg(feature = "hosted")]
    return turmoil::sim_elapsed();
    #[cfg(not(feature = "hosted"))]
    None
}

/// What takes no longer in real time is waited for by a timer that does not count in milliseconds: half a one, between servers, would be
/// one and a half.
const SHORT: Micros = Micros::millis(20);

/// Sleeps until this true time; for ever if there is none.
async fn sleep_until(at: Option<Micros>, now: Micros) {
    let Some(at) = at else { return std::future::pending().await };
    let length = duration(at - now);
    match at - now < SHORT && simulated_time().is_none() {
        true => futures_timer::Delay::new(length).await,
        false => tokio::time::sleep(length).await,
    }
}

pub(super) fn duration(length: Micros) -> Duration {
    Duration::from_micros(u64::try_from(length.0).unwrap_or(0))
}

impl<S: Served> ServerState<S> {
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

impl<S: Served> State<S> {
    pub fn contents(&self, server: u8) -> Vec<String> {
        self.nodes[usize::from(server)].machine.contents()
    }

    /// What is wrong with a connection's server; `None`: the connection has ended.
    fn condition_of(&self, connection: &Connection) -> Option<&Condition> {
        let condition = &self.nodes[usize::from(connection.server)].condition;
        let lives = condition.life_of(connection.client) == connection.life && !condition.is_down();
        lives.then_some(condition)
    }

    /// Whether a connection's requests get through now, to a process that runs.
    pub fn is_open(&self, connection: &Connection, now: Micros) -> bool {
        self.condition_of(connection)
            .is_some_and(|condition| condition.passes_at(connection.client, Direction::Request, now) <= now)
    }

    /// The process of a server ends: those who wait for it are to be woken ([`Servers::change`]).
    pub fn crash(&mut self, server: u8, power_lost: bool) {
        self.nodes[usize::from(server)].condition.crash(power_lost);
        S::ended(server, &mut self.desk);
    }

    /// Something is to be said of a server.
    pub fn notice(&mut self, server: u8, now: Micros, what: &str) {
        self.watch.record.add(Happened { server: Some(server), ..Happened::new(now, What::Noted, what) });
        self.notices.push((now, format!("s{} {what}", server + 1)));
    }

    /// Drops what is under way between two servers and not to be kept.
    pub fn letters_retain(&mut self, keeps: impl Fn(u8, u8) -> bool) {
        self.letters.retain(|(_, from, to, _)| keeps(*from, *to));
    }

    /// One step of a server.
    pub fn enter(
        &mut self,
        servers: &Servers<S>,
        server: u8,
        now: Micros,
        entry: impl FnOnce(&mut S, &Context<S::Settings>, &mut Effects<S>),
    ) {
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
        let dues = |machine: &S| (machine.deadline(cx.settings), machine.other_deadline(cx.settings));
        let before = dues(&node.machine);
        entry(&mut node.machine, &cx, &mut self.effects);
        self.is_stirred |= before != dues(&node.machine) || !self.effects.sends.is_empty();
        let remark = self.effects.remark;
        self.effects.changes.iter().for_each(|change| S::changed(change, &mut self.desk));
        for (to, message) in self.effects.sends.drain(..) {
            match (to, message) {
                (Node::Server(to), Message::Peer(peer)) => {
                    let is_cut = |cut: &(u8, u8, Micros)| (cut.0, cut.1) == (server, to) && now < cut.2;
                    if !self.cuts.iter().any(is_cut) {
                        self.letters.push((now + PEER_LATENCY, server, to, peer));
                    }
                }
                (Node::Client(client), Message::Reply(reply)) => {
                    node.machine.says(server, client, reply, &mut self.desk);
                }
                (to, message) => unreachable!("a server says nothing like {message:?} to {to}"),
            }
        }
        if let Some(remark) = remark {
            self.notice(server, now, remark);
        }
        S::watched(server, now, &mut self.desk, &mut self.watch);
        let node = &self.nodes[usize::from(server)];
        for over in node.machine.sessions_over(server, &mut self.desk) {
            self.watch.session_over(now, server, &over);
        }
    }

    fn next_due(&self, servers: &Servers<S>, server: u8, now: Micros) -> Option<Micros> {
        let node = &self.nodes[usize::from(server)];
        let settings = &servers.0.settings;
        let wishes = [node.machine.deadline(settings), node.machine.other_deadline(settings)];
        let deadlines = wishes.into_iter().flatten().filter_map(|due| node.clock.true_time_of(due, now));
        let letters = self.letters.iter().filter(|(_, _, to, _)| *to == server).map(|(at, ..)| *at);
        deadlines.chain(letters).min()
    }

    /// Whether there was anything.
    fn do_what_is_due(&mut self, servers: &Servers<S>, server: u8, now: Micros) -> bool {
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
