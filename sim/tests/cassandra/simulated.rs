//! The simulated side: servers, and messages between them that arrive at once, or never.

use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::cassandra::{Cassandra, Operation, Outcome, Peer, Request, Said, Settings};
use picklock_model::time::{Micros, Monotonic, Wall};

/// One cluster. Its clocks are told the time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Simulated {
    servers: Vec<Cassandra>,
    up: Vec<bool>,
    /// What was for a server that is down, if it is kept for it.
    kept: Vec<(u8, u8, Peer)>,
    keeps: bool,
    serial: u32,
    /// How long was waited for answers that did not come.
    waited: Micros,
}

/// A message between servers.
type Flight = (u8, u8, Peer);

impl Simulated {
    /// `keeps`: what a server misses while it is down arrives when it is up again. That is a late message, and does what a hint does.
    pub fn new(servers: u8, keeps: bool) -> Simulated {
        let settings = Settings::default();
        Simulated {
            servers: (0..servers).map(|me| Cassandra::new(me, servers, &settings)).collect(),
            up: vec![true; usize::from(servers)],
            kept: Vec::new(),
            keeps,
            serial: 0,
            waited: Micros::ZERO,
        }
    }

    pub fn goes_down(&mut self, server: u8) {
        self.up[usize::from(server)] = false;
    }

    pub fn comes_up(&mut self, server: u8, settings: &Settings, now: Wall) {
        self.up[usize::from(server)] = true;
        let mut out = Effects::default();
        let cx = self.context(server, 0, settings, now);
        self.servers[usize::from(server)].on_restart(false, &cx, &mut out);
        let kept = std::mem::take(&mut self.kept);
        self.deliver(kept, false, settings, now);
    }

    /// How many ways there are to do it.
    pub fn choices(&self, server: u8, operation: &Operation, settings: &Settings) -> u32 {
        let message = Message::Request(Request { serial: 0, operation: operation.clone() });
        self.servers[usize::from(server)].choices(&message, self.servers.len() as u8, settings)
    }

    /// One of the ways, and whether messages to and from the last servers arrive first.
    pub fn ask(
        &mut self,
        server: u8,
        operation: Operation,
        (choice, last_first): (u32, bool),
        settings: &Settings,
        now: Wall,
    ) -> Outcome {
        assert!(self.up[usize::from(server)], "a client asks who is up");
        self.serial += 1;
        let request = Request { serial: self.serial, operation };
        let mut out = Effects::default();
        let cx = self.context(server, choice, settings, now);
        self.servers[usize::from(server)].on_request(0, request, &cx, &mut out);
        let (sent, mut replies) = sort(server, out);
        replies.extend(self.deliver(sent, last_first, settings, now));
        if replies.is_empty() {
            let patience = settings.request_timeout.expect("it is not waited for ever");
            self.waited = self.waited + patience + Micros(1);
            let mut out = Effects::default();
            let cx = self.context(server, 0, settings, now);
            self.servers[usize::from(server)].on_deadline(&cx, &mut out);
            let (sent, late) = sort(server, out);
            assert!(sent.is_empty(), "who gives up says so to its client only");
            replies = late;
        }
        assert_eq!(replies.len(), 1, "one answer");
        replies.remove(0)
    }

    fn deliver(
        &mut self,
        mut flights: Vec<Flight>,
        last_first: bool,
        settings: &Settings,
        now: Wall,
    ) -> Vec<Outcome> {
        let mut replies = Vec::new();
        while !flights.is_empty() {
            if last_first {
                // One of the two is the coordinator, whichever server that is.
                flights.sort_by_key(|(from, to, _)| std::cmp::Reverse(from + to));
            }
            let (from, to, message) = flights.remove(0);
            if !self.up[usize::from(to)] {
                // Only writes are kept.
                let is_write = match &message {
                    Peer::Mutation { .. } => true,
                    Peer::Paxos(paxos) => matches!(paxos.said, Said::Commit(_)),
                    _ => false,
                };
                if self.keeps && is_write {
                    self.kept.push((from, to, message));
                }
                continue;
            }
            let mut out = Effects::default();
            let cx = self.context(to, 0, settings, now);
            self.servers[usize::from(to)].on_peer(from, message, &cx, &mut out);
            let (sent, more) = sort(to, out);
            flights.extend(sent);
            replies.extend(more);
        }
        replies
    }

    fn context<'a>(&self, me: u8, choice: u32, settings: &'a Settings, now: Wall) -> Context<'a, Settings> {
        let monotonic = Monotonic(now.0 + self.waited.0);
        Context { me, servers: self.servers.len() as u8, wall: now, monotonic, choice, settings }
    }
}

fn sort(from: u8, out: Effects<Cassandra>) -> (Vec<Flight>, Vec<Outcome>) {
    let (mut flights, mut replies) = (Vec::new(), Vec::new());
    for (to, message) in out.sends {
        match (to, message) {
            (Node::Server(to), Message::Peer(peer)) => flights.push((from, to, peer)),
            (Node::Client(_), Message::Reply(reply)) => replies.push(reply.outcome),
            other => unreachable!("nobody there for {other:?}"),
        }
    }
    (flights, replies)
}
