//! Servers and clients' libraries with a network between them: in order and at once, unless a test says otherwise.

use super::*;
use crate::machine::{Message, Node, Visit};
use crate::stores::zookeeper::session::{Here, Session};
use crate::time::{Monotonic, Wall};
use picklock_properties::Event;
use std::collections::VecDeque;

/// What a server is told.
macro_rules! cx {
    ($all:expr, $me:expr) => {
        Context {
            me: $me,
            servers: $all.servers.len() as u8,
            wall: Wall($all.now.0 + $all.wall_offset.0),
            monotonic: Monotonic($all.now.0),
            choice: 0,
            settings: &$all.settings.clone(),
        }
    };
}

/// What a client's library is told.
macro_rules! here {
    ($all:expr, $me:expr) => {
        Here {
            me: $me,
            servers: $all.servers.len() as u8,
            now: Monotonic($all.now.0),
            settings: &$all.session.clone(),
        }
    };
}

pub type Flight = (Node, Node, Message<ZooKeeper>);

/// The whole of it, in one time.
pub struct Ensemble {
    pub servers: Vec<ZooKeeper>,
    pub clients: Vec<Session>,
    /// What each client was told.
    pub notices: Vec<Vec<Notice>>,
    /// What the servers told the monitors.
    pub events: Vec<Event>,
    pub in_flight: VecDeque<Flight>,
    /// Nodes whose messages are lost, both ways.
    pub cut: Vec<Node>,
    /// Which messages are lost besides.
    pub loses: fn(&Flight) -> bool,
    pub now: Micros,
    /// What the servers' wall clocks show more than the time.
    pub wall_offset: Micros,
    pub settings: Settings,
    pub session: SessionSettings,
}

impl Ensemble {
    pub fn new(servers: u8, clients: u8, settings: Settings) -> Ensemble {
        Ensemble {
            servers: (0..servers).map(|me| ZooKeeper::new(me, servers, &settings)).collect(),
            clients: (0..clients).map(|_| Session::new()).collect(),
            notices: vec![Vec::new(); usize::from(clients)],
            events: Vec::new(),
            in_flight: VecDeque::new(),
            cut: Vec::new(),
            loses: |_| false,
            now: Micros::ZERO,
            wall_offset: Micros::ZERO,
            settings,
            session: SessionSettings::DEFAULT,
        }
    }

    /// One server, and clients that are connected.
    pub fn single(clients: u8) -> Ensemble {
        Ensemble::connected(1, clients, Settings::default())
    }

    /// Clients that are connected, each to the server of its number.
    pub fn connected(servers: u8, clients: u8, settings: Settings) -> Ensemble {
        let mut all = Ensemble::new(servers, clients, settings);
        (0..clients).for_each(|client| all.connect(client));
        all.deliver_all();
        all.notices.iter_mut().for_each(Vec::clear);
        all
    }

    pub fn connect(&mut self, client: u8) {
        let here = here!(self, client);
        let mut out = Effects::default();
        self.clients[usize::from(client)].connect(&here, &mut out);
        self.send(Node::Client(client), out);
    }

    /// Sends a request and lets it lie in the network.
    pub fn ask(&mut self, client: u8, operation: Operation) {
        let here = here!(self, client);
        let mut out = Effects::default();
        self.clients[usize::from(client)].request(operation, &here, &mut out);
        self.send(Node::Client(client), out);
    }

    /// Sends a request, delivers everything, and returns its outcome.
    pub fn does(&mut self, client: u8, operation: Operation) -> Outcome {
        self.ask(client, operation);
        self.deliver_all();
        self.outcome(client).expect("the request was not answered")
    }

