//! A few servers, their clocks, and the messages between them, delivered as a test says.

use super::*;
use crate::machine::Node;

/// A message under way.
#[derive(Clone, Debug)]
pub struct Flight {
    pub from: u8,
    pub to: u8,
    pub message: Message<Cassandra>,
}

/// Client 0 and its servers. Each entry takes one microsecond.
#[derive(Clone)]
pub struct Cluster {
    pub servers: Vec<Cassandra>,
    pub settings: Settings,
    /// How much each server's wall clock is ahead.
    pub ahead: Vec<Micros>,
    /// True time, and what every monotonic clock shows.
    pub now: Micros,
    /// Between servers only: clients' requests arrive at once.
    pub in_flight: Vec<Flight>,
    pub replies: Vec<Reply>,
    /// What coordinators told, in order.
    pub told: Vec<Written>,
    pub dismissed: u32,
    serial: u32,
}

impl Cluster {
    /// What a server stores, for the reader.
    pub fn contents(&self, server: usize) -> Vec<String> {
        let lines = self.servers[server].contents();
        lines.iter().map(|line| cassandra_tables::WORDS.fill_in(line)).collect()
    }

    pub fn new(servers: u8, settings: Settings) -> Self {
        Cluster {
            servers: (0..servers).map(|me| Cassandra::new(me, servers, &settings)).collect(),
            settings,
            ahead: vec![Micros::ZERO; usize::from(servers)],
            now: Micros::ZERO,
            in_flight: Vec::new(),
            replies: Vec::new(),
            told: Vec::new(),
            dismissed: 0,
            serial: 0,
        }
    }

    /// Enters one server; what it sends is under way or replied afterwards.
    pub fn enter(
        &mut self,
        server: u8,
        choice: u32,
        entry: impl FnOnce(&mut Cassandra, &Context<Settings>, &mut Effects<Cassandra>),
    ) {
        self.now = self.now + Micros(1);
        let cx = Context {
            me: server,
            servers: self.servers.len() as u8,
            wall: Wall(0) + self.now + self.ahead[usize::from(server)],
            monotonic: crate::time::Monotonic(self.now.0),
            choice,
            settings: &self.settings,
        };
        let mut effects = Effects::default();
        entry(&mut self.servers[usize::from(server)], &cx, &mut effects);
        self.told.append(&mut effects.changes);
        for (to, message) in effects.sends {
            match (to, message) {
                (Node::Server(to), message) => self.in_flight.push(Flight { from: server, to, message }),
                (Node::Client(0), Message::Reply(reply)) => self.replies.push(reply),
                other => panic!("nobody there for {other:?}"),
            }
        }
    }

    /// The client asks `server`; returns the request's serial number. `choice` is taken modulo the number of ways.
    pub fn request(&mut self, server: u8, choice: u32, operation: Operation) -> u32 {
        self.serial += 1;
        let serial = self.serial;
        let request = Request { serial, operation };
        let coordinator = &self.servers[usize::from(server)];
        let message = Message::Request(request.clone());
        let ways = coordinator.choices(&message, self.servers.len() as u8, &self.settings);
        self.enter(server, choice % ways, |machine, cx, effects| machine.on_request(0, request, cx, effects));
        serial
    }

    pub fn write(&mut self, server: u8, mutation: Mutation) -> u32 {
        self.request(server, 0, Operation::Write(mutation))
    }

    /// Delivers one message. One that the server says it dismisses must change and cause nothing.
    pub fn deliver(&mut self, position: usize) {
        let Flight { from, to, message: Message::Peer(peer) } = self.in_flight.remove(position) else {
            panic!("between servers")
        };
        let dismisses = self.servers[usize::from(to)].dismisses(&peer);
        let (before, sent) =
            (self.servers[usize::from(to)].clone(), self.in_flight.len() + self.replies.len());
        self.enter(to, 0, |machine, cx, effects| machine.on_peer(from, peer, cx, effects));
        if dismisses {
            self.dismissed += 1;
            assert_eq!(self.servers[usize::from(to)], before);
            assert_eq!(self.in_flight.len() + self.replies.len(), sent);
        }
    }

    /// Delivers everything, oldest first, and what that causes.
    pub fn deliver_all(&mut self) {
        while !self.in_flight.is_empty() {
            self.deliver(0);
        }
    }

    /// Delivers what is between these servers, and loses the rest, until nothing is under way.
    pub fn deliver_among(&mut self, connected: &[u8]) {
        while !self.in_flight.is_empty() {
            let Flight { from, to, .. } = self.in_flight[0];
            if connected.contains(&from) && connected.contains(&to) {
                self.deliver(0);
            } else {
                self.in_flight.remove(0);
            }
        }
    }

    /// What the coordinator has replied to this request.
    pub fn outcome(&self, serial: u32) -> Option<&Outcome> {
        self.replies.iter().find(|reply| reply.serial == serial).map(|reply| &reply.outcome)
    }

    /// The threads whose columns the reply to a read shows.
    pub fn threads(&self, serial: u32) -> Vec<ThreadId> {
        match self.outcome(serial) {
            Some(Outcome::Slice(columns)) => columns.iter().map(|(name, _)| name.thread).collect(),
            other => panic!("no slice: {other:?}"),
        }
    }

    /// Reads the main row, with everything delivered.
    pub fn read(&mut self, server: u8, choice: u32) -> Vec<ThreadId> {
        let serial = self.request(server, choice, read_main());
        self.deliver_all();
        self.threads(serial)
    }

    /// Lets time pass without an entry.
    pub fn pass(&mut self, time: Micros) {
        self.now = self.now + time;
    }

    /// Enters the servers whose deadline has come.
    pub fn run_deadlines(&mut self) {
        for server in 0..self.servers.len() as u8 {
            let due = self.servers[usize::from(server)].deadline(&self.settings);
            if due.is_some_and(|due| due <= Due::Monotonic(crate::time::Monotonic(self.now.0))) {
                self.enter(server, 0, |machine, cx, effects| machine.on_deadline(cx, effects));
            }
        }
    }

    pub fn restart(&mut self, server: u8, power_lost: bool) {
        self.enter(server, 0, |machine, cx, effects| machine.on_restart(power_lost, cx, effects));
    }

    /// Below every later reading of every wall clock.
    pub fn horizon(&self) -> Wall {
        Wall(0) + self.now + *self.ahead.iter().min().expect("at least one server")
    }

    pub fn settle(&mut self) {
        let horizon = self.horizon();
        let before =
            (!self.servers.iter().any(|server| server.may_settle(horizon))).then(|| self.servers.clone());
        let mut servers: Vec<&mut Cassandra> = self.servers.iter_mut().collect();
        let mut in_flight = self.in_flight.iter().map(|flight| &flight.message);
        Cassandra::settle(&mut servers, &mut in_flight, horizon, &self.settings);
        if let Some(before) = before {
            assert_eq!(self.servers, before, "none of them has anything to settle");
        }
    }
}
