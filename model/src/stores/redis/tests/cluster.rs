//! A few servers, their clocks, and the messages between them, delivered as a test says.

use super::*;
use crate::machine::{Message, Node};
use crate::time::Wall;

/// A message under way.
#[derive(Clone, PartialEq, Debug)]
pub struct Flight {
    pub from: u8,
    pub to: u8,
    pub message: Peer,
}

/// Servers and their clients. Each entry takes one microsecond.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    pub servers: Vec<Redis>,
    pub settings: Settings,
    /// How much each server's wall clock is ahead.
    pub ahead: Vec<Micros>,
    /// Servers that are not running.
    pub down: Vec<u8>,
    /// True time, and what every monotonic clock shows.
    pub now: Micros,
    /// Between servers only: clients' requests arrive at once.
    pub in_flight: Vec<Flight>,
    pub replies: Vec<(u8, Reply)>,
    pub events: Vec<Event>,
    pub dismissed: u32,
    serial: u32,
}

impl Cluster {
    pub fn new(servers: u8, settings: Settings) -> Self {
        Cluster {
            servers: (0..servers).map(|me| Redis::new(me, servers, &settings)).collect(),
            settings,
            ahead: vec![Micros::ZERO; usize::from(servers)],
            down: Vec::new(),
            now: Micros::ZERO,
            in_flight: Vec::new(),
            replies: Vec::new(),
            events: Vec::new(),
            dismissed: 0,
            serial: 0,
        }
    }

    /// One server without persistence, with this change to its settings.
    pub fn single(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::default();
        change(&mut settings);
        Cluster::new(1, settings)
    }

    /// A master and its replicas.
    pub fn replicated(servers: u8) -> Self {
        let layout = Layout::Replicated { ping_period: Micros::seconds(1), down_after: Micros::seconds(5) };
        Cluster::new(servers, Settings { layout, ..Settings::default() })
    }

    fn enter(&mut self, server: u8, entry: impl FnOnce(&mut Redis, &Context<Settings>, &mut Effects<Redis>)) {
        self.now = self.now + Micros(1);
        let cx = Context {
            me: server,
            servers: self.servers.len() as u8,
            wall: Wall(0) + self.now + self.ahead[usize::from(server)],
            monotonic: Monotonic(self.now.0),
            choice: 0,
            settings: &self.settings,
        };
        let mut effects = Effects::default();
        entry(&mut self.servers[usize::from(server)], &cx, &mut effects);
        effects.read_changes(server, |change, server| redis_keys::signed(LOCK.word, change, server));
        // Who acquired what has a test of its own.
        effects.events.retain(|event| !matches!(event, Event::Acquired { .. }));
        self.events.append(&mut effects.events);
        for (to, message) in effects.sends {
            match (to, message) {
                (Node::Server(to), Message::Peer(message)) => {
                    self.in_flight.push(Flight { from: server, to, message });
                }
                (Node::Client(client), Message::Reply(reply)) => self.replies.push((client, reply)),
                other => panic!("nobody there for {other:?}"),
            }
        }
    }

    /// The client asks; returns the request's serial number.
    pub fn request(&mut self, server: u8, client: u8, command: Command, wait: bool) -> u32 {
        self.serial += 1;
        let serial = self.serial;
        let request = Request { serial, command, wait };
        self.enter(server, |machine, cx, effects| machine.on_request(client, request, cx, effects));
        serial
    }

    /// What the server has replied to this request.
    pub fn outcome(&self, serial: u32) -> Option<Outcome> {
        self.replies.iter().find(|(_, reply)| reply.serial == serial).map(|(_, reply)| reply.outcome)
    }

    /// The client asks `server`, and is answered at once.
    pub fn ask(&mut self, server: u8, client: u8, command: Command) -> Outcome {
        let serial = self.request(server, client, command, false);
        self.outcome(serial).expect("answered")
    }

    /// Client 0 asks the first server.
    pub fn run(&mut self, command: Command) -> Outcome {
        self.ask(0, 0, command)
    }

    /// What the lock's key holds.
    pub fn lock(&mut self, server: u8) -> Option<Value> {
        match self.ask(server, 9, Command::Get(LOCK)) {
            Outcome::Bulk(value) => Some(value),
            Outcome::Nil => None,
            other => panic!("no reply to GET: {other:?}"),
        }
    }

    /// Delivers one message. One that the server says it dismisses must change and cause nothing.
    pub fn deliver(&mut self, position: usize) {
        let Flight { from, to, message } = self.in_flight.remove(position);
        if self.down.contains(&to) {
            return;
        }
        let dismisses = self.servers[usize::from(to)].dismisses(&message);
        let before = self.clone();
        self.enter(to, |machine, cx, effects| machine.on_peer(from, message, cx, effects));
        if dismisses {
            self.dismissed += 1;
            assert_eq!(self.servers, before.servers);
            assert_eq!(self.in_flight.len(), before.in_flight.len());
            assert_eq!((&self.replies, &self.events), (&before.replies, &before.events));
        }
    }

    /// Delivers everything, oldest first, and what that causes.
    pub fn deliver_all(&mut self) {
        while !self.in_flight.is_empty() {
            self.deliver(0);
        }
    }

    /// Lets time pass without an entry.
    pub fn pass(&mut self, time: Micros) {
        self.now = self.now + time;
    }

    /// Lets true time reach exactly this before the next entry.
    pub fn at(&mut self, now: Micros) {
        assert!(now > self.now, "time goes on");
        self.now = now - Micros(1);
    }

    pub fn is_due(&self, server: u8) -> bool {
        let machine = &self.servers[usize::from(server)];
        let wishes = [machine.deadline(&self.settings), machine.other_deadline(&self.settings)];
        wishes.into_iter().flatten().any(|due| match due {
            Due::Wall(at) => Wall(0) + self.now + self.ahead[usize::from(server)] >= at,
            Due::Monotonic(at) => self.now.0 >= at.0,
        })
    }

    /// Enters the server if its deadline has come.
    pub fn wake(&mut self, server: u8) {
        if self.is_due(server) && !self.down.contains(&server) {
            self.enter(server, |machine, cx, effects| machine.on_deadline(cx, effects));
        }
    }

    /// Enters the servers whose deadline has come.
    pub fn run_deadlines(&mut self) {
        (0..self.servers.len() as u8).for_each(|server| self.wake(server));
    }

    /// Lets so many seconds pass, tenth by tenth, with every deadline met and every message delivered at once.
    pub fn live(&mut self, seconds: i64) {
        for _ in 0..seconds * 10 {
            self.pass(Micros::millis(100));
            self.run_deadlines();
            self.deliver_all();
        }
    }

    pub fn restart(&mut self, server: u8, power_lost: bool) {
        self.down.retain(|down| *down != server);
        self.enter(server, |machine, cx, effects| machine.on_restart(power_lost, cx, effects));
    }

    /// The keys of a server, for the reader.
    pub fn contents(&self, server: u8) -> Vec<String> {
        let lines = self.servers[usize::from(server)].contents();
        lines.iter().map(|line| redis_keys::WORDS.fill_in(line)).collect()
    }
}