    /// The outcome that the client was told last and has not looked at.
    pub fn outcome(&mut self, client: u8) -> Option<Outcome> {
        let notices = &mut self.notices[usize::from(client)];
        let place = notices.iter().rposition(|notice| matches!(notice, Notice::Answered(_)))?;
        match notices.remove(place) {
            Notice::Answered(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Takes what the client was told.
    pub fn told(&mut self, client: u8) -> Vec<Notice> {
        std::mem::take(&mut self.notices[usize::from(client)])
    }

    /// Delivers the oldest message. Whether there was one.
    pub fn deliver(&mut self) -> bool {
        let Some(flight) = self.in_flight.pop_front() else { return false };
        let is_lost = (self.loses)(&flight);
        let (from, to, message) = flight;
        if is_lost || self.cut.contains(&from) || self.cut.contains(&to) {
            return true;
        }
        self.now = self.now + Micros(1);
        let mut out = Effects::default();
        match (from, to, message) {
            (Node::Client(from), Node::Server(to), Message::Request(request)) => {
                let cx = cx!(self, to);
                self.servers[usize::from(to)].on_request(from, request, &cx, &mut out);
            }
            (Node::Server(from), Node::Server(to), Message::Peer(message)) => {
                let cx = cx!(self, to);
                self.servers[usize::from(to)].on_peer(from, message, &cx, &mut out);
            }
            (Node::Server(_), Node::Client(to), Message::Reply(reply)) => {
                let here = here!(self, to);
                let notices = self.clients[usize::from(to)].on_reply(reply, &here);
                self.notices[usize::from(to)].extend(notices);
            }
            (from, to, message) => panic!("{from} does not send {message:?} to {to}"),
        }
        self.send(to, out);
        true
    }

    pub fn deliver_all(&mut self) {
        while self.deliver() {}
    }

    /// Delivers the messages that pass, and drops the others.
    pub fn deliver_where(&mut self, mut passes: impl FnMut(&Flight) -> bool) {
        while let Some(flight) = self.in_flight.pop_front() {
            if passes(&flight) {
                self.in_flight.push_front(flight);
                self.deliver();
            }
        }
    }

    /// Lets time pass, and wakes everybody who wants to be woken meanwhile, unless it is down.
    pub fn pass(&mut self, length: Micros, down: &[Node]) {
        let end = self.now + length;
        while self.now < end {
            self.now = self.now + Micros::millis(100);
            self.wake(down);
            self.deliver_all();
        }
    }

    fn wake(&mut self, down: &[Node]) {
        for me in 0..self.servers.len() as u8 {
            for _ in 0..8 {
                let cx = cx!(self, me);
                let due = self.servers[usize::from(me)].deadline(&self.settings);
                let is_due = match due {
                    Some(Due::Monotonic(at)) => cx.monotonic >= at,
                    Some(Due::Wall(at)) => cx.wall >= at,
                    None => false,
                };
                if !is_due || down.contains(&Node::Server(me)) {
                    break;
                }
                let mut out = Effects::default();
                self.servers[usize::from(me)].on_deadline(&cx, &mut out);
                self.send(Node::Server(me), out);
            }
        }
        for me in 0..self.clients.len() as u8 {
            let here = here!(self, me);
            let client = &mut self.clients[usize::from(me)];
            if client.deadline().is_some_and(|at| here.now >= at) && !down.contains(&Node::Client(me)) {
                let mut out = Effects::default();
                let notices = client.on_deadline(&here, &mut out);
                self.notices[usize::from(me)].extend(notices);
                self.send(Node::Client(me), out);
            }
        }
    }

    /// A server's process ends and starts again; what was on its way to it is gone.
    pub fn restart(&mut self, server: u8, power_lost: bool) {
        self.in_flight.retain(|(_, to, _)| *to != Node::Server(server));
        let cx = cx!(self, server);
        let mut out = Effects::default();
        self.servers[usize::from(server)].on_restart(power_lost, &cx, &mut out);
        self.send(Node::Server(server), out);
    }

    /// What a server answers when its own tree is asked.
    pub fn has(&self, server: u8, path: Path) -> bool {
        self.servers[usize::from(server)].znode(path).is_some()
    }

    pub fn data(&self, server: u8, path: Path) -> Option<u32> {
        self.servers[usize::from(server)].znode(path).map(|node| node.data)
    }

    pub fn leader(&self) -> Option<u8> {
        (0..self.servers.len() as u8).find(|server| self.servers[usize::from(*server)].leads())
    }

    fn send(&mut self, from: Node, mut out: Effects<ZooKeeper>) {
        if let Node::Server(server) = from {
            out.read_changes(server, zookeeper_paths::means);
        }
        self.events.extend(out.events);
        for (to, mut message) in out.sends {
            // Whatever is sent can be shown to a visitor.
            message.visit(&mut Nobody);
            assert!(!text(&message).is_empty());
            self.in_flight.push_back((from, to, message));
        }
    }
}

fn text(message: &Message<ZooKeeper>) -> String {
    match message {
        Message::Request(request) => request.to_string(),
        Message::Reply(reply) => reply.to_string(),
        Message::Peer(peer) => peer.to_string(),
        Message::Read { .. } | Message::Shown { .. } | Message::Write { .. } | Message::Written { .. } => {
            "the resource's".to_string()
        }
    }
}

/// Sees everything and changes nothing.
pub struct Nobody;

impl Visitor for Nobody {
    fn stamp(&mut self, _group: crate::machine::StampGroup, _at: &mut Wall) {}
    fn due(&mut self, _due: &mut Due) {}
    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {}
    fn expiry_seconds(&mut self, _at: &mut i64) {}
    fn serial(&mut self, _owner: crate::machine::Owner, _serial: &mut u32) {}
}
