//! The machine driven by hand: one client, and what the nodes answer told to it. In order: steps 1 to 4, step 5 and the
//! next attempt, the end of a hold, extending, what visitors and readers are shown; and, with nodes of the store, what a late
//! unlocking does.

mod acquiring;
mod extending;
mod failing;
mod holding;
mod late;
mod showing;

use super::*;
use crate::machine::{Message, Node};
use crate::stores::redis::{Millis, Outcome, ServerError};
use crate::time::Wall;
use picklock_properties::{Access, ServerSet};

/// A client among its nodes, at a time of its own.
struct Client {
    me: u8,
    lock: Redlock,
    settings: Settings,
    servers: u8,
    now: Micros,
    /// How much more the wall clock shows than the monotonic one.
    wall_offset: Micros,
    choice: u32,
    out: Out,
}

impl Client {
    fn new(servers: u8, settings: Settings) -> Client {
        Client {
            me: 0,
            lock: Redlock::new(0, &settings),
            settings,
            servers,
            now: Micros::ZERO,
            wall_offset: Micros::ZERO,
            choice: 0,
            out: Effects::default(),
        }
    }

    /// A client that holds, having asked all nodes at once at time zero and heard a yes from each at `heard`.
    fn holding(servers: u8, settings: Settings, heard: Micros) -> Client {
        let mut client = Client::new(servers, Settings { contact: Contact::AtOnce, ..settings });
        client.acquire(Mode::Lock);
        client.now = heard;
        for server in 0..servers {
            client.reply(server, Outcome::Ok);
        }
        assert_eq!(client.out.answer, Some(Answer::Granted { fence: None }));
        client
    }

    fn enter(&mut self, entry: impl FnOnce(&mut Redlock, &Cx, &mut Out)) {
        self.out.clear();
        let cx = Context {
            me: self.me,
            servers: self.servers,
            wall: Wall(self.now.0) + self.wall_offset,
            monotonic: Monotonic(self.now.0),
            choice: self.choice,
            settings: &self.settings,
        };
        entry(&mut self.lock, &cx, &mut self.out);
    }

    fn acquire(&mut self, mode: Mode) {
        self.enter(|lock, cx, out| {
            lock.on_call(Call::Acquire { lock: LockId(0), mode, access: Access::FIRST }, cx, out)
        });
    }

    fn release(&mut self) {
        self.enter(|lock, cx, out| lock.on_call(Call::Release, cx, out));
    }

    fn restart(&mut self) {
        self.enter(|lock, cx, _| lock.on_restart(cx));
    }

    /// The number of the request under way.
    fn serial(&self) -> u32 {
        self.lock.round().map_or_else(|| panic!("nothing is awaited"), |round| round.serial)
    }

    /// An answer to the request under way.
    fn reply(&mut self, from: u8, outcome: Outcome) {
        let serial = self.serial();
        self.reply_to(serial, from, outcome);
    }

    fn reply_to(&mut self, serial: u32, from: u8, outcome: Outcome) {
        self.enter(|lock, cx, out| lock.on_reply(from, Reply { serial, outcome }, cx, out));
    }

    fn deadline(&self) -> Option<Due> {
        self.lock.deadline(&self.settings)
    }

    /// Enters the machine at the deadline it wants, which must be a monotonic one not before now.
    fn sleep(&mut self) {
        match self.deadline() {
            Some(Due::Monotonic(at)) => {
                assert!(at.0 >= self.now.0, "the deadline is past");
                self.now = Micros(at.0);
            }
            other => panic!("no monotonic deadline: {other:?}"),
        }
        self.wake();
    }

    fn wake(&mut self) {
        self.enter(|lock, cx, out| lock.on_deadline(cx, out));
    }

    fn choices_on(&self, outcome: Outcome) -> u32 {
        self.lock.choices(Some(&Reply { serial: self.serial(), outcome }), &self.settings)
    }

    /// What was sent in the last entry.
    fn sent(&self) -> Vec<(u8, Request)> {
        let request = |(to, message): &(Node, Message<Redis>)| match (to, message) {
            (Node::Server(server), Message::Request(request)) => (*server, request.clone()),
            other => panic!("a lock sends requests to servers only, not {other:?}"),
        };
        self.out.sends.iter().map(request).collect()
    }

    /// The nodes that were sent a command in the last entry, and what it was, if it was one for all.
    fn sent_to_all(&self) -> Option<Command> {
        let sent = self.sent();
        let first = sent.first()?.1.clone();
        let to: Vec<u8> = sent.iter().map(|(server, _)| *server).collect();
        let is_for_all = to == (0..self.servers).collect::<Vec<u8>>();
        (is_for_all && sent.iter().all(|(_, request)| *request == first)).then_some(first.command)
    }

    fn sent_set(&self) -> Vec<u8> {
        let is_set = |request: &Request| {
            matches!(
                request.command,
                Command::Set { key: Key { word: LOCK, number: 0 }, if_absent: true, .. }
            )
        };
        self.sent().iter().filter(|(_, request)| is_set(request)).map(|(server, _)| *server).collect()
    }

    fn is_granted(&self) -> bool {
        matches!(self.out.answer, Some(Answer::Granted { .. }))
    }
}

fn unlocking(value: u32) -> Option<Command> {
    Some(Command::CompareAndDelete { key: lock_key(LockId(0)), value: signature(value) })
}

fn signature(serial: u32) -> Value {
    Value::Token(Token { client: 0, serial })
}

fn set(servers: &[u8]) -> ServerSet {
    servers.iter().copied().collect()
}

fn at(millis: i64) -> Option<Due> {
    Some(Due::Monotonic(Monotonic(Micros::millis(millis).0)))
}

/// The lock of step 2's example: 10 s, of which 102 ms are the margin.
const VALIDITY_MILLIS: i64 = 9_898;
const OUT_OF_MEMORY: Outcome = Outcome::Error(ServerError::OutOfMemory);
