//! An ensemble, its clients and a bad network, led by a schedule of numbers.

use super::contract::{Broken, Contract, DATA};
use picklock_model::locks::zookeeper_paths::{parent_path, place_path};
use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::zookeeper::session::{Here, Notice, Session, SessionSettings};
use picklock_model::stores::zookeeper::{
    CreateMode, Operation, Outcome, Path, SessionId, Settings, Write, ZooKeeper,
};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use picklock_properties::LockId;

const PLACE: Path = place_path(LockId(0), None);

const SESSION: SessionSettings =
    SessionSettings { reconnect_delay: Micros::millis(100), ..SessionSettings::DEFAULT };

/// What the request under way is, as far as the contract wants to know.
#[derive(Clone, Copy, Default)]
struct Asked {
    creates: Option<CreateMode>,
    watches: bool,
}

pub struct Ensemble {
    servers: Vec<ZooKeeper>,
    clients: Vec<Session>,
    asked: Vec<Asked>,
    in_flight: Vec<(Node, Node, Message<ZooKeeper>)>,
    /// A node whose messages are all lost for now.
    cut: Option<Node>,
    now: Micros,
    settings: Settings,
    pub contract: Contract,
    led: Option<u8>,
    changes_of_leader: u64,
}

impl Ensemble {
    pub fn new(servers: u8, clients: u8, settings: Settings) -> Ensemble {
        Ensemble {
            servers: (0..servers).map(|me| ZooKeeper::new(me, servers, &settings)).collect(),
            clients: (0..clients).map(|_| Session::new()).collect(),
            asked: vec![Asked::default(); usize::from(clients)],
            in_flight: Vec::new(),
            cut: None,
            now: Micros::ZERO,
            settings,
            contract: Contract::default(),
            led: Some(0),
            changes_of_leader: 0,
        }
    }

    /// How often another server began to lead.
    pub fn leaders(&self) -> u64 {
        self.changes_of_leader
    }

    /// Follows the schedule, then lets everything come to rest.
    pub fn run(&mut self, schedule: &[u32]) -> Result<(), Broken> {
        for number in schedule {
            self.step(*number)?;
        }
        self.cut = None;
        for _ in 0..300 {
            self.pass(Micros::millis(100))?;
            while !self.in_flight.is_empty() {
                self.deliver(0)?;
            }
        }
        self.contract.end(&self.servers)
    }

    fn step(&mut self, number: u32) -> Result<(), Broken> {
        let (kind, which) = (number % 1000, number as usize / 1000);
        let under_way = self.in_flight.len();
        match kind {
            0..=599 => {
                for turn in 0..3 {
                    let under_way = self.in_flight.len();
                    if under_way > 0 {
                        // Mostly one of the oldest, or nothing would ever come to an end.
                        let young = if kind < 560 { under_way.min(3) } else { under_way };
                        self.deliver((which >> turn) % young)?;
                    }
                }
                Ok(())
            }
            600..=609 if under_way > 0 => {
                self.in_flight.remove(which % under_way);
                Ok(())
            }
            610..=629 if under_way > 0 => {
                let twin = self.in_flight[which % under_way].clone();
                self.in_flight.push(twin);
                Ok(())
            }
            630..=632 => {
                let servers = self.servers.len();
                let node = which % (servers + self.clients.len());
                self.cut = Some(if node < servers {
                    Node::Server(node as u8)
                } else {
                    Node::Client((node - servers) as u8)
                });
                Ok(())
            }
            633..=642 => {
                self.cut = None;
                Ok(())
            }
            643..=645 => self.restart((which % self.servers.len()) as u8, which & 8 == 0),
            646..=648 => self.pass(Micros::seconds(2)),
            649..=760 => self.pass(Micros::millis(100)),
            _ => self.ask(which),
        }
    }

    /// A client asks for something, if it can.
    fn ask(&mut self, which: usize) -> Result<(), Broken> {
        let client = which % self.clients.len();
        let here = Here {
            me: client as u8,
            servers: self.servers.len() as u8,
            now: Monotonic(self.now.0),
            settings: &SESSION,
        };
        let mut out = Effects::default();
        let session = &mut self.clients[client];
        if session.is_over() {
            session.connect(&here, &mut out);
        } else if session.is_up() && !session.is_waiting() {
            let create = |mode| (Operation::Write(Write::Create { path: PLACE, mode, data: 0 }), Some(mode));
            let (operation, creates) = match which / 3 % 10 {
                0..=2 => (Operation::Write(Write::SetData { path: DATA, data: 0, version: None }), None),
                3..=6 => (Operation::GetData { path: DATA, watch: which & 1 == 0 }, None),
                7 => create(CreateMode::PersistentSequential),
                8 => create(CreateMode::EphemeralSequential),
                // Its ephemerals go, and so do the numbers of children.
                _ => match which / 30 % 3 {
                    0 => (Operation::CloseSession, None),
                    1 => (Operation::Sync, None),
                    _ => (Operation::GetChildren { path: parent_path(LockId(0)), watch: false }, None),
                },
            };
            let watches = matches!(operation, Operation::GetData { watch: true, .. });
            self.asked[client] = Asked { creates, watches };
            session.request(operation, &here, &mut out);
        }
        self.send(Node::Client(client as u8), out);
        Ok(())
    }

