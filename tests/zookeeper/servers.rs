//! Servers and clients' libraries without any lock, for what the source says of the store alone. Messages arrive at once
//! and in order, unless a test holds them back or loses them; what arrives, or does not, is written down.

use picklock_model::locks::zookeeper_paths::WORDS;
use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::zookeeper::session::{Here, Notice, Session, SessionSettings};
use picklock_model::stores::zookeeper::{Operation, Outcome, Path, SessionId, Settings, ZooKeeper};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use std::collections::VecDeque;
use std::fmt::Write;

type Flight = (Node, Node, Message<ZooKeeper>);

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// It stays under way until [`Servers::let_go`].
    Waits,
    /// It is lost.
    Lost,
}

/// Servers, and a client for each.
pub struct Servers {
    settings: Settings,
    session: SessionSettings,
    servers: Vec<ZooKeeper>,
    clients: Vec<Session>,
    notices: Vec<Vec<Notice>>,
    in_flight: VecDeque<Flight>,
    held: VecDeque<Flight>,
    now: Micros,
    /// A line per message.
    pub story: String,
}

impl Servers {
    /// Each client is connected to the server of its number.
    pub fn connected(servers: u8, clients: u8, settings: Settings) -> Servers {
        let mut all = Servers {
            settings,
            session: SessionSettings::DEFAULT,
            servers: (0..servers).map(|me| ZooKeeper::new(me, servers, &settings)).collect(),
            clients: (0..clients).map(|_| Session::new()).collect(),
            notices: vec![Vec::new(); usize::from(clients)],
            in_flight: VecDeque::new(),
            held: VecDeque::new(),
            now: Micros::ZERO,
            story: String::new(),
        };
        for client in 0..clients {
            all.of_client(client, |session, here, out| {
                session.connect(here, out);
                Vec::new()
            });
        }
        all.deliver(|_, _| Fate::Arrives);
        all.notices.iter_mut().for_each(Vec::clear);
        all.story.clear();
        all
    }

    /// Sends a request, which stays under way.
    pub fn ask(&mut self, client: u8, operation: Operation) {
        self.of_client(client, |session, here, out| {
            session.request(operation, here, out);
            Vec::new()
        });
    }

    /// Sends a request, delivers everything but what is held back, and returns its outcome, if there is one.
    pub fn does(&mut self, client: u8, operation: Operation) -> Option<Outcome> {
        self.ask(client, operation);
        self.deliver(|_, _| Fate::Arrives);
        self.outcome(client)
    }

    /// The outcome that the client was told and that nobody has looked at.
    pub fn outcome(&mut self, client: u8) -> Option<Outcome> {
        let notices = &mut self.notices[usize::from(client)];
        let place = notices.iter().position(|notice| matches!(notice, Notice::Answered(_)))?;
        match notices.remove(place) {
            Notice::Answered(outcome) => Some(outcome),
            other => unreachable!("{other:?} is no answer"),
        }
    }

    /// Takes what the client was told.
    pub fn told(&mut self, client: u8) -> Vec<Notice> {
        std::mem::take(&mut self.notices[usize::from(client)])
    }

    /// The client's session.
    pub fn session(&self, client: u8) -> SessionId {
        self.clients[usize::from(client)].id().expect("the client has been connected")
    }

    /// The znodes that a server would delete with the client's session.
    pub fn ephemerals(&self, server: u8, client: u8) -> Vec<Path> {
        self.servers[usize::from(server)].ephemerals(self.session(client)).collect()
    }

    /// Delivers the messages under way and those that they lead to, by their senders and receivers.
    pub fn deliver(&mut self, fate: impl Fn(Node, Node) -> Fate) {
        while let Some((from, to, message)) = self.in_flight.pop_front() {
            let fate = fate(from, to);
            let comment = match fate {
                Fate::Arrives => "",
                Fate::Waits => "   … still under way",
                Fate::Lost => "   … lost",
            };
            let _ = writeln!(self.story, "{from:>2} → {to:2}  {}{comment}", words(&message));
            match fate {
                Fate::Arrives => self.arrive(from, to, message),
                Fate::Waits => self.held.push_back((from, to, message)),
                Fate::Lost => {}
            }
        }
    }

    /// What was held back is under way again.
    pub fn let_go(&mut self) {
        self.in_flight.append(&mut self.held);
    }

    /// Writes a remark between the messages.
    pub fn remark(&mut self, what: &str) {
        let _ = writeln!(self.story, "\n{what}");
    }

    /// Lets time pass, wakes whoever wants to be woken meanwhile, and delivers everything.
    pub fn pass(&mut self, length: Micros) {
        let end = self.now + length;
        while self.now < end {
            self.now = self.now + Micros::millis(100);
            for client in 0..self.clients.len() as u8 {
                self.of_client(client, |session, here, out| {
                    let is_due = session.deadline().is_some_and(|due| here.now >= due);
                    if is_due { session.on_deadline(here, out).into_vec() } else { Vec::new() }
                });
            }
            for server in 0..self.servers.len() as u8 {
                let due = self.servers[usize::from(server)].deadline(&self.settings);
                if due.is_some_and(|due| match due {
                    Due::Monotonic(at) => self.now.0 >= at.0,
                    Due::Wall(at) => self.now.0 >= at.0,
                }) {
                    self.of_server(server, |store, cx, out| store.on_deadline(cx, out));
                }
            }
            self.deliver(|_, _| Fate::Arrives);
        }
    }

    fn arrive(&mut self, from: Node, to: Node, message: Message<ZooKeeper>) {
        self.now = self.now + Micros(1);
        match (from, to, message) {
            (Node::Client(from), Node::Server(to), Message::Request(request)) => {
                self.of_server(to, |store, cx, out| store.on_request(from, request, cx, out));
            }
            (Node::Server(from), Node::Server(to), Message::Peer(message)) => {
                self.of_server(to, |store, cx, out| store.on_peer(from, message, cx, out));
            }
            (Node::Server(_), Node::Client(to), Message::Reply(reply)) => {
                self.of_client(to, |session, here, _| session.on_reply(reply, here).into_vec());
            }
            (from, to, message) => panic!("{from} does not send {message:?} to {to}"),
        }
    }

    fn of_server(
        &mut self,
        me: u8,
        step: impl FnOnce(&mut ZooKeeper, &Context<Settings>, &mut Effects<ZooKeeper>),
    ) {
        let cx = Context {
            me,
            servers: self.servers.len() as u8,
            wall: Wall(self.now.0),
            monotonic: Monotonic(self.now.0),
            choice: 0,
            settings: &self.settings,
        };
        let mut out = Effects::default();
        step(&mut self.servers[usize::from(me)], &cx, &mut out);
        self.send(Node::Server(me), out);
    }

    fn of_client(
        &mut self,
        me: u8,
        step: impl FnOnce(&mut Session, &Here, &mut Effects<ZooKeeper>) -> Vec<Notice>,
    ) {
        let servers = self.servers.len() as u8;
        let here = Here { me, servers, now: Monotonic(self.now.0), settings: &self.session };
        let mut out = Effects::default();
        let notices = step(&mut self.clients[usize::from(me)], &here, &mut out);
        self.notices[usize::from(me)].extend(notices);
        self.send(Node::Client(me), out);
    }

    fn send(&mut self, from: Node, out: Effects<ZooKeeper>) {
        self.in_flight.extend(out.sends.into_iter().map(|(to, message)| (from, to, message)));
    }
}

fn words(message: &Message<ZooKeeper>) -> String {
    match message {
        Message::Request(request) => WORDS.fill_in(&request.to_string()),
        Message::Reply(reply) => WORDS.fill_in(&reply.to_string()),
        Message::Peer(peer) => WORDS.fill_in(&peer.to_string()),
        Message::Read { .. } | Message::Shown { .. } | Message::Write { .. } | Message::Written { .. } => {
            unreachable!("nobody writes to a resource here")
        }
    }
}