    fn deliver(&mut self, place: usize) -> Result<(), Broken> {
        let (from, to, message) = self.in_flight.remove(place);
        if self.cut == Some(from) || self.cut == Some(to) {
            return Ok(());
        }
        self.now = self.now + Micros(1);
        let mut out = Effects::default();
        match (from, to, message) {
            (Node::Client(from), Node::Server(to), Message::Request(request)) => {
                let (settings, now) = (self.settings, self.now);
                let cx = context(to, self.servers.len(), now, &settings);
                self.servers[usize::from(to)].on_request(from, request, &cx, &mut out);
            }
            (Node::Server(from), Node::Server(to), Message::Peer(message)) => {
                let (settings, now) = (self.settings, self.now);
                let cx = context(to, self.servers.len(), now, &settings);
                self.servers[usize::from(to)].on_peer(from, message, &cx, &mut out);
            }
            (Node::Server(_), Node::Client(to), Message::Reply(reply)) => {
                let here = Here {
                    me: to,
                    servers: self.servers.len() as u8,
                    now: Monotonic(self.now.0),
                    settings: &SESSION,
                };
                let session = self.clients[usize::from(to)].id();
                let notices = self.clients[usize::from(to)].on_reply(reply, &here);
                self.hear(to, session, &notices)?;
            }
            (from, to, message) => unreachable!("{from} does not send {message:?} to {to}"),
        }
        self.send(to, out);
        self.look()
    }

    fn hear(&mut self, client: u8, before: Option<SessionId>, notices: &[Notice]) -> Result<(), Broken> {
        let session = before.or(self.clients[usize::from(client)].id());
        for notice in notices {
            let Asked { creates, watches } = self.asked[usize::from(client)];
            self.contract.hear(client, session, creates, watches, notice)?;
            if *notice == Notice::Answered(Outcome::SessionClosed) {
                self.contract.hear(client, session, None, false, &Notice::Expired)?;
            }
        }
        Ok(())
    }

    fn pass(&mut self, length: Micros) -> Result<(), Broken> {
        self.now = self.now + length;
        for me in 0..self.servers.len() {
            let (settings, now) = (self.settings, self.now);
            let cx = context(me as u8, self.servers.len(), now, &settings);
            for _ in 0..4 {
                let is_due = match self.servers[me].deadline(&settings) {
                    Some(Due::Monotonic(at)) => cx.monotonic >= at,
                    Some(Due::Wall(at)) => cx.wall >= at,
                    None => false,
                };
                if is_due {
                    let mut out = Effects::default();
                    self.servers[me].on_deadline(&cx, &mut out);
                    self.send(Node::Server(me as u8), out);
                }
            }
        }
        for me in 0..self.clients.len() {
            let here = Here {
                me: me as u8,
                servers: self.servers.len() as u8,
                now: Monotonic(self.now.0),
                settings: &SESSION,
            };
            if self.clients[me].deadline().is_some_and(|at| here.now >= at) {
                let session = self.clients[me].id();
                let mut out = Effects::default();
                let notices = self.clients[me].on_deadline(&here, &mut out);
                self.send(Node::Client(me as u8), out);
                self.hear(me as u8, session, &notices)?;
            }
        }
        self.look()
    }

    fn restart(&mut self, server: u8, power_lost: bool) -> Result<(), Broken> {
        self.in_flight.retain(|(_, to, _)| *to != Node::Server(server));
        let (settings, now) = (self.settings, self.now);
        let cx = context(server, self.servers.len(), now, &settings);
        let mut out = Effects::default();
        self.servers[usize::from(server)].on_restart(power_lost, &cx, &mut out);
        self.send(Node::Server(server), out);
        self.look()
    }

    fn look(&mut self) -> Result<(), Broken> {
        for (number, server) in (0..).zip(&self.servers) {
            self.contract.look(number, server)?;
            if server.leads() && self.led != Some(number) {
                self.led = Some(number);
                self.changes_of_leader += 1;
            }
        }
        Ok(())
    }

    fn send(&mut self, from: Node, out: Effects<ZooKeeper>) {
        self.in_flight.extend(out.sends.into_iter().map(|(to, message)| (from, to, message)));
    }
}

fn context(me: u8, servers: usize, now: Micros, settings: &Settings) -> Context<'_, Settings> {
    let (wall, monotonic) = (Wall(now.0), Monotonic(now.0));
    Context { me, servers: servers as u8, wall, monotonic, choice: 0, settings }
}
